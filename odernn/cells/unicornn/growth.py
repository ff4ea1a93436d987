"""The w of neurons whose N steps grow by at most G, whatever has been learned.   docs/derivations/jacobian_products.md

    w = w₋ + (w₊ − w₋) σ̂(v),   v learned,   w₋ ≤ w₊ the roots of   (1 + s²) h²w² + 4s²(h²α − 2) w + 4s²α(h²α − 4) = 0

with s = sinh(log G / N): between them N asinh(h|w| / (4 r_a)) ≤ log G in the form of a = α + w/2 (thm-J (a), (d)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from odernn.cells.common import arguments

LIMIT = "limit_of_growth"
"""Of a network: the buffer with (G, N), so that a state of another limit is refused."""

SHRUNK = 2.0**-32
"""Share by which an interval is smaller beside 4 ε of w's dtype: its own roundings in float64, with αh² ≤ STIFFEST."""

SMALLEST_STEP = 1e-9
"""The interval of a smaller h is that of this one, which lies inside of it: as h → 0 its ends grow like 1/h."""

SMALLEST_SHARE = 2.0**-40
"""σ̂(v) from below: for α = 0 the interval begins at w = 0, where a = 0 is no form, and no w is there."""

MOST_A_STEP = 10.0
"""Largest log G/N."""

STIFFEST = 3.999
"""Largest α dt²: at αh² = 4 no form is left, and the interval of w ends in the point 0."""


@dataclass(frozen=True)
class GrowthLimit:
    """At most ``growth`` over ``steps`` steps, for each neuron, in the norm of its form a = α + w/2."""

    growth: float
    steps: int

    @property
    def largest_sine(self) -> float:
        """s = sinh(log G / N)."""
        return math.sinh(math.log(self.growth) / self.steps)

    def interval(self, step_size: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
        """w₋ ≤ 0 ≤ w₊ for every h and α with αh² < 4, in float64, in the shape of h.

        Roots without cancellation: the larger in absolute value by the formula, the other by their product.
        """
        h, alpha = step_size.double().clamp(min=SMALLEST_STEP), alpha.double()
        s2 = self.largest_sine**2
        square, product = (1.0 + s2) * h**2, 4.0 * s2 * alpha * (h**2 * alpha - 4.0)
        half = 2.0 * s2 * (2.0 - h**2 * alpha)
        larger = half + torch.copysign(torch.sqrt(half**2 - square * product), half)
        first, second = larger / square, product / larger
        return torch.minimum(first, second), torch.maximum(first, second)

    def within(self, free: Tensor, step_size: Tensor, alpha: Tensor) -> Tensor:
        """w of the learned v = ``free``, in its dtype; differentiable by v and by h."""
        low, high = self.interval(step_size, alpha)
        shrunk = 1.0 - SHRUNK - 4.0 * torch.finfo(free.dtype).eps
        share = torch.sigmoid(free.double()).clamp(min=SMALLEST_SHARE)
        return (shrunk * (low + (high - low) * share)).to(free.dtype)

    def free_for(self, w: Tensor, step_size: Tensor, alpha: Tensor) -> Tensor:
        """v = logit((w − w₋)/(w₊ − w₋)) of w, or of the nearest w between 0.99 w₋ and 0.99 w₊."""
        low, high = self.interval(step_size, alpha)
        inside = torch.minimum(torch.maximum(w.double(), 0.99 * low), 0.99 * high)
        return torch.logit(((inside - low) / (high - low)).clamp(min=SMALLEST_SHARE)).to(w.dtype)


def check_same_limit(values: Sequence[float], growth: float, steps: int) -> None:
    """Nothing, or an error about (G, N) of a state learned under another limit: there its v are other weights."""
    if list(values) != [growth, steps]:
        raise ValueError(
            f"growth, steps are {values[0]:.15g}, {values[1]:.15g} in the state, but {growth:.15g}, {steps} in the "
            "network. Build the network with those of the state."
        )


def check_forms(dt: Sequence[float], alpha: Sequence[float]) -> None:
    """Nothing, or an error about the first layer with α dt² > STIFFEST, where thm-J (g) may have no form."""
    for layer, (step, stiffness) in enumerate(zip(dt, alpha, strict=True), 1):
        if stiffness * step**2 > STIFFEST:
            raise ValueError(
                f"alpha dt² of layer {layer} is {stiffness * step**2:.4g}, but growth is limited in forms that exist "
                f"for αh² < 4. Choose alpha dt² ≤ {STIFFEST}, or leave growth and steps out."
            )


def checked_limit(
    growth: float | None, steps: int | None, dt: Sequence[float], alpha: Sequence[float]
) -> GrowthLimit | None:
    """None if neither is given; an error unless both are, with growth > 1, steps ≥ 1 and α dt² < 4 in every layer."""
    if growth is None and steps is None:
        return None
    if growth is None or steps is None:
        missing, given = ("growth", f"steps={steps}") if growth is None else ("steps", f"growth={growth}")
        raise ValueError(f"{given} is given without {missing}: a growth is one over so many steps. Give both or none.")
    value = arguments.number("growth", growth)
    if not 1.0 < value < math.inf:
        raise ValueError(
            f"growth is {growth}, but no product of steps shrinks or keeps all of the plane: its determinant is 1. "
            "Give a number above 1."
        )
    arguments.positive_integer("steps", steps)
    if math.log(value) > MOST_A_STEP * steps:
        raise ValueError(
            f"growth is {growth} in steps={steps}, more than e^{MOST_A_STEP:g} a step, which limits nothing that "
            "trains. Give a smaller growth, or leave growth and steps out."
        )
    check_forms(dt, alpha)
    return GrowthLimit(value, int(steps))
