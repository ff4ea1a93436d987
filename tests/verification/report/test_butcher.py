"""Methods as books print them: arrays, fractions and radicals, in text and in LaTeX."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from pathlib import Path

import pytest
from flint import fmpq

from odernn import tableaus
from odernn.exact.algebraic import sqrt
from odernn.tableaus import families
from odernn.tableaus import files as tableau_files
from odernn.tableaus.families import PolynomialTableau
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau, Q
from odernn.written import arrays, formulas
from tests import latex
from verification.report.formats import latex as latex_format
from verification.report.rows import butcher
from verification.report.table import Column, Table


def width(line: str) -> int:
    return sum(not unicodedata.combining(character) for character in line)


def test_gauss_2_is_printed_as_in_the_book() -> None:
    assert arrays.text(tableaus.GAUSS_2).split("\n") == [
        "1/2 − √3/6 │        1/4  1/4 − √3/6",
        "1/2 + √3/6 │ 1/4 + √3/6         1/4",
        "───────────┼───────────────────────",
        "           │        1/2         1/2",
    ]


def test_explicit_methods_have_blanks_above_the_diagonal_and_zeros_below() -> None:
    assert arrays.text(tableaus.RK4).split("\n") == [
        "  0 │",
        "1/2 │ 1/2",
        "1/2 │   0  1/2",
        "  1 │   0    0    1",
        "────┼───────────────────",
        "    │ 1/6  1/3  1/3  1/6",
    ]


def test_embedded_weights_have_a_row_of_their_own() -> None:
    lines = arrays.text(tableaus.get("heun euler 2(1)")).split("\n")
    assert lines[-2:] == ["y₁ │ 1/2  1/2", "ŷ₁ │   1    0"]


def test_partitioned_methods_are_two_arrays_side_by_side() -> None:
    assert arrays.text(tableaus.STOERMER_VERLET).split("\n") == [
        "position         momentum",
        "",
        "0 │   0          1/2 │ 1/2",
        "1 │ 1/2  1/2     1/2 │ 1/2    0",
        "──┼─────────     ────┼─────────",
        "  │ 1/2  1/2         │ 1/2  1/2",
    ]


def test_roots_of_cubics_get_a_letter_and_a_legend() -> None:
    text = arrays.text(tableaus.get("alexander 3"))
    assert "1/2 + θ/2" in text and "5/4 − 5θ + 3θ²/2" in text
    assert text.endswith("θ ≈ 0.435866521508 is a root of x³ − 3x² + 3x/2 − 1/6")


def test_a_composition_is_its_base_and_its_fractions() -> None:
    lines = arrays.text(tableaus.get("yoshida 4")).split("\n")
    assert lines[0] == "3 steps of stoermer verlet, step k with γₖ h:"
    assert lines[2].startswith("γ₁ = γ₃ = 2/3 + ∛2/3") and lines[3].startswith("γ₂ = −1/3 − 2∛2/3")


def test_what_is_not_written_out_is_printed_in_decimals_with_the_polynomial_of_its_nodes() -> None:
    text = arrays.text(families.gauss(4))
    assert "0.069432" in text
    assert "c₁, …, c₄ are the roots of x⁴ − 2x³ + 9x²/7 − 2x/7 + 1/70; decimals are rounded to 6 places." in text
    assert "0.0694318442" in arrays.text(families.gauss(4), 10)


def test_the_abscissae_of_lobatto_iiib_are_not_its_nodes() -> None:
    """Row sums of A, that is; from 3 stages on they are, at 2 they are not."""
    assert arrays.text(families.lobatto_iiib(2)).startswith("1/2 │ 1/2")


@pytest.mark.parametrize("places", [0, 1, 5, 12, 40])
def test_decimals_are_correctly_rounded_and_fewer_digits_are_exact(places: int) -> None:
    for text, square in ((formulas.decimals(sqrt(2), places), 2), (formulas.decimals(-sqrt(3), places), 3)):
        half = Fraction(1, 2 * 10**places)
        low, high = abs(Fraction(text)) - half, abs(Fraction(text)) + half
        assert low * low < square < high * high
        assert len(text.partition(".")[2]) == places
    assert formulas.decimals(fmpq(1, 8), max(places, 3)) == "0.125"
    assert formulas.decimals(fmpq(-2, 3), 5) == "-0.66667" and formulas.decimals(fmpq(7), places) == "7"
    assert formulas.decimals(fmpq(-1, 10**9), 3) in {"0.000", "-0.000"}


def test_decimals_of_the_whole_array() -> None:
    assert arrays.text(tableaus.GAUSS_2, 4).split("\n")[0] == "0.2113 │   0.25  −0.0387"


def test_floats_are_printed_as_they_were_given() -> None:
    assert "0.1" in arrays.text(ButcherTableau([[0.1]], [1])).split("\n")[0]


def test_printed_decimals_stay_decimals() -> None:
    text = arrays.text(tableaus.get("tsitouras 5(4)"))
    assert "b₅ = −3.290069515436081" in text and "/1000" not in text


def test_a_wide_array_is_listed_row_by_row_without_losing_a_coefficient() -> None:
    method = tableaus.get("dop853")
    text = arrays.text(method)
    assert max(map(width, text.split("\n"))) <= arrays.PAGE and "│" not in text
    assert len(re.findall(r"a[₀-₉,]+ = ", text)) == sum(a != 0 for row in method.A for a in row)
    assert len(re.findall(r"b[₀-₉]+ = ", text)) == sum(b != 0 for b in method.b)


@pytest.mark.parametrize("name", tableaus.names())
def test_every_entry_of_the_catalogue_is_printed_within_the_page(name: str) -> None:
    text = arrays.text(tableaus.get(name))
    assert text and "sqrt" not in text and "root(" not in text and "*" not in text
    assert max(map(width, text.split("\n"))) <= arrays.PAGE + 40  # a single coefficient may be longer than a line
    source = arrays.latex(tableaus.get(name))
    assert source.isascii() and source.count("{") == source.count("}")


def test_what_is_for_programs_can_be_read_again(tmp_path: Path) -> None:
    import json

    for number, name in enumerate(("radau iia 3", "alexander 3", "bogacki shampine 3(2)", "stoermer verlet")):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(arrays.data(tableaus.get(name))), encoding="utf-8")
        again, method = tableau_files.read(path), tableaus.get(name)
        if isinstance(method, PartitionedTableau):
            assert isinstance(again, PartitionedTableau)
            assert (again.position.A, again.momentum.A) == (method.position.A, method.momentum.A)
        else:
            assert isinstance(again, ButcherTableau) and isinstance(method, ButcherTableau)
            assert (again.A, again.b, again.b_hat) == (method.A, method.b, method.b_hat)


# --- formulas ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ("1/2 - 1/6*sqrt(3)", "1/2 − √3/6"),
        ("-1/108*sqrt(3)", "−√3/108"),
        ("5/4 - 5*x + 3/2*x^2", "5/4 − 5x + 3x²/2"),
        ("R(z) = (1 + 1/2*z)/(1 - 1/2*z + 1/12*z^12)", "R(z) = (1 + z/2)/(1 − z/2 + z¹²/12)"),
        ("v = (1, -1/2): vᵀMv = -1/4", "v = (1, −1/2): vᵀMv = −1/4"),
        ("cbrt(2)^2", "(∛2)²"),
        ("1e-14", "1e-14"),
        ("tr-bdf2 and lobatto iiia-iiib 3", "tr-bdf2 and lobatto iiia-iiib 3"),
        ("-3290069515436081/1000000000000000", "−3.290069515436081"),
        (f"{10**30 + 1}/{3 * 10**30}*z", "0.333333…z"),
    ],
)
def test_formulas_are_set_as_in_print(given: str, printed: str) -> None:
    assert formulas.typeset(given) == printed


# --- LaTeX ------------------------------------------------------------------------------------------------------


def test_the_latex_array() -> None:
    assert arrays.latex(tableaus.GAUSS_2).split("\n") == [
        r"\[",
        r"\begin{array}{c|cc}",
        r"\frac{1}{2}-\frac{\sqrt{3}}{6} & \frac{1}{4} & \frac{1}{4}-\frac{\sqrt{3}}{6} \\",
        r"\frac{1}{2}+\frac{\sqrt{3}}{6} & \frac{1}{4}+\frac{\sqrt{3}}{6} & \frac{1}{4} \\",
        r"\hline",
        r" & \frac{1}{2} & \frac{1}{2}",
        r"\end{array}",
        r"\]",
    ]


@pytest.mark.slow
@pytest.mark.latex
def test_latex_of_every_kind_compiles_alone(tmp_path: Path) -> None:
    names = ("radau iia 3", "alexander 3", "lobatto iiia-iiib 3", "yoshida 4", "gauss 5", "dop853", "forest ruth 4")
    methods = [tableaus.get(name) for name in names]
    kinds = {type(method) for method in methods}
    assert kinds == {ButcherTableau, PartitionedTableau, Composition, PolynomialTableau} or len(kinds) >= 4
    for method in methods:
        table = Table("a table", (Column("x"),), (("1",),), figure=butcher.figure([method]))
        assert latex.flaws(latex.compiled(latex_format.render(table), tmp_path)) == [], method.name


def test_a_planted_wrong_coefficient_is_seen() -> None:
    wrong = ButcherTableau([[Q(1, 4), "1/4-sqrt(3)/6"], ["1/4+sqrt(3)/7", Q(1, 4)]], [Q(1, 2), Q(1, 2)])
    assert arrays.text(wrong) != arrays.text(tableaus.GAUSS_2)
