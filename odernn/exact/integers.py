"""Counts and sizes among the arguments."""

from __future__ import annotations


def positive_integer(name: str, value: int) -> int:
    """``value`` if it is an integer ≥ 1, or ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}, but it counts things: give an integer of at least 1.")
    return value
