"""Algebraic, BN-, B- and AN-stability: theorems, evidence that is checked again, and explicit unstable problems."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest

from odernn import tableaus
from odernn.exact.linear_algebra import Inertia, dot, quadratic_form
from odernn.properties.algebraic_stability import algebraic_stability, burrage_butcher
from odernn.properties.monotone_data import MonotoneData
from odernn.properties.nonlinear_stability import an_stability, b_stability, bn_stability
from odernn.properties.unstable_problems import RotationProblem, unstable_problem
from odernn.tableaus.families import FAMILIES, gauss, lobatto_iiia, lobatto_iiib, lobatto_iiic, radau_iia
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau, Q
from tests.processes import loaded_after

STABLE = ("gauss", "radau ia", "radau iia", "lobatto iiic", "lobatto iiid", "lobatto iiie", "lobatto iiig")
UNSTABLE = ("radau i", "radau ii", "lobatto iiia", "lobatto iiib", "lobatto iiic*", "lobatto iiif")
Complex = tuple[Fraction, Fraction]


def fraction(value: object) -> Fraction:
    return Fraction(str(value))


def times(z: Complex, w: Complex) -> Complex:
    return z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0]


def step(A: list[list[Fraction]], b: list[Fraction], z: list[Complex]) -> tuple[list[Complex], Complex]:
    """The stages w and y₁ of one step of y' = z(t)y, y₀ = 1, h = 1, by elimination over Q(i)."""
    s = len(b)
    unit: list[Complex] = [(Fraction(1), Fraction(0)), (Fraction(0), Fraction(0))]
    rows = []
    for i in range(s):
        row = [tuple(-A[i][j] * x for x in z[j]) for j in range(s)]
        row[i] = (row[i][0] + 1, row[i][1])
        rows.append([*row, unit[0]])
    for k in range(s):
        pivot = next(i for i in range(k, s) if rows[i][k] != unit[1])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        norm = sum(x * x for x in rows[k][k])
        inverse = (rows[k][k][0] / norm, -rows[k][k][1] / norm)
        rows[k] = [times(inverse, x) for x in rows[k]]
        for i in range(s):
            if i != k:
                moved = [times(rows[i][k], x) for x in rows[k]]
                rows[i] = [(x[0] - m[0], x[1] - m[1]) for x, m in zip(rows[i], moved, strict=True)]
    w = [row[-1] for row in rows]
    u = [times(x, y) for x, y in zip(z, w, strict=True)]
    return w, (1 + sum(x * y[0] for x, y in zip(b, u, strict=True)), sum(x * y[1] for x, y in zip(b, u, strict=True)))


def as_fractions(tableau: ButcherTableau) -> tuple[list[list[Fraction]], list[Fraction]]:
    return [[fraction(a) for a in row] for row in tableau.A], [fraction(x) for x in tableau.b]


def check_rotation(tableau: ButcherTableau, problem: RotationProblem) -> None:
    A, b = as_fractions(tableau)
    z = [(fraction(x), fraction(y)) for x, y in zip(problem.real, problem.imaginary, strict=True)]
    assert all(x <= 0 for x, _ in z)
    assert [fraction(c) for c in problem.abscissae] == [sum(row) for row in A]
    by_time: dict[Fraction, Complex] = {}
    assert all(by_time.setdefault(sum(row), rate) == rate for row, rate in zip(A, z, strict=True))
    _, y = step(A, b, z)
    assert y[0] ** 2 + y[1] ** 2 == fraction(problem.growth) > 1


def check_monotone(tableau: ButcherTableau, problem: MonotoneData) -> None:
    """Both solutions satisfy the stage equations, the field is monotone on all pairs of points, and they move apart."""
    A, b = as_fractions(tableau)
    s = range(len(b))
    z = [(fraction(x), fraction(y)) for x, y in problem.rates]
    w, y = step(A, b, z)
    assert [(fraction(p), fraction(q)) for p, q in problem.stages] == w
    assert y[0] ** 2 + y[1] ** 2 == fraction(problem.growth) > 1
    x, g = ([[fraction(e) for e in row] for row in rows] for rows in (problem.positions, problem.slopes))
    for k in range(len(x[0])):
        assert all(x[i][k] == sum(A[i][j] * g[j][k] for j in s) for i in s)
    r2 = fraction(problem.radius_squared)
    points = [(x[i], g[i], v) for i in s for v in (w[i], (Fraction(0), Fraction(0)))]
    fields = [times(z[i], v) for i in s for v in (w[i], (Fraction(0), Fraction(0)))]
    for (p, e), (q, f) in itertools.combinations(zip(points, fields, strict=True), 2):
        inner = sum((a - c) * (d - h) for a, c, d, h in zip(p[0], q[0], p[1], q[1], strict=True))
        inner += r2 * sum((a - c) * (d - h) for a, c, d, h in zip(p[2], q[2], e, f, strict=True))
        assert inner < 0 or (p == q and e == f)
    assert problem.is_monotone()


