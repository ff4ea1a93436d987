"""Derivatives of the state by a weight or a bias from the zero start, as the bias or the time grows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint
from flint import arb

from odernn.bounds.numbers import BALLS
from verification.cases.inequality import ALPHA_POSITIVE, Inequality
from verification.cases.nominate import first_violation
from verification.cases.related import Related
from verification.certify import linear_flow
from verification.certify.positivity import is_nonnegative
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Check, Hypothesis, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import numbers, rational, rationals
from verification.kinds import Constant, Integer, Listed, Rational, Values
from verification.measure.polynomials import variables
from verification.parameters import Parameter, Rule, declared

ALPHA_NOT_NEGATIVE = Hypothesis("α ≥ 0", lambda p: p.alpha, strict=False)
LATER = Hypothesis("t > 0", lambda p: p.t)
MOST, LATEST = 10**4, 100
"""α and |w|, and times and pre-activations, of a check."""
SMALL = Fraction(1, 1000)
"""What a size must fall below, as a share of the size at the beginning, before it is named as vanishing."""


def worded(inequality: Inequality, words: Callable[[Parameters], str]) -> Callable[[Parameters], Check]:
    """The check with a sentence of its own, and without the logarithms: its left side is a floor, not a measurement.
    It is asked about what the inequality is.

    If the statement is about all floors, or t → ∞, a violation counts only with the argument that carries it there.
    """

    def check(parameters: Parameters) -> Check:
        checked = inequality.decide(parameters)
        premises = checked.premises
        if inequality.limit is not None:
            premises += (Premise("an argument carries it to the limit", checked.limit or "none", bool(checked.limit)),)
        shown = f"{words(parameters)}; {checked.opinions[0].text}"
        return replace(checked, premises=premises, words=shown, log_measured=None, log_claimed=None)

    return check if inequality.parameters is None else inequality.parameters.guards(check)


# --- from the zero start, θ = b: a floor where |A| ≤ a


def _drifts(factor: Fraction) -> bool:
    """−z_b' = (α + wσ')y_b + σ' ≥ factor·σ'(a) − (α + W)M for |w| ≤ W, |y_b| ≤ M, σ' ≥ σ'(a): as a polynomial."""
    alpha, W, M, omega, eta, s, more, least = variables("alpha", "W", "M", "omega", "eta", "s", "more", "least")
    share = flint.fmpq(factor.numerator, factor.denominator)
    pull = (alpha + W * omega * s) * M * eta  # κ y with w = Wω, y = Mη
    gap = pull + (least + more) - (share * least - (alpha + W) * M)  # σ' = least + more, where it is a force
    unit, sign, ray = (0, 1), (-1, 1), (0, None)
    return is_nonnegative(gap, (ray, ray, ray, sign, sign, unit, unit, unit)).holds is True


_DRIFT = (
    "−z_b' = (α + wσ')y_b + σ' ≥ σ'(a) − (α + |w|)M for |y_b| ≤ M, σ'(a) ≤ σ' ≤ 1: a polynomial nonnegative on its "
    "box, all Bernstein coefficients ≥ 0, exactly; integrated, "
)


def _least_proof(factor: Fraction) -> str:
    """That the maximum M of |(y_b, z_b)| over [0, t] is at least factor·σ'(a)t/(1 + (α + |w|)t); "" if it fails."""
    if not _drifts(factor):
        return ""
    return _DRIFT + "M ≥ −z_b(t) ≥ σ'(a)t − (α + |w|)Mt for the maximum M over [0, t]"


def _window_proof(factor: Fraction = Fraction(1)) -> str:
    """That |(y_b, z_b)| comes back to factor·σ'(a)/(α + |w|), or as near as one likes, for ever; "" if it fails."""
    if not _drifts(factor):
        return ""
    return _DRIFT + (
        "2M ≥ z_b(s) − z_b(s + t) ≥ σ'(a)t − (α + |w|)Mt for the maximum M over [s, s + t], from any state at s: "
        "M ≥ σ'(a)t/(2 + (α + |w|)t) for all s and t, and lim sup |(y_b, z_b)| ≥ σ'(a)/(α + |w|) > 0 as t → ∞"
    )


