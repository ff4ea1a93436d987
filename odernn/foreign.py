"""Files from anywhere: a regular file of bounded length, strict JSON and TOML, CSV, packed bytes up to a limit.

Every reader of a file that somebody gives goes through here and raises the error of its own, with the name of the file
and the next step; what is raised here says the place and the reason. Nothing is executed.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import json
import math
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

MOST_TEXT = 16 * 2**20
"""Bytes of a file of text."""
MOST_DATA = 256 * 2**20
"""Bytes of what is unpacked."""
DEEPEST = 64
"""Lists and tables inside one another."""
MOST_DIGITS = 4_300
"""Of a whole number: what Python reads and prints; TOML has hexadecimal ones, too."""
_TOO_LARGE = 10**MOST_DIGITS
_PART = (
    r'"""[^"\\]*(?:(?:\\.|"{1,2}(?!"))[^"\\]*)*(?:"{3,5}|\\?\Z)'  # as tomllib: before the three quotes two of the text
    r"|'''[^']*(?:'{1,2}(?!')[^']*)*(?:'{3,5}|\Z)"
    r'|"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*(?:"|\\?(?=\n|\Z))'
    r"|'[^'\n]*(?:'|(?=\n|\Z))"
    r"|[\w-]+"
)
_PARTS = re.compile(_PART, re.DOTALL)
_KEYS = re.compile(rf"#[^\n]*|(?P<key>(?:{_PART})(?:[ \t]*\.[ \t]*(?:{_PART}))*)", re.DOTALL)
"""Comments, and texts, words and numbers with the dots between them: of those outside of texts only a key has many."""
_BLOCK = 2**13
"""Bytes that are unpacked at once: what follows the end of a stream is copied."""


class ForeignError(ValueError):
    """What a file holds is not what may be there: place and reason, without the name of the file."""


def said(error: OSError | ForeignError) -> str:
    """Why a file cannot be read, in small letters."""
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)


def shown(value: object, most: int = 60) -> str:
    """The value for an error message, cut to one short line."""
    text = ascii(value)
    return text if len(text) <= most else text[: most - 3] + "..."


def short(text: str, most: int = 1_000) -> str:
    """The text of an error, without the middle where a file made it longer; the next step is at its end."""
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"


def content(path: Path, most: int = MOST_TEXT, *, typed: bool = False) -> bytes:
    """The content of a regular file, of which no more than ``most`` bytes are ever held.

    typed  a person has typed this name: it may be a pipe, <(…) or /dev/stdin, whose writer is waited for
    OSError if it cannot be opened or is a folder; ForeignError if it is none to be read to its end, or longer.
    """
    nonblocking = 0 if typed else getattr(os, "O_NONBLOCK", 0)  # a pipe without a writer would be waited for
    descriptor = os.open(path, os.O_RDONLY | nonblocking | getattr(os, "O_BINARY", 0))
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode) and not (typed and stat.S_ISFIFO(mode)):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise ForeignError("it is a device" if typed else "it is a device, a pipe or a folder")
    with open(descriptor, "rb") as file:
        held = file.read(most + 1)
    if len(held) > most:
        raise ForeignError(f"it has more than {most} bytes")
    return held


def text_of(path: Path, most: int = MOST_TEXT, *, typed: bool = False) -> str:
    """The content as text, without a byte order mark. Raises as ``content``, and for what is not UTF-8."""
    held = content(path, most, typed=typed)
    try:
        text = held.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ForeignError(f"it is not a text file (in UTF-8): byte {error.start}") from None
    if "\0" in text:
        raise ForeignError(f"it is not a text file (in UTF-8): byte {held.index(0)} is zero")
    return text


# --- JSON and TOML


def parsed_json(text: str, *, non_finite: bool = False) -> Any:
    """The plain data of JSON: no key twice, no half of a character, and unless ``non_finite`` no NaN and no 1e999."""
    numbers: dict[str, Any] = {} if non_finite else {"parse_constant": _constant, "parse_float": _finite}
    with _as_foreign():
        value = json.loads(text, object_pairs_hook=_without_duplicates, **numbers)
        _check(value)
        if re.search(r"\\u[dD][89a-fA-F]", text):
            json.dumps(value, ensure_ascii=False).encode()
    return value


def parsed_toml(text: str) -> dict[str, Any]:
    """The tables of TOML, which itself refuses a key that is twice; inf, nan and dates are for the caller to refuse."""
    with _as_foreign():
        _check_keys(text)
        value = tomllib.loads(text)
        _check(value)
    return value


