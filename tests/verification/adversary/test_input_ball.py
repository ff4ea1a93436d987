"""Ascent in a ball: of linear scores it finds the known distance to the boundary, and it never leaves the ball."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from verification.adversary import input_ball

F64 = torch.float64
STEPS, BATCH, SIZE, CLASSES = 5, 6, 2, 3


def linear(seed: int) -> tuple[Tensor, Any, Tensor]:
    """R (classes, N, d), its scores, and inputs."""
    generator = torch.Generator().manual_seed(seed)
    R = torch.randn(CLASSES, STEPS, SIZE, generator=generator, dtype=F64)
    u = torch.randn(STEPS, BATCH, SIZE, generator=generator, dtype=F64)
    return R, lambda v: torch.einsum("cnd,nbd->bc", R.to(v.dtype), v), u


@pytest.mark.parametrize("ball", ["sequence", "step"])
def test_the_nearest_break_of_linear_scores_is_their_distance(ball: Any) -> None:
    """min_j m_j/‖R_i − R_j‖ in the dual norm: the 2-norm of all entries, or the sum of those of the steps."""
    R, scores, u = linear(0)
    labels = scores(u).argmax(dim=1)
    found = input_ball.nearest(
        scores, u, labels, torch.tensor([0.1, 1.0, 10.0]), ball=ball, steps=40, halvings=12, generator=torch.Generator()
    )
    for k in range(BATCH):
        distances = []
        for j in range(CLASSES):
            if j != labels[k]:
                row = R[labels[k]] - R[j]
                size = row.norm(dim=1).sum() if ball == "step" else row.norm()
                distances.append(float((row * u[:, k]).sum() / size))
        assert min(distances) * (1 - 1e-9) <= float(found[k]) <= 1.05 * min(distances)


def test_a_wrong_class_is_at_distance_0_and_one_out_of_reach_at_infinity() -> None:
    _, scores, u = linear(1)
    labels = scores(u).argmax(dim=1)
    labels[0] = (labels[0] + 1) % CLASSES
    found = input_ball.nearest(scores, u, labels, torch.tensor([1e-9]), steps=5, halvings=2)
    assert float(found[0]) == 0.0 and set(found[1:].tolist()) == {math.inf}


@pytest.mark.parametrize("dtype", [torch.float32, F64])
@pytest.mark.parametrize("ball", ["sequence", "step"])
def test_what_is_found_lies_in_the_ball(ball: Any, dtype: torch.dtype) -> None:
    """As numbers of the dtype, whose distance is taken in float64: what adding rounds up counts."""
    _, scores, u = linear(2)
    labels = scores(u).argmax(dim=1)
    for radius in (1e-6, 0.3, 100.0):
        radii = torch.full((BATCH,), radius, dtype=F64)
        point = input_ball.moved(scores, u.to(dtype), labels, radii, ball=ball, steps=10)
        distance = input_ball.sizes(point.double() - u.to(dtype).double(), ball)
        assert bool((distance <= radius).all()) and float(distance.max()) > 0.5 * radius
