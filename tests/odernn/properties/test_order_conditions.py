"""The order by trees against the order by Taylor series, which knows no tree.

The second method solves differential equations with rational right-hand sides and compares the powers of h of the
numerical and the exact solution, in exact arithmetic, on systems whose elementary differentials are independent.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from flint import fmpq, fmpq_mat

from odernn.exact.algebraic import root_of, sqrt
from odernn.properties import order as order_conditions
from odernn.properties.elementary_weights import ElementaryWeights
from odernn.properties.order import order
from odernn.properties.stage_spaces import FormSpace, exact_spaces
from odernn.properties.trees import PARTITIONED, ROOTED, Family, Tree, trees
from odernn.tableaus.families import FAMILIES, gauss, lobatto_pair
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau
from tests.tiers import only

# --- the second method: power series in h, as lists of exact coefficients


@dataclass(frozen=True)
class Series:
    """Σ a_k h^k, k < len(terms); the length is that of the shorter operand."""

    terms: tuple[Any, ...]

    def __add__(self, other: Series | int) -> Series:
        if isinstance(other, int):
            return Series((self.terms[0] + other, *self.terms[1:]))
        return Series(tuple(x + y for x, y in zip(self.terms, other.terms, strict=False)))

    __radd__ = __add__

    def __rsub__(self, other: int) -> Series:
        return self * -1 + other

    def __mul__(self, other: Any) -> Series:
        if not isinstance(other, Series):
            return Series(tuple(x * other for x in self.terms))
        n = min(len(self.terms), len(other.terms))
        pairs = [[self.terms[i] * other.terms[k - i] for i in range(k + 1)] for k in range(n)]
        return Series(tuple(sum(terms[1:], terms[0]) for terms in pairs))

    __rmul__ = __mul__

    def inverse(self) -> Series:
        a = self.terms
        result = [1 / a[0]]
        for k in range(1, len(a)):
            result.append(-result[0] * sum((a[i] * result[k - i] for i in range(2, k + 1)), a[1] * result[k - 1]))
        return Series(tuple(result))

    def times_h(self) -> Series:
        return Series((fmpq(0), *self.terms[:-1]))

    def integral(self) -> Series:
        return Series((fmpq(0), *(a / k for k, a in enumerate(self.terms[:-1], 1))))


State = tuple[Series, ...]
Field = Callable[[State], State]


def coupled(y: State) -> State:
    """Two equations with derivatives of every order."""
    u, v = y
    return (2 + u * v * -1).inverse() + v, u * u * fmpq(1, 3) + (3 + u + v * 2).inverse()


def clocked(y: State) -> State:
    """Three equations, the first of which is t' = 1."""
    t, u, v = y
    return 0 * t + 1, (1 + t * t + u * v).inverse() + t * v, u * (2 + t * v).inverse() + t * t * -1


FIELDS: tuple[tuple[Field, tuple[fmpq, ...]], ...] = (
    (coupled, (fmpq(1, 2), fmpq(-1, 3))),
    (clocked, (fmpq(1, 5), fmpq(2, 3), fmpq(3, 7))),
)
Halves = tuple[tuple[Sequence[Sequence[Any]], Sequence[Any]], ...]


def exact(field: Field, start: State) -> State:
    solution = start
    for _ in start[0].terms:
        solution = tuple(y + slope.integral() for y, slope in zip(start, field(solution), strict=True))
    return solution


def step(field: Field, start: State, halves: Halves, size: Any) -> State:
    """One step of ``size`` h; component k is advanced with the A and b of half k. Each sweep settles one more power."""
    s = len(halves[0][1])
    slopes = [tuple(0 * y for y in start)] * s
    for _ in start[0].terms:
        stages = [moved(start, slopes, [A[i] for A, _ in halves], size) for i in range(s)]
        slopes = [field(stage) for stage in stages]
    return moved(start, slopes, [b for _, b in halves], size)


