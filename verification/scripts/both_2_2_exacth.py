"""both-2.2-exactH (UnICORNN, both versions, Sec. 2.2): symplectic RNNs conserve the Hamiltonian exactly in time.

Constant input u, one neuron, scheme (5), h = dt/(1 + e⁻ᶜ): zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V u + b) + α yₙ₋₁), yₙ = yₙ₋₁ +
h zₙ; H = α y²/2 + z²/2 + log cosh(w y + V u + b)/w does not depend on time. Measured: H after the run less H before it.
Cases: constant input
"""
from fractions import Fraction
from mpmath import cosh, exp, log, mp, mpf, nstr, tanh

CASE = "constant input | H along (5)"
P = {"layers": "1", "neurons": "1", "skip": "0", "alpha": "1", "dt": "1/2", "c": "0", "w": "1", "b": "0", "V": "1",
     "u": "1 1", "Lambda": ""}

mp.dps = 60
row = lambda name: [mpf(x.numerator) / x.denominator for x in map(Fraction, P[name].split())]
alpha, dt, c, w, b, V = (row(name)[0] for name in ("alpha", "dt", "c", "w", "b", "V"))
u = row("u")  # at the times 0, 1, …, N
h, x = dt / (1 + exp(-c)), V * u[0] + b

def H(y, z):
    return alpha * y**2 / 2 + z**2 / 2 + log(cosh(w * y + x)) / w

y = z = mpf(0)
start = H(y, z)
for n in range(1, len(u)):
    z -= h * (tanh(w * y + x) + alpha * y)
    y += h * z
    print(f"n = {n}: y = {nstr(y, 12)}, z = {nstr(z, 12)}, H = {nstr(H(y, z), 15)}")
premise = P["layers"] == P["neurons"] == "1" and w != 0 and len(set(u)) == 1 and 0 < dt < 1
print(f"premise one neuron, w != 0, constant input, 0 < dt < 1: {'holds' if premise else 'fails'}")
print(f"measured |H_N - H_0| = {nstr(abs(H(y, z) - start), 15)} against bound 0")
violated = premise and abs(H(y, z) - start) > mpf(10) ** -40
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
