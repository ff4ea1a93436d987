"""thm-J (f): against an extremal function that is added up field by field, against words, against the best times."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.optimize import minimize

from odernn.bounds import jacobian, switching, words

CASES = {
    "resonant": (9.0, 11.0, 0.1),
    "wide": (1.0, 11.0, 0.1),
    "large steps": (2.0, 10.0, 0.4),
    "a fast turn": (3.0, 3.5, 1.0),
    "nearly a drift": (0.01, 1.0, 0.1),
    "a drift": (0.0, 1.0, 0.5),
    "a weak saddle": (-0.05, 1.0, 0.2),
    "a saddle that decides": (-0.2, 1.0, 0.1),
    "stiff": (20.0, 40.0, 1 / 3),
}
low_shares = st.floats(-0.3, 0.99)
high_shares = st.floats(0.01, 0.99)


def bound_of(low: float, high: float, h: float) -> float:
    return float(switching.rate_bound(kappa_low=low, kappa_high=high, step_size=h))


def B(kappa: float, h: float) -> np.ndarray:
    return np.array([[1 - h * h * kappa, h], [-h * kappa, 1.0]])


def logarithms(low: float, high: float, h: float) -> list[tuple[float, float]]:
    """p and q of log B(κ)/h = (θ/ sin θ)(B(κ) − cos θ)/h, 2 cos θ = trace B(κ), in the coordinates (y − hz/2, z)."""
    found = []
    for kappa in (low, high):
        with mp.workdps(40):
            k, s = mpf(kappa), mpf(h)
            cosine = 1 - s * s * k / 2
            factor = mpf(1) if cosine == 1 else mp.re(mp.acos(cosine) / mp.sqrt(1 - cosine * cosine))
            found.append((float(factor * (s - s**3 * k / 4) / s), float(factor * s * k / s)))
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_step_is_a_flow(name: str) -> None:
    """exp(h [[0, p], [−q, 0]]) = B(κ) in those coordinates, by scipy's exponential."""
    low, high, h = CASES[name]
    change = np.array([[1.0, -h / 2], [0.0, 1.0]])
    for kappa, (p, q) in zip((low, high), logarithms(low, high, h), strict=True):
        if kappa * h * h < 4:
            flow = expm(h * np.array([[0.0, p], [-q, 0.0]]))
            assert flow == pytest.approx(change @ B(kappa, h) @ np.linalg.inv(change), rel=1e-12, abs=1e-12)


def turned(phi: float, rate: float, fields: list[tuple[float, float]]) -> float:
    """The largest d log R/dφ with (log R|X|)' ≤ λ along both fields, on the ray of the angle φ, tan φ = (y − hz/2)/z.

    |X| grows at (p − q) sin φ cos φ along a field, φ at p cos² φ + q sin² φ. A field that turns back forbids nothing.
    """
    allowed = []
    for p, q in fields:
        radial, turn = (p - q) * math.sin(phi) * math.cos(phi), p * math.cos(phi) ** 2 + q * math.sin(phi) ** 2
        if turn > 0:
            allowed.append((rate - radial) / turn)
    return min(allowed)


def switching_angles(rate: float, fields: list[tuple[float, float]]) -> tuple[float, float]:
    """Where both fields, less λ, have one direction: det((M₋ − λ)X, (M₊ − λ)X) = 0."""
    (p, q), (r, s) = fields
    first, second = sorted(np.roots([rate * (s - q), -(p * s - r * q), -rate * (p - r)]).real)
    return math.atan(first), math.atan(second)


def excess(rate: float, low: float, high: float, h: float) -> float:
    """F(λ): by how much R, which has grown as fast as it may for half a turn, is smaller than it was."""
    fields = logarithms(low, high, h)
    first, second = switching_angles(rate, fields)
    parts = [
        quad(turned, start, end, args=(rate, fields), epsabs=1e-13, epsrel=1e-13, limit=200)[0]
        for start, end in ((first, second), (second, math.pi / 2), (math.pi / 2, first + math.pi))
    ]
    return -float(sum(parts))


