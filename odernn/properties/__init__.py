"""What a method is, with evidence: one file a property; each takes a tableau and returns a ``Certificate``.

The defining formula stands in code at the top of each file, below it the decision that uses it: docs/properties.md.
"""
