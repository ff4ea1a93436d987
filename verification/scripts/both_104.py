"""both-104 (sam (104), icml S(77)), residual stacking: dX^L_n/dX¹_n = Π_{s=1..ν} dX^{L−(s−1)S}_n/dX^{L−sS}_n
Π_{l=2..L−νS} dX^l_n/dX^{l−1}_n + Π_{l=1..L−1} dX^{l+1}_n/dX^l_n, ν = [L/S], less 1 if S divides L.

n = 1, zero start: z = −h tanh(A), y = h z, A = V y^{l−1} + Λ y^{l−S−1} + b (Λ for l > S), y⁰ = u; in a case of "edges
l − S" y^{l−S} in the place of y^{l−S−1}, S = skip + 1 in P. Derivatives of the network by complex steps. A factor over
S layers: total derivative, partial one (0) or edge with Λ.
"""
from fractions import Fraction
import numpy as np

CASE = "(L, S) = (4, 2), (5, 3) | (104), total"
P = {"layers": "4", "neurons": "1", "skip": "2", "alpha": "1", "dt": "1/2", "c": "0 0 0 0", "w": "1 1 1 1",
     "b": "0 0 0 0", "V": "1 1 1 1", "u": "0 0", "Lambda": "1 1"}

get = lambda name, *shape: np.array([float(Fraction(x)) for x in P[name].split()]).reshape(shape)
L, m, far, dt, u = int(P["layers"]), int(P["neurons"]), int(P["skip"]) + 1, get("dt"), get("u", 2, -1)[1]
V, b, h = get("V", L, m, m), get("b", L, m), dt / (1 + np.exp(-get("c", L, m)))
Lam, A = np.concatenate([np.zeros((far - 1, m, m)), get("Lambda", L - far + 1, m, m)]), {}  # Λ of the layers 1..L
def run(q=0, i=0):  # X[l] = (y, z) of layer l = 0..L; component i of X^q is moved by iε
    X = np.array([[u, 0 * u]] * (L + 1), complex)
    for l in range(1, L + 1):
        A[l] = V[l - 1] @ X[l - 1, 0] + Lam[l - 1] @ X[max(l - far, 0), 0] + b[l - 1]
        X[l] = -h[l - 1] ** 2 * np.tanh(A[l]), -h[l - 1] * np.tanh(A[l])
        X[l].flat[i] += 1e-30j * (l == q)
    return X

d = lambda p, q: np.array([run(q, i)[p].imag.ravel() / 1e-30 for i in range(2 * m)]).T  # dX^p/dX^q
S = far if "edges" in CASE else far - 1
left, nu, dot = d(L, 1), L // S - (L % S == 0), lambda factors: np.linalg.multi_dot([np.eye(2 * m)] * 2 + factors)
def hop(q):  # "dX^q/dX^{q-S}"
    E = -(h[q - 1] / np.cosh(A[q].real) ** 2)[:, None] * Lam[q - 1] * ("edge" in CASE)
    return d(q, q - S) if "total" in CASE else np.block([[h[q - 1][:, None] * E, 0 * E], [E, 0 * E]])

down = [d(l, l - 1) for l in range(L, 1, -1)]
right = dot([hop(L - s * S) for s in range(nu)] + down[nu * S:]) + dot(down)
print(f"nu = {nu}: left {left.round(9).tolist()}, right {right.round(9).tolist()}")
print(f"measured largest |left - right| = {abs(left - right).max():.12g} against bound 0 (rounding: 1e-12)")
violated = 0 < dt < 1 and S >= 2 and abs(left - right).max() > 1e-9
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
