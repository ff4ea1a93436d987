"""LinOSS and IndRNN: neurons that see no other neuron of their layer.   thm-C-line; docs/derivations/certificates.md

    LinOSS   (y, z)_n = M_i (y, z)_{n−1} + k_i x_n      |y_n|, |z_n| ≤ x̄_i Σ_{j<n} |M_i^j k_i|    J = max_i ‖M_i^{N−1}‖
    IndRNN   h_n = σ(w_i h_{n−1} + x_n)                 |h_n| ≤ x̄_i Σ_{j<n} |w_i|^j               J ≤ max_i |w_i|^{N−1}

x̄_i ≥ |x_{n,i}|, J = ‖∂X_N/∂X_1‖₂. Sums R_i of the responses to a drive of 1 bound gradients neuron by neuron, and |V|
carries them through the layers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from odernn.bounds.network.levels import PART, precision_of, roundoff
from odernn.bounds.network.question import Question
from odernn.bounds.network.report import (
    EVERY_INPUT,
    FREE_DRIVE,
    THESE_INPUTS,
    LayerBounds,
    QuantityBound,
    computed_line,
    unknown,
)
from odernn.bounds.network.response_sums import ResponseSums, response_sums
from odernn.bounds.network.states import outward
from odernn.bounds.network.sweeps import NOTHING, Logs, log_of
from odernn.bounds.numbers import BALLS
from odernn.cells.linoss import LinOSSLayer
from odernn.fields import spectra

if TYPE_CHECKING:
    from odernn.cells.indrnn import IndRNN, IndRNNLayer
    from odernn.cells.linoss import LinOSS

Array = NDArray[np.float64]
DIGITS = 192
"""Bits of the balls in which powers of a step are enclosed."""
GRADIENTS = "thm-C-line (f)"
SCAN = 'no theorem here on the rounding of the scan; execution="torch" has one'


@dataclass(frozen=True, eq=False)
class NeuronLevel:
    """log of bounds on the outputs of one level, n ≤ N, by neuron (m,): on y, and where y ≥ 0 always, on max(y, 0).

    computed      the same of what a run in the dtype computes; None where nothing is known
    is_positive   relu: no output is negative
    """

    logs: Logs
    computed: Logs | None
    is_positive: bool = False


@dataclass(frozen=True, eq=False)
class DecoupledLayer:
    """What is proved of one layer.

    outputs    what goes up
    responses  log R_i, (m,): a drive that changes by 1 at all times moves the output by at most R_i
    lines      states and Jacobians
    reads      moduli of V in float64, (m, below)
    direct     of each parameter of a neuron, log of what multiplies its change before the response, (m,)
    """

    outputs: NeuronLevel
    responses: Logs
    lines: tuple[QuantityBound, ...]
    reads: Array
    direct: dict[str, Logs]
    says: tuple[str, ...] = ()


def layers_of(network: LinOSS | IndRNN, question: Question) -> tuple[LayerBounds, ...]:
    """States, Jacobians and gradients of every layer, neuron by neuron; the lines have the largest."""
    inputs = np.full(network.input_size, log_of(question.input_bound))
    below, layers = NeuronLevel(inputs, inputs), []
    for layer in network.layers:
        of_kind = _oscillators if isinstance(layer, LinOSSLayer) else _independent
        layers.append(of_kind(layer, below, question.steps))
        below = layers[-1].outputs
    # log of |∂E_n/∂y_i|, carried down through the layers
    error = np.logaddexp(below.logs, log_of(question.target_bound))
    found: list[LayerBounds] = []
    for number, layer in reversed(list(enumerate(layers, 1))):
        weight = outward(error + layer.responses)
        gradients = [
            QuantityBound(f"|dE/dθ|, θ = {name}", float(outward(np.max(weight + logs))), GRADIENTS, THESE_INPUTS)
            for name, logs in layer.direct.items()
        ]
        found.insert(0, LayerBounds(number, (*layer.lines, *gradients), layer.says))
        error = log_product(layer.reads.T, weight)
    return tuple(found)


def log_product(matrix: Array, logs: Logs) -> Logs:
    """log of |matrix| e^logs, rounded up: (m, n), (n,) -> (m,)."""
    with np.errstate(divide="ignore"):
        terms = np.log(np.abs(matrix)) + logs
    total = np.maximum(np.logaddexp.reduce(terms, axis=1), NOTHING)
    return np.asarray(outward(total, len(logs) * (1.0 + float(np.abs(logs).max()))))


# --- LinOSS


@torch.no_grad()
def _oscillators(layer: LinOSSLayer, below: NeuronLevel, steps: int) -> DecoupledLayer:
    dt, A = spectra.as_used(layer.dt, layer.B), layer.frequencies().double().numpy()
    M, kick, sizes = step_of(dt, A, is_implicit=layer.scheme == "im")
    B = layer.B.double().abs().numpy()
    responses = response_sums(M, kick, steps, sizes=sizes)
    response = responses.sums[-1]  # (2, m): y, z
    states = outward(log_product(B, below.logs) + response)
    computed = _computed_oscillators(layer, below, responses, M[:, 1, 1], (dt, A))
    lines: list[QuantityBound] = []
    for name, logs in zip(("y", "z"), states, strict=True):
        lines.append(QuantityBound(f"|{name}_n|, n ≤ N", float(logs.max()), "thm-C-line (a)", THESE_INPUTS))
    for index, quantity in enumerate(("|ŷ_n| as computed", "|ẑ_n| as computed")):
        if layer.execution == "parallel":
            lines.append(unknown(quantity, SCAN))
            continue
        found = None if computed is None else float(computed[index].max())
        exact = float(states[index].max())
        lines.append(computed_line(quantity, exact, found, precision_of(layer), "thm-C-line (b)", THESE_INPUTS))
    low, high = log_powers(dt, A, steps - 1, is_implicit=layer.scheme == "im")
    lines.append(QuantityBound("‖∂X_N/∂X_1‖₂, X = (y, z)", high, "thm-C-line (c)"))
    lines.append(QuantityBound("the same, from below", low, "thm-C-line (c)", EVERY_INPUT, "≥"))
    outputs = NeuronLevel(states[0], None if computed is None else computed[0])
    direct = {"A_raw": states[0], "B": np.full(len(A), float(below.logs.max()))}
    says = ("the layer is linear: its Jacobian is the same for every input, and two states part just as much.",)
    return DecoupledLayer(outputs, response[0], tuple(lines), B, direct, says)


def step_of(dt: float, A: Array, *, is_implicit: bool) -> tuple[Array, Array, Array]:
    """M (m, 2, 2), k (m, 2) of (y, z)_n = M (y, z)_{n−1} + k x, and the moduli of what M is computed from."""
    one = np.ones_like(A)
    if is_implicit:
        S = 1 / (1 + dt * dt * A)
        M = np.array([[S, dt * S], [-dt * A * S, S]])
        return M.transpose(2, 0, 1), np.stack((dt * dt * S, dt * S), axis=1), np.abs(M).transpose(2, 0, 1)
    M = np.array([[1 - dt * dt * A, dt * one], [-dt * A, one]])
    sizes = np.array([[1 + dt * dt * A, dt * one], [dt * A, one]])
    return M.transpose(2, 0, 1), np.stack((dt * dt * one, dt * one), axis=1), sizes.transpose(2, 0, 1)


def log_powers(dt: float, A: Array, count: int, *, is_implicit: bool) -> tuple[float, float]:
    """Below and above log max_i ‖M_i^count‖₂, in balls by repeated squaring.   thm-C-line (c)"""
    import flint

    lows, highs = [], []
    with flint.ctx.workprec(DIGITS + 2 * count.bit_length()):
        h = BALLS.exact(Fraction(dt))
        for each in A.tolist():
            a = BALLS.exact(Fraction(each))
            S = 1 / (1 + h * h * a)
            step = (S, h * S, -h * a * S, S) if is_implicit else (1 - h * h * a, h, -h * a, 1 + 0 * h)
            low, high = _log_norm_of_power(step, count)
            lows.append(low)
            highs.append(high)
    return max(lows), max(highs)


def _log_norm_of_power(step: tuple[Any, ...], count: int) -> tuple[float, float]:
    """Below and above log ‖M^count‖₂: σ² = (F + √(F² − 4 d²))/2, F the squares of all entries, d the determinant."""
    power, square = (1 + 0 * step[0], 0 * step[0], 0 * step[0], 1 + 0 * step[0]), step
    while count:
        if count & 1:
            power = _times(power, square)
        square, count = _times(square, square), count >> 1
    F = sum((x * x for x in power), 0 * step[0])
    d = power[0] * power[3] - power[1] * power[2]
    log = ((F + BALLS.root_of_positive_part(F * F - 4 * d * d)) / 2).log() / 2
    if not log.is_finite():
        return -math.inf, math.inf
    return float(log.lower()) - 2.0**-50, float(outward(float(log.upper())))


def _times(P: tuple[Any, ...], Q: tuple[Any, ...]) -> tuple[Any, ...]:
    a, b, c, d = P
    e, f, g, h = Q
    return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h


def _computed_oscillators(
    layer: LinOSSLayer,
    below: NeuronLevel,
    responses: ResponseSums,
    S: Array,
    numbers: tuple[float, Array],
) -> Logs | None:
    """log of bounds on |ŷ|, |ẑ| of a run step by step, (2, m); None where the dtype is too coarse.   thm-C-line (b)

    A step is off by at most η_z = 16u S (Z + dt (x̄ + A Y)), η_y = 4u (Y + dt Z'), S = 1 for imex, for states within
    (Y, Z); what becomes of that are sums of |M^j| η.
    """
    precision, (dt, A) = precision_of(layer), numbers
    if below.computed is None or layer.execution == "parallel":
        return None
    gamma = roundoff(layer.input_size, precision)
    drive = log_product(layer.B.detach().double().abs().numpy(), below.computed) + math.log1p(gamma)
    with np.errstate(over="ignore"):
        carried, exact, x = np.exp(responses.powers), np.exp(responses.sums[-1] + drive), np.exp(drive)
    if not (np.isfinite(carried).all() and np.isfinite(exact).all() and math.isfinite(gamma)):
        return None
    u, nu = precision.unit_roundoff, precision.underflow
    assumed = 2.0 * exact
    for _ in range(3):
        Y, Z = assumed
        size = S * (Z + dt * (x + A * Y)) if layer.scheme == "im" else Z + dt * (x + A * Y)
        noise_z = 16 * u * size + 64 * nu
        noise_y = 4 * u * (Y + dt * (size + noise_z)) + dt * noise_z + 64 * nu
        found = exact + np.einsum("ijm,jm->im", carried, np.stack((noise_y, noise_z)))
        if not (found <= np.maximum(assumed, 128 * nu)).all():
            return None
        assumed = found
    return np.asarray(outward(np.log(np.maximum(assumed, 2.0**-1000)), 64.0))


# --- IndRNN


@torch.no_grad()
def _independent(layer: IndRNNLayer, below: NeuronLevel, steps: int) -> DecoupledLayer:
    w = layer.w.double().numpy()
    V, is_relu = layer.V.double().numpy(), layer.activation == "relu"
    b = np.zeros(len(w)) if layer.b is None else layer.b.double().numpy()
    log_w = np.array([log_of(abs(each)) for each in w])
    response = log_powers_sum(log_w, steps)
    states = _log_states(layer, w, V, b, below, steps)
    computed = _computed_states(layer, w, V, b, below, steps)
    exact = float(states.max())
    final = None if computed is None else float(computed.max())
    count, largest = steps - 1, float(np.max(np.abs(w)))
    lines = [
        QuantityBound("|h_n|, n ≤ N", exact, "thm-C-line (d)", THESE_INPUTS),
        computed_line("|ĥ_n| as computed", exact, final, precision_of(layer), "thm-C-line (d)", THESE_INPUTS),
        QuantityBound("‖∂h_N/∂h_1‖₂", float(outward(count * float(log_w.max()), count)), "thm-C-line (e)"),
    ]
    if largest > 0:
        least = count * math.log(largest) - count * 2.0**-48
        lines.append(QuantityBound("the same, from below", least, "thm-C-line (e)", FREE_DRIVE, "≥"))
    direct = {"w": states, "V": np.full(len(w), float(below.logs.max()))}
    if layer.b is not None:
        direct["b"] = np.zeros(len(w))
    says = (PART,)
    return DecoupledLayer(NeuronLevel(states, computed, is_relu), response, tuple(lines), np.abs(V), direct, says)


def log_powers_sum(log_w: Logs, steps: int) -> Logs:
    """log Σ_{j<N} |w|^j of every neuron, rounded up."""
    size = np.abs(log_w)
    with np.errstate(divide="ignore", invalid="ignore"):
        falling = np.log(-np.expm1(-steps * size)) - np.log(-np.expm1(-size))
    total = np.where(log_w > 0, (steps - 1) * log_w + falling, falling)
    return np.asarray(outward(np.where(log_w == 0, math.log(steps), total), steps * size))


def _log_states(layer: IndRNNLayer, w: Array, V: Array, b: Array, below: NeuronLevel, steps: int) -> Logs:
    """relu: x̄⁺ Σ w^j, x̄ the largest drive, where w > 0, and x̄⁺ where not; tanh: |h_n| ≤ tanh(|w||h_{n−1}| + x̄)."""
    pushes = _log_pushes(layer, V, b, below.logs, below.is_positive)
    return _driven(layer, w, pushes, steps, widening=2.0**-45)


def _driven(layer: IndRNNLayer, w: Array, pushes: Logs, steps: int, *, widening: float) -> Logs:
    """The states for drives of at most that, every step larger by a factor 1 + widening."""
    if layer.activation == "relu":
        log_w = np.array([log_of(max(each, 0.0)) for each in w])
        return np.asarray(outward(pushes + log_powers_sum(log_w + math.log1p(widening), steps)))
    h, drive = np.zeros_like(w), np.exp(np.minimum(pushes, 700.0))
    for _ in range(steps):
        h = np.minimum(np.tanh(np.abs(w) * h + drive), 1.0) * (1 + widening)
    return np.asarray(outward(np.log(np.maximum(h, 2.0**-1000))))


def _log_pushes(layer: IndRNNLayer, V: Array, b: Array, logs: Logs, is_positive: bool) -> Logs:
    """log of the largest drive V y + b, of a relu from above alone, for outputs below of at most that."""
    is_relu = layer.activation == "relu"
    reads = log_product(np.maximum(V, 0.0) if is_relu and is_positive else V, logs)
    biases = np.maximum(b, 0.0) if is_relu else np.abs(b)
    pushes = np.logaddexp(reads, np.array([log_of(each) for each in biases]))
    lowered = np.exp(np.minimum(pushes, 700.0)) + np.minimum(b, 0.0)  # a negative bias of a relu
    is_lowered = is_relu & (b < 0) & (pushes < 700.0)
    return np.asarray(outward(np.where(is_lowered, np.log(np.maximum(lowered, 2.0**-1000)), pushes) + 2.0**-45))


def _computed_states(layer: IndRNNLayer, w: Array, V: Array, b: Array, below: NeuronLevel, steps: int) -> Logs | None:
    """The same for drives that are larger by γ (|V||û| + |b|) + 64ν and steps that are larger by a factor 1 + 16u."""
    precision = precision_of(layer)
    gamma = roundoff(layer.input_size, precision)
    if below.computed is None or not math.isfinite(gamma):
        return None
    moduli = np.logaddexp(log_product(V, below.computed), np.array([log_of(abs(each)) for each in b]))
    lost = math.log(64 * (layer.input_size + 1)) + max(math.log(precision.underflow), -700.0)
    pushes = np.logaddexp(_log_pushes(layer, V, b, below.computed, below.is_positive), log_of(gamma) + moduli)
    return _driven(layer, w, np.logaddexp(pushes, lost), steps, widening=16 * precision.unit_roundoff)
