"""The number namespaces over which bounds are written: floats (with numpy arrays) and balls.

A bound calls only the functions listed in ``Numbers``. ``FLOATS`` evaluates it in float64, element by element if an
argument is an array of steps; ``BALLS`` evaluates it in Arb's ball arithmetic at the precision in force
(``flint.ctx.workprec``), so the result encloses the real value. Neither imports torch or scipy.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import flint
import numpy as np

Exact: TypeAlias = Fraction | int | float
"""A number that stands for itself: an integer, a fraction, or the dyadic rational that a float is."""


class Numbers(Protocol):
    """What a bound may ask of its numbers. ``Any`` stands for a float, an array of floats, or a ball."""

    name: str

    def exact(self, value: Exact) -> Any:
        """The number that encloses (balls) or is nearest to (floats) an exact value."""

    def log(self, x: Any) -> Any: ...

    def exp(self, x: Any) -> Any: ...

    def expm1(self, x: Any) -> Any: ...

    def sqrt(self, x: Any) -> Any: ...

    def root_of_positive_part(self, x: Any) -> Any:
        """√max(x, 0); of a ball that contains zero, a ball that contains zero."""

    def asinh(self, x: Any) -> Any: ...

    def cos(self, x: Any) -> Any: ...

    def tanh(self, x: Any) -> Any: ...

    def pi(self) -> Any: ...

    def maximum(self, x: Any, y: Any) -> Any: ...

    def absolute(self, x: Any) -> Any: ...

    def log_add_exp(self, x: Any, y: Any) -> Any:
        """log(e^x + e^y) without overflow."""

    def growth(self, trace: Any) -> Any:
        """The factor by which a recursion with this trace and determinant 1 is to be scaled down a step."""


class Floats:
    """float64, element by element. ``growth`` is the spectral radius, so that no power of it is ever formed."""

    name = "float64"

    def exact(self, value: Exact) -> float:
        return float(value)

    def log(self, x: Any) -> Any:
        return np.log(x)

    def exp(self, x: Any) -> Any:
        return np.exp(x)

    def expm1(self, x: Any) -> Any:
        return np.expm1(x)

    def sqrt(self, x: Any) -> Any:
        return np.sqrt(x)

    def root_of_positive_part(self, x: Any) -> Any:
        return np.sqrt(np.maximum(x, 0.0))

    def asinh(self, x: Any) -> Any:
        return np.arcsinh(x)

    def cos(self, x: Any) -> Any:
        return np.cos(x)

    def tanh(self, x: Any) -> Any:
        return np.tanh(x)

    def pi(self) -> float:
        return math.pi

    def maximum(self, x: Any, y: Any) -> Any:
        return np.maximum(x, y)

    def absolute(self, x: Any) -> Any:
        return np.abs(x)

    def log_add_exp(self, x: Any, y: Any) -> Any:
        return np.logaddexp(x, y)

    def growth(self, trace: Any) -> Any:
        half = np.abs(trace) / 2
        return np.where(half > 1, half + np.sqrt(np.maximum(half - 1, 0)) * np.sqrt(half + 1), 1.0)[()]


class Balls:
    """Arb balls at the precision in force; exponents are unbounded, so nothing needs scaling."""

    name = "balls"

    def exact(self, value: Exact) -> Any:
        fraction = value if isinstance(value, Fraction) else Fraction(value)
        return flint.arb(flint.fmpq(fraction.numerator, fraction.denominator))

    def log(self, x: Any) -> Any:
        return x.log()

    def exp(self, x: Any) -> Any:
        return x.exp()

    def expm1(self, x: Any) -> Any:
        return x.expm1()

    def sqrt(self, x: Any) -> Any:
        return x.sqrt()

    def root_of_positive_part(self, x: Any) -> Any:
        if x >= 0 or not x.is_finite():
            return x.sqrt()
        return flint.arb(0).union(flint.arb(x.upper()).sqrt()) if x.upper() > 0 else flint.arb(0)

    def asinh(self, x: Any) -> Any:
        return x.asinh()

    def cos(self, x: Any) -> Any:
        return x.cos()

    def tanh(self, x: Any) -> Any:
        return x.tanh()

    def pi(self) -> Any:
        return flint.arb.pi()

    def maximum(self, x: Any, y: Any) -> Any:
        return x.max(y)

    def absolute(self, x: Any) -> Any:
        return abs(x)

    def log_add_exp(self, x: Any, y: Any) -> Any:
        return (x.exp() + y.exp()).log()

    def growth(self, trace: Any) -> int:
        return 1


FLOATS: Numbers = Floats()
BALLS: Numbers = Balls()
