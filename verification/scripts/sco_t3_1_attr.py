"""sco-T3.1-attr (scoRNN Sec. 3.1): Theorem 3.1, every orthogonal W is C(A) D with |a_ij| ≤ 1 and D = diag(±1), is said
to be from Kahan 2006. Its theorem is about unitary W and a diagonal unitary D for which S = (I + W D)⁻¹(I − W D) has
zero diagonal and |s_jk| ≤ 1. Tried: that at a real W every such D is ±1, so that Theorem 3.1 is its special case.

Over Q(i): a complex number is a pair of fractions. W is given row by row, D by its real and imaginary parts.
"""
from fractions import Fraction as F

CASE = "Kahan 2006 at real W | the D that its theorem provides"
P = {"W": "0 -1 1 0", "D_re": "3/5 3/5", "D_im": "4/5 -4/5"}

W, D = list(map(F, P["W"].split())), list(zip(map(F, P["D_re"].split()), map(F, P["D_im"].split())))
n = len(D)
times = lambda a, b: (a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])
minus = lambda a, b: (a[0] - b[0], a[1] - b[1])
over = lambda a, b: times(a, (b[0] / (b[0] ** 2 + b[1] ** 2), -b[1] / (b[0] ** 2 + b[1] ** 2)))
WD = [[times((W[n * i + j], F(0)), D[j]) for j in range(n)] for i in range(n)]
one = lambda i, j: (F(i == j), F(0))
rows = [[minus(one(i, j), minus((F(0), F(0)), WD[i][j])) for j in range(n)] + [minus(one(i, j), WD[i][j]) for j in range(n)]
        for i in range(n)]  # [I + W D | I − W D]
for k in range(n):  # elimination
    pivot = next((r for r in range(k, n) if rows[r][k] != (0, 0)), None)
    if pivot is None:
        print("W D has the eigenvalue −1: there is no S\nNOT violated")
        raise SystemExit(1)
    rows[k], rows[pivot] = rows[pivot], rows[k]
    rows[k] = [over(x, rows[k][k]) for x in rows[k]]
    rows = [row if r == k else [minus(x, times(row[k], y)) for x, y in zip(row, rows[k])] for r, row in enumerate(rows)]
S = [row[n:] for row in rows]
orthogonal = all(sum(W[n * k + i] * W[n * k + j] for k in range(n)) == (i == j) for i in range(n) for j in range(n))
premise = orthogonal and all(x * x + y * y == 1 for x, y in D)
print("W =", [list(map(str, W[n * i : n * i + n])) for i in range(n)], f"orthogonal, D unitary: {premise}")
print("S =", [[f"{x} + {y} i" for x, y in row] for row in S])
concluded = all(S[i][i] == (0, 0) for i in range(n)) and all(x * x + y * y <= 1 for row in S for x, y in row)
print(f"S has zero diagonal and |s_jk| ≤ 1: {concluded}; D = diag({', '.join(f'{x} + {y} i' for x, y in D)})")
print(f"measured imaginary parts of D: {', '.join(str(y) for _, y in D)}, against bound 0 (D = ±1)")
violated = premise and concluded and any(y != 0 for _, y in D)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
