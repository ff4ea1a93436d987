"""What holds at all times for the differential equation of one neuron, and how sharp it is: thm-C.

    y' = z, z' = −(s + αy), |s| ≤ 1;     y_θ' = z_θ, z_θ' = −κ y_θ − σ'C, κ = α + wσ' between κ₋ and κ₊

The adversary holds everything on segments of time, where both equations have closed forms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import reduce
from typing import Any

import flint
import numpy as np

from odernn.bounds import sensitivity
from odernn.bounds.numbers import BALLS
from verification.cases.identity import PolynomialIdentity
from verification.cases.inequality import Inequality
from verification.certify import linear_flow
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Parameters
from verification.domains import Budget
from verification.exact_text import rational, rationals
from verification.kinds import Listed, Rational
from verification.measure import ode
from verification.measure.polynomials import coefficient
from verification.parameters import Parameter, Rule, declared
from verification.parameters import rationals as all_rational

SEGMENTS = 6
LARGEST, LATEST, SMALL = 400, 40, 25


# --- (a) √E_a(t) ≤ (√E_a(0) + ∫|σ'C|) e^{λ_a t}


def _growth(v: Mapping[str, Any], factor: int = 1) -> list[Any]:
    """With b = √a, d = |κ − a|: b (2λE − 2(a − κ)yz) = d(by ∓ z)², E = b²y² + z², 2λ = d/b; ``factor`` of λ."""
    b, d, y, z = v["b"], v["d"], v["y"], v["z"]
    energy = b * b * y * y + z * z
    return [
        factor * d * energy - 2 * sign * b * d * y * z - d * (b * y - sign * z) * (b * y - sign * z) for sign in (1, -1)
    ]


def _growth_again(v: Mapping[str, Any], factor: int = 1) -> list[Any]:
    """E' = 2a y z + 2z(−κ y) at κ = a − d and a + d, against 2λE less the square."""
    b, d, y, z = v["b"], v["d"], v["y"], v["z"]
    a, residuals = b**2, []
    for kappa in (a - d, a + d):
        rise = 2 * a * y * z - 2 * z * kappa * y
        square = (y * b - z) ** 2 if kappa == a - d else (y * b + z) ** 2
        residuals.append(factor * d * (a * y**2 + z**2) - b * rise - d * square)
    return residuals


def growth_identity(factor: int = 1) -> PolynomialIdentity:
    """dE_a/dt ≤ 2λ_a E_a + 2|σ'C|√E_a, the part without C; ``factor`` other than 1 is a planted falsehood."""
    return PolynomialIdentity(
        ("b", "d", "y", "z"),
        lambda v: _growth(v, factor),
        lambda v: _growth_again(v, factor),
        "2λ_aE_a − 2(a − κ)y_θz_θ against |κ − a|(√a y_θ ∓ z_θ)²/√a",
        {"b": Rational(above=0), "d": Rational(above=0)},
    )


def sensitivity_case(factor: Fraction = Fraction(1)) -> Case:
    """log √E_a(t) ≤ log(√E_a(0) + ∫|σ'C|) + ``factor`` λ_a t for every form a > 0; slopes and C held on segments."""

    def balls(p: Any) -> tuple[Any, Any]:
        y, z, time, pushed = p.y0, p.z0, flint.arb(0), flint.arb(0)
        for slope, force, t in zip(p.slopes, p.forces, p.times, strict=True):
            y, z = linear_flow.in_balls(y, z, p.alpha + p.w * slope, slope * force, t)
            time, pushed = time + t, pushed + slope * abs(force) * t
        right = sensitivity.log_sensitivity(
            initial=(p.a * p.y0**2 + p.z0**2).sqrt(),
            forcing=pushed,
            kappa_low=p.alpha + p.w.min(0),
            kappa_high=p.alpha + p.w.max(0),
            form=p.a,
            time=coefficient(factor) * time,
            numbers=BALLS,
        )
        return (p.a * y**2 + z**2).log() / 2, right

    def intervals(p: Any) -> tuple[Any, Any]:
        iv = second.iv
        y, z, total = p.y0, p.z0, iv.sqrt(p.z0**2 + p.y0**2 * p.a)
        for slope, force, t in zip(p.slopes, p.forces, p.times, strict=True):
            y, z = linear_flow.in_intervals(y, z, slope * p.w + p.alpha, force * slope, t)
            total = total + t * abs(force * slope)
        ends = [abs(p.alpha - p.a), abs(p.w + p.alpha - p.a)]
        rate = iv.mpf([max(x.a for x in ends), max(x.b for x in ends)]) / iv.sqrt(p.a) / 2
        grown = rate * sum(p.times, iv.mpf(0)) * factor.numerator / factor.denominator
        return iv.log(z**2 + y**2 * p.a) / 2, iv.log(total) + grown

    parameters = declared(
        *all_rational("alpha", least=0, most=LARGEST),
        *all_rational("w", least=-LARGEST, most=LARGEST),
        *all_rational("a", above=0, most=LARGEST),
        *all_rational("y0", "z0", least=-LARGEST, most=LARGEST),
        Parameter("times", Listed(Rational(above=0, most=LATEST), (1, SEGMENTS))),
        Parameter("slopes", Listed(Rational(above=0, most=1), lambda v: len(v["times"]))),
        Parameter("forces", Listed(Rational(least=-LARGEST, most=LARGEST), lambda v: len(v["times"]))),
        rules=(Rule("it does not stay at rest", lambda v: bool(v["y0"] or v["z0"] or all(v["forces"]))),),
    )
    lists = ("times", "slopes", "forces")
    inequality = Inequality(balls, intervals, lists=lists, are_logs=True, parameters=parameters)

    def ask(budget: Budget, seed: int) -> Attempt:
        sides, at, count, share = _fastest(budget, seed, float(factor))
        violates = sides[0] > sides[1] + 1e-7
        proof = growth_identity().ask(budget, seed).proof if factor >= 1 and not violates else ""
        return Attempt(
            f"{count} switched runs, saddles and quarter periods among them",
            count,
            *sides,
            candidates=(at,) if violates else (),
            proof=proof and f"{proof}; |σ'C z_θ| ≤ |σ'C|√E_a, and Gronwall's inequality for √E_a",
            control=share,
        )

    return Case("all t", "√E_a", ask, inequality.check, is_search=True)


