# Claims: both-56
"""The direct derivatives ∂⁺X_k/∂θ of a step: sam (55)-(62), (75); icml S(28)-S(35), S(48).

One neuron i of layer l. Every parameter of its own is moved at once, w by dw, V_{i,p̄} by dV, b by db, c by dc, and
σ(A), σ̂(c) to first order by s′ = σ′(A), g′ = σ̂′(c); x is y^{l−1,p̄}_k, the input that the step reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from odernn.published.sources import Source
from verification.cases.identity import PolynomialIdentity
from verification.claim import Case, Claim
from verification.kinds import Rational

NAMES = ("dt", "alpha", "y", "z", "x", "w", "V", "s", "s1", "g", "g1", "dw", "dV", "db", "dc")


@dataclass(frozen=True)
class FirstOrder:
    """value + ε slope, ε² = 0, over any ring."""

    value: Any
    slope: Any

    def __add__(self, other: FirstOrder) -> FirstOrder:
        return FirstOrder(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other: FirstOrder) -> FirstOrder:
        return FirstOrder(self.value * other.value, self.value * other.slope + self.slope * other.value)


def _printed(v: Mapping[str, Any], step_moves_y: bool) -> tuple[Any, Any]:
    """(∂⁺y_k, ∂⁺z_k) of (56) with (57)-(62): ∂A/∂θ is y_{k−1}, x, 1, 0 for w, V, b, c, and ∂c/∂θ is 1 for c alone.

    z_k is that of the step; ``step_moves_y`` = False would leave out the first term of ∂⁺y_k.
    """
    by_A = v["dw"] * v["y"] + v["dV"] * v["x"] + v["db"]
    step = v["dt"] * v["g1"] * v["dc"]
    z = -step * v["s"] - v["dt"] * v["g"] * v["s1"] * by_A - v["alpha"] * step * v["y"]
    after = v["z"] - v["dt"] * v["g"] * (v["s"] + v["alpha"] * v["y"])
    return (step * after if step_moves_y else 0) + v["dt"] * v["g"] * z, z


def _printed_again(v: Mapping[str, Any], step_moves_y: bool) -> tuple[Any, Any]:
    """The same θ by θ, each a pair (∂A/∂θ, ∂c/∂θ) of icml S(30)-S(35), added up; z_k − h f once more by the step."""
    h, slope_of_h = v["g"] * v["dt"], v["g1"] * v["dt"]
    force = v["alpha"] * v["y"] + v["s"]
    of_z = of_y = 0 * v["dt"]
    pairs = ((v["y"] * v["dw"], 0), (v["x"] * v["dV"], 0), (v["db"], 0), (0, v["dc"]))
    for of_A, of_c in pairs:
        of_one = -(slope_of_h * of_c * force + h * v["s1"] * of_A)
        of_z = of_z + of_one
        of_y = of_y + of_one * h
        if step_moves_y:
            of_y = of_y + slope_of_h * of_c * (v["z"] - force * h)
    return of_y, of_z


def _by_rules(v: Mapping[str, Any]) -> tuple[Any, Any]:
    """The step itself over numbers a + ε b."""
    zero = 0 * v["dt"]

    def fixed(value: Any) -> FirstOrder:
        return FirstOrder(value, zero)

    y, z = fixed(v["y"]), fixed(v["z"])
    moved = FirstOrder(v["w"], v["dw"]) * y + FirstOrder(v["V"], v["dV"]) * fixed(v["x"]) + FirstOrder(zero, v["db"])
    h = fixed(v["dt"]) * FirstOrder(v["g"], v["g1"] * v["dc"])
    activation = FirstOrder(v["s"], v["s1"] * moved.slope)
    z = z + fixed(zero - 1) * h * (activation + fixed(v["alpha"]) * y)
    return (y + h * z).slope, z.slope


def _by_hand(v: Mapping[str, Any]) -> tuple[Any, Any]:
    """y_k = y + h z − h² f and z_k = z − h f with f = σ(A) + α y: by h and by f, one after the other."""
    h, f = v["dt"] * v["g"], v["s"] + v["alpha"] * v["y"]
    moved_h = v["g1"] * v["dt"] * v["dc"]
    moved_f = v["s1"] * (v["y"] * v["dw"] + v["x"] * v["dV"] + v["db"])
    return (v["z"] - 2 * h * f) * moved_h - h * h * moved_f, -f * moved_h - h * moved_f


def partials_case(step_moves_y: bool = True) -> Case:
    def residual(
        of: Callable[[Mapping[str, Any]], tuple[Any, Any]],
        printed: Callable[[Mapping[str, Any], bool], tuple[Any, Any]],
    ) -> Callable[[Mapping[str, Any]], list[Any]]:
        def differences(v: Mapping[str, Any]) -> list[Any]:
            return [a - b for a, b in zip(of(v), printed(v, step_moves_y), strict=True)]

        return differences

    unit = Rational(above=0, most=1)
    identity = PolynomialIdentity(
        NAMES,
        residual(_by_rules, _printed),
        residual(_by_hand, _printed_again),
        "∂⁺y_k and ∂⁺z_k of a step, w, V, b and c moved at once, against (56) with (57)-(62)",
        {"dt": unit, "g": unit, "s1": unit, "g1": unit},
    )
    return identity.case("one neuron, θ = w, V, b, c", "∂⁺y_k, ∂⁺z_k")


CLAIMS = (
    Claim(
        id="both-56",
        source=Source("sam", "(55)-(62), (75); icml S(28)-S(35), S(48)"),
        statement="∂⁺y_k/∂θ = dt σ̂′(c)(∂c/∂θ) z_k + dt σ̂(c) ∂⁺z_k/∂θ, ∂⁺z_k/∂θ = −dt σ̂′(c)(∂c/∂θ)(σ(A_{k−1}) + α "
        "y_{k−1}) − dt σ̂(c) σ′(A_{k−1}) ∂A_{k−1}/∂θ, ∂A_{k−1}/∂θ = y_{k−1}, y^{l−1}_k, 1, 0 for θ = w, V, b, c",
        semantics="alg",
        cases=(partials_case(),),
    ),
)
