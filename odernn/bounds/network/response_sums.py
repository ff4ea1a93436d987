"""Sums of the moduli of responses, Σ_{j<n} |e·M^j k|, of 2 × 2 matrices, rounded up.   thm-C-sums

    ‖M^l‖ ≤ P ρ^l for 0 ≤ l < N,     P = 1 + min(N ν/ρ, 2ν/|λ₁ − λ₂|),     ν² = ‖M‖_F² − |λ₁|² − |λ₂|²

ρ the spectral radius or more, ν the entry of M's Schur form beside its eigenvalues λ₁, λ₂. A computed M^j k is off by
errors that M has carried on since, P ε F_j at most, F_{j+1} = ρ F_j + ‖M^j k‖: a sum may be short of Σ P ε F_j, a share
of it that grows with N, but not as responses do that grow. Proof: docs/derivations/certificates.md; natural logarithms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from odernn.bounds.network.states import ROUNDOFF, outward
from odernn.bounds.network.sweeps import NOTHING, TINY, Array, Logs

AXES = np.eye(2)
LOOK = 64
"""Steps after which it is asked whether what is left of a sum that decays is worth going on for."""
ENOUGH = 2.0**-50
"""So small a share of a sum, or of the responses that its rounding is bounded by, is what may be left of it then."""


@dataclass(frozen=True, eq=False)
class ResponseSums:
    """log Σ_{j<n} |e·M^j k| of each direction, kick and matrix, (N, d, m) or (N, d, kicks, m), or of n = N alone.

    powers  log Σ_{j<N} |M^j|, (2, 2, m)
    """

    sums: Logs
    powers: Logs


@dataclass(frozen=True, eq=False)
class PowerBound:
    """‖S M^l S⁻¹‖₂ ≤ size · rate^l for 0 ≤ l < N, of each matrix (m,), S = diag(1, tilt).

    loss  by so many times its own norm a response is off after one step
    """

    tilt: Array
    rate: Array
    size: Array
    loss: Array

    @classmethod
    def of(cls, M: Array, sizes: Array, steps: int) -> Self:
        """Of all matrices that differ from M (m, 2, 2) by no more than a few roundings of ``sizes``.

        The tilt is a power of two, next to what makes the entries off the diagonal of one size, or the larger one a
        thousandth of the diagonal, if that is less of a tilt. In units of the largest entry nothing is beyond floats.
        A rate above the spectral radius is one, too: that of a nilpotent M is not zero.
        """
        exponents = np.log2(np.maximum(np.maximum(np.abs(M), sizes).max(axis=(1, 2)), TINY))
        largest = np.exp2(np.clip(np.ceil(exponents), -1000, 1000))
        M, sizes = M / largest[:, None, None], sizes / largest[:, None, None]
        tilt = cls._tilt(M, largest)
        scale = np.array([[np.ones_like(tilt), 1 / tilt], [tilt, np.ones_like(tilt)]]).transpose(2, 0, 1)
        M, S = M * scale, np.maximum(sizes, np.abs(M)) * scale
        half, trace = np.abs(M[:, 0, 0] + M[:, 1, 1]) / 2, S[:, 0, 0] + S[:, 1, 1]
        square = ((M[:, 0, 0] - M[:, 1, 1]) / 2) ** 2 + M[:, 0, 1] * M[:, 1, 0]  # ((λ₁ − λ₂)/2)²
        off, slack = 16 * ROUNDOFF * trace, 64 * ROUNDOFF * (trace**2 + S[:, 0, 1] * S[:, 1, 0])
        real = np.where(square + slack >= 0, half + off + np.sqrt(np.maximum(square + slack, 0.0)), 0.0)
        turning = np.where(square < slack, np.sqrt((half + off) ** 2 + np.maximum(slack - square, 0.0)), 0.0)
        gap = np.maximum(np.abs(square) - slack, 0.0)
        whole = (M**2).sum(axis=(1, 2)) + 64 * ROUNDOFF * (S**2).sum(axis=(1, 2))
        departure = np.sqrt(np.maximum(whole - 2 * np.maximum(half - off, 0.0) ** 2 - 2 * gap, 0.0)) * (1 + 2.0**-40)
        radius = np.maximum(np.maximum(real, turning) * (1 + 8 * ROUNDOFF), TINY)
        rate = np.maximum(radius, np.minimum(departure, 0.5 / largest))
        size = 1 + np.minimum(steps * departure / rate, departure / np.sqrt(np.maximum(gap, TINY)))
        loss = 4 * ROUNDOFF * (largest * np.sqrt((S**2).sum(axis=(1, 2))) + math.sqrt(2))
        return cls(tilt, rate * largest, size, loss)

    @staticmethod
    def _tilt(M: Array, unit: Array) -> Array:
        """Of M in a unit. Next to entries that are larger a diagonal counts as one of 1 at least, or of their size."""
        up, down = np.abs(M[:, 0, 1]), np.abs(M[:, 1, 0])
        most = np.maximum(np.maximum(up, down), TINY)
        diagonal = np.maximum(np.maximum(np.abs(M[:, 0, 0]), np.abs(M[:, 1, 1])), np.minimum(most, 1 / unit))
        least = 2.0**-20 * diagonal * (diagonal / most)
        ratio = np.log2(np.maximum(up, least)) - np.log2(np.maximum(down, least))
        tilt: Array = np.exp2(np.clip(np.round(ratio / 2), -60, 60))
        return tilt


def response_sums(
    M: Array, kick: Array, steps: int, *, sizes: Array, is_kept: bool = False, directions: Array = AXES
) -> ResponseSums:
    """Of matrices M (m, 2, 2) and kicks (m, 2) or (m, 2, kicks), in directions e (d, 2).

    ``sizes`` (m, 2, 2) has for each entry of M the sum of the moduli of what it was computed from, in a few operations:
    that many units, a few times, it may be off. ``is_kept``: for every n, not for N alone.
    """
    vectors = kick if kick.ndim == 3 else kick[:, :, None]
    everything = np.concatenate((np.broadcast_to(np.eye(2), M.shape), vectors), axis=2)
    looked_at = AXES if directions is AXES else np.concatenate((AXES, directions))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        rows = _sums(M, everything, steps, looked_at, PowerBound.of(M, sizes, steps), is_kept)
    rows = np.where(np.isnan(rows), np.inf, rows)  # beyond floats
    logs = np.asarray(outward(np.maximum(rows, NOTHING), 4.0 * steps))
    sums = logs[:, -len(directions) :, 2:]
    return ResponseSums(sums if kick.ndim == 3 else sums[:, :, 0], logs[-1, :2, :2])


def _sums(M: Array, vectors: Array, steps: int, directions: Array, bound: PowerBound, is_kept: bool) -> Logs:
    """log Σ_{j<n} |e·M^j v| and what rounding may have taken from it: (N, d, kicks, m), or of n = N alone."""
    largest = np.maximum(np.abs(vectors).max(axis=(1, 2)), TINY)
    v, scale, M = (vectors / largest[:, None, None]).transpose(1, 2, 0), np.log(largest), M.transpose(1, 2, 0)
    turned = directions[:, :, None, None]
    weights = np.abs(turned[:, 0]) + np.abs(turned[:, 1]) / bound.tilt
    total, rows = np.zeros((len(directions), *v.shape[1:])), []
    carried, errors, norms, tail = (np.zeros(v.shape[1:]) for _ in range(4))
    often = 16 if bool((np.abs(M) < 2.0**40).all()) else 1
    unit, decays = bound.size * bound.loss, bool((bound.rate < 1).all()) and not is_kept
    for n in range(steps):
        total += np.abs(v if directions is AXES else turned[:, 0] * v[0] + turned[:, 1] * v[1])
        norm = np.abs(v[0]) + bound.tilt * np.abs(v[1]) + TINY
        errors += carried
        norms += norm
        carried = bound.rate * carried + norm
        v = np.stack((M[0, 0] * v[0] + M[0, 1] * v[1], M[1, 0] * v[0] + M[1, 1] * v[1]))
        is_over = False
        if decays and n % LOOK == LOOK - 1:
            norm = np.abs(v[0]) + bound.tilt * np.abs(v[1]) + TINY
            tail = 2 * bound.size / (1 - bound.rate) * (norm + 2 * unit * carried)
            is_over = bool((weights * tail <= ENOUGH * (total + weights * norms)).all())
        if is_kept or is_over or n == steps - 1:
            rest = 2 * unit * errors + 16 * ROUNDOFF * norms + (tail if is_over else 0.0)
            rows.append(np.log(total + weights * rest) + scale)
        if is_over:
            break
        if n % often == 0:
            size = np.abs(v).max(axis=(0, 1))
            divisor = np.where(size > 2.0**200, size, 1.0)
            scale = scale + np.log(divisor)
            v, total, carried, errors, norms = (each / divisor for each in (v, total, carried, errors, norms))
    return np.stack(rows)
