"""Exact numbers as they are written in the evidence of a certificate."""

from __future__ import annotations

from typing import Any

from odernn.exact.algebraic import enclosure

LONGEST = 60
"""Exact numbers up to this many characters are printed in full."""


def brief(value: Any) -> str:
    """The exact number if that is short, else its leading digits after "≈"."""
    text = str(value)
    return text if len(text) <= LONGEST else f"≈ {decimal(value)}"


def equals(value: Any) -> str:
    """The right side of an equation: "= 1/3", or "≈ 0.333333" of a long number."""
    return brief(value) if brief(value).startswith("≈") else f"= {brief(value)}"


def decimal(value: Any) -> str:
    """Six digits of an exact number, which may be far beyond the range of a double."""
    return str(enclosure(value, 128).str(6, radius=False))
