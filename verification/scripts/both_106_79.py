"""both-106/79 (UnICORNN, sam (106), icml S(79)): with residual stacking dX^L_n/dX¹_n = O(dt^{2(ν+L−νS−1)}) +
O(dt^{2(L−1)}), ν = [L/S], less 1 if S divides L.

One neuron a layer, h = dt/2 (c = 0), dt = T/n, zero states, input; x¹ = b, x^q = V y^{q−1} + (q > S + 1) V y^{q−S−1}
(in a case of "edges l − S" V y^{q−S} in the place of V y^{q−S−1}, S = skip + 1 in P):
zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + xₙ) + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ. Measured: X^L_n = (y, z) when y¹_n moves (z¹_n alone moves
nothing above it), and its slope: the powers of 2 by which it falls when n doubles.
"""
from fractions import Fraction
from mpmath import log, mp, mpf, nstr, tanh

CASE = "L = 4, S = 2, T = 1 | |∂y^L_n/∂y^1_n| ≤ C dt^4"
P = {"layers": "4", "skip": "2", "alpha": "1", "w": "0", "v": "1", "b": "1", "target": "1", "horizon": "1",
     "offset": "1", "ratio": "0", "steps": "32", "refine": "fixed T"}

mp.dps, delta = 100, mpf(10) ** -40
F = {name: Fraction(text) for name, text in P.items() if name != "refine"}
L, hop, steps = int(F["layers"]), int(F["skip"]) + 1, [int(F["steps"]) * 2**i for i in range(4)]
alpha, w, V, b, T = (mpf(F[x].numerator) / F[x].denominator for x in "alpha w v b horizon".split())
def run(n, delta):  # X^L_n, where y^1_n is moved by delta
    h, y, z = T / (2 * n), [mpf(0)] * L, [mpf(0)] * L
    for j in range(1, n + 1):
        for q in range(L):
            x = b if q == 0 else V * y[q - 1] + (V * y[q - hop] if q >= hop > 1 else 0)
            z[q] -= h * (tanh(w * y[q] + x) + alpha * y[q])
            y[q] += h * z[q] + (delta if (q, j) == (0, n) else 0)
    return y[-1], z[-1]

S = hop if "edges" in CASE else hop - 1
p = 2 * min((nu := L // S - (L % S == 0)) + L - nu * S - 1, L - 1)
moved = [[abs(a - c) / (2 * delta) for a, c in zip(run(n, delta), run(n, -delta))] for n in steps]
values = [max(dX) if "‖" in CASE else dX[0] for dX in moved]
slopes = [log(a / c) / log(2) for a, c in zip(values, values[1:])]
premise = S >= 2 and 0 < T < steps[0] and alpha >= 0 and CASE.endswith(f"dt^{p}")
print(f"premise S = {S} >= 2, 0 < dt < 1, alpha >= 0, right side O(dt^{p}): {'holds' if premise else 'fails'}")
print(CASE.split(" | ", 1)[1].split("≤")[0], *(f"n = {n}: {nstr(v, 6)}" for n, v in zip(steps, values)))
print("measured slopes", *(nstr(s, 6) for s in slopes), f"against bound {p} (margin 1/2)")
violated = premise and all(s < p - 0.5 for s in slopes)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
