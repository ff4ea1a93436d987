"""``certify``: its numbers are the theorems at the network's own weights, finite everywhere, and never exceeded."""

from __future__ import annotations

import copy
import itertools
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest
import torch

import odernn.bounds
from odernn.bounds import NetworkBounds, certify, forms, gradient, jacobian, reconstruction, sharp, switching, words
from odernn.bounds.gradient import LayerConstants, StackLayer, StateLogs
from odernn.bounds.network import LogBound
from odernn.bounds.network import states as state_bounds
from odernn.bounds.network import unicornn as certification
from odernn.bounds.network.question import Question
from odernn.bounds.network.report import power_of
from odernn.bounds.network.states import ALLOWANCE, computed_state_logs, exact_state_logs, invariant_state_logs
from odernn.bounds.network.weights import NetworkWeights, weights_of
from odernn.bounds.numbers import BALLS
from odernn.bounds.reconstruction import PRECISIONS
from odernn.cells.unicornn import UnICORNN
from odernn.published.networks import ROWS
from tests.tiers import only, slow, spread


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
        found += [*(layer.log_computed_positions or ()), *(layer.log_computed_momenta or ())]
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
            layer = StackLayer(w=np.ones(3), step_size=h.double().numpy(), alpha=alpha, edges={}, names={})
            logs = computed_state_logs(layer, 60, precision)
            y = z = torch.zeros(1000, 3, dtype=dtype)
            for _ in range(60):
                x = 30 * torch.randn(1000, 3, generator=generator).sign().to(dtype)
                z = z - h * (torch.tanh(y + x) + alpha * y)
                y = y + h * z
            assert (y.double().abs().amax(0).log().numpy() <= logs.positions).all()
            assert (z.double().abs().amax(0).log().numpy() <= logs.momenta).all()


# --- growth of a change over all steps


@pytest.mark.parametrize(
    ("alpha", "dt", "scale", "theorem"),
    [
        (9.0, 0.1, 2.0, "thm-J (f)"),  # resonance
        (5.0, 0.6, 1.0, "thm-J (f)"),
        (0.3, 0.2, -1.0, "thm-J (b)"),  # a saddle
        (0.0, 0.4, -0.5, "thm-J (b)"),
        (2.0, 0.9, 6.0, "thm-J (b)"),  # stiff
    ],
)
@pytest.mark.parametrize("steps", [1, 2, 30, 200])
def test_no_drive_makes_a_change_grow_more_than_is_said(
    alpha: float, dt: float, scale: float, theorem: str, steps: int
):
    """By automatic differentiation of the layer's own step, under drives that put tanh' at 1 or 0 as a search tells.

    Words of p slow and q fast steps, and what grows most from every direction; the line from below is met by some.
    """
    network = network_of(num_layers=1, alpha=alpha, dt=dt, dtype=torch.float64)
    layer = network.layers[0]
    with torch.no_grad():
        layer.w.copy_(scale * torch.tensor([1.0, 0.7, 0.3, 0.05]))
        layer.c.fill_(5.0)
    report = certify(network, input_bound=1.0, steps=steps).layers[0]
    h, w = (network.coefficients(0)[name].detach().double().numpy() for name in ("step_size", "w"))
    worst = 0.0
    for neuron in range(4):
        letters = [_slope_step(network, neuron, slope) for slope in (0.0, 1.0)]
        for J, slope in zip(letters, (0.0, 1.0), strict=True):
            kappa, s = alpha + w[neuron] * slope, h[neuron]
            np.testing.assert_allclose(J, [[1 - s * s * kappa, s], [-s * kappa, 1]], atol=1e-9)
        products = [
            _word(letters, p, q, start, steps - 1)
            for p, q in itertools.product((1, 2, 5, 8, 14, 22), repeat=2)
            for start in (0, p)
        ]
        products += [_word(letters, 0, 1, 0, steps - 1), _word(letters, 1, 0, 0, steps - 1)]
        ends = {"kappa_low": alpha + min(w[neuron], 0), "kappa_high": alpha + max(w[neuron], 0)}
        p, q, _ = words.best_word(**ends, step_size=float(h[neuron]))
        in_order = letters if w[neuron] > 0 else letters[::-1]
        products += [_word(in_order, p, q, start, steps - 1) for start in range(p + q)]
        products += [_climb(letters, angle, steps - 1) for angle in np.linspace(0, math.pi, 12, endpoint=False)]
        worst = max(worst, *(float(np.linalg.norm(product, 2)) for product in products))
    upper, lower = report.growth.value, report.bounds[-1].log
    assert lower is not None and lower - 1e-9 <= math.log(worst) <= upper
    assert report.growth.theorem == theorem or steps < 200
    assert steps > 1 or (worst, upper) == (1.0, 0.0)


