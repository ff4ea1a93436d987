"""both-(101)/(74) (UnICORNN, sam (101), icml S(74)): with L layers ∂E_k/∂w¹ ~ O(dt^{2L−1}), k ≪ n, from both sides.

One neuron a layer, h = dt/2 (c = 0), dt = T/n, zero states and input, x¹ = b, x^q = V y^{q−1}: zₙ = zₙ₋₁ −
h (tanh(w yₙ₋₁ + xₙ) + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ, E_n = (y^L_n − ȳ)²/2. Measured: ∂E_n/∂w¹ if w¹ moves at step k alone,
by a difference quotient, and its slope: the powers of 2 by which it falls when n doubles.
"""
from fractions import Fraction
from mpmath import log, mp, mpf, nstr, tanh

CASE = "L = 1, T = 1, k = 2 | |∂E_k/∂w| ≥ c dt"
P = {"layers": "1", "skip": "0", "alpha": "1", "w": "0", "v": "1", "b": "1", "target": "1", "horizon": "1",
     "offset": "2", "ratio": "0", "steps": "32", "refine": "fixed T"}

mp.dps, delta = 100, mpf(10) ** -40
F = {name: Fraction(text) for name, text in P.items() if name != "refine"}
L, S, steps = int(F["layers"]), int(F["skip"]), [int(F["steps"]) * 2**i for i in range(4)]
alpha, w, V, b, target, T = (mpf(F[x].numerator) / F[x].denominator for x in "alpha w v b target horizon".split())

def run(n, sam, delta):  # E_n, where w of layer 1 is w + delta at step k
    h, k, y, z = T / (2 * n), F["offset"] + F["ratio"] * n, [mpf(0)] * L, [mpf(0)] * L
    for j in range(1, n + 1):
        seen = list(y) if sam else y  # layer q sees y^{q-1} of step j - 1 in sam (31), of step j in icml (6)
        for q in range(L):
            x = b if q == 0 else V * seen[q - 1] + (V * seen[q - S - 1] if q > S > 0 else 0)
            z[q] -= h * (tanh((w + (delta if (q, j) == (0, k) else 0)) * y[q] + x) + alpha * y[q])
            y[q] += h * z[q]
    return (y[-1] - target) ** 2 / 2

p = 2 * L - 1
k = F["offset"] + F["ratio"] * steps[0]
violated = 0 < T < steps[0] and alpha >= 0 and k.denominator == 1 and 10 <= 10 * k <= steps[0]
print(f"premise 0 < dt < 1, alpha >= 0, k <= n/10 (k = {k}, n = {steps[0]}): {'holds' if violated else 'fails'}")
for sam in (False, True):
    values = [abs(run(n, sam, delta) - run(n, sam, -delta)) / (2 * delta) for n in steps]
    slopes = [log(a / c) / log(2) for a, c in zip(values, values[1:])]
    print("sam:" if sam else "icml:", *(f"n = {n}: {nstr(v, 5)}" for n, v in zip(steps, values)), end="; ")
    print("measured slopes", *(nstr(s, 5) for s in slopes), f"against bound {p} (margin 1/2)")
    violated = violated and all(s > p + 0.5 if "≥" in CASE else s < p - 0.5 for s in slopes)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
