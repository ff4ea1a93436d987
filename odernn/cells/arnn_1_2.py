"""1-2-ARNN: symplectic Euler steps with a purely imaginary anti-Hermitian weight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor, nn

from odernn.cells.common import arguments
from odernn.cells.common.activations import ACTIVATIONS, Activation
from odernn.cells.common.representation import differing, shown
from odernn.cells.common.sequences import State
from odernn.cells.common.time_scales import memory_in_steps, wandering_step
from odernn.cells.recurrent import Manners, RecurrentLayer, RecurrentNetwork, StepFunction, empty_parameters
from odernn.executions import dense

__all__ = ["ARNN12", "CELL", "ARNN12Layer", "symmetric"]

CHECK_DT = partial(arguments.positive, "dt")


def symmetric(free: Tensor, n: int) -> Tensor:
    """S with s_ij = s_ji = free for i ≤ j, row by row: s_11, s_12, .., s_1n, s_22, ..   (n(n+1)/2,) -> (n, n)"""
    rows, columns = torch.triu_indices(n, n, device=free.device)
    upper = free.new_zeros(n, n).index_put((rows, columns), free)
    return upper + upper.triu(1).T


class ARNN12Layer(dense.FusedLayer, RecurrentLayer):
    """free (n(n+1)/2,), V_p, V_q (n, input), b_p, b_q (n,) of one layer, n = hidden; see ``symmetric`` for free.

    Shared: V_p and b_p serve both halves, V_q and b_q are None. Without bias b_p and b_q are None.
    """

    state_names: tuple[str, ...] = ("q", "p")
    like_name: str = "V_p"

    dt: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        dt: float,
        shared: bool = False,
        activation: Activation = "tanh",
        bias: bool = True,
        execution: dense.NameOnCPU = "torch",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.execution = execution
        self.shared = shared
        self.activation: Activation = arguments.one_of("activation", activation, tuple(ACTIVATIONS))
        self.register_exact("dt", dt, CHECK_DT, device=device)
        empty = empty_parameters(device, dtype)
        self.free = empty(hidden_size * (hidden_size + 1) // 2)
        self.V_p = empty(hidden_size, input_size)
        self.b_p = empty(hidden_size) if bias else None
        self.V_q = None if shared else empty(hidden_size, input_size)
        self.b_q = empty(hidden_size) if bias and not shared else None

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """free ~ N(0, 1/n), V ~ N(0, 1/m) for m inputs, b = 0: the paper prints none, these are AntisymmetricRNN's.

        For large n the spectral radius of S is then close to 2.
        """
        nn.init.normal_(self.free, 0.0, 1.0 / math.sqrt(self.hidden_size), generator=generator)
        for matrix in (self.V_p, self.V_q):
            if matrix is not None:
                nn.init.normal_(matrix, 0.0, 1.0 / math.sqrt(self.input_size), generator=generator)
        for vector in (self.b_p, self.b_q):
            if vector is not None:
                nn.init.zeros_(vector)

    def drives(self, below: Tensor) -> Tensor:
        """V_p u + b_p followed by V_q u + b_q; shared only the first."""
        if self.shared:
            return nn.functional.linear(below, self.V_p, self.b_p)
        return nn.functional.linear(below, *self.drive_weights())

    def drive_weights(self) -> tuple[Tensor, Tensor | None]:
        """Those of p and of q; what is shared, twice."""
        V_q, b_q = (self.V_p, self.b_p) if self.V_q is None else (self.V_q, self.b_q)
        bias = None if self.b_p is None or b_q is None else torch.cat((self.b_p, b_q))
        return torch.cat((self.V_p, V_q)), bias

    def _halves(self, drive: Tensor) -> tuple[Tensor, Tensor]:
        """The drives of p and of q."""
        if self.shared:
            return drive, drive
        x_p, x_q = drive.chunk(2, dim=1)
        return x_p, x_q

    def stepper(self) -> StepFunction:
        S, dt = symmetric(self.free, self.hidden_size), self.dt.to(self.free.dtype)
        sigma = ACTIVATIONS[self.activation]

        def step(state: State, drive: Tensor) -> State:
            q, p = state
            x_p, x_q = self._halves(drive)
            p = p - dt * sigma(torch.addmm(x_p, q, S))  # S = Sᵀ
            q = q + dt * sigma(torch.addmm(x_q, p, S))
            return q, p

        return step

    def dense_recurrence(self) -> dense.DenseRecurrence:
        S, is_relu = symmetric(self.free, self.hidden_size), float(self.activation == "relu")
        return dense.DenseRecurrence("symplectic", {"S": S, "S again": S}, (self.dt, is_relu))

    def fused(self, drives: Tensor, state: State) -> State | None:
        return super().fused(torch.cat((drives, drives), 2) if self.shared else drives, state)

    def back_stepper(self) -> StepFunction:
        S, dt = symmetric(self.free, self.hidden_size), self.dt.to(self.free.dtype)
        sigma = ACTIVATIONS[self.activation]

        def back(state: State, drive: Tensor) -> State:
            q, p = state
            x_p, x_q = self._halves(drive)
            q = q - dt * sigma(torch.addmm(x_q, p, S))
            p = p + dt * sigma(torch.addmm(x_p, q, S))
            return q, p

        return back


class ARNN12(dense.FusedNetwork, RecurrentNetwork):
    """ψ' = σ(i S ψ + ..), ψ = q + i p, S = Sᵀ, symplectic Euler.   Niu, Chuang & Horesh 2019 (1-2-ARNN)

        p_n = p_{n-1} − dt σ(S q_{n-1} + V_p u_n + b_p)
        q_n = q_{n-1} + dt σ(S p_n + V_q u_n + b_q)

    input  u : (time, batch, input), or (time, input)      output  q of the last layer : (time, batch, hidden)
    state  (q, p) : each (layers · directions, batch, hidden), zero if not given

    dt          one number, or one a layer, > 0 (the paper's η). Float64 buffers of the layers
    shared      V_q = V_p and b_q = b_p: then exchanging q and p turns the inverse of the step into the step, and
                running the exchanged last state over the inputs in opposite order gives the exchanged initial state
    activation  σ, "tanh" or "relu": both are monotone with σ' ≤ 1
    bias        whether there are b_p and b_q
    execution   "torch": a loop; "cpu": fused, differentiable once, needs the extra ``fast``. An attribute, too,
                of the network and of each layer, and checked
    generator   of the initial weights, see ``ARNN12Layer.reset_parameters``

    The other arguments are those of ``RecurrentNetwork``. There is no ``from_paper``, as the paper prints no
    rows of sizes and dt.

    The step is invertible for all weights and dt: see ``inverse``. It preserves the form dq ∧ S dp, for every slope:
    the kick has the Jacobian K = [[I, 0], [−dt D S, I]], D = diag(σ'), and with Ω_S = [[0, S], [−S, 0]] the block of
    Kᵀ Ω_S K − Ω_S at (q, q) is dt (S D S − S D S) = 0, the others vanish at once. The canonical form dq ∧ dp is
    preserved iff D S = S D in both halves, hence at equal slopes but not in general. At constant slopes in (0, 1]
    powers of the step stay bounded if dt max|λ(S)| < 2.
    """

    holds: ClassVar[str] = (
        "every step is invertible (inverse()) and preserves dq ∧ S dp for all weights; at constant slopes its powers "
        "stay bounded where dt max|λ(S)| < 2"
    )

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        dt: float | Sequence[float],
        shared: bool = False,
        activation: Activation = "tanh",
        bias: bool = True,
        execution: dense.NameOnCPU = "torch",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, **manners)
        self.fill(
            ARNN12Layer,
            generator,
            per_layer={"dt": dt},
            shared=shared,
            activation=activation,
            bias=bias,
            execution=execution,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def suggest(cls, steps: int, *, memory: float | None = None, hidden_size: int | None = None) -> dict[str, Any]:
        """dt = min(1/√M, 0.9): M random pushes of size dt add up to about 1 (``wandering_step``).

        The limit: the initial S has a spectral radius of about 2, and powers of the step stay bounded if dt · 2 < 2.
        """
        return {"dt": wandering_step(memory_in_steps(steps, memory, hidden_size), 0.9)}

    def shown_options(self) -> list[str]:
        first = self.layers[0]
        numbers = shown(self.layers[:: self.directions], "dt")
        shared = differing(shared=(first.shared, False))
        changed = differing(bias=(first.b_p is not None, True), execution=(first.execution, "torch"))
        return [*numbers, *shared, f"activation={first.activation!r}", *changed]


CELL = ARNN12