def ways(low: float, high: float, h: float) -> list[tuple[float, float]]:
    """κ₋, κ₊ and 4/h² − κ₊, 4/h² − κ₋: those of which the larger is below 4/h², by so much that a step turns."""
    c = 4 / h**2
    return [ends for ends in ((low, high), (c - high, c - low)) if ends[1] < c * (1 - 1e-9)]


@settings(deadline=None, max_examples=40)
@given(low_shares, high_shares, st.floats(0.01, 1.5))
@example(2.0**-52, 0.5, 1.0)  # 4/h² − κ₋ is 4/h², to a unit in the last place
def test_half_a_turn_makes_up_for_it_at_the_bound_and_not_below(low: float, high: float, h: float) -> None:
    c = 4 / h**2
    low, high = min(low, high) * c, max(low, high) * c
    found = bound_of(low, high, h)
    if not math.isfinite(found) or high - low < 1e-2 * high:
        return
    saddle = max(float(jacobian.constant_rate(kappa=kappa, step_size=h)) for kappa in (low, high))
    assert found >= saddle
    if found > saddle * (1 + 1e-4):
        assert min(excess(found / h, ends[0], ends[1], h) for ends in ways(low, high, h)) <= 1e-12
        assert min(excess(found / h * (1 - 1e-6), ends[0], ends[1], h) for ends in ways(low, high, h)) > 0


@pytest.mark.parametrize("name", [name for name in CASES if name != "a saddle that decides"])
def test_a_step_multiplies_the_extremal_function_by_no_more(name: str) -> None:
    """V(B X) ≤ e^rate V(X) for both matrices and all directions; and with a tenth less it does not hold."""
    low, high, h = CASES[name]
    rate = bound_of(low, high, h)
    low, high = min(ways(low, high, h), key=lambda ends: abs(excess(rate / h, ends[0], ends[1], h)))
    for share, holds in ((1.0, True), (0.9, False)):
        fields = logarithms(low, high, h)
        first, _ = switching_angles(share * rate / h, fields)
        phi = np.linspace(first, first + math.pi, 100_001)
        slopes = np.array([turned(angle, share * rate / h, fields) for angle in (phi[1:] + phi[:-1]) / 2])
        log_r = np.concatenate([[0], np.cumsum(slopes * np.diff(phi))])

        def log_v(hat: np.ndarray, phi: np.ndarray = phi, log_r: np.ndarray = log_r) -> np.ndarray:
            angle = (np.arctan2(hat[0], hat[1]) - phi[0]) % math.pi + phi[0]
            found: np.ndarray = np.interp(angle, phi, log_r) + np.log(np.hypot(*hat))
            return found

        angle = np.random.default_rng(1).uniform(0, math.pi, 4000)
        X = np.stack([np.sin(angle), np.cos(angle)])
        change = np.array([[1.0, -h / 2], [0.0, 1.0]])
        grown = [log_v(change @ B(kappa, h) @ X) - log_v(change @ X) for kappa in (low, high)]
        worst = float(np.max(grown)) - share * rate
        assert (worst < 1e-6 * (1 + rate)) is holds, worst


@pytest.mark.parametrize("name", CASES)
def test_no_word_grows_faster(name: str) -> None:
    """All words p, q of up to three half turns, and 4000 random words, by numpy's eigenvalues."""
    low, high, h = CASES[name]
    rate, generator = bound_of(low, high, h), np.random.default_rng(0)
    letters = (B(low, h), B(high, h))
    drawn = [generator.integers(0, 2, generator.integers(1, 20)) for _ in range(4000)]
    blocks = [np.repeat([0, 1], (p, q)) for p in range(1, 40) for q in range(1, 40)]
    fastest = 0.0
    for word in (*drawn, *blocks):
        product = np.eye(2)
        for letter in word:
            product = letters[letter] @ product
        half = abs(np.trace(product)) / 2
        fastest = max(fastest, math.acosh(max(half, 1.0)) / len(word))
    assert fastest <= rate
    assert fastest >= 0.75 * rate or name in ("nearly a drift", "large steps"), (fastest, rate)


