"""The table of contents of the site, from contents.toml: needs nothing but the standard library."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
CHECKOUT = DOCS.parent
HOME = "index"

Entry = dict[str, Any]


def parts() -> list[Entry]:
    """The parts in order: ``title`` and ``pages``, each a dict with its ``page`` and the ``pages`` under it."""
    found: list[Entry] = tomllib.loads(Path(__file__).with_name("contents.toml").read_text("utf-8"))["part"]
    for part in found:
        part["pages"] = [_entry(page) for page in part["pages"]]
    return found


def _entry(page: str | Entry) -> Entry:
    """One page with those under it."""
    entry = {"page": page} if isinstance(page, str) else page
    return entry | {"pages": [_entry(below) for below in entry.get("pages", [])]}


def pages() -> list[str]:
    """Every page that is listed, in order, without ".md"."""
    return list(_names(entry for part in parts() for entry in part["pages"]))


def _names(entries: Iterator[Entry] | list[Entry]) -> Iterator[str]:
    for entry in entries:
        yield entry["page"]
        yield from _names(entry["pages"])


def written() -> list[str]:
    """Every page that stands in docs/, without ".md"."""
    return sorted(page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md"))


def slug(title: str) -> str:
    """The anchor of a heading, as hosts of repositories make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
