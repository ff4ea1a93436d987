"""Both sides of the inequalities of claims, in both typings, against plain floats: at the places that mutants survived.

The tests of the claims compare the two typings with each other at generic parameters. Here are the places where a
maximum takes its other term, an absolute value its other sign and a factor is neither whole nor a unit fraction.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest
from scipy.integrate import quad

from odernn.published.networks import row
from tests.verification.claims.both_typings import in_both, inequality_of
from verification.cases import chain_ends, ode_sensitivities, ode_states, one_step_norms, rest_sensitivities
from verification.claim import Case
from verification.claims.unicornn import elementary, ode_bounds, printed_forms, proof_steps, sensitivities
from verification.domains import BUDGETS
from verification.measure import energy_growth
from verification.measure.published_forms import Delta, Root


def agree(case: Case, point: dict[str, str], left: float, right: float) -> None:
    inequality = inequality_of(case)
    assert inequality is not None
    for sides in in_both(inequality.balls, inequality.intervals, point, inequality.lists):
        assert sides == pytest.approx([left, right], rel=1e-12)


# --- one step


@pytest.mark.parametrize(
    ("h", "alpha", "w", "slope"),
    [("3", "1/2", "1", "1/2"), ("1/2", "1/2", "-9", "3/4"), ("1/2", "1/2", "-1", "3/4"), ("1/3", "2", "5/2", "4/5")],
)
def test_the_norm_of_a_step_is_that_of_its_matrix(h: str, alpha: str, w: str, slope: str) -> None:
    """Also where 1 − h²κ < 0, which takes h > 1: the norm is one for every h."""
    step, kappa = float(Q(h)), float(Q(alpha) + Q(w) * Q(slope))
    matrix = np.array([[1 - step**2 * kappa, step], [-step * kappa, 1]])
    point = {"dt": h, "sigma": "1", "alpha": alpha, "w": w, "slope": slope}
    found = in_both(one_step_norms._ball_norm, one_step_norms._interval_norm, point)
    assert found == [[pytest.approx(np.linalg.norm(matrix, np.inf), rel=1e-13)]] * 2


@pytest.mark.parametrize(("w", "k"), [("-9", 9.5), ("5", 5.5), ("-1", 1.5)])
def test_the_bounds_on_the_norm_read_the_size_of_a_negative_weight(w: str, k: float) -> None:
    point = {"dt": "2/7", "sigma": "5/8", "alpha": "1/2", "w": w, "slope": "3/4"}
    h, dt = 5 / 28, 2 / 7
    kappa = 0.5 + 0.75 * float(w)
    norm = float(np.linalg.norm(np.array([[1 - h * h * kappa, h], [-h * kappa, 1]]), np.inf))
    x = max(k, 2) * dt
    agree(one_step_norms.first_case(Q(3, 5)), point, norm, max(1 + 0.6 * (dt + k * dt**2), 1 + 0.6 * k * dt))
    agree(one_step_norms.taylor_case(Q(3, 7)), point, norm, 1 + x + 3 / 7 * x * x)
    agree(one_step_norms.exponential_case(Q(3, 5)), point, norm, math.exp(0.6 * x))


@pytest.mark.parametrize(("dt", "sigma"), [("3", "2/3"), ("3/5", "2/3")])
def test_the_rows_of_a_climb_are_h_and_h_squared_times_its_weight(dt: str, sigma: str) -> None:
    """h > 1, beyond the premises: there the row of y is the larger one."""
    h, weight = float(Q(dt) * Q(sigma)), 3 / 4 * 5 / 7
    point = {"dt": dt, "sigma": sigma, "slope": "3/4", "v": "5/7"}
    agree(one_step_norms.climb_case(2), point, max(h, h * h) * weight, 5 / 7 * float(Q(dt)) ** 2)


@pytest.mark.parametrize(("y", "z", "below"), [(1 / 8, 0.0, 9.0), (1 / 8, 9.0, 1 / 4), (5.0, 1 / 4, 3.0)])
@pytest.mark.parametrize("drop", ["", "1", "y", "z"])
def test_the_direct_partials_are_those_of_the_step(y: float, z: float, below: float, drop: str) -> None:
    """∂z = hσ'·(y, y^{l−1} or 1) or h(1−σ̂)(s + αy), ∂y = h∂z, and for c also h(1−σ̂)z more."""
    dt, sigma, alpha, s, slope = 3 / 4, 7 / 8, 1 / 2, 5 / 8, 15 / 16
    h = dt * sigma
    by_source, by_c = [h * slope * each for each in (y, below, 1.0)], h * (1 - sigma) * (s + alpha * y)
    of_z = max(*by_source, by_c)
    of_y = max(*(h * each for each in by_source), h * by_c + h * (1 - sigma) * z)
    one, own, momentum = (name != drop for name in ("1", "y", "z"))
    bracket = one + own * alpha * y + max(y, below, 1.0)
    states = one * 2 + momentum * z + own * (1 + alpha) * y + below
    point = {
        name: str(Q(value))
        for name, value in {
            "dt": dt,
            "sigma": sigma,
            "alpha": alpha,
            "y": y,
            "z": z,
            "s": s,
            "below": below,
            "slope": slope,
        }.items()
    }
    agree(one_step_norms.partial_case("(63)", drop), point, of_z, dt * bracket)
    agree(one_step_norms.partial_case("(64)", drop), point, of_y, momentum * dt * z + dt**2 * bracket)
    agree(one_step_norms.partial_case("(65)", drop), point, max(of_z, of_y), dt * states)