MEMBERS = [(name, s) for name, family in FAMILIES.items() for s in (1, 2, 3, 4, 5, 7) if s >= family.smallest]


@pytest.mark.parametrize(("family", "s"), MEMBERS)
def test_the_families_are_stable_as_the_literature_says(family: str, s: int):
    certificate = algebraic_stability(FAMILIES[family](s))
    assert certificate.exact and certificate.holds is (family in STABLE) is not (family in UNSTABLE)
    inertia = certificate.value.inertia
    assert inertia.positive + inertia.negative + inertia.zero == s
    if family in ("gauss", "lobatto iiid", "lobatto iiie", "lobatto iiig"):
        assert inertia == Inertia(0, 0, s) and certificate.because == "M = 0"
    if family in ("radau ia", "radau iia", "lobatto iiic"):
        assert inertia == Inertia(1, 0, s - 1)


def test_the_companion_table_prints_the_evidence_as_it_should():
    assert algebraic_stability(gauss(2)).because == "M = 0"
    assert algebraic_stability(radau_iia(3)).because == "pivots 7/324 - 1/162*sqrt(6), 0, 0"
    refused = algebraic_stability(lobatto_iiia(2))
    assert refused.witness == (1, 0) and refused.because == "v = (1, 0): vᵀMv = -1/4"
    negative = ButcherTableau([["1/2", 0], [0, "1/8"]], ["5/4", "-1/4"])
    assert algebraic_stability(negative).because == "b₂ = -1/4 < 0"
    assert algebraic_stability(negative).witness == 2
    assert str(algebraic_stability(gauss(2))) == "Certificate(algebraically stable: yes, exact, M = 0)"


def test_the_evidence_of_a_matrix_can_be_checked_again():
    generator = random.Random(3)
    kinds = set()
    for _ in range(60):
        s = generator.randint(1, 4)
        A = [[Q(generator.randint(-4, 8), 5) for _ in range(s)] for _ in range(s)]
        tableau = ButcherTableau(A, [Q(generator.randint(0, 3), 3) for _ in range(s)])
        M, certificate = burrage_butcher(tableau), algebraic_stability(tableau)
        evidence = certificate.value.diagonalisation
        for j, k in itertools.product(range(s), repeat=2):
            left = dot(evidence.basis[j], [dot(row, evidence.basis[k]) for row in M])
            assert left == (evidence.pivots[j] if j == k else 0)
        if not certificate:
            assert quadratic_form(M, certificate.witness) < 0
        kinds.add(certificate.holds)
    assert kinds == {True, False}


def test_no_explicit_method_of_the_catalogue_is_stable():
    explicit = [tableaus.get(name) for name in tableaus.names()]
    explicit = [t for t in explicit if isinstance(t, ButcherTableau) and t.is_explicit]
    assert len(explicit) >= 2 and not any(algebraic_stability(t) for t in explicit)
    assert all(algebraic_stability(t).holds is False for t in explicit)


def test_a_method_with_a_negative_weight_is_refused_even_if_m_is_positive():
    certificate = algebraic_stability(ButcherTableau([[-1]], [-1]))
    assert certificate.holds is False and certificate.value.inertia == Inertia(1, 0, 0)


def test_sdirk_methods():
    crouzeix = ButcherTableau([["1/2+sqrt(3)/6", 0], ["-sqrt(3)/3", "1/2+sqrt(3)/6"]], ["1/2", "1/2"])
    other = ButcherTableau([["1/2-sqrt(3)/6", 0], ["sqrt(3)/3", "1/2-sqrt(3)/6"]], ["1/2", "1/2"])
    alexander = ButcherTableau([["1-sqrt(2)/2", 0], ["sqrt(2)/2", "1-sqrt(2)/2"]], ["sqrt(2)/2", "1-sqrt(2)/2"])
    assert algebraic_stability(crouzeix) and not algebraic_stability(other) and not algebraic_stability(alexander)
    assert algebraic_stability(crouzeix).because == "pivots 1/4 + 1/6*sqrt(3), 0"
    problem = b_stability(alexander).witness
    assert isinstance(problem, RotationProblem) and problem.growth > 1


