"""ode-T3-fp (proof of Theorem 3): "inside the stable regime" the ARNNs are reversible, as they are computed: one step
and its inverse in float64 give every state back.

σ = tanh, b = 0, η = 1/8 (threshold 2 and 1). Symplectic Euler, S = 1: p -= η tanh q, q += η tanh p; back in reverse
order. Leapfrog, W = [0 -1; 1 0], state (y_{l-1}, y_l): y_{l+1} = y_{l-1} + 2η tanh(W y_l); back y_{l-1} = y_{l+1} - 2η
tanh(W y_l). Every operation is rounded once. Measured: |returned - state|. Bound: 0.
"""
from fractions import Fraction as F
from mpmath import mp
import numpy as np

CASE = "1-2-ARNN, symplectic Euler | the state that is returned, tanh, float64"
P = {"state": "2092902475837199/2251799813685248 186274456090277/4503599627370496"}

mp.dps = 60
exact, eta = [F(word) for word in P["state"].split()], 0.125
state = [float(x) for x in exact]

def returned(tanh):
    if "symplectic" in CASE:
        p, q = state
        p = p - eta * tanh(q)
        q = q + eta * tanh(p)
        q = q - eta * tanh(p)
        return [p + eta * tanh(q), q]
    (x0, x1), (y0, y1) = state[:2], state[2:]  # W y = (-y1, y0)
    z0, z1 = x0 + 2 * eta * tanh(-y1), x1 + 2 * eta * tanh(y0)
    return [z0 - 2 * eta * tanh(-y1), z1 - 2 * eta * tanh(y0), y0, y1]
premise = all(F(x) == y for x, y in zip(state, exact))
print(f"premise every number of the state is a float64: {'holds' if premise else 'fails'}")
violated = premise
for name, tanh in (("tanh rounded correctly", lambda x: float(mp.tanh(x))), ("numpy", lambda x: float(np.tanh(x)))):
    back = returned(tanh)
    measured = max(abs(F(x) - y) for x, y in zip(back, exact))
    print(f"{name}: {state} comes back as {back}")
    print(f"measured |returned - state| = {float(measured):.6g} against bound 0")
    violated = violated and measured > 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
