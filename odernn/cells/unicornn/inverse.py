"""The initial state of a UnICORNN stack from its last one: the shears of every step undone, last first."""

from __future__ import annotations

import torch
from torch import Tensor

from odernn.cells.common.sequences import Sequences, State
from odernn.cells.unicornn.oscillators import OscillatorStack
from odernn.executions import torch_loop


def together(model: OscillatorStack, sequences: Sequences, before: Tensor, *, shifted: bool) -> State:
    """All layers of one direction step back together; only the current state of the stack is kept.

    At time n the drive x^l_n needs y^{l-1}_n, so the layers go L, .., 1; ``shifted`` it needs y^{l-1}_{n-1}, so they go
    1, .., L. ``before`` is u_0; blocks are (layers, batch, hidden) each.
    """
    y = [before, *sequences.state[0].unbind()]  # indexed by level; level 0 has no z
    z = [before, *sequences.state[1].unbind()]
    coefficients = [model.coefficients(index) for index in range(model.num_layers)]
    order = range(model.num_layers) if shifted else range(model.num_layers - 1, -1, -1)
    u = torch.cat([before.unsqueeze(0), sequences.u])[:-1] if shifted else sequences.u
    inside = sequences.inside(len(u))
    for n in range(len(u) - 1, -1, -1):
        y[0] = u[n]
        for index in order:
            x = model.drive(index, y)
            back = torch_loop.step_back(y[index + 1], z[index + 1], x, **coefficients[index])
            y[index + 1], z[index + 1] = _where(inside, n, back, (y[index + 1], z[index + 1]))
    return torch.stack(y[1:]), torch.stack(z[1:])


def layer_by_layer(model: OscillatorStack, sequences: Sequences) -> State:
    """Both directions of layer l step back from their own last states, once the rows of all levels below are known.

    Level l ends for one direction where it begins for the other, so the stack has no common time to step back in; the
    rows that are rebuilt on the way are the drives of the next layer. Blocks are (layers · directions, batch, hidden).
    """
    levels, starts = [sequences.u], []
    inside = sequences.inside(len(sequences.u))
    for number in range(model.num_layers):
        outputs = []
        for direction in range(model.directions):
            index = number * model.directions + direction
            x = model.drive(index, levels)
            x = sequences.reversed(x) if direction else x
            y, z = sequences.state[0][index], sequences.state[1][index]
            coefficients = model.coefficients(index)
            rows = []
            for n in range(len(x) - 1, -1, -1):
                rows.append(y)
                y, z = _where(inside, n, torch_loop.step_back(y, z, x[n], **coefficients), (y, z))
            starts.append((y, z))
            output = torch.stack(rows[::-1]) if rows else torch.empty_like(x)
            outputs.append(sequences.reversed(output) if direction else output)
        levels.append(torch.cat(outputs, dim=-1))
    y0, z0 = (torch.stack(block) for block in zip(*starts, strict=True))
    return y0, z0


def _where(
    inside: Tensor | None, n: int, stepped: tuple[Tensor, Tensor], kept: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor]:
    """``stepped`` for the samples whose row n is theirs, ``kept`` for those that have ended before."""
    if inside is None:
        return stepped
    return torch.where(inside[n], stepped[0], kept[0]), torch.where(inside[n], stepped[1], kept[1])
