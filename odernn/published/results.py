"""What the papers print as results on the tasks: test figures by task and model, as text, with table and row.

    >>> row = results("sequential_mnist", {"permuted": True})[0]
    >>> row.model, row.value, row.source, row.number
    ('LSTM', '92.9%', 'icml Table 1', Fraction(929, 1000))

The tables of Rusch & Mishra 2021 are typed here, those of Helfrich, Willmott, Ye 2018 are those of
``odernn.published.scornn`` with the two rows that it leaves out, quoted there from other papers, and those of Zhang et
al. 2016 are those of ``odernn.published.complexity``. Missing are the IMDB table, which has no task in this library,
TIMIT, which cannot be had freely, and of figures the curves of models that are quoted from other papers (EURNN, oRNN).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from odernn.published import complexity as published_complexity
from odernn.published import scornn as published_scornn
from odernn.published.complexity import PrintedRow

Figure: TypeAlias = Literal["accuracy", "root", "normalised root", "loss", "bits"]
"""Share of correct classes, √ of the mean squared error, that over the deviation, the loss itself, bits a character."""


@dataclass(frozen=True, kw_only=True)
class PrintedResult:
    """One number of a table: a model on a task.

    task, options  of ``odernn train``: the options are those that make it this task and no other
    model          as printed; ``cell`` and ``network`` are what builds it here, None and {} where nothing does
    hidden_size    m, and num_layers L: None where they are not printed
    parameters     as printed, "35k"
    figure         what ``value`` is; None for a value where only a curve is printed
    deviation      as printed after ±, over ``runs`` trainings
    source         key of ``odernn.published.sources`` and place
    """

    task: str
    options: Mapping[str, Any] = field(hash=False)
    model: str
    cell: str | None
    network: Mapping[str, Any] = field(default_factory=dict, hash=False)
    hidden_size: int | None
    num_layers: int | None
    parameters: str | None
    figure: Figure
    value: str | None
    deviation: str | None = None
    runs: int | None = None
    source: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))
        object.__setattr__(self, "network", MappingProxyType(dict(self.network)))

    @property
    def number(self) -> Fraction | None:
        """The value, exactly; a percentage as a share."""
        return None if self.value is None else _number(self.value)

    @property
    def text(self) -> str:
        """ "90.3 ± 3.0%", "97.3%" where 0.973 is printed as an accuracy, "0.022", "no number printed"."""
        if self.value is None:
            return "no number printed"
        value, deviation = self.value, (self.deviation or "").removesuffix("%")
        unit = "%" if self.figure == "accuracy" else ""
        if unit and not value.endswith("%"):
            value = f"{float(100 * _number(value)):.{max(0, len(value.partition('.')[2]) - 2)}f}"
        return f"{value.removesuffix('%')} ± {deviation}{unit}" if deviation else f"{value.removesuffix('%')}{unit}"


def _number(text: str) -> Fraction:
    return Fraction(text.removesuffix("%")) / (100 if text.endswith("%") else 1)


CELLS: Final[Mapping[str, tuple[str | None, Mapping[str, Any]]]] = {
    "UnICORNN": ("unicornn", {}),
    "coRNN": ("cornn", {}),
    "LSTM": ("torch.lstm", {}),
    "GRU": ("torch.gru", {}),
    "expRNN": ("exprnn", {}),
    "IndRNN": ("indrnn", {}),
    "Lipschitz RNN": ("lipschitz", {}),
    "anti.sym. RNN": ("antisymmetric", {"gated": False}),
    "gated anti.sym. RNN": ("antisymmetric", {"gated": True}),
    "scoRNN": ("scornn", {}),
    "restricted uRNN": ("urnn", {"capacity": "restricted"}),
    "full uRNN": ("urnn", {"capacity": "full"}),
}
"""By the printed name of the model; those that are not here cannot be built."""

MNIST, PERMUTED_MNIST = {"permuted": False}, {"permuted": True}


def _lines(text: str) -> Iterator[list[str | None]]:
    """Lines of cells between bars; "-" is None."""
    for line in text.strip().splitlines():
        yield [None if cell.strip() == "-" else cell.strip() for cell in line.split("|")]


def _count(text: str | None) -> int | None:
    return None if text is None else int(text)


def _table(
    source: str, task: str, options: Mapping[str, Any], figure: Figure, text: str, runs: int | None = None
) -> Iterator[PrintedResult]:
    """Lines "model | value [+- deviation] | m | L | M"."""
    for model, value, m, layers, parameters in _lines(text):
        assert model is not None
        mean, _, deviation = (value or "").partition(" +- ")
        cell, network = CELLS.get(model, (None, {}))
        yield PrintedResult(
            task=task,
            options=options,
            model=model,
            cell=cell,
            network=network,
            hidden_size=_count(m),
            num_layers=_count(layers),
            parameters=parameters,
            figure=figure,
            value=mean or None,
            deviation=deviation or None,
            runs=runs,
            source=source,
        )


def _unicornn_paper() -> Iterator[PrintedResult]:
    """Rusch & Mishra 2021, the same in both versions of the paper but for Table 7 of the ICML version."""
    yield from _table(
        "icml Table 1",
        "sequential_mnist",
        PERMUTED_MNIST,
        "accuracy",
        """
        LSTM         | 92.9% | 256 | 1 | 270k
        GRU          | 94.1% | 256 | 1 | 200k
        expRNN       | 96.6% | 512 | 1 | 127k
        coRNN        | 97.3% | 256 | 1 | 134k
        IndRNN       | 96.0% | 128 | 6 |  86k
        dense-IndRNN | 97.2% | 128 | 6 | 257k
        UnICORNN     | 97.8% | 128 | 3 |  35k
        UnICORNN     | 98.4% | 256 | 3 | 135k
    """,
    )
    yield from _table(
        "icml Table 2",
        "noise_padded_cifar10",
        {},
        "accuracy",
        """
        LSTM                | 11.6% | 128 | 1 |  64k
        Incremental RNN     | 54.5% | 128 | 1 |  12k
        Lipschitz RNN       | 55.8% | 256 | 1 | 158k
        FastRNN             | 45.8% | 128 | 1 |  16k
        anti.sym. RNN       | 48.3% | 256 | 1 |  36k
        gated anti.sym. RNN | 54.7% | 256 | 1 |  37k
        coRNN               | 59.0% | 128 | 1 |  46k
        UnICORNN            | 62.4% | 128 | 3 |  47k
    """,
    )
    yield from _table(
        "icml Table 3",
        "eigenworms",
        {},
        "accuracy",
        """
        t-BPTT LSTM (last 500)       | 57.9% +- 7.0%  | 32 | 1 | 5.3k
        sub-samp. LSTM (200 points)  | 69.2% +- 8.3%  | 32 | 1 | 5.3k
        sign.-NCDE                   | 77.8% +- 5.9%  | 32 | - |  35k
        expRNN                       | 40.0% +- 10.1% | 64 | 1 | 2.8k
        IndRNN                       | 49.7% +- 4.8%  | 32 | 2 | 1.6k
        coRNN                        | 86.7% +- 3.0%  | 32 | 1 | 2.4k
        UnICORNN                     | 90.3% +- 3.0%  | 32 | 2 | 1.5k
    """,
        runs=5,
    )
    for target, text in _VITAL_SIGNS.items():
        yield from _table("icml Table 4", "bidmc", {"target": target}, "root", text, runs=5)
    for forcing, text in _LORENZ.items():
        yield from _table("icml Table 7", "lorenz96", {"forcing": forcing}, "normalised root", text)
    for task, options, text in _RETRAININGS:
        yield from _table("icml Table 8", task, options, "accuracy", text, runs=10)


_VITAL_SIGNS: Final = {
    "RR": """
        sign.-NCDE | 1.51 +- 0.08 | - | - | -
        LSTM       | 2.28 +- 0.25 | - | 1 | -
        expRNN     | 1.57 +- 0.16 | - | 1 | -
        IndRNN     | 1.47 +- 0.09 | - | 3 | -
        coRNN      | 1.45 +- 0.23 | - | 1 | -
        UnICORNN   | 1.06 +- 0.03 | - | 3 | -
    """,
    "HR": """
        sign.-NCDE | 2.97 +- 0.45 | - | - | -
        LSTM       | 10.7 +- 2.0  | - | 1 | -
        expRNN     | 1.87 +- 0.19 | - | 1 | -
        IndRNN     | 2.10 +- 0.2  | - | 3 | -
        coRNN      | 1.71 +- 0.1  | - | 1 | -
        UnICORNN   | 1.39 +- 0.09 | - | 3 | -
    """,
}
"""Root of the mean squared error."""

_LORENZ: Final = {
    0.9: """
        LSTM     | 2.0e-2 | 44 | 1 | 9k
        coRNN    | 2.0e-2 | 64 | 1 | 9k
        UnICORNN | 2.2e-2 | 90 | 2 | 9k
    """,
    8.0: """
        LSTM     | 6.8e-2 | 44 | 1 | 9k
        coRNN    | 9.8e-2 | 64 | 1 | 9k
        UnICORNN | 3.1e-1 | 90 | 2 | 9k
    """,
}
"""Normalised error."""

_RETRAININGS: Final[tuple[tuple[str, Mapping[str, Any], str], ...]] = (
    ("sequential_mnist", PERMUTED_MNIST, "UnICORNN | 97.7% +- 0.09% | 128 | 3 | 35k"),
    ("sequential_mnist", PERMUTED_MNIST, "UnICORNN | 98.2% +- 0.22% | 256 | 3 | 135k"),
    ("noise_padded_cifar10", {}, "UnICORNN | 61.5% +- 0.52% | 128 | 3 | 47k"),
)
"""Mean and standard deviation over ten trainings; Table 7 of the SAM report."""

_QUOTED: Final = """
    EURNN | permuted MNIST | 0.937 | 512 | 9k
    oRNN  | MNIST          | 0.972 | 256 | 11k
