"""Which w a growth admits: N steps of a neuron whose w lies between the roots of thm-J (g).

    f(w) = h²(w² + 4s²a²) − 16s²a,   a = α + w/2,   s = sinh(log G/N):   f ≤ 0 iff h|w|/(4r_a) ≤ s

Products of up to N steps with any slopes in [0, 1], words at resonance and those of trained neurons among them, against
G; one step beyond a root against s; and f as a polynomial.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from verification.cases.identity import PolynomialIdentity
from verification.cases.inequality import Inequality
from verification.cases.nominate import first_violation, glance
from verification.cases.related import Related
from verification.cases.step_products import log_norm_in_balls, log_norm_in_intervals, norm_proof
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Parameters
from verification.domains import Budget
from verification.exact_text import rational
from verification.exact_text import rationals as written
from verification.kinds import SIGN, Listed, Rational, Values
from verification.measure.polynomials import coefficient
from verification.parameters import Parameter, declared, rationals

MOST_STEPS = 400
LARGEST_GROWTH = 10**6

# --- f, as a polynomial


def _quadratic(v: Mapping[str, Any], factor: int = 1) -> list[Any]:
    """The printed quadratic against h²w² − 16s²a(1 − ah²/4), times 4; and against h²(w² + 4s²a²) − 16s²a."""
    h, alpha, w, s = v["h"], v["alpha"], v["w"], v["s"]
    h2, s2, twice = h * h, factor * s * s, 2 * alpha + w  # 2a
    printed = (1 + s2) * h2 * w * w + 4 * s2 * (h2 * alpha - 2) * w + 4 * s2 * alpha * (h2 * alpha - 4)
    short = h2 * (w * w + v["s"] * v["s"] * twice * twice) - 8 * v["s"] * v["s"] * twice
    norm = 4 * h2 * w * w - 4 * v["s"] * v["s"] * twice * (8 - twice * h2)
    return [4 * printed - norm, printed - short]


def _quadratic_again(v: Mapping[str, Any], factor: int = 1) -> list[Any]:
    """With a itself, and the printed coefficients in powers of w."""
    h, alpha, w, s = v["h"], v["alpha"], v["w"], v["s"]
    a = alpha + w / 2
    square = factor * s * s
    leading, middle = h * h * (square + 1), 4 * square * alpha * h * h - 8 * square
    last = 4 * square * (h * h * alpha * alpha) - 16 * square * alpha
    printed = (leading * w + middle) * w + last
    norm = (h * w) ** 2 - (4 * s) ** 2 * (a - (a * h) ** 2 / 4)
    short = h**2 * (w**2 + (2 * a * s) ** 2) - 16 * a * s**2
    return [4 * (printed - norm), printed - short]


def quadratic_identity(factor: int = 1) -> PolynomialIdentity:
    """Another ``factor`` of s² on the printed side is a planted falsehood."""
    return PolynomialIdentity(
        ("h", "alpha", "w", "s"),
        lambda v: _quadratic(v, factor),
        lambda v: _quadratic_again(v, factor),
        "the quadratic in w against h²w² − 16s²r_a² and h²(w² + 4s²a²) − 16s²a",
    )


def _narrower(v: Mapping[str, Any]) -> list[Any]:
    """f at h² + d less f at h²: d (w² + s²(2a)²)."""
    q, d, alpha, w, s2 = v["q"], v["d"], v["alpha"], v["w"], v["s"] * v["s"]

    def f(q: Any) -> Any:
        return (1 + s2) * q * w * w + 4 * s2 * (q * alpha - 2) * w + 4 * s2 * alpha * (q * alpha - 4)

    return [f(q + d) - f(q) - d * (w * w + s2 * (2 * alpha + w) * (2 * alpha + w))]


def _narrower_again(v: Mapping[str, Any]) -> list[Any]:
    q, d, alpha, w, s = v["q"], v["d"], v["alpha"], v["w"], v["s"]
    a = w / 2 + alpha
    at = [x * (w**2 + (2 * s * a) ** 2) - 16 * s**2 * a for x in (q, q + d)]
    return [at[1] - at[0] - (d * w**2 + d * (s * (w + 2 * alpha)) ** 2)]


QUADRATIC = quadratic_identity()
NARROWER = PolynomialIdentity(
    ("q", "d", "alpha", "w", "s"),
    _narrower,
    _narrower_again,
    "f at h² = q + d less f at q against d (w² + 4s²a²) ≥ 0, so that what is admitted shrinks as h grows",
)

# --- N steps with an admitted w


def _roots_in_balls(p: Any, s: Any) -> tuple[Any, Any]:
    """Middle and half of [w₋, w₊]."""
    square = s * s
    leading = (1 + square) * p.h**2
    half = 2 * square * (2 - p.h**2 * p.alpha)
    constant = 4 * square * p.alpha * (p.h**2 * p.alpha - 4)
    return half / leading, (half * half - leading * constant).sqrt() / leading


def _roots_in_intervals(p: Any, s: Any) -> tuple[Any, Any]:
    """By r = s²/(1 + s²): w² − 2mw = 4rα(4/h² − α), m = 2r(2/h² − α)."""
    share = s**2 / (s**2 + 1)
    middle = share * 2 * (2 / p.h**2 - p.alpha)
    return middle, second.iv.sqrt(middle**2 + share * 4 * p.alpha * (4 / p.h**2 - p.alpha))


def _sinh(x: Any) -> Any:
    return (second.iv.exp(x) - second.iv.exp(-x)) / 2


def _below_stiff(alpha: Fraction, values: Values) -> Fraction:
    return Fraction(min(alpha, Fraction(399, 100) / values["h"] ** 2))


def _with_a_form(share: Fraction, values: Values) -> Fraction:
    """At α = 0 the interval begins at w = 0, where a = 0."""
    return share if share or values["alpha"] else Fraction(1)


def admitted_case(factor: Fraction = Fraction(1)) -> Case:
    """log ‖Φ‖_a ≤ log G of N steps with any slopes and w = w₋ + share (w₊ − w₋); ``factor`` of s is planted."""

    def balls(p: Any) -> tuple[Any, Any]:
        s = (p.G.log() / len(p.slopes)).sinh() * coefficient(factor)
        middle, half = _roots_in_balls(p, s)
        w = middle + (2 * p.share - 1) * half
        return log_norm_in_balls([p.alpha + w * each for each in p.slopes], p.h, p.alpha + w / 2), p.G.log()

    def intervals(p: Any) -> tuple[Any, Any]:
        log = second.iv.log(p.G)
        s = _sinh(log / len(p.slopes)) * factor.numerator / factor.denominator
        middle, half = _roots_in_intervals(p, s)
        w = middle + half * (p.share * 2 - 1)
        return log_norm_in_intervals([w * each + p.alpha for each in p.slopes], p.h, w / 2 + p.alpha), log

    parameters = declared(
        *rationals("G", above=1, most=LARGEST_GROWTH),
        *rationals("h", above=0, most=10),
        Parameter("alpha", Related(Rational(least=0), "αh² ≤ 3.99", _below_stiff)),
        Parameter("share", Related(Rational(least=0, most=1), "share > 0 where α = 0", _with_a_form)),
        Parameter("slopes", Listed(Rational(least=0, most=1), (1, MOST_STEPS))),
    )
    inequality = Inequality(balls, intervals, lists=("slopes",), are_logs=True, parameters=parameters)

    def ask(budget: Budget, seed: int) -> Attempt:
        count, worst, at, reached = 0, (0.0, 1.0), None, 1.0
        for given, is_attained in _places(budget, seed):
            sides = glance(inequality, given)
            count += 1
            if sides is None:  # a logarithm that is 0 has none
                continue
            left, right = math.exp(sides[0]), math.exp(sides[1])
            if is_attained:
                reached = min(reached, left / right)
            if at is None or left - right > worst[0] - worst[1]:
                worst, at = (left, right), given
        violates = at is not None and worst[0] - worst[1] > 1e-9
        parts = [] if violates or factor > 1 else [norm_proof(budget, seed), QUADRATIC.ask(budget, seed).proof]
        proof = "; ".join(parts) if parts and all(parts) else ""
        proof = proof and f"{proof}; |κ − a| ≤ |w|/2 for κ between α and α + w, and norms multiply"
        candidates: tuple[Parameters, ...] = (at,) if violates and at is not None else ()
        tried = f"{count} products: single steps, words at resonance, at random, of trained neurons"
        return Attempt(proof or tried, count, *worst, candidates=candidates, proof=proof, control=reached)

    return Case("αh² < 4, every input", "log ‖Φ(N, 0)‖_a ≤ log G", ask, inequality.check, is_search=True)


_NEURONS = ((0.241, 12.53), (0.095, 30.65), (0.3, 5.0), (0.02, 1.0), (0.9, 4.5))
"""(h, α): the two psMNIST rows at σ̂ = ½, the example, a slow and a stiff neuron."""


def _places(budget: Budget, seed: int) -> Iterator[tuple[Parameters, bool]]:
    """(a place, whether G is attained there): one step at both ends, then words, random slopes, trained neurons."""
    from verification.adversary import limited_growth, words

    for h, alpha in _NEURONS:
        for growth in (1.01, 3.0, 1000.0):
            for share, slope in ((1.0, 1.0), (0.0, 1.0), (1.0, 0.0)):
                yield _place(growth, h, alpha, share, [slope]), True
            for share in (0.0, 1.0) if growth == 3.0 else ():
                s = math.sinh(math.log(growth) / 64)
                w = _root(h, alpha, s, upper=share == 1.0)
                letters = words.search(alpha + min(w, 0.0), alpha + max(w, 0.0), h, blocks=4).letters
                slopes = [float((letter == 1) == (w > 0)) for letter in (letters * 64)[:64]]
                yield _place(growth, h, alpha, share, slopes), False
    rng = np.random.default_rng(seed)
    for _ in range({"smoke": 40, "standard": 400, "deep": 4000}[budget.name]):
        h = float(10 ** rng.uniform(-2, 0))
        alpha, share = float(rng.uniform(0.001, 3.98)) / h**2, float(rng.choice([0.0, rng.uniform(), 1.0]))
        drawn = rng.choice([0.0, 1.0, rng.uniform()], rng.integers(1, 60))
        yield _place(float(10 ** rng.uniform(0.01, 4)), h, alpha, share, drawn.tolist()), False
    for growth, steps in ((3.0, 40), (50.0, 20)):
        for each in limited_growth.trained(growth, steps, seed):
            yield _place(growth, each.step_size, each.alpha, each.share, list(each.slopes)), False


def _root(h: float, alpha: float, s: float, *, upper: bool) -> float:
    share = s * s / (1 + s * s)
    middle = 2 * share * (2 / h**2 - alpha)
    half = math.sqrt(middle**2 + 4 * share * alpha * (4 / h**2 - alpha))
    return middle + half if upper else middle - half


def _place(growth: float, h: float, alpha: float, share: float, slopes: list[float]) -> Parameters:
    exact = [Fraction(x).limit_denominator(10**4) for x in (growth, h, share, *slopes)]
    stiffness = min(Fraction(alpha).limit_denominator(10**4), Fraction(399, 100) / exact[1] ** 2)
    return {
        "G": rational(exact[0]),
        "h": rational(exact[1]),
        "alpha": rational(stiffness),
        "share": rational(exact[2]),
        "slopes": written(exact[3:]),
    }


# --- one step beyond a root


def _with_form(w: Fraction, values: Values) -> Fraction:
    """The w nearest to this one with 1/100 of 4/h² ≤ a ≤ 99/100 of it."""
    end, alpha = 4 / values["h"] ** 2, values["alpha"]
    return Fraction(max(min(w, 2 * (end * Fraction(99, 100) - alpha)), 2 * (end / 100 - alpha)))


def _not_admitting(s: Fraction, values: Values) -> Fraction:
    """The largest s up to this one for which w is at a root or beyond: 16s²r_a² ≤ h²w²."""
    h, w = values["h"], values["w"]
    a = values["alpha"] + w / 2
    square = (h * w) ** 2 / (16 * a * (1 - a * h**2 / 4))
    if s**2 <= square:
        return s
    scale = 10**12
    return Fraction(math.isqrt(square.numerator * scale**2 // square.denominator), scale)


def outside_case(factor: int = 1) -> Case:
    """f(w) ≥ 0, 0 < a < 4/h²: one step at either end of κ has sinh log ‖B‖_a ≥ s; ``factor`` of s is planted."""

    def balls(p: Any) -> tuple[Any, Any]:
        kappa = p.alpha + p.w * (1 + p.end) / 2
        return factor * p.s, log_norm_in_balls([kappa], p.h, p.alpha + p.w / 2).sinh()

    def intervals(p: Any) -> tuple[Any, Any]:
        a = p.w / 2 + p.alpha
        return p.s * factor, _sinh(log_norm_in_intervals([a + p.end * p.w / 2], p.h, a))

    parameters = declared(
        *rationals("h", above=0, most=10),
        Parameter("alpha", Related(Rational(least=0), "αh² ≤ 3.99", _below_stiff)),
        Parameter("w", Related(Rational(), "1/25 ≤ h²a ≤ 99/25", _with_form)),
        Parameter("s", Related(Rational(least=0), "s ≤ h|w|/(4r_a), w at a root or beyond", _not_admitting)),
        Parameter("end", SIGN),
    )
    inequality = Inequality(balls, intervals, parameters=parameters)

    def ask(budget: Budget, seed: int) -> Attempt:
        rng, draws = random.Random(seed), {"smoke": 30, "standard": 300, "deep": 3000}[budget.name]
        seen = first_violation(
            (inequality,), (parameters.draw(rng) for _ in range(draws)), "one step, places at random"
        )
        parts = [] if seen.candidates or factor > 1 else [norm_proof(budget, seed), QUADRATIC.ask(budget, seed).proof]
        return replace(seen, proof="; ".join(parts) if parts and all(parts) else "")

    return Case("one step, w not admitted", "sinh log ‖B(κ±)‖_a ≥ s", ask, inequality.check)