@pytest.mark.parametrize("alpha", [3 / 8, 5.0])
def test_the_steps_of_the_energy_are_the_printed_ones_with_factors_that_are_no_unit_fractions(alpha: float) -> None:
    dt, h, y, z, s = 3 / 4, 3 / 8, 1 / 2, -5 / 4, 7 / 8
    beta = max(1 + 2 * alpha, 4 * alpha**2)
    kicked = z - h * (s + alpha * y)
    left, before = alpha * (y + h * kicked) ** 2 + kicked**2, alpha * y**2 + z**2
    right = (1 + 5 / 3 * beta * dt) * before + 2 / 7 * (2 * dt + 4 * alpha * dt**4)
    point = {"alpha": str(Q(alpha)), "dt": "3/4", "sigma": "1/2", "y": "1/2", "z": "-5/4", "s": "7/8"}
    agree(proof_steps.energy_case(Q(5, 3), Q(2, 7)), point, left, right)
    agree(proof_steps.rest_case(Q(7, 3)), point, 2 + 7 / 3 * alpha * dt**3, 2 * beta)


def test_where_no_state_reaches_one_the_partial_by_the_bias_is_the_largest() -> None:
    """After N − 1 = 1 steps |y| ≤ h² = 1/144: the left side is σ̂ max(|y|, 1) = σ̂."""
    case = chain_ends.sam_partial_case()
    inequality = inequality_of(case)
    assert inequality is not None
    point = {"alpha": "1", "dt": "1/9", "sigma": "3/4", "N": "2", "T": "2/9"}
    for left, _ in in_both(inequality.balls, inequality.intervals, point):
        assert left == pytest.approx(3 / 4, rel=1e-13)


@pytest.mark.parametrize("steps", [8, 9])
def test_the_partial_by_the_weight_is_the_largest_state_of_the_step_before(steps: int) -> None:
    """y_{N−1} = −h Σ_k (B^{N−1−k} (h, 1))_1 s_k, |s_k| < 1: the supremum is the sum of the sizes."""
    h, alpha = 3 / 4 * 2 / 3, 1 / 2
    powers = [np.linalg.matrix_power(np.array([[1 - h * h * alpha, h], [-h * alpha, 1]]), k) for k in range(steps - 1)]
    largest = h * sum(abs((power @ [h, 1])[0]) for power in powers)
    assert largest > 1
    inequality = inequality_of(chain_ends.sam_partial_case())
    point = {"alpha": "1/2", "dt": "2/3", "sigma": "3/4", "N": str(steps), "T": str(Q(2 * steps, 3))}
    for left, _ in in_both(inequality.balls, inequality.intervals, point):
        assert left == pytest.approx(3 / 4 * largest, rel=1e-12)


