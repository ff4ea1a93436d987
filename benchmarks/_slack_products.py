"""Jacobians of all N steps of a UnICORNN against icml-(27), sam-54 and thm-J: what these bounds are worth at n = N.

With x = (y_n, z_n) of one neuron, κ_n = α + w σ′_n and 2 × 2 blocks:
    M = B(κ_N) ⋯ B(κ_1),   B(κ) = [[1 − h²κ, h], [−hκ, 1]],   K = max(2, max|w| + α)
    icml-(27)  ‖M‖_∞ ≤ 1 + (2K + K²) N dt      sam-54  ‖M‖_∞ ≤ e^{K N dt}      thm-J  ‖M‖_a ≤ e^{Nω}
The least over layers, neurons and sequences; that over n, too, is in ``verification.trained.jacobian_rows``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from odernn.bounds import forms, jacobian
from odernn.cells.unicornn import UnICORNN
from verification.measure.trained_network import effective_steps
from verification.trained.jacobian_rows import OUTWARD

Array = NDArray[np.float64]
IN_MAXIMUM, IN_FORM = "‖dX_N/dX₀‖∞, at N", "‖dX_N/dX₀‖ₐ of a neuron, at N"


def log_bounds_at_the_end(network: UnICORNN, kappas: Any) -> Iterator[tuple[str, str, Any, Any]]:
    """(quantity, statement, log bound, log measured) of every layer; both None where α ≤ 0 or dt ≥ 1.

    kappas  of every layer, (time, sequence, neuron)
    """
    for index, kappa in enumerate(kappas):
        steps, dt, alpha = len(kappa), float(network.dt[index]), float(network.alpha[index])
        w, h = network.layers[index].w.detach().double(), effective_steps(network.coefficients(index))
        K = max(2.0, float(w.abs().max()) + alpha)
        M, log_scale = product(kappa, h)
        log_largest = float((M.abs().sum(dim=-1).amax(dim=-1).log() + log_scale).max())
        for statement, log_bound in (
            ("icml-(27)", math.log1p((2 * K + K * K) * steps * dt)),
            ("sam-54", K * steps * dt),
        ):
            applies = alpha > 0 and dt < 1
            yield IN_MAXIMUM, statement, *((log_bound, log_largest) if applies else (None, None))
        low, high = ((alpha + part).numpy() for part in (w.clamp(max=0.0), w.clamp(min=0.0)))
        form = forms.best_form(kappa_low=low, kappa_high=high, step_size=h.numpy())
        rate = jacobian.rate_bound(kappa_low=low, kappa_high=high, form=form, step_size=h.numpy())
        yield IN_FORM, "thm-J", steps * (rate + OUTWARD), in_form(M, log_scale, torch.from_numpy(form), h)


def product(kappa: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """B(κ_N) ⋯ B(κ_1) with its largest entry divided out, (sequence, neuron, 2, 2), and the log of that entry."""
    one = torch.ones_like(kappa)
    blocks = torch.stack([one - h * h * kappa, h * one, -h * kappa, one], dim=-1).reshape(*kappa.shape, 2, 2)
    M, log_scale = torch.eye(2, dtype=kappa.dtype).expand_as(blocks[0]), torch.zeros_like(kappa[0])
    for block in blocks:
        M = block @ M
        scale = M.abs().amax(dim=(-2, -1))
        M, log_scale = M / scale[..., None, None], log_scale + scale.log()
    return M, log_scale


def in_form(M: torch.Tensor, log_scale: torch.Tensor, form: torch.Tensor, h: torch.Tensor) -> Array:
    """log of the largest ‖P M P⁻¹‖₂ over sequences, by neuron; |P x|² = Q_a(x) = a y² − h a y z + z²."""
    r, s = (form * (1 - form * h * h / 4)).sqrt(), form * h / 2
    P = torch.stack([r, torch.zeros_like(r), -s, torch.ones_like(r)], dim=-1).reshape(-1, 2, 2)
    largest: Array = ((torch.linalg.matrix_norm(P @ M @ torch.linalg.inv(P), 2)).log() + log_scale).amax(dim=0).numpy()
    return largest
