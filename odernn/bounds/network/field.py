"""IntegratorRNN: what a method and a field imply for a step.   thm-C-field; docs/derivations/certificates.md

    ‖ΔX_n‖ ≤ ρ ‖ΔX_{n−1}‖,    ‖X_n‖ ≤ ρ ‖X_{n−1}‖ + ‖Φ(0; x_n)‖,    ‖ΔX_N‖ ≤ s Σ ‖V Δu_n‖   (thm-in)

ρ = 1 where ``guarantees().contraction`` holds, else the factor that it has, 1 + hL Σ |b_i| ℓ_i. The second line needs
a bound on the field at rest: f = L y + U φ(W y + x) with |φ| ≤ 1 has ‖f(0; x)‖ ≤ ‖U‖ √q.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch

from odernn.bounds.network import lipschitz
from odernn.bounds.network.question import Question
from odernn.bounds.network.report import LayerBounds, QuantityBound, unknown
from odernn.bounds.network.states import outward
from odernn.bounds.network.sweeps import linear_growth, log_norm, log_of
from odernn.fields import spectra
from odernn.integrators.guarantees import push_from_rest

if TYPE_CHECKING:
    from odernn.cells.integrator import IntegratorLayer, IntegratorRNN
    from odernn.fields.field import Field
    from odernn.integrators.guarantees import Guarantees

NOT_WRITTEN = "no theorem here on how parameters of a field enter a step"
ROUNDED = "no theorem here on the rounding of its stages"


def layers_of(network: IntegratorRNN, question: Question) -> tuple[LayerBounds, ...]:
    """States and Jacobians in the Euclidean norm of the whole state, for every input."""
    reach: lipschitz.Reach | None = lipschitz.Reach.of_inputs(question.steps)
    found = []
    for number, layer in enumerate(network.layers, 1):
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
    contraction, name = promised.contraction, ", ".join(layer.state_names)
    log_factor = 0.0 if contraction.holds else None if contraction.value is None else log_of(contraction.value)
    states, computed, jacobian = "‖X_n‖₂, n ≤ N", "‖X̂_n‖₂ as computed", f"‖∂X_N/∂X_1‖₂, X = ({name})"
    gradients = [unknown(f"|dE/dθ|, θ = {each}", NOT_WRITTEN) for each, _ in layer.named_parameters()]
    if log_factor is None:
        why = "the step is not known to be Lipschitz: hL‖|A|‖ ≥ 1, and the field is not monotone"
        lines = [unknown(states, why), unknown(computed, why), unknown(jacobian, why)]
        return LayerBounds(number, (*lines, *gradients), (contraction.because + ".",))
    # in ‖x‖² = Σ x_i²/h_i where steps differ, so that norms are at most √(max h/min h) larger
    spread = float((sizes.max() / sizes.min()).sqrt()) if contraction.holds else 1.0
    tilt = log_of(spectra.upward(spread))
    grown = float(outward((steps - 1) * log_factor + (tilt if steps > 1 else 0.0), steps))
    lines = [_states(layer, field, states, log_factor, tilt, steps), unknown(computed, ROUNDED)]
    lines.append(QuantityBound(jacobian, grown, "thm-C-field"))
    if reach is None:
        lines.append(unknown(lipschitz.OVER_ALL, f"{promised.sensitivity.because}; or so in a layer below"))
    else:
        lines += lipschitz.lines(reach, "thm-in")
    return LayerBounds(number, (*lines, *gradients), (contraction.because + ".",))


def _states(
    layer: IntegratorLayer, field: Field, quantity: str, log_factor: float, tilt: float, steps: int
) -> QuantityBound:
    rest = log_at_rest(field)
    if rest is None:
        return unknown(quantity, f"{type(field).__name__} at rest is as large as its input")
    push = push_from_rest(layer.method, field, layer.step_sizes(), math.exp(rest))
    if push is None or layer.c is not None:
        return unknown(quantity, "no theorem here bounds one step from rest: hL‖|A|‖ ≥ 1, or steps differ")
    logs = linear_growth(log_factor, np.full(steps, log_of(push)))
    return QuantityBound(quantity, float(outward(logs[-1] + tilt)), "thm-C-field")


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
