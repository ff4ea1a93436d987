# Claims: icml-C.1-H · icml-C.1-step · sam-66 · icml-(39) · sam-67 · icml-(40)
"""Steps of the published proofs: the energy inequality and the growth factor of icml App. C.1, and the bounds on the
two ends of the chain rule (sam (66), (67); icml S(39), S(40)).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from odernn.published.networks import ROWS, PublishedRow
from odernn.published.sources import Source
from verification.cases import energy_step
from verification.cases.chain_ends import drawn_input_case, input_case, limit_case, sam_output_case, sam_partial_case
from verification.cases.inequality import ALPHA_POSITIVE, STEP_BELOW_ONE, Inequality, Piece, attempt, whole_number
from verification.certify import suprema
from verification.certify.positivity import Side
from verification.certify.second import intervals as second
from verification.claim import BOTH, Attempt, Case, Claim, Hypothesis, Parameters
from verification.domains import Budget, printed_name
from verification.exact_text import rational
from verification.kinds import Constant, Integer
from verification.measure.energy_growth import added
from verification.measure.polynomials import coefficient, variables
from verification.measure.published_forms import ICML_S7, ICML_S39, SAM_66
from verification.parameters import Parameter, declared, rationals

# --- H_n ≤ (1 + β dt) H_{n−1} + 2dt(1 + 2α dt³), H = α y² + z²   (icml S(10)); with G for 1 + β dt: sam (38)


def _beta_small(alpha: Any, h: Any) -> Any:
    return 1 + (1 + 2 * alpha) * h


def _beta_large(alpha: Any, h: Any) -> Any:
    return 1 + 4 * alpha * alpha * h


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
        lambda a, h: coefficient(constant) * added(a, h),
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


_POWER_PREMISES = (
    ALPHA_POSITIVE,
    Hypothesis("n = N ≥ 1, a whole number", whole_number),
    Hypothesis("0 < dt = T/N < 1", lambda p: min(p.T, 1 - p.T / p.N)),
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
        violating = []
        for i, j in itertools.product(range(len(_ALPHAS)), range(len(_TIMES))):
            if gap[-1, i, j] > 1e-9:
                first = int(np.argmax(gap[:, i, j] > 1e-9))
                violating.append((_TIMES[j] + _ALPHAS[i] + 1 / _ALPHAS[i], _ALPHAS[i], _TIMES[j], 2**first))
        violating.sort()
        worst = np.unravel_index(int(np.argmax(gap)), gap.shape)
        return Attempt(
            tried=f"{gap.size} triples (N, α, T), N up to 2^{levels - 1}",
            evaluations=gap.size,
            log_measured=float(left[worst]),
            log_claimed=float(np.log1p(2 * x)[0, worst[1], worst[2]]),
            candidates=tuple(
                {"alpha": rational(a), "T": rational(t), "N": str(steps)} for _, a, t, steps in violating[:3]
            ),
            control=float(np.exp(np.max(np.where(allowed, left - x, -np.inf)))),  # sup (1 + x/N)^N e^{−x} = 1
        )

    premises: tuple[Hypothesis, ...] = _POWER_PREMISES
    if longest is not None:
        restricted = Hypothesis(
            f"βT ≤ {longest}", lambda p: longest - max(1 + 2 * p.alpha, 4 * p.alpha**2) * p.T, strict=False
        )
        premises = (*premises, restricted)
    parameters = declared(Parameter("N", Integer(1, 10**15)), *rationals("alpha", "T", above=0))
    check = Inequality(
        _power_balls, _power_intervals, premises, are_logs=True, limit=_power_limit, parameters=parameters
    ).check
    return Case("free", "(1 + β dt)^n", ask, check, reading="limit", is_search=True)


def _power_row(row: PublishedRow) -> Case:
    """At the printed α, dt (the largest of the layers) and n = N."""

    def ask(_: Budget, __: int) -> Attempt:
        if not row.alpha > 0:
            return Attempt("", 0, inapplicable=f"α = {row.alpha}, but the statement is about α > 0")
        T = row.steps * max(row.dt)
        return Attempt("n = N", 1, candidates=({"alpha": str(row.alpha), "T": str(T), "N": str(row.steps)},))

    T: Fraction = row.steps * max(row.dt)
    parameters = declared(
        Parameter("alpha", Constant(row.alpha)), Parameter("T", Constant(T)), Parameter("N", Constant(row.steps))
    )
    check = Inequality(_power_balls, _power_intervals, _POWER_PREMISES, are_logs=True, parameters=parameters).check
    return Case(printed_name(row), "(1 + β dt)^n", _only_if_violated(ask, check), check, reading="printed")


def _only_if_violated(ask: Callable[[Budget, int], Attempt], check: Callable[[Parameters], Any]) -> Any:
    """``ask`` with its one candidate kept if floats say that it violates; else the comparison alone is reported."""

    def asked(budget: Budget, seed: int) -> Attempt:
        outcome = ask(budget, seed)
        if not outcome.candidates:
            return outcome
        seen = check(outcome.candidates[0])
        violated = seen.log_measured is not None and seen.log_measured > seen.log_claimed
        return Attempt(
            outcome.tried,
            1,
            log_measured=seen.log_measured,
            log_claimed=seen.log_claimed,
            candidates=outcome.candidates if violated else (),
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

    premises = (ALPHA_POSITIVE, STEP_BELOW_ONE)
    parameters = declared(*rationals("alpha", above=0), *rationals("dt", above=0, below=1))
    check = Inequality(balls, intervals, premises, parameters=parameters).check
    return Case("free", "(2 + 4α dt³)/β ≤ 2", ask, check)


def _row_case(row: PublishedRow, quantity: str, because: str) -> Case:
    def ask(_: Budget, __: int) -> Attempt:
        if not row.alpha > 0:
            return Attempt("", 0, inapplicable=f"α = {row.alpha}, but the statement is about α > 0")
        proof = suprema.square_root_rows(row)
        again = BOTH if suprema.square_root_rows_again(row) else ""
        return Attempt(
            proof or "thm-S-Q does not give it", 2, proof=f"{proof}; {because}" if proof else "", twice=again
        )

    return Case(printed_name(row), quantity, ask, None, reading="printed")


def _printed(quantity: str, because: str) -> tuple[Case, ...]:
    return tuple(_row_case(row, quantity, because) for row in ROWS)


CLAIMS = (
    Claim(
        id="icml-C.1-H",
        source=Source("icml", "S(10)"),
        statement="H_n ≤ (1 + β dt)H_{n−1} + 2dt(1 + 2α dt³), H_n = αy_n² + z_n², β = max{1 + 2α, 4α²}; dt < 1",
        semantics="real",
        cases=(energy_case(),),
    ),
    Claim(
        id="icml-C.1-step",
        source=Source("icml", "S(11)"),
        statement="for dt ≪ 1: (1 + β dt)^n ≤ 1 + 2β n dt; in S(11) ((1+β dt)^n/(β dt))(2dt + 4α "
        "dt⁴) ≤ (1/β)(1 + 2βn dt)(2 + 4α dt³) ≤ 2(1 + 2βt_n); also tried: the power at the printed dt",
        semantics="real",
        cases=(power_case(), rest_case(), *(_power_row(row) for row in ROWS)),
    ),
    Claim(
        id="sam-66",
        source=Source("sam", "(66)"),
        statement="‖∂X^l_k/∂θ‖_∞ ≤ dt Δ, Δ = 2 + √(2mT(1+2α dt³))e^{ᾱT} + (2+α)√(2mT/α)(1+2α dt³)e^{ᾱT}; α > 0, dt < 1",
        semantics="real",
        cases=(sam_partial_case(), input_case("sam (66), θ = V^1", SAM_66, is_limit=False)),
    ),
    Claim(
        id="icml-(39)",
        source=Source("icml", "S(39)"),
        statement="‖∂X^l_k/∂θ‖_∞ ≤ dt Δ, Δ = 2 + √(2(1+2βT)) + (2+α)√((2/α)(1+2βT)); α > 0, dt ≪ 1; also tried: the "
        "printed dt",
        semantics="real",
        cases=(
            limit_case("icml S(39), θ = w", "‖∂X_k/∂θ‖_∞/dt", ICML_S39),
            input_case("icml S(39), θ = V^1", ICML_S39, is_limit=True),
            *_printed("S(39): ‖∂X_k/∂θ‖_∞, θ not V^1", "and (65)"),
            *(drawn_input_case(row, ICML_S39) for row in ROWS if row.alpha > 0),
        ),
    ),
    Claim(
        id="sam-67",
        source=Source("sam", "(67)"),
        statement="‖dE_n/dX^L_n‖_∞ ≤ Ȳ + F, the maximum norm, F = √(2mT/α)(1+2α dt³)e^{ᾱT}; α > 0, dt < 1",
        semantics="real",
        cases=(sam_output_case(),),
    ),
    Claim(
        id="icml-(40)",
        source=Source("icml", "S(40)"),
        statement="‖dE_n/dX^L_n‖_∞ ≤ Ȳ + F, the maximum norm, F = √((2/α)(1+2βT)); α > 0, dt ≪ 1; also tried: the "
        "printed dt",
        semantics="real",
        cases=(
            limit_case("icml S(40)", "‖dE_n/dX_n‖_∞", ICML_S7),
            *_printed("S(40): ‖dE_n/dX_n‖_∞", "and |y_n − ȳ_n| ≤ Ȳ + |y_n|"),
        ),
    ),
)
