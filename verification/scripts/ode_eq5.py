"""ode-eq5 (Definition 1, (5), transposes lost): M_ij = B_i A_ij + B_j A_ji - B_i B_j governs the stability, by the
energy identity |Δy₊|² = |Δy|² + 2 eta Σ_i w_i·B_i g_i - eta² Σ_ij g_iᵀ M_ij g_j.

Two solutions of one step differ by Δy before, w_i = Δy + eta Σ_j A_ij g_j in the stages, g_i in the slopes, and Δy₊ =
Δy + eta Σ_i B_i g_i after. Measured: |Δy₊|². Bound: the right-hand side with the printed M, to which it is to be equal
(with transposes, M_ij = B_iᵀ A_ij + A_jiᵀ B_j - B_iᵀ B_j, it is).
"""
from fractions import Fraction as F
import numpy as np

CASE = "S = 1, any blocks | printed M"
P = {"A00_00": "0", "A00_01": "0", "A00_10": "0", "A00_11": "0", "B0_00": "0", "B0_01": "0", "B0_10": "1", "B0_11": "0",
     "d0": "0", "d1": "0", "eta": "1", "g0_0": "1", "g0_1": "0"}

D, S, eta = 2, int(CASE[4]), F(P["eta"])
def entry(name, r, c):  # of a symmetric block only the entries with r <= c are given
    return F(P[f"{name}_{r}{c}"] if f"{name}_{r}{c}" in P else P[f"{name}_{c}{r}"])
def block(name):
    return np.array([[entry(name, r, c) for c in range(D)] for r in range(D)])

A = [[block(f"A{i}{j}") for j in range(S)] for i in range(S)]
B = [block(f"B{i}") for i in range(S)]
g = [np.array([F(P[f"g{i}_{r}"]) for r in range(D)]) for i in range(S)]
d = np.array([F(P[f"d{r}"]) for r in range(D)])
w = [d + eta * sum(A[i][j] @ g[j] for j in range(S)) for i in range(S)]
after = d + eta * sum(B[i] @ g[i] for i in range(S))
def right(M):
    lost = sum(g[i] @ M(i, j) @ g[j] for i in range(S) for j in range(S))
    return d @ d + 2 * eta * sum(w[i] @ B[i] @ g[i] for i in range(S)) - eta**2 * lost
symmetric = all((X == X.T).all() for X in [*B, *(X for row in A for X in row)])
print("Δy =", *d, " Δy₊ =", *after, " g_i =", *(f"({', '.join(map(str, x))})" for x in g), " symmetric:", symmetric)
printed = right(lambda i, j: B[i] @ A[i][j] + B[j] @ A[j][i] - B[i] @ B[j])
transposed = right(lambda i, j: B[i].T @ A[i][j] + A[j][i].T @ B[j] - B[i].T @ B[j])
measured = after @ after
print(f"measured |Δy₊|² = {measured} against right-hand side {printed} (with transposes {transposed})")
violated = measured != printed and (symmetric or "symmetric" not in CASE)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
