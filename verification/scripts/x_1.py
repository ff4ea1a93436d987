"""x-1 (RNNs in the Eye of ODEs (9), (10); scoRNN Sec. 3.1): the Cayley transform of a skew matrix is one step of the
implicit midpoint rule for y' = W y, Wᵀ = −W; tried for the scaled transform C(A) D with an odd number of −1 in D.

A step y₊ = y + W (y + y₊)/2 is C(−W/2), of determinant det(I + W/2)/det(I − W/2) = 1: both are polynomials of degree ≤
2 in each entry of W, equal if they are so on a grid of three values each. Measured: det C(A) D = det D. Bound: 1.
"""
from fractions import Fraction as F
from itertools import product
from math import prod

CASE = "D with an odd number of −1 | the scaled transform C(A) D is one step of the implicit midpoint rule, Wᵀ = −W"
P = {"D": "1 -1"}

D = [int(x) for x in P["D"].split()]
n, sign = len(D), prod(D)  # det D
def det(M):
    M, value = [row[:] for row in M], F(1)
    for k in range(len(M)):
        pivot = next((r for r in range(k, len(M)) if M[r][k]), None)
        if pivot is None:
            return F(0)
        value *= M[pivot][k] * (1 if pivot == k else -1)
        M[k], M[pivot] = M[pivot], M[k]
        for r in range(k + 1, len(M)):
            M[r] = [x - M[r][k] / M[k][k] * y for x, y in zip(M[r], M[k])]
    return value
always_one = True
for values in product((0, 1, 2), repeat=n * (n - 1) // 2):
    A, entries = [[F(0)] * n for _ in range(n)], iter(values)
    for i in range(n):
        for j in range(i + 1, n):
            A[i][j] = F(next(entries))
            A[j][i] = -A[i][j]
    plus, minus = ([[(i == j) + s * A[i][j] for j in range(n)] for i in range(n)] for s in (1, -1))
    always_one = always_one and det(plus) == det(minus)
print(f"premise D = diag({', '.join(map(str, D))}), entries ±1: {set(D) <= {1, -1}}; det C(A) = 1 for every skew A: {always_one}")
print(f"measured det C(A) D = {sign}, for every A, against bound 1, that of any step")
violated = set(D) <= {1, -1} and always_one and sign != 1
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
