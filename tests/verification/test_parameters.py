"""Declarations read what they draw, and refuse everything else by name before numbers are made of it."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from verification.claim import GIVEN, Check, ClaimError, Opinion
from verification.kinds import (
    MOST_DIGITS,
    MOST_NUMBERS,
    SIGN,
    SKEW,
    STRICTLY_LOWER,
    SYMMETRIC,
    Choice,
    Constant,
    Integer,
    Kind,
    Listed,
    Matrix,
    Rational,
    Rows,
    Square,
    in_blocks,
    in_rows,
)
from verification.parameters import Declaration, Parameter, RefusedError, Rule, declared, rationals

KINDS: dict[str, Kind] = {
    "any number": Rational(),
    "a step": Rational(above=0, below=1),
    "a share": Rational(least=0, most=Fraction(1, 3)),
    "below": Rational(below=-2, nonzero=True),
    "a size": Integer(1, 5000),
    "a weight": Choice(("w", "b", "V")),
    "a constant": Constant(Fraction(3, 100)),
    "a named constant": Constant("leapfrog"),
    "a list": Listed(Rational(), (1, 4)),
    "signs": Listed(SIGN, 3),
    "a matrix": Matrix(2, 3),
    "skew": Matrix(3, 3, structure=SKEW),
    "symmetric": Square(4, structure=SYMMETRIC),
    "explicit": Square(4, structure=STRICTLY_LOWER),
}


@pytest.mark.parametrize("name", KINDS)
def test_what_is_drawn_is_read_back(name: str) -> None:
    declaration, rng = declared(Parameter("x", KINDS[name])), random.Random(1)
    drawn = [declaration.draw(rng) for _ in range(200)]
    for texts in drawn:
        assert declaration.canonical(texts) == texts
    if not isinstance(KINDS[name], Constant | Choice):
        assert len({texts["x"] for texts in drawn}) > 5


def test_draws_come_near_both_ends_and_into_the_middle() -> None:
    rng = random.Random(2)
    values = [Rational(above=0, below=1).draw(rng, {}) for _ in range(2000)]
    assert min(values) < Fraction(1, 10**9) and max(values) > 1 - Fraction(1, 10**6)
    assert sum(Fraction(1, 4) < x < Fraction(3, 4) for x in values) > 400
    sizes = [Integer(1, 64).draw(rng, {}) for _ in range(500)]
    assert {1, 2, 64} <= set(sizes)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Rational(), ""),
        (Rational(), "1e9"),
        (Rational(), "1_0"),
        (Rational(), "２"),
        (Rational(), "٣"),
        (Rational(), "0x1p3"),
        (Rational(), "nan"),
        (Rational(), "inf"),
        (Rational(), "1.5"),
        (Rational(), "+1"),
        (Rational(), " 1"),
        (Rational(), "1 "),
        (Rational(), "1\n"),
        (Rational(), "1/0"),
        (Rational(), "1/-2"),
        (Rational(), "1 2"),
        (Rational(), "9" * (MOST_DIGITS + 1)),
        (Rational(), "1/" + "9" * (MOST_DIGITS + 1)),
        (Rational(above=0, below=1), "0"),
        (Rational(above=0, below=1), "1"),
        (Rational(nonzero=True), "0/5"),
        (Integer(1, 9), "0"),
        (Integer(1, 9), "10"),
        (Integer(1, 9), "4/2"),
        (Integer(1, 9), "9" * 400),
        (Choice(("w", "b")), "W"),
        (Constant(Fraction(1, 10)), "1/100"),
        (Constant("leapfrog"), "euler"),
        (Listed(Rational(), 2), "1"),
        (Listed(Rational(), 2), "1 2 3"),
        (Listed(Rational(), 2), "1  2"),
        (Listed(SIGN, (1, 3)), "1 -3"),
        (Listed(Rational(), (1, 10**9)), " ".join(["1"] * (MOST_NUMBERS + 1))),
        (Matrix(2, 2, structure=SKEW), "0 1 1 0"),
        (Square(3), "1 2 3"),
        (Square(3), " ".join(["0"] * 16)),
        (Square(3, structure=SKEW), "7"),
        (Square(3, structure=SYMMETRIC), "1 2 3 4"),
        (Square(3, structure=STRICTLY_LOWER), "0 1 0 0"),
    ],
)
def test_what_is_not_of_the_kind_is_refused_by_name(kind: Kind, text: str) -> None:
    with pytest.raises(RefusedError, match=r'^Parameter "x" is ') as refusal:
        declared(Parameter("x", kind)).read({"x": text})
    assert str(kind) in str(refusal.value) and len(str(refusal.value)) < 500


def test_names_are_those_declared_and_no_other() -> None:
    declaration = declared(*rationals("a", "b", above=0), Parameter("c", Rational(), optional=True))
    with pytest.raises(RefusedError, match='Parameter "b" is missing: it is a rational number > 0'):
        declaration.read({"a": "1"})
    with pytest.raises(RefusedError, match=r'Parameter "d" is unknown to this case\. It has: a, b, c'):
        declaration.read({"a": "1", "b": "1", "d": "1"})
    assert declaration.read({"a": "1", "b": "2/4"}) == {"a": 1, "b": Fraction(1, 2)}
    assert declaration.canonical({"a": "1", "b": "2/4", "c": "-0/7"}) == {"a": "1", "b": "1/2", "c": "0"}
    with pytest.raises(RefusedError, match="no text"):
        declaration.read({"a": 1, "b": "1"})  # type: ignore[dict-item]
    with pytest.raises(ClaimError, match="declared twice"):
        declared(*rationals("a", "a"))


def test_sizes_follow_from_what_was_read_before() -> None:
    declaration = declared(
        Parameter("n", Integer(1, 4)),
        Parameter("A", Matrix("n", "n", structure=SKEW)),
        Parameter("D", Listed(SIGN, "n")),
        Parameter("free", Listed(Rational(), lambda read: read["n"] * (read["n"] - 1) // 2)),
    )
    good = {"n": "2", "A": "0 1 -1 0", "D": "1 -1", "free": "5"}
    assert declaration.read(good)["A"] == ((0, 1), (-1, 0))
    for changed in ({"n": "3"}, {"A": "0"}, {"D": "1"}, {"free": "5 6"}):
        with pytest.raises(RefusedError):
            declaration.read(good | changed)
    rng = random.Random(3)
    assert {len(declaration.draw(rng)["D"].split()) for _ in range(50)} == {1, 2, 3, 4}


def test_a_list_says_how_long_it_may_be_and_how_long_it_is() -> None:
    for count, wanted in ((2, "3 entries instead of 2"), ((1, 2), "3 entries instead of 1 to 2")):
        with pytest.raises(RefusedError, match=rf"it has {wanted}\)"):
            declared(Parameter("x", Listed(Rational(), count))).read({"x": "1 2 3"})


def test_a_matrix_has_all_its_entries_and_no_more() -> None:
    declaration = declared(Parameter("x", Matrix(2, 3)))
    assert declaration.read({"x": "1 2 3 4 5 6"})["x"] == ((1, 2, 3), (4, 5, 6))
    for text in ("1 2", "1 2 3", "1 2 3 4 5", "1 2 3 4 5 6 7"):
        with pytest.raises(RefusedError, match="instead of 6"):
            declaration.read({"x": text})


def test_rows_are_of_one_width_and_as_many_as_one_of_the_counts() -> None:
    """One row for all steps, or one a step."""
    declaration = declared(
        Parameter("N", Integer(1, 9)), Parameter("u", Rows(Rational(), 2, lambda read: (1, read["N"]), most=8))
    )
    for text, rows in (("1 2", ((1, 2),)), ("1 2 3 4 5 6", ((1, 2), (3, 4), (5, 6)))):
        assert declaration.read({"N": "3", "u": text})["u"] == rows
        assert declaration.canonical({"N": "3", "u": text})["u"] == text
    for N, text in (("3", "1"), ("3", "1 2 3"), ("3", "1 2 3 4"), ("3", "1 2 3 4 5 6 7"), ("5", " ".join("12345" * 2))):
        with pytest.raises(RefusedError, match="are not so many rows of 2 as there may be"):
            declaration.read({"N": N, "u": text})
    column = declared(Parameter("u", Rows(Rational(), 1, lambda _: (3,))))
    assert column.read({"u": "1 2 3"})["u"] == ((1,), (2,), (3,))
    rng = random.Random(5)
    lengths = {len(declaration.draw(rng)["u"].split(" ")) for _ in range(200)}
    assert lengths == {2, 4, 6, 8}


def test_numbers_have_as_many_digits_as_is_said_and_matrices_as_many_entries() -> None:
    """A float64 has denominators of 2^1074, and a matrix of 64 × 64 is the largest of a case."""
    assert MOST_DIGITS == 1_400 and MOST_NUMBERS == 64 * 64
    assert declared(*rationals("x")).read({"x": "9" * 1400})["x"] == 10**1400 - 1
    many = declared(Parameter("x", Listed(Rational(), (1, 10**9))))
    assert len(many.read({"x": " ".join(["1"] * 4096)})["x"]) == 4096


def test_a_long_value_is_shown_in_part() -> None:
    with pytest.raises(RefusedError, match=r'is "x{60}… \(61 letters\)"'):
        declared(Parameter("word", Choice(("w",)))).read({"word": "x" * 61})


def test_rules_are_about_several_parameters() -> None:
    rule = Rule("a + b ≤ 1", lambda read: read["a"] + read["b"] <= 1)
    declaration = declared(*rationals("a", "b", least=0, most=1), rules=[rule])
    with pytest.raises(RefusedError, match="a \\+ b ≤ 1"):
        declaration.read({"a": "1", "b": "1"})
    rng = random.Random(4)
    assert all(declaration.read(declaration.draw(rng)) for _ in range(100))
    impossible = Declaration(declaration.parameters, (Rule("never", lambda read: False),))
    with pytest.raises(ValueError, match="no parameters were drawn"):
        impossible.draw(rng)


def test_a_guarded_check_sees_canonical_text_and_what_is_constant() -> None:
    seen: list[dict[str, str]] = []

    def check(texts: dict[str, str]) -> Any:
        seen.append(texts)
        return Check(())

    guarded = declared(Parameter("order", Constant(2)), *rationals("x")).guards(check)
    guarded({"x": "4/2"})
    assert seen == [{"order": "2", "x": "2"}]
    with pytest.raises(RefusedError, match='Parameter "order" is "3": it is 2 in this case'):
        guarded({"order": "3", "x": "1"})
    assert len(seen) == 1


def test_what_a_back_end_says_is_cut_after_ten_thousand_letters() -> None:
    for length, ending in ((10_000, "x"), (10_001, "x… (10001 letters)")):
        said = Opinion("balls", False, "x" * length)
        declaration = declared(Parameter("a", Integer(1, 3)))
        found = declaration.guards(lambda _, said=said: Check((said,), words=said.text))({"a": "1"})
        expected = "x" * min(length, 10_000) + ending[1:]
        assert found.opinions[0].text == found.words == expected


def test_a_declaration_says_what_each_parameter_is() -> None:
    declaration = declared(
        Parameter("dt", Rational(above=0, below=1)),
        Parameter("gamma", Constant(Fraction(1, 10))),
        Parameter("x", Listed(Rational(), (1, 99))),
        Parameter("left", Rational(), optional=True),
    )
    assert declaration.described({"dt": "2/4", "x": " ".join(["12"] * 40)}) == [
        "dt = 1/2: a rational number > 0 and < 1",
        "gamma = 1/10, a constant of this case",
        "x = (40 × 12): a list; each entry is a rational number",
    ]
    long = declaration.described({"dt": "1/2", "x": " ".join(str(10**20 + k) for k in range(60))})[2]
    assert "… (1380 letters, in its file): a list; each entry is a rational number" in long and len(long) < 1_100


def test_matrices_are_laid_out_as_matrices_and_the_order_of_lists_is_said() -> None:
    declaration = declared(
        Parameter("L", Integer(1, 9)),
        Parameter("W", Matrix(2, 3)),
        Parameter("T", Square(2)),
        Parameter("w", Listed(Rational(), "L"), order="a number a layer"),
        Parameter("V", Listed(Rational(), lambda v: 4 * v["L"]), order="a matrix a layer", layout=in_blocks(2)),
        Parameter("b", Listed(Rational(), lambda v: 2 * v["L"]), layout=in_rows(2)),
        Parameter("D", Constant("1 1 1 1 -1")),
        Parameter("u", Rows(Rational(), 2, lambda _: (5,))),
        Parameter("none", Listed(Rational(), 0)),
        Parameter("word", Choice(("a b", "c"))),
    )
    texts = {
        "L": "2",
        "W": "1 2 3 4 5 6",
        "T": "0 1 -1 0",
        "w": "-13 1/2",
        "V": "1 0 0 1 0 2 3 0",
        "b": "1 2 3 4",
        "u": " ".join(["0 0"] * 4 + ["1 0"]),
        "none": "",
        "word": "a b",
    }
    assert declaration.laid_out(texts) == (
        "L = 2; W = [1 2 3; 4 5 6]; T = [0 1; -1 0]; w = (-13, 1/2) (a number a layer); "
        "V = ([1 0; 0 1], [0 2; 3 0]) (a matrix a layer); b = [1 2; 3 4]; D = (4 × 1, -1); u = [4 × (0 0); 1 0]; "
        "word = a b"
    )


@pytest.mark.parametrize(
    ("kind", "texts", "said"),
    [
        (Listed(Rational(), 2), ["1/2", "-1"], "(1/2, -1)"),
        (Listed(Rational(), 3), ["1", "1", "1"], "(1, 1, 1)"),
        (Listed(Rational(), 5), ["2", "1", "1", "1", "1"], "(2, 4 × 1)"),
        (Constant("3 -2"), ["3", "-2"], "(3, -2)"),
        (Constant("3"), ["3"], "3"),
    ],
)
def test_a_list_of_two_numbers_is_a_list_and_of_more_than_three_alike_the_number_is_said(
    kind: Kind, texts: list[str], said: str
) -> None:
    assert declared(Parameter("x", kind)).laid_out({"x": " ".join(texts)}) == f"x = {said}"


@pytest.mark.parametrize("value", ["1 2 3 4", ("1", "2", "3", "4"), (("1", "2"), ("3", "4"))])
def test_no_row_and_no_block_is_left_out_whatever_the_width(value: Any) -> None:
    assert [in_rows(width)(value, {}) for width in (1, 2, 4)] == ["[1; 2; 3; 4]", "[1 2; 3 4]", "[1 2 3 4]"]
    assert [in_blocks(rows)(value, {}) for rows in (1, 2)] == ["([1], [2], [3], [4])", "([1 2; 3 4])"]


def test_the_guard_says_the_parameters_in_the_words_of_a_check() -> None:
    declaration = declared(Parameter("W", Matrix(2, 2)))
    guarded = declaration.guards(lambda _: Check((), words=f"{GIVEN}: det W = -2"))
    assert guarded({"W": "1 2 3 4"}).words == "W = [1 2; 3 4]: det W = -2"


def test_a_rule_that_few_numbers_obey_is_obeyed_by_what_is_drawn() -> None:
    declaration = declared(
        Parameter("N", Integer(1, 4096)), rules=(Rule("N is 3 mod 64", lambda values: values["N"] % 64 == 3),)
    )
    for seed in range(50):
        assert int(declaration.draw(random.Random(seed))["N"]) % 64 == 3
