"""sam-3.2 (sam Prop. 3.2, (13), (14)): |dE/dθ| ≤ ((1 − dt^L)/(1 − dt)) e^w̄ V̄ (Ȳ + F) Δ, α > 0, dt < 1, with
w̄ = max(2, |w^L| + α), F = √((2/α)(1 + 2αdt³)) e^ᾱ, ᾱ = 96^{1/4} max(1, √α), Δ = 2 + √α F + (2 + α) F; t in [0, 1].

One neuron a layer, h = dt/2 (c = 0), zero states: zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V y^{l−1}_{n−1} + b) + α yₙ₋₁), yₙ =
yₙ₋₁ + h zₙ, u: what layer 1 reads; E = (1/N) Σ |y^L_n − ȳ|²/2. dE/dθ, θ = b^l or V^1, by a complex step, Im E(θ + iε)/ε.
Cases: ^(T ≤ 1|any T)
"""
from fractions import Fraction
from mpmath import exp, fprod, mp, mpc, mpf, nstr, root, sqrt, tanh

CASE = "T ≤ 1, L = 2 | |dE/dθ|, θ = b^1"
P = {"alpha": "1", "dt": "1/10", "N": "10", "layer": "1", "w": "-10000 -1", "V": "0 1", "b": "0 0", "u": "0",
     "target": "1"}

mp.dps, eps = 50, mpf(10) ** -300
row = lambda name: [mpf(x.numerator) / x.denominator for x in map(Fraction, P[name].split())]
(alpha,), w, b, V, N, l = row("alpha"), row("w"), row("b"), row("V"), int(P["N"]), int(P["layer"])
L, u, target = len(w), row("u") * (N if " " not in P["u"] else 1), row("target") * (N if " " not in P["target"] else 1)
(dt,), measured = row("dt"), []
(V if "V^1" in CASE else b)[l - 1] += mpc(0, eps)
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
Vbar, Ybar, T = fprod(max(1, abs(v.real)) for v in V), max(map(abs, target)), N * dt
energy = sqrt(2 * (1 + 2 * alpha * dt**3)) * exp(abar)
bound = (1 - dt**L) / (1 - dt) * exp(K) * Vbar * (Ybar + energy / sqrt(alpha)) * (
    2 + energy + (2 + alpha) * energy / sqrt(alpha))
premise = alpha > 0 and 0 < dt < 1 and (T <= 1 or CASE.startswith("any T"))
print(f"premise alpha > 0, dt < 1, T = {nstr(T, 8)} <= 1 unless CASE has any T: {'holds' if premise else 'fails'}")
print(f"measured {nstr(measured[0], 12)} (indices of icml: {nstr(measured[1], 12)}) against bound {nstr(bound, 12)}")
violated = premise and min(measured) > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