def _slope_step(network: UnICORNN, neuron: int, slope: float) -> np.ndarray:
    """∂(y, z)_n/∂(y, z)_{n−1} of one neuron, by the layer itself at a state and a drive that give this tanh'."""
    layer = network.layers[0]
    state = torch.tensor([0.3, -0.2], dtype=torch.float64)

    def after(x: torch.Tensor) -> torch.Tensor:
        y, z = torch.zeros(1, 1, 4, dtype=torch.float64), torch.zeros(1, 1, 4, dtype=torch.float64)
        y, z = (
            block.index_put((torch.tensor(0), torch.tensor(0), torch.tensor(neuron)), x[i])
            for i, block in enumerate((y, z))
        )
        _, (new_y, new_z) = network(u, (y, z))
        return torch.stack((new_y[0, 0, neuron], new_z[0, 0, neuron]))

    with torch.no_grad():
        wanted = -float(layer.w[neuron]) * 0.3 - float(layer.b[neuron]) + (0.0 if slope == 1.0 else 40.0)
        V = layer.V[neuron].double()
        u = (wanted * V / (V @ V)).reshape(1, 1, -1)
    found: np.ndarray = torch.autograd.functional.jacobian(after, state).numpy()
    return found


def _word(letters: list[np.ndarray], p: int, q: int, start: int, count: int) -> np.ndarray:
    product = np.eye(2)
    for n in range(count):
        product = letters[int((start + n) % (p + q) >= p)] @ product
    return product


def _climb(letters: list[np.ndarray], angle: float, count: int) -> np.ndarray:
    v, product = np.array([math.cos(angle), math.sin(angle)]), np.eye(2)
    for _ in range(count):
        letter = max(letters, key=lambda J, v=v: float(np.linalg.norm(J @ v)))  # type: ignore[misc]
        v, product = letter @ v, letter @ product
    return product


def test_growth_is_the_smaller_bound_of_the_neuron_that_grows_most(wide_allowance: None):
    network, steps = network_of(num_layers=1, alpha=9.0, dt=0.1, scale=2.0), 60
    layer = weights_of(network).stack[0]
    ends, worst = ends_of(layer), -math.inf
    for i in range(4):
        one = {name: float(value[i]) for name, value in ends.items()}
        best = float(forms.best_form(**one))
        tried = []
        for share in range(9):
            form = best ** (share / 8)
            condition = math.log(
                np.linalg.cond(
                    np.linalg.cholesky([[form, -form * one["step_size"] / 2], [-form * one["step_size"] / 2, 1.0]])
                )
            )
            root = math.sqrt(form * (1 - form * one["step_size"] ** 2 / 4))
            lost = (steps - 1) * (1 + one["step_size"] * (abs(layer.w[i]) + layer.alpha + form) / (2 * root))
            by_step = (steps - 1) * float(jacobian.rate_bound(**one, form=form))
            tried.append(up(by_step + condition, by_step, lost, condition))
            switched = float(switching.log_product_bound(**one, form=form, steps=steps - 1))
            if math.isfinite(switched):
                tried.append(up(switched + condition, lost))
        worst = max(worst, min(tried))
    assert certify(network, input_bound=1.0, steps=steps).layers[0].growth.value == pytest.approx(worst, rel=1e-9)


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


# --- what is added for rounding, typed again: too little would be no bound, too much would hide a worse formula -------


def _layer_of(h: np.ndarray, *, alpha: float, w: np.ndarray) -> StackLayer:
    return StackLayer(w=w, step_size=h, alpha=alpha, edges={}, names={})


def test_outward_adds_32_units_of_roundoff_of_everything_that_entered():
    found = state_bounds.outward(-3.0, 5.0, np.array([-7.0, 1.0]))
    assert (found + 3.0).tolist() == [2.0**-48 * 16, 2.0**-48 * 10]
    assert state_bounds.outward(2.0) - 2.0 == 3 * 2.0**-48