def moved(start: State, slopes: Sequence[State], weights: Sequence[Sequence[Any]], size: Any) -> State:
    result = []
    for k, y in enumerate(start):
        terms = [slope[k] * (weight * size) for slope, weight in zip(slopes, weights[k], strict=True) if weight != 0]
        result.append(sum((term.times_h() for term in terms), y))
    return tuple(result)


def defects(halves: Callable[[int], Halves], sizes: Sequence[Any], fields: Any, most: int) -> list[list[Any]]:
    """For each power of h ≤ most the differences of the numerical and the exact solutions, over all fields."""
    result: list[list[Any]] = [[] for _ in range(most + 1)]
    for field, values in fields:
        start = tuple(Series((value, *[fmpq(0)] * most)) for value in values)
        state = start
        for size in sizes:
            state = step(field, state, halves(len(values)), size)
        for y, z in zip(state, exact(field, start), strict=True):
            for k in range(most + 1):
                result[k].append(y.terms[k] - z.terms[k])
    return result


def order_by_series(A: Any, b: Any, *, c: Any = None, most: int = 6) -> int:
    """The order of (A, b), at most ``most``; ``c`` are the abscissae of t where they are not A·1."""
    if c is None:
        return first_nonzero(defects(lambda m: ((A, b),) * m, [1], FIELDS, most))
    clock = [[x if i == j else fmpq(0) for j in range(len(c))] for i, x in enumerate(c)]
    return first_nonzero(defects(lambda m: ((clock, b), (A, b), (A, b)), [1], FIELDS[1:], most))


def first_nonzero(found: list[list[Any]]) -> int:
    return next((k - 1 for k, values in enumerate(found) if any(value != 0 for value in values)), len(found) - 1)


# --- methods


def table(A: str, b: str) -> tuple[list[list[Any]], list[Any]]:
    """Rows separated by semicolons; an explicit method without its zeros is filled up."""
    rows = [[fmpq(*map(int, entry.split("/"))) for entry in line.split()] for line in A.split(";")]
    weights = [fmpq(*map(int, entry.split("/"))) for entry in b.split()]
    return [row + [fmpq(0)] * (len(weights) - len(row)) for row in rows], weights


