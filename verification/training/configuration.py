"""What is trained, how, on what: one TOML file, or the same tables as a mapping.

    [task]       name, standardise; every other key is an option of the task's ``load``
    [network]    cell, hidden_size, num_layers, readout_dropout, readout_init; other keys are arguments of the cell.
                 cell = "CoRNN", the class, is the same as "cornn": the name is kept, and is what the digest is of
    [optimizer]  name (adam, adamw, rmsprop, sgd, multiplicative_cayley), lr; other keys are arguments of that optimizer
    [[optimizer.groups]]   parameters = ["*.V", …] patterns of names, and what these get instead: lr, weight_decay, …,
                 or with a name another optimizer, of which the options of [optimizer] are not
    [training]   epochs, batch_size, clip_norm, milestones = [[epoch, factor], …], seed, …: the fields of ``Training``
    [published]  table, row, parameters, result: what a paper prints of it. Nothing depends on it
    [rows.NAME]  the same tables once more, by dotted keys (``network.hidden_size = 170``): what that row of a printed
                 table has instead. A file with rows is several configurations, and the row must be named

Every key is known or refused with its line and the nearest known one.
"""

from __future__ import annotations

import dataclasses
import datetime
import difflib
import hashlib
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from odernn import foreign
from odernn.cells import name_of as cell_name
from odernn.foreign import ForeignError
from verification.training import SettingError, TrainingError
from verification.training.optimizer_classes import OPTIMIZERS, arguments
from verification.training.places import ROWS, KeyPlace, Places

FOLDER = Path(__file__).parent / "configurations"
TABLES = ("task", "network", "optimizer", "training", "published")
READOUT_INITS = ("uniform", "kaiming normal")


@dataclass(frozen=True, kw_only=True)
class TaskChoice:
    """A task by name and the options of its ``load``.

    standardise  whether the network sees each input with mean 0 and deviation 1 on the training split
    folders      where it may be found beside the package
    """

    name: str
    standardise: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    folders: tuple[Path, ...] = field(default=(), compare=False)


@dataclass(frozen=True, kw_only=True)
class Network:
    """A cell by name, its sizes, and further arguments of its constructor.

    readout_dropout  probability, in training, on what the readout sees of the last layer: one mask a sequence
    readout_init     of the readout: "uniform" is torch's own, with its bias; "kaiming normal" has a zero bias
    folders          where the cell may be found beside the package
    """

    cell: str
    hidden_size: int
    num_layers: int = 1
    readout_dropout: float = 0.0
    readout_init: str = READOUT_INITS[0]
    options: Mapping[str, Any] = field(default_factory=dict)
    folders: tuple[Path, ...] = field(default=(), compare=False)


@dataclass(frozen=True, kw_only=True)
class ParameterGroup:
    """What the parameters whose names match a pattern get instead of the optimizer's own options.

    name  of another optimizer; None: that of all
    """

    parameters: tuple[str, ...]
    options: Mapping[str, Any]
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    name: str
    options: Mapping[str, Any]
    groups: tuple[ParameterGroup, ...] = ()


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
    re_sign_every     epochs between changes of the signs of a scaled Cayley weight (``resigning``); None: never
    re_sign_tau       then max |a_ij| is brought to this; None: the cell's own bound, 1 and roundings
    re_sign_moments   what happens to the optimizer's memory: "transform", which it is unless given, or "reset"
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
    re_sign_every: int | None = None
    re_sign_tau: float | None = None
    re_sign_moments: str | None = None
    seed: int = 0
    dtype: str = "float32"
    deterministic: bool = True


