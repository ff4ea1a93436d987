"""sco-3.2-reach (scoRNN Sec. 3.2): the updates W ← (I + K)⁻¹(I − K) W, K skew-symmetric, give every orthogonal matrix;
tried from W₀ = I with real K, so that the determinant stays what it was.
Cases: orthogonal
"""
from fractions import Fraction as F
from itertools import product
from math import isqrt

CASE = "orthogonal, n = 2 | W₁ reached from W₀ = I"
P = {"W0": "1 0 0 1", "W1": "1 0 0 -1"}

n = isqrt(len(P["W0"].split()))
W0, W1 = ([[F(x) for x in P[name].split()[n * i : n * i + n]] for i in range(n)] for name in ("W0", "W1"))
def det(M):
    M, value = [row[:] for row in M], F(1)
    for k in range(len(M)):
        pivot = next((r for r in range(k, len(M)) if M[r][k]), None)
        if pivot is None:
            return F(0)
        value *= M[pivot][k] * (1 if pivot == k else -1)
        M[k], M[pivot] = M[pivot], M[k]
        for r in range(k + 1, len(M)):
            M[r] = [x - M[r][k] / M[k][k] * y for x, y in zip(M[r], M[k])]
    return value
gram = lambda W: [[sum(W[k][i] * W[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
premise = all(gram(W) == [[F(i == j) for j in range(n)] for i in range(n)] for W in (W0, W1))
print("W0 =", [list(map(str, r)) for r in W0], "W1 =", [list(map(str, r)) for r in W1], f"premise orthogonal: {premise}")
kept = True  # det(I − K) = det(I + K): polynomials of degree ≤ 2 in each k_ij, equal if they are so on a grid {0, 1, 2}^…
for values in product((0, 1, 2), repeat=n * (n - 1) // 2):
    K, entries = [[F(0)] * n for _ in range(n)], iter(values)
    for i in range(n):
        for j in range(i + 1, n):
            K[i][j] = F(next(entries))
            K[j][i] = -K[i][j]
    plus, minus = ([[(i == j) + s * K[i][j] for j in range(n)] for i in range(n)] for s in (1, -1))
    kept = kept and det(plus) == det(minus)
print(f"det C(K) = 1 for every skew K: {kept}; measured det W1 = {det(W1)} against bound det W0 = {det(W0)}")
violated = premise and kept and det(W0) != det(W1)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
