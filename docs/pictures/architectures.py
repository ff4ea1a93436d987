"""The picture and the table of docs/architecture.md: architectures as cyclic graphs, and their measures.

python docs/pictures/architectures.py                 # the generated parts of the page, and the picture
python docs/pictures/architectures.py --no-pictures   # the text only; needs no matplotlib
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import shlex
import tempfile
from pathlib import Path

from odernn.architecture import get
from verification.cli import main as odernn

PICTURES = Path(__file__).resolve().parent
PAGE = PICTURES.parent / "architecture.md"
PICTURE = PICTURES / "architectures.svg"

SHOWN = (
    (("sh", "graph"), ("td", "graph"), ("(2,3)", "graph"), ("skip-4", "graph"), ("4.5(3)-4", "graph")),
    (("figure 1(a)", "graph"), ("figure 1(a)", "unfolding"), ("clockwork(1,2)", "graph")),
    (("td", "unfolding"), ("4.5(3)-4", "unfolding")),
)

_COMMAND = re.compile(r"```console\n\$ (odernn graph [^\n]*)\n(.*?)```\n", re.DOTALL)
_TABLE = re.compile(r"(<!-- catalogue -->\n).*?(<!-- /catalogue -->)", re.DOTALL)
_FILE = re.compile(r"<!-- file ([\w.]+) -->\n```\w*\n(.*?)```\n", re.DOTALL)


def printed(command: str, folder: Path) -> str:
    """What the command prints, results and errors, run where the files of the page lie."""
    found = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(found), contextlib.redirect_stderr(found):
        odernn(shlex.split(command)[1:])
    return found.getvalue()


def table() -> str:
    """The catalogue with its measures."""
    return printed("odernn graph --list --format github", PICTURES)


def current(text: str) -> str:
    """The page as it should be. ValueError where the place of the table is missing."""
    if len(_TABLE.findall(text)) != 1:
        raise ValueError(f"{PAGE.name}: write <!-- catalogue --> and <!-- /catalogue --> once, on lines of their own.")
    with tempfile.TemporaryDirectory() as folder:
        for name, content in _FILE.findall(text):
            (Path(folder) / name).write_text(content, encoding="utf-8")

        def run(match: re.Match[str]) -> str:
            return f"```console\n$ {match[1]}\n{printed(match[1], Path(folder))}```\n"

        text = _COMMAND.sub(run, text)
    return _TABLE.sub(lambda match: f"{match[1]}{table()}{match[2]}", text)


def picture() -> str:
    """The SVG."""
    from odernn.architecture import pictures

    rows = [[(get(name), which) for name, which in row] for row in SHOWN]
    return pictures.gallery(rows, title="Architectures as cyclic graphs, with the walks that decide their measures")


def main() -> None:
    """Write the page and the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-pictures", action="store_true", help="the text only; needs no matplotlib")
    arguments = parser.parse_args()
    if PAGE.exists():
        PAGE.write_text(current(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    if not arguments.no_pictures:
        PICTURE.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
