"""thm-G and thm-G-inf at exact numbers, in balls: the functions of ``odernn.bounds.gradient`` themselves.

    |dE/dθ| ≤ m_l (Ȳ + Ŷ_L) o_L g_θ Π_{q>l} v_q Σ_{j<N} C(j + p, p) e^{jω},   p = L − l

What bounds the states is given: the largest of a run, or what thm-S says. ``certify.second.gradient_theorems`` has the
same, typed again. docs/derivations/gradient_bounds.md
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from odernn.bounds import gradient
from odernn.bounds.gradient import StackLayer, StateLogs
from odernn.bounds.numbers import BALLS

Theorem = Literal["thm-G", "thm-G-inf"]
THEOREMS: tuple[Theorem, ...] = ("thm-G", "thm-G-inf")


@dataclass(frozen=True, eq=False)
class StackInBalls:
    """A stack without residual edges. Lists go over layers 1..L, then neurons.

    w, h, rest    w, h and 1 − σ̂(c) of every neuron
    V             the matrix of every layer, row after row
    form          a of every neuron, 0 < a < 4/h²; thm-G-inf has none
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

    def bound(self, theorem: Theorem, layer: int, theta: str) -> Any:
        """The right side for every θ of that name in ``layer``, from 1."""
        stack = [
            StackLayer(
                w=_array(w),
                step_size=_array(h),
                alpha=self.alpha,
                edges={q: np.array(V, dtype=object)},
                names={q: "V"},
                complement=_array(rest),
            )
            for q, (w, h, V, rest) in enumerate(zip(self.w, self.h, self.V, self.rest, strict=True))
        ]
        states = [StateLogs(_logs(y), _logs(z)) for y, z in zip(self.y, self.z, strict=True)]
        if theorem == "thm-G":
            constants = gradient.invariant_constants(stack, states, [_array(a) for a in self.form], numbers=BALLS)
        else:
            constants = gradient.maximum_constants(stack, states, numbers=BALLS)
        return gradient.log_gradient_bound(
            constants,
            source=layer,
            parameter=theta,
            log_error=gradient.log_error_bound(states[-1], self.target, numbers=BALLS),
            outputs=len(self.w[-1]),
            steps=self.steps,
            numbers=BALLS,
        ).exp()


def _array(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _logs(values: list[Any]) -> np.ndarray:
    return _array([value.max(BALLS.exact(gradient.FLOOR)).log() for value in values])
