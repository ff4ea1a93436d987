"""Everything that only a GPU can tell of the CUDA kernels, by one command that needs no network.

    python -m device.suite                       all parts; writes device/results/device_<name>.json
    python -m device.suite --part correctness --part streams --seconds 540
    python -m device.suite --part times          of all shapes; times-psmnist is one of them
    python -m device.suite --list                the parts
    python -m device.suite --emulated            every part that can, on the CPU: a trial of this script

The record is written after every figure, so that a run that is killed leaves what it had. A part that the record
already has, of the same kernels, is kept unless it is asked for again: so parts may be spread over several calls with
one ``--output`` (a record there, or in results/, is gone on with). After ``--seconds`` no further figure is begun.

Nothing is timed unless the record says that every check holds, of these very sources, or --times-anyway is given.
Machine code is taken from ODERNN_CUBINS or the cache where it is there, else compiled. PyCUDA is used where it is
installed; else the driver's C interface, and the record says so. Exit status: 0 if all that was asked for was done and
holds, or if there is no device and none is required; 1 otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from benchmarks._harness import machine
from cuda.odernn_kernels import build, emulator, execution, module
from device import checks as checking
from device import threads as comparing
from device import times as timing
from device.checks import LARGE, SMALL, Checks
from odernn.executions.recurrence import ReconstructionWarning

RESULTS = Path(__file__).parent / "results"

SHAPES = {
    "eigenworms": (17984, 8, 32),
    "psmnist": (784, 128, 256),
    "psmnist128": (784, 128, 128),
    "cifar": (1000, 30, 128),
    "wide": (1000, 128, 256),
}
"""(steps, batch, hidden)."""

COLUMNS = (32, 256, 1024, 2048, 4096, 8192, 16384)
"""Of the comparison of ring and scan, at 8192 steps."""

TOOLS = (("memcheck", "all"), ("racecheck", "scan"), ("synccheck", "scan"), ("initcheck", "scan"), ("memcheck", "scan"))
"""compute-sanitizer's tools and the kernels that run under each."""


class DeadlineError(Exception):
    """The time that was given is used up; what is in the record stays."""