def floor_case(factor: Fraction = Fraction(1)) -> Case:
    """θ = b, |A| ≤ a on [0, t]: max |(y_b, z_b)| ≥ ``factor``·σ'(a)t/(1 + (α + |w|)t). Tried at A = a throughout."""

    def balls(p: Any) -> tuple[Any, Any]:
        s = 1 - p.a.tanh() ** 2
        kappa = p.alpha + p.w * s
        left = BALLS.exact(factor) * s * p.t / (1 + (p.alpha + abs(p.w)) * p.t)
        y, z = p.t**2 / 2, p.t
        if kappa > 0:
            y, z = y.min(2 / kappa), z.min(1 / kappa.sqrt())
        elif not kappa.is_zero():  # negative: the largest is the last
            y, z = (-part for part in linear_flow.in_balls(0 * y, 0 * y, kappa, arb(1), p.t))
        return left, s * y.max(z)

    def intervals(p: Any) -> tuple[Any, Any]:
        iv = second.iv
        s = 1 - second.tanh(p.a) ** 2
        kappa = s * p.w + p.alpha
        bound = p.w if p.w.a >= 0 else -p.w
        left = p.t * s / (p.t * (bound + p.alpha) + 1) * factor.numerator / factor.denominator
        tops = [p.t**2 / 2, p.t]
        if kappa.a > 0:
            others = [2 / kappa, iv.sqrt(1 / kappa)]
            tops = [iv.mpf([min(x.a, y.a), min(x.b, y.b)]) for x, y in zip(tops, others, strict=True)]
        elif not kappa.a == 0 == kappa.b:
            tops = [-part for part in linear_flow.in_intervals(iv.mpf(0), iv.mpf(0), kappa, iv.mpf(1), p.t)]
        return left, iv.mpf([max(x.a for x in tops), max(x.b for x in tops)]) * s

    parameters = declared(
        Parameter("alpha", Rational(least=0, most=MOST)),
        Parameter("w", Rational(least=-MOST, most=MOST)),
        Parameter("t", Rational(above=0, most=LATEST)),
        Parameter("a", Rational(least=0, most=LATEST)),
    )
    premises = (ALPHA_NOT_NEGATIVE, LATER, Hypothesis("a ≥ 0", lambda p: p.a, strict=False))
    inequality = Inequality(balls, intervals, premises, parameters=parameters)

    def words(p: Parameters) -> str:
        return (
            f"A = {p['a']} for all times, α = {p['alpha']}, w = {p['w']}, t = {p['t']}: the floor exceeds the maximum"
        )

    def ask(_: Budget, __: int) -> Attempt:
        axes = (("0", "1", "4"), ("0", "1", "-2"), ("1", "1/2", "2", "8"), ("0", "1", "4"))
        points = [dict(zip(("alpha", "w", "t", "a"), point, strict=True)) for point in itertools.product(*axes)]
        attempt = first_violation((inequality,), points, f"{len(points)} constant pre-activations, closed form")
        return replace(
            attempt,
            proof=_least_proof(factor),
            log_measured=None,
            log_claimed=None,
            found="below it" if attempt.candidates else "never below",
            claimed="≥ σ'(a)t/(1 + (α + |w|)t)",
        )

    return Case("zero start, |A| ≤ a", "max over [0, t], θ = b", ask, worded(inequality, words))


# --- from the zero start: as |b| grows


FLOOR = Fraction(1, 10**6)
_RUN = {"alpha": "1", "w": "1", "V": "1", "u": "1", "t": "1"}


def _floor_at(most: int) -> Fraction:
    """A floor that holds for θ = b, |b| ≤ most in _RUN: that of ``floor_case``, |A| ≤ most + |V|u + |w|t²/2."""
    w, V, u, t, alpha = (Fraction(_RUN[name]) for name in ("w", "V", "u", "t", "alpha"))
    a = most + abs(V) * u + abs(w) * t**2 / 2
    value = 4 * math.exp(-2 * a) / (1 + math.exp(-2 * a)) ** 2 * float(t / (1 + (alpha + abs(w)) * t))
    return Fraction(1, math.ceil(1 / value) + 1)


