"""IndRNN: every neuron has one recurrent weight, its own, and sees no other neuron of its layer."""

from __future__ import annotations

from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn

from odernn.cells.common import arguments
from odernn.cells.common.activations import ACTIVATIONS, Activation
from odernn.cells.common.representation import differing
from odernn.cells.common.sequences import State
from odernn.cells.recurrent import Manners, RecurrentLayer, RecurrentNetwork, StepFunction, empty_parameters
from odernn.certificate import Certificate
from odernn.executions import dense

__all__ = ["CELL", "IndRNN", "IndRNNLayer"]


class IndRNNLayer(dense.FusedLayer, RecurrentLayer):
    """w (n,), V (n, input), b (n,) of one layer, n = hidden; b is None without bias."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        activation: Activation = "relu",
        bias: bool = True,
        execution: dense.NameOnCPU = "torch",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.execution = execution
        self.activation: Activation = arguments.one_of("activation", activation, tuple(ACTIVATIONS))
        empty = empty_parameters(device, dtype)
        self.w = empty(hidden_size)
        self.V = empty(hidden_size, input_size)
        self.b = empty(hidden_size) if bias else None

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """w ~ U(0, 1), V ~ U(−r, r) with r = 1/√input, b = 0: this library's.

        The paper starts w in the interval that ``clip_`` keeps it in, which depends on the length of the sequences.
        """
        nn.init.uniform_(self.w, 0.0, 1.0, generator=generator)
        r = self.input_size**-0.5
        nn.init.uniform_(self.V, -r, r, generator=generator)
        if self.b is not None:
            nn.init.zeros_(self.b)

    def drives(self, below: Tensor) -> Tensor:
        """V u + b."""
        return nn.functional.linear(below, *self.drive_weights())

    def drive_weights(self) -> tuple[Tensor, Tensor | None]:
        return self.V, self.b

    def stepper(self) -> StepFunction:
        w, sigma = self.w, ACTIVATIONS[self.activation]

        def step(state: State, x: Tensor) -> State:
            (h,) = state
            return (sigma(torch.addcmul(x, w, h)),)

        return step

    def dense_recurrence(self) -> dense.DenseRecurrence:
        return dense.DenseRecurrence("independent", {}, (float(self.activation == "relu"),), {"w": self.w})

    def non_expansion(self) -> Certificate:
        """Whether |h_n − h'_n| ≤ |h_{n−1} − h'_{n−1}| in every neuron, for any two states and the same drive.

        It is so iff all |w_i| ≤ 1. *Proof.* |σ(a) − σ(b)| ≤ |a − b|; and at a drive where σ' = 1, as it is at and above
        0 of ReLU and at 0 of tanh, the step has the derivative w_i. ∎ Exact for the given floats. ``margin`` is
        1 − max |w_i|, ``witness`` the i of it, from 1. Raises ValueError where a w_i is not finite.
        """
        sizes = [abs(w) for w in arguments.exact("w", self.w)]
        largest = max(sizes)
        return Certificate(
            "every neuron is non-expansive",
            largest <= 1,
            True,
            1 + sizes.index(largest),
            f"max |w| = {float(largest):.6g}",
            margin=1 - largest,
        )

    @torch.no_grad()
    def clip_(self, steps: int, growth: float = 2.0) -> None:
        """|w_i| ≤ growth^(1/steps), so that ∂h_n/∂h_{n−steps} is at most ``growth``: the paper's constraint.

        In place, between steps of the optimizer; w_i keeps its sign. The bound is rounded to the dtype of w, which the
        power amplifies: to a relative error of at most about 2 u steps. Raises ValueError for a growth that is not
        finite and positive, or for a number of steps that is no integer ≥ 1.
        """
        arguments.positive("growth", [growth])
        bound = float(growth) ** (1.0 / arguments.positive_integer("steps", steps))
        self.w.clamp_(-bound, bound)


class IndRNN(dense.FusedNetwork, RecurrentNetwork):
    """h_n = σ(V u_n + w ⊙ h_{n−1} + b).   Li, Li, Cook, Zhu & Gao 2018 (IndRNN)

    input  u : (time, batch, input), or (time, input)      output  h of the last layer : (time, batch, hidden)
    state  h : (layers · directions, batch, hidden), zero if not given

    activation  σ, "relu" as in the paper, or "tanh"
    bias        whether there is a b
    execution   "torch": a loop; "cpu": fused, differentiable once, needs the extra ``fast``. An attribute, too,
                of the network and of each layer, and checked
    generator   of the initial weights, see ``IndRNNLayer.reset_parameters``

    The other arguments are those of ``RecurrentNetwork``. Neurons of a layer do not see each other: it is the layers
    above that mix them. ∂h_{n,i}/∂h_{m,i} is w_i^{n−m} times slopes in [0, 1].
    """

    holds: ClassVar[str] = (
        "two states never move apart where all |w| ≤ 1 (non_expansion()); gradients over M steps grow by |w|^M at most "
        "(clip_())"
    )

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        activation: Activation = "relu",
        bias: bool = True,
        execution: dense.NameOnCPU = "torch",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, **manners)
        self.fill(
            IndRNNLayer,
            generator,
            activation=activation,
            bias=bias,
            execution=execution,
            device=device,
            dtype=dtype,
        )

    def non_expansion(self) -> tuple[Certificate, ...]:
        """``IndRNNLayer.non_expansion`` of every layer and direction, in the order of ``layers``."""
        return tuple(layer.non_expansion() for layer in self.layers)

    def clip_(self, steps: int, growth: float = 2.0) -> None:
        """``IndRNNLayer.clip_`` of every layer and direction."""
        for layer in self.layers:
            layer.clip_(steps, growth)

    def shown_options(self) -> list[str]:
        first = self.layers[0]
        changed = differing(bias=(first.b is not None, True), execution=(first.execution, "torch"))
        return [f"activation={first.activation!r}", *changed]


CELL = IndRNN
