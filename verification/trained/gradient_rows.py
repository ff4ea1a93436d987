"""Bounds on |dE/dθ| of a trained UnICORNN: the propositions of the papers, thm-G, and thm-G for the task's own loss.

The papers' E = (1/N) Σ_n ½|y^L_n − ȳ_n|² speaks of the last layer's states; it is measured with ȳ = 0, so that Ȳ = 0.
Of another loss, thm-G bounds the gradient in proportion to the largest |∂E_n/∂y^L_n|, which is measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint
import torch
from torch import Tensor

from odernn.bounds.network import NetworkBounds, NeuronBounds
from odernn.bounds.numbers import BALLS
from odernn.cells.unicornn import UnICORNN
from verification.cases.inequality import ALPHA_POSITIVE, STEP_BELOW_ONE, T_AT_MOST_ONE
from verification.cases.network_gradient import ANY_NETWORK, NetworkGradient, quantity_of
from verification.claim import Claim, Hypothesis, Place, Premise
from verification.measure.gradient_forms import ICML_14, ICML_MAIN, SAM_13, SAM_41, GradientForm
from verification.registry import Registry
from verification.trained import certificates
from verification.trained.row import HERE, BoundComparison, Certified, Row, judged, uncertified
from verification.trained.runs import LossGradients, Sample, log_size

PUBLISHED: Mapping[str, GradientForm] = {
    "sam-3.2": SAM_13,
    "sam-D.2": SAM_41,
    "icml-3.1": ICML_MAIN,
    "icml-C.2": ICML_14,
}
"""Statements of the registry and their right sides."""
OUTWARD = 1e-12
"""Added to a scaled bound: more than its three float operations can lose."""


def published_rows(
    network: UnICORNN, gradients: Mapping[str, float], sample: Sample, registry: Registry, *, log_largest: float
) -> list[Row]:
    """One row a statement and layer: its largest |dE/dθ| over w, b, c, V and Λ against the right side, the same for
    all of them.
    """
    claims = [registry.get(name).claim for name in PUBLISHED]
    return [
        _published_row(network, gradients, sample, claim, layer, log_largest)
        for claim in claims
        for layer in range(1, network.num_layers + 1)
    ]


def _published_row(
    network: UnICORNN,
    gradients: Mapping[str, float],
    sample: Sample,
    claim: Claim,
    layer: int,
    log_largest: float,
) -> Row:
    form, source = PUBLISHED[claim.id], str(claim.source)
    own = {key.rpartition(".")[2]: value for key, value in gradients.items() if key.startswith(f"layers.{layer - 1}.")}
    theta = max(own, key=lambda key: (math.isnan(own[key]), own[key]))
    premises = premises_of(network, form, sample.steps)
    reading = HERE if claim.is_asymptotic else ""
    row = Row("bound", layer, "abs(dE/dθ)", claim.id, source, "published", premises=premises, reading=reading)

    def ask() -> BoundComparison:
        return BoundComparison(
            log_bounds=log_right_side(network, form, sample.steps, layer),
            log_measured=log_size(own[theta]),
            certify=lambda _: _certified(network, sample, claim, theta, layer),
            place=lambda _: f"θ = {theta}",
            log_largest=log_largest,
            data=f"on {sample.count} sequences, ȳ = 0",
        )

    return judged(row, ask)


def premises_of(network: UnICORNN, form: GradientForm, steps: int) -> tuple[Premise, ...]:
    """Of a proposition of the papers, as exact as the certificates have them: N dt may exceed 1 by less than a float
    shows.
    """
    dt, alpha = Fraction(float(network.dt.max())), float(network.alpha.min())
    spread = max(float(values.max() - values.min()) for values in (network.dt, network.alpha))
    edges = sum(layer.Lambda is not None for layer in network.layers)
    horizon = steps * dt
    return (
        Premise("α > 0", alpha, alpha > 0),
        Premise("dt < 1", float(1 - dt), dt < 1),
        Premise("one dt, one α, no Λ", None, spread == 0 and edges == 0),
        *([Premise("T = N dt ≤ 1", float(1 - horizon), horizon <= 1)] if form.growth == "one" else []),
    )


def log_right_side(network: UnICORNN, form: GradientForm, steps: int, layer: int) -> float:
    """log of the right side at Ȳ = 0, in balls of 128 bits."""
    with flint.ctx.workprec(128):

        def ball(value: float) -> Any:
            return BALLS.exact(Fraction(value))

        at = SimpleNamespace(
            alpha=ball(float(network.alpha[0])),
            dt=ball(float(network.dt[0])),
            N=ball(steps),
            layer=ball(layer),
            m=ball(network.hidden_size),
            target=[ball(0)],
            w=[ball(float(one_layer.w.detach().double().abs().max())) for one_layer in network.unlimited().layers],
            V=[ball(float(one_layer.V.detach().double().abs().sum(dim=1).max())) for one_layer in network.layers],
        )
        return float(form.ball(at).log().mid())


def _conditions(form: GradientForm) -> tuple[Hypothesis, ...]:
    shared = (ALPHA_POSITIVE, STEP_BELOW_ONE)
    return (*shared, T_AT_MOST_ONE) if form.growth == "one" else shared


def _certified(network: UnICORNN, sample: Sample, claim: Claim, theta: str, layer: int) -> Certified:
    """The entry of the sequence in which it is largest, decided by both back-ends."""
    if theta not in ("w", "b", "c", "V"):
        return Certified(False, f"no certificate covers θ = {theta}")
    worst: tuple[float, int, tuple[int, ...]] = (-1.0, 0, ())
    for index in range(sample.count):
        gradient = _gradient(network, sample.one(index), theta, layer)
        place = int(gradient.abs().argmax())
        size = float(gradient.abs().flatten()[place])
        if size > worst[0]:
            worst = size, index, tuple(int(i) for i in torch.unravel_index(torch.tensor(place), gradient.shape))
    form = PUBLISHED[claim.id]
    bound = NetworkGradient(theta, form.ball, form.interval, _conditions(form)).check
    at = _place(claim, theta)
    return certificates.of_gradient(
        network,
        sample.inputs[:, worst[1]],
        theta,
        at.check if at else bound,
        layer=layer,
        entry=worst[2],
        witness_of=(claim.id, at) if at else None,
    )


def _place(claim: Claim, theta: str) -> Place | None:
    """Where a witness against the statement would be checked; icml's asks for a limit, which no network is."""
    for place in claim.places:
        if (place.domain, place.quantity) == (ANY_NETWORK, quantity_of(theta)):
            return place
    return None


