"""both-3.3-Odt (UnICORNN, sam and icml, after (16), (14)): with all weights O(1) the leading term of ∂E_k/∂w,
1 ≤ k ≪ n, is O(dt), two-sided by (72): between C dt and C′dt, C > 0.

One neuron, h = dt/2 (c = 0), dt = T/n, zero input and states: A_{j−1} = w y_{j−1} + b, y_j = y_{j−1} + h z_j,
z_j = z_{j−1} − h (tanh(A_{j−1}) + α y_{j−1}). Measured: ∂/∂w of (y_n − ȳ)²/2 if w moves at step k alone
(difference quotient); its slope at T = t_n, the powers of 2 by which it falls when n doubles.
"""
from fractions import Fraction
from mpmath import log, mp, mpf, nstr, tanh

CASE = "T = 1, k = 2 | |∂E_k/∂w| ≥ c dt"
P = {"layers": "1", "skip": "0", "alpha": "1", "w": "0", "v": "1", "b": "1", "target": "1", "horizon": "1",
     "offset": "2", "ratio": "0", "steps": "32", "refine": "fixed T"}

mp.dps, delta = 100, mpf(10) ** -40
F = {name: Fraction(text) for name, text in P.items() if name != "refine"}
alpha, w, b, target, T = (mpf(F[x].numerator) / F[x].denominator for x in "alpha w b target horizon".split())

def run(n, k, delta):  # y_0, ..., y_n if w is w + delta at step k
    h, y, z = T / (2 * n), [mpf(0)], mpf(0)
    for j in range(1, n + 1):
        z -= h * (tanh((w + (delta if j == k else 0)) * y[-1] + b) + alpha * y[-1])
        y.append(y[-1] + h * z)
    return y

steps, k, values = [int(F["steps"]) * 2**i for i in range(5)], F["offset"] + F["ratio"] * F["steps"], []
violated = F["layers"] == 1 and 0 < T < steps[0] and alpha >= 0 and k.denominator == 1 and 10 <= 10 * k <= steps[0]
print(f"premise one layer, dt < 1, 1 <= k <= n/10 (k = {k}, n = {steps[0]}): {'holds' if violated else 'fails'}")
for n in steps:
    k = F["offset"] + F["ratio"] * n
    change = ((run(n, k, delta)[n] - target) ** 2 - (run(n, k, -delta)[n] - target) ** 2) / (4 * delta)  # ∂E_k/∂w
    values.append(abs(change))
slopes = [log(a / c, 2) if a * c else mp.inf for a, c in zip(values, values[1:])]
print("|dE_k/dw|", *(f"n = {n}: {nstr(v, 5)}" for n, v in zip(steps, values)))
print("measured slopes", *(nstr(s, 5) for s in slopes), "bound:", "at least 1" if "≤" in CASE else "at most 1")
violated = violated and all(s < 0.5 if "≤" in CASE else s > 1.5 for s in slopes)  # margin 1/2
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
