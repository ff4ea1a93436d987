"""What is true in the place of the printed gradient and Jacobian bounds of sam and icml, for two back-ends. thm-G-inf

Of a chain of single neurons, p = L − l, ‖·‖ the maximum norm; the printed forms have w̄^L, the top layer alone, no
binomial and no input:

    ‖dX^L_n/dX^l_k‖ ≤ C(n−k+p, p) dt^p Π_{q>l}|V^q| e^{(n−k) w̄ dt},        w̄ = max_{q≥l} max(2, |w^q| + α)
    |∂E_{k,l}/∂θ| ≤ e^{(n−k) w̄ dt} C(n−k+p, p) dt^{p+1} Π_{q>l}|V^q| · G
    |dE/dθ| ≤ ((T + p dt)^{p+1}/(p+1)!) e^{w̄T} Π_{q>l}|V^q| · G,   G = (Ȳ + F)(2 + F_z + (1+α)F + max(F, U))

F, F_z are the largest |y|, |z| of the run, over all layers: whatever bounds the states, thm-S for one, is no smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial
from typing import Any

import flint

from verification.certify.second import intervals as second
from verification.measure.polynomials import coefficient


@dataclass(frozen=True)
class CorrectedJacobian:
    """The first line. Planted falsehoods: w̄ of the ``top_alone``, no ``paths``, another ``factor``."""

    top_alone: bool = False
    paths: bool = True
    factor: Fraction = Fraction(1)

    def ball(self, p: Any) -> Any:
        layer, lag = round(float(p.layer)), round(float(p.N)) - round(float(p.k))
        climbs = len(p.w) - layer
        right = coefficient(self.factor) * p.dt**climbs * (_ball_rate(p, layer, self.top_alone) * lag * p.dt).exp()
        if self.paths:
            right = right * comb(lag + climbs, climbs)
        for V in p.V[layer:]:
            right = right * abs(V)
        return right

    def interval(self, p: Any) -> Any:
        lag, layers = int(p.texts["N"]) - int(p.texts["k"]), len(p.V)
        first = layers if self.top_alone else int(p.texts["layer"])
        bound = second.iv.exp(p.dt * lag * _interval_rate(p, first))
        for q in range(int(p.texts["layer"]) + 1, layers + 1):
            bound = bound * p.dt * abs(p.V[q - 1])
            if self.paths:
                bound = bound * (lag + layers - q + 1) / (layers - q + 1)
        return bound * self.factor.numerator / self.factor.denominator


@dataclass(frozen=True)
class CorrectedGradient:
    """The second line, ``of_one_step``, k = 1, n = N, or the third. p.states is the run.

    Planted falsehoods: w̄ of the ``top_alone``, ``input_seen`` False (F in the place of max(F, U)), another ``factor``.
    """

    of_one_step: bool = False
    top_alone: bool = False
    input_seen: bool = True
    factor: Fraction = Fraction(1)

    def ball(self, p: Any) -> Any:
        layer, N = round(float(p.layer)), round(float(p.N))
        climbs = len(p.w) - layer
        rate = _ball_rate(p, layer, self.top_alone) * p.dt
        if self.of_one_step:
            right = comb(N - 1 + climbs, climbs) * p.dt ** (climbs + 1) * (rate * (N - 1)).exp()
        else:
            right = ((N + climbs) * p.dt) ** (climbs + 1) / factorial(climbs + 1) * (rate * N).exp()
        for V in p.V[layer:]:
            right = right * abs(V)
        F, Z = (_ball_most([size for row in rows for size in row]) for rows in (p.states.y, p.states.z))
        seen = F.max(_ball_most(p.u)) if self.input_seen else F
        right = right * (_ball_most(p.target) + F) * (2 + Z + (1 + p.alpha) * F + seen)
        return right * coefficient(self.factor)

    def interval(self, p: Any) -> Any:
        iv = second.iv
        steps, layers, own = int(p.texts["N"]), len(p.V), int(p.texts["layer"])
        hops = layers - own
        rate = _interval_rate(p, layers if self.top_alone else own)
        if self.of_one_step:
            grown = iv.exp(p.dt * (steps - 1) * rate) * p.dt
            for i in range(1, hops + 1):
                grown = grown * p.dt * (steps - 1 + i) / i
        else:
            grown = iv.exp(rate * (steps * p.dt))
            for i in range(1, hops + 2):
                grown = grown * (p.dt * steps + p.dt * hops) / i
        for V in p.V[own:]:
            grown = grown * abs(V)
        chain = p.states
        y = _interval_most([chain.peak(chain.rows, q) for q in range(1, layers + 1)])
        z = _interval_most([chain.peak(chain.momenta, q) for q in range(1, layers + 1)])
        below = _interval_most([y, *map(abs, p.u)]) if self.input_seen else y
        direct = below + y + p.alpha * y + z + 2
        grown = grown * direct * (y + _interval_most([abs(entry) for entry in p.target]))
        return grown * self.factor.numerator / self.factor.denominator


def _ball_rate(p: Any, layer: int, top_alone: bool) -> Any:
    rate = flint.arb(2)
    for w in p.w[-1:] if top_alone else p.w[layer - 1 :]:
        rate = rate.max(abs(w) + p.alpha)
    return rate


def _interval_rate(p: Any, first: int) -> Any:
    """Over the layers from ``first`` on, counted from 1."""
    return _interval_most([second.iv.mpf(2), *(p.alpha + abs(w) for w in p.w[first - 1 :])])


def _ball_most(values: list[Any]) -> Any:
    size = flint.arb(0)
    for value in values:
        size = size.max(abs(value))
    return size


def _interval_most(values: list[Any]) -> Any:
    return second.iv.mpf([max(value.a for value in values), max(value.b for value in values)])
