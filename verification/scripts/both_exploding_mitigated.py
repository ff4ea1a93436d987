"""both-exploding-mitigated (UnICORNN, sam Sec. 3): the exploding gradient problem is mitigated, read as: with fixed
weights and fixed dt no gradient grows exponentially with the number N of steps.

One neuron, h = dt/2 (c = 0), zero input and states: zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + b) + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ, and
E = (1/N) Σ (yₙ − ȳ)²/2, ȳ = 1. Measured: |dE/db| at b = 0, by a difference quotient, at N, 2N, 4N. As (N dt)³ it would
grow by 8 each time; an exponential squares its growth.
"""
from fractions import Fraction
from mpmath import mp, mpf, nstr, tanh

CASE = "dt fixed, N → ∞ | |dE/db|"
P = {"alpha": "4", "w": "-9", "dt": "1/5", "steps": "40"}

alpha, w, dt = (mpf(Fraction(P[name]).numerator) / Fraction(P[name]).denominator for name in ("alpha", "w", "dt"))
N, h = int(P["steps"]), dt / 2
mp.dps, delta = 60 + N, mpf(10) ** -(20 + N // 2)

def E(N, b):
    y = z = total = mpf(0)
    for _ in range(N):
        z -= h * (tanh(w * y + b) + alpha * y)
        y += h * z
        total += (y - 1) ** 2 / 2
    return total / N

premise = 0 < dt < 1 and alpha > 0
print(f"premise 0 < dt = {P['dt']} < 1, alpha = {P['alpha']} > 0: {'holds' if premise else 'fails'}")
steps = (N, 2 * N, 4 * N)
values = [abs(E(n, delta) - E(n, -delta)) / (2 * delta) for n in steps]
for n, value in zip(steps, values):
    print(f"N = {n}: measured |dE/db| = {nstr(value, 10)}, (N dt)^3 = {nstr((n * dt)**3, 6)}")
first, second = values[1] / values[0], values[2] / values[1]
print(f"measured growth {nstr(first, 6)}, {nstr(second, 6)} against bound 8; second > first^1.5: {second > first**1.5}")
violated = premise and min(first, second) > 8 and second > first**1.5
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
