"""‖∂X_N/∂X_1‖₂ of a UnICORNN: no drive makes a change grow more, and the line is the smaller of two bounds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from odernn.bounds import certify, forms, jacobian, switching, words
from odernn.bounds.network.weights import weights_of
from odernn.cells.unicornn import UnICORNN
from tests.odernn.bounds.unicornn_again import ends_of, network_of, up


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
