"""ode-Q3 (Section 3.2, a note): layers as stages that do not enter themselves meet Theorem 1's requirements; the first, in
some metric G > 0, is M = [M_ij] >= 0, M_ij = B_iᵀ G A_ij + A_jiᵀ G B_j - B_iᵀ G B_j.

Such stages have A_ii = 0, so the block i of M is -B_iᵀ G B_i, xᵀ M_ii x = -(B_i x)ᵀ G B_i x.
That is < 0 for some x, whatever G > 0 is, if B_i ≠ 0. Measured: the smallest eigenvalue of M_ii. Bound: >= 0.
Cases: one after another
"""
from fractions import Fraction as F
import numpy as np
from mpmath import mp, nstr

CASE = "layers one after another | condition I: M ≥ 0 for some G > 0"
P = {"D": "1", "B": "1", "G": "1"}

mp.dps = 50
D = int(P["D"])
B, G = (np.array([F(x) for x in P[name].split()]).reshape(D, D) for name in "BG")
A = 0 * B
least = lambda X: mp.chop(min(mp.eigsy(mp.matrix((X + X.T).tolist()) / 2, eigvals_only=True)))  # smallest eigenvalue
premise = (G == G.T).all() and least(G) > 0 and B.any()
print(f"premise G = Gᵀ > 0 (smallest eigenvalue {nstr(least(G), 8)}), B_i ≠ 0: {'holds' if premise else 'fails'}")
M = B.T @ G @ A + A.T @ G @ B - B.T @ G @ B
print("M_ii =", *(f"[{', '.join(map(str, row))}]" for row in M.tolist()))
measured = least(M)
print(f"measured smallest eigenvalue of M_ii {nstr(measured, 12)} against bound >= 0")
violated = bool(premise and measured < 0)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
