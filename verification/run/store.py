"""The store: one SQLite file, written by the parent process only, from which every table is a pure function.

A row of ``jobs`` is a finished job under its key; a row of ``runs`` is a plan (which jobs make up a table, in which
order). Killing the process at any moment loses at most the jobs in flight. What is read is what was written, or a
``DamageError``: ``store_file``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Protocol

import numpy as np
from safetensors.numpy import load, save

from verification.run.checksums import ARRAYS, JOB, RUN, STEP, digest
from verification.run.store_file import MEASURED, DamageError, HeadError, StoreError, StoreFile, step_name
from verification.verdict import ERROR

__all__ = ["DamageError", "HeadError", "Store", "StoreError"]


class Results(Protocol):
    """What finished jobs left, by their keys."""

    def data(self, key: str) -> Any: ...

    def arrays(self, key: str) -> dict[str, np.ndarray]: ...


@dataclass(frozen=True)
class Extract:
    """Some finished jobs, taken out of a store for a worker that cannot read the file."""

    jobs: dict[str, tuple[Any, dict[str, np.ndarray]]]

    def data(self, key: str) -> Any:
        return self.jobs[key][0]

    def arrays(self, key: str) -> dict[str, np.ndarray]:
        return self.jobs[key][1]


@dataclass(frozen=True)
class StoredJob:
    """A finished job as it lies in the file."""

    key: str
    kind: str
    spec: str
    data: str
    arrays: bytes
    wall_s: float
    finished: str

    @property
    def failed(self) -> bool:
        return failed(json.loads(self.data))


@dataclass(frozen=True)
class Run:
    """A plan: its settings and the keys of the judge jobs that make up its table, in order."""

    name: str
    settings: dict[str, Any]
    keys: tuple[str, ...]

    @property
    def independent(self) -> tuple[str, ...]:
        """The keys of the jobs that need no other, in the plan's order; empty in a store of before shards."""
        return tuple(self.settings.get("independent", ()))


def failed(data: Any) -> bool:
    """Whether a stored result is to be tried again: a failed measurement, or cells with the verdict ``error``."""
    if isinstance(data, list):
        return any(plain["verdict"] == ERROR for plain in data)
    return "error" in data


