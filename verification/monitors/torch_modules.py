"""torch.nn.LSTM, GRU and RNN as recurrences: their steps, written from the equations of their documentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from odernn.cells.common.sequences import Sequences, State, sequences
from verification.monitors.unrolled import Masks, Recurrence

STATES = {"LSTM": ("h", "c"), "GRU": ("h",), "RNN_TANH": ("h",), "RNN_RELU": ("h",)}


def suffixes(module: nn.RNNBase) -> list[str]:
    """Of the weights of each layer and direction, in torch's order: "l0", "l0_reverse", "l1", …"""
    ends = ("", "_reverse") if module.bidirectional else ("",)
    return [f"l{number}{end}" for number in range(module.num_layers) for end in ends]


def called_with(module: nn.RNNBase, input: Tensor | PackedSequence, hx: Any = None) -> Sequences:
    """The arguments of its ``forward`` in the layout of the recurrence."""
    names = STATES[module.mode]
    sizes = (module.proj_size or module.hidden_size, module.hidden_size)[: len(names)]
    return sequences(
        input,
        hx,
        None,
        like=next(module.parameters()),
        input_size=module.input_size,
        state_names=names,
        state_sizes=sizes,
        count=len(suffixes(module)),
        batch_first=module.batch_first,
    )


def recurrence(module: nn.RNNBase, suffix: str) -> Recurrence:
    """One layer in one direction with its weights as they are now."""

    def weight(kind: str) -> Tensor | None:
        tensor: Tensor | None = getattr(module, f"{kind}_{suffix}", None)
        return tensor

    W_ih, W_hh = weight("weight_ih"), weight("weight_hh")
    assert W_ih is not None and W_hh is not None
    b_ih, b_hh = weight("bias_ih"), weight("bias_hh")
    step = _step(module.mode, W_hh, b_hh, weight("weight_hr"))

    def drives(below: Tensor, _: Tensor | None) -> list[Tensor]:
        return list(nn.functional.linear(below, W_ih, b_ih).unbind())

    def rows(below: Tensor, state: State, previous: Tensor | None) -> State:
        states = []
        for drive in drives(below, previous):
            state = step(state, drive)
            states.append(state)
        if not states:
            return tuple(block.new_zeros((0, *block.shape)) for block in state)
        return tuple(torch.stack(blocks) for blocks in zip(*states, strict=True))

    return Recurrence(
        STATES[module.mode], drives, lambda _, state, drive: step(state, drive), lambda blocks: blocks[0], rows
    )


def masks_of(module: nn.RNNBase) -> Masks:
    """What torch draws between layers on the CPU."""

    def masks(rows: Tensor, previous: Tensor) -> tuple[Tensor, Tensor] | None:
        if not module.training or module.dropout == 0.0:
            return None
        return torch.dropout(torch.ones_like(rows), module.dropout, module.training), torch.ones_like(previous)

    return masks


def _step(mode: str, W: Tensor, b: Tensor | None, projection: Tensor | None) -> Callable[[State, Tensor], State]:
    linear = nn.functional.linear

    def lstm(state: State, x: Tensor) -> State:
        h, c = state
        i, f, g, o = (x + linear(h, W, b)).chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return (h if projection is None else linear(h, projection)), c

    def gru(state: State, x: Tensor) -> State:
        (h,) = state
        (r, z, n), (R, Z, N) = x.chunk(3, dim=1), linear(h, W, b).chunk(3, dim=1)
        z = torch.sigmoid(z + Z)
        return ((1 - z) * torch.tanh(n + torch.sigmoid(r + R) * N) + z * h,)

    def plain(state: State, x: Tensor) -> State:
        (h,) = state
        a = x + linear(h, W, b)
        return (torch.tanh(a) if mode == "RNN_TANH" else torch.relu(a),)

    return {"LSTM": lstm, "GRU": gru}.get(mode, plain)
