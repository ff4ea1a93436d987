"""``certify`` of a UnICORNN: the theorems at the network's own weights, finite everywhere; what is refused."""

from __future__ import annotations

import copy
import itertools
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import odernn.bounds
from odernn.bounds import certify, forms, gradient, jacobian, sharp, switching
from odernn.bounds.network.report import power_of
from odernn.bounds.network.states import exact_state_logs
from odernn.bounds.network.weights import weights_of
from odernn.cells.unicornn import UnICORNN
from odernn.published.networks import ROWS
from tests.odernn.bounds.unicornn_again import network_of, numbers_of
from tests.tiers import only, slow, spread

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


def test_the_gradient_bound_is_no_larger_than_each_theorem_in_the_best_forms():
    network = network_of(num_layers=3, residual_skip=2, scale=3.0)
    steps = 40
    report = certify(network, input_bound=1.0, steps=steps, target_bound=0.5)
    weights = weights_of(network)
    states = [gradient.input_logs(1.0, 2), *(exact_state_logs(layer, steps) for layer in weights.stack)]
    chosen = [
        forms.best_form(
            kappa_low=layer.alpha + np.minimum(layer.w, 0),
            kappa_high=layer.alpha + np.maximum(layer.w, 0),
            step_size=layer.step_size,
        )
        for layer in weights.stack
    ]
    for constants in (
        gradient.invariant_constants(weights.stack, states, chosen),
        gradient.maximum_constants(weights.stack, states),
    ):
        for layer in report.layers:
            for name, bound in layer.gradients.items():
                other = gradient.log_gradient_bound(
                    constants,
                    source=layer.layer,
                    parameter=name,
                    outputs=4,
                    steps=steps,
                    log_error=gradient.log_error_bound(states[-1], 0.5),
                )
                assert bound.value <= float(other) + 1e-6
                assert bound.theorem in ("thm-G", "thm-G-turns", "thm-G-inf")
    assert set(report.layers[2].gradients) == {"w", "b", "c", "V", "Lambda"}
    assert set(report.layers[0].gradients) == {"w", "b", "c", "V"}


def resonant_share(slow: int, fast: int, steps: int) -> dict[str, float]:
    """log |dE_N/dθ| less its line in ``certify``, by autograd: the largest of inputs that stiffen the neuron in time.

    One neuron, κ = 1 + 4σ'(A): so many steps with A = ±200, then so many with A = 0, from each place in that word on;
    the sign changes every half turn, E_N = ½(y_N + sign y_N)².
    """
    bound, period = 300.0, slow + fast
    network = UnICORNN(1, 1, 1, dt=0.2, alpha=1.0, multiscale=False, dtype=torch.float64)
    layer = network.layers[0]
    with torch.no_grad():
        for weight, value in ((layer.w, 4.0), (layer.V, 1.0), (layer.b, 0.0)):
            weight.fill_(value)
    y, z, inputs = torch.zeros(period, dtype=torch.float64), torch.zeros(period, dtype=torch.float64), []
    for n in range(steps):
        count = torch.arange(period) + n
        half_turn, place = count // period, count % period
        A = torch.where(place < slow, 200.0 - 400.0 * (half_turn % 2), 0.0).double()
        inputs.append(A - 4.0 * y)
        z = z - 0.2 * (torch.tanh(A) + y)
        y = y + 0.2 * z
    x = torch.stack(inputs)[..., None]
    assert float(x.abs().max()) <= bound
    said = certify(network, input_bound=bound, steps=steps, target_bound=1.0).layers[0].gradients
    assert {each.theorem for each in said.values()} == {"thm-G-turns"}
    last = network(x)[0][-1, :, 0]
    errors = (last + last.detach().sign()) ** 2 / 2
    shares = {name: -math.inf for name in said}
    for error in errors:
        found = torch.autograd.grad(error, [getattr(layer, name) for name in said], retain_graph=True)
        for name, slope in zip(said, found, strict=True):
            shares[name] = max(shares[name], float(slope.abs().log()) - said[name].value)
    return shares


def test_no_gradient_of_a_neuron_in_resonance_exceeds_its_line():
    shares = resonant_share(6, 4, steps=400)
    assert max(shares.values()) <= 0
    assert shares["b"] > -6.5  # the line is e^36: states and all terms of its sum are not largest together


