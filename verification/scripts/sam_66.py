"""sam-66 (UnICORNN, (66)): ‖∂⁺X_k/∂θ‖_∞ ≤ dt Δ, X = (y, z), α > 0, dt < 1, earlier states held fixed, with
Δ = 2 + √(2mT Q) e^{ᾱT} + (2+α)√(2mT/α) Q e^{ᾱT}, Q = 1 + 2α dt³, ᾱ = 96^{1/4} max{1, √α}.

θ = V¹, any input u. One neuron, m = 1, w, V, b = 0, rests: y, z = 0 whatever the input is, and the next step is
z_k = z − h (tanh(V u) + α y), y_k = y + h z_k, h = σ̂ dt, T = N dt.
Measured: the larger of |∂⁺z_k/∂V| and |∂⁺y_k/∂V| over dt, by differentiation.
"""
from fractions import Fraction
from mpmath import diff, exp, mp, mpf, nstr, root, sqrt, tanh

CASE = "sam (66), θ = V^1 | ‖∂X_k/∂θ‖_∞/dt"
P = {"alpha": "1", "dt": "1/10", "T": "1", "sigma": "1/2", "u": "1000"}

mp.dps, F = 40, {name: Fraction(text) for name, text in P.items()}
alpha, dt, T, sigma, u = (mpf(F[x].numerator) / F[x].denominator for x in "alpha dt T sigma u".split())
whole = (F["T"] / F["dt"]).denominator == 1
premise = alpha > 0 and 0 < dt < 1 and 0 < sigma < 1 and whole
print(f"premise alpha > 0, 0 < dt < 1, 0 < sigma < 1, T = N dt, N = {F['T'] / F['dt']}: {'holds' if premise else 'fails'}")
h, y, z = sigma * dt, mpf(0), mpf(0)
dz = abs(diff(lambda V: z - h * (tanh(V * u) + alpha * y), 0))
measured, Q, growth = max(dz, h * dz) / dt, 1 + 2 * alpha * dt**3, exp(root(96, 4) * max(1, sqrt(alpha)) * T)
bound = 2 + sqrt(2 * T * Q) * growth + (2 + alpha) * sqrt(2 * T / alpha) * Q * growth
print(f"measured ‖dX_k/dV‖/dt = {nstr(measured, 12)} against bound Delta = {nstr(bound, 12)}")
violated = premise and measured > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
