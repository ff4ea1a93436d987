# Claims: both-3-novanish-ODE
"""Whether the hidden state gradients of the differential equation vanish: sam Sec. 3, after (8).

One neuron, y' = z, z' = −(tanh A + αy), A = w y + V u + b, and its sensitivities (8), for θ in {w, V, b}:

    y_θ' = z_θ,   z_θ' = −(α + w σ'(A)) y_θ − σ'(A) C,   C = y, u, 1,   y_θ(0) = z_θ(0) = 0.

"Do not vanish" is read in four ways. Two are about what (8) gives from its zero start: not as small as one likes on
[0, t] as parameters vary (bounded ones, or all); not tending to 0 as t → ∞ (bounded pre-activations, or all). Two are
about a change of θ at time s alone, which is a start other than 0: one change; or all of them, the norm of the
fundamental matrix Φ(t, s). Not asked is whether (8) is 0 for ever: for θ = w, V it is where b = u = 0 and the network
itself stands still, which says nothing about gradients.

An input is named by the pre-activation that it makes, u = (A − b − w y)/V, or by the slope σ'(A) in (0, 1]: where that
is piecewise constant, (8) has closed forms. |(y, z)| is the larger of |y| and |z|.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from flint import arb

from odernn.bounds.numbers import BALLS
from odernn.published.sources import Source
from verification.cases.identity import PolynomialIdentity
from verification.cases.inequality import ALPHA_POSITIVE, Inequality
from verification.cases.nominate import first_violation
from verification.cases.rest_sensitivities import (
    ALPHA_NOT_NEGATIVE,
    LATER,
    LATEST,
    MOST,
    SMALL,
    ends,
    fading_case,
    floor_case,
    return_case,
    saturation_case,
    worded,
)
from verification.certify import linear_flow
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Claim, Hypothesis, Parameters
from verification.domains import Budget
from verification.exact_text import number, numbers, rational, rationals
from verification.kinds import Listed, Rational, Values
from verification.parameters import Parameter, Rule, declared

Theta: TypeAlias = Literal["w", "V", "b"]


# --- a change of θ at time s alone


CYCLES = 40


def off_resonance(alpha: Fraction, kappas: Sequence[Fraction]) -> Fraction:
    """> 0 only if det(I − M) ≠ 0, M the map of the neuron's own (y, z) over t₁ + t₂, t_i = π/(2√κ_i), α, κ_i > 0.

    At a constant pre-activation (2) turns (√α y, z) about a centre, so M is a turn by √α(t₁ + t₂) with a fixed point:
    det(I − M) = 2 − 2cos √α(t₁ + t₂) vanishes only if √r₁ + √r₂ = 4k, r_i = α/κ_i, k = 1, 2, … Over Q: then 4k is a
    root of x⁴ − 2(r₁ + r₂)x² + (r₁ − r₂)², whose roots are ±√r₁ ± √r₂. Smallest |value| at 4k ≤ √(2(r₁ + r₂)).
    """
    if len(kappas) != 2 or min(alpha, *kappas) <= 0:
        return Fraction(-1)
    one, two = (alpha / kappa for kappa in kappas)
    last = math.isqrt(math.ceil(2 * (one + two))) // 4 + 1
    squares = [Fraction(4 * k) ** 2 for k in range(1, last + 1)]
    return min(abs(x * x - 2 * (one + two) * x + (one - two) ** 2) for x in squares)


def _turns(values: Values) -> bool:
    return all(
        0 < kappa >= values["alpha"] / 10**6 for kappa in (values["alpha"] + values["w"] * s for s in values["slopes"])
    )


def _kicked_in_balls(p: Any) -> tuple[Any, Any]:
    """1/1000 of the change, and its size after all turns."""
    y, z = arb(0), arb(1)
    for _ in range(CYCLES):
        for s in p.slopes:
            kappa = p.alpha + p.w * s
            y, z = linear_flow.in_balls(y, z, kappa, arb(0), arb.pi() / (2 * kappa.sqrt()))
    return BALLS.exact(SMALL), abs(y).max(abs(z))


def _kicked_in_intervals(p: Any) -> tuple[Any, Any]:
    iv = second.iv
    y, z = iv.mpf(0), iv.mpf(1)
    for _ in range(CYCLES):
        for s in p.slopes:
            kappa = s * p.w + p.alpha
            y, z = linear_flow.in_intervals(y, z, kappa, iv.mpf(0), iv.pi / iv.sqrt(kappa) / 2)
    return iv.mpf(SMALL.numerator) / SMALL.denominator, iv.mpf(ends(abs(y), abs(z)))


def _decays(p: Any) -> str:
    """The argument for t − s → ∞, if the second slope is the slower one."""
    kappas = [p.alpha + p.w * s for s in p.slopes]
    if len(kappas) != 2 or not 0 < kappas[1] < kappas[0]:
        return ""
    return (
        "thm-J (d): a quarter period at κ takes (y, z) to (z/√κ, −√κ y), so each pair multiplies (0, 1) by "
        f"−√(κ₂/κ₁), κ₂/κ₁ = {kappas[1] / kappas[0]} < 1 over Q, for ever: the rate is "
        "log(κ₁/κ₂)/(π(1/√κ₁ + 1/√κ₂)) per unit of time, with bounded pre-activations; over a pair (√α y, z) of "
        "the neuron turns by an angle that is no multiple of 2π about a fixed point, so its states, and the "
        "inputs, stay bounded"
    )


def kick_case(weights: Sequence[Fraction] = (Fraction(1), Fraction(-1, 2))) -> Case:
    """What a change at time s alone leaves at t, (8) from (0, 1) with C = 0, does not decay exponentially in t − s.

    Two slopes in turn, each for its quarter period π/(2√κ_i), κ_i = α + w s_i: (0, 1) → (1/√κ₁, 0) → (0, −√(κ₂/κ₁)).
    """

    premises = (
        ALPHA_POSITIVE,
        Hypothesis("κ > 0", lambda p: min(p.alpha + p.w * s for s in p.slopes)),
        Hypothesis("slopes in (0, 1]", lambda p: Fraction(1 if all(0 < s <= 1 for s in p.slopes) else -1)),
        Hypothesis(
            "the neuron is off resonance, det(I − M) ≠ 0: its states are bounded",
            lambda p: off_resonance(p.alpha, [p.alpha + p.w * s for s in p.slopes]),
        ),
    )
    parameters = declared(
        Parameter("alpha", Rational(above=0, most=MOST)),
        Parameter("w", Rational(least=-MOST, most=MOST)),
        Parameter("slopes", Listed(Rational(above=0, most=1), 2)),
        rules=(Rule("κ = α + w s > 0, and α ≤ 10⁶ κ", _turns),),
    )
    inequality = Inequality(
        _kicked_in_balls, _kicked_in_intervals, premises, lists=("slopes",), limit=_decays, parameters=parameters
    )

    def words(p: Parameters) -> str:
        one, two = numbers(p, "slopes")
        return (
            f"α = {p['alpha']}, w = {p['w']}, inputs that hold σ'(A) at {one} and {two} in turn for quarter periods: "
            f"(y_θ, z_θ) = (0, 1) at s; 1/1000 against its size after {CYCLES} pairs"
        )

    def ask(_: Budget, __: int) -> Attempt:
        points = []
        for w, pair in itertools.product(
            weights, itertools.permutations((Fraction(1), Fraction(1, 2), Fraction(1, 10)), 2)
        ):
            if 1 + w * min(pair, key=lambda s: w * s) > 0:
                points.append({"alpha": "1", "w": rational(w), "slopes": rationals(pair)})
        attempt = first_violation((inequality,), points, f"{len(points)} pairs of slopes, {CYCLES} turns, closed form")
        shown = "no decay found"
        if attempt.candidates:
            p = attempt.candidates[0]
            kappas = [1.0 + float(number(p, "w")) * float(s) for s in numbers(p, "slopes")]
            shown = f"factor {math.sqrt(kappas[1] / kappas[0]):.3g} a turn of t − s"
        return replace(
            attempt, log_measured=None, log_claimed=None, found=shown, claimed="no exponential decay in t − s"
        )

    domain = "θ changed at time s only, t − s → ∞"
    return Case(domain, "(y_θ, z_θ)", ask, worded(inequality, words))


# --- all changes at time s: Φ(t, s)


def _area(v: Mapping[str, Any], damping: int = 0) -> list[Any]:
    """d/dt (y₁z₂ − y₂z₁) along (8) with C = 0, for two solutions: the determinant of Φ."""
    kappa = v["alpha"] + v["w"] * v["s"]
    force = [kappa * v[f"y{i}"] + damping * v[f"z{i}"] for i in "12"]
    return [v["z1"] * v["z2"] - v["y1"] * force[1] - v["z2"] * v["z1"] + v["y2"] * force[0]]


def _area_again(v: Mapping[str, Any], damping: int = 0) -> list[Any]:
    """The trace of the matrix of (8) times the area."""
    rows = [[0, 1], [-(v["w"] * v["s"] + v["alpha"]), -damping]]
    return [(rows[0][0] + rows[1][1]) * (v["y1"] * v["z2"] - v["z1"] * v["y2"])]


def norm_case(damping: int = 0) -> Case:
    """‖Φ(t, s)‖₂ ≥ 1: det Φ = 1. ``damping`` > 0 would be another system, z_θ' = … − γ z_θ; tried at A = 0."""
    names = ("alpha", "w", "s", "y1", "z1", "y2", "z2")
    constant = PolynomialIdentity(
        names, lambda v: _area(v, damping), lambda v: _area_again(v, damping), "d/dt (y₁z₂ − y₂z₁) along (8) against 0"
    )

    def balls(p: Any) -> tuple[Any, Any]:
        half = arb(damping) / 2
        kappa = p.alpha + p.w - half**2
        square = arb(0)
        for y, z in ((arb(1), half), (arb(0), arb(1))):  # y = e^{−γt/2} v, v'' = −(κ − γ²/4) v
            v, dv = linear_flow.in_balls(y, z, kappa, arb(0), p.t)
            square += v**2 + (dv - half * v) ** 2
        return arb(1), square * (-damping * p.t).exp()

    def intervals(p: Any) -> tuple[Any, Any]:
        iv = second.iv
        shift = iv.mpf(damping) / 2
        rest = p.w + p.alpha - shift**2
        sizes = []
        for y, z in ((iv.mpf(1), shift), (iv.mpf(0), iv.mpf(1))):
            v, dv = linear_flow.in_intervals(y, z, rest, iv.mpf(0), p.t)
            sizes += [v**2, (dv - v * shift) ** 2]
        return iv.mpf(1), sum(sizes, iv.mpf(0)) * iv.exp(-p.t * damping)

    parameters = declared(
        Parameter("alpha", Rational(least=0, most=MOST)),
        Parameter("w", Rational(least=-MOST, most=MOST)),
        Parameter("t", Rational(above=0, most=LATEST)),
    )
    inequality = Inequality(balls, intervals, (ALPHA_NOT_NEGATIVE, LATER), parameters=parameters)

    def words(p: Parameters) -> str:
        return f"A = 0, α = {p['alpha']}, w = {p['w']}, t = {p['t']}: 1 exceeds ‖Φ‖_F² ≥ ‖Φ‖₂²"

    def ask(budget: Budget, seed: int) -> Attempt:
        axes = (("1", "1/4", "4"), ("1", "-2", "1/2"), ("1", "4", "16"))
        points = [dict(zip(("alpha", "w", "t"), point, strict=True)) for point in itertools.product(*axes)]
        attempt = first_violation((inequality,), points, f"{len(points)} constant systems, closed form")
        proof = constant.ask(budget, seed).proof
        if proof:
            proof += "; so det Φ(t, s) = 1 and ‖Φ(t, s)‖₂² ≥ |det Φ(t, s)| = 1 for all s ≤ t, parameters and inputs"
        return replace(
            attempt,
            log_measured=None,
            log_claimed=None,
            proof=proof,
            found="< 1" if attempt.candidates else "≥ 1",
            claimed="≥ 1",
        )

    return Case("θ changed at time s only, all ways", "‖Φ(t, s)‖₂ ≥ 1", ask, worded(inequality, words))


CLAIMS = (
    Claim(
        id="both-3-novanish-ODE",
        source=Source("sam", "Sec. 3; icml Sec. 3"),
        statement="said to be shown by Liouville's theorem: (y_θ, z_θ) of (8), θ in {w, V, b}, are not "
        "drawn to (0, 0): changes of θ at time s do not all die out, ‖Φ(t, s)‖ ≥ 1. Also tried: from (0, 0) "
        "and with |A| ≤ a neither as small as one likes on [0, t] nor tending to 0 (true of θ = b, with floors "
        "of this library, false of θ = w), one floor for all b, unbounded inputs, one change of θ at time s. "
        "Not counted: where b = u = 0 the network is at rest, and y_w, z_w, y_V, z_V are 0 for all times",
        semantics="real",
        cases=(
            floor_case(),
            saturation_case(),
            fading_case(),
            fading_case(least=Fraction(1, 10)),
            return_case(),
            kick_case(),
            norm_case(),
        ),
    ),
)
