"""Runge–Kutta–Nyström methods: orders by power series, symplecticity by exact Jacobians, symmetry by steps."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from flint import fmpq, fmpq_mat

from odernn import tableaus
from odernn.fields.oscillator import Oscillator
from odernn.integrators.one_step import step as runge_kutta_step
from odernn.properties.nystrom import (
    NystromWeights,
    nystrom_facts,
    nystrom_order,
    nystrom_symmetry,
    nystrom_symplecticity,
    nystrom_trees,
)
from odernn.properties.order import order, residual
from odernn.properties.symplecticity import symplecticity
from odernn.properties.trees import SEPARABLE, Tree, trees
from odernn.tableaus import families
from odernn.tableaus.catalogue import nystrom as nystrom_catalogue
from odernn.tableaus.methods import in_stages, resolve
from odernn.tableaus.nystrom import NystromTableau, nystrom_adjoint, nystrom_method, nystrom_step
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau, Q
from tests.odernn.exact.power_series import LENGTH, H, Point, Ridges, agreement, exact_flow, point, series
from tests.tiers import slow

METHODS = {name: nystrom_catalogue.get(name) for name in nystrom_catalogue.names()}
FACTS = {  # stages, order, symplectic, symmetric
    "rkn albrecht 6": (5, 6, False, False),
    "rkn calvo sanz-serna 4": (5, 4, True, None),
    "rkn dormand el-mikkawy prince 4": (4, 4, False, False),
    "rkn mclachlan atela 4": (4, 4, True, None),
    "rkn mclachlan atela 5": (6, 5, True, None),
    "rkn nystroem 4": (3, 4, False, False),
    "rkn nystroem 5": (4, 5, False, False),
    "rkn stoermer verlet": (2, 2, True, True),
    "rkn stoermer verlet tvt": (1, 2, True, True),
    "rkn symplectic euler": (1, 1, True, False),
}
PAIRS = [
    name
    for name in tableaus.names()
    if isinstance(resolve(tableaus.get(name)), PartitionedTableau) and resolve(tableaus.get(name)).is_exact
]


@pytest.mark.parametrize("name", METHODS)
def test_the_facts_of_the_literature_are_the_computed_ones(name: str) -> None:
    method = METHODS[name]
    p, explicit, symplectic, symmetric = nystrom_facts(method)
    assert (method.stages, p.value, symplectic.holds, symmetric.holds) == FACTS[name]
    assert p.value == method.order and explicit.holds is method.is_explicit is True
    assert p.exact is method.is_exact and (p.holds is None) is not method.is_exact
    if not method.is_exact:
        assert p.margin <= method.stages * 10.0**-method.digits and not symplectic.exact
    assert method.source is not None and method.source.key.isalnum()


def test_how_many_methods_there_are() -> None:
    assert set(FACTS) == set(METHODS) and len(FACTS) == 10


# --- the trees --------------------------------------------------------------------------------------------------


def test_the_numbers_of_special_nystrom_trees() -> None:
    """1, 1, 2, 3, 6, 10, 20, 36, 72, 137: Hairer, Nørsett, Wanner 1993; and by V = x Euler(x + x V)."""
    found = [len(nystrom_trees(n)) for n in range(1, 13)]
    assert found[:10] == [1, 1, 2, 3, 6, 10, 20, 36, 72, 137]
    counts = [0, 1]
    for n in range(2, 13):
        branches = [0, 1, *counts[1 : n - 1]]  # of order k: one leaf, or a vertex y with one tree of order k − 1
        euler = [1, *[0] * (n - 1)]
        for k in range(1, n):
            for _ in range(branches[k] if k < len(branches) else 0):
                for total in range(k, n):
                    euler[total] += euler[total - k]
        counts.append(euler[n - 1])
    assert found == counts[1:]


def test_the_trees_are_those_of_separable_systems_where_velocities_do_not_multiply() -> None:
    """y′ = v has no second derivative: of the alternating trees those whose vertices y have one child at most."""

    def fits(tree: Tree) -> bool:
        return (tree.colour == "z" or len(tree.children) < 2) and all(map(fits, tree.children))

    for n in range(1, 9):
        assert nystrom_trees(n) == tuple(tree for tree in trees(n, SEPARABLE) if tree.colour == "z" and fits(tree))


# --- order ------------------------------------------------------------------------------------------------------


def series_step(method: NystromTableau, g: Callable[[Point], Point], y: Point, v: Point) -> tuple[Point, Point]:
    """Stages by fixed-point iteration in power series of h."""

    def moved(weights: Any, forces: list[Point], n: int) -> Any:
        return sum((f[n] * w for w, f in zip(weights, forces, strict=True) if w != 0), series(0))

    forces = [g(y)] * method.stages
    for _ in range(LENGTH):
        forces = [
            g([x + H * c * u + H * H * moved(row, forces, n) for n, (x, u) in enumerate(zip(y, v, strict=True))])
            for row, c in zip(method.A_bar, method.c, strict=True)
        ]
    position = [x + H * u + H * H * moved(method.b_bar, forces, n) for n, (x, u) in enumerate(zip(y, v, strict=True))]
    return position, [u + H * moved(method.b, forces, n) for n, u in enumerate(v)]


def measured_order(method: NystromTableau) -> int:
    """Against the exact flow of y′ = v, v′ = g(y) for polynomial forces of degree 7."""
    reached = []
    for seed in range(4):
        g, y, v = Ridges.random(seed, 2, 7), point(seed + 10, 2), point(seed + 20, 2)

        def system(x: Point, g: Ridges = g) -> Point:
            return [*x[2:], *g(x[:2])]

        one, other = series_step(method, g, y, v), exact_flow(system, [*y, *v])
        reached.append(agreement([*one[0], *one[1]], other))
    return min(reached)


RATIONAL = [name for name in METHODS if METHODS[name].is_exact]


@pytest.mark.parametrize("name", RATIONAL)
def test_the_order_is_that_of_the_power_series_in_h(name: str) -> None:
    assert measured_order(METHODS[name]) == nystrom_order(METHODS[name]).value


@pytest.mark.parametrize("name", ["rkn nystroem 5", slow("rkn albrecht 6")])
def test_every_coefficient_is_needed(name: str) -> None:
    """A change of any entry by 1/1000 lowers the order, and the trees and the series say the same."""
    method = METHODS[name]
    for k in range(method.stages):
        for field in ("b", "b_bar", "c"):
            values = list(getattr(method, field))
            values[k] += Q(1, 1000)
            changed = {"A_bar": method.A_bar, "b_bar": method.b_bar, "b": method.b, "c": method.c, field: values}
            spoiled = NystromTableau(**changed)
            found = nystrom_order(spoiled).value
            assert found == measured_order(spoiled) < method.order


@pytest.mark.parametrize("seed", range(10))
def test_random_methods_have_the_order_of_the_power_series(seed: int) -> None:
    """Two conditions of order 2 are solved for, so that orders 0, 1 and 2 occur, of explicit and implicit methods."""
    draw = random.Random(seed)
    s = 2 + seed % 2
    A = [[Q(draw.randint(-3, 3), 4) if j < i or seed % 3 == 0 else Q(0) for j in range(s)] for i in range(s)]
    b, c = [Q(draw.randint(1, 4), 5) for _ in range(s)], [Q(draw.randint(0, 4), 4) for _ in range(s)]
    b_bar = [Q(draw.randint(1, 4), 5) for _ in range(s)]
    if seed % 2:
        b[-1] += 1 - sum(b, Q(0))
        b_bar[-1] += Q(1, 2) - sum(b_bar, Q(0))
    if seed % 4 == 3 and b[-1] != 0:
        c[-1] += (Q(1, 2) - sum((x * y for x, y in zip(b, c, strict=True)), Q(0))) / b[-1]
    method = NystromTableau(A, b_bar, b, c)
    assert nystrom_order(method).value == measured_order(method)


def test_position_conditions_follow_where_the_weights_are_those_of_symplectic_methods() -> None:
    """1/γ(t) − 1/γ(t with one more leaf) = 1/γ([t]_y), so with b̄ = b(1 − c) the conditions of v give those of y."""
    for n in range(1, 9):
        for t in nystrom_trees(n):
            more = Tree([*t.children, Tree((), "y")], "z")
            assert fmpq(1, t.density) - fmpq(1, more.density) == fmpq(1, Tree([t], "y").density)
    draw = random.Random(5)
    b, c = ([Q(draw.randint(-5, 5), 7) for _ in range(3)] for _ in range(2))
    A = [[Q(draw.randint(-5, 5), 7) for _ in range(3)] for _ in range(3)]
    weights = NystromWeights(NystromTableau(A, [x * (1 - y) for x, y in zip(b, c, strict=True)], b, c), lambda x: x)
    for t in (t for n in range(1, 6) for t in nystrom_trees(n)):
        more = Tree([*t.children, Tree((), "y")], "z")
        assert residual(weights, Tree([t], "y")) == residual(weights, t) - residual(weights, more)


# --- from Runge–Kutta methods -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [*PAIRS, "rk4", "gauss 2", "radau iia 3", "dormand prince 5(4)", "kutta 5", "lobatto iiif 2"]
)
def test_a_runge_kutta_method_loses_nothing_as_a_nystrom_method(name: str) -> None:
    method = in_stages(tableaus.get(name))
    found = nystrom_method(method)
    separable = {"separable": True} if isinstance(method, PartitionedTableau) else {}
    assert nystrom_order(found).value >= order(method, **separable).value
    if symplecticity(method, **separable):
        assert nystrom_symplecticity(found).holds is True
    if name == "dormand prince 5(4)":
        assert nystrom_symplecticity(found).holds is False


def test_stoermer_verlet_and_symplectic_euler_are_the_entries_of_the_catalogue() -> None:
    for name in ("stoermer verlet", "stoermer verlet tvt", "symplectic euler vt"):
        found = nystrom_method(tableaus.get(name))
        entry = METHODS["rkn " + name.removesuffix(" vt")]
        if found.stages == entry.stages:
            assert (found.A_bar, found.b_bar, found.b, found.c) == (entry.A_bar, entry.b_bar, entry.b, entry.c)
        else:  # the position form as a pair has two equal stages
            assert (sum(found.b), sum(found.b_bar), set(found.c)) == (entry.b[0], entry.b_bar[0], set(entry.c))
            assert not any(a for row in found.A_bar for a in row)


def test_a_nystrom_method_may_have_a_higher_order_than_any_pair_behind_it() -> None:
    """Kicks and drifts that are of order 3 on H = V + T, of order 4 or 5 on y″ = g(y)."""
    for name, p in (("rkn calvo sanz-serna 4", 4), ("rkn mclachlan atela 4", 4), ("rkn mclachlan atela 5", 5)):
        method = METHODS[name]
        s = range(method.stages)
        drifts = [method.c[i + 1] - method.c[i] for i in s[:-1]]
        drifts.append(1 - method.c[-1])
        position = ButcherTableau([[drifts[j] if j < i else 0 for j in s] for i in s], drifts, digits=method.digits)
        momentum = ButcherTableau(
            [[method.b[j] if j <= i else 0 for j in s] for i in s], method.b, digits=method.digits
        )
        pair = PartitionedTableau("kicks and drifts", None, position, momentum)
        assert (order(pair, separable=True).value, nystrom_order(method).value) == (3, p)
        assert nystrom_order(nystrom_method(pair)).value == p
        same = nystrom_method(pair)
        assert all(same.A_bar[i][j] == method.A_bar[i][j] for i in s for j in s) and same.b_bar == method.b_bar


# --- symplectic and symmetric, by exact steps -------------------------------------------------------------------


def force(y: list[Any]) -> list[Any]:
    """−∇U of U = y₁⁴/4 + y₁² y₂/2 + y₂³/3 − y₁ y₂."""
    return [-(y[0] ** 3 + y[0] * y[1] - y[1]), -(y[0] ** 2 / 2 + y[1] ** 2 - y[0])]


def hessian(y: list[Any]) -> fmpq_mat:
    return fmpq_mat([[3 * y[0] ** 2 + y[1], y[0] - 1], [y[0] - 1, 2 * y[1]]])


def exact_step(method: NystromTableau, y: list[Any], v: list[Any], h: Any) -> tuple[list[Any], list[Any], fmpq_mat]:
    """(y₁, v₁) and the Jacobian matrix of the step, in rational numbers: the chain rule, stage by stage."""
    one, zero = fmpq_mat([[1, 0], [0, 1]]), fmpq_mat([[0, 0], [0, 0]])
    forces: list[list[Any]] = []
    slopes: list[tuple[fmpq_mat, fmpq_mat]] = []
    for row, c in zip(method.A_bar, method.c, strict=True):
        pairs = list(zip(row, forces, strict=False))
        stage = [y[n] + h * c * v[n] + h * h * sum((a * f[n] for a, f in pairs), Q(0)) for n in range(2)]
        dy, dv = one, one * (h * c)
        for a, (fy, fv) in zip(row, slopes, strict=False):
            dy, dv = dy + fy * (h * h * a), dv + fv * (h * h * a)
        forces.append(force(stage))
        slopes.append((hessian(stage) * dy * fmpq(-1), hessian(stage) * dv * fmpq(-1)))
    weighted = list(zip(method.b_bar, method.b, forces, strict=True))
    y1 = [y[n] + h * v[n] + h * h * sum((w * f[n] for w, _, f in weighted), Q(0)) for n in range(2)]
    v1 = [v[n] + h * sum((w * f[n] for _, w, f in weighted), Q(0)) for n in range(2)]
    blocks = [[one, one * h], [zero, one]]
    for w_bar, w, (fy, fv) in zip(method.b_bar, method.b, slopes, strict=True):
        blocks[0] = [blocks[0][0] + fy * (h * h * w_bar), blocks[0][1] + fv * (h * h * w_bar)]
        blocks[1] = [blocks[1][0] + fy * (h * w), blocks[1][1] + fv * (h * w)]
    rows = [[blocks[i // 2][j // 2][i % 2, j % 2] for j in range(4)] for i in range(4)]
    return y1, v1, fmpq_mat(rows)


J = fmpq_mat([[0, 0, 1, 0], [0, 0, 0, 1], [-1, 0, 0, 0], [0, -1, 0, 0]])
START = [Q(1, 3), Q(-1, 2)], [Q(2, 5), Q(1, 7)]


@pytest.mark.parametrize("name", METHODS)
def test_the_step_preserves_the_symplectic_form_exactly_or_not_at_all(name: str) -> None:
    """JᵀΩJ = Ω in rational numbers; kicks and drifts do so for the numbers as printed."""
    jacobian = exact_step(METHODS[name], *START, Q(1, 4))[2]
    assert (jacobian.transpose() * J * jacobian == J) is (nystrom_symplecticity(METHODS[name]).holds is True)


@pytest.mark.parametrize("name", [*RATIONAL, slow("rkn mclachlan atela 4")])  # of order 5 the fractions have 10⁶ digits
def test_a_step_back_of_a_symmetric_method_ends_where_it_began(name: str) -> None:
    method = METHODS[name]
    y, v, _ = exact_step(method, *START, Q(1, 4))
    back = exact_step(method, y, v, Q(-1, 4))[:2]
    assert (back == START) is (nystrom_symmetry(method).holds is True)


@pytest.mark.parametrize("name", ["rkn nystroem 5", "rkn mclachlan atela 4", "rkn symplectic euler"])
def test_the_adjoint_undoes_the_step(name: str) -> None:
    """It is implicit in general; its stages are those of the step, in reverse: they are put in and checked."""
    method, h = METHODS[name], Q(1, 5)
    y, v, _ = exact_step(method, *START, h)
    adjoint = nystrom_adjoint(method)
    assert nystrom_adjoint(adjoint).entries == method.entries
    stages = []
    forces: list[list[Any]] = []
    for row, c in zip(method.A_bar, method.c, strict=True):
        stages.append(
            [
                START[0][n]
                + h * c * START[1][n]
                + h * h * sum((a * f[n] for a, f in zip(row, forces, strict=False)), Q(0))
                for n in range(2)
            ]
        )
        forces.append(force(stages[-1]))
    forces.reverse()
    stages.reverse()
    for row, c, stage in zip(adjoint.A_bar, adjoint.c, stages, strict=True):
        assert stage == [
            y[n] - h * c * v[n] + h * h * sum((a * f[n] for a, f in zip(row, forces, strict=True)), Q(0))
            for n in range(2)
        ]
    weighted = list(zip(adjoint.b_bar, adjoint.b, forces, strict=True))
    assert [y[n] - h * v[n] + h * h * sum((w * f[n] for w, _, f in weighted), Q(0)) for n in range(2)] == START[0]
    assert [v[n] - h * sum((w * f[n] for _, w, f in weighted), Q(0)) for n in range(2)] == START[1]


def test_symplectic_methods_of_any_weights_are_found_and_spoiled_ones_are_not() -> None:
    draw = random.Random(3)
    for _ in range(10):
        b, c = [Q(draw.randint(1, 9), 9) for _ in range(3)], [Q(k, 3) for k in draw.sample(range(9), 3)]
        A = [[b[j] * (c[i] - c[j]) if j < i else Q(0) for j in range(3)] for i in range(3)]
        b_bar = [x * (1 - y) for x, y in zip(b, c, strict=True)]
        assert nystrom_symplecticity(NystromTableau(A, b_bar, b, c)).holds is True
        spoiled = [row[:] for row in A]
        spoiled[2][0] += Q(1, 10**20)
        found = nystrom_symplecticity(NystromTableau(spoiled, b_bar, b, c))
        assert found.holds is False and found.exact and found.witness == (3, 1) and abs(found.value) < Q(1, 10**19)
        b_bar[1] += Q(1, 9)
        found = nystrom_symplecticity(NystromTableau(A, b_bar, b, c))
        jacobian = exact_step(NystromTableau(A, b_bar, b, c), *START, Q(1, 4))[2]
        assert found.holds is False and jacobian.transpose() * J * jacobian != J


def test_equal_stages_are_merged_before_a_no_is_said() -> None:
    """Leapfrog with its one stage written twice, with weights that as given violate the second condition."""
    twice = NystromTableau([[0, 0], [0, 0]], ["1/3", "1/6"], ["1/4", "3/4"], ["1/2", "1/2"])
    found = nystrom_symplecticity(twice)
    assert found.holds is True and "after merging" in found.because and nystrom_symmetry(twice).holds is True
    jacobian = exact_step(twice, *START, Q(1, 4))[2]
    assert jacobian.transpose() * J * jacobian == J
    apart = NystromTableau([[0, 0], [0, 0]], ["1/3", "1/6"], ["1/4", "3/4"], ["1/2", "1/3"])
    assert nystrom_symplecticity(apart).holds is False


# --- in floating-point numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_the_error_of_the_pendulum_falls_with_the_order(name: str) -> None:
    """Against 400 steps of order 6. From 8 to 16 steps the slope is p + O(h), with h = 1/8."""
    method, p = METHODS[name], FACTS[name][1]

    def end(n: int, scheme: NystromTableau) -> tuple[float, float]:
        y, v = 0.7, 0.4
        for _ in range(n):
            y, v = nystrom_step(scheme, lambda x: -math.sin(x), y, v, 1.0 / n)
        return y, v

    reference = end(400, METHODS["rkn albrecht 6"])
    first, second = (math.hypot(*(a - b for a, b in zip(end(n, method), reference, strict=True))) for n in (8, 16))
    assert abs(math.log2(first / second) - p) < 0.3


def test_the_step_of_unicornn_is_symplectic_euler_and_no_nystrom_method_of_order_2() -> None:
    """y″ = −[tanh(w y + x) + α y] with the drive held: the same numbers as the pair on the field."""
    field = Oscillator(torch.tensor([0.3, -1.2, 2.0], dtype=torch.float64), 0.5)
    y, v, drive = (
        torch.tensor(row, dtype=torch.float64) for row in ([0.1, 1.0, -0.4], [0.2, 0.0, 1.5], [0.3, -0.7, 0.2])
    )
    found = nystrom_step(METHODS["rkn symplectic euler"], lambda x: field.force(x, drive), y, v, 0.1)
    expected = runge_kutta_step(tableaus.get("symplectic euler vt"), field, (y, v), drive, 0.1)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0.0, atol=8 * 2.0**-52)  # three roundings of numbers below 2
    assert nystrom_order(METHODS["rkn symplectic euler"]).value == 1
    verlet = nystrom_step(METHODS["rkn stoermer verlet"], lambda x: field.force(x, drive), y, v, 0.1)
    assert not torch.allclose(verlet[0], expected[0], atol=1e-4)


def test_exact_numbers_stay_exact() -> None:
    y, v = nystrom_step(
        METHODS["rkn nystroem 4"],
        lambda x: -x,
        Fraction(1),
        Fraction(0),
        Fraction(1, 2),
        lambda c: Fraction(int(c.p), int(c.q)),
    )
    taylor = sum(Fraction((-1) ** k, math.factorial(2 * k)) * Fraction(1, 4) ** k for k in range(3))
    h = Fraction(1, 2)
    assert y == taylor and v == -h + h**3 / 6 - h**5 / 96  # Taylor's polynomial but for its last coefficient


# --- refusals ---------------------------------------------------------------------------------------------------


def test_what_is_no_method_is_refused() -> None:
    with pytest.raises(ValueError, match="row 2 of Ā has 1 entries but b has 2"):
        NystromTableau([[0, 0], [0]], [0, 0], [0, 1], [0, 1])
    with pytest.raises(ValueError, match="c has 1 entries but b has 2"):
        NystromTableau([[0, 0], [0, 0]], [0, 0], [0, 1], [0])
    with pytest.raises(ValueError, match="b is empty"):
        NystromTableau([], [], [], [])
    with pytest.raises(ValueError, match="is implicit"):
        nystrom_step(nystrom_method(tableaus.GAUSS_2), lambda x: -x, 0.0, 1.0, 0.1)
    with pytest.raises(ValueError, match="it must be 1"):
        nystrom_method(ButcherTableau([[0]], ["1/2"], name="half a step"))
    with pytest.raises(TypeError, match="no written coefficients"):
        nystrom_method(families.gauss(7))
    with pytest.raises(KeyError, match='Did you mean "rkn nystroem 4"'):
        nystrom_catalogue.get("rkn nystrom 4")


def test_rounded_coefficients_say_no_only_for_all_numbers_meant() -> None:
    A = [[0, 0], ["0.50", 0]]
    near = NystromTableau(A, ["0.51", 0], ["0.50", "0.50"], [0, "1.00"], digits=2)
    far = NystromTableau(A, ["0.70", 0], ["0.50", "0.50"], [0, "1.00"], digits=2)
    assert nystrom_symplecticity(near).holds is None and nystrom_symplecticity(far).holds is False
    assert nystrom_order(near).value == 2 and nystrom_order(near).holds is None and nystrom_order(far).value == 1
    floats = nystrom_method(families.gauss(2).rounded())
    assert floats.is_float and nystrom_order(floats).value == 4 and nystrom_order(floats).holds is None


def test_rounded_stages_that_may_be_equal_are_not_held_against_a_method() -> None:
    """The drift, kick, drift step with its kick in two stages: each violates b̄ = b(1 − c), and both together do not."""
    split = (["1/5", "3/10"], ["3/10", "7/10"], ["1/2", "1/2"])
    assert nystrom_symplecticity(NystromTableau([[0, 0], [0, 0]], *split)).holds is True
    floats = NystromTableau([[0, 0], [0, 0]], [0.2, 0.3], [0.3, 0.7], [0.5, 0.5])
    assert not floats.is_exact and nystrom_symplecticity(floats).holds is None
    apart = NystromTableau([[0, 0], [0, 0]], [0.2, 0.3], [0.3, 0.7], [0.25, 0.5])
    assert nystrom_symplecticity(apart).holds is False


def test_the_table_in_the_document_is_current() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "tableaus.md").read_text(encoding="utf-8")
    section = text.partition("## Second-order equations\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:2] == "| "]
    words = {True: "yes", False: "no", None: "undecided"}
    assert [row[0] for row in rows[1:]] == list(METHODS)
    for name, *cells in rows[1:]:
        p, _, symplectic, symmetric = nystrom_facts(METHODS[name])
        shown = f"{p.value}" if p.exact else f"{p.value} (rounded)"
        assert cells == [str(METHODS[name].stages), shown, words[symplectic.holds], words[symmetric.holds]]
