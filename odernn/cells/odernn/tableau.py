"""Runge–Kutta tables whose coefficients are matrices, and may be gated by the state: what an ODERNN steps with.

Niu, Chuang, Horesh 2019 (odernn), Definition 1 with the Burrage–Butcher tensor (5).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor

from odernn.cells.odernn.parts import Coefficient, Stage, coefficient, dense, float64
from odernn.exact.algebraic import nearest_float
from odernn.tableaus.tableau import ButcherTableau


@dataclass(frozen=True, eq=False)
class MatrixBurrageButcher:
    """M_ij = B_iᵀ G A_ij + A_jiᵀ G B_j − B_iᵀ G B_j, assembled: Niu, Chuang, Horesh 2019, (5), with transposes.

    matrix       (Σp × Σp), symmetric, stages in ascending order
    eigenvalues  (Σp,), ascending
    rounding     both are float64: an eigenvalue no larger than this in absolute value may have either sign. It is
                 2 (D + Σp) eps times the Frobenius norms of what M is the sum of
    """

    matrix: Tensor
    eigenvalues: Tensor
    rounding: float


@dataclass(frozen=True, eq=False)
class MatrixTableau:
    """One step of an n-t-ODERNN: t blocks of width d, D = t d, state y in R^D, step size η.

        Y_i = y + η Σ_j A_ij k_j,     k_i = σ_i(K_i Y_i + U_i u + b_i),     y₊ = y + η Σ_i B_i k_i

    Niu, Chuang, Horesh 2019, Definition 1.

    hidden_size  d
    stages       label i → ``Stage``; labels are integers ≥ 0, so that formulas can keep their numbering
    A, B         (i, j) → A_ij and i → B_i; a number or an array stands for a ``Coefficient`` without gate. What is left
                 out is zero: which coefficients there are, not their values, decides n and whether the step is explicit
    block_names  of the t blocks of y; the first is the output of a cell

    What follows from these and is asked in every step:
    columns       i → the j for which there is an A_ij
    gate_stages   the stages that the gates look at, by the names "A_i_j" and "B_i" of their coefficients
    drive_slices  where each stage with input finds its own in the drive, which has stages side by side in their order
    groups        the stages in an order in which each group depends on itself and on earlier groups only: the strongly
                  connected components of ``needs``;   circles: those whose stages have to be solved for

    Raises ValueError where shapes or labels do not fit.
    """

    hidden_size: int
    stages: Mapping[int, Stage]
    A: Mapping[tuple[int, int], Any]
    B: Mapping[int, Any]
    block_names: tuple[str, ...] = ("y",)
    columns: Mapping[int, tuple[int, ...]] = field(init=False, repr=False)
    gate_stages: Mapping[str, tuple[int, ...]] = field(init=False, repr=False)
    drive_slices: Mapping[int, slice] = field(init=False, repr=False)
    groups: tuple[tuple[int, ...], ...] = field(init=False, repr=False)
    circles: frozenset[tuple[int, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", {i: self.stages[i] for i in sorted(self.stages)})
        object.__setattr__(self, "A", {key: coefficient(self.A[key]) for key in sorted(self.A)})
        object.__setattr__(self, "B", {i: coefficient(self.B[i]) for i in sorted(self.B)})
        _check(self)
        object.__setattr__(self, "columns", {i: tuple(j for row, j in self.A if row == i) for i in self.stages})
        object.__setattr__(self, "gate_stages", _gate_stages(self))
        object.__setattr__(self, "drive_slices", _drive_slices(self.stages))
        object.__setattr__(self, "groups", _groups(self))
        circles = frozenset(group for group in self.groups if len(group) > 1 or group[0] in self.needs(group[0]))
        object.__setattr__(self, "circles", circles)

    @classmethod
    def scalar(
        cls,
        tableau: ButcherTableau,
        hidden_size: int,
        *,
        blocks: int = 1,
        nonlinearity: str = "tanh",
        share_stages: bool = False,
        bias: bool = True,
    ) -> Self:
        """A_ij = a_ij I and B_i = b_i I, stages 1..s of D components, each with weights of its own or all with those of
        stage 1; then this is the Runge–Kutta step of y' = σ(K y + U u + b). Coefficients are correctly rounded."""
        D = blocks * hidden_size
        segments = ((nonlinearity, D),)
        labels = range(1, tableau.stages + 1)
        A = {(i, j): nearest_float(tableau.A[i - 1][j - 1]) for i in labels for j in labels}
        B = {i: nearest_float(tableau.b[i - 1]) for i in labels}
        return cls(
            hidden_size,
            {i: Stage(segments, bias=bias, same_as=1 if share_stages and i > 1 else None) for i in labels},
            {key: value for key, value in A.items() if value != 0},
            {i: value for i, value in B.items() if value != 0},
            ("y",) if blocks == 1 else tuple(f"y{number}" for number in range(1, blocks + 1)),
        )

    def in_full(self) -> MatrixTableau:
        """The same with every coefficient as a full matrix."""
        A = {key: dense(c.matrix, self.size) for key, c in self.A.items()}
        return replace(self, A=A, B={i: dense(c.matrix, self.size) for i, c in self.B.items()})

    @property
    def t(self) -> int:
        """Number of coupled blocks: the order of the recurrence in companion form."""
        return len(self.block_names)

    @property
    def size(self) -> int:
        """D = t d."""
        return self.t * self.hidden_size

    @property
    def n(self) -> int:
        """The longest chain of nested nonlinear stages, each feeding the argument of the next.

        A linear stage on the way counts for nothing and passes on. Of stages that depend on each other in a circle each
        nonlinear one counts once, so that n of a fully implicit method is its number of stages.
        """
        depth: dict[int, int] = {}
        for group in self.groups:
            before = [depth[j] for i in group for j in self.needs(i) if j not in group]
            own = sum(not self.stages[i].is_linear for i in group)
            depth.update(dict.fromkeys(group, own + max(before, default=0)))
        return max(depth.values())

    @property
    def is_explicit(self) -> bool:
        """Whether the stages can be computed one after the other: A_ij = 0 for j ≥ i in a suitable order."""
        return not self.circles

    @property
    def is_gated(self) -> bool:
        """Whether a coefficient depends on the state."""
        return any(entry.gate is not None for entry in (*self.A.values(), *self.B.values()))

    def needs(self, i: int) -> frozenset[int]:
        """The stages that Y_i depends on directly, through k_j or through a gate."""
        gates = [self.gate_stages.get(f"A_{i}_{j}", ()) for j in self.columns[i]]
        return frozenset((*self.columns[i], *(q for stages in gates for q in stages)))

    def matrix(self, i: int, j: int | None = None) -> Tensor:
        """A_ij, or B_i without j, in full and float64: zeros where it is left out. Raises ValueError if it is gated."""
        name, entry = (f"B_{i}", self.B.get(i)) if j is None else (f"A_{i},{j}", self.A.get((i, j)))
        if entry is None:
            return torch.zeros(self.size, self.stages[i if j is None else j].size, dtype=torch.float64)
        if entry.gate is not None:
            raise ValueError(
                f"The coefficient {name} is gated: it depends on the state and has no constant matrix. "
                "Ask a tableau whose is_gated is False, for example the constant form of the cell."
            )
        return dense(entry.matrix, self.size)

    def burrage_butcher(self, G: Any = None) -> MatrixBurrageButcher:
        """M for the inner product of G (D × D), symmetric positive definite, the identity if not given.

        M ≥ 0 and (u − v)ᵀ G B_i (k_i(u) − k_i(v)) ≤ 0 for all stages make the step contractive in ‖·‖_G. Explicit
        methods have M_ii = −B_iᵀ G B_i, so M ≥ 0 only where every B_i = 0. Raises ValueError if a coefficient is gated.
        """
        weight = torch.eye(self.size, dtype=torch.float64) if G is None else _positive_definite("G", G, self.size)
        B = torch.cat([self.matrix(i) for i in self.stages], dim=1)
        GA = weight @ torch.stack([torch.cat([self.matrix(i, j) for j in self.stages], dim=1) for i in self.stages])
        half = torch.cat([self.matrix(i).T @ row for i, row in zip(self.stages, GA, strict=True)])
        square = B.T @ weight @ B
        M = half + half.T - square
        norms = 2 * float(torch.linalg.norm(half)) + float(torch.linalg.norm(square))
        rounding = 2 * (self.size + len(M)) * float(torch.finfo(M.dtype).eps) * norms
        return MatrixBurrageButcher(M, torch.linalg.eigvalsh(M), rounding)


