"""What is added to bounds on states for rounding, typed again: too little is no bound, too much a worse formula."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch

from odernn.bounds import forms, reconstruction, sharp
from odernn.bounds.gradient import StackLayer
from odernn.bounds.network import states as state_bounds
from odernn.bounds.network.states import ALLOWANCE, computed_state_logs, exact_state_logs, invariant_state_logs
from odernn.bounds.network.weights import weights_of
from odernn.bounds.numbers import BALLS
from odernn.bounds.reconstruction import PRECISIONS
from tests.odernn.bounds.unicornn_again import WIDE, network_of


def layer_of(h: Sequence[float], *, alpha: float, w: Sequence[float] | None = None) -> StackLayer:
    weights = np.zeros(len(h)) if w is None else np.array(w)
    return StackLayer(w=weights, step_size=np.array(h), alpha=alpha, edges={}, names={})


@pytest.mark.parametrize("steps", [1, 7, 400])
def test_state_logarithms_are_upper_ends_against_balls(steps: int):
    for alpha in (0.0, 1e-9, 0.3, 16.0, 16.0 * (1 - 2**-40), 16.000001, 40.0, 1e5):
        h = [0.5, 0.3, 1e-5, 0.4999999]
        found = exact_state_logs(layer_of(h, alpha=alpha), steps)
        for i, step in enumerate(h):
            with flint.ctx.workprec(200 + 24 * steps):
                logs = sharp.log_suprema_at(
                    alpha=BALLS.exact(Fraction(alpha)),
                    step_size=BALLS.exact(Fraction(step)),
                    steps=steps,
                    numbers=BALLS,
                )
            for upper, exact in zip((found.positions[i], found.momenta[i]), logs, strict=True):
                assert 0 <= upper - float(exact.mid()) < 1e-6 * (1 + abs(upper))
                assert exact.rad() < 1e-20
    assert ALLOWANCE == 2.0**-48


def test_bounds_on_computed_states_hold_for_runs_in_low_precision():
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float64):
        precision = PRECISIONS[str(dtype).removeprefix("torch.")]
        for alpha in (0.0, 2.0, 15.0, 17.0):
            h = torch.tensor([0.5, 0.1, 0.01], dtype=dtype)
            layer = layer_of(h.tolist(), alpha=alpha, w=[1.0] * 3)
            logs = computed_state_logs(layer, 60, precision)
            y = z = torch.zeros(1000, 3, dtype=dtype)
            for _ in range(60):
                x = 30 * torch.randn(1000, 3, generator=generator).sign().to(dtype)
                z = z - h * (torch.tanh(y + x) + alpha * y)
                y = y + h * z
            assert (y.double().abs().amax(0).log().numpy() <= logs.positions).all()
            assert (z.double().abs().amax(0).log().numpy() <= logs.momenta).all()


def test_outward_adds_32_units_of_roundoff_of_everything_that_entered():
    found = state_bounds.outward(-3.0, 5.0, np.array([-7.0, 1.0]))
    assert (found + 3.0).tolist() == [2.0**-48 * 16, 2.0**-48 * 10]
    assert state_bounds.outward(2.0) - 2.0 == 3 * 2.0**-48


def test_the_conditioning_of_a_rate_is_its_formula():
    h, w, a = np.array([0.3, 0.5]), np.array([-2.0, 4.0]), np.array([5.0, 1.5])
    r = np.sqrt(a * (1 - a * h * h / 4))
    found = state_bounds.conditioning(layer_of(h, alpha=0.6, w=w), a)
    assert found == pytest.approx(1 + h * (np.abs(w) + 0.6 + a) / (2 * r), rel=1e-14)


def test_suprema_of_turning_neurons_are_widened_by_the_rounding_of_the_response(monkeypatch: pytest.MonkeyPatch):
    """With a unit of roundoff so large that each of its terms counts, and one that leaves only the crude bound."""
    alpha, h, n = 7.0, np.array([0.05, 0.3, 0.7]), 12
    log_y, log_z = sharp.log_suprema_at(alpha=alpha, step_size=h, steps=n)
    p, q = np.exp(log_y) / h, np.exp(log_z) / h
    lost = n + 2 * q + 2 * h * alpha * p + h * q * q / p, n + q + 3 * h * alpha * p + alpha * p * p / q
    crude = np.log(h * h * n * (n + 1) / 2), np.log(h * n**2)
    for u in (2.0**-53, 1e-6, 1e-5):
        monkeypatch.setattr(state_bounds, "ROUNDOFF", u)
        for found, log, each, limit in zip(
            state_bounds._rotating_logs(alpha, h, n), (log_y, log_z), lost, crude, strict=True
        ):
            slack = 8 * u * each
            inside = np.where(slack < 0.01, np.minimum(log + 2 * slack, limit), limit)
            assert found - inside == pytest.approx(ALLOWANCE * (1 + np.abs(inside)), abs=1e-15)
    assert (slack < 0.01).any() and (slack >= 0.01).any()


@pytest.mark.parametrize(("alpha", "steps"), [(0.0, 25), (0.0, 2), (1e-3, 60), (1.7, 25)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_computed_states_are_bounded_in_the_better_of_two_forms(
    wide_allowance: None, alpha: float, steps: int, dtype: str
):
    """In that of α, or without restoring force in the one that grows by e over all steps."""
    layer, precision = layer_of([0.2, 0.45], alpha=alpha, w=[3.0, -1.0]), PRECISIONS[dtype]
    u, underflow = {"float32": (2.0**-24, 2.0**-150), "bfloat16": (2.0**-8, 2.0**-134)}[dtype]
    ends = {"kappa_low": alpha, "kappa_high": alpha, "step_size": layer.step_size}
    positions, momenta = [], []
    for form in (forms.best_form(**ends), forms.form_within(rate=1 / steps, **ends)):
        growth = reconstruction.state_growth(
            w=layer.w, step_size=layer.step_size, alpha=alpha, form=form, unit_roundoff=u, underflow=underflow
        )
        rate, log = np.abs(growth.log_factor), growth.log_after(steps)
        root = np.sqrt(form * (1 - form * layer.step_size**2 / 4))
        lost = 1 + layer.step_size * (np.abs(layer.w) + alpha + form) / (2 * root)
        log = log + WIDE * (65 + np.abs(log) + steps * rate + steps * lost)
        positions.append(log - np.log(root))
        momenta.append(log - np.log(root / np.sqrt(form)))
    found = invariant_state_logs(layer, steps, precision)
    assert found.positions == pytest.approx(np.minimum(*positions), rel=1e-13)
    assert found.momenta == pytest.approx(np.minimum(*momenta), rel=1e-13)
    if alpha < 1e-2:
        assert (positions[1] < positions[0]).all()


def test_the_complement_of_the_logistic_function_has_the_sign_of_its_name():
    network = network_of(num_layers=1)
    c = torch.tensor([-3.0, -0.5, 0.25, 2.0], dtype=torch.float64)
    with torch.no_grad():
        network.layers[0].c.copy_(c)
        network.layers[0].b.copy_(torch.tensor([-1.0, 2.0, 0.0, -4.0]))
    weights = weights_of(network)
    assert weights.stack[0].complement == pytest.approx(1 / (1 + np.exp(c.numpy())), rel=1e-14)
    assert weights.biases[0].tolist() == [1.0, 2.0, 0.0, 4.0]
    assert weights.stack[0].step_size == pytest.approx(0.1 / (1 + np.exp(-c.numpy())), rel=1e-12)


def test_the_allowance_of_a_stiff_neuron_is_its_spread_and_mu_is_rounded_up(monkeypatch: pytest.MonkeyPatch):
    alpha, h, n = 40.0, np.array([0.33, 0.5, 0.9]), 9
    for roundoff, allowance in ((2.0**-53, WIDE), (1e-4, WIDE)):
        monkeypatch.setattr(state_bounds, "ROUNDOFF", roundoff)
        monkeypatch.setattr(state_bounds, "ALLOWANCE", allowance)
        x = np.arccosh(np.sqrt(alpha * h * h / 4 * (1 + 16 * roundoff)))
        logs = (
            np.log(h * h * np.sinh(n * x) * np.sinh((n + 1) * x) / (np.sinh(x) * np.sinh(2 * x))),
            np.log(h * np.sinh(n * x) ** 2 / np.sinh(x) ** 2),
        )
        spread = 4 * n * x + 4 * np.abs(np.log(np.sinh(x))) + np.abs(np.log(h))
        for found, log in zip(state_bounds._stiff_logs(alpha, h, n), logs, strict=True):
            assert found == pytest.approx(log + WIDE * (1 + np.abs(log) + spread), rel=1e-12)
    x = np.array([0.2, 3.0, 50.0])
    assert state_bounds._log_sinh(x) == pytest.approx(np.log(np.sinh(x)), rel=1e-12)


def test_neurons_of_one_step_have_one_bound_and_keep_their_places():
    steps = exact_state_logs(layer_of([0.33, 0.01, 0.33], alpha=40.0), 9)
    assert steps.positions[0] == steps.positions[2] > steps.positions[1]


def test_neurons_count_as_stiff_from_four_less_four_units(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(state_bounds, "_stiff_logs", lambda alpha, h, steps: (0 * h + 1, 0 * h + 2))
    monkeypatch.setattr(state_bounds, "_rotating_logs", lambda alpha, h, steps: (0 * h + 3, 0 * h + 4))
    edge = 4 * (1 - 2.0**-50)
    alphas = edge, np.nextafter(edge, 0), np.nextafter(edge, 5), 4.0, 3.9, 4.5
    found = [exact_state_logs(layer_of([1.0], alpha=float(a)), 5) for a in alphas]
    assert [float(each.positions[0]) for each in found] == [1, 3, 1, 1, 3, 1]
    assert [float(each.momenta[0]) for each in found] == [2, 4, 2, 2, 4, 2]
