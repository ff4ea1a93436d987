"""Float64 arrays with proved rounding errors: what the vectorised certificates are made of.

u = 2⁻⁵³. Used of the machine: +, −, ×, / and √ are rounded to nearest, or flushed to 0 below 2⁻¹⁰²²; a sum of k
products, in any order and with or without fused operations, errs by at most k u (1 + k u) times the sum of the
moduli. Nothing is assumed of a library's tanh or exp. Numbers that enter are at most ``LARGEST`` in modulus.
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
LARGEST = 2.0**30
TANH_ERROR = 2.0**-50
SLOPE_ERROR = 2.0**-48
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 to 2⁻⁸⁶; the first has 33 bits, so that its product with a small integer is exact."""
_INVERSE_FACTORIALS = [1.0, 1.0, 1 / 2]
for _j in range(3, 14):
    _INVERSE_FACTORIALS.append(_INVERSE_FACTORIALS[-1] / _j)


def above(x: Array) -> Array:
    """An upper bound on the value of a formula in non-negative numbers that was computed as ``x``.

    ArithmeticError for an ``x`` below 0: then a number in the formula was not what it should be.
    """
    if np.any(x < 0):
        raise ArithmeticError(f"A bound is {np.min(x)}: a term of its formula is negative. A missing modulus?")
    return x * UP + FLOOR


def tanh(a: Array) -> Array:
    """tanh with |error| ≤ ``TANH_ERROR``; ``1 - tanh²`` then errs by at most ``SLOPE_ERROR``.

    docs/derivations/long_horizons.md, "tanh": e^{-x} for x = min(2|a|, 40) by reduction modulo ln 2 and the Taylor
    polynomial of degree 13, then (1 − t)/(1 + t).
    """
    x = np.minimum(2 * np.abs(a), 40.0)
    k = np.rint(x * 1.4426950408889634)
    r = k * LN2_LOW - (x - k * LN2_HIGH)
    t = np.full_like(r, _INVERSE_FACTORIALS[-1])
    for coefficient in reversed(_INVERSE_FACTORIALS[:-1]):
        t *= r
        t += coefficient
    t = np.ldexp(t, -k.astype(np.int64))
    found: Array = np.copysign((1 - t) / (1 + t), a)
    return found


def product(A: Array, A_radius: Array | None, B: Array, B_radius: Array | None) -> tuple[Array, Array]:
    """(midpoint, radius) of every product of matrices within the radii; None is an exact factor."""
    size = np.abs(B) if B_radius is None else np.abs(B) + B_radius
    radius = (A.shape[-1] + 2) * U * (np.abs(A) @ np.abs(B))
    if B_radius is not None:
        radius = radius + np.abs(A) @ B_radius
    if A_radius is not None:
        radius = radius + A_radius @ size
    return A @ B, above(radius)
