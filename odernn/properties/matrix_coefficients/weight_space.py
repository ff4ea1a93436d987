"""The weights G that satisfy the equations among the premises of contraction: a basis of them, exactly.

    G B_i = β_i I for all monotone fields;      G B_i e_r = −λ_r k_r for stages with restricted slopes

Both are linear in G. Theorem mc-6 of ``docs/derivations/matrix_coefficients.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from odernn.exact.linear_algebra import (
    ONE,
    ZERO,
    Rows,
    Vector,
    dot,
    entrywise,
    inverse,
    nullspace,
    product,
    rank,
    transposed,
)
from odernn.properties.matrix_coefficients.block_tableau import BlockTableau
from odernn.properties.matrix_coefficients.stage_monotonicity import Fields, SlopeRestricted

LARGEST_SEARCH = 10
"""Up to this D all D(D + 1)/2 entries of G are sought. Above it only G that the equations determine."""


def _residual_monotone(X: Rows) -> Vector:
    """X − X₁₁ I: 0 if X = G B_i is β I."""
    return tuple(x - (X[0][0] if p == q else ZERO) for p, row in enumerate(X) for q, x in enumerate(row))


def _residual_stage(X: Rows, stage: SlopeRestricted) -> Vector:
    """|k_r|² g_r − (g_rᵀ k_r) k_r of every nonlinear component with k_r ≠ 0."""
    entries: list[Any] = []
    for g, k, slope in zip(transposed(X), stage.K, stage.slopes, strict=True):
        if slope is not None and any(k):
            square, inner = dot(k, k), dot(g, k)
            entries += [square * x - inner * y for x, y in zip(g, k, strict=True)]
    return tuple(entries)


def weight_basis(blocks: BlockTableau, fields: Fields) -> tuple[Rows, ...] | None:
    """Symmetric matrices that span the G which satisfy the equations; ``None`` if D is too large to find them.

    Where one B_i is regular, all monotone fields leave G = β B_i⁻¹. Stages leave G = −K_iᵀ Λ_i B_i⁻¹ with C = K_i B_i
    symmetrised by Λ_i: one parameter for each connected part of the graph of C (mc-6). Else all entries are unknowns.
    """
    start = None
    if fields == "monotone":
        regular = next((i for i in range(blocks.stages) if _is_regular(blocks.B[i])), None)
        start = None if regular is None else _symmetric_part((inverse(blocks.B[regular]),))
    elif not isinstance(fields, str):
        start = _from_symmetrisers(blocks, fields)
    if start is None:
        if blocks.size > LARGEST_SEARCH:
            return None
        start = _all_symmetric(blocks.size)
    if not start:
        return ()
    equations = _equations(blocks, start, fields)
    if not equations:
        return start
    return tuple(combined(v, start) for v in nullspace(equations))


def _equations(blocks: BlockTableau, start: Sequence[Rows], fields: Fields) -> list[Vector]:
    """Rows (one coefficient for each of ``start``) that vanish for the G which satisfy the equations."""
    if fields == "weighted":
        return []
    rows: list[Vector] = []
    for i in range(blocks.stages):
        images = [product(G, blocks.B[i]) for G in start]
        residuals = [_residual_monotone(X) if fields == "monotone" else _residual_stage(X, fields[i]) for X in images]
        rows += [row for row in zip(*residuals, strict=True) if any(x != 0 for x in row)]
    return rows


def _all_symmetric(size: int) -> tuple[Rows, ...]:
    return tuple(
        tuple(tuple(ONE if {p, q} == {i, j} else ZERO for q in range(size)) for p in range(size))
        for i in range(size)
        for j in range(i, size)
    )


def _symmetric_part(matrices: Sequence[Rows]) -> tuple[Rows, ...]:
    """A basis of the symmetric matrices in their span."""
    size = range(len(matrices[0]))
    rows = [tuple(X[p][q] - X[q][p] for X in matrices) for p in size for q in range(p)]
    rows = [row for row in rows if any(x != 0 for x in row)]
    return tuple(combined(v, matrices) for v in nullspace(rows)) if rows else tuple(matrices)


def _from_symmetrisers(blocks: BlockTableau, stages: Sequence[SlopeRestricted]) -> tuple[Rows, ...] | None:
    """G = −Kᵀ Λ B⁻¹ of the first stage of D nonlinear components with regular B and no zero row in K; else ``None``."""
    for i, stage in enumerate(stages):
        B, K = blocks.B[i], stage.K
        if None in stage.slopes or not all(any(row) for row in K) or not _is_regular(B):
            continue
        back, columns = inverse(B), transposed(K)
        weights = []
        for diagonal in _symmetrisers(product(K, B)):
            scaled = tuple(tuple(-x * d for x, d in zip(row, diagonal, strict=True)) for row in columns)
            weights.append(product(scaled, back))
        return _symmetric_part(weights) if weights else ()
    return None


def _symmetrisers(C: Rows) -> list[Vector]:
    """Vectors λ with λ_q C_qr = λ_r C_rq on a spanning tree, one for each connected part of the graph of C."""
    size, waiting, diagonals = len(C), set(range(len(C))), []
    while waiting:
        root = min(waiting)
        values = {root: ONE}
        front = [root]
        while front:
            r = front.pop()
            for q in range(size):
                if q not in values and C[q][r] != 0 and C[r][q] != 0:
                    values[q] = values[r] * C[r][q] / C[q][r]
                    front.append(q)
        waiting -= set(values)
        diagonals.append(tuple(values.get(r, ZERO) for r in range(size)))
    return diagonals


def _is_regular(B: Rows) -> bool:
    return len(B) == len(B[0]) and rank(B) == len(B)


def combined(v: Sequence[Any], matrices: Sequence[Rows]) -> Rows:
    plus: Callable[..., Any] = lambda *entries: dot(v, entries)  # noqa: E731
    return entrywise(plus, *matrices)
