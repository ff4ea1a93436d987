"""Rows of scoRNN, expRNN and uRNN: orthogonality of W, the eps·κ law, and gradients of hidden states."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from odernn.cells import get
from tests.verification.trained.networks import sample
from verification import verdict
from verification.trained import orthogonal_rows
from verification.trained.row import Row


def network(name: str = "scornn", hidden: int = 6, **options: object) -> nn.Module:
    if name == "scornn":
        options = {"rho": 2, **options}
    if name != "urnn":
        options = {"generator": torch.Generator().manual_seed(3), **options}
    return get(name)(2, hidden, **options)


def rows_of(model: nn.Module, count: int = 3) -> dict[tuple[str, str], Row]:
    return {(row.statement, row.quantity): row for row in orthogonal_rows.rows(model, sample(count=count))}


def test_rows_of_scornn() -> None:
    model = network()
    rows = rows_of(model)
    W = model.layers[0].recurrent_matrix().detach().double().numpy()
    error = np.linalg.norm(W.T @ W - np.eye(6))
    bound = rows["thm-O-float (a)", "‖W*W − I‖_F"]
    assert bound.verdict == verdict.NOT_REFUTED and math.exp(bound.log_measured or 0) == pytest.approx(error, rel=1e-6)
    assert rows["sco-5.5.1-A", "‖W*W − I‖_F"].value == pytest.approx(error, rel=1e-6)
    condition = rows["thm-SC-norm", "κ(I + A)"]
    A = np.zeros((6, 6))
    A[np.triu_indices(6, 1)] = model.layers[0].free.detach().double().numpy()
    A = A - A.T
    kappa = np.linalg.cond(np.eye(6) + A)
    assert math.exp(condition.log_measured or 0) == pytest.approx(kappa, rel=1e-9)
    limit = math.sqrt(1 + (np.abs(A).max() / math.tan(math.pi / 12)) ** 2)
    assert math.exp(condition.log_bound or 0) == pytest.approx(limit, rel=1e-9)
    assert rows["thm-O-float", "‖W*W − I‖_F / (eps κ(I + A))"].value == pytest.approx(
        error / (2**-23 * kappa), rel=1e-5
    )


def test_a_weight_change_that_breaks_the_bound_on_entries_changes_the_rows() -> None:
    """Planted: entries of 10⁷ in A, as training without re-signing can make them."""
    model = network()
    assert rows_of(model)["sco-T3.1", "1 − max|a_ij|"].verdict == "holds"
    with torch.no_grad():
        model.layers[0].free[0] = 1e8
    rows = rows_of(model)
    assert rows["sco-T3.1", "1 − max|a_ij|"].verdict == "fails"
    assert rows["thm-O-float (b)", "1 − eps κ(I + A)"].verdict == "fails"
    assert rows["thm-O-float (a)", "‖W*W − I‖_F"].verdict == verdict.NOT_REFUTED  # of every W, however made
    with torch.no_grad():
        model.layers[0].free.zero_()
    assert rows_of(model)["thm-SC-norm", "κ(I + A)"].because == "premise A is not 0 FAILS by 0"


def test_a_planted_smaller_bound_is_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """r in place of 2r + r²: at the largest entries the error comes near 2r."""
    monkeypatch.setattr(orthogonal_rows.cayley_rounding, "log_score_from_residual", lambda r: math.log(r) - 1.5)
    assert rows_of(network())["thm-O-float (a)", "‖W*W − I‖_F"].verdict == verdict.SUSPECT


@pytest.mark.parametrize("bias", [True, False])
def test_gains_are_norms_of_products_of_jacobians(bias: bool) -> None:
    """Carried back vectors, against ∂h_N/∂h_t by autograd of the whole map, for every t."""
    model = network(bias=bias).double()
    layer = model.layers[0]
    if layer.b is not None:
        with torch.no_grad():
            layer.b.copy_(torch.linspace(-0.3, 0.2, 6))
    found = sample(count=1)
    _, gains = orthogonal_rows._gains(layer, found.inputs)
    step, drives = layer.stepper(), layer.drives(found.inputs).detach()
    states = [torch.zeros(1, 6, dtype=torch.float64)]
    for x in drives:
        states.append(step((states[-1],), x)[0].detach())
    J = torch.eye(6, dtype=torch.float64)
    norms = []
    for t in range(len(drives) - 1, -1, -1):
        own = torch.autograd.functional.jacobian(lambda h, t=t: step((h,), drives[t])[0], states[t])[0, :, 0, :]
        J = J @ own
        norms.append(float(torch.linalg.matrix_norm(J, 2)))
    shares = gains.amax(dim=1) / torch.tensor(norms, dtype=torch.float64)
    assert float(shares.max()) <= 1 + 1e-12 and float(shares.min()) > 0.2  # 8 random vectors in 6 dimensions
    if not bias:
        assert torch.allclose(gains, torch.ones_like(gains), atol=1e-5)


def test_exprnn_has_the_same_row() -> None:
    row = rows_of(network("exprnn"))["thm-H-grad", "‖vᵀ ∂h_T/∂h_t‖/‖v‖"]
    assert row.verdict == verdict.NOT_REFUTED and abs(row.log_bound or 1) < 1e-3


def test_the_bound_follows_the_defect_and_without_it_is_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: W scaled by 1.05. thm-H-grad speaks of any W."""
    model = network(bias=False)
    layer = model.layers[0]
    original = type(layer).recurrent_matrix
    monkeypatch.setattr(type(layer), "recurrent_matrix", lambda self: original(self) * 1.05)
    row = rows_of(model)["thm-H-grad", "‖vᵀ ∂h_T/∂h_t‖/‖v‖"]
    assert row.verdict == verdict.NOT_REFUTED and (row.log_bound or 0) > 0.04
    monkeypatch.setattr(orthogonal_rows.hidden_gradient, "log_largest_gain", lambda *, defect, steps: 0.0 * steps)
    assert rows_of(model)["thm-H-grad", "‖vᵀ ∂h_T/∂h_t‖/‖v‖"].verdict == verdict.SUSPECT


def test_other_cells() -> None:
    rows = orthogonal_rows.rows(network("urnn", capacity="restricted"), sample())
    assert [row.statement for row in rows] == ["sco-5.5.1-A"] and 0 < (rows[0].value or 0) < 1e-5
    assert len(rows_of(network(num_layers=2))) == len(rows_of(network()))  # the same statements, for two layers
    assert {row.layer for row in orthogonal_rows.rows(network(num_layers=2), sample())} == {1, 2}
    assert orthogonal_rows.rows(nn.LSTM(2, 3), sample()) == []


def test_runs_begin_at_the_trained_initial_state() -> None:
    """The rows that the gains are measured along are those of the network, from its h0."""
    model = network(num_layers=2, learn_initial_state=True).double()
    with torch.no_grad():
        for layer in model.layers:
            layer.h0.copy_(torch.linspace(-1.0, 1.0, 6))
    below, found = sample(count=2).inputs, sample(count=2)
    for layer in model.layers:
        below, _ = orthogonal_rows._gains(layer, below)
    with torch.no_grad():
        assert torch.allclose(below, model(found.inputs)[0], atol=1e-13)
