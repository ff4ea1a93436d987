"""What trainability.py draws, trains and asks. Complete before the first run; docs/trainability.md is its page.

The question: which measure of Zhang et al. 2016 (recurrent skip coefficient s, recurrent depth d_r, feedforward depth
d_f) says how well a network of that graph trains in a short time, the two others and its sizes held?

The family. A graph has period 1, K units, one edge from the input, one to the read-out (both σ = 0) and E edges between
units, parallel ones with different σ. ``candidate`` draws: the largest delay L from 1, 2, 4, 8, how often an edge from
a lower to a higher unit has σ = 0, how often loops are kept, the units that the input enters and the read-out reads,
and E different edges; every other σ is uniform in 1 … L. Kept is what meets the conditions

- (1), (2), (3), (U) of odernn.architecture.graph: σ = 0 only upward, and there is a cycle
- connected: every unit is on a walk from the input to the read-out
- the read-out at time t depends on the input at time t, through edges of σ = 0, as in every graph that the source tries
- no two graphs are isomorphic: no exchange of units turns one into the other

and has room in its class. The classes are the 27 combinations of ``S_ENDS``, ``D_R_ENDS``, ``D_F_ENDS``; a class takes
``ROOM`` graphs in each of the four strata ``STRATA`` (K, E), until the stratum has its ``GRAPHS`` // 4. Without that a
large s goes with a small d_r, since both come from the delays.

Equal parameters. All units have the same size, that with which the parameters come nearest to ``PARAMETERS``
(bisection, ``hidden_size_for``). Within a stratum all graphs have exactly the same parameters, units, edges and nodes;
between strata parameters differ by the rounding of one size.

No two of the measures may have a rank correlation above ``MOST_COLLINEAR`` in absolute value over the 500: from their
draw alone it is 0.25 for s and d_r and 0.02 for the other pairs.

Training. Permuted sequential digits (64 steps, one split of 1197, 300 and 300 images), tanh, Adam (0.9, 0.999), batches
of 50, gradients clipped to norm 1, ``EPOCHS`` epochs, float32, one thread, no early stop, no choice of weights. One
rate for all: of ``RATES`` the one with the best mean validation accuracy on ``TRIALS`` further graphs of the same
family, three a stratum, none isomorphic to one of the 500; these runs never load the test split, all others never load
the validation split. EPOCHS was chosen so that a run takes about 4.5 seconds of CPU time: three graphs outside both
lists took 7 to 10 for eleven epochs on a shared machine. Their accuracies were not looked at; that of one trial graph
at rate 0.01 was, on validation images (0.933 after eleven epochs). Nothing else was trained before this plan.

Runs. Every graph once with seed 4 g (g its number; it decides weights and order of batches). ``REPEATED`` graphs, ten a
stratum, three times more with 4 g + 1, 4 g + 2, 4 g + 3: the share of the variance that is the seed's. The same graphs
with seed 4 g and the two other rates: whether the order of graphs is the rate's doing.

Outcomes. First: accuracy on the 300 test images after the last epoch. Second: mean loss on the 1197 training images
then. A run whose loss is not finite counts as accuracy 0.1 and loss ln 10, and is counted on the page.

Analysis, over the 500 runs. The partial correlation of the outcome with each measure, given the two other measures and
three indicators of the stratum. As units, edges, nodes and parameters are constant in a stratum, any function of them
is held too. Ranks over all 500 (Spearman, the one that is judged), and the values (Pearson). 95 % intervals:
percentiles of ``RESAMPLES`` resamples of graphs within strata, ranked anew, and Fisher's z with n − k − 3, k = 5, for
ranks with variance 1.06/(n − k − 3). Two-sided probabilities of t with n − k − 2 degrees of freedom; Holm over the
three measures.

Words, for Spearman and test accuracy only:

- **predicts**: Holm ≤ 0.05, both intervals without 0, and the correlation at least ``LARGE`` (0.2) in absolute value
- **predicts weakly**: the same, but below 0.2
- **not shown**: otherwise. With 500 graphs a true 0.15 is missed in one case of five
- **the best of the three**: it predicts, weakly or not, and the differences of its absolute correlation to both others
  have bootstrap intervals (97.5 % each, for two) above 0

Reported without words: Pearson; the training loss; correlations with no measure held; the three together (share of the
variance of ranks, beyond the strata); with the mean delay of the edges between units held as well, since a large s
needs large delays somewhere; share of variance by seed; rank correlation between rates.

The confound that docs/architecture_experiments.md admits: its architectures differ in more than s, in their units
above all, which equal parameters force upon them, and each had a learning rate chosen for it by one run. The first is
removed: within a stratum there is nothing but the wiring and the delays to differ in. Of the second the choice by
architecture is removed, not the dependence: at one rate for all, a measure may predict accuracy because it predicts
which rate fits. The two other rates say how much the order of 40 graphs depends on that, and no more. What this design
does not hold: all that the wiring has beside the three measures, for example the number of long delays or of loops."""

