"""The text of a witness file, which may come from anywhere: bounded, of a regular file, and strict JSON.

``odernn.foreign`` reads. Nothing here knows what a witness says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from odernn import foreign
from odernn.foreign import MOST_TEXT as MAX_BYTES
from odernn.foreign import ForeignError

__all__ = ["MAX_BYTES", "WitnessError", "content", "parsed", "replaced", "text_of"]


class WitnessError(ValueError):
    """A file that is no witness: says which field is wrong and what was expected."""


def content(path: Path) -> bytes:
    """The content of a regular file of at most ``MAX_BYTES``. OSError if it cannot be opened, else WitnessError."""
    try:
        return foreign.content(path, MAX_BYTES)
    except ForeignError as error:
        raise WitnessError(f'"{path.name}": {error}. Give the file of a witness.') from None


def replaced(path: Path, content: bytes) -> None:
    """Write the file, its folder too, so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    temporary.write_bytes(content)
    temporary.replace(path)


def text_of(path: Path) -> str:
    """The content as text. Raises as ``content``, and WitnessError for what is not UTF-8."""
    try:
        return foreign.text_of(path, MAX_BYTES)
    except ForeignError as error:
        raise WitnessError(f'"{path.name}": {error}. Give the file of a witness.') from None


def parsed(text: str) -> Any:
    """The plain data of strict JSON. WitnessError says what is wrong with the text."""
    try:
        return foreign.parsed_json(text)
    except ForeignError as error:
        raise WitnessError(f"not JSON: {error}. The file is damaged or truncated.") from None
