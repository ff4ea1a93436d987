"""Runs that were measured, and their ratios to a bound: what the rules of ``judge`` look at. Floats; nothing is
decided here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from odernn.bounds.numbers import FLOATS
from verification.claim import Claim, Part, Setting, admissible
from verification.domains import FREE, SearchPoint
from verification.instance import Instance, from_plain
from verification.verdict import NEAR


@dataclass(frozen=True)
class Trial:
    """One run that was measured: an instance at a point and its float64 envelope of one neuron over n = 1..N.

    ``run`` is the instance or its ``to_plain``, which is read if somebody asks: few of the runs are candidates.
    """

    point: SearchPoint
    adversary: str
    quantity: str
    run: Instance | dict[str, Any]
    values: np.ndarray
    evaluations: int
    finite: bool

    @cached_property
    def instance(self) -> Instance:
        return self.run if isinstance(self.run, Instance) else from_plain(self.run)


@dataclass(frozen=True)
class Evidence:
    """Everything known about one domain and layer when its claims are judged.

    ``data`` and ``in_range`` map "<quantity>/<norm>" to the network's envelope over n (empty for the free domain).
    ``step_sizes`` are that network's effective steps. ``controls`` are the results of the power and soundness
    controls of the system.
    """

    domain: str
    layer: int
    points: tuple[SearchPoint, ...]
    trials: tuple[Trial, ...]
    data: dict[str, np.ndarray] = field(default_factory=dict)
    in_range: dict[str, np.ndarray] = field(default_factory=dict)
    step_sizes: np.ndarray | None = None
    controls: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Ratio:
    """A trial against a bound: logs of worst and bound at the critical step; the peak over n; bound and value at n =
    N.
    """

    trial: Trial
    step: int
    log_worst: float
    log_bound: float
    log_peak: float
    log_final_bound: float
    log_final: float

    def at_end(self) -> Ratio:
        """The same trial looked at at n = N."""
        return replace(self, step=self.trial.point.steps, log_worst=self.log_final, log_bound=self.log_final_bound)

    @property
    def log(self) -> float:
        return self.log_worst - self.log_bound


def reading_of(claim: Claim, domain: str) -> str:
    """Asymptotic hypotheses are read at the published values on the paper's rows, and in the limit elsewhere."""
    if not claim.bound.asymptotic:
        return ""
    return "limit" if domain == FREE else "printed"


def point_setting(point: SearchPoint, layer: int, *, step: Any, numbers: Any = FLOATS) -> Setting:
    """The setting of a point for the adversaries' neurons, whose c is the point's."""
    dt = point.dt[layer - 1]
    h = numbers.exact(dt) / (1 + numbers.exp(-numbers.exact(point.c)))
    sizes = [h] if isinstance(step, int) else np.array([h])
    return Setting.of(
        numbers, alpha=point.alpha, dt=dt, step=step, steps=point.steps, hidden_size=point.hidden_size, step_sizes=sizes
    )


def is_admissible(claim: Claim, point: SearchPoint, layer: int) -> bool:
    """Whether the premises hold at the point for every layer up to ``layer``, each with its own dt."""
    return not failing_premises(claim, point, layer)


def failing_premises(claim: Claim, point: SearchPoint, layer: int) -> list[str]:
    """The texts of the premises that do not hold."""
    failing = [
        premise.text
        for number in range(1, layer + 1)
        for premise, _, holds in admissible(claim.bound, point_setting(point, number, step=point.steps))
        if not holds
    ]
    return list(dict.fromkeys(failing))


def log_bounds(part: Part, point: SearchPoint, layer: int, step_sizes: np.ndarray | None = None) -> np.ndarray:
    """The bound's logarithm for n = 1..N in float64, for the adversaries' neurons or for those with ``step_sizes``.

    Raises FloatingPointError if it is not finite: inf is never a bound.
    """
    steps = np.arange(1, point.steps + 1)
    setting = point_setting(point, layer, step=steps.astype(np.float64))
    if step_sizes is not None:
        setting = replace(setting, step_sizes=step_sizes)
    logs = np.asarray(part.bound(setting, FLOATS), dtype=np.float64)
    logs = np.broadcast_to(logs, steps.shape)
    if not np.isfinite(logs).all():
        raise FloatingPointError(f"the bound on {part.symbol} is {logs[~np.isfinite(logs)][0]} at {point.label(layer)}")
    return logs


def norm_factor(part: Part, hidden_size: int) -> float:
    """log of ‖(v, …, v)‖/|v| over m equal neurons."""
    return 0.5 * math.log(hidden_size) if part.norm == "euclidean" else 0.0


def safe_log(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        logs: np.ndarray = np.log(values)
    return logs


def ratio_of(part: Part, trial: Trial, bounds: np.ndarray) -> Ratio:
    """The ratio at the critical step: the last n within ``NEAR`` of the largest worst/bound. ``bounds`` are the
    ``log_bounds`` of the part at the trial's point.
    """
    logs = safe_log(trial.values) + norm_factor(part, trial.point.hidden_size)
    ratios = logs - bounds
    n = int(np.flatnonzero(ratios >= np.max(ratios) - NEAR)[-1])
    ends = float(np.max(logs)), float(bounds[-1]), float(logs[-1])
    return Ratio(trial, n + 1, float(logs[n]), float(bounds[n]), *ends)


def finest_rungs(ratios: list[Ratio], evidence: Evidence) -> list[Ratio]:
    """The best trial on the finest dt of every ladder, in the order given: only these speak about dt → 0.

    A group of a single rung is no ladder.
    """
    dts: dict[str, set[Fraction]] = {}
    for point in evidence.points:
        dts.setdefault(point.group, set()).add(point.dt[evidence.layer - 1])
    smallest = {group: min(rungs) for group, rungs in dts.items() if len(rungs) > 1}
    finest: dict[str, Ratio] = {}
    for ratio in ratios:
        point = ratio.trial.point
        if point.dt[evidence.layer - 1] == smallest.get(point.group):
            best = finest.setdefault(point.group, ratio)
            if ratio.at_end().log > best.at_end().log:
                finest[point.group] = ratio
    return list(finest.values())


def trial_from_plain(point: SearchPoint, entry: dict[str, Any], values: np.ndarray) -> Trial:
    """A trial of a search job's result."""
    return Trial(
        point,
        entry["adversary"],
        entry["quantity"],
        entry["instance"],
        values,
        entry["evaluations"],
        entry["finite"],
    )
