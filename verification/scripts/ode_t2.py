"""ode-T2 (Theorem 2, condition on eta lost): a step of the ARNN with the weight W = iS is stable if eta is small: the
powers of the step linearised with slopes L_s are bounded if a = eta L_s max|λ| is below a threshold, λ eigenvalue of
W.

One mode, ψ = q + ip, ψ' = iaψ: symplectic Euler p₊ = p - a q, q₊ = q + a p₊; forward Euler; explicit midpoint;
leapfrog ψ_{l+1} = ψ_{l-1} + 2ia ψ_l, real for ψ_l = i^l c_l. R: the real 2 x 2 matrix of a step. Its powers are
unbounded iff |det R| > 1, |tr R| > 1 + det R (a root beyond 1), or det R = 1, |tr R| = 2, R ≠ ±I (double root ±1).
Bound: none of it.
Cases: powers bounded
"""
from fractions import Fraction as F
from mpmath import mp, nstr

CASE = "symplectic Euler | powers bounded for η L_s max|λ| ≤ 2"
P = {"a": "2"}

def columns(scheme, a):  # images of (p, q) = (1, 0) and (0, 1); of the leapfrog (c_l, c_{l-1})
    for p, q in ((F(1), F(0)), (F(0), F(1))):
        x, y = (p - a * q / 2, q + a * p / 2) if scheme == "explicit midpoint" else (p, q)
        euler = p - a * y, q + a * x
        yield {"symplectic Euler": (p - a * q, q + a * (p - a * q)), "leapfrog": (2 * a * p - q, p)}.get(scheme, euler)

scheme, a = CASE.split(" | ")[0], F(P["a"])
(u, w), (v, x) = columns(scheme, a)  # R = [u v; w x]
det, trace = u * x - v * w, u + x
bound = F(CASE.split()[-1]) if "some" not in CASE else None
premise = a > 0 and (bound is None or (a <= bound if "≤" in CASE else a < bound))
print(f"premise {'0 < a' if bound is None else CASE.split('for ')[1]}: a = {a}: {'holds' if premise else 'fails'}")
mp.dps = 50
for n in (10**3, 10**9, 10**15):
    print(f"largest entry of R^{n}: {nstr(max(map(abs, mp.matrix([[u, v], [w, x]]) ** n)), 8)}")
violated = premise and (abs(det) > 1 or abs(trace) > 1 + det or (det == 1 and abs(trace) == 2 and (v, w) != (0, 0)))
print(f"measured det R = {det}, tr R = {trace} against |det R| <= 1, |tr R| <= 1 + det R, no double root ±1")
if bound is None:  # det R - 1 has to be > 0 for every a: a polynomial of degree <= 4, told by 6 values of it
    power, factor = (2, F(1)) if scheme == "forward Euler" else (4, F(1, 4))
    dets = [(r[0] * s[1] - r[1] * s[0], k * a) for k in range(1, 7) for r, s in [columns(scheme, k * a)]]
    violated = violated and all(d - 1 == factor * t**power for d, t in dets)
    print(f"det R - 1 = {factor} a^{power} > 0 for every a > 0: {violated}")
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
