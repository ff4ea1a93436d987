"""ode-T1-sign (Definition 2 as printed, Theorem 1): if M = [M_ij] >= 0 and every B_i >= 0, a step does not move two
solutions apart, for all fields with NON-NEGATIVE inner products, (u-v)ᵀ(f_i(u)-f_i(v)) >= 0, and all eta > 0.

Step (9)-(10): Y_i = y + eta Σ_j A_ij f_j(Y_j), y₊ = y + eta Σ_i B_i f_i(Y_i) with the numbers A_ij, B_i of a
Runge-Kutta method. Here f_i(Y) = N_i Y, so that Δy₊ = R Δy. M_ij = B_i A_ij + B_j A_ji - B_i B_j. Measured: |R|.
Bound: 1.
"""
from fractions import Fraction as F
import numpy as np
from mpmath import mp, nstr

CASE = "implicit midpoint | |Δy₊| ≤ |Δy|"
P = {"D": "1", "S": "1", "eta": "1", "A": "1/2", "B": "1", "N": "1"}

mp.dps = 50
D, S, eta = int(P["D"]), int(P["S"]), F(P["eta"])
A, B, N = (np.array([F(x) for x in P[name].split()]) for name in "ABN")
A = A.reshape(S, S)
matrix = lambda X: mp.matrix(X.tolist())
M = np.array([[B[i] * A[i, j] + B[j] * A[j, i] - B[i] * B[j] for j in range(S)] for i in range(S)])
least = mp.chop(min(mp.eigsy(matrix(M), eigvals_only=True)))  # smallest eigenvalue
K = np.eye(S, dtype=int) - eta * N[:, None] * A  # K k = N Δy for the slopes k_i = N_i Y_i
R = 1 + eta * (matrix(B[None]) * mp.inverse(matrix(K)) * matrix(N[:, None]))[0]
premise = least >= 0 and min(B) >= 0 and min(N) >= 0 and eta > 0 and D == 1
print("premise, smallest eigenvalue of M:", nstr(least, 6), ">= 0; smallest B_i:", min(B), "(must be >= 0)")
print("premise, (u-v)(f_i(u)-f_i(v)) = N_i (u-v)^2, smallest N_i:", min(N), "(must be >= 0)")
print("premise, one solution of the stage equations: determinant", nstr(mp.det(matrix(K)), 8))
violated = bool(premise and abs(R) > 1 + mp.mpf(10) ** -20)
print(f"measured |Δy₊| / |Δy| = {nstr(abs(R), 15)} against bound 1")
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
