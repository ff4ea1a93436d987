"""What general methods bound on the same networks: intervals carried through time, and products of norms of steps.

Float64 without outward rounding: baselines, no certificates. A change of the inputs within ‖δu‖₂ ≤ ε moves every input
by at most ε, which is the box that intervals begin with.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

Box: TypeAlias = tuple[Tensor, Tensor]

LEAST = 1e-12
"""Smaller radii of intervals are shown as 0: float64 has no digits for them."""


def linear(W: Tensor, box: Box, b: Tensor | float = 0.0) -> Box:
    """W x + b over lo ≤ x ≤ hi, (B, ·)."""
    middle, half = (box[0] + box[1]) / 2, (box[1] - box[0]) / 2
    centre, width = middle @ W.T + b, half @ W.abs().T
    return centre - width, centre + width


def product(a: Box, b: Box) -> Box:
    corners = torch.stack([x * y for x in a for y in b])
    return corners.amin(0), corners.amax(0)


def plus(*boxes: Box) -> Box:
    return sum(box[0] for box in boxes), sum(box[1] for box in boxes)  # type: ignore[return-value]


def monotone(f: Callable[[Tensor], Tensor], box: Box) -> Box:
    return f(box[0]), f(box[1])


def scaled(k: Tensor | float, box: Box) -> Box:
    return product((torch.as_tensor(k).double(), torch.as_tensor(k).double()), box)


def last_row(cell: nn.Module, box: Box) -> Box:
    """The last row of a network over boxes of inputs (N, B, d)."""
    name = type(cell).__name__
    if name in ("UnICORNN", "DampedUnICORNN"):
        return _oscillators(cell, box)
    if name in ("ScoRNN", "ExpRNN"):
        return _soft_threshold(cell, box)
    return _gated(cell, box)


def _coefficients(cell: Any, index: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """w, h, q, α of a layer, float64."""
    if type(cell).__name__ == "DampedUnICORNN":
        w, h, alpha, q = (each.detach().double() for each in cell.layers[index].coefficients())
        return w, h, q, alpha
    of = {key: value.detach().double() for key, value in cell.coefficients(index).items()}
    return of["w"], of["step_size"], torch.ones_like(of["w"]), of["alpha"]


def _oscillators(cell: Any, box: Box) -> Box:
    lows, highs = box
    for index, layer in enumerate(cell.layers):
        (w, h, q, alpha), V = _coefficients(cell, index), layer.V.detach().double()
        b = 0.0 if layer.b is None else layer.b.detach().double()
        y = z = (lows.new_zeros(lows.shape[1], len(w)),) * 2
        rows = []
        for n in range(len(lows)):
            force = monotone(torch.tanh, plus(scaled(w, y), linear(V, (lows[n], highs[n]), b)))
            z = scaled(q, plus(z, scaled(-h, plus(force, scaled(alpha, y)))))
            y = plus(y, scaled(h, z))
            rows.append(y)
        lows, highs = torch.stack([row[0] for row in rows]), torch.stack([row[1] for row in rows])
    return lows[-1], highs[-1]


def _soft_threshold(cell: Any, box: Box) -> Box:
    layer = cell.layers[0]
    W, V, b = (each.detach().double() for each in (layer.recurrent_matrix(), layer.like, layer.biases()))
    h = (box[0].new_zeros(box[0].shape[1], len(W)),) * 2
    for n in range(len(box[0])):
        z = plus(linear(W, h), linear(V, (box[0][n], box[1][n])))
        h = monotone(lambda x: torch.sign(x) * (x.abs() + b).clamp(min=0.0), z)
    return h


def _gated(cell: Any, box: Box) -> Box:
    """nn.LSTM and nn.GRU of one layer."""
    W, U = cell.weight_ih_l0.detach().double(), cell.weight_hh_l0.detach().double()
    b, c = cell.bias_ih_l0.detach().double(), cell.bias_hh_l0.detach().double()
    m, is_lstm = cell.hidden_size, isinstance(cell, nn.LSTM)
    h = s = (box[0].new_zeros(box[0].shape[1], m),) * 2
    for n in range(len(box[0])):
        by_u, by_h = linear(W, (box[0][n], box[1][n]), b), linear(U, h, c)
        part = [tuple(x[:, k * m : (k + 1) * m] for x in by_u) for k in range(len(W) // m)]
        rest = [tuple(x[:, k * m : (k + 1) * m] for x in by_h) for k in range(len(W) // m)]
        gates: list[Box] = [monotone(torch.sigmoid, plus(x, y)) for x, y in zip(part, rest, strict=True)]  # type: ignore[arg-type]
        if is_lstm:
            new = monotone(torch.tanh, plus(part[2], rest[2]))  # type: ignore[arg-type]
            s = plus(product(gates[1], s), product(gates[0], new))
            h = product(gates[3], monotone(torch.tanh, s))
        else:
            new = monotone(torch.tanh, plus(part[2], product(gates[0], rest[2])))  # type: ignore[arg-type]
            kept = gates[1]
            h = plus(product((1 - kept[1], 1 - kept[0]), new), product(kept, h))
    return h


@torch.no_grad()
def interval_radii(
    cell: nn.Module, readout: nn.Linear, inputs: Tensor, labels: Tensor, *, halvings: int = 24
) -> Tensor:
    """The largest ε with every margin kept over the box, (B,), by bisection of log ε between LEAST and 1."""
    cell, labels = copy.deepcopy(cell).double(), labels.long()
    R, c, u = readout.weight.detach().double(), readout.bias.detach().double(), inputs.double()
    low, high = torch.full((u.shape[1],), math.log(LEAST)), torch.zeros(u.shape[1])
    rows = R[labels][:, None] - R
    for _ in range(halvings):
        middle = (low + high) / 2
        eps = middle.exp().double()[None, :, None]
        h_low, h_high = last_row(cell, (u - eps, u + eps))
        centre, half = (h_low + h_high)[:, :, None] / 2, (h_high - h_low)[:, :, None] / 2
        margin = (rows @ centre - rows.abs() @ half)[..., 0] + c[labels][:, None] - c
        kept = margin.scatter(1, labels[:, None], math.inf).amin(dim=1) > 0
        low, high = torch.where(kept, middle, low), torch.where(kept, high, middle)
    return torch.where(low <= math.log(LEAST), 0.0, low.exp())


@torch.no_grad()
def log_product_of_norms(cell: nn.Module, steps: int) -> float:
    """log L, ‖h_N − h'_N‖ ≤ L ‖u − u'‖₂ by norms of single steps: what every step may do at most, multiplied."""
    name, logs = type(cell).__name__, np.full(steps, -math.inf)
    logs[0] = 0.0  # of the input: a change is itself at one time

    def through(rate: float, entry: float) -> None:
        """From below to above: Σ_i rate^{j−i} entry · below_i, in logarithms."""
        total = -math.inf
        for j in range(steps):
            total = np.logaddexp(total + rate, math.log(entry) + logs[j])
            logs[j] = total

    if name in ("UnICORNN", "DampedUnICORNN"):
        for index, layer in enumerate(cell.layers):  # type: ignore[arg-type,union-attr]
            w, h, q, alpha = _coefficients(cell, index)
            ends = [_step_matrix(alpha + k, h, q) for k in (w.clamp(min=0.0), w.clamp(max=0.0))]
            rate = max(float(torch.linalg.matrix_norm(M, 2).max()) for M in ends)
            enters = float((h * q * (1 + h * h).sqrt()).max())
            through(math.log(rate), enters * float(torch.linalg.matrix_norm(layer.V.double(), 2)))
    elif name in ("ScoRNN", "ExpRNN"):
        through(0.0, float(torch.linalg.matrix_norm(cell.layers[0].like.double(), 2)))  # type: ignore[index,union-attr]
    else:
        return _gated_product(cell, steps)
    return float(np.logaddexp.reduce(2 * logs) / 2)


def _step_matrix(k: Tensor, h: Tensor, q: Tensor) -> Tensor:
    return torch.stack([torch.stack([1 - h * h * q * k, h * q], -1), torch.stack([-h * q * k, q], -1)], -2)


def _gated_product(cell: Any, steps: int) -> float:
    """(δh, δc) of one step of nn.LSTM with |c_n| ≤ n, δh of nn.GRU, by norms of the gates' matrices; |σ̂'| ≤ 1/4."""
    m = cell.hidden_size
    blocks = [cell.weight_hh_l0.double().split(m), cell.weight_ih_l0.double().split(m)]
    U, W = ([float(torch.linalg.matrix_norm(block, 2)) for block in of] for of in blocks)

    def after(h: np.ndarray, c: np.ndarray, u: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(cell, nn.LSTM):
            gate = [U[k] * h + W[k] * u for k in range(4)]
            c = c + n * gate[1] / 4 + gate[0] / 4 + gate[2]
            return c + gate[3] / 4, c
        reset, update = ((U[k] * h + W[k] * u) / 4 for k in range(2))
        size = U[2] * math.sqrt(m) + abs(float(cell.bias_hh_l0[2 * m :].norm()))
        return h + 2 * update + W[2] * u + U[2] * h + size * reset, c

    ones, scale = np.eye(steps), np.zeros(steps)
    h = c = np.zeros(steps)
    for n in range(steps):
        h, c = after(h, c, ones[n] * np.exp(-scale), n)
        largest = np.maximum(np.maximum(h, c), 1.0)
        h, c, scale = h / largest, c / largest, scale + np.log(largest)
    with np.errstate(divide="ignore"):
        return float(np.logaddexp.reduce(2 * (np.log(h) + scale)) / 2)
