# Claims: both-param-counts · both-baseline-counts · both-2-hyperparams · both-4-health · both-4-small ·
#   both-A-init · both-C.4-L3max · both-4-fewer
"""Numbers of the tables and of the text around them: parameters, hyperparameters, lengths, an initialisation bound.

The printed counts of UnICORNN are asked under one convention, no biases and the readout, for all rows alike. Those of
the others agree if they agree under any of the conventions stated here: with or without biases, with or without the
readout, rounded or cut off at the last printed digit or at the last digit that is not a 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

import torch
from flint import fmpq
from torch import nn

from odernn.published.networks import ROWS, PublishedNetwork, PublishedRow, network
from odernn.published.sources import Source
from verification.cases.module_counts import NORMALISED, Size, constants, count_case, range_case, sized_case
from verification.cases.related import OneOf
from verification.certify.second.intervals import iv
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget, printed_name
from verification.exact_text import number, numbers, rational, rationals
from verification.kinds import Constant
from verification.parameters import Declaration, Parameter, declared

ONE_FOR_ALL = "no biases, readout"
"""The convention that fits all six rows of UnICORNN."""


# --- hyperparameters of a row


def _decimals(values: Iterable[Fraction]) -> str:
    """Each value once, as a decimal."""
    return ", ".join(f"{float(value):g}" for value in dict.fromkeys(values))


def _hyperparameters(printed: PublishedRow) -> Callable[[Budget, int], Attempt]:
    def ask(_: Budget, __: int) -> Attempt:
        count = len(set(printed.dt)) + 1
        text = f"values of dt: {_decimals(printed.dt)}; α = {float(printed.alpha):g}"
        return Attempt(
            tried=text,
            evaluations=1,
            found=f"{count} ({text})",
            claimed="2",
            proof=text if count <= 2 else "",
            candidates=() if count <= 2 else ({"dt": rationals(printed.dt), "alpha": rational(printed.alpha)},),
        )

    return ask


def _hyperparameters_check(printed: PublishedRow) -> Callable[[Parameters], Check]:
    def check(parameters: Parameters) -> Check:
        dt, alpha = numbers(parameters, "dt"), number(parameters, "alpha")
        exact = len(set(dt)) + 1
        balls = [fmpq(step_size.numerator, step_size.denominator) for step_size in dt]
        pairwise = 1 + sum(all(each != earlier for earlier in balls[:place]) for place, each in enumerate(balls))
        return Check(
            opinions=(
                Opinion("fractions", exact > 2, f"{exact} numbers"),
                Opinion("flint", pairwise > 2, f"{pairwise} numbers, compared pairwise"),
            ),
            words=f"{printed.name}: Table 6 gives dt = {_decimals(dt)} and "
            f"α = {float(alpha):g}, {exact} numbers for one memory unit, learning rate, sizes and dropout not counted",
        )

    return check


def _of_row(printed: PublishedRow) -> Declaration:
    return declared(
        Parameter("dt", Constant(rationals(printed.dt))), Parameter("alpha", Constant(Fraction(printed.alpha)))
    )


# --- sampled length, small numbers


def _equality(
    text: str, left: Callable[[], Fraction], right: Fraction, parameters: Parameters
) -> Callable[[Budget, int], Attempt]:
    def ask(_: Budget, __: int) -> Attempt:
        equal = left() == right
        return Attempt(
            tried=text,
            evaluations=1,
            found=str(left()),
            claimed=str(right),
            proof=f"{text} = {right}" if equal else "",
            candidates=() if equal else (parameters,),
        )

    return ask


def _equality_check(
    text: str, compute: Callable[[list[Fraction]], Fraction], names: tuple[str, ...]
) -> Callable[[Parameters], Check]:
    """``compute`` uses + and · only: it runs over fractions, and once more over mpmath's intervals."""

    def check(parameters: Parameters) -> Check:
        values, printed = [number(parameters, name) for name in names], number(parameters, "printed")
        intervals = [iv.mpf(value.numerator) / value.denominator for value in values]
        exact = compute(values)
        difference = compute(intervals) - iv.mpf(printed.numerator) / printed.denominator
        return Check(
            opinions=(
                Opinion("fractions", exact != printed, f"{exact} against {printed}"),
                Opinion("mpmath", 0 not in difference, f"difference {difference}"),
            ),
            words=f"{text} = {exact}, printed {printed}",
        )

    return check


def _equality_case(
    domain: str, text: str, names: tuple[str, ...], compute: Callable[[list[Fraction]], Fraction], stated: Parameters
) -> Case:
    values = [Fraction(stated[name]) for name in names]
    return Case(
        domain,
        text,
        _equality(text, lambda: compute(values), Fraction(stated["printed"]), stated),
        constants(stated).guards(_equality_check(text, compute, names)),
    )


