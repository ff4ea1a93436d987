"""coRNN: y″ = tanh(W y + W_z y′ + V u + b) − γ y − ε y′.   thm-C-cornn; docs/derivations/certificates.md

    (y, z)_n = M (y, z)_{n−1} + k tanh(…),   M = [[1 − dt q γ, dt p], [−q γ, p]],   k = (dt q, q)
    |y_n|, |z_n| ≤ Σ_{j<n} |(M^j k)|     for every input, and no less will do
    ‖J‖ ≤ ‖M ⊗ I + ½ k ⊗ [W, W_z]‖ + ½ ‖k‖ ‖[W, W_z]‖     in every norm ‖L x‖ of the neurons' (y, z)

p = 1 − dt ε and q = dt; with implicit damping both are divided by 1 + dt ε, p from 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from odernn.bounds.network import greedy
from odernn.bounds.network.levels import (
    PART,
    LayerTheory,
    Level,
    before,
    euclidean_error,
    input_level,
    precision_of,
    report_of,
)
from odernn.bounds.network.question import Question
from odernn.bounds.network.report import LayerBounds, QuantityBound, computed_line
from odernn.bounds.network.response_sums import ResponseSums, response_sums
from odernn.bounds.network.states import outward
from odernn.bounds.network.sweeps import (
    NOTHING,
    Logs,
    StepConstants,
    geometric,
    log_norm,
    log_of,
)
from odernn.bounds.reconstruction import Precision
from odernn.fields import spectra

if TYPE_CHECKING:
    from odernn.cells.cornn import CoRNN, CoRNNLayer

Array = NDArray[np.float64]
SCALES = tuple(2.0 ** (k / 2) for k in range(-8, 9))
TILTS = (-0.9, -0.6, -0.3, 0.0, 0.3, 0.6, 0.9)
"""Norms that are tried: ‖(s y, z)‖ with an angle of that cosine between the axes."""


@dataclass(frozen=True, eq=False)
class CoupledStep:
    """M (2, 2) and k (2,) of a neuron as the layer computes them, and the moduli of what they are computed from."""

    M: Array
    kick: Array
    sizes: Array
    dt: float
    gamma: float
    epsilon: float
    is_implicit: bool

    @classmethod
    def of(cls, layer: CoRNNLayer) -> CoupledStep:
        """With dt, γ, ε rounded to the dtype of the weights, as the step has them."""
        dt, gamma, epsilon = (spectra.as_used(value, layer.W) for value in (layer.dt, layer.gamma, layer.epsilon))
        is_implicit = layer.damping == "implicit"
        p, q, damped = 1 - dt * epsilon, dt, 1 + dt * epsilon
        if is_implicit:
            divisor = spectra.as_used(1.0 + layer.dt * layer.epsilon, layer.W)
            p, q, damped = 1 / divisor, dt / divisor, 1 / divisor
        M = np.array([[1 - dt * q * gamma, dt * p], [-q * gamma, p]])
        sizes = np.array([[1 + dt * q * gamma, dt * damped], [q * gamma, damped]])
        return cls(M, np.array([dt * q, q]), sizes, dt, gamma, epsilon, is_implicit)


def layers_of(network: CoRNN, question: Question) -> tuple[LayerBounds, ...]:
    """States in the largest entry, Jacobians and gradients in a Euclidean norm of all neurons' (y, z)."""
    theories: list[LayerTheory] = []
    level = input_level(question, network.input_size)
    for layer in network.layers:
        theories.append(_theory(layer, level, question.steps))
        level = theories[-1].level
    return report_of(theories, euclidean_error(level, network.hidden_size, question.target_bound))


def responses_of(step: CoupledStep, steps: int) -> ResponseSums:
    """Of a neuron: ``sums``, (N, 2, 1), are log of sup |y_n|, sup |z_n| over weights and inputs.   thm-C-cornn (a)"""
    return response_sums(step.M[None], step.kick[None], steps, sizes=step.sizes[None], is_kept=True)


