"""sco-5.5.1 (scoRNN Sec. 5.5.1): the orthogonality of W = C(A) D, C(A) = (I + A)⁻¹(I − A), does not suffer from
rounding; read as: WᵀW = I exactly for W as computed, every operation rounded to the format. n = 2, A = [0 a; −a 0].

(I + A) W = (I − A) D is solved by Gaussian elimination with row exchanges, entry by entry. Measured: the largest entry
of WᵀW − I, formed exactly in fractions. Bound: 0.
"""
from fractions import Fraction as F
import numpy as np

CASE = "scaled Cayley, n = 2, float32 | WᵀW = I exactly"
P = {"A": "125/128", "D": "1 1"}

fl = np.float32 if "float32" in CASE else np.float64
a, D = fl(float(F(P["A"]))), [fl(int(d)) for d in P["D"].split()]
premise = F(float(a)) == F(P["A"]) and {float(d) for d in D} <= {1.0, -1.0}
print(f"premise a = {P['A']} is a number of {fl.__name__}, D = diag(±1): {'holds' if premise else 'fails'}")
one, rows = fl(1), [[fl(1), a], [-a, fl(1)]]  # I + A
right = [[D[0], -a * D[1]], [a * D[0], D[1]]]  # (I − A) D
if abs(rows[1][0]) > abs(rows[0][0]):
    rows, right = rows[::-1], right[::-1]
factor = rows[1][0] / rows[0][0]
pivot = rows[1][1] - factor * rows[0][1]
W = [[None, None], [None, None]]
for j in range(2):
    W[1][j] = (right[1][j] - factor * right[0][j]) / pivot
    W[0][j] = (right[0][j] - rows[0][1] * W[1][j]) / rows[0][0]
print("computed W =", [[float(x) for x in row] for row in W])
exact = [[F(float(x)) for x in row] for row in W]
gram = [[sum(exact[k][i] * exact[k][j] for k in range(2)) - (i == j) for j in range(2)] for i in range(2)]
measured = max(abs(x) for row in gram for x in row)
print(f"measured max |WᵀW − I| = {float(measured):.6g} against bound 0")
violated = premise and measured > 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
