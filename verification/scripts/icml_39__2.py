"""icml-(39) (UnICORNN, S(39)), θ = V¹, any input: ‖∂⁺X_k/∂θ‖_∞ ≤ dt Δ, X = (y, z), α > 0, earlier states held
fixed, Δ = 2 + √(2(1+2βT)) + (2+α)√((2/α)(1+2βT)), β = max{1+2α, 4α²}.

A printed network, its dt, α and T = N dt. One neuron with c = 0 (σ̂ = 1/2), w = b = 0 and V = 0, which App. A may draw,
at rest: y, z = 0 whatever the input u is, and the next step is z_k = z − h (tanh(V u) + α y), y_k = y + h z_k, h = σ̂ dt.
Measured: the larger of |∂⁺z_k/∂V| and |∂⁺y_k/∂V| over dt, by differentiation.
Cases: range
"""
from fractions import Fraction
from mpmath import diff, mp, mpf, nstr, sqrt, tanh

CASE = "printed nCIFAR, the initialisation's range, any inputs | ‖∂X_k/∂θ‖_∞/dt"
P = {"alpha": "13", "dt": "63/500", "T": "126", "sigma": "1/2", "u": "6100"}

mp.dps, F = 40, {name: Fraction(text) for name, text in P.items()}
alpha, dt, T, sigma, u = (mpf(F[x].numerator) / F[x].denominator for x in "alpha dt T sigma u".split())
name = CASE.split(",")[0].removeprefix("printed ")
row = list(map(Fraction, {"nCIFAR": "13 0.126 1000", "psMNIST-128": "12.53 0.482 784", "psMNIST-256": "30.65 0.19 784",
                          "RR": "9 0.011 4000", "HR": "10 0.046 4000"}[name].split()))  # alpha, dt of Table 6, N
premise = row == [F["alpha"], F["dt"], F["T"] / F["dt"]] and F["sigma"] == Fraction(1, 2)
print(f"premise alpha, dt, T = N dt are those of {name} in Table 6, c = 0: {'holds' if premise else 'fails'}")
h, y, z = sigma * dt, mpf(0), mpf(0)
dz = abs(diff(lambda V: z - h * (tanh(V * u) + alpha * y), 0))
measured, root = max(dz, h * dz) / dt, 2 * (1 + 2 * max(1 + 2 * alpha, 4 * alpha**2) * T)
bound = 2 + sqrt(root) + (2 + alpha) * sqrt(root / alpha)
print(f"measured ‖dX_k/dV‖/dt = {nstr(measured, 12)} against bound Delta = {nstr(bound, 12)}")
violated = premise and measured > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
