"""The site of docs/: every page has its place, what is made from the code is whole, and no link of it is dead."""

from __future__ import annotations

import html
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from docs.site import build, command_line, contents, docstrings, reference, witnesses
from verification import cli

CHECKOUT = Path(__file__).resolve().parents[2]
NEEDS = ("sphinx", "myst_parser", "furo", "sphinx_copybutton")
REQUIRED = "ODERNN_SITE"
MADE = {command_line.NAME, witnesses.NAME, f"{reference.FOLDER}/index", "derivations/index"}


def test_every_page_is_listed_once_and_every_listed_page_is_there() -> None:
    listed = contents.pages()
    assert len(listed) == len(set(listed)) > 60
    assert set(listed) == (set(contents.written()) | MADE) - {contents.HOME}


def test_the_front_page_leads_to_every_part() -> None:
    page = (contents.DOCS / "index.md").read_text("utf-8")
    for part in contents.parts():
        inside = [entry["page"] for entry in part["pages"]]
        assert any(f"({name}.md)" in page for name in inside), part["title"]


def test_links_become_those_of_the_site_and_code_stays(tmp_path: Path) -> None:
    text = '<a id="icml-3-1"></a>\n\n## icml-3.1\n[a](unicornn.md#icml-3-1) `[b](c.md)` [d](../witnesses) '
    made = build.staged(
        "ledger/scornn", text + "[e](../house.md)\n[f](../../odernn/certificate.py)\n", {"icml-3-1"}, tmp_path
    )
    assert made.splitlines() == [
        "(icml-3-1)=",
        "## icml-3.1",
        "[a](#icml-3-1) `[b](c.md)` [d](/reference/witnesses.md) [e](../house.md)",
        "[f](/files/odernn/certificate.py.txt)",
    ]
    assert (tmp_path / "files/odernn/certificate.py.txt").is_file()


def test_a_docstring_keeps_its_formulas_columns_and_items() -> None:
    text = (
        "|y_n| ≤ F*, see ``jacobian.regimes`` and ``a b``; *never* **more**.\n\n    y = |x| * z_\n\n"
        "name, other   of |x|\n              and more   thm-G\n\nIt has\n- one\n  line\n- two\n\n>>> f(1)\n2"
    )
    assert docstrings.restructured(text.splitlines()) == [
        r"\|y\_n\| ≤ F\*, see \ :py:obj:`jacobian.regimes`\  and \ ``a b``\ ; \ *never*\  \ **more**\ .",
        "",
        *("::", "", "        y = |x| * z_", ""),
        *("``name, other``", r"    of \|x\|", "    and more · thm-G", "", ""),
        *("It has", "", "- one", "  line", "- two", ""),
        *(".. code-block:: pycon", "", "    >>> f(1)", "    2", ""),
    ]


def test_the_reference_of_the_command_has_every_command_and_every_option() -> None:
    page = command_line.page()
    assert all(f"## odernn {name}\n" in page for name in cli.COMMANDS)
    assert "## odernn witness verify\n" in page and "`--expect FILE`\n: Verdicts to compare with" in page
    assert "130 interrupted" in page


def test_every_witness_is_on_its_page_with_its_claim() -> None:
    files = sorted((contents.DOCS / "witnesses").glob("*.json"))
    page = witnesses.page()
    assert all(f"(../witnesses/{path.name})" in page for path in files) and len(files) > 400
    claims = {json.loads(path.read_text("utf-8"))["claim"] for path in files}
    assert claims <= set(witnesses.ledger())


@pytest.mark.slow
def test_every_public_name_is_on_one_page_of_the_reference() -> None:
    import odernn

    text = "".join(reference.pages().values())
    for name in odernn.__all__:
        entries = re.findall(rf"^\.\. auto(?:class|function|data):: odernn\.{name}$", text, re.MULTILINE)
        assert len(entries) == (name in reference.exports()), name
    assert len(reference.exports()) > 60 and set(reference.pages()) == set(reference.names())


# --- the site itself


REFERENCE = re.compile(r'<(a|link|script|img|iframe|source)\b[^>]*?\b(?:href|src)="([^"]*)"')


def dead_ends(site: Path) -> list[str]:
    """Links of the pages of a site that lead nowhere inside it, and everything a page loads from elsewhere."""
    texts = {path.resolve(): path.read_text("utf-8") for path in site.rglob("*.html")}
    anchors = {path: set(re.findall(r'\b(?:id|name)="([^"]+)"', text)) for path, text in texts.items()}
    dead = []
    for path, text in texts.items():
        for tag, target in REFERENCE.findall(text):
            url = urlparse(html.unescape(target))
            if url.scheme or url.netloc:
                dead += [f"{path.name} loads {target}"] if tag != "a" and url.scheme != "data" else []
                continue
            file = (path.parent / unquote(url.path)).resolve() if url.path else path
            anchor = unquote(url.fragment)
            if not file.exists() or (anchor and file in anchors and anchor not in anchors[file]):
                dead.append(f"{path.name} links {target}")
    return dead


def test_planted_dead_ends_are_seen(tmp_path: Path) -> None:
    inside, outside = "https://a.b/", "https://a.b/c.js"
    one = f'<a id="x" href="b.html#y"></a><a href="#x"></a><a href="{inside}"></a>'
    other = f'<script src="{outside}"></script><img src="d.svg"><a href="a.html#x">'
    (tmp_path / "a.html").write_text(one, "utf-8")
    (tmp_path / "b.html").write_text(other, "utf-8")
    assert sorted(dead_ends(tmp_path)) == ["a.html links b.html#y", "b.html links d.svg", f"b.html loads {outside}"]


@pytest.mark.slow
@pytest.mark.site
@pytest.mark.timeout(1800)
def test_the_site_is_built_without_warnings_and_works_without_network(tmp_path: Path) -> None:
    if lacking := [name for name in NEEDS if importlib.util.find_spec(name) is None]:
        reason = f"the site needs the extra odernn[docs]: there is no {lacking[0]}; `make docs-test` installs it"
        (pytest.fail if os.environ.get(REQUIRED) else pytest.skip)(reason)
    command = [sys.executable, "-m", "docs.site.build", "--output", str(tmp_path), "--jobs", "2"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=1700)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    site = tmp_path / "html"
    assert dead_ends(site) == []
    assert (site / "searchindex.js").stat().st_size > 100_000
    for name in contents.pages():
        assert (site / f"{name}.html").is_file()
    page = (site / "reference/api/odernn.cells.html").read_text("utf-8")
    assert 'id="odernn.UnICORNN"' in page and "hidden_size" in page
    for name in contents.pages():
        text = (site / f"{name}.html").read_text("utf-8")
        assert text.count("<table") == text.count('class="table-wrapper'), f"{name}: a table without its box"
