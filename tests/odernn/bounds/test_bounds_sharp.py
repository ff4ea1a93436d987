"""thm-S is the supremum: against Chebyshev polynomials over Q, all sign patterns, closed forms and the pinned values.

thm-S-limit is a lower bound for every small step: against the sampled square wave itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from odernn.bounds import sharp
from odernn.bounds.numbers import BALLS, FLOATS
from odernn.published.networks import row
from tests.tiers import spread

QUANTITIES = ("position", "momentum")
BITS = 192
EPS = float(np.finfo(float).eps)

alphas = st.fractions(0, 40, max_denominator=60)
step_sizes = st.fractions(Fraction(1, 200), Fraction(99, 100), max_denominator=200)


def chebyshev_supremum(alpha: Fraction, h: Fraction, n: int, quantity: str) -> Fraction:
    """h² Σ |U_{j-1}(1 − αh²/2)| or h Σ |U_{j-1} − U_{j-2}|, by the three-term recursion over Q."""
    x = 1 - alpha * h * h / 2
    U = [Fraction(0), Fraction(1)]  # U_{-1}, U_0
    while len(U) < n + 1:
        U.append(2 * x * U[-1] - U[-2])
    if quantity == "position":
        return h * h * sum(abs(U[j]) for j in range(1, n + 1))
    return h * sum(abs(U[j] - U[j - 1]) for j in range(1, n + 1))


def largest_over_all_signs(alpha: Fraction, h: Fraction, n: int, quantity: str) -> Fraction:
    """max over s ∈ {−1, 1}^n of |y_n| or |z_n|, the recurrence run over Q once for each pattern."""
    largest = Fraction(0)
    for signs in itertools.product((-1, 1), repeat=n):
        y, z = Fraction(0), Fraction(0)
        for s in signs:
            z = z - h * (s + alpha * y)
            y = y + h * z
        largest = max(largest, abs(y if quantity == "position" else z))
    return largest


def ball_supremum(alpha: Fraction, h: Fraction, n: int, quantity: str) -> flint.arb:
    """At a precision that the recursion leaves ``BITS`` of: a step widens balls by e^{2 asinh(h√α/2)} ≤ 2^6."""
    with flint.ctx.workprec(BITS + 6 * n):
        return sharp.log_supremum_at(
            alpha=BALLS.exact(alpha), step_size=BALLS.exact(h), steps=n, quantity=quantity, numbers=BALLS
        )


def float_supremum(alpha: float, h: float, n: int, quantity: str) -> float:
    return math.exp(float(sharp.log_supremum_at(alpha=alpha, step_size=h, steps=n, quantity=quantity)))


def meets_log_of(ball: flint.arb, value: Fraction, tolerance: float = 1e-30) -> bool:
    """Whether the ball is narrow and overlaps the enclosure of log(value)."""
    with flint.ctx.workprec(4 * BITS):
        return bool((ball - BALLS.exact(value).log()).contains(0)) and bool(ball.rad() < tolerance)


# --- thm-S ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quantity", QUANTITIES)
@given(alpha=alphas, h=step_sizes, n=st.integers(1, 25))
def test_the_supremum_is_the_chebyshev_sum_over_the_rationals(quantity: str, alpha: Fraction, h: Fraction, n: int):
    expected = chebyshev_supremum(alpha, h, n, quantity)
    assert meets_log_of(ball_supremum(alpha, h, n, quantity), expected)
    assert not meets_log_of(ball_supremum(alpha, h, n, quantity), expected * (1 + Fraction(1, 10**20)))
    logs = sharp.log_supremum(alpha=float(alpha), step_size=float(h), steps=n, quantity=quantity)
    assert len(logs) == n
    assert abs(
        logs[-1] - float(sharp.log_supremum_at(alpha=float(alpha), step_size=float(h), steps=n, quantity=quantity))
    ) <= 4 * EPS * (1 + abs(logs[-1]))
    # a rounding of α or h moves θ by an ulp, n steps amplify it n² times; 41 is the largest |trace| + 1
    assert float(logs[-1]) == pytest.approx(math.log(expected), abs=64 * 41 * n * n * EPS)


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize(("alpha", "h"), [("2", "1/2"), ("0", "1/10"), ("16", "1/2"), ("39", "2/3"), ("7/3", "9/10")])
def test_no_sign_pattern_does_better_and_one_attains_it(alpha: str, h: str, quantity: str):
    a, step = Fraction(alpha), Fraction(h)
    for n in range(1, 11 if alpha == "2" else 8):
        largest = largest_over_all_signs(a, step, n, quantity)
        assert meets_log_of(ball_supremum(a, step, n, quantity), largest)
        if n > 1:  # a planted neighbour: the supremum of one step fewer is not it
            assert not meets_log_of(ball_supremum(a, step, n - 1, quantity), largest)


@pytest.mark.parametrize(
    ("alpha", "h", "n", "quantity", "value"),
    [
        ("2", "1/2", 4, "position", "33/32"),
        ("2", "1/2", 4, "momentum", "21/16"),
        ("0", "1/10", 50, "position", "12.75"),
        ("0", "1/10", 50, "momentum", "5"),
        ("16", "1/2", 10, "position", "13.75"),
    ],
)
def test_the_pinned_values_are_exact(alpha: str, h: str, n: int, quantity: str, value: str):
    a, step, expected = Fraction(alpha), Fraction(h), Fraction(value)
    assert chebyshev_supremum(a, step, n, quantity) == expected
    assert meets_log_of(ball_supremum(a, step, n, quantity), expected)
    assert float_supremum(float(a), float(step), n, quantity) == pytest.approx(float(expected), rel=1e-13)


NAMES = ("nCIFAR", "psMNIST-128", "psMNIST-256", "RR", "HR")
TABLE = {
    ("position", "1"): ("22.86117", "130.28235", "20.15313", "9.33448", "37.13413"),
    ("position", "1/2"): ("11.20057", "37.57996", "8.88968", "4.66684", "18.55010"),
    ("momentum", "1"): ("82.32503", "461.06064", "111.50570", "28.02220", "117.50438"),
}
TIGHTNESS = ("1.5697", "1.5704", "1.5697", "1.5714", "1.5711")


@pytest.mark.parametrize(("quantity", "sigma"), TABLE)
@pytest.mark.parametrize("name", spread(NAMES, 1))
def test_the_suprema_of_the_printed_networks(name: str, quantity: str, sigma: str):
    printed = row(name)
    value = TABLE[quantity, sigma][NAMES.index(name)]
    h = printed.dt[0] * Fraction(sigma)
    ball = ball_supremum(printed.alpha, h, printed.steps, quantity)
    in_float = float_supremum(float(printed.alpha), float(h), printed.steps, quantity)
    with flint.ctx.workprec(BITS):
        in_balls = ball.exp()
    assert in_balls.rad() < 1e-20
    assert f"{float(in_balls.mid()):.5f}" == f"{in_float:.5f}" == value


@pytest.mark.parametrize("name", NAMES)
def test_the_invariant_form_exceeds_the_supremum_by_nearly_half_pi_on_the_printed_networks(name: str):
    printed = row(name)
    alpha, h, n = float(printed.alpha), float(printed.dt[0]), printed.steps
    log_form = sharp.log_invariant_bound(alpha=alpha, step_size=h, step=n, quantity="position")
    ratio = math.exp(log_form) / float_supremum(alpha, h, n, "position")
    assert f"{ratio:.4f}" == TIGHTNESS[NAMES.index(name)]
    assert abs(ratio - math.pi / 2) < 2e-3


@pytest.mark.parametrize("quantity", QUANTITIES)
@given(h=step_sizes, n=st.integers(1, 300))
def test_without_damping_the_supremum_is_polynomial(quantity: str, h: Fraction, n: int):
    expected = h * h * n * (n + 1) / 2 if quantity == "position" else n * h
    assert meets_log_of(ball_supremum(Fraction(0), h, n, quantity), expected)
    with flint.ctx.workprec(BITS):
        closed = sharp.log_undamped_supremum(
            step_size=BALLS.exact(h), step=BALLS.exact(n), quantity=quantity, numbers=BALLS
        )
    assert meets_log_of(closed, expected)


@given(h=step_sizes, n=st.integers(1, 300))
def test_at_the_stability_limit_the_position_grows_as_without_damping(h: Fraction, n: int):
    assert meets_log_of(ball_supremum(4 / h**2, h, n, "position"), h * h * n * (n + 1) / 2)


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize(("alpha", "h"), [(41.0, 0.5), (16.001, 0.5), (4e6, 0.9), (3e120, 0.9)])
def test_beyond_the_stability_limit_logarithms_grow_linearly_without_overflow(alpha: float, h: float, quantity: str):
    n = 17984
    logs = np.array(sharp.log_supremum(alpha=alpha, step_size=h, steps=n, quantity=quantity), dtype=float)
    assert logs.shape == (n,) and np.isfinite(logs).all()
    with mp.workdps(60 + 2 * round(math.log10(alpha))):
        # Σ_{j≤n} sinh(jμ)/sinh μ for positions, Σ cosh((j − ½)μ)/cosh(μ/2)… for momenta, cosh μ = αh²/2 − 1
        a, step = mpf(alpha), mpf(h)
        mu = mp.acosh(a * step**2 / 2 - 1)
        if quantity == "position":
            total = (mp.cosh((n + mpf(1) / 2) * mu) - mp.cosh(mu / 2)) / (2 * mp.sinh(mu / 2) * mp.sinh(mu))
            expected = mp.log(step**2 * total)
        else:  # U_{j-1} − U_{j-2} = ± sinh((j − ½)μ)/sinh(μ/2) since the signs alternate
            total = mp.sinh(n * mu / 2) ** 2 / mp.sinh(mu / 2) ** 2
            expected = mp.log(step * total)
        assert abs(logs[-1] - float(expected)) <= 1e-10 * float(expected)
        assert float(logs[-1] - logs[-2]) == pytest.approx(float(mu), rel=1e-8, abs=2 / n)


def test_beyond_1e154_the_supremum_is_finite_too():
    found = sharp.log_supremum_at(alpha=1e300, step_size=0.5, steps=5, quantity="position")
    assert float(found) == pytest.approx(float(ball_supremum(Fraction(10**300), Fraction(1, 2), 5, "position").mid()))


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_an_array_of_step_sizes_is_treated_neuron_by_neuron(quantity: str):
    h = np.array([0.01, 0.3, 0.63, 0.7, 0.9])  # α h² on both sides of 4
    together = np.array(sharp.log_supremum(alpha=10.0, step_size=h, steps=40, quantity=quantity))
    assert together.shape == (40, 5)
    for column, each in zip(together.T, h, strict=True):
        alone = np.array(sharp.log_supremum(alpha=10.0, step_size=float(each), steps=40, quantity=quantity))
        np.testing.assert_allclose(column, alone, rtol=1e-13, atol=1e-13)


def test_an_unknown_quantity_is_named_in_the_error():
    with pytest.raises(ValueError, match='"velocity" is not "position"'):
        sharp.log_supremum_at(alpha=1.0, step_size=0.1, steps=3, quantity="velocity")


# --- thm-Q and the invariant form ----------------------------------------------------------------------------------


def Q(a: Fraction, h: Fraction, y: Fraction, z: Fraction) -> Fraction:
    return a * y * y + z * z - a * h * y * z


rationals = st.fractions(-9, 9, max_denominator=30)


@given(a=alphas, h=step_sizes, y=rationals, z=rationals)
def test_the_quadratic_form_is_invariant_over_the_rationals(a: Fraction, h: Fraction, y: Fraction, z: Fraction):
    kicked = z - h * a * y
    assert Q(a, h, y + h * kicked, kicked) == Q(a, h, y, z)
    assert Q(a, h, Fraction(0), Fraction(1)) == Q(a, h, h, Fraction(1)) == 1
    assert Q(a, h, Fraction(1), Fraction(0)) == a


def test_explicit_euler_does_not_keep_the_form_nor_symplectic_euler_the_energy():
    a, h, y, z = Fraction(2), Fraction(1, 2), Fraction(3), Fraction(5)
    kicked = z - h * a * y
    assert Q(a, h, y + h * z, kicked) != Q(a, h, y, z)
    assert a * (y + h * kicked) ** 2 + kicked**2 != a * y**2 + z**2


def test_the_pins_of_the_invariant_form():
    a, h = Fraction(2), Fraction(1, 2)
    assert Q(a, h, Fraction(1), Fraction(0)) == 2 and Q(a, h, h, Fraction(1)) == 1
    with flint.ctx.workprec(BITS):
        bound = sharp.log_invariant_bound(
            alpha=BALLS.exact(a), step_size=BALLS.exact(h), step=BALLS.exact(1), quantity="position", numbers=BALLS
        )
        assert (2 * bound - BALLS.exact(h * h / Fraction(7, 4)).log()).contains(0)  # r_a² = 7/4


@pytest.mark.parametrize("quantity", QUANTITIES)
@given(alpha=st.fractions(Fraction(1, 60), 40, max_denominator=60), h=step_sizes, n=st.integers(1, 120))
def test_the_invariant_form_bounds_the_supremum_and_increases_with_h(
    quantity: str, alpha: Fraction, h: Fraction, n: int
):
    if alpha * h * h >= Fraction(399, 100):
        h = h / 7

    def form(step_size: Fraction) -> flint.arb:
        return sharp.log_invariant_bound(
            alpha=BALLS.exact(alpha),
            step_size=BALLS.exact(step_size),
            step=BALLS.exact(n),
            quantity=quantity,
            numbers=BALLS,
        )

    with flint.ctx.workprec(BITS):
        exact = ball_supremum(alpha, h, n, quantity)
        assert form(h) > exact if n > 1 else not form(h) < exact
        assert form(h * Fraction(99, 100)) < form(h)
        floats = sharp.log_invariant_bound(alpha=float(alpha), step_size=float(h), step=float(n), quantity=quantity)
        assert float(floats) == pytest.approx(float(form(h).mid()), abs=1e-11)


# --- thm-S-limit: a lower bound uniform in dt ----------------------------------------------------------------------

# α, T, σ: some with √α σT beyond several half-waves, one of less than one
LIMIT_DATA = [("1", "6", "1"), ("1/4", "40", "9/10"), ("10", "3", "1/2"), ("1/100", "15", "1"), ("4", "20", "1")]
AMPLITUDE = Fraction(3)

LowerBound = Callable[[Fraction, Fraction, Fraction, Fraction, str], float]


def the_bound(alpha: Fraction, T: Fraction, sigma: Fraction, dt: Fraction, quantity: str) -> float:
    with flint.ctx.workprec(BITS):
        ball = sharp.uniform_lower_bound(
            alpha=BALLS.exact(alpha),
            horizon=BALLS.exact(T),
            dt=BALLS.exact(dt),
            sigma=BALLS.exact(sigma),
            amplitude=BALLS.exact(AMPLITUDE),
            quantity=quantity,
            numbers=BALLS,
        )
        assert ball.rad() < 1e-40
        return float(ball.mid())


def half_wave_area(x: mpf) -> mpf:
    """∫_0^x |sin|: two for every whole half-wave."""
    whole = int(mp.floor(x / mp.pi))
    return 2 * whole + 1 - mp.cos(x - whole * mp.pi)


def retyped(*, slip: float = 1.0, riemann: float = 1.0, integral: float = 1.0) -> LowerBound:
    """The docstring's formula typed again in 40 digits; weights other than 1 plant an error."""

    def bound(alpha: Fraction, T: Fraction, sigma: Fraction, dt: Fraction, quantity: str) -> float:
        with mp.workdps(40):
            a, t, s, d = (mpf(v.numerator) / v.denominator for v in (alpha, T, sigma, dt))
            h, frequency = s * d, mp.sqrt(a)
            rho = 1 + a * h**2 / 7
            theta = rho * h * frequency
            reach = frequency * s * t
            delta = reach * (rho - 1) + theta
            error = reach * rho * (riemann * theta / 2 + slip * 2 * delta)
            front = mp.tanh(mpf(AMPLITUDE.numerator) / AMPLITUDE.denominator) / (frequency * rho)
            if quantity == "position":
                return float(front / frequency * (integral * half_wave_area(reach) - error))
            return float(front * (integral * (half_wave_area(reach + mp.pi / 2) - 1) - error))

    return bound


