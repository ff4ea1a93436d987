"""Checksums of what a store keeps: one for each part, and one of all of them.

    digest(rows) = SHA-256 of the type, length and bytes of every value, in order
    whole        = the number of parts, and the exclusive or of SHA-256(kind, name, digest) over them

A part is a job, the arrays of a job, a run, or what a monitor saw at one step. The exclusive or is that of a set: a
part that is replaced, or added, changes it without a look at the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

JOB, ARRAYS, RUN, STEP = "job", "arrays", "run", "step of a monitor"
SIZE = 32
"""Bytes of a digest."""


def digest(rows: Iterable[tuple[Any, ...]]) -> bytes:
    """Of rows as SQLite hands them out; -0.0, 0 and 0.0 are told apart, and so are 1 and "1".

    >>> digest([(1, None)]) == digest([(1,), (None,)])
    False
    """
    hasher = hashlib.sha256()
    for row in rows:
        hasher.update(b"row")
        for value in row:
            content = value if isinstance(value, bytes) else repr(value).encode(errors="backslashreplace")
            hasher.update(f" {type(value).__name__} {len(content)} ".encode())
            hasher.update(content)
    return hasher.digest()


@dataclass(frozen=True)
class Whole:
    """How many parts there are, and the exclusive or of them all."""

    parts: int = 0
    mixed: int = 0

    @classmethod
    def of(cls, sums: Iterable[tuple[Any, Any, Any]]) -> Whole:
        """Of rows (kind, name, digest)."""
        whole = cls()
        for row in sums:
            whole = whole.changed(1, row)
        return whole

    @classmethod
    def from_bytes(cls, parts: Any, mixed: Any) -> Whole | None:
        """As it lies in the file, None if it is not what ``to_bytes`` writes."""
        is_one = isinstance(parts, int) and isinstance(mixed, bytes) and len(mixed) == SIZE
        return cls(parts, int.from_bytes(mixed, "big")) if is_one else None

    def changed(self, parts: int, *rows: tuple[Any, Any, Any]) -> Whole:
        """With so many parts more, after these rows came, or went."""
        mixed = self.mixed
        for row in rows:
            mixed ^= int.from_bytes(digest([row]), "big")
        return Whole(self.parts + parts, mixed)

    def to_bytes(self) -> tuple[int, bytes]:
        return self.parts, self.mixed.to_bytes(SIZE, "big")
