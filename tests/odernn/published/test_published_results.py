"""The printed results: sums by hand, agreement with sizes typed apart, and what is nearest to a network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

import pytest

from odernn.published import networks as published
from odernn.published import results as published_results
from odernn.published import scornn as published_scornn
from odernn.published.results import RESULTS, PrintedResult, figure_of, nearest, results

SUMS = {
    "icml Table 1": (8, "7.703", 1920, 22),
    "icml Table 2": (8, "3.921", 1408, 10),
    "icml Table 3": (7, "4.716", 256, 8),
    "icml Table 4": (12, "30.08", 0, 18),
    "icml Table 7": (6, "0.538", 396, 8),
    "icml Table 8": (3, "2.574", 512, 9),
    "scornn Table 1": (22, "21.102", 11264, 22),
}
"""By place: how many rows; their values, sizes m and layers L, each added up by hand."""


def total(values: list[int | None]) -> int:
    return sum(value or 0 for value in values)


@pytest.mark.parametrize("source", SUMS)
def test_the_tables_add_up(source: str) -> None:
    count, values, sizes, layers = SUMS[source]
    found = [each for each in RESULTS if each.source == source]
    assert len(found) == count
    assert sum(each.number or 0 for each in found) == Fraction(values)
    assert total([each.hidden_size for each in found]) == sizes
    assert total([each.num_layers for each in found]) == layers


COMPLEXITY = {
    "complexity Table 1 left": (20, "338.59", 5696),
    "complexity Table 2": (36, "43460.1", 1384),
    "complexity Table 2, previous results": (10, "4303.1", 0),
    "complexity Sec. 4.4": (4, "1.5746", 2472),
}
"""Rows, sum of value times number of the row, sum of the sizes that are printed: 1600 + 2 · 512 + 2048 + 1024 for the
four architectures called sh; 4 · 90 + 16 · 64; 2 · 724 + 2 · 512.
"""


@pytest.mark.parametrize("source", COMPLEXITY)
def test_the_numbers_of_zhang_et_al(source: str) -> None:
    count, values, sizes = COMPLEXITY[source]
    found = [each for each in RESULTS if each.source == source]
    assert len(found) == count and total([each.hidden_size for each in found]) == sizes
    weighted = sum(n * Fraction((each.value or "").removesuffix("%")) for n, each in enumerate(found, 1))
    assert weighted == Fraction(values)


def test_graph_networks_are_told_apart_by_graph_and_unit() -> None:
    """An LSTM in a graph is not beside the tanh network's number; tanh is what a graph has if nothing is said."""

    def found(task: str, m: int, options: Mapping[str, object], **network: object) -> list[str]:
        near = nearest(results(task, options), cell="graph", network=network, hidden_size=m, num_layers=1)
        return [f"{each.model}: {each.text}" for each in near]

    pixels = {"permuted": True}
    assert found("sequential_mnist", 64, pixels, graph="skip-5") == ["tanh RNN, s = 5: 84.3%"]
    lstm = {"graph": "skip-5", "unit": "multidimensional-lstm"}
    assert found("sequential_mnist", 64, pixels, **lstm) == ["LSTM, s = 5: 62.2%"]
    assert found("sequential_mnist", 64, pixels, graph="skip-5", unit="lstm") == []
    assert found("sequential_mnist", 46, {"permuted": False}, graph="4.5(3)-21") == ["tanh RNN, (3), k = 21: 69.6%"]
    assert found("copying_memory", 512, {"silence": 200}, graph="skip-40") == ["RNN, s = 40: 0.0975"]
    (one,) = [each for each in results("copying_memory", {"silence": 300}) if each.model == "RNN, s = 1"]
    assert (one.hidden_size, one.network["graph"], one.text) == (724, "sh", "0.2025")
    assert found("text8_characters", 2000, {}, graph="sh") == ["tanh RNN-large, sh: 1.69"]
    assert found("text8_characters", 512, {}, graph="sh", unit="multidimensional-lstm") == ["LSTM-small, sh: 1.65"]


WEIGHTED = {
    "icml Table 1": ("3495.1", 4884, 7680),
    "icml Table 2": ("1953.1", 1726, 6400),
    "icml Table 3": ("1990.5", 165, 1024),
    "icml Table 4": ("209.98", 0, 0),
    "icml Table 7": ("2.748", 189, 1478),
    "icml Table 8": ("478.6", 446, 1024),
    "scornn Table 1": ("240.124", 46284, 140604),
}
"""By place: sums of value (in percent), parameters (in thousands) and m, each times its row's number, counted from 1.

Two rows that are exchanged keep a plain sum. Made from a transcript of the papers by a script that reads no code here.
"""


