"""sam-7-inverse (UnICORNN, sam (6), (7), (31)): (7) inverts a step of (6) = (31).

(31): zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V y^{l−1}_{n−1} + b) + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ, in each layer l, y⁰ₙ = uₙ.
(7): yₙ₋₁ = yₙ − h zₙ, zₙ₋₁ = zₙ + h (tanh(w yₙ₋₁ + V y^{l−1}_n + b) + α yₙ₋₁).
Measured: (7) applied to the last state of the run, less the state before it.
"""
from fractions import Fraction
import numpy as np

CASE = "L = 1 | (7) after (31)"
P = {"layers": "1", "neurons": "1", "skip": "0", "alpha": "1", "dt": "1/2", "c": "0", "w": "1", "b": "0", "V": "1",
     "u": "0 1", "Lambda": ""}

L, m, alpha, dt = int(P["layers"]), int(P["neurons"]), float(Fraction(P["alpha"])), float(Fraction(P["dt"]))
array = lambda name, *shape: np.array([float(Fraction(x)) for x in P[name].split()]).reshape(shape)
h, w, b = dt / (1 + np.exp(-array("c", L, m))), array("w", L, m), array("b", L, m)
V, u = array("V", L, m, m), array("u", -1, m)  # u at the times 0, 1, …, N
y, z = [np.zeros((len(u), L, m)) for _ in range(2)]

def below(n, l):  # y^{l-1}_n, layers from l = 0
    return u[n] if l == 0 else y[n, l - 1]

for n in range(1, len(u)):
    for l in range(L):
        s = np.tanh(w[l] * y[n - 1, l] + V[l] @ below(n - 1, l) + b[l])
        z[n, l] = z[n - 1, l] - h[l] * (s + alpha * y[n - 1, l])
        y[n, l] = y[n - 1, l] + h[l] * z[n, l]
N, missed = len(u) - 1, 0
for l in range(L):
    back_y = y[N, l] - h[l] * z[N, l]
    back_z = z[N, l] + h[l] * (np.tanh(w[l] * back_y + V[l] @ below(N, l) + b[l]) + alpha * back_y)
    print(f"layer {l + 1}: (y, z) = {y[N - 1, l]}, {z[N - 1, l]}; (7) gives {back_y}, {back_z}")
    missed = max(missed, *abs(back_y - y[N - 1, l]), *abs(back_z - z[N - 1, l]))
premise = 0 < dt < 1 and alpha >= 0 and ("constant" not in CASE or (u == u[0]).all())
print(f"premise 0 < dt < 1, alpha >= 0, constant input where CASE says so: {'holds' if premise else 'fails'}")
print(f"measured |(7) after (31) - start| = {missed:.12g} against bound 0 (rounding: 1e-12)")
violated = premise and missed > 1e-9
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
