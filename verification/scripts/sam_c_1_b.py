"""sam-C.1-b (UnICORNN, sam (24)): if α = 0, |y(t)|² ≤ m e² and |z(t)|² ≤ m e² "for all t in (0, T]", y(0) = z(0) = 0.

(22): y' = z, z' = −(tanh(w y + V u + b) + α y). One neuron (m = 1) with w = 0, V = 0 and the bias b: z' = −tanh b, so
y(t) = −tanh(b) t²/2, z(t) = −tanh(b) t. T is not defined; for t ≤ 1 the bounds hold. (The runs below are (5), dt → 0.)
"""
from fractions import Fraction
from mpmath import exp, mp, mpf, nstr, tanh

CASE = "t ≤ T, every T | |y|²"
P = {"alpha": "0", "t": "3", "b": "-1"}

mp.dps = 50
alpha, t, b = (mpf(Fraction(P[name]).numerator) / Fraction(P[name]).denominator for name in ("alpha", "t", "b"))

def run(steps):  # symplectic Euler for (22) in place of the formula
    y = z = mpf(0)
    for _ in range(steps):
        z -= t / steps * (tanh(b) + alpha * y)
        y += t / steps * z
    return y, z

which = 0 if CASE.endswith("|y|²") else 1
premise = alpha == 0 and t > 0
print(f"premise alpha = {nstr(alpha)} = 0, t = {nstr(t, 8)} > 0: {'holds' if premise else 'fails'}")
print("by (5) with 100, 1000, 10000 steps:", *(nstr(run(steps)[which] ** 2, 10) for steps in (100, 1000, 10000)))
exact = (-tanh(b) * t**2 / 2, -tanh(b) * t)
measured, bound = exact[which] ** 2, exp(2)
print(f"measured {CASE.split(' | ')[1]} = {nstr(measured, 15)} against bound m e² = {nstr(bound, 15)}")
violated = premise and measured > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
