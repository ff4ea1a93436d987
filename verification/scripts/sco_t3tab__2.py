"""sco-T3tab (scoRNN Table 3): the standard RNN with n = 116 units has about 16k parameters, "about" read as 5 % at most.

RNN of Sec. 2.1: m = 1 pixel in, p = 10 digits out; n² + nm + pn numbers, with or without the hidden bias, the output
bias, the initial state. Measured: of all 8 counts the nearest. Bound: 5 % of the printed number away from it.
Cases: ≈
"""
from fractions import Fraction
from itertools import product

CASE = "Table 3: RNN, n = 116 | parameters ≈ 16k, 5%"
P = {"n": "116", "m": "1", "p": "10"}

n, m, p = (int(P[name]) for name in ("n", "m", "p"))
printed = int(CASE.split("≈ ")[1].split("k, ")[0]) * 1000
premise = min(n, m, p) > 0 and f"RNN, n = {n} |" in CASE
print(f"premise n = {n}, m = {m}, p = {p}, as in {CASE.split(' | ')[0]}: {'holds' if premise else 'fails'}")
counts = []
for bias, output, state in product((0, 1), repeat=3):
    counts.append(n * n + n * m + p * n + bias * n + output * p + state * n)
    print(f"hidden bias {bias}, output bias {output}, initial state {state}: {counts[-1]:,}")
measured = min(Fraction(abs(count - printed), printed) for count in counts)
print(f"measured {float(measured):.4f} of {printed:,} at the nearest against bound 1/20")
violated = premise and measured > Fraction(1, 20)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