def test_a_line_of_three_quarters_of_the_rate_is_exceeded(monkeypatch: pytest.MonkeyPatch):
    """Of hλ, which is 31 in 400 steps."""
    plain = switching.ProductGrowth.of

    def slower(**ends: Any) -> switching.ProductGrowth:
        growth = plain(**ends)
        plainly, mirrored = ((0.75 * rate, low, high) for rate, low, high in growth.ways)
        return replace(growth, ways=(plainly, mirrored))

    monkeypatch.setattr(switching.ProductGrowth, "of", slower)
    assert max(resonant_share(6, 4, steps=400).values()) > 0


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
    assert typical.estimated_log_rebuilt == pytest.approx(math.log(0.6006 * 2.0**-53 * 8 * 0.1), abs=1e-3)
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


@pytest.mark.parametrize(
    ("dtype", "every_so_many"), [(torch.float64, 13), slow((torch.float64, 1)), slow((torch.float32, 1))]
)
def test_every_logarithm_is_finite_however_extreme_the_network(dtype: torch.dtype, every_so_many: int):
    assert len(CASES) == 96
    for number, (alpha, dt, scale, steps) in list(enumerate(CASES))[::every_so_many]:
        network = network_of(
            alpha=alpha,
            dt=dt,
            scale=scale,
            num_layers=3,
            residual_skip=2 if number % 8 < 4 else None,
            dtype=dtype,
            index="sam" if number % 3 == 0 else "icml",
            multiscale=number % 5 != 0,
        )
        report = certify(network, input_bound=0.0 if number % 7 == 0 else 2.0, steps=steps, target_bound=0.0)
        assert all(math.isfinite(value) for value in numbers_of(report))
        for layer in report.layers:
            assert layer.lower_rate <= layer.upper_rate and sum(layer.regimes.values()) == 4
        assert len(str(report).splitlines()) > 8


@pytest.mark.parametrize(("alpha", "steps"), only([(0.0, 10**5), (40.0, 10**5), (40.0, 10**4)], (40.0, 10**4)))
def test_long_horizons_do_not_overflow(alpha: float, steps: int):
    report = certify(network_of(alpha=alpha, dt=0.5, scale=20.0), input_bound=1.0, steps=steps)
    assert all(math.isfinite(value) for value in numbers_of(report))


@pytest.mark.parametrize("name", spread([each.name for each in ROWS], 1))
def test_the_printed_networks_are_certified(name: str):
    network = UnICORNN.from_paper(name, generator=torch.Generator().manual_seed(0))
    steps = min(next(each.steps for each in ROWS if each.name == name), 4000)
    report = certify(network, input_bound=1.0, steps=steps)
    assert all(math.isfinite(value) for value in numbers_of(report))
    expected = "marginal" if name in ("IMDB", "EigenWorms") else "rotating"
    assert {key for layer in report.layers for key in layer.regimes} == {expected}


def test_the_report_reads_as_a_table_and_sentences():
    text = str(certify(network_of(dtype=torch.float32), input_bound=1.0, steps=100))
    assert text.startswith("UnICORNN, 2 layer(s) of 4 neurons, 100 steps, float32, |u| ≤ 1, |ȳ| ≤ 1.")
    assert "≈ 10^-" in text and "thm-G" in text and "inf" not in text.replace("thm-G-inf", "")
    assert text.splitlines()[-1].startswith("layer 2: neurons: 4 rotating; steps h from 0.04")
    assert power_of(None) == "–" and power_of(0.0) == "1" and power_of(1000.0) == "10^434.3"
    assert power_of(-20.0) == "10^-8.6" and power_of(math.log(123456.0)) == "1.24e+05"


