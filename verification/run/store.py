"""The store: one SQLite file (WAL), written by the parent process only, from which every table is a pure function.

A row of ``jobs`` is a finished job under its key; a row of ``runs`` is a plan (which jobs make up a table, in which
order). Killing the process at any moment loses at most the jobs in flight.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from filelock import FileLock, Timeout
from safetensors.numpy import load, save

from verification.verdict import ERROR

SCHEMA_VERSION = 2
"""2 added ``measurements``; a file of version 1 is read as it is, and gets the table when it is written."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    key TEXT PRIMARY KEY, kind TEXT NOT NULL, spec TEXT NOT NULL, data TEXT NOT NULL, arrays BLOB NOT NULL,
    wall_s REAL NOT NULL, finished TEXT NOT NULL DEFAULT (datetime('now'))
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, settings TEXT NOT NULL, keys TEXT NOT NULL,
    started TEXT NOT NULL DEFAULT (datetime('now')), completed TEXT
);
CREATE TABLE IF NOT EXISTS measurements (
    run TEXT NOT NULL, step INTEGER NOT NULL, layer TEXT NOT NULL, quantity TEXT NOT NULL, bound TEXT NOT NULL,
    value REAL, n INTEGER, sample INTEGER, neuron INTEGER, log_bound REAL, holds INTEGER, axis TEXT NOT NULL,
    series BLOB,
    PRIMARY KEY (run, step, layer, quantity, bound)
);
"""


_OWN_TABLES = {"jobs", "runs", "measurements"}
_MEASURED = "run, step, layer, quantity, bound, value, n, sample, neuron, log_bound, holds, axis, series"


class StoreError(Exception):
    """The store cannot be used: one line that says which file, why, and what to do."""


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


class Store:
    """Open a store, creating it if ``writable``. Use as a context manager.

    Writing takes an exclusive lock (``<file>.lock``) that dies with the process; reading needs none.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self._lock: FileLock | None = None
        try:
            problem = _problem(path, writable)
        except OSError as error:
            problem = f"cannot be reached: {error.strerror}. Choose another file with --store."
        if problem:
            raise StoreError(f'Store "{path}" {problem}')
        if writable:
            self._take_lock()
        try:
            self._database = self._open(writable)
        except BaseException:
            self._release()
            raise

    def _open(self, writable: bool) -> sqlite3.Connection:
        database = None
        try:
            database = sqlite3.connect(self.path, isolation_level=None)
            self._check_schema(database, writable)
            if writable:
                database.execute("PRAGMA journal_mode = WAL")
                database.execute("PRAGMA synchronous = NORMAL")
                database.executescript(_SCHEMA)
                database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            return database
        except (sqlite3.Error, StoreError) as error:
            if database is not None:
                database.close()
            if isinstance(error, StoreError):
                raise
            raise StoreError(
                f'Store "{self.path}" cannot be opened: {error}. Check the file and its folder, or choose another '
                "with --store."
            ) from None

    def _check_schema(self, database: sqlite3.Connection, writable: bool) -> None:
        """StoreError for a database of another program, of a newer odernn, or (to read) without tables."""
        version = database.execute("PRAGMA user_version").fetchone()[0]
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if version < 0 or (version == 0 and tables - _OWN_TABLES):
            raise StoreError(
                f'Store "{self.path}" is the database of another program. Choose another file with --store.'
            )
        if version > SCHEMA_VERSION:
            raise StoreError(
                f'Store "{self.path}" has schema {version}, this odernn knows {SCHEMA_VERSION}: it was written by '
                "a newer odernn. Update odernn, or choose another file with --store."
            )
        if version == 0 and not writable:
            raise StoreError(f'Store "{self.path}" holds no odernn tables. Run `odernn verify --store {self.path}`.')

    def _take_lock(self) -> None:
        lock = FileLock(f"{self.path}.lock")
        try:
            with open(
                lock.lock_file, "ab"
            ):  # the lock itself does not tell a folder without permission from a held lock
                pass
            lock.acquire(timeout=0)
        except Timeout:
            raise StoreError(
                f'Store "{self.path}" is in use by another run. Wait for it to end, or choose another file with '
                "--store."
            ) from None
        except OSError as error:
            raise StoreError(
                f'Store "{self.path}" cannot be written: {error.strerror or error}. Choose another file with --store.'
            ) from None
        self._lock = lock

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def close(self) -> None:
        self._database.close()
        self._release()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def has(self, keys: Iterable[str]) -> set[str]:
        """Those of the keys whose job is finished."""
        return {key for key in keys if self._first("SELECT 1 FROM jobs WHERE key = ?", key)}

    def put(
        self, key: str, *, kind: str, spec: dict[str, Any], data: Any, arrays: dict[str, np.ndarray], wall_s: float
    ) -> None:
        """Keep a finished job, NaN and infinities as they are (Python's JSON). StoreError if the disk is full or the
        file has become unwritable; earlier jobs stay.
        """
        row = (
            key,
            kind,
            json.dumps(spec, ensure_ascii=False),
            json.dumps(data, ensure_ascii=False),
            save({name: array.copy(order="C") for name, array in arrays.items()}),  # it takes memory, not views
            wall_s,
        )
        self._write(
            "INSERT OR REPLACE INTO jobs (key, kind, spec, data, arrays, wall_s) VALUES (?, ?, ?, ?, ?, ?)", row
        )

    def data(self, key: str) -> Any:
        """The JSON data of a finished job. KeyError if there is none."""
        row = self._first("SELECT data FROM jobs WHERE key = ?", key)
        if row is None:
            raise KeyError(key)
        return json.loads(row[0])

    def spec(self, key: str) -> dict[str, Any]:
        """What a finished job was asked to do. KeyError if there is none."""
        row = self._first("SELECT spec FROM jobs WHERE key = ?", key)
        if row is None:
            raise KeyError(key)
        spec: dict[str, Any] = json.loads(row[0])
        return spec

    def arrays(self, key: str) -> dict[str, np.ndarray]:
        """The arrays of a finished job. KeyError if there is none."""
        row = self._first("SELECT arrays FROM jobs WHERE key = ?", key)
        if row is None:
            raise KeyError(key)
        return load(row[0])

    def extract(self, keys: Iterable[str]) -> Extract:
        """The finished jobs with these keys. KeyError if one is not there."""
        return Extract({key: (self.data(key), self.arrays(key)) for key in keys})

    def row(self, key: str) -> StoredJob | None:
        """A finished job as it lies in the file, None if there is none."""
        stored = self._first("SELECT key, kind, spec, data, arrays, wall_s, finished FROM jobs WHERE key = ?", key)
        return None if stored is None else StoredJob(*stored)

    def freeze(self) -> None:
        """From here on read the file as it is now, whatever its writer adds."""
        self._first("BEGIN")
        self._first("SELECT 1 FROM runs")

    def absorb(self, rows: Iterable[StoredJob], run: Run, *, complete: bool) -> None:
        """Take over jobs as they lie in other files, and the run that they are of: all of it, or nothing."""
        self._write("BEGIN IMMEDIATE", ())
        try:
            for row in rows:
                self._write(
                    "INSERT OR REPLACE INTO jobs (key, kind, spec, data, arrays, wall_s, finished) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (row.key, row.kind, row.spec, row.data, row.arrays, row.wall_s, row.finished),
                )
            self.begin_run(run.name, run.settings, list(run.keys))
            if complete:
                self.complete_run(run.name)
            self._write("COMMIT", ())
        except BaseException:
            self._database.rollback()
            raise

    def begin_run(self, name: str, settings: dict[str, Any], keys: list[str]) -> None:
        """Record a plan: the judge jobs that make up its table, in order. The same plan again is the same run."""
        self._write(
            "INSERT OR REPLACE INTO runs (name, settings, keys) VALUES (?, ?, ?)",
            (name, json.dumps(settings, ensure_ascii=False), json.dumps(keys)),
        )

    def complete_run(self, name: str) -> None:
        self._write("UPDATE runs SET completed = datetime('now') WHERE name = ?", (name,))

    def latest_run(self) -> tuple[dict[str, Any], list[str], bool]:
        """(settings, judge keys, whether it completed) of the run begun last. StoreError if there is none."""
        query = "SELECT settings, keys, completed FROM runs ORDER BY id DESC LIMIT 1"
        row = self._first(query)
        if row is None and self.measurements():
            raise StoreError(
                f'Store "{self.path}" holds what a monitor saw, and no run of `odernn verify`. `odernn table --task '
                f"NAME --runs {self.path.parent}` shows it if `odernn train` wrote it; else give another file."
            )
        if row is None:
            raise StoreError(f'Store "{self.path}" holds no run yet. Run `odernn verify --store {self.path}`.')
        return json.loads(row[0]), json.loads(row[1]), row[2] is not None

    def put_measurements(self, run: str, step: int, rows: Iterable[tuple[Any, ...]]) -> None:
        """Keep what a monitor saw at one step, all of it or nothing, in place of what was there of that step.

        A row is (layer, quantity, bound, value, n, sample, neuron, log_bound, holds, axis, series as bytes).
        """
        self._write("BEGIN IMMEDIATE", ())
        try:
            self._write("DELETE FROM measurements WHERE run = ? AND step = ?", (run, step))
            for row in rows:
                self._write(f"INSERT INTO measurements ({_MEASURED}) VALUES ({', '.join('?' * 13)})", (run, step, *row))
            self._write("COMMIT", ())
        except BaseException:
            self._database.rollback()
            raise

    def measurements(self, run: str | None = None) -> list[tuple[Any, ...]]:
        """Rows (run, step, layer, …) as ``put_measurements`` took them, in order of step; of all runs if None."""
        if self._first("SELECT 1 FROM sqlite_master WHERE name = 'measurements'") is None:
            return []  # a file of version 1
        query = f"SELECT {_MEASURED} FROM measurements"
        values: tuple[Any, ...] = ()
        if run is not None:
            query, values = f"{query} WHERE run = ?", (run,)
        return self._all(f"{query} ORDER BY run, step, layer, quantity, bound", values)

    def has_run(self) -> bool:
        return self._first("SELECT 1 FROM runs") is not None

    def run(self) -> Run:
        """The run begun last. StoreError if there is none."""
        settings, keys, _ = self.latest_run()
        name = self._first("SELECT name FROM runs ORDER BY id DESC LIMIT 1")
        assert name is not None  # latest_run found it
        return Run(str(name[0]), settings, tuple(keys))

    def _first(self, query: str, *values: str) -> tuple[Any, ...] | None:
        stored = self._all(query, values, limit=1)
        return stored[0] if stored else None

    def _all(self, query: str, values: tuple[Any, ...], limit: int | None = None) -> list[tuple[Any, ...]]:
        try:
            cursor = self._database.execute(query, values)
            rows: list[tuple[Any, ...]] = cursor.fetchall() if limit is None else cursor.fetchmany(limit)
        except sqlite3.Error as error:
            raise StoreError(
                f'Store "{self.path}" cannot be read: {error}. The file is damaged: move it away and run again.'
            ) from None
        return rows

    def _write(self, statement: str, values: tuple[Any, ...]) -> None:
        try:
            self._database.execute(statement, values)
        except sqlite3.Error as error:
            raise StoreError(
                f'Store "{self.path}" cannot be written: {error}. What was finished is kept: free some space and run '
                "the same command again."
            ) from None


def _problem(path: Path, writable: bool) -> str:
    """Why the path cannot be a store, as the rest of a sentence that begins with its name; "" if nothing speaks
    against it.
    """
    if path.is_dir():
        return f'is a folder. Give a file name, for example "{path / "odernn.sqlite"}".'
    if path.exists() and not path.is_file():
        return "is no regular file. Choose another file with --store."
    if writable and not path.parent.is_dir():
        return f'cannot be made: the folder "{path.parent}" does not exist. Make it first.'
    if not writable and not path.exists():
        return f"does not exist. Run `odernn verify --store {path}` first."
    return ""