@pytest.mark.parametrize("source", WEIGHTED)
def test_no_two_numbers_of_a_table_are_exchanged(source: str) -> None:
    values, parameters, sizes = WEIGHTED[source]
    found = list(enumerate((each for each in RESULTS if each.source == source), 1))
    assert sum(n * Fraction((each.value or "").removesuffix("%")) for n, each in found) == Fraction(values)
    thousands = [(n, (each.parameters or "0").replace(",", "").removesuffix("k")) for n, each in found]
    assert sum(n * Fraction(text) for n, text in thousands) == parameters
    assert sum(n * (each.hidden_size or 0) for n, each in found) == sizes


def test_deviations_add_up() -> None:
    """Tables 3, 4 and 8, added up by hand: percent, the unit of the rate, percent."""
    sums: dict[str, Fraction] = {}
    for each in RESULTS:
        if each.deviation is not None:
            assert each.runs in (5, 10)
            sums[each.source] = sums.get(each.source, Fraction(0)) + Fraction(each.deviation.removesuffix("%"))
    assert sums == {
        "icml Table 3": Fraction("42.1"),
        "icml Table 4": Fraction("3.87"),
        "icml Table 8": Fraction("0.83"),
    }


def test_every_result_is_of_a_place_with_a_paper() -> None:
    from odernn.published.sources import PAPERS

    assert {each.source.split()[0] for each in RESULTS} == {"icml", "scornn", "complexity"} <= set(PAPERS)
    places = {each.source for each in RESULTS}
    assert places == {*SUMS, "scornn Sec. 5.1", "scornn Sec. 5.2", *COMPLEXITY}


def test_sizes_and_counts_agree_with_the_networks_typed_apart() -> None:
    """published.NETWORKS and ROWS have sizes and parameter counts of the same tables, from which cells are built."""
    cells = {
        "unicornn": "unicornn",
        "cornn": "cornn",
        "torch.lstm": "lstm",
        "torch.gru": "gru",
        "antisymmetric": "antisymmetric",
    }
    known = {(each.cell, each.hidden_size, each.num_layers, each.parameters) for each in published.NETWORKS}
    known |= {("unicornn", row.hidden_size, row.num_layers, row.parameters or "") for row in published.ROWS}
    compared = 0
    for each in RESULTS:
        if each.source.startswith("icml") and each.cell in cells and each.parameters and each.hidden_size:
            assert (cells[each.cell], each.hidden_size, each.num_layers, each.parameters) in known, each
            compared += 1
    assert compared == 21


def test_texts() -> None:
    def text(value: str | None, figure: str, deviation: str | None = None) -> str:
        return PrintedResult(
            task="t",
            options={},
            model="m",
            cell=None,
            hidden_size=1,
            num_layers=1,
            parameters=None,
            figure=figure,
            value=value,
            deviation=deviation,
            source="icml Table 1",  # type: ignore[arg-type]
        ).text

    assert text("92.9%", "accuracy") == "92.9%"
    assert text("0.920", "accuracy") == "92.0%"
    assert text("90.3%", "accuracy", "3.0%") == "90.3 ± 3.0%"
    assert text("10.7", "root", "2.0") == "10.7 ± 2.0"
    assert text("2.0e-2", "normalised root") == "2.0e-2"
    assert text(None, "loss") == "no number printed"


def test_values_are_shares_not_percentages() -> None:
    for each in RESULTS:
        if each.figure == "accuracy":
            assert each.number is not None and 0 < each.number < 1


def test_variants_of_a_task_are_told_apart() -> None:
    assert len(results("sequential_mnist", {"permuted": True})) == 8 + 2 + 11 + (5 + 5 + 8 + 5)
    assert len(results("sequential_mnist", {"permuted": False})) == 11 + (5 + 5 + 8 + 5)
    assert len(results("lorenz96", {"forcing": 0.9})) == 3 and results("lorenz96", {"forcing": 1.0}) == ()
    assert [each.text for each in results("bidmc", {"target": "RR"})][-1] == "1.06 ± 0.03"
    assert len(results("sequential_mnist")) == 32 + 46 and results("imdb") == ()


