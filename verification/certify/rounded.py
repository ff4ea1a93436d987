"""Float64 arrays with proved rounding errors: what the vectorised certificates of the first back-end are made of.

u = 2⁻⁵³. Used of the machine: +, −, ×, / and √ are rounded to nearest, or flushed to 0 below 2⁻¹⁰²²; a sum of k
products, in any order and with or without fused operations, errs by at most k u (1 + k u) times the sum of the
moduli. ``verification.certify.second.rounding`` types once more what the second back-end needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]

U = 2.0**-53
UP = 1 + 2.0**-38
"""Covers the relative rounding of a sum of products of non-negative numbers in up to 2¹³ operations."""
FLOOR = 2.0**-700
"""Covers what underflow loses in them."""


def above(x: Array) -> Array:
    """An upper bound on the value of a formula in non-negative numbers that was computed as ``x``.

    ArithmeticError for an ``x`` below 0: then a number in the formula was not what it should be.
    """
    if np.any(x < 0):
        raise ArithmeticError(f"A bound is {np.min(x)}: a term of its formula is negative. A missing modulus?")
    return x * UP + FLOOR


def product(A: Array, A_radius: Array | None, B: Array, B_radius: Array | None) -> tuple[Array, Array]:
    """(midpoint, radius) of every product of matrices within the radii; None is an exact factor."""
    size = np.abs(B) if B_radius is None else np.abs(B) + B_radius
    radius = (A.shape[-1] + 2) * U * (np.abs(A) @ np.abs(B))
    if B_radius is not None:
        radius = radius + np.abs(A) @ B_radius
    if A_radius is not None:
        radius = radius + A_radius @ size
    return A @ B, above(radius)
