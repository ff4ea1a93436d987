"""The way back through a UnICORNN: ∂E/∂X_n of every layer, and the products of its step Jacobians, in one sweep.

One neuron, A_{n−1} = w y_{n−1} + x_n, κ_n = α + w σ'(A_{n−1}). With p_n = ∂E/∂y_n and r_n = ∂E/∂z_n, where
X_n = (y_n, z_n) is moved as it stands after step n,

    p_N = E'_N,  r_N = ∂E/∂z_N;     q_n = r_n + h p_n,     r_{n−1} = q_n,     p_{n−1} = p_n − h κ_n q_n + E'_{n−1}.

In icml S(3)–(5) q_n is the derivative by the z_n *inside* step n, before y_n follows from it: ∂E/∂X_n is
(p_n, q_{n+1}), not (p_n, q_n). The rows of Φ(N, n) = B(κ_N) ⋯ B(κ_{n+1}) obey the same recursion without sources.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from odernn.cells.common.sequences import Sequences
from odernn.cells.unicornn import UnICORNN
from odernn.executions.recurrence import RecurrenceResult
from verification.monitors.unrolled import Cotangent, direct_part, norms_over_time

CHUNK = 2**16
"""Numbers of one array that are worked on together: they stay in the cache of a core."""
RESCALED_EVERY, LARGE = 16, 2.0**20
"""Products are looked at after at most so many steps, and scaled down above so much."""


@dataclass(eq=False)
class Sweep:
    """What one layer leaves of the way back.

    log_growth  log ‖Φ(N, 0)‖₂, N each sample's own end; (batch, hidden), float64
    norms       ‖∂E/∂y_n‖₂ and ‖∂E/∂z_n‖₂ over samples and neurons, (time,) float64
    grad_x      ∂E/∂x_n where a layer below wants it
    costates    ∂E/∂X_n, and ``direct`` E'_n, where they are to be kept
    """

    log_growth: Tensor
    norms: dict[str, Tensor] | None = None
    grad_x: Tensor | None = None
    costates: dict[str, Tensor] | None = None
    direct: dict[str, Tensor] | None = None


def sweep_back(
    network: UnICORNN,
    sequences: Sequences,
    drives: list[Tensor],
    results: list[RecurrenceResult],
    masks: list[Tensor | None],
    cotangent: Cotangent | None,
    keep: bool,
) -> list[Sweep]:
    """All layers in their order, computed from the last one down; ``masks`` are those of dropout on each level."""
    swept: list[Sweep] = []
    # by what is seen of a level; the input's is not asked for
    gradients: list[Tensor | None] = [None] * (network.num_layers + 1)
    if cotangent is not None:
        gradients[-1] = cotangent.rows
    for index in range(len(results) - 1, -1, -1):
        number, direction = divmod(index, network.directions)
        source: _Source | None = None
        if cotangent is not None:
            rows = gradients[number + 1]
            rows = torch.zeros_like(results[index].y) if rows is None else rows.chunk(network.directions, -1)[direction]
            rows = sequences.reversed(rows) if direction else rows
            source = _Source(rows, cotangent.last[0][index], cotangent.last[1][index], sequences)
        sweep = _one_layer(
            network, index, drives[index], results[index], source, sequences.inside(len(sequences.u)), keep
        )
        swept.append(sweep)
        if sweep.grad_x is not None:
            grad_x = sequences.reversed(sweep.grad_x) if direction else sweep.grad_x
            sweep.grad_x = None
            _pass_down(network, index, grad_x, masks, gradients)
    return swept[::-1]


def _pass_down(
    network: UnICORNN, index: int, grad_x: Tensor, masks: list[Tensor | None], gradients: list[Tensor | None]
) -> None:
    """Add Vᵀ ∂E/∂x_n, and Λᵀ ∂E/∂x_n, to what comes to the levels that the layer sees."""
    below, skip = network.sources(index // network.directions + 1)
    for level, name in ((below, "V"), (skip, "Lambda")):
        if level is None or level == 0:
            continue
        upstream = grad_x @ getattr(network.layers[index], name)
        if network.index == "sam":  # row n of what is seen is y_{n−1}
            upstream = torch.cat([upstream[1:], torch.zeros_like(upstream[:1])])
        mask = masks[level - 1]
        if mask is not None:
            upstream *= mask
        before = gradients[level]
        gradients[level] = upstream if before is None else before.add_(upstream)


class _Source:
    """E'_n of one layer: what comes to y_n from above, and to the state at each sample's own end."""

    def __init__(self, rows: Tensor, last_y: Tensor, last_z: Tensor, sequences: Sequences) -> None:
        self.rows, self.last, self.found = rows, (last_y, last_z), sequences

    def add_to(self, p: Tensor, r: Tensor, n: int) -> None:
        """p, r (batch, hidden) += E'_n."""
        p += self.rows[n - 1]
        if self.found.lengths is not None:
            ends = (self.found.lengths == n).unsqueeze(1)
            for block, last in zip((p, r), self.last, strict=True):
                block += torch.where(ends, last, last.new_zeros(()))
        elif n == len(self.rows):
            p += self.last[0]
            r += self.last[1]

    def kept(self) -> dict[str, Tensor]:
        zeros = torch.zeros_like(self.rows)
        parts = zip(("y", "z"), (self.rows, zeros), self.last, strict=True)
        return {name: direct_part(rows, last, self.found) for name, rows, last in parts}


