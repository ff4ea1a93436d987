"""sco-5.5.2 (scoRNN Secs. 3.2, 5.5.2): the size of ∂L/∂h_t varies little over the sequence; read as: by less than a
factor 10 between t = 1 and t = T, with L = v·h_T (b < 0), or with a loss v·h_t at every step (b ≥ 0, no z_t is 0).

z_t = W h_{t−1} + drive_t, h_t = sign(z_t) ReLU(|z_t| + b), W = C(A) D, C(A) = (I + A)⁻¹(I − A), all in fractions. A:
its entries above the diagonal, row by row; drive: step by step. Measured: ‖∂L/∂h_1‖², ‖∂L/∂h_T‖² by backpropagation.
"""
from fractions import Fraction

CASE = "b < 0 | ‖∂L/∂h_1‖ ≥ ‖∂L/∂h_T‖/10"
P = {"A": "1", "D": "-1 1", "b": "-1/4 -1", "h": "0 0", "drive": "-1/2 1/2 0 1/2", "v": "1 1"}
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
slopes, T, zero = [], len(drive) // n, False
for t in range(T):
    z = [sum(w * x for w, x in zip(row, h)) + drive[n * t + i] for i, row in enumerate(W)]
    slopes.append([int(x != 0 and abs(x) + c > 0) for x, c in zip(z, b)])
    h = [(x > 0) * max(abs(x) + c, 0) - (x < 0) * max(abs(x) + c, 0) for x, c in zip(z, b)]
    zero = zero or 0 in z
gradient = v
for t in range(T - 1, 0, -1):  # from ∂L/∂h_{t+1} to ∂L/∂h_t
    gradient = [sum(W[k][i] * slopes[t][k] * gradient[k] for k in range(n)) for i in range(n)]
    gradient = [g + x * ("every step" in CASE) for g, x in zip(gradient, v)]
early, late = sum(g * g for g in gradient), sum(x * x for x in v)
premise = all(x < 0 for x in b) if CASE.startswith("b < 0") else all(x >= 0 for x in b) and not zero
print(f"W = {[list(map(str, row)) for row in W]}, premise {CASE.split(' | ')[0]}: {'holds' if premise else 'fails'}")
print(f"measured ‖∂L/∂h_1‖² = {early}, ‖∂L/∂h_T‖² = {late}, T = {T}, against bound {CASE.split(' | ')[1]}")
violated = premise and (100 * early < late if CASE.startswith("b < 0") else early > 100 * late)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
