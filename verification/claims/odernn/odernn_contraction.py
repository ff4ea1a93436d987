# Claims: ode-T1-scalar · thm-1* · ode-T1-relu
"""Where Theorem 1 of the ODERNN paper holds: scalar coefficients, the library's own form of it with matrices and a
weight G (thm-1*), and which activations are monotone in the sense that it needs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import flint
import numpy as np
from flint import Ordering, arb, fmpq, fmpq_mat, fmpq_mpoly_ctx

from odernn import tableaus
from odernn.exact.algebraic import nearest_float
from odernn.exact.linear_algebra import is_rational
from odernn.properties.algebraic_stability import algebraic_stability
from odernn.published.sources import Source
from odernn.tableaus.methods import in_stages
from odernn.tableaus.tableau import ButcherTableau
from verification.adversary.monotone_fields import ROUNDS, BlockStep, FieldClass, rational_member, worst
from verification.cases.energy_balance import Balance, implied, implied_case, tensor_block
from verification.cases.identity import PolynomialIdentity
from verification.cases.typed_steps import FALLING_FIELDS, FREE, LARGEST, step_of_method
from verification.certify import contraction_check
from verification.certify.second.intervals import iv
from verification.certify.typed_step import ContractionReading
from verification.claim import GIVEN, Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import numbers, rationals
from verification.kinds import ANY, SKEW, Listed, Matrix, Rational, Structure
from verification.parameters import Parameter, declared

BITS = 192
ORDINARY = ContractionReading()
WITH_WEIGHTS = ContractionReading(weighted=True, semidefinite=False)
IN_G = ContractionReading(weighted=True, semidefinite=False, norm="weighted")
"""Of thm-1*: each stage is monotone with weight G B_i."""
COMPONENTS = 2
LEAST_EXCESS = 1e-9
"""Beyond 1: a smaller one is what rounding makes of an isometry."""
STABLE = ("implicit midpoint", "gauss 2", "radau iia 2", "lobatto iiic 2")
SCALAR = tuple(Balance(1, stages, "scalar", printed=True) for stages in (1, 2, 3))
"""Multiples of the identity act on each component alone, so that D = 1 is every D."""
WEIGHTED = tuple(Balance(D, S) for D, S in ((1, 1), (1, 3), (2, 1), (2, 2), (2, 3), (3, 1)))


# --- the worst pair of solutions, searched


def worst_case(
    method: str,
    fields: FieldClass = "monotone",
    P: Any = None,
    *,
    reading: ContractionReading = ORDINARY,
) -> Case:
    """The largest ‖Δy₊‖_G/‖Δy‖_G with A_ij = a_ij P, B_i = b_i P; G = P⁻¹ if ``reading`` has a weighted norm, else I.

    ``reading`` has the hypotheses under which a violation counts. A method with irrational numbers cannot be typed in
    and has no check.
    """
    weighted = reading.norm == "weighted"
    square = np.eye(COMPONENTS) if P is None else np.array(P, dtype=np.float64)
    tableau = in_stages(tableaus.get(method))
    is_exact = is_rational(*tableau.A, tableau.b)

    def ask(budget: Budget, seed: int) -> Attempt:
        A = np.array([[nearest_float(a) for a in row] for row in tableau.A])
        b = np.array([nearest_float(weight) for weight in tableau.b])
        G = np.linalg.inv(square) if weighted else np.eye(COMPONENTS)
        step = BlockStep(A[:, :, None, None] * square, b[:, None, None] * square, G)
        worst_fields = worst(step, fields, ROUNDS[budget.name], seed)
        candidates: tuple[Parameters, ...] = ()
        if worst_fields.ratio > 1 + LEAST_EXCESS and fields == "monotone" and P is None and is_exact:
            candidates = (_typed(tableau, worst_fields.N),)
        return Attempt(
            tried=f"hill climb over {fields} fields of each stage, D = {COMPONENTS}, ‖N‖ ≤ 1e3: worst ratio "
            f"{worst_fields.ratio:.9f}, the control at {worst_fields.control:.4f} of its optimum",
            evaluations=worst_fields.evaluations,
            log_measured=math.log(worst_fields.ratio),
            log_claimed=0.0,
            control=worst_fields.control,
            candidates=candidates,
        )

    size = "" if P is None else f", P = {P}"
    norm = "‖Δy₊‖_G/‖Δy‖_G, G = P⁻¹" if weighted else "‖Δy₊‖/‖Δy‖"
    check = None
    if is_exact:
        parameters = step_of_method(
            tableau,
            (1, LARGEST) if P is None else (COMPONENTS, COMPONENTS),
            P=P,
            G=_inverse(P) if weighted else None,
            fields=FALLING_FIELDS if fields == "diagonal" else FREE,
        )
        check = contraction_check.guarded(parameters, reading)
    return Case(f"{method}{size}, {fields} fields", norm, ask, check, is_search=True)


def _inverse(P: tuple[tuple[int, ...], ...]) -> list[list[Fraction]]:
    (p, q), (r, s) = P
    return [[Fraction(x, p * s - q * r) for x in row] for row in ((s, -q), (-r, p))]


def _typed(tableau: ButcherTableau, N: Any) -> Parameters:
    """The exact step with the fields found, moved to rational ones of the class."""

    def text(values: Any) -> str:
        return rationals([Fraction(int(x.p), int(x.q)) for x in values])

    fields = [rational_member(matrix) for matrix in N]
    return {
        "D": str(COMPONENTS),
        "S": str(tableau.stages),
        "eta": "1",
        "a": text([a for row in tableau.A for a in row]),
        "b": text(tableau.b),
        "N": rationals([x for field in fields for row in field for x in row]),
    }


def weighted_tensor_case(share: int = 1) -> Case:
    """(i) A_ij = a_ij P, B_i = b_i P, G = adj P = det(P) P⁻¹: M_ij = det(P) m_ij P and G B_i = det(P) b_i I.

    Another ``share`` of det(P) m_ij P is the planted falsehood.
    """
    names = ("p", "q", "r", *(f"a{i}{j}" for i in (0, 1) for j in (0, 1)), "b0", "b1")
    pairs = tuple(itertools.product((0, 1), repeat=2))

    def residual(v: Any) -> list[Any]:
        p, q, r = v["p"], v["q"], v["r"]
        P, G, det, zero = [[p, q], [q, r]], [[r, -q], [-q, p]], p * r - q * q, 0 * p
        A = [[[[v[f"a{i}{j}"] * x for x in row] for row in P] for j in (0, 1)] for i in (0, 1)]
        B = [[[v[f"b{i}"] * x for x in row] for row in P] for i in (0, 1)]
        residuals = []
        for i, j in pairs:
            m = v[f"b{i}"] * v[f"a{i}{j}"] + v[f"b{j}"] * v[f"a{j}{i}"] - v[f"b{i}"] * v[f"b{j}"]
            block = tensor_block(A, B, G, i, j)
            residuals += [block[k][l] - share * det * m * P[k][l] for k, l in pairs]
            residuals += [
                sum((G[k][h] * B[i][h][l] for h in (0, 1)), zero) - (det * v[f"b{i}"] if k == l else zero)
                for k, l in pairs
            ]
        return residuals

    def again(v: Any) -> list[Any]:
        """By the rows of P and the columns of G P: M_ij is the number m_ij times P G P."""
        p, q, r = v["p"], v["q"], v["r"]
        columns = (r * p - q * q, q * p * -1 + p * q), (r * q - q * r, p * r - q * q)
        PGP = [row[0] * column[0] + row[1] * column[1] for row in ((p, q), (q, r)) for column in columns]
        left = [v[f"b{i}"] * (v[f"a{i}{j}"] - v[f"b{j}"]) + v[f"b{j}"] * v[f"a{j}{i}"] for i, j in pairs]
        tensors = [m * (x - share * (p * r - q**2) * y) for m in left for x, y in zip(PGP, (p, q, q, r), strict=True)]
        ones = [columns[0][0] - columns[1][1], columns[0][1], columns[1][0], columns[1][1] - (p * r - q**2)]
        return tensors + [v[f"b{i}"] * x for i in (0, 1) for x in ones]

    identity = PolynomialIdentity(names, residual, again, "(i): M = m_ij det(P) P, G B_i = b_i det(P) I, G = adj P")
    return identity.case("(i) A_ij = a_ij P, B_i = b_i P, D = S = 2", "M and G B_i for G = det(P) P⁻¹")


def stable_methods_case() -> Case:
    """b_i ≥ 0 and M ≥ 0 exactly for the methods that are searched, and the identity of mc-1."""

    def ask(_: Budget, seed: int) -> Attempt:
        certificates = {name: algebraic_stability(tableaus.get(name)) for name in (*STABLE, "gauss 3", "radau iia 3")}
        shown = "; ".join(f"{name}: {each.because}" for name, each in certificates.items())
        signs = "components add up; b_i ≥ 0, (u−v)·(f_i(u)−f_i(v)) ≤ 0 and M ≥ 0 make both corrections ≤ 0 (thm-1*)"
        if all(certificate.holds and certificate.exact for certificate in certificates.values()):
            return implied(SCALAR, f"{signs}; M ≥ 0 exactly: {shown}", seed)
        return Attempt(shown, len(certificates))

    return Case("S ≤ 3, every D", "‖Δy₊‖ ≤ ‖Δy‖", ask)


# --- activations: the sign of (u − v)ᵀ(f(u) − f(v)), f(y) = σ(K y + b)

Activation: TypeAlias = Literal["relu", "tanh"]
Fields: TypeAlias = Literal["σ alone", "K", "antisymmetric K"]
ACTIVATIONS: tuple[Activation, ...] = ("relu", "tanh")
KINDS: dict[Fields, tuple[tuple[int, ...], ...]] = {
    "σ alone": ((1,),),
    "K": ((1,), (-1,), (1, 0, 0, -1)),
    "antisymmetric K": ((0, 1, -1, 0),),
}
"""K row by row, as simple as the kind allows."""


UNIT = Structure(
    "the identity",
    lambda rows: all(entry == (i == j) for i, row in enumerate(rows) for j, entry in enumerate(row)),
    lambda rows: [[Fraction(int(i == j)) for j in range(len(rows))] for i in range(len(rows))],
)
STRUCTURES: dict[Fields, Structure] = {"σ alone": UNIT, "K": ANY, "antisymmetric K": SKEW}
MOST_COMPONENTS = 8
LARGEST_ENTRY = 99
"""Of K, u and v for tanh, whose exponentials are enclosed."""


def sign_case(activation: Activation, kind: Fields, sign: int) -> Case:
    """sign · (u − v)ᵀ(f(u) − f(v)) ≥ 0 for all u, v."""

    def ask(_: Budget, __: int) -> Attempt:
        if kind == "σ alone" and (proof := _increasing(activation, sign)):
            return Attempt(proof, 1, found=f"{'≥' if sign > 0 else '≤'} 0", proof=proof)
        named = [{"K": rationals([Fraction(x) for x in K]), "u": u, "v": v} for K in KINDS[kind] for u, v in _pairs(K)]
        violating = [p for p in named if check(p).opinions[0].violated]
        text = f"{len(violating)} of {len(named)} pairs of small integer vectors have the other sign"
        return Attempt(text, len(named), found=text, claimed="none", candidates=tuple(violating[:3]))

    def check(parameters: Parameters) -> Check:
        K, u, v = (numbers(parameters, name) for name in ("K", "u", "v"))
        D = len(u)
        rows = [K[k * D : (k + 1) * D] for k in range(D)]
        first, second = _product(activation, rows, u, v), _product_again(activation, rows, u, v)
        shown = first.str(8, radius=False) if activation == "tanh" else str(first)
        return Check(
            opinions=(
                Opinion("flint", bool(sign * first < 0), f"(u−v)ᵀ(f(u)−f(v)) = {first}"),
                Opinion("fractions" if activation == "relu" else "mpmath", bool((sign * second) < 0), f"{second}"),
            ),
            words=f"{activation}; {GIVEN}: (u−v)ᵀ(f(u)−f(v)) = {shown}, {'≥' if sign > 0 else '≤'} 0 was to hold",
        )

    shown = {"σ alone": "σ(y)", "K": "σ(Ky + b)", "antisymmetric K": "σ(Ky + b), K = −Kᵀ"}[kind]
    entry = Rational(least=-LARGEST_ENTRY, most=LARGEST_ENTRY) if activation == "tanh" else Rational()
    parameters = declared(
        Parameter("u", Listed(entry, (1, MOST_COMPONENTS))),
        Parameter("v", Listed(entry, lambda v: len(v["u"]))),
        Parameter("K", Matrix(lambda v: len(v["u"]), lambda v: len(v["u"]), entry, STRUCTURES[kind])),
    )
    quantity = f"(u−v)ᵀ(f(u)−f(v)) {'≥' if sign > 0 else '≤'} 0"
    return Case(f"{activation}, {shown}", quantity, ask, parameters.guards(check))


def _pairs(K: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """u small, v = 0: b = 0 and a pair (u, 0) are enough, as b only shifts both."""
    size = math.isqrt(len(K))
    grid = sorted(itertools.product(range(-2, 3), repeat=size), key=lambda u: (sum(map(abs, u)), [-x for x in u]))
    for u in grid:
        if any(u):
            yield rationals([Fraction(x) for x in u]), rationals([Fraction(0)] * size)


def _product(activation: Activation, K: list[list[Fraction]], u: list[Fraction], v: list[Fraction]) -> Any:
    """(u − v)ᵀ(σ(Ku) − σ(Kv)), exact for relu, a ball for tanh."""
    with flint.ctx.workprec(BITS):
        matrix = fmpq_mat([[fmpq(x.numerator, x.denominator) for x in row] for row in K])
        points = [fmpq_mat([[fmpq(x.numerator, x.denominator)] for x in vector]) for vector in (u, v)]
        images = [(matrix * point).entries() for point in points]
        moved = [points[0][k, 0] - points[1][k, 0] for k in range(len(u))]
        total: Any = fmpq(0) if activation == "relu" else arb(0)
        for d, x, y in zip(moved, *images, strict=True):
            total += (
                d * (max(x, fmpq(0)) - max(y, fmpq(0)))
                if activation == "relu"
                else arb(d) * (arb(x).tanh() - arb(y).tanh())
            )
        return total


def _product_again(activation: Activation, K: list[list[Fraction]], u: list[Fraction], v: list[Fraction]) -> Any:
    """The same with fractions, or in mpmath's intervals by tanh x = 1 − 2/(e^{2x} + 1)."""

    def sigma(x: Fraction) -> Any:
        if activation == "relu":
            return x if x > 0 else Fraction(0)
        return 1 - 2 / (iv.exp(2 * iv.mpf(x.numerator) / x.denominator) + 1)

    with iv.workprec(BITS):
        total: Any = 0
        for r, row in enumerate(K):
            low, high = (sum((a * b for a, b in zip(row, point, strict=True)), Fraction(0)) for point in (v, u))
            step = u[r] - v[r]
            exact = step if activation == "relu" else iv.mpf(step.numerator) / step.denominator
            total = total + exact * (sigma(high) - sigma(low))
        return total