def test_the_conditioning_of_a_rate_is_its_formula():
    h, w, a = np.array([0.3, 0.5]), np.array([-2.0, 4.0]), np.array([5.0, 1.5])
    r = np.sqrt(a * (1 - a * h * h / 4))
    found = state_bounds.conditioning(_layer_of(h, alpha=0.6, w=w), a)
    assert found == pytest.approx(1 + h * (np.abs(w) + 0.6 + a) / (2 * r), rel=1e-14)


def test_suprema_of_turning_neurons_are_widened_by_the_rounding_of_the_response(monkeypatch):
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


def test_suprema_of_stiff_neurons_are_the_hyperbolic_formula_with_its_spread():
    alpha, h, n = 40.0, np.array([0.33, 0.5, 0.9]), 9
    mu = np.arccosh(alpha * h * h / 2 - 1)
    log_y = np.log(h * h * np.sinh(n * mu / 2) * np.sinh((n + 1) * mu / 2) / (np.sinh(mu / 2) * np.sinh(mu)))
    log_z = np.log(h * (np.sinh(n * mu / 2) / np.sinh(mu / 2)) ** 2)
    spread = 2 * n * mu + 4 * np.abs(np.log(np.sinh(mu / 2))) + np.abs(np.log(h))
    for found, log in zip(state_bounds._stiff_logs(alpha, h, n), (log_y, log_z), strict=True):
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
            65 + np.abs(log) + n * np.abs(growth.log_factor) + n * state_bounds.conditioning(layer, a)
        )
        r = np.sqrt(a * (1 - a * h * h / 4))
        readings.append((log - np.log(r), log - np.log(r) + np.log(a) / 2))
    found = invariant_state_logs(layer, n, precision)
    assert found.positions == pytest.approx(np.minimum(readings[0][0], readings[1][0]), abs=1e-14, rel=1e-14)
    assert found.momenta == pytest.approx(np.minimum(readings[0][1], readings[1][1]), abs=1e-14, rel=1e-14)


# --- certify, typed again: every choice that it makes, by trying all of them -----------------------------------------
#
# ALLOWANCE is 2⁻¹² here, so that a rounding allowance that is missing, doubled or of the wrong sign moves digits that
# are compared; with 2⁻⁴⁸ it would hide among the roundings of the test itself.

WIDE = 2.0**-12


@pytest.fixture
def wide_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_bounds, "ALLOWANCE", WIDE)


def up(log: float, *entered: Any) -> float:
    """A logarithm and its allowance."""
    return log + WIDE * (1 + abs(log) + sum(abs(each) for each in entered))


def ends_of(layer: StackLayer) -> dict[str, np.ndarray]:
    """α + w σ' at σ' = 0 and 1, in order."""
    return {
        "kappa_low": np.array([min(layer.alpha, layer.alpha + w) for w in layer.w]),
        "kappa_high": np.array([max(layer.alpha, layer.alpha + w) for w in layer.w]),
        "step_size": layer.step_size,
    }


def forms_tried(stack: Sequence[StackLayer], used: Sequence[int], steps: int) -> list[list[np.ndarray]]:
    """For every growth that the run may have beyond the smallest, the forms nearest 2/h² that keep to it."""
    smallest = max(
        float(jacobian.rate_bound(**ends_of(stack[i]), form=forms.best_form(**ends_of(stack[i]))).max()) for i in used
    )
    rates = [smallest * (1 + 1e-12) + extra / steps for extra in (0, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)]
    return [[forms.form_within(rate=rate, **ends_of(layer)) for layer in stack] for rate in rates]


def lost_in(layer: StackLayer, form: np.ndarray) -> float:
    """The allowance for the rate of the worst neuron of a layer."""
    root = np.sqrt(form * (1 - form * layer.step_size**2 / 4))
    return WIDE * max(1 + layer.step_size * (abs(layer.w) + layer.alpha + form) / (2 * root))


def invariant_again(stack: Any, states: Any, chosen: Any) -> list[LayerConstants]:
    found = gradient.invariant_constants(stack, states, chosen)
    return [replace(c, rate=c.rate + lost_in(*of)) for c, *of in zip(found, stack, chosen, strict=True)]


