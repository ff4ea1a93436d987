"""The file of a store: SQLite (WAL), who may open it, and what of it is as it was written.

``sums`` has a checksum of every part, written with it and compared whenever it is read; ``whole`` one of them all
(``checksums``), so that a part that is missing is noticed by whoever reads a run. Damage is a ``DamageError``, whatever
SQLite makes of it. docs/reliability.md has the promises.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout
from safetensors import SafetensorError

from verification.run.checksums import ARRAYS, JOB, RUN, STEP, Whole, digest

SCHEMA_VERSION = 3
"""2 added ``measurements``, 3 the checksums; an older file is read as it is, and gets them when it is written."""

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
CREATE TABLE IF NOT EXISTS sums (
    kind TEXT NOT NULL, name TEXT NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS whole (id INTEGER PRIMARY KEY, parts INTEGER NOT NULL, mixed BLOB NOT NULL);
"""


_OWN_TABLES = frozenset({"jobs", "runs", "measurements", "sums", "whole"})
MEASURED = "run, step, layer, quantity, bound, value, n, sample, neuron, log_bound, holds, axis, series"


_PARTS = {
    JOB: "SELECT key, kind, spec, data FROM jobs WHERE key = ?",
    ARRAYS: "SELECT key, arrays, wall_s, finished FROM jobs WHERE key = ?",
    RUN: "SELECT id, name, settings, keys, started, completed FROM runs WHERE name = ?",
    STEP: f"SELECT {MEASURED} FROM measurements WHERE step = CAST(? AS INTEGER) AND run = ? "
    "ORDER BY layer, quantity, bound",
}
"""The rows of a part, by its name; that of a step is the step, a blank and the run."""


FAULTS = (sqlite3.Error, MemoryError, OverflowError, UnicodeDecodeError)
"""What Python raises where SQLite meets damage."""


_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}
"""Codes of a disk, a quota or a limit that is full."""


_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class StoreError(Exception):
    """The store cannot be used: one line that says which file, why, and what to do."""


class DamageError(StoreError):
    """What the file holds is not what was written."""


class HeadError(DamageError):
    """The damage hides where the parts are, and not what they are: ``heads``."""