def _product(values: list[Fraction]) -> Fraction:
    return values[0] * values[1] * 60


MUCH_SMALLER = Fraction(1, 100)
"""What L ≪ N is taken to mean: L/N at most this."""


def _of_rows(
    text: str, value: Callable[[PublishedRow], Fraction], most: Fraction, rows: tuple[PublishedRow, ...]
) -> Callable[[Budget, int], Attempt]:
    def ask(_: Budget, __: int) -> Attempt:
        worst = max(rows, key=value)
        shown = f"{text} is at most {float(value(worst)):.3g} ({worst.name}) over {len(rows)} rows of Table 6"
        holds = value(worst) <= most
        return Attempt(
            tried=shown,
            evaluations=len(rows),
            found=f"{float(value(worst)):.3g}",
            claimed=f"≤ {float(most):g}",
            proof=shown if holds else "",
            candidates=() if holds else ({"L": str(worst.num_layers), "N": str(worst.steps)},),
        )

    return ask


def _of_rows_check(value: Callable[[Fraction, Fraction], Fraction], most: Fraction) -> Callable[[Parameters], Check]:
    def check(parameters: Parameters) -> Check:
        L, N = number(parameters, "L"), number(parameters, "N")
        computed = value(L, N)
        gap = iv.mpf(computed.numerator) / computed.denominator - iv.mpf(most.numerator) / most.denominator
        return Check(
            opinions=(
                Opinion("fractions", computed > most, f"{computed} against {most}"),
                Opinion("mpmath", bool(gap.a > 0), f"difference {gap}"),
            ),
            words=f"L = {L}, N = {N}: {computed} > {most}",
        )

    return check


STACKS_OF_APP_E = (3, 4, 5, 6)
"""Layers of the fully connected networks that are trained beside residual ones: sam Fig. 3, icml Fig. 6."""


def _depths(most: int) -> Case:
    """L ≤ ``most`` for the standard networks of App. E."""

    def ask(_: Budget, __: int) -> Attempt:
        deeper = [L for L in STACKS_OF_APP_E if most < L]
        text = f"L = {', '.join(map(str, STACKS_OF_APP_E))}"
        return Attempt(
            tried=text,
            evaluations=len(STACKS_OF_APP_E),
            found=f"L = {max(STACKS_OF_APP_E)}",
            claimed=f"L ≤ {most}",
            proof="" if deeper else f"{text}, as printed",
            candidates=tuple({"L": str(L)} for L in reversed(deeper)),
        )

    def check(parameters: Parameters) -> Check:
        L = number(parameters, "L")
        gap = iv.mpf(L.numerator) / L.denominator - most
        return Check(
            opinions=(
                Opinion("fractions", most < L, f"{L} against {most}"),
                Opinion("mpmath", bool(gap.a > 0), f"difference {gap}"),
            ),
            words=f"a fully connected stack of L = {L} layers is trained, against L ≤ {most}",
        )

    layers = declared(Parameter("L", OneOf(lambda _: list(map(str, STACKS_OF_APP_E)))))
    return Case("App. E, standard network", "L", ask, layers.guards(check))


def _sizes_of(rows: tuple[PublishedRow, ...]) -> Declaration:
    """L and N of one of them."""
    return declared(
        Parameter("L", OneOf(lambda _: [str(row.num_layers) for row in rows])),
        Parameter("N", OneOf(lambda values: [str(row.steps) for row in rows if str(row.num_layers) == values["L"]])),
    )


_WITH_LENGTH = tuple(r for r in ROWS if not any(note.startswith("N =") for note in r.notes))


# --- the initialisation


def _slope(_: Budget, __: int) -> Attempt:
    """gain² · 3/fan_in with gain² = 2/(1 + a²) is c/fan_in; c against 6/65."""
    constant = _constant(Fraction(8))
    text = f"for every fan_in: (gain · √(3/fan_in))² = ({constant})/fan_in, gain² = 2/(1 + a²), a = 8"
    good = constant == Fraction(6, 65)
    return Attempt(
        text,
        1,
        found=f"{constant}",
        claimed="6/65",
        proof=text if good else "",
        candidates=() if good else ({"a": "8"},),
    )


def _constant(slope: Fraction) -> Fraction:
    return 3 * 2 / (1 + slope**2)


def _slope_check(parameters: Parameters) -> Check:
    a = number(parameters, "a")
    constant = _constant(a)
    b = iv.mpf(a.numerator) / a.denominator
    gap = (iv.sqrt(2 / (1 + b**2)) * iv.sqrt(3)) ** 2 - iv.mpf(6) / 65
    return Check(
        opinions=(
            Opinion("fractions", constant != Fraction(6, 65), f"{constant} against 6/65"),
            Opinion("mpmath", 0 not in gap, f"difference {gap}"),
        ),
        words=f"a = {a}: {constant} against 6/65",
    )