"""
"""Rows of Table 1 of the scoRNN paper that are quoted from others."""

_SYNTHETIC: Final[Mapping[str, tuple[str, tuple[Mapping[str, int], ...]]]] = {
    "Sec. 5.1": ("copying_memory", ({"silence": 1000}, {"silence": 2000})),
    "Sec. 5.2": ("adding", ({"steps": 200}, {"steps": 400}, {"steps": 750})),
}
"""Curves are printed there, no numbers."""


def _scornn_paper() -> Iterator[PrintedResult]:
    """Helfrich, Willmott, Ye 2018."""

    def result(
        model: str, m: int, parameters: str, task: str, options: Mapping[str, Any], **more: Any
    ) -> PrintedResult:
        cell, network = CELLS.get(model, (None, {}))
        return PrintedResult(
            task=task,
            options=options,
            model=model,
            cell=cell,
            network=network,
            hidden_size=m,
            num_layers=1,
            parameters=parameters,
            **more,
        )

    place: dict[str, Any] = {"figure": "accuracy", "source": "scornn Table 1"}
    for column, options in (("MNIST", MNIST), ("permuted MNIST", PERMUTED_MNIST)):
        for row in published_scornn.MNIST:
            facts = row.model, row.hidden_size, row.parameters
            yield result(*facts, "sequential_mnist", options, value=row.results[column], **place)
        for model, quoted, value, m, parameters in _lines(_QUOTED):
            if quoted == column and model and m and parameters:
                yield result(model, int(m), parameters, "sequential_mnist", options, value=value, **place)
    for row in published_scornn.SYNTHETIC:
        task, variants = _SYNTHETIC[row.table]
        for lengths in variants:
            facts, where = (row.model, row.hidden_size, row.parameters), f"scornn {row.table}"
            yield result(*facts, task, lengths, figure="loss", value=None, source=where)


_CHARACTERS: Final = {"PennTreebank": "penn_treebank_characters", "text8": "text8_characters"}


_UNITS: Final = {"tanh RNN": "tanh", "RNN": "tanh", "LSTM": "multidimensional-lstm"}
_SIZES_OF_SH: Final = {
    "PennTreebank, tanh RNN": 1600,
    "text8, tanh RNN-small": 512,
    "text8, tanh RNN-large": 2048,
    "text8, LSTM-small": 512,
    "text8, LSTM-large": 1024,
}
"""Table 1 left: those of the other architectures are not printed."""
_WITH_SKIPS: Final = {"copying memory": (724, 512), "MNIST": (90, 64), "pMNIST": (90, 64)}
"""Units for s = 1 and for s > 1, Section 4.4."""


def _complexity_paper() -> Iterator[PrintedResult]:
    """Zhang et al. 2016: Table 1 left, Table 2 and the copying memory of Section 4.4."""

    def result(model: str, unit: str | None, graph: str, m: int | None, **more: Any) -> PrintedResult:
        cell, network = (None, {}) if unit is None else ("graph", {"graph": graph, "unit": unit})
        return PrintedResult(
            model=model, cell=cell, network=network, hidden_size=m, num_layers=1, parameters=None, **more
        )

    for row in published_complexity.STRUCTURES:
        data, _, kind = row.name.partition(", ")
        place: dict[str, Any] = {"task": _CHARACTERS[data], "options": {}, "figure": "bits"}
        for architecture, value in row.numbers.items():
            m = _SIZES_OF_SH[row.name] if architecture == "sh" else None
            unit = _UNITS[kind.partition("-")[0]]
            source = "complexity Table 1 left"
            yield result(f"{kind}, {architecture}", unit, architecture, m, value=value, source=source, **place)
    for row in published_complexity.LADDERS:
        kind, data = row.name.split(", ")
        for s, value in row.numbers.items():
            yield result(
                f"{kind}, s = {s}",
                _UNITS[kind],
                _skipping(s),
                _WITH_SKIPS[data][s != "1"],
                value=f"{value}%",
                source="complexity Table 2",
                **_PIXELS[data],
            )
    for row in published_complexity.ARCHITECTURES:
        data, _, k = row.name.partition(", k = ")
        for number, value in row.numbers.items():
            graph = f"4.5{number}" if number == "(1)" else f"4.5{number}-{k}"
            model, source = f"tanh RNN, {number}, k = {k}", "complexity Table 2"
            yield result(model, "tanh", graph, None, value=f"{value}%", source=source, **_PIXELS[data])
    for row in published_complexity.PREVIOUS:
        for model, value in row.numbers.items():
            source = "complexity Table 2, previous results"
            yield result(model, None, "", None, value=f"{value}%", source=source, **_PIXELS[row.name])
    for row in published_complexity.COPYING:
        task, _, silence = row.name.partition(", T = ")
        for s, value in row.numbers.items():
            yield result(
                f"RNN, s = {s}",
                _UNITS["RNN"],
                _skipping(s),
                _WITH_SKIPS[task][s != "1"],
                task="copying_memory",
                options={"silence": int(silence)},
                figure="loss",
                value=value,
                source="complexity Sec. 4.4",
            )


_PIXELS: Final[Mapping[str, dict[str, Any]]] = {
    name: {"task": "sequential_mnist", "options": options, "figure": "accuracy"}
    for name, options in (("MNIST", MNIST), ("pMNIST", PERMUTED_MNIST))
}


def _skipping(s: str) -> str:
    """The graph with that recurrent skip coefficient."""
    return "sh" if s == "1" else f"skip-{s}"


PROTOCOLS: Final[Mapping[str, str]] = {
    "sequential_mnist": 'permutation = "unicornn" in icml, "urnn" in scornn, which has no validation split',
    "noise_padded_cifar10": 'the published code gives all images the same block of noise, noise = "fixed"',
    "bidmc": 'the published code divides windows at random, divided_by = "window": overlapping ones in two splits; it '
    'scales nothing, scale = "raw"; its targets are an archive\'s',
    "lorenz96": "time step, how far ahead is looked and by what the error is divided are not printed; those of the "
    "task are its own, and over the root mean square of the target an error is less than over the deviation, 0.11 of "
    "it at F = 0.9 and 0.84 at F = 8",
    "eigenworms": "which sequences are in which split is not printed",
    "copying_memory": "complexity does not print over which steps its cross entropy is a mean, nor to which base",
}
"""Where a printed number and a run may differ in what was done."""

RESULTS: Final[tuple[PrintedResult, ...]] = (*_unicornn_paper(), *_scornn_paper(), *_complexity_paper())


def results(task: str, options: Mapping[str, Any] | None = None) -> tuple[PrintedResult, ...]:
    """All results on a task; with ``options`` those whose own options they have."""
    return tuple(
        result
        for result in RESULTS
        if result.task == task
        and (options is None or all(options.get(name) == value for name, value in result.options.items()))
    )


def figure_of(task: str) -> Figure | None:
    """What the papers print on that task; None where they print nothing."""
    printed = results(task)
    return printed[0].figure if printed else None


DEFAULTS: Final[Mapping[str, Any]] = {"gated": False, "unit": "tanh"}
"""What cells take these arguments for where they are not given."""


def nearest(
    among: Sequence[PrintedResult], *, cell: str, network: Mapping[str, Any], hidden_size: int, num_layers: int
) -> tuple[PrintedResult, ...]:
    """The results of that cell whose size is the given one; if none has it, those of the size nearest to it in m.

    ``network`` are the cell's further arguments: of those that tell two models apart, such as ``capacity``, all must be
    equal, or as in ``DEFAULTS`` where they are not given. A size that is not printed is as far away as can be. First
    come the results that have a number.
    """
    same = [
        result
        for result in among
        if result.cell == cell
        and all(network.get(name, DEFAULTS.get(name)) == value for name, value in result.network.items())
    ]

    def distance(each: PrintedResult) -> tuple[bool, float, bool]:
        far = each.hidden_size is None
        return far, 0.0 if far else abs((each.hidden_size or 0) - hidden_size), each.num_layers != num_layers

    closest = [result for result in same if distance(result) == min(map(distance, same))]
    return tuple(sorted(closest, key=lambda result: result.value is None))


def as_row(source: str, name: str, options: Mapping[str, Any] | None = None) -> PrintedRow:
    """The numbers of a table without their unit, by model; with m where a model has two sizes. LookupError without any.

    >>> as_row("icml Table 7", "Lorenz 96, F = 8", {"forcing": 8.0}).numbers["LSTM"]
    '6.8e-2'
    """
    listed = [
        each
        for each in RESULTS
        if each.source == source
        and each.value is not None
        and all(each.options[n] == v for n, v in (options or {}).items())
    ]
    if not listed:
        raise LookupError(f"{source} has no numbers with {dict(options or {})}. Name one of RESULTS.")
    models = [each.model for each in listed]
    headings = [
        each.model if models.count(each.model) == 1 else f"{each.model}, m = {each.hidden_size}" for each in listed
    ]
    numbers = [(each.value or "").removesuffix("%") for each in listed]
    return PrintedRow(source.partition(" ")[2], name, dict(zip(headings, numbers, strict=True)))
