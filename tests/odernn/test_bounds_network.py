"""``certify``: its numbers are the theorems at the network's own weights, finite everywhere, and never exceeded."""

from __future__ import annotations

import copy
import itertools
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest
import torch

import odernn.bounds
from odernn.bounds import NetworkBounds, _network_states, certify, forms, gradient, jacobian, reconstruction, sharp
from odernn.bounds._network_states import ALLOWANCE, computed_state_logs, exact_state_logs
from odernn.bounds._network_text import power_of
from odernn.bounds._network_weights import weights_of
from odernn.bounds.gradient import StackLayer
from odernn.bounds.numbers import BALLS
from odernn.bounds.reconstruction import PRECISIONS
from odernn.cells.cornn import CoRNN
from odernn.cells.unicornn import UnICORNN
from odernn.published import ROWS


def network_of(*, scale: float = 1.0, seed: int = 0, **options: Any) -> UnICORNN:
    generator = torch.Generator().manual_seed(seed)
    arguments: dict[str, Any] = {"dt": 0.1, "alpha": 2.0, "dtype": torch.float64} | options
    network = UnICORNN(2, 4, arguments.pop("num_layers", 2), generator=generator, **arguments)
    with torch.no_grad():
        for layer in network.layers:
            layer.w.copy_(scale * torch.randn(4, generator=generator))
            if layer.b is not None:
                layer.b.copy_(torch.randn(4, generator=generator))
    return network


def numbers_of(report: NetworkBounds) -> list[float]:
    found: list[float | None] = []
    for layer in report.layers:
        found += [layer.log_position, layer.log_momentum, *layer.log_positions, *layer.log_momenta]
        found += [bound.value for bound in layer.gradients.values()]
        found += [layer.log_rebuilt_position, layer.log_rebuilt_momentum, layer.estimated_log_rebuilt]
        found += [layer.lower_rate, layer.upper_rate, *layer.step_sizes]
    return [value for value in found if value is not None]


# --- what it says ----------------------------------------------------------------------------------------------------


def test_state_bounds_are_the_suprema_of_each_neuron_and_barely_rounded_up():
    network = network_of(alpha=[0.0, 30.0], dt=[0.2, 0.9])
    report = certify(network, input_bound=1.0, steps=50)
    for index, layer in enumerate(report.layers):
        h = network.coefficients(index)["step_size"].detach().double().numpy()
        for quantity, logs in (("position", layer.log_positions), ("momentum", layer.log_momenta)):
            alpha = float(network.alpha[index])
            exact = sharp.log_supremum_at(alpha=alpha, step_size=h, steps=50, quantity=quantity)
            excess = np.array(logs) - exact
            assert (excess > 0).all() and (excess < 1e-10 * (1 + np.abs(exact))).all()
        assert layer.log_position == max(layer.log_positions)


def test_state_bounds_do_not_depend_on_the_input_and_gradient_bounds_do_where_they_must():
    network = network_of()
    small, large = (certify(network, input_bound=U, steps=30) for U in (0.01, 100.0))
    for a, b in zip(small.layers, large.layers, strict=True):
        assert a.log_positions == b.log_positions and a.log_momenta == b.log_momenta
    assert large.layers[0].gradients["V"].value == pytest.approx(small.layers[0].gradients["V"].value + math.log(1e4))
    assert large.layers[1].gradients["V"].value == small.layers[1].gradients["V"].value


