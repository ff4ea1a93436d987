"""icml-3.1-T3 (UnICORNN, ICML 2021, after Proposition 3.1): the bound on the gradient grows at most as (N dt)³, hence
gradients do not grow exponentially with the number N of steps, once dt is small.

One neuron, h = dt/2 (c = 0), zero input and states: zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + b) + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ, and
E = (1/N) Σ (yₙ − ȳ)²/2, ȳ = 1. Measured: |dE/db| at b = 0, by a difference quotient, at T = N dt, 2T, 4T, and with dt, dt/2,
dt/4, dt/8. As T³ it would grow by 8 each time; an exponential squares its growth. Least: (sinh(R)/R − 1)/(W q), proved for
every smaller dt (docs/derivations/jacobian_products.md), W = −(α + w), q = √(1 + h²W/4), R = T asinh(h√W/2)/h at the first h.
"""
from fractions import Fraction
from mpmath import asinh, mp, mpf, nstr, sinh, sqrt, tanh

CASE = "every fixed dt ≤ dt₀, N → ∞ | |dE/db|"
P = {"alpha": "4", "w": "-9", "dt": "1/5", "steps": "40"}

alpha, w, dt = (mpf(Fraction(P[name]).numerator) / Fraction(P[name]).denominator for name in ("alpha", "w", "dt"))
N, h, W = int(P["steps"]), dt / 2, -alpha - w
mp.dps, delta = 60 + N, mpf(10) ** -(20 + N // 2)

def E(N, h, b):
    y = z = total = mpf(0)
    for _ in range(N):
        z -= h * (tanh(w * y + b) + alpha * y)
        y += h * z
        total += (y - 1) ** 2 / 2
    return total / N

violated = 0 < dt < 1 and alpha > 0 and W > 0
print(f"premise 0 < dt = {P['dt']} < 1, alpha = {P['alpha']} > 0, w < -alpha: {'holds' if violated else 'fails'}")
for i in range(4 * violated):
    counts, step = [n * N * 2**i for n in (1, 2, 4)], h / 2**i
    values = [abs(E(n, step, delta) - E(n, step, -delta)) / (2 * delta) for n in counts]
    R = [2 * n * step * asinh(h * sqrt(W) / 2) / h for n in counts]
    least = [(sinh(r) / r - 1) / (W * sqrt(1 + h**2 * W / 4)) for r in R]
    print(f"dt = {nstr(2 * step, 6)}, N = {counts}: measured |dE/db| = {[nstr(v, 8) for v in values]}")
    first, second = values[1] / values[0], values[2] / values[1]
    print(f"growth {nstr(first, 6)}, {nstr(second, 6)} against bound 8; least {[nstr(v, 5) for v in least]}")
    violated = violated and all(v >= b for v, b in zip(values, least)) and min(first, second) > 8 and second > first**1.5
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
