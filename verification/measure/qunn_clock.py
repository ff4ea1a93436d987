"""A QUNN as its definition has it, with all T + 1 states of the clock, over any ring; and its simpler forms again.

z_0 = σ_0(x_l ⊗ e_k),  z_i = σ(W_i z_{i−1}),  W_i = α_i I ⊗ I + β_i R_i ⊗ P,  R_i = x_{l−i+1} x_{l−i}ᵀ if i ≤ k else 0
o_l = (I ⊗ e_{k+1}ᵀ) z_N,      k = l mod T,  P e_c = e_{c+1 mod T+1}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

Sigma: TypeAlias = Callable[[Any], Any]
Inputs: TypeAlias = Sequence[Sequence[Any]]


def linear(u: Any) -> Any:
    return u


def output(
    inputs: Inputs,
    time: int,
    length: int,
    alpha: Sequence[Any],
    beta: Sequence[Any],
    sigma: Sigma = linear,
    first: Sigma | None = None,
) -> list[Any]:
    """o_l for l = time; ``first`` is σ_0, σ if not given. Columns of z are the states of the clock."""
    k, d, states = time % length, len(inputs[0]), length + 1
    zero = 0 * inputs[0][0]
    z = [[zero] * states for _ in range(d)]
    for row, x in zip(z, inputs[time], strict=True):
        row[k] = (first or sigma)(x)
    for i, (a, b) in enumerate(zip(alpha, beta, strict=True), 1):
        new = [[a * entry for entry in row] for row in z]
        if i <= k:
            write, read = inputs[time - i + 1], inputs[time - i]
            for c in range(states):
                weight = zero
                for x, row in zip(read, z, strict=True):
                    weight = weight + x * row[c]
                for x, row in zip(write, new, strict=True):
                    row[(c + 1) % states] = row[(c + 1) % states] + b * x * weight
        z = [[sigma(entry) for entry in row] for row in new]
    return [row[k + 1] for row in z]


def output_by_matrices(
    inputs: Inputs, time: int, length: int, alpha: Sequence[Fraction], beta: Sequence[Fraction]
) -> list[Fraction]:
    """The same for linear σ in fractions, with every W_i as one (d C × d C) matrix, Kronecker products written out."""
    k, d, C = time % length, len(inputs[0]), length + 1
    z = [x * int(c == k) for x in inputs[time] for c in range(C)]
    for i, (a, b) in enumerate(zip(alpha, beta, strict=True), 1):
        R = (
            [[u * v if i <= k else Fraction(0) for v in inputs[time - i]] for u in inputs[time - i + 1]]
            if i <= time
            else [[Fraction(0)] * d for _ in range(d)]
        )
        z = [
            sum(
                (
                    (a * int(row == column and c == e) + b * R[row][column] * int(c == (e + 1) % C)) * z[column * C + e]
                    for column in range(d)
                    for e in range(C)
                ),
                Fraction(0),
            )
            for row in range(d)
            for c in range(C)
        ]
    return [z[row * C + k + 1] for row in range(d)]


def output_without_clock(
    inputs: Inputs, time: int, length: int, alpha: Sequence[Any], beta: Sequence[Any], sigma: Sigma
) -> list[Any]:
    """p_i on e_k and o_i on e_{k+1} alone, for σ with σ(0) = 0."""
    k = time % length
    p = [sigma(x) for x in inputs[time]]
    o = [0 * x for x in inputs[time]]
    for i, (a, b) in enumerate(zip(alpha, beta, strict=True), 1):
        moved = [a * x for x in o]
        if i <= k:
            weight = 0 * p[0]
            for x, y in zip(inputs[time - i], p, strict=True):
                weight = weight + x * y
            moved = [x + b * y * weight for x, y in zip(moved, inputs[time - i + 1], strict=True)]
        p, o = [sigma(a * x) for x in p], [sigma(x) for x in moved]
    return o


class Unknown:
    """σ as an unknown function with σ(0) = 0."""

    def __init__(self, symbols: Iterable[Any]) -> None:
        self._free = iter(symbols)
        self._known: dict[str, Any] = {}

    def __call__(self, argument: Any) -> Any:
        if argument == 0:
            return argument
        key = str(argument)
        if key not in self._known:
            self._known[key] = next(self._free)
        return self._known[key]


@dataclass(frozen=True)
class Depth:
    """A number of which only is known whether it is 0, how many functions are nested in it, and what it depends on."""

    nested: int = 0
    of: frozenset[str] = frozenset()
    is_zero: bool = False

    def _with(self, other: Any, *, product: bool) -> Depth:
        if not isinstance(other, Depth):
            return Depth(is_zero=True) if product and other == 0 else self
        if product and (self.is_zero or other.is_zero):
            return Depth(is_zero=True)
        if self.is_zero or other.is_zero:
            return other if self.is_zero else self
        return Depth(max(self.nested, other.nested), self.of | other.of)

    def __add__(self, other: Any) -> Depth:
        return self._with(other, product=False)

    def __mul__(self, other: Any) -> Depth:
        return self._with(other, product=True)

    __radd__, __rmul__ = __add__, __mul__

    @staticmethod
    def function(argument: Any) -> Any:
        """σ, σ(0) = 0."""
        return argument if argument.is_zero else Depth(argument.nested + 1, argument.of)


def depth_of_output(time: int, length: int, depth: int, first: Sigma) -> Depth:
    """Functions nested in o_l and the inputs that it depends on, d = 1."""
    inputs = [[Depth(of=frozenset({str(l)}))] for l in range(time + 1)]
    ones = [Depth()] * depth
    nested: Depth = output(inputs, time, length, ones, ones, Depth.function, first)[0]
    return nested
