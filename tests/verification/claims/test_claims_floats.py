"""The computed layer and its inverse: rounding by hand against the libraries, collisions, the rebuilt initial state."""

from __future__ import annotations

from fractions import Fraction as Q

import numpy as np
import pytest
import torch

from tests.verification.claims.claim_rows import doubt_of
from verification.answer import answer
from verification.certify import float_replay
from verification.certify.float_replay import FORMATS, RoundingError, rounded
from verification.claims.unicornn.float_inverse import CLAIMS
from verification.domains import BUDGETS
from verification.measure import float_steps
from verification.verdict import doubt_about

QUESTION = CLAIMS[0]
SMOKE = BUDGETS["smoke"]
IMAGES, REBUILT = "injectivity of one step", "|reconstructed − true|"
COLLISION = {"w": "1/2", "h": "1/8", "alpha": "1", "x": "1/4", "y": "1/4 1/4", "z": "1/64 1025/65536"}


def library(value: Q, name: str) -> Q:
    """The library's own rounding from float64, for values that float64 holds."""
    return Q(float(torch.tensor(float(value), dtype=torch.float64).to(getattr(torch, name))))


@pytest.mark.parametrize("name", FORMATS)
def test_rounding_by_hand_is_the_librarys(name: str) -> None:
    generator = np.random.default_rng(3)
    least = FORMATS[name].least
    exponents = generator.integers(max(least - 12, -1000), FORMATS[name].greatest // 2, 400)
    for value in (generator.normal(size=400) * np.exp2(exponents.astype(float))).tolist():
        if name != "float64":
            assert rounded(Q(value), FORMATS[name]) == library(Q(value), name)
        assert rounded(Q(value) * 3 / 3, FORMATS["float64"]) == Q(value)


def test_ties_go_to_even_and_subnormals_are_kept() -> None:
    half = FORMATS["float16"]
    assert rounded(Q(2049), half) == 2048 and rounded(Q(2051), half) == 2052
    smallest = Q(1, 2**24)
    assert rounded(smallest * Q(3, 5), half) == smallest
    assert rounded(smallest / 2, half) == 0
    assert rounded(Q(65519), half) == 65504
    for large in (Q(65520), Q(10) ** 400):  # what no float holds is said, too
        with pytest.raises(RoundingError):
            rounded(large, half)


@pytest.mark.parametrize("name", FORMATS)
def test_the_replayed_step_is_the_librarys_step_where_tanh_is_exact(name: str) -> None:
    """w = 0 and x = 0: tanh(0) = 0, and everything else is one rounding each in both."""
    generator = np.random.default_rng(1)
    cell = float_steps.neuron(0.0, 0.375, 1.25, name)
    replay = float_replay.Neuron(Q(0), Q(3, 8), Q(5, 4), FORMATS[name])
    for y, z in generator.normal(size=(50, 2)).tolist():
        start = [float_steps.array(value, name) for value in (y, z)]
        exact = tuple(Q(float(value)) for value in start)
        after = cell.step(*start, float_steps.array(0.0, name))
        assert replay.step(exact, Q(0)) == tuple(Q(float(value)) for value in after)
        back = cell.unstep(*after, float_steps.array(0.0, name))
        assert replay.unstep(replay.step(exact, Q(0)), Q(0)) == tuple(Q(float(value)) for value in back)


def test_tanh_is_rounded_as_float16_tables_are() -> None:
    for value in np.linspace(-4, 4, 200).astype(np.float16):
        correct = np.float16(np.tanh(np.float64(value)))
        assert float_replay.tanh(Q(float(value)), FORMATS["float16"]) == Q(float(correct))


def test_two_states_of_float16_collide_in_numpy_and_in_the_replay() -> None:
    check = QUESTION.case("float16", IMAGES).check(COLLISION)
    assert not doubt_about(check, QUESTION.case("float16", IMAGES))
    w, h, alpha, x = map(np.float16, (0.5, 0.125, 1.0, 0.25))
    y = np.float16(0.25)
    first, second = np.float16(1 / 64), np.nextafter(np.float16(1 / 64), np.float16(1))
    assert first != second == np.float16(1025 / 65536)
    after = [z - h * (np.tanh(w * y + x) + alpha * y) for z in (first, second)]
    assert after[0] == after[1] and after[0].dtype == np.float16


@pytest.mark.parametrize(
    "change",
    [
        {"z": "1/64 1/64"},  # one state, not two
        {"z": "1/64 1088/65536"},  # images differ
        {"z": "1/64 1/100"},  # no number of the format
        {"h": "2"},  # no effective step
        {"alpha": "-1"},
    ],
)
def test_what_is_no_collision_of_two_admissible_states_does_not_count(change: dict[str, str]) -> None:
    case = QUESTION.case("float16", IMAGES)
    assert doubt_of(case, {**COLLISION, **change})


def test_an_injective_step_has_as_many_images_as_states() -> None:
    """h = 0 is the identity; and a window where only z + 0 and y + 0 are formed."""
    found = float_steps.images(float_steps.neuron(0.5, 0.0, 1.0, "float32"), 0.25, 0.25, 0.25, "float32")
    assert (found.states, found.images, found.collision) == (65536, 65536, None)


def test_the_number_of_images_agrees_with_a_count_by_sets() -> None:
    cell = float_steps.neuron(0.5, 0.125, 1.0, "float16")
    found = float_steps.images(cell, 0.25, 0.25, 2.0**-6, "float16")
    y, z = (float_steps.consecutive(start, "float16") for start in (0.25, 2.0**-6))
    assert len(set(y.tolist())) == 256 and y[1] == np.nextafter(np.float16(0.25), np.float16(1))
    seen = {tuple(map(float, cell.step(a, b, np.float16(0.25)))) for a in y[:40] for b in z}
    few = float_steps.images(cell, 0.25, 0.25, 2.0**-6, "float16").images
    assert len(seen) < 40 * 256 and found.images == few < found.states


def test_nothing_is_lost_in_a_reconstruction_without_input() -> None:
    case = QUESTION.case("float32", REBUILT)
    zeros = {"w": "1/2", "h": "1/8", "alpha": "1", "x": "0 0 0 0"}
    assert doubt_of(case, zeros)


@pytest.mark.parametrize("case", QUESTION.cases, ids=lambda case: f"{case.domain}-{case.quantity}")
def test_every_case_is_answered_with_a_witness_that_checks(case) -> None:  # type: ignore[no-untyped-def]
    judgement = answer(QUESTION, case, SMOKE, seed=0)
    assert judgement.verdict == "refuted", judgement.because
    assert judgement.witness


def test_all_formats_are_asked() -> None:
    assert len(QUESTION.cases) == 8
