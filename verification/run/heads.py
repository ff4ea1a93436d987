"""The head of a store's file, made anew: what SQLite must know before it finds a single row.

    head = 100 bytes about the file (page size, number of pages, free pages, …), then the list of the tables: page 1

odernn makes its tables in one order and never moves them, so that page 1 of an empty store names the places of the
tables of every other. Only the number of pages is the file's own. Whether it was the right head is for the checksums
of the parts to say (``mending``); the free pages of a damaged file are left alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from verification.run.store import Store, StoreError
from verification.run.store_file import beside

ABOUT = 100
"""Bytes before the list of the tables; https://www.sqlite.org/fileformat.html, 1.3."""

COUNTER, PAGES, FREE, VALID_FOR = slice(24, 28), slice(28, 32), slice(32, 40), slice(92, 96)
"""The number of pages counts if the counter of changes is the one for which it is said to be valid."""


def copies(path: Path, folder: Path) -> Iterator[Path]:
    """The store with the first 100 bytes made anew, then with the whole of page 1; in the folder, with its log."""
    first = _first_page(folder / "empty.sqlite")
    size = path.stat().st_size
    pages = -(-size // len(first))
    first[PAGES] = pages.to_bytes(4, "big")
    first[FREE] = bytes(8)
    first[COUNTER] = first[VALID_FOR]
    for name, head in (("about", first[:ABOUT]), ("page", first)):
        copy = folder / f"{name}.sqlite"
        shutil.copyfile(path, copy)
        log, _ = beside(path)
        if log.exists():
            shutil.copyfile(log, beside(copy)[0])
        with copy.open("r+b") as file:
            file.truncate(pages * len(first))
            file.write(head)
        yield copy


def _first_page(path: Path) -> bytearray:
    """OSError where there is no room for it."""
    try:
        with Store(path, writable=True):
            pass
    except StoreError:
        raise OSError("there is no room for a new head") from None
    content = path.read_bytes()
    return bytearray(content[: int.from_bytes(content[16:18], "big")])
