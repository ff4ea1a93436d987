"""2-2-ARNN: leapfrog steps with a real antisymmetric weight, and the one-step methods it is compared with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias, Unpack

import torch
from torch import Tensor, nn

from odernn.cells.common import arguments
from odernn.cells.common.activations import ACTIVATIONS, Activation
from odernn.cells.common.representation import differing, shown
from odernn.cells.common.sequences import State
from odernn.cells.common.time_scales import memory_in_steps, wandering_step
from odernn.cells.recurrent import Manners, RecurrentLayer, RecurrentNetwork, StepFunction, empty_parameters
from odernn.executions import dense
from odernn.fields.antisymmetric import Antisymmetric
from odernn.orthogonal.cayley import skew

__all__ = ["ARNN22", "CELL", "ARNN22Layer", "ExplicitMidpointLayer", "ForwardEulerLayer", "LeapfrogLayer"]

Scheme: TypeAlias = Literal["leapfrog", "forward_euler", "explicit_midpoint"]

CHECK_DT = partial(arguments.positive, "dt")


class ARNN22Layer(dense.FusedLayer, RecurrentLayer):
    """free (n(n−1)/2,), V (n, input), b (n,) of one layer, n = hidden; b is None without bias.

    free is the strict upper triangle of W row by row, Wᵀ = −W: w_12, w_13, .., w_1n, w_23, ..
    """

    dt: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        dt: float,
        activation: Activation = "tanh",
        bias: bool = True,
        execution: dense.NameOnCPU = "torch",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.execution = execution
        self.activation: Activation = arguments.one_of("activation", activation, tuple(ACTIVATIONS))
        self.register_exact("dt", dt, CHECK_DT, device=device)
        empty = empty_parameters(device, dtype)
        self.free = empty(hidden_size * (hidden_size - 1) // 2)
        self.V = empty(hidden_size, input_size)
        self.b = empty(hidden_size) if bias else None

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """free ~ N(0, 1/n), V ~ N(0, 1/m) for m inputs, b = 0: the paper prints none, these are AntisymmetricRNN's.

        For large n the spectral radius of W is then close to 2.
        """
        nn.init.normal_(self.free, 0.0, 1.0 / math.sqrt(self.hidden_size), generator=generator)
        nn.init.normal_(self.V, 0.0, 1.0 / math.sqrt(self.input_size), generator=generator)
        if self.b is not None:
            nn.init.zeros_(self.b)

    def drives(self, below: Tensor) -> Tensor:
        """V u + b."""
        return nn.functional.linear(below, *self.drive_weights())

    def drive_weights(self) -> tuple[Tensor, Tensor | None]:
        return self.V, self.b

    def recurrent_matrix(self) -> Tensor:
        """W with the weights as they are now, (n, n); differentiable."""
        return skew(self.free, self.hidden_size)

    def numbers(self) -> tuple[Tensor, float]:
        """dt and whether σ is relu, of the fused execution."""
        return self.dt, float(self.activation == "relu")

    def field(self) -> Antisymmetric:
        """y' = tanh(W y + x) with the weights as they are now: ``fields.Antisymmetric`` with γ = 0."""
        if self.activation != "tanh":
            raise NotImplementedError(
                f"activation is {self.activation!r}, but the fields of the library have tanh. "
                'Make the layer with activation="tanh".'
            )
        return Antisymmetric(skew(self.free, self.hidden_size).triu(1), 0.0)


class LeapfrogLayer(ARNN22Layer):
    """y_{n+1} = y_{n-1} + 2 dt σ(W y_n + x_{n+1}): the state is (y_n, y_{n-1})."""

    state_names: tuple[str, ...] = ("y", "previous")

    def stepper(self) -> StepFunction:
        W_T, dt = self.recurrent_matrix().T, self.dt.to(self.free.dtype)
        sigma = ACTIVATIONS[self.activation]

        def step(state: State, x: Tensor) -> State:
            y, previous = state
            return previous + 2.0 * dt * sigma(torch.addmm(x, y, W_T)), y

        return step

    def dense_recurrence(self) -> dense.DenseRecurrence:
        dt, is_relu = self.numbers()
        return dense.DenseRecurrence("leapfrog", {"W": self.recurrent_matrix()}, (2.0 * dt, is_relu))

    def back_stepper(self) -> StepFunction:
        W_T, dt = self.recurrent_matrix().T, self.dt.to(self.free.dtype)
        sigma = ACTIVATIONS[self.activation]

        def back(state: State, x: Tensor) -> State:
            following, y = state
            return y, following - 2.0 * dt * sigma(torch.addmm(x, y, W_T))

        return back


class ForwardEulerLayer(ARNN22Layer):
    """y_{n+1} = y_n + dt σ(W y_n + x_{n+1})."""

    state_names: tuple[str, ...] = ("y",)

    def stepper(self) -> StepFunction:
        W_T, dt = self.recurrent_matrix().T, self.dt.to(self.free.dtype)
        sigma = ACTIVATIONS[self.activation]

        def step(state: State, x: Tensor) -> State:
            (y,) = state
            return (y + dt * sigma(torch.addmm(x, y, W_T)),)

        return step

    def dense_recurrence(self) -> dense.DenseRecurrence:
        return dense.DenseRecurrence("euler", {"W": self.recurrent_matrix()}, self.numbers())