def test_the_lines_of_a_report_are_its_numbers():
    report = certify(network_of(alpha=[0.0, 2.0]), input_bound=1.0, steps=30)
    undamped, damped = report.layers
    assert len(undamped.bounds) + 1 == len(damped.bounds) == 11 + len(damped.gradients)
    for layer in report.layers:
        assert layer["|y_n|, n ≤ N"].log == layer.log_position and layer["|z_n|, n ≤ N"].log == layer.log_momentum
        assert layer["|ŷ_n| as computed"].log == max(layer.log_computed_positions or ())
        assert layer["|ẑ_n| as computed"].log == max(layer.log_computed_momenta or ())
        assert layer["|ỹ_0 − y_0| as rebuilt"].log == layer.log_rebuilt_position
        assert layer["|z̃_0 − z_0| as rebuilt"].log == layer.log_rebuilt_momentum
        for name, bound in layer.gradients.items():
            line = layer[f"|dE/dθ|, θ = {name}"]
            assert (line.log, line.theorem, line.about) == (bound.value, bound.theorem, "|u| ≤ U")
        rates = layer["growth of a neuron in a step"], layer["the same, from below"]
        assert [(rate.log, rate.sign) for rate in rates] == [(layer.upper_rate, "≤"), (layer.lower_rate, "≥")]
        growth, least = layer.bounds[-2:]
        assert (growth.log, growth.theorem) == (layer.growth.value, layer.growth.theorem)
        assert least.log == pytest.approx(29 * layer.lower_rate, rel=1e-9) and least.sign == "≥"
    estimate = damped["√Q of that error"]
    assert (estimate.log, estimate.sign) == (damped.estimated_log_rebuilt, "≈")
    coarse = certify(network_of(dtype=torch.float32, scale=1e8, dt=0.9), input_bound=1.0, steps=10)
    assert "the dtype is too coarse" in str(coarse)
    with pytest.raises(KeyError, match="no line about"):
        damped["|h_n|"]


def test_the_report_is_frozen():
    report = certify(network_of(), input_bound=1.0, steps=3)
    with pytest.raises(AttributeError):
        report.layers[0].log_position = 0.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        report.layers[0].gradients["w"] = None  # type: ignore[index]


# --- refusals and imports --------------------------------------------------------------------------------------------


def test_arguments_are_checked():
    network = network_of()
    with pytest.raises(TypeError, match="network is a Linear, but"):
        certify(torch.nn.Linear(1, 2), input_bound=1.0, steps=3)
    with pytest.raises(ValueError, match="bidirectional"):
        certify(network_of(bidirectional=True), input_bound=1.0, steps=3)
    for steps in (0, -1, 2.5, 20.0, np.float64(20), True, np.True_, torch.tensor(True), "20", None):
        with pytest.raises(ValueError, match=r"steps is .*whole number of steps.*at least 1"):
            certify(network, input_bound=1.0, steps=steps)  # type: ignore[arg-type]
    for name in ("input_bound", "target_bound", "rms_energy"):
        for value in ("1", True, [1.0, 2.0]):
            with pytest.raises(TypeError, match=rf"{name} is .*Give a number"):
                certify(network, **({"input_bound": 1.0, "steps": 3} | {name: value}))
        with pytest.raises(ValueError, match=f"{name} is beyond the range of float64"):
            certify(network, **({"input_bound": 1.0, "steps": 3} | {name: 10**400}))
    for name, value in (("input_bound", -1.0), ("input_bound", math.inf), ("target_bound", math.nan)):
        with pytest.raises(ValueError, match=f"{name} is {value}"):
            certify(network, **({"input_bound": 1.0, "steps": 3} | {name: value}))
    with pytest.raises(ValueError, match="rms_energy is 0"):
        certify(network, input_bound=1.0, steps=3, rms_energy=0.0)
    with torch.no_grad():
        network.layers[1].V[0, 0] = math.nan
    with pytest.raises(ValueError, match=r"parameter layers\.1\.V has an entry that is not finite"):
        certify(network, input_bound=1.0, steps=3)


@pytest.mark.parametrize("steps", [np.int64(20), np.uint8(20), torch.tensor(20)])
def test_integers_of_any_type_count_steps(steps: Any):
    network = network_of(num_layers=1)
    report, plain = (certify(network, input_bound=one, steps=n) for one, n in ((np.float32(1), steps), (1, 20)))
    assert type(report.steps) is int and type(report.input_bound) is float
    assert report.title == plain.title and numbers_of(report) == numbers_of(plain)


def test_the_package_offers_certify_lazily_and_without_torch():
    code = "import odernn.bounds.network, odernn.bounds.layers, sys\nassert 'torch' not in sys.modules"
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
    assert "certify" in dir(odernn.bounds) and callable(odernn.bounds.certify)
    with pytest.raises(AttributeError, match="no attribute 'certified'"):
        _ = odernn.bounds.certified  # type: ignore[attr-defined]
