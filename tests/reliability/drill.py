"""Faults in a store by the thousand: what a reader makes of each, counted (docs/reliability.md).

    python tests/reliability/drill.py --faults 100000 --jobs 2      # half an hour; benchmarks/results/store_faults.json

The record is written after each part; called again, the drill goes on from there, unless the code is another by then.
The stores are those of a small run (three claims, three rungs, one printed row), finished and killed, and of a monitor.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
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
from typing import Any

from tests.reliability.faults import FOREIGN, SAME, SILENT, Fault, Image, drawn, images, outcome, places, seen
from verification.run.mending import mend
from verification.run.store import Store, StoreError

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "benchmarks" / "results" / "store_faults.json"
PART = 500
RUN = ROOT / "verification" / "run"
CODE = [RUN / "store.py", RUN / "store_file.py", RUN / "checksums.py", ROOT / "tests" / "reliability" / "faults.py"]
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


def heads_mended(image: Image) -> Counter[str]:
    """Every bit of the header, one at a time: what `odernn verify` makes of the store."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        path = Path(folder) / "store.sqlite"
        image.lay(path)
        reference = seen(path)
        for offset in places(image)["header"][0]:
            for bit in range(8):
                Fault(False, "flip", "header", offset, bit).applied(image).lay(path)
                is_read = outcome(path, reference)[0] == SAME
                try:
                    mend(path)
                except StoreError:
                    counts["refused by name"] += 1
                    continue
                word, _ = outcome(path, reference)
                counts["read" if is_read and word == SAME else f"mended: {word}"] += 1
                for each in Path(folder).glob("store.sqlite.*"):
                    each.unlink()
    return counts


def small_images() -> list[Image]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.sqlite"
        subprocess.run([sys.executable, str(SMALL_RUN), str(path)], check=True, stdout=subprocess.DEVNULL)
        with Store(path, writable=False) as store:
            run = store.run()
            rows = [row for kind, key in store.names() if kind == "job" and (row := store.row(key))]
        return images(rows, run.settings, run.keys, Path(folder))


def digest_of_code() -> str:
    """Of what is drilled and of what counts: faults of another text are none of this record."""
    digest = hashlib.sha256()
    for path in CODE:
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def begun(path: Path, seed: int) -> dict[str, Any]:
    """The record so far, if it is of this code and seed; else an empty one."""
    fresh = {
        "faults": 0,
        "parts": 0,
        "seed": seed,
        "code": digest_of_code(),
        "sqlite": sqlite3.sqlite_version,
        "seconds": 0,
        "outcomes": {},
        "stores": {},
        "unnoticed": [],
    }
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found if all(found.get(name) == fresh[name] for name in ("seed", "code", "sqlite")) else fresh


def added(record: dict[str, Any], image: Image, counts: Counter[tuple[str, str, str]], bad: Sequence[str]) -> None:
    """One part more of the faults of one store."""
    store = record["stores"].setdefault(image.name, {"counts": []})
    total = Counter({tuple(key): number for *key, number in store["counts"]}) + counts
    store |= {
        "bytes": len(image.database),
        "bytes_of_log": len(image.wal),
        "places": {place: len(ranges) for place, ranges in places(image).items()},
        "counts": [[*key, number] for key, number in sorted(total.items())],
    }
    words = Counter(record["outcomes"])
    for (_, _, word), number in counts.items():
        words[word] += number
    record["outcomes"] = dict(words)
    record["faults"] += counts.total()
    record["unnoticed"] = [*record["unnoticed"], *bad][:100]


def written(record: dict[str, Any], path: Path) -> None:
    """The old record or the new one, never a half."""
    fresh = path.with_name(f"{path.name}.part")
    fresh.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    os.replace(fresh, path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--part", type=int, default=PART, help="faults of each store before the record is written")
    parser.add_argument("--into", type=Path, default=RECORD)
    options = parser.parse_args(arguments)
    record, images_ = begun(options.into, options.seed), small_images()
    with ProcessPoolExecutor(options.jobs) as pool:
        while record["faults"] < options.faults:
            started, part = time.monotonic(), record["parts"]
            tasks = [(image, options.part, options.seed * 10**6 + part) for image in images_]
            for (image, *_), (counts, bad) in zip(tasks, pool.map(tried, *zip(*tasks, strict=True)), strict=True):
                added(record, image, counts, bad)
            record["parts"] += 1
            record["seconds"] += round(time.monotonic() - started)
            written(record, options.into)
    if "bits_of_header" not in record:
        found = {image.name: dict(heads_mended(image)) for image in images_ if not image.wal}
        written(record | {"bits_of_header": found}, options.into)
    print(json.dumps(record["outcomes"]))
    return 1 if record["unnoticed"] else 0


if __name__ == "__main__":
    sys.exit(main())
