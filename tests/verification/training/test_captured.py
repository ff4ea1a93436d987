"""Steps by a graph have the bits of steps without: a recorder on the CPU stands in for the graph of a device."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from tests.tiers import only, without
from tests.verification.training.plans import TEXT, StoppedError, plan, same, stop_at, tensors
from tests.verification.training.test_optimizers import FULL
from verification.cli import main
from verification.monitors.monitor import watching
from verification.training import TrainingError, captured, checkpoints, configuration, loop, optimizers, splits
from verification.training.captured import Body, CapturedSteps
from verification.training.processes import Processes


class Recorder:
    """Runs what it recorded, on the same tensors and with the rates of then: a graph has numbers, no names of them."""

    made: list[Recorder]

    def __init__(self) -> None:
        self.rehearsals, self.records, self.replays = 0, 0, 0
        self._body: Body | None = None
        self._rates: list[float] = []
        Recorder.made.append(self)

    def rehearse(self, body: Body, *, strict: bool) -> None:
        self.rehearsals += 1
        body()

    def record(self, body: Body) -> None:
        self.records += 1
        self._body, self._rates = body, [group["lr"] for group in _groups(body)]

    def replay(self) -> None:
        assert self._body is not None
        self.replays += 1
        now = [group["lr"] for group in _groups(self._body)]
        _set(self._body, self._rates)
        with _disable_current_modes():
            self._body()
        _set(self._body, now)


def _groups(body: Any) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = body.__self__._steps.optimizer.param_groups
    return groups


def _set(body: Body, rates: list[float]) -> None:
    for group, rate in zip(_groups(body), rates, strict=True):
        group["lr"] = rate


@contextmanager
def graphs(make: Callable[[], Any] = Recorder) -> Iterator[list[Recorder]]:
    """Meanwhile the CPU has graphs."""
    Recorder.made = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(captured, "graph_on", lambda device: make())
        yield Recorder.made


LSTM = TEXT.replace(
    'cell = "unicornn"\nhidden_size = 6\nnum_layers = 2\ndt = 0.2\nalpha = 1.0\ndropout = 0.3\n',
    'cell = "torch.lstm"\nhidden_size = 6\nreadout_dropout = 0.2\n',
)
SCORNN = TEXT.replace(
    'cell = "unicornn"\nhidden_size = 6\nnum_layers = 2\ndt = 0.2\nalpha = 1.0\ndropout = 0.3\n',
    'cell = "scornn"\nhidden_size = 6\nrho = 2\n',
)
RMSPROP = TEXT.replace('name = "adamw"', 'name = "rmsprop"').replace("weight_decay", "momentum")
SGD = TEXT.replace('name = "adamw"', 'name = "sgd"').replace("weight_decay = 0.01", "momentum = 0.9\ndampening = 0.1")
COPYING = """
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
epochs = 2
batch_size = 20
checkpoint_every = 1000
"""
TEXTS = {
    "unicornn": TEXT,
    "lstm": LSTM,
    "scornn": SCORNN,
    "rmsprop": RMSPROP,
    "sgd": SGD,
    "copying": COPYING,
    "standardised": TEXT.replace("count = 50", "count = 50\nstandardise = true"),
    "float64": TEXT + 'dtype = "float64"\n',
}


def untimed(result: loop.TrainingResult) -> list[dict[str, Any]]:
    return [{key: row[key] for key in row if "second" not in key} for row in result.progress.history]


def check_same(one: loop.TrainingResult, other: loop.TrainingResult) -> None:
    for name in (loop.LATEST, loop.BEST):
        assert same(tensors(one.folder, name), tensors(other.folder, name))
    assert untimed(one) == untimed(other)
    assert (one.test, one.best_epoch) == (other.test, other.best_epoch)


@pytest.fixture(scope="module")
def uncaptured(tmp_path_factory: pytest.TempPathFactory) -> loop.TrainingResult:
    """The run of TEXT without a graph."""
    folder = tmp_path_factory.mktemp("run")
    return loop.train(plan(folder), folder / "uncaptured")


def both(made: configuration.Configuration, folder: Path) -> tuple[loop.TrainingResult, loop.TrainingResult]:
    """The run with a graph, and without."""
    with graphs():
        by_graph = loop.train(made, folder / "captured")
    return by_graph, loop.train(made, folder / "uncaptured")


@pytest.mark.parametrize("name", without(TEXTS, "rmsprop", "sgd", "standardised", "lstm"))
def test_a_captured_run_has_the_bits_of_the_other(tmp_path: Path, name: str) -> None:
    """Weights, memories, evaluations; with a smaller last batch in each epoch, milestones, clipping, dropout."""
    by_graph, without = both(plan(tmp_path, TEXTS[name]), tmp_path)
    check_same(by_graph, without)
    assert (by_graph.stepping, without.stepping) == ("captured", "uncaptured: cpu has no graphs")
    (graph,) = Recorder.made
    assert graph.replays == (2 * 3 - 1 if name == "copying" else 3 * 3 - 1)  # all of full size but the first
    assert graph.records == (1 if name == "copying" else 2)  # one for each rate
    assert json.loads((by_graph.folder / loop.RESULT).read_text())["stepping"] == "captured"


@pytest.mark.slow
def test_the_digits_are_learned_alike(tmp_path: Path) -> None:
    check_same(*both(configuration.read("sequential_digits_unicornn").replaced(epochs=2), tmp_path))


@pytest.mark.parametrize("name", only(["unicornn", "sgd"], "unicornn"))
@pytest.mark.parametrize("step", only([1, 3, 6, 11], 3, 6))
def test_a_stopped_captured_run_ends_with_the_same_bits(
    tmp_path: Path, name: str, step: int, uncaptured: loop.TrainingResult
) -> None:
    made = plan(tmp_path, TEXTS[name])
    whole = uncaptured if name == "unicornn" else loop.train(made, tmp_path / "whole")
    with graphs():
        with pytest.raises(StoppedError):
            loop.train(made, tmp_path / "stopped", watchers=[stop_at(step)])
        check_same(loop.train(made, tmp_path / "stopped"), whole)


def test_sequences_that_are_fed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they have no room on the device, each batch is copied there."""
    monkeypatch.setattr(captured, "HOST_ROOM", 0)
    monkeypatch.setattr(captured, "ResidentBatches", None)
    check_same(*both(plan(tmp_path), tmp_path))


