"""Explicit Runge–Kutta methods without an embedded formula.

Where the source is a page range, it is that of the whole article: the place inside it was not at hand.
"""

from __future__ import annotations

from odernn.published.sources import Source
from odernn.tableaus.tableau import ButcherTableau, Q

# fmt: off
EULER = ButcherTableau(
    name="euler", source=Source("hairer2006", "eq. (I.1.5)"), order=1,
    A=[[ 0 ]],
    b=[  1 ],
    c=[  0 ])

# --- order 2

EXPLICIT_MIDPOINT = ButcherTableau(
    name="explicit midpoint", source=Source("hairer1993", "Table II.1.1, Runge, order 2"), order=2,
    A=[[ 0,       0 ],
       [ Q(1,2),  0 ]],
    b=[  0,       1 ],
    c=[  0,       Q(1,2)])

HEUN_2 = ButcherTableau(
    name="heun 2", source=Source("heun1900", "pp. 23–38"), order=2,
    A=[[ 0,       0 ],
       [ 1,       0 ]],
    b=[  Q(1,2),  Q(1,2)],
    c=[  0,       1 ])

RALSTON_2 = ButcherTableau(
    name="ralston 2", source=Source("ralston1962", "eq. (3.5)"), order=2,
    A=[[ 0,       0 ],
       [ Q(2,3),  0 ]],
    b=[  Q(1,4),  Q(3,4)],
    c=[  0,       Q(2,3)])

# --- order 3

# Four stages for order 3: the method of 1895, before it was known that three suffice.
RUNGE_3 = ButcherTableau(
    name="runge 3", source=Source("hairer1993", "Table II.1.1, Runge, order 3"), order=3,
    A=[[ 0,       0,       0,       0 ],
       [ Q(1,2),  0,       0,       0 ],
       [ 0,       1,       0,       0 ],
       [ 0,       0,       1,       0 ]],
    b=[  Q(1,6),  Q(2,3),  0,       Q(1,6)],
    c=[  0,       Q(1,2),  1,       1 ])

HEUN_3 = ButcherTableau(
    name="heun 3", source=Source("hairer1993", "Table II.1.1, Heun, order 3"), order=3,
    A=[[ 0,       0,       0 ],
       [ Q(1,3),  0,       0 ],
       [ 0,       Q(2,3),  0 ]],
    b=[  Q(1,4),  0,       Q(3,4)],
    c=[  0,       Q(1,3),  Q(2,3)])

KUTTA_3 = ButcherTableau(
    name="kutta 3", source=Source("kutta1901", "p. 440"), order=3,
    A=[[ 0,       0,       0 ],
       [ Q(1,2),  0,       0 ],
       [-1,       2,       0 ]],
    b=[  Q(1,6),  Q(2,3),  Q(1,6)],
    c=[  0,       Q(1,2),  1 ])

RALSTON_3 = ButcherTableau(
    name="ralston 3", source=Source("ralston1962", "eq. (4.10)"), order=3,
    A=[[ 0,       0,       0 ],
       [ Q(1,2),  0,       0 ],
       [ 0,       Q(3,4),  0 ]],
    b=[  Q(2,9),  Q(1,3),  Q(4,9)],
    c=[  0,       Q(1,2),  Q(3,4)])

RK31 = ButcherTableau(
    name="rk31", source=Source("butcher2016", "p. 99"), order=3,
    A=[[ 0,       0,       0 ],
       [ Q(2,3),  0,       0 ],
       [ Q(1,3),  Q(1,3),  0 ]],
    b=[  Q(1,4),  0,       Q(3,4)],
    c=[  0,       Q(2,3),  Q(2,3)])

# Two registers suffice: dU ← a_k dU + h f(U), U ← U + b_k dU with a = (0, −5/9, −153/128), b = (1/3, 15/16, 8/15).
WILLIAMSON_3 = ButcherTableau(
    name="williamson 3", source=Source("williamson1980", "pp. 48–56, case 7"), order=3,
    A=[[ 0,         0,         0 ],
       [ Q(1,3),    0,         0 ],
       [-Q(3,16),   Q(15,16),  0 ]],
    b=[  Q(1,6),    Q(3,10),   Q(8,15)],
    c=[  0,         Q(1,3),    Q(3,4)])

