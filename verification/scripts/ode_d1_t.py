"""ode-D1-t (Section 1, Section 2.1): t coupled variables represent an ODE of order t: for t = 2 the first variable x
of a system obeys x'' = F(x, x') for some function F.

System x' = y^k, y' = 1, so x'' = k y^(k-1). Two states with the same x (here 0) and the same x' have the same x'' if
there is an F. Measured: the distance of the two x''. Bound: 0.
"""
from fractions import Fraction as F

CASE = "t = 2 coupled variables | x'' = F(x, x') for the first variable"
P = {"k": "2", "y": "1 -1"}

k, y = int(P["k"]), [F(value) for value in P["y"].split()]
states = []
for value in y:
    x, rate = F(0), F(1)  # y' = 1
    first = value**k
    second = k * value ** (k - 1) * rate  # chain rule
    states.append((x, first, second))
    print(f"y = {value}: x = {x}, x' = {first}, x'' = {second}")
premise = states[0][:2] == states[1][:2]
print("premise same x and x':", "holds" if premise else "fails")
measured = abs(states[0][2] - states[1][2])
print(f"measured |x''_1 - x''_2| = {measured} against bound 0")
violated = premise and measured > 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