# --- the differential equation


@pytest.mark.parametrize("t", ["3/4", "7/3"])
def test_the_right_side_of_an_ode_bound_is_its_formula_in_all_three_typings(t: str) -> None:
    bound, x = ode_states.Bound(factor=Q(2, 3), rate=Q(3, 7), power=2, growth=Q(-5, 4)), float(Q(t))
    expected = 2 / 3 * math.exp(3 / 7 - 5 / 4 * x) * x**2
    found = in_both(lambda p: bound.ball(p.t), lambda p: bound.interval(p.t), {"t": t})
    assert found == [[pytest.approx(expected, rel=1e-13)]] * 2
    assert bound.float(x) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    ("t", "u", "c"), [("3", "1/2", "1/4"), ("1", "1/2", "9/4"), ("1", "5/2", "7"), ("3", "9", "1")]
)
def test_the_forcing_is_the_largest_of_state_input_and_one_against_the_larger_constant(t: str, u: str, c: str) -> None:
    """At t = 3, beyond the premises, the state decides; at t ≤ 1 it never does."""
    y = 9 * (1 - math.cos(float(Q(t)) / 3)) * math.tanh(20)
    left, right = max(y * y, float(Q(u)) ** 2, 1.0), max(7 / 3, 5 / 3 * float(Q(c)))
    agree(ode_bounds.forcing_case(Q(7, 3), Q(5, 3)), {"alpha": "1/9", "b": "20", "t": t, "u": u, "c": c}, left, right)


@pytest.mark.parametrize("undamped", [False, True])
def test_the_growth_of_a_sensitivity_is_at_least_its_floor(undamped: bool) -> None:
    growth = ode_sensitivities.SensitivityBound(
        undamped, offset=Q(1, 9), square=Q(2, 9), floor=Q(16, 5), start=Q(5, 3), force=Q(7, 4)
    )
    alpha = "0" if undamped else "3/4"
    point = {
        "alpha": alpha,
        "w": "-1/3",
        "t": "2/3",
        "y0": "1/2",
        "z0": "-2/3",
        "C": "9/5",
        "preactivations": "1/3 -2/5 1/2 3/8",
        "forces": "2/7 1/5 -1/4 3/11",
    }
    before = (1.0 if undamped else 0.75) / 4 + 4 / 9
    expected = (5 / 3 * before + 7 / 4 * 9 / 5) * math.exp(16 / 5)  # 1/9 + 2/9 · 1/9/α is far below 16/5
    for quantity in ("y_θ", "z_θ"):
        inequality = inequality_of(ode_sensitivities.sensitivity_case(growth, quantity))
        for _, right in in_both(inequality.balls, inequality.intervals, point, inequality.lists):
            assert right == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "integrand", "middle"),
    [
        ("_mean_sine", math.sin, 2.0),
        ("_mean_sine", math.sin, 2.6),
        ("_mean_cosine", math.cos, 1.1),
    ],
)
def test_the_mean_of_a_sine_is_enclosed_in_a_wide_ball_below_its_first_zero(
    name: str, integrand: Any, middle: float
) -> None:
    """The docstring: exact there, so that the ball of the image has the value at every point, not only a bound."""
    found = getattr(ode_states, name)(flint.arb(middle, 0.25))
    for x in (middle - 0.25, middle, middle + 0.25):
        area, _ = quad(integrand, 0.0, x)
        assert float(found.lower()) <= area / x <= float(found.upper())


def test_the_horizon_of_a_row_is_compared_with_a_fraction() -> None:
    case = printed_forms.horizon_case(row("RR"), longest=Q(7, 2))
    agree(case, {"dt": "2/7", "N": "9"}, 18 / 7, 7 / 2)


