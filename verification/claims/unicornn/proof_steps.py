# Claims: icml-C.1-H · icml-C.1-step · both-66/39 · both-67/40
"""Steps of the published proofs: the energy inequality and the growth factor of icml App. C.1, and the bounds on the
two ends of the chain rule (sam (66), (67); icml S(39), S(40)).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np

from odernn.bounds import sharp
from odernn.bounds.numbers import BALLS
from odernn.published.networks import ROWS, PublishedRow
from odernn.published.sources import Source
from verification.cases import energy_step
from verification.cases.inequality import Condition, Inequality, Piece, attempt
from verification.certify import suprema
from verification.certify.positivity import Side, coefficient, variables
from verification.certify.second import intervals as second
from verification.claims.unicornn.elementary import GROWTH, growth_sum
from verification.domains import Budget, printed_name
from verification.measure import ode
from verification.measure.published_forms import (
    ICML_S7,
    ICML_S39,
    SAM_32,
    SAM_42,
    SAM_66,
    SAM_67,
    Delta,
    Root,
    with_ones,
)
from verification.question import Attempt, Case, Parameters, Question, rational

_ALPHA = Condition("α > 0", lambda p: p.alpha)

# --- H_n ≤ (1 + β dt) H_{n−1} + 2dt(1 + 2α dt³), H = α y² + z²   (icml S(10)); with G for 1 + β dt: sam (38)


def _beta_small(alpha: Any, h: Any) -> Any:
    return 1 + (1 + 2 * alpha) * h


def _beta_large(alpha: Any, h: Any) -> Any:
    return 1 + 4 * alpha * alpha * h


def _added(alpha: Any, h: Any) -> Any:
    return 2 * h * (1 + 2 * alpha * h**3)


_UNIT = (0, 1)


def energy_case(factor: Fraction = Fraction(1), constant: Fraction = Fraction(1)) -> Case:
    """S(10), with ``factor``·β for β and ``constant`` times the added term."""

    def growth(each: energy_step.Growth) -> energy_step.Growth:
        return lambda alpha, h: 1 + coefficient(factor) * (each(alpha, h) - 1)

    def balls(p: Any) -> tuple[Any, Any]:
        beta = coefficient(factor) * (1 + 2 * p.alpha).max(4 * p.alpha**2)
        return 1 + beta * p.dt, coefficient(constant) * (2 * p.dt + 4 * p.alpha * p.dt**4)

    def intervals(p: Any) -> tuple[Any, Any]:
        low, high = 2 * p.alpha + 1, (2 * p.alpha) ** 2
        beta = second.iv.mpf([max(low.a, high.a), max(low.b, high.b)]) * factor.numerator / factor.denominator
        added = (p.dt + 2 * p.dt**4 * p.alpha) * 2 * constant.numerator / constant.denominator
        return p.dt * beta + 1, added

    return energy_step.case(
        "free",
        (growth(_beta_small), growth(_beta_large)),
        lambda a, h: coefficient(constant) * _added(a, h),
        balls,
        intervals,
    )


# --- (1 + β dt)^n ≤ 1 + 2β n dt   (icml S(11), S(27))


def _power_balls(p: Any) -> tuple[Any, Any]:
    beta = (1 + 2 * p.alpha).max(4 * p.alpha**2)
    return p.N * (1 + beta * p.T / p.N).log(), (1 + 2 * beta * p.T).log()


def _power_intervals(p: Any) -> tuple[Any, Any]:
    low, high = 2 * p.alpha + 1, (2 * p.alpha) ** 2
    x = second.iv.mpf([max(low.a, high.a), max(low.b, high.b)]) * p.T
    return second.iv.log(x / p.N + 1) * p.N, second.iv.log(2 * x + 1)


def _whole_number(p: Any) -> Fraction:
    return Fraction(p.N if p.N.denominator == 1 else -1)


_POWER_PREMISES = (
    _ALPHA,
    Condition("n = N ≥ 1, a whole number", _whole_number),
    Condition("0 < dt = T/N < 1", lambda p: min(p.T, 1 - p.T / p.N)),
)


def _power_limit(p: Any) -> str:
    return (
        f"at every dt = T/N ≤ {p.T / p.N}: (1 + βT/N)^N increases with N (inequality of the arithmetic and geometric "
        f"means, applied to N factors 1 + βT/N and one factor 1): what is certified at N = {p.N} holds beyond"
    )


_ALPHAS = tuple(map(Fraction, ("1/100", "1/10", "1/4", "1/2", "1", "2", "4", "10", "13", "30")))
_TIMES = tuple(map(Fraction, ("1/10", "1/5", "1/4", "1/2", "1", "2", "4", "10", "20", "40")))


def power_case(longest: Fraction | None = None) -> Case:
    """The reading dt → 0 at fixed α and T = N dt; ``longest`` restricts βT (thm-S')."""

    def ask(budget: Budget, _: int) -> Attempt:
        levels = {"smoke": 12, "standard": 18, "deep": 24}[budget.name]
        N = 2.0 ** np.arange(levels)[:, None, None]
        alpha = np.array(_ALPHAS, dtype=float)[None, :, None]
        T = np.array(_TIMES, dtype=float)[None, None, :]
        x = np.maximum(1 + 2 * alpha, 4 * alpha**2) * T
        allowed = (T / N < 1) & (x <= (math.inf if longest is None else float(longest)))
        left = N * np.log1p(x / N)
        gap = np.where(allowed, left - np.log1p(2 * x), -np.inf)
        found = []
        for i, j in itertools.product(range(len(_ALPHAS)), range(len(_TIMES))):
            if gap[-1, i, j] > 1e-9:
                first = int(np.argmax(gap[:, i, j] > 1e-9))
                found.append((_TIMES[j] + _ALPHAS[i] + 1 / _ALPHAS[i], _ALPHAS[i], _TIMES[j], 2**first))
        found.sort()
        worst = np.unravel_index(int(np.argmax(gap)), gap.shape)
        return Attempt(
            tried=f"{gap.size} triples (N, α, T), N up to 2^{levels - 1}",
            evaluations=gap.size,
            log_measured=float(left[worst]),
            log_claimed=float(np.log1p(2 * x)[0, worst[1], worst[2]]),
            candidates=tuple({"alpha": rational(a), "T": rational(t), "N": str(steps)} for _, a, t, steps in found[:3]),
            control=float(np.exp(np.max(np.where(allowed, left - x, -np.inf)))),  # sup (1 + x/N)^N e^{−x} = 1
        )

    premises: tuple[Condition, ...] = _POWER_PREMISES
    if longest is not None:
        restricted = Condition(
            f"βT ≤ {longest}", lambda p: longest - max(1 + 2 * p.alpha, 4 * p.alpha**2) * p.T, strict=False
        )
        premises = (*premises, restricted)
    check = Inequality(_power_balls, _power_intervals, premises, are_logs=True, limit=_power_limit).check
    return Case("free", "(1 + β dt)^n", ask, check, reading="limit", is_search=True)


def _power_row(row: PublishedRow) -> Case:
    """At the printed α, dt (the largest of the layers) and n = N."""

    def ask(_: Budget, __: int) -> Attempt:
        if not row.alpha > 0:
            return Attempt("", 0, inapplicable=f"α = {row.alpha}, but the statement is about α > 0")
        T = row.steps * max(row.dt)
        return Attempt("n = N", 1, candidates=({"alpha": str(row.alpha), "T": str(T), "N": str(row.steps)},))

    check = Inequality(_power_balls, _power_intervals, _POWER_PREMISES, are_logs=True).check
    return Case(printed_name(row), "(1 + β dt)^n", _only_if_violated(ask, check), check, reading="printed")


def _only_if_violated(ask: Callable[[Budget, int], Attempt], check: Callable[[Parameters], Any]) -> Any:
    """``ask`` with its one candidate kept if floats say that it violates; else the comparison alone is reported."""

    def asked(budget: Budget, seed: int) -> Attempt:
        found = ask(budget, seed)
        if not found.candidates:
            return found
        seen = check(found.candidates[0])
        violated = seen.log_measured is not None and seen.log_measured > seen.log_claimed
        return Attempt(
            found.tried,
            1,
            log_measured=seen.log_measured,
            log_claimed=seen.log_claimed,
            candidates=found.candidates if violated else (),
        )

    return asked


def rest_case(constant: Fraction = Fraction(4)) -> Case:
    """The last step of S(11): (1/β)(1 + 2βn dt)(2 + 4α dt³) ≤ 2(1 + 2βt_n), that is 2 + 4α dt³ ≤ 2β."""

    def ask(_: Budget, __: int) -> Attempt:
        alpha, dt = variables("alpha", "dt")
        sides: tuple[Side, ...] = ((0, Fraction(4, 5)), (Fraction(4, 5), None))  # β = 1 + 2α on the first
        left, right = 2 + coefficient(constant) * alpha * dt**3, 2 * (1 + 2 * alpha)
        return attempt([Piece(left, right, (side, _UNIT)) for side in sides], "α ≥ 0, 0 ≤ dt ≤ 1, with 1 + 2α ≤ β")

    def balls(p: Any) -> tuple[Any, Any]:
        return 2 + coefficient(constant) * p.alpha * p.dt**3, 2 * (1 + 2 * p.alpha).max(4 * p.alpha**2)

    def intervals(p: Any) -> tuple[Any, Any]:
        low, high = 4 * p.alpha + 2, 8 * p.alpha**2
        left = p.dt**3 * p.alpha * constant.numerator / constant.denominator + 2
        return left, second.iv.mpf([max(low.a, high.a), max(low.b, high.b)])

    premises = (_ALPHA, Condition("0 < dt < 1", lambda p: min(p.dt, 1 - p.dt)))
    return Case("free", "(2 + 4α dt³)/β ≤ 2", ask, Inequality(balls, intervals, premises).check)


# --- ‖∂X_k/∂θ‖_∞ ≤ dt Δ and ‖dE_n/dX_n‖_∞ ≤ Ȳ + F


def _sam_states() -> tuple[str, int]:
    """A machine proof of (32) for one neuron, α > 0, dt < 1; ("", count) if it fails.

    H_n ≤ G H_{n−1} + 2dt + 4α dt⁴ with G = 1 + dt + 2α dt² + 4α² dt⁴: the form is semidefinite. With r = dt max{1, √α},
    G ≤ 1 + r + 2r² + 4r⁴ ≤ e^{cr}, c = 96^{1/4}, term by term: 1 ≤ c, 2 ≤ c²/2, 4 ≤ c⁴/4!. Summed over n ≤ N steps,
    H_n ≤ 2T(1 + 2α dt³)e^{ᾱT}.
    """
    found = energy_step.proof((_sam_growth, _sam_growth), _added)
    taylor = energy_step.below_exponential(GROWTH, 96)
    text = f"(32): H_n ≤ G H_{{n−1}} + 2dt + 4α dt⁴, {found.proof}; G ≤ e^{{ᾱ dt}} {taylor}"
    return (text if taylor and found.proof else ""), found.evaluations


def _sam_growth(alpha: Any, h: Any) -> Any:
    return growth_sum(GROWTH, alpha, h)


_RUN_PREMISES = (
    _ALPHA,
    Condition("0 < dt < 1", lambda p: min(p.dt, 1 - p.dt)),
    Condition("0 < σ̂ < 1", lambda p: min(p.sigma, 1 - p.sigma)),
    Condition("T = N dt, N ≥ 1 a whole number", lambda p: _whole_number(p) * (p.N * p.dt == p.T)),
)
_SIGMA = Fraction(999, 1000)


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
            found = check(p)
            count += 1
            if found.log_measured is not None and found.log_measured - found.log_claimed > worst[0]:
                worst = (found.log_measured - found.log_claimed, p)
                sides = (found.log_measured, found.log_claimed)
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

    check = Inequality(balls, intervals, _RUN_PREMISES).check
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

    check = Inequality(balls, intervals, _RUN_PREMISES).check
    because = "|y_n − ȳ_n| ≤ Ȳ + |y_n|, and the printed F is at least the bound (32)"

    def ask(budget: Budget, _: int) -> Attempt:
        return _against_suprema(root, root.implies(SAM_32), because, check, budget)

    return Case("sam (67)", "‖dE_n/dX_n‖_∞", ask, check)


def _input_ask(delta: Delta) -> Callable[[Budget, int], Attempt]:
    """θ = V^1 at rest: the left side is h|u_k|, and |u_k| is free: α = 1, T = 1, the first input that exceeds 2Δ."""

    def ask(_: Budget, __: int) -> Attempt:
        p = {"alpha": "1", "dt": "1/10", "T": "1", "sigma": "1/2"}
        with flint.ctx.workprec(64):
            given = SimpleNamespace(**{name: BALLS.exact(Fraction(value)) for name, value in p.items()})
            needed = float(2 * delta.ball(with_ones(given, BALLS.exact(1))))
        size = 10 ** math.ceil(math.log10(needed * 1.01))
        return Attempt("the input at which h|u| exceeds dt Δ", 1, candidates=({**p, "u": str(size)},))

    return ask


_INPUT_PREMISES = (
    _ALPHA,
    Condition("0 < dt < 1", lambda p: min(p.dt, 1 - p.dt)),
    Condition("T = N dt, N a whole number", lambda p: Fraction(1 if (p.T / p.dt).denominator == 1 and p.T > 0 else -1)),
    Condition("0 < σ̂ < 1", lambda p: min(p.sigma, 1 - p.sigma)),
)


def input_case(domain: str, delta: Delta, *, is_limit: bool) -> Case:
    """θ = V^1_{i1} of a first-layer neuron with w = V = b = 0, which rests: A = 0, ‖∂X_k/∂θ‖_∞ = h|u_k|, over dt."""

    def balls(p: Any) -> tuple[Any, Any]:
        return p.sigma * p.u, delta.ball(with_ones(p, BALLS.exact(1)))

    def intervals(p: Any) -> tuple[Any, Any]:
        return p.u * p.sigma, delta.interval(with_ones(p, second.iv.mpf(1)))

    def limit(p: Any) -> str:
        return f"the neuron rests at every dt; both sides are dt times numbers free of dt: u = {p.u} serves for all dt"

    check = Inequality(balls, intervals, _INPUT_PREMISES, limit=limit if is_limit else None).check
    reading = "limit" if is_limit else ""
    return Case(domain, "‖∂X_k/∂θ‖_∞/dt", _input_ask(delta), check, reading=reading)


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
    _ALPHA,
    Condition("0 < dt < 1", lambda p: min(p.dt, 1 - p.dt)),
    Condition("α dt² ≤ 4", lambda p: 4 - p.alpha * p.dt**2, strict=False),
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

    check = Inequality(balls, intervals, _LIMIT_PREMISES, limit=_limit_text).check
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


def _row_case(row: PublishedRow, quantity: str, because: str) -> Case:
    def ask(_: Budget, __: int) -> Attempt:
        if not row.alpha > 0:
            return Attempt("", 0, inapplicable=f"α = {row.alpha}, but the statement is about α > 0")
        proof = suprema.square_root_rows(row)
        return Attempt(proof or "thm-S-Q does not give it", 2, proof=f"{proof}; {because}" if proof else "")

    return Case(printed_name(row), quantity, ask, None, reading="printed")


def _printed(quantity: str, because: str) -> tuple[Case, ...]:
    return tuple(_row_case(row, quantity, because) for row in ROWS)


QUESTIONS = (
    Question(
        id="icml-C.1-H",
        source=Source("icml", "S(10)"),
        statement="H_n ≤ (1 + β dt)H_{n−1} + 2dt(1 + 2α dt³), H_n = αy_n² + z_n², β = max{1 + 2α, 4α²}; dt < 1",
        semantics="real",
        cases=(energy_case(),),
    ),
    Question(
        id="icml-C.1-step",
        source=Source("icml", "S(11)"),
        statement='(1 + β dt)^n ≤ 1 + 2β n dt "as dt ≪ 1"; in S(11) ((1+β dt)^n/(β dt))(2dt + 4α dt⁴) ≤ '
        "(1/β)(1 + 2βn dt)(2 + 4α dt³) ≤ 2(1 + 2βt_n)",
        semantics="real",
        cases=(power_case(), rest_case(), *(_power_row(row) for row in ROWS)),
    ),
    Question(
        id="both-66/39",
        source=Source("sam", "(66); icml S(39)"),
        statement="‖∂X^l_k/∂θ‖_∞ ≤ dt Δ; (66): Δ = 2 + √(2mT(1+2α dt³))e^{ᾱT} + (2+α)√(2mT/α)(1+2α dt³)e^{ᾱT}; "
        "S(39): Δ = 2 + √(2(1+2βT)) + (2+α)√((2/α)(1+2βT)); α > 0, dt < 1 (sam), dt ≪ 1 (icml)",
        semantics="real",
        cases=(
            sam_partial_case(),
            input_case("sam (66), θ = V^1", SAM_66, is_limit=False),
            limit_case("icml S(39), θ = w", "‖∂X_k/∂θ‖_∞/dt", ICML_S39),
            input_case("icml S(39), θ = V^1", ICML_S39, is_limit=True),
            *_printed("S(39): ‖∂X_k/∂θ‖_∞, θ not V^1", "and (65)"),
        ),
    ),
    Question(
        id="both-67/40",
        source=Source("sam", "(67); icml S(40)"),
        statement="‖dE_n/dX^L_n‖_∞ ≤ Ȳ + F, the maximum norm; (67): F = √(2mT/α)(1+2α dt³)e^{ᾱT}; "
        "S(40): F = √((2/α)(1+2βT)); α > 0, dt < 1 (sam), dt ≪ 1 (icml)",
        semantics="real",
        cases=(
            sam_output_case(),
            limit_case("icml S(40)", "‖dE_n/dX_n‖_∞", ICML_S7),
            *_printed("S(40): ‖dE_n/dX_n‖_∞", "and |y_n − ȳ_n| ≤ Ȳ + |y_n|"),
        ),
    ),
)
