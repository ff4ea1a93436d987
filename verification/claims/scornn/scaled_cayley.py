# Claims: sco-3.1a · sco-3.1c · sco-T3.2 · sco-3.3-band
"""The Cayley transform of skew-symmetric matrices: scornn, Sections 3.1 and 3.2; Theorem 3.1: ``bounded_entries``."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import flint
from flint import arb, fmpq, fmpq_mat

from odernn.published.sources import Source
from verification.cases.cayley_statements import Found, Statement, listed, up_to
from verification.cases.decision import at, decided
from verification.cases.scornn_parameters import ORTHOGONAL, WITHOUT_MINUS_ONE, order, signs, square_like
from verification.certify.second import cayley as again
from verification.certify.second import intervals as intervals
from verification.claim import Attempt, Case, Check, Claim, Decided, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number, numbers
from verification.kinds import SKEW, Constant, Integer, Square
from verification.measure import cayley_exact as exact
from verification.measure import cayley_symbols as symbolic
from verification.measure.exact_cayley import cayley, diagonal, identity
from verification.parameters import Parameter, Rule, declared

BITS = 192
PFAFFIANS = 6
FREE = 4
"""Sizes n up to here are decided with free entries."""
LARGEST = 5
"""Rows of matrices that are typed."""


# --- 3.1: the bijection


def _skew_points(seed: int, most: int = LARGEST) -> Iterator[Parameters]:
    rng = random.Random(seed)
    return ({"A": exact.text(exact.rational_skew(n, rng))} for n in range(1, most + 1) for _ in range(3))


def forward_case(sign: int = 1) -> Case:
    """C(A) is orthogonal, has no eigenvalue −1 and C(C(A)) = A; ``sign`` = −1 asks for C(C(A)) = −A."""

    def decide() -> str:
        return listed(
            (
                f"det(I + A) = 1 + Σ Pf(A_SS)² ≥ 1 for free entries, n ≤ {PFAFFIANS}",
                up_to(PFAFFIANS, symbolic.squares_of_pfaffians),
            ),
            (
                "C(A)* = C(A)⁻¹, I + C(A) = 2(I + A)⁻¹, C(C(A)) = A, as functions of A with A* = −A, all n",
                symbolic.image_is_unitary() and symbolic.misses_minus_one() and sign == 1 and symbolic.is_involution(),
            ),
        )

    def first(p: Parameters) -> Found:
        A = exact.typed(p, "A")
        W = cayley(A)
        good = exact.is_orthogonal(W) and (identity(A.nrows()) + W).det() != 0 and cayley(W) == sign * A
        return not good, f"A = {exact.text(A)}, C(A) = {exact.text(W)}, C(C(A)) = {exact.text(cayley(W))}"

    def second(p: Parameters) -> Found:
        A = again.read(p, "A")
        W = again.cayley(A)
        back = None if W is None else again.cayley(W)
        good = back == [[(sign * x, sign * y) for x, y in row] for row in A] and W is not None and again.is_unitary(W)
        return not good, f"C(C(A)) {'=' if good else '≠'} {'−' * (sign < 0)}A"

    statement = Statement(
        "A, C(A), C(C(A))",
        decide,
        lambda _, seed: _skew_points(seed),
        first,
        second,
        "A",
        "A",
        parameters=declared(Parameter("A", Square(PFAFFIANS, structure=SKEW)), is_costly=True),
    )
    return statement.case(f"skew A, n ≤ {PFAFFIANS}", "C(A) orthogonal without −1, C(C(A)) = A")


def backward_case(without: bool = True) -> Case:
    """C(W) is skew and C(C(W)) = W for orthogonal W without eigenvalue −1; ``without`` = False drops the hypothesis."""

    def decide() -> str:
        good = without and symbolic.inverse_is_skew() and symbolic.is_involution()
        return listed(("C(W)* = −C(W), C(C(W)) = W as functions of W with W* = W⁻¹, det(I + W) ≠ 0, all n", good))

    def points(_: Budget, seed: int) -> Iterator[Parameters]:
        rng = random.Random(seed)
        for k in range(20):
            W = exact.rational_orthogonal(1 + k % 5, rng)
            if not without or (identity(W.nrows()) + W).det() != 0:
                yield {"W": exact.text(W)}

    def first(p: Parameters) -> Found:
        W = exact.typed(p)
        if (identity(W.nrows()) + W).det() == 0:
            return True, "det(I + W) = 0"
        A = cayley(W)
        good = A.transpose() == -A and cayley(A) == W
        return not good, f"C(W) = {exact.text(A)}"

    def second(p: Parameters) -> Found:
        W = again.read(p, "W")
        A = again.cayley(W)
        good = A is not None and again.is_skew(A) and again.cayley(A) == W
        return not good, "det(I + W) = 0" if A is None else f"C(W) is {'' if good else 'not '}skew"

    structure = WITHOUT_MINUS_ONE if without else ORTHOGONAL
    statement = Statement(
        "W, C(W)",
        decide,
        points,
        first,
        second,
        "skew",
        "skew",
        parameters=declared(Parameter("W", Square(LARGEST, structure=structure))),
    )
    return statement.case("orthogonal W without eigenvalue −1", "C(W) skew, C(C(W)) = W")


def closed_case(product: bool = False) -> Case:
    """Sums and differences of skew matrices are skew; ``product`` asks it of products, too."""

    def decide() -> str:
        return listed(
            (
                f"(A ± B)ᵀ = −(A ± B) for free entries, n ≤ {FREE}",
                not product and up_to(FREE, lambda n: all(_combination_is_skew(n, sign) for sign in (1, -1))),
            )
        )

    def points(_: Budget, seed: int) -> Iterator[Parameters]:
        rng = random.Random(seed)
        for n in (2, 3, 4):
            yield {name: exact.text(exact.rational_skew(n, rng)) for name in "AB"}

    def first(p: Parameters) -> Found:
        A, B = exact.typed(p, "A"), exact.typed(p, "B")
        made = [A + B, A - B] + [A * B] * product
        broken = [new for new in made if new.transpose() != -new]
        return bool(broken), exact.text((broken or made)[0])

    def second(p: Parameters) -> Found:
        A, B = again.read(p, "A"), again.read(p, "B")
        made = [again.combined(A, B, 1), again.combined(A, B, -1)] + [again.product(A, B)] * product
        skew = all(map(again.is_skew, made))
        return not skew, "skew" if skew else "not skew"

    statement = Statement(
        "A + B and A − B",
        decide,
        points,
        first,
        second,
        "skew",
        "skew",
        parameters=declared(
            Parameter("A", Square(FREE, structure=SKEW)), Parameter("B", square_like("A", structure=SKEW))
        ),
    )
    return statement.case(f"skew A and B, n ≤ {FREE}", "skew-symmetry of the sum and the difference")


def _combination_is_skew(n: int, sign: int) -> bool:
    """A + sign B."""
    names = [f"b{i}_{j}" for i, j in itertools.combinations(range(n), 2)]
    A, _, more = symbolic.skew(n, names)
    B = dict(zip(itertools.combinations(range(n), 2), more, strict=True))
    total = {(i, j): A[i][j] + sign * (B[i, j] if i < j else -B[j, i]) for i in range(n) for j in range(n) if i != j}
    return all(total[i, j] + total[j, i] == 0 for i, j in total)


# --- 3.1: the printed example


PRINTED = {"a": "0.99999", "real": "-0.99999", "imaginary": "0.00447", "entry": "447.212"}


def printed_case(quantity: str, printed: str, digits: int) -> Case:
    """A number of the example W = [[−a, −√(1−a²)], [√(1−a²), −a]] as it is printed, rounded to its last digit."""
    sides: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
        "real part of the eigenvalues": (lambda a: -a, lambda a: 0 - a),
        "imaginary part of the eigenvalues": (
            lambda a: (1 - a * a).sqrt(),
            lambda a: intervals.iv.sqrt((1 - a) * (1 + a)),
        ),
        "a_12 of A = C(W)": (
            lambda a: (1 - a * a).sqrt() / (1 - a),
            lambda a: intervals.iv.sqrt((1 + a) / (1 - a)),
        ),
    }
    exactly, retyped = sides[quantity]
    half = Fraction(1, 2 * 10**digits)

    def balls() -> tuple[bool, bool, str]:
        """(surely rounds to the printed digits, surely does not, the value)."""
        a = Fraction(PRINTED["a"])
        with flint.ctx.workprec(BITS):
            value = exactly(arb(fmpq(a.numerator, a.denominator)))
            apart = abs(value - arb(fmpq(*Fraction(printed).as_integer_ratio())))
            room = arb(fmpq(half.numerator, half.denominator))
            return bool(apart < room) or apart == 0, bool(apart > room), str(value.str(12, radius=False))

    def ask(_: Budget, __: int) -> Attempt:
        right, wrong, shown = balls()
        text = f"{quantity}: {shown}, printed {printed}; the characteristic equation and C(W) of a rotation: "
        text += listed(("λ² + 2aλ + 1, C(W)_12 = s/(1 − a) as polynomials in a, s with a² + s² = 1", example_holds()))
        return Attempt(
            text,
            1,
            found=shown,
            claimed=printed,
            proof=text if right and example_holds() else "",
            candidates=({"a": PRINTED["a"], "printed": printed},) if wrong else (),
        )

    def check(_parameters: Parameters) -> Check:
        with intervals.iv.workprec(BITS):
            value = retyped(intervals.number(str(Fraction(PRINTED["a"]))))
            gap = abs(value - intervals.number(str(Fraction(printed))))
            other = bool(gap.a > intervals.number(str(half)).b)
        wrong, shown = balls()[1:]
        return Check(
            opinions=(Opinion("balls", wrong, shown), Opinion("mpmath", other, f"differs by {float(gap.a):.6g}")),
            words=f"{quantity} is {shown}, printed {printed}",
        )

    parameters = declared(Parameter("a", Constant(PRINTED["a"])), Parameter("printed", Constant(printed)))
    return Case("a = 0.99999", quantity, ask, parameters.guards(check))


def example_holds() -> bool:
    """W = [[−a, −s], [s, −a]], a² + s² = 1: λ² + 2aλ + 1 = 0 at −a ± is, and (I + W) A = I − W for A_12 = s/(1 − a)."""
    a, s = symbolic.symbols("a", "s")
    circle = a * a + s * s - 1
    real = a * a - s * s - 2 * a * a + 1  # of (−a + is)² + 2a(−a + is) + 1; the imaginary part −2as + 2as is 0
    corner = (1 - a) * (1 + a) - s * s  # (1 − a) times the entries of (I + W) A − (I − W): −s·(−t) − (1 + a), ...
    other = (1 - a) * s - s * (1 - a)  # ... and (1 − a) t − s
    return bool(real + circle == 0 and corner + circle == 0 and other == 0)


# --- Theorem 3.2


def gradient_case(reading: str, factor: Fraction = Fraction(1), sign_of_D: int = 1, most: int = FREE) -> Case:
    """∂L/∂A = factor (Vᵀ − V), V = (I + A)⁻ᵀ G (±D + Wᵀ).

    reading   "free": entry (i, j), i < j, is the derivative by the free a_ij = −a_ji; "matrix": dL = Σ_ij (∂L/∂A)_ij
    dA_ij over all entries, so that an entry above the diagonal is half the derivative by the free one
    """
    weight = Fraction(1) if reading == "free" else Fraction(1, 2)

    def decide() -> str:
        share = fmpq(*factor.as_integer_ratio()) / fmpq(*weight.as_integer_ratio())
        good = up_to(
            most, lambda n: all(symbolic.gradient_holds(n, signs, share, sign_of_D) for signs in exact.signatures(n))
        )
        return listed((f"for L = W_kl, all k, l and D, as rational functions of the entries of A, n ≤ {most}", good))

    def points(_: Budget, seed: int) -> Iterator[Parameters]:
        rng = random.Random(seed)
        yield {"A": "0 1 -1 0", "D": "1 1", "G": "1 0 0 0"}
        for k in range(12):
            n = 2 + k % 4
            yield {
                "A": exact.text(exact.rational_skew(n, rng)),
                "D": " ".join(str(rng.choice((1, -1))) for _ in range(n)),
                "G": " ".join(str(rng.randint(-3, 3)) for _ in range(n * n)),
            }

    def first(p: Parameters) -> Found:
        A, D, G = exact.typed(p, "A"), diagonal([int(d) for d in numbers(p, "D")]), exact.typed(p, "G")
        n = A.nrows()
        W, inverse = cayley(A) * D, (identity(n) + A).inv()
        V = inverse.transpose() * G * (sign_of_D * D + W.transpose())
        for i, j in itertools.combinations(range(n), 2):
            dA = fmpq_mat(n, n)
            dA[i, j], dA[j, i] = 1, -1
            dW = inverse * (-dA - dA * inverse * (identity(n) - A)) * D
            exactly = sum((x * y for x, y in zip(G.entries(), dW.entries(), strict=True)), fmpq(0))
            formula = (V[j, i] - V[i, j]) * fmpq(*factor.as_integer_ratio())
            if exactly * fmpq(*weight.as_integer_ratio()) != formula:
                return (
                    True,
                    f"entry ({i + 1}, {j + 1}): {exactly * fmpq(*weight.as_integer_ratio())}, formula {formula}",
                )
        return False, "equal"

    def second(p: Parameters) -> Found:
        return _gradient_again(p, factor, sign_of_D, weight)

    statement = Statement(
        "∂L/∂A against Vᵀ − V",
        decide,
        points,
        first,
        second,
        "equal",
        "equal",
        parameters=declared(
            Parameter("A", Square(LARGEST, structure=SKEW)),
            Parameter("D", signs(order("A"))),
            Parameter("G", square_like("A")),
        ),
    )
    words = {"free": "by the free entries a_ij = −a_ji, i < j", "matrix": "dL = Σ (∂L/∂A)_ij dA_ij over all i, j"}
    return statement.case(f"n ≤ {most}, all D", f"∂L/∂A, {words[reading]}")


def _gradient_again(p: Parameters, factor: Fraction, sign_of_D: int, weight: Fraction) -> Found:
    """The derivative from (I + A) W = (I − A) D: (I + A) dW = −dA (D + W), solved by Cramer's rule."""
    A, G = again.read(p, "A"), again.read(p, "G")
    n = len(A)
    D = again.scaled(again.unit(n), [(Fraction(d), Fraction(0)) for d in p["D"].split()])
    plus, Z = again.combined(again.unit(n), A, 1), again.cayley(A)
    assert Z is not None
    W = again.product(Z, D)
    left = again.solved(again.adjoint(plus), G)
    assert left is not None
    signed = [[(sign_of_D * x, sign_of_D * y) for x, y in row] for row in D]
    V = again.product(left, again.combined(signed, again.adjoint(W), 1))
    for i, j in itertools.combinations(range(n), 2):
        dA = [[again.ZERO] * n for _ in range(n)]
        dA[i][j], dA[j][i] = again.ONE, again.minus(again.ZERO, again.ONE)
        moved = again.solved(plus, again.product(dA, again.combined(D, W, 1)))
        assert moved is not None
        exactly = -sum(
            (x[0] * y[0] for g, w in zip(G, moved, strict=True) for x, y in zip(g, w, strict=True)), Fraction(0)
        )
        formula = factor * (V[j][i][0] - V[i][j][0])
        if weight * exactly != formula:
            return True, f"entry ({i + 1}, {j + 1}): {weight * exactly} against {formula}"
    return False, "equal"


