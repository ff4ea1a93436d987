"""Step Jacobians along samples, and what their products do.

    J_n = ∂X_n/∂X_{n−1} at fixed inputs,      λ_i = lim 1/(N − n) log σ_i(J_N ⋯ J_{n+1})

The exponents are those of the transposed product, which has the same singular values: orthonormal rows are pulled back
from the last step to the first, P ← P J_n, and made orthonormal again (LQ) at every step; λ_i is the mean of log |L_ii|
(Benettin et al. 1980), without the first quarter of these steps, in which random rows turn to where they are stretched.
Where J_N ⋯ J_n is 0, nothing before n is left at N: that n is kept, and the exponents are those of the steps after it.
For a layer above others the inputs are the rows below, so these are the exponents of the layer; those of a stack are
the exponents of all its layers, as its Jacobian is block triangular.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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


@dataclass(frozen=True)
class SampleExponents:
    """Along one sample.

    largest   the largest ``FOLLOWED``, a step, falling; NaN where a Jacobian is not finite; −∞ of a singular product
    silent    the largest n with J_N ⋯ J_n = 0; 0 if there is none
    steps     N
    """

    largest: tuple[float, ...]
    silent: int
    steps: int

    @property
    def used(self) -> int:
        """Steps after the silent ones."""
        return self.steps - self.silent


@dataclass(frozen=True, eq=False)
class StepSpectrum:
    """Of J_n: n from 1; largest and smallest singular value; the largest modulus of an eigenvalue."""

    n: int
    largest: float
    smallest: float
    radius: float


def pulled(layer: RunLayer, n: int, rows: Tensor, which: Tensor) -> Tensor:
    """rows J_n of each sample, (samples, k, size) for rows (samples, k, size); blocks of the state side by side."""
    assert layer.step is not None
    copies = which.repeat_interleave(rows.shape[1])
    with torch.enable_grad():
        state = tuple(block[copies].detach().clone().requires_grad_() for block in layer.states[n - 1])
        after = torch.cat(layer.step(n, state, copies), dim=1)
        flat = rows.reshape(len(copies), -1).to(after.dtype)
        found = torch.autograd.grad(after, state, flat, allow_unused=True, materialize_grads=True)
    return torch.cat(found, dim=1).double().reshape(rows.shape)


def exponents(layer: RunLayer) -> tuple[SampleExponents, ...]:
    """Of every sample. At most the last ``MOST_STEPS`` steps are used."""
    found: dict[int, SampleExponents] = {}
    for last in sorted(set(layer.ends)):
        members = [sample for sample, end in enumerate(layer.ends) if end == last]
        if last >= layer.first:
            found |= dict(zip(members, _to_the_end(layer, last, members), strict=True))
    return tuple(found[sample] for sample in sorted(found))


def _to_the_end(layer: RunLayer, last: int, members: Sequence[int]) -> list[SampleExponents]:
    """Of the samples that end at ``last``, all at once."""
    size = sum(block.shape[1] for block in layer.states[0])
    device = layer.states[0][0].device
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(size, min(FOLLOWED, size), generator=generator, dtype=torch.float64)
    rows = torch.linalg.qr(start)[0].T.to(device).expand(len(members), -1, -1)
    which = torch.tensor(members, device=device)
    silent = np.zeros(len(members), dtype=int)
    every = []
    for n in range(last, max(layer.first, last - MOST_STEPS + 1) - 1, -1):
        moved = pulled(layer, n, rows, which)
        is_finite = torch.isfinite(moved).all(dim=(1, 2))
        is_zero = (moved == 0).all(dim=2).all(dim=1)
        silent = np.where((silent == 0) & is_zero.cpu().numpy(), n, silent)
        moved = torch.where(is_finite[:, None, None], moved, rows)
        orthonormal, triangle = torch.linalg.qr(moved.mT)
        rows = torch.where(is_zero[:, None, None], rows, orthonormal.mT)
        sizes = triangle.diagonal(dim1=1, dim2=2).abs().log()
        every.append(torch.where(is_finite[:, None], sizes, math.nan).cpu().numpy())
        if (silent > 0).all():
            break
    logs = np.stack(every)
    return [_of_one(logs[:, index], int(silent[index]), last) for index in range(len(members))]


def _of_one(logs: NDArray[np.float64], silent: int, last: int) -> SampleExponents:
    """Of one sample's log |L_ii|, from the last step on."""
    used = logs[: last - silent] if silent else logs
    if not len(used):
        return SampleExponents((-math.inf,) * logs.shape[1], silent, last)
    kept = used[len(used) // 4 :].mean(axis=0)
    found = tuple(float(value) for value in np.sort(kept)[::-1])
    return SampleExponents((math.nan,) * len(found) if np.isnan(kept).any() else found, silent, last)


def median(found: Sequence[SampleExponents]) -> NDArray[np.float64]:
    """Of each exponent over the samples; NaN where one of them is."""
    values = np.array([each.largest for each in found])
    with np.errstate(invalid="ignore"):  # of −∞ and −∞
        middle = np.sort(values, axis=0)
        low, high = middle[(len(values) - 1) // 2], middle[len(values) // 2]
        found_middle: NDArray[np.float64] = np.where(low == high, low, (low + high) / 2)
    found_middle[np.isnan(values).any(axis=0)] = math.nan
    return found_middle


def spectra(layer: RunLayer, places: int = PLACES, sample: int = 0) -> list[StepSpectrum]:
    """At so many steps, evenly along the sample; none of a layer of more than ``LARGEST`` units."""
    size = sum(block.shape[1] for block in layer.states[0])
    if size > LARGEST or layer.ends[sample] < layer.first:
        return []
    device = layer.states[0][0].device
    which = torch.tensor([sample], device=device)
    steps = sorted({round(value) for value in np.linspace(layer.first, layer.ends[sample], places)})
    found = []
    for n in steps:
        unit = torch.eye(size, dtype=torch.float64, device=device)[None]
        matrix = pulled(layer, n, unit, which)[0].cpu()
        if not bool(torch.isfinite(matrix).all()):
            found.append(StepSpectrum(n, math.inf, math.nan, math.nan))
            continue
        singular = torch.linalg.svdvals(matrix)
        radius = float(torch.linalg.eigvals(matrix).abs().max())
        found.append(StepSpectrum(n, float(singular[0]), float(singular[-1]), radius))
    return found
