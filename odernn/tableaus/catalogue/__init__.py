"""The data of the catalogue: one literal entry a method, in the file of its kind, laid out as in its source."""
