"""both-100 (UnICORNN, sam (100), icml S(73)), L = 3: of dt⁴ (∂⁺y_k + C_12 ∂⁺z_k)[Ḡ, dt⁻¹ H̄] the part with ∂⁺y_k goes
into O(dt⁶), as ∂⁺y_k = O(dt²); read as: it is at most C dt⁶ in the rows of z too.

One neuron a layer, h = dt/2 (c = 0), dt = T/n, zero states and input, x¹ = b, x^q = V y^{q−1}_n: zₙ = zₙ₋₁ −
h (tanh(w yₙ₋₁ + xₙ) + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ. dt³ H̄ is the change of z³_n with y¹_n at the same n, ∂⁺y_k that of
y¹_k with w¹ at step k alone, both by difference quotients. Measured: the slope of their product, the powers of 2 by
which it falls when n doubles.
"""
from fractions import Fraction
from mpmath import log, mp, mpf, nstr, tanh

CASE = "L = 3, T = 1, k = 1 + n/16 | dropped term in the rows of z ≤ C dt^6"
P = {"layers": "3", "skip": "0", "alpha": "1", "w": "0", "v": "1", "b": "1", "target": "1", "horizon": "1",
     "offset": "1", "ratio": "1/16", "steps": "32"}

mp.dps, delta = 100, mpf(10) ** -40
F = {name: Fraction(text) for name, text in P.items()}
alpha, w, V, b, T = (mpf(F[x].numerator) / F[x].denominator for x in "alpha w v b horizon".split())

def run(n, k, by_w=0, by_y=0):  # y^1_k, z^3_n, where w¹ is w + by_w at step k, and y^1_n is moved by by_y
    h, y, z, at_k = T / (2 * n), [mpf(0)] * 3, [mpf(0)] * 3, None
    for j in range(1, n + 1):
        for q in range(3):
            x = V * y[q - 1] if q else b
            z[q] -= h * (tanh((w + by_w * ((q, j) == (0, k))) * y[q] + x) + alpha * y[q])
            y[q] += h * z[q] + by_y * ((q, j) == (0, n))
        at_k = y[0] if j == k else at_k
    return at_k, z[2]

p, steps, k = int(CASE[-1]), [int(F["steps"]) * 2**i for i in range(4)], F["offset"] + F["ratio"] * F["steps"]
violated = F["layers"] == 3 and F["skip"] == 0 and 0 < T < steps[0] and k.denominator == 1 and 10 <= 10 * k <= steps[0]
print(f"premise three layers, 0 < dt < 1, 1 <= k <= n/10 (k = {k}, n = {steps[0]}): {'holds' if violated else 'fails'}")
change = lambda i, n, **by: (run(n, int(F["offset"] + F["ratio"] * n), **by)[i]) / delta
values = [abs((change(0, n, by_w=delta) - change(0, n)) * (change(1, n, by_y=delta) - change(1, n))) for n in steps]
slopes = [log(before / after, 2) if before * after else mp.inf for before, after in zip(values, values[1:])]
print("dropped:", *(f"n = {n}: {nstr(value, 6)}" for n, value in zip(steps, values)))
print("measured slopes", *(nstr(slope, 6) for slope in slopes), f"against bound {p} or more (margin 1/2)")
print("violated" if (violated := violated and all(slope < p - 0.5 for slope in slopes)) else "NOT violated")
raise SystemExit(0 if violated else 1)