def attained(alpha: Fraction, T: Fraction, sigma: Fraction, N: int, quantity: str) -> float:
    """|y_N| or |z_N| of the neuron with w = 0 under the square wave sampled at t_n = nT/N, by running it."""
    a, t, s = float(alpha), float(T), float(sigma)
    h, frequency, A = s * t / N, math.sqrt(a), float(AMPLITUDE)
    wave = math.sin if quantity == "position" else math.cos
    y = z = 0.0
    for n in range(1, N + 1):
        x = -A * math.copysign(1.0, wave(frequency * (s * t - s * (n * t / N))))
        z = z - h * (math.tanh(x) + a * y)
        y = y + h * z
    return abs(y if quantity == "position" else z)


def violations(bound: LowerBound, data: list[tuple[str, str, str]], dts: list[str]) -> list[str]:
    """Where the bound at dt₀ exceeds what some sampled wave with N ≥ T/dt₀ reaches, or the supremum of thm-S."""
    found = []
    for quantity, (alpha, T, sigma), dt in itertools.product(QUANTITIES, data, dts):
        a, horizon, s, largest = Fraction(alpha), Fraction(T), Fraction(sigma), Fraction(dt)
        value = bound(a, horizon, s, largest, quantity)
        for factor in (1, Fraction(13, 10), 3):
            N = math.ceil(horizon / largest * factor)
            reached = attained(a, horizon, s, N, quantity)
            supremum = float_supremum(float(a), float(s * horizon / N), N, quantity)
            assert reached <= supremum * (1 + 1e-9)
            if value > reached * (1 + 1e-9):
                found.append(f"{quantity} α={alpha} T={T} dt₀={dt} N={N}: {value} > {reached}")
    return found


