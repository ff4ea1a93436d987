"""both-68 (sam (68), icml S(41)): |∂E_{k,l}/∂θ| ≤ ‖dE_n/dX^L_n‖_∞ ‖dX^L_n/dX^l_k‖_∞ ‖∂⁺X^l_k/∂θ‖_∞, the
largest moduli of the row dE_n/dX^L_n and of the column ∂⁺X^l_k/∂θ (so they are bounded in sam (67), (66)).

θ = b¹ of neuron 1; zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V y^{l−1} + b) + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ, y⁰ = u, y^{l−1}_n in icml
(6), y^{l−1}_{n−1} in sam (31); E_n = |y^L_n − ȳ|²/2. Every derivative by complex steps Im f(iε)/ε.
"""
from fractions import Fraction
import numpy as np

CASE = "l < L | |∂E_{k,l}/∂θ|"
P = {"layers": "2", "neurons": "2", "skip": "0", "alpha": "1", "dt": "9/10", "c": "0 0 0 0", "w": "-1 -1 -1 -1",
     "b": "0 0 0 0", "V": "0 0 0 0 1 0 1 0", "u": "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", "Lambda": "",
     "target": "1 1", "k": "1"}

get = lambda name, *shape: np.array([float(Fraction(x)) for x in P[name].split()]).reshape(shape)
L, m, k, alpha, dt = int(P["layers"]), int(P["neurons"]), int(P["k"]), get("alpha"), get("dt")
w, b, h, V = get("w", L, m), get("b", L, m), dt / (1 + np.exp(-get("c", L, m))), get("V", L, m, m)
u, target = get("u", -1, m), get("target", m)  # u at the times 0, 1, …, n
def run(sam, by_b=0, by_X=0):  # X[t, l] = (y, z); b^1 of neuron 1 at step k is moved, or X^1_k
    X = np.zeros((len(u), L + 1, 2, m), complex)
    X[:, 0, 0] = u
    for t in range(1, len(u)):
        for l in range(1, L + 1):
            A = w[l - 1] * X[t - 1, l, 0] + V[l - 1] @ X[t - sam, l - 1, 0] + b[l - 1]
            A[0] += by_b * ((l, t) == (1, k))
            X[t, l, 1] = X[t - 1, l, 1] - h[l - 1] * (np.tanh(A) + alpha * X[t - 1, l, 0])
            X[t, l, 0] = X[t - 1, l, 0] + h[l - 1] * X[t, l, 1]
            X[t, l] += by_X * ((l, t) == (1, k))
    return X

violated = L == 2 and 0 < dt < 1 and alpha >= 0 and 1 <= k < len(u)
for sam in (0, 1):
    moved, row = run(sam, by_b=1e-30j), run(sam)[-1, L, 0].real - target
    J = np.array([run(sam, by_X=1e-30j * e.reshape(2, m))[-1, L].imag.ravel() / 1e-30 for e in np.eye(2 * m)]).T
    measured = abs(row @ moved[-1, L, 0].imag / 1e-30)
    norms = abs(row).max(), abs(J).sum(axis=1).max(), abs(moved[k, 1].imag).max() / 1e-30
    print(["icml:", "sam: "][sam], f"measured {measured:.10g} against bound {np.prod(norms):.10g} =", *norms)
    violated = violated and measured > np.prod(norms) * (1 + 1e-9)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
