"""Products of reflections and of plane rotations: what the parametrisations of oRNN and EURNN reach.

oRNN: W = H_n(u_n) … H_2(u_2) diag(1, .., 1, ±1), H_k a Householder reflection of the last k coordinates, u_k ≠ 0.
EURNN: W = F⁽¹⁾ … F⁽ᴸ⁾ D, F⁽ˡ⁾ rotations of neighbouring pairs, (1,2), (3,4), .. for odd l and (2,3), (4,5), .. for
even l, each with an angle and a phase, D diagonal unitary: n(n − 1) + n = n² parameters at L = n.
"""

from __future__ import annotations

import random

from flint import fmpq, fmpq_mat, nmod_mat

from verification.measure.cayley_symbols import symbols
from verification.measure.exact_cayley import identity
from verification.measure.reflection_ranks import Dual, prime, rank_modulo


def reflects_onto_first(n: int, sign: int = 1) -> bool:
    """|v|² w − 2 v (v·w) − |v|² e = (1 − |w|²) v, v = w − e, e the first unit vector: H(v) w = e if |w| = 1, v ≠ 0."""
    w = list(symbols(*(f"w{i}" for i in range(n))))
    v = [w[0] - sign, *w[1:]]
    square, along = sum(x * x for x in v), sum(x * y for x, y in zip(v, w, strict=True))
    norm = sum(x * x for x in w)
    e = [sign, *[0] * (n - 1)]
    return all(square * w[i] - 2 * v[i] * along - square * e[i] - (1 - norm) * v[i] == 0 for i in range(n))


def householder_factors(W: fmpq_mat) -> tuple[list[list[fmpq]], int] | None:
    """u_n, .., u_2 and the last sign with W = H_n(u_n) … H_2(u_2) diag(1, .., 1, ±1); None if W is no such product."""
    n = W.nrows()
    rest, vectors = fmpq_mat(W), []
    for place in range(n - 1):
        w = [rest[i, place] for i in range(place, n)]
        v = [w[0] - 1, *w[1:]]
        if all(x == 0 for x in v):
            v = [fmpq(0)] * (n - place - 1) + [fmpq(1)]
        vectors.append(v)
        rest = _reflection(v, n) * rest
    sign = int(rest[n - 1, n - 1].p) if rest[n - 1, n - 1].q == 1 else 0
    product = identity(n)
    product[n - 1, n - 1] = sign
    for v in reversed(vectors):
        product = _reflection(v, n) * product
    return (vectors, sign) if product == W and sign in (1, -1) else None


def _reflection(v: list[fmpq], n: int) -> fmpq_mat:
    H, skip = identity(n), n - len(v)
    square = sum((x * x for x in v), fmpq(0))
    for i, x in enumerate(v):
        for j, y in enumerate(v):
            H[skip + i, skip + j] -= 2 * x * y / square
    return H


def rotation_rank(n: int, layers: int, seed: int, beyond: int = 10**6) -> tuple[int, int]:
    """The rank of the differential of EURNN at a random integer point, modulo a prime, and the number of parameters.

    A lower bound on the rank of the point, as in ``reflection_ranks``.
    """
    p, i, _ = prime(n, beyond)
    factors, moved = rotations(n, layers, seed, p, i)
    columns = []
    for place, choices in enumerate(moved):
        left = right = _embedded(n, p, 0, [[1]], 1)
        for factor in factors[:place]:
            left = left * factor
        for factor in factors[place + 1 :]:
            right = right * factor
        columns += [[int(x) for x in (left * choice * right).entries()] for choice in choices]
    return int(nmod_mat(len(columns), n * n, [x for column in columns for x in column], p).rank()), len(columns)


def rotation_rank_again(n: int, layers: int, seed: int, beyond: int = 2 * 10**6) -> int:
    """The same at the same point, typed once more: dual numbers along each parameter, another prime, elimination here.
    Derivatives by t are multiples of those by angles and phases.
    """
    p, i, _ = prime(n, beyond)
    rng = random.Random(seed)
    places = [place for layer in range(layers) for place in range(layer % 2, n - 1, 2)]
    point = [rng.randint(2, 999) for _ in range(2 * len(places) + n)]

    def along(direction: int) -> list[int]:
        """F⁽¹⁾ … F⁽ᴸ⁾ D as rotations of columns of I, one after the other."""
        t = [Dual(value, int(k == direction), p) for k, value in enumerate(point)]
        one = Dual(1, 0, p)

        def phase(number: Dual) -> Dual:
            return (one + number.times(i)) * (one + number.times(-i)).inverse()

        W = [[Dual(int(a == b), 0, p) for b in range(n)] for a in range(n)]
        for k, place in enumerate(places):
            angle, e = t[2 * k], phase(t[2 * k + 1])
            under = (one + angle * angle).inverse()
            c, s = (one + (angle * angle).times(-1)) * under, angle.times(2) * under
            for row in W:
                x, y = row[place] * e, row[place + 1]
                row[place], row[place + 1] = x * c + y * s, y * c + (x * s).times(-1)
        return [(entry * phase(turn)).slope for row in W for entry, turn in zip(row, t[2 * len(places) :], strict=True)]

    return rank_modulo(p, [along(direction) for direction in range(len(point))])


def rotations(n: int, layers: int, seed: int, p: int, i: int) -> tuple[list[nmod_mat], list[list[nmod_mat]]]:
    """The factors F⁽¹⁾ … F⁽ᴸ⁾ D, one for each rotation, modulo p, and the derivatives of each by its parameters.

    Angles and phases enter as t: cos θ = (1 − t²)/(1 + t²), sin θ = 2t/(1 + t²), e^{iφ} = (1 + it)/(1 − it); i² = −1.
    With −i in place of i every factor is its conjugate.
    """
    rng = random.Random(seed)

    def unit(t: int) -> tuple[int, int]:
        """e^{iφ}, and i e^{iφ} for its derivative by φ."""
        e = (1 + i * t) * pow(1 - i * t, -1, p) % p
        return e, i * e % p

    factors: list[nmod_mat] = []
    moved: list[list[nmod_mat]] = []
    for layer in range(layers):
        for place in range(layer % 2, n - 1, 2):
            t, (e, ie) = rng.randint(2, 999), unit(rng.randint(2, 999))
            under = pow(1 + t * t, -1, p)
            c, s = (1 - t * t) * under, 2 * t * under
            factors.append(_embedded(n, p, place, [[e * c, -e * s], [s, c]], 1))
            blocks = ([[-e * s, -e * c], [c, -s]], [[ie * c, -ie * s], [0, 0]])
            moved.append([_embedded(n, p, place, block, 0) for block in blocks])
    phases = [unit(rng.randint(2, 999)) for _ in range(n)]
    factors.append(nmod_mat(n, n, [phases[a][0] if a == b else 0 for a in range(n) for b in range(n)], p))
    moved.append([_embedded(n, p, k, [[phases[k][1]]], 0) for k in range(n)])
    return factors, moved


def _embedded(n: int, p: int, place: int, block: list[list[int]], one: int) -> nmod_mat:
    """The block on the diagonal of ``one`` times the identity."""
    rows = [[one * int(a == b) for b in range(n)] for a in range(n)]
    for a, row in enumerate(block):
        for b, value in enumerate(row):
            rows[place + a][place + b] = value % p
    return nmod_mat(n, n, [x for row in rows for x in row], p)
