# Claims: sco-4.1a
"""sco-4.1a: is modReLU defined and continuous at 0, for either sign of its bias?"""

from __future__ import annotations

from fractions import Fraction

import flint
from flint import arb, fmpq, fmpq_mpoly_ctx

from odernn.bounds.numbers import BALLS
from odernn.published.sources import Source
from verification.cases.inequality import Inequality, Piece, attempt
from verification.certify.second.intervals import iv
from verification.claim import Attempt, Case, Check, Claim, Hypothesis, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number
from verification.kinds import Rational
from verification.parameters import Parameter, declared, rationals


def _exact(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def non_expansive_case(factor: Fraction = Fraction(1)) -> Case:
    """b ≤ 0: |modReLU(z; b)| ≤ factor |z|, so it is continuous at 0, where it is 0; by symmetry for z ≥ 0."""
    ring = fmpq_mpoly_ctx.get(("z", "c"))
    z, c = ring.gens()  # c = −b
    scale = _exact(factor)
    box = ((Fraction(0), None), (Fraction(0), None))

    def lift(point: dict[str, Fraction]) -> dict[str, Fraction]:
        return {"z": point["z"], "b": -point["c"]}

    def ask(_: Budget, __: int) -> Attempt:
        pieces = (Piece(z - c, scale * z, box, lift), Piece(0 * z, scale * z, box, lift))
        return attempt(pieces, "z, −b ≥ 0", "modReLU(z; b) is z + b or 0 for z ≥ 0, and odd in z")

    inequality = Inequality(
        balls=lambda p: (BALLS.maximum(abs(p.z) + p.b, BALLS.exact(0)), abs(p.z) * BALLS.exact(factor)),
        intervals=lambda p: (
            iv.mpf([max((abs(p.z) + p.b).a, 0), max((abs(p.z) + p.b).b, 0)]),
            factor.numerator * abs(p.z) / factor.denominator,
        ),
        hypotheses=(Hypothesis("b ≤ 0", lambda p: -p.b, strict=False),),
        parameters=declared(Parameter("z", Rational()), Parameter("b", Rational(most=0))),
    )
    return Case("b ≤ 0", "continuous at z = 0: |modReLU(z; b)| ≤ |z|", ask, inequality.check)


_JUMP: Parameters = {"b": "1", "reach": "1/1000"}
"""For every 0 < reach the same holds: a smaller interval beside 0 has no other limits."""


def jump_case(quantity: str, both_sides: bool) -> Case:
    """b > 0: on all of (0, reach] the value is above b/2, on [−reach, 0) below −b/2; at 0 it is 0.

    ``both_sides``: no value at 0 at all is the limit from both sides, else: 0 is not the limit from the right.
    """

    def ask(_: Budget, __: int) -> Attempt:
        shown = "b from the right" + (", −b from the left" if both_sides else "") + " as z → 0"
        return Attempt(
            "the limits at 0 for b > 0", 1, found=shown, claimed="one limit" if both_sides else "0", candidates=(_JUMP,)
        )

    def check(parameters: Parameters) -> Check:
        return _jump_check(parameters, both_sides)

    return Case("b > 0", quantity, ask, declared(*rationals("b", "reach", above=0)).guards(check))


def _jump_check(parameters: Parameters, both_sides: bool) -> Check:
    b, reach = number(parameters, "b"), number(parameters, "reach")
    with flint.ctx.workprec(128):
        size = arb(0).union(arb(_exact(reach))) + arb(_exact(b))
        least = size.lower()
        half = arb(_exact(b)) / 2
        first = Opinion("balls", bool(least > half), f"modReLU ≥ {least.str(6)} for 0 < z ≤ {reach}")
    end = iv.mpf(reach.numerator) / reach.denominator
    right = iv.mpf([0, end.b]) + iv.mpf(b.numerator) / b.denominator
    left = -right
    half_again = iv.mpf(b.numerator) / (2 * b.denominator)
    apart = bool((right - left).a > 2 * half_again.b) if both_sides else bool(right.a > half_again.b)
    second = Opinion("mpmath", apart, f"in [{right.a}, {right.b}] on the right, its negative on the left")
    beside = "below −b/2 on the left" if both_sides else "0 at 0"
    return Check(
        opinions=(first, second),
        words=f"b = {b}: modReLU(z; b) > b/2 for every 0 < z ≤ {reach}, and {beside}",
    )


def printed_formula_case() -> Case:
    """(z/|z|) ReLU(|z| + b) at z = 0."""

    def ask(_: Budget, __: int) -> Attempt:
        return Attempt("z = 0", 1, found="0/0", claimed="a value for every z", candidates=({"z": "0", "b": "0"},))

    def check(parameters: Parameters) -> Check:
        z, b = number(parameters, "z"), number(parameters, "b")
        try:
            exact = f"{z / abs(z) * max(abs(z) + b, Fraction(0))}"
            undefined = False
        except ZeroDivisionError:
            exact, undefined = "division by 0", True
        ball = arb(_exact(z))
        quotient = ball / abs(ball)
        return Check(
            opinions=(
                Opinion("fractions", undefined, exact),
                Opinion("balls", not quotient.is_finite(), f"z/|z| = {quotient.str(5)}"),
            ),
            words=f"z = {z}: z/|z| is {exact}, so that the formula needs a convention there (here sign(0) = 0)",
        )

    parameters = declared(*rationals("z", "b"))
    return Case("any b", "(z/|z|) ReLU(|z| + b) has a value at z = 0", ask, parameters.guards(check))


CLAIMS = (
    Claim(
        id="sco-4.1a",
        source=Source("scornn", "Sec. 4.1"),
        statement="modReLU(z) = (z/|z|) ReLU(|z| + b), in the real case sign(z) ReLU(|z| + b), b trained: defined and "
        "continuous at z = 0 for either sign of b",
        semantics="real",
        cases=(
            non_expansive_case(),
            jump_case("continuous at z = 0 with modReLU(0; b) = 0", both_sides=False),
            jump_case("some value at z = 0 makes it continuous", both_sides=True),
            printed_formula_case(),
        ),
    ),
)
