"""Equal stages of a method with rounded coefficients: which may be equal in the method that is meant.

    |Σ_{j∈K} (a_ij − a_kj)| ≤ Σ_{j∈K} (δ_ij + δ_kj) for every class K, or a chain of such pairs: i and k may be equal

δ_ij says how far a_ij may be off the number meant. Stages of different classes are equal in no method that is meant,
so what holds of the sums over these classes holds of every such method with its equal stages merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import fmpq

from odernn.exact.coefficients import total
from odernn.exact.linear_algebra import (
    Rows,
)
from odernn.tableaus.methods import roundings
from odernn.tableaus.tableau import ButcherTableau


def possibly_equal_stages(
    matrices: Sequence[Rows], errors: Sequence[Rows], apart: Sequence[Any] | None = None
) -> list[list[int]]:
    """Classes (from 0) outside which no two stages are equal, whatever numbers within the errors are meant.

    As ``equal_stages``, but rows stay together that are joined by a chain of rows with sums that agree within the
    errors: by induction every class of equal stages of the method that is meant lies in one of these classes.
    """
    labels = [0] * len(matrices[0]) if apart is None else list(apart)
    classes = [[i for i, label in enumerate(labels) if label == one] for one in dict.fromkeys(labels)]
    while True:
        rows = [
            [
                (total(A[i][j] for j in members), total(E[i][j] for j in members))
                for A, E in zip(matrices, errors, strict=True)
                for members in classes
            ]
            for i in range(len(labels))
        ]
        refined = [part for members in classes for part in _joined(members, rows)]
        if len(refined) == len(classes):
            return classes
        classes = sorted(refined)


def possible_classes(tableau: ButcherTableau, *, abscissae_only: bool = False) -> list[list[int]]:
    """Classes (from 0) that hold all stages which may be equal, or with ``abscissae_only`` have the same c_i."""
    A, errors = tableau.A, roundings(tableau)[0]
    if abscissae_only:
        A, errors = (tuple((total(row), *[fmpq(0)] * (len(row) - 1)) for row in rows) for rows in (A, errors))
    return possibly_equal_stages([A], [errors])


def near_stages(classes: Sequence[Sequence[int]]) -> str:
    """Which stages (from 1) may be equal, in words; nothing if there are none."""
    named = [", ".join(str(i + 1) for i in members) for members in classes if len(members) > 1]
    return "; ".join(f"stages {members} are equal within the roundings" for members in named)


def _joined(members: Sequence[int], rows: Sequence[Sequence[tuple[Any, Any]]]) -> list[list[int]]:
    """The members that are joined by a chain of rows which agree; a row is of pairs (value, error)."""

    def near(i: int, k: int) -> bool:
        return all(abs(x - y) <= dx + dy for (x, dx), (y, dy) in zip(rows[i], rows[k], strict=True))

    parts: list[list[int]] = []
    for i in members:
        touched = [part for part in parts if any(near(i, k) for k in part)]
        parts = [part for part in parts if part not in touched] + [sorted(sum(touched, [i]))]
    return parts
