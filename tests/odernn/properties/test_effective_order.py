"""Effective order: Butcher's conditions, conjugate methods, and starting methods tried in exact power series."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq_mat

from odernn import tableaus
from odernn.exact.algebraic import nearest_float
from odernn.properties.effective_order import _operator, conditions, effective_order, series_product, subtrees
from odernn.properties.elementary_weights import ElementaryWeights
from odernn.properties.order import order
from odernn.properties.stage_spaces import exact_spaces
from odernn.properties.symmetry import adjoint
from odernn.properties.trees import PARTITIONED, ROOTED, SEPARABLE, Family, Tree, tree_count, trees
from odernn.tableaus import families
from odernn.tableaus.methods import forms_of
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau, Q, composed
from tests.odernn.exact.power_series import LENGTH, H, Point, Ridges, agreement, exact_flow, point, series, step
from tests.tiers import only, without

TAU = Tree()
EFFECTIVE_5 = tableaus.get("butcher effective 5")


def weights_of(method: Any) -> ElementaryWeights:
    return ElementaryWeights([""], exact_spaces(forms_of(method)))


# --- the oracle: B-series by derivatives, methods by stages -----------------------------------------------------


def differential(tree: Tree, f: Ridges, y: Point) -> Point:
    """F(t)(y) = f^{(m)}(y)[F(t₁)(y), …, F(t_m)(y)]."""
    return f.derivative(y, [differential(child, f, y) for child in tree.children])


def started(alpha: dict[Tree, Any], f: Ridges, y: Point) -> Point:
    """y + Σ α(t) h^{|t|}/σ(t) F(t)(y)."""
    found = y
    for tree, weight in alpha.items():
        if weight:
            factor = H**tree.order * (weight / tree.symmetry)
            term = [x * factor for x in differential(tree, f, y)]
            found = [x + t for x, t in zip(found, term, strict=True)]
    return found


FIELDS = [(Ridges.random(seed, 2, 6), point(seed + 50, 2)) for seed in range(3)]


def reached(method: ButcherTableau, alpha: dict[Tree, Any]) -> int:
    """The order to which αβ and Eα agree on every field."""
    return min(
        agreement(step(method.A, method.b, f, started(alpha, f, y)), started(alpha, f, exact_flow(f, y)))
        for f, y in FIELDS
    )


@pytest.mark.parametrize(
    ("method", "p"),
    [(EFFECTIVE_5, 5), (families.lobatto_iiif(2).butcher(), 4), (families.lobatto_iiif(3).butcher(), 6)],
    ids=["butcher", "lobatto iiif 2", "lobatto iiif 3"],
)
def test_the_starting_method_does_what_it_is_for(method: ButcherTableau, p: int) -> None:
    certificate = effective_order(method)
    assert (certificate.value, certificate.holds, certificate.exact) == (p, True, True) and order(method).value < p
    alpha = dict(certificate.witness.start)
    assert len(alpha) == sum(tree_count(n) for n in range(1, p))
    assert reached(method, alpha) == p
    assert reached(method, {}) == order(method).value
    for changed in [tree for tree in alpha if 1 < tree.order < p][-3:]:
        wrong = alpha | {changed: alpha[changed] + Q(1, 1000)}
        assert reached(method, wrong) == changed.order


@pytest.mark.parametrize("name", only(["rk4", "kutta 3", "heun 2", "radau iia 2", "butcher effective 5"], "kutta 3"))
def test_no_starting_method_does_more(name: str) -> None:
    """At order p + 1 the weights of order p are linear unknowns: the equations on some fields contradict each other."""
    method = tableaus.get(name)
    p = effective_order(method).value
    known = dict(effective_order(method).witness.start)
    unknowns = list(trees(p))
    for top, solvable in ((p + 1, False), (p, True)):
        start = known if top == p + 1 else {tree: w for tree, w in known.items() if tree.order < p - 1}
        free = unknowns if top == p + 1 else list(trees(p - 1))
        rows: list[list[Any]] = []
        for seed in range(len(free) // 2 + 3):
            f, y = Ridges.random(100 + seed, 2, 6), point(200 + seed, 2)
            end = exact_flow(f, y)
            columns = []
            for alpha in (start, *(start | {tree: Q(1)} for tree in free)):
                one, other = step(method.A, method.b, f, started(alpha, f, y)), started(alpha, f, end)
                columns.append([(u - v)[top] for u, v in zip(one, other, strict=True)])
            rows += [[columns[0][i], *(c[i] - columns[0][i] for c in columns[1:])] for i in range(2)]
        whole = fmpq_mat(rows)
        part = fmpq_mat([row[1:] for row in rows])
        assert (whole.rank() == part.rank()) is solvable


@pytest.mark.parametrize(("first", "second"), [("rk4", "heun 3"), ("radau iia 2", "kutta 3"), ("euler", "rk4")])
def test_the_product_of_series_is_one_step_after_the_other(first: str, second: str) -> None:
    """Against the elementary weights of the composed tableau."""
    one, other = (weights_of(tableaus.get(name)) for name in (first, second))
    both = weights_of(composed([(tableaus.get(first), 1), (tableaus.get(second), 1)], "both"))
    cases = [tree for n in range(1, 7) for tree in trees(n)]
    assert all(series_product(one, other, tree) == both(tree) for tree in cases)
    assert any(series_product(other, one, tree) != both(tree) for tree in cases)


def test_subtrees_of_a_small_tree() -> None:
    """Of [τ,[τ]] there are 6, of [τ,τ] the middle one twice."""
    found = {(str(s), tuple(map(str, forest))): n for (s, forest), n in subtrees(Tree([TAU, TAU])).items()}
    assert found == {("τ", ("τ", "τ")): 1, ("[τ]", ("τ",)): 2, ("[τ,τ]", ()): 1}
    assert sum(subtrees(Tree([TAU, Tree([TAU])])).values()) == 6


# --- closed orbits: a starting method does nothing there -----------------------------------------------------------


def error_after_a_period(method: ButcherTableau, steps: int) -> float:
    """w(2π) − w(0) for t' = 1, x' = sin t + sin 2t, w' = (cos t − 2 cos 2t) x, of which every solution is periodic."""
    A, b = ([[nearest_float(x) for x in row] for row in rows] for rows in (method.A, [method.b]))
    h, x, w = 2 * math.pi / steps, 0.3, 0.0
    for n in range(steps):
        times = [(n + sum(row)) * h for row in A]
        slopes = [math.sin(t) + math.sin(2 * t) for t in times]
        stages = [x + h * sum(a * k for a, k in zip(row, slopes, strict=True)) for row in A]
        w += h * sum(
            weight * (math.cos(t) - 2 * math.cos(2 * t)) * X for weight, t, X in zip(b[0], times, stages, strict=True)
        )
        x += h * sum(weight * k for weight, k in zip(b[0], slopes, strict=True))
    return w


