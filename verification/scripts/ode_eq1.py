"""ode-eq1 (Section 2, (1)): z₊ = z - eta σ(Kᵀ y + b), y₊ = y + eta σ(K z₊ + b') is "stable regardless of the form of
weight matrix" K: the powers of the linearised step are bounded.

One neuron, slopes σ' = 1 (tanh at 0): z₊ = z - eta K y, y₊ = y + eta K z₊. The matrix R of it has determinant 1, so
its powers are bounded only if |tr R| < 2 or R = ±I. Measured: |tr R|, and the largest entry of Rⁿ. Bound: 2.
Cases: ^every|≤ 2
"""
from fractions import Fraction as F
from mpmath import mp, nstr

CASE = "every K, η | powers of the linearised step"
P = {"K": "5/2", "eta": "1"}

mp.dps = 50
K, eta = F(P["K"]), F(P["eta"])

def step(y, z):
    z = z - eta * K * y
    return y + eta * K * z, z

(a, c), (b, d) = step(F(1), F(0)), step(F(0), F(1))  # columns of R
trace = a + d
print(f"R = [{a} {b}; {c} {d}], det R = {a * d - b * c}")
premise = eta > 0
if "≤ 2" in CASE:
    premise = premise and eta * abs(K) <= 2
    print(f"premise eta σ_max(K) = {eta * abs(K)} <= 2: {'holds' if premise else 'fails'}")
R = mp.matrix([[a, b], [c, d]])
for n in (10, 100, 1000):
    print(f"largest entry of R^{n}: {nstr(max(map(abs, R**n)), 8)}")
print(f"measured |tr R| = {abs(trace)} against bound 2 (at 2: R = ±I is asked for)")
violated = premise and (abs(trace) > 2 or (abs(trace) == 2 and (b, c) != (0, 0)))
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
