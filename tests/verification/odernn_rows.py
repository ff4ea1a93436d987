"""What the tests of the questions about ODERNN, ARNN, QUNN and the clock share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from verification.answer import answer, doubt_about
from verification.domains import BUDGETS

SMOKE = BUDGETS["smoke"]
REFUTED, PROVED, NOT_REFUTED, SUSPECT, ERROR = "refuted", "proved", "not-refuted", "suspect", "error"
FORBIDDEN = ("refuted", "vacuous", "inconclusive", "suspect", "inapplicable", '"proved"', "verdict")


def rows_of(families):
    """(question, case) of all of them."""
    return [(question, case) for family in families for question in family.QUESTIONS for case in question.cases]


def name_of(row):
    question, case = row
    return f"{question.id}-{case.domain}-{case.quantity}"


def judged(question, case):
    return answer(question, case, SMOKE, 1)


def verdict_of(case):
    """Of a case that belongs to no question of the ledger: a planted one."""
    from odernn.tableau import Source
    from verification.question import Question

    question = Question("planted", Source("library", "a test"), "planted", "real", (case,))
    return judged(question, case)


def assert_every_candidate_certifies(case):
    """Not only the first, which decides."""
    attempt = case.ask(SMOKE, 1)
    assert attempt.candidates
    for parameters in attempt.candidates:
        check = case.check(parameters)
        assert doubt_about(check, case) == "", (parameters, check)
        assert check.words


def assert_names_do_not_matter(question, case, other):
    mine, theirs = judged(question, case), judged(replace(question, id=other), case)
    assert (mine.verdict, mine.because) == (theirs.verdict, theirs.because)


def assert_names_no_verdict(family):
    text = Path(family.__file__).read_text("utf-8")
    assert not [word for word in FORBIDDEN if word in text]
