"""thm-J and thm-V: norms against singular values, rates against all short words, the pinned values, false rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from odernn.bounds import forms, jacobian, words
from odernn.bounds.numbers import BALLS

BITS = 160

kappas = st.fractions(-60, 60, max_denominator=40)
step_sizes = st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100)
shares = st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50)  # of 4/h²


def B(kappa: float, h: float) -> np.ndarray:
    return np.array([[1 - h * h * kappa, h], [-h * kappa, 1.0]])


def exact_B(kappa: Fraction, h: Fraction) -> mp.matrix:
    """In mpmath, at the precision in force."""
    k, s = mpf(kappa.numerator) / kappa.denominator, mpf(h.numerator) / h.denominator
    return mp.matrix([[1 - s * s * k, s], [-s * k, 1]])


def exact_norm(matrix: mp.matrix, a: Fraction, h: Fraction) -> mpf:
    """‖M‖_a as the largest singular value of C M C⁻¹, Q_a = CᵀC."""
    form, s = mpf(a.numerator) / a.denominator, mpf(h.numerator) / h.denominator
    C = mp.matrix([[mp.sqrt(form * (1 - form * s * s / 4)), 0], [-form * s / 2, 1]])
    return max(mp.svd_r(C * matrix * C**-1, compute_uv=False))


def ball_log_norm(kappa: Fraction, a: Fraction, h: Fraction) -> flint.arb:
    return jacobian.log_norm(kappa=BALLS.exact(kappa), form=BALLS.exact(a), step_size=BALLS.exact(h), numbers=BALLS)


def digits(ball: flint.arb) -> mpf:
    assert ball.rad() < 1e-30
    return mpf(ball.str(36, radius=False))


# --- (a) norms -------------------------------------------------------------------------------------------------------


@given(kappa=kappas, h=step_sizes, share=shares)
def test_the_norm_of_a_step_is_its_largest_singular_value_in_the_form(kappa: Fraction, h: Fraction, share: Fraction):
    a = share * 4 / h**2
    with mp.workdps(40), flint.ctx.workprec(BITS):
        expected = mp.log(exact_norm(exact_B(kappa, h), a, h))
        found = ball_log_norm(kappa, a, h)
        inverse = mp.log(exact_norm(exact_B(kappa, h) ** -1, a, h))
        assert abs(digits(found) - expected) < 1e-14 * (1 + expected)
        assert abs(inverse - expected) < 1e-30
    in_floats = jacobian.log_norm(kappa=float(kappa), form=float(a), step_size=float(h))
    assert float(in_floats) == pytest.approx(float(found.mid()), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize(
    ("kappa", "a", "h", "norm"),
    [("3", "2", "0.3", 1.1144089982), ("-1", "2", "0.3", 1.3772838751), ("0", "1", "1/2", math.sqrt(5 / 3))],
)
def test_the_pinned_norms(kappa: str, a: str, h: str, norm: float):
    with flint.ctx.workprec(BITS):
        found = float(ball_log_norm(Fraction(kappa), Fraction(a), Fraction(h)).exp().mid())
    assert found == pytest.approx(norm, abs=6e-11)


@given(h=step_sizes, share=shares, sequence=st.lists(kappas, min_size=1, max_size=12))
def test_products_stay_between_one_and_the_sum_of_inverse_hyperbolic_sines(
    h: Fraction, share: Fraction, sequence: list[Fraction]
):
    a = share * 4 / h**2
    with mp.workdps(60), flint.ctx.workprec(BITS):
        product = mp.eye(2)
        for kappa in sequence:
            product = exact_B(kappa, h) * product
        measured = mp.log(exact_norm(product, a, h))
        bound = jacobian.log_product_bound(
            kappas=[BALLS.exact(k) for k in sequence], form=BALLS.exact(a), step_size=BALLS.exact(h), numbers=BALLS
        )
        assert -1e-25 <= measured <= digits(bound) + 1e-12


def test_without_the_half_in_the_argument_the_norm_is_wrong_and_with_a_quarter_it_is_exceeded():
    kappa, a, h = 3.0, 2.0, 0.3
    g = h * abs(kappa - a) / float(jacobian.root(form=a, step_size=h))
    assert math.asinh(g) != pytest.approx(math.log(1.1144089982), rel=1e-3)
    assert math.asinh(g / 4) < math.log(1.1144089982) - 1e-3


# --- (b) the joint spectral radius -----------------------------------------------------------------------------------

REGIMES = {
    "rotating": (9.0, 2.0, 0.1),
    "resonant": (1.0, 1.0, 0.3),
    "saddle": (2.0, -7.0, 0.3),
    "shallow": (5.0, -5.5, 0.3),
    "stiff": (30.0, 10.0, 0.4),
    "both": (10.0, -12.0, 0.7),
    "frozen stiffness": (10.0, 0.0, 0.3),
    "undamped": (0.0, 3.0, 0.3),
}


def ends_of(alpha: float, w: float, h: float) -> dict[str, float]:
    return {"kappa_low": alpha + min(w, 0.0), "kappa_high": alpha + max(w, 0.0), "step_size": h}


def radius_of_all_words(low: float, high: float, h: float, longest: int) -> float:
    """max over all words of at most ``longest`` letters of log ρ(word)/length, by numpy."""
    letters = (B(low, h), B(high, h))
    best = 0.0
    for length in range(1, longest + 1):
        for word in itertools.product(letters, repeat=length):
            product = np.linalg.multi_dot(word) if length > 1 else word[0]
            best = max(best, math.log(np.abs(np.linalg.eigvals(product)).max()) / length)
    return best


@pytest.mark.parametrize("name", REGIMES)
def test_every_word_is_below_the_rate_bound(name: str):
    ends = ends_of(*REGIMES[name])
    found = words.rate(alpha=REGIMES[name][0], w=REGIMES[name][1], step_size=REGIMES[name][2])
    reached = radius_of_all_words(ends["kappa_low"], ends["kappa_high"], ends["step_size"], 9)
    # a Jordan block has eigenvalues 1 ± √(rounding)
    assert reached <= found.upper + 1e-7
    assert found.lower <= found.upper
    assert found.lower >= reached - 1e-7 if name != "shallow" else found.lower > 0
    if found.is_exact:
        assert reached == pytest.approx(found.upper, rel=1e-6)


def test_the_best_form_is_the_smallest_over_a_grid():
    generator = np.random.default_rng(0)
    for _ in range(300):
        h = generator.uniform(0.01, 1)
        end = 4 / h**2
        low, high = np.sort(generator.uniform(-1, 2, 2) * end * 10 ** generator.uniform(-3, 0.5))
        grid = end * np.r_[np.geomspace(1e-9, 0.5, 800), 1 - np.geomspace(1e-9, 0.5, 800)]
        best = forms.best_form(kappa_low=low, kappa_high=high, step_size=h)
        found = jacobian.rate_bound(kappa_low=low, kappa_high=high, form=best, step_size=h)
        others = jacobian.rate_bound(kappa_low=low, kappa_high=high, form=grid, step_size=h)
        assert found <= others.min() * (1 + 1e-12)
        for rate in (found * 1.01 + 1e-12, found + 0.1, 5 * found):
            within = forms.form_within(rate=rate, kappa_low=low, kappa_high=high, step_size=h)
            reached = jacobian.rate_bound(kappa_low=low, kappa_high=high, form=within, step_size=h)
            assert reached <= rate * (1 + 1e-9) + 1e-12
            closer = grid[(others <= rate) & (np.abs(grid - 2 / h**2) < np.abs(within - 2 / h**2) - 1e-4 * end)]
            assert len(closer) == 0  # none with larger r_a would do


def test_forms_of_many_neurons_are_those_of_each():
    low, high, h = np.array([-3.0, 1.0, 0.0, 50.0]), np.array([2.0, 1.0, 0.0, 90.0]), np.array([0.3, 0.2, 0.5, 0.25])
    together = forms.best_form(kappa_low=low, kappa_high=high, step_size=h)
    alone = [forms.best_form(kappa_low=a, kappa_high=b, step_size=c) for a, b, c in zip(low, high, h, strict=True)]
    assert together.tolist() == alone
    assert ((together > 0) & (together * h * h < 4)).all()


# --- (c), (d), (e) ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alpha", "w", "h", "per_time"),
    [(2.0, -7.0, 0.05, 2.2349049935), (4.0, -12.0, 0.2, 2.7920110829), (0.0, -1.0, 0.0343, 0.9999509861)],
)
def test_the_pinned_rates_of_saddles_are_exact_suprema(alpha: float, w: float, h: float, per_time: float):
    found = words.rate(alpha=alpha, w=w, step_size=h)
    assert found.is_exact
    assert found.lower / h == pytest.approx(per_time, abs=6e-11)
    form = jacobian.rate_bound(**ends_of(alpha, w, h), form=found.form)
    assert float(form) == pytest.approx(found.upper, rel=1e-12)


@pytest.mark.parametrize(
    ("alpha", "w", "h", "word", "lower", "upper", "by_a_form"),
    [
        (9.0, 2.0, 0.1, (6, 4), 0.1000060, 0.1037293, 0.1601213),
        (1.0, 1.0, 0.05, (28, 24), 0.1308583, 0.1309738, 0.2042163),
    ],
)
def test_the_pinned_words_of_the_resonant_regime(
    alpha: float, w: float, h: float, word: tuple[int, int], lower: float, upper: float, by_a_form: float
):
    found = words.rate(alpha=alpha, w=w, step_size=h)
    form = float(jacobian.rate_bound(**ends_of(alpha, w, h), form=found.form))
    assert form / h == pytest.approx(by_a_form, abs=6e-8)
    assert found.because == f"word {word}" and not found.is_exact
    assert found.lower / h == pytest.approx(lower, abs=6e-8) and found.upper / h == pytest.approx(upper, abs=6e-8)
    p, q = word
    product = np.linalg.matrix_power(B(alpha, h), p) @ np.linalg.matrix_power(B(alpha + w, h), q)
    assert math.log(np.abs(np.linalg.eigvals(product)).max()) / (p + q) == pytest.approx(found.lower, rel=1e-9)
    with flint.ctx.workprec(BITS):
        ball = words.word_rate(
            kappa_low=BALLS.exact(alpha),
            kappa_high=BALLS.exact(alpha + w),
            step_size=BALLS.exact(Fraction(str(h))),
            low_steps=p,
            high_steps=q,
            numbers=BALLS,
        )
    assert ball.rad() < 1e-20 and float(ball.mid()) == pytest.approx(found.lower, rel=1e-9)


def test_the_condition_of_the_saddle_regime_is_where_the_other_end_takes_over():
    for W, h in itertools.product((0.5, 3.0, 40.0), (0.01, 0.2, 0.9)):
        limit = W * (3 + h * h * W / 2) / (1 + h * h * W / 2)
        for alpha in (0.0, limit * 0.999, limit * 1.001, 3 * limit):
            low, w = -W, -W - alpha
            decided = bool(jacobian.saddle_decides(kappa_low=low, kappa_high=alpha, step_size=h))
            assert decided == (alpha <= limit)
            best = forms.best_form(kappa_low=low, kappa_high=alpha, step_size=h)
            upper = float(jacobian.rate_bound(kappa_low=low, kappa_high=alpha, form=best, step_size=h))
            constant = float(jacobian.constant_rate(kappa=low, step_size=h))
            assert constant == pytest.approx(2 * math.asinh(h * math.sqrt(W) / 2), rel=1e-14)
            assert (upper == pytest.approx(constant, rel=1e-9)) == decided
            assert alpha + w == pytest.approx(low)


@given(low=kappas, gap=st.fractions(0, 60, max_denominator=40), h=step_sizes)
def test_the_stiff_regime_mirrors_the_saddle(low: Fraction, gap: Fraction, h: Fraction):
    high, mirror = low + gap, 4 / h**2
    for kappa in (low, high):
        trace, mirrored = 2 - h * h * kappa, 2 - h * h * (mirror - kappa)
        assert trace == -mirrored
    decided = jacobian.stiffness_decides(kappa_low=low, kappa_high=high, step_size=h)
    assert decided == jacobian.saddle_decides(kappa_low=mirror - high, kappa_high=mirror - low, step_size=h)
    if decided:
        ends = {"kappa_low": float(low), "kappa_high": float(high), "step_size": float(h)}
        upper = jacobian.rate_bound(**ends, form=forms.best_form(**ends))
        assert float(upper) == pytest.approx(
            float(jacobian.constant_rate(kappa=float(high), step_size=float(h))), rel=1e-7, abs=1e-7
        )


def test_the_pinned_instability_of_a_stiff_step_is_log_two():
    with flint.ctx.workprec(BITS):
        found = jacobian.constant_rate(
            kappa=BALLS.exact(Fraction(81, 2)), step_size=BALLS.exact(Fraction(1, 3)), numbers=BALLS
        )
        assert (found - BALLS.exact(2).log()).contains(0) and found.rad() < 1e-40
    assert np.abs(np.linalg.eigvals(B(40.5, 1 / 3))).max() == pytest.approx(2.0, rel=1e-12)
    assert words.rate(alpha=30.5, w=10.0, step_size=1 / 3).lower >= math.log(2) - 1e-12
    saturated = words.rate(alpha=40.5, w=-5.0, step_size=1 / 3)  # w < 0: reached in the limit of saturation
    assert saturated.lower == pytest.approx(math.log(2), rel=1e-12)


def test_a_rotation_has_rate_zero_also_in_balls_that_contain_the_border():
    with flint.ctx.workprec(BITS):
        third = BALLS.exact(Fraction(1, 3))
        assert jacobian.constant_rate(kappa=BALLS.exact(36), step_size=third, numbers=BALLS).contains(0)
        assert jacobian.constant_rate(kappa=BALLS.exact(35), step_size=third, numbers=BALLS) == 0
    assert jacobian.constant_rate(kappa=np.array([0.0, 1.0, 35.0]), step_size=1 / 3).tolist() == [0, 0, 0]


def test_words_of_two_durations_are_the_limit_of_words():
    low, high = 9.0, 11.0
    times = (math.pi / 2 / 3.0, math.pi / 2 / math.sqrt(11.0))
    limit = float(words.duration_rate(kappa_low=low, kappa_high=high, low_time=times[0], high_time=times[1]))
    assert limit == pytest.approx(float(words.quarter_period_rate(kappa_low=low, kappa_high=high)), rel=1e-12)
    errors = []
    for h in (1e-2, 1e-3, 1e-4):
        p, q = (round(t / h) for t in times)
        found = words.word_rate(kappa_low=low, kappa_high=high, step_size=h, low_steps=p, high_steps=q)
        errors.append(abs(float(found) / h - limit))
    assert errors[2] < 1e-4 < errors[0] and errors[1] < errors[0]
    # nothing on a grid of durations is above the bound, and the best is not far above the quarter periods
    t = np.linspace(0.8, 1.2, 81)
    grid = words.duration_rate(
        kappa_low=low, kappa_high=high, low_time=times[0] * t[:, None], high_time=times[1] * t[None, :]
    )
    assert limit <= grid.max() * (1 + 1e-12) <= 1.01 * limit
    assert grid.max() <= 2 / (4 * math.sqrt(10.0))


def test_for_small_weights_the_resonant_rate_tends_to_w_over_two_pi_root_alpha_and_the_bound_to_half_pi_times_it():
    alpha = 4.0
    for w, tolerance in ((1e-4, 1e-4), (1e-6, 1e-6)):
        law = w / (2 * math.pi * math.sqrt(alpha))
        found = float(words.quarter_period_rate(kappa_low=alpha, kappa_high=alpha + w))
        assert found == pytest.approx(law, rel=tolerance)
    neuron = words.rate(alpha=alpha, w=0.02, step_size=1e-4)
    assert neuron.lower / 1e-4 == pytest.approx(0.02 / (4 * math.pi), rel=1e-2)
    assert neuron.lower <= neuron.upper <= 1.001 * neuron.lower
    form = float(jacobian.rate_bound(**ends_of(alpha, 0.02, 1e-4), form=neuron.form))
    assert form / neuron.lower == pytest.approx(math.pi / 2, rel=1e-2)


def test_without_restoring_force_drift_and_turn_pump_the_neuron():
    found = words.rate(alpha=0.0, w=4.0, step_size=1e-3)
    assert found.lower / 1e-3 == pytest.approx(0.24363 * 2, rel=1e-3)
    assert found.upper == pytest.approx(found.lower, rel=1e-3)
    form = float(jacobian.rate_bound(**ends_of(0.0, 4.0, 1e-3), form=found.form))
    assert form / 1e-3 == pytest.approx(2 / math.sqrt(8), rel=1e-3)
    other = words.duration_rate(kappa_low=1e-12, kappa_high=4.0, low_time=4.105 / 2, high_time=1.81 / 2)
    assert float(other) == pytest.approx(found.lower / 1e-3, rel=1e-3)


def test_vectorised_words_are_the_words_one_by_one():
    generator = np.random.default_rng(0)
    alpha = np.r_[generator.uniform(0.1, 10, 40), np.zeros(10), -np.ones(3)]
    h = generator.uniform(0.01, 0.5, alpha.size)
    high = alpha + generator.uniform(0, 5, alpha.size) * np.minimum(1, 0.3 / h**2)
    p, q, rates = words.quarter_words(kappa_low=alpha, kappa_high=high, step_size=h)
    for i in range(50):
        one = words.word_rate(
            kappa_low=alpha[i], kappa_high=high[i], step_size=h[i], low_steps=int(p[i]), high_steps=int(q[i])
        )
        assert rates[i] == pytest.approx(float(one), abs=1e-9)
    assert (rates[50:] == 0).all()


@pytest.mark.parametrize(("alpha", "w", "h"), [(40.0, 9.0, 0.5), (2.0, -900.0, 0.9), (1e6, 1e6, 0.9), (0.0, -1e8, 0.5)])
def test_rates_far_beyond_stability_are_finite(alpha: float, w: float, h: float):
    found = words.rate(alpha=alpha, w=w, step_size=h)
    assert 0 < found.lower <= found.upper * (1 + 1e-9) < 50


def test_regimes_are_named():
    low, high = np.array([1, 0, -1, 1, -1, 1.0]), np.array([2, 2, 2, 20, 20, 16.0])
    assert jacobian.regimes(kappa_low=low, kappa_high=high, step_size=0.5).tolist() == [
        "rotating",
        "marginal",
        "saddle",
        "stiff",
        "saddle, stiff",
        "marginal",
    ]


# --- thm-V -----------------------------------------------------------------------------------------------------------


def test_the_pinned_contracting_eigenvalue():
    W, h = 5.0, 0.05
    rate = float(jacobian.constant_rate(kappa=-W, step_size=h))
    assert math.exp(-rate) == pytest.approx(0.8942720446, abs=6e-11)
    ratio = float(jacobian.contracting_ratio(kappa=-W, step_size=h))
    p = np.array([ratio, 1.0])
    np.testing.assert_allclose(p @ B(-W, h), math.exp(-rate) * p, rtol=1e-12)


@pytest.mark.parametrize(
    ("alpha", "w", "h"), [("2", "-7", "1/20"), ("1/2", "-3", "1/5"), ("20", "-21", "3/10"), ("20", "-21", "1/2")]
)
def test_inputs_exist_for_which_early_contributions_vanish_at_exactly_that_rate(alpha: str, w: str, h: str):
    a, weight, step = Fraction(alpha), Fraction(w), Fraction(h)
    N = 200
    with flint.ctx.workprec(2000):
        slopes = jacobian.vanishing_slopes(
            alpha=BALLS.exact(a),
            w=BALLS.exact(weight),
            step_size=BALLS.exact(step),
            steps=N,
            saturated=BALLS.exact(Fraction(1, 1000)),
            numbers=BALLS,
        )
        assert len(slopes) == N and all(s > 0 and s <= 1 for s in slopes)
        p_y, p_z = BALLS.exact(1), BALLS.exact(0)
        sizes = []
        for slope in reversed(slopes):  # e_yᵀ B_N … B_k
            kappa = BALLS.exact(a) + BALLS.exact(weight) * slope
            p_z = BALLS.exact(step) * p_y + p_z
            p_y = p_y - BALLS.exact(step) * kappa * p_z
            sizes.append(float(abs(p_z).log().mid()))
        rate = jacobian.log_vanishing_rate(
            alpha=BALLS.exact(a), w=BALLS.exact(weight), step_size=BALLS.exact(step), numbers=BALLS
        )
        tail = next(i for i, s in enumerate(reversed(slopes)) if s == 1)
        assert tail < N / 2
        decay = (sizes[-1] - sizes[tail]) / (N - 1 - tail)
        assert decay == pytest.approx(-float(rate.mid()), rel=1e-12)
        # a planted neighbour: without the one step that aims, they grow
        p_y, p_z = BALLS.exact(1), BALLS.exact(0)
        for slope in [slopes[-1]] * (tail - 1) + [1] * (N - tail + 1):
            kappa = BALLS.exact(a) + BALLS.exact(weight) * slope
            p_z = BALLS.exact(step) * p_y + p_z
            p_y = p_y - BALLS.exact(step) * kappa * p_z
        assert abs(p_z) > 1


def test_vanishing_inputs_need_a_saddle_and_a_restoring_force():
    for alpha, w in ((0.0, -3.0), (4.0, -3.0), (4.0, 3.0)):
        with pytest.raises(ValueError, match=r"0 < alpha < −w only\. .* use 0"):
            jacobian.log_vanishing_rate(alpha=alpha, w=w, step_size=0.1)
    with pytest.raises(ValueError, match="steps is 3, fewer"):
        jacobian.vanishing_slopes(alpha=2.0, w=-7.0, step_size=0.05, steps=3, saturated=1e-3)


def test_saturation_bounds_the_slope():
    for a in (0.0, 0.3, 3.0, -20.0, 300.0):
        with mp.workdps(300):
            slope = mp.log(mp.sech(mpf(a)) ** 2)
        assert float(jacobian.log_saturation(preactivation=a)) >= float(slope) - 1e-13
    assert float(jacobian.log_saturation(preactivation=20.0)) == pytest.approx(math.log(4) - 40)


# --- formulas against a second typing, at places where every term counts


def _log_radius(matrix: np.ndarray) -> float:
    return float(np.log(np.abs(np.linalg.eigvals(matrix)).max()))


def test_the_bound_on_a_product_is_the_sum_of_the_norms_of_its_steps():
    h, a, kappas = 0.3, 2.0, [0.5, 4.0, -1.0]
    r = math.sqrt(a * (1 - a * h * h / 4))
    expected = sum(math.asinh(h * abs(kappa - a) / (2 * r)) for kappa in kappas)
    assert jacobian.log_product_bound(kappas=kappas, form=a, step_size=h) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("h", [Fraction(1, 2), Fraction(5, 7)])
def test_the_two_regimes_are_decided_at_their_printed_thresholds(h):
    """Just below, at and just above, as bools."""
    tiny, end = Fraction(1, 10**9), 4 / h**2
    for W in (Fraction(1, 3), Fraction(2), Fraction(9)):
        edge = W * (3 + h * h * W / 2) / (1 + h * h * W / 2)
        for beyond, expected in ((-tiny, True), (Fraction(0), True), (tiny, False)):
            assert jacobian.saddle_decides(kappa_low=-W, kappa_high=edge + beyond, step_size=h) is expected
            low = end - edge - beyond
            assert jacobian.stiffness_decides(kappa_low=low, kappa_high=end + W, step_size=h) is expected
    assert jacobian.saddle_decides(kappa_low=Fraction(0), kappa_high=Fraction(0), step_size=h) is False
    assert jacobian.stiffness_decides(kappa_low=end / 2, kappa_high=end, step_size=h) is False


@pytest.mark.parametrize(("alpha", "w"), [(1.0, -4.0), (2.0, -7.0), (0.5, -3.0), (3.0, -3.5)])
def test_vanishing_takes_just_the_steps_that_its_rotation_needs_and_slopes_up_to_one(alpha, w):
    for h in (0.05, 0.1, 0.21, 0.37):
        plenty = jacobian.vanishing_slopes(alpha=alpha, w=w, step_size=h, steps=400, saturated=1e-9)
        needed = plenty.count(1e-9) + 1
        arguments = {"alpha": alpha, "w": w, "step_size": h, "saturated": 1e-9}
        assert len(plenty) == 400 and all(0 < slope <= 1 for slope in plenty)
        assert jacobian.vanishing_slopes(**arguments, steps=needed) == plenty[-needed:]
        with pytest.raises(ValueError, match="fewer than it takes"):
            jacobian.vanishing_slopes(**arguments, steps=needed - 1)


def test_saturation_counts_on_both_sides():
    for A in (-7.0, -0.5, 0.0, 3.0):
        log_slope = math.log(1 - math.tanh(A) ** 2)
        bound = jacobian.log_saturation(preactivation=A)
        assert log_slope <= bound + 1e-12 and bound == math.log(4) - 2 * abs(A)


def test_forms_are_kept_inside_in_units_of_their_largest():
    for h in (0.01, 0.5, 3.0):
        assert forms.inside(0.0, h) == pytest.approx(forms.SMALLEST * 4 / h**2, rel=1e-14, abs=0)
        assert forms.inside(math.inf, h) == pytest.approx(forms.LARGEST * 4 / h**2, rel=1e-14)


def test_a_form_within_any_rate_is_the_roundest_and_within_none_the_best():
    ends = {"kappa_low": 0.5, "kappa_high": 6.0, "step_size": 0.4}
    assert forms.form_within(rate=1000.0, **ends) == pytest.approx(2 / 0.4**2, rel=1e-12)
    best = forms.best_form(**ends)
    least = float(jacobian.rate_bound(form=best, **ends))
    for rate in (0.0, least / 100, least * (1 - 1e-6)):
        assert forms.form_within(rate=rate, **ends) == best
    for low, high in ((-3.0, 2.0), (0.5, 40.0)):  # no form at all keeps a saddle or a stiff step below its own rate
        wild = {"kappa_low": low, "kappa_high": high, "step_size": 0.4}
        assert forms.form_within(rate=1e-3, **wild) == forms.best_form(**wild)
    within = forms.form_within(rate=1.2 * least, **ends)
    assert best < within < 2 / 0.4**2
    assert float(jacobian.rate_bound(form=within, **ends)) == pytest.approx(1.2 * least, rel=1e-9)


@pytest.mark.parametrize(
    ("low", "high", "h"), [(-3.0, 2.0, 0.7), (-1.0, 9.0, 1.3), (0.5, 40.0, 0.6), (-2.0, -1.0, 0.5)]
)
def test_a_word_of_saddles_and_stiff_steps_has_the_radius_of_its_product(low, high, h):
    for p, q in ((1, 1), (3, 1), (1, 4), (5, 3), (2, 6)):
        product = np.linalg.matrix_power(B(low, h), p) @ np.linalg.matrix_power(B(high, h), q)
        found = words.word_rate(kappa_low=low, kappa_high=high, step_size=h, low_steps=p, high_steps=q)
        assert found * (p + q) == pytest.approx(max(0.0, _log_radius(product)), abs=1e-8)


def _all_words(low: float, high: float, h: float, counts: Iterable[tuple[int, int]]) -> tuple[int, int, float]:
    found = {
        (p, q): max(0.0, _log_radius(np.linalg.matrix_power(B(low, h), p) @ np.linalg.matrix_power(B(high, h), q)))
        / (p + q)
        for p, q in counts
    }
    p, q = max(found, key=lambda word: found[word])
    return p, q, found[p, q]


@pytest.mark.parametrize("around", [0, 1, 2])
@pytest.mark.parametrize(
    ("low", "high", "h"), [(1.0, 9.0, 0.1), (0.0, 4.0, 0.15), (2.0, 3.0, 0.3), (0.3, 3.0, 1.1), (0.5, 500.0, 0.01)]
)
def test_quarter_words_are_the_best_of_just_those_around_a_quarter_period(low, high, h, around):
    ends = {"kappa_low": np.array(low), "kappa_high": np.array(high), "step_size": np.array(h)}
    angle, other = (2 * math.asin(h * math.sqrt(kappa) / 2) for kappa in (low, high))
    p = round(math.pi / 2 / angle if low else words.DRIFT / other)
    q = round((math.pi / 2 if low else words.TURN) / other)
    window = itertools.product(*({max(1, x + i) for i in range(-around, around + 1)} for x in (p, q)))
    expected = _all_words(low, high, h, window)
    *word, rate = words.quarter_words(**ends, around=around)
    assert rate == pytest.approx(expected[2], abs=1e-9)
    if expected[2] > 1e-6:
        assert tuple(map(int, word)) == expected[:2]
        assert words.best_word(kappa_low=low, kappa_high=high, step_size=h, around=around)[:2] == expected[:2]


def test_where_steps_do_not_all_turn_quarter_words_say_nothing_and_best_word_tries_every_short_one():
    for low, high, h in ((-3.0, 2.0, 0.7), (0.5, 40.0, 0.5), (0.1, 500.0, 0.1), (1.0, 5.0, 1.0)):
        ends = {"kappa_low": low, "kappa_high": high, "step_size": h}
        p, q, rate = words.quarter_words(**{name: np.array(value) for name, value in ends.items()})
        assert (p, q, rate) == (1, 1, 0)
        for around in (1, 2, 3):
            expected = _all_words(low, high, h, itertools.product(range(1, 2 * around + 1), repeat=2))
            found = words.best_word(**ends, around=around)
            assert found[2] == pytest.approx(expected[2], rel=1e-9) and found[:2] == expected[:2]


def test_the_rate_of_quarter_periods_does_not_mind_which_comes_first():
    one, other = (
        words.quarter_period_rate(kappa_low=1.0, kappa_high=4.0),
        words.quarter_period_rate(kappa_low=4.0, kappa_high=1.0),
    )
    assert one == other == pytest.approx(math.log(2) / (math.pi / 2 * 1.5), rel=1e-14)
