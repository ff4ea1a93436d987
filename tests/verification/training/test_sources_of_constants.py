"""Where every constant of every configuration comes from: a mark behind it, or what the head of its file says.

What is marked "code" is compared with the constants of the authors' code, typed here once more; what is unmarked and
printed with the tables of ``odernn.published`` (``test_published_rows``).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from verification.training import configuration
from verification.training.configuration import FOLDER

SOURCES = ("printed", "code", "ours", "inferred", "repetition")
DEFAULTS = {
    "printed": r'# Unmarked values are printed\. "code": only',
    "ours": r"# Unmarked values are ours\.",
    "scornn_section51_copying": r"# Unmarked values are those of scornn_section51_copying\.",
}
"""Of unmarked values, by what the head of a file says."""


@dataclass(frozen=True)
class Constant:
    """A value of a table or a row, and the first word of its mark; ``source`` of an unmarked one is the file's."""

    file: str
    row: str
    key: str
    value: Any
    source: str


def default(text: str) -> str:
    found = [source for source, pattern in DEFAULTS.items() if re.search(pattern, text)]
    assert len(found) == 1, "the head says where unmarked values come from, once"
    return found[0]


def constants(file: str, text: str) -> Iterator[Constant]:
    """All of a file but what it repeats of the papers ([published]), and the names of task and cell."""
    unmarked, table = default(text), ""
    for line in text.splitlines():
        if found := re.match(r"\[\[?(.+?)\]\]?\s*$", line):
            table = found[1]
        elif re.match(r"[a-z]", line):
            body, _, mark = line.partition(" # ")
            key, value = body.split("=", 1)
            row = table.removeprefix("rows.").strip('"') if table.startswith("rows.") else ""
            name = key.strip() if row else f"{table}.{key.strip()}"
            if not name.startswith("published.") and name not in ("task.name", "network.cell"):
                word = re.match(r"\w*", mark.strip())[0]  # type: ignore[index]
                yield Constant(file, row, name, tomllib.loads(f"v = {value}")["v"], word if mark else unmarked)


def everything() -> list[Constant]:
    return [each for file in configuration.names() for each in constants(file, text_of(file))]


def text_of(file: str) -> str:
    return (FOLDER / f"{file}.toml").read_text(encoding="utf-8")


def test_every_constant_has_a_source() -> None:
    """And the tables of a file hold no more constants than its lines do."""
    found = everything()
    assert {each.source for each in found} == {*SOURCES, "scornn_section51_copying"} and len(found) > 500
    for file in configuration.names():
        tables = tomllib.loads(text_of(file))
        rows = tables.pop("rows", {})
        keys = [f"{name}.{key}" for name, table in tables.items() for key in table]
        keys += [f"{name}.{key}" for row in rows.values() for name, table in row.items() for key in table]
        kept = [key for key in keys if not key.startswith("published.") and key not in ("task.name", "network.cell")]
        names = [each.key for each in found if each.file == file]
        groups = names.count("optimizer.groups.parameters"), names.count("optimizer.groups.lr")
        if groups != (0, 0):  # a table of its own in the file is one key of the mapping
            names = [name for name in names if not name.startswith("optimizer.groups.")] + ["optimizer.groups"]
        assert sorted(names) == sorted(kept), file


RMSPROP = {"alpha": 0.9, "eps": 1e-10}
ORTHOGONAL = ["recurrent.layers.*.free"]


def of_scornn(rows: tuple[str, ...]) -> dict[tuple[str, str], Any]:
    return {(row, "network.signs"): "prefix" for row in rows}


def own(rows: tuple[str, ...], *rates: float) -> dict[tuple[str, str], Any]:
    """A group of the orthogonal matrix with RMSprop, TensorFlow's decay and ε."""
    groups = [{"parameters": ORTHOGONAL, "name": "rmsprop", **RMSPROP, "lr": rate} for rate in rates]
    return {(row, "optimizer.groups"): [group] for row, group in zip(rows, groups, strict=True)}


COPYING, ADDING = ("scornn-190-t1000", "scornn-190-t2000"), ("scornn-170-t200", "scornn-170-t400", "scornn-170-t750")
SPEECH = ("scornn-224", "scornn-322", "scornn-425")
MNIST = tuple(f"scornn-{n}{order}" for n in (170, 360, 512) for order in ("", "-permuted"))
CORNN_ENDS = {"training.epochs": 120, "training.milestones": [[100, 0.1]], "network.damping": "explicit"}
AS_CODE = {"network.readout_init": "kaiming normal", "training.evaluation_batch": 1000}

