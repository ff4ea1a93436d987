"""Fully implicit Runge-Kutta methods, as printed; ``odernn.tableaus.families`` has those of any number of stages."""

from __future__ import annotations

from typing import Any

from odernn.exact.algebraic import sqrt
from odernn.published.sources import Source
from odernn.tableaus.tableau import ButcherTableau, Q

R3, R5, R6, R15 = sqrt(3), sqrt(5), sqrt(6), sqrt(15)


def theta(
    weight: Any, name: str | None = None, source: Source | None = None, order: int | None = None
) -> ButcherTableau:
    """The theta method y₁ = y₀ + h((1 − θ) f(y₀) + θ f(y₁)), θ = ``weight``, written like any coefficient.

    θ = 0 is explicit Euler, θ = 1/2 the trapezoidal rule, of order 2; θ = 1 implicit Euler. Hairer, Wanner 1996,
    eq. (IV.3.16).
    """
    value = ButcherTableau([[weight]], [1], name=f"theta {weight}").A[0][0]
    return ButcherTableau(
        [[0, 0], [1 - value, value]], [1 - value, value], [0, 1], name or f"theta {weight}", source=source, order=order
    )


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

# Crank and Nicolson 1947 for the heat equation.
TRAPEZOIDAL = theta(Q(1,2), "trapezoidal", Source("hairer1996", "eq. (IV.3.4)"), order=2)
CRANK_NICOLSON = TRAPEZOIDAL

GAUSS_2 = ButcherTableau(
    name="gauss 2", source=Source("hairer1996", "Table IV.5.1"), order=4,
    A=[[ Q(1,4),         Q(1,4) - R3/6 ],
       [ Q(1,4) + R3/6,  Q(1,4)        ]],
    b=[  Q(1,2),         Q(1,2)        ],
    c=[  Q(1,2) - R3/6,  Q(1,2) + R3/6 ])

GAUSS_3 = ButcherTableau(
    name="gauss 3", source=Source("hairer1996", "Table IV.5.2"), order=6,
    A=[[ Q(5,36),           Q(2,9) - R15/15,  Q(5,36) - R15/30 ],
       [ Q(5,36) + R15/24,  Q(2,9),           Q(5,36) - R15/24 ],
       [ Q(5,36) + R15/30,  Q(2,9) + R15/15,  Q(5,36)          ]],
    b=[  Q(5,18),           Q(4,9),           Q(5,18)          ],
    c=[  Q(1,2) - R15/10,   Q(1,2),           Q(1,2) + R15/10  ])

# Butcher's type I: c₁ = 0 and C(s).
RADAU_I_2 = ButcherTableau(
    name="radau i 2", source=Source("butcher2016", "Section 344"), order=3,
    A=[[ 0,       0      ],
       [ Q(1,3),  Q(1,3) ]],
    b=[  Q(1,4),  Q(3,4) ],
    c=[  0,       Q(2,3) ])

RADAU_I_3 = ButcherTableau(
    name="radau i 3", source=Source("butcher2016", "Section 344"), order=5,
    A=[[ 0,            0,                  0                 ],
       [ (9+R6)/75,    (24+R6)/120,        (168-73*R6)/600   ],
       [ (9-R6)/75,    (168+73*R6)/600,    (24-R6)/120       ]],
    b=[  Q(1,9),       (16+R6)/36,         (16-R6)/36        ],
    c=[  0,            (6-R6)/10,          (6+R6)/10         ])

RADAU_IA_2 = ButcherTableau(
    name="radau ia 2", source=Source("hairer1996", "Table IV.5.3"), order=3,
    A=[[ Q(1,4), -Q(1,4)  ],
       [ Q(1,4),  Q(5,12) ]],
    b=[  Q(1,4),  Q(3,4)  ],
    c=[  0,       Q(2,3)  ])

RADAU_IA_3 = ButcherTableau(
    name="radau ia 3", source=Source("hairer1996", "Table IV.5.4"), order=5,
    A=[[ Q(1,9),  (-1-R6)/18,      (-1+R6)/18     ],
       [ Q(1,9),  (88+7*R6)/360,   (88-43*R6)/360 ],
       [ Q(1,9),  (88+43*R6)/360,  (88-7*R6)/360  ]],
    b=[  Q(1,9),  (16+R6)/36,      (16-R6)/36     ],
    c=[  0,       (6-R6)/10,       (6+R6)/10      ])

