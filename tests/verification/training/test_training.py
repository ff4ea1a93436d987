"""Training: a run that is killed and continued is, bit for bit, the run that was not; refusals keep what is there."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import shutil
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

from tests.verification.training.plans import CHECKOUT, TEXT, StoppedError, plan, same, spec, stop_at, tensors
from verification import tasks
from verification.cli import main
from verification.training import TrainingError, checkpoints, loop, network, splits
from verification.training.processes import Processes, processes


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> loop.TrainingResult:
    """The run that was not stopped."""
    folder = tmp_path_factory.mktemp("run")
    return loop.train(plan(folder), folder / "whole")


@pytest.mark.parametrize("step", [1, 3, 4, 6, 11])
def test_a_stopped_run_ends_with_the_same_bits(tmp_path: Path, step: int, whole: loop.TrainingResult) -> None:
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_two_processes_are_one(tmp_path: Path) -> None:
    """gloo, started by torchrun; 50 sequences in batches of 16, the last of 2. Other order of sums: roundings."""
    text = TEXT.replace("dropout = 0.3", "dropout = 0.0") + 'dtype = "float64"\n'
    loop.train(plan(tmp_path, text), tmp_path / "one")
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node=2",
        "--master-addr=127.0.0.1",
        "--master-port=0",
        "--rdzv-backend=c10d",
        "--rdzv-endpoint=127.0.0.1:0",
        "-m",
        "verification",
        "train",
        "adding",
        "--config",
        "plan.toml",
        "--into",
        "two",
    ]
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.count("test loss") == 1 and done.stderr.count("wrote two") == 1  # one of the two speaks
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


TOGETHER = """
import torch
from verification.training.processes import processes

with processes() as own:
    model = torch.nn.ModuleDict({name: torch.nn.Linear(1, 1, bias=False) for name in ("both", "one", "none")})
    model["both"].weight.grad = torch.full((1, 1), own.rank + 1.0)
    if own.rank == 1:
        model["one"].weight.grad = torch.full((1, 1), 5.0)
    own.add_gradients(model)
    found = [None if each.weight.grad is None else float(each.weight.grad) for each in model.values()]
    assert found == [3.0, 5.0, None], found
    assert own.agree("alike") and not own.agree(f"rank {own.rank}")
    if own.writes:
        print("done", own.count)
