"""both-3.3-fixed-n (UnICORNN, sam (16), (73), icml (14)): at fixed n, k, dt → 0, with O two-sided by (72),
∂E_k/∂w = −dt σ̂² t_n σ′(A_{k−1}) y_{k−1} (y_n − ȳ) + O(dt²).

One neuron, h = dt/2 (c = 0), t_n = n dt, zero input and states: A_{j−1} = w y_{j−1} + b, y_j = y_{j−1} + h z_j,
z_j = z_{j−1} − h (tanh(A_{j−1}) + α y_{j−1}). Measured: ∂/∂w of (y_n − ȳ)²/2 if w moves at step k alone
(difference quotient) less the printed term; its slope, the powers of 2 by which it falls when dt is halved.
"""
from fractions import Fraction
from mpmath import log, mp, mpf, nstr, tanh

CASE = "n = 32, k = 2 | |∂E_k/∂w − printed| ≥ c dt^2"
P = {"layers": "1", "skip": "0", "alpha": "1", "w": "0", "v": "1", "b": "1", "target": "1", "horizon": "1",
     "offset": "2", "ratio": "0", "steps": "32", "refine": "fixed n"}

mp.dps, delta = 100, mpf(10) ** -40
F = {name: Fraction(text) for name, text in P.items() if name != "refine"}
alpha, w, b, target, T = (mpf(F[x].numerator) / F[x].denominator for x in "alpha w b target horizon".split())

def run(dt, delta):  # y_0, ..., y_n if w is w + delta at step k
    h, y, z = dt / 2, [mpf(0)], mpf(0)
    for j in range(1, n + 1):
        z -= h * (tanh((w + (delta if j == k else 0)) * y[-1] + b) + alpha * y[-1])
        y.append(y[-1] + h * z)
    return y
def rest(dt):
    y = run(dt, 0)
    change = ((run(dt, delta)[n] - target) ** 2 - (run(dt, -delta)[n] - target) ** 2) / (4 * delta)  # ∂E_k/∂w
    return abs(change + dt / 4 * (n * dt) * (1 - tanh(w * y[k - 1] + b) ** 2) * y[k - 1] * (y[n] - target))

n, k = int(F["steps"]), int(F["offset"] + F["ratio"] * F["steps"])
violated = F["layers"] == 1 and 0 < T < n and alpha >= 0 and 1 <= k <= n
print(f"premise one layer, dt < 1, 1 <= k <= n (k = {k}, n = {n}): {'holds' if violated else 'fails'}")
steps = [T / n / 2**i for i in range(5)]
rests = list(map(rest, steps))
slopes = [log(a / c, 2) if a * c else mp.inf for a, c in zip(rests, rests[1:])]
print("remainder", *(f"dt = {nstr(dt, 5)}: {nstr(v, 5)}" for dt, v in zip(steps, rests)))
print("measured slopes", *(nstr(s, 5) for s in slopes), "bound:", "at least 2" if "≤" in CASE else "at most 2")
violated = violated and all(s < 1.5 if "≤" in CASE else s > 2.5 for s in slopes)  # margin 1/2
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
