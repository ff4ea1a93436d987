"""Lipschitz RNN: a linear part and a Lipschitz nonlinearity, both of matrices that mix a symmetric and a skew part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, Unpack

import torch
from torch import Tensor, nn

from odernn.cells.common import arguments
from odernn.cells.common.representation import differing, shown
from odernn.cells.common.sequences import State
from odernn.cells.common.time_scales import memory_in_steps, wandering_step
from odernn.cells.recurrent import Manners, RecurrentLayer, RecurrentNetwork, StepFunction, empty_parameters
from odernn.executions import dense
from odernn.fields.semilinear import Semilinear

if TYPE_CHECKING:
    from odernn.integrators.guarantees import Guarantees

__all__ = ["CELL", "LipschitzRNN", "LipschitzRNNLayer", "mixed"]

Method: TypeAlias = Literal["euler", "midpoint"]

CHECK_DT = partial(arguments.positive, "dt")


def _share(name: str, values: Sequence[float]) -> None:
    for value in values:
        if not 0.0 <= arguments.number(name, value) <= 1.0:
            raise ValueError(f"{name} is {value}, but it is the share of the skew part: give a number in 0..1.")


CHECK_BETA_A, CHECK_BETA_W = partial(_share, "beta_a"), partial(_share, "beta_w")
CHECK_GAMMA_A, CHECK_GAMMA_W = (partial(arguments.not_negative, name) for name in ("gamma_a", "gamma_w"))


def mixed(M: Tensor, beta: Tensor, gamma: Tensor) -> Tensor:
    """(1 − β)(M + Mᵀ) + β (M − Mᵀ) − γ I = M + (1 − 2β) Mᵀ − γ I.   (n, n) -> (n, n)

    Its symmetric part is (1 − β)(M + Mᵀ) − γ I. At β = ½ it is M − γ I, at β = 1 the matrix of AntisymmetricRNN.
    """
    identity = torch.eye(len(M), dtype=M.dtype, device=M.device)
    return (1.0 - beta) * (M + M.T) + beta * (M - M.T) - gamma * identity


class LipschitzRNNLayer(dense.FusedLayer, RecurrentLayer):
    """M_A, M_W (n, n), V (n, input), b (n,) of one layer, n = hidden; b is None without bias."""

    dt: Tensor
    beta_a: Tensor
    gamma_a: Tensor
    beta_w: Tensor
    gamma_w: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        dt: float,
        beta_a: float,
        gamma_a: float,
        beta_w: float,
        gamma_w: float,
        method: Method = "euler",
        sigma_w: float = 1.0,
        bias: bool = True,
        execution: dense.NameOnCPU = "torch",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.execution = execution
        self.method: Method = arguments.one_of("method", method, ("euler", "midpoint"))
        arguments.not_negative("sigma_w", [sigma_w])
        self.sigma_w = float(sigma_w)
        self.register_exact("dt", dt, CHECK_DT, device=device)
        self.register_exact("beta_a", beta_a, CHECK_BETA_A, device=device)
        self.register_exact("gamma_a", gamma_a, CHECK_GAMMA_A, device=device)
        self.register_exact("beta_w", beta_w, CHECK_BETA_W, device=device)
        self.register_exact("gamma_w", gamma_w, CHECK_GAMMA_W, device=device)
        empty = empty_parameters(device, dtype)
        self.M_A = empty(hidden_size, hidden_size)
        self.M_W = empty(hidden_size, hidden_size)
        self.V = empty(hidden_size, input_size)
        self.b = empty(hidden_size) if bias else None

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """M_A and M_W ~ N(0, (σ_w/n)²), as in the authors' code; V, b ~ U(−r, r), r = 1/√input, as torch.nn.Linear."""
        for matrix in (self.M_A, self.M_W):
            nn.init.normal_(matrix, 0.0, self.sigma_w / self.hidden_size, generator=generator)
        r = 1.0 / math.sqrt(self.input_size)
        for parameter in (self.V, self.b):
            if parameter is not None:
                nn.init.uniform_(parameter, -r, r, generator=generator)

    def matrices(self) -> tuple[Tensor, Tensor]:
        """A and W (n, n) with the weights as they are now; differentiable."""
        beta_a, gamma_a, beta_w, gamma_w = (
            value.to(self.V.dtype) for value in (self.beta_a, self.gamma_a, self.beta_w, self.gamma_w)
        )
        return mixed(self.M_A, beta_a, gamma_a), mixed(self.M_W, beta_w, gamma_w)

    def drives(self, below: Tensor) -> Tensor:
        """V u + b."""
        return nn.functional.linear(below, *self.drive_weights())

    def drive_weights(self) -> tuple[Tensor, Tensor | None]:
        return self.V, self.b

    def stepper(self) -> StepFunction:
        A, W = self.matrices()
        A_T, W_T, dt = A.T, W.T, self.dt.to(self.V.dtype)

        def slope(h: Tensor, x: Tensor) -> Tensor:
            return torch.mm(h, A_T) + torch.tanh(torch.addmm(x, h, W_T))

        def euler(state: State, x: Tensor) -> State:
            (h,) = state
            return (h + dt * slope(h, x),)

        def midpoint(state: State, x: Tensor) -> State:
            (h,) = state
            return (h + dt * slope(h + 0.5 * dt * slope(h, x), x),)

        return euler if self.method == "euler" else midpoint

    def dense_recurrence(self) -> dense.DenseRecurrence:
        both, dt = torch.cat(self.matrices()), self.dt
        if self.method == "euler":
            return dense.DenseRecurrence("semilinear", {"A, W": both}, (dt,))
        return dense.DenseRecurrence("semilinear_midpoint", {"A, W": both, "A, W again": both}, (dt,))

    def field(self) -> Semilinear:
        """h' = A h + tanh(W h + x) with the weights as they are now."""
        return Semilinear(*self.matrices())

    def guarantees(self) -> Guarantees:
        """Of the method on this field: for Euler a contraction if dt ≤ 2|μ|/L² and μ < 0, the constants of the field,
        that is where γ_A and the skew shares make sym A more negative than W can undo.
        """
        from odernn import tableaus
        from odernn.integrators.guarantees import guarantees_of  # exact algebra, which a forward pass does not need

        method = tableaus.EULER if self.method == "euler" else tableaus.EXPLICIT_MIDPOINT
        return guarantees_of(method, self.field(), float(self.dt))


