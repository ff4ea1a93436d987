"""What claims measure with, against something written differently: flows, suprema, the polynomial of a gradient."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from odernn.bounds.numbers import BALLS
from odernn.published.networks import row
from verification.cases import top_layer_gradients
from verification.certify import linear_flow, suprema
from verification.certify.neuron_chain import LISTS
from verification.certify.second import intervals as second
from verification.claims.unicornn import gradient_bounds
from verification.measure import gradient_forms, ode


@pytest.mark.parametrize("kappa", ["0", "4/3", "-5/2"])
def test_the_flow_in_balls_and_in_intervals_is_that_of_dop853(kappa: str) -> None:
    """From a state that is not zero, under a force: also where κ is exactly 0, and the flow a parabola."""
    y, z, force, time = Q(3, 7), Q(-5, 4), Q(7, 9), Q(8, 5)
    run = solve_ivp(
        lambda t, x: [x[1], -float(Q(kappa)) * x[0] - float(force)],
        (0, float(time)),
        [float(y), float(z)],
        "DOP853",
        rtol=1e-12,
        atol=1e-13,
    )
    given = (y, z, Q(kappa), force, time)
    with flint.ctx.workprec(128):
        balls = [float(each.mid()) for each in linear_flow.in_balls(*map(BALLS.exact, given))]
    again = [float(each.mid) for each in linear_flow.in_intervals(*(second.number(str(each)) for each in given))]
    assert [balls, again] == [pytest.approx(run.y[:, -1], rel=1e-9)] * 2


def least_factor(alpha: Q, dt: tuple[Q, ...], steps: int) -> Q:
    """The least f with n²dt²/(1 − αdt²/4) ≤ f (1 + 2β n dt) for all n ≤ N and all dt: every n is tried."""
    beta = max(1 + 2 * alpha, 4 * alpha**2)
    return max(
        n * n * h * h / (1 - alpha * h * h / 4) / (1 + 2 * beta * n * h) for h in dt for n in range(1, steps + 1)
    )


@pytest.mark.parametrize("steps", [1, 30])
@pytest.mark.parametrize(("alpha", "dt"), [(Q(1, 4), (Q(1, 2), Q(3, 2))), (Q(3, 2), (Q(4, 3),)), (Q(3, 4), (Q(1, 5),))])
def test_the_square_root_holds_at_a_row_down_to_the_least_factor(alpha: Q, dt: tuple[Q, ...], steps: int) -> None:
    made = replace(row("psMNIST-128"), alpha=alpha, dt=dt, steps=steps, num_layers=len(dt))
    least = least_factor(alpha, dt, steps)
    assert suprema.square_root_rows(made, least)
    assert not suprema.square_root_rows(made, least * (1 - Q(1, 10**9)))
    assert not suprema.square_root_rows(replace(made, alpha=Q(0)), least + 10**9)
    assert not suprema.square_root_rows(
        replace(made, dt=(*dt, 3 / alpha), num_layers=len(dt) + 1), least + 10**9
    )  # α dt² ≥ 4


@pytest.mark.parametrize("steps", [1, 30])
@pytest.mark.parametrize(("alpha", "dt"), [(Q(1, 4), (Q(1, 2), Q(3, 2))), (Q(3, 2), (Q(4, 3),)), (Q(3, 4), (Q(1, 5),))])
def test_the_second_typing_has_the_same_least_factor(alpha: Q, dt: tuple[Q, ...], steps: int) -> None:
    made = replace(row("psMNIST-128"), alpha=alpha, dt=dt, steps=steps, num_layers=len(dt))
    least = least_factor(alpha, dt, steps)
    assert suprema.square_root_rows_again(made, least * (1 + Q(1, 10**9)))
    assert not suprema.square_root_rows_again(made, least * (1 - Q(1, 10**9)))
    assert not suprema.square_root_rows_again(replace(made, alpha=Q(0)), least + 10**9)
    beyond = replace(made, dt=(*dt, 3 / alpha), num_layers=len(dt) + 1)
    assert not suprema.square_root_rows_again(beyond, least + 10**9)


def test_the_largest_mean_of_a_sine_is_the_largest_on_a_grid() -> None:
    x = np.linspace(0.01, 30, 2_000_001)
    values = ode.sine_area(x) / x
    assert ode.largest_mean_sine() == pytest.approx(float(values.max()), rel=1e-9)
    area = np.cumsum(np.abs(np.sin(x))) * (x[1] - x[0])  # the area itself, by a sum
    assert np.abs(area - ode.sine_area(x)).max() < 1e-4


@pytest.mark.parametrize(("size", "steps"), [(3.0, 10), (1.5, 4)])
def test_the_polynomial_of_the_gradient_is_a_difference_quotient_of_the_network(size: float, steps: int) -> None:
    """w^1 = −s, w^2 = −1, V = 1, α = 1, h = 1/20, ȳ = 1, no input: dE/db^1 as a polynomial in s, of sign +."""
    coefficients = gradient_bounds._gradient_polynomial(2, steps)

    def energy(b: float) -> float:
        y, z, total = [0.0, 0.0], [0.0, 0.0], 0.0
        for _ in range(steps):
            for q, w in enumerate((-size, -1.0)):
                z[q] -= (math.tanh(w * y[q] + (y[0] if q else b)) + y[q]) / 20
                y[q] += z[q] / 20
            total += (y[1] - 1) ** 2 / 2 / steps
        return total

    quotient = (energy(1e-4) - energy(-1e-4)) / 2e-4
    found = sum(float(c) * size**k for k, c in enumerate(coefficients))
    assert found == pytest.approx(-quotient, rel=1e-6) and found > 0


@pytest.mark.parametrize("name", ["SAM_41", "SAM_13", "ICML_MAIN", "ICML_14"])
@pytest.mark.parametrize("top", ["-7/2", "1/3"])
def test_forms_in_floats_are_those_in_balls_where_the_weight_decides_and_a_connection_is_weak(
    name: str, top: str
) -> None:
    form = replace(getattr(gradient_bounds, name), factor=Q(3, 5))
    p = {"alpha": "1/2", "dt": "2/3", "N": "6", "layer": "2", "w": f"-3 {top}", "V": "1/4 2", "target": "2"}
    free = {k: torch.tensor([[float(Q(x)) for x in p[k].split()]], dtype=torch.float64) for k in ("w", "V", "target")}
    with flint.ctx.workprec(128):
        made: dict[str, Any] = {k: [BALLS.exact(Q(x)) for x in v.split()] for k, v in p.items()}
        ball = form.ball(SimpleNamespace(**{k: v if k in LISTS else v[0] for k, v in made.items()}))
        expected = float(ball.log().mid())
    assert float(top_layer_gradients._float_form(form, free, 0.5, 2 / 3, 6)[0]) == pytest.approx(expected, rel=1e-10)


def _gradient_bounds_by_hand(
    alpha: float, dt: float, N: int, layer: int, m: float, w: float, V: list[float], y: float
) -> dict[str, float]:
    """The right sides of sam (13) and (41), icml (12) and S(14), sam (69) and icml S(42), in floats."""
    L, T = len(V), N * dt
    step, rate = 1 + 2 * alpha * dt**3, 96**0.25 * max(1.0, math.sqrt(alpha))
    beta, K = max(1 + 2 * alpha, 4 * alpha**2), max(2.0, abs(w) + alpha)
    linear, sums = 1 + 2 * (K + K**2 / 2) * T, (1 - dt**L) / (1 - dt)
    widths, one_step = math.prod(max(1.0, abs(v)) for v in V), dt ** (L - layer + 1)

    def grown(z: float, of_y: float, F: float) -> float:
        """Vbar (Ybar + F) Delta, F and the last term of Delta without 1/√α."""
        return widths * (y + F / math.sqrt(alpha)) * (2 + z + (2 + alpha) * of_y / math.sqrt(alpha))

    at_one, at_T = math.sqrt(2 * m * step) * math.exp(rate), math.sqrt(2 * m * T * step * math.exp(rate * T))
    icml = math.sqrt(2 * (1 + 2 * beta * T))
    return {
        "SAM_13": sums * math.exp(K) * grown(at_one, at_one, at_one),
        "SAM_41": sums * T * math.exp(K * T) * grown(at_T, at_T, at_T),
        "ICML_MAIN": sums * T * linear * grown(icml, icml, icml),
        "ICML_14": sums * T * linear * grown(icml / math.sqrt(2), icml, icml),
        "SAM_69": one_step * math.exp(K * T) * grown(at_T, at_T, at_T),
        "ICML_42": one_step * linear * grown(icml / math.sqrt(2), icml, icml),
    }


@pytest.mark.parametrize("name", ["SAM_13", "SAM_41", "ICML_MAIN", "ICML_14", "SAM_69", "ICML_42"])
@pytest.mark.parametrize(("alpha", "w"), [(Q(3), Q(-1, 2)), (Q(1, 4), Q(1))])
def test_the_printed_gradient_bounds_are_those_typed_by_hand(name: str, alpha: Q, w: Q) -> None:
    dt, N, layer, m, V, y = (
        Q(1, 10),
        15,
        2,
        Q(2),
        [Q(3), Q(1, 2), Q(-2)],
        Q(5, 2),
    )
    expected = _gradient_bounds_by_hand(
        float(alpha), float(dt), N, layer, float(m), float(w), [float(v) for v in V], float(y)
    )[name]
    form = getattr(gradient_forms, name)
    given = {"alpha": [alpha], "dt": [dt], "N": [Q(N)], "layer": [Q(layer)], "m": [m]}
    given |= {"w": [Q(9), Q(7), w], "V": V, "target": [y, -y / 2]}
    lists = ("w", "V", "target")
    balls = {k: [BALLS.exact(x) for x in v] for k, v in given.items()}
    found = form.ball(SimpleNamespace(**{k: v if k in lists else v[0] for k, v in balls.items()}))
    assert float(found.mid()) == pytest.approx(expected, rel=1e-12)
    texts = {k: " ".join(map(str, v)) for k, v in given.items()}
    intervals = {k: [second.number(word) for word in text.split()] for k, text in texts.items()}
    again = form.interval(SimpleNamespace(texts=texts, **{k: v if k in lists else v[0] for k, v in intervals.items()}))
    assert float(again.mid) == pytest.approx(expected, rel=1e-12)