@pytest.mark.parametrize("s", [2, 3])
@pytest.mark.parametrize(("family", "gain"), [("iiia", 0), ("iiib", 0), ("iiic", 0), ("iiie", 0), ("iiif", 2)])
def test_the_error_on_closed_orbits_has_the_effective_order(family: str, gain: int, s: int) -> None:
    """y ↦ y + h^{p} S(y) cancels after a period. The exponents are even, so that 1/4 tells them apart."""
    method = getattr(families, f"lobatto_{family}")(s).butcher()
    coarse, fine = (error_after_a_period(method, steps) for steps in (64, 128))
    assert abs(math.log2(abs(coarse / fine)) - (2 * s - 2 + gain)) < 0.25
    assert effective_order(method).value == 2 * s - 2 + gain and order(method).value == 2 * s - 2


# --- the conditions ---------------------------------------------------------------------------------------------


def test_how_many_conditions_there_are() -> None:
    """As many as trees of order n less those of order n − 1: L is injective, but for α(τ)."""
    for family, most in ((ROOTED, 8), (PARTITIONED, 5), (SEPARABLE, 8)):
        for n in range(1, most + 1):
            fewer = 0 if n == 1 else sum(1 for _ in trees(n - 1, family)) - (n == 2)
            assert len(_operator(n, family).null) == sum(1 for _ in trees(n, family)) - fewer
    assert [len(conditions(p)) for p in range(1, 6)] == [1, 1, 1, 2, 5]


