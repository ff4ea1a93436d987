"""both-3.3/3.2-repr (UnICORNN, sam (16), (73), icml (14)): for 1 ≤ k ≪ n, with O two-sided by (72),
∂E_k/∂w = −dt σ̂² t_n σ′(A_{k−1}) y_{k−1} (y_n − ȳ) + O(dt²).

One neuron, h = dt/2 (c = 0), dt = T/n, zero input and states: A_{j−1} = w y_{j−1} + b, y_j = y_{j−1} + h z_j,
z_j = z_{j−1} − h (tanh(A_{j−1}) + α y_{j−1}). Measured: ∂/∂w of (y_n − ȳ)²/2 if w moves at step k alone
(difference quotient) less the printed term; its slope at T = t_n, the powers of 2 by which it falls when n doubles.
Cases: k = (1 [+]|2)
"""
from fractions import Fraction
from mpmath import log, mp, mpf, nstr, tanh

CASE = "T = 1, k = 1 + n/16 | |∂E_k/∂w − printed| ≤ C dt^2"
P = {"layers": "1", "skip": "0", "alpha": "1", "w": "0", "v": "1", "b": "1", "target": "1", "horizon": "1",
     "offset": "1", "ratio": "1/16", "steps": "32", "refine": "fixed T"}

mp.dps, delta = 100, mpf(10) ** -40
F = {name: Fraction(text) for name, text in P.items() if name != "refine"}
alpha, w, b, target, T = (mpf(F[x].numerator) / F[x].denominator for x in "alpha w b target horizon".split())
def run(n, k, delta):  # y_0, ..., y_n if w is w + delta at step k
    h, y, z = T / (2 * n), [mpf(0)], mpf(0)
    for j in range(1, n + 1):
        z -= h * (tanh((w + (delta if j == k else 0)) * y[-1] + b) + alpha * y[-1])
        y.append(y[-1] + h * z)
    return y
def rest(n):
    dt, k = T / n, int(F["offset"] + F["ratio"] * n)
    y = run(n, k, 0)
    change = ((run(n, k, delta)[n] - target) ** 2 - (run(n, k, -delta)[n] - target) ** 2) / (4 * delta)  # ∂E_k/∂w
    return abs(change + dt / 4 * T * (1 - tanh(w * y[k - 1] + b) ** 2) * y[k - 1] * (y[n] - target))

steps, k = [int(F["steps"]) * 2**i for i in range(4)], F["offset"] + F["ratio"] * F["steps"]
violated = F["layers"] == 1 and 0 < T < steps[0] and alpha >= 0 and k.denominator == 1 and 10 <= 10 * k <= steps[0]
print(f"premise one layer, dt < 1, 1 <= k <= n/10 (k = {k}, n = {steps[0]}): {'holds' if violated else 'fails'}")
rests = list(map(rest, steps))
slopes = [log(a / c, 2) if a * c else mp.inf for a, c in zip(rests, rests[1:])]
print("remainder", *(f"n = {n}: {nstr(v, 5)}" for n, v in zip(steps, rests)))
print("measured slopes", *(nstr(s, 5) for s in slopes), "bound:", "at least 2" if "≤" in CASE else "at most 2")
violated = violated and all(s < 1.5 if "≤" in CASE else s > 2.5 for s in slopes)  # margin 1/2
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
