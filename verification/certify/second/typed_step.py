"""The questions of ``typed_step`` typed once more with fractions alone: M entry by entry, semidefiniteness by principal
minors, the step from the slopes k_i by elimination. It imports nothing of ``odernn``.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from verification.certify.typed_step import Fact, Reading, Table, TypedStep

Rows: TypeAlias = list[list[Fraction]]


def facts(step: TypedStep, reading: Reading) -> list[Fact]:
    """The premises of the reading, in the order in which ``typed_step`` names them."""
    found = []
    if reading.tensor != "any":
        forms = [_form(table, step, reading) for table in step.tables]
        found.append(Fact(all(map(_is_semidefinite, forms)), "principal minors"))
    weights = [[list(row) for row in B] for table in step.tables for B in table.B]
    found.append(Fact(all(_flip(B) == B and _is_semidefinite(B) for B in weights), "principal minors"))
    if reading.sign:
        holds = True
        for table in step.tables:
            for i, N in enumerate(step.N):
                X = [list(row) for row in N]
                if reading.weighted:
                    X = _times(_times(step.G, table.B[i]), X)
                holds = holds and _is_semidefinite(
                    [
                        [reading.sign * (x + y) for x, y in zip(*rows, strict=True)]
                        for rows in zip(X, _flip(X), strict=True)
                    ]
                )
        found.append(Fact(holds, "principal minors"))
    found.append(Fact(all(_map(table, step) is not None for table in step.tables), "elimination"))
    if reading.shared:
        abscissae = [
            [[sum(xs) for xs in zip(*rows, strict=True)] for rows in zip(*row, strict=True)] for row in step.tables[0].A
        ]
        pairs = itertools.combinations(range(step.stages), 2)
        found.append(Fact(all(abscissae[i] != abscissae[j] or step.N[i] == step.N[j] for i, j in pairs), "entries"))
    if reading.norm == "weighted":
        leading = [[list(row[:k]) for row in step.G[:k]] for k in range(1, step.size + 1)]
        found.append(Fact(all(_det(part) > 0 for part in leading), "leading minors"))
    return found


def violation(step: TypedStep, reading: Reading) -> tuple[bool, str]:
    """Whether R is certainly no contraction in the sense of the reading, and R."""
    R: Rows = [[Fraction(int(i == j)) for j in range(step.size)] for i in range(step.size)]
    for table in step.tables:
        own = _map(table, step)
        if own is None:
            return False, "elimination finds no pivot"
        R = _times(own, R)
    text = f"R = {[[str(x) for x in row] for row in R]}"
    if reading.norm == "every":
        return _has_root_outside(R), text
    G = (
        step.G
        if reading.norm == "weighted"
        else [[Fraction(int(i == j)) for j in range(len(R))] for i in range(len(R))]
    )
    after = _times(_flip(R), _times(G, R))
    return not _is_semidefinite(
        [[x - y for x, y in zip(*rows, strict=True)] for rows in zip(G, after, strict=True)]
    ), text


def _has_root_outside(R: Rows) -> bool:
    """|r| > 1; for two rows: λ² − τλ + δ is negative at 1 or −1 beyond the other root, or δ, their product, is big."""
    if len(R) == 1:
        return R[0][0] ** 2 > 1
    if len(R) > 2:
        return False
    trace, product = R[0][0] + R[1][1], R[0][0] * R[1][1] - R[0][1] * R[1][0]
    return product * product > 1 or 1 - trace + product < 0 or 1 + trace + product < 0


def _form(table: Table, step: TypedStep, reading: Reading) -> Rows:
    """The symmetric part of M, entry by entry."""
    D, S = step.size, step.stages
    G = (
        step.G
        if reading.weighted or reading.norm == "weighted"
        else [[Fraction(int(i == j)) for j in range(D)] for i in range(D)]
    )
    M: Rows = [[Fraction(0)] * (S * D) for _ in range(S * D)]
    inner = range(D)
    for i, j in itertools.product(range(S), repeat=2):
        for r, c in itertools.product(inner, repeat=2):
            if reading.tensor == "printed":
                value = sum(
                    table.B[i][r][k] * table.A[i][j][k][c]
                    + table.B[j][r][k] * table.A[j][i][k][c]
                    - table.B[i][r][k] * table.B[j][k][c]
                    for k in inner
                )
            else:
                value = sum(
                    table.B[i][k][r] * G[k][l] * table.A[i][j][l][c]
                    + table.A[j][i][k][r] * G[k][l] * table.B[j][l][c]
                    - table.B[i][k][r] * G[k][l] * table.B[j][l][c]
                    for k in inner
                    for l in inner
                )
            M[i * D + r][j * D + c] += Fraction(value) / 2
            M[j * D + c][i * D + r] += Fraction(value) / 2
    return M


def _map(table: Table, step: TypedStep) -> Rows | None:
    """I + η Σ B_i k_i(e), k of the unit vectors from k_i − η N_i Σ_j A_ij k_j = N_i e."""
    D, S, eta = step.size, step.stages, step.eta
    rows: Rows = []
    for i in range(S):
        coupled = [_times(step.N[i], table.A[i][j]) for j in range(S)]
        for r in range(D):
            left = [Fraction(int((i, r) == (j, c))) - eta * coupled[j][r][c] for j in range(S) for c in range(D)]
            rows.append(left + list(step.N[i][r]))
    slopes = _eliminated(rows, S * D)
    if slopes is None:
        return None
    return [
        [
            Fraction(int(r == c))
            + eta * sum(table.B[i][r][k] * slopes[i * D + k][c] for i in range(S) for k in range(D))
            for c in range(D)
        ]
        for r in range(D)
    ]


def _eliminated(rows: Rows, size: int) -> Rows | None:
    """The right columns after Gauss and Jordan; ``None`` without a pivot."""
    rows = [list(row) for row in rows]
    for k in range(size):
        pivot = next((r for r in range(k, size) if rows[r][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(size):
            if r != k and rows[r][k] != 0:
                rows[r] = [x - rows[r][k] * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[size:] for row in rows]


def _is_semidefinite(S: Rows) -> bool:
    """All principal minors are ≥ 0."""
    chosen = itertools.chain.from_iterable(itertools.combinations(range(len(S)), k) for k in range(1, len(S) + 1))
    return all(_det([[S[i][j] for j in places] for i in places]) >= 0 for places in chosen)


def _det(S: Sequence[Sequence[Fraction]]) -> Fraction:
    rows, value = [list(row) for row in S], Fraction(1)
    for k in range(len(rows)):
        pivot = next((r for r in range(k, len(rows)) if rows[r][k] != 0), None)
        if pivot is None:
            return Fraction(0)
        if pivot != k:
            rows[k], rows[pivot], value = rows[pivot], rows[k], -value
        value *= rows[k][k]
        for r in range(k + 1, len(rows)):
            factor = rows[r][k] / rows[k][k]
            rows[r] = [x - factor * y for x, y in zip(rows[r], rows[k], strict=True)]
    return value


def _times(S: Sequence[Sequence[Fraction]], T: Sequence[Sequence[Fraction]]) -> Rows:
    return [
        [sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for column in zip(*T, strict=True)]
        for row in S
    ]


def _flip(S: Sequence[Sequence[Fraction]]) -> Rows:
    return [list(column) for column in zip(*S, strict=True)]