def rows_of_csv(path: Path, most: int = MOST_TEXT) -> Iterator[list[str]]:
    """The rows of ``text_of``, one by one, those without a cell too.

    Raises as ``text_of``, and for a cell of 128 KiB, when a row is asked for.
    """
    text = text_of(path, most)
    with _as_foreign():
        yield from csv.reader(io.StringIO(text, newline=""))


@contextlib.contextmanager
def _as_foreign() -> Iterator[None]:
    """ForeignError with the place and the reason, for what the parsers of the standard library raise."""
    try:
        yield
    except ForeignError:
        raise
    except json.JSONDecodeError as error:
        reason = f"it is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})"
    except tomllib.TOMLDecodeError as error:
        place = re.sub(r"\(at line (\d+), column (\d+)\)", r"(line \1, column \2)", str(error))
        reason = f"it is not valid TOML: {short(place, 200)}"
    except csv.Error as error:
        reason = f"it is not valid CSV: {error}"
    except RecursionError:
        reason = "it is nested too deeply"
    except UnicodeEncodeError:
        reason = "a text holds half of a character, \\ud800 to \\udfff"
    except ValueError:
        reason = "a number has thousands of digits"
    else:
        return
    raise ForeignError(reason)


def read_json(path: Path, *, non_finite: bool = False, typed: bool = False) -> Any:
    """``parsed_json`` of ``text_of``."""
    return parsed_json(text_of(path, typed=typed), non_finite=non_finite)


def _check_keys(text: str) -> None:
    """ForeignError for a key of many parts, of which tomllib takes the square."""
    if text.count(".") < DEEPEST:
        return
    for match in _KEYS.finditer(text):
        key = match["key"] or ""
        if len(key) > 2 * DEEPEST and len(_PARTS.findall(key)) > DEEPEST:
            line = text.count("\n", 0, match.start()) + 1
            raise ForeignError(f"line {line}: a key of more than {DEEPEST} parts")


def _constant(name: str) -> None:
    raise ForeignError(f"{name} is no number of strict JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ForeignError(f"{digits[:40]} is no number that a float can hold")
    return value


def _without_duplicates(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ForeignError(f"the key {shown(key)} is given twice; remove one")
        table[key] = value
    return table


def _check(value: Any) -> None:
    """Level by level, so that nothing here is as deep as the value."""
    level = [value]
    for _ in range(DEEPEST + 1):
        inner: list[Any] = []
        for each in level:
            inner.extend(each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
            if isinstance(each, int) and abs(each) >= _TOO_LARGE:
                raise ForeignError("a number has thousands of digits")
        if not (level := inner):
            return
    raise ForeignError(f"it is nested too deeply, more than {DEEPEST} times")


# --- packed files


def unpacked(packed: bytes, ending: str, most: int = MOST_DATA) -> bytes:
    """What a .gz or .xz file holds. ForeignError if it is damaged or holds more than ``most`` bytes.

    Those of xz may ask for 128 MiB of memory, what ``xz -9`` needs.
    """
    import gzip
    import lzma
    import zlib

    try:
        if ending == ".gz":
            with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
                held = file.read(most + 1)
        else:
            held = _of_xz(packed, most)
    except (OSError, EOFError, lzma.LZMAError, zlib.error, MemoryError) as error:
        raise ForeignError(f"is not a complete {ending} file ({error or 'it ends early'})") from None
    if len(held) > most:
        raise ForeignError(f"unpacks to more than {most} bytes")
    return held


def _of_xz(packed: bytes, most: int) -> bytes:
    """All its streams, one after another, with zeros between them."""
    import lzma

    held, file, is_more = bytearray(), io.BytesIO(packed), True
    while is_more:
        decoder = lzma.LZMADecompressor(memlimit=128 * 2**20)
        while not decoder.eof:
            if not (block := file.read(_BLOCK)):
                raise EOFError("it ends early")
            held += decoder.decompress(block, most + 1 - len(held))
            if len(held) > most:
                return bytes(held)
        file.seek(-len(decoder.unused_data), os.SEEK_CUR)
        is_more = _is_past_zeros(file)
    return bytes(held)


def _is_past_zeros(file: io.BytesIO) -> bool:
    """Whether something follows the zeros, and then the file stands there."""
    while block := file.read(_BLOCK):
        if left := block.lstrip(b"\0"):
            file.seek(-len(left), os.SEEK_CUR)
            return True
    return False
