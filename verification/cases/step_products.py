"""Products Φ = B(κ_n) ⋯ B(κ_1) of step Jacobians, in the norm of a form and in the maximum norm.   thm-J (a), thm-J-inf

    B(κ) = [[1 − h²κ, h], [−hκ, 1]],   Q_a(y, z) = a y² + z² − a h y z,   0 < a < 4/h²,   r_a² = a(1 − ah²/4)

A product has determinant 1, so its singular values in the inner product of Q_a are s and 1/s, and

    (s − 1/s)² = tr(G⁻¹ΦᵀGΦ) − 2,   G the matrix of Q_a, det G = r_a²:   log ‖Φ‖_a = asinh(|s − 1/s|/2).

The form is given by its ``share`` of 4/h². The first back-end takes Φ into an orthonormal basis, where (s − 1/s)² is a
sum of two squares; the second one moves two vectors and takes the trace.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from odernn.bounds import forms, jacobian
from odernn.bounds.numbers import BALLS
from verification.cases.growth_factors import below_line
from verification.cases.identity import PolynomialIdentity
from verification.cases.inequality import STEP_BELOW_ONE, Inequality
from verification.cases.nominate import first_violation
from verification.cases.one_step_norms import exponential_case
from verification.cases.related import Related
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Hypothesis, Parameters
from verification.domains import Budget
from verification.exact_text import rational, rationals
from verification.kinds import Listed, Rational, Values
from verification.measure.polynomials import coefficient
from verification.parameters import Declaration, Parameter, declared
from verification.parameters import rationals as all_rational

LARGEST = 1000
MOST_FACTORS = 60

# --- log ‖Φ‖_a, both typings


def product_in_balls(kappas: Sequence[Any], h: Any) -> list[list[Any]]:
    """The rows of Φ, the first κ acting first."""
    (p, q), (r, s) = (flint.arb(1), flint.arb(0)), (flint.arb(0), flint.arb(1))
    for kappa in kappas:
        r, s = r - h * kappa * p, s - h * kappa * q
        p, q = p + h * r, q + h * s
    return [[p, q], [r, s]]


def log_norm_in_balls(kappas: Sequence[Any], h: Any, a: Any) -> Any:
    """asinh(√D/2), D = (m₁₁ − m₂₂)² + (m₁₂ + m₂₁)², M = FΦF⁻¹, ‖FX‖² = Q_a(X), F = [[r, 0], [−ah/2, 1]]."""
    (p, q), (u, v) = product_in_balls(kappas, h)
    r, tilt = jacobian.root(form=a, step_size=h, numbers=BALLS), a * h / 2
    rows = [[r * p, r * q], [u - tilt * p, v - tilt * q]]  # FΦ
    m = [[(x + y * tilt) / r, y] for x, y in rows]
    split = (m[0][0] - m[1][1]) ** 2 + (m[0][1] + m[1][0]) ** 2
    return (BALLS.root_of_positive_part(split) / 2).asinh()


def columns_in_intervals(kappas: Sequence[Any], h: Any) -> list[tuple[Any, Any]]:
    """(y, z) of (1, 0) and of (0, 1) after all steps."""
    moved = []
    for y, z in ((second.iv.mpf(1), second.iv.mpf(0)), (second.iv.mpf(0), second.iv.mpf(1))):
        for kappa in kappas:
            z = z - kappa * y * h
            y = z * h + y
        moved.append((y, z))
    return moved


def root_of_part(x: Any) -> Any:
    """√max(x, 0) of an interval."""
    return second.iv.sqrt(second.iv.mpf([max(x.a, 0), max(x.b, 0)]))


def log_norm_in_intervals(kappas: Sequence[Any], h: Any, a: Any) -> Any:
    """log(x + √(1 + x²)), x = √(tr − 2)/2, tr = (Q_a(v₁) + a h Q_a(v₁, v₂) + a Q_a(v₂))/r_a²."""
    iv = second.iv
    (y, z), (yy, zz) = columns_in_intervals(kappas, h)
    tilt = h * a / 2

    def pairing(y: Any, z: Any, yy: Any, zz: Any) -> Any:
        return a * y * yy + z * zz - tilt * (y * zz + z * yy)

    trace = pairing(y, z, y, z) + a * h * pairing(y, z, yy, zz) + a * pairing(yy, zz, yy, zz)
    x = root_of_part(trace / (a - tilt**2) - 2) / 2
    return iv.log(x + iv.sqrt(x**2 + 1))


def log_step_in_intervals(kappa: Any, h: Any, a: Any) -> Any:
    """asinh(h|κ − a|/(2r_a)) by a logarithm."""
    iv = second.iv
    x = abs(a - kappa) * h / iv.sqrt(a * 4 - (a * h) ** 2)
    return iv.log(x + iv.sqrt(x**2 + 1))


# --- thm-J (a)


def _norm(v: Mapping[str, Any], factor: int = 1) -> list[Any]:
    """det G (tr(G⁻¹BᵀGB) − 2) = h²(κ − a)², over 4, with 4 det G = a(4 − ah²); and det B = 1."""
    a, h, kappa = v["a"], v["h"], v["kappa"]
    B = [[1 - h * h * kappa, h], [-h * kappa, 1 + 0 * h]]
    G = [[2 * a, -a * h], [-a * h, 2 + 0 * a]]  # twice the matrix of Q_a
    adjugate = [[G[1][1], -G[0][1]], [-G[1][0], G[0][0]]]
    pulled = [
        [sum(B[k][i] * G[k][l] * B[l][j] for k, l in itertools.product(range(2), repeat=2)) for j in range(2)]
        for i in range(2)
    ]
    trace = sum(adjugate[i][j] * pulled[j][i] for i, j in itertools.product(range(2), repeat=2))
    determinant = G[0][0] * G[1][1] - G[0][1] * G[1][0]
    shear = factor * h * h * (kappa - a) * (kappa - a)
    return [trace - 2 * determinant - 4 * shear, B[0][0] * B[1][1] - B[0][1] * B[1][0] - 1]


def _norm_again(v: Mapping[str, Any], factor: int = 1) -> list[Any]:
    """By the images of (1, 0) and (0, 1): kick, then drift."""
    a, h, kappa = v["a"], v["h"], v["kappa"]
    first, other = (1 - h * (kappa * h), -kappa * h), (h, 1)

    def double(x: Any, y: Any) -> Any:
        """2 Q_a(x, y)."""
        return 2 * (a * x[0] * y[0] + x[1] * y[1]) - a * h * (x[0] * y[1] + x[1] * y[0])

    trace = double(first, first) + a * h * double(first, other) + a * double(other, other)
    room = a * (4 - a * h * h)  # 4 r_a²
    shear = (h * (a - kappa)) ** 2 * factor
    return [2 * trace - 2 * room - 4 * shear, first[0] * other[1] - first[1] * other[0] - 1]


def norm_identity(factor: int = 1) -> PolynomialIdentity:
    """(s − 1/s)² = h²(κ − a)²/r_a² of one step; another ``factor`` of the right side is a planted falsehood."""
    return PolynomialIdentity(
        ("a", "h", "kappa"),
        lambda v: _norm(v, factor),
        lambda v: _norm_again(v, factor),
        "r_a²(tr(G⁻¹BᵀGB) − 2) against h²(κ − a)², and det B against 1",
    )


NORM = norm_identity()


def norm_proof(budget: Budget, seed: int) -> str:
    """That ‖B(κ)‖_a = ‖B(κ)⁻¹‖_a = exp asinh(h|κ − a|/(2r_a)); "" if the identity does not hold."""
    proof = NORM.ask(budget, seed).proof
    return proof and f"{proof}; so the singular values s, 1/s of B(κ) have |s − 1/s| = h|κ − a|/r_a"


FORM = (*all_rational("h", above=0, most=10), *all_rational("share", above=0, below=1))
"""h, and the form's share of 4/h²."""
KAPPAS = Parameter("kappa", Listed(Rational(least=-LARGEST, most=LARGEST), (1, MOST_FACTORS)))


