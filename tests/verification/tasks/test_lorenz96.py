"""Lorenz 96 against scipy's integrator of order 8 and the equation typed once more, one variable at a time."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from tests.tiers import slow
from verification.tasks import lorenz96

Array = NDArray[Any]
FORCINGS = (0.9, 8.0)


def field(x: list[float], forcing: float) -> list[float]:
    """Every variable by its own line; the ring has five places."""
    a, b, c, d, e = x
    return [
        (b - d) * e - a + forcing,
        (c - e) * a - b + forcing,
        (d - a) * b - c + forcing,
        (e - b) * c - d + forcing,
        (a - c) * d - e + forcing,
    ]


def exact(start: Array, times: Array, forcing: float) -> Array:
    """(times, 5), scipy's DOP853 with tolerances near rounding."""
    solution = solve_ivp(
        lambda _, x: field(list(x), forcing), (0, times[-1]), start, "DOP853", times, rtol=1e-13, atol=1e-13
    )
    return solution.y.T


def start_of(split: int, seed: int, forcing: float, number: int) -> Array:
    """The documented start: uniform in F ± 1/2 from the generator of (seed, index of the split, block)."""
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, split, number // 1000])))
    return forcing - 0.5 + generator.random((5, 1000))[:, number % 1000]


@pytest.mark.parametrize("forcing", FORCINGS)
def test_sequences_follow_the_equation_to_the_error_of_the_method(forcing: float) -> None:
    """Against scipy, over a time in which chaos has not grown; the error is estimated by half the step size."""
    options: dict[str, Any] = {"steps": 100, "transient": 0.0, "count": 3, "forcing": forcing, "seed": 4}
    sequences, _, _ = lorenz96.load("validation", dt=0.01, **options)
    halved = lorenz96.load("validation", dt=0.005, **(options | {"steps": 200}))[0][::2]
    for j in range(3):
        expected = exact(start_of(1, 4, forcing, j), np.arange(100) / 100, forcing)
        # order 4: the error is 16/15 of the difference; both arrays are rounded to float32
        rounding = 2 * float(np.finfo(np.float32).eps) * np.abs(expected).max()
        estimate = 16 / 15 * np.abs(sequences[:, j].astype(float) - halved[:, j]).max()
        assert np.abs(sequences[:, j] - expected).max() <= 1.5 * estimate + 3 * rounding
        assert estimate < 2e-4 * np.abs(expected).max()


@pytest.mark.parametrize("forcing", FORCINGS)
def test_the_method_has_order_4(forcing: float) -> None:
    start = start_of(0, 0, forcing, 0)
    wanted = exact(start, np.array([0.0, 0.4]), forcing)[-1]

    def error(steps: int) -> float:
        x = start[:, None]
        for _ in range(steps):
            x = lorenz96.step(x, 0.4 / steps, forcing)
        return float(np.abs(x[:, 0] - wanted).max())

    slope = math.log2(error(20) / error(40))
    assert 3.5 < slope < 4.6


