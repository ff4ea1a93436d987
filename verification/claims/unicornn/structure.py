# Claims: both-2-sigmoid · icml-effective-dt-def · both-2-noninteraction · both-2-onlypossible · both-sympl-1layer ·
#   both-volume-Llayer
"""What one step of UnICORNN is as a map: no coupling within a layer, symplectic or not, volume-preserving; σ̂ and the
effective time step; which of this needs uncoupled neurons.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import mpmath
import sympy
from flint import Ordering, arb, fmpq, fmpq_mpoly_ctx, fmpq_poly

from odernn.published.sources import Source
from verification.cases.identity import PolynomialIdentity
from verification.cases.layered_maps import (
    LARGER,
    ONE_LAYER,
    SYMPLECTIC,
    UNCOUPLED,
    UP_TO_THREE,
    VOLUME,
    VOLUME_SAM,
)
from verification.certify.second import exact_network as again
from verification.certify.second.intervals import iv
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import number, numbers
from verification.kinds import Listed, Matrix, Rational
from verification.measure import exact_network as net
from verification.measure import ring_matrices
from verification.parameters import Parameter, declared

# --- σ̂(u) = 1/2 + 1/2 tanh(u/2): a rational function of E = e^u > 0


def _tanh_of_half() -> tuple[fmpq_poly, fmpq_poly]:
    """tanh(u/2) = (E − 1)/(E + 1), numerator and denominator."""
    return fmpq_poly([-1, 1]), fmpq_poly([1, 1])


LARGEST_U = 1000


def between_zero_and_one(offset: Fraction, factor: Fraction) -> Case:
    """0 < offset + factor tanh(u/2) < 1 for all real u."""

    def ask(_: Budget, __: int) -> Attempt:
        above, under = _tanh_of_half()
        value = under * fmpq(*offset.as_integer_ratio()) + above * fmpq(*factor.as_integer_ratio())
        text = f"with E = e^u > 0: value ({value})/({under}), 1 − value ({under - value})/({under})"
        if all(is_positive_beyond_zero(p) for p in (value, under - value, under)):
            proof = f"{text}: every coefficient is non-negative and one is positive"
            return Attempt(text, 3, found="inside (0, 1)", claimed="inside (0, 1)", proof=proof)
        points = [{"u": str(u)} for u in sorted(range(-12, 13), key=abs)]
        outside = [p for p in points if check(p).opinions[0].violated]
        return Attempt(text, len(points), found="outside", claimed="inside (0, 1)", candidates=tuple(outside[:3]))

    def check(parameters: Parameters) -> Check:
        u = number(parameters, "u")
        with net.at_precision():
            ball = _exact(offset) + _exact(factor) * (_exact(u) / 2).tanh()
            outside = bool(ball <= 0 or ball >= 1)
        value = _interval(offset) + _interval(factor) * again.tanh(_interval(u) / 2)
        return Check(
            opinions=(
                Opinion("balls", outside, f"value {ball.str(12)}"),
                Opinion("mpmath", bool(value.b <= 0 or value.a >= 1), f"value {mpmath.nstr(value.mid, 12)}"),
            ),
            words=f"u = {u}: the value {ball.str(6, radius=False)} does not lie in (0, 1)",
        )

    parameters = declared(Parameter("u", Rational(least=-LARGEST_U, most=LARGEST_U)))
    return Case("all u", "σ̂(u)", ask, parameters.guards(check))


def is_positive_beyond_zero(polynomial: fmpq_poly) -> bool:
    """Sufficient for p(E) > 0 at all E > 0: no negative coefficient, and not the zero polynomial."""
    return polynomial.degree() >= 0 and all(c >= 0 for c in polynomial.coeffs())


def _exact(value: Fraction) -> Any:
    return arb(fmpq(value.numerator, value.denominator))


def _interval(value: Fraction) -> Any:
    return iv.mpf(value.numerator) / value.denominator


# --- the effective time step: a neuron of (5) is symplectic Euler for (2) with its own step


def _own_step(v: Any) -> list[Any]:
    """One step of (5) with dt σ̂, s = σ(A), against symplectic Euler of y' = z, z' = −(s + α y) with step H = dt σ̂."""
    z = v["z"] - v["dt"] * v["sh"] * (v["s"] + v["alpha"] * v["y"])
    y = v["y"] + v["dt"] * v["sh"] * z
    step = v["dt"] * v["sh"]
    kicked = v["z"] + step * (-(v["s"] + v["alpha"] * v["y"]))
    return [z - kicked, y - (v["y"] + step * kicked)]


def _own_step_again(v: Any) -> list[Any]:
    step = v["sh"] * v["dt"]
    left = v["z"] - v["dt"] * v["sh"] * v["s"] - v["dt"] * v["sh"] * v["alpha"] * v["y"]
    right = v["z"] - step * (v["alpha"] * v["y"] + v["s"])
    return [left - right, step * (left - right)]


OWN_STEP = PolynomialIdentity(
    ("dt", "sh", "alpha", "y", "z", "s"),
    _own_step,
    _own_step_again,
    "a step of (5) against symplectic Euler for (2) with step dt σ̂(c)",
)


# --- "only possible": a step with a full recurrent matrix W and a time step per neuron

PROPERTIES = ("explicit and invertible", "volume-preserving", "symplectic")


TWO_NEURONS = declared(
    Parameter("W", Matrix(2, 2)), Parameter("h", Listed(Rational(above=0, below=1), 2)), Parameter("alpha", Rational())
)


def only_if_uncoupled(wanted: str) -> Case:
    """Is every multi-scale step z ← z − h(σ(W y + x) + α y), y ← y + h z with h_1 ≠ h_2 that is ``wanted`` one with
    uncoupled neurons? A counterexample is a coupled W, two effective steps, and a proof of ``wanted`` for every σ.
    """

    def ask(_: Budget, __: int) -> Attempt:
        tried = 0
        for entries in sorted(itertools.product(range(4), repeat=4), key=lambda e: (sum(e), e)):
            point = {"W": " ".join(map(str, entries)), "h": "1/4 1/8", "alpha": "1"}
            tried += 1
            if entries[1] and entries[2] and coupled_and(point)[1]:
                return Attempt(
                    "2 × 2 matrices W with entries 0..3",
                    tried,
                    found="possible with coupling",
                    claimed="possible without coupling only",
                    candidates=(point,),
                )
        return Attempt("2 × 2 matrices W with entries 0..3, h = (1/4, 1/8), α = 1", tried, found="none")

    def coupled_and(parameters: Parameters) -> tuple[bool, bool]:
        """Whether the neurons see each other, and whether they do and the step is ``wanted``."""
        W, h, alpha = numbers(parameters, "W"), numbers(parameters, "h"), number(parameters, "alpha")
        coupled = bool(W[1] and W[2])
        return coupled, coupled and _coupled_polynomials(W, h, alpha)[wanted]

    def check(parameters: Parameters) -> Check:
        W, h, alpha = numbers(parameters, "W"), numbers(parameters, "h"), number(parameters, "alpha")
        coupled, first = coupled_and(parameters)
        second = _coupled_sympy(parameters, wanted)
        return Check(
            opinions=(
                Opinion("polynomials", first, f"{wanted} for every σ: {'yes' if first else 'not shown'}"),
                Opinion("sympy", coupled and second, f"{wanted} for every σ: {'yes' if second else 'not shown'}"),
            ),
            premises=(
                Premise("multi-scale: h_1 ≠ h_2", str(abs(h[0] - h[1])), h[0] != h[1]),
                Premise("coupled both ways: W_12, W_21 ≠ 0", str(min(abs(W[1]), abs(W[2]))), coupled),
            ),
            words=f"W = [{W[0]} {W[1]}; {W[2]} {W[3]}], h = ({h[0]}, {h[1]}), α = {alpha}: the neurons are coupled, "
            f"their time steps differ, and the step is {wanted}",
        )

    return Case("m = 2, full W", wanted, ask, TWO_NEURONS.guards(check))


def _coupled_polynomials(W: list[Fraction], h: list[Fraction], alpha: Fraction) -> dict[str, bool]:
    """Which properties hold as identities in the state and the values of an unknown σ (and its derivative)."""
    ring = fmpq_mpoly_ctx.get(["y1", "y2", "z1", "z2", "a", "b", "c", "d", "da", "db"], Ordering.degrevlex)
    y1, y2, z1, z2, *values, da, db = ring.gens()
    w = [fmpq(v.numerator, v.denominator) for v in W]
    step = [fmpq(v.numerator, v.denominator) for v in h]
    spring = fmpq(alpha.numerator, alpha.denominator)
    sigma = net.Opaque(values)

    def force(y: list[Any]) -> list[Any]:
        return [sigma(w[2 * i] * y[0] + w[2 * i + 1] * y[1]) + spring * y[i] for i in range(2)]

    y, z = [y1, y2], [z1, z2]
    F = force(y)
    z_after = [z[i] - step[i] * F[i] for i in range(2)]
    y_after = [y[i] + step[i] * z_after[i] for i in range(2)]
    y_back = [y_after[i] - step[i] * z_after[i] for i in range(2)]
    G = force(y_back)
    z_back = [z_after[i] + step[i] * G[i] for i in range(2)]
    invertible = all(p - q == 0 for p, q in zip([*y_back, *z_back], [*y, *z], strict=True))
    # the derivative of σ is one symbol per different argument
    slope = [da, da if W[:2] == W[2:] else db]
    DF: ring_matrices.Matrix = []
    for i in range(2):
        kick = [-step[i] * (slope[i] * w[2 * i + r] + spring * int(i == r)) for r in range(2)]
        row_z: list[Any] = [kick[0], int(i == 0), kick[1], int(i == 1)]
        DF += [[step[i] * entry for entry in row_z], row_z]
        DF[-2][2 * i] = DF[-2][2 * i] + 1
    J = ring_matrices.symplectic_unit(2)
    return {
        PROPERTIES[0]: invertible,
        PROPERTIES[1]: ring_matrices.determinant(DF) - 1 == 0,
        PROPERTIES[2]: all(
            e == 0
            for e in ring_matrices.entries(
                ring_matrices.minus(ring_matrices.product(ring_matrices.transpose(DF), J, DF), J)
            )
        ),
    }


def _coupled_sympy(parameters: Parameters, wanted: str) -> bool:
    """One property in sympy, with σ an undefined function that sympy differentiates itself."""
    W = sympy.Matrix(2, 2, [sympy.Rational(word) for word in parameters["W"].split()])
    h = sympy.diag(*[sympy.Rational(word) for word in parameters["h"].split()])
    alpha = sympy.Rational(parameters["alpha"])
    y, z = sympy.Matrix(sympy.symbols("y1:3", real=True)), sympy.Matrix(sympy.symbols("z1:3", real=True))
    sigma = sympy.Function("sigma")
    z_after = z - h * ((W * y).applyfunc(sigma) + alpha * y)
    y_after = y + h * z_after
    y_back = (y_after - h * z_after).applyfunc(sympy.expand)
    z_back = z_after + h * ((W * y_back).applyfunc(sympy.expand).applyfunc(sigma) + alpha * y_back)
    state = sympy.Matrix([y[0], z[0], y[1], z[1]])
    after = sympy.Matrix([y_after[0], z_after[0], y_after[1], z_after[1]])
    DF = after.jacobian(state).doit()
    J = sympy.Matrix([[0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1], [0, 0, -1, 0]])
    if wanted == PROPERTIES[0]:
        return bool(sympy.Matrix([*(y_back - y), *(z_back - z)]).applyfunc(sympy.simplify) == sympy.zeros(4, 1))
    if wanted == PROPERTIES[1]:
        return bool(sympy.expand(DF.det()) == 1)
    return bool((DF.T * J * DF - J).applyfunc(sympy.expand) == sympy.zeros(4, 4))


_HALF = Fraction(1, 2)

CLAIMS = (
    Claim(
        id="both-2-sigmoid",
        source=Source("sam", "Section 2, after (6)"),
        statement="σ̂(u) = 1/2 + (1/2)tanh(u/2) lies in (0, 1), so that dt σ̂ < dt",
        semantics="real",
        cases=(between_zero_and_one(_HALF, _HALF),),
    ),
    Claim(
        id="icml-effective-dt-def",
        source=Source("icml", "Section 4, Figure 5; Section 2, after (6)"),
        statement="the effective time step of neuron i is dt σ̂(c_i) ≤ dt; a neuron is (2) with its own time scale",
        semantics="real",
        cases=(between_zero_and_one(_HALF, _HALF), OWN_STEP.case("all numbers", "one step")),
    ),
    Claim(
        id="both-2-noninteraction",
        source=Source("sam", "Section 2"),
        statement="in (5) a neuron of a layer does not see the others: dX_j/dX_{j−1} "
        "is block diagonal, for every m, as (5) goes by components (asked for m = 2, 3)",
        semantics="alg",
        cases=(UNCOUPLED.case("2 ≤ m ≤ 3", "dX_j/dX_{j−1}", ONE_LAYER[1:]),),
    ),
    Claim(
        id="both-2-onlypossible",
        source=Source("sam", "Section 2"),
        statement="a time step for each neuron is possible since neurons of a layer are uncoupled; also tried, as the "
        'word "only" has it: with a full W no such step is explicit and invertible, volume-preserving or symplectic',
        semantics="alg",
        cases=(OWN_STEP.case("all numbers", "one step"), *map(only_if_uncoupled, PROPERTIES)),
    ),
    Claim(
        id="both-sympl-1layer",
        source=Source("sam", "Sections 2 and 3, (5)"),
        statement="symplectic Euler (5) is structure preserving, BᵀJB = J, and keeps "
        "volumes of phase space, det B = 1 (m = 1 gives every m, by both-2-noninteraction)",
        semantics="alg",
        cases=(SYMPLECTIC.case("m ≤ 3", "BᵀJB", ONE_LAYER), VOLUME.case("m ≤ 3", "det B", ONE_LAYER)),
    ),
    Claim(
        id="both-volume-Llayer",
        source=Source("sam", "Discussion"),
        statement="volume in phase space is preserved by the discrete network: det DF = 1 for the 2mL "
        "× 2mL Jacobian of a step, any L (it is block triangular, with the blocks of both-sympl-1layer)",
        semantics="alg",
        cases=(
            VOLUME.case("L ≤ 3, m ≤ 2", "det DF, icml indices", UP_TO_THREE),
            VOLUME_SAM.case("L ≤ 3, m ≤ 2", "det DF, sam indices", UP_TO_THREE),
            VOLUME.sampled("L ≤ 6", "det DF, icml indices", LARGER),
            VOLUME_SAM.sampled("L ≤ 6", "det DF, sam indices", LARGER),
        ),
    ),
)
