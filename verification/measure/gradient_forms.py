"""The right sides of the gradient propositions of sam and icml, as data, for two back-ends: balls and intervals.

p has α, dt, N, layer, m (1 if not given), and the lists w, V of ‖w^q‖_∞, ‖V^q‖_∞, q = 1..L, and target, max = Ȳ.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint

from verification.certify.second import intervals as second
from verification.measure.polynomials import coefficient
from verification.measure.published_forms import (
    ICML_12,
    ICML_S7,
    ICML_S15,
    SAM_14,
    SAM_32,
    SAM_42,
    Delta,
    Root,
)


@dataclass(frozen=True)
class GradientForm:
    """(prefactor) g(T) V̄ (Ȳ + F) Δ, F = root/√α, for one neuron a layer, or p.m of them.

    growth      "exponential": e^{w̄T}; "linear": 1 + 2γT; "one": e^{w̄}, and T = 1 in F and Δ: sam (13), (14);
                "none": 1, no bound of the papers
    of_one_step the summands (69), S(42): prefactor dt^{L−l+1}; else ((1 − dt^L)/(1 − dt)) T, without T if "one"
    factor      of the whole
    """

    delta: Delta
    root: Root
    growth: str
    of_one_step: bool = False
    factor: Fraction = Fraction(1)
    power: int = 0

    def ball(self, p: Any) -> Any:
        depth, layer = len(p.w), round(float(p.layer))
        T = p.dt * round(float(p.N))
        K = (abs(p.w[-1]) + p.alpha).max(2)
        if self.growth == "linear":
            grown = 1 + (2 * K + K * K) * T
        else:
            grown = {"exponential": K * T, "one": K, "none": 0 * K}[self.growth].exp()
        if self.of_one_step:
            sums = p.dt ** (depth - layer + 1 - self.power)
        else:
            sums = sum((p.dt**j for j in range(depth)), flint.arb(0)) * (1 if self.growth == "one" else T)
        q = SimpleNamespace(
            alpha=p.alpha, dt=p.dt, T=flint.arb(1) if self.growth == "one" else T, m=getattr(p, "m", flint.arb(1))
        )
        right = sums * grown * self.delta.ball(q) * coefficient(self.factor)
        for V in p.V:
            right = right * abs(V).max(1)
        largest = flint.arb(0)
        for target in p.target:
            largest = largest.max(abs(target))
        return right * (largest + self.root.ball(q) / p.alpha.sqrt())

    def interval(self, p: Any) -> Any:
        iv = second.iv
        L, N = len(p.texts["w"].split()), int(p.texts["N"])
        time = N * p.dt
        size = p.alpha + abs(p.w[L - 1])
        bar = iv.mpf([max(size.a, 2), max(size.b, 2)])
        product = (p.alpha * 0) + 1
        if self.growth in ("exponential", "one"):
            product = iv.exp(bar if self.growth == "one" else time * bar)
        elif self.growth == "linear":
            product = time * bar * (bar + 2) + 1
        if self.of_one_step:
            product = product * p.dt ** (L + 1 - int(p.texts["layer"]) - self.power)
        else:
            product = product * (1 - p.dt**L) / (1 - p.dt) * (iv.mpf(1) if self.growth == "one" else time)
        for V in p.V:
            product = product * iv.mpf([max(abs(V).a, 1), max(abs(V).b, 1)])
        T = iv.mpf(1) if self.growth == "one" else time
        at = SimpleNamespace(alpha=p.alpha, dt=p.dt, T=T, m=getattr(p, "m", iv.mpf(1)))
        target = iv.mpf(max(abs(entry).b for entry in p.target))
        states = self.root.interval(at) / iv.sqrt(p.alpha) + target
        return product * states * self.delta.interval(at) * self.factor.numerator / self.factor.denominator


SAM_13 = GradientForm(SAM_14, Root(growth=Fraction(1)), "one")
SAM_41 = GradientForm(SAM_42, SAM_32, "exponential")
ICML_MAIN = GradientForm(ICML_12, ICML_S7, "linear")
ICML_14 = GradientForm(ICML_S15, ICML_S7, "linear")
SAM_69 = GradientForm(SAM_42, SAM_32, "exponential", of_one_step=True)
SAM_70 = GradientForm(SAM_42, SAM_32, "exponential")
ICML_43 = GradientForm(ICML_S15, ICML_S7, "linear")
ICML_42 = GradientForm(ICML_S15, ICML_S7, "linear", of_one_step=True)
