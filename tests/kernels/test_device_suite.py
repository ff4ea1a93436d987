"""device/suite.py, tried without a device: its checks find planted faults, its record survives a kill."""

from __future__ import annotations

import importlib
import json
import os
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cuda.odernn_kernels import emulator, module
from cuda.odernn_kernels.emulator.launcher import EmulatedLauncher
from odernn import executions
from odernn.executions.recurrence import ReconstructionWarning
from tests.kernels.broken import broken

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch, compiler: None) -> ModuleType:
    """The script as a module. What a network asks of the emulator is forgotten afterwards."""
    monkeypatch.syspath_prepend(str(CHECKOUT))
    monkeypatch.setattr(executions, "_READY", dict(executions._READY))
    return importlib.import_module("device.suite")


@pytest.fixture
def checking(suite: ModuleType) -> Any:
    return suite.checking


Call = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def call(suite: ModuleType, tmp_path: Path) -> Iterator[Call]:
    """The command with its arguments; its exit status and record."""

    def run(*arguments: str) -> tuple[int, dict[str, Any]]:
        status = suite.main(["--emulated", "--output", str(tmp_path), *arguments])
        path = tmp_path / "device_emulated.json"
        return status, json.loads(path.read_text("utf-8")) if path.exists() else {}

    yield run
    assert not list(tmp_path.glob("*.part"))


def sound(run: Any) -> None:
    """A part in the place of the checks."""
    run.note("group", {"holds": True})


# --- what it measures


def test_it_has_a_part_for_everything_that_only_a_device_tells(suite: ModuleType) -> None:
    assert set(suite.PARTS) == {
        "correctness",
        "streams",
        "adversary",
        "sanitizer",
        "times-eigenworms",
        "times-psmnist",
        "times-psmnist128",
        "times-cifar",
        "times-wide",
        "crossover",
        "scornn",
        "trajectories",
        "host",
        "threads",
        "memory",
        "registers",
    }
    assert ("racecheck", "scan") in suite.TOOLS and ("memcheck", "all") in suite.TOOLS
    modes = {(mode, str(dtype)[6:]) for mode, dtype in suite.checking.MODES}
    assert modes == {(m, d) for m in ("stored", "reversible", "exact") for d in ("float32", "float64")} - {
        ("exact", "float64")
    }
    assert {0, 1, 2, 3, 101, 784, 17984} <= {steps for steps, *_ in suite.LARGE}


@pytest.mark.slow
def test_a_trial_runs_every_part_and_all_of_it_holds(suite: ModuleType, call: Call) -> None:
    status, record = call()
    assert status == 0 and list(record["parts"]) == list(suite.PARTS)
    assert {part["state"] for part in record["parts"].values()} == {"done"}
    groups = [group for group in record["parts"]["correctness"]["found"].values() if isinstance(group, dict)]
    assert sum(group["count"] for group in groups) == 4 * 2 * 5 * len(suite.SMALL) + 9 + 6 + 30 + 1 + 8
    names = {label: [row["name"] for row in rows] for label, rows in record["cases"].items()}
    peers = ["published kernel", "copy"]
    shape = "(20, 2, 5)"
    assert names[f"times-psmnist: forward {shape}"] == [*peers, "ring", "scan", "reversible", "exact"]
    assert names[f"times-psmnist: backward {shape}"] == [*peers, "stored, ring", "stored, scan", "reversible", "exact"]
    modes = [f"UnICORNN, {mode}" for mode in ("stored", "reversible", "exact", "stored, drives in bfloat16")]
    layer = ["LSTM of torch", *modes]
    assert names[f"times-psmnist: layer {shape}"] == layer and len(names) == 5 * 3 + 2 + 1 + 1


def test_the_ways_that_are_compared_are_the_ways_that_run(suite: ModuleType, emulated: emulator.Emulated) -> None:
    launcher = EmulatedLauncher(emulated)
    clock = suite.timing.Clock("cpu", rounds=1, warmup=0)
    with module.using(launcher):
        rows = suite.timing.crossover(clock, 20, 1)
    assert [row["name"] for row in rows] == ["ring, forward", "ring, backward", "scan, forward", "scan, backward"]
    rehearsed, timed = launcher.launched[:2], launcher.launched[2:]
    assert rehearsed == ["forward_f32", "scan_forward_f32"]
    assert timed == ["forward_f32", "stored_f32", "scan_forward_f32", "scan_backward_f32"]