# Butcher's type II: c_s = 1 and D(s). The last stage enters no other one.
RADAU_II_2 = ButcherTableau(
    name="radau ii 2", source=Source("butcher2016", "Section 344"), order=3,
    A=[[ Q(1,3),  0      ],
       [ 1,       0      ]],
    b=[  Q(3,4),  Q(1,4) ],
    c=[  Q(1,3),  1      ])

RADAU_II_3 = ButcherTableau(
    name="radau ii 3", source=Source("butcher2016", "Section 344"), order=5,
    A=[[ (24-R6)/120,     (24-11*R6)/120,  0      ],
       [ (24+11*R6)/120,  (24+R6)/120,     0      ],
       [ (6-R6)/12,       (6+R6)/12,       0      ]],
    b=[  (16-R6)/36,      (16+R6)/36,      Q(1,9) ],
    c=[  (4-R6)/10,       (4+R6)/10,       1      ])

RADAU_IIA_2 = ButcherTableau(
    name="radau iia 2", source=Source("hairer1996", "Table IV.5.5"), order=3,
    A=[[ Q(5,12), -Q(1,12) ],
       [ Q(3,4),   Q(1,4)  ]],
    b=[  Q(3,4),   Q(1,4)  ],
    c=[  Q(1,3),   1       ])

RADAU_IIA_3 = ButcherTableau(
    name="radau iia 3", source=Source("hairer1996", "Table IV.5.6"), order=5,
    A=[[ (88-7*R6)/360,      (296-169*R6)/1800,  (-2+3*R6)/225 ],
       [ (296+169*R6)/1800,  (88+7*R6)/360,      (-2-3*R6)/225 ],
       [ (16-R6)/36,         (16+R6)/36,         Q(1,9)        ]],
    b=[  (16-R6)/36,         (16+R6)/36,         Q(1,9)        ],
    c=[  (4-R6)/10,          (4+R6)/10,          1             ])

LOBATTO_IIIA_2 = ButcherTableau(
    name="lobatto iiia 2", source=Source("hairer1996", "Table IV.5.7"), order=2,
    A=[[ 0,       0      ],
       [ Q(1,2),  Q(1,2) ]],
    b=[  Q(1,2),  Q(1,2) ],
    c=[  0,       1      ])

LOBATTO_IIIA_3 = ButcherTableau(
    name="lobatto iiia 3", source=Source("hairer1996", "Table IV.5.7"), order=4,
    A=[[ 0,        0,       0       ],
       [ Q(5,24),  Q(1,3), -Q(1,24) ],
       [ Q(1,6),   Q(2,3),  Q(1,6)  ]],
    b=[  Q(1,6),   Q(2,3),  Q(1,6)  ],
    c=[  0,        Q(1,2),  1       ])

LOBATTO_IIIA_4 = ButcherTableau(
    name="lobatto iiia 4", source=Source("hairer1996", "Table IV.5.8"), order=6,
    A=[[ 0,            0,               0,               0           ],
       [ (11+R5)/120,  (25-R5)/120,     (25-13*R5)/120,  (-1+R5)/120 ],
       [ (11-R5)/120,  (25+13*R5)/120,  (25+R5)/120,     (-1-R5)/120 ],
       [ Q(1,12),      Q(5,12),         Q(5,12),         Q(1,12)     ]],
    b=[  Q(1,12),      Q(5,12),         Q(5,12),         Q(1,12)     ],
    c=[  0,            (5-R5)/10,       (5+R5)/10,       1           ])

# Printed with c = (0, 1), the nodes of the quadrature. IIIB has stage order s − 2, so here not even A·1 equals them.
LOBATTO_IIIB_2 = ButcherTableau(
    name="lobatto iiib 2", source=Source("hairer1996", "Table IV.5.9"), order=2,
    A=[[ Q(1,2),  0      ],
       [ Q(1,2),  0      ]],
    b=[  Q(1,2),  Q(1,2) ])

LOBATTO_IIIB_3 = ButcherTableau(
    name="lobatto iiib 3", source=Source("hairer1996", "Table IV.5.9"), order=4,
    A=[[ Q(1,6), -Q(1,6),  0      ],
       [ Q(1,6),  Q(1,3),  0      ],
       [ Q(1,6),  Q(5,6),  0      ]],
    b=[  Q(1,6),  Q(2,3),  Q(1,6) ],
    c=[  0,       Q(1,2),  1      ])

