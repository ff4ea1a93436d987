"""The printed rows against the table typed a second time, as text."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from verification.tasks.published import ROWS, PublishedRow, row

CHECKOUT = Path(__file__).resolve().parents[3]

# name          batch  dt of layers 1, 2, 3       α        N      d    m   L  n_out
TABLE_6 = """
nCIFAR             30  0.126,0.126,0.126          13.0   1000   96  128  3  10
psMNIST-128        64  0.482,0.482,0.482          12.53   784    1  128  3  10
psMNIST-256        32  0.19,0.19,0.19             30.65   784    1  256  3  10
IMDB               32  0.0066,0.205               0       500  100  128  2   1
EigenWorms          8  0.0000281,0.0343           0     17984    6   32  2   5
RR                 32  0.011,0.011,0.011          9      4000    2  128  3   1
HR                 32  0.046,0.046,0.046          10     4000    2  128  3   1
"""
PRINTED = {line.split()[0]: line.split()[1:] for line in TABLE_6.strip().splitlines()}


def decimal(text: str) -> Fraction:
    """The exact value of a printed decimal, by its digits."""
    whole, _, digits = text.partition(".")
    return Fraction(int(whole + digits), 10 ** len(digits))


def test_every_row_of_the_table_is_there_once() -> None:
    assert [r.name for r in ROWS] == list(PRINTED)
    assert len(PRINTED) == 7


@pytest.mark.parametrize("name", PRINTED)
def test_a_row_has_the_printed_values_exactly(name: str) -> None:
    batch, dt, alpha, *counts = PRINTED[name]
    r = row(name)
    assert r.dt == tuple(decimal(d) for d in dt.split(","))
    assert r.alpha == decimal(alpha)
    assert r.batch == int(batch)
    assert [r.steps, r.input_size, r.hidden_size, r.num_layers, r.outputs] == [int(c) for c in counts]
    assert r.kind == ("noise-padded" if name == "nCIFAR" else "images")


def test_what_the_table_does_not_print_is_noted() -> None:
    noted = {r.name: " ".join(r.notes) for r in ROWS if r.notes}
    assert noted == {
        "nCIFAR": "d = 96 inferred",
        "IMDB": "N = 500 chosen n_out = 1 inferred",
        "RR": "m = 128 inferred",
        "HR": "m = 128 inferred",
    }


def test_the_exact_value_is_not_the_nearest_float() -> None:
    """0.1 + 0.2 in floats is the classic; here: dt = 0.126 as printed is 63/500, no binary fraction."""
    assert row("nCIFAR").dt[0] == Fraction(63, 500) != Fraction(0.126)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("psmnist128", "psMNIST-128"), ("ncifar", "nCIFAR"), ("EigenWorm", "EigenWorms"), ("imdb", "IMDB")],
)
def test_an_unknown_row_suggests_the_nearest(typed: str, meant: str) -> None:
    with pytest.raises(LookupError, match=f"no published row '{typed}'. Did you mean '{meant}'"):
        row(typed)


def test_a_name_like_no_row_lists_them_all() -> None:
    with pytest.raises(LookupError, match="Table 6 has: nCIFAR, psMNIST-128") as error:
        row("zzzzzzzzzz")
    assert "Did you mean" not in str(error.value)


def test_a_row_with_too_few_steps_is_refused() -> None:
    with pytest.raises(ValueError, match="1 values of dt for 3 layers"):
        dataclasses.replace(row("RR"), dt=(Fraction(1),))


def test_rows_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        row("RR").steps = 1  # type: ignore[misc]
    assert isinstance(row("RR"), PublishedRow)


def test_the_rows_import_neither_torch_nor_numpy() -> None:
    code = "import sys, verification.tasks.published; print({'torch', 'numpy'} & set(sys.modules) or 'none')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=CHECKOUT
    )
    assert done.stdout.strip() == "none"