def test_the_printed_forms_are_their_formulas_with_powers_and_constants_that_are_no_whole_numbers() -> None:
    a, dt, T, m = 3 / 2, 3 / 4, 5 / 4, 3.0
    point = {"alpha": "3/2", "dt": "3/4", "T": "5/4", "m": "3"}
    step, rate = 1 + 2 * a * dt**3, 96**0.25 * math.sqrt(a)
    root = Root(factor=Q(5, 3), step_power=Q(3, 5), growth=Q(2, 7))
    size = math.sqrt(5 / 3 * m * T) * step**0.6 * math.exp(2 / 7 * rate * T)
    assert in_both(root.ball, root.interval, point) == [[pytest.approx(size, rel=1e-13)]] * 2
    other = replace(root, factor=Q(5, 12))
    delta = Delta(z=root, y=other, constant=Q(7, 3))
    expected = 7 / 3 + size + (2 + a) * size / 2 / math.sqrt(a)
    assert in_both(delta.ball, delta.interval, point) == [[pytest.approx(expected, rel=1e-13)]] * 2


# --- gradients of the differential equation


@pytest.mark.parametrize(("alpha", "w"), [(0.5, 0.75), (2.0, -0.5), (0.5, -3.0)])
@pytest.mark.parametrize("t", [0.25, 0.5, 2.5])
def test_the_floor_is_the_printed_one_and_the_maximum_that_of_free_and_of_turning_neurons(
    alpha: float, w: float, t: float
) -> None:
    """κ > 0: y ≤ min(t²/2, 2/κ), z ≤ min(t, 1/√κ); κ < 0: both at t, (cosh ωt − 1)/ω² and sinh(ωt)/ω."""
    a = 0.375
    s = 1 - math.tanh(a) ** 2
    kappa = alpha + w * s
    if kappa > 0:
        y, z = min(t * t / 2, 2 / kappa), min(t, 1 / math.sqrt(kappa))
    else:
        omega = math.sqrt(-kappa)
        y, z = (math.cosh(omega * t) - 1) / omega**2, math.sinh(omega * t) / omega
    point = {"alpha": str(Q(alpha)), "w": str(Q(w)), "t": str(Q(t)), "a": "3/8"}
    floor = 5 / 3 * s * t / (1 + (alpha + abs(w)) * t)
    agree(rest_sensitivities.floor_case(Q(5, 3)), point, floor, s * max(y, z))


@pytest.mark.parametrize(("t", "u", "b"), [(0.5, 0.25, 0.125), (0.5, 0.25, -9.0), (0.5, 3.0, 2.0), (3.0, 0.25, 0.0)])
def test_the_saturated_maximum_is_that_of_the_nearest_pre_activation_and_the_largest_source(
    t: float, u: float, b: float
) -> None:
    alpha, w, V = 0.25, -0.5, 0.75
    nearest = max(abs(b) - V * u - abs(w) * t * t / 2, 0.0)
    source = max(1.0, u, t * t / 2)
    expected = (1 - math.tanh(nearest) ** 2) * t * source * math.exp((0.75 + 0.5) / 2 * t)
    values = {"alpha": alpha, "w": w, "V": V, "u": u, "t": t, "b": b, "floor": 0.125}
    agree(
        rest_sensitivities.saturation_case(), {name: str(Q(value)) for name, value in values.items()}, 0.125, expected
    )


@pytest.mark.parametrize(("alpha", "w"), [(9.0, 4.0), (0.5, 0.25)])
def test_a_pulse_is_as_large_as_its_turn_about_the_equilibrium(alpha: float, w: float) -> None:
    """About −s/κ: |y| ≤ 2s/κ, |z| ≤ s/√κ. The first is the larger one only if κ < 4."""
    point = {"alpha": str(Q(alpha)), "w": str(Q(w)), "slopes": "1 1/2 1/4"}
    kappa = alpha + w / 4
    top = max(2 * 0.25 / kappa, 0.25 / math.sqrt(kappa))
    first = 2 / (alpha + w)  # half a turn from (0, 0), s = 1
    agree(rest_sensitivities.fading_case(), point, first / 1000, top)
    t = 2 * math.pi / math.sqrt(kappa)
    floor = 5 / 3 * 0.25 * t / (2 + (alpha + abs(w)) * t)
    agree(rest_sensitivities.fading_case(Q(1, 4), Q(5, 3)), point, floor, top)


