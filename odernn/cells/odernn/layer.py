"""One layer of an ODERNN in one direction: its weights, its coefficients and its step."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import torch
from torch import Tensor, nn

from odernn.cells.common import arguments
from odernn.cells.common.sequences import State
from odernn.cells.odernn.coefficients import (
    Finite,
    LayerCoefficients,
    MatrixCoefficients,
    ScalarCoefficients,
    register_exact_tensor,
)
from odernn.cells.odernn.implicit import CoupledStages
from odernn.cells.odernn.stages import StageEvaluation
from odernn.cells.odernn.step import MatrixStep, StageValues
from odernn.cells.odernn.tableau import MatrixBurrageButcher, MatrixTableau
from odernn.cells.recurrent import RecurrentLayer, StepFunction
from odernn.executions.autocast import without_autocast
from odernn.integrators.newton import Newton
from odernn.tableaus.tableau import ButcherTableau

if TYPE_CHECKING:
    from odernn.integrators.guarantees import Guarantees

CoefficientKind: TypeAlias = Literal["scalar", "weighted", "matrix"]


class ODERNNLayer(RecurrentLayer):
    """y₊ = y + η Σ B_i k_i with the stages of a ``MatrixTableau``; the output is C y₊ + c, or the first block.

    K_i (p_i × components read), U_i (p_i × input), b_i (p_i): weights of stage i, as far as it has its own; a constant
    K_i is a float64 buffer. ``coefficients``: A_ij and B_i, see ``odernn.coefficients``. ``method``: the scalar one
    that they were made from, if they were. ``as_operator``: whether steps that are solved for are operators, else they
    are made in torch's operations.
    """

    as_operator: bool = True
    eta: Tensor

    def __init__(
        self,
        input_size: int,
        structure: MatrixTableau,
        eta: float,
        *,
        coefficients: CoefficientKind,
        P: Tensor | None,
        learn_coefficients: bool,
        readout: bool,
        newton: Newton,
        method: ButcherTableau | None = None,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__(input_size, structure.hidden_size)
        self.state_names = structure.block_names
        self.structure, self.newton, self.method = structure, newton, method
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        self.register_exact("eta", eta, functools.partial(arguments.positive, "eta"), device=device)
        self.coefficients: LayerCoefficients = (
            MatrixCoefficients(structure, learned=learn_coefficients, **factory)
            if coefficients == "matrix"
            else ScalarCoefficients(structure, P, learned=learn_coefficients, **factory)
        )
        for i, stage in structure.stages.items():
            if stage.same_as is not None:
                continue
            if stage.K is None:
                columns = structure.hidden_size * (structure.t if stage.reads is None else len(stage.reads))
                self.register_parameter(f"K_{i}", nn.Parameter(torch.empty(stage.size, columns, **factory)))
            else:
                register_exact_tensor(self, f"K_{i}", stage.K, Finite(f"K_{i}"), device=device)
            if stage.sees_input:
                self.register_parameter(f"U_{i}", nn.Parameter(torch.empty(stage.size, input_size, **factory)))
            if stage.bias:
                self.register_parameter(f"b_{i}", nn.Parameter(torch.empty(stage.size, **factory)))
        d, D = structure.hidden_size, structure.size
        self.C = nn.Parameter(torch.empty(d, D, **factory)) if readout else None
        self.c = nn.Parameter(torch.empty(d, **factory)) if readout else None
        names = [name for name, _ in self.named_parameters()]
        if not names:
            raise ValueError(
                "The layer has no parameter: its K_i and coefficients are constant and its stages see no input. Let a "
                "stage see the input, or give learn_coefficients=True or readout=True."
            )
        self.like_name = names[0]

    @property
    def like(self) -> Tensor:
        """The first parameter, which may be one of the coefficients."""
        weight: Tensor = functools.reduce(getattr, self.like_name.split("."), self)  # type: ignore[assignment]
        return weight

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """K_i, U_i, b_i ~ U(−r, r) with r = 1/√d, as in torch.nn.RNN: the paper states none.

        C y + c starts as the first block; coefficients keep their values.
        """
        r = self.hidden_size**-0.5
        for name, weight in self.named_parameters(recurse=False):
            if name not in ("C", "c"):
                nn.init.uniform_(weight, -r, r, generator=generator)
        if self.C is not None and self.c is not None:
            nn.init.eye_(self.C)
            nn.init.zeros_(self.c)

    def weight(self, letter: str, i: int) -> Tensor:
        """K, U or b of stage i, its own or that of the stage whose weights it uses."""
        shared = self.structure.stages[i].same_as
        return cast(Tensor, getattr(self, f"{letter}_{i if shared is None else shared}"))

    def drives(self, below: Tensor) -> Tensor:
        """U_i u + b_i of all stages with input side by side, (..., Σ p_i)."""
        stages = {i: stage for i, stage in self.structure.stages.items() if stage.sees_input}
        if not stages:
            return below.new_zeros((*below.shape[:-1], 0))
        U = torch.cat([self.weight("U", i) for i in stages])
        biases = [self.weight("b", i) if stage.bias else U.new_zeros(stage.size) for i, stage in stages.items()]
        return nn.functional.linear(below, U, torch.cat(biases))

    def step(self) -> MatrixStep:
        """The step with the weights and coefficients as they are now."""
        dtype = self.like.dtype
        values = {"eta": self.eta.to(dtype)}
        for name, value in self.coefficients.values().items():
            is_gate = "_gate" in name
            values[name] = (value if is_gate else self.eta.to(value.dtype) * value).to(dtype)
        for i, stage in self.structure.stages.items():
            values[f"K_{i}"] = self.weight("K", i).to(dtype)
            if stage.bias and not stage.sees_input:
                values[f"b_{i}"] = self.weight("b", i)
        is_explicit, evaluation = self.structure.is_explicit, StageEvaluation(self.structure, values)
        coupled = None if is_explicit else CoupledStages(evaluation, self.newton, as_operator=self.as_operator)
        return MatrixStep(self.structure, values, coupled)

    def stepper(self) -> StepFunction:
        step, t = self.step(), self.structure.t

        def stepped(state: State, drive: Tensor) -> State:
            y = state[0] if t == 1 else torch.cat(state, dim=-1)
            after = step(y, drive).after
            return (after,) if t == 1 else after.chunk(t, dim=-1)

        return stepped

    def fused(self, drives: Tensor, state: State) -> State | None:
        """The rows of all blocks where stages need each other: all steps are one operator then."""
        coupled = None if self.structure.is_explicit else self.step().coupled
        if coupled is None or not coupled.as_operator:
            return None
        return coupled.rows(torch.cat(state, dim=-1), drives).rows.chunk(self.structure.t, dim=-1)

    def output(self, rows: State) -> Tensor:
        """C y + c, or the first block of y."""
        if self.C is None:
            return rows[0]
        with without_autocast(rows[0]):
            return nn.functional.linear(torch.cat(rows, dim=-1), self.C, self.c)

    def stage_values(self, y: Tensor, u: Tensor) -> StageValues:
        """One step from y (batch, D), the blocks side by side, with the input u (batch, input), and its stages."""
        return self.step()(y, self.drives(u).to(y.dtype))

    def tableau(self) -> MatrixTableau:
        """The tableau with the coefficients as they are now."""
        return self.coefficients.tableau()

    def burrage_butcher(self, G: Any = None) -> MatrixBurrageButcher:
        """The Burrage–Butcher matrix of the coefficients as they are now; see ``MatrixTableau.burrage_butcher``."""
        return self.tableau().burrage_butcher(G)

    def guarantees(self) -> Guarantees:
        """Contraction in a weight G that is sought, solvability and invertibility, for the weights as they are now.

        Contraction is for the η of the layer and smaller ones (mc-4 of docs/derivations/matrix_coefficients.md);
        ``contraction.because`` says whether the same G does for every η > 0, that is, whether the layer is BN-stable
        (mc-2). The theorems are about constant coefficients; see ``properties.matrix_coefficients``.
        ``contraction.witness`` is G, and the premise that fails where it is not implied is in ``contraction.because``.
        """
        from odernn.cells.odernn.guarantees import layer_guarantees  # exact algebra, which a forward pass does not need

        return layer_guarantees(self)