def gradients_again(weights: NetworkWeights, states: Any, steps: int, target_bound: float) -> list[dict[str, LogBound]]:
    """The bound of every candidate for every parameter in full, and the smallest of them with its allowance."""
    stack, error = weights.stack, float(gradient.log_error_bound(states[-1], target_bound))
    found = []
    for source in range(1, len(stack) + 1):
        tried = forms_tried(stack, range(source - 1, len(stack)), steps)
        candidates = [("thm-G", invariant_again(stack, states, chosen)) for chosen in tried]
        candidates += [("thm-G-inf", gradient.maximum_constants(stack, states))]
        layer, best = stack[source - 1], {}
        names = ["w", *layer.names.values(), *(["b"] if layer.has_bias else [])]
        for name in names + ([] if layer.complement is None else ["c"]):
            bounds = [
                float(
                    gradient.log_gradient_bound(
                        c, source=source, parameter=name, log_error=error, outputs=stack[-1].hidden_size, steps=steps
                    )
                )
                for _, c in candidates
            ]
            theorem, c = candidates[bounds.index(min(bounds))]
            climbs = [log for each in c for log in each.log_climbs.values()]
            growth = steps * max(each.rate for each in c[source - 1 :])
            entered = steps, stack[-1].hidden_size, growth, error, c[-1].log_output, c[source - 1].log_direct[name]
            best[name] = LogBound(up(min(bounds), *entered, *climbs), theorem)
        found.append(best)
    return found


def rebuilt_again(weights: NetworkWeights, inputs: StateLogs, steps: int) -> list[tuple[float, float] | None]:
    """thm-F (a): for every layer the smallest over the choices of forms that the format allows."""
    u, nu = weights.precision.unit_roundoff, weights.precision.underflow
    found: list[tuple[float, float] | None] = []
    try:
        computed = [inputs, *(computed_state_logs(layer, steps, weights.precision) for layer in weights.stack)]
    except ValueError:
        return [None] * len(weights.stack)
    for top in range(1, len(weights.stack) + 1):
        stack, tried = weights.stack[:top], []
        for chosen in forms_tried(stack, range(top), steps):
            constants, noises = [], []
            exact = gradient.invariant_constants(stack, computed[: top + 1], chosen)
            try:
                for layer, bias, form, constant, state in zip(
                    stack, weights.biases, chosen, exact, computed[1:], strict=False
                ):
                    growth = reconstruction.error_growth(
                        w=layer.w,
                        step_size=layer.step_size,
                        alpha=layer.alpha,
                        form=form,
                        unit_roundoff=u,
                        underflow=nu,
                        log_position=state.positions,
                        log_momentum=state.momenta,
                    )
                    beyond = growth.log_factor - jacobian.rate_bound(**ends_of(layer), form=form)
                    k = 1 + sum(1 + matrix.shape[1] for matrix in layer.edges.values())
                    gamma = k * u / (1 - k * u)
                    drive = reconstruction.log_drive_noise(
                        edges=layer.edges,
                        bias=bias,
                        states=computed,
                        step_size=layer.step_size,
                        roundoff=gamma,
                        underflow=nu,
                    )
                    noise = max(np.log(np.exp(growth.log_noise) + np.exp(drive + beyond)))
                    wider = math.log(1 + gamma) + max(beyond) + lost_in(layer, form)
                    climbs = {level: log + wider for level, log in constant.log_climbs.items()}
                    rate = max(growth.log_factor) + lost_in(layer, form)
                    constants.append(replace(constant, rate=rate, log_climbs=climbs))
                    noises.append(up(noise, 64))
            except ValueError:
                continue
            rate = max(each.rate for each in constants)
            terms = [
                noise + gradient.log_route_path_sum(constants, source=q, target=top, rate=rate, steps=steps)
                for q, noise in enumerate(noises, 1)
            ]
            error = up(math.log(sum(math.exp(t - max(terms)) for t in terms)) + max(terms), steps, steps * rate, *terms)
            a, h = chosen[-1], stack[-1].step_size
            tilt = 1 - a * h * h / 4
            tried.append((error + max(np.log(1 / np.sqrt(a * tilt))), error + max(np.log(1 / np.sqrt(tilt)))))
        found.append((min(y for y, _ in tried), min(z for _, z in tried)) if tried else None)
    return found