def test_the_gradient_bound_is_the_smallest_of_both_theorems_at_every_choice():
    network = network_of(num_layers=3, residual_skip=2, scale=3.0)
    steps = 40
    report = certify(network, input_bound=1.0, steps=steps, target_bound=0.5)
    weights = weights_of(network)
    states = [gradient.input_logs(1.0, 2), *(exact_state_logs(layer, steps) for layer in weights.stack)]
    chosen = [
        forms.best_form(kappa_low=layer.alpha + np.minimum(layer.w, 0), kappa_high=layer.alpha + np.maximum(layer.w, 0),
                        step_size=layer.step_size) for layer in weights.stack
    ]  # fmt: skip
    for constants in (
        gradient.invariant_constants(weights.stack, states, chosen), gradient.maximum_constants(weights.stack, states)
    ):  # fmt: skip
        for layer in report.layers:
            for name, bound in layer.gradients.items():
                other = gradient.log_gradient_bound(
                    constants, source=layer.layer, parameter=name, outputs=4, steps=steps,
                    log_error=gradient.log_error_bound(states[-1], 0.5),
                )  # fmt: skip
                assert bound.value <= float(other) + 1e-6
                assert bound.theorem in ("thm-G", "thm-G-inf")
    assert set(report.layers[2].gradients) == {"w", "b", "c", "V", "Lambda"}
    assert set(report.layers[0].gradients) == {"w", "b", "c", "V"}


def test_over_one_step_the_maximum_norm_can_be_the_smaller():
    found = {
        bound.theorem
        for seed in range(6)
        for layer in certify(network_of(seed=seed, dt=0.02, scale=0.1), input_bound=1.0, steps=40).layers
        for bound in layer.gradients.values()
    }
    assert "thm-G" in found
    # with a = 2/h² the invariant form costs a rate of about one a step; over one step that is nothing
    assert found <= {"thm-G", "thm-G-inf"}


def test_parameters_that_do_not_exist_have_no_bound():
    report = certify(network_of(bias=False, multiscale=False), input_bound=1.0, steps=5)
    assert set(report.layers[0].gradients) == {"w", "V"}


def test_regimes_and_rates_are_those_of_the_neurons():
    network = network_of(num_layers=1, alpha=2.0, dt=0.9, multiscale=False)
    with torch.no_grad():
        network.layers[0].w.copy_(torch.tensor([1.0, -2.0, -6.0, 9.0]))
    layer = certify(network, input_bound=1.0, steps=10).layers[0]
    assert layer.neuron_regimes == ("rotating", "marginal", "saddle", "stiff")
    assert layer.regimes == {"rotating": 1, "marginal": 1, "saddle": 1, "stiff": 1}
    saddle = float(jacobian.constant_rate(kappa=-4.0, step_size=0.9))
    stiff = float(jacobian.constant_rate(kappa=11.0, step_size=0.9))
    assert layer.lower_rate == pytest.approx(max(saddle, stiff))
    assert layer.lower_rate <= layer.upper_rate


def test_a_wider_precision_rebuilds_better_and_the_estimate_is_below_the_bound():
    network = network_of(num_layers=3, scale=0.5).float()
    reports = [certify(each, input_bound=1.0, steps=300) for each in (network, copy.deepcopy(network).double())]
    for narrow, wide in zip(*(report.layers for report in reports), strict=True):
        assert narrow.log_rebuilt_position is not None and wide.log_rebuilt_position is not None
        assert narrow.log_rebuilt_position - wide.log_rebuilt_position == pytest.approx(29 * math.log(2), abs=0.1)
        assert narrow.estimated_log_rebuilt is not None
        assert narrow.estimated_log_rebuilt < narrow.log_rebuilt_momentum
    undamped = certify(network_of(alpha=0.0), input_bound=1.0, steps=30).layers[0]
    assert undamped.estimated_log_rebuilt is None and undamped.log_rebuilt_position is not None


def test_the_estimate_takes_a_measured_energy():
    network = network_of(num_layers=1, scale=0.5)
    typical, largest = (certify(network, input_bound=1.0, steps=64, rms_energy=e).layers[0] for e in (0.1, None))
    assert typical.estimated_log_rebuilt == pytest.approx(
        math.log(0.6006 * 2.0**-53 * 8 * 0.1), abs=1e-3
    )
    assert largest.estimated_log_rebuilt > typical.estimated_log_rebuilt


