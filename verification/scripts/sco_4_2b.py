"""sco-4.2b (scoRNN Sec. 4.2): scaling by D with ρ entries −1 mirrors ρ eigenvalues of C(A) in the imaginary axis: the
spectrum of C(A) D is that of C(A) with ρ eigenvalues reflected, z → −z̄.

A has blocks [0 s_j; −s_j 0], s_j = tan(t_j/2) in P, and for odd n a last 0; C(A) = (I + A)⁻¹(I − A), with eigenvalues
e^{±it_j} and that last 1. Measured: in each block the characteristic polynomial x² + linear x + constant of C(A) D; if
it is neither x² − 2 cos(t) x + 1 nor x² + 2 cos(t) x + 1, its roots are no reflections of any others. Bound: 0 such.
"""
from fractions import Fraction as F

CASE = "−1s anywhere | spectrum of C(A) D"
P = {"D": "-1 1", "s": "1/2"}
D, halves = [int(d) for d in P["D"].split()], [F(s) for s in P["s"].split()]
premise = set(D) <= {1, -1} and len(halves) == len(D) // 2 and all(0 < s < 1 for s in halves)
print(f"premise D = diag(±1), n = {len(D)}, ρ = {D.count(-1)}, 0 < t_j < π/2: {'holds' if premise else 'fails'}")
mixed = []
for j, (s, d, e) in enumerate(zip(halves, D[0::2], D[1::2]), 1):
    det = 1 + s * s
    C = [[(1 - s * s) / det * d, -2 * s / det * e], [2 * s / det * d, (1 - s * s) / det * e]]  # C(B) diag(d, e)
    constant, linear = C[0][0] * C[1][1] - C[0][1] * C[1][0], -C[0][0] - C[1][1]
    if (constant, abs(linear)) != (1, 2 * (1 - s * s) / det):
        mixed.append(j)
        print(f"block {j}, signs {d}, {e}: x² + ({linear}) x + ({constant}), cos t = {(1 - s * s) / det}") if j < 200 else None
print(f"measured {len(mixed)} blocks with eigenvalues that are no e^(±it) and no reflections of them, against bound 0")
violated = premise and mixed != []
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
