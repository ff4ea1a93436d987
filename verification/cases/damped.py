"""Damped neurons: M(k) = √q T⁻¹B(κ)T, the slopes that a form contracts at 1/(1 + hr), inputs.   thm-damp

    M(k) = [[1 − h²qk, hq], [−hqk, q]],   q = 1/(1 + hγ),   ρ = 1/(1 + hr),   D = 1 + hγ + (1 + hr)²,
    sin²ξ(k) = h²(k(1 + hr) − r(γ − r))/(2D),   sin g = h(γ − 2r − hr²)/D:   |ξ(k) − ξ(α)| ≤ g

The first back-end measures damped steps as undamped ones in the form u = 1 − ah²/2, the second one by M and P.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from odernn.bounds.numbers import BALLS
from verification.cases.identity import PolynomialIdentity
from verification.cases.inequality import Inequality
from verification.cases.nominate import first_violation, glance
from verification.cases.related import Related
from verification.cases.step_products import log_norm_in_balls
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Parameters
from verification.domains import Budget
from verification.exact_text import rational
from verification.exact_text import rationals as written
from verification.kinds import SIGN, Listed, Rational, Values
from verification.measure.polynomials import coefficient
from verification.parameters import Parameter, declared, rationals

iv = second.iv
MOST_STEPS = 60

# --- (a), as polynomials in h, s = √q and k


def _similar(v: Mapping[str, Any], factor: int = 1) -> list[Any]:
    """T M − √q B T, its second row times h; κ h² s = K."""
    h, s, k = v["h"], v["s"], v["k"]
    q, lost = s * s, 1 - s
    K = h * h * q * k - factor * lost * lost
    M = [[1 - h * h * q * k, h * q], [-h * q * k, q]]
    left = [M[0], [lost * M[0][0] + h * s * M[1][0], lost * M[0][1] + h * s * M[1][1]]]
    right = [[s - K + s * lost, h * q], [s * lost - K, h * q]]
    return [x - y for row, other in zip(left, right, strict=True) for x, y in zip(row, other, strict=True)]


def _similar_again(v: Mapping[str, Any], factor: int = 1) -> list[Any]:
    """The images of (1, 0) and (0, 1): kick, friction, drift; in T's coordinates kick and drift, times s."""
    h, s, k = v["h"], v["s"], v["k"]
    found = []
    for y, z in ((1, 0), (0, 1)):
        after_z = s**2 * (z - h * k * y)
        after_y = y + h * after_z
        seen = h * s * z + (1 - s) * y  # h times the second coordinate
        stiff = s**2 * k * h**2 - factor * (s - 1) ** 2  # h²sκ
        kicked = s * seen - stiff * y
        found.append((after_y - s * y - kicked, (1 - s) * after_y + h * s * after_z - kicked))
    return [found[0][0], found[1][0], found[0][1], found[1][1]]


def similarity(factor: int = 1) -> PolynomialIdentity:
    """Another ``factor`` of (1 − √q)² in κ is a planted falsehood."""
    return PolynomialIdentity(
        ("h", "s", "k"),
        lambda v: _similar(v, factor),
        lambda v: _similar_again(v, factor),
        "T M(k) against √q B(κ) T",
    )


# --- what is admitted


def _ends(h: Fraction, r: Fraction, gamma: Fraction) -> tuple[Fraction, Fraction]:
    """k with sin²ξ = 0 and 1."""
    return r * (gamma - r) / (1 + h * r), (2 + h * r) * (2 + h * (gamma + r)) / (h**2 * (1 + h * r))


def _inside(alpha: Fraction, values: Values) -> Fraction:
    low, high = _ends(values["h"], values["r"], values["gamma"])
    return Fraction(min(max(alpha, low + (high - low) / 100), low + (high - low) * Fraction(99, 100)))


def _damping(gamma: Fraction, values: Values) -> Fraction:
    h, r = values["h"], values["r"]
    return Fraction(max(gamma, (2 * r + h * r * r) * Fraction(101, 100), Fraction(1, 100) / h))


