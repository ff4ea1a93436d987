"""thm-R, thm-R-short and thm-ML on trial: what comes out, a third computation, and planted falsehoods that fall."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

import flint
import mpmath
import numpy as np
import pytest
import torch

from odernn.bounds.numbers import BALLS, FLOATS
from odernn.bounds.routes import route_counts
from tests.tiers import slow
from tests.verification.claims import claim_rows as rows
from tests.verification.claims.both_typings import both_sides, inequality_of
from verification.cases import kick_factors, short_times
from verification.cases import lattice_kernels as kernels
from verification.cases import lattice_paths as paths
from verification.cases import order as orders
from verification.certify import scalar_stack
from verification.certify.oscillator_flow import NotEnclosedFlowError, fundamental_matrix
from verification.certify.scalar_stack import ScalarStack
from verification.certify.second import kick_series
from verification.certify.second import oscillator_flow as flow_again
from verification.certify.second import scalar_stack as scalar_stack_second
from verification.certify.second.intervals import iv
from verification.claims.library import lattice_paths
from verification.measure import exact_network as net
from verification.measure.exact_network import Shape

CLAIMS = {claim.id: claim for claim in lattice_paths.CLAIMS}
CASES = [(claim, case) for claim in CLAIMS.values() for case in claim.cases]
EXACT = ("L = 1, m", "all h", "all products", "L ≤ 4, n", "(L, S)", "α = w = 0", "σ′ = 1", "L ≤ 7")
NAMES = {"domain": "d", "symbol": "q"}


def is_long(case):
    """T = 1 stays, and the peak from above."""
    return case.domain.startswith(("all products", "T = 4")) or case.quantity.endswith("(4), at least")


@pytest.mark.parametrize(
    ("claim", "case"),
    [
        pytest.param(
            c,
            k,
            id=f"{c.id} {k.domain} {k.quantity}",
            marks=[pytest.mark.slow] * is_long(k),
        )
        for c, k in CASES
    ],
)
def test_an_identity_and_a_bound_are_proved_and_an_order_is_not_refuted(claim, case):
    judgement = rows.judged(claim, case)
    expected = rows.PROVED if case.domain.startswith(EXACT) else rows.NOT_REFUTED
    assert judgement.verdict == expected, judgement.because


def test_as_many_rows_as_there_are():
    assert {name: len(claim.cases) for name, claim in CLAIMS.items()} == {"thm-R": 9, "thm-R-short": 2, "thm-ML": 21}
    assert sum(case.domain.startswith(EXACT) for _, case in CASES) == 13
    rows.assert_names_no_verdict(lattice_paths)


TWO = (Shape(2, 1, 2), Shape(3, 1, 2))
PLANTED = {
    "paths that climb once a step": paths.all_paths("icml", once=True).case("d", "q", TWO),
    "responses a step late, one layer": paths.contributions("icml", late=1).case("d", "q", [Shape(1, 1, 2)]),
    "responses a step late": paths.contributions("icml", late=1).case("d", "q", TWO),
    "one more h a hop": paths.within_a_step(power=1).case("d", "q", [Shape(2, 1, 1)]),
    "U_m": kernels.constant_slope(shift=1).case("d", "q"),
    "C^{(L+1)}": kernels.gegenbauer(more=1).case("d", "q"),
    "one path fewer": kernels.free_kernel(short=1).case("d", "q"),
    "a lower peak": kernels.peak_case("at most", factor=Fraction(9, 10)),
    "a higher peak": kernels.peak_case("at least", factor=Fraction(5, 4)),
    "of order dt²": orders.order_case(ScalarStack(layers=3), "contribution", 2, "exactly", **NAMES),
    "of order 1": orders.order_case(ScalarStack(layers=3), "contribution", 0, "exactly", **NAMES),
    "τ_n in the place of S": orders.order_case(ScalarStack(), "remainder, L = 1", 2, "at most", **NAMES),
    "0.998 times the remainder of (84)": short_times.product_case(Fraction(998, 1000)),
    "0.998 times the remainder of the factor": short_times.factor_case(Fraction(998, 1000)),
    "0.998 times the majorant of the factor": kick_factors.upper_case(Fraction(998, 1000)),
    "three times what the factor is at least": kick_factors.lower_case(Fraction(3)),
    "9/10 of the change of the factor": kick_factors.change_case(Fraction(9, 10)),
    "t_n in the place of Φ": orders.order_case(ScalarStack(offset=1, ratio=Fraction(0)), "(84)", 1, "at most", **NAMES),
}


def test_a_step_that_kicks_the_other_way_has_no_majorant():
    assert short_times.majorant() and not short_times.majorant(Fraction(-1))


LESS, MORE = Fraction(999, 1000), Fraction(1001, 1000)
BOUNDS = (
    (kick_factors.upper_bound, LESS),
    (kick_factors.rest_bound, MORE),
    (kick_factors.change_bound, LESS),
    (short_times.bounds, LESS),
)


@pytest.mark.parametrize(("bound", "planted"), BOUNDS)
def test_a_bound_is_proved_coefficient_by_coefficient_and_no_sharper_one(bound, planted):
    assert bound(Fraction(1)).proof(30)
    for back_end in (lambda of: of._holds(30), lambda of: kick_series.is_majorant(of.intervals, of.times, 30)):
        assert back_end(bound(Fraction(1))) and not back_end(bound(planted))


def test_twice_the_lower_half_is_not_proved(monkeypatch):
    """Nothing refutes it; three times it is false. No proof by the factor, and none where both back-ends type it so."""
    twice = rows.verdict_of(kick_factors.lower_case(Fraction(2)))
    assert twice.verdict == rows.NOT_REFUTED, twice.because
    in_balls, in_intervals = kick_factors.share_in_balls, kick_factors.share_in_intervals
    monkeypatch.setattr(kick_factors, "share_in_balls", lambda x: 2 * in_balls(x))
    monkeypatch.setattr(kick_factors, "share_in_intervals", lambda x, exp: 2 * in_intervals(x, exp))
    assert rows.verdict_of(kick_factors.lower_case()).verdict == rows.NOT_REFUTED


@pytest.mark.parametrize(("name", "shift"), [("12", 1), ("11", 0)])
def test_the_coefficients_of_the_powers_are_binomial(name, shift):
    """C(m+j, 2j+1) and C(m+j, 2j): those are enough, and 10^−40 less of any is not."""

    def closed(_root, _h, m, _exp, less=Fraction(0), at=0):
        terms = {2 * j + shift: Fraction(math.comb(m + j, 2 * j + shift)) for j in range(m + 1)}
        return {name: kick_series.Powers({power: c - less * (power == 2 * at + shift) for power, c in terms.items()})}

    assert kick_series.is_majorant(closed, 0, 12)
    for j in range(12):
        lower = partial(closed, less=Fraction(1, 10**40), at=j)
        assert not kick_series.is_majorant(lower, 0, 12)


@pytest.mark.parametrize(("w", "m"), [("-4", 30), ("4", 30), ("0", 7), ("-1", 200)])
def test_the_bounds_on_the_factor_typed_in_floats(w, m):
    """α = 1, drawn slopes, t = 1/2: the product of 2 × 2 matrices by numpy."""
    rng, alpha, h = np.random.default_rng(m), 1.0, 0.5 / m
    size = alpha + abs(float(w))
    x, product = math.sqrt(size) * m * h, np.eye(2)
    rows_of = []
    for slope in rng.uniform(0.01, 1, m)[::-1]:  # from the last step to the first
        kappa = alpha + float(w) * slope
        product = product @ np.array([[1 - h * h * kappa, h], [-h * kappa, 1]])
        rows_of.append(product[0, 1])
    F = rows_of[-1]
    assert (2 - math.sinh(2) / 2) * m * h <= F <= math.sinh(x) / math.sqrt(size)
    most = h * (math.cosh(x) + h * math.sqrt(size) / 2 * math.sinh(x))
    assert np.abs(np.diff(rows_of)).max() <= most


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_falsehood_is_refuted_and_replays(name):
    judgement = rows.verdict_of(PLANTED[name])
    assert judgement.verdict == rows.REFUTED, judgement.because


@pytest.mark.parametrize(
    ("alpha", "w", "k", "slopes"),
    [("3/2", "-4", "3", "1 1/2 9/10 1/7 1"), ("1/3", "2", "1", "1/5"), ("2", "0", "7", "1 1")],
)
def test_short_times_are_the_statement_typed_in_floats(alpha, w, k, slopes):
    """The product by numpy, the bound by math; for (84) all four entries decide somewhere."""
    h, a, b, m = 0.2, float(Fraction(alpha)), float(Fraction(w)), len(slopes.split())
    sigma = [float(Fraction(word)) for word in slopes.split()]
    product = np.eye(2)
    for slope in sigma:
        kappa = a + b * slope
        product = np.array([[1 - h * h * kappa, h], [-h * kappa, 1]]) @ product
    first = int(k)
    root = math.sqrt(a + abs(b))
    x = root * m * h
    odd, even, shift = math.sinh(x) - x, math.cosh(x) - 1, first * h
    C = np.array([[1, (first + m) * h], [-(first + m) * h * a - h * b * sum(sigma), 1]])
    bound = [even + h * root / 2 * math.sinh(x), odd / root + shift, root * odd + a * shift, even]
    gap = abs(product[0, 1] - (first - 1 + m) * h)
    p = {"h": "1/5", "alpha": alpha, "w": w, "k": k, "slopes": slopes}
    for case, left, right in (
        (short_times.product_case(), np.abs(product - C).max(), max(bound)),
        (short_times.factor_case(), gap, odd / root + shift - h),
    ):
        both = both_sides(inequality_of(case), p)
        assert both[0] == pytest.approx((left, left), rel=1e-9) and both[1] == pytest.approx((right, right), rel=1e-9)
        assert all(np.abs(product - C).flatten() <= bound)


@pytest.mark.parametrize(
    ("stack", "quantity", "power", "fixed_n"),
    [
        slow((lattice_paths.LONGER, "remainder, S", 3, 0)),
        (replace(lattice_paths.LONGER, offset=1, ratio=Fraction(0)), "Φ", 2, 0),
        (ScalarStack(layers=3, offset=1, ratio=Fraction(0)), "kernel, leading", 8, 32),
    ],
)
def test_the_next_power_is_not_true(stack, quantity, power, fixed_n):
    """Certified at two refinements by both back-ends; without an estimate from below no limit is claimed."""
    judgement = rows.verdict_of(orders.order_case(stack, quantity, power, "at most", fixed_n=fixed_n, **NAMES))
    assert judgement.verdict == rows.SUSPECT and "no limit argument" in judgement.because


# --- a third computation


@pytest.mark.parametrize(("layers", "skip"), [(1, 0), (2, 0), (3, 0), (4, 1), (5, 2)])
def test_a_contribution_is_that_of_autograd(layers, skip):
    """w of the first layer as a separate leaf for every step."""
    shape = Shape(layers, 1, 5, skip)
    network, _ = net.typed(net.small_network(shape, b="1/2", u="1 -1 2 0 1 -2", w="-3/4", V="4/5"), "icml")
    copies = torch.full((5,), -0.75, dtype=torch.float64, requires_grad=True)
    y, z = [torch.zeros((), dtype=torch.float64)] * layers, [torch.zeros((), dtype=torch.float64)] * layers
    u = (-1.0, 2.0, 0.0, 1.0, -2.0)
    for n in range(5):
        y = list(y)
        for q in range(layers):
            below = u[n] if q == 0 else y[q - 1]
            far = (u[n], *y)[q - skip] if skip and q >= skip else 0.0  # layer S + 1 sees the input
            w = copies[n] if q == 0 else -0.75
            z[q] = z[q] - 0.25 * (torch.tanh(w * y[q] + 0.8 * below + far + 0.5) + y[q])
            y[q] = y[q] + 0.25 * z[q]
    found = torch.autograd.grad(y[-1], copies)[0]
    for k in range(1, 6):
        kick = -0.25 * float(network.slopes[k][0][0].mid()) * float(network.levels[k - 1][1][0].mid())
        terms = _kernel_of(network, layers, skip, k)
        assert float(found[k - 1]) == pytest.approx(kick * terms, rel=1e-12, abs=1e-15)


def _kernel_of(network, layers: int, skip: int, k: int) -> float:
    """K^{(L)}(N, k) of a chain of single neurons in floats: by stepping from a unit kick."""
    y, z = np.zeros(layers), np.zeros(layers)
    for n in range(k, network.steps + 1):
        for q in range(layers):
            slope = float(network.slopes[n][q][0].mid())
            push = (1 - 0.75 * slope) * y[q]
            push += slope * (0.8 * y[q - 1] if q else 0)
            push += slope * (y[q - skip - 1] if skip and q > skip else 0)
            z[q] += -0.25 * push + (q == 0 and n == k)
            y[q] += 0.25 * z[q]
    return float(y[-1])


def test_kernels_of_equal_neurons_are_gegenbauer_polynomials():
    h, omega, v = 0.3, 1.7, -0.6
    by_paths = kernels._by_paths(h, omega**2, v, 9)
    for L, row in enumerate(by_paths, start=1):
        for M, value in enumerate(row):
            c = mpmath.gegenbauer(M, L, 1 - (omega * h) ** 2 / 2)
            assert value == pytest.approx(float((-v) ** (L - 1) * h ** (2 * L - 1) * c), rel=1e-11)
    assert kernels._by_steps(h, omega**2, v, 9) == [pytest.approx(row, rel=1e-11) for row in by_paths]


@pytest.mark.parametrize("L", kernels.LAYERS)
def test_both_sides_of_the_peak_tend_to_the_law(L):
    """At hω₀ = 1/50: within an eighth at ω₀T′ = 200, closer at 2000; the peak, in floats, between."""
    sides = []
    for N in (10_000, 100_000):
        law = kernels._Law(L, N, flint.arb(1) / 50)
        sides.append((float(law.least().mid()), float(law.most().mid())))
    early, late = sides
    assert 7 / 8 < early[0] <= late[0] <= 1.0001 and 1 < late[1] <= early[1] < 9 / 8
    before, now, largest = 0.0, 1.0, 1.0
    for M in range(1, 10_000):
        before, now = now, ((M + L - 1) * (2 - 1 / 2500) * now - (M + 2 * L - 2) * before) / M
        largest = max(largest, abs(now))
    peak = largest * math.factorial(L - 1) / 25**L / (2 * 10_000 ** (L - 1))
    assert early[0] <= peak * (1 + 1e-9) and peak <= early[1] * (1 + 1e-9)


# --- the differential equation, enclosed twice


@pytest.mark.parametrize(
    ("alpha", "w", "b", "start", "end"),
    [
        ("1", "1/2", "1", "1/32", "1/2"),
        ("7/2", "-3", "2", "0", "2"),
        ("0", "4", "-4", "1/3", "1"),
        ("1", "0", "1", "1/2", "1/2"),
    ],
)
def test_both_back_ends_enclose_the_same_flow_and_it_is_the_flow(alpha, w, b, start, end):
    numbers = [Fraction(text) for text in (alpha, w, b, start, end)]
    first = fundamental_matrix(*numbers)
    with iv.workprec(192):
        second = flow_again.fundamental(*(iv.mpf(x.numerator) / x.denominator for x in numbers))
    a, v, bias, early, late = map(float, numbers)
    steps = 4_000

    def rate(state):
        s = np.tanh(v * state[0] + bias)
        kappa = a + v * (1 - s * s)
        return np.array([state[1], -s - a * state[0], state[3], -kappa * state[2], state[5], -kappa * state[4]])

    state = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    for begin, finish, moves in ((0.0, early, False), (early, late, True)):
        h = (finish - begin) / steps
        for _ in range(steps if h else 0):
            k2 = rate(state + h / 2 * rate(state))
            state = state + h * k2
        if not moves:
            state[2:] = (1.0, 0.0, 0.0, 1.0)
    phi = np.array([[state[2], state[4]], [state[3], state[5]]])
    error = 10 * (late / steps) ** 2  # the midpoint rule
    for i in (0, 1):
        for j in (0, 1):
            ball, interval = first[i][j], second[i][j]
            assert float(ball.rad()) < 1e-12 and float(interval.delta) < 1e-8
            assert float(interval.a) - 1e-11 <= float(ball.mid()) <= float(interval.b) + 1e-11
            assert float(ball.mid()) == pytest.approx(phi[i, j], abs=error)


def test_without_coupling_the_flow_is_a_sine():
    (c, s), (d, e) = fundamental_matrix(Fraction(4), Fraction(0), Fraction(1), Fraction(1, 4), Fraction(5, 4))
    with flint.ctx.workprec(192):
        two = flint.arb(2)
        exact = (two.cos(), two.sin() / 2, -2 * two.sin(), two.cos())
        assert all(x.overlaps(y) for x, y in zip((c, s, d, e), exact, strict=True))


def test_a_flow_that_cannot_be_enclosed_is_an_error():
    with pytest.raises(NotEnclosedFlowError, match="shorter time"):
        fundamental_matrix(Fraction(10) ** 9, Fraction(0), Fraction(1), Fraction(0), Fraction(1))
    with iv.workprec(192), pytest.raises(ValueError, match="no box"):
        flow_again.fundamental(iv.mpf(10) ** 9, iv.mpf(0), iv.mpf(1), iv.mpf(0), iv.mpf(1))


@pytest.mark.parametrize(
    ("stack", "quantity"),
    [
        (lattice_paths.COUPLED, "remainder, S"),
        (replace(lattice_paths.LONGER, offset=1, ratio=Fraction(0), w=Fraction(-7, 3)), "Φ"),
        (ScalarStack(layers=4, w=Fraction(1, 3), offset=2, ratio=Fraction(0)), "kernel, leading"),
        (ScalarStack(layers=7, skip=2, w=Fraction(1, 3), offset=2, ratio=Fraction(0)), "kernel, leading"),
    ],
)
def test_both_typings_of_a_remainder_enclose_one_number(stack, quantity):
    with flint.ctx.workprec(orders.BITS):
        ball = orders.quantity_of(scalar_stack.run(stack, 32, BALLS), quantity)
    with iv.workprec(orders.BITS):
        interval = scalar_stack_second.value(stack.to_text(), 32, quantity)
    plain = orders.quantity_of(scalar_stack.run(stack, 32, FLOATS), quantity)
    assert float(ball.mid()) == pytest.approx(float(interval.mid), rel=1e-7)
    assert float(plain) == pytest.approx(float(ball.mid()), rel=1e-4, abs=1e-13)


@pytest.mark.parametrize(("layers", "skip"), [(1, 0), (3, 0), (4, 1), (7, 1), (7, 2)])
def test_the_leading_power_is_that_of_the_shortest_routes(layers, skip):
    """σ′ = 1 at b = 0: all routes in closed form, K = Σ_p ± C(p, s) v^p h^{2p+1} C(n − k + 2p + 1, 2p + 1) at α = 0."""
    stack = ScalarStack(layers=layers, skip=skip, alpha=Fraction(0), b=Fraction(0), offset=1, ratio=Fraction(0))
    run = scalar_stack.run(stack, 16, FLOATS)
    counts = route_counts(layers, skip or None)
    terms = {
        p: count * (-1) ** p * run.h ** (2 * p + 1) * float(mpmath.binomial(15 + 2 * p + 1, 2 * p + 1))
        for p, count in counts.items()
    }
    assert scalar_stack.kernel(run) == pytest.approx(sum(terms.values()), rel=1e-12)
    less = sum(term for p, term in terms.items() if p > min(terms))
    assert scalar_stack.kernel_less_leading(run) == pytest.approx(less, rel=1e-9, abs=1e-18)
