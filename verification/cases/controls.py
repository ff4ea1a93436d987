"""Controls: problems with known answers, run through the same adversaries and certificates as the claims.

A recurrence that is linear in s_n = tanh(w y_{n-1} + x_n), |s_n| < 1, has as sup |y_n| the l1 norm of its response to a
unit kick, whatever w is (the supremum is approached at w = 0): computed here by *running* the system, not from thm-S.
In deeper layers it is the same number, and at ``deep_control_point`` it is reached there, too, though only the first
layer is controlled: ``through_layers`` works out the input, layer by layer downwards. **Power**: the bound 0.9 ×
optimum is false and must be refuted. **Soundness**: the bound (1 + 1e-12) × optimum is true and must never certify as
violated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from odernn.bounds.numbers import FLOATS, Numbers
from odernn.published.sources import Source
from verification.claim import Claim, Part, Setting, StateBound
from verification.domains import SearchPoint
from verification.system import System

if TYPE_CHECKING:
    pass

POWER = Fraction(9, 10)
SOUNDNESS = 1 + Fraction(1, 10**12)

CONTROL_POINTS = (
    SearchPoint("control", Fraction(1), (Fraction(1, 20),), 600, 1, 1, "control α > 0"),
    SearchPoint("control", Fraction(0), (Fraction(1, 20),), 200, 1, 1, "control α = 0"),
)


DEEP_LAYERS = (2, 3)
DEEP_STEPS = 16
"""So short that the phase counts: the best input of layer 1, resonant too, reaches less than 0.9 in layer 2."""
RELAYED = 1 / 32
"""|y_n| of the layer below the one that is driven: RELAY_WEIGHT · RELAYED = 32, tanh(32) = 1 − 3e-28; and with α = 1,
h ≤ 1/2 a layer that moves between ±RELAYED at will needs |s_n| ≤ RELAYED (4/h² + α) < 0.54.
"""


def deep_control_point(layer: int) -> SearchPoint:
    """α = 1, dt = 1/2 in every layer up to ``layer``: some six steps a half-period, and each layer can follow any
    sequence of signs that the one above it asks for.
    """
    name = f"control layer {layer}"
    return SearchPoint("control", Fraction(1), (Fraction(1, 2),) * layer, DEEP_STEPS, 1, 1, name)


def through_layers(signs: Sequence[float], layer: int, *, alpha: float, step_size: float) -> list[float]:
    """The inputs u_n for which the argument of tanh in ``layer`` ≥ 2 has these signs and modulus 32, w = 0 throughout.

    The adversaries' relay passes x^l_n = RELAY_WEIGHT y^{l−1}_n on, so y^{l−1} is prescribed; UnICORNN's recurrence,
    solved for s_n = ((z_{n−1} − z_n)/h) − α y_{n−1} with z_n = (y_n − y_{n−1})/h, then prescribes atanh s_n one layer
    below. ValueError where some |s_n| ≥ 1: no input does it.
    """
    from verification.adversary import RELAY_WEIGHT

    wanted = [RELAYED * sign for sign in signs]  # y of the layer below
    for number in range(layer - 1, 0, -1):
        y = z = 0.0
        arguments = []
        for n, target in enumerate(wanted, 1):
            momentum = (target - y) / step_size
            s = (z - momentum) / step_size - alpha * y
            if not abs(s) < 1:
                raise ValueError(
                    f"Layer {number} would need s = {s:.6g} at step {n}; take a larger step or a smaller α."
                )
            arguments.append(math.atanh(s))
            y, z = target, momentum
        wanted = [argument / RELAY_WEIGHT for argument in arguments]
    return arguments


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
        source=Source("library", "verification/cases/controls.py"),
        statement=f"w = 0: |y_n|, |z_n| ≤ {factor} × the exact optimum",
        semantics="real",
        state_bound=StateBound(parts=(part("position"), part("momentum")), system=system),
    )


def float_optimum(system: System, point: SearchPoint, step_size: float, quantity: str, step: int) -> float:
    """The optimum in float64 at step n of the point, of any layer with this effective step."""
    return float(optimum(system.exact_step, float(point.alpha), step_size, step, quantity, FLOATS.exact(1)))
