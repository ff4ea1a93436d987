# Claims: cplx-T3.2 · cplx-A.1-i · cplx-PA.1.1 · cplx-T3.6/A.3 · cplx-PA.3.1 · cplx-T3.6-loose
"""When D_i(n)/n and d_i(n)/n have limits, and which: Theorems 3.2 and 3.6, Propositions A.1.1 and A.3.1."""

from __future__ import annotations

from odernn.published.sources import Source
from verification.cases.graph_growth import (
    LEAST_RATE,
    LONGEST,
    SHORTEST,
    Rates,
    Sense,
    extreme_rate,
    limit_exists,
    limit_is_extreme,
    of_each_time,
)
from verification.cases.graph_statements import FORWARD, GraphStatement, Side, stated, theorem
from verification.cases.graph_theorems import LOOSE_FAILS, covered_limit, periodic
from verification.claim import Claim


def one_rate(sense: Sense) -> GraphStatement:
    """d_i = limsup D_i(n)/n is max l/Σσ for every i, and not only their maximum."""

    def side(rates: Rates) -> Side | None:
        if not rates.classes:
            return None
        own = sense.choose(rates.classes)
        text = f"d_{rates.start} = limsup D_{rates.start}(n)/n = {own}, {sense.extreme} = {rates.extreme}"
        return Side(abs(own - rates.extreme), text)

    return of_each_time(sense, side)


CLAIMS = (
    Claim(
        id="cplx-T3.2",
        source=Source("complexity", "Thm 3.2 (1)"),
        statement="of a unidirectional RNN, (U), d_r = lim_n D_i(n)/n = max over directed cycles of l/σ_s, under the "
        "assumption of Prop. A.1.1: a cycle of the largest ratio meets every time in one lift",
        semantics="comb",
        dominated_by="thm-A-lim",
        cases=(
            *theorem(
                "under A.1.1: lim D_i(n)/n = d_r",
                covered_limit(LONGEST, strict=True),
                covered_limit(LONGEST, strict=False),
                "Limits",
                box=LOOSE_FAILS,
            ),
            *stated(
                FORWARD,
                ("without A.1.1: the limit exists for every i", limit_exists(LONGEST)),
                ("without A.1.1: a limit that exists is max l/Σσ", limit_is_extreme(LONGEST)),
            ),
        ),
    ),
    Claim(
        id="cplx-A.1-i",
        source=Source("complexity", "Thm A.1 against Thm 3.2"),
        statement="limsup D_i(n)/n = max l/σ_s for every i, without the maximum over i of Thm A.1",
        semantics="comb",
        cases=stated(FORWARD, ("d_i = max l/Σσ for every i", one_rate(LONGEST))),
    ),
    Claim(
        id="cplx-PA.1.1",
        source=Source("complexity", "Prop. A.1.1"),
        statement="(U): if some cycle (1) attains the maximum of l/σ_s and (2) one lift of it to G_un has a node at "
        "each time, then lim D_i(n)/n = d_r for every i",
        semantics="comb",
        dominated_by="thm-A-lim",
        cases=(
            *theorem(
                "lim D_i(n)/n = d_r, strict",
                covered_limit(LONGEST, strict=True),
                covered_limit(LONGEST, strict=False),
                "Limits",
                box=LOOSE_FAILS,
            ),
            *stated(FORWARD, ("lim D_i(n)/n = d_r, loose", covered_limit(LONGEST, strict=False))),
        ),
    ),
    Claim(
        id="cplx-T3.6/A.3",
        source=Source("complexity", "Thm 3.6 (2), A.3 text"),
        statement="of a unidirectional RNN, (U), liminf d_i(n)/n is m-periodic in i, and min_i liminf d_i(n)/n = min "
        "over directed cycles of l/σ_s = j; under the assumption of Prop. A.3.1, a cycle of the smallest ratio meets "
        "every time in one lift, j = lim d_i(n)/n",
        semantics="comb",
        dominated_by="thm-A-lim",
        cases=(
            *theorem(LEAST_RATE, extreme_rate(SHORTEST), extreme_rate(SHORTEST, LONGEST), "Skip coefficient"),
            *theorem(
                "under A.3.1: lim d_i(n)/n = j",
                covered_limit(SHORTEST, strict=True),
                covered_limit(SHORTEST, strict=False),
                "Limits",
            ),
            *stated(
                FORWARD,
                ("without A.3.1: the limit exists for every i", limit_exists(SHORTEST)),
                ("without A.3.1: a limit that exists is min l/Σσ", limit_is_extreme(SHORTEST)),
            ),
            *theorem(
                "d_{i+m}(n) = d_i(n)",
                periodic(sense=SHORTEST),
                periodic(1, SHORTEST),
                "Skip coefficient",
                widely=False,
            ),
        ),
    ),
    Claim(
        id="cplx-PA.3.1",
        source=Source("complexity", "Prop. A.3.1"),
        statement="(U): if some cycle (1) attains the minimum of l/σ_s and (2) one lift of it to G_un has a node at "
        "each time, then lim d_i(n)/n = j for every i",
        semantics="comb",
        dominated_by="thm-A-lim",
        cases=theorem(
            "lim d_i(n)/n = j, strict",
            covered_limit(SHORTEST, strict=True),
            covered_limit(SHORTEST, strict=False),
            "Limits",
        ),
    ),
    Claim(
        id="cplx-T3.6-loose",
        source=Source("complexity", "Thm 3.6, Prop. A.3.1"),
        statement="Thm 3.6 under the loose reading: if the copies shifted by m of a cycle that attains the minimum "
        "of l/σ_s together meet every time, then lim d_i(n)/n = j for every i",
        semantics="comb",
        cases=stated(FORWARD, ("lim d_i(n)/n = j, loose", covered_limit(SHORTEST, strict=False))),
    ),
)
