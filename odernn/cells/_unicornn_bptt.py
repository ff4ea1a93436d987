"""Gradients of a UnICORNN stack by the published recursion: the independent check of autograd."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from odernn.cells._arguments import Sequences
from odernn.executions import torch_loop
from odernn.recurrence import RecurrenceResult

if TYPE_CHECKING:
    from odernn.cells.unicornn import UnICORNN


@torch.no_grad()
def gradients(
    model: UnICORNN, found: Sequences, states: list[RecurrenceResult], grad_output: Tensor
) -> dict[str, Tensor]:
    """dE/dθ for every parameter θ, given ``grad_output`` = dE/dy^L_n, (time, batch, hidden).

    Layer by layer from the top, with ``torch_loop.backward`` for the costates of one layer:

        dE/dV^l = Σ_n (dE/dx^l_n) (y^{l-1}_n)ᵀ,   dE/dΛ^l = Σ_n (dE/dx^l_n) (y^{l-S-1}_n)ᵀ,
        dE/db^l = Σ_n dE/dx^l_n,                  dE/dc^l = (dE/dh^l) dt σ̂'(c^l),

    and (V^l)ᵀ dE/dx^l_n is added to ∂E/∂y^{l-1}_n; for "sam" every y of a lower level has index n−1.
    """
    shifted = model.index == "sam"
    rows = [found.u, *(result.y for result in states)]
    before = [found.u0, *(result.y0 for result in states)]
    grad_rows = [torch.zeros_like(level) for level in rows[:-1]] + [grad_output]
    grads: dict[str, Tensor] = {}
    for number in range(model.num_layers, 0, -1):
        layer = model.layers[number - 1]
        below, skip = model.sources(number)
        edges = {"V": below} if skip is None else {"V": below, "Lambda": skip}
        seen = {name: _seen(rows[level], before[level], shifted) for name, level in edges.items()}
        dt, alpha = model.dt[number - 1].to(layer.c.dtype), model.alpha[number - 1].to(layer.c.dtype)
        sigmoid = torch.sigmoid(layer.c)
        found_grads = torch_loop.backward(
            layer.drive(seen["V"], seen.get("Lambda")),
            w=layer.w, step_size=dt * sigmoid, alpha=alpha,
            states=states[number - 1], grad_y=grad_rows[number],
        )  # fmt: skip
        local = {"w": found_grads.w, "c": found_grads.step_size * dt * sigmoid * (1.0 - sigmoid)}
        if layer.b is not None:
            local["b"] = found_grads.x.sum(dim=(0, 1))
        for name, level in edges.items():
            local[name] = torch.einsum("nbi,nbj->ij", found_grads.x, seen[name])
            upstream = found_grads.x @ getattr(layer, name)
            # y_{n-1} feeds x_n in the "sam" convention; the first row then belongs to the state before the
            # sequence.
            target, source = (
                (grad_rows[level][:-1], upstream[1:]) if shifted else (grad_rows[level], upstream)
            )
            target.add_(source)
        grads |= {f"layers.{number - 1}.{name}": value for name, value in local.items()}
    return {name: grads[name] for name, _ in model.named_parameters()}


def _seen(rows: Tensor, before: Tensor, shifted: bool) -> Tensor:
    return torch.cat([before.unsqueeze(0), rows])[:-1] if shifted else rows