def saturation_case(most: int | None = None, times: int = 1) -> Case:
    """Some floor > 0 stays below max |(y_θ, z_θ)| over [0, t] as b varies.

    ``most`` would restrict |b|: then a floor is known, and ``times`` it is tried.

    thm-C at a = 1: √(y_θ² + z_θ²) ≤ ∫ σ'|C| · e^{λt}, λ ≤ (|α − 1| + |w|)/2; |y| ≤ t²/2 and |u(s)| ≤ u, so
    |A| ≥ |b| − |V|u − |w|t²/2, and |C| ≤ max(1, u, t²/2), whatever θ is.
    """

    def balls(p: Any) -> tuple[Any, Any]:
        nearest = (abs(p.b) - abs(p.V) * p.u - abs(p.w) * p.t**2 / 2).max(0)
        growth = ((abs(p.alpha - 1) + abs(p.w)) * p.t / 2).exp()
        return p.floor, (1 - nearest.tanh() ** 2) * p.t * (p.t**2 / 2).max(p.u).max(1) * growth

    def intervals(p: Any) -> tuple[Any, Any]:
        iv = second.iv
        w, b, V, off = (x if x.a >= 0 else -x for x in (p.w, p.b, p.V, p.alpha - 1))
        A = b - (V * p.u + p.t**2 * w / 2)
        near = iv.mpf([max(A.a, 0), max(A.b, 0)])
        slope = 4 / (iv.exp(near) + iv.exp(-near)) ** 2
        source = iv.mpf([max(1, x) for x in ends(p.u, p.t**2 / 2)])
        return p.floor, iv.exp(p.t * w / 2 + p.t * off / 2) * source * slope * p.t

    def limit(p: Any) -> str:
        return (
            "thm-C: with everything else fixed the maximum is at most const · σ'(|b| − const) ≤ const · e^(−2|b|), "
            "for every θ: no floor > 0 holds for all b"
        )

    premises = [
        ALPHA_NOT_NEGATIVE,
        LATER,
        Hypothesis("floor > 0", lambda p: p.floor),
        Hypothesis("u ≥ 0 bounds the input", lambda p: p.u, strict=False),
    ]
    if most is not None:
        premises.append(Hypothesis(f"|b| ≤ {most}", lambda p: most - abs(p.b), strict=False))
    floor = FLOOR if most is None else times * _floor_at(most)
    reach = 10**4 if most is None else most
    parameters = declared(
        *(Parameter(name, Constant(Fraction(text))) for name, text in _RUN.items()),
        Parameter("floor", Constant(floor)),
        Parameter("b", Rational(least=-reach, most=reach)),
    )
    carried = None if most is not None else limit
    inequality = Inequality(balls, intervals, tuple(premises), limit=carried, parameters=parameters)

    def words(p: Parameters) -> str:
        return (
            f"α = {p['alpha']}, w = {p['w']}, V = {p['V']}, |u| ≤ {p['u']}, b = {p['b']}: up to t = {p['t']} the "
            "maximum for θ = w, V and b is below the floor (floor against maximum)"
        )

    def ask(_: Budget, __: int) -> Attempt:
        ladder = [2**k for k in range(7) if most is None or 2**k <= most]
        points = [{**_RUN, "floor": rational(floor), "b": str(b)} for b in ladder]
        attempt = first_violation((inequality,), points, f"b = 1, 2, …, {ladder[-1]}, upper bounds by thm-C")
        top = attempt.log_claimed if attempt.log_claimed is not None else 0.0
        shown = f"≤ {math.exp(top):.3g} at b = {attempt.candidates[0]['b']}" if attempt.candidates else "never below it"
        return replace(attempt, log_measured=None, log_claimed=None, found=shown, claimed="≥ a floor > 0, all b")

    return Case("zero start, b varies", "max over [0, t], every θ", ask, worded(inequality, words))


def ends(*values: Any) -> tuple[Any, Any]:
    return max(x.a for x in values), max(x.b for x in values)


# --- from the zero start: as t grows, θ = b


PULSES = 16