# --- order 4

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

RK42 = ButcherTableau(
    name="rk42", source=Source("butcher2016", "p. 102"), order=4,
    A=[[ 0,       0,       0,       0 ],
       [ Q(1,4),  0,       0,       0 ],
       [ 0,       Q(1,2),  0,       0 ],
       [ 1,      -2,       2,       0 ]],
    b=[  Q(1,6),  0,       Q(2,3),  Q(1,6)],
    c=[  0,       Q(1,4),  Q(1,2),  1 ])

GILL_4 = ButcherTableau(
    name="gill 4", source=Source("gill1951", "pp. 96–108"), order=4,
    A=[[ 0,                  0,                  0,                  0 ],
       [ Q(1,2),             0,                  0,                  0 ],
       ["-1/2 + sqrt(2)/2", "1 - sqrt(2)/2",     0,                  0 ],
       [ 0,                 "-sqrt(2)/2",       "1 + sqrt(2)/2",     0 ]],
    b=[  Q(1,6),            "(2 - sqrt(2))/6",  "(2 + sqrt(2))/6",   Q(1,6)],
    c=[  0,                  Q(1,2),             Q(1,2),             1 ])

# Ralston prints rounded decimals; these are the exact values of his parameters c₂ = 2/5, c₃ = 7/8 − 3√5/16.
RALSTON_4 = ButcherTableau(
    name="ralston 4", source=Source("ralston1962", "pp. 431–437"), order=4,
    A=[[ 0,  0,  0,  0 ],
       [ Q(2,5),  0,  0,  0 ],
       ["(-2889 + 1428*sqrt(5))/1024", "(3785 - 1620*sqrt(5))/1024",  0,  0 ],
       ["(-3365 + 2094*sqrt(5))/6040", "(-975 - 3046*sqrt(5))/2552", "(467040 + 203968*sqrt(5))/240845",  0 ]],
    b=["(263 + 24*sqrt(5))/1812", "(125 - 1000*sqrt(5))/3828", "1024*(3346 + 1623*sqrt(5))/5924787",
       "(30 - 4*sqrt(5))/123"],
    c=[  0,  Q(2,5), "7/8 - 3*sqrt(5)/16",  1 ])

# --- order 5

KUTTA_5 = ButcherTableau(
    name="kutta 5", source=Source("kutta1901", "pp. 435–453"), order=5,
    A=[[ 0,          0,        0,          0,         0,         0 ],
       [ Q(1,5),     0,        0,          0,         0,         0 ],
       [ 0,          Q(2,5),   0,          0,         0,         0 ],
       [ Q(9,4),    -5,        Q(15,4),    0,         0,         0 ],
       [-Q(63,100),  Q(9,5),  -Q(13,20),   Q(2,25),   0,         0 ],
       [-Q(6,25),    Q(4,5),   Q(2,15),    Q(8,75),   0,         0 ]],
    b=[  Q(17,144),  0,        Q(25,36),   Q(1,72),  -Q(25,72),  Q(25,48)],
    c=[  0,          Q(1,5),   Q(2,5),     1,         Q(3,5),    Q(4,5)])

# Kutta's other method of order 5 with the last two rows as Nyström corrected them.
NYSTROEM_5 = ButcherTableau(
    name="nystroem 5", source=Source("nystroem1925", "Vol. 50, No. 13"), order=5,
    A=[[ 0,          0,         0,          0,        0,          0 ],
       [ Q(1,3),     0,         0,          0,        0,          0 ],
       [ Q(4,25),    Q(6,25),   0,          0,        0,          0 ],
       [ Q(1,4),    -3,         Q(15,4),    0,        0,          0 ],
       [ Q(6,81),    Q(90,81), -Q(50,81),   Q(8,81),  0,          0 ],
       [ Q(6,75),    Q(36,75),  Q(10,75),   Q(8,75),  0,          0 ]],
    b=[  Q(23,192),  0,         Q(125,192), 0,       -Q(81,192),  Q(125,192)],
    c=[  0,          Q(1,3),    Q(2,5),     1,        Q(2,3),     Q(4,5)])

