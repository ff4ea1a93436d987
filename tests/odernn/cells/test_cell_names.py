"""A cell is called by its name or by its class, in any case; one name is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from odernn import cells
from odernn.folders import FolderError

MINE = "from odernn.cells.lem import LEM\n\nclass LeakyUnit(LEM):\n    pass\n\nCELL = LeakyUnit\n"


@pytest.mark.parametrize("name", cells.names())
def test_the_class_is_another_spelling_of_the_name(name: str) -> None:
    kind = cells.get(name)
    for spelling in (name, name.upper(), kind.__name__, kind.__name__.lower(), kind.__name__.swapcase()):
        assert cells.name_of(spelling) == name and cells.get(spelling) is kind, spelling


def test_no_two_cells_are_called_the_same() -> None:
    spellings = [spelling for name in cells.names() for spelling in {name, cells.get(name).__name__.casefold()}]
    assert len(spellings) == len(set(spellings)) >= 22


def test_suggestions_go_by_the_class_too() -> None:
    assert cells.suggest("ScoRNN", 784, hidden_size=64) == cells.suggest("scornn", 784, hidden_size=64) == {"rho": 32}


def test_what_is_no_cell_stays_as_it_is() -> None:
    assert cells.name_of("torch.lstm") == "torch.lstm" and cells.name_of("UnICORN") == "UnICORN"
    with pytest.raises(KeyError, match=r'No cell is called "UnICORN"\. Did you mean "unicornn"\?'):
        cells.get("UnICORN")


def test_a_cell_of_ones_own_goes_by_its_stem_and_its_class(tmp_path: Path) -> None:
    tmp_path.joinpath("leaky.py").write_text(MINE, "utf-8")
    for spelling in ("leaky", "Leaky", "LeakyUnit", "leakyunit"):
        assert cells.name_of(spelling, [tmp_path]) == "leaky"
        assert cells.get(spelling, [tmp_path]).__name__ == "LeakyUnit"
        assert cells.file_of(spelling, [tmp_path]) == tmp_path / "leaky.py"
    assert cells.name_of("LeakyUnit") == "LeakyUnit"
    tmp_path.joinpath("other.py").write_text(MINE, "utf-8")  # two of one class: only the stems tell them apart
    assert cells.name_of("LeakyUnit", [tmp_path]) == "LeakyUnit" and cells.name_of("Other", [tmp_path]) == "other"


@pytest.mark.parametrize("stem", ["CoRNN", "LipschitzRNN", "lipschitzrnn", "Lem"])
def test_no_file_takes_a_spelling_of_the_package(tmp_path: Path, stem: str) -> None:
    tmp_path.joinpath(f"{stem}.py").write_text(MINE, "utf-8")
    with pytest.raises(FolderError, match=f'Cell "{stem}" in .*: the name is taken by the cell "[a-z]+", whatever'):
        cells.names([tmp_path])
