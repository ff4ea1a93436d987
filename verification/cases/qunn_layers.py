"""One layer of a QUNN as a map of its state: ‖W z‖ ≤ (|α| + |β| s) ‖z‖, s = |x||x'|, for all numbers in it.

    W = α I ⊗ I + β x x'ᵀ ⊗ P,  P e_c = e_{c+1 mod T+1};  z ∈ R^d ⊗ R^(T+1),  N z = (x x'ᵀ ⊗ P) z

With α, β ≥ 0 and a sign τ in front of β, and Z_c the part of z on e_c:

    s ((α + β s)² ‖z‖² − ‖α z + τ β N z‖²) = α β (‖s z − τ N z‖² + L) + s β² L,   L = s² ‖z‖² − ‖N z‖²,
    L = |x|² Σ_c Σ_{i<j} (x'_i Z_cj − x'_j Z_ci)² ≥ 0,   s² = |x|²|x'|²

Then a 1-Lipschitz function, entry by entry, moves differences by no more. docs/derivations/qunn.md, thm-QUNN (d).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import Ordering, fmpq_mpoly_ctx

from verification.cases.decision import at, decided
from verification.claim import Case, Decided, Parameters
from verification.exact_text import number

TRIPLES = ((3, 4, 5), (5, 12, 13), (8, 15, 17), (-20, 21, 29), (0, 1, 1), (7, -24, 25))
"""Vectors of two rational numbers with a rational length."""


def non_expansion_case(share: int = 1) -> Case:
    """Every layer with |α| + |β| |x||x'| ≤ 1 and a 1-Lipschitz σ. Another ``share`` of |β| |x||x'|: a falsehood, 0."""

    def first(parameters: Parameters) -> Decided:
        d, T, tau = (int(number(parameters, name)) for name in ("d", "T", "sign"))
        wrong = _residuals(d, T, tau, share)
        return Decided(
            bool(wrong), "‖Wz‖ ≤ (|α| + |β| s) ‖z‖ as an identity of polynomials" if not wrong else "differs"
        )

    def second(parameters: Parameters) -> Decided:
        d, T, tau = (int(number(parameters, name)) for name in ("d", "T", "sign"))
        rng = random.Random(100 * d + 10 * T + tau)
        worst = max(_excess(d, T, tau, share, rng) for _ in range(200))
        return Decided(worst > 0, f"largest ‖Wz‖² − (|α| + |β| s)² ‖z‖² of 200 in fractions: {float(worst):.3g}")

    places = [{"d": str(d), "T": str(T), "sign": sign} for d in (1, 2) for T in (1, 2, 3) for sign in ("1", "-1")]
    return decided(
        "d ≤ 2, T ≤ 3, |α_i| + |β_i| |x_{l−i+1}| |x_{l−i}| ≤ 1, σ 1-Lipschitz",
        "every layer is non-expansive",
        at(*places),
        first,
        second,
        box="both signs of αβ, all α, β, inputs and states: polynomials; σ moves differences of entries "
        "by no more than they are",
        claimed="‖W_i‖ ≤ |α_i| + |β_i| |x_{l−i+1}| |x_{l−i}| ≤ 1",
        names=("polynomials", "Kronecker products in fractions"),
    )


def _residuals(d: int, T: int, tau: int, share: int) -> list[Any]:
    """What is not 0 of both identities, modulo s² = |x|²|x'|²."""
    states = T + 1
    names = ["s", "alpha", "beta", *(f"x{i}" for i in range(d)), *(f"v{i}" for i in range(d))]
    names += [f"z{c}_{i}" for c in range(states) for i in range(d)]
    free: list[Any] = list(fmpq_mpoly_ctx.get(names, Ordering.lex).gens())
    s, alpha, beta, rest = free[0], free[1], free[2], free[3:]
    x, v, flat = rest[:d], rest[d : 2 * d], rest[2 * d :]
    Z = [flat[c * d : (c + 1) * d] for c in range(states)]
    N = [[entry * _dot(v, Z[c - 1]) for entry in x] for c in range(states)]  # of e_c: it comes from e_{c−1}
    square, lost = _square(Z), _dot(x, x)
    L = lost * sum(
        ((v[i] * Z[c][j] - v[j] * Z[c][i]) ** 2 for c in range(states) for i, j in itertools.combinations(range(d), 2)),
        0 * s,
    )
    moved = _square(
        [[alpha * a + tau * beta * b for a, b in zip(*rows, strict=True)] for rows in zip(Z, N, strict=True)]
    )
    apart = _square([[s * a - tau * b for a, b in zip(*rows, strict=True)] for rows in zip(Z, N, strict=True)])
    claimed = (alpha + share * beta * s) ** 2 * square - moved
    identities = [s * claimed - alpha * beta * (apart + L) - s * beta**2 * L, s**2 * square - _square(N) - L]
    relation = s**2 - lost * _dot(v, v)
    return [rest for identity in identities if (rest := divmod(identity, relation)[1]) != 0]


def _excess(d: int, T: int, tau: int, share: int, rng: random.Random) -> Fraction:
    """‖W z‖² − (|α| + |β| s)² ‖z‖² at random rationals, W as one matrix; z also along x', where it is largest."""

    def vector() -> tuple[list[Fraction], Fraction]:
        if d == 1:
            entry = Fraction(rng.randint(-5, 5), rng.randint(1, 3))
            return [entry], abs(entry)
        a, b, length = rng.choice(TRIPLES)
        return [Fraction(a, 3), Fraction(b, 3)], Fraction(length, 3)

    (x, one), (v, other) = vector(), vector()
    alpha, beta, C = Fraction(rng.randint(0, 4), 3), tau * Fraction(rng.randint(0, 4), 5), T + 1
    W = [
        [alpha * (i == j and c == e) + beta * x[i] * v[j] * (c == (e + 1) % C) for j in range(d) for e in range(C)]
        for i in range(d)
        for c in range(C)
    ]
    if rng.random() < 0.5:
        z = [Fraction(rng.randint(-3, 3)) for _ in range(d * C)]
    else:
        z = [v[j] * (tau if e % 2 else 1) for j in range(d) for e in range(C)]
    after = [sum((w * entry for w, entry in zip(row, z, strict=True)), Fraction(0)) for row in W]
    bound = (abs(alpha) + share * abs(beta) * one * other) ** 2
    return sum((a * a for a in after), Fraction(0)) - bound * sum((a * a for a in z), Fraction(0))


def _dot(one: Sequence[Any], other: Sequence[Any]) -> Any:
    total, *rest = (a * b for a, b in zip(one, other, strict=True))
    return sum(rest, total)


def _square(rows: Sequence[Sequence[Any]]) -> Any:
    total, *rest = (_dot(row, row) for row in rows)
    return sum(rest, total)
