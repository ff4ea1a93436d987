"""Faults in the files of a store, and what a reader makes of them.

same         what was read is what was written: the fault lies where nothing is kept
caught       StoreError
incomplete   fewer results, each as it was written, and the run is said to be unfinished
silent       anything else was read: the fault that must not be
foreign      an error of another class
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from verification.commands.results import latest
from verification.run.store import Store, StoredJob, StoreError, failed
from verification.verdict import ERROR

SAME, CAUGHT, INCOMPLETE, SILENT, FOREIGN = "same", "caught", "incomplete", "silent", "foreign"
WAL = "-wal"
PAGES = {2: "interior of an index", 5: "interior of a table", 10: "leaf of an index", 13: "leaf of a table"}
WAL_HEADER, FRAME_HEADER = 32, 24


# --- what is damaged


@dataclass(frozen=True)
class Image:
    """The files of a store as they lie on the disk: the database and, of a run that was killed, its log."""

    name: str
    database: bytes
    wal: bytes = b""

    def lay(self, path: Path) -> None:
        """Write the files, and take away what an earlier reader left."""
        path.write_bytes(self.database)
        path.with_name(path.name + "-shm").unlink(missing_ok=True)
        wal = path.with_name(path.name + WAL)
        wal.unlink(missing_ok=True)
        if self.wal:
            wal.write_bytes(self.wal)


@dataclass(frozen=True)
class Fault:
    """One of them: a bit that is turned over at a byte, or a file that ends there."""

    of_wal: bool
    kind: str
    place: str
    offset: int
    bit: int = 0

    def applied(self, image: Image) -> Image:
        content = bytearray(image.wal if self.of_wal else image.database)
        if self.kind == "flip":
            content[self.offset] ^= 1 << self.bit
        else:
            del content[self.offset :]
        whole = bytes(content)
        return Image(image.name, image.database, whole) if self.of_wal else Image(image.name, whole, image.wal)


def places(image: Image) -> Mapping[str, list[range]]:
    """The kinds of places of an image, and where they lie; those of the log begin with "log"."""
    found: dict[str, list[range]] = {"header": [range(100)]}
    size = struct.unpack(">H", image.database[16:18])[0]
    free = set(_free_pages(image.database, size))
    for start in range(0, len(image.database), size):
        begin = start + (100 if start == 0 else 0)
        kind = PAGES.get(image.database[begin], "overflow")
        name = "schema" if start == 0 else "free" if start // size + 1 in free else kind
        found.setdefault(name, []).append(range(begin, start + size))
    if image.wal:
        found["log: header"] = [range(WAL_HEADER)]
        frames = range(WAL_HEADER, len(image.wal), FRAME_HEADER + size)
        found["log: header of a frame"] = [range(start, start + FRAME_HEADER) for start in frames]
        found["log: page"] = [range(start + FRAME_HEADER, start + FRAME_HEADER + size) for start in frames]
    return found


def _free_pages(database: bytes, size: int) -> Iterator[int]:
    """Numbers of the pages of the freelist, from 1: its trunks, and the leaves that they name."""
    (trunk,) = struct.unpack(">I", database[32:36])
    while trunk:
        yield trunk
        start = (trunk - 1) * size
        following, count = struct.unpack(">II", database[start : start + 8])
        yield from struct.unpack(f">{count}I", database[start + 8 : start + 8 + 4 * count])
        trunk = following


def drawn(image: Image, count: int, chance: random.Random, *, truncations: float = 1 / 8) -> Iterator[Fault]:
    """So many faults, as many in every kind of place, and of these that share truncations."""
    found = places(image)
    for number in range(count):
        place = list(found)[number % len(found)]
        offset = chance.choice(chance.choice(found[place]))
        kind = "truncation" if chance.random() < truncations else "flip"
        yield Fault(place.startswith("log"), kind, place, offset, chance.randrange(8))


# --- what a reader makes of it


@dataclass(frozen=True)
class Seen:
    """All that a store says: about its run, and of every job that it has."""

    about: str = ""
    complete: bool = False
    results: Mapping[str, str] = field(default_factory=dict)


def seen(path: Path) -> Seen:
    """Everything of the latest run that any command reads; a job that failed is one that is to be done."""
    with Store(path, writable=False) as store:
        measured = repr(store.measurements())
        if not store.has_run():
            return Seen(measured, True)
        run = latest(store)
        *plan, completed = store.latest_run()
        stored = store.run()
        facts = run.facts
        results = {
            key: repr((data, store.spec(key), _bytes(store, key)))
            for key in sorted(store.has((*stored.independent, *stored.keys)))
            if not failed(data := store.data(key))
        }
        about = repr((plan, stored.name, facts.version, facts.commit, facts.run, facts.planned, measured))
        return Seen(about, completed and facts.judged == facts.planned, results)


def _bytes(store: Store, key: str) -> list[tuple[str, str, tuple[int, ...], bytes]]:
    return [(name, str(each.dtype), each.shape, each.tobytes()) for name, each in sorted(store.arrays(key).items())]


def outcome(path: Path, reference: Seen, read: Callable[[Path], Seen] = seen) -> tuple[str, str]:
    """One of the five words, and what was said."""
    try:
        found = read(path)
    except StoreError as error:
        return CAUGHT, str(error)
    except Exception as error:
        return FOREIGN, f"{type(error).__name__}: {error}"
    if found == reference:
        return SAME, ""
    fewer = found.results.items() < reference.results.items()
    if found.about == reference.about and fewer and not found.complete:
        return INCOMPLETE, f"{len(found.results)} of {len(reference.results)}"
    return SILENT, f"{found.about == reference.about}, {fewer}, {found.complete}"


# --- the stores that are damaged

JUDGE = ("judge", "case")
IN_LOG = 6
"""Jobs that stand in the log of a killed run alone."""


def images(rows: Sequence[StoredJob], settings: Mapping[str, object], keys: Sequence[str], folder: Path) -> list[Image]:
    """A finished run, one that was killed with much in its log, and a monitor's file."""
    whole, killed, monitor = (folder / f"{name}.sqlite" for name in ("whole", "killed", "monitor"))
    with Store(whole, writable=True) as store:
        store.begin_run("before", {"seed": 1}, ["none"])
        store.begin_run("run", dict(settings), list(keys))
        _put(store, rows)
        store.complete_run("run")
    with Store(killed, writable=True) as store:
        store.begin_run("before", {"seed": 1}, ["none"])
        store.complete_run("before")
        store.begin_run("run", dict(settings), list(keys))
        store._database.execute("PRAGMA wal_autocheckpoint = 20")
        _put(store, rows[: -2 - IN_LOG])
        store._database.execute("PRAGMA wal_autocheckpoint = 0")
        _put(store, rows[-2 - IN_LOG : -2])
        log = killed.with_name(killed.name + WAL).read_bytes()
        of_killed = Image("killed", killed.read_bytes(), log)
    with Store(monitor, writable=True) as store:
        for step in range(40):
            store.put_measurements("a run", step, [_measured(step, number) for number in range(5)])
    whole_of_killed, without_log = (_seen_of(image, folder) for image in (of_killed, Image("", of_killed.database)))
    assert without_log.results.items() < whole_of_killed.results.items(), "its log is one that nobody needs"
    return [Image("whole", whole.read_bytes()), of_killed, Image("monitor", monitor.read_bytes())]


def _seen_of(image: Image, folder: Path) -> Seen:
    image.lay(folder / "seen.sqlite")
    return seen(folder / "seen.sqlite")


def _measured(step: int, number: int) -> tuple[object, ...]:
    return ("layer", f"quantity {number}", "bound", step / (number + 1), 3, None, 2, 1.5, True, "time", b"\1\2" * 40)


def _put(store: Store, rows: Sequence[StoredJob]) -> None:
    """Every job, some of them after a failure that was larger, so that pages become free."""
    for row in rows[::4]:
        cells, much = json.loads(row.data), "x" * 9000
        failure = (
            [cell | {"verdict": ERROR, "because": much} for cell in cells] if row.kind in JUDGE else {"error": much}
        )
        store.put(row.key, kind=row.kind, spec={}, data=failure, arrays={"a": np.ones(1000)}, wall_s=1.0)
    for row in rows:
        store.put_row(row)