def test_the_oracle_sees_a_wrong_neighbour(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(x: Array, forcing: float) -> Array:
        return (np.roll(x, -2, axis=0) - np.roll(x, 2, axis=0)) * np.roll(x, 1, axis=0) - x + forcing

    monkeypatch.setattr(lorenz96, "derivative", wrong)
    with pytest.raises(AssertionError):
        test_sequences_follow_the_equation_to_the_error_of_the_method(0.9)


@pytest.mark.parametrize("ahead", [1, 7, 25])
def test_the_target_is_the_state_so_many_steps_later(ahead: int) -> None:
    sequences, targets, spec = lorenz96.load("train", steps=60, ahead=ahead, count=5, transient=1.0)
    assert sequences.shape == targets.shape == (60, 5, 5) and sequences.dtype == targets.dtype == np.float32
    assert np.array_equal(targets[:-ahead], sequences[ahead:])
    assert (spec.steps, spec.count, spec.input_size, spec.output_size) == (60, 5, 5, 5)
    longer = lorenz96.load("train", steps=60 + ahead, ahead=1, count=5, transient=1.0)[0]
    assert np.array_equal(targets, longer[ahead:])


def test_the_transient_is_what_came_before() -> None:
    late = lorenz96.load("test", steps=30, transient=0.5, count=2)[0]
    whole = lorenz96.load("test", steps=80, transient=0.0, count=2)[0]
    assert np.array_equal(late, whole[50:])


def test_f_8_separates_neighbours_and_f_09_does_not() -> None:
    """Two starts 1e-8 apart, 15 units of time later."""
    grown = {}
    for forcing in FORCINGS:
        x = np.tile(start_of(0, 1, forcing, 0)[:, None], (1, 2))
        for n in range(2500):
            if n == 1000:  # on the attractor
                x[:, 1] = x[:, 0] + np.array([1e-8, 0, 0, 0, 0])
            x = lorenz96.step(x, 0.01, forcing)
        grown[forcing] = math.log(np.abs(x[:, 0] - x[:, 1]).max() / 1e-8)
    assert grown[0.9] < 1 and grown[8.0] > 3


@pytest.mark.parametrize(("forcing", "printed"), [slow((0.9, 2.0e-2)), (8.0, 6.8e-2)])
def test_to_predict_the_very_next_state_by_the_present_one_beats_every_published_figure(
    forcing: float, printed: float
) -> None:
    """So the published task looks further ahead (Table 7 of the paper: the least errors printed)."""
    sequences, targets, spec = lorenz96.load("test", forcing=forcing, ahead=1, steps=500)
    error = float(((sequences.astype(float) - targets) ** 2).mean())
    assert spec.published(error) < printed
    sequences, targets, spec = lorenz96.load("test", forcing=forcing, ahead=25, steps=500)
    assert spec.published(float(((sequences.astype(float) - targets) ** 2).mean())) > 3 * printed


def test_the_baseline_is_the_mean_variance_and_gives_the_figure_1() -> None:
    _, targets, spec = lorenz96.load("test", steps=40, count=6)
    by_hand = []
    for i in range(5):
        column = [float(v) for v in targets[..., i].reshape(-1)]
        mean = math.fsum(column) / len(column)
        by_hand.append(math.fsum((v - mean) ** 2 for v in column) / len(column))
    # sums of 240 terms in either order
    assert spec.baseline == pytest.approx(math.fsum(by_hand) / 5, rel=240 * np.finfo(float).eps)
    assert spec.published(spec.baseline) == 1


def test_the_first_sequences_do_not_depend_on_how_many_are_asked_for() -> None:
    few = lorenz96.load("train", steps=300, count=3)[0]
    assert np.array_equal(few, lorenz96.load("train", steps=300, count=130)[0][:, :3])
    assert np.array_equal(few, lorenz96.load("train", steps=300, count=1100)[0][:, :3])


@pytest.mark.slow
def test_splits_and_seeds_share_no_state() -> None:
    rows = [
        row.tobytes()
        for split in ("train", "validation", "test")
        for seed in (0, 1)
        for row in lorenz96.load(split, steps=50, seed=seed)[0].reshape(-1, 5)
    ]
    assert len(set(rows)) == len(rows) == 6 * 50 * 128


def test_the_published_sizes_are_the_default_and_the_checksum_is_pinned() -> None:
    """The pin says that these are the numbers of the committed results, chaotic ones bit for bit."""
    sequences, targets, spec = lorenz96.load("test", steps=200, count=3)
    assert spec.sha256 == hashlib.sha256(sequences.tobytes() + targets.tobytes()).hexdigest()
    assert spec.sha256 == "3f699042fec29d9981fe338f059a07a902de2e7bce828b290620c11716a0c8bd"
    assert "lorenz96, F = 8, test: 3 sequences of 200 × 5" in spec.describe()
    sequences, _, spec = lorenz96.load("validation", forcing=0.9)
    assert sequences.shape == (2000, 128, 5) and spec.name == "lorenz96, F = 0.9"


@pytest.mark.parametrize(
    "bad",
    [
        {"steps": 0},
        {"ahead": 0},
        {"count": 0},
        {"seed": -1},
        {"dt": 0},
        {"dt": math.nan},
        {"transient": -1.0},
        {"forcing": math.inf},
        {"forcing": "8"},
    ],
)
def test_an_impossible_number_is_named(bad: dict[str, Any]) -> None:
    name, value = next(iter(bad.items()))
    with pytest.raises(ValueError, match=f"lorenz96: .*{name} (is )?{value!r}"):
        lorenz96.load("train", **({"steps": 5, "count": 2} | bad))


def test_a_step_too_large_for_the_method_is_refused() -> None:
    with pytest.raises(ValueError, match="with dt = 5 and F = 8 the numbers overflow"):
        lorenz96.load("train", dt=5.0, steps=50, count=2)
