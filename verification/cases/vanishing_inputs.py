"""Inputs under which contributions of early steps vanish, and what cannot: thm-V.

The contribution of step k to a loss on y_n is a multiple of q_k = [B_n ⋯ B_k]_12, the second entry of e_yᵀB_n ⋯ B_k.
For 0 < α < −w there are slopes σ' in (0, 1], which a neuron with free inputs makes, such that below a tail of steps

    q_k = q_m λ^{m−k},   λ = exp(−2 asinh(h√W/2)),   W = −(α + w):

saturated steps turn e_yᵀ, one slope puts it on the contracting left eigenvector of B(−W), and σ' = 1 before that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint
from flint import fmpq, fmpq_mat

from odernn.bounds import jacobian
from odernn.bounds.numbers import BALLS
from verification.cases.identity import PolynomialIdentity
from verification.cases.inequality import Inequality, Piece, attempt
from verification.cases.related import Related
from verification.cases.step_products import KAPPAS
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Check, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import brief, number, numbers, rational, rationals
from verification.kinds import Integer, Rational
from verification.measure.polynomials import coefficient, variables
from verification.parameters import Parameter, Rule, declared
from verification.parameters import rationals as all_rational

# --- (a) the norm of a product is at least 1


def _determinant(v: Any) -> list[Any]:
    """det(ΦᵀGΦ) = det G (det Φ)², times 4: with det Φ = 1 the two singular values have product 1."""
    a, h, p, q, r, s = (v[name] for name in ("a", "h", "p", "q", "r", "s"))
    G = [[2 * a, -a * h], [-a * h, 2 + 0 * a]]
    rows = [[p, q], [r, s]]
    pulled = [
        [sum(rows[k][i] * G[k][l] * rows[l][j] for k, l in itertools.product(range(2), repeat=2)) for j in range(2)]
        for i in range(2)
    ]
    det = p * s - q * r
    left = pulled[0][0] * pulled[1][1] - pulled[0][1] * pulled[1][0]
    return [left - a * (4 - a * h * h) * det * det]


def _determinant_again(v: Any) -> list[Any]:
    """By Q_a of the columns and their pairing: Q(u)Q(v) − Q(u, v)² = r_a² (u × v)²."""
    a, h = v["a"], v["h"]
    u, w = (v["p"], v["r"]), (v["q"], v["s"])

    def pairing(x: Any, y: Any) -> Any:
        return a * x[0] * y[0] + x[1] * y[1] - a * h * (x[0] * y[1] + x[1] * y[0]) / 2

    area = u[0] * w[1] - u[1] * w[0]
    rest = a - (a * h) ** 2 / 4
    return [4 * (pairing(u, u) * pairing(w, w) - pairing(u, w) ** 2 - rest * area**2)]


GRAM = PolynomialIdentity(
    ("a", "h", "p", "q", "r", "s"), _determinant, _determinant_again, "det(ΦᵀGΦ) against r_a²(det Φ)²"
)


def size_case(least: Fraction = Fraction(1)) -> Case:
    """‖Φ‖_a ≥ ``least``, for every product and every form; the theorem has 1."""

    def check(parameters: Parameters) -> Check:
        h, share = number(parameters, "h"), number(parameters, "share")
        kappas = numbers(parameters, "kappa")
        a = 4 * share / h**2
        first, text = _shrinks(kappas, h, a, least)
        again = _shrinks_again(kappas, h, a, least)
        return Check(
            opinions=(Opinion("flint", first, text), Opinion("fractions", again, f"ΦᵀGΦ < {least}²G: {again}")),
            words=f"h = {h}, form {a}: ‖Φ‖_a < {least}",
        )

    def ask(budget: Budget, seed: int) -> Attempt:
        places = [
            {"h": "1/10", "share": rational(share), "kappa": rationals([Fraction(k)] * count)}
            for share, k, count in itertools.product((Fraction(1, 400), Fraction(1, 2)), (-5, 0, 1, 200), (1, 7, 40))
        ]
        failing = [place for place in places if check(place).opinions[0].violated]
        proof = "" if failing or least > 1 else GRAM.ask(budget, seed).proof
        return Attempt(
            f"{len(places)} products",
            len(places),
            found="smaller" if failing else f"≥ {least}",
            claimed=f"≥ {least}",
            candidates=tuple(failing[:3]),
            proof=proof and f"{proof}; det B(κ) = 1, so s · s' = 1 for the singular values: ‖Φ‖_a = ‖Φ⁻¹‖_a ≥ 1",
        )

    share = all_rational("share", above=0, below=1)
    parameters = declared(*all_rational("h", above=0, most=10), *share, KAPPAS)
    return Case("all products", "‖Φ(n,k)‖_a ≥ 1", ask, parameters.guards(check))


def _shrinks(kappas: Sequence[Fraction], h: Fraction, a: Fraction, least: Fraction) -> tuple[bool, str]:
    """Whether least²G − ΦᵀGΦ is positive definite, in flint's matrices."""
    step, form, square = (fmpq(x.numerator, x.denominator) for x in (h, a, least**2))
    product = fmpq_mat(2, 2, [1, 0, 0, 1])
    for kappa in kappas:
        kick = step * fmpq(kappa.numerator, kappa.denominator)
        product = fmpq_mat(2, 2, [1 - step * kick, step, -kick, 1]) * product
    G = fmpq_mat(2, 2, [form, -form * step / 2, -form * step / 2, 1])
    rest = square * G - product.transpose() * G * product
    return bool(rest[0, 0] > 0 and rest.det() > 0), f"Q_a(1, 0) falls by {brief(_fraction(rest[0, 0]))}"


