"""Explicit strong-stability-preserving Runge–Kutta methods: (s, p) has s stages and order p.

Where the source is a page range, it is that of the whole article: the place inside it was not at hand.
"""

from __future__ import annotations

from odernn.published.sources import Source
from odernn.tableaus.catalogue.explicit import HEUN_2
from odernn.tableaus.tableau import ButcherTableau, Q

# The optimal (2, 2) method is Heun's: u₁ = u₀ + h f₀, u = ½ u₀ + ½ (u₁ + h f₁).   Shu & Osher 1988, eq. (2.16)
SSP_2_2 = HEUN_2

# fmt: off
SSP_3_2 = ButcherTableau(
    name="ssp (3,2)", source=Source("spiteri2002", "pp. 469–491"), order=2,
    A=[[ 0,       0,       0 ],
       [ Q(1,2),  0,       0 ],
       [ Q(1,2),  Q(1,2),  0 ]],
    b=[  Q(1,3),  Q(1,3),  Q(1,3)],
    c=[  0,       Q(1,2),  1 ])

SSP_4_2 = ButcherTableau(
    name="ssp (4,2)", source=Source("spiteri2002", "pp. 469–491"), order=2,
    A=[[ 0,       0,       0,       0 ],
       [ Q(1,3),  0,       0,       0 ],
       [ Q(1,3),  Q(1,3),  0,       0 ],
       [ Q(1,3),  Q(1,3),  Q(1,3),  0 ]],
    b=[  Q(1,4),  Q(1,4),  Q(1,4),  Q(1,4)],
    c=[  0,       Q(1,3),  Q(2,3),  1 ])

SSP_3_3 = ButcherTableau(
    name="ssp (3,3)", source=Source("shu1988", "eq. (2.18)"), order=3,
    A=[[ 0,       0,       0 ],
       [ 1,       0,       0 ],
       [ Q(1,4),  Q(1,4),  0 ]],
    b=[  Q(1,6),  Q(1,6),  Q(2,3)],
    c=[  0,       1,       Q(1,2)])

SHU_OSHER_3 = SSP_3_3

SSP_4_3 = ButcherTableau(
    name="ssp (4,3)", source=Source("kraaijevanger1991", "pp. 482–528"), order=3,
    A=[[ 0,       0,       0,       0 ],
       [ Q(1,2),  0,       0,       0 ],
       [ Q(1,2),  Q(1,2),  0,       0 ],
       [ Q(1,6),  Q(1,6),  Q(1,6),  0 ]],
    b=[  Q(1,6),  Q(1,6),  Q(1,6),  Q(1,2)],
    c=[  0,       Q(1,2),  1,       Q(1,2)])

# The family of s = n² stages at n = 3; at n = 2 it is the (4, 3) method.
SSP_9_3 = ButcherTableau(
    name="ssp (9,3)", source=Source("ketcheson2008", "pp. 2113–2136"), order=3,
    A=[[ 0,       0,        0,        0,        0,        0,        0,       0,       0 ],
       [ Q(1,6),  0,        0,        0,        0,        0,        0,       0,       0 ],
       [ Q(1,6),  Q(1,6),   0,        0,        0,        0,        0,       0,       0 ],
       [ Q(1,6),  Q(1,6),   Q(1,6),   0,        0,        0,        0,       0,       0 ],
       [ Q(1,6),  Q(1,6),   Q(1,6),   Q(1,6),   0,        0,        0,       0,       0 ],
       [ Q(1,6),  Q(1,6),   Q(1,6),   Q(1,6),   Q(1,6),   0,        0,       0,       0 ],
       [ Q(1,6),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  0,       0,       0 ],
       [ Q(1,6),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,6),  0,       0 ],
       [ Q(1,6),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,6),  Q(1,6),  0 ]],
    b=[  Q(1,6),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,6),  Q(1,6),  Q(1,6)],
    c=[  0,       Q(1,6),   Q(1,3),   Q(1,2),   Q(2,3),   Q(5,6),   Q(1,2),  Q(2,3),  Q(5,6)])

# The printed Shu–Osher form u_i = Σ_k α_ik u_k + h β_ik f(u_k), multiplied out.
SSP_5_4 = ButcherTableau(
    name="ssp (5,4)", source=Source("spiteri2002", "pp. 469–491"), order=4, digits=15,
    A=[[ 0,                    0,                    0,                    0,                    0 ],
       ["0.391752226571890",   0,                    0,                    0,                    0 ],
       ["0.217669096261169",  "0.368410593050371",   0,                    0,                    0 ],
       ["0.082692086657811",  "0.139958502191896",  "0.251891774271694",   0,                    0 ],
       ["0.067966283637115",  "0.115034698504632",  "0.207034898597385",  "0.544974750228521",   0 ]],
    b=["0.146811876084786",   "0.248482909444976",  "0.104258830331980",  "0.274438900901350",  "0.226007483236908"])

SSP_10_4 = ButcherTableau(
    name="ssp (10,4)", source=Source("ketcheson2008", "pp. 2113–2136"), order=4,
    A=[[ 0,        0,        0,        0,        0,        0,       0,       0,       0,       0 ],
       [ Q(1,6),   0,        0,        0,        0,        0,       0,       0,       0,       0 ],
       [ Q(1,6),   Q(1,6),   0,        0,        0,        0,       0,       0,       0,       0 ],
       [ Q(1,6),   Q(1,6),   Q(1,6),   0,        0,        0,       0,       0,       0,       0 ],
       [ Q(1,6),   Q(1,6),   Q(1,6),   Q(1,6),   0,        0,       0,       0,       0,       0 ],
       [ Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  0,       0,       0,       0,       0 ],
       [ Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,6),  0,       0,       0,       0 ],
       [ Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,6),  Q(1,6),  0,       0,       0 ],
       [ Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,6),  Q(1,6),  Q(1,6),  0,       0 ],
       [ Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,15),  Q(1,6),  Q(1,6),  Q(1,6),  Q(1,6),  0 ]],
    b=[  Q(1,10),  Q(1,10),  Q(1,10),  Q(1,10),  Q(1,10),  Q(1,10), Q(1,10), Q(1,10), Q(1,10), Q(1,10)],
    c=[  0,        Q(1,6),   Q(1,3),   Q(1,2),   Q(2,3),   Q(1,3),  Q(1,2),  Q(2,3),  Q(5,6),  1 ])
