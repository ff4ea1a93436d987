"""Bounds on the states of a trained UnICORNN: every claim of the registry about states, and thm-S neuron by neuron."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import flint
import numpy as np
import torch
from torch import Tensor

from odernn.bounds import sharp
from odernn.bounds.network import NetworkBounds, NeuronBounds
from odernn.bounds.numbers import BALLS, FLOATS
from odernn.cells.unicornn import UnICORNN
from verification.claim import Claim, Part, Premise, Setting, admissible
from verification.measure.hidden_state import envelope
from verification.measure.trained_network import effective_steps
from verification.registry import Registry
from verification.system import UNICORNN
from verification.trained import certificates
from verification.trained.row import HERE, BoundComparison, Certified, Row, judged, uncertified
from verification.trained.runs import Sample

ROOM = 1e-3
"""A violation that exceeds by more than this in the logarithm is no close one: certificates need some room."""
ROUNDED_STEP = 1 + Fraction(1, 2**40)
"""h = dt σ̂(c) in floats may lie below the exact one by some units of roundoff: the proof takes more."""


def rows(
    network: UnICORNN,
    states: Sequence[tuple[Tensor, Tensor]],
    sample: Sample,
    registry: Registry,
    *,
    log_largest: float,
) -> list[Row]:
    """A row for every part of every claim on states, of every layer."""
    of_claims = []
    for registered in registry.state_bounds():
        claim = registered.claim
        if claim.bound.system is not UNICORNN:
            continue
        for layer in range(1, network.num_layers + 1):
            of_claims += [_row(network, states, sample, claim, part, layer, log_largest) for part in claim.bound.parts]
    return of_claims


def _setting(network: UnICORNN, layer: int, steps: int, numbers: Any, step: Any, step_sizes: Any) -> Setting:
    return Setting.of(
        numbers,
        alpha=Fraction(float(network.alpha[layer - 1])),
        dt=Fraction(float(network.dt[layer - 1])),
        step=step,
        steps=steps,
        hidden_size=network.hidden_size,
        step_sizes=step_sizes,
    )


def _row(
    network: UnICORNN,
    states: Sequence[tuple[Tensor, Tensor]],
    sample: Sample,
    claim: Claim,
    part: Part,
    layer: int,
    log_largest: float,
) -> Row:
    steps = sample.steps
    n = np.arange(1.0, steps + 1)

    def setting(number: int) -> Setting:
        h = effective_steps(network.coefficients(number - 1)).numpy()
        return _setting(network, number, steps, FLOATS, n, h)

    row = Row(
        "bound",
        layer,
        part.symbol,
        claim.id,
        str(claim.source),
        claim.origin,
        premises=_premises(claim, [setting(number) for number in range(1, layer + 1)]),
        reading=HERE if claim.bound.asymptotic else "",
    )
    values = states[layer - 1][("position", "momentum").index(part.quantity)]

    def ask() -> BoundComparison:
        measured = envelope(values, part.norm).numpy()
        with np.errstate(divide="ignore"):
            logs = np.log(measured)

        bounds = np.broadcast_to(np.asarray(part.bound(setting(layer), FLOATS), float), (steps,))

        def certify(index: int) -> Certified:
            """At the first violation that is no close one, which takes the fewest steps; else at the largest."""
            clear = np.flatnonzero(logs - bounds > ROOM)
            certified = Certified(False, "")
            for place in dict.fromkeys([*clear[:1].tolist(), index]):
                worst = int(torch.argmax(_sizes(values[place], part.norm)))
                certified = certificates.of_state(
                    network, sample.inputs[:, worst], claim, part, layer=layer, step=place + 1, steps=steps
                )
                if certified.holds:
                    return replace(certified, because=f"{certified.because}, at n = {place + 1}")
            return certified

        return BoundComparison(
            log_bounds=bounds,
            log_measured=logs,
            certify=certify,
            place=lambda index: f"n = {index + 1}",
            proof=partial(_proof, network, claim, part, layer, steps),
            log_largest=log_largest,
            data=f"on {sample.count} sequences",
        )

    return judged(row, ask)


def _premises(claim: Claim, settings: Sequence[Setting]) -> tuple[Premise, ...]:
    """Each premise once, with its smallest margin over the layers up to the row's: those below feed it."""
    smallest: dict[str, tuple[float, bool]] = {}
    for setting in settings:
        for premise, margin, holds in admissible(claim.bound, setting):
            here = float(np.min(margin)), holds
            smallest[premise.text] = min(smallest.get(premise.text, here), here)
    return tuple(Premise(text, margin, holds) for text, (margin, holds) in smallest.items())


