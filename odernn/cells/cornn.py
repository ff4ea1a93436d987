"""coRNN: the coupled oscillatory recurrent network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self, TypeAlias, Unpack

import torch
from torch import Tensor, nn

from odernn.cells.common import arguments
from odernn.cells.common.representation import differing, shown
from odernn.cells.common.sequences import State
from odernn.cells.common.time_scales import memory_in_steps
from odernn.cells.recurrent import Manners, RecurrentLayer, RecurrentNetwork, StepFunction, empty_parameters
from odernn.executions import dense
from odernn.fields.coupled_oscillator import CoupledOscillator
from odernn.published import networks as published

__all__ = ["CELL", "CoRNN", "CoRNNLayer", "LinearStability"]

Damping: TypeAlias = Literal["explicit", "implicit"]

CHECK_DT = partial(arguments.positive, "dt")
CHECK_GAMMA = partial(arguments.positive, "gamma")
CHECK_EPSILON = partial(arguments.positive, "epsilon")

STABILITY_LIMIT = 4.0


@dataclass(frozen=True)
class LinearStability:
    """The step of one layer where its force is saturated, σ' = 0: all eigenvalues lie within the unit circle iff
    quantity < 4.

        explicit  quantity = dt² γ + 2 dt ε          implicit  quantity = dt² γ − 2 dt ε

    *Proof.* Without σ a neuron steps by M, (y, z) → M (y, z), with δ = 1 (explicit) or δ = 1/(1 + dt ε) (implicit):

        explicit  M = [[1 − dt² γ, dt (1 − dt ε)], [−dt γ, 1 − dt ε]]     det = 1 − dt ε    trace = 2 − dt² γ − dt ε
        implicit  M = [[1 − dt² γ δ, dt δ], [−dt γ δ, δ]]                 det = δ           trace = 1 + δ − dt² γ δ

    Both roots of λ² − trace λ + det lie within the unit circle iff |det| < 1 and |trace| < 1 + det (Jury). In both
    cases trace < 1 + det says dt² γ > 0. Explicit: −trace < 1 + det says dt² γ + 2 dt ε < 4, and then 0 < dt ε < 2,
    hence |det| < 1. Implicit: 0 < det < 1 always, and −trace < 1 + det says dt² γ δ < 2 (1 + δ), that is dt² γ < 2 (1/δ
    + 1) = 4 + 2 dt ε. At quantity = 4 one eigenvalue is −1. ∎

    So implicit damping only helps and explicit damping costs twice its amount. Where σ' is not 0 the eigenvalues depend
    on W and W_z, too.
    """

    damping: Damping
    quantity: float
    limit: float = STABILITY_LIMIT

    @property
    def margin(self) -> float:
        """limit − quantity: positive where the saturated step contracts to its fixed point."""
        return self.limit - self.quantity

    def __str__(self) -> str:
        sign = "+" if self.damping == "explicit" else "−"
        verdict = "within" if self.margin > 0 else "not within"
        return (
            f"dt² γ {sign} 2 dt ε = {self.quantity:.3g}, margin {self.margin:.3g} to {self.limit:g}: "
            f"the eigenvalues of a saturated step are {verdict} the unit circle."
        )


class CoRNNLayer(dense.FusedLayer, RecurrentLayer):
    """W, W_z (hidden, hidden), V (hidden, input), b (hidden,) of one layer; b is None without bias."""

    state_names: tuple[str, ...] = ("y", "z")

    dt: Tensor
    gamma: Tensor
    epsilon: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        dt: float,
        gamma: float,
        epsilon: float,
        damping: Damping = "explicit",
        bias: bool = True,
        execution: dense.NameOnCPU = "torch",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.execution = execution
        self.damping: Damping = arguments.one_of("damping", damping, ("explicit", "implicit"))
        self.register_exact("dt", dt, CHECK_DT, device=device)
        self.register_exact("gamma", gamma, CHECK_GAMMA, device=device)
        self.register_exact("epsilon", epsilon, CHECK_EPSILON, device=device)
        empty = empty_parameters(device, dtype)
        self.W = empty(hidden_size, hidden_size)
        self.W_z = empty(hidden_size, hidden_size)
        self.V = empty(hidden_size, input_size)
        self.b = empty(hidden_size) if bias else None

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """All ~ U(−r, r) with r = 1/√(input + 2 hidden): in the published code W, W_z, V, b are one torch.nn.Linear."""
        r = 1.0 / math.sqrt(self.input_size + 2 * self.hidden_size)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -r, r, generator=generator)

    def drives(self, below: Tensor) -> Tensor:
        """V u + b."""
        return nn.functional.linear(below, self.V, self.b)

    def stepper(self) -> StepFunction:
        W_both = torch.cat((self.W, self.W_z), dim=1).T
        dt, gamma, epsilon = (value.to(self.W.dtype) for value in (self.dt, self.gamma, self.epsilon))
        divisor = (1.0 + self.dt * self.epsilon).to(self.W.dtype)

        def explicit(state: State, x: Tensor) -> State:
            y, z = state
            force = torch.tanh(torch.addmm(x, torch.cat((y, z), dim=1), W_both)) - gamma * y
            z = z + dt * (force - epsilon * z)
            return y + dt * z, z

        def implicit(state: State, x: Tensor) -> State:
            y, z = state
            force = torch.tanh(torch.addmm(x, torch.cat((y, z), dim=1), W_both)) - gamma * y
            z = (z + dt * force) / divisor
            return y + dt * z, z

        return explicit if self.damping == "explicit" else implicit

    def drive_weights(self) -> tuple[Tensor, Tensor | None]:
        return self.V, self.b

    def dense_recurrence(self) -> dense.DenseRecurrence:
        dt, gamma, epsilon = dense.at_hand(self.dt, self.gamma, self.epsilon)
        p, q = (1.0 - dt * epsilon, dt)
        if self.damping == "implicit":
            p, q = 1.0 / (1.0 + dt * epsilon), dt / (1.0 + dt * epsilon)
        W_both = torch.cat((self.W, self.W_z), dim=1)
        return dense.DenseRecurrence("coupled", {"W": W_both}, (dt, gamma, p, q))

    def field(self) -> CoupledOscillator:
        """y' = z, z' = tanh(W y + W_z z + x) − γ y − ε z with the weights as they are now."""
        return CoupledOscillator(self.W, self.W_z, self.gamma, self.epsilon)

    def linear_stability(self) -> LinearStability:
        """dt² γ ± 2 dt ε against 4, in float64."""
        dt, gamma, epsilon = (float(value) for value in (self.dt, self.gamma, self.epsilon))
        sign = 1.0 if self.damping == "explicit" else -1.0
        return LinearStability(self.damping, dt * dt * gamma + sign * 2.0 * dt * epsilon)


class CoRNN(dense.FusedNetwork, RecurrentNetwork):
    """y″ = tanh(W y + W_z y′ + V u + b) − γ y − ε y′, kick then drift.   Rusch & Mishra 2021 (coRNN), eq. (3)

        z_n = z_{n-1} + dt [tanh(W y_{n-1} + W_z z_{n-1} + V u_n + b) − γ y_{n-1} − ε z_k]
        y_n = y_{n-1} + dt z_n

    input  u : (time, batch, input), or (time, input)      output  y of the last layer : (time, batch, hidden)
    state  (y, z) : each (layers · directions, batch, hidden), zero if not given

    dt, gamma, epsilon  one number, or one a layer, all > 0. Float64 buffers of the layers, also in ``state_dict``
    damping             "explicit": k = n−1, as in the published code; "implicit": k = n, solved for z_n by a division
    bias                whether there is a b
    execution           "torch": a loop; "cpu": fused, differentiable once, needs the extra ``fast``. An attribute, too,
                        of the network and of each layer, and checked
    generator           of the initial weights, see ``CoRNNLayer.reset_parameters``

    The other arguments are those of ``RecurrentNetwork``. The paper has one layer; a stack is this library's.
    """

    holds: ClassVar[str] = (
        "the saturated step is stable exactly where dt²γ + 2 dt ε < 4, implicit damping: dt²γ − 2 dt ε < 4 "
        "(linear_stability())"
    )

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        dt: float | Sequence[float],
        gamma: float | Sequence[float],
        epsilon: float | Sequence[float],
        damping: Damping = "explicit",
        bias: bool = True,
        execution: dense.NameOnCPU = "torch",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, **manners)
        self.fill(
            CoRNNLayer,
            generator,
            per_layer={"dt": dt, "gamma": gamma, "epsilon": epsilon},
            damping=damping,
            bias=bias,
            execution=execution,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def suggest(cls, steps: int, *, memory: float | None = None, hidden_size: int | None = None) -> dict[str, Any]:
        """dt, gamma and epsilon from two time scales, a few steps and M.

            dt = 1/√(2M),     γ = 1,     ε = √(M/2)

        Where the force is saturated, a neuron is y″ = f − γ y − ε y′. Damped this much, ε² ≥ 4γ from M = 8 on, its
        velocity answers at the rate ε, in 1/(dt ε) = 2 steps, and its position forgets at the rate γ/ε, in ε/(dt γ) = M
        steps. γ = 1: the force is balanced at |y| ≤ 1/γ = 1. The step is stable where dt²γ + 2 dt ε < 4
        (``LinearStability``), and that is 1 + 1/(2M).
        """
        M = memory_in_steps(steps, memory, hidden_size)
        return {"dt": 1.0 / math.sqrt(2.0 * M), "gamma": 1.0, "epsilon": math.sqrt(0.5 * M)}

    @classmethod
    def from_paper(cls, name: str, **overrides: Any) -> Self:
        """The network of that name in ``published.networks("cornn")``, untrained; ``overrides`` are arguments.

        Raises LookupError with the nearest name, and TypeError where dt, γ, ε are neither printed nor given. The
        readout is the caller's:

            >>> network = CoRNN.from_paper("psMNIST")
            >>> network.hidden_size, network.layers[0].dt.item()
            (256, 0.076)
        """
        return cls(**published.arguments("cornn", name, overrides, required=("dt", "gamma", "epsilon")))

    def linear_stability(self) -> tuple[LinearStability, ...]:
        """Of every layer and direction, in the order of ``layers``; see ``LinearStability``."""
        return tuple(layer.linear_stability() for layer in self.layers)

    def shown_options(self) -> list[str]:
        first = self.layers[0]
        numbers = shown(self.layers[:: self.directions], "dt", "gamma", "epsilon")
        changed = differing(bias=(first.b is not None, True), execution=(first.execution, "torch"))
        return [*numbers, f"damping={first.damping!r}", *changed]


CELL = CoRNN
