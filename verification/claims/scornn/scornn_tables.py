# Claims: sco-T3time · sco-5.3-tab · sco-5.4-tab
"""What Helfrich et al. 2018 say of their Tables 1 to 3: each sentence a predicate of the printed numbers.

sco-T3time, sco-5.3-tab, sco-5.4-tab. Sentences are those of Secs. 5.3, 5.4, 5.5.3 and the abstract as
this file reads them; vague words have one meaning each, stated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from odernn.published import scornn as printed
from odernn.published.scornn import PrintedModel, row
from odernn.published.sources import Source
from verification.cases.decision import at, decided
from verification.cases.scornn_parameters import Repeated
from verification.claim import Attempt, Case, Check, Claim, Decided, Opinion, Parameters
from verification.domains import Budget
from verification.kinds import Integer
from verification.parameters import Parameter, declared

SIMILAR = "0.005"
"""What "similar", "comparable" accuracy is taken to mean: no more than half a percentage point apart."""


@dataclass(frozen=True)
class PairRelation:
    """What should hold between two printed numbers, typed for fractions and once more for decimals."""

    text: str
    holds: Callable[[Fraction, Fraction], bool]
    again: Callable[[Decimal, Decimal], bool]


LARGER = PairRelation("larger", lambda a, b: a > b, lambda a, b: b.compare(a) == -1)
SMALLER = PairRelation("smaller", lambda a, b: a < b, lambda a, b: b.compare(a) == 1)
CLOSE = PairRelation(
    f"within {SIMILAR}",
    lambda a, b: abs(a - b) <= Fraction(SIMILAR),
    lambda a, b: -Decimal(SIMILAR) <= a - b <= Decimal(SIMILAR),
)


SIMILAR_TIME = PairRelation(
    "similar, 4/5 to 5/4 of each other",
    lambda a, b: max(a / b, b / a) <= Fraction(5, 4),
    lambda a, b: 4 * abs(a - b) <= min(a, b),
)
"""Nearer to 1 than to 1.5, the smallest ratio of times that the paper names as a difference."""
NO_SLOWER = PairRelation(
    "no slower, or similar", lambda a, b: a / b <= Fraction(5, 4), lambda a, b: (5 * b).compare(4 * a) >= 0
)
TENTH = PairRelation("at most a tenth", lambda a, b: 10 * a <= b, lambda a, b: b.scaleb(-1) >= a)

TWICE = PairRelation("at least twice as large", lambda a, b: a >= 2 * b, lambda a, b: (b + b).compare(a) != 1)
"""What "much larger" and "significantly longer" are taken to mean, at the least."""


def times(text: str) -> PairRelation:
    """The second number is ``text`` times the first, to the digits of the text."""
    digits = len(text.partition(".")[2])
    half = Fraction(1, 2 * 10**digits)

    def again(a: Decimal, b: Decimal) -> bool:
        least, most = (2 * Decimal(text) * 10**digits + sign for sign in (-1, 1))
        return bool(least * a <= 2 * b * 10**digits <= most * a)

    return PairRelation(f"{text} times as large, the second", lambda a, b: abs(b / a - Fraction(text)) <= half, again)


Pair = tuple[PrintedModel, PrintedModel]


def pairs_case(domain: str, column: str, pairs: Iterable[Pair], relation: PairRelation, quantity: str) -> Case:
    """The relation between the results of every pair of models in that column."""
    known = tuple(pairs)

    def words(one: PrintedModel, other: PrintedModel) -> str:
        return f"{column}: {one.name} {one.results[column]}, {other.name} {other.results[column]}"

    def ask(_: Budget, __: int) -> Attempt:
        wrong = [pair for pair in known if not relation.holds(pair[0].value(column), pair[1].value(column))]
        listed = "; ".join(words(*pair) for pair in known)
        return Attempt(
            listed,
            len(known),
            found=words(*(wrong or known)[0]),
            claimed=quantity,
            proof="" if wrong else listed,
            candidates=tuple(
                {"pair": str(known.index(pair) + 1), "numbers": f"{pair[0].results[column]} {pair[1].results[column]}"}
                for pair in wrong
            ),
        )

    def check(parameters: Parameters) -> Check:
        one, other = known[int(parameters["pair"]) - 1]
        numbers = one.results[column], other.results[column]
        shown = f"{words(one, other)}: not {relation.text}"
        return Check(
            opinions=(
                Opinion("fractions", not relation.holds(Fraction(numbers[0]), Fraction(numbers[1])), shown),
                Opinion("decimals", not relation.again(Decimal(numbers[0]), Decimal(numbers[1])), shown),
            ),
            words=shown,
        )

    results = tuple(f"{one.results[column]} {other.results[column]}" for one, other in known)
    declaration = declared(Parameter("pair", Integer(1, len(known))), Parameter("numbers", Repeated("pair", results)))
    return Case(domain, f"{column}: {quantity}", ask, declaration.guards(check))


def _against(one: PrintedModel, others: Sequence[PrintedModel]) -> list[Pair]:
    return [(one, other) for other in others if other is not one]


def some_case(rows: Sequence[PrintedModel], column: str) -> Case:
    """Some scoRNN has a larger result than some other unitary or orthogonal RNN with more parameters."""

    def known(model: str) -> str:
        wanted = [row for row in rows if (row.model == "scoRNN") == (model == "scoRNN") and row.model != "LSTM"]
        return " ".join(f"{_thousands(row)} {row.results[column]}" for row in wanted if column in row.results)

    def first(p: Parameters) -> Decided:
        ours, theirs = (_in_pairs(list(map(Fraction, p[name].split()))) for name in ("scoRNN", "others"))
        better = [(a, b) for a in ours for b in theirs if a[0] < b[0] and a[1] > b[1]]
        shown = "; ".join(f"{float(a[0]):g}k {float(a[1])} above {float(b[0]):g}k {float(b[1])}" for a, b in better)
        return Decided(not better, shown or "none with fewer parameters is above any other")

    def second(p: Parameters) -> Decided:
        """Going up in size, the best scoRNN so far against each other model; the other one first at equal sizes."""
        ours, theirs = (_in_pairs(list(map(Decimal, p[name].split()))) for name in ("scoRNN", "others"))
        best, above = Decimal(0), 0
        for _, ours_too, result in sorted([(size, 0, r) for size, r in theirs] + [(size, 1, r) for size, r in ours]):
            above += not ours_too and best > result
            best = max(best, result) if ours_too else best
        return Decided(above == 0, f"{above} other models below a smaller scoRNN")

    return decided(
        "fewer parameters",
        f"{column}: some scoRNN above another unitary RNN",
        at({"scoRNN": known("scoRNN"), "others": known("others")}),
        first,
        second,
        box="thousands of parameters and accuracies as printed",
        claimed="some",
        names=("fractions", "decimals"),
    )


def _in_pairs(numbers: Sequence[Any]) -> list[tuple[Any, Any]]:
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _thousands(each: PrintedModel) -> str:
    return each.parameters.removesuffix("k").replace(",", "")


def _sized(each: PrintedModel) -> PrintedModel:
    """The row with its number of parameters as its result."""
    return replace(each, results={"thousands of parameters": _thousands(each)})


def _size(each: PrintedModel) -> Fraction:
    return Fraction(_thousands(each))


def no_larger(rows: Sequence[PrintedModel], others: Sequence[PrintedModel], column: str) -> Iterator[Pair]:
    """For every model of ``others`` the best scoRNN with no more parameters, as printed."""
    for other in others:
        fitting = [row for row in rows if row.model == "scoRNN" and _size(row) <= _size(other)]
        yield max(fitting, key=lambda each: each.value(column)), other


def same_size(rows: Sequence[PrintedModel]) -> list[Pair]:
    """scoRNN with every other model of the same printed number of parameters."""
    ours = [row for row in rows if row.model == "scoRNN"]
    return [
        (one, other) for one in ours for other in rows if other.model != "scoRNN" and other.parameters == one.parameters
    ]


def _best(rows: Sequence[PrintedModel], model: str, column: str) -> PrintedModel:
    return max((row for row in rows if row.model == model), key=lambda each: each.value(column))


def _time(model: str, n: int) -> PrintedModel:
    return row("Table 3", model, n)


def _mnist(model: str, n: int) -> PrintedModel:
    return row("Table 1", model, n)


def _time_cases() -> Iterator[Case]:
    small = _time("scoRNN", 170)
    large = _time("scoRNN", 512)
    yield pairs_case(
        "16k parameters",
        "minutes",
        [(small, _time("restricted uRNN", 512))],
        times("1.5"),
        "scoRNN n = 170 approximately 1.5 times faster than restricted uRNN",
    )
    yield pairs_case(
        "16k parameters, full",
        "minutes",
        [(small, _time("full uRNN", 116))],
        times("2"),
        "scoRNN n = 170 twice as fast as full uRNN",
    )
    yield pairs_case(
        "137k parameters",
        "minutes",
        [(large, _time("full uRNN", 360))],
        times("2"),
        "scoRNN 11.2 and full uRNN 25.8, the same relation",
    )
    lstms = [row for row in printed.MINUTES if row.model == "LSTM"]
    yield pairs_case(
        "LSTM", "minutes", [(row, large) for row in lstms], times("2"), "LSTM about twice as fast as scoRNN n = 512"
    )
    yield pairs_case("LSTM", "minutes", [(row, small) for row in lstms], SIMILAR_TIME, "LSTM similar to scoRNN n = 170")
    built_in = [row for row in printed.MINUTES if row.model in ("RNN", "LSTM")]
    others = [row for row in printed.MINUTES if row not in built_in]
    against = [(row, other) for row in built_in for other in others]
    yield pairs_case("RNN and LSTM", "minutes", against, NO_SLOWER, "fastest, or similar to the fastest")
    same = [(a, b) for a in built_in for b in built_in if a.model == b.model and a.hidden_size < b.hidden_size]
    yield pairs_case("RNN and LSTM", "minutes", same, SIMILAR_TIME, "similar for all n")
    yield pairs_case("RNN and LSTM", "minutes", against, SMALLER, "fastest, to the digit")


def _mnist_cases() -> Iterator[Case]:
    plain, permuted = "MNIST", "permuted MNIST"
    small, middle, best = (_mnist("scoRNN", n) for n in (170, 360, 512))
    unitary = [row for row in printed.MNIST if row.model.endswith("uRNN")]
    wide = [_mnist("restricted uRNN", 512), _mnist("full uRNN", 512)]
    domain = "scoRNN n = 512"
    quoted = {column: [row for row in printed.QUOTED if column in row.results] for column in (plain, permuted)}
    table = [*printed.MNIST, *quoted[permuted]]
    yield pairs_case(domain, permuted, _against(best, table), LARGER, "the highest of the table")
    yield pairs_case(domain, plain, _against(best, [*unitary, *quoted[plain]]), LARGER, "above all uRNNs")
    yield pairs_case(
        "best scoRNN, best LSTM",
        plain,
        [(best, _best(printed.MNIST, "LSTM", plain))],
        SMALLER,
        "scoRNN does not outperform the LSTM",
    )
    for column in (plain, permuted):
        yield pairs_case("scoRNN n = 170", column, _against(small, wide), CLOSE, "similar to both uRNNs with n = 512")
    yield pairs_case(
        "scoRNN n = 170",
        "thousands of parameters",
        [(_sized(small), _sized(_mnist("full uRNN", 512)))],
        TENTH,
        "an order of magnitude fewer than full uRNN n = 512",
    )
    pair = [(middle, _mnist("restricted uRNN", 2170))]
    yield pairs_case("69k parameters", plain, pair, CLOSE, "scoRNN and restricted uRNN comparable")
    yield pairs_case("69k parameters", permuted, pair, LARGER, "scoRNN above restricted uRNN")
    for column in (plain, permuted):
        yield some_case((*printed.MNIST, *printed.QUOTED), column)
    for column in (plain, permuted):
        pairs = no_larger(printed.MNIST, unitary, column)
        yield pairs_case(
            "no more parameters", column, pairs, LARGER, "for every uRNN a better scoRNN with no more parameters"
        )
    rotating = [row for row in (*printed.MNIST, *quoted[plain]) if row.model != "LSTM"]
    lstm = _best(printed.MNIST, "LSTM", plain)
    against = [(row, lstm) for row in rotating]
    yield pairs_case("every orthogonal and unitary RNN", plain, against, SMALLER, "below the best LSTM")
    much = "restricted uRNN much larger than scoRNN"
    ours, theirs = (replace(each, results={"hidden units": str(each.hidden_size)}) for each in pair[0])
    yield pairs_case("69k parameters", "hidden units", [(theirs, ours)], TWICE, much)
    slow = [(_time("restricted uRNN", 2170), _time("scoRNN", 360))]
    yield pairs_case("69k parameters", "minutes", slow, TWICE, "restricted uRNN significantly longer than scoRNN")


def _timit_cases() -> Iterator[Case]:
    equal = same_size(printed.TIMIT)
    for column in ("validation", "evaluation"):
        yield pairs_case("equal numbers of parameters", column, equal, SMALLER, "scoRNN below the others")
        worst = max((row for row in printed.TIMIT if row.model == "scoRNN"), key=lambda each: each.value(column))
        others = [row for row in printed.TIMIT if row.model != "scoRNN"]
        yield pairs_case("every scoRNN", column, _against(worst, others), SMALLER, "below every other model")
        sizes = [row for row in printed.TIMIT if row.model == "scoRNN"]
        larger = list(zip(sizes[1:], sizes, strict=False))
        yield pairs_case("scoRNN, more units", column, larger, SMALLER, "a larger n has a smaller error")


CLAIMS = (
    Claim(
        id="sco-T3time",
        source=Source("scornn", "Sec. 5.5.3, Table 3"),
        statement="minutes per epoch: at 16k parameters scoRNN is about 1.5 times as fast as the restricted and twice "
        "as fast as the full uRNN, 11.2 against 25.8 minutes at 137k; RNN and LSTM are fastest whatever n is, the LSTM "
        "similar to scoRNN n = 170 and twice as fast as n = 512. To the digits of the words; similar: 4/5 to 5/4",
        semantics="reading",
        cases=tuple(_time_cases()),
    ),
    Claim(
        id="sco-5.3-tab",
        source=Source("scornn", "Sec. 5.3, Table 1, abstract"),
        statement="scoRNN n = 512 has the highest accuracy on permuted MNIST, and outperforms the other orthogonal and "
        "unitary RNNs unpermuted, none of which outperforms the LSTM; n = 170 is similar to both uRNNs with n = 512; "
        "at 69k parameters comparable to the restricted uRNN, better permuted, much smaller and faster; abstract: in "
        "some experiments better than other unitary RNNs at a smaller size. Similar, comparable: at most "
        f"{SIMILAR} apart; much, significantly: twice or more",
        semantics="reading",
        cases=tuple(_mnist_cases()),
    ),
    Claim(
        id="sco-5.4-tab",
        source=Source("scornn", "Sec. 5.4, Table 2"),
        statement="scoRNN has a smaller mean squared error than the LSTM and both uRNNs with as many parameters, on "
        "the validation and the evaluation set; each scoRNN below all others",
        semantics="reading",
        cases=tuple(_timit_cases()),
    ),
)
