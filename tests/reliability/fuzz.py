"""Readers given inputs by the hundred thousand: what comes of each, counted (docs/security.md).

    python tests/reliability/fuzz.py --seconds 600       # goes on where benchmarks/results/fuzzed_readers.json ends
    python tests/reliability/fuzz.py --inputs 1000 --readers wav "graph .dot"

Part k of a reader is the inputs that its name and k seed; each part is a process, the record is written after it. A
reader whose source has changed starts again from nothing. The one that has taken the least processor time is next.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import multiprocessing
import platform
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.reliability.mutants import mutant
from tests.reliability.readers import registry as readers
from tests.reliability.readers.registry import READERS, Reader

RECORD = readers.ROOT / "benchmarks" / "results" / "fuzzed_readers.json"
LONGEST_S = 5.0
"""Of processor time: a reader that takes longer hangs."""
MOST_MB = 1024
ADDRESSES = 24 * 2**30
"""Bytes that a part may map: a bomb ends the part, not the machine."""
PART_S = 8.0
"""Of processor time: about as long as a part takes."""
LONGEST_SAID = 4_000
"""Characters of a message: what a file holds is shown in part."""
KEPT = 20


class HangError(BaseException):
    """No Exception: no reader may catch it."""


def _hangs(number: int, frame: Any) -> None:
    raise HangError


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """HangError after so much processor time, or ten times as much of the clock."""
    signal.signal(signal.SIGVTALRM, _hangs)
    signal.signal(signal.SIGALRM, _hangs)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def tried(reader: Reader, content: bytes, folder: Path, seconds: float = LONGEST_S) -> tuple[str, str, float]:
    """ "read", "refused", "foreign", "hang" or "executed"; what was said; seconds of processor time."""
    begun, known = time.process_time(), len(readers.TOUCHED)
    try:
        with limited(seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.read(folder, content)
        word, said = "read", ""
    except HangError:
        word, said = "hang", traceback.format_exc(limit=-3)
    except Exception as error:
        known_errors = reader.classes()
        word = "refused" if isinstance(error, known_errors) else "foreign"
        said = f"{type(error).__name__}: {error}"
        if word == "foreign":
            frame = traceback.extract_tb(error.__traceback__)[-1]
            said = f"{said[:300]} [{Path(frame.filename).name}:{frame.lineno}]"
        elif unusable := _unusable(str(error), folder if reader.names_file else None):
            word, said = "foreign", f"{unusable}: {said[:300]}"
    took = time.process_time() - begun
    if len(readers.TOUCHED) > known:
        word = "executed"
    elif took > seconds:
        word = "hang"
    return word, said, took


def _unusable(said: str, folder: Path | None) -> str:
    """A message that cannot be printed, says nothing, or names no file of the folder."""
    try:
        said.encode()
    except UnicodeEncodeError:
        return "a message that is no text"
    if folder is not None and folder.name not in said and not any(path.name in said for path in folder.iterdir()):
        return "a message that names no file"
    if len(said) > LONGEST_SAID:
        return f"a message of {len(said)} characters"
    return "" if said.strip() else "a message without words"


def part(reader: Reader, number: int, count: int, seconds: float) -> dict[str, Any]:
    """That many inputs, fewer if so much processor time is over; one part is always the same inputs."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    chance, seeds = random.Random(f"{reader.name} {number}"), list(reader.seeds())
    outcome: dict[str, Any] = {"inputs": 0, "read": 0, "refused": 0, "foreign": 0, "hang": 0, "executed": 0}
    outcome |= {"slowest_s": 0.0, "found": []}
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for seed in seeds:
            tried(reader, seed, Path(folder), 60.0)  # what is imported, and the memory that it takes, is no input's
        before, begun = _peak_mb(), time.process_time()
        while outcome["inputs"] < count and time.process_time() - begun < seconds:
            content = mutant(reader.kind, seeds, chance)
            word, said, took = tried(reader, content, Path(folder))
            outcome["inputs"] += 1
            outcome[word] += 1
            outcome["slowest_s"] = max(outcome["slowest_s"], round(took, 3))
            if word in ("foreign", "hang", "executed") and len(outcome["found"]) < KEPT:
                held = base64.b64encode(content[:4096]).decode()
                outcome["found"].append(
                    {"part": number, "input": outcome["inputs"], "said": said[:400], "content": held}
                )
    peak = _peak_mb()
    return outcome | {"memory_mb": peak, "more_mb": peak - before, "cpu_s": round(time.process_time() - begun, 1)}


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _sent(reader_name: str, number: int, count: int, seconds: float, pipe: Any) -> None:
    reader = next(each for each in READERS if each.name == reader_name)
    pipe.send(part(reader, number, count, seconds))


