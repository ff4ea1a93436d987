"""The first back-end: Arb balls (python-flint), with precision escalated until the comparison is decided.

A ball encloses the real value of every operation, so ``violates`` is a proof: the measured lower end exceeds the
bound's upper end. ``holds`` is a proof of the opposite. ``undecided`` means that even ``MAX_BITS`` left them
overlapping.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint

from odernn.bounds.numbers import BALLS
from verification.claim import Claim, Hypothesis, Part, Setting
from verification.instance import Instance

FIRST_BITS = 128
MAX_BITS = 8192
TIGHT = 1e-13


class StepBeyondInputsError(ValueError):
    """The step asked for lies beyond the instance's inputs."""


@dataclass(frozen=True)
class Outcome:
    """``status`` is "violates", "holds" or "undecided"; ``measured`` and ``bound`` enclose natural logarithms.

    ``premises`` lists (text, lower end of the margin, proved). ``bits`` is the working precision that decided.
    """

    status: str
    measured: tuple[float, float]
    bound: tuple[float, float]
    bits: int
    premises: tuple[tuple[str, float, bool], ...]

    @property
    def is_tight(self) -> bool:
        """A violation is reported with ends that agree to ``TIGHT``, so that a file can record them; else nothing is
        asked.
        """
        if self.status != "violates":
            return True
        return all(upper - lower <= TIGHT * max(1.0, abs(upper)) for lower, upper in (self.measured, self.bound))

    @property
    def is_refutation(self) -> bool:
        """The inequality is violated and every premise holds, both proved."""
        return self.status == "violates" and all(proved for *_, proved in self.premises)


def trajectory(
    instance: Instance, *, layer: int, step: int, exact_step: Callable[..., tuple[Any, Any]]
) -> tuple[list[Any], list[Any]]:
    """Balls (y, z) of every group of ``layer`` (from 1) after ``step`` steps from the zero state, at the precision
    in force.
    """
    if step > instance.steps:
        raise StepBeyondInputsError(f"Step {step} lies beyond the {instance.steps} inputs of the instance.")
    exact = BALLS.exact
    alpha = exact(instance.alpha)
    layers = [_Layer(one_layer) for one_layer in instance.layers[:layer]]
    channels = {s for sources in layers[0].sources for s, _ in sources}
    for n, values in enumerate(instance.inputs, 1):
        if n > step:
            break
        below = [(1, exact(value) if s in channels else None) for s, value in enumerate(values)]
        for one_layer in layers:
            one_layer.advance(below, alpha, exact_step)
            below = list(zip(one_layer.multiplicity, one_layer.y, strict=True))
    return layers[-1].y, layers[-1].z


class _Layer:
    """One layer's parameters and state in balls."""

    def __init__(self, layer: Any) -> None:
        exact = BALLS.exact
        self.multiplicity = [group.multiplicity for group in layer.groups]
        self.w = [exact(group.w) for group in layer.groups]
        self.h = step_sizes(layer)
        self.bias = [exact(group.bias) for group in layer.groups]
        self.sources = [[(s, exact(v)) for s, v in enumerate(row) if v] for row in layer.input_weights]
        self.y: list[Any] = [flint.arb(0) for _ in layer.groups]
        self.z: list[Any] = [flint.arb(0) for _ in layer.groups]

    def advance(self, below: list[tuple[int, Any]], alpha: Any, exact_step: Callable[..., tuple[Any, Any]]) -> None:
        for g in range(len(self.w)):
            drive = self.bias[g]
            for s, weight in self.sources[g]:
                multiplicity, value = below[s]
                drive = drive + multiplicity * weight * value
            self.y[g], self.z[g] = exact_step(self.y[g], self.z[g], drive, self.w[g], self.h[g], alpha, flint.arb.tanh)


def step_sizes(layer: Any) -> list[Any]:
    """h = dt·σ̂(c) of every group, in balls."""
    dt = BALLS.exact(layer.dt)
    return [dt / (1 + (-BALLS.exact(group.c)).exp()) for group in layer.groups]


def norm_of(values: list[Any], multiplicities: list[int], norm: str) -> Any:
    """The maximum norm or the Euclidean norm of a layer whose groups hold ``values``."""
    if norm == "max":
        largest = abs(values[0])
        for value in values[1:]:
            largest = largest.max(abs(value))
        return largest
    squares = sum((k * v * v for k, v in zip(multiplicities, values, strict=True)), flint.arb(0))
    return squares.nonnegative_part().sqrt()


def setting_of(instance: Instance, *, layer: int, step: int, steps: int) -> Setting:
    """The setting in balls of step n of the instance, for a claim about N = ``steps`` steps."""
    top = instance.layers[layer - 1]
    return Setting.of(
        BALLS,
        alpha=instance.alpha,
        dt=top.dt,
        step=step,
        steps=steps,
        hidden_size=instance.hidden_size,
        step_sizes=step_sizes(top),
    )


