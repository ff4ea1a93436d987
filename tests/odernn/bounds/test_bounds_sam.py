"""The bounds of the SAM report against the formulas typed again in 60 digits."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from odernn.bounds import sam
from odernn.bounds.numbers import BALLS

DIGITS = 60
BITS = 128
EPS = np.finfo(float).eps
LOG = {"position": sam.log_position, "momentum": sam.log_momentum}
QUANTITIES = tuple(LOG)

alphas = st.builds(lambda m, e: Fraction(m, 10**6) * Fraction(10) ** e, st.integers(1, 10**6), st.integers(-299, 300))
steps_below_one = st.fractions(Fraction(1, 10**9), Fraction(999, 1000), max_denominator=10**9)
horizons = st.fractions(Fraction(1, 10**6), 10**5, max_denominator=10**6)
sizes = st.integers(1, 1024)


def real(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


def formula(quantity: str, alpha: Fraction, dt: Fraction, T: Fraction, m: int) -> mpf:
    """½ log of (2mT/α)(1 + 2α dt³) e^{ᾱT} or of 2mT(1 + 2α dt³) e^{ᾱT}, ᾱ = 96^{1/4} max{1, √α}."""
    a, d, t = real(alpha), real(dt), real(T)
    rate = mp.root(96, 4) * max(mpf(1), mp.sqrt(a))
    front = 2 * m * t * (1 + 2 * a * d**3)
    return mp.log(front / a if quantity == "position" else front) / 2 + rate * t / 2


def formula_undamped(T: Fraction, m: int) -> mpf:
    """½ log(2mT e^{2T})."""
    return mp.log(2 * m * real(T)) / 2 + real(T)


def wrong_formulas(quantity: str, alpha: Fraction, dt: Fraction, T: Fraction, m: int) -> dict[str, mpf]:
    a, d, t = real(alpha), real(dt), real(T)
    under = a if quantity == "position" else 1
    right_rate = mp.root(96, 4) * max(mpf(1), mp.sqrt(a))

    def log(front: mpf, rate: mpf) -> mpf:
        return mp.log(front / under) / 2 + rate * t / 2

    return {
        "96^(1/2)": log(2 * m * t * (1 + 2 * a * d**3), mp.sqrt(96) * max(mpf(1), mp.sqrt(a))),
        "max(1, α)": log(2 * m * t * (1 + 2 * a * d**3), mp.root(96, 4) * max(mpf(1), a)),
        "dt²": log(2 * m * t * (1 + 2 * a * d**2), right_rate),
        "no m": log(2 * t * (1 + 2 * a * d**3), right_rate),
        "no T": log(2 * m * (1 + 2 * a * d**3), right_rate),
        "no root": 2 * log(2 * m * t * (1 + 2 * a * d**3), right_rate),
    }


def ends(ball: flint.arb) -> tuple[mpf, mpf]:
    """The exact ends of a ball: midpoint and radius are dyadic, so nothing is rounded at 4096 bits."""
    with flint.ctx.workprec(4096):
        pairs = [end.man_exp() for end in (ball.lower(), ball.upper())]
    low, high = (mp.ldexp(mpf(int(man)), int(exp)) for man, exp in pairs)
    return low, high


def ball_bound(quantity: str, alpha: Fraction, dt: Fraction, T: Fraction, m: int) -> flint.arb:
    with flint.ctx.workprec(BITS):
        a, d, t = (BALLS.exact(value) for value in (alpha, dt, T))
        return LOG[quantity](alpha=a, dt=d, horizon=t, hidden_size=m, numbers=BALLS)


def roundings(alpha: Fraction, dt: Fraction, T: Fraction, m: int) -> float:
    """Sixteen roundings of the largest term that occurs."""
    with mp.workdps(DIGITS):
        a, d, t = real(alpha), real(dt), real(T)
        terms = abs(mp.log(a)) + 3 * abs(mp.log(d)) + abs(mp.log(t)) + mp.log(m) + 4 * max(mpf(1), mp.sqrt(a)) * t
        return float(16 * EPS * (4 + terms))


@pytest.mark.parametrize("quantity", QUANTITIES)
@given(alpha=alphas, dt=steps_below_one, T=horizons, m=sizes)
def test_floats_agree_with_the_printed_formula_and_balls_enclose_it(
    quantity: str, alpha: Fraction, dt: Fraction, T: Fraction, m: int
):
    found = float(LOG[quantity](alpha=float(alpha), dt=float(dt), horizon=float(T), hidden_size=m))
    assert np.isfinite(found)
    with mp.workdps(4 * DIGITS):  # ᾱT reaches 10^155
        expected = formula(quantity, alpha, dt, T, m)
        low, high = ends(ball_bound(quantity, alpha, dt, T, m))
        assert abs(found - expected) <= roundings(alpha, dt, T, m)
        assert low <= expected <= high
        assert high - low <= mpf(2) ** (20 - BITS) * (4 + abs(expected) + abs(mp.log(real(alpha))))


@given(T=horizons, m=sizes)
def test_the_undamped_bound_agrees_with_the_printed_formula(T: Fraction, m: int):
    found = float(sam.log_position_undamped(horizon=float(T), hidden_size=m))
    with flint.ctx.workprec(BITS):
        ball = sam.log_position_undamped(horizon=BALLS.exact(T), hidden_size=m, numbers=BALLS)
    with mp.workdps(2 * DIGITS):
        expected = formula_undamped(T, m)
        low, high = ends(ball)
        assert abs(found - expected) <= 16 * EPS * (4 + abs(mp.log(real(T))) + mp.log(m) + real(T))
        assert low <= expected <= high
        wrong = [mp.log(2 * m * real(T)) / 2 + 2 * real(T), mp.log(m * real(T)) / 2 + real(T)]
        assert not any(low <= value <= high for value in wrong)


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("alpha", ["1/7", "40"])
def test_a_slip_of_the_pen_is_noticed(quantity: str, alpha: str):
    where = (Fraction(alpha), Fraction(9, 10), Fraction(29, 10), 7)
    found = float(
        LOG[quantity](alpha=float(where[0]), dt=float(where[1]), horizon=float(where[2]), hidden_size=where[3])
    )
    with mp.workdps(DIGITS):
        low, high = ends(ball_bound(quantity, *where))
        expected = formula(quantity, *where)
        wrong = [v for v in wrong_formulas(quantity, *where).values() if abs(v - expected) > mpf(10) ** -40]
        assert len(wrong) >= 5  # "max(1, α)" changes nothing for α < 1
        for value in wrong:
            assert abs(found - value) > roundings(*where)
            assert not low <= value <= high


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_extreme_parameters_give_finite_logarithms_element_by_element(quantity: str):
    T = np.array([1e-6, 1.0, 784.0, 1e5])
    for exponent in range(-300, 301, 20):
        for dt in (1e-9, 0.5, 0.999):
            logs = LOG[quantity](alpha=10.0**exponent, dt=dt, horizon=T, hidden_size=256)
            assert logs.shape == T.shape and np.isfinite(logs).all()
            each = [LOG[quantity](alpha=10.0**exponent, dt=dt, horizon=t, hidden_size=256) for t in T]
            np.testing.assert_allclose(logs, each, rtol=4 * EPS)
    logs = sam.log_position_undamped(horizon=T, hidden_size=256)
    assert np.isfinite(logs).all() and np.all(np.diff(logs) > 0)


@pytest.mark.parametrize("quantity", QUANTITIES)
@given(alpha=alphas, dt=steps_below_one, n=st.integers(1, 10**5), m=sizes)
def test_the_bound_increases_with_the_number_of_steps(quantity: str, alpha: Fraction, dt: Fraction, n: int, m: int):
    assert ball_bound(quantity, alpha, dt, n * dt, m) < ball_bound(quantity, alpha, dt, (n + 1) * dt, m)
