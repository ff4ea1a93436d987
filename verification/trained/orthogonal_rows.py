"""Recurrent matrices that should be orthogonal or unitary: of scoRNN, expRNN, uRNN.

    thm-O-float (a)   ‖WᵀW − I‖_F ≤ 2r + r², r the residual of (I + A)W = (I − A)D: for every W, no matter how made
    thm-SC-norm       κ(I + A) ≤ √(1 + (max|a_ij| cot(π/2n))²)
    the eps·κ law     ‖WᵀW − I‖_F stays below 5 √n eps κ(I + A): what is measured in practice, no theorem
    thm-H-grad        ‖∂h_T/∂h_t‖₂ ≤ (1 + ‖WᵀW − I‖₂)^{(T−t)/2}: along the runs, by vectors carried backward

W is that of the layer, in the layer's dtype; hidden states run in float64.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from odernn.bounds import cayley_rounding, hidden_gradient, orthogonal
from odernn.cells.exprnn import ExpRNN
from odernn.cells.recurrent import RecurrentNetwork
from odernn.cells.scornn import ScoRNN
from odernn.cells.urnn import URNN
from verification.claim import Premise
from verification.measure.trained_network import Orthogonality, orthogonality
from verification.report.numbers import size
from verification.trained.row import FAILS, HOLDS, BoundComparison, Row, in_direction, judged, uncertified
from verification.trained.runs import Sample

CELLS = (ScoRNN, ExpRNN, URNN)
NO_REPLAY = "no certificate here decides a trained matrix"
SECTION = "scornn: Sec. 5.5.1"
IN_FLOATS = "library: docs/derivations/orthogonality_in_floats.md"
SCALED = "library: docs/derivations/scaled_cayley.md"
OUTWARD = 1e-12
FRESH = 8
"""Vectors that are carried backward from the last step, for each sequence."""


def rows(model: nn.Module, sample: Sample) -> list[Row]:
    """Of every layer and direction; nothing for other cells."""
    if not isinstance(model, CELLS):
        return []
    of_layers = []
    for index, layer in enumerate(model.layers):
        number = index // model.directions + 1
        of_layers += [in_direction(row, index, model.directions) for row in _matrix_rows(number, orthogonality(layer))]
    return of_layers + gradient_rows(model, sample)


def _matrix_rows(layer: int, measured: Orthogonality) -> list[Row]:
    """One layer's W, as the layer uses it in its own dtype."""
    log_error = math.log(measured.error) if measured.error > 0 else -math.inf
    name = "‖W*W − I‖_F"
    because = f"{measured.error / measured.eps:.3g} eps; √n = {math.sqrt(measured.size):.3g}"
    rows = [Row("measured", layer, name, "sco-5.5.1-A", SECTION, "published", value=measured.error, because=because)]
    if measured.condition is None or measured.residual is None or measured.largest_entry is None:
        return rows
    condition, entry, residual = measured.condition, measured.largest_entry, measured.residual
    # The residual is formed in float64, to about n u ‖I + A‖ ‖W‖_F.
    widened = residual + measured.size * 2.0**-52 * condition * math.sqrt(measured.size)

    def of_residual() -> BoundComparison:
        bound = float(cayley_rounding.log_score_from_residual(widened)) + OUTWARD
        return BoundComparison(
            bound, log_error, uncertified(NO_REPLAY), log_largest=math.inf, data=f"r = {residual:.3g}"
        )

    def of_norm() -> BoundComparison:
        bound = float(orthogonal.log_condition(size=measured.size, log_entry=math.log(entry))) + OUTWARD
        data = f"max|a| = {entry:.3g}"
        return BoundComparison(bound, math.log(condition), uncertified(NO_REPLAY), log_largest=math.inf, data=data)

    rows.append(judged(Row("bound", layer, name, "thm-O-float (a)", IN_FLOATS), of_residual))
    premises = (Premise("A is not 0", entry, entry > 0), Premise("n ≥ 2", measured.size - 1, measured.size > 1))
    rows.append(judged(Row("bound", layer, "κ(I + A)", "thm-SC-norm", SCALED, premises=premises), of_norm))
    return rows + _law_rows(layer, measured, condition, entry)


