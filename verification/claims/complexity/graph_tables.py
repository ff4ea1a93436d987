# Claims: cplx-4.2-tab · cplx-4.3-tab · cplx-4.4-copy · cplx-4.4-tab · cplx-4.5-tab
"""What Zhang et al. 2016 say of their tables, Sections 4.2 to 4.5: each sentence a predicate of the printed numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import flint

from odernn.bounds.numbers import BALLS
from odernn.published import complexity as printed
from odernn.published.complexity import PrintedRow, half_a_digit
from odernn.published.sources import Source
from verification.cases.decision import at, decided
from verification.cases.graph_statements import FIRST
from verification.cases.inequality import BITS, Inequality
from verification.cases.parameter_counts import quarter_case
from verification.cases.printed_columns import LESS, NOT_MORE, Relation, columns_case
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Claim, Decided, Hypothesis, Parameters
from verification.domains import Budget
from verification.kinds import Constant
from verification.measure.described_graphs import section_4_5
from verification.measure.graph_facts import facts_of
from verification.measure.graph_parameters import LSTMS, STANH
from verification.parameters import Parameter, declared

# --- Section 4.5

BIG = 10
"""What a "big performance gap" is taken to mean: this many points of accuracy, or more."""
ALMOST = 1
"""What "almost the same performance" is taken to mean: less than this many points of accuracy apart."""


def _coefficients(row: PrintedRow) -> dict[str, Fraction]:
    """s of every column, as printed in its heading: 1, 1, k/2 and k for the architectures (1) to (4) of Section 4.5."""
    if row in printed.ARCHITECTURES:
        k = _last_number(row)
        return dict(zip(row.numbers, (Fraction(1), Fraction(1), Fraction(k, 2), Fraction(k)), strict=True))
    return {column: Fraction(column) for column in row.numbers}


def shortest_case(rows: Sequence[PrintedRow], *, turns: int = 2) -> Case:
    """App. B.6, footnote 10: over k steps the shortest path from input to output is shorter in (2) than in (3), over
    2k steps it is longer. ``turns`` = 1 is a planted falsehood.
    """
    steps = sorted({_last_number(row) for row in rows})

    def is_wrong(one: Sequence[int], other: Sequence[int]) -> bool:
        return not (one[0] < other[0] and one[1] > other[1])

    def shown(one: Sequence[int], other: Sequence[int]) -> str:
        return f"{one[0]} against {other[0]} edges over k steps, {one[1]} against {other[1]} over {turns}k"

    def first(parameters: Parameters) -> Decided:
        k = int(parameters["k"])
        found = []
        for number in (2, 3):
            facts = facts_of(section_4_5(number, k))
            assert facts is not None
            lengths = facts.paths(0, turns * k, "shortest", between=True)
            found.append((lengths[k], lengths[turns * k]))
        return Decided(is_wrong(*found), shown(*found))

    def second(parameters: Parameters) -> Decided:
        """By every number of turns on every loop: a path has p skips, and in between steps of 1 in either layer."""
        k = int(parameters["k"])
        found = [[_least_edges(number, n, k) for n in (k, turns * k)] for number in (2, 3)]
        return Decided(is_wrong(*found), shown(*found))

    return decided(
        f"(2) and (3), k = {', '.join(map(str, steps))}",
        "shortest path from input to output: in (2) shorter over k steps, in (3) over 2k",
        at(*({"k": str(k)} for k in steps)),
        first,
        second,
        box="the k of Table 2",
        claimed="(2) over k, (3) over 2k",
        names=(FIRST, "counting"),
    )


def _least_edges(number: int, n: int, k: int) -> int:
    """Of a path of σ-sum n from in to out, with p skips over k: up to the second layer once more than it comes back by
    a skip in (3); by a skip at most once in (2).
    """
    if number == 2:  # in, h1, by an edge or a skip to h2, out; the other steps are loops
        return min(3 + (n - k * p) for p in (0, 1) if k * p <= n)
    return min(3 + 2 * p + (n - k * p) for p in range(n // k + 1))


def _pairs(row: PrintedRow) -> Iterator[tuple[str, str]]:
    """(column of the larger s, column of the smaller s)."""
    s = _coefficients(row)
    return ((one, other) for one, other in itertools.permutations(s, 2) if s[one] > s[other])


def larger_is_better_case(row: PrintedRow) -> Case:
    """Of any two architectures of one k, that with the larger s has the higher accuracy."""
    return columns_case(row, "a larger s has a higher accuracy", lambda: [pair[::-1] for pair in _pairs(row)], LESS)


def against_one_case(row: PrintedRow) -> Case:
    """Every s > 1 is better than s = 1, by BIG points or more."""

    def groups() -> list[tuple[str, str]]:
        s = _coefficients(row)
        return [(larger, smaller) for larger, smaller in _pairs(row) if s[smaller] == 1]

    relation = Relation(
        f"{BIG} points more, or more, for every s > 1 than for s = 1",
        lambda more, less: more - less >= BIG,
        lambda more, less: less + BIG <= more,
    )
    return columns_case(row, f"every s > 1 gains {BIG} points or more on s = 1", groups, relation)


def some_gap_case(row: PrintedRow) -> Case:
    """Some two different s are BIG points or more apart: the row as a whole is one comparison."""

    def gaps(numbers: Sequence[Any]) -> list[Any]:
        places = {column: place for place, column in enumerate(row.numbers)}
        return [numbers[places[one]] - numbers[places[other]] for one, other in _pairs(row)]

    relation = Relation(
        f"{BIG} points or more between some two different s",
        lambda *numbers: max(map(abs, gaps(numbers))) >= BIG,
        lambda *numbers: any(gap.copy_abs() >= BIG for gap in gaps(numbers)),
    )
    quantity = f"some two different s are {BIG} points or more apart"
    return columns_case(row, quantity, lambda: [tuple(row.numbers)], relation)


def cause_case(row: PrintedRow) -> Case:
    """The gap is due to s: two architectures of different s differ by more than two of the same s do."""

    def groups() -> list[tuple[str, ...]]:
        s = _coefficients(row)
        equal = [(one, other) for one, other in itertools.combinations(s, 2) if s[one] == s[other]]
        columns = [(*pair, *same) for pair in _pairs(row) for same in equal]
        return sorted(columns, key=lambda group: abs(row.value(group[0]) - row.value(group[1])))

    relation = Relation(
        "further apart, the first two (different s) than the last two (the same s)",
        lambda a, b, c, d: abs(a - b) > abs(c - d),
        lambda a, b, c, d: (a - b) * (a - b) > (c - d) * (c - d),
    )
    return columns_case(row, "different s differ by more than the same s", groups, relation)


def gain_case(row: PrintedRow, ours: str, theirs: str, gain: str) -> Case:
    """The difference of two accuracies, in points, is what is printed."""
    relation = Relation(
        f"{gain} points apart", lambda a, b: a - b == Fraction(gain), lambda a, b: b + Decimal(gain) == a
    )
    return columns_case(row, f"{ours} − {theirs} = {gain} points", lambda: [(ours, theirs)], relation)


def almost_case(row: PrintedRow, ours: str, theirs: str) -> Case:
    """Two accuracies are less than ALMOST points apart."""
    relation = Relation(
        f"less than {ALMOST} point apart", lambda a, b: abs(a - b) < ALMOST, lambda a, b: -ALMOST < b - a < ALMOST
    )
    return columns_case(row, f"{ours} and {theirs} less than {ALMOST} point apart", lambda: [(ours, theirs)], relation)


# --- Section 4.3

DEPTH_ROW = printed.DEPTHS[0]


def _second_step(axis: str) -> list[tuple[str, str]]:
    """Pairs (after, before): d_r from 1 to 2 where d_f = 2, 3, or d_f from 2 to 3 where d_r = 1, 2."""
    if axis == "d_r":
        return [(f"({f},2)", f"({f},1)") for f in (2, 3)]
    return [(f"(3,{r})", f"(2,{r})") for r in (1, 2)]


def _along(axis: str, fixed: int) -> list[tuple[str, str]]:
    """Pairs (fewer, more) of the other depth where d_r = fixed or d_f = fixed."""
    line = [f"({f},{fixed})" for f in (2, 3, 4)] if axis == "d_r" else [f"({fixed},{r})" for r in (1, 2, 3)]
    return list(itertools.combinations(line, 2))


# --- Section 4.4, copying memory


@dataclass(frozen=True)
class Metric:
    """A reading of the metric of the copying task: which steps the mean of the losses is taken over.

    recalled   what part of the steps that are averaged over are the ten symbols to be recalled, of length T
    unit       "nats" or "bits"
    """

    text: str
    recalled: Callable[[int], Fraction]
    unit: str


METRICS = tuple(
    Metric(f"{steps}, in {unit}", recalled, unit)
    for steps, recalled in (
        ("mean over all T + 20 steps", lambda T: Fraction(10, T + 20)),
        ("mean over the ten steps of recall", lambda T: Fraction(1)),
    )
    for unit in ("nats", "bits")
)


def _last_number(row: PrintedRow) -> int:
    """T, or k, at the end of the row's name."""
    return int(row.name.rpartition(" ")[2])