from __future__ import annotations

import functools
import itertools
import random
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from odernn.architecture import RNNGraph, hidden_size_for

STRATA = ((3, 5), (3, 7), (4, 7), (4, 9))
"""(units, edges between them)."""
GRAPHS = 500
TRIALS = 12
ROOM, TRIAL_ROOM = 5, 1
S_ENDS = (Fraction(3, 2), Fraction(7, 2))
"""Classes: s ≤ 3/2, 3/2 < s ≤ 7/2, 7/2 < s; so for the two others."""
D_R_ENDS = (Fraction(1), Fraction(2))
D_F_ENDS = (Fraction(5, 2), Fraction(7, 2))
LARGEST_DELAYS = (1, 2, 4, 8)
MOST_COLLINEAR = 0.3
GRAPH_SEED, TRIAL_SEED, REPEATED_SEED = 20161, 20162, 20163

PARAMETERS = 5600
INPUTS, CLASSES = 1, 10
RATES = (1e-2, 3e-3, 1e-3)
BATCH, EPOCHS, CLIP = 50, 7, 1.0
REPEATED = 40
SEEDS = 4

LARGE = 0.2
ALPHA = 0.05
RESAMPLES = 10_000
BOOTSTRAP_SEED = 20164
MEASURES = ("s", "d_r", "d_f")

Delay: TypeAlias = tuple[int, int, int]
"""(tail, head, σ), units from 0."""
Drawn: TypeAlias = tuple[tuple[Delay, ...], int, int]
"""Edges between units, the unit that the input enters, the one that is read."""


@dataclass(frozen=True)
class PlannedGraph:
    """One graph of the list, ``number`` from 1; of the trials, from −1 downward."""

    number: int
    stratum: tuple[int, int]
    drawn: Drawn

    @property
    def graph(self) -> RNNGraph:
        edges, entry, exit = self.drawn
        nodes = ["in", *(f"h{unit}" for unit in range(self.stratum[0])), "out"]
        inner = tuple((f"h{u}", f"h{v}", sigma) for u, v, sigma in edges)
        ends = (("in", f"h{entry}", 0), (f"h{exit}", "out", 0))
        return RNNGraph(str(self.number), 1, dict.fromkeys(nodes, 0), (*ends, *inner), ("in",), ("out",))  # type: ignore[arg-type]

    @property
    def hidden_size(self) -> int:
        return hidden_size_for(self.graph, PARAMETERS, INPUTS, CLASSES)

    @property
    def said(self) -> str:
        """For the record: entry, edges tail>head:σ, exit."""
        edges, entry, exit = self.drawn
        return f"in>{entry} {' '.join(f'{u}>{v}:{sigma}' for u, v, sigma in edges)} {exit}>out"


@dataclass(frozen=True)
class PlannedRun:
    """One training of one graph; ``is_trial``: validated, not tested."""

    graph: PlannedGraph
    rate: float
    seed: int

    @property
    def is_trial(self) -> bool:
        return self.graph.number < 0

    @property
    def key(self) -> str:
        return f"{self.graph.number} / {self.rate:g} / {self.seed}"


# The graphs.


