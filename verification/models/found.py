"""What a trial found, in words and figures: what an engineer asks of a recurrent layer, and what was measured.

Can it blow up?           bounds on its states that hold for all inputs; else what was seen
Does it remember?         the largest exponent; how many last steps have 99 % of Σ ‖∂E/∂X_n‖²
Does it learn over time?  ‖∂E/∂X_1‖ against ‖∂E/∂X_N‖
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odernn.written.lines import wrapped
from verification.models.exponents import StepSpectrum
from verification.monitors import Measurement
from verification.report.fit import to_width
from verification.report.formats import text
from verification.report.table import Column, Table

SHARE = 0.99
STEEP = 3.0
"""Decades between the gradients of the first and the last step from which on they are said to vanish or explode."""

LARGEST_LOG = 88.0
"""Of a float32, rounded down."""

STILL = 3.0
"""Exponents λ with |λ| N below this are said to keep distances: over the N steps at hand a factor of 20 at most."""


@dataclass(frozen=True, eq=False)
class LayerTrial:
    """What was measured of one recurrence.

    name, kind    of the layer in the model, as a monitor names it; the class of its module
    steps         N
    largest       largest modulus of each block of the state, over samples, steps and units
    gradients     ‖∂E/∂X_n‖₂ over samples and units, n = 1..N; None if no gradient came
    exponents     the largest Lyapunov exponents a step along the first sample, falling; None if no step can be repeated
    spectra       of some ∂X_n/∂X_{n−1} of it
    reason        why there are none
    bound         what its equation alone says of its states, where no monitor measures it
    broken_at     the first step of a cell called step by step whose state is not finite; 0 if there is none
    calls         of its module; all of this is of the first one
    measurements  all that ``verification.monitors`` measures of a layer that it knows: bounds, margins, orthogonality
    """

    name: str
    kind: str
    steps: int
    largest: dict[str, float] = field(default_factory=dict)
    gradients: NDArray[np.float64] | None = None
    exponents: NDArray[np.float64] | None = None
    spectra: tuple[StepSpectrum, ...] = ()
    reason: str = ""
    bound: str = ""
    broken_at: int = 0
    calls: int = 1
    measurements: tuple[Measurement, ...] = ()

    @property
    def bounded(self) -> tuple[Measurement, ...]:
        """Those with a bound."""
        return tuple(each for each in self.measurements if each.log_bound is not None)


@dataclass(frozen=True, eq=False)
class ModelTrial:
    """A trial; ``print`` shows the verdict in words, then the figures.

    model            its class;  inputs  their shape;  energy  what E is, and its value
    layers           its recurrences;  input_gradients  ‖∂E/∂u_n‖₂ over samples and features, None for integers
    notes            what was said on the way;  seconds  that it took
    """

    model: str
    inputs: tuple[int, ...]
    energy: tuple[str, float]
    layers: tuple[LayerTrial, ...]
    input_gradients: NDArray[np.float64] | None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def verdict(self) -> tuple[str, ...]:
        """In words, the gravest first."""
        return verdict(self)

    def __str__(self) -> str:
        return page(self)

    def to_json(self) -> str:
        """Everything, one JSON object; numbers that are not finite as text."""
        return json.dumps(plain(self), ensure_ascii=False)


def verdict(trial: ModelTrial) -> tuple[str, ...]:
    """For each layer what may blow up, what vanishes, what it remembers; what does not hold comes first."""
    lines = [line for layer in trial.layers for line in _broken(layer)]
    for layer in trial.layers:
        head = f"{layer.name or 'the model'} ({layer.kind}{_first_of(layer.calls)})"
        lines += [f"{head}: {text}" for text in (_states(layer), _gradients(layer), _memory(layer)) if text]
    if not trial.layers:
        lines.append(
            "No recurrence was found: no cell of odernn, no torch.nn.LSTM, GRU or RNN, and no module that is called "
            "again and again with what it returned. Put one step of the recurrence into a module of its own."
        )
        if trial.input_gradients is not None:
            lines.append(f"Inputs: {_ratio(trial.input_gradients, 'input')}.")
    return tuple(lines)


def _first_of(calls: int) -> str:
    return f", the first of {calls} calls" if calls > 1 else ""


def _broken(layer: LayerTrial) -> Iterator[str]:
    if layer.broken_at:
        yield f"{layer.name}: the state is not finite first at n = {layer.broken_at}."
    for each in layer.measurements:
        if each.quantity.startswith("non_finite"):
            block = each.quantity.removeprefix("non_finite_")
            yield f"{layer.name}: the state {block} is {each.value} first at n = {each.n}."
        elif each.holds is False:
            yield f"{layer.name}: {each.quantity} is {_short(each.value)}; {each.bound or 'it'} does not hold."


def _states(layer: LayerTrial) -> str:
    """Bounds that hold for all inputs, if every block has one that these numbers can hold; else what was seen."""
    seen = "the largest entries are " + ", ".join(f"{name} {_short(value)}" for name, value in layer.largest.items())
    if not layer.largest or any(not math.isfinite(value) for value in layer.largest.values()):
        return ""
    if layer.bound:
        return f"bounded for all inputs: {layer.bound}; on these {seen}."
    about = [each for each in layer.bounded if each.quantity.startswith("largest_") and each.n is not None]
    if any(each.holds is False for each in about):
        return f"it exceeds a bound, so that its premises fail here; {seen}."
    tightest: dict[str, Measurement] = {}
    for each in about:
        kept = tightest.get(each.quantity)
        if kept is None or (each.log_bound or 0.0) < (kept.log_bound or 0.0):
            tightest[each.quantity] = each
    if {f"largest_{name}" for name in layer.largest} - set(tightest):
        return f"nothing here bounds its states for all inputs; on these {seen}."
    by = ", ".join(dict.fromkeys(each.bound for each in tightest.values()))
    if any((each.log_bound or 0.0) > LARGEST_LOG for each in tightest.values()):
        return f"its bound ({by}) is beyond the largest float, so that it excludes no overflow; on these inputs {seen}."
    nearest = min(_slack(each) for each in tightest.values())
    return (
        f"bounded for all inputs up to step {layer.steps} ({by}); on these {seen}, {nearest:.2f} decades below a bound "
        "where they come nearest."
    )


def _gradients(layer: LayerTrial) -> str:
    return "" if layer.gradients is None else f"{_ratio(layer.gradients, 'state')}."


def _ratio(norms: NDArray[np.float64], what: str) -> str:
    count = len(norms)
    if not np.isfinite(norms).all():
        return f"gradients by the {what}s are not finite first at step {int(np.argmin(np.isfinite(norms))) + 1}"
    if norms[-1] == 0 or count < 2:
        return f"no gradient comes to the {what} of the last step"
    if norms[0] == 0:
        return f"gradients vanish: that of step 1 is 0, by underflow or silent units, and that of step {count} is not"
    decades = math.log10(norms[0] / norms[-1])
    change = "vanish" if decades < -STEEP else "explode" if decades > STEEP else "neither vanish nor explode"
    last = remembered(norms)
    return (
        f"gradients {change}: that of step 1 is 10^{decades:.1f} of step {count}'s, and the last {last} of {count} "
        f"steps have {100 * SHARE:.0f} % of their squares"
    )


def remembered(norms: NDArray[np.float64]) -> int:
    """The smallest m so that the last m steps have ``SHARE`` of Σ ‖∂E/∂X_n‖²; scaled, as squares underflow."""
    scaled = norms / norms.max()
    squares = np.cumsum(scaled[::-1] ** 2)
    return int(np.searchsorted(squares, SHARE * squares[-1])) + 1


def _memory(layer: LayerTrial) -> str:
    if layer.exponents is None:
        return f"no Lyapunov exponents: {layer.reason}." if layer.reason else ""
    largest = float(layer.exponents[0])
    if math.isnan(largest):
        return "no Lyapunov exponents: a Jacobian is not finite."
    radius = max((each.radius for each in layer.spectra), default=math.nan)
    seen = f"; eigenvalues of the step's Jacobians up to {_short(radius)}" if math.isfinite(radius) else ""
    if largest == -math.inf:
        return f"forgets its past entirely: the product of its step Jacobians is 0{seen}."
    kept = int((np.abs(layer.exponents) * layer.steps < STILL).sum())
    if abs(largest) * layer.steps < STILL:
        directions = f"at least {kept} directions keep" if kept > 1 else "at least one direction keeps"
        return (
            f"remembers over {layer.steps} steps: exponent {largest:.2g} a step, {directions} distances within a "
            f"factor of 20{seen}."
        )
    every = f"by a factor of e in {1 / abs(largest):.3g} steps"
    if largest > 0:
        return f"unstable on these inputs: exponent {largest:.3g} a step, near states part {every}{seen}."
    return f"forgets its start: exponent {largest:.3g} a step, near states meet {every}{seen}."


# --- on a page ------------------------------------------------------------------------------------------------------


def page(trial: ModelTrial, width: int = 100) -> str:
    """Verdict and figures, in lines of ``width``."""
    said, value = trial.energy
    shape = " × ".join(map(str, trial.inputs))
    lines = [*wrapped(f"{trial.model} on inputs {shape}; E = {said} = {_short(value)}", width), ""]
    lines += [part for line in trial.verdict for part in wrapped(line, width, first="- ", rest="  ")]
    if trial.layers:
        lines += ["", _table(HEADERS, [_row(each) for each in trial.layers], width)]
    bounds = [_bound(layer, each) for layer in trial.layers for each in layer.bounded]
    if bounds:
        lines += ["", _table(BOUND_HEADERS, bounds, width)]
    notes = [line for each in trial.notes for line in wrapped(f"note: {each}", width, rest="  ")]
    return "\n".join([*lines, "", *notes] if notes else lines)


def _table(heads: Sequence[str], rows: Sequence[tuple[str, ...]], width: int) -> str:
    return text.render(to_width(Table("", tuple(map(Column, heads)), tuple(rows)), width)).rstrip("\n")


HEADERS = ("layer", "steps", "‖∂E/∂X_1‖", "‖∂E/∂X_N‖", "exponents a step", "σ_max(J_n)", "σ_min(J_n)")
BOUND_HEADERS = ("layer", "quantity", "measured", "bound", "by", "slack (decades)")


def _row(layer: LayerTrial) -> tuple[str, ...]:
    ends = ("–", "–") if layer.gradients is None else (_short(layer.gradients[0]), _short(layer.gradients[-1]))
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
    return f"{_short(min(values))} … {_short(max(values))}" if values else "–"


def _bound(layer: LayerTrial, each: Measurement) -> tuple[str, ...]:
    assert each.log_bound is not None
    if each.quantity.startswith("log_"):
        return layer.name, each.quantity, _short(each.value), _short(each.log_bound), each.bound, "–"
    return layer.name, each.quantity, _short(each.value), _power(each.log_bound), each.bound, f"{_slack(each):.2f}"


def _slack(each: Measurement) -> float:
    """log₁₀(bound/measured)."""
    assert each.log_bound is not None
    return (each.log_bound - math.log(each.value)) / math.log(10) if each.value > 0 else math.inf


def _short(value: float) -> str:
    return f"{value:.3g}"


def _power(log: float | None) -> str:
    """e^log, as a power of ten where it is long."""
    if log is None:
        return "–"
    decades = log / math.log(10)
    return f"10^{decades:.1f}" if abs(decades) > 5 else f"{math.exp(log):.3g}"


def plain(trial: ModelTrial) -> dict[str, Any]:
    return {
        "model": trial.model,
        "inputs": list(trial.inputs),
        "energy": {"is": trial.energy[0], "value": _number(trial.energy[1])},
        "verdict": list(trial.verdict),
        "seconds": round(trial.seconds, 3),
        "input_gradients": _numbers(trial.input_gradients),
        "layers": [_plain_layer(each) for each in trial.layers],
        "notes": list(trial.notes),
    }


def _plain_layer(layer: LayerTrial) -> dict[str, Any]:
    return {
        "name": layer.name,
        "kind": layer.kind,
        "steps": layer.steps,
        "largest": {name: _number(value) for name, value in layer.largest.items()},
        "gradients": _numbers(layer.gradients),
        "exponents": _numbers(layer.exponents),
        "reason": layer.reason,
        "bound": layer.bound,
        "broken_at": layer.broken_at,
        "calls": layer.calls,
        "spectra": [{name: _number(value) for name, value in vars(each).items()} for each in layer.spectra],
        "bounds": [
            {
                "quantity": each.quantity,
                "value": _number(each.value),
                "n": each.n,
                "bound": each.bound,
                "log_bound": None if each.log_bound is None else _number(each.log_bound),
                "holds": None if each.holds is None else bool(each.holds),
            }
            for each in layer.measurements
            if each.log_bound is not None or each.holds is not None or each.quantity.startswith("non_finite")
        ],
    }


def _numbers(values: NDArray[np.float64] | None) -> list[float | str] | None:
    return None if values is None else [_number(float(value)) for value in values]


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
