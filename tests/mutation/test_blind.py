"""Blind draws check themselves: what is drawn, from what, which tests are near, and how a survivor is counted."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import scripts

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

drawn = scripts.loaded(HERE / "drawn.py")
nearest = scripts.loaded(HERE / "nearest.py")
scratch = scripts.loaded(HERE / "scratch.py")

SMALL = '''
"""A file of 3 things."""
from __future__ import annotations
__all__ = ["f"] * 1
if TYPE_CHECKING:
    LIMIT = 7

@cache(maxsize=3)
def f(x: Literal[4], n: int = 5) -> Literal[6]:
    """Says 8."""
    if not x or n < 2:
        raise ValueError(f"n is {n + 1}" + str(-9))
    print(n - 1)
    rows = list(zip(x, x, strict=True))
    zero = 0 * x
    return [-y for y in range(n)] if rows else x["a" + "b"] * 0.5
'''
EXPECTED = {
    ("off by one", "5", "6"),
    ("off by one", "5", "4"),
    ("and, or", "not x or n < 2", "not x and n < 2"),
    ("dropped not", "not x", "x"),
    ("comparison", "n < 2", "n <= 2"),
    ("comparison", "n < 2", "n >= 2"),
    ("off by one", "2", "3"),
    ("off by one", "2", "1"),
    ("turned condition", "rows", "not rows"),
    ("sign", "-y", "y"),
    ("off by one", "range(n)", "range(n + 1)"),
    ("off by one", "range(n)", "range(n - 1)"),
    ("sign", "x['a' + 'b'] * 0.5", "x['a' + 'b'] / 0.5"),
    ("constant", "0.5", "1.0"),
    ("constant", "0.5", "0.25"),
    ("off by one", "0", "1"),
    ("off by one", "0", "-1"),
}


def test_the_places_of_a_small_file_are_what_it_does_and_nothing_that_it_says_or_declares() -> None:
    found = drawn.sites(SMALL, "small.py")
    assert {(site.operator, site.before, site.after) for site in found} == EXPECTED
    assert len(found) == len({site.key for site in found}) == len(EXPECTED)
    assert {site.function for site in found} == {"f"} and {site.operator for site in found} == set(drawn.OPERATORS)


@pytest.mark.parametrize("file", ["odernn/foreign.py", "verification/cases/state_bound/ratios.py"])
def test_a_mutant_changes_its_expression_and_no_other_byte(file: str) -> None:
    source = (ROOT / file).read_text()
    found = drawn.sites(source, file)
    assert len(found) > 60
    for site in found:
        text = drawn.broken(source, site)
        first, start, last, end = site.span
        lines = source.encode().splitlines(keepends=True)
        head, tail = b"".join(lines[: first - 1]) + lines[first - 1][:start], lines[last - 1][end:]
        assert text.encode() == head + f"({site.after})".encode() + tail + b"".join(lines[last:])
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(source))


def test_operators_draw_in_turn_and_a_larger_number_goes_on() -> None:
    every = [site for k in range(40) for site in drawn.sites(SMALL.replace("def f", f"def f{k}"), f"{k}.py")]
    few, many = drawn.draw(every, "1", 21), drawn.draw(every, "1", 70)
    assert many[:21] == few and len({site.key for site in many}) == 70
    assert set(Counter(site.operator for site in many).values()) == {10}
    assert len(drawn.draw(every, "1", 10**6)) == len(every)
    other = drawn.draw(every, "2", 70)
    assert len({site.key for site in other} & {site.key for site in many}) < 35
    moved = [site for site in every if site.file != "7.py"]  # an edit elsewhere leaves the others drawn
    kept = {site.key for site in many if site.file != "7.py"}
    assert kept <= {site.key for site in drawn.draw(moved, "1", 70)}


def test_the_nearest_tests_import_the_file_lie_beside_it_or_name_it(tmp_path: Path) -> None:
    files = {
        "odernn/cells/leaky.py": "",
        "odernn/cells/other.py": "",
        "verification/claims/a/decay.py": "# Claims: icml-9 · sam-7\n",
        "tests/odernn/cells/test_leaky.py": "leaky",
        "tests/odernn/test_far.py": "melted_rows",
        "tests/odernn/test_names.py": "leaky",
        "tests/verification/test_claims.py": '"icml-9"',
        "verification/scripts/x.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    graph: dict[str, list[str]] = {name: [] for name in files}
    graph["odernn/cells/other.py"] = ["odernn/cells/leaky.py"]
    graph["tests/odernn/test_far.py"] = ["odernn/cells/other.py"]
    graph["tests/odernn/test_names.py"] = graph["tests/odernn/cells/test_leaky.py"] = ["odernn/cells/leaky.py"]
    near = nearest.Nearest(tmp_path, graph)
    beside, names, far, claims = list(files)[3], list(files)[5], list(files)[4], list(files)[6]
    assert near.tests("odernn/cells/leaky.py", "Leaky.forward") == [beside, names, far]
    assert near.tests("odernn/cells/leaky.py", "melted_rows") == [beside, far, names]
    assert near.tests("verification/claims/a/decay.py", "module") == [claims]
    assert near.spoken("verification/claims/a/decay.py", "f.g") == {"g", "decay", "icml-9", "sam-7"}
    assert near.tests("verification/scripts/x.py", "run") == []


def test_a_fork_that_says_nothing_dies_or_hangs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def begun_and(end: Any) -> Any:
        def work(send: Any) -> None:
            send({"begin": "t.py::one"})
            end()

        return work

    with monkeypatch.context() as short:  # the others may be slow to begin on a busy machine
        short.setattr(scratch, "STUCK_S", 3.0)
        begin = time.monotonic()
        assert scratch._answer(begun_and(lambda: time.sleep(60)), ["t.py"])["how"] == "time-out"
        assert time.monotonic() - begin < 30
    assert scratch._answer(begun_and(lambda: os._exit(3)), ["t.py"]) == {"by": "t.py::one", "how": "died", "tests": 1}
    fine = scratch._answer(lambda send: send({"over": 0}), ["t.py"])
    assert fine == {"by": "", "how": "", "tests": 0}
    with pytest.raises(RuntimeError, match=r"could not run \['t\.py'\]"):
        scratch._answer(lambda send: {}["missing"], ["t.py"])


# --- the record and its page


def entry(**other: Any) -> dict[str, Any]:
    names = dict(file="a.py", line=3, function="f", operator="sign", before="x + y", after="x - y", number=1)
    return names | dict(fate="killed", first="killed", by="t", how="failed", tests=1, seconds=1.0) | other


WHY = """[[survivor]]
file = "a.py"
function = "f"
before = "x + y"
after = "x - y"
number = 2
kind = "KIND"
why = "y is 0"
"""


def test_a_survivor_counts_as_it_is_explained_and_what_was_at_first_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(HERE), *sys.path])
    page = scripts.loaded(HERE / "blind_page.py")
    mutants = [entry(), entry(number=2, fate="survived", first="survived", by="", how="")]
    mutants += [entry(number=3, first="survived", how="time-out")]
    record = {"seed": "5", "sites": dict.fromkeys(drawn.OPERATORS, 1000), "mutants": mutants}
    text = page.section(record, WHY.replace("KIND", "equivalent"))
    assert "of 3 mutants **1 (33.3 %) were killed at first**" in text and "**2 (66.7 %) are now**" in text
    assert "1 survive: 1 equivalent. Without the equivalent ones 100.0 % are killed." in text
    assert "| sign | 1,000 | 3 | 1 | 2 | 1 | 0 |" in text and "| `a.py` `f` | `x + y` → `x - y` | y is 0 |" in text
    assert "1 unexplained" in page.section(record, "")
    assert "**hole**: y is 0" in page.section(record, WHY.replace("KIND", "hole"))
    with pytest.raises(ValueError, match="a kind of equivalent, unreached, hole"):
        page.section(record, WHY.replace("KIND", "fine"))


def test_the_page_is_that_of_the_record_and_every_survivor_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(HERE), *sys.path])
    page = scripts.loaded(HERE / "blind_page.py")
    record, text = json.loads(page.RECORD.read_text()), page.PAGE.read_text()
    assert page.with_section(text, record) == text and text.count(page.HEADING) == 1
    explained = page.explained(record["mutants"])
    assert len(explained) > 30 and [each for each in explained if each["kind"] == "unexplained"] == []
    entries = page.explanations(page.SURVIVORS.read_text())
    idle = [e for e in entries if not any(page.names(e, m) for m in record["mutants"] if m["fate"] == "survived")]
    assert idle == []


# --- a planted project

PRODUCT = "def area(a, b):\n    if a < 0 or b < 0:\n        return 0\n    return a * b\n"
GOOD = """
from product.area import area

