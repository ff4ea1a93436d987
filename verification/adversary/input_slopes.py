"""What ``certify`` says of two runs on different inputs, ‖h_N − h'_N‖ against ‖u − u'‖, attacked by pairs and slopes.

The best change of the inputs at u is found by the Jacobian of h_N (or of the mean) by all of them: its first singular
vector for ‖u − u'‖₂, an ascent over steps of equal size for max_n ‖u_n − u'_n‖. Then u follows the gradient of that
slope. What a slope reaches in the limit of small changes, pairs of finite distance reach, too. Rounding is attacked by
runs in float32 beside float64 ones that multiply by the same computed W.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor, nn

from odernn.bounds.network import lipschitz

ROUNDS = 6

Run: TypeAlias = Callable[[nn.Module, Tensor], list[dict[str, Tensor]]]


def is_about_inputs(quantity: str) -> bool:
    """Whether a line compares runs on two inputs."""
    return quantity in (lipschitz.OVER_ALL, lipschitz.A_STEP, lipschitz.OF_MEAN, lipschitz.COMPUTED, lipschitz.ROUNDED)


def _seen(quantity: str, blocks: dict[str, Tensor]) -> Tensor:
    """What is compared, (samples, ·): all blocks after the last step, or their mean over time."""
    rows = torch.cat(list(blocks.values()), dim=2)
    return rows.mean(0) if quantity == lipschitz.OF_MEAN else rows[-1]


def slope_at(quantity: str, of: Callable[[Tensor], Tensor], u: Tensor) -> Tensor:
    """The largest ‖J v‖/‖v‖ found in the norm of the line, J (·, N, d) the Jacobian by inputs u (N, 1, d)."""
    J = torch.autograd.functional.jacobian(of, u, create_graph=u.requires_grad)[0].squeeze(2)
    if quantity != lipschitz.A_STEP:
        largest: Tensor = torch.linalg.matrix_norm(J.flatten(1), 2)
        return largest
    J_free = J.detach()
    with torch.no_grad():  # v_n along J_nᵀ w, w along Σ J_n v_n
        w = torch.linalg.svd(J_free.flatten(1))[0][:, 0]
        for _ in range(ROUNDS):
            v = torch.einsum("knd,k->nd", J_free, w)
            v = v / v.norm(dim=1, keepdim=True).clamp(min=1e-300)
            w = torch.einsum("knd,nd->k", J_free, v)
            w = w / w.norm().clamp(min=1e-300)
    moved: Tensor = torch.einsum("knd,nd->k", J, v).norm()
    return moved


def worst_inputs(
    run: Run,
    network: nn.Module,
    layer: int,
    quantity: str,
    shape: tuple[int, int],
    generator: torch.Generator,
    *,
    ascents: int,
) -> float:
    """The largest ratio found of a line about exact runs; ``shape`` is (N, inputs), ``ascents`` from each start."""
    steps, width = shape

    def of(u: Tensor) -> Tensor:
        return _seen(quantity, run(network, u)[layer - 1])

    worst = 0.0
    for place in range(2 + ascents):
        scale = 10 ** (-1.0 + 3.0 * float(torch.rand((), generator=generator, dtype=torch.float64)))
        u = scale * torch.randn(steps, 1, width, generator=generator, dtype=torch.float64)
        if place == 0:
            u = scale * torch.ones_like(u)
        for step in range(ascents):
            u = _uphill(quantity, of, u, scale * 2.0 ** (1 - step))
        worst = max(worst, float(slope_at(quantity, of, u)))
        other = u + scale * torch.randn(u.shape, generator=generator, dtype=torch.float64)
        with torch.no_grad():
            moved = float((of(other) - of(u)).norm())
        change = (other - u).norm(dim=(1, 2))
        worst = max(worst, moved / float(change.max() if quantity == lipschitz.A_STEP else change.norm()))
    return worst


def _uphill(quantity: str, of: Callable[[Tensor], Tensor], u: Tensor, length: float) -> Tensor:
    """Inputs moved that far along the gradient of the slope, or u where there is none, or where it is no larger."""
    u = u.detach().requires_grad_()
    size = slope_at(quantity, of, u)
    (slope,) = torch.autograd.grad(size, u, allow_unused=True)
    if slope is None or not bool(slope.any()):
        return u.detach()
    moved = (u + length * slope / slope.norm()).detach()
    return moved if float(slope_at(quantity, of, moved)) > float(size.detach()) else u.detach()


def with_computed_maps(narrow: nn.Module) -> nn.Module:
    """The network in float64 that multiplies by the matrices which the narrow one computes."""
    wide = copy.deepcopy(narrow).double()
    for own, layer in zip(narrow.layers, wide.layers, strict=True):  # type: ignore[arg-type]
        W = own.recurrent_matrix().detach()
        wider = W.to(torch.complex128 if W.is_complex() else torch.float64)
        layer.recurrent_matrix = lambda W=wider: W
    return wide


def rounding_found(run: Run, narrow: nn.Module, layer: int, u: Tensor) -> float:
    """Twice the largest ‖ĥ_N − h_N‖ of the samples of u, h by the computed W in float64."""
    with torch.no_grad():
        rounded = torch.cat(list(run(narrow, u)[layer - 1].values()), dim=2)
        exact = torch.cat(list(run(with_computed_maps(narrow), u.double())[layer - 1].values()), dim=2)
    return 2 * float((rounded.double() - exact).norm(dim=2).max())


def computed_ratio(run: Run, narrow: nn.Module, layer: int, u: Tensor, log_rounding: float) -> float:
    """The largest (‖ĥ_N − ĥ'_N‖ − rounding)/‖u − u'‖₂ over pairs of samples of u, the bound on rounding taken off."""
    with torch.no_grad():
        last = torch.cat(list(run(narrow, u)[layer - 1].values()), dim=2)[-1].double()
    inputs = u.double().transpose(0, 1).flatten(1)
    distance, change = torch.cdist(last, last), torch.cdist(inputs, inputs)
    apart = change > 0
    return float(((distance - math.exp(log_rounding)).clamp(min=0.0)[apart] / change[apart]).max())