# --- 3.3: bands

MOST_BANDED = 64
"""Rows up to which entries are counted one by one."""


def band_count_case(offset: int = 1) -> Case:
    """Bandwidth ℓ leaves ℓ(2n − ℓ − offset)/2 entries: by induction on ℓ from 0, as polynomials."""

    def closed(n: Any, width: Any) -> Any:
        return width * (2 * n - width - offset)

    def counted(n: int, width: int) -> int:
        return sum(0 < j - i <= width for i in range(n) for j in range(n))

    def ask(_: Budget, __: int) -> Attempt:
        n, l = symbolic.symbols("n", "l")
        good = closed(n, 0 * l) == 0 and closed(n, l) - closed(n, l - 1) - 2 * (n - l) == 0
        fewer = n * (n - 1) - closed(n, l) - (n - l) * (n - 1 - l) == 0
        text = (
            "f(n, 0) = 0, f(n, ℓ) − f(n, ℓ − 1) = n − ℓ, n(n − 1)/2 − f(n, ℓ) = (n − ℓ)(n − 1 − ℓ)/2 > 0 for ℓ < n − 1"
        )
        wrong = [(n, l) for n in range(2, 9) for l in range(1, n) if 2 * counted(n, l) != closed(n, l)]
        candidates = tuple({"n": str(n), "l": str(l)} for n, l in wrong[:3])
        proof = f"{text}, as polynomials" if good and fewer and not wrong else ""
        return Attempt(text, 28, found="equal", claimed="equal", candidates=candidates, proof=proof)

    def check(p: Parameters) -> Check:
        n, l = int(number(p, "n")), int(number(p, "l"))
        listed_entries = fmpq_mat(n, n, [int(0 < j - i <= l) for i in range(n) for j in range(n)]).entries()
        both = counted(n, l), int(sum(listed_entries, fmpq(0)).p)
        opinions = tuple(
            Opinion(name, 2 * value != closed(n, l), f"{value} entries, formula {Fraction(closed(n, l), 2)}")
            for name, value in zip(("python", "flint"), both, strict=True)
        )
        return Check(
            opinions=opinions,
            words=f"n = {n}, ℓ = {l}: {both[0]} entries, formula {Fraction(closed(n, l), 2)}",
        )

    parameters = declared(
        Parameter("n", Integer(2, MOST_BANDED)),
        Parameter("l", Integer(1, MOST_BANDED - 1)),
        rules=[Rule("ℓ ≤ n − 1", lambda v: v["l"] < v["n"])],
    )
    return Case("1 ≤ ℓ ≤ n − 1", "number of trainable entries", ask, parameters.guards(check))


