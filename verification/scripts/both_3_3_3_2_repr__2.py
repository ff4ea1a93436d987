"""both-3.3/3.2-repr (UnICORNN, sam (16), (73), icml (14)): for 1 ≤ k ≪ n,
∂E_k/∂w = −dt σ̂² t_n σ′(A_{k−1}) y_{k−1} (y_n − ȳ) + O(dt²); here k = n^(3/4), so that k/n tends to 0.

One neuron, h = dt/2 (c = 0), dt = T/n, zero input and states: A_{i−1} = w y_{i−1} + b, y_i = y_{i−1} + h z_i,
z_i = z_{i−1} − h (tanh(A_{i−1}) + α y_{i−1}). Measured: ∂/∂w of (y_n − ȳ)²/2 if w moves at step k alone (difference
quotient) less the printed term, for n = j⁴, k = j³ and n = (2j)⁴; its slope, log of the ratio over log 16.
Cases: 3/4
"""
from fractions import Fraction
from mpmath import log, mp, mpf, nstr, tanh

CASE = "T = 1, k = n^(3/4) | |∂E_k/∂w − printed| ≤ C dt^2"
P = {"alpha": "1", "w": "0", "b": "1", "target": "1", "horizon": "1", "j": "4"}

mp.dps, delta, j = 60, mpf(10) ** -25, int(P["j"])
F = {name: Fraction(text) for name, text in P.items()}
alpha, w, b, target, T = (mpf(F[x].numerator) / F[x].denominator for x in "alpha w b target horizon".split())

def run(n, k, delta):  # y_{k-1}, y_n if w is w + delta at step k
    h, y, z, before = T / (2 * n), mpf(0), mpf(0), None
    for i in range(1, n + 1):
        before = y if i == k else before
        z -= h * (tanh((w + delta * (i == k)) * y + b) + alpha * y)
        y += h * z
    return before, y
def rest(n, k):
    before, last = run(n, k, 0)
    change = ((run(n, k, delta)[1] - target) ** 2 - (run(n, k, -delta)[1] - target) ** 2) / (4 * delta)  # ∂E_k/∂w
    return abs(change + T / n / 4 * T * (1 - tanh(w * before + b) ** 2) * before * (last - target))

violated = j > 1 and 0 < T < j**4 and alpha >= 0
print(f"premise dt = T/n < 1, k = n^(3/4), n = {j**4} and {(2 * j) ** 4}: {'holds' if violated else 'fails'}")
coarse, fine = rest(j**4, j**3), rest((2 * j) ** 4, (2 * j) ** 3)
slope = log(coarse / fine, 16) if coarse * fine else mp.inf
print(f"remainder {nstr(coarse, 8)}, {nstr(fine, 8)}: measured slope {nstr(slope, 8)} against bound 2 or more (margin 1/8)")
violated = violated and slope < 2 - mpf(1) / 8
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
