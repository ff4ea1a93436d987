"""ode-2-stable (Sec. 2, introduction: 2-ARNN stable), tried with twice the sharp threshold of ode-T2: the leapfrog step
of y' = W y, W = iS, has bounded powers if a = eta L_s max|λ| < 2, λ eigenvalue of W, slopes L_s.

One mode, λ = iω: ψ_{l+1} = ψ_{l-1} + 2ia ψ_l, real for ψ_l = i^l c_l: c_{l+1} = 2a c_l - c_{l-1}. R is the matrix of
(c_l, c_{l-1}); det R = 1. Its powers are unbounded iff |tr R| > 2 (a root beyond 1), or |tr R| = 2 and R ≠ ±I.
Measured: |tr R|, and the largest entry of the powers of R. Bound: 2.
"""
from fractions import Fraction as F
from mpmath import mp, nstr

CASE = "leapfrog | powers bounded for η L_s max|λ| < 2"
P = {"a": "3/2"}

mp.dps = 50
a, bound = F(P["a"]), F(CASE.split()[-1])
premise = 0 < a < bound
print(f"premise 0 < a = {a} < {bound}: {'holds' if premise else 'fails'}")
step = lambda now, before: (2 * a * now - before, now)
(u, w), (v, x) = step(F(1), F(0)), step(F(0), F(1))  # R = [u v; w x]
trace, determinant = u + x, u * x - v * w
print(f"R = [{u} {v}; {w} {x}], det R = {determinant}")
for n in (10, 100, 1000):
    print(f"largest entry of R^{n}: {nstr(max(map(abs, mp.matrix([[u, v], [w, x]]) ** n)), 8)}")
print(f"measured |tr R| = {abs(trace)} against bound 2 (at 2: R = ±I is asked for)")
violated = premise and determinant == 1 and (abs(trace) > 2 or (abs(trace) == 2 and (v, w) != (0, 0)))
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
