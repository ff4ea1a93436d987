"""The two ends of the chain rule: ‖∂X_k/∂θ‖_∞ ≤ dt Δ and ‖dE_n/dX_n‖_∞ ≤ Ȳ + F, with the states bounded by (32).

sam (66), (67); icml S(39), S(40).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, Literal

import flint
import numpy as np

from odernn.bounds import sharp
from odernn.bounds.numbers import BALLS
from odernn.published.networks import PublishedRow
from verification.cases import energy_step
from verification.cases.inequality import ALPHA_POSITIVE, SIGMA_INSIDE, STEP_BELOW_ONE, Inequality, whole_number
from verification.cases.nominate import rounded_up
from verification.cases.related import Related
from verification.certify import suprema
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Hypothesis, Parameters
from verification.domains import RANGE, Budget, rung_name
from verification.exact_text import rational
from verification.kinds import Constant, Integer, Rational
from verification.measure import ode
from verification.measure.energy_growth import GROWTH, added, growth_sum
from verification.measure.published_forms import SAM_32, SAM_42, SAM_66, SAM_67, Delta, Root, with_ones
from verification.parameters import Parameter, Rule, declared, rationals


def _sam_states() -> tuple[str, int]:
    """A machine proof of (32) for one neuron, α > 0, dt < 1; ("", count) if it fails.

    H_n ≤ G H_{n−1} + 2dt + 4α dt⁴ with G = 1 + dt + 2α dt² + 4α² dt⁴: the form is semidefinite. With r = dt max{1, √α},
    G ≤ 1 + r + 2r² + 4r⁴ ≤ e^{cr}, c = 96^{1/4}, term by term: 1 ≤ c, 2 ≤ c²/2, 4 ≤ c⁴/4!. Summed over n ≤ N steps,
    H_n ≤ 2T(1 + 2α dt³)e^{ᾱT}.
    """
    attempt = energy_step.proof((_sam_growth, _sam_growth), added)
    taylor = energy_step.below_exponential(GROWTH, 96)
    text = f"(32): H_n ≤ G H_{{n−1}} + 2dt + 4α dt⁴, {attempt.proof}; G ≤ e^{{ᾱ dt}} {taylor}"
    return (text if taylor and attempt.proof else ""), attempt.evaluations


def _sam_growth(alpha: Any, h: Any) -> Any:
    return growth_sum(GROWTH, alpha, h)


_RUN_PREMISES = (
    ALPHA_POSITIVE,
    STEP_BELOW_ONE,
    SIGMA_INSIDE,
    Hypothesis("T = N dt, N ≥ 1 a whole number", lambda p: whole_number(p) * (p.N * p.dt == p.T)),
)
_SIGMA = Fraction(999, 1000)
MOST_STEPS = 400
RUN = declared(
    *rationals("alpha", above=0),
    *rationals("dt", "sigma", above=0, below=1),
    Parameter("N", Integer(1, MOST_STEPS)),
    Parameter("T", Related(Rational(above=0), "T = N dt", lambda _, values: values["N"] * values["dt"])),
)
LONGEST = 10**4


def _against_suprema(
    form: Delta | Root, implied: bool, because: str, check: Callable[[Parameters], Any], budget: Budget
) -> Attempt:
    """The exact suprema of thm-S on a grid of (α, dt, N) against the printed form, and the proof by (32)."""
    steps = {
        "smoke": (1, 2, 5, 20, 80),
        "standard": (1, 2, 3, 5, 10, 20, 40, 80, 160),
        "deep": (*range(1, 20), 40, 80, 160, 320),
    }
    worst: tuple[float, Parameters] = (-math.inf, {})
    count = 0
    for alpha, dt in itertools.product(("1/100", "1/4", "1", "4", "20"), ("1/100", "1/10", "1/2", "9/10")):
        for N in steps[budget.name]:
            p = {"alpha": alpha, "dt": dt, "N": str(N), "T": rational(N * Fraction(dt)), "sigma": rational(_SIGMA)}
            checked = check(p)
            count += 1
            if checked.log_measured is not None and checked.log_measured - checked.log_claimed > worst[0]:
                worst = (checked.log_measured - checked.log_claimed, p)
                sides = (checked.log_measured, checked.log_claimed)
    states, boxes = _sam_states()
    proof = f"{states}; {because}" if states and implied else ""
    return Attempt(
        proof or f"the suprema of thm-S at {count} triples (α, dt, N)",
        count + boxes,
        log_measured=sides[0],
        log_claimed=sides[1],
        candidates=(worst[1],) if worst[0] > 0 else (),
        proof=proof,
    )


def sam_partial_case(delta: Delta = SAM_66) -> Case:
    """(66) for every θ but V^1: (65) with the states bounded by (32). Tried with θ = w, b at the last step, σ' = 1."""

    def balls(p: Any) -> tuple[Any, Any]:
        before = SimpleNamespace(**{**vars(p), "N": p.N - 1})
        return p.sigma * suprema.balls(before, "position").max(1), delta.ball(with_ones(p, BALLS.exact(1)))

    def intervals(p: Any) -> tuple[Any, Any]:
        y = suprema.intervals(p, int(p.texts["N"]) - 1, "position")
        return p.sigma * second.iv.mpf([max(y.a, 1), max(y.b, 1)]), delta.interval(with_ones(p, second.iv.mpf(1)))

    check = Inequality(balls, intervals, _RUN_PREMISES, parameters=RUN).check
    because = "with (65) and (32) the left side is at most dt times Δ of (42), and the printed Δ is at least that"

    def ask(budget: Budget, _: int) -> Attempt:
        return _against_suprema(delta, delta.implies(SAM_42), because, check, budget)

    return Case("sam (66), θ not V^1", "‖∂X_k/∂θ‖_∞/dt", ask, check)