def assert_certified_as_typed_again(
    network: UnICORNN, *, steps: int, input_bound: float, target_bound: float = 1.0
) -> NetworkBounds:
    report = certify(network, input_bound=input_bound, steps=steps, target_bound=target_bound)
    weights = weights_of(network)
    inputs = gradient.input_logs(input_bound, 2)
    states = [inputs, *(exact_state_logs(layer, steps) for layer in weights.stack)]
    gradients = gradients_again(weights, states, steps, target_bound)
    rebuilt = rebuilt_again(weights, inputs, steps)
    assert [found.layer for found in report.layers] == list(range(1, len(weights.stack) + 1))
    for found, layer, state, bounds, errors in zip(
        report.layers, weights.stack, states[1:], gradients, rebuilt, strict=True
    ):
        assert found.log_positions == tuple(state.positions) and found.log_momenta == tuple(state.momenta)
        assert (found.log_position, found.log_momentum) == (max(state.positions), max(state.momenta))
        assert found.gradients.keys() == bounds.keys()
        for name, bound in bounds.items():
            assert found.gradients[name].value == pytest.approx(bound.value, rel=1e-11, abs=1e-11)
            assert found.gradients[name].theorem == bound.theorem
        if errors is None:
            assert found.log_rebuilt_position is None and found.log_rebuilt_momentum is None
        else:
            assert (found.log_rebuilt_position, found.log_rebuilt_momentum) == pytest.approx(errors, rel=1e-11)
        form = forms.best_form(**ends_of(layer))
        conditioning = 1 + layer.step_size * (abs(layer.w) + layer.alpha + form) / (
            2 * jacobian.root(form=form, step_size=layer.step_size)
        )
        upper = jacobian.rate_bound(**ends_of(layer), form=form) + 4 * WIDE * conditioning
        upper = max(np.minimum(upper, switching.rate_bound(**ends_of(layer))))
        lower = max(
            max(
                jacobian.constant_rate(kappa=ends_of(layer)[end], step_size=layer.step_size).max()
                for end in ("kappa_low", "kappa_high")
            ),
            words.quarter_words(**ends_of(layer))[2].max(),
        )
        assert (found.lower_rate, found.upper_rate) == pytest.approx((lower, upper), rel=1e-12)
        assert found.step_sizes == (min(layer.step_size), max(layer.step_size))
        if set(found.neuron_regimes) == {"rotating"} and layer.alpha > 0:
            rms = max(layer.step_size) * steps / 3**0.5
            typical = 0.5 / math.log(2) ** 0.5 * weights.precision.unit_roundoff * steps**0.5 * rms
            assert found.estimated_log_rebuilt == pytest.approx(math.log(typical), rel=1e-12)
        else:
            assert found.estimated_log_rebuilt is None
    return report


def fastest(*, c: float = 10.0, **options: Any) -> UnICORNN:
    """Every h at almost the Δt that it may have."""
    network = network_of(**options)
    with torch.no_grad():
        for layer in network.layers:
            layer.c.fill_(c)
    return network


AGAIN: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"num_layers": 1, "alpha": 0.0}, {"steps": 1, "input_bound": 3.0}),
    ({"num_layers": 1, "alpha": 9.0, "scale": 0.3}, {"steps": 1000, "input_bound": 0.0, "target_bound": 0.0}),
    ({"num_layers": 1, "alpha": 0.1, "scale": 4.0, "dt": 0.9}, {"steps": 10, "input_bound": 1e3}),
    ({"num_layers": 2, "alpha": [2.0, 0.2], "scale": 2.0, "seed": 1}, {"steps": 100, "input_bound": 0.01}),
    (
        {"num_layers": 2, "alpha": [0.2, 7.0], "dt": [0.9, 0.4], "dtype": torch.float32},
        {"steps": 30, "input_bound": 1.0},
    ),
    ({"num_layers": 2, "bias": False, "multiscale": False, "dt": 0.02}, {"steps": 1, "input_bound": 2.0}),
    ({"num_layers": 3, "residual_skip": 2, "seed": 3, "scale": 0.5}, {"steps": 10, "input_bound": 1.0}),
    (
        {
            "num_layers": 3,
            "residual_skip": 2,
            "seed": 4,
            "scale": 6.0,
            "dtype": torch.float32,
            "alpha": [0.5, 3.0, 0.0],
        },
        {"steps": 40, "input_bound": 5.0, "target_bound": 9.0},
    ),
    ({"num_layers": 3, "seed": 5, "scale": 3e5, "dtype": torch.float32, "dt": 0.2}, {"steps": 3, "input_bound": 1.0}),
    ({"num_layers": 2, "scale": 1e8, "dt": 0.9, "dtype": torch.float32}, {"steps": 10, "input_bound": 1.0}),
)


