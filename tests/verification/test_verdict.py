"""How verdicts add up: the gravest one speaks, and nothing is proved unless everything is."""

import itertools
import math
from dataclasses import replace

import pytest

from odernn.published.sources import Source
from verification.answer import answer
from verification.claim import Attempt, Case, Claim
from verification.domains import BUDGETS, printed_name, printed_rows
from verification.trained.row import BoundComparison, Row, judged, uncertified
from verification.verdict import (
    ERROR,
    INAPPLICABLE,
    INCONCLUSIVE,
    NOT_REFUTED,
    PRECEDENCE,
    PROVED,
    REFUTED,
    RULES,
    SUSPECT,
    THEOREM_TESTED,
    VACUOUS,
    Findings,
    Judgement,
    Sides,
    aggregate,
    decided,
)

GRAVEST_FIRST = ("refuted", "error", "suspect", "inconclusive", "not-refuted", "vacuous", "inapplicable")


def expected(cells):
    """DESIGN.md, word for word: proved if all cells are (inapplicable ones say nothing), else the gravest."""
    applicable = set(cells) - {"inapplicable"}
    if applicable == {"proved"}:
        return "proved"
    return next(verdict for verdict in GRAVEST_FIRST if verdict in (applicable or {"inapplicable"}))


def test_the_order_of_gravity_is_the_documented_one():
    assert tuple(v for v in PRECEDENCE if v != PROVED) == GRAVEST_FIRST
    assert set(PRECEDENCE) == {REFUTED, ERROR, SUSPECT, INCONCLUSIVE, NOT_REFUTED, VACUOUS, INAPPLICABLE, PROVED}


@pytest.mark.parametrize("verdict", PRECEDENCE)
def test_one_cell_adds_up_to_itself(verdict):
    assert aggregate([verdict]) == verdict


@pytest.mark.parametrize("size", [2, 3])
def test_several_cells_add_up_to_the_gravest_whatever_their_order(size):
    cases = list(itertools.product(PRECEDENCE, repeat=size))
    assert len(cases) == 8**size
    for cells in cases:
        assert aggregate(cells) == expected(cells), cells
        assert aggregate(reversed(cells)) == aggregate(iter(cells))


def test_proved_needs_every_cell_that_speaks():
    assert aggregate([PROVED, PROVED]) == PROVED
    assert aggregate([PROVED, INAPPLICABLE]) == PROVED
    for other in set(PRECEDENCE) - {PROVED, INAPPLICABLE}:
        assert aggregate([PROVED, other, PROVED]) == other


def test_an_error_is_never_hidden_by_a_pass():
    for passing in (NOT_REFUTED, PROVED, VACUOUS, INAPPLICABLE):
        assert aggregate([passing, ERROR, passing]) == ERROR


def test_no_cell_at_all_is_inapplicable():
    assert aggregate([]) == INAPPLICABLE


@pytest.mark.parametrize("cells", [["passed"], [NOT_REFUTED, ""], ["Refuted"], [NOT_REFUTED, "refuted "]])
def test_an_unknown_verdict_is_an_error_not_a_pass(cells):
    with pytest.raises(ValueError, match="Unknown verdict"):
        aggregate(cells)


# --- one cell

ABOVE = Sides(1.0, 0.5, "at n = 3")
NAN = Sides(math.nan, 0.5)
FINDS = (
    (INAPPLICABLE, Findings(inapplicable="α > 1 fails")),
    (REFUTED, Findings(certified="by two back-ends")),
    (SUSPECT, Findings(doubt="the second one is silent")),
    (SUSPECT, Findings(sides=(ABOVE,))),
    (INCONCLUSIVE, Findings(sides=(NAN,))),
    (VACUOUS, Findings(log_promised=200.0, log_largest=88.7)),
    (PROVED, Findings(proof=lambda: "in balls")),
    (INCONCLUSIVE, Findings(untried="nothing was tried")),
    (INCONCLUSIVE, Findings(power="0.4 of a known optimum")),
    (NOT_REFUTED, Findings(tried="100 points")),
)


def both(one, other):
    """What either of them found."""
    blank = Findings()
    changed = {
        name: getattr(findings, name)
        for findings in (one, other)
        for name in vars(blank)
        if getattr(findings, name) != getattr(blank, name)
    }
    return replace(blank, **changed | {"sides": one.sides + other.sides})


def test_every_rule_speaks_for_what_it_is_about():
    assert [verdict for verdict, _ in RULES] == [verdict for verdict, _ in FINDS]
    for number, (verdict, findings) in enumerate(FINDS):
        assert decided(findings)[0] == verdict
        assert [bool(reason(findings)) for _, reason in RULES] == [place == number for place in range(len(RULES))]