def test_the_conditions_up_to_order_4_are_butchers() -> None:
    """Butcher 2016, Section 389: β₁ = 1, β₂ = 1/2, β₄ = 1/6, β₈ = 1/24, 1/4 − β₃ + β₅ − 2β₆ + β₇ = 0."""
    found = {str(tree): str(side) for p in range(1, 5) for tree, side in conditions(p)}
    assert found == {
        "τ": "1",
        "[τ]": "1/2",
        "[[τ]]": "1/6",
        "[[[τ]]]": "1/24",
        "[τ,τ,τ]": "b3 + 2*b6 - b7 - 1/4",
    }


def values(method: Any, p: int, family: Family = ROOTED) -> list[Any]:
    weights = ElementaryWeights(family.colours, exact_spaces(forms_of(method)))
    return [weights(tree) for n in range(1, p + 1) for tree in trees(n, family)]


@pytest.mark.parametrize("name", ["rk4", "butcher effective 5", "kutta 5", "kutta 3", "gauss 3", "lobatto iiif 3"])
def test_the_polynomial_conditions_decide_what_the_method_decides(name: str) -> None:
    method = tableaus.get(name)
    if name == "gauss 3":
        method = families.gauss(3)  # rational in the basis of polynomials
    p = effective_order(method).value
    for n in range(1, 7):
        at = values(method, n)
        kept = [side(*at) == at[list_of(n).index(tree)] for tree, side in conditions(n)]
        assert all(kept) if n <= p else (not all(kept) or n > p + 1)
        if n == p + 1:
            assert not all(kept)


def list_of(n: int) -> list[Tree]:
    return [tree for m in range(1, n + 1) for tree in trees(m)]


# --- methods ----------------------------------------------------------------------------------------------------


ONE_FORM = [name for name in tableaus.names() if len(forms_of(tableaus.get(name))) == 1]


@pytest.mark.parametrize("name", without(ONE_FORM, "cooper verner 8"))  # the others of order 8 stay
def test_the_effective_order_is_at_least_the_order(name: str) -> None:
    """In the catalogue it is more for the one method that was made for it."""
    method = tableaus.get(name)
    found, p = effective_order(method), order(method).value
    assert found.value == p + (name == "butcher effective 5")
    assert (found.holds is None) is (found.witness is None) is (not method.is_exact)
    if found.exact and name != "butcher effective 5":
        assert set(found.witness.start.values()) <= {0}


@pytest.mark.parametrize("gamma", ["1/3", "-1/2"])
@pytest.mark.parametrize(("name", "by"), [("rk4", "euler"), ("heun 3", "implicit euler"), ("radau iia 2", "euler")])
def test_a_conjugate_method_has_the_same_effective_order_and_a_lower_order(name: str, by: str, gamma: str) -> None:
    """χ⁻¹ Φ χ: χ⁻¹ with the step γh is the adjoint of χ with −γh. Only Φ's own effective order survives."""
    method, chi = tableaus.get(name), tableaus.get(by)
    conjugate = composed([(chi, gamma), (method, 1), (adjoint(chi), "-1/3" if gamma == "1/3" else "1/2")], "conjugate")
    p = order(method).value
    assert order(conjugate).value < p and effective_order(conjugate).value == p
    spoiled = composed([(chi, gamma), (method, 1), (chi, "-1/3" if gamma == "1/3" else "1/2")], "spoiled")
    assert effective_order(spoiled).value < p


@pytest.mark.parametrize("s", only([2, 3, 4, 5], 2, 3))
def test_lobatto_iiif_has_the_order_2s_that_it_is_said_to_have_as_its_effective_order(s: int) -> None:
    found = effective_order(families.lobatto_iiif(s))
    assert (order(families.lobatto_iiif(s)).value, found.value, found.exact) == (2 * s - 2, 2 * s, True)
    for other in (families.lobatto_iiia, families.lobatto_iiic, families.lobatto_iiie, families.lobatto_iiig):
        assert effective_order(other(s)).value == 2 * s - 2