def _gate_stages(tableau: MatrixTableau) -> dict[str, tuple[int, ...]]:
    named = {f"A_{i}_{j}": entry.gate for (i, j), entry in tableau.A.items()}
    named |= {f"B_{i}": entry.gate for i, entry in tableau.B.items()}
    return {name: tuple(gate.stages) for name, gate in named.items() if gate is not None}


def _drive_slices(stages: Mapping[int, Stage]) -> dict[int, slice]:
    slices, start = {}, 0
    for i, stage in stages.items():
        if stage.sees_input:
            slices[i] = slice(start, start + stage.size)
            start += stage.size
    return slices


def _groups(tableau: MatrixTableau) -> tuple[tuple[int, ...], ...]:
    stages = tableau.stages
    reach = {i: set(tableau.needs(i)) for i in stages}
    for through in stages:  # Warshall: the transitive closure
        for i in stages:
            if through in reach[i]:
                reach[i] |= reach[through]
    groups: list[tuple[int, ...]] = []
    for i in sorted(stages, key=lambda i: (len(reach[i] | {i}), i)):  # what i needs reaches less than i does
        if not any(i in group for group in groups):
            groups.append(tuple(j for j in stages if j == i or (j in reach[i] and i in reach[j])))
    return tuple(groups)


def checked_weight(P: Any, size: int, *, is_weighted: bool) -> Tensor | None:
    """P of weighted coefficients, the identity if not given."""
    if not is_weighted:
        if P is not None:
            raise ValueError('P is given, but only coefficients="weighted" has one. Leave P out or choose "weighted".')
        return None
    return torch.eye(size, dtype=torch.float64) if P is None else _positive_definite("P", P, size)


