"""A step with one pointwise stage once more, in fractions: as a complementarity problem for the slopes k = f(Y).

k ≥ 0, w = k − κ (y + η A k) − b ≥ 0, k_i w_i = 0: for each set S of places with k free there, k_S by Cramer's rule.
The parameters are eta, A, B (row by row), b, u and v as text.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction

F = Fraction
Vector = list[Fraction]


def _read(texts: Mapping[str, str], name: str) -> Vector:
    return [F(word) for word in texts[name].split(" ")]


def _rows(flat: Vector, size: int) -> list[Vector]:
    return [flat[k * size : (k + 1) * size] for k in range(size)]


def determinant(rows: Sequence[Sequence[Fraction]]) -> Fraction:
    """By the first row."""
    if not rows:
        return F(1)
    total = F(0)
    for column, entry in enumerate(rows[0]):
        if entry:
            total += (-1) ** column * entry * determinant([[*row[:column], *row[column + 1 :]] for row in rows[1:]])
    return total


def slopes(texts: Mapping[str, str], state: str, sign: int) -> list[Vector] | None:
    """All k that solve the problem at the state of that name; None if the system of some set is singular."""
    b, y, eta = _read(texts, "b"), _read(texts, state), F(texts["eta"])
    size = len(b)
    coupling = [[sign * eta * entry for entry in row] for row in _rows(_read(texts, "A"), size)]
    level = [sign * x + shift for x, shift in zip(y, b, strict=True)]
    found: list[Vector] = []
    for count in range(size + 1):
        for free in itertools.combinations(range(size), count):
            system = [[F(i == j) - coupling[i][j] for j in free] for i in free]
            whole = determinant(system)
            if whole == 0:
                return None
            k = [F(0)] * size
            for place, component in enumerate(free):
                replaced = [
                    [level[i] if column == place else entry for column, entry in enumerate(row)]
                    for i, row in zip(free, system, strict=True)
                ]
                k[component] = determinant(replaced) / whole
            wanted = [level[i] + sum((coupling[i][j] * k[j] for j in range(size)), F(0)) for i in range(size)]
            if all(x == max(want, F(0)) for x, want in zip(k, wanted, strict=True)) and k not in found:
                found.append(k)
    return found


def distances(texts: Mapping[str, str], sign: int) -> tuple[Fraction, Fraction] | None:
    """‖Δy‖² and ‖Δy₊‖², if both stage equations have one solution."""
    chosen = [slopes(texts, state, sign) for state in ("u", "v")]
    if any(each is None or len(each) != 1 for each in chosen):
        return None
    ((one,), (other,)) = (each for each in chosen if each is not None)
    difference = [x - y for x, y in zip(one, other, strict=True)]
    apart = [x - y for x, y in zip(_read(texts, "u"), _read(texts, "v"), strict=True)]
    weights, eta = _rows(_read(texts, "B"), len(apart)), F(texts["eta"])
    after = [
        x + eta * sum((w * d for w, d in zip(row, difference, strict=True)), F(0))
        for x, row in zip(apart, weights, strict=True)
    ]
    return sum((x * x for x in apart), F(0)), sum((x * x for x in after), F(0))


def piece(texts: Mapping[str, str], sign: int) -> tuple[int, ...] | None:
    """Which slopes of several stages, one after the other, are above 0 around the state y; None if the problem has not
    one solution there, or one whose k_i and w_i are both 0. A has its blocks A_11, A_12, … row by row.
    """
    size, stages = int(texts["D"]), int(texts["S"])
    entries, eta = iter(_read(texts, "A")), F(texts["eta"])
    lines: list[Vector] = [[] for _ in range(size * stages)]
    for block_row in range(stages):
        for _ in range(stages):
            for r in range(size):
                lines[block_row * size + r] += [next(entries) for _ in range(size)]
    together = {"A": " ".join(str(x) for line in lines for x in line), "b": texts["b"], "eta": texts["eta"]}
    found = slopes({**together, "y": " ".join([texts["y"]] * stages)}, "y", sign)
    if found is None or len(found) != 1:
        return None
    (k,), b, y = found, _read(texts, "b"), _read(texts, "y")
    wanted = [
        sign * (y[place % size] + eta * sum((x * each for x, each in zip(line, k, strict=True)), F(0))) + b[place]
        for place, line in enumerate(lines)
    ]
    return None if F(0) in wanted else tuple(1 if each > 0 else 0 for each in wanted)


def has_nonnegative_weights(texts: Mapping[str, str]) -> bool:
    """B = Bᵀ ≥ 0, by principal minors."""
    B = _rows(_read(texts, "B"), len(_read(texts, "b")))
    return all(B[i][j] == B[j][i] for i in range(len(B)) for j in range(i)) and is_semidefinite(B)


def has_nonnegative_tensor(texts: Mapping[str, str]) -> bool:
    """M ≥ 0, entry by entry: Σ_k B_ki A_kj + A_ki B_kj − B_ki B_kj."""
    size = len(_read(texts, "b"))
    A, B = _rows(_read(texts, "A"), size), _rows(_read(texts, "B"), size)
    places = range(size)
    return is_semidefinite(
        [
            [sum((B[k][i] * (A[k][j] - B[k][j]) + A[k][i] * B[k][j] for k in places), F(0)) for j in places]
            for i in places
        ]
    )


def is_semidefinite(M: Sequence[Sequence[Fraction]]) -> bool:
    """Of a symmetric matrix."""
    return all(
        determinant([[M[i][j] for j in chosen] for i in chosen]) >= 0
        for count in range(1, len(M) + 1)
        for chosen in itertools.combinations(range(len(M)), count)
    )
