"""LEM: two states that follow their targets, each with step sizes that it learns to choose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor, nn

from odernn.cells.common import arguments
from odernn.cells.common.representation import differing, shown
from odernn.cells.common.sequences import State
from odernn.cells.common.time_scales import memory_in_steps
from odernn.cells.recurrent import Manners, RecurrentLayer, RecurrentNetwork, StepFunction, empty_parameters
from odernn.executions import dense

__all__ = ["CELL", "LEM", "LEMLayer"]

CHECK_DT = partial(arguments.positive, "dt")


class LEMLayer(dense.FusedLayer, RecurrentLayer):
    """W (3n, n), W_y (n, n), V (4n, input), b (4n,) of one layer, n = hidden; b is None without bias.

    W  the rows of W_1, W_2, W_z, which read y;   V, b  the rows of index 1, 2, z, y
    """

    state_names: tuple[str, ...] = ("y", "z")

    dt: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        dt: float,
        bias: bool = True,
        execution: dense.NameOnCPU = "torch",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.execution = execution
        self.register_exact("dt", dt, CHECK_DT, device=device)
        empty = empty_parameters(device, dtype)
        self.W = empty(3 * hidden_size, hidden_size)
        self.W_y = empty(hidden_size, hidden_size)
        self.V = empty(4 * hidden_size, input_size)
        self.b = empty(4 * hidden_size) if bias else None

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """All ~ U(−r, r) with r = 1/√n, as in the published code."""
        r = self.hidden_size**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -r, r, generator=generator)

    def drives(self, below: Tensor) -> Tensor:
        """V u + b of index 1, 2, z, y side by side."""
        return nn.functional.linear(below, *self.drive_weights())

    def drive_weights(self) -> tuple[Tensor, Tensor | None]:
        return self.V, self.b

    def stepper(self) -> StepFunction:
        W_T, W_y_T, dt, n = self.W.T, self.W_y.T, self.dt.to(self.W.dtype), self.hidden_size

        def step(state: State, x: Tensor) -> State:
            y, z = state
            a_1, a_2, a_z = torch.addmm(x[:, : 3 * n], y, W_T).chunk(3, dim=1)
            z = z + dt * torch.sigmoid(a_1) * (torch.tanh(a_z) - z)
            a_y = torch.addmm(x[:, 3 * n :], z, W_y_T)
            y = y + dt * torch.sigmoid(a_2) * (torch.tanh(a_y) - y)
            return y, z

        return step

    def dense_recurrence(self) -> dense.DenseRecurrence:
        return dense.DenseRecurrence("lem", {"W": self.W, "W_y": self.W_y}, (self.dt,))


class LEM(dense.FusedNetwork, RecurrentNetwork):
    """z' = σ̂(..) ⊙ (tanh(..) − z), y' = σ̂(..) ⊙ (tanh(..) − y).   Rusch, Mishra, Erichson & Mahoney 2022 (LEM)

        D_n  = dt σ̂(W_1 y_{n−1} + V_1 u_n + b_1),    z_n = (1 − D_n) ⊙ z_{n−1} + D_n ⊙ tanh(W_z y_{n−1} + V_z u_n + b_z)
        D'_n = dt σ̂(W_2 y_{n−1} + V_2 u_n + b_2),    y_n = (1 − D'_n) ⊙ y_{n−1} + D'_n ⊙ tanh(W_y z_n + V_y u_n + b_y)

    input  u : (time, batch, input), or (time, input)      output  y of the last layer : (time, batch, hidden)
    state  (y, z) : each (layers · directions, batch, hidden), zero if not given;     σ̂ the logistic function

    dt         the largest step size, one number or one a layer, > 0; the paper's code takes 1. Float64 buffers
    bias       whether there are b
    execution  "torch": a loop; "cpu": fused, differentiable once, needs the extra ``fast``. An attribute, too,
               of the network and of each layer, and checked
    generator  of the initial weights, see ``LEMLayer.reset_parameters``

    The other arguments are those of ``RecurrentNetwork``. The paper has one layer; a stack is this library's. The
    authors' code counts the step sizes the other way round, D from its second block, and adds two biases where here
    is one: the same networks.

    For dt ≤ 1 every component of y and of z stays in [−c, c], c = max(1, |initial value|): a step puts it between its
    old value and a tanh. For dt > 2 a state may oscillate and grow: 1 − D < −1 where σ̂ is close to 1.
    """

    holds: ClassVar[str] = "for dt ≤ 1 all states stay within max(1, |initial value|), for all weights and inputs"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        dt: float | Sequence[float] = 1.0,
        bias: bool = True,
        execution: dense.NameOnCPU = "torch",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, **manners)
        self.fill(
            LEMLayer,
            generator,
            per_layer={"dt": dt},
            bias=bias,
            execution=execution,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def suggest(cls, steps: int, *, memory: float | None = None, hidden_size: int | None = None) -> dict[str, Any]:
        """dt halfway, on a logarithmic scale, between units that answer at once and units that remember M steps.

            dt = min(1, 2/√M)

        A unit follows its target in 1/(dt σ̂) steps, 2/dt at the start, where σ̂ is about 1/2: here √M. Its gate can make
        it as slow as it likes, but no faster than 1/dt. With dt ≤ 1 every state stays in [−1, 1].
        """
        return {"dt": min(1.0, 2.0 / math.sqrt(memory_in_steps(steps, memory, hidden_size)))}

    def shown_options(self) -> list[str]:
        first = self.layers[0]
        changed = differing(bias=(first.b is not None, True), execution=(first.execution, "torch"))
        return [*shown(self.layers[:: self.directions], "dt"), *changed]


CELL = LEM