def band_reach_case() -> Case:
    """Bandwidth ℓ < n − 1 misses matrices, whatever D: those of C(E_1n − E_n1), n = 3..6."""

    def first(p: Parameters) -> Decided:
        n = int(p["n"])
        A = fmpq_mat(n, n)
        A[0, n - 1], A[n - 1, 0] = 1, -1
        W = cayley(A)
        regular = [d for d in exact.signatures(n) if (identity(n) + W * diagonal(d)).det() != 0]
        band = min(_bandwidth(cayley(W * diagonal(d))) for d in regular)
        determined = symbolic.is_involution() and symbolic.inverse_is_skew()
        return Decided(band < n - 1 or not determined, f"A is determined by W and D, and has the bandwidth {band}")

    def second(p: Parameters) -> Decided:
        n = int(p["n"])
        corners = {(0, n - 1): 1, (n - 1, 0): -1}
        A = [[(Fraction(corners.get((i, j), 0)), Fraction(0)) for j in range(n)] for i in range(n)]
        W = again.cayley(A)
        band = again.least_band(W) if W is not None else 0
        return Decided(band < n - 1, f"bandwidth {band}")

    return decided(
        "3 ≤ n ≤ 6, ℓ < n − 1, D free",
        "image of A → C(A) D",
        at(*({"n": str(n)} for n in range(3, 7))),
        first,
        second,
        box="W = C(E_1n − E_n1) and every admissible D, n = 3..6",
        claimed="fewer",
    )


