"""Every adversary and the share of a known optimum that it reaches: below 0.9 it says nothing by finding nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from verification.adversary import (
    AMPLITUDE,
    Found,
    chain,
    chaos,
    effective_steps,
    evolution,
    gradient_ascent,
    pontryagin,
    structured,
    words,
)
from verification.adversary.portfolio import ADVERSARIES
from verification.cases.controls import CONTROL_POINTS, DEEP_LAYERS, deep_control_point, float_optimum, through_layers
from verification.domains import BUDGETS, SearchPoint
from verification.measure.hidden_state import run_instance
from verification.system import UNICORNN


@dataclass(frozen=True)
class KnownShare:
    """What ``adversary`` reached of the known optimum of ``sibling``, at most 1 up to rounding."""

    adversary: str
    sibling: str
    share: float


def shares(budget_name: str = "smoke", seed: int = 0, device: torch.device | None = None) -> tuple[KnownShare, ...]:
    """All adversaries on problems whose optimum is known, on ``device``, by default the CPU. Below 0.9 one says nothing
    by finding nothing.
    """
    on = device or torch.device("cpu")
    return tuple([*_of_states(budget_name, on), *_of_derivatives(seed, on)])


def _of_states(budget_name: str, device: torch.device) -> Iterator[KnownShare]:
    """The linear problem w = 0 at the control points: sup |y_N| and sup |z_N| by running the system."""

    def reached(point: SearchPoint, decided: Found, layer: int = 1) -> float:
        y, z, _ = run_instance(UNICORNN, decided.instance, layer, device)
        values = (y if decided.quantity == "position" else z).abs().flatten()
        step = int(values.argmax()) + 1
        known = float_optimum(UNICORNN, point, effective_steps(point)[layer - 1], decided.quantity, step)
        return float(values[step - 1]) / known

    def given(point: SearchPoint, quantity: str, values: torch.Tensor) -> Found:
        return Found("", quantity, chain(point, 1, 0.0, values, UNICORNN.name), 1, True)

    for point in CONTROL_POINTS:
        for name, search in ADVERSARIES.items():
            for best in search(UNICORNN, point, 1, BUDGETS[budget_name], device):
                yield KnownShare(name, f"|{best.quantity}|, w = 0, {point.group}", reached(point, best))
        exact = structured.matched(UNICORNN, point, 1, device)
        for i, quantity in enumerate(("position", "momentum")):
            share = reached(point, given(point, quantity, exact[:, i]))
            yield KnownShare("matched signs", f"|{quantity}|, w = 0, {point.group}", share)
    for layer in DEEP_LAYERS:
        point = deep_control_point(layer)
        for name, search in ADVERSARIES.items():
            for best in search(UNICORNN, point, layer, BUDGETS[budget_name], device):
                yield KnownShare(name, f"|{best.quantity}| of layer {layer}", reached(point, best, layer))
        exact = structured.matched(UNICORNN, point, layer, device) / AMPLITUDE
        for i, quantity in enumerate(("position", "momentum")):
            below = {"alpha": float(point.alpha), "step_size": effective_steps(point)[0]}
            values = torch.tensor(through_layers(exact[:, i].tolist(), layer, **below), dtype=torch.float64)
            inverse = Found("", quantity, chain(point, layer, 0.0, values, UNICORNN.name), 1, True)
            yield KnownShare("matched signs", f"|{quantity}| of layer {layer}", reached(point, inverse, layer))
    undamped = CONTROL_POINTS[1]
    constant = torch.full((undamped.steps,), -AMPLITUDE, dtype=torch.float64)
    for quantity in ("position", "momentum"):
        share = reached(undamped, given(undamped, quantity, constant))
        yield KnownShare("constant input", f"|{quantity}|, w = 0, {undamped.group}", share)


def _of_derivatives(seed: int, device: torch.device) -> Iterator[KnownShare]:
    """Gradients, Jacobian products and exponents: the linear problem again, thm-J (c), and the golden pair."""
    linear, hyperbolic = "|y_N|, w = 0", "growth of B(κ) products, thm-J (c)"
    yield KnownShare("sign ascent", linear, gradient_ascent.control(1.0, 0.1, 60, seed=seed, device=device))
    share = evolution.position_control(seed=seed, device=device)
    yield KnownShare("CMA-ES, beam inside", f"{linear} or not, over w, V, b", share)
    growth = evolution.RowGrowth(4.0, 0.1, steps=240, hold=4)
    spent: dict[str, Any] = {"restarts": 2, "population": 8, "generations": 12, "seed": seed, "device": device}
    share = evolution.growth_control(growth, -9.0, **spent)
    yield KnownShare("CMA-ES, beam inside", f"{hyperbolic}, over w", share)
    share = evolution.resonance_control(replace(growth, steps=120), -2.0, **spent)
    yield KnownShare("CMA-ES, beam inside", "growth of B(κ) products, −α/2 < w < 0, thm-J (d)", share)
    yield KnownShare("pontryagin, κ", hyperbolic, pontryagin.growth_control(device=device))
    yield KnownShare("words", "two shears, rate log of the golden ratio; thm-J (c), (d)", words.control(device=device))
    yield KnownShare("driven stacks", "late exponent of a saddle, thm-J (c)", chaos.stack_control(4000, device))
