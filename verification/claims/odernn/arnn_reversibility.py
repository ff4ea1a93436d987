# Claims: ode-T3 · ode-T3-fp · ode-T3-order · ode-T3-mid · thm-rev
"""Niu, Chuang, Horesh 2019, Theorem 3: reversible in which sense, in floats too, and of which order."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import factorial
from typing import Any

import numpy as np
from flint import fmpq, fmpq_poly

from odernn.properties.order import order
from odernn.properties.stability_function import stability_function
from odernn.published.sources import Source
from odernn.tableaus import get
from verification.cases.affine_reversal import affine_case
from verification.cases.decision import at, decided
from verification.cases.related import FormatNumber, Related
from verification.certify import float_replay, sturm
from verification.certify.float_replay import FORMATS, rounded
from verification.certify.second import arnn as arnn_again
from verification.claim import GIVEN, Attempt, Case, Check, Claim, Decided, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number, numbers
from verification.kinds import SKEW as SKEW_MATRIX
from verification.kinds import SYMMETRIC as SYMMETRIC_MATRIX
from verification.kinds import Constant, Count, Listed, Matrix, Rational, Structure
from verification.measure import reversals, scaling
from verification.measure.reversals import ReversalSetting
from verification.parameters import Declaration, Parameter, declared

SIZES = (1, 2)
TYPED: dict[str, Count] = {"symplectic_euler": 1, "leapfrog": 2, "implicit_midpoint": (1, 8)}
"""Components of each block of a state that somebody types: what the second back-end was typed for."""


# --- identities between a step and its reverse


@dataclass(frozen=True)
class Reversal:
    """One statement of ``reversals`` about one scheme; tried as polynomials with σ unknown, then at rational points."""

    scheme: str
    kind: str
    setting: ReversalSetting

    def case(self, domain: str, quantity: str) -> Case:
        return Case(domain, quantity, self.ask, self.declaration.guards(self.check))

    @property
    def declaration(self) -> Declaration:
        """x first: it says how long the others are. An odd σ goes with no bias, and tied halves have the same one."""
        as_x = Listed(Rational(), lambda v: len(v["x"]))
        return declared(
            Parameter("eta", Rational(above=0)),
            Parameter("x", Listed(Rational(), TYPED[self.scheme])),
            Parameter("y", as_x),
            Parameter("first", Listed(Constant(0), lambda v: len(v["x"])) if self.setting.odd else as_x),
            Parameter("second", Related(as_x, "it is first", lambda _, v: v["first"]) if self.setting.tied else as_x),
            Parameter("weight", Matrix(lambda v: len(v["x"]), lambda v: len(v["x"]), structure=self._structure)),
        )

    @property
    def _structure(self) -> Structure:
        return {"symmetric": SYMMETRIC_MATRIX, "antisymmetric": SKEW_MATRIX, "imaginary": IMAGINARY_MATRIX}[
            self.setting.weight
        ]

    def ask(self, _: Budget, seed: int) -> Attempt:
        words = "polynomials in all entries, the state and the values of σ, " + (
            "any odd function" if self.setting.odd else "any function"
        )
        box = f"{words}; n = {', '.join(map(str, SIZES))}"
        if all(entry == 0 for size in SIZES for entry in self._residual(size)):
            return Attempt(box, len(SIZES), found="0", claimed="0", proof=f"{box}: the difference is 0")
        points = list(self._points(random.Random(seed)))
        failing = tuple(p for p in points if self.check(p).opinions[0].violated)
        difference = "differs" if failing else "differs as a polynomial, at no point tried"
        return Attempt(box, len(points), found=difference, claimed="equal", candidates=failing[:3] or (points[0],))

    def _residual(self, size: int) -> list[Any]:
        data, sigma = self.setting.symbolic(size)
        return reversals.residual(self.scheme, self.kind, data, sigma)

    def _points(self, rng: random.Random) -> Any:
        """Small numbers: a state of all ones first, then whole numbers at random."""
        blocks = 1 if self.setting.weight == "symmetric" else 2
        for trial in range(40):

            def draw(count: int, trial: int = trial) -> list[Fraction]:
                return [Fraction(1 if trial == 0 else rng.randint(-3, 3)) for _ in range(count)]

            entries = [[Fraction(max(1, abs(rng.randint(-2, 2)))) for _ in range(blocks)] for _ in range(blocks)]
            weight = self.setting.weights(entries, Fraction(0))
            first = [Fraction(0)] * blocks if self.setting.odd else draw(blocks)
            second = first if self.setting.tied else [Fraction(0)] * blocks if self.setting.odd else draw(blocks)
            yield {
                "eta": "1/2",
                "weight": _text([x for row in weight for x in row]),
                "first": _text(first),
                "second": _text(second),
                "x": _text(draw(blocks)),
                "y": _text(draw(blocks)),
            }

    def check(self, parameters: Parameters) -> Check:
        sigma = reversals.softsign if self.setting.odd else reversals.relu
        data = self.setting.typed(parameters, reversals.to_fmpq)
        gaps = reversals.residual(self.scheme, self.kind, data, sigma)
        other = arnn_again.distance(self.scheme, self.kind, parameters, odd=self.setting.odd)
        largest = max(gaps, key=abs)
        name = "σ(x) = x/(1 + |x|)" if self.setting.odd else "ReLU"
        return Check(
            opinions=(
                Opinion("flint", bool(largest != 0), f"largest difference {largest}"),
                Opinion("fractions", other != 0, f"largest difference {other}"),
            ),
            words=f"{name}; {GIVEN}: differs by {largest}",
        )


def _text(values: list[Fraction]) -> str:
    return " ".join(map(str, values))


SYMMETRIC, TIED = ReversalSetting("symmetric"), ReversalSetting("symmetric", tied=True)
ODD = ReversalSetting("symmetric", tied=True, odd=True)
SKEW, IMAGINARY = ReversalSetting("antisymmetric"), ReversalSetting("imaginary")
ODD_IMAGINARY = ReversalSetting("imaginary", tied=True, odd=True)


def _lower_left(W: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """S of [[0, −S], [S, 0]], in the upper left corner, where ``weights`` looks for its entries."""
    half = len(W) // 2
    return [[*row[:half], *row[half:]] for row in (*W[half:], *W[:half])]


IMAGINARY_MATRIX = Structure(
    "[[0, −S], [S, 0]] with Sᵀ = S",
    lambda W: [list(row) for row in W] == IMAGINARY.weights(_lower_left(W), Fraction(0)),
    lambda W: IMAGINARY.weights(_lower_left(W), Fraction(0)),
)

EULER, LEAP = "1-2-ARNN, symplectic Euler", "2-2-ARNN, leapfrog"
REVERSALS = (
    Reversal("symplectic_euler", "invertible", SYMMETRIC).case(EULER, "an inverse for every η"),
    Reversal("symplectic_euler", "exchange", TIED).case(EULER, "ρ(p, q) = (q, p), both halves with the same bias"),
    Reversal("symplectic_euler", "exchange", SYMMETRIC).case(EULER, "ρ(p, q) = (q, p), each half with its own bias"),
    Reversal("symplectic_euler", "momentum", SYMMETRIC).case(EULER, "ρ(p, q) = (−p, q)"),
    Reversal("symplectic_euler", "momentum", ODD).case(EULER, "ρ(p, q) = (−p, q), σ odd, no bias"),
    Reversal("symplectic_euler", "symmetric", SYMMETRIC).case(EULER, "symmetric: the inverse is the step with −η"),
    Reversal("leapfrog", "invertible", SKEW).case(LEAP, "an inverse for every η"),
    Reversal("leapfrog", "symmetric", SKEW).case(LEAP, "symmetric: the inverse is the step with −η"),
    Reversal("leapfrog", "swap", SKEW).case(LEAP, "ρ(y_{l−1}, y_l) = (y_l, y_{l−1})"),
    Reversal("leapfrog", "conjugate", IMAGINARY).case(LEAP, "ρ swaps and conjugates, W = iS"),
    Reversal("leapfrog", "conjugate", ODD_IMAGINARY).case(LEAP, "ρ swaps and conjugates, W = iS, σ odd, no bias"),
    Reversal("implicit_midpoint", "symmetric", SKEW).case(
        "2-2-ARNN, implicit midpoint", "symmetric: the inverse is the step with −η"
    ),
)


# --- forth and back in float64

FORM = FORMATS["float64"]
STEP = Fraction(1, 8)
"""η, with S = 1 and W = [[0, −1], [1, 0]]: far inside the stable regime, and a product with it is exact."""
FAR = {"smoke": 200, "standard": 1000, "deep": 10000}


def float_case(scheme: str, domain: str) -> Case:
    """tanh, b = 0. Is every state returned by the explicit inverse, every operation rounded once?"""

    def ask(budget: Budget, seed: int) -> Attempt:
        rng = np.random.default_rng(seed)
        states = rng.uniform(-1, 1, (2000, 2 if scheme == "symplectic_euler" else 4))
        returned = arnn_again.returned(scheme, states, 1, float(STEP))
        missed = np.flatnonzero((returned != states).any(axis=1))
        far = arnn_again.returned(scheme, states[:50], FAR[budget.name], float(STEP))
        error = float(np.abs(far - states[:50]).max())
        # numpy's tanh is not always the nearest number; states that a correctly rounded one returns are named last
        named = [{"state": _text([Fraction(x) for x in states[k].tolist()])} for k in missed[:10]]
        named.sort(key=lambda place: not all(opinion.violated for opinion in check(place).opinions))
        return Attempt(
            tried=f"{len(states)} random states one step forth and back, 50 of them {FAR[budget.name]} steps",
            evaluations=len(states) + 50,
            found=f"{len(missed)} of {len(states)} not returned after one step; {error:.2e} off after "
            f"{FAR[budget.name]}",
            claimed="every state returned",
            candidates=tuple(named[:3]),
        )

    def check(parameters: Parameters) -> Check:
        state = numbers(parameters, "state")
        replayed = float_replay.there_and_back(
            scheme, state, STEP, lambda x: rounded(x, FORM), lambda x: float_replay.tanh(x, FORM)
        )
        computed = arnn_again.returned(scheme, np.array([[float(x) for x in state]]), 1, float(STEP))[0].tolist()
        apart = max(abs(x - y) for x, y in zip(replayed, state, strict=True))
        seen = max(abs(Fraction(x) - y) for x, y in zip(computed, state, strict=True))
        return Check(
            opinions=(
                Opinion("replay", apart > 0, f"off by {float(apart):.3g}, tanh rounded correctly"),
                Opinion("numpy", seen > 0, f"off by {float(seen):.3g}"),
            ),
            words=f"η = {STEP}, forth and back from {', '.join(str(float(x)) for x in state)}: "
            f"off by {float(seen):.3g}",
        )

    size = 2 if scheme == "symplectic_euler" else 4
    parameters = declared(Parameter("state", Listed(FormatNumber("float64", 0), size)))
    return Case(domain, "the state that is returned, tanh, float64", ask, parameters.guards(check))


# --- order


def order_case(domain: str, claimed: int, first: Callable[[], int], second: Callable[[], int], scheme: str) -> Case:
    """The order is as claimed: computed twice; with a measured slope of the global error beside it."""

    def ask(budget: Budget, _: int) -> Attempt:
        refinements = {"smoke": 5, "standard": 6, "deep": 8}[budget.name]
        steps, errors = arnn_again.global_errors(scheme, refinements)
        slope = scaling.fit(steps, errors).describe()
        computed_order, again = first(), second()
        text = f"order {computed_order} exactly; global error of tanh networks: {slope}"
        if computed_order != again:
            raise ArithmeticError(f"{domain}: order {computed_order} by one computation, {again} by the other")
        if computed_order == claimed:
            return Attempt(text, len(errors), found=text, claimed=f"order {claimed}", proof=text)
        place = {"scheme": scheme, "order": str(claimed)}
        return Attempt(text, len(errors), found=text, claimed=f"order {claimed}", candidates=(place,))

    def check(_: Parameters) -> Check:
        computed_order, again = first(), second()
        return Check(
            opinions=(
                Opinion("trees and series", computed_order != claimed, f"order {computed_order}"),
                Opinion("fractions", again != claimed, f"order {again}"),
            ),
            words=f"{domain} has order {computed_order}, not {claimed}",
        )

    parameters = declared(Parameter("scheme", Constant(scheme)), Parameter("order", Constant(claimed)))
    return Case(domain, f"order {claimed}", ask, parameters.guards(check))


def leapfrog_order() -> int:
    """y(t+η) − y(t−η) − 2η y'(t) = Σ c_k η^k y^(k)(t): the first c_k ≠ 0 has k = order + 1. From FLINT's series."""
    e = fmpq_poly([fmpq(1, factorial(k)) for k in range(8)])
    back = fmpq_poly([c * (-1) ** k for k, c in enumerate(e.coeffs())])
    defect = e - back - fmpq_poly([0, 2])
    return next(k for k, c in enumerate(defect.coeffs()) if c != 0) - 1


def leapfrog_order_again() -> int:
    """The same: exact on t^j for j ≤ order, at t = 0 and η = 1: 1 − (−1)^j = 2·[j = 1]."""
    j = 0
    while 1 - (-1) ** j == 2 * int(j == 1):
        j += 1
    return j - 1


def tableau_order(name: str) -> int:
    """From trees."""
    return int(order(get(name)).value)


def tableau_order_again(name: str) -> int:
    """Of an explicit or implicit one-step method with b of sum 1: 2 iff Σ b c = 1/2, then 3 would need Σ b c² = 1/3."""
    tableau = get(name)
    b, c = ([Fraction(str(x)) for x in row] for row in (tableau.b, tableau.c))  # type: ignore[union-attr]
    moments = [sum(weight * node**k for weight, node in zip(b, c, strict=True)) for k in range(3)]
    return next(k for k, moment in enumerate(moments) if moment != Fraction(1, k + 1))


def euler_order_again() -> int:
    """Of the mode: the entries of [[1, −a], [a, 1 − a²]] against those of the rotation by a, power by power. The rule
    is consistent (it agrees to a¹ for every field), so the first power that differs here is order + 1.
    """
    cosine = [Fraction((-1) ** (k // 2), factorial(k)) if k % 2 == 0 else Fraction(0) for k in range(6)]
    sine = [Fraction((-1) ** (k // 2), factorial(k)) if k % 2 else Fraction(0) for k in range(6)]
    rotation = [cosine, [-x for x in sine], sine, cosine]
    step = [[1], [0, -1], [0, 1], [1, 0, -1]]
    padded = [[Fraction(x) for x in entry] + [Fraction(0)] * (6 - len(entry)) for entry in step]
    return min(k for one, other in zip(padded, rotation, strict=True) for k in range(6) if one[k] != other[k]) - 1


EULER_ORDER = (lambda: int(order(get("symplectic euler vt")).value), euler_order_again)
MIDPOINT_ORDERS = {
    name: (partial(tableau_order, name), partial(tableau_order_again, name))
    for name in ("explicit midpoint", "implicit midpoint")
}
"""Each order computed twice."""


# --- R(z) R(−z) = 1


def midpoint_case(name: str) -> Case:
    """The stability function of a one-step rule: symmetric iff R(z) R(−z) = 1."""

    def first(parameters: Parameters) -> Decided:
        z = number(parameters, "z")
        function: Any = stability_function(get(name))
        above, under = (fmpq_poly([fmpq(str(c)) for c in part]) for part in (function.numerator, function.denominator))
        gap = above * _reflected(above) - under * _reflected(under)
        value = gap(fmpq(z.numerator, z.denominator))
        return Decided(bool(value != 0), f"R(z) R(−z) − 1 has the numerator {gap}, which is {value} at z = {z}")

    def second(parameters: Parameters) -> Decided:
        above, under = arnn_again.STABILITY[name]
        left, right = (sturm.times(part, [c * (-1) ** k for k, c in enumerate(part)]) for part in (above, under))
        gap = sturm.minus(left, right)
        value = sturm.value(gap, number(parameters, "z"))
        return Decided(value != 0, f"numerator {[str(c) for c in gap]} of 1, z, z², …")

    return decided(
        name,
        "R(z) R(−z) = 1",
        at({"z": "1"}),
        first,
        second,
        box="polynomials in z",
        claimed="1",
        parameters=declared(Parameter("z", Rational())),
    )


def _reflected(polynomial: fmpq_poly) -> fmpq_poly:
    return fmpq_poly([c * (-1) ** k for k, c in enumerate(polynomial.coeffs())])


def leapfrog_midpoint_case() -> Case:
    """M(z) = [[2z, 1], [1, 0]] on (y_l, y_{l−1}), X the swap: X M(−z) X M(z) = 1."""

    def first(_: Parameters) -> Decided:
        z = fmpq_poly([0, 1])
        forward = ((2 * z, z**0), (z**0, 0 * z))
        back = ((0 * z, z**0), (z**0, -2 * z))  # X M(−z) X
        product = [[sum((back[i][k] * forward[k][j] for k in range(2)), 0 * z) for j in range(2)] for i in range(2)]
        wrong = [product[i][j] for i in range(2) for j in range(2) if any((product[i][j] - int(i == j)).coeffs())]
        return Decided(bool(wrong), "the product is the identity" if not wrong else str(wrong[0]))

    def second(_: Parameters) -> Decided:
        for k in range(-8, 9):
            z, y, x = Fraction(k, 3), Fraction(5, 7), Fraction(-2, 3)
            following = x + 2 * z * y
            if following + 2 * (-z) * y != x:
                return Decided(True, f"z = {z}")
        return Decided(False, "17 rational z")

    return decided(
        "leapfrog",
        "R(z) R(−z) = 1",
        at({"z": "1"}),
        first,
        second,
        box="polynomials in z",
        claimed="1",
        parameters=declared(Parameter("z", Rational())),
    )


CLAIMS = (
    Claim(
        id="ode-T3",
        source=Source("odernn", "Theorem 3, Definition 4 (30)"),
        statement="1-2-ARNN (symplectic Euler) and 2-2-ARNN (leapfrog) are reversible maps: they "
        "have an inverse. (30) is lost; tried as ρ Φ = Φ⁻¹ ρ for some involution ρ that reverses the "
        "equation, symplectic Euler with tied biases or, affine, with any, the leapfrog with W = iS, odd σ, no bias; "
        "also tried: one ρ after another, symmetry Φ_η⁻¹ = Φ_{−η}, implicit midpoint",
        semantics="alg",
        dominated_by="thm-rev",
        cases=(*REVERSALS, affine_case(EULER)),
    ),
    Claim(
        id="ode-T3-fp",
        source=Source("odernn", "proof of Theorem 3"),
        statement="the ARNNs of ode-T3, inside the stable regime and computed in float64: the "
        "inverse returns every state (a question of this library: of floats nothing is claimed)",
        semantics="float",
        cases=(float_case("symplectic_euler", EULER), float_case("leapfrog", LEAP)),
    ),
    Claim(
        id="ode-T3-order",
        source=Source("odernn", "proofs of Theorems 2 and 3"),
        statement="1-ARNN: symplectic Euler, of order 1; 2-ARNN: a mid-point rule, said to be of "
        "order 1, read as the leapfrog; also tried: the explicit and the implicit midpoint rule",
        semantics="alg",
        dominated_by="thm-rev",
        cases=(
            order_case(EULER, 1, *EULER_ORDER, "symplectic_euler"),
            order_case(LEAP, 1, leapfrog_order, leapfrog_order_again, "leapfrog"),
            *(
                order_case(f"2-2-ARNN, {name}", 1, *orders, name.replace(" ", "_"))
                for name, orders in MIDPOINT_ORDERS.items()
            ),
        ),
    ),
    Claim(
        id="ode-T3-mid",
        source=Source("odernn", "proof of Theorem 3"),
        statement="the mid-point rule of the 2-ARNN is reversible: R(z) R(−z) = 1 "
        "for the leapfrog; also tried: the explicit and the implicit midpoint rule",
        semantics="alg",
        dominated_by="thm-rev",
        cases=(midpoint_case("explicit midpoint"), midpoint_case("implicit midpoint"), leapfrog_midpoint_case()),
    ),
    Claim(
        id="thm-rev",
        source=Source("library", "docs/derivations/arnn.md"),
        statement="symplectic Euler has an inverse for every η and is reversed by (p, q) → (q, p) if both halves have "
        "the same S, σ and bias, and by (p, q) → (q + d, p − d) if S d = b_p − b_q; leapfrog and implicit midpoint are "
        "symmetric; the leapfrog with W = iS, odd σ and no bias is reversed by swap and conjugation; orders 1, 2, 2",
        semantics="alg",
        origin="library",
        cases=(
            REVERSALS[0],
            REVERSALS[1],
            REVERSALS[6],
            REVERSALS[7],
            REVERSALS[10],
            REVERSALS[11],
            order_case(EULER, 1, *EULER_ORDER, "symplectic_euler"),
            order_case(LEAP, 2, leapfrog_order, leapfrog_order_again, "leapfrog"),
            order_case("2-2-ARNN, implicit midpoint", 2, *MIDPOINT_ORDERS["implicit midpoint"], "implicit_midpoint"),
            midpoint_case("implicit midpoint"),
            leapfrog_midpoint_case(),
            affine_case(EULER),
        ),
    ),
)