@pytest.mark.parametrize(("low", "high"), [(1.0, 2.0), (1.0, 11.0), (9.0, 11.0), (0.1, 1.0)])
def test_as_h_falls_it_is_the_rate_of_the_best_times(low: float, high: float) -> None:
    """The best t₁, t₂ of thm-J (d), by scipy; quarter periods, which are not the best, are exceeded."""

    def slower(times: np.ndarray) -> float:
        return -float(words.duration_rate(kappa_low=low, kappa_high=high, low_time=times[0], high_time=times[1]))

    start = [math.pi / 2 / math.sqrt(low), math.pi / 2 / math.sqrt(high)]
    best = minimize(slower, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
    found = bound_of(low, high, 1e-5) / 1e-5
    assert found == pytest.approx(-best.fun, rel=1e-6) and found >= -best.fun
    quarters = float(words.quarter_period_rate(kappa_low=low, kappa_high=high))
    assert quarters < found * (1 - 1e-5)


def test_pinned_values() -> None:
    """A drift and a turn: 0.2436 ω₂ of thm-J (d). A saddle decides up to κ₊ = 11.19 W, not 3 W, as h falls."""
    assert bound_of(0.0, 1.0, 1e-4) / 1e-4 == pytest.approx(0.24363, abs=1e-5)
    for ratio, decides in ((11.1, True), (11.3, False)):
        assert (bound_of(-1.0, ratio, 1e-4) <= 2 * math.asinh(1e-4 / 2) * (1 + 1e-8)) is decides
    assert bound_of(9.0, 11.0, 0.1) / 0.1 == pytest.approx(0.10372928, rel=1e-7)


def test_where_it_says_nothing_it_says_infinity() -> None:
    """κ of both signs beyond both ends; no κ that turns; two that are nearly one."""
    for low, high, h in ((-1.0, 500.0, 0.1), (-2.0, -1.0, 0.1), (2.0, 2.0 + 1e-6, 0.1), (2.0, 2.0, 0.1)):
        assert bound_of(low, high, h) == math.inf
    found = switching.rate_bound(kappa_low=np.array([1.0, -1.0]), kappa_high=np.array([2.0, 500.0]), step_size=0.1)
    assert found.shape == (2,) and math.isfinite(found[0]) and math.isinf(found[1])


def test_a_neuron_has_the_smaller_of_both_bounds() -> None:
    found = words.rate(alpha=9.0, w=2.0, step_size=0.1)
    assert found.upper == bound_of(9.0, 11.0, 0.1) and found.lower < found.upper < 1.04 * found.lower


# --- (iv): the constant between V and ‖·‖_a


def product_bound(low: float, high: float, h: float, form: float, steps: int) -> float:
    return float(switching.log_product_bound(kappa_low=low, kappa_high=high, step_size=h, form=form, steps=steps))


def measured_in(form: float, h: float) -> np.ndarray:
    """L with ‖X‖_a = |L X| for the state (y, z)."""
    factor: np.ndarray = np.linalg.cholesky([[form, -form * h / 2], [-form * h / 2, 1.0]]).T
    return factor


def largest_product(letters: list[np.ndarray], steps: int, generator: np.random.Generator) -> float:
    """log of the largest norm found: greedy from all directions, words p, q from any place in them, random words."""
    found = []
    for angle in np.linspace(0, math.pi, 24, endpoint=False):
        v, product = np.array([math.cos(angle), math.sin(angle)]), np.eye(2)
        for _ in range(steps):
            letter = max(letters, key=lambda B, v=v: float(np.linalg.norm(B @ v)))  # type: ignore[misc]
            v, product = letter @ v, letter @ product
        found.append(product)
    for p, q in generator.integers(1, 20, (40, 2)):
        start = int(generator.integers(p + q))
        word = [letters[int((start + n) % (p + q) >= p)] for n in range(steps)]
        found.append(functools.reduce(lambda product, B: B @ product, word, np.eye(2)))
    for _ in range(20):
        drawn = generator.integers(0, 2, steps)
        found.append(functools.reduce(lambda product, n: letters[n] @ product, drawn, np.eye(2)))
    return math.log(max(float(np.linalg.norm(each, 2)) for each in found))


FORMS = (1.0, 0.1, 20.0)


@pytest.mark.parametrize("name", CASES)
def test_no_product_exceeds_rate_and_constant(name: str) -> None:
    low, high, h = CASES[name]
    generator, nearest = np.random.default_rng(3), math.inf
    for form in (share for share in FORMS if share * h * h < 4):
        L = measured_in(form, h)
        letters = [L @ B(kappa, h) @ np.linalg.inv(L) for kappa in (low, high)]
        for steps in (1, 2, 7, 30, 90):
            room = product_bound(low, high, h, form, steps) - largest_product(letters, steps, generator)
            assert room >= 0, (form, steps)
            nearest = min(nearest, room)
    # where a constant input decides, λ is its rate, and the function V has no bound on its eigenvector
    assert nearest == math.inf if name in ("a saddle that decides", "stiff") else nearest < 0.1, nearest


@pytest.mark.parametrize("name", ["resonant", "wide", "nearly a drift", "a drift"])
def test_without_the_constant_products_exceed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    low, high, h = CASES[name]
    monkeypatch.setattr(switching._HalfTurn, "log_constant", lambda self, form, rest: 0 * form)
    letters = [measured_in(1.0, h) @ B(kappa, h) @ np.linalg.inv(measured_in(1.0, h)) for kappa in (low, high)]
    found = [
        largest_product(letters, n, np.random.default_rng(3)) - product_bound(low, high, h, 1.0, n) for n in (7, 30)
    ]
    assert max(found) > 0


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("a saddle that decides", "stiff")])
@pytest.mark.parametrize("share", [0.01, 0.2, 0.9])
def test_the_constant_is_that_of_the_extremal_function(name: str, share: float) -> None:
    """V/‖·‖_a over all directions, V added up field by field: the quotient of its largest and its least value."""
    low, high, h = CASES[name]
    rate, form = bound_of(low, high, h), share * 4 / h**2
    low, high = min(ways(low, high, h), key=lambda ends: abs(excess(rate / h, ends[0], ends[1], h)))
    fields = logarithms(low, high, h)
    first, _ = switching_angles(rate / h, fields)
    phi = np.linspace(first, first + math.pi, 20_001)
    slopes = np.array([turned(angle, rate / h, fields) for angle in (phi[1:] + phi[:-1]) / 2])
    log_v = np.concatenate([[0], np.cumsum(slopes * np.diff(phi))])
    log_norm = np.log((1 - form * h * h / 4) * np.cos(phi) ** 2 + form * np.sin(phi) ** 2) / 2
    exact = float(np.ptp(log_v - log_norm))
    arrays = [np.array(value) for value in (rate / h, low, high, h)]
    turn = switching._HalfTurn.of(*arrays)
    found = float(turn.log_constant(np.array(form), np.array(1 - form * h * h / 4)))
    assert found == pytest.approx(exact, abs=1e-4)  # what adding up leaves
    assert product_bound(low, high, h, form, 5) <= 5 * rate + found + 1e-9


