"""Gradients of chains of single neurons against a printed form: at one dt by the recursion, and for all smaller dt.

Networks are chains of single neurons with c = 0. Those at rest (zero bias and input, or V^1 = 0) have y = 0, A = 0 and
σ' = 1, and only the target ȳ and the derivatives are not zero. With W = −(α + w) > 0, h = dt/2, τ = T/2,

    [B^m]_12 = sinh(mρ)/(√W q),   ρ = 2 asinh(h√W/2),   q = √(1 + h²W/4),                             thm-J(c)

and sums of sinh, cosh over steps exceed the integrals, with h/ρ ≥ 1/√W. At fixed T, R₀ the value at dt of Nρ, and for
every smaller dt at the same T:

    L = 1, θ = b         |dE/db| = (ȳ/N) Σ_n h Σ_{m≤n} [B^m]_12 ≥ ȳ (sinh(R₀)/R₀ − 1)/(W q)
    L = 1, θ = b, k = 1  |∂E_k/∂b|/dt ≥ ȳ sinh(R₀)/(2√W q)
    L = 2, κ_2 = 0, l = k = 1   |∂E_k/∂b|/dt ≥ ȳ|V|(sinh(R₀) − R₀)/(2 W^{3/2} q)
    L = 1, κ = 0, θ = V^1       |dE/dV| = ȳ|u| (1/N) Σ τ_n(τ_n + h)/2 ≥ ȳ|u|τ²/6
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Protocol

from odernn.published.networks import PublishedRow
from verification.cases.inequality import ALPHA_POSITIVE, STEP_BELOW_ONE, Inequality
from verification.cases.network_gradient import NetworkGradient
from verification.cases.nominate import growth_exponent_in_balls, growth_exponent_in_intervals
from verification.certify.neuron_chain import LISTS, NeuronChain
from verification.certify.second import intervals as second
from verification.certify.second.neuron_chain import Adjoints
from verification.claim import Hypothesis, Parameters
from verification.exact_text import rational, rationals
from verification.parameters import Declaration

PREMISES = (
    ALPHA_POSITIVE,
    STEP_BELOW_ONE,
    Hypothesis("N ≥ 1, a whole number", lambda p: p.N if p.N.denominator == 1 else Fraction(0)),
    Hypothesis("1 ≤ l ≤ L, whole", lambda p: Fraction(p.layer.denominator == 1 and 1 <= p.layer <= len(p.w))),
)


class RightSide(Protocol):
    """A form of the right side, of |dE/dθ| or of one summand: a ball and an interval. They see the parameters, and the
    run in ``states``.
    """

    @property
    def of_one_step(self) -> bool: ...

    def ball(self, p: Any) -> Any: ...

    def interval(self, p: Any) -> Any: ...


def finite(
    form: RightSide,
    theta: str,
    extra: tuple[Hypothesis, ...] = (),
    parameters: Declaration | None = None,
    premises: tuple[Hypothesis, ...] = PREMISES,
) -> Inequality:
    """|dE/dθ|, or |∂E^{(N,L)}_{1,l}/∂θ| for the summands, by the recursion itself, θ of p.layer: of a chain of single
    neurons, and |dE/dθ| of a whole network, too, if the parameters describe one.
    """

    def balls(p: Any) -> tuple[Any, Any]:
        p.states = chain = NeuronChain(p)
        layer = round(float(p.layer))
        left = chain.contribution(layer, theta, 1) if form.of_one_step else chain.gradient(layer, theta)
        return left, form.ball(p)

    def intervals(p: Any) -> tuple[Any, Any]:
        p.states = chain = Adjoints(p)
        layer = int(p.texts["layer"])
        left = chain.contribution(layer, theta, 1) if form.of_one_step else chain.gradient(layer, theta)
        return left, form.interval(p)

    premises = (*premises, *extra)
    whole = None if form.of_one_step else NetworkGradient(theta, form.ball, form.interval, premises).decide
    return Inequality(balls, intervals, premises, lists=LISTS, parameters=parameters, network=whole)


def at_rest(
    alpha: Fraction, dt: Fraction, steps: int, w: list[Fraction], *, layer: int = 1, target: int = 1, u: int = 0
) -> Parameters:
    """V = 1 between layers; V^1 = 0."""
    return {
        "alpha": rational(alpha),
        "dt": rational(dt),
        "N": str(steps),
        "layer": str(layer),
        "w": rationals(w),
        "V": " ".join(["0", *["1"] * (len(w) - 1)]),
        "b": " ".join("0" for _ in w),
        "u": str(u),
        "target": str(target),
    }


def hyperbolic() -> Iterator[Parameters]:
    for horizon, W, dt in itertools.product((1, 5, 10, 20, 40), (1, 4, 16), (Fraction(1, 4), Fraction(1, 20))):
        yield at_rest(Fraction(1), dt, int(horizon / dt), [Fraction(-1 - W)])


_ROOTS, _FINER = (16, 24, 32, 48, 64, 80), (20, 50, 100, 400)


def within_one(depth: int = 1) -> Iterator[Parameters]:
    """T = 1: w^1 = −1 − W at larger and larger W, on top, if there are two layers, κ = 0."""
    for root, steps in itertools.product(_ROOTS, _FINER):
        yield at_rest(Fraction(1), Fraction(1, steps), steps, [Fraction(-1 - root**2), Fraction(-1)][:depth])


def stiff_below(depth: int = 2) -> Iterator[Parameters]:
    """T = 1, dt = 1/10: w^L = −1 = −α, all layers below stiffer and stiffer."""
    for size in (10, 100, 1000, 10**4, 10**5):
        yield at_rest(Fraction(1), Fraction(1, 10), 10, [*[Fraction(-size)] * (depth - 1), Fraction(-1)])


def inputs() -> Iterator[Parameters]:
    """One neuron, α = 1, w = −1, V^1 = 0: it rests whatever u is."""
    for power in range(1, 16):
        yield at_rest(Fraction(1), Fraction(1, 10), 10, [Fraction(-1)], u=10**power)


def two_layers() -> Iterator[Parameters]:
    for horizon, W in itertools.product((5, 10, 20, 40), (4, 16)):
        yield at_rest(Fraction(1), Fraction(1, 20), 20 * horizon, [Fraction(-1 - W), Fraction(-1)])


def of_row(row: PublishedRow, theta: str) -> Iterator[Parameters]:
    """α, dt of the top layer, N, L of a row of Table 6; θ = V^1: inputs of any size; θ = b^L: w^L < −α, V = 0."""
    if theta == "V":
        for power in range(6, 40, 3):
            yield at_rest(row.alpha, row.dt[-1], row.steps, [-row.alpha] * row.num_layers, u=10**power)
        return
    for W in (1, 2, 4, 8, 16, 32):
        w = [*[Fraction(0)] * (row.num_layers - 1), -row.alpha - W]
        point = at_rest(row.alpha, row.dt[-1], row.steps, w, layer=row.num_layers)
        yield {**point, "V": " ".join(["0"] * row.num_layers)}


# --- dt → 0

AT_REST = (
    Hypothesis("at rest: b = 0, V^1 = 0", lambda p: Fraction(p.V[0] == 0 and not any(p.b))),
    Hypothesis("one target", lambda p: Fraction(len(p.target) == 1)),
)


def uniform(form: RightSide, theta: str) -> Inequality:
    """The lower bounds of the docstring above, for all dt' ≤ dt at the same T; summands over dt.

    The right sides of icml do not depend on dt but by dt^{L−l}, which is largest at dt.
    """
    depth = 2 if form.of_one_step and theta == "b2" else 1

    def balls(p: Any) -> tuple[Any, Any]:
        h, tau, target = p.dt / 2, p.dt * p.N / 2, abs(p.target[0])
        if theta == "V":
            return target * abs(p.u[0]) * tau**2 / 6, form.ball(p)
        W = -p.alpha - p.w[0]
        R, q = growth_exponent_in_balls(W, h, tau), (1 + h * h * W / 4).sqrt()
        if not form.of_one_step:
            return target * (R.sinh() / R - 1) / (W * q), form.ball(p)
        if depth == 1:
            return target * R.sinh() / (2 * W.sqrt() * q), form.ball(p) / p.dt
        return target * abs(p.V[1]) * (R.sinh() - R) / (2 * W * W.sqrt() * q), form.ball(p) / p.dt

    def intervals(p: Any) -> tuple[Any, Any]:
        iv = second.iv
        time, size = int(p.texts["N"]) * p.dt / 2, abs(p.target[0])
        if theta == "V":
            return abs(p.u[0]) * size * time * time / 6, form.interval(p)
        stiff = -(p.w[0] + p.alpha)
        exponent = growth_exponent_in_intervals(stiff, p.dt / 2, time)
        up = iv.exp(exponent)
        sinh, root = (up - 1 / up) / 2, iv.sqrt(stiff * (1 + (p.dt / 4) ** 2 * stiff))  # √W q
        if not form.of_one_step:
            return (sinh / exponent - 1) * size / (root * iv.sqrt(stiff)), form.interval(p)
        if depth == 1:
            return sinh * size / root / 2, form.interval(p) / p.dt
        return (sinh - exponent) * abs(p.V[1]) * size / (root * stiff * 2), form.interval(p) / p.dt

    conditions = [*AT_REST, Hypothesis("l = 1", lambda p: Fraction(p.layer == 1))]
    if theta == "V":
        conditions += [
            Hypothesis("L = 1, w = −α, so that κ = 0", lambda p: Fraction(len(p.w) == 1 and p.w[0] == -p.alpha)),
            Hypothesis("one input", lambda p: Fraction(len(p.u) == 1)),
        ]
    else:
        conditions.append(Hypothesis("w^1 < −α", lambda p: -p.alpha - p.w[0]))
        conditions.append(Hypothesis(f"L = {depth}", lambda p: Fraction(len(p.w) == depth)))
    if depth == 2:
        conditions.append(Hypothesis("w^2 = −α, so that κ = 0", lambda p: Fraction(p.w[1] == -p.alpha)))
    return Inequality(balls, intervals, tuple(conditions), lists=LISTS)
