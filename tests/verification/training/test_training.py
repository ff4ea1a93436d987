"""Training: a run that is killed and continued is, bit for bit, the run that was not; refusals name their line."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from verification import tasks
from verification.tasks.task import TaskSpec
from verification.training import TrainingError, checkpoints, configuration, loop, network, optimizers
from verification.training.processes import Processes

CHECKOUT = Path(__file__).resolve().parents[3]

TEXT = """
[task]
name = "adding"
steps = 12
count = 50

[network]
cell = "unicornn"
hidden_size = 6
num_layers = 2
dt = 0.2
alpha = 1.0
dropout = 0.3

[optimizer]
name = "adamw"
lr = 0.01
weight_decay = 0.01

[[optimizer.groups]]
parameters = ["readout.*"]
lr = 0.003

[training]
epochs = 3
batch_size = 16
checkpoint_every = 1
clip_norm = 1.0
milestones = [[2, 0.1]]
seed = 3
"""


def plan(tmp_path: Path, text: str = TEXT) -> configuration.Configuration:
    path = tmp_path / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return configuration.read(path)


def tensors(folder: Path, name: str = loop.LATEST) -> dict[str, torch.Tensor]:
    return dict(checkpoints.read(folder / name).tensors)


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


class StoppedError(Exception):
    pass


def stop_at(step: int) -> Any:
    def watch(model: nn.Module, now: int) -> None:
        if now == step:
            raise StoppedError

    return watch


# --- a run ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 3, 4, 6, 11])
def test_a_stopped_run_ends_with_the_same_bits(tmp_path: Path, step: int) -> None:
    """Stopped before the checkpoint of that step: within an epoch, at its end, and after the learning rates changed."""
    whole = loop.train(plan(tmp_path), tmp_path / "whole")
    with pytest.raises(StoppedError):
        loop.train(plan(tmp_path), tmp_path / "stopped", watchers=[stop_at(step)])
    seen: list[int] = []
    again = loop.train(plan(tmp_path), tmp_path / "stopped", watchers=[lambda model, now: seen.append(now)])
    assert seen == list(range(step, 13))
    assert same(tensors(tmp_path / "whole"), tensors(tmp_path / "stopped"))
    assert same(tensors(tmp_path / "whole", loop.BEST), tensors(tmp_path / "stopped", loop.BEST))
    assert again.test == whole.test and again.best_epoch == whole.best_epoch
    untimed = [
        [{key: value for key, value in row.items() if "second" not in key} for row in each.progress.history]
        for each in (whole, again)
    ]
    assert untimed[0] == untimed[1] and len(untimed[0]) == 3


def test_another_seed_is_another_run(tmp_path: Path) -> None:
    """So that the equality above is not that of runs in which nothing happens."""
    loop.train(plan(tmp_path), tmp_path / "one")
    loop.train(plan(tmp_path).replaced(seed=4), tmp_path / "other")
    one, other = tensors(tmp_path / "one"), tensors(tmp_path / "other")
    assert not torch.equal(one["model.readout.weight"], other["model.readout.weight"])


def test_a_killed_process_is_continued(tmp_path: Path) -> None:
    """SIGKILL, in the middle of whatever it does; twice the same command, and the files of a run in one go."""
    plan(tmp_path, TEXT.replace("epochs = 3", "epochs = 40"))
    command = [sys.executable, "-m", "verification", "train", "adding", "--config", "plan.toml", "--into"]
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT), "OMP_NUM_THREADS": "1"}
    latest = tmp_path / "killed" / loop.LATEST
    process = subprocess.Popen([*command, "killed"], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not latest.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert checkpoints.read(latest).facts["progress"]["step"] < 160
    for name in ("killed", "whole"):
        done = subprocess.run(
            [*command, name], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith("adding, unicornn: test loss ")
    assert same(tensors(tmp_path / "killed"), tensors(tmp_path / "whole"))
    assert not list((tmp_path / "whole").glob(".*"))


def test_what_is_written(tmp_path: Path) -> None:
    found = loop.train(plan(tmp_path), tmp_path / "run")
    facts = json.loads((tmp_path / "run" / loop.RUN).read_text())
    result = json.loads((tmp_path / "run" / loop.RESULT).read_text())
    spec = tasks.get("adding").load("train", steps=12, count=50)[2]
    assert facts["data"]["train"]["sha256"] == spec.sha256
    assert facts["parameters"] == 6 * 2 + 6 * 6 + 2 * (6 * 3) + 6 + 1  # V, V, (w, b, c) twice, the readout
    assert result["test"] == found.test and result["baseline"] == pytest.approx(1 / 6)
    lines = (tmp_path / "run" / loop.LOG).read_text().splitlines()
    assert len(lines) == 4 and lines[3].split(",")[:3] == ["3", "12", "0.1"]


def test_the_training_loss_is_the_mean_over_the_epoch(tmp_path: Path) -> None:
    """Where nothing is learned and nothing dropped, it is the loss of the weights on the whole split."""
    text = (
        TEXT.replace("lr = 0.01", "lr = 0.0")
        .replace("lr = 0.003", "lr = 0.0")
        .replace("dropout = 0.3", "dropout = 0.0")
    )
    loop.train(plan(tmp_path, text), tmp_path / "run")
    facts = checkpoints.read(tmp_path / "run" / loop.LATEST).facts
    sequences, targets, _ = tasks.get("adding").load("train", steps=12, count=50)
    made = plan(tmp_path, text)
    model = network.build(made.network, spec(input_size=2, output_size=1, reads="last"), seed=3, dtype=torch.float32)
    errors = model(torch.from_numpy(sequences[:])).detach()[:, 0] - torch.from_numpy(targets)
    for row in facts["progress"]["history"]:
        assert row["train_loss"] == pytest.approx(float((errors**2).mean()), rel=1e-5)


def test_the_best_weights_are_those_of_the_best_row(tmp_path: Path) -> None:
    text = TEXT.replace("lr = 0.01\n", "lr = 0.5\n").replace("milestones = [[2, 0.1]]\n", "")
    found = loop.train(plan(tmp_path, text.replace("epochs = 3", "epochs = 6")), tmp_path / "run")
    losses = [row["validation_loss"] for row in found.progress.history]
    best = losses.index(min(losses)) + 1
    assert found.best_epoch == best
    assert checkpoints.read(tmp_path / "run" / loop.BEST).facts["row"]["epoch"] == best


def test_it_learns(tmp_path: Path) -> None:
    """A short sum: far below the loss of who sees nothing, on sequences that were not trained on."""
    text = TEXT
    for old, new in (
        ("steps = 12", "steps = 4"), ("count = 50", "count = 1000"), ("hidden_size = 6", "hidden_size = 16"),
        ("dt = 0.2", "dt = 0.5"), ("dropout = 0.3", "dropout = 0.0"), ("epochs = 3", "epochs = 20"),
        ("lr = 0.003", "lr = 0.01"), ("[[2, 0.1]]", "[[15, 0.1]]"), ("checkpoint_every = 1", "checkpoint_every = 500"),
    ):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    found = loop.train(plan(tmp_path, text), tmp_path / "run")
    assert found.test["loss"] is not None and found.test["loss"] < 0.5 / 6


def test_two_processes_are_one(tmp_path: Path) -> None:
    """gloo, started by torchrun; 50 sequences in batches of 16, the last of 2. Other order of sums: roundings."""
    text = TEXT.replace("dropout = 0.3", "dropout = 0.0") + 'dtype = "float64"\n'
    loop.train(plan(tmp_path, text), tmp_path / "one")
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-addr=127.0.0.1",
        "--master-port=0", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0",
        "-m", "verification", "train", "adding", "--config", "plan.toml", "--into", "two",
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.count("test loss") == 1  # one of the two speaks
    one, two = tensors(tmp_path / "one"), tensors(tmp_path / "two")
    for name, value in one.items():
        torch.testing.assert_close(two[name], value, rtol=1e-9, atol=1e-11, msg=name)
    assert json.loads((tmp_path / "two" / loop.RUN).read_text())["processes"] == 2
    single, double = (json.loads((tmp_path / name / loop.RESULT).read_text()) for name in ("one", "two"))
    assert double["test"]["loss"] == pytest.approx(single["test"]["loss"], rel=1e-9)


def test_unitary_weights_are_not_taken_off_their_group(tmp_path: Path) -> None:
    made = configuration.Network(cell="urnn", hidden_size=4, options={"capacity": "full"})
    with pytest.raises(TrainingError, match="MultiplicativeCayley"):
        network.build(made, spec(), seed=0, dtype=torch.float64)
    made = configuration.Network(cell="urnn", hidden_size=4, options={"capacity": "restricted"})
    network.build(made, spec(), seed=0, dtype=torch.float64)


def test_shares_are_disjoint_and_whole() -> None:
    items = np.arange(11)
    shares = [Processes(rank, 4).of(items) for rank in range(4)]
    assert sorted(np.concatenate(shares)) == list(range(11)) and max(map(len, shares)) == 3


# --- losses -----------------------------------------------------------------------------------------------------


def spec(**given: Any) -> TaskSpec:
    facts = {
        "name": "made", "split": "train", "loss": "squared error", "reads": "every", "steps": 4, "count": 3,
        "input_size": 1, "output_size": 2, "baseline": 1.0, "baseline_means": "", "origin": "", "sha256": "",
    }  # fmt: skip
    return TaskSpec(**(facts | given))


def test_losses_against_loops() -> None:
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(4, 3, 2, generator=generator, dtype=torch.float64)
    numbers = torch.randn(4, 3, 2, generator=generator, dtype=torch.float64)
    classes = torch.tensor([[0, 1, 1], [1, 0, 1], [0, 0, 1], [1, 1, 1]])
    lengths = (4, 1, 3)
    real = torch.arange(4)[:, None] < torch.tensor(lengths)

    def error(n: int, i: int) -> float:
        return float(((outputs[n, i] - numbers[n, i]) ** 2).mean())

    def surprise(n: int, i: int) -> float:
        return -float(outputs[n, i].log_softmax(0)[classes[n, i]])

    for loss, targets, each in (("squared error", numbers, error), ("cross entropy", classes, surprise)):
        whole = sum(each(n, i) for n in range(4) for i in range(3)) / 4
        assert float(network.loss_sum(outputs, targets, spec(loss=loss))) == pytest.approx(whole, rel=1e-12)
        part = sum(each(n, i) for i in range(3) for n in range(lengths[i])) / (8 / 3)
        found = network.loss_sum(outputs, targets, spec(loss=loss, lengths=lengths), real)
        assert float(found) == pytest.approx(part, rel=1e-12)
    last = network.loss_sum(outputs[-1], classes[-1], spec(loss="cross entropy", reads="last"))
    assert float(last) == pytest.approx(sum(surprise(3, i) for i in range(3)), rel=1e-12)
    right = [[int(outputs[n, i].argmax() == classes[n, i]) for i in range(3)] for n in range(4)]
    assert network.correct(outputs, classes) == (sum(map(sum, right)), 12)
    assert network.correct(outputs, classes, real)[1] == 8


def test_numbers_of_one_column() -> None:
    outputs, targets = torch.tensor([[1.0], [3.0]]), torch.tensor([0.0, 1.0])
    assert float(network.loss_sum(outputs, targets, spec(reads="last", output_size=1))) == 5.0


def test_the_learning_rate_falls_after_its_epoch() -> None:
    milestones = ((2, 0.1), (4, 0.5))
    assert [optimizers.factor(milestones, epoch) for epoch in range(5)] == [1, 1, 0.1, 0.1, 0.05]


def test_the_forget_gate_of_an_lstm() -> None:
    made = configuration.Network(cell="torch.lstm", hidden_size=4, options={"forget_bias": 2.0})
    lstm = network.build(made, spec(), seed=0, dtype=torch.float64).recurrent
    gate = (lstm.bias_ih_l0 + lstm.bias_hh_l0).detach()
    assert torch.equal(gate[4:8], torch.full((4,), 2.0, dtype=torch.float64)) and not (gate[:4] == 2.0).any()


# --- what is refused --------------------------------------------------------------------------------------------

WRONG = {
    "cell missing": ('cell = "unicornn"\n', "", r"cell is missing in \[network\]"),
    "unknown cell": ('"unicornn"', '"unicorn"', r'Did you mean "unicornn"'),
    "unknown option": ("alpha = 1.0", "alfa = 1.0", r'takes no "alfa"\. Did you mean "alpha"'),
    "impossible option": ("dt = 0.2", "dt = 2.0", r"\[network\] unicornn: .*dt"),
    "unknown key": ("batch_size", "batchsize", r'line 26, batchsize: .* Did you mean "batch_size"'),
    "negative": ("batch_size = 16", "batch_size = -1", r"line 26, batch_size: is -1; it must be an integer from 1 on"),
    "true as a number": ("epochs = 3", "epochs = true", r"line 25, epochs: is True"),
    "optimizer": ('"adamw"', '"adan"', r"line 16, name: is 'adan'; it must be one of adam, adamw, rmsprop, sgd"),
    "its option": ("weight_decay", "weight_decai", r'line 18, weight_decai: .* Did you mean "weight_decay"'),
    "its value": ("lr = 0.01", "lr = -0.01", r"\[optimizer\] adamw: Invalid learning rate"),
    "pattern": ('"readout.*"', '"readin.*"', r'the pattern "readin\.\*" matches no parameter\. There are: recurrent'),
    "option of a group": ("lr = 0.003", "lrr = 0.003", r'line 22, lrr: "lrr" means nothing here'),
    "milestones": ("[[2, 0.1]]", "[[2, 0.1], [1, 0.1]]", r"line 29, milestones: .*rising epochs"),
    "table": ("[training]", "[trainin]", r'"trainin" means nothing here\. Did you mean "training"'),
    "task": ('"adding"', '"addition"', r'\[task\] No task is called "addition"\. Did you mean "adding"'),
    "option of a task": ("steps = 12", "step = 12", r"\[task\] adding: .*'step'"),
    "no toml": ("epochs = 3", "epochs 3", r"is no TOML: .*line 25"),
}  # fmt: skip


@pytest.mark.parametrize("old, new, message", WRONG.values(), ids=WRONG)
def test_wrong_configurations(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(TrainingError, match=message) as error:
        loop.train(plan(tmp_path, TEXT.replace(old, new, 1)), tmp_path / "run")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_a_parameter_is_in_one_group() -> None:
    groups = (configuration.Group(parameters=("a*",), options={}), configuration.Group(parameters=("*b",), options={}))
    made = configuration.Optimizer(name="sgd", options={"lr": 1.0}, groups=groups)
    with pytest.raises(TrainingError, match="1 and 2 both have ab"):
        optimizers.make(made, [("ab", nn.Parameter(torch.zeros(1))), ("c", nn.Parameter(torch.zeros(1)))])


def test_another_configuration_in_the_folder(tmp_path: Path) -> None:
    loop.train(plan(tmp_path), tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    with pytest.raises(TrainingError, match=r"\[training\] batch_size: 16 there, 17 here"):
        loop.train(plan(tmp_path).replaced(batch_size=17), tmp_path / "run")
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_a_loss_that_is_not_finite_keeps_the_checkpoint(tmp_path: Path) -> None:
    text = (
        TEXT.replace("lr = 0.01\n", "lr = 1e30\n").replace("lr = 0.003", "lr = 1e30").replace("clip_norm = 1.0\n", "")
    )
    with pytest.raises(TrainingError, match=r"The loss is (nan|inf) in step \d+ .* lower lr"):
        loop.train(plan(tmp_path, text), tmp_path / "run")
    assert checkpoints.read(tmp_path / "run" / loop.LATEST).facts["progress"]["step"] >= 1


# --- checkpoints ------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "kept.safetensors"
    checkpoints.write(path, {"model.a": torch.arange(6.0).view(2, 3)}, {"progress": {"step": 5}})
    return path


def test_a_checkpoint_comes_back(kept: Path) -> None:
    found = checkpoints.read(kept)
    assert torch.equal(found.part("model.")["a"], torch.arange(6.0).view(2, 3)) and found.facts["progress"] == {
        "step": 5
    }


@pytest.mark.parametrize("size", [0, 7, 40, -1])
def test_a_truncated_checkpoint(kept: Path, size: int) -> None:
    kept.write_bytes(kept.read_bytes()[:size])
    with pytest.raises(TrainingError, match=r"cannot be read: .* use another one"):
        checkpoints.read(kept)


def test_a_damaged_checkpoint(kept: Path) -> None:
    content = bytearray(kept.read_bytes())
    content[-1] ^= 1
    kept.write_bytes(content)
    with pytest.raises(TrainingError, match="is damaged: its tensors have SHA-256"):
        checkpoints.read(kept)


def test_somebody_elses_checkpoint(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(TrainingError, match="it is none of `odernn train`"):
        checkpoints.read(tmp_path / "other.safetensors")
    with pytest.raises(TrainingError, match="does not exist"):
        checkpoints.read(tmp_path / "none.safetensors")


def test_a_full_disk_loses_nothing(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    before = kept.read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        TrainingError, match=r"cannot be written: no space left on device\. What was there is unchanged"
    ):
        checkpoints.write(kept, {"model.a": torch.zeros(1)}, {})
    assert kept.read_bytes() == before and list(kept.parent.iterdir()) == [kept]


def test_a_run_does_not_continue_from_a_damaged_checkpoint(tmp_path: Path) -> None:
    loop.train(plan(tmp_path), tmp_path / "run")
    latest = tmp_path / "run" / loop.LATEST
    latest.write_bytes(latest.read_bytes()[:-3])
    with pytest.raises(TrainingError, match="cannot be read"):
        loop.train(plan(tmp_path), tmp_path / "run")


def test_configurations_of_the_library_are_whole() -> None:
    assert configuration.names()
    for name in configuration.names():
        found = configuration.read(name)
        assert configuration.from_mapping(found.to_plain()) == found
        options = tasks.get(found.task.name).options
        assert set(found.task.options) <= set(options)
        made = network.build(found.network, spec(), seed=0, dtype=torch.float32)
        optimizers.make(found.optimizer, list(made.named_parameters()))


def test_seeds_of_steps_differ() -> None:
    seeds = {loop.mixed(seed, step, rank) for seed in range(3) for step in range(20) for rank in range(3)}
    assert len(seeds) == 180 and all(0 <= seed < 2**63 for seed in seeds) and math.log2(max(seeds)) > 60


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TrainingError, match="cannot be made"):
        loop.train(plan(tmp_path), tmp_path / "file" / "run")
