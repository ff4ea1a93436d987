# Claims: sam-C.1-a · sam-C.1-a-proof · sam-C.1-b · sam-27 · sam-3.1 · sam-C.2 · sam-C.2-alpha0 · sam-30
"""Bounds for the differential equation of UnICORNN: its states (sam (23), (24), (27)), its sensitivities ((28)-(30)).

One neuron from rest, y'' = −(αy + s), s = tanh(A): bias and input make every s(t) in (−1, 1), so the suprema are
those of a linear control problem (thm-C):

    sup |y(t)| = ∫_0^t |sin √α τ| dτ/√α,   sup |z(t)| = ∫_0^t |cos √α τ| dτ,   sup (αy² + z²) ≤ t²,

and m neurons, which do not interact, give m times the square. Up to √αt = π (π/2 for z) the constant control s = tanh b
is best but for |tanh b| < 1: w = 0, V = 0 and the bias b.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from odernn.bounds.numbers import BALLS
from odernn.published.sources import Source
from verification.cases.inequality import ALPHA_POSITIVE, Inequality
from verification.cases.ode_sensitivities import SensitivityBound, sensitivity_case
from verification.cases.ode_states import (
    ENERGY,
    LARGEST,
    MOMENTUM,
    PIECES,
    POSITION,
    POSITION_ALONE,
    UNDAMPED_MOMENTUM,
    UNDAMPED_POSITION,
    Bound,
    state_case,
    supremum_ball,
)
from verification.certify import linear_flow
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Claim, Hypothesis, Parameters
from verification.domains import Budget
from verification.exact_text import rational
from verification.parameters import declared, rationals

# --- |C(t)|² ≤ C̄


def forcing_case(least: Fraction = Fraction(1), factor: Fraction = Fraction(1)) -> Case:
    """One nonzero entry of C: y_i, u_j or 1. Is max(least, factor·c) a C̄ that depends on m and c only?"""

    def balls(p: Any) -> tuple[Any, Any]:
        y, _ = linear_flow.in_balls(0 * p.t, 0 * p.t, p.alpha, p.b.tanh(), p.t)
        return (y * y).max(p.u**2).max(1), BALLS.exact(least).max(BALLS.exact(factor) * p.c)

    def intervals(p: Any) -> tuple[Any, Any]:
        zero, one = second.iv.mpf(0), second.iv.mpf(1)
        y, _ = linear_flow.in_intervals(zero, zero, p.alpha, second.tanh(p.b), p.t)
        values = (y**2, p.u**2, one)
        right = (one * least.numerator / least.denominator, p.c * factor.numerator / factor.denominator)
        return (
            second.iv.mpf([max(v.a for v in values), max(v.b for v in values)]),
            second.iv.mpf([max(v.a for v in right), max(v.b for v in right)]),
        )

    premises = (
        ALPHA_POSITIVE,
        Hypothesis("0 < t ≤ 1", lambda p: p.t * (p.t <= 1)),
        Hypothesis("|u|² < c", lambda p: p.c - p.u**2),
    )
    parameters = declared(
        *rationals("alpha", above=0, most=LARGEST),
        *rationals("t", above=0, most=1),
        *rationals("b", least=-LARGEST, most=LARGEST),
        *rationals("u"),
        *rationals("c", above=0),
    )
    check = Inequality(balls, intervals, premises, parameters=parameters).check

    def ask(_: Budget, __: int) -> Attempt:
        c_y = supremum_ball(POSITION_ALONE)
        bounded = bool(c_y <= 1) and bool(c_y <= BALLS.exact(least))
        proved = bounded and least >= 1 and factor >= 1
        candidates: list[Parameters] = []
        if least < 1:
            c = min(Fraction(1, 2), 1 / (2 * factor))
            candidates.append({"alpha": "1", "t": "1", "b": "0", "u": "0", "c": rational(c)})
        if factor < 1:
            c = max(Fraction(4), 4 * least)
            u = (1 + factor) / 2  # of c, squared
            candidates.append({"alpha": "1", "t": "1", "b": "0", "c": rational(c), "u": rational(_root_below(u * c))})
        text = (
            f"C̄ = max(1, c): |y_i(t)|² ≤ {float(c_y.upper()):.4f} t⁴ for every α, w, V, b and input, in {PIECES} balls "
            f"of x = √αt and beyond; |u_j|² < c; and 1"
        )
        return Attempt(text, PIECES, candidates=tuple(candidates), proof=text if proved else "")

    return Case("t ≤ 1", "|C(t)|²", ask, check)


def _root_below(value: Fraction) -> Fraction:
    return Fraction(math.isqrt(math.floor(value * 10**6)), 1000)


E = Bound(rate=Fraction(1))
E_SQUARED = Bound(rate=Fraction(2))
T_EXP_T = Bound(power=1, growth=Fraction(1))
SENSITIVITY = SensitivityBound(undamped=False, offset=Fraction(0))
SENSITIVITY_UNDAMPED = SensitivityBound(undamped=True, offset=Fraction(1), floor=Fraction(3))

_SENSITIVITY_STATEMENT = (
    "|y_θ(t)|² ≤ (|y_θ(0)|² + |z_θ(0)|²/α)e^{w̄} + (C̄/α)e^{w̄}, |z_θ(t)|² ≤ (α|y_θ(0)|² + |z_θ(0)|²)e^{w̄} + C̄e^{w̄}, "
    "w̄ = max{‖w‖_∞²/α, 2}; t in [0, 1], α > 0, |C(t)|² ≤ C̄ (sam-27)"
)

CLAIMS = (
    Claim(
        id="sam-C.1-a",
        source=Source("sam", "(23)"),
        statement="α > 0: |y(t)|² ≤ m e/α, |z(t)|² ≤ m e for t in (0, "
        "1]; y(0) = z(0) = 0 (sharper, thm-C: α|y|² + |z|² ≤ m t²)",
        semantics="real",
        cases=(state_case("t ≤ 1", POSITION, E, horizon=1), state_case("t ≤ 1", MOMENTUM, E, horizon=1)),
    ),
    Claim(
        id="sam-C.1-a-proof",
        source=Source("sam", "App. C.1, proof"),
        statement="α|y(t)|² + |z(t)|² ≤ m t e^t; α > 0, y(0) = z(0) = 0, t in (0, 1]",
        semantics="real",
        cases=(state_case("t ≤ 1", ENERGY, T_EXP_T, horizon=1),),
    ),
    Claim(
        id="sam-C.1-b",
        source=Source("sam", "(24)"),
        statement="α = 0: |y(t)|² ≤ m e², |z(t)|² ≤ m e², t in (0, "
        "1]; (24) prints an undefined T for 1; also tried: every T",
        semantics="real",
        cases=(
            state_case("t ≤ 1", UNDAMPED_POSITION, E_SQUARED, horizon=1, undamped=True),
            state_case("t ≤ 1", UNDAMPED_MOMENTUM, E_SQUARED, horizon=1, undamped=True),
            state_case("t ≤ T, every T", UNDAMPED_POSITION, E_SQUARED, horizon=None, undamped=True),
            state_case("t ≤ T, every T", UNDAMPED_MOMENTUM, E_SQUARED, horizon=None, undamped=True),
        ),
    ),
    Claim(
        id="sam-27",
        source=Source("sam", "(27)"),
        statement="|C(t)|² ≤ C̄ on [0, 1], C̄ a function of m and c alone, |u(t)|² < c",
        semantics="real",
        cases=(forcing_case(),),
    ),
    *(
        Claim(
            id=name,
            source=Source("sam", where),
            statement=_SENSITIVITY_STATEMENT,
            semantics="real",
            cases=(sensitivity_case(SENSITIVITY, "y_θ"), sensitivity_case(SENSITIVITY, "z_θ")),
        )
        for name, where in (("sam-3.1", "(10)"), ("sam-C.2", "(28)"))
    ),
    Claim(
        id="sam-C.2-alpha0",
        source=Source("sam", "(29)"),
        statement="α = 0: max(|y_θ|², |z_θ|²) ≤ (|y_θ(0)|² + |z_θ(0)|²)e^{w̄} + C̄e^{w̄}, w̄ = max{1 + ‖w‖_∞², 3}; "
        "t in [0, 1], |C(t)|² ≤ C̄",
        semantics="real",
        cases=(sensitivity_case(SENSITIVITY_UNDAMPED, "y_θ"), sensitivity_case(SENSITIVITY_UNDAMPED, "z_θ")),
    ),
    Claim(
        id="sam-30",
        source=Source("sam", "(30)"),
        statement="α|y_θ(t)|² + |z_θ(t)|² ≤ (α|y_θ(0)|² + |z_θ(0)|²)e^{w̄} + C̄e^{w̄}, w̄ = max{‖w‖_∞²/α, 2}; t in [0, "
        "1], α > 0, |C(t)|² ≤ C̄",
        semantics="real",
        cases=(sensitivity_case(SENSITIVITY, "E"),),
    ),
)