def test_ratios_are_of_the_first_peer_and_shares_of_the_copy(
    suite: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    took = {"first": 8.0, "copy": 2.0, "other": 4.0}
    monkeypatch.setattr(suite.timing.Clock, "once", lambda clock, peer: took[peer()])
    peers = {name: lambda name=name: name for name in took}
    rows = suite.timing.Clock("cpu").interleaved(peers, moved={"copy": 100, "other": 150})
    assert [row["ratio"] for row in rows] == [1.0, 4.0, 2.0]
    assert [row.get("share of the memory bound") for row in rows] == [None, 1.0, 0.75]


# --- its checks find faults


UNITS = {
    "check_saddle": ["forward.cu", "backward.cu", "scan.cu"],
    "check_nan": ["forward.cu", "backward.cu", "exact.cu", "scan.cu"],
    "check_contract": ["forward.cu", "backward.cu"],
    "check_published": ["published.cu"],
    "check_others": ["forward.cu", "falsify.cu", "scornn.cu"],
}
FAULTS = [
    ("check_saddle", "recurrence.cuh", "return z < low ? low : z > high ? high : z;", "return low > high ? low : z;"),
    ("check_nan", "arithmetic.cuh", "size > 9.02f ? 9.02f : size", "size < 9.02f ? size : 9.02f"),
    ("check_contract", "forward.cu", "z = momentum_before(c, s, y, z);", "z = momentum_before(c, s, y, -z);"),
    ("check_published", "published.cu", "slope * w + alpha", "slope * w"),
    ("check_others", "falsify.cu", "push(c.h, pulled, yz, zz);", "push(c.h, pulled, zz, yz);"),
]


FAST = ("check_published",)


@pytest.mark.parametrize(
    ("name", "file", "right", "wrong"),
    [pytest.param(*each, id=each[0], marks=[] if each[0] in FAST else [pytest.mark.slow]) for each in FAULTS],
)
def test_a_planted_fault_is_found(
    checking: Any, emulated: emulator.Emulated, name: str, file: str, right: str, wrong: str
) -> None:
    text = emulator.sources()[file]
    assert text.count(right) == 1
    options = {"count": 500} if name == "check_others" else {}
    verdicts = []
    for built in (emulated, broken({file: text.replace(right, wrong)}, only=UNITS[name])):
        checks = checking.Checks()
        with module.using(EmulatedLauncher(built)), warnings.catch_warnings():
            warnings.simplefilter("ignore", ReconstructionWarning)  # the fault may show there, too
            getattr(checking, name)(checks, "cpu", **options)
        verdicts.append(checks.hold)
    assert verdicts == [True, False]


def test_another_mode_or_a_gradient_that_is_off_is_found(
    checking: Any, emulated: emulator.Emulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = ((9, 2, 3),)
    outputs = checking.execution.outputs

    def substitute(x: Any, **arguments: Any) -> Any:
        return outputs(x, **arguments | {"backward": "stored"})

    def bent(x: Any, **arguments: Any) -> Any:
        return outputs(x * 1.0 + 1e-4 * (x - x.detach()), **arguments)

    wrong: list[set[str]] = []
    for run in (outputs, substitute, bent):
        monkeypatch.setattr(checking.execution, "outputs", run)
        checks = checking.Checks()
        with module.using(EmulatedLauncher(emulated)):
            checking.check_recurrence(checks, "cpu", shapes)
        wrong.append({each["check"].split(": ")[1] for each in checks.found if not each["holds"]})
        assert len(checks.found) == 4 * 2 * 5
    assert wrong == [set(), {"another execution or mode"}, {"gradients"}]


def test_checks_that_are_none_or_nan_do_not_hold(checking: Any) -> None:
    checks = checking.Checks()
    assert not checks.hold
    checks.add("nan", float("nan"), 1.0)
    assert not checks.hold


# --- the record


def test_every_figure_is_on_the_disk_before_the_next_is_begun(
    suite: ModuleType, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ends the process then: here an interrupt, which no part catches."""

    def interrupted(run: Any) -> None:
        run.note("first", 1)
        run.note("second", 2)
        raise KeyboardInterrupt

    monkeypatch.setitem(suite.PARTS, "correctness", sound)
    monkeypatch.setitem(suite.PARTS, "scornn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        call("--part", "correctness", "--part", "scornn")
    parts = json.loads((tmp_path / "device_emulated.json").read_text("utf-8"))["parts"]
    assert parts["correctness"]["state"] == "done"
    assert parts["scornn"]["state"] == "running" and parts["scornn"]["found"] == {"first": 1, "second": 2}


def test_after_the_time_that_was_given_nothing_is_begun(
    suite: ModuleType, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(run: Any) -> None:
        run.note("first", 1)
        run.deadline = 0.0
        run.note("second", 2)
        run.note("third", 3)

    monkeypatch.setitem(suite.PARTS, "registers", slow)
    monkeypatch.setitem(suite.PARTS, "streams", slow)
    status, record = call("--part", "streams", "--part", "registers", "--seconds", "1000")
    assert status == 1 and list(record["parts"]) == ["streams"]
    assert record["parts"]["streams"]["state"] == "stopped after second"
    assert record["parts"]["streams"]["found"] == {"first": 1, "second": 2}


def test_a_later_call_goes_on_where_the_last_one_stopped(
    suite: ModuleType, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    for name in suite.PARTS:
        monkeypatch.setitem(suite.PARTS, name, lambda run, name=name: (done.append(name), sound(run)))
    call("--part", "correctness", "--part", "registers")
    assert call("--part", "times")[0] == 0 and len(done) == len(suite.SHAPES) + 2
    status, record = call()
    assert status == 0 and sorted(done) == sorted(suite.PARTS) == sorted(record["parts"])
    monkeypatch.setattr(suite, "sources", lambda: "other kernels")
    assert call("--part", "scornn")[0] == 1
    _, record = call("--part", "correctness", "--part", "scornn")
    assert list(record["parts"]) == ["scornn", "correctness"] and done[-2:] == ["correctness", "scornn"]


@pytest.mark.parametrize(
    ("checks", "reason"),
    [
        (None, "the checks have not all been done"),
        ({"holds": False}, "a check does not hold"),
        (RuntimeError("no kernel"), "the checks have not all been done"),
    ],
)
def test_nothing_is_timed_unless_all_checks_hold(
    suite: ModuleType, call: Call, monkeypatch: pytest.MonkeyPatch, checks: Any, reason: str
) -> None:
    def correctness(run: Any) -> None:
        if isinstance(checks, Exception):
            raise checks
        run.note("group", checks)

    monkeypatch.setitem(suite.PARTS, "correctness", correctness)
    arguments = [] if checks is None else ["--part", "correctness"]
    status, record = call(*arguments, "--part", "times", "--part", "scornn")
    assert status == 1 and not record["cases"]
    states = {name: part["state"] for name, part in record["parts"].items() if name != "correctness"}
    assert len(states) == len(suite.SHAPES) + 1 and all(
        state.startswith(f"refused: {reason}") for state in states.values()
    )


def test_a_check_that_raises_is_one_that_does_not_hold(suite: ModuleType, tmp_path: Path) -> None:
    def broken(checks: Any) -> None:
        checks.add("fine", 0.0, 1.0)
        raise RuntimeError("launch failed")

    run = suite.Run("cpu", {}, tmp_path / "record.json", part={"found": {}})
    suite._checked(run, "group", broken)
    found = run.part["found"]["group"]
    assert not found["holds"] and found["count"] == 2 and "launch failed" in found["checks"][1]["check"]
    assert not suite.holds(run.part)


def test_an_unknown_part_and_a_missing_device_are_named(
    suite: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match=r"there is no part speed\. Choose from: times, correctness"):
        suite.main(["--emulated", "--part", "speed"])
    monkeypatch.setattr(suite.torch.cuda, "is_available", lambda: False)
    assert suite.main([]) == 0 and suite.main(["--require-device"]) == 1
    assert "nothing was run: this torch" in capsys.readouterr().out
    assert suite.main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(suite.PARTS)


# --- the sanitizer


CLEAN = "========= ERROR SUMMARY: 0 errors"
RACES = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"


@pytest.mark.parametrize(
    ("status", "lines", "holds"),
    [
        (0, ["all small checks done", CLEAN], True),
        (0, ["all small checks done", RACES], True),
        (9, ["all small checks done", "========= ERROR SUMMARY: 3 errors"], False),
        (0, ["all small checks done", "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"], False),
        (1, [CLEAN], False),  # the run itself failed
        (0, [CLEAN], False),  # it did not come to its end
        (0, ["all small checks done"], False),  # nothing was looked at
        (255, ["========= Error: Device not supported. Please refer to the documentation"], None),
        (0, ["device.suite: nothing was run: this torch sees no device", CLEAN], None),
        (9, ["========= Device not supported", "========= ERROR SUMMARY: 1 error"], False),
    ],
)
def test_what_the_sanitizer_says_is_judged(
    suite: ModuleType, status: int, lines: list[str], holds: bool | None
) -> None:
    assert suite.judged(status, "\n".join(lines))["holds"] is holds


@pytest.mark.slow
def test_the_sanitizer_is_given_the_scan(
    suite: ModuleType, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for the tool, which runs what it is given and counts no error."""
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(
        f'#!/bin/sh\necho "$2" >> {tmp_path}/tools\nshift 4\n"$@"\nstatus=$?\necho "{CLEAN}"\nexit $status\n'
    )
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(CHECKOUT), *sys.path]))
    monkeypatch.setattr(suite, "TOOLS", (("racecheck", "scan"),))
    status, record = call("--part", "sanitizer")
    found = record["parts"]["sanitizer"]["found"]
    assert (tmp_path / "tools").read_text() == "racecheck\n"
    assert status == 0 and found == {"racecheck, scan": {"holds": True, "says": f"exit status 0; {CLEAN}"}}
