"""Growth rates of words in two step Jacobians, which bound the rate over all inputs from below.   thm-J (b)-(e)

log ρ(word)/length, a word in B(κ₋) and B(κ₊), against the rate of the best form, against 2 asinh(h√W/2) at saddles and
at stiff steps, and against asinh(h|w|/(4r_a)) where every step turns. Letters are in order of time, 0 for κ₋.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from odernn.bounds import forms, jacobian
from odernn.bounds.numbers import BALLS
from verification.cases.identity import PolynomialIdentity
from verification.cases.inequality import Inequality
from verification.cases.nominate import glance
from verification.cases.related import Related
from verification.cases.step_products import (
    LARGEST,
    columns_in_intervals,
    log_step_in_intervals,
    norm_proof,
    product_in_balls,
    root_of_part,
)
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Parameters
from verification.domains import Budget
from verification.exact_text import rational
from verification.kinds import Choice, Listed, Rational, Values
from verification.measure.polynomials import coefficient
from verification.parameters import Parameter, declared, rationals

MOST_LETTERS = 600
LETTERS = Parameter("letters", Listed(Choice(("0", "1")), (1, MOST_LETTERS)))
STEP = Parameter("h", Rational(above=0, most=10))

# --- log ρ(word)/length, both typings


def _rate_in_balls(kappas: tuple[Any, Any], letters: list[Any], h: Any) -> Any:
    word = [kappas[int(float(letter))] for letter in letters]
    product = product_in_balls(word, h)
    half = abs(product[0][0] + product[1][1]) / 2
    return (half.max(1) + BALLS.root_of_positive_part(half * half - 1)).log() / len(word)


def _rate_in_intervals(kappas: tuple[Any, Any], text: str, h: Any) -> Any:
    iv = second.iv
    word = [kappas[int(letter)] for letter in text.split()]
    (y, _), (_, z) = columns_in_intervals(word, h)
    half = abs(y + z) / 2
    half = iv.mpf([max(half.a, 1), max(half.b, 1)])
    return iv.log(half + root_of_part(half**2 - 1)) / len(word)


# --- the cases


@dataclass(frozen=True)
class WordRates:
    """What the words of one domain are compared with.

    parameters     what is free beside ``letters``
    ends           (κ₋, κ₊) of a namespace of numbers
    balls, intervals   the claimed rate, a step
    points         places (parameters) that the search goes over, κ's as floats for the words
    """

    parameters: tuple[Parameter, ...]
    ends: Callable[[Any], tuple[Any, Any]]
    balls: Callable[[Any], Any]
    intervals: Callable[[Any], Any]
    points: Callable[[], Iterator[dict[str, Fraction]]]


def _word_case(domain: str, quantity: str, rates: WordRates, because: Callable[[Budget, int], str]) -> Case:
    """Every word's rate is at most the claimed one; ``because`` proves it, where nothing violates."""

    def balls(p: Any) -> tuple[Any, Any]:
        return _rate_in_balls(rates.ends(p), p.letters, p.h), rates.balls(p)

    def intervals(p: Any) -> tuple[Any, Any]:
        return _rate_in_intervals(rates.ends(p), p.texts["letters"], p.h), rates.intervals(p)

    parameters = declared(*rates.parameters, LETTERS)
    inequality = Inequality(balls, intervals, lists=("letters",), are_logs=False, parameters=parameters)

    def ask(budget: Budget, seed: int) -> Attempt:
        from verification.adversary import words

        count, worst, at = 0, (0.0, 1.0), None
        blocks = {"smoke": 8, "standard": words.MOST_BLOCKS, "deep": 13}[budget.name]
        for place in rates.points():
            low, high = (float(kappa) for kappa in rates.ends(_Floats(place)))
            found = words.search(low, high, float(place["h"]), blocks=blocks)
            count += found.evaluations
            given = {name: rational(value) for name, value in place.items()}
            given["letters"] = " ".join(map(str, found.letters[:MOST_LETTERS]))
            sides = glance(inequality, given)
            if sides is not None and (at is None or sides[0] - sides[1] > worst[0] - worst[1]):
                worst, at = sides, given
        violates = at is not None and worst[0] - worst[1] > 1e-9
        proof = "" if violates else because(budget, seed)
        candidates: tuple[Parameters, ...] = (at,) if violates and at is not None else ()
        control = words.control(blocks)
        return Attempt(proof or "words", count, *worst, candidates=candidates, proof=proof, control=control)

    return Case(domain, quantity, ask, inequality.check, is_search=True)


