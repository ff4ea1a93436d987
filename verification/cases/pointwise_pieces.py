"""Theorem 1 of the ODERNN paper with two pointwise nonlinear stages, in every norm: the linear piece around one state.

f_i(y) = ReLU(κ y + b_i), κ = −1 with (u − v)ᵀ(f_i(u) − f_i(v)) ≤ 0, the sign of the cited theorem, κ = 1 with ≥ 0.
Where the stage equations have one solution and no component sits at its kink, the step is affine around the state, with
the R of the linear fields N_i = κ diag(active). If an eigenvalue of R is outside the unit circle, the powers of R are
unbounded, and no norm at all is contracted: whichever (11) has, some pair of states is pushed apart.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction

from verification.cases.related import short
from verification.certify import typed_step_exact as first
from verification.certify.pointwise_step import linear_piece
from verification.certify.second import pointwise_step as again
from verification.certify.second import typed_step as second
from verification.certify.typed_step import ContractionReading, parsed
from verification.claim import GIVEN, Attempt, Case, Check, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import rationals
from verification.kinds import Constant, Integer, Listed, Matrix, Rational, in_blocks
from verification.parameters import Parameter, declared

STAGES = 2
LARGEST = 2
"""Components: the powers of an R with more rows are not decided."""
MOST_LETTERS = 600
WIDTHS = {"smoke": 2, "standard": 3, "deep": 5}
STEP_SIZES = (Fraction(1, 4), Fraction(1), Fraction(2), Fraction(4))


def piece_case(domain: str, slope: int, *, off: int = 1) -> Case:
    """Some norm is contracted by two stages with f_i(y) = ReLU(slope·y + b_i), A_11 = B_1/2, A_12 = 0, A_21 = B_1,
    A_22 = B_2/2 in the search, so that M = 0, and B_2 = B_1⁻¹, so that it is 0 without transposes, too. ``off`` stands
    beside the diagonal of B_1: with 0 and slope −1 the statement is true (thm-1*, (ii)).
    """
    reading = ContractionReading(sign=slope, norm="every")
    plain = ContractionReading(sign=slope, norm="every", tensor="printed")

    def ask(budget: Budget, _: int) -> Attempt:
        named = list(_family(slope, WIDTHS[budget.name], off))
        grown = [(size, place) for place in named if (size := _growth(place, slope, reading)) > 1]
        text = f"{len(grown)} of {len(named)} steps have a linear piece whose powers grow, exactly"
        worst = max((size for size, _ in grown), default=0.0)
        grown.sort(key=lambda each: (-round(each[0], 6), sum(map(len, each[1].values()))))
        return Attempt(
            text,
            len(named),
            log_measured=math.log(worst) if worst else None,
            log_claimed=0.0 if worst else None,
            found=text,
            claimed="none",
            candidates=tuple(place for _, place in grown[:3]),
        )

    def check(parameters: Parameters) -> Check:
        pieces = linear_piece(parameters, slope), again.piece(parameters, slope)
        one, other = (_with_fields(parameters, slope, piece or (0,) * _components(parameters)) for piece in pieces)
        step = parsed(one)
        found = [first.facts(step, reading), first.facts(step, plain)[:1]]
        told = [second.facts(other, **asdict(reading)), second.facts(other, **asdict(plain))[:1]]
        texts = ("M ≥ 0", "B_i = B_iᵀ ≥ 0", _sign(slope), "a regular linear piece", "M ≥ 0 without transposes")
        premises = tuple(
            Premise(text, fact.margin, fact.holds and held)
            for text, fact, (held, _) in zip(texts, itertools.chain(*found), itertools.chain(*told), strict=True)
        )
        same = pieces[0] is not None and pieces[0] == pieces[1]
        stage = Premise("one solution of the stage equations at y, no component at its kink", "–", same)
        decided, words = first.violation(step, reading)
        opinions = (
            Opinion("flint", pieces[0] is not None and decided, words),
            Opinion("fractions", *second.violation(other, norm="every")),
        )
        if pieces[1] is None:
            opinions = opinions[0], Opinion("fractions", False, "no linear piece")
        fields = f"f_i(y) = ReLU({'−' if slope < 0 else ''}y + b_i)"
        active = " ".join(map(str, pieces[0] or ("–",)))
        return Check(
            opinions=opinions,
            premises=(stage, *premises),
            words=f"{fields}; {GIVEN}: around y the active components are ({active}), and Δy₊ = R Δy with {words}",
        )

    parameters = declared(
        Parameter("D", Integer(1, LARGEST)),
        Parameter("S", Constant(STAGES)),
        Parameter("eta", Rational(above=0)),
        Parameter("A", Matrix(lambda v: v["S"] ** 2, lambda v: v["D"] ** 2), layout=in_blocks("D")),
        Parameter("B", Matrix("S", lambda v: v["D"] ** 2), layout=in_blocks("D")),
        Parameter("b", Matrix("S", "D")),
        Parameter("y", Listed(Rational(), "D")),
        rules=(short(MOST_LETTERS, "eta", "A", "B", "b", "y"),),
    )
    return Case(domain, "some norm", ask, parameters.guards(check))


def _sign(slope: int) -> str:
    return f"(u−v)ᵀ(f_i(u)−f_i(v)) {'≤' if slope < 0 else '≥'} 0"


def _components(parameters: Parameters) -> int:
    return len(parameters["b"].split())


def _with_fields(parameters: Parameters, slope: int, active: tuple[int, ...]) -> Parameters:
    """The linear step with N_i = slope · diag(active)."""
    D = int(parameters["D"])
    entries = [slope * on if k % D == c else 0 for k, on in enumerate(active) for c in range(D)]
    return {**parameters, "N": " ".join(map(str, entries))}


def _growth(place: Parameters, slope: int, reading: ContractionReading) -> float:
    """The spectral radius of the piece at the state, if the powers grow; else 0."""
    piece = linear_piece(place, slope)
    if piece is None:
        return 0.0
    step = parsed(_with_fields(place, slope, piece))
    return (first.growth(step, reading) or 0.0) if first.violation(step, reading)[0] else 0.0


def _family(slope: int, width: int, off: int) -> Iterator[Parameters]:
    """B_1 = [[1, off], [off, p]] and its inverse, y = 0, b_i such that a set of components is active, by 1."""
    for p, eta in itertools.product(range(2, width + 1), STEP_SIZES):
        det = Fraction(p - off * off)
        one = [Fraction(x) for x in (1, off, off, p)]
        two = [x / det for x in (p, -off, -off, 1)]
        blocks = [[x / 2 for x in one], [Fraction(0)] * 4, one, [x / 2 for x in two]]
        for active in itertools.product((0, 1), repeat=4):
            pushes = [eta * _pushed(blocks, k, active) for k in range(4)]
            biases = [(1 if on else -1) - slope * push for on, push in zip(active, pushes, strict=True)]
            yield {
                "D": "2",
                "S": str(STAGES),
                "eta": str(eta),
                "A": rationals([x for block in blocks for x in block]),
                "B": rationals([*one, *two]),
                "b": rationals(biases),
                "y": "0 0",
            }


def _pushed(blocks: list[list[Fraction]], place: int, active: tuple[int, ...]) -> Fraction:
    """Component ``place`` of Σ_j A_ij k_j, k = 1 where active."""
    i, r = divmod(place, 2)
    return sum((blocks[2 * i + j // 2][2 * r + j % 2] * on for j, on in enumerate(active)), Fraction(0))
