"""The factor (1 + β dt)^n that n steps of H_n ≤ (1 + β dt) H_{n−1} + … collect, β = max{1 + 2α, 4α²}: what bounds it.

For all n it is at most e^{βt_n}; and at most 1 + 2βt_n as long as βt_n ≤ x₀, the positive root of e^x = 1 + 2x.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from odernn.bounds.numbers import BALLS
from verification.cases.inequality import ALPHA_POSITIVE, STEP_BELOW_ONE, Inequality, Piece, attempt
from verification.cases.related import Related
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Hypothesis, Parameters
from verification.domains import Budget
from verification.exact_text import rational
from verification.kinds import Integer, Rational, Values
from verification.measure.polynomials import coefficient, variables
from verification.parameters import Declaration, Parameter, declared, rationals

RANGE = Fraction(12564312086, 10**10)
"""x₀ = 1.2564312086…, the positive root of e^x = 1 + 2x, rounded down."""
MOST_STEPS = 10**9
_ALPHAS = tuple(map(Fraction, ("1/1000", "1/20", "1/4", "1/2", "4/5", "81/100", "1", "4", "30")))
_STEPS = tuple(map(Fraction, ("1/1000", "1/50", "1/4", "1/2", "9/10", "99/100")))


def _beta(p: Any) -> Any:
    return (1 + 2 * p.alpha).max(4 * p.alpha**2)


def _beta_again(p: Any) -> Any:
    low, high = p.alpha * 2 + 1, (p.alpha * 2) ** 2
    return second.iv.mpf([max(low.a, high.a), max(low.b, high.b)])


def _log_power(p: Any) -> Any:
    return p.N * (1 + _beta(p) * p.dt).log()


def _log_power_again(p: Any) -> Any:
    return second.iv.log(_beta_again(p) * p.dt + 1) * p.N


def _case(
    domain: str,
    quantity: str,
    right: tuple[Callable[[Any], Any], Callable[[Any], Any]],
    right_of_float: Callable[[Any], Any],
    proof: Callable[[], str],
    parameters: Declaration,
    longest: Fraction | None = None,
) -> Case:
    """n log(1 + β dt) against the logarithms ``right``, in balls and in intervals; ``right_of_float`` of x = βt_n."""
    premises: tuple[Hypothesis, ...] = (ALPHA_POSITIVE, STEP_BELOW_ONE)
    if longest is not None:
        beta_t = Hypothesis(f"βt_n ≤ {longest}", lambda p: longest - _exact_beta(p.alpha) * p.N * p.dt, strict=False)
        premises = (*premises, beta_t)
    inequality = Inequality(
        lambda p: (_log_power(p), right[0](p)),
        lambda p: (_log_power_again(p), right[1](p)),
        premises,
        are_logs=True,
        parameters=parameters,
    )

    def ask(budget: Budget, _: int) -> Attempt:
        counts = 2 ** np.arange({"smoke": 8, "standard": 16, "deep": 24}[budget.name])
        places = [
            (N, alpha, dt)
            for N, alpha, dt in itertools.product(map(int, counts), _ALPHAS, _steps(longest))
            if longest is None or _exact_beta(alpha) * N * dt <= longest
        ]
        N, alpha, dt = np.array(places, dtype=float).T
        x = np.maximum(1 + 2 * alpha, 4 * alpha**2) * N * dt
        left, bound = N * np.log1p(x / N), right_of_float(x)
        worst = int(np.argmax(left - bound))
        steps, stiffness, step = places[worst]
        fails = left[worst] > bound[worst] + 1e-9
        at: Parameters = {"N": str(steps), "alpha": rational(stiffness), "dt": rational(step)}
        text = "" if fails else proof()
        return Attempt(
            text or f"{len(places)} triples (N, α, dt)",
            len(places),
            float(left[worst]),
            float(bound[worst]),
            candidates=(at,) if fails else (),
            proof=text,
        )

    return Case(domain, quantity, ask, inequality.check)


def below_line(longest: Fraction) -> str:
    """Why e^x ≤ 1 + 2x on [0, ``longest``]; "" if it is not so, or undecided."""
    with flint.ctx.workprec(128), second.iv.workprec(128):
        end = BALLS.exact(longest)
        again = second.iv.mpf(longest.numerator) / longest.denominator
        if not (end.exp() <= 1 + 2 * end and (second.iv.exp(again) - 2 * again).b <= 1):
            return ""
    return f"e^x − 1 − 2x is convex, 0 at x = 0 and not positive at x = {longest}, in balls and in intervals"


def _exact_beta(alpha: Fraction) -> Fraction:
    return max(1 + 2 * alpha, 4 * alpha**2)


def _steps(longest: Fraction | None) -> tuple[Fraction, ...]:
    """Steps dt; in a range of βt_n much smaller ones, too."""
    return _STEPS if longest is None else (*(dt / 1000 for dt in _STEPS), *_STEPS)


def exponential_case(factor: Fraction = Fraction(1)) -> Case:
    """(1 + β dt)^n ≤ e^{factor·βt_n} for all n and 0 < dt < 1, by the first three terms of the exponential series."""

    def proof() -> str:
        (x,) = variables("x")
        series = 1 + coefficient(factor) * x + coefficient(factor**2) * x * x / 2
        conclusion = "further terms of e^x are positive, and n-th powers keep the order"
        return attempt([Piece(1 + x, series, ((0, None),))], "x = β dt ≥ 0", conclusion).proof

    def right(p: Any) -> Any:
        return coefficient(factor) * _beta(p) * p.dt * p.N

    def right_again(p: Any) -> Any:
        return p.N * p.dt * _beta_again(p) * factor.numerator / factor.denominator

    parameters = declared(
        Parameter("N", Integer(1, MOST_STEPS)), *rationals("alpha", above=0), *rationals("dt", above=0, below=1)
    )
    return _case(
        "free", "(1 + β dt)^n ≤ e^{βt_n}", (right, right_again), lambda x: float(factor) * x, proof, parameters
    )


def linear_case(longest: Fraction = RANGE) -> Case:
    """(1 + β dt)^n ≤ 1 + 2βt_n as long as βt_n ≤ ``longest``: e^x − 1 − 2x is convex, and at most 0 at both ends."""

    def proof() -> str:
        line = below_line(longest)
        return line and f"(1 + βt_n/n)^n ≤ e^x, x = βt_n, and {line}"

    def fitting(dt: Fraction, values: Values) -> Fraction:
        return min(dt, longest / (_exact_beta(values["alpha"]) * int(values["N"])))

    parameters = declared(
        Parameter("N", Integer(1, MOST_STEPS)),
        *rationals("alpha", above=0),
        Parameter("dt", Related(Rational(above=0, below=1), f"βn dt ≤ {longest}", fitting)),
    )
    return _case(
        "βt_n ≤ x₀",
        "(1 + β dt)^n ≤ 1 + 2βt_n",
        (
            lambda p: (1 + 2 * _beta(p) * p.N * p.dt).log(),
            lambda p: second.iv.log(p.dt * _beta_again(p) * p.N * 2 + 1),
        ),
        lambda x: np.log1p(2 * x),
        proof,
        parameters,
        longest,
    )
