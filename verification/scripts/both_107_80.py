"""both-(107)/(80) (UnICORNN, sam (107), icml S(80)): with residual stacking ∂E_k/∂w¹ ~ O(dt^{2ν+2L−2νS−1}),
ν = [L/S], less 1 if S divides L.

One neuron a layer, h = dt/2 (c = 0), dt = T/n, zero states, input; x¹ = b, x^q = V y^{q−1} + (q > S + 1) V y^{q−S−1}
(in a case of "edges l − S" V y^{q−S} in the place of V y^{q−S−1}, S = skip + 1 in P):
zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + xₙ) + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ, E_n = (y^L_n − ȳ)²/2. Measured: ∂E_n/∂w¹ if w¹ moves at
step k alone, by a difference quotient, and its slope in dt.
"""
from fractions import Fraction
from mpmath import log, mp, mpf, nstr, tanh

CASE = "L = 4, S = 2, T = 1, k = 1 + n/16 | |∂E_k/∂w| ≤ C dt^5"
P = {"layers": "4", "skip": "2", "alpha": "1", "w": "0", "v": "1", "b": "1", "target": "1", "horizon": "1",
     "offset": "1", "ratio": "1/16", "steps": "32", "refine": "fixed T"}

mp.dps, delta = 100, mpf(10) ** -40
F = {name: Fraction(text) for name, text in P.items() if name != "refine"}
L, hop, steps = int(F["layers"]), int(F["skip"]) + 1, [int(F["steps"]) * 2**i for i in range(4)]
alpha, w, V, b, target, T = (mpf(F[x].numerator) / F[x].denominator for x in "alpha w v b target horizon".split())
def run(n, delta):  # E_n, where w of layer 1 is w + delta at step k
    h, k, y, z = T / (2 * n), F["offset"] + F["ratio"] * n, [mpf(0)] * L, [mpf(0)] * L
    for j in range(1, n + 1):
        for q in range(L):
            x = b if q == 0 else V * y[q - 1] + (V * y[q - hop] if q >= hop > 1 else 0)
            z[q] -= h * (tanh((w + (delta if (q, j) == (0, k) else 0)) * y[q] + x) + alpha * y[q])
            y[q] += h * z[q]
    return (y[-1] - target) ** 2 / 2

S = hop if "edges" in CASE else hop - 1
p = 2 * (nu := L // S - (L % S == 0)) + 2 * L - 2 * nu * S - 1
k = F["offset"] + F["ratio"] * steps[0]
violated = S >= 2 and 0 < T < steps[0] and k.denominator == 1 and 10 <= 10 * k <= steps[0] and f"dt^{p}" in CASE
print(f"premise S = {S} >= 2, 0 < dt < 1, k <= n/10 (k = {k}, n = {steps[0]}), right side O(dt^{p}): {'holds' if violated else 'fails'}")
values = [abs(run(n, delta) - run(n, -delta)) / (2 * delta) for n in steps]
slopes = [log(a / c) / log(2) for a, c in zip(values, values[1:])]
print("measured |dE_k/dw|:", *(f"n = {n}: {nstr(v, 6)}" for n, v in zip(steps, values)))
print("measured slopes", *(nstr(s, 6) for s in slopes), f"against bound {p} (margin 1/2)")
violated = violated and all(s > p + 0.5 if "≥" in CASE else s < p - 0.5 for s in slopes)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
