"""sco-4.2a (scoRNN Sec. 4.2): with t_j ~ U[0, π/2] the eigenvalues of the initial C(A) are uniform on the right half of
|z| = 1; here for an odd n, that of the TIMIT experiment.

A has blocks [0 s_j; −s_j 0], s_j = tan(t_j/2), and for odd n a last 0; C(A) = (I + A)⁻¹(I − A), D = I in P. Counted
from the characteristic polynomials of the blocks at two angles. Measured: the share of eigenvalues that are 1 whatever
the angles are. Bound: 0, as a uniform law has no point of positive probability.
Cases: n odd
"""
from fractions import Fraction as F

CASE = "n odd, n = 425 (TIMIT) | law of the eigenvalues of C(A)"
P = {"D": " ".join(["1"] * 425)}

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
right, left, at_one, at_minus_one = law(D)
premise = set(D) == {1} and all(block(F(s, 7), 1, 1)[0] == 1 for s in range(8))
print(f"premise D = I, n = {len(D)}: {'holds' if premise else 'fails'}")
print(f"{right} of {len(D)} eigenvalues are uniform on the right half circle, {left} on the left, {at_minus_one} at −1")
print(f"measured share at 1: {F(at_one, len(D))}, for all angles, against bound 0")
violated = premise and at_one > 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
