"""Is a step undone by itself run backwards? Residuals that vanish iff, over any ring, σ any function or any odd one.

    symplectic_euler    (p, q) → (p − η σ(S q + b_p), then q + η σ(S p + b_q))
    leapfrog            (x, y) → (y, x + 2 η σ(W y + b)),  x = y_{l−1}, y = y_l,  W antisymmetric
    implicit_midpoint   y₊ = y + η σ(W (y + y₊)/2 + b), as an equation between y and y₊

A residual is a list of numbers or of polynomials; its name says which statement it decides:

    invertible    the explicit inverse gives the state back            symmetric   Φ_{−η} gives it back
    exchange      ρ Φ ρ Φ = 1 for ρ(p, q) = (q, p)                     momentum    the same for ρ(p, q) = (−p, q)
    swap          the same for ρ(x, y) = (y, x), and of the recurrence for (y_{l+1}, y_l)
    conjugate     ρ(x, y) = (R y, R x), R = diag(1, −1) on ψ = (q, p), W = [[0, −S], [S, 0]]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from flint import Ordering, fmpq, fmpq_mpoly_ctx

from verification.claim import Parameters
from verification.exact_text import number, numbers

Data: TypeAlias = Mapping[str, Any]
"""eta, half of it is not needed; weight (rows), first and second (biases), x and y (the two blocks of the state)."""
Sigma: TypeAlias = Callable[[Any], Any]
HALF = fmpq(1, 2)


class OddOpaque:
    """σ as an unknown odd function: σ(−u) = −σ(u), and nothing else is known of its values."""

    def __init__(self, symbols: Iterable[Any], *, odd: bool) -> None:
        self._free, self._odd = iter(symbols), odd
        self._known: dict[str, Any] = {}

    def __call__(self, argument: Any) -> Any:
        key, opposite = str(argument), str(-argument)
        if self._odd and opposite in self._known:
            return -self._known[opposite]
        if key not in self._known:
            self._known[key] = next(self._free)
        return self._known[key]


def _pushed(rows: Sequence[Sequence[Any]], state: Sequence[Any], bias: Sequence[Any], sigma: Sigma) -> list[Any]:
    """σ(W y + b)."""
    pushed = []
    for row, shift in zip(rows, bias, strict=True):
        total = shift
        for entry, component in zip(row, state, strict=True):
            total = total + entry * component
        pushed.append(sigma(total))
    return pushed


def _plus(one: Sequence[Any], factor: Any, other: Sequence[Any]) -> list[Any]:
    return [x + factor * y for x, y in zip(one, other, strict=True)]


def _euler(data: Data, eta: Any, p: Sequence[Any], q: Sequence[Any], sigma: Sigma) -> tuple[list[Any], list[Any]]:
    p = _plus(p, -eta, _pushed(data["weight"], q, data["first"], sigma))
    return p, _plus(q, eta, _pushed(data["weight"], p, data["second"], sigma))


def _leapfrog(data: Data, eta: Any, x: Sequence[Any], y: Sequence[Any], sigma: Sigma) -> tuple[list[Any], list[Any]]:
    return list(y), _plus(x, 2 * eta, _pushed(data["weight"], y, data["first"], sigma))


def _implicit(data: Data, eta: Any, y: Sequence[Any], after: Sequence[Any], sigma: Sigma) -> list[Any]:
    """y₊ − y − η σ(W ((1 − θ) y + θ y₊) + b), θ = 1/2 unless ``data`` has another "theta"."""
    theta = data.get("theta", HALF)
    place = [(1 - theta) * u + theta * v for u, v in zip(y, after, strict=True)]
    force = _pushed(data["weight"], place, data["first"], sigma)
    return [v - u - eta * f for u, v, f in zip(y, after, force, strict=True)]


def residual(scheme: str, kind: str, data: Data, sigma: Sigma) -> list[Any]:
    """What vanishes iff the statement holds at ``data``. Raises ValueError for a pair that is not listed above."""
    eta, x, y = data["eta"], data["x"], data["y"]
    if scheme == "implicit_midpoint" and kind == "symmetric":
        # y₊ is any vector: what the equation lacks for (y, y₊, η), it lacks for (y₊, y, −η) with the opposite sign.
        there, back = _implicit(data, eta, x, y, sigma), _implicit(data, -eta, y, x, sigma)
        return _plus(there, 1, back)
    step = {"symplectic_euler": _euler, "leapfrog": _leapfrog}[scheme]
    one, other = step(data, eta, x, y, sigma)
    match scheme, kind:
        case "symplectic_euler", "invertible":
            q = _plus(other, -eta, _pushed(data["weight"], one, data["second"], sigma))
            returned = _plus(one, eta, _pushed(data["weight"], q, data["first"], sigma)), q
        case "leapfrog", "invertible":
            returned = _plus(other, -2 * eta, _pushed(data["weight"], one, data["first"], sigma)), one
        case "symplectic_euler", "symmetric":
            returned = step(data, -eta, one, other, sigma)
        case "leapfrog", "symmetric":
            second, first = step(data, -eta, other, one, sigma)
            returned = first, second
        case ("symplectic_euler", "exchange") | ("leapfrog", "swap"):
            second, first = step(data, eta, other, one, sigma)
            returned = first, second
        case "symplectic_euler", "momentum":
            minus_p, q = step(data, eta, [-p for p in one], other, sigma)
            returned = [-p for p in minus_p], q
        case "leapfrog", "conjugate":
            second, first = step(data, eta, _conjugate(other), _conjugate(one), sigma)
            returned = _conjugate(first), _conjugate(second)
        case _:
            raise ValueError(f"No statement {kind!r} is known of {scheme!r}.")
    return _plus([*returned[0], *returned[1]], -1, [*x, *y])


def _conjugate(psi: Sequence[Any]) -> list[Any]:
    """(q, p) → (q, −p)."""
    half = len(psi) // 2
    return [*psi[:half], *(-p for p in psi[half:])]


@dataclass(frozen=True)
class ReversalSetting:
    """What a statement leaves free. ``blocks`` is the length of x and of y for ``size``.

    tied       the two halves have the same bias             odd   σ is odd (and there are no biases)
    weight     "symmetric", "antisymmetric", or "imaginary": [[0, −S], [S, 0]]
    """

    weight: str
    tied: bool = False
    odd: bool = False

    def symbolic(self, size: int) -> tuple[Data, OddOpaque]:
        """All entries as symbols, σ unknown."""
        blocks = 2 * size if self.weight == "imaginary" else size
        names = ["eta", *(f"{k}{i}" for k in ("bp", "bq", "x", "y") for i in range(blocks))]
        names += [f"w{i}_{j}" for i in range(blocks) for j in range(blocks)]
        pool = [f"sigma{i}" for i in range(8 * blocks)]
        ring = fmpq_mpoly_ctx.get(["half", *names, *pool], Ordering.degrevlex)
        free: dict[str, Any] = dict(zip(["half", *names, *pool], ring.gens(), strict=True))
        zero = 0 * free["eta"]
        entries = [[free[f"w{i}_{j}"] for j in range(blocks)] for i in range(blocks)]
        first = [zero if self.odd else free[f"bp{i}"] for i in range(blocks)]
        second = first if self.tied else [zero if self.odd else free[f"bq{i}"] for i in range(blocks)]
        data = {
            "eta": free["eta"],
            "weight": self.weights(entries, zero),
            "first": first,
            "second": second,
            "x": [free[f"x{i}"] for i in range(blocks)],
            "y": [free[f"y{i}"] for i in range(blocks)],
        }
        return data, OddOpaque((free[name] for name in pool), odd=self.odd)

    def weights(self, entries: Sequence[Sequence[Any]], zero: Any) -> list[list[Any]]:
        """A matrix of the right form from the upper triangle of ``entries``."""
        size = len(entries)
        if self.weight == "imaginary":
            half = size // 2
            S = ReversalSetting("symmetric").weights([row[:half] for row in entries[:half]], zero)
            top = [[*([zero] * half), *(-x for x in row)] for row in S]
            return top + [[*row, *([zero] * half)] for row in S]
        sign = 1 if self.weight == "symmetric" else -1
        rows = [[zero] * size for _ in range(size)]
        for i in range(size):
            for j in range(i, size):
                if i != j or sign == 1:
                    rows[i][j], rows[j][i] = entries[i][j], sign * entries[i][j]
        return rows

    def typed(self, parameters: Parameters, kind: Callable[[Fraction], Any]) -> Data:
        """Numbers as typed: eta, weight (full, row by row), first, second, x, y."""
        x, y = ([kind(v) for v in numbers(parameters, name)] for name in ("x", "y"))
        flat = [kind(v) for v in numbers(parameters, "weight")]
        size = len(x)
        return {
            "eta": kind(number(parameters, "eta")),
            "x": x,
            "y": y,
            "weight": [flat[i * size : (i + 1) * size] for i in range(size)],
            "first": [kind(v) for v in numbers(parameters, "first")],
            "second": [kind(v) for v in numbers(parameters, "second")],
        }


def to_fmpq(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def relu(x: Any) -> Any:
    return x if x > 0 else 0 * x


def softsign(x: Any) -> Any:
    """x/(1 + |x|): odd, increasing, and rational."""
    return x / (1 + abs(x))
