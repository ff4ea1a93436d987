"""sco-4.1b (scoRNN Sec. 4.1): modReLU keeps gradients from vanishing: ‖∂h_T/∂h_0‖ does not vanish. Tried with biases b
< 0, or b ≥ 0 and some z_t = 0, where the derivative is taken to be 0.

z_t = W h_{t−1} + drive_t, h_t = sign(z_t) ReLU(|z_t| + b), W = C(A) D, C(A) = (I + A)⁻¹(I − A), all in fractions.
∂h_T/∂h_0 = Π D_t W, D_t the slopes of modReLU, 1 where |z| + b > 0 and z ≠ 0. A: its entries above the diagonal, row by
row; drive: step by step. Once 0 the product stays 0. Measured: its entries. Bound: not all 0.
"""
from fractions import Fraction

CASE = "b < 0 | ‖∂h_T/∂h_0‖ does not vanish"
P = {"A": "1/2", "D": "1 1", "b": "-1 -1", "h": "2 2", "drive": "0 0 0 0 0 0", "v": "1 1"}

F = lambda name: list(map(Fraction, P[name].split()))
above, D, b, h, drive, v = (F(name) for name in ("A", "D", "b", "h", "drive", "v"))
n, entries = len(D), iter(above)
A = [[Fraction(0)] * n for _ in range(n)]
for i in range(n):
    for j in range(i + 1, n):
        A[i][j] = next(entries)
        A[j][i] = -A[i][j]
rows = [[(i == j) + A[i][j] for j in range(n)] + [((i == j) - A[i][j]) * D[j] for j in range(n)] for i in range(n)]
for k in range(n):  # (I + A) W = (I − A) D; no pivot is 0, as I + A is positive
    rows[k] = [x / rows[k][k] for x in rows[k]]
    rows = [r if i == k else [x - r[k] * y for x, y in zip(r, rows[k])] for i, r in enumerate(rows)]
W = [r[n:] for r in rows]
print("W =", [list(map(str, row)) for row in W])
J, zero = [[Fraction(i == j) for j in range(n)] for i in range(n)], False
for t in range(len(drive) // n):
    z = [sum(w * x for w, x in zip(row, h)) + drive[n * t + i] for i, row in enumerate(W)]
    slope = [int(x != 0 and abs(x) + c > 0) for x, c in zip(z, b)]
    h = [(x > 0) * max(abs(x) + c, 0) - (x < 0) * max(abs(x) + c, 0) for x, c in zip(z, b)]
    J = [[s * sum(W[i][k] * J[k][j] for k in range(n)) for j in range(n)] for i, s in enumerate(slope)]
    zero = zero or 0 in z
    print(f"t = {t + 1}: z = {', '.join(map(str, z))}; slopes {slope}; |∂h_t/∂h_0| entries {[str(x) for r in J for x in r]}")
premise = all(x < 0 for x in b) if CASE.startswith("b < 0") else all(x >= 0 for x in b) and zero
print(f"premise {CASE.split(' | ')[0]}: {'holds' if premise else 'fails'}")
violated = premise and not any(x for row in J for x in row)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
