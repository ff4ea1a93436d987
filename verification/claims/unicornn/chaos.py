# Claims: icml-D-nochaos · icml-D-nochaos-L2 · icml-D-nochaos-wpos · icml-D-bydesign · icml-D-lorenz96
"""icml-D-*: whether a change of the input can grow, and whether Lorenz 96 is chaotic (icml App. D).

What is meant (definitions 1.10): a bounded orbit with exponent λ > 0, and two orbits whose inputs differ in x_1 alone.
Three readings are asked apart. *Constant input*: a neuron at rest on a saddle; λ is exact and holds for all time, but a
saddle alone is instability rather than chaos. *Prescribed orbit*: s_n is chosen, rational, so that the orbit returns to
0 and λ is exact for all time, while the signs make the orbit bounded and aperiodic. *Free orbit*: constant or periodic
input; certified over N steps and no further: λ_N and the separation of two orbits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import flint
import mpmath
import numpy as np
from flint import arb, fmpq

from odernn.published.sources import Source
from verification.adversary import chaos
from verification.cases.driven_stacks import (
    AT_REST,
    EPS,
    FREE,
    LARGEST,
    LEAST_STEPS,
    MOST_INPUTS,
    SEARCH_STEPS,
    TWO_CONSTANT,
    TWO_CONSTANT_UNIT,
    UNIT,
    Region,
    read,
    stacks,
    written,
)
from verification.certify import divergence
from verification.certify.divergence import Divergence, Loop, Stack
from verification.certify.second.intervals import iv
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import number, numbers, rational, rationals
from verification.kinds import Listed, Rational
from verification.measure import lyapunov
from verification.parameters import Parameter, declared

LEAST_FACTOR = math.log(1e6)
"""Two orbits have separated if they are at least a million times as far apart as the inputs were."""
LEAST_RATIO = 1.5
"""log‖Φ(N)‖ against log‖Φ(N/2)‖: 2 for an exponential, log N / log(N/2) < 1.2 for any power of N ≥ 100."""
LOOPS = 16
COUNT = {"smoke": 1200, "standard": 6000, "deep": 40000}
ALPHAS = {"smoke": "1/10 1/5", "standard": "1/20 1/10 1/5", "deep": "1/50 1/20 1/10 1/5 1"}


# --- free orbits: N steps


def _free(region: Region) -> Callable[[Budget, int], Attempt]:
    def ask(budget: Budget, seed: int) -> Attempt:
        orbits, tried = chaos.stacks(region.where, COUNT[budget.name], SEARCH_STEPS, seed)
        lengths = [max(orbit.steps, LEAST_STEPS) for orbit in orbits]
        pairs = list(zip(orbits, lengths, strict=True))
        # balls are cheap: what they do not certify is named only if nothing else was found
        grown = [pair for pair in pairs if _diverges(divergence.in_balls(pair[0].stack, EPS, pair[1]))]
        return Attempt(
            tried=f"{tried:,} stacks drawn at random, exponents over {SEARCH_STEPS:,} steps",
            evaluations=tried,
            found=f"largest λ = {orbits[0].exponent:.3g} (floats)" if orbits else "no λ h > 0.005",
            claimed="λ ≤ 0",
            candidates=tuple(written(each.stack, steps) for each, steps in grown or pairs[:1]),
            control=chaos.stack_control(SEARCH_STEPS),
        )

    return ask


def _diverges(growth: Divergence) -> bool:
    grows = growth.full > 0 and growth.full >= LEAST_RATIO * growth.half
    return growth.is_certain and growth.separation >= LEAST_FACTOR and grows


def _free_check(region: Region) -> Callable[[Parameters], Check]:
    def check(parameters: Parameters) -> Check:
        stack, eps, steps = read(parameters)
        balls, intervals = divergence.in_balls(stack, eps, steps), divergence.in_intervals(stack, eps, steps)
        time = float(steps * stack.h[-1])
        rate = balls.full / time if time else -math.inf  # a step size that no float holds
        words = (
            f"over N = {steps} steps, all |y|, |z| ≤ {_above(balls.radius)}: log‖Φ(N, 0)‖/τ_N ≥ {_below(rate)}, and "
            f"inputs that differ by {float(eps):.0e} in x_1 alone lead to states {_times(balls.separation)} times "
            "as far apart or more; certified for these N steps, not beyond"
        )
        return Check((_opinion("balls", balls, steps), _opinion("mpmath", intervals, steps)), words=words)

    return check


def _below(value: float) -> str:
    """Four decimals, never rounded up."""
    return f"{math.floor(value * 1e4) / 1e4:.4f}" if math.isfinite(value) else str(value)


def _above(value: float) -> str:
    return f"{math.ceil(value * 1e4) / 1e4:.4f}" if math.isfinite(value) else str(value)


def _times(log: float) -> str:
    """A factor as a power of ten, never rounded up."""
    return f"10^{_below(log / math.log(10))}"


def _opinion(backend: str, growth: Divergence, steps: int) -> Opinion:
    text = (
        f"log‖Φ‖ ≤ {growth.half:.6g} at N/2, ≥ {growth.full:.6g} at N = {steps}; log(separation/eps) ≥ "
        f"{growth.separation:.6g} (needs {LEAST_FACTOR:.6g}); |y|, |z| ≤ {growth.radius:.4g}; {growth.bits} bits"
    )
    return Opinion(backend, _diverges(growth), text)


# --- at rest on a saddle: all time


def _saddle(region: Region) -> Callable[[Budget, int], Attempt]:
    """Zero input and bias keep every layer at 0, where the top layer has κ = α + w: λ is a function of (α, w, h)."""

    def ask(budget: Budget, seed: int) -> Attempt:
        low, high = region.where.w
        grid = [
            (Fraction(alpha), Fraction(w), Fraction(1, h))
            for alpha in ("0", "1/4", "2", "9")
            for w in np.linspace(math.ceil(low), math.floor(high), 8).round().astype(int).tolist()
            for h in (4, 10, 20)
        ]
        unstable = [point for point in grid if point[0] + point[1] < 0]
        unstable.sort(key=lambda each: (each[0] + each[1]) * each[2])
        largest = max((lyapunov.saddle_exponent(*map(float, point)) for point in unstable), default=0.0)
        layers = region.where.layers
        return Attempt(
            tried=f"{len(grid)} points (α, w, h) at rest, exact exponents",
            evaluations=len(grid),
            found=f"largest λ = {largest:.4g}",
            claimed="λ ≤ 0",
            candidates=tuple(
                written(
                    Stack(
                        alpha,
                        (w,) * layers,
                        (h,) * layers,
                        (Fraction(1),) * layers,
                        (Fraction(0),) * layers,
                        (Fraction(0),),
                    ),
                    LEAST_STEPS,
                )
                for alpha, w, h in unstable[:3]
            ),
        )

    return ask


def _saddle_check(region: Region) -> Callable[[Parameters], Check]:
    def check(parameters: Parameters) -> Check:
        stack, eps, steps = read(parameters)
        alpha, w, h = stack.alpha, stack.w[-1], stack.h[-1]
        trace = 2 - h * h * (alpha + w)
        with flint.ctx.workprec(128):
            rate = (arb(fmpq(abs(trace).numerator, abs(trace).denominator)) / 2).acosh() / arb(
                fmpq(h.numerator, h.denominator)
            )
            exact = abs(trace) > 2
            shown = rate.str(10) if exact else "0"
            first = divergence.in_balls(stack, eps, steps)
        half = iv.mpf(trace.numerator) / trace.denominator / 2
        discriminant = half**2 - 1
        second = divergence.in_intervals(stack, eps, steps)
        far = [growth.is_certain and growth.separation >= LEAST_FACTOR for growth in (first, second)]
        return Check(
            opinions=(
                Opinion("balls", exact and far[0], f"tr B = {trace}, λ = {shown} for all time; {_apart(first)}"),
                Opinion(
                    "mpmath",
                    bool(discriminant.a > 0) and far[1],
                    f"(tr B/2)² − 1 = {mpmath.nstr(discriminant.mid, 10)}; {_apart(second)}",
                ),
            ),
            words=f"zero input, α = {alpha}, w = {w}, h = {h}: the neuron rests at 0, a saddle with λ = {shown} for "
            f"all time, and x_1 = {float(eps):.0e} leads away by {_times(first.separation)} times that in "
            f"{steps} steps; the reading in which a saddle counts as chaos",
        )

    return check


def _apart(growth: Divergence) -> str:
    return f"log(separation/eps) ≥ {growth.separation:.6g}"


# --- prescribed orbits: all time, bounded, aperiodic


def _prescribed(budget: Budget, seed: int) -> Attempt:
    alphas = tuple(map(Fraction, ALPHAS[budget.name].split()))
    loops, tried = chaos.loops(alphas, Fraction(9, 10), Fraction(1, 2))
    rate = max((divergence.loop_by_steps(loop).rate for loop in loops), default=0.0)
    return Attempt(
        tried=f"{tried:,} patterns of saturated and zero s_n, closed exactly",
        evaluations=tried,
        found=f"largest λ = {rate:.4g}",
        claimed="λ ≤ 0",
        candidates=tuple(
            {
                "alpha": rational(loop.alpha),
                "w": rational(loop.w),
                "h": rational(loop.h),
                "s": rationals(loop.s),
                "eps": rational(EPS),
            }
            for loop in loops
        ),
        control=chaos.loop_control(),
    )


def _prescribed_check(parameters: Parameters) -> Check:
    alpha, w, h = (number(parameters, name) for name in ("alpha", "w", "h"))
    loop = Loop(alpha, w, h, tuple(numbers(parameters, "s")))
    eps = number(parameters, "eps")
    first, second = divergence.loop_by_steps(loop), divergence.loop_by_matrices(loop)
    apart = (divergence.loop_in_balls(loop, eps, LOOPS), divergence.loop_in_intervals(loop, eps, LOOPS))
    opinions = tuple(
        Opinion(
            backend,
            growth.closes and growth.rate > 0 and separation >= LEAST_FACTOR,
            f"returns to 0: {growth.closes}; tr Φ = {float(growth.trace):.8g}, λ ≥ {growth.rate:.10g} for all time; "
            f"log(separation/eps) ≥ {separation:.6g} after {LOOPS} loops",
        )
        for backend, growth, separation in (
            ("fractions, balls", first, apart[0]),
            ("flint matrices, mpmath", second, apart[1]),
        )
    )
    return Check(
        opinions=opinions,
        premises=(Premise("from 0, with |y| and |z| bounded for all n", f"{float(first.radius):.4g}", first.closes),),
        words=f"α = {loop.alpha}, w = {loop.w}, h = {loop.h}: an input under which the orbit returns to 0 every "
        f"{len(loop.s)} steps, with signs of Thue and Morse bounded by {_above(float(first.radius))} and aperiodic, "
        f"has λ ≥ {_below(first.rate)} for all time; inputs that differ in x_1 alone lead "
        f"{_times(apart[0])} times as far apart in {LOOPS} loops",
    )


# --- Lorenz 96

STARTS = {"smoke": 2, "standard": 4, "deep": 8}
HORIZON = {"smoke": 40.0, "standard": 300.0, "deep": 2000.0}
TRANSIENT = 25.0


def _lorenz(forcing: float, chaotic: bool) -> Callable[[Budget, int], Attempt]:
    """Both integrators at every start; the comparison that is worst for the statement.

    An exponent that is 0 is measured as O(1/horizon): tangent vectors may grow by a constant factor, say e.
    """

    def ask(budget: Budget, seed: int) -> Attempt:
        field, jacobian = lyapunov.lorenz96(forcing)
        generator = np.random.default_rng(seed)
        horizon = HORIZON[budget.name]
        starts = forcing + generator.uniform(-0.5, 0.5, (STARTS[budget.name], 5)).T
        limits = {"transient": TRANSIENT, "horizon": horizon}
        values = [
            *lyapunov.by_runge_kutta(field, jacobian, starts, dt=0.025, **limits).tolist(),
            *lyapunov.by_dop853(field, jacobian, starts, every=1.0, **limits).tolist(),
        ]
        unsure = 1.0 / horizon
        worst = min(values) if chaotic else max(values)
        return Attempt(
            tried=f"{STARTS[budget.name]} starts, classical Runge-Kutta and DOP853, time {horizon:g} each; in floats",
            evaluations=len(values),
            log_measured=-worst if chaotic else worst,
            log_claimed=-unsure if chaotic else unsure,
            found=f"λ from {min(values):.3g} to {max(values):.3g}",
            claimed=f"λ > {unsure:.2g}" if chaotic else f"λ ≤ {unsure:.2g}",
        )

    return ask


# --- the claims


def _one(domain: str, region: Region) -> Case:
    return Case(
        domain,
        "λ_N and separation, N steps",
        _free(region),
        stacks(region).guards(_free_check(region)),
        is_search=True,
    )


def _rest(domain: str, region: Region) -> Case:
    return Case(
        domain, "λ at a saddle, all time", _saddle(region), stacks(region, at_rest=True).guards(_saddle_check(region))
    )


_LOOPS = declared(
    Parameter("alpha", Rational(least=0, most=LARGEST)),
    *(Parameter(name, Rational(above=0, below=1)) for name in ("w", "h")),
    Parameter("s", Listed(Rational(above=-1, below=1), (1, MOST_INPUTS))),
    Parameter("eps", Rational(above=0, most=1)),
)
_PRESCRIBED = Case(
    "one neuron, 0 < w < 1, prescribed orbit",
    "λ, all time",
    _prescribed,
    _LOOPS.guards(_prescribed_check),
    is_search=True,
)
_APPENDIX = Source("icml", "App. D")
_NOT_CHAOTIC = "is not chaotic under changes of its input"

CLAIMS = (
    Claim(
        id="icml-D-nochaos",
        source=_APPENDIX,
        statement=f"UnICORNN {_NOT_CHAOTIC}",
        semantics="real",
        cases=(
            _rest("one neuron, constant input", AT_REST),
            _one("one neuron, periodic input", FREE),
            _PRESCRIBED,
        ),
    ),
    Claim(
        id="icml-D-nochaos-L2",
        source=_APPENDIX,
        statement=f"a restriction made by this library: UnICORNN with L = 2 and constant input {_NOT_CHAOTIC}",
        semantics="real",
        cases=(
            _rest("two layers, constant input", TWO_CONSTANT),
            _one("two layers, constant input", TWO_CONSTANT),
            _one("two layers, constant input, 0 < w < 1", TWO_CONSTANT_UNIT),
        ),
    ),
    Claim(
        id="icml-D-nochaos-wpos",
        source=_APPENDIX,
        statement="a restriction made by this library: one layer of UnICORNN with w in (0, 1), the range of the "
        f"initialisation, {_NOT_CHAOTIC}",
        semantics="real",
        cases=(_PRESCRIBED, _one("one neuron, 0 < w < 1, periodic input", UNIT)),
    ),
    Claim(
        id="icml-D-bydesign",
        source=_APPENDIX,
        statement="UnICORNN is not chaotic by design: for any weights and inputs",
        semantics="real",
        cases=(
            _one("one neuron, periodic input", FREE),
            _one("two layers, constant input", TWO_CONSTANT),
            _PRESCRIBED,
        ),
    ),
    Claim(
        id="icml-D-lorenz96",
        source=Source("icml", "S(81)"),
        statement="Lorenz 96 with five variables is not chaotic for F = 0.9 and highly chaotic for F = 8",
        semantics="real",
        cases=(
            Case("F = 0.9", "largest Lyapunov exponent", _lorenz(0.9, chaotic=False)),
            Case("F = 8", "largest Lyapunov exponent", _lorenz(8.0, chaotic=True)),
        ),
    ),
)
