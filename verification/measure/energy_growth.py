"""The energy over one step, H_n ≤ G H_{n−1} + 2dt(1 + 2α dt³): G = 1 + dt + 2α dt² + 4α² dt⁴ of sam (38), as data."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from verification.certify.second.intervals import iv
from verification.measure.polynomials import coefficient

Coefficients: TypeAlias = Mapping[int, int | Fraction]
"""a_k of Σ_k a_k α^⌊k/2⌋ dt^k."""
GROWTH: Mapping[int, int] = {0: 1, 1: 1, 2: 2, 4: 4}
"""G: the proofs, the searches and the checks of (32), (38) and of its exponential bound read it here."""


def growth_sum(coefficients: Coefficients, alpha: Any, h: Any) -> Any:
    """Σ_k a_k α^⌊k/2⌋ h^k of polynomials and of balls."""
    return sum((coefficient(a) * alpha ** (k // 2) * h**k for k, a in coefficients.items()), 0 * h)


def growth_sum_again(coefficients: Coefficients, alpha: Any, h: Any) -> Any:
    """The same for intervals, from the highest power down: a factor h each time, and α where the power is even."""
    total = 0 * h
    for k in range(max(coefficients), -1, -1):
        a = Fraction(coefficients.get(k, 0))
        total = total + iv.mpf(a.numerator) / a.denominator
        if k:
            total = total * h
            total = total * alpha if k % 2 == 0 else total
    return total


def added(alpha: Any, h: Any) -> Any:
    """2h(1 + 2αh³), for polynomials."""
    return 2 * h * (1 + 2 * alpha * h**3)
