"""One Runge–Kutta step with matrix coefficients on linear stage fields, in exact numbers, and what is asked of it.

    Y_i = y + η Σ_j A_ij k_j,     k_i = N_i Y_i,     y₊ = y + η Σ_i B_i k_i = R y,     A_ij, B_i, N_i ∈ R^{D×D}

Fields with inputs frozen differ from f_i(y) = N_i y + g_i by nothing that the difference of two solutions sees, and N_i
may stand for any two points of a nonlinear field: so a pair that such a step moves apart is a pair against Theorem 1 of
Niu, Chuang and Horesh (2019) in the reading whose premises hold. ``contraction_check`` has it decided twice, by
``typed_step_exact`` with python-flint and by ``second.typed_step`` with fractions, which reads the text again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from verification.claim import Parameters
from verification.exact_text import number, numbers, rational, rationals

Matrix: TypeAlias = tuple[tuple[Fraction, ...], ...]
Tensor: TypeAlias = Literal["transposed", "printed", "any"]
Norm: TypeAlias = Literal["euclidean", "weighted", "every"]


@dataclass(frozen=True)
class MatrixTable:
    """A[i][j] and B[i], D × D."""

    A: tuple[tuple[Matrix, ...], ...]
    B: tuple[Matrix, ...]


@dataclass(frozen=True)
class TypedStep:
    """``tables``, taken in turn, one a step; N[i] of every stage; G, symmetric; eta > 0."""

    tables: tuple[MatrixTable, ...]
    N: tuple[Matrix, ...]
    G: Matrix
    eta: Fraction

    @property
    def size(self) -> int:
        return len(self.G)

    @property
    def stages(self) -> int:
        return len(self.N)


@dataclass(frozen=True)
class ContractionReading:
    """How a theorem about contraction is read.

    tensor    M as ``properties.matrix_coefficients`` has it, without transposes, or no condition on it
    sign      −1: (u − v)ᵀ(f(u) − f(v)) ≤ 0; +1: ≥ 0, as Definition 2 has it in words; 0: no condition
    weighted  the same with G B_i before f
    norm      ‖R y‖ ≤ ‖y‖ in the Euclidean norm, in that of G, or bounded powers of R, which some norm would imply
    shared    stages with the same abscissa Σ_j a_ij have the same field, as of one y' = f(t, y)
    semidefinite    B_i = B_iᵀ ≥ 0 is a hypothesis
    """

    tensor: Tensor = "transposed"
    sign: int = -1
    weighted: bool = False
    norm: Norm = "euclidean"
    shared: bool = False
    semidefinite: bool = True


def parsed(parameters: Parameters) -> TypedStep:
    """The step that the parameters describe, once a declaration has seen that they are one.

    D, S, eta, N (S matrices row by row), and either A (S × S matrices) and B (S matrices), of all tables, or a (S × S
    numbers), b (S numbers) and P (one matrix; the identity if left out) for A_ij = a_ij P, B_i = b_i P. G is the
    identity if left out.
    """
    D, S = (int(number(parameters, name)) for name in ("D", "S"))
    if "a" in parameters:
        P = _matrices(parameters, "P", D)[0] if "P" in parameters else identity(D)
        A, B = ([_scaled(x, P) for x in numbers(parameters, name)] for name in ("a", "b"))
    else:
        A, B = (_matrices(parameters, name, D) for name in ("A", "B"))
    tables = tuple(
        MatrixTable(
            tuple(tuple(A[(k + i) * S : (k + i + 1) * S]) for i in range(S)),
            tuple(B[k : k + S]),
        )
        for k in range(0, len(B), S)
    )
    G = _matrices(parameters, "G", D)[0] if "G" in parameters else identity(D)
    return TypedStep(tables, tuple(_matrices(parameters, "N", D)), G, number(parameters, "eta"))


def written(
    tables: Sequence[MatrixTable], N: Sequence[Matrix], *, G: Matrix | None = None, eta: Fraction = Fraction(1)
) -> Parameters:
    """The parameters of a step: the inverse of ``parsed``."""
    D, S = len(N[0]), len(N)
    text = {
        "D": str(D),
        "S": str(S),
        "eta": rational(eta),
        "A": _flat(block for table in tables for row in table.A for block in row),
        "B": _flat(block for table in tables for block in table.B),
        "N": _flat(N),
    }
    return text if G is None else {**text, "G": _flat([G])}


@dataclass(frozen=True)
class Fact:
    """Whether a premise holds, exactly, and the number that shows it."""

    holds: bool
    margin: str


def identity(size: int) -> Matrix:
    return tuple(tuple(Fraction(int(i == j)) for j in range(size)) for i in range(size))


def _scaled(factor: Fraction, P: Matrix) -> Matrix:
    return tuple(tuple(factor * x for x in row) for row in P)


def _matrices(parameters: Parameters, name: str, D: int) -> list[Matrix]:
    values = numbers(parameters, name)
    rows = [tuple(values[k : k + D]) for k in range(0, len(values), D)]
    return [tuple(rows[k : k + D]) for k in range(0, len(rows), D)]


def _flat(matrices: object) -> str:
    return rationals([x for matrix in matrices for row in matrix for x in row])  # type: ignore[attr-defined]
