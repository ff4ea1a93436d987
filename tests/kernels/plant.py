"""Plant every fault of ``faults.py`` and see which test notices it: benchmarks/results/kernel_faults.json.

    python tests/kernels/plant.py                 the faults that the record lacks, or has with other texts
    python tests/kernels/plant.py "a barrier"     those whose names begin so
    python tests/kernels/plant.py --again         all of them

A process a fault, in which pytest runs the tests that are named for it and stops at the first one that fails; then the
other files of tests/kernels, the fast tier first and then the slow one (but of a fault that is explained, of the named
files only). The record is written after every fault, so
that the command goes on where it was stopped. Exit status 1 if a fault passes that has no explanation, or if one that
has is noticed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT))

from benchmarks._harness import machine  # noqa: E402
from cuda.odernn_kernels import emulator  # noqa: E402
from tests.kernels import planting  # noqa: E402
from tests.kernels.faults import FAULTS, Fault  # noqa: E402

RECORD = CHECKOUT / "benchmarks" / "results" / "kernel_faults.json"
OTHERS = (
    "test_recurrence_kernels",
    "test_broadcasts",
    "test_reconstruction",
    "test_orthogonal_kernel",
    "test_orthogonal_cells",
    "test_trajectories",
    "test_accuracy",
    "test_large_offsets",
    "test_direct",
    "test_stack_launches",
    "test_emulator",
)
"""The files of tests/kernels that run kernels, in the order in which they are tried."""


def digest(fault: Fault) -> str:
    """Of the fault, and the texts of the kernels and the emulator; after a change of tests there is --again."""
    folder = planting.ROOT
    files = [folder / fault.file, *sorted(folder.glob("kernels/*")), emulator.SHIM, folder / "emulator/__init__.py"]
    texts = [json.dumps([fault.what, fault.right, fault.wrong]).encode(), *(path.read_bytes() for path in files)]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:24]


def runs(fault: Fault) -> Iterator[tuple[str, Sequence[str]]]:
    """The tier and the files of each call of pytest, the first that are likely."""
    others = [name for name in OTHERS if name not in fault.tests]
    for tier, marks in (("fast", "not slow and not gpu"), ("full", "slow and not gpu")):
        for names in (fault.tests, others) if tier == "fast" or not fault.explained else (fault.tests,):
            files = [f"tests/kernels/{name}.py" for name in names]
            yield tier, ["-m", marks, *files]


def tried(fault: Fault) -> dict[str, Any]:
    """Which test noticed it, in which tier; None: none."""
    if planting.is_of_kernels(fault):
        planting.built(fault)  # a fault that no compiler takes would be noticed by every test
    environment = {**os.environ, "ODERNN_FAULT": fault.what, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "tests.kernels.planting", "-x", "-q", "--tb=line", "-rfE"]
    started = time.monotonic()
    found: dict[str, Any] = {"file": fault.file, "digest": digest(fault), "noticed_by": None, "tier": None}
    for tier, arguments in runs(fault):
        done = subprocess.run([*command, *arguments], cwd=CHECKOUT, env=environment, capture_output=True, text=True)
        output = done.stdout + done.stderr
        if done.returncode not in (0, 5):  # 5: no test of that tier
            named = re.search(r"^(?:FAILED|ERROR) (\S+::\w+)", output, re.MULTILINE)
            if named is None and done.returncode > 0:
                raise RuntimeError(f"pytest ended with {done.returncode} and names no test:\n{output[-2000:]}")
            died = f"the process, which signal {-done.returncode} ended"
            found |= {"noticed_by": named[1].removeprefix("tests/kernels/") if named else died, "tier": tier}
            break
    explained = {"explained": fault.explained} if fault.explained else {}
    return found | explained | {"seconds": round(time.monotonic() - started, 1)}


def opened() -> dict[str, Any]:
    fresh: dict[str, Any] = {"benchmark": "kernel_faults", "machine": machine(), "faults": {}}
    return json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else fresh


def write(record: dict[str, Any]) -> None:
    """At once, in the order of the list, without faults that are there no more."""
    known = record["faults"]
    record["faults"] = {fault.what: known[fault.what] for fault in FAULTS if fault.what in known}
    part = RECORD.with_suffix(".part")
    part.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    os.replace(part, RECORD)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="beginnings of names; none: all")
    parser.add_argument("--again", action="store_true", help="also those that the record has")
    options = parser.parse_args(arguments)
    record, wrong = opened(), []
    for fault in FAULTS:
        if options.names and not fault.what.startswith(tuple(options.names)):
            continue
        known = record["faults"].get(fault.what)
        if options.again or known is None or known["digest"] != digest(fault):
            record["faults"][fault.what] = tried(fault)
            write(record)
        found = record["faults"][fault.what]
        sys.stdout.write(f"{fault.what}: {found['noticed_by'] or 'NOT NOTICED'}\n")
        sys.stdout.flush()
        if (found["noticed_by"] is None) != bool(fault.explained):
            wrong.append(fault.what)
    sys.stdout.write(f"{len(record['faults'])} faults in {RECORD.name}; to be looked at: {', '.join(wrong) or '-'}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
