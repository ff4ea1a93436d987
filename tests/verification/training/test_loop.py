"""The loop against the same training written out: orders, masks, clipping, rates, evaluations, what is kept when."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from tests.verification.training.plans import TEXT, StoppedError, plan, spec, stop_at, tensors
from verification import tasks
from verification.tasks.task import Batched
from verification.training import TrainingError, checkpoints, loop, network
from verification.training.processes import Processes

SUM = spec(input_size=2, output_size=1, reads="last")
CLIPPED = TEXT.replace("clip_norm = 1.0", "clip_norm = 2.7\nevaluation_batch = 7") + 'dtype = "float64"\n'
STILL = TEXT.replace("lr = 0.01", "lr = 0.0").replace("lr = 0.003", "lr = 0.0")


def split(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    sequences, targets, _ = tasks.get("adding").load(name, steps=12, count=50)
    return torch.from_numpy(sequences[:]).double(), torch.from_numpy(targets).double()


def error(model: nn.Module, name: str) -> float:
    """The mean over a split, all at once."""
    sequences, targets = split(name)
    with torch.no_grad():
        return float(((model.eval()(sequences)[:, 0] - targets) ** 2).mean())


def test_a_run_is_the_training_written_out(tmp_path: Path) -> None:
    """Three epochs of 50 sequences in batches of 16, the last of 2: float64, so that only roundings may differ."""
    made = plan(tmp_path, CLIPPED)
    model = network.build(made.network, SUM, seed=3, dtype=torch.float64)
    readout = [value for name, value in model.named_parameters() if name.startswith("readout.")]
    rest = [value for name, value in model.named_parameters() if not name.startswith("readout.")]
    optimizer = torch.optim.AdamW([{"params": rest}, {"params": readout, "lr": 0.003}], lr=0.01, weight_decay=0.01)
    sequences, targets = split("train")
    step, norms, expected = 0, [], []
    for epoch, factor in enumerate((1.0, 1.0, 0.1)):
        order, total = np.random.default_rng([3, epoch]).permutation(50), 0.0
        for group, rate in zip(optimizer.param_groups, (0.01, 0.003), strict=True):
            group["lr"] = rate * factor
        for start in (0, 16, 32, 48):
            chosen = torch.from_numpy(order[start : start + 16])
            model.train()
            with torch.random.fork_rng():
                torch.manual_seed(loop.mixed(3, step, 0))
                errors = (model(sequences[:, chosen])[:, 0] - targets[chosen]) ** 2
            optimizer.zero_grad()
            errors.mean().backward()
            norm = float(sum((value.grad**2).sum() for value in (*rest, *readout))) ** 0.5
            for value in (*rest, *readout):
                value.grad *= min(1.0, 2.7 / (norm + 1e-6))  # as torch has it
            optimizer.step()
            step, total = step + 1, total + float(errors.detach().sum())
            norms.append(norm)
        expected.append((epoch + 1, step, factor, total / 50, error(model, "validation")))
    assert min(norms) < 2.7 < max(norms)  # some are clipped, some are not
    found = loop.train(made, tmp_path / "run")
    for name, value in model.state_dict().items():
        torch.testing.assert_close(tensors(tmp_path / "run")[f"model.{name}"], value, rtol=1e-10, atol=1e-12, msg=name)
    columns = ("epoch", "step", "learning_rate_factor", "train_loss", "validation_loss")
    for row, numbers in zip(found.progress.history, expected, strict=True):
        assert [row[column] for column in columns] == pytest.approx(numbers, rel=1e-10)


def test_the_test_split_is_for_the_best_weights(tmp_path: Path) -> None:
    text = CLIPPED
    for old, new in (
        ("lr = 0.01\n", "lr = 0.5\n"), ("clip_norm = 2.7\n", ""), ("milestones = [[2, 0.1]]\n", ""),
        ("epochs = 3", "epochs = 6"),
    ):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    made = plan(tmp_path, text)
    found = loop.train(made, tmp_path / "run")
    assert found.best_epoch < 6
    losses = {}
    for name in (loop.BEST, loop.LATEST):
        model = network.build(made.network, SUM, seed=0, dtype=torch.float64)
        model.load_state_dict(checkpoints.read(tmp_path / "run" / name).part("model."))
        losses[name] = error(model, "test")
    assert found.test["loss"] == pytest.approx(losses[loop.BEST], rel=1e-10)
    assert abs(losses[loop.LATEST] / losses[loop.BEST] - 1) > 1e-3
    with pytest.raises(StoppedError):
        loop.train(made, tmp_path / "stopped", watchers=[stop_at(23)])
    again = loop.train(made, tmp_path / "stopped")  # the last epoch, which is not the best
    assert (again.best_epoch, again.test) == (found.best_epoch, found.test)


SMALL = """
[task]
name = "copying_memory"
silence = 2
count = 60
[network]
cell = "torch.rnn"
hidden_size = 8
[optimizer]
name = "adam"
lr = 0.05
[training]
epochs = 1
batch_size = 20
checkpoint_every = 1000
"""


def test_the_best_accuracy_is_the_greatest(tmp_path: Path) -> None:
    """Of equal ones the first, whatever the losses are."""
    text = SMALL.replace("epochs = 1", "epochs = 8")
    found = loop.train(plan(tmp_path, text), tmp_path / "run")
    accuracies = [row["validation_accuracy"] for row in found.progress.history]
    assert max(accuracies) > min(accuracies)
    assert found.best_epoch == accuracies.index(max(accuracies)) + 1


def test_patience_and_what_is_evaluated(tmp_path: Path) -> None:
    """Where nothing is learned the first evaluation is the best: two more, and it is over, also for who comes later."""
    patient = plan(tmp_path, STILL.replace("epochs = 3", "epochs = 20\npatience = 2\nevaluate_every = 3"))
    for _ in range(2):
        found = loop.train(patient, tmp_path / "patient")
        assert ([row["epoch"] for row in found.progress.history], found.best_epoch) == ([3, 6, 9], 3)
    to_the_end = plan(tmp_path, STILL.replace("epochs = 3", "epochs = 5\nevaluate_every = 2"))
    found = loop.train(to_the_end, tmp_path / "end")
    assert [row["epoch"] for row in found.progress.history] == [2, 4, 5]


def test_when_there_is_a_checkpoint(tmp_path: Path) -> None:
    """Every three steps, and after the epochs of four."""
    latest = tmp_path / "run" / loop.LATEST
    seen: list[int] = []

    def watch(model: nn.Module, step: int) -> None:
        seen.append(checkpoints.read(latest).facts["progress"]["step"] if latest.exists() else 0)

    loop.train(
        plan(tmp_path, TEXT.replace("checkpoint_every = 1", "checkpoint_every = 3")), tmp_path / "run", watchers=[watch]
    )
    assert seen == [0, 0, 0, 3, 4, 4, 6, 6, 8, 9, 9, 9]


def test_noise_is_new_in_every_epoch_of_training_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, list[int]] = {"train": [], "validation": [], "test": []}

    def load(name: str, root: Any = None) -> Any:
        def make(chosen: NDArray[np.intp], epoch: int) -> NDArray[np.float32]:
            asked[name].append(epoch)
            return np.zeros((4, len(chosen), 2), dtype=np.float32)

        made = spec(input_size=2, output_size=1, reads="last", count=50, split=name)
        return Batched((4, 50, 2), make), np.zeros(50, dtype=np.float32), made

    monkeypatch.setattr(tasks, "get", lambda name, extra: SimpleNamespace(load=load, options={}))
    loop.train(plan(tmp_path, TEXT.replace("steps = 12\ncount = 50\n", "")), tmp_path / "run")
    assert asked == {"train": [0] * 4 + [1] * 4 + [2] * 4, "validation": [0] * 3, "test": [0]}


@pytest.mark.parametrize("asked", [True, False])
def test_deterministic_algorithms_as_asked_and_only_meanwhile(tmp_path: Path, *, asked: bool) -> None:
    seen: list[bool] = []
    text = TEXT + f"deterministic = {str(asked).lower()}\n"
    watch = lambda model, step: seen.append(torch.are_deterministic_algorithms_enabled())  # noqa: E731
    before = torch.are_deterministic_algorithms_enabled()
    loop.train(plan(tmp_path, text), tmp_path / "run", watchers=[watch])
    assert seen == [asked or before] * 12 and torch.are_deterministic_algorithms_enabled() == before


def test_weights_that_are_not_finite_are_never_the_best(tmp_path: Path) -> None:
    """Spoilt by the last step of an epoch: the accuracy may still be a number."""

    def spoil(model: nn.Module, step: int) -> None:
        if step == 3:
            with torch.no_grad():
                model.get_parameter("readout.bias")[0] = -torch.inf

    with pytest.raises(TrainingError, match=r"The weight readout\.bias is not finite after step 3"):
        loop.train(plan(tmp_path, SMALL), tmp_path / "run", watchers=[spoil])
    assert not (tmp_path / "run" / loop.BEST).exists()


def test_processes_that_begin_otherwise_do_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Processes, "agree", lambda self, text: False)
    with pytest.raises(TrainingError, match="do not begin alike"):
        loop.train(plan(tmp_path, SMALL), tmp_path / "run")


def test_the_last_checkpoint_in_place_of_the_best(tmp_path: Path) -> None:
    run = tmp_path / "run"
    loop.train(plan(tmp_path, SMALL), run)
    (run / loop.BEST).write_bytes((run / loop.LATEST).read_bytes())
    with pytest.raises(TrainingError, match=r"has no evaluation: it is a latest\.safetensors\. Put the right"):
        loop.train(plan(tmp_path, SMALL), run)
