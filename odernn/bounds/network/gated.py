"""States that are bounded by their form: LEM, ClockworkRNN, and torch's LSTM, GRU and RNN.   thm-C-gated

    LEM           dt ≤ 1: |z_n|, |y_n| ≤ 1 − (1 − dt)^n        Jacobians in the maximum norm, block by block
    ClockworkRNN  |h_n| ≤ 1                                    ‖J_n‖ ≤ ‖P_held + ½ P_acting W‖ + ½ ‖P_acting W‖
    RNN           |h_n| ≤ 1 (tanh)                             ‖J‖ ≤ ‖W_hh‖
    LSTM, GRU     |h_n| ≤ 1, |c_n| ≤ n                         of their Jacobians nothing is known here

Proofs: docs/derivations/certificates.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from odernn.bounds.network.euler import pushed
from odernn.bounds.network.levels import (
    LayerTheory,
    Level,
    add_logs,
    before,
    computed_drive,
    driven,
    euclidean_error,
    euclidean_theory,
    input_level,
    precision_of,
    report_of,
    roundoff,
    underflows,
)
from odernn.bounds.network.question import Question
from odernn.bounds.network.report import THESE_INPUTS, LayerBounds, QuantityBound, computed_line, unknown
from odernn.bounds.network.states import outward
from odernn.bounds.network.sweeps import NOTHING, Logs, StepConstants, Sweep, geometric, linear_growth, log_norm, log_of
from odernn.bounds.reconstruction import Precision
from odernn.cells.clockwork import ClockworkLayer, ClockworkRNN
from odernn.cells.lem import LEM
from odernn.fields import spectra

if TYPE_CHECKING:
    from odernn.cells.lem import LEMLayer

STATES = "thm-C-gated (a)"
NO_JACOBIAN = "no theorem here bounds what its gates do to a change"
LARGEST_STATE, TOO_LARGE = 300.0, "its states may exceed every number of use: take dt ≤ 1"
"""log of the states of LEM beyond which Jacobians are not bounded."""


def layers_of(network: nn.Module, question: Question) -> tuple[LayerBounds, ...]:
    """States of every layer in the largest entry; Jacobians and gradients of LEM, ClockworkRNN and RNN."""
    if isinstance(network, LEM):
        return _lem(network, question)
    theories: list[LayerTheory] = []
    level = input_level(question, network.input_size)  # type: ignore[arg-type]
    layers = network.layers if isinstance(network, ClockworkRNN) else range(network.num_layers)  # type: ignore[arg-type]
    for layer in layers:
        if isinstance(layer, ClockworkLayer):
            theories.append(_clockwork(layer, level, question.steps, int(network.start)))  # type: ignore[arg-type]
        else:
            theories.append(_of_torch(network, layer, level, question.steps))  # type: ignore[arg-type]
        level = theories[-1].level
    size = int(network.hidden_size)  # type: ignore[arg-type]
    return report_of(theories, euclidean_error(level, size, question.target_bound))


def within(bound: float, size: int, steps: int, unit_roundoff: float) -> Level:
    """log of a bound on all entries, and what a few rounded operations make of it."""
    entry = np.full(steps, math.log(bound))
    computed = entry + math.log1p(64 * unit_roundoff)
    root = math.log(size) / 2
    return Level(entry, outward(entry + root), computed, outward(computed + root))


# --- ClockworkRNN


@torch.no_grad()
def _clockwork(layer: ClockworkLayer, level: Level, steps: int, start: int) -> LayerTheory:
    precision = precision_of(layer)
    above = within(1.0, layer.hidden_size, steps, precision.unit_roundoff)
    assert above.computed_entry is not None
    rates = clock_rates(layer, steps, start)
    lines = (
        QuantityBound("|h_n|, n ≤ N", 0.0, STATES),
        computed_line("|ĥ_n| as computed", 0.0, float(above.computed_entry[-1]), precision, STATES),
        QuantityBound("‖∂h_N/∂h_1‖₂", float(outward(rates[1:].sum(), steps, np.abs(rates).sum())), "thm-C-gated (b)"),
    )
    direct: dict[str, Logs] = {f"W_{i}": before(above.entry, NOTHING) for i in range(1, len(layer.groups) + 1)}
    direct["V"] = level.entry
    if layer.b is not None:
        direct["b"] = np.zeros(steps)
    return euclidean_theory(direct, lines, above, rates, log_norm(layer.V), direct)


def clock_rates(layer: ClockworkLayer, steps: int, start: int) -> Logs:
    """log of ‖P_held + ½ P_acting W‖ + ½ ‖P_acting W‖ for every step n = 1..N, at the time start + n − 1."""
    W, known = layer.recurrent_matrix().detach().double(), {}
    rates = np.empty(steps)
    for n in range(steps):
        acting = tuple((start + n) % period == 0 for period in layer.periods)
        if acting not in known:
            rows = torch.cat([torch.full((size,), float(acts)) for acts, size in zip(acting, layer.sizes, strict=True)])
            moved = rows.double()[:, None] * W
            middle = torch.diag(1.0 - rows.double()) + 0.5 * moved
            known[acting] = log_of(spectra.upward(spectra.spectral_norm(middle) + 0.5 * spectra.spectral_norm(moved)))
        rates[n] = known[acting]
    return rates


# --- torch's own


@torch.no_grad()
def _of_torch(network: nn.RNNBase, number: int, level: Level, steps: int) -> LayerTheory:
    """Layer ``number`` from 0 of LSTM, GRU or RNN; with a projection or relu as far as a theorem goes."""
    names = tuple(name for name, _ in network.named_parameters() if name.endswith(f"_l{number}"))
    precision = precision_of(network)
    u = precision.unit_roundoff
    if network.mode in ("RNN_TANH", "RNN_RELU"):
        return _plain(network, number, names, level, steps)
    if network.proj_size:
        none = Level(level.entry, level.norm, None, None)
        return LayerTheory((unknown("|h_n|, n ≤ N", "it is projected"),), none, None, names, NO_JACOBIAN)
    above = within(1.0, network.hidden_size, steps, steps * u if network.mode == "GRU" else u)
    assert above.computed_entry is not None
    lines = [
        QuantityBound("|h_n|, n ≤ N", 0.0, STATES),
        computed_line("|ĥ_n| as computed", 0.0, float(above.computed_entry[-1]), precision, STATES),
    ]
    if network.mode == "LSTM":
        lines.append(QuantityBound("|c_n|, n ≤ N", float(pushed(1.0, steps)[-1]), STATES))
        lines.append(unknown("|ĉ_n| as computed", "the rounding of gates and sums is not followed here"))
    lines.append(unknown("‖∂X_N/∂X_1‖₂", NO_JACOBIAN))
    return LayerTheory(tuple(lines), above, None, names, NO_JACOBIAN)


def _plain(network: nn.RNNBase, number: int, names: tuple[str, ...], level: Level, steps: int) -> LayerTheory:
    """h_n = σ(W_hh h_{n−1} + W_ih u_n + b_ih + b_hh): ‖J‖ ≤ ‖W_hh‖, as slopes are in [0, 1]."""
    weights: dict[str, Tensor] = {name: getattr(network, name).detach() for name in names}
    W, V = weights[f"weight_hh_l{number}"], weights[f"weight_ih_l{number}"]
    biases = [value.double() for name, value in weights.items() if name.startswith("bias")]
    precision, rate = precision_of(network), log_norm(W)
    if network.mode == "RNN_TANH":
        above = within(1.0, len(W), steps, precision.unit_roundoff)
        assert above.computed_entry is not None
        quantity, exact, computed = "|h_n|, n ≤ N", 0.0, float(above.computed_entry[-1])
        states = [
            QuantityBound(quantity, exact, STATES),
            computed_line("|ĥ_n| as computed", exact, computed, precision, STATES),
        ]
    else:
        lifted = log_of(sum((float(b.norm()) for b in biases), 0.0) * (1 + 2.0**-40))
        norm = linear_growth(rate, add_logs(driven(V, level), lifted))
        rounded = _computed_relu(W, V, level, lifted, steps, precision)
        above = Level(norm, norm, rounded, rounded)
        final = None if rounded is None else float(rounded[-1])
        states = [
            QuantityBound("‖h_n‖₂, n ≤ N", float(norm[-1]), "thm-C-gated (c)", THESE_INPUTS),
            computed_line("‖ĥ_n‖₂ as computed", float(norm[-1]), final, precision, "thm-C-gated (c)", THESE_INPUTS),
        ]
    jacobian = QuantityBound("‖∂h_N/∂h_1‖₂", float(outward((steps - 1) * rate, steps)), "thm-C-gated (c)")
    multiplied = {"weight_hh": before(above.entry, NOTHING), "weight_ih": level.entry}
    direct = {name: multiplied.get(name.removesuffix(f"_l{number}"), np.zeros(steps)) for name in names}
    return euclidean_theory(names, (*states, jacobian), above, rate, log_norm(V), direct)


def _computed_relu(W: Tensor, V: Tensor, level: Level, lifted: float, steps: int, precision: Any) -> Logs | None:
    gamma, drive = roundoff(len(W) + 4, precision), computed_drive(V, level, precision)
    if drive is None or not math.isfinite(gamma):
        return None
    factor = add_logs(log_norm(W), log_of(gamma) + log_norm(W.abs()))
    push = add_logs(math.log1p(gamma) + add_logs(drive, lifted), underflows(len(W) + 8, len(W), precision))
    return linear_growth(float(factor), push)


# --- LEM


@torch.no_grad()
def _lem(network: LEM, question: Question) -> tuple[LayerBounds, ...]:
    theories: list[LayerTheory] = []
    level = input_level(question, network.input_size)
    for layer in network.layers:
        theories.append(_two_states(layer, level, question.steps))
        level = theories[-1].level
    log_error = add_logs(level.entry, log_of(question.target_bound)) + math.log(network.hidden_size)
    return report_of(theories, np.asarray(outward(log_error)))  # the sum of the entries, dual to the largest


def lem_states(dt: float, steps: int) -> Logs:
    """log of |z_n| and |y_n|: c_n = (1 − dt) c_{n−1} + dt, for dt > 1 the largest over D.   thm-C-gated (d)"""
    if dt <= 1:
        n = np.arange(1.0, steps + 1)
        with np.errstate(divide="ignore"):
            return np.asarray(outward(np.log(-np.expm1(n * np.log1p(-dt)))))
    pushes = np.full((steps, 1), math.log(dt))
    grown = geometric(math.log(dt - 1))(pushes, np.array([NOTHING]))[:, 0]
    return np.maximum(np.maximum.accumulate(grown), 0.0)


def _two_states(layer: LEMLayer, level: Level, steps: int) -> LayerTheory:
    dt, n = spectra.as_used(layer.dt, layer.W), layer.hidden_size
    states, u = lem_states(dt, steps), precision_of(layer).unit_roundoff
    computed = states + math.log1p(64 * u) + np.arange(1, steps + 1) * math.log1p(16 * u)
    root = math.log(n) / 2
    above = Level(states, outward(states + root), computed, outward(computed + root))
    if states[-1] > LARGEST_STATE:
        quantity = "‖∂X_N/∂X_1‖_∞, X = (y, z)"
        known = _state_lines(states, computed, precision_of(layer))
        parameters = tuple(name for name, _ in layer.named_parameters())
        return LayerTheory((*known, unknown(quantity, TOO_LARGE)), above, None, parameters, TOO_LARGE)
    c = math.exp(states[-1])
    w_1, w_2, w_z = (largest_row(block) for block in layer.W.double().chunk(3))
    norms = (w_1, w_2, w_z, largest_row(layer.W_y.double()))
    v_1, v_2, v_z, v_y = (largest_row(block) for block in layer.V.double().chunk(4))
    gate = 0.25 * dt * (1 + c) * (1 + 2.0**-40)
    climb_z = gate * v_1 + dt * v_z
    climb = np.array([log_of(gate * v_2 + dt * v_y), log_of(climb_z)])  # F_n lets what enters z go on to y
    log_gate, log_dt = log_of(gate), outward(math.log(dt))
    either, earlier, nothing = max(log_gate, log_dt), before(states, NOTHING), np.full(steps, NOTHING)
    direct = {
        "W": np.stack((log_gate + earlier, either + earlier), axis=1),
        "W_y": np.stack((log_dt + states, nothing), axis=1),
        "V": np.stack((either + level.entry, either + level.entry), axis=1),
    }
    if layer.b is not None:
        direct["b"] = np.full((steps, 2), either)
    sweep = two_block_sweep(dt, c, norms)
    alone = np.full((steps, 2), NOTHING)
    grown = float(np.max(sweep(alone[1:], np.zeros(2))[-1])) if steps > 1 else 0.0
    jacobian = QuantityBound("‖∂X_N/∂X_1‖_∞, X = (y, z)", grown, "thm-C-gated (e)")
    lines = (*_state_lines(states, computed, precision_of(layer)), jacobian)
    parameters = tuple(name for name, _ in layer.named_parameters())
    constants = StepConstants(sweep, climb, 0.0, {name: outward(logs) for name, logs in direct.items()})
    says = ("two states within these bounds part by no more than the bound on the Jacobian allows.",)
    return LayerTheory(lines, above, constants, parameters, says=says)


def _state_lines(states: Logs, computed: Logs, precision: Precision) -> tuple[QuantityBound, ...]:
    exact, found = float(states[-1]), float(computed[-1])
    return (
        QuantityBound("|y_n|, |z_n|, n ≤ N", exact, "thm-C-gated (d)"),
        computed_line("|ŷ_n|, |ẑ_n| as computed", exact, found, precision, "thm-C-gated (d)"),
    )


def largest_row(matrix: Tensor) -> float:
    """‖matrix‖_∞, rounded up."""
    return float(matrix.abs().sum(dim=1).max()) * (1 + matrix.shape[1] * 2.0**-52)


def two_block_sweep(dt: float, c: float, norms: tuple[float, float, float, float]) -> Sweep:
    """F_n(e, g) of thm-C-path: e_z ← Z(e_y, e_z) + g_z, then e_y ← Y(e_y, the new e_z) + g_y.

    Z = max_D [|1 − D| e_z + (D (1 − D/dt)(1 + c) w_1 + D w_z) e_y], and Y alike with w_2 and, of e_z, w_y.

    thm-C-gated (e): D in [0, dt] the step that a gate chooses, w_· the largest row sums of W_1, W_2, W_z, W_y.
    """
    w_1, w_2, w_z, w_y = norms
    pieces = ((0.0, min(dt, 1.0), -1.0), (1.0, dt, 1.0)) if dt > 1 else ((0.0, dt, -1.0),)

    def largest(held: float, gate: float, gain: float) -> float:
        """max over D of |1 − D| held + D (1 − D/dt) gate + D gain, concave on each side of 1."""
        best = 0.0
        for low, high, sign in pieces:
            slope = sign * held + gate + gain  # at D = 0; the second derivative is −2 gate/dt
            top = 0.5 * dt * slope / gate if gate > 0 else math.copysign(math.inf, slope)
            D = min(max(top, low), high)
            best = max(best, sign * (D - 1) * held + D * (1 - D / dt) * gate + D * gain)
        return best

    def sweep(source: Logs, start: Logs) -> Logs:
        scale = float(start.max())
        e_y, e_z = (math.exp(each - scale) for each in start)
        rows = np.empty_like(source)
        for n, (g_y, g_z) in enumerate(source.tolist()):
            top = max(g_y, g_z)
            if top - scale > 600.0:
                e_y, e_z, scale = e_y * math.exp(scale - top), e_z * math.exp(scale - top), top
            e_z = largest(e_z, (1 + c) * w_1 * e_y, w_z * e_y) + math.exp(g_z - scale)
            e_y = largest(e_y, (1 + c) * w_2 * e_y, w_y * e_z) + math.exp(g_y - scale)
            rows[n] = math.log(max(e_y, 2.0**-1000)) + scale, math.log(max(e_z, 2.0**-1000)) + scale
            if max(e_y, e_z) > 2.0**400:
                e_y, e_z, scale = e_y * 2.0**-400, e_z * 2.0**-400, scale + 400 * math.log(2)
        return np.asarray(outward(rows, 8.0 * len(rows), rows))

    return sweep
