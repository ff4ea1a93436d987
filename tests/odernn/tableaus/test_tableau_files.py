"""A user's file gives the tableau it says, or a message with the file, the key, the row and the cause."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from odernn import tableaus
from odernn.published.sources import Source
from odernn.tableaus.files import read, write
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau, Q
from tests.tiers import slow

GOOD = {"A": [[0, 0], ["1/2", 0]], "b": [0, 1]}
ENTRIES = tableaus.names()


def saved(folder: Path, document: object, name: str = "mine.json") -> Path:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


def test_the_catalogue_is_large_enough_to_be_a_test():
    assert len(ENTRIES) >= 50


@pytest.mark.parametrize("every_so_many", [6, slow(1)])
@pytest.mark.parametrize("ending", ["json", "toml"])
def test_every_entry_comes_back_equal(tmp_path: Path, ending: str, every_so_many: int):
    count, entries = 0, list(ENTRIES)[::every_so_many]
    for name in entries:
        entry = tableaus.get(name)
        tableau = entry.tableau if isinstance(entry, Composition) else entry
        path = tmp_path / f"entry.{ending}"
        write(tableau, path)
        assert read(path) == tableau, name
        count += 1
    assert count == len(entries)


def test_what_is_written_is_plain_json_and_toml(tmp_path: Path):
    write(tableaus.GAUSS_2, tmp_path / "g.json")
    write(tableaus.STOERMER_VERLET, tmp_path / "v.toml")
    assert json.loads((tmp_path / "g.json").read_text("utf-8"))["A"][0] == ["1/4", "1/4 - 1/6*sqrt(3)"]
    assert tomllib.loads((tmp_path / "v.toml").read_text("utf-8"))["momentum"]["A"] == [["1/2", 0], ["1/2", 0]]


def test_exact_text_rationals_and_integers_are_exact(tmp_path: Path):
    text = """
        source = "butcher2016, p. 102"
        order = 3
        A = [["1/2+sqrt(3)/6", 0], ["-sqrt(3)/3", "1/2+sqrt(3)/6"]]
        b = ["0.5", "1/2"]
        c = ["(3+sqrt(3))/6", "(3-sqrt(3))/6"]
    """
    tableau = read(saved(tmp_path, text, "my method.toml"))
    assert isinstance(tableau, ButcherTableau) and tableau.A == tableaus.CROUZEIX_2.A and tableau.is_exact
    assert tableau.name == "my method" and tableau.source == Source("butcher2016", "p. 102") and tableau.order == 3


def test_floats_are_doubles_and_come_back_as_such(tmp_path: Path):
    tableau = read(saved(tmp_path, {"A": [[0, 0], [1 / 3, 0]], "b": [0.25, "3/4"], "c": [0, 1 / 3]}))
    assert isinstance(tableau, ButcherTableau) and tableau.is_float and tableau.A[1][0] != Q(1, 3)
    write(tableau, tmp_path / "again.json")
    again = read(tmp_path / "again.json")
    assert again.is_float and again.A == tableau.A and again.b == tableau.b


def test_embedded_weights_and_digits(tmp_path: Path):
    tableau = read(
        saved(tmp_path, {**GOOD, "b_hat": [1, 0], "order": 2, "order_hat": 1, "digits": 4, "c": [0, "0.5001"]})
    )
    assert isinstance(tableau, ButcherTableau) and tableau.embedded is not None
    assert (tableau.embedded.b, tableau.embedded.order, tableau.digits) == ((1, 0), 1, 4)


def test_a_partitioned_method(tmp_path: Path):
    euler = {"A": [[0]], "b": [1]}
    pair = read(saved(tmp_path, {"name": "p", "order": 1, "position": euler, "momentum": {"A": [[1]], "b": [1]}}))
    assert isinstance(pair, PartitionedTableau) and pair.momentum.A == ((1,),) and pair.position.A == ((0,),)


REFUSED = [
    ({**GOOD, "A": [[0, 0], ["1/2"]]}, r'mine\.json: Tableau "mine": row 2 of A has 1 entries but b has 2'),
    ({**GOOD, "A": [[0, 0], ["1/2", 0], [0, 0]]}, "A has 3 rows but b has 2"),
    ({**GOOD, "b": [1]}, "b has 1 entry but A is 2 × 2; b must have 2"),
    ({**GOOD, "A": [[0, 0], ["half", 0]]}, r"row 2 of A, a₂₁ is 'half', which is not an exact number: 'half' has no"),
    ({**GOOD, "A": [[0, 0], ["1/0", 0]]}, "row 2 of A, a₂₁ is '1/0', which is not an exact number: it divides by zero"),
    ({**GOOD, "A": [[0, 0], [None, 0]]}, "row 2 of A, a₂₁ is None of type NoneType"),
    ({**GOOD, "A": [[0, 0], [True, 0]]}, "row 2 of A, a₂₁ is True of type bool"),
    ({**GOOD, "A": [[0, 0], "00"]}, "row 2 of A is '00', which is not a list of numbers"),
    ({**GOOD, "A": 3}, "A is 3, which is not a list of numbers"),
    ({**GOOD, "b": {"1": 1}}, "b is .*, which is not a list of numbers"),
    ({**GOOD, "c": [0, 1]}, "row 2 of A sums to 1/2 but c₂ = 1. Correct the entry"),
    ({**GOOD, "b_hat": [1]}, "b̂ has 1 entries but b has 2"),
    ({**GOOD, "order": "2"}, r'the key "order" holds \'2\', not one of the integers'),
    ({**GOOD, "order": -1}, 'the key "order" holds -1'),
    ({**GOOD, "digits": True}, 'the key "digits" holds True'),
    ({**GOOD, "name": 7}, 'the key "name" holds 7, not a text'),
    ({**GOOD, "source": ["a"]}, 'the key "source" holds'),
    ({**GOOD, "bhat": [1, 0]}, 'the key "bhat" is not known. Did you mean "b_hat"'),
    ({"A": [[0]]}, 'the key "b" is missing'),
    ({}, 'the key "A" is missing'),
    ([GOOD], "the file holds a list, not a table"),
    ({"position": GOOD}, 'the key "momentum" is missing'),
    ({"position": GOOD, "momentum": 1}, 'the key "momentum" holds 1, not a table'),
    ({"position": GOOD, "momentum": {**GOOD, "b_hat": [0, 1]}}, 'in "momentum", the key "b_hat" is not known'),
    ({"position": GOOD, "momentum": GOOD, "A": [[0]]}, 'the key "A" is not known'),
    ({"position": GOOD, "momentum": {"A": [[0]], "b": [1]}}, "position has 2 stages but momentum has 1"),
    ('{"A": [[0]], "b": [1], "b": [2]}', "the key 'b' is given twice"),
    ('{"A": [[NaN]], "b": [1]}', "row 1 of A, a₁₁ is nan, which is not a finite number"),
    ('{"A": [[1e999]], "b": [1]}', "row 1 of A, a₁₁ is inf, which is not a finite number"),
    ('{"A": [[0]], "b": [1]', r"it is not valid JSON: .* \(line 1, column 22\)"),
    ("", r"line 1, column 1\)"),
    ('{"A":' + "[" * 100_000, "nested too deeply"),
]


@pytest.mark.parametrize(("document", "message"), REFUSED)
def test_a_bad_file_is_refused_with_the_cause(tmp_path: Path, document: object, message: str):
    path = saved(tmp_path, document)
    with pytest.raises(ValueError, match=message) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A = [[nan]]\nb = [1]", "row 1 of A, a₁₁ is nan, which is not a finite number"),
        ("A = [[0]]\nb = [1]\nb = [2]", "not valid TOML: .*overwrite"),
        ("A = [[0]]\nb = [1979-05-27]", "b₁ is .* of type date"),
        ("A = [[0]]\nb = 1]", "line 2"),
    ],
)
def test_a_bad_toml_file_is_refused_with_the_cause(tmp_path: Path, text: str, message: str):
    with pytest.raises(ValueError, match=message):
        read(saved(tmp_path, text, "mine.toml"))


def test_other_endings_and_missing_files_are_said(tmp_path: Path):
    with pytest.raises(ValueError, match=r"the ending '\.yaml' is not known"):
        read(saved(tmp_path, GOOD, "mine.yaml"))
    with pytest.raises(ValueError, match=r"the ending '\.txt' is not known"):
        write(tableaus.RK4, tmp_path / "mine.txt")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes('{"name": "Störmer"}'.encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.json: it is not a text file"):
        read(tmp_path / "latin.json")


def test_names_with_any_character_survive(tmp_path: Path):
    tableau = ButcherTableau([[0]], [1], name='a "b" \\ \n \x7f 𝒲 ü')
    for ending in ("json", "toml"):
        write(tableau, tmp_path / f"x.{ending}")
        assert read(tmp_path / f"x.{ending}").name == tableau.name
