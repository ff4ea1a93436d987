"""ODERNN: Runge–Kutta steps whose coefficients are matrices and whose stages are layers of neurons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Unpack

import torch

from odernn.cells.common import arguments
from odernn.cells.common.time_scales import memory_in_steps
from odernn.cells.odernn.layer import CoefficientKind, ODERNNLayer
from odernn.cells.odernn.parts import Coefficient, Gate, Stage
from odernn.cells.odernn.step import StageValues
from odernn.cells.odernn.tableau import MatrixBurrageButcher, MatrixTableau, checked_weight
from odernn.cells.recurrent import Manners, RecurrentNetwork
from odernn.integrators.newton import Newton
from odernn.tableaus.methods import Method, in_stages
from odernn.tableaus.tableau import ButcherTableau

__all__ = [
    "CELL",
    "ODERNN",
    "Coefficient",
    "Gate",
    "MatrixBurrageButcher",
    "MatrixTableau",
    "ODERNNLayer",
    "Stage",
    "StageValues",
]

DEFAULTS = {
    "blocks": 1,
    "coefficients": "scalar",
    "P": None,
    "nonlinearity": "tanh",
    "share_stages": False,
    "bias": True,
}
"""The arguments that build a ``MatrixTableau`` from a scalar one."""


class ODERNN(RecurrentNetwork):
    """An n-t-ODERNN: t blocks of width d, D = t d, and in every layer the step

        Y_i = y + η Σ_j A_ij k_j,     k_i = σ_i(K_i Y_i + U_i u + b_i),     y₊ = y + η Σ_i B_i k_i,     o = C y₊ + c

    Niu, Chuang, Horesh 2019, Definition 1.

    input  u : (time, batch, input), (time, input) or packed      output  o : (time, batch, hidden · directions)
    state  t blocks (layers · directions, batch, hidden), a tensor for t = 1, zero if not given

    tableau    a scalar method of this library, or a ``MatrixTableau`` with stages and coefficients of its own, whose
               hidden_size is d. The next arguments turn a scalar method into one, and are for that only:
    blocks        t
    coefficients  "scalar": A_ij = a_ij I, B_i = b_i I;  "weighted": a_ij P and b_i P;  "matrix": starting at a_ij I and
                  b_i I, every one a full D × D matrix to be learned
    P             of "weighted", D × D, symmetric positive definite; kept by its Cholesky factor, P = L Lᵀ. The identity
                  if not given
    nonlinearity  "tanh", "sigmoid", "relu", "square" or "identity", of all D components of every stage
    share_stages  False: every stage has K_i, U_i, b_i of its own. True: all have those of stage 1, which makes it the
                  method for y' = σ(K y + U u + b)
    bias          whether stages have b_i
    learn_coefficients  False: A_ij and B_i are float64 buffers. True: those that the tableau has are parameters (of
                  "weighted" also L); zeros of the tableau stay zero
    eta        η > 0, one number or one a layer; a float64 buffer, also in ``state_dict``
    readout    True: o = C y₊ + c with C (d × D) and c learned, starting as the first block; False: o is the first block
    newton     how implicit stages are solved, and what happens if that fails. That they have a solution is a hypothesis
    dropout, dropout_mask, batch_first, bidirectional     as in ``RecurrentNetwork``
    generator  of the initial weights

    ``layers`` holds the ``ODERNNLayer`` of layer l in direction k at index (l − 1) · directions + k, as in torch. All
    start with the same coefficients. ``realisations`` writes LSTM, GRU and tanh layers in this form. There is no
    ``from_paper``, as the paper prints no rows of sizes and η.
    """

    holds: ClassVar[str] = (
        "contraction where a weight G makes M + 2Λ/(ηL) ≥ 0 and the stages monotone; a scalar method keeps its order "
        "and stability (guarantees(), burrage_butcher())"
    )

    layers: Sequence[ODERNNLayer]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        tableau: Method | MatrixTableau,
        blocks: int = 1,
        coefficients: CoefficientKind = "scalar",
        P: Any = None,
        nonlinearity: str = "tanh",
        share_stages: bool = False,
        bias: bool = True,
        learn_coefficients: bool = False,
        eta: float | Sequence[float] = 1.0,
        readout: bool = False,
        newton: Newton | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, **manners)
        kind = arguments.one_of("coefficients", coefficients, ("scalar", "weighted", "matrix"))
        method: ButcherTableau | None = None
        if isinstance(tableau, MatrixTableau):
            given = dict(zip(DEFAULTS, (blocks, coefficients, P, nonlinearity, share_stages, bias), strict=True))
            structure, kind = _checked_structure(tableau, hidden_size, given), "matrix"
        else:
            method = _checked_method(tableau)
            structure = MatrixTableau.scalar(
                method,
                hidden_size,
                blocks=arguments.positive_integer("blocks", blocks),
                nonlinearity=nonlinearity,
                share_stages=share_stages,
                bias=bias,
            )
            if kind == "matrix":
                structure = structure.in_full()
        self.structure = structure
        etas = arguments.per_layer("eta", eta, num_layers)
        weight = checked_weight(P, structure.size, is_weighted=kind == "weighted")
        self.layers = self.stacked(  # type: ignore[assignment]
            lambda number, size: ODERNNLayer(
                size,
                structure,
                etas[number - 1],
                coefficients=kind,
                P=weight,
                learn_coefficients=learn_coefficients,
                readout=readout,
                newton=Newton() if newton is None else newton,
                method=method,
                device=device,
                dtype=dtype,
            )
        )
        self.reset_parameters(generator)

    @classmethod
    def suggest(cls, steps: int, *, memory: float | None = None, hidden_size: int | None = None) -> dict[str, Any]:
        """tableau and eta: the explicit midpoint rule, η = 1/M, so that M steps are one unit of time.

        With nonlinearities in [−1, 1] a step moves by η Σ|b_i| = η at most, and M of them by at most 1. Nothing turns
        a state back: slopes that agree from step to step, as those of a bias do, add up, so that η = 1/√M would carry
        it √M away. Any other explicit method fits as well; an implicit one has to be solved for.
        """
        from odernn.tableaus import EXPLICIT_MIDPOINT

        return {"tableau": EXPLICIT_MIDPOINT, "eta": 1.0 / memory_in_steps(steps, memory, hidden_size)}

    @property
    def n(self) -> int:
        """The longest chain of nested nonlinear stages in the step of one layer; a stack of L nests up to L n."""
        return self.structure.n

    @property
    def t(self) -> int:
        """The number of coupled blocks."""
        return self.structure.t

    @property
    def is_explicit(self) -> bool:
        """Whether no stage has to be solved for."""
        return self.structure.is_explicit

    def burrage_butcher(self, G: Any = None, *, layer: int = 1) -> MatrixBurrageButcher:
        """The Burrage–Butcher matrix of the layer l = 1..L, forward direction, with the coefficients as they are now.

        G (D × D) symmetric positive definite, the identity if not given; see ``MatrixTableau.burrage_butcher``.
        """
        return self.layers[(layer - 1) * self.directions].burrage_butcher(G)

    def shown_options(self) -> list[str]:
        parts = [f"n={self.n}, t={self.t}, stages={len(self.structure.stages)}"]
        parts.append("explicit" if self.is_explicit else "implicit")
        if self.structure.is_gated:
            parts.append("gated")
        return parts


CELL = ODERNN


def _checked_method(tableau: Method) -> ButcherTableau:
    """A scalar method in stages."""
    if isinstance(tableau, str):
        raise TypeError(f'tableau is the name "{tableau}". Give the method itself: odernn.tableaus.get("{tableau}").')
    method = in_stages(tableau)
    if not isinstance(method, ButcherTableau):
        raise ValueError(
            f"{tableau} is not one table of scalar coefficients. Choose a ButcherTableau such as tableaus.HEUN_2, take "
            "the .rounded() of a family, or write the step as a MatrixTableau, whose stages may read single blocks."
        )
    return method


def _checked_structure(tableau: MatrixTableau, hidden_size: int, given: dict[str, Any]) -> MatrixTableau:
    """A tableau of matrices, which leaves nothing for the arguments that build one."""
    if tableau.hidden_size != hidden_size:
        raise ValueError(
            f"hidden_size is {hidden_size} but the MatrixTableau has blocks of width {tableau.hidden_size}. "
            "Build it for the width of the cell."
        )
    for name, value in given.items():
        if value is not DEFAULTS[name] and not (isinstance(value, int | str) and value == DEFAULTS[name]):
            raise ValueError(
                f"{name} is given with a MatrixTableau, which has stages and coefficients of its own. "
                f"Leave {name} out, or give a scalar method."
            )
    return tableau