def _fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _shrinks_again(kappas: Sequence[Fraction], h: Fraction, a: Fraction, least: Fraction) -> bool:
    """Both roots of r_a²λ² − t λ + r_a²(det Φ)² are below least², t the trace of adj(G)ΦᵀGΦ."""
    moved = []
    for y, z in ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))):
        for kappa in kappas:
            z -= h * kappa * y
            y += h * z
        moved.append((y, z))
    (p, r), (q, s) = moved
    tilt, rest, square = a * h / 2, a - (a * h / 2) ** 2, least**2
    first, other = a * p * p + r * r - 2 * tilt * p * r, a * q * q + s * s - 2 * tilt * q * s
    mixed = a * p * q + r * s - tilt * (p * s + q * r)
    trace, volume = first + 2 * tilt * mixed + a * other, (p * s - q * r) ** 2
    return rest * square**2 - trace * square + rest * volume > 0 and trace < 2 * rest * square


# --- (b) contributions that vanish at an exact rate

MOST_STEPS, MOST_DECAY = 300, 200
SATURATED = Fraction(1, 10**6)
_VANISHING = declared(
    *all_rational("alpha", above=0, most=20),
    Parameter("w", Related(Rational(), "w < −α", lambda w, v: min(w, -v["alpha"] * Fraction(101, 100)))),
    *all_rational("h", above=0, below=1),
    Parameter("steps", Integer(20, MOST_STEPS)),
    rules=(
        Rule("αh² < 4, |w| ≤ 100, and the steps reach half a turn", lambda v: _is_long(v)),
        Rule(f"n log 1/λ ≤ {MOST_DECAY}", lambda v: v["steps"] * _rate(v) <= MOST_DECAY),
    ),
)


def _is_long(v: Any) -> bool:
    """Half a turn of the saturated neuron has π/θ steps, sin(θ/2) = h√α/2."""
    alpha, h = float(v["alpha"]), float(v["h"])
    if alpha * h * h >= 4 or abs(v["w"]) > 100:
        return False
    turn = math.asin(h * math.sqrt(alpha) / 2)  # 0 of an α that no float holds
    return bool(turn * (v["steps"] - 8) >= math.pi / 2)


def _rate(v: Any) -> float:
    return 2 * math.asinh(float(v["h"]) * math.sqrt(float(-v["alpha"] - v["w"])) / 2)


