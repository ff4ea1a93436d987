"""Controls: problems with known answers, run through the same adversaries and certificates as the claims.

A recurrence that is linear in s_n = tanh(w y_{n-1} + x_n), |s_n| < 1, has as sup |y_n| the l1 norm of its response to a
unit kick, whatever w is (the supremum is approached at w = 0): computed here by *running* the system, not from
thm-S. **Power**: the bound 0.9 × optimum is false and must be refuted. **Soundness**: the bound (1 + 1e-12) ×
optimum is true and must never certify as violated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from odernn.bounds.numbers import FLOATS, Numbers
from odernn.tableau import Source
from verification.claim import Claim, Part, Setting
from verification.domains import SearchPoint
from verification.system import System

POWER = Fraction(9, 10)
SOUNDNESS = 1 + Fraction(1, 10**12)

CONTROL_POINTS = (
    SearchPoint("control", Fraction(1), (Fraction(1, 20),), 600, 1, 1, "control α > 0"),
    SearchPoint("control", Fraction(0), (Fraction(1, 20),), 200, 1, 1, "control α = 0"),
)


def optimum(step: Callable[..., Any], alpha: Any, h: Any, steps: int, quantity: str, one: Any) -> Any:
    """sup over |s_i| ≤ 1 of |y_n| or |z_n| at n = ``steps`` for the system with w = 0: Σ_j |response to a unit kick|.

    ``step(y, z, x, w, h, alpha, tanh)`` runs with tanh replaced by the identity; ``one`` is 1 in its arithmetic.
    """
    zero = 0 * one
    y, z, total = zero, zero, zero
    for j in range(steps):
        y, z = step(y, z, one if j == 0 else zero, zero, h, alpha, lambda s: s)
        total = total + abs(y if quantity == "position" else z)
    return total


def control_claim(system: System, factor: Fraction, name: str) -> Claim:
    """The statement "|y_n|, |z_n| ≤ ``factor`` × optimum", bound typed for both back-ends."""

    def part(quantity: str) -> Part:
        def bound(s: Setting, numbers: Numbers) -> Any:
            one = numbers.exact(1)
            value = optimum(system.exact_step, s.alpha, s.step_sizes[0], s.step, quantity, one)
            return numbers.log(numbers.exact(factor) * value)

        def second_bound(s: Any, iv: Any) -> Any:
            value = optimum(system.second_step, s.alpha, s.step_sizes[0], s.step, quantity, iv.mpf(1))
            return iv.log(iv.mpf(factor.numerator) / iv.mpf(factor.denominator) * value)

        return Part(quantity, "max", bound, second_bound)

    return Claim(
        id=name,
        source=Source("library", "verification/controls.py"),
        statement=f"w = 0: |y_n|, |z_n| ≤ {factor} × the exact optimum",
        parts=(part("position"), part("momentum")),
        system=system,
    )


def float_optimum(system: System, point: SearchPoint, step_size: float, quantity: str, step: int) -> float:
    """The optimum in float64 at step n of the point."""
    return float(optimum(system.exact_step, float(point.alpha), step_size, step, quantity, FLOATS.exact(1)))


# --- every adversary and the share of a known optimum that it reaches


@dataclass(frozen=True)
class Share:
    """What ``adversary`` reached of the known optimum of ``sibling``, at most 1 up to rounding."""

    adversary: str
    sibling: str
    share: float


def shares(budget_name: str = "smoke", seed: int = 0) -> tuple[Share, ...]:
    """All adversaries on problems whose optimum is known. Below 0.9 one says nothing by finding nothing."""
    return tuple([*_of_states(budget_name), *_of_derivatives(seed)])


def _of_states(budget_name: str) -> Iterator[Share]:
    """The linear problem w = 0 at the control points: sup |y_N| and sup |z_N| by running the system."""
    import torch

    from verification.adversary import AMPLITUDE, Found, chain, effective_steps, structured
    from verification.domains import BUDGETS
    from verification.jobs import ADVERSARIES
    from verification.measure.hidden_state import run_instance
    from verification.system import UNICORNN

    def reached(point: SearchPoint, found: Found) -> float:
        y, z, _ = run_instance(UNICORNN, found.instance, 1)
        values = (y if found.quantity == "position" else z).abs().flatten()
        step = int(values.argmax()) + 1
        known = float_optimum(UNICORNN, point, effective_steps(point)[0], found.quantity, step)
        return float(values[step - 1]) / known

    def given(point: SearchPoint, quantity: str, values: torch.Tensor) -> Found:
        return Found("", quantity, chain(point, 1, 0.0, values, UNICORNN.name), 1, True)

    for point in CONTROL_POINTS:
        for name, search in ADVERSARIES.items():
            for found in search(UNICORNN, point, 1, BUDGETS[budget_name]):
                yield Share(name, f"|{found.quantity}|, w = 0, {point.group}", reached(point, found))
        exact = structured.matched(UNICORNN, point, 1)
        for i, quantity in enumerate(("position", "momentum")):
            share = reached(point, given(point, quantity, exact[:, i]))
            yield Share("matched signs", f"|{quantity}|, w = 0, {point.group}", share)
    undamped = CONTROL_POINTS[1]
    constant = torch.full((undamped.steps,), -AMPLITUDE, dtype=torch.float64)
    for quantity in ("position", "momentum"):
        share = reached(undamped, given(undamped, quantity, constant))
        yield Share("constant input", f"|{quantity}|, w = 0, {undamped.group}", share)


def _of_derivatives(seed: int) -> Iterator[Share]:
    """Gradients, Jacobian products and exponents: the linear problem again, thm-J (c), and the golden pair."""
    from verification.adversary import chaos, evolution, gradient_ascent, pontryagin, words

    linear, hyperbolic = "|y_N|, w = 0", "growth of B(κ) products, thm-J (c)"
    yield Share("sign ascent", linear, gradient_ascent.control(1.0, 0.1, 60, seed=seed))
    yield Share("CMA-ES, beam inside", f"{linear} or not, over w, V, b", evolution.position_control(seed=seed))
    growth = evolution.Growth(4.0, 0.1, steps=240, hold=4)
    share = evolution.growth_control(growth, -9.0, restarts=2, population=8, generations=12, seed=seed)
    yield Share("CMA-ES, beam inside", f"{hyperbolic}, over w", share)
    share = evolution.resonance_control(
        replace(growth, steps=120), -2.0, restarts=2, population=8, generations=12, seed=seed
    )
    yield Share("CMA-ES, beam inside", "growth of B(κ) products, −α/2 < w < 0, thm-J (d)", share)
    yield Share("pontryagin, κ", hyperbolic, pontryagin.growth_control())
    yield Share("words", "two shears, rate log of the golden ratio; thm-J (c), (d)", words.control())
    yield Share("driven stacks", "late exponent of a saddle, thm-J (c)", chaos.stack_control(4000))