def baseline_case(row: PrintedRow, s: str, metric: Metric) -> Case:
    """The printed cross entropy is at most that of the best network without memory, whatever rounding changed.

    Where rounding decides, nothing is compared: no evaluation, and so no verdict.
    Ten symbols, uniform over eight, are all that such a network cannot predict: log 8 each (thm-base).
    """
    text, T = row.numbers[s], _last_number(row)
    low = row.value(s) - half_a_digit(text)
    share = metric.recalled(T)
    point = {"T": str(T), "s": s, "printed": str(row.value(s)), "low": str(low), "share": str(share)}
    asked = Hypothesis(
        f"T, s and the number as in {row.table}, low = printed − half a digit, share of recalled steps: {metric.text}",
        lambda p: Fraction(
            (p.T, p.s, p.printed, p.low, p.share) == (T, Fraction(s), row.value(s), low, metric.recalled(int(p.T)))
        ),
    )

    def balls(p: Any) -> tuple[Any, Any]:
        symbol = BALLS.exact(8).log()
        return p.low, p.share * (symbol if metric.unit == "nats" else symbol / BALLS.exact(2).log())

    def intervals(p: Any) -> tuple[Any, Any]:
        symbol = second.iv.log(second.iv.mpf(2)) * 3 if metric.unit == "nats" else second.iv.mpf(3)
        return p.low, symbol * p.share

    parameters = declared(*(Parameter(name, Constant(Fraction(value))) for name, value in point.items()))
    decide = Inequality(balls, intervals, (asked,), parameters=parameters).check

    def ask(_: Budget, __: int) -> Attempt:
        with flint.ctx.workprec(BITS):
            _, baseline = balls(_Numbers(BALLS.exact(low), BALLS.exact(share)))
            below = bool(BALLS.exact(row.value(s) + half_a_digit(text)) <= baseline)
            above = bool(BALLS.exact(low) > baseline)
            shown = baseline.str(6, radius=False)
        shown_losses = f"{text} against {shown} without memory"
        return Attempt(
            shown_losses,
            int(below or above),
            found=text,
            claimed=f"at most {shown}",
            proof=f"{shown_losses}, in balls" if below else "",
            candidates=(point,) if above else (),
        )

    return Case(f"{row.name}, s = {s}", f"cross entropy against no memory: {metric.text}", ask, decide)


