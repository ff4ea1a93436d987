"""both-63-65 (UnICORNN, sam (63) with the recursion (31) of sam): direct partials, earlier states held fixed, satisfy
|∂⁺z_k/∂θ| ≤ dt (1 + α|y_{k−1}| + max(|y_{k−1}|, |y^{l−1}_k|, 1)); dt < 1.

(31): z_k = z_{k−1} − h tanh(w y_{k−1} + V y^{l−1}_{k−1} + b) − α h y_{k−1}, h = σ̂ dt: step k sees the layer below at
k − 1, not at k. θ = V, layer l = 1, y^0 = u, a neuron at rest (w = V = b = 0, y = z = 0): ∂⁺z_k/∂V = −h σ′(0) u_{k−1}.
P: u_{k−1} ("before"), u_k ("now"), σ̂ ("sigma").
"""
from fractions import Fraction as F
from mpmath import diff, mpf, tanh

CASE = "indices of sam | |∂z_k/∂V^1|"
P = {"dt": "1/2", "sigma": "1/2", "before": "17/2", "now": "1/2"}

dt, sigma, u_before, u_now = (F(P[name]) for name in ("dt", "sigma", "before", "now"))
y = 0  # y_{k−1}, for which α does not matter
h = sigma * dt
measured = h * abs(u_before)  # σ′(0) = 1
bound = dt * (1 + abs(y) + max(abs(y), abs(u_now), 1))
check = diff(lambda V: -float(h) * tanh(V * float(u_before)), mpf(0))
premise = 0 < dt < 1 and 0 < sigma < 1
print(f"premise 0 < dt = {dt} < 1, 0 < sigma hat = {sigma} < 1: {'holds' if premise else 'fails'}")
print(f"measured |dz_k/dV| = h |u_(k-1)| = {measured} = {float(measured):.6g} (by differences {float(check):.6g})")
print(f"bound dt (1 + max(|u_k|, 1)) = {bound} = {float(bound):.6g}")
violated = premise and measured > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