def test_a_frozen_neuron_and_one_that_overflows_are_reported():
    network = network_of(num_layers=1, dtype=torch.float32, alpha=40.0, dt=0.999)
    with torch.no_grad():
        network.layers[0].c.copy_(torch.tensor([-300.0, 30.0, 0.0, 0.0]))
    layer = certify(network, input_bound=1.0, steps=400).layers[0]
    assert layer.may_overflow and layer.step_sizes[0] == 2.0**-200
    assert layer.log_position > 88


# --- finite, fast, readable ------------------------------------------------------------------------------------------

CASES = list(itertools.product((0.0, 1e-12, 1.0, 40.0), (1e-6, 0.05, 0.999), (0.0, 1.0, -100.0, 1e8), (1, 200)))


@pytest.mark.parametrize(("dtype", "first"), [(torch.float32, 0), (torch.float64, 1)])
def test_every_logarithm_is_finite_however_extreme_the_network(dtype: torch.dtype, first: int):
    assert len(CASES) == 96
    for number, (alpha, dt, scale, steps) in enumerate(CASES):
        if number // 2 % 2 != first:
            continue
        network = network_of(
            alpha=alpha, dt=dt, scale=scale, num_layers=3, residual_skip=2 if number % 8 < 4 else None, dtype=dtype,
            index="sam" if number % 3 == 0 else "icml", multiscale=number % 5 != 0,
        )  # fmt: skip
        report = certify(network, input_bound=0.0 if number % 7 == 0 else 2.0, steps=steps, target_bound=0.0)
        assert all(math.isfinite(value) for value in numbers_of(report))
        for layer in report.layers:
            assert layer.lower_rate <= layer.upper_rate and sum(layer.regimes.values()) == 4
        assert len(str(report).splitlines()) > 8


@pytest.mark.parametrize("alpha", [0.0, 40.0])
def test_long_horizons_do_not_overflow(alpha: float):
    report = certify(network_of(alpha=alpha, dt=0.5, scale=20.0), input_bound=1.0, steps=10**5)
    assert all(math.isfinite(value) for value in numbers_of(report))


@pytest.mark.parametrize("name", [each.name for each in ROWS])
def test_the_printed_networks_are_certified(name: str):
    network = UnICORNN.from_paper(name, generator=torch.Generator().manual_seed(0))
    steps = min(next(each.steps for each in ROWS if each.name == name), 4000)
    report = certify(network, input_bound=1.0, steps=steps)
    assert all(math.isfinite(value) for value in numbers_of(report))
    expected = "marginal" if name in ("IMDB", "EigenWorms") else "rotating"
    assert {key for layer in report.layers for key in layer.regimes} == {expected}


def test_the_report_reads_as_two_tables():
    text = str(certify(network_of(dtype=torch.float32), input_bound=1.0, steps=100))
    assert text.startswith("UnICORNN, 2 layer(s) of 4 neurons, 100 steps, float32, |u| ≤ 1, |ȳ| ≤ 1.")
    assert "≈ marks an estimate" in text and "thm-G" in text and "inf" not in text.replace("thm-G-inf", "")
    assert power_of(None) == "–" and power_of(0.0) == "1" and power_of(1000.0) == "10^434.3"
    assert power_of(-20.0) == "10^-8.7" and power_of(math.log(123456.0)) == "1.23e+05"


def test_the_report_is_frozen():
    report = certify(network_of(), input_bound=1.0, steps=3)
    with pytest.raises(AttributeError):
        report.layers[0].log_position = 0.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        report.layers[0].gradients["w"] = None  # type: ignore[index]


# --- outward rounding ------------------------------------------------------------------------------------------------


def layer_of(alpha: float, h: list[float]) -> StackLayer:
    return StackLayer(w=np.zeros(len(h)), step_size=np.array(h), alpha=alpha, edges={}, names={})


