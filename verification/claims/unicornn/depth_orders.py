# Claims: both-D.4/C.4 · both-D.4-order · both-(101)/(74) · both-106/79 · both-(107)/(80) · both-D.5-example ·
#   both-D.5-Slarge · both-3-any-depth · both-D.4-nok
"""Several layers: powers of dt in the contribution of step k, with and without residual edges.

sam (89)-(107), icml S(62)-S(80).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import mpmath
from flint import Ordering, fmpq_mpoly_ctx

from odernn.published.sources import Source
from verification.cases import small_shares
from verification.cases.order import Symbol, both_sides, order_case
from verification.certify.scalar_stack import ScalarStack
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number
from verification.kinds import Constant, Integer
from verification.parameters import Parameter, Rule, declared

PAIRS = ((4, 2), (5, 3), (7, 2), (7, 3))
"""(L, S). The edges that the text counts lead from l − S to l; the formula for x^l, as printed, has l − S − 1."""
LONG, SHORT = "T = 1, k = 1 + n/16", "T = 1, k = 2"
EDGES = ((0, ""), (1, "edges l − S, "))
"""By how much an edge is shorter than the printed S + 1, and what the domain says of it."""
CONTRIBUTION = Symbol(symbol="|∂E_k/∂w|")
REMAINDER = Symbol(symbol="|∂E_k/∂w − printed|")


def part(layers: int, skip: int = 0) -> ScalarStack:
    """k = 1 + n/16. Edges l − skip − 1, as for all stacks."""
    return ScalarStack(layers=layers, skip=skip)


def fixed(layers: int, skip: int = 0) -> ScalarStack:
    """k = 2."""
    return replace(part(layers, skip), offset=2, ratio=Fraction(0))


def same_time(layers: int, skip: int) -> ScalarStack:
    """For quantities at time n, which have no k."""
    return replace(part(layers, skip), offset=1, ratio=Fraction(0))


# --- the published counter


def counter(layers: int, skip: int) -> int:
    """ν = [L/S] if S does not divide L, else [L/S] − 1."""
    whole, rest = divmod(layers, skip)
    return whole if rest else whole - 1


def printed_hops(layers: int, skip: int) -> int:
    """ν + L − νS − 1."""
    nu = counter(layers, skip)
    return nu + layers - nu * skip - 1


def printed_power(layers: int, skip: int) -> int:
    """2ν + 2L − 2νS − 1 of (107)."""
    return 2 * printed_hops(layers, skip) + 1


def _counter_by_counting(layers: int, skip: int) -> int:
    """ν once more: how many positive multiples of S are below L."""
    return sum(1 for multiple in range(skip, layers) if multiple % skip == 0)


def _counter_by_intervals(layers: int, skip: int) -> int:
    """ν once more: ⌈L/S⌉ − 1, by mpmath."""
    return int(mpmath.ceil(mpmath.fraction(layers, skip))) - 1


def _example(_: Budget, __: int) -> Attempt:
    """L = 7, S = 3."""
    counted = (counter(7, 3), printed_power(7, 3), 2 * 7 - 1)
    again = (_counter_by_counting(7, 3), 2 * (_counter_by_counting(7, 3) * (1 - 3) + 7) - 1, 13)
    text = "ν = {}, dt^{} by (107), dt^{} by (101)".format(*counted)
    holds = counted == again == (2, 5, 13)
    return Attempt(
        tried=text,
        evaluations=3,
        found=text,
        claimed="ν = 2, dt^5, dt^13",
        proof=f"counted: {text}" if holds else "",
        candidates=() if holds else ({"L": "7", "S": "3"},),
    )


PRINTED_EXAMPLE = declared(Parameter("L", Constant(7)), Parameter("S", Constant(3)))


def _example_check(parameters: Parameters) -> Check:
    L, S = (int(number(parameters, name)) for name in ("L", "S"))
    values = [(nu, 2 * (nu * (1 - S) + L) - 1) for nu in (_counter_by_counting(L, S), _counter_by_intervals(L, S))]
    return Check(
        opinions=tuple(
            Opinion(name, value != (2, 5), f"ν = {value[0]}, power {value[1]}")
            for name, value in zip(("counting", "mpmath"), values, strict=True)
        ),
        words=f"L = {L}, S = {S}",
    )


MOST_LAYERS = {"smoke": 12, "standard": 40, "deep": 100}
DEPTH = declared(Parameter("L", Integer(2, MOST_LAYERS["deep"])))
DEPTH_AND_SKIP = declared(*DEPTH.parameters, Parameter("S", Integer(2, 3 * MOST_LAYERS["deep"])))
SHORTENING = declared(
    Parameter("L", Integer(4, MOST_LAYERS["deep"])),
    Parameter("S", Integer(2, MOST_LAYERS["deep"] - 1)),
    rules=(Rule("S ≤ L − 1", lambda values: values["S"] < values["L"]),),
)


def _large_skips(budget: Budget, _: int) -> Attempt:
    """All 2 ≤ L ≤ a bound and 2 ≤ S ≤ 3L: the largest S of every L at which the inequality fails."""
    most = MOST_LAYERS[budget.name]
    pairs = [(L, S) for L in range(2, most + 1) for S in range(2, 3 * L + 1)]
    failing = [(L, S) for L, S in pairs if not printed_hops(L, S) < L - 1]
    last = {L: S for L, S in failing}
    return Attempt(
        tried=f"all 2 ≤ L ≤ {most}, 2 ≤ S ≤ 3L",
        evaluations=len(pairs),
        found=f"fails at {len(failing)} of {len(pairs)} pairs, for every L at S = L and all larger S tried",
        claimed="holds for all large S",
        candidates=tuple({"L": str(L), "S": str(S)} for L, S in last.items() if S == 3 * L),
    )


def _large_skips_check(parameters: Parameters) -> Check:
    L, S = (int(number(parameters, name)) for name in ("L", "S"))
    opinions = []
    for name, count in (("counting", _counter_by_counting), ("mpmath", _counter_by_intervals)):
        hops = count(L, S) * (1 - S) + L - 1
        opinions.append(Opinion(name, not hops < L - 1, f"{hops} against {L - 1}"))
    forever = _counter_by_counting(L, S) == 0 and S >= L
    return Check(
        opinions=tuple(opinions),
        limit="for this S and every larger one no multiple of S is below L: ν = 0, both sides L − 1" if forever else "",
        words=f"L = {L}, S = {S}: {opinions[0].text}",
    )


def _by_hand(gain: int) -> str:
    """What (L − 1) − (ν + L − νS − 1) − gain is with ν = 1 + i, S = 2 + j, if it is ≥ 0 for all i, j ≥ 0; else ""."""
    ring = fmpq_mpoly_ctx.get(["L", "i", "j"], Ordering.degrevlex)
    L, i, j = ring.gens()
    nu, S = 1 + i, 2 + j
    left = (L - 1) - (nu + L - nu * S - 1) - gain
    return str(left) if all(coefficient >= 0 for coefficient in left.coeffs()) else ""


def shorter_case(gain: int = 1) -> Case:
    """ν + L − νS − 1 ≤ L − 1 − gain for all 2 ≤ S ≤ L − 1: S itself is a multiple of S below L, so ν ≥ 1."""

    def ask(budget: Budget, _: int) -> Attempt:
        most = MOST_LAYERS[budget.name]
        pairs = [(L, S) for L in range(4, most + 1) for S in range(2, L)]
        failing = [(L, S) for L, S in pairs if printed_hops(L, S) > L - 1 - gain]
        rest = "" if failing or not all(counter(*pair) >= 1 for pair in pairs) else _by_hand(gain)
        return Attempt(
            tried=f"all 4 ≤ L ≤ {most}, 2 ≤ S ≤ L − 1",
            evaluations=len(pairs),
            found=f"fails at {len(failing)} of {len(pairs)} pairs",
            claimed="holds for all",
            proof=f"for all L: ν ≥ 1, as S < L, and with ν = 1 + i, S = 2 + j the gap less {gain} is {rest}, no "
            "coefficient of which is negative"
            if rest
            else "",
            candidates=tuple({"L": str(L), "S": str(S)} for L, S in failing[:3]),
        )

    def check(parameters: Parameters) -> Check:
        L, S = (int(number(parameters, name)) for name in ("L", "S"))
        opinions = []
        for name, count in (("counting", _counter_by_counting), ("mpmath", _counter_by_intervals)):
            hops = count(L, S) * (1 - S) + L - 1
            opinions.append(Opinion(name, hops > L - 1 - gain, f"{hops} against {L - 1}"))
        return Check(
            opinions=tuple(opinions),
            words=f"L = {L}, S = {S}: {opinions[0].text}",
        )

    return Case("4 ≤ L, 2 ≤ S ≤ L − 1", "ν + L − νS − 1 < L − 1", ask, SHORTENING.guards(check))


def _some_skip(budget: Budget, _: int) -> Attempt:
    """For every L some S ≥ 2: S = 2 is the best choice if any is, since ν does not grow with S."""
    most = MOST_LAYERS[budget.name]
    failing = [L for L in range(2, most + 1) if not any(printed_hops(L, S) < L - 1 for S in range(2, L + 2))]
    return Attempt(
        tried=f"all 2 ≤ L ≤ {most}, all S from 2 to L + 1",
        evaluations=sum(range(2, most + 1)),
        found=f"no S for L = {failing}" if failing else "some S for every L",
        claimed="some S for every L",
        candidates=tuple({"L": str(L)} for L in failing),
    )


def _some_skip_check(parameters: Parameters) -> Check:
    L = int(number(parameters, "L"))
    counts: tuple[tuple[str, Callable[[int, int], int]], ...] = (
        ("counting", _counter_by_counting),
        ("mpmath", _counter_by_intervals),
    )
    return Check(
        opinions=tuple(
            Opinion(name, all(count(L, S) * (1 - S) + L - 1 >= L - 1 for S in range(2, L + 1)), f"every S ≤ {L}")
            for name, count in counts
        ),
        words=f"L = {L}: ν = 0 for every S ≥ 2 (no multiple of S is below L), so both sides are {L - 1}",
    )


def _residual_power(skip_pair: tuple[int, int]) -> int:
    """The smaller exponent of (106): that of its first term, ν + L − νS − 1 ≤ L − 1."""
    return 2 * min(printed_hops(*skip_pair), skip_pair[0] - 1)


CLAIMS = (
    Claim(
        id="both-D.4/C.4",
        source=Source("sam", "(89), (90)"),
        statement="L = 3, long-term dependencies: ∂E_k/∂w = "
        "dt⁴ σ̂ t_n (∂⁺z_k/∂w) Σ_i Ḡ_{2i−1,2p−1} (y³_i − ȳ_i) + O(dt⁶)",
        semantics="slope",
        cases=(
            order_case(part(3), "remainder, L = 3", 6, "at most", domain=LONG, **REMAINDER),
            order_case(fixed(3), "remainder, L = 3", 6, "at most", domain=SHORT, **REMAINDER),
            order_case(fixed(3), "remainder, L = 3", 6, "at most", domain="n = 32, k = 2", **REMAINDER, fixed_n=32),
        ),
    ),
    Claim(
        id="both-D.4-order",
        source=Source("sam", "after (89)"),
        statement="L = 3: ∂E_k/∂w ~ O(dt⁵)",
        semantics="slope",
        cases=(
            *both_sides(part(3), "contribution", 5, domain=LONG, **CONTRIBUTION),
            *both_sides(fixed(3), "contribution", 5, domain=SHORT, **CONTRIBUTION),
        ),
    ),
    Claim(
        id="both-(101)/(74)",
        source=Source("sam", "(101)"),
        statement="∂E_k^{(n,L)}/∂w^1 ~ O(dt^{2L−1}) with weights O(1)",
        semantics="slope",
        cases=tuple(
            case
            for L in range(1, 5)
            for stack, domain in ((part(L), LONG), (fixed(L), SHORT))
            for case in both_sides(stack, "contribution", 2 * L - 1, domain=f"L = {L}, {domain}", **CONTRIBUTION)
        ),
    ),
    Claim(
        id="both-106/79",
        source=Source("sam", "(106)"),
        statement="residual: dX^L_n/dX^1_n = O(dt^{2(ν+L−νS−1)}) + O(dt^{2(L−1)}), ν = [L/S], less 1 if S divides L",
        semantics="slope",
        cases=tuple(
            order_case(
                same_time(pair[0], pair[1] - shorter),
                block,
                _residual_power(pair),
                "at most",
                domain="{}L = {}, S = {}, T = 1".format(edges, *pair),
                symbol=symbol,
            )
            for shorter, edges in EDGES
            for pair in PAIRS
            for block, symbol in (("y by y", "|∂y^L_n/∂y^1_n|"), ("norm", "‖dX^L_n/dX^1_n‖"))
        ),
    ),
    Claim(
        id="both-(107)/(80)",
        source=Source("sam", "(107)"),
        statement="residual: ∂E_k^{(n,L)}/∂w^1 ~ O(dt^{2ν+2L−2νS−1}), ν = [L/S], less 1 if S divides L",
        semantics="slope",
        cases=tuple(
            case
            for shorter, edges in EDGES
            for L, S in PAIRS
            for stack, domain in ((part(L, S - shorter), LONG), (fixed(L, S - shorter), SHORT))
            for case in both_sides(
                stack,
                "contribution",
                printed_power(L, S),
                domain=f"{edges}L = {L}, S = {S}, {domain}",
                **CONTRIBUTION,
            )
        ),
    ),
    Claim(
        id="both-D.5-example",
        source=Source("sam", "D.5"),
        statement="L = 7, S = 3: ν = 2 and (107) gives dt⁵, against dt¹³ without skips",
        semantics="comb",
        cases=(Case("L = 7, S = 3", "ν and the powers", _example, PRINTED_EXAMPLE.guards(_example_check)),),
    ),
    Claim(
        id="both-D.5-Slarge",
        source=Source("sam", "D.5"),
        statement="by choosing S ≥ 2 large enough, ν + L − νS − 1 < L − 1",
        semantics="comb",
        cases=(
            Case(
                "every large S",
                "ν + L − νS − 1 < L − 1",
                _large_skips,
                DEPTH_AND_SKIP.guards(_large_skips_check),
                reading="limit",
            ),
            shorter_case(),
            Case("some S for every L ≥ 2", "ν + L − νS − 1 < L − 1", _some_skip, DEPTH.guards(_some_skip_check)),
        ),
    ),
    Claim(
        id="both-3-any-depth",
        source=Source("sam", "Sec. 3, before Prop. 3.3; D.3"),
        statement="how small contributions become over many recurrent steps is independent of the number of layers: at "
        "fixed T they are not exponentially small in n − k for any L, but of order dt (asked at L = 2, 3, 4)",
        semantics="slope",
        cases=tuple(
            order_case(part(L), "contribution", 1, "at least", domain=f"L = {L}, {LONG}", **CONTRIBUTION)
            for L in (2, 3, 4)
        ),
    ),
    Claim(
        id="both-D.4-nok",
        source=Source("sam", "App. D.4, after (89)"),
        statement="L = 3: ∂E_k/∂w depends on k through σ′(A_{k−1}) y_{k−1} alone, 1 ≤ k ≪ n: its other factor is one "
        "number up to O(k/n) (asked of one chain)",
        semantics="slope",
        cases=(
            small_shares.case(
                part(3),
                "factor",
                Fraction(1, 4),
                domain="L = 3, T = 1, k = n^(3/4)",
                symbol="|factor at k − factor at 2| ≤ C k/n",
            ),
        ),
    ),
)
