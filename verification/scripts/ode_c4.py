"""ode-C4 (Claim 4): an ODERNN realises the clockwork RNN with g clocks; its labels n and t are the number of clocks,
and none smaller will do.

CW-RNN (29), one neuron a clock of period T_i: h_i(l) = σ(Σ_{j>=i} W_ij h_j(l-1) + V_i x + b_i) if T_i divides l, else
h_i(l-1). ODERNN: y₊ = y + B_0 k_0 + B_1 k_1, k_0 = y, k_1 = σ(W y + V x + b), B_1 = -B_0 = diag(T_i divides l): one
function nested, n = 1; y₊ from y alone, t = 1. σ(u) = u/(1 + |u|), exact. Measured: n or t of an ODERNN with the same
states over two periods, from a start and inputs without pattern. Bound: >= g.
Cases: coefficients that depend on time
"""
from fractions import Fraction as F
from math import lcm

CASE = "coefficients that depend on time | no n smaller than the number of clocks"
P = {"periods": "1 2"}

periods = [int(word) for word in P["periods"].split()]
g, sigma = len(periods), lambda u: u / (1 + abs(u))
W = [[F(2 * i - j + 1, 3) if j >= i else F(0) for j in range(g)] for i in range(g)]
V, b = [F(i + 1, 2) for i in range(g)], [F(1, i + 3) for i in range(g)]
h = y = [F(i - 2, 5) for i in range(g)]
same, steps = True, 2 * lcm(*periods)
for l in range(steps):
    x = F((7 * l) % 5 - 2)
    h = [sigma(sum(W[i][j] * h[j] for j in range(i, g)) + V[i] * x + b[i]) if l % periods[i] == 0 else h[i]
         for i in range(g)]
    k0, k1 = y, [sigma(sum(w * s for w, s in zip(row, y)) + v * x + c) for row, v, c in zip(W, V, b)]
    B1 = [1 if l % T == 0 else 0 for T in periods]
    y = [s - d * p + d * q for s, d, p, q in zip(y, B1, k0, k1)]
    same = same and h == y
premise = g > 1 and periods == sorted(set(periods))
print(f"premise clocks with different periods {periods}, the fastest first: {'holds' if premise else 'fails'}")
measured = 1  # k_1 is the only function, and it reads y = k_0; one block y
print(f"states of both over {steps} steps are equal: {same}; the last one is {', '.join(f'{float(s):.6g}' for s in y)}")
print(f"measured {CASE.split('no ')[1][0]} = {measured} against bound {g} clocks")
violated = premise and same and measured < g
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