def test_over_one_step_of_length_one_the_maximum_norm_is_best_for_c(wide_allowance: None):
    """1 + Ẑ = 2 in the maximum norm, and at least 2.3 in every invariant form."""
    report = assert_certified_as_typed_again(fastest(num_layers=1, alpha=0.0, dt=0.999), steps=1, input_bound=1.0)
    assert {name: bound.theorem for name, bound in report.layers[0].gradients.items()}["c"] == "thm-G-inf"
    assert report.layers[0].gradients["w"].theorem == "thm-G"


@pytest.mark.parametrize(("options", "arguments"), AGAIN)
def test_every_field_of_the_report_is_the_best_of_all_choices_typed_again(
    wide_allowance: None, options: dict[str, Any], arguments: dict[str, Any]
):
    assert_certified_as_typed_again(network_of(**options), **arguments)


def test_both_kinds_of_error_bound_occur_among_the_networks_typed_again():
    reports = [certify(network_of(**options), **arguments) for options, arguments in AGAIN]
    layers = [layer for report in reports for layer in report.layers]
    assert {layer.log_rebuilt_position is None for layer in layers} == {True, False}
    assert {layer.estimated_log_rebuilt is None for layer in layers} == {True, False}


# --- its parts, one by one, on numbers that make each term count ------------------------------------------------------

PLAIN = StackLayer(
    w=np.array([1.5, -3.0, 0.25]),
    step_size=np.array([0.3, 0.2, 0.6]),
    alpha=0.75,
    edges={0: np.array([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0]])},
    names={0: "V"},
)
UPPER = replace(
    PLAIN,
    w=np.array([2.0, 8.0]),
    step_size=np.array([0.5, 0.3]),
    alpha=2.5,
    edges={1: np.array([[0.1, 0.2, -0.7], [2.0, 1.0, 0.3]])},
    names={1: "V"},
)


def weights_with(*stack: StackLayer, precision: str = "float32") -> NetworkWeights:
    biases = tuple(np.full(layer.hidden_size, 0.5) for layer in stack)
    return NetworkWeights(stack=stack, biases=biases, precision=PRECISIONS[precision], input_size=2, index="icml")


def constants_of(rate: float, climbs: dict[int, float], output: float, direct: dict[str, float]) -> LayerConstants:
    return LayerConstants(rate=rate, log_climbs=climbs, log_output=output, log_direct=direct)


CHAIN = [
    constants_of(0.07, {0: 0.4}, 3.0, {"w": -1.0, "c": 0.6}),
    constants_of(0.02, {1: -0.8}, -2.0, {"w": 0.3, "c": -0.2}),
    constants_of(0.05, {2: 1.3, 1: 0.2}, 0.9, {"w": -0.4, "c": 2.0}),
]


def test_slopes_between_zero_and_one_leave_kappa_between_its_ends():
    for index, layer in enumerate((PLAIN, UPPER)):
        low, high = certification._ends(weights_with(PLAIN, UPPER), index)
        ends = ends_of(layer)
        assert low.tolist() == ends["kappa_low"].tolist() and high.tolist() == ends["kappa_high"].tolist()


@pytest.mark.parametrize(("used", "steps"), [((0,), 5), ((1,), 5), ((0, 1), 400), ((1, 0), 1)])
def test_forms_are_tried_for_every_growth_and_grow_no_more_than_it_allows(used: tuple[int, ...], steps: int):
    found = list(certification._form_choices(weights_with(PLAIN, UPPER), used, steps))
    expected = forms_tried((PLAIN, UPPER), used, steps)
    assert len(found) == len(expected) == 9
    for forms_found, forms_expected in zip(found, expected, strict=True):
        for a, b in zip(forms_found, forms_expected, strict=True):
            assert a.tolist() == b.tolist()


def test_rates_of_an_invariant_form_are_widened_by_the_worst_conditioning(wide_allowance: None):
    states = [gradient.input_logs(1.0, 2), *(exact_state_logs(layer, 9) for layer in (PLAIN, UPPER))]
    for chosen in forms_tried((PLAIN, UPPER), (0, 1), 9):
        found = certification._invariant(weights_with(PLAIN, UPPER), states, chosen)
        for a, b in zip(found, invariant_again((PLAIN, UPPER), states, chosen), strict=True):
            assert a.rate == pytest.approx(b.rate, rel=1e-13)
            assert (a.log_climbs, a.log_direct, a.log_output) == (b.log_climbs, b.log_direct, b.log_output)