@pytest.mark.parametrize("shift", ["1e-9", "1e-30", "1e-300"])
def test_a_tiny_change_of_a_singular_matrix_is_seen(shift: str):
    tiny = Q(1, 10 ** int(shift[3:]))
    for change, holds in ((tiny, True), (-tiny, False)):
        tableau = ButcherTableau([[Q(1, 2) + change]], [1])
        assert algebraic_stability(tableau).holds is b_stability(tableau).holds is holds
    A = [[Q(1, 4), "1/4-sqrt(3)/6"], ["1/4+sqrt(3)/6", Q(1, 4) - tiny]]
    problem = b_stability(ButcherTableau(A, ["1/2", "1/2"])).witness
    assert isinstance(problem, RotationProblem) and problem.growth > 1


def test_rounded_coefficients_leave_a_close_verdict_open_and_settle_a_clear_one():
    lucky = algebraic_stability(ButcherTableau([[5 / 12, -1 / 12], [0.75, 0.25]], [0.75, 0.25]))
    assert lucky.holds and lucky.because.endswith("for the coefficients as printed")  # the double is above 5/12
    radau = ButcherTableau([[math.nextafter(5 / 12, 0), -1 / 12], [0.75, 0.25]], [0.75, 0.25])
    certificate = algebraic_stability(radau)
    assert certificate.holds is None and not certificate.exact and abs(float(certificate.margin)) < 1e-15
    assert b_stability(radau).holds is None
    assert algebraic_stability(ButcherTableau([[0.0, 0.0], [0.5, 0.0]], [0.1, 0.9])).holds is False
    printed = ButcherTableau([["0.499"]], ["1.000"], digits=3)
    assert algebraic_stability(printed).holds is None
    assert algebraic_stability(ButcherTableau([["0.400"]], ["1.000"], digits=3)).holds is False


def test_equal_stages_are_reported_both_ways():
    certificate = algebraic_stability(lobatto_iiib(2))
    assert certificate.holds is False
    assert certificate.because.endswith("after merging equal stages (stages 1, 2 are equal): algebraically stable")
    assert b_stability(lobatto_iiib(2)) and bn_stability(lobatto_iiib(2)) and an_stability(lobatto_iiib(2))
    assert not b_stability(lobatto_iiib(3))


def test_unused_stages_do_not_change_the_verdict():
    midpoint = ButcherTableau([["1/2", 0], ["7", "-9"]], [1, 0])
    assert algebraic_stability(midpoint).because == "M = 0"


def test_every_unstable_random_method_gets_a_problem_that_fractions_confirm():
    generator = random.Random(8)
    rotations = 0
    for _ in range(80):
        s = generator.randint(1, 4)
        A = [[Q(generator.randint(-3, 3), 4) for _ in range(s)] for _ in range(s)]
        tableau = ButcherTableau(A, [Q(generator.randint(-1, 4), 4) for _ in range(s)])
        certificate = bn_stability(tableau)
        if certificate.holds or not isinstance(certificate.witness, RotationProblem):
            continue
        if len(certificate.witness.real) == s:
            check_rotation(tableau, certificate.witness)
            rotations += 1
    assert rotations >= 40


def confluent(generator: random.Random) -> ButcherTableau:
    """All row sums are 1/2, and no two rows are equal."""
    s = generator.randint(2, 4)
    rows = []
    for _ in range(s):
        row = [Q(generator.randint(-3, 3), 4) for _ in range(s - 1)]
        rows.append([*row, Q(1, 2) - sum(row, Q(0))])
    return ButcherTableau(rows, [Q(generator.randint(-1, 4), 4) for _ in range(s)])


def test_methods_with_equal_abscissae_get_an_autonomous_monotone_problem():
    generator = random.Random(9)
    found = 0
    for _ in range(80):
        base = confluent(generator)
        A = [[*row, Q(0)] for row in base.A] + [[Q(1, 3)] * (base.stages + 1)]  # one more stage tells them apart
        A = [[*row[:-1], Q(i, 5)] for i, row in enumerate(A)]
        A = [[row[0] - Q(i, 5), *row[1:]] if i < base.stages else row for i, row in enumerate(A)]
        tableau = ButcherTableau(A, [*base.b, Q(1, 4)])
        problem = b_stability(tableau).witness
        if isinstance(problem, MonotoneData) and len(problem.rates) == tableau.stages:
            assert len(set(tableau.c)) < tableau.stages
            check_monotone(tableau, problem)
            found += 1
    assert found >= 20