@pytest.mark.parametrize("first, second", list(itertools.combinations(range(len(FINDS)), 2)))
def test_of_any_two_rules_the_first_one_speaks(first, second):
    for pair in ((first, second), (second, first)):
        one, other = (FINDS[place][1] for place in pair)
        assert decided(both(one, other)) == (FINDS[first][0], RULES[first][1](FINDS[first][1]))


def test_nothing_found_is_no_pass():
    assert decided(Findings()) == (INCONCLUSIVE, "nothing was tried")


@pytest.mark.parametrize("measured", [math.nan, math.inf])
def test_what_is_not_finite_is_never_not_refuted(measured):
    findings = Findings(sides=(Sides(0.0, 1.0), Sides(measured, 1.0)), proof="?", tried="much")
    assert decided(findings)[0] == INCONCLUSIVE
    for log_bound in (math.nan, math.inf):
        with pytest.raises(FloatingPointError, match="the bound is not finite"):
            Sides(0.0, log_bound)


@pytest.mark.parametrize(("excess", "verdict"), [(-1.0, NOT_REFUTED), (9e-10, NOT_REFUTED), (1.1e-9, SUSPECT)])
def test_an_excess_within_rounding_is_none(excess, verdict):
    for bound in (0.0, -40.0, 300.0):
        said, because = decided(Findings(sides=(Sides(bound + excess, bound, "at n = 3"),), tried="much"))
        assert said == verdict and ("at n = 3" in because) == (verdict == SUSPECT)


def test_zero_obeys_a_bound_of_zero():
    zero = -math.inf
    assert decided(Findings(sides=(Sides(zero, zero),), tried="much"))[0] == NOT_REFUTED
    assert decided(Findings(sides=(Sides(-700.0, zero),), tried="much"))[0] == SUSPECT


def test_a_proof_is_not_tried_where_something_graver_speaks():
    def proof():
        raise AssertionError("asked for a proof")

    for verdict, findings in FINDS[:6]:
        assert decided(replace(findings, proof=proof))[0] == verdict


def test_a_bound_is_vacuous_only_beyond_the_largest_number_of_its_dtype():
    tried = Findings(tried="much", log_promised=88.0, log_largest=88.7)
    assert decided(tried)[0] == NOT_REFUTED
    assert decided(replace(tried, log_promised=200.0))[0] == VACUOUS
    assert decided(replace(tried, log_promised=200.0, log_largest=None))[0] == NOT_REFUTED


def of_a_case(log_measured, log_bound):
    """On a row that was printed, which ran in float32."""
    ask = lambda budget, seed: Attempt("tried", 9, log_measured=log_measured, log_claimed=log_bound)  # noqa: E731
    case = Case(printed_name(printed_rows()[0]), "x", ask)
    return answer(Claim("made", Source("sam", "made"), "made", "real", (case,)), case, BUDGETS["smoke"], 0).verdict


def of_a_checkpoint(log_measured, log_bound):
    comparison = BoundComparison(log_bound, log_measured, uncertified("nobody can"))
    return judged(Row("bound", 1, "x"), lambda: comparison).verdict


@pytest.mark.parametrize("ladder", [of_a_case, of_a_checkpoint])
@pytest.mark.parametrize(
    ("log_measured", "log_bound", "verdict"),
    [
        (1.0, 200.0, VACUOUS),
        (1.0, 2.0, NOT_REFUTED),
        (2.0, 1.0, SUSPECT),
        (math.inf, 1.0, INCONCLUSIVE),
        (-math.inf, 1.0, NOT_REFUTED),
    ],
)
def test_the_ladders_of_cases_and_of_checkpoints_say_the_same(ladder, log_measured, log_bound, verdict):
    """That of bounds on states is asked in ``cases/test_judge.py``."""
    assert ladder(log_measured, log_bound) == verdict


def judgement(**changes):
    fields = {
        "claim": "c",
        "domain": "free",
        "layer": 1,
        "quantity": "position",
        "norm": "max",
        "symbol": "y",
        "reading": "",
        "verdict": NOT_REFUTED,
        "because": "tried",
    }
    return Judgement(**fields | changes)


def test_a_judgement_is_read_as_it_was_written():
    original = judgement(log_bound=1.5, witness="{}", step=3)
    assert Judgement(**original.to_plain()) == original


def test_only_a_theorem_that_was_not_refuted_is_shown_as_tested():
    assert judgement(origin="library").shown == THEOREM_TESTED
    assert judgement().shown == NOT_REFUTED
    for verdict in set(PRECEDENCE) - {NOT_REFUTED}:
        assert judgement(origin="library", verdict=verdict).shown == verdict