def test_area():
    assert (area(3, 4), area(1, 1), area(-1, 5), area(5, -1), area(-2, -2)) == (12, 1, 0, 0, 0)
    assert area(0.5, 1) == area(1, 0.5) == 0.5

def test_that_fails_anyway():
    assert area(1, 1) == 2
"""
BLIND = "from product.area import area\n\ndef test_area():\n    assert area(3, 4) > 0\n"


@pytest.mark.slow
def test_good_tests_kill_and_blind_ones_let_live_and_a_test_that_fails_anyway_kills_nothing(tmp_path: Path) -> None:
    records = {}
    for name, tests in (("good", GOOD), ("blind", BLIND)):
        root = tmp_path / name
        (root / "product").mkdir(parents=True)
        (root / "tests").mkdir()
        (root / "product" / "area.py").write_text(PRODUCT)
        (root / "tests" / "test_area.py").write_text(tests)
        command = [
            sys.executable,
            str(HERE / "blind.py"),
            "--root",
            str(root),
            "--folders",
            "product",
            "--number",
            "99",
        ]
        into = tmp_path / f"{name}.json"
        done = subprocess.run([*command, "--into", str(into)], capture_output=True, text=True, timeout=500)
        assert into.exists(), done.stdout + done.stderr
        records[name] = json.loads(into.read_text())
    good, blind = (records[name]["mutants"] for name in ("good", "blind"))
    assert len(good) == len(blind) == 12
    alive = {(each["before"], each["after"]) for each in good if each["fate"] == "survived"}
    assert alive == {("a < 0", "a <= 0"), ("b < 0", "b <= 0")}  # the area is 0 either way
    assert records["good"]["unsound"] == ["tests/test_area.py::test_that_fails_anyway"]
    assert {each["by"] for each in good if each["fate"] == "killed"} == {"tests/test_area.py::test_area"}
    assert sum(each["fate"] == "survived" for each in blind) == 10  # all but a >= 0 and b >= 0
