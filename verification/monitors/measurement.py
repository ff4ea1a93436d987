"""What a monitor writes down: one number with its bound, or a series of them over time or over neurons."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from odernn.written.spreadsheet import cell

Axis: TypeAlias = Literal["", "n", "neuron"]


@dataclass(frozen=True, eq=False)
class Measurement:
    """One quantity of one layer at one step of training.

    step       of training, from 1: the weights are those that its forward pass used
    layer      name of the layer in the model, with torch's suffix for a reverse direction
    quantity   what was measured; docs/monitors.md has the list
    value      of a series its extreme: where it comes nearest to the bound, else the worst
    n, sample, neuron    where that is: the step of the sequence from 1, and indices from 0; None where it has no sense
    bound      the theorem or equation that bounds it, "" if none is known
    log_bound  natural logarithm of the bound there; where the quantity is itself a logarithm, the bound on that
    holds      whether value ≤ bound + rounding of the dtype (margins: whether > 0); None without a bound
    axis       what the series runs over: "n", entry 0 is n = 1; "neuron"; "" without one
    series     float64
    """

    step: int
    layer: str
    quantity: str
    value: float
    n: int | None = None
    sample: int | None = None
    neuron: int | None = None
    bound: str = ""
    log_bound: float | None = None
    holds: bool | None = None
    axis: Axis = ""
    series: NDArray[np.float64] | None = None

    def row(self) -> tuple[Any, ...]:
        """What ``Store.put_measurements`` takes."""
        series = None if self.series is None else np.ascontiguousarray(self.series, dtype="<f8").tobytes()
        return (
            self.layer,
            self.quantity,
            self.bound,
            self.value,
            self.n,
            self.sample,
            self.neuron,
            self.log_bound,
            None if self.holds is None else int(self.holds),
            self.axis,
            series,
        )

    @classmethod
    def of_row(cls, row: tuple[Any, ...]) -> Measurement:
        """From a row of ``Store.measurements``; SQLite has no NaN and keeps it as NULL."""
        _, step, layer, quantity, bound, value, n, sample, neuron, log_bound, holds, axis, series = row
        return cls(
            step,
            layer,
            quantity,
            math.nan if value is None else value,
            n,
            sample,
            neuron,
            bound,
            log_bound,
            None if holds is None else bool(holds),
            axis,
            None if series is None else np.frombuffer(series, "<f8"),
        )


COLUMNS = ("step", "layer", "quantity", "value", "n", "sample", "neuron", "bound", "log_bound", "holds")


def write_csv(path: Path, measurements: Iterable[Measurement], *, series: bool = False) -> None:
    """One row a measurement, or with ``series`` one row an entry of each series; an empty cell is None, no text is a
    formula.
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for datum in measurements:
            if series and datum.series is not None:
                for index, value in enumerate(datum.series.tolist()):
                    n, neuron = (index + 1, None) if datum.axis == "n" else (datum.n, index)
                    row = (datum.step, datum.layer, datum.quantity, value, n, None, neuron, None, None, None)
                    writer.writerow(map(_cell, row))
            else:
                writer.writerow([_cell(getattr(datum, column)) for column in COLUMNS])


def _cell(value: Any) -> Any:
    return repr(value) if isinstance(value, float) else cell(value) if isinstance(value, str) else value