def product_case(factor: Fraction = Fraction(1)) -> Case:
    """log ‖Φ‖_a ≤ ``factor`` Σ_j asinh(h|κ_j − a|/(2r_a)) for every product and every form."""

    def balls(p: Any) -> tuple[Any, Any]:
        a = 4 * p.share / p.h**2
        right = jacobian.log_product_bound(kappas=p.kappa, form=a, step_size=p.h, numbers=BALLS)
        return log_norm_in_balls(p.kappa, p.h, a), coefficient(factor) * right

    def intervals(p: Any) -> tuple[Any, Any]:
        a = p.share / (p.h / 2) ** 2
        total = sum((log_step_in_intervals(kappa, p.h, a) for kappa in p.kappa), second.iv.mpf(0))
        return log_norm_in_intervals(p.kappa, p.h, a), total * factor.numerator / factor.denominator

    parameters = declared(*FORM, KAPPAS)
    inequality = Inequality(balls, intervals, lists=("kappa",), are_logs=True, parameters=parameters)

    def ask(budget: Budget, seed: int) -> Attempt:
        tried, sides, worst, share = _products(budget, seed, float(factor))
        proof = norm_proof(budget, seed) if worst is None and factor >= 1 else ""
        proof = proof and f"{proof}; norms multiply"
        return Attempt(
            proof or f"{tried} products of up to {MOST_FACTORS} steps",
            tried,
            *sides,
            candidates=() if worst is None else (worst,),
            proof=proof,
            control=share,
        )

    return Case("all products", "log ‖Φ(n,k)‖_a", ask, inequality.check, is_search=True)


