"""thm-damp: verdicts, false variants that must turn, equality by hand, neurons that an adversary trained."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as Q

import pytest

from tests.verification.claims import claim_rows as rows
from tests.verification.claims.both_typings import both_sides, inequality_of
from verification.adversary import damped_neurons
from verification.cases import damped
from verification.claim import Case
from verification.claims.library import damped_oscillators

(CLAIM,) = damped_oscillators.CLAIMS


def test_a_claim_file_names_no_verdict() -> None:
    rows.assert_names_no_verdict(damped_oscillators)


def test_every_case_is_answered() -> None:
    assert rows.verdicts_of(CLAIM) == ["proved", "not-refuted", "not-refuted", "not-refuted"]


PLANTED: dict[str, Callable[[], Case]] = {
    "κ without its shift, twice": lambda: damped.similarity(2).case("all", "T M"),
    "an interval wider by a twentieth": lambda: damped.admitted_case(Q(21, 20)),
    "a rate worse by a hundredth": lambda: damped.outside_case(Q(101, 100)),
    "99/100 of the sum": lambda: damped.input_case(Q(99, 100)),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_falsehood_is_refuted(name: str) -> None:
    assert rows.verdict_of(PLANTED[name]()).verdict == "refuted"


@pytest.mark.parametrize("slope", ["0", "1"])
@pytest.mark.parametrize("end", ["1", "-1"])
def test_one_step_at_an_end_contracts_by_the_rate_and_no_more(end: str, slope: str) -> None:
    """h = 1/2, r = 1/5: ρ = 10/11 on both sides, at k = α and at α + w±, by both typings."""
    inequality = inequality_of(CLAIM.cases[1])
    place = {"h": "1/2", "r": "1/5", "gamma": "1", "alpha": "4", "end": end, "share": "1", "slopes": slope}
    for side in both_sides(inequality, place):
        assert side == pytest.approx([10 / 11] * 2, rel=1e-14)


def test_a_drive_enters_with_all_of_its_size() -> None:
    """(h, 1) has norm 1: one step moves by hq = 1/3 at h = 1/2 and γ = 1."""
    inequality = inequality_of(CLAIM.cases[3])
    place = {
        "h": "1/2",
        "r": "1/5",
        "gamma": "1",
        "alpha": "4",
        "end": "1",
        "share": "1/2",
        "slopes": "1",
        "change": "1",
    }
    for side in both_sides(inequality, place):
        assert side == pytest.approx([1 / 3] * 2, rel=1e-14)


def test_trained_neurons_are_inside_and_were_moved() -> None:
    found = list(damped_neurons.trained(0.2, 20, 1))
    assert len(found) == 3 and all(abs(each.share) < 1 for each in found)
    assert max(abs(each.share) for each in found) > 0.5 and {len(each.slopes) for each in found} == {20}