FEHLBERG = (
    "; 1/4; 3/32 9/32; 1932/2197 -7200/2197 7296/2197; 439/216 -8 3680/513 -845/4104; "
    "-8/27 2 -3544/2565 1859/4104 -11/40"
)
DOPRI = (
    "; 1/5; 3/40 9/40; 44/45 -56/15 32/9; 19372/6561 -25360/2187 64448/6561 -212/729; "
    "9017/3168 -355/33 46732/5247 49/176 -5103/18656; 35/384 0 500/1113 125/192 -2187/6784 11/84"
)
CASH_KARP = (
    "; 1/5; 3/40 9/40; 3/10 -9/10 6/5; -11/54 5/2 -70/27 35/27; 1631/55296 175/512 575/13824 44275/110592 253/4096"
)
R2, R3, ROOT = sqrt(2), sqrt(3), root_of([fmpq(-1, 6), fmpq(3, 2), -3, 1], 0.4358665215)
G2, S2, S3 = R3 / 6, 1 - R2 / 2, R3 / 6 + fmpq(1, 2)
B1 = -3 * ROOT * ROOT / 2 + 4 * ROOT - fmpq(1, 4)
B2 = 3 * ROOT * ROOT / 2 - 5 * ROOT + fmpq(5, 4)
TRBDF = R2 / 4
H, O = fmpq(1, 2), fmpq(0)
RK42_ROWS = "; 1/4; 0 1/2; 1 -2 {}"
METHODS: dict[str, tuple[int, tuple[Any, Any]]] = {
    "euler": (1, table("", "1")),
    "implicit euler": (1, table("1", "1")),
    "theta 1/3": (1, table("0; 1/3 2/3", "1/3 2/3")),
    "half": (0, table("0", "1/2")),
    "implicit midpoint": (2, table("1/2", "1")),
    "trapezoid": (2, table("0; 1/2 1/2", "1/2 1/2")),
    "explicit midpoint": (2, table("; 1/2", "0 1")),
    "heun": (2, table("; 1", "1/2 1/2")),
    "ralston": (2, table("; 2/3", "1/4 3/4")),
    "kutta 3": (3, table("; 1/2; -1 2", "1/6 2/3 1/6")),
    "heun 3": (3, table("; 1/3; 0 2/3", "1/4 0 3/4")),
    "ssp33": (3, table("; 1; 1/4 1/4", "1/6 1/6 2/3")),
    "ssp43": (3, table("; 1/2; 1/2 1/2; 1/6 1/6 1/6", "1/6 1/6 1/6 1/2")),
    "bogacki-shampine": (3, table("; 1/2; 0 3/4; 2/9 1/3 4/9", "2/9 1/3 4/9 0")),
    "bogacki-shampine, embedded": (2, table("; 1/2; 0 3/4; 2/9 1/3 4/9", "7/24 1/4 1/3 1/8")),
    "rk4": (4, table("; 1/2; 0 1/2; 0 0 1", "1/6 1/3 1/3 1/6")),
    "kutta 3/8": (4, table("; 1/3; -1/3 1; 1 -1 1", "1/8 3/8 3/8 1/8")),
    "rk42": (4, table(RK42_ROWS.format(2), "1/6 0 2/3 1/6")),
    "rk42 as misprinted": (1, table(RK42_ROWS.format(1), "1/6 0 2/3 1/6")),
    "fehlberg 4": (4, table(FEHLBERG, "25/216 0 1408/2565 2197/4104 -1/5 0")),
    "fehlberg 5": (5, table(FEHLBERG, "16/135 0 6656/12825 28561/56430 -9/50 2/55")),
    "cash-karp 5": (5, table(CASH_KARP, "37/378 0 250/621 125/594 0 512/1771")),
    "cash-karp 4": (4, table(CASH_KARP, "2825/27648 0 18575/48384 13525/55296 277/14336 1/4")),
    "dormand-prince 5": (5, table(DOPRI, "35/384 0 500/1113 125/192 -2187/6784 11/84 0")),
    "dormand-prince 4": (4, table(DOPRI, "5179/57600 0 7571/16695 393/640 -92097/339200 187/2100 1/40")),
    "radau iia 2": (3, table("5/12 -1/12; 3/4 1/4", "3/4 1/4")),
    "radau ia 2": (3, table("1/4 -1/4; 1/4 5/12", "1/4 3/4")),
    "lobatto iiia 3": (4, table("0; 5/24 1/3 -1/24; 1/6 2/3 1/6", "1/6 2/3 1/6")),
    "lobatto iiib 3": (4, table("1/6 -1/6 0; 1/6 1/3 0; 1/6 5/6 0", "1/6 2/3 1/6")),
    "lobatto iiic 3": (4, table("1/6 -1/3 1/6; 1/6 5/12 -1/12; 1/6 2/3 1/6", "1/6 2/3 1/6")),
    "gauss 2": (4, ([[fmpq(1, 4), fmpq(1, 4) - G2], [fmpq(1, 4) + G2, fmpq(1, 4)]], [H, H])),
    "crouzeix 3": (3, ([[S3, O], [1 - 2 * S3, S3]], [H, H])),
    "alexander 2": (2, ([[S2, O], [1 - S2, S2]], [1 - S2, S2])),
    "alexander 3": (3, ([[ROOT, O, O], [(1 - ROOT) / 2, ROOT, O], [B1, B2, ROOT]], [B1, B2, ROOT])),
    "tr-bdf2": (2, ([[O, O, O], [S2, S2, O], [TRBDF, TRBDF, S2]], [TRBDF, TRBDF, S2])),
    "dj-reducible": (4, table("1/2; 0; 0 1/2; 0 0 1/2; 0 0 0 1", "0 1/6 1/3 1/3 1/6")),
    "rk4 with an unused stage": (4, table("0; 1/2; 0 1/2; 0 0 1; 3 1 4 1 5", "1/6 1/3 1/3 1/6 0")),
    "hs-reducible midpoint": (2, table("1/4 1/4; 3 -5/2", "1/3 2/3")),
    "negative and zero weights": (2, table("; 1/2; 1 0; 1/3 0 0", "-1/2 2 -1/2 0")),
}


