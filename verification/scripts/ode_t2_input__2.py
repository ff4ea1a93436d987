"""ode-T2-input (Theorem 2 for a recurrent network, σ = tanh, driven by inputs): the Jacobians of n steps of the
1-2-ARNN, symplectic Euler, stay bounded for a = eta L_s max|λ| < 2.

One neuron, S = 1, eta = a, sup σ' = 1: p₊ = p - a tanh(q + b), q₊ = q + a tanh(p₊ + b'); the biases (inputs) make the
pre-activations those of P, repeated for ever. J = ∂(p, q after a word)/∂(p, q) has det J = 1; its powers, the
Jacobians of n words, are unbounded if |tr J| > 2. Measured: |tr J|, largest entry of Jⁿ. Bound: 2.
Cases: Jacobians
"""
from fractions import Fraction as F
from mpmath import mp, mpf, nstr, tanh

CASE = "symplectic Euler, tanh, biases that depend on time | bounded Jacobians of n steps, η L_s max|λ| < 2"
P = {"a": "1", "preactivations": "0 0 10 0 10 0 10 0 10 0"}

mp.dps = 60
a, values = F(P["a"]), [mpf(x.numerator) / x.denominator for x in map(F, P["preactivations"].split())]
premise = 0 < a < 2 and len(values) % 2 == 0
print(f"premise 0 < a = {a} < 2: {'holds' if premise else 'fails'}")
a = mpf(a.numerator) / a.denominator

p, q = mpf(1), mpf(1)  # one run; a state is changed by the bias alone
J = mp.eye(2)
for k, x in enumerate(values):
    slope = 1 - tanh(x) ** 2
    if k % 2 == 0:
        b = x - q
        p, J = p - a * tanh(q + b), mp.matrix([[1, -a * slope], [0, 1]]) * J
    else:
        b = x - p
        q, J = q + a * tanh(p + b), mp.matrix([[1, 0], [a * slope, 1]]) * J
    print(f"bias {nstr(b, 6)}: pre-activation {nstr(x, 6)}, slope {nstr(slope, 6)}")
trace = abs(J[0, 0] + J[1, 1])
for n in (10, 100, 1000):
    print(f"largest entry of J^{n}: {nstr(max(map(abs, J**n)), 8)}")
print(f"measured |tr J| = {nstr(trace, 15)} against bound 2 (det J = {nstr(mp.det(J), 15)})")
violated = bool(premise and trace > 2 + mpf(10) ** -30)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
