"""The page about docs/witnesses: every file with the claim that it refutes, linked to its page of the ledger."""

from __future__ import annotations

import json
import re
from pathlib import Path

from docs.site.contents import DOCS

NAME = "reference/witnesses"
CLAIM = re.compile(r'<a id="([^"]+)"></a>\n\n## (\S+)')


def ledger() -> dict[str, tuple[str, str, str]]:
    """Title and file of the page of the ledger, and the anchor there, by claim."""
    found: dict[str, tuple[str, str, str]] = {}
    for path in sorted((DOCS / "ledger").glob("[!R]*.md")):
        text = path.read_text("utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        found |= {claim: (title, path.name, anchor) for anchor, claim in CLAIM.findall(text)}
    return found


def page(folder: Path = DOCS / "witnesses") -> str:
    """The page as Markdown, a section a paper. Raises KeyError for a claim that the ledger does not have."""
    places = ledger()
    sections: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.json")):
        witness = json.loads(path.read_text("utf-8"))
        title, page, anchor = places[witness["claim"]]
        where = ", ".join(_cell(witness[key]) for key in ("domain", "quantity"))
        row = f"| [{witness['claim']}](../ledger/{page}#{anchor}) | {where} | [file](../witnesses/{path.name}) |"
        sections.setdefault(title, []).append(row)
    count = sum(map(len, sections.values()))
    lines = [
        "# Witnesses",
        "",
        f"{count} counterexamples, a file each: parameters as exact numbers. Save one and decide it again:",
        "",
        "```console",
        "$ odernn witness verify FILE",
        "$ odernn witness script FILE | python -     # at most 40 lines of numpy and mpmath, without odernn",
        "```",
        "",
        'What a file may say, and what stands between it and "certified": [what a witness may say](../trial.md).',
    ]
    for title, rows in sections.items():
        lines += ["", f"## {title}", "", "| claim | where, and what is exceeded | witness |", "|:--|:--|:--|", *rows]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"([\\|*_\[\]<`])", r"\\\1", text)
