"""icml-(40) (UnICORNN, S(40)): ‖∂E_n/∂X_n‖_∞ ≤ Ȳ + √((2/α)(1 + 2βT)), β = max{1 + 2α, 4α²}, α > 0, dt ≪ 1.

E_n = (y_n − ȳ)²/2, so that the left side is |y_n − ȳ|; here ȳ = Ȳ = 0, n = N, T = N dt. One neuron with w = 0, V = 1,
b = 0, h = σ̂(c) dt: zₙ = zₙ₋₁ − h (tanh(uₙ) + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ, with inputs ±a in step with sin √α(T − t)σ̂,
a square wave that does not depend on dt. dt → 0: at dt, dt/2, dt/4, dt/8.
"""
from fractions import Fraction
from math import ceil, exp, sin, sqrt, tanh

CASE = "icml S(40) | ‖dE_n/dX_n‖_∞"
P = {"alpha": "1/20", "T": "10", "dt": "1/20", "c": "10", "amplitude": "10"}

p = {name: Fraction(text) for name, text in P.items()}
alpha, T, sigma, a = float(p["alpha"]), float(p["T"]), 1 / (1 + exp(-p["c"])), float(p["amplitude"])
beta = max(1 + 2 * alpha, 4 * alpha**2)
bound = sqrt(2 / alpha * (1 + 2 * beta * T))
steps = ceil(p["T"] / p["dt"])  # N of dt = T/N
violated = 0 < alpha and T < steps
print(f"premise alpha = {alpha} > 0, 0 < dt = T/{steps} < 1: {'holds' if violated else 'fails'}")
for i in range(4):
    N = steps * 2**i
    h, y, z = sigma * T / N, 0.0, 0.0
    for n in range(1, N + 1):
        s = sin(sqrt(alpha) * h * (N - n))
        u = a if s > 0 else -a if s < 0 else 0.0
        z -= h * (tanh(u) + alpha * y)
        y += h * z
    print(f"dt = {T / N:g}: measured |y_N| = {abs(y):.8f} against bound F = {bound:.8f}")
    violated = violated and abs(y) > bound + 1e-6
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
