"""both-3.x-input (sam (41), θ = V¹): |dE/dθ| ≤ ((1 − dt^L)/(1 − dt)) T e^{w̄T} V̄ (Ȳ + F) (2 + (2 + √α + α) F),
w̄ = max(2, |w^L| + α), F = √((2T/α)(1 + 2αdt³) g), g = e^{ᾱT}, ᾱ = 96^{1/4} max(1, √α); (13): T = 1, g = e^{2ᾱ}.

One neuron a layer, h = dt/2 (c = 0), zero states: zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V y^{l−1}_{n−1} + b) + α yₙ₋₁), yₙ =
yₙ₋₁ + h zₙ, u: what layer 1 reads; E = (1/N) Σ |y^L_n − ȳ|²/2. dE/dV^1 by a complex step, Im E(V^1 + iε)/ε.
Cases: sam
"""
from fractions import Fraction
from mpmath import exp, fprod, mp, mpc, mpf, nstr, root, sqrt, tanh

CASE = "sam (13), T = 1 | |dE/dV^1|"
P = {"alpha": "1", "dt": "1/10", "N": "10", "layer": "1", "w": "-1", "V": "0", "b": "0", "u": "1000000", "target": "1"}

mp.dps, eps = 50, mpf(10) ** -300
row = lambda name: [mpf(x.numerator) / x.denominator for x in map(Fraction, P[name].split())]
(alpha,), w, b, V, N, l = row("alpha"), row("w"), row("b"), row("V"), int(P["N"]), int(P["layer"])
L, u, target = len(w), row("u") * (N if " " not in P["u"] else 1), row("target") * (N if " " not in P["target"] else 1)
(dt,), measured = row("dt"), []
V[l - 1] += mpc(0, eps)
for lag in (1, 0):  # layer q sees y^{q-1}_{n-1} in sam (31), y^{q-1}_n in icml (6)
    y, z, E = [mpc(0)] * L, [mpc(0)] * L, 0
    for n in range(N):
        seen = list(y) if lag else y
        for q in range(L):
            z[q] -= dt / 2 * (tanh(w[q] * y[q] + V[q] * (seen[q - 1] if q else u[n]) + b[q]) + alpha * y[q])
            y[q] += dt / 2 * z[q]
        E += (y[-1] - target[n]) ** 2 / (2 * N)
    measured.append(abs(E.imag) / eps)
K, abar = max(2, abs(w[-1]) + alpha), root(96, 4) * max(1, sqrt(alpha))
Vbar, Ybar, horizon = fprod(max(1, abs(v.real)) for v in V), max(map(abs, target)), N * dt
T, g = (1, exp(2 * abar)) if "(13)" in CASE else (horizon, exp(abar * horizon))
F = sqrt(2 * T / alpha * (1 + 2 * alpha * dt**3) * g)
bound = (1 - dt**L) / (1 - dt) * T * exp(K * T) * Vbar * (Ybar + F) * (2 + sqrt(alpha) * F + (2 + alpha) * F)
premise = alpha > 0 and 0 < dt < 1 and l == 1 and (horizon <= 1 or "(41)" in CASE)
print(f"premise alpha > 0, dt < 1, for (13) T <= 1: {'holds' if premise else 'fails'}")
print(f"measured {nstr(measured[0], 12)} (indices of icml: {nstr(measured[1], 12)}) against bound {nstr(bound, 12)}")
violated = premise and min(measured) > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
