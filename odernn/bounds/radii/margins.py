"""From what moves scores to radii: the largest ε at which every margin is kept.   docs/derivations/radii.md

    m_j > ‖(R_i − R_j) 𝓛_N‖_* ε + ⟨|R_i − R_j|, E_N(ε)⟩ + rounding      for every class j ≠ i,  m_j = s_i − s_j

thm-R (b), (c). Any ε that is found to hold is a radius: nothing is assumed of how E grows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from odernn.bounds.radii import oscillators
from odernn.bounds.radii.norms import Norm
from odernn.bounds.radii.oscillators import DOUBLE, Linearised, OscillatorSteps, ReadOut, gamma
from odernn.bounds.reconstruction import Precision

SHARES = (2.0**-12, 2.0**-9, 2.0**-7, 2.0**-5, 2.0**-4, 2.0**-3, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97)
"""Radii that are tried, of the one that the derivative alone would give; the largest that holds is the answer."""

REFINED = 6
"""Radii tried once more, between the largest that held and the next one."""


def local_radii(
    stack: Sequence[OscillatorSteps], read: ReadOut, inputs: Tensor, labels: Tensor, norm: Norm, precision: Precision
) -> Tensor:
    """The certified radius of every sequence, (B,) float64: of inputs (N, B, d) float64, labels (B,); 0 where none."""
    run = oscillators.linearised(stack, inputs, norm, of_mean=read.of_mean)
    size = inputs.shape[-1]
    margins, rows = _margins(read, run, labels, len(inputs))
    slopes = norm.dual(rows @ run.derivative, size)
    most = torch.where(margins > 0, margins / slopes.clamp(min=2.0**-500), 0.0).amin(dim=1).clamp(max=2.0**100)
    found, beyond = torch.zeros_like(most), most
    tried = most[:, None] * most.new_tensor(SHARES)
    for _ in range(2):
        holds = _holds(stack, read, run, inputs, tried, margins, rows, slopes, labels, precision)
        found = torch.maximum(found, torch.where(holds, tried, 0.0).amax(dim=1))
        above = torch.where(~holds & (tried > found[:, None]), tried, most[:, None]).amin(dim=1)
        beyond = torch.maximum(torch.minimum(beyond, above), found)
        between = torch.arange(1, REFINED + 1, dtype=torch.float64) / (REFINED + 1)
        tried = found[:, None] + between * (beyond - found)[:, None]
    return found


def _margins(read: ReadOut, run: Linearised, labels: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """s_i − s_j of the run in float64, rounded down, (B, classes), ∞ at j = i; R_i − R_j, (B, classes, m)."""
    rows = read.R[labels][:, None] - read.R
    exact = (rows @ run.seen[:, :, None])[..., 0] + read.c[labels][:, None] - read.c
    moduli = (read.R[labels].abs()[:, None] + read.R.abs()) @ run.moduli[:, :, None]
    moduli = moduli[..., 0] + read.c[labels].abs()[:, None] + read.c.abs()
    margins = exact - gamma(read.R.shape[1] + 8 + steps, DOUBLE.unit_roundoff) * moduli
    return margins.scatter(1, labels[:, None], torch.inf), rows


def _holds(
    stack: Sequence[OscillatorSteps],
    read: ReadOut,
    run: Linearised,
    inputs: Tensor,
    radii: Tensor,
    margins: Tensor,
    rows: Tensor,
    slopes: Tensor,
    labels: Tensor,
    precision: Precision,
) -> Tensor:
    """Whether every margin is kept within each of the radii (B, K)."""
    steps, width = len(inputs), read.R.shape[1]
    E = oscillators.remainders(stack, run, inputs, radii, precision, of_mean=read.of_mean)
    eps, R = radii[:, None, :], read.R.abs()
    both, constant = R[labels][:, None] + R, read.c[labels].abs()[:, None] + read.c.abs()
    sizes = run.moduli[:, :, None] + run.by_seen[:, :, None] * eps + E
    u, nu = precision.unit_roundoff, precision.underflow
    terms = width + 8 + (steps if read.of_mean else 0)
    summed = both @ sizes + constant[:, :, None]
    rounded = gamma(terms, u) * summed
    lost_slopes = 4 * (width + steps) * DOUBLE.unit_roundoff * (both @ run.by_seen[:, :, None])
    moved = (slopes[:, :, None] + lost_slopes) * eps + rows.abs() @ E + rounded
    moved = moved * (1 + (width + 64) * 2.0**-50) + 64 * (width + steps) * nu
    kept = (margins[:, :, None] > moved) & (moved < torch.inf) & (summed < math.exp(precision.log_largest - 1))
    own = torch.arange(len(R)) == labels[:, None]
    return (kept | own[:, :, None]).all(dim=1) & (radii > 0)