def _bandwidth(A: fmpq_mat) -> int:
    n = A.nrows()
    return max((j - i for i in range(n) for j in range(i + 1, n) if A[i, j] != 0), default=0)


CLAIMS = (
    Claim(
        id="sco-3.1a",
        source=Source("scornn", "Sec. 3.1"),
        statement="W = (I + A)⁻¹(I − A), A = (I + W)⁻¹(I − W) is a bijection between skew-symmetric matrices and "
        "orthogonal matrices without eigenvalue −1; sums and differences of the former are skew-symmetric",
        semantics="alg",
        cases=(forward_case(), backward_case(), closed_case()),
    ),
    Claim(
        id="sco-3.1c",
        source=Source("scornn", "Sec. 3.1"),
        statement="W = [[−a, −√(1−a²)], [√(1−a²), −a]], a = 0.99999, has eigenvalues about −0.99999 ± 0.00447i and "
        "A about [[0, 447.212], [−447.212, 0]]",
        semantics="alg",
        cases=(
            printed_case("real part of the eigenvalues", PRINTED["real"], 5),
            printed_case("imaginary part of the eigenvalues", PRINTED["imaginary"], 5),
            printed_case("a_12 of A = C(W)", PRINTED["entry"], 3),
        ),
    ),
    Claim(
        id="sco-T3.2",
        source=Source("scornn", "Thm 3.2, (2)"),
        statement="∂L/∂A = Vᵀ − V, V = (I + A)⁻ᵀ (∂L/∂W)(D + Wᵀ), for differentiable L and skew A: the derivative by "
        "a_ij where a_ji = −a_ij moves along, as in the proof in the supplement",
        semantics="alg",
        dominated_by="thm-SC-grad",
        cases=(gradient_case("free"), gradient_case("matrix")),
    ),
    Claim(
        id="sco-3.3-band",
        source=Source("scornn", "Sec. 3.2"),
        statement="restricting A to bandwidth ℓ reduces the number of trainable parameters and the representational "
        "capacity",
        semantics="comb",
        cases=(band_count_case(), band_reach_case()),
    ),
)
