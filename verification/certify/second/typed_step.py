"""What ``typed_step`` is asked, typed once more with fractions alone: the parameters from their text, M entry by
entry, semidefiniteness by principal minors, the step from the slopes k_i by elimination.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

Rows: TypeAlias = list[list[Fraction]]
Premise: TypeAlias = tuple[bool, str]
"""Whether a premise holds, exactly, and the way in which that was told."""


@dataclass(frozen=True)
class StepAgain:
    """The coefficients of a step: A[i][j] and B[i] of every table in turn, N[i] and G, D × D; eta."""

    tables: list[tuple[list[list[Rows]], list[Rows]]]
    N: list[Rows]
    G: Rows
    eta: Fraction

    @property
    def size(self) -> int:
        return len(self.G)


def read(texts: Mapping[str, str]) -> StepAgain:
    """The step of the parameters D, S, eta, N, G and A, B or a, b, P: as text, each once more.

    The declarations of ``cases.typed_steps`` have seen that they fit.
    """
    D, S = (int(Fraction(texts[name])) for name in ("D", "S"))

    def scalars(name: str) -> list[Fraction]:
        return [Fraction(word) for word in texts[name].split()]

    def blocks(name: str) -> list[Rows]:
        rest = scalars(name)
        taken = []
        while rest:
            square, rest = rest[: D * D], rest[D * D :]
            taken.append([square[r * D : (r + 1) * D] for r in range(D)])
        return taken

    tables = []
    if "a" in texts:
        P = blocks("P")[0] if "P" in texts else _unit(D)
        weights = [[[x * entry for entry in row] for row in P] for x in scalars("b")]
        couplings = [[[x * entry for entry in row] for row in P] for x in scalars("a")]
    else:
        weights, couplings = blocks("B"), blocks("A")
    while weights:
        own, weights = weights[:S], weights[S:]
        square, couplings = couplings[: S * S], couplings[S * S :]
        tables.append(([square[i * S : (i + 1) * S] for i in range(S)], own))
    return StepAgain(tables, blocks("N"), blocks("G")[0] if "G" in texts else _unit(D), Fraction(texts["eta"]))


def facts(
    texts: Mapping[str, str], *, tensor: str, sign: int, weighted: bool, norm: str, shared: bool, semidefinite: bool
) -> list[Premise]:
    """The premises of a reading, in the order in which ``typed_step`` names them; its fields are the options."""
    step = read(texts)
    told = []
    if tensor != "any":
        metric = step.G if weighted or norm == "weighted" else _unit(step.size)
        forms = [_printed_form(A, B) if tensor == "printed" else _form(A, B, metric) for A, B in step.tables]
        told.append((all(map(_is_semidefinite, forms)), "principal minors"))
    if semidefinite:
        weights = [block for _, B in step.tables for block in B]
        told.append((all(_flip(B) == B and _is_semidefinite(B) for B in weights), "principal minors"))
    if sign:
        fields = [
            _times(_times(step.G, block), N) if weighted else N
            for _, B in step.tables
            for block, N in zip(B, step.N, strict=True)
        ]
        parts = [
            [[sign * (x + y) for x, y in zip(*rows, strict=True)] for rows in zip(X, _flip(X), strict=True)]
            for X in fields
        ]
        told.append((all(map(_is_semidefinite, parts)), "principal minors"))
    told.append((all(_map(A, B, step) is not None for A, B in step.tables), "elimination"))
    if shared:
        abscissae = [
            [[sum(xs) for xs in zip(*rows, strict=True)] for rows in zip(*row, strict=True)]
            for row in step.tables[0][0]
        ]
        pairs = itertools.combinations(range(len(step.N)), 2)
        told.append((all(abscissae[i] != abscissae[j] or step.N[i] == step.N[j] for i, j in pairs), "entries"))
    if norm == "weighted":
        leading = [[row[:k] for row in step.G[:k]] for k in range(1, step.size + 1)]
        told.append((all(_det(part) > 0 for part in leading), "leading minors"))
    return told


def violation(texts: Mapping[str, str], *, norm: str) -> tuple[bool, str]:
    """Whether R is certainly no contraction in a reading with this norm, and R."""
    step = read(texts)
    R = _unit(step.size)
    for A, B in step.tables:
        own = _map(A, B, step)
        if own is None:
            return False, "elimination finds no pivot"
        R = _times(own, R)
    text = f"R = {[[str(x) for x in row] for row in R]}"
    if norm == "every":
        return _has_root_outside(R), text
    G = step.G if norm == "weighted" else _unit(step.size)
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


def _form(A: list[list[Rows]], B: list[Rows], G: Rows) -> Rows:
    """The symmetric part of M in the metric G, entry by entry."""
    inner = range(len(G))

    def entry(i: int, j: int, r: int, c: int) -> Fraction:
        return sum(
            (
                B[i][k][r] * G[k][l] * A[i][j][l][c]
                + A[j][i][k][r] * G[k][l] * B[j][l][c]
                - B[i][k][r] * G[k][l] * B[j][l][c]
                for k in inner
                for l in inner
            ),
            Fraction(0),
        )

    return _symmetric_part(entry, len(B), len(G))


def _printed_form(A: list[list[Rows]], B: list[Rows]) -> Rows:
    """The symmetric part of M without transposes."""

    def entry(i: int, j: int, r: int, c: int) -> Fraction:
        inner = range(len(B[i]))
        return sum(
            (B[i][r][k] * A[i][j][k][c] + B[j][r][k] * A[j][i][k][c] - B[i][r][k] * B[j][k][c] for k in inner),
            Fraction(0),
        )

    return _symmetric_part(entry, len(B), len(B[0]))


def _symmetric_part(entry: Callable[[int, int, int, int], Fraction], S: int, D: int) -> Rows:
    M: Rows = [[Fraction(0)] * (S * D) for _ in range(S * D)]
    for i, j in itertools.product(range(S), repeat=2):
        for r, c in itertools.product(range(D), repeat=2):
            half = entry(i, j, r, c) / 2
            M[i * D + r][j * D + c] += half
            M[j * D + c][i * D + r] += half
    return M


def _map(A: list[list[Rows]], B: list[Rows], step: StepAgain) -> Rows | None:
    """I + η Σ B_i k_i(e), k of the unit vectors from k_i − η N_i Σ_j A_ij k_j = N_i e."""
    D, S, eta = step.size, len(step.N), step.eta
    rows: Rows = []
    for i in range(S):
        coupled = [_times(step.N[i], A[i][j]) for j in range(S)]
        for r in range(D):
            left = [Fraction(int((i, r) == (j, c))) - eta * coupled[j][r][c] for j in range(S) for c in range(D)]
            rows.append(left + list(step.N[i][r]))
    slopes = _eliminated(rows, S * D)
    if slopes is None:
        return None
    return [
        [
            Fraction(int(r == c)) + eta * sum(B[i][r][k] * slopes[i * D + k][c] for i in range(S) for k in range(D))
            for c in range(D)
        ]
        for r in range(D)
    ]


def _unit(size: int) -> Rows:
    return [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]


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
