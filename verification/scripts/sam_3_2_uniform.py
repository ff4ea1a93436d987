"""sam-3.2-uniform (sam Sec. 3): with w^L and V^q in a bounded set, one bound serves the gradients of all networks, whatever the
other weights and data are, at fixed α, T, Ȳ.

One neuron a layer, h = dt/2, zero states: zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V y^{l−1}_n + b) + α yₙ₋₁), yₙ = yₙ₋₁ +
h zₙ; E = (1/N) Σ |y^L_n − ȳ|²/2. dE/db¹ or dE/dV¹ by a complex step against C; then the free w¹ or u times 10 and 100.
"""
from fractions import Fraction
from mpmath import mp, mpc, mpf, nstr, tanh

CASE = "L = 2, w^1 free | sup|dE/dθ|, θ = b^1"
P = {"alpha": "1", "dt": "1/10", "N": "10", "layer": "1", "w": "-10000 -1", "V": "0 1", "b": "0 0", "u": "0",
     "target": "1", "C": "1000000"}

mp.dps, eps = 50, mpf(10) ** -300
row = lambda name: [mpf(x.numerator) / x.denominator for x in map(Fraction, P[name].split())]
(alpha,), w, b, V, N, l = row("alpha"), row("w"), row("b"), row("V"), int(P["N"]), int(P["layer"])
L, u, target = len(w), row("u") * (N if " " not in P["u"] else 1), row("target") * (N if " " not in P["target"] else 1)
(dt,), (C,), free = row("dt"), row("C"), "u" if "u free" in CASE else "w"

def gradient(w, u, lag):  # layer q sees y^{q-1}_{n-1} in sam (31): lag = 1; y^{q-1}_n in icml (6)
    y, z, E = [mpc(0)] * L, [mpc(0)] * L, 0
    for n in range(N):
        seen = list(y) if lag else y
        for q in range(L):
            x = V[q] * (seen[q - 1] if q else u[n]) + b[q]
            z[q] -= dt / 2 * (tanh(w[q] * y[q] + x) + alpha * y[q])
            y[q] += dt / 2 * z[q]
        E += (y[-1] - target[n]) ** 2 / (2 * N)
    return abs(E.imag) / eps

(V if free == "u" else b)[0] += mpc(0, eps)
premise = alpha > 0 and 0 < dt < 1 and C > 0 and l == 1 and (free == "u" or L > 1)
print(f"premise alpha > 0, dt < 1, C > 0, w^L = {nstr(w[-1], 6)} and all V fixed: {'holds' if premise else 'fails'}")
tries = [([w[0] * f, *w[1:]], u) if free == "w" else (w, [x * f for x in u]) for f in (1, 10, 100)]
for lag in (0, 1):
    m = [gradient(*at, lag) for at in tries]
    print(f"{['icml (6)', 'sam (31)'][lag]}: measured", *(nstr(x, 10) for x in m), f"against bound C = {nstr(C, 8)}")
    premise = premise and (m[0] > C or lag) and max(m) > C and 5 * m[0] < m[1] and 5 * m[1] < m[2]
print("violated" if premise else "NOT violated")
raise SystemExit(0 if premise else 1)
