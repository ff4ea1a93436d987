"""icml-D-nochaos-wpos (UnICORNN, ICML 2021, App. D): one layer, 0 < w < 1: no chaos when the input changes.

zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V xₙ + b) + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ; xₙ is the periodic input, or yₙ of the layer below.
Chaos: bounded orbits, the product Φ of the Jacobians grows exponentially (exponent λ > 0), and inputs that differ by
eps in x₁ alone lead to states over 10⁶ eps apart after N steps.
Cases: λ_N and separation
"""
from fractions import Fraction
from mpmath import log, mp, mpf, nstr, sqrt, tanh

CASE = "one neuron, 0 < w < 1, periodic input | λ_N and separation, N steps"
P = {"alpha": "1/100", "w": "37/50", "h": "49/100", "V": "1", "b": "0",
     "input": "271/50 271/50 271/50 271/50 271/50 271/50 -271/50 -271/50 -271/50 -271/50 -271/50 -271/50",
     "eps": "1/100000000000000000000", "steps": "726"}

mp.dps = 100 + int(P["steps"]) // 10
num = lambda name: [mpf(x.numerator) / x.denominator for x in map(Fraction, P[name].split())]
(alpha,), (eps,), u, N = num("alpha"), num("eps"), num("input"), int(P["steps"])
layers = list(zip(num("w"), num("h"), num("V"), num("b")))
X, Y = ([[mpf(0), mpf(0)] for _ in layers] for _ in range(2))  # (y, z) of every layer: the orbit and the changed one
Phi, size, radius = [[mpf(1), mpf(0)], [mpf(0), mpf(1)]], {}, 0
for n in range(1, N + 1):
    for orbit in (Y, X):
        below = u[(n - 1) % len(u)] + (eps if orbit is Y and n == 1 else 0)
        for state, (w, h, V, b) in zip(orbit, layers):
            s = tanh(w * state[0] + V * below + b)
            state[1] -= h * (s + alpha * state[0])
            state[0] += h * state[1]
            below, radius = state[0], max(radius, *map(abs, state))
    Phi[1] = [z - h * (alpha + w * (1 - s * s)) * y for y, z in zip(*Phi)]  # Φ ← B Φ, B of X in the top layer
    Phi[0] = [y + h * z for y, z in zip(*Phi)]
    size[n] = sqrt(sum(x * x for row in Phi for x in row))
apart, half, full = max(abs(p - q) for p, q in zip(X[-1], Y[-1])) / eps, log(size[N // 2]), log(size[N])
premise = N >= 100 and 0 < w < 1
print(f"premise 0 < w < 1, N = {N} >= 100: {premise}; all |y|, |z| <= {nstr(radius, 6)}")
print(f"measured separation/eps = {nstr(apart, 6)} against bound 10^6; rate {nstr(full / (N * h), 6)} against bound 0")
print(f"measured log|Phi| = {nstr(full, 6)} against 1.5 log|Phi(N/2)| = {nstr(1.5 * half, 6)} (if a power of N: 1.2)")
violated = premise and apart >= 10**6 and full > 0 and full >= 1.5 * half
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