def in_a_process(reader: Reader, number: int, count: int, seconds: float) -> dict[str, Any]:
    """A process of its own, so that the memory is the reader's; one that dies is a finding."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_sent, args=(reader.name, number, count, seconds, theirs))
    process.start()
    theirs.close()
    try:
        outcome: dict[str, Any] = ours.recv()
    except EOFError:
        process.join()
        found = [{"part": number, "said": f"the process ended with code {process.exitcode}"}]
        outcome = {"inputs": 0, "died": 1, "found": found}
    process.join()
    return outcome


def added(before: dict[str, Any], outcome: dict[str, Any]) -> dict[str, Any]:
    """Counts add up, the slowest and the most are the largest."""
    sums = {name: before.get(name, 0) + outcome.get(name, 0) for name in _COUNTS}
    most = {name: max(before.get(name, 0), outcome.get(name, 0)) for name in ("slowest_s", "memory_mb", "more_mb")}
    found = [*before.get("found", []), *outcome["found"]][:KEPT]
    return {**sums, "cpu_s": round(sums["cpu_s"], 1), **most, "parts": before.get("parts", 0) + 1, "found": found}


_COUNTS = ("inputs", "read", "refused", "foreign", "hang", "executed", "died", "cpu_s")


def summed(record: dict[str, Any]) -> dict[str, Any]:
    every = list(record["readers"].values())
    total = {name: sum(each.get(name, 0) for each in every) for name in _COUNTS}
    most = {name: max((each[name] for each in every), default=0) for name in ("slowest_s", "memory_mb", "more_mb")}
    return {"readers": len(every), **total, "cpu_s": round(total["cpu_s"]), **most}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="of the clock, for all readers together")
    parser.add_argument("--inputs", type=int, default=10**9, help="of each reader, in this call")
    parser.add_argument("--readers", nargs="*", default=[reader.name for reader in READERS])
    parser.add_argument("--into", type=Path, default=RECORD)
    options = parser.parse_args(arguments)
    chosen = {reader.name: reader for reader in READERS if reader.name in options.readers}
    if unknown := set(options.readers) - set(chosen):
        parser.error(f"no such readers: {', '.join(sorted(unknown))}; there are: {', '.join(r.name for r in READERS)}")
    record = json.loads(options.into.read_text()) if options.into.exists() else {"readers": {}}
    ended, left = time.monotonic() + options.seconds, dict.fromkeys(chosen, options.inputs)
    for name, reader in chosen.items():
        if record["readers"].get(name, {}).get("digest") != reader.digest():
            record["readers"][name] = {"digest": reader.digest()}
    while left and time.monotonic() < ended:
        name = min(left, key=lambda name: record["readers"][name].get("cpu_s", 0))
        before = record["readers"][name]
        outcome = in_a_process(chosen[name], before.get("parts", 0), left[name], PART_S)
        record["readers"][name] = {"digest": before["digest"], **added(before, outcome)}
        left[name] -= outcome["inputs"]
        if left[name] <= 0 or outcome.get("died"):
            del left[name]
        record |= {"python": platform.python_version(), "machine": platform.machine(), "total": summed_of(record)}
        written = options.into.with_suffix(".part")
        written.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        written.replace(options.into)
        wrong = [f"{word} {outcome[word]}" for word in ("foreign", "hang", "executed", "died") if outcome.get(word)]
        print(f"{name}: {outcome['inputs']} inputs{', ' + ', '.join(wrong) if wrong else ''}", flush=True)
    print(json.dumps(record["total"]))
    return 1 if any(record["total"][word] for word in ("foreign", "hang", "executed", "died")) else 0


def summed_of(record: dict[str, Any]) -> dict[str, Any]:
    return summed({"readers": {name: each for name, each in record["readers"].items() if "inputs" in each}})


if __name__ == "__main__":
    sys.exit(main())
