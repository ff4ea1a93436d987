"""Steps of a damped neuron: the forms of ``odernn.bounds.damped`` beside matrices that numpy makes and decomposes."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from odernn.bounds import damped

PLACES = [(0.9, 0.3, 2.0), (0.5, 0.7, 0.4), (0.99, 0.05, 60.0), (0.25, 1.5, 1.2)]
"""q, h, a with 0 < a < 4/h²."""


def step(k: float, q: float, h: float) -> np.ndarray:
    """z ← q (z − h k y), y ← y + h z, by columns."""
    columns = []
    for y, z in ((1.0, 0.0), (0.0, 1.0)):
        z = q * (z - h * k * y)
        columns.append((y + h * z, z))
    return np.array(columns).T


def lean(q: float, h: float) -> np.ndarray:
    return np.array([[1.0, 0.0], [(1 - math.sqrt(q)) / h, math.sqrt(q)]])


def form_of(q: float, h: float, a: float) -> np.ndarray:
    """P = TᵀQ_a T of the norm a y² − a h y z + z²."""
    return lean(q, h).T @ np.array([[a, -a * h / 2], [-a * h / 2, 1.0]]) @ lean(q, h)


def norm_in(form: np.ndarray, matrix: np.ndarray) -> float:
    root = np.linalg.cholesky(form).T
    return float(np.linalg.norm(root @ matrix @ np.linalg.inv(root), 2))


@pytest.mark.parametrize(("q", "h", "a"), PLACES)
@pytest.mark.parametrize("k", [-1.5, 0.0, 0.7, 4.0])
def test_a_damped_step_is_an_undamped_one_in_other_coordinates(q: float, h: float, a: float, k: float) -> None:
    kappa = float(damped.stiffness(k=k, kept=q, step_size=h))
    T = lean(q, h)
    assert float(damped.tilt(kept=q, step_size=h)) == pytest.approx(T[1, 0], rel=1e-12)
    assert math.sqrt(q) * np.linalg.inv(T) @ step(kappa, 1.0, h) @ T == pytest.approx(
        step(k, q, h), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize(("q", "h", "a"), PLACES)
@pytest.mark.parametrize(("low", "high"), [(-1.5, 2.0), (0.5, 0.6), (-4.0, -1.0), (0.0, 9.0)])
def test_the_rate_is_the_norm_of_the_worse_end_in_the_form(
    q: float, h: float, a: float, low: float, high: float
) -> None:
    norms = [norm_in(form_of(q, h, a), step(k, q, h)) for k in np.linspace(low, high, 7)]
    found = float(damped.log_rate(k_low=low, k_high=high, kept=q, form=a, step_size=h))
    assert found == pytest.approx(math.log(max(norms)), abs=1e-10)
    assert max(norms) == pytest.approx(max(norms[0], norms[-1]), rel=1e-12)


@pytest.mark.parametrize(("q", "h", "a"), PLACES)
def test_weight_and_extremes_are_those_of_the_form(q: float, h: float, a: float) -> None:
    form = form_of(q, h, a)
    assert float(damped.position_weight(kept=q, form=a, step_size=h)) == pytest.approx(math.sqrt(form[0, 0]), rel=1e-12)
    expected = np.log(np.linalg.eigvalsh(form)) / 2
    assert damped.log_extremes(kept=q, form=a, step_size=h) == pytest.approx(tuple(expected), abs=1e-9)


def test_a_tilt_of_little_friction_has_all_its_digits() -> None:
    kept = 1 - 2.0**-50
    with mpmath.workdps(40):
        expected = (1 - mpmath.sqrt(mpmath.mpf(kept))) / mpmath.mpf(0.25)
    assert float(damped.tilt(kept=kept, step_size=0.25)) == pytest.approx(float(expected), rel=1e-15)
