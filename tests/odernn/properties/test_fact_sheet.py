"""The fact sheet: one order, nothing asked that has no meaning; and the names at the top of the package."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import odernn
from odernn import tableaus
from odernn.certificate import Certificate
from odernn.exact.linear_algebra import Inertia
from odernn.properties import fact_sheet
from odernn.properties.fact_sheet import INERTIA, PARTITIONED, SINGLE, decided, facts, questions, skipped
from odernn.tableaus import families
from odernn.tableaus.tableau import ButcherTableau, Composition, Q
from tests.processes import loaded_after
from tests.tiers import spread

CHECKOUT = Path(__file__).resolve().parents[3]
PARTITIONED_ONLY = {"order on separable systems", "explicit on separable systems", "symplectic on separable systems"}


def by_name(method: Any) -> dict[str, Certificate]:
    left_out = {each.property for each in skipped(method)}
    asked = [name for name in questions() if name not in left_out]
    return dict(zip(asked, facts(method), strict=True))


def test_the_order_of_the_facts_is_fixed() -> None:
    assert questions()[:8] == (
        "consistent",
        "order",
        "order on separable systems",
        "stage order",
        "B(p)",
        "C(q)",
        "D(r)",
        "embedded order",
    )
    assert questions()[-4:] == ("symplectic", "symplectic on separable systems", "symmetric", "principal error")
    assert len(set(questions())) == len(questions()) == 32


@pytest.mark.parametrize("every_so_many", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_every_entry_of_the_catalogue_has_a_fact_sheet(every_so_many: int) -> None:
    """Each question is answered or skipped with a reason; no answer is without evidence."""
    count, names = 0, tableaus.names()[::every_so_many]
    for name in names:
        method = tableaus.get(name)
        answers, left_out = facts(method), skipped(method)
        assert len(answers) + len(left_out) == len(questions()), name
        assert all(certificate.because for certificate in answers), name
        assert all(certificate.exact for certificate in answers if certificate.holds is False and method.digits is None)
        assert all(each.because for each in left_out)
        count += len(answers)
    assert len(tableaus.names()) >= 120 and count / len(names) > 2500 / len(tableaus.names())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "gauss 2",
            {
                "consistent": True,
                "A-stable": True,
                "L-stable": False,
                "algebraically stable": True,
                "B-stable": True,
                "symplectic": True,
                "symmetric": True,
                "explicit": False,
                "diagonally implicit": False,
                "stiffly accurate": False,
                "first same as last": False,
                "DJ-irreducible": True,
                "HS-irreducible": True,
            },
        ),
        (
            "radau iia 10",
            {
                "A-stable": True,
                "L-stable": True,
                "algebraically stable": True,
                "BN-stable": True,
                "symplectic": False,
                "symmetric": False,
                "stiffly accurate": True,
                "explicit": False,
                "diagonally implicit": False,
            },
        ),
        (
            "dormand prince 5(4)",
            {
                "explicit": True,
                "diagonally implicit": True,
                "first same as last": True,
                "DJ-irreducible": False,
                "HS-irreducible": True,
                "A-stable": False,
                "algebraically stable": False,
            },
        ),
        ("alexander 2", {"explicit": False, "diagonally implicit": True, "L-stable": True, "B-stable": False}),
        # Reducible: two equal stages make it the implicit midpoint rule. As given it is not algebraically stable.
        (
            "lobatto iiib 2",
            {"algebraically stable": False, "B-stable": True, "HS-irreducible": False, "symplectic": True},
        ),
    ],
)
def test_what_is_known_about_a_method(name: str, expected: dict[str, bool]) -> None:
    found = by_name(tableaus.get(name))
    assert {key: found[key].holds for key in expected} == expected
    assert all(found[key].exact for key in expected)


def test_the_inertia_of_M_is_that_of_the_matrix() -> None:
    inertia = {name: by_name(tableaus.get(name))[INERTIA] for name in ("gauss 3", "radau iia 3", "lobatto iiia 2")}
    assert inertia["gauss 3"].value == Inertia(0, 0, 3) and inertia["gauss 3"].because == "M = 0"
    assert inertia["radau iia 3"].value == Inertia(1, 0, 2)
    assert inertia["lobatto iiia 2"].value == Inertia(1, 1, 0) and inertia["lobatto iiia 2"].holds is False
    (v0, v1), M = inertia["lobatto iiia 2"].witness, ((Q(-1, 4), Q(0)), (Q(0), Q(1, 4)))
    assert v0 * v0 * M[0][0] + v1 * v1 * M[1][1] < 0


def test_a_negative_weight_leaves_M_semidefinite() -> None:
    """M ≥ 0 and b_i ≥ 0 are two questions: A = −1/2, b = −1 has M = 0."""
    found = by_name(ButcherTableau([["-1/2"]], [-1]))
    assert found[INERTIA].holds is True and found["algebraically stable"].holds is False
    assert found["consistent"].holds is False and found["consistent"].because == "Σ bᵢ = -1"


def test_a_table_of_coefficients_decides_as_its_family_does() -> None:
    written, family = by_name(tableaus.RADAU_IIA_2), by_name(families.radau_iia(2))
    assert [c.holds for c in written.values()] == [c.holds for c in family.values()]


def test_zeros_above_the_diagonal_are_excluded_where_no_coefficients_are_written_out() -> None:
    found = by_name(families.gauss(5))
    assert found["explicit"].holds is found["diagonally implicit"].holds is False
    assert found["explicit"].witness == (1, 1) and found["diagonally implicit"].witness == (1, 2)


def test_rounded_coefficients_are_not_called_consistent_but_within_rounding() -> None:
    found = by_name(tableaus.get("tsitouras 5(4)"))
    assert found["consistent"].holds is None and found["consistent"].margin < 1e-13
    assert found["order"].holds is None and found["order"].value == 5
    assert found[INERTIA].holds is None
    wrong = by_name(ButcherTableau([["0.1"]], ["0.98"], digits=3))
    assert wrong["consistent"].holds is False


def test_a_pair_is_asked_about_separable_systems_and_told_why_not_the_rest() -> None:
    method = tableaus.get("lobatto iiia-iiib 3")
    assert {name for name in questions() if name in by_name(method)} >= PARTITIONED_ONLY
    reasons = {each.property: each.because for each in skipped(method)}
    assert reasons["A-stable"] == reasons["algebraically stable"] == PARTITIONED and "order" not in reasons
    single = {each.property: each.because for each in skipped(method.position)}
    assert {single[name] for name in PARTITIONED_ONLY} == {SINGLE}
    assert by_name(method)["explicit on separable systems"].holds is False
    assert by_name(tableaus.STOERMER_VERLET)["explicit on separable systems"].holds is True


def test_a_composition_is_its_equivalent_tableau() -> None:
    twice = Composition(tableaus.IMPLICIT_MIDPOINT, [Q(1, 2), Q(1, 2)], name="twice the midpoint rule")
    found = by_name(twice)
    assert found["order"].value == 2 and found["algebraically stable"].holds and found["symplectic"].holds
    assert "stage order" not in by_name(tableaus.get("yoshida 4"))


def test_nothing_is_computed_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suzuki and Umeno's order 8 takes a good part of a second, its consistency nothing."""
    asked = []

    def noted(question: fact_sheet.Claim) -> fact_sheet.Claim:
        def ask(method: Any) -> Certificate:
            asked.append(question.property)
            return question.ask(method)

        return replace(question, ask=ask)

    monkeypatch.setattr(fact_sheet, "_QUESTIONS", tuple(map(noted, fact_sheet._QUESTIONS)))
    first = next(decided(tableaus.get("suzuki umeno 8")))
    assert first.property == "consistent" and asked == ["consistent"]


