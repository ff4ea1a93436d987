"""The transcription of the scoRNN tables: sums by hand, agreement with the networks that the library builds."""

from __future__ import annotations

from fractions import Fraction

import pytest

from odernn.published import scornn as printed
from odernn.published.networks import networks

SUMS = {
    ("Table 1", "MNIST"): Fraction("9.783"), ("Table 1", "permuted MNIST"): Fraction("9.410"),
    ("Table 2", "validation"): Fraction("161.32"), ("Table 2", "evaluation"): Fraction("156.29"),
    ("Table 3", "minutes"): Fraction("169.5"),
}  # fmt: skip
"""Added up by hand, column by column."""
SIZES = {"Table 1": 5248, "Table 2": 2701, "Table 3": 6596, "Sec. 5.1": 856, "Sec. 5.2": 1300}
"""Hidden units, added up by hand."""


@pytest.mark.parametrize(("table", "column"), SUMS)
def test_the_columns_add_up(table: str, column: str) -> None:
    assert sum(each.value(column) for each in printed.MODELS if each.table == table) == SUMS[table, column]


def test_the_hidden_sizes_add_up() -> None:
    for table, total in SIZES.items():
        assert sum(each.hidden_size for each in printed.MODELS if each.table == table) == total
    assert {each.table for each in printed.MODELS} == set(SIZES)
    assert len(printed.MODELS) == 44


def test_the_rows_agree_with_the_networks_that_can_be_built() -> None:
    """published.NETWORKS has the scoRNN and LSTM rows of the same paper, typed apart."""
    cells = {"scoRNN": "scornn", "LSTM": "lstm"}
    sizes = {
        (cell, each.hidden_size, each.input_size, each.outputs): each.parameters
        for cell in cells.values()
        for each in networks(cell)
        if "scornn" in each.table
    }
    tried = 0
    for each in printed.MODELS:
        if each.model in cells and each.table != "Table 3":
            tried += 1
            key = (cells[each.model], each.hidden_size, each.input_size, each.outputs)
            assert sizes[key] == each.parameters
    assert tried == 16


def test_a_row_that_is_not_printed_is_named_with_those_that_are() -> None:
    assert printed.row("Table 3", "RNN", 116).value("minutes") == Fraction("2.3")
    with pytest.raises(LookupError, match="Table 1: scoRNN, n = 170"):
        printed.row("Table 1", "GRU", 128)