@dataclass(frozen=True)
class _Numbers:
    low: Any
    share: Any


def _place(place: str) -> Source:
    return Source("complexity", place)


def _copying() -> Iterator[Case]:
    for row in printed.COPYING:
        fewer, more = row.numbers
        yield columns_case(row, f"less at s = {more} than at s = {fewer}", partial(list, [(more, fewer)]), LESS)
    for row in printed.COPYING:
        for s in row.numbers:
            yield from (baseline_case(row, s, metric) for metric in METRICS)


def joined(name: str, columns: dict[str, tuple[PrintedRow, str]]) -> PrintedRow:
    """Numbers of several rows of one table side by side, under new headings."""
    (table,) = {row.table for row, _ in columns.values()}
    return PrintedRow(table, name, {heading: row.numbers[column] for heading, (row, column) in columns.items()})


def best(row: PrintedRow) -> str:
    return max(row.numbers, key=row.value)


def _more_than_one(row: PrintedRow, some: bool) -> Iterator[Case]:
    """Some s > 1, or all, are above s = 1."""
    larger = [best(row)] if some else [s for s in row.numbers if s != "1"]
    yield columns_case(
        row, f"{'some' if some else 'every'} s > 1 above s = 1", lambda: [("1", s) for s in larger], LESS
    )