def test_the_formula_of_the_uniform_lower_bound_typed_again_agrees():
    for quantity, (alpha, T, sigma), dt in itertools.product(QUANTITIES, LIMIT_DATA, ("1/4", "1/50", "1/3000")):
        where = (Fraction(alpha), Fraction(T), Fraction(sigma), Fraction(dt), quantity)
        assert the_bound(*where) == pytest.approx(retyped()(*where), rel=1e-13, abs=1e-13)
        assert the_bound(*where) != pytest.approx(retyped(slip=0.999)(*where), rel=1e-13, abs=1e-13)


def test_the_uniform_lower_bound_is_below_every_sampled_square_wave():
    assert violations(the_bound, LIMIT_DATA, ["1/2", "1/10", "1/40", "1/160"]) == []
    positive = [
        the_bound(Fraction(a), Fraction(T), Fraction(s), Fraction(1, 400), q) > 0
        for q, (a, T, s) in itertools.product(QUANTITIES, LIMIT_DATA)
    ]
    assert all(positive)  # the check above is not about negative numbers only


def test_a_bound_without_the_slip_of_the_phase_is_caught():
    # θ − √α h is about (√α h)³/24 a step: over T = 840 at h = 0.3 the sampled wave falls out of step
    data = [("1", "840", "1")]
    assert violations(the_bound, data, ["3/10"]) == []
    assert violations(retyped(slip=0.0), data, ["3/10"])


