"""Diagonally implicit Runge-Kutta methods: SDIRK (one diagonal entry γ) and ESDIRK (SDIRK after an explicit stage).

Where a source prints decimals of a root and says which polynomial it is a root of, the root is entered exactly.
"""

from __future__ import annotations

from odernn.exact.algebraic import root_of, sqrt
from odernn.exact.compositum import nth_root
from odernn.published.sources import Source
from odernn.tableaus.tableau import ButcherTableau, Q

R2, R3 = sqrt(2), sqrt(3)

# fmt: off
_G = (3 + R3)/6
CROUZEIX_2 = ButcherTableau(
    name="crouzeix 2", source=Source("hairer1993", "Table II.7.2"), order=3,
    A=[[ _G,       0      ],
       [ 1-2*_G,   _G     ]],
    b=[  Q(1,2),   Q(1,2) ],
    c=[  _G,       1-_G   ])

# The other root of γ² − γ + 1/6, which is not A-stable.
SSP_SDIRK_2_3 = ButcherTableau(
    name="ssp sdirk 2 3", source=Source("ferracina2008", "Section 3"), order=3,
    A=[[ (3-R3)/6,  0        ],
       [ R3/3,      (3-R3)/6 ]],
    b=[  Q(1,2),    Q(1,2)   ],
    c=[  (3-R3)/6,  (3+R3)/6 ])

# γ = cos(π/18)/√3 + 1/2 = 1.0685790…, the largest root of γ³ − 3/2 γ² + 1/2 γ − 1/24, makes it A-stable.
# Found by Crouzeix and by Nørsett.
_G = root_of([Q(-1,24), Q(1,2), Q(-3,2), 1], 1.0685790)
_D = 1/(6*(2*_G - 1)**2)
CROUZEIX_3 = ButcherTableau(
    name="crouzeix 3", source=Source("hairer1996", "eq. (IV.6.18)"), order=4,
    A=[[ _G,          0,        0   ],
       [ Q(1,2)-_G,   _G,       0   ],
       [ 2*_G,        1-4*_G,   _G  ]],
    b=[  _D,          1-2*_D,   _D  ],
    c=[  _G,          Q(1,2),  1-_G ])
NORSETT_3 = CROUZEIX_3

_G = 1 - R2/2
ALEXANDER_2 = ButcherTableau(
    name="alexander 2", source=Source("alexander1977", "Theorem 5, s = 2"), order=2,
    A=[[ _G,      0  ],
       [ 1-_G,    _G ]],
    b=[  1-_G,    _G ],
    c=[  _G,      1  ])

# γ = 0.4358665…, the middle root of γ³ − 3γ² + 3/2 γ − 1/6, makes it L-stable.
_G = root_of([Q(-1,6), Q(3,2), -3, 1], 0.4358665)
_B1, _B2 = -(6*_G**2 - 16*_G + 1)/4, (6*_G**2 - 20*_G + 5)/4
ALEXANDER_3 = ButcherTableau(
    name="alexander 3", source=Source("alexander1977", "Theorem 5, s = 3"), order=3,
    A=[[ _G,         0,         0   ],
       [ (1-_G)/2,   _G,        0   ],
       [ _B1,        _B2,       _G  ]],
    b=[  _B1,        _B2,       _G  ],
    c=[  _G,         (1+_G)/2,  1   ])

# The only symplectic two-stage method of order 2 with equal diagonal; also the optimal SSP one.
QIN_ZHANG = ButcherTableau(
    name="qin zhang", source=Source("qin1992", "s = 2"), order=2,
    A=[[ Q(1,4),  0      ],
       [ Q(1,2),  Q(1,4) ]],
    b=[  Q(1,2),  Q(1,2) ],
    c=[  Q(1,4),  Q(3,4) ])