DRAWS = {"smoke": 2**16, "standard": 2**20, "deep": 2**23}


def _drawn(budget: Budget, seed: int) -> Attempt:
    """torch's own Kaiming initialisation in float64, for the widths of Table 6: the largest |V_ij| over its bound."""
    generator = torch.Generator().manual_seed(seed)
    widths = sorted({r.input_size for r in ROWS} | {r.hidden_size for r in ROWS})
    shares = {}
    for width in widths:
        weights = torch.empty(DRAWS[budget.name] // width + 1, width, dtype=torch.float64)
        nn.init.kaiming_uniform_(weights, a=8, generator=generator)
        shares[width] = float(weights.abs().max()) / math.sqrt(6 / (65 * width))
    worst = max(shares, key=lambda width: shares[width])
    return Attempt(
        tried=f"{DRAWS[budget.name]:,} numbers drawn for each fan_in of {widths} by torch",
        evaluations=DRAWS[budget.name] * len(widths),
        log_measured=math.log(shares[worst]),
        log_claimed=0.0,
        found=f"{shares[worst]:.6f} of the bound (fan_in = {worst})",
        claimed="at most 1",
    )


# --- the claims


def _unicornn_cases() -> Iterator[Case]:
    sizes: dict[str, PublishedRow | PublishedNetwork] = {
        **{printed_name(row): row for row in ROWS if row.parameters is not None},
        "printed Lorenz96": network("unicornn", "Lorenz96"),
    }
    for domain, size in sizes.items():
        yield count_case(domain, size, ONE_FOR_ALL, is_rounded=True)
    for domain in ("printed psMNIST-256", "printed EigenWorms", "printed Lorenz96"):
        yield count_case(f"{domain}, b counted", sizes[domain], "biases b^l, readout", is_rounded=True)


def _baseline_cases() -> Iterator[Case]:
    for cell, names in (("cornn", ("psMNIST", "nCIFAR", "EigenWorms", "IMDB")), ("lstm", ("psMNIST", "nCIFAR"))):
        for name in names:
            yield count_case(f"{cell} {name}", network(cell, name))
    yield range_case("lstm, m = 128, d = 96", network("lstm", "nCIFAR"), 114_688, 117_002)
    for cell in ("cornn", "lstm"):
        yield count_case(f"{cell} Lorenz96", network(cell, "Lorenz96"))
    for size in EIGENWORMS:
        yield sized_case(f"{size.cell} EigenWorms", size)


EIGENWORMS = (
    Size("lstm", 32, 6, 1, 5, "5.3k", "2 bias vectors, readout"),
    Size("exprnn", 64, 6, 1, 5, "2.8k", "bias, readout"),
    Size("indrnn", 32, 6, 2, 5, "1.6k", f"{NORMALISED}, readout"),
)
"""Of Table 3, whose networks the authors trained themselves: everything that is trained is counted."""


TABLE_5 = {"LSTM": 220, "skip LSTM": 220, "GRU": 99, "ReLU GRU": 99, "skip GRU": 165, "coRNN": 46}
"""Parameters of the others on IMDB, in thousands, as printed."""


def fewer_case(ours: int = 30) -> Case:
    """UnICORNN has fewer parameters than each of the others in Table 5, by the printed numbers."""

    def ask(_: Budget, __: int) -> Attempt:
        least = min(TABLE_5, key=lambda name: TABLE_5[name])
        text = f"{ours}k against {TABLE_5[least]}k ({least}) and more: {ours / TABLE_5[least]:.0%} of the next"
        smaller = tuple({"ours": str(ours), "other": str(size)} for size in TABLE_5.values() if size <= ours)
        return Attempt(
            text, len(TABLE_5), found=text, claimed="fewer", proof="" if smaller else text, candidates=smaller
        )

    def check(parameters: Parameters) -> Check:
        less, more = number(parameters, "ours"), number(parameters, "other")
        gap = iv.mpf(more.numerator) / more.denominator - iv.mpf(less.numerator) / less.denominator
        return Check(
            opinions=(
                Opinion("fractions", less >= more, f"{less}k against {more}k"),
                Opinion("mpmath", bool(gap.b <= 0), f"difference {gap}"),
            ),
            words=f"{less}k is not fewer than {more}k",
        )

    sizes = declared(
        Parameter("ours", Constant(Fraction(ours))),
        Parameter("other", OneOf(lambda _: sorted({str(size) for size in TABLE_5.values()}))),
    )
    return Case("Table 5, IMDB", "parameters of UnICORNN against each other network", ask, sizes.guards(check))


_LENGTH: Parameters = {"frequency": "125", "minutes": "8", "printed": "4000"}
_PADDED: Parameters = {"rows": "32", "noise": "968", "printed": "1000"}
_SHARE: Parameters = {"share": "3/10", "training": "25000", "printed": "7500"}

CLAIMS = (
    Claim(
        id="both-param-counts",
        source=Source("icml", "Tables 1, 2, 3, 5, 7"),
        statement="UnICORNN has 35k, 135k, 47k, 1.5k, 30k and 9k parameters in the rows of the tables, "
        "without biases and with the readout, rounded to the printed digits; also tried: 135k, 1.5k and 9k with biases",
        semantics="comb",
        cases=tuple(_unicornn_cases()),
    ),
    Claim(
        id="both-baseline-counts",
        source=Source("icml", "Tables 1, 2, 3, 5, 7"),
        statement="coRNN has 2.4k parameters, LSTM 5.3k, expRNN 2.8k, IndRNN 1.6k in Table 3, and coRNN and LSTM 9k in "
        "Table 7, whose networks the authors trained; also tried, quoted from other papers: coRNN 134k, 46k, 46k, LSTM "
        "270k (m = 256, d = 1), 64k (m = 128, d = 96), in whose place 114,688 to 117,002 stand",
        semantics="comb",
        cases=tuple(_baseline_cases()),
    ),
    Claim(
        id="both-2-hyperparams",
        source=Source("icml", "Sec. 2, Table 6"),
        statement="(6) with one dt and one α: two hyperparameters "
        "for all L layers; also tried: the tasks with a second dt",
        semantics="reading",
        cases=tuple(
            Case(
                printed_name(r), "values of dt and α", _hyperparameters(r), _of_row(r).guards(_hyperparameters_check(r))
            )
            for r in ROWS
        ),
    ),
    Claim(
        id="both-4-health",
        source=Source("icml", "Sec. 4"),
        statement="records of 8 minutes at 125 Hz, sequences of 4000 entries; "
        "asked, which nobody claims: that a sequence is a whole record",
        semantics="reading",
        cases=(
            _equality_case(
                "healthcare", "125 Hz · 8 · 60 s, no other step named", ("frequency", "minutes"), _product, _LENGTH
            ),
        ),
    ),
    Claim(
        id="both-4-small",
        source=Source("icml", "Sec. 4, 2.3"),
        statement="32 + 968 = 1000; 30% of 25k are 7.5k; L ≪ N, which is read as L/N ≤ 1/100 here",
        semantics="reading",
        cases=(
            _equality_case("noise padded CIFAR-10", "32 + 968", ("rows", "noise"), lambda v: v[0] + v[1], _PADDED),
            _equality_case("IMDB", "30% of 25k", ("share", "training"), lambda v: v[0] * v[1], _SHARE),
            Case(
                "rows of Table 6 whose N is printed",
                f"L/N, L ≪ N read as L/N ≤ {MUCH_SMALLER}",
                _of_rows("L/N", lambda r: Fraction(r.num_layers, r.steps), MUCH_SMALLER, _WITH_LENGTH),
                _sizes_of(_WITH_LENGTH).guards(_of_rows_check(lambda L, N: L / N, MUCH_SMALLER)),
            ),
        ),
    ),
    Claim(
        id="both-A-init",
        source=Source("icml", "App. A"),
        statement="Kaiming uniform initialisation with a = 8 gives |V_ij| "
        "≤ √(6/(65 fan_in)), a consequence that App. A does not print",
        semantics="real",
        cases=(
            Case("every fan_in", "the square of the bound", _slope, constants({"a": "8"}).guards(_slope_check)),
            Case("fan_in of Table 6", "largest |V_ij| over the bound", _drawn),
        ),
    ),
    Claim(
        id="both-C.4-L3max",
        source=Source("icml", "C.4, Table 6"),
        statement="no fully connected stack that is used has more than L = 3 layers; also tried: none of Sec. 4",
        semantics="reading",
        cases=(
            Case(
                "rows of Table 6",
                "L",
                _of_rows("L", lambda r: Fraction(r.num_layers), Fraction(3), ROWS),
                _sizes_of(ROWS).guards(_of_rows_check(lambda L, N: L, Fraction(3))),
            ),
            _depths(3),
        ),
    ),
    Claim(
        id="both-4-fewer",
        source=Source("icml", "Sec. 4, Sentiment analysis; Table 5"),
        statement="on IMDB UnICORNN has fewer parameters than every other network of Table 5, by the printed numbers",
        semantics="reading",
        cases=(fewer_case(),),
    ),
)
