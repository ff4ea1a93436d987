"""ode-T1-dyn (Theorem 1 with weight matrices that "can depend on time"): if at every step l the tensor M of its
coefficients A(l), B(l) and every B_i(l) are positive semi-definite, no perturbation grows in some norm, for all
monotone fields, (u-v)ᵀ(f_i(u)-f_i(v)) <= 0, and all eta > 0.

Step l: Y_i = y + eta Σ_j A_ij(l) f_j(Y_j), y₊ = y + eta Σ_i B_i(l) f_i(Y_i). Here f_i(Y) = N_i Y, so Δy₊ = R(l) Δy.
M_ij = B_iᵀ A_ij + A_jiᵀ B_j - B_iᵀ B_j. Measured: the spectral radius of one period R(n)…R(1) (above 1 the distance
grows without bound, in every norm). Bound: 1.
Cases: ^class .b
"""
from fractions import Fraction as F
import numpy as np
from mpmath import mp, nstr

CASE = "class (b): matrix coefficients of time | some norm"
P = {"D": "2", "S": "1", "eta": "1", "A": "1/2 0 0 3/2 3/2 0 0 1/2", "B": "1 0 0 3 3 0 0 1", "N": "0 1 -1 0"}

mp.dps = 50
D, S, eta = int(P["D"]), int(P["S"]), F(P["eta"])
A, B, N = (np.array([F(x) for x in P[name].split()]).reshape(-1, D, D) for name in "ABN")
A, B, I, R = A.reshape(-1, S, S, D, D), B.reshape(-1, S, D, D), np.eye(D, dtype=int), mp.eye(D)
matrix = lambda X: mp.matrix(X.tolist())
least = lambda X: mp.chop(min(mp.eigsy(matrix(X + X.T) / 2, eigvals_only=True)))  # smallest eigenvalue
premise = eta > 0
for l, (a, b) in enumerate(zip(A, B), 1):
    M = np.block([[b[i].T @ a[i, j] + a[j, i].T @ b[j] - b[i].T @ b[j] for j in range(S)] for i in range(S)])
    K = np.block([[(i == j) * I - eta * N[i] @ a[i, j] for j in range(S)] for i in range(S)])  # K k = N Δy
    R = (mp.eye(D) + matrix(eta * np.hstack(b)) * mp.inverse(matrix(K)) * matrix(np.vstack(N))) * R
    signs = [least(M), min(map(least, b)), min(least(-n) for n in N)]
    premise = premise and min(signs) >= 0 and all((x == x.T).all() for x in b)
    print(f"premise, l = {l}, smallest eigenvalues of M, B_i, -(N_i + N_iᵀ)/2:", *(nstr(x, 6) for x in signs),
          "(must be >= 0); determinant of the stage equations", nstr(mp.det(matrix(K)), 6))
print("R(n)…R(1) =", *(f"[{', '.join(nstr(x, 8) for x in row)}]" for row in R.tolist()))
measured = max(map(abs, mp.eig(R)[0]))
violated = bool(premise and measured > 1 + mp.mpf(10) ** -20)
print(f"measured spectral radius of R(n)…R(1) {nstr(measured, 15)} against bound 1")
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
