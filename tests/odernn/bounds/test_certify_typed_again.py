"""``certify`` of a UnICORNN, typed again: every field of the report, and its parts one by one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from odernn.bounds import NetworkBounds, certify, forms, gradient, jacobian, switching, words
from odernn.bounds.gradient import LayerConstants, StackLayer, StateLogs
from odernn.bounds.network import unicornn as certification
from odernn.bounds.network.question import Question
from odernn.bounds.network.states import exact_state_logs
from odernn.bounds.network.weights import NetworkWeights, weights_of
from odernn.bounds.reconstruction import PRECISIONS
from odernn.cells.unicornn import UnICORNN
from tests.odernn.bounds.unicornn_again import (
    WIDE,
    ends_of,
    forms_tried,
    gradients_again,
    invariant_again,
    network_of,
    rebuilt_again,
    up,
)


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


def test_all_kinds_of_bounds_occur_among_the_networks_typed_again():
    """thm-G-inf in the test above."""
    reports = [certify(network_of(**options), **arguments) for options, arguments in AGAIN]
    layers = [layer for report in reports for layer in report.layers]
    theorems = {bound.theorem for layer in layers for bound in layer.gradients.values()}
    assert theorems >= {"thm-G", "thm-G-turns"}
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
