"""The printed results: sums by hand, agreement with sizes typed apart, and what is nearest to a network."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from odernn import published, published_results, published_scornn
from odernn.published_results import RESULTS, PrintedResult, figure_of, nearest, results

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
    from odernn.references import PAPERS

    assert {each.source.split()[0] for each in RESULTS} == {"icml", "scornn", "complexity"} <= set(PAPERS)
    places = {each.source for each in RESULTS}
    assert places == {*SUMS, "scornn Sec. 5.1", "scornn Sec. 5.2", "complexity Table 1 left"}


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
            task="t", options={}, model="m", cell=None, hidden_size=1, num_layers=1, parameters=None,
            figure=figure, value=value, deviation=deviation, source="icml Table 1",  # type: ignore[arg-type]
        ).text  # fmt: skip

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
    assert len(results("sequential_mnist", {"permuted": True})) == 8 + 2 + 11
    assert len(results("sequential_mnist", {"permuted": False})) == 11
    assert len(results("lorenz96", {"forcing": 0.9})) == 3 and results("lorenz96", {"forcing": 1.0}) == ()
    assert [each.text for each in results("bidmc", {"target": "RR"})][-1] == "1.06 ± 0.03"
    assert len(results("sequential_mnist")) == 32 and results("imdb") == ()


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

    code = "import odernn.published_results, sys; print('torch' in sys.modules)"
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
            results(plan.task.name, options), cell=plan.network.cell, network=plan.network.options,
            hidden_size=plan.network.hidden_size, num_layers=plan.network.num_layers,
        )  # fmt: skip
        values = [each.value for each in near if each.source == stated.table]
        shown = re.findall(r"\d[\d.e-]*", stated.result)  # "accuracy 90.3 ± 3.0%": the mean is the first number
        assert any(value and value.removesuffix("%") == shown[0] for value in values), (name, row, stated, values)
        compared += 1
    assert compared >= 40
