"""both-2.1-frequency (UnICORNN, both versions, Sec. 2.1): each oscillator y″ = −(σ(w y + V u + b) + α y) is determined
by the frequency α.

No input, b = 0: near y = 0 the oscillator is x′ = M x with M = [[0, 1], [−(α + w), 0]], x = (y, z). Its eigenvalues are
±iω; measured is ω, and the same from the time between two zeros of y (fourth-order Runge-Kutta, y(0) = 0, small z(0)).
"""
import re
from math import pi, tanh
from fractions import Fraction
from mpmath import eig, matrix, mp, mpf, nstr

CASE = "w = 0, no input | angular frequency"
P = {"alpha": "4"}

mp.dps = 50
alpha, w = Fraction(P["alpha"]), Fraction(re.search(r"w = (\S+),", CASE)[1])
kappa = mpf((alpha + w).numerator) / (alpha + w).denominator
values = eig(matrix([[0, 1], [-kappa, 0]]))[0]
omega, claimed = max(v.imag for v in values), mpf(alpha.numerator) / alpha.denominator

f = lambda y, z: (z, -(tanh(float(w) * y) + float(alpha) * y))
dt, t, y, z = 1e-3 / max(1e-9, abs(float(kappa))) ** 0.5, 0.0, 0.0, 1e-3
while t == 0 or (y > 0 and t < 1e4 * dt):
    k1 = f(y, z)
    k2 = f(y + dt / 2 * k1[0], z + dt / 2 * k1[1])
    k3 = f(y + dt / 2 * k2[0], z + dt / 2 * k2[1])
    k4 = f(y + dt * k3[0], z + dt * k3[1])
    y, z = (x + dt / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip((y, z), k1, k2, k3, k4))
    t += dt
seen = pi / (t - y / z)
print(f"premise alpha > 0, alpha + w > 0, so that it oscillates: {'holds' if alpha > 0 and kappa > 0 else 'fails'}")
print(f"measured angular frequency {nstr(omega, 12)} (from the motion {seen:.8g}), bound: it equals alpha = {alpha}")
violated = alpha > 0 and kappa > 0 and abs(omega - claimed) > mpf(10) ** -20
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
