"""both-2.2-invertible-float (UnICORNN, both versions, Discussion): the discrete dynamics is invertible; here for the
computed step of one neuron, every operation rounded to the format.

Step: z′ = z − h (tanh(w y + x) + α y), y′ = y + h z′; back: y = y′ − h z′, z = z′ + h (tanh(w y + x) + α y). Measured:
how far from (0, 0) the run is that starts there, goes through the inputs x and back.
Cases: reconstructed
"""
from fractions import Fraction
import math
import numpy as np

CASE = "float16 | |reconstructed − true|"
P = {"w": "1/2", "h": "1/8", "alpha": "1", "x": "-59/64 27/64"}

def bfloat16(value):  # to 8 bits, ties to even: sums and products of such numbers are exact doubles
    m, e = math.frexp(value)
    return np.float64(math.ldexp(round(m * 2**8), e - 8))

fl = {"float16": np.float16, "bfloat16": bfloat16, "float32": np.float32, "float64": np.float64}[CASE.split(" | ")[0]]
row = lambda name: [fl(float(Fraction(x))) for x in P[name].split()]
(w,), (h,), (alpha,), x = row("w"), row("h"), row("alpha"), row("x")
exact = all(Fraction(float(v)) == Fraction(t) for name in P for v, t in zip(row(name), P[name].split()))

def force(y, x):
    return fl(h * fl(fl(np.tanh(fl(fl(w * y) + x))) + fl(alpha * y)))

y = z = fl(0.0)
for value in x:
    z = fl(z - force(y, value))
    y = fl(y + fl(h * z))
for value in reversed(x):
    y = fl(y - fl(h * z))
    z = fl(z + force(y, value))
missed = max(abs(float(y)), abs(float(z)))
print(f"premise every number of the witness is one of the format: {'holds' if exact else 'fails'}")
print(f"measured |reconstructed - true| = {missed:.6g} after {len(x)} steps and back, against bound 0")
violated = exact and missed > 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