NEURON = (
    *rationals("h", least=Fraction(1, 10**4), most=10),
    *rationals("r", least=0, most=100),
    Parameter("gamma", Related(Rational(above=0, most=10**6), "γ ≥ 1.01 (2r + hr²), γh ≥ 1/100", _damping)),
    Parameter("alpha", Related(Rational(above=0), "0.01 ≤ sin²ξ(α) ≤ 0.99", _inside)),
    Parameter("end", SIGN),
)
PLACE = (
    *NEURON,
    *rationals("share", least=0, most=1),
    Parameter("slopes", Listed(Rational(least=0, most=1), (1, MOST_STEPS))),
)


def _largest(x: Any, y: Any) -> Any:
    """max of two intervals."""
    return iv.mpf([max(x.a, y.a), max(x.b, y.b)])


def _part(x: Any) -> Any:
    return _largest(x, iv.mpf(0))


class Angles:
    """ξ and g of a neuron, in numbers of either back-end: ``root`` of a positive part, ``largest`` of two."""

    def __init__(self, p: Any, factor: Any, root: Callable[[Any], Any], largest: Callable[[Any, Any], Any]) -> None:
        self.h, self.r, self.gamma, self.alpha = p.h, p.r, p.gamma, p.alpha
        self.root, self.largest = root, largest
        self.D = 1 + p.h * p.gamma + (1 + p.h * p.r) ** 2
        self.sine_g = p.h * (p.gamma - 2 * p.r - p.h * p.r**2) / self.D
        self.cosine_g = root(1 - self.sine_g**2)
        self.taken = factor * self.sine_g  # of the planted falsehood, an interval too wide
        self.end = p.end

    def square(self, k: Any) -> Any:
        """sin²ξ(k)."""
        return self.h**2 * (k * (1 + self.h * self.r) - self.r * (self.gamma - self.r)) / (2 * self.D)

    def slope(self, square: Any) -> Any:
        """k of sin²ξ."""
        return (2 * self.D * square / self.h**2 + self.r * (self.gamma - self.r)) / (1 + self.h * self.r)

    def last(self, is_high: bool) -> Any:
        """α + w₊, or α + w₋."""
        square, zero = self.square(self.alpha), 0 * self.h
        sine, cosine, taken = self.root(square), self.root(1 - square), self.root(1 - self.taken**2)
        if is_high:
            return self.slope(1 - self.largest(cosine * taken - sine * self.taken, zero) ** 2)
        return self.slope(self.largest(sine * taken - cosine * self.taken, zero) ** 2)

    def form(self, k_low: Any, k_high: Any) -> Any:
        """u = cos φ of a form for both: the middle ξ(k₋) + ξ(k₊), or the nearest φ that both admit."""
        (s, c), (S, C) = ((self.root(x), self.root(1 - x)) for x in map(self.square, (k_low, k_high)))
        turned = [
            self.cosine_g * (1 - 2 * y * y) + side * self.sine_g * 2 * y * x
            for x, y, side in ((c, s, 1), (C, S, 1), (C, S, -1))
        ]
        lower = -self.largest(-turned[0], -turned[1])
        return self.largest(-self.largest(-lower, S * s - C * c), turned[2])


def _balls_of(p: Any, factor: Fraction) -> tuple[Angles, Any]:
    return Angles(p, coefficient(factor), BALLS.root_of_positive_part, BALLS.maximum), 1 / (1 + p.h * p.gamma)


def _intervals_of(p: Any, factor: Fraction) -> tuple[Angles, Any]:
    scaled = iv.mpf(factor.numerator) / factor.denominator
    return Angles(p, scaled, lambda x: iv.sqrt(_part(x)), _largest), 1 / (p.gamma * p.h + 1)


def _slopes(angles: Angles, p: Any, is_high: bool) -> tuple[Any, Any, list[Any]]:
    """k₋, k₊ and the k of every step."""
    w = p.share * (angles.last(is_high) - p.alpha)
    ends = (p.alpha, p.alpha + w) if is_high else (p.alpha + w, p.alpha)
    return (*ends, [p.alpha + w * s for s in p.slopes])


def _is_high(p: Any) -> bool:
    return bool(p.end > 0)


# --- P of a form, by the second back-end


