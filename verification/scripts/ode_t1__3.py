"""ode-T1 (Theorem 1 with Definition 2): if M = [M_ij] >= 0 and every B_i >= 0, a step of the ODERNN does not move two
states apart in its norm, for all monotone fields, (u-v)ᵀ(f_i(u)-f_i(v)) <= 0, and all eta > 0. Here: in no norm.

Two stages with f_i(y) = ReLU(b_i - y): Y_i = y + eta Σ_j A_ij f_j(Y_j), y₊ = y + eta Σ_i B_i f_i(Y_i). M_ij = B_iᵀ A_ij +
A_jiᵀ B_j - B_iᵀ B_j; without transposes B_i A_ij + B_j A_ji - B_i B_j. Near y the active components stay what they are,
and Δy₊ = R Δy. Measured: the spectral radius of R (above 1 its powers are unbounded, in every norm). Bound: 1.
Cases: ReLU.b_i
"""
from fractions import Fraction as F
from itertools import product
import numpy as np
from mpmath import mp, nstr

CASE = "S = 2, f_i(y) = ReLU(b_i − y) | some norm"
P = {"D": "2", "S": "2", "eta": "4", "A": "1/2 1/2 1/2 1 0 0 0 0 1 1 1 2 1 -1/2 -1/2 1/2", "B": "1 1 1 2 2 -1 -1 1",
     "b": "9 -9 -9 18", "y": "0 0"}

mp.dps, D, S, eta = 50, int(P["D"]), int(P["S"]), F(P["eta"])
A, B, b, y = (np.array([F(x) for x in P[name].split()]) for name in ("A", "B", "b", "y"))
A, B = A.reshape(S, S, D, D), B.reshape(S, D, D)
exact = lambda X: np.array([F(nstr(x, 40)).limit_denominator(10**12) for x in X])
least = lambda X: mp.chop(min(mp.eigsy(mp.matrix((X + X.T).tolist()) / 2, eigvals_only=True)))  # smallest eigenvalue
turned = [[B[i].T @ A[i, j] + A[j, i].T @ B[j] - B[i].T @ B[j] for j in range(S)] for i in range(S)]
plain = [[B[i] @ A[i, j] + B[j] @ A[j, i] - B[i] @ B[j] for j in range(S)] for i in range(S)]
signs = [least(X) for X in (np.block(turned), np.block(plain), *B)]
whole, start, unit, pieces = np.block([list(row) for row in A]), np.tile(y, S), np.eye(D * S, dtype=int), []
for on in product((0, 1), repeat=D * S):  # the stage equations are affine where these components are active
    system = mp.matrix((unit + eta * whole @ np.diag(on)).tolist())
    Y = exact(mp.lu_solve(system, mp.matrix((start + eta * whole @ (b * on)).tolist()))) if mp.det(system) else start
    pieces += [(on, system)] if (Y == start + eta * whole @ np.maximum(b - Y, 0)).all() and ((b > Y) == on).all() else []
premise = min(signs) >= 0 and eta > 0 and all((X == X.T).all() for X in B) and len(pieces) == 1
print("premise, smallest eigenvalues of M, M without transposes, B_i:", *(nstr(x, 6) for x in signs), "(must be >= 0)")
on, system = pieces[0] if pieces else ((0,) * D * S, mp.eye(D * S))
ones, on_side = (mp.matrix(X.tolist()) for X in (np.tile(np.eye(D, dtype=int), (S, 1)), eta * np.hstack(B) @ np.diag(on)))
R = mp.eye(D) - on_side * mp.inverse(system) * ones
measured = max(map(abs, mp.eig(R)[0]))
print(f"{len(pieces)} solution(s), active {on}, R = {[nstr(x, 8) for x in R]}\nmeasured spectral radius {nstr(measured, 15)} against bound 1")
violated = bool(premise and measured > 1 + mp.mpf(10) ** -20)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