@dataclass
class Run:
    """One call of the script: where it runs, and the record that it writes."""

    device: str
    record: dict[str, Any]
    path: Path
    deadline: float = float("inf")
    times_anyway: bool = False
    part: dict[str, Any] = field(default_factory=dict)

    @property
    def is_trial(self) -> bool:
        """On the CPU, in the emulator."""
        return self.device != "cuda"

    @property
    def clock(self) -> timing.Clock:
        return timing.Clock(self.device, rounds=2, warmup=0) if self.is_trial else timing.Clock(self.device)

    @property
    def left(self) -> float:
        """Seconds."""
        return self.deadline - time.monotonic()

    def shape(self, wanted: tuple[int, int, int]) -> tuple[int, int, int]:
        """``wanted`` on a device."""
        return (20, 2, 5) if self.is_trial else wanted

    def note(self, name: str, value: Any) -> None:
        """Into the record of the part that runs, and onto the disk; raises DeadlineError after the deadline."""
        self.part["found"][name] = value
        self.save()
        if self.left <= 0:
            raise DeadlineError(f"after {name}")

    def save(self) -> None:
        """Whole files only, by rename: whoever kills this finds the last one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self.path.parent, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(self.record, indent=1) + "\n")
        os.replace(temporary, self.path)


# --- the parts


def correctness(run: Run) -> None:
    """Every mode, dtype and call against the float64 loop; NaN; a saddle; the other kernels; the peer that is timed."""
    shapes = SMALL if run.is_trial else LARGE
    groups: dict[str, Callable[[Checks], None]] = {
        f"modes {shape}": functools.partial(_modes, device=run.device, shape=shape) for shape in shapes
    }
    for name, check in (
        ("contract", checking.check_contract),
        ("saddle", checking.check_saddle),
        ("nan", checking.check_nan),
        ("published", checking.check_published),
    ):
        groups[name] = functools.partial(check, device=run.device)
    count = 2000 if run.is_trial else 1 << 24
    groups["others"] = functools.partial(checking.check_others, device=run.device, count=count)
    for name, check in groups.items():
        _checked(run, name, check)
    run.note("is complete", True)


def _modes(checks: Checks, *, device: str, shape: tuple[int, int, int]) -> None:
    checking.check_recurrence(checks, device, (shape,))


def _checked(run: Run, name: str, check: Callable[[Checks], None]) -> None:
    """A group of checks into the record; an exception in it is a check that does not hold."""
    checks = Checks()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ReconstructionWarning)
            check(checks)
    except Exception as error:
        checks.found.append({"check": f"{name} raised {type(error).__name__}: {error}", "holds": False})
        sys.stdout.write(f"FAILS {name}: {error}\n")
    run.note(name, {"holds": checks.hold, "count": len(checks.found), "checks": checks.found})


def streams(run: Run) -> None:
    """Side streams, threads and captured graphs."""
    if run.is_trial:
        run.note("not run", "the emulator has no streams")
    else:
        _checked(run, "streams", checking.check_streams)
        _checked(run, "captured scoRNN", checking.check_captured_scornn)


def adversary(run: Run) -> None:
    """The search of the verification suite on the device, beside the CPU."""
    from device.adversary import check_adversary  # needs that suite, which the kernels do not

    _checked(run, "adversary", functools.partial(check_adversary, device=run.device))


def sanitizer(run: Run) -> None:
    """compute-sanitizer: the scan kernel under every tool, all kernels under memcheck."""
    tool = shutil.which("compute-sanitizer")
    if tool is None:
        run.note("not run", "compute-sanitizer is not installed")
        return
    for check, kernels in TOOLS:
        command = [
            tool,
            "--tool",
            check,
            "--error-exitcode",
            "9",
            sys.executable,
            "-m",
            "device.suite",
            "--small",
            kernels,
        ]
        seconds = min(120.0, max(run.left, 1.0))
        try:
            done = subprocess.run(
                command + (["--emulated"] if run.is_trial else []),
                cwd=Path(__file__).resolve().parent.parent,
                capture_output=True,
                text=True,
                timeout=seconds,
            )
            found = judged(done.returncode, done.stdout + done.stderr)
        except subprocess.TimeoutExpired:
            found = {"holds": None, "says": f"not finished in {seconds:.0f} s"}
        sys.stdout.write(f"compute-sanitizer {check} ({kernels}): {found}\n")
        run.note(f"{check}, {kernels}", found)


def judged(status: int, output: str) -> dict[str, Any]:
    """Whether a run under the sanitizer holds: ``None`` where it could not look, whatever the status.

    A status of 0 is not enough: the summary must be there and count nothing, and the run must have come to its end.
    """
    lines = [line for line in output.splitlines() if line.startswith("=====")]
    says = f"exit status {status}; " + " | ".join(lines[-4:])
    summaries = [line for line in lines if "SUMMARY" in line]
    is_clean = all("SUMMARY: 0 errors" in line or "SUMMARY: 0 hazards" in line for line in summaries)
    if is_clean and any(words in output for words in ("not supported", "No attachable process", "nothing was run")):
        return {"holds": None, "says": says}
    return {"holds": status == 0 and bool(summaries) and is_clean and SMALL_DONE in output, "says": says}


def times(run: Run, name: str) -> None:
    """One shape: the recurrence forwards and backwards, a layer beside the LSTM."""
    shape = run.shape(SHAPES[name])
    parts = {"forward": timing.time_forward, "backward": timing.time_backward, "layer": timing.time_layer}
    for label, measure in parts.items():
        run.note(f"{label} {shape}", measure(run.clock, shape))


def crossover(run: Run) -> None:
    """Ring and scan over the number of columns."""
    steps, columns = (1030, (1, 2)) if run.is_trial else (8192, COLUMNS)
    for each in columns:
        run.note(f"{steps} steps, {each} columns", timing.crossover(run.clock, steps, each))


def scornn(run: Run) -> None:
    """scoRNN with its matrix on the chip."""
    shape = run.shape((784, 128, 170))
    run.note(f"scoRNN {shape}", timing.time_scornn(run.clock, shape))


def trajectories(run: Run) -> None:
    """The search of counterexamples."""
    size = (30, 64) if run.is_trial else (1000, 65536)
    run.note(f"trajectories {size}", timing.time_trajectories(run.clock, *size))


def host(run: Run) -> None:
    """The host's work for a call, which a small shape waits for."""
    for wanted in timing.HOST_SHAPES:
        shape = run.shape(wanted)
        run.note(f"host {shape}", timing.host_work(run.clock, shape))


def threads(run: Run) -> None:
    """What a launch costs the host in which thread, by which launcher."""
    for label, found in comparing.compared(run.device):
        run.note(label, found)


