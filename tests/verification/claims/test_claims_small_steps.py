"""Growth at every small step at once: the exact gradient at rest, its two bounds for all dt' ≤ dt, and the check."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import pytest
from mpmath import mp, mpf

from odernn.published.sources import Source
from tests.tiers import only
from tests.verification.claims.both_typings import both_sides
from verification import verdict
from verification.answer import answer
from verification.cases import gradient_growth, small_step_growth
from verification.cases.chain_gradients import at_rest
from verification.cases.top_layer_gradients import last_error
from verification.certify.second.intervals import iv
from verification.claim import Claim
from verification.claims.unicornn import one_error
from verification.domains import BUDGETS
from verification.measure.gradient_forms import ICML_43
from verification.verdict import Judgement

ALPHA, W, DT = Fraction(4), Fraction(-9), Fraction(1, 5)
NETWORKS = [
    (ALPHA, W, DT),
    (Fraction(1), Fraction(-8), Fraction(1, 3)),
    (Fraction(1, 7), Fraction(-2), Fraction(9, 10)),
]


def judged(alpha: Fraction, w: Fraction, dt: Fraction, power: int = 3) -> Judgement:
    case = small_step_growth.small_step_case(alpha, w, dt, domain="d", power=power)
    return answer(Claim("planted", Source("icml", "nowhere"), "planted", "slope", (case,)), case, BUDGETS["smoke"], 0)


@pytest.mark.parametrize(("alpha", "w", "dt"), NETWORKS)
def test_the_gradient_at_rest_is_a_hyperbolic_sine(alpha: Fraction, w: Fraction, dt: Fraction) -> None:
    with mp.workdps(40):
        stiff, h = -mpf((alpha + w).numerator) / (alpha + w).denominator, mpf(dt.numerator) / dt.denominator / 2
        rate = 2 * mp.asinh(h * mp.sqrt(stiff) / 2)
        for N in (1, 2, 7, 30):
            closed = (mp.sinh((N + 1) * rate) / (N * mp.sinh(rate)) - mpf(1) / N - 1) / stiff
            exact = abs(gradient_growth._bias_gradient(alpha, w, dt / 2, N))
            assert mp.almosteq(closed, mpf(exact.numerator) / exact.denominator, rel_eps=mpf(10) ** -30)


@pytest.mark.parametrize(("alpha", "w", "dt"), NETWORKS)
def test_the_bounds_hold_at_every_finer_step_and_both_typings_agree(alpha: Fraction, w: Fraction, dt: Fraction) -> None:
    stiff, h = -(alpha + w), dt / 2
    for N in (1, 3, 12):
        with flint.ctx.workprec(256):
            least = small_step_growth._least_in_balls(stiff, h, N * h)
            most = small_step_growth._most_in_balls(stiff, h, N * h)
            for finer in (1, 2, 3, 8):
                exact = abs(gradient_growth._bias_gradient(alpha, w, h / finer, N * finer))
                value = flint.arb(flint.fmpq(exact.numerator, exact.denominator))
                assert least < value < most
        with iv.workprec(256):
            again = [
                f(stiff, h, N) for f in (small_step_growth._least_in_intervals, small_step_growth._most_in_intervals)
            ]
        assert [float(x.mid) for x in again] == pytest.approx([float(least.mid()), float(most.mid())], rel=1e-12)


@pytest.mark.parametrize(("alpha", "w", "dt"), NETWORKS[:2])
def test_growth_at_a_saddle_is_refuted_for_every_smaller_step(alpha: Fraction, w: Fraction, dt: Fraction) -> None:
    """Also where the eigenvalue is no rational number (w = −8): the bounds need none."""
    found = judged(alpha, w, dt)
    assert found.verdict == verdict.REFUTED and "for every dt'" in found.because


@pytest.mark.parametrize("w", only([Fraction(-1), Fraction(-1, 2), Fraction(3)], Fraction(-1)))
def test_where_nothing_grows_nothing_falls(w: Fraction) -> None:
    assert judged(Fraction(1), w, Fraction(1, 5)).verdict == verdict.NOT_REFUTED


def test_growth_at_one_step_alone_is_suspect(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the lower bound for smaller steps, in either typing, nothing is refuted."""
    for name, nothing in (("_least_in_balls", flint.arb(0)), ("_least_in_intervals", iv.mpf(0))):
        with monkeypatch.context() as patch:
            patch.setattr(small_step_growth, name, lambda *_, nothing=nothing: nothing)
            found = judged(ALPHA, W, DT)
            assert found.verdict == verdict.SUSPECT and "no limit argument" in found.because


def test_a_power_that_doubling_does_not_exceed_is_not_violated() -> None:
    given = {"alpha": "4", "w": "-9", "dt": "1/5", "steps": "40"}
    assert all(opinion.violated for opinion in small_step_growth.small_step_check(given, 11).opinions)
    checked = small_step_growth.small_step_check(given, 12)
    assert not any(opinion.violated for opinion in checked.opinions) and not checked.limit
    assert not small_step_growth.small_step_check(given | {"steps": "2"}, 3).limit


@pytest.mark.parametrize("target", ["3/2", "-2/3"])
@pytest.mark.parametrize(
    ("alpha", "w", "dt", "N"), [("1", "-5/2", "1/3", 4), ("1/7", "-2", "9/10", 7), ("4", "-9", "1/5", 1)]
)
def test_the_gradient_of_one_error_is_at_least_what_stands_on_the_left_for_smaller_steps(
    target: str, alpha: str, w: str, dt: str, N: int
) -> None:
    """|ȳ| (cosh R₀ − 1)/W, by matrices in floats and by its formula; on the right the bound itself, in both typings."""
    point = at_rest(Fraction(alpha), Fraction(dt), N, [Fraction(w)]) | {"target": target}
    smaller, exact = one_error._for_smaller_steps(ICML_43), last_error(ICML_43, one_error.ALONE)
    left, right = both_sides(smaller, point)
    (gradient, _), (bound, _) = both_sides(exact, point)
    W, h = -float(Fraction(alpha) + Fraction(w)), float(Fraction(dt)) / 2
    R = 2 * N * math.asinh(h * math.sqrt(W) / 2)
    assert left == pytest.approx([abs(float(Fraction(target))) * (math.cosh(R) - 1) / W] * 2, rel=1e-12)
    assert left[0] <= gradient
    assert right == pytest.approx([bound] * 2, rel=1e-12)
