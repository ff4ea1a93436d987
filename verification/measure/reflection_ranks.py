"""The restricted-capacity parametrisation of unitary matrices: the rank of its differential, exactly.

    W = D₃ R₂ F⁻¹ D₂ Π R₁ F D₁      D_k diagonal unitary, R_k = I − 2 v_k v_k*/(v_k* v_k), F Fourier, Π a permutation

7n real parameters. All derivatives lie in W u(n), and real vectors of u(n) that are independent over R are so over C:
the rank is that of a matrix over the field of the entries. At a point with rational e^{iθ} and v these are in
Q(i, ζ_n); modulo a prime p with p ≡ 1 (mod 4n) that field maps to F_p, and a minor that is not 0 there was not 0
before. So a rank modulo p is a **lower** bound on the rank at the point, and on the rank almost everywhere.

**Upper** bound 7n − 7 everywhere (n ≥ 2; v₁ and U*v₂ not parallel, U = F⁻¹D₂Π between the reflections): W does not
change with the length and phase of v₁ and of v₂ (four directions), with a common phase moved from D₃ to D₂ or from D₂
to D₁ (two), and when a = U*v₂ and b = v₁, of phases with a*b real, turn together in their plane by exp(tK),
K = b a* − a b*: K commutes with R(a) R(b) (one). Proof in docs/derivations/scaled_cayley.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from flint import nmod_mat

from verification.certify.second import cayley as again
from verification.measure.cayley_symbols import product, symbols

REDUNDANT = 7
"""Directions along which W does not change, at every point."""
Point: TypeAlias = dict[str, list[Fraction]]
"""t: e^{iθ} = (1 + it)/(1 − it) of D₁, D₂, D₃; x, y: v₁, v₂ = x + iy; order: the permutation."""


def prime(n: int, beyond: int) -> tuple[int, int, int]:
    """The first prime p > ``beyond`` with p ≡ 1 (mod 4n), a square root of −1 and a primitive n-th root of 1."""
    p = beyond - beyond % (4 * n) + 4 * n + 1
    while any(p % d == 0 for d in range(2, int(p**0.5) + 1)):
        p += 4 * n
    for g in range(2, p):
        i, zeta = pow(g, (p - 1) // 4, p), pow(g, (p - 1) // n, p)
        if i * i % p == p - 1 and all(pow(zeta, k, p) != 1 for k in range(1, n)):
            return p, i, zeta
    raise ArithmeticError(f"no roots of 1 modulo {p}")


def _modulo(value: Fraction, p: int) -> int:
    return value.numerator * pow(value.denominator, -1, p) % p


def rank(point: Point, beyond: int = 10**6) -> int:
    """A lower bound: derivatives by e^{iθ}, v and v̄ in closed form, rank by FLINT, modulo the first prime."""
    n = len(point["x"]) // 2
    p, i, zeta = prime(n, beyond)

    def mat(rows: list[list[int]]) -> nmod_mat:
        return nmod_mat(n, n, [x for row in rows for x in row], p)

    def diagonal(values: Sequence[int]) -> nmod_mat:
        return mat([[values[a] if a == b else 0 for b in range(n)] for a in range(n)])

    t = [_modulo(number, p) for number in point["t"]]
    phases = [(1 + i * number) * pow(1 - i * number, -1, p) % p for number in t]
    x, y = ([_modulo(number, p) for number in point[name]] for name in "xy")
    vectors = [
        [(a + i * b) % p for a, b in zip(x, y, strict=True)],
        [(a - i * b) % p for a, b in zip(x, y, strict=True)],
    ]
    F = mat([[pow(zeta, a * b, p) for b in range(n)] for a in range(n)])
    shuffle = mat([[int(point["order"][a] == b) for b in range(n)] for a in range(n)])
    D = [diagonal(phases[k * n : (k + 1) * n]) for k in range(3)]
    reflections, moves = [], []
    for k in range(2):
        v, w = (side[k * n : (k + 1) * n] for side in vectors)
        s = pow(sum(a * b for a, b in zip(v, w, strict=True)) % p, -1, p)
        outer = mat([[a * b % p for b in w] for a in v])
        reflections.append(diagonal([1] * n) - outer * (2 * s % p))
        units = [[int(a == j) for a in range(n)] for j in range(n)]
        moved = [
            (mat([[e[a] * w[b] for b in range(n)] for a in range(n)]) - outer * (w[j] * s % p))
            for j, e in enumerate(units)
        ]
        moved += [
            (mat([[v[a] * e[b] for b in range(n)] for a in range(n)]) - outer * (v[j] * s % p))
            for j, e in enumerate(units)
        ]
        moves.append(moved)
    factors = [D[2], reflections[1], F.inv(), D[1], shuffle, reflections[0], F, D[0]]
    single = [diagonal([int(a == j) for a in range(n)]) for j in range(n)]
    replaced = {0: single, 1: moves[1], 3: single, 5: moves[0], 7: single}
    columns = []
    for place, choices in replaced.items():
        left, right = diagonal([1] * n), diagonal([1] * n)
        for factor in factors[:place]:
            left = left * factor
        for factor in factors[place + 1 :]:
            right = right * factor
        columns += [[int(value) for value in (left * choice * right).entries()] for choice in choices]
    return int(nmod_mat(len(columns), n * n, [value for column in columns for value in column], p).rank())


def rank_again(point: Point, beyond: int = 2 * 10**6) -> int:
    """The same, typed once more: dual numbers along each of the 7n real parameters, elimination here, another prime."""
    n = len(point["x"]) // 2
    p, i, zeta = prime(n, beyond)
    names = [("t", k) for k in range(3 * n)] + [(name, k) for name in "xy" for k in range(2 * n)]
    return rank_modulo(p, [_along(point, direction, p, i, zeta) for direction in names])


def rank_modulo(p: int, rows: list[list[int]]) -> int:
    """By elimination."""
    pivots = 0
    for column in range(len(rows[0])):
        pivot = next((r for r in range(pivots, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[pivots], rows[pivot] = rows[pivot], rows[pivots]
        inverse = pow(rows[pivots][column], -1, p)
        for r in range(pivots + 1, len(rows)):
            if factor := rows[r][column] * inverse % p:
                rows[r] = [(a - factor * b) % p for a, b in zip(rows[r], rows[pivots], strict=True)]
        pivots += 1
    return pivots


@dataclass(frozen=True)
class Dual:
    """value + slope ε modulo p, ε² = 0."""

    value: int
    slope: int
    p: int

    def __add__(self, other: Dual) -> Dual:
        return Dual((self.value + other.value) % self.p, (self.slope + other.slope) % self.p, self.p)

    def __mul__(self, other: Dual) -> Dual:
        crossed = self.value * other.slope + self.slope * other.value
        return Dual(self.value * other.value % self.p, crossed % self.p, self.p)

    def times(self, factor: int) -> Dual:
        return Dual(self.value * factor % self.p, self.slope * factor % self.p, self.p)

    def inverse(self) -> Dual:
        inverse = pow(self.value, -1, self.p)
        return Dual(inverse, -self.slope * inverse * inverse % self.p, self.p)


def _dot(xs: Sequence[Dual], ys: Sequence[Dual]) -> Dual:
    total = xs[0] * ys[0]
    for x, y in zip(xs[1:], ys[1:], strict=True):
        total = total + x * y
    return total


def _along(point: Point, direction: tuple[str, int], p: int, i: int, zeta: int) -> list[int]:
    """The derivative of all entries of W by one parameter: the factors applied to I from the right to the left."""
    n = len(point["x"]) // 2

    def read(name: str) -> list[Dual]:
        return [Dual(_modulo(value, p), int((name, k) == direction), p) for k, value in enumerate(point[name])]

    one = Dual(1, 0, p)
    phases = [(one + t.times(i)) * (one + t.times(-i)).inverse() for t in read("t")]
    pairs = list(zip(read("x"), read("y"), strict=True))
    v, bar = [x + y.times(i) for x, y in pairs], [x + y.times(-i) for x, y in pairs]

    def scaled(W: list[list[Dual]], k: int) -> list[list[Dual]]:
        return [[phases[k * n + a] * entry for entry in row] for a, row in enumerate(W)]

    def fourier(W: list[list[Dual]], power: int, share: int) -> list[list[Dual]]:
        waves = [[Dual(share * pow(zeta, power * a * c % n, p) % p, 0, p) for c in range(n)] for a in range(n)]
        return [[_dot(wave, column) for column in zip(*W, strict=True)] for wave in waves]

    def reflected(W: list[list[Dual]], k: int) -> list[list[Dual]]:
        mine, conjugate = v[k * n : (k + 1) * n], bar[k * n : (k + 1) * n]
        share = _dot(mine, conjugate).inverse().times(-2)
        along = [_dot(conjugate, column) * share for column in zip(*W, strict=True)]
        return [[entry + mine[a] * x for entry, x in zip(row, along, strict=True)] for a, row in enumerate(W)]

    W = scaled([[Dual(int(a == b), 0, p) for b in range(n)] for a in range(n)], 0)
    W = reflected(fourier(W, 1, 1), 0)
    W = scaled([W[int(place)] for place in point["order"]], 1)
    W = scaled(reflected(fourier(W, -1, pow(n, -1, p)), 1), 2)
    return [entry.slope for row in W for entry in row]


def turn_commutes(sign: int = -1) -> bool:
    """K = b a* + sign a b* commutes with (αI − 2aa*)(βI − 2bb*), α = a*a, β = b*b, γ = a*b real; any n, all a, b.

    On the span of a and b, in that basis; on its complement K is 0 and the product αβ, and both keep the complement.
    """
    alpha, beta, gamma = symbols("alpha", "beta", "gamma")
    zero = 0 * alpha
    aa, bb = [[alpha, gamma], [zero, zero]], [[zero, zero], [gamma, beta]]
    ba, ab = [[zero, zero], [alpha, gamma]], [[gamma, beta], [zero, zero]]
    K = [[x + sign * y for x, y in zip(p, q, strict=True)] for p, q in zip(ba, ab, strict=True)]
    first = [[alpha * int(r == c) - 2 * aa[r][c] for c in range(2)] for r in range(2)]
    other = [[beta * int(r == c) - 2 * bb[r][c] for c in range(2)] for r in range(2)]
    M = product(first, other)
    left, right = product(K, M), product(M, K)
    return all(left[r][c] - right[r][c] == 0 for r in range(2) for c in range(2))


def turn_commutes_at(a: Sequence[again.Number], b: Sequence[again.Number], sign: int = -1) -> bool:
    """The same for given vectors over Q(i) as n × n matrices, after b has been given the phase that makes a*b real."""

    def inner(x: Sequence[Any], y: Sequence[Any]) -> again.Number:
        return again.summed(again.times((p[0], -p[1]), q) for p, q in zip(x, y, strict=True))

    phase = inner(a, b)
    b = [again.times((phase[0], -phase[1]), z) for z in b] if phase != again.ZERO else list(b)

    def outer(x: Sequence[Any], y: Sequence[Any]) -> again.Matrix:
        return [[again.times(p, (q[0], -q[1])) for q in y] for p in x]

    def reflection(x: Sequence[Any]) -> again.Matrix:
        size = inner(x, x)
        share = again.over((Fraction(2), Fraction(0)), size)
        return again.combined(again.unit(len(x)), [[again.times(share, z) for z in row] for row in outer(x, x)], -1)

    turned = [again.times((Fraction(2), Fraction(1)), z) for z in a]
    if reflection(turned) != reflection(a):  # length and phase of a vector
        return False
    M = again.product(reflection(a), reflection(b))
    K = again.combined(outer(b, a), outer(a, b), sign)
    return again.product(K, M) == again.product(M, K) and any(z != again.ZERO for row in K for z in row)
