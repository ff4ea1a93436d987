"""Small matrices over a ring: rationals, balls or polynomials, as lists of rows."""

from __future__ import annotations

import itertools
from functools import reduce
from typing import Any, TypeAlias

from flint import arb

Matrix: TypeAlias = list[list[Any]]


def identity(size: int) -> Matrix:
    return [[int(i == j) for j in range(size)] for i in range(size)]


def product(*factors: Matrix) -> Matrix:
    """The product in the order written; each entry sums only what is not the integer 0."""
    return reduce(_times, factors)


def _times(left: Matrix, right: Matrix) -> Matrix:
    columns = list(zip(*right, strict=True))
    return [[sum((a * b for a, b in zip(row, column, strict=True)), 0) for column in columns] for row in left]


def plus(left: Matrix, right: Matrix) -> Matrix:
    return [[a + b for a, b in zip(p, q, strict=True)] for p, q in zip(left, right, strict=True)]


def minus(left: Matrix, right: Matrix) -> Matrix:
    return [[a - b for a, b in zip(p, q, strict=True)] for p, q in zip(left, right, strict=True)]


def transpose(matrix: Matrix) -> Matrix:
    return [list(column) for column in zip(*matrix, strict=True)]


def entries(matrix: Matrix) -> list[Any]:
    return list(itertools.chain.from_iterable(matrix))


def determinant(matrix: Matrix) -> Any:
    """By expansion along the rows over sets of columns: no division, and zero entries cost nothing."""
    sums: dict[int, Any] = {0: 1}
    for row in matrix:
        longer: dict[int, Any] = {}
        for columns, value in sums.items():
            for j, entry in enumerate(row):
                if columns >> j & 1 or _is_zero(entry):
                    continue
                term = value * entry
                if (columns >> (j + 1)).bit_count() % 2:
                    term = -term
                key = columns | 1 << j
                longer[key] = longer[key] + term if key in longer else term
        sums = longer
    return sums.get(2 ** len(matrix) - 1, 0)


def symplectic_unit(neurons: int) -> Matrix:
    """J_m = blockdiag(J, …, J), J = [[0, 1], [−1, 0]]."""
    J = [[0] * (2 * neurons) for _ in range(2 * neurons)]
    for i in range(neurons):
        J[2 * i][2 * i + 1], J[2 * i + 1][2 * i] = 1, -1
    return J


def _is_zero(entry: Any) -> bool:
    return bool(entry.is_zero()) if isinstance(entry, arb) else bool(entry == 0)
