"""Claims about the spectrum at initialisation: verdicts, exact polynomials twice, false variants that must turn."""

from __future__ import annotations

import itertools
from fractions import Fraction as Q
from types import ModuleType

import numpy as np
import pytest

from odernn.published.networks import networks
from tests.verification.claims import claim_rows as rows
from verification.certify import block_spectra
from verification.claim import Case
from verification.claims.scornn import orthogonal_initialisation as start
from verification.claims.scornn import reflected_spectrum as reflected
from verification.measure.orthogonal_initialisation import Blocks, spectral_law
from verification.parameters import RefusedError

CLAIMS = {each.id: each for each in (*start.CLAIMS, *reflected.CLAIMS)}
ODD = {"MNIST-170", "psMNIST-170", "MNIST-512", "copying", "adding-200", "adding-400", "adding-750"}
"""The printed networks with an even n and an odd ρ."""
EXPECTED = {
    "sco-4.2a": ["refuted", "proved", "proved", "refuted", "proved", "not-refuted"],
    "sco-4.2b": [
        "proved",
        "refuted",
        "refuted",
        *("refuted" if each.name in ODD else "proved" for each in networks("scornn")),
        "proved",
    ],
    "sco-4.2c": [*["proved"] * 5, "refuted", "proved", "proved", *["refuted"] * 3, "not-refuted"],
    "thm-init": ["proved", "proved", "proved"],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_case_is_answered(name: str) -> None:
    assert rows.verdicts_of(CLAIMS[name]) == EXPECTED[name]
    assert set(EXPECTED) == set(CLAIMS)


@pytest.mark.parametrize("family", (start, reflected))
def test_a_claim_file_names_no_verdict(family: ModuleType) -> None:
    rows.assert_names_no_verdict(family)


def verdict_of(case: Case) -> str:
    return str(rows.verdict_of(case).verdict)


# Exact polynomials.


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_both_back_ends_have_the_polynomial_of_the_computed_matrix(n: int) -> None:
    halves = block_spectra.distinct_halves(n)
    A = np.zeros((n, n))
    for k, s in enumerate(halves):
        A[2 * k, 2 * k + 1], A[2 * k + 1, 2 * k] = float(s), -float(s)
    for signs in itertools.product((1, -1), repeat=n):
        exact = block_spectra.computed(halves, signs)
        again = block_spectra.by_blocks(halves, signs)
        assert exact == block_spectra.as_poly(again)
        W = np.linalg.solve(np.eye(n) + A, np.eye(n) - A) @ np.diag(signs)
        np.testing.assert_allclose(np.poly(W)[::-1], [float(c) for c in again], atol=1e-12)


def test_cosines_are_those_of_the_angles() -> None:
    for s in start.HALVES:
        assert float(block_spectra.cosine(s)) == pytest.approx(np.cos(2 * np.arctan(float(s))))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_a_spectrum_is_reflected_iff_no_block_is_mixed(n: int) -> None:
    halves = block_spectra.distinct_halves(n)
    for D in reflected.every(n):
        expected = Blocks.of(D).mixed == 0
        assert reflected.is_reflected(halves, D) == reflected.is_reflected_again(halves, D) == expected
    assert all(Blocks.of(D).mixed == 0 for D in reflected.aligned(n))
    assert len(reflected.aligned(n)) == 2 ** ((n + 1) // 2)


def test_long_and_short_comparisons_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shortcut for large n, on all D of a small one."""
    halves = block_spectra.distinct_halves(5)
    exhaustive = [reflected.is_reflected(halves, D) for D in reflected.every(5)]
    monkeypatch.setattr(reflected, "EXHAUSTIVE", 0)
    assert [reflected.is_reflected(halves, D) for D in reflected.every(5)] == exhaustive


# False variants.


@pytest.mark.parametrize("off", [1, -1])
def test_one_eigenvalue_more_or_less_on_the_left_is_refuted(off: int) -> None:
    assert verdict_of(reflected.left_half_case((2, 3), off)) == "refuted"


def test_another_power_of_s_has_other_eigenvalues() -> None:
    assert verdict_of(start.conjugate_case(power=1)) == "refuted"
    assert start.rotation_identity() and not start.rotation_identity(power=1)
    assert verdict_of(start.blocks_case(power=1)) == "refuted"


@pytest.mark.parametrize("change", [{"s": "2"}, {"D": "1 2"}, {"D": "1 1 1"}])
def test_a_block_outside_the_premises_is_refused(change: dict[str, str]) -> None:
    """Beyond π/2, no sign, a sign too many."""
    assert_refused(start.blocks_case(power=1), {"s": "1/2", "D": "1 1"}, change)


def test_a_mixed_block_does_not_depend_on_the_angle() -> None:
    """With t from s (1 + cos t) = 1 − cos t."""
    case = start.blocks_case(power=1)
    assert not rows.doubt_of(case, {"s": "1/2", "D": "1 1"})
    assert rows.doubt_of(case, {"s": "1/2", "D": "1 -1"})


def assert_refused(case: Case, good: dict[str, str], change: dict[str, str]) -> None:
    """For the parameter that was changed."""
    assert case.check is not None
    case.check(good)
    with pytest.raises(RefusedError, match=f'"{next(iter(change))}"'):
        case.check({**good, **change})


def test_laws_that_are_not_uniform_are_refuted_and_uniform_ones_proved() -> None:
    def law(D: list[int]) -> Case:
        return start.law_case("variant", "law", D, lambda law: law.is_uniform, "uniform")

    assert verdict_of(law([1, 1, -1, -1])) == "proved"
    assert verdict_of(law([1, -1, 1, -1])) == "refuted"
    assert verdict_of(law([1, 1, 1, -1, -1, -1])) == "refuted"
    assert verdict_of(law([1, 1, 1, 1])) == "refuted"


def test_the_law_by_roots_is_the_law_by_blocks() -> None:
    for n in range(1, 7):
        for D in itertools.product((1, -1), repeat=n):
            assert start.law_again(D) == (law := spectral_law(Blocks.of(D)))
            assert start.distance_again(law) == law.distance


def test_half_of_a_split_pair_is_too_little_and_only_where_a_pair_is_split() -> None:
    found = {each.name: verdict_of(start.nearly_uniform_case(each, pairs=Q(1, 2))) for each in start._HALF}
    assert found == {each.name: "refuted" if each.name in ODD else "proved" for each in start._HALF}
    (copying,) = (each for each in start._HALF if each.name == "copying")
    text = " ".join(map(str, start.half_signs(copying)))
    assert not rows.doubt_of(start.nearly_uniform_case(copying, pairs=Q(1, 2)), {"D": text})
    assert rows.doubt_of(start.nearly_uniform_case(copying), {"D": text})


def test_the_law_of_a_random_D_is_the_mean_over_all() -> None:
    for n in (2, 4, 6):
        laws = [spectral_law(Blocks.of(D)) for D in reflected.every(n) if D.count(-1) == n // 2]
        mean = [sum(getattr(law, name) for law in laws) / len(laws) for name in ("right", "left", "at_one")]
        found = start.random_law(n)
        assert [found.right, found.left, found.at_one] == mean
        assert found.at_one == Q(n, 4 * (n - 1)) > Q(1, 4)


@pytest.mark.parametrize("groups", [1, 2])
def test_a_wider_arc_is_told_from_the_drawn_one(groups: int) -> None:
    assert verdict_of(start.drawn_case(groups, widened=2.0)) == "suspect"


def test_a_block_that_is_kept_does_not_count() -> None:
    case = CLAIMS["sco-4.2b"].cases[1]
    assert not rows.doubt_of(case, {"D": "1 -1", "s": "1/2"})
    assert rows.doubt_of(case, {"D": "1 1", "s": "1/2"})


def test_no_placement_of_an_odd_number_of_signs_escapes() -> None:
    """Each is a witness by itself; of an even number those on whole blocks are none, and the row does not have them."""
    case = next(each for each in CLAIMS["sco-4.2b"].cases if each.domain == "n even, ρ odd, every placement")
    placements = reflected.of_odd_rho((2, 4, 6))
    assert len(placements) == sum(2 ** (n - 1) for n in (2, 4, 6))
    for D in placements:
        assert not rows.doubt_of(case, reflected._parameters(D))
    assert_refused(case, reflected._parameters([1, -1]), {"D": "-1 -1"})
    on_blocks = reflected.reflection_case("whole", lambda: [[-1, -1, 1, 1], [1, 1, -1, -1]], "n = 4")
    assert verdict_of(on_blocks) == "proved"


@pytest.mark.parametrize("change", [{"s": "2"}, {"D": "1 2"}, {"s": "1/2 1/3"}])
def test_a_witness_that_does_not_fit_is_refused(change: dict[str, str]) -> None:
    """An angle beyond π/2, an entry that is no sign, an angle too many."""
    assert_refused(CLAIMS["sco-4.2b"].cases[1], {"D": "1 -1", "s": "1/2"}, change)


def test_a_mixed_block_is_no_witness_against_a_printed_row() -> None:
    case = next(each for each in CLAIMS["sco-4.2b"].cases if each.domain == "printed psMNIST-360")
    assert case.check is not None
    with pytest.raises(RefusedError, match="one of the 1 rows of signs"):
        case.check({"D": "1 -1", "s": "1/2"})


def test_another_size_than_that_of_the_case_is_refused() -> None:
    case = start.random_case(6)
    assert not rows.doubt_of(case, {"n": "6"})
    assert_refused(case, {"n": "6"}, {"n": "40"})


def test_the_polynomials_of_blocks_hold_for_every_angle() -> None:
    pairs = list(itertools.product((1, -1), repeat=2))
    assert all(block_spectra.block_identity(*pair) for pair in pairs)
    assert not any(block_spectra.block_identity(*pair, power=1) for pair in pairs if sum(pair))
