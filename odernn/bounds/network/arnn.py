"""Antisymmetric networks 1-2-ARNN and 2-2-ARNN: kicks of at most dt, whatever the weights.   thm-C-arnn

    1-2-ARNN   p_n = p_{n−1} − dt σ(S q_{n−1} + x_p),  q_n = q_{n−1} + dt σ(S p_n + x_q)      |q_n|, |p_n| ≤ n dt
    leapfrog   y_n = y_{n−2} + 2 dt σ(W y_{n−1} + x)                                           |y_n| ≤ 2 dt ⌈n/2⌉
    ‖J‖ ≤ e^{2 asinh(dt s/2)}, or e^{asinh((dt s)²/8)} + ½ dt s + ¾ (dt s)²; leapfrog e^{asinh(dt s)};   s = ‖S‖₂, ‖W‖₂

for σ = tanh. With relu the states are bounded by the Jacobians, ‖X_n‖ ≤ ‖J‖ ‖X_{n−1}‖ + c ‖x_n‖, as σ(0) = 0. Slopes
may change in time, those of thm-ARNN are constant. Proofs: docs/derivations/certificates.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from odernn.bounds.network import greedy
from odernn.bounds.network.euler import computed_pushes, pushed, skew_step_rate
from odernn.bounds.network.levels import (
    PART,
    LayerTheory,
    Level,
    add_logs,
    before,
    computed_drive,
    driven,
    euclidean_error,
    input_level,
    precision_of,
    report_of,
    roundoff,
    underflows,
)
from odernn.bounds.network.question import Question
from odernn.bounds.network.report import EVERY_INPUT, THESE_INPUTS, LayerBounds, QuantityBound, computed_line
from odernn.bounds.network.states import outward
from odernn.bounds.network.sweeps import NOTHING, Logs, StepConstants, geometric, linear_growth, log_norm, log_of
from odernn.cells.arnn_1_2 import ARNN12Layer, symmetric
from odernn.cells.arnn_2_2 import ExplicitMidpointLayer, LeapfrogLayer
from odernn.fields import spectra
from odernn.orthogonal.cayley import skew

if TYPE_CHECKING:
    from odernn.cells.arnn_1_2 import ARNN12
    from odernn.cells.arnn_2_2 import ARNN22


@dataclass(frozen=True)
class KickedStep:
    """What a scheme makes of s = ‖weight‖₂ and dt.

    rate     log of ‖J‖                       push    a drive of norm 1 moves the state from rest by at most that
    gain     of V: of a change of the drive   blocks  the state, as the report names it
    drift    by which a tanh moves every entry, and every so many steps
    log_odd  n steps have ‖J‖ of at most e^{n rate + log_odd}: rates of two steps may be smaller than those of one
    """

    rate: float
    push: float
    gain: float
    blocks: str
    drift: float
    every: int = 1
    log_odd: float = 0.0


def layers_of(network: ARNN12 | ARNN22, question: Question) -> tuple[LayerBounds, ...]:
    """States in the largest entry (relu: in the Euclidean norm), Jacobians and gradients in the Euclidean norm."""
    theories: list[LayerTheory] = []
    level = input_level(question, network.input_size)
    for layer in network.layers:
        theories.append(_theory(layer, level, question.steps))
        level = theories[-1].level
    return report_of(theories, euclidean_error(level, network.hidden_size, question.target_bound))


def step_of(layer: Any, s: float, steps: int) -> KickedStep:
    """The constants of thm-C-arnn for the scheme of a layer, those that are best for so many steps."""
    dt = spectra.as_used(layer.dt, layer.free)
    a = spectra.upward(dt * s)
    if isinstance(layer, ARNN12Layer):
        middle = math.exp(math.asinh(a * a / 8)) + a / 2 + 0.75 * a * a
        rate = min(2 * math.asinh(a / 2), math.log(middle))
        return KickedStep(outward(rate), dt * (1 + a), dt * (2 + a), "X = (q, p)", dt)
    if isinstance(layer, LeapfrogLayer):
        one = math.asinh(a)
        two = math.log(math.exp(math.asinh(a * a / 2)) + a + 3 * a * a) / 2
        if steps * two + one - two >= steps * one:
            two = one
        odd = outward(one - two)
        return KickedStep(outward(two), 2 * dt, 2 * dt, "X = (y, previous)", 2 * dt, 2, odd)
    if isinstance(layer, ExplicitMidpointLayer):
        c = a / 2
        rate = math.log(math.sqrt(1 + c**4 / 4) + a / 2 + 0.375 * a * a)
        return KickedStep(outward(rate), dt * (1 + a / 2), dt * (1 + a / 2), "X = y", dt)
    return KickedStep(skew_step_rate(dt, 0.0, s), dt, dt, "X = y", dt)


@torch.no_grad()
def _theory(layer: Any, level: Level, steps: int) -> LayerTheory:
    n, is_12 = layer.hidden_size, isinstance(layer, ARNN12Layer)
    matrix = symmetric(layer.free, n) if is_12 else skew(layer.free, n)
    s = spectra.spectral_norm(matrix)
    step = step_of(layer, s, steps)
    states = _kicked(layer, step, steps) if layer.activation == "tanh" else _driven(layer, matrix, step, level, steps)
    lines = [*_state_lines(layer, states)]
    grown = float(outward((steps - 1) * step.rate + (step.log_odd if steps > 1 else 0.0), steps))
    quantity = f"‖∂X_N/∂X_1‖₂, {step.blocks}"
    lines.append(QuantityBound(quantity, grown, "thm-C-arnn (b)"))
    moved = _chosen_step(layer, matrix.double())
    if moved is not None:
        count = n * len(layer.state_names)
        lines += greedy.line(moved, count, steps - 1, step.rate, log_condition=step.log_odd)
    parameters = tuple(name for name, _ in layer.named_parameters())
    constants = _constants(layer, step, s, states, level)
    says = (PART,)
    return LayerTheory(tuple(lines), states, constants, parameters, says=says)


def _kicked(layer: Any, step: KickedStep, steps: int) -> Level:
    """tanh: n dt, or 2 dt ⌈n/2⌉, in every entry.   thm-C-arnn (a)"""
    u, root = precision_of(layer).unit_roundoff, math.log(layer.hidden_size) / 2
    times = (np.arange(steps) // step.every).astype(int)
    count = int(times[-1]) + 1
    entry, computed = pushed(step.drift, count)[times], computed_pushes(step.drift, count, u)[times]
    return Level(entry, outward(entry + root), computed, outward(computed + root))


def _driven(layer: Any, matrix: Tensor, step: KickedStep, level: Level, steps: int) -> Level:
    """relu: ‖X_n‖ ≤ ‖J‖ ‖X_{n−1}‖ + push ‖x_n‖, x both drives side by side.   thm-C-arnn (c)"""
    weights, biases = drive_weights(layer)
    lifted = log_of(float(biases.norm()) * (1 + 2.0**-40))
    push = log_of(step.push)
    norm = linear_growth(step.rate, push + step.log_odd + add_logs(driven(weights, level), lifted))
    precision = precision_of(layer)
    gamma, below = roundoff(2 * len(matrix) + 16, precision), computed_drive(weights, level, precision)
    computed = None
    if below is not None and math.isfinite(gamma):
        a = step.drift * spectra.spectral_norm(matrix.abs())
        factor = add_logs(step.rate + step.log_odd, log_of(gamma * (1 + a) ** 2))
        wider = add_logs(push, log_of(gamma * step.drift * (1 + a))) + add_logs(below, lifted)
        lost = underflows(len(matrix) + 16, 2 * len(matrix), precision) + log_of((1 + step.drift) * (1 + a))
        computed = linear_growth(float(factor), add_logs(wider, lost))
    return Level(norm, norm, computed, computed)


def drive_weights(layer: Any) -> tuple[Tensor, Tensor]:
    """V and b of all drives, one below the other, in float64; of shared ones twice."""
    if not isinstance(layer, ARNN12Layer):
        b = torch.zeros(len(layer.V)) if layer.b is None else layer.b
        return layer.V.double(), b.double()
    V_q = layer.V_p if layer.V_q is None else layer.V_q
    b_q = layer.b_p if layer.shared else layer.b_q
    halves = [torch.zeros(len(layer.V_p)) if b is None else b for b in (layer.b_p, b_q)]
    return torch.cat((layer.V_p, V_q)).double(), torch.cat(halves).double()


def _chosen_step(layer: Any, matrix: Tensor) -> greedy.Step | None:
    """With the slopes chosen; None where one drive has two to choose: the midpoint rule, shared drives."""
    dt, n = spectra.as_used(layer.dt, layer.free), len(matrix)
    if isinstance(layer, ExplicitMidpointLayer) or (isinstance(layer, ARNN12Layer) and layer.shared):
        return None

    def halves(v: Tensor) -> Tensor:
        q, p = v[:n], v[n:]
        p = greedy.chosen(p, -dt * (matrix @ q))
        return torch.cat((greedy.chosen(q, dt * (matrix @ p)), p))

    def leapfrog(v: Tensor) -> Tensor:
        y, previous = v[:n], v[n:]
        return torch.cat((greedy.chosen(previous, 2 * dt * (matrix @ y)), y))

    if isinstance(layer, ARNN12Layer):
        return halves
    if isinstance(layer, LeapfrogLayer):
        return leapfrog
    return lambda v: greedy.chosen(v, dt * (matrix @ v))


def _state_lines(layer: Any, states: Level) -> list[QuantityBound]:
    is_tanh = layer.activation == "tanh"
    exact = float((states.entry if is_tanh else states.norm)[-1])
    logs = states.computed_entry if is_tanh else states.computed_norm
    computed = None if logs is None else float(logs[-1])
    theorem, about = ("thm-C-arnn (a)", EVERY_INPUT) if is_tanh else ("thm-C-arnn (c)", THESE_INPUTS)
    names = ("|q_n|, |p_n|", "|q̂_n|, |p̂_n|") if isinstance(layer, ARNN12Layer) else ("|y_n|", "|ŷ_n|")
    if not is_tanh:
        names = ("‖X_n‖₂", "‖X̂_n‖₂")
    return [
        QuantityBound(f"{names[0]}, n ≤ N", exact, theorem, about),
        computed_line(f"{names[1]} as computed", exact, computed, precision_of(layer), theorem, about),
    ]


def _constants(layer: Any, step: KickedStep, s: float, states: Level, level: Level) -> StepConstants:
    """thm-C-arnn (d): an entry of the weight stands twice in it and moves two entries, of norm at most √2 max|y|."""
    dt = spectra.as_used(layer.dt, layer.free)
    seen = np.minimum(states.entry + math.log(2) / 2, states.norm)
    earlier = before(seen, NOTHING)
    gain = log_of(spectra.upward(step.gain)) + step.log_odd
    if isinstance(layer, ARNN12Layer):
        a, log_dt = dt * s, outward(math.log(dt))
        direct = {"free": add_logs(log_of(1 + a) + log_dt + earlier, log_dt + seen)}
        shared = gain if layer.shared else log_of(dt * (1 + a))
        direct["V_p"], climb = shared + level.entry, log_of(dt * (1 + a)) + log_norm(layer.V_p)
        others = layer.V_p if layer.shared else layer.V_q
        climb = add_logs(climb, log_dt + log_norm(others))
        if layer.b_p is not None:
            direct["b_p"] = np.full(len(seen), shared)
        if layer.V_q is not None:
            direct["V_q"] = log_dt + level.entry
        if layer.b_q is not None:
            direct["b_q"] = np.full(len(seen), log_dt)
    else:
        at = _middle(layer, dt, s, earlier, level)
        direct = {"free": gain + at, "V": gain + level.entry}
        climb = gain + log_norm(layer.V)
        if layer.b is not None:
            direct["b"] = np.full(len(seen), gain)
    columns = {name: outward(logs)[:, None] for name, logs in direct.items()}
    return StepConstants(geometric(step.rate), np.array([outward(climb)]), 0.0, columns)


def _middle(layer: Any, dt: float, s: float, earlier: Logs, level: Level) -> Logs:
    """log of what multiplies a change of W: y_{n−1}, of the explicit midpoint rule the larger of that and Y."""
    if not isinstance(layer, ExplicitMidpointLayer):
        return earlier
    if layer.activation == "tanh":
        return np.asarray(add_logs(earlier, log_of(dt / math.sqrt(2.0))))
    weights, biases = drive_weights(layer)
    drive = add_logs(driven(weights, level), log_of(float(biases.norm()) * (1 + 2.0**-40)))
    return np.asarray(add_logs(log_of(1 + 0.5 * dt * s) + earlier, log_of(0.5 * dt) + drive))
