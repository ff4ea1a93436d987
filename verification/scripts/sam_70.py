"""sam-70 (UnICORNN, sam (70)): |∂E_n/∂θ| ≤ ((1 − dt^L)/(1 − dt)) T e^{w̄T} V̄ (Ȳ + F) Δ for every n and θ, α > 0, dt < 1,
w̄ = max(2, |w^L| + α), F = √((2T/α) Q e^{ᾱT}), Q = 1 + 2αdt³, ᾱ = 96^{1/4} max(1, √α), Δ = 2 + √(2TQ e^{ᾱT}) + (2 + α) F.

One neuron a layer, h = dt/2 (c = 0), zero states: zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V y^{l−1}_{n−1} + b) + α yₙ₋₁), yₙ =
yₙ₋₁ + h zₙ, E_n = |y^L_n − ȳ|²/2, n = N. θ = b^l, moved at every step, by a complex step Im E(b^l + iε)/ε.
"""
from fractions import Fraction
from mpmath import exp, fprod, mp, mpc, mpf, nstr, root, sqrt, tanh

CASE = "sam (70), L = 2 | |∂E_n/∂θ|, θ = b^1"
P = {"alpha": "1", "dt": "1/10", "N": "10", "layer": "1", "w": "-10000 -1", "V": "0 1", "b": "0 0", "u": "0",
     "target": "1"}

mp.dps, eps = 50, mpf(10) ** -300
row = lambda name: [mpf(x.numerator) / x.denominator for x in map(Fraction, P[name].split())]
(alpha,), w, b, V, N, l = row("alpha"), row("w"), row("b"), row("V"), int(P["N"]), int(P["layer"])
L, u, target = len(w), row("u") * (N if " " not in P["u"] else 1), row("target") * (N if " " not in P["target"] else 1)
(dt,), measured, T = row("dt"), [], row("dt")[0] * N
b[l - 1] += mpc(0, eps)
for lag in (1, 0):  # layer q sees y^{q-1}_{n-1} in sam (31), y^{q-1}_n in icml (6)
    y, z = [mpc(0)] * L, [mpc(0)] * L
    for n in range(N):
        seen = list(y) if lag else y
        for q in range(L):
            z[q] -= dt / 2 * (tanh(w[q] * y[q] + V[q] * (seen[q - 1] if q else u[n]) + b[q]) + alpha * y[q])
            y[q] += dt / 2 * z[q]
    measured.append(abs(((y[-1] - target[-1]) ** 2 / 2).imag) / eps)
K, Q, growth = max(2, abs(w[-1]) + alpha), 1 + 2 * alpha * dt**3, exp(root(96, 4) * max(1, sqrt(alpha)) * T)
Vbar, Ybar, Z = fprod(max(1, abs(v)) for v in V), max(map(abs, target)), sqrt(2 * T * Q * growth)
F = Z / sqrt(alpha)
bound = (1 - dt**L) / (1 - dt) * T * exp(K * T) * Vbar * (Ybar + F) * (2 + Z + (2 + alpha) * F)
premise = alpha > 0 and 0 < dt < 1 and 1 <= l < L
print(f"premise alpha > 0, dt < 1, l = {l} < L = {L}: {'holds' if premise else 'fails'}")
print(f"measured {nstr(measured[0], 12)} (indices of icml: {nstr(measured[1], 12)}) against bound {nstr(bound, 12)}")
violated = premise and min(measured) > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
