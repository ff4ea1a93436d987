"""both-80 (UnICORNN, sam (80)-(82)): dX_n/dX_k = B_n ⋯ B_{k+1} = I + dt C + O(dt²),
C = [[0, (n−k)σ̂], [−(n−k)ασ̂ − σ̂ w Σ_j σ′(A_{j−1}), 0]], the sum over j = k+1, …, n.

One neuron, h = dt/2 (c = 0), dt = T/n, zero input and states: A_{j−1} = w y_{j−1} + b, y_j = y_{j−1} + h z_j,
z_j = z_{j−1} − h (tanh(A_{j−1}) + α y_{j−1}). Measured: the largest entry of the product less I + dt C at T = t_n,
k fixed; its slope, the powers of 2 by which it falls when n doubles.
"""
from fractions import Fraction
from mpmath import log, mp, mpf, nstr, tanh

CASE = "T = 1, k = 1 | ‖dX_n/dX_k − printed‖ ≤ C dt^2"
P = {"layers": "1", "skip": "0", "alpha": "1", "w": "0", "v": "1", "b": "1", "target": "1", "horizon": "1",
     "offset": "1", "ratio": "0", "steps": "32", "refine": "fixed T"}

mp.dps = 50
F = {name: Fraction(text) for name, text in P.items() if name != "refine"}
alpha, w, b, T = (mpf(F[x].numerator) / F[x].denominator for x in "alpha w b horizon".split())

def rest(n, k):
    h, y, z, product, total = T / (2 * n), mpf(0), mpf(0), mp.eye(2), mpf(0)
    for j in range(1, n + 1):
        t = tanh(w * y + b)
        if j > k:  # B_j of (48); total is the sum of σ′(A_{j−1})
            kappa, total = w * (1 - t**2) + alpha, total + 1 - t**2
            product = mp.matrix([[1 - h**2 * kappa, h], [-h * kappa, 1]]) * product
        z -= h * (t + alpha * y)
        y += h * z
    printed = mp.matrix([[1, (n - k) * h], [-(n - k) * alpha * h - h * w * total, 1]])  # dt σ̂ = h
    return max(map(abs, product - printed))

steps, k = [int(F["steps"]) * 2**i for i in range(5)], int(F["offset"])
violated = F["layers"] == 1 and F["ratio"] == 0 and 0 < T < steps[0] and alpha >= 0 and 10 <= 10 * k <= steps[-1]
print(f"premise one layer, dt < 1, k = {k} fixed, k <= n/10 as n grows: {'holds' if violated else 'fails'}")
rests = [rest(n, k) for n in steps]
slopes = [log(a / c, 2) if a * c else mp.inf for a, c in zip(rests, rests[1:])]
print("largest entry of the difference", *(f"n = {n}: {nstr(v, 5)}" for n, v in zip(steps, rests)))
print("measured slopes", *(nstr(s, 5) for s in slopes), "bound: at least 2")
violated = violated and all(s < 1.5 for s in slopes)  # margin 1/2
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