def _sizes(values: Tensor, norm: str) -> Tensor:
    """(K, hidden) -> (K,)."""
    return values.abs().amax(dim=1) if norm == "max" else values.square().sum(dim=1)


def _proof(network: UnICORNN, claim: Claim, part: Part, layer: int, steps: int) -> str:
    """thm-S ≤ the published bound for these weights' h and all n ≤ N, in balls: then no input violates it. Or "".

    By the forms that increase with h: the invariant one, αh² < 4, or that of α = 0. The largest h then covers all.
    """
    if claim.origin == "library":
        return ""
    h = Fraction(float(effective_steps(network.coefficients(layer - 1)).max())) * ROUNDED_STEP
    alpha = Fraction(float(network.alpha[layer - 1]))
    if not 0 <= alpha * h * h < 4:
        return ""
    with flint.ctx.workprec(128):
        factor = BALLS.exact(network.hidden_size).log() / 2 if part.norm == "euclidean" else BALLS.exact(0)
        for n in range(1, steps + 1):
            setting = _setting(network, layer, steps, BALLS, n, None)
            if not all(holds for *_, holds in admissible(claim.bound, setting)):
                return ""
            try:
                bound = part.bound(setting, BALLS)
            except TypeError:  # it asks for the steps of the neurons
                return ""
            if not factor + _supremum(alpha, h, n, part.quantity) <= bound:
                return ""
    return f"for these weights, every input and n ≤ {steps}: thm-S ≤ bound, in balls"


def _supremum(alpha: Fraction, h: Fraction, n: int, quantity: str) -> Any:
    step, size = BALLS.exact(n), BALLS.exact(h)
    if alpha == 0:
        return sharp.log_undamped_supremum(step_size=size, step=step, quantity=quantity, numbers=BALLS)
    return sharp.log_invariant_bound(
        alpha=BALLS.exact(alpha), step_size=size, step=step, quantity=quantity, numbers=BALLS
    )


def neuron_rows(
    states: Sequence[tuple[Tensor, Tensor]], bounds: NetworkBounds[NeuronBounds], sample: Sample
) -> list[Row]:
    """thm-S with each neuron's own h, rounded outward by ``odernn.bounds.certify``: the sharpest bound on states."""
    of_layers = []
    for layer, (pair, own) in enumerate(zip(states, bounds.layers, strict=True), 1):
        for values, logs, symbol in zip(pair, (own.log_positions, own.log_momenta), ("yₙ", "zₙ"), strict=True):
            sizes = values.abs().amax(dim=(0, 1)).numpy()

            def ask(sizes: Any = sizes, logs: Any = logs) -> BoundComparison:
                with np.errstate(divide="ignore"):
                    measured = np.log(sizes)
                return BoundComparison(
                    np.array(logs),
                    measured,
                    uncertified("the row of thm-S of this layer decides"),
                    place=lambda index: f"neuron {index + 1}",
                    log_largest=math.inf,
                    data=f"rounded outward, every input; on {sample.count} sequences",
                )

            row = Row(
                "bound", layer, f"abs({symbol}), each neuron", "thm-S", "library: docs/derivations/state_bounds.md"
            )
            of_layers.append(judged(row, ask))
    return of_layers
