"""AntisymmetricRNN and Lipschitz RNN: explicit steps of y' = A y + tanh(W y + x).   thm-C-euler, thm-C-mid

    antisymmetric   h_n = h_{n−1} + dt tanh(A h_{n−1} + x_n),  A = S − γI      |h_n| ≤ n dt in every entry
                    ‖∂h_n/∂h_{n−1}‖ ≤ √((1 − dt γ/2)² + (dt s/2)²) + ½ dt √(γ² + s²),      s = ‖S‖₂
    Lipschitz RNN   ‖h_n‖ ≤ ‖I + dt A‖ ‖h_{n−1}‖ + dt √m,    ‖∂h_n/∂h_{n−1}‖ ≤ ‖I + dt (A + ½W)‖ + ½ dt ‖W‖

Proofs, and the midpoint rule: docs/derivations/certificates.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from odernn.bounds.network import greedy
from odernn.bounds.network.levels import (
    LayerTheory,
    Level,
    add_logs,
    before,
    euclidean_error,
    euclidean_theory,
    input_level,
    precision_of,
    report_of,
    roundoff,
)
from odernn.bounds.network.question import Question
from odernn.bounds.network.report import LayerBounds, QuantityBound, computed_line
from odernn.bounds.network.states import outward
from odernn.bounds.network.sweeps import NOTHING, Logs, linear_growth, log_norm, log_of
from odernn.cells.antisymmetric import AntisymmetricLayer
from odernn.fields import spectra
from odernn.orthogonal.cayley import skew

if TYPE_CHECKING:
    from odernn.cells.antisymmetric import AntisymmetricRNN
    from odernn.cells.lipschitz import LipschitzRNN, LipschitzRNNLayer

JACOBIAN = "‖∂h_N/∂h_1‖₂"


def layers_of(network: AntisymmetricRNN | LipschitzRNN, question: Question) -> tuple[LayerBounds, ...]:
    """States, Jacobians and gradients of every layer; derivatives in the Euclidean norm."""
    theories: list[LayerTheory] = []
    level = input_level(question, network.input_size)
    for layer in network.layers:
        of_kind = _antisymmetric if isinstance(layer, AntisymmetricLayer) else _lipschitz
        theories.append(of_kind(layer, level, question.steps))
        level = theories[-1].level
    return report_of(theories, euclidean_error(level, network.hidden_size, question.target_bound))


# --- AntisymmetricRNN


def skew_step_rate(dt: float, gamma: float, s: float, *, lowest_slope: float = 0.0) -> float:
    """log of ‖I + dt E A‖ for A = S − γI, ‖S‖ ≤ s, and every diagonal E in [lowest_slope, 1].   thm-C-euler (b)

    With m the middle and r the radius of the interval: √((1 − m dt γ)² + (m dt s)²) + r dt √(γ² + s²).
    """
    middle, radius = (1 + lowest_slope) / 2, (1 - lowest_slope) / 2
    return log_of(
        spectra.upward(math.hypot(1 - middle * dt * gamma, middle * dt * s) + radius * dt * math.hypot(gamma, s))
    )


def pushed(dt: float, steps: int) -> Logs:
    """log n dt, n = 1..N."""
    logs: Logs = outward(np.log(np.arange(1.0, steps + 1)) + math.log(dt), math.log(dt))
    return logs


def computed_pushes(dt: float, steps: int, unit_roundoff: float) -> Logs:
    """log of ĥ_n = (1 + 2u)(ĥ_{n−1} + dt (1 + 16u)): sums of pushes of at most dt, each rounded."""
    u = unit_roundoff
    return linear_growth(math.log1p(2 * u), np.full(steps, math.log(dt) + math.log1p(18 * u)))


@torch.no_grad()
def _antisymmetric(layer: AntisymmetricLayer, level: Level, steps: int) -> LayerTheory:
    dt, gamma = (spectra.as_used(value, layer.free) for value in (layer.dt, layer.gamma))
    S = skew(layer.free, layer.hidden_size)
    s, root_m = spectra.spectral_norm(S), math.log(layer.hidden_size) / 2
    lowest = -0.25 if layer.gated else 0.0
    rate = skew_step_rate(dt, gamma, s, lowest_slope=lowest)
    entry, computed = pushed(dt, steps), computed_pushes(dt, steps, precision_of(layer).unit_roundoff)
    above = Level(entry, outward(entry + root_m), computed, outward(computed + root_m))
    A = S.double() - gamma * torch.eye(len(S), dtype=torch.float64)
    lines = (
        QuantityBound("|h_n|, n ≤ N", float(entry[-1]), "thm-C-euler (a)"),
        computed_line(
            "|ĥ_n| as computed", float(entry[-1]), float(computed[-1]), precision_of(layer), "thm-C-euler (a)"
        ),
        QuantityBound(JACOBIAN, float(outward((steps - 1) * rate, steps)), "thm-C-euler (b)"),
        *greedy.line(lambda v: greedy.chosen(v, dt * (A @ v), lowest), len(S), steps - 1, rate),
    )
    log_dt, quarter = outward(math.log(dt)), math.log(0.25)
    direct = {"free": log_dt + math.log(2) / 2 + before(entry, NOTHING), "V": log_dt + level.entry}
    climb = log_dt + log_norm(layer.V)
    if layer.b is not None:
        direct["b"] = np.full(steps, log_dt)
    if layer.V_g is not None:
        direct["V_g"] = log_dt + quarter + level.entry
        climb = add_logs(climb, log_dt + quarter + log_norm(layer.V_g))
    if layer.b_g is not None:
        direct["b_g"] = np.full(steps, log_dt + quarter)
    return euclidean_theory(direct, lines, above, rate, climb, direct)


# --- Lipschitz RNN


@torch.no_grad()
def _lipschitz(layer: LipschitzRNNLayer, level: Level, steps: int) -> LayerTheory:
    dt, m, is_midpoint = spectra.as_used(layer.dt, layer.V), layer.hidden_size, layer.method == "midpoint"
    A, W = (matrix.double() for matrix in layer.matrices())
    rate, plain = lipschitz_rates(A, W, dt, is_midpoint=is_midpoint, mu=layer.field().constants().one_sided_lipschitz)
    half = 0.5 * dt if is_midpoint else 0.0
    push = dt * math.sqrt(m) * (1 + half * spectra.spectral_norm(A))
    norm = linear_growth(plain, np.full(steps, log_of(spectra.upward(push))))
    computed = _computed(A, dt, half, plain, push, steps, roundoff(2 * m + 8, precision_of(layer)))
    above = Level(norm, norm, computed, computed)
    final = None if computed is None else float(computed[-1])
    lines = (
        QuantityBound("‖h_n‖₂, n ≤ N", float(norm[-1]), "thm-C-euler (c)"),
        computed_line("‖ĥ_n‖₂ as computed", float(norm[-1]), final, precision_of(layer), "thm-C-euler (c)"),
        QuantityBound(JACOBIAN, float(outward((steps - 1) * rate, steps)), "thm-C-euler (d)"),
        *greedy.line(_chosen_step(A, W, dt, half), m, steps - 1, rate),
    )
    # of the slope at the middle: ‖Y‖ ≤ (1 + ½dt‖A‖)‖h‖ + ½dt√m, and of what moves Y: 1 + ½dt L
    lipschitz = spectra.spectral_norm(A) + spectra.spectral_norm(W)
    stage = log_of(half * math.sqrt(m))
    at = add_logs(log_of(1 + half * spectra.spectral_norm(A)) + before(norm, NOTHING), stage)
    chain = log_of(dt * (1 + half * lipschitz))
    shares = [log_of(max(1.0, 2 * (1 - spectra.as_used(beta, layer.V)))) for beta in (layer.beta_a, layer.beta_w)]
    direct = {"M_A": chain + shares[0] + at, "M_W": chain + shares[1] + at, "V": chain + level.entry}
    if layer.b is not None:
        direct["b"] = np.full(steps, chain)
    return euclidean_theory(direct, lines, above, rate, chain + log_norm(layer.V), direct)


def _chosen_step(A: Tensor, W: Tensor, dt: float, half: float) -> greedy.Step:
    """Of Euler with the slopes chosen; of the midpoint rule, where one drive has two to choose, with slopes of 0."""
    if not half:
        return lambda v: greedy.chosen(v + dt * (A @ v), dt * (W @ v))
    return lambda v: v + dt * (A @ (v + half * (A @ v)))


def lipschitz_rates(A: Tensor, W: Tensor, dt: float, *, is_midpoint: bool, mu: float) -> tuple[float, float]:
    """log of bounds on ‖∂h_n/∂h_{n−1}‖ and on the step's linear part.   thm-C-euler (c), (d)

    Euler: also √(1 + 2 dt μ + dt² L²), μ the one-sided Lipschitz constant, L = ‖A + ½W‖ + ½‖W‖.
    """
    identity = torch.eye(len(A), dtype=torch.float64)
    middle, w = A + 0.5 * W, spectra.spectral_norm(W)
    size = spectra.spectral_norm(middle)
    loss = 8.0 * math.sqrt(len(A)) ** 3 * 2.0**-53 * (1 + dt * (spectra.spectral_norm(A) + w)) ** 2

    def stepped(matrix: Any) -> float:
        step = identity + dt * matrix
        return loss + spectra.spectral_norm(step + 0.5 * dt * dt * (matrix @ matrix) if is_midpoint else step)

    rest = 0.5 * dt * w + (0.5 * dt * dt * (size * w + 0.25 * w * w) if is_midpoint else 0.0)
    found = stepped(middle) + rest
    if not is_midpoint:
        square = 1 + 2 * dt * mu + (dt * (size + 0.5 * w)) ** 2
        found = min(found, math.sqrt(max(square, 0.0)) + 2.0**-40)
    return log_of(spectra.upward(found)), log_of(spectra.upward(stepped(A)))


def _computed(A: Tensor, dt: float, half: float, plain: float, push: float, steps: int, gamma: float) -> Logs | None:
    """‖ĥ_n‖ ≤ (‖linear part‖ + γ(1 + dt a(1 + ½dt a)))‖ĥ_{n−1}‖ + push + γ dt √m (1 + ½dt a), a = ‖|A|‖₂."""
    if not math.isfinite(gamma):
        return None
    a = spectra.spectral_norm(A.abs())
    factor = add_logs(plain, log_of(gamma * (1 + dt * a * (1 + half * a))))
    pushes = log_of(spectra.upward(push + gamma * dt * math.sqrt(len(A)) * (1 + half * a) + 2.0**-100))
    return linear_growth(float(factor), np.full(steps, pushes))