def test_some_of_the_facts_by_name() -> None:
    (order, symplectic) = decided(tableaus.RK4, "order", "symplectic")
    assert (order.value, symplectic.holds) == (4, False)
    with pytest.raises(ValueError, match=r'No property is called "ordre"'):
        list(decided(tableaus.RK4, "ordre"))


# --- the names of the package -----------------------------------------------------------------------------------

FUNCTIONS = {
    "a_stability",
    "adjoint",
    "algebraic_stability",
    "an_stability",
    "are_equivalent",
    "b_stability",
    "bn_stability",
    "burrage_butcher",
    "composition",
    "dj_reduction",
    "embedded_order",
    "facts",
    "first_same_as_last",
    "hs_reduction",
    "i_stability",
    "imaginary_stability_interval",
    "l_stability",
    "limit_at_infinity",
    "order",
    "principal_error",
    "quadrature_order",
    "real_stability_interval",
    "reduction",
    "stability_function",
    "stage_order",
    "stiff_accuracy",
    "symmetry",
    "symplectic_conjugate",
    "symplecticity",
    "transpose",
}


def test_every_decision_is_a_function_of_the_package() -> None:
    assert set(odernn.__all__) >= FUNCTIONS
    assert all(callable(getattr(odernn, name)) for name in FUNCTIONS)
    assert odernn.order(tableaus.GAUSS_2).value == 4
    assert str(odernn.algebraic_stability(tableaus.GAUSS_2)) == "Certificate(algebraically stable: yes, exact, M = 0)"


def test_no_function_has_the_name_of_a_module() -> None:
    """``import odernn.x`` sets the attribute x of the package to the module: a function x would be gone."""
    root = CHECKOUT / "odernn"
    modules = {path.stem for path in root.glob("[!_]*.py")} | {path.parent.name for path in root.glob("*/__init__.py")}
    assert modules & FUNCTIONS == set()
    classes = {name for name in odernn.__all__ if name[0].isupper()}
    assert modules & classes == set() and len(modules) == 16


@pytest.mark.parametrize(
    "statements",
    spread(
        map(
            pytest.param,
            itertools.permutations(
                (
                    "from odernn import algebraic_stability, order, symmetry, symplecticity",
                    "from odernn.properties import algebraic_stability, fact_sheet, symmetry, symplecticity",
                    "from odernn import tableaus; tableaus.GAUSS_2",
                )
            ),
        ),
        2,
    ),
)
def test_functions_stay_functions_whatever_is_imported_first(statements: tuple[str, ...]) -> None:
    check = (
        "from odernn import algebraic_stability, facts, order, symmetry, symplecticity, tableaus\n"
        "t = tableaus.GAUSS_2\n"
        "print(order(t).value, *(bool(f(t)) for f in (algebraic_stability, symplecticity, symmetry)), len(facts(t)))\n"
        "import odernn, sys\n"
        "assert odernn.algebraic_stability is algebraic_stability and odernn.symmetry is symmetry\n"
        "print([m for m in ('torch', 'sympy', 'scipy', 'numpy') if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join([*statements, check])], capture_output=True, text=True, cwd=CHECKOUT
    )
    assert done.stdout.splitlines() == ["4 True True True 28", "[]"], done.stderr


def test_one_verdict_in_a_fresh_process_imports_nothing_heavy() -> None:
    code = (
        "import odernn\nfrom odernn import algebraic_stability, tableaus\n"
        "assert algebraic_stability(tableaus.get('gauss 12'))"
    )
    assert loaded_after(code, ("torch", "sympy", "scipy", "numpy")) == []
