"""thm-G and thm-G-inf: the formulas typed again, balls around floats, the pinned sizes, and planted faults."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
import torch

from odernn.bounds import certify, forms, gradient, jacobian, layers, routes, sharp
from odernn.bounds.gradient import LayerConstants, StackLayer, StateLogs
from odernn.bounds.network.states import exact_state_logs
from odernn.bounds.network.weights import NetworkWeights, weights_of
from odernn.bounds.numbers import BALLS
from odernn.cells.unicornn import UnICORNN
from odernn.published.networks import row


def small_network(num_layers: int, *, skip: int | None = None, seed: int = 0, size: int = 3) -> UnICORNN:
    generator = torch.Generator().manual_seed(seed)
    network = UnICORNN(
        2, size, num_layers, dt=0.3, alpha=1.7, residual_skip=skip, dtype=torch.float64, generator=generator
    )
    with torch.no_grad():
        for layer in network.layers:
            layer.w.copy_(torch.randn(size, generator=generator, dtype=torch.float64) * 3)
    return network


def best_forms(stack: tuple[StackLayer, ...]) -> list[np.ndarray]:
    return [
        forms.best_form(
            kappa_low=layer.alpha + np.minimum(layer.w, 0),
            kappa_high=layer.alpha + np.maximum(layer.w, 0),
            step_size=layer.step_size,
        )
        for layer in stack
    ]


def measured(weights: NetworkWeights, steps: int, input_bound: float) -> tuple[list[StateLogs], list[LayerConstants]]:
    states = [gradient.input_logs(input_bound, weights.input_size)]
    states += [exact_state_logs(layer, steps) for layer in weights.stack]
    return states, gradient.invariant_constants(weights.stack, states, best_forms(weights.stack))


def all_routes(stack: tuple[StackLayer, ...], source: int, target: int) -> list[list[int]]:
    if target == source:
        return [[source]]
    return [
        [*route, target]
        for below in stack[target - 1].edges
        if below >= source
        for route in all_routes(stack, source, below)
    ]


def typed_again(network: UnICORNN, *, source: int, parameter: str, steps: int, U: float, target_bound: float) -> float:
    """The statement of thm-G for a stack, written as sums over neurons and over every route, with math.comb."""
    stack = weights_of(network).stack
    chosen = best_forms(stack)
    Y = [[U] * network.input_size] + [np.exp(exact_state_logs(layer, steps).positions).tolist() for layer in stack]
    Z = [[]] + [np.exp(exact_state_logs(layer, steps).momenta).tolist() for layer in stack]
    r = [[]] + [
        [math.sqrt(a * (1 - a * h * h / 4)) for a, h in zip(form, layer.step_size, strict=True)]
        for form, layer in zip(chosen, stack, strict=True)
    ]
    Om = [
        max(
            math.asinh(h * abs(layer.alpha + end - a) / (2 * root))
            for a, h, w, root in zip(form, layer.step_size, layer.w, roots, strict=True)
            for end in (min(w, 0.0), max(w, 0.0))
        )
        for form, layer, roots in zip(chosen, stack, r[1:], strict=True)
    ]
    top = max(Om[source - 1 :])
    total = 0.0
    for route in all_routes(stack, source, len(stack)):
        weight = 1.0
        for below, layer in itertools.pairwise(route):
            V, h = stack[layer - 1].edges[below], stack[layer - 1].step_size
            weight *= max(h[i] * sum(abs(V[i, j]) / r[below][j] for j in range(V.shape[1])) for i in range(V.shape[0]))
        p = len(route) - 1
        total += weight * sum(math.comb(j + p, p) * math.exp(j * top) for j in range(steps))
    layer, h = stack[source - 1], stack[source - 1].step_size
    direct = {
        "w": max(a * b for a, b in zip(h, Y[source], strict=True)),
        "b": max(h),
        "c": max(
            h[i]
            * layer.complement[i]
            * (1 + layer.alpha * Y[source][i] + math.sqrt(chosen[source - 1][i]) * Z[source][i])
            for i in range(len(h))
        ),
    } | {name: max(h) * max(Y[level]) for level, name in layer.names.items()}
    outputs = network.hidden_size if source < len(stack) else 1
    return outputs * (target_bound + max(Y[-1])) / min(r[-1]) * direct[parameter] * total


@pytest.mark.parametrize(("num_layers", "skip"), [(1, None), (2, None), (3, None), (4, 2), (5, 2)])
def test_the_bound_is_the_statement_typed_again_over_all_routes(num_layers: int, skip: int | None):
    network = small_network(num_layers, skip=skip, seed=num_layers)
    states, constants = measured(weights_of(network), 6, 1.5)
    error = gradient.log_error_bound(states[-1], 0.7)
    cases = 0
    for source in range(1, num_layers + 1):
        for parameter in constants[source - 1].log_direct:
            found = gradient.log_gradient_bound(
                constants, source=source, parameter=parameter, log_error=error, outputs=3, steps=6
            )
            again = typed_again(network, source=source, parameter=parameter, steps=6, U=1.5, target_bound=0.7)
            assert float(found) == pytest.approx(math.log(again), abs=1e-9)
            cases += 1
    assert cases == 4 * num_layers + (num_layers - skip if skip is not None else 0)


def exact_of(array: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.frompyfunc(lambda v: BALLS.exact(float(v)), 1, 1)(array)
    return found


def in_balls(stack: tuple[StackLayer, ...]) -> list[StackLayer]:
    return [
        StackLayer(
            w=exact_of(layer.w),
            step_size=exact_of(layer.step_size),
            alpha=BALLS.exact(layer.alpha),
            edges={level: exact_of(V) for level, V in layer.edges.items()},
            names=layer.names,
            complement=None if layer.complement is None else exact_of(layer.complement),
            has_bias=layer.has_bias,
        )
        for layer in stack
    ]


def ball_states(layer: StackLayer, steps: int) -> StateLogs:
    logs = [sharp.log_suprema_at(alpha=layer.alpha, step_size=h, steps=steps, numbers=BALLS) for h in layer.step_size]
    return StateLogs(*(np.array(each, dtype=object) for each in zip(*logs, strict=True)))


@pytest.mark.parametrize("norm", ["invariant", "maximum"])
def test_balls_enclose_what_floats_evaluate(norm: str):
    weights = weights_of(small_network(3, skip=2, seed=5))
    steps = 12
    states, constants = measured(weights, steps, 1.5)
    with flint.ctx.workprec(256):
        stack = in_balls(weights.stack)
        exact = [gradient.input_logs(BALLS.exact(Fraction(3, 2)), 2, numbers=BALLS)]
        exact += [ball_states(layer, steps) for layer in stack]
        if norm == "invariant":
            chosen = [exact_of(a) for a in best_forms(weights.stack)]
            enclosed = gradient.invariant_constants(stack, exact, chosen, numbers=BALLS)
        else:
            enclosed = gradient.maximum_constants(stack, exact, numbers=BALLS)
            constants = gradient.maximum_constants(weights.stack, states)
        error = gradient.log_error_bound(exact[-1], BALLS.exact(2), numbers=BALLS)
        for source, parameter in itertools.product((1, 2, 3), ("w", "b", "c", "V")):
            arguments: dict[str, Any] = {"source": source, "parameter": parameter, "outputs": 3, "steps": steps}
            ball = gradient.log_gradient_bound(enclosed, log_error=error, numbers=BALLS, **arguments)
            floats = gradient.log_gradient_bound(
                constants, log_error=gradient.log_error_bound(states[-1], 2.0), **arguments
            )
            assert ball.rad() < 1e-40
            assert float(floats) == pytest.approx(float(ball.mid()), abs=1e-9)


SIZES = {"nCIFAR": 10.9, "psMNIST-128": 17.8, "psMNIST-256": 11.1, "RR": 7.9, "HR": 13.0}


@pytest.mark.parametrize("name", SIZES)
def test_the_pinned_sizes_at_initialisation(name: str):
    """With the invariant form for the states, a of each neuron the best for its rate alone, and the largest over θ."""
    network = UnICORNN.from_paper(name, generator=torch.Generator().manual_seed(0))
    steps, weights = row(name).steps, weights_of(network)
    states = [gradient.input_logs(1.0, weights.input_size)]
    for layer in weights.stack:
        logs = [
            sharp.log_invariant_bound(alpha=layer.alpha, step_size=layer.step_size, step=steps, quantity=quantity)
            for quantity in ("position", "momentum")
        ]
        states.append(StateLogs(*logs))
    constants = gradient.invariant_constants(weights.stack, states, best_forms(weights.stack))
    largest = max(
        float(
            gradient.log_gradient_bound(
                constants,
                source=source,
                parameter=parameter,
                log_error=gradient.log_error_bound(states[-1], 1.0),
                outputs=network.hidden_size,
                steps=steps,
            )
        )
        for source in (1, 2, 3)
        for parameter in ("w", "b", "c", "V")
    )
    # a draw of 3 · 128 values of w and c moves the largest rate a little, and N multiplies it
    assert largest / math.log(10) == pytest.approx(SIZES[name], abs=0.3)


def test_the_maximum_norm_is_below_the_closed_form_of_its_statement():
    for seed, num_layers in itertools.product(range(4), (1, 2, 3)):
        network = small_network(num_layers, seed=seed)
        stack = weights_of(network).stack
        steps, dt, alpha = 20, 0.3, 1.7
        states, _ = measured(weights_of(network), steps, 2.5)
        constants = gradient.maximum_constants(stack, states)
        F = math.exp(max(float(s.positions.max()) for s in states[1:]))
        F_z = math.exp(max(float(s.momenta.max()) for s in states[1:]))
        error = gradient.log_error_bound(states[-1], 0.4)
        T = steps * dt
        for source in range(1, num_layers + 1):
            p = num_layers - source
            wbar = max(max(2.0, float(np.abs(layer.w).max()) + alpha) for layer in stack[source - 1 :])
            norms = math.prod(
                float(np.abs(stack[q - 1].edges[q - 1]).sum(axis=1).max()) for q in range(source + 1, num_layers + 1)
            )
            printed = (3 if p else 1) * (0.4 + F) * (2 + F_z + (1 + alpha) * F + max(F, 2.5)) * norms
            printed *= (T + p * dt) ** (p + 1) / math.factorial(p + 1) * math.exp(wbar * T)
            for parameter in ("w", "b", "c", "V"):
                found = gradient.log_gradient_bound(
                    constants, source=source, parameter=parameter, log_error=error, outputs=3, steps=steps
                )
                assert float(found) <= math.log(printed)


def test_at_constant_preactivation_zero_a_saddle_grows_at_exactly_the_rate_of_the_bound():
    network = UnICORNN(1, 1, dt=0.2, alpha=1.0, multiscale=False, dtype=torch.float64)
    with torch.no_grad():
        network.layers[0].w.fill_(-6.0)
    gaps = []
    for steps in (100, 200, 400):
        # u = 0, y = 0: dE_N/db = −ȳ dy_N/db, a sum of impulses
        sums = np.abs(layers.impulse(np.full(steps, -5.0), 0.2)).sum() * 0.2
        report = certify(network, input_bound=1.0, target_bound=1.0, steps=steps)
        gaps.append(report.layers[0].gradients["b"].value - math.log(sums))
    assert all(gap > 0 for gap in gaps)
    # only the state bound Ŷ_L in the error grows with N
    assert gaps[1] - gaps[0] < 1.1 * math.log(2) and gaps[2] - gaps[1] < 1.1 * math.log(2)
    rate = float(jacobian.constant_rate(kappa=-5.0, step_size=0.2))
    assert rate * 200 > 80  # what a rate wrong by a tenth would add


def test_a_zero_weight_or_input_gives_a_finite_logarithm():
    network = small_network(2)
    with torch.no_grad():
        network.layers[1].V.zero_()
    weights = weights_of(network)
    states, constants = measured(weights, 5, 0.0)
    error = gradient.log_error_bound(states[-1], 0.0)
    for parameter in ("w", "V"):
        found = gradient.log_gradient_bound(
            constants, source=1, parameter=parameter, log_error=error, outputs=3, steps=5
        )
        assert math.isfinite(found) and found < -600
    assert math.log(gradient.FLOOR) == pytest.approx(-1000 * math.log(2))


def test_the_sum_over_paths_is_at_most_the_exponential_of_its_rate():
    for hops, rate, steps in itertools.product((0, 1, 3), (0.0, 0.01, 1.0), (1, 30, 1000)):
        exact = float(routes.log_path_sum(hops=hops, rate=rate, steps=steps))
        assert exact <= float(routes.log_path_sum_limit(hops=hops, rate=rate, steps=steps))


# --- the constants of one layer, typed again at weights where every part of them counts


def one_layer(w: list[float], alpha: float) -> StackLayer:
    V, skip = np.array([[1.0, -2.0, 0.5], [0.3, 3.0, -1.0]]), np.array([[-4.0, 0.7], [2.0, 0.1]])
    return StackLayer(
        w=np.array(w),
        step_size=np.array([0.4, 0.7]),
        alpha=alpha,
        edges={0: V, 2: skip},
        names={0: "V", 2: "Lambda"},
        complement=np.array([0.6, 0.3]),
    )


LOGS = [
    StateLogs(np.log(np.array(y)), np.log(np.array(z)))
    for y, z in (([2.0, 0.1, 5.0], []), ([0.8, 1.7], [2.2, 0.9]), ([0.4, 9.0], [1.0, 1.0]))
]


@pytest.mark.parametrize(("w", "alpha"), [([-0.3, 0.2], 0.5), ([0.3, -2.4], 0.5), ([3.0, 1.0], 0.0), ([0.1, 0.2], 2.5)])
def test_the_constants_of_the_maximum_norm_are_the_printed_formulas(w: list[float], alpha: float):
    layer = one_layer(w, alpha)
    found = gradient.maximum_constants([layer, layer], [LOGS[0], LOGS[2], LOGS[2]])[1]
    h, (Y, Z) = layer.step_size, ([0.4, 9.0], [1.0, 1.0])
    assert found.rate == pytest.approx(0.7 * max(2.0, max(map(abs, w)) + alpha), rel=1e-14)
    climbs = {level: max(h * np.abs(matrix).sum(axis=1)) for level, matrix in layer.edges.items()}
    assert {k: math.exp(v) for k, v in found.log_climbs.items()} == pytest.approx(climbs, rel=1e-13)
    direct = {
        "w": max(h * Y),
        "b": 0.7,
        "V": 0.7 * 5.0,
        "Lambda": 0.7 * 9.0,
        "c": max(h * layer.complement * (1 + alpha * np.array(Y) + np.array(Z))),
    }
    assert {k: math.exp(v) for k, v in found.log_direct.items()} == pytest.approx(direct, rel=1e-13)
    assert found.log_output == 0 and layer.hidden_size == 2


@pytest.mark.parametrize("w", [[4.0, 1.0], [-4.0, 1.0], [-1.0, 0.5], [2.0, -3.0]])
def test_the_rate_of_an_invariant_form_is_that_of_the_worse_end_of_the_worst_neuron(w: list[float]):
    layer, a = one_layer(w, 1.3), np.array([1.1, 2.0])
    plain = StackLayer(w=layer.w, step_size=layer.step_size, alpha=1.3, edges={0: layer.edges[0]}, names={0: "V"})
    (found,) = gradient.invariant_constants([plain], LOGS[:2], [a])
    h = layer.step_size
    r = np.sqrt(a * (1 - a * h * h / 4))
    rates = [np.arcsinh(h * np.abs(1.3 + part - a) / (2 * r)) for part in (np.minimum(w, 0), np.maximum(w, 0))]
    assert found.rate == pytest.approx(np.max(rates), rel=1e-13)
    assert math.exp(found.log_output) == pytest.approx(1 / min(r), rel=1e-13)
    assert found.log_climbs[0] == pytest.approx(math.log(max(h * np.array([3.5, 4.3]))), rel=1e-13)
