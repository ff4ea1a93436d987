"""ode-T2-input (Theorem 2, σ = tanh, biases that do not change): the states of the 1-2-ARNN, symplectic Euler, are
bounded for eta L_s max|λ| < 2, with a singular S too.

S = diag(1, 0), so max|λ| = 1, sup σ' = 1; the bias of p is (0, b), that of q is 0: p₊ = p - eta tanh(S q + (0, b)), q₊
= q + eta tanh(S p₊), from 0. Measured: |p| at n = 100, 1000, 10000 and its ratios (10 if it grows like n; margin 9).
Bound: bounded states, ratios -> 1.
Cases: singular
"""
from fractions import Fraction as F
from math import tanh

CASE = "symplectic Euler, tanh, constant biases | states bounded for η L_s max|λ| < 2, S singular"
P = {"eta": "1", "b": "1"}

eta, b, S = float(F(P["eta"])), float(F(P["b"])), (1.0, 0.0)
premise = 0 < eta * max(S) < 2
print(f"premise 0 < eta L_s max|λ| = {eta * max(S)} < 2: {'holds' if premise else 'fails'}")
p, q, bias, size = [0.0, 0.0], [0.0, 0.0], (0.0, b), {}
for n in range(1, 10**4 + 1):
    p = [x - eta * tanh(s * y + c) for x, y, s, c in zip(p, q, S, bias)]
    q = [y + eta * tanh(s * x) for x, y, s in zip(p, q, S)]
    size[n] = max(map(abs, p))
values = [size[n] for n in (100, 1000, 10000)]
ratios = [y / x if x else 1.0 for x, y in zip(values, values[1:])]
print(f"each step takes eta tanh(b) = {eta * tanh(b):.9g} from the second p")
print(f"measured max|p_n| at n = 100, 1000, 10000: {values}; ratios {ratios} (bounded: 1, margin 9)")
violated = premise and min(ratios) > 9
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