def test_the_second_method_has_enough_methods():
    assert len(METHODS) >= 35


@pytest.mark.parametrize("name", METHODS)
def test_trees_and_series_give_the_literatures_order(name: str):
    expected, (A, b) = METHODS[name]
    found = order(ButcherTableau(A, b))
    assert found.value == expected == order_by_series(A, b)
    assert found.exact and bool(found) == (expected > 0) and found.witness.tree.order == expected + 1


# --- the trees that are tested, and the first that fails


def weight(tree: Tree, halves: dict[str, tuple[Any, Any]]) -> Any:
    """Φ(t) by the definition, nothing shared; one (A, b) for each colour."""

    def stages(branch: Tree) -> list[Any]:
        result = [fmpq(1)] * len(halves[tree.colour][1])
        for child in branch.children:
            inner, A = stages(child), halves[child.colour][0]
            for i, row in enumerate(A):
                result[i] = result[i] * sum((a * x for a, x in zip(row, inner, strict=True)), fmpq(0))
        return result

    return sum((x * y for x, y in zip(halves[tree.colour][1], stages(tree), strict=True)), fmpq(0))


def failing(A: Any, b: Any, n: int) -> dict[Tree, Any]:
    residuals = {tree: weight(tree, {"": (A, b)}) - fmpq(1, tree.density) for tree in trees(n)}
    return {tree: residual for tree, residual in residuals.items() if residual != 0}


@pytest.mark.parametrize("name", METHODS)
def test_the_witness_is_the_first_of_all_failing_trees(name: str):
    _, (A, b) = METHODS[name]
    found = order(ButcherTableau(A, b))
    assert not any(failing(A, b, n) for n in range(1, found.value + 1))
    violated = failing(A, b, found.value + 1)
    assert found.witness.tree is min(violated) and found.witness.residual == violated[found.witness.tree]
    assert found.witness.weight == weight(found.witness.tree, {"": (A, b)})


def conditions(n: int, family: Family = ROOTED) -> list[Tree]:
    return [tree for k in range(1, n + 1) for tree in trees(k, family)]


def method_that_fails_only(failing: Tree | None, wanted: list[Tree]) -> list[tuple[Any, Any]]:
    """Full random matrices, and weights by the linear system of all conditions, of which one is falsified by 1/7."""
    colours, rng = sorted({tree.colour for tree in wanted}), random.Random(7)
    s = len(wanted) // len(colours)
    unit = [[fmpq(int(i == j)) for j in range(s)] for i in range(s)]
    matrices = {x: [[fmpq(rng.randint(-3, 3), rng.randint(1, 4)) for _ in unit] for _ in unit] for x in colours}
    result = []
    for x in colours:
        own = [tree for tree in wanted if tree.colour == x]
        rows = [[weight(t, {y: (A, e) for y, A in matrices.items()}) for e in unit] for t in own]
        right = [[fmpq(1, t.density) + (fmpq(1, 7) if t is failing else 0)] for t in own]
        result.append((matrices[x], [entries[0] for entries in fmpq_mat(rows).solve(fmpq_mat(right)).tolist()]))
    return result


@pytest.mark.parametrize("tree", conditions(4), ids=str)
def test_every_tree_counts(tree: Tree, monkeypatch: pytest.MonkeyPatch):
    """The method violates this one condition: that is found, the series agree, and without the tree it would pass."""
    ((A, b),) = method_that_fails_only(tree, conditions(4))
    found = order(ButcherTableau(A, b))
    assert (found.value, found.witness.tree, found.witness.residual) == (tree.order - 1, tree, fmpq(1, 7))
    assert order_by_series(A, b, most=4) == tree.order - 1
    monkeypatch.setattr(order_conditions, "trees", lambda n, family: (t for t in trees(n, family) if t is not tree))
    assert order(ButcherTableau(A, b)).value >= 4


