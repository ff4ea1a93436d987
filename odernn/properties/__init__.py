"""What a method is, with evidence: one file a property; each takes a tableau and returns a ``Certificate``."""
