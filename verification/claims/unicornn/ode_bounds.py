# Claims: sam-C.1-a · sam-C.1-a-proof · sam-C.1-b · sam-27 · sam-3.1 · sam-C.2 · sam-C.2-alpha0
"""Bounds for the differential equation of UnICORNN: its states (sam (23), (24), (27)), its sensitivities ((28), (29)).

One neuron from rest, y'' = −(αy + s), s = tanh(A): bias and input make every s(t) in (−1, 1), so the suprema are
those of a linear control problem (thm-C):

    sup |y(t)| = ∫_0^t |sin √α τ| dτ/√α,   sup |z(t)| = ∫_0^t |cos √α τ| dτ,   sup (αy² + z²) ≤ t²,

and m neurons, which do not interact, give m times the square. Up to √αt = π (π/2 for z) the constant control s = tanh b
is best but for |tanh b| < 1: w = 0, V = 0 and the bias b.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from odernn.bounds.numbers import BALLS
from odernn.published.sources import Source
from verification.cases.inequality import ALPHA_POSITIVE, Condition, Inequality, attempt, semidefinite_pieces
from verification.certify import linear_flow
from verification.certify.positivity import coefficient, variables
from verification.certify.second import intervals as second
from verification.domains import Budget
from verification.measure import ode
from verification.question import Attempt, Case, Parameters, Question, rational, rationals

PIECES = 4096
FAR = 64
"""Suprema over x = √α t are enclosed on (0, FAR] in PIECES balls, and beyond by ∫_0^x |sin|, |cos| ≤ 2(x/π + 1)."""

# --- states


@dataclass(frozen=True)
class Shape:
    """A quantity per neuron: its squared supremum is at most c·t^power, c = sup over x = √α t of ``of_ball``(x)².

    ``of_float``(x)² t^power is reached by some control, in the limit; ``value``(y, z, α) is the quantity itself.
    ``tail`` times 2/π + 2/FAR bounds of_ball beyond FAR; 0 where of_ball is constant.
    """

    name: str
    power: int
    of_float: Callable[[Any], Any]
    of_ball: Callable[[Any], Any]
    value: Callable[[Any, Any, Any], Any]
    tail: Fraction = Fraction(1)


def _mean_sine(x: Any) -> Any:
    """(1/x)∫_0^x |sin| ≤ this, a ball: exact up to π, then the integral at the upper end over the lower end."""
    if x < 3:
        return x / 2 * (x / 2).sinc() ** 2
    lower, upper = x.lower(), x.upper()
    k = math.floor(float(upper) / math.pi)
    return (2 * k + 1 - (upper - k * flint.arb.pi()).cos()) / lower


def _mean_cosine(x: Any) -> Any:
    if x < 1.5:
        return x.sinc()
    lower, upper = x.lower(), x.upper()
    moved = upper + flint.arb.pi() / 2
    k = math.floor(float(moved) / math.pi)
    return (2 * k - (moved - k * flint.arb.pi()).cos()) / lower


def _mean_square(x: Any) -> Any:
    """∫_0^x |sin| / x²."""
    return (x / 2).sinc() ** 2 / 2 if x < 3 else _mean_sine(x) / x


POSITION = Shape("α|y|²", 2, lambda x: ode.sine_area(x) / x, _mean_sine, lambda y, z, alpha: alpha * y * y)
MOMENTUM = Shape("|z|²", 2, lambda x: ode.cosine_area(x) / x, _mean_cosine, lambda y, z, alpha: z * z)
ENERGY = Shape(
    "α|y|² + |z|²",
    2,
    lambda x: np.abs(np.sinc(x / (2 * np.pi))),
    lambda x: 1 + 0 * x,
    lambda y, z, alpha: alpha * y * y + z * z,
    Fraction(0),
)
UNDAMPED_POSITION = Shape(
    "|y|²", 4, lambda x: 0.5 + 0 * x, lambda x: flint.arb(1) / 2, lambda y, z, alpha: y * y, Fraction(0)
)
UNDAMPED_MOMENTUM = Shape(
    "|z|²", 2, lambda x: 1.0 + 0 * x, lambda x: flint.arb(1), lambda y, z, alpha: z * z, Fraction(0)
)
POSITION_ALONE = Shape(
    "|y|²", 4, lambda x: ode.sine_area(x) / x**2, _mean_square, lambda y, z, alpha: y * y, Fraction(1, FAR)
)


def supremum_ball(shape: Shape) -> Any:
    """An upper bound on c, in balls, over all x > 0."""
    with flint.ctx.workprec(96):
        worst = BALLS.exact(shape.tail) * (2 / flint.arb.pi() + flint.arb(2) / FAR)
        width = Fraction(FAR, PIECES)
        for k in range(PIECES):
            x = BALLS.exact(k * width).union(BALLS.exact((k + 1) * width))
            worst = worst.max(shape.of_ball(x).abs_upper())
        return worst * worst


@dataclass(frozen=True)
class Bound:
    """The right side per neuron, (factor)·e^{rate}·t^power·e^{growth·t}."""

    factor: Fraction = Fraction(1)
    rate: Fraction = Fraction(0)
    power: int = 0
    growth: Fraction = Fraction(0)

    def float(self, t: Any) -> Any:
        return float(self.factor) * np.exp(float(self.rate) + float(self.growth) * t) * t**self.power

    def ball(self, t: Any) -> Any:
        exponent = coefficient(self.rate) + coefficient(self.growth) * t
        return coefficient(self.factor) * exponent.exp() * t**self.power

    def interval(self, t: Any) -> Any:
        constant = second.iv.mpf(self.rate.numerator) / self.rate.denominator
        exponent = t * self.growth.numerator / self.growth.denominator + constant
        return t**self.power * second.iv.exp(exponent) * self.factor.numerator / self.factor.denominator

    def exceeds(self, c: Any, power: int, horizon: int) -> bool:
        """c t^power ≤ right side for 0 < t ≤ horizon, proved in balls: both divided by t^(own power)."""
        rest = power - self.power
        if rest < 0:
            return False
        pieces = 256 * horizon
        for k in range(pieces):
            t = BALLS.exact(Fraction(k, 256)).union(BALLS.exact(Fraction(k + 1, 256)))
            exponent = coefficient(self.rate) + coefficient(self.growth) * t
            if not c * t.upper() ** rest <= coefficient(self.factor) * exponent.exp():
                return False
        return True


_DAMPED = ALPHA_POSITIVE
_UNDAMPED = Condition("α = 0", lambda p: -abs(p.alpha), strict=False)
_BIASES = tuple(map(Fraction, (1, 2, 3, 5, 8, 20)))


def state_case(domain: str, shape: Shape, bound: Bound, *, horizon: int | None, undamped: bool = False) -> Case:
    """sup of the quantity ≤ right side for 0 < t ≤ ``horizon``, or for all t > 0 if that is None; m = 1."""

    def balls(p: Any) -> tuple[Any, Any]:
        y, z = linear_flow.in_balls(0 * p.t, 0 * p.t, p.alpha, p.b.tanh(), p.t)
        return shape.value(y, z, p.alpha), bound.ball(p.t)

    def intervals(p: Any) -> tuple[Any, Any]:
        zero = second.iv.mpf(0)
        y, z = linear_flow.in_intervals(zero, zero, p.alpha, second.tanh(p.b), p.t)
        return shape.value(y, z, p.alpha), bound.interval(p.t)

    premises = [Condition("t > 0", lambda p: p.t)]
    if horizon is not None:
        premises.append(Condition(f"t ≤ {horizon}", lambda p: horizon - p.t, strict=False))
    premises.append(_UNDAMPED if undamped else _DAMPED)
    check = Inequality(balls, intervals, tuple(premises)).check

    def ask(budget: Budget, _: int) -> Attempt:
        size = {"smoke": 256, "standard": 1024, "deep": 4096}[budget.name]
        longest = 32 if horizon is None else horizon
        t = np.concatenate([np.geomspace(1e-3, longest, size), np.arange(1, 4 * longest + 1) / 4])[:, None]
        x = np.geomspace(1e-3, 20.0, size)
        left = shape.of_float(x) ** 2 * t**shape.power
        gap = np.log(left) - np.log(bound.float(t))
        worst = np.unravel_index(int(np.argmax(gap)), gap.shape)
        known = ode.largest_mean_sine()
        violated = bool(gap[worst] > 1e-9)
        candidates = _constant_controls(shape, bound, t[:, 0], x, gap, horizon, undamped) if violated else ()
        proof = "" if candidates or horizon is None else _proof(shape, bound, horizon)
        return Attempt(
            tried=f"{gap.size} pairs (t, √αt), the supremum over all controls in closed form",
            evaluations=gap.size,
            log_measured=float(np.log(left[worst])),
            log_claimed=float(np.log(bound.float(t[worst[0], 0]))),
            candidates=candidates,
            proof=proof,
            control=float((ode.sine_area(x) / x).max() / known),
        )

    return Case(domain, shape.name, ask, check, is_search=True)


def _proof(shape: Shape, bound: Bound, horizon: int) -> str:
    c = supremum_ball(shape)
    if not bound.exceeds(c, shape.power, horizon):
        return ""
    return (
        f"over 0 < t ≤ {horizon}, every α, control and m: {shape.name} ≤ m c t^{shape.power} (thm-C), c ≤ "
        f"{float(c.upper()):.4f} in {PIECES} balls of x = √αt ≤ {FAR} and by ∫_0^x |sin|, |cos| ≤ 2(x/π + 1) beyond; "
        f"and c t^{shape.power} is below the right side in {256 * horizon} balls of t"
    )


def _constant_controls(
    shape: Shape, bound: Bound, t: Any, x: Any, gap: Any, horizon: int | None, undamped: bool
) -> tuple[Parameters, ...]:
    """Readable t, α and bias for which the constant control violates in floats."""
    worst = np.unravel_index(int(np.argmax(gap)), gap.shape)
    near = Fraction(float(t[worst[0]]))
    whole = map(Fraction, range(1, (horizon or 32) + 1))
    times = sorted({near.limit_denominator(4) or Fraction(1, 4), near.limit_denominator(1000), *whole})
    limit = math.inf if horizon is None else horizon
    for b in _BIASES:
        for time in times:
            if not 0 < time <= limit:
                continue
            wanted = Fraction((float(x[worst[1]]) / float(time)) ** 2).limit_denominator(100)
            for alpha in (Fraction(0),) if undamped else (wanted or Fraction(1, 100), Fraction(1)):
                y, z = ode.flow(0.0, 0.0, float(alpha), math.tanh(-float(b)), float(time))
                if shape.value(y, z, float(alpha)) > (1 + 1e-9) * bound.float(float(time)):
                    return ({"alpha": rational(alpha), "t": rational(time), "b": rational(-b)},)
    return (
        {
            "alpha": "0" if undamped else rational(Fraction(float(x[worst[1]]) ** 2).limit_denominator(100)),
            "t": rational(times[-1]),
            "b": "-20",
        },
    )


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
        Condition("0 < t ≤ 1", lambda p: p.t * (p.t <= 1)),
        Condition("|u|² < c", lambda p: p.c - p.u**2),
    )
    check = Inequality(balls, intervals, premises).check

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


# --- sensitivities


@dataclass(frozen=True)
class Growth:
    """E(t) ≤ (start·E(0) + force·C̄) e^{w̄}, w̄ = max(offset + square·v², floor), for 0 ≤ t ≤ 1.

    α > 0: E = α|y_θ|² + |z_θ|², v = ‖w‖_∞/√α;   α = 0: E = |y_θ|² + |z_θ|², v = ‖w‖_∞.
    """

    undamped: bool
    offset: Fraction
    square: Fraction = Fraction(1)
    floor: Fraction = Fraction(2)
    start: Fraction = Fraction(1)
    force: Fraction = Fraction(1)

    def proof(self) -> str:
        """E' ≤ (offset + square·v²)|√α y|² + floor|z|² + |C|², a semidefinite form; then Gronwall's lemma."""
        v, p, b = variables("v", "p", "b")
        cross = 1 - v * p if self.undamped else v * p
        one = 1 + 0 * v
        form = [
            [coefficient(self.offset) + coefficient(self.square) * v * v, cross, 0 * v],
            [cross, coefficient(self.floor) * one, b],
            [0 * v, b, one],
        ]
        parts = [
            attempt(semidefinite_pieces(form, (side, (-1, 1), (0, 1))), f"v in {text}, |σ'| ≤ 1").proof
            for side, text in (((0, 1), "[0, 1]"), ((1, None), "[1, ∞)"))
        ]
        if not all(parts) or self.start < 1 or self.floor <= 0 or self.force * self.floor < 1:
            return ""
        return (
            "E' ≤ w̄E + C̄: the difference is a positive semidefinite form, its minors "
            + "; ".join(parts)
            + f"; so E(t) ≤ e^{{w̄t}}E(0) + C̄(e^{{w̄t}} − 1)/w̄ (Gronwall), t ≤ 1, w̄ ≥ {self.floor}"
        )

    def exponent(self, v: Any) -> Any:
        return np.maximum(float(self.offset) + float(self.square) * v * v, float(self.floor))


SEGMENTS = 4
_SATURATED = 4


def sensitivity_case(growth: Growth, quantity: str, domain: str = "t ≤ 1") -> Case:
    """θ = V_{i2} of one neuron with V_i = (1, 0): A = w y + u_1 + b is any a(t) through u_1, and C = u_2 any |C| ≤ √C̄.

    The adversary holds A and C on four quarters of (0, 1): κ = α + w(1 − tanh²a), force (1 − tanh²a)C, closed form.
    ``quantity`` is "y_θ" or "z_θ".
    """

    def balls(p: Any) -> tuple[Any, Any]:
        y, z = p.y0, p.z0
        for a, force in zip(p.preactivations, p.forces, strict=True):
            slope = 1 - a.tanh() ** 2
            y, z = linear_flow.in_balls(y, z, p.alpha + p.w * slope, slope * force, p.t / SEGMENTS)
        scale, v2 = (BALLS.exact(1), p.w**2) if growth.undamped else (p.alpha, p.w**2 / p.alpha)
        w = (coefficient(growth.offset) + coefficient(growth.square) * v2).max(BALLS.exact(growth.floor))
        before = scale * p.y0**2 + p.z0**2
        right = (coefficient(growth.start) * before + coefficient(growth.force) * p.C) * w.exp()
        return (scale * y**2 if quantity == "y_θ" else z**2), right

    def intervals(p: Any) -> tuple[Any, Any]:
        iv = second.iv
        y, z = p.y0, p.z0
        for a, force in zip(p.preactivations, p.forces, strict=True):
            derivative = 1 - second.tanh(a) ** 2
            y, z = linear_flow.in_intervals(y, z, derivative * p.w + p.alpha, force * derivative, p.t / SEGMENTS)
        energy_of_y = y**2 if growth.undamped else y**2 * p.alpha
        first = p.y0**2 if growth.undamped else p.y0**2 * p.alpha
        ratio = p.w**2 if growth.undamped else p.w**2 / p.alpha
        rate = ratio * growth.square.numerator / growth.square.denominator
        rate = rate + iv.mpf(growth.offset.numerator) / growth.offset.denominator
        least = iv.mpf(growth.floor.numerator) / growth.floor.denominator
        rate = iv.mpf([max(rate.a, least.a), max(rate.b, least.b)])
        total = (first + p.z0**2) * growth.start.numerator / growth.start.denominator
        total = total + p.C * growth.force.numerator / growth.force.denominator
        return (energy_of_y if quantity == "y_θ" else z**2), total * iv.exp(rate)

    premises = (
        _UNDAMPED if growth.undamped else _DAMPED,
        Condition("0 < t ≤ 1", lambda p: p.t * (p.t <= 1)),
        Condition("|C(t)|² ≤ C̄", lambda p: p.C - max(f * f for f in p.forces), strict=False),
    )
    check = Inequality(balls, intervals, premises, lists=("preactivations", "forces")).check

    def ask(budget: Budget, seed: int) -> Attempt:
        best, count = _search(growth, quantity, budget, seed)
        control = _search_control(budget, seed)
        candidates = (best.parameters(growth.undamped),) if best.gap > 1e-9 else ()
        return Attempt(
            tried=f"{count} switched runs: signs of C, saturation, α, w, initial values; the best refined",
            evaluations=count,
            log_measured=best.measured,
            log_claimed=best.measured - best.gap,
            candidates=candidates,
            proof="" if candidates else growth.proof(),
            control=control,
        )

    return Case(domain, f"|{quantity}|²", ask, check, is_search=True)


@dataclass(frozen=True)
class _Best:
    gap: float
    measured: float
    alpha: float
    w: float
    y0: float
    z0: float
    C: float
    saturated: tuple[bool, ...]
    signs: tuple[float, ...]

    def parameters(self, undamped: bool) -> Parameters:
        def short(x: float) -> str:
            return rational(Fraction(x).limit_denominator(16))

        return {
            "alpha": "0" if undamped else rational(Fraction(self.alpha).limit_denominator(100)),
            "w": short(self.w),
            "t": "1",
            "y0": short(self.y0),
            "z0": short(self.z0),
            "C": short(self.C),
            "preactivations": rationals([Fraction(_SATURATED if s else 0) for s in self.saturated]),
            "forces": rationals([Fraction(int(s)) * int(self.C) for s in self.signs]),
        }


def _run(alpha: Any, w: Any, y0: Any, z0: Any, C: Any, saturated: Any, signs: Any) -> tuple[Any, Any]:
    """(y, z) at t = 1; arrays broadcast, ``saturated`` and ``signs`` have the quarters last."""
    y, z = y0, z0
    for k in range(SEGMENTS):
        slope = 1 - np.tanh(_SATURATED * saturated[..., k]) ** 2
        y, z = ode.flow(y, z, alpha + w * slope, slope * C * signs[..., k], 1 / SEGMENTS)
    return y, z


def _patterns() -> tuple[Any, Any]:
    """All saturations × all signs of four quarters, (256, 4) each."""
    bits = (np.arange(16)[:, None] >> np.arange(SEGMENTS)) & 1
    return np.repeat(bits, 16, axis=0).astype(float), np.tile(2.0 * bits - 1, (16, 1))


def _search(growth: Growth, quantity: str, budget: Budget, seed: int) -> tuple[_Best, int]:
    rng = np.random.default_rng(seed)
    rounds = {"smoke": 20, "standard": 200, "deep": 2000}[budget.name]
    saturated, signs = _patterns()
    alphas = np.zeros(1) if growth.undamped else np.array([1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0])
    starts = np.array([(0, 0, 1), (1, 0, 0), (0, 1, 0), (1, 1, 0), (1, -1, 0), (1, 1, 1), (1, -1, 1)], dtype=float)
    weights = np.array([-8, -4, -2, -1, -0.5, 0, 0.5, 1, 2, 4, 8], dtype=float)
    grid = np.array([(a, w, *s) for a in alphas for w in weights for s in starts])
    best, count = _best_of(growth, quantity, grid, saturated, signs), len(grid) * len(signs)
    for k in range(rounds):
        size = 0.5 ** (1 + k / 6)
        centre = np.array([best.alpha, best.w, best.y0, best.z0, best.C])
        near = centre * np.exp(size * rng.standard_normal((16, 5)))
        near[:, 4] = best.C
        found = _best_of(growth, quantity, near, np.array([best.saturated], float), np.array([best.signs]))
        best, count = max(best, found, key=lambda b: b.gap), count + 16
    return best, count


def _best_of(growth: Growth, quantity: str, rows: Any, saturated: Any, signs: Any) -> _Best:
    alpha, w, y0, z0, C = (rows[:, k, None] for k in range(5))
    y, z = _run(alpha, w, y0, z0, C, saturated, signs)
    scale = 1.0 if growth.undamped else alpha
    measured = (scale * y * y if quantity == "y_θ" else z * z) + 0 * C
    v = np.abs(w) if growth.undamped else np.abs(w) / np.sqrt(alpha)
    inside = float(growth.start) * (scale * y0 * y0 + z0 * z0) + float(growth.force) * C * C
    with np.errstate(divide="ignore"):
        left, right = np.log(measured), np.log(np.maximum(inside, 1e-300)) + growth.exponent(v)
    gap = np.where(measured > 1e-12, left - right, -np.inf)
    i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
    return _Best(
        gap=float(gap[i, j]),
        measured=float(left[i, j]),
        **dict(zip(("alpha", "w", "y0", "z0", "C"), map(float, rows[i]), strict=True)),
        saturated=tuple(map(bool, saturated[j])),
        signs=tuple(map(float, signs[j])),
    )


def _search_control(budget: Budget, seed: int) -> float:
    """The same patterns at w = 0 from rest, C̄ = 1: the supremum of |y(1)| is (1/α)∫_0^{√α}|sin|, here at √α = 2π."""
    saturated, signs = _patterns()
    alpha = (2 * math.pi) ** 2
    y, _ = _run(alpha, 0.0, 0.0, 0.0, 1.0, saturated, signs)
    return float(np.max(np.abs(y)) / (ode.sine_area(math.sqrt(alpha)) / alpha))


E = Bound(rate=Fraction(1))
E_SQUARED = Bound(rate=Fraction(2))
T_EXP_T = Bound(power=1, growth=Fraction(1))
SENSITIVITY = Growth(undamped=False, offset=Fraction(0))
SENSITIVITY_UNDAMPED = Growth(undamped=True, offset=Fraction(1), floor=Fraction(3))

_SENSITIVITY_STATEMENT = (
    "|y_θ(t)|² ≤ (|y_θ(0)|² + |z_θ(0)|²/α)e^{w̄} + (C̄/α)e^{w̄}, |z_θ(t)|² ≤ (α|y_θ(0)|² + |z_θ(0)|²)e^{w̄} + C̄e^{w̄}, "
    "w̄ = max{‖w‖_∞²/α, 2}; t in [0, 1], α > 0, |C(t)|² ≤ C̄"
)

QUESTIONS = (
    Question(
        id="sam-C.1-a",
        source=Source("sam", "(23)"),
        statement="α > 0: |y(t)|² ≤ m e/α, |z(t)|² ≤ m e for t in (0, 1]; y(0) = z(0) = 0",
        semantics="real",
        cases=(state_case("t ≤ 1", POSITION, E, horizon=1), state_case("t ≤ 1", MOMENTUM, E, horizon=1)),
    ),
    Question(
        id="sam-C.1-a-proof",
        source=Source("sam", "App. C.1, proof"),
        statement="α|y(t)|² + |z(t)|² ≤ m t e^t; α > 0, y(0) = z(0) = 0, t in (0, 1]",
        semantics="real",
        cases=(state_case("t ≤ 1", ENERGY, T_EXP_T, horizon=1),),
    ),
    Question(
        id="sam-C.1-b",
        source=Source("sam", "(24)"),
        statement='α = 0: |y(t)|² ≤ m e², |z(t)|² ≤ m e² "for all t in (0, T]"; the statement opens with t in [0, 1], '
        "T is not defined",
        semantics="real",
        cases=(
            state_case("t ≤ 1", UNDAMPED_POSITION, E_SQUARED, horizon=1, undamped=True),
            state_case("t ≤ 1", UNDAMPED_MOMENTUM, E_SQUARED, horizon=1, undamped=True),
            state_case("t ≤ T, every T", UNDAMPED_POSITION, E_SQUARED, horizon=None, undamped=True),
            state_case("t ≤ T, every T", UNDAMPED_MOMENTUM, E_SQUARED, horizon=None, undamped=True),
        ),
    ),
    Question(
        id="sam-27",
        source=Source("sam", "(27)"),
        statement='|C(t)|² ≤ C̄ for t in [0, 1], and C̄ "only depends on the dimension m and on the constant c that '
        'bounds the input", |u(t)|² < c',
        semantics="real",
        cases=(forcing_case(),),
    ),
    *(
        Question(
            id=name,
            source=Source("sam", where),
            statement=_SENSITIVITY_STATEMENT,
            semantics="real",
            cases=(sensitivity_case(SENSITIVITY, "y_θ"), sensitivity_case(SENSITIVITY, "z_θ")),
        )
        for name, where in (("sam-3.1", "(10)"), ("sam-C.2", "(28)"))
    ),
    Question(
        id="sam-C.2-alpha0",
        source=Source("sam", "(29)"),
        statement="α = 0: max(|y_θ|², |z_θ|²) ≤ (|y_θ(0)|² + |z_θ(0)|²)e^{w̄} + C̄e^{w̄}, w̄ = max{1 + ‖w‖_∞², 3}; "
        "t in [0, 1], |C(t)|² ≤ C̄",
        semantics="real",
        cases=(sensitivity_case(SENSITIVITY_UNDAMPED, "y_θ"), sensitivity_case(SENSITIVITY_UNDAMPED, "z_θ")),
    ),
)