"""


def test_what_two_processes_add_and_compare(tmp_path: Path) -> None:
    """A weight without gradient has none with two processes either: zeros would let AdamW shrink it."""
    (tmp_path / "together.py").write_text(TOGETHER, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node=2",
        "--rdzv-backend=c10d",
        "--rdzv-endpoint=127.0.0.1:0",
        "together.py",
    ]
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout == "done 2\n", done.stderr


@pytest.mark.usefixtures("elsewhere")
def test_only_the_first_process_monitors_and_shows_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("plan.toml").write_text(TEXT, encoding="utf-8")
    for rank, monitored in (("1", False), ("0", True)):
        monkeypatch.setenv("RANK", rank)
        assert main(["train", "--config", "plan.toml", "--into", rank, "--monitor", "5"]) == 0
        assert Path(rank, "monitor.sqlite").exists() == monitored


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
    assert all(bool(value.isfinite().all()) for value in tensors(tmp_path / "run").values())


def test_weights_that_are_not_finite_are_never_kept(tmp_path: Path) -> None:
    """The loss of step 2 is finite; a watcher spoils a weight after it, as an update with an infinite gradient does."""

    def spoil(model: nn.Module, step: int) -> None:
        if step == 2:
            with torch.no_grad():
                model.get_parameter("readout.bias").fill_(math.inf)

    with pytest.raises(TrainingError, match=r"The weight readout\.bias is not finite after step 2\. .* from before"):
        loop.train(plan(tmp_path), tmp_path / "run", watchers=[spoil])
    found = checkpoints.read(tmp_path / "run" / loop.LATEST)
    assert found.facts["progress"]["step"] == 1 and bool(found.tensors["model.readout.bias"].isfinite().all())


def test_a_run_without_a_finite_evaluation_has_no_best_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop.TrainingRun, "evaluate", lambda self, data: {"loss": math.nan, "accuracy": None})
    with pytest.raises(TrainingError, match="No loss on the validation split was finite: no weights are best"):
        loop.train(plan(tmp_path), tmp_path / "run")
    assert not (tmp_path / "run" / loop.RESULT).exists()


class KilledError(BaseException):
    """Nothing catches it: the files are as after SIGKILL."""


@pytest.mark.slow
def test_a_kill_at_any_file_leaves_the_run_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before and after every file takes its name: run.json, checkpoints within and after epochs, the best weights,
    log.csv, result.json. Then the same command: the same bits, a row an epoch.
    """
    text = TEXT.replace("count = 50", "count = 20").replace("epochs = 3", "epochs = 2")
    made = plan(tmp_path, text.replace("milestones = [[2, 0.1]]", "milestones = [[1, 0.1]]"))
    whole = loop.train(made, tmp_path / "whole")
    replace, calls, at = os.replace, 0, 0

    def counted(source: Path, target: Path) -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            raise KilledError
        replace(source, target)
        calls += 1
        if calls == at:
            raise KilledError

    monkeypatch.setattr(os, "replace", counted)
    loop.train(made, tmp_path / "counting")
    points = calls
    assert points >= 2 * 9  # run.json, two steps and an end of an epoch twice, the log twice, best weights, the result
    for at in range(1, points + 1):
        calls, folder = 0, tmp_path / f"killed-{at}"
        with pytest.raises(KilledError):
            loop.train(made, folder)
        calls = -(10**9)
        again = loop.train(made, folder)
        assert again.test == whole.test and again.best_epoch == whole.best_epoch
        for name in (loop.LATEST, loop.BEST):
            assert same(tensors(whole.folder, name), tensors(folder, name)), (at, name)
        assert [line.split(",")[:6] for line in (folder / loop.LOG).read_text().splitlines()] == [
            line.split(",")[:6] for line in (whole.folder / loop.LOG).read_text().splitlines()
        ]


@pytest.mark.parametrize("content", ["[]", "{}", '{"configuration": 3}', '{"configuration": {"task": 3}}', "", "\x00"])
def test_a_damaged_description_of_the_run(tmp_path: Path, content: str, whole: loop.TrainingResult) -> None:
    shutil.copytree(whole.folder, tmp_path / "run")
    (tmp_path / "run" / loop.RUN).write_text(content)
    with pytest.raises(TrainingError, match=r"run\.json\" (is not what `odernn train` writes|cannot be read)"):
        loop.train(plan(tmp_path), tmp_path / "run")


def test_best_weights_that_are_gone(tmp_path: Path) -> None:
    found = loop.train(plan(tmp_path), tmp_path / "run")
    (tmp_path / "run" / loop.BEST).unlink()
    with pytest.raises(TrainingError, match=rf"is gone, the weights of epoch {found.best_epoch}, .* Put it back"):
        loop.train(plan(tmp_path), tmp_path / "run")


def test_other_data_under_the_same_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noticed by run.json, and where that is lost by the checkpoint. Another origin of the same bytes is the same."""
    loop.train(plan(tmp_path), tmp_path / "run")
    load = splits.load

    def other(**facts: Any) -> None:
        def changed(*arguments: Any, **named: Any) -> splits.SplitData:
            data = load(*arguments, **named)
            return dataclasses.replace(data, spec=dataclasses.replace(data.spec, **facts))

        monkeypatch.setattr(splits, "load", changed)

    other(origin="another release of the same files")
    assert loop.train(plan(tmp_path), tmp_path / "run").progress.epoch == 3
    other(sha256="other")
    with pytest.raises(TrainingError, match=r"has a run of another configuration: SHA-256 of the data: .*'other'"):
        loop.train(plan(tmp_path), tmp_path / "run")
    (tmp_path / "run" / loop.RUN).unlink()
    with pytest.raises(TrainingError, match=r"latest\.safetensors\" is of a run on other data"):
        loop.train(plan(tmp_path), tmp_path / "run")


def test_the_callers_random_numbers_stay_where_they_are(tmp_path: Path) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        expected = torch.rand(3)
        torch.manual_seed(0)
        loop.train(plan(tmp_path), tmp_path / "run")
        assert torch.equal(torch.rand(3), expected)
