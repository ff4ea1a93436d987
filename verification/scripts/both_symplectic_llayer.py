"""both-symplectic-Llayer (UnICORNN, both versions, Sec. 2.3 on (6)): the network is symplectic Euler for a Hamiltonian
system, so that DFᵀ J DF = J for the map F of the states of all L layers in one step, J = diag([[0, 1], [−1, 0]], …).

F: z′ = z − h (tanh(w y + V y^{l−1} + b) + α y), y′ = y + h z′ in each layer, where y^{l−1} is the new position of the
layer below in icml (6), the old one in sam (31); y⁰ = u. DF, column by column, by complex steps: Im F(X + iεe)/ε.
"""
from fractions import Fraction
import numpy as np

CASE = "L = 2, m ≤ 2 | DFᵀ J DF, icml indices"
P = {"layers": "2", "neurons": "1", "skip": "0", "alpha": "1", "dt": "1/2", "c": "0 0", "w": "1 1", "b": "0 0",
     "V": "1 1", "u": "0 0", "Lambda": ""}

L, m, alpha, dt = int(P["layers"]), int(P["neurons"]), float(Fraction(P["alpha"])), float(Fraction(P["dt"]))
array = lambda name, *shape: np.array([float(Fraction(x)) for x in P[name].split()]).reshape(shape)
h, w, b = dt / (1 + np.exp(-array("c", L, m))), array("w", L, m), array("b", L, m)
V, u, sam = array("V", L, m, m), array("u", -1, m), "sam" in CASE

def F(X):  # X[l, i] = (y, z) of neuron i of layer l
    new = np.empty_like(X)
    for l in range(L):
        below = u[0 if sam else 1] if l == 0 else (X if sam else new)[l - 1, :, 0]
        y, z = X[l, :, 0], X[l, :, 1]
        new[l, :, 1] = z - h[l] * (np.tanh(w[l] * y + V[l] @ below + b[l]) + alpha * y)
        new[l, :, 0] = y + h[l] * new[l, :, 1]
    return new

size = 2 * m * L
DF = np.array([F(1e-30j * e.reshape(L, m, 2)).imag.ravel() / 1e-30 for e in np.eye(size)]).T  # at X = 0, the start
J = np.kron(np.eye(m * L), [[0, 1], [-1, 0]])
defect = DF.T @ J @ DF - J
print("DF =", DF.round(6).tolist())
print("DF^T J DF - J =", defect.round(6).tolist())
print(f"premise 0 < dt < 1, alpha >= 0: {'holds' if 0 < dt < 1 and alpha >= 0 else 'fails'}")
print(f"measured largest entry {abs(defect).max():.12g} against bound 0 (rounding: 1e-12)")
violated = 0 < dt < 1 and alpha >= 0 and abs(defect).max() > 1e-9
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