@pytest.mark.parametrize("tree", conditions(4)[1:], ids=str)
def test_a_wrong_density_would_be_noticed(tree: Tree):
    ((A, b),) = method_that_fails_only(None, conditions(4))
    density = tree.density
    assert order(ButcherTableau(A, b)).value == order_by_series(A, b, most=4) == 4
    try:
        object.__setattr__(tree, "density", density + 1)
        assert order(ButcherTableau(A, b)).value == tree.order - 1
    finally:
        object.__setattr__(tree, "density", density)


def test_the_companion_tables_failing_trees():
    rows = {"gauss": (2, "[τ,τ,τ,τ]", 4), "radau iia": (3, "[τ,τ,τ,τ,τ]", 5), "lobatto iiia": (2, "[τ,τ]", 2)}
    for family, (s, tree, p) in rows.items():
        found = order(FAMILIES[family](s))
        assert (found.value, str(found.witness.tree)) == (p, tree)
    assert str(order(gauss(2))) == "Certificate(order: yes, exact, Φ([τ,τ,τ,τ]) − 1/5 = -1/180)"
    assert order(ButcherTableau([[0]], [H])).because == "Φ(τ) − 1 = -1/2"


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"lobatto iiif", "lobatto iiig"}))  # test_families.py
def test_families_have_the_order_of_the_literature_in_the_basis_of_polynomials(family: str):
    for s in range(2, 8):
        method = FAMILIES[family](s)
        assert order(method).value == method.order


def test_large_methods_are_decided():
    assert (order(gauss(6)).value, order(gauss(10)).value) == (12, 20)


def test_a_form_and_its_table_agree():
    for s in (1, 2, 3):
        assert order(gauss(s)).witness == order(gauss(s).butcher()).witness
    spaces = [FormSpace(gauss(3).form), exact_spaces([gauss(3).butcher().form])[0]]
    weights = [ElementaryWeights([""], [space]) for space in spaces]
    assert all(weights[0](tree) == weights[1](tree) for n in range(1, 8) for tree in trees(n))


# --- perturbed, random, with abscissae of their own


def perturbed(A: Any, b: Any, changes: dict[tuple[int, int], Any]) -> tuple[Any, Any]:
    """Row s of the places is b."""
    rows = [list(row) for row in (*A, b)]
    for (i, j), change in changes.items():
        rows[i][j] = rows[i][j] + change
    return rows[:-1], rows[-1]


@pytest.mark.parametrize("digits", only([9, 16, 30], 30))
@pytest.mark.parametrize("name", ["ralston", "kutta 3", "rk4", "gauss 2", "alexander 2", "lobatto iiic 3"])
def test_a_perturbation_of_any_coefficient_is_seen(name: str, digits: int):
    expected, (A, b) = METHODS[name]
    s, seen = len(b), 0
    for place in itertools.product(range(s + 1), range(s)):
        changed = perturbed(A, b, {place: fmpq(1, 10**digits)})
        value = order(ButcherTableau(*changed)).value
        assert value == order_by_series(*changed, most=expected) <= expected
        seen += value < expected
    assert seen >= s * s  # all but entries that meet zero weights only


@pytest.mark.parametrize("digits", [9, 30])
@pytest.mark.parametrize("name", ["rk4", "fehlberg 5", "gauss 2", "radau iia 2", "lobatto iiib 3"])
def test_a_perturbation_that_keeps_the_row_sums_is_seen(name: str, digits: int):
    expected, (A, b) = METHODS[name]
    values, tiny = set(), fmpq(1, 10**digits)
    for i in range(len(b) + 1):
        changed = perturbed(A, b, {(i, 0): tiny, (i, 1): -tiny})
        value = order(ButcherTableau(*changed)).value
        assert value == order_by_series(*changed, most=expected)
        values.add(value)
    assert min(values) < expected


