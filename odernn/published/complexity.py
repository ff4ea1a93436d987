"""The numbers that Zhang et al. 2016 print on their experiments, as text: Tables 1 and 2, Section 4.4.

    >>> row("Table 1 left", "text8, tanh RNN-large").value("td")
    Fraction(159, 100)

Sizes of inputs and outputs that are not printed are those of the tasks: ten categories in the copying memory (eight
symbols, blank, marker), value and marker in the adding problem, one pixel and ten digits in MNIST.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final


@dataclass(frozen=True)
class PrintedRow:
    """One row of a table: numbers as printed, by the heading of their column."""

    table: str
    name: str
    numbers: Mapping[str, str]

    def value(self, column: str) -> Fraction:
        """The number in that column, exactly. KeyError if there is none."""
        return Fraction(self.numbers[column])


def half_a_digit(printed: str) -> Fraction:
    """Half a unit of the last printed digit: what rounding may have changed.

    >>> half_a_digit("0.2409")
    Fraction(1, 20000)
    """
    return Fraction(1, 2 * 10 ** len(printed.partition(".")[2]))


def _rows(table: str, text: str) -> Iterator[PrintedRow]:
    """Lines "name | number number …" under a first line of headings."""
    headings, *lines = text.strip().splitlines()
    columns = headings.partition("|")[2].split()
    for line in lines:
        name, _, numbers = line.partition("|")
        yield PrintedRow(table, name.strip(), dict(zip(columns, numbers.split(), strict=True)))


def _ladders(table: str, text: str) -> Iterator[PrintedRow]:
    """Lines "name | s: number, s: number, …"."""
    for line in text.strip().splitlines():
        name, _, pairs = line.partition("|")
        numbers = dict(pair.split(": ") for pair in pairs.strip().split(", "))
        yield PrintedRow(table, name.strip(), numbers)


STRUCTURES: Final = tuple(
    _rows(
        "Table 1 left",
        """
        bits per character        | sh    st    bu    td
        PennTreebank, tanh RNN    | 1.54  1.59  1.54  1.49
        text8, tanh RNN-small     | 1.80  1.82  1.80  1.77
        text8, tanh RNN-large     | 1.69  1.67  1.64  1.59
        text8, LSTM-small         | 1.65  1.66  1.65  1.63
        text8, LSTM-large         | 1.52  1.53  1.52  1.49
        """,
    )
)
"""Test BPC of the four architectures of Section 4.2."""

DEPTHS: Final = tuple(
    _rows(
        "Table 1 right",
        """
        bits per character | (2,1) (2,2) (2,3) (3,1) (3,2) (3,3) (4,1) (4,2) (4,3)
        text8, tanh RNN    | 1.88  1.86  1.86  1.86  1.84  1.86  1.85  1.86  1.88
        """,
    )
)
"""Test BPC by (d_f,d_r), Section 4.3."""

LADDERS: Final = tuple(
    _ladders(
        "Table 2, by s",
        """
        tanh RNN, MNIST   | 1: 34.9, 5: 46.9, 9: 74.9, 13: 85.4, 21: 87.8
        tanh RNN, pMNIST  | 1: 49.8, 3: 79.1, 5: 84.3, 7: 88.9, 9: 88.0
        LSTM, MNIST       | 1: 56.2, 3: 87.2, 5: 86.4, 7: 86.4, 9: 84.8
        LSTM, pMNIST      | 1: 28.5, 3: 25.0, 4: 60.8, 5: 62.2, 6: 65.9
        """,
    )
)
"""Test accuracy in % by recurrent skip coefficient s, Section 4.4; 90 units for s = 1 and 64 for s > 1."""

ARCHITECTURES: Final = tuple(
    _rows(
        "Table 2, by architecture",
        """
        accuracy in %  | (1)   (2)   (3)   (4)
        MNIST, k = 17  | 39.5  39.4  54.2  77.8
        MNIST, k = 21  | 39.5  39.9  69.6  71.8
        pMNIST, k = 5  | 55.5  66.6  74.7  81.2
        pMNIST, k = 9  | 55.5  71.1  78.6  86.9
        """,
    )
)
"""Test accuracy in % of the architectures (1)–(4) of Section 4.5."""

PREVIOUS: Final = tuple(
    _rows(
        "Table 2, previous results",
        """
        accuracy in %  | iRNN  uRNN  LSTM  RNN   stanh
        MNIST          | 97.0  95.1  98.2  35.0  98.1
        pMNIST         | 82.0  91.4  88.0  35.0  94.0
        """,
    )
)
"""Test accuracy in %. stanh is the authors' tanh RNN of 95 units with s = 21 and 11; 82.0 and 35.0 are "about"."""

COPYING: Final = tuple(
    _ladders(
        "Section 4.4",
        """
        copying memory, T = 200  | 1: 0.2409, 40: 0.0975
        copying memory, T = 300  | 1: 0.2025, 30: 0.1328
        """,
    )
)
"""Cross entropy by s."""

CITED: Final = (
    PrintedRow("Section 4.2", "PennTreebank", {"td, tanh RNN": "1.49", "cited, stabilised": "1.48"}),
    PrintedRow("Section 4.2", "text8", {"td, LSTM-large": "1.49", "cited, multiplicative": "1.54"}),
)
"""Test BPC of td beside what is cited there of others."""

ROWS: Final = (*STRUCTURES, *DEPTHS, *LADDERS, *ARCHITECTURES, *PREVIOUS, *COPYING, *CITED)


def row(table: str, name: str) -> PrintedRow:
    """The row of that table and name. Raises LookupError, with the rows that there are."""
    for printed in ROWS:
        if (printed.table, printed.name) == (table, name):
            return printed
    known = "; ".join(f"{printed.table}: {printed.name}" for printed in ROWS)
    raise LookupError(f"Zhang et al. 2016 print no row {name!r} in {table!r}. There are: {known}.")


@dataclass(frozen=True)
class EqualSizes:
    """Two networks said to have "roughly the same number of parameters": s = 1, and s = k > 1 by longer connections.

    units, skip_units   of the one and of the other
    """

    task: str
    unit: str
    units: int
    skip_units: int
    input_size: int
    outputs: int


EQUAL_SIZES: Final = (
    EqualSizes("copying memory", "tanh", 724, 512, 10, 10),
    EqualSizes("adding problem", "LSTM", 128, 90, 2, 1),
    EqualSizes("sequential MNIST", "tanh", 90, 64, 1, 10),
    EqualSizes("sequential MNIST", "LSTM", 90, 64, 1, 10),
)
"""Section 4.4: the pairs of sizes that are printed."""
