"""Margins, orthogonality and rebuilding errors, against the same typed once more."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from odernn.cells import get
from odernn.executions import torch_loop
from tests.verification.trained.networks import unicornn
from verification.measure import float_steps
from verification.measure.trained_network import (
    effective_steps,
    margins,
    orthogonality,
    predicted_typical_error,
    reconstruction_error,
)


def test_margins_by_hand() -> None:
    network = unicornn(4, 1, dt=0.9, alpha=3.0)
    with torch.no_grad():
        network.layers[0].w.copy_(torch.tensor([-4.0, -3.0, 0.0, 20.0]))
        network.layers[0].c.copy_(torch.tensor([0.0, 1.0, 2.0, 30.0]))
    found = margins(network.coefficients(0))
    h = 0.9 / (1 + np.exp(-np.array([0.0, 1.0, 2.0, 30.0])))
    w = np.array([-4.0, -3.0, 0.0, 20.0])
    assert np.allclose(effective_steps(network.coefficients(0)), h, rtol=1e-15)
    assert np.allclose(found.rotation, 4 - h**2 * (3 + np.maximum(w, 0)), rtol=1e-14)
    assert np.allclose(found.saddle, w + 3) and np.allclose(found.frozen, 4 - h**2 * 3, rtol=1e-14)
    assert found.failing == {"rotation": 1, "saddle": 2, "frozen": 0}
    report = network.stability_report().layers[0]
    assert found.smallest["rotation"] == pytest.approx(report.margin_to_rotation_limit, rel=1e-12)
    assert found.smallest["saddle"] == report.margin_to_saddle == -1.0
    with torch.no_grad():
        network.layers[0].w[1] = float("nan")
    found = margins(network.coefficients(0))
    assert found.failing["saddle"] == 2 and math.isnan(found.smallest["saddle"])


def test_orthogonality_of_a_scaled_cayley_matrix() -> None:
    layer = get("scornn")(3, 12, rho=4, generator=torch.Generator().manual_seed(1)).layers[0]
    found = orthogonality(layer)
    W = layer.recurrent_matrix().detach().numpy().astype(np.float64)
    A = np.zeros((12, 12))
    A[np.triu_indices(12, 1)] = layer.free.detach().numpy()
    A, D = A - A.T, np.diag(layer.cayley.signs.numpy().astype(float))
    assert found.error == pytest.approx(np.linalg.norm(W.T @ W - np.eye(12)), rel=1e-6)
    assert found.spectral_error == pytest.approx(np.linalg.norm(W.T @ W - np.eye(12), 2), rel=1e-6)
    assert found.condition == pytest.approx(np.linalg.cond(np.eye(12) + A), rel=1e-12)
    assert found.residual == pytest.approx(np.linalg.norm((np.eye(12) - A) @ D - (np.eye(12) + A) @ W), rel=1e-6)
    assert found.residual is not None and found.error <= 2 * found.residual + found.residual**2
    assert found.law == pytest.approx(found.error / (2.0**-23 * found.condition)) and found.size == 12
    assert found.largest_entry == pytest.approx(np.abs(A).max(), rel=1e-6)


def test_a_matrix_that_drifted_is_seen() -> None:
    """Planted: W scaled by 1.001 has ‖WᵀW − I‖_F = (1.001² − 1) √n."""
    layer = get("exprnn")(3, 9, generator=torch.Generator().manual_seed(1)).layers[0]
    W = layer.recurrent_matrix().detach().double() * 1.001

    class Drifted:
        def recurrent_matrix(self) -> Tensor:
            return W

    found = orthogonality(Drifted())
    assert found.error == pytest.approx((1.001**2 - 1) * 3, rel=5e-3) and found.condition is None and found.law is None
    assert orthogonality(layer).error < 1e-4


def test_complex_matrices_have_no_condition() -> None:
    found = orthogonality(get("urnn")(3, 8, capacity="restricted").layers[0])
    assert found.error < 1e-5 and found.eps == 2.0**-23 and found.residual is None


@pytest.mark.parametrize(("index", "skip"), [("icml", None), ("icml", 2), ("sam", None), ("sam", 2)])
def test_forward_and_back_are_the_network_s_own(index: str, skip: int | None) -> None:
    """In float64 the states on the way are those of the network, and what comes back is what its inverse gives."""
    network = unicornn(4, 3, index=index, residual_skip=skip)
    u = torch.randn(30, 2, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    found = reconstruction_error(network, u, torch.float64)
    with torch.no_grad():
        runs, (_, final) = network.states(u), network(u)
        energies = [(each.y**2 + each.z**2).mean().sqrt() for each in runs]
        y0, z0 = network.inverse(final, u)
    assert torch.allclose(found.rms_energy, torch.stack(energies), rtol=1e-13)
    assert (found.position < 30 * 3 * 1e-15).all() and (y0.abs().amax() + z0.abs().amax()) < 30 * 3 * 1e-15
    assert (reconstruction_error(network, u, torch.float32).position > 1e-9).any()


@pytest.mark.parametrize("name", ["bfloat16", "float32"])
def test_one_neuron_as_the_other_implementation_rounds_it(name: str) -> None:
    """``float_steps`` has the step and its inverse in each format, written for a claim: the same |y_0|, |z_0|."""
    network = unicornn(1, 1, dt=0.25, alpha=1.0)
    with torch.no_grad():
        network.layers[0].w.fill_(0.5)
        network.layers[0].c.zero_()
        network.layers[0].V.copy_(torch.tensor([[1.0, 0.0]]))
    x = torch.randn(40, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16).double()
    u = torch.stack([x, torch.zeros_like(x)], dim=1)[:, None]
    found = reconstruction_error(network, u, getattr(torch, name))
    y, z = float_steps.reconstruction(float_steps.neuron(0.5, 0.125, 1.0, name), x.tolist(), name)
    if name == "bfloat16":
        assert (float(found.position), float(found.momentum)) == (y, z) != (0.0, 0.0)
    else:  # numpy's tanh is not torch's in the last digit
        assert float(found.position) == pytest.approx(y, abs=40 * 2.0**-23)


def test_a_broken_inverse_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: α is forgotten on the way back."""
    network, u = unicornn(), torch.ones(20, 1, 2)
    assert float(reconstruction_error(network, u, torch.float64).position.max()) < 1e-13

    def wrong(y: Any, z: Any, x: Any, *, w: Any, step_size: Any, alpha: Any) -> Any:
        y = y - step_size * z
        return y, z + step_size * torch.tanh(w * y + x)

    monkeypatch.setattr(torch_loop, "step_back", wrong)
    assert float(reconstruction_error(network, u, torch.float64).position.max()) > 1e-3


def test_the_law_of_the_typical_error() -> None:
    """0.60 u √N rms: for neurons near w = 0 measured errors are 0.6 to 1.8 times that (docs/derivations)."""
    network = unicornn(32, 1, dt=0.5, alpha=2.0)
    with torch.no_grad():
        network.layers[0].w.mul_(0.05)
    u = torch.randn(400, 8, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for dtype, unit in ((torch.float32, 2.0**-24), (torch.bfloat16, 2.0**-8)):
        found = reconstruction_error(network, u, dtype)
        typical = predicted_typical_error(found, 400, 1)
        expected = 0.5 / math.sqrt(math.log(2)) * unit * 20 * float(found.rms_energy[0])
        assert typical == pytest.approx(expected, rel=1e-12)
        assert typical is not None and 0.3 < float(found.energy[0]) / typical < 3
    assert predicted_typical_error(reconstruction_error(network, 0 * u, torch.float32), 400, 1) is None


def test_both_directions_cannot_step_back_together() -> None:
    with pytest.raises(ValueError, match="bidirectional"):
        reconstruction_error(unicornn(bidirectional=True), torch.ones(3, 1, 2), torch.float32)