def test_random_methods_of_order_0_1_and_2():
    rng, found = random.Random(3), []
    for _ in range(60):
        s = rng.randint(2, 4)
        A = [[fmpq(rng.randint(-4, 4), rng.randint(1, 5)) for _ in range(s)] for _ in range(s)]
        b = [fmpq(rng.randint(-4, 4), rng.randint(1, 5)) for _ in range(s)]
        kind, c = rng.randint(0, 2), [sum(row, fmpq(0)) for row in A]
        if kind > 0:
            b[0] += 1 - sum(b, fmpq(0))
        if kind > 1 and c[0] != c[1]:
            change = (H - sum((x * y for x, y in zip(b, c, strict=True)), fmpq(0))) / (c[1] - c[0])
            b[0], b[1] = b[0] - change, b[1] + change
        value = order(ButcherTableau(A, b)).value
        assert value == order_by_series(A, b, most=3)
        found.append(value)
    assert {0, 1, 2} <= set(found) and min(found.count(p) for p in (0, 1, 2)) >= 10


def test_both_nodes_equal_is_order_four_autonomous_and_one_with_a_clock():
    _, (A, b) = METHODS["gauss 2"]
    right, wrong = [H - G2, H + G2], [H - G2, H - G2]
    method = ButcherTableau(A, b)
    assert order(method).value == order(method, c=right).value == order_by_series(A, b, c=right) == 4
    found = order(method, c=wrong)
    assert found.value == order_by_series(A, b, c=wrong) == 1
    assert str(found.witness.tree) == "[τ_t]_y" and found.property == "order with these abscissae"


def test_a_wrong_abscissa_of_weight_zero_costs_order_only_where_it_is_used():
    A, b = METHODS["heun 3"][1]  # b₂ = 0
    for i, expected in enumerate((1, 2, 1)):
        c = [fmpq(i, 3) for i in range(3)]
        c[i] += fmpq(1, 10**20)
        assert order(ButcherTableau(A, b), c=c).value == order_by_series(A, b, c=c) == expected


# --- pairs and compositions


def general(y: State) -> State:
    """p' = f(p, q), q' = g(p, q), two components each."""
    a, b, c, d = y
    first = (2 + a * c).inverse() + b * d, a * b * -1 + (3 + c + d).inverse()
    return *first, (2 + b * d).inverse() + a * c, (1 + a * a).inverse() * d + c * b


def separable(y: State) -> State:
    """p' = f(q), q' = g(p), two components each."""
    a, b, c, d = y
    return (2 + c * d).inverse() + d, (3 + c + d * 2).inverse() + c * c, (2 + a * b).inverse() + b, a * a + b * a * 2


VALUES = (fmpq(1, 2), fmpq(-1, 3), fmpq(2, 5), fmpq(3, 7))


def pair_order_by_series(pair: PartitionedTableau, field: Field, *, sizes: Any = (1,), most: int = 5) -> int:
    y, z = (pair.position.A, pair.position.b), (pair.momentum.A, pair.momentum.b)
    return first_nonzero(defects(lambda m: (y, y, z, z), sizes, [(field, VALUES)], most))


def paired(first: tuple[Any, Any], second: tuple[Any, Any], name: str = "pair") -> PartitionedTableau:
    return PartitionedTableau(name, None, ButcherTableau(*first), ButcherTableau(*second))