@torch.no_grad()
def _theory(layer: CoRNNLayer, level: Level, steps: int) -> LayerTheory:
    step, root_m = CoupledStep.of(layer), math.log(layer.hidden_size) / 2
    responses = responses_of(step, steps)
    states = responses.sums[:, :, 0]
    precision = precision_of(layer)
    computed = computed_state_logs(step, responses, precision)
    y_n, y_hat = states[:, 0], None if computed is None else np.full(steps, computed[0])
    above = Level(y_n, outward(y_n + root_m), y_hat, None if y_hat is None else outward(y_hat + root_m))
    L, rate = best_norm(layer, step)
    lines = []
    for index, quantity in enumerate(("|y_n|, n ≤ N", "|z_n|, n ≤ N")):
        lines.append(QuantityBound(quantity, float(states[-1, index]), "thm-C-cornn (a)"))
    for index, quantity in enumerate(("|ŷ_n| as computed", "|ẑ_n| as computed")):
        found = None if computed is None else float(computed[index])
        lines.append(computed_line(quantity, float(states[-1, index]), found, precision, "thm-C-cornn (b)"))
    condition = math.log(np.linalg.cond(L)) if steps > 1 else 0.0
    growth = float(outward((steps - 1) * rate + condition, 64, condition))
    lines.append(QuantityBound("‖∂X_N/∂X_1‖₂, X = (y, z)", growth, "thm-C-cornn (c)"))
    chosen, size = _chosen_step(layer, step, L), 2 * layer.hidden_size
    lines += greedy.line(chosen, size, steps - 1, rate, log_condition=condition)
    stability = layer.linear_stability()
    says = (f"no smaller bound on |y_n|, |z_n| holds for all weights and inputs. {stability}", PART)
    parameters = tuple(name for name, _ in layer.named_parameters())
    constants = _constants(layer, step, states, level, L, rate)
    return LayerTheory(tuple(lines), above, constants, parameters, says=says)


def computed_state_logs(step: CoupledStep, responses: ResponseSums, precision: Precision) -> Logs | None:
    """log of bounds on |ŷ_n|, |ẑ_n|, n ≤ N, of a run in the dtype, (2,); None where it is too coarse.   thm-C-cornn (b)

    A step is off by at most η_z = 16u((1 + dt ε)Z + dt(1 + γ Y)), η_y = 4u(Y + dt Z') with Z' = Z + η_z + …, for states
    within (Y, Z). If the sums of thm-C-cornn (a) and of |M^j| η stay within (Y, Z), so do the computed states.
    """
    u = precision.unit_roundoff
    with np.errstate(over="ignore"):
        carried, exact = np.exp(responses.powers[:, :, 0]), np.exp(responses.sums[-1, :, 0])
    if not (np.isfinite(carried).all() and np.isfinite(exact).all()):
        return None
    assumed = 2.0 * exact
    for _ in range(3):
        Y, Z = assumed
        force = step.dt * (1 + step.gamma * Y)
        noise_z = 16 * u * ((1 + step.dt * step.epsilon) * Z + force) + 64 * precision.underflow
        after = (1 + step.dt * step.epsilon) * Z + force + noise_z
        noise_y = 4 * u * (Y + step.dt * after) + step.dt * noise_z + 64 * precision.underflow
        found = exact + carried @ np.array([noise_y, noise_z])
        if not (found <= assumed).all():
            return None
        assumed = found
    return np.asarray(outward(np.log(assumed), 64.0))


