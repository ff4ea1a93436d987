"""ode-T1-relu (proof of Theorem 1, last sentence): ReLU and tanh satisfy the condition of monotonicity:
(u-v)ᵀ(f(u)-f(v)) has one sign for all u, v (>= 0 as printed, or <= 0, with which steps contract).

f(y) = σ(y), or the layer f(y) = σ(K y + b) with any K, or with K = -Kᵀ; b = 0 here. Measured: the product at u and v.
Bound: 0.
"""
from fractions import Fraction as F
from mpmath import mp, nstr, tanh

CASE = "relu, σ(y) | (u−v)ᵀ(f(u)−f(v)) ≤ 0"
P = {"K": "1", "u": "1", "v": "0"}

mp.dps = 50
u, v, flat = ([mp.mpf(x.numerator) / x.denominator for x in map(F, P[name].split())] for name in "uvK")
D = len(u)
K = [flat[D * i:D * (i + 1)] for i in range(D)]
sigma = (lambda x: max(x, 0)) if CASE.startswith("relu") else tanh
f = lambda y: [sigma(sum(k * x for k, x in zip(row, y))) for row in K]
premise = True
if "σ(y)" in CASE:
    premise = K == [[int(i == j) for j in range(D)] for i in range(D)]
    print("premise f(y) = σ(y), K = I:", "holds" if premise else "fails")
if "K = −Kᵀ" in CASE:
    premise = all(K[i][j] == -K[j][i] for i in range(D) for j in range(D))
    print("premise K = -Kᵀ:", "holds" if premise else "fails")
print(*(f"{name} = {[nstr(x, 8) for x in y]} -> f = {[nstr(x, 8) for x in f(y)]};" for name, y in (("u", u), ("v", v))))
measured = sum((a - b) * (p - q) for a, b, p, q in zip(u, v, f(u), f(v)))
positive = CASE.endswith("≥ 0")
print(f"measured (u-v)ᵀ(f(u)-f(v)) = {nstr(measured, 15)} against bound {'>=' if positive else '<='} 0")
margin = mp.mpf(10) ** -30
violated = premise and (measured < -margin if positive else measured > margin)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
