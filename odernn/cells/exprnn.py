"""expRNN: an orthogonal recurrence by the matrix exponential, and modReLU."""

from __future__ import annotations

import math
from typing import ClassVar, Literal, TypeAlias, Unpack

import torch
from torch import Tensor, nn

from odernn.cells.common import arguments
from odernn.cells.common.orthogonal_layers import OrthogonalLayer, OrthogonalNetwork
from odernn.cells.common.representation import differing
from odernn.cells.recurrent import Manners, empty_parameters
from odernn.executions import dense
from odernn.fields.skew_linear import SkewLinear
from odernn.orthogonal.cayley import skew
from odernn.orthogonal.unitary import SkewExponential

__all__ = ["CELL", "ExpRNN", "ExpRNNLayer"]

Initial: TypeAlias = Literal["henaff", "cayley"]

BIAS = 0.01
"""Half the width of the uniform distribution of initial biases, and of trained initial states."""


class ExpRNNLayer(OrthogonalLayer):
    """free (n(n−1)/2,), V (n, input), b (n,), h0 (n,) of one layer, n = hidden; b, h0 are None where there is none.

    free  the strict upper triangle of A row by row, as ``odernn.orthogonal.cayley.skew`` takes it
    With ``nonexpansive`` free_b is learned in the place of b, see ``ModReLULayer``.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        initial: Initial = "cayley",
        bias: bool = True,
        nonexpansive: bool = False,
        learn_initial_state: bool = False,
        execution: dense.Name = "torch",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.execution = execution
        self.initial: Initial = arguments.one_of("initial", initial, ("henaff", "cayley"))
        empty = empty_parameters(device, dtype)
        self.free = empty(hidden_size * (hidden_size - 1) // 2)
        self.V = empty(hidden_size, input_size)
        self.make_biases(empty, bias=bias, nonexpansive=nonexpansive)
        self.h0 = empty(hidden_size) if learn_initial_state else None
        self.exponential = SkewExponential(hidden_size)

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """A of 2x2 blocks [[0, s], [−s, 0]], and a last 0 if n is odd: exp(A) turns planes by −s. By ``initial``

            henaff  s ~ U(−π, π)
            cayley  s = −√((1 − cos t)/(1 + cos t)) = −tan(t/2), t ~ U(0, π/2)

        the names and formulas of the authors' code, Lezcano/expRNN. V ~ N(0, 2/input) (Kaiming), b ~ U(−0.01, 0.01),
        h0 likewise; with h0 = 0 and b = 0 inputs that begin with zeros have z = 0, where no gradient passes.
        """
        drawn_on = None if generator is None else generator.device
        drawn = torch.rand(self.hidden_size // 2, generator=generator, dtype=torch.float64, device=drawn_on)
        s = math.pi * (2.0 * drawn - 1.0) if self.initial == "henaff" else -torch.tan(drawn * (math.pi / 4))
        above = torch.zeros(max(self.hidden_size - 1, 0), dtype=torch.float64, device=drawn_on)
        above[0::2] = s
        rows, columns = torch.triu_indices(self.hidden_size, self.hidden_size, 1)
        self.free.copy_(torch.diag(above, 1)[rows, columns])
        nn.init.kaiming_normal_(self.V, nonlinearity="relu", generator=generator)
        self.reset_biases(BIAS, generator)
        if self.h0 is not None:
            nn.init.uniform_(self.h0, -BIAS, BIAS, generator=generator)

    def recurrent_matrix(self) -> Tensor:
        """W = exp(A) with the weights as they are now, (n, n); differentiable."""
        W: Tensor = self.exponential(self.free)
        return W

    def drives(self, below: Tensor) -> Tensor:
        """V u."""
        return nn.functional.linear(below, self.V)

    def field(self, dt: float = 1.0) -> SkewLinear:
        """y' = S y, S = A/dt, whose exact flow over a time dt is y ↦ exp(A) y: this recurrence without inputs where
        b = 0. Raises ValueError for a dt that is not positive.
        """
        arguments.positive("dt", [dt])
        return SkewLinear(skew(self.free, self.hidden_size).triu(1) / dt)


class ExpRNN(OrthogonalNetwork):
    """h_n = modReLU(exp(A) h_{n−1} + V u_n; b), Aᵀ = −A trained.   Lezcano-Casado, Martínez-Rubio 2019 (expRNN)

        modReLU(z; b)_i = sign(z_i) max(|z_i| + b_i, 0),   0 at z_i = 0, with derivative 0 there

    input  u : (time, batch, input), or (time, input)      output  h of the last layer : (time, batch, hidden)
    state  h : (layers · directions, batch, hidden); if not given zero, or the trained h0

    initial              "cayley" or "henaff": A at the start, see ``ExpRNNLayer.reset_parameters``
    bias                 whether there is a b; without, the activation is the identity and the network linear
    nonexpansive         as in ``ScoRNN``: b = −|v| with v learned
    learn_initial_state  whether every layer has a trained h0
    execution            as in ``ScoRNN``: "torch", "cpu" or "cuda"
    generator            of the initial weights

    The other arguments are those of ``RecurrentNetwork``. The paper has one layer; a stack is this library's. exp(A) is
    computed once a forward pass, layer and direction, and stays in the dtype of the parameters under autocast;
    ‖WᵀW − I‖₂ is below 2u for ‖A‖₂ ≤ 64, as measured (``expm_skew``).

    W = exp(A) has determinant 1, and every such orthogonal W is reached; scoRNN with D fixed reaches those for which
    W D has determinant 1 and no eigenvalue −1. The map A ↦ W is not injective, and singular where two eigenvalues of A
    differ by a multiple of 2πi that is not 0.

    The step has no inverse: modReLU maps all |z_i| ≤ −b_i to 0 where b_i < 0, and where b_i > 0 it is injective but not
    onto.
    """

    holds: ClassVar[str] = "W is orthogonal for all weights, so |∂h_n/∂h_m| ≤ 1 up to its rounding (hidden_jacobians())"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        initial: Initial = "cayley",
        bias: bool = True,
        nonexpansive: bool = False,
        learn_initial_state: bool = False,
        execution: dense.Name = "torch",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, **manners)
        self.fill(
            ExpRNNLayer,
            generator,
            initial=initial,
            bias=bias,
            nonexpansive=nonexpansive,
            learn_initial_state=learn_initial_state,
            execution=execution,
            device=device,
            dtype=dtype,
        )

    @staticmethod
    def parameter_count(input_size: int, hidden_size: int, output_size: int) -> int:
        """n(n−1)/2 + nm + n + pn + p: one layer with b, without h0, and a read-out of p numbers; as scoRNN."""
        n = hidden_size
        return n * (n - 1) // 2 + n * input_size + n + output_size * n + output_size

    def shown_options(self) -> list[str]:
        first = self.layers[0]
        changed = differing(
            bias=(first.has_bias, True),
            nonexpansive=(first.nonexpansive, False),
            learn_initial_state=(first.h0 is not None, False),
            execution=(first.execution, "torch"),
        )
        return [f"initial={first.initial!r}", *changed]


CELL = ExpRNN