def _increasing(activation: Activation, sign: int) -> str:
    """Why sign · (a − b)(σ(a) − σ(b)) ≥ 0 for all a, b; "" if it is not so. Components add up."""
    X, Y = fmpq_mpoly_ctx.get(["X", "Y"], Ordering.lex).gens()
    if activation == "tanh":
        # tanh a = (X − 1)/(X + 1), so the numerator of tanh a − tanh b is
        numerator = (X - 1) * (Y + 1) - (Y - 1) * (X + 1)
        if sign < 0 or numerator != 2 * (X - Y):
            return ""
        return (
            "X = e^{2a}, Y = e^{2b}: tanh a − tanh b = 2(X − Y)/((X + 1)(Y + 1)) as polynomials, of the sign of a − b"
        )
    # relu: a = ±X, b = ±Y with X, Y ≥ 0 are four polynomials
    products = [
        sign * (p * X - q * Y) * (max(p, 0) * X - max(q, 0) * Y) for p, q in itertools.product((1, -1), repeat=2)
    ]
    if all(product == (X - Y) ** 2 or all(c >= 0 for c in product.coeffs()) for product in products):
        shown = ", ".join(map(str, products))
        return f"a = ±X, b = ±Y, X, Y ≥ 0: the products are {shown}, a square or without negative coefficient"
    return ""


