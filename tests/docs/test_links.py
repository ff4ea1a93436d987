"""What the pages point to is there: files, headings, modules and names; and no page sends anyone to a private one."""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = sorted([CHECKOUT / "README.md", CHECKOUT / "CHANGELOG.md", *(CHECKOUT / "docs").rglob("*.md")])
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
DOTTED = re.compile(r"`((?:odernn|verification|cuda\.odernn_kernels)(?:\.\w+)+)(?:\(\))?`")
FILE = re.compile(r"`((?:odernn|verification|cuda|tests|benchmarks|docs|device)/[\w./-]*[\w/])`")
HISTORY = {"CHANGELOG.md"}
"""Pages that name what was before."""


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@cache
def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    text = text_of(page)
    lines = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    named = re.findall(r'<a (?:id|name)="([^"]+)"', text)
    return {re.sub(r"[^\w\- ]", "", line.lower()).strip().replace(" ", "-") for line in lines} | set(named)


def dead_links(page: Path, text: str) -> list[str]:
    """Relative links of a page that lead nowhere. What stands in code or in formulas is no link."""
    text = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    dead = []
    for match in LINK.finditer(text):
        target, _, anchor = (match.group(1) or match.group(2)).partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in headings(file)):
            dead.append(match.group(0))
    return dead


def unknown_names(text: str) -> list[str]:
    """Dotted names of the library that are no module and no attribute of one, or are private."""
    return [name for name in DOTTED.findall(text) if "._" in name or not exists(name)]


def exists(name: str) -> bool:
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[end:]:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


def missing_files(text: str) -> list[str]:
    """Files that a page names and that are not there; "my…" stands for the reader's own."""
    named = [name for name in FILE.findall(text) if not Path(name).name.startswith("my")]
    return [name for name in named if not (CHECKOUT / name).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(CHECKOUT).as_posix())
def test_what_a_page_points_to_is_there(page: Path) -> None:
    assert dead_links(page, text_of(page)) == []
    if page.name not in HISTORY:
        assert unknown_names(text_of(page)) == []
        assert missing_files(text_of(page)) == []


def test_planted_faults_are_seen() -> None:
    page = CHECKOUT / "README.md"
    assert dead_links(
        page, "[a](docs/nowhere.md) [b](docs/conventions.md#no-such-heading) [c](docs/conventions.md)"
    ) == [
        "[a](docs/nowhere.md)",
        "[b](docs/conventions.md#no-such-heading)",
    ]
    assert unknown_names("`odernn.order` `odernn.nowhere` `odernn.bounds.certify()` `odernn.fields._once`") == [
        "odernn.nowhere",
        "odernn.fields._once",
    ]
    assert missing_files("`odernn/cells/lem.py` `odernn/lem.py`") == ["odernn/lem.py"]
    assert len(PAGES) > 35
