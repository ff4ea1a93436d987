"""scoRNN, expRNN, uRNN: h_n = modReLU(W h_{n−1} + V u_n; b).   thm-C-orth, thm-H-grad, thm-Lip; certificates.md

    ‖h_n‖ ≤ ‖W‖ ‖h_{n−1}‖ + ‖V u_n‖ + ‖max(b, 0)‖,      ‖∂h_N/∂h_1‖ ≤ ‖W‖^{N−1}    (complex h: where b ≤ 0)

W = C(A) D, exp(A) and the product of uRNN's factors are orthogonal whatever the parameters are: ‖W‖ = 1. A computed W
has the defect ‖WᵀW − I‖ that is measured here in more digits; so has the W that a uRNN of full capacity stores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from odernn.bounds.network import lipschitz
from odernn.bounds.network.levels import (
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
from odernn.bounds.network.report import (
    THESE_INPUTS,
    LayerBounds,
    QuantityBound,
    computed_line,
    power_of,
    unknown,
)
from odernn.bounds.network.states import outward
from odernn.bounds.network.sweeps import NOTHING, Logs, StepConstants, geometric, linear_growth, log_norm, log_of
from odernn.cells.common.orthogonal_layers import OrthogonalLayer
from odernn.cells.scornn import ScoRNNLayer
from odernn.cells.urnn import FullURNNLayer, RestrictedURNNLayer
from odernn.fields import spectra
from odernn.orthogonal.unitary import real_form, unitarity_score

if TYPE_CHECKING:
    from odernn.cells.common.orthogonal_layers import OrthogonalNetwork
    from odernn.cells.urnn import URNN

STATES = "thm-C-orth (a)"
COMPUTED = "thm-C-orth (b)"
JACOBIAN = "thm-H-grad"
STRETCHED = "complex modReLU with b > 0 stretches by 1 + b/|z|: no bound near z = 0"
BY_FACTORS = 'no theorem here on the rounding of its factors; product="matrix" has one'


@dataclass(frozen=True, eq=False)
class OrthogonalMap:
    """W of one layer, as real matrices, and what its parameters do to it.

    matrix      the computed W
    log_size    log ‖W‖₂ of the exact one, 0 where it is orthogonal by construction
    least       σ_min of the exact one
    log_defect  log of ‖W‖₂ of the computed one
    turns       of each parameter of W: log of the largest ‖∂W/∂θ‖₂
    is_formed   whether a run multiplies by this matrix
    """

    matrix: Tensor
    log_size: float
    least: float
    log_defect: float
    turns: dict[str, float]
    is_formed: bool
    says: str


def layers_of(network: OrthogonalNetwork | URNN, question: Question) -> tuple[LayerBounds, ...]:
    """States, Jacobians and gradients of every layer, in the Euclidean norm of all units."""
    theories: list[LayerTheory] = []
    for layer, theory, reach in _stack(network, question):
        theories.append(_with_inputs(theory, layer, reach, len(theories) + 1, question))
    level = theories[-1].level
    return report_of(theories, euclidean_error(level, network.output_size, question.target_bound))


def reach_of(network: OrthogonalNetwork | URNN, question: Question) -> lipschitz.Reach | None:
    """What a change of the inputs becomes in the last layer; None where some b_i > 0.   thm-Lip (c), (d)"""
    return [reach for _, _, reach in _stack(network, question)][-1]


def _stack(
    network: OrthogonalNetwork | URNN, question: Question
) -> Iterator[tuple[Any, LayerTheory, lipschitz.Reach | None]]:
    """Every layer, what is proved of it, and its reach."""
    level = input_level(question, network.input_size)
    reach: lipschitz.Reach | None = lipschitz.Reach.of_inputs(question.steps)
    for layer in network.layers:
        W = map_of(layer)
        theory = _theory(layer, W, level, question.steps)
        reach = None if reach is None or not _is_lipschitz(layer) else _reach(layer, W, level, theory.level, reach)
        yield layer, theory, reach
        level = theory.level


@torch.no_grad()
def map_of(layer: Any) -> OrthogonalMap:
    """W of a layer with the weights as they are."""
    given = layer.recurrent_matrix()
    W = real_form(given)
    norm = spectra.spectral_norm(W)  # refuses one that is not finite, of parameters that are
    defect = score_bound(given)
    size = min(norm, math.sqrt(1 + defect) * (1 + 2.0**-50))
    exact = f"W is {'orthogonal' if isinstance(layer, OrthogonalLayer) else 'unitary'} for all parameters"
    says = f"{exact}; as computed ‖W*W − I‖_F ≤ {defect:.2g}."
    if isinstance(layer, FullURNNLayer):
        least = math.sqrt(max(1 - defect, 0.0)) * (1 - 2.0**-50)
        says = f"W is stored, with ‖W*W − I‖_F ≤ {defect:.2g}, and only MultiplicativeCayley keeps it near that."
        return OrthogonalMap(W, log_of(size), least, log_of(size), {"W": 0.0}, True, says)
    if isinstance(layer, RestrictedURNNLayer):
        shortest = float(layer.reflectors.double().square().sum(dim=(1, 2)).sqrt().min()) * (1 - 2.0**-40)
        turns = {"angles": 0.0, "reflectors": log_of(2 / shortest)}
        return OrthogonalMap(W, 0.0, 1.0, log_of(size), turns, layer.way == "matrix", says)
    turn = math.log(2) if isinstance(layer, ScoRNNLayer) else 0.0
    return OrthogonalMap(W, 0.0, 1.0, log_of(size), {"free": turn}, True, says)


def score_bound(W: Tensor) -> float:
    """An upper bound on ‖W*W − I‖_F of a computed W.

    ``unitarity_score`` plus its own error: for a W of single precision that of a float64 product, for one of double
    precision n^{3/2} 2⁻⁷⁰; and the rounding of the norm.
    """
    n = len(W) * (2 if W.is_complex() else 1)
    largest = max(1.0, float(W.abs().max())) ** 2
    own = n**1.5 * 2.0**-69 if W.dtype in (torch.float64, torch.complex128) else n * n * 2.0**-51
    return unitarity_score(W) * (1 + n * n * 2.0**-50) + own * largest


def _biases(layer: Any) -> Tensor | None:
    found = layer.biases()
    return None if found is None else found.detach().double()


def _is_lipschitz(layer: Any) -> bool:
    """All b_i ≤ 0: modReLU moves no two numbers apart."""
    biases = _biases(layer)
    return biases is None or float(biases.max()) <= 0.0


def _theory(layer: Any, W: OrthogonalMap, level: Level, steps: int) -> LayerTheory:
    is_real = isinstance(layer, OrthogonalLayer)
    biases, is_lipschitz = _biases(layer), _is_lipschitz(layer)
    lifted = 0.0 if biases is None else float(biases.clamp(min=0.0).norm()) * (1 + 2.0**-40)
    keeps_all = biases is None or float(biases.min()) >= 0.0
    start = NOTHING if layer.h0 is None else log_of(float(layer.h0.detach().double().norm()) * (1 + 2.0**-40))
    V = layer.like
    norm = linear_growth(W.log_size, np.logaddexp(driven(V, level), log_of(lifted)), start)
    computed = _computed(layer, W, V, level, lifted, start, steps) if W.is_formed else None
    above = Level(norm, norm, computed, computed)
    largest = float(norm.max())  # not the last one, where ‖W‖ < 1 and the start is large
    lines = [QuantityBound("‖h_n‖₂, n ≤ N", largest, STATES, THESE_INPUTS)]
    if W.is_formed:
        final = None if computed is None else float(computed.max())
        lines.append(computed_line("‖ĥ_n‖₂ as computed", largest, final, precision_of(layer), COMPUTED, THESE_INPUTS))
    else:
        lines.append(unknown("‖ĥ_n‖₂ as computed", BY_FACTORS))
    has_rate = is_real or is_lipschitz
    lines += _jacobian_lines(W, steps, has_rate=has_rate, is_lipschitz=is_lipschitz, keeps_all=keeps_all)
    constants = _constants(layer, W, V, level, before(norm, start)) if has_rate else None
    says = [W.says]
    if not keeps_all:
        says.append("units with b < 0 can fall silent: nothing bounds ‖∂h_N/∂h_1‖ from below, it can be 0.")
    parameters = tuple(name for name, _ in layer.named_parameters())
    return LayerTheory(tuple(lines), above, constants, parameters, STRETCHED, tuple(says))


def _reach(layer: Any, W: OrthogonalMap, below: Level, own: Level, reach: lipschitz.Reach) -> lipschitz.Reach:
    """thm-Lip (c), and (d) where a run multiplies by this W."""
    rounding = _rounding(layer, W, below, own.computed_norm) if W.is_formed else None
    return reach.above(W.log_size, W.log_defect, log_norm(layer.like), rounding)


def _rounding(layer: Any, W: OrthogonalMap, below: Level, states: Logs | None) -> Logs | None:
    """thm-Lip (d): log ρ_n, what a step rounds off at states of these norms; None where they may overflow."""
    precision, V = precision_of(layer), layer.like
    drive = computed_drive(V, below, precision)
    if states is None or drive is None or below.computed_norm is None or states.max() >= precision.log_largest:
        return None
    size, width = len(W.matrix), V.shape[1]
    start = NOTHING if layer.h0 is None else log_of(float(layer.h0.detach().double().norm()) * (1 + 2.0**-40))
    earlier = before(states, start)
    moduli = np.logaddexp(log_norm(W.matrix.abs()) + earlier, drive) + log_of(roundoff(size + 1, precision))
    driven_by = log_of(roundoff(width, precision)) + log_norm(V.abs()) + below.computed_norm
    reached = np.logaddexp(np.logaddexp(W.log_defect + earlier, drive), moduli)
    activation = log_of(32 * precision.unit_roundoff) + reached
    parts = (moduli, driven_by, activation, underflows(size + width + 16, size, precision))
    return np.asarray(add_logs(*parts))


def _with_inputs(
    theory: LayerTheory, layer: Any, reach: lipschitz.Reach | None, number: int, question: Question
) -> LayerTheory:
    """The theory with the lines about two runs on different inputs, of this layer and those below, and in words."""
    if reach is None:
        why = "states jump by 2b at z_i = 0 where b_i > 0, here or in a layer below"
        return replace(theory, lines=(*theory.lines, unknown(lipschitz.OVER_ALL, why)))
    found = tuple(lipschitz.lines(reach, "thm-Lip (b)" if number == 1 else "thm-Lip (c)"))
    kept = "b = −|v| for all parameters" if layer.nonexpansive else "b ≤ 0 here; nonexpansive=True keeps it so"
    says = (
        f"two runs end no further apart than {power_of(found[0].log)} ‖u − u'‖₂, u all {question.steps} inputs, and "
        f"{power_of(found[1].log)} times the largest change of one ({kept})."
    )
    return replace(theory, lines=(*theory.lines, *found), says=(*theory.says, says))


def _jacobian_lines(
    W: OrthogonalMap, steps: int, *, has_rate: bool, is_lipschitz: bool, keeps_all: bool
) -> list[QuantityBound]:
    """Of N − 1 steps: derivatives, those that a run multiplies, the distance of two states."""
    exact, computed, distance = "‖∂h_N/∂h_1‖₂", "‖∂ĥ_N/∂ĥ_1‖₂, computed W", "‖h_N − h'_N‖ / ‖h_1 − h'_1‖"
    count = steps - 1
    if not has_rate:
        return [unknown(exact, STRETCHED), unknown(distance, STRETCHED)]
    grown = float(outward(count * W.log_size, count))
    lines = [QuantityBound(exact, grown, JACOBIAN)]
    if keeps_all and W.least > 0:
        least = -float(outward(-count * math.log(W.least), count))
        lines.append(QuantityBound("the same, from below", least, JACOBIAN, "where no z_i is 0", "≥"))
    of_run = QuantityBound(computed, float(outward(count * W.log_defect, count)), JACOBIAN)
    lines.append(of_run if W.is_formed else unknown(computed, BY_FACTORS))
    if is_lipschitz:
        lines.append(QuantityBound(distance, grown, "thm-C-orth (c)"))
    else:
        lines.append(unknown(distance, "states jump by 2b at z_i = 0 where b_i > 0"))
    return lines


def _constants(layer: Any, W: OrthogonalMap, V: Tensor, level: Level, earlier: Logs) -> StepConstants:
    """thm-C-orth (d): V moves h_n by |u_j|, b by 1, a parameter of W by ‖∂W/∂θ‖ ‖h_{n−1}‖ at most."""
    direct = {parameter: (turn + earlier)[:, None] for parameter, turn in W.turns.items()}
    direct[layer.like_name] = level.entry[:, None]
    if layer.has_bias:
        direct["free_b" if layer.nonexpansive else "b"] = np.zeros((len(earlier), 1))
    begins = {} if layer.h0 is None else {"h0": np.zeros(1)}
    return StepConstants(geometric(W.log_size), np.array([log_norm(V)]), 0.0, direct, begins)


def _computed(
    layer: Any, W: OrthogonalMap, V: Tensor, level: Level, lifted: float, start: float, steps: int
) -> Logs | None:
    """thm-C-orth (b): ‖ĥ_n‖ ≤ (1 + κ)((‖Ŵ‖ + γ‖|Ŵ|‖)‖ĥ_{n−1}‖ + (1 + γ)‖x̂_n‖ + ‖max(b, 0)‖) + what underflows."""
    precision = precision_of(layer)
    size = len(W.matrix)
    gamma = roundoff(size + 1, precision)
    drive = computed_drive(V, level, precision)
    if drive is None or not math.isfinite(gamma):
        return None
    kappa = math.log1p(32 * precision.unit_roundoff)
    factor = np.logaddexp(W.log_defect, log_of(gamma) + log_norm(W.matrix.abs())) + kappa
    push = np.logaddexp(math.log1p(gamma) + drive, log_of(lifted)) + kappa
    push = np.logaddexp(push, underflows(size + 8, size, precision))
    return linear_growth(float(outward(factor)), outward(push), start)