def test_a_bound_with_twice_the_integral_is_caught():
    assert violations(retyped(integral=2.0), LIMIT_DATA, ["1/160"])


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize(("alpha", "T", "sigma"), LIMIT_DATA)
def test_the_uniform_lower_bound_rises_to_the_limit_integral(alpha: str, T: str, sigma: str, quantity: str):
    a, horizon, s = Fraction(alpha), Fraction(T), Fraction(sigma)
    with mp.workdps(30):
        frequency, end = mp.sqrt(mpf(a.numerator) / a.denominator), mpf(s.numerator) / s.denominator * int(horizon)
        kernel = (
            (lambda t: abs(mp.sin(frequency * t)) / frequency)
            if quantity == "position"
            else (lambda t: abs(mp.cos(frequency * t)))
        )
        shift = 0 if quantity == "position" else mp.pi / 2
        knots = [0, *(t for k in range(1, 30) if 0 < (t := (k * mp.pi - shift) / frequency) < end), end]
        limit = float(mp.tanh(int(AMPLITUDE)) * mp.quad(kernel, knots))
    gaps = [limit - the_bound(a, horizon, s, Fraction(1, 2**k), quantity) for k in range(1, 30, 4)]
    assert all(gap > 0 for gap in gaps) and gaps == sorted(gaps, reverse=True)
    assert gaps[-2] / gaps[-1] == pytest.approx(16, rel=1e-2)  # first order in dt₀
    assert gaps[-1] < 1e-5 * limit
    in_floats = sharp.uniform_lower_bound(
        alpha=float(a),
        horizon=float(horizon),
        dt=1e-4,
        sigma=float(s),
        amplitude=3.0,
        quantity=quantity,
        numbers=FLOATS,
    )
    assert float(in_floats) == pytest.approx(the_bound(a, horizon, s, Fraction(1, 10**4), quantity), rel=1e-11)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_beyond_alpha_h_squared_equal_to_four_the_uniform_bound_says_nothing(quantity: str):
    # the derivation asks for αh² ≤ 4; where it fails the loss outweighs the integral by itself
    for alpha, T, dt in itertools.product((4, 5, 100, 10**6), (Fraction(1, 100), 1, 50), (1, 3)):
        assert the_bound(Fraction(alpha), Fraction(T), Fraction(1), Fraction(dt), quantity) < 0


