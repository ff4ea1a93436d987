"""ode-T1-diff (Definition 2 read literally, Theorem 1): if M >= 0, B_i >= 0 and y f(y) <= 0 for all y (the variable
and the function themselves, not differences), a step does not move two solutions apart.

Implicit midpoint rule, eta = 1 (A = 1/2, B = 1, M = BA + AB - BB = 0): Y = y + f(Y)/2, y₊ = y + f(Y) = Y + f(Y)/2.
Field f(y) = -y (y - c)^2, so y f(y) = -(y (y - c))^2 <= 0. Two solutions with the stages Y = Y_1, Y_2 start at y = Y -
f(Y)/2. Measured: |Δy₊|. Bound: |Δy|.
"""
from fractions import Fraction as F

CASE = "implicit midpoint, y f(y) ≤ 0 | |Δy₊| ≤ |Δy|"
P = {"c": "2", "Y": "1/2 1"}

c, Y = F(P["c"]), [F(x) for x in P["Y"].split()]
f = lambda y: -y * (y - c) ** 2
A, B = F(1, 2), F(1)
M = 2 * B * A - B * B
y = [s - A * f(s) for s in Y]
after = [a + B * f(s) for a, s in zip(y, Y)]
# Y - f(Y)/2 is increasing, so each y has one stage: its derivative 1 + (3 Y^2 - 4 c Y + c^2)/2 has no real root
discriminant = 16 * c**2 - 12 * (c**2 + 2)
premise = M >= 0 and B >= 0 and discriminant < 0 and all(s * f(s) <= 0 for s in Y)
print(f"premise M = {M} >= 0, B = {B} >= 0; Y f(Y) = {', '.join(str(s * f(s)) for s in Y)} <= 0")
print(f"premise one solution of the stage equation: discriminant {discriminant} < 0")
print(f"y = {y[0]}, {y[1]} go to y₊ = {after[0]}, {after[1]}")
measured, bound = abs(after[0] - after[1]), abs(y[0] - y[1])
print(f"measured |Δy₊| = {measured} against bound |Δy| = {bound}")
violated = premise and measured > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