class Quadratic:
    """P = [[m², n], [n, q]] of u = 1 − ah²/2: t = (1 − √q)/h, m² = (t − ah/2)² + r_a², n = √q(t − ah/2)."""

    def __init__(self, q: Any, u: Any, h: Any) -> None:
        root = iv.sqrt(q)
        lean = ((1 - root) - (1 - u)) / h
        self.yy, self.yz, self.zz = lean**2 + (1 - u**2) / h**2, root * lean, q
        self.det = q * (1 - u**2) / h**2

    def of(self, x: Any, other: Any) -> Any:
        """xᵀ P x'."""
        return self.yy * x[0] * other[0] + self.yz * (x[0] * other[1] + x[1] * other[0]) + self.zz * x[1] * other[1]

    def norm(self, columns: Any, determinant: Any) -> Any:
        """The larger singular value s₁ of (columns) in P: s₁² + s₂² = tr(P⁻¹ΦᵀPΦ), s₁s₂ = det."""
        first, other = columns
        gram = self.of(first, first), self.of(first, other), self.of(other, other)
        trace = (self.zz * gram[0] - 2 * self.yz * gram[1] + self.yy * gram[2]) / self.det
        return (iv.sqrt(_part(trace + 2 * determinant)) + iv.sqrt(_part(trace - 2 * determinant))) / 2


def _columns(ks: list[Any], h: Any, q: Any) -> list[tuple[Any, Any]]:
    moved = []
    for y, z in ((iv.mpf(1), iv.mpf(0)), (iv.mpf(0), iv.mpf(1))):
        for k in ks:
            z = (z - h * (k * y)) * q
            y = z * h + y
        moved.append((y, z))
    return moved


def admitted_case(factor: Fraction = Fraction(1)) -> Case:
    """‖Φ‖_P ≤ ρ^N of N steps with any slopes and w = share w±; ``factor`` of sin g is planted."""

    def balls(p: Any) -> tuple[Any, Any]:
        angles, q = _balls_of(p, factor)
        low, high, ks = _slopes(angles, p, _is_high(p))
        root = q.sqrt()
        kappas = [root * k - (1 - root) ** 2 / (p.h**2 * root) for k in ks]
        a = 2 * (1 - angles.form(low, high)) / p.h**2
        return log_norm_in_balls(kappas, p.h, a).exp() * root ** len(ks), (1 + p.h * p.r) ** -len(ks)

    def intervals(p: Any) -> tuple[Any, Any]:
        angles, q = _intervals_of(p, factor)
        low, high, ks = _slopes(angles, p, p.texts["end"] == "1")
        P = Quadratic(q, angles.form(low, high), p.h)
        return P.norm(_columns(ks, p.h, q), q ** len(ks)), 1 / (p.h * p.r + 1) ** len(ks)

    parameters = declared(*PLACE)
    inequality = Inequality(balls, intervals, lists=("slopes",), parameters=parameters)

    def ask(budget: Budget, seed: int) -> Attempt:
        return _searched(inequality, _places(budget, seed), "products: one step, words, at random, trained neurons")

    return Case("every input", "‖Φ(N, 0)‖_P ≤ ρ^N", ask, inequality.check, is_search=True)


def _searched(inequality: Inequality, places: Iterator[tuple[Parameters, bool]], words: str) -> Attempt:
    """The worst of the places; the control is the least share of the bound where it is attained."""
    seen = list(places)
    reached = 1.0
    for place, is_attained in seen:
        sides = glance(inequality, place) if is_attained else None
        if sides is not None:
            reached = min(reached, float(np.exp(sides[0] - sides[1])))
    found = first_violation((inequality,), (place for place, _ in seen), f"{len(seen)} {words}")
    return Attempt(
        found.tried,
        found.evaluations,
        found.log_measured,
        found.log_claimed,
        candidates=found.candidates,
        control=reached,
    )


_NEURONS = (
    (0.5, 0.2, 1.0, 4.0),
    (0.25, 0.0, 2.0, 8.0),
    (0.6, 0.5, 2.0, 3.0),
    (0.1, 0.1, 1.0, 4.0),
    (1.2, 0.1, 2.0, 2.0),
)
"""(h, r, γ, α): as in the table of thm-damp (g), and a stiff one."""


