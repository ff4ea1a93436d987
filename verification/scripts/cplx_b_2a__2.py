"""cplx-B.2a (complexity App. B.2): the usual LSTM is the multidimensional one with the other forget gates 0; here with
a real number b as the bias of such a gate, its matrices 0.

c_v = i z + Σ_u f_u c_u: the two cells differ by f_extra c_extra, f_extra = σ(b) = 1/(1 + e^−b). Measured: that
distance. Bound: 0.
Cases: real number
"""
from fractions import Fraction
from mpmath import exp, mp, mpf, nstr

CASE = "bias of the extra forget gate a real number | distance of c_v, exactly 0"
P = {"b": "-100", "c_extra": "1"}

mp.dps = 50
b, c_extra = (mpf(Fraction(P[x]).numerator) / Fraction(P[x]).denominator for x in P)
gate = 1 / (1 + exp(-b))
print(f"premise b = {nstr(b, 10)} is a number; the forget gate is σ(b) = {nstr(gate, 15)}, 0 for no b")
print(f"measured |c − c_usual| = σ(b) |c_extra| = {nstr(gate * abs(c_extra), 15)} against bound 0")
violated = gate * abs(c_extra) > 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
