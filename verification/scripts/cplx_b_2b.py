"""cplx-B.2b (complexity App. B.2): the forget gate is f_u = σ(Σ_{u' ∈ In(v)} W_{f_u}(u') h_u), printed with h_u in the
sum; tried: that it is the gate with h_{u'} in the sum, which reads every node of In(v).

One neuron a node, σ the logistic function; P has W(u') and h_{u'} for the nodes u' of In(v), the first of which is u.
Measured: the distance of the two gates. Bound: 0.
Cases: against
"""
from fractions import Fraction
from mpmath import exp, mp, mpf, nstr

CASE = "one edge from each u' to v | f_u: Σ_{u'} W(u') h_u against Σ_{u'} W(u') h_{u'}"
P = {"W": "0 1", "h": "0 1"}

mp.dps = 50
W, h = ([mpf(x.numerator) / x.denominator for x in map(Fraction, P[name].split())] for name in ("W", "h"))
sigma = lambda x: 1 / (1 + exp(-x))
printed, every = sigma(sum(w * h[0] for w in W)), sigma(sum(w * x for w, x in zip(W, h)))
print(f"premise a number W(u') and a state h_u' for each of the {len(W)} nodes: {len(W) == len(h)}")
print(f"as printed, h_u = {nstr(h[0], 8)} in every term: {nstr(printed, 15)}; with h_u' = {[float(x) for x in h]}: {nstr(every, 15)}")
print(f"measured distance {nstr(abs(printed - every), 15)} against bound 0")
violated = len(W) == len(h) and abs(printed - every) > mpf(10) ** -40
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
