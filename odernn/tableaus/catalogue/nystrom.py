"""Runge–Kutta–Nyström methods for y″ = g(y): one literal entry a method, laid out as in its source.

Their names begin with "rkn", for some of their authors made Runge–Kutta methods as well. Any Runge–Kutta method is
another, by ``odernn.tableaus.nystrom.nystrom_method``.

    >>> from odernn.tableaus.catalogue import nystrom as nystrom_catalogue
    >>> nystrom_catalogue.get("rkn nystroem 4")
    NystromTableau("rkn nystroem 4", 3 stages, hairer1993, Section II.14)
"""

from __future__ import annotations

import difflib
import functools
import itertools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from odernn.exact.coefficients import row
from odernn.published.sources import Source
from odernn.tableaus.nystrom import NystromTableau
from odernn.tableaus.tableau import Q

__all__ = ["get", "names"]

# fmt: off
NYSTROEM_4 = NystromTableau(
    name="rkn nystroem 4", source=Source("hairer1993", "Section II.14"), order=4,
    A_bar=[[ 0,         0,         0 ],
           [ Q(1,8),    0,         0 ],
           [ 0,         Q(1,2),    0 ]],
    b_bar=[  Q(1,6),    Q(1,3),    0 ],
    b    =[  Q(1,6),    Q(4,6),    Q(1,6)],
    c    =[  0,         Q(1,2),    1 ])

NYSTROEM_5 = NystromTableau(
    name="rkn nystroem 5", source=Source("hairer1993", "Section II.14"), order=5,
    A_bar=[[ 0,         0,         0,         0 ],
           [ Q(1,50),   0,         0,         0 ],
           [-Q(1,27),   Q(7,27),   0,         0 ],
           [ Q(3,10),  -Q(2,35),   Q(9,35),   0 ]],
    b_bar=[  Q(14,336), Q(100,336), Q(54,336), 0 ],
    b    =[  Q(14,336), Q(125,336), Q(162,336), Q(35,336)],
    c    =[  0,         Q(1,5),    Q(2,3),    1 ])

ALBRECHT_6 = NystromTableau(
    name="rkn albrecht 6", source=Source("albrecht1955", "pp. 100–110"), order=6,
    A_bar=[[ 0,         0,         0,         0,         0 ],
           [ Q(1,32),   0,         0,         0,         0 ],
           [-Q(1,24),   Q(1,6),    0,         0,         0 ],
           [ Q(3,32),   Q(1,8),    Q(1,16),   0,         0 ],
           [ 0,         Q(3,7),   -Q(1,14),   Q(1,7),    0 ]],
    b_bar=[  Q(7,90),   Q(24,90),  Q(6,90),   Q(8,90),   0 ],
    b    =[  Q(7,90),   Q(32,90),  Q(12,90),  Q(32,90),  Q(7,90)],
    c    =[  0,         Q(1,4),    Q(1,2),    Q(3,4),    1 ])

DORMAND_EL_MIKKAWY_PRINCE_4 = NystromTableau(
    name="rkn dormand el-mikkawy prince 4", source=Source("dormand1987", "pp. 235–250, RKN4(3)4FM"), order=4,
    A_bar=[[ 0,         0,         0,         0 ],
           [ Q(1,32),   0,         0,         0 ],
           [ Q(7,1000), Q(119,500), 0,        0 ],
           [ Q(1,14),   Q(8,27),   Q(25,189), 0 ]],
    b_bar=[  Q(1,14),   Q(8,27),   Q(25,189), 0 ],
    b    =[  Q(1,14),   Q(32,81),  Q(250,567), Q(5,54)],
    c    =[  0,         Q(1,4),    Q(7,10),   1 ])

# Kick, drift: the step of UnICORNN. Of order 1, so no Nyström method of order 2; symplectic.
SYMPLECTIC_EULER = NystromTableau(
    name="rkn symplectic euler", source=Source("hairer2006", "eq. (I.1.9)"), order=1,
    A_bar=[[ 0 ]],
    b_bar=[  1 ],
    b    =[  1 ],
    c    =[  0 ])