def sam_output_case(root: Root = SAM_67) -> Case:
    """(67): |y_n − ȳ_n| ≤ Ȳ + F; tried at ȳ = 0."""

    def balls(p: Any) -> tuple[Any, Any]:
        return suprema.balls(p, "position"), root.ball(with_ones(p, BALLS.exact(1))) / p.alpha.sqrt()

    def intervals(p: Any) -> tuple[Any, Any]:
        right = root.interval(with_ones(p, second.iv.mpf(1))) / second.iv.sqrt(p.alpha)
        return suprema.intervals(p, int(p.texts["N"]), "position"), right

    check = Inequality(balls, intervals, _RUN_PREMISES, parameters=RUN).check
    because = "|y_n − ȳ_n| ≤ Ȳ + |y_n|, and the printed F is at least the bound (32)"

    def ask(budget: Budget, _: int) -> Attempt:
        return _against_suprema(root, root.implies(SAM_32), because, check, budget)

    return Case("sam (67)", "‖dE_n/dX_n‖_∞", ask, check)


def sam_state_case(quantity: Literal["position", "momentum"], root: Root = SAM_32) -> Case:
    """(32) for any layer of m neurons, by the steps of its printed proof: each neuron has H_n of its own, whatever
    drives it, and the squares add up. Tried at the exact suprema of thm-S, m = 1.
    """

    def balls(p: Any) -> tuple[Any, Any]:
        right = root.ball(with_ones(p, BALLS.exact(1)))
        return suprema.balls(p, quantity), right / p.alpha.sqrt() if quantity == "position" else right

    def intervals(p: Any) -> tuple[Any, Any]:
        right = root.interval(with_ones(p, second.iv.mpf(1)))
        weight = second.iv.sqrt(1 / p.alpha) if quantity == "position" else second.iv.mpf(1)
        return suprema.intervals(p, int(p.texts["N"]), quantity), weight * right

    check = Inequality(balls, intervals, _RUN_PREMISES, parameters=RUN).check
    because = (
        "from H_0 = 0, with at most N terms 2dt(1 + 2α dt³) and each factor G ≤ e^{ᾱ dt}, summed over m neurons: "
        "α‖y_n‖² + ‖z_n‖² ≤ 2mT(1 + 2α dt³)e^{ᾱT} for all n ≤ N and layers"
    )

    def ask(budget: Budget, _: int) -> Attempt:
        return _against_suprema(root, root.implies(SAM_32), because, check, budget)

    return Case("all α > 0, dt < 1, N, m, l", f"{quantity}, by (34)-(38)", ask, check)


_HALF_STEP = Hypothesis("0 < dt < 1/2", lambda p: min(p.dt, 1 - 2 * p.dt))
_UNDAMPED_RUN = declared(
    *rationals("dt", above=0, below=Fraction(1, 2)),
    *rationals("sigma", above=0, below=1),
    Parameter("N", Integer(1, MOST_STEPS)),
)


