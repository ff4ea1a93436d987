"""Stepping a trained UnICORNN back in float32 and bfloat16: what thm-F predicts, and what comes of it."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch

from odernn.bounds.network import unicornn
from odernn.bounds.network.question import Question
from odernn.cells.unicornn import UnICORNN
from verification.measure.trained_network import predicted_typical_error, reconstruction_error
from verification.report.numbers import size
from verification.trained.row import BoundComparison, Row, judged, uncertified
from verification.trained.runs import Sample, log_size

DTYPES = (torch.float32, torch.bfloat16)
SOURCE = "library: docs/derivations/reconstruction.md"
NO_REPLAY = "no certificate here replays a network in this dtype"


def rows(network: UnICORNN, sample: Sample) -> list[Row]:
    """For every dtype and layer: |ỹ₀|, |z̃₀| after forward and back from zero, against thm-F (a); the typical law.

    The theorem is about bfloat16, too, in which ``UnICORNN`` refuses to run and ``certify`` to speak of it: the
    recurrence is ``measure.trained_network``'s own.
    """
    of_dtypes = []
    for dtype in DTYPES:
        name = str(dtype).removeprefix("torch.")
        narrow = copy.deepcopy(network).to(dtype)
        inputs = sample.inputs.to(dtype)
        question = Question(sample.steps, float(inputs.double().abs().max()))
        seen = reconstruction_error(network, sample.inputs, dtype)
        for layer, own in enumerate(unicornn.layers_of(narrow, question), 1):
            pairs = (
                ("abs(ỹ₀ − y₀)", own.log_rebuilt_position, seen.position, own.log_position),
                ("abs(z̃₀ − z₀)", own.log_rebuilt_momentum, seen.momentum, own.log_momentum),
            )
            for symbol, log_bound, measured, log_state in pairs:
                value = float(measured[layer - 1])
                of_dtypes.append(_bound_row(layer, f"{symbol}, {name}", log_bound, value, log_state, sample))
            typical = predicted_typical_error(seen, sample.steps, layer)
            of_dtypes.append(_law_row(layer, name, float(seen.energy[layer - 1]), typical))
    return of_dtypes


def _bound_row(
    layer: int, quantity: str, log_bound: float | None, value: float, log_state: float, sample: Sample
) -> Row:
    row = Row("bound", layer, quantity, "thm-F (a)", SOURCE)
    if log_bound is None:
        because = "the dtype is too coarse for a bound at these weights"
        log_value = math.log(value) if value > 0 else None
        return Row(
            "measured", layer, quantity, "thm-F (a)", SOURCE, log_measured=log_value, value=value, because=because
        )
    weak = "; no smaller than the bound on the states, so it says nothing" if log_bound >= log_state else ""

    def ask(log_bound: Any = log_bound) -> BoundComparison:
        data = f"on {sample.count} sequences{weak}"
        return BoundComparison(log_bound, log_size(value), uncertified(NO_REPLAY), log_largest=math.inf, data=data)

    return judged(row, ask)


def _law_row(layer: int, name: str, value: float, typical: float | None) -> Row:
    """The typical error is an estimate: no bound, no verdict."""
    because = "nothing moved: no estimate"
    if typical is not None and value > 0:
        because = (
            f"an estimate, never a bound: typically {size(math.log(typical))}; measured/typical {value / typical:.2g}"
        )
    elif typical is not None:
        because = f"an estimate, never a bound: typically {size(math.log(typical))}"
    return Row("measured", layer, f"rms √(αỹ₀² + z̃₀²), {name}", "thm-F (c)", SOURCE, value=value, because=because)