def _trains_in_balls(p: Any) -> tuple[Any, Any, Any]:
    """|y_b| half through the first pulse, at least max |(y_b, z_b)| over the last one, and √κ of it."""
    y = z = arb(0)
    first = top = root = arb(0)
    for s in p.slopes:
        kappa = p.alpha + p.w * s
        size, root = s / kappa, kappa.sqrt()
        half = linear_flow.in_balls(y, z, kappa, s, arb.pi() / root)[0]
        first = half if first == 0 else first
        top = (2 * size + abs(y) + abs(z) / root).max(size * root + abs(z) + root * abs(y))
        y, z = linear_flow.in_balls(y, z, kappa, s, 2 * arb.pi() / root)
    return abs(first), top.abs_upper(), root


def _trains_in_intervals(p: Any) -> tuple[Any, Any, Any]:
    iv = second.iv
    y = z = iv.mpf(0)
    first = top = root = None
    for s in p.slopes:
        kappa = s * p.w + p.alpha
        root = iv.sqrt(kappa)
        state = linear_flow.in_intervals(y, z, kappa, s, iv.pi / root)
        first = -state[0] if first is None else first
        reach = abs(y + s / kappa) * root + abs(z)  # at least the amplitude of z about the equilibrium −s/κ
        top = iv.mpf(ends(reach / root + s / kappa, reach))
        y, z = linear_flow.in_intervals(y, z, kappa, s, 2 * iv.pi / root)
    return first, top, root


def _fades(p: Any) -> str:
    """The argument for t → ∞, if the slopes fall by one ratio."""
    ratios = {later / now for now, later in itertools.pairwise(p.slopes)}
    if len(ratios) != 1 or not 0 < min(ratios) < 1:
        return ""
    return (
        "at a constant slope s the solution from (0, 0) is y_b = −(s/κ)(1 − cos √κt), κ = α + ws, and is (0, 0) "
        f"again after 2π/√κ: with s_k = ({min(ratios)})^(k−1) for all k the maximum of pulse k is at most "
        "max(2/κ, 1/√κ) s_k, and t grows by less than a constant each time: it tends to 0 exponentially; |A| and "
        "the input tend to ∞ with t"
    )


def _fading(least: Fraction, factor: Fraction) -> Inequality:
    """A share of the first pulse, or with ``least`` > 0 the floor, is at most the maximum of the last pulse."""

    def balls(p: Any) -> tuple[Any, Any]:
        first, top, root = _trains_in_balls(p)
        if least > 0:
            t = 2 * arb.pi() / root
            return BALLS.exact(factor * least) * t / (2 + (p.alpha + abs(p.w)) * t), top
        return BALLS.exact(SMALL) * first, top

    def intervals(p: Any) -> tuple[Any, Any]:
        first, top, root = _trains_in_intervals(p)
        if least > 0:
            share, size = factor * least, p.w if p.w.a >= 0 else -p.w
            return share.numerator / (root / second.iv.pi + p.alpha + size) / share.denominator, top
        return first * SMALL.numerator / SMALL.denominator, top

    premises = (
        ALPHA_POSITIVE,
        Hypothesis("α + w > 0", lambda p: p.alpha + p.w),
        Hypothesis("slopes in (0, 1]", lambda p: Fraction(1 if all(0 < s <= 1 for s in p.slopes) else -1)),
        Hypothesis(f"slopes ≥ {least}", lambda p: min(p.slopes) - least, strict=False),
    )
    slopes = Rational(least=least, most=1) if least > 0 else Rational(above=0, most=1)
    return Inequality(
        balls,
        intervals,
        premises,
        lists=("slopes",),
        limit=None if least > 0 else _fades,
        are_same=False,
        parameters=declared(
            Parameter("alpha", Rational(above=0, most=MOST)),
            Parameter("w", Rational(least=-MOST, most=MOST)),
            Parameter("slopes", Listed(slopes, (3, 4 * PULSES))),
            rules=(Rule("α + w > 0", lambda values: values["alpha"] + values["w"] > 0),),
        ),
    )