def test_the_largest_rate_on_the_way_up_drives_all_paths():
    assert [certification._rate(CHAIN, source, 3) for source in (1, 2, 3)] == [0.07, 0.05, 0.05]
    assert certification._rate(CHAIN, 2, 2) == 0.02
    for source, target, steps in ((1, 3, 50), (2, 3, 7), (3, 3, 20), (1, 2, 1)):
        for rate in (0.0, 0.3):
            expected = gradient.log_route_path_sum(CHAIN, source=source, target=target, rate=rate, steps=steps)
            assert certification._path_sum(CHAIN, source, target, rate, steps) == pytest.approx(expected, abs=1e-12)
    for source, rate in ((1, 0.07), (2, 0.05)):
        expected = gradient.log_route_path_sum(CHAIN, source=source, target=3, rate=rate, steps=8) + 0.9
        assert certification._common(CHAIN, source, 8) == pytest.approx(expected, abs=1e-12)


def test_a_gradient_bound_is_widened_by_everything_that_entered_it(wide_allowance: None):
    for source, growth in ((1, 0.07), (2, 0.05)):
        direct = CHAIN[source - 1].log_direct["c"]
        log = gradient.log_gradient_bound(CHAIN, source=source, parameter="c", log_error=1.7, outputs=6, steps=11)
        expected = up(float(log), 11, 6, 11 * growth, 1.7, 0.9, direct, 0.4, -0.8, 1.3, 0.2)
        assert certification._final(CHAIN, source, "c", 1.7, 6, 11) == pytest.approx(expected, rel=1e-13)


def test_each_parameter_takes_the_candidate_whose_total_is_smallest(monkeypatch: pytest.MonkeyPatch):
    """Candidates are planted as (path and output, direct partial of w, of c); what decides is their sum alone."""
    shared = constants_of(0.0, {0: 0.0}, 0.0, {"w": 0.0, "c": 0.0})
    monkeypatch.setattr(certification, "_form_choices", lambda weights, used, steps: iter([[0], [1], [2]]))
    states = [gradient.input_logs(1.0, 2), exact_state_logs(PLAIN, 1)]
    rows: tuple[tuple[tuple[tuple[float, float, float], ...], tuple[int, int]], ...] = (
        (((0.0, 0.0, 3.0), (1.0, 0.5, 0.0), (9.0, 9.0, 9.0), (2.0, 2.0, 2.0)), (0, 1)),
        (((5.0, 0.0, -9.0), (2.0, 2.0, 0.0), (4.5, 0.1, 0.0), (4.2, -1.0, -2.0)), (3, 0)),
        (((3.0, 0.0, 0.0), (1.9, 1.0, 1.2), (0.0, 3.2, 2.9), (7.0, 7.0, -4.2)), (1, 3)),
        (((-3.0, 0.0, 1.0), (-2.0, -2.0, -1.0), (-4.0, 1.5, 3.0), (0.0, -3.9, -3.1)), (1, 3)),
    )
    for row, chosen in rows:
        planted = [[replace(shared, log_output=o, log_direct={"w": w, "c": c})] for o, w, c in row]
        monkeypatch.setattr(certification, "_invariant", lambda weights, states, choice, p=planted: p[choice[0]])
        monkeypatch.setattr(gradient, "maximum_constants", lambda stack, states, p=planted: p[3])
        (found,) = certification._gradients(weights_with(PLAIN), states, 1, 1.0)
        error = float(gradient.log_error_bound(states[1], 1.0))
        for name, place, which in zip("wc", (1, 2), chosen, strict=True):
            assert found[name].value == pytest.approx(error + row[which][0] + row[which][place], abs=1e-9)
            assert found[name].theorem == ("thm-G-inf" if which == 3 else "thm-G")
            assert min(each[0] + each[place] for each in row) == row[which][0] + row[which][place]


def test_the_largest_number_of_a_step_decides_whether_it_may_overflow():
    states = StateLogs(np.array([1.0, 4.0, -2.0]), np.array([2.0, 3.0, 1.0]))
    w, z = math.log(1 + 3.0 + 0.75), 9.0
    assert certification._largest_number(PLAIN, states) == pytest.approx(4 + w + 0.1, rel=1e-14)
    kicked = replace(states, momenta=np.array([2.0, 3.0, z]))
    assert certification._largest_number(PLAIN, kicked) == pytest.approx(9.1, rel=1e-14)
    weights, exact = weights_with(PLAIN), certification._largest_number(PLAIN, states)
    for limit, expected in ((exact * (1 + 1e-15), False), (exact, True), (exact * (1 - 1e-15), True), (1e3, False)):
        precise = replace(weights, precision=replace(weights.precision, log_largest=limit))
        assert certification._layer(precise, 0, states, None, {}, None, Question(5, 1.0)).may_overflow is expected


