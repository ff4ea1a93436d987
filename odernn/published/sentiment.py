"""What Rusch & Mishra 2021 print of networks on IMDB (icml and sam Table 5), as text.

    >>> ACCURACY.value("UnICORNN"), PARAMETERS.value("coRNN")
    (Fraction(442, 5), Fraction(46, 1))

All networks have 128 units; all numbers but those of UnICORNN are quoted there from other papers.
"""

from __future__ import annotations

from typing import Final

from odernn.published.complexity import PrintedRow

_TABLE: Final = """
    LSTM       86.8  220
    skip LSTM  86.6  220
    GRU        85.2   99
    ReLU GRU   84.8   99
    skip GRU   86.6  165
    coRNN      87.4   46
    UnICORNN   88.4   30
"""
_LINES: Final = [line.rsplit(maxsplit=2) for line in _TABLE.strip().splitlines()]

ACCURACY: Final = PrintedRow("Table 5", "IMDB, accuracy", {name.strip(): value for name, value, _ in _LINES})
"""Test accuracy in %."""
PARAMETERS: Final = PrintedRow("Table 5", "IMDB, parameters", {name.strip(): count for name, _, count in _LINES})
"""Thousands of parameters, without the embedding."""
