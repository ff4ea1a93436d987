"""The factor F = [B_n ⋯ B_k]_12 of what step k contributes to a gradient of one layer, with constants.   thm-R-short

    F = [B(κ_m) ⋯ B(κ_1)]_12,   m = n − k + 1,   κ_j = α + w σ′_j,   |κ_j| ≤ κ* = α + |w|,   t = m h,   x = √κ* t
    |F| ≤ sinh(x)/√κ*           F ≥ (2 − sinh(2)/2) t where x ≤ 2
    |F_k − F_{k+j}| ≤ j h (cosh x + (h√κ*/2) sinh x)

for all weights, inputs and steps. So at a fixed time F is of order 1 from above, at x ≤ 2 from below as well, and one
number for all k up to O(k/n). Proofs: docs/derivations/multilayer_paths.md.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from verification.cases.inequality import Inequality
from verification.cases.kick_series import Majorant, decreases
from verification.cases.nominate import first_violation
from verification.cases.related import Related
from verification.cases.short_times import LARGEST, MOST_FACTORS, ORDER, majorant
from verification.cases.step_products import columns_in_intervals, product_in_balls
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Hypothesis, Parameters
from verification.domains import Budget
from verification.exact_text import rational, rationals
from verification.kinds import Integer, Listed, Rational, Values
from verification.measure.polynomials import coefficient, variables
from verification.parameters import Declaration, Parameter, Rule, declared

ALL = "all weights and inputs"
REACH = 2
"""The largest √κ* t of the lower half."""
SHORT = Hypothesis(
    f"√κ* t ≤ {REACH}", lambda p: REACH**2 - _size(p.alpha, p.w) * (len(p.slopes) * p.h) ** 2, strict=False
)


def _size(alpha: Any, w: Any) -> Any:
    """κ*."""
    return alpha + abs(w)


def _parameters(*further: Parameter, is_short: bool = False, fewest: int = 1) -> Declaration:
    def fitting(h: Fraction, values: Values) -> Fraction:
        size, m = _size(values["alpha"], values["w"]), len(values["slopes"])
        return h if size * (m * h) ** 2 <= REACH**2 else REACH**2 / (m * (1 + size))

    step = Rational(above=0, below=1)
    return declared(
        Parameter("alpha", Rational(least=0, most=LARGEST)),
        Parameter("w", Rational(least=-LARGEST, most=LARGEST)),
        Parameter(
            "slopes",
            Listed(Rational(above=0, most=1), (fewest, MOST_FACTORS)),
            order=ORDER,
        ),
        Parameter("h", Related(step, "√κ* m h ≤ 2", fitting) if is_short else step),
        *further,
        rules=(Rule("α + |w| > 0", lambda values: _size(values["alpha"], values["w"]) > 0),),
    )


def _kappas(p: Any) -> list[Any]:
    return [p.alpha + p.w * slope for slope in p.slopes]


def _case(
    domain: str,
    quantity: str,
    sides: tuple[Callable[[Any], tuple[Any, Any]], Callable[[Any], tuple[Any, Any]]],
    parameters: Declaration,
    proof: Callable[[], str],
    hypotheses: tuple[Hypothesis, ...] = (),
    further: dict[str, str] | None = None,
) -> Case:
    inequality = Inequality(*sides, hypotheses, lists=("slopes",), parameters=parameters)

    def ask(budget: Budget, seed: int) -> Attempt:
        tried = f"saddles, oscillations and drawn slopes, up to {MOST_FACTORS} factors"
        seen = first_violation((inequality,), _points(parameters, budget, seed, further or {}), tried)
        text = "" if seen.candidates else proof()
        return replace(seen, tried=text or seen.tried, proof=text)

    return Case(domain, quantity, ask, inequality.check)


def _points(parameters: Declaration, budget: Budget, seed: int, further: dict[str, str]) -> Iterator[Parameters]:
    """All κ nearly −κ*, or all κ*, at short and long times; and places of the declaration."""
    for (alpha, w), m, x in product(((0, -1), (1, 0), (0, -50), (9, 0)), (2, 20, MOST_FACTORS), ("1/100", "1", "2")):
        h = Fraction(float(Fraction(x)) / (m * math.sqrt(alpha + abs(w)))).limit_denominator(10**6)
        h = h if (alpha + abs(w)) * (m * h) ** 2 <= REACH**2 else h - Fraction(1, 10**6)
        if 0 < h < 1:
            given = {"h": h, "alpha": Fraction(alpha), "w": Fraction(w)}
            yield {**{k: rational(v) for k, v in given.items()}, "slopes": rationals([Fraction(1)] * m), **further}
    rng = random.Random(seed)
    for _ in range({"smoke": 20, "standard": 100, "deep": 1000}[budget.name]):
        yield parameters.draw(rng)


def upper_bound(factor: Fraction = Fraction(1)) -> Majorant:
    """``factor`` sinh(x)/√κ*."""

    def balls(root: Any, h: Any, m: int) -> dict[str, Any]:
        return {"12": coefficient(factor) * (root * m * h).sinh() / root}

    def intervals(root: Any, h: Any, m: int, exp: Callable[[Any], Any]) -> dict[str, Any]:
        x = h * root * m
        return {"12": (exp(x) - exp(-x)) / (2 * root) * factor.numerator / factor.denominator}

    return Majorant(balls, intervals)


def upper_case(factor: Fraction = Fraction(1)) -> Case:
    """|F| ≤ sinh(x)/√κ*; another ``factor`` of the right side is a planted falsehood."""
    bound = upper_bound(factor)

    def balls(p: Any) -> tuple[Any, Any]:
        entry = product_in_balls(_kappas(p), p.h)[0][1]
        return abs(entry), bound.balls(_size(p.alpha, p.w).sqrt(), p.h, len(p.slopes))["12"]

    def intervals(p: Any) -> tuple[Any, Any]:
        moved = columns_in_intervals([slope * p.w + p.alpha for slope in p.slopes], p.h)[1][0]
        root = second.iv.sqrt(abs(p.w) + p.alpha)
        return abs(moved), bound.intervals(root, p.h, len(p.slopes), second.iv.exp)["12"]

    def proof() -> str:
        return _both(majorant(), bound.proof(MOST_FACTORS), "|F| ≤ [B(−κ*)^m]_12 ≤ sinh(x)/√κ*")

    return _case(ALL, "|[B_n ⋯ B_k]_12| ≤ sinh(x)/√κ*", (balls, intervals), _parameters(), proof)


def share_in_balls(x: Any) -> Any:
    """2 − sinh(x)/x, of a ball or a power series."""
    return 2 - x.sinh() / x


def share_in_intervals(x: Any, exp: Callable[[Any], Any]) -> Any:
    """The same by exp."""
    return 2 - (exp(x) - exp(-x)) / (2 * x)


def rest_bound(factor: Fraction = Fraction(1)) -> Majorant:
    """−``factor`` t (2 − sinh(x)/x), which is to bound [B(−κ*)^m]_12 − 2t; at √κ* = 2/t the lower half of F."""

    def balls(root: Any, h: Any, m: int) -> dict[str, Any]:
        return {"12": -coefficient(factor) * (m * h) * share_in_balls(root * m * h)}

    def intervals(root: Any, h: Any, m: int, exp: Callable[[Any], Any]) -> dict[str, Any]:
        return {"12": -(share_in_intervals(h * root * m, exp) * h * m * factor.numerator / factor.denominator)}

    return Majorant(balls, intervals, times=2)


def lower_case(factor: Fraction = Fraction(1)) -> Case:
    """(2 − sinh(2)/2) t ≤ F where x ≤ 2; another ``factor`` of the left side is a planted falsehood."""

    rest = rest_bound(factor)

    def balls(p: Any) -> tuple[Any, Any]:
        m, entry = len(p.slopes), product_in_balls(_kappas(p), p.h)[0][1]
        return -rest.balls(REACH / (m * p.h), p.h, m)["12"], entry  # at x = REACH

    def intervals(p: Any) -> tuple[Any, Any]:
        m, moved = len(p.slopes), columns_in_intervals([slope * p.w + p.alpha for slope in p.slopes], p.h)[1][0]
        return -rest.intervals(REACH / (p.h * m), p.h, m, second.iv.exp)["12"], moved

    def proof() -> str:
        if not decreases(share_in_balls, share_in_intervals, MOST_FACTORS):
            return ""
        text = (
            "F ≥ 2t − [B(−κ*)^m]_12 ≥ t (2 − sinh(x)/x), of which no coefficient but the first is > 0, so that it is "
            f"least at x = {REACH}"
        )
        return _both(majorant(), rest.proof(MOST_FACTORS), text)

    return _case(
        f"{ALL}, √κ* t ≤ 2",
        "(2 − sinh(2)/2) t ≤ [B_n ⋯ B_k]_12",
        (balls, intervals),
        _parameters(is_short=True),
        proof,
        (SHORT,),
    )


def change_bound(factor: Fraction = Fraction(1)) -> Majorant:
    """``factor`` (cosh x + (h√κ*/2) sinh x)."""

    def balls(root: Any, h: Any, m: int) -> dict[str, Any]:
        x = root * m * h
        return {"11": coefficient(factor) * (x.cosh() + h * root / 2 * x.sinh())}

    def intervals(root: Any, h: Any, m: int, exp: Callable[[Any], Any]) -> dict[str, Any]:
        grown, fallen = exp(h * root * m), exp(-(h * root * m))
        right = (grown + fallen) / 2 + (grown - fallen) / 4 * root * h
        return {"11": right * factor.numerator / factor.denominator}

    return Majorant(balls, intervals)


def change_case(factor: Fraction = Fraction(1)) -> Case:
    """|F_k − F_{k+j}| ≤ j h (cosh x + (h√κ*/2) sinh x); another ``factor`` of that is a planted falsehood."""
    bound = change_bound(factor)

    def balls(p: Any) -> tuple[Any, Any]:
        j, kappas = round(float(p.j)), _kappas(p)
        early, late = (product_in_balls(part, p.h)[0][1] for part in (kappas, kappas[j:]))
        return abs(early - late), j * p.h * bound.balls(_size(p.alpha, p.w).sqrt(), p.h, len(kappas))["11"]

    def intervals(p: Any) -> tuple[Any, Any]:
        j, kappas = int(p.texts["j"]), [slope * p.w + p.alpha for slope in p.slopes]
        right = bound.intervals(second.iv.sqrt(abs(p.w) + p.alpha), p.h, len(kappas), second.iv.exp)["11"]
        left = columns_in_intervals(kappas, p.h)[1][0] - columns_in_intervals(kappas[j:], p.h)[1][0]
        return abs(left), right * p.h * j

    def proof() -> str:
        h, kappa = variables("h", "kappa")
        y, z = 0 * h, 1 + 0 * h
        z = z - h * kappa * y
        y = y + h * z
        if (y, z) != (h, 1):
            return ""
        text = (
            "B(κ)e_z = e_z + h e_y for every κ, so F_k − F_{k+1} = h [B_n ⋯ B_{k+1}]_11, and that is at most h times "
            "[B(−κ*)^m]_11 ≤ cosh x + (h√κ*/2) sinh x, which grows with m"
        )
        return _both(majorant(), bound.proof(MOST_FACTORS), text)

    fewer = Parameter("j", Related(Integer(1, MOST_FACTORS - 1), "fewer than the factors", _fewer))
    return _case(
        ALL,
        "|F_k − F_{k+j}| ≤ j h (cosh x + (h√κ*/2) sinh x)",
        (balls, intervals),
        _parameters(fewer, fewest=2),
        proof,
        further={"j": "1"},
    )


def _fewer(j: int, values: Values) -> int:
    return min(j, len(values["slopes"]) - 1)


def _both(of_products: str, of_powers: str, conclusion: str) -> str:
    return f"{of_products}; {of_powers}: {conclusion}" if of_products and of_powers else ""