# --- the elementary inequalities: the texts of both opinions are numbers, and these are compared


def numbers_of(text: str) -> list[float]:
    return [float(Q(word)) for word in re.findall(r"-?\d+(?:/\d+|\.\d+(?:e-?\d+)?)?", text)]


@pytest.mark.parametrize("half", [Q(1, 2), Q(2, 7)])
@pytest.mark.parametrize(("a", "b"), [("5/3", "-2/7"), ("0", "3/4"), ("-3/5", "-7/2")])
def test_the_gaps_of_the_identities_are_those_of_the_product_itself(half: Q, a: str, b: str) -> None:
    """a² − b² ∓ (a − b)² = 2b(a − b), 2a(a − b): all but 1 − 2·half of b(a − b), a(a − b) cancels."""
    x, y = Q(a), Q(b)
    expected = [float((1 - 2 * half) * each * (x - y)) for each in (y, x)]
    exact, again = elementary._identities_check({"a": a, "b": b}, half).opinions
    assert numbers_of(exact.text) == pytest.approx(expected, rel=1e-13)
    for found, value in zip(numbers_of(again.text)[::2], expected, strict=True):  # lower ends of two intervals
        assert found == pytest.approx(value, rel=1e-12, abs=1e-14)
    assert exact.violated == again.violated == (half != Q(1, 2))


@pytest.mark.parametrize("diagonal", [(4, 4, 2), (3, 1, 2), (1, 5, 1)])
@pytest.mark.parametrize("point", [("5/3", "-2/7", "3/4"), ("2", "3", "5/2"), ("-1", "-7/3", "-1/5")])
def test_both_opinions_on_the_square_of_a_sum_are_the_two_sides(
    diagonal: tuple[int, int, int], point: tuple[str, str, str]
) -> None:
    values = np.array([float(Q(each)) for each in point])
    left, right = values.sum() ** 2, np.array(diagonal) @ values**2
    exact, again = elementary._squares_check(dict(zip("abc", point, strict=True)), diagonal).opinions
    assert numbers_of(exact.text) == pytest.approx([left, right], rel=1e-13)
    assert numbers_of(again.text) == pytest.approx([left - right] * 2, rel=1e-12)
    assert exact.violated == again.violated == (left > right)


@pytest.mark.parametrize(("alpha", "dt"), [("1/9", "3/4"), ("2/3", "1/2"), ("5", "2/7"), ("3/2", "5/4")])
@pytest.mark.parametrize("fourth", [4, 900])
def test_both_opinions_on_the_growth_are_its_logarithm_and_the_exponent(alpha: str, dt: str, fourth: int) -> None:
    a, h = float(Q(alpha)), float(Q(dt))
    log_growth = math.log(1 + h + 2 * a * h**2 + fourth * a**2 * h**4)
    exponent = 96**0.25 * max(1.0, math.sqrt(a)) * h
    check = elementary._growth_check({"alpha": alpha, "dt": dt}, {**energy_growth.GROWTH, 4: fourth})
    first, again = check.opinions
    parts = elementary._log_growth_parts({**energy_growth.GROWTH, 4: fourth, 0: 3}, h, a)
    assert parts == pytest.approx((math.log(math.exp(log_growth) + 2), exponent), rel=1e-13)
    assert [check.log_measured, check.log_claimed] == pytest.approx([log_growth, exponent], rel=1e-13)
    assert numbers_of(again.text)[0] == pytest.approx(log_growth - exponent, rel=1e-10)  # its lower end
    assert first.violated == again.violated == (log_growth > exponent)


# --- what proofs and searches read: a proof of another polynomial would be none


@pytest.mark.parametrize(("alpha", "h"), [(Q(3, 7), Q(2, 9)), (Q(5), Q(7, 8))])
def test_the_polynomials_of_the_step_of_the_energy_are_the_printed_ones(alpha: Q, h: Q) -> None:
    assert proof_steps._beta_small(alpha, h) == 1 + h + 2 * alpha * h
    assert proof_steps._beta_large(alpha, h) == 1 + (2 * alpha) ** 2 * h
    assert energy_growth.added(alpha, h) == 2 * h + 4 * alpha * h**4


