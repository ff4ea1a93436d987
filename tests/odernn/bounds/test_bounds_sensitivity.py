"""thm-C against the differential equation itself, integrated by DOP853, and against exact solutions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import flint
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from odernn.bounds import sensitivity, sharp
from odernn.bounds.numbers import BALLS
from tests.tiers import spread

TOLERANCE = 1e-11
Drive = Callable[[float], float]


def integrate(
    alpha: float, w: float, drive: Drive, kind: sensitivity.Kind, times: np.ndarray, start: tuple[float, float]
) -> np.ndarray:
    """(y, z, y_θ, z_θ, ∫ |σ'(A) C|) at the given times of one neuron; ``drive`` may jump at ``times`` only."""

    def field(t: float, state: np.ndarray) -> list[float]:
        y, z, y_theta, z_theta, _ = state
        s = math.tanh(w * y + drive(t))
        slope = 1 - s * s
        C = {"w": y, "V": math.cos(3 * t), "b": 1.0}[kind]
        return [z, -(s + alpha * y), z_theta, -(slope * w + alpha) * y_theta - slope * C, abs(slope * C)]

    rows, state = [], np.array([0.0, 0.0, *start, 0.0])
    for a, b in itertools.pairwise(times):
        inner = solve_ivp(field, (a, b - 1e-13 * b), state, method="DOP853", rtol=TOLERANCE, atol=TOLERANCE)
        state = inner.y[:, -1]
        rows.append(state)
    return np.array(rows)


DRIVES: dict[str, Drive] = {
    "none": lambda t: 0.0,
    "saturating": lambda t: -9.0,
    "square wave": lambda t: 5.0 * (-1) ** math.floor(2 * t),
    "smooth": lambda t: 2 * math.sin(2.3 * t),
}
NEURONS = [(4.0, 1.0), (1.0, -6.0), (9.0, 8.0), (0.2, 0.1), (0.0, 2.0), (0.0, -2.0)]


def excess(*, alpha: float, w: float, factor: float = 1.0) -> float:
    """The largest log(measured) − log(bound) over drives, parameters, forms, initial values and times."""
    times = np.linspace(0, 6, 25)
    low, high = alpha + min(w, 0.0), alpha + max(w, 0.0)
    candidates = [float(sensitivity.best_form(kappa_low=low, kappa_high=high)), 0.7]
    worst = -math.inf
    kinds: list[sensitivity.Kind] = ["w", "V", "b"]
    for drive, kind, start in itertools.product(DRIVES.values(), kinds, ((0.0, 0.0), (0.3, -0.2))):
        rows = integrate(alpha, w, drive, kind, times, start)
        for form in [*candidates, alpha] if alpha > 0 else candidates:
            measured = np.sqrt(form * rows[:, 2] ** 2 + rows[:, 3] ** 2)
            initial = math.sqrt(form * start[0] ** 2 + start[1] ** 2)
            rate = factor * float(sensitivity.growth_rate(kappa_low=low, kappa_high=high, form=form))
            for t, size, integral in zip(times[1:], measured, rows[:, 4], strict=True):
                coarse = sensitivity.forcing_bound(kind=kind, time=t, input_bound=1.0)
                assert integral <= coarse * (1 + 1e-9)
                if initial + integral == 0:  # "none" for w: nothing moves
                    assert size == 0
                    continue
                bound = math.log(initial + integral) + rate * t
                if factor == 1.0:
                    shipped = sensitivity.log_sensitivity(
                        initial=initial, forcing=integral, kappa_low=low, kappa_high=high, form=form, time=t
                    )
                    assert float(shipped) == pytest.approx(bound, rel=1e-12, abs=1e-12)
                worst = max(worst, math.log(size + 1e-300) - bound)
    return worst


@pytest.mark.parametrize(("alpha", "w"), spread(NEURONS, 2))
def test_no_sensitivity_of_the_differential_equation_exceeds_the_bound(alpha: float, w: float):
    assert excess(alpha=alpha, w=w) <= 1e-8


def test_a_halved_exponent_is_exceeded():
    assert excess(alpha=1.0, w=-6.0, factor=0.5) > 0.1


@pytest.mark.parametrize(("alpha", "w"), [(1.0, -6.0), (0.0, -2.0), (3.0, -4.0)])
def test_a_deep_saddle_attains_the_exponent(alpha: float, w: float):
    # zero drive: κ = α + w throughout; on the growing direction √E_a is exactly e^{√W t}, a = W
    W = -(alpha + w)
    form = float(sensitivity.best_form(kappa_low=alpha + w, kappa_high=alpha))
    assert form == W
    rate = float(sensitivity.growth_rate(kappa_low=alpha + w, kappa_high=alpha, form=form))
    assert rate == pytest.approx(math.sqrt(W), rel=1e-15)
    start = (0.1, 0.1 * math.sqrt(W))
    times = np.array([0.0, 2.0])

    def free(t: float, state: np.ndarray) -> list[float]:
        return [state[1], W * state[0]]

    end = solve_ivp(free, (0.0, 2.0), start, method="DOP853", rtol=TOLERANCE, atol=TOLERANCE).y[:, -1]
    measured = math.sqrt(form * end[0] ** 2 + end[1] ** 2)
    bound = sensitivity.log_sensitivity(
        initial=math.sqrt(2 * W) * 0.1, forcing=0.0, kappa_low=alpha + w, kappa_high=alpha, form=form, time=times[-1]
    )
    assert math.log(measured) == pytest.approx(float(bound), rel=1e-9)


def test_the_best_form_of_the_differential_equation_is_the_smallest_over_a_grid_and_the_limit_of_the_steps():
    from odernn.bounds import forms, jacobian

    generator = np.random.default_rng(0)
    for _ in range(200):
        alpha = generator.choice([0.0, 1.0]) * 10 ** generator.uniform(-2, 1.5)
        w = generator.normal() * 10 ** generator.uniform(-1, 1.5)
        ends = {"kappa_low": alpha + min(w, 0.0), "kappa_high": alpha + max(w, 0.0)}
        best = sensitivity.best_form(**ends)
        found = sensitivity.growth_rate(**ends, form=best)
        assert found <= sensitivity.growth_rate(**ends, form=np.geomspace(1e-6, 1e4, 3000)).min() * (1 + 1e-12)
        h = 1e-5
        step = jacobian.rate_bound(**ends, form=forms.best_form(**ends, step_size=h), step_size=h)
        assert float(step) / h == pytest.approx(float(found), rel=1e-3)
        if alpha > 0:  # thm-C as printed: a = α
            assert sensitivity.growth_rate(**ends, form=alpha) == pytest.approx(abs(w) / (2 * math.sqrt(alpha)))


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0, 30.0])
def test_states_stay_below_their_bounds_and_a_square_wave_attains_the_supremum(alpha: float):
    times = np.linspace(0, 7, 29)
    root = math.sqrt(alpha)
    for quantity, place, wave in (("position", 0, math.sin), ("momentum", 1, math.cos)):
        end = times[-1]
        reached = (
            abs(quad(lambda s, f=wave: abs(f(root * s)), 0, end, limit=800, points=None)[0])
            if alpha
            else (end**2 / 2 if quantity == "position" else end)
        )
        reached = reached / root if alpha and quantity == "position" else reached
        log_supremum = sensitivity.log_supremum(alpha=alpha, time=float(end), quantity=quantity)
        assert log_supremum == pytest.approx(math.log(reached), abs=1e-6)
        component = float(sensitivity.log_component(quantity=quantity, time=float(end)))
        assert log_supremum <= component + 1e-12
        for drive in DRIVES.values():
            rows = integrate(alpha, 0.5, drive, "b", times, (0.0, 0.0))
            for t, row in zip(times[1:], rows, strict=True):
                supremum = sensitivity.log_supremum(alpha=alpha, time=float(t), quantity=quantity)
                assert math.log(max(abs(row[place]), 1e-300)) <= supremum + 1e-9
            energy = np.sqrt(alpha * rows[:, 0] ** 2 + rows[:, 1] ** 2)
            assert (
                np.log(energy + 1e-300)
                <= [float(sensitivity.log_energy_root(hidden_size=1, time=t)) + 1e-9 for t in times[1:]]
            ).all()
        # the limit of the discrete suprema
        N = 40000
        discrete = sharp.log_supremum_at(alpha=alpha, step_size=float(end) / N, steps=N, quantity=quantity)
        assert float(discrete) == pytest.approx(log_supremum, abs=2e-3)