def no_gain_case(row: PrintedRow, start: str) -> Case:
    """No larger s gains ALMOST points on ``start``: no significant improvement."""
    relation = Relation(
        f"a gain of less than {ALMOST} point",
        lambda at, later: later - at < ALMOST,
        lambda at, later: later.compare(at + ALMOST) == -1,
    )
    larger = [s for s in row.numbers if int(s) > int(start)]
    quantity = f"s > {start} gains less than {ALMOST} point on s = {start}"
    return columns_case(row, quantity, lambda: [(start, s) for s in larger], relation)


def rising_case(row: PrintedRow, first: str, last: str) -> Case:
    """The accuracy rises from each s to the next one, between two of them."""
    columns = [s for s in row.numbers if int(first) <= int(s) <= int(last)]
    steps = tuple(itertools.pairwise(columns))
    return columns_case(row, f"rising from s = {first} to {last}", lambda: steps, LESS)


def smaller_case(unit: str, plain: PrintedRow, permuted: PrintedRow) -> Case:
    """MNIST needs a larger s than pMNIST: what it has at an s > 1 is reached, permuted, at a smaller s."""
    columns = {
        f"{task}, s = {s}": (row, s) for task, row in (("MNIST", plain), ("pMNIST", permuted)) for s in row.numbers
    }
    relation = Relation(
        "reached by one of the others",
        lambda reached, *others: any(other >= reached for other in others),
        lambda reached, *others: max(others).compare(reached) != -1,
    )
    groups = [
        (f"MNIST, s = {s}", *(f"pMNIST, s = {less}" for less in permuted.numbers if int(less) < int(s)))
        for s in plain.numbers
        if s != "1"
    ]
    quantity = "every accuracy of MNIST at an s > 1 is reached on pMNIST at a smaller s"
    return columns_case(joined(f"{unit}, MNIST and pMNIST", columns), quantity, lambda: groups, relation)


def _cited() -> Iterator[Case]:
    """td beside what Section 4.2 cites."""
    near, below = printed.CITED
    relation = Relation(
        "one unit of the last digit apart, or less",
        lambda a, b: abs(a - b) <= Fraction(1, 100),
        lambda a, b: abs((a - b).scaleb(2)) <= 1,
    )
    ours, theirs = near.numbers
    yield columns_case(near, "td comparable to what is cited", lambda: [(ours, theirs)], relation)
    yield columns_case(below, "td below what is cited", lambda: [tuple(below.numbers)], LESS)


def _section_4_4() -> Iterator[Case]:
    tanh, tanh_permuted, lstm, lstm_permuted = printed.LADDERS
    for row in (tanh, tanh_permuted):
        yield from _more_than_one(row, some=False)
        yield rising_case(row, "1", best(row))
    for row in (lstm, lstm_permuted):
        yield from _more_than_one(row, some=True)
    yield no_gain_case(lstm, "3")
    yield rising_case(lstm_permuted, "4", "6")
    common = [s for s in lstm_permuted.numbers if s in tanh_permuted.numbers]
    both = {
        f"{unit}, s = {s}": (row, s) for unit, row in (("LSTM", lstm_permuted), ("tanh", tanh_permuted)) for s in common
    }
    permuted = joined("pMNIST, LSTM and tanh RNN of one s", both)
    yield columns_case(
        permuted, "LSTM below tanh", lambda: [(f"LSTM, s = {s}", f"tanh, s = {s}") for s in common], LESS
    )
    yield rising_case(tanh_permuted, "1", "9")
    yield from _more_than_one(lstm_permuted, some=False)
    yield smaller_case("tanh RNN", tanh, tanh_permuted)
    for row in printed.PREVIOUS:
        yield columns_case(row, "stanh above iRNN", lambda: [("iRNN", "stanh")], LESS)
    yield smaller_case("LSTM", lstm, lstm_permuted)