def _gradient(network: UnICORNN, one: Sample, theta: str, layer: int) -> Tensor:
    rows = network(one.inputs, execution="torch")[0]
    (gradient,) = torch.autograd.grad((rows**2).sum() / (2 * one.steps), [getattr(network.layers[layer - 1], theta)])
    return gradient


# --- the library's own


def theorem_rows(gradients: Mapping[str, float], bounds: NetworkBounds[NeuronBounds], sample: Sample) -> list[Row]:
    """thm-G, thm-G-turns, thm-G-inf, rounded outward: of every parameter, for E of the papers with ȳ = 0."""
    return _theorem_rows(gradients, bounds, sample, shift=0.0, loss="")


def loss_rows(loss: LossGradients, bounds: NetworkBounds[NeuronBounds], sample: Sample) -> list[Row]:
    """The same for the task's loss: its bound on |∂E_n/∂y^L_n| in place of Ŷ_L, that of ȳ = 0."""
    if loss.error == 0:
        return []
    parameters, log_error = loss.parameters, log_size(loss.error)
    if not math.isfinite(log_error):  # then there is no bound to speak of: every row says that the run is not finite
        parameters, log_error = dict.fromkeys(parameters, math.nan), 0.0
    shift = log_error - bounds.layers[-1].log_position + OUTWARD
    return _theorem_rows(parameters, bounds, sample, shift=shift, loss=sample.spec.loss)


def _theorem_rows(
    gradients: Mapping[str, float], bounds: NetworkBounds[NeuronBounds], sample: Sample, *, shift: float, loss: str
) -> list[Row]:
    rows = []
    for layer in bounds.layers:
        for parameter, bound in layer.gradients.items():
            size = gradients[f"layers.{layer.layer - 1}.{parameter}"]
            quantity = f"abs(dE/d{parameter})" + (f", E the {loss}" if loss else "")
            row = Row("bound", layer.layer, quantity, bound.theorem, "library: docs/derivations/gradient_bounds.md")

            def ask(log_bound: float = bound.value + shift, size: float = size) -> BoundComparison:
                return BoundComparison(
                    log_bound,
                    log_size(size),
                    uncertified("no certificate of thm-G decides a network"),
                    data=f"rounded outward; on {sample.count} sequences" + ("" if loss else ", ȳ = 0"),
                    log_largest=math.inf,
                )

            rows.append(judged(row, ask))
    return rows
