"""What a store has of bounds on states over n, over horizons and over steps: the numbers of plots. Floats; nothing is
decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from verification.cases.state_bound.ratios import (
    Trial,
    is_admissible,
    log_bounds,
    norm_factor,
    ratio_of,
    safe_log,
    trial_from_plain,
)
from verification.claim import Claim, Part
from verification.domains import FREE, SearchPoint, point_from_plain
from verification.report.pictures.against_bounds import BoundCurve, SlackLadder, SlackSpread
from verification.report.rows.claims import network
from verification.run.store import Results
from verification.verdict import LOG_10, NEAR, REFUTED, Judgement

MOST_POINTS = 120
"""Of a curve that is drawn: so many of its steps, evenly in log n."""
MOST_LADDERS = 6
FIRST_LAYER = 1
LEAST_STEPS = 8
"""A shorter run says no more as a curve than its two numbers do."""
SHARP = 0.01
"""Slacks of fewer decades than this everywhere are a sentence and no picture."""


@dataclass(frozen=True)
class StateSeries:
    """The curves and slacks of one claim; ``sharp`` are slacks that are nearly 0 wherever they were measured."""

    curves: tuple[BoundCurve, ...] = ()
    spreads: tuple[SlackSpread, ...] = ()
    sharp: tuple[SlackSpread, ...] = ()


@dataclass
class SearchedPlaces:
    """The searches of one domain and layer, read from the store when they are asked for."""

    results: Results
    spec: Mapping[str, Any]
    _trials: dict[int, list[Trial]] = field(default_factory=dict)

    def points(self) -> list[tuple[int, SearchPoint]]:
        keys = self.spec["needs"]["search"]
        return [(i, point_from_plain(plain)) for i, plain in enumerate(self.spec["points"]) if keys[i] is not None]

    def trials(self, index: int, point: SearchPoint) -> list[Trial]:
        if index not in self._trials:
            key = self.spec["needs"]["search"][index]
            arrays, entries = self.results.arrays(key), self.results.data(key).get("found", [])
            self._trials[index] = [trial_from_plain(point, entry, arrays[str(i)]) for i, entry in enumerate(entries)]
        return [trial for trial in self._trials[index] if trial.finite]


def state_series(
    results: Results, specs: Iterable[Mapping[str, Any]], claims: Mapping[str, Claim], judgements: Sequence[Judgement]
) -> dict[str, StateSeries]:
    """By claim; of claims that bound states and whose searches are in the store. ``specs``: of the run's jobs."""
    places: dict[tuple[str, str, int], SearchedPlaces] = {}
    for spec in specs:
        if spec.get("kind") == "judge" and any(spec["needs"]["search"]):
            places[spec["claim"], spec["domain"], spec["layer"]] = SearchedPlaces(results, spec)
    made = {}
    for name in dict.fromkeys(name for name, _, _ in places):
        claim = claims.get(name)
        if claim is not None and claim.state_bound is not None:
            cells = [cell for cell in judgements if cell.claim == name and cell.point]
            curves = _curves(claim, cells, places)
            spreads = _spreads(claim, places.get((name, FREE, FIRST_LAYER)))
            sharp = tuple(spread for spread in spreads if spread.largest < SHARP)
            made[name] = StateSeries(curves, tuple(each for each in spreads if each not in sharp), sharp)
    return made


# --- over n -----------------------------------------------------------------------------------------------------


def _curves(claim: Claim, cells: Sequence[Judgement], places: Mapping[Any, SearchedPlaces]) -> tuple[BoundCurve, ...]:
    """Of every inequality the worst cell of the free domain, and the worst of the printed rows."""
    curves = []
    for is_free in (True, False):
        for part in claim.bound.parts:
            of_part = [
                cell
                for cell in cells
                if (cell.quantity, cell.norm) == (part.quantity, part.norm)
                and (cell.domain == FREE) == is_free
                and cell.slack is not None
                and (cell.claim, cell.domain, cell.layer) in places
            ]
            if of_part:
                worst = min(of_part, key=lambda cell: (cell.verdict != REFUTED, cell.slack))
                curves.append(_curve(claim, part, worst, places[worst.claim, worst.domain, worst.layer]))
    return tuple(curve for curve in curves if curve is not None and len(curve.steps) >= LEAST_STEPS)


