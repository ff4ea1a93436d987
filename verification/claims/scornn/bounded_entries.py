# Claims: sco-3.1d · sco-T3.1 · sco-T3.1-attr · sco-3.1-cplx · sco-3.1-bdd
"""Theorem 3.1 of scornn, W = C(A) D with |a_ij| ≤ 1, and what is said about it: Sections 1 and 3.1."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction

import flint
import numpy as np
import torch
from flint import arb, fmpq, fmpq_mat

from odernn.orthogonal.cayley import DEFAULT_TAU, scaled_cayley, scaled_cayley_inverse
from odernn.published.sources import Source
from verification.adversary import orthogonal_matrices as search
from verification.cases.cayley_entries import angle_case, complex_signs_case
from verification.cases.cayley_statements import Found, Statement, identity_case, listed, up_to
from verification.cases.scornn_parameters import (
    WITH_TRANSFORM,
    WITHOUT_MINUS_ONE,
    order,
    orthogonal,
    phases,
    skew_hermitian,
    square_like,
)
from verification.certify.second import cayley as again
from verification.certify.second import intervals as intervals
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import number, numbers
from verification.kinds import Integer, Matrix, Rational, Square
from verification.measure import cayley_exact as exact
from verification.measure import cayley_symbols as symbolic
from verification.measure.exact_cayley import cayley, diagonal, identity
from verification.parameters import Parameter, declared

BITS = 128
LARGEST = 5
"""Sizes n up to here are decided with free entries of W and of A."""
MOST_STEPS = 20_000
"""Steps of gradient descent that are replayed: a second for either back-end."""


# --- Theorem 3.1


def real_case(bound: Fraction = Fraction(1)) -> Case:
    """min over D in {±1}ⁿ of max |a_ij| ≤ bound, every orthogonal W."""

    def decide() -> str:
        return listed(
            (
                f"Σ over D of det(I + W D) = 2ⁿ for free entries of W, n ≤ {LARGEST}: the largest is at least 1",
                up_to(LARGEST, symbolic.average_is),
            ),
            (
                f"negating the columns j, k multiplies it by det(A_SS), S = {{j, k}}, for free entries of A, n ≤ "
                f"{LARGEST}, so by a_jk² for skew A, and at the largest that is at most 1",
                up_to(LARGEST, symbolic.exchange) and bound >= 1,
            ),
        )

    def points(budget: Budget, seed: int) -> Iterator[Parameters]:
        rng = random.Random(seed)
        matrices = [W for n in (1, 2, 3) for W in exact.signed_permutations(n)]
        matrices += [exact.rational_orthogonal(2 + k % 4, rng) for k in range(12)]
        return ({"W": exact.text(W)} for W in matrices)

    def first(p: Parameters) -> Found:
        least = exact.least_largest_squared(exact.typed(p), is_complex=False)
        limit = fmpq(*(bound * bound).as_integer_ratio())
        return bool(least > limit), f"least max |a_ij|² over all D: {least}, claimed {limit}"

    def second(p: Parameters) -> Found:
        least = again.least_largest(again.read(p, "W"))
        return least > bound * bound, f"{least} against {bound * bound}"

    statement = Statement(
        f"least max |a_ij| over D against {bound}",
        decide,
        points,
        first,
        second,
        "at most 1",
        str(bound),
        parameters=declared(orthogonal("W", LARGEST)),
    )
    return statement.case(f"orthogonal W, n ≤ {LARGEST}", "least max |a_ij| over D in {±1}ⁿ")


def search_case() -> Case:
    """The worst W that ascent finds, all 2ⁿ signatures tried at each; the control is n = 2, where the worst is 1."""

    def ask(budget: Budget, seed: int) -> Attempt:
        worst_by_size = {n: search.worst_orthogonal(n, budget, seed) for n in range(2, 7)}
        count = sum(best.evaluations for best in worst_by_size.values())
        worst = max(each.value for n, each in worst_by_size.items() if n > 2)
        return Attempt(
            f"{count:,} orthogonal matrices, n = 2..6, all signatures of each",
            count,
            log_measured=float(np.log(worst)),
            log_claimed=0.0,
            control=min(1.0, worst_by_size[2].value),
        )

    return Case("orthogonal W, n = 3..6, floats", "least max |a_ij| over D in {±1}ⁿ", ask, is_search=True)


SIZES = {"smoke": (64, 128), "standard": (64, 128, 256), "deep": (64, 128, 256, 512)}


def algorithm_case() -> Case:
    """``scaled_cayley_inverse`` of Haar matrices and of the Householder matrix of (1, .., 1): max |a_ij| ≤ τ."""

    def ask(budget: Budget, seed: int) -> Attempt:
        generator = torch.Generator().manual_seed(seed)
        worst, gap, flips, count = 0.0, 0.0, 0, 0
        for n in SIZES[budget.name]:
            Q, R = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64, generator=generator))
            ones = torch.eye(n, dtype=torch.float64) - 2 / n
            for W in (Q * torch.sign(R.diagonal()), ones):
                inverse = scaled_cayley_inverse(W)
                worst, flips, count = max(worst, float(inverse.A.abs().max())), max(flips, inverse.flips), count + 1
                gap = max(gap, float((scaled_cayley(inverse.A, inverse.signs, refine=True) - W).abs().max()))
        return Attempt(
            f"n up to {max(SIZES[budget.name])}, at most {flips} exchanges, max |C(A) D − W| = {gap:.1e}",
            count,
            log_measured=float(np.log(worst)),
            log_claimed=float(np.log(DEFAULT_TAU)),
        )

    return Case("the algorithm, float64, n ≥ 64", "max |a_ij| against 1 + 2^-20", ask)


# --- the reference


def attribution_case(real: bool = False) -> Case:
    """The reference has D diagonal unitary: at a real W its conclusion (zero diagonal, |s_jk| ≤ 1) forces D in {±1}ⁿ.

    Only then is Theorem 3.1 its special case. ``real`` = True asks it with D in {±1}ⁿ from the start.
    """
    points = ({"W": "0 -1 1 0", "D_re": "3/5 3/5", "D_im": "4/5 -4/5"}, {"W": "0 -1 1 0", "D_re": "1 1", "D_im": "0 0"})

    def first(p: Parameters) -> Found:
        W = exact.typed(p)
        big = exact.embedded(W, 0 * W) * exact.scaling(numbers(p, "D_re"), numbers(p, "D_im"))
        if (identity(big.nrows()) + big).det() == 0:
            return False, "W D has the eigenvalue −1: there is no S"
        S = exact.moduli_squared(cayley(big), is_complex=True)
        n = W.nrows()
        concluded = all(S[i * n + i] == 0 for i in range(n)) and max(S) <= 1
        other = any(y != 0 for y in numbers(p, "D_im"))
        return concluded and other, f"D {'not ' * other}real, S as concluded: {concluded}, max |s_jk|² = {max(S)}"

    def second(p: Parameters) -> Found:
        D = list(zip(map(Fraction, p["D_re"].split()), map(Fraction, p["D_im"].split()), strict=True))
        S = again.cayley(again.scaled(again.read(p, "W"), D))
        concluded = S is not None and all(row[i] == again.ZERO for i, row in enumerate(S)) and max(again.sizes(S)) <= 1
        return concluded and any(y for _, y in D), f"concluded: {concluded}, D = diag of {D}"

    def premises(p: Parameters) -> tuple[Premise, ...]:
        return (Premise("D is real", "–", not any(numbers(p, "D_im"))),) if real else ()

    statement = Statement(
        "D of Kahan 2006 at a real W against ±1",
        lambda: "",
        lambda _, __: points[1:] if real else points,
        first,
        second,
        premises=premises,
        claimed="±1",
        parameters=declared(orthogonal("W", LARGEST), *phases("D", order("W"))),
    )
    return statement.case("Kahan 2006 at real W" + ", D real" * real, "the D that its theorem provides")


# --- the complex case


def unitary_diagonal_case(mean: int = 1) -> Case:
    """For D diagonal unitary with the largest |det(I + W D)|: zero diagonal and |a_jk| ≤ 1. ``mean``: of det(I + W D)
    over D in {±1}ⁿ, and another is a planted falsehood.
    """
    most = LARGEST - 1

    def decide() -> str:
        alpha, s = symbolic.symbols("alpha", "s")
        # e = (1 + is)/(1 − is): |(1 + iα + e(1 − iα))/2|² = (1 + αs)²/(1 + s²), more than 1 at s = α unless α = 0
        excess = (1 + alpha * s) ** 2 - (1 + s * s)
        at = excess.compose(alpha, alpha)
        return listed(
            (
                f"Σ over D in {{±1}}ⁿ of det(I + W D) = 2ⁿ, n ≤ {most}: the largest |det| is at least 1",
                mean == 1 and up_to(most, symbolic.average_is),
            ),
            (
                f"a phase e at column j multiplies it by (1 + a_jj + e(1 − a_jj))/2, n ≤ {most}, of modulus² "
                "(1 + αs)²/(1 + s²) for a_jj = iα, e = (1 + is)/(1 − is), which is > 1 at s = α ≠ 0: so "
                "the diagonal is 0",
                up_to(most, symbolic.one_turn) and at == alpha**2 + alpha**4,
            ),
            (
                f"two signs multiply it by det(A_SS) = |a_jk|², n ≤ {most}, so that is at most 1",
                up_to(most, symbolic.exchange),
            ),
        )

    def first(p: Parameters) -> list[fmpq]:
        A, e = exact.typed(p, "A"), exact.square([number(p, "e")])[0, 0]
        n, one = A.nrows(), identity(A.nrows())
        differences = [sum(((one + A * diagonal(d)).det() for d in exact.signatures(n)), fmpq(0)) - mean * 2**n]
        for j in range(n):
            turn = identity(n)
            turn[j, j] = e
            formula = 2 ** (n - 1) * (1 + A[j, j] + e * (1 - A[j, j]))
            differences.append((one + A + (one - A) * turn).det() - formula)
        for j, k in itertools.combinations(range(n), 2):
            signs = diagonal([-1 if l in (j, k) else 1 for l in range(n)])
            minor = A[j, j] * A[k, k] - A[j, k] * A[k, j]
            differences.append((one + A + (one - A) * signs).det() - 2**n * minor)
        return differences

    def second(p: Parameters) -> list[again.Number]:
        return again.turns_of_columns(again.read(p, "A"), (Fraction(p["e"]), Fraction(0)), mean)

    parameters = declared(Parameter("A", Square(most, structure=WITH_TRANSFORM)), Parameter("e", Rational()))
    return identity_case(
        f"unitary W, D diagonal unitary, n ≤ {most}", "least max |a_jk| over D", decide, first, second, parameters
    )


def complex_bijection_case() -> Case:
    """Skew-Hermitian A to unitary W without eigenvalue −1 and back."""

    def decide() -> str:
        x = symbolic.X
        square = x.plus(1).times(x.negative().plus(1)).equals(x.times(x.negative()).plus(1))
        return listed(
            (
                "A* = −A: (I + A)*(I + A) = I + A*A ≥ I, C(A)* = C(A)⁻¹, I + C(A) = 2(I + A)⁻¹, as functions of A, "
                "all n",
                square and symbolic.image_is_unitary() and symbolic.misses_minus_one(),
            ),
            (
                "W* = W⁻¹, det(I + W) ≠ 0: C(W)* = −C(W), C(C(W)) = W, as functions of W",
                symbolic.inverse_is_skew() and symbolic.is_involution(),
            ),
        )

    def first(p: Parameters) -> list[fmpq]:
        A = exact.typed_complex(p, "A")
        one, W = identity(A.nrows()), cayley(A)
        back = cayley(W)
        differences = (
            (one + A).transpose() * (one + A) - one - A.transpose() * A,
            W.transpose() * W - one,
            (one + W) * (one + A) - one - one,
            back + back.transpose(),
            back - A,
        )
        return [entry for matrix in differences for entry in matrix.entries()]

    def second(p: Parameters) -> list[again.Number]:
        A = again.read(p, "A")
        W = again.cayley(A)
        returns = W is not None and again.is_unitary(W) and again.is_skew(A) and again.cayley(W) == A
        return [again.ZERO if returns else again.ONE]

    parameters = declared(*skew_hermitian("A", LARGEST - 1))
    return identity_case("skew-Hermitian A", "A → C(A) and back", decide, first, second, parameters)


def complex_gradient_case(factor: Fraction = Fraction(1, 2), conjugated: bool = True) -> Case:
    """dL = ½ Re tr((V* − V)* dA), V = (I + A)⁻*(∂L/∂W)(D* + W*), dL = Re tr((∂L/∂W)* dW): Theorem 3.2 with * for T.

    D is diagonal unitary. That dL is read so, and the factor ½ that goes with it, is a convention of ours: the paper
    defines no complex gradient. ``conjugated`` = False has D in the place of D*, a planted falsehood.
    """
    share = fmpq(*factor.as_integer_ratio())

    def halved(n: int) -> bool:
        V, Y = symbolic.complex_general(n, "v", "y")
        dA = symbolic.difference(Y, symbolic.adjoint(Y))
        slope = -symbolic.real_trace(symbolic.complex_product(symbolic.adjoint(V), dA))
        formula = symbolic.difference(symbolic.adjoint(V), V)
        along = symbolic.real_trace(symbolic.complex_product(symbolic.adjoint(formula), dA))
        return bool(slope - share * along == 0)

    def decide() -> str:
        return listed(
            (
                "(I + A) dW = −dA (D + W), so dL = −Re tr(V* dA): Re tr(G* R dA S) = Re tr((R* G S*)* dA) for free R, "
                "here (I + A)⁻¹, free S, here D + W, and every G, as polynomials, n ≤ 2",
                up_to(2, moved) and conjugated,
            ),
            (
                "that is ½ Re tr((V* − V)* dA) for skew-Hermitian dA, as polynomials in V and dA, n ≤ 3",
                up_to(3, halved),
            ),
        )

    def first(p: Parameters) -> list[fmpq]:
        """dL of dW = −(I + A)⁻¹ dA (D + W), traces of embedded matrices."""
        A, dA, G = (exact.typed_complex(p, name) for name in ("A", "dA", "G"))
        D, one = exact.scaling(numbers(p, "D_re"), numbers(p, "D_im")), identity(A.nrows())
        W, inverse = cayley(A) * D, (one + A).inv()
        V = inverse.transpose() * G * ((D.transpose() if conjugated else D) + W.transpose())
        slope, formula = -inverse * dA * (D + W), V.transpose() - V
        return [_trace(G.transpose() * slope) - share * _trace(formula.transpose() * dA)]

    def second(p: Parameters) -> list[Fraction]:
        A, dA, G = (again.read(p, name) for name in ("A", "dA", "G"))
        D = list(zip(*(map(Fraction, p[name].split()) for name in ("D_re", "D_im")), strict=True))
        return [again.complex_gradient_difference(A, dA, G, D, factor, conjugated)]

    A, dA = skew_hermitian("A", 3), skew_hermitian("dA", 3, like="A_re")
    G = [Parameter(name, square_like("A_re")) for name in ("G_re", "G_im")]
    parameters = declared(*A, *dA, *G, *phases("D", order("A_re")))
    domain = "skew-Hermitian A, n ≤ 3" + ", D as it stands" * (not conjugated)
    return identity_case(domain, "Theorem 3.2 with * for T", decide, first, second, parameters)


def _trace(M: fmpq_mat) -> fmpq:
    return sum((M[i, i] for i in range(M.nrows())), fmpq(0))


def moved(n: int, starred: bool = True) -> bool:
    """Re tr(G* R dA S) = Re tr(V* dA), V = R* G S*; with ``starred`` = False V = R G S*."""
    G, R, dA, S = symbolic.complex_general(n, "g", "r", "a", "s")
    times, star = symbolic.complex_product, symbolic.adjoint
    V = times(times(star(R) if starred else R, G), star(S))
    left = symbolic.real_trace(times(times(times(star(G), R), dA), S))
    return bool(left - symbolic.real_trace(times(star(V), dA)) == 0)


# --- 3.1: eigenvalues near −1


def near_case(share: int = 1) -> Case:
    """For D = I: to every M a W that needs max |a_ij| = M, n = 2; or ``share`` of it, a planted falsehood."""

    def decide() -> str:
        (t,) = symbolic.symbols("t")
        # (1 + t²) C([[0, t], [−t, 0]]) = [[1 − t², −2t], [2t, 1 − t²]]: (I + A) times it is (1 + t²)(I − A)
        W, A = [[1 - t * t, -2 * t], [2 * t, 1 - t * t]], [[0 * t, t], [-t, 0 * t]]
        left = symbolic.product(symbolic.shifted(A, 1), W)
        right = [[(1 + t * t) * x for x in row] for row in symbolic.shifted(A, -1)]
        return listed(
            ("C([[0, t], [−t, 0]]) = [[1 − t², −2t], [2t, 1 − t²]]/(1 + t²), eigenvalues −1 + (2 ± 2it)/(1 + t²), "
             "as polynomials in t", left == right),
            ("A is determined by W, so max |a_ij| = |t| without bound", share == 1 and symbolic.is_involution()),
        )  # fmt: skip

    def first(p: Parameters) -> list[fmpq]:
        t = exact.square([number(p, "t")])[0, 0]
        A, W = fmpq_mat(2, 2, [0, t, -t, 0]), fmpq_mat(2, 2, [1 - t**2, -2 * t, 2 * t, 1 - t**2]) / (1 + t**2)
        return [*(cayley(A) - W).entries(), *(share * cayley(W) - A).entries()]

    def second(p: Parameters) -> list[Fraction]:
        t = Fraction(p["t"])
        A = [[again.ZERO, (t, Fraction(0))], [(-t, Fraction(0)), again.ZERO]]
        (a, b), (c, d) = again.cayley(A) or [[again.ZERO] * 2] * 2
        trace, determinant = a[0] + d[0], a[0] * d[0] - b[0] * c[0]  # of −1 + (2 ± 2it)/(1 + t²): −2 + 4/(1 + t²), 1
        back = (again.cayley([[a, b], [c, d]]) or A)[0][1][0]
        return [trace + 2 - 4 / (1 + t * t), determinant - 1, share * back - t]

    return identity_case(
        "n = 2, D = I",
        "max |a_ij| for eigenvalues near −1",
        decide,
        first,
        second,
        declared(Parameter("t", Rational())),
    )


# --- 3.1: boundedness of A


def fixed_entry_case() -> Case:
    """max |a_ij| ≤ 1 for the A of a W with D as given, D = I."""

    def points(_: Budget, __: int) -> Iterator[Parameters]:
        yield {"W": "-3/5 -4/5 4/5 -3/5"}

    def first(p: Parameters) -> Found:
        size = max(exact.moduli_squared(cayley(exact.typed(p)), is_complex=False))
        return bool(size > 1), f"max |a_ij|² = {size} for D = I"

    def second(p: Parameters) -> Found:
        A = again.cayley(again.read(p, "W"))
        return A is not None and max(again.sizes(A)) > 1, f"max |a_ij|² = {A and max(again.sizes(A))}"

    statement = Statement(
        "max |a_ij| against 1",
        lambda: "",
        points,
        first,
        second,
        claimed="1",
        parameters=declared(Parameter("W", Matrix(2, 2, structure=WITHOUT_MINUS_ONE))),
    )
    return statement.case("D fixed, n = 2", "max |a_ij| of the A of W")


def descent_case(bound: int, learning_rate: Fraction = Fraction(1, 4), towards: int = -1) -> Case:
    """max |a_ij| ≤ bound along gradient descent, D fixed: n = 2, D = I, A = a E, L = ½‖W − towards·I‖_F².

    ½‖W + I‖² = 4/(1 + a²) and its derivative is −8a/(1 + a²)²; ½‖W − I‖² = 4a²/(1 + a²), derivative 8a/(1 + a²)².
    """

    def ask(_: Budget, __: int) -> Attempt:
        a, steps = 0.5, 0
        rate = float(learning_rate)
        while abs(a) <= bound and steps < 10 * bound**4 + 100:
            a, steps = a + towards * -8 * rate * a / (1 + a * a) ** 2, steps + 1
        text = f"from a = 1/2 at learning rate {learning_rate}: |a| = {abs(a):.6g} after {steps} steps"
        candidates = ({"a": "1/2", "rate": str(learning_rate), "steps": str(steps)},) if abs(a) > bound else ()
        return Attempt(text, steps, found=f"{abs(a):.6g}", claimed=str(bound), candidates=candidates)

    def check(p: Parameters) -> Check:
        steps, rate, start = int(number(p, "steps")), number(p, "rate"), number(p, "a")
        with flint.ctx.workprec(4 * BITS):
            a, share = (arb(fmpq(x.numerator, x.denominator)) for x in (start, rate))
            for _ in range(steps):
                a = a - towards * 8 * share * a / (1 + a * a) ** 2
            first, shown = bool(abs(a) > bound), a.str(8, radius=False)
        other, text = _descent_again(p, bound, towards)
        sign = "+" if towards == -1 else "−"
        return Check(
            opinions=(Opinion("balls", first, f"a = {shown}"), Opinion("mpmath", other, text)),
            words=f"n = 2, D = I, L = ½‖W {sign} I‖²: from a = {start} at learning rate {rate}, a = {shown} "
            f"after {steps} steps; while |a| ≤ M a step adds at least 8·rate·|a₀|/(1 + M²)², so every M is passed",
        )

    parameters = declared(
        Parameter("a", Rational(least=-1, most=1)),
        Parameter("rate", Rational(above=0, most=1)),
        Parameter("steps", Integer(1, MOST_STEPS)),
    )
    return Case(f"gradient descent, D fixed, n = 2, bound {bound}", "max |a_ij|", ask, parameters.guards(check))


def _descent_again(p: Parameters, bound: int, towards: int) -> tuple[bool, str]:
    """Theorem 3.2 for 2 × 2 matrices in mpmath's intervals: W, ∂L/∂W = W − T and V entry by entry."""
    iv = intervals.iv
    with iv.workprec(4 * BITS):
        a, rate = intervals.number(p["a"]), intervals.number(p["rate"])
        for _ in range(int(p["steps"])):
            under = 1 + a * a
            c, s = (1 - a * a) / under, -2 * a / under  # W = [[c, s], [−s, c]]
            g = ((c - towards, s), (-s, c - towards))
            h = ((c + 1, -s), (s, c + 1))  # D + Wᵀ
            M = [[g[i][0] * h[0][j] + g[i][1] * h[1][j] for j in (0, 1)] for i in (0, 1)]
            # (I + A)⁻ᵀ = [[1, −a], [a, 1]]⁻¹ = [[1, a], [−a, 1]]/(1 + a²)
            v12, v21 = (M[0][1] + a * M[1][1]) / under, (M[1][0] - a * M[0][0]) / under
            a = a - rate * (v21 - v12)
        return bool(abs(a).a > bound), f"a = {float(a.mid):.8g}"


