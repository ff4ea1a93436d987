"""The execution ``parallel``: Newton's method on tiles of time, each solved by a scan; ``execution`` is its face."""
