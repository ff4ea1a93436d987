"""text8, or any text brought to its alphabet: the next of 27 characters (Mahoney 2006; Zhang et al. 2016, Table 1).

text8 is the beginning of an English Wikipedia with the letters a to z and the blank, 100,000,000 of them; 90/5/5 % are
train, validation and test, in the order of the text. ``file`` may name another text: upper case is made lower, whatever
is no letter a to z becomes a blank, several blanks one. (text8 itself has digits spelt out, which this does not do.)
"""

from __future__ import annotations

import re
from pathlib import Path

from verification.tasks import _characters, files
from verification.tasks.images import DataError
from verification.tasks.task import Loaded, Root, shares_of, split_index

NAME = "text8_characters"
OFFICIAL = "text8"
ALPHABET = b" abcdefghijklmnopqrstuvwxyz"
SHARES = (0.90, 0.05, 0.05)
SUBFOLDERS = ("text8", "text")
MD5 = "3bea1919949baf155f99411df5fada7e"
"""Of the unpacked text8."""

ARCHIVE = "http://mattmahoney.net/dc/text8.zip"
ARCHIVE_SHA256 = "a6640522afe85d1963ad56c05b0ede0a0c000dddc9671758a6cc09b7a38e5232"


def load(split: str, root: Root = None, *, file: str = OFFICIAL, steps: int = 180, md5: str | None = MD5) -> Loaded:
    """(steps, count, 27) characters, one-hot float32, made when asked for; (steps, count) the next ones, int64.

    root   holds the file, or text8 or text inside it does
    file   its name, without .gz or .xz if it is packed
    md5    of text8 (None and others are for tests); another file may be anything, and the spec says that
    Symbols are numbered in the order of ``ALPHABET``, the blank first. The published figure is loss/ln 2, bits a
    character. Raises DataError for an unknown split, and for a missing or damaged file.
    """
    place = split_index(NAME, split)
    path = files.find(NAME, root, file, SUBFOLDERS)
    is_official = file == OFFICIAL
    content = files.read(path, md5=md5 if is_official else None)
    text = content if is_official else simplified(content)
    if not text.strip():
        raise DataError(f"{path}: has no letter a to z. Give a text in Latin letters.")
    ends = shares_of(len(text), SHARES)
    letters = _characters.indices(text[ends[place] : ends[place + 1]], ALPHABET, str(path))
    return _characters.pieces(
        letters,
        name=NAME if is_official else f"{NAME} of {file}",
        split=place,
        letters=len(ALPHABET),
        steps=steps,
        origin=f"{path.name}, {'MD5 verified' if is_official else f'{len(text)} characters in its alphabet'}",
    )


def simplified(content: bytes) -> bytes:
    """Lower case; what is no letter a to z a blank; no blank beside another or at an end."""
    return re.sub(rb"[^a-z]+", b" ", content.lower()).strip(b" ")


def download(folder: str | Path) -> Path:
    """text8 out of its official archive; checksums of the archive and of the text are verified."""
    archive = files.fetch(NAME, ARCHIVE, folder, known=f"sha256:{ARCHIVE_SHA256}")
    target = archive.parent / SUBFOLDERS[0] / OFFICIAL
    files.extract(archive, {OFFICIAL: target}, md5={OFFICIAL: MD5})
    return target