CLAIMS = (
    Claim(
        id="sco-3.1d",
        source=Source("scornn", "Sec. 3.1"),
        statement="some orthogonal matrices with eigenvalues near −1, and none equal to it, need large entries of A = "
        "C(W): without bound as the eigenvalues approach −1",
        semantics="real",
        dominated_by="thm-SC-norm",
        cases=(near_case(), angle_case()),
    ),
    Claim(
        id="sco-T3.1",
        source=Source("scornn", "Thm 3.1"),
        statement="every orthogonal W equals (I + A)⁻¹(I − A) D with A real skew-symmetric, |a_ij| ≤ 1, D diagonal "
        "with entries ±1",
        semantics="real",
        dominated_by="thm-SC-exist",
        cases=(real_case(), search_case(), algorithm_case()),
    ),
    Claim(
        id="sco-T3.1-attr",
        source=Source("scornn", "Sec. 3.1"),
        statement='Theorem 3.1 is attributed to "results from Kahan (2006)": its theorem (W unitary, D diagonal '
        "unitary, S = C(W D) with zero diagonal and |s_jk| ≤ 1) has Theorem 3.1 as its special case of real W, so "
        "every D that it provides there is ±1. (The reference's version of 2015 credits the case of real W and D = ±1 "
        "to O'Dorney 2014.)",
        semantics="reading",
        cases=(attribution_case(),),
    ),
    Claim(
        id="sco-3.1-cplx",
        source=Source("scornn", "Sec. 1"),
        statement="the complex case, W unitary and A skew-Hermitian: Theorem 3.1 with D diagonal unitary, the "
        "bijection, and Theorem 3.2 with V = (I + A)⁻*(∂L/∂W)(D + W)*, ∂L/∂A = V* − V",
        semantics="real",
        dominated_by="thm-SC-comp",
        cases=(
            complex_signs_case(),
            unitary_diagonal_case(),
            complex_bijection_case(),
            complex_gradient_case(),
            complex_gradient_case(conjugated=False),
        ),
    ),
    Claim(
        id="sco-3.1-bdd",
        source=Source("scornn", "Sec. 3.1"),
        statement="with D chosen for W, the scaled transform has an A with bounded entries: a corollary of Theorem 3.1",
        semantics="real",
        dominated_by="thm-SC-norm",
        cases=(real_case(), fixed_entry_case(), descent_case(1), descent_case(10)),
    ),
)
