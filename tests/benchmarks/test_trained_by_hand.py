"""The script that recomputes numbers of trained networks with numpy alone gives those of nearness.py."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from odernn import UnICORNN
from tests.benchmarks.scripts import BENCHMARKS, imported
from verification.training import checkpoints

by_hand = imported("trained_by_hand")
nearness = imported("nearness")


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_both_directions_of_differentiation_give_the_same_slack(scale: float) -> None:
    torch.manual_seed(1)
    network = UnICORNN(2, 9, 3, dt=0.05, alpha=3.0, dtype=torch.float64)
    with torch.no_grad():
        for layer in network.layers:
            layer.V.mul_(scale)
            layer.w.sub_(0.4).mul_(scale)
    u = torch.rand(30, 2, 2, dtype=torch.float64)
    layers = [
        {name: getattr(layer, name).detach().numpy() for name in ("V", "b", "w", "c")} for layer in network.layers
    ]
    again = by_hand.slacks(layers, 0.05, 3.0, [u[:, 0].numpy(), u[:, 1].numpy()])
    known = [nearness.paths([network], u[:, k : k + 1])[0] for k in range(2)]
    for statement, value in again.items():
        assert value == pytest.approx(min(each[statement] for each in known), abs=1e-9)


def test_archived_weights_are_read_as_the_library_reads_them() -> None:
    for path in sorted((BENCHMARKS / "results" / "trained").glob("bidmc_*/*.safetensors")):
        tensors = checkpoints.read(path).tensors
        for index, layer in enumerate(by_hand.weights(path)):
            for name, value in layer.items():
                assert np.array_equal(value, tensors[f"model.recurrent.layers.{index}.{name}"].double().numpy())
            assert set(layer) == {"V", "b", "w", "c"}


def test_every_archived_file_has_its_numbers_in_the_record() -> None:
    for row, (_, _, folder, _) in by_hand.ROWS.items():
        files = {path.stem for path in (BENCHMARKS / "results" / "trained" / folder).glob("*.safetensors")}
        assert set(by_hand.published(row)) == files and len(files) >= 4
        plan = json.loads((BENCHMARKS / "results" / "trained" / folder / "run.json").read_text("utf-8"))
        dt, alpha = by_hand.ROWS[row][:2]
        assert plan["configuration"]["network"]["dt"] == dt and plan["configuration"]["network"]["alpha"] == alpha


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record of two numbers, and nothing of the data."""
    monkeypatch.setattr(by_hand, "published", lambda row: {"best": {"sam-54": 0.25}})
    monkeypatch.setattr(by_hand, "weights", lambda path: [])
    monkeypatch.setattr(by_hand, "windows", lambda root, column: [])


@pytest.mark.parametrize(
    ("again", "code"), [(0.25, 0), (0.25 + 1e-5, 1), (float("nan"), 1), (float("inf"), 1), (0.25 - 1e-5, 1)]
)
@pytest.mark.usefixtures("small")
def test_only_numbers_that_agree_are_a_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], again: float, code: int
) -> None:
    found = iter([0.25, again])  # the first one agrees
    monkeypatch.setattr(by_hand, "slacks", lambda *_: {"sam-54": next(found)})
    assert by_hand.main(["--root", "nowhere"]) == code
    assert "2 numbers" in capsys.readouterr().out


@pytest.mark.usefixtures("small")
def test_a_nan_counts_wherever_it_stands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = iter([float("nan"), 0.25])
    monkeypatch.setattr(by_hand, "slacks", lambda *_: {"sam-54": next(found)})
    assert by_hand.main(["--root", "nowhere"]) == 1
    assert "largest difference nan" in capsys.readouterr().out


def test_where_nothing_is_drawn_nothing_is_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert by_hand.main(["--root", "nowhere", "--count", "0"]) == 1
    monkeypatch.setattr(by_hand, "published", lambda row: {})
    assert by_hand.main(["--root", "nowhere"]) == 1