def candidate(stratum: tuple[int, int], chance: random.Random) -> Drawn:
    """A draw that no condition was asked of yet, but that σ = 0 is upward."""
    units, count = stratum
    largest = chance.choice(LARGEST_DELAYS)
    at_once = chance.choice((0.3, 0.6, 0.9))
    loops_kept = chance.choice((0.0, 0.5, 1.0))
    entry, exit = chance.randrange(units), chance.randrange(units)
    found: set[Delay] = set()
    while len(found) < count:
        u, v = chance.randrange(units), chance.randrange(units)
        if u == v and chance.random() >= loops_kept:
            v = chance.randrange(units)
        found.add((u, v, 0 if u < v and chance.random() < at_once else chance.randint(1, largest)))
    return tuple(sorted(found)), entry, exit


def is_in_family(units: int, drawn: Drawn) -> bool:
    """Connected, and the read-out sees the present input. A cycle is asked for by ``measures``."""
    edges, entry, exit = drawn
    present = _reached(entry, [(u, v) for u, v, sigma in edges if sigma == 0])
    forward = _reached(entry, [(u, v) for u, v, _ in edges])
    backward = _reached(exit, [(v, u) for u, v, _ in edges])
    return exit in present and len(forward) == len(backward) == units


def _reached(start: int, edges: list[tuple[int, int]]) -> set[int]:
    found, grown = {start}, True
    while grown:
        more = {v for u, v in edges if u in found} - found
        found |= more
        grown = bool(more)
    return found


def measures(units: int, drawn: Drawn) -> tuple[Fraction, Fraction, Fraction] | None:
    """(s, d_r, d_f) by going through all simple cycles and paths; None without a cycle.

    Only to sort candidates quickly: what is recorded is ``odernn.architecture.measures_of``.
    """
    edges, entry, exit = drawn
    least: dict[tuple[int, int], int] = {}
    most: dict[tuple[int, int], int] = {}
    for u, v, sigma in edges:
        least[u, v] = min(sigma, least.get((u, v), sigma))
        most[u, v] = max(sigma, most.get((u, v), sigma))
    cycles = [cycle for cycle in _cycles(units) if all(pair in least for pair in cycle)]
    if not cycles:
        return None
    s = max(Fraction(sum(most[pair] for pair in cycle), len(cycle)) for cycle in cycles)
    d_r = max(Fraction(len(cycle), sum(least[pair] for pair in cycle)) for cycle in cycles)
    paths = [path for path in _paths(units, entry, exit) if all(pair in least for pair in path)]
    return s, d_r, max(len(path) + 2 - d_r * sum(least[pair] for pair in path) for path in paths)


Pairs: TypeAlias = tuple[tuple[int, int], ...]


@functools.cache
def _cycles(units: int) -> tuple[Pairs, ...]:
    """All simple cycles of the complete graph with loops, as pairs of neighbours."""
    chosen = (nodes for count in range(1, units + 1) for nodes in itertools.combinations(range(units), count))
    rounds = ((nodes[0], *rest) for nodes in chosen for rest in itertools.permutations(nodes[1:]))
    return tuple(tuple(zip(nodes, (*nodes[1:], nodes[0]), strict=True)) for nodes in rounds)


@functools.cache
def _paths(units: int, entry: int, exit: int) -> tuple[Pairs, ...]:
    """All simple paths of the complete graph from one unit to another, () from one to itself."""
    if entry == exit:
        return ((),)
    between = [unit for unit in range(units) if unit not in (entry, exit)]
    ways = (way for count in range(len(between) + 1) for way in itertools.permutations(between, count))
    return tuple(tuple(itertools.pairwise((entry, *way, exit))) for way in ways)


def canonical(units: int, drawn: Drawn) -> Drawn:
    """The first of its forms under all exchanges of units: equal exactly for isomorphic graphs."""
    edges, entry, exit = drawn
    return min(
        (tuple(sorted((to[u], to[v], sigma) for u, v, sigma in edges)), to[entry], to[exit])
        for to in itertools.permutations(range(units))
    )


def class_of(s: Fraction, d_r: Fraction, d_f: Fraction) -> tuple[int, ...]:
    """0, 1 or 2 for each measure."""
    return tuple(
        sum(value > end for end in ends)
        for value, ends in zip((s, d_r, d_f), (S_ENDS, D_R_ENDS, D_F_ENDS), strict=True)
    )


