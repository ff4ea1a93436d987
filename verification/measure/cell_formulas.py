"""The tables of Niu, Chuang, Horesh 2019, Claims 1 to 4, written out as formulas, in fractions, without a tableau."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

F = Fraction
Vector: TypeAlias = list[Fraction]


def _tanh(x: Fraction) -> Fraction:
    """A rational stand-in for tanh."""
    return x / (1 + abs(x))


def _logistic(x: Fraction) -> Fraction:
    """Another for the logistic function."""
    return F(1, 2) + x / (2 + 3 * abs(x))


def _draw(rng: random.Random, size: int) -> Vector:
    return [F(rng.randint(-6, 6), rng.randint(1, 3)) for _ in range(size)]


def _inner(rng: random.Random, h: Vector, u: Vector) -> Fraction:
    """One row of W h + U u + b with random numbers."""
    weights = _draw(rng, len(h) + len(u) + 1)
    return sum((x * y for x, y in zip(weights, [*h, *u, F(1)], strict=True)), F(0))


def _product(a: Fraction, b: Fraction) -> Fraction:
    """a b by squares."""
    return ((a + b) ** 2 - (a - b) ** 2) / 4


def differs(kind: str, form: str, layers: int, d: int, rng: random.Random) -> bool:
    """Whether the table's formulas miss the cell at some random rational network, of 20."""
    return any(_one_differs(kind, form, layers, d, rng) for _ in range(20))


def _one_differs(kind: str, form: str, layers: int, d: int, rng: random.Random) -> bool:
    u = _draw(rng, d)
    for _ in range(layers):
        h, c = _draw(rng, d), _draw(rng, d)
        a = [[_inner(rng, h, u) for _ in range(d)] for _ in range(4)]
        cell, table = (_lstm if kind == "lstm" else _gru)(form, a, h, c)
        if cell != table:
            return True
        u = cell[:d]
    return False


def _lstm(form: str, a: list[Vector], h: Vector, c: Vector) -> tuple[Vector, Vector]:
    i, f, o = ([_logistic(x) for x in a[n]] for n in (0, 1, 3))
    g = [_tanh(x) for x in a[2]]
    places = range(len(h))
    new_c = [f[k] * c[k] + i[k] * g[k] for k in places]
    new_h = [o[k] * _tanh(new_c[k]) for k in places]
    if form == "gated":
        # k_1 = (i, f, g, o) with gates (0, c, i, 0);  k_0 = y is taken away
        y_c = [c[k] - c[k] + c[k] * f[k] + i[k] * g[k] for k in places]
        y_h = [h[k] - h[k] + o[k] * _tanh(y_c[k]) for k in places]
    elif form == "relayed":
        # k_3 = 1, k_4 = g k_3;  k_0 = y has the gates (−1, f − 1), k_4 the gate i
        relay = [c[k] - c[k] + g[k] * 1 for k in places]
        y_c = [c[k] + (f[k] - 1) * c[k] + i[k] * relay[k] for k in places]
        y_h = [h[k] + (-1) * h[k] + o[k] * _tanh(y_c[k]) for k in places]
    else:
        y_c = [_product(f[k], c[k]) + _product(i[k], g[k]) for k in places]
        y_h = [_product(o[k], _tanh(y_c[k])) for k in places]
    return [*new_h, *new_c], [*y_h, *y_c]


def _gru(form: str, a: list[Vector], h: Vector, q: Vector) -> tuple[Vector, Vector]:
    """r, z, the linear q (``c`` of the caller, any numbers), and what the input adds to the candidate."""
    r, z = ([_logistic(x) for x in a[n]] for n in (0, 1))
    places = range(len(h))
    g = [_tanh(r[k] * q[k] + a[2][k]) for k in places]
    cell = [(1 - z[k]) * g[k] + z[k] * h[k] for k in places]
    if form == "gated":
        return cell, [h[k] + (1 - z[k]) * (g[k] - h[k]) for k in places]
    if form == "relayed":
        # k_3 = q has the gate r on its way to k_2; k_0 = h and k_2 have the gates −(1 − z), 1 − z
        relay = [_tanh(h[k] - h[k] + r[k] * q[k] + a[2][k]) for k in places]
        return cell, [h[k] + (z[k] - 1) * h[k] + (1 - z[k]) * relay[k] for k in places]
    by_squares = [_tanh(_product(r[k], q[k]) + a[2][k]) for k in places]
    return cell, [
        h[k] - h[k] + by_squares[k] + ((h[k] + z[k] - by_squares[k]) ** 2 - (z[k] + by_squares[k] - h[k]) ** 2) / 4
        for k in places
    ]


