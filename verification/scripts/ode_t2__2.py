"""ode-T2 (Theorem 2 read with states, σ = ReLU, no inputs): the states of the 1-2-ARNN, symplectic Euler, are bounded
for a = eta L_s max|λ| < 2.

One neuron, S = 1, eta = a, sup σ' = 1: p₊ = p - a σ(q), q₊ = q + a σ(p₊). If p₊ < p <= 0 and q₊ = q, the next step
does the same, so that p falls for ever. Measured: |p_n| at n = 100, 1000, 10000 and its ratios (10 if it grows like n;
margin 9). Bound: bounded states, ratios -> 1.
Cases: states bounded
"""
from fractions import Fraction as F

CASE = "symplectic Euler, ReLU, no inputs | states bounded for η L_s max|λ| < 2"
P = {"a": "1/2", "q": "1", "p": "0"}

a, q, p = (F(P[name]) for name in ("a", "q", "p"))
relu = lambda x: max(x, F(0))

def step(p, q):
    p = p - a * relu(q)
    return p, q + a * relu(p)

first = step(p, q)
premise = 0 < a < 2
forever = first[0] < p <= 0 and first[1] == q
print(f"premise 0 < a = {a} < 2: {'holds' if premise else 'fails'}")
print(f"one step: p from {p} to {first[0]}, q from {q} to {first[1]}; the same again for ever: {forever}")
size, state = {0: p}, (p, q)
for n in range(1, 10**4 + 1):
    state = step(*state)
    size[n] = abs(state[0])
moved = [size[n] - abs(p) for n in (100, 1000, 10000)]
ratios = [float(b / a) for a, b in zip(moved, moved[1:])] if moved[0] else [1.0]
print(f"measured |p_n| at n = 100, 1000, 10000: {size[100]}, {size[1000]}, {size[10000]}; growth ratios {ratios}")
violated = premise and forever and min(ratios) > 9
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