def _places(budget: Budget, seed: int) -> Iterator[tuple[Parameters, bool]]:
    """(a place, whether ρ is attained there): one step at either end, words, random slopes, trained neurons."""
    from verification.adversary import damped_neurons

    rng = random.Random(seed)
    for neuron in _NEURONS:
        for end in (1, -1):
            for slope in (0, 1):
                yield _place(neuron, end, 1.0, [slope]), True
            for quarter in (2, 3, 5, 9):
                yield _place(neuron, end, 1.0, ([0] * quarter + [1] * quarter) * 3), False
    for _ in range({"smoke": 40, "standard": 400, "deep": 4000}[budget.name]):
        h, r = 10 ** rng.uniform(-2, 0.3), 10 ** rng.uniform(-2, 1)
        gamma = (2 * r + h * r * r) * 10 ** rng.uniform(0.01, 1)
        low, high = (float(x) for x in _ends(Fraction(h), Fraction(r), Fraction(gamma)))
        neuron = (h, r, gamma, low + (high - low) * rng.random() ** 2)
        slopes = [rng.choice([0.0, 1.0, rng.random()]) for _ in range(rng.randint(1, 30))]
        yield _place(neuron, rng.choice((1, -1)), rng.choice((1.0, rng.random())), slopes), False
    for rate, steps in ((0.1, 30), (0.3, 15)):
        for each in damped_neurons.trained(rate, steps, seed):
            neuron = (each.step_size, each.rate, each.gamma, each.alpha)
            yield _place(neuron, 1 if each.share >= 0 else -1, abs(each.share), list(each.slopes)), False


def _place(neuron: tuple[float, ...], end: int, share: float, slopes: list[Any], **more: str) -> Parameters:
    h, r, gamma, alpha = (Fraction(x).limit_denominator(10**4) for x in neuron)
    values: Values = {"h": max(h, Fraction(1, 10**4)), "r": r}
    values["gamma"] = _damping(gamma, values)
    values["alpha"] = _inside(alpha, values)
    exact = {name: rational(value) for name, value in values.items()}
    cut = [min(max(Fraction(x).limit_denominator(10**4), Fraction(0)), Fraction(1)) for x in (share, *slopes)]
    return {**exact, "end": str(end), "share": rational(cut[0]), "slopes": written(cut[1:]), **more}


# --- what is not: beyond the interval no form contracts at ρ


def outside_case(factor: Fraction = Fraction(1)) -> Case:
    """max ‖M(k)‖_P ≥ ρ over k = α, α + w± or beyond, for every P = [[x² + y², x], [x, 1]]; ``factor`` of ρ planted."""

    def trace(k: Any, p: Any, q: Any) -> Any:
        """tr(P⁻¹MᵀPM), P⁻¹ = [[1, −x], [−x, x² + y²]]/y²."""
        M = ((1 - p.h * p.h * q * k, p.h * q), (-p.h * q * k, q))
        yy, x = p.x * p.x + p.y * p.y, p.x

        def pair(i: int, j: int) -> Any:
            (a, b), (c, d) = (M[0][i], M[1][i]), (M[0][j], M[1][j])
            return yy * a * c + x * (a * d + b * c) + b * d

        return (pair(0, 0) - 2 * x * pair(0, 1) + yy * pair(1, 1)) / (p.y * p.y)

    def sides(p: Any, angles: Angles, q: Any, is_high: bool, scaled: Any) -> tuple[Any, Any]:
        rho = scaled / (1 + p.h * p.r)
        far = angles.last(is_high) + (p.beyond if is_high else -p.beyond)
        return rho**2 + q**2 / rho**2, angles.largest(trace(p.alpha, p, q), trace(far, p, q))

    def balls(p: Any) -> tuple[Any, Any]:
        return sides(p, *_balls_of(p, Fraction(1)), _is_high(p), coefficient(factor))

    def intervals(p: Any) -> tuple[Any, Any]:
        scaled = iv.mpf(factor.numerator) / factor.denominator
        return sides(p, *_intervals_of(p, Fraction(1)), p.texts["end"] == "1", scaled)

    parameters = declared(*NEURON, *rationals("beyond", least=0), *rationals("x"), *rationals("y", above=0))
    inequality = Inequality(balls, intervals, parameters=parameters)

    def points(budget: Budget, seed: int) -> Iterator[tuple[Parameters, bool]]:
        rng = random.Random(seed)
        for neuron in _NEURONS:
            for end in (1, -1):
                place = _place(neuron, end, 1.0, [1])
                del place["share"], place["slopes"]
                x, y = _best_form(place)
                for scale in (0.0, *(10 ** rng.uniform(-3, 0) for _ in range({"smoke": 8}.get(budget.name, 80)))):
                    moved = Fraction(x + scale * rng.gauss(0, 1)), Fraction(y * np.exp(scale * rng.gauss(0, 1)))
                    written_at = [rational(each.limit_denominator(10**9)) for each in moved]
                    yield {**place, "beyond": "0", "x": written_at[0], "y": written_at[1]}, scale == 0.0

    def ask(budget: Budget, seed: int) -> Attempt:
        return _searched(inequality, points(budget, seed), "forms near the best one, w at an end of the interval")

    return Case(
        "w not inside, every form", "max ‖M(k±)‖_P ≥ ρ, as ρ² + q²/ρ² ≤ max tr", ask, inequality.check, is_search=True
    )


