"""Step Jacobians along a sample, and what their products do.

    J_n = ∂X_n/∂X_{n−1} at fixed inputs,      λ_i = lim 1/(N − n) log σ_i(J_N ⋯ J_{n+1})

The exponents are those of the transposed product, which has the same singular values: orthonormal rows are pulled back
from the last step to the first, P ← P J_n, and made orthonormal again (LQ) at every step; λ_i is the mean of log |L_ii|
(Benettin et al. 1980), without the first quarter of these steps, in which random rows turn to where they are stretched.
For a layer above others the inputs are the rows below, so these are the exponents of the layer; those of a stack are
the exponents of all its layers, as its Jacobian is block triangular.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from verification.models.layers import RunLayer

FOLLOWED = 4
"""Exponents, the largest ones."""

MOST_STEPS = 2000
"""The last ones of a longer sample."""

PLACES = 5
LARGEST = 1024
"""Units, blocks together, of a Jacobian that is written out for its spectrum."""


@dataclass(frozen=True, eq=False)
class StepSpectrum:
    """Of J_n: n from 1; largest and smallest singular value; the largest modulus of an eigenvalue."""

    n: int
    largest: float
    smallest: float
    radius: float


def pulled(layer: RunLayer, n: int, rows: Tensor) -> Tensor:
    """rows J_n, (k, size) for rows (k, size); all blocks of the state side by side."""
    assert layer.step is not None
    with torch.enable_grad():
        state = tuple(block.expand(len(rows), -1).detach().clone().requires_grad_() for block in layer.states[n - 1])
        after = torch.cat(layer.step(n, state), dim=1)
        found = torch.autograd.grad(after, state, rows.to(after.dtype), allow_unused=True, materialize_grads=True)
    return torch.cat(found, dim=1).double()


def exponents(layer: RunLayer) -> NDArray[np.float64]:
    """The largest ``FOLLOWED`` of a layer, a step, in falling order; −∞ where the product is singular.

    NaN where a Jacobian is not finite. At most the last ``MOST_STEPS`` steps are used.
    """
    last = len(layer.states) - 1
    size = sum(block.shape[1] for block in layer.states[0])
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(size, min(FOLLOWED, size), generator=generator, dtype=torch.float64)
    rows = torch.linalg.qr(start)[0].T.to(layer.states[0][0].device)
    steps = range(last, max(layer.first, last - MOST_STEPS + 1) - 1, -1)
    logs = torch.zeros(len(rows), dtype=torch.float64)
    turning = len(steps) // 4
    for index, n in enumerate(steps):
        moved = pulled(layer, n, rows)
        if not bool(torch.isfinite(moved).all()):
            return np.full(len(rows), math.nan)
        orthonormal, triangle = torch.linalg.qr(moved.T)
        rows = orthonormal.T
        if index >= turning:
            logs += triangle.diagonal().abs().log().cpu()
    found = (logs / (len(steps) - turning)).numpy()
    return np.sort(found)[::-1].copy()


def spectra(layer: RunLayer, places: int = PLACES) -> list[StepSpectrum]:
    """At so many steps, evenly along the sample; none of a layer of more than ``LARGEST`` units."""
    size = sum(block.shape[1] for block in layer.states[0])
    if size > LARGEST:
        return []
    last = len(layer.states) - 1
    steps = sorted({round(value) for value in np.linspace(layer.first, last, places)})
    found = []
    for n in steps:
        matrix = pulled(layer, n, torch.eye(size, dtype=torch.float64, device=layer.states[0][0].device)).cpu()
        if not bool(torch.isfinite(matrix).all()):
            found.append(StepSpectrum(n, math.inf, math.nan, math.nan))
            continue
        singular = torch.linalg.svdvals(matrix)
        radius = float(torch.linalg.eigvals(matrix).abs().max())
        found.append(StepSpectrum(n, float(singular[0]), float(singular[-1]), radius))
    return found
