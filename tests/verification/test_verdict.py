"""How verdicts add up: the gravest one speaks, and nothing is proved unless everything is."""

import itertools

import pytest

from verification.verdict import (
    ERROR,
    INAPPLICABLE,
    INCONCLUSIVE,
    NOT_REFUTED,
    PRECEDENCE,
    PROVED,
    REFUTED,
    SUSPECT,
    THEOREM_TESTED,
    VACUOUS,
    Judgement,
    aggregate,
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