VERLET = paired(table("0; 1/2 1/2", "1/2 1/2"), table("1/2; 1/2 0", "1/2 1/2"), "stoermer verlet")
KUTTA_A = table("; 1/2; 0 1/2; 0 0 1", "1/6 1/3 1/3 1/6")
KUTTA_B = table("; 1/2; -1/2 1; 0 1/2 1/2", "1/6 1/2 1/6 1/6")  # the member b₃ = 1/6 of the same family of order 4
PAIRS = {
    "symplectic euler": (1, 1, paired(table("", "1"), table("1", "1"))),
    "stoermer verlet": (2, 2, VERLET),
    "ruth 3": (
        1,
        3,
        paired(table("; 2/3; 2/3 -2/3", "2/3 -2/3 1"), table("7/24; 7/24 3/4; 7/24 3/4 -1/24", "7/24 3/4 -1/24")),
    ),
    "lobatto iiia-iiib 3": (4, 4, lobatto_pair(3).butcher()),
    "rk4 twice": (4, 4, paired(METHODS["rk4"][1], METHODS["rk4"][1])),
    "radau iia and ia": (1, 1, paired(METHODS["radau iia 2"][1], METHODS["radau ia 2"][1])),
    "heun and midpoint": (1, 1, paired(METHODS["heun"][1], METHODS["explicit midpoint"][1])),
    "two of kutta, same c": (2, 2, paired(KUTTA_A, KUTTA_B)),
    "same c, one weight wrong": (1, 1, paired(table("; 1", "1 0"), table("; 1", "1/2 1/2"))),
    "half and euler": (0, 0, paired(table("0", "1/2"), table("0", "1"))),
}


@pytest.mark.parametrize("name", PAIRS)
def test_trees_and_series_agree_on_pairs(name: str):
    for_all, for_separable, pair = PAIRS[name]
    assert order(pair).value == for_all == pair_order_by_series(pair, general)
    assert order(pair, separable=True).value == for_separable == pair_order_by_series(pair, separable)


@pytest.mark.parametrize("tree", conditions(3, PARTITIONED), ids=str)
def test_every_tree_of_two_colours_counts(tree: Tree):
    pair = paired(*method_that_fails_only(tree, conditions(3, PARTITIONED)))
    found = order(pair)
    assert (found.value, found.witness.tree, found.witness.residual) == (tree.order - 1, tree, fmpq(1, 7))
    assert pair_order_by_series(pair, general, most=3) == tree.order - 1


@pytest.mark.parametrize("s", range(2, 8))
def test_lobatto_pairs_have_order_2s_minus_2(s: int):
    found = order(lobatto_pair(s))
    assert found.value == 2 * s - 2 and found.exact
    assert order(lobatto_pair(s), separable=True).value == 2 * s - 2


def test_a_perturbed_pair_is_seen():
    rng = random.Random(5)
    pair = lobatto_pair(3).butcher()
    halves = [(pair.position.A, pair.position.b), (pair.momentum.A, pair.momentum.b)]
    for _ in range(12):
        place, k, changed = (rng.randint(0, 3), rng.randint(0, 2)), rng.randint(0, 1), list(halves)
        changed[k] = perturbed(*halves[k], {place: fmpq(1, 10**30)})
        found = order(paired(*changed)).value
        assert found == pair_order_by_series(paired(*changed), general, most=4) < 4


@pytest.mark.parametrize("base", [VERLET, ButcherTableau(*METHODS["implicit midpoint"][1])], ids=["verlet", "midpoint"])
def test_yoshidas_triple_jump_has_order_four_exactly(base: Any):
    jump = Composition(base, ["1/(2-cbrt(2))", "-cbrt(2)/(2-cbrt(2))", "1/(2-cbrt(2))"], "yoshida 4")
    found = order(jump)
    assert (found.value, found.exact) == (4, True)
    if base is VERLET:
        assert pair_order_by_series(base, general, sizes=jump.gammas) == 4


def test_refusals_say_what_to_ask_instead():
    with pytest.raises(ValueError, match="Only a partitioned method"):
        order(gauss(2), separable=True)
    with pytest.raises(ValueError, match="leave out c"):
        order(VERLET, c=[0, 1])
    with pytest.raises(ValueError, match="c has 1 entries, but they belong to 2 stages"):
        order(VERLET.position, c=[0])
