"""cplx-B.2a (complexity App. B.2): the usual LSTM is a special case of the multidimensional one, whose other forget
gates are 0. As printed the latter has h_v = o c_v, and c_v = i z + Σ_u f_u c_u; the usual one has h = o tanh(c).

One unit: P has the pre-activations of z (tanh), i, o, f (logistic function σ), the cell c that f keeps, another cell
c_extra and the value f_extra of its forget gate. Measured: |h of B.2 − h of the usual LSTM|. Bound: 0.
Cases: usual LSTM with
"""
from fractions import Fraction
from mpmath import exp, mp, mpf, nstr, tanh

CASE = "B.2 with h = o c, usual LSTM with h = o tanh(c) | distance of h_v, exactly 0"
P = {"z": "0", "i": "0", "o": "0", "f": "0", "c": "1", "c_extra": "0", "f_extra": "0"}

mp.dps = 50
z, i, o, f, c, c_extra, f_extra = (mpf(Fraction(P[x]).numerator) / Fraction(P[x]).denominator for x in P)
sigma = lambda x: 1 / (1 + exp(-x))

ours = sigma(i) * tanh(z) + sigma(f) * c + f_extra * c_extra  # c_v of B.2
usual = sigma(i) * tanh(z) + sigma(f) * c
h, h_usual = sigma(o) * ours, sigma(o) * tanh(usual)
print(f"premise the other forget gate is 0: {'holds' if f_extra == 0 else 'fails'}")
print(f"c of B.2 = {nstr(ours, 15)}, c of the usual LSTM = {nstr(usual, 15)}")
print(f"measured |h − h_usual| = |{nstr(h, 15)} − {nstr(h_usual, 15)}| = {nstr(abs(h - h_usual), 15)} against bound 0")
violated = f_extra == 0 and abs(h - h_usual) > mpf(10) ** -40
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