class StoreFile:
    """Open the file of a store, creating it if ``writable``. Use as a context manager.

    Writing takes an exclusive lock (``<file>.lock``) that dies with the process; reading needs none, and no permission
    to write. ``as_found``: for those who look for damage, nothing is compared or brought up to date while it opens.

    is_checked  whether the file has checksums; one of an older odernn has none until it is written
    is_made     whether there was no file when the lock was taken: then it is this one's to remove
    """

    def __init__(self, path: Path, *, writable: bool, as_found: bool = False) -> None:
        self.path = path
        self._lock: FileLock | None = None
        self._is_at_one_moment = False
        try:
            problem = _problem(path, writable)
        except OSError as error:
            problem = f"cannot be reached: {error.strerror}. Choose another file with --store."
        if problem:
            raise StoreError(f'Store "{path}" {problem}')
        if writable:
            self._take_lock()
        self.is_made = writable and not path.exists()
        try:
            self._database = self._open(writable)
            version = self._check_schema(writable)
            self.is_checked = version == SCHEMA_VERSION
            if writable and not as_found:
                self._begin_writing(version)
        except BaseException:
            self.undo()
            self.close()
            raise

    def _open(self, writable: bool) -> sqlite3.Connection:
        """The database; of a folder that cannot be written, where SQLite has no place for its own files, as it is."""
        database = sqlite3.connect(self.path, isolation_level=None)
        try:
            if not writable and not _is_readable(database) and not self._log_size():
                database.close()
                database = sqlite3.connect(
                    f"{self.path.absolute().as_uri()}?immutable=1", isolation_level=None, uri=True
                )
        except BaseException:
            database.close()
            raise
        return database

    def _log_size(self) -> int:
        log, _ = beside(self.path)
        return log.stat().st_size if log.exists() else 0

    def _check_schema(self, writable: bool) -> int:
        """The version. StoreError for a database of another program, of a newer odernn, or (to read) without tables."""
        try:
            self._database.execute("BEGIN")  # both of one moment: a writer may be adding the tables
            version = int(self._database.execute("PRAGMA user_version").fetchone()[0])
            tables = dict(self._database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
            mode = self._database.execute("PRAGMA journal_mode").fetchone()[0]
            self._database.rollback()
        except FAULTS as error:
            if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) in _DAMAGED:
                raise self._headless(f"it cannot be opened: {error}") from None
            where = " It has a log beside it, and its folder cannot be written: copy both." if self._log_size() else ""
            raise StoreError(
                f'Store "{self.path}" cannot be opened: {error}.{where} Check the file and its folder, or choose '
                "another with --store."
            ) from None
        if version < 0 or (version == 0 and tables.keys() - _OWN_TABLES):
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
        own = {name: statement for name, statement in tables.items() if name in _OWN_TABLES}  # ANALYZE adds another
        if version == SCHEMA_VERSION and own != _tables():
            raise self._headless("its head is not what odernn writes")
        if version == SCHEMA_VERSION and mode != "wal" and self._log_size():
            raise self._headless("it has a log beside it, and its head says that there is none")
        if 0 < version < SCHEMA_VERSION and "sums" in tables:
            raise self._headless(f"it says that its schema is {version}, which had no checksums, and it has some")
        return version

    def _headless(self, what: str) -> HeadError:
        return HeadError(
            f'Store "{self.path}" is damaged: {what}. `odernn doctor --store {self.path}` says what of it is whole, '
            "and the `odernn verify` that wrote it keeps that and does the rest again."
        )

    def _begin_writing(self, version: int) -> None:
        """Make the tables, or those of an older odernn up to date: a part gets the checksum of what it is."""
        try:
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            if version == SCHEMA_VERSION:
                self.check_whole()
                return
            with self.writing():
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    self._database.execute(statement)
                self._database.execute("INSERT OR REPLACE INTO whole VALUES (0, ?, ?)", Whole().to_bytes())
                for kind, name in self.names():
                    self.seal(kind, name)
                self._database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        except sqlite3.Error as error:
            raise StoreError(
                f'Store "{self.path}" cannot be opened: {error}. Check the file and its folder, or choose '
                "another with --store."
            ) from None
        self.is_checked = True

    def _take_lock(self) -> None:
        self._lock = taken_lock(self.path)

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def close(self) -> None:
        self.close_file()
        self._release()

    def undo(self) -> None:
        """Remove the file if this one made it; the lock is still held, so nobody else has written it."""
        self.close_file()
        for each in (self.path, *beside(self.path)) if self.is_made else ():
            each.unlink(missing_ok=True)

    def close_file(self) -> None:
        """Keep the lock, so that nobody else opens what is put in its place."""
        if database := vars(self).get("_database"):
            database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- parts and their checksums

    def _rows(self, kind: str, name: str) -> list[tuple[Any, ...]]:
        """The rows of a part as they lie in the file."""
        values: tuple[str, ...] = (name,)
        if kind == STEP:
            step, _, run = name.partition(" ")
            values = (step, run)
        return self.all(_PARTS[kind], values)

    def part(self, kind: str, name: str) -> list[tuple[Any, ...]]:
        """The rows of a part, [] if there is none. DamageError unless they have the checksum that they were written
        with, and if they are gone.
        """
        if not self.is_checked:
            return self._rows(kind, name)
        with self.one_moment():
            rows = self._rows(kind, name)
            promised = self.all("SELECT digest FROM sums WHERE kind = ? AND name = ?", (kind, name))
        if bool(rows) != bool(promised) or (rows and promised != [(digest(rows),)]):
            reason = "it is gone" if not rows else "it has no checksum" if not promised else "its checksum is another"
            raise self.damage(f"the {kind} {name}: {reason}")
        return rows

    def seal(self, kind: str, name: str) -> None:
        """Write the checksum of a part as it is now, and that of the whole."""
        rows = self._rows(kind, name)
        before = self.all("SELECT kind, name, digest FROM sums WHERE kind = ? AND name = ?", (kind, name))
        after = [(kind, name, digest(rows))] if rows else []
        self.write("DELETE FROM sums WHERE kind = ? AND name = ?", (kind, name))
        for row in after:
            self.write("INSERT INTO sums (kind, name, digest) VALUES (?, ?, ?)", row)
        whole = self._whole().changed(len(after) - len(before), *before, *after)
        self.write("UPDATE whole SET parts = ?, mixed = ?", whole.to_bytes())

    def _whole(self) -> Whole:
        stored = self.all("SELECT parts, mixed FROM whole", ())
        whole = Whole.from_bytes(*stored[0]) if len(stored) == 1 else None
        if whole is None:
            raise self.damage("the checksum of the whole is none")
        return whole

    def check_whole(self) -> None:
        """DamageError if a checksum, or a part, is missing or too many. The parts themselves are not read."""
        if not self.is_checked:
            return
        with self.one_moment():
            sums = self.sums()
            counts = [self._count("jobs"), self._count("jobs"), self._count("runs")]
        if counts != [sum(kind == each for kind, *_ in sums) for each in (JOB, ARRAYS, RUN)]:
            raise self.damage(f"its {counts[0]} jobs and {counts[2]} runs are fewer, or more, than were written")

    def sums(self) -> list[tuple[Any, Any, Any]]:
        """(kind, name, digest) of every part. DamageError unless they are all that were written."""
        with self.one_moment():
            sums = self.all("SELECT kind, name, digest FROM sums", ())
            whole = self._whole()
        if Whole.of(sums) != whole:
            raise self.damage(f"it has {len(sums)} of {whole.parts} parts, or others than were written")
        return sums

    def _count(self, table: str) -> int:
        return int(self.all(f"SELECT count(*) FROM {table}", ())[0][0])

    def names(self) -> list[tuple[str, str]]:
        """(kind, name) of all that the tables hold."""
        found = [(kind, key) for (key,) in self.all("SELECT key FROM jobs ORDER BY key", ()) for kind in (JOB, ARRAYS)]
        found += [(RUN, name) for (name,) in self.all("SELECT name FROM runs ORDER BY id", ())]
        if self.has_measurements():
            steps = self.all("SELECT DISTINCT run, step FROM measurements", ())
            found += [(STEP, step_name(run, step)) for run, step in steps]
        return found

    def damage(self, what: str) -> DamageError:
        return DamageError(
            f'Store "{self.path}" is damaged: {what}. `odernn doctor --store {self.path}` names all that is, and the '
            "`odernn verify` that wrote it does just that again."
        )

    def decoded(self, decode: Callable[[Any], Any], content: Any, name: str) -> Any:
        """DamageError where it cannot be, as in a file without checksums."""
        try:
            return decode(content)
        except (ValueError, TypeError, RecursionError, SafetensorError) as error:
            raise self.damage(f"{name} cannot be read ({error})") from None

    def has_measurements(self) -> bool:
        return bool(self.all("SELECT 1 FROM sqlite_master WHERE name = 'measurements'", ()))

    def settle(self) -> None:
        """Bring the log into the database: a log that is lost later takes no run with it, only jobs that it misses."""
        if not self._is_at_one_moment:
            self.write("PRAGMA wal_checkpoint(TRUNCATE)", ())

    # --- SQLite

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        """What is read inside was there at one time."""
        if self._is_at_one_moment:
            yield
            return
        self.all("BEGIN", ())
        self._is_at_one_moment = True
        try:
            yield
        finally:
            self._is_at_one_moment = False
            self._database.rollback()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """What is written inside is written as a whole, or not at all."""
        if self._is_at_one_moment:
            yield
            return
        self.write("BEGIN IMMEDIATE", ())
        self._is_at_one_moment = True
        try:
            yield
            self.write("COMMIT", ())
        except BaseException:
            self._database.rollback()
            raise
        finally:
            self._is_at_one_moment = False

    def all(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        try:
            return self._database.execute(query, values).fetchall()
        except FAULTS as error:
            raise self.damage(f"it cannot be read: {error}") from None

    def each(self, query: str) -> Iterator[tuple[Any, ...]]:
        """The rows up to the first that cannot be read."""
        try:
            yield from self._database.execute(query)
        except FAULTS:
            return

    def write(self, statement: str, values: tuple[Any, ...]) -> None:
        try:
            self._database.execute(statement, values)
        except sqlite3.Error as error:
            is_full = getattr(error, "sqlite_errorcode", None) in _FULL
            first = "free some space and" if is_full else "check the file and its folder, then"
            raise StoreError(
                f'Store "{self.path}" cannot be written: {error}. What was finished is kept: {first} run the same '
                "command again."
            ) from None


def taken_lock(path: Path) -> FileLock:
    """The lock of the one who writes the store, until it is released. StoreError if another has it."""
    lock = FileLock(f"{path}.lock")
    try:
        with open(lock.lock_file, "ab"):  # the lock itself does not tell a folder without permission from a held lock
            pass
        lock.acquire(timeout=0)
    except Timeout:
        raise StoreError(
            f'Store "{path}" is in use by another run. Wait for it to end, or choose another file with --store.'
        ) from None
    except OSError as error:
        raise StoreError(
            f'Store "{path}" cannot be written: {error.strerror or error}. Choose another file with --store.'
        ) from None
    return lock


def _tables() -> dict[str, str]:
    """The statement of every table as SQLite keeps it."""
    statements = (statement.strip() for statement in _SCHEMA.split(";") if statement.strip())
    plain = (statement.replace("CREATE TABLE IF NOT EXISTS", "CREATE TABLE") for statement in statements)
    return {statement.split()[2]: statement for statement in plain}


def beside(path: Path) -> tuple[Path, Path]:
    """SQLite's own files of a database: the log, and the memory that processes share."""
    return path.parent / f"{path.name}-wal", path.parent / f"{path.name}-shm"


def _is_readable(database: sqlite3.Connection) -> bool:
    try:
        database.execute("SELECT 1 FROM sqlite_master").fetchall()
    except FAULTS:
        return False
    return True


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


def step_name(run: Any, step: Any) -> str:
    """The name of what a monitor saw at a step."""
    return f"{step} {run}"
