"""What one layer hands to the next, and the report of a stack of such layers."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from odernn.bounds.network.question import Question
from odernn.bounds.network.report import THESE_INPUTS, LayerBounds, QuantityBound, unknown
from odernn.bounds.network.states import outward
from odernn.bounds.network.sweeps import Logs, StepConstants, geometric, log_gradients, log_norm, log_of
from odernn.bounds.reconstruction import PRECISIONS, Precision
from odernn.fields import spectra

if TYPE_CHECKING:
    from torch import Tensor, nn

PATHS = "thm-C-path"
PART = "two states part by no more than the bound on the Jacobian allows."


@dataclass(frozen=True, eq=False)
class Level:
    """log of bounds on the outputs of one level after step n, (N,): the largest entry and the Euclidean norm.

    The same of what a run in the dtype computes; None where the dtype is too coarse, or no theorem says.
    """

    entry: Logs
    norm: Logs
    computed_entry: Logs | None
    computed_norm: Logs | None


@dataclass(frozen=True, eq=False)
class LayerTheory:
    """What is proved of one layer: lines of the report, what goes up, and what a step does to changes.

    constants  None where nothing bounds what a step does to a change; ``why`` then says so
    """

    lines: tuple[QuantityBound, ...]
    level: Level
    constants: StepConstants | None
    parameters: tuple[str, ...]
    why: str = ""
    says: tuple[str, ...] = ()


def euclidean_theory(
    parameters: Iterable[str],
    lines: tuple[QuantityBound, ...],
    above: Level,
    rate: float | Logs,
    climb: float,
    direct: dict[str, Logs],
) -> LayerTheory:
    """Of a layer with one block, measured in the Euclidean norm, whose steps are Lipschitz."""
    columns = {name: outward(logs)[:, None] for name, logs in direct.items()}
    constants = StepConstants(geometric(rate), np.array([outward(climb)]), 0.0, columns)
    return LayerTheory(lines, above, constants, tuple(parameters), says=(PART,))


def input_level(question: Question, size: int) -> Level:
    """Level 0: |u_j| ≤ U. A run reads numbers of its dtype: nothing is rounded there."""
    entry = np.full(question.steps, log_of(question.input_bound))
    norm = outward(entry + math.log(size) / 2)
    return Level(entry, norm, entry, norm)


def report_of(theories: Sequence[LayerTheory], log_error: Logs) -> tuple[LayerBounds, ...]:
    """The lines of every layer, then the gradients; ``log_error`` as ``log_gradients`` takes it."""
    found = []
    for index, theory in enumerate(theories):
        above = theories[index:]
        constants = [each.constants for each in above if each.constants is not None]
        if len(constants) == len(above):
            bounds = log_gradients(constants, log_error)[0]
            gradients = [
                QuantityBound(f"|dE/dθ|, θ = {name}", log, PATHS, THESE_INPUTS) for name, log in bounds.items()
            ]
        else:
            why = next(each.why for each in above if each.constants is None)
            gradients = [unknown(f"|dE/dθ|, θ = {name}", why) for name in theory.parameters]
        found.append(LayerBounds(index + 1, (*theory.lines, *gradients), theory.says))
    return tuple(found)


def euclidean_error(level: Level, size: int, target_bound: float) -> Logs:
    """log of ‖y_n − ȳ_n‖₂ ≤ ‖y_n‖₂ + √m Ȳ."""
    return np.asarray(outward(np.logaddexp(level.norm, log_of(target_bound) + math.log(size) / 2)))


def driven(V: Tensor, level: Level) -> Logs:
    """log of ‖V y_n‖₂ for the exact outputs y_n of a level: min(‖V‖₂ ‖y‖₂, ‖|V| 1‖₂ max|y_j|).   (N,)"""
    return np.minimum(log_norm(V) + level.norm, log_of(row_sum_norm(V)) + level.entry)


def computed_drive(V: Tensor, level: Level, precision: Precision) -> Logs | None:
    """log of ‖V ŷ_n‖₂ as computed: what is exact, and γ_d times the product of moduli; None without bounds below."""
    if level.computed_norm is None or level.computed_entry is None:
        return None
    exact = np.minimum(log_norm(V) + level.computed_norm, log_of(row_sum_norm(V)) + level.computed_entry)
    moduli = np.minimum(log_norm(V.abs()) + level.computed_norm, log_of(row_sum_norm(V)) + level.computed_entry)
    slack = np.logaddexp(log_of(roundoff(V.shape[1], precision)) + moduli, underflows(V.shape[1], len(V), precision))
    return np.asarray(outward(np.logaddexp(exact, slack)))


def row_sum_norm(V: Tensor) -> float:
    """‖|V| 1‖₂ rounded up: the norm of V u for the worst u with |u_j| ≤ 1 is no larger."""
    return spectra.upward(float(V.detach().double().abs().sum(dim=1).norm())) * (1 + V.numel() * 2.0**-52)


def roundoff(terms: int, precision: Precision) -> float:
    """γ_k = k u/(1 − k u) for sums of ``terms`` products and 8 further operations; inf where k u is not below 1/4."""
    total = (terms + 8) * precision.unit_roundoff
    return total / (1 - total) if total < 0.25 else math.inf


def underflows(terms: int, rows: int, precision: Precision) -> float:
    """log of the Euclidean norm of what underflow costs in ``rows`` sums of that many products."""
    return math.log((terms + 8) * math.sqrt(rows)) + max(math.log(precision.underflow), -700.0)


def precision_of(layer: nn.Module) -> Precision:
    """Of the parameters of a layer."""
    return PRECISIONS[str(next(layer.parameters()).dtype).removeprefix("torch.")]


def add_logs(*logs: Any) -> Any:
    """log of the sum of e^x over the arguments, rounded up; floats or arrays."""
    return outward(functools.reduce(np.logaddexp, logs), len(logs))


def before(logs: Logs, log_start: float) -> Logs:
    """The same one step earlier: of n = 0..N−1."""
    return np.concatenate(([log_start], logs[:-1]))
