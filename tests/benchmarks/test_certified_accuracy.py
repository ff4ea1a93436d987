"""benchmarks/certified_accuracy.py: the tables of docs/guarantees.md are of its record, and no certificate is broken.

The peers are seen to bound what they say on small networks: intervals hold what is drawn in them.
"""

from __future__ import annotations

import json
import math
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from odernn import DampedUnICORNN, ScoRNN, UnICORNN
from tests.benchmarks.scripts import imported

prices = imported("_prices")
peers = imported("_interval_peers")
STEPS = 6


@pytest.fixture
def script() -> ModuleType:
    return imported("certified_accuracy")


def test_the_tables_are_those_of_the_record(script: ModuleType) -> None:
    text = prices.PAGE.read_text("utf-8")
    assert text == script.page(text, prices.opened(script.NAME))


def test_the_line_about_784_steps_is_of_its_record() -> None:
    script, text = imported("certified_mnist"), prices.PAGE.read_text("utf-8")
    record = json.loads((script.RESULTS / f"{script.NAME}.json").read_text("utf-8"))
    assert prices.with_table(text, script.NAME, script.line(record)) == text
    assert all(0 < c < a for c, a in zip(record["certified"], record["attacked"], strict=True) if a)


def test_the_record_is_of_the_plan_and_no_certificate_in_it_is_broken(script: ModuleType) -> None:
    runs, keys = prices.opened(script.NAME), script.keys()
    assert runs
    for key, run in runs.items():
        contestant, _ = keys[key]
        assert run["digest"] == script.digest(contestant)
        assert (run["certified"] is None) == (contestant.cell in ("lstm", "gru"))
        assert all(a >= b for a, b in zip(run["attacked"], run["attacked"][1:], strict=False))
        if run["certified"] is not None:
            broken, balls = run["violated"]
            assert broken == 0 and balls > 100
            assert all(c <= a for c, a in zip(run["certified"], run["attacked"], strict=True))


CELLS: dict[str, Any] = {
    "UnICORNN": lambda: UnICORNN(1, 4, 2, dt=0.5, alpha=1.0, dtype=torch.float64),
    "DampedUnICORNN": lambda: DampedUnICORNN(1, 4, 2, dt=0.5, alpha=4.0, gamma=2.0, rate=0.4, dtype=torch.float64),
    "ScoRNN": lambda: ScoRNN(1, 4, rho=2, nonexpansive=True, initial="glorot", dtype=torch.float64),
    "LSTM": lambda: nn.LSTM(1, 4, dtype=torch.float64),
    "GRU": lambda: nn.GRU(1, 4, dtype=torch.float64),
}


def inputs(count: int, seed: int) -> Tensor:
    return torch.rand(STEPS, count, 1, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("cell", CELLS)
def test_intervals_hold_what_is_drawn_in_them(cell: str) -> None:
    torch.manual_seed(0)
    network, eps, u = CELLS[cell](), 0.2, inputs(1, 0)
    with torch.no_grad():
        low, high = peers.last_row(network, (u - eps, u + eps))
        ends = u + eps * torch.sign(torch.randn(STEPS, 500, 1, dtype=torch.float64))
        rows = network(ends)[0][-1]
    assert bool((rows >= low - 1e-12).all() and (rows <= high + 1e-12).all())
    assert float(((rows.amax(0) - rows.amin(0)) / (high - low)[0]).max()) > 0.02
    width = float((high - low).max())
    narrow = peers.last_row(network, (u - eps / 1000, u + eps / 1000))
    assert float((narrow[1] - narrow[0]).max()) < width / 100


@pytest.mark.parametrize("cell", CELLS)
def test_the_product_of_norms_bounds_the_jacobian(cell: str) -> None:
    torch.manual_seed(1)
    network, u = CELLS[cell](), inputs(1, 1)

    def last(v: Tensor) -> Tensor:
        found: Tensor = network(v)[0][-1, 0]
        return found

    J = torch.autograd.functional.jacobian(last, u).flatten(1)
    bound = math.exp(peers.log_product_of_norms(network, STEPS))
    assert 0 < float(torch.linalg.matrix_norm(J, 2)) <= bound * (1 + 1e-9)


def test_a_margin_over_the_product_of_norms_is_a_radius(script: ModuleType) -> None:
    """One linear neuron: scores ±2 Σu of nine inputs have the margin 4 Σu, the constant 2 √9 and the rows 2 apart."""
    cell = ScoRNN(1, 1, rho=0, bias=False, nonexpansive=True, dtype=torch.float64)
    model = nn.Module()
    model.cell, model.readout = cell, nn.Linear(1, 2, bias=False, dtype=torch.float64)
    model.forward = lambda v: model.readout(cell(v)[0][-1])
    with torch.no_grad():
        cell.layers[0].U.fill_(2.0)
        model.readout.weight.copy_(torch.tensor([[1.0], [-1.0]]))
    u = torch.full((9, 1, 1), 0.1, dtype=torch.float64)
    assert float(script.norm_radii(model, u, torch.tensor([0]))) == pytest.approx(0.3)