def log_norm_of_blocks(low: float, high: float, h: float, form: float, blocks: tuple[int, ...]) -> mpf:
    """log ‖Φ‖_a in 60 digits: so many steps with κ₋, then so many with κ₊, κ₋ and so on; det Φ = 1."""
    with mp.workdps(60):
        a, s, product = mpf(form), mpf(h), mp.eye(2)
        for place, count in enumerate(blocks):
            kappa = mpf((low, high)[place % 2])
            product = mp.matrix([[1 - s * s * kappa, s], [-s * kappa, 1]]) ** count * product
        tilt = mp.sqrt(1 - a * s * s / 4)
        L = mp.matrix([[mp.sqrt(a) * tilt, 0], [-mp.sqrt(a) * mp.sqrt(a) * s / 2, 1]])
        assert mp.norm(L.T * L - mp.matrix([[a, -a * s / 2], [-a * s / 2, 1]])) < mpf(10) ** -40 * a
        in_form = L * product * L**-1
        squares = sum(entry**2 for entry in in_form)  # σ² + 1/σ²
        return mp.acosh(squares / 2) / 2


NEAR_THE_LARGEST_FORM = [
    (
        1.0998542672056525e-05,
        1.1001697907573131e-05,
        0.0025451704768335425,
        617484.7516823035,
        (186090, 186074, 186090),
    ),
    (0.6924191482184922, 2.0295945702516542, 0.0010042447690094417, 3966256.8455846473, (1618, 1188, 1618)),
]