_SADDLES = ((2, -7, 0.05), (4, -12, 0.2), (0, -1, 0.0343), (1, -201, 0.05))
_SWITCHED = ((4, -3, 0.05), (1, 8, 0.125), (4, 12, 0.05), (9, 2, 0.1))
"""(α, w, h) of saddles, where constant inputs are fastest, and of neurons that a periodic input makes grow."""


def _rows(budget: Budget, seed: int) -> Iterator[tuple[float, float, list[float], bool]]:
    """(h, share, κ's, is a saddle in its best form): saddles, words at resonance, and products at random."""
    from verification.adversary import words

    for alpha, w, h in (*_SADDLES, *_SWITCHED):
        ends = float(alpha + min(w, 0)), float(alpha + max(w, 0))
        form = float(forms.best_form(kappa_low=ends[0], kappa_high=ends[1], step_size=h))
        letters = words.search(*ends, h).letters
        for share in (form * h * h / 4, 0.5, 0.01):
            yield h, share, ([ends[k] for k in letters] * MOST_FACTORS)[:MOST_FACTORS], w < -alpha and share != 0.5
    rng = np.random.default_rng(seed)
    for _ in range({"smoke": 100, "standard": 1000, "deep": 10000}[budget.name]):
        h, share = float(rng.uniform(0.01, 1)), float(rng.uniform(0.001, 0.999))
        spread = 10 ** rng.uniform(-2, 1) / h**2
        kappas = 4 * share / h**2 + spread * rng.choice([-1.0, 0.0, 1.0], rng.integers(1, MOST_FACTORS + 1))
        yield h, share, kappas.clip(-LARGEST, LARGEST).tolist(), False


