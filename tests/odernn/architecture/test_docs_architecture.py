"""docs/architecture.md says what the commands print, its table is current, and its picture is of these graphs."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import pytest

from odernn.architecture import get, growth_limit, longest_paths, measures_of, names
from tests import scripts
from tests.tiers import slow

CHECKOUT = Path(__file__).resolve().parents[3]
PAGE = CHECKOUT / "docs" / "architecture.md"
SCRIPT = CHECKOUT / "docs" / "pictures" / "architectures.py"
REGENERATE = "Run `python docs/pictures/architectures.py`."
MOST_BYTES = 150_000


script = scripts.loaded(SCRIPT)


@pytest.fixture(autouse=True)
def the_signal_handler_of_the_command_is_taken_back() -> Iterator[None]:
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


def text() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_is_computed() -> None:
    assert script.current(text()) == text(), REGENERATE
    assert text().count("$ odernn graph") >= 7
    assert text().count("\n| ") > len(names()) > 40


def test_a_stale_output_and_a_stale_table_are_seen() -> None:
    assert script.current(text().replace("l − d_r Σσ = 3 − 1 · 0", "l − d_r Σσ = 4 − 1 · 0")) == text()
    row = next(line for line in text().splitlines() if line.startswith("| td "))
    assert script.current(text().replace(row + "\n", "")) == text()
    with pytest.raises(ValueError, match="write <!-- catalogue -->"):
        script.current("no table\n")


def test_every_condition_has_an_example_that_breaks_it() -> None:
    for condition in "123RU":
        assert f"condition ({condition}) fails: " in text()


@pytest.mark.parametrize(
    ("place", "prints", "more"),
    [
        (0, 3, "assert files.read('mine.json') == graph"),
        slow((1, 3, "")),
        slow((2, 2, "")),
    ],
    ids=["graphs", "probe", "networks"],
)
def test_the_python_of_the_page_prints_what_stands_beside_it(
    tmp_path: Path, place: int, prints: int, more: str
) -> None:
    """Beside it or, as a comment, on the next line."""
    block = re.findall(r"```python\n(.*?)```", text(), re.DOTALL)[place]
    code = f"import sys\nsys.path.insert(0, {str(CHECKOUT)!r})\n{block}\n{more}\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    said = re.findall(r"^print\([^\n]*?\)(?: +|\n)# ([^\n]*)$", block, re.MULTILINE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == said and len(said) == prints


def test_what_the_page_says_differs_from_the_source_does() -> None:
    figure = get("figure 1(a)")
    assert longest_paths(figure, 0, 1, between=True) == {0: 3, 1: 5} and measures_of(figure).d_r + 3 < 5
    assert [list(longest_paths(figure, i, 4).values())[1:] for i in (0, 1)] == [[5, 6, 8, 9], [4, 6, 7, 9]]
    third = measures_of(get("4.5(3)-1"))
    assert (third.s, third.d_r) == (1, 2) and {e[:3] for e in third.graph.edges} == set(get("td").edges)
    assert [measures_of(get(f"4.5(3)-{k}")).s for k in (1, 2, 3, 7)] == [1, 1, 1.5, 3.5]
    failed = growth_limit(get("clockwork(2,3)"), "shortest")
    assert failed.holds is False and failed.witness.start == 2
    sam = get("unicornn sam")
    assert min(longest_paths(sam, 0, 9, between=True)) == 3 and measures_of(sam).d_f == 1


def test_the_readme_counts_the_named_architectures() -> None:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    assert f"{len(names())} named architectures" in " ".join(readme.split())


def test_the_picture_of_the_page_shows_the_graphs_as_they_are() -> None:
    """Without drawing: names and values in the picture are those of the catalogue."""
    picture = (SCRIPT.parent / "architectures.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(picture.encode())
    words = ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]
    shown = [(get(name), which) for row in script.SHOWN for name, which in row]
    for panel, (graph, which) in enumerate(shown, 1):
        members = [g for g in root.iter() if g.get("id", "").startswith(f"panel-{panel}-edge")]
        if which == "graph":
            assert graph.name in words and str(measures_of(graph)) in words, REGENERATE
            assert len(members) == len(graph.edges), REGENERATE
        else:
            assert f"{graph.name}, unfolded" in words and members, REGENERATE
    assert len(picture.encode()) < MOST_BYTES and "dc:date" not in picture


def test_the_picture_of_the_page_is_what_is_drawn() -> None:
    """Texts and elements, not bytes: another version of matplotlib may write the same lines in another way."""
    pytest.importorskip("matplotlib", reason="drawing needs the extra odernn[plots]")
    drawn, kept = script.picture(), (SCRIPT.parent / "architectures.svg").read_text(encoding="utf-8")
    for pattern in (r"<text[^>]*>([^<]*)<", r'<g id="(panel[^"]*" class="[^"]*)"', r"<desc[^>]*>(.*?)</desc>"):
        found = [re.findall(pattern, picture, re.DOTALL) for picture in (drawn, kept)]
        assert found[0] == found[1] and found[0], REGENERATE
