"""The printed variants of F and Δ in the gradient propositions of sam and icml, as data, with their logarithms.

sam:   root(f, q, e) = √(f m T) · Q^q · e^{e ᾱ T},  Q = 1 + 2α dt³,  ᾱ = 96^{1/4} max{1, √α}
icml:  root(f)       = √(f (1 + 2βT)),              β = max{1 + 2α, 4α²}
F = root/√α,   Δ = constant + root_z + (2 + α) root_y/√α.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint

from odernn.bounds.numbers import BALLS
from verification.certify.second import intervals as second

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Root:
    """One bound on ‖z‖ as printed: ``factor`` under the root; powers of Q and of e^{ᾱT}; None for the form of icml."""

    factor: Fraction = Fraction(2)
    step_power: Fraction | None = HALF
    growth: Fraction = HALF

    def implies(self, other: Root) -> bool:
        """Whether self ≥ other for all α > 0, dt, T: larger factor and powers, Q ≥ 1 and e^{ᾱT} ≥ 1."""
        if self.step_power is None or other.step_power is None:
            return self.step_power is other.step_power and self.factor >= other.factor
        return self.factor >= other.factor and self.step_power >= other.step_power and self.growth >= other.growth

    def ball(self, p: Any) -> Any:
        """p has α, dt, T, m as balls."""
        if self.step_power is None:
            beta = (1 + 2 * p.alpha).max(4 * p.alpha * p.alpha)
            return (BALLS.exact(self.factor) * (1 + 2 * beta * p.T)).sqrt()
        rate = flint.arb(96).root(4) * p.alpha.sqrt().max(1)
        step = ((1 + 2 * p.alpha * p.dt**3).log() * BALLS.exact(self.step_power)).exp()
        return (BALLS.exact(self.factor) * p.m * p.T).sqrt() * step * (BALLS.exact(self.growth) * rate * p.T).exp()

    def interval(self, p: Any) -> Any:
        """Typed again."""
        iv = second.iv
        factor = iv.mpf(self.factor.numerator) / self.factor.denominator
        if self.step_power is None:
            linear, square = p.alpha * 2 + 1, p.alpha**2 * 4
            beta = iv.mpf([max(linear.a, square.a), max(linear.b, square.b)])
            return iv.sqrt((beta * p.T * 2 + 1) * factor)
        root = iv.sqrt(p.alpha)
        exponent = iv.mpf(self.growth.numerator) / self.growth.denominator * p.T
        exponent = exponent * iv.sqrt(iv.sqrt(iv.mpf(96))) * iv.mpf([max(1, root.a), max(1, root.b)])
        power = iv.log(p.dt**3 * p.alpha * 2 + 1) * self.step_power.numerator / self.step_power.denominator
        return iv.sqrt(p.T * p.m * factor) * iv.exp(power + exponent)


@dataclass(frozen=True)
class Delta:
    """Δ = constant + root_z + (2 + α) root_y/√α."""

    z: Root
    y: Root
    constant: Fraction = Fraction(2)

    def implies(self, other: Delta) -> bool:
        return self.constant >= other.constant and self.z.implies(other.z) and self.y.implies(other.y)

    def ball(self, p: Any) -> Any:
        return BALLS.exact(self.constant) + self.z.ball(p) + (2 + p.alpha) * self.y.ball(p) / p.alpha.sqrt()

    def interval(self, p: Any) -> Any:
        constant = second.iv.mpf(self.constant.numerator) / self.constant.denominator
        return (p.alpha + 2) / second.iv.sqrt(p.alpha) * self.y.interval(p) + self.z.interval(p) + constant


SAM_32 = Root()
ICML_S7 = Root(step_power=None)
SAM_42 = Delta(z=SAM_32, y=SAM_32)
SAM_14 = Delta(z=Root(growth=Fraction(1)), y=Root(growth=Fraction(1)))
"""At T = 1 only: (13), (14) are stated for t in [0, 1]."""
SAM_66 = Delta(z=Root(growth=Fraction(1)), y=Root(step_power=Fraction(1), growth=Fraction(1)))
SAM_67 = Root(step_power=Fraction(1), growth=Fraction(1))
ICML_12 = Delta(z=ICML_S7, y=ICML_S7)
ICML_S15 = Delta(z=Root(factor=Fraction(1), step_power=None), y=ICML_S7)
ICML_S39 = Delta(z=ICML_S7, y=ICML_S7)


def with_ones(p: Any, one: Any) -> Any:
    """The namespace with m = 1 and dt = 0 where they are not given (icml's forms have neither)."""
    return SimpleNamespace(**{"m": one, "dt": 0 * one, **vars(p)})