def _products(budget: Budget, seed: int, factor: float) -> tuple[int, tuple[float, float], Parameters | None, float]:
    """How many products, both sides of the worst, its parameters if it violates, and the share of the bound that the
    saddles reach in their best form, which is 1.
    """
    worst, at, sides, reached, count = -np.inf, None, (0.0, 0.0), 0.0, 0
    for h, share, kappas, is_saddle in _rows(budget, seed):
        a = 4 * share / h**2
        left = _log_norm(kappas, h, a)
        right = float(sum(jacobian.log_norm(kappa=kappa, form=a, step_size=h) for kappa in kappas))
        count += 1
        if is_saddle:
            reached = max(reached, left / right)
        if left - factor * right > worst:
            worst, at, sides = left - factor * right, (h, share, kappas), (left, factor * right)
    if at is None or worst <= 1e-9:
        return count, sides, None, reached
    exact = [Fraction(x).limit_denominator(10**4) for x in (*at[:2], *at[2])]
    found = {"h": rational(exact[0]), "share": rational(exact[1]), "kappa": rationals(exact[2:])}
    return count, sides, found, reached


def _log_norm(kappas: Sequence[float], h: float, a: float) -> float:
    """log ‖Φ‖_a in floats, rescaled at every step."""
    r = np.sqrt(a * (1 - a * h * h / 4))
    frame, inverse = np.array([[r, 0], [-a * h / 2, 1]]), np.array([[1 / r, 0], [a * h / (2 * r), 1]])
    product, log_scale = frame @ inverse, 0.0
    for kappa in kappas:
        product = frame @ np.array([[1 - h * h * kappa, h], [-h * kappa, 1]]) @ inverse @ product
        size = float(np.abs(product).max())
        product, log_scale = product / size, log_scale + np.log(size)
    return float(np.log(np.linalg.norm(product, 2)) + log_scale)


# --- thm-J-inf: the maximum norm


def _layer_parameters(longest: Fraction | None) -> Declaration:
    """A neuron and the slopes of its steps; dt is read last, so that it keeps to the range."""

    def fitting(dt: Fraction, values: Values) -> Fraction:
        if longest is None:
            return dt
        return min(dt, longest / (_gamma(values["alpha"], values["w"]) * len(values["slopes"])))

    text = "0 < dt < 1" if longest is None else f"γ(n − k)dt ≤ {longest}"
    return declared(
        *all_rational("alpha", least=0, most=LARGEST),
        *all_rational("w", least=-LARGEST, most=LARGEST),
        *all_rational("sigma", above=0, below=1),
        Parameter("slopes", Listed(Rational(above=0, most=1), (1, 2000))),
        Parameter("dt", Related(Rational(above=0, below=1), text, fitting)),
    )


_LINES = tuple(itertools.product((1, 4, 16), map(Fraction, ("1/4", "1/20", "1/1000")), (1, 5, 40)))


def _layer_points(longest: Fraction | None) -> Iterator[Parameters]:
    """Short single steps, K = 2 among them, where γ is nearest to K; saddles at pre-activation 0, w = −1 − W, words
    in two slopes; as many as the range allows.
    """
    from verification.adversary import words

    yield from _layer_point(Fraction(1), Fraction(1), Fraction(1, 20), [Fraction(1)], Fraction(1, 20), Fraction(1, 5))
    for w in (9, -201):
        yield from _layer_point(
            Fraction(1), Fraction(w), Fraction(1, 10**4), [Fraction(1)], Fraction(1, 10**4), longest
        )
    for W, dt, horizon in _LINES:
        yield from _layer_point(Fraction(1), Fraction(-1 - W), dt, [Fraction(1)], horizon, longest)
    for alpha, w, h in _SWITCHED:
        letters = words.search(alpha + min(w, 0), alpha + max(w, 0), h).letters
        slopes = [Fraction(1 if (letter == 0) == (w < 0) else Fraction(1, 10**4)) for letter in letters]
        step = Fraction(h * 2).limit_denominator(100)
        yield from _layer_point(Fraction(alpha), Fraction(w), step, slopes, 10, longest)