def clockwork_differs(periods: Sequence[int], time: int, rng: random.Random) -> bool:
    """h − B h + B σ(W h + U u + b), B = diag(T_i | l), against the definition group by group."""
    g = len(periods)
    h, u = _draw(rng, g), _draw(rng, 1)
    for i, period in enumerate(periods):
        proposed = _tanh(_inner(rng, h[i:], u))
        acts = F(time % period == 0)
        if h[i] - acts * h[i] + acts * proposed != (proposed if time % period == 0 else h[i]):
            return True
    return False


TRIPLES = ((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25))
"""x² + y² = r²: Gaussian rationals whose modulus is rational, and unit ones."""
Gaussian: TypeAlias = tuple[Fraction, Fraction]


def _turned(z: Gaussian, by: Gaussian) -> Gaussian:
    return z[0] * by[0] - z[1] * by[1], z[0] * by[1] + z[1] * by[0]


def unitary_differs(d: int, layers: int = 1) -> bool:
    """The table's y − y + modReLU(W y + V u) against z_k (r_k + b)₊/r_k, layer by layer, W = diag of d unit numbers.

    All numbers are Gaussian rationals. z with the rational moduli r is what W y + V u is to be: y = W*(z − V u), u the
    input or what the layer below made. modReLU(z) = z (|z| + b)₊/|z| has |z| as the square root of its squares; b lies
    on both sides of −|z|.
    """
    for bias in (F(-1), F(1, 2), F(-30)):
        above: list[Gaussian] = [(F(k + 1, 2), F(2 - k)) for k in range(d)]
        below = above  # of the table; above is what the definition has
        for l in range(layers):
            after, defined = [], []
            for k in range(d):
                x, y, length = TRIPLES[(k + l) % 4]
                unit = (F(TRIPLES[k + 1][0], TRIPLES[k + 1][2]), F(TRIPLES[k + 1][1], TRIPLES[k + 1][2]))
                weights = [(F(j - k, 3), F(1, j + l + 1)) for j in range(d)]
                given, seen = (
                    [sum((_turned(u, v)[part] for u, v in zip(inputs, weights, strict=True)), F(0)) for part in (0, 1)]
                    for inputs in (above, below)
                )
                state = _turned((x - given[0], y - given[1]), (unit[0], -unit[1]))
                turned = _turned(state, unit)
                argument = (turned[0] + seen[0], turned[1] + seen[1])
                square = argument[0] ** 2 + argument[1] ** 2
                root = F(math.isqrt(square.numerator), math.isqrt(square.denominator))
                if root * root != square:
                    return True
                stage = [part * max(root + bias, F(0)) / root for part in argument]
                after.append((state[0] - state[0] + stage[0], state[1] - state[1] + stage[1]))
                defined.append((x * max(length + bias, F(0)) / length, y * max(length + bias, F(0)) / length))
            if after != defined:
                return True
            below, above = after, defined
    return False


def is_no_ridge_sum(count: int, rng: random.Random) -> bool:
    """For random rational forms with α_i = 0 for one i: the operator leaves β_i Π_{j≠i} α_j gate^(N−1), not 0; with all
    α ≠ 0 it leaves Πα gate^(N) c, not 0. Expanded coefficient by coefficient; gate^(N) from its values in fractions.
    """
    for vanishing in (None, *range(count)):
        alpha = [F(0) if i == vanishing else F(rng.randint(1, 9)) for i in range(count)]
        beta = [F(rng.randint(1, 9), rng.randint(1, 5)) for _ in range(count)]
        expanded = [F(1)]  # coefficients of ∂_c^k ∂_h^(N−k)
        for a, b in zip(alpha, beta, strict=True):
            expanded = [
                (a * expanded[k] if k < len(expanded) else F(0)) + (b * expanded[k - 1] if k else F(0))
                for k in range(len(expanded) + 1)
            ]
        product = F(1)
        for i, a in enumerate(alpha):
            product *= beta[i] if i == vanishing else a
        if expanded[0 if vanishing is None else 1] != product or product == 0:
            return False
    return all(_derivative(order) != 0 for order in range(count + 1))


def _derivative(order: int) -> Fraction:
    """The derivative of that order of the logistic function where it is 1/3, from s' = s − s²."""
    coefficients = [F(0), F(1)]
    for _ in range(order):
        slope = [k * x for k, x in enumerate(coefficients)][1:]
        coefficients = [F(0)] * (len(slope) + 2)
        for k, x in enumerate(slope):
            coefficients[k + 1] += x
            coefficients[k + 2] -= x
    return sum((x * F(1, 3) ** k for k, x in enumerate(coefficients)), F(0))
