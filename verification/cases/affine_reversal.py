"""Symplectic Euler with a bias of its own in each half is reversed by an affine exchange, where S d = b_p − b_q.

    Φ: p₊ = p − η σ(S q + b_p),  q₊ = q + η σ(S p₊ + b_q)          ρ(p, q) = (q + d, p − d),   ρ Φ ρ Φ = 1

For a regular S there is such a d for all biases. docs/derivations/arnn.md, thm-rev (a).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import Ordering, fmpq_mpoly_ctx

from verification.cases.decision import at, decided
from verification.claim import Case, Decided, Parameters
from verification.exact_text import number
from verification.measure.reversals import OddOpaque

LARGEST = 3


def affine_case(domain: str, share: int = 1) -> Case:
    """S d = share·(b_p − b_q); another share than 1 is a planted falsehood."""

    def first(parameters: Parameters) -> Decided:
        differs = _differs(int(number(parameters, "n")), share)
        return Decided(differs, f"ρ Φ ρ Φ {'≠' if differs else '='} 1 as polynomials, σ any function")

    def second(parameters: Parameters) -> Decided:
        n = int(number(parameters, "n"))
        worst = max(_distance(n, share, random.Random(37 * n + trial)) for trial in range(60))
        return Decided(worst != 0, f"largest difference {worst} at 60 rational networks with ReLU")

    return decided(
        domain,
        "ρ(p, q) = (q + d, p − d), S d = b_p − b_q, each half with its own bias",
        at(*({"n": str(n)} for n in range(1, LARGEST + 1))),
        first,
        second,
        box=f"n ≤ {LARGEST}, all symmetric S, d, b_p, states and η, b_q = b_p − S d, any σ: polynomials",
        claimed="1",
        names=("polynomials", "ReLU in fractions"),
    )


def _differs(n: int, share: int) -> bool:
    """b_p = b_q + S d/share as symbols, so that S d = share (b_p − b_q)."""
    names = ["eta", *(f"{letter}{i}" for letter in ("p", "q", "d", "b") for i in range(n))]
    names += [f"s{i}_{j}" for i in range(n) for j in range(i, n)]
    pool = [f"sigma{i}" for i in range(8 * n)]
    free: dict[str, Any] = dict(
        zip([*names, *pool], fmpq_mpoly_ctx.get([*names, *pool], Ordering.degrevlex).gens(), strict=True)
    )
    sigma = OddOpaque((free[name] for name in pool), odd=False)
    p, q, d, b = ([free[f"{letter}{i}"] for i in range(n)] for letter in ("p", "q", "d", "b"))
    S = [[free[f"s{min(i, j)}_{max(i, j)}"] for j in range(n)] for i in range(n)]
    turned = _applied(S, d)
    second = [bias - share * shift for bias, shift in zip(b, turned, strict=True)]

    def pushed(state: Sequence[Any], bias: Sequence[Any]) -> list[Any]:
        return [sigma(x + shift) for x, shift in zip(_applied(S, state), bias, strict=True)]

    def step(one: Sequence[Any], other: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        one = [x - free["eta"] * f for x, f in zip(one, pushed(other, b), strict=True)]
        return list(one), [x + free["eta"] * f for x, f in zip(other, pushed(one, second), strict=True)]

    state: tuple[Sequence[Any], Sequence[Any]] = (p, q)
    for _ in range(2):
        one, other = step(*state)
        state = (
            [x + shift for x, shift in zip(other, d, strict=True)],
            [x - shift for x, shift in zip(one, d, strict=True)],
        )
    return [list(half) for half in state] != [p, q]


def _applied(S: Sequence[Sequence[Any]], v: Sequence[Any]) -> list[Any]:
    return [sum((entry * x for entry, x in zip(row[1:], v[1:], strict=True)), row[0] * v[0]) for row in S]


def _distance(n: int, share: int, rng: random.Random) -> Fraction:
    """From Φ run backwards: Φ⁻¹ of the state (p, q), against ρ Φ ρ, both with ReLU."""

    def draw() -> list[Fraction]:
        return [Fraction(rng.randint(-4, 4), rng.randint(1, 3)) for _ in range(n)]

    lower = [draw() for _ in range(n)]
    p, q, d, b = draw(), draw(), draw(), draw()
    eta = Fraction(rng.randint(1, 5), 4)
    c = [b[i] - share * sum(lower[max(i, j)][min(i, j)] * d[j] for j in range(n)) for i in range(n)]

    def force(i: int, state: list[Fraction], bias: list[Fraction]) -> Fraction:
        return max(sum((lower[max(i, j)][min(i, j)] * state[j] for j in range(n)), bias[i]), Fraction(0))

    back_q = [q[i] - eta * force(i, p, c) for i in range(n)]
    back_p = [p[i] + eta * force(i, back_q, b) for i in range(n)]
    one, other = [x + y for x, y in zip(q, d, strict=True)], [x - y for x, y in zip(p, d, strict=True)]
    one = [one[i] - eta * force(i, other, b) for i in range(n)]
    other = [other[i] + eta * force(i, one, c) for i in range(n)]
    gaps = [other[i] + d[i] - back_p[i] for i in range(n)] + [one[i] - d[i] - back_q[i] for i in range(n)]
    return max(map(abs, gaps))
