"""Controls: problems with known answers, run through the same adversaries and certificates as the claims.

A recurrence that is linear in s_n = tanh(w y_{n-1} + x_n), |s_n| < 1, has as sup |y_n| the l1 norm of its response to a
unit kick, whatever w is (the supremum is approached at w = 0): computed here by *running* the system, not from
thm-S. **Power**: the bound 0.9 × optimum is false and must be refuted. **Soundness**: the bound (1 + 1e-12) ×
optimum is true and must never certify as violated.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from odernn.bounds.numbers import FLOATS, Numbers
from odernn.tableau import Source
from verification.claim import Claim, Part, Setting
from verification.domains import SearchPoint
from verification.system import System

POWER = Fraction(9, 10)
SOUNDNESS = 1 + Fraction(1, 10**12)

CONTROL_POINTS = (
    SearchPoint("control", Fraction(1), (Fraction(1, 20),), 600, 1, 1, "control α > 0"),
    SearchPoint("control", Fraction(0), (Fraction(1, 20),), 200, 1, 1, "control α = 0"),
)


def optimum(step: Callable[..., Any], alpha: Any, h: Any, steps: int, quantity: str, one: Any) -> Any:
    """sup over |s_i| ≤ 1 of |y_n| or |z_n| at n = ``steps`` for the system with w = 0: Σ_j |response to a unit kick|.

    ``step(y, z, x, w, h, alpha, tanh)`` runs with tanh replaced by the identity; ``one`` is 1 in its arithmetic.
    """
    zero = 0 * one
    y, z, total = zero, zero, zero
    for j in range(steps):
        y, z = step(y, z, one if j == 0 else zero, zero, h, alpha, lambda s: s)
        total = total + abs(y if quantity == "position" else z)
    return total


def control_claim(system: System, factor: Fraction, name: str) -> Claim:
    """The statement "|y_n|, |z_n| ≤ ``factor`` × optimum", bound typed for both back-ends."""

    def part(quantity: str) -> Part:
        def bound(s: Setting, numbers: Numbers) -> Any:
            one = numbers.exact(1)
            value = optimum(system.exact_step, s.alpha, s.step_sizes[0], s.step, quantity, one)
            return numbers.log(numbers.exact(factor) * value)

        def second_bound(s: Any, iv: Any) -> Any:
            value = optimum(system.second_step, s.alpha, s.step_sizes[0], s.step, quantity, iv.mpf(1))
            return iv.log(iv.mpf(factor.numerator) / iv.mpf(factor.denominator) * value)

        return Part(quantity, "max", bound, second_bound)

    return Claim(
        id=name,
        source=Source("library", "verification/controls.py"),
        statement=f"w = 0: |y_n|, |z_n| ≤ {factor} × the exact optimum",
        parts=(part("position"), part("momentum")),
        system=system,
    )


def float_optimum(system: System, point: SearchPoint, step_size: float, quantity: str, step: int) -> float:
    """The optimum in float64 at step n of the point."""
    return float(optimum(system.exact_step, float(point.alpha), step_size, step, quantity, FLOATS.exact(1)))
