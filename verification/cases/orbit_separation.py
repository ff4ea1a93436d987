"""How far two orbits whose inputs differ in x_1 alone can part: thm-J (a), (b) for true differences.

Secants of σ have slopes in (0, 1], so differences of states obey ΔX_n = B(κ_n)ΔX_{n−1} − h s_n Δx_n (h, 1)ᵀ with κ_n
between κ₋ and κ₊ and 0 < s_n ≤ 1, and Q_a(h, 1) = 1. With D_l = √Q_{a_l}(ΔX^l), and Δx of layer l from y^{l−1},

    D_l(n) ≤ e^{ω_l} D_l(n − 1) + h_l |V_l| D_{l−1}(n)/r_{l−1},        D_1(1) ≤ h_1 |V_1| ε,

ω_l = max asinh(h|κ± − a|/(2r)), for every choice of forms a_l, given by their shares of 4/h_l². The orbits are those
that try icml-D.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint

from odernn.bounds import forms, jacobian
from odernn.bounds.numbers import BALLS
from verification.adversary import chaos
from verification.cases.driven_stacks import EPS, LEAST_STEPS, SEARCH_STEPS, Region, read, stacks, written
from verification.cases.invariant_form import INVARIANT, SHARP, VALUES
from verification.cases.step_products import log_step_in_intervals
from verification.certify import divergence
from verification.certify.divergence import Stack
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Check, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import numbers, rational, rationals
from verification.kinds import Constant, Listed, Rational
from verification.measure.polynomials import coefficient
from verification.parameters import Declaration, Parameter, Rule, declared

COUNT = {"smoke": 300, "standard": 600, "deep": 12000}
BITS = 128


@dataclass(frozen=True)
class Separation:
    """log of the bound on the distance in the maximum norm, over ε; of the theorem.

    ``factor`` of ω and ``reach`` of the whole are below 1 in planted falsehoods.
    """

    factor: Fraction = Fraction(1)
    reach: Fraction = Fraction(1)

    def of(self, stack: Stack, shares: Sequence[Fraction], steps: int) -> Any:
        """In balls: all layers step by step."""
        alpha, exact = BALLS.exact(stack.alpha), BALLS.exact
        rows = []
        for w, h, V, share in zip(stack.w, stack.h, stack.V, shares, strict=True):
            a, step = exact(4 * share / h**2), exact(h)
            low, high = (alpha + exact(end) for end in _ends(w))
            rate = jacobian.rate_bound(kappa_low=low, kappa_high=high, form=a, step_size=step, numbers=BALLS)
            root = jacobian.root(form=a, step_size=step, numbers=BALLS)
            rows.append(((coefficient(self.factor) * rate).exp(), exact(h * abs(V)), root))
        bounds = [exact(0) for _ in rows]
        for n in range(steps):
            below = exact(1 if n == 0 else 0)  # |Δx_n|/ε
            for l, (growth, coupling, root) in enumerate(rows):
                bounds[l] = growth * bounds[l] + coupling * below
                below = bounds[l] / root
        momentum = exact(1 - shares[-1]).sqrt()  # |z| ≤ √Q_a/√(1 − ah²/4)
        return (exact(self.reach) * bounds[-1] * (1 / rows[-1][2]).max(1 / momentum)).log()

    def again(self, stack: Stack, shares: Sequence[Fraction], steps: int) -> Any:
        """In intervals: one layer after the other, each with the whole history of the one below."""
        iv = second.iv
        alpha = _interval(stack.alpha)
        source = [iv.mpf(1)] + [iv.mpf(0)] * (steps - 1)  # |Δx_n|/ε
        for w, h, V, share in zip(stack.w, stack.h, stack.V, shares, strict=True):
            step = _interval(h)
            a = _interval(share) * 4 / step**2
            logs = [log_step_in_intervals(alpha + _interval(end), step, a) for end in _ends(w)]
            largest = iv.mpf([max(x.a for x in logs), max(x.b for x in logs)])
            growth = iv.exp(largest * self.factor.numerator / self.factor.denominator)
            rest = 1 - _interval(share)
            size, history = iv.mpf(0), []
            for x in source:
                size = size * growth + x * step * abs(_interval(V))
                history.append(size)
            source = [each / iv.sqrt(a * rest) for each in history]
        ends = source[-1], history[-1] / iv.sqrt(rest)
        return iv.log(_interval(self.reach) * iv.mpf([max(x.a for x in ends), max(x.b for x in ends)]))


def _ends(w: Fraction) -> tuple[Fraction, Fraction]:
    """The least and the largest w s, 0 ≤ s ≤ 1."""
    return (w, Fraction(0)) if w < 0 else (Fraction(0), w)


def _interval(value: Fraction | int) -> Any:
    exact = Fraction(value)
    return second.iv.mpf(exact.numerator) / exact.denominator


def best_shares(stack: Stack) -> list[Fraction]:
    """Of 4/h² in every layer: the form whose rate is smallest, to six digits."""
    shares = []
    for w, h in zip(stack.w, stack.h, strict=True):
        low, high = (float(stack.alpha + end) for end in _ends(w))
        own = float(forms.best_form(kappa_low=low, kappa_high=high, step_size=float(h))) * float(h) ** 2 / 4
        shares.append(min(max(Fraction(own).limit_denominator(10**6), Fraction(1, 10**6)), 1 - Fraction(1, 10**6)))
    return shares


def _with_forms(declaration: Declaration, layers: int) -> Declaration:
    share = Parameter("share", Listed(Rational(above=0, below=1), layers))
    moved = Rule("V is not 0 in any layer", lambda values: all(values["V"]))
    return declared(*declaration.parameters, share, rules=(moved,), is_costly=True)


def separation_case(domain: str, region: Region, separation: Separation = Separation()) -> Case:
    """Two orbits of the stacks of ``region`` part by no more than the bound, in whatever forms."""

    def places(budget: Budget, seed: int) -> Iterator[tuple[Stack, int]]:
        grown, _ = chaos.stacks(region.where, COUNT[budget.name], SEARCH_STEPS // 2, seed)
        yield from ((orbit.stack, min(max(orbit.steps, LEAST_STEPS), SEARCH_STEPS)) for orbit in grown)
        if region.where.w[0] < 0:
            yield from _saddles(region.where.layers)

    def ask(budget: Budget, seed: int) -> Attempt:
        return _asked(places(budget, seed), separation, chaos.stack_control(SEARCH_STEPS // 2), COUNT[budget.name])

    parameters = _with_forms(stacks(region), region.where.layers)
    check = parameters.guards(separation_check(separation), separation_look(separation))
    return Case(domain, "separation of two orbits", ask, check, is_search=True)


def _saddles(layers: int) -> Iterator[tuple[Stack, int]]:
    """At rest, where thm-J (c) is attained: the orbits leave along the expanding direction."""
    for alpha, w, h in (("2", "-7", "1/20"), ("4", "-12", "1/5"), ("0", "-1", "1/10")):
        still, one = (Fraction(0),) * layers, (Fraction(1),) * layers
        stack = Stack(Fraction(alpha), (Fraction(w),) * layers, (Fraction(h),) * layers, one, still, (Fraction(0),))
        rate = 2 * math.asinh(float(stack.h[-1]) * math.sqrt(-float(stack.alpha + stack.w[-1])) / 2)
        yield stack, max(LEAST_STEPS, math.ceil(40 / rate))


def _asked(places: Iterator[tuple[Stack, int]], separation: Separation, control: float, count: int) -> Attempt:
    worst: tuple[float, float] | None = None
    candidates: list[Parameters] = []
    tried = 0
    for stack, steps in places:
        shares = best_shares(stack)
        parted = divergence.in_balls(stack, EPS, steps).separation
        allowed = _allowed(separation, stack, shares, steps)
        tried += 1
        if parted > allowed + 1e-9:
            candidates.append({**written(stack, steps), "share": rationals(shares)})
        if worst is None or parted - allowed > worst[0] - worst[1]:
            worst = parted, allowed
    return Attempt(
        f"the {tried} stacks of {count} that grow fastest, and saddles at rest; forms of the smallest rate",
        tried,
        log_measured=worst[0] if worst else None,
        log_claimed=worst[1] if worst else None,
        candidates=tuple(candidates[:3]),
        control=control,
    )


def _allowed(separation: Separation, stack: Stack, shares: Sequence[Fraction], steps: int) -> float:
    with flint.ctx.workprec(BITS):
        return float(separation.of(stack, shares, steps).mid())


def separation_check(separation: Separation) -> Callable[[Parameters], Check]:
    """Distance of the two orbits over ε against the bound, in balls and in intervals."""

    def check(parameters: Parameters) -> Check:
        stack, eps, steps = read(parameters)
        shares = numbers(parameters, "share")
        parted = divergence.in_balls(stack, eps, steps), divergence.in_intervals(stack, eps, steps)
        with flint.ctx.workprec(BITS):
            first = separation.of(stack, shares, steps)
            violated = bool(first < parted[0].separation)
            text = f"log(distance/ε) ≥ {parted[0].separation:.8g}, the bound {first.str(8, radius=False)}"
            claimed = float(first.mid())
        with second.iv.workprec(BITS):
            other = separation.again(stack, shares, steps)
            shown = f"log(distance/ε) ≥ {parted[1].separation:.8g}, the bound at most {float(other.b.mid):.8g}"
            violated_again = bool(other.b < parted[1].separation)
        measured = parted[0].separation
        return Check(
            opinions=(Opinion("balls", violated, text), Opinion("mpmath", violated_again, shown)),
            words=f"α = {stack.alpha}, w = {rationals(stack.w)}, N = {steps}: {text}",
            log_measured=measured if math.isfinite(measured) else None,
            log_claimed=claimed,
        )

    return check


def separation_look(separation: Separation) -> Callable[[Parameters], bool]:
    """Whether the orbits part by more in balls."""

    def look(parameters: Parameters) -> bool:
        stack, eps, steps = read(parameters)
        parted = divergence.in_balls(stack, eps, steps)
        with flint.ctx.workprec(BITS):
            return bool(separation.of(stack, numbers(parameters, "share"), steps) < parted.separation)

    return look


# --- w = 0


_LINEAR = declared(
    Parameter("alpha", Rational(above=0, most=20)),
    Parameter("h", Rational(above=0, below=Fraction(2, 5))),
    Parameter("w", Constant(Fraction(0))),
    Parameter("eps", Rational(above=0, most=1)),
    Parameter("steps", Constant(400)),
    is_costly=True,
)


def linear_case(reach: Fraction = Fraction(1)) -> Case:
    """w = 0, 0 < αh² < 4: √Q_α(ΔX_n) = h|Δs_1| ≤ h ε at all times, as Q_α is invariant (thm-Q): nothing grows.

    ``reach`` of the right side; below 1 a planted falsehood.
    """
    separation = Separation(reach=reach)

    def stack_of(alpha: Fraction, h: Fraction) -> Stack:
        zero = (Fraction(0),)
        return Stack(alpha, zero, (h,), (Fraction(1),), zero, zero)

    def ask(budget: Budget, seed: int) -> Attempt:
        worst, at, count = (-math.inf, 0.0), None, 0
        for alpha in map(Fraction, ("1/100", "1", "9", "20")):
            for h in map(Fraction, ("1/100", "1/10", "3/8")):
                stack = stack_of(alpha, h)
                parted = divergence.in_balls(stack, EPS, 400).separation
                allowed = _allowed(separation, stack, [alpha * h * h / 4], 400)
                count += 1
                if parted - allowed > worst[0] - worst[1]:
                    worst, at = (parted, allowed), (alpha, h)
        violates = worst[0] > worst[1] + 1e-9 and at is not None
        found: Parameters = {} if at is None else {"alpha": rational(at[0]), "h": rational(at[1])}
        candidate = {**found, "w": "0", "eps": rational(EPS), "steps": "400"}
        parts = [identity.ask(budget, seed).proof for identity in (INVARIANT, VALUES, SHARP)]
        proof = "; ".join(parts) if all(parts) and reach >= 1 and not violates else ""
        return Attempt(
            "12 pairs (α, h), 400 steps",
            count,
            *worst,
            candidates=(candidate,) if violates else (),
            proof=proof and f"{proof}; differences of two orbits obey the step without σ, and Q_α(h, 1) = 1",
        )

    def check(parameters: Parameters) -> Check:
        (alpha,), (h,) = numbers(parameters, "alpha"), numbers(parameters, "h")
        stack = stack_of(alpha, h)
        given = {**written(stack, 400), "eps": parameters["eps"], "share": rational(alpha * h * h / 4)}
        return separation_check(separation)(given)

    return Case("w = 0, αh² < 4", "separation of two orbits", ask, _LINEAR.guards(check))
