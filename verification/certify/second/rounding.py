"""Float64 arrays with proved rounding errors once more: what the second opinion on long runs is made of.

Assumed of the machine: one operation +, −, ×, /, √ is off by at most half a unit in the last place, u = 2⁻⁵³ of its
result, or gives 0 below 2⁻¹⁰²²; n products added up, in whatever order and fused or not, are off by at most n u (1 + n
u) Σ |terms|. Nothing is assumed of a library's tanh or exp. Numbers that enter are at most ``LARGEST`` in modulus.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]

U = math.ulp(0.5)
SLACK = math.ldexp(1.0, -38)
"""A formula of up to 2¹³ operations on numbers ≥ 0 loses less of itself: 2¹³ u (1 + 2¹³ u) < 2⁻³⁹."""
UP = 1 + SLACK
FLOOR = math.ldexp(1.0, -700)
"""What its underflows lose is less."""
LARGEST = 2.0**30
TANH_ERROR = 2.0**-50
SLOPE_ERROR = 2.0**-48
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 to 2⁻⁸⁶; the first has 33 bits, so that its product with a small integer is exact."""
_INVERSE_FACTORIALS = [1.0, 1.0, 1 / 2]
for _j in range(3, 14):
    _INVERSE_FACTORIALS.append(_INVERSE_FACTORIALS[-1] / _j)


def above(computed: Array) -> Array:
    """No less than the exact value of what was computed by sums, products, quotients and roots of numbers ≥ 0.

    ArithmeticError for a value below 0, which no such formula has.
    """
    if (np.asarray(computed) < 0).any():
        raise ArithmeticError(f"{np.min(computed)} cannot bound an error: a term of its formula is negative.")
    return computed * UP + FLOOR


def product(left: Array, left_radius: Array, right: Array, right_radius: Array) -> tuple[Array, Array]:
    """left @ right, and how far off the product of any two matrices within the radii is, entry by entry.

    (L + δ)(R + ε) − LR = Lε + δ(R + ε), besides n + 2 roundings of |L||R|.
    """
    moduli, reach = np.abs(left), np.abs(right) + right_radius
    rounded_off = (left.shape[-1] + 2) * U * (moduli @ np.abs(right))
    return left @ right, above(rounded_off + moduli @ right_radius + left_radius @ reach)


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
    signed: Array = np.copysign((1 - t) / (1 + t), a)
    return signed
