# Claims: sco-4.1a
"""sco-4.1a: the three forms of modReLU are one function; and, beside that, what it does at z = 0."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import flint
from flint import arb, fmpq, fmpq_mpoly_ctx

from odernn.bounds.numbers import BALLS
from odernn.published.sources import Source
from verification.cases.cayley_statements import Found, Statement, listed
from verification.cases.inequality import Inequality, Piece, attempt
from verification.cases.scornn_parameters import phases
from verification.certify.second.intervals import iv
from verification.claim import Attempt, Case, Check, Claim, Hypothesis, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number
from verification.exact_text import rationals as written
from verification.kinds import SIGN, Rational
from verification.measure import cayley_symbols as symbolic
from verification.parameters import Parameter, declared, rationals


def _exact(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


# --- z ≠ 0: one function in three forms

PLACES = tuple((Fraction(r), Fraction(b)) for r in (1, Fraction(1, 2), 3) for b in (0, 1, -1, -2, Fraction(1, 3)))
"""|z| and b, |z| + b of either sign and 0."""
DIRECTIONS = {
    False: ((1, 0), (-1, 0)),
    True: ((0, 1), (0, -1), (Fraction(3, 5), Fraction(-4, 5)), (Fraction(-5, 13), Fraction(12, 13))),
}
"""z/|z| of a real and of a complex z."""


def forms_case(is_complex: bool, turned: int = 1) -> Case:
    """(z/|z|) ReLU(|z| + b) = (z/|z|)(|z| + b) or 0, and for real z = sign(z) ReLU(|z| + b).

    ``turned`` = −1 has |z| − b in the branches, a planted falsehood.
    """

    def decide() -> str:
        x, y, r, b = symbolic.symbols("x", "y", "r", "b")
        facts = [
            (
                "where r = |z| has r + b ≥ 0, ReLU(r + b) = r + b, and both forms times r are z(r + b), as polynomials "
                "in z, r and b; where r + b < 0 both are 0",
                all(z * (r + b) == z * (r + turned * b) for z in (x, y)),
            )
        ]
        if not is_complex:
            signed = all(s * (r + b) * r == (s * r) * (r + b) for s in (1, -1))
            facts.append(("z = ±r: sign(z) r = z, so the third form times r is the same", signed))
        return listed(*facts)

    def points(_: Budget, __: int) -> Iterator[Parameters]:
        for r, b in PLACES:
            for x, y in DIRECTIONS[is_complex]:
                yield {"r": str(r), "b": str(b), **_direction(Fraction(x), Fraction(y), is_complex)}

    def first(p: Parameters) -> Found:
        """Components of every form, in FLINT: ReLU(t) = (t + |t|)/2."""
        r, b = _exact(number(p, "r")), _exact(number(p, "b"))
        e = [_exact(number(p, name)) for name in (("e_re", "e_im") if is_complex else ("e",))]
        active = (r + b + abs(r + b)) / 2
        printed = [x * active for x in e]
        branches = [x * (r + turned * b) if r + turned * b >= 0 else fmpq(0) for x in e]
        forms = [printed, branches] + ([] if is_complex else [[fmpq(1 if e[0] > 0 else -1) * active]])
        return any(form != printed for form in forms), " and ".join(str(form) for form in forms)

    def second(p: Parameters) -> Found:
        """In fractions, from z: |z| is the root of a square."""
        names = ("e_re", "e_im") if is_complex else ("e",)
        z = [Fraction(p["r"]) * Fraction(p[name]) for name in names]
        square, b = sum(x * x for x in z), Fraction(p["b"])
        size = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
        relu = max(size + b, Fraction(0))
        values = [[x / size * relu for x in z]]
        values.append([Fraction(0)] * len(z) if size + turned * b < 0 else [x / size * (size + turned * b) for x in z])
        if not is_complex:
            values.append([-relu if z[0] < 0 else relu])
        return any(value != values[0] for value in values[1:]), " and ".join(map(written, values))

    direction = phases("e", lambda _: 1) if is_complex else (Parameter("e", SIGN),)
    names = "two branches" if is_complex else "two branches = sign(z) ReLU(|z| + b)"
    statement = Statement(
        "the forms of modReLU",
        decide,
        points,
        first,
        second,
        "equal",
        "equal",
        parameters=declared(Parameter("r", Rational(above=0)), *direction, Parameter("b", Rational())),
    )
    domain = f"{'complex' if is_complex else 'real'} z ≠ 0, any b"
    return statement.case(domain, f"(z/|z|) ReLU(|z| + b) = {names}")


def _direction(x: Fraction, y: Fraction, is_complex: bool) -> dict[str, str]:
    return {"e_re": str(x), "e_im": str(y)} if is_complex else {"e": str(x)}


# --- z = 0


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
        statement="modReLU(z) = (z/|z|) ReLU(|z| + b), b trained, is (z/|z|)(|z| + b) where |z| + b ≥ 0 and 0 where it "
        "is not; for real z it is sign(z) ReLU(|z| + b)",
        semantics="real",
        cases=(
            forms_case(is_complex=False),
            forms_case(is_complex=True),
            non_expansive_case(),
            jump_case("continuous at z = 0 with modReLU(0; b) = 0", both_sides=False),
            jump_case("some value at z = 0 makes it continuous", both_sides=True),
            printed_formula_case(),
        ),
    ),
)
