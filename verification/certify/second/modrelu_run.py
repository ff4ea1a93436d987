"""``modrelu_run`` once more, over Python's fractions and forwards: the second back-end shares no code with the first.

W by Gauss-Jordan elimination of (I − A) X = I + A and its transpose; J column by column as the change of the states;
gradients as products of v with the changes from t on, never backwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction as Q


def _list(text: str) -> list[Q]:
    return [Q(word) for word in text.split()]


def orthogonal_matrix(free: list[Q], signs: list[Q]) -> list[list[Q]]:
    """C(A) D. As C(A)ᵀ = C(−A) = (I − A)⁻¹ (I + A), row i of C(A) is column i of the solution X."""
    n = len(signs)
    A = [[Q(0)] * n for _ in range(n)]
    place = 0
    for i in range(n):
        for j in range(i + 1, n):
            A[i][j], A[j][i] = free[place], -free[place]
            place += 1
    table = [[(i == j) - A[i][j] for j in range(n)] + [(i == j) + A[i][j] for j in range(n)] for i in range(n)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if table[i][k] != 0)
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [entry / table[k][k] for entry in table[k]]
        for i in range(n):
            if i != k and table[i][k] != 0:
                factor = table[i][k]
                table[i] = [x - factor * y for x, y in zip(table[i], table[k], strict=True)]
    X = [row[n:] for row in table]
    return [[X[j][i] * signs[j] for j in range(n)] for i in range(n)]


def states(parameters: Mapping[str, str]) -> tuple[list[list[Q]], list[list[Q]]]:
    """W, and the slopes (0 or 1) of all units at t = 1..T."""
    W = orthogonal_matrix(_list(parameters["A"]), _list(parameters["D"]))
    b, h, drive = (_list(parameters[name]) for name in ("b", "h", "drive"))
    n, slopes = len(b), []
    for step in range(len(drive) // n):
        z = [sum((W[i][j] * h[j] for j in range(n)), drive[step * n + i]) for i in range(n)]
        h = [(1 if x > 0 else -1) * max(abs(x) + c, Q(0)) if x else Q(0) for x, c in zip(z, b, strict=True)]
        slopes.append([Q(1) if x != 0 and abs(x) > -c else Q(0) for x, c in zip(z, b, strict=True)])
    return W, slopes


def _moved(W: list[list[Q]], slope: list[Q], change: list[Q]) -> list[Q]:
    n = len(slope)
    return [slope[i] * sum((W[i][j] * change[j] for j in range(n)), Q(0)) for i in range(n)]


def jacobian(parameters: Mapping[str, str]) -> list[list[Q]]:
    """∂h_T/∂h_0, column by column, returned as a list of columns."""
    W, slopes = states(parameters)
    columns = []
    for k in range(len(W)):
        change = [Q(int(i == k)) for i in range(len(W))]
        for slope in slopes:
            change = _moved(W, slope, change)
        columns.append(change)
    return columns


def squared_gradient(parameters: Mapping[str, str], t: int, every: bool) -> Q:
    """‖∂L/∂h_t‖²: L = vᵀh_T, or with ``every`` Σ_{s ≥ 1} vᵀh_s. A unit change of each coordinate of h_t, forwards."""
    W, slopes = states(parameters)
    v = _list(parameters["v"])
    total = Q(0)
    for k in range(len(W)):
        change = [Q(int(i == k)) for i in range(len(W))]
        terms = [change] if t >= 1 or not slopes else []
        for slope in slopes[t:]:
            change = _moved(W, slope, change)
            terms.append(change)
        read = terms if every else terms[-1:]
        total += sum((sum((a * c for a, c in zip(v, term, strict=True)), Q(0)) for term in read), Q(0)) ** 2
    return total