def vanishing_case(factor: Fraction = Fraction(1)) -> Case:
    """log |q_1| − log |q_m| ≤ −``factor`` (m − 1) 2 asinh(h√W/2), the slopes found by each back-end for itself."""

    def balls(p: Any) -> tuple[Any, Any]:
        count = round(float(p.steps))
        rate = jacobian.log_vanishing_rate(alpha=p.alpha, w=p.w, step_size=p.h, numbers=BALLS)
        slopes = jacobian.vanishing_slopes(
            alpha=p.alpha, w=p.w, step_size=p.h, steps=count, saturated=BALLS.exact(SATURATED), numbers=BALLS
        )
        tail = sum(1 for slope in slopes if slope != 1)
        entry, log_first = (flint.arb(1), flint.arb(0)), flint.arb.nan()
        for passed, slope in enumerate(reversed(slopes), 1):
            drifted = entry[1] + p.h * entry[0]
            entry = entry[0] - p.h * (p.alpha + p.w * slope) * drifted, drifted
            if passed == tail + 1:
                log_first = abs(drifted).log()
        return abs(entry[1]).log() - log_first, -coefficient(factor) * (count - tail - 1) * rate

    def intervals(p: Any) -> tuple[Any, Any]:
        iv = second.iv
        count, W = int(p.texts["steps"]), -(p.alpha + p.w)
        x = iv.sqrt(W) * p.h / 2
        root = x + iv.sqrt(x**2 + 1)
        contracting = 1 / root**2
        row, tail = _turned(p, contracting)
        eigen, first = row, None
        for _ in range(count - tail):
            pulled = eigen[0] * p.h + eigen[1]
            eigen = eigen[0] + p.h * W * pulled, pulled
            first = pulled if first is None else first
        assert first is not None
        decayed = iv.log(abs(eigen[1]) / abs(first))
        return decayed, -(count - tail - 1) * 2 * iv.log(root) * factor.numerator / factor.denominator

    bits = 256 + 6 * MOST_DECAY  # balls and intervals widen like the directions that grow
    inequality = Inequality(balls, intervals, are_logs=True, bits=bits, parameters=_VANISHING)

    def ask(budget: Budget, seed: int) -> Attempt:
        worst, at, count = (-math.inf, 0.0), None, 0
        for alpha, W, h in itertools.product(("1/4", "1", "4"), ("1", "5", "20"), ("1/20", "1/10", "1/5")):
            place = {"alpha": alpha, "w": rational(-Fraction(alpha) - Fraction(W)), "h": h, "steps": "160"}
            found = inequality.check(place)
            count += 1
            assert found.log_measured is not None and found.log_claimed is not None
            sides = found.log_measured, found.log_claimed
            if sides[0] - sides[1] > worst[0] - worst[1]:
                worst, at = sides, place
        violates = at is not None and worst[0] - worst[1] > 1e-6
        return Attempt(
            f"{count} neurons (α, w, h): e_yᵀ is turned onto the contracting left eigenvector by slopes in (0, 1]",
            count,
            found=f"{worst[0]:.6g} of a decay of {worst[1]:.6g}",
            claimed="decay at the rate",
            candidates=(at,) if violates and at is not None else (),
        )

    return Case("0 < α < −w", "log |q_1| − log |q_m|", ask, inequality.check)


def _turned(p: Any, contracting: Any) -> tuple[tuple[Any, Any], int]:
    """(p_y, p_z) of e_yᵀB_n ⋯ after the tail, in intervals, and its length: B(α) until one slope reaches the line."""
    iv = second.iv
    target = (contracting - 1) / p.h
    saturated = p.alpha + p.w * iv.mpf(SATURATED.numerator) / SATURATED.denominator
    y, z = iv.mpf(1), iv.mpf(0)
    for passed in range(1, MOST_STEPS):
        z = z + y * p.h
        # y − hκz = target·z for one κ = α + w s
        slope = ((y - target * z) / (p.h * z) - p.alpha) / p.w
        if slope.a > SATURATED.numerator / iv.mpf(SATURATED.denominator) and slope.b <= 1:
            return (target * z, z), passed
        y = y - saturated * z * p.h
    raise ArithmeticError("no slope in (0, 1] puts the functional on the eigenvector")


# --- (c) saturation


def saturation_case(factor: Fraction = Fraction(4)) -> Case:
    """σ'(A) = 1 − tanh²A ≤ ``factor`` e^{−2|A|}; the theorem has 4."""

    def balls(p: Any) -> tuple[Any, Any]:
        return 1 - p.A.tanh() ** 2, coefficient(factor) * (-2 * abs(p.A)).exp()

    def intervals(p: Any) -> tuple[Any, Any]:
        iv = second.iv
        up = iv.exp(abs(p.A))
        return 4 / (up + 1 / up) ** 2, iv.mpf(factor.numerator) / factor.denominator / up**2

    parameters = declared(*all_rational("A", least=-60, most=60))
    inequality = Inequality(balls, intervals, parameters=parameters)

    def ask(_: Budget, __: int) -> Attempt:
        (E,) = variables("E")
        one = attempt([Piece(4 * E * E, coefficient(factor) * (1 + E) * (1 + E), ((1, None),))], "E = e^{2|A|} ≥ 1")
        proof = one.proof and f"{one.proof}; σ' = 4E/(1 + E)² ≤ {factor}/E"
        places = [{"A": str(A)} for A in (20, 2, 1, 0)]
        failing = tuple(place for place in places if inequality.decide(place).opinions[0].violated)
        return Attempt("σ' at E = e^{2|A|}", one.evaluations or 1, candidates=failing, proof=proof)

    return Case("all A", "σ'(A)", ask, inequality.check)