# Three implicit midpoint steps. b = (γ, 1 − 2γ, γ) with γ = 1/(2 − 2^{1/3}).
_G = 1/(2 - nth_root(Q(2), 3))
SANZ_SERNA_ABIA_3 = ButcherTableau(
    name="sanz-serna abia 3", source=Source("sanzserna1991", "Section 4"), order=4,
    A=[[ _G/2,    0,           0    ],
       [ _G,      (1-2*_G)/2,  0    ],
       [ _G,      1-2*_G,      _G/2 ]],
    b=[  _G,      1-2*_G,      _G   ],
    c=[  _G/2,    Q(1,2),    1-_G/2 ])

PARESCHI_RUSSO_222 = ButcherTableau(
    name="pareschi russo 222", source=Source("pareschi2005", "Table 2, implicit part"), order=2,
    A=[[ 1-R2/2,  0      ],
       [ R2-1,    1-R2/2 ]],
    b=[  Q(1,2),  Q(1,2) ],
    c=[  1-R2/2,  R2/2   ])

PARESCHI_RUSSO_332 = ButcherTableau(
    name="pareschi russo 332", source=Source("pareschi2005", "Table 4, implicit part"), order=2,
    A=[[ Q(1,4),  0,       0      ],
       [ 0,       Q(1,4),  0      ],
       [ Q(1,3),  Q(1,3),  Q(1,3) ]],
    b=[  Q(1,3),  Q(1,3),  Q(1,3) ],
    c=[  Q(1,4),  Q(1,4),  1      ])

ASCHER_RUUTH_SPITERI_443 = ButcherTableau(
    name="ascher ruuth spiteri 443", source=Source("ascher1997", "Section 2.8, implicit part"), order=3,
    A=[[ Q(1,2),  0,       0,       0      ],
       [ Q(1,6),  Q(1,2),  0,       0      ],
       [-Q(1,2),  Q(1,2),  Q(1,2),  0      ],
       [ Q(3,2), -Q(3,2),  Q(1,2),  Q(1,2) ]],
    b=[  Q(3,2), -Q(3,2),  Q(1,2),  Q(1,2) ],
    c=[  Q(1,2),  Q(2,3),  Q(1,2),  1      ])

# The embedded weights have the higher order.
NORSETT_THOMSEN_1 = ButcherTableau(
    name="norsett thomsen 1", source=Source("norsett1984", "method 1"), order=3, order_hat=4,
    A=    [[ Q(5,6),        0,                0,            0      ],
           [-Q(15,26),      Q(5,6),           0,            0      ],
           [ Q(215,54),    -Q(130,27),        Q(5,6),       0      ],
           [ Q(4007,6075), -Q(31031,24300),  -Q(133,2700),  Q(5,6) ]],
    b=    [  Q(32,75),      Q(169,300),       Q(1,100),     0      ],
    c=    [  Q(5,6),        Q(10,39),         0,            Q(1,6) ],
    b_hat=[  Q(61,150),     Q(2197,2100),     Q(19,100),   -Q(9,14) ])

HAIRER_WANNER_SDIRK4 = ButcherTableau(
    name="hairer wanner sdirk4", source=Source("hairer1996", "Table IV.6.5"), order=4, order_hat=3,
    A=    [[ Q(1,4),       0,             0,          0,         0      ],
           [ Q(1,2),       Q(1,4),        0,          0,         0      ],
           [ Q(17,50),    -Q(1,25),       Q(1,4),     0,         0      ],
           [ Q(371,1360), -Q(137,2720),   Q(15,544),  Q(1,4),    0      ],
           [ Q(25,24),    -Q(49,48),      Q(125,16), -Q(85,12),  Q(1,4) ]],
    b=    [  Q(25,24),    -Q(49,48),      Q(125,16), -Q(85,12),  Q(1,4) ],
    c=    [  Q(1,4),       Q(3,4),        Q(11,20),   Q(1,2),    1      ],
    b_hat=[  Q(59,48),    -Q(17,96),      Q(225,32), -Q(85,12),  0      ])

