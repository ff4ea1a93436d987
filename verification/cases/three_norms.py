"""The product of three norms (sam (68), icml S(41)) in a stack of two layers: θ = b^1 of neuron 1 at step k."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint

from verification.cases.inequality import BITS
from verification.certify.second import exact_network as exact_network_again
from verification.certify.second import intervals as second
from verification.claim import Check, Opinion, Parameters
from verification.exact_text import numbers
from verification.kinds import Integer, Listed, Rational
from verification.measure import exact_network
from verification.measure.exact_network import Shape
from verification.measure.polynomials import coefficient
from verification.parameters import Parameter, Rule


def equal_outputs(neurons: int) -> Parameters:
    """All layers at rest, κ = 0; neuron 1 of layer 1 feeds every neuron of layer 2, all with the same target."""
    steps = 12
    V = ["0"] * neurons**2 + ["1" if j % neurons == 0 else "0" for j in range(neurons**2)]
    shape = Shape(2, neurons, steps)
    network = exact_network.small_network(shape, alpha="1", dt="9/10", w="-1", V=" ".join(V))
    return {**network, "target": " ".join(["1"] * neurons), "k": "1"}


def three_norms_in_balls(parameters: Parameters, factor: Fraction) -> tuple[Any, Any]:
    k, target = int(numbers(parameters, "k")[0]), [coefficient(t) for t in numbers(parameters, "target")]
    network, states = exact_network.typed(parameters, "icml")
    n, L, m = network.steps, network.layers, network.neurons
    error = [flint.arb(y) - t for y, t in zip(states[n][L - 1][0], target, strict=True)]
    jacobian = network.total(L, n, 1, k)
    h = network.weights.h[0][0]
    kick = -h * network.slopes[k][0][0]
    x = [h * kick, kick]
    left = abs(sum((e * (jacobian[2 * i][0] * x[0] + jacobian[2 * i][1] * x[1]) for i, e in enumerate(error)), 0 * h))
    norms = [_largest(error), flint.arb(0), _largest(x)]
    for row in jacobian:
        norms[1] = norms[1].max(sum((abs(flint.arb(entry)) for entry in row), flint.arb(0)))
    assert len(error) == m
    return left, norms[0] * norms[1] * norms[2] * coefficient(factor)


def _largest(values: Sequence[Any]) -> Any:
    """The largest modulus of balls."""
    return functools.reduce(lambda largest, value: largest.max(abs(value)), values, flint.arb(0))


def three_norms_in_intervals(parameters: Parameters, factor: Fraction) -> tuple[Any, Any]:
    iv = exact_network_again.iv
    network = exact_network_again.IntervalNetwork(dict(parameters), False)
    k, target = int(parameters["k"]), exact_network_again.exact(parameters["target"])
    jacobian = network.total(network.L, network.N, 1, k)
    rate = network.h[1][0] * network.s[k][1][0]
    moved = [-network.h[1][0] * rate, -rate]
    errors = [y - t for y, t in zip(network.y[network.N][network.L], target, strict=True)]
    left = sum(
        (errors[i] * (jacobian[2 * i][0] * moved[0] + jacobian[2 * i][1] * moved[1]) for i in range(network.m)),
        iv.mpf(0),
    )
    sizes = (
        max(abs(e).b for e in errors),
        max(sum((abs(entry) for entry in row), iv.mpf(0)).b for row in jacobian),
        max(abs(v).b for v in moved),
    )
    right = iv.mpf(sizes[0]) * sizes[1] * sizes[2] * factor.numerator / factor.denominator
    return abs(left), right


THREE_NORMS = exact_network.declared_network(
    [Shape(2, 1, 12), Shape(2, 4, 12)],
    Parameter("target", Listed(Rational(), "neurons")),
    Parameter("k", Integer(1, 12)),
    rules=(Rule("1 ≤ k ≤ n", lambda values: values["k"] < len(values["u"])),),
)


def three_norms_check(parameters: Parameters, factor: Fraction = Fraction(1)) -> Check:
    """θ = b^1 of neuron 1 at step k: the signed sum over the outputs against the product of the three norms."""
    with flint.ctx.workprec(BITS):
        left, right = three_norms_in_balls(parameters, factor)
        text = f"{left.str(8, radius=False)} against {right.str(8, radius=False)}"
        first = Opinion("balls", bool(left > right), text)
        logs = tuple(float(side.log().mid()) if side > 0 else None for side in (left, right))
    with second.iv.workprec(BITS):
        again = three_norms_in_intervals(parameters, factor)
        shown = f"left at least {float(again[0].a.mid):.8g}, right at most {float(again[1].b.mid):.8g}"
        other = Opinion("mpmath", bool(again[0].a > again[1].b), shown)
    m, N = parameters["neurons"], len(numbers(parameters, "u")) // int(parameters["neurons"]) - 1
    return Check(
        opinions=(first, other),
        words=f"L = 2, m = {m}, α = {parameters['alpha']}, w = {_plain(parameters['w'])}, dt = {parameters['dt']}, "
        f"n = {N}, k = {parameters['k']}, θ = b^1 of neuron 1: the sum over the {m} outputs is {text}",
        log_measured=logs[0] if None not in logs else None,
        log_claimed=logs[1] if None not in logs else None,
    )


def three_norms_look(parameters: Parameters, factor: Fraction = Fraction(1)) -> bool:
    """Whether the balls alone find it violated."""
    with flint.ctx.workprec(BITS):
        left, right = three_norms_in_balls(parameters, factor)
        return bool(left > right)


def _plain(text: str) -> str:
    """A list whose entries are all the same number as that number."""
    entries = set(text.split())
    return (entries.pop() if len(entries) == 1 else text).replace("-", "−")
