"""icml-(42) (icml S(42)): |∂E_{k,l}/∂θ| ≤ dt^{L−l+1} (1 + 2γT) V̄ (Ȳ + F) Δ, α > 0, dt ≪ 1, K = max(2, |w^L| + α),
γ = K + K²/2, β = max(1 + 2α, 4α²), F = √((2/α)(1 + 2βT)), Δ = 2 + √(1 + 2βT) + (2 + α) F of S(15).

One neuron a layer, h = dt/2 (c = 0), zero states: zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V y^{l−1}_n + b) + α yₙ₋₁), yₙ = yₙ₋₁ +
h zₙ, y⁰ = u, E_n = |y^L_n − ȳ|²/2, n = N. ∂E_{k,l}/∂b^l: b^l moves at step k = 1 alone, by a complex step Im E(iε)/ε.
"dt ≪ 1": at the same T with dt, dt/2, dt/4, dt/8.
"""
from fractions import Fraction
from mpmath import fprod, mp, mpc, mpf, nstr, sqrt, tanh

CASE = "icml S(42), l = L | |∂E_{k,l}/∂θ|"
P = {"alpha": "1", "dt": "1/4", "N": "40", "layer": "1", "w": "-17", "V": "0", "b": "0", "u": "0", "target": "1"}

mp.dps, eps = 50, mpf(10) ** -300
row = lambda name: [mpf(x.numerator) / x.denominator for x in map(Fraction, P[name].split())]
(alpha,), w, b, V, N, l = row("alpha"), row("w"), row("b"), row("V"), int(P["N"]), int(P["layer"])
L, u, target = len(w), row("u") * (N if " " not in P["u"] else 1), row("target") * (N if " " not in P["target"] else 1)
K, beta, violated = max(2, abs(w[-1]) + alpha), max(1 + 2 * alpha, 4 * alpha**2), alpha > 0
print(f"premise alpha = {nstr(alpha, 8)} > 0: {'holds' if violated else 'fails'}; L = {L}, l = {l}")
for i in range(4):
    dt, y, z = row("dt")[0] / 2**i, [mpc(0)] * L, [mpc(0)] * L
    for n in range(N * 2**i):
        for q in range(L):
            A = w[q] * y[q] + V[q] * (y[q - 1] if q else u[n // 2**i]) + b[q]
            z[q] -= dt / 2 * (tanh(A + (mpc(0, eps) if (n, q) == (0, l - 1) else 0)) + alpha * y[q])
            y[q] += dt / 2 * z[q]
    measured, T = abs(((y[-1] - target[-1]) ** 2 / 2).imag) / eps, N * 2**i * dt
    energy, Vbar, Ybar = sqrt(2 * (1 + 2 * beta * T)), fprod(max(1, abs(v)) for v in V), max(map(abs, target))
    F, growth = energy / sqrt(alpha), 1 + 2 * (K + K**2 / 2) * T
    bound = dt ** (L - l + 1) * growth * Vbar * (Ybar + F) * (2 + energy / sqrt(2) + (2 + alpha) * F)
    print(f"dt = {nstr(dt, 8)}: measured {nstr(measured, 12)} against bound {nstr(bound, 12)}")
    violated = violated and measured > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
