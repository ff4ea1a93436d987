"""What a monitor writes down is what numpy finds by other formulas, and the bounds beside it those of the papers."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from odernn import ExpRNN, ScoRNN, UnICORNN, executions
from odernn.bounds import forms
from tests.tiers import only
from tests.verification.monitors import written_again
from tests.verification.monitors.test_total_derivatives import called, loss, normal, traces_of
from verification.monitors import Measurement, measuring, quantities, unrolled
from verification.monitors import oscillators as oscillators_run_once
from verification.monitors.quantities import MeasuredLayer
from verification.monitors.unrolled import LayerTrace

F64 = torch.float64
CLOSE = 1e-11
"""Relative; float64 evaluations of at most 400 steps by different formulas, which differ by some thousand roundings."""
HERE = MeasuredLayer(1, "layer")


def oscillators(alpha: float = 1.5, dtype: torch.dtype = F64, **options: object) -> UnICORNN:
    network = UnICORNN(3, 4, 2, dt=0.4, alpha=alpha, dtype=dtype, generator=torch.Generator().manual_seed(1), **options)
    with torch.no_grad():
        for index, parameter in enumerate(network.parameters()):
            parameter.copy_(0.8 * normal(*parameter.shape, seed=20 + index))
        for layer in network.layers:
            layer.w.abs_()
    return network


def oscillators32() -> UnICORNN:
    return oscillators(dtype=torch.float32)


def measured(module: nn.Module, u: Tensor, **keywords: object) -> list[Measurement]:
    return list(measuring.measure(1, "", module, called(module, u, **keywords), scale=1.0))


def the(found: list[Measurement], layer: int, quantity: str, bound: str = "") -> Measurement:
    (one,) = [
        e for e in found if (e.quantity, e.bound) == (quantity, bound) and e.layer in (f"layers.{layer}", f"l{layer}")
    ]
    return one


def states(network: UnICORNN, u: Tensor) -> list[tuple[np.ndarray, np.ndarray]]:
    """(y, z) of every layer, (time, batch, hidden), from the loop that is written again."""
    found = written_again.unicornn(network, u, loss)[1]
    size = network.hidden_size
    return [(X[..., :size].numpy(), X[..., size:].numpy()) for X in found]


# --- states -----------------------------------------------------------------------------------------------------------


def test_the_largest_states_and_where_they_are():
    network, u = oscillators(), normal(30, 5, 3)
    found = measured(network, u)
    for layer, blocks in enumerate(states(network, u)):
        for name, rows in zip("yz", blocks, strict=True):
            each = the(found, layer, f"largest_{name}")
            n, sample, neuron = np.unravel_index(np.abs(rows).argmax(), rows.shape)
            assert (each.n, each.sample, each.neuron) == (n + 1, sample, neuron)
            assert each.value == pytest.approx(np.abs(rows).max(), rel=CLOSE)
            np.testing.assert_allclose(each.series, np.abs(rows).max((1, 2)), rtol=CLOSE)


def supremum(alpha: float, h: np.ndarray, steps: int, momentum: bool) -> np.ndarray:
    """thm-S by sines: h² Σ |sin jθ/sin θ|, h Σ |sin jθ − sin (j−1)θ|/sin θ, cos θ = 1 − αh²/2."""
    theta = np.arccos(1 - alpha * h * h / 2)
    j = np.arange(1, steps + 1)[:, None]
    if momentum:
        return h * (np.abs(np.sin(j * theta) - np.sin((j - 1) * theta)) / np.sin(theta)).sum(0)
    return h * h * np.abs(np.sin(j * theta) / np.sin(theta)).sum(0)


def test_bounds_on_states_are_those_of_the_papers_and_the_sharp_one():
    network, u = oscillators(alpha=1.5), normal(30, 5, 3)
    found = measured(network, u)
    steps, dt, alpha, m = 30, 0.4, 1.5, 4
    beta = max(1 + 2 * alpha, 4 * alpha**2)
    energy = 2 * m * steps * dt * (1 + 2 * alpha * dt**3) * math.exp(96**0.25 * max(1, alpha**0.5) * steps * dt)
    for layer, blocks in enumerate(states(network, u)):
        h = network.effective_steps()[layer].detach().numpy()
        for name, rows, divided in zip("yz", blocks, (alpha, 1.0), strict=True):
            each = the(found, layer, f"largest_{name}", "icml S(7)")
            ratios = np.abs(rows).max((1, 2)) / np.sqrt(2 / divided * (1 + 2 * beta * dt * np.arange(1, steps + 1)))
            assert each.n == ratios.argmax() + 1 and each.holds
            assert each.value / math.exp(each.log_bound) == pytest.approx(ratios.max(), rel=CLOSE)
            each = the(found, layer, f"norm_{name}", "sam (32)")
            assert each.value == pytest.approx(np.sqrt((rows**2).sum(2)).max(), rel=CLOSE)
            assert math.exp(each.log_bound) == pytest.approx(math.sqrt(energy / divided), rel=CLOSE)
            each = the(found, layer, f"largest_{name}", "thm-S")
            ratios = np.abs(rows).max((0, 1)) / supremum(alpha, h, steps, momentum=name == "z")
            assert each.neuron == ratios.argmax() and each.holds
            assert each.value / math.exp(each.log_bound) == pytest.approx(ratios.max(), rel=1e-9)  # rounded outward


def test_every_layer_and_direction_has_its_own_dt_and_alpha():
    dt, alpha, size = (0.2, 0.6), (0.5, 2.0), 4
    network = UnICORNN(3, size, 2, dt=dt, alpha=alpha, bidirectional=True, dtype=F64)
    found = measured(network, normal(9, 5, 3))
    for number, end in itertools.product(range(2), ("", "_reverse")):
        mine = {(e.quantity, e.bound): e for e in found if e.layer == f"layers.{number}{end}"}
        layer = network.layers[2 * number + (end != "")]
        h = dt[number] / (1 + np.exp(-layer.c.detach().numpy()))
        np.testing.assert_allclose(mine["effective_step", ""].series, h, rtol=CLOSE)
        w, beta = layer.w.detach().numpy(), max(1 + 2 * alpha[number], 4 * alpha[number] ** 2)
        np.testing.assert_allclose(mine["margin_to_saddle", "w > −α"].series, alpha[number] + w, rtol=CLOSE)
        each = mine["largest_z", "icml S(7)"]
        assert math.exp(each.log_bound) == pytest.approx(math.sqrt(2 * (1 + 2 * beta * dt[number] * each.n)), rel=CLOSE)
        each = mine["norm_z", "sam (32)"]
        rate, T = 96**0.25 * max(1.0, alpha[number] ** 0.5), 9 * dt[number]
        squared = 2 * size * T * (1 + 2 * alpha[number] * dt[number] ** 3) * math.exp(rate * T)
        assert math.exp(each.log_bound) == pytest.approx(math.sqrt(squared), rel=CLOSE)
        each = mine["largest_y", "thm-S"]
        assert math.exp(each.log_bound) == pytest.approx(supremum(alpha[number], h, 9, False)[each.neuron], rel=1e-9)


def test_without_restoring_force_the_bounds_are_others():
    found = measured(oscillators(alpha=0.0), normal(9, 5, 3))
    assert {e.bound for e in found if e.log_bound is not None} == {"sam (33)", "thm-S", "thm-J (b)"}
    assert all(each.holds for each in found if each.log_bound is not None)
    far = UnICORNN(3, 4, dt=0.5, alpha=0.0, dtype=F64)  # sam (33) is for dt < 1/2
    assert {e.bound for e in measured(far, normal(9, 5, 3)) if e.log_bound is not None} == {"thm-S", "thm-J (b)"}


def test_a_run_that_does_not_begin_at_zero_is_not_compared_with_bounds_for_zero():
    network = oscillators()
    state = (normal(2, 5, 4), normal(2, 5, 4))
    found = measured(network, normal(9, 5, 3), state=state)
    assert not any(each.bound in ("icml S(7)", "sam (32)", "thm-S") for each in found)
    assert the(found, 0, "largest_y").value > 0


@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_a_stiff_run_that_attains_its_supremum_is_within_the_allowance(dtype):
    steps, alpha, dt = 40, 9.0, 0.9  # αh² = 7.3: the response changes sign every step
    network = UnICORNN(1, 1, dt=dt, alpha=alpha, bias=False, multiscale=False, dtype=dtype)
    with torch.no_grad():
        network.layers[0].w.zero_()
        network.layers[0].V.fill_(1.0)
    u = torch.tensor([20.0 * (-1) ** n for n in range(steps)], dtype=dtype)[:, None, None]
    found = measured(network, u, read=lambda rows, last: rows.sum())
    for name in ("y", "z"):
        each = the(found, 0, f"largest_{name}", "thm-S")
        assert each.holds and each.value > 1e10
        assert each.value == pytest.approx(math.exp(each.log_bound), rel=40 * 64 * torch.finfo(dtype).eps + 1e-11)


@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_a_run_that_attains_the_supremum_is_within_the_allowance_and_one_above_it_is_not(dtype):
    steps, alpha, dt = 300, 2.0, 0.3
    network = UnICORNN(1, 1, dt=dt, alpha=alpha, bias=False, multiscale=False, dtype=dtype)
    with torch.no_grad():
        network.layers[0].w.zero_()
        network.layers[0].V.fill_(1.0)
    theta = math.acos(1 - alpha * dt * dt / 2)
    kicks = [-20.0 * math.copysign(1.0, math.sin((steps - n) * theta)) for n in range(steps)]  # tanh(20) is 1
    u = torch.tensor(kicks, dtype=dtype)[:, None, None]
    each = the(measured(network, u, read=lambda rows, last: rows.sum()), 0, "largest_y", "thm-S")
    assert each.n == steps and each.holds
    off = 300 * 8 * torch.finfo(dtype).eps + 1e-11  # roundings of the run; and the bound is rounded outward
    assert each.value == pytest.approx(math.exp(each.log_bound), rel=off)
    layer = quantities.oscillator(network, 0)
    sizes = {"y": np.array([[each.value]]), "z": np.array([[1.0]])}
    allowed = quantities.rounding_allowance(layer, sizes, steps, str(dtype).removeprefix("torch."))
    above = {"y": np.array([[math.exp(each.log_bound) + 3 * allowed["y"][0]]])}
    bounds = np.array([[each.log_bound]])
    (found,) = quantities._nearest(HERE, "y", above["y"], bounds, allowed, "thm-S")
    assert not found.holds and allowed["y"][0] < 300 * 300 * torch.finfo(dtype).eps


# --- products ---------------------------------------------------------------------------------------------------------


def products(network: UnICORNN, u: Tensor, skipped: int = -1) -> list[np.ndarray]:
    """log ‖B(κ_N) ⋯ B(κ_1)‖₂ of every sample and neuron by numpy; one factor may be left out."""
    found, below = [], u.numpy()
    for layer, (y, _) in zip(network.layers, states(network, u), strict=True):
        index = len(found)
        h, alpha = network.effective_steps()[index].detach().numpy(), float(network.alpha[index])
        w, V, b = (value.detach().numpy() for value in (layer.w, layer.V, layer.b))
        before = np.concatenate([np.zeros_like(y[:1]), y[:-1]])
        kappa = alpha + w / np.cosh(w * before + below @ V.T + b) ** 2
        logs = np.empty(y.shape[1:])
        for place in np.ndindex(*logs.shape):
            hn, size, total = h[place[1]], np.eye(2), 0.0
            for n in range(len(y)):
                if n != skipped:
                    k = kappa[n][place]
                    size = np.array([[1 - hn * hn * k, hn], [-hn * k, 1]]) @ size
                    total, size = total + math.log(np.abs(size).max()), size / np.abs(size).max()
            logs[place] = total + math.log(np.linalg.norm(size, 2))
        found.append(logs)
        below = y
    return found


def test_growth_is_that_of_the_product_of_all_steps_over_all_samples():
    network, u = oscillators(), normal(30, 5, 3)
    expected = products(network, u)
    one_less = products(network, u, skipped=29)
    for layer, each in enumerate(
        the(measured(network, u), layer, "log_jacobian_growth", "thm-J (b)") for layer in (0, 1)
    ):
        series = expected[layer].max(0)
        np.testing.assert_allclose(each.series, series, atol=1e-7)  # the root of a difference of roundings
        assert each.holds and each.value == each.series[each.neuron] and each.n == 30
        assert np.abs(each.series - one_less[layer].max(0)).max() > 1e-4
        assert np.abs(each.series - expected[layer][:-1].max(0)).max() > 1e-4  # a sample is missing


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_the_bound_on_growth_is_that_of_norms_that_numpy_takes(scale):
    """½ log cond(Q_a) + N log max ‖B(κ)‖_a over κ = α and α + w, where it is largest; a as ``forms`` chooses it."""
    network, steps = oscillators(), 30
    with torch.no_grad():
        network.layers[0].w.mul_(scale)
    each = the(measured(network, normal(steps, 5, 3)), 0, "log_jacobian_growth", "thm-J (b)")
    h = network.effective_steps()[0].detach().numpy()
    w, logs = network.layers[0].w.detach().numpy(), []
    a = forms.best_form(kappa_low=1.5 + np.minimum(w, 0), kappa_high=1.5 + np.maximum(w, 0), step_size=h)
    for hn, wn, an in zip(h, w, np.broadcast_to(a, h.shape), strict=True):
        Q = np.array([[an, -an * hn / 2], [-an * hn / 2, 1]])
        values, vectors = np.linalg.eigh(Q)
        root = vectors @ np.diag(np.sqrt(values)) @ vectors.T
        B = [np.array([[1 - hn * hn * k, hn], [-hn * k, 1]]) for k in (1.5, 1.5 + wn)]
        rate = max(math.log(np.linalg.norm(root @ each @ np.linalg.inv(root), 2)) for each in B)
        logs.append(steps * rate + math.log(np.linalg.cond(Q)) / 2)
    assert each.log_bound == pytest.approx(logs[each.neuron], abs=1e-6)  # rounded outward
    assert each.neuron == int((each.series - logs).argmax())


@pytest.mark.parametrize("dtype", only([torch.float32, F64], torch.float32))
def test_products_beyond_the_range_of_the_dtype_are_followed(dtype):
    network = oscillators(alpha=0.1, dtype=dtype)
    with torch.no_grad():
        network.layers[0].w.fill_(-6.0)
        network.layers[0].V.zero_()  # y stays 0, where a saddle is steepest
        network.layers[0].b.zero_()
    u = normal(400, 2, 3)
    plain = oscillators(alpha=0.1)
    plain.load_state_dict(network.state_dict())
    each = the(measured(network, u.to(dtype)), 0, "log_jacobian_growth", "thm-J (b)")
    expected = products(plain, u)[0].max(0)
    assert expected.max() > 100 and each.holds
    np.testing.assert_allclose(each.series, expected, rtol=1e-9 if dtype == F64 else 2e-3)
    assert each.log_bound >= each.value


def test_a_neuron_that_grows_by_more_than_a_hundred_a_step_does_not_overflow_between_two_scalings():
    steps, alpha, dt, w = 60, 3.0, 0.98, 600.0
    network = UnICORNN(1, 2, dt=dt, alpha=alpha, bias=False, multiscale=False)
    with torch.no_grad():
        network.layers[0].w.fill_(w)
        network.layers[0].V.zero_()  # y stays 0, where the slope is 1
    found = measured(network, torch.ones(steps, 1, 1), read=lambda rows, last: rows.sum())
    h = float(network.effective_steps()[0][0].detach())
    B = np.array([[1 - h * h * (alpha + w), h], [-h * (alpha + w), 1]])
    growth = math.log(max(abs(np.linalg.eigvals(B)))) * steps
    each = the(found, 0, "log_jacobian_growth", "thm-J (b)")
    assert growth > 60 * math.log(100)
    np.testing.assert_allclose(each.series, growth, rtol=0.01)  # of ‖B^N‖ and the spectral radius: a constant factor
    assert each.holds


# --- the inverse ------------------------------------------------------------------------------------------------------


def test_the_reconstruction_error_is_that_of_the_networks_own_inverse():
    network = oscillators(dtype=torch.float32)
    u = normal(200, 4, 3).float()
    _, state = network(u)
    back = network.inverse(state, u)
    found = measured(network, u)
    for layer in (0, 1):
        expected = max(float(block[layer].detach().abs().max()) for block in back)
        # other orders of summation, so other roundings: the same size is what can be asked for
        assert 0.1 * expected < the(found, layer, "reconstruction_error").value < 10 * expected < 1e-3


@pytest.mark.parametrize("block", ["y0", "z0", "y"])
def test_the_reconstruction_error_is_of_both_blocks_and_upper_layers_see_the_rebuilt_rows(block, monkeypatch):
    network, u = oscillators(), normal(20, 3, 3)
    runner = executions.ready("torch")

    class Off:
        def __getattr__(self, name: str) -> Any:
            return getattr(runner, name)

        def inverse(self, *arguments: Any, **keywords: Any) -> Any:
            back = runner.inverse(*arguments, **keywords)
            off = torch.zeros_like(getattr(back, block))
            off[1, 2] = -0.25
            return replace(back, **{block: getattr(back, block) + off})

    monkeypatch.setattr(oscillators_run_once.executions, "ready", lambda _: Off())
    found = measured(network, u)
    first, second = (the(found, layer, "reconstruction_error").value for layer in (0, 1))
    if block == "y":
        assert first < 1e-12 and second > 1e-3
    else:
        assert first == pytest.approx(0.25, rel=1e-12) and second == pytest.approx(0.25, rel=1e-12)


@pytest.mark.parametrize("mask", ["locked", "step"])
def test_the_dropout_of_the_call_is_part_of_what_is_inverted(mask):
    torch.manual_seed(4)
    found = measured(oscillators(dropout=0.5, dropout_mask=mask), normal(20, 3, 3))
    assert all(0 < the(found, layer, "reconstruction_error").value < 1e-12 for layer in (0, 1))


def test_samples_that_end_early_are_stepped_back_from_their_own_ends():
    network, u = oscillators(), normal(20, 3, 3)
    found = measured(network, u, lengths=[20, 3, 11])
    assert all(0 < the(found, layer, "reconstruction_error").value < 1e-12 for layer in (0, 1))


# --- weights ----------------------------------------------------------------------------------------------------------


def test_margins_and_steps_are_their_formulas():
    network = oscillators()
    with torch.no_grad():
        network.layers[1].w[1] = -2.0
    found = measured(network, normal(5, 2, 3))
    for index, layer in enumerate(network.layers):
        h = 0.4 / (1 + np.exp(-layer.c.detach().numpy()))
        w = layer.w.detach().numpy()
        for quantity, bound, series, worst in (
            ("effective_step", "", h, h.argmax()),
            ("margin_to_rotation_limit", "h²(α + w) < 4", 4 - h**2 * (1.5 + np.maximum(w, 0)), None),
            ("margin_to_saddle", "w > −α", w + 1.5, None),
        ):
            each = the(found, index, quantity, bound)
            np.testing.assert_allclose(each.series, series, rtol=CLOSE)
            assert each.neuron == (series.argmin() if worst is None else worst)
            assert each.holds == (None if not bound else bool(series.min() > 0))
    assert not the(found, 1, "margin_to_saddle", "w > −α").holds


def test_orthogonality_and_condition_are_what_numpy_finds():
    network = ScoRNN(3, 7, rho=2, dtype=torch.float32, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        network.layers[0].free.copy_(0.7 * normal(21).float())
    found = measured(network, normal(5, 2, 3).float(), read=lambda rows, last: (rows**2).sum())
    W = network.recurrent_matrices()[0].detach().double().numpy()
    A = np.zeros((7, 7))
    A[np.triu_indices(7, 1)] = network.layers[0].free.detach().double().numpy()
    A -= A.T
    each = the(found, 0, "orthogonality_error", "thm-O-float (a)")
    assert each.value == pytest.approx(np.linalg.norm(W.T @ W - np.eye(7)), rel=1e-6) and each.holds
    assert math.exp(each.log_bound) < 40 * each.value
    each = the(found, 0, "condition", "thm-SC-norm")
    assert each.value == pytest.approx(np.linalg.cond(np.eye(7) + A), rel=CLOSE) and each.holds
    norm = np.abs(A).max() / math.tan(math.pi / 14)
    assert math.exp(each.log_bound) == pytest.approx(math.sqrt(1 + norm**2), rel=CLOSE)


def test_a_matrix_that_is_not_the_one_of_its_parameters_violates_the_residual_bound_of_no_residual():
    from verification.measure.trained_network import orthogonality
    from verification.monitors import weights

    network = ScoRNN(3, 7, rho=2)
    honest = orthogonality(network.layers[0])
    for factor, holds in ((1.0, True), (1e4, False)):
        fields = {**vars(honest), "error": honest.error * factor}
        rows = list(weights.recurrent_matrix(HERE, type(honest)(**fields)))
        assert next(row.holds for row in rows if row.quantity == "orthogonality_error") is holds


# --- derivatives ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [ScoRNN, ExpRNN])
def test_gradients_over_time_obey_thm_h_grad_and_a_matrix_that_grows_does_not(make: Callable[..., nn.Module]):
    options = {"rho": 2} if make is ScoRNN else {}
    network = make(3, 6, 2, dtype=F64, generator=torch.Generator().manual_seed(3), **options)
    u = normal(40, 4, 3)
    call = called(network, u, read=lambda rows, last: rows[-1].sum())
    found = list(measuring.measure(1, "", network, call, scale=1.0))
    for layer, trace in enumerate(traces_of(network, call)):
        each = the(found, layer, "gradient_norm", "thm-H-grad")
        assert each.holds and trace.costates is not None
        np.testing.assert_allclose(each.series, np.sqrt((trace.costates["h"].numpy() ** 2).sum((1, 2))), rtol=CLOSE)
    ends = float(trace.direct[-1])  # the last layer: n = N alone has a source, and nothing grows
    assert each.log_bound == pytest.approx(math.log(ends), abs=1e-9)
    layers = list(network.layers)
    for layer in layers:
        W = 1.2 * layer.recurrent_matrix().detach()
        layer.recurrent_matrix = lambda W=W: W
    grown = called(network, u, read=lambda rows, last: rows[-1].sum())
    *_, last = traces_of(network, grown)  # of the last layer only n = N has another source than the next step
    (told,) = quantities.gradients(HERE, last, defect=1.2**2 - 1)
    (untold,) = quantities.gradients(HERE, last, defect=0.0)
    assert told.holds and not untold.holds
    expected = math.log(float(last.direct[-1])) + (40 - told.n) * math.log(1.2)
    assert told.log_bound == pytest.approx(expected, rel=CLOSE)


@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_norms_whose_squares_are_outside_the_range_of_the_dtype(dtype):
    small, large = (1e-38, 1e38) if dtype == torch.float32 else (1e-300, 1e300)
    rows = torch.ones(7, 2, 3, dtype=dtype)
    for row, value in zip(rows[:6], (small, large, 0.0, math.inf, math.nan, -math.inf), strict=True):
        row[1] *= value
        row[0] *= 0.0 if math.isfinite(value) else 1.0
    found = unrolled.norms_over_time(rows)
    factor = math.sqrt(3)
    expected = [small * factor, large * factor, 0.0, math.inf, math.nan, math.inf, math.sqrt(6)]
    assert found.dtype == F64
    np.testing.assert_allclose(found.numpy(), expected, rtol=4 * torch.finfo(dtype).eps)
    assert unrolled.norms_over_time(torch.ones(2, 0, 3)).tolist() == [0.0, 0.0]
    together = LayerTrace({"y": rows}, {}, None, {"y": found[:1], "z": found[:1]})
    (both, *_) = quantities.gradients(HERE, together)
    assert both.value == pytest.approx(small * math.sqrt(6), rel=4 * torch.finfo(dtype).eps, abs=0.0)


@pytest.mark.parametrize("make", [lambda: nn.LSTM(3, 4, 2), oscillators32, lambda: ScoRNN(3, 4, 2, rho=2)])
def test_gradients_that_have_vanished_are_followed_as_far_as_the_dtype_goes(make):
    u, found = normal(6, 5, 3).float(), []
    for exponent in (0, -80):
        module = make()
        small = 2.0**exponent  # of two: no digit changes, the squares are below 2⁻¹⁴⁹
        module.load_state_dict(found[0][0]) if found else None
        call = called(module, u, read=lambda rows, last, small=small: small * (rows**2).sum())
        rows = [e for e in measuring.measure(1, "", module, call, scale=1.0) if e.quantity == "gradient_norm"]
        found.append((copy.deepcopy(module.state_dict()), [each.series for each in rows]))
    (_, plain), (_, small_ones) = found
    assert len(plain) == 2
    for one, other in zip(plain, small_ones, strict=True):
        np.testing.assert_allclose(other * 2.0**80, one, rtol=1e-6)  # norms of float32


def test_cells_of_torch_stay_within_what_their_gates_allow():
    for module in (nn.LSTM(3, 4, 2), nn.GRU(3, 4, 2), nn.RNN(3, 4, 2)):
        found = measured(module, 10 * normal(20, 4, 3).float(), read=lambda rows, last: rows.sum())
        bounds = [each for each in found if each.bound]
        assert {each.bound for each in bounds} <= {"|h_n| ≤ 1", "|c_n| ≤ n"} and len(bounds) == 2 * len(
            {"LSTM": "hc"}.get(module.mode, "h")
        )
        assert all(each.holds for each in bounds)
        for each in bounds:
            assert each.log_bound == pytest.approx(math.log(each.n) if each.quantity == "largest_c" else 0.0)
        per_block = [e for e in found if e.quantity == "gradient_norm_c" and e.layer == "l0"]
        assert len(per_block) == (module.mode == "LSTM")


def test_cells_of_torch_without_such_bounds_are_compared_with_none():
    u = normal(20, 4, 3)
    start = (normal(1, 4, 4), normal(1, 4, 4))
    for module, more in (
        (nn.RNN(3, 4, nonlinearity="relu", dtype=F64), ()),
        (nn.LSTM(3, 4, proj_size=2, dtype=F64), ()),
        (nn.LSTM(3, 4, dtype=F64), (start,)),
        (nn.GRU(3, 4, dtype=F64), start[:1]),
    ):
        call = called(module, u, *more, read=lambda rows, last: rows.sum())
        found = list(measuring.measure(1, "", module, call, scale=1.0))
        assert found and not any(each.bound for each in found)


def test_thm_h_grad_multiplies_by_the_root_of_one_plus_the_defect_a_step():
    norms = {"h": torch.tensor([1.43, 1.0, 0.5], dtype=F64)}
    trace = LayerTrace({"h": torch.zeros(3, 1, 2)}, {}, None, norms, torch.tensor([0.0, 0.0, 1.0], dtype=F64))
    (each,) = quantities.gradients(HERE, trace, defect=0.44)  # G = 1.44, 1.2, 1
    assert each.n == 1 and each.holds and each.log_bound == pytest.approx(math.log(1.44), rel=CLOSE)
    network = ScoRNN(3, 6, rho=2, dtype=F64)
    found = measuring.orthogonality(network.layers[0])
    assert measuring._defect(network, 0, found) == found.spectral_error < 1e-14
