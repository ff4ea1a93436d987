"""ode-T1 (Theorem 1 with Definition 2): if M >= 0 and B >= 0, a step of the ODERNN does not move two solutions apart,
for all monotone fields, (u-v)ᵀ(f(u)-f(v)) <= 0, or >= 0 with the sign that Definition 2 has, and all eta > 0.

One stage with a pointwise nonlinear field: Y = y + eta A f(Y), y₊ = y + eta B f(Y), f(y) = ReLU(b - y), or ReLU(b + y)
for the other sign. M = Bᵀ A + Aᵀ B - Bᵀ B. Measured: |Δy₊|² for the states u and v. Bound: |Δy|² = |u - v|².
Cases: ReLU.b [−+]
"""
from fractions import Fraction as F
from itertools import product
import numpy as np
from mpmath import mp, nstr

CASE = "S = 1, f(y) = ReLU(b − y) | ‖Δy₊‖₂ ≤ ‖Δy‖₂"
P = {"D": "2", "eta": "1", "A": "1 1/2 1/2 1/2", "B": "2 1 1 1", "b": "2 -2", "u": "0 0", "v": "-3 3"}

mp.dps, D, eta, slope = 50, int(P["D"]), F(P["eta"]), -1 if "b − y" in CASE else 1
(A, B), (b, u, v) = ([np.array([F(x) for x in P[name].split()]) for name in names] for names in ("AB", "buv"))
A, B = A.reshape(D, D), B.reshape(D, D)
least = lambda X: mp.chop(min(mp.eigsy(mp.matrix((X + X.T).tolist()) / 2, eigvals_only=True)))  # smallest eigenvalue
f = lambda Y: np.array([max(slope * x + c, F(0)) for x, c in zip(Y, b)])
signs = least(B.T @ A + A.T @ B - B.T @ B), least(B)
premise = min(signs) >= 0 and eta > 0 and (B == B.T).all()
print("premise, smallest eigenvalues of M and B:", *(nstr(x, 6) for x in signs), "(must be >= 0)")
after = []
for y in (u, v):  # Y for every set of active components, which are affine there
    solutions = []
    for on in product((0, 1), repeat=D):
        K = np.eye(D, dtype=int) - eta * slope * A * np.array(on)  # K Y = y + eta A (b where active)
        if mp.det(mp.matrix(K.tolist())) != 0:
            right = mp.matrix((y + eta * A @ (b * np.array(on))).tolist())
            Y = np.array([F(str(nstr(x, 40))).limit_denominator(10**15) for x in mp.lu_solve(mp.matrix(K.tolist()), right)])
            solutions += [Y] if (Y == y + eta * A @ f(Y)).all() and not any((Y == Z).all() for Z in solutions) else []
    premise = premise and len(solutions) == 1
    after.append(y + eta * B @ f(solutions[0]) if solutions else y)
    print(f"y = {[*map(str, y)]}: {len(solutions)} solution(s) Y, y₊ = {[*map(str, after[-1])]}")
measured, bound = (sum(x * x for x in difference) for difference in (after[0] - after[1], u - v))
print(f"measured |Δy₊|² = {measured} against bound |Δy|² = {bound}")
violated = bool(premise and measured > bound)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