def gradient_field_case(size: int = 3, sign: int = -1) -> Case:
    """wᵀ(∓Kᵀ Δσ) = ∓(Kw)ᵀΔσ: with −, each term −(Kw)_r Δσ_r is ≤ 0 for non-decreasing σ."""
    places = range(size)
    names = (*(f"K{r}{c}" for r in places for c in places), *(f"w{r}" for r in places), *(f"s{r}" for r in places))

    def residual(v: Any) -> list[Any]:
        pulled = [sum((v[f"K{r}{c}"] * v[f"s{r}"] for r in places), 0 * v["w0"]) for c in places]
        pushed = [sum((v[f"K{r}{c}"] * v[f"w{c}"] for c in places), 0 * v["w0"]) for r in places]
        left = sum((v[f"w{c}"] * sign * pulled[c] for c in places), 0 * v["w0"])
        return [left + sum((pushed[r] * v[f"s{r}"] for r in places), 0 * v["w0"])]

    def again(v: Any) -> list[Any]:
        """Row by row: (Kw)_r Δσ_r, and the share of row r in ±wᵀ Kᵀ Δσ."""
        total = 0 * v["w0"]
        for r in places:
            of_row = v[f"K{r}0"] * v["w0"]
            for c in range(1, size):
                of_row = of_row + v[f"w{c}"] * v[f"K{r}{c}"]
            total = total + of_row * v[f"s{r}"]
        pulled = 0 * v["w0"]
        for c, r in itertools.product(places, places):
            pulled = pulled + v[f"s{r}"] * v[f"w{c}"] * v[f"K{r}{c}"]
        return [sign * pulled + total]

    identity = PolynomialIdentity(
        names, residual, again, f"wᵀ B_i f(Y) = −(K w)ᵀ Δσ for f = −B_i⁻¹ Kᵀ σ(K Y + b), D = {size}"
    )
    return identity.case(f"(iii) f = −B_i⁻¹ Kᵀ σ(K Y + b), D = {size}", "wᵀ B_i Δf = −Σ (Kw)_r Δσ_r")