def fading_case(least: Fraction = Fraction(0), factor: Fraction = Fraction(1)) -> Case:
    """(y_b, z_b) does not tend to 0 as t → ∞. Tried with pulse k at the slope s_k = max(ratio^{k−1}, ``least``).

    A pulse lasts 2π/√(α + w s_k): at a constant slope that takes (0, 0) back to (0, 0). The slopes tend to 0, so |A|,
    and with it the input, is not bounded. ``least`` = σ'(a) > 0 bounds |A| by a: then the last pulse, t long, is
    compared with ``factor``·σ'(a)t/(2 + (α + |w|)t), which holds from any state.
    """
    inequality = _fading(least, factor)

    def words(p: Parameters) -> str:
        if least > 0:
            return f"θ = b, α = {p['alpha']}, w = {p['w']}, slopes {p['slopes']}: a floor against the last pulse"
        slopes = numbers(p, "slopes")
        return (
            f"θ = b, α = {p['alpha']}, w = {p['w']}, inputs that grow without bound and hold σ'(A) at 1, {slopes[1]}, "
            f"{slopes[2]}, … for 2π/√(α + wσ') each: a thousandth of |y_b| of the first pulse "
            f"against the maximum of pulse {len(slopes)}"
        )

    def ask(_: Budget, __: int) -> Attempt:
        points = []
        for w, ratio in itertools.product(("1", "1/2"), (Fraction(1), Fraction(1, 2), Fraction(1, 4))):
            slopes = [max(ratio**k, least) for k in range(PULSES)]
            points.append({"alpha": "1", "w": w, "slopes": rationals(slopes)})
        attempt = first_violation((inequality,), points, f"{len(points)} trains of {PULSES} pulses, closed form")
        below = "below 1/1000 of the first pulse" if least == 0 else "below the floor"
        shown = below if attempt.candidates else "no decay found"
        return replace(
            attempt,
            log_measured=None,
            log_claimed=None,
            found=shown,
            claimed="does not tend to 0",
            proof=_window_proof(factor) if least > 0 else "",
        )

    domain = "zero start, |A| ≤ a, t → ∞" if least > 0 else "zero start, inputs unbounded, t → ∞"
    return Case(domain, "(y_θ, z_θ), θ = b", ask, worded(inequality, words))


# --- from the zero start: back to it, θ = w


RATIOS = (2, 9)


def _returning(w: Fraction, values: Values) -> Fraction:
    """w of κ = α + w(1 − s²) = r²α."""
    return Fraction((values["r"] ** 2 - 1) * values["alpha"] / (1 - values["s"] ** 2))


def _returned_in_balls(p: Any) -> tuple[Any, Any]:
    """A share of |y_w| half a period of y on, and a bound on all that is left after the period."""
    c, omega = 1 - p.s**2, p.alpha.sqrt()
    kappa = p.alpha + p.w * c

    def at(time: Any) -> tuple[Any, Any, Any, Any]:
        """(y, z), and (q, p) of q = y_w + y/w, for which q'' = −κq − s/w."""
        own = linear_flow.in_balls(arb(0), arb(0), p.alpha, p.s, time)
        return *own, *linear_flow.in_balls(arb(0), arb(0), kappa, p.s / p.w, time)

    y, _, q, _ = at(arb.pi() / omega)
    first = abs(q - y / p.w)
    y, z, q, speed = map(abs, at(2 * arb.pi() / omega))
    root, w = (p.alpha + p.w).sqrt(), abs(p.w)  # A = 0: q'' = −(α + w)q, y'' = −αy
    top = (q + speed / root + (y + z / omega) / w).max(root * q + speed + (omega * y + z) / w)
    return BALLS.exact(SMALL) * first, top.abs_upper()


