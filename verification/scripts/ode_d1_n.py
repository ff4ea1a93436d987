"""ode-D1-n (Section 1, Definition 1): an n-stage Runge-Kutta step has "n-th order temporal non-linearity": on fields f
of degree q one explicit step is a polynomial in y of degree n (read literally), or of degree qⁿ for every table.

k_i = f(y + Σ_{j<i} a_ij k_j), y₊ = y + Σ b_i k_i (eta = 1); polynomials, P["f"] too, as lists of coefficients, that of
y⁰ first. Measured: the degree of y₊ in y. Bound: n or qⁿ, to which it is to be equal.
"""
from fractions import Fraction as F

CASE = "a_{i+1,i} ≠ 0 for all i, b_n ≠ 0 | degree n"
P = {"a": "0", "b": "1", "f": "0 0 1"}

flat, b, f = ([F(x) for x in P[name].split()] for name in "abf")
n, q = len(b), max(e for e, x in enumerate(f) if x)
a = [flat[n * i:n * (i + 1)] for i in range(n)]

def times(p, r):
    return [sum(p[i] * r[e - i] for i in range(len(p)) if 0 <= e - i < len(r)) for e in range(len(p) + len(r) - 1)]

def plus(p, r):
    size = max(len(p), len(r))
    return [x + y for x, y in zip(p + [F(0)] * (size - len(p)), r + [F(0)] * (size - len(r)))]

k = []
for row in [*a, b]:  # the last row gives y₊
    Y = [F(0), F(1)]
    for weight, slope in zip(row, k):
        Y = plus(Y, times([weight], slope))
    value = [F(0)]
    for x in reversed(f):  # f(Y) by Horner's rule
        value = plus(times(value, Y), [x])
    k.append(value)
measured = max(e for e, x in enumerate(Y) if x)
claimed = n if CASE.endswith("degree n") else q**n
chained = "b_n ≠ 0" not in CASE or (b[-1] != 0 and all(a[i + 1][i] for i in range(n - 1)))
print(f"premise: explicit table, in the chain case a_(i+1,i) ≠ 0, b_n ≠ 0: {'holds' if chained else 'fails'}")
print(f"measured degree of y₊ = {measured} against {claimed} ({n} stages, f of degree {q})")
violated = chained and measured != claimed
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