def _positive_definite(name: str, value: Any, size: int) -> Tensor:
    matrix = float64(value)
    if tuple(matrix.shape) != (size, size):
        raise ValueError(f"{name} has shape {tuple(matrix.shape)}, but the state has D = {size} components.")
    if not torch.equal(matrix, matrix.T) or bool(torch.linalg.cholesky_ex(matrix).info):
        raise ValueError(f"{name} is not symmetric positive definite. Give for example L @ L.T with L regular.")
    return matrix


def _check(tableau: MatrixTableau) -> None:
    """Raises ValueError about the first thing that does not fit."""
    d, stages = tableau.hidden_size, tableau.stages
    if isinstance(d, bool) or not isinstance(d, int) or d < 1:
        raise ValueError(f"MatrixTableau: hidden_size is {d!r}, but it is the width of a block: give an int ≥ 1.")
    if not tableau.block_names or len(set(tableau.block_names)) < tableau.t:
        raise ValueError(f"MatrixTableau: block_names is {tableau.block_names}. Give t different names.")
    if not stages or any(isinstance(i, bool) or not isinstance(i, int) or i < 0 for i in stages):
        raise ValueError(f"MatrixTableau: the labels of the stages are {list(stages)}. Give at least one integer ≥ 0.")
    for i, stage in stages.items():
        _check_stage(f"MatrixTableau: stage {i}", i, stage, tableau)
    if not any(stage.sees_input or stage.bias or stage.K is None for stage in stages.values()):
        raise ValueError("MatrixTableau: no stage has a weight. Give one of them K = None, an input or a bias.")
    for label, keys in (("A", sorted({i for key in tableau.A for i in key})), ("B", sorted(tableau.B))):
        _check_labels(f"MatrixTableau: {label}", keys, stages)
    for (i, j), entry in tableau.A.items():
        _check_coefficient(f"MatrixTableau: A_{i},{j}", entry, j, tableau)
    for i, entry in tableau.B.items():
        _check_coefficient(f"MatrixTableau: B_{i}", entry, i, tableau)


