"""Networks with antisymmetric weights at constant slopes, below a threshold of the step: mode by mode, and whole."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from flint import Ordering, fmpq, fmpq_mpoly_ctx, fmpq_poly

from odernn.bounds.arnn import THRESHOLDS, Scheme, resonant_word, step_matrix
from odernn.exact.linear_algebra import diagonalise
from verification.cases import frozen_slopes as frozen
from verification.cases.decision import at, decided, premise
from verification.cases.related import short
from verification.certify import power_bounded, sturm
from verification.claim import Case, Decided, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import number
from verification.kinds import SKEW, SYMMETRIC, Constant, Listed, Matrix, Rational
from verification.parameters import Declaration, Parameter, Rule, declared, rationals

NAMES: dict[Scheme, str] = {
    "symplectic_euler": "symplectic Euler",
    "leapfrog": "leapfrog",
    "forward_euler": "forward Euler",
    "explicit_midpoint": "explicit midpoint",
    "implicit_midpoint": "implicit midpoint",
}
BITS = 256
MOST_LETTERS = 80
"""Of a number whose powers are formed."""
LARGEST = 3
"""Neurons of a random network."""


# --- modes: one eigenvalue, constant slopes; the whole range of a at once


def modes_case(scheme: Scheme, threshold: Fraction) -> Case:
    """|trace| < 2 and determinant 1 for 0 < a < threshold: two different eigenvalues on the unit circle."""

    def first(_: Parameters) -> Decided:
        (a, b), (c, d) = step_matrix(scheme, fmpq_poly([0, 1]))
        inside, determinant = (a + d) ** 2 - 4, a * d - b * c
        end = fmpq(*threshold.as_integer_ratio())
        factors = [f for f, _ in inside.factor()[1]]
        if any(f.degree() != 1 for f in factors):
            raise ArithmeticError(f"{inside} has roots that are not rational: no threshold is decided by its factors")
        stays = not any(0 < -f.coeffs()[0] / f.coeffs()[1] < end for f in factors) and inside(end / 2) < 0
        return Decided(not (determinant == 1 and stays), f"determinant {determinant}, trace² − 4 = {inside}")

    def second(_: Parameters) -> Decided:
        trace, determinant = frozen.TRACES[scheme], frozen.DETERMINANTS[scheme]
        inside = sturm.minus(sturm.times(trace, trace), [Fraction(4)])
        between = sturm.roots_between(inside, Fraction(0), threshold)
        negative = sturm.value(inside, threshold / 3) < 0
        holds = determinant == [1] and between == 0 and negative
        return Decided(not holds, f"{between} roots of trace² − 4 in (0, {threshold}), by Sturm's theorem")

    return decided(
        NAMES[scheme],
        f"powers bounded for η L_s max|λ| < {threshold}, constant slopes in (0, L_s]",
        at({"modes": "all", "threshold": str(threshold)}),
        first,
        second,
        box=f"every mode and every 0 < a < {threshold}, a² = η²λ² times the product of the two slopes; all "
        "anti-Hermitian weights and constant slopes reduce to it (docs/derivations/arnn.md)",
        claimed="bounded powers",
        parameters=declared(Parameter("modes", Constant("all")), Parameter("threshold", Constant(threshold))),
    )


def mode_case(scheme: Scheme, quantity: str, values: Sequence[str], most: Fraction, *, closed: bool) -> Case:
    """Bounded powers at single a, under the premise a < most or a ≤ most."""

    def matrix(parameters: Parameters) -> list[list[Fraction]]:
        return [list(map(Fraction, row)) for row in step_matrix(scheme, number(parameters, "a"))]

    inside = Rational(above=0, most=most) if closed else Rational(above=0, below=most)
    return decided(
        NAMES[scheme],
        quantity,
        at(*({"a": a} for a in values)),
        lambda p: power_bounded.powers(matrix(p)),
        lambda p: power_bounded.grows(frozen.mode(scheme, number(p, "a"))),
        partial=True,
        box=f"modes with a = η L_s |λ| in {', '.join(values)}",
        claimed="bounded powers",
        parameters=declared(Parameter("a", inside), rules=(short(MOST_LETTERS, "a"),)),
        is_box=False,
    )


def every_step_case(scheme: Scheme) -> Case:
    """Bounded powers for some η > 0: the modulus² of the multiplier is a polynomial that exceeds 1 for every a > 0."""

    def first(parameters: Parameters) -> Decided:
        (a, b), (c, d) = step_matrix(scheme, fmpq_poly([0, 1]))
        rotation = a == d and b + c == 0
        beyond = a * a + c * c - 1
        everywhere = rotation and beyond.degree() > 0 and all(coefficient >= 0 for coefficient in beyond.coeffs())
        here = beyond(fmpq(*number(parameters, "a").as_integer_ratio())) > 0
        return Decided(everywhere and here, f"|multiplier|² − 1 = {beyond}, positive for every a > 0")

    def second(parameters: Parameters) -> Decided:
        beyond, a = sturm.minus(frozen.MODULI[scheme], [Fraction(1)]), number(parameters, "a")
        none = sturm.roots_between(beyond, Fraction(0), Fraction(10**9)) == 0
        return Decided(
            none and sturm.value(beyond, a) > 0, "positive there, and no root of |multiplier|² − 1 in (0, 10⁹)"
        )

    return decided(
        NAMES[scheme],
        "powers bounded for some η > 0",
        at({"a": "1/1000"}),
        first,
        second,
        box="every mode and every a > 0",
        is_box=False,
        claimed="bounded powers",
        parameters=declared(*rationals("a", above=0)),
    )


# --- slopes that change with time: for every a a word that grows


def drive_case(scheme: Scheme, level: int = 0) -> Case:
    """thm-ARNN-drive: a word of slopes 0 and s whose trace is beyond 2 in modulus, for every a > 0 and the least m with
    m a² > 4 (symplectic Euler) or m a > 1 (leapfrog). Another ``level`` in place of 4 or 1 is a planted falsehood.
    """
    exponent, right = (2, 4) if scheme == "symplectic_euler" else (1, 1)
    claimed = level or right

    def first(_: Parameters) -> Decided:
        """The powers by induction on m, as polynomials in a and m; then |trace| − 2 is a multiple of m a^k − right."""
        a, m = fmpq_mpoly_ctx.get(["a", "m"], Ordering.lex).gens()
        move: list[list[Any]]
        last: list[list[Any]]
        power: list[list[Any]]
        following: list[list[Any]]
        if scheme == "symplectic_euler":  # E^m K, E = [[1, 0], [a, 1]]
            move, last, share = [[1, 0], [a, 1]], [[1, -a], [0, 1]], -1
            power, following = [[1, 0], [m * a, 1]], [[1, 0], [(m + 1) * a, 1]]
            starts = True
        else:  # (M(s) M(0))^(m − 1) M(s), up to the sign
            move, last, share = [[1, 2 * a], [0, 1]], [[2 * a, -1], [1, 0]], 2
            power, following = [[1, 2 * a * (m - 1)], [0, 1]], [[1, 2 * a * m], [0, 1]]
            starts = _times(last, [[0, -1], [1, 0]]) == [[-x for x in row] for row in move]
        (p, q), (r, t) = _times(power, last)
        beyond = (-p - t if share < 0 else p + t) - 2
        holds = starts and _times(power, move) == following and p * t - q * r == 1
        holds = holds and beyond == abs(share) * (m * a**exponent - right) and claimed >= right
        return Decided(not holds, f"determinant 1, |trace| − 2 = {beyond}, positive where m a^{exponent} > {right}")

    def second(_: Parameters) -> Decided:
        rng = random.Random(11)
        for _trial in range(120):
            a = Fraction(rng.randint(1, 40), rng.randint(5, 20))
            m = int(claimed / a**exponent) + 1
            letters = [(1, 1), *[(0, 1)] * (m - 1)] if scheme == "symplectic_euler" else [(1,), *[(0,), (1,)] * (m - 1)]
            shipped = claimed != right or tuple(letters) == resonant_word(scheme, a)
            trace = _stepped_trace(a, letters)
            if abs(trace) <= 2 or not shipped:
                return Decided(True, f"a = {a}, m = {m}: trace {trace}")
        return Decided(False, "120 rational a, each word stepped in fractions")

    return decided(
        NAMES[scheme],
        "for every a > 0 slopes in {0, s} with an eigenvalue outside the unit circle",
        at({"a": "all", "level": str(claimed)}),
        first,
        second,
        box="every a > 0, m as a symbol",
        claimed=f"|trace| > 2 for the least m with m a^{exponent} > {claimed}",
        parameters=declared(Parameter("a", Constant("all")), Parameter("level", Constant(claimed))),
        names=("polynomials", "words in fractions"),
    )


def _stepped_trace(a: Fraction, letters: Sequence[tuple[int, ...]]) -> Fraction:
    """By stepping (p, q), or (c_l, c_{l−1}), from both unit vectors; a letter is the slopes of a step."""
    trace = Fraction(0)
    for place in (0, 1):
        one, other = Fraction(place == 0), Fraction(place == 1)
        for letter in letters:
            if len(letter) == 2:
                one -= a * letter[0] * other
                other += a * letter[1] * one
            else:
                one, other = 2 * a * letter[0] * one - other, one
        trace += (one, other)[place]
    return trace


def _times(one: list[list[Any]], other: list[list[Any]]) -> list[list[Any]]:
    return [[row[0] * other[0][c] + row[1] * other[1][c] for c in (0, 1)] for row in one]


# --- whole networks at constant slopes: random rational weights


def networks_case(scheme: Scheme) -> Case:
    """Random rational W, η and slopes below the threshold, decided exactly. A sample of what modes prove."""

    def places(budget: Budget, seed: int) -> Iterator[Parameters]:
        rng = random.Random(seed)
        for number_of_neurons in (*range(1, LARGEST + 1),) * {"smoke": 4, "standard": 20, "deep": 100}[budget.name]:
            yield frozen.random_network(scheme, number_of_neurons, rng)

    def premises(parameters: Parameters) -> tuple[Premise, ...]:
        level = Fraction(THRESHOLDS[scheme]) ** 2
        form = frozen.threshold_form(scheme, parameters, level)
        pivot = min(diagonalise(tuple(tuple(fmpq(*x.as_integer_ratio()) for x in row) for row in form)).pivots)
        return (premise(f"smallest pivot of {level} I − η² WᵀW", pivot),)

    return decided(
        NAMES[scheme],
        "powers bounded, random weights and slopes below the threshold",
        places,
        lambda p: power_bounded.powers(frozen.network(scheme, p)),
        lambda p: power_bounded.grows(frozen.network_again(scheme, p), most=40),
        partial=True,
        box="random rational weights of 1 to 3 neurons with constant slopes",
        claimed="bounded powers",
        parameters=_networks(scheme),
        premises=premises,
        is_box=False,
    )


def _networks(scheme: Scheme) -> Declaration:
    """The slopes first: they say how many neurons there are."""
    halves = 2 if scheme == "symplectic_euler" else 1
    return declared(
        Parameter("slopes", Listed(Rational(above=0, most=1), (halves, halves * LARGEST))),
        Parameter(
            "weight",
            Matrix(
                lambda v: len(v["slopes"]) // halves,
                lambda v: len(v["slopes"]) // halves,
                structure=SYMMETRIC if scheme == "symplectic_euler" else SKEW,
            ),
        ),
        Parameter("eta", Rational(above=0)),
        rules=(
            Rule("each half of a step has a slope for every neuron", lambda v: len(v["slopes"]) % halves == 0),
            short(8 * MOST_LETTERS, "slopes", "weight", "eta"),
        ),
    )