class _Floats:
    """The numbers of a place as floats, by name."""

    def __init__(self, place: Mapping[str, Fraction]) -> None:
        self.__dict__.update({name: float(value) for name, value in place.items()})


# --- (b): every form bounds every word


def form_case(factor: Fraction = Fraction(1)) -> Case:
    """log ρ(word)/length ≤ ``factor`` max over κ₋, κ₊ of asinh(h|κ − a|/(2r_a)), for every form a."""

    def points() -> Iterator[dict[str, Fraction]]:
        for low, high, h in _PAIRS:
            best = float(forms.best_form(kappa_low=float(low), kappa_high=float(high), step_size=float(h)))
            own = Fraction(best * float(h) ** 2 / 4).limit_denominator(10**6)
            own = min(max(own, Fraction(1, 10**6)), 1 - Fraction(1, 10**6))
            yield {"h": h, "share": own, "low": low, "gap": high - low}

    def claimed(p: Any) -> Any:
        a = 4 * p.share / p.h**2
        rate = jacobian.rate_bound(kappa_low=p.low, kappa_high=p.low + p.gap, form=a, step_size=p.h, numbers=BALLS)
        return coefficient(factor) * rate

    def claimed_again(p: Any) -> Any:
        a = p.share / (p.h / 2) ** 2
        logs = [log_step_in_intervals(kappa, p.h, a) for kappa in (p.low, p.gap + p.low)]
        largest = second.iv.mpf([max(x.a for x in logs), max(x.b for x in logs)])
        return largest * factor.numerator / factor.denominator

    def because(budget: Budget, seed: int) -> str:
        proof = norm_proof(budget, seed) if factor >= 1 else ""
        return proof and f"{proof}; norms multiply, and no spectral radius exceeds a norm: every word, every form"

    free = (
        STEP,
        *rationals("share", above=0, below=1),
        *rationals("low", least=-LARGEST, most=LARGEST),
        *rationals("gap", least=0, most=LARGEST),
    )
    rates = WordRates(free, lambda p: (p.low, p.low + p.gap), claimed, claimed_again, points)
    return _word_case("all words, every form", "log ρ(word)/length", rates, because)


_PLACES = "9 11 1/10, 1 2 1/20, 0 1 1/20, 2 5 1/20, 1 16 1/4, -5 2 1/20, -8 4 1/5, -1 0 1/10, 1/10 9/10 1/2, "
_PLACES += "36 81/2 1/3, -3 400 1/10"
_PAIRS = tuple(tuple(map(Fraction, place.split())) for place in _PLACES.split(", "))
"""κ₋, κ₊, h: turning, marginal, saddles, stiff, and both."""


# --- (c), (e): the rate is exact at saddles, and at their mirror image, the stiff steps


def _reach(values: Mapping[str, Any]) -> Any:
    """W(3 + h²W/2)/(1 + h²W/2)."""
    half = values["h"] ** 2 * values["W"] / 2
    return values["W"] * (3 + half) / (1 + half)


