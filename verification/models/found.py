"""What a trial found: figures of every recurrence, and of the bounds that are proved of it; for JSON.

``words`` makes the verdict of it, ``page`` what is printed, ``trial_result`` all of that one object.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verification.models.exponents import SampleExponents, StepSpectrum
from verification.models.ledger import CellLedger
from verification.models.recurrent_weights import RecurrentWeight
from verification.monitors import Measurement
from verification.trained.row import Row

SERIES = ("gradient_norm", "largest_", "norm_", "non_finite")
"""Beginnings of quantities of a monitor that stand elsewhere."""


@dataclass(frozen=True, eq=False)
class LayerTrial:
    """What was measured of one recurrence.

    name, kind    of the layer in the model, as a monitor names it; the class of its module
    steps         N
    largest       largest modulus of each block of the state, over samples, steps and units
    gradients     ‖∂E/∂X_n‖₂ over samples and units, n = 1..N; None if no gradient came
    exponents     the largest Lyapunov exponents a step, falling, each the median over ``samples``; None if no step can
                  be repeated
    samples       the same of each of the first samples, and the step up to which the product of its Jacobians is 0
    spectra       of some ∂X_n/∂X_{n−1} of one sample
    weights       square matrices between its states
    reason        why there are no exponents
    unbounded     why nothing bounds its states for all inputs, if nothing does
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
    samples: tuple[SampleExponents, ...] = ()
    spectra: tuple[StepSpectrum, ...] = ()
    weights: tuple[RecurrentWeight, ...] = ()
    reason: str = ""
    unbounded: str = ""
    bound: str = ""
    broken_at: int = 0
    calls: int = 1
    measurements: tuple[Measurement, ...] = ()

    @property
    def bounded(self) -> tuple[Measurement, ...]:
        """Those with a bound."""
        return tuple(each for each in self.measurements if each.log_bound is not None)

    @property
    def measured(self) -> tuple[Measurement, ...]:
        """Those without: reconstruction and orthogonality errors, effective steps; and margins, which must be > 0."""
        return tuple(
            each for each in self.measurements if each.log_bound is None and not each.quantity.startswith(SERIES)
        )


@dataclass(frozen=True, eq=False)
class TrialFigures:
    """All figures of a trial.

    model            its class;  inputs  their shape, and ``time_axis`` which of it is time
    energy           what E is, and its value
    layers           its recurrences;  input_gradients  ‖∂E/∂u_n‖₂ over samples and features, None for integers
    ledgers          of every cell of the library: all that is proved of it, or why nothing is compared
    notes            what was said on the way;  seconds  that it took
    """

    model: str
    inputs: tuple[int, ...]
    energy: tuple[str, float]
    layers: tuple[LayerTrial, ...]
    input_gradients: NDArray[np.float64] | None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    time_axis: int = 0
    ledgers: tuple[CellLedger, ...] = ()


def plain(trial: TrialFigures, verdict: Sequence[str]) -> dict[str, Any]:
    """For JSON: everything."""
    return {
        "model": trial.model,
        "inputs": list(trial.inputs),
        "time_axis": trial.time_axis,
        "energy": {"is": trial.energy[0], "value": number(trial.energy[1])},
        "verdict": list(verdict),
        "seconds": round(trial.seconds, 3),
        "input_gradients": _numbers(trial.input_gradients),
        "layers": [_plain_layer(each) for each in trial.layers],
        "ledgers": [_plain_ledger(each) for each in trial.ledgers],
        "notes": list(trial.notes),
    }


def _plain_layer(layer: LayerTrial) -> dict[str, Any]:
    return {
        "name": layer.name,
        "kind": layer.kind,
        "steps": layer.steps,
        "largest": {name: number(value) for name, value in layer.largest.items()},
        "gradients": _numbers(layer.gradients),
        "exponents": _numbers(layer.exponents),
        "samples": [
            {"exponents": [number(value) for value in each.largest], "silent": each.silent, "steps": each.steps}
            for each in layer.samples
        ],
        "reason": layer.reason,
        "unbounded": layer.unbounded,
        "bound": layer.bound,
        "broken_at": layer.broken_at,
        "calls": layer.calls,
        "spectra": [{name: number(value) for name, value in vars(each).items()} for each in layer.spectra],
        "weights": [asdict(each) for each in layer.weights],
        "bounds": [
            _plain_measurement(each)
            for each in layer.measurements
            if each.log_bound is not None or each.holds is not None or each.quantity.startswith("non_finite")
        ],
        "measured": [_plain_measurement(each) for each in layer.measured],
    }


def _plain_measurement(each: Measurement) -> dict[str, Any]:
    return {
        "quantity": each.quantity,
        "value": number(each.value),
        "n": each.n,
        "bound": each.bound,
        "log_bound": None if each.log_bound is None else number(each.log_bound),
        "holds": None if each.holds is None else bool(each.holds),
    }


def _plain_ledger(ledger: CellLedger) -> dict[str, Any]:
    return {
        "name": ledger.name,
        "samples": ledger.samples,
        "reason": ledger.reason,
        "rows": [_plain_row(row) for row in ledger.rows],
        "notes": list(ledger.notes),
    }


def _plain_row(row: Row) -> dict[str, Any]:
    numbers = ("log_bound", "log_measured", "log_largest", "value", "slack")
    texts = ("kind", "layer", "quantity", "statement", "source", "origin", "verdict", "because", "at")
    found = {name: getattr(row, name) for name in texts}
    for name in numbers:
        value = getattr(row, name)
        found[name] = None if value is None else number(float(value))
    return found


def _numbers(values: NDArray[np.float64] | None) -> list[float | str] | None:
    return None if values is None else [number(float(value)) for value in values]


def number(value: float) -> float | str:
    """For JSON, which knows no infinity."""
    return value if math.isfinite(value) else str(value)
