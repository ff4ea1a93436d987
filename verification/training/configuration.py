"""What is trained, how, on what: one TOML file, or the same tables as a mapping.

    [task]       name; every other key is an option of the task's ``load``
    [network]    cell, hidden_size, num_layers; every other key is an argument of the cell's constructor
    [optimizer]  name (adam, adamw, rmsprop, sgd), lr; other keys are arguments of torch's optimizer
    [[optimizer.groups]]   parameters = ["*.V", …] patterns of names, and what these get instead: lr, weight_decay, …
    [training]   epochs, batch_size, clip_norm, milestones = [[epoch, factor], …], seed, …: the fields of ``Training``

Every key is known or refused with its line and the nearest known one.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import itertools
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verification.training import TrainingError

FOLDER = Path(__file__).parent / "configurations"
OPTIMIZERS = ("adam", "adamw", "rmsprop", "sgd")


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task by name and the options of its ``load``."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Network:
    """A cell by name, its sizes, and further arguments of its constructor."""

    cell: str
    hidden_size: int
    num_layers: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Group:
    """What the parameters whose names match a pattern get instead of the optimizer's own options."""

    parameters: tuple[str, ...]
    options: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    name: str
    options: Mapping[str, Any]
    groups: tuple[Group, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Training:
    """How long, in what portions, and what is kept.

    epochs            passes over the training split
    batch_size        sequences a step, over all processes
    evaluation_batch  sequences at once where nothing is learned
    clip_norm         the gradient is scaled down to this 2-norm; None: never
    milestones        (epoch, factor): from the end of that epoch on, all learning rates are multiplied by the factor
    evaluate_every    epochs between evaluations on the validation split
    checkpoint_every  steps between checkpoints; there is one after every evaluation, too
    patience          stop when so many evaluations have brought nothing better; None: never
    seed              of the initial weights, the order of the sequences and the dropout
    dtype             "float32" or "float64"
    deterministic     only algorithms of torch that give the same bits each time
    """

    epochs: int
    batch_size: int
    evaluation_batch: int = 500
    clip_norm: float | None = None
    milestones: tuple[tuple[int, float], ...] = ()
    evaluate_every: int = 1
    checkpoint_every: int = 100
    patience: int | None = None
    seed: int = 0
    dtype: str = "float32"
    deterministic: bool = True


@dataclass(frozen=True, kw_only=True)
class Configuration:
    task: Task
    network: Network
    optimizer: Optimizer
    training: Training

    def to_plain(self) -> dict[str, Any]:
        """The same tables as the file's, every field spelled out: ``from_mapping`` reads them back."""
        training = dataclasses.asdict(self.training)
        return {
            "task": {"name": self.task.name, **self.task.options},
            "network": {
                "cell": self.network.cell, "hidden_size": self.network.hidden_size,
                "num_layers": self.network.num_layers, **self.network.options,
            },
            "optimizer": {
                "name": self.optimizer.name, **self.optimizer.options,
                "groups": [{"parameters": list(g.parameters), **g.options} for g in self.optimizer.groups],
            },
            "training": {name: value for name, value in training.items() if value is not None},
        }  # fmt: skip

    def digest(self) -> str:
        """SHA-256 of all that is fixed here: a run is continued under this and no other."""
        text = json.dumps(self.to_plain(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def replaced(self, **training: Any) -> Configuration:
        """The same with other fields of ``training``, checked again."""
        plain = self.to_plain()
        return from_mapping({**plain, "training": {**plain["training"], **training}})


# --- from a file ------------------------------------------------------------------------------------------------


def names() -> tuple[str, ...]:
    """The configurations that come with the library."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def read(file: str | Path) -> Configuration:
    """The configuration of that file, or of that name in the library's folder.

    Raises TrainingError with the file, the line, and what would be right.
    """
    path = FOLDER / f"{file}.toml" if str(file) in names() else Path(file)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise TrainingError(
            f'Configuration "{file}" cannot be read: {(reason or str(error)).lower()}. Give a file, or one of: '
            f"{', '.join(names())}."
        ) from None
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TrainingError(f'Configuration "{file}" is no TOML: {error}.') from None
    return from_mapping(tables, where=_Places(str(file), text))


class _Places:
    """Where a key stands in the text of a file: for messages."""

    def __init__(self, name: str = "", text: str = "") -> None:
        self._name, self._lines = name, text.splitlines()

    def __call__(self, table: str, key: str | None = None, index: int | None = None) -> str:
        """``"file.toml", line 7`` for the table or its key, as exactly as the text is followed."""
        if not self._name:
            return f"[{table}]" + (f" {key}" if key else "")
        line = self._line(table, key, index)
        return f'"{self._name}"' + (f", line {line}" if line else "") + (f", {key}" if key else "")

    def _line(self, table: str, key: str | None, index: int | None) -> int:
        current, count, found = "", -1, 0
        for number, text in enumerate(self._lines, 1):
            if header := re.match(r"\s*(\[\[?)\s*([\w.\-\"' ]+?)\s*\]", text):
                current = header[2].replace('"', "").replace(" ", "")
                count += header[1] == "[[" and current == table
                if current == table and (index is None or count == index):
                    found = found or number
            elif (
                key
                and current == table
                and (index is None or count == index)
                and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[.=]", text)
            ):
                return number
        return found


def from_mapping(tables: Mapping[str, Any], *, where: _Places | None = None) -> Configuration:
    """The configuration of these tables. Raises TrainingError for the first that is missing, unknown or impossible."""
    place = where or _Places()
    for table in tables:
        _known(place(table), table, ("task", "network", "optimizer", "training"))
    task = dict(_table(tables, "task", place))
    network = dict(_table(tables, "network", place))
    optimizer = dict(_table(tables, "optimizer", place))
    training = dict(_table(tables, "training", place))
    return Configuration(
        task=Task(name=_taken(task, "task", "name", _text, place), options=task),
        network=Network(
            cell=_taken(network, "network", "cell", _text, place),
            hidden_size=_taken(network, "network", "hidden_size", _count, place),
            num_layers=_taken(network, "network", "num_layers", _count, place, default=1),
            options=network,
        ),
        optimizer=_optimizer(optimizer, place),
        training=_training(training, place),
    )


def _table(tables: Mapping[str, Any], name: str, place: _Places) -> Mapping[str, Any]:
    found = tables.get(name)
    if not isinstance(found, Mapping):
        raise TrainingError(
            f"{place(name)}: the table [{name}] is missing. The files in verification/training/configurations show all."
        )
    return found


_REQUIRED = object()


def _taken(
    table: dict[str, Any], name: str, key: str, check: Callable[[Any], str], place: _Places, default: Any = _REQUIRED
) -> Any:
    """The value of a key, which leaves the table; ``check`` says what is wrong with it, "" if nothing."""
    if key not in table:
        if default is _REQUIRED:
            raise TrainingError(f"{place(name)}: {key} is missing in [{name}].")
        return default
    value = table.pop(key)
    if wrong := check(value):
        raise TrainingError(f"{place(name, key)}: is {value!r}; it must be {wrong}.")
    return value


def _known(where: str, key: str, known: Sequence[str]) -> None:
    if key not in known:
        near = difflib.get_close_matches(key, known, n=1)
        advice = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(known)}."
        raise TrainingError(f'{where}: "{key}" means nothing here. {advice}')


def _optimizer(table: dict[str, Any], place: _Places) -> Optimizer:
    name = _taken(table, "optimizer", "name", _one_of(*OPTIMIZERS), place)
    listed = table.pop("groups", [])
    if not isinstance(listed, list) or not all(isinstance(each, Mapping) for each in listed):
        raise TrainingError(f"{place('optimizer', 'groups')}: write each group under its own [[optimizer.groups]].")
    groups = []
    for index, each in enumerate(listed):
        group = dict(each)
        patterns = group.pop("parameters", None)
        if not isinstance(patterns, list) or not patterns or not all(isinstance(p, str) for p in patterns):
            where = place("optimizer.groups", "parameters" if patterns is not None else None, index)
            raise TrainingError(f'{where}: parameters must be patterns of names, such as ["readout.*"].')
        for key, value in group.items():
            _option(place("optimizer.groups", key, index), name, key, value)
        groups.append(Group(parameters=tuple(patterns), options=group))
    for key, value in table.items():
        _option(place("optimizer", key), name, key, value)
    if "lr" not in table:
        raise TrainingError(f"{place('optimizer')}: lr is missing in [optimizer].")
    return Optimizer(name=name, options=table, groups=tuple(groups))


def _option(where: str, optimizer: str, key: str, value: Any) -> None:
    """The values themselves are checked by torch, when the optimizer is made."""
    from verification.training.optimizers import arguments

    _known(where, key, arguments(optimizer))
    numbers = value if isinstance(value, list) else [value]
    if not all(isinstance(each, (int, float)) for each in numbers):
        raise TrainingError(f"{where}: is {value!r}; it must be a number, true or false.")


def _training(table: dict[str, Any], place: _Places) -> Training:
    checks: dict[str, Callable[[Any], str]] = {
        "epochs": _whole, "batch_size": _count, "evaluation_batch": _count, "clip_norm": _positive,
        "milestones": _milestones, "evaluate_every": _count, "checkpoint_every": _count, "patience": _count,
        "seed": _whole, "dtype": _one_of("float32", "float64"), "deterministic": _truth,
    }  # fmt: skip
    for key in table:
        _known(place("training", key), key, tuple(checks))
    values = {
        key: _taken(table, "training", key, check, place)
        for key, check in checks.items()
        if key in table or key in ("epochs", "batch_size")
    }
    if "milestones" in values:
        values["milestones"] = tuple((int(epoch), float(factor)) for epoch, factor in values["milestones"])
    if values.get("clip_norm") is not None:
        values["clip_norm"] = float(values["clip_norm"])
    return Training(**values)


def _is(value: Any, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _text(value: Any) -> str:
    return "" if isinstance(value, str) and value else "a name in quotes"


def _count(value: Any) -> str:
    return "" if _is(value, int) and value >= 1 else "an integer from 1 on"


def _whole(value: Any) -> str:
    return "" if _is(value, int) and 0 <= value < 2**63 else "an integer from 0 on"


def _positive(value: Any) -> str:
    return "" if _is(value, int, float) and 0 < value < float("inf") else "a positive number"


def _truth(value: Any) -> str:
    return "" if isinstance(value, bool) else "true or false"


def _milestones(value: Any) -> str:
    fine = isinstance(value, (list, tuple)) and all(
        isinstance(each, (list, tuple)) and len(each) == 2 and not _count(each[0]) and not _positive(each[1])
        for each in value
    )
    rises = fine and all(a[0] < b[0] for a, b in itertools.pairwise(value))
    return "" if rises else "pairs [epoch, factor] with rising epochs, such as [[250, 0.1]]"


def _one_of(*allowed: str) -> Callable[[Any], str]:
    return lambda value: "" if value in allowed else f"one of {', '.join(allowed)}"
