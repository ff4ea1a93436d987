"""What do enclosures cost? One neuron and a batch over N = 10⁵ steps, and whole networks in balls and in float64.

Before anything is timed the answers are checked: every 97th inequality of the long runs again in balls, and the
network's states, gradients and Jacobian of one back-end against the other. ``checked_errors`` holds the largest radii.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from _harness import interleaved, report
from flint import arb

from tests.verification.certify.second import residual_again as residual_second
from verification.certify import network, spectra
from verification.certify.second import network as network_second
from verification.certify.second import residual

STEPS = 100_000
BATCH = 4
NEURONS = {"w = 0.5, h = 0.05, alpha = 1": (0.5, 0.05, 1.0), "w = -0.5, h = 0.05, alpha = 1": (-0.5, 0.05, 1.0)}


def long_run(w: float, h: float, alpha: float, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A drive that keeps the neuron busy, and its float64 trajectory."""
    noise = np.random.default_rng(3).standard_normal((STEPS, count))
    x = 2 * np.sin(0.37 * np.arange(STEPS))[:, None] + 0.6 * noise
    y, z = np.zeros((2, STEPS + 1, count))
    for n in range(STEPS):
        z[n + 1] = z[n] - h * (np.tanh(w * y[n] + x[n]) + alpha * y[n])
        y[n + 1] = y[n] + h * z[n + 1]
    return x, y, z


def long_case(name: str, numbers: tuple[float, float, float], count: int, checks: dict[str, float]) -> dict[str, Any]:
    w, h, alpha = numbers
    x, y, z = long_run(w, h, alpha, count)
    own = residual.Oscillators.of(np.full(count, w), h, alpha)
    run = residual.certify(y, z, own, drive=x, keep=True)
    assert run.complete, run.because
    same = {"w": [w] * count, "step_sizes": [arb(h)] * count, "alpha": [alpha] * count}
    zero = ([0.0] * count, [0.0] * count)
    sample = range(1, STEPS + 1, 97)
    assert not residual_second.recheck(run, y, z, drive=x, start=zero, steps=sample, **same)
    checks[f"{name}, {count}: radius of y"] = float(run.y_radius.max())
    return {"residual.certify": lambda: residual.certify(y, z, own, drive=x)}


def random_network(m: int, layers: int, steps: int) -> network.NetworkData:
    rng = np.random.default_rng(0)
    entries = [
        {
            "dt": 0.2,
            "alpha": 1.3,
            "w": rng.uniform(0, 1, m),
            "c": rng.uniform(-0.1, 0.1, m),
            "b": 0.1 * rng.standard_normal(m),
            "V": rng.uniform(-1, 1, (m, m if l else 3)) * (0.3 / m**0.5),
        }
        for l in range(layers)
    ]
    return network.of_arrays(entries, rng.standard_normal((steps, 3)), target=rng.standard_normal((steps, m)))


def network_case(m: int, layers: int, steps: int, checks: dict[str, float]) -> dict[str, dict[str, Any]]:
    data = random_network(m, layers, steps)
    plain, name = data.to_plain(), f"m = {m}, L = {layers}, N = {steps}"
    second = network_second.FloatNetwork(plain)
    states, gradients = network.certify_states(data), network.certify_gradients(data)
    boxes = second.gradient()
    for l, (y, z) in enumerate(second.states()):
        assert states.y[l].meets(y) and states.z[l].meets(z)
        assert all(gradients.layers[l][p].meets(boxes[l][p]) for p in network.PARAMETERS)
    first = steps - 10
    (jacobian, _), rows = network.certify_jacobian(data, last=steps, first=first), second.jacobian(steps, first)
    assert jacobian.meets(rows)
    two, other = spectra.two_norm_in_balls(jacobian), spectra.two_norm(jacobian)
    assert two.upper is not None and other.upper is not None
    assert max(two.lower, other.lower) <= min(two.upper, other.upper)
    checks |= {
        f"{name}: radius of the states, balls": max(float(each.radius.max()) for each in states.y),
        f"{name}: radius of the states, floats": max(float(y.radius.max()) for y, _ in second.states()),
        f"{name}: radius of the gradients, floats": max(float(v.radius.max()) for each in boxes for v in each.values()),
        f"{name}: radius of the Jacobian product, floats": float(rows.radius.max()),
        f"{name}: bits": float(states.bits),
    }
    return {
        f"states, {name}": {
            "balls": lambda: network.certify_states(data),
            "floats": lambda: network_second.FloatNetwork(plain),
        },
        f"gradients of all parameters, {name}": {
            "balls, adjoint": lambda: network.certify_gradients(data),
            "floats, tangents": second.gradient,
        },
        f"Jacobian of ten steps, {name}": {
            "balls, columns": lambda: network.certify_jacobian(data, last=steps, first=first),
            "floats, rows": lambda: second.jacobian(steps, first),
        },
        f"2-norm of that Jacobian, {name}": {
            "balls": lambda: spectra.two_norm_in_balls(jacobian),
            "floats": lambda: spectra.two_norm(jacobian),
        },
    }


def main() -> None:
    torch.set_num_threads(1)
    cases, checks = {}, {}
    for name, numbers in NEURONS.items():
        for count in (1, BATCH):
            peers = long_case(name, numbers, count, checks)
            cases[f"{name}, N = {STEPS}, neurons: {count}"] = interleaved(peers, rounds=5)
    for m, layers, steps in ((16, 2, 100), (64, 3, 100)):
        for name, peers in network_case(m, layers, steps, checks).items():
            cases[name] = interleaved(peers, rounds=3)
    report("certificates", cases, checks)


if __name__ == "__main__":
    main()