def memory(run: Run) -> None:
    """Peak memory of a training step of three layers, in arrays of N · b · m a layer, at three lengths."""
    for steps in (1000, 4096, SHAPES["eigenworms"][0]):
        shape = run.shape((steps, *SHAPES["eigenworms"][1:]))
        run.note(f"three layers {shape}", timing.memory(run.device, shape, 3))


def registers(run: Run) -> None:
    """Of every kernel, by nvcc."""
    if shutil.which("nvcc") is None:
        run.note("not run", "there is no nvcc")
        return
    for unit in build.UNITS:
        run.note(unit, {name: used.registers for name, used in build.nvcc(unit, run.record["arch"])[1].items()})


PARTS: dict[str, Callable[[Run], None]] = {
    "correctness": correctness,
    "streams": streams,
    "adversary": adversary,
    "sanitizer": sanitizer,
    **{f"times-{name}": functools.partial(times, name=name) for name in SHAPES},
    "crossover": crossover,
    "scornn": scornn,
    "trajectories": trajectories,
    "host": host,
    "threads": threads,
    "memory": memory,
    "registers": registers,
}
TIMED = [name for name in PARTS if name not in ("correctness", "streams", "adversary", "sanitizer", "registers")]


def chosen(names: list[str]) -> list[str]:
    """Parts in their own order; "times" is all shapes, nothing is everything."""
    unknown = [name for name in names if name != "times" and name not in PARTS]
    if unknown:
        raise SystemExit(f"device.suite: there is no part {unknown[0]}. Choose from: times, {', '.join(PARTS)}.")
    is_of_times = {name for name in PARTS if name.startswith("times-") and "times" in names}
    return [name for name in PARTS if not names or name in names or name in is_of_times]


# --- the record


def files() -> dict[str, bytes]:
    """{name: text} of what the kernels and their callers are made of."""
    folder = Path(build.__file__).parent
    paths = sorted([*folder.glob("*.py"), *folder.glob("kernels/*")])
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def sources() -> str:
    """All of them in 24 digits: figures of other sources are not gone on with."""
    return hashlib.sha256(b"\0".join(files().values())).hexdigest()[:24]


def digests() -> dict[str, str]:
    """Each of them in as many: a record says later which of them have changed."""
    return {name: hashlib.sha256(text).hexdigest()[:24] for name, text in files().items()}