CODE: dict[str, dict[tuple[str, str], Any]] = {
    "scornn_section51_copying": {
        ("", "optimizer.name"): "rmsprop",
        ("", "optimizer.lr"): 0.001,
        **{("", f"optimizer.{name}"): value for name, value in RMSPROP.items()},
        ("", "training.epochs"): 20,
        ("", "training.batch_size"): 20,
        ("", "training.evaluation_batch"): 100,
        **of_scornn(COPYING),
        **{(row, "optimizer.groups"): [{"parameters": ORTHOGONAL, "lr": 0.0001}] for row in COPYING},
    },
    "scornn_section52_adding": {
        ("", "optimizer.name"): "adam",
        ("", "optimizer.lr"): 0.001,
        ("", "training.epochs"): 10,
        ("", "training.batch_size"): 50,
        **of_scornn(ADDING),
        **own(ADDING, 0.0001, 0.0001, 0.0001),
    },
    "scornn_table1_mnist": {
        **{("", f"optimizer.{name}"): value for name, value in RMSPROP.items()},
        ("", "training.batch_size"): 50,
        **of_scornn(MNIST),
    },
    "scornn_table2_spoken_digits": {**of_scornn(SPEECH), **own(SPEECH, 0.001, 0.0001, 0.0001)},
    "unicornn_table1_psmnist": {  # tk-rusch/unicornn 35b243d and tk-rusch/coRNN afd8174, psMNIST
        ("", "task.permutation"): "unicornn",
        ("", "task.validation"): 3000,
        ("", "optimizer.name"): "adam",
        **{("unicornn-256-as-code", key): value for key, value in AS_CODE.items()},
        **{("cornn-256", key): value for key, value in CORNN_ENDS.items()},
        ("cornn-256", "network.dt"): 0.076,
        ("cornn-256", "network.gamma"): 0.4,
        ("cornn-256", "network.epsilon"): 8.0,
        ("cornn-256", "task.permutation"): "cornn",
        ("cornn-256", "optimizer.lr"): 0.0054,
        ("cornn-256", "training.batch_size"): 120,
    },
    "unicornn_table2_noise_padded_cifar10": {  # the same, noisy_CIFAR10
        ("", "task.noise"): "fixed",
        ("", "optimizer.name"): "adam",
        ("unicornn-128-code", "optimizer.lr"): 0.00314,
        ("unicornn-128-fresh", "optimizer.lr"): 0.00314,
        ("unicornn-128-as-code", "optimizer.lr"): 0.00314,
        ("unicornn-128-as-code", "task.validation"): 2000,
        **{("unicornn-128-as-code", key): value for key, value in AS_CODE.items()},
        **{("cornn-128", key): value for key, value in CORNN_ENDS.items()},
        ("cornn-128", "network.dt"): 0.034,
        ("cornn-128", "network.gamma"): 1.3,
        ("cornn-128", "network.epsilon"): 12.7,
        ("cornn-128", "optimizer.lr"): 0.0075,
        ("cornn-128", "training.batch_size"): 100,
    },
    "unicornn_table3_eigenworms": {("", "optimizer.name"): "adam", ("unicornn-32-code", "optimizer.lr"): 0.0076},
    "unicornn_table4_vital_signs": {
        ("", "task.scale"): "raw",
        ("", "network.hidden_size"): 128,
        ("", "optimizer.name"): "adam",
        ("", "training.evaluation_batch"): 100,
    },
}
"""By file, row and key: what only the authors' code has."""


def of_code(found: list[Constant]) -> dict[str, dict[tuple[str, str], Any]]:
    listed: dict[str, dict[tuple[str, str], Any]] = {}
    for each in found:
        if each.source == "code":
            listed.setdefault(each.file, {})[each.row, each.key] = each.value
    return listed


def test_what_is_marked_code_is_what_the_authors_code_has() -> None:
    assert of_code(everything()) == CODE


def test_what_only_one_text_has_is_not_ours() -> None:
    """The text's uniform noise, and what a public repetition of Lorenz 96 has."""
    others = {(each.row, each.key): each.value for each in everything() if each.source == "repetition"}
    kept = [f"{cell}-f{forcing}-kept" for cell in ("unicornn-90", "lstm-44") for forcing in ("0.9", "8.0")]
    assert others == {(row, "task.transient"): 0.0 for row in kept}
    read = configuration.read("unicornn_table2_noise_padded_cifar10", "unicornn-128")
    assert read.task.options["distribution"] == "uniform"


def test_unmarked_values_of_the_shorter_copying_are_those_of_the_longer() -> None:
    longer = {(each.row.rpartition("-")[0], each.key): each.value for each in everything() if "section51" in each.file}
    for each in constants("copying_shorter", text_of("copying_shorter")):
        if each.source == "scornn_section51_copying":
            assert longer[each.row.rpartition("-")[0], each.key] == each.value, each


@pytest.mark.parametrize(
    ("file", "there", "instead"),
    [
        ("unicornn_table1_psmnist", "optimizer.lr = 0.0054", "optimizer.lr = 0.002"),
        ("unicornn_table1_psmnist", "batch_size = 120      # code", "batch_size = 120      # ours"),
        ("unicornn_table3_eigenworms", "optimizer.lr = 0.0076   # code", "optimizer.lr = 0.0076"),
    ],
)
def test_a_planted_fault_is_seen(file: str, there: str, instead: str) -> None:
    text = text_of(file)
    assert there in text
    assert of_code(list(constants(file, text.replace(there, instead)))) != {file: CODE[file]}
    with pytest.raises(AssertionError, match="where unmarked values come from"):
        default(text.replace("# Unmarked values", "# Values"))
