"""Implicit Runge-Kutta methods."""

from __future__ import annotations

from odernn.tableau import ButcherTableau, Q, Source

# fmt: off
IMPLICIT_EULER = ButcherTableau(
    name="implicit euler", source=Source("hairer2006", "eq. (I.1.6)"), order=1,
    A=[[ 1 ]],
    b=[  1 ],
    c=[  1 ])

IMPLICIT_MIDPOINT = ButcherTableau(
    name="implicit midpoint", source=Source("hairer2006", "eq. (I.1.7)"), order=2,
    A=[[ Q(1,2) ]],
    b=[  1 ],
    c=[  Q(1,2) ])
