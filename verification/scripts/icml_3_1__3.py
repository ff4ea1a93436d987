"""icml-3.1 (ICML 2021, Prop. 3.1, (12)), θ = V¹, any input: |dE/dθ| ≤ ((1 − dt^L)/(1 − dt)) T (1 + 2γT) V̄ (Ȳ + F) Δ,
K = max(2, |w^L| + α), γ = K + K²/2, β = max(1 + 2α, 4α²), F = √((2/α)(1 + 2βT)), Δ = 2 + √(2(1 + 2βT)) + (2 + α)F.

A printed network, weights as App. A may draw them, 0 ≤ w ≤ 1, |V| ≤ √(6/(65 fan_in)), b = 0. One neuron a layer, the
others apart; h = dt/2 (c = 0), zero states: zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V y^{l−1}_n + b) + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ,
y⁰ = u; E = (1/N) Σ |y^L_n − ȳ|²/2. dE/dV¹ by a complex step, Im E(V¹ + iε)/ε.
Cases: range
"""
from fractions import Fraction
from mpmath import fprod, mp, mpc, mpf, nstr, sqrt, tanh

CASE = "printed nCIFAR, the initialisation's range, any inputs | |dE/dθ|, θ = V^1"
P = {"alpha": "13", "dt": "63/500", "N": "1000", "w": "1/2 1/2 1/2", "layer": "1", "V": "0 603/25000 603/25000",
     "b": "0 0 0", "u": "980000000000000000", "target": "1"}

mp.dps, eps, F = 50, mpf(10) ** -300, {name: list(map(Fraction, text.split())) for name, text in P.items()}
alpha, dt, w, b, V, u, target = ([mpf(x.numerator) / x.denominator for x in F[name]] for name in (
    "alpha", "dt", "w", "b", "V", "u", "target"))
(alpha,), (dt,), (u,), (target,), L, N, name = alpha, dt, u, target, len(w), int(P["N"]), CASE.split(",")[0][8:]
*row, d, m = map(Fraction, {  # alpha, dt, d, m of Table 6, N of the task
    "nCIFAR": "13 0.126 1000 96 128", "psMNIST-128": "12.53 0.482 784 1 128", "psMNIST-256": "30.65 0.19 784 1 256",
    "RR": "9 0.011 4000 2 128", "HR": "10 0.046 4000 2 128"}[name].split())
drawn = all(0 <= x <= 1 for x in F["w"]) and not any(b) and all(65 * x * x * s <= 6 for x, s in zip(F["V"], (d, m, m)))
premise = L == 3 and row == [Fraction(P[x]) for x in ("alpha", "dt", "N")] and P["layer"] == "1" and drawn
print(f"premise alpha, dt, N, L = 3 are those of {name}, weights in range: {'holds' if premise else 'fails'}")
V[0], y, z, E = V[0] + mpc(0, eps), [mpc(0)] * L, [mpc(0)] * L, 0
for n in range(N):
    for q in range(L):
        z[q] -= dt / 2 * (tanh(w[q] * y[q] + V[q] * (y[q - 1] if q else u) + b[q]) + alpha * y[q])
        y[q] += dt / 2 * z[q]
    E += (y[-1] - target) ** 2 / (2 * N)
T, K, beta = N * dt, max(2, abs(w[-1]) + alpha), max(1 + 2 * alpha, 4 * alpha**2)
root, Vbar = 2 * (1 + 2 * beta * T), fprod(max(1, abs(v.real)) for v in V)
bound = (1 - dt**L) / (1 - dt) * T * (1 + (2 * K + K**2) * T) * Vbar * (abs(target) + sqrt(root / alpha))
bound *= 2 + sqrt(root) + (2 + alpha) * sqrt(root / alpha)
print(f"measured {nstr(abs(E.imag) / eps, 12)} against bound {nstr(bound, 12)}")
violated = premise and abs(E.imag) / eps > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
