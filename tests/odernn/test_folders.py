"""Cells and methods in folders outside of the package: found, refused, run anew, and importable in a child process."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from odernn import cells, folders, order, tableaus
from odernn.folders import FolderError

CELL = "from odernn.cells.lem import LEM\n\nclass Mine(LEM):\n    number = 1\n\nCELL = Mine\n"
METHODS = """
from odernn.tableaus import RK4
from odernn.tableaus.tableau import ButcherTableau, Q

MINE = ButcherTableau(name="My Ralston", A=[[0, 0], [Q(2, 3), 0]], b=[Q(1, 4), Q(3, 4)], c=[0, Q(2, 3)])
AGAIN = MINE
"""
TOML = 'name = "my other"\nA = [[0, 0], ["1/2", 0]]\nb = [0, 1]\n'


def written(folder: Path, **texts: str) -> list[Path]:
    """The folder, with these files: ``mine_py`` is mine.py."""
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / ".".join(name.rsplit("_", 1))).write_text(text, encoding="utf-8")
    return [folder]


def test_a_cell_is_one_file_of_any_folder(tmp_path: Path) -> None:
    extra = written(tmp_path / "my cells-é", mine_py=CELL, _shared_py="raise SystemExit", notes_txt="")
    assert set(cells.names(extra)) - set(cells.names()) == {"mine"} and cells.names(extra) == tuple(
        sorted(cells.names(extra))
    )
    kind = cells.get("mine", extra)
    assert kind.__name__ == "Mine" and cells.get("mine", [str(folder) for folder in extra]) is kind
    assert cells.get("lem", extra) is cells.get("lem")
    assert not list((tmp_path / "my cells-é").glob("__pycache__"))
    with pytest.raises(KeyError, match='Did you mean "mine"'):
        cells.get("mines", extra)
    with pytest.raises(KeyError, match='No cell is called "mine"'):
        cells.get("mine")


def test_a_file_that_has_changed_is_run_anew(tmp_path: Path) -> None:
    """At once, and with as many letters: no time stamp would show it."""
    extra = written(tmp_path, mine_py=CELL)
    first = cells.get("mine", extra)
    written(tmp_path, mine_py=CELL.replace("number = 1", "number = 2"))
    second = cells.get("mine", extra)
    assert (vars(first)["number"], vars(second)["number"]) == (1, 2) and cells.get("mine", extra) is second


def name_and_number(pickled: bytes) -> tuple[str, int]:
    cell = pickle.loads(pickled)
    return type(cell).__name__, type(cell).number


@pytest.mark.slow
def test_a_spawned_process_finds_the_file_by_the_name_of_its_module(tmp_path: Path) -> None:
    kind = cells.get("mine", written(tmp_path / "a.b_c", mine_py=CELL))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(name_and_number, (pickle.dumps(kind(2, 3)),)) == ("Mine", 1)


def test_a_child_process_finds_the_file_by_the_name_of_its_module(tmp_path: Path) -> None:
    kind = cells.get("mine", written(tmp_path / "a.b_c", mine_py=CELL))
    assert kind.__module__.isidentifier() or kind.__module__.startswith("odernn.folders._")
    pickled = pickle.dumps(kind(2, 3))
    code = "import pickle, sys; print(type(pickle.loads(sys.stdin.buffer.read())).__module__)"
    done = subprocess.run([sys.executable, "-c", code], input=pickled, capture_output=True, check=True)
    assert done.stdout.decode().strip() == kind.__module__


def test_methods_stand_in_python_json_and_toml(tmp_path: Path) -> None:
    """Under their own names; what a file imports from the catalogue is none of its methods."""
    extra = written(tmp_path, rk_py=METHODS, other_toml=TOML)
    assert set(tableaus.names(extra)) - set(tableaus.names()) == {"my ralston", "my other"}
    assert [method.name.casefold() for method in tableaus.entries(extra)] == list(tableaus.names(extra))
    ralston = tableaus.get("my RALSTON", extra)
    assert order(ralston).value == 2 and Fraction(str(ralston.b[1])) == Fraction(3, 4)
    assert tableaus.get("rk4", extra) is tableaus.RK4 and tableaus.get("gauss 7", extra).stages == 7
    with pytest.raises(KeyError, match='No tableau is called "my ralston"'):
        tableaus.get("my ralston")


HOSTILE: dict[str, tuple[Callable[[list[Path]], object], dict[str, str], str]] = {
    "the name of a cell": (cells.names, {"lem_py": CELL}, r'Cell "lem" in ".*lem\.py": .* by ".*odernn/cells/lem\.py"'),
    "the name of a folder": (cells.names, {"unicornn_py": CELL}, r"is taken by .*odernn/cells/unicornn"),
    "no export": (lambda extra: cells.get("mine", extra), {"mine_py": "x = 1"}, r"mine\.py\" exports no CELL"),
    "an object": (lambda extra: cells.get("mine", extra), {"mine_py": "CELL = 1"}, "that is no class of torch"),
    "broken": (
        lambda extra: cells.get("mine", extra),
        {"mine_py": "def f(:"},
        r'Cell file ".*mine\.py" fails on import: SyntaxError: .*\. Correct the file',
    ),
    "leaves": (lambda extra: cells.get("mine", extra), {"mine_py": "raise SystemExit(0)"}, "import: SystemExit: 0"),
    "the name of an entry": (
        tableaus.names,
        {"mine_toml": TOML.replace("my other", "RK4")},
        r'Tableau "RK4" in ".*mine\.toml": .* by ".*catalogue/explicit\.py"',
    ),
    "a member of a family": (tableaus.names, {"a_toml": TOML.replace("my other", "gauss 9")}, "by the family gauss"),
    "a Nyström method": (tableaus.names, {"a_toml": TOML.replace("my other", "rkn nystroem 4")}, r"nystrom\.py"),
    "twice": (tableaus.names, {"a_toml": TOML, "b_toml": TOML}, r'in ".*b\.toml": .* is taken by ".*a\.toml"'),
    "no method": (tableaus.names, {"a_py": "x = 1"}, r'Tableau file ".*a\.py" has no tableau'),
    "no tableau": (tableaus.names, {"a_json": "[]"}, r"a\.json: the file holds a list.* Correct the file"),
    "rows that do not add up": (
        tableaus.names,
        {"a_py": METHODS.replace("Q(2, 3)], [", "Q(2, 3)], [").replace("c=[0, Q(2, 3)]", "c=[0, 1]")},
        r'Tableau file ".*a\.py" fails on import: ValueError: .*My Ralston',
    ),
}


@pytest.mark.parametrize("asked, texts, message", HOSTILE.values(), ids=HOSTILE)
def test_refusals_are_one_line(
    asked: Callable[[list[Path]], object], texts: dict[str, str], message: str, tmp_path: Path
) -> None:
    extra = written(tmp_path / "mine", **texts)
    with pytest.raises(FolderError, match=message) as refused:
        asked(extra)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("names, kind", [(cells.names, "cell"), (tableaus.names, "tableau")])
def test_a_folder_that_there_is_not(names: Callable[[list[Path]], object], kind: str, tmp_path: Path) -> None:
    with pytest.raises(
        FolderError, match=rf'folder ".*none" does not exist. Give a folder of {kind} files to --{kind}s'
    ):
        names([tmp_path / "none"])


def test_one_stem_in_two_folders_is_refused_and_one_folder_twice_is_not(tmp_path: Path) -> None:
    one, other = written(tmp_path / "one", mine_py=CELL), written(tmp_path / "other", mine_py=CELL)
    assert cells.get("mine", [*one, *one]) is cells.get("mine", one)
    with pytest.raises(FolderError, match=r'in ".*other/mine\.py": the name is taken by ".*one/mine\.py"'):
        cells.names([*one, *other])


def test_the_spelling_of_a_path_can_be_undone(tmp_path: Path) -> None:
    for path in (tmp_path / "a_b.py", tmp_path / "é ü.py", tmp_path / "_2f" / "x-1.py", Path("/")):
        spelling = folders._spelt(path)
        assert spelling.removeprefix("odernn.folders.").isidentifier() and folders._path_of(spelling) == path
