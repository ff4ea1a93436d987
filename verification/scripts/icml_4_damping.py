"""icml-4-damping (UnICORNN, ICML 2021, Sec. 4): α is the damping parameter, so that free oscillations lose amplitude.

One neuron, w = 0, no input. ODE (1): x′ = M x, M = [[0, 1], [−α, 0]], x = (y, z); it decays if Re λ < 0 for the
eigenvalues. Scheme (5): xₙ = B xₙ₋₁, B = [[1 − h²α, h], [−hα, 1]]; it decays if |λ| < 1. Complex pair (trace² < 4 det):
Re λ = trace/2 and |λ|² = det.
"""
from fractions import Fraction as F

CASE = "free oscillations | decay, ODE (1)"
P = {"alpha": "1", "h": "1/4"}

alpha, h = F(P["alpha"]), F(P["h"])
M = [[F(0), F(1)], [-alpha, F(0)]] if "ODE" in CASE else [[1 - h * h * alpha, h], [-h * alpha, F(1)]]
trace, det = M[0][0] + M[1][1], M[0][0] * M[1][1] - M[0][1] * M[1][0]
oscillates = trace**2 < 4 * det
print(f"premise alpha = {alpha} > 0 and complex eigenvalues (trace^2 = {trace**2} < 4 det = {4 * det}): {oscillates}")
if "ODE" in CASE:
    print(f"measured Re lambda = {trace / 2} against bound: < 0")
    violated = alpha > 0 and oscillates and trace >= 0
else:
    y, z = F(1), F(0)
    for n in range(100):  # an invariant of the scheme: its level line is an ellipse
        z -= h * alpha * y
        y += h * z
    kept = alpha * y * y + z * z - h * alpha * y * z
    print(f"measured |lambda|^2 = {det} against bound: < 1")
    print(f"alpha y^2 + z^2 - h alpha y z: {alpha} at n = 0, {kept} after 100 steps")
    violated = alpha > 0 and oscillates and det >= 1
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