def saddle_case(*, mirrored: bool = False, factor: Fraction = Fraction(1), reach: Fraction = Fraction(1)) -> Case:
    """log ρ(word)/length ≤ 2 asinh(h√W/2) for κ₋ = −W and κ₊ ≤ W(3 + h²W/2)/(1 + h²W/2).

    ``mirrored``: for 4/h² − κ in the place of κ, thm-J (e). ``factor`` of the rate and ``reach`` of the condition are
    planted falsehoods.
    """

    def ends(p: Any) -> tuple[Any, Any]:
        return (4 / p.h**2 - p.other, 4 / p.h**2 + p.W) if mirrored else (-p.W, p.other)

    def claimed_again(p: Any) -> Any:
        x = second.iv.sqrt(p.W) * p.h / 2
        return second.iv.log(x + second.iv.sqrt(x**2 + 1)) * 2 * factor.numerator / factor.denominator

    def points() -> Iterator[dict[str, Fraction]]:
        for h, W, part in itertools.product(map(Fraction, ("1/20", "1/5", "1/2")), (1, 5, 40), (2, 1, 0)):
            place = {"h": h, "W": Fraction(W)}
            other = Fraction(math.floor(500 * reach * part * _reach(place)), 1000)
            yield {**place, "other": other}

    def because(budget: Budget, seed: int) -> str:
        covered = factor >= 1 and reach <= 1
        parts = (SADDLE.ask(budget, seed).proof, norm_proof(budget, seed)) if covered else ("",)
        mirror = MIRROR.ask(budget, seed).proof if mirrored else "as they stand"
        if not all((*parts, mirror)):
            return ""
        text = "; ".join((*parts, *([mirror] if mirrored else ())))
        return f"{text}; the constant word attains the rate, and in the form a = W/(1 + h²W/2) no step exceeds it"

    def nearer(other: Fraction, values: Values) -> Fraction:
        return Fraction(max(min(other, reach * _reach(values)), -values["W"]))

    words = "4/h² − κ₋" if mirrored else "κ₊"
    free = (
        STEP,
        *rationals("W", above=0, most=LARGEST),
        Parameter("other", Related(Rational(), f"−W ≤ {words} ≤ W(3 + h²W/2)/(1 + h²W/2)", nearer)),
    )
    rates = WordRates(
        free,
        ends,
        lambda p: 2 * coefficient(factor) * (p.h * p.W.sqrt() / 2).asinh(),
        claimed_again,
        points,
    )
    return _word_case("stiff steps" if mirrored else "saddles", "log ρ(word)/length", rates, because)


def _saddle(v: Mapping[str, Any]) -> list[Any]:
    """With q = h²W: tr B(−W) = 2 + q; h²(W + a)² = q(1 + q/4)·4a(1 − ah²/4) at a = 2W/(2 + q); and W + 2a."""
    h, W = v["h"], v["W"]
    q = h * h * W
    columns = []
    for y, z in ((1 + 0 * h, 0 * h), (0 * h, 1 + 0 * h)):
        z = z + h * W * y
        columns.append((y + h * z, z))
    top, under = 2 * W, 2 + q  # of a
    shear = h * h * (W * under + top) * (W * under + top)
    room = 4 * top * under - h * h * top * top
    return [
        columns[0][0] + columns[1][1] - 2 - q,
        4 * shear - q * (4 + q) * room,
        W * under + 2 * top - W * (6 + q),
    ]


def _saddle_again(v: Mapping[str, Any]) -> list[Any]:
    """With a itself: sinh²ρ = cosh²ρ − 1, where 2cosh ρ = tr B(−W) by kick and drift."""
    h, W = v["h"], v["W"]
    half = W * h * h / 2
    a = W / (1 + half)
    kick = h * W  # of y = 1
    cosh = (1 + h * kick + 1) / 2
    return [
        2 * cosh - (2 + h**2 * W),
        (h * (W + a)) ** 2 - (cosh * cosh - 1) * a * (4 - a * h * h),
        (W + 2 * a) * (1 + half) - W * (3 + half),
    ]


SADDLE = PolynomialIdentity(
    ("h", "W"),
    _saddle,
    _saddle_again,
    "2cosh ρ against tr B(−W), sinh²ρ against h²(W + a)²/(4r_a²) at a = W/(1 + h²W/2), W + 2a against the condition",
    {"h": Rational(above=0), "W": Rational(above=0)},
)


def _mirror(v: Mapping[str, Any]) -> list[Any]:
    """With h = 2/g, so that 4/h² = g²: g² tr B(κ), and f = (κ − a)²/(a(g² − a)), of which the norm is a function."""
    g, kappa, a = v["g"], v["kappa"], v["a"]
    end = g * g

    def trace(kappa: Any) -> Any:
        return (end - 4 * kappa) + end

    def shear(kappa: Any, a: Any) -> tuple[Any, Any]:
        return (kappa - a) * (kappa - a), a * (end - a)

    (top, under), (mirrored_top, mirrored_under) = shear(kappa, a), shear(end - kappa, end - a)
    return [trace(kappa) + trace(end - kappa), top * mirrored_under - mirrored_top * under]


def _mirror_again(v: Mapping[str, Any]) -> list[Any]:
    """With h itself: traces by kick and drift, and sinh² log ‖B(κ)‖_a = h²(κ − a)²/(4r_a²), r_a² = a − (ah/2)²."""
    h, end = 2 / v["g"], v["g"] ** 2
    traces, sizes = [], []
    for kappa, a in ((v["kappa"], v["a"]), (end - v["kappa"], end - v["a"])):
        kick = -h * kappa
        traces.append(1 + h * kick + 1)
        sizes.append((h * (kappa - a)) ** 2)
        sizes.append(4 * (a - (a * h / 2) ** 2))
    return [traces[0] + traces[1], sizes[0] * sizes[3] - sizes[2] * sizes[1]]


