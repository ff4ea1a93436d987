"""How long the square roots of icml S(7) bound the states: for all t ≤ 4β(1 − αdt²/4), β = max{1 + 2α, 4α²}.

By thm-S-Q αy² and z² are at most t²/(1 − αdt²/4), which is at most 2 + 4βt as long as that. Beside this inequality,
which is proved, the suprema of thm-S are compared with S(7).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from odernn.bounds import icml, sharp
from odernn.bounds.numbers import BALLS, FLOATS
from verification.cases.inequality import ALPHA_POSITIVE, SIGMA_INSIDE, Inequality, Piece, attempt
from verification.cases.related import Related
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Hypothesis
from verification.domains import Budget
from verification.exact_text import rational
from verification.kinds import Integer, Rational, Values
from verification.measure.polynomials import coefficient, variables
from verification.parameters import Declaration, Parameter, declared, rationals

MULTIPLE = Fraction(4)
MOST_STEPS = 10**9
LONGEST = 200
"""Steps of a supremum, whose enclosures widen at each."""
BITS = 1024
DOMAIN = "T ≤ 4β(1 − αdt²/4)"
_ALPHAS = tuple(map(Fraction, ("1/1000", "1/20", "1/4", "1/2", "4/5", "81/100", "1", "4", "30")))
_STEPS = tuple(map(Fraction, ("1/1000", "1/50", "1/4", "1/2", "9/10", "99/100", "7/2")))
_PARTS = tuple(map(Fraction, ("1/100", "1/4", "1/2", "3/4", "9/10", "1")))


def _under(alpha: Fraction, dt: Fraction) -> Fraction:
    """1 − αdt²/4."""
    return 1 - alpha * dt**2 / 4


def _beta(alpha: Fraction) -> Fraction:
    return max(1 + 2 * alpha, 4 * alpha**2)


def _span(alpha: Fraction, dt: Fraction, multiple: Fraction) -> Fraction:
    return multiple * _beta(alpha) * _under(alpha, dt)


def _hypotheses(multiple: Fraction) -> tuple[Hypothesis, ...]:
    return (
        ALPHA_POSITIVE,
        Hypothesis("αdt² < 4", lambda p: _under(p.alpha, p.dt)),
        Hypothesis(f"T ≤ {multiple}β(1 − αdt²/4)", lambda p: _span(p.alpha, p.dt, multiple) - p.N * p.dt, strict=False),
    )


def _parameters(multiple: Fraction, most: int, *further: Parameter) -> Declaration:
    def fitting_step(dt: Fraction, values: Values) -> Fraction:
        return dt if _under(values["alpha"], dt) > 0 else 1 / (1 + values["alpha"])

    def fitting_count(count: int, values: Values) -> int:
        return min(count, max(1, int(_span(values["alpha"], values["dt"], multiple) // values["dt"])))

    return declared(
        *rationals("alpha", above=0),
        Parameter("dt", Related(Rational(above=0), "αdt² < 4", fitting_step)),
        Parameter("N", Related(Integer(1, most), "N dt is within the span, or N = 1", fitting_count)),
        *further,
    )


def _places(multiple: Fraction, most: int) -> list[tuple[Fraction, Fraction, int]]:
    """(α, dt, N) within the span."""
    listed = [
        (alpha, dt, int(part * _span(alpha, dt, multiple) // dt))
        for alpha, dt, part in itertools.product(_ALPHAS, _STEPS, _PARTS)
    ]
    return list(dict.fromkeys((alpha, dt, min(steps, most)) for alpha, dt, steps in listed if steps >= 1))


def _attempt(
    places: list[tuple[Fraction, Fraction, int]],
    logs: Callable[[Fraction, Fraction, int], tuple[float, float]],
    proof: Callable[[], str],
    **further: str,
) -> Attempt:
    """The place with the least slack, in floats; the proof if none has less than 0."""
    sides = {place: logs(*place) for place in places}
    worst = max(sides, key=lambda place: sides[place][0] - sides[place][1])
    left, right = sides[worst]
    alpha, dt, steps = worst
    at = {"alpha": rational(alpha), "dt": rational(dt), "N": str(steps), **further}
    fails = left > right
    return Attempt(
        f"{len(sides)} triples (α, dt, N)",
        len(sides),
        left,
        right,
        candidates=(at,) if fails else (),
        proof="" if fails else proof(),
    )


def span_case(multiple: Fraction = MULTIPLE) -> Case:
    """t²/(1 − αdt²/4) ≤ 2 + 4βt, t = N dt ≤ ``multiple``·β(1 − αdt²/4); the theorem has 4."""

    def balls(p: Any) -> tuple[Any, Any]:
        time = p.N * p.dt
        return time * time / (1 - p.alpha * p.dt * p.dt / 4), 2 + 4 * (1 + 2 * p.alpha).max(4 * p.alpha**2) * time

    def intervals(p: Any) -> tuple[Any, Any]:
        return 4 * (p.dt * p.N) ** 2 / (4 - p.dt**2 * p.alpha), (p.N * _beta_again(p) * p.dt * 2 + 1) * 2

    def proof() -> str:
        beta, under, part = variables("b", "r", "s")
        time = coefficient(multiple) * beta * under * part
        piece = Piece(time * time, (2 + 4 * beta * time) * under, ((0, None), (0, 1), (0, 1)))
        return attempt([piece], f"all b = β ≥ 0, r = 1 − αdt²/4 in [0, 1] and t = {multiple}brs, s in [0, 1]").proof

    def logs(alpha: Fraction, dt: Fraction, steps: int) -> tuple[float, float]:
        time = steps * dt
        return math.log(time**2 / _under(alpha, dt)), math.log(2 + 4 * _beta(alpha) * time)

    inequality = Inequality(balls, intervals, _hypotheses(multiple), parameters=_parameters(multiple, MOST_STEPS))
    return Case(
        DOMAIN,
        "t²/(1 − αdt²/4) ≤ 2 + 4βt",
        lambda _, __: _attempt(_places(multiple, MOST_STEPS), logs, proof),
        inequality.check,
    )


def _beta_again(p: Any) -> Any:
    low, high = p.alpha * 2 + 1, (p.alpha * 2) ** 2
    return second.iv.mpf([max(low.a, high.a), max(low.b, high.b)])


def supremum_case(quantity: str, multiple: Fraction = MULTIPLE) -> Case:
    """sup |y_N| or |z_N| over all weights and inputs (thm-S), h = σ̂ dt, against S(7) at t_N; no proof of its own."""
    bound = icml.log_position if quantity == "position" else icml.log_momentum

    def balls(p: Any) -> tuple[Any, Any]:
        steps = round(float(p.N))
        left = sharp.log_supremum_at(
            alpha=p.alpha, step_size=p.sigma * p.dt, steps=steps, quantity=quantity, numbers=BALLS
        )
        return left, bound(alpha=p.alpha, time=steps * p.dt, numbers=BALLS)

    def intervals(p: Any) -> tuple[Any, Any]:
        """The response to a unit kick, stepped as the neuron is."""
        h, y, z, total = p.dt * p.sigma, second.iv.mpf(0), second.iv.mpf(1), second.iv.mpf(0)
        for _ in range(int(p.texts["N"])):
            z = z - h * p.alpha * y if quantity == "position" else z
            y, reached = y + h * z, y + h * z if quantity == "position" else z
            z = z if quantity == "position" else z - h * p.alpha * y
            total = total + abs(reached)
        energy = 2 + 4 * _beta_again(p) * p.dt * p.N
        return second.iv.log(total * h), second.iv.log(energy / p.alpha if quantity == "position" else energy) / 2

    def logs(alpha: Fraction, dt: Fraction, steps: int) -> tuple[float, float]:
        step = float(dt) * float(_NEARLY)
        left = sharp.log_supremum_at(alpha=float(alpha), step_size=step, steps=steps, quantity=quantity, numbers=FLOATS)
        return float(left), float(bound(alpha=float(alpha), time=float(steps * dt)))

    sigma = Parameter("sigma", Rational(above=0, below=1))
    inequality = Inequality(
        balls,
        intervals,
        (*_hypotheses(multiple), SIGMA_INSIDE),
        are_logs=True,
        bits=BITS,
        parameters=_parameters(multiple, LONGEST, sigma),
    )

    def ask(_: Budget, __: int) -> Attempt:
        return _attempt(_places(multiple, LONGEST), logs, lambda: "", sigma=rational(_NEARLY))

    symbol = "|y_N|" if quantity == "position" else "|z_N|"
    return Case(DOMAIN, f"sup {symbol} by S(7)", ask, inequality.check)


_NEARLY = Fraction(999, 1000)
"""A σ̂ near 1, where the suprema are largest."""
