"""ode-T3-mid (proof of Theorem 3, "mid-point" read as the explicit midpoint rule): the rule is reversible: on y' = λ
y, z = η λ, one step and the step with -z are inverse, R(z) R(-z) = 1.

Step y₊ = y + η f(y + η f(y)/2) from y = 1: y₊ = R(z). Measured: R(z) R(-z). Bound: 1, to which it is to be equal.
"""
from fractions import Fraction as F

CASE = "explicit midpoint | R(z) R(−z) = 1"
P = {"z": "1"}

z = F(P["z"])

def step(y, z):
    half = y + z * y / 2
    return y + z * half

there = step(F(1), z)
back = step(there, -z)
print(f"z = {z}: y = 1 goes to R(z) = {there}, and with -z back to {back}")
print(f"measured R(z) R(-z) = {back} against bound 1 (R(z) R(-z) = 1 + z^4/4 = {1 + z**4 / 4})")
violated = back != 1
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
