"""ode-C1 (Claim 1 with constant coefficients): for every LSTM there is an ODERNN with the same states, whose A_ij, B_i
are constant and whose functions have bounded slopes (tanh, logistic function, relu, identity).

Such a step has a bounded slope in the state, whatever n and t are: |Δy₊| <= C |Δy|. The LSTM (15)-(18) has f = σ̂(h)
(weight 1 on h), all other weights 0: c₊ = f c + i g, g = tanh(0) = 0. Measured: |Δc₊| / |Δh| between the two h of P at
c = 1, 10, 100, ...; it grows by 10 each time (margin 5). Bound: some constant C, ratio 1.
Cases: bounded slopes
"""
from fractions import Fraction as F
from mpmath import exp, mp, mpf, nstr, tanh

CASE = "constant coefficients, functions with bounded slopes, any n and t | an ODERNN with the states of an LSTM"
P = {"h": "1 0"}

mp.dps = 50
one, other = (mpf(x.numerator) / x.denominator for x in map(F, P["h"].split()))
logistic = lambda x: 1 / (1 + exp(-x))

def lstm(h, c):  # the forget gate reads h, the others read nothing
    i, f, o, g = logistic(0), logistic(h), logistic(0), tanh(0)
    c = f * c + i * g
    return o * tanh(c), c

slopes = []
print(f"premise the two h, {nstr(one)} and {nstr(other)}, differ: {'holds' if one != other else 'fails'}")
for e in range(7):
    c = mpf(10) ** e
    slopes.append(abs(lstm(one, c)[1] - lstm(other, c)[1]) / (abs(one - other) or 1))
    print(f"c = 10^{e}: |Δc₊| / |Δh| = {nstr(slopes[-1], 10)}")
ratios = [b / a if a else mpf(1) for a, b in zip(slopes, slopes[1:])]
print("measured ratios", *(nstr(r, 6) for r in ratios), "against bound 1 for large c (margin 5)")
violated = one != other and min(ratios) > 5
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
