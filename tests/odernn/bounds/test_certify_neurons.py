"""The formulas of ``certify`` for neurons alone, gates, clocks and fields, typed again."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
import torch

from odernn import cells
from odernn.bounds import certify
from odernn.bounds.network import decoupled, gated
from odernn.bounds.network.sweeps import NOTHING, StepConstants, log_gradients
from odernn.cells.clockwork import ClockworkRNN
from odernn.cells.indrnn import IndRNN
from tests.odernn.bounds.small_networks import F64, bent, norm, vertices

# --- neurons alone, gates, clocks


def test_powers_of_linear_steps_are_enclosed() -> None:
    A = np.array([0.0, 0.3, 3.9, 25.0])
    for is_implicit, count in itertools.product((False, True), (0, 1, 7, 200)):
        M = decoupled.step_of(0.9, A if is_implicit else A[:3], is_implicit=is_implicit)[0]
        low, high = decoupled.log_powers(0.9, A if is_implicit else A[:3], count, is_implicit=is_implicit)
        exact = math.log(max(np.linalg.norm(np.linalg.matrix_power(each, count), 2) for each in M))
        assert low <= exact + 1e-9 and exact <= high + 1e-9 and high - low < 1e-12 * (1 + abs(exact)) + 1e-13


def test_a_product_with_logarithms_of_all_sizes_is_an_upper_end() -> None:
    matrix, logs = np.array([[0.0, -2.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.0, 0.0]]), np.array([900.0, -100.0, 5.0])
    found = decoupled.log_product(matrix, logs)
    assert found[:2] == pytest.approx([math.log(2) - 100, 900.0], abs=1e-9) and found[2] < -600
    assert found[0] >= math.log(2) - 100 and found[1] >= 900.0


def test_sums_of_powers_are_upper_ends() -> None:
    w = np.array([1e-9, 0.5, 1 - 1e-12, 1.0, 1 + 1e-12, 1.3, 40.0])
    for steps in (1, 2, 50):
        found = decoupled.log_powers_sum(np.log(w), steps)
        exact = [float(mpmath.log(mpmath.fsum(mpmath.mpf(x) ** j for j in range(steps)))) for x in w]
        assert (found >= np.array(exact) - 1e-12).all() and found == pytest.approx(np.array(exact), abs=1e-9)


def test_a_relu_neuron_reaches_its_bound_under_its_largest_drive() -> None:
    network = bent(IndRNN(2, 3, dtype=F64), 3)
    layer, steps = network.layers[0], 12
    with torch.no_grad():
        layer.w.copy_(torch.tensor([0.9, 1.1, -0.7]))
        layer.b.copy_(torch.tensor([0.3, -0.4, 0.2]))
        h = torch.zeros(3, dtype=F64)
        largest = torch.zeros(3, dtype=F64)
        drive = 2.0 * layer.V.abs().sum(dim=1) + layer.b
        for _ in range(steps):
            h = (layer.w * h + drive).relu()
            largest = torch.maximum(largest, h)
    found = certify(network, input_bound=2.0, steps=steps).layers[0]["|h_n|, n ≤ N"].log
    assert found == pytest.approx(math.log(float(largest.max())), abs=1e-9)


@pytest.mark.parametrize("dt", [0.8, 1.7])
def test_the_sweep_of_lem_is_the_largest_over_a_grid_of_gates(dt: float) -> None:
    c, norms = 0.9, (1.5, 0.4, 0.7, 1.2)
    w_1, w_2, w_z, w_y = norms
    found = np.exp(gated.two_block_sweep(dt, c, norms)(np.full((6, 2), NOTHING), np.log([1.0, 0.5])))
    e_y, e_z = 1.0, 0.5
    D = np.linspace(0.0, dt, 20001)
    for n in range(6):
        e_z = float(np.max(np.abs(1 - D) * e_z + (D * (1 - D / dt) * (1 + c) * w_1 + D * w_z) * e_y))
        e_y = float(np.max((np.abs(1 - D) + D * (1 - D / dt) * (1 + c) * w_2) * e_y + D * w_y * e_z))
        assert found[n] == pytest.approx([e_y, e_z], rel=1e-7) and (found[n] >= [e_y, e_z]).all()


def _typed_again(dt: float, c: float, norms: tuple[float, ...], start: np.ndarray, g: np.ndarray) -> np.ndarray:
    """(y, z) after every step: thm-C-gated (e) on a grid of gates, g entering z before y reads it."""
    w_1, w_2, w_z, w_y = norms
    D, rows, (e_y, e_z) = np.linspace(0.0, dt, 20001), [], start
    for g_y, g_z in g:
        e_z = float(np.max(np.abs(1 - D) * e_z + (D * (1 - D / dt) * (1 + c) * w_1 + D * w_z) * e_y)) + g_z
        e_y = float(np.max((np.abs(1 - D) + D * (1 - D / dt) * (1 + c) * w_2) * e_y + D * w_y * e_z)) + g_y
        rows.append((e_y, e_z))
    return np.array(rows)


@pytest.mark.parametrize("dt", [0.8, 1.7])
def test_what_enters_z_of_lem_goes_on_to_y_within_the_step(dt: float) -> None:
    """F_n(e, g) of thm-C-path, which is no F(e) + g: the latter is smaller, and exceeded."""
    rng, c, norms = np.random.default_rng(3), 0.9, (1.5, 0.4, 0.7, 1.2)
    g, start = rng.uniform(0.01, 2.0, (6, 2)), np.array([0.3, 0.5])
    found = np.exp(gated.two_block_sweep(dt, c, norms)(np.log(g), np.log(start)))
    expected = _typed_again(dt, c, norms, start, g)
    assert found == pytest.approx(expected, rel=1e-7) and (found >= expected).all()
    late = _typed_again(dt, c, norms, start, np.zeros((1, 2))) + g[:1]
    assert found[0, 0] > 1.05 * late[0, 0] and found[0, 1] == pytest.approx(late[0, 1], rel=1e-7)


def test_gradients_through_two_layers_of_lem_are_their_recursion_typed_again() -> None:
    rng, steps, dt, c, norms = np.random.default_rng(5), 7, 0.8, 0.9, (1.5, 0.4, 0.7, 1.2)
    g, climb, error = rng.uniform(0.01, 2.0, (steps, 2)), np.array([0.7, 0.2]), rng.uniform(0.5, 3.0, steps)
    layer = StepConstants(gated.two_block_sweep(dt, c, norms), np.log(climb), 0.0, {"W": np.log(g)})
    found = log_gradients([layer, layer], np.log(error))
    nothing = np.zeros(2)
    one = _typed_again(dt, c, norms, nothing, g)
    two = _typed_again(dt, c, norms, nothing, one[:, :1] * climb)
    for rows, bounds in zip((two, one), found, strict=True):
        assert bounds["W"] == pytest.approx(math.log(float(np.max(error * rows[:, 0]))), abs=1e-6)


def test_the_states_of_lem_are_those_of_open_gates() -> None:
    for dt in (0.3, 1.0, 1.6):
        z, found = 0.0, np.exp(gated.lem_states(dt, 12))
        for n in range(12):  # D = dt and a target of the sign that moves farthest
            z = max((abs((1 - D) * z) + D for D in (dt, min(dt, 1.0), 0.0)), key=abs)
            assert found[n] == pytest.approx(z if dt > 1 else 1 - (1 - dt) ** (n + 1), rel=1e-9)
    fast = certify(cells.get("lem")(2, 3, dt=5.0), input_bound=1.0, steps=1000).layers[0]
    assert fast["|y_n|, |z_n|, n ≤ N"].log == pytest.approx(1000 * math.log(4), rel=1e-2)
    assert "take dt ≤ 1" in fast["|dE/dθ|, θ = W"].about


def test_rates_of_a_clockwork_bound_every_choice_of_slopes() -> None:
    layer = bent(ClockworkRNN(1, 3, periods=(1, 2, 3), dtype=F64), 2).layers[0]
    W = layer.recurrent_matrix().detach()
    for n, rate in enumerate(gated.clock_rates(layer, 7, 2)):
        acting = torch.tensor([float((2 + n) % period == 0) for period in (1, 2, 3)], dtype=F64)
        jacobians = (torch.diag(1 - acting) + torch.diag(acting) @ D @ W for D in vertices(3))
        worst = max(map(norm, jacobians))
        assert 0.5 * math.exp(rate) < worst <= math.exp(rate) * (1 + 1e-12)
