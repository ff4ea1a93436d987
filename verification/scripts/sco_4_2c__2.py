"""sco-4.2c (scoRNN Sec. 5.1): with ρ = n/2 entries −1 in D the initial spectrum of W = C(A) D is uniform on |z| = 1;
tried for D at random, which the paper does not say.

A has blocks [0 s_j; −s_j 0], s_j = tan(t_j/2), t_j ~ U[0, π/2]; C(A) = (I + A)⁻¹(I − A). All D with n/2 entries −1 in
turn. Measured: the share of eigenvalues that are 1, or −1, whatever the angles are: n/(4(n − 1)) each. Bound: 0.
Cases: at random
"""
from fractions import Fraction as F
from itertools import combinations

CASE = "ρ = n/2 at random, n = 8 | law of the eigenvalues of W"
P = {"n": "8"}
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

n = int(P["n"])
chosen = list(combinations(range(n), n // 2))
counts = [law([-1 if place in subset else 1 for place in range(n)]) for subset in chosen]
at_one, at_minus_one = (F(sum(c[k] for c in counts), n * len(chosen)) for k in (2, 3))
premise = n > 0 and n % 2 == 0
print(f"premise n = {n} even: {'holds' if premise else 'fails'}; {len(chosen)} choices of D")
print(f"measured shares {at_one} at 1 and {at_minus_one} at −1 against bound 0")
violated = premise and at_one + at_minus_one > 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