def test_sequences_of_several_lengths(tmp_path: Path) -> None:
    """The mask of the real steps is picked along."""
    data = _split(tmp_path)
    lengths = tuple(1 + number % 12 for number in range(50))
    data = replace(data, spec=replace(data.spec, lengths=lengths))
    resident = captured.ResidentBatches(data, 16)
    order = np.random.default_rng(1).permutation(50)
    resident.begin(order, 0)
    for start in (0, 16, 32):
        resident.put(start)
        for found, expected in zip(resident.batch(), data.batch(order[start : start + 16]), strict=True):
            assert found is not None and expected is not None and torch.equal(found, expected)


def _split(tmp_path: Path) -> Any:
    return splits.load(
        plan(tmp_path, COPYING.replace("count = 60", "count = 50").replace("silence = 2", "silence = 3")), "train", None
    )


# --- what is counted and looked at ----------------------------------------------------------------------------------


class Counted(TorchDispatchMode):
    """How many operations of torch the host asks for."""

    calls = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        return func(*args, **(kwargs or {}))


def test_a_captured_step_has_few_host_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most six: of torch, to seed, and to replay; what a replay does is the device's."""
    made = plan(tmp_path, TEXT.replace("count = 50", "count = 160"))
    seeds: list[int] = []
    with graphs() as recorders:
        run = loop.TrainingRun(made, tmp_path / "run", Processes())
        order = run._order()
        run.step(order), run.step(order)
        generator = torch.default_generator
        monkeypatch.setattr(captured, "_generator", lambda device: _Seeded(generator, seeds))
        replays = recorders[0].replays
        with Counted() as counted:
            for _ in range(5):
                run.step(order)
        assert recorders[0].replays == replays + 5
    assert (counted.calls + len(seeds) + 5) / 5 <= 6
    assert run.captured.pending == 6


class _Seeded:
    def __init__(self, generator: torch.Generator, seeds: list[int]) -> None:
        self._generator, self._seeds = generator, seeds

    def manual_seed(self, seed: int) -> None:
        self._seeds.append(seed)
        self._generator.manual_seed(seed)


