"""both-46-vs-92 (sam (46), (92), icml S(19), S(65)): for L = 3, l = 1 the product rule (46) yields (92), so that
Π_j dX³_j/dX³_{j−1} (dX³_k/dX²_k)(dX²_k/dX¹_k) = (dX³_n/dX²_n)(dX²_n/dX¹_n) Π_j dX¹_j/dX¹_{j−1}, j = k + 1..n.

The network (31), zₙ = zₙ₋₁ − h (tanh A + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ, A = w yₙ₋₁ + V y^{l−1}_{n−1} + b, y⁰ = u: d by
complex steps; between layers D = −h²σ′(A)V, E = −hσ′(A)V of (49), (50). k = 1, n = N.
Cases: sam indices
"""
from fractions import Fraction
import numpy as np

CASE = "L = 3 | right sides, sam indices"
P = {"layers": "3", "neurons": "1", "skip": "0", "alpha": "1", "dt": "1/2", "c": "0 0 0", "w": "1 1 1", "b": "0 0 0",
     "V": "1 1 1", "u": "0 0 0", "Lambda": ""}

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
along = {l: [d(l, j, l, j - 1) for j in range(N, 1, -1)] for l in (1, 3)}
early, late = map(np.linalg.multi_dot, (along[3] + [DE(3, 1), DE(2, 1)], [DE(3, N), DE(2, N)] + along[1]))
print("(46):", early.round(9).tolist(), "(92):", late.round(9).tolist())
print(f"measured |(46) - (92)| = {(gap := abs(early - late).max()):.12g} against bound 0 (rounding: 1e-12)")
violated = L == 3 and 0 < dt < 1 and alpha >= 0 and gap > 1e-9
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
