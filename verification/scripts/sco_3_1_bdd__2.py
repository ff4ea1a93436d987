"""sco-3.1-bdd (scoRNN Sec. 3.1): the scaled transform W = C(A) D, C(A) = (I + A)⁻¹(I − A), has an A with bounded
entries, if D is chosen for W; tried along gradient descent with D = I fixed, n = 2.

A = [0 a; −a 0], L = ½‖W + I‖²: by Theorem 3.2 ∂L/∂A = Vᵀ − V, V = (I + A)⁻ᵀ (∂L/∂W)(D + Wᵀ), ∂L/∂W = W + I. Measured:
|a| after the steps of P at the learning rate of P. Bound: the number in CASE.
Cases: gradient descent
"""
from fractions import Fraction
from mpmath import eye, inverse, matrix, mp, mpf, nstr

CASE = "gradient descent, D fixed, n = 2, bound 1 | max |a_ij|"
P = {"a": "1/2", "rate": "1/4", "steps": "1"}

mp.dps = 40
a, rate = (mpf(Fraction(P[name]).numerator) / Fraction(P[name]).denominator for name in ("a", "rate"))
steps, bound = int(P["steps"]), int(CASE.split("bound ")[1].split(" ")[0])
premise = abs(a) <= 1 and 0 < rate <= 1
print(f"premise a start |a| = {nstr(abs(a), 8)} ≤ 1, a learning rate {nstr(rate, 8)} in (0, 1]: {premise}")
I = eye(2)
for n in range(steps):
    A = matrix([[0, a], [-a, 0]])
    W = inverse(I + A) * (I - A)  # C(A) D with D = I
    V = inverse(I + A).T * (W + I) * (I + W.T)
    a -= rate * (V.T - V)[0, 1]
W = inverse(I + matrix([[0, a], [-a, 0]])) * (I - matrix([[0, a], [-a, 0]]))
print(f"after {steps} steps W = [{nstr(W[0, 0], 8)} {nstr(W[0, 1], 8)}; {nstr(W[1, 0], 8)} {nstr(W[1, 1], 8)}]")
print(f"measured |a| = {nstr(abs(a), 15)} against bound {bound}")
violated = premise and abs(a) > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
