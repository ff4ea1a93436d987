"""What the maps of the orthogonal recurrent networks reach: steps (1) of the full-capacity uRNN, W = C(A) D for fixed
and for free D. Cases shared by the claims about it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction

from flint import fmpq, fmpq_mat

from verification.cases.cayley_statements import Found, Statement, listed, up_to
from verification.cases.scornn_parameters import ORTHOGONAL, orthogonal, orthogonal_of, unitary
from verification.certify.second import cayley as again
from verification.claim import BOTH, Attempt, Case, Parameters
from verification.domains import Budget
from verification.exact_text import numbers
from verification.kinds import Constant, Matrix, in_rows
from verification.measure import cayley_exact as exact
from verification.measure import cayley_symbols as symbolic
from verification.measure.exact_cayley import cayley, diagonal, identity
from verification.parameters import Parameter, declared

DRAWS = {"smoke": 12, "standard": 60, "deep": 300}
LARGEST = 4
"""Sizes n up to here are decided with free entries."""


def unitaries(budget: Budget, seed: int, most: int = 4) -> Iterator[fmpq_mat]:
    """Random unitary matrices over Q(i), embedded, of sizes 1 to ``most`` in turn."""
    rng = random.Random(seed)
    for k in range(DRAWS[budget.name]):
        yield exact.rational_unitary(1 + k % most, rng)


# --- steps (1)


def phases(n: int) -> list[Fraction]:
    """n + 1 numbers t with different (1 − it)/(1 + it)."""
    return [Fraction(0), *(Fraction(sign, k) for k in range(1, n + 1) for sign in (1, -1))][: n + 1]


def reach_case(factors: int = 2) -> Case:
    """Any unitary W₁ from any unitary W₀ by at most two steps (1); ``factors`` = 1 asks for one."""

    def decide() -> str:
        return listed(
            (
                "Z* = Z⁻¹ without eigenvalue −1: K = C(Z) has K* = −K and C(K) = Z, as functions of Z, all n",
                symbolic.inverse_is_skew() and symbolic.is_involution(),
            ),
            (
                f"det(I + ωQ) has degree ≤ n in ω and is 1 at ω = 0 (free Q, n ≤ {LARGEST}), so it is not 0 at one of "
                "n + 1 phases, each of which is C(itI)",
                factors == 2 and up_to(LARGEST, phase_polynomial),
            ),
            ("every skew-Hermitian B is G W* − W G* for G = BW/2, n ≤ 3", up_to(3, every_direction)),
        )

    def points(budget: Budget, seed: int) -> Iterator[Parameters]:
        for n in (1, 2, 3):
            yield {**_quotient(-identity_of(n)), "steps": str(factors)}
        for Q in (*unitaries(budget, seed), *map(_embedded, exact.signed_permutations(2))):
            yield {**_quotient(Q), "steps": str(factors)}

    def first(p: Parameters) -> Found:
        Q = exact.typed_complex(p, "Q")
        n = Q.nrows() // 2
        one = identity(2 * n)
        for t in phases(n) if factors == 2 else [Fraction(0)]:
            turn = cayley(exact.scaling([0] * n, [t] * n))
            if (one + turn.inv() * Q).det() == 0:
                continue
            K = cayley(turn.inv() * Q)
            if K.transpose() == -K and cayley(K) * turn == Q:
                return False, f"{factors} steps, the first of B = 2i·{t} I"
        return (
            True,
            f"Q = W₁W₀* is no product of {factors} Cayley factor{'s' * (factors > 1)}: it has the eigenvalue −1",
        )

    def second(p: Parameters) -> Found:
        Q = again.read(p, "Q")
        n = len(Q)
        for t in phases(n) if factors == 2 else [Fraction(0)]:
            back = again.over((Fraction(1), t), (Fraction(1), -t))
            Z = again.scaled(Q, [back] * n)
            K = again.cayley(Z)
            if (
                K is not None
                and again.combined(again.adjoint(K), K, 1) == [[again.ZERO] * n] * n
                and again.cayley(K) == Z
            ):
                return False, f"t = {t}"
        return True, "det(I + Q) = 0" if factors == 1 else f"{n + 1} phases fail"

    statement = Statement(
        f"{factors} steps (1) from W₀ to W₁ = Q W₀",
        decide,
        points,
        first,
        second,
        f"{factors} steps",
        "some number of steps",
        parameters=declared(*unitary("Q", LARGEST), Parameter("steps", Constant(factors))),
    )
    return statement.case(f"unitary, n ≤ {LARGEST}", "steps from any W₀ to any W₁")


def identity_of(n: int) -> fmpq_mat:
    """I of n rows, embedded."""
    return identity(2 * n)


def _embedded(W: fmpq_mat) -> fmpq_mat:
    return exact.embedded(W, fmpq_mat(W.nrows(), W.ncols()))


def _quotient(Q: fmpq_mat) -> dict[str, str]:
    return exact.complex_text(Q, "Q")


def phase_polynomial(n: int) -> bool:
    """det(I + ωQ), Q with free entries: degree ≤ n in ω and 1 at ω = 0."""
    Q, (omega,) = symbolic.general(n, "q", ("omega",))
    polynomial = symbolic.determinant([[omega * x + int(i == j) for j, x in enumerate(row)] for i, row in enumerate(Q)])
    place = polynomial.context().names().index("omega")
    return bool(polynomial.degrees()[place] <= n and polynomial.subs({"omega": 0}) == 1)


def every_direction(n: int) -> bool:
    """B = Y − Y* for free Y; G W* with G = B W/2 and W W* = I is B/2, and B/2 − (B/2)* is B."""
    (Y,) = symbolic.complex_general(n, "y")
    B = symbolic.difference(Y, symbolic.adjoint(Y))
    half = [[x * fmpq(1, 2) for x in row] for row in B[0]], [[x * fmpq(1, 2) for x in row] for row in B[1]]
    difference = symbolic.difference(symbolic.difference(half, symbolic.adjoint(half)), B)
    return all(x == 0 for part in difference for row in part for x in row)


def real_reach_case(n: int = 2) -> Case:
    """The real update from W₀ = I reaches every orthogonal matrix."""

    def points(_: Budget, __: int) -> Iterator[Parameters]:
        for W in exact.signed_permutations(n):
            yield {"W0": exact.text(identity(n)), "W1": exact.text(W)}

    def first(p: Parameters) -> Found:
        W0, W1 = exact.typed(p, "W0"), exact.typed(p, "W1")
        kept = all(symbolic_determinant_kept(k) for k in range(1, W0.nrows() + 1))
        return bool(kept and W0.det() != W1.det()), f"det W₀ = {W0.det()}, det W₁ = {W1.det()}, and det C(K) = 1"

    def second(p: Parameters) -> Found:
        W0, W1 = again.read(p, "W0"), again.read(p, "W1")
        a, b = again.determinant(W0)[0], again.determinant(W1)[0]
        return determinant_kept_on_grid(len(W0)) and a != b, f"det W₀ = {a}, det W₁ = {b}, det(I − K) = det(I + K)"

    return Statement(
        "real steps (1) from W₀ to W₁: both determinants",
        lambda: "",
        points,
        first,
        second,
        claimed="reached",
        parameters=declared(
            Parameter("W0", Constant(exact.text(identity(n))), layout=in_rows(n)),
            Parameter("W1", Matrix(n, n, structure=ORTHOGONAL)),
        ),
    ).case(f"orthogonal, n = {n}", "W₁ reached from W₀ = I")


def symbolic_determinant_kept(n: int) -> bool:
    """det(I − K) = det(I + K) for skew K with free entries: det C(K) = 1."""
    K, _, _ = symbolic.skew(n)
    return bool(symbolic.determinant(symbolic.shifted(K, -1)) - symbolic.determinant(symbolic.shifted(K, 1)) == 0)


def determinant_kept_on_grid(n: int) -> bool:
    """The same: both sides have degree ≤ 2 in each entry, so agreement on {0, 1, 2}^(n(n−1)/2) is equality."""
    places = list(itertools.combinations(range(n), 2))
    for values in itertools.product((0, 1, 2), repeat=len(places)):
        K = [[again.ZERO] * n for _ in range(n)]
        for (i, j), value in zip(places, values, strict=True):
            K[i][j], K[j][i] = (Fraction(value), Fraction(0)), (Fraction(-value), Fraction(0))
        one = again.unit(n)
        if again.determinant(again.combined(one, K, 1)) != again.determinant(again.combined(one, K, -1)):
            return False
    return True


def same_determinant_case() -> Case:
    """Two real steps between any two signed permutations of one determinant."""

    def factors(Q: fmpq_mat) -> tuple[fmpq_mat, fmpq_mat] | None:
        """K₂ and K₁ with Q = C(K₂) C(K₁)."""
        n = Q.nrows()
        rng = random.Random(0)
        for _ in range(50):
            K = exact.rational_skew(n, rng)
            rest = Q * cayley(K).transpose()
            if (identity(n) + rest).det() != 0:
                return cayley(rest), K
        return None

    def multiply(Q: fmpq_mat, both: tuple[fmpq_mat, fmpq_mat]) -> bool:
        """Whether the two are factors, in FLINT and in fractions."""
        K2, K1 = both
        first = all(K.transpose() == -K for K in both) and cayley(K2) * cayley(K1) == Q
        typed = [again.read({"M": exact.text(M)}, "M") for M in (Q, K2, K1)]
        images = [again.cayley(K) for K in typed[1:]]
        second = all(map(again.is_skew, typed[1:])) and again.product(*filter(None, images)) == typed[0]
        if first != second:
            raise ArithmeticError(f"Q = {exact.text(Q)}: FLINT and fractions disagree whether C(K₂) C(K₁) is Q")
        return bool(first)

    def ask(_: Budget, __: int) -> Attempt:
        matrices = [Q for n in range(1, LARGEST + 1) for Q in exact.signed_permutations(n) if Q.det() == 1]
        reached = sum((both := factors(Q)) is not None and multiply(Q, both) for Q in matrices)
        text = f"Q = C(K₂) C(K₁), exactly, K₁ and K₂ real and skew, for {reached} of {len(matrices)} Q"
        proof = text if reached == len(matrices) else ""
        return Attempt(text, len(matrices), found="2 steps", claimed="reached", proof=proof, twice=BOTH)

    return Case(f"signed permutations of one determinant, n ≤ {LARGEST}", "W₁ reached from W₀ = I", ask)


def descent_identity(n: int) -> bool:
    """2 Re tr(X* B) = ‖B‖_F², B = X − X*; Re tr(G* B W) = Re tr(W G* B) = Re tr(X* B)."""
    (X,) = symbolic.complex_general(n, "x")
    B = symbolic.difference(X, symbolic.adjoint(X))
    trace = symbolic.real_trace(symbolic.complex_product(symbolic.adjoint(X), B))
    return bool(2 * trace - symbolic.squared_norm(B) == 0)


# --- W = C(A) D


def fixed_signs_case(domain: str, W: tuple[int, ...], signs: tuple[int, ...]) -> Case:
    """W = C(A) D for some skew A, D as given: so it is if and only if det(I + W D) ≠ 0.   thm-SC-comp"""
    diagonal_of_D = " ".join(map(str, signs))
    points = ({"W": " ".join(map(str, W)), "D": diagonal_of_D},)

    def first(p: Parameters) -> Found:
        matrix, D = exact.typed(p), diagonal([int(d) for d in numbers(p, "D")])
        determinant = (identity(D.nrows()) + matrix * D).det()
        missed = symbolic.misses_minus_one() and symbolic.is_involution() and determinant == 0
        return bool(missed), f"det(I + W D) = {determinant}, det W = {matrix.det()}, det D = {D.det()}"

    def second(p: Parameters) -> Found:
        Z = again.scaled(again.read(p, "W"), [(Fraction(d), Fraction(0)) for d in p["D"].split()])
        determinant = again.determinant(again.combined(again.unit(len(Z)), Z, 1))
        return (
            determinant == again.ZERO,
            f"det(I + W D) = {determinant[0]}, but det(I + C(A)) = 2^n/det(I + A) for every A",
        )

    n = len(signs)
    structure = orthogonal_of(int(exact.square(W).det().p))
    statement = Statement(
        "det(I + W D) for one D against 0",
        lambda: "",
        lambda _, __: points,
        first,
        second,
        claimed="reached",
        parameters=declared(Parameter("D", Constant(diagonal_of_D)), Parameter("W", Matrix(n, n, structure=structure))),
    )
    return statement.case(domain, "W = C(A) D")


def free_signs_case(mean: int = 1) -> Case:
    """Every orthogonal W is C(A) D for some D."""

    def decide() -> str:
        return listed(
            (
                f"Σ over D of det(I + W D) = 2ⁿ for free entries of W, n ≤ {LARGEST + 1}, so some det(I + W D) ≥ 1",
                up_to(LARGEST + 1, lambda n: symbolic.average_is(n, mean)),
            ),
            (
                "Z* = Z⁻¹ with det(I + Z) ≠ 0: A = C(Z) is skew and C(A) = Z",
                symbolic.inverse_is_skew() and symbolic.is_involution(),
            ),
        )

    def points(budget: Budget, seed: int) -> Iterator[Parameters]:
        rng = random.Random(seed)
        matrices = [*exact.signed_permutations(2), *(exact.rational_orthogonal(2 + k % 4, rng) for k in range(20))]
        return ({"W": exact.text(W)} for W in matrices)

    def first(p: Parameters) -> Found:
        W = exact.typed(p)
        n = W.nrows()
        determinants = [(identity(n) + W * diagonal(d)).det() for d in exact.signatures(n)]
        return all(x < mean for x in determinants), f"largest det(I + W D) = {max(determinants)}"

    def second(p: Parameters) -> Found:
        W = again.read(p, "W")
        determinants = []
        for mask in range(2 ** len(W)):
            Z = again.scaled(W, [(Fraction(1 - 2 * (mask >> k & 1)), Fraction(0)) for k in range(len(W))])
            determinants.append(again.determinant(again.combined(again.unit(len(W)), Z, 1))[0])
        return all(x < mean for x in determinants), f"largest det(I + W D) = {max(determinants)}"

    statement = Statement(
        f"largest det(I + W D) over D against {mean}",
        decide,
        points,
        first,
        second,
        "reached",
        "reached",
        parameters=declared(orthogonal("W", LARGEST + 1)),
    )
    return statement.case(f"D free, n ≤ {LARGEST + 1}", "W = C(A) D")
