"""The commands of ``odernn``, one file each: ``verification.cli`` calls them, they print and return an exit code."""
