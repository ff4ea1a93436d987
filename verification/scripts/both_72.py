"""both-72 (UnICORNN, sam (72) with (73)): a scalar O(γ) lies between C γ and C′γ, C > 0. So for 1 ≤ k ≪ n
∂E_k/∂w = −dt σ̂² t_n σ′(A_{k−1}) y_{k−1} (y_n − ȳ) + O(dt²) has a remainder of at least C dt².

One neuron, h = dt/2 (c = 0), dt = T/n, zero input and states: A_{j−1} = w y_{j−1} + b, y_j = y_{j−1} + h z_j,
z_j = z_{j−1} − h (tanh(A_{j−1}) + α y_{j−1}). Measured: ∂/∂w of (y_n − ȳ)²/2 if w moves at step k alone
(difference quotient) less the printed term, at n, 2n, 4n, 8n, T = t_n: exactly 0 for k = 1, since y_0 = 0.
"""
from fractions import Fraction
from mpmath import mp, mpf, nstr, tanh

CASE = "k = 1 | |remainder of (73)| ≥ C dt²"
P = {"layers": "1", "skip": "0", "alpha": "1", "w": "0", "v": "1", "b": "1", "target": "1", "horizon": "1",
     "offset": "1", "ratio": "0", "steps": "32"}

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
violated = F["layers"] == 1 and 0 < T < steps[0] and alpha >= 0 and 1 <= k <= steps[0]
print(f"premise one layer, dt < 1, 1 <= k <= n (k = {k}, n = {steps[0]}): {'holds' if violated else 'fails'}")
for n in steps:
    measured = rest(n)
    print(f"n = {n}: measured |remainder| = {nstr(measured, 8)} against bound C * {nstr((T / n)**2, 8)}, C > 0")
    violated = violated and measured == 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
