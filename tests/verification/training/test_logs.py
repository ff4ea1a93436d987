"""What a run writes for people: log.csv and, where tensorboard is installed, its events, read by its own reader."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from torch import nn

from tests.verification.training.plans import StoppedError, plan, stop_at
from verification.training import TrainingError, loop


def test_tensorboard_has_the_rows_of_the_log(tmp_path: Path) -> None:
    """Continued from before the second evaluation, which was written, too: each is there once, as in log.csv."""
    pytest.importorskip("tensorboard", reason='needs pip install "odernn[tensorboard]"')
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    latest = tmp_path / "run" / loop.LATEST
    kept: dict[int, bytes] = {}

    def keep(model: nn.Module, step: int) -> None:
        kept[step] = latest.read_bytes() if latest.exists() else b""

    with pytest.raises(StoppedError):
        loop.train(plan(tmp_path), tmp_path / "run", watchers=[keep, stop_at(10)], tensorboard=True)
    latest.write_bytes(kept[7])
    found = loop.train(plan(tmp_path), tmp_path / "run", tensorboard=True)
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    history = found.progress.history
    assert [row["step"] for row in history] == [4, 8, 12]
    assert "validation_accuracy" not in events.Tags()["scalars"]  # the task has no such number
    for name in ("train_loss", "validation_loss", "learning_rate_factor"):
        scalars = events.Scalars(name)
        assert [event.step for event in scalars] == [4, 8, 12]
        assert [event.value for event in scalars] == pytest.approx([row[name] for row in history], rel=1e-6)  # float32


def test_without_tensorboard_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(
        TrainingError, match=r'--tensorboard: needs tensorboard .* pip install "odernn\[tensorboard\]"\.'
    ):
        loop.train(plan(tmp_path), tmp_path / "run", tensorboard=True)
    assert not (tmp_path / "run").exists()
