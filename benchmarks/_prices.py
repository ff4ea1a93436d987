"""What the scripts on the price of a guarantee share: runs from nothing in processes, their record, their table."""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from _harness import RESULTS, spliced
from scipy import stats

from verification.training import loop
from verification.training.configuration import Configuration
from verification.training.determinism import determinism
from verification.training.processes import processes

PAGE = Path(__file__).resolve().parent.parent / "docs" / "guarantees.md"


def from_nothing(made: Configuration) -> tuple[loop.TrainingRun, loop.TrainingResult]:
    """The run of that configuration on one thread, to its end; its folder goes."""
    torch.set_num_threads(1)
    folder = RESULTS.parent.parent / "build" / "prices" / made.digest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with processes("cpu") as own, determinism(made.training.deterministic, "cpu"):
        run = loop.TrainingRun(made, folder, own)
        found = run.to_the_end(None, [])
    shutil.rmtree(folder, ignore_errors=True)
    return run, found


def difference(pairs: Sequence[float]) -> str:
    """The mean in points of per cent, and half the width of Student's 95 % interval."""
    half = stats.t.ppf(0.975, len(pairs) - 1) * statistics.stdev(pairs) / math.sqrt(len(pairs))
    return f"{100 * statistics.mean(pairs):+.2f} ± {100 * half:.2f}"


def accuracies(found: Sequence[float], free: Sequence[float] | None) -> tuple[str, str, str]:
    """Mean, range, and the difference from the free networks of the same seeds; "–" of those themselves, or of one."""
    apart = "–" if free is None or len(found) < 2 else difference([a - b for a, b in zip(found, free, strict=True)])
    return f"{statistics.mean(found):.2%}", f"{min(found):.2%} … {max(found):.2%}", apart


def opened(name: str) -> dict[str, Any]:
    """The runs of results/<name>.json."""
    record = RESULTS / f"{name}.json"
    return json.loads(record.read_text("utf-8"))["runs"] if record.exists() else {}


def command(
    name: str,
    about: str | None,
    plans: Callable[[], Mapping[str, Configuration]],
    trained: Callable[[str], dict[str, Any]],
    page: Callable[[str, Mapping[str, Any]], str],
) -> int:
    """Train what the record lacks or has under another configuration, write it after every run, then the page."""
    parser = argparse.ArgumentParser(description=(about or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1, help="so many runs at a time")
    parser.add_argument("--page", action="store_true", help="train nothing")
    options = parser.parse_args()
    runs = opened(name)
    if not options.page:
        missing = [key for key, made in plans().items() if runs.get(key, {}).get("digest") != made.digest()]
        with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
            futures = {pool.submit(trained, key): key for key in missing}
            for done in as_completed(futures):
                runs[futures[done]] = done.result()
                record = {"benchmark": name, "runs": {key: runs[key] for key in sorted(runs)}}
                (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
                sys.stdout.write(f"{futures[done]}: {done.result()['accuracy']:.2%}\n")
                sys.stdout.flush()
    PAGE.write_text(page(PAGE.read_text("utf-8"), runs), encoding="utf-8")
    return 0


def with_table(text: str, name: str, table: str) -> str:
    """The page with the table of that script in its place."""
    return spliced(text, f"<!-- table of benchmarks/{name}.py -->", f"<!-- end of {name}'s -->", table)
