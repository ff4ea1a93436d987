"""ode-eq1 (Section 2, (1)): z₊ = z - eta σ(Kᵀ y + b), y₊ = y + eta σ(K z₊ + b') is stable whatever its weights are;
tried with weights K_j of their own in every layer, in turn for ever, and eta σ_max(K_j) < 2.

One neuron, slopes σ' = 1 (tanh at 0): z₊ = z - eta K_j y, y₊ = y + eta K_j z₊. R: the matrix of all layers once. It has
determinant 1, so its powers are bounded only if |tr R| < 2 or R = ±I. Measured: |tr R|, the largest entry of Rⁿ. Bound:
2.
Cases: K_j
"""
from fractions import Fraction as F
from mpmath import mp, nstr

CASE = "η σ_max(K_j) < 2, K_j of its own in every layer, slopes 1 | powers of the linearised step"
P = {"eta": "1", "K": "1 -1"}

mp.dps = 50
eta, weights = F(P["eta"]), [F(x) for x in P["K"].split()]

def layers(y, z):
    for K in weights:
        z = z - eta * K * y
        y = y + eta * K * z
    return y, z

(a, c), (b, d) = layers(F(1), F(0)), layers(F(0), F(1))  # columns of R
trace, largest = a + d, eta * max(map(abs, weights))
print(f"R = [{a} {b}; {c} {d}], det R = {a * d - b * c}")
premise = eta > 0 and largest < 2
print(f"premise eta max |K_j| = {largest} < 2: {'holds' if premise else 'fails'}")
R = mp.matrix([[a, b], [c, d]])
for n in (10, 100, 1000):
    print(f"largest entry of R^{n}: {nstr(max(map(abs, R**n)), 8)}")
print(f"measured |tr R| = {abs(trace)} against bound 2 (at 2: R = ±I is asked for)")
violated = premise and (abs(trace) > 2 or (abs(trace) == 2 and (b, c) != (0, 0)))
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
