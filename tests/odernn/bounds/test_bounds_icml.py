"""The bounds of the ICML version against the formula in 60 digits, and the range where thm-S' proves them."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from odernn.bounds import icml, sharp
from odernn.bounds.numbers import BALLS

DIGITS = 60
BITS = 128
LOG = {"position": icml.log_position, "momentum": icml.log_momentum}
QUANTITIES = tuple(LOG)

mantissas = st.integers(1, 10**6)
positive = st.builds(lambda m, e: Fraction(m, 10**6) * Fraction(10) ** e, mantissas, st.integers(-299, 300))
times = st.builds(lambda m, e: Fraction(m, 10**6) * Fraction(10) ** e, mantissas, st.integers(-6, 5))


def real(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


def formula(quantity: str, alpha: Fraction, time: Fraction) -> mpf:
    """log √((2/α)(1 + 2βt)) or log √(2(1 + 2βt)), β = max(1 + 2α, 4α²), as printed: no logarithm is split."""
    a, t = real(alpha), real(time)
    beta = max(1 + 2 * a, 4 * a**2)
    inside = 2 * (1 + 2 * beta * t)
    return mp.log(mp.sqrt(inside / a if quantity == "position" else inside))


def wrong_formulas(quantity: str, alpha: Fraction, time: Fraction) -> dict[str, mpf]:
    """What slips of the pen would print."""
    a, t = real(alpha), real(time)
    beta = max(1 + 2 * a, 4 * a**2)
    under = a if quantity == "position" else 1
    return {
        "min for max": mp.log(2 * (1 + 2 * min(1 + 2 * a, 4 * a**2) * t) / under) / 2,
        "2α² for 4α²": mp.log(2 * (1 + 2 * max(1 + 2 * a, 2 * a**2) * t) / under) / 2,
        "1 + βt": mp.log(2 * (1 + beta * t) / under) / 2,
        "no root": mp.log(2 * (1 + 2 * beta * t) / under),
        "the other quantity": mp.log(2 * (1 + 2 * beta * t) / (1 if quantity == "position" else a)) / 2,
    }


def ends(ball: flint.arb) -> tuple[mpf, mpf]:
    """The exact ends of a ball: midpoint and radius are dyadic, so nothing is rounded at 4096 bits."""
    with flint.ctx.workprec(4096):
        pairs = [end.man_exp() for end in (ball.lower(), ball.upper())]
    low, high = (mp.ldexp(mpf(int(man)), int(exp)) for man, exp in pairs)
    return low, high


def ball_bound(quantity: str, alpha: Fraction, time: Fraction) -> flint.arb:
    with flint.ctx.workprec(BITS):
        return LOG[quantity](alpha=BALLS.exact(alpha), time=BALLS.exact(time), numbers=BALLS)


def roundings(alpha: Fraction, time: Fraction) -> float:
    """Sixteen roundings of the largest logarithm that occurs."""
    with mp.workdps(DIGITS):
        largest = 4 + 3 * abs(mp.log(real(alpha))) + abs(mp.log(real(time)))
    return float(16 * np.finfo(float).eps * largest)


@pytest.mark.parametrize("quantity", QUANTITIES)
@given(alpha=positive, time=times)
def test_floats_agree_with_the_printed_formula_and_balls_enclose_it(quantity: str, alpha: Fraction, time: Fraction):
    found = float(LOG[quantity](alpha=float(alpha), time=float(time)))
    ball = ball_bound(quantity, alpha, time)
    with mp.workdps(2 * DIGITS):
        expected = formula(quantity, alpha, time)
        low, high = ends(ball)
        assert abs(found - expected) <= roundings(alpha, time)
        assert low <= expected <= high
        assert high - low <= mpf(2) ** (16 - BITS) * (4 + abs(mp.log(real(alpha))))


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("alpha", ["1/7", "3/2", "40"])
def test_a_slip_of_the_pen_is_noticed(quantity: str, alpha: str):
    a, time = Fraction(alpha), Fraction(29, 10)
    found = float(LOG[quantity](alpha=float(a), time=float(time)))
    with mp.workdps(DIGITS):
        low, high = ends(ball_bound(quantity, a, time))
        expected = formula(quantity, a, time)
        wrong = [v for v in wrong_formulas(quantity, a, time).values() if abs(v - expected) > mpf(10) ** -40]
        assert len(wrong) >= 4  # "2α² for 4α²" changes nothing where 1 + 2α is the larger one
        for value in wrong:
            assert abs(found - value) > roundings(a, time)
            assert not low <= value <= high


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_extreme_parameters_give_finite_logarithms_element_by_element(quantity: str):
    steps = np.arange(1.0, 2001.0)
    for exponent in range(-300, 301, 20):
        alpha = 10.0**exponent
        for dt in (1e-8, 1.0, 50.0):  # t up to 1e5
            logs = LOG[quantity](alpha=alpha, time=steps * dt)
            assert logs.shape == steps.shape and np.isfinite(logs).all()
            one_by_one = [float(LOG[quantity](alpha=alpha, time=n * dt)) for n in (1.0, 977.0, 2000.0)]
            np.testing.assert_allclose(logs[[0, 976, 1999]], one_by_one, rtol=4 * np.finfo(float).eps)


@pytest.mark.parametrize("quantity", QUANTITIES)
@given(alpha=positive, dt=times, n=st.integers(1, 10**5))
def test_the_bound_increases_with_n(quantity: str, alpha: Fraction, dt: Fraction, n: int):
    now, later = ball_bound(quantity, alpha, n * dt), ball_bound(quantity, alpha, (n + 1) * dt)
    assert not now > later
    if 2 * max(1 + 2 * alpha, 4 * alpha**2) * dt > Fraction(1, 10**20):
        assert now < later  # proved by the balls: growing in n, not only not falling
    assert float(LOG[quantity](alpha=float(alpha), time=float(n * dt))) <= float(
        LOG[quantity](alpha=float(alpha), time=float((n + 1) * dt))
    ) + roundings(alpha, (n + 1) * dt)


# --- thm-S': where the square-root form is proved ----------------------------------------------------------------

X0 = Fraction(12564312086, 10**10)
"""The positive root of e^x = 1 + 2x, its first ten digits after the point."""


def test_the_root_of_thm_s_prime_has_its_printed_digits():
    with mp.workdps(DIGITS):
        root = mp.findroot(lambda x: mp.exp(x) - 1 - 2 * x, 1.2)
        assert real(X0) <= root < real(X0 + Fraction(1, 10**10))
        assert mp.nstr(1 + 2 * root, 8) == "3.5128624"
        assert abs(mp.exp(root) - 1 - 2 * root) < mpf(10) ** (5 - DIGITS)


@pytest.mark.parametrize("quantity", QUANTITIES)
@given(alpha=st.fractions(Fraction(1, 50), 20, max_denominator=50), steps=st.integers(1, 60), share=st.integers(1, 100))
def test_up_to_beta_t_equal_to_x0_the_sharp_supremum_obeys_the_printed_bound(
    quantity: str, alpha: Fraction, steps: int, share: int
):
    beta = max(1 + 2 * alpha, 4 * alpha**2)
    dt = min(X0 / beta / steps, Fraction(99, 100)) * share / 100
    with flint.ctx.workprec(BITS):
        exact = sharp.log_supremum_at(
            alpha=BALLS.exact(alpha), step_size=BALLS.exact(dt), steps=steps, quantity=quantity, numbers=BALLS
        )
        assert exact < ball_bound(quantity, alpha, steps * dt)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_far_beyond_x0_the_sharp_supremum_exceeds_the_printed_bound_at_small_dt(quantity: str):
    alpha, dt = Fraction(1, 4), Fraction(1, 80)
    with flint.ctx.workprec(BITS):
        exact = sharp.log_supremum_at(
            alpha=BALLS.exact(alpha), step_size=BALLS.exact(dt), steps=3200, quantity=quantity, numbers=BALLS
        )
        assert exact > ball_bound(quantity, alpha, Fraction(40))
