"""cplx-B.2b (complexity App. B.2, Sec. 4.4): the forget gate f_u = σ(Σ_{u' ∈ In(v)} W_{f_u}(u') h_u) is determined by
the node u; tried where two edges lead from the hidden node h to itself, over 1 and 2 steps.

Then h_u of the one gate f_h is h(t − 1) or h(t − 2). One neuron; P has the sum W of the matrices and both states.
Measured: the distance of the gates for the two edges. Bound: 0.
Cases: determined by u
"""
from fractions import Fraction
from mpmath import exp, mp, mpf, nstr

CASE = "edges h->h:1 and h->h:2, as of Section 4.4 | f_u determined by u"
P = {"W": "1", "h(t-1)": "0", "h(t-2)": "1"}

mp.dps = 50
W, one, two = (mpf(Fraction(P[k]).numerator) / Fraction(P[k]).denominator for k in ("W", "h(t-1)", "h(t-2)"))
sigma = lambda x: 1 / (1 + exp(-x))
print(f"f_h with h_u = h(t − 1): {nstr(sigma(W * one), 15)}; with h_u = h(t − 2): {nstr(sigma(W * two), 15)}")
print(f"measured distance {nstr(abs(sigma(W * one) - sigma(W * two)), 15)} against bound 0")
violated = abs(sigma(W * one) - sigma(W * two)) > mpf(10) ** -40
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
