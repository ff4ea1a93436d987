"""both-3.3-nok (UnICORNN, sam and icml, after (16), (14)): there is no k-dependence of ∂E_k/∂w, 1 ≤ k ≪ n, beyond that
of its factors σ′(A_{k−1}) y_{k−1}.

One neuron, h = dt/2 (c = 0), dt = T/n, zero input and states: A_{j−1} = w y_{j−1} + b, y_j = y_{j−1} + h z_j, z_j =
z_{j−1} − h (tanh(A_{j−1}) + α y_{j−1}). Measured: R_k = ∂E_k/∂w / (σ′(A_{k−1}) y_{k−1}), ∂E_k/∂w that of (y_n − ȳ)²/2
if w moves at step k alone, at k = 2 and k = offset + ratio n. Claimed ratio: 1. Violated: opposite signs at n, 2n, 4n.
"""
from fractions import Fraction
from mpmath import mp, mpf, nstr, tanh

CASE = "fixed T, k ≤ n/10 | ∂E_k/∂w by σ′(A_{k−1}) y_{k−1}"
P = {"layers": "1", "skip": "0", "alpha": "1", "w": "0", "v": "1", "b": "1", "target": "1", "horizon": "13/2",
     "offset": "1", "ratio": "1/16", "steps": "128"}

mp.dps, delta = 100, mpf(10) ** -40
F = {name: Fraction(text) for name, text in P.items() if name != "refine"}
alpha, w, b, target, T = (mpf(F[x].numerator) / F[x].denominator for x in "alpha w b target horizon".split())

def run(n, k, delta):  # y_0, ..., y_n if w is w + delta at step k
    h, y, z = T / (2 * n), [mpf(0)], mpf(0)
    for j in range(1, n + 1):
        z -= h * (tanh((w + (delta if j == k else 0)) * y[-1] + b) + alpha * y[-1])
        y.append(y[-1] + h * z)
    return y

def R(n, k):
    change = ((run(n, k, delta)[n] - target) ** 2 - (run(n, k, -delta)[n] - target) ** 2) / (4 * delta)  # ∂E_k/∂w
    y = run(n, k, 0)[k - 1]
    return change / ((1 - tanh(w * y + b) ** 2) * y)

N, k = int(F["steps"]), F["offset"] + F["ratio"] * F["steps"]
violated = F["layers"] == 1 and 0 < T < N and alpha >= 0 and k.denominator == 1 and 2 < k <= Fraction(N, 10)
print(f"premise one layer, dt < 1, k <= n/10 (k = 2 and {k}, n = {N}): {'holds' if violated else 'fails'}")
for n in (N, 2 * N, 4 * N):
    k = int(F["offset"] + F["ratio"] * n)
    early, late = R(n, 2), R(n, k)
    print(f"n = {n}: R_2 = {nstr(early, 6)}, R_{k} = {nstr(late, 6)}, measured ratio {nstr(late / early, 5)}, bound 1")
    violated = violated and late / early < 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