MIRROR = PolynomialIdentity(
    ("g", "kappa", "a"),
    _mirror,
    _mirror_again,
    "h = 2/g: tr B(g² − κ) against −tr B(κ), and its norm in the form g² − a against that of B(κ) in a",
    {"g": Rational(above=0)},
)


# --- (d): where every step turns


def resonance_case(divisor: int = 4) -> Case:
    """κ₋ > 0, a = α + w/2 < 4/h²: log ρ(word)/length ≤ asinh(h|w|/(``divisor`` r_a)); the theorem has 4."""

    def claimed(p: Any) -> Any:
        root = jacobian.root(form=p.low + p.gap / 2, step_size=p.h, numbers=BALLS)
        return (p.h * p.gap / (divisor * root)).asinh()

    def claimed_again(p: Any) -> Any:
        a = (p.low * 2 + p.gap) / 2
        x = p.gap * p.h / second.iv.sqrt(a * 4 - (a * p.h) ** 2) * 2 / divisor
        return second.iv.log(x + second.iv.sqrt(x**2 + 1))

    def points() -> Iterator[dict[str, Fraction]]:
        for low, high, h in _PAIRS:
            if low > 0 and (low + high) / 2 < 4 / h**2:
                yield {"h": h, "low": low, "gap": high - low}

    def because(budget: Budget, seed: int) -> str:
        proof = norm_proof(budget, seed) if divisor <= 4 else ""
        return proof and f"{proof}; |κ± − a| = |w|/2, norms multiply, and no spectral radius exceeds a norm"

    def nearer(gap: Fraction, values: Values) -> Fraction:
        room = 8 / values["h"] ** 2 - 2 * values["low"]
        return Fraction(max(min(gap, room * Fraction(99, 100)), 0))

    free = (
        STEP,
        Parameter("low", Related(Rational(above=0), "κ₋ < 4/h²", lambda low, v: min(low, 3 / v["h"] ** 2))),
        Parameter("gap", Related(Rational(least=0), "α + w/2 < 4/h²", nearer)),
    )
    rates = WordRates(free, lambda p: (p.low, p.low + p.gap), claimed, claimed_again, points)
    return _word_case("κ₋ > 0", "log ρ(word)/length", rates, because)


def _switched(v: Mapping[str, Any]) -> list[Any]:
    """ω₁ω₂ times the trace of two turns, c = cos, s = sin of ω_i t_i."""
    c1, s1, c2, s2, o1, o2 = (v[name] for name in ("c1", "s1", "c2", "s2", "o1", "o2"))
    first, other = [[c1 * o1, s1], [-o1 * o1 * s1, c1 * o1]], [[c2 * o2, s2], [-o2 * o2 * s2, c2 * o2]]
    trace = sum(first[i][k] * other[k][i] for i, k in itertools.product(range(2), repeat=2))
    return [trace - 2 * o1 * o2 * c1 * c2 + (o1 * o1 + o2 * o2) * s1 * s2]


def _switched_again(v: Mapping[str, Any]) -> list[Any]:
    """By solutions: y'' = −ω²y from (1, 0) is (c, −ωs), from (0, 1) it is (s/ω, c)."""
    c1, s1, c2, s2, o1, o2 = (v[name] for name in ("c1", "s1", "c2", "s2", "o1", "o2"))
    position = c1 * c2 * o1 * o2 - o2 * o2 * s2 * s1  # of the first solution after both, times ω₁ω₂
    momentum = -o1 * o1 * s1 * s2 + c1 * c2 * o1 * o2
    return [position + momentum - 2 * c1 * c2 * o1 * o2 + s1 * s2 * (o1**2 + o2**2)]


SWITCHED = PolynomialIdentity(
    ("c1", "s1", "c2", "s2", "o1", "o2"),
    _switched,
    _switched_again,
    "half the trace of two turns against cos cos − ½(ω₁/ω₂ + ω₂/ω₁) sin sin",
    {"o1": Rational(above=0), "o2": Rational(above=0)},
)