# --- formulas typed again, at places where every term counts


@pytest.mark.parametrize(("alpha", "h", "n"), [(3.0, 0.3, 7), (40.0, 0.6, 9), (0.0, 0.2, 4)])
def test_both_suprema_in_one_sweep_are_the_two_of_their_own(alpha: float, h: float, n: int):
    each = [sharp.log_supremum_at(alpha=alpha, step_size=h, steps=n, quantity=q) for q in ("position", "momentum")]
    assert sharp.log_suprema_at(alpha=alpha, step_size=h, steps=n) == pytest.approx(each, rel=1e-13)


@pytest.mark.parametrize("alpha", [0.2, 1.1, 2.0, 5.0])
def test_the_margin_of_the_square_root_is_the_printed_formula(alpha: float):
    for t in (0.01, 0.2, 1.0):
        x = max(1 + 2 * alpha, 4 * alpha**2) * t
        found = sharp.square_root_margin(alpha=alpha, time=t)
        assert found == pytest.approx((1 + 2 * x) * math.exp(-x) - 1, rel=1e-12)


def test_the_integral_of_a_sine_is_a_lower_bound_where_a_ball_straddles_a_multiple_of_pi():
    for k in (1, 2, 5):
        with flint.ctx.workprec(128):
            wide = flint.arb(flint.arb.pi() * k, 0.5)
            found = sharp._sine_integral(wide, BALLS)
            least = 2 * k - (1 - math.cos(0.5))  # at kπ − 1/2
            assert least - 0.5 < float(found.lower()) <= least + 1e-9