def test_without_restoring_force_a_constant_drive_attains_the_bounds_on_components():
    times = np.array([0.0, 3.0])
    rows = integrate(0.0, 0.0, lambda t: -40.0, "b", times, (0.0, 0.0))
    assert rows[-1, 0] == pytest.approx(4.5, rel=1e-9) and rows[-1, 1] == pytest.approx(3.0, rel=1e-9)
    assert math.exp(float(sensitivity.log_component(quantity="position", time=3.0))) == pytest.approx(4.5)
    assert math.exp(float(sensitivity.log_component(quantity="momentum", time=3.0))) == pytest.approx(3.0)


def test_the_direct_term_is_bounded_by_its_largest_case():
    for t, U in itertools.product((0.1, 2.0, 9.0), (0.0, 3.0)):
        assert float(sensitivity.log_direct(time=t, input_bound=U)) == pytest.approx(math.log(max(t * t / 2, U, 1)))
        forcing = {k: float(sensitivity.forcing_bound(kind=k, time=t, input_bound=U)) for k in ("w", "V", "b")}
        assert forcing == pytest.approx({"w": t**3 / 6, "V": U * t, "b": t})


def test_balls_enclose_the_floats_and_long_times_do_not_overflow():
    with flint.ctx.workprec(128):
        ball = sensitivity.log_sensitivity(
            initial=BALLS.exact(1),
            forcing=BALLS.exact(2),
            kappa_low=BALLS.exact(-3),
            kappa_high=BALLS.exact(1),
            form=BALLS.exact(3),
            time=BALLS.exact(10**5),
            numbers=BALLS,
        )
    found = sensitivity.log_sensitivity(initial=1, forcing=2, kappa_low=-3, kappa_high=1, form=3.0, time=1e5)
    assert float(found) == pytest.approx(float(ball.mid()), rel=1e-12) and math.isfinite(found)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="kind is 'c'"):
        sensitivity.forcing_bound(kind="c", time=1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='"speed" is not'):
        sensitivity.log_component(quantity="speed", time=1.0)