def decide(
    claim: Claim, part: Part, instance: Instance, *, layer: int, step: int, steps: int, max_bits: int = MAX_BITS
) -> Outcome:
    """Does the instance violate the claim's part at ``step``, with every premise? Escalates precision until decided.

    ``layer`` counts from 1; ``steps`` is N of the statement (its T = N·dt). The system is the claim's own. Premises are
    asked of every layer up to ``layer``, each with its own dt. Raises ValueError unless 1 ≤ step ≤ steps, TypeError
    if the bound is no ball.
    """
    if not 1 <= step <= steps:
        raise ValueError(f"Step {step} is not one of the claim's steps 1 to {steps}.")
    bits = FIRST_BITS
    while True:
        with flint.ctx.workprec(bits):
            outcome = _decide_at(claim, part, instance, layer, step, steps, bits)
        if bits >= max_bits or (outcome.status != "undecided" and outcome.is_tight):
            return outcome
        bits *= 2


def _decide_at(claim: Claim, part: Part, instance: Instance, layer: int, step: int, steps: int, bits: int) -> Outcome:
    where = {"layer": layer, "step": step, "steps": steps}
    y, z = trajectory(instance, layer=layer, step=step, exact_step=claim.bound.system.exact_step)
    return outcome_of(claim, part, instance, y if part.quantity == "position" else z, bits=bits, **where)


def outcome_of(
    claim: Claim, part: Part, instance: Instance, values: list[Any], *, layer: int, step: int, steps: int, bits: int
) -> Outcome:
    """The comparison and the premises for a state of ``layer`` at ``step``, one ball a group, at the precision in
    force, which is ``bits``. TypeError if the bound is no ball.
    """
    premises = _premises(claim, instance, layer, step, steps)
    log_bound = part.bound(setting_of(instance, layer=layer, step=step, steps=steps), BALLS)
    if not isinstance(log_bound, flint.arb):
        kind = type(log_bound).__name__
        raise TypeError(
            f'The bound of "{claim.id}" returned a {kind}, not a ball: use the functions of `numbers` only.'
        )
    multiplicities = [group.multiplicity for group in instance.layers[layer - 1].groups]
    measured = norm_of(values, multiplicities, part.norm)
    status, log_measured = _compare(measured, log_bound)
    return Outcome(status, log_measured, (lower_end(log_bound), upper_end(log_bound)), bits, premises)


def _premises(
    claim: Claim, instance: Instance, layer: int, step: int, steps: int
) -> tuple[tuple[str, float, bool], ...]:
    """Every premise with its smallest margin over the layers up to ``layer``, and whether it is proved in all."""
    premises = []
    for hypothesis in claim.bound.hypotheses:
        margins = [_margin(hypothesis, instance, number, step, steps) for number in range(1, layer + 1)]
        ends = [lower_end(BALLS.exact(margin) if isinstance(margin, Fraction) else margin) for margin in margins]
        premises.append((hypothesis.text, min(ends), all(map(hypothesis.holds, margins))))
    return tuple(premises)


def _margin(hypothesis: Hypothesis, instance: Instance, layer: int, step: int, steps: int) -> Any:
    """In fractions, where the margin can be asked there, so that dt = 1/10 holds at dt = 1/10; else in balls."""
    alpha, dt = instance.alpha, instance.layers[layer - 1].dt
    try:
        exact = Setting(alpha, dt, step, steps, instance.hidden_size, None, step * dt, steps * dt)
        margin = hypothesis.margin(exact)
    except (TypeError, AttributeError):
        margin = None
    if isinstance(margin, int | Fraction):
        return Fraction(margin)
    return hypothesis.margin(setting_of(instance, layer=layer, step=step, steps=steps))


def _compare(measured: Any, log_bound: Any) -> tuple[str, tuple[float, float]]:
    """(status, ends of log measured). A ball that may hold 0 has no logarithm, but may still be proved small."""
    if not measured.is_finite() or log_bound.is_nan():
        return "undecided", (float("-inf"), float("inf"))
    if measured > 0:
        log_measured = measured.log()
        status = "violates" if log_measured > log_bound else "holds" if log_measured <= log_bound else "undecided"
        return status, (lower_end(log_measured), upper_end(log_measured))
    if measured.is_zero():
        return "holds", (float("-inf"), float("-inf"))
    above = measured.abs_upper().log()
    return "holds" if above <= log_bound else "undecided", (float("-inf"), upper_end(above))


def lower_end(ball: Any) -> float:
    """The lower end as a float for display (nearest); a number that is no ball is taken as it is."""
    return float(ball.lower()) if isinstance(ball, flint.arb) else float(ball)


def upper_end(ball: Any) -> float:
    """The upper end as a float for display (nearest)."""
    return float(ball.upper()) if isinstance(ball, flint.arb) else float(ball)
