"""Margins of the weights and what is measured of any cell: these rows have no bound, and say so."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import nn

from odernn.cells.cornn import CoRNN
from odernn.cells.indrnn import IndRNN
from odernn.cells.linoss import LinOSS
from odernn.cells.recurrent import RecurrentNetwork
from odernn.cells.unicornn import UnICORNN
from odernn.certificate import Certificate
from odernn.integrators.guarantees import Guarantees
from verification.measure.trained_network import effective_steps, margins
from verification.trained import runs
from verification.trained.row import FAILS, HOLDS, Row, in_direction, margin
from verification.trained.runs import LossGradients, Sample


def stability_rows(network: UnICORNN) -> list[Row]:
    """h²(α + w⁺) < 4, w > −α, and the effective steps, of every layer and direction."""
    of_layers = []
    for index in range(len(network.layers)):
        number, coefficients = index // network.directions + 1, network.coefficients(index)
        own, h = margins(coefficients), effective_steps(coefficients)
        rows = [
            margin(number, "4 − h²(α + max(w, 0))", own.rotation, source="h²(α + w) < 4"),
            margin(number, "w + α", own.saddle, source="w > −α"),
            margin(number, "4 − h²α", own.frozen, source="h²α < 4"),
            *_step_rows(number, h),
        ]
        of_layers += [in_direction(row, index, network.directions) for row in rows]
    return of_layers


def _step_rows(layer: int, h: torch.Tensor) -> list[Row]:
    """Smallest, median and largest h = dt σ̂(c), the effective time steps of icml, Sec. 4 and Fig. 5."""
    names = {"smallest h": h.min(), "median h": h.median(), "largest h": h.max()}
    return [Row("measured", layer, name, source="h = dt σ̂(c)", value=float(value)) for name, value in names.items()]


def guarantee_rows(model: nn.Module) -> list[Row]:
    """What field and method imply for the weights as they are, of cells that are such a pair."""
    if not isinstance(model, RecurrentNetwork):
        return []
    try:
        guarantees = model.guarantees()
    except NotImplementedError:
        return []
    return [
        in_direction(row, index, model.directions)
        for index, of_layer in enumerate(guarantees)
        for row in _of_guarantees(index // model.directions + 1, of_layer)
    ]


def _of_guarantees(layer: int, guarantees: Guarantees) -> list[Row]:
    """Contraction, invertibility, symplecticity, …: proved by the library, or not implied."""
    rows = []
    for name in ("contraction", "solvability", "energy", "symplecticity", "reversibility", "invertibility"):
        rows.append(
            replace(_of_certificate(layer, name, guarantees[name]), source="library: odernn.integrators.guarantees")
        )
    return rows


def cell_rows(model: nn.Module) -> list[Row]:
    """What the cell itself decides about its step for the weights as they are: coRNN, IndRNN, LinOSS."""
    certificates: Sequence[Certificate]
    if isinstance(model, CoRNN):
        rows = []
        for index, own in enumerate(model.linear_stability()):
            word = HOLDS if own.margin > 0 else FAILS
            row = Row("margin", index // model.directions + 1, "4 − (dt²γ ± 2dtε)", source="LinearStability")
            row = replace(row, value=own.margin, verdict=word, because=f"of the saturated step: {own}")
            rows.append(in_direction(row, index, model.directions))
        return rows
    if isinstance(model, IndRNN):
        certificates, directions = model.non_expansion(), model.directions
    elif isinstance(model, LinOSS):
        certificates, directions = model.power_boundedness(), model.directions
    else:
        return []
    return [
        in_direction(_of_certificate(index // directions + 1, certificate.property, certificate), index, directions)
        for index, certificate in enumerate(certificates)
    ]


def _of_certificate(layer: int, quantity: str, certificate: Certificate) -> Row:
    word = {True: HOLDS, False: FAILS, None: "not implied"}[certificate.holds]
    value = None if certificate.margin is None else float(certificate.margin)
    return Row(
        "margin",
        layer,
        quantity,
        source="decided exactly" if certificate.exact else "decided",
        value=value,
        verdict=word,
        because=certificate.because,
    )


@torch.no_grad()
def rebuilt_rows(model: nn.Module, sample: Sample) -> list[Row]:
    """Of a cell with an inverse that no theorem here speaks of: the largest entry of the rebuilt zero state."""
    if not isinstance(model, RecurrentNetwork) or isinstance(model, UnICORNN):
        return []
    of_dtypes = []
    for dtype in (torch.float32, torch.float64):
        network = copy.deepcopy(model).to(dtype)
        u = sample.inputs.to(dtype)
        try:
            state = network.inverse(network(u)[1], u)
        except (NotImplementedError, TypeError):
            return []
        blocks = state if isinstance(state, tuple) else (state,)
        value = runs.larger(*(float(block.abs().max()) for block in blocks))
        name = str(dtype).removeprefix("torch.")
        because = f"forward and back on {sample.count} sequences; no bound is known for this cell"
        of_dtypes.append(Row("measured", 0, f"max abs(rebuilt state), {name}", value=value, because=because))
    return of_dtypes


def measured_rows(model: nn.Module, sample: Sample, gradients: LossGradients | None) -> list[Row]:
    """Of any network: the largest output, and the largest gradient of the task's loss in each parameter."""
    largest = runs.largest_output(model, sample)
    measured = [Row("measured", 0, "max abs(output)", value=largest, because=f"on {sample.count} sequences")]
    if gradients is None:
        return measured
    measured.append(
        Row("measured", 0, "max abs(dEₙ/dyₙ)", value=gradients.error, because=f"E the {sample.spec.loss} of a sequence")
    )
    return measured + [_gradient_row(name, value, sample) for name, value in gradients.parameters.items()]


def _gradient_row(name: str, value: float, sample: Sample) -> Row:
    return Row("measured", 0, f"max abs(dE/d {name})", value=value, because=f"E the {sample.spec.loss} of a sequence")
