"""Bounds on states from a cell's own equation: attained, never exceeded, and one statement wherever it is printed."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
import torch
from torch import nn

from odernn import CoRNN, ExpRNN, LinOSS, ScoRNN
from verification.measure import own_equations
from verification.registry import Registry
from verification.tasks.task import TaskSpec
from verification.trained import own_rows
from verification.trained.runs import Sample
from verification.trained.trial import NOTHING_KNOWN, try_recurrent


def sample(steps: int = 20, count: int = 3, scale: float = 1.0) -> Sample:
    u = scale * torch.randn(steps, count, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    spec = TaskSpec(
        name="none",
        split="test",
        loss="squared error",
        reads="last",
        steps=steps,
        count=count,
        input_size=2,
        output_size=1,
        baseline=1.0,
        baseline_means="",
        origin="",
        sha256="",
    )
    return Sample(u, torch.zeros(count), None, spec)


@pytest.mark.parametrize("damping", ["explicit", "implicit"])
def test_the_bound_of_cornn_is_reached_by_the_signs_of_its_responses(damping: Literal["explicit", "implicit"]) -> None:
    """The equation of the paper, neuron by neuron, with tanh replaced by the signs that add up."""
    steps, dt, gamma, epsilon = 30, 0.3, 2.7, 1.5
    (layer,) = CoRNN(2, 4, dt=dt, gamma=gamma, epsilon=epsilon, damping=damping).layers

    def run(kicks: list[float]) -> tuple[float, float]:
        y = z = 0.0
        for kick in kicks:
            pushed = z + dt * (kick - gamma * y)
            z = pushed - dt * epsilon * z if damping == "explicit" else pushed / (1 + dt * epsilon)
            y += dt * z
        return y, z

    responses = [run([1.0] + [0.0] * (steps - 1 - n)) for n in range(steps)]
    bounds = own_equations.log_coupled(layer, steps)
    for block, name in enumerate(("y", "z")):
        reached = run([math.copysign(1.0, response[block]) for response in responses])[block]
        assert math.log(reached) == pytest.approx(float(bounds[name][-1]), abs=1e-12)
        assert math.log(run([1.0] * steps)[0]) < float(bounds["y"][-1]) + 1e-12


@pytest.mark.parametrize(
    "cell",
    [
        lambda: CoRNN(2, 5, 2, dt=0.2, gamma=1.0, epsilon=1.0),
        lambda: LinOSS(2, 5, 2, dt=0.2),
        lambda: ScoRNN(2, 5, rho=2),
        lambda: ExpRNN(2, 5),
        lambda: nn.LSTM(2, 5, 2),
        lambda: nn.GRU(2, 5),
        lambda: nn.RNN(2, 5),
    ],
    ids=["CoRNN", "LinOSS", "ScoRNN", "ExpRNN", "LSTM", "GRU", "RNN"],
)
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_no_run_exceeds_them(cell: object, scale: float) -> None:
    torch.manual_seed(0)
    rows = own_rows.rows(cell().double(), sample(scale=scale))  # type: ignore[operator]
    assert rows and all(row.verdict == "not-refuted" for row in rows), [(row.quantity, row.slack) for row in rows]


def test_a_smaller_bound_is_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Saturated gates let c grow by one a step: a bound of n/2 is none."""
    model = nn.LSTM(2, 3).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.bias_ih_l0.fill_(30.0)
    assert {row.verdict for row in own_rows.rows(model, sample())} == {"not-refuted"}
    half = own_equations.GatedBound("|c_n| ≤ n/2", grows=True)
    monkeypatch.setattr(own_equations.GatedBound, "log", lambda self, n: np.log(np.arange(1.0, n + 1) / 2))
    monkeypatch.setattr(own_equations, "GATED", {"h": half, "c": half})
    assert {row.verdict for row in own_rows.rows(model, sample())} == {"suspect"}


@pytest.mark.parametrize(
    "module",
    [nn.RNN(2, 3, nonlinearity="relu"), nn.LSTM(2, 3, proj_size=2), nn.LSTM(2, 3, bidirectional=True), nn.Linear(2, 2)],
)
def test_others_have_none_and_the_note_says_so(module: nn.Module) -> None:
    assert own_rows.rows(module.double(), sample()) == []
    if isinstance(module, nn.RNNBase):
        assert NOTHING_KNOWN in try_recurrent(module, module, sample(), Registry()).notes
