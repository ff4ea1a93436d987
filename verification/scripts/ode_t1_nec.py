"""ode-T1-nec (Theorem 1 without condition I): a Runge-Kutta method with b_i >= 0 does not move two solutions apart,
for all fields f(t, y) with (u-v)ᵀ(f(t,u)-f(t,v)) <= 0, and all eta > 0.

Step (9)-(10) with A_ij = a_ij I, B_i = b_i I: Y_i = y + eta Σ_j a_ij f(t_j, Y_j), y₊ = y + eta Σ_i b_i f(t_i, Y_i),
t_i = Σ_j a_ij. Here f(t_i, Y) = N_i Y, so that Δy₊ = R Δy. Measured: the spectral radius of R (‖Δy₊‖ > ‖Δy‖ for some
Δy in every norm if it is above 1). Bound: 1.
"""
from fractions import Fraction as F
import numpy as np
from mpmath import mp, nstr

CASE = "euler | |Δy₊| ≤ |Δy|"
P = {"D": "2", "S": "1", "eta": "1", "a": "0", "b": "1", "N": "0 1 -1 0"}

mp.dps = 50
D, S, eta = int(P["D"]), int(P["S"]), F(P["eta"])
a, b, N = (np.array([F(x) for x in P[name].split()]) for name in "abN")
a, N, I = a.reshape(S, S), N.reshape(S, D, D), np.eye(D, dtype=int)
matrix = lambda X: mp.matrix(X.tolist())
least = lambda X: mp.chop(min(mp.eigsy(matrix(X + X.T) / 2, eigvals_only=True)))  # smallest eigenvalue
M = np.array([[b[i] * a[i, j] + b[j] * a[j, i] - b[i] * b[j] for j in range(S)] for i in range(S)])
K = np.block([[(i == j) * I - eta * a[i, j] * N[i] for j in range(S)] for i in range(S)])  # K k = N Δy, k_i = N_i Y_i
R = mp.eye(D) + matrix(eta * np.hstack([x * I for x in b])) * mp.inverse(matrix(K)) * matrix(np.vstack(N))
t, field = a.sum(axis=1), min(least(-n) for n in N)
shared = all((N[i] == N[j]).all() for i in range(S) for j in range(S) if t[i] == t[j])
premise = min(b) >= 0 and eta > 0 and field >= 0 and shared
print("premise, smallest b_i:", min(b), "; smallest eigenvalue of -(N_i + N_iᵀ)/2:", nstr(field, 6), "(must be >= 0)")
print("premise, t_i =", *t, "and equal t_i have equal N_i:", shared)
print("premise, one solution of the stage equations: determinant", nstr(mp.det(matrix(K)), 8))
print("(condition I, which is left out here: smallest eigenvalue of M =", nstr(least(M), 8), ")")
measured = max(map(abs, mp.eig(R)[0]))
violated = bool(premise and measured > 1 + mp.mpf(10) ** -20)
print(f"measured spectral radius of R {nstr(measured, 15)} against bound 1")
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
