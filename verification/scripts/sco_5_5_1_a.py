"""sco-5.5.1-A (scoRNN Secs. 3.2, 5.5.1): W made anew from A by the scaled Cayley transform has WᵀW = I to the order of
the machine precision; read as: max |WᵀW − I| ≤ 1000 n u for every skew-symmetric A, u the unit roundoff.

(I + A) W = (I − A) D is solved in the format by Gaussian elimination with row exchanges, every operation rounded once.
Measured: the largest entry of WᵀW − I, formed exactly in fractions. A is given above the diagonal, row by row.
"""
from fractions import Fraction as F
import numpy as np

CASE = "any A, float32 | max |WᵀW − I| ≤ 1000 n u"
P = {"A": "-1441792 -2293760 2162688", "D": "1 1 1"}
fl, u = (np.float32, F(1, 2**24)) if "float32" in CASE else (np.float64, F(1, 2**53))
above, D = [fl(float(F(x))) for x in P["A"].split()], [fl(int(d)) for d in P["D"].split()]
n, entries = len(D), iter(above)
A, W = ([[fl(0)] * n for _ in range(n)] for _ in range(2))
for i in range(n):
    for j in range(i + 1, n):
        A[i][j] = next(entries)
        A[j][i] = -A[i][j]
premise = all(F(float(x)) == F(text) for x, text in zip(above, P["A"].split())) and {abs(float(d)) for d in D} == {1.0}
print("A =", [[float(x) for x in row] for row in A], f"of {fl.__name__}, D = diag(±1): {'holds' if premise else 'fails'}")
rows = [[fl(i == j) + A[i][j] for j in range(n)] + [(fl(i == j) - A[i][j]) * D[j] for j in range(n)] for i in range(n)]
for k in range(n):
    best = max(range(k, n), key=lambda r: abs(rows[r][k]))
    rows[k], rows[best] = rows[best], rows[k]
    for r in range(k + 1, n):
        factor = rows[r][k] / rows[k][k]
        rows[r] = [x - factor * y if c > k else fl(0) for c, (x, y) in enumerate(zip(rows[r], rows[k]))]
for j in range(n):
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            rows[i][n + j] -= rows[i][k] * W[k][j]
        W[i][j] = rows[i][n + j] / rows[i][i]
exact = [[F(float(x)) for x in row] for row in W]
measured = max(abs(sum(exact[k][i] * exact[k][j] for k in range(n)) - (i == j)) for i in range(n) for j in range(n))
print("computed W =", [[float(x) for x in row] for row in W])
print(f"measured max |WᵀW − I| = {float(measured / u):.6g} u against bound 1000 n u = {1000 * n} u, u = 2^-{24 if u > F(1, 2**30) else 53}")
violated = premise and measured > 1000 * n * u
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
