"""AntisymmetricRNN: Euler steps of a field whose Jacobian has eigenvalues near the imaginary axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

import torch
from torch import Tensor, nn

from odernn.cells.common import arguments
from odernn.cells.common.representation import differing, shown
from odernn.cells.common.sequences import State
from odernn.cells.common.time_scales import memory_in_steps
from odernn.cells.recurrent import Manners, RecurrentLayer, RecurrentNetwork, StepFunction, empty_parameters
from odernn.executions import dense
from odernn.fields.antisymmetric import Antisymmetric, GatedAntisymmetric
from odernn.orthogonal.cayley import skew
from odernn.published import networks as published

if TYPE_CHECKING:
    from odernn.integrators.guarantees import Guarantees

__all__ = ["CELL", "AntisymmetricLayer", "AntisymmetricRNN"]

CHECK_DT = partial(arguments.positive, "dt")
CHECK_GAMMA = partial(arguments.not_negative, "gamma")


class AntisymmetricLayer(dense.FusedLayer, RecurrentLayer):
    """free (n(n−1)/2,), V (n, input), b (n,) of one layer, n = hidden; gated also V_g, b_g. Without bias no b, b_g.

    free is the strict upper triangle of W row by row: w_12, w_13, .., w_1n, w_23, ..; the rest of W is zero. Only
    W − Wᵀ matters, so a full W would train n(n+1)/2 parameters that do nothing.
    """

    state_names: tuple[str, ...] = ("h",)

    dt: Tensor
    gamma: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        dt: float,
        gamma: float,
        gated: bool = False,
        sigma_w: float = 1.0,
        bias: bool = True,
        execution: dense.NameOnCPU = "torch",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.execution = execution
        self.gated = gated
        arguments.not_negative("sigma_w", [sigma_w])
        self.sigma_w = float(sigma_w)
        self.register_exact("dt", dt, CHECK_DT, device=device)
        self.register_exact("gamma", gamma, CHECK_GAMMA, device=device)
        empty = empty_parameters(device, dtype)
        self.free = empty(hidden_size * (hidden_size - 1) // 2)
        self.V = empty(hidden_size, input_size)
        self.b = empty(hidden_size) if bias else None
        self.V_g = empty(hidden_size, input_size) if gated else None
        self.b_g = empty(hidden_size) if gated and bias else None

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """free ~ N(0, σ_w²/n), V and V_g ~ N(0, 1/m) for m inputs, b = b_g = 0.   Chang et al. 2019, App. C"""
        nn.init.normal_(self.free, 0.0, self.sigma_w / math.sqrt(self.hidden_size), generator=generator)
        for matrix in (self.V, self.V_g):
            if matrix is not None:
                nn.init.normal_(matrix, 0.0, 1.0 / math.sqrt(self.input_size), generator=generator)
        for vector in (self.b, self.b_g):
            if vector is not None:
                nn.init.zeros_(vector)

    def drives(self, below: Tensor) -> Tensor:
        """V u + b, gated followed by V_g u + b_g."""
        return nn.functional.linear(below, *self.drive_weights())

    def drive_weights(self) -> tuple[Tensor, Tensor | None]:
        if self.V_g is None:
            return self.V, self.b
        bias = None if self.b is None or self.b_g is None else torch.cat((self.b, self.b_g))
        return torch.cat((self.V, self.V_g)), bias

    def recurrent_matrix(self) -> Tensor:
        """A = W − Wᵀ − γ I with the weights as they are now, (n, n); differentiable."""
        S = skew(self.free, self.hidden_size)
        return S - self.gamma.to(S.dtype) * torch.eye(self.hidden_size, dtype=S.dtype, device=S.device)

    def stepper(self) -> StepFunction:
        A_T, dt = self.recurrent_matrix().T, self.dt.to(self.free.dtype)

        def plain(state: State, x: Tensor) -> State:
            (h,) = state
            return (h + dt * torch.tanh(torch.addmm(x, h, A_T)),)

        def gated(state: State, drive: Tensor) -> State:
            (h,) = state
            x, x_g = drive.chunk(2, dim=1)
            Ah = torch.mm(h, A_T)
            return (h + dt * (torch.sigmoid(Ah + x_g) * torch.tanh(Ah + x)),)

        return gated if self.gated else plain

    def dense_recurrence(self) -> dense.DenseRecurrence:
        A, dt = {"A": self.recurrent_matrix()}, self.dt
        return dense.DenseRecurrence("gated", A, (dt,)) if self.gated else dense.DenseRecurrence("euler", A, (dt, 0.0))

    def field(self) -> Antisymmetric | GatedAntisymmetric:
        """h' = tanh(A h + x), gated times σ̂(A h + x_g), with the weights as they are now; its W is upper triangular."""
        W = skew(self.free, self.hidden_size).triu(1)
        return GatedAntisymmetric(W, self.gamma) if self.gated else Antisymmetric(W, self.gamma)

    def guarantees(self) -> Guarantees:
        """Of explicit Euler on this field. Ungated, its Jacobian has no eigenvalue with a positive real part, and yet
        the field is not monotone for any γ: contraction is not implied. Gated, it may have some.
        """
        from odernn import tableaus
        from odernn.integrators.guarantees import guarantees_of  # exact algebra, which a forward pass does not need

        return guarantees_of(tableaus.EULER, self.field(), float(self.dt))


