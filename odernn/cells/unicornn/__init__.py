"""UnICORNN: undamped oscillators by symplectic Euler (Rusch and Mishra 2021). ``network`` is the module."""

from odernn.cells.unicornn.network import CELL, UnICORNN

__all__ = ["CELL", "UnICORNN"]
