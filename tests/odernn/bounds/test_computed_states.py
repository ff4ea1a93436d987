"""thm-S-float: float32 runs exceed thm-S by rounding, and stay within the bound on what is computed."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
import torch

from odernn.bounds import certify
from odernn.bounds.gradient import StackLayer
from odernn.bounds.network.report import NO_INFORMATION
from odernn.bounds.network.states import computed_state_logs, invariant_state_logs
from odernn.bounds.reconstruction import PRECISIONS
from odernn.cells.unicornn import UnICORNN
from tests.tiers import slow

M = 6


def network_of(alpha: float, dt: float, dtype: torch.dtype, w: float = 0.0) -> UnICORNN:
    """One layer of neurons with h between dt/10 and dt, whose tanh is saturated by |u| = 1."""
    network = UnICORNN(1, M, dt=dt, alpha=alpha, dtype=dtype, execution="torch")
    with torch.no_grad():
        layer = network.layers[0]
        layer.w.fill_(w)
        layer.V.fill_(50.0)
        layer.b.zero_()
        layer.c.copy_(torch.linspace(-2, 6, M))
    return network


def driven(network: UnICORNN, wave: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """max |y_n| and |z_n| over n of every neuron; the momenta from h z_n = y_n − y_{n−1} would round once more."""
    y, z = torch.zeros(2, M, dtype=wave.dtype)
    h = network.coefficients(0)["step_size"].detach()
    w, alpha = network.layers[0].w.detach(), network.coefficients(0)["alpha"]
    outputs, _ = network(wave.reshape(-1, 1, 1))
    largest_z = torch.zeros(M, dtype=wave.dtype)
    for x in 50.0 * wave:
        z = z - h * (torch.tanh(w * y + x) + alpha * y)
        y = y + h * z
        largest_z = torch.maximum(largest_z, z.abs())
    return outputs[:, 0].detach().double().abs().amax(0).numpy(), largest_z.double().numpy()


def resonant(alpha: float, h: float, steps: int, quantity: Literal["position", "momentum"]) -> torch.Tensor:
    """The square wave that attains thm-S at n = N."""
    until_end = torch.arange(steps, 0, -1, dtype=torch.float64)
    theta = 2 * math.asin(min(1.0, h * math.sqrt(alpha) / 2))
    if quantity == "position":
        wave = torch.sin(theta * until_end) if alpha else torch.ones(steps, dtype=torch.float64)
    else:
        wave = torch.cos(theta * (until_end - 0.5))
    return -torch.where(wave >= 0, 1.0, -1.0)


@pytest.mark.parametrize("quantity", ["position", "momentum"])
@pytest.mark.parametrize(
    ("alpha", "dt", "steps", "dtype", "roundings"),
    [
        slow((0.0, 0.1, 5000, torch.float32, 3)),
        slow((1.0, 0.1, 2000, torch.float32, 3)),
        (9.0, 0.4, 600, torch.float32, 8),
        (0.0, 0.5, 600, torch.float64, 8),
        slow((1e-4, 0.9, 4000, torch.float32, 3)),
        slow((30.0, 0.3, 4000, torch.float32, 12)),
    ],
)
def test_runs_at_resonance_stay_within_the_computed_bound(
    alpha: float,
    dt: float,
    steps: int,
    dtype: torch.dtype,
    roundings: int,
    quantity: Literal["position", "momentum"],
) -> None:
    network = network_of(alpha, dt, dtype)
    layer = certify(network, input_bound=1.0, steps=steps).layers[0]
    assert layer.log_computed_positions is not None and layer.log_computed_momenta is not None
    h = network.coefficients(0)["step_size"].double().tolist()
    reached = np.zeros((2, M))
    for step_size in h[::3]:
        reached = np.maximum(reached, driven(network, resonant(alpha, step_size, steps, quantity).to(dtype)))
    exact = np.exp([layer.log_positions, layer.log_momenta])
    computed = np.exp([layer.log_computed_positions, layer.log_computed_momenta])
    assert (reached <= computed).all()
    assert (computed / exact - 1).max() < roundings * steps * torch.finfo(dtype).eps / 2  # so many a step
    assert (reached / exact).max() > 1 - 1e-6  # as near to thm-S as a run can come


def test_thm_s_alone_is_no_bound_on_a_float32_run() -> None:
    network = network_of(0.0, 0.1, torch.float32)
    layer = certify(network, input_bound=1.0, steps=5000).layers[0]
    reached, _ = driven(network, -torch.ones(5000))
    excess = reached - np.exp(layer.log_positions)
    assert excess.max() > 1e-3  # |y| is 123,107
    assert (np.log(reached) <= layer.log_computed_positions).all()


@pytest.mark.parametrize("alpha", [0.0, 0.3, 4.0, 40.0])
@pytest.mark.parametrize("h", [0.05, 0.5])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_bound_typed_again_by_powers_of_the_step_matrix(alpha: float, h: float, precision: str) -> None:
    """The worst signs of every kick h + δz and drift δy, at n = N; αh² = 10 among them."""
    steps, form = 40, PRECISIONS[precision]
    layer = StackLayer(w=np.array([0.7]), step_size=np.array([h]), alpha=alpha, edges={}, names={})
    bound = invariant_state_logs(layer, steps, form)
    Y, Z = float(np.exp(bound.positions[0])), float(np.exp(bound.momenta[0]))
    step = np.array([[1 - alpha * h * h, h], [-alpha * h, 1.0]])
    powers = [np.linalg.matrix_power(step, j) for j in range(steps)]
    kicks = np.sum([np.abs(power @ [h, 1.0]) for power in powers], axis=0)
    drifts = np.sum([np.abs(power @ [1.0, 0.0]) for power in powers], axis=0)
    assert drifts[1] <= alpha * kicks[0] * (1 + 1e-12)  # with one p more, which is what the theorem says
    drifts[1] = alpha * kicks[0]
    for _ in range(2):
        weight = h * (3 * 0.7 + 4 * alpha) + form.unit_roundoff  # which keeps its logarithm finite at 0
        dz = form.unit_roundoff * (Z + weight * Y + 8 * h) + 8 * form.underflow
        dy = form.unit_roundoff * (Y + h * Z) + form.underflow
        Y, Z = np.minimum((Y, Z), (h + dz) * kicks + dy * drifts)
    computed = computed_state_logs(layer, steps, form)
    sizes = np.exp([computed.positions[0], computed.momenta[0]])
    assert sizes == pytest.approx([Y, Z], rel=1e-9)


def test_what_is_beyond_every_float_is_said_to_be_no_information() -> None:
    network = network_of(1.0, 0.9, torch.float32, w=-400.0)
    report = certify(network, input_bound=1.0, steps=2000)
    assert max(bound.value for bound in report.layers[0].gradients.values()) > 100
    assert NO_INFORMATION in str(report) and "10^4" not in str(report)
    calm = str(certify(network_of(1.0, 0.1, torch.float32), input_bound=1.0, steps=100))
    assert NO_INFORMATION not in calm and "rounding adds" in calm