def _places(budget: Budget, seed: int) -> Iterator[tuple[dict[str, Any], bool]]:
    """Runs as numbers by name; whether it is a saddle that attains the bound."""
    for alpha, w, t in itertools.product((0.0, 1.0, 4.0), (-5.0, -9.0, -40.0), (1.0, 5.0)):
        W = -alpha - w
        if alpha <= 3 * W:
            at = {"alpha": alpha, "w": w, "a": W, "y0": 1.0, "z0": round(math.sqrt(W), 6)}
            yield {**at, "times": [t], "slopes": [1.0], "forces": [0.0]}, True
    for alpha, w in itertools.product((1.0, 9.0), (-0.5, 1.0, 4.0)):
        one, other = alpha + w, alpha + w / 1024
        quarters = [round(math.pi / 2 / math.sqrt(kappa), 3) for kappa in (one, other)] * (SEGMENTS // 2)
        for a, start in itertools.product((alpha, alpha + w / 2), ((0.0, 1.0), (1.0, 0.0))):
            at = {"alpha": alpha, "w": w, "a": a, "y0": start[0], "z0": start[1]}
            yield {**at, "times": quarters, "slopes": [1.0, 1 / 1024] * (SEGMENTS // 2), "forces": [0.0] * 6}, False
    rng = np.random.default_rng(seed)
    for _ in range({"smoke": 200, "standard": 1500, "deep": 20000}[budget.name]):
        at = {name: round(float(rng.normal() * size), 2) for name, size in (("w", 8), ("y0", 1), ("z0", 1))}
        at |= {"alpha": round(float(rng.exponential(2)), 2), "a": round(float(rng.exponential(4)) + 0.01, 2)}
        times = np.round(rng.exponential(0.5, SEGMENTS) + 0.01, 2).tolist()
        slopes = np.round(rng.choice([0.01, 0.5, 1.0], SEGMENTS), 2).tolist()
        yield (
            {**at, "times": times, "slopes": slopes, "forces": np.round(rng.normal(0, 1, SEGMENTS), 2).tolist()},
            False,
        )


def _fastest(budget: Budget, seed: int, factor: float) -> tuple[tuple[float, float], Parameters, int, float]:
    """Both sides at the worst, its parameters, the number of runs, and the share of λt that saddles reach."""
    worst: tuple[float, tuple[float, float], dict[str, Any]] = (-math.inf, (0.0, 0.0), {})
    count, share = 0, 0.0
    for at, is_saddle in _places(budget, seed):
        y, z, pushed, a = at["y0"], at["z0"], 0.0, at["a"]
        for slope, force, t in zip(at["slopes"], at["forces"], at["times"], strict=True):
            y, z = ode.flow(y, z, at["alpha"] + at["w"] * slope, slope * force, t)
            pushed += slope * abs(force) * t
        start = math.sqrt(a * at["y0"] ** 2 + at["z0"] ** 2)
        ends = at["alpha"] + min(at["w"], 0), at["alpha"] + max(at["w"], 0)
        rate = float(sensitivity.growth_rate(kappa_low=ends[0], kappa_high=ends[1], form=a))
        grown = rate * sum(at["times"])
        energy = a * float(y) ** 2 + float(z) ** 2
        count += 1
        if not energy > 1e-12 or start + pushed <= 0:
            continue
        left, right = math.log(energy) / 2, math.log(start + pushed) + factor * grown
        if is_saddle:
            share = max(share, (left - math.log(start)) / grown)
        if left - right > worst[0]:
            worst = left - right, (left, right), at
    exact = {
        name: rationals([_short(x) for x in value]) if isinstance(value, list) else rational(_short(value))
        for name, value in worst[2].items()
    }
    return worst[1], exact, count, share


def _short(value: float) -> Fraction:
    return Fraction(str(value)).limit_denominator(10**6)


# --- (c) the best form


def form_case(factor: Fraction = Fraction(1)) -> Case:
    """``factor`` times the smallest rate is at most λ_a for every a > 0: √W if W = −κ₋ > 0 and κ₊ ≤ 3W, else |w|/2 over
    √(2(κ₋ + κ₊)), the rate at the mean.
    """

    def balls(p: Any) -> tuple[Any, Any]:
        low, high = p.low, p.low + p.gap
        rate = sensitivity.growth_rate(kappa_low=low, kappa_high=high, form=p.a, numbers=BALLS)
        return coefficient(factor) * _best_in_balls(low, high), rate

    def intervals(p: Any) -> tuple[Any, Any]:
        iv = second.iv
        ends = [abs(p.a - p.low), abs(p.low + p.gap - p.a)]
        rate = iv.mpf([max(x.a for x in ends), max(x.b for x in ends)]) / iv.sqrt(4 * p.a)
        is_deep = p.low.b < 0 and (p.low * 4 + p.gap).b <= 0
        best = iv.sqrt(-p.low) if is_deep else p.gap / iv.sqrt(p.low * 2 + p.gap) / iv.sqrt(iv.mpf(8))
        return best * factor.numerator / factor.denominator, rate

    parameters = declared(
        *all_rational("low", least=-LARGEST, most=LARGEST),
        *all_rational("gap", least=0, most=LARGEST),
        *all_rational("a", above=0, most=LARGEST),
        rules=(Rule("κ₋ + κ₊ > 0 where κ₊ > −3κ₋ or κ₋ ≥ 0", lambda v: _is_deep(v) or 2 * v["low"] + v["gap"] > 0),),
    )
    inequality = Inequality(balls, intervals, parameters=parameters)

    def ask(_: Budget, __: int) -> Attempt:
        worst: tuple[float, tuple[float, float], Parameters] = (-math.inf, (0.0, 0.0), {})
        count = 0
        for low, gap in itertools.product((-9, -1, 0, 1, 4), (0, 1, 4, 30)):
            if not (_is_deep({"low": low, "gap": gap}) or 2 * low + gap > 0):
                continue
            for a in (Fraction(k, 8) for k in range(1, 200)):
                place = {"low": str(low), "gap": str(gap), "a": rational(a)}
                rate = float(sensitivity.growth_rate(kappa_low=low, kappa_high=low + gap, form=float(a)))
                best = float(factor) * _best(float(low), float(low + gap))
                count += 1
                if best - rate > worst[0] and rate > 0:
                    worst = best - rate, (math.log(max(best, 1e-300)), math.log(rate)), place
        failing = worst[0] > 1e-9
        return Attempt(f"{count} triples (κ₋, κ₊, a)", count, *worst[1], candidates=(worst[2],) if failing else ())

    return Case("all a > 0", "λ_a", ask, inequality.check)


def _is_deep(v: Mapping[str, Any]) -> bool:
    """κ₋ < 0 and κ₊ ≤ −3κ₋."""
    return bool(v["low"] < 0 and v["low"] + v["gap"] <= -3 * v["low"])


def _best(low: float, high: float) -> float:
    form = float(sensitivity.best_form(kappa_low=low, kappa_high=high))
    return float(sensitivity.growth_rate(kappa_low=low, kappa_high=high, form=form))


def _best_in_balls(low: Any, high: Any) -> Any:
    """λ at |κ₋| or at the mean of κ₋ and κ₊."""
    form = -low if low < 0 and high <= -3 * low else (low + high) / 2
    return sensitivity.growth_rate(kappa_low=low, kappa_high=high, form=form, numbers=BALLS)


# --- (d) the suprema over all drives


def supremum_case(quantity: str, factor: Fraction = Fraction(1)) -> Case:
    """|y(t)| ≤ ∫_0^t |sin √α s| ds/√α, |z(t)| ≤ ∫_0^t |cos √α s| ds, attained by s = ±1 that follows the kernel."""
    is_position = quantity == "|y|"

    def balls(p: Any) -> tuple[Any, Any]:
        y, z, time = flint.arb(0), flint.arb(0), flint.arb(0)
        for s, t in zip(p.s, p.times, strict=True):
            y, z = linear_flow.in_balls(y, z, p.alpha, s, t)
            time += t
        root = p.alpha.sqrt()
        x = root * time
        if is_position:
            return abs(y), coefficient(factor) * _sine_area(x) / p.alpha
        return abs(z), coefficient(factor) * (_sine_area(x + flint.arb.pi() / 2) - 1) / root

    def intervals(p: Any) -> tuple[Any, Any]:
        iv = second.iv
        y = z = iv.mpf(0)
        for s, t in zip(p.s, p.times, strict=True):
            y, z = linear_flow.in_intervals(y, z, p.alpha, s, t)
        root = iv.sqrt(p.alpha)
        phase = sum(p.times, iv.mpf(0)) * root
        area = _waves(phase, iv.mpf(0)) / p.alpha if is_position else _waves(phase, iv.pi / 2) / root
        return abs(y if is_position else z), area * factor.numerator / factor.denominator

    parameters = declared(
        *all_rational("alpha", above=0, most=SMALL),
        Parameter("times", Listed(Rational(above=0, most=LATEST), (1, SEGMENTS))),
        Parameter("s", Listed(Rational(least=-1, most=1), lambda v: len(v["times"]))),
    )
    inequality = Inequality(balls, intervals, lists=("times", "s"), parameters=parameters)

    def ask(budget: Budget, seed: int) -> Attempt:
        count, share, worst = 0, 0.0, (-math.inf, (0.0, 0.0), {"": ""})
        for alpha, times, signs in _drives(budget, seed, is_position):
            y = z = 0.0
            for s, t in zip(signs, times, strict=True):
                y, z = ode.flow(y, z, alpha, s, t)
            name = "position" if is_position else "momentum"
            supremum = math.exp(sensitivity.log_supremum(alpha=alpha, time=sum(times), quantity=name))
            reached = abs(float(y if is_position else z)) / supremum
            count, share = count + 1, max(share, reached)
            if reached - float(factor) > worst[0] and reached > 0:
                at = {"alpha": rational(_short(alpha)), "times": rationals([_short(t) for t in times])}
                at["s"] = rationals([_short(s) for s in signs])
                sides = math.log(reached * supremum), math.log(float(factor) * supremum)
                worst = reached - float(factor), sides, at
        failing = worst[0] > 1e-6
        return Attempt(
            f"{count} switched drives", count, *worst[1], candidates=(worst[2],) if failing else (), control=share
        )

    return Case("all drives", quantity, ask, inequality.check, is_search=True)


def _drives(budget: Budget, seed: int, is_position: bool) -> Iterator[tuple[float, list[float], list[float]]]:
    """(α, times, s): switches at the zeros of the kernel, in thousandths, and at random times."""
    for alpha, halves in itertools.product((0.25, 1.0, 4.0), (1, 2, 3)):
        half = round(math.pi / math.sqrt(alpha), 3)
        times = [half] * halves + ([] if is_position else [round(half / 2, 3)])
        yield alpha, times, [float((-1) ** k) for k in range(len(times))]
    rng = np.random.default_rng(seed)
    for _ in range({"smoke": 300, "standard": 3000, "deep": 30000}[budget.name]):
        times = np.round(rng.exponential(1.5, rng.integers(1, SEGMENTS + 1)) + 0.01, 2).tolist()
        yield round(float(rng.uniform(0.05, 6)), 2), times, rng.choice([-1.0, 1.0, 0.5], len(times)).tolist()


def _sine_area(x: Any) -> Any:
    """∫_0^x |sin| of a short ball, k half-waves in it: 2k + 1 − cos(x − kπ), the union over every k that may be."""
    turns = x / flint.arb.pi()
    near = int(float(turns.mid()))
    areas = [
        2 * k + 1 - (x - k * flint.arb.pi()).cos()
        for k in range(max(near - 1, 0), near + 2)
        if not (turns < k or turns > k + 1)
    ]
    return reduce(flint.arb.union, areas)


def _waves(phase: Any, shift: Any) -> Any:
    """∫_0^phase |sin(· + shift)|: a sum over half-waves of cos at their ends."""
    iv = second.iv
    end, start, total = phase + shift, shift, iv.mpf(0)
    k = 1
    while (k * iv.pi - end).b < 0:
        total = total + 1 + iv.cos(start - (k - 1) * iv.pi)  # up to kπ: cos(start) − cos(kπ), of one sign
        start, k = k * iv.pi, k + 1
    sign = 1 if (k - 1) % 2 == 0 else -1
    beyond = max((end - k * iv.pi).b, 0)  # where the last end is not known to be on this side of kπ
    return total + sign * (iv.cos(start) - iv.cos(end)) + iv.mpf([0, beyond])
