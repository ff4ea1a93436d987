"""both-novanish (UnICORNN, sam Sec. 3, D.3, D.4): for k ≪ n the contribution of step k to the gradient, |∂E_k/∂w|, does
not decay exponentially in n − k, whatever the inputs are; dt fixed, n → ∞.

One neuron, h = dt/2 (c = 0): zₙ = zₙ₋₁ − h (tanh Aₙ + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ from 0, Aₙ = w yₙ₋₁ + uₙ; the input u
can make A anything, here tanh A = −√(1 − s) for the slopes s = σ′(A) of P: a kick, the word again and again (1 if there
is none), a tail. E = (yₙ − ȳ)²/2. Measured: ∂E/∂w if w changes at step k alone, at three k whole words apart, and its
factor beside y_{k−1}: log differences a step, equal ones for λ^(n−k). Bound: no exponential decay, they tend to 0.
"""
from fractions import Fraction as F
from mpmath import log, mp, mpf, nstr, sqrt

CASE = "dt fixed, n → ∞, w < −α | |∂E_k/∂w|"
P = {"alpha": "4", "w": "-9", "dt": "1/5", "target": "1", "steps": "160", "kick": "3/4",
     "tail": "102288374498009641569860652/379370489983095428615152277 1/9 1/9 1/9 1/9 1/9 1/9 1/9 1/9 1/9 1/9 1/9 1/9 1/9"}
n, number = int(P["steps"]), lambda x: mpf(F(x).numerator) / F(x).denominator
mp.dps = 60 + n
alpha, w, dt, target = (number(P[name]) for name in ("alpha", "w", "dt", "target"))
word, tail, h = P.get("word", "1").split(), P["tail"].split(), dt / 2
slopes = list(map(number, [P["kick"], *word * ((n - 1 - len(tail)) // len(word)), *tail]))
y, z, ys, changes = mpf(0), mpf(0), [], []  # changes[k − 1]: of (y, z) now if w changes at step k alone
for s in slopes:
    ys.append(y)
    z -= h * (-sqrt(1 - s) + alpha * y)
    y += h * z
    changes = [(dy + h * (dz - h * (alpha + w * s) * dy), dz - h * (alpha + w * s) * dy) for dy, dz in changes]
    changes.append((-h * h * s * ys[-1], -h * s * ys[-1]))
k1 = 1 + n // 16
apart = (n // 2 - k1) // (2 * len(word)) * len(word)
premise = alpha > 0 and 0 < dt < 1 and len(slopes) == n and 2 <= k1 <= n / 10 and 0 < apart and k1 + 2 * apart <= n - len(tail)
print(f"premise α > 0, 0 < dt < 1, slopes in (0, 1], k₁ = {k1} ≪ n = {n}: {'holds' if premise else 'fails'}")
measured = [abs((y - target) * changes[k1 + j * apart - 1][0]) for j in range(3)]
print("measured |∂E_k/∂w|:", *(f"k = {k1 + j * apart}: {nstr(x, 8)};" for j, x in enumerate(measured)))
factors = [x / abs(ys[k1 + j * apart - 1]) for j, x in enumerate(measured)]  # |∂E_k/∂w| = |y_{k−1}| · factor
first, second = ((log(q) - log(p)) / apart if p > 0 and q > 0 else mpf(0) for p, q in zip(factors, factors[1:]))
print(f"over |y_(k−1)| ≤ {nstr(max(map(abs, ys)), 5)}: log differences {nstr(first, 8)}, {nstr(second, 8)} a step, bound 0")
violated = bool(premise and first > 0.01 and abs(first - second) < first / 10**6 and measured[0] < measured[2] / 2)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
