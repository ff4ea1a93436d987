"""Terms of a damped neuron's certificate, each against its formula typed again: P as a matrix, c over b, rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from odernn.bounds import certify
from odernn.bounds.network import damped
from odernn.bounds.network.levels import precision_of
from odernn.cells.damped_unicornn import DampedUnICORNN


def network_of(dtype: torch.dtype = torch.float64, hidden: int = 5, alpha: float = 4.0) -> DampedUnICORNN:
    """Free w in [−1, 2], steps of 0.05 to 0.45."""
    network = DampedUnICORNN(1, hidden, dt=0.5, alpha=alpha, gamma=2.0, dtype=dtype)
    with torch.no_grad():
        layer = network.layers[0]
        layer.w.copy_(torch.linspace(-1.0, 2.0, hidden))
        layer.c.copy_(torch.linspace(-2.0, 2.0, hidden))
    return network


def matrices_of(step: damped.DampedStep, form: np.ndarray) -> np.ndarray:
    """P = TᵀQ_aT of every neuron, T = [[1, 0], [t, √q]], Q_a = [[a, −ah/2], [−ah/2, 1]].   thm-damp (a)"""
    found = []
    for h, q, a in zip(step.h, step.q, form, strict=True):
        T = np.array([[1.0, 0.0], [(1.0 - math.sqrt(q)) / h, math.sqrt(q)]])
        Q = np.array([[a, -a * h / 2], [-a * h / 2, 1.0]])
        found.append(T.T @ Q @ T)
    return np.array(found)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_what_a_form_says_is_said_by_its_matrix(share: float) -> None:
    step = damped.DampedStep.of(network_of().layers[0])
    form = share * 4.0 / step.h**2
    found, P = damped.NeuronForms.of(step, step.slopes, form), matrices_of(step, form)
    dual, spectrum = np.linalg.inv(P), np.linalg.eigvalsh(P)
    expected = {
        "position": np.log(dual[:, 0, 0]) / 2,
        "momentum": np.log(dual[:, 1, 1]) / 2,
        "both": -np.log(spectrum[:, 0]) / 2,
        "condition": np.log(spectrum[:, 1] / spectrum[:, 0]) / 2,
        "weight": np.log(P[:, 0, 0]) / 2,
    }
    for name, value in expected.items():
        np.testing.assert_allclose(getattr(found, name), value, rtol=0, atol=1e-11, err_msg=name)
    worst = []
    for h, q, ks, each in zip(step.h, step.q, np.transpose(step.slopes), P, strict=True):
        R = np.linalg.cholesky(each).T
        steps = [np.array([[1 - h * h * q * k, h * q], [-h * q * k, q]]) for k in ks]
        worst.append(max(np.linalg.norm(R @ M @ np.linalg.inv(R), 2) for M in steps))
    np.testing.assert_allclose(found.rate, np.log(worst), rtol=0, atol=1e-9)


@pytest.mark.parametrize("alpha", [2.5, 4.0])
def test_c_beside_b_after_one_step(monkeypatch: pytest.MonkeyPatch, alpha: float) -> None:
    """By thm-damp (e): (q (1 + αY + γZ) + m Z) |dh/dc|/(hq) of b's line, in the form that contracts most."""
    monkeypatch.setattr(damped, "SHARES", (0.0,))
    network = network_of(hidden=1, alpha=alpha)
    (bounds,) = certify(network, input_bound=1.0, steps=1).layers
    Y, Z = (math.exp(bounds[f"|{name}_n|, n ≤ N"].log) for name in "yz")
    step = damped.DampedStep.of(network.layers[0])
    w, h, q = (float(each[0]) for each in (step.w, step.h, step.q))
    low, high = ((1 + q - h * h * q * k) / (2 * math.sqrt(q)) for k in (alpha + max(w, 0.0), alpha + min(w, 0.0)))
    a = (2 - low - high) / h**2  # the third case of thm-damp (b)
    assert -1 < low < high < 1
    m = math.sqrt(((1 - math.sqrt(q)) / h - a * h / 2) ** 2 + a * (1 - a * h * h / 4))
    by_c = h * (1 - h / 0.5)  # dt σ(1 − σ)
    expected = by_c * (q * (1 + alpha * Y + 2.0 * Z) + m * Z) / (h * q)
    ratio = math.exp(bounds["|dE/dθ|, θ = c"].log - bounds["|dE/dθ|, θ = b"].log)
    assert expected * (1 - 1e-9) <= ratio <= expected * (1 + 3e-5)


def test_computed_states_exceed_exact_ones_by_what_steps_round_off() -> None:
    """e = η_z + m η_y of thm-damp (f), beside h q."""
    layer = network_of(torch.float32).layers[0]
    step, precision = damped.DampedStep.of(layer), precision_of(layer)
    form = 0.3 * 4.0 / step.h**2
    rest = damped.NeuronForms.of(step, (step.alpha, step.alpha), form)
    computed = damped.computed_states(step, rest, 12, precision)
    assert computed is not None
    Y, Z = computed
    u, nu = precision.unit_roundoff, precision.underflow
    after = step.q * (Z + step.h * (1 + step.alpha * Y))
    kick = 16 * u * after + 64 * nu
    drift = 4 * u * (Y + step.h * (after + kick)) + 64 * nu
    e = kick + np.sqrt(matrices_of(step, form)[:, 0, 0]) * drift
    total = np.exp(12 * rest.rate)
    total = (1 - total) / (1 - np.exp(rest.rate))
    for found, read in ((Y, rest.position), (Z, rest.momentum)):
        beyond = found / (np.exp(read) * step.h * step.q * total) - 1
        np.testing.assert_allclose(beyond, e / (step.h * step.q), rtol=1e-3)
