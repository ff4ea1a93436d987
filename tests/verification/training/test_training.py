"""Training: a run that is killed and continued is, bit for bit, the run that was not; refusals keep what is there."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.verification.training.plans import CHECKOUT, TEXT, StoppedError, plan, same, spec, stop_at, tensors
from verification import tasks
from verification.cli import main
from verification.training import TrainingError, checkpoints, loop, network
from verification.training.processes import Processes, processes


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> loop.Result:
    """The run that was not stopped."""
    folder = tmp_path_factory.mktemp("run")
    return loop.train(plan(folder), folder / "whole")


@pytest.mark.parametrize("step", [1, 3, 4, 6, 11])
def test_a_stopped_run_ends_with_the_same_bits(tmp_path: Path, step: int, whole: loop.Result) -> None:
    """Stopped before the checkpoint of that step: within an epoch, at its end, and after the learning rates changed."""
    with pytest.raises(StoppedError):
        loop.train(plan(tmp_path), tmp_path / "stopped", watchers=[stop_at(step)])
    seen: list[int] = []
    again = loop.train(plan(tmp_path), tmp_path / "stopped", watchers=[lambda model, now: seen.append(now)])
    assert seen == list(range(step, 13))
    assert same(tensors(whole.folder), tensors(tmp_path / "stopped"))
    assert same(tensors(whole.folder, loop.BEST), tensors(tmp_path / "stopped", loop.BEST))
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


@pytest.mark.usefixtures("elsewhere")
def test_a_killed_process_is_continued(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SIGKILL, in the middle of whatever it does, then the same command in this process; beside it the run in one."""
    made = plan(tmp_path, TEXT.replace("epochs = 3", "epochs = 15"))
    command = ["train", "adding", "--config", "plan.toml", "--into", "killed"]
    threads = str(torch.get_num_threads())
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT), "OMP_NUM_THREADS": threads}
    latest = tmp_path / "killed" / loop.LATEST
    process = subprocess.Popen(
        [sys.executable, "-m", "verification", *command], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not latest.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert checkpoints.read(latest).facts["progress"]["step"] < 60
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("adding, unicornn: test loss ")
    loop.train(made, tmp_path / "whole")
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
        ("steps = 12", "steps = 4"), ("count = 50", "count = 500"), ("hidden_size = 6", "hidden_size = 16"),
        ("dt = 0.2", "dt = 0.5"), ("dropout = 0.3", "dropout = 0.0"), ("epochs = 3", "epochs = 10"),
        ("lr = 0.01\n", "lr = 0.03\n"), ("lr = 0.003", "lr = 0.03"), ("[[2, 0.1]]", "[[8, 0.1]]"),
        ("checkpoint_every = 1", "checkpoint_every = 500"),
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


def test_several_processes_are_for_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(TrainingError, match=r"--device cuda: 2 processes train on the CPU only"), processes("cuda"):
        pass


def test_the_progress_has_throughput_and_the_time_left(tmp_path: Path) -> None:
    said: list[tuple[str, int, int]] = []
    loop.train(plan(tmp_path), tmp_path / "run", report=lambda kind, done, total: said.append((kind, done, total)))
    assert [(done, total) for _, done, total in said] == [(step, 12) for step in range(1, 13)]
    pattern = r"epoch (\d)/3, loss [\d.e-]+, [1-9]\d* sequences/s, \d+:\d\d left, step"
    found = [re.fullmatch(pattern, kind) for kind, _, _ in said]
    assert [match and match[1] for match in found] == list("111122223333")
    assert said[-1][0].endswith(" 0:00 left, step")


def test_shares_are_disjoint_and_whole() -> None:
    items = np.arange(11)
    shares = [Processes(rank, 4).of(items) for rank in range(4)]
    assert sorted(np.concatenate(shares)) == list(range(11)) and max(map(len, shares)) == 3


def test_seeds_of_steps_differ() -> None:
    seeds = {loop.mixed(seed, step, rank) for seed in range(3) for step in range(20) for rank in range(3)}
    assert len(seeds) == 180 and all(0 <= seed < 2**63 for seed in seeds) and math.log2(max(seeds)) > 60


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
