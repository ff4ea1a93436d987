"""What the tests of claims share: judgements at the budget "smoke", witnesses, and what no claim file may do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from odernn.published.sources import Source
from verification.answer import answer
from verification.claim import Case, Check, Claim, Parameters
from verification.domains import BUDGETS
from verification.parameters import Guarded, RefusedError
from verification.verdict import doubt_about

SMOKE = BUDGETS["smoke"]
REFUTED, PROVED, NOT_REFUTED, SUSPECT, ERROR = "refuted", "proved", "not-refuted", "suspect", "error"
FORBIDDEN = ("refuted", "vacuous", "inconclusive", "suspect", "inapplicable", '"proved"', "verdict")


def rows_of(families):
    """(claim, case) of all of them."""
    return [(claim, case) for family in families for claim in family.CLAIMS for case in claim.cases]


def name_of(row):
    claim, case = row
    return f"{claim.id}-{case.domain}-{case.quantity}"


def judged(claim, case):
    return answer(claim, case, SMOKE, 1)


def verdict_of(case):
    """Of a case that belongs to no claim of the ledger: a planted one."""
    claim = Claim("planted", Source("library", "a test"), "planted", "real", (case,))
    return judged(claim, case)


def witness_of(claim, domain, quantity):
    """The parameters that refute that case."""
    return json.loads(judged(claim, claim.case(domain, quantity)).witness)["parameters"]


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


def verdicts_of(claim):
    """Of all its cases, in their order; every witness is checked once more from its text."""
    found = []
    for case in claim.cases:
        judgement = judged(claim, case)
        found.append(judgement.verdict)
        if judgement.verdict == REFUTED:
            assert doubt_of(case, json.loads(judgement.witness)["parameters"]) == ""
    return found


def assert_every_row_is_expected(families, expected):
    """``expected``: the verdicts of every claim, in the order of its cases."""
    rows = {claim.id: len(claim.cases) for family in families for claim in family.CLAIMS}
    assert rows == {name: len(verdicts) for name, verdicts in expected.items()}


def assert_verdict(claim, case, expected):
    """And that all its candidates certify where it is refuted."""
    attempts = []

    def ask(*given):
        attempts.append(case.ask(*given))
        return attempts[-1]

    judgement = judged(claim, replace(case, ask=ask))  # searched once for both
    assert judgement.verdict == expected[claim.id][claim.cases.index(case)], judgement.because
    if judgement.verdict == REFUTED:
        assert_every_candidate_certifies(case, attempts[0])


def assert_every_candidate_certifies(case, attempt=None):
    """Not only the first, which decides."""
    attempt = attempt or case.ask(SMOKE, 1)
    assert attempt.candidates
    for parameters in attempt.candidates:
        check = case.check(parameters)
        assert doubt_about(check, case) == "", (parameters, check)
        assert check.words


def assert_names_do_not_matter(claim, case, other):
    mine, theirs = judged(claim, case), judged(replace(claim, id=other), case)
    assert (mine.verdict, mine.because) == (theirs.verdict, theirs.because)


def assert_no_name_of_a_family_matters(family, names):
    """Each claim answers the same under the id of another one."""
    for claim in family.CLAIMS:
        other = names[names.index(claim.id) - 7]
        for case in claim.cases:
            assert_names_do_not_matter(claim, case, other)


def assert_names_no_verdict(family):
    text = Path(family.__file__).read_text("utf-8")
    assert not [word for word in FORBIDDEN if word in text]