def _best_form(place: Parameters) -> tuple[float, float]:
    """x, y of the form that both ends share at ρ, in floats."""
    from types import SimpleNamespace

    p = SimpleNamespace(**{name: float(Fraction(place[name])) for name in ("h", "r", "gamma", "alpha", "end")})
    angles = Angles(p, 1.0, lambda v: max(v, 0.0) ** 0.5, max)
    last, q = angles.last(p.end > 0), 1 / (1 + p.h * p.gamma)
    u = angles.form(min(p.alpha, last), max(p.alpha, last))
    lean = (u - q**0.5) / p.h
    return lean / q**0.5, max(1 - u * u, 1e-12) ** 0.5 / (p.h * q**0.5)


# --- inputs


def input_case(factor: Fraction = Fraction(1)) -> Case:
    """‖δX_N‖_P ≤ hq Σ ρ^{N−n}|δx_n| with any slopes s: δX = M(α + ws)δX − hq s δx (h, 1)ᵀ; ``factor`` of it planted."""

    def balls(p: Any) -> tuple[Any, Any]:
        angles, q = _balls_of(p, Fraction(1))
        low, high, ks = _slopes(angles, p, _is_high(p))
        root, rho = q.sqrt(), 1 / (1 + p.h * p.r)
        a = 2 * (1 - angles.form(low, high)) / p.h**2
        y, z, total = 0 * p.h, 0 * p.h, 0 * p.h  # of T X, moved by √q B(κ)
        for k, s, change in zip(ks, p.slopes, p.change, strict=True):
            kappa = root * k - (1 - root) ** 2 / (p.h**2 * root)
            z = root * (z - p.h * kappa * y)
            y = root * y + p.h * z
            y, z = y - p.h**2 * q * s * change, z - p.h * q * s * change
            total = rho * total + p.h * q * BALLS.absolute(change)
        return BALLS.root_of_positive_part(a * y * y + z * z - a * p.h * y * z), coefficient(factor) * total

    def intervals(p: Any) -> tuple[Any, Any]:
        angles, q = _intervals_of(p, Fraction(1))
        low, high, ks = _slopes(angles, p, p.texts["end"] == "1")
        y = z = total = iv.mpf(0)
        for k, s, change in zip(ks, p.slopes, p.change, strict=True):
            z = q * (z - p.h * (k * y + s * change))
            y = y + p.h * z
            total = total / (p.r * p.h + 1) + abs(change) * (q * p.h)
        P = Quadratic(q, angles.form(low, high), p.h)
        return iv.sqrt(_part(P.of((y, z), (y, z)))), total * factor.numerator / factor.denominator

    parameters = declared(*PLACE, Parameter("change", Listed(Rational(), lambda v: len(v["slopes"]))))
    inequality = Inequality(balls, intervals, lists=("slopes", "change"), parameters=parameters)

    def points(budget: Budget, seed: int) -> Iterator[tuple[Parameters, bool]]:
        rng = random.Random(seed)
        for neuron in _NEURONS:
            for end in (1, -1):
                yield _place(neuron, end, 1.0, [1], change="1"), True
        for place, _ in _places(budget, seed):
            count = len(place["slopes"].split())
            yield {**place, "change": written([Fraction(rng.randint(-9, 9), 4) for _ in range(count)])}, False

    def ask(budget: Budget, seed: int) -> Attempt:
        return _searched(inequality, points(budget, seed), "pairs of runs: one step, words, at random, trained neurons")

    return Case("every input, two runs", "‖δX_N‖_P ≤ hq Σ ρ^{N−n}|δx_n|", ask, inequality.check, is_search=True)
