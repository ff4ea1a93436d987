"""both-3-novanish-ODE (UnICORNN, sam Sec. 3, icml Sec. 3): "the hidden state gradients of the ODE (2) do not vanish",
read as: (y_w, z_w) of (8) from (0, 0) does not tend to 0 as t → ∞, where pre-activations stay bounded.

y' = z, z' = −(tanh A + α y), A = w y + V u + b; (8), θ = w: y_w' = z_w, z_w' = −(α + w σ′(A)) y_w − σ′(A) y. The input
holds tanh A = s for 2π/√α, then A = 0 (any A can be held, u = (A − b − w y)/V). Measured, by RK4: what is left after
2π/√α, for ten times as long. Bound: 1/1000 of |y_w| at π/√α. √κ = r √α, κ = α + w (1 − s²), r whole: all is 0 then.
Cases: θ = w
"""
from fractions import Fraction
import numpy as np

CASE = "zero start, |A| ≤ a, t → ∞ | (y_θ, z_θ), θ = w"
P = {"alpha": "1", "s": "1/2", "r": "2", "w": "4"}

alpha, s, r, w = (Fraction(P[name]) for name in ("alpha", "s", "r", "w"))
violated = alpha > 0 and 0 < abs(s) < 1 and alpha + w * (1 - s**2) == r**2 * alpha and r.denominator == 1 and r >= 2
print(f"premise alpha > 0, 0 < |s| < 1, alpha + w (1 - s²) = r² alpha, r whole: {'holds' if violated else 'fails'}")
alpha, s, w, half, steps = float(alpha), float(s), float(w), np.pi / float(alpha) ** 0.5, 4000

def rate(x, force):  # of (y, z, y_w, z_w), where tanh A = force
    slope = 1 - force**2
    return np.array([x[1], -force - alpha * x[0], x[3], -(alpha + w * slope) * x[2] - slope * x[0]])

x, h, tops = np.zeros(4), half / steps, []
for force, count in ((s, 1), (s, 1), (0.0, 10)):  # half a period each
    top = 0.0
    for _ in range(count * steps):
        k1 = rate(x, force)
        k2 = rate(x + h / 2 * k1, force)
        k3 = rate(x + h / 2 * k2, force)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3, force))
        top = max(top, *abs(x[2:]))
    tops.append(top if force == 0 else abs(x[2]))
print(f"measured |y_w|, |z_w| <= {tops[2]:.3e} from 2π/√α on against bound |y_w(π/√α)|/1000 = {tops[0] / 1000:.3e}")
violated = violated and tops[2] < tops[0] / 1000
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
