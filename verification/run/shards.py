"""Shards: a run in parts that know nothing of each other, for any scheduler, and their stores put together again.

Shard i of n does every n-th of the jobs that need no other, from the i-th on in the plan's order, and of the judgements
its share of those whose searches its store has. Merged, the stores hold what one process would have found; what is
still to be judged, `odernn verify` does on the merged store (or its shards do, on copies of it).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from verification.run.store import Run, Store, StoredJob, StoreError

Item = TypeVar("Item")


class ShardError(Exception):
    """A part that does not exist: one line that says which are there."""


@dataclass(frozen=True)
class Share:
    """Part ``index`` of ``count``, counted from 1."""

    index: int
    count: int

    @staticmethod
    def parse(text: str) -> Share:
        """ShardError unless the text is "i/n" with 1 ≤ i ≤ n."""
        match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        if match is None:
            raise ShardError(f"--shard {text}: is not of the form i/n. For example, the second of eight: --shard 2/8.")
        index, count = int(match[1]), int(match[2])
        if not 1 <= index <= count:
            there = f"the shards are 1/{count} … {count}/{count}" if count else "n must be at least 1"
            raise ShardError(f"--shard {text}: there is no such shard, {there}.")
        return Share(index, count)

    def of(self, items: Sequence[Item]) -> Sequence[Item]:
        """Every ``count``-th of them: the shares of all indices are disjoint, equal but for one, and make up the whole.

        >>> Share(2, 3).of("abcdefgh")
        'beh'
        """
        return items[self.index - 1 :: self.count]

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


# --- putting stores together ------------------------------------------------------------------------------------


class MergeError(StoreError):
    """The stores do not belong together: one line that names them, what differs, and what to do."""


@dataclass(frozen=True)
class Merged:
    """What a merge found. ``repeated`` jobs were in several stores; ``failed`` ones in no store without an error."""

    run: Run
    jobs: int
    added: int
    repeated: int
    failed: int
    missing: tuple[tuple[str, int, int], ...]
    unjudged: int

    @property
    def complete(self) -> bool:
        return not self.missing and not self.unjudged


@dataclass(frozen=True)
class _Held:
    """Where a job's result lies, and its digest without the times."""

    store: Store
    digests: dict[str, bytes]
    failed: bool
    kind: str


def merge(sources: Sequence[Path], into: Path) -> Merged:
    """Put the latest runs of the stores together in ``into``, which is made or added to in one transaction.

    A job in several stores must be the same byte for byte but for its times (``wall_s``, ``finished``); one that failed
    gives way to one that did not. MergeError otherwise, and where the stores are not of one run; DamageError for a
    store that is damaged: nothing is written, and no file made.
    """
    with ExitStack() as stack:
        paths = [
            path for path in dict.fromkeys(sources) if not (into.exists() and path.exists() and path.samefile(into))
        ]
        stores = [stack.enter_context(Store(path, writable=False)) for path in paths]
        for store in stores:
            store.freeze()
        runs = [_run_of(store) for store in stores]
        for store, run in zip(stores, runs, strict=True):
            _check_same_run(stores[0].path, runs[0], store.path, run)
        if not stores and not into.exists():
            raise MergeError(f'Store "{into}" does not exist, and there is nothing to merge into it.')
        if runs and into.exists() and into.stat().st_size:
            with Store(into, writable=False) as before:  # a store of an older odernn is changed by opening it to write
                if before.has_run():
                    _check_same_run(into, _run_of(before), paths[0], runs[0])
        target = stack.enter_context(Store(into, writable=True))
        try:
            return _merged(target, stores, runs)
        except BaseException:
            target.undo()
            raise


def _merged(target: Store, stores: Sequence[Store], runs: Sequence[Run]) -> Merged:
    own = [_run_of(target)] if target.has_run() else []
    if own and runs:
        _check_same_run(target.path, own[0], stores[0].path, runs[0])
    run = (*runs, *own)[0]
    held, repeated = _gathered([target, *stores], (*run.independent, *run.keys))
    fresh = [(key, job) for key, job in held.items() if job.store is not target]
    settings = {name: value for name, value in run.settings.items() if name != "shard"}
    count = _count((*own, *runs))
    merged = Merged(
        run=run,
        jobs=len(held),
        added=len(fresh),
        repeated=repeated,
        failed=sum(job.failed for job in held.values()),
        missing=tuple(_missing(run.independent, held, count)),
        unjudged=sum(key not in held for key in run.keys if key not in set(run.independent)),
    )
    rows = (row for key, job in fresh if (row := job.store.row(key)) is not None)
    target.absorb(rows, Run(run.name, settings | {"shards": count}, run.keys), complete=merged.complete)
    return merged


