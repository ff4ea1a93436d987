"""Changes carried through time and through layers: the recursion e_n ≤ F_n(e_{n−1}, g_n) of every family of cells.

A layer's state has k blocks, measured in norms of the family's choice; e_n (k,) are bounds on the norms of a change of
them, g_n on those of what enters block by block: by a parameter, or by the output of the layer below, with the state
before and the blocks of this step that are computed earlier held. F_n is monotone in both, F_n(e, g) = ρ_n e + g of one
block; of LEM what enters z goes on to y. thm-C-path of docs/derivations/certificates.md; natural logarithms, rounded
outward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from odernn.bounds.network.states import outward
from odernn.fields import spectra

Logs: TypeAlias = NDArray[np.float64]
Array: TypeAlias = NDArray[np.float64]
Sweep: TypeAlias = Callable[[Logs, Logs], Logs]
"""log g (N, k) and log e_0 (k,) -> log e (N, k), the solution of e_n = F_n(e_{n−1}, g_n).   thm-C-path (a)"""

TINY = 2.0**-1000
"""Stands for a bound that is zero, so that its logarithm is finite."""
NOTHING = math.log(TINY)


@dataclass(frozen=True, eq=False)
class StepConstants:
    """What one step of a layer does to changes.

    sweep        solves e_n = F_n(e_{n−1}, g_n)
    log_climb    (k,): with at most that a change of norm 1 of the output below enters each block
    log_readout  the output moves by at most that times the first block
    log_direct   of every parameter, what a change of one entry enters each block with at step n, (N, k)
    log_start    of a learned initial state: its effect on the blocks at n = 0, (k,)

    Where products are bounded by C ρ^k and steps are not by ρ, ``log_climb``, ``log_direct`` and ``log_start`` hold C.
    """

    sweep: Sweep
    log_climb: Logs
    log_readout: float
    log_direct: Mapping[str, Logs]
    log_start: Mapping[str, Logs] = field(default_factory=dict)


def geometric(rate: float | Logs) -> Sweep:
    """e_n = e^{r_n} e_{n−1} + g_n of one block, r one number or one a step, (N,): Σ_j e^{r_{j+1} + … + r_n} g_j."""

    def sweep(source: Logs, start: Logs) -> Logs:
        growth = np.concatenate(([0.0], np.cumsum(np.broadcast_to(rate, len(source)))))[:, None]
        terms = np.concatenate((start[None, :], source)) - growth
        total = (np.logaddexp.accumulate(terms) + growth)[1:]
        largest = float(np.abs(terms).max() + np.abs(growth).max())
        return np.asarray(outward(total, len(source) * (1.0 + largest)))

    return sweep


def log_gradients(stack: Sequence[StepConstants], log_error: Logs) -> list[dict[str, float]]:
    """log of bounds on |dE/dθ| for every entry of every parameter, layer by layer.   thm-C-path (c)

    ``log_error`` (N,) bounds ∂E_n/∂y_n in the norm that is dual to that of the output; E is the mean of all, or one.
    """
    found: list[dict[str, float]] = []
    for source, layer in enumerate(stack):
        bounds = {}
        for name in (*layer.log_direct, *layer.log_start):
            nothing = np.full((len(log_error), len(layer.log_climb)), NOTHING)
            change = layer.sweep(layer.log_direct.get(name, nothing), layer.log_start.get(name, nothing[0]))
            for below, above in zip(stack[source:], stack[source + 1 :], strict=False):
                entering = below.log_readout + change[:, :1] + above.log_climb
                change = above.sweep(entering, np.full_like(above.log_climb, NOTHING))
            total = log_error + stack[-1].log_readout + change[:, 0]
            bounds[name] = float(np.max(outward(total, change[:, 0], log_error)))
        found.append(bounds)
    return found


def linear_growth(log_factor: float | Logs, log_pushes: Logs, log_start: float = NOTHING) -> Logs:
    """log of G_n = e^log_factor G_{n−1} + push_n, G_0 = e^log_start: (N,)."""
    return geometric(log_factor)(log_pushes[:, None], np.array([log_start]))[:, 0]


def log_of(value: float) -> float:
    """log of a number ≥ 0, rounded up; of zero that of TINY."""
    return float(outward(math.log(max(value, TINY))))


def log_norm(matrix: object) -> float:
    """log of an upper bound on ‖matrix‖₂ of a tensor."""
    return log_of(spectra.spectral_norm(matrix))  # type: ignore[arg-type]
