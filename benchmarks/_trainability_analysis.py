"""The analysis of _trainability_plan, from plain arrays: no run, no file, no clock.

    ρ(y, xₖ | rest) = −P₀ₖ / √(P₀₀ Pₖₖ),   P the inverse of the correlation matrix of (y, x₁, x₂, x₃, rest)

of values (Pearson) or of their mid-ranks (Spearman). All resamples are computed at once, from how often each row is in
them: ranks are those within the resample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from _architecture_page import corrected
from _trainability_plan import ALPHA, BOOTSTRAP_SEED, LARGE, MEASURES, RESAMPLES
from numpy.typing import NDArray
from scipy import stats

Kind: TypeAlias = Literal["spearman", "pearson"]
Floats: TypeAlias = NDArray[np.float64]
CHUNK = 500
RANK_VARIANCE = 1.06
"""Of Fisher's z of a rank correlation, times n − 3 (Fieller, Hartley and Pearson 1957)."""


@dataclass(frozen=True)
class Sample:
    """outcome (n,); measures (n, 3); strata (n,) as numbers from 0; further (n, f), held as well."""

    outcome: Floats
    measures: Floats
    strata: NDArray[np.int64]
    further: Floats

    @property
    def count(self) -> int:
        return len(self.outcome)

    @property
    def values(self) -> Floats:
        """(n, 4 + f): outcome, measures, what else is held."""
        table: Floats = np.column_stack([self.outcome, self.measures, self.further])
        return table

    @property
    def indicators(self) -> Floats:
        """(n, strata − 1)."""
        return (self.strata[:, None] == np.unique(self.strata)[1:]).astype(float)

    @property
    def held(self) -> int:
        """How many variables are held in each partial correlation."""
        return int(self.measures.shape[1] - 1 + self.further.shape[1] + self.indicators.shape[1])


@dataclass(frozen=True)
class PartialCorrelation:
    """Of the outcome with one measure, with both intervals of 95 %, p and Holm's p."""

    measure: str
    value: float
    bootstrap: tuple[float, float]
    fisher: tuple[float, float]
    probability: float
    holm: float

    @property
    def word(self) -> str:
        """predicts, predicts weakly, not shown: see the plan."""
        excluded = all(low > 0 or high < 0 for low, high in (self.bootstrap, self.fisher))
        if self.holm > ALPHA or not excluded:
            return "not shown"
        return "predicts" if abs(self.value) >= LARGE else "predicts weakly"


@dataclass(frozen=True)
class Analysis:
    """The correlations in the order of MEASURES; ``best``: the one that beats both others, if any does."""

    correlations: tuple[PartialCorrelation, ...]
    best: str | None


def partial(sample: Sample, kind: Kind) -> Floats:
    """(3,) from all rows."""
    found: Floats = _partials(sample, np.ones((1, sample.count)), kind)[0]
    return found


def _partials(sample: Sample, weights: Floats, kind: Kind) -> Floats:
    """(resamples, 3); weights (resamples, n) are how often each row is there."""
    values = np.broadcast_to(sample.values, (len(weights), *sample.values.shape))
    if kind == "spearman":
        values = np.stack([midranks(column, weights) for column in sample.values.T], axis=2)
    indicators = np.broadcast_to(sample.indicators, (len(weights), *sample.indicators.shape))
    table = np.concatenate([values, indicators], axis=2)
    total = weights.sum(axis=1)[:, None, None]
    centred = table - (weights[:, :, None] * table).sum(axis=1, keepdims=True) / total
    covariance = np.matmul((weights[:, :, None] * centred).transpose(0, 2, 1), centred)
    scale = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    inverse = np.linalg.inv(covariance / (scale[:, :, None] * scale[:, None, :]))
    diagonal = np.diagonal(inverse, axis1=1, axis2=2)
    count = sample.measures.shape[1]
    found: Floats = -inverse[:, 0, 1 : count + 1] / np.sqrt(diagonal[:, :1] * diagonal[:, 1 : count + 1])
    return found


