"""How far a product of step Jacobians of one neuron is from its first-order form, with constants.   thm-R-short

    P = B(κ_m) ⋯ B(κ_1),   κ_j = α + w σ′_j,   |κ_j| ≤ κ* = α + |w|,   x = √κ* m h
    |P_11 − 1| ≤ cosh x − 1 + (h√κ*/2) sinh x        |P_12 − m h| ≤ (sinh x − x)/√κ*
    |P_21 + h Σ κ_j| ≤ √κ* (sinh x − x)              |P_22 − 1| ≤ cosh x − 1

docs/derivations/multilayer_paths.md. The printed forms, sam (84) and (16), have n = k + m, or k − 1 + m, in the place
of m: so many h more.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

from verification.cases.inequality import Inequality
from verification.cases.kick_series import Majorant
from verification.cases.nominate import first_violation
from verification.cases.step_products import columns_in_intervals, product_in_balls
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Parameters
from verification.domains import Budget
from verification.exact_text import rational, rationals
from verification.kinds import Integer, Listed, Rational
from verification.measure.polynomials import coefficient, variables
from verification.parameters import Parameter, declared
from verification.parameters import rationals as all_rational

MOST_FACTORS = 200
ORDER = "σ′ at the steps, the first first"
LARGEST = 100
ENTRIES = "11", "12", "21", "22"
PARAMETERS = declared(
    *all_rational("h", above=0, below=1),
    *all_rational("alpha", above=0, most=LARGEST),
    *all_rational("w", least=-LARGEST, most=LARGEST),
    Parameter("k", Integer(1, MOST_FACTORS)),
    Parameter("slopes", Listed(Rational(above=0, most=1), (1, MOST_FACTORS)), order=ORDER),
)


def bounds(factor: Fraction, *, k: Any = 0, alpha: Any = 0) -> Majorant:
    """``factor`` times the four bounds above, with kh and αkh more in the entries 12 and 21."""

    def balls(root: Any, h: Any, m: int) -> dict[str, Any]:
        x = root * m * h
        rest, shift, wave = x.sinh() - x, k * h, x.cosh() - 1
        four = wave + h * root / 2 * x.sinh(), rest / root + shift, root * rest + alpha * shift, wave
        return {name: coefficient(factor) * bound for name, bound in zip(ENTRIES, four, strict=True)}

    def intervals(root: Any, h: Any, m: int, exp: Callable[[Any], Any]) -> dict[str, Any]:
        x = root * h * m
        grown, fallen = exp(x), exp(-x)
        odd, even = (grown - fallen) / 2 - x, (grown + fallen) / 2 - 1
        four = [even + (odd + x) * root * h / 2, odd / root + h * k, odd * root + h * k * alpha, even]
        return {name: bound * factor.numerator / factor.denominator for name, bound in zip(ENTRIES, four, strict=True)}

    return Majorant(balls, intervals, times=1)


def product_case(factor: Fraction = Fraction(1)) -> Case:
    """(84): the largest entry of dX_n/dX_k − C, m = n − k; another ``factor`` of the bound is a planted falsehood."""

    def balls(p: Any) -> tuple[Any, Any]:
        m, root = len(p.slopes), (p.alpha + abs(p.w)).sqrt()
        kappas = [p.alpha + p.w * slope for slope in p.slopes]
        (a, b), (c, d) = product_in_balls(kappas, p.h)
        time = (p.k + m) * p.h
        below = time * p.alpha + p.h * p.w * sum(p.slopes)
        left = abs(a - 1).max(abs(b - time)).max(abs(c + below)).max(abs(d - 1))
        of_11, of_12, of_21, of_22 = bounds(factor, k=p.k, alpha=p.alpha).balls(root, p.h, m).values()
        return left, of_11.max(of_12).max(of_21).max(of_22)

    def intervals(p: Any) -> tuple[Any, Any]:
        iv, m = second.iv, len(p.slopes)
        root, time = iv.sqrt(p.alpha + abs(p.w)), p.h * (m + p.k)
        (yy, zy), (yz, zz) = columns_in_intervals([p.w * slope + p.alpha for slope in p.slopes], p.h)
        first_order = sum((p.w * slope for slope in p.slopes), iv.mpf(0)) * p.h + p.alpha * time
        left = _most([abs(yy - 1), abs(yz - time), abs(zy + first_order), abs(zz - 1)])
        right = bounds(factor, k=p.k, alpha=p.alpha).intervals(root, p.h, m, iv.exp)
        return left, _most(list(right.values()))

    inequality = Inequality(balls, intervals, lists=("slopes",), parameters=PARAMETERS)
    return Case("all products", "‖dX_n/dX_k − C of (84)‖", _asks(inequality, factor), inequality.check)


def factor_case(factor: Fraction = Fraction(1)) -> Case:
    """(16): the factor [B_n ⋯ B_k]_12 less t_n σ̂ = n h, m = n − k + 1 factors."""

    def balls(p: Any) -> tuple[Any, Any]:
        m, root = len(p.slopes), (p.alpha + abs(p.w)).sqrt()
        entry = product_in_balls([p.alpha + p.w * slope for slope in p.slopes], p.h)[0][1]
        return abs(entry - (m + p.k - 1) * p.h), bounds(factor, k=p.k - 1).balls(root, p.h, m)["12"]

    def intervals(p: Any) -> tuple[Any, Any]:
        iv, m = second.iv, len(p.slopes)
        moved = columns_in_intervals([p.w * slope + p.alpha for slope in p.slopes], p.h)[1][0]
        right = bounds(factor, k=p.k - 1).intervals(iv.sqrt(p.alpha + abs(p.w)), p.h, m, iv.exp)
        return abs(moved - p.h * (p.k + m - 1)), right["12"]

    inequality = Inequality(balls, intervals, lists=("slopes",), parameters=PARAMETERS)
    return Case("all products", "|[B_n ⋯ B_k]_12 − t_n σ̂|", _asks(inequality, factor), inequality.check)


def _most(values: list[Any]) -> Any:
    return second.iv.mpf([max(value.a for value in values), max(value.b for value in values)])


def majorant(kick: Fraction = Fraction(1)) -> str:
    """Why a product of B(κ_j) with |κ_j| ≤ κ*, less its terms without a κ, is entry by entry at most that of B(−κ*),
    in any number of factors: a decision about one factor. "" if it is not so. ``kick`` < 0 turns the sign of a step.
    """
    h, size = variables("h", "size")  # κ = −size
    columns = []
    for y, z in ((1 + 0 * h, 0 * h), (0 * h, 1 + 0 * h)):
        z = z + coefficient(kick) * h * size * y
        columns.append((y + h * z, z))
    entries = [entry for column in columns for entry in column]
    free = [entry.compose(h, 0 * h) for entry in entries]
    if any(value < 0 for entry in entries for value in entry.coeffs()) or free != [1, 0, h, 1]:
        return ""
    return (
        "the entries of B(κ) are polynomials in h and −κ with coefficients ≥ 0, [[1, h], [0, 1]] where κ = 0, and so "
        "those of products of any length, with [[1, mh], [0, 1]] where no κ is and −hΣκ_j of one κ in the entry 21; so "
        "the rest is at most that of B(−κ*)^m"
    )


@cache
def _of_powers(factor: Fraction) -> str:
    return bounds(factor).proof(MOST_FACTORS)


def _asks(inequality: Inequality, factor: Fraction) -> Any:
    def ask(budget: Budget, seed: int) -> Attempt:
        tried = f"saddles, oscillations and drawn slopes, up to {MOST_FACTORS} factors"
        seen = first_violation((inequality,), _points(budget, seed), tried)
        text = "" if seen.candidates else majorant()
        of_powers = text and _of_powers(factor)
        text = f"{text}; {of_powers}" if of_powers and factor >= 1 else ""  # kh and αkh, as often as the bound has them
        return replace(seen, tried=text or seen.tried, proof=text)

    return ask


def _points(budget: Budget, seed: int) -> Iterator[Parameters]:
    """w ≪ −α or α alone, where all |κ| are nearly κ*, at short and long times; and places of the declaration."""
    signs = ((Fraction(1, 10**6), Fraction(-1)), (Fraction(1), Fraction(0)), (Fraction(1, 10**6), Fraction(-50)))
    for (alpha, w), m, time in product(signs, (1, 2, 20, MOST_FACTORS), map(Fraction, ("1/100", "1/2", "1", "4"))):
        if time < m:
            given = {"h": time / m, "alpha": alpha, "w": w, "k": Fraction(1)}
            yield {**{name: rational(value) for name, value in given.items()}, "slopes": rationals([Fraction(1)] * m)}
    rng = random.Random(seed)
    for _ in range({"smoke": 20, "standard": 200, "deep": 2000}[budget.name]):
        yield PARAMETERS.draw(rng)
