"""What the benchmark scripts share: peers timed interleaved in one run, medians with spread, machine and versions
recorded; what was not made.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

import odernn

RESULTS = Path(__file__).parent / "results"


BLOCK_MS = 50.0
"""A turn of a peer lasts at least so long: calls of a millisecond are not timed one by one."""


@dataclass(frozen=True)
class Timing:
    """Milliseconds a call of one peer, over its turns; ``ratio`` is the median of reference/peer, turn by turn.

    ``first`` is the median of the first calls of its turns, with the caches full of what the others left there.
    """

    name: str
    median: float
    smallest: float
    largest: float
    ratio: float
    first: float


def interleaved(
    peers: dict[str, Callable[[], Any]],
    *,
    rounds: int = 7,
    warmup: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Timing]:
    """Time all peers in turn, ``rounds`` times after ``warmup`` uncounted ones. The first peer is the reference.

    A turn is one call that counts only for ``first``, and then calls, one at least, until ``BLOCK_MS`` have passed:
    their mean is the time of that turn, as in a loop of training. Without rounds to warm up there is but one call.
    ``clock`` counts seconds; ``time.process_time`` those of the processor, for one thread on cores shared with others.
    """
    samples: dict[str, list[float]] = {name: [] for name in peers}
    firsts: dict[str, list[float]] = {name: [] for name in peers}
    for number in range(warmup + rounds):
        for name, call in peers.items():
            first = _milliseconds(call, 1, clock)
            if number < warmup:
                continue
            firsts[name].append(first)
            samples[name].append(_milliseconds(call, 1 + int(BLOCK_MS / first), clock) if warmup else first)
    return timings_of(samples, firsts)


def timings_of(samples: dict[str, list[float]], firsts: dict[str, list[float]]) -> list[Timing]:
    """From the milliseconds of every turn of every peer; the first peer is the reference."""
    reference = next(iter(samples.values()))
    return [
        Timing(
            name,
            statistics.median(values),
            min(values),
            max(values),
            statistics.median(r / v for r, v in zip(reference, values, strict=True)),
            statistics.median(firsts[name]),
        )
        for name, values in samples.items()
    ]


def _milliseconds(call: Callable[[], Any], count: int, clock: Callable[[], float]) -> float:
    started = clock()
    for _ in range(count):
        call()
    return 1e3 * (clock() - started) / count


def machine() -> dict[str, Any]:
    """Where and with what the numbers were measured; no host name, no path."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "odernn": odernn.__version__,
        "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def report(
    name: str, cases: dict[str, list[Timing]], checks: Mapping[str, float | dict[str, float]], *, unit: str = "ms"
) -> None:
    """Print a table and write ``results/<name>.json``; ``checks`` are the errors that were verified before timing."""
    RESULTS.mkdir(exist_ok=True)
    data = {
        "benchmark": name,
        "unit": unit,
        "machine": machine(),
        "checked_errors": checks,
        "cases": {case: [asdict(timing) for timing in timings] for case, timings in cases.items()},
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n")
    out = sys.stdout
    for case, timings in cases.items():
        out.write(f"{name}: {case}\n")
        for timing in timings:
            spread = f"{timing.smallest:8.1f} … {timing.largest:8.1f}"
            out.write(
                f"  {timing.name:28s} {timing.median:9.2f} ms  ({spread})  first {timing.first:9.2f}  "
                f"reference/this {timing.ratio:8.4f}\n"
            )


def spliced(text: str, begin: str, end: str, body: str) -> str:
    """The page with ``body`` between its two marks, in place of what is there. ValueError if a mark is missing."""
    before, _, rest = text.partition(begin)
    _, mark, after = rest.partition(end)
    if not mark:
        raise ValueError(f"The page lacks one of the marks {begin} and {end}. Put it back where the table is to stand.")
    return f"{before}{begin}\n\n{body}\n\n{end}{after}"


def said_not_made(left: Sequence[str]) -> int:
    """Print what was not made, three of it at most; the exit status."""
    for line in left[:3]:
        sys.stdout.write(f"not made: {line}\n")
    if len(left) > 3:
        sys.stdout.write(f"not made: {len(left) - 3} more\n")
    return 1 if left else 0
