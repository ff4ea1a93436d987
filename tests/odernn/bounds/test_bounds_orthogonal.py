"""thm-SC-norm, thm-SC-exist and thm-SC-comp as numbers: the values of the theorems, in floats and in balls, and against
singular values computed here.
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from odernn.bounds import orthogonal as bounds
from odernn.bounds.numbers import BALLS, FLOATS

U = 2.0**-53


def extreme(n: int) -> np.ndarray:
    """a_ij = sign(j − i)."""
    return np.sign(np.arange(n)[None, :] - np.arange(n)[:, None]).astype(float)


@pytest.mark.parametrize(("n", "norm"), [(2, 1.0), (3, math.sqrt(3)), (8, 5.0273394921), (16, 10.1531703876)])
def test_the_norm_bound_has_the_printed_values(n, norm):
    assert math.exp(bounds.log_spectral_norm(size=n)) == pytest.approx(norm, abs=1e-10)


@pytest.mark.parametrize("n", [2, 3, 4, 7, 16, 33])
@pytest.mark.parametrize("entry", [1.0, 0.25, 3.0])
def test_the_norm_bound_is_attained_by_the_sign_matrix_of_every_size_and_scale(n, entry):
    found = np.linalg.norm(entry * extreme(n), 2)
    claimed = math.exp(bounds.log_spectral_norm(size=n, log_entry=math.log(entry)))
    assert found == pytest.approx(claimed, rel=64 * n * U)


def test_the_condition_number_is_2_at_3_and_attained_for_odd_n_only():
    assert math.exp(bounds.log_condition(size=3)) == pytest.approx(2, rel=1e-14)
    for n in (3, 5, 21):
        found = np.linalg.cond(np.eye(n) + extreme(n))
        assert found == pytest.approx(math.exp(bounds.log_condition(size=n)), rel=1e-12)
        assert found == pytest.approx(1 / math.sin(math.pi / (2 * n)), rel=1e-12) and found <= n
    for n in (2, 4, 20):
        assert np.linalg.cond(np.eye(n) + extreme(n)) < math.exp(bounds.log_condition(size=n)) * (1 - 1e-4)


def test_the_condition_bound_scales_with_the_entries():
    for entry in (0.5, 2.0):
        found = np.linalg.cond(np.eye(5) + entry * extreme(5))
        claimed = math.exp(bounds.log_condition(size=5, log_entry=math.log(entry)))
        assert found == pytest.approx(claimed, rel=1e-12)


@pytest.mark.parametrize("n", [2, 3, 8, 17])
def test_the_largest_angle_and_the_smallest_entry_are_those_of_the_sign_matrix(n):
    angle = 2 * math.atan(np.linalg.norm(extreme(n), 2))
    assert math.exp(bounds.log_largest_angle(size=n)) == pytest.approx(angle, rel=1e-12)
    assert math.exp(bounds.log_largest_angle(size=n)) == pytest.approx(math.pi - math.pi / n, rel=1e-14)
    assert bounds.log_smallest_entry(angle=angle, size=n) == pytest.approx(0, abs=1e-11)
    half = 2 * math.atan(np.linalg.norm(extreme(n), 2) / 2)
    assert math.exp(bounds.log_smallest_entry(angle=half, size=n)) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("angle", [0.1, 1.0, 3.0, 3.14159])
def test_the_simple_lower_bound_is_smaller_and_equal_at_2(angle):
    two = bounds.log_simple_smallest_entry(angle=angle, size=2)
    assert two == pytest.approx(bounds.log_smallest_entry(angle=angle, size=2), rel=1e-10, abs=1e-12)
    assert math.exp(two) == pytest.approx(math.tan(angle / 2), rel=1e-9)
    for n in (3, 10, 100):
        gain = bounds.log_smallest_entry(angle=angle, size=n) - bounds.log_simple_smallest_entry(angle=angle, size=n)
        assert 0 < gain < math.log(math.pi / 2)
        simple = math.exp(bounds.log_simple_smallest_entry(angle=angle, size=n))
        assert simple == pytest.approx(math.tan(angle / 2) / (n - 1), rel=1e-9)


def test_the_printed_example_needs_447():
    """cos φ = −0.99999, n = 2."""
    angle = math.acos(-0.99999)
    assert math.exp(bounds.log_smallest_entry(angle=angle, size=2)) == pytest.approx(447.2125, abs=1e-3)


def test_the_number_of_flips_and_the_complex_bound():
    assert math.exp(bounds.log_most_flips(size=8, log_tau=math.log(2))) == pytest.approx(4, rel=1e-14)
    assert math.exp(bounds.log_most_flips(size=8, log_tau=math.log(4))) == pytest.approx(2, rel=1e-14)
    assert math.exp(bounds.log_most_flips(size=16, log_tau=math.log(2))) == pytest.approx(8, rel=1e-14)
    assert math.exp(bounds.log_complex_entry()) == pytest.approx(math.sqrt(2), rel=1e-15)


@pytest.mark.parametrize("n", [2, 3, 16])
def test_balls_enclose_what_floats_compute(n):
    with flint.ctx.workprec(128):
        angle = BALLS.exact(Fraction(5, 2))
        pairs = (
            (
                bounds.log_spectral_norm(size=n, log_entry=Fraction(1, 3), numbers=BALLS),
                bounds.log_spectral_norm(size=n, log_entry=Fraction(1, 3)),
            ),
            (
                bounds.log_condition(size=n, log_entry=Fraction(1, 3), numbers=BALLS),
                bounds.log_condition(size=n, log_entry=Fraction(1, 3)),
            ),
            (bounds.log_largest_angle(size=n, numbers=BALLS), bounds.log_largest_angle(size=n, numbers=FLOATS)),
            (
                bounds.log_smallest_entry(angle=angle, size=n, numbers=BALLS),
                bounds.log_smallest_entry(angle=2.5, size=n),
            ),
            (
                bounds.log_simple_smallest_entry(angle=angle, size=n, numbers=BALLS),
                bounds.log_simple_smallest_entry(angle=2.5, size=n),
            ),
            (
                bounds.log_most_flips(size=n, log_tau=Fraction(1, 7), numbers=BALLS),
                bounds.log_most_flips(size=n, log_tau=Fraction(1, 7)),
            ),
            (bounds.log_complex_entry(numbers=BALLS), bounds.log_complex_entry()),
        )
        for ball, number in pairs:
            assert float(ball.rad()) < 1e-30
            assert float(ball.mid()) == pytest.approx(number, rel=1e-13, abs=1e-15)


def test_what_is_no_size_or_no_tau_is_refused():
    for size in (1, 0, -3, 2.5, True):
        with pytest.raises(ValueError, match="size is"):
            bounds.log_spectral_norm(size=size)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="size is"):
            bounds.log_simple_smallest_entry(angle=1.0, size=size)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="size is"):
            bounds.log_largest_angle(size=size)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="size is"):
            bounds.log_most_flips(size=size, log_tau=1)  # type: ignore[arg-type]
    for log_tau in (0, -0.5, 0.0):
        with pytest.raises(ValueError, match="log_tau is"):
            bounds.log_most_flips(size=3, log_tau=log_tau)