def _layer_point(
    alpha: Fraction, w: Fraction, dt: Fraction, word: list[Fraction], horizon: Fraction | int, longest: Fraction | None
) -> Iterator[Parameters]:
    count = int(horizon / dt) if longest is None else int(longest / (_gamma(alpha, w) * dt))
    slopes = (word * (count // len(word) + 1))[: min(count, 2000)]
    if slopes:
        given = {"alpha": alpha, "w": w, "dt": dt, "sigma": Fraction(999, 1000)}
        yield {**{name: rational(value) for name, value in given.items()}, "slopes": rationals(slopes)}


def _gamma(alpha: Fraction, w: Fraction) -> Fraction:
    K = max(abs(w) + alpha, Fraction(2))
    return K + K * K / 2


def layer_case(longest: Fraction | None = None, multiple: Fraction = Fraction(1)) -> Case:
    """‖dX^L_n/dX^L_k‖_∞ ≤ e^{K(n−k)dt}, K = max(2, |w| + α); or 1 + 2γ(n−k)dt where γ(n−k)dt ≤ ``longest``.

    ``multiple`` of K, and of 2γ; below 1 a planted falsehood.
    """

    def grown(K: Any, t: Any) -> Any:
        if longest is None:
            return (coefficient(multiple) * K * t).exp()
        return 1 + coefficient(multiple) * (2 * K + K * K) * t

    def balls(p: Any) -> tuple[Any, Any]:
        (a, b), (c, d) = product_in_balls([p.alpha + p.w * s for s in p.slopes], p.sigma * p.dt)
        K = (abs(p.w) + p.alpha).max(2)
        return (abs(a) + abs(b)).max(abs(c) + abs(d)), grown(K, len(p.slopes) * p.dt)

    def intervals(p: Any) -> tuple[Any, Any]:
        iv = second.iv
        (y, z), (yy, zz) = columns_in_intervals([s * p.w + p.alpha for s in p.slopes], p.dt * p.sigma)
        sums = abs(y) + abs(yy), abs(z) + abs(zz)
        size = p.alpha + abs(p.w)
        K = iv.mpf([max(size.a, 2), max(size.b, 2)]) * multiple.numerator / multiple.denominator
        t = p.dt * len(p.slopes)
        bar = iv.mpf([max(size.a, 2), max(size.b, 2)])
        right = iv.exp(t * K) if longest is None else K * (bar + 2) * t + 1
        return iv.mpf([max(x.a for x in sums), max(x.b for x in sums)]), right

    premises: tuple[Hypothesis, ...] = (STEP_BELOW_ONE,)
    if longest is not None:
        text = f"γ(n − k)dt ≤ {longest}"
        premises = (
            *premises,
            Hypothesis(text, lambda p: longest - _gamma(p.alpha, p.w) * len(p.slopes) * p.dt, strict=False),
        )
    inequality = Inequality(balls, intervals, premises, lists=("slopes",), parameters=_layer_parameters(longest))

    def ask(budget: Budget, seed: int) -> Attempt:
        seen = first_violation((inequality,), _layer_points(longest), "saddles at rest and words in two slopes")
        covered = multiple >= 1 and not seen.candidates
        proof = exponential_case().ask(budget, seed).proof if covered else ""
        if proof and longest is not None:
            line = below_line(longest)
            proof = line and f"{proof}; K ≤ γ, and {line}"
        proof = proof and f"n − k factors, each: {proof}"
        return Attempt(
            proof or seen.tried,
            seen.evaluations,
            seen.log_measured,
            seen.log_claimed,
            candidates=seen.candidates,
            proof=proof,
        )

    domain = "l = L" if longest is None else "l = L, γ(n−k)dt ≤ x₀"
    quantity = "‖dX^L_n/dX^L_k‖_∞ ≤ " + ("e^{K(n−k)dt}" if longest is None else "1 + 2γ(n−k)dt")
    return Case(domain, quantity, ask, inequality.check)