def _one_layer(
    network: UnICORNN,
    index: int,
    x: Tensor,
    result: RecurrenceResult,
    source: _Source | None,
    inside: Tensor | None,
    keep: bool,
) -> Sweep:
    """Three pairs (p, r) go back through time together: ∂E/∂X_n, and the two rows of Φ(N, n)."""
    products = _Products(network, index, result.y0)
    sweep = Sweep(products.exponent)
    kept = _Kept(sweep, x, source, wants_x=index >= network.directions, keep=keep)
    p, r = products.p, products.r
    mine = p[0], r[0]
    size = products.chunk
    buffers = [torch.empty(size, *result.y0.shape, dtype=x.dtype, device=x.device) for _ in range(3)]
    ps, rs, qs = (buffer.unbind() for buffer in buffers)
    for first in range((len(x) - 1) // size * size, -1, -size):
        rows = slice(first, min(first + size, len(x)))
        before = result.y[max(first - 1, 0) : rows.stop - 1]
        slopes = products.slopes(before if first else torch.cat([result.y0.unsqueeze(0), before]), x[rows])
        kicks, drifts = products.moves(slopes, None if inside is None else inside[rows])
        for k in range(rows.stop - first - 1, -1, -1):
            if source is not None:
                source.add_to(*mine, first + k + 1)
                ps[k].copy_(mine[0])
                rs[k].copy_(mine[1])
            r.addcmul_(drifts[k], p)  # q
            if source is not None:
                qs[k].copy_(mine[1])
            p.addcmul_(kicks[k], r)
        kept.take(rows, [buffer[: rows.stop - first] for buffer in buffers], products.h, slopes)
        products.rescale(rows.stop - first)
    sweep.log_growth = products.log_norm()
    return sweep


class _Products:
    """p and r, (3, batch, hidden) each: of ∂E/∂X_n, and the two rows of Φ(N, n) over e^exponent."""

    def __init__(self, network: UnICORNN, index: int, like: Tensor) -> None:
        coefficients = network.coefficients(index)
        self.w, self.h, self.alpha = coefficients["w"], coefficients["step_size"], coefficients["alpha"]
        self.p, self.r = (torch.zeros(3, *like.shape, dtype=like.dtype, device=like.device) for _ in range(2))
        self.p[1], self.r[2] = 1.0, 1.0
        self.exponent = torch.zeros(like.shape, dtype=torch.float64, device=like.device)
        self.steps = 0
        self.every = self._steps_without_overflow()
        self.chunk = max(1, min(self.every, CHUNK // max(1, like.numel())))

    def _steps_without_overflow(self) -> int:
        """How many steps take entries from 2 LARGE to no overflow: a step multiplies the largest by at most
        1 + h + h|κ|(1 + h), as |r + hp| ≤ (1 + h)m and |p − hκ(r + hp)| ≤ (1 + h|κ|(1 + h))m; |κ| ≤ α + |w|.
        """
        h, kappa = self.h.double(), self.alpha.double() + self.w.double().abs()
        largest = max(2.0, float((1 + h + h * kappa * (1 + h)).max()))
        room = math.log(torch.finfo(self.p.dtype).max / (2 * LARGE))
        return max(1, min(RESCALED_EVERY, int(room / math.log(largest)))) if math.isfinite(largest) else 1

    def slopes(self, before: Tensor, x: Tensor) -> Tensor:
        """σ'(w y_{n−1} + x_n)."""
        s = torch.mul(before, self.w).add_(x).tanh_()
        return s.square_().neg_().add_(1)

    def moves(self, slopes: Tensor, inside: Tensor | None) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        """−hκ_n and h of each step; 0 beyond a sample's end, where it does not move."""
        kicks = torch.mul(slopes, self.w).add_(self.alpha).mul_(-self.h)
        drifts = self.h.expand_as(kicks)
        if inside is not None:
            kicks, drifts = (torch.where(inside, move, move.new_zeros(())) for move in (kicks, drifts))
        return kicks.unbind(), drifts.unbind()

    def rescale(self, steps: int) -> None:
        """After so many steps, and where the next chunk could overflow: scale down, each neuron by itself."""
        self.steps += steps
        if self.steps + self.chunk <= self.every:
            return
        self.steps = 0
        p, r = self.p[1:], self.r[1:]
        if max(float(p.abs().max()), float(r.abs().max())) > LARGE:
            scale = torch.maximum(p.abs().amax(0), r.abs().amax(0))
            p /= scale
            r /= scale
            self.exponent += scale.double().log()

    def log_norm(self) -> Tensor:
        """log ‖M‖₂, det M = 1: ‖M‖_F² = s² + 1/s², s² = (F + √(F² − 4))/2."""
        squares = torch.stack([self.p[1:], self.r[1:]]).double().square().sum((0, 1))
        rest = (squares.square() - 4 * torch.exp(-4 * self.exponent)).clamp(min=0)
        return self.exponent + torch.log((squares + rest.sqrt()) / 2) / 2


class _Kept:
    """Fills a ``Sweep`` chunk by chunk."""

    def __init__(self, sweep: Sweep, x: Tensor, source: _Source | None, *, wants_x: bool, keep: bool) -> None:
        self.sweep = sweep
        if source is None:
            return
        sweep.norms = {name: torch.zeros(len(x), dtype=torch.float64, device=x.device) for name in ("y", "z")}
        sweep.grad_x = torch.empty_like(x) if wants_x else None
        if keep:
            sweep.costates = {name: torch.empty_like(x) for name in ("y", "z")}
            sweep.direct = source.kept()

    def take(self, rows: slice, buffers: list[Tensor], h: Tensor, slopes: Tensor) -> None:
        """p, r and q of these rows; ∂E/∂x_n = −h σ' q_n."""
        if self.sweep.norms is None:
            return
        for name, chunk in zip(("y", "z"), buffers, strict=False):
            self.sweep.norms[name][rows] = norms_over_time(chunk)
            if self.sweep.costates is not None:
                self.sweep.costates[name][rows] = chunk
        if self.sweep.grad_x is not None:
            torch.mul(slopes, -h, out=self.sweep.grad_x[rows]).mul_(buffers[2])
