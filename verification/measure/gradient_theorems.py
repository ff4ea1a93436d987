"""thm-G and thm-G-inf at exact numbers. In balls: the functions of ``odernn.bounds.gradient`` themselves.

    |dE/dθ| ≤ m_l (Ȳ + Ŷ_L) o_L g_θ Π_{q>l} v_q Σ_{j<N} C(j + p, p) e^{jω},   p = L − l

What bounds the states is given: the largest of a run, or what thm-S says. In intervals:
``certify.second.gradient_theorems``, the same typed again. docs/derivations/gradient_bounds.md
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from odernn.bounds import gradient
from odernn.bounds.gradient import LayerConstants, StackLayer, StateLogs
from odernn.bounds.numbers import BALLS
from verification.certify.second import gradient_theorems as again
from verification.measure.polynomials import coefficient

Theorem = Literal["thm-G", "thm-G-inf"]


@dataclass(frozen=True, eq=False)
class StackInBalls:
    """A stack without residual edges. Lists go over layers 1..L, then neurons.

    w, h, rest    w, h and 1 − σ̂(c) of every neuron
    V             the matrix of every layer, row after row
    form          a of every neuron, 0 < a < 4/h²; thm-G-inf does not look at it
    y, z          bounds on |y|, |z|, level 0 (no z) the input
    target        Ȳ
    """

    alpha: Any
    steps: int
    w: list[list[Any]]
    h: list[list[Any]]
    rest: list[list[Any]]
    V: list[list[list[Any]]]
    form: list[list[Any]]
    y: list[list[Any]]
    z: list[list[Any]]
    target: Any


@dataclass(frozen=True)
class GradientTheorem:
    """One of the two. Planted falsehoods: no m_l (``outputs``), ω of the ``top_alone``, another ``factor``."""

    name: Theorem
    outputs: bool = True
    top_alone: bool = False
    factor: Fraction = Fraction(1)

    @property
    def has_forms(self) -> bool:
        return self.name == "thm-G"

    def ball(self, stack: StackInBalls, layer: int, theta: str) -> Any:
        """The right side for every θ of that name in ``layer``, from 1."""
        states = [StateLogs(_logs(y), _logs(z)) for y, z in zip(stack.y, stack.z, strict=True)]
        constants = self._constants(stack, states)
        if self.top_alone:
            constants = [*(replace(each, rate=BALLS.exact(0)) for each in constants[:-1]), constants[-1]]
        log_bound = gradient.log_gradient_bound(
            constants,
            source=layer,
            parameter=theta,
            log_error=gradient.log_error_bound(states[-1], stack.target, numbers=BALLS),
            outputs=len(stack.w[-1]) if self.outputs else 1,
            steps=stack.steps,
            numbers=BALLS,
        )
        return log_bound.exp() * coefficient(self.factor)

    def _constants(self, stack: StackInBalls, states: list[StateLogs]) -> list[LayerConstants]:
        layers = [
            StackLayer(
                w=_array(w),
                step_size=_array(h),
                alpha=stack.alpha,
                edges={below: np.array(V, dtype=object)},
                names={below: "V"},
                complement=_array(rest),
            )
            for below, (w, h, V, rest) in enumerate(zip(stack.w, stack.h, stack.V, stack.rest, strict=True))
        ]
        if not self.has_forms:
            return gradient.maximum_constants(layers, states, numbers=BALLS)
        return gradient.invariant_constants(layers, states, [_array(a) for a in stack.form], numbers=BALLS)

    def interval(self, stack: Any, layer: int, theta: str) -> Any:
        """The same of a namespace of intervals."""
        right = again.bound(
            stack, layer, theta, invariant=self.has_forms, outputs=self.outputs, top_alone=self.top_alone
        )
        return right * self.factor.numerator / self.factor.denominator


def _array(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _logs(values: list[Any]) -> np.ndarray:
    return _array([value.max(BALLS.exact(gradient.FLOOR)).log() for value in values])