@pytest.mark.parametrize("alpha", [3 / 8, 5.0])
def test_the_forms_of_icml_in_floats_are_those_in_balls(alpha: float) -> None:
    root, other = Root(factor=Q(5, 3), step_power=None), Root(factor=Q(7, 2), step_power=None)
    point = {"alpha": str(Q(alpha)), "T": "9/4"}
    for form in (root, Delta(z=root, y=other, constant=Q(7, 3))):
        scale = math.sqrt(alpha) if form is root else 1.0  # F has 1/√α, the root has not
        found = scale * float(chain_ends._float_form(form, alpha, 9 / 4))
        assert in_both(form.ball, form.interval, point) == [[pytest.approx(found, rel=1e-12)]] * 2


def test_a_row_is_tried_at_its_largest_step_and_its_number_of_steps() -> None:
    made = replace(row("psMNIST-128"), dt=(Q(1, 5), Q(1, 2), Q(1, 4)), alpha=Q(3, 2), steps=6)
    found = proof_steps._power_row(made).ask(BUDGETS["smoke"], 0)
    x = max(1 + 3, 9) * 3.0  # β T, T = 6/2
    assert found.log_measured == pytest.approx(6 * math.log(1 + x / 6), rel=1e-13)
    assert found.log_claimed == pytest.approx(math.log(1 + 2 * x), rel=1e-13)


@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize(("power", "own"), [(0, 0), (3, 1), (4, 4)])
@pytest.mark.parametrize("growth", [Q(-5, 4), Q(5, 4)])
def test_a_right_side_exceeds_what_is_below_its_least_quotient_and_nothing_else(
    horizon: int, power: int, own: int, growth: Q
) -> None:
    """e^{rate + growth t} t^{own − power}: falls to t = horizon, or for power = own and growth > 0 rises from 0."""
    bound = ode_states.Bound(factor=Q(2, 3), rate=Q(3, 7), power=own, growth=growth)
    if growth > 0 and power > own:  # least inside: at t = 8/5, if that is before the horizon
        t = np.linspace(1e-3, horizon, 100_001)
        least = float(np.min(2 / 3 * np.exp(3 / 7 + 5 / 4 * t) * t ** (own - power)))
        slack = 0.02  # pieces of 1/256
    else:
        t_least = 0.0 if growth > 0 else float(horizon)
        least = 2 / 3 * math.exp(3 / 7 + float(growth) * t_least) * (t_least ** (own - power) if t_least else 1.0)
        slack = 1e-6
    assert bound.exceeds(flint.arb(least * (1 - slack)), power, horizon)
    assert not bound.exceeds(flint.arb(least * (1 + 1e-6)), power, horizon)


def test_a_right_side_of_a_higher_power_exceeds_nothing_near_zero() -> None:
    assert not ode_states.Bound(factor=Q(10**6), power=2).exceeds(flint.arb("1e-9"), 1, 1)


@pytest.mark.parametrize(("v", "expected"), [(3.0, 1 / 9 + 2 / 9 * 9), (0.5, 16 / 15)])
def test_the_exponent_of_a_growth_in_floats_is_its_formula(v: float, expected: float) -> None:
    growth = ode_sensitivities.SensitivityBound(False, offset=Q(1, 9), square=Q(2, 9), floor=Q(16, 15))
    assert growth.exponent(v) == pytest.approx(expected, rel=1e-14)


