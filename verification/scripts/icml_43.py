"""icml-(43) (icml S(43)): |∂E_n/∂θ| ≤ ((1 − dt^L)/(1 − dt)) T (1 + 2γT) V̄ (Ȳ + F) Δ for every n and θ, α > 0, dt ≪ 1, K =
max(2, |w^L| + α), γ = K + K²/2, β = max(1 + 2α, 4α²), F = √((2/α)(1 + 2βT)), Δ = 2 + √(1 + 2βT) + (2 + α) F of S(15).

One neuron, h = dt/2 (c = 0), zero states: zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V u + b) + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ, and E_n =
|yₙ − ȳ|²/2, n = N. θ = b, moved at every step, by a complex step Im E(b + iε)/ε. "dt ≪ 1": at the same T with dt, dt/2, dt/4,
dt/8, and from below for every smaller dt: |ȳ| (cosh R − 1)/W, W = −(α + w), R = T asinh(h√W/2)/h at the first h, at rest.
Cases: L = 1
"""
from fractions import Fraction
from mpmath import asinh, cosh, mp, mpc, mpf, nstr, sqrt, tanh

CASE = "icml S(43), L = 1 | |∂E_n/∂θ|, θ = b"
P = {"alpha": "1", "dt": "1/4", "N": "80", "layer": "1", "w": "-5", "V": "0", "b": "0", "u": "0", "target": "1"}

mp.dps, eps = 50, mpf(10) ** -300
alpha, first, w, V, b, u, target = (
    mpf(Fraction(P[name]).numerator) / Fraction(P[name]).denominator
    for name in ("alpha", "dt", "w", "V", "b", "u", "target"))
N, W, T = int(P["N"]), -alpha - w, int(P["N"]) * first
violated = 0 < first < 1 and alpha > 0 and W > 0 and V * u == b == 0 and ("T ≤ 1" not in CASE or T <= 1)
print(f"premise alpha = {nstr(alpha, 8)} > 0, 0 < dt < 1, w < -alpha, at rest, T = {nstr(T, 8)}: {violated}")
K, beta = max(2, abs(w) + alpha), max(1 + 2 * alpha, 4 * alpha**2)
energy, growth = sqrt(2 * (1 + 2 * beta * T)), 1 + 2 * (K + K**2 / 2) * T
F = energy / sqrt(alpha)
bound = T * growth * max(1, abs(V)) * (abs(target) + F) * (2 + energy / sqrt(2) + (2 + alpha) * F)
least = abs(target) * (cosh(T * asinh(first / 4 * sqrt(W)) / (first / 2)) - 1) / W if violated else 0
for i in range(4):
    h, y, z = first / 2**i / 2, mpc(0), mpc(0)
    for _ in range(N * 2**i):
        z -= h * (tanh(w * y + V * u + b + mpc(0, eps)) + alpha * y)
        y += h * z
    measured = abs(((y - target) ** 2 / 2).imag) / eps
    print(f"dt = {nstr(2 * h, 8)}: measured {nstr(measured, 12)}, least {nstr(least, 8)}, against bound {nstr(bound, 12)}")
    violated = violated and measured >= least > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
