"""ode-T1-1st (Theorem 1, one stage): if M = BᵀA + AᵀB - BᵀB >= 0 and B >= 0, the step Y = y + eta A f(Y), y₊ = y + eta
B f(Y) does not move two solutions apart, for all monotone f, (u-v)ᵀ(f(u)-f(v)) <= 0, and all eta > 0.

Here f(Y) = N Y, so that Δy₊ = R Δy, R = I + eta B (I - eta N A)⁻¹ N; B = P, A = P/2 or A = P/2 + k P⁻¹J, J = [0 1; -1
0], so that M = 0. Measured: ‖R‖₂; for "some norm" the spectral radius of R (if it is above 1 the powers of R are
unbounded and no norm contracts). Bound: 1.
"""
from fractions import Fraction as F
import numpy as np
from mpmath import mp, nstr

CASE = "A = P/2, B = P | ‖Δy₊‖₂ ≤ ‖Δy‖₂"
P = {"D": "2", "S": "1", "eta": "1", "A": "1/2 0 0 1", "B": "1 0 0 2", "N": "0 1 -1 0"}

mp.dps = 50
D, eta = int(P["D"]), F(P["eta"])
A, B, N = (np.array([F(x) for x in P[name].split()]).reshape(D, D) for name in "ABN")
matrix = lambda X: mp.matrix(X.tolist())
least = lambda X: mp.chop(min(mp.eigsy(matrix(X + X.T) / 2, eigvals_only=True)))  # smallest eigenvalue
M = B.T @ A + A.T @ B - B.T @ B
K = np.eye(D, dtype=int) - eta * N @ A
R = mp.eye(D) + matrix(eta * B) * mp.inverse(matrix(K)) * matrix(N)
signs = least(M), least(B), least(-N)
kJ = B @ (A - B / 2)  # k J if A = P/2 + k P⁻¹J, 0 if A = P/2
premise = min(signs) >= 0 and eta > 0 and P["S"] == "1" and (B == B.T).all() and (kJ == -kJ.T).all()
premise = premise and ("kP" in CASE or not kJ.any())
print("premise, smallest eigenvalues of M, B, -(N + Nᵀ)/2:", *(nstr(x, 6) for x in signs), "(must be >= 0)")
print("premise, P (A - P/2) = k J, k =", kJ[0, -1])
print("premise, one solution of the stage equation: determinant", nstr(mp.det(matrix(K)), 8))
print("R =", *(f"[{', '.join(nstr(x, 8) for x in row)}]" for row in R.tolist()))
measured = max(map(abs, mp.eig(R)[0])) if "some norm" in CASE else max(mp.svd_r(R, compute_uv=False))
violated = bool(premise and measured > 1 + mp.mpf(10) ** -20)
print(f"measured {'spectral radius' if 'some norm' in CASE else 'norm'} of R {nstr(measured, 15)} against bound 1")
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
