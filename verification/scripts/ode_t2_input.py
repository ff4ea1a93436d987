"""ode-T2-input (Theorem 2 for a recurrent network, driven by inputs): the difference of two runs of the ARNN with the
same inputs stays bounded for a = eta L_s max|λ| below the threshold (symplectic Euler 2, leapfrog 1).

σ(x) = max(x, m x), m = 0 (ReLU) or 1/2, sup σ' = 1. Symplectic Euler, S = 1, eta = a: p₊ = p - a σ(q + b), q₊ = q + a
σ(p₊ + b'); leapfrog, W = [0 -1; 1 0]: y_{l+1} = y_{l-1} + 2a σ(W y_l + b). Biases (inputs) put the pre-activations of
all runs on the side of 0 with the next slope of the word P["slopes"]. R: what a word does to differences of runs.
Measured: the largest entry of Rⁿ, n = 10^10 and 10^20. Bound: a ratio of 1 (margin 100).
Cases: differences
"""
from fractions import Fraction as F
from mpmath import mp, nstr

CASE = "symplectic Euler, ReLU, biases that depend on time | bounded differences of two runs, η L_s max|λ| < 2"
P = {"a": "1", "slopes": "1 1 0 1 0 1 0 1 0 1"}

mp.dps = 100
a, slopes, leapfrog = F(P["a"]), [F(x) for x in P["slopes"].split()], CASE.startswith("leapfrog")
m, size = (F(0) if "ReLU" in CASE else F(1, 2)), 4 if leapfrog else 2
runs = [[F(int(i == j)) for i in range(size)] for j in range(-1, size)]  # from 0 and from each unit vector

def sigma(z, slope):  # of all runs: one bias for all
    b = 1 - min(z) if slope == 1 else -1 - max(z)
    return [max(x + b, m * (x + b)) for x in z]
for k, slope in enumerate(slopes):
    if leapfrog:  # (y_l, y_{l-1})
        u, v = sigma([-r[1] for r in runs], slope), sigma([r[0] for r in runs], slope)
        runs = [[r[2] + 2 * a * x, r[3] + 2 * a * y, r[0], r[1]] for r, x, y in zip(runs, u, v)]
    elif k % 2 == 0:  # (p, q)
        runs = [[r[0] - a * x, r[1]] for r, x in zip(runs, sigma([r[1] for r in runs], slope))]
    else:
        runs = [[r[0], r[1] + a * x] for r, x in zip(runs, sigma([r[0] for r in runs], slope))]
R = mp.matrix([[x - y for x, y in zip(run, runs[0])] for run in runs[1:]]).T
premise = 0 < a < (1 if leapfrog else 2) and set(slopes) <= {m, F(1)} and (leapfrog or len(slopes) % 2 == 0)
print(f"premise a = {a} below {1 if leapfrog else 2}, slopes {m} or 1: {'holds' if premise else 'fails'}")
near, far = (max(map(abs, R ** 10**e)) for e in (10, 20))
print(f"measured largest entry of R^n: {nstr(near, 8)}, {nstr(far, 8)} at n = 10^10, 10^20; bound: ratio 1 (or 100)")
violated = bool(premise and far > 100 * near)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