@pytest.mark.parametrize(("low", "high", "h", "form", "blocks"), NEAR_THE_LARGEST_FORM)
def test_what_cancels_near_the_largest_form_is_allowed_for(
    low: float, high: float, h: float, form: float, blocks: tuple[int, ...]
) -> None:
    """1 − ah²/4 has few digits where a is near 4/h²; words that switch as V says come within 2u/(1 − ah²/4)."""
    room = product_bound(low, high, h, form, sum(blocks)) - log_norm_of_blocks(low, high, h, form, blocks)
    assert 0 <= room < 1e-7 + 3 * 2.0**-53 / (1 - form * h * h / 4)


@pytest.mark.parametrize("is_mirrored", [False, True])
def test_the_constant_is_rounded_up_by_what_the_form_lost(is_mirrored: bool) -> None:
    """Against 1 − ah²/4 in 60 digits, by κ and by 4/h² − κ: by no more than half again, and less would not do."""
    generator = np.random.default_rng(5)
    h = generator.uniform(0.05, 0.2, 300)
    c = 4 / h**2
    form = c * (1 - 2.0 ** generator.uniform(-38, -26, 300))
    ends = (c - 1.0, c + 0.05) if is_mirrored else (np.full(300, -0.05), np.full(300, 1.0))
    growth = switching.ProductGrowth.of(kappa_low=ends[0], kappa_high=ends[1], step_size=h)
    rate, low, high = growth.ways[is_mirrored]
    assert np.isfinite(rate).all() and np.isinf(growth.ways[not is_mirrored][0]).all()
    with mp.workdps(60):
        share = [mpf(a) * mpf(s) ** 2 / 4 for a, s in zip(form, h, strict=True)]
        rest = np.array([float(1 - each) for each in share])
        mirror = np.array([float(4 / mpf(s) ** 2 * (1 - each)) for s, each in zip(h, share, strict=True)])
    measure = (mirror, np.array(list(map(float, share)))) if is_mirrored else (form, rest)
    room = growth.in_form(form)[1] - switching._HalfTurn.of(rate / h, low, high, h).log_constant(*measure)
    allowed = 2.0**-52 / (1 - form * h * h / 4)
    assert (room > 0).all() and (room < 1.5 * allowed).all()
    assert (room < 0.75 * allowed).any()


def test_the_mirror_image_has_the_mirrored_constant() -> None:
    """κ to 4/h² − κ and a to 4/h² − a; the norms of all words are the same, and so are the bounds."""
    h, c = 0.4, 25.0
    for low, high, form in ((2.0, 10.0, 5.0), (0.0, 9.0, 1.0), (-0.1, 6.0, 3.0)):
        plain, mirrored = product_bound(low, high, h, form, 9), product_bound(c - high, c - low, h, c - form, 9)
        assert plain == pytest.approx(mirrored, rel=1e-6)
        norms = []
        for ends, a in (((low, high), form), ((c - high, c - low), c - form)):
            L = measured_in(a, h)
            J = [L @ B(kappa, h) @ np.linalg.inv(L) for kappa in ends]
            slow, fast = J if a == form else J[::-1]
            norms.append(np.linalg.norm(slow @ fast @ fast @ slow, 2))
        assert norms[0] == pytest.approx(norms[1], rel=1e-9)


def test_many_forms_and_neurons_at_once_are_one_by_one() -> None:
    low, high, forms_tried = np.array([1.0, -1.0, 9.0]), np.array([11.0, 500.0, 11.0]), np.array([[0.5] * 3, [2.0] * 3])
    found = switching.log_product_bound(kappa_low=low, kappa_high=high, step_size=0.1, form=forms_tried, steps=40)
    assert found.shape == (2, 3) and np.isinf(found[:, 1]).all()
    for (row, column), value in np.ndenumerate(found):
        assert value == product_bound(low[column], high[column], 0.1, forms_tried[row, column], 40)


def test_the_condition_of_a_form_is_that_of_its_matrix() -> None:
    for form, h in ((1.0, 0.1), (3.0, 1.1), (1e-4, 0.5), (390.0, 0.1)):
        condition = np.linalg.cond(measured_in(form, h))
        assert math.exp(jacobian.log_condition(form=form, step_size=h)) == pytest.approx(condition, rel=1e-9)
