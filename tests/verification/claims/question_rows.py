"""What the tests of questions share: judgements at the budget "smoke", witnesses, and what no claim file may do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from odernn.published.sources import Source
from verification.answer import answer
from verification.domains import BUDGETS
from verification.parameters import Guarded, RefusedError
from verification.question import Case, Check, Parameters, Question
from verification.verdict import doubt_about

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
    question = Question("planted", Source("library", "a test"), "planted", "real", (case,))
    return judged(question, case)


def witness_of(question, domain, quantity):
    """The parameters that refute that case."""
    return json.loads(judged(question, question.case(domain, quantity)).witness)["parameters"]


def pinned(expected, domain, quantity):
    """The verdict by "domain | quantity", or by the quantity where that is enough."""
    return expected.get(f"{domain} | {quantity}") or expected[quantity]


def unguarded(case: Case) -> Callable[[Parameters], Check]:
    """The check behind the declaration: what the two back-ends say of parameters that the case is not about."""
    assert isinstance(case.check, Guarded)
    return case.check.check


def doubt_of(case: Case, parameters: Parameters) -> str:
    """Why these parameters do not refute the case; "" if they do."""
    assert case.check is not None
    try:
        return doubt_about(case.check(parameters), case)
    except RefusedError as refused:
        return str(refused)


def verdicts_of(question):
    """Of all its cases, in their order; every witness is checked once more from its text."""
    found = []
    for case in question.cases:
        judgement = judged(question, case)
        found.append(judgement.verdict)
        if judgement.verdict == REFUTED:
            assert doubt_of(case, json.loads(judgement.witness)["parameters"]) == ""
    return found


def assert_every_row_is_expected(families, expected):
    """``expected``: the verdicts of every question, in the order of its cases."""
    rows = {question.id: len(question.cases) for family in families for question in family.QUESTIONS}
    assert rows == {name: len(verdicts) for name, verdicts in expected.items()}


def assert_verdict(question, case, expected):
    """And that all its candidates certify where it is refuted."""
    judgement = judged(question, case)
    assert judgement.verdict == expected[question.id][question.cases.index(case)], judgement.because
    if judgement.verdict == REFUTED:
        assert_every_candidate_certifies(case)


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


def assert_no_name_of_a_family_matters(family, names):
    """Each question answers the same under the id of another one."""
    for question in family.QUESTIONS:
        other = names[names.index(question.id) - 7]
        for case in question.cases:
            assert_names_do_not_matter(question, case, other)


def assert_names_no_verdict(family):
    text = Path(family.__file__).read_text("utf-8")
    assert not [word for word in FORBIDDEN if word in text]