@pytest.mark.parametrize("steps", [1, 7, 400])
def test_state_logarithms_are_upper_ends_against_balls(steps: int):
    for alpha in (0.0, 1e-9, 0.3, 16.0, 16.0 * (1 - 2**-40), 16.000001, 40.0, 1e5):
        h = [0.5, 0.3, 1e-5, 0.4999999]
        found = exact_state_logs(layer_of(alpha, h), steps)
        for i, step in enumerate(h):
            with flint.ctx.workprec(200 + 24 * steps):
                logs = sharp.log_suprema_at(
                    alpha=BALLS.exact(Fraction(alpha)), step_size=BALLS.exact(Fraction(step)), steps=steps,
                    numbers=BALLS,
                )  # fmt: skip
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
            layer = StackLayer(w=np.ones(3), step_size=h.double().numpy(), alpha=alpha, edges={}, names={})
            logs = computed_state_logs(layer, 60, precision)
            y = z = torch.zeros(1000, 3, dtype=dtype)
            for _ in range(60):
                x = 30 * torch.randn(1000, 3, generator=generator).sign().to(dtype)
                z = z - h * (torch.tanh(y + x) + alpha * y)
                y = y + h * z
            assert (y.double().abs().amax(0).log().numpy() <= logs.positions).all()
            assert (z.double().abs().amax(0).log().numpy() <= logs.momenta).all()


# --- refusals and imports --------------------------------------------------------------------------------------------


def test_arguments_are_checked():
    network = network_of()
    with pytest.raises(TypeError, match="network is a CoRNN, but"):
        certify(CoRNN(1, 2, dt=0.1, gamma=1.0, epsilon=1.0), input_bound=1.0, steps=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="bidirectional"):
        certify(network_of(bidirectional=True), input_bound=1.0, steps=3)
    for steps in (0, 2.5):
        with pytest.raises(ValueError, match="whole number of steps"):
            certify(network, input_bound=1.0, steps=steps)  # type: ignore[arg-type]
    for name, value in (("input_bound", -1.0), ("input_bound", math.inf), ("target_bound", math.nan)):
        with pytest.raises(ValueError, match=f"{name} is {value}"):
            certify(network, **({"input_bound": 1.0, "steps": 3} | {name: value}))
    with pytest.raises(ValueError, match="rms_energy is 0"):
        certify(network, input_bound=1.0, steps=3, rms_energy=0.0)
    with torch.no_grad():
        network.layers[1].V[0, 0] = math.nan
    with pytest.raises(ValueError, match=r"parameter layers\.1\.V has an entry that is not finite"):
        certify(network, input_bound=1.0, steps=3)


def test_the_package_offers_certify_lazily_and_without_torch():
    code = "import odernn.bounds.network, odernn.bounds.layers, sys\nassert 'torch' not in sys.modules"
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
    assert "certify" in dir(odernn.bounds) and callable(odernn.bounds.certify)
    with pytest.raises(AttributeError, match="no attribute 'certified'"):
        _ = odernn.bounds.certified  # type: ignore[attr-defined]


# --- what is added for rounding, typed again: too little would be no bound, too much would hide a worse formula -------


def _layer_of(h: np.ndarray, *, alpha: float, w: np.ndarray) -> StackLayer:
    return StackLayer(w=w, step_size=h, alpha=alpha, edges={}, names={})


def test_outward_adds_32_units_of_roundoff_of_everything_that_entered():
    found = _network_states.outward(-3.0, 5.0, np.array([-7.0, 1.0]))
    assert (found + 3.0).tolist() == [2.0**-48 * 16, 2.0**-48 * 10]
    assert _network_states.outward(2.0) - 2.0 == 3 * 2.0**-48


def test_the_conditioning_of_a_rate_is_its_formula():
    h, w, a = np.array([0.3, 0.5]), np.array([-2.0, 4.0]), np.array([5.0, 1.5])
    r = np.sqrt(a * (1 - a * h * h / 4))
    found = _network_states.conditioning(_layer_of(h, alpha=0.6, w=w), a)
    assert found == pytest.approx(1 + h * (np.abs(w) + 0.6 + a) / (2 * r), rel=1e-14)