def best_norm(layer: CoRNNLayer, step: CoupledStep) -> tuple[Array, float]:
    """L (2, 2) and log of the bound on ‖J‖ in ‖x‖ = ‖L (y, z)‖, the best of those tried.   thm-C-cornn (c)

    They are compared by norms of W and W_z alone; the bound itself is that of the whole matrices.
    """
    norms = spectra.spectral_norm(layer.W), spectra.spectral_norm(layer.W_z)

    def estimate(L: Array) -> float:
        back, kick = np.linalg.inv(L), np.linalg.norm(L @ step.kick)
        reach = np.array([norms[0] * abs(back[0, j]) + norms[1] * abs(back[1, j]) for j in (0, 1)])
        return float(np.linalg.norm(L @ step.M @ back, 2) + kick * np.linalg.norm(reach) / 2)

    tried = [np.array([[s, 0.0], [s * t, 1.0]]) @ np.eye(2) for s in SCALES for t in TILTS]
    chosen = sorted(tried, key=estimate)[:2]
    rates = [(step_rate(layer, step, L), L) for L in (*chosen, np.eye(2))]
    rate, L = min(rates, key=lambda pair: pair[0])
    return L, rate


def step_rate(layer: CoRNNLayer, step: CoupledStep, L: Array) -> float:
    """log of ‖M ⊗ I + ½ k ⊗ [W, W_z]‖ + ½ ‖k‖ ‖[W, W_z]‖ in the norm of L, rounded up.   thm-C-mid"""
    back, kick = np.linalg.inv(L), L @ step.kick
    M = L @ step.M @ back
    W, W_z = layer.W.detach().double(), layer.W_z.detach().double()
    seen = torch.cat([W * back[0, j] + W_z * back[1, j] for j in (0, 1)], dim=1)
    middle = torch.kron(torch.from_numpy(M), torch.eye(len(W), dtype=torch.float64))
    middle = middle + 0.5 * torch.kron(torch.from_numpy(kick)[:, None], seen)
    largest = float(np.abs(step.sizes).max() + np.abs(kick).max() * seen.abs().max())
    loss = 64 * len(W) * 2.0**-53 * float(np.linalg.cond(L)) * largest
    total = spectra.spectral_norm(middle) + 0.5 * float(np.linalg.norm(kick)) * spectra.spectral_norm(seen) + loss
    return log_of(spectra.upward(total))


def _chosen_step(layer: CoRNNLayer, step: CoupledStep, L: Array) -> greedy.Step:
    """A change of (y, z) after a step whose slopes make ‖L (y, z)_i‖ of every neuron largest."""
    W, W_z = layer.W.detach().double(), layer.W_z.detach().double()
    n, (a, b) = len(W), step.kick.tolist()
    (m, p), (q, r) = step.M.tolist()
    (l_1, l_2), (l_3, l_4) = L.tolist()

    def size(y: Any, z: Any) -> Any:
        return (l_1 * y + l_2 * z) ** 2 + (l_3 * y + l_4 * z) ** 2

    def moved(v: Tensor) -> Tensor:
        y, z = v[:n], v[n:]
        force = W @ y + W_z @ z
        free = m * y + p * z, q * y + r * z
        kicked = free[0] + a * force, free[1] + b * force
        is_larger = size(*kicked) > size(*free)
        return torch.cat([torch.where(is_larger, *pair) for pair in zip(kicked, free, strict=True)])

    return moved


def _constants(
    layer: CoRNNLayer, step: CoupledStep, states: Logs, level: Level, L: Array, rate: float
) -> StepConstants:
    """thm-C-cornn (d): every parameter enters by the kick, of norm ‖k‖ times what it multiplies."""
    kick = log_of(float(np.linalg.norm(L @ step.kick)) * (1 + 2.0**-40))
    readout = log_of(float(np.linalg.norm(np.linalg.inv(L)[0])) * (1 + 2.0**-40))
    earlier_y, earlier_z = (before(states[:, i], NOTHING) for i in (0, 1))
    direct = {"W": kick + earlier_y, "W_z": kick + earlier_z, "V": kick + level.entry}
    if layer.b is not None:
        direct["b"] = np.full(len(states), kick)
    return StepConstants(
        geometric(rate), np.array([kick + log_norm(layer.V)]), readout, {k: v[:, None] for k, v in direct.items()}
    )