class Store(StoreFile):
    """Finished jobs, the runs that they are of, and what monitors saw."""

    # --- jobs

    def has(self, keys: Iterable[str]) -> set[str]:
        """Those of the keys whose job is finished. DamageError if it is, and is not there."""
        query = "SELECT 1 FROM jobs WHERE key = ?"
        if not self.is_checked:
            return {key for key in keys if self.all(query, (key,))}
        found = set()
        for key in keys:
            with self.one_moment():
                is_there = bool(self.all(query, (key,)))
                is_promised = bool(self.all("SELECT 1 FROM sums WHERE kind = ? AND name = ?", (JOB, key)))
            if is_there != is_promised:
                raise self.damage(f"the {JOB} {key}: {'it has no checksum' if is_there else 'it is gone'}")
            if is_there:
                found.add(key)
        return found

    def put(
        self, key: str, *, kind: str, spec: dict[str, Any], data: Any, arrays: dict[str, np.ndarray], wall_s: float
    ) -> None:
        """Keep a finished job, NaN and infinities as they are (Python's JSON). StoreError if the disk is full or the
        file has become unwritable; earlier jobs stay.
        """
        texts = (json.dumps(spec, ensure_ascii=False), json.dumps(data, ensure_ascii=False))
        packed = save({name: array.copy(order="C") for name, array in arrays.items()})  # it takes memory, not views
        self.put_row(StoredJob(key, kind, *texts, packed, wall_s, _now()))

    def put_row(self, row: StoredJob) -> None:
        """``put``, of a job as it lies in another file."""
        with self.writing():
            self.write(
                "INSERT OR REPLACE INTO jobs (key, kind, spec, data, arrays, wall_s, finished) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (row.key, row.kind, row.spec, row.data, row.arrays, row.wall_s, row.finished),
            )
            self.seal(JOB, row.key)
            self.seal(ARRAYS, row.key)

    def _job(self, kind: str, key: str) -> tuple[Any, ...]:
        rows = self.part(kind, key)
        if not rows:
            raise KeyError(key)
        return rows[0]

    def data(self, key: str) -> Any:
        """The JSON data of a finished job. KeyError if there is none."""
        return self.decoded(json.loads, self._job(JOB, key)[3], key)

    def spec(self, key: str) -> dict[str, Any]:
        """What a finished job was asked to do. KeyError if there is none."""
        spec: dict[str, Any] = self.decoded(json.loads, self._job(JOB, key)[2], key)
        return spec

    def arrays(self, key: str) -> dict[str, np.ndarray]:
        """The arrays of a finished job. KeyError if there is none."""
        arrays: dict[str, np.ndarray] = self.decoded(load, self._job(ARRAYS, key)[1], key)
        return arrays

    def extract(self, keys: Iterable[str]) -> Extract:
        """The finished jobs with these keys. KeyError if one is not there."""
        return Extract({key: (self.data(key), self.arrays(key)) for key in keys})

    def row(self, key: str) -> StoredJob | None:
        """A finished job as it lies in the file, None if there is none."""
        with self.one_moment():
            job, arrays = self.part(JOB, key), self.part(ARRAYS, key)
        return StoredJob(*job[0], *arrays[0][1:]) if job and arrays else None

    def freeze(self) -> None:
        """From here on read the file as it is now, whatever its writer adds."""
        self.all("BEGIN", ())
        self._is_at_one_moment = True
        self.all("SELECT 1 FROM runs", ())

    def absorb(self, rows: Iterable[StoredJob], run: Run, *, complete: bool) -> None:
        """Take over jobs as they lie in other files, and the run that they are of: all of it, or nothing."""
        with self.writing():
            for row in rows:
                self.put_row(row)
            self.begin_run(run.name, run.settings, list(run.keys))
            if complete:
                self.complete_run(run.name)

    # --- runs

    def begin_run(self, name: str, settings: dict[str, Any], keys: list[str]) -> None:
        """Record a plan: the judge jobs that make up its table, in order. The same plan again is the same run."""
        texts = (json.dumps(settings, ensure_ascii=False), json.dumps(keys))
        with self.writing():
            self.write(
                "INSERT OR REPLACE INTO runs (name, settings, keys, started) VALUES (?, ?, ?, ?)",
                (name, *texts, _now()),
            )
            self.seal(RUN, name)
        self.settle()

    def complete_run(self, name: str) -> None:
        with self.writing():
            self.write("UPDATE runs SET completed = ? WHERE name = ?", (_now(), name))
            self.seal(RUN, name)
        self.settle()

    def runs(self) -> list[tuple[Any, ...]]:
        """Rows (id, name, settings, keys, started, completed) as they lie in the file, in order.

        A page may have one row twice in the place of another, or in another order: each would have its checksum.
        """
        self.check_whole()
        names = [name for (name,) in self.all("SELECT name FROM runs ORDER BY id", ())]
        rows = [row for name in names for row in self.part(RUN, name)]
        if not self.is_checked:
            return rows
        promised = [name for (name,) in self.all("SELECT name FROM sums WHERE kind = ?", (RUN,))]
        if Counter(names) != Counter(promised):
            raise self.damage(f"it lists {len(set(names))} runs of {len(promised)}")
        return sorted(rows, key=lambda row: int(row[0]))

    def latest_run(self) -> tuple[dict[str, Any], list[str], bool]:
        """(settings, judge keys, whether it completed) of the run begun last. StoreError if there is none."""
        _, settings, keys, completed = self._latest()
        return settings, keys, completed

    def run(self) -> Run:
        """The run begun last. StoreError if there is none."""
        name, settings, keys, _ = self._latest()
        return Run(name, settings, tuple(keys))

    def _latest(self) -> tuple[str, dict[str, Any], list[str], bool]:
        runs = self.runs()
        if not runs and self.measurements():
            raise StoreError(
                f'Store "{self.path}" holds what a monitor saw, and no run of `odernn verify`. `odernn table --task '
                f"NAME --runs {self.path.parent}` shows it if `odernn train` wrote it; else give another file."
            )
        if not runs:
            raise StoreError(f'Store "{self.path}" holds no run yet. Run `odernn verify --store {self.path}`.')
        _, name, settings, keys, _, completed = runs[-1]
        of_run = f"the run {name}"
        return (
            str(name),
            self.decoded(json.loads, settings, of_run),
            self.decoded(json.loads, keys, of_run),
            completed is not None,
        )

    def has_run(self) -> bool:
        return bool(self.runs())

    def take_over(self, other: Store, parts: Collection[tuple[str, str]]) -> None:
        """Keep these parts of another store, but for a job without its arrays, or arrays without their job."""
        chosen = frozenset(parts)
        with self.writing():
            for kind, name in parts:
                if kind == JOB and (ARRAYS, name) in chosen and (row := other.row(name)):
                    self.put_row(row)
                elif kind == RUN:
                    columns = "id, name, settings, keys, started, completed"
                    self.write(f"INSERT INTO runs ({columns}) VALUES (?, ?, ?, ?, ?, ?)", other.part(RUN, name)[0])
                    self.seal(RUN, name)
                elif kind == STEP:
                    rows = other.part(STEP, name)
                    self.put_measurements(rows[0][0], rows[0][1], [row[2:] for row in rows])
        self.settle()

    # --- what a monitor saw

    def put_measurements(self, run: str, step: int, rows: Iterable[tuple[Any, ...]]) -> None:
        """Keep what a monitor saw at one step, all of it or nothing, in place of what was there of that step.

        A row is (layer, quantity, bound, value, n, sample, neuron, log_bound, holds, axis, series as bytes).
        """
        with self.writing():
            self.write("DELETE FROM measurements WHERE run = ? AND step = ?", (run, step))
            for row in rows:
                self.write(f"INSERT INTO measurements ({MEASURED}) VALUES ({', '.join('?' * 13)})", (run, step, *row))
            self.seal(STEP, step_name(run, step))

    def measurements(self, run: str | None = None) -> list[tuple[Any, ...]]:
        """Rows (run, step, layer, …) as ``put_measurements`` took them, in order of step; of all runs if None."""
        if not self.has_measurements():
            return []  # a file of version 1
        with self.one_moment():
            self.check_whole()
            rows = self.all(f"SELECT {MEASURED} FROM measurements ORDER BY run, step, layer, quantity, bound", ())
            sums = self.all("SELECT name, digest FROM sums WHERE kind = ?", (STEP,)) if self.is_checked else None
        found = {step_name(*key): digest(of_step) for key, of_step in groupby(rows, lambda row: row[:2])}
        if sums is not None and found != dict(sums):
            wrong = sorted(str(name) for name, _ in found.items() ^ dict(sums).items())
            raise self.damage(f"the {STEP} {wrong[0]}")
        if sums is not None:  # and then all are of their types
            rows.sort(key=lambda row: row[:5])
        return [row for row in rows if run in (None, row[0])]


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
