"""both-liouville-b (UnICORNN, both versions, Sec. 3): (0, 0) cannot be a stable fixed point of the sensitivities
y_θ′ = z_θ, z_θ′ = −σ′(A)(w y_θ + C) − α y_θ (equation (8)).

Zero input, bias and start, one neuron, θ = w: then y = 0, A = 0, σ′(A) = 1 and C = y = 0, and (8) is x′ = M x with
M = [[0, 1], [−(α + w), 0]]. It is stable if some Q = diag(κ, 1) > 0 has MᵀQ + QM = 0: x·Qx is constant.
"""
from fractions import Fraction as F
from mpmath import eig, matrix, mp, nstr

CASE = "free | stability of (0, 0)"
P = {"alpha": "1", "w": "1"}

alpha, w = F(P["alpha"]), F(P["w"])
kappa = alpha + w
M = [[F(0), F(1)], [-kappa, F(0)]]
Q = [[kappa, F(0)], [F(0), F(1)]]
change = [[sum(M[k][i] * Q[k][j] + Q[i][k] * M[k][j] for k in range(2)) for j in range(2)] for i in range(2)]
constant, definite = all(x == 0 for row in change for x in row), kappa > 0
mp.dps = 50
values = eig(matrix([[0, 1], [-mp.mpf(kappa.numerator) / kappa.denominator, 0]]))[0]
print(f"premise alpha = {alpha} >= 0, (0, 0) is a fixed point of (8): {'holds' if alpha >= 0 else 'fails'}")
print(f"measured Q = diag({kappa}, 1): positive definite {definite}, x.Qx constant {constant}; bound: not stable")
print("eigenvalues of (8) at (0, 0):", ", ".join(nstr(v, 10) for v in values))
violated = alpha >= 0 and constant and definite
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
