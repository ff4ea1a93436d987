"""icml-(39) (UnICORNN, S(39)): ‖∂⁺X_k/∂θ‖_∞ ≤ dt Δ, X = (y, z), α > 0, dt ≪ 1, earlier states held fixed, with
Δ = 2 + √(2(1+2βT)) + (2+α)√((2/α)(1+2βT)), β = max{1+2α, 4α²}.

One neuron, m = 1, z_k = z − h (tanh(A) + α y), y_k = y + h z_k, h = σ̂ dt, (y, z) = X_{k−1}. θ = V: w, V, b = 0, input
u, at rest, A = V u. θ = w: w, b = 0, V = 1, inputs ±a in step with sin √α(T − t)σ̂, k = N. dt → 0: at dt, dt/2, dt/4.
Cases: ^icml
"""
from fractions import Fraction
from math import ceil
from mpmath import diff, exp, mp, mpf, nstr, sin, sign, sqrt, tanh

CASE = "icml S(39), θ = w | ‖∂X_k/∂θ‖_∞/dt"
P = {"alpha": "1/50", "T": "60", "dt": "1/10", "c": "10", "amplitude": "10"}

mp.dps = 40
p = {name: mpf(Fraction(text).numerator) / Fraction(text).denominator for name, text in P.items()}
alpha, T = p["alpha"], p["T"]
sigma = p["sigma"] if "sigma" in p else 1 / (1 + exp(-p["c"]))
beta = max(1 + 2 * alpha, 4 * alpha**2)
steps = ceil(Fraction(P["T"]) / Fraction(P["dt"]))  # N of dt = T/N
violated = alpha > 0 and T < steps and 0 < sigma < 1
print(f"premise alpha = {nstr(alpha)} > 0, 0 < dt = T/{steps} < 1, 0 < sigma < 1: {'holds' if violated else 'fails'}")
bound = 2 + sqrt(2 * (1 + 2 * beta * T)) + (2 + alpha) * sqrt(2 / alpha * (1 + 2 * beta * T))
for N in [steps * 2**i for i in range(3)]:
    dt, h, y, z, u = T / N, sigma * T / N, mpf(0), mpf(0), p.get("u")
    for n in range(1, N if u is None else 1):  # θ = w: the steps 1, ..., N − 1 with w = 0
        z -= h * (tanh(p["amplitude"] * sign(sin((N - n) * h * sqrt(alpha)))) + alpha * y)
        y += h * z
    # one more step: ∂⁺z_k/∂θ by differentiation (θ = w: input 0 at the step N), and ∂⁺y_k/∂θ = h ∂⁺z_k/∂θ
    dz = abs(diff(lambda theta: z - h * (tanh(theta * (y if u is None else u)) + alpha * y), 0))
    measured = max(dz, h * dz) / dt
    print(f"dt = {nstr(dt, 6)}: measured |dX_k/dtheta|/dt = {nstr(measured, 10)}, bound Delta = {nstr(bound, 10)}")
    violated = violated and measured > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
