"""ode-Q2 (Sections 3.2, 4): parameters as a function of the correlation length T: QUNN linear, 2T, LSTM quadratic;
tried: for an LSTM of fixed width h, and that the ratio LSTM/QUNN grows like T² if h = T.

LSTM of h units and d inputs: 4 gates with matrices h × d, h × h and two biases. Counted for T = 1, …, 64; the degree is
the number of differences until they vanish (of the ratio: less 1). Measured: the degree. Bound: 2, to be equal.
Cases: grows like
"""
CASE = "an LSTM of fixed width | its number of parameters grows like T²"
P = {"h": "128", "d": "1"}

h, d = int(P["h"]), int(P["d"])
lstm = lambda h: sum(h * d + h * h + h + h for gate in ("i", "f", "g", "o"))
counts = [lstm(T if "h = T" in CASE else h) for T in range(1, 65)]
print("T = 1, 2, 4, …, 64: LSTM", *(counts[T - 1] for T in (1, 2, 4, 8, 16, 32, 64)), "against QUNN 2, 4, 8, …, 128 parameters")
degree, differences = -1, counts
while any(differences):
    differences, degree = [b - a for a, b in zip(differences, differences[1:])], degree + 1
measured = degree - (1 if "ratio" in CASE else 0)
print(f"measured growth T^{measured} of {'the ratio to 2T' if 'ratio' in CASE else 'the LSTM'} against bound T^2")
violated = h > 0 and d > 0 and measured != 2
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