class LipschitzRNN(dense.FusedNetwork, RecurrentNetwork):
    """h' = A h + tanh(W h + V u + b), an explicit step an input.   Erichson et al. 2021 (Lipschitz RNN)

        A = (1 − β_A)(M_A + M_Aᵀ) + β_A (M_A − M_Aᵀ) − γ_A I,    W likewise with β_W, γ_W, M_W
        euler     h_n = h_{n−1} + dt f(h_{n−1}, u_n)
        midpoint  h_n = h_{n−1} + dt f(h_{n−1} + dt/2 f(h_{n−1}, u_n), u_n)      the explicit midpoint rule, "RK2"

    input  u : (time, batch, input), or (time, input)      output  h of the last layer : (time, batch, hidden)
    state  h : (layers · directions, batch, hidden), zero if not given

    dt                 the step size, > 0; this and the next: one number, or one a layer. Float64 buffers
    beta_a, beta_w     shares of the skew parts, in [0, 1]
    gamma_a, gamma_w   diffusion, ≥ 0
    method             "euler" or "midpoint"
    sigma_w            of the initial weights, see ``LipschitzRNNLayer.reset_parameters``
    bias               whether there is a b
    execution          "torch": a loop; "cpu": fused, differentiable once, needs the extra ``fast``. An attribute, too,
                       of the network and of each layer, and checked
    generator          of the initial weights

    The other arguments are those of ``RecurrentNetwork``. The authors' code has one β and one γ for both matrices; a
    stack is this library's. With A = 0 and β_W = 1 it is AntisymmetricRNN. The input is held over a step.
    ``guarantees()`` says what follows for two states; ``IntegratorRNN(Semilinear(A, W), …)`` runs the field with any
    other method, but trains A and W without their decomposition.
    """

    holds: ClassVar[str] = "Euler contracts where dt ≤ 2|μ|/L² and μ < 0, constants of the field (guarantees())"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        dt: float | Sequence[float],
        beta_a: float | Sequence[float],
        gamma_a: float | Sequence[float],
        beta_w: float | Sequence[float],
        gamma_w: float | Sequence[float],
        method: Method = "euler",
        sigma_w: float = 1.0,
        bias: bool = True,
        execution: dense.NameOnCPU = "torch",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, **manners)
        self.fill(
            LipschitzRNNLayer,
            generator,
            per_layer={"dt": dt, "beta_a": beta_a, "gamma_a": gamma_a, "beta_w": beta_w, "gamma_w": gamma_w},
            method=method,
            sigma_w=sigma_w,
            bias=bias,
            execution=execution,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def suggest(cls, steps: int, *, memory: float | None = None, hidden_size: int | None = None) -> dict[str, Any]:
        """dt, beta_a, gamma_a, beta_w and gamma_w of a linear part that turns, and forgets in M steps.

            dt = 1/√M,     γ_A = γ_W = 1/(2√M),     β_A = β_W = 1

        β = 1: the symmetric parts of A and W are −γ_A I and −γ_W I, and nothing else. For β < 1 (1 − β)(M + Mᵀ) is
        added, whose positive eigenvalues are far above these small γ: modes would grow in M steps. The field is that of
        A + W where tanh is linear, and forgets at the rate γ_A + γ_W, in 1/(dt (γ_A + γ_W)) = M steps; where tanh is
        saturated that of A, which takes twice as many. A mode −γ_A ± iλ of A does not grow by Euler iff
        dt ≤ 2γ_A/(γ_A² + λ²), that is λ² ≤ 1 − 1/(4M). With σ_w = 1 the largest λ is about 2√(2/n) at the start, for
        n units: within that bound from a dozen on. M random pushes add up to about 1 (``wandering_step``), a constant
        one, as of the bias b, to more.
        """
        dt = wandering_step(memory_in_steps(steps, memory, hidden_size))
        return {"dt": dt, "beta_a": 1.0, "gamma_a": 0.5 * dt, "beta_w": 1.0, "gamma_w": 0.5 * dt}

    def shown_options(self) -> list[str]:
        first = self.layers[0]
        numbers = shown(self.layers[:: self.directions], "dt", "beta_a", "gamma_a", "beta_w", "gamma_w")
        changed = differing(bias=(first.b is not None, True), execution=(first.execution, "torch"))
        return [*numbers, f"method={first.method!r}", *changed]


CELL = LipschitzRNN