@pytest.mark.parametrize("name", ["symplectic euler vt", "symplectic euler tv"])
def test_symplectic_euler_is_conjugate_to_stoermer_verlet_on_separable_systems_and_on_no_others(name: str) -> None:
    """A kick of half a step conjugates them; SE of y' = z, z' = g(y) has the order 1 and the effective order 2."""
    method = tableaus.get(name)
    found = effective_order(method, separable=True)
    assert (order(method, separable=True).value, found.value, found.exact) == (1, 2, True)
    kick = {str(tree): weight for tree, weight in found.witness.start.items()}
    assert kick == {"τ_y": 0, "τ_z": Q(1, 2) if name.endswith("tv") else -Q(1, 2)}
    verlet = tableaus.get("stoermer verlet" if name.endswith("vt") else "stoermer verlet tvt")
    assert effective_order(verlet, separable=True).value == 2 == effective_order(verlet).value
    assert effective_order(method).value == 1


def test_a_conjugate_of_a_pair_is_one_by_a_step_of_the_adjoint() -> None:
    """Störmer–Verlet = TV½ then VT½, conjugate by either half to the composition in the other order."""
    first, second = tableaus.get("symplectic euler vt"), tableaus.get("symplectic euler tv")
    pair = composed([(second, "1/4"), (first, "3/4")], "unequal halves")
    assert isinstance(pair, PartitionedTableau) and order(pair).value == 1
    jump = tableaus.get("yoshida 4").tableau
    conjugate = composed([(first, "1/5"), (jump, 1), (second, "-1/5")], "conjugate")
    assert (order(conjugate).value, effective_order(conjugate).value) == (2, 4)  # SE is conjugate by O(h²)
    assert effective_order(conjugate, separable=True).value == 4


@pytest.mark.parametrize(("s", "p"), [(2, 4), (6, 12), (9, 18)])
def test_the_stability_function_bounds_the_effective_order(s: int, p: int) -> None:
    """Beyond the orders with 1000 trees the tall tree alone decides: R(z) of Gauss has the order 2s, and no more."""
    found = effective_order(families.gauss(s))
    assert (found.value, found.exact, found.holds) == (p, True, True)
    if s > 5:
        ((tree, factor),) = found.witness.failed.coefficients
        assert (tree.order, tree.density, factor) == (p + 1, math.factorial(p + 1), 1)
        assert all(tall <= 1 for tall in (len(tree.children), len(tree.children[0].children)))


# --- what is not decided ----------------------------------------------------------------------------------------


def test_what_is_not_decided_says_so() -> None:
    rounded = effective_order(tableaus.get("tsitouras 5(4)"))
    assert rounded.holds is None and rounded.value == 5 and "rounded" in rounded.because
    large = effective_order(families.lobatto_iiif(6))
    assert large.holds is None and large.value == 10 and "more than 1000 trees" in large.because
    with pytest.raises(ValueError, match="Only a partitioned method"):
        effective_order(tableaus.get("rk4"), separable=True)
    none = effective_order(ButcherTableau([[0]], ["1/2"]))
    assert (none.holds, none.value, str(none.witness.failed)) == (False, 0, "r(τ) = -1/2")


def test_the_oracle_has_a_length_that_shows_every_order_asked_of_it() -> None:
    assert LENGTH == 8 and (series(2) * H**7)[7] == 2
    f, y = FIELDS[0]
    rk4 = tableaus.get("rk4")
    assert agreement(step(rk4.A, rk4.b, f, y), exact_flow(f, y)) == 4


def test_the_document_is_current() -> None:
    """The table of docs/tableaus.md, and what its example prints."""
    text = (Path(__file__).resolve().parents[3] / "docs" / "tableaus.md").read_text(encoding="utf-8")
    section = text.partition("## Effective order\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:2] == "| "]
    assert len(rows) == 10
    for name, p, effective, weights in rows[1:]:
        tableau, _, separable = name.partition(", on separable systems")
        options = {"separable": True} if name != tableau else {}
        assert not separable
        method = tableaus.get(tableau)
        found = effective_order(method, **options)
        assert (order(method, **options).value, found.value) == (int(p), int(effective)), name
        shown = [f"{tree}: {weight}".replace("-", "−") for tree, weight in found.witness.start.items() if weight != 0]
        assert ", ".join(shown) == weights, name
    found = effective_order(tableaus.get("lobatto iiif 2"))
    assert f"# {found.value} {found.because}\n" in section