BUTCHER_5 = ButcherTableau(
    name="butcher 5", source=Source("butcher2016", "p. 103"), order=5,
    A=[[ 0,        0,        0,         0,         0,         0 ],
       [ Q(1,4),   0,        0,         0,         0,         0 ],
       [ Q(1,8),   Q(1,8),   0,         0,         0,         0 ],
       [ 0,        0,        Q(1,2),    0,         0,         0 ],
       [ Q(3,16), -Q(3,8),   Q(3,8),    Q(9,16),   0,         0 ],
       [-Q(3,7),   Q(8,7),   Q(6,7),   -Q(12,7),   Q(8,7),    0 ]],
    b=[  Q(7,90),  0,        Q(32,90),  Q(12,90),  Q(32,90),  Q(7,90)],
    c=[  0,        Q(1,4),   Q(1,4),    Q(1,2),    Q(3,4),    1 ])

# Of order 4, and of effective order 5: odernn.properties.effective_order.
BUTCHER_EFFECTIVE_5 = ButcherTableau(
    name="butcher effective 5", source=Source("butcher2016", "Section 389"), order=4,
    A=[[ 0,        0,        0,        0,        0 ],
       [ Q(1,5),   0,        0,        0,        0 ],
       [ 0,        Q(2,5),   0,        0,        0 ],
       [ Q(3,16),  0,        Q(5,16),  0,        0 ],
       [ Q(1,4),   0,       -Q(5,4),   2,        0 ]],
    b=[  Q(1,6),   0,        0,        Q(2,3),   Q(1,6)],
    c=[  0,        Q(1,5),   Q(2,5),   Q(1,2),   1 ])

LAWSON_5 = ButcherTableau(
    name="lawson 5", source=Source("lawson1966", "pp. 593–597"), order=5,
    A=[[ 0,          0,         0,         0,        0,         0 ],
       [ Q(1,12),    0,         0,         0,        0,         0 ],
       [-Q(1,8),     Q(3,8),    0,         0,        0,         0 ],
       [ Q(3,5),    -Q(9,10),   Q(4,5),    0,        0,         0 ],
       [ Q(39,80),  -Q(9,20),   Q(3,20),   Q(9,16),  0,         0 ],
       [-Q(59,35),   Q(66,35),  Q(48,35), -Q(12,7),  Q(8,7),    0 ]],
    b=[  Q(7,90),    0,         Q(16,45),  Q(2,15),  Q(16,45),  Q(7,90)],
    c=[  0,          Q(1,12),   Q(1,4),    Q(1,2),   Q(3,4),    1 ])

CASSITY_5 = ButcherTableau(
    name="cassity 5", source=Source("cassity1966", "pp. 598–606"), order=5,
    A=[[ 0,                  0,                0,           0,             0,            0 ],
       [ Q(1,7),             0,                0,           0,             0,            0 ],
       [-Q(367,4088),        Q(261,584),       0,           0,             0,            0 ],
       [ Q(41991,2044),     -Q(2493,73),       Q(57,4),     0,             0,            0 ],
       [-Q(108413,196224),   Q(58865,65408),   Q(5,16),     Q(265,1344),   0,            0 ],
       [-Q(204419,58984),    Q(143829,58984),  Q(171,202),  Q(2205,404),  -Q(432,101),   0 ]],
    b=[  Q(1,9),             Q(7,2700),        Q(413,810),  Q(7,450),      Q(28,75),    -Q(101,8100)],
    c=[  0,                  Q(1,7),           Q(5,14),     Q(9,14),       Q(6,7),       1 ])

# Nodes of Lobatto's quadrature.
LUTHER_KONEN_5 = ButcherTableau(
    name="luther konen 5", source=Source("luther1965", "pp. 551–558"), order=5,
    A=[[ 0,  0,  0,  0,  0,  0 ],
       [ Q(1,2),  0,  0,  0,  0,  0 ],
       [ Q(1,5), "3/10 - sqrt(5)/10",  0,  0,  0,  0 ],
       [ Q(1,4),  Q(1,4),  0,  0,  0,  0 ],
       ["1/20 - sqrt(5)/20", -Q(1,5), "1/4 + 3*sqrt(5)/20",  Q(2,5),  0,  0 ],
       ["-1/4 + sqrt(5)/4", "-1/2 + sqrt(5)/2", "5/4 - sqrt(5)/4", -2, "5/2 - sqrt(5)/2",  0 ]],
    b=[  Q(1,12),  0,  Q(5,12),  0,  Q(5,12),  Q(1,12)],
    c=[  0,  Q(1,2), "1/2 - sqrt(5)/10",  Q(1,2), "1/2 + sqrt(5)/10",  1 ])