def commit() -> str | None:
    """Of this checkout; None where git does not say."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def begun(options: argparse.Namespace, loader: str) -> tuple[dict[str, Any], Path]:
    """The record to go on with, or a new one, and where it is written."""
    on_device = torch.cuda.is_available() and not options.emulated
    title = torch.cuda.get_device_name() if on_device else "emulated"
    name = f"device_{''.join(c if c.isalnum() else '_' for c in title).strip('_').lower()}.json"
    fresh: dict[str, Any] = {
        "benchmark": "device_suite",
        "unit": "ms",
        "sources": sources(),
        "files": digests(),
        "commit": commit(),
        "machine": machine(),
        "loader": loader,
        "arch": "sm_{}{}".format(*torch.cuda.get_device_capability()) if on_device else "sm_90",
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version() if on_device else None,
        "LSTM with TF32": torch.backends.cudnn.allow_tf32 if on_device else None,
        "parts": {},
        "cases": {},
    }
    for folder in (options.output, RESULTS):
        if (folder / name).is_file():
            known = json.loads((folder / name).read_text("utf-8"))
            same = all(known.get(key) == fresh[key] for key in ("sources", "arch", "cuda", "loader"))
            if same:
                return fresh | {"parts": known["parts"], "cases": known["cases"]}, options.output / name
            sys.stdout.write(f"device.suite: {name} is of other sources or another machine, and is begun anew\n")
    return fresh, options.output / name


def unsound(record: dict[str, Any]) -> str | None:
    """Why nothing may be timed, or ``None``."""
    part = record["parts"].get("correctness", {})
    if part.get("state") != "done":
        return "the checks have not all been done: run --part correctness"
    return None if holds(part) else "a check does not hold"


def holds(part: dict[str, Any]) -> bool:
    """Whether no figure of a part says that something is wrong; what could not be looked at does not count."""
    return all(not isinstance(each, dict) or each.get("holds", True) is not False for each in part["found"].values())


def carry_out(run: Run, name: str) -> None:
    """One part, into the record: its state, seconds and figures."""
    started = time.monotonic()
    run.part = run.record["parts"][name] = {"state": "running", "seconds": 0.0, "found": {}}
    try:
        reason = unsound(run.record) if name in TIMED else None
        if reason is not None and run.times_anyway:
            run.part["although"], reason = reason, None
        if reason is not None:
            run.part["state"] = f"refused: {reason}"
        else:
            run.save()
            PARTS[name](run)
            run.part["state"] = "done"
    except DeadlineError as stop:
        run.part["state"] = f"stopped {stop}"
    except Exception as error:  # one part that fails must not cost the others
        run.part["state"] = f"failed: {type(error).__name__}: {error}"
    run.part["seconds"] = round(time.monotonic() - started, 1)
    for label, found in run.part["found"].items():
        if name in TIMED and isinstance(found, list):
            run.record["cases"][f"{name}: {label}"] = found
    run.save()
    sys.stdout.write(f"{name}: {run.part['state']} ({run.part['seconds']} s)\n")


# --- the command


SMALL_DONE = "all small checks done"


def small(kernels: str, device: str) -> int:
    """A short run for the sanitizer: a tile and a bit of the scan, or every kernel. The last line says so."""
    checks = Checks()
    shapes = ((1100, 1, 1),) if kernels == "scan" else SMALL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReconstructionWarning)
        checking.check_recurrence(checks, device, shapes)
        if kernels == "all":
            checking.check_contract(checks, device)
            checking.check_others(checks, device, count=2000)
            checking.check_published(checks, device)
    sys.stdout.write(f"{SMALL_DONE}\n")
    return 0 if checks.hold else 1


def launcher(is_emulated: bool) -> tuple[Any, str]:
    """What launches, and its name for the record."""
    if is_emulated:
        from cuda.odernn_kernels.emulator.launcher import EmulatedLauncher

        return EmulatedLauncher(emulator.build()), "emulator"
    return None, module.loader()


def suite(options: argparse.Namespace) -> int:
    """The parts that were asked for, or a short run for the sanitizer."""
    device = "cpu" if options.emulated else "cuda"
    if device == "cuda" and not torch.cuda.is_available():
        sys.stdout.write(f"device.suite: nothing was run: {execution.unavailable_because()}\n")
        return 1 if options.require_device else 0
    if device == "cuda":
        torch.zeros(1, device="cuda")  # torch makes the primary context
    names = chosen(options.part)
    override, loader = launcher(options.emulated)
    with module.using(override) if override is not None else contextlib.nullcontext():
        if options.small:
            return small(options.small, device)
        record, path = begun(options, loader)
        deadline = time.monotonic() + options.seconds if options.seconds else float("inf")
        run = Run(device, record, path, deadline, options.times_anyway)
        for name in names:
            if not options.part and record["parts"].get(name, {}).get("state") == "done":
                continue  # of an earlier call
            if run.left <= 0:
                sys.stdout.write(f"{name}: no time is left for it\n")
                continue
            carry_out(run, name)
    parts = record["parts"]
    missing = [name for name in names if parts.get(name, {}).get("state") != "done"]
    wrong = [name for name in names if name in parts and not holds(parts[name])]
    sys.stdout.write(f"wrote {path.name}; not done: {', '.join(missing) or '-'}; wrong: {', '.join(wrong) or '-'}\n")
    return 1 if missing or wrong else 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", default=[], help="one of --list, or times; may be given again")
    parser.add_argument("--list", action="store_true", help="print the parts")
    parser.add_argument("--seconds", type=float, help="begin no further figure after so many")
    parser.add_argument("--emulated", action="store_true", help="a trial on the CPU, with small shapes")
    parser.add_argument("--small", choices=("scan", "all"), help="a short run without a record, for a sanitizer")
    parser.add_argument("--require-device", action="store_true", help="exit with 1 where there is no device")
    parser.add_argument(
        "--times-anyway", action="store_true", help="time although a check does not hold; the record says which part"
    )
    parser.add_argument("--output", type=Path, help="folder of the record (default: device/results)")
    options = parser.parse_args(arguments)
    if options.list:
        for name, part in PARTS.items():
            doc = (part.func if isinstance(part, functools.partial) else part).__doc__ or ""
            sys.stdout.write(f"{name:18s} {doc.splitlines()[0]}\n")
        return 0
    if options.output is None:
        options.output = Path(tempfile.mkdtemp(prefix="device_suite_")) if options.emulated else RESULTS
    return suite(options)


if __name__ == "__main__":
    sys.exit(main())