# Kick, drift, kick: the velocity form.
STOERMER_VERLET = NystromTableau(
    name="rkn stoermer verlet", source=Source("hairer2006", "Section I.1.4"), order=2,
    A_bar=[[ 0,         0 ],
           [ Q(1,2),    0 ]],
    b_bar=[  Q(1,2),    0 ],
    b    =[  Q(1,2),    Q(1,2)],
    c    =[  0,         1 ])

# Drift, kick, drift: the position form.
STOERMER_VERLET_TVT = NystromTableau(
    name="rkn stoermer verlet tvt", source=Source("hairer2006", "Section I.1.4"), order=2,
    A_bar=[[ 0 ]],
    b_bar=[  Q(1,2)],
    b    =[  1 ],
    c    =[  Q(1,2)])
# fmt: on


def _kicks_and_drifts(
    *, name: str, source: Source, order: int, kicks: Sequence[str], drifts: Sequence[str], digits: int
) -> NystromTableau:
    """Kick first, and in turn: ā_ij = b_j(c_i − c_j), b̄_j = b_j(1 − c_j), the c being sums of drifts.

    So it is symplectic for every choice of the numbers. ``digits``: one less than printed, for errors add up.
    """
    place = f'Nyström tableau "{name}"'
    b = row(kicks, "kick ", place)
    c = list(itertools.accumulate(row(drifts, "drift ", place), initial=Q(0)))[: len(b)]
    s = range(len(b))
    return NystromTableau(
        [[b[j] * (c[i] - c[j]) if j < i else 0 for j in s] for i in s],
        [b[j] * (1 - c[j]) for j in s],
        b,
        c,
        name=name,
        source=source,
        order=order,
        digits=digits,
    )


# fmt: off
MCLACHLAN_ATELA_4 = _kicks_and_drifts(
    name="rkn mclachlan atela 4", source=Source("mclachlan1992", "pp. 541–562"), order=4, digits=17,
    kicks =["0.134496199277431089", "-0.224819803079420806", "0.756320000515668291", "0.334003603286321425"],
    drifts=["0.515352837431122936", "-0.085782019412973646", "0.441583023616466524", "0.128846158365384185"])

MCLACHLAN_ATELA_5 = _kicks_and_drifts(
    name="rkn mclachlan atela 5", source=Source("mclachlan1992", "pp. 541–562"), order=5, digits=14,
    kicks =["0.1193900292875672758", "0.6989273703824752308", "-0.1713123582716007754",
            "0.4012695022513534480", "0.0107050818482359840", "-0.0589796254980311632"],
    drifts=["0.339839625839110000", "-0.088601336903027329", "0.5858564768259621188",
            "-0.603039356536491888", "0.3235807965546976394", "0.4423637942197494587"])

CALVO_SANZ_SERNA_4 = _kicks_and_drifts(
    name="rkn calvo sanz-serna 4", source=Source("calvo1993", "pp. 936–952"), order=4, digits=13,
    kicks =["0.061758858135626", "0.33897802655364", "0.61479130717558", "-0.14054801465937", "0.12501982279453"],
    drifts=["0.205177661542290", "0.403021281604210", "-0.12092087633891", "0.512721933192410"])
# fmt: on


@functools.cache
def _entries() -> Mapping[str, NystromTableau]:
    by_name = {value.name: value for value in globals().values() if isinstance(value, NystromTableau)}
    return MappingProxyType(dict(sorted(by_name.items())))


def names() -> tuple[str, ...]:
    """The names of all entries, sorted."""
    return tuple(_entries())


def get(name: str) -> NystromTableau:
    """The entry of that name; case does not matter. Raises KeyError with the nearest name, if one is near."""
    entry = _entries().get(name.casefold())
    if entry is None:
        near = difflib.get_close_matches(name.casefold(), names(), n=1)
        advice = f'Did you mean "{near[0]}"?' if near else f"The catalogue has: {', '.join(names())}."
        raise KeyError(f'No Runge–Kutta–Nyström method is called "{name}". {advice}')
    return entry
