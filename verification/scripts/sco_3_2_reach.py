"""sco-3.2-reach (scoRNN Sec. 3.2): scoRNN has full capacity, every orthogonal W is W = C(A) D, C(A) = (I + A)⁻¹(I − A);
tried with D fixed beforehand, not chosen for W.

W D = C(A), and I + C(A) = 2(I + A)⁻¹ is never singular: W is reached with this D only if det(I + W D) ≠ 0. W is given
row by row, D by its diagonal.
Cases: scoRNN
"""
from fractions import Fraction as F

CASE = "scoRNN, D fixed, n = 1 | W = C(A) D"
P = {"W": "-1", "D": "1"}

D = [F(d) for d in P["D"].split()]
n, flat = len(D), [F(x) for x in P["W"].split()]
W = [flat[n * i : n * i + n] for i in range(n)]

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

premise = all(sum(W[k][i] * W[k][j] for k in range(n)) == (i == j) for i in range(n) for j in range(n))
premise = premise and set(D) <= {1, -1}
print("W =", [list(map(str, row)) for row in W], f"D = diag({', '.join(map(str, D))}): WᵀW = I, D = ±1: {premise}")
measured = det([[(i == j) + W[i][j] * D[j] for j in range(n)] for i in range(n)])
print(f"det W = {det(W)}, det D = {det([[D[i] * (i == j) for j in range(n)] for i in range(n)])}")
print(f"measured det(I + W D) = {measured}; bound: not 0, as det(I + C(A)) = 2ⁿ/det(I + A) for every A")
violated = premise and measured == 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