class ExplicitMidpointLayer(ARNN22Layer):
    """y_{n+1} = y_n + dt σ(W Y + x_{n+1}), Y = y_n + ½ dt σ(W y_n + x_{n+1})."""

    state_names: tuple[str, ...] = ("y",)

    def stepper(self) -> StepFunction:
        W_T, dt = self.recurrent_matrix().T, self.dt.to(self.free.dtype)
        sigma = ACTIVATIONS[self.activation]

        def step(state: State, x: Tensor) -> State:
            (y,) = state
            Y = y + 0.5 * dt * sigma(torch.addmm(x, y, W_T))
            return (y + dt * sigma(torch.addmm(x, Y, W_T)),)

        return step

    def dense_recurrence(self) -> dense.DenseRecurrence:
        W = self.recurrent_matrix()
        return dense.DenseRecurrence("midpoint", {"W": W, "W again": W}, self.numbers())


LAYERS: dict[Scheme, type[ARNN22Layer]] = {
    "leapfrog": LeapfrogLayer,
    "forward_euler": ForwardEulerLayer,
    "explicit_midpoint": ExplicitMidpointLayer,
}


class ARNN22(dense.FusedNetwork, RecurrentNetwork):
    """y' = σ(W y + V u + b), Wᵀ = −W, leapfrog (the two-step midpoint rule).   Niu, Chuang & Horesh 2019 (2-2-ARNN)

        y_n = y_{n-2} + 2 dt σ(W y_{n-1} + V u_n + b)

    input  u : (time, batch, input), or (time, input)      output  y of the last layer : (time, batch, hidden)
    state  (y_n, y_{n-1}), called y and previous : each (layers · directions, batch, hidden), zero if not given

    dt          one number, or one a layer, > 0 (the paper's η). Float64 buffers of the layers
    scheme      "leapfrog"; or, with the state y alone, "forward_euler": y_n = y_{n-1} + dt σ(W y_{n-1} + x_n), and
                "explicit_midpoint": y_n = y_{n-1} + dt σ(W Y + x_n), Y = y_{n-1} + ½ dt σ(W y_{n-1} + x_n)
    activation  σ, "tanh" or "relu": both are monotone with σ' ≤ 1
    bias        whether there is a b
    execution   "torch": a loop; "cpu": fused, differentiable once, needs the extra ``fast``. An attribute, too,
                of the network and of each layer, and checked
    generator   of the initial weights, see ``ARNN22Layer.reset_parameters``

    The other arguments are those of ``RecurrentNetwork``. There is no ``from_paper``, as the paper prints no
    rows of sizes and dt. The implicit midpoint rule of this field is ``IntegratorRNN`` with ``fields.Antisymmetric``,
    γ = 0.

    Leapfrog needs two initial values. Zero for both starts at rest with y_{-1} = y_0 = 0: the first step then moves
    twice as far as an Euler step, an error of order dt in the mode (−1)ⁿ, which leapfrog does not damp. For order 2
    give ``previous`` as one step back. Leapfrog is invertible for all weights and dt, see ``inverse``, and symmetric:
    exchanging the blocks, with −dt, turns it into its inverse. At constant slopes in (0, 1] its powers stay bounded if
    dt max|λ(W)| < 1; those of forward Euler grow for every dt unless W = 0.
    """

    holds: ClassVar[str] = (
        "leapfrog is invertible (inverse()) for all weights, and at constant slopes its powers stay bounded where "
        "dt max|λ(W)| < 1; forward Euler's grow"
    )

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        dt: float | Sequence[float],
        scheme: Scheme = "leapfrog",
        activation: Activation = "tanh",
        bias: bool = True,
        execution: dense.NameOnCPU = "torch",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, **manners)
        self.scheme: Scheme = _checked_scheme(scheme)
        self.fill(
            LAYERS[scheme],
            generator,
            per_layer={"dt": dt},
            activation=activation,
            bias=bias,
            execution=execution,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def suggest(cls, steps: int, *, memory: float | None = None, hidden_size: int | None = None) -> dict[str, Any]:
        """dt = min(1/√M, 0.45): M random pushes of size dt add up to about 1 (``wandering_step``).

        The limit: the initial W has a spectral radius of about 2, and leapfrog's powers stay bounded if dt · 2 < 1.
        """
        return {"dt": wandering_step(memory_in_steps(steps, memory, hidden_size), 0.45)}

    def shown_options(self) -> list[str]:
        first = self.layers[0]
        changed = differing(bias=(first.b is not None, True), execution=(first.execution, "torch"))
        numbers = shown(self.layers[:: self.directions], "dt")
        return [*numbers, f"scheme={self.scheme!r}", f"activation={first.activation!r}", *changed]


CELL = ARNN22


def _checked_scheme(scheme: Scheme) -> Scheme:
    if not isinstance(scheme, str) or scheme not in LAYERS:
        raise ValueError(
            f"scheme is {scheme!r}. Choose from: {', '.join(map(repr, LAYERS))}. "
            "For implicit schemes use IntegratorRNN with the field Antisymmetric and gamma=0."
        )
    return scheme