@dataclass(frozen=True, kw_only=True)
class AsPrinted:
    """What is printed, as text.

    table       key of ``odernn.published.sources`` and place, such as "scornn Table 1"
    row         of that table
    parameters  "16k"
    result      with its unit, "accuracy 0.943"; "" where none is printed
    """

    table: str
    row: str
    parameters: str = ""
    result: str = ""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """``published`` is no part of what is trained: neither the digest nor a run's configuration has it.

    places  where the settings stand in their file, for messages (``located``)
    """

    task: TaskChoice
    network: Network
    optimizer: Optimizer
    training: Training
    published: AsPrinted | None = None
    places: Places = field(default_factory=Places, compare=False, repr=False)

    def located(self, error: SettingError) -> TrainingError:
        """The same error with file and line in place of the name of the table, where there is a file."""
        if not self.places.name:
            return error
        return TrainingError(f"{self.places(error.table, error.key, error.index)}: {error.what}")

    def to_plain(self) -> dict[str, Any]:
        """The same tables as the file's, every field spelled out: ``from_mapping`` reads them back."""
        training, drop = dataclasses.asdict(self.training), self.network.readout_dropout
        init = self.network.readout_init
        return {
            "task": {
                "name": self.task.name,
                **({"standardise": True} if self.task.standardise else {}),
                **self.task.options,
            },
            "network": {
                "cell": self.network.cell,
                "hidden_size": self.network.hidden_size,
                "num_layers": self.network.num_layers,
                **({"readout_dropout": drop} if drop else {}),
                **({"readout_init": init} if init != READOUT_INITS[0] else {}),
                **self.network.options,
            },
            "optimizer": {
                "name": self.optimizer.name,
                **self.optimizer.options,
                "groups": [
                    {"parameters": list(group.parameters), **({"name": group.name} if group.name else {})}
                    | dict(group.options)
                    for group in self.optimizer.groups
                ],
            },
            "training": {name: value for name, value in training.items() if value is not None},
        }

    def digest(self) -> str:
        """SHA-256 of all that is fixed here: a run is continued under this and no other."""
        text = json.dumps(self.to_plain(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def replaced(self, **training: Any) -> Configuration:
        """The same with other fields of ``training``, checked again."""
        plain = self.to_plain()
        changed = from_mapping({**plain, "training": {**plain["training"], **training}})
        changed = changed.found_in(cells=self.network.folders, tasks=self.task.folders)
        return dataclasses.replace(changed, published=self.published, places=self.places)

    def found_in(self, *, cells: Iterable[Path] = (), tasks: Iterable[Path] = ()) -> Configuration:
        """The same, but its cell and its task may be those of files in these folders, too. FolderError for others."""
        folders = tuple(cells)
        cell = cell_name(self.network.cell, folders)
        return dataclasses.replace(
            self,
            network=dataclasses.replace(self.network, cell=cell, folders=folders),
            task=dataclasses.replace(self.task, folders=tuple(tasks)),
        )


# --- from a file ------------------------------------------------------------------------------------------------


def names() -> tuple[str, ...]:
    """The configurations that come with the library."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def rows(file: str | Path) -> tuple[str, ...]:
    """The rows of that file, in its order; () for a file that is one configuration. Raises as ``read``."""
    listed = _parsed(file)[0].get(ROWS, {})
    return tuple(listed) if isinstance(listed, Mapping) else ()


def everything() -> Iterator[tuple[str, str | None, Configuration]]:
    """Every configuration that comes with the library: file, row (None where there are none), and what is read."""
    for name in names():
        tables, text = _parsed(name)
        for row in tables.get(ROWS) or (None,):
            yield name, row, _chosen(name, row, dict(tables), text)


def read(file: str | Path, row: str | None = None) -> Configuration:
    """The configuration of that file, or of that name in the library's folder; of the row, if the file has rows.

    Raises TrainingError with the file, the line, and what would be right.
    """
    try:
        return _chosen(file, row, *_parsed(file))
    except TrainingError as error:
        raise TrainingError(foreign.short(str(error))) from None


def _chosen(file: str | Path, row: str | None, tables: dict[str, Any], text: str) -> Configuration:
    """The tables of a file, with what its row has instead."""
    place = Places(str(file), text, row)
    listed = tables.pop(ROWS, {})
    if not isinstance(listed, Mapping) or not all(isinstance(table, Mapping) for table in listed.values()):
        raise TrainingError(f"{place(ROWS)}: write each row under its own [{ROWS}.NAME].")
    if row is None and listed:
        raise TrainingError(f'Configuration "{file}" has {len(listed)} rows. Name one with --row: {", ".join(listed)}.')
    if row is not None and row not in listed:
        near = difflib.get_close_matches(row, listed, n=1)
        advice = f'Did you mean "{near[0]}"?' if near else f"It has: {', '.join(listed) or 'none; leave --row out'}."
        raise TrainingError(f'Configuration "{file}" has no row "{row}". {advice}')
    for name, value in (listed[row] if row is not None else {}).items():
        where = place(f"{ROWS}.{row}", name)
        _known(where, name, TABLES)
        if not isinstance(value, Mapping):
            raise TrainingError(f"{where}: is {value!r}; it must be a table, as in {name}.KEY = ….")
        tables[name] = {**tables.get(name, {}), **value}
    return from_mapping(tables, where=place)


def _parsed(file: str | Path) -> tuple[dict[str, Any], str]:
    """The tables of a file, and its text."""
    path = FOLDER / f"{file}.toml" if str(file) in names() else Path(file)
    try:
        text = foreign.text_of(path, typed=True)
    except (OSError, ForeignError) as error:
        raise TrainingError(
            f'Configuration "{file}" cannot be read: {foreign.said(error)}. Give a file, or one of: '
            f"{', '.join(names())}."
        ) from None
    try:
        return foreign.parsed_toml(text), text
    except ForeignError as error:
        raise TrainingError(f'Configuration "{file}": {error}. Correct that line.') from None


def from_mapping(tables: Mapping[str, Any], *, where: Places | None = None) -> Configuration:
    """The configuration of these tables. Raises TrainingError for the first that is missing, unknown or impossible."""
    place = where or Places()
    for table in tables:
        _known(place(table), table, TABLES)
    task = dict(_table(tables, "task", place))
    network = dict(_table(tables, "network", place))
    optimizer = dict(_table(tables, "optimizer", place))
    training = dict(_table(tables, "training", place))
    return Configuration(
        task=TaskChoice(
            name=_taken(task, "task", "name", _text, place),
            standardise=_taken(task, "task", "standardise", _truth, place, default=False),
            options=_plain_options(task, "task", place),
        ),
        network=Network(
            cell=cell_name(_taken(network, "network", "cell", _text, place)),
            hidden_size=_taken(network, "network", "hidden_size", _count, place),
            num_layers=_taken(network, "network", "num_layers", _count, place, default=1),
            readout_dropout=float(_taken(network, "network", "readout_dropout", _probability, place, default=0.0)),
            readout_init=_taken(
                network, "network", "readout_init", _one_of(*READOUT_INITS), place, default=READOUT_INITS[0]
            ),
            options=_plain_options(network, "network", place),
        ),
        optimizer=_optimizer(optimizer, place),
        training=_training(training, place),
        published=_published(dict(_table(tables, "published", place)), place) if "published" in tables else None,
        places=place,
    )


def _table(tables: Mapping[str, Any], name: str, place: Places) -> Mapping[str, Any]:
    table = tables.get(name)
    if not isinstance(table, Mapping):
        raise TrainingError(
            f"{place(name)}: the table [{name}] is missing. The files in verification/training/configurations show all."
        )
    return table


def _plain_options(table: dict[str, Any], name: str, place: Places) -> dict[str, Any]:
    """What the task or the cell takes: anything but TOML's dates and times, which a record of the run cannot hold."""
    for key, value in table.items():
        if _has_time(value):
            raise TrainingError(f"{place(name, key)}: holds a date or a time; write a number or a text.")
    return table


def _has_time(value: Any) -> bool:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return isinstance(value, (datetime.date, datetime.time)) or any(map(_has_time, inner))


_REQUIRED = object()


def _taken(
    table: dict[str, Any], name: str, key: str, check: Callable[[Any], str], place: Places, default: Any = _REQUIRED
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


def _known(where: KeyPlace, key: str, known: Sequence[str]) -> None:
    if key not in known:
        near = difflib.get_close_matches(key, known, n=1)
        advice = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(known)}."
        raise TrainingError(f'{where}: "{key}" means nothing here. {advice}')


def _optimizer(table: dict[str, Any], place: Places) -> Optimizer:
    name = _taken(table, "optimizer", "name", _one_of(*OPTIMIZERS), place)
    listed = table.pop("groups", [])
    if not isinstance(listed, list) or not all(isinstance(group, Mapping) for group in listed):
        raise TrainingError(f"{place('optimizer', 'groups')}: write each group under its own [[optimizer.groups]].")
    groups = [_group(dict(group), index, name, place) for index, group in enumerate(listed)]
    for key, value in table.items():
        _option(place("optimizer", key), name, key, value)
    if "lr" not in table:
        raise TrainingError(f"{place('optimizer')}: lr is missing in [optimizer].")
    return Optimizer(name=name, options=table, groups=tuple(groups))


def _group(group: dict[str, Any], index: int, optimizer: str, place: Places) -> ParameterGroup:
    patterns, own = group.pop("parameters", None), group.pop("name", None)
    if not isinstance(patterns, list) or not patterns or not all(isinstance(p, str) for p in patterns):
        where = place("optimizer.groups", "parameters" if patterns is not None else None, index)
        raise TrainingError(f'{where}: parameters must be patterns of names, such as ["readout.*"].')
    if own is not None and (wrong := _one_of(*OPTIMIZERS)(own)):
        raise TrainingError(f"{place('optimizer.groups', 'name', index)}: is {own!r}; it must be {wrong}.")
    for key, value in group.items():
        _option(place("optimizer.groups", key, index), own or optimizer, key, value)
    if own is not None and "lr" not in group:
        raise TrainingError(f"{place('optimizer.groups', None, index)}: lr is missing; {own} has none of [optimizer].")
    return ParameterGroup(parameters=tuple(patterns), options=group, name=own)


def _option(where: KeyPlace, optimizer: str, key: str, value: Any) -> None:
    """A value of the kind of the default; its range is checked by torch, when the optimizer is made."""
    defaults = arguments(optimizer)
    _known(where, key, tuple(defaults))
    default = defaults[key]
    if isinstance(default, bool):
        wrong = _truth(value)
    elif isinstance(default, tuple):
        fits = isinstance(value, (list, tuple)) and len(value) == len(default) and not any(map(_finite, value))
        wrong = "" if fits else f"{len(default)} numbers, such as {list(default)}"
    else:
        wrong = _finite(value)
    if wrong:
        raise TrainingError(f"{where}: is {value!r}; it must be {wrong}.")


def _training(table: dict[str, Any], place: Places) -> Training:
    checks: dict[str, Callable[[Any], str]] = {
        "epochs": _whole,
        "batch_size": _count,
        "evaluation_batch": _count,
        "clip_norm": _positive,
        "milestones": _milestones,
        "evaluate_every": _count,
        "checkpoint_every": _count,
        "patience": _count,
        "seed": _whole,
        "dtype": _one_of("float32", "float64"),
        "deterministic": _truth,
        "re_sign_every": _count,
        "re_sign_tau": _at_least_one,
        "re_sign_moments": _one_of("transform", "reset"),
    }
    for key in table:
        _known(place("training", key), key, tuple(checks))
    values = {
        key: _taken(table, "training", key, check, place)
        for key, check in checks.items()
        if key in table or key in ("epochs", "batch_size")
    }
    if "milestones" in values:
        values["milestones"] = tuple((int(epoch), float(factor)) for epoch, factor in values["milestones"])
    for key in ("clip_norm", "re_sign_tau"):
        if values.get(key) is not None:
            values[key] = float(values[key])
    for key in ("re_sign_tau", "re_sign_moments"):
        if key in values and "re_sign_every" not in values:
            raise TrainingError(f"{place('training', key)}: means nothing without re_sign_every. Set that, too.")
    return Training(**values)


def _published(table: dict[str, Any], place: Places) -> AsPrinted:
    fields = tuple(declared.name for declared in dataclasses.fields(AsPrinted))
    for key in table:
        _known(place("published", key), key, fields)
    return AsPrinted(
        **{key: _taken(table, "published", key, _text, place) for key in fields if key in table or key in fields[:2]}
    )


def _is(value: Any, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _text(value: Any) -> str:
    return "" if isinstance(value, str) and value else "a name in quotes"


def _count(value: Any) -> str:
    return "" if _is(value, int) and value >= 1 else "an integer from 1 on"


def _whole(value: Any) -> str:
    return "" if _is(value, int) and 0 <= value < 2**63 else "an integer from 0 on"


def _positive(value: Any) -> str:
    return "" if _is(value, int, float) and 0 < value <= sys.float_info.max else "a positive number"


def _finite(value: Any) -> str:
    return "" if _is(value, int, float) and abs(value) <= sys.float_info.max else "a finite number"


def _at_least_one(value: Any) -> str:
    return "" if _is(value, int, float) and 1 <= value <= sys.float_info.max else "a number from 1 on"


def _probability(value: Any) -> str:
    return "" if _is(value, int, float) and 0 <= value < 1 else "a probability below 1"


def _truth(value: Any) -> str:
    return "" if isinstance(value, bool) else "true or false"


def _milestones(value: Any) -> str:
    fine = isinstance(value, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and not _count(pair[0]) and not _positive(pair[1])
        for pair in value
    )
    rises = fine and all(a[0] < b[0] for a, b in itertools.pairwise(value))
    return "" if rises else "pairs [epoch, factor] with rising epochs, such as [[250, 0.1]]"


def _one_of(*allowed: str) -> Callable[[Any], str]:
    return lambda value: "" if value in allowed else f"one of {', '.join(allowed)}"
