"""Builds the site from docs/: `make docs`, or `python -m docs.site.build`. Works without network.

Pages are gathered in a folder of their own, with the tables of contents, the pages made from the code, and links as the
generator wants them; docs/ itself stays as it is, readable on any host of repositories. A warning is an error.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from docs.site import command_line, contents, reference, witnesses
from docs.site.contents import CHECKOUT, DOCS

SITE = Path(__file__).resolve().parent
OUTPUT = CHECKOUT / "build" / "docs"
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
CODE = re.compile(r"(```.*?```|``[^\n]*?``|`[^`]*`)", re.DOTALL)
ANCHOR = re.compile(r'^<a (?:id|name)="([^"]+)"></a>\n+(?=#)', re.MULTILINE)
FOLDERS = {"witnesses": witnesses.NAME, "derivations": "derivations/index", "ledger": "ledger/README"}
"""Pages that stand for folders of docs/ that a page links to."""


def gather(folder: Path) -> list[str]:
    """Every page of the site as the generator reads it, into a folder; their names."""
    texts = {name: (DOCS / f"{name}.md").read_text("utf-8") for name in contents.written()}
    texts |= reference.pages()
    texts |= {command_line.NAME: command_line.page(), witnesses.NAME: witnesses.page()}
    texts |= {entry["page"]: chapter(entry) for part in contents.parts() for entry in part["pages"] if "says" in entry}
    anchors = {anchor for text in texts.values() for anchor in ANCHOR.findall(text)}
    tables = {entry["page"]: below(entry) for part in contents.parts() for entry in part["pages"]}
    tables[contents.HOME] = "".join(
        toctree([entry["page"] for entry in part["pages"]], caption=part["title"]) for part in contents.parts()
    )
    for name, text in texts.items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(staged(name, text, anchors, folder) + tables.get(name, ""), encoding="utf-8")
    shutil.copytree(DOCS / "pictures", folder / "pictures", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copytree(DOCS / "witnesses", folder / "witnesses")
    return sorted(texts)


def chapter(entry: contents.Entry) -> str:
    """The page of a chapter that has none in docs/."""
    titles = ((DOCS / f"{below['page']}.md").read_text("utf-8").partition("\n")[0][2:] for below in entry["pages"])
    links = (f"- [{title}](/{below['page']}.md)" for title, below in zip(titles, entry["pages"], strict=True))
    return "\n".join([f"# {entry['title']}", "", entry["says"], "", *links]) + "\n"


def below(entry: contents.Entry) -> str:
    """The table of contents of a page with pages under it."""
    names = [each["page"] for each in entry["pages"]]
    if entry.get("made") == reference.FOLDER:
        names = reference.names()[1:]
    return toctree(names) if names else ""


def toctree(names: list[str], caption: str = "") -> str:
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "```{toctree}", *options, "", *(f"/{name}" for name in names), "```", ""])


def staged(name: str, text: str, anchors: set[str], folder: Path) -> str:
    """A page with explicit anchors and links as MyST has them; what stands in code stays."""
    text = ANCHOR.sub(r"(\1)=\n", text)
    page = DOCS / f"{name}.md"

    def linked(match: re.Match[str]) -> str:
        return f"[{match[1]}]({target_of(page, match[2], anchors, folder)})"

    pieces = CODE.split(text)
    return "".join(piece if number % 2 else outside(piece, linked) for number, piece in enumerate(pieces))


def outside(text: str, linked: Callable[[re.Match[str]], str]) -> str:
    return LINK.sub(linked, text)


def target_of(page: Path, target: str, anchors: set[str], folder: Path) -> str:
    """Where a link of a page of docs/ leads within the site."""
    path, _, anchor = target.partition("#")
    if "://" in target or target.startswith(("mailto:", "/")):
        return target
    if anchor in anchors and path.endswith((".md", "")):
        return f"#{anchor}"
    file = (page.parent / path).resolve() if path else page
    if file.is_relative_to(DOCS):
        inside = file.relative_to(DOCS).as_posix()
        return f"/{FOLDERS[inside]}.md" if inside in FOLDERS else target
    if file == CHECKOUT / "README.md":
        return f"/{contents.HOME}.md"
    copy = folder / "files" / f"{file.relative_to(CHECKOUT).as_posix()}.txt"
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    return f"/{copy.relative_to(folder).as_posix()}"


def build(output: Path, *, jobs: int) -> int:
    """The site in ``output``/html; the exit code of the generator."""
    from sphinx.cmd.build import main as sphinx  # the extra odernn[docs]

    started = time.monotonic()
    source, html = output / "source", output / "html"
    for folder in (source, html):
        shutil.rmtree(folder, ignore_errors=True)
    source.mkdir(parents=True)
    names = gather(source)
    options = ["-b", "html", "-c", str(SITE), "-d", str(output / "doctrees"), "-E", "-q", "-W", "--keep-going"]
    code = int(sphinx([*options, "-j", str(jobs), str(source), str(html)]))
    size = sum(path.stat().st_size for path in html.rglob("*") if path.is_file())
    if code == 0:
        print(f"{len(names)} pages, {size / 1e6:.1f} MB, {time.monotonic() - started:.0f} s: {html / 'index.html'}")
    return code


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="FOLDER", help="where the site goes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    given = parser.parse_args(arguments)
    return build(given.output.resolve(), jobs=given.jobs)


if __name__ == "__main__":
    sys.exit(main())
