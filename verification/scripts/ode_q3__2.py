"""ode-Q3 (Section 3.2, (35)): in ResNet form, α = 1, parameters keep a layer of the QUNN stable: |W z| <= |z|, all z.

W = α I + β x_l x_{l-1}ᵀ (x) Π, one data dimension (d = 1), a block of length T = 1, so that Π exchanges the two clock
states; x_l = x_{l-1} = x, σ = id. Measured: |W z|² / |z|² at z = (1, ±1), an eigenvector of W. Bound: 1.
Cases: one layer
"""
from fractions import Fraction as F

CASE = "ResNet form, α = 1, one layer | ‖W z‖ ≤ ‖z‖"
P = {"beta": "1", "x": "1"}

alpha, beta, x = F(1), F(P["beta"]), F(P["x"])
r = beta * x * x
W = [[alpha, r], [r, alpha]]
measured = F(0)
for sign in (1, -1):
    z = [1, sign]
    after = [sum(w * e for w, e in zip(row, z)) for row in W]
    growth = F(sum(e * e for e in after), sum(e * e for e in z))
    print(f"z = ({z[0]}, {z[1]}): W z = ({after[0]}, {after[1]}), |W z|² / |z|² = {growth}")
    measured = max(measured, growth)
print(f"measured |W z|² / |z|² = {measured} against bound 1")
violated = measured > 1
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
