"""ode-C4 (Claim 4 with constant coefficients): an ODERNN whose A_ij, B_i are constant has the states of the clockwork
RNN.

Such a step is one map: the same state and input give the same new state at every time l. The group of the longest
period T_g of the CW-RNN (29), at h = 0 with V x + b = the x of P: its new state is tanh(x) if T_g divides l, else 0.
Measured: the largest distance of its new states at l = 0, ..., lcm of the periods - 1. Bound: 0.
Cases: ^constant
"""
from fractions import Fraction as F
from math import lcm, tanh

CASE = "constant coefficients | an ODERNN with the same states"
P = {"periods": "1 2", "x": "1"}

periods, x = [int(word) for word in P["periods"].split()], float(F(P["x"]))
h, after = 0.0, []
for l in range(lcm(*periods)):
    after.append(tanh(x) if l % periods[-1] == 0 else h)
    print(f"l = {l}: h = 0 becomes {after[-1]:.9g}")
measured = max(after) - min(after)
print(f"measured distance {measured:.9g} against bound 0")
violated = measured > 1e-9
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
