# Claims: sco-2.2a · sco-2.2c · sco-eq1 · sco-3.2b
"""Orthogonal and unitary recurrent matrices before the scaled Cayley transform: scornn, Section 2.2, and what the
multiplicative update (1) and the restricted parametrisation reach.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction

from flint import fmpq, fmpq_mat

from odernn.published.sources import Source
from verification.cases.cayley_reach import (
    LARGEST,
    descent_identity,
    reach_case,
    real_reach_case,
    same_determinant_case,
    unitaries,
)
from verification.cases.cayley_statements import Found, Statement, listed, up_to
from verification.cases.related import Small
from verification.cases.scornn_parameters import order, orthogonal, square_like, unitary
from verification.certify.second import cayley as again
from verification.certify.second import entrywise_updates as again_updates
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import number, numbers, rationals
from verification.kinds import SKEW, Integer, Listed, Rational, Square
from verification.measure import cayley_exact as exact
from verification.measure import cayley_symbols as symbolic
from verification.measure import entrywise_updates, skew_updates
from verification.measure.exact_cayley import cayley, identity
from verification.parameters import Parameter, declared

# --- 2.2: norms


def norm_case(is_complex: bool, power: int = 2) -> Case:
    """‖Wx‖₂^power = ‖x‖₂²; the published statement has power = 2."""

    def decide() -> str:
        good = power == 2 and up_to(LARGEST, lambda n: _norm_identity(n, is_complex))
        return listed((f"‖Wx‖² − ‖x‖² = x*(W*W − I)x as polynomials in all entries, n ≤ {LARGEST}", good))

    def points(budget: Budget, seed: int) -> Iterator[Parameters]:
        for W in unitaries(budget, seed):
            n = W.nrows() // 2
            x = {"x_re": " ".join(str(j + 2) for j in range(n)), "x_im": " ".join(str(1 - j) for j in range(n))}
            if is_complex:
                yield {**exact.complex_text(W), **x}
        for n in range(1, 7 if not is_complex else 1):
            W = exact.rational_orthogonal(n, random.Random(seed + n))
            yield {"W": exact.text(W), "x": " ".join(str(j + 2) for j in range(n))}

    def first(p: Parameters) -> Found:
        if is_complex:
            W, x = exact.typed_complex(p), [*numbers(p, "x_re"), *numbers(p, "x_im")]
        else:
            W, x = exact.typed(p), numbers(p, "x")
        column = fmpq_mat(len(x), 1, [fmpq(v.numerator, v.denominator) for v in x])
        left, right = ((M.transpose() * M)[0, 0] for M in (W * column, column))
        return bool(left ** (power // 2) != right), f"‖Wx‖^{power} = {left ** (power // 2)}, ‖x‖² = {right}"

    def second(p: Parameters) -> Found:
        W = again.read(p, "W")
        parts = (p["x_re"], p["x_im"]) if is_complex else (p["x"], " ".join("0" for _ in p["x"].split()))
        x = [[(Fraction(a), Fraction(b))] for a, b in zip(*(part.split() for part in parts), strict=True)]
        left, right = sum(again.sizes(again.product(W, x))), sum(again.sizes(x))
        return left ** (power // 2) != right, f"{left} and {right}"

    matrix = unitary("W", LARGEST) if is_complex else (orthogonal("W", exact.LARGEST),)
    entries = Listed(Rational(), order("W_re" if is_complex else "W"))
    statement = Statement(
        f"‖Wx‖₂^{power} against ‖x‖₂²",
        decide,
        points,
        first,
        second,
        "equal",
        "equal",
        parameters=declared(*matrix, *(Parameter(x, entries) for x in (("x_re", "x_im") if is_complex else ("x",)))),
    )
    return statement.case(f"{'unitary' if is_complex else 'orthogonal'} W, n ≤ {LARGEST}", "‖Wx‖₂ against ‖x‖₂")


def _norm_identity(n: int, is_complex: bool) -> bool:
    W, x = symbolic.complex_general(n, "w", "x")
    zero = [[0 * entry for entry in row] for row in W[0]]
    if not is_complex:
        W, x = (W[0], zero), (x[0], zero)
    column = [[row[0]] for row in x[0]], [[row[0]] for row in x[1]]
    image = symbolic.complex_product(W, column)
    gram = symbolic.complex_product(symbolic.adjoint(W), W)
    defect = ([[v - int(i == j) for j, v in enumerate(row)] for i, row in enumerate(gram[0])], gram[1])
    form = symbolic.complex_product(symbolic.adjoint(column), symbolic.complex_product(defect, column))
    gap = symbolic.squared_norm(image) - symbolic.squared_norm(column) - form[0][0][0]
    return bool(gap == 0 and form[1][0][0] == 0)


# --- (1)

STEP = declared(
    *unitary("W", LARGEST),
    *(Parameter(f"G_{part}", square_like("W_re")) for part in ("re", "im")),
    Parameter("lambda", Rational()),
)


def unitary_step_case(sign: int = 1) -> Case:
    """(I + λ/2 B)⁻¹(I − sign λ/2 B) W is unitary."""

    def decide() -> str:
        return listed(
            (
                "K = λB/2 has K* = −K: C(K)* = C(K)⁻¹ as functions of K, all n",
                sign == 1 and symbolic.image_is_unitary(),
            ),
            ("(I + K)*(I + K) = I + K*K ≥ I, so I + K is regular", no_eigenvalue_minus_one()),
        )

    def points(budget: Budget, seed: int) -> Iterator[Parameters]:
        return _steps(budget, seed)

    def first(p: Parameters) -> Found:
        W, G = exact.typed_complex(p), exact.typed_complex(p, "G")
        rate = number(p, "lambda")
        K = (G * W.transpose() - W * G.transpose()) * fmpq(rate.numerator, 2 * rate.denominator)
        new = (identity(W.nrows()) + K).inv() * (identity(W.nrows()) - sign * K) * W
        return not exact.is_orthogonal(new), f"W_new* W_new − I {'=' if exact.is_orthogonal(new) else '≠'} 0"

    def second(p: Parameters) -> Found:
        K = _direction(p, Fraction(p["lambda"]) / 2)
        n = len(K)
        left = again.solved(again.combined(again.unit(n), K, 1), again.combined(again.unit(n), K, -sign))
        assert left is not None
        good = again.is_unitary(again.product(left, again.read(p, "W")))
        return not good, "unitary" if good else "not unitary"

    statement = Statement(
        "W after a step (1), W* W against I",
        decide,
        points,
        first,
        second,
        "0",
        "0",
        parameters=STEP,
    )
    return statement.case("unitary and orthogonal W, every G and λ", "W_new* W_new − I")


def no_eigenvalue_minus_one() -> bool:
    """(1 + x)(1 + x*) = 1 + x* x with x* = −x."""
    plus, minus = symbolic.X.plus(1), symbolic.X.negative().plus(1)
    square = symbolic.X.times(symbolic.X.negative()).plus(1)
    return plus.times(minus).equals(square)


def _direction(p: Parameters, share: Fraction) -> again.Matrix:
    """share (G W* − W G*)."""
    W, G = again.read(p, "W"), again.read(p, "G")
    X = again.product(G, again.adjoint(W))
    return [[(share * x, share * y) for x, y in row] for row in again.combined(X, again.adjoint(X), -1)]


def _steps(budget: Budget, seed: int) -> Iterator[Parameters]:
    """W, G and λ: G a random matrix over Q(i), or real for real W."""
    rng = random.Random(seed)
    for W in unitaries(budget, seed, 3):
        n = W.nrows() // 2
        entries = {f"G_{part}": " ".join(str(rng.randint(-3, 3)) for _ in range(n * n)) for part in ("re", "im")}
        yield {**exact.complex_text(W), **entries, "lambda": str(Fraction(rng.randint(1, 9), rng.randint(1, 9)))}
    for n in (2, 3):
        W = exact.rational_orthogonal(n, rng)
        zeros = " ".join("0" for _ in range(n * n))
        real = " ".join(str(rng.randint(-3, 3)) for _ in range(n * n))
        yield {"W_re": exact.text(W), "W_im": zeros, "G_re": real, "G_im": zeros, "lambda": "1/3"}


def descent_case(sign: int = 1) -> Case:
    """dL/dλ = −‖B‖_F²/2 at λ = 0, negative unless B = 0; B = sign (G W* − W G*), dL = Re tr(G* dW)."""

    def decide() -> str:
        return listed(
            ("C(sx) = 1 − 2sx + O(s²), so dW/dλ = −B W at λ = 0", first_order()),
            (
                "−Re tr(G* B W) = −‖B‖_F²/2 for B = X − X*, X = G W* with free complex entries, n ≤ 3",
                sign == 1 and up_to(3, descent_identity),
            ),
        )

    def points(budget: Budget, seed: int) -> Iterator[Parameters]:
        return (
            p for p in _steps(budget, seed) if any(z != again.ZERO for row in _direction(p, Fraction(1)) for z in row)
        )

    def first(p: Parameters) -> Found:
        W, G = exact.typed_complex(p), exact.typed_complex(p, "G")
        B = (G * W.transpose() - W * G.transpose()) * sign
        product = G.transpose() * B * W
        slope = -sum((product[i, i] for i in range(W.nrows())), fmpq(0)) / 2
        return bool(slope >= 0), f"dL/dλ = {slope}"

    def second(p: Parameters) -> Found:
        B = _direction(p, Fraction(sign))
        product = again.product(again.adjoint(again.read(p, "G")), again.product(B, again.read(p, "W")))
        slope = -sum(row[i][0] for i, row in enumerate(product))
        return slope >= 0, f"dL/dλ = {slope}"

    def premises(p: Parameters) -> tuple[Premise, ...]:
        size = sum(again.sizes(_direction(p, Fraction(1))))
        return (Premise("B ≠ 0: W is not stationary", str(size), size > 0),)

    statement = Statement(
        "dL/dλ at λ = 0 against 0",
        decide,
        points,
        first,
        second,
        "−‖B‖²/2",
        "negative",
        premises=premises,
        parameters=STEP,
    )
    return statement.case("unitary and orthogonal W, every G with B ≠ 0, n ≤ 3", "dL/dλ at λ = 0")


def first_order() -> bool:
    """(1 + sx)(1 − 2sx) − (1 − sx) is divisible by s²."""
    s, x = symbolic.symbols("s", "x")
    rest = (1 + s * x) * (1 - 2 * s * x) - (1 - s * x)
    return all(powers[0] >= 2 for powers in rest.monoms())


# --- 3.2: skew-symmetry of A under updates


def skew_step_case(sign: int = -1) -> Case:
    """A − λ (Vᵀ + sign V) is skew and its Cayley transform orthogonal, for skew A and every V and λ."""

    def decide() -> str:
        return listed(
            (
                f"A − λ(Vᵀ − V) is skew as polynomials in A, V and λ, n ≤ {LARGEST}",
                up_to(LARGEST, lambda n: _stays_skew(n, sign)),
            ),
            ("A* = −A: C(A)* = C(A)⁻¹ as functions of A, all n", symbolic.image_is_unitary()),
            ("(I + A)*(I + A) = I + A*A ≥ I, so I + A is regular", no_eigenvalue_minus_one()),
        )

    def points(_: Budget, seed: int) -> Iterator[Parameters]:
        rng = random.Random(seed)
        for n in (2, 3, 4):
            A, V = exact.rational_skew(n, rng), [rng.randint(-3, 3) for _ in range(n * n)]
            yield {"A": exact.text(A), "V": " ".join(map(str, V)), "lambda": "1/3"}

    def first(p: Parameters) -> Found:
        V, rate = exact.typed(p, "V"), number(p, "lambda")
        new = exact.typed(p, "A") - (V.transpose() + sign * V) * fmpq(rate.numerator, rate.denominator)
        good = exact.is_orthogonal(cayley(new))
        return not good, "W orthogonal" if good else f"A = {exact.text(new)}: W is not orthogonal"

    def second(p: Parameters) -> Found:
        V, rate = again.read(p, "V"), Fraction(p["lambda"])
        step = [[(rate * x, rate * y) for x, y in row] for row in again.combined(again.adjoint(V), V, sign)]
        W = again.cayley(again.combined(again.read(p, "A"), step, -1))
        good = W is not None and again.is_unitary(W)
        return not good, "orthogonal" if good else "not orthogonal"

    words = "orthogonal"
    parameters = declared(
        Parameter("A", Square(exact.LARGEST, structure=SKEW)),
        Parameter("V", square_like("A")),
        Parameter("lambda", Rational()),
    )
    statement = Statement(
        "W after A ← A − λ ∂L/∂A",
        decide,
        points,
        first,
        second,
        found=words,
        claimed=words,
        parameters=parameters,
    )
    return statement.case("exact arithmetic", "Wᵀ W − I after a step")


def _stays_skew(n: int, sign: int) -> bool:
    places = list(itertools.product(range(n), repeat=2))
    A, _, more = symbolic.skew(n, ("rate", *(f"v{i}_{j}" for i, j in places)))
    rate, V = more[0], dict(zip(places, more[1:], strict=True))
    new = {(i, j): A[i][j] - rate * (V[j, i] + sign * V[i, j]) for i, j in places}
    return all(new[i, j] + new[j, i] == 0 for i, j in places)


RATES = {
    "SGD with momentum": (Fraction(9, 10), Fraction(0)),
    "RMSprop": (Fraction(99, 100), Fraction(0)),
    "RMSprop, centred": (Fraction(99, 100), Fraction(0)),
    "Adam": (Fraction(9, 10), Fraction(999, 1000)),
}
"""μ, α or β₁, and β₂, of the places; the proof has them free."""
MOST_UPDATES = 4


def entrywise_case(method: str, mirrored: int = -1) -> Case:
    """A + Aᵀ stays 0: entries (i, j) and (j, i) see g and ``mirrored`` g, −g in truth, and step oppositely."""
    first_rate, second_rate = RATES[method]

    def decide() -> str:
        odd = entrywise_updates.is_odd(method, symbolic.symbols("m", "v", "g", "first", "second"))
        return listed(
            (
                "a gradient −g in the place of g takes (−m, v) where g takes (m, v), as polynomials in m, v, g and the "
                "rates: by induction entries (i, j) and (j, i) step oppositely, after any updates, for all n",
                odd and mirrored == -1,
            ),
            ("A* = −A: C(A)* = C(A)⁻¹ as functions of A, all n", symbolic.image_is_unitary()),
        )

    def points(_: Budget, seed: int) -> Iterator[Parameters]:
        rng = random.Random(seed)
        for n, updates in ((2, 1), (2, 3), (3, 2), (4, 4)):
            entries = [Fraction(rng.randint(-4, 4), rng.randint(1, 3)) for _ in range(updates * n * (n - 1) // 2)]
            yield {"n": str(n), "updates": str(updates), "G": rationals(entries)}

    def each_entry(p: Parameters) -> list[list[Fraction]]:
        """The gradients that every entry above the diagonal sees, one update after the other."""
        values, size = numbers(p, "G"), int(p["n"]) * (int(p["n"]) - 1) // 2
        return [values[entry::size] for entry in range(size)]

    def first(p: Parameters) -> Found:
        rates = {"first": fmpq(*first_rate.as_integer_ratio()), "second": fmpq(*second_rate.as_integer_ratio())}
        apart = 0
        for seen in each_entry(p):
            above = [fmpq(g.numerator, g.denominator) for g in seen]
            pairs = (entrywise_updates.after(method, [s * g for g in above], rates) for s in (1, mirrored))
            apart += any(
                (a + b != 0 and u == w) or (a + b == 0 != a and u != w) for (a, u), (b, w) in zip(*pairs, strict=True)
            )
        return apart > 0, f"{apart} of {len(each_entry(p))} pairs of entries do not step oppositely"

    def second(p: Parameters) -> Found:
        count = 0
        for seen in each_entry(p):
            above, below = (again_updates.steps(method, [s * g for g in seen], *RATES[method]) for s in (1, mirrored))
            count += again_updates.stay_opposite(above, below) is False
        return count > 0, f"{count} pairs of entries do not"

    parameters = declared(
        Parameter("n", Small(2, LARGEST)),
        Parameter("updates", Small(1, MOST_UPDATES)),
        Parameter("G", Listed(Rational(), lambda v: v["updates"] * v["n"] * (v["n"] - 1) // 2)),
    )
    statement = Statement(
        f"A + Aᵀ after updates by {method}, from A + Aᵀ = 0",
        decide,
        points,
        first,
        second,
        found="0",
        claimed="0",
        parameters=parameters,
    )
    return statement.case(f"{method}, exact arithmetic", "A + Aᵀ after updates")


SIZES = (2, 3, 5, 8, 17, 33)
UPDATES = {"smoke": 40, "standard": 200, "deep": 2000}


def float_skew_case(name: str, dtype: str = "float32", sign: int = -1) -> Case:
    """A + Aᵀ = 0 bit for bit after every update: A a full matrix, the optimizer entrywise."""

    def ask(budget: Budget, seed: int) -> Attempt:
        steps = UPDATES[budget.name]
        defects = {n: skew_updates.largest_defect(name, n, steps, seed, dtype, sign) for n in SIZES}
        worst = max(defects.values())
        text = f"n = {', '.join(map(str, SIZES))}, {steps} updates each in {dtype}, every entry of A on its own"
        broken = tuple({"n": str(n), "updates": str(steps), "seed": str(seed)} for n in SIZES if defects[n] > 0)
        return Attempt(text, steps * len(SIZES), found=f"max |A + Aᵀ| = {worst:g}", claimed="0", candidates=broken)

    def check(parameters: Parameters) -> Check:
        n, steps, seed = (int(number(parameters, name)) for name in ("n", "updates", "seed"))
        defect = skew_updates.largest_defect(name, n, steps, seed, dtype, sign)
        other = skew_updates.largest_defect_again(name, n, steps, seed, dtype, sign)
        return Check(
            opinions=(
                Opinion("torch", defect > 0, f"max |A + Aᵀ| = {defect:g}"),
                Opinion("numpy", other > 0, f"max |A + Aᵀ| = {other:g}"),
            ),
            words=f"{name}, n = {n}, {steps} updates in {dtype}: max |A + Aᵀ| = {defect:g}",
        )

    limits = {"n": max(SIZES), "updates": UPDATES["deep"]}
    parameters = declared(
        *(Parameter(name, Small(1, most)) for name, most in limits.items()), Parameter("seed", Integer(0, 2**31))
    )
    return Case(f"{name}, {dtype}", "A + Aᵀ after updates", ask, parameters.guards(check))


CLAIMS = (
    Claim(
        id="sco-2.2a",
        source=Source("scornn", "Sec. 2.2"),
        statement="orthogonal and unitary W satisfy ‖Wx‖₂ = ‖x‖₂ for all x",
        semantics="alg",
        cases=(norm_case(False), norm_case(True)),
    ),
    Claim(
        id="sco-2.2c",
        source=Source("scornn", "Sec. 2.2"),
        statement="full-capacity update: finitely many steps (1), any loss, join any two matrices of U(n)",
        semantics="real",
        dominated_by="thm-U2",
        cases=(reach_case(), real_reach_case(1), real_reach_case(2), same_determinant_case()),
    ),
    Claim(
        id="sco-eq1",
        source=Source("scornn", "Sec. 2.2 (1)"),
        statement="W_{k+1} = (I + λ/2 B)⁻¹(I − λ/2 B) W_k stays unitary and moves in a descent direction; B = G W* − "
        "W G*, G = ∂L/∂W, is that of the references cited for (1)",
        semantics="alg",
        dominated_by="thm-U2",
        cases=(unitary_step_case(), descent_case()),
    ),
    Claim(
        id="sco-3.2b",
        source=Source("scornn", "Sec. 3.2"),
        statement="with A and ∂L/∂A skew, the updated A is skew and the new W orthogonal, by gradient descent and by "
        "related methods",
        semantics="alg",
        dominated_by="thm-SC-grad",
        cases=(
            skew_step_case(),
            *map(entrywise_case, entrywise_updates.METHODS),
            *(float_skew_case(name) for name in skew_updates.OPTIMIZERS),
        ),
    ),
)