class AntisymmetricRNN(dense.FusedNetwork, RecurrentNetwork):
    """h' = tanh(A h + V u + b), A = W − Wᵀ − γ I, explicit Euler.   Chang, Chen, Haber & Chi 2019 (AntisymmetricRNN)

        h_n = h_{n-1} + dt tanh(A h_{n-1} + V u_n + b)
        gated:  h_n = h_{n-1} + dt σ̂(A h_{n-1} + V_g u_n + b_g) ⊙ tanh(A h_{n-1} + V u_n + b),   σ̂ the logistic function

    input  u : (time, batch, input), or (time, input)      output  h of the last layer : (time, batch, hidden)
    state  h : (layers · directions, batch, hidden), zero if not given

    dt, gamma  one number, or one a layer; dt > 0 (the paper's ε), γ ≥ 0. Float64 buffers of the layers
    gated      whether there is a gate, which shares A
    sigma_w    of the initial weights, see ``AntisymmetricLayer.reset_parameters``; the paper tries 0, 1, 2, 4, 8, 16
    bias       whether there are b and b_g
    execution  "torch": a loop; "cpu": fused, differentiable once, needs the extra ``fast``. An attribute, too,
               of the network and of each layer, and checked
    generator  of the initial weights

    The other arguments are those of ``RecurrentNetwork``. For a fixed slope D = σ' I and γ = 0 every step grows: mode
    iλ of W − Wᵀ is multiplied by 1 + i dt σ' λ. With γ it does not grow iff dt σ' ≤ 2γ/(γ² + λ²).
    """

    holds: ClassVar[str] = (
        "|h_n| ≤ |h_0| + n dt in every component; ungated, the field's Jacobian has no eigenvalue with a positive real "
        "part, which does not bound the steps (guarantees())"
    )

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        dt: float | Sequence[float],
        gamma: float | Sequence[float],
        gated: bool = False,
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
            AntisymmetricLayer,
            generator,
            per_layer={"dt": dt, "gamma": gamma},
            gated=gated,
            sigma_w=sigma_w,
            bias=bias,
            execution=execution,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def suggest(
        cls,
        steps: int,
        *,
        memory: float | None = None,
        hidden_size: int | None = None,
        sigma_w: float = 1.0,
    ) -> dict[str, Any]:
        """dt and gamma that balance Euler's growth of fast modes against the forgetting of slow ones over M steps.

            dt = min(√(2/M), 1)/λ,     γ = (1 − √(1 − dt²λ²))/dt = dt λ²/(1 + √(1 − dt²λ²)),     λ = 2 σ_w

        Mode iλ of W − Wᵀ is multiplied by 1 − dt γ + i dt λ where tanh is linear, and by no more than 1 iff
        dt ≤ 2γ/(γ² + λ²): γ is the least for which that holds, with equality. λ = 2σ_w is the spectral radius of the
        initial W − Wᵀ for large n. Modes near 0 are forgotten in 1/(dt γ) steps, and dt γ ≈ dt²λ²/2 = 1/M for this dt.
        Raises ValueError where σ_w is so small or so large that dt or γ is no positive float64.
        """
        M = memory_in_steps(steps, memory, hidden_size)
        arguments.positive("sigma_w", [sigma_w])
        turned = min(math.sqrt(2.0 / M), 1.0)
        dt = turned / (2.0 * sigma_w)
        gamma = turned**2 / (1.0 + math.sqrt(1.0 - turned**2)) / dt if dt > 0.0 else 0.0
        if not (math.isfinite(dt) and gamma > 0.0):
            raise ValueError(
                f"sigma_w is {sigma_w}, for which dt = {dt} and gamma = {gamma}: both must be finite and positive. "
                "Give a sigma_w nearer to 1."
            )
        return {"dt": dt, "gamma": gamma}

    @classmethod
    def from_paper(cls, name: str, **overrides: Any) -> Self:
        """The network of that name in ``published.networks("antisymmetric")``, untrained; ``overrides`` are arguments.

        Raises LookupError with the nearest name. No source prints dt and γ of these rows, so they must be given:

            >>> AntisymmetricRNN.from_paper("nCIFAR gated", dt=0.01, gamma=0.1).hidden_size
            256
        """
        return cls(**published.arguments("antisymmetric", name, overrides, required=("dt", "gamma")))

    def shown_options(self) -> list[str]:
        first = self.layers[0]
        changed = differing(
            gated=(first.gated, False), bias=(first.b is not None, True), execution=(first.execution, "torch")
        )
        return [*shown(self.layers[:: self.directions], "dt", "gamma"), *changed]


CELL = AntisymmetricRNN
