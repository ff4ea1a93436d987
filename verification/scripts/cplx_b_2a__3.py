"""cplx-B.2a (complexity App. B.2): the usual LSTM is a special case of the multidimensional one, so that its forget
gate σ(W_x x + W_h h(t − 1)) is one of B.2's, f_u = σ(Σ_{u' ∈ In(v)} W(u') h_u) for u = h(t − 1).

As printed f_u depends on h_u alone: at two inputs x and x_2 with the same h(t − 1) it is the same, whatever its
matrices are. Measured: how far apart the usual gate is at the two. Bound: 0.
Cases: forget gates of
"""
from fractions import Fraction
from mpmath import exp, mp, mpf, nstr

CASE = "forget gates of Σ_{u'} W(u') h_u | the usual forget gate at x and x_2, the same h: distance 0"
P = {"W_x": "1", "W_h": "0", "h": "0", "x": "0", "x_2": "1"}

mp.dps = 50
W_x, W_h, h, x, x_2 = (mpf(Fraction(P[k]).numerator) / Fraction(P[k]).denominator for k in ("W_x", "W_h", "h", "x", "x_2"))
gate = lambda x: 1 / (1 + exp(-(W_x * x + W_h * h)))
print(f"the usual gate is {nstr(gate(x), 15)} at x = {nstr(x, 8)}, {nstr(gate(x_2), 15)} at {nstr(x_2, 8)}, h = {nstr(h, 8)}")
print(f"measured distance {nstr(abs(gate(x) - gate(x_2)), 15)} against bound 0, that of any gate of B.2 which reads h alone")
violated = abs(gate(x) - gate(x_2)) > mpf(10) ** -40
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
