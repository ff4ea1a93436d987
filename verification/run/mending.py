"""A damaged store: what of it is as it was written, and a new file that holds just that.

The parts that a store should have stand in its checksums and in its tables; each list is read from both ends, so that
one damaged page hides itself and no other. A part counts as whole if its rows have their checksum.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verification.run import heads
from verification.run.checksums import ARRAYS, JOB, RUN, STEP
from verification.run.store import Store, StoreError
from verification.run.store_file import DamageError, HeadError, beside, step_name, taken_lock

_LISTS: dict[str, Callable[..., list[tuple[Any, Any]]]] = {
    "SELECT kind, name FROM sums ORDER BY kind {0}, name {0}": lambda kind, name: [(kind, name)],
    "SELECT key FROM jobs ORDER BY key {0}": lambda key: [(JOB, key), (ARRAYS, key)],
    "SELECT name FROM runs ORDER BY id {0}": lambda name: [(RUN, name)],
    "SELECT DISTINCT run, step FROM measurements ORDER BY run {0}, step {0}": lambda *of: [(STEP, step_name(*of))],
}
"""Where the names of parts stand, and how they are made of a row."""


@dataclass(frozen=True)
class Survey:
    """What was found in the file of a store.

    whole       (kind, name) of the parts that are as they were written
    damaged     those that are not, each in words
    structure   what else SQLite, or the checksum of the whole, finds wrong
    is_checked  whether there are checksums to say so
    """

    whole: tuple[tuple[str, str], ...]
    damaged: tuple[str, ...]
    structure: str
    is_checked: bool

    @property
    def is_sound(self) -> bool:
        return not self.damaged and not self.structure


def survey(store: Store, *, thorough: bool = False) -> Survey:
    """Read every part of the file; ``thorough``: and compare every index with its table."""
    whole, damaged = [], []
    with store.one_moment():
        structure = _structure(store, thorough)
        for kind, name in _names(store):
            try:
                _read(store, kind, name)
                whole.append((kind, name))
            except DamageError:
                damaged.append(_described(store, kind, name))
    return Survey(tuple(whole), tuple(damaged), structure, store.is_checked)


def _names(store: Store) -> list[tuple[str, str]]:
    """(kind, name) of all parts that any list has, each once."""
    found: dict[tuple[str, str], None] = {}
    for query, parts in _LISTS.items():
        for order in ("ASC", "DESC"):
            for row in store.each(query.format(order)):
                found.update(dict.fromkeys(parts(*row)))
    return [(kind, name) for kind, name in found if isinstance(kind, str) and isinstance(name, str)]


def _read(store: Store, kind: str, name: str) -> None:
    """DamageError unless the part is there and is as it was written; without checksums, unless it can be read."""
    if not store.part(kind, name):
        raise store.damage(f"the {kind} {name} is gone")
    if store.is_checked:  # then it is what was written
        return
    if kind == JOB:
        store.data(name), store.spec(name)
    elif kind == ARRAYS:
        store.arrays(name)


def _structure(store: Store, thorough: bool) -> str:
    """What SQLite finds wrong with its pages, or else the checksum of the whole with the parts; "" if nothing."""
    try:
        said = [text for (text,) in store.all(f"PRAGMA {'integrity' if thorough else 'quick'}_check(1)", ())]
        if said != ["ok"]:
            return str(said[0]).replace("\n", " ")
        store.check_whole()
    except DamageError as error:
        return reason(error)
    return ""


def reason(error: DamageError) -> str:
    """What is damaged, without the name of the file and the advice."""
    return str(error).partition(" is damaged: ")[2].partition(". `odernn")[0]


def _described(store: Store, kind: str, name: str) -> str:
    """What a part is, in words: of a job what it was asked, if that can still be read."""
    if kind not in (JOB, ARRAYS):
        return f"the {kind} {name}"
    try:
        spec = json.dumps(store.spec(name), ensure_ascii=False)
    except (StoreError, KeyError):
        spec = ""
    return f"the {kind} {name[:16]}{spec and f': {spec[:120]}'}".replace("the arrays", "the arrays of the job")


def mend(path: Path) -> tuple[Survey, Path] | None:
    """Put the parts that are whole into a new file in the place of a damaged one, which is kept beside it.

    Returns what was found and where the damaged file is now; None if there is no file, or nothing wrong with it.
    StoreError if it cannot be opened, nothing of it can be told to be whole, or there is no room for the new file.
    """
    if not path.is_file() or not path.stat().st_size:
        return None
    try:
        with _room(path), Store(path, writable=True, as_found=True) as store:
            found = survey(store)
            if found.is_sound:
                return None
            store.close_file()
            return _mended(path, found.structure)
    except HeadError as error:
        with _room(path), taken_lock(path):
            return _mended(path, reason(error))


def examined(path: Path) -> Survey:
    """What is whole of a store, and what is not, read as thoroughly as can be. StoreError as of ``mend``."""
    try:
        with Store(path, writable=False, as_found=True) as store:
            found = survey(store, thorough=True)
        if found.is_sound:
            return found
        structure = found.structure
    except HeadError as error:
        structure = reason(error)
    with _room(path), _under_the_best_head(path, structure) as (_, found):
        return found


@contextmanager
def _room(path: Path) -> Iterator[None]:
    """Where a copy, or the new file, cannot be written: StoreError."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f'Store "{path}" is damaged, and what of it is whole cannot be put beside it: {error.strerror or error}. '
            "Nothing is lost by that: free some space, check the folder, and run the same command again."
        ) from None


