"""ode-C2 (Claim 2 with constant coefficients): for every GRU there is an ODERNN with the same states, whose A_ij, B_i
are constant and whose functions have bounded slopes (tanh, logistic function, relu, identity).

Such a step has a bounded slope in the state, whatever n and t are: |Δy₊| <= C |Δy|. The GRU (24)-(25) has two units;
the update gate of the second reads the first, z = σ̂(h_1), all other weights 0: h₊ = z h + (1 - z) tanh(0). Measured:
|Δh₊_2| / |Δh_1| between the two h_1 of P at h_2 = 1, 10, 100, ...; it grows by 10 each time (margin 5). Bound: a
constant C, ratio 1.
Cases: bounded slopes
"""
from fractions import Fraction as F
from mpmath import exp, mp, mpf, nstr, tanh

CASE = "constant coefficients, functions with bounded slopes, any n and t | an ODERNN with the states of a GRU"
P = {"h": "1 0"}

mp.dps = 50
one, other = (mpf(x.numerator) / x.denominator for x in map(F, P["h"].split()))
logistic = lambda x: 1 / (1 + exp(-x))

def gru(h1, h2):
    z1, z2, r, q = logistic(0), logistic(h1), logistic(0), 0
    new = tanh(r * q)
    return z1 * h1 + (1 - z1) * new, z2 * h2 + (1 - z2) * new

slopes = []
print(f"premise the two h_1, {nstr(one)} and {nstr(other)}, differ: {'holds' if one != other else 'fails'}")
for e in range(7):
    h2 = mpf(10) ** e
    slopes.append(abs(gru(one, h2)[1] - gru(other, h2)[1]) / (abs(one - other) or 1))
    print(f"h_2 = 10^{e}: |Δh₊_2| / |Δh_1| = {nstr(slopes[-1], 10)}")
ratios = [b / a if a else mpf(1) for a, b in zip(slopes, slopes[1:])]
print("measured ratios", *(nstr(r, 6) for r in ratios), "against bound 1 for large h_2 (margin 5)")
violated = one != other and min(ratios) > 5
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