def _law_rows(layer: int, measured: Orthogonality, condition: float, entry: float) -> list[Row]:
    """The eps·κ law, where it can be trusted, and whether A is still the representation of Theorem 3.1."""
    law = float(cayley_rounding.log_expected_score(measured.size, eps=measured.eps, condition=condition))
    room = 1.0 - measured.eps * condition
    practice = f"practice, no theorem: below 5√n = {5 * math.sqrt(measured.size):.3g}, an error of {size(law)}"
    digits = "W has digits" if room > 0 else "I + A is singular to the dtype"
    bounded = "as in the theorem" if entry <= 1 else "training has left |a| ≤ 1; orthogonal.resigning brings it back"
    ratio = "‖W*W − I‖_F / (eps κ(I + A))"
    return [
        Row(
            "measured", layer, ratio, "thm-O-float", "library: log_expected_score", value=measured.law, because=practice
        ),
        Row(
            "margin",
            layer,
            "1 − eps κ(I + A)",
            "thm-O-float (b)",
            IN_FLOATS,
            value=room,
            because=digits,
            verdict=HOLDS if room > 0 else FAILS,
        ),
        Row(
            "margin",
            layer,
            "1 − max|a_ij|",
            "sco-T3.1",
            "scornn: Theorem 3.1",
            "published",
            value=1.0 - entry,
            because=bounded,
            verdict=HOLDS if entry <= 1 else FAILS,
        ),
    ]


# --- gradients of hidden states


def gradient_rows(model: RecurrentNetwork, sample: Sample) -> list[Row]:
    """thm-H-grad of every layer of a real network of one direction, and the smallest gain beside it."""
    if model.bidirectional or isinstance(model, URNN):
        return []
    wide = copy.deepcopy(model).double()
    below, of_layers = sample.inputs, []
    for number, layer in enumerate(wide.layers, 1):
        W = layer.recurrent_matrix().detach()
        defect = float(torch.linalg.matrix_norm(W.T @ W - torch.eye(len(W), dtype=W.dtype), 2))
        below, gains = _gains(layer, below)
        of_layers += _gain_rows(number, defect, gains, sample)
    return of_layers


def _gains(layer: Any, below: Tensor) -> tuple[Tensor, Tensor]:
    """The layer's rows from h_0, and ‖vᵀ ∂h_T/∂h_t‖/‖v‖ for T = N, t = N−1..0: (N, vectors · K), float64."""
    with torch.no_grad():
        drives = layer.drives(below)
        step = layer.stepper()
    start = torch.zeros(below.shape[1], layer.hidden_size, dtype=torch.float64)
    if getattr(layer, "h0", None) is not None:
        start = start + layer.h0.detach()
    states: list[Tensor] = [start.requires_grad_()]
    for x in drives:
        states.append(step((states[-1],), x)[0])
    generator = torch.Generator().manual_seed(0)
    gains: list[Sequence[Tensor]] = []
    for _ in range(FRESH):
        v = torch.randn(states[-1].shape, generator=generator, dtype=torch.float64)
        back = torch.autograd.grad(states[-1], states[:-1], grad_outputs=v, retain_graph=True)
        gains.append([gradient.norm(dim=1) / v.norm(dim=1) for gradient in back[::-1]])
    rows = torch.stack(states[1:]).detach()
    return rows, torch.cat([torch.stack(list(of_vector)) for of_vector in gains], dim=1)


def _gain_rows(layer: int, defect: float, gains: Tensor, sample: Sample) -> list[Row]:
    spans = torch.arange(1, len(gains) + 1, dtype=torch.float64)
    most, least = gains.amax(dim=1), gains.amin(dim=1)
    # Each step's product is rounded in float64, by at most about n u of its size.
    rounding = spans.numpy() * 2.0**-45

    def ask() -> BoundComparison:
        bounds = hidden_gradient.log_largest_gain(defect=defect, steps=spans.numpy()) + rounding
        return BoundComparison(
            bounds,
            most.log().numpy(),
            uncertified(NO_REPLAY),
            place=lambda index: f"T − t = {index + 1}",
            log_largest=math.inf,
            data=f"every input; on {sample.count} sequences, {FRESH} vectors each",
        )

    row = Row("bound", layer, "‖vᵀ ∂h_T/∂h_t‖/‖v‖", "thm-H-grad", "library: docs/derivations/modrelu_gradients.md")
    place = f"T − t = {int(torch.argmin(least)) + 1}"
    because = "of random v; nothing bounds it from below where units fall silent"
    symbol = "least ‖vᵀ ∂h_T/∂h_t‖/‖v‖"
    smallest = Row(
        "measured",
        layer,
        symbol,
        "sco-5.5.2",
        "scornn: Sec. 5.5.2",
        "published",
        value=float(least.min()),
        because=because,
        at=place,
    )
    return [judged(row, ask), smallest]
