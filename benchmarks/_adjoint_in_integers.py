"""The same row once more: mid and radius in units of 2^−BITS, both whole numbers; shares no code with the balls.

tanh and exp are mpmath's at single points, with 64 bits more and an error that is added.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

BITS = 320
Layers = list[dict[str, np.ndarray]]


class Mid:
    """Arrays of m ± r in units of 2^−BITS; what is rounded or evaluated adds its error to r."""

    def __init__(self, m: Any, r: Any = 0) -> None:
        self.m, self.r = np.asarray(m, object), np.asarray(r, object) + np.asarray(m, object) * 0

    def __add__(self, other: Mid) -> Mid:
        return Mid(self.m + other.m, self.r + other.r)

    def __sub__(self, other: Mid) -> Mid:
        return Mid(self.m - other.m, self.r + other.r)

    def __mul__(self, other: Mid) -> Mid:
        spread = abs(self.m) * other.r + abs(other.m) * self.r + self.r * other.r
        return Mid((self.m * other.m) >> BITS, (spread >> BITS) + 2)

    def through(self, numerators: Any, power: int) -> Mid:
        """The exact matrix numerators/2^power times this column."""
        return Mid((numerators @ self.m) >> power, ((abs(numerators) @ self.r) >> power) + 2)


def _each(function: Any, at: Mid) -> Mid:
    """A function of slope at most 1, by mpmath at the middle with 64 bits more."""
    with mpmath.workprec(BITS + 64):
        unit = mpmath.mpf(2) ** BITS
        return Mid([int(mpmath.floor(function(mpmath.mpf(m) / unit) * unit)) for m in at.m], at.r + 2)


def _exact(numbers: Any) -> Mid:
    scaled = [Fraction(x) * 2**BITS for x in numbers]
    return Mid([x.numerator // x.denominator for x in scaled], [int(x.denominator > 1) for x in scaled])


def by_integers(
    layers: Layers, u: np.ndarray, moved: int, neuron: int, of_y: bool, *, dt: Fraction, alpha: int
) -> tuple[Fraction, Fraction]:
    """Lower and upper end of Σ|∂/∂X^moved_1 of y or z of a neuron of X^L_n|, n the length of u."""
    L, size = len(layers), len(layers[0]["w"])
    w, b, c = ([_exact(map(float, layer[name])) for layer in layers] for name in ("w", "b", "c"))
    h = [_exact([dt]) * _each(lambda a: 1 / (1 + mpmath.exp(-a)), each) for each in c]
    stretched = [Mid(alpha * each.m, alpha * each.r) for each in h]
    one, zero = Mid([1 << BITS] * size), Mid([0] * size)
    V = []
    for layer in layers:
        entries = [[Fraction(float(x)) for x in row] for row in layer["V"]]
        power = max(x.denominator for row in entries for x in row).bit_length() - 1
        V.append((np.array([[int(x * 2**power) for x in row] for row in entries], object), power))
    y, z, slopes = [zero] * L, [zero] * L, []
    for x in u:
        at, below = [], _exact(map(float, x))
        for q in range(L):
            s = _each(mpmath.tanh, below.through(*V[q]) + w[q] * y[q] + b[q])
            z[q] = z[q] - h[q] * s - stretched[q] * y[q]
            y[q] = below = y[q] + h[q] * z[q]
            at.append(one - s * s)
        slopes.append(at)
    P, R = [zero] * L, [zero] * L
    (P if of_y else R)[-1] = Mid([int(i == neuron) << BITS for i in range(size)])
    for n in reversed(range(len(u))):
        for q in reversed(range(moved - 1 if n else moved, L)):
            kick = R[q] + P[q] * h[q]
            pushed = kick * h[q] * slopes[n][q]
            if q >= moved:
                P[q - 1] = P[q - 1] - pushed.through(V[q][0].T, V[q][1])
            P[q], R[q] = P[q] - w[q] * pushed - stretched[q] * kick, kick
    ends = [P[moved - 1], R[moved - 1]]
    middle, spread = sum(int(abs(e.m).sum()) for e in ends), sum(int(e.r.sum()) for e in ends)
    return Fraction(middle - spread, 2**BITS), Fraction(middle + spread, 2**BITS)


def bounds_again(
    layers: Layers, moved: int, *, dt: Fraction, alpha: int, steps: int
) -> tuple[Fraction, Fraction, Fraction]:
    """Both ends of the chain icml-(27) at n = 1 + ``steps``, and the bound of sam-54, rounded up.

    K = max(2, max_i |w^L_i| + α), γ = K + K²/2: dt^{L−l} Π_{q>l} ‖V^q‖_∞ (1 + 2γ steps dt), V̄ dt^{L−l} (1 + 2γ n dt)
    with V̄ = Π_q max(1, ‖V^q‖_∞), and the first with e^{K steps dt}. ``layers`` are float32.
    """
    largest = max(abs(Fraction(float(w))) for w in layers[-1]["w"]) + alpha
    K = largest if largest > 2 else Fraction(2)
    gamma = K + K**2 / 2
    norms = [max(sum((abs(Fraction(float(x))) for x in row), Fraction(0)) for row in layer["V"]) for layer in layers]
    first = last = dt ** (len(layers) - moved)
    for q, norm in enumerate(norms, 1):
        first *= norm if q > moved else 1
        last *= max(norm, Fraction(1))
    with mpmath.workprec(2 * BITS):
        grown = mpmath.exp(mpmath.mpf((K * steps * dt).numerator) / (K * steps * dt).denominator)
        above = Fraction(int(mpmath.floor(grown * 2**BITS)) + 2, 2**BITS) * (1 + Fraction(1, 2**BITS))
    return first * (1 + 2 * gamma * (steps * dt)), last * (1 + 2 * gamma * ((steps + 1) * dt)), first * above