def test_the_figure_of_a_task_is_one_and_that_of_the_task() -> None:
    from verification import tasks

    for task in {each.task for each in RESULTS}:
        assert len({each.figure for each in results(task)}) == 1
        assert task in tasks.names()
    offline = {"adding": {"steps": 5}, "copying_memory": {"silence": 5}, "lorenz96": {"steps": 5}}
    for task, options in offline.items():
        spec = tasks.get(task).load("test", count=2, **options)[2]
        assert figure_of(task) == spec.published_as
    assert figure_of("sequential_digits") is None


def test_the_nearest_row() -> None:
    among = results("sequential_mnist", {"permuted": True})

    def found(cell: str, m: int, layers: int, **network: object) -> list[tuple[str, int | None]]:
        near = nearest(among, cell=cell, network=network, hidden_size=m, num_layers=layers)
        return [(each.text, each.hidden_size) for each in near]

    assert found("unicornn", 128, 3) == [("97.8%", 128), ("97.7 ± 0.09%", 128)]
    assert found("unicornn", 250, 3) == [("98.4%", 256), ("98.2 ± 0.22%", 256)]
    assert found("torch.lstm", 256, 1) == [("92.9%", 256), ("92.9%", 256)]
    assert found("urnn", 512, 1, capacity="full") == [("94.7%", 512)]
    assert found("urnn", 512, 1, capacity="restricted") == [("94.5%", 512)]
    assert found("lem", 128, 1) == []
    vital = nearest(results("bidmc", {"target": "HR"}), cell="unicornn", network={}, hidden_size=64, num_layers=3)
    assert [each.text for each in vital] == ["1.39 ± 0.09"]  # no size is printed


def test_a_size_that_is_not_printed_is_as_far_away_as_can_be() -> None:
    def made(m: int | None, layers: int, value: str | None) -> PrintedResult:
        return PrintedResult(
            task="t",
            options={},
            model="m",
            cell="lem",
            hidden_size=m,
            num_layers=layers,
            parameters=None,
            figure="loss",
            value=value,
            source="icml Table 1",
        )

    unknown, curve, far, near = made(None, 1, "0.1"), made(64, 2, None), made(64, 1, "0.3"), made(64, 2, "0.4")

    def found(*among: PrintedResult, num_layers: int = 2) -> list[PrintedResult]:
        return list(nearest(among, cell="lem", network={}, hidden_size=100, num_layers=num_layers))

    assert found(unknown, far) == [far] and found(unknown) == [unknown]
    assert found(unknown, curve, far, near) == [near, curve]  # layers decide among equal m; curves come last
    assert found(far, near, num_layers=1) == [far]


def test_gated_and_plain_are_two_models() -> None:
    among = results("noise_padded_cifar10", {})
    for gated, text in ((True, "54.7%"), (False, "48.3%")):
        (near,) = nearest(among, cell="antisymmetric", network={"gated": gated}, hidden_size=256, num_layers=1)
        assert near.text == text
    (default,) = nearest(among, cell="antisymmetric", network={}, hidden_size=256, num_layers=1)
    assert default.text == "48.3%"


def test_the_rows_of_the_scornn_paper_are_not_typed_twice() -> None:
    for each in published_scornn.MNIST:
        values = {
            r.value
            for r in RESULTS
            if r.source == "scornn Table 1" and (r.model, r.hidden_size) == (each.model, each.hidden_size)
        }
        assert values == set(each.results.values())


def test_light_import() -> None:
    """No torch: what is printed is text."""
    import subprocess
    import sys

    code = "import odernn.published.results, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert published_results.PROTOCOLS.keys() <= {each.task for each in RESULTS}


def test_the_configurations_state_the_same_results() -> None:
    """verification/training/configurations has them as text once more, typed apart."""
    from verification import tasks
    from verification.training import configuration

    compared = 0
    for name, row, plan in configuration.everything():
        stated = plan.published
        if stated is None or not stated.result or stated.table not in SUMS:
            continue
        options = {**tasks.get(plan.task.name).options, **plan.task.options}
        near = nearest(
            results(plan.task.name, options),
            cell=plan.network.cell,
            network=plan.network.options,
            hidden_size=plan.network.hidden_size,
            num_layers=plan.network.num_layers,
        )
        values = [each.value for each in near if each.source == stated.table]
        shown = re.findall(r"\d[\d.e-]*", stated.result)  # "accuracy 90.3 ± 3.0%": the mean is the first number
        assert any(value and value.removesuffix("%") == shown[0] for value in values), (name, row, stated, values)
        compared += 1
    assert compared >= 40
