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

import flint

from verification.cases.inequality import Inequality
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
SHORT = Hypothesis("√κ* t ≤ 2", lambda p: 4 - _size(p.alpha, p.w) * (len(p.slopes) * p.h) ** 2, strict=False)


def _size(alpha: Any, w: Any) -> Any:
    """κ*."""
    return alpha + abs(w)


def _parameters(*further: Parameter, is_short: bool = False, fewest: int = 1) -> Declaration:
    def fitting(h: Fraction, values: Values) -> Fraction:
        size, m = _size(values["alpha"], values["w"]), len(values["slopes"])
        return h if size * (m * h) ** 2 <= 4 else 4 / (m * (1 + size))

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
        h = h if (alpha + abs(w)) * (m * h) ** 2 <= 4 else h - Fraction(1, 10**6)
        if 0 < h < 1:
            given = {"h": h, "alpha": Fraction(alpha), "w": Fraction(w)}
            yield {**{k: rational(v) for k, v in given.items()}, "slopes": rationals([Fraction(1)] * m), **further}
    rng = random.Random(seed)
    for _ in range({"smoke": 20, "standard": 100, "deep": 1000}[budget.name]):
        yield parameters.draw(rng)


def upper_case(factor: Fraction = Fraction(1)) -> Case:
    """|F| ≤ sinh(x)/√κ*; another ``factor`` of the right side is a planted falsehood."""

    def balls(p: Any) -> tuple[Any, Any]:
        root = _size(p.alpha, p.w).sqrt()
        entry = product_in_balls(_kappas(p), p.h)[0][1]
        return abs(entry), coefficient(factor) * (root * len(p.slopes) * p.h).sinh() / root

    def intervals(p: Any) -> tuple[Any, Any]:
        root = second.iv.sqrt(abs(p.w) + p.alpha)
        moved = columns_in_intervals([slope * p.w + p.alpha for slope in p.slopes], p.h)[1][0]
        grown = second.iv.exp(p.h * root * len(p.slopes))
        return abs(moved), (grown - 1 / grown) / (2 * root) * factor.numerator / factor.denominator

    def proof() -> str:
        return _if(factor, majorant(), "|F| ≤ [B(−κ*)^m]_12 ≤ sinh(x)/√κ*")

    return _case(ALL, "|[B_n ⋯ B_k]_12| ≤ sinh(x)/√κ*", (balls, intervals), _parameters(), proof)


def lower_case(factor: Fraction = Fraction(1)) -> Case:
    """(2 − sinh(2)/2) t ≤ F where x ≤ 2; another ``factor`` of the left side is a planted falsehood."""

    def balls(p: Any) -> tuple[Any, Any]:
        entry = product_in_balls(_kappas(p), p.h)[0][1]
        return coefficient(factor) * (2 - flint.arb(2).sinh() / 2) * len(p.slopes) * p.h, entry

    def intervals(p: Any) -> tuple[Any, Any]:
        iv = second.iv
        share = 2 - (iv.exp(iv.mpf(2)) - iv.exp(iv.mpf(-2))) / 4
        moved = columns_in_intervals([slope * p.w + p.alpha for slope in p.slopes], p.h)[1][0]
        return share * p.h * len(p.slopes) * factor.numerator / factor.denominator, moved

    def proof() -> str:
        text = "F ≥ t − ([B(−κ*)^m]_12 − t) ≥ t (2 − sinh(x)/x), and sinh(x)/x increases"
        return _if(factor, majorant(), text)

    return _case(
        f"{ALL}, √κ* t ≤ 2",
        "[B_n ⋯ B_k]_12 ≥ (2 − sinh(2)/2) t",
        (balls, intervals),
        _parameters(is_short=True),
        proof,
        (SHORT,),
    )


def change_case(factor: Fraction = Fraction(1)) -> Case:
    """|F_k − F_{k+j}| ≤ j h (cosh x + (h√κ*/2) sinh x); another ``factor`` of that is a planted falsehood."""

    def balls(p: Any) -> tuple[Any, Any]:
        root, j = _size(p.alpha, p.w).sqrt(), round(float(p.j))
        kappas = _kappas(p)
        early, late = (product_in_balls(part, p.h)[0][1] for part in (kappas, kappas[j:]))
        x = root * len(kappas) * p.h
        return abs(early - late), coefficient(factor) * j * p.h * (x.cosh() + p.h * root / 2 * x.sinh())

    def intervals(p: Any) -> tuple[Any, Any]:
        iv, j, kappas = second.iv, int(p.texts["j"]), [slope * p.w + p.alpha for slope in p.slopes]
        root = iv.sqrt(abs(p.w) + p.alpha)
        grown = iv.exp(p.h * root * len(kappas))
        right = (grown + 1 / grown) / 2 + (grown - 1 / grown) / 4 * root * p.h
        left = columns_in_intervals(kappas, p.h)[1][0] - columns_in_intervals(kappas[j:], p.h)[1][0]
        return abs(left), right * p.h * j * factor.numerator / factor.denominator

    def proof() -> str:
        h, kappa = variables("h", "kappa")
        y, z = 0 * h, 1 + 0 * h
        z = z - h * kappa * y
        y = y + h * z
        step = "B(κ)e_z = e_z + h e_y for every κ" if (y, z) == (h, 1) else ""
        text = "so F_k − F_{k+1} = h [B_n ⋯ B_{k+1}]_11, and that is at most [B(−κ*)^m]_11 ≤ cosh x + (h√κ*/2) sinh x"
        return _if(factor, majorant(), f"{step}, {text}") if step else ""

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


def _if(factor: Fraction, text: str, conclusion: str) -> str:
    return f"{text}: {conclusion}" if text and factor == 1 else ""
