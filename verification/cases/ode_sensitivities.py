"""Derivatives of the states of the ODE by its start, under controls of few segments, against printed bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from odernn.bounds.numbers import BALLS
from verification.cases.inequality import Inequality, attempt, semidefinite_pieces
from verification.cases.ode_states import LARGEST
from verification.cases.related import Related
from verification.certify import linear_flow
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Parameters
from verification.domains import Budget
from verification.exact_text import rational, rationals
from verification.kinds import Constant, Listed, Rational
from verification.measure import ode
from verification.measure.polynomials import coefficient, variables
from verification.parameters import Parameter, declared
from verification.parameters import rationals as all_rational


@dataclass(frozen=True)
class SensitivityBound:
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


def sensitivity_case(growth: SensitivityBound, quantity: str, domain: str = "t ≤ 1") -> Case:
    """θ = V_{i2} of one neuron with V_i = (1, 0): A = w y + u_1 + b is any a(t) through u_1, and C = u_2 any |C| ≤ √C̄.

    The adversary holds A and C on four quarters of (0, 1): κ = α + w(1 − tanh²a), force (1 − tanh²a)C, closed form.
    ``quantity`` is "y_θ", "z_θ", or "E", their sum, of which each is a part.
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
        return {"y_θ": scale * y**2, "z_θ": z**2, "E": scale * y**2 + z**2}[quantity], right

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
        measured = z**2 if quantity == "z_θ" else energy_of_y
        return (measured + z**2 if quantity == "E" else measured), total * iv.exp(rate)

    large = Rational(least=-LARGEST, most=LARGEST)
    parameters = declared(
        Parameter("alpha", Constant(0) if growth.undamped else Rational(above=0, most=LARGEST)),
        Parameter("w", large),
        Parameter("t", Rational(above=0, most=1)),
        *all_rational("y0", "z0"),
        Parameter("preactivations", Listed(large, SEGMENTS)),
        Parameter("forces", Listed(Rational(), SEGMENTS)),
        Parameter("C", Related(Rational(), "|C(t)|² ≤ C", lambda C, v: max(C, *(force**2 for force in v["forces"])))),
    )
    lists = ("preactivations", "forces")
    check = Inequality(balls, intervals, lists=lists, parameters=parameters).check

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

    energy = "|y_θ|² + |z_θ|²" if growth.undamped else "α|y_θ|² + |z_θ|²"
    return Case(domain, energy if quantity == "E" else f"|{quantity}|²", ask, check, is_search=True)


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


def _search(growth: SensitivityBound, quantity: str, budget: Budget, seed: int) -> tuple[_Best, int]:
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
        best_near = _best_of(growth, quantity, near, np.array([best.saturated], float), np.array([best.signs]))
        best, count = max(best, best_near, key=lambda b: b.gap), count + 16
    return best, count


def _best_of(growth: SensitivityBound, quantity: str, rows: Any, saturated: Any, signs: Any) -> _Best:
    alpha, w, y0, z0, C = (rows[:, k, None] for k in range(5))
    y, z = _run(alpha, w, y0, z0, C, saturated, signs)
    scale = 1.0 if growth.undamped else alpha
    measured = {"y_θ": scale * y * y, "z_θ": z * z, "E": scale * y * y + z * z}[quantity] + 0 * C
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
