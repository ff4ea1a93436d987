"""Bounds on products of kicks as power series in h, κ* = 1, against B(−1)^m step by step; in fractions and integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

Stated = Callable[[Any, Any, int, Callable[[Any], Any]], Mapping[str, Any]]
"""{entry: bound} of √κ*, h, m and exp."""


class Powers:
    """Σ c_i h^i, {i: c_i} with fractions; divided and exponentiated as far as the bounds need it."""

    def __init__(self, terms: Mapping[int, Fraction]) -> None:
        self.terms = {power: value for power, value in terms.items() if value}

    def __add__(self, other: Powers | int | Fraction) -> Powers:
        terms = dict(self.terms)
        for power, value in _terms(other).items():
            terms[power] = terms.get(power, Fraction(0)) + value
        return Powers(terms)

    __radd__ = __add__

    def __neg__(self) -> Powers:
        return Powers({power: -value for power, value in self.terms.items()})

    def __sub__(self, other: Powers | int | Fraction) -> Powers:
        return self + (-other)

    def __rsub__(self, other: int | Fraction) -> Powers:
        return -self + other

    def __mul__(self, other: Powers | int | Fraction) -> Powers:
        terms: dict[int, Fraction] = {}
        for i, a in self.terms.items():
            for j, b in _terms(other).items():
                terms[i + j] = terms.get(i + j, Fraction(0)) + a * b
        return Powers(terms)

    __rmul__ = __mul__

    def __truediv__(self, other: Powers | int | Fraction) -> Powers:
        """By a number or by one power; ValueError for more terms."""
        ((power, value),) = _terms(other).items()
        return Powers({i - power: a / value for i, a in self.terms.items()})

    def exp(self, order: int) -> Powers:
        """Σ (c h)^i/i! up to ``order``, of one term c h; ValueError for anything else."""
        ((power, value),) = self.terms.items()
        if power != 1:
            raise ValueError("exp is of one term c h")
        terms = [Fraction(1)]
        for i in range(1, order + 1):
            terms.append(terms[-1] * value / i)
        return Powers(dict(enumerate(terms)))


def _terms(of: Powers | int | Fraction) -> dict[int, Fraction]:
    return of.terms if isinstance(of, Powers) else {0: Fraction(of)}


def is_majorant(stated: Stated, times: int, most: int) -> bool:
    """Whether every coefficient of each stated bound is at least that of the entry of B(−1)^m less ``times`` the one of
    [[1, mh], [mh, 1]], for every m ≤ ``most``.
    """
    first, other = ([1], [0]), ([0], [1])  # (y, z) of (1, 0) and (0, 1)
    for m in range(1, most + 1):
        first, other = _step(*first), _step(*other)
        entries = {"11": first[0], "12": other[0], "21": first[1], "22": other[1]}
        order = 2 * m + 3

        def exp(x: Any, order: int = order) -> Any:
            return x.exp(order + 1)

        for name, bound in stated(Fraction(1), Powers({1: Fraction(1)}), m, exp).items():
            exact = [*entries[name], *[0] * order]
            exact[name in ("12", "21")] -= times * (m if name in ("12", "21") else 1)
            if any(bound.terms.get(i, 0) < exact[i] for i in range(order)) or min(bound.terms, default=0) < 0:
                return False
    return True


def _step(y: list[int], z: list[int]) -> tuple[list[int], list[int]]:
    """z + h y, then y + h z."""
    z = _plus(z, y)
    return _plus(y, z), z


def _plus(of: list[int], shifted: list[int]) -> list[int]:
    size = max(len(of), len(shifted) + 1)
    longer = [0, *shifted, *[0] * (size - 1 - len(shifted))]
    return [a + b for a, b in zip(of + [0] * (size - len(of)), longer, strict=True)]


def is_decreasing(share: Callable[[Any, Callable[[Any], Any]], Any], order: int) -> bool:
    """Whether no coefficient of share(x) after the constant one is positive, up to ``order``."""
    found = share(Powers({1: Fraction(1)}), lambda x: x.exp(order + 1)).terms
    return all(value <= 0 for power, value in found.items() if power > 0) and min(found) >= 0