def test_a_lower_rate_never_exceeds_the_upper_one_whatever_was_lost_to_rounding(monkeypatch: pytest.MonkeyPatch):
    states = exact_state_logs(PLAIN, 5)
    monkeypatch.setattr(words, "quarter_words", lambda **ends: (None, None, np.full(3, 50.0)))
    found = certification._layer(weights_with(PLAIN), 0, states, None, {}, None, Question(5, 1.0))
    assert 0 < found.lower_rate == found.upper_rate < 50


@pytest.mark.parametrize("precision", ["bfloat16", "float16", "float32"])
def test_what_a_rebuilt_state_loses_is_typed_again(wide_allowance: None, precision: str):
    """In formats so coarse that every term of the rates, climbs and noises moves the digits that are compared."""
    first = replace(UPPER, edges={0: np.eye(2)})
    second = replace(PLAIN, edges={1: np.array([[3.0, 1.0], [0.2, 0.0], [-1.0, 5.0]])})
    stiff = replace(PLAIN, w=np.array([30.0]), step_size=np.array([0.5]), edges={0: np.array([[1.0, -2.0]])})
    stiffer = replace(stiff, w=np.array([-2.0]), alpha=20.0)  # κ₊ = α decides
    for stack in ((PLAIN,), (PLAIN, UPPER), (first, second), (stiff,), (stiffer,)):
        weights, inputs = weights_with(*stack, precision=precision), gradient.input_logs(2.0, 2)
        for steps in (1, 12):
            found = certification._rebuilt(weights, inputs, certification._computed(weights, steps), steps)
            for a, b in zip(found, rebuilt_again(weights, inputs, steps), strict=True):
                assert (a is None) == (b is None)
                if a is not None and b is not None:
                    assert (a.log_position, a.log_momentum) == pytest.approx(b, rel=1e-12)


@pytest.mark.parametrize(("alpha", "steps"), [(0.0, 25), (0.0, 2), (1e-3, 60), (1.7, 25)])
def test_computed_states_without_restoring_force_are_bounded_in_the_form_that_grows_by_e(
    wide_allowance: None, alpha: float, steps: int
):
    layer = _layer_of(np.array([0.2, 0.45]), alpha=alpha, w=np.array([3.0, -1.0]))
    ends = {"kappa_low": alpha, "kappa_high": alpha, "step_size": layer.step_size}
    positions, momenta = [], []
    for form in (forms.best_form(**ends), forms.form_within(rate=1 / steps, **ends)):
        growth = reconstruction.state_growth(
            w=layer.w, step_size=layer.step_size, alpha=alpha, form=form, unit_roundoff=2.0**-24, underflow=2.0**-150
        )
        rate, log = np.abs(growth.log_factor), growth.log_after(steps)
        root = np.sqrt(form * (1 - form * layer.step_size**2 / 4))
        lost = 1 + layer.step_size * (np.abs(layer.w) + alpha + form) / (2 * root)
        log = log + WIDE * (65 + np.abs(log) + steps * rate + steps * lost)
        positions.append(log - np.log(root))
        momenta.append(log - np.log(root / np.sqrt(form)))
    found = invariant_state_logs(layer, steps, PRECISIONS["float32"])
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


def test_neurons_count_as_stiff_from_four_less_four_units(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(state_bounds, "_stiff_logs", lambda alpha, h, steps: (0 * h + 1, 0 * h + 2))
    monkeypatch.setattr(state_bounds, "_rotating_logs", lambda alpha, h, steps: (0 * h + 3, 0 * h + 4))
    edge = 4 * (1 - 2.0**-50)
    alphas = edge, np.nextafter(edge, 0), np.nextafter(edge, 5), 4.0, 3.9, 4.5
    found = [exact_state_logs(_layer_of(np.ones(1), alpha=float(a), w=np.zeros(1)), 5) for a in alphas]
    assert [float(each.positions[0]) for each in found] == [1, 3, 1, 1, 3, 1]
    assert [float(each.momenta[0]) for each in found] == [2, 4, 2, 2, 4, 2]
