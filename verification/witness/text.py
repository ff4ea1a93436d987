"""The text of a witness file, which may come from anywhere: bounded, of a regular file, and strict JSON.

Nothing here knows what a witness says. A device, a pipe or a file that does not end is refused before it is read, and
NaN, infinities, a field that occurs twice and numbers of thousands of digits before anything is made of them.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

MAX_BYTES = 16 * 2**20


class WitnessError(ValueError):
    """A file that is no witness: says which field is wrong and what was expected."""


def content(path: Path) -> bytes:
    """The content of a regular file, of which no more than ``MAX_BYTES`` is ever held.

    OSError if the file cannot be opened; WitnessError if it is none to be read to its end, or longer.
    """
    nonblocking = getattr(os, "O_NONBLOCK", 0)  # a pipe without a writer would be waited for
    with open(os.open(path, os.O_RDONLY | nonblocking | getattr(os, "O_BINARY", 0)), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise WitnessError(f'"{path.name}" is a device, a pipe or a folder. Give a file.')
        held = file.read(MAX_BYTES + 1)
    if len(held) > MAX_BYTES:
        raise WitnessError(f'"{path.name}" has more than {MAX_BYTES} bytes, the most that a witness has.')
    return held


def replaced(path: Path, content: bytes) -> None:
    """Write the file, its folder too, so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    temporary.write_bytes(content)
    temporary.replace(path)


def text_of(path: Path) -> str:
    """The content as text. Raises as ``content``, and WitnessError for what is not UTF-8."""
    try:
        return content(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise WitnessError(f"not UTF-8 text (byte {error.start}). The file is damaged.") from None


def parsed(text: str) -> Any:
    """The plain data of strict JSON. WitnessError says what is wrong with the text."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:
        raise WitnessError(f"not JSON: {error}. The file is damaged or truncated.") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of strict JSON")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field occurs twice")
    return fields
