# Claims: sco-T1-quoted
"""Parameters of the two networks that the scoRNN paper runs and quotes without their equations: EURNN and oRNN.

    oRNN    r reflection vectors of n entries (or n, n − 1, … without their leading zeros)
    EURNN   L layers of n/2 rotations, each with two angles θ, φ (or θ alone), with or without n phases behind them
    both    + n m + p n, and, by convention, n (hidden bias), p (read-out bias), n (initial state)

m inputs, p outputs. Mhammedi et al. 2017; Jing et al. 2016, of which L = 2 is "tunable" and L = log₂ n the FFT style.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from odernn.published.sources import Source
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number
from verification.kinds import Constant, Kind
from verification.measure.parameter_counts import OPTIONAL, reads_as
from verification.parameters import Parameter, declared


@dataclass(frozen=True)
class QuotedNetwork:
    """A printed row: n units, m inputs, p outputs; ``factors`` reflections, or layers of rotations, if printed."""

    model: str
    n: int
    m: int
    p: int
    factors: int | None
    printed: str


def by_formula(model: str, n: int, m: int, p: int, factors: int) -> dict[str, int]:
    """The count under every convention."""
    recurrent = {
        "oRNN": {"full vectors": factors * n, "no leading zeros": factors * n - factors * (factors - 1) // 2},
        "EURNN": {
            f"{angles} angle{'s' * (angles - 1)}{phases}": factors * (n // 2) * angles + (n if phases else 0)
            for angles in (1, 2)
            for phases in ("", ", phases")
        },
    }[model]
    sizes = {"hidden bias": n, "readout bias": p, "initial state": n}
    return {
        f"{name}; {', '.join(('matrices', *chosen))}": count + n * m + p * n + sum(sizes[part] for part in chosen)
        for name, count in recurrent.items()
        for chosen in _chosen()
    }


def by_tensors(model: str, n: int, m: int, p: int, factors: int) -> dict[str, int]:
    """The same from the shapes of all tensors, factor by factor."""
    recurrent: dict[str, list[tuple[int, ...]]] = {}
    if model == "oRNN":
        recurrent = {
            "full vectors": [(n,) for _ in range(factors)],
            "no leading zeros": [(n - place,) for place in range(factors)],
        }
    else:
        for angles in (1, 2):
            layers: list[tuple[int, ...]] = [(angles, n // 2)] * factors
            name = "1 angle" if angles == 1 else "2 angles"
            recurrent |= {name: layers, f"{name}, phases": [*layers, (n,)]}
    shapes = {"hidden bias": (n,), "readout bias": (p,), "initial state": (n,)}
    counted = {}
    for name, tensors in recurrent.items():
        for chosen in _chosen():
            every: Sequence[tuple[int, ...]] = [*tensors, (n, m), (p, n), *(shapes[part] for part in chosen)]
            counted[f"{name}; {', '.join(('matrices', *chosen))}"] = sum(map(math.prod, every))
    return counted


def _chosen() -> Iterator[tuple[str, ...]]:
    return (chosen for size in range(len(OPTIONAL) + 1) for chosen in combinations(OPTIONAL, size))


BACKENDS = (("formula", by_formula), ("tensors", by_tensors))


def quoted_case(domain: str, row: QuotedNetwork) -> Case:
    """The number of parameters reads as printed under one of the conventions, for some number of factors if none is
    printed.
    """
    stated: dict[str, Kind] = {name: Constant(getattr(row, name)) for name in ("n", "m", "p")}
    if row.factors is not None:
        stated["factors"] = Constant(row.factors)

    def agreeing(count: Callable[..., dict[str, int]], n: int, m: int, p: int, factors: int | None) -> list[str]:
        known = range(1, n + 1) if factors is None else [factors]
        return [
            f"{value:,} ({name}, {reads_as(value, row.printed)}{'' if factors else f', {every} factors'})"
            for every in known
            for name, value in count(row.model, n, m, p, every).items()
            if reads_as(value, row.printed)
        ]

    def ask(_: Budget, __: int) -> Attempt:
        good = agreeing(by_formula, row.n, row.m, row.p, row.factors)
        conventions = by_formula(row.model, row.n, row.m, row.p, row.factors or 1)
        return Attempt(
            f"{len(conventions)} conventions{'' if row.factors else f', 1 to {row.n} factors'}",
            len(conventions),
            found=good[0] if good else f"{min(conventions.values()):,} to {max(conventions.values()):,}",
            claimed=row.printed,
            proof=f"{row.printed} is {'; or '.join(good[:2])}" if good else "",
            candidates=() if good else ({name: str(getattr(row, name)) for name in stated},),
        )

    def check(parameters: Parameters) -> Check:
        n, m, p = (int(number(parameters, name)) for name in ("n", "m", "p"))
        good = [(backend, agreeing(count, n, m, p, row.factors)) for backend, count in BACKENDS]
        return Check(
            opinions=tuple(
                Opinion(backend, not found, "; ".join(found[:2]) or "none agrees") for backend, found in good
            ),
            words=f"{domain}: no convention gives the printed {row.printed}",
        )

    parameters = declared(*(Parameter(name, kind) for name, kind in stated.items()))
    return Case(domain, f"parameters, printed {row.printed}", ask, parameters.guards(check))


ADDING = {"m": 2, "p": 1}
MNIST = {"m": 1, "p": 10}

CLAIMS = (
    Claim(
        id="sco-T1-quoted",
        source=Source("scornn", "Table 1; Sec. 5.2"),
        statement="oRNN of 128 units with 16 reflections has about 2.6k parameters on the adding problem, under some "
        "convention of counting; also tried, for numbers of factors that are not printed: 3k and 7k of EURNN there, 9k "
        "of EURNN and 11k of oRNN on MNIST",
        semantics="comb",
        cases=(
            quoted_case(
                "Sec. 5.2: oRNN, n = 128, 16 reflections",
                QuotedNetwork("oRNN", 128, **ADDING, factors=16, printed="2.6k"),
            ),
            quoted_case(
                "Sec. 5.2: EURNN, n = 512, L = 2", QuotedNetwork("EURNN", 512, **ADDING, factors=2, printed="3k")
            ),
            quoted_case(
                "Sec. 5.2: EURNN, n = 512, L = 9", QuotedNetwork("EURNN", 512, **ADDING, factors=9, printed="7k")
            ),
            quoted_case(
                "Table 1: EURNN, n = 512, some L", QuotedNetwork("EURNN", 512, **MNIST, factors=None, printed="9k")
            ),
            quoted_case(
                "Table 1: oRNN, n = 256, some reflections",
                QuotedNetwork("oRNN", 256, **MNIST, factors=None, printed="11k"),
            ),
        ),
    ),
)
