"""both-5-no-assumptions (both versions, Discussion): without any assumption on the weights gradients do not explode: no
exponential growth of |dE/db| with the number of steps, at most that of T³ (icml after (12)).

One neuron, h = dt/2 (c = 0), zero input and states: y = 0, σ′ = 1, so (p, q) = ∂(y, z)/∂b follows q′ = q − h (κ p + 1),
p′ = p + h q′, κ = α + w; E = (1/N) Σ (yₙ − 1)²/2, dE/db = −(1/N) Σ pₙ, exactly; B = [[1 − h²κ, h], [−hκ, 1]].
Cases: dE/db
"""
from fractions import Fraction as F
from math import acosh, log

CASE = "w = −201, dt fixed, N → ∞ | |dE/db|"
P = {"alpha": "1", "w": "-201", "dt": "1/10", "steps": "40"}

alpha, w, h, N = F(P["alpha"]), F(P["w"]), F(P["dt"]) / 2, int(P["steps"])

def gradient(N):
    p, q, total = F(0), F(0), F(0)
    for n in range(N):
        q -= h * ((alpha + w) * p + 1)
        p += h * q
        total -= p
    return abs(total / N)

size = lambda x: log(x.numerator) - log(x.denominator)
trace, logs = 2 - h * h * (alpha + w), [size(gradient(N * 2**i)) for i in range(4)]
print(f"trace B = {trace}, det B = 1: the larger eigenvalue is e^{acosh(max(1, trace / 2)):.6g}")
for i in range(3):
    slope, rate = (logs[i + 1] - logs[i]) / log(2), (logs[i + 1] - logs[i]) / (N * 2**i)
    print(f"N = {N * 2**i}, {N * 2**(i + 1)}: measured slope {slope:.6g} in T against bound 3; {rate:.6g} a step")
    violated = slope > 3 and rate > acosh(trace / 2) / 2 if trace > 2 else False
    if not violated:
        break
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
