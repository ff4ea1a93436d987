"""ode-C* (Section 2.2 with Definition 1, constant coefficients): every map y₊ = Φ(y, x) is an ODERNN, with functions
that have bounded slopes, for some n and t.

Such a step has a bounded slope, |Φ(y + 1) - Φ(y)| <= C for all y. Take Φ(y) = y². Measured: |Φ(y + 1) - Φ(y)| at y, 10
y, 100 y, ...; it grows by about 10 each time (margin 5). Bound: a constant C, ratio 1.
"""
from fractions import Fraction as F

CASE = "constant coefficients, functions with bounded slopes, any n and t | every map y₊ = Φ(y, x) is an ODERNN"
P = {"y": "1000"}

phi = lambda y: y * y
changes = []
for e in range(6):
    y = F(P["y"]) * 10**e
    changes.append(abs(phi(y + 1) - phi(y)))
    print(f"y = {y}: |Φ(y + 1) - Φ(y)| = {changes[-1]}")
ratios = [float(b / a) if a else 1.0 for a, b in zip(changes, changes[1:])]
print("measured ratios", *(f"{r:.6g}" for r in ratios), "against bound 1 (margin 5)")
violated = min(ratios) > 5
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
