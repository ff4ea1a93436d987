"""sco-4.2a (scoRNN Sec. 4.2): the initial A has blocks B_j = [0 s_j; −s_j 0], s_j = √((1 − cos t_j)/(1 + cos t_j)), and
C(A) = (I + A)⁻¹(I − A) the eigenvalues ±e^{it_j}, as printed: e^{it_j} and −e^{it_j}, whose sum is 0.

s = tan(t/2) in P, so cos t = (1 − s²)/(1 + s²). Measured: the trace of C(B), which is the sum of its eigenvalues.
Bound: 0.
Cases: as printed
"""
from fractions import Fraction as F

CASE = "as printed, ±e^{it_j} | eigenvalues of C(A)"
P = {"s": "1/2"}

s = F(P["s"])
det = 1 + s * s  # of I + B = [1 s; −s 1]
inverse, minus = [[1 / det, -s / det], [s / det, 1 / det]], [[F(1), -s], [s, F(1)]]
C = [[sum(inverse[i][k] * minus[k][j] for k in range(2)) for j in range(2)] for i in range(2)]
cosine = (1 - s * s) / (1 + s * s)
print(f"premise 0 ≤ s = {s} ≤ 1, t in [0, π/2]: {0 <= s <= 1}; cos t = {cosine}")
print(f"C(B) = [{C[0][0]} {C[0][1]}; {C[1][0]} {C[1][1]}], of determinant {C[0][0] * C[1][1] - C[0][1] * C[1][0]}")
trace = C[0][0] + C[1][1]
print(f"measured sum of the eigenvalues {trace} = 2 cos t, that of e^it and e^−it, against bound 0")
violated = 0 <= s <= 1 and trace != 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
