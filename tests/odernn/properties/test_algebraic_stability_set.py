"""Algebraic and B-stability of several hundred tableaus, decided a second time by other means.

The oracle shares nothing with the library: numbers are p + q√d of Fractions with their own comparison, a matrix is
positive semidefinite iff *all* its principal minors are ≥ 0 (by Gauss' elimination), and equal stages are found by
trying every partition of the stages. Tables reach the library as text.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import pytest

from odernn.properties.algebraic_stability import algebraic_stability
from odernn.properties.nonlinear_stability import b_stability
from odernn.tableaus.tableau import ButcherTableau
from tests.tiers import only

EPSILONS = (Fraction(1, 10**9), Fraction(1, 10**30))


@functools.total_ordering
@dataclass(frozen=True)
class Surd:
    """p + q√d with d > 1 no square, or q = 0."""

    p: Fraction
    q: Fraction = Fraction(0)
    d: int = 2

    def _pair(self, other: Surd) -> int:
        assert self.q == 0 or other.q == 0 or self.d == other.d
        return self.d if self.q else other.d

    def __add__(self, other: Surd) -> Surd:
        return Surd(self.p + other.p, self.q + other.q, self._pair(other))

    def __neg__(self) -> Surd:
        return Surd(-self.p, -self.q, self.d)

    def __sub__(self, other: Surd) -> Surd:
        return self + -other

    def __mul__(self, other: Surd) -> Surd:
        d = self._pair(other)
        return Surd(self.p * other.p + d * self.q * other.q, self.p * other.q + self.q * other.p, d)

    def __truediv__(self, other: Surd) -> Surd:
        norm = other.p**2 - other.d * other.q**2
        return self * Surd(other.p / norm, -other.q / norm, other.d)

    def sign(self) -> int:
        """Compare p² with d q² where the signs of p and q differ."""
        left, right = (self.p > 0) - (self.p < 0), (self.q > 0) - (self.q < 0)
        if left * right >= 0:
            return left or right
        larger = self.p**2 > self.d * self.q**2
        return left if larger else right

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Surd) and (self - other).sign() == 0

    def __hash__(self) -> int:
        return hash((self.p, self.q))

    def __lt__(self, other: Surd) -> bool:
        return (self - other).sign() < 0

    def __str__(self) -> str:
        return str(self.p) if self.q == 0 else f"{self.p} + ({self.q})*sqrt({self.d})"


ZERO = Surd(Fraction(0))
Matrix = list[list[Surd]]
Table = tuple[Matrix, list[Surd]]


def add_up(values: Sequence[Surd]) -> Surd:
    return functools.reduce(Surd.__add__, values, ZERO)


def minor(S: Matrix, rows: Sequence[int]) -> Surd:
    """The determinant of the principal submatrix, by elimination."""
    rest = [[S[i][j] for j in rows] for i in rows]
    value = Surd(Fraction(1))
    for k in range(len(rest)):
        pivot = next((i for i in range(k, len(rest)) if rest[i][k] != ZERO), None)
        if pivot is None:
            return ZERO
        if pivot != k:
            rest[k], rest[pivot] = rest[pivot], rest[k]
            value = -value
        value = value * rest[k][k]
        for i in range(k + 1, len(rest)):
            factor = rest[i][k] / rest[k][k]
            rest[i] = [x - factor * y for x, y in zip(rest[i], rest[k], strict=True)]
    return value


def burrage_butcher(A: Matrix, b: Sequence[Surd]) -> Matrix:
    s = range(len(b))
    return [[b[i] * A[i][j] + b[j] * A[j][i] - b[i] * b[j] for j in s] for i in s]


def is_stable(A: Matrix, b: Sequence[Surd]) -> bool:
    if any(weight < ZERO for weight in b):
        return False
    M = burrage_butcher(A, b)
    subsets = (rows for k in range(1, len(b) + 1) for rows in itertools.combinations(range(len(b)), k))
    return all(minor(M, rows) >= ZERO for rows in subsets)


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for k, members in enumerate(smaller):
            yield [*smaller[:k], [first, *members], *smaller[k + 1 :]]


def merged(A: Matrix, b: Sequence[Surd]) -> Table:
    """The method after merging equal stages: the partition with the fewest classes of all that are consistent."""
    best = min(
        (
            classes
            for classes in partitions(list(range(len(b))))
            if all(
                len({add_up([A[i][j] for j in columns]) for i in members}) == 1
                for members in classes
                for columns in classes
            )
        ),
        key=len,
    )
    rows = [[add_up([A[members[0]][j] for j in columns]) for columns in best] for members in best]
    return rows, [add_up([b[j] for j in members]) for members in best]


def table(rows: Sequence[Sequence[object]], d: int = 2) -> Table:
    """Entries are ints, Fractions or pairs (p, q) for p + q√d; the last row is b."""

    def number(entry: object) -> Surd:
        p, q = entry if isinstance(entry, tuple) else (entry, 0)
        return Surd(Fraction(p), Fraction(q), d)

    *A, b = [[number(entry) for entry in row] for row in rows]
    return A, b


F = Fraction
H, Q4, T = F(1, 2), F(1, 4), F(1, 3)
CLASSICAL: dict[str, Table] = {
    "implicit euler": table([[1], [1]]),
    "implicit midpoint": table([[H], [1]]),
    "gauss 2": table([[Q4, (Q4, -F(1, 6))], [(Q4, F(1, 6)), Q4], [H, H]], 3),
    "gauss 3": table([
        [F(5, 36), (F(2, 9), -F(1, 15)), (F(5, 36), -F(1, 30))],
        [(F(5, 36), F(1, 24)), F(2, 9), (F(5, 36), -F(1, 24))],
        [(F(5, 36), F(1, 30)), (F(2, 9), F(1, 15)), F(5, 36)],
        [F(5, 18), F(4, 9), F(5, 18)]], 15),
    "radau ia 2": table([[Q4, -Q4], [Q4, F(5, 12)], [Q4, F(3, 4)]]),
    "radau iia 2": table([[F(5, 12), -F(1, 12)], [F(3, 4), Q4], [F(3, 4), Q4]]),
    "radau iia 3": table([
        [(F(11, 45), -F(7, 360)), (F(37, 225), -F(169, 1800)), (-F(2, 225), F(1, 75))],
        [(F(37, 225), F(169, 1800)), (F(11, 45), F(7, 360)), (-F(2, 225), -F(1, 75))],
        [(F(4, 9), -F(1, 36)), (F(4, 9), F(1, 36)), F(1, 9)],
        [(F(4, 9), -F(1, 36)), (F(4, 9), F(1, 36)), F(1, 9)]], 6),
    "lobatto iiia 2": table([[0, 0], [H, H], [H, H]]),
    "lobatto iiib 2": table([[H, 0], [H, 0], [H, H]]),
    "lobatto iiic 2": table([[H, -H], [H, H], [H, H]]),
    "lobatto iiia 3": table([
        [0, 0, 0], [F(5, 24), T, -F(1, 24)], [F(1, 6), F(2, 3), F(1, 6)], [F(1, 6), F(2, 3), F(1, 6)]]),
    "lobatto iiic 3": table([
        [F(1, 6), -T, F(1, 6)], [F(1, 6), F(5, 12), -F(1, 12)], [F(1, 6), F(2, 3), F(1, 6)],
        [F(1, 6), F(2, 3), F(1, 6)]]),
    "crouzeix 2": table([[(H, F(1, 6)), 0], [(0, -T), (H, F(1, 6))], [H, H]], 3),
    "alexander 2": table([[(1, -H), 0], [(0, H), (1, -H)], [(0, H), (1, -H)]], 2),
    "pareschi russo": table([[(1, -H), 0], [(-1, 1), (1, -H)], [H, H]], 2),
    "rk4": table([[0, 0, 0, 0], [H, 0, 0, 0], [0, H, 0, 0], [0, 0, 1, 0], [F(1, 6), T, T, F(1, 6)]]),
}  # fmt: skip
STABLE = {
    "implicit euler",
    "implicit midpoint",
    "gauss 2",
    "gauss 3",
    "radau ia 2",
    "radau iia 2",
    "radau iia 3",
    "lobatto iiic 2",
    "lobatto iiic 3",
    "crouzeix 2",
    "pareschi russo",
}


def perturbed() -> Iterator[tuple[str, Table]]:
    """Every coefficient of the classical methods, moved up and down a little."""
    for name, (A, b) in CLASSICAL.items():
        s = len(b)
        for place in range(s * (s + 1)):
            for epsilon in EPSILONS:
                for delta in (epsilon, -epsilon):
                    rows = [list(row) for row in [*A, b]]
                    i, j = divmod(place, s)
                    rows[i][j] = rows[i][j] + Surd(delta)
                    yield f"{name} with entry {i + 1},{j + 1} moved by {float(delta):.0e}", (rows[:-1], rows[-1])


def split(method: Table, stage: int, share: Fraction) -> Table:
    """The same method with one stage written twice, its weight and column shared out."""
    A, b = method
    first, second = Surd(share), Surd(1 - share)
    rows = [[*row[:stage], row[stage] * first, *row[stage + 1 :], row[stage] * second] for row in [*A, b]]
    weights = rows.pop()
    return [*rows, list(rows[stage])], weights


def with_unused(method: Table, row: Sequence[Fraction]) -> Table:
    """One stage more that nobody reads."""
    A, b = method
    return [*[[*r, ZERO] for r in A], [Surd(x) for x in row]], [*b, ZERO]


def reducible() -> Iterator[tuple[str, Table]]:
    names = ("implicit midpoint", "gauss 2", "radau iia 2", "lobatto iiia 2", "lobatto iiic 2", "crouzeix 2")
    for name in names:
        method = CLASSICAL[name]
        for share in (F(1, 2), F(1, 3), F(2), F(0), F(1)):  # 2 gives the weights 2b and −b, 1 a zero weight
            yield f"{name}, stage 1 split {share}", split(method, 0, share)
        s = len(method[1])
        yield f"{name}, one stage unused", with_unused(method, [F(1, 7)] * (s + 1))
        yield f"{name}, an unstable stage unused", with_unused(method, [F(-5), *[F(3)] * s])
        both = with_unused(split(method, s - 1, F(1, 4)), [F(1)] * (s + 2))
        yield f"{name}, split and unused", both
        A, b = split(method, 0, F(1, 2))
        A[0][0] = A[0][0] + Surd(EPSILONS[1])
        yield f"{name}, stage 1 split, then one entry moved", (A, b)


def random_rational(generator: random.Random, largest: int = 9) -> Fraction:
    return F(generator.randint(-largest, largest), generator.randint(1, largest))


def constructed() -> Iterator[tuple[str, Table]]:
    """A = B⁻¹((S + bbᵀ)/2 + K) with K skew has M = S: of chosen rank, or less 1e-30 in one direction."""
    generator = random.Random(20)
    for case in range(36):
        s = 2 + case % 3
        rank = case // 3 % (s + 1)
        b = [F(generator.randint(1, 9), generator.randint(1, 9)) for _ in range(s)]
        L = [[random_rational(generator) for _ in range(rank)] for _ in range(s)]
        S = [[sum((x * y for x, y in zip(L[i], L[j], strict=True)), F(0)) for j in range(s)] for i in range(s)]
        K = [[F(0)] * s for _ in range(s)]
        for i, j in itertools.combinations(range(s), 2):
            K[i][j] = random_rational(generator)
            K[j][i] = -K[i][j]
        for size in (F(0), F(1, 10**30), F(1, 10**9)):
            v = [random_rational(generator) for _ in range(s)]
            M = [[S[i][j] - size * v[i] * v[j] for j in range(s)] for i in range(s)]
            A = [[Surd(((M[i][j] + b[i] * b[j]) / 2 + K[i][j]) / b[i]) for j in range(s)] for i in range(s)]
            yield f"M of rank {rank} less {float(size):.0e}, number {case}", (A, [Surd(x) for x in b])


def unusual_weights() -> Iterator[tuple[str, Table]]:
    generator = random.Random(21)
    for case in range(24):
        s = 1 + case % 3
        A = [[random_rational(generator, 4) for _ in range(s)] for _ in range(s)]
        b = [random_rational(generator, 4) for _ in range(s)]
        yield f"random, number {case}", table([*A, b])
        b[0] = F(0)
        yield f"random with b₁ = 0, number {case}", table([*A, b])
        for row in A:  # b₁ = 0 and nobody with a weight reads stage 1
            row[0] = F(0)
        yield f"random with b₁ = 0 and column 1 = 0, number {case}", table([*A, b])
        b = [abs(x) for x in b]
        b[-1] = -EPSILONS[1]
        yield f"random with b_s = −1e-30, number {case}", table([*A, b])
    yield "b = −1, M = 0", table([[-H], [-1]])
    yield "b = −1, M = 1 > 0", table([[-1], [-1]])
    yield "b = 0", table([[1], [0]])
    yield "b = 0, two stages", table([[1, 2], [3, 4], [0, 0]])


SETS = {
    "classical": lambda: iter(CLASSICAL.items()),
    "perturbed": perturbed,
    "reducible": reducible,
    "constructed": constructed,
    "unusual weights": unusual_weights,
}
EXPECTED = {"classical": 16, "perturbed": 504, "reducible": 54, "constructed": 108, "unusual weights": 100}


def written(name: str, A: Matrix, b: Sequence[Surd]) -> ButcherTableau:
    return ButcherTableau([[str(a) for a in row] for row in A], [str(weight) for weight in b], name=name)


@functools.cache
def verdicts(kind: str) -> tuple[tuple[str, bool, bool, bool | None, bool | None], ...]:
    """(name, stable by the oracle, B-stable by the oracle, stable by the library, B-stable by the library)."""
    rows = []
    for name, (A, b) in SETS[kind]():
        tableau = written(name, A, b)
        oracle = is_stable(A, b), is_stable(*merged(A, b))
        rows.append((name, *oracle, algebraic_stability(tableau).holds, b_stability(tableau).holds))
    return tuple(rows)


@pytest.mark.parametrize("kind", only(SETS, "classical", "reducible"))
def test_the_library_decides_as_the_principal_minors_do(kind: str):
    rows = verdicts(kind)
    assert len(rows) == len({name for name, *_ in rows}) == EXPECTED[kind]
    assert [row for row in rows if row[1] is not row[3] or row[2] is not row[4]] == []


@pytest.mark.slow
def test_the_sets_hold_both_verdicts_and_methods_that_are_b_stable_but_not_algebraically_stable():
    rows = [row for kind in SETS for row in verdicts(kind)]
    stable = sum(row[1] for row in rows)
    only_b = [row[0] for row in rows if row[2] and not row[1]]
    assert len(rows) == sum(EXPECTED.values()) >= 150
    assert stable >= 100 and len(rows) - stable >= 100
    assert "lobatto iiib 2" in only_b and "implicit midpoint, stage 1 split 2" in only_b
    assert not [row[0] for row in rows if row[1] and not row[2]]


def test_the_classical_verdicts_are_those_of_the_literature():
    assert {name for name, stable, *_ in verdicts("classical") if stable} == STABLE


def test_the_oracle_sees_a_planted_fault():
    A, b = CLASSICAL["gauss 2"]
    assert is_stable(A, b)
    A = [[A[0][0] - Surd(F(1, 10**60)), A[0][1]], A[1]]
    assert not is_stable(A, b)
    assert not is_stable(*table([[0, 0], [1, 0], [H, H]]))
