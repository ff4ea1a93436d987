"""Faults in a store by the thousand: what a reader makes of each, counted (docs/reliability.md).

    python tests/reliability/drill.py --faults 100000 --jobs 2      # half an hour; benchmarks/results/store_faults.json

The stores are those of a small run (three claims, three rungs, one printed row), finished and killed, and of a monitor.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.reliability.faults import FOREIGN, SILENT, Image, drawn, images, outcome, places, seen
from verification.run.store import Store

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "benchmarks" / "results" / "store_faults.json"
SMALL_RUN = ROOT / "tests" / "verification" / "run" / "small_run.py"


def tried(image: Image, count: int, seed: int) -> tuple[Counter[tuple[str, str, str]], list[str]]:
    """Counts of (place, kind of fault, outcome), and the faults that nobody noticed."""
    counts: Counter[tuple[str, str, str]] = Counter()
    bad: list[str] = []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        path = Path(folder) / "store.sqlite"
        image.lay(path)
        reference = seen(path)
        for fault in drawn(image, count, random.Random(f"{image.name} {seed}")):
            fault.applied(image).lay(path)
            word, said = outcome(path, reference)
            counts[fault.place, fault.kind, word] += 1
            if word in (SILENT, FOREIGN):
                bad.append(f"{word}: {image.name}, {fault}: {said}")
    return counts, bad


def small_images() -> list[Image]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.sqlite"
        subprocess.run([sys.executable, str(SMALL_RUN), str(path)], check=True, stdout=subprocess.DEVNULL)
        with Store(path, writable=False) as store:
            run = store.run()
            rows = [row for kind, key in store.names() if kind == "job" and (row := store.row(key))]
        return images(rows, run.settings, run.keys, Path(folder))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--into", type=Path, default=RECORD)
    options = parser.parse_args(arguments)
    started, found = time.monotonic(), small_images()
    parts = 10
    share = -(-options.faults // (parts * len(found)))
    tasks = [(image, share, options.seed * parts + part) for part in range(parts) for image in found]
    counts: dict[str, Counter[tuple[str, str, str]]] = {image.name: Counter() for image in found}
    bad: list[str] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for (image, *_), (of_part, missed) in zip(tasks, pool.map(tried, *zip(*tasks, strict=True)), strict=True):
            counts[image.name] += of_part
            bad += missed
    total: Counter[str] = Counter()
    for of_image in counts.values():
        for (_, _, word), number in of_image.items():
            total[word] += number
    record = {
        "faults": sum(total.values()),
        "seed": options.seed,
        "sqlite": sqlite3.sqlite_version,
        "seconds": round(time.monotonic() - started),
        "outcomes": dict(total),
        "stores": {
            image.name: {
                "bytes": len(image.database),
                "bytes_of_log": len(image.wal),
                "places": {place: len(ranges) for place, ranges in places(image).items()},
                "counts": [[*key, number] for key, number in sorted(counts[image.name].items())],
            }
            for image in found
        },
        "unnoticed": bad[:100],
    }
    options.into.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps(record["outcomes"]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