# --- order 6

BUTCHER_6 = ButcherTableau(
    name="butcher 6", source=Source("butcher1964", "pp. 179–194"), order=6,
    A=[[ 0,           0,          0,          0,           0,          0,          0 ],
       [ Q(1,3),      0,          0,          0,           0,          0,          0 ],
       [ 0,           Q(2,3),     0,          0,           0,          0,          0 ],
       [ Q(1,12),     Q(1,3),    -Q(1,12),    0,           0,          0,          0 ],
       [-Q(1,16),     Q(9,8),    -Q(3,16),   -Q(3,8),      0,          0,          0 ],
       [ 0,           Q(9,8),    -Q(3,8),    -Q(3,4),      Q(1,2),     0,          0 ],
       [ Q(9,44),    -Q(9,11),    Q(63,44),   Q(18,11),    0,         -Q(16,11),   0 ]],
    b=[  Q(11,120),   0,          Q(27,40),   Q(27,40),   -Q(4,15),   -Q(4,15),    Q(11,120)],
    c=[  0,           Q(1,3),     Q(2,3),     Q(1,3),      Q(1,2),     Q(1,2),     1 ])

BUTCHER_6_B = ButcherTableau(
    name="butcher 6b", source=Source("butcher1964", "pp. 179–194"), order=6,
    A=[[ 0,            0,           0,           0,            0,           0,          0 ],
       [ Q(1,2),       0,           0,           0,            0,           0,          0 ],
       [ Q(2,9),       Q(4,9),      0,           0,            0,           0,          0 ],
       [ Q(7,36),      Q(2,9),     -Q(1,12),     0,            0,           0,          0 ],
       [-Q(35,144),   -Q(55,36),    Q(35,48),    Q(15,8),      0,           0,          0 ],
       [-Q(1,360),    -Q(11,36),   -Q(1,8),      Q(1,2),       Q(1,10),     0,          0 ],
       [-Q(41,260),    Q(22,13),    Q(43,156),  -Q(118,39),    Q(32,195),   Q(80,39),   0 ]],
    b=[  Q(13,200),    0,           Q(11,40),    Q(11,40),     Q(4,25),     Q(4,25),    Q(13,200)],
    c=[  0,            Q(1,2),      Q(2,3),      Q(1,3),       Q(5,6),      Q(1,6),     1 ])

LUTHER_6 = ButcherTableau(
    name="luther 6", source=Source("luther1968", "pp. 434–436"), order=6,
    A=[[ 0,  0,  0,  0,  0,  0,  0 ],
       [ 1,  0,  0,  0,  0,  0,  0 ],
       [ Q(3,8),  Q(1,8),  0,  0,  0,  0,  0 ],
       [ Q(8,27),  Q(2,27),  Q(8,27),  0,  0,  0,  0 ],
       ["(-21 + 9*sqrt(21))/392", "(-56 + 8*sqrt(21))/392", "(336 - 48*sqrt(21))/392", "(-63 + 3*sqrt(21))/392",
         0,  0,  0 ],
       ["(-1155 - 255*sqrt(21))/1960", "(-280 - 40*sqrt(21))/1960", "-320*sqrt(21)/1960",
        "(63 + 363*sqrt(21))/1960", "(2352 + 392*sqrt(21))/1960",  0,  0 ],
       ["(330 + 105*sqrt(21))/180",  Q(2,3), "(-200 + 280*sqrt(21))/180", "(126 - 189*sqrt(21))/180",
        "(-686 - 126*sqrt(21))/180", "(490 - 70*sqrt(21))/180",  0 ]],
    b=[  Q(9,180),  0,  Q(64,180),  0,  Q(49,180),  Q(49,180),  Q(9,180)],
    c=[  0,  1,  Q(1,2),  Q(2,3), "(7 - sqrt(21))/14", "(7 + sqrt(21))/14",  1 ])

# --- order 7 and 8