def _check_coefficient(place: str, table: Coefficient, j: int, tableau: MatrixTableau) -> None:
    d, D, stages = tableau.hidden_size, tableau.size, tableau.stages
    p, gate = stages[j].size, table.gate
    _check_shape(place, table.matrix, D, p, d, is_scalar_allowed=True)
    if gate is None:
        return
    if gate.constant is None and gate.y is None and not gate.stages:
        raise ValueError(f"{place} has an empty gate, which is zero. Leave the gate or the coefficient out.")
    shapes = ((), (p,), (p // d,)) if p % d == 0 else ((), (p,))
    if gate.constant is not None and tuple(gate.constant.shape) not in shapes:
        raise ValueError(
            f"{place}: the constant of the gate has shape {tuple(gate.constant.shape)}, but k_{j} has {p} components. "
            f"Give one number, one a block of {d}, or one a component."
        )
    if gate.y is not None:
        _check_shape(f"{place}: the gate's matrix on y", gate.y, p, D, d)
    _check_labels(f"{place}: the gate", list(gate.stages), stages)
    for q, matrix in gate.stages.items():
        _check_shape(f"{place}: the gate's matrix on k_{q}", matrix, p, stages[q].size, d)


def _check_stage(place: str, i: int, stage: Stage, tableau: MatrixTableau) -> None:
    blocks = range(tableau.t) if stage.reads is None else stage.reads
    if not blocks or len(set(blocks)) < len(blocks) or any(not 0 <= block < tableau.t for block in blocks):
        raise ValueError(f"{place} reads the blocks {stage.reads}, but there are the blocks 0..{tableau.t - 1}.")
    if stage.K is not None:
        columns = len(blocks) * tableau.hidden_size
        _check_shape(f"{place}: K", stage.K, stage.size, columns, tableau.hidden_size, is_scalar_allowed=True)
    if stage.same_as is None:
        return
    other = tableau.stages.get(stage.same_as)
    own = (stage.size, stage.reads, stage.sees_input, stage.bias)
    is_usable = other is not None and other.same_as is None and other.K is None and stage.K is None
    if other is None or not is_usable or own != (other.size, other.reads, other.sees_input, other.bias):
        raise ValueError(
            f"{place} is to use the weights of stage {stage.same_as}. It needs the size, reads, sees_input and bias of "
            "that stage, and both K = None; and that stage must have weights of its own."
        )


def _check_labels(place: str, labels: Iterable[int], stages: Mapping[int, Stage]) -> None:
    for label in labels:
        if label not in stages:
            raise ValueError(f"{place} names the stage {label}, but the stages are {list(stages)}.")


def _check_shape(
    place: str, matrix: Tensor, rows: int, columns: int, width: int, *, is_scalar_allowed: bool = False
) -> None:
    if not bool(torch.isfinite(matrix).all()):
        raise ValueError(f"{place} has entries that are not finite.")
    allowed: list[tuple[int, ...]] = [(rows, columns)]
    if rows % width == 0 and columns % width == 0:
        allowed.append((rows // width, columns // width))
    if is_scalar_allowed and rows == columns:
        allowed.append(())
    if tuple(matrix.shape) not in allowed:
        shapes = ", ".join("a number" if shape == () else str(shape) for shape in dict.fromkeys(allowed))
        raise ValueError(
            f"{place} has shape {tuple(matrix.shape)}, but it maps {columns} components to {rows}. Give {shapes}."
        )
