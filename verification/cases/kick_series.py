"""What bounds a product of kicks, decided coefficient by coefficient.   thm-R-short

    [B(−κ*)^m]_12 = Σ_j C(m+j, 2j+1) h^{2j+1} κ*^j         (2j+1)! C(m+j, 2j+1) = m Π_{i≤j} (m² − i²) ≤ m^{2j+1}
    [B(−κ*)^m]_11 = Σ_j C(m+j, 2j) h^{2j} κ*^j             (2j)! C(m+j, 2j) = m (m+j) Π_{i<j} (m² − i²) ≤ (m+j) m^{2j−1}

A bound is what a case's own sides are typed with, a function of √κ*, h and m. Given a power series in the place of h,
κ* = 1 (h√κ* is all that the entries depend on, up to units of y), it is a power series, and so is compared with the
powers of B(−1) for every m that the cases admit: by python-flint's series and Cayley–Hamilton, and again in fractions
step by step. For longer products there are the closed forms above. docs/derivations/multilayer_paths.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import flint

from verification.certify.second import kick_series as second


@dataclass(frozen=True)
class Majorant:
    """Bounds on entries of B(−κ*)^m less ``times`` their terms of degree at most 1, typed twice.

    balls       (√κ*, h, m) to {entry, "12": bound}; of balls, or of power series in h
    intervals   the same of intervals or ``Powers``, with exp as the fourth argument
    """

    balls: Callable[[Any, Any, int], Mapping[str, Any]]
    intervals: second.Stated
    times: int = 0

    def proof(self, most: int) -> str:
        """Words if both back-ends find every coefficient large enough for every m ≤ ``most``; or ""."""
        if not (self._holds(most) and second.is_majorant(self.intervals, self.times, most)):
            return ""
        return (
            f"as power series in h√κ* no coefficient of the bound is below that of B(−κ*)^m, for every m ≤ {most}, by "
            "two back-ends; and (2j+1)! C(m+j, 2j+1) = m Π_{i≤j}(m² − i²) ≤ m^{2j+1} and its like for every m"
        )

    def _holds(self, most: int) -> bool:
        h, trace = flint.fmpq_poly([0, 1]), flint.fmpq_poly([2, 0, 1])  # of B(−1); its determinant is 1
        last, now = _entries(0 * h, h), _entries(1 + 0 * h, h)
        for m in range(1, most + 1):
            for name, bound in self._stated(m).items():
                exact = now[name] - self.times * (m * h if name in ("12", "21") else 1 + 0 * h)
                if any(bound[i] < exact[i] for i in range(2 * m + 3)):
                    return False
            last, now = now, {name: trace * now[name] - last[name] for name in now}
        return True

    def _stated(self, m: int) -> Mapping[str, Any]:
        with terms(2 * m + 5) as h:
            return self.balls(flint.fmpq(1), h, m)


def _entries(power: Any, h: Any) -> dict[str, Any]:
    """B(−1)^0 or B(−1)^1, for the power 0 or 1, as polynomials in h."""
    return {"11": 1 + power * h * h, "12": power * h, "21": power * h, "22": 1 + 0 * h}


@contextmanager
def terms(count: int) -> Iterator[Any]:
    """The variable of power series of so many terms."""
    before, flint.ctx.cap = flint.ctx.cap, count
    try:
        yield flint.fmpq_series([0, 1], prec=count)
    finally:
        flint.ctx.cap = before


def decreases(balls: Callable[[Any], Any], intervals: Callable[[Any, Callable[[Any], Any]], Any], most: int) -> bool:
    """Whether both typings of a share of x > 0 have no positive coefficient but the first, in 2 ``most`` terms."""
    with terms(2 * most + 2) as x:
        found = balls(x)
    return all(found[i] <= 0 for i in range(1, 2 * most)) and second.is_decreasing(intervals, 2 * most)
