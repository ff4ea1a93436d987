"""Checkpoints: whole or not there; a damaged one, and one of somebody else, is refused by name."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.verification.training.plans import plan
from verification.training import TrainingError, checkpoints, loop, optimizers
from verification.training.processes import Processes


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


def test_no_byte_of_a_checkpoint_may_differ(kept: Path) -> None:
    """Tensors, names, shapes and what the header says of the run: a bit that is turned is noticed, or means nothing."""
    content, found = kept.read_bytes(), checkpoints.read(kept)
    taken = []
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1
        kept.write_bytes(damaged)
        try:
            again = checkpoints.read(kept)
        except TrainingError:
            continue
        assert again.facts == found.facts and torch.equal(again.tensors["model.a"], found.tensors["model.a"])
        taken.append(place)
    assert not taken  # of this file, none


def test_a_checkpoint_of_the_first_layout(tmp_path: Path) -> None:
    """Those have no checksum of their facts; one of today's without it is damaged."""
    from safetensors.torch import save_file

    tensors = {"model.a": torch.ones(2)}
    for version, path in ((1, tmp_path / "first"), (2, tmp_path / "second")):
        facts = json.dumps({"format": version, "progress": {"step": 5}})
        save_file(tensors, path, {checkpoints.FACTS: facts, checkpoints.DIGEST: checkpoints.digest(tensors)})
    assert checkpoints.read(tmp_path / "first").facts["progress"] == {"step": 5}
    with pytest.raises(TrainingError, match=r"is damaged: what its header says of the run .* not none at all"):
        checkpoints.read(tmp_path / "second")
    facts = json.dumps({"format": 3, "versions": {"odernn": "7.5"}})
    checksums = {checkpoints.DIGEST: checkpoints.digest(tensors), checkpoints.FACTS_DIGEST: sha256(facts.encode())}
    save_file(tensors, tmp_path / "third", {checkpoints.FACTS: facts, **checksums})
    with pytest.raises(TrainingError, match=r"has the layout 3, this odernn reads 1 to 2\. .* wrote it \(7\.5\)"):
        checkpoints.read(tmp_path / "third")


def sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def test_what_a_killed_process_was_writing_is_removed(tmp_path: Path) -> None:
    """Of a process that runs, as this one and its parent do, it stays; so does what has another name."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    assert ended.wait() == 0
    made = plan(tmp_path)
    loop.train(made, tmp_path / "run")
    stay = {f".{loop.LATEST}.{os.getppid()}", f".{loop.LATEST}.old", f".other.{ended.pid}"}
    for name in (*stay, f".{loop.LATEST}.{ended.pid}", f".run.json.{ended.pid}", f".log.csv.{2**80}"):
        (tmp_path / "run" / name).write_text("half")
    loop.train(made, tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir() if path.name.startswith(".")} == stay


def test_somebody_elses_checkpoint(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(TrainingError, match="it is none of `odernn train`"):
        checkpoints.read(tmp_path / "other.safetensors")
    with pytest.raises(TrainingError, match="does not exist"):
        checkpoints.read(tmp_path / "none.safetensors")


def test_a_file_takes_its_name_when_it_is_on_the_disk(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is renamed, and it is flushed before, the old content is there."""
    before, flush, replace, done = kept.read_bytes(), os.fsync, os.replace, []

    def flushed(handle: int) -> None:
        flush(handle)
        done.append("flushed")

    def named(source: Path, target: Path) -> None:
        assert Path(target).read_bytes() == before
        replace(source, target)
        done.append("named")

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", named)
    checkpoints.write_atomically(kept, b"new")
    assert kept.read_bytes() == b"new" and done[:2] == ["flushed", "named"]


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


@pytest.mark.parametrize("how", ["truncated", "a bit", "gone"])
def test_a_damaged_latest_checkpoint_gives_way_to_the_one_before_and_the_result_is_the_same(
    tmp_path: Path, how: str
) -> None:
    whole = loop.train(plan(tmp_path), tmp_path / "run")
    latest, before = tmp_path / "run" / loop.LATEST, tmp_path / "run" / loop.PREVIOUS
    content = bytearray(latest.read_bytes())
    content[-5] ^= 4
    if how == "gone":
        latest.unlink()
    else:
        latest.write_bytes(bytes(content) if how == "a bit" else bytes(content[:-3]))
    (tmp_path / "run" / loop.RESULT).unlink()
    step = checkpoints.read(before).facts["progress"]["step"]
    assert 0 < step <= whole.progress.step
    with pytest.warns(checkpoints.DamagedCheckpointWarning, match=f"goes on from previous.*step {step}"):
        again = loop.train(plan(tmp_path), tmp_path / "run")
    assert again.test == whole.test and again.steps == whole.progress.step - step
    assert checkpoints.read(latest).facts["progress"]["step"] == whole.progress.step