def _returned_in_intervals(p: Any) -> tuple[Any, Any]:
    iv = second.iv
    c, omega = 1 - p.s * p.s, iv.sqrt(p.alpha)
    kappa = p.w * c + p.alpha
    root, share = iv.sqrt(kappa), c * p.s / p.alpha

    def sine(angle: Any) -> Any:
        return iv.cos(angle - iv.pi / 2)

    def position(time: Any) -> Any:
        slow, fast = iv.cos(omega * time), iv.cos(root * time)
        return share * ((1 - fast) / kappa - (slow - fast) / (kappa - p.alpha))

    def momentum(time: Any) -> Any:
        slow, fast = omega * sine(omega * time), root * sine(root * time)
        return share * (fast / kappa + (slow - fast) / (kappa - p.alpha))

    period = 2 * iv.pi / omega
    drift = abs(p.s / p.alpha * (1 - iv.cos(omega * period))) + abs(p.s / p.alpha * sine(omega * period))
    rest, left = iv.sqrt(p.alpha + p.w), [abs(position(period)), abs(momentum(period))]
    # Duhamel over one more period: y_w'' = −(α + w)y_w − y, |y| ≤ drift
    top = ends(left[0] + (left[1] + drift * period) / rest, left[0] * rest + left[1] + drift * period)
    return abs(position(period / 2)) * SMALL.numerator / SMALL.denominator, iv.mpf(top)


def _ratio(p: Any) -> Fraction:
    """r² ≥ 4 a square, of κ = r²α; else −1."""
    square = (p.alpha + p.w * (1 - p.s * p.s)) / p.alpha
    is_square = square.denominator == 1 and square >= 4 and math.isqrt(int(square)) ** 2 == square
    return square if is_square else Fraction(-1)


def _stays_at_rest(p: Any) -> str:
    """The argument for t → ∞, if r is a whole number."""
    square = _ratio(p)
    if square < 0:
        return ""
    return (
        f"√κ = {math.isqrt(int(square))} √α over Q: after 2π/√α all sines of both are 0 and all cosines 1, so "
        "y, z, y_w and z_w are exactly 0, and with A = 0, u = −b/V, from then on they stay 0 for all times"
    )


def return_case(is_whole: bool = True) -> Case:
    """(y_w, z_w) does not tend to 0 as t → ∞, |A| ≤ a. Tried with tanh A = s for 2π/√α, then A = 0 for ever.

    y = −(s/α)(1 − cos √α t) makes, with κ = α + w(1 − s²) = r²α,

        y_w = ((1 − s²)s/α) ((1 − cos r√α t)/κ − (cos √α t − cos r√α t)/(κ − α)),

    so for whole r ≥ 2 everything is 0 again after a period of y, and stays so, A = 0 being rest; half a period earlier
    y_w is not 0. ``is_whole`` = False would let r be any number > 1, for which that is false.
    """

    premises = (
        ALPHA_POSITIVE,
        Hypothesis("0 < |s| < 1", lambda p: min(abs(p.s), 1 - abs(p.s))),
        *([Hypothesis("κ/α is the square of a whole number", _ratio)] if is_whole else []),
    )
    kind: Any = Integer(*RATIOS) if is_whole else Rational(above=1, most=RATIOS[1])
    inequality = Inequality(
        _returned_in_balls,
        _returned_in_intervals,
        premises,
        limit=_stays_at_rest if is_whole else None,
        are_same=False,
        parameters=declared(
            Parameter("alpha", Rational(above=0, most=MOST)),
            Parameter("s", Rational(above=-1, below=1, nonzero=True)),
            Parameter("r", kind),
            Parameter("w", Related(Rational(), "α + w(1 − s²) = r²α", _returning)),
        ),
    )

    def words(p: Parameters) -> str:
        return (
            f"θ = w, α = {p['alpha']}, w = {p['w']}, tanh A = {p['s']} for 2π/√α, then A = 0: a thousandth of |y_w| at "
            "π/√α against all that is left after 2π/√α"
        )

    def ask(_: Budget, __: int) -> Attempt:
        points = []
        for alpha, s, r in itertools.product((1, 4), (Fraction(1, 2), Fraction(-3, 5)), (2, 3)):
            values: Values = {"alpha": Fraction(alpha), "s": s, "r": r}
            w = _returning(Fraction(0), values)
            points.append({"alpha": str(alpha), "s": rational(s), "r": str(r), "w": rational(w)})
        attempt = first_violation((inequality,), points, f"{len(points)} inputs of two values, closed form")
        shown = "(0, 0) after 2π/√α and for ever" if attempt.candidates else "no return found"
        return replace(attempt, log_measured=None, log_claimed=None, found=shown, claimed="does not tend to 0")

    return Case("zero start, |A| ≤ a, t → ∞", "(y_θ, z_θ), θ = w", ask, worded(inequality, words))
