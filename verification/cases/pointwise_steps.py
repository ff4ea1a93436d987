"""Theorem 1 of the ODERNN paper on networks as its Definition 1 has them: the activation is pointwise and nonlinear.

One implicit stage, f(y) = ReLU(κ y + b), matrices A and B: does a step push two states apart although M ≥ 0 and B ≥ 0?
κ = −1 has (u − v)ᵀ(f(u) − f(v)) ≤ 0 for all u, v, the sign of the cited theorem; κ = 1 has ≥ 0, as Definition 2 prints.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from verification.cases.related import short
from verification.certify.pointwise_step import typed
from verification.certify.second import pointwise_step as again
from verification.claim import Attempt, Case, Check, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.kinds import Integer, Listed, Matrix, Rational
from verification.parameters import Parameter, declared

LARGEST = 3
"""Components: a stage has 2^D linear regions."""
MOST_LETTERS = 600
WIDTHS = {"smoke": 2, "standard": 3, "deep": 5}
"""The largest entry of B and of the states in the search."""


def pointwise_case(domain: str, slope: int, *, off: int = 1) -> Case:
    """‖Δy₊‖₂ ≤ ‖Δy‖₂ of one stage with f(y) = ReLU(slope·y + b). The search has A = B/2, so M = 0, and B with ``off``
    beside its diagonal: with 0 and slope −1 the statement is true (thm-1*, (ii)).
    """

    def ask(budget: Budget, _: int) -> Attempt:
        named = list(_family(slope, WIDTHS[budget.name], off))
        grown = [(ratio, place) for place in named if (ratio := _growth(place, slope)) > 1]
        text = f"{len(grown)} of {len(named)} pairs of states are pushed apart, in small rational numbers, exactly"
        # the simplest first: where many grow, the largest entries say no more than the smallest
        simplest = sorted(grown, key=lambda each: (len(each[1]["b"]), sum(map(len, each[1].values()))))
        worst = max((ratio for ratio, _ in grown), default=Fraction(0))
        return Attempt(
            text,
            len(named),
            log_measured=math.log(worst) / 2 if worst else None,
            log_claimed=0.0 if worst else None,
            found=text,
            claimed="none",
            candidates=tuple(place for _, place in simplest[:3]),
        )

    def check(parameters: Parameters) -> Check:
        step = typed(parameters, slope)
        squares, others = step.squares(), again.distances(parameters, slope)
        solved = squares is not None and others is not None
        premises = (
            Premise("M ≥ 0", "–", step.tensor_is_nonnegative() and again.has_nonnegative_tensor(parameters)),
            Premise("B = Bᵀ ≥ 0", "–", step.weights_are_nonnegative() and again.has_nonnegative_weights(parameters)),
            Premise("one solution of the stage equation at both states", "–", solved),
        )
        before, after = (str(x) for x in squares) if squares else ("–", "–")
        shown = f"‖Δy‖² from {before} to {after}"
        text = "none" if others is None else f"‖Δy‖² from {others[0]} to {others[1]}"
        sign = "≤" if slope < 0 else "≥"
        return Check(
            opinions=(
                Opinion("flint", squares is not None and bool(squares[1] > squares[0]), shown),
                Opinion("fractions", others is not None and others[1] > others[0], text),
            ),
            premises=premises,
            words=f"f(y) = ReLU({'−' if slope < 0 else ''}y + b), (u−v)ᵀ(f(u)−f(v)) {sign} 0 for all u, v; "
            f"A = ({parameters['A']}), B = ({parameters['B']}), b = ({parameters['b']}), η = {parameters['eta']}: the "
            f"states ({parameters['u']}) and ({parameters['v']}) move from ‖Δy‖² = {before} to {after}",
        )

    parameters = declared(
        Parameter("D", Integer(1, LARGEST)),
        Parameter("eta", Rational(above=0)),
        Parameter("A", Matrix("D", "D")),
        Parameter("B", Matrix("D", "D")),
        *(Parameter(name, Listed(Rational(), "D")) for name in ("b", "u", "v")),
        rules=(short(MOST_LETTERS, "eta", "A", "B", "b", "u", "v"),),
    )
    return Case(domain, "‖Δy₊‖₂ ≤ ‖Δy‖₂", ask, parameters.guards(check))


def _family(slope: int, width: int, off: int) -> Iterator[Parameters]:
    """D = 1, B = (1); then D = 2, B = [[p, off], [off, 1]], b of two signs; u = 0, v on a small grid, η = 1."""
    for x in range(-width, width + 1):
        if x:
            yield _written([[1]], [0], [x])
    grid = [v for v in itertools.product(range(-width, width + 1), repeat=2) if any(v)]
    for p, drive in itertools.product(range(2, width + 1), (2, 10)):
        for v in grid:
            yield _written([[p, off], [off, 1]], [drive, slope * drive], v)


def _written(B: list[list[int]], b: list[int], v: Sequence[int]) -> Parameters:
    """η = 1, A = B/2, from u = 0."""
    flat = [x for row in B for x in row]
    halves = [Fraction(x, 2) for x in flat]
    numbers: dict[str, Sequence[Fraction | int]] = {"A": halves, "B": flat, "b": b, "u": [0] * len(b), "v": v}
    return {"D": str(len(B)), "eta": "1"} | {name: " ".join(map(str, values)) for name, values in numbers.items()}


def _growth(place: Parameters, slope: int) -> Fraction:
    """‖Δy₊‖²/‖Δy‖², 0 where a stage has not one solution."""
    squares = again.distances(place, slope)
    return squares[1] / squares[0] if squares else Fraction(0)
