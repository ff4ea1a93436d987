"""sam-49-50-indices (sam (63)): |∂⁺z_k/∂θ| ≤ dt (1 + α|y_{k−1}| + max(|y_{k−1}|, |y^{l−1}_k|, 1)), for θ = V, L = 1.

(31): zₙ = zₙ₋₁ − h (tanh A + α yₙ₋₁), A = w yₙ₋₁ + V uₙ₋₁ + b, yₙ = yₙ₋₁ + h zₙ, h = dt/(1 + e⁻ᶜ), from 0. Measured:
∂⁺z_k/∂V = −h σ′(A) u_{k−1}, from the change of z_k when V moves at step k = N alone; in (63) y⁰_k = u_k.
Cases: .63.
"""
from fractions import Fraction
from mpmath import exp, mp, mpf, nstr, tanh

CASE = "L = 1 | (63) for θ = V, sam indices"
P = {"layers": "1", "neurons": "1", "skip": "0", "alpha": "1", "dt": "1/2", "c": "0", "w": "0", "b": "0", "V": "0",
     "u": "10 0", "Lambda": ""}

mp.dps, delta = 100, mpf(10) ** -40
row = lambda name: [mpf(x.numerator) / x.denominator for x in map(Fraction, P[name].split())]
alpha, dt, c, w, b, V = (row(name)[0] for name in ("alpha", "dt", "c", "w", "b", "V"))
u, h = row("u"), dt / (1 + exp(-c))  # u at the times 0, 1, …, N
k = len(u) - 1

def run(change):  # y_{k-1} and z_k, with V + change at step k
    y = z = mpf(0)
    for n in range(1, k + 1):
        before = y
        z -= h * (tanh(w * y + (V + (change if n == k else 0)) * u[n - 1] + b) + alpha * y)
        y += h * z
    return before, z

y = run(0)[0]
measured = abs(run(delta)[1] - run(-delta)[1]) / (2 * delta)
bound = dt * (1 + alpha * abs(y) + max(abs(y), abs(u[k]), 1))
premise = P["layers"] == P["neurons"] == "1" and 0 < dt < 1 and alpha >= 0
print(f"premise L = m = 1, 0 < dt < 1, alpha >= 0: {'holds' if premise else 'fails'}; u_(k-1) = {nstr(u[k - 1], 8)}")
print(f"measured |dz_k/dV| = {nstr(measured, 12)} against bound {nstr(bound, 12)}")
violated = premise and measured > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
