"""sco-3.1-bdd (scoRNN Sec. 3.1): the scaled transform W = C(A) D, C(A) = (I + A)⁻¹(I − A), has an A with bounded
entries, |a_ij| ≤ 1, if D is chosen for W; tried with D = I fixed, n = 2.

Then A = C(W). Measured: the largest |a_ij| of the A of the orthogonal W of P (row by row). Bound: 1.
Cases: of the A of W
"""
from fractions import Fraction as F

CASE = "D fixed, n = 2 | max |a_ij| of the A of W"
P = {"W": "-3/5 -4/5 4/5 -3/5"}

a, b, c, d = map(F, P["W"].split())
det = (1 + a) * (1 + d) - b * c  # of I + W
premise = a * a + c * c == b * b + d * d == 1 and a * b + c * d == 0 and det != 0
print(f"W = [{a} {b}; {c} {d}]: premise WᵀW = I, no eigenvalue −1: {'holds' if premise else 'fails'}")
inverse = [[(1 + d) / (det or 1), -b / (det or 1)], [-c / (det or 1), (1 + a) / (det or 1)]]
A = [[sum(inverse[i][k] * ((k == j) - [[a, b], [c, d]][k][j]) for k in range(2)) for j in range(2)] for i in range(2)]
print(f"A = C(W) = [{A[0][0]} {A[0][1]}; {A[1][0]} {A[1][1]}]")
measured = max(abs(x) for row in A for x in row)
print(f"measured max |a_ij| = {measured} against bound 1")
violated = premise and measured > 1
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
