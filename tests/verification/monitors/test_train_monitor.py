"""``odernn train --monitor``: the run has the same bits, and the store has rows."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from verification import cli
from verification.monitors import BoundMonitor, Measurement
from verification.run.store import Store
from verification.training import checkpoints, configuration, loop

TEXT = """
[task]
name = "adding"
steps = 12
count = 60

[network]
cell = "CELL"
hidden_size = 6
num_layers = 2
OPTIONS

[optimizer]
name = "adam"
lr = 0.01

[training]
epochs = 2
batch_size = 20
clip_norm = 1.0
"""
CELLS = {"unicornn": "dt = 0.2\nalpha = 1.0\ndropout = 0.3", "scornn": "rho = 2", "torch.gru": ""}


def written(tmp_path: Path, cell: str) -> Path:
    path = tmp_path / "c.toml"
    path.write_text(TEXT.replace("CELL", cell).replace("OPTIONS", CELLS[cell]), encoding="utf-8")
    return path


@pytest.mark.parametrize("cell", CELLS)
def test_a_watched_run_of_the_loop_has_the_same_bits(tmp_path, cell):
    plan = configuration.read(str(written(tmp_path, cell)))
    loop.train(plan, tmp_path / "plain")
    with BoundMonitor(None, every=2, store=tmp_path / "m.sqlite") as monitor:
        loop.train(plan, tmp_path / "watched", watchers=[monitor])
    one, other = (checkpoints.read(tmp_path / name / loop.LATEST) for name in ("plain", "watched"))
    for a, b in zip(one.part(loop.MODEL).values(), other.part(loop.MODEL).values(), strict=True):
        assert torch.equal(a, b)
    assert {each.step for each in monitor.records} == {2, 4, 6}
    assert {each.layer for each in monitor.records if each.quantity == "gradient_norm"} == {
        f"recurrent.{'l' if '.' in cell else 'layers.'}{number}" for number in range(2)
    }


@pytest.mark.usefixtures("elsewhere")
def test_the_command_writes_to_the_folder_of_the_run(tmp_path):
    path = written(tmp_path, "unicornn")
    assert cli.main(["train", "adding", "--config", str(path), "--into", str(tmp_path / "run"), "--monitor", "3"]) == 0
    with Store(tmp_path / "run" / "monitor.sqlite", writable=False) as store:
        found = [Measurement.of_row(row) for row in store.measurements()]
    assert {each.step for each in found} == {2, 3, 6}
    assert {"largest_y", "gradient_norm", "reconstruction_error"} <= {each.quantity for each in found}
    assert not any(each.holds is False for each in found)