# Printed to 11 decimals and more.
CASH_5 = ButcherTableau(
    name="cash 5", source=Source("cash1979", "the (5,3,4) formula"), order=4, order_hat=3, digits=11,
    A=    [["0.435866521508",  "0",                "0",                "0",               "0"             ],
           ["-1.13586652150",  "0.435866521508",   "0",                "0",               "0"             ],
           ["1.08543330679",   "-0.721299828287",  "0.435866521508",   "0",               "0"             ],
           ["0.416349501547",  "0.190984004184",   "-0.118643265417",  "0.435866521508",  "0"             ],
           ["0.896869652944",  "0.0182725272734",  "-0.0845900310706", "-0.266418670647", "0.435866521508"]],
    b=    [ "0.896869652944",  "0.0182725272734",  "-0.0845900310706", "-0.266418670647", "0.435866521508"],
    c=    [ "0.435866521508",  "-0.7",             "0.8",              "0.924556761814",  "1"             ],
    b_hat=[ "0.776691932910",  "0.0297472791484",  "-0.0267440239074", "0.220304811849",  "0"             ])

# The trapezoidal rule to t₀ + γh, then the second backward differentiation formula; γ = 2 − √2.
TR_BDF2 = ButcherTableau(
    name="tr-bdf2", source=Source("hosea1996", "Section 2"), order=2, order_hat=3,
    A=    [[ 0,           0,           0          ],
           [ 1-R2/2,      1-R2/2,      0          ],
           [ R2/4,        R2/4,        1-R2/2     ]],
    b=    [  R2/4,        R2/4,        1-R2/2     ],
    c=    [  0,           2-R2,        1          ],
    b_hat=[ (1-R2/4)/3,  (3*R2/4+1)/3, (1-R2/2)/3 ])

# The trapezoidal rule twice with half the step, and the error of its extrapolation.
TRX2 = ButcherTableau(
    name="trx2", source=Source("hosea1996", "Section 3"), order=2, order_hat=3,
    A=    [[ 0,       0,       0      ],
           [ Q(1,4),  Q(1,4),  0      ],
           [ Q(1,4),  Q(1,2),  Q(1,4) ]],
    b=    [  Q(1,4),  Q(1,2),  Q(1,4) ],
    c=    [  0,       Q(1,2),  1      ],
    b_hat=[  Q(1,6),  Q(2,3),  Q(1,6) ])

# γ as in Alexander's method; stages 3 and 4 are two stiffly accurate methods, of orders 2 and 3.
_G = root_of([Q(-1,6), Q(3,2), -3, 1], 0.4358665)
KVAERNO_3 = ButcherTableau(
    name="kvaerno 3", source=Source("kvaerno2004", "ESDIRK 3/2 A"), order=3, order_hat=2,
    A=    [[ 0,                       0,                     0,                               0  ],
           [ _G,                      _G,                    0,                               0  ],
           [ (-4*_G**2+6*_G-1)/(4*_G), (1-2*_G)/(4*_G),      _G,                              0  ],
           [ (6*_G-1)/(12*_G),        -1/((24*_G-12)*_G),    (-6*_G**2+6*_G-1)/(6*_G-3),      _G ]],
    b=    [  (6*_G-1)/(12*_G),        -1/((24*_G-12)*_G),    (-6*_G**2+6*_G-1)/(6*_G-3),      _G ],
    c=    [  0,                       2*_G,                  1,                               1  ],
    b_hat=[ (-4*_G**2+6*_G-1)/(4*_G), (1-2*_G)/(4*_G),       _G,                              0  ])