def test_the_checkpoint_that_training_went_on_from_is_the_latest_and_no_write_loses_it(tmp_path: Path) -> None:
    loop.train(plan(tmp_path), tmp_path / "run")
    latest, before = tmp_path / "run" / loop.LATEST, tmp_path / "run" / loop.PREVIOUS
    good = before.read_bytes()
    latest.write_bytes(latest.read_bytes()[:-3])
    with pytest.warns(checkpoints.DamagedCheckpointWarning):
        run = loop.TrainingRun(plan(tmp_path), tmp_path / "run", Processes())
    assert latest.read_bytes() == good and not before.exists()
    run.keep()
    assert before.read_bytes() == good and checkpoints.read(latest).facts["progress"]


def test_where_both_are_damaged_training_does_not_begin_anew(tmp_path: Path) -> None:
    loop.train(plan(tmp_path), tmp_path / "run")
    for name in (loop.LATEST, loop.PREVIOUS):
        path = tmp_path / "run" / name
        path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(TrainingError, match="cannot be read"):
        loop.train(plan(tmp_path), tmp_path / "run")


def test_a_second_training_in_one_folder_is_refused_while_the_first_runs(tmp_path: Path) -> None:
    refused = []

    def second(_model: object, _step: int) -> None:
        if not refused:
            with pytest.raises(TrainingError, match="is in use: another process trains into it"):
                loop.train(plan(tmp_path), tmp_path / "run")
            refused.append(True)

    assert loop.train(plan(tmp_path), tmp_path / "run", watchers=[second]).progress.epoch == 3 and refused
    assert loop.train(plan(tmp_path), tmp_path / "run").steps == 0  # the lock was given back


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TrainingError, match="cannot be made"):
        loop.train(plan(tmp_path), tmp_path / "file" / "run")


def test_checkpoints_of_other_runs_are_not_taken(tmp_path: Path) -> None:
    """Same shapes, other seed; weights without the memory of the optimizer; the weights of another epoch."""
    made = plan(tmp_path)
    loop.train(made, tmp_path / "run")
    loop.train(made.replaced(seed=4), tmp_path / "other")
    whole = {name: (tmp_path / "run" / name).read_bytes() for name in (loop.LATEST, loop.BEST)}
    best = checkpoints.read(tmp_path / "run" / loop.BEST)
    checkpoints.write(tmp_path / "moved", best.tensors, {**best.facts, "row": {**best.facts["row"], "epoch": 77}})
    for name, source, message in (
        (
            loop.LATEST,
            tmp_path / "other" / loop.LATEST,
            r"latest\.safetensors\" is of a run with another configuration",
        ),
        (loop.BEST, tmp_path / "other" / loop.BEST, r"best\.safetensors\" is of a run with another configuration"),
        (loop.LATEST, tmp_path / "run" / loop.BEST, r"has weights only, as best\.safetensors has"),
        (loop.BEST, tmp_path / "moved", r"is of epoch 77, but epoch \d of this run was the best"),
    ):
        (tmp_path / "run" / name).write_bytes(source.read_bytes())
        with pytest.raises(TrainingError, match=message):
            loop.train(made, tmp_path / "run")
        (tmp_path / "run" / name).write_bytes(whole[name])
    assert loop.train(made, tmp_path / "run").progress.epoch == 3


def test_memory_goes_where_its_parameter_is() -> None:
    """torch keeps the counters of steps on the CPU, the moments beside the parameter: here one without storage."""
    weight = torch.nn.Parameter(torch.zeros(2, device="meta"))
    scalar = torch.nn.Parameter(torch.zeros((), device="meta"))
    parts = optimizers.Parts([torch.optim.Adam([weight, scalar])])
    kept = {"w.step": torch.tensor(3.0), "w.exp_avg": torch.ones(2), "s.exp_avg": torch.tensor(1.0)}
    checkpoints.restore_optimizer(parts, {"w": weight, "s": scalar}, kept)
    state = parts.of(weight).state[weight]
    assert state["exp_avg"].device.type == "meta" and state["step"].device.type == "cpu" and float(state["step"]) == 3.0
    assert parts.of(scalar).state[scalar]["exp_avg"].device.type == "meta"  # no counter, although it is one number


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device: it can be used")
def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"--device cuda: cannot be used here: .* Leave it out for \"cpu\""):
        loop.train(plan(tmp_path), tmp_path / "run", device="cuda")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("has_links", [True, False])
def test_the_one_before_is_kept_also_where_files_have_one_name(
    has_links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(source: Path, target: Path) -> None:
        raise OSError("no links here")

    if not has_links:
        monkeypatch.setattr(os, "link", refused)
    latest, before = tmp_path / "latest", tmp_path / "before"
    for content in (b"one", b"two", b"three"):
        checkpoints.write_atomically(latest, content, keep=before)
    assert (latest.read_bytes(), before.read_bytes()) == (b"three", b"two")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["before", "latest"]