def test_the_loss_is_looked_at_every_so_many_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then there is a report; at checkpoints and ends of epochs, too."""
    monkeypatch.setattr(captured, "LOOK_EVERY", 4)
    said: list[int] = []
    text = TEXT.replace("count = 50", "count = 208").replace("epochs = 3", "epochs = 1")
    made = plan(tmp_path, text.replace("checkpoint_every = 1", "checkpoint_every = 7"))
    with graphs():
        loop.train(made, tmp_path / "run", report=lambda kind, done, total: said.append(done))
    assert said == [1, 5, 7, 11, 13]  # the first has no graph


@pytest.mark.parametrize("looked", [2, 50])
def test_a_loss_that_is_not_finite_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked: int) -> None:
    monkeypatch.setattr(captured, "LOOK_EVERY", looked)
    text = TEXT.replace("lr = 0.01\n", "lr = 1e30\n").replace("lr = 0.003", "lr = 1e30")
    text = text.replace("clip_norm = 1.0\n", "").replace("checkpoint_every = 1", "checkpoint_every = 100")
    made = plan(tmp_path, text.replace("count = 50", "count = 160"))
    with graphs(), pytest.raises(TrainingError, match=r"The loss is (nan|inf) in one of the steps 2 to \d+ \(epoch 1"):
        loop.train(made, tmp_path / "run")
    assert not (tmp_path / "run" / loop.LATEST).exists()


def test_no_checkpoint_after_a_loss_that_is_not_finite(tmp_path: Path) -> None:
    """A checkpoint every step: the last one is finite."""
    text = TEXT.replace("lr = 0.01\n", "lr = 1e30\n").replace("lr = 0.003", "lr = 1e30")
    with graphs(), pytest.raises(TrainingError, match=r"not finite|one of the steps"):
        loop.train(plan(tmp_path, text.replace("clip_norm = 1.0\n", "")), tmp_path / "run")
    assert all(bool(value.isfinite().all()) for value in tensors(tmp_path / "run").values())


def test_every_watcher_sees_every_step_and_its_gradients(tmp_path: Path) -> None:
    seen: dict[bool, list[list[float]]] = {False: [], True: []}
    for by_graph in (False, True):

        def watch(model: nn.Module, step: int, kept: list[list[float]] = seen[by_graph]) -> None:
            kept.append([step, *(float(p.grad.abs().sum()) for p in model.parameters() if p.grad is not None)])

        with graphs() if by_graph else pytest.MonkeyPatch.context():
            loop.train(plan(tmp_path), tmp_path / str(by_graph), watchers=[watch])
    assert seen[True] == seen[False] and len(seen[True]) == 12


# --- where there is no graph ----------------------------------------------------------------------------------------


class Failing(Recorder):
    """Fails in the second rehearsal, after the weights have changed."""

    def rehearse(self, body: Body, *, strict: bool) -> None:
        super().rehearse(body, strict=strict)
        if strict:
            raise RuntimeError("called a synchronizing operation.\nMore of it.")


class Unrecorded(Recorder):
    def record(self, body: Body) -> None:
        raise RuntimeError("operation not permitted when stream is capturing")


class Idle(Recorder):
    """A replay that does nothing."""

    def replay(self) -> None:
        self.replays += 1


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (Failing, "uncaptured: called a synchronizing operation"),
        (Unrecorded, "uncaptured: operation not permitted when stream is capturing"),
        (Idle, "uncaptured: a replay has other bits than the step"),
    ],
)
def test_a_capture_that_fails_changes_nothing(
    tmp_path: Path, make: type[Recorder], reason: str, uncaptured: loop.TrainingResult
) -> None:
    with graphs(make):
        found = loop.train(plan(tmp_path), tmp_path / "captured")
    assert found.stepping == reason
    check_same(found, uncaptured)


def test_a_capture_that_fails_at_a_milestone(tmp_path: Path, uncaptured: loop.TrainingResult) -> None:
    class Once(Recorder):
        def record(self, body: Body) -> None:
            if self.records:
                raise RuntimeError("no room")
            super().record(body)

    with graphs(Once):
        found = loop.train(plan(tmp_path), tmp_path / "captured")
    assert found.stepping == "captured 5 times, then uncaptured: no room"
    check_same(found, uncaptured)


def test_a_monitor_is_shown_every_step(tmp_path: Path, uncaptured: loop.TrainingResult) -> None:
    with graphs(), watching(tmp_path / "monitor.sqlite", 5) as watchers:
        found = loop.train(plan(tmp_path), tmp_path / "run", watchers=watchers)
    assert Recorder.made[0].replays == 0
    check_same(found, uncaptured)


def test_an_optimizer_that_decides_on_the_host(tmp_path: Path) -> None:
    with graphs():
        found = loop.train(plan(tmp_path, FULL), tmp_path / "run")
    assert found.stepping == "uncaptured: multiplicative_cayley decides on the host"


@pytest.mark.usefixtures("elsewhere")
def test_no_capture_on_the_command_line() -> None:
    Path("plan.toml").write_text(TEXT, encoding="utf-8")
    with graphs():
        for name, options in (("with", []), ("without", ["--no-capture"])):
            assert main(["train", "--config", "plan.toml", "--into", name, *options]) == 0
    found = [json.loads(Path(name, loop.RESULT).read_text())["stepping"] for name in ("with", "without")]
    assert found == ["captured", "uncaptured: --no-capture"]
    assert same(tensors(Path("with")), tensors(Path("without")))


def test_counters_on_the_device(tmp_path: Path) -> None:
    """On the device an optimizer that counts is told to do it there, and a checkpoint brings the count there."""
    weight = nn.Parameter(torch.ones(2))
    groups = [("w", weight)]
    for name, is_fused in (("adam", True), ("adamw", True), ("rmsprop", None), ("sgd", None)):
        made = optimizers.make(
            configuration.Optimizer(name=name, options={"lr": 0.1}), groups, counts_on_device=name != "sgd"
        )
        (part,) = made.parts
        assert bool(part.defaults.get("fused")) == bool(is_fused)
        assert part.defaults.get("capturable", False) == (name != "sgd")
    meta = nn.Parameter(torch.ones(2, device="meta"))
    counting = optimizers.make(
        configuration.Optimizer(name="rmsprop", options={"lr": 0.1}), [("w", meta)], counts_on_device=True
    )
    checkpoints.restore_optimizer(counting, {"w": meta}, {"w.step": torch.tensor(3.0)})
    assert counting.of(meta).state[meta]["step"].device.type == "meta"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("name", ["unicornn", "rmsprop", "sgd", "copying", "standardised", "float64"])
def test_a_captured_run_on_a_device(tmp_path: Path, name: str) -> None:
    """The same by ``torch.cuda.CUDAGraph``; also after a stop."""
    made = plan(tmp_path, TEXTS[name])
    without = loop.train(made, tmp_path / "uncaptured", device="cuda", capture=False)
    by_graph = loop.train(made, tmp_path / "captured", device="cuda")
    assert (by_graph.stepping, without.stepping) == ("captured", "uncaptured: --no-capture")
    check_same(by_graph, without)
    with pytest.raises(StoppedError):
        loop.train(made, tmp_path / "stopped", device="cuda", watchers=[stop_at(6)])
    check_same(loop.train(made, tmp_path / "stopped", device="cuda"), without)


# --- planted faults -------------------------------------------------------------------------------------------------


def test_a_rate_that_the_graph_does_not_get_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = CapturedSteps._made_by_graph

    def forgetful(self: CapturedSteps, *arguments: Any) -> bool:
        if self._rates is not None:
            self._rates = tuple(group["lr"] for group in self._steps.optimizer.param_groups)
        return make(self, *arguments)

    monkeypatch.setattr(CapturedSteps, "_made_by_graph", forgetful)
    by_graph, without = both(plan(tmp_path), tmp_path)
    assert by_graph.stepping == "captured" and not same(tensors(by_graph.folder), tensors(without.folder))


def test_an_index_that_stays_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured.ResidentBatches, "put", lambda self, start: None)
    by_graph, without = both(plan(tmp_path), tmp_path)
    assert by_graph.stepping == "captured" and not same(tensors(by_graph.folder), tensors(without.folder))


def test_a_seed_that_stays_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured, "_generator", lambda device: _Seeded(torch.Generator(), []))
    by_graph, without = both(plan(tmp_path), tmp_path)
    assert by_graph.stepping == "uncaptured: a replay has other bits than the step"
    check_same(by_graph, without)