def test_suprema_of_turning_neurons_are_widened_by_the_rounding_of_the_response(monkeypatch):
    """With a unit of roundoff so large that each of its terms counts, and one that leaves only the crude bound."""
    alpha, h, n = 7.0, np.array([0.05, 0.3, 0.7]), 12
    log_y, log_z = sharp.log_suprema_at(alpha=alpha, step_size=h, steps=n)
    p, q = np.exp(log_y) / h, np.exp(log_z) / h
    lost = n + 2 * q + 2 * h * alpha * p + h * q * q / p, n + q + 3 * h * alpha * p + alpha * p * p / q
    crude = np.log(h * h * n * (n + 1) / 2), np.log(h * n**2)
    for u in (2.0**-53, 1e-6, 1e-5):
        monkeypatch.setattr(_network_states, "ROUNDOFF", u)
        for found, log, each, limit in zip(
            _network_states._rotating_logs(alpha, h, n), (log_y, log_z), lost, crude, strict=True
        ):
            slack = 8 * u * each
            inside = np.where(slack < 0.01, np.minimum(log + 2 * slack, limit), limit)
            assert found - inside == pytest.approx(ALLOWANCE * (1 + np.abs(inside)), abs=1e-15)
    assert (slack < 0.01).any() and (slack >= 0.01).any()


def test_suprema_of_stiff_neurons_are_the_hyperbolic_formula_with_its_spread():
    alpha, h, n = 40.0, np.array([0.33, 0.5, 0.9]), 9
    mu = np.arccosh(alpha * h * h / 2 - 1)
    log_y = np.log(h * h * np.sinh(n * mu / 2) * np.sinh((n + 1) * mu / 2) / (np.sinh(mu / 2) * np.sinh(mu)))
    log_z = np.log(h * (np.sinh(n * mu / 2) / np.sinh(mu / 2)) ** 2)
    spread = 2 * n * mu + 4 * np.abs(np.log(np.sinh(mu / 2))) + np.abs(np.log(h))
    for found, log in zip(_network_states._stiff_logs(alpha, h, n), (log_y, log_z), strict=True):
        assert found == pytest.approx(log, abs=1e-10)
        room = found - log - ALLOWANCE * (1 + np.abs(log) + spread)  # what is left: μ rounded up by 16 units
        lift = 16 * 2.0**-53 * alpha * h * h / 4 / (2 * np.sinh(mu / 2) * np.cosh(mu / 2)) * 2 * n
        assert (np.abs(room) <= 3 * lift + 1e-14).all()
    steps = exact_state_logs(_layer_of(np.array([0.33, 0.01, 0.33]), alpha=40.0, w=np.zeros(3)), n)
    assert steps.positions[0] == steps.positions[2] != steps.positions[1]


def test_the_computed_states_are_bounded_in_the_better_of_two_forms():
    h, w, alpha, n = np.array([0.2, 0.45]), np.array([3.0, -1.0]), 1.7, 25
    layer, precision = _layer_of(h, alpha=alpha, w=w), PRECISIONS["bfloat16"]
    readings = []
    for a in (np.full(2, alpha), forms.form_within(rate=1 / n, kappa_low=alpha, kappa_high=alpha, step_size=h)):
        growth = reconstruction.state_growth(
            w=w, step_size=h, alpha=alpha, form=a, unit_roundoff=2.0**-8, underflow=2.0**-134
        )
        log = growth.log_after(n)
        log = log + ALLOWANCE * (
            65 + np.abs(log) + n * np.abs(growth.log_factor) + n * _network_states.conditioning(layer, a)
        )
        r = np.sqrt(a * (1 - a * h * h / 4))
        readings.append((log - np.log(r), log - np.log(r) + np.log(a) / 2))
    found = computed_state_logs(layer, n, precision)
    assert found.positions == pytest.approx(np.minimum(readings[0][0], readings[1][0]), abs=1e-14, rel=1e-14)
    assert found.momenta == pytest.approx(np.minimum(readings[0][1], readings[1][1]), abs=1e-14, rel=1e-14)