def test_the_monotone_data_are_not_accepted_with_a_planted_fault():
    A = [["1/8", "3/8", 0], ["3/8", 0, "1/8"], ["1/2", "1/4", "1/4"]]
    tableau = ButcherTableau(A, ["1/2", "1/4", "1/4"])
    problem = b_stability(tableau).witness
    assert isinstance(problem, MonotoneData) and tableau.c[0] == tableau.c[1]
    check_monotone(tableau, problem)
    swapped = MonotoneData(
        problem.positions,
        tuple(tuple(-x for x in row) for row in problem.slopes),
        problem.rates,
        problem.stages,
        problem.radius_squared,
        problem.growth,
    )
    assert not swapped.is_monotone()
    zeros = tuple((Q(0),) * len(row) for row in problem.slopes)
    still = MonotoneData(
        problem.positions,
        zeros,
        tuple((Q(0),) * 2 for _ in problem.rates),
        problem.stages,
        problem.radius_squared,
        problem.growth,
    )
    assert not still.is_monotone(), "(f − f')ᵀ(p − p') = 0 is not strict, and no extension follows from it"


@pytest.mark.parametrize("family", UNSTABLE)
def test_polynomial_methods_get_a_problem_too(family: str):
    method = FAMILIES[family](6)
    certificate = b_stability(method)
    problem = certificate.witness
    assert certificate.holds is False and isinstance(problem, RotationProblem) and problem.in_polynomials
    numbers = method.rounded()
    nodes = [float(c.mid()) for c in method.enclosures().nodes]
    rates = [
        complex(*(sum(float(x) * c**k for k, x in enumerate(part)) for part in (problem.real, problem.imaginary)))
        for c in nodes
    ]
    assert all(rate.real < 1e-12 for rate in rates)
    import numpy

    A, b = (numpy.array([[float(a) for a in row] for row in rows]) for rows in (numbers.A, [numbers.b]))
    w = numpy.linalg.solve(numpy.eye(6) - A @ numpy.diag(rates), numpy.ones(6))
    growth = abs(1 + (b @ (numpy.array(rates) * w))[0]) ** 2
    assert growth - 1 == pytest.approx(float(problem.growth - 1), rel=1e-6, abs=1e-13)


def test_stable_methods_have_no_unstable_problem():
    for method in (gauss(3), radau_iia(2), lobatto_iiic(4), gauss(8)):
        assert unstable_problem(method) is None and b_stability(method).holds


def test_an_stability_is_left_open_where_abscissae_coincide_and_no_rate_is_found():
    tableau = ButcherTableau([["1/8", "3/8"], ["3/8", "1/8"]], ["1/2", "1/2"])
    assert b_stability(tableau)  # all stages are equal: it is the implicit midpoint rule
    decided = {an_stability(tableaus.get(n)).holds for n in ("euler", "implicit euler", "implicit midpoint")}
    assert decided == {True, False}
    A = [["1/8", "3/8", 0], ["3/8", 0, "1/8"], ["1/2", "1/4", "1/4"]]
    third = an_stability(ButcherTableau(A, ["1/2", "1/4", "1/4"]))
    assert third.holds in (None, False)


def test_a_partitioned_method_is_refused_with_advice():
    pair = next(t for t in map(tableaus.get, tableaus.names()) if isinstance(t, PartitionedTableau))
    with pytest.raises(TypeError, match=r"partitioned method.*\.position or \.momentum"):
        algebraic_stability(pair)
    with pytest.raises(TypeError, match="no Runge–Kutta method"):
        algebraic_stability(3)


def test_large_methods_are_decided():
    for family, s in (("gauss", 12), ("radau iia", 10), ("lobatto iiic", 10)):
        assert algebraic_stability(FAMILIES[family](s)).holds, family


def test_a_fresh_process_decides_and_imports_nothing_heavy():
    code = (
        "from odernn.tableaus.families import radau_iia\n"
        "from odernn.properties.algebraic_stability import algebraic_stability\n"
        "assert algebraic_stability(radau_iia(3))"
    )
    assert loaded_after(code, ("torch", "sympy", "scipy", "numpy")) == []
