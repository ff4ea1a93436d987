"""ode-Q3 (Section 3.2, a note): two tables of numbers, with the layers of a QUNN as stages, meet Theorem 1's requirements;
the first one is M = [M_ij] >= 0, M_ij = b_i a_ij + b_j a_ji - b_i b_j.

The layers z_i = σ(W_i z_{i-1}), i = 1..N, as the stages of one step y₊ = y + Σ b_i k_i, Y_i = y + Σ a_ij k_j. ResNet
form: k_i = σ(W_i Y_i) - Y_i. Plain form: k_0 = y, k_i = σ(W_i Y_i). The parameters of (32) and (35) are in W_i, none
in a_ij, b_i. Measured: the smallest diagonal entry of M, an upper bound of its smallest eigenvalue. Bound: >= 0.
Cases: form, N
"""
from fractions import Fraction as F

CASE = "ResNet form, N = 2 | condition I: M ≥ 0"
P = {"D": "1", "S": "2", "eta": "1", "a": "0 0 1 0", "b": "1 1", "N": "0 0"}

S, plain, N = int(P["S"]), CASE.startswith("plain"), int(CASE.split("N = ")[1].split()[0])
flat, b = ([F(x) for x in P[name].split()] for name in "ab")
a = [flat[S * i:S * (i + 1)] for i in range(S)]

# the table is the chain of layers: tried with layers x -> x² + i and y = 2/3
y, layer, k = F(2, 3), lambda i, x: x * x + i, []
z = y
for i in range(1, N + 1):
    z = layer(i, z)
for i in range(S):
    Y = y + sum(a[i][j] * k[j] for j in range(i))
    k.append((Y if i == 0 else layer(i, Y)) if plain else layer(i + 1, Y) - Y)
end = y + sum(x * slope for x, slope in zip(b, k))
explicit = all(a[i][j] == 0 for i in range(S) for j in range(i, S))
print(f"premise: z_N = {float(z):.6g} is y₊ = {float(end):.6g}: {z == end}; a_ij = 0 for j >= i: {explicit}")
M = [[b[i] * a[i][j] + b[j] * a[j][i] - b[i] * b[j] for j in range(S)] for i in range(S)]
print("M =", *(f"[{', '.join(map(str, row))}]" for row in M))
measured = min(M[i][i] for i in range(S))
print(f"measured smallest diagonal entry of M = {measured} against bound >= 0, for all parameters and data")
violated = explicit and z == end and measured < 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
