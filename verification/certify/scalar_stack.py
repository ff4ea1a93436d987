"""A stack of single neurons that a reader can type in, and what a gradient contribution is made of, over any numbers.

    A^q_{n-1} = w y^q_{n-1} + x^q_n,     x^1 = b,     x^q = v y^{q-1}_n  (+ v y^{q-S-1}_n for q > S + 1, with S ≥ 1)
    z^q_n = z^q_{n-1} − h (tanh(A^q_{n-1}) + α y^q_{n-1}),     y^q_n = y^q_{n-1} + h z^q_n

with zero states, zero input, c = 0, that is h = dt/2, dt = T/N and n = N: one neuron a layer, every weight between
layers v, and E_n = (y^L_n − ȳ)²/2. Written once over a number namespace: floats to measure a slope, balls to certify
it. Derivatives are carried forward; the second back-end carries them backward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from odernn.bounds.numbers import FLOATS, Numbers
from verification.certify.oscillator_flow import fundamental_matrix

FIELDS = ("layers", "skip", "alpha", "w", "v", "b", "target", "horizon", "offset", "ratio")


@dataclass(frozen=True)
class ScalarStack:
    """The exact parameters; ``skip`` is S of y^{q-S-1}, an edge over S + 1 layers, or 0: no edge.

    Step k is ``offset`` + ``ratio`` N: fixed, or a fixed part of N.
    """

    layers: int = 1
    skip: int = 0
    alpha: Fraction = Fraction(1)
    w: Fraction = Fraction(0)
    v: Fraction = Fraction(1)
    b: Fraction = Fraction(1)
    target: Fraction = Fraction(1)
    horizon: Fraction = Fraction(1)
    offset: int = 1
    ratio: Fraction = Fraction(1, 16)

    def step(self, steps: int) -> int:
        """k. Raises ValueError if ``ratio`` does not divide N, or k is no step."""
        k = self.offset + self.ratio * steps
        if k.denominator != 1 or not 1 <= k <= steps:
            raise ValueError(f"k = {self.offset} + {self.ratio} · {steps} is none of the steps 1 to {steps}")
        return int(k)

    def to_text(self) -> dict[str, str]:
        """What ``from_text`` reads."""
        return {name: str(getattr(self, name)) for name in FIELDS}

    @classmethod
    def from_text(cls, parameters: Mapping[str, str]) -> ScalarStack:
        """From exact numbers by name; KeyError or ValueError if one is missing or none."""
        read: dict[str, Any] = {name: Fraction(parameters[name]) for name in FIELDS}
        for name in ("layers", "skip", "offset"):
            if read[name].denominator != 1:
                raise ValueError(f'"{name}" is {read[name]}, but it is an integer')
        layers, skip, offset = (int(read.pop(name)) for name in ("layers", "skip", "offset"))
        return replace(cls(layers=layers, skip=skip, offset=offset), **read)

    def describe(self) -> str:
        """The system in words that one can type."""
        shape = f"L = {self.layers}" + (f", edges l − {self.skip + 1} → l" if self.skip else "")
        step = f"k = {self.offset}" + (f" + {self.ratio} N" if self.ratio else "")
        step = f"k = N − {-self.offset}" if self.ratio == 1 else step
        between = f", V = {self.v}" if self.layers > 1 else ""
        return (
            f"one neuron a layer, {shape}, α = {self.alpha}, w = {self.w}{between}, b = {self.b}, c = 0, "
            f"ȳ = {self.target}, zero input and states, T = {self.horizon}, {step}"
        )


Matrix = tuple[tuple[Any, Any], tuple[Any, Any]]


@dataclass(frozen=True)
class ScalarRun:
    """All states of a run: ``y[q][n]`` and ``slope[q][n]`` = σ′(A^q_{n−1}), n = 0..N, q = 0..L−1; numbers."""

    stack: ScalarStack
    steps: int
    h: Any
    alpha: Any
    w: Any
    v: Any
    target: Any
    y: list[list[Any]]
    slope: list[list[Any]]

    @property
    def error(self) -> Any:
        """y^L_N − ȳ."""
        return self.y[-1][-1] - self.target


def run(stack: ScalarStack, steps: int, numbers: Numbers = FLOATS) -> ScalarRun:
    """The states."""
    h = numbers.exact(stack.horizon / (2 * steps))
    alpha, w, v, b, target = map(numbers.exact, (stack.alpha, stack.w, stack.v, stack.b, stack.target))
    zero, one = numbers.exact(0), numbers.exact(1)
    tanh: Callable[[Any], Any] = math.tanh if numbers is FLOATS else numbers.tanh
    y = [[zero] for _ in range(stack.layers)]
    z = [zero] * stack.layers
    slope: list[list[Any]] = [[one] for _ in range(stack.layers)]
    for _ in range(steps):
        for q in range(stack.layers):
            old = y[q][-1]
            s = tanh(w * old + (b if q == 0 else v * _below(stack, q, lambda p: y[p][-1])))
            z[q] = z[q] - h * (s + alpha * old)
            y[q].append(old + h * z[q])
            slope[q].append(1 - s * s)
    return ScalarRun(stack, steps, h, alpha, w, v, target, y, slope)


def _below(stack: ScalarStack, q: int, value: Callable[[int], Any]) -> Any:
    """The sum over the layers (from 0) that layer q > 0 sees."""
    total = value(q - 1)
    if stack.skip and q > stack.skip:
        total = total + value(q - stack.skip - 1)
    return total


def contribution(states: ScalarRun) -> Any:
    """∂E^{(n,L)}_{k,1}/∂w^1 at n = N: w is changed at step k only, and the change carried to the end."""
    k = states.stack.step(states.steps)
    return states.error * _carried(states, -states.h * (states.slope[0][k] * states.y[0][k - 1]))


def kernel(states: ScalarRun) -> Any:
    """K^{(L)}(N, k): the y^L_N that a unit kick of z^1 in step k has become."""
    return _carried(states, 1 + 0 * states.h)


def _carried(states: ScalarRun, kick: Any) -> Any:
    """The change of y^L_N by a kick of z^1 in step k, every layer and step after it."""
    stack, h = states.stack, states.h
    k = stack.step(states.steps)
    dz = [0 * h] * stack.layers
    dy = [0 * h] * stack.layers
    for n in range(k, states.steps + 1):
        for q in range(stack.layers):
            inside = states.w * dy[q]
            if q > 0:
                inside = inside + states.v * _below(stack, q, lambda p: dy[p])
            dz[q] = dz[q] - h * (states.slope[q][n] * inside + states.alpha * dy[q])
            if q == 0 and n == k:
                dz[q] = dz[q] + kick
            dy[q] = dy[q] + h * dz[q]
    return dy[-1]


def remainder_of_one_layer(states: ScalarRun) -> Any:
    """∂E_k/∂w less the printed −dt σ̂² t_n σ′(A_{k−1}) y_{k−1} (y_n − ȳ).   sam (16), (73); icml (14), S(46)"""
    k = states.stack.step(states.steps)
    time = states.steps * states.h  # σ̂ t_n
    printed = -states.h * time * states.slope[0][k] * states.y[0][k - 1] * states.error
    return contribution(states) - printed


def remainder_of_three_layers(states: ScalarRun) -> Any:
    """∂E_k/∂w less dt⁴ σ̂ t_n (∂⁺z_k/∂w) Ḡ (y³ − ȳ), dt⁴ Ḡ = (h² σ′V)³ (h² σ′V)².   sam (89), icml S(62)"""
    k, n, h = states.stack.step(states.steps), states.steps, states.h
    hops = (h * h * states.v) * (h * h * states.v) * states.slope[1][n] * states.slope[2][n]
    direct = -h * states.slope[0][k] * states.y[0][k - 1]
    return contribution(states) - n * h * direct * hops * states.error


def remainder_of_the_limit(states: ScalarRun) -> Any:
    """∂E_k/∂w less −h σ′(A_{k−1}) y_{k−1} (y_n − ȳ) S(τ_n, τ_{k−1}), S of the differential equation.   thm-R"""
    k = states.stack.step(states.steps)
    response = _limit(states, k - 1)[0][1]
    return contribution(states) + states.h * states.slope[0][k] * states.y[0][k - 1] * states.error * response


def kernel_less_leading(states: ScalarRun) -> Any:
    """K^{(L)}(N, k) less its leading power of h at fixed n − k.   thm-ML (2), (3)

    (−1)^p h^{2p+1} C(n − k + 2p + 1, 2p + 1) Σ ∏ σ′(A_{k−1}) v over the shortest routes, of p hops.
    """
    stack, k = states.stack, states.stack.step(states.steps)
    shortest: list[tuple[int, Any]] = [(0, 1 + 0 * states.h)]
    for q in range(1, stack.layers):
        sources = [q - 1, *([q - stack.skip - 1] if stack.skip and q > stack.skip else [])]
        hops = min(shortest[p][0] for p in sources)
        total = sum((shortest[p][1] for p in sources if shortest[p][0] == hops), 0 * states.h)
        shortest.append((hops + 1, -states.v * states.slope[q][k] * total))
    hops, gain = shortest[-1]
    paths = math.comb(states.steps - k + 2 * hops + 1, 2 * hops + 1)
    return kernel(states) - states.h ** (2 * hops + 1) * paths * gain


def _limit(states: ScalarRun, first: int) -> Matrix:
    """Φ(τ_N, τ_first) of the differential equation, in the numbers of the run."""
    stack = states.stack
    start, end = (stack.horizon * n / (2 * states.steps) for n in (first, states.steps))
    rows = fundamental_matrix(stack.alpha, stack.w, stack.b, start, end)
    if isinstance(states.h, float):
        return tuple(tuple(float(entry.mid()) for entry in row) for row in rows)  # type: ignore[return-value]
    return rows


def jacobian_product(states: ScalarRun, first: int) -> Matrix:
    """dX^1_N/dX^1_{N−1} ⋯ dX^1_first/dX^1_{first−1} of the first layer, column by column."""
    columns = []
    for start in ((1, 0), (0, 1)):
        y, z = (coordinate + 0 * states.h for coordinate in start)
        for j in range(first, states.steps + 1):
            z = z - states.h * (states.alpha + states.w * states.slope[0][j]) * y
            y = y + states.h * z
        columns.append((y, z))
    return ((columns[0][0], columns[1][0]), (columns[0][1], columns[1][1]))


def product_remainder(states: ScalarRun, first: int, form: str) -> Any:
    """Max norm of the product from step ``first`` on less the printed first-order form, (77), (80) or (84) of sam.

    (77), (80)   I + [[0, m h], [−m α h − h w Σ σ′, 0]],   m = n − k factors
    (84)         [[1, t_n σ̂], [−t_n α σ̂ − h w Σ σ′, 1]]
    """
    (a, b), (c, d) = jacobian_product(states, first)
    count = states.steps - first + 1
    time = (states.steps if form == "(84)" else count) * states.h
    slopes = sum(states.slope[0][first:], 0 * states.h)
    below = -time * states.alpha - states.h * states.w * slopes
    return max_modulus((a - 1, b - time, c - below, d - 1))


def product_less_limit(states: ScalarRun, first: int) -> Any:
    """Max norm of the product from step ``first`` on less Φ(τ_N, τ_{first−1}) of the differential equation.   thm-R"""
    product, limit = jacobian_product(states, first), _limit(states, first - 1)
    return max_modulus(tuple(product[i][j] - limit[i][j] for i in (0, 1) for j in (0, 1)))


def same_time_column(states: ScalarRun) -> tuple[Any, Any]:
    """∂y^L_n/∂y^1_n and ∂z^L_n/∂y^1_n at n = N, all routes: the only entries of dX^L_n/dX^1_n that are not zero."""
    stack, h = states.stack, states.h
    dy, dz = [1 + 0 * h], [0 * h]
    for q in range(1, stack.layers):
        dz.append(-h * states.slope[q][states.steps] * states.v * _below(stack, q, lambda p: dy[p]))
        dy.append(h * dz[q])
    return dy[-1], dz[-1]


def max_modulus(entries: tuple[Any, ...]) -> Any:
    """The largest modulus; of balls, a ball that holds it."""
    moduli = [abs(entry) for entry in entries]
    largest = moduli[0]
    for modulus in moduli[1:]:
        largest = max(largest, modulus) if isinstance(modulus, float) else largest.max(modulus)
    return largest
