"""icml-3.1 (ICML 2021, Prop. 3.1, (12)): |dE/dθ| ≤ ((1 − dt^L)/(1 − dt)) T (1 + 2γT) V̄ (Ȳ + F) Δ, α > 0, dt ≪ 1, with
K = max(2, |w^L| + α), γ = K + K²/2, β = max(1 + 2α, 4α²), F = √((2/α)(1 + 2βT)), Δ = 2 + √(2(1 + 2βT)) + (2 + α)F.

One neuron a layer, h = dt/2 (c = 0), zero states: zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V y^{l−1}_n + b) + α yₙ₋₁), yₙ = yₙ₋₁ +
h zₙ, y⁰ = u; E = (1/N) Σ |y^L_n − ȳ|²/2. dE/dθ, θ = b^l or V^1, by a complex step, Im E(θ + iε)/ε. "dt ≪ 1": at the same T,
with dt, dt/2, dt/4, dt/8.
Cases: ^L = 1
"""
from fractions import Fraction
from mpmath import fprod, mp, mpc, mpf, nstr, sqrt, tanh

CASE = "L = 1 | |dE/dθ|"
P = {"alpha": "1", "dt": "1/4", "N": "80", "layer": "1", "w": "-17", "V": "0", "b": "0", "u": "0", "target": "1"}

mp.dps, eps = 50, mpf(10) ** -300
row = lambda name: [mpf(x.numerator) / x.denominator for x in map(Fraction, P[name].split())]
(alpha,), w, b, V, N, l = row("alpha"), row("w"), row("b"), row("V"), int(P["N"]), int(P["layer"])
L, u, target = len(w), row("u") * (N if " " not in P["u"] else 1), row("target") * (N if " " not in P["target"] else 1)

(V if "V^1" in CASE else b)[l - 1] += mpc(0, eps)
violated = alpha > 0
print(f"premise alpha = {nstr(alpha, 8)} > 0: {'holds' if violated else 'fails'}")
for i in range(4):
    dt, steps, y, z, E = row("dt")[0] / 2**i, N * 2**i, [mpc(0)] * L, [mpc(0)] * L, 0
    for n in range(steps):
        for q in range(L):
            A = w[q] * y[q] + V[q] * (y[q - 1] if q else u[n // 2**i]) + b[q]
            z[q] -= dt / 2 * (tanh(A) + alpha * y[q])
            y[q] += dt / 2 * z[q]
        E += (y[-1] - target[n // 2**i]) ** 2 / (2 * steps)
    T, K, beta = steps * dt, max(2, abs(w[-1]) + alpha), max(1 + 2 * alpha, 4 * alpha**2)
    gamma, root = K + K**2 / 2, 2 * (1 + 2 * beta * T)
    F, Vbar, Ybar = sqrt(root / alpha), fprod(max(1, abs(v.real)) for v in V), max(map(abs, target))
    Delta = 2 + sqrt(root) + (2 + alpha) * F
    bound = (1 - dt**L) / (1 - dt) * T * (1 + 2 * gamma * T) * Vbar * (Ybar + F) * Delta
    print(f"dt = {nstr(dt, 8)}: measured {nstr(abs(E.imag) / eps, 12)} against bound {nstr(bound, 12)}")
    violated = violated and abs(E.imag) / eps > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
