"""icml-C.1-step (UnICORNN, ICML 2021, S(11), third line): (1 + β dt)ⁿ ≤ 1 + 2β n dt "as dt ≪ 1", β = max{1 + 2α, 4α²}.

At n = N, dt = T/N both sides are computed, the left one exactly over Q. "free" is read as dt → 0 at fixed α, T = N dt:
the right side is then fixed and the left one increases with N to e^{βT}. "printed": a row of Table 6 (its largest dt).
"""
from fractions import Fraction
from mpmath import exp, mp, mpf, nstr

CASE = "free | (1 + β dt)^n"
P = {"alpha": "1", "T": "1/2", "N": "4"}

mp.dps = 50
alpha, T, N = Fraction(P["alpha"]), Fraction(P["T"]), int(P["N"])
beta = max(1 + 2 * alpha, 4 * alpha**2)
bound = 1 + 2 * beta * T  # n dt = T
premise = alpha > 0 and N >= 1 and 0 < T / N < 1
print(f"premise alpha = {alpha} > 0, 0 < dt = T/N = {T / N} < 1: {'holds' if premise else 'fails'}; beta = {beta}")

def show(x):
    return nstr(mpf(x.numerator) / x.denominator, 10)

violated = premise
for n in [N * 2**i for i in range(5)] if CASE.startswith("free") else [N]:
    power = (1 + beta * T / n) ** n
    violated = violated and power > bound
    print(f"n = {n}, dt = {show(T / n)}: measured (1 + beta dt)^n = {show(power)} against bound {show(bound)}")
if CASE.startswith("free"):
    limit = exp(beta.numerator * mpf(T.numerator) / (beta.denominator * T.denominator))
    print(f"dt -> 0: e^(beta T) = {nstr(limit, 10)} against bound {show(bound)}")
    violated = violated and limit > bound.numerator / mpf(bound.denominator)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
