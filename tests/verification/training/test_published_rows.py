"""The configurations of printed rows: all are read, built and counted as the papers count, the small ones stepped."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from odernn.architecture import get, parameter_count
from odernn.published import networks as published
from odernn.published import scornn as published_scornn
from odernn.published import sources as references
from tests.tiers import without
from tests.verification.training.plans import spec
from verification import tasks
from verification.tasks.task import TaskSpec
from verification.training import configuration, listing, loop, network, optimizers, re_signing
from verification.training.configuration import FOLDER, Configuration

SHAPES = {
    "adding": (2, 1, "last", "squared error"),
    "bidmc": (2, 1, "last", "squared error"),
    "copying_memory": (10, 10, "every", "cross entropy"),
    "eigenworms": (6, 5, "last", "cross entropy"),
    "lorenz96": (5, 5, "every", "squared error"),
    "noise_padded_cifar10": (96, 10, "last", "cross entropy"),
    "penn_treebank_characters": (50, 50, "every", "cross entropy"),
    "sequential_digits": (1, 10, "last", "cross entropy"),
    "sequential_mnist": (1, 10, "last", "cross entropy"),
    "spoken_digits": (129, 129, "every", "squared error"),
    "text8_characters": (27, 27, "every", "cross entropy"),
}
"""Of every task: input, output, what is read, loss; ``test_shapes`` holds those without files against the tasks."""

EVERYTHING = {f"{file} {row or ''}".strip(): each for file, row, each in configuration.everything()}


def shape(task: str) -> TaskSpec:
    columns, outputs, reads, loss = SHAPES[task]
    return spec(input_size=columns, output_size=outputs, reads=reads, loss=loss)


@pytest.mark.parametrize("task", ["adding", "copying_memory", "lorenz96", "sequential_digits"])
def test_shapes(task: str) -> None:
    small = {"adding": {"count": 2}, "copying_memory": {"count": 2}, "lorenz96": {"count": 1, "steps": 3}}
    found = tasks.get(task).load("train", **small.get(task, {}))[2]
    assert (found.input_size, found.output_size, found.reads, found.loss) == SHAPES[task]
    assert set(SHAPES) == set(tasks.names())


# --- parameters -------------------------------------------------------------------------------------------------


def counted(found: Configuration) -> int:
    """As the papers count: one bias a gate of an LSTM, where torch has two; n² for a unitary W, of 2 n² numbers."""
    made = network.build(found.network, shape(found.task.name), seed=0, dtype=torch.float32)
    unitary = made.unitary_names()
    total = network.parameter_count(made)
    for name, parameter in made.named_parameters():
        total -= parameter.numel() // 2 if name in unitary else parameter.numel() if "bias_hh" in name else 0
    return total


DISAGREE = {
    "scornn_section51_copying restricted-urnn-470-t1000": 23510,
    "scornn_section51_copying restricted-urnn-470-t2000": 23510,
    "scornn_table1_mnist lstm-256": 266762,
    "scornn_table1_mnist lstm-256-permuted": 266762,
    "scornn_table1_mnist full-urnn-512": 274954,
    "scornn_table1_mnist full-urnn-512-permuted": 274954,
    "scornn_table2_spoken_digits lstm-158": 202527,
    "scornn_table2_spoken_digits restricted-urnn-378": 198957,
    "scornn_table2_spoken_digits full-urnn-192": 136641,
    "scornn_table2_spoken_digits full-urnn-256": 198529,
    "unicornn_table1_psmnist unicornn-256": 136202,
    "unicornn_table1_psmnist unicornn-256-as-code": 136202,
    "unicornn_table1_psmnist lstm-256": 266762,
    "unicornn_table1_psmnist exprnn-512": 136970,
    "unicornn_table1_psmnist indrnn-128": 84874,
    "unicornn_table2_noise_padded_cifar10 lstm-128": 116490,
    "unicornn_table2_noise_padded_cifar10 antisymmetric-256": 60042,
    "unicornn_table2_noise_padded_cifar10 antisymmetric-256-gated": 84874,
    "unicornn_table3_eigenworms indrnn-32": 1509,
}
"""What is built where that does not read as printed; docs/training.md has the reasons that are known."""


def test_parameters_read_as_printed_or_are_known_not_to() -> None:
    printed = {name: each for name, each in EVERYTHING.items() if each.published and each.published.parameters}
    assert len(printed) == 84
    found = {}
    for name, each in printed.items():
        assert each.published is not None
        count = counted(each)
        if not published.agrees(count, each.published.parameters):
            found[name] = count
    assert found == DISAGREE


def test_what_explains_the_others() -> None:
    """The counts under the conventions that docs/training.md names, and two that nothing explains."""
    explained = {
        "full-urnn-192": (136641 - 3 * 192 - 129, 135936, "135k"),
        "restricted-urnn-470": (23510 - 2 * 470, 22570, "22k"),
        "unicornn-256": (136202 - 3 * 256, 135434, "135k"),
        "indrnn-128": (84874 + 2 * 6 * 128, 86410, "86k"),
        "antisymmetric-256": (60042 - 93 * 256, 36234, "36k"),
        "antisymmetric-256-gated": (84874 - 2 * 93 * 256, 37258, "37k"),
        "indrnn-32": (1509 + 2 * 2 * 32, 1637, "1.6k"),
    }
    for name, (count, said, printed) in explained.items():
        assert count == said and published.agrees(count, printed), name
    assert 512 * 511 // 2 == 130816 > 127999 and 4 * 128 * 128 == 65536 > 64999


def test_a_count_is_that_of_a_formula() -> None:
    """Three models by the formulas of the table, typed once more; a second readout would not do."""
    by_name = {name.partition(" ")[2]: each for name, each in EVERYTHING.items() if "scornn_table1" in name}
    n = 170
    assert counted(by_name["scornn-170"]) == n * (n - 1) // 2 + n + 10 * n + n + 10
    n = 128
    assert counted(by_name["lstm-128"]) == 4 * (n * n + n + n) + 10 * n + 10
    n = 116
    assert counted(by_name["full-urnn-116"]) == n * n + 2 * n + 20 * n + 10 + 3 * n
    assert not published.agrees(counted(by_name["scornn-170"]) + 10 * 170, "16k")


def test_sizes_of_equal_parameters() -> None:
    """The sizes that Zhang et al. do not print: no other size comes nearer to the parameters of the printed one."""
    base = {
        "complexity_table1_penn_treebank": {"": ("sh", 1600)},
        "complexity_table1_text8": {
            "tanh-small": ("sh", 512),
            "tanh-large": ("sh", 2048),
            "lstm-small": ("sh", 512),
            "lstm-large": ("sh", 1024),
            "depth": ("(2,1)", 360),
        },
        "complexity_table2_mnist": {"architecture": ("sh", 90)},
    }
    checked = 0
    for name, each in EVERYTHING.items():
        file, _, row = name.partition(" ")
        for prefix, (graph, units) in base.get(file, {}).items():
            if row.startswith(prefix):
                columns, outputs, *_ = SHAPES[each.task.name]
                options = dict(each.network.options)
                own = get(str(options.pop("graph")))
                size = each.network.hidden_size
                wanted = parameter_count(get(graph), units, columns, outputs, **options)
                miss = [abs(parameter_count(own, size + d, columns, outputs, **options) - wanted) for d in (-1, 0, 1)]
                assert miss[1] <= min(miss), name
                checked += 1
    assert checked == 4 + 25 + 16


# --- what is printed --------------------------------------------------------------------------------------------


def test_they_are_all_there() -> None:
    """How many rows of each table; more or fewer are noticed."""
    assert Counter(each.published.table for each in EVERYTHING.values() if each.published) == {
        "icml Table 1": 8,
        "icml Table 2": 9,
        "icml Table 3": 5,
        "icml Table 4": 4,
        "icml Table 7": 10,
        "scornn Table 1": 20,
        "scornn Table 2": 12,
        "scornn Sec. 5.1": 8,
        "scornn Sec. 5.2": 12,
        "complexity Table 1": 29,
        "complexity Table 2": 36,
        "complexity Sec. 4.4": 10,
    }
    for each in EVERYTHING.values():
        if each.published:
            assert each.published.table.partition(" ")[0] in references.PAPERS


def test_the_rows_of_table_6_have_its_numbers() -> None:
    files = {
        "psMNIST-128": "unicornn_table1_psmnist unicornn-128",
        "psMNIST-256": "unicornn_table1_psmnist unicornn-256",
        "nCIFAR": "unicornn_table2_noise_padded_cifar10 unicornn-128",
        "EigenWorms": "unicornn_table3_eigenworms unicornn-32",
        "RR": "unicornn_table4_vital_signs unicornn-rr",
        "HR": "unicornn_table4_vital_signs unicornn-hr",
    }
    assert set(files) == {row.name for row in published.ROWS} - {"IMDB"}
    for row in published.ROWS:
        if row.name in files:
            each = EVERYTHING[files[row.name]]
            plan = each.network
            made = network.build(plan, shape(each.task.name), seed=0, dtype=torch.float32).recurrent
            dt, alpha = made.get_buffer("dt"), made.get_buffer("alpha")
            assert dt.tolist() == [float(value) for value in row.dt] and set(alpha.tolist()) == {float(row.alpha)}
            assert (plan.hidden_size, plan.num_layers) == (row.hidden_size, row.num_layers)
            assert plan.options.get("dropout", 0.0) == plan.readout_dropout == float(row.dropout)
            assert each.training.batch_size == row.batch and each.published is not None
            assert each.published.parameters == (row.parameters or "")


def test_the_rows_of_scornn_are_the_printed_ones() -> None:
    """Model, n and parameters of Tables 1, 2 and Sections 5.1, 5.2; results; ρ is the printed fraction of n."""
    columns = {("Table 1", False): "MNIST", ("Table 1", True): "permuted MNIST"}
    seen = []
    for name, each in EVERYTHING.items():
        if each.published is None or not each.published.table.startswith("scornn"):
            continue
        table = each.published.table.removeprefix("scornn ")
        model, n = re.match(r"(.*), n = (\d+)", each.published.row).groups()  # type: ignore[union-attr]
        printed = published_scornn.row(table, model.replace("Restricted", "restricted").replace("Full", "full"), int(n))
        assert each.network.hidden_size == int(n) and each.published.parameters == printed.parameters, name
        column = columns.get((table, bool(each.task.options.get("permuted"))))
        if column:
            assert each.published.result == f"accuracy {printed.results[column]}"
        elif table == "Table 2":
            both = (printed.results[key] for key in ("validation", "evaluation"))
            assert all(value in each.published.result for value in both)
        if each.network.cell == "scornn":
            length = {"t400": 0.7, "t750": 0.7, "t200": 0.5, "t1000": 0.5, "t2000": 0.5}.get(name.rpartition("-")[2])
            share = length or (0.5 if each.task.options.get("permuted") else 0.1)
            assert each.network.options["rho"] == int(share * int(n) + 0.5), name
        seen += [] if printed in seen else [printed]
    assert len(seen) == len(published_scornn.MNIST) + len(published_scornn.TIMIT) + len(published_scornn.SYNTHETIC)


def test_values_of_ours_are_marked() -> None:
    """Every file says where its values come from."""
    printed = {name.partition(" ")[0] for name, each in EVERYTHING.items() if each.published}
    for file in printed:
        text = (FOLDER / f"{file}.toml").read_text(encoding="utf-8")
        assert text.startswith("# ") and '# Unmarked values are printed. "code": only' in text, file
        assert " # ours" in text or " # code" in text, file


# --- they train -------------------------------------------------------------------------------------------------

SMALL = 150_000


def one_step(found: Configuration) -> None:
    """Forward, backward and one step of the optimizers, on two made sequences of three steps: all stays finite."""
    task = shape(found.task.name)
    model = network.build(found.network, task, seed=0, dtype=torch.float32)
    optimizer = optimizers.make(found.optimizer, list(model.named_parameters()), model.unitary_names())
    re_signing.layers(model, found.training)
    generator = np.random.default_rng(0)
    shown = torch.from_numpy(generator.standard_normal((3, 2, task.input_size), dtype=np.float32))
    lead = (3, 2) if task.reads == "every" else (2,)
    if task.loss == "cross entropy":
        targets = torch.from_numpy(generator.integers(0, task.output_size, lead))
    else:
        columns = (*lead, task.output_size) if task.output_size > 1 else lead
        targets = torch.from_numpy(generator.standard_normal(columns, dtype=np.float32))
    before = {name: value.clone() for name, value in model.named_parameters()}
    network.loss_sum(model.train()(shown), targets, task).backward()
    optimizer.step()
    moved = [name for name, value in model.named_parameters() if not torch.equal(value, before[name])]
    assert all(bool(value.isfinite().all()) for value in model.parameters())
    assert "readout.weight" in moved and any(name.startswith("recurrent.") for name in moved)


@pytest.mark.parametrize("file", without(configuration.names(), "complexity_table1_text8", "complexity_table2_mnist"))
def test_one_step_of_the_small_ones(file: str) -> None:
    for name, each in EVERYTHING.items():
        if name.partition(" ")[0] == file and each.network.hidden_size**2 * each.network.num_layers < SMALL:
            one_step(each)


def test_a_row_trains_by_name(tmp_path: Path) -> None:
    """From the folder to the result, which has what is printed; on fewer and shorter sequences."""
    found = configuration.read("scornn_section52_adding", "full-urnn-120-t200")
    options = dict(found.task.options) | {"steps": 5, "count": 4}
    task = configuration.TaskChoice(name="adding", options=options)
    made = configuration.Configuration(
        task=task,
        network=found.network,
        optimizer=found.optimizer,
        published=found.published,
        training=found.replaced(epochs=1).training,
    )
    loop.train(made, tmp_path / "run")
    result = (tmp_path / "run" / loop.RESULT).read_text(encoding="utf-8")
    assert '"row": "Full uRNN, n = 120, T = 200"' in result and '"parameters": "15k"' in result


def test_every_configuration_is_whole() -> None:
    assert sum(each.published is not None for each in EVERYTHING.values()) == 163
    for name, each in EVERYTHING.items():
        again = configuration.from_mapping(each.to_plain())
        assert again == configuration.Configuration(
            task=each.task, network=each.network, optimizer=each.optimizer, training=each.training
        ), name
        assert again.digest() == each.digest() and set(each.task.options) <= set(tasks.get(each.task.name).options)
    times = Counter(each.digest() for each in EVERYTHING.values())
    twice = {digest for digest, number in times.items() if number > 1}
    same = [name for name, each in EVERYTHING.items() if each.digest() in twice]
    assert same == [  # architecture (1) has no k: the table prints it once for each
        f"complexity_table2_mnist architecture-1-{task}"
        for task in ("mnist-k17", "mnist-k21", "pmnist-k5", "pmnist-k9")
    ]


# --- the lists --------------------------------------------------------------------------------------------------


def test_the_list_has_every_configuration() -> None:
    assert [(file, row) for file, row, *_ in listing.rows()] == [(f, r or "") for f, r, _ in configuration.everything()]
    table = listing.table("eigenworms")
    assert table.title == "5 configurations" and table.columns[0].name == "configuration"
    assert len(table.rows) == 5 and "90.3 ± 3.0%" in str(table.rows[0])
    assert len(listing.markdown().splitlines()) == 2 + 14
