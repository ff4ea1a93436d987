# Claims: sco-5.5.1 · sco-5.5.1-A · sco-5.5.1-growth · thm-O-float
"""Orthogonality in floating point: scaled Cayley matrices against multiplicative updates.   sco-5.5.1, sco-5.5.1-A

Floats are rational numbers, so ŴᵀŴ − I of a computed Ŵ is known exactly. u is the unit roundoff, eps = 2u.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from odernn.bounds import cayley_rounding as bounds
from odernn.bounds import orthogonal
from odernn.published.sources import Source
from verification.cases.related import FormatNumber
from verification.cases.scornn_parameters import ABOVE
from verification.certify.float_replay import FORMATS
from verification.claim import GIVEN, Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import numbers, rationals
from verification.kinds import SIGN, Count, Listed, Rational
from verification.parameters import Declaration, Parameter, declared

if TYPE_CHECKING:
    from verification.measure.orthogonality_drift import Drift

NAMES = ("float32", "float64")


def epsilon(name: str) -> float:
    """eps = 2u."""
    return float(Fraction(2, 2 ** FORMATS[name].precision))


# --- drift over many updates

SIZES = {"smoke": (64, 1500), "standard": (64, 1500), "deep": (96, 3000)}
"""n and the number of updates, where W is multiplied: what costs least."""
REMADE = {"smoke": (32, 400), "standard": (64, 1500), "deep": (96, 3000)}
"""Where A is updated and W made anew, and of complex W."""
SLOWER = {"smoke": (32, 400), "standard": (32, 1500), "deep": (48, 3000)}
"""Of the others."""
NO_GROWTH = 0.25
"""Half-way between no accumulation, k^0, and k^{1/2}, what errors without a bias do: a model, no theorem."""
LINEAR = 1.1
"""The fitted exponent of growth like k, with room for the fit."""


@functools.lru_cache(maxsize=32)
def measured(method: str, name: str, n: int, updates: int, seed: int) -> Drift:
    """The scores, measured once for all rows about them."""
    from verification.measure import orthogonality_drift
    from verification.measure.computed_cayley import DTYPES

    return orthogonality_drift.drift(method, DTYPES[name], n=n, updates=updates, seed=seed)


def _text(drift: Drift, n: int) -> str:
    return (
        f"n = {n}: score {drift.scores[0]:.2g} after {drift.updates[0]} updates, {drift.scores[-1]:.2g} after "
        f"{drift.updates[-1]}; {drift.slope.describe()}"
    )


def drift_case(
    method: str,
    name: str,
    quantity: str,
    sides: Callable[[Drift, int], tuple[float, float]],
    sizes: dict[str, tuple[int, int]] = SIZES,
) -> Case:
    """``sides``(drift, n): natural logarithms of what is measured and of what is claimed to be no less."""

    def ask(budget: Budget, seed: int) -> Attempt:
        n, updates = sizes[budget.name]
        drift = measured(method, name, n, updates, seed % 2**31)
        low, high = sides(drift, n)
        return Attempt(
            _text(drift, n),
            len(drift.scores),
            log_measured=low,
            log_claimed=high,
            found=_text(drift, n),
            claimed=quantity,
        )

    return Case(f"{method}, {name}", quantity, ask)


def _span(drift: Drift) -> float:
    return math.log(drift.updates[-1] / drift.updates[0])


def grows(drift: Drift, _: int) -> tuple[float, float]:
    """The first score is below the last."""
    return math.log(drift.scores[0]), math.log(drift.scores[-1])


def accumulates(drift: Drift, _: int) -> tuple[float, float]:
    """k^{1/4} or more, in the fit."""
    return NO_GROWTH * _span(drift), drift.slope.value * _span(drift)


def at_most_linear(drift: Drift, _: int) -> tuple[float, float]:
    return drift.slope.value * _span(drift), LINEAR * _span(drift)


def does_not_grow(drift: Drift, _: int) -> tuple[float, float]:
    """Less than k^{1/4}, in the fit."""
    return drift.slope.value * _span(drift), NO_GROWTH * _span(drift)


def below_expectation(name: str) -> Callable[[Drift, int], tuple[float, float]]:
    """The largest score against 5 √n eps κ(I + A)."""

    def sides(drift: Drift, n: int) -> tuple[float, float]:
        bound = bounds.log_expected_score(n, eps=epsilon(name), condition=drift.condition)
        return math.log(max(drift.scores)), float(bound)

    return sides


# --- one computed matrix, exactly


def _parameters(free: list[Fraction], signs: list[int]) -> Parameters:
    return {"A": rationals(free), "D": " ".join(map(str, signs))}


MOST_ROWS = 8
LARGEST_POWER = 32
"""Entries of A that are typed have a modulus of at most 2 to this power: elimination does not overflow float32."""


def float_matrix(name: str, rows: Count = (1, MOST_ROWS)) -> Declaration:
    """The signs of D, and A above the diagonal row by row, in numbers of the format."""
    entries = Listed(FormatNumber(name, LARGEST_POWER), lambda v: len(v["D"]) * (len(v["D"]) - 1) // 2)
    return declared(Parameter("D", Listed(SIGN, rows)), Parameter("A", entries, order=ABOVE))


def computed_case(
    name: str,
    domain: str,
    quantity: str,
    limit: Callable[[int], Fraction],
    candidates: Iterable[Parameters],
    rows: Count = (1, MOST_ROWS),
) -> Case:
    """max |ŴᵀŴ − I| ≤ ``limit``(n) for the computed Ŵ of the candidates: 0 is "exactly orthogonal"."""
    known = tuple(candidates)

    def ask(_: Budget, __: int) -> Attempt:
        from verification.certify import orthogonality_defect as exact
        from verification.measure.computed_cayley import computed

        u, defects = exact.unit_roundoff(name), []
        for parameters in known:
            free, signs = numbers(parameters, "A"), [int(word) for word in parameters["D"].split()]
            size = exact.defect(computed(free, signs, name))
            if size > limit(len(signs)):
                defects.append((size, parameters))
        defects.sort(key=lambda each: -each[0])
        worst = f"{float(defects[0][0] / u):.4g} u" if defects else "within the limit"
        return Attempt(
            f"{len(known)} matrices A, Ŵ computed in {name}, ŴᵀŴ − I formed exactly",
            len(known),
            found=worst,
            claimed=quantity,
            candidates=tuple(parameters for _, parameters in defects[:3]),
        )

    def check(parameters: Parameters) -> Check:
        return _computed_check(parameters, name, limit)

    return Case(domain, quantity, ask, float_matrix(name, rows).guards(check))


def _computed_check(parameters: Parameters, name: str, limit: Callable[[int], Fraction]) -> Check:
    from verification.certify import orthogonality_defect as exact
    from verification.measure.computed_cayley import computed

    free, signs = numbers(parameters, "A"), [int(word) for word in parameters["D"].split()]
    u, bound = exact.unit_roundoff(name), limit(len(signs))
    try:
        first = exact.defect(computed(free, signs, name))
        again = exact.defect_again(exact.replayed(free, signs, name))
    except ArithmeticError as error:
        return _without_matrix(error)
    return Check(
        opinions=(
            Opinion("LAPACK and flint", first > bound, f"max |ŴᵀŴ − I| = {float(first / u):.5g} u"),
            Opinion("replay and fractions", again > bound, f"max |ŴᵀŴ − I| = {float(again / u):.5g} u"),
        ),
        words=f"{name}; {GIVEN}: the computed W has max |WᵀW − I| = {float(first):.4g} = {float(first / u):.4g} u",
        log_measured=_log(first),
        log_claimed=_log(bound) if bound > 0 else None,
    )


def _without_matrix(error: ArithmeticError) -> Check:
    """Of entries of which no Ŵ is computed: nothing is violated."""
    return Check(tuple(Opinion(name, False, f"no Ŵ: {error}") for name in ("LAPACK and flint", "replay and fractions")))


def _log(value: Fraction) -> float:
    return float(arb(float(value)).log().mid())


SMALL = tuple(_parameters([Fraction(k, 2**10)], [1, 1]) for k in (341, 683, 1000))
"""n = 2, three angles: numbers of every format."""
LARGE_ORDER = 1000
"""The order of machine precision, read generously: a thousand n u."""


def _of_the_order(name: str) -> Callable[[int], Fraction]:
    return lambda n: Fraction(LARGE_ORDER * n, 2 ** FORMATS[name].precision)


def large_entries(powers: Iterable[int], trials: int = 8) -> list[Parameters]:
    """n = 3, entries integers up to 64 times 2^power: κ(I + A) = √(1 + ‖A‖₂²), as one singular value of A is 0."""
    generator, places = random.Random(1), []
    for power in powers:
        for _ in range(trials):
            free = [Fraction(generator.choice((-1, 1)) * generator.randint(1, 64) * 2**power) for _ in range(3)]
            places.append(_parameters(free, [1, 1, 1]))
    return places


# --- |a_ij| ≤ 1

ORDERS = {"smoke": (8, 33, 64), "standard": (8, 33, 65, 128), "deep": (8, 33, 65, 128, 257, 512)}
CLIMBED = 7
"""The size at which single signs are exchanged as long as that raises the score."""
STARTS = {"smoke": 4, "standard": 12, "deep": 60}


def _skew_of(signs: np.ndarray, n: int) -> np.ndarray:
    A = np.zeros((n, n))
    A[np.triu_indices(n, 1)] = signs
    return A - A.T


def climb(objective: Callable[[np.ndarray], float], n: int, generator: np.random.Generator) -> tuple[float, int]:
    """(best value, evaluations) of an objective over skew matrices of signs, exchanging one sign at a time."""
    signs = generator.choice((-1.0, 1.0), n * (n - 1) // 2)
    best, count, improved = objective(_skew_of(signs, n)), 1, True
    while improved:
        improved = False
        for place in generator.permutation(len(signs)):
            signs[place] *= -1
            value, count = objective(_skew_of(signs, n)), count + 1
            if value > best:
                best, improved = value, True
            else:
                signs[place] *= -1
    return best, count


def condition(A: np.ndarray) -> float:
    """κ₂(I + A)."""
    return float(np.linalg.cond(np.eye(len(A)) + A))


def worst_condition(n: int) -> float:
    """max κ₂(I + A) over |a_ij| ≤ 1, n odd: 1/sin(π/2n), a bound for even n.   thm-SC-norm"""
    return math.exp(orthogonal.log_condition(size=n))


def _scores_of_order(n: int, name: str, generator: np.random.Generator) -> list[float]:
    """Of the matrix sign(j − i), of random signs, of uniform entries."""
    triangle = n * (n - 1) // 2
    ones = np.ones(triangle)
    drawn = [generator.choice((-1.0, 1.0), triangle), generator.uniform(-1, 1, triangle)]
    return [score(_skew_of(free, n), name) for free in (ones, *drawn)]


def score(A: np.ndarray, name: str) -> float:
    """‖ŴᵀŴ − I‖_F of the computed C(A), D = I; A is rounded to the dtype."""
    import torch

    from odernn.orthogonal.cayley import free_entries, scaled_cayley, skew
    from odernn.orthogonal.unitary import unitarity_score
    from verification.measure.computed_cayley import DTYPES

    free = free_entries(torch.from_numpy(A)).to(DTYPES[name])
    return unitarity_score(scaled_cayley(skew(free, len(A)), torch.ones(len(A), dtype=torch.int8)))


def bounded_case(name: str, factor: float = 1.0) -> Case:
    """The score over |a_ij| ≤ 1 against ``factor`` · 5 √n eps / sin(π/2n)."""

    def ask(budget: Budget, seed: int) -> Attempt:
        generator = np.random.default_rng(seed)
        worst, count, at = -math.inf, 0, (0.0, 0.0, 0)
        tried: list[tuple[int, float]] = []
        for n in ORDERS[budget.name]:
            tried += [(n, value) for value in _scores_of_order(n, name, generator)]
        known, share = worst_condition(CLIMBED), 0.0
        for _ in range(STARTS[budget.name]):
            value, calls = climb(lambda A: score(A, name), CLIMBED, generator)
            tried.append((CLIMBED, value))
            reached, more = climb(condition, CLIMBED, generator)
            share, count = max(share, reached / known), count + calls + more
        for n, value in tried:
            if value == 0.0:  # exactly orthogonal as computed: below every bound
                continue
            bound = bounds.log_expected_score(n, eps=factor * epsilon(name), condition=worst_condition(n))
            if math.log(value) - bound > worst:
                worst, at = math.log(value) - bound, (math.log(value), float(bound), n)
        return Attempt(
            f"matrices of signs and uniform entries, n = {', '.join(map(str, ORDERS[budget.name]))}; ascent by single "
            f"signs at n = {CLIMBED}, which reaches {share:.3f} of the largest condition number",
            len(tried) + count,
            log_measured=at[0],
            log_claimed=at[1],
            control=share,
            found=f"{math.exp(at[0]):.3g} at n = {at[2]}",
            claimed=f"at most {math.exp(at[1]):.3g} there",
        )

    return Case(f"|a_ij| ≤ 1, {name}", "score ≤ 5 √n eps/sin(π/2n)", ask, is_search=True)


# --- thm-O-float (a): the residual

RESIDUALS = {"smoke": 40, "standard": 300, "deep": 3000}


def residual_case(name: str, factor: Fraction = Fraction(1)) -> Case:
    """score² ≤ (``factor`` (2r + r²))², r the residual of the computed W: exactly, for entries of every size."""

    def sides(parameters: Parameters) -> tuple[arb, arb]:
        from verification.certify import orthogonality_defect as exact
        from verification.measure.computed_cayley import computed

        free, signs = numbers(parameters, "A"), [int(word) for word in parameters["D"].split()]
        W = computed(free, signs, name)
        r = arb(exact.squared_residual(free, signs, W)).sqrt()
        scale = arb(factor.numerator) / factor.denominator
        return arb(exact.squared_score(W)).sqrt(), scale * (2 * r + r * r)

    def ask(budget: Budget, seed: int) -> Attempt:
        generator, worst, wrong = random.Random(seed), (-math.inf, 0.0, 0.0), []
        count = RESIDUALS[budget.name]
        for _ in range(count):
            n, power = generator.randint(2, 5), generator.randint(-4, 12)
            free = [Fraction(generator.randint(-(2**20), 2**20), 2**20) * 2**power for _ in range(n * (n - 1) // 2)]
            parameters = _parameters(free, [generator.choice((-1, 1)) for _ in range(n)])
            left, right = sides(parameters)
            if left == 0:
                continue
            logs = float(left.log().mid()), float(right.log().mid())
            worst = max(worst, (logs[0] - logs[1], *logs))
            if left > right:
                wrong.append(parameters)
        return Attempt(
            f"{count} random A of 2 to 5 rows with entries to 2^12, Ŵ computed in {name}, both sides exactly",
            count,
            log_measured=worst[1],
            log_claimed=worst[2],
            candidates=tuple(wrong[:3]),
        )

    def check(parameters: Parameters) -> Check:
        try:
            left, right = sides(parameters)
            first, second = _residual_again(parameters, name)
        except ArithmeticError as error:
            return _without_matrix(error)
        return Check(
            opinions=(
                Opinion("flint", bool(left > right), f"{left.str(8)} against {right.str(8)}"),
                Opinion("fractions", first > (factor * second) ** 2, f"{float(first):.6g}, the squares"),
            ),
            words=f"{GIVEN} in {name}: {left.str(6)} > {right.str(6)}",
        )

    parameters = declared(
        Parameter("D", Listed(SIGN, (1, 8))),
        Parameter(
            "A",
            Listed(Rational(), lambda v: len(v["D"]) * (len(v["D"]) - 1) // 2),
            order=ABOVE,
        ),
    )
    return Case(f"any A, {name}", "score ≤ 2r + r², r = ‖(I − A)D − (I + A)Ŵ‖_F", ask, parameters.guards(check))


def _residual_again(parameters: Parameters, name: str) -> tuple[Fraction, Fraction]:
    """(score², an upper bound of 2r + r²) of the replayed Ŵ, over fractions."""
    from verification.certify import orthogonality_defect as exact

    free, signs = numbers(parameters, "A"), [int(word) for word in parameters["D"].split()]
    W, n, values = exact.replayed(free, signs, name), len(signs), iter(free)
    A = [[Fraction(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            A[i][j] = next(values)
            A[j][i] = -A[i][j]
    residual = sum(
        (((i == j) - A[i][j]) * signs[j] - W[i][j] - sum(A[i][k] * W[k][j] for k in range(n))) ** 2
        for i in range(n)
        for j in range(n)
    )
    squared = sum((sum(W[k][i] * W[k][j] for k in range(n)) - (i == j)) ** 2 for i in range(n) for j in range(n))
    scale = 10**40
    root = Fraction(math.isqrt(int(residual * scale**2)) + 1, scale)
    return Fraction(squared), 2 * root + root * root


_ORDER = f"max |WᵀW − I| ≤ {LARGE_ORDER} n u"
_CAYLEY = "scaled Cayley"
POWERS = (0, 4, 8, 12, 16)

CLAIMS = (
    Claim(
        id="sco-5.5.1",
        source=Source("scornn", "Sec. 5.5.1, Fig. 4"),
        statement="multiplicative updates lose unitarity over many steps; the orthogonality of scoRNN's W does not "
        "suffer from rounding as updates go on: its score stays below 5 √n eps κ(I + A) and does not grow with the "
        "number k of updates, or by less than k^(1/4)",
        semantics="float",
        cases=(
            *(
                drift_case(method, name, "the score grows", grows, sizes)
                for method, sizes in (("multiplicative", SIZES), ("multiplicative, complex", REMADE))
                for name in NAMES
            ),
            *(
                drift_case(_CAYLEY, name, "score ≤ 5 √n eps κ(I + A)", below_expectation(name), REMADE)
                for name in NAMES
            ),
            *(drift_case(_CAYLEY, name, "growth ≤ k^(1/4)", does_not_grow, REMADE) for name in NAMES),
            *(
                computed_case(name, f"{_CAYLEY}, n = 2, {name}", "WᵀW = I exactly", lambda _: Fraction(0), SMALL, 2)
                for name in NAMES
            ),
        ),
    ),
    Claim(
        id="sco-5.5.1-A",
        source=Source("scornn", "Secs. 3.2, 5.5.1"),
        statement="made anew from A by the Cayley transform, the computed W has WᵀW = I to the order of the machine "
        "precision, |a_ij| ≤ 1: a score of at most 5 √n eps/sin(π/2n)",
        semantics="float",
        dominated_by="thm-O-float",
        cases=(
            *(
                computed_case(name, f"any A, {name}", _ORDER, _of_the_order(name), large_entries(POWERS))
                for name in NAMES
            ),
            *(bounded_case(name) for name in NAMES),
        ),
    ),
    Claim(
        id="sco-5.5.1-growth",
        source=Source("scornn", "Sec. 5.5.1, Fig. 4"),
        statement="measured by this library, without a proof: matrices made anew from free numbers do not accumulate "
        "rounding errors (score less than k^(1/4)), multiplicative updates do, between k^(1/4) and k^1.1 in the fit",
        semantics="float",
        cases=(
            *(drift_case("multiplicative", name, "growth ≥ k^(1/4)", accumulates) for name in NAMES),
            *(drift_case("multiplicative", name, "growth ≤ k^1.1", at_most_linear) for name in NAMES),
            *(
                drift_case(method, "float32", "growth ≤ k^(1/4)", does_not_grow, SLOWER)
                for method in ("restricted", "torch cayley", "torch householder")
            ),
        ),
    ),
    Claim(
        id="thm-O-float",
        source=Source("library", "docs/derivations/orthogonality_in_floats.md, (a)"),
        statement="for every A = −Aᵀ, D = diag(±1) and every W, so for the computed Ŵ: score = ‖ŴᵀŴ − I‖_F ≤ 2r + r², "
        "r = ‖(I − A)D − (I + A)Ŵ‖_F",
        semantics="float",
        origin="library",
        cases=tuple(residual_case(name) for name in NAMES),
    ),
)
