"""The numbers that Helfrich, Willmott, Ye 2018 (scoRNN) print on their experiments, as text: Tables 1 to 3, Sec. 5.

    >>> row("Table 1", "scoRNN", 512).value("permuted MNIST")
    Fraction(483, 500)

Sizes of inputs and outputs that are not printed are those of the tasks: one pixel and ten digits (Tables 1 and 3), 129
log-magnitudes in and out (Table 2), ten symbols in and nine out (copying, where the marker is never asked for: so has
the published code), value and marker to one number (adding).
Architectures quoted from other papers (EURNN, oRNN) stand apart, in QUOTED: their equations are not in this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final


@dataclass(frozen=True)
class PrintedModel:
    """One row of a table: a model of n hidden units, its number of parameters and its results, all as printed."""

    table: str
    model: str
    hidden_size: int
    input_size: int
    outputs: int
    parameters: str
    results: Mapping[str, str]

    @property
    def name(self) -> str:
        """ "scoRNN, n = 512"."""
        return f"{self.model}, n = {self.hidden_size}"

    def value(self, column: str) -> Fraction:
        """The result of that column, exactly. KeyError if there is none."""
        return Fraction(self.results[column])


def _models(table: str, input_size: int, outputs: int, text: str) -> Iterator[PrintedModel]:
    """Lines "model | n | M | results …" under a first line of headings "… | … | … | column | column …"."""
    headings, *lines = (line.split("|") for line in text.strip().splitlines())
    columns = [column.strip() for column in headings[3:]]
    for line in lines:
        model, n, parameters, *results = (cell.strip() for cell in line)
        named = dict(zip(columns, results, strict=True))
        yield PrintedModel(table, model, int(n), input_size, outputs, parameters, named)


MNIST: Final = tuple(
    _models(
        "Table 1",
        1,
        10,
        """
        model           |    n | M      | MNIST | permuted MNIST
        scoRNN          |  170 | 16k    | 0.973 | 0.943
        scoRNN          |  360 | 69k    | 0.983 | 0.962
        scoRNN          |  512 | 137k   | 0.985 | 0.966
        LSTM            |  128 | 68k    | 0.987 | 0.920
        LSTM            |  256 | 270k   | 0.989 | 0.929
        LSTM            |  512 | 1,058k | 0.985 | 0.920
        restricted uRNN |  512 | 16k    | 0.976 | 0.945
        restricted uRNN | 2170 | 69k    | 0.984 | 0.953
        full uRNN       |  116 | 16k    | 0.947 | 0.925
        full uRNN       |  512 | 270k   | 0.974 | 0.947
        """,
    )
)
"""Test accuracy, pixel by pixel."""

QUOTED: Final = (
    PrintedModel("Table 1", "EURNN", 512, 1, 10, "9k", {"permuted MNIST": "0.937"}),
    PrintedModel("Table 1", "oRNN", 256, 1, 10, "11k", {"MNIST": "0.972"}),
)
"""Of Table 1, with asterisks: accuracies from Jing et al. 2016 and Mhammedi et al. 2017."""

TIMIT: Final = tuple(
    _models(
        "Table 2",
        129,
        129,
        """
        model           |   n | M    | validation | evaluation
        scoRNN          | 224 | 83k  |  9.26      |  8.50
        scoRNN          | 322 | 135k |  8.48      |  7.82
        scoRNN          | 425 | 200k |  7.97      |  7.36
        LSTM            |  84 | 83k  | 15.42      | 14.30
        LSTM            | 120 | 135k | 13.93      | 12.95
        LSTM            | 158 | 200k | 13.66      | 12.62
        restricted uRNN | 158 | 83k  | 15.57      | 18.51
        restricted uRNN | 256 | 135k | 15.90      | 15.31
        restricted uRNN | 378 | 200k | 16.00      | 15.15
        full uRNN       | 128 | 83k  | 15.07      | 14.58
        full uRNN       | 192 | 135k | 15.10      | 14.50
        full uRNN       | 256 | 200k | 14.96      | 14.69
        """,
    )
)
"""Mean squared error of the next frame."""

MINUTES: Final = tuple(
    _models(
        "Table 3",
        1,
        10,
        """
        model           |    n | M      | minutes
        RNN             |  116 | 16k    |  2.3
        scoRNN          |  170 | 16k    |  5.3
        restricted uRNN |  512 | 16k    |  8.2
        full uRNN       |  116 | 16k    | 10.8
        LSTM            |  128 | 68k    |  5.0
        scoRNN          |  360 | 69k    |  7.4
        restricted uRNN | 2170 | 69k    | 50.1
        RNN             |  360 | 137k   |  2.3
        scoRNN          |  512 | 137k   | 11.2
        full uRNN       |  360 | 137k   | 25.8
        RNN             |  512 | 270k   |  2.4
        LSTM            |  256 | 270k   |  5.2
        full uRNN       |  512 | 270k   | 27.9
        LSTM            |  512 | 1,058k |  5.6
        """,
    )
)
"""Minutes per epoch, unpermuted MNIST."""

SYNTHETIC: Final = (
    *_models(
        "Sec. 5.1",
        10,
        9,
        """
        model           |   n | M
        scoRNN          | 190 | 22k
        LSTM            |  68 | 22k
        restricted uRNN | 470 | 22k
        full uRNN       | 128 | 22k
        """,
    ),
    *_models(
        "Sec. 5.2",
        2,
        1,
        """
        model           |   n | M
        scoRNN          | 170 | 15k
        LSTM            |  60 | 15k
        restricted uRNN | 950 | 15k
        full uRNN       | 120 | 15k
        """,
    ),
)
"""Copying and adding, with "about 22k" and "about 15k" parameters each; no results are printed as numbers."""

MODELS: Final = (*MNIST, *TIMIT, *MINUTES, *SYNTHETIC)


def row(table: str, model: str, hidden_size: int) -> PrintedModel:
    """The row of that table, model and size. Raises LookupError, with the rows that there are."""
    for printed in MODELS:
        if (printed.table, printed.model, printed.hidden_size) == (table, model, hidden_size):
            return printed
    known = "; ".join(f"{printed.table}: {printed.name}" for printed in MODELS)
    raise LookupError(
        f"Helfrich et al. 2018 print no row {model!r}, n = {hidden_size} in {table!r}. There are: {known}."
    )
