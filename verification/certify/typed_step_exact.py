"""What ``typed_step`` is asked, by python-flint: M of ``odernn``, its inertia from its characteristic polynomial, the
step from the stage values Y_i.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from odernn.exact.definiteness import inertia
from odernn.properties.matrix_coefficients.block_tableau import BlockTableau
from verification.certify.typed_step import ContractionReading, Fact, Matrix, MatrixTable, TypedStep


def facts(step: TypedStep, reading: ContractionReading) -> list[Fact]:
    """The premises of the reading, in the order in which ``typed_step`` names them."""
    premises = []
    if reading.tensor != "any":
        tensors = [_tensor(table, step, reading) for table in step.tables]
        premises.append(_semidefinite([(M + M.transpose()) / 2 for M in tensors]))
    if reading.semidefinite:
        weights = [_exact(B) for table in step.tables for B in table.B]
        symmetric = all(B.transpose() == B for B in weights)
        premises.append(_semidefinite(weights) if symmetric else Fact(False, "not symmetric"))
    if reading.sign:
        fields = [_felt(B, N, step, reading) for table in step.tables for B, N in zip(table.B, step.N, strict=True)]
        premises.append(_semidefinite([(X + X.transpose()) * fmpq(reading.sign, 2) for X in fields]))
    determinants = [_stages(table, step).det() for table in step.tables]
    premises.append(Fact(all(d != 0 for d in determinants), f"determinant {', '.join(map(str, determinants))}"))
    if reading.shared:
        premises.append(_shared(step))
    if reading.norm == "weighted":
        signs = inertia(_rows(_exact(step.G)))
        premises.append(Fact(signs.positive == step.size, f"inertia {signs}"))
    return premises


def violation(step: TypedStep, reading: ContractionReading) -> tuple[bool, str]:
    """Whether R is certainly no contraction in the sense of the reading, and R."""
    R = matrix(step)
    if R is None:
        return False, "the stage equations have no unique solution"
    shown = f"R = {_shown(R)}"
    if reading.norm == "every":
        return _grows(R), f"{shown}, {_growth_words(R)}"
    G = _exact(step.G) if reading.norm == "weighted" else _unit(step.size)
    lost = G - R.transpose() * G * R
    return inertia(_rows(lost)).negative > 0, f"{shown}, G − RᵀGR = {_shown(lost)}"


def matrix(step: TypedStep) -> Any:
    """R of all tables in turn, as fmpq_mat; ``None`` if a stage equation is singular."""
    total = _unit(step.size)
    for table in step.tables:
        system = _stages(table, step)
        if system.det() == 0:
            return None
        start = fmpq_mat([list(row) for _ in step.N for row in _unit(step.size).tolist()])
        Y = system.solve(start)
        moved = _unit(step.size)
        for i, (B, N) in enumerate(zip(table.B, step.N, strict=True)):
            own = fmpq_mat([list(Y.tolist()[i * step.size + r]) for r in range(step.size)])
            moved = moved + _exact(B) * _exact(N) * own * _number(step.eta)
        total = moved * total
    return total


def growth(step: TypedStep, reading: ContractionReading) -> float | None:
    """‖R‖ or the spectral radius in floats, for people; ``None`` if there is no R, R = 0, or R is too large."""
    R = matrix(step)
    if R is None:
        return None
    try:
        values = np.array([[int(x.p) / int(x.q) for x in row] for row in R.tolist()])
    except OverflowError:
        return None
    if reading.norm == "every":
        size = float(np.abs(np.linalg.eigvals(values)).max())
    else:
        G = np.array([[float(x) for x in row] for row in step.G]) if reading.norm == "weighted" else np.eye(step.size)
        if float(np.linalg.eigvalsh(G)[0]) <= 0.0:
            return None
        factor = np.linalg.cholesky(G).T
        size = float(np.linalg.norm(factor @ values @ np.linalg.inv(factor), 2))
    return size if size > 0.0 and math.isfinite(size) else None


def _grows(R: Any) -> bool:
    """Whether a root of the characteristic polynomial lies outside the unit circle: one of Jury's conditions fails.

    D = 1: |r| ≤ 1. D = 2, λ² − τλ + δ: |δ| ≤ 1 and |τ| ≤ 1 + δ. Others are left undecided.
    """
    if R.nrows() == 1:
        return bool(abs(R[0, 0]) > 1)
    if R.nrows() > 2:
        return False
    trace, determinant = R[0, 0] + R[1, 1], R.det()
    return bool(abs(determinant) > 1 or abs(trace) > 1 + determinant)


def _growth_words(R: Any) -> str:
    if R.nrows() == 1:
        return f"|R| = {abs(R[0, 0])}"
    trace = sum((R[k, k] for k in range(R.nrows())), fmpq(0))
    return f"det R = {R.det()}, tr R = {trace}"


def _tensor(table: MatrixTable, step: TypedStep, reading: ContractionReading) -> Any:
    """M, or M of blocks B_i A_ij + B_j A_ji − B_i B_j as printed."""
    if reading.tensor == "transposed":
        G = step.G if reading.weighted or reading.norm == "weighted" else None
        given = None if G is None else [[_number(x) for x in row] for row in G]
        blocks = BlockTableau(_blocks(table.A), [_entries(B) for B in table.B])
        return fmpq_mat([list(row) for row in blocks.burrage_butcher(given)])
    A, B = [[_exact(block) for block in row] for row in table.A], [_exact(block) for block in table.B]
    S, D = step.stages, step.size
    M = fmpq_mat(S * D, S * D)
    for i in range(S):
        for j in range(S):
            block = B[i] * A[i][j] + B[j] * A[j][i] - B[i] * B[j]
            for r in range(D):
                for c in range(D):
                    M[i * D + r, j * D + c] = block[r, c]
    return M


def _felt(B: Matrix, N: Matrix, step: TypedStep, reading: ContractionReading) -> Any:
    return _exact(step.G) * _exact(B) * _exact(N) if reading.weighted else _exact(N)


def _shared(step: TypedStep) -> Fact:
    (table,) = step.tables
    sums = [[sum((_exact(block) for block in row[1:]), _exact(row[0]))] for row in table.A]
    apart = [
        (i, j)
        for i in range(step.stages)
        for j in range(i)
        if sums[i] == sums[j] and _exact(step.N[i]) != _exact(step.N[j])
    ]
    return Fact(not apart, f"{len(apart)} pairs of stages do not")


def _semidefinite(matrices: list[Any]) -> Fact:
    signs = [inertia(_rows(M)) for M in matrices]
    shown = ", ".join(dict.fromkeys(map(str, signs)))
    return Fact(all(signature.is_semidefinite for signature in signs), f"inertia {shown}")


def _stages(table: MatrixTable, step: TypedStep) -> Any:
    """I − η [A_ij N_j], the matrix of the equations for Y_i."""
    S, D = step.stages, step.size
    system = _unit(S * D)
    for i in range(S):
        for j in range(S):
            block = _exact(table.A[i][j]) * _exact(step.N[j]) * _number(step.eta)
            for r in range(D):
                for c in range(D):
                    system[i * D + r, j * D + c] -= block[r, c]
    return system


def _unit(size: int) -> Any:
    return fmpq_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])


def _number(value: Any) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def _entries(block: Matrix) -> list[list[fmpq]]:
    return [[_number(x) for x in row] for row in block]


def _blocks(A: tuple[tuple[Matrix, ...], ...]) -> list[list[list[list[fmpq]]]]:
    return [[_entries(block) for block in row] for row in A]


def _exact(block: Matrix) -> Any:
    return fmpq_mat(_entries(block))


def _rows(M: Any) -> list[list[fmpq]]:
    rows: list[list[fmpq]] = M.tolist()
    return rows


def _shown(M: Any) -> str:
    return "[" + "; ".join(", ".join(map(str, row)) for row in M.tolist()) + "]"
