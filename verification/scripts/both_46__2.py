"""both-46 (sam (46), icml S(19)): dX^L_n/dX^l_k = Π_{j=k+1..n} dX^L_j/dX^L_{j−1} Π_{q=l+1..L} dX^q_k/dX^{q−1}_k.

The network (31), zₙ = zₙ₋₁ − h (tanh A + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ, A = w yₙ₋₁ + V y^{l−1}_{n−1} + b, y⁰ = u: d by
complex steps; between layers D = −h²σ′(A)V, E = −hσ′(A)V of (49), (50). k = 1, n = N, all l.
Cases: blocks .49.
"""
from fractions import Fraction
import numpy as np

CASE = "L = 2 | (46), sam indices, blocks (49), (50)"
P = {"layers": "2", "neurons": "1", "skip": "0", "alpha": "1", "dt": "1/2", "c": "0 0", "w": "1 1", "b": "0 0",
     "V": "1 1", "u": "0 0 0", "Lambda": ""}

get = lambda name, *shape: np.array([float(Fraction(x)) for x in P[name].split()]).reshape(shape)
L, m, sam, alpha, dt = int(P["layers"]), int(P["neurons"]), int("sam" in CASE), get("alpha"), get("dt")
w, b, h, V = get("w", L, m), get("b", L, m), dt / (1 + np.exp(-get("c", L, m))), get("V", L, m, m)
u, N, A = get("u", -1, m), len(P["u"].split()) // m - 1, {}  # the input at the times 0, 1, …, N
def run(q=0, k=0, i=0):  # X[n, l] = (y, z) of layer l = 1..L; d = dX^p_n/dX^q_k, moving X^q_k by iε
    X = np.zeros((N + 1, L + 1, 2, m), complex)
    X[:, 0, 0] = u
    for n in range(1, N + 1):
        for l in range(1, L + 1):
            A[l, n] = w[l - 1] * X[n - 1, l, 0] + V[l - 1] @ X[n - sam, l - 1, 0] + b[l - 1]
            X[n, l, 1] = X[n - 1, l, 1] - h[l - 1] * (np.tanh(A[l, n]) + alpha * X[n - 1, l, 0])
            X[n, l, 0] = X[n - 1, l, 0] + h[l - 1] * X[n, l, 1]
            X[n, l].flat[i] += 1e-30j * ((l, n) == (q, k))
    return X

d = lambda p, n, q, k: np.array([run(q, k, i)[n, p].imag.ravel() / 1e-30 for i in range(2 * m)]).T
def DE(q, n):  # (49), (50), where A is that of the run
    E = -(h[q - 1] / np.cosh(A[q, n].real) ** 2)[:, None] * V[q - 1]
    return np.block([[h[q - 1][:, None] * E, 0 * E], [E, 0 * E]])
left, along = [d(L, N, l, 1) for l in range(1, L + 1)], [d(L, j, L, j - 1) for j in range(N, 1, -1)]
right = [np.linalg.multi_dot([np.eye(2 * m)] * 2 + along + [DE(q, 1) for q in range(L, l + 1, -1)]) for l in range(L)]
gap = abs(np.array(left) - right).max()
print("l = 1: left", left[0].round(9).tolist(), "right", right[0].round(9).tolist())
print(f"measured largest |left - right| = {gap:.12g} against bound 0 (rounding: 1e-12)")
violated = 0 < dt < 1 and alpha >= 0 and gap > 1e-9
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