def undamped_rises(powers: int, factor: Fraction, rate: int) -> str:
    """Why N(N+1)/2 ≤ N² for N ≥ 1 and T³ ≤ factor · e^{rate T} for T ≥ 0, by ``powers`` terms of the series; or "".

    Both as polynomials with coefficients ≥ 0: in N − 1, and in T; once in fmpq, once in fractions.
    """
    shifted = flint.fmpq_poly([1, 1])  # N = 1 + x
    steps = 2 * shifted**2 - shifted * (shifted + 1)
    series = [flint.fmpq(rate**i, math.factorial(i)) for i in range(powers)]
    times = flint.fmpq(factor.numerator, factor.denominator)
    gap = flint.fmpq_poly([0, *(times * term for term in series)]) - flint.fmpq_poly([0, 0, 0, 0, 1])
    term, again = Fraction(1), [Fraction(0)] * (powers + 1)
    for i in range(powers):
        again[i + 1] = factor * term
        term = term * rate / (i + 1)
    held = len(again) > 4 and all(again[i] >= (i == 4) for i in range(len(again)))
    if not (held and all(c >= 0 for c in [*steps.coeffs(), *gap.coeffs()])):
        return ""
    return (
        f"N(N+1)/2 ≤ N², and T³ ≤ {factor} times the first {powers} terms of e^{{{rate}T}}, coefficient by coefficient"
    )


def undamped_state_case(factor: Fraction = Fraction(2), rate: int = 2) -> Case:
    """(33) for any layer of m neurons: α = 0, |s_j| < 1 make |z_j| ≤ jh whatever drives the neuron, so |y_n| ≤
    h²n(n+1)/2 ≤ T², and m neurons have m T⁴ at most. Tried at that supremum, m = 1. (33) has factor 2, rate 2.
    """

    def balls(p: Any) -> tuple[Any, Any]:
        h, T = p.sigma * p.dt, p.N * p.dt
        return h * h * p.N * (p.N + 1) / 2, (BALLS.exact(factor) * T).sqrt() * (T * rate / 2).exp()

    def intervals(p: Any) -> tuple[Any, Any]:
        height, momentum, step = second.iv.mpf(0), second.iv.mpf(0), p.dt * p.sigma
        for _ in range(int(p.texts["N"])):
            momentum = momentum + step
            height = height + step * momentum
        time = p.dt * p.N
        squared = time * factor.numerator / factor.denominator * second.iv.exp(time * rate)
        return height, second.iv.sqrt(squared)

    check = Inequality(balls, intervals, (_HALF_STEP, SIGMA_INSIDE), parameters=_UNDAMPED_RUN).check

    def ask(_: Budget, __: int) -> Attempt:
        worst: tuple[float, float, float, Parameters] = (-math.inf, 0.0, 0.0, {})
        grid = list(itertools.product(("1/100", "1/10", "49/100"), (1, 2, 5, 20, 80, 320)))
        for dt, N in grid:
            p = {"dt": dt, "N": str(N), "sigma": rational(_SIGMA)}
            sides = check(p)
            assert sides.log_measured is not None and sides.log_claimed is not None
            gap = sides.log_measured - sides.log_claimed
            worst = max(worst, (gap, sides.log_measured, sides.log_claimed, p), key=lambda each: each[0])
        rises = undamped_rises(4, factor, rate)
        proof = (
            f"|z_j| ≤ jh, |y_n| ≤ h²n(n+1)/2 ≤ T², ‖y_n‖² ≤ mT⁴ ≤ {factor}mT e^{{{rate}T}}: {rises}" if rises else ""
        )
        return Attempt(
            proof or f"the supremum at {len(grid)} pairs (dt, N)",
            len(grid),
            log_measured=worst[1],
            log_claimed=worst[2],
            candidates=(worst[3],) if worst[0] > 0 else (),
            proof=proof,
        )

    return Case("all dt < 1/2, N, m, l; α = 0", "position, by |z_j| ≤ jh", ask, check)


_UNIT = {"alpha": "1", "dt": "1/10", "T": "1", "sigma": "1/2"}


