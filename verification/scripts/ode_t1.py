"""ode-T1 (Theorem 1 with Definition 2): if M = [M_ij] >= 0 and every B_i >= 0, a step of the ODERNN does not move two
solutions apart, for all monotone fields, (u-v)ᵀ(f_i(u)-f_i(v)) <= 0, and all eta > 0.

Step (9)-(10): Y_i = y + eta Σ_j A_ij f_j(Y_j), y₊ = y + eta Σ_i B_i f_i(Y_i). Here f_i(Y) = N_i Y, so that Δy₊ = R Δy.
M_ij = B_iᵀ A_ij + A_jiᵀ B_j - B_iᵀ B_j (without transposes: B_i A_ij + B_j A_ji - B_i B_j). Measured: ‖R‖₂; for "some norm"
the spectral radius of R (if it is above 1 the powers of R are unbounded and no norm contracts). Bound: 1.
Cases: ^S = .( [|]|, B)
"""
from fractions import Fraction as F
import numpy as np
from mpmath import mp, nstr

CASE = "S = 1 | ‖Δy₊‖₂ ≤ ‖Δy‖₂"
P = {"D": "2", "S": "1", "eta": "1", "A": "1/2 0 0 1", "B": "1 0 0 2", "N": "0 1 -1 0"}

mp.dps = 50
D, S, eta = int(P["D"]), int(P["S"]), F(P["eta"])
A, B, N = (np.array([F(x) for x in P[name].split()]).reshape(-1, D, D) for name in "ABN")
A, I = A.reshape(S, S, D, D), np.eye(D, dtype=int)
matrix = lambda X: mp.matrix(X.tolist())
least = lambda X: mp.chop(min(mp.eigsy(matrix(X + X.T) / 2, eigvals_only=True)))  # smallest eigenvalue
if "without transposes" in CASE:
    M = np.block([[B[i] @ A[i, j] + B[j] @ A[j, i] - B[i] @ B[j] for j in range(S)] for i in range(S)])
else:
    M = np.block([[B[i].T @ A[i, j] + A[j, i].T @ B[j] - B[i].T @ B[j] for j in range(S)] for i in range(S)])
K = np.block([[(i == j) * I - eta * N[i] @ A[i, j] for j in range(S)] for i in range(S)])  # K k = N Δy, k_i = f_i(Y_i)
R = mp.eye(D) + matrix(eta * np.hstack(B)) * mp.inverse(matrix(K)) * matrix(np.vstack(N))
signs = [least(M), min(map(least, B)), min(least(-n) for n in N)]
premise = min(signs) >= 0 and eta > 0 and all((b == b.T).all() for b in B) and CASE.startswith(f"S = {S}")
premise = premise and ("B_i = I" not in CASE or all((b == I).all() for b in B))
print("premise, smallest eigenvalues of M, B_i, -(N_i + N_iᵀ)/2:", *(nstr(x, 6) for x in signs), "(must be >= 0)")
print("premise, one solution of the stage equations: determinant", nstr(mp.det(matrix(K)), 8))
print("R =", *(f"[{', '.join(nstr(x, 8) for x in row)}]" for row in R.tolist()))
measured = max(map(abs, mp.eig(R)[0])) if "some norm" in CASE else max(mp.svd_r(R, compute_uv=False))
violated = bool(premise and measured > 1 + mp.mpf(10) ** -20)
print(f"measured {'spectral radius' if 'some norm' in CASE else 'norm'} of R {nstr(measured, 15)} against bound 1")
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
