"""A trial on a page: the verdict, then tables of what was measured and what bounds it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from odernn.written.lines import wrapped
from verification.models.found import LayerTrial, TrialFigures
from verification.models.ledger import CellLedger
from verification.models.words import exceeds, quantity, short, slack, verdict
from verification.monitors import Measurement
from verification.report.fit import to_width
from verification.report.formats import text
from verification.report.numbers import decades, plural, size
from verification.report.table import Column, Table
from verification.trained.row import Row

LAYERS = ("layer", "steps", "‖∂E/∂X_1‖", "‖∂E/∂X_N‖", "exponents a step", "σ_max(J_n)", "σ_min(J_n)")
WEIGHTS = ("layer", "square weight", "rows", "‖W‖₂", "largest |eigenvalue|", "‖WᵀW − I‖₂")
BOUNDS = ("layer", "quantity", "measured", "bound", "largest", "by", "slack (decades)")
MEASURED = ("layer", "quantity", "measured", "must be")
PROVED = ("quantity", "by", "layer", "measured", "bound", "largest", "slack (decades)", "verdict")
NEAREST = "measured, bound: where they are nearest to each other; largest: anywhere"


def page(trial: TrialFigures, width: int = 100) -> str:
    """Verdict and figures, in lines of ``width``."""
    said, value = trial.energy
    lines = [*wrapped(f"{trial.model} on {shape(trial)}; E = {said} = {short(value)}", width), ""]
    lines += [part for line in verdict(trial) for part in wrapped(line, width, first="- ", rest="  ")]
    with_ledger = {name for ledger in trial.ledgers if ledger.rows for name in ledger.names}
    bounds = [
        _bound(layer, each)
        for layer in trial.layers
        for each in layer.bounded
        if layer.name not in with_ledger or each.holds is False
    ]
    measured = [_measured(layer, each) for layer in trial.layers for each in layer.measured]
    tables = [
        _table("", LAYERS, [_row(each) for each in trial.layers], width),
        _table("Square weights of the size of its state", WEIGHTS, list(_weights(trial.layers)), width),
        _table(f"Bounds; {NEAREST}", BOUNDS, bounds, width),
        *(_proved(ledger, width) for ledger in trial.ledgers),
        _table("Measured", MEASURED, [*measured, *_others(trial.ledgers, trial.layers)], width),
    ]
    lines += [line for table in tables if table for line in ("", table)]
    notes = [*trial.notes, *(note for ledger in trial.ledgers for note in ledger.notes)]
    said_notes = [line for each in dict.fromkeys(notes) for line in wrapped(f"note: {each}", width, rest="  ")]
    return "\n".join([*lines, "", *said_notes] if said_notes else lines)


def shape(trial: TrialFigures) -> str:
    """The shape of the inputs with the names of its axes: which is time."""
    steps, samples = (plural(trial.inputs[axis], name) for axis, name in _axes(trial))
    if len(trial.inputs) == 2:
        return f"inputs {steps} × {samples}" if trial.time_axis == 0 else f"inputs {samples} × {steps}"
    rest = " × ".join(map(str, trial.inputs[2:]))
    named = f"{steps} × {samples}" if trial.time_axis == 0 else f"{samples} × {steps}"
    return f"inputs {named} × {rest} {'feature' if rest == '1' else 'features'}"


def _axes(trial: TrialFigures) -> Iterator[tuple[int, str]]:
    yield trial.time_axis, "step"
    yield 1 - trial.time_axis, "sample"


def _table(title: str, heads: Sequence[str], rows: Sequence[tuple[str, ...]], width: int) -> str:
    if not rows:
        return ""
    return text.render(to_width(Table(title, tuple(map(Column, heads)), tuple(rows)), width)).rstrip("\n")


def _row(layer: LayerTrial) -> tuple[str, ...]:
    ends = ("–", "–") if layer.gradients is None else (short(layer.gradients[0]), short(layer.gradients[-1]))
    found = "–" if layer.exponents is None else ", ".join(f"{value:.2g}" for value in layer.exponents[:3])
    return (
        layer.name,
        str(layer.steps),
        *ends,
        found,
        _range([each.largest for each in layer.spectra]),
        _range([each.smallest for each in layer.spectra]),
    )


def _range(values: Sequence[float]) -> str:
    if not values:
        return "–"
    low, high = short(min(values)), short(max(values))
    return low if low == high else f"{low} … {high}"


def _weights(layers: Iterable[LayerTrial]) -> Iterator[tuple[str, ...]]:
    for layer in layers:
        for each in layer.weights:
            numbers = (each.norm, each.radius, each.defect)
            yield layer.name, each.name, str(each.size), *map(short, numbers)


def _bound(layer: LayerTrial, each: Measurement) -> tuple[str, ...]:
    assert each.log_bound is not None
    if each.quantity.startswith("log_"):
        return layer.name, each.quantity, short(each.value), short(each.log_bound), "–", each.bound, "–"
    largest = layer.largest.get(each.quantity.removeprefix("largest_"))
    numbers = short(each.value), _power(each.log_bound), "–" if largest is None else short(largest)
    return layer.name, quantity(each), *numbers, each.bound, f"{slack(each):.2f}"


def _measured(layer: LayerTrial, each: Measurement) -> tuple[str, ...]:
    must = "" if each.holds is None else f"> 0 ({each.bound})" + ("" if each.holds else ": FAILS")
    return layer.name, quantity(each), short(each.value), must


def _others(ledgers: Iterable[CellLedger], layers: Iterable[LayerTrial]) -> Iterator[tuple[str, ...]]:
    """Margins and measurements of the ledgers, the worst of a layer; those of a monitor are there already."""
    known = {layer.name for layer in layers if layer.measured}
    for ledger in ledgers:
        for row in ledger.others:
            name = _layer_of(ledger, row)
            if (row.value is None and row.kind == "measured") or (name in known and _is_known(row)):
                continue
            value = row.verdict if row.value is None else short(row.value)
            must = "" if row.kind == "measured" else "> 0" if row.value is not None else row.because
            yield name, row.quantity, value, must + (": FAILS" if row.verdict == "fails" else "")


def _is_known(row: Row) -> bool:
    """The same that a monitor has under another name."""
    return row.source in ("h²(α + w) < 4", "w > −α", "h = dt σ̂(c)") or row.statement == "sco-5.5.1-A"


def _layer_of(ledger: CellLedger, row: Row) -> str:
    places = [name for name in ledger.names if not name.endswith("_reverse")]
    if not row.layer:
        return ledger.name or "the model"
    name = places[row.layer - 1]
    return f"{name}_reverse" if row.quantity.endswith(", reverse") else name


def _proved(ledger: CellLedger, width: int) -> str:
    """One line a quantity and statement, of the layer where the bound is nearest; all of them are in the JSON."""
    worst: dict[tuple[str, str], Row] = {}
    for row in ledger.bounds:
        key = row.quantity, row.statement
        if key not in worst or _rank(row) < _rank(worst[key]):
            worst[key] = row
    rows = [
        (
            row.quantity,
            row.statement,
            str(row.layer - 1),
            size(row.log_measured),
            size(row.log_bound),
            size(row.log_largest),
            decades(row.slack),
            _word(row),
        )
        for row in worst.values()
    ]
    title = f"{ledger.name or 'The model'}: what is proved, in the layer where it comes nearest"
    samples = plural(ledger.samples, "sample")
    return _table(f"{title}; {samples}, float64, E = (1/N) Σ ½|y_n|² of its last layer; {NEAREST}", PROVED, rows, width)


def _rank(row: Row) -> float:
    if row.slack is not None:
        return row.slack
    return math.inf if row.verdict == "inapplicable" else 1e300


def _word(row: Row) -> str:
    if exceeds(row):
        return "EXCEEDED"
    return {"not-refuted": "holds", "proved": "holds for all inputs", "inapplicable": "does not apply"}.get(
        row.verdict, row.verdict
    )


def _power(log: float | None) -> str:
    """e^log, as a power of ten where it is long."""
    if log is None:
        return "–"
    tens = log / math.log(10)
    return f"10^{tens:.1f}" if abs(tens) > 5 else f"{math.exp(log):.3g}"
