"""Bounds on states from a cell's own equation: attained, never exceeded, and one statement wherever it is printed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks._cell_kinds import KINDS
from odernn import CoRNN, ExpRNN, LinOSS, ScoRNN
from odernn.bounds import certify
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


def _bent(name: str) -> nn.Module:
    """Of ``attacks``, which knows a network of every cell with theorems; without a learned start."""
    network = KINDS[name](torch.Generator().manual_seed(2))
    for layer in network.layers:  # type: ignore[union-attr]
        if getattr(layer, "h0", None) is not None:
            layer.h0 = None  # type: ignore[union-attr]
    return network


OWN_ROWS = ("CoRNN", "LinOSS", "ScoRNN", "ExpRNN", "torch")
CERTIFIED = [kind for kind in KINDS if not kind.startswith(OWN_ROWS)]


def test_quantities_are_written_without_bars_in_a_table() -> None:
    written = {"|y_n|, |z_n|, n ≤ N": "abs(yₙ), abs(zₙ)", "‖h_n‖₂, n ≤ N": "‖hₙ‖₂", "|h_n|, n ≤ N": "abs(hₙ)"}
    assert {quantity: own_rows.in_a_table(quantity) for quantity in written} == written


@pytest.mark.parametrize("kind", CERTIFIED)
def test_other_cells_have_the_lines_of_certify_on_their_states(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network, given = _bent(kind), sample(scale=3.0)
    report = certify(network, input_bound=float(given.inputs.abs().max()), steps=20)
    lines = [
        (layer.layer, own_rows.in_a_table(line.quantity), line.theorem, line.log)
        for layer in report.layers
        for line in layer.bounds
        if "n ≤ N" in line.quantity and line.log is not None
    ]
    rows = own_rows.rows(network, given)
    assert [(row.layer, row.quantity, row.statement, row.log_bound) for row in rows] == [
        (*line, pytest.approx(log, abs=1e-8)) for *line, log in lines
    ]
    assert rows and {row.verdict for row in rows} == {"not-refuted"}
    ledger = try_recurrent(network, network, given, Registry())
    assert NOTHING_KNOWN not in ledger.notes
    measured = {(row.layer, row.quantity): float(row.log_measured or 0.0) for row in rows}

    def lowered(*arguments: object, **options: object) -> object:
        layers = [
            replace(
                layer,
                bounds=tuple(
                    replace(line, log=measured.get((layer.layer, own_rows.in_a_table(line.quantity)), 0.0) - 1e-6)
                    for line in layer.bounds
                ),
            )
            for layer in report.layers
        ]
        return replace(report, layers=tuple(layers))

    monkeypatch.setattr(own_rows, "certify", lowered)
    assert {row.verdict for row in own_rows.rows(network, given)} == {"suspect"}


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
