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
    inverse = np.linalg.inv(_correlations(sample, weights, kind))
    diagonal = np.diagonal(inverse, axis1=1, axis2=2)
    count = sample.measures.shape[1]
    found: Floats = -inverse[:, 0, 1 : count + 1] / np.sqrt(diagonal[:, :1] * diagonal[:, 1 : count + 1])
    return found


def _correlations(sample: Sample, weights: Floats, kind: Kind) -> Floats:
    """(resamples, 4 + f + i, the same): of outcome, measures, what else is held and the indicators."""
    values = np.broadcast_to(sample.values, (len(weights), *sample.values.shape))
    if kind == "spearman":
        values = np.stack([midranks(column, weights) for column in sample.values.T], axis=2)
    indicators = np.broadcast_to(sample.indicators, (len(weights), *sample.indicators.shape))
    table = np.concatenate([values, indicators], axis=2)
    total = weights.sum(axis=1)[:, None, None]
    centred = table - (weights[:, :, None] * table).sum(axis=1, keepdims=True) / total
    covariance = np.matmul((weights[:, :, None] * centred).transpose(0, 2, 1), centred)
    scale = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    found: Floats = covariance / (scale[:, :, None] * scale[:, None, :])
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
    """(resamples, 3) from the resamples of ``_weights``."""
    weights = _weights(sample, resamples)
    parts = [_partials(sample, weights[first : first + CHUNK], kind) for first in range(0, resamples, CHUNK)]
    return np.concatenate(parts)


def _weights(sample: Sample, resamples: int) -> Floats:
    """(resamples, n): graphs drawn with replacement within their strata, each stratum as large as it is."""
    generator = np.random.default_rng(BOOTSTRAP_SEED)
    weights = np.zeros((resamples, sample.count))
    for stratum in np.unique(sample.strata):
        members = np.flatnonzero(sample.strata == stratum)
        weights[:, members] = generator.multinomial(len(members), np.full(len(members), 1 / len(members)), resamples)
    return weights


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
    return float(_explained(sample, np.ones((1, sample.count)))[0])


def explained_interval(sample: Sample, resamples: int = RESAMPLES) -> tuple[float, float]:
    """95 % of the same share in resamples of graphs."""
    weights = _weights(sample, resamples)
    parts = [_explained(sample, weights[first : first + CHUNK]) for first in range(0, resamples, CHUNK)]
    return _middle(np.concatenate(parts))


def _explained(sample: Sample, weights: Floats) -> Floats:
    """(resamples,): 1 − the variance that is left of the outcome's ranks with the measures / without them."""
    whole = _correlations(sample, weights, "spearman")
    strata = np.r_[0, np.arange(sample.values.shape[1], whole.shape[1])]
    without = whole[:, strata[:, None], strata[None, :]]
    with_measures = np.r_[np.arange(1 + sample.measures.shape[1]), strata[1:]]
    full = whole[:, with_measures[:, None], with_measures[None, :]]
    found: Floats = 1 - np.linalg.inv(without)[:, 0, 0] / np.linalg.inv(full)[:, 0, 0]
    return found


def _middle(drawn: Floats) -> tuple[float, float]:
    """Between which 95 % of the resamples are."""
    low, high = np.quantile(drawn, (ALPHA / 2, 1 - ALPHA / 2))
    return float(low), float(high)


def unadjusted(sample: Sample) -> list[float]:
    """Spearman's correlations with nothing held."""
    return [float(stats.spearmanr(column, sample.outcome).statistic) for column in sample.measures.T]


def share_by_seed(scores: Floats) -> float:
    """Of the variance of one run: scores (graphs, seeds); one-way analysis of variance, graphs at random."""
    return float(_shares_by_seed(scores[None])[0])


def share_by_seed_interval(scores: Floats, resamples: int = RESAMPLES) -> tuple[float, float]:
    """95 % of the same share in resamples of graphs, each with all its seeds."""
    chosen = np.random.default_rng(BOOTSTRAP_SEED).integers(0, len(scores), (resamples, len(scores)))
    return _middle(_shares_by_seed(scores[chosen]))


def _shares_by_seed(scores: Floats) -> Floats:
    """(resamples,) from (resamples, graphs, seeds); NaN where all are equal."""
    within = scores.var(axis=2, ddof=1).mean(axis=1)
    between = np.maximum(0.0, scores.mean(axis=2).var(axis=1, ddof=1) - within / scores.shape[2])
    total = within + between
    found: Floats = np.where(total > 0, within / np.where(total > 0, total, 1), math.nan)
    return found