LOBATTO_IIIB_4 = ButcherTableau(
    name="lobatto iiib 4", source=Source("hairer1996", "Table IV.5.10"), order=6,
    A=[[ Q(1,12),  (-1-R5)/24,      (-1+R5)/24,      0       ],
       [ Q(1,12),  (25+R5)/120,     (25-13*R5)/120,  0       ],
       [ Q(1,12),  (25+13*R5)/120,  (25-R5)/120,     0       ],
       [ Q(1,12),  (11-R5)/24,      (11+R5)/24,      0       ]],
    b=[  Q(1,12),  Q(5,12),         Q(5,12),         Q(1,12) ],
    c=[  0,        (5-R5)/10,       (5+R5)/10,       1       ])

LOBATTO_IIIC_2 = ButcherTableau(
    name="lobatto iiic 2", source=Source("hairer1996", "Table IV.5.11"), order=2,
    A=[[ Q(1,2), -Q(1,2) ],
       [ Q(1,2),  Q(1,2) ]],
    b=[  Q(1,2),  Q(1,2) ],
    c=[  0,       1      ])

LOBATTO_IIIC_3 = ButcherTableau(
    name="lobatto iiic 3", source=Source("hairer1996", "Table IV.5.11"), order=4,
    A=[[ Q(1,6), -Q(1,3),   Q(1,6)  ],
       [ Q(1,6),  Q(5,12), -Q(1,12) ],
       [ Q(1,6),  Q(2,3),   Q(1,6)  ]],
    b=[  Q(1,6),  Q(2,3),   Q(1,6)  ],
    c=[  0,       Q(1,2),   1       ])

LOBATTO_IIIC_4 = ButcherTableau(
    name="lobatto iiic 4", source=Source("hairer1996", "Table IV.5.12"), order=6,
    A=[[ Q(1,12), -R5/12,          R5/12,          -Q(1,12) ],
       [ Q(1,12),  Q(1,4),         (10-7*R5)/60,    R5/60   ],
       [ Q(1,12),  (10+7*R5)/60,   Q(1,4),         -R5/60   ],
       [ Q(1,12),  Q(5,12),        Q(5,12),         Q(1,12) ]],
    b=[  Q(1,12),  Q(5,12),        Q(5,12),         Q(1,12) ],
    c=[  0,        (5-R5)/10,      (5+R5)/10,       1       ])

# Butcher's Lobatto III. With two stages it is the explicit trapezoidal rule of Heun.
LOBATTO_IIIC_STAR_2 = ButcherTableau(
    name="lobatto iiic* 2", source=Source("jay2015", "Lobatto IIIC*, s = 2"), order=2,
    A=[[ 0,       0      ],
       [ 1,       0      ]],
    b=[  Q(1,2),  Q(1,2) ],
    c=[  0,       1      ])

LOBATTO_IIIC_STAR_3 = ButcherTableau(
    name="lobatto iiic* 3", source=Source("jay2015", "Lobatto IIIC*, s = 3"), order=4,
    A=[[ 0,       0,       0      ],
       [ Q(1,4),  Q(1,4),  0      ],
       [ 0,       1,       0      ]],
    b=[  Q(1,6),  Q(2,3),  Q(1,6) ],
    c=[  0,       Q(1,2),  1      ])

LOBATTO_IIID_2 = ButcherTableau(
    name="lobatto iiid 2", source=Source("jay2015", "Lobatto IIID, s = 2"), order=2,
    A=[[ Q(1,4), -Q(1,4) ],
       [ Q(3,4),  Q(1,4) ]],
    b=[  Q(1,2),  Q(1,2) ],
    c=[  0,       1      ])

LOBATTO_IIID_3 = ButcherTableau(
    name="lobatto iiid 3", source=Source("jay2015", "Lobatto IIID, s = 3"), order=4,
    A=[[ Q(1,12), -Q(1,6),   Q(1,12) ],
       [ Q(5,24),  Q(1,3),  -Q(1,24) ],
       [ Q(1,12),  Q(5,6),   Q(1,12) ]],
    b=[  Q(1,6),   Q(2,3),   Q(1,6)  ],
    c=[  0,        Q(1,2),   1       ])
