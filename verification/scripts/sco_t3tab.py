"""sco-T3tab (scoRNN Table 3): the standard RNN with n = 116 units has 16k parameters, with n = 360 137k.

RNN of Sec. 2.1: m = 1 pixel in, p = 10 digits out; n² + nm + pn numbers, with or without the hidden bias, the output
bias, the initial state. A count agrees if it reads as printed, rounded or cut off, or to tens where the last 0 may hold
its place. Measured: all 8 counts. Bound: one agrees.
Cases: printed
"""
from itertools import product

CASE = "Table 3: RNN, n = 116 | parameters, printed 16k"
P = {"n": "116", "m": "1", "p": "10"}

n, m, p = (int(P[name]) for name in ("n", "m", "p"))
printed = int(CASE.rsplit(" ", 1)[1].removesuffix("k")) * 1000
low, high = (printed - 5000, printed + 10000) if printed % 10000 == 0 else (printed - 500, printed + 1000)
counts = []
for bias, output, state in product((0, 1), repeat=3):
    counts.append(n * n + n * m + p * n + bias * n + output * p + state * n)
    print(f"hidden bias {bias}, output bias {output}, initial state {state}: {counts[-1]:,}")
print(f"measured {min(counts):,} to {max(counts):,} against {printed // 1000}k as printed: {low:,} to below {high:,}")
violated = n > 0 and not any(low <= count < high for count in counts)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
