"""Files of data sets: found in a folder, read with their checksum, fetched on explicit request."""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import shlex
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from odernn import foreign
from odernn.foreign import ForeignError
from verification.tasks.images import DataError
from verification.tasks.task import Root

ENVIRONMENT = "ODERNN_DATA"
AGAIN = "Delete the file and fetch it again."
PACKED = (".gz", ".xz")
"""A file may lie there packed, with one of these endings added to its official name."""
MOST = foreign.MOST_DATA
"""Bytes of a file, packed or not, and of a member of an archive: the largest official one has half as many."""


def folder_of(task: str, root: Root) -> Path:
    """``root``, else the environment's ODERNN_DATA; DataError if there is neither, or no such folder."""
    chosen = root if root is not None else os.environ.get(ENVIRONMENT)
    if not chosen:
        raise DataError(
            f"{task} needs the folder of its files: pass one (--root DIR) or set {ENVIRONMENT}. "
            f"{fetch_advice(task, 'DIR')}"
        )
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        raise DataError(f"{task}: the folder {str(chosen)!r} does not exist. {fetch_advice(task, chosen)}")
    return folder


def fetch_advice(task: str, folder: str | Path) -> str:
    """The next step of whoever lacks the files."""
    return f"To fetch the files: odernn task {task} --root {shlex.quote(str(folder))} --download"


def candidates(folder: Path, subfolders: Iterable[str]) -> list[Path]:
    """The places where a file may lie: the folder itself, and the known folders in it."""
    return [folder, *(folder / subfolder for subfolder in subfolders if subfolder != ".")]


def find(task: str, root: Root, name: str, subfolders: Iterable[str]) -> Path:
    """The file of that name, or packed with an ending of ``PACKED``; DataError if it is nowhere."""
    folder = folder_of(task, root)
    places = candidates(folder, subfolders)
    for place in places:
        for ending in ("", *PACKED):
            if (place / (name + ending)).is_file():
                return place / (name + ending)
    raise DataError(
        f"{task}: no file {name} (nor {name}.gz, {name}.xz) in {', '.join(map(str, places))}. "
        f"{fetch_advice(task, folder)}"
    )


def read(path: Path, *, md5: str | None = None) -> bytes:
    """The content, unpacked if the name ends in .gz or .xz. DataError if it cannot be read, or is not of that MD5."""
    try:
        content = foreign.content(path, MOST)
        if path.suffix in PACKED:
            content = foreign.unpacked(content, path.suffix, MOST)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). Check the path and its permissions.") from error
    except ForeignError as error:
        raise DataError(f"{path}: {error}. {AGAIN}") from None
    if md5 is not None:
        digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if digest != md5:
            raise DataError(f"{path}: {len(content)} bytes with MD5 {digest}; the official file has MD5 {md5}. {AGAIN}")
    return content


# --- fetching ---------------------------------------------------------------------------------------------------


def fetch(task: str, url: str, folder: str | Path, *, known: str | None) -> Path:
    """The file behind the address, in that folder under its own name; one of the right checksum is not fetched again.

    known   "md5:…" or "sha256:…"; None where the publisher gives no checksum: then the caller checks the content
    A file that does not have the checksum never takes its place, and replaces none. Needs the extra `data`.
    """
    try:
        import pooch
    except ImportError as error:
        raise DataError(f"downloading {task} needs pooch: pip install 'odernn[data]'") from error
    target = Path(folder).expanduser()
    name = PurePosixPath(url.partition("?")[0]).name
    try:
        target.mkdir(parents=True, exist_ok=True)
        return Path(pooch.retrieve(url, known_hash=known, fname=name, path=target))
    except (OSError, ValueError) as error:  # no connection, no space; a wrong checksum
        reason = " ".join(str(error).split())
        raise DataError(
            f"{task} could not be fetched from {url} into {target}: {reason}. Nothing there was replaced. "
            "Try again later, or fetch the file by hand and put it there."
        ) from error


def extract(
    archive: Path,
    members: Mapping[str, Path],
    *,
    md5: Mapping[str, str] | None = None,
    check: Callable[[Mapping[str, Path]], object] | None = None,
) -> None:
    """The named members of a .zip or .tar.gz as these files; a member is named by the end of its path.

    md5     by the name of the member, for those whose checksum is known
    check   is given where the members lie for the moment, and raises DataError if they are not what they should be
    Nothing takes its place before all were read and checked: an archive that is damaged replaces no file.
    """
    checksums = md5 or {}
    with tempfile.TemporaryDirectory(prefix="odernn-", dir=archive.parent) as folder:
        unfinished = {member: Path(folder) / str(i) / target.name for i, (member, target) in enumerate(members.items())}
        try:
            for member, content in _contents(archive, members):
                digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
                if checksums.get(member, digest) != digest:
                    raise DataError(
                        f"{archive}: its {member} has MD5 {digest}, the official file has {checksums[member]}. {AGAIN}"
                    )
                unfinished[member].parent.mkdir()
                unfinished[member].write_bytes(content)
            if check is not None:
                check(unfinished)
            for member, target in members.items():
                target.parent.mkdir(parents=True, exist_ok=True)
                unfinished[member].replace(target)
        except OSError as error:
            raise DataError(
                f"{archive}: cannot be unpacked ({error.strerror or error}). Make room, or choose another folder."
            ) from error


def _contents(archive: Path, members: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Each member and its bytes. DataError where the archive is damaged, or holds more than ``MOST`` bytes of one."""
    try:
        content = foreign.content(archive, MOST)
        if content.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(content)) as zipped:
                for member in members:
                    yield member, _bounded(zipped.open(_ending_in(archive, zipped.namelist(), member)))
            return
        if content.startswith(_GZIP):
            content = foreign.unpacked(content, ".gz", MOST)
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tarred:
            listed = [entry.name for entry in tarred.getmembers() if entry.isreg()]
            for member in members:
                file = tarred.extractfile(_ending_in(archive, listed, member))
                if file is None:
                    raise ForeignError(f"is not a complete archive: its {member} is no file")
                yield member, _bounded(file)
    except ForeignError as error:
        raise DataError(f"{archive}: {error}. {AGAIN}") from None
    except _DAMAGED as error:  # each kind of damage has an error of its own
        reason = foreign.short(str(error).partition("\n")[0].rstrip(":"), 160) or type(error).__name__
        raise DataError(f"{archive}: is not a complete archive ({reason}). {AGAIN}") from error


_GZIP = b"\x1f\x8b"
_DAMAGED = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, RuntimeError, ValueError, LookupError, OverflowError),
)


def _bounded(file: IO[bytes]) -> bytes:
    with file:
        held = file.read(MOST + 1)
    if len(held) > MOST:
        raise ForeignError(f"holds a file of more than {MOST} bytes")
    return held


def _ending_in(archive: Path, listed: Iterable[str], member: str) -> str:
    for name in listed:
        if name == member or name.endswith(f"/{member}"):
            return name
    raise DataError(f"{archive}: holds no {member}. {AGAIN}")
