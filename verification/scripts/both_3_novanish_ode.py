"""both-3-novanish-ODE (UnICORNN, sam Sec. 3, icml Sec. 3): "the hidden state gradients of the ODE (2) do not vanish",
read as: (y_θ, z_θ) of (8) from (0, 0) is not as small as one likes on [0, t] as the parameters vary.

y' = z, z' = −(tanh A + α y), A = w y + V u + b; (8): y_θ' = z_θ, z_θ' = −(α + w σ′(A)) y_θ − σ′(A) C, C = y, u, 1 for
θ = w, V, b. Measured: max |y_θ|, |z_θ| over [0, t] and θ, inputs u(t) = ±u (RK4), at b, 2b, 4b. Bound: the floor in P;
no other floor holds either, the maximum is about e^{−2|b|}.
Cases: zero start, b varies
"""
from fractions import Fraction
from math import cosh, tanh
import numpy as np

CASE = "zero start, b varies | max over [0, t], every θ"
P = {"alpha": "1", "w": "1", "V": "1", "u": "1", "t": "1", "floor": "1/1000000", "b": "16"}

alpha, w, V, size, t, floor, b = (float(Fraction(P[name])) for name in ("alpha", "w", "V", "u", "t", "floor", "b"))

def largest(b, u, steps=400):
    def f(x):  # (2) and (8) for θ = w, V, b
        y, z, A = x[0], x[1], w * x[0] + V * u + b
        out = [z, -(tanh(A) + alpha * y)]
        for i, C in enumerate((y, u, 1)):
            out += [x[3 + 2 * i], -(alpha + w / cosh(A) ** 2) * x[2 + 2 * i] - C / cosh(A) ** 2]
        return np.array(out)
    x, h, top = np.zeros(8), t / steps, 0
    for _ in range(steps):
        k1 = f(x)
        k2 = f(x + h / 2 * k1)
        k3 = f(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(x + h * k3))
        top = max(top, *abs(x[2:]))
    return top

tops = [max(largest(i * b, u) for u in (size, -size)) for i in (1, 2, 4)]
print("measured maxima at b, 2b, 4b:", *(f"{top:.6e}" for top in tops), f"against bound (floor) {floor:g}")
violated = alpha >= 0 and t > 0 and max(tops) < floor and tops[1] < tops[0] / 100 and tops[2] < tops[1] / 100
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
