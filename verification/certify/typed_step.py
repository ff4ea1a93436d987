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

from verification.claim import ClaimError
from verification.question import Parameters, number, numbers, rational, rationals

Matrix: TypeAlias = tuple[tuple[Fraction, ...], ...]
Tensor: TypeAlias = Literal["transposed", "printed", "any"]
Norm: TypeAlias = Literal["euclidean", "weighted", "every"]
LARGEST = 8
"""Rows of M, D·S: the second back-end goes through all principal minors."""


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

    tensor    M as ``odernn.properties.block_coefficients`` has it, as printed without transposes, or no condition on it
    sign      −1: (u − v)ᵀ(f(u) − f(v)) ≤ 0; +1: ≥ 0, as printed; 0: no condition
    weighted  the same with G B_i before f
    norm      ‖R y‖ ≤ ‖y‖ in the Euclidean norm, in that of G, or bounded powers of R, which some norm would imply
    shared    stages with the same abscissa Σ_j a_ij have the same field, as of one y' = f(t, y)
    """

    tensor: Tensor = "transposed"
    sign: int = -1
    weighted: bool = False
    norm: Norm = "euclidean"
    shared: bool = False


def parsed(parameters: Parameters) -> TypedStep:
    """The step that the parameters describe.

    D, S, eta, N (S matrices row by row), and either A (S × S matrices) and B (S matrices), of all tables, or a (S × S
    numbers), b (S numbers) and P (one matrix; the identity if left out) for A_ij = a_ij P, B_i = b_i P. G is the
    identity if left out. Raises ClaimError for anything that does not fit.
    """
    D, S = (_small(parameters, name) for name in ("D", "S"))
    eta = number(parameters, "eta")
    if D * S > LARGEST:
        raise ClaimError(f"D·S is {D * S}, but M is decided up to {LARGEST} rows.")
    if eta <= 0:
        raise ClaimError(f"eta is {eta}; the theorems are about a positive step.")
    if "a" in parameters:
        P = _matrices(parameters, "P", D, 1)[0] if "P" in parameters else identity(D)
        a, b = numbers(parameters, "a"), numbers(parameters, "b")
        if len(a) != S * S or len(b) != S:
            raise ClaimError(f"a has {len(a)} and b {len(b)} numbers; S = {S} asks for {S * S} and {S}.")
        A = tuple(tuple(_scaled(a[i * S + j], P) for j in range(S)) for i in range(S))
        tables: tuple[MatrixTable, ...] = (MatrixTable(A, tuple(_scaled(x, P) for x in b)),)
    else:
        B = _matrices(parameters, "B", D, None)
        count = len(B) // S
        blocks = _matrices(parameters, "A", D, count * S * S)
        if not count or len(B) != count * S:
            raise ClaimError(f"B has {len(B)} matrices, which is no multiple of S = {S}.")
        tables = tuple(
            MatrixTable(
                tuple(tuple(blocks[(k * S + i) * S : (k * S + i + 1) * S]) for i in range(S)),
                tuple(B[k * S : (k + 1) * S]),
            )
            for k in range(count)
        )
    G = _matrices(parameters, "G", D, 1)[0] if "G" in parameters else identity(D)
    if any(G[i][j] != G[j][i] for i in range(D) for j in range(i)):
        raise ClaimError("G is not symmetric.")
    return TypedStep(tables, tuple(_matrices(parameters, "N", D, S)), G, eta)


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


def _small(parameters: Parameters, name: str) -> int:
    value = number(parameters, name)
    if value.denominator != 1 or not 1 <= value <= LARGEST:
        raise ClaimError(f"{name} is {value}, but it is one of 1, …, {LARGEST}.")
    return int(value)


def _matrices(parameters: Parameters, name: str, D: int, count: int | None) -> list[Matrix]:
    values = numbers(parameters, name)
    if len(values) % (D * D) or (count is not None and len(values) != count * D * D):
        raise ClaimError(f"{name} has {len(values)} numbers, but it holds {count or 'several'} {D} × {D} matrices.")
    rows = [tuple(values[k : k + D]) for k in range(0, len(values), D)]
    return [tuple(rows[k : k + D]) for k in range(0, len(rows), D)]


def _flat(matrices: object) -> str:
    return rationals([x for matrix in matrices for row in matrix for x in row])  # type: ignore[attr-defined]
