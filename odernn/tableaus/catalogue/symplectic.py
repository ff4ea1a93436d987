"""Symplectic methods for y' = ∂H/∂z, z' = −∂H/∂y.

The letters V and T are the potential and the kinetic energy of H(y, z) = V(y) + T(z), in the order in which
their flows are applied: the flow of V kicks (changes z), the flow of T drifts (changes y).

Where the source is a page range, it is that of the whole article: the place inside it was not at hand.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from odernn.exact.coefficients import row
from odernn.published.sources import Source
from odernn.tableaus.tableau import ButcherTableau, Entry, PartitionedTableau, Q, composed

# fmt: off
# Implicit in the momentum: z₁ = z₀ − h H_y(y₀, z₁), y₁ = y₀ + h H_z(y₀, z₁). Kick, then drift.
SYMPLECTIC_EULER_VT = PartitionedTableau(
    name="symplectic euler vt", source=Source("hairer2006", "eq. (I.1.9) and Theorem VI.3.3"), order=1,
    position=ButcherTableau(
        name="symplectic euler vt, position", source=Source("hairer2006", "eq. (I.1.9)"),
        A=[[ 0 ]],
        b=[  1 ],
        c=[  0 ]),
    momentum=ButcherTableau(
        name="symplectic euler vt, momentum", source=Source("hairer2006", "eq. (I.1.9)"),
        A=[[ 1 ]],
        b=[  1 ],
        c=[  1 ]))

# Implicit in the position: y₁ = y₀ + h H_z(y₁, z₀), z₁ = z₀ − h H_y(y₁, z₀). Drift, then kick; the adjoint of
# VT.
SYMPLECTIC_EULER_TV = PartitionedTableau(
    name="symplectic euler tv", source=Source("hairer2006", "eq. (I.1.9) and Theorem VI.3.3"), order=1,
    position=ButcherTableau(
        name="symplectic euler tv, position", source=Source("hairer2006", "eq. (I.1.9)"),
        A=[[ 1 ]],
        b=[  1 ],
        c=[  1 ]),
    momentum=ButcherTableau(
        name="symplectic euler tv, momentum", source=Source("hairer2006", "eq. (I.1.9)"),
        A=[[ 0 ]],
        b=[  1 ],
        c=[  0 ]))

# The variant that the recurrent networks use.
SYMPLECTIC_EULER = SYMPLECTIC_EULER_VT

# Lobatto IIIA-IIIB with two stages: kick, drift, kick. The abscissae of IIIB are the row sums 1/2, 1/2 and not the
# Lobatto nodes 0, 1: IIIB with s stages has stage order s − 2, so at s = 2 not even A·1 equals the nodes.
STOERMER_VERLET = PartitionedTableau(
    name="stoermer verlet", source=Source("hairer2006", "Table II.2.1"), order=2,
    position=ButcherTableau(
        name="lobatto iiia 2", source=Source("hairer2006", "Table II.2.1, left"), order=2,
        A=[[ 0,       0 ],
           [ Q(1,2),  Q(1,2) ]],
        b=[  Q(1,2),  Q(1,2) ],
        c=[  0,       1 ]),
    momentum=ButcherTableau(
        name="lobatto iiib 2", source=Source("hairer2006", "Table II.2.1, right"), order=2,
        A=[[ Q(1,2),  0 ],
           [ Q(1,2),  0 ]],
        b=[  Q(1,2),  Q(1,2) ],
        c=[  Q(1,2),  Q(1,2) ]))

# Drift, kick, drift: the halves exchanged.
STOERMER_VERLET_TVT = PartitionedTableau(
    name="stoermer verlet tvt", source=Source("hairer2006", "Table II.2.1, halves exchanged"), order=2,
    position=ButcherTableau(
        name="lobatto iiib 2", source=Source("hairer2006", "Table II.2.1, right"), order=2,
        A=[[ Q(1,2),  0 ],
           [ Q(1,2),  0 ]],
        b=[  Q(1,2),  Q(1,2) ],
        c=[  Q(1,2),  Q(1,2) ]),
    momentum=ButcherTableau(
        name="lobatto iiia 2", source=Source("hairer2006", "Table II.2.1, left"), order=2,
        A=[[ 0,       0 ],
           [ Q(1,2),  Q(1,2) ]],
        b=[  Q(1,2),  Q(1,2) ],
        c=[  0,       1 ]))

LOBATTO_IIIA_IIIB_3 = PartitionedTableau(
    name="lobatto iiia-iiib, order 4", source=Source("hairer2006", "Table II.2.2"), order=4,
    position=ButcherTableau(
        name="lobatto iiia 3", source=Source("hairer2006", "Table II.2.2, left"), order=4,
        A=[[ 0,        0,        0 ],
           [ Q(5,24),  Q(1,3),  -Q(1,24)],
           [ Q(1,6),   Q(2,3),   Q(1,6)]],
        b=[  Q(1,6),   Q(2,3),   Q(1,6)],
        c=[  0,        Q(1,2),   1 ]),
    momentum=ButcherTableau(
        name="lobatto iiib 3", source=Source("hairer2006", "Table II.2.2, right"), order=4,
        A=[[ Q(1,6),  -Q(1,6),   0 ],
           [ Q(1,6),   Q(1,3),   0 ],
           [ Q(1,6),   Q(5,6),   0 ]],
        b=[  Q(1,6),   Q(2,3),   Q(1,6)],
        c=[  0,        Q(1,2),   1 ]))

# --- explicit for H = V + T: kicks and drifts in turn
# fmt: on


def _splitting(
    *,
    name: str,
    source: Source,
    order: int,
    flows: str,
    kicks: Sequence[Entry],
    drifts: Sequence[Entry],
    digits: int | None = None,
) -> PartitionedTableau:
    """The method that kicks (V) and drifts (T) in turn, as in ``flows``, by the printed fractions of h.

    As a table it is the equivalent composition of symplectic Euler methods: steps γ_k of VT and of its adjoint TV in
    turn, γ₁ and γ_{k−1} + γ_k being the fractions in the order of ``flows``. So it is defined, symplectic and of the
    same order for every H(y, z); where H = V + T, it is explicit and the printed method, at the price of computing
    twice each force and velocity that two steps share. McLachlan 1995; Hairer, Lubich, Wanner 2006, Section II.5.
    """
    place = f'Tableau "{name}"'
    fractions = {"V": list(row(kicks, "kick ", place)), "T": list(row(drifts, "drift ", place))}
    gamma, steps = Q(0), []
    for flow, following in itertools.pairwise(flows):
        gamma = fractions[flow].pop(0) - gamma
        steps.append((SYMPLECTIC_EULER_VT if flow + following == "VT" else SYMPLECTIC_EULER_TV, gamma))
    if fractions[flows[-1]] != [gamma] or fractions[flows[-2]]:
        raise ValueError(f"{place}: kicks and drifts have different sums. Compare with the source: {source}.")
    pair = composed(steps, name, source=source, order=order, digits=digits)
    assert isinstance(pair, PartitionedTableau)
    return pair


# fmt: off
MCLACHLAN_ATELA_2 = _splitting(
    name="mclachlan atela 2", source=Source("mclachlan1992", "pp. 541–562"), order=2, flows="VTVT",
    kicks =["1 - sqrt(2)/2",  "sqrt(2)/2" ],
    drifts=["sqrt(2)/2",      "1 - sqrt(2)/2" ])

RUTH_3 = _splitting(
    name="ruth 3", source=Source("ruth1983", "pp. 2669–2671"), order=3, flows="VTVTVT",
    kicks =[ Q(7,24),  Q(3,4), -Q(1,24)],
    drifts=[ Q(2,3),  -Q(2,3),  1 ])

MCLACHLAN_ATELA_3 = _splitting(
    name="mclachlan atela 3", source=Source("mclachlan1992", "pp. 541–562"), order=3, flows="VTVTVT", digits=15,
    kicks =["0.2683300957817599", "-0.1879916187991598",  "0.9196615230173999"],
    drifts=["0.9196615230173999", "-0.1879916187991598",  "0.2683300957817599"])

FOREST_RUTH_4 = _splitting(
    name="forest ruth 4", source=Source("forest1990", "pp. 105–117"), order=4, flows="TVTVTVT",
    drifts=["1/(4 - 2*cbrt(2))", "(1 - cbrt(2))/(4 - 2*cbrt(2))", "(1 - cbrt(2))/(4 - 2*cbrt(2))", "1/(4 - 2*cbrt(2))"],
    kicks =["1/(2 - cbrt(2))",  "-cbrt(2)/(2 - cbrt(2))",         "1/(2 - cbrt(2))"])

# The same numbers, found independently.   Candy & Rozmus 1991
CANDY_ROZMUS_4 = FOREST_RUTH_4

# α = (146 + 5√19)/540, (−2 + 10√19)/135, 1/5, (−23 − 20√19)/270, (14 − √19)/108 are the steps of a method, the same in
# reverse order those of its adjoint, each before the step of the method; a fraction is the sum of two steps.
MCLACHLAN_4 = _splitting(
    name="mclachlan 4", source=Source("mclachlan1995", "pp. 151–168"), order=4, flows="TVTVTVTVTVT",
    drifts=["(14 - sqrt(19))/108",
            "(146 + 5*sqrt(19))/540 + (-23 - 20*sqrt(19))/270",
            "(-2 + 10*sqrt(19))/135 + 1/5",
            "1/5 + (-2 + 10*sqrt(19))/135",
            "(-23 - 20*sqrt(19))/270 + (146 + 5*sqrt(19))/540",
            "(14 - sqrt(19))/108"],
    kicks =["(14 - sqrt(19))/108 + (146 + 5*sqrt(19))/540",
            "(-23 - 20*sqrt(19))/270 + (-2 + 10*sqrt(19))/135",
            "2/5",
            "(-2 + 10*sqrt(19))/135 + (-23 - 20*sqrt(19))/270",
            "(146 + 5*sqrt(19))/540 + (14 - sqrt(19))/108"])

# In what follows ``digits`` is less than printed by one, for the last fraction and the steps γ add up several errors.

# Drifts ξ, χ, 1 − 2(χ + ξ), χ, ξ and kicks (1 − 2λ)/2, λ, λ, (1 − 2λ)/2 with λ = −0.2123418310626054.
PEFRL_4 = _splitting(
    name="pefrl 4", source=Source("omelyan2002", "pp. 188–202"), order=4, flows="TVTVTVTVT", digits=15,
    drifts=["0.1786178958448091", "-0.06626458266981849", "1 - 2*(-0.06626458266981849 + 0.1786178958448091)",
            "-0.06626458266981849", "0.1786178958448091"],
    kicks =["1/2 + 0.2123418310626054", "-0.2123418310626054", "-0.2123418310626054", "1/2 + 0.2123418310626054"])

BLANES_MOAN_4 = _splitting(
    name="blanes moan 4", source=Source("blanes2002", "Table 2, S6"), order=4, flows="VTVTVTVTVTVTV", digits=14,
    kicks =["0.0792036964311957",  "0.353172906049774", "-0.0420650803577195",
            "1 - 2*(0.0792036964311957 + 0.353172906049774 - 0.0420650803577195)",
            "-0.0420650803577195",  "0.353172906049774",  "0.0792036964311957"],
    drifts=["0.209515106613362",  "-0.143851773179818",  "1/2 - (0.209515106613362 - 0.143851773179818)",
            "1/2 - (0.209515106613362 - 0.143851773179818)",  "-0.143851773179818",  "0.209515106613362"])

BLANES_MOAN_6 = _splitting(
    name="blanes moan 6", source=Source("blanes2002", "Table 2, S10"), order=6, flows="VT" * 10 + "V", digits=14,
    kicks =["0.0502627644003922", "0.413514300428344", "0.0450798897943977", "-0.188054853819569", "0.541960678450780",
            "1 - 2*(0.0502627644003922 + 0.413514300428344 + 0.0450798897943977 - 0.188054853819569"
            "       + 0.541960678450780)",
            "0.541960678450780", "-0.188054853819569", "0.0450798897943977", "0.413514300428344", "0.0502627644003922"],
    drifts=["0.148816447901042", "-0.132385865767784", "0.067307604692185", "0.432666402578175",
            "1/2 - (0.148816447901042 - 0.132385865767784 + 0.067307604692185 + 0.432666402578175)",
            "1/2 - (0.148816447901042 - 0.132385865767784 + 0.067307604692185 + 0.432666402578175)",
            "0.432666402578175", "0.067307604692185", "-0.132385865767784", "0.148816447901042"])
