"""Inputs near given ones that change a class: projected gradient ascent in a ball of the 2-norm.

    u ← u_0 + Π(δ + η ∇/‖∇‖),   ∇ of max_{j ≠ i} s_j − s_i,   Π the projection on ‖δ‖ ≤ ε

by one norm over all steps, or one for each step. What ``odernn.robustness`` certifies is never to be broken here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, TypeAlias

import torch
from torch import Tensor

Scores: TypeAlias = Callable[[Tensor], Tensor]
Ball: TypeAlias = Literal["sequence", "step"]

RATE = 2.5
"""Steps are RATE/steps of the radius, so that a sequence can be walked across and come back."""


def lead(scores: Tensor, labels: Tensor) -> Tensor:
    """max_{j ≠ i} s_j − s_i of every sequence, (B,): the class is another one where it is positive."""
    own = scores.gather(1, labels[:, None])[:, 0]
    return scores.scatter(1, labels[:, None], -math.inf).amax(dim=1) - own


def sizes(change: Tensor, ball: Ball) -> Tensor:
    """Of a change (N, B, d), (N or 1, B, 1) in its own dtype."""
    if ball == "step":
        found: Tensor = change.norm(dim=2, keepdim=True)
        return found
    flat: Tensor = change.movedim(1, 0).flatten(1).norm(dim=1)
    return flat[None, :, None]


def moved(
    scores: Scores,
    inputs: Tensor,
    labels: Tensor,
    radii: Tensor,
    *,
    ball: Ball = "sequence",
    steps: int = 20,
    generator: torch.Generator | None = None,
) -> Tensor:
    """The inputs (N, B, d) within ``radii`` (B,) of the given ones with the largest lead found; begins at random.

    In the dtype of the inputs, of float64 distance ≤ radius: the change is shrunk by what adding it may round up.
    """
    eps = radii.to(inputs.dtype)[None, :, None]
    change = torch.randn(inputs.shape, generator=generator, dtype=inputs.dtype)
    change = change / sizes(change, ball).clamp(min=1e-30) * eps / 2
    best, found = torch.full_like(radii, -math.inf, dtype=inputs.dtype), inputs
    for _ in range(steps + 1):
        point = within(inputs, change, radii, ball).requires_grad_()
        ahead = lead(scores(point), labels)
        better = ahead.detach() > best
        best = torch.where(better, ahead.detach(), best)
        found = torch.where(better[None, :, None], point.detach(), found)
        (slope,) = torch.autograd.grad(ahead.sum(), point)
        change = change + RATE / steps * eps * slope / sizes(slope, ball).clamp(min=1e-30)
        change = change * (eps / sizes(change, ball).clamp(min=1e-30)).clamp(max=1.0)
    return found


def within(inputs: Tensor, change: Tensor, radii: Tensor, ball: Ball) -> Tensor:
    """inputs + change, whose distance in float64 is at most the radius: the change is shrunk until it is."""
    shrunk = change.detach()
    for _ in range(8):
        point = inputs + shrunk
        distance = sizes(point.double() - inputs.double(), ball)
        beyond = distance > radii.double()[None, :, None]
        if not bool(beyond.any()):
            return point
        factor = (radii.double()[None, :, None] / distance * (1 - 2.0**-20)).to(inputs.dtype)
        shrunk = torch.where(beyond, shrunk * factor, shrunk)
    return torch.where(beyond, inputs, inputs + shrunk)


def nearest(
    scores: Scores,
    inputs: Tensor,
    labels: Tensor,
    radii: Tensor,
    *,
    ball: Ball = "sequence",
    steps: int = 20,
    halvings: int = 6,
    generator: torch.Generator | None = None,
) -> Tensor:
    """The smallest radius found that changes the class, (B,) float64; ∞ where none of ``radii`` (K,) sufficed.

    0 where the class is wrong already. The radii are tried from the smallest; then each sequence's is bisected.
    """
    labels = labels.long()
    with torch.no_grad():
        wrong = lead(scores(inputs), labels) >= 0
    upper = torch.where(wrong, 0.0, math.inf).double()
    lower = torch.zeros_like(upper)

    def attacked(tried: Tensor) -> None:
        point = moved(scores, inputs, labels, tried, ball=ball, steps=steps, generator=generator)
        with torch.no_grad():
            broken = lead(scores(point), labels) > 0
        distance = sizes(point.double() - inputs.double(), ball).amax(dim=0)[:, 0]
        upper.copy_(torch.where(broken, torch.minimum(upper, distance), upper))
        lower.copy_(torch.where(broken, lower, torch.maximum(lower, tried)).minimum(upper))

    for radius in radii.double().sort().values:
        if bool(torch.isinf(upper).any()):
            attacked(torch.full_like(upper, float(radius)))
    for _ in range(halvings):
        middle = (lower + upper.clamp(max=2.0**20)) / 2
        attacked(torch.where(torch.isinf(upper), float(radii.max()), middle))
    return upper
