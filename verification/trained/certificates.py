"""Violations seen on data, decided by the suite's two back-ends: of bounds on states, and of bounds on gradients.

The numbers of a network are rational, so is its input; what a back-end proves, it proves of these very weights. What
the back-ends do not cover (residual edges, both directions, the convention "sam", no c) stays a suspicion, with that
reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import torch
from torch import Tensor

from odernn.cells.unicornn import UnICORNN
from odernn.published.networks import ROWS, PublishedRow
from verification.certify.second import intervals as second
from verification.claim import Check, Claim, Parameters, Part, Place
from verification.exact_text import rational, rationals
from verification.instance import Group, Inputs, Instance, Layer
from verification.trained.row import Certified
from verification.witness.file import LONGEST_TEXT, Witness, to_json
from verification.witness.state_check import (
    MAX_NETWORK_WORK,
    MAX_WORK,
    first_opinion,
    network_work,
    second_opinion,
    work,
)
from verification.witness.state_run import FREE, StateRun, record
from verification.witness.text import MAX_BYTES

READ_HERE = 'the statement asks for a "sufficiently small" dt and names none: read at the dt of this network'


def cannot(network: UnICORNN) -> str:
    """Why no certificate covers this network; "" if they do."""
    if network.bidirectional:
        return "no certificate covers both directions"
    if network.index != "icml":
        return 'no certificate covers the index convention "sam"'
    if any(layer.Lambda is not None for layer in network.layers):
        return "no certificate covers residual edges"
    if not network.multiscale:
        return "no certificate covers layers without c"
    if len(set(network.alpha.tolist())) > 1:
        return "no certificate covers several α"
    return ""


def instance_of(network: UnICORNN, inputs: Tensor, layers: int) -> Instance:
    """The first ``layers`` layers on the inputs (time, input) of one sequence, every number exact."""
    network, exact_layers = network.unlimited(), []
    for number, layer in enumerate(network.layers[:layers]):
        w, c = _exact(layer.w), _exact(layer.c)
        b = _exact(layer.b) if layer.b is not None else [Fraction(0)] * len(w)
        groups = tuple(Group(1, *of_neuron) for of_neuron in zip(w, c, b, strict=True))
        weights = tuple(tuple(_exact(row)) for row in layer.V)
        exact_layers.append(Layer(Fraction(float(network.dt[number])), groups, weights))
    runs = tuple((1, tuple(_exact(row))) for row in inputs)
    return Instance(Fraction(float(network.alpha[0])), tuple(exact_layers), Inputs(inputs.shape[1], runs))


def _exact(values: Tensor | None) -> list[Fraction]:
    assert values is not None
    return [Fraction(value) for value in values.detach().double().tolist()]


def of_state(
    network: UnICORNN, inputs: Tensor, claim: Claim, part: Part, *, layer: int, step: int, steps: int
) -> Certified:
    """Does the layer (from 1) violate the part at n = ``step`` of N = ``steps`` on these inputs (time, input)?"""
    if reason := cannot(network):
        return Certified(False, reason)
    instance = instance_of(network, inputs, layer).truncated(step)
    row = row_of(network, steps) if claim.bound.asymptotic else None
    if row is not None:  # these weights at the printed decimals, which floats only come near to
        layers = tuple(replace(one_layer, dt=dt) for one_layer, dt in zip(instance.layers, row.dt, strict=False))
        instance = replace(instance, alpha=row.alpha, layers=layers)
    where = {"layer": layer, "step": step}
    if work(instance, **where) > MAX_WORK and network_work(instance, **where) > MAX_NETWORK_WORK:
        return Certified(False, f"{step} steps of {network.hidden_size} neurons are too many for the certificates")
    outcome = first_opinion(claim, part, instance, **where, steps=steps)
    if not outcome.is_refutation:
        unproved = [text for text, _, proved in outcome.premises if not proved]
        return Certified(False, f"premise {unproved[0]} is not proved" if unproved else f"the balls: {outcome.status}")
    if not second.is_refutation(second_opinion(claim, part, instance, **where, steps=steps)):
        return Certified(False, "the second back-end does not confirm the violation, premises included")
    because = f"certified at {outcome.bits} bits by two back-ends"
    reading = ""
    if claim.bound.asymptotic:
        if row is None:
            return Certified(True, f"{because}; {READ_HERE}, and there is no witness file")
        reading, because = "printed", f"{because}; the statement read at its printed hyperparameters"
    run = StateRun(layer, step, steps, instance, record(outcome.measured[0]), record(outcome.bound[1]))
    return Certified(True, because, to_json(Witness(claim.id, reading or FREE, part.symbol, run)), reading)


def row_of(network: UnICORNN, steps: int) -> PublishedRow | None:
    """The row of Table 6 whose hyperparameters this network has: its α and dt are the floats next to the decimals."""
    sizes = (network.hidden_size, network.input_size, steps)
    own = (*network.alpha.tolist()[:1], *network.dt.tolist())
    for row in ROWS:
        printed = [float(decimal) for decimal in (row.alpha, *row.dt)]
        if sizes == (row.hidden_size, row.input_size, row.steps) and list(own) in (printed, _in_float32(printed)):
            return row
    return None


def _in_float32(values: Sequence[float]) -> list[float]:
    return torch.tensor(values, dtype=torch.float32).tolist()


def of_gradient(
    network: UnICORNN,
    inputs: Tensor,
    theta: str,
    check: Callable[[Parameters], Check],
    *,
    layer: int,
    entry: Sequence[int],
    witness_of: tuple[str, Place] | None,
) -> Certified:
    """Does |dE/dθ|, E = (1/N) Σ ½|y^L_n|², exceed the bound of ``check`` for that entry of ``theta`` of the layer?

    ``layer`` counts from 1, ``entry`` from 0: a neuron, and for V also the neuron or channel below. inputs (time,
    input). ``witness_of``: the claim, and its place with this check, that a witness is against.
    """
    if reason := cannot(network):
        return Certified(False, reason)
    dt = {float(value) for value in network.dt}
    if len(dt) > 1:
        return Certified(False, "no certificate covers several dt")
    if any(one_layer.b is None for one_layer in network.layers):
        return Certified(False, "no certificate covers layers without b")
    flat = {
        name: [v for one_layer in network.layers for v in _exact(getattr(one_layer, name))] for name in ("w", "c", "b")
    }
    parameters = {
        "alpha": rational(float(network.alpha[0])),
        "dt": rational(dt.pop()),
        "N": str(len(inputs)),
        "m": str(network.hidden_size),
        "layer": str(layer),
        "neuron": str(entry[0] + 1),
        **({"source": str(entry[1] + 1)} if theta == "V" else {}),
        **{name: rationals(values) for name, values in flat.items()},
        **{f"V{q}": rationals(_exact(one_layer.V.flatten())) for q, one_layer in enumerate(network.layers, 1)},
        "u": rationals(_exact(inputs.flatten())),
        "target": " ".join("0" for _ in range(network.hidden_size)),
    }
    try:
        checked = check(parameters)
    except ValueError as error:  # more work than the certificates take on
        return Certified(False, str(error).rstrip("."))
    if unproved := [premise.text for premise in checked.premises if not premise.holds]:
        return Certified(False, f"premise {unproved[0]} is not proved")
    if not all(opinion.violated for opinion in checked.opinions):
        return Certified(False, "; ".join(f"{opinion.backend}: {opinion.text}" for opinion in checked.opinions))
    because = f"certified by two back-ends: {checked.words}"
    if witness_of is None:
        return Certified(True, f"{because}; {READ_HERE}, and there is no witness file")
    claim, place = witness_of
    text = to_json(Witness(claim, place.domain, place.quantity, parameters))
    if max(map(len, parameters.values())) > LONGEST_TEXT or len(text) > MAX_BYTES:
        return Certified(True, f"{because}; the network is too large for a witness file")
    return Certified(True, because, text)
