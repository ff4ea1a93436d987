"""‖dX^L_n/dX^l_k‖_∞ of chains of single neurons against a form, and the chains that are tried first.

All of them have c = 0, so h = dt/2. Those at rest (zero bias and input from zero states) have A = 0, σ' = 1 and y = 0
at every step; with w = −α an undisturbed neuron has κ = 0, and everything is rational.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from verification.cases.inequality import STEP_BELOW_ONE, Inequality
from verification.cases.network_gradient import A_LAYER, A_STEP
from verification.certify.neuron_chain import LISTS, NeuronChain
from verification.certify.second import intervals as second
from verification.certify.second.neuron_chain import Adjoints
from verification.claim import Hypothesis, Parameters
from verification.exact_text import rational, rationals
from verification.kinds import Integer, Kind, Listed, Rational, Rows, Values
from verification.measure.exact_network import HeldInput
from verification.measure.polynomials import coefficient
from verification.parameters import Declaration, Parameter, Rule, declared

MOST_STEPS = 4000
CHAIN_PREMISES = (
    STEP_BELOW_ONE,
    Hypothesis("N ≥ 1, a whole number", lambda p: p.N if p.N.denominator == 1 else Fraction(0)),
    Hypothesis("1 ≤ l ≤ L, whole", lambda p: Fraction(p.layer.denominator == 1 and 1 <= p.layer <= len(p.w))),
)
JACOBIAN_PREMISES = (
    *CHAIN_PREMISES,
    Hypothesis("α ≥ 0", lambda p: p.alpha, strict=False),
    Hypothesis("1 ≤ k < n, whole", lambda p: Fraction(p.k.denominator == 1 and 1 <= p.k < p.N)),
)


@dataclass(frozen=True)
class JacobianForm:
    """dt^{L−l} Π_{q>l}|V_q| g((n−k)dt), or its last form V̄ dt^{L−l} g(t_n); one neuron a layer.

    growth   "exponential": g(t) = e^{w̄t}, w̄ = max(2, |w_L| + α) (54); "linear": 1 + 2γt, γ = w̄ + w̄²/2, S(27)
    power    taken off the exponent of dt
    factor   of the whole
    """

    growth: str
    is_last: bool = False
    power: int = 0
    factor: Fraction = Fraction(1)

    def ball(self, p: Any) -> Any:
        layer, N = round(float(p.layer)), round(float(p.N))
        K = (abs(p.w[-1]) + p.alpha).max(2)
        time = p.dt * (N if self.is_last else N - round(float(p.k)))
        right = (K * time).exp() if self.growth == "exponential" else 1 + (2 * K + K * K) * time
        right = right * p.dt ** (len(p.w) - layer - self.power) * coefficient(self.factor)
        for V in p.V if self.is_last else p.V[layer:]:
            right = right * (abs(V).max(1) if self.is_last else abs(V))
        return right

    def interval(self, p: Any) -> Any:
        n, k, climbs = int(p.texts["N"]), int(p.texts["k"]), len(p.w) - int(p.texts["layer"])
        size = abs(p.w[-1]) + p.alpha
        K = second.iv.mpf([max(size.a, 2), max(size.b, 2)])
        t = n * p.dt if self.is_last else (n - k) * p.dt
        bound = second.iv.exp(t * K) if self.growth == "exponential" else K * (K + 2) * t + 1
        for j, V in enumerate(p.V):
            if self.is_last:
                bound = bound * second.iv.mpf([max(abs(V).a, 1), max(abs(V).b, 1)])
            elif j >= len(p.V) - climbs:
                bound = bound * abs(V)
        return bound * p.dt ** (climbs - self.power) * self.factor.numerator / self.factor.denominator


def jacobian_parameters(
    where: str, layers_of: range = range(1, 4), fixed: Mapping[str, Kind] | None = None
) -> Declaration:
    """A chain and the place of dX^L_N/dX^l_k: "l = L", "l < L", or "l < L" with equal w."""
    known: Mapping[str, Kind] = fixed or {}

    def place(values: Values) -> bool:
        is_top = values["layer"] == len(values["w"])
        return is_top == (where == "l = L") and ("equal" not in where or len(set(values["w"])) == 1)

    def one_or_all(values: Values) -> tuple[int, ...]:
        return (1, values["N"])

    return declared(
        Parameter("alpha", known.get("alpha", Rational(least=0))),
        Parameter("dt", known.get("dt", Rational(above=0, below=1))),
        Parameter("N", known.get("N", Integer(2, MOST_STEPS))),
        Parameter("k", Integer(1, lambda values: int(values["N"]) - 1)),
        Parameter("w", (HeldInput if "equal" in where else Rows)(Rational(), 1, lambda _: layers_of), order=A_LAYER),
        Parameter("layer", Integer(1, lambda values: len(values["w"]) - (where != "l = L"))),
        *(Parameter(name, Listed(Rational(), lambda values: len(values["w"])), order=A_LAYER) for name in ("V", "b")),
        *(Parameter(name, Rows(Rational(), 1, one_or_all), order=A_STEP) for name in ("u", "target")),
        rules=(
            Rule(f"n · L ≤ {MOST_STEPS}", lambda values: values["N"] * len(values["w"]) <= MOST_STEPS),
            Rule(f"the network and its layer l are of the case {where}", place),
        ),
    )


class JacobianRightSide(Protocol):
    """A form of the right side, a ball and an interval."""

    def ball(self, p: Any) -> Any: ...

    def interval(self, p: Any) -> Any: ...


def finite(
    norms: JacobianRightSide, parameters: Declaration | None = None, extra: tuple[Hypothesis, ...] = ()
) -> Inequality:
    """‖dX^L_N/dX^l_k‖_∞ by the recursion itself, under ``extra`` hypotheses."""
    return Inequality(
        lambda p: (NeuronChain(p).jacobian_norm(round(float(p.layer)), round(float(p.k))), norms.ball(p)),
        lambda p: (Adjoints(p).jacobian_norm(int(p.texts["layer"]), int(p.texts["k"])), norms.interval(p)),
        (*JACOBIAN_PREMISES, *extra),
        lists=LISTS,
        parameters=parameters,
    )


def at_rest(alpha: Fraction, dt: Fraction, lag: int, w: list[Fraction]) -> Parameters:
    """From step k = 1 of layer 1 to step n = 1 + lag of the top one; V = 1 between layers, no input."""
    return {
        "alpha": rational(alpha),
        "dt": rational(dt),
        "N": str(1 + lag),
        "k": "1",
        "layer": "1",
        "w": " ".join(map(rational, w)),
        "V": " ".join(["0", *["1"] * (len(w) - 1)]),
        "b": " ".join("0" for _ in w),
        "u": "0",
        "target": "0",
    }


_STEPS = tuple(Fraction(1, n) for n in (2, 4, 10, 20, 50, 100))


def calm() -> Iterator[Parameters]:
    """Two and three layers with w = −α = −1 everywhere, T = (n − k) dt = 1."""
    for depth, dt in itertools.product((2, 3), _STEPS):
        yield at_rest(Fraction(1), dt, int(1 / dt), [Fraction(-1)] * depth)


def stiff_below() -> Iterator[Parameters]:
    """Two layers at dt = 1/10, T = 1, the lower with larger and larger |w|."""
    for size in (10, 100, 1000, 10**4, 10**5):
        yield at_rest(Fraction(1), Fraction(1, 10), 10, [Fraction(-size), Fraction(-1)])


def hyperbolic() -> Iterator[Parameters]:
    for horizon, W, dt in itertools.product((1, 5, 10, 20, 40), (1, 4, 16), (Fraction(1, 4), Fraction(1, 20))):
        yield at_rest(Fraction(1), dt, int(horizon / dt), [Fraction(-1 - W)])


def within_one() -> Iterator[Parameters]:
    """T = N dt = 1: w = −1 − W at larger and larger W."""
    for root, steps in itertools.product((16, 24, 32, 48), (20, 50, 100, 400)):
        yield at_rest(Fraction(1), Fraction(1, steps), steps - 1, [Fraction(-1 - root**2)])


_SWITCHED = ((4, -3, 10), (1, 8, 4), (4, 12, 10))
"""(α, w, 1/dt) of products that a periodic input makes grow."""
_HARD = 6
"""|A| of a saturated step: σ′ = 2.5e-5."""


def resonant() -> Iterator[Parameters]:
    """One neuron under the fastest word in B(α + w), B(α) that the search knows, for T = 5 and 10.   thm-J (b)

    x_n = −w y_{n−1} makes pre-activation 0, in thousandths; a saturated step pushes back.
    """
    from verification.adversary import words

    for alpha, w, fineness in _SWITCHED:
        h = 0.5 / fineness
        word = words.search(alpha + min(w, 0), alpha + max(w, 0), h)
        is_driven = [(letter == 0) == (w < 0) for letter in word.letters]
        for horizon in (5, 10):
            y = z = 0.0
            u: list[Fraction] = []
            for n in range(horizon * fineness):
                pushed = _HARD if y >= 0 else -_HARD
                u.append(Fraction(round(1000 * (-w * y + (0 if is_driven[n % len(is_driven)] else pushed))), 1000))
                z -= h * (math.tanh(w * y + float(u[-1])) + alpha * y)
                y += h * z
            at = at_rest(Fraction(alpha), Fraction(1, fineness), len(u) - 1, [Fraction(w)])
            yield {**at, "V": "1", "u": rationals(u)}