# γ = 0.5728160…, a root of γ⁴ − 4γ³ + 3γ² − 2/3 γ + 1/24. The factors that recur in the printed formulas:
_G = root_of([Q(1,24), -Q(2,3), 3, -4, 1], 0.5728160625)
_P, _R, _S = 12*_G**2-6*_G+1, 12*_G**2-9*_G+2, 3*_G-1
_A31 = (144*_G**4-180*_G**3+81*_G**2-15*_G+1)*_G/_P**2
_A32 = (-36*_G**3+39*_G**2-15*_G+2)*_G/_P**2
_A41 = (-144*_G**5+396*_G**4-330*_G**3+117*_G**2-18*_G+1)/(12*_G**2*_R)
_A42 = (72*_G**4-126*_G**3+69*_G**2-15*_G+1)/(12*_G**2*_S)
_A43 = (-6*_G**2+6*_G-1)*_P**2/(12*_G**2*_R*_S)
_A51 = (288*_G**4-312*_G**3+120*_G**2-18*_G+1)/(48*_G**2*_R)
_A52 = (24*_G**2-12*_G+1)/(48*_G**2*_S)
_A53 = -_P**3/(48*_G**2*_S*_R*(6*_G**2-6*_G+1))
_A54 = (-24*_G**3+36*_G**2-12*_G+1)/(24*_G**2-24*_G+4)
KVAERNO_4 = ButcherTableau(
    name="kvaerno 4", source=Source("kvaerno2004", "ESDIRK 4/3 A"), order=4, order_hat=3,
    A=    [[ 0,     0,     0,     0,     0  ],
           [ _G,    _G,    0,     0,     0  ],
           [ _A31,  _A32,  _G,    0,     0  ],
           [ _A41,  _A42,  _A43,  _G,    0  ],
           [ _A51,  _A52,  _A53,  _A54,  _G ]],
    b=    [  _A51,  _A52,  _A53,  _A54,  _G ],
    b_hat=[  _A41,  _A42,  _A43,  _G,    0  ])

# Rational approximations, good to 24 digits, of the coefficients meant.
KENNEDY_CARPENTER_ESDIRK3 = ButcherTableau(
    name="kennedy carpenter esdirk3", source=Source("kennedy2003", "ARK3(2)4L[2]SA-ESDIRK"), order=3, order_hat=2,
    digits=24,
    A=    [[0, 0, 0, 0],
           ["1767732205903/4055673282236", "1767732205903/4055673282236", 0, 0],
           ["2746238789719/10658868560708", "-640167445237/6845629431997", "1767732205903/4055673282236", 0],
           ["1471266399579/7840856788654", "-4482444167858/7529755066697", "11266239266428/11593286722821",
            "1767732205903/4055673282236"]],
    b=     ["1471266399579/7840856788654", "-4482444167858/7529755066697", "11266239266428/11593286722821",
            "1767732205903/4055673282236"],
    c=     [0, "1767732205903/2027836641118", "3/5", 1],
    b_hat= ["2756255671327/12835298489170", "-10771552573575/22201958757719", "9247589265047/10645013368117",
            "2193209047091/5459859503100"])

KENNEDY_CARPENTER_ESDIRK4 = ButcherTableau(
    name="kennedy carpenter esdirk4", source=Source("kennedy2003", "ARK4(3)6L[2]SA-ESDIRK"), order=4, order_hat=3,
    A= [[0,                          0,                      0,                     0,                 0,          0],
        ["1/4",                      "1/4",                  0,                     0,                 0,          0],
        ["8611/62500",               "-1743/31250",          "1/4",                 0,                 0,          0],
        ["5012029/34652500",         "-654441/2922500",      "174375/388108",       "1/4",             0,          0],
        ["15267082809/155376265600", "-71443401/120774400",  "730878875/902184768", "2285395/8070912", "1/4",      0],
        ["82889/524892",             0,                      "15625/83664",         "69875/102672",    "-2260/8211",
         "1/4"]],
    b=  ["82889/524892",             0,                      "15625/83664",         "69875/102672",    "-2260/8211",
         "1/4"],
    c=  [0,                          "1/2",                  "83/250",              "31/50",           "17/20",    1],
    b_hat=["4586570599/29645900160", 0, "178811875/945068544", "814220225/1159782912", "-3700637/11593932",
         "61727/225920"])