BUTCHER_7 = ButcherTableau(
    name="butcher 7", source=Source("butcher2016", "Subsection 327"), order=7,
    A=[[ 0, 0, 0, 0, 0, 0, 0, 0, 0 ],
       [ Q(1,6), 0, 0, 0, 0, 0, 0, 0, 0 ],
       [ 0, Q(1,3), 0, 0, 0, 0, 0, 0, 0 ],
       [ Q(1,8), 0, Q(3,8), 0, 0, 0, 0, 0, 0 ],
       [ Q(148,1331), 0, Q(150,1331), -Q(56,1331), 0, 0, 0, 0, 0 ],
       [-Q(404,243), 0, -Q(170,27), Q(4024,1701), Q(10648,1701), 0, 0, 0, 0 ],
       [ Q(2466,2401), 0, Q(1242,343), -Q(19176,16807), -Q(51909,16807), Q(1053,2401), 0, 0, 0 ],
       [ Q(5,154), 0, 0, Q(96,539), -Q(1815,20384), -Q(405,2464), Q(49,1144), 0, 0 ],
       [-Q(113,32), 0, -Q(195,22), Q(32,7), Q(29403,3584), -Q(729,512), Q(1029,1408), Q(21,16), 0 ]],
    b=[  0, 0, 0, Q(32,105), Q(1771561,6289920), Q(243,2560), Q(16807,74880), Q(77,1440), Q(11,270)],
    c=[  0, Q(1,6), Q(1,3), Q(1,2), Q(2,11), Q(2,3), Q(6,7), 0, 1 ])

COOPER_VERNER_8 = ButcherTableau(
    name="cooper verner 8", source=Source("cooper1972", "pp. 389–405"), order=8,
    A=[[ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 ],
       [ Q(1,2), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 ],
       [ Q(1,4), Q(1,4), 0, 0, 0, 0, 0, 0, 0, 0, 0 ],
       [ Q(1,7), "(-7 - 3*sqrt(21))/98", "(21 + 5*sqrt(21))/49", 0, 0, 0, 0, 0, 0, 0, 0 ],
       ["(11 + sqrt(21))/84", 0, "(18 + 4*sqrt(21))/63", "(21 - sqrt(21))/252", 0, 0, 0, 0, 0, 0, 0 ],
       ["(5 + sqrt(21))/48", 0, "(9 + sqrt(21))/36", "(-231 + 14*sqrt(21))/360", "(63 - 7*sqrt(21))/80",
         0, 0, 0, 0, 0, 0 ],
       ["(10 - sqrt(21))/42", 0, "(-432 + 92*sqrt(21))/315", "(633 - 145*sqrt(21))/90", "(-504 + 115*sqrt(21))/70",
        "(63 - 13*sqrt(21))/35", 0, 0, 0, 0, 0 ],
       [ Q(1,14), 0, 0, 0, "(14 - 3*sqrt(21))/126", "(13 - 3*sqrt(21))/63", Q(1,9), 0, 0, 0, 0 ],
       [ Q(1,32), 0, 0, 0, "(91 - 21*sqrt(21))/576", Q(11,72), "(-385 - 75*sqrt(21))/1152", "(63 + 13*sqrt(21))/128",
         0, 0, 0 ],
       [ Q(1,14), 0, 0, 0, Q(1,9), "(-733 - 147*sqrt(21))/2205", "(515 + 111*sqrt(21))/504", "(-51 - 11*sqrt(21))/56",
        "(132 + 28*sqrt(21))/245", 0, 0 ],
       [ 0, 0, 0, 0, "(-42 + 7*sqrt(21))/18", "(-18 + 28*sqrt(21))/45", "(-273 - 53*sqrt(21))/72",
        "(301 + 53*sqrt(21))/72", "(28 - 28*sqrt(21))/45", "(49 - 7*sqrt(21))/18", 0 ]],
    b=[  Q(1,20), 0, 0, 0, 0, 0, 0, Q(49,180), Q(16,45), Q(49,180), Q(1,20)],
    c=[  0, Q(1,2), Q(1,2), "(7 + sqrt(21))/14", "(7 + sqrt(21))/14", Q(1,2), "(7 - sqrt(21))/14",
        "(7 - sqrt(21))/14", Q(1,2), "(7 + sqrt(21))/14", 1 ])
