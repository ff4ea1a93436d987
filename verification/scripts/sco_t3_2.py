"""sco-T3.2 (scoRNN Thm 3.2, (2)): ∂L/∂A = Vᵀ − V, V = (I + A)⁻ᵀ (∂L/∂W)(D + Wᵀ), W = C(A) D, C(A) = (I + A)⁻¹(I − A);
read, which the proof does not, as the gradient with dL = Σ (∂L/∂A)_ij dA_ij over all i and j.

For A + ε(e_i e_jᵀ − e_j e_iᵀ) that sum is (∂L/∂A)_ij − (∂L/∂A)_ji. L = Σ G_kl W_kl, G = ∂L/∂W; A, G row by row, all in
fractions. dW/dε = −(I + A)⁻¹ dA (D + W). Measured: dL/dε of each pair i < j. Bound: the sum by (2).
"""
from fractions import Fraction as F
from math import isqrt

CASE = "n ≤ 4, all D | ∂L/∂A, dL = Σ (∂L/∂A)_ij dA_ij over all i, j"
P = {"A": "0 1 -1 0", "D": "1 1", "G": "1 0 0 0"}

n = isqrt(len(P["A"].split()))
A, G = ([[F(x) for x in P[name].split()[n * i : n * i + n]] for i in range(n)] for name in ("A", "G"))
D = [[F(P["D"].split()[i]) * (i == j) for j in range(n)] for i in range(n)]
I, T = [[F(i == j) for j in range(n)] for i in range(n)], lambda M: [list(row) for row in zip(*M)]
times = lambda M, N: [[sum(x * y for x, y in zip(row, column)) for column in zip(*N)] for row in M]
plus = lambda M, N, s=1: [[x + s * y for x, y in zip(*rows)] for rows in zip(M, N)]
def inverse(M):
    rows = [list(row) + one for row, one in zip(M, I)]
    for k in range(n):
        pivot = next(r for r in range(k, n) if rows[r][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        rows = [row if i == k else [x - row[k] * y for x, y in zip(row, rows[k])] for i, row in enumerate(rows)]
    return [row[n:] for row in rows]
back = inverse(plus(I, A))
W = times(times(back, plus(I, A, -1)), D)
V = times(times(T(back), G), plus(D, T(W)))
formula = plus(T(V), V, -1)
premise, violated = T(A) == [[-x for x in row] for row in A], False
print("A, W, Vᵀ − V =", *([list(map(str, row)) for row in M] for M in (A, W, formula)), f"premise Aᵀ = −A: {premise}")
for i in range(n):
    for j in range(i + 1, n):
        dA = [[F((k, l) == (i, j)) - ((k, l) == (j, i)) for l in range(n)] for k in range(n)]
        dL = -sum(g * w for rows in zip(G, times(times(back, dA), plus(D, W))) for g, w in zip(*rows))
        print(f"i = {i + 1}, j = {j + 1}: measured dL/dε = {dL} against bound {formula[i][j] - formula[j][i]} by (2)")
        violated = violated or (premise and dL != formula[i][j] - formula[j][i])
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
