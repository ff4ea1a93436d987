"""Cases that ask for an exponent: |quantity| ≤ C dt^p, ≥ c dt^p or both as dt → 0, for a stack one can type.

Asking measures the slope on a ladder; a slope on the wrong side, by more than half a power, names a candidate. Checking
encloses the quantity at two refinements by both back-ends, and cites an estimate uniform in dt if there is one
(``verification.certify.scaling_limits``): a finite ladder alone never refutes.

Published O(dt^p) means, for matrices, "at most"; for scalars, as sam (72) and icml S(45) define it, both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias, TypedDict

import flint

from odernn.bounds.numbers import BALLS, FLOATS, Numbers
from verification.certify import scalar_stack, scaling_limits
from verification.certify.scalar_stack import FIELDS, ScalarStack
from verification.certify.scaling_limits import NoLimitError, TwoSided
from verification.certify.second import scalar_stack as scalar_stack_second
from verification.claim import Attempt, Case, Check, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.kinds import Constant, Integer, Kind, Rational, Values
from verification.measure import scaling
from verification.measure.scaling import HALF_A_POWER
from verification.parameters import Declaration, Parameter, Rule, declared

Side: TypeAlias = Literal["at most", "at least", "exactly"]


class Symbol(TypedDict):
    """How a quantity is called in tables."""

    symbol: str


BITS = 192
COARSEST = 64
REFINEMENTS = {"smoke": 5, "standard": 6, "deep": 8}
CERTIFIED_STEPS = 32
"""N of the coarser of the two certified refinements."""


def quantity_of(states: scalar_stack.ScalarRun, quantity: str) -> Any:
    """A quantity by its name: the same names as in ``scalar_stack_second.value``."""
    match quantity:
        case "contribution":
            return scalar_stack.contribution(states)
        case "remainder, L = 1":
            return scalar_stack.remainder_of_one_layer(states)
        case "remainder, L = 3":
            return scalar_stack.remainder_of_three_layers(states)
        case "remainder, S":
            return scalar_stack.remainder_of_the_limit(states)
        case "kernel, leading":
            return scalar_stack.kernel_less_leading(states)
        case "Φ":
            return scalar_stack.product_less_limit(states, states.stack.step(states.steps) + 1)
        case "y by y":
            return scalar_stack.same_time_column(states)[0]
        case "norm":
            return scalar_stack.max_modulus(scalar_stack.same_time_column(states))
    return scalar_stack.product_remainder(states, states.stack.step(states.steps) + 1, quantity)


def has_limit(quantity: str, refine: str) -> bool:
    """Whether the library has a uniform estimate for a quantity: none from below of what a theorem of ours leaves."""
    if refine == "fixed n":
        return quantity == "remainder, L = 1"
    return quantity not in ("remainder, S", "kernel, leading", "Φ")


def limit_of(stack: ScalarStack, steps: int, quantity: str, refine: str) -> TwoSided:
    """The uniform estimate for a quantity. Raises NoLimitError if the library has none."""
    if not has_limit(quantity, refine):
        raise NoLimitError(f"no estimate of {quantity} at {refine}")
    if refine == "fixed n":
        return scaling_limits.remainder_of_one_layer_at_fixed_steps(stack, steps)
    match quantity:
        case "contribution":
            return scaling_limits.contribution(stack, steps)
        case "remainder, L = 1":
            return scaling_limits.remainder_of_one_layer(stack, steps)
        case "remainder, L = 3":
            return scaling_limits.remainder_of_three_layers(stack, steps)
        case "y by y" | "norm":
            return scaling_limits.same_time(stack, steps, quantity)
    if stack.ratio:
        raise NoLimitError("the estimate for products is for a fixed k")
    return scaling_limits.product_remainder(stack, steps, stack.offset + 1, quantity)


@functools.lru_cache(maxsize=64)
def _states(stack: ScalarStack, steps: int) -> scalar_stack.ScalarRun:
    return scalar_stack.run(stack, steps, FLOATS)


def measured(stack: ScalarStack, steps: int, quantity: str) -> float:
    """In floats. The states do not depend on k and are kept for the next case."""
    any_step = replace(stack, offset=1, ratio=Fraction(0))
    return float(quantity_of(replace(_states(any_step, steps), stack=stack), quantity))


SECOND_STEPS = (64, 128, 256)


@functools.lru_cache(maxsize=32)
def _two_neurons(layers: int, skip: int, alpha: Fraction, target: Fraction, horizon: Fraction) -> tuple[Any, ...]:
    """∂E_k/∂w of the first neuron for all k at every N of ``SECOND_STEPS``: two neurons a layer, w ≠ 0."""
    import torch

    from verification.measure import gradient

    def row(*values: float) -> Any:
        return torch.tensor(values, dtype=torch.float64)

    contributions = []
    for steps in SECOND_STEPS:
        stack = []
        for q in range(1, layers + 1):
            matrix = torch.stack([row(1.0, 0.5), row(0.25, 1.0)])
            edges = {q - 1: matrix} | ({q - skip - 1: matrix} if skip and q > skip + 1 else {})
            step_size = float(horizon) / steps * row(0.5, 0.6)
            bias = row(1.0, 0.75) if q == 1 else None
            stack.append(gradient.LayerWeights(row(0.5, -0.25), step_size, float(alpha), edges, bias))
        states = gradient.run(tuple(stack), torch.zeros(steps, 1, 2, dtype=torch.float64))
        goal = torch.full((1, 2), float(target), dtype=torch.float64)
        contributions.append(gradient.contributions(states, steps, goal)[0]["w"][:, 0, 0])
    return tuple(contributions)


def second_look(stack: ScalarStack) -> str:
    """The local slope of the contribution in another network of the same depth, α, T and k."""
    runs = _two_neurons(stack.layers, stack.skip, stack.alpha, stack.target, stack.horizon)
    values = [float(run[stack.step(steps) - 1]) for run, steps in zip(runs, SECOND_STEPS, strict=True)]
    slope = scaling.local_slopes([1 / steps for steps in SECOND_STEPS], values)[-1]
    between = f"between N = {SECOND_STEPS[-2]} and {SECOND_STEPS[-1]}"
    return f"{slope:.2f} with two neurons a layer, w = (1/2, −1/4), {between}"


MOST_CERTIFIED_STEPS = 64
WEIGHTS: Mapping[str, Kind] = {"alpha": Rational(least=0), **dict.fromkeys(("w", "v", "b", "target"), Rational())}

ENCLOSED_FLOW = ("remainder, S", "Φ")
"""Quantities that need a differential equation enclosed: asked where this takes seconds, at few drawn places."""
GENTLE: Mapping[str, Kind] = {
    "alpha": Rational(least=0, most=4),
    **dict.fromkeys(("w", "b", "target"), Rational(least=-4, most=4)),
}


def stack_parameters(
    stack: ScalarStack,
    *more: Parameter,
    steps: Kind | None = None,
    kinds: Mapping[str, Kind] = WEIGHTS,
    is_costly: bool = False,
) -> Declaration:
    """The stack with any weights: L, S, T and k are those of the case, as far as ``kinds`` does not say otherwise."""
    free = steps or Integer(int(stack.horizon) + 1, MOST_CERTIFIED_STEPS)

    def step(values: Values) -> bool:
        k = stack.offset + stack.ratio * values["steps"]
        return k.denominator == 1 and bool(1 <= k <= values["steps"])

    return declared(
        *(Parameter(name, kinds.get(name, Constant(Fraction(getattr(stack, name))))) for name in FIELDS),
        Parameter("steps", free),
        *more,
        rules=(Rule(f"k = {stack.offset} + {stack.ratio} N is a step", step),),
        is_costly=is_costly,
    )


def order_case(
    stack: ScalarStack,
    quantity: str,
    power: int,
    side: Side,
    *,
    domain: str,
    symbol: str,
    fixed_n: int = 0,
) -> Case:
    """|quantity| ≤ C dt^power ("at most"), ≥ c dt^power ("at least") or both, N → ∞ at fixed T, or T → 0 at n = N."""

    def ask(budget: Budget, _: int) -> Attempt:
        refinements = REFINEMENTS[budget.name]
        ladder = (
            scaling.fixed_steps(stack.horizon, fixed_n, refinements)
            if fixed_n
            else scaling.fixed_horizon(stack.horizon, COARSEST, refinements)
        )
        values = [measured(replace(stack, horizon=T), N, quantity) for T, N in ladder.rungs]
        slope = scaling.fit([float(dt) for dt in ladder.steps], values)
        candidate = stack.to_text() | {
            "steps": str(fixed_n or CERTIFIED_STEPS),
            "refine": "fixed n" if fixed_n else "fixed T",
        }
        wrong = _is_excluded(slope.finest, slope.finest, power, side)
        further = f"; {second_look(stack)}" if quantity == "contribution" and not fixed_n else ""
        return Attempt(
            tried=f"{slope.describe()}: {stack.describe()}{f', n = {fixed_n}' if fixed_n else ''}{further}",
            evaluations=len(values),
            found=slope.describe(),
            claimed=f"slope {power}" + {"at most": " or more", "at least": " or less", "exactly": ""}[side],
            candidates=(candidate,) if wrong else (),
        )

    def look(parameters: Parameters) -> bool | None:
        """The estimate first, without which nothing certifies."""
        stack, fine, counts = _refined(parameters)
        if not all(premise.holds for premise in _premises(stack, counts[0], quantity, parameters["refine"])):
            return None
        if not _carried(stack, counts[0], quantity, parameters["refine"], power, side):
            return False
        return _opinion("balls", lambda: _ball_slope(stack, fine, counts, quantity), power, side).violated

    refined = "fixed n" if fixed_n else "fixed T"
    refine = Parameter("refine", Constant(refined))
    compared = quantity in ENCLOSED_FLOW
    parameters = stack_parameters(
        stack,
        refine,
        steps=Constant(fixed_n) if fixed_n else None,
        kinds=GENTLE if compared else WEIGHTS,
        is_costly=compared,
    )
    return Case(
        domain=domain,
        quantity=f"{symbol} {_relation(power, side)}",
        ask=ask,
        check=parameters.guards(
            functools.partial(check_order, quantity=quantity, power=power, side=side),
            look,
            is_slow=True,
            can_refute=has_limit(quantity, refined),
        ),
        reading="limit",
    )


def _relation(power: int, side: Side) -> str:
    unit = {0: "", 1: " dt"}.get(power, f" dt^{power}")
    return {"at most": "≤ C", "at least": "≥ c", "exactly": "between c and C times"}[side] + unit


def both_sides(stack: ScalarStack, quantity: str, power: int, **names: Any) -> tuple[Case, Case]:
    """A scalar O(dt^power) as the papers define it: two cases."""
    return (
        order_case(stack, quantity, power, "at most", **names),
        order_case(stack, quantity, power, "at least", **names),
    )


def check_order(parameters: Parameters, *, quantity: str, power: int, side: Side) -> Check:
    """The local slope between two refinements, enclosed twice, and the limit."""
    stack, fine, counts = _refined(parameters)
    steps, refine = counts[0], parameters["refine"]
    opinions = (
        _opinion("balls", lambda: _ball_slope(stack, fine, counts, quantity), power, side),
        _opinion(
            "mpmath",
            lambda: scalar_stack_second.local_slope(stack.to_text(), fine.to_text(), counts, quantity),
            power,
            side,
        ),
    )
    return Check(
        opinions=opinions,
        premises=_premises(stack, steps, quantity, refine),
        limit=_carried(stack, steps, quantity, refine, power, side),
        words=f"{stack.describe()}, N = {counts[0]} and {counts[1]}: {opinions[0].text}, "
        f"claimed {_relation(power, side)}",
    )


def _premises(stack: ScalarStack, steps: int, quantity: str, refine: str) -> tuple[Premise, ...]:
    dt, k = stack.horizon / steps, stack.step(steps)
    return (
        Premise("0 < dt < 1", str(min(dt, 1 - dt)), 0 < dt < 1),
        Premise("α ≥ 0", str(stack.alpha), stack.alpha >= 0),
        Premise("k ≤ n/10", str(Fraction(steps, 10) - k), 10 * k <= steps)
        if _is_long_term(quantity, refine)
        else Premise("1 ≤ k ≤ n", str(k), 1 <= k <= steps),
    )


def _carried(stack: ScalarStack, steps: int, quantity: str, refine: str, power: int, side: Side) -> str:
    """The estimate that carries a violation to dt → 0, "" if there is none."""
    try:
        estimate = limit_of(stack, steps, quantity, refine)
    except NoLimitError:
        return ""
    return estimate.describe() if estimate.contradicts(Fraction(power), side) else ""


def _refined(parameters: Parameters) -> tuple[ScalarStack, ScalarStack, tuple[int, int]]:
    """The stack at two refinements, and N of each: T halved at the same N, or N doubled at the same T."""
    stack, steps = ScalarStack.from_text(parameters), int(parameters["steps"])
    if parameters["refine"] == "fixed n":
        return stack, replace(stack, horizon=stack.horizon / 2), (steps, steps)
    return stack, stack, (steps, 2 * steps)


def _is_long_term(quantity: str, refine: str) -> bool:
    """Whether the statement is about k ≪ n: read as k ≤ n/10, or k fixed."""
    return refine == "fixed T" and quantity in ("contribution", "remainder, L = 1", "remainder, L = 3")


def _ball_slope(coarse: ScalarStack, fine: ScalarStack, counts: tuple[int, int], quantity: str) -> tuple[float, float]:
    numbers: Numbers = BALLS
    with flint.ctx.workprec(BITS):
        first, last = (
            abs(quantity_of(scalar_stack.run(stack, steps, numbers), quantity))
            for stack, steps in zip((coarse, fine), counts, strict=True)
        )
        if first.contains(0) or last.contains(0):
            raise ValueError(f"{quantity}: a ball contains 0")
        slope = (first / last).log() / flint.arb(2).log()
        return float(slope.lower()), float(slope.upper())


def _opinion(backend: str, slope: Callable[[], tuple[float, float]], power: int, side: Side) -> Opinion:
    try:
        low, high = slope()
    except ValueError as error:
        return Opinion(backend, False, str(error))
    return Opinion(backend, _is_excluded(low, high, power, side), f"local slope {(low + high) / 2:.6f}")


def _is_excluded(low: float, high: float, power: int, side: Side) -> bool:
    """Whether a slope between ``low`` and ``high`` is on the wrong side of the claimed one by half a power."""
    smaller, larger = high < power - HALF_A_POWER, low > power + HALF_A_POWER
    return {"at most": smaller, "at least": larger, "exactly": smaller or larger}[side]
