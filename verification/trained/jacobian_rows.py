"""Bounds on the Jacobians of the steps of a trained UnICORNN along its runs: the papers' norms, and the rate of thm-J.

One neuron's step has B(κ) = [[1 − h²κ, h], [−hκ, 1]], κ = α + w σ'. A layer's Jacobian consists of such blocks, so its
maximum norm is the largest of theirs. Each layer is tried as the last one of the stack that ends with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from odernn.bounds import forms, jacobian
from odernn.cells.unicornn import UnICORNN
from verification.claim import Premise
from verification.measure.gradient import Trajectory, log_norms_of_products
from verification.measure.trained_network import effective_steps
from verification.registry import Registry
from verification.trained.row import HERE, BoundComparison, Row, judged, uncertified
from verification.trained.runs import Sample

NOT_DECIDED = "no certificate here decides products of Jacobians along a run"
OUTWARD = 1e-12
"""Added to a rate of thm-J a step, relative to 1: above the rounding of asinh and of its argument."""


@dataclass(frozen=True)
class Published:
    """‖dX_n/dX_0‖_∞, or of one step, as printed: the log of the right side from K = max(2, ‖w‖_∞ + α), dt and n."""

    statement: str
    quantity: str
    log_bound: Callable[[float, float, Any], Any]
    of_one_step: bool


PUBLISHED = (
    Published("icml-(25)", "‖dXₙ/dXₙ₋₁‖∞", lambda K, dt, n: np.log1p(K * dt + (K * dt) ** 2 / 2) + 0 * n, True),
    Published("both-51-53", "‖dXₙ/dXₙ₋₁‖∞", lambda K, dt, n: K * dt + 0 * n, True),
    Published("icml-(27)", "‖dXₙ/dX₀‖∞", lambda K, dt, n: np.log1p((2 * K + K * K) * n * dt), False),
    Published("sam-54", "‖dXₙ/dX₀‖∞", lambda K, dt, n: K * n * dt, False),
)


def rows(network: UnICORNN, run: Trajectory, sample: Sample, registry: Registry, *, log_largest: float) -> list[Row]:
    """The papers' bounds and thm-J, a row each for every layer."""
    of_layers = []
    for layer in range(1, network.num_layers + 1):
        h = effective_steps(network.coefficients(layer - 1))
        kappa = run.kappa(layer)
        steps = _log_maximum_norm(_blocks(kappa, h)).amax(dim=(1, 2)).numpy()
        products = log_norms_of_products(kappa, h, _maximum_norm).amax(dim=(1, 2)).numpy()
        for published in PUBLISHED:
            claim = registry.get(published.statement).claim
            logs = steps if published.of_one_step else products
            row = _published_row(network, published, layer, logs, str(claim.source), sample, log_largest)
            of_layers.append(replace(row, reading=HERE if claim.is_asymptotic else ""))
        of_layers.append(_rate_row(network, layer, kappa, h, sample))
    return of_layers


def _published_row(
    network: UnICORNN, published: Published, layer: int, logs: Any, source: str, sample: Sample, log_largest: float
) -> Row:
    dt, alpha = float(network.dt[layer - 1]), float(network.alpha[layer - 1])
    K = max(2.0, float(network.layers[layer - 1].w.detach().double().abs().max()) + alpha)
    premises = (Premise("α > 0", alpha, alpha > 0), Premise("dt < 1", 1 - dt, dt < 1))

    def ask() -> BoundComparison:
        n = np.arange(1.0, sample.steps + 1)
        return BoundComparison(
            published.log_bound(K, dt, n),
            logs,
            uncertified(NOT_DECIDED),
            place=lambda index: f"n = {index + 1}",
            log_largest=log_largest,
            data=f"on {sample.count} sequences",
        )

    return judged(Row("bound", layer, published.quantity, published.statement, source, "published", premises), ask)


def _rate_row(network: UnICORNN, layer: int, kappa: Tensor, h: Tensor, sample: Sample) -> Row:
    """‖Φ(n, 0)‖_a ≤ e^{nω} of every neuron, ω the rate of its best form a: for every input."""
    w, alpha = network.unlimited().layers[layer - 1].w.detach().double(), float(network.alpha[layer - 1])
    low, high = ((alpha + part).numpy() for part in (w.clamp(max=0.0), w.clamp(min=0.0)))
    form = forms.best_form(kappa_low=low, kappa_high=high, step_size=h.numpy())
    rate = jacobian.rate_bound(kappa_low=low, kappa_high=high, form=form, step_size=h.numpy())
    growth = log_norms_of_products(kappa, h, _norm_of_form(torch.from_numpy(form), h)).amax(dim=1).numpy()
    n = np.arange(1.0, sample.steps + 1)[:, None]

    def ask() -> BoundComparison:
        return BoundComparison(
            (n * (rate + OUTWARD)).ravel(),
            growth.ravel(),
            uncertified(NOT_DECIDED),
            place=lambda index: f"n = {index // len(form) + 1}, neuron {index % len(form) + 1}",
            log_largest=math.inf,
            data=f"every input; on {sample.count} sequences",
        )

    return judged(
        Row("bound", layer, "‖dXₙ/dX₀‖ₐ of a neuron", "thm-J", "library: docs/derivations/jacobian_products.md"), ask
    )


def _blocks(kappa: Tensor, h: Tensor) -> Tensor:
    one = torch.ones_like(kappa)
    return torch.stack([one - h * h * kappa, h * one, -h * kappa, one], dim=-1).reshape(*kappa.shape, 2, 2)


def _maximum_norm(matrices: Tensor) -> Tensor:
    """Largest absolute row sum of (..., 2, 2)."""
    return matrices.abs().sum(dim=-1).amax(dim=-1)


def _log_maximum_norm(matrices: Tensor) -> Tensor:
    return _maximum_norm(matrices).log()


def _norm_of_form(form: Tensor, h: Tensor) -> Callable[[Tensor], Tensor]:
    """‖M‖_a = ‖P M P⁻¹‖₂, P = [[r, 0], [−ah/2, 1]], r = √(a(1 − ah²/4)): Q_a(x) = |P x|²."""
    r = (form * (1 - form * h * h / 4)).sqrt()
    s = form * h / 2
    zero, one = torch.zeros_like(r), torch.ones_like(r)
    P = torch.stack([r, zero, -s, one], dim=-1).reshape(*r.shape, 2, 2)
    P_inverse = torch.stack([1 / r, zero, s / r, one], dim=-1).reshape(*r.shape, 2, 2)

    def norm(matrices: Tensor) -> Tensor:
        """The larger singular value of 2×2 matrices: of a similarity plus a reflected one it is the sum of the two.

        Nothing cancels in it. By the eigenvalues of MᵀM half of the digits would be lost near rotations, where the two
        singular values meet and the bound is reached.
        """
        a, b, c, d = (P @ matrices @ P_inverse).flatten(start_dim=-2).unbind(dim=-1)
        return (torch.hypot(a + d, c - b) + torch.hypot(a - d, c + b)) / 2

    return norm
