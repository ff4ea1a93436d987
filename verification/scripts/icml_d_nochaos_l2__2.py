"""icml-D-nochaos-L2 (UnICORNN, ICML 2021, App. D): 2 layers, constant input: no chaos when the input changes.

Zero input and bias: each layer rests at 0, its Jacobian is B = [[1 − h²(α + w), h], [−h(α + w), 1]] at every step.
det B = 1, so if |tr B| > 2 the exponent is λ = acosh(|tr B|/2)/h > 0 for all time. A saddle is counted as chaos here.
Cases: λ at a saddle
"""
from fractions import Fraction as F
from mpmath import acosh, mp, mpf, nstr, tanh

CASE = "two layers, constant input | λ at a saddle, all time"
P = {"alpha": "0", "w": "-15 -15", "h": "1/4 1/4", "V": "1 1", "b": "0 0", "input": "0",
     "eps": "1/100000000000000000000", "steps": "100"}

mp.dps = 60
row = lambda name: [F(x) for x in P[name].split()]
real = lambda x: mpf(x.numerator) / x.denominator
alpha, eps, N, w, h, V = F(P["alpha"]), F(P["eps"]), int(P["steps"]), row("w"), row("h"), row("V")
rests = not any(row("b")) and set(row("input")) == {0}
B = [[1 - h[-1] ** 2 * (alpha + w[-1]), h[-1]], [-h[-1] * (alpha + w[-1]), F(1)]]
trace = B[0][0] + B[1][1]
rate = acosh(real(abs(trace)) / 2) / real(h[-1]) if abs(trace) > 2 else mpf(0)
y, z = ([mpf(0)] * len(w) for _ in range(2))  # the orbit with x_1 = eps; the other one stays at 0
for n in range(1, N + 1):
    below = real(eps) if n == 1 else 0
    for q in range(len(w)):
        s = tanh(real(w[q]) * y[q] + real(V[q]) * below)
        z[q] -= real(h[q]) * (s + real(alpha) * y[q])
        y[q] += real(h[q]) * z[q]
        below = y[q]
apart = max(abs(y[-1]), abs(z[-1])) / real(eps)
print(f"premise zero input and bias, so that every layer rests at 0: {'holds' if rests else 'fails'}")
print(f"measured trace B = {trace}, exponent {nstr(rate, 10)} against bound 0, for all time")
print(f"measured separation/eps = {nstr(apart, 6)} against bound 10^6 after {N} steps")
violated = rests and rate > 0 and apart >= 10**6
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
