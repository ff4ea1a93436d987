"""both-baseline-counts (UnICORNN, both versions, Table 2; noise padded CIFAR-10): the LSTM with 128 units has 64k
parameters.

An LSTM with m units and input dimension d has 4(m² + m d) weights and 0, 1 or 2 bias vectors of 4m numbers, with or
without a readout of (m + 1) n_out numbers; d = 96, a row of 32 pixels in 3 colours, n_out = 10 classes. A count agrees
with "64k" if it reads so rounded or cut off.
"""
from fractions import Fraction

CASE = "lstm nCIFAR | parameters, printed 64k"
P = {"m": "128", "d": "96", "L": "1", "n_out": "10"}

m, d, L, n_out = (int(P[name]) for name in ("m", "d", "L", "n_out"))
printed = CASE.rsplit(" ", 1)[1]  # "64k"
low, high = Fraction(printed[:-1]) * 1000 - 500, Fraction(printed[:-1]) * 1000 + 1000
premise = CASE.startswith("lstm") and L == 1 and "." not in printed
print(f"premise: an LSTM of one layer, m = {m}, d = {d}, {n_out} classes: {'holds' if premise else 'fails'}")
counts = []
for biases in (0, 1, 2):
    for readout in (0, (m + 1) * n_out):
        counts.append(4 * (m * m + m * d + biases * m) + readout)
        print(f"{biases} bias vectors, readout {readout}: {counts[-1]:,} parameters")
print(f"measured {min(counts):,} to {max(counts):,} against {printed}: at least {int(low):,} and below {int(high):,}")
violated = premise and not any(low <= count < high for count in counts)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