@pytest.mark.parametrize("k", [1, 2, 5])
def test_of_a_ball_whose_middle_is_past_a_multiple_of_pi_no_point_gets_more_than_its_own_area(k: int):
    """kπ − 0.15 to kπ + 0.25: ∫_0^x |sin| is 2k − 1 + cos 0.15 at the one end and 2k + 1 − cos 0.25 at the other."""
    with flint.ctx.workprec(128):
        found = sharp._sine_integral(flint.arb.pi() * k + flint.arb("0.05", "0.2"), BALLS)
    assert 2 * k - 0.05 < float(found.lower()) <= 2 * k - 1 + math.cos(0.15) + 1e-9
    assert 2 * k - 0.05 < float(found.upper()) <= 2 * k + 1 - math.cos(0.25) + 1e-9


@pytest.mark.parametrize("alpha", [1 / 4, 0.81, 2.0, 9.0])
@pytest.mark.parametrize("time", [0.0, 0.3, 7.0])
def test_the_exponential_bound_is_that_of_the_theorem(alpha: float, time: float) -> None:
    """√(2/α) e^{βt/2} and √2 e^{βt/2}, on both sides of (1 + √5)/4, where the two terms of β are equal."""
    beta = 4 * alpha**2 if alpha > (1 + math.sqrt(5)) / 4 else 1 + 2 * alpha
    for quantity, factor in (("position", math.sqrt(2 / alpha)), ("momentum", math.sqrt(2))):
        found = sharp.log_exponential_bound(alpha=alpha, time=time, quantity=quantity)
        assert float(found) == pytest.approx(math.log(factor) + beta * time / 2, rel=1e-13, abs=1e-15)
