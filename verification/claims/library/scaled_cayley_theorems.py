# Claims: thm-SC-flip · thm-SC-lu · thm-SC-exist · thm-SC-norm · thm-SC-comp · thm-SC-grad · thm-U2
"""The library's own theorems about W = C(A) D and the multiplicative update, thm-SC-* and thm-U2, on trial."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import torch
from flint import fmpq, fmpq_mat

from odernn.bounds import orthogonal as bounds
from odernn.orthogonal.cayley import scaled_cayley_inverse
from odernn.published.sources import Source
from verification.cases.cayley_entries import angle_case, complex_signs_case
from verification.cases.cayley_reach import descent_identity, free_signs_case, symbolic_determinant_kept
from verification.cases.cayley_statements import identity_case, listed, up_to
from verification.cases.scornn_parameters import (
    WITH_TRANSFORM,
    WITHOUT_MINUS_ONE,
    complex_matrices,
    order,
    signs,
    square_like,
)
from verification.certify.second import cayley as again
from verification.claim import BOTH, Attempt, Case, Claim, Parameters
from verification.domains import Budget
from verification.exact_text import numbers
from verification.kinds import SKEW, Square
from verification.measure import cayley_exact as exact
from verification.measure import cayley_symbols as symbolic
from verification.measure import exact_cayley as library
from verification.measure import reflection_ranks as ranks
from verification.measure.cayley_factors import cayley, two_cayley_factors
from verification.measure.exact_cayley import diagonal, identity
from verification.parameters import Parameter, declared

PAGE = "docs/derivations/scaled_cayley.md"
DRAWS = {"smoke": 20, "standard": 100, "deep": 500}
LARGEST = 5
"""Sizes n up to here are decided with free entries."""


def sampled_case(domain: str, quantity: str, holds: Callable[[fmpq_mat], bool], sizes: tuple[int, ...]) -> Case:
    """A statement about rational orthogonal matrices, exactly, for random ones and all signed permutations n ≤ 3."""

    def matrices(budget: Budget, seed: int) -> Iterator[fmpq_mat]:
        rng = random.Random(seed)
        for n in (1, 2, 3):
            yield from exact.signed_permutations(n)
        for k in range(DRAWS[budget.name]):
            yield exact.rational_orthogonal(sizes[k % len(sizes)], rng)

    def ask(budget: Budget, seed: int) -> Attempt:
        tried = list(matrices(budget, seed))
        broken = [W for W in tried if not holds(W)]
        if broken:
            raise ArithmeticError(f"{quantity}: does not hold at W = {exact.text(broken[0])}")
        return Attempt(
            f"{len(tried)} rational orthogonal matrices, exactly", len(tried), found="holds", claimed="holds"
        )

    return Case(domain, quantity, ask)


# --- thm-SC-flip, thm-SC-lu, thm-SC-exist


def is_pivot_transform(W: fmpq_mat) -> bool:
    """For every S with det A_SS ≠ 0 the Cayley transform with the columns S negated is the pivot transform of A."""
    n = W.nrows()
    Z = W * diagonal(library.lu_signs(W))
    A = library.cayley(Z)
    for S in (S for size in range(1, n + 1) for S in itertools.combinations(range(n), size)):
        block = fmpq_mat(len(S), len(S), [A[i, j] for i in S for j in S])
        flipped = Z * diagonal([-1 if j in S else 1 for j in range(n)])
        if (identity(n) + flipped).det() != (identity(n) + Z).det() * block.det():
            return False
        if block.det() != 0 and library.cayley(flipped) != _pivoted(A, S, block.inv()):
            return False
    return True


def _pivoted(A: fmpq_mat, S: tuple[int, ...], inverse: fmpq_mat) -> fmpq_mat:
    """A'_SS = A_SS⁻¹, A'_SR = A_SS⁻¹ A_SR, A'_RS = −A_RS A_SS⁻¹, A'_RR = A_RR − A_RS A_SS⁻¹ A_SR."""
    n = A.nrows()
    R = [j for j in range(n) if j not in S]
    new = fmpq_mat(n, n)
    for a, i in enumerate(S):
        for b, j in enumerate(S):
            new[i, j] = inverse[a, b]
        for j in R:
            new[i, j] = sum((inverse[a, b] * A[k, j] for b, k in enumerate(S)), fmpq(0))
    for i in R:
        for b, j in enumerate(S):
            new[i, j] = -sum((A[i, k] * inverse[a, b] for a, k in enumerate(S)), fmpq(0))
        for j in R:
            new[i, j] = A[i, j] - sum((A[i, k] * new[k, j] for k in S), fmpq(0))
    return new


def has_large_pivots(W: fmpq_mat) -> bool:
    """|det(W + D)| ≥ 1 for ``lu_signs``, and W D has no eigenvalue −1."""
    d = library.lu_signs(W)
    return bool(abs((W + diagonal(d)).det()) >= 1 and library.image_determinant(W, d) != 0)


def is_represented(W: fmpq_mat) -> bool:
    """W = C(A) D with |a_ij| ≤ 1, the potential growing with every exchange and never above 2ⁿ."""
    representation = library.bounded_representation(W)
    n = W.nrows()
    grows = all(a < b for a, b in itertools.pairwise(representation.potential))
    return bool(
        library.cayley(representation.A) * diagonal(representation.signs) == W
        and representation.A.transpose() == -representation.A
        and max(exact.moduli_squared(representation.A, is_complex=False)) <= 1
        and grows
        and 1 <= representation.potential[0] <= representation.potential[-1] <= 2**n
        and representation.flips <= 2 ** (n - 1)
    )


def exchange_case(factor: int = 1) -> Case:
    """det(I + C(A) E) = ``factor`` det(I + C(A)) det A_SS, E = −1 on S and 1 elsewhere; another factor is a planted
    falsehood, here and below.
    """

    def decide() -> str:
        good = up_to(LARGEST, lambda n: symbolic.exchange(n, factor))
        return listed((f"every S and every A with free entries, n ≤ {LARGEST}", good))

    def first(p: Parameters) -> list[fmpq]:
        A, E = exact.typed(p, "A"), [int(sign) for sign in numbers(p, "E")]
        S, one = [j for j, sign in enumerate(E) if sign < 0], identity(len(E))
        block = fmpq_mat(len(S), len(S), [A[i, j] for i in S for j in S])
        return [(one + A + (one - A) * diagonal(E)).det() - factor * 2 ** len(E) * (block.det() if S else 1)]

    def second(p: Parameters) -> list[again.Number]:
        A, E = again.read(p, "A"), [(Fraction(sign), Fraction(0)) for sign in p["E"].split()]
        Z, one = again.cayley(A), again.unit(len(A))
        assert Z is not None
        S = [j for j, sign in enumerate(E) if sign != again.ONE]
        turned, as_it_is = (again.determinant(again.combined(one, M, 1)) for M in (again.scaled(Z, E), Z))
        claimed = again.times(as_it_is, again.determinant([[A[i][j] for j in S] for i in S]))
        return [again.minus(turned, again.times((Fraction(factor), Fraction(0)), claimed))]

    parameters = declared(Parameter("A", Square(LARGEST, structure=WITH_TRANSFORM)), Parameter("E", signs(order("A"))))
    return identity_case(f"n ≤ {LARGEST}", "det(I + Z')/det(I + Z)", decide, first, second, parameters)


def flips_case(tau: float = 1.25) -> Case:
    """Exchanges of the float algorithm against n log 2/(2 log τ), from starts that need them."""

    def ask(budget: Budget, seed: int) -> Attempt:
        generator = torch.Generator().manual_seed(seed)
        flipped = []
        for n in (8, 16, 32, 64):
            for _ in range(DRAWS[budget.name] // 10):
                Q, _r = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64, generator=generator))
                flips = scaled_cayley_inverse(Q, tau).flips
                flipped.append((flips, float(np.exp(bounds.log_most_flips(size=n, log_tau=float(np.log(tau)))))))
        worst, most = max(flipped, key=lambda pair: pair[0] / pair[1])
        return Attempt(
            f"{len(flipped)} Haar matrices, n = 8..64, τ = {tau}",
            len(flipped),
            log_measured=float(np.log(max(worst, 0.5))),
            log_claimed=float(np.log(most)),
            found=str(worst),
            claimed=f"{most:.1f}",
        )

    return Case("float64, n = 8..64", "exchanges against n log 2/(2 log τ)", ask)


# --- thm-SC-norm


def condition_case() -> Case:
    """κ₂(I + A) against 1/sin(π/(2n)), and eigen-angles against π − π/n: random sign matrices, and the extreme one."""

    def ask(budget: Budget, seed: int) -> Attempt:
        rng = np.random.default_rng(seed)
        conditions = []
        for n in (2, 3, 5, 8, 13, 32):
            extreme = np.sign(np.arange(n)[None, :] - np.arange(n)[:, None]).astype(float)
            drawn = [np.triu(rng.choice((-1.0, 1.0), (n, n)), 1) for _ in range(DRAWS[budget.name])]
            for A in (extreme, *(upper - upper.T for upper in drawn)):
                s = np.linalg.svd(np.eye(n) + A, compute_uv=False)
                angle = 2 * np.arctan(np.linalg.norm(A, 2))
                pairs = (
                    (np.log(s[0] / s[-1]), bounds.log_condition(size=n)),
                    (np.log(angle), bounds.log_largest_angle(size=n)),
                    (bounds.log_smallest_entry(angle=angle, size=n), 0.0),
                    (
                        bounds.log_simple_smallest_entry(angle=angle, size=n),
                        bounds.log_smallest_entry(angle=angle, size=n),
                    ),
                )
                conditions += [(float(a), float(b)) for a, b in pairs]
        measured, claimed = max(conditions, key=lambda pair: pair[0] - pair[1])
        return Attempt(
            f"{len(conditions)} comparisons, n = 2..32", len(conditions), log_measured=measured, log_claimed=claimed
        )

    return Case("float64, n = 2..32", "κ₂(I + A), eigen-angles, least entries", ask)


# --- thm-SC-comp, thm-SC-grad, thm-U2


def image_case() -> Case:
    """C takes every skew A to an orthogonal W of determinant 1 without the eigenvalue −1, and every such W back."""

    def decide() -> str:
        return listed(
            (
                f"det(I − A) = det(I + A) for skew A with free entries, n ≤ {LARGEST}: det C(A) = 1",
                up_to(LARGEST, symbolic_determinant_kept),
            ),
            (
                "I + C(A) = 2(I + A)⁻¹, C(C(Z)) = Z and C(Z)* = −C(Z) where det(I + Z) ≠ 0, all n: "
                "image det(I + W D) ≠ 0",
                symbolic.misses_minus_one() and symbolic.is_involution() and symbolic.inverse_is_skew(),
            ),
        )

    def first(p: Parameters) -> list[fmpq]:
        A, W = exact.typed(p, "A"), exact.typed(p, "W")
        image, back = library.cayley(A), library.cayley(W)
        one = identity(A.nrows())
        differences = [
            (one + image) * (one + A) - one - one,
            image.transpose() * image - one,
            library.cayley(image) - A,
            back + back.transpose(),
            library.cayley(back) - W,
        ]
        return [image.det() - 1, *(x for matrix in differences for x in matrix.entries())]

    def second(p: Parameters) -> list[again.Number]:
        A, W = again.read(p, "A"), again.read(p, "W")
        image, back = again.cayley(A), again.cayley(W)
        assert image is not None and back is not None
        there, here = again.cayley(image), again.cayley(back)
        kept = there == A and here == W and again.is_unitary(image) and again.is_skew(back)
        return [again.minus(again.determinant(image), again.ONE), again.ZERO if kept else again.ONE]

    parameters = declared(
        Parameter("A", Square(LARGEST, structure=SKEW)), Parameter("W", Square(LARGEST, structure=WITHOUT_MINUS_ONE))
    )
    return identity_case(f"n ≤ {LARGEST}", "image for one D", decide, first, second, parameters)


def gradient_case(factor: int = 1) -> Case:
    """dL = ``factor`` Σ_{i<j} (Vᵀ − V)_ij da_ij, L = ΣΣ g_kl w_kl: by implicit differentiation, and by finite
    differences, which are exact for the polynomials that W is a quotient of.
    """

    def decide() -> str:
        good = up_to(4, lambda n: all(symbolic.gradient_holds(n, D, factor) for D in exact.signatures(n)))
        return listed(("every L = W_kl and every D, as rational functions of the entries of A, n ≤ 4", good))

    def first(p: Parameters) -> list[fmpq]:
        A, D, G = exact.typed(p, "A"), diagonal([int(sign) for sign in numbers(p, "D")]), exact.typed(p, "G")
        n, one = A.nrows(), identity(A.nrows())
        W = (one + A).inv() * (one - A) * D
        V = (one + A).inv().transpose() * G * (D + W.transpose())
        differences = []
        for i, j in itertools.combinations(range(n), 2):
            dA = fmpq_mat(n, n)
            dA[i, j], dA[j, i] = 1, -1
            dW = (one + A).inv() * -dA * (D + W)  # (I + A) W = (I − A) D
            slope = sum((G[k, l] * dW[k, l] for k in range(n) for l in range(n)), fmpq(0))
            differences.append(slope - factor * (V[j, i] - V[i, j]))
        return differences

    def second(p: Parameters) -> list[Fraction]:
        return again.gradient_differences(
            again.read(p, "A"), list(map(int, p["D"].split())), again.read(p, "G"), factor
        )

    parameters = declared(
        Parameter("A", Square(4, structure=SKEW)),
        Parameter("D", signs(order("A"))),
        Parameter("G", square_like("A")),
    )
    return identity_case("n ≤ 4, all D", "∂L/∂a_ij", decide, first, second, parameters)


def factors_case() -> Case:
    """max |C(K) C(K) W₀ − W₁| of ``two_cayley_factors``, and ‖K‖₂ ≤ 1: Haar pairs, W₁ = −W₀, cycles."""
    tolerance = 1e-12

    def ask(budget: Budget, seed: int) -> Attempt:
        generator = torch.Generator().manual_seed(seed)
        gaps, norms = [], []

        def haar(n: int) -> torch.Tensor:
            Q, R = torch.linalg.qr(torch.randn(n, n, dtype=torch.complex128, generator=generator))
            turned: torch.Tensor = Q * (R.diagonal() / R.diagonal().abs())
            return turned

        for n in range(2, 17):
            W = haar(n)
            one = torch.eye(n, dtype=torch.complex128)
            for W0, W1 in ((W, haar(n)), (W, -W), (one, one.roll(1, 0)), (W, W)):
                K = two_cayley_factors(W0, W1)
                gaps.append(float((cayley(K) @ cayley(K) @ W0 - W1).abs().max()))
                norms.append(float(torch.linalg.matrix_norm(K, 2)))
        return Attempt(
            f"{len(gaps)} pairs, n = 2..16; largest ‖K‖₂ {max(norms):.15g}",
            len(gaps),
            log_measured=float(np.log(max(gaps))),
            log_claimed=float(np.log(tolerance)),
        )

    return Case("Haar pairs, n = 2..16, float64", "max |C(K)² W₀ − W₁| against 1e-12", ask)


def rank_case(n: int) -> Case:
    """The rank of the differential of the restricted parametrisation is min(n², 7n − 7)."""
    most = min(n * n, 7 * n - ranks.REDUNDANT)

    def ask(_: Budget, seed: int) -> Attempt:
        rng = random.Random(seed)
        order = list(range(n))
        rng.shuffle(order)
        point: ranks.Point = {
            "t": [Fraction(rng.randint(1, 99), rng.randint(1, 99)) for _ in range(3 * n)],
            **{name: [Fraction(rng.randint(1, 99)) for _ in range(2 * n)] for name in "xy"},
            "order": [Fraction(k) for k in order],
        }
        two_ranks = ranks.rank(point), ranks.rank_again(point)
        text = (
            f"rank {two_ranks[0]} and {two_ranks[1]} modulo two primes, so no less; at most 7n − 7 (turned reflections)"
        )
        a, b = ([(Fraction(rng.randint(-9, 9)), Fraction(rng.randint(1, 9))) for _ in range(n)] for _ in "ab")
        good = two_ranks == (most, most) and ranks.turn_commutes() and ranks.turn_commutes_at(a, b)
        return Attempt(text, 2, found=str(max(two_ranks)), claimed=str(most), proof=text if good else "", twice=BOTH)

    return Case(f"n = {n}", "largest rank of the restricted parametrisation", ask)


def descent_case(share: int = 2) -> Case:
    """−Re tr(G* B W) = −‖B‖_F²/``share`` for B = G W* − W G*: what dL/dλ is at λ = 0."""

    def decide() -> str:
        good = share == 2 and up_to(3, descent_identity)
        return listed(("−Re tr(G* B W) = −‖B‖_F²/2 for B = G W* − W G*, free complex entries, n ≤ 3", good))

    def first(p: Parameters) -> list[fmpq]:
        G, W = exact.typed_complex(p, "G"), exact.typed_complex(p, "W")
        B = G * W.transpose() - W * G.transpose()
        slope, square = (
            sum(M.entries()[:: M.nrows() + 1], fmpq(0)) for M in (G.transpose() * B * W, B.transpose() * B)
        )
        return [slope - square / share]

    def second(p: Parameters) -> list[Fraction]:
        G, W = again.read(p, "G"), again.read(p, "W")
        n = range(len(G))

        def entry(i: int, j: int) -> again.Number:
            return again.summed(
                again.minus(
                    again.times(G[i][k], again.conjugate(W[j][k])), again.times(W[i][k], again.conjugate(G[j][k]))
                )
                for k in n
            )

        B = [[entry(i, j) for j in n] for i in n]
        slope = sum(
            again.times(again.conjugate(G[i][j]), again.times(B[i][k], W[k][j]))[0] for i in n for j in n for k in n
        )
        return [slope - sum(again.sizes(B), Fraction(0)) / share]

    parameters = declared(*complex_matrices("G", "W", most=3))
    return identity_case("n ≤ 3", "dL/dλ at λ = 0", decide, first, second, parameters)


def _theorem(name: str, statement: str, cases: tuple[Case, ...], dominated_by: str = "") -> Claim:
    return Claim(
        id=name,
        source=Source("library", f"{PAGE}, {name}"),
        statement=statement,
        semantics="real",
        cases=cases,
        origin="library",
        dominated_by=dominated_by,
    )


CLAIMS = (
    _theorem(
        "thm-SC-flip",
        "I + Z regular, Z' = Z with the columns S negated, A = C(Z): det(I + Z')/det(I + "
        "Z) = det A_SS; if it is not 0, C(Z') is the principal pivot transform of A on S",
        (
            exchange_case(),
            sampled_case("rational W, n ≤ 6, every S", "C(Z')", is_pivot_transform, (3, 4, 5, 6)),
        ),
    ),
    _theorem(
        "thm-SC-lu",
        "every square W: elimination on W + D with d_k = sign(s_kk), s_kk the share of W "
        "in the k-th diagonal entry, has pivots of modulus at least 1: |det(W + D)| ≥ 1",
        (sampled_case("rational W, n ≤ 6", "|det(W + D)|", has_large_pivots, (3, 4, 5, 6)),),
    ),
    _theorem(
        "thm-SC-exist",
        "every orthogonal W equals C(A) D with |a_ij| ≤ 1 (O'Dorney 2014); exchanges from lu_signs find it, each "
        "multiplying det(I + W D) ≤ 2ⁿ by a_jk² > τ²: at most n log 2/(2 log τ) for τ > 1, at most 2ⁿ⁻¹ for τ = 1",
        (
            free_signs_case(),
            sampled_case("rational W, n ≤ 6, τ = 1", "the algorithm", is_represented, (3, 4, 5, 6)),
            flips_case(),
        ),
    ),
    _theorem(
        "thm-SC-norm",
        "n ≥ 2, |a_ij| ≤ 1: ‖A‖₂ ≤ cot(π/(2n)), κ₂(I + A) ≤ 1/sin(π/(2n)) ≤ n, eigen-angles at "
        "most π − π/n; an eigen-angle φ needs max |a_ij| ≥ tan(φ/2) tan(π/(2n)) ≥ tan(φ/2)/(n − 1)",
        (angle_case(), condition_case()),
    ),
    _theorem(
        "thm-SC-comp",
        "{C(A) D : A skew} = {W orthogonal : det(I + W D) ≠ 0}, within det W = det D; for unitary W some D in {±1}ⁿ "
        "has |a_jk| ≤ √2",
        (
            image_case(),
            complex_signs_case(Fraction(2)),
        ),
    ),
    _theorem(
        "thm-SC-grad",
        "Vᵀ − V, V = (I + A)⁻ᵀ (∂L/∂W)(D + Wᵀ), is the derivative by the free entries a_ij = −a_ji, i < j",
        (gradient_case(),),
    ),
    _theorem(
        "thm-U2",
        "W₁ = C(K) C(K) W₀ with K skew-Hermitian, ‖K‖₂ ≤ 1; dL/dλ = −‖B‖_F²/2 at λ = 0 "
        "along C(λB/2) W, B = G W* − W G*, G the gradient; the restricted "
        "parametrisation has at most the rank min(n², 7n − 7), and has it for n = 2, …, 8",
        (
            factors_case(),
            descent_case(),
            *map(rank_case, range(2, 9)),
        ),
    ),
)
