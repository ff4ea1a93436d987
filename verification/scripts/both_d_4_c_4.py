"""both-D.4/C.4 (UnICORNN, sam (89), (90), icml S(62), S(63)): for L = 3 and k ≪ n
∂E_k/∂w¹ = dt⁴ σ̂ tₙ (∂⁺z_k/∂w¹) G³G² (y³ₙ − ȳ) + O(dt⁶), G^q = −σ̂²σ′(A^q_{n−1})V,
∂⁺z_k/∂w¹ = −dt σ̂ σ′(A¹_{k−1}) y¹_{k−1}.

One neuron a layer, σ̂ = 1/2 (c = 0), dt = T/n, zero states and input: A¹ = w y¹ + b, A^q = w y^q + V y^{q−1}. Measured:
∂E_n/∂w¹ if w¹ moves at step k alone, less the printed term, n = N, 2N, 4N, 8N; its slope in dt, with margin 1/2.
"""
from fractions import Fraction
from mpmath import log, mp, mpf, nstr, tanh

CASE = "T = 1, k = 1 + n/16 | |∂E_k/∂w − printed| ≤ C dt^6"
P = {"layers": "3", "skip": "0", "alpha": "1", "w": "0", "v": "1", "b": "1", "target": "1", "horizon": "1",
     "offset": "1", "ratio": "1/16", "steps": "32", "refine": "fixed T"}

mp.dps, delta = 100, mpf(10) ** -40
F = {name: Fraction(text) for name, text in P.items() if name != "refine"}
alpha, w, V, b, target, T = (mpf(F[x].numerator) / F[x].denominator for x in "alpha w v b target horizon".split())

def run(n, sam, delta):  # E_n, where w of layer 1 is w + delta at step k, and the printed term
    dt, k, direct, y, z, A = T / n, F["offset"] + F["ratio"] * n, 0, *([mpf(0)] * 3 for _ in range(3))
    for j in range(1, n + 1):
        seen = list(y) if sam else y  # layer q sees y^{q-1} of step j - 1 in sam (31), of step j in icml (6)
        for q in range(3):
            A[q] = (w + (delta if (q, j) == (0, k) else 0)) * y[q] + (b if q == 0 else V * seen[q - 1])
            direct = -dt / 2 * (1 - tanh(A[0]) ** 2) * y[0] if (q, j) == (0, k) else direct
            z[q] -= dt / 2 * (tanh(A[q]) + alpha * y[q])
            y[q] += dt / 2 * z[q]
    G2, G3, miss = *(-(1 - tanh(A[q]) ** 2) * V / 4 for q in (1, 2)), y[2] - target
    return miss**2 / 2, dt**4 * T / 2 * direct * G3 * G2 * miss

steps, k = [int(F["steps"]) * 2**i for i in range(4)], F["offset"] + F["ratio"] * F["steps"]
violated = F["layers"] == 3 and 0 < T < steps[0] and alpha >= 0 and k.denominator == 1 and 10 <= 10 * k <= steps[0]
print(f"premise L = 3, dt < 1, k <= n/10 (k = {k}, n = {steps[0]}): {'holds' if violated else 'fails'}")
for sam in (False, True):
    rests = [abs((run(n, sam, delta)[0] - run(n, sam, -delta)[0]) / (2 * delta) - run(n, sam, 0)[1]) for n in steps]
    slopes = [log(a / c) / log(2) for a, c in zip(rests, rests[1:])]
    print("sam" if sam else "icml", *(nstr(v, 4) for v in rests), "slopes", *(nstr(s, 5) for s in slopes), "bound 6")
    violated = violated and all(s < 5.5 for s in slopes)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
