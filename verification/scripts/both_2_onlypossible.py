"""both-2-onlypossible (UnICORNN, both versions, Sec. 2): neurons can have time steps of their own only
because no neuron of a layer acts on another one.

Two neurons with a full matrix W in the place of w and steps h₁ ≠ h₂: z' = z − h (σ(W y + x) + α y), y' = y + h z', the
input x the same for both. Measured, for σ = tanh at five random points, with 50 digits: what the inverse, y = y' − h
z', z = z' + h (σ(W y + x) + α y), misses; |det DF − 1|; the largest entry of DFᵀ J DF − J. Bound for "possible": 10⁻⁴⁰.
"""
from fractions import Fraction
from random import Random
from mpmath import det, diag, eye, mp, mpf, nstr, tanh

CASE = "m = 2, full W | symplectic"
P = {"W": "2 1 2 1", "h": "1/4 1/8", "alpha": "1"}

mp.dps, draw = 50, Random(1)
w, h, (alpha,) = ([mpf(x.numerator) / x.denominator for x in map(Fraction, P[p].split())] for p in ("W", "h", "alpha"))
W, H = mp.matrix([w[:2], w[2:]]), diag(h)
J = mp.matrix([[0, 0, 1, 0], [0, 0, 0, 1], [-1, 0, 0, 0], [0, -1, 0, 0]])
misses = {"explicit and invertible": [], "volume-preserving": [], "symplectic": []}
for _ in range(5):
    y, z, x = mp.matrix([draw.random(), draw.random()]), mp.matrix([draw.random(), draw.random()]), draw.random()
    force = lambda y: mp.matrix([tanh(a + x) for a in W * y]) + alpha * y
    z1 = z - H * force(y)
    y1 = y + H * z1
    y0 = y1 - H * z1
    z0 = z1 + H * force(y0)
    misses["explicit and invertible"] += [*map(abs, y0 - y), *map(abs, z0 - z)]
    K = diag([1 - tanh(a + x) ** 2 for a in W * y]) * W + alpha * eye(2)  # the derivative of the force
    DF = mp.matrix(4, 4)  # of (y, z): z' = z − h force, y' = y + h z'
    DF[:2, :2], DF[:2, 2:], DF[2:, :2], DF[2:, 2:] = eye(2) - H * H * K, H, -H * K, eye(2)
    misses["volume-preserving"].append(abs(det(DF) - 1))
    misses["symplectic"] += map(abs, DF.T * J * DF - J)
premise = h[0] != h[1] and (w[1] != 0 or w[2] != 0)
print("W =", [w[:2], w[2:]], f"couples the neurons, h = {h}, h1 != h2: {'holds' if premise else 'fails'}")
measured = max(misses[CASE.split(" | ")[1]])
print(f"measured, {CASE.split(' | ')[1]}: misses by {nstr(measured, 6)}, bound 1e-40 (0 up to rounding)")
violated = premise and measured < mpf(10) ** -40
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