def test_the_drift_is_that_of_the_equation_on_its_box(monkeypatch: pytest.MonkeyPatch) -> None:
    """−z_b' = (α + wσ')y_b + σ' less the floor factor·σ'(a) − (α + |w|)M: at numbers, w = Wω, y_b = Mη."""
    seen: list[Any] = []

    def is_nonnegative(gap: Any, box: Any) -> SimpleNamespace:
        seen.append((gap, box))
        return SimpleNamespace(holds=True)

    monkeypatch.setattr(rest_sensitivities, "is_nonnegative", is_nonnegative)
    assert rest_sensitivities._drifts(Q(2, 7))
    [(gap, box)] = seen
    names = {
        "alpha": Q(3, 2),
        "W": Q(5),
        "M": Q(2, 3),
        "omega": Q(-3, 5),
        "eta": Q(7, 11),
        "s": Q(1, 4),
        "more": Q(1, 3),
        "least": Q(1, 5),
    }
    value = gap(*(flint.fmpq(names[k].numerator, names[k].denominator) for k in gap.context().names()))
    w, y, force = 5 * Q(-3, 5), Q(2, 3) * Q(7, 11), Q(1, 3) + Q(1, 5)
    expected = (Q(3, 2) + w / 4) * y + force - (Q(2, 7) / 5 - (Q(3, 2) + 5) * Q(2, 3))
    assert Q(int(value.p), int(value.q)) == expected
    ranges = dict(zip(gap.context().names(), box, strict=True))
    assert all(ranges[name] == (0, None) for name in ("alpha", "W", "M"))
    assert all(ranges[name] == (-1, 1) for name in ("omega", "eta"))
    assert all(ranges[name] == (0, 1) for name in ("s", "more", "least"))


@pytest.mark.parametrize(("most", "t"), [(3, "3/2"), (0, "1/100")])
def test_the_floor_under_a_bound_of_b_is_the_floor_at_the_largest_pre_activation(
    most: int, t: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest_sensitivities, "_RUN", {"alpha": "3/4", "w": "-1/2", "V": "-5/3", "u": "2/7", "t": t})
    time = float(Q(t))
    a = most + 5 / 3 * 2 / 7 + 1 / 2 * time**2 / 2
    value = (1 - math.tanh(a) ** 2) * time / (1 + (0.75 + 0.5) * time)
    found = rest_sensitivities._floor_at(most)
    assert found.numerator == 1 and 1 / value + 1 <= found.denominator < 1 / value + 2  # below it, and a unit fraction


def test_resonance_is_seen_at_the_largest_multiple_and_only_at_multiples() -> None:
    """√r_1 + √r_2 = 4k up to the largest k there is, r_i = α/κ_i; and r_1 = r_2 is no resonance by itself."""
    for one, two in ((16, 16), (20, 12), (28, 4), (4, 28)):
        assert sensitivities.off_resonance(Q(1), [Q(1, one**2), Q(1, two**2)]) == 0
    assert sensitivities.off_resonance(Q(1), [Q(1), Q(1)]) == 16**2 - 2 * 2 * 16
    assert sensitivities.off_resonance(Q(9), [Q(1), Q(1)]) == min(abs(x * x - 36 * x) for x in (16, 64))


def test_an_area_shrinks_at_the_rate_of_the_damping_and_at_no_other() -> None:
    """d/dt (y₁z₂ − y₂z₁) = −γ(y₁z₂ − y₂z₁), whatever κ is: by differences along the two solutions."""
    v = {"alpha": 1.5, "w": -2.0, "s": 0.25, "y1": 3.0, "z1": -0.5, "y2": 0.75, "z2": 5.0}
    for damping in (0, 3):
        expected = -damping * (3.0 * 5.0 - 0.75 * -0.5)
        step, kappa = 1e-6, 1.5 - 0.5

        def area(sign: int, damping: int = damping, step: float = step, kappa: float = kappa) -> float:
            pairs = [(v[f"y{i}"], v[f"z{i}"]) for i in "12"]
            (y1, z1), (y2, z2) = ((y + sign * step * z, z - sign * step * (kappa * y + damping * z)) for y, z in pairs)
            return y1 * z2 - y2 * z1

        assert (area(1) - area(-1)) / (2 * step) == pytest.approx(expected, abs=1e-6)
        assert sensitivities._area(v, damping) == pytest.approx([expected], abs=1e-12)
        assert sensitivities._area_again(v, damping) == pytest.approx([expected], abs=1e-12)
