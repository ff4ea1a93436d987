"""both-param-counts (UnICORNN, Tables 1, 3 and 7), tried: the network has the printed number of parameters, 135k on
psMNIST with 256 units, 1.5k on EigenWorms, 9k on Lorenz 96, if its biases b are counted.

Layer 1 has m d weights V, the others m² each; every layer has m numbers w, c and b; the readout has (m + 1) n_out. A
count agrees with "135k" if it is that within half a unit of the last digit.
Cases: b counted
"""
from fractions import Fraction

CASE = "printed psMNIST-256, b counted | parameters, printed 135k"
P = {"m": "256", "d": "1", "L": "3", "n_out": "10"}

m, d, L, n_out = (int(P[name]) for name in ("m", "d", "L", "n_out"))
digits = CASE.rsplit(" ", 1)[1].removesuffix("k")
printed, half = Fraction(digits) * 1000, Fraction(500, 10 ** len(digits.partition(".")[2]))
low, high = printed - half, printed + half
premise = min(m, d, L, n_out) > 0 and printed.denominator == 1
parts = {"V": m * d + (L - 1) * m * m, "w and c": 2 * L * m, "b": L * m, "readout": (m + 1) * n_out}
count = sum(parts.values())
print(f"premise m = {m}, d = {d}, L = {L}, n_out = {n_out}: {'holds' if premise else 'fails'}")
print(", ".join(f"{name}: {number:,}" for name, number in parts.items()), f"(without b: {count - parts['b']:,})")
print(f"measured {count:,} parameters against bound {printed}: at least {low}, at most {high}")
violated = premise and not low <= count <= high
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
