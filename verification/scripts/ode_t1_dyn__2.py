"""ode-T1-dyn (Theorem 1 with coefficients that depend on the state, as the gates of Claim 1 do): if M and the B_i are
positive semi-definite at every state, a step does not move two solutions apart, for all monotone f and eta > 0.

One stage and one component, with the gate B(y) = g relu(y) >= 0 and A(y) = B(y)/2 (implicit midpoint rule): Y = y +
A(y) f(Y), y₊ = y + B(y) f(Y), eta = 1, M(y) = B A + A B - B B = 0. The field f(Y) = relu(c - Y) is monotone.
Measured: |Δy₊| for the states u and v. Bound: |Δy| = |u - v|.
Cases: ^class .c
"""
from fractions import Fraction as F

CASE = "class (c): coefficients gated by the state | |Δy₊| ≤ |Δy|, gate relu(y)"
P = {"g": "1", "c": "10", "u": "0", "v": "1"}

g, c, u, v = (F(P[name]) for name in ("g", "c", "u", "v"))
f, premise, after = lambda x: max(c - x, F(0)), g >= 0, []
for y in (u, v):
    B = g * max(y, F(0))
    A = B / 2
    M = B * A + A * B - B * B
    Y = (y + A * c) / (1 + A) if y < c else y  # solves Y = y + A f(Y), the only one: f does not increase
    premise = premise and M == 0 and B >= 0 and Y == y + A * f(Y)
    after.append(y + B * f(Y))
    print(f"y = {y}: premise M = {M} >= 0 and B = {B} >= 0; Y = {Y}, y₊ = {after[-1]}")
print(f"premise (p-q)(f(p)-f(q)) <= 0: f(Y) = relu({c} - Y) does not increase")
measured, bound = abs(after[0] - after[1]), abs(u - v)
print(f"measured |Δy₊| = {measured} against bound |Δy| = {bound}")
violated = premise and measured > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
