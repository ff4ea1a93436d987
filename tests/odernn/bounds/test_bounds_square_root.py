"""thm-S': where the square-root form holds, and the point x₀ at which its derivation ends."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import flint
import pytest
from mpmath import mp, mpf

from odernn.bounds import icml, sharp
from odernn.bounds.numbers import BALLS
from tests.tiers import without


def margin(alpha: Fraction, time: Fraction) -> flint.arb:
    return sharp.square_root_margin(alpha=BALLS.exact(alpha), time=BALLS.exact(time), numbers=BALLS)


def test_the_range_ends_at_the_positive_root_of_the_exponential_against_the_line():
    with mp.workdps(30):
        root = mp.findroot(lambda x: mp.exp(x) - 1 - 2 * x, mpf("1.25"))
        assert abs(root - sharp.SQUARE_ROOT_RANGE) < 1e-15
        assert f"{float(root):.10f}" == "1.2564312086" and f"{float(1 + 2 * root):.7f}" == "3.5128624"
    with flint.ctx.workprec(128):
        below, above = Fraction("1.25643120862616"), Fraction("1.25643120862617")
        alpha = Fraction(1, 2)  # β = max(2, 1)
        assert margin(alpha, below / 2) > 0 > margin(alpha, above / 2)


@pytest.mark.parametrize("alpha", without(["1/100", "1/4", "1", "3", "40"], "1/100", "1/4"))
def test_within_its_range_the_square_root_bounds_every_supremum(alpha: str):
    a = Fraction(alpha)
    beta = max(1 + 2 * a, 4 * a * a)
    cases = 0
    for dt, sigma in itertools.product((Fraction(9, 10), Fraction(1, 10), Fraction(1, 100000)), (1, Fraction(1, 2))):
        steps = int(Fraction("1.2564312") / beta / dt)
        for n in {1, steps // 2, steps} - {0}:
            if n > steps:
                continue
            time = n * dt
            assert float(sharp.square_root_margin(alpha=float(a), time=float(time))) >= 0
            for quantity, bound in (("position", icml.log_position), ("momentum", icml.log_momentum)):
                supremum = sharp.log_supremum_at(
                    alpha=float(a), step_size=float(sigma * dt), steps=n, quantity=quantity
                )
                assert float(supremum) <= float(bound(alpha=float(a), time=float(time)))
                cases += 1
    assert cases > 0


def test_beyond_its_range_the_square_root_form_may_fail():
    alpha, dt, n = 0.25, 0.1, 400
    assert float(sharp.square_root_margin(alpha=alpha, time=n * dt)) < 0
    supremum = float(sharp.log_supremum_at(alpha=alpha, step_size=dt, steps=n, quantity="position"))
    assert supremum > float(icml.log_position(alpha=alpha, time=n * dt))


def test_the_margin_of_long_times_does_not_overflow():
    assert float(sharp.square_root_margin(alpha=40.0, time=1e5)) == -1.0
    assert math.isfinite(float(sharp.square_root_margin(alpha=0.0, time=0.0)))
