"""Explicit Runge-Kutta methods."""

from __future__ import annotations

from odernn.tableau import ButcherTableau, Q, Source

# fmt: off
EULER = ButcherTableau(
    name="euler", source=Source("hairer2006", "eq. (I.1.5)"), order=1,
    A=[[ 0 ]],
    b=[  1 ],
    c=[  0 ])

RK4 = ButcherTableau(
    name="rk4", source=Source("hairer1993", "Table II.1.2, left"), order=4,
    A=[[ 0,       0,       0,       0 ],
       [ Q(1,2),  0,       0,       0 ],
       [ 0,       Q(1,2),  0,       0 ],
       [ 0,       0,       1,       0 ]],
    b=[  Q(1,6),  Q(1,3),  Q(1,3),  Q(1,6)],
    c=[  0,       Q(1,2),  Q(1,2),  1 ])

KUTTA_3_8 = ButcherTableau(
    name="kutta 3/8", source=Source("kutta1901", "p. 441"), order=4,
    A=[[ 0,       0,       0,       0 ],
       [ Q(1,3),  0,       0,       0 ],
       [-Q(1,3),  1,       0,       0 ],
       [ 1,      -1,       1,       0 ]],
    b=[  Q(1,8),  Q(3,8),  Q(3,8),  Q(1,8)],
    c=[  0,       Q(1,3),  Q(2,3),  1 ])