def _run_of(store: Store) -> Run:
    run = store.run()
    if "checkpoint" in run.settings:
        raise MergeError(
            f'Store "{store.path}" is of `odernn verify --checkpoint {run.settings["checkpoint"]}`: a trained network '
            f"is tried in one piece, so there is nothing to merge. Its table: odernn table --store {store.path}"
        )
    if not run.independent and run.keys:
        raise MergeError(
            f'Store "{store.path}" was written by an odernn that knew no shards. Run its `odernn verify` once more '
            f"with --store {store.path}: nothing is done twice."
        )
    return run


FACTS = {
    "version": "odernn",
    "budget": "budget",
    "seed": "seed",
    "task": "task",
    "device": "device",
    "claims": "claims",
    "source": "source text of odernn",
    "with": "packages",
}


def _check_same_run(path: Path, run: Run, other_path: Path, other: Run) -> None:
    """MergeError that names what differs, unless both plan the same jobs."""
    if run.name == other.name:
        return
    facts = [
        f"{words} {_shown(run.settings.get(name))} and {_shown(other.settings.get(name))}"
        for name, words in FACTS.items()
        if run.settings.get(name) != other.settings.get(name)
    ]
    because = "; ".join(facts) or "the text of the files given with --claims differs"
    raise MergeError(
        f'Stores "{path}" and "{other_path}" are of different runs: {because}. Merge each with its own kind, or run '
        "one again with the options and the installation of the other."
    )


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "all"
    if isinstance(value, dict):
        return ", ".join(f"{name} {version}" for name, version in value.items())
    text = str(value)
    return text[:16] if re.fullmatch("[0-9a-f]{64}", text) else text


def _gathered(stores: Sequence[Store], keys: Sequence[str]) -> tuple[dict[str, _Held], int]:
    """{key: the first store that has it, or has it without failure}, and how many are in more than one store."""
    held: dict[str, _Held] = {}
    repeated = 0
    for key in dict.fromkeys(keys):
        copies = [_Held(store, _digests(row), row.failed, row.kind) for store in stores if (row := store.row(key))]
        if not copies:
            continue
        good = [copy for copy in copies if not copy.failed]
        for other in good[1:]:
            _check_same_result(key, good[0], other)
        repeated += len(copies) > 1
        held[key] = (good or copies)[0]
    return held, repeated


def _digests(row: StoredJob) -> dict[str, bytes]:
    parts = {"kind": row.kind.encode(), "spec": row.spec.encode(), "data": row.data.encode(), "arrays": row.arrays}
    return {name: hashlib.sha256(part).digest() for name, part in parts.items()}


def _check_same_result(key: str, one: _Held, other: _Held) -> None:
    differing = [name for name, digest in one.digests.items() if other.digests[name] != digest]
    if differing:
        spec = json.dumps(one.store.spec(key), ensure_ascii=False)
        raise MergeError(
            f'Stores "{one.store.path}" and "{other.store.path}" have different results of one job: {one.kind} {key}, '
            f"{' and '.join(differing)} differ. The job: {spec[:300]}. Equal keys must have equal bytes, so a file is "
            "damaged or the machines round differently: do one of the shards again where the other was done."
        )


def _count(runs: Sequence[Run]) -> int:
    """Into how many shards the stores' runs were cut, if all say the same; else 1."""
    counts = {Share.parse(run.settings["shard"]).count for run in runs if "shard" in run.settings}
    counts |= {run.settings["shards"] for run in runs if run.settings.get("shards", 1) > 1}
    return counts.pop() if len(counts) == 1 else 1


def _missing(independent: Sequence[str], held: dict[str, _Held], count: int) -> Iterator[tuple[str, int, int]]:
    """(shard, how many of its jobs are in no store, how many it has) of every shard that lacks any."""
    for index in range(1, count + 1):
        share = Share(index, count)
        keys = share.of(independent)
        absent = sum(key not in held for key in keys)
        if absent:
            yield str(share), absent, len(keys)
