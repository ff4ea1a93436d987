"""What is read off the weights alone: margins, effective steps, how orthogonal a recurrence is."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from odernn.bounds import cayley_rounding, orthogonal
from odernn.cells.exprnn import ExpRNNLayer
from odernn.cells.scornn import ScoRNNLayer
from odernn.cells.unicornn import UnICORNN
from odernn.cells.urnn import FullURNNLayer, RestrictedURNNLayer
from verification.measure.trained_network import Orthogonality, effective_steps, margins
from verification.monitors.measurement import Measurement
from verification.monitors.quantities import MeasuredLayer


def oscillator_weights(place: MeasuredLayer, network: UnICORNN, index: int) -> Iterator[Measurement]:
    """h of every neuron (value: the largest), and the margins 4 − h²(α + max(w, 0)) and w + α (value: the smallest).

    A margin is no theorem but the premise of several; where it is not positive, ``holds`` is False.
    """
    coefficients = network.coefficients(index)
    yield _of_neurons(place, "effective_step", effective_steps(coefficients), largest=True)
    of_layer = margins(coefficients)
    for quantity, bound, series in (
        ("margin_to_rotation_limit", "h²(α + w) < 4", of_layer.rotation),
        ("margin_to_saddle", "w > −α", of_layer.saddle),
    ):
        yield _of_neurons(place, quantity, series, bound=bound, holds=bool((series > 0).all()))


def _of_neurons(
    place: MeasuredLayer, quantity: str, series: Tensor, *, largest: bool = False, **more: object
) -> Measurement:
    wrong = ~torch.isfinite(series)
    neuron = int(wrong.int().argmax()) if bool(wrong.any()) else int(series.argmax() if largest else series.argmin())
    return place.measured(quantity, float(series[neuron]), neuron=neuron, axis="neuron", series=series.numpy(), **more)


def is_orthogonal(layer: object) -> bool:
    """Whether the layer's recurrent matrix is orthogonal or unitary by construction."""
    return isinstance(layer, (ExpRNNLayer, ScoRNNLayer, FullURNNLayer, RestrictedURNNLayer))


def recurrent_matrix(place: MeasuredLayer, orthogonality: Orthogonality) -> Iterator[Measurement]:
    """‖W*W − I‖_F against thm-O-float (a), κ₂(I + A) and max |a_ij| against thm-SC-norm; scaled Cayley only for both.

    The residual of thm-O-float (a) is that of this W, formed in float64: its error in the Frobenius norm, below
    8 n^{3/2} 2⁻⁵³ (1 + n max |a|), is added to it. The allowance of κ is as many roundings of itself.
    """
    if orthogonality.residual is None or orthogonality.condition is None or orthogonality.largest_entry is None:
        yield place.measured("orthogonality_error", orthogonality.error)
        return
    roundings = orthogonality.size**1.5 * 2.0**-53
    residual = orthogonality.residual + 8 * roundings * (1 + orthogonality.size * orthogonality.largest_entry)
    log_bound = float(cayley_rounding.log_score_from_residual(residual))
    yield place.measured(
        "orthogonality_error",
        orthogonality.error,
        bound="thm-O-float (a)",
        log_bound=log_bound,
        holds=orthogonality.error <= math.exp(log_bound),
    )
    yield place.measured("largest_entry", orthogonality.largest_entry)
    if orthogonality.size > 1 and orthogonality.largest_entry > 0:
        log_bound = float(
            orthogonal.log_condition(size=orthogonality.size, log_entry=math.log(orthogonality.largest_entry))
        )
        holds = math.log(orthogonality.condition) <= log_bound + 8 * roundings * orthogonality.condition
        yield place.measured(
            "condition", orthogonality.condition, bound="thm-SC-norm", log_bound=log_bound, holds=holds
        )
    else:
        yield place.measured("condition", orthogonality.condition)