def _drawn(stratum: tuple[int, int], count: int, room: int, chance: random.Random, known: set[Drawn]) -> list[Drawn]:
    """So many new graphs, no more than ``room`` of a class; ``known`` grows by their canonical forms."""
    units = stratum[0]
    found: list[Drawn] = []
    taken: Counter[tuple[int, ...]] = Counter()
    while len(found) < count:
        drawn = candidate(stratum, chance)
        values = measures(units, drawn) if is_in_family(units, drawn) else None
        if values is None or taken[class_of(*values)] == room:
            continue
        form = canonical(units, drawn)
        if form not in known:
            known.add(form)
            taken[class_of(*values)] += 1
            found.append(drawn)
    return found


@functools.cache
def _lists() -> tuple[tuple[PlannedGraph, ...], tuple[PlannedGraph, ...]]:
    """The 500 and the trials; strata take turns, so that a record that is half done has all of them."""
    known: set[Drawn] = set()
    lists = []
    for seed, total, room, sign in ((GRAPH_SEED, GRAPHS, ROOM, 1), (TRIAL_SEED, TRIALS, TRIAL_ROOM, -1)):
        share = total // len(STRATA)
        chances = [random.Random(f"{seed} {units} {edges}") for units, edges in STRATA]
        by_stratum = [_drawn(each, share, room, chance, known) for each, chance in zip(STRATA, chances, strict=True)]
        turns = [
            (each, drawn) for row in zip(*by_stratum, strict=True) for each, drawn in zip(STRATA, row, strict=True)
        ]
        lists.append(tuple(PlannedGraph(sign * place, *each) for place, each in enumerate(turns, 1)))
    return lists[0], lists[1]


def graphs() -> tuple[PlannedGraph, ...]:
    """The 500, drawn anew from their seed: the same in every call."""
    return _lists()[0]


def trial_graphs() -> tuple[PlannedGraph, ...]:
    """The twelve that choose the rate."""
    return _lists()[1]


def repeated() -> tuple[PlannedGraph, ...]:
    """Ten of each stratum, by lot."""
    chance = random.Random(REPEATED_SEED)
    share = REPEATED // len(STRATA)
    by_stratum = [[each for each in graphs() if each.stratum == stratum] for stratum in STRATA]
    chosen = [each for members in by_stratum for each in chance.sample(members, share)]
    return tuple(sorted(chosen, key=lambda each: each.number))


# The runs.


def chosen_rate(validation: Mapping[str, float]) -> float | None:
    """The rate with the best mean accuracy of the trials, by key, of equal ones the largest; None if one is missing."""
    jobs = list(trials())
    if any(job.key not in validation for job in jobs):
        return None
    means = {rate: statistics.fmean(validation[job.key] for job in jobs if job.rate == rate) for rate in RATES}
    return max(means, key=lambda rate: means[rate])


def trials() -> Iterator[PlannedRun]:
    """Those that choose the rate, before all others."""
    return (PlannedRun(each, rate, SEEDS * -each.number) for each in trial_graphs() for rate in RATES)


def main_runs(rate: float) -> Iterator[PlannedRun]:
    """The 500 that are judged."""
    return (PlannedRun(each, rate, SEEDS * each.number) for each in graphs())


def seed_runs(rate: float) -> Iterator[PlannedRun]:
    """The further seeds, one seed of all forty after the other."""
    return (PlannedRun(each, rate, SEEDS * each.number + more) for more in range(1, SEEDS) for each in repeated())


def rate_runs(rate: float) -> Iterator[PlannedRun]:
    """The two other rates."""
    return (PlannedRun(each, other, SEEDS * each.number) for other in RATES if other != rate for each in repeated())


def runs(rate: float) -> Iterator[PlannedRun]:
    """All after the trials, in the order in which they are made."""
    return itertools.chain(main_runs(rate), seed_runs(rate), rate_runs(rate))


TOTAL = TRIALS * len(RATES) + GRAPHS + (SEEDS - 1) * REPEATED + (len(RATES) - 1) * REPEATED