def _input_ask(delta: Delta, p: Parameters) -> Callable[[Budget, int], Attempt]:
    """θ = V^1 at rest: the left side is h|u_k|, and |u_k| is free: at p the first power of ten that exceeds 2Δ, on a
    row the first number of two digits.
    """

    def ask(_: Budget, __: int) -> Attempt:
        with flint.ctx.workprec(64):
            given = SimpleNamespace(**{name: BALLS.exact(Fraction(value)) for name, value in p.items()})
            needed = float(2 * delta.ball(with_ones(given, BALLS.exact(1))))
        size = 10 ** math.ceil(math.log10(needed * 1.01)) if p is _UNIT else rounded_up(needed * 1.01)
        return Attempt("the input at which h|u| exceeds dt Δ", 1, candidates=({**p, "u": str(size)},))

    return ask


_INPUT_PREMISES = (
    ALPHA_POSITIVE,
    STEP_BELOW_ONE,
    Hypothesis("T = N dt, N a whole number", lambda p: p.T * ((p.T / p.dt).denominator == 1)),
    SIGMA_INSIDE,
)


def input_case(domain: str, delta: Delta, *, is_limit: bool, at: Parameters | None = None) -> Case:
    """θ = V^1_{i1} of a first-layer neuron with w = V = b = 0, which rests: A = 0, ‖∂X_k/∂θ‖_∞ = h|u_k|, over dt.

    at   α, dt, T and σ̂ if they are those of a printed row
    """

    def balls(p: Any) -> tuple[Any, Any]:
        return p.sigma * p.u, delta.ball(with_ones(p, BALLS.exact(1)))

    def intervals(p: Any) -> tuple[Any, Any]:
        return p.u * p.sigma, delta.interval(with_ones(p, second.iv.mpf(1)))

    def limit(p: Any) -> str:
        return f"the neuron rests at every dt; both sides are dt times numbers free of dt: u = {p.u} serves for all dt"

    whole = Related(
        Rational(above=0, most=LONGEST),
        "T = N dt, N a whole number",
        lambda T, values: values["dt"] * max(1, T // values["dt"]),
    )
    own = (
        *rationals("alpha", above=0, most=LONGEST),
        *rationals("dt", "sigma", above=0, below=1),
        Parameter("T", whole),
    )
    known = own if at is None else tuple(Parameter(name, Constant(Fraction(text))) for name, text in at.items())
    parameters = declared(*known, *rationals("u"))
    carried = limit if is_limit else None
    check = Inequality(balls, intervals, _INPUT_PREMISES, limit=carried, parameters=parameters).check
    reading = "limit" if is_limit else "printed" if at is not None else ""
    return Case(domain, "‖∂X_k/∂θ‖_∞/dt", _input_ask(delta, at or _UNIT), check, reading=reading)


def drawn_input_case(row: PublishedRow, delta: Delta) -> Case:
    """The same on a row, c = 0: w and V of the neuron are inside the range of the initialisation."""
    T = row.steps * row.dt[0]
    at = {"alpha": rational(row.alpha), "dt": rational(row.dt[0]), "T": rational(T), "sigma": "1/2"}
    return input_case(rung_name(row, RANGE), delta, is_limit=False, at=at)


def _limit_balls(p: Any) -> Any:
    return sharp.uniform_lower_bound(
        alpha=p.alpha,
        horizon=p.T,
        dt=p.dt,
        sigma=1 / (1 + (-p.c).exp()),
        amplitude=p.amplitude,
        quantity="position",
        numbers=BALLS,
    )


def _limit_intervals(p: Any) -> Any:
    words = {name: p.texts[name] for name in ("alpha", "dt", "c", "amplitude")}
    return second.uniform_lower_bound(**words, horizon=p.texts["T"], quantity="position")[1]


_LIMIT_PREMISES = (
    ALPHA_POSITIVE,
    STEP_BELOW_ONE,
    Hypothesis("α dt² ≤ 4", lambda p: 4 - p.alpha * p.dt**2, strict=False),
)


def _limit_text(p: Any) -> str:
    return (
        f"thm-S-limit: with w = 0, c = {p.c} and the square wave of amplitude {p.amplitude} up to T = {p.T} the left "
        f"side is a lower bound for every dt = T/N ≤ {p.dt}"
    )


def limit_case(domain: str, quantity: str, form: Delta | Root) -> Case:
    """icml S(39), θ = w, or S(40), ȳ = 0, as dt → 0: |y_N| is bounded below for all dt at once by thm-S-limit.

    S(39): at the last step x_N = 0, w = 0, so σ' = 1; |∂z_N/∂w| = h|y_{N−1}| ≥ h(|y_N| − h|z_N|), and |z_N| ≤
    T/√(1 − αdt²/4).
    """
    is_partial = isinstance(form, Delta)

    def balls(p: Any) -> tuple[Any, Any]:
        lower = _limit_balls(p)
        if not is_partial:
            return lower, form.ball(with_ones(p, BALLS.exact(1))) / p.alpha.sqrt()
        lower = lower - p.dt * p.T / (1 - p.alpha * p.dt**2 / 4).sqrt()
        return lower / (1 + (-p.c).exp()), form.ball(with_ones(p, BALLS.exact(1)))

    def intervals(p: Any) -> tuple[Any, Any]:
        lower, right = second.iv.mpf(_limit_intervals(p)), form.interval(with_ones(p, second.iv.mpf(1)))
        if not is_partial:
            return lower, right / second.iv.sqrt(p.alpha)
        rest = 1 - p.dt**2 * p.alpha / 4
        return second.logistic(p.c) * (lower - p.T * p.dt / second.iv.sqrt(rest)), right

    def ask(budget: Budget, _: int) -> Attempt:
        refine = {"smoke": 1, "standard": 4, "deep": 16}[budget.name]
        alpha = np.geomspace(1e-3, 10, 1 + 24 * refine)
        T = np.geomspace(1, 100, 1 + 24 * refine)
        x = np.sqrt(alpha)[:, None] * T
        measured = ode.sine_area(x) / alpha[:, None]
        claimed = _float_form(form, alpha[:, None], T)
        gap = np.log(measured) - np.log(claimed)
        worst = np.unravel_index(int(np.argmax(gap)), gap.shape)
        known = ode.largest_mean_sine()
        return Attempt(
            tried=f"{gap.size} pairs (α, T), supremum over all drives in the limit dt → 0",
            evaluations=gap.size,
            log_measured=float(np.log(measured)[worst]),
            log_claimed=float(np.log(claimed[worst])),
            candidates=tuple(_short_candidates(form, balls)) if gap[worst] > 1e-6 else (),
            control=float((ode.sine_area(x) / x).max() / known),
        )

    parameters = declared(
        *rationals("alpha", "T", above=0, most=LONGEST),
        *rationals("dt", above=0, below=1),
        *rationals("c", least=-LONGEST, most=LONGEST),
        *rationals("amplitude", above=0, most=LONGEST),
        rules=(Rule("α dt² ≤ 4", lambda values: values["alpha"] * values["dt"] ** 2 <= 4),),
    )
    check = Inequality(balls, intervals, _LIMIT_PREMISES, limit=_limit_text, parameters=parameters).check
    return Case(domain, quantity, ask, check, reading="limit", is_search=True)


def _float_form(form: Delta | Root, alpha: Any, T: Any) -> Any:
    """F or Δ of icml in floats."""
    growth = 1 + 2 * np.maximum(1 + 2 * alpha, 4 * alpha**2) * T
    if isinstance(form, Root):
        return np.sqrt(float(form.factor) * growth / alpha)
    z, y = np.sqrt(float(form.z.factor) * growth), np.sqrt(float(form.y.factor) * growth / alpha)
    return float(form.constant) + z + (2 + alpha) * y


def _short_candidates(form: Delta | Root, balls: Callable[[Any], tuple[Any, Any]]) -> Iterator[Parameters]:
    """Readable (α, T), shortest T first, with the largest dt₀ in 1/10, 1/20, … that serves."""
    alphas = [Fraction(x) for x in ("1/4", "1/10", "1/20", "1/50", "1/100", "1/1000")]
    for T, alpha in itertools.product(map(Fraction, (10, 15, 20, 30, 40, 60, 100)), alphas):
        with np.errstate(all="ignore"):
            gap = ode.sine_area(math.sqrt(alpha) * float(T)) / float(alpha) / _float_form(form, float(alpha), float(T))
        if gap < 1.05:
            continue
        for k in range(8):
            given = {"alpha": alpha, "T": T, "dt": Fraction(1, 10 * 2**k), "c": Fraction(10), "amplitude": Fraction(10)}
            with flint.ctx.workprec(64):
                left, right = balls(SimpleNamespace(**{name: BALLS.exact(value) for name, value in given.items()}))
                if left > right:
                    yield {name: rational(value) for name, value in given.items()}
                    return