def _mended(path: Path, structure: str) -> tuple[Survey, Path]:
    with _under_the_best_head(path, structure) as (store, found):
        return found, _replaced(path, store, found)


@contextmanager
def _under_the_best_head(path: Path, structure: str) -> Iterator[tuple[Store, Survey]]:
    """The store, or a copy of it under a head as odernn writes it: that of which most parts are whole.

    StoreError if it opens under a new head alone, and no part of it is whole then: it may be another program's. Nobody
    in this process has the file open: who closes a file beside SQLite gives up SQLite's locks.
    """
    near = path.parent if os.access(path.parent, os.W_OK) else None  # where there is room for another of its size
    with tempfile.TemporaryDirectory(dir=near, prefix=f"{path.name}.") as name:
        tried = []
        for copy in [path, *heads.copies(path, Path(name))]:
            with suppress(StoreError), Store(copy, writable=False, as_found=True) as store:
                tried.append((copy, survey(store)))
        best, found = max(tried, key=lambda each: len(each[1].whole), default=(None, None))
        if best is None or found is None or (best != path and not found.whole):
            raise StoreError(
                f'Store "{path}" is damaged: {structure}. Nothing of it can be told to be whole: move it away, and '
                "`odernn verify` does all of it again."
            )
        with Store(best, writable=False, as_found=True) as store:
            yield store, replace(found, structure=structure or ("" if found.damaged else "its head"))


def _replaced(path: Path, store: Store, found: Survey) -> Path:
    """Put what is whole in the place of the file; where that is now. Of runs all or none: an earlier one is never
    taken for the latest.
    """
    has_all_runs = not store.is_checked or _has_all_runs(store, found)
    fresh = path.with_name(f"{path.name}.mended")
    kept = next(place for place in _places(path) if not place.exists())
    _remove(fresh)
    try:
        with Store(fresh, writable=True) as target:
            target.take_over(store, [part for part in found.whole if part[0] != RUN or has_all_runs])
        store.close_file()
        _link(path, kept)
    except (OSError, StoreError):  # what there is of it takes the room that is lacking
        _remove(fresh)
        raise
    for log, other in zip(beside(path), beside(kept), strict=True):
        if log.exists():
            os.replace(log, other)
    os.replace(fresh, path)  # until here the path has the damaged store, from here on the new one: never none
    fresh.with_name(f"{fresh.name}.lock").unlink(missing_ok=True)
    return kept


def _has_all_runs(store: Store, found: Survey) -> bool:
    try:
        return {(RUN, name) for kind, name, _ in store.sums() if kind == RUN} <= {*found.whole}
    except DamageError:
        return False


def _remove(path: Path) -> None:
    for each in (path, *beside(path), path.with_name(f"{path.name}.lock")):
        each.unlink(missing_ok=True)


def _link(path: Path, other: Path) -> None:
    """The file under a second name; a copy where the folder's file system has no links."""
    try:
        os.link(path, other)
    except OSError:
        try:
            shutil.copyfile(path, other)
        except OSError:
            other.unlink(missing_ok=True)
            raise


def _places(path: Path) -> Iterator[Path]:
    number = 1
    while True:
        yield path.with_name(f"{path.name}.damaged{'' if number == 1 else f'-{number}'}")
        number += 1