def _section_4_5() -> Iterator[Case]:
    yield from map(some_gap_case, (*printed.LADDERS, *printed.ARCHITECTURES))
    yield from map(against_one_case, printed.LADDERS)
    yield from map(cause_case, printed.ARCHITECTURES)
    yield from map(larger_is_better_case, printed.ARCHITECTURES)
    mnist, permuted = printed.PREVIOUS
    yield almost_case(mnist, "stanh", "LSTM")
    yield from (quarter_case(STANH, lstm, domain) for domain, lstm in LSTMS.items())
    yield gain_case(permuted, "stanh", "uRNN", "2.6")
    for row in printed.ARCHITECTURES:
        yield columns_case(row, "(3) above (2)", partial(list, [("(2)", "(3)")]), LESS)
    for row in printed.ARCHITECTURES:
        if row.name.startswith("MNIST"):
            yield almost_case(row, "(2)", "(1)")
    yield shortest_case(printed.ARCHITECTURES)


CLAIMS = (
    Claim(
        id="cplx-4.2-tab",
        source=_place("Sec. 4.2, Table 1 left"),
        statement="td outperforms the others on every row: its bits per character are less than those of sh, st, bu; "
        "1.49 is comparable to the cited 1.48, one unit of the last digit, and below the cited 1.54",
        semantics="reading",
        cases=(
            *(
                columns_case(row, "td below sh, st, bu", lambda: [("td", each) for each in ("sh", "st", "bu")], LESS)
                for row in printed.STRUCTURES
            ),
            *_cited(),
        ),
    ),
    Claim(
        id="cplx-4.3-tab",
        source=_place("Sec. 4.3, Table 1 right"),
        statement="best at d_f = 3, d_r = 2; d_r from 1 to 2 at d_f = 2, 3, and d_f from 2 to 3 at d_r = 1, 2, "
        "improve; for d_r = 3 or d_f = 4 increasing the other depth only hurts: never lowers the printed number",
        semantics="reading",
        cases=(
            columns_case(
                DEPTH_ROW,
                "(3,2) below all others",
                lambda: [("(3,2)", column) for column in DEPTH_ROW.numbers if column != "(3,2)"],
                LESS,
            ),
            columns_case(DEPTH_ROW, "d_f = 2, 3: d_r from 1 to 2 improves", partial(_second_step, "d_r"), LESS),
            columns_case(DEPTH_ROW, "d_r = 1, 2: d_f from 2 to 3 improves", partial(_second_step, "d_f"), LESS),
            *(
                columns_case(
                    DEPTH_ROW,
                    f"{axis} = {fixed}: increasing {other} only hurts, {name}",
                    partial(_along, axis, fixed),
                    relation,
                )
                for axis, fixed, other in (("d_r", 3, "d_f"), ("d_f", 4, "d_r"))
                for name, relation in (("strict", LESS), ("weak", NOT_MORE))
            ),
        ),
    ),
    Claim(
        id="cplx-4.4-copy",
        source=_place("Sec. 4.4"),
        statement="copying memory, printed cross entropies: T = 200: 0.2409 (s = 1), 0.0975 (s = 40); T = 300: 0.2025, "
        "0.1328 (s = 30): less with the larger s, by a large margin, for which the suite has no size",
        semantics="reading",
        cases=tuple(_copying()),
    ),
    Claim(
        id="cplx-4.4-tab",
        source=_place("Sec. 4.4, Table 2 top"),
        statement="on sequential MNIST larger s help tanh RNNs, the more the larger within a range, and some help "
        "LSTMs; the LSTM gains nothing beyond s = 3, where almost nothing is less than "
        f"{ALMOST} point; permuted it improves from s = 4 to 6 and stays below the tanh RNN of the same s; MNIST "
        "needs larger s than pMNIST; stanh improves on the iRNN",
        semantics="reading",
        cases=tuple(_section_4_4()),
    ),
    Claim(
        id="cplx-4.5-tab",
        source=_place("Secs 4.4, 4.5, Table 2"),
        statement="at each k different s of the four architectures go with big gaps, and that with the larger s is "
        "better, (3) than (2) in particular; on MNIST (2) is almost as good as (1), and stanh as the LSTM; on pMNIST "
        f"stanh is 2.6 points better than uRNN. Big: {BIG} points; almost: less than {ALMOST} apart. App. B.6: the "
        "shortest path over k steps is shorter in (2) than in (3), over 2k in (3)",
        semantics="reading",
        cases=tuple(_section_4_5()),
    ),
)
