"""sco-3.1-cplx (scoRNN Sec. 1): the complex case, W unitary and A skew-Hermitian; tried: that Theorem 3.1 holds with
real signs, D in {±1}ⁿ: some such D has W = C(A) D, C(A) = (I + A)⁻¹(I − A), with |a_jk| ≤ 1.

A = C(W D), where that exists. Measured: the largest |a_jk|² for each of the 2ⁿ D, ∞ where det(I + W D) = 0. Bound: one
of them is ≤ 1. W = W_re + i W_im, row by row; over Q(i), a complex number is a pair of fractions.
Cases: unitary W
"""
from fractions import Fraction as F
from itertools import product
from math import isqrt

CASE = "unitary W, n ≤ 4 | least max |a_jk| over D in {±1}ⁿ"
P = {"W_re": "0 -1 0 0", "W_im": "0 0 -1 0"}

n, flat = isqrt(len(P["W_re"].split())), list(zip(map(F, P["W_re"].split()), map(F, P["W_im"].split())))
W = [flat[n * i : n * i + n] for i in range(n)]
times = lambda a, b: (a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])
minus, one = lambda a, b: (a[0] - b[0], a[1] - b[1]), lambda i, j: (F(i == j), F(0))
over = lambda a, b: times(a, (b[0] / (b[0] ** 2 + b[1] ** 2), -b[1] / (b[0] ** 2 + b[1] ** 2)))
def cayley(M):  # (I + M)⁻¹(I − M) by elimination, None if I + M is singular
    rows = [[minus(one(i, j), (-x, -y)) for j, (x, y) in enumerate(r)] + [minus(one(i, j), x) for j, x in enumerate(r)]
            for i, r in enumerate(M)]
    for k in range(n):
        pivot = next((r for r in range(k, n) if rows[r][k] != (0, 0)), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [over(x, rows[k][k]) for x in rows[k]]
        rows = [r if i == k else [minus(x, times(r[k], y)) for x, y in zip(r, rows[k])] for i, r in enumerate(rows)]
    return [row[n:] for row in rows]
inner = lambda i, j: tuple(map(sum, zip(*(times((W[k][i][0], -W[k][i][1]), W[k][j]) for k in range(n)))))
premise, sizes = all(inner(i, j) == one(i, j) for i in range(n) for j in range(n)), []
print("W =", [[f"{x} + {y} i" for x, y in row] for row in W], f"unitary: {'holds' if premise else 'fails'}")
for D in product((1, -1), repeat=n):
    A = cayley([[(d * x, d * y) for d, (x, y) in zip(D, row)] for row in W])
    sizes.append(max(x * x + y * y for row in A for x, y in row) if A else float("inf"))
    print(f"D = diag{D}: measured max |a_jk|² = {sizes[-1]}" + ("" if A else " (W D has the eigenvalue −1: no A)"))
violated = premise and min(sizes) > 1
print(f"least of all D: {min(sizes)} against bound 1\n{'violated' if violated else 'NOT violated'}")
raise SystemExit(0 if violated else 1)