# --- formulas typed again, at places where every term counts


def test_rate_and_growth_of_a_sensitivity_are_the_printed_formulas():
    for low, high, a in ((-2.0, 1.0, 0.7), (0.5, 6.0, 1.3), (0.5, 6.0, 9.0)):
        rate = max(abs(low - a), abs(high - a)) / (2 * math.sqrt(a))
        ends = {"kappa_low": low, "kappa_high": high, "form": a}
        assert sensitivity.growth_rate(**ends) == pytest.approx(rate, rel=1e-14)
        found = sensitivity.log_sensitivity(initial=0.4, forcing=2.1, time=1.7, **ends)
        assert found == pytest.approx(math.log(2.5) + 1.7 * rate, rel=1e-14)


@pytest.mark.parametrize(
    ("low", "high", "best"),
    [(-1.0, 2.0, 1.0), (-1.0, 3.0, 1.0), (-1.0, 4.0, 1.5), (-2.0, -1.0, 2.0), (2.0, 5.0, 3.5), (0.0, 5.0, 2.5)],
)
def test_the_best_form_of_a_saddle_is_its_depth_until_the_other_end_is_three_times_as_far(low, high, best):
    assert sensitivity.best_form(kappa_low=low, kappa_high=high) == best
    assert sensitivity.best_form(kappa_low=0.0, kappa_high=0.0) == np.finfo(float).tiny


def test_forcing_energy_and_direct_terms_are_the_printed_formulas():
    for kind, expected in (("w", 1.7**3 / 6), ("V", 2.3 * 1.7), ("b", 1.7)):
        assert sensitivity.forcing_bound(kind=kind, time=1.7, input_bound=2.3) == pytest.approx(expected, rel=1e-14)
    assert sensitivity.log_component(quantity="position", time=1.7) == pytest.approx(math.log(1.7**2 / 2), rel=1e-14)
    assert sensitivity.log_component(quantity="momentum", time=1.7) == math.log(1.7)
    energy = sensitivity.log_energy_root(hidden_size=5, time=1.7)
    assert energy == pytest.approx(math.log(1.7 * math.sqrt(5)), rel=1e-14)
    for time, U, expected in ((3.0, 2.0, 4.5), (1.0, 2.0, 2.0), (1.0, 0.3, 1.0), (1.8, 0.3, 1.62)):
        assert sensitivity.log_direct(time=time, input_bound=U) == pytest.approx(math.log(expected), abs=1e-14)


@pytest.mark.parametrize("alpha", [0.3, 2.0, 1e-15, 0.0])
def test_the_suprema_are_the_integrals_of_sine_and_cosine(alpha: float):
    root = math.sqrt(alpha)
    for time in (0.4, 2.0, 2.9, 5.5, 17.0):
        s = np.linspace(0, time, 200_001)
        sine = np.abs(np.sin(root * s)) / root if alpha else s
        for quantity, values in (("position", sine), ("momentum", np.abs(np.cos(root * s)))):
            area = float(((values[1:] + values[:-1]) / 2).sum() * (s[1] - s[0]))
            found = sensitivity.log_supremum(alpha=alpha, time=time, quantity=quantity)
            assert found == pytest.approx(math.log(area), abs=1e-8)
