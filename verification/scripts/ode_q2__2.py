"""ode-Q2 (Sections 3.2, 4): a QUNN has fewer parameters than an LSTM, 2T for the correlation length T; tried for every
T and an LSTM of fixed width h.

LSTM of h units and d inputs: 4 gates with matrices h × d, h × h and two biases. Measured: 2T. Bound: less than the
LSTM.
Cases: fewer
"""
CASE = "an LSTM of fixed width | a QUNN has fewer parameters at every T"
P = {"T": "1000", "h": "8", "d": "1"}

T, h, d = (int(P[name]) for name in ("T", "h", "d"))
lstm = sum(h * d + h * h + h + h for gate in ("i", "f", "g", "o"))
print(f"T = {T}, h = {h}, d = {d}: measured QUNN {2 * T} parameters against bound LSTM {lstm}")
violated = T > 0 and h > 0 and 2 * T >= lstm
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