_P = ((1, 0), (0, 4))

CLAIMS = (
    Claim(
        id="ode-T1-scalar",
        source=Source("odernn", "Thm 1"),
        statement="if M ≥ 0 and every b_i ≥ 0 the ODERNN is BN-stable; scalar coefficients, (u−v)·(f_i(u)−f_i(v)) ≤ 0",
        semantics="real",
        cases=(stable_methods_case(), *(worst_case(method) for method in (*STABLE, "radau iia 3"))),
    ),
    Claim(
        id="thm-1*",
        source=Source("library", "docs/derivations/matrix_coefficients.md, mc-2, mc-8"),
        statement="G > 0, M ≥ 0 with transposes and G, each stage G-monotone with weight B_i, coefficients "
        "constant or functions of time and input with one G, stage equations solved: ‖Δy₊‖_G ≤ ‖Δy‖_G; for one "
        "solution with Y_iᵀ G B_i k_i ≤ 0, coefficients of any kind: ‖y₊‖_G ≤ ‖y‖_G. Instances: (i) A_ij = "
        "a_ij P, B_i = b_i P, G = P⁻¹, P > 0, M of (a, b) ≥ 0, b_i ≥ 0, f_i monotone; (ii) G = I, M ≥ 0, B_i ≥ 0 "
        "diagonal, f_i entrywise non-increasing; (iii) G = I, M ≥ 0, f_i = −B_i⁻¹ Kᵀ σ(K Y + b), σ non-decreasing",
        semantics="real",
        cases=(
            implied_case(
                "D ≤ 3, S ≤ 3 as listed",
                "‖Δy₊‖_G ≤ ‖Δy‖_G",
                WEIGHTED,
                "w_iᵀ G B_i g_i ≤ 0 and M ≥ 0 make both corrections ≤ 0",
            ),
            implied_case(
                "D ≤ 3, S ≤ 3 as listed, one solution, A_ij and B_i any functions of time, input and state",
                "‖y₊‖_G ≤ ‖y‖_G",
                WEIGHTED,
                "with 0 in the place of the second solution only the A_ij and B_i of one step occur, at whatever time "
                "and state; Y_iᵀ G B_i k_i ≤ 0 and M ≥ 0 make both corrections ≤ 0",
            ),
            worst_case("radau iia 2", "weighted", _P, reading=IN_G),
            worst_case("gauss 2", "weighted", ((2, 1), (1, 3)), reading=IN_G),
            worst_case("gauss 2", "diagonal", _P, reading=WITH_WEIGHTS),
            worst_case("lobatto iiic 2", "diagonal", _P, reading=WITH_WEIGHTS),
            worst_case("radau iia 2", "gradient", ((1, 2), (-1, 1)), reading=WITH_WEIGHTS),
            weighted_tensor_case(),
            gradient_field_case(),
        ),
        origin="library",
    ),
    Claim(
        id="ode-T1-relu",
        source=Source("odernn", "proof of Thm 1"),
        statement="ReLU and tanh are said to have the monotonicity of Definition 2: (u−v)ᵀ(σ(u)−σ(v)) ≥ 0, as it has "
        "the sign in words (Theorem 1 is tried under this sign, too, and falls there at ReLU, ode-T1); also tried: "
        "≤ 0, for which steps contract; σ(Ky + b) with every K, and with antisymmetric K",
        semantics="real",
        cases=tuple(
            sign_case(activation, kind, sign)
            for activation, kind, sign in itertools.product(ACTIVATIONS, KINDS, (1, -1))
        ),
    ),
)