def midranks(column: Floats, weights: Floats) -> Floats:
    """(resamples, n): the mean rank of each row's value among the rows of a resample, equal ones sharing theirs."""
    _, group = np.unique(column, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    counts = np.add.reduceat(weights[:, order], starts, axis=1)
    ranks: Floats = (np.cumsum(counts, axis=1) - counts + (counts + 1) / 2)[:, group]
    return ranks


def resampled(sample: Sample, kind: Kind, resamples: int = RESAMPLES) -> Floats:
    """(resamples, 3): graphs drawn with replacement within their strata, each stratum as large as it is."""
    generator = np.random.default_rng(BOOTSTRAP_SEED)
    weights = np.zeros((resamples, sample.count))
    for stratum in np.unique(sample.strata):
        members = np.flatnonzero(sample.strata == stratum)
        weights[:, members] = generator.multinomial(len(members), np.full(len(members), 1 / len(members)), resamples)
    parts = [_partials(sample, weights[first : first + CHUNK], kind) for first in range(0, resamples, CHUNK)]
    return np.concatenate(parts)


def fisher(value: float, count: int, held: int, kind: Kind) -> tuple[float, float]:
    """95 %: tanh(artanh ρ ± 1.96/√(n − k − 3)), for ranks with variance 1.06."""
    variance = (RANK_VARIANCE if kind == "spearman" else 1.0) / (count - held - 3)
    width = float(stats.norm.ppf(1 - ALPHA / 2)) * math.sqrt(variance)
    return math.tanh(math.atanh(value) - width), math.tanh(math.atanh(value) + width)


def probability(value: float, count: int, held: int) -> float:
    """Two-sided, of t = ρ √(d/(1 − ρ²)), d = n − k − 2."""
    freedom = count - held - 2
    return float(2 * stats.t.sf(abs(value) * math.sqrt(freedom / (1 - value**2)), freedom))


def analysed(sample: Sample, kind: Kind, resamples: int = RESAMPLES) -> Analysis:
    """All that is said of one outcome."""
    values, drawn = partial(sample, kind), resampled(sample, kind, resamples)
    chances = [probability(value, sample.count, sample.held) for value in values]
    holm = corrected([Fraction(chance) for chance in chances])
    low, high = np.quantile(drawn, (ALPHA / 2, 1 - ALPHA / 2), axis=0)
    found = tuple(
        PartialCorrelation(
            measure,
            float(values[k]),
            (float(low[k]), float(high[k])),
            fisher(float(values[k]), sample.count, sample.held, kind),
            chances[k],
            float(holm[k]),
        )
        for k, measure in enumerate(MEASURES)
    )
    return Analysis(found, best_of(found, drawn))


def best_of(found: Sequence[PartialCorrelation], drawn: Floats) -> str | None:
    """The measure that predicts and whose |ρ| is above both others' in all but 1.25 % of resamples each."""
    sizes = np.abs(drawn)
    for k, each in enumerate(found):
        others = [place for place in range(len(found)) if place != k]
        lows = [float(np.quantile(sizes[:, k] - sizes[:, place], ALPHA / 4)) for place in others]
        if each.word != "not shown" and min(lows) > 0:
            return each.measure
    return None


def explained(sample: Sample) -> float:
    """The share of the variance of the outcome's ranks that those of the three explain beyond the strata."""
    ranks = np.stack([stats.rankdata(column) for column in sample.values.T], axis=1)
    base = np.column_stack([np.ones(sample.count), sample.indicators])
    outcome, measures = ranks[:, 0], ranks[:, 1 : 1 + sample.measures.shape[1]]
    return 1 - _rest(np.column_stack([base, measures]), outcome) / _rest(base, outcome)


def _rest(columns: Floats, outcome: Floats) -> float:
    solved = np.linalg.lstsq(columns, outcome, rcond=None)[0]
    return float(((outcome - columns @ solved) ** 2).sum())


def unadjusted(sample: Sample) -> list[float]:
    """Spearman's correlations with nothing held."""
    return [float(stats.spearmanr(column, sample.outcome).statistic) for column in sample.measures.T]


def share_by_seed(scores: Floats) -> float:
    """Of the variance of one run: scores (graphs, seeds); one-way analysis of variance, graphs at random."""
    seeds = scores.shape[1]
    within = float(scores.var(axis=1, ddof=1).mean())
    between = max(0.0, float(scores.mean(axis=1).var(ddof=1)) - within / seeds)
    return within / (within + between) if within + between > 0 else math.nan