def _curve(claim: Claim, part: Part, cell: Judgement, place: SearchedPlaces) -> BoundCurve | None:
    """The run that the cell speaks about: of its point and adversary, with its slack."""
    fitting = [
        trial
        for index, point in place.points()
        if point.label(cell.layer) == cell.point
        for trial in place.trials(index, point)
        if (trial.adversary, trial.quantity) == (cell.adversary, part.quantity)
    ]
    if not fitting or cell.slack is None:
        return None
    slack = cell.slack
    all_bounds = {point: log_bounds(part, point, cell.layer) for point in {trial.point for trial in fitting}}
    trial = min(fitting, key=lambda trial: abs(ratio_of(part, trial, all_bounds[trial.point]).log / LOG_10 + slack))
    logs = (safe_log(trial.values) + norm_factor(part, trial.point.hidden_size)) / LOG_10
    bounds = all_bounds[trial.point] / LOG_10
    over = np.flatnonzero(logs > bounds + NEAR)
    crossing = int(over[0]) if len(over) else None
    kept = [i for i in _thinned(logs, crossing) if np.isfinite(logs[i])]
    return BoundCurve(
        symbol=cell.symbol,
        network=network(cell),
        where=cell.point,
        steps=tuple(i + 1 for i in kept),
        measured=tuple(float(logs[i]) for i in kept),
        bound=tuple(float(bounds[i]) for i in kept),
        crossing=None if crossing is None else crossing + 1,
    )


def _thinned(values: np.ndarray, also: int | None) -> list[int]:
    """Where the largest values are, one in each stretch of n; stretches are even in log n."""
    ends = sorted({round(end) - 1 for end in np.geomspace(1, len(values) + 1, MOST_POINTS)})
    largest = {low + int(np.argmax(values[low:high])) for low, high in pairwise(ends)}
    return sorted({*largest, *([] if also is None else [also])})


# --- over horizons and steps ------------------------------------------------------------------------------------


def _spreads(claim: Claim, place: SearchedPlaces | None) -> tuple[SlackSpread, ...]:
    if place is None:
        return ()
    points = [(i, point) for i, point in place.points() if is_admissible(claim, point, FIRST_LAYER)]
    measured = {part: _slacks(part, points, place) for part in claim.bound.parts}
    least: dict[str, float] = {}
    for slacks in measured.values():
        for point, slack in slacks:
            if not point.is_drawn and sum(other.group == point.group for other, _ in slacks) > 1:
                least[point.group] = min(slack, least.get(point.group, slack))
    everywhere = [{point.group for point, _ in slacks} for slacks in measured.values() if slacks]
    shared = [group for group in least if all(group in groups for groups in everywhere)]
    groups = sorted(shared, key=lambda group: least[group])[:MOST_LADDERS]
    spreads = [_spread(part, slacks, groups) for part, slacks in measured.items()]
    return tuple(spread for spread in spreads if spread.slacks)


def _slacks(
    part: Part, points: Sequence[tuple[int, SearchPoint]], place: SearchedPlaces
) -> list[tuple[SearchPoint, float]]:
    found = ((point, _slack(part, point, place.trials(index, point))) for index, point in points)
    return [(point, slack) for point, slack in found if slack is not None]


def _spread(part: Part, slacks: Sequence[tuple[SearchPoint, float]], groups: Sequence[str]) -> SlackSpread:
    """Ladders of those groups, the same of every inequality of a claim: one key serves all. And every drawn point."""
    ladders = {group: [rung for rung in slacks if rung[0].group == group] for group in groups}
    drawn = [(float(p.dt[0] * p.steps), float(p.dt[0]), slack) for p, slack in slacks if p.is_drawn]
    return SlackSpread(
        part.symbol, tuple(_ladder(group, rungs) for group, rungs in ladders.items() if rungs), tuple(drawn)
    )


def _ladder(group: str, rungs: Sequence[tuple[SearchPoint, float]]) -> SlackLadder:
    ordered = sorted(rungs, key=lambda rung: -rung[0].dt[0])
    horizon = float(ordered[0][0].dt[0] * ordered[0][0].steps)
    return SlackLadder(group, horizon, tuple(float(point.dt[0]) for point, _ in ordered), tuple(s for _, s in ordered))


def _slack(part: Part, point: SearchPoint, trials: Sequence[Trial]) -> float | None:
    """The least over n and over what the adversaries found, in decades."""
    of_part = [trial for trial in trials if trial.quantity == part.quantity]
    if not of_part:
        return None
    bounds = log_bounds(part, point, FIRST_LAYER) - norm_factor(part, point.hidden_size)
    return min(float(np.min(bounds - safe_log(trial.values))) for trial in of_part) / LOG_10
