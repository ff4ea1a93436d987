"""IntegratorRNN: what a method and a field imply for a step.   thm-C-field; docs/derivations/certificates.md

    (a)  ‖ΔX_n‖ ≤ ρ ‖ΔX_{n−1}‖,    ‖X_n‖ ≤ ρ ‖X_{n−1}‖ + ‖Φ(0; x_n)‖,    ‖ΔX_N‖ ≤ s Σ ‖V Δu_n‖   (thm-in)
    (b)  |X_n| ≤ Σ_{j<n} Σ_i |R^j P_i| |U| 1

ρ = 1 where ``guarantees().contraction`` holds, else the factor that it has, 1 + hL Σ |b_i| ℓ_i. Of f = L y + U φ(W y +
x), |φ| ≤ 1: ‖f(0; x)‖ ≤ ‖U‖ √q, and a step is linear in y and in U φ of each stage, X_n = R X_{n−1} + Σ_i P_i U φ_i.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from odernn.bounds.network import lipschitz
from odernn.bounds.network.question import Question
from odernn.bounds.network.report import LayerBounds, QuantityBound, unknown
from odernn.bounds.network.response_sums import response_sums
from odernn.bounds.network.states import ROUNDOFF, outward
from odernn.bounds.network.sweeps import NOTHING, Array, linear_growth, log_norm, log_of
from odernn.fields import spectra
from odernn.integrators.guarantees import push_from_rest
from odernn.integrators.responses import StepResponse, step_response, uncoupled_part

if TYPE_CHECKING:
    from odernn.cells.integrator import IntegratorLayer, IntegratorRNN
    from odernn.fields.field import Field
    from odernn.integrators.guarantees import Guarantees
    from odernn.tableaus.methods import Method

STATES, COMPUTED = "‖X_n‖₂, n ≤ N", "‖X̂_n‖₂ as computed"
NOT_WRITTEN = "no theorem here on how parameters of a field enter a step"
NOT_LIPSCHITZ = "the step is not known to be Lipschitz: hL‖|A|‖ ≥ 1, and the field is not monotone"
ROUNDED = "no theorem here on the rounding of its stages"
AT_REST = "a neuron's step has rounded to 0, and no theorem here is about h = 0"
DIRECTIONS = 16
"""Of half a turn, in which the state of a neuron is bounded: what is between two of them costs half a per cent."""


def layers_of(network: IntegratorRNN, question: Question) -> tuple[LayerBounds, ...]:
    """States and Jacobians in the Euclidean norm of the whole state, for every input."""
    reach: lipschitz.Reach | None = lipschitz.Reach.of_inputs(question.steps)
    found = []
    for number, layer in enumerate(network.layers, 1):
        if not bool((layer.step_sizes() > 0).all()):
            reach = None
            found.append(_unmoved(layer, number))
            continue
        promised = layer.guarantees()
        reach = _reach(layer, promised, reach)
        found.append(_layer(layer, promised, number, question, reach))
    return tuple(found)


def _reach(layer: IntegratorLayer, promised: Guarantees, reach: lipschitz.Reach | None) -> lipschitz.Reach | None:
    """thm-in, of inputs that are held; None where no theorem says what they do to the state."""
    if reach is None or layer.inputs != "hold" or not promised.sensitivity or promised.sensitivity.value is None:
        return None
    return reach.above(0.0, 0.0, float(outward(log_of(promised.sensitivity.value) + log_norm(layer.V))), None)


@torch.no_grad()
def _layer(
    layer: IntegratorLayer, promised: Guarantees, number: int, question: Question, reach: lipschitz.Reach | None
) -> LayerBounds:
    field, sizes, steps = layer.field.value(), layer.step_sizes(), question.steps
    contraction = promised.contraction
    log_factor = 0.0 if contraction.holds else None if contraction.value is None else log_of(contraction.value)
    jacobian, gradients = _jacobian(layer), [unknown(each, NOT_WRITTEN) for each in _gradients(layer)]
    # in ‖x‖² = Σ x_i²/h_i where steps differ, so that norms are at most √(max h/min h) larger
    spread = float((sizes.max() / sizes.min()).sqrt()) if contraction.holds else 1.0
    tilt = log_of(spectra.upward(spread))
    lines = [_states(layer, field, STATES, log_factor, tilt, steps), unknown(COMPUTED, ROUNDED)]
    if log_factor is None:
        lines.append(unknown(jacobian, NOT_LIPSCHITZ))
    else:
        grown = float(outward((steps - 1) * log_factor + (tilt if steps > 1 else 0.0), steps))
        lines.append(QuantityBound(jacobian, grown, "thm-C-field (a)"))
    if reach is None:
        lines.append(unknown(lipschitz.OVER_ALL, "guarantees().sensitivity says why, of this layer or one below"))
    else:
        lines += lipschitz.lines(reach, "thm-in")
    return LayerBounds(number, (*lines, *gradients), (contraction.because + ".",))


def _unmoved(layer: IntegratorLayer, number: int) -> LayerBounds:
    quantities = (STATES, COMPUTED, _jacobian(layer), lipschitz.OVER_ALL, *_gradients(layer))
    return LayerBounds(number, tuple(unknown(each, AT_REST) for each in quantities), ())


def _jacobian(layer: IntegratorLayer) -> str:
    return f"‖∂X_N/∂X_1‖₂, X = ({', '.join(layer.state_names)})"


def _gradients(layer: IntegratorLayer) -> list[str]:
    return [f"|dE/dθ|, θ = {name}" for name, _ in layer.named_parameters()]


def _states(
    layer: IntegratorLayer, field: Field, quantity: str, log_factor: float | None, tilt: float, steps: int
) -> QuantityBound:
    """The smaller of (a) and (b)."""
    by_activations = log_of_activations(layer.method, field, layer.step_sizes(), steps)
    found = [] if by_activations is None else [(by_activations, "thm-C-field (b)")]
    rest = log_at_rest(field)
    push = None if rest is None else push_from_rest(layer.method, field, layer.step_sizes(), math.exp(rest))
    if push is not None and log_factor is not None and layer.c is None:
        logs = linear_growth(log_factor, np.full(steps, log_of(push)))
        found.append((float(outward(logs[-1] + tilt)), "thm-C-field (a)"))
    if found:
        return QuantityBound(quantity, *min(found))
    if rest is None:
        return unknown(quantity, f"{type(field).__name__} at rest is as large as its input")
    return unknown(
        quantity, "no theorem here bounds one step: hL‖|A|‖ ≥ 1, or steps differ; L couples neurons, or is too large"
    )


# --- (b): a step as a linear map of the state and of bounded activations


def log_of_activations(method: Method, field: Field, step_size: Tensor, steps: int) -> float | None:
    """log of a bound on ‖X_n‖₂, n ≤ N, whatever the activations are; None where L couples neurons.   thm-C-field (b)"""
    form, blocks = field.dense_form(), len(field.blocks)
    L = None if form is None else uncoupled_part(form, blocks)
    if form is None or L is None:
        return None
    h = np.broadcast_to(step_size.detach().double().cpu().numpy(), L.shape[2:])
    response = step_response(method, field, L, h)
    if response is None:
        return None
    size = np.ones(L.shape[1:]) if form.U is None else _row_sums(form.U, blocks)
    if L.any():
        found = _log_of_responses(response, size, steps) if blocks == 2 else math.inf
    else:  # R = I: each step adds at most Σ_i |P_i| |U| 1, and at most Σ_i max h|b_i| ‖U‖ √q
        moved = np.abs(response.added).reshape(*response.added.shape[:2], blocks, -1)
        largest = float(np.linalg.norm(np.einsum("ncbi,bn->nc", moved, size)))
        if form.U is not None and form.U.dim() == 2:
            root = spectra.spectral_norm(form.U) * math.sqrt(len(form.W))
            largest = min(largest, root * float(moved.max(axis=(0, 1, 2)).sum()))
        found = float(outward(math.log(steps) + log_of(largest), math.log(steps), 2.0 * L.size))
    return found if math.isfinite(found) else None


def _row_sums(U: Tensor, blocks: int) -> Array:
    """|U| 1 by block and neuron, (blocks, n)."""
    sums = U.detach().double().abs().sum(dim=1).cpu().numpy()
    found: Array = sums.reshape(blocks, -1) * (1 + 2.0**-40)
    return found


def between(directions: int) -> float:
    """How much longer a vector may be than its largest component in so many directions of half a turn."""
    return 1 / math.cos(math.pi / (2 * directions))


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def _log_of_responses(response: StepResponse, size: Array, steps: int) -> float:
    """log ‖X_n‖₂: per neuron the longest X_n in ``DIRECTIONS`` directions, and what may be between two of them."""
    stages = response.added.shape[2] // 2
    drivers = [column for column in range(2 * stages) if size[column // stages].any()]
    if not drivers:  # U = 0, and X_n = Rⁿ X_0 = 0
        return NOTHING
    kinds, place = _kinds(response)
    kicks = kinds.added[:, :, drivers]
    lost = 8 * ROUNDOFF * np.abs(kicks) + kinds.added_error[:, :, drivers]
    sizes = np.abs(kinds.state) + kinds.state_error / ROUNDOFF
    turns = np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    e = np.stack((np.cos(turns), np.sin(turns)), axis=1)
    found = response_sums(kinds.state, kicks, steps, sizes=sizes, directions=e)
    # |e|ᵀ Σ |M^j| lost: (d, 2, 1, 1, 1) (2, 2, 1, m) (1, 2, drivers, m)
    rest = np.log(np.abs(e))[:, :, None, None, None] + found.powers[:, :, None] + np.log(lost.transpose(1, 2, 0))
    terms = np.logaddexp(found.sums[-1], np.logaddexp.reduce(rest, axis=(1, 2)))[:, :, place]  # (d, drivers, n)
    log_sizes = np.log(size)[[column // stages for column in drivers]]
    total = np.logaddexp.reduce(terms + log_sizes, axis=1)
    boxes = np.logaddexp(2 * total[: DIRECTIONS // 2], 2 * total[DIRECTIONS // 2 :]).min(axis=0) / 2
    longest = np.minimum(total.max(axis=0) + math.log(between(DIRECTIONS)), boxes)
    whole = float(np.logaddexp.reduce(2 * longest)) / 2
    return float(outward(max(whole, NOTHING), len(place), 3 * len(drivers)))


def _kinds(response: StepResponse) -> tuple[StepResponse, NDArray[np.intp]]:
    """Those that differ, and which of them each neuron is."""
    parts = (response.state, response.added, response.state_error, response.added_error)
    _, first, place = np.unique(
        np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1),
        axis=0,
        return_index=True,
        return_inverse=True,
    )
    return StepResponse(*(part[first] for part in parts)), place.reshape(-1)


def log_at_rest(field: Field) -> float | None:
    """log of ‖U‖₂ √q ≥ ‖f(0; x)‖ for every drive x, of a field L y + U φ(W y + x); None where f is no such field."""
    form = field.dense_form()
    if form is None:
        return None
    neurons = form.W.shape[2] if form.W.dim() == 3 else 1  # by neuron: the norm of U is the largest of theirs
    driven = len(form.W) * neurons - form.undriven
    parts = [] if form.U is None else [form.U] if form.U.dim() == 2 else form.U.unbind(-1)
    size = max(map(spectra.spectral_norm, parts), default=1.0)
    return log_of(spectra.upward(size * math.sqrt(driven)))
