"""sco-4.2c (scoRNN Sec. 5.1): with ρ = n/2 entries −1 in D the initial spectrum of W = C(A) D is uniform on |z| = 1.

A has blocks [0 s_j; −s_j 0], s_j = tan(t_j/2), t_j ~ U[0, π/2], and for odd n a last 0; C(A) = (I + A)⁻¹(I − A).
Counted from the characteristic polynomials of the blocks of W at two angles. Measured: the share of eigenvalues that
are 1 or −1 whatever the angles are, and those on the right and left half. Bound: 0, and as many right as left.
Cases: printed
"""
from fractions import Fraction as F

CASE = "printed psMNIST-170 | law of the eigenvalues of W"
P = {"D": " ".join(["1"] * 85 + ["-1"] * 85)}

def block(s, d, e):  # coefficients of 1, x of the characteristic polynomial of C([0 s; −s 0]) diag(d, e)
    det = 1 + s * s
    C = [[(1 - s * s) / det * d, -2 * s / det * e], [2 * s / det * d, (1 - s * s) / det * e]]
    return C[0][0] * C[1][1] - C[0][1] * C[1][0], -C[0][0] - C[1][1]

def law(D):  # numbers of eigenvalues: on the right half circle, on the left, at 1, at −1; t_j uniform in [0, π/2]
    counts = [0, 0, 0, 0]
    for d, e in zip(D[0::2], D[1::2]):
        (one, linear), other = block(F(1, 2), d, e), block(F(1, 3), d, e)  # two angles t
        if (one, linear) == other:  # the same whatever t is: 1 and −1
            counts[2] += 1 + one + linear == 0
            counts[3] += 1 + one - linear == 0
        else:
            counts[0 if linear < 0 else 1] += 2
    if len(D) % 2:
        counts[2 if D[-1] == 1 else 3] += 1
    return counts

D = [int(d) for d in P["D"].split()]
n, rho = len(D), D.count(-1)
right, left, at_one, at_minus_one = law(D)
premise = set(D) <= {1, -1} and rho == (n + 1) // 2
print(f"premise ρ = {rho} = n/2, half rounded up, n = {n}: {'holds' if premise else 'fails'}")
print(f"{right} of {n} eigenvalues are uniform on the right half circle, {left} on the left")
print(f"measured share {F(at_one, n)} at 1 and {F(at_minus_one, n)} at −1, for all angles, against bound 0")
violated = premise and (at_one + at_minus_one > 0 or right != left)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
