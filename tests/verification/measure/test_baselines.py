"""thm-base: the pinned numbers, and the baselines against sums over all symbols and against the tasks themselves."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from odernn.bounds.numbers import BALLS
from verification.measure import baselines
from verification.tasks import adding, copying_memory

PINS = {200: 0.0945201, 300: 0.0649825, 1000: 0.0203867, 2000: 0.0102943}


@pytest.mark.parametrize("silence", PINS)
def test_the_copying_baseline_is_the_pinned_number(silence: int) -> None:
    assert abs(baselines.copying_cross_entropy(silence) - PINS[silence]) < 5e-8
    assert math.exp(baselines.log_copying_cross_entropy(silence)) == pytest.approx(PINS[silence], abs=5e-8)
    ball = baselines.copying_cross_entropy(silence, numbers=BALLS)
    assert abs(float(ball.mid()) - PINS[silence]) < 5e-8 and float(ball.rad()) < 1e-12


def test_it_is_the_baseline_of_the_task() -> None:
    for silence in PINS:
        assert baselines.copying_cross_entropy(silence) == pytest.approx(copying_memory.baseline(silence), rel=1e-15)


@pytest.mark.parametrize("silence", [1, 7])
def test_one_eighth_for_each_letter_has_that_loss_on_every_sequence(silence: int) -> None:
    """Probabilities that know the time only, from the targets of the task."""
    _, targets, _ = copying_memory.load("train", silence=silence, count=50)
    steps = silence + 20
    probabilities = np.zeros((steps, 10))
    probabilities[:-10, 0] = 1.0
    probabilities[-10:, 1:9] = 1 / 8
    taken = np.take_along_axis(np.broadcast_to(probabilities[:, None], (steps, 50, 10)), targets[..., None], axis=2)
    losses = -np.log(taken[..., 0]).mean(axis=0)
    np.testing.assert_allclose(losses, baselines.copying_cross_entropy(silence), rtol=1e-14)


def test_every_other_distribution_has_a_larger_expected_loss() -> None:
    generator = np.random.default_rng(0)
    q = generator.dirichlet(np.ones(8), 1000)
    assert (-np.log(q).mean(axis=1) > math.log(8)).all()


def test_the_adding_baseline_is_the_sum_over_a_grid_of_both_numbers() -> None:
    """Midpoints of N cells have the exact mean and a variance of (1 − 1/N²)/12 each."""
    N = 24
    grid = [Fraction(2 * k + 1, 2 * N) for k in range(N)]
    for prediction in (Fraction(1), Fraction(3, 4)):
        mean = sum((x + y - prediction) ** 2 for x, y in itertools.product(grid, repeat=2)) / N**2
        assert mean == baselines.adding_squared_error(prediction) - Fraction(1, 6 * N**2)


def test_it_is_the_baseline_of_the_adding_task() -> None:
    assert baselines.adding_squared_error() == Fraction(1, 6)
    assert float(baselines.adding_squared_error()) == pytest.approx(adding.BASELINE, rel=1e-15)
    _, targets, spec = adding.load("train", steps=20, count=4000)
    assert abs(((targets - 1) ** 2).mean() - 1 / 6) < 5 * 0.2 / math.sqrt(spec.count)  # five standard errors


def test_no_silence_is_refused() -> None:
    with pytest.raises(ValueError, match="silence"):
        baselines.copying_cross_entropy(0)
