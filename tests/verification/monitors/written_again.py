"""Total derivatives by autograd alone: loops in which every state of every layer is a node that keeps its gradient."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from odernn.cells.unicornn import UnICORNN

Loss = Callable[[Tensor, list[Tensor]], Tensor]
"""Of the rows of the last layer (time, batch, features), and of the blocks of the last state, (layers, batch, size)."""


def unicornn(
    network: UnICORNN, u: Tensor, loss: Loss, masks: list[Tensor] | None = None
) -> tuple[list[Tensor], list[Tensor]]:
    """∂E/∂X_n of every layer and direction, (time, batch, 2 · hidden), y before z, and the states, likewise.

    The equation of the paper with a node a step; ``masks`` (batch, features) multiply what leaves each layer.
    """
    levels, nodes, ends = [u], [], []
    steps, batch = u.shape[:2]
    for number in range(1, network.num_layers + 1):
        outputs = []
        below, skip = network.sources(number)
        for direction in range(network.directions):
            layer = network.layers[(number - 1) * network.directions + direction]
            h = network.dt[number - 1].to(u) * torch.sigmoid(layer.c)
            X = torch.zeros(batch, 2 * network.hidden_size, dtype=u.dtype)
            column = []
            order = range(steps - 1, -1, -1) if direction else range(steps)
            for n in order:
                m = n - 1 if network.index == "sam" else n
                seen = torch.zeros_like(levels[below][0]) if m < 0 else levels[below][m]
                x = seen @ layer.V.T + (0 if layer.b is None else layer.b)
                if skip is not None:
                    x = x + (torch.zeros_like(levels[skip][0]) if m < 0 else levels[skip][m]) @ layer.Lambda.T
                y, z = X.split(network.hidden_size, dim=1)
                z = z - h * (torch.tanh(layer.w * y + x) + network.alpha[number - 1].to(u) * y)
                X = torch.cat([y + h * z, z], dim=1)
                X.retain_grad()
                column.append(X)
            nodes.append(column)
            rows = torch.stack([each[:, : network.hidden_size] for each in column])
            outputs.append(rows.flip(0) if direction else rows)
            ends.append(column[-1])
        rows = torch.cat(outputs, dim=2)
        levels.append(rows if masks is None or number == network.num_layers else rows * masks[number - 1])
    last = torch.stack(ends)
    blocks = [last[..., : network.hidden_size], last[..., network.hidden_size :]]
    loss(rows, blocks).backward()
    return _gradients(nodes), [torch.stack(column).detach() for column in nodes]


def recurrent(module: nn.RNNBase, u: Tensor, loss: Loss) -> tuple[list[Tensor], list[Tensor]]:
    """The same for torch.nn.LSTM, GRU and RNN of one direction, by torch's own cells."""
    kind = {"LSTM": nn.LSTMCell, "GRU": nn.GRUCell}.get(module.mode, nn.RNNCell)
    options = {} if kind is not nn.RNNCell else {"nonlinearity": module.mode.removeprefix("RNN_").lower()}
    rows, nodes, ends = u, [], []
    for number in range(module.num_layers):
        cell = kind(rows.shape[2], module.hidden_size, dtype=u.dtype, **options)
        with torch.no_grad():
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                getattr(cell, name).copy_(getattr(module, f"{name}_l{number}"))
        blocks = 2 if kind is nn.LSTMCell else 1
        X = torch.zeros(u.shape[1], blocks * module.hidden_size, dtype=u.dtype)
        column = []
        for row in rows:
            parts = X.split(module.hidden_size, dim=1)
            made = cell(row, parts if blocks == 2 else parts[0])
            X = torch.cat(made, dim=1) if blocks == 2 else made * 1
            X.retain_grad()
            column.append(X)
        nodes.append(column)
        rows = torch.stack([each[:, : module.hidden_size] for each in column])
        ends.append(column[-1])
    last = torch.stack(ends)
    loss(rows, list(last.split(module.hidden_size, dim=2))).backward()
    return _gradients(nodes), [torch.stack(column).detach() for column in nodes]


def _gradients(nodes: list[list[Tensor]]) -> list[Tensor]:
    return [torch.stack([torch.zeros_like(X) if X.grad is None else X.grad for X in column]) for column in nodes]
