"""thm-J (g), thm-Lip, thm-in: verdicts, false variants that must turn, equality by hand."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as Q
from types import ModuleType

import pytest

from tests.verification.claims import claim_rows as rows
from tests.verification.claims.both_typings import both_sides, inequality_of
from verification.adversary import limited_growth
from verification.cases import growth_limits as limits
from verification.cases import nonexpansive as maps
from verification.claim import Case
from verification.claims.library import growth_limits, nonexpansive

MODULES = (growth_limits, nonexpansive)
CLAIMS = {claim.id: claim for module in MODULES for claim in module.CLAIMS}
P, N = "proved", "not-refuted"
EXPECTED = {"thm-J-growth": [P, P, P, P], "thm-Lip": [P, N, N, N, N], "thm-in": [P, P]}


@pytest.mark.parametrize("family", MODULES)
def test_a_claim_file_names_no_verdict(family: ModuleType) -> None:
    rows.assert_names_no_verdict(family)


@pytest.mark.parametrize("name", EXPECTED)
def test_every_case_is_answered(name: str) -> None:
    assert rows.verdicts_of(CLAIMS[name]) == EXPECTED[name]
    assert set(EXPECTED) == set(CLAIMS)


PLANTED: dict[str, Callable[[], Case]] = {
    "s of thm-J (g) a hundredth larger": lambda: limits.admitted_case(Q(101, 100)),
    "one step beyond a root by 2s": lambda: limits.outside_case(2),
    "the quadratic with 2s²": lambda: limits.quadratic_identity(2).case("all", "f"),
    "soft thresholds that shrink": lambda: maps.threshold_case(Q(9, 10)),
    "99/100 N": lambda: maps.input_case(maps.LAST, Q(99, 100)),
    "99/100 of the mean's": lambda: maps.input_case(maps.MEAN, Q(99, 100)),
    "99/100 of two layers'": lambda: maps.input_case(maps.STACKED, Q(99, 100)),
    "twice the angle of the sum": lambda: maps.rows_case(2),
    "a stage before the middle": lambda: maps.step_case(Q(1, 4)),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_falsehood_is_refuted(name: str) -> None:
    assert rows.verdict_of(PLANTED[name]()).verdict == "refuted"


@pytest.mark.parametrize("share", ["0", "1"])
def test_one_step_at_an_end_grows_by_all_of_the_limit(share: str) -> None:
    """At h = 1/2, α = 4, G = 3 and N = 1, with slope 1: log 3 on both sides, by both typings."""
    inequality = inequality_of(CLAIMS["thm-J-growth"].cases[1])
    place = {"G": "3", "h": "1/2", "alpha": "4", "share": share, "slopes": "1"}
    for side in both_sides(inequality, place):
        assert side == pytest.approx([1.0986122886681098] * 2, rel=1e-15)


def test_soft_thresholds_keep_distances_beyond_the_disc_in_one_direction_and_lose_them_elsewhere() -> None:
    """b = −1: z = 3 and z' = 2 keep 1, and 5 becomes 3 for z' = −2; 1 + i and 1 − i keep 2 − √2 of 2."""
    inequality = inequality_of(CLAIMS["thm-Lip"].cases[0])
    for (x, y, u, v), wanted in {
        ("3", "0", "2", "0"): (1.0, 1.0),
        ("3", "0", "-2", "0"): (3.0, 5.0),
        ("1", "1", "1", "-1"): (2 - 2**0.5, 2.0),
    }.items():
        place = {"x": x, "y": y, "u": u, "v": v, "b": "-1"}
        for side, expected in zip(both_sides(inequality, place), wanted, strict=True):
            assert side == pytest.approx([expected] * 2, abs=1e-14)


def test_rows_of_two_steps_by_hand() -> None:
    """N = 2: the norm² of [[1, 0], [1, 1]] is (3 + √5)/2, at (1, (√5 − 1)/2)."""
    inequality = inequality_of(CLAIMS["thm-Lip"].cases[3])
    for side in both_sides(inequality, {"x": "1 618033988749895/1000000000000000"}):
        assert side == pytest.approx([1.381966011250105 * 2.618033988749895] * 2, rel=1e-14)


def test_trained_neurons_grow_and_are_inside() -> None:
    found = list(limited_growth.trained(3.0, 20, 1))
    assert len(found) == 3 and all(0 < each.share < 1 and each.alpha == 4.0 for each in found)
    assert max(abs(each.share - 0.5) for each in found) > 0.2 and {len(each.slopes) for each in found} == {20}
