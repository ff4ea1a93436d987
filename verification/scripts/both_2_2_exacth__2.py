"""both-2.2-exactH (UnICORNN, both versions, Sec. 2.2): a symplectic RNN conserves its Hamiltonian exactly, at all times;
tried for leapfrog, the integrator of symplectic recurrent networks, and H = z²/2 + y⁴/4, which does not depend on time.

A step: z½ = z − (h/2) y³, y₊ = y + h z½, z₊ = z½ − (h/2) y₊³. Measured: H after the steps less H before.
Cases: leapfrog
"""
from fractions import Fraction

CASE = "leapfrog, H = z²/2 + y^4/4 | H along the steps"
P = {"h": "1/2", "y": "1", "z": "0", "steps": "1"}

h, y, z, steps = (Fraction(P[name]) for name in ("h", "y", "z", "steps"))

def H(y, z):
    return z**2 / 2 + y**4 / 4

start = H(y, z)
print(f"start: y = {float(y):.12g}, z = {float(z):.12g}, H = {float(start):.15g}")
for n in range(1, int(steps) + 1):
    z -= h / 2 * y**3
    y += h * z
    z -= h / 2 * y**3
    print(f"n = {n}: y = {float(y):.12g}, z = {float(z):.12g}, H = {float(H(y, z)):.15g}")
premise = 0 < h < 1 and steps.denominator == 1
print(f"premise 0 < h = {h} < 1: {'holds' if premise else 'fails'}")
print(f"measured |H_N - H_0| = {float(abs(H(y, z) - start)):.15g}, in fractions, against bound 0")
violated = premise and H(y, z) != start
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
