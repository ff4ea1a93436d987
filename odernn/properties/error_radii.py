"""How far the coefficients of a method may be off the numbers meant, and arithmetic with balls of that size.

    |a − ã| ≤ 10⁻ᴰ for D printed digits,     |a − ã| ≤ k 2⁻⁵² |a| for floats, k = ``FLOAT_ULPS``,     0 is meant to be 0

What a ball shows holds for every method that may be meant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Self

import flint
from flint import arb, fmpq

from odernn.exact.algebraic import enclosure
from odernn.properties.stage_spaces import BallSpace, Space
from odernn.tableaus.methods import Method, resolve
from odernn.tableaus.stages import StageForm
from odernn.tableaus.tableau import FLOAT_ULPS, ButcherTableau, PartitionedTableau


def rounding(method: Method) -> Rounding | None:
    """``None`` if the coefficients are the numbers meant."""
    method = resolve(method)
    if not isinstance(method, ButcherTableau | PartitionedTableau) or method.is_exact:
        return None
    return Rounding.of(method.digits)


def vanishes(value: Any) -> bool:
    """Whether a number is 0, or a ball holds 0."""
    return bool(value.contains(0)) if isinstance(value, arb) else bool(value == 0)


@dataclass(frozen=True)
class Rounding:
    """How far the coefficients of a method may be off the numbers meant.

    radius   of a coefficient that is not 0: 10⁻ᴰ for D printed digits, a whole unit because some sources cut off
             where others round; ``FLOAT_ULPS`` · 2⁻⁵² |a| for floats. Zeros are structure and taken to be exact
    bits     of working precision, so many that the arithmetic adds nothing to speak of
    text     "30 digits", "double precision"
    """

    radius: Callable[[Any], Any]
    bits: int
    text: str

    @classmethod
    def of(cls, digits: int | None) -> Self:
        """Of coefficients printed to so many digits, or without a number of them of floats."""
        if digits is not None:
            unit = arb(fmpq(1, 10**digits))
            return cls(lambda a: unit, 64 + 8 * digits, f"{digits} digits")
        ulps = arb(fmpq(FLOAT_ULPS, 2**52))
        return cls(lambda a: ulps * abs(enclosure(a, 64)), 512, "double precision")

    def working(self) -> AbstractContextManager[Any]:
        """All arithmetic with the balls takes place inside of this."""
        return flint.ctx.workprec(self.bits)

    def spaces(self, forms: Sequence[StageForm]) -> list[Space]:
        return [BallSpace(form, self.radius, self.bits) for form in forms]
