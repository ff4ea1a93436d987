"""both-2.2-invertible-float (UnICORNN, both versions, Discussion): the discrete dynamics is invertible; here for the
computed step of one neuron, every operation rounded to the format.

Step: z′ = z − h (tanh(w y + x) + α y), y′ = y + h z′. Measured: the images of two different states, in the format.
Cases: injectivity
"""
from fractions import Fraction
import math
import numpy as np

CASE = "float16 | injectivity of one step"
P = {"w": "1/2", "h": "1/8", "alpha": "1", "x": "1/4", "y": "1/4 1/4", "z": "1/65536 257/16777216"}

def bfloat16(value):  # to 8 bits, ties to even: sums and products of such numbers are exact doubles
    m, e = math.frexp(value)
    return np.float64(math.ldexp(round(m * 2**8), e - 8))

fl = {"float16": np.float16, "bfloat16": bfloat16, "float32": np.float32, "float64": np.float64}[CASE.split(" | ")[0]]
row = lambda name: [fl(float(Fraction(x))) for x in P[name].split()]
(w,), (h,), (alpha,), x = row("w"), row("h"), row("alpha"), row("x")
exact = all(Fraction(float(v)) == Fraction(t) for name in P for v, t in zip(row(name), P[name].split()))

def force(y, x):
    return fl(h * fl(fl(np.tanh(fl(fl(w * y) + x))) + fl(alpha * y)))

def step(y, z, x):
    z = fl(z - force(y, x))
    return fl(y + fl(h * z)), z

a, b = zip(row("y"), row("z"))
print(f"premise every number of the witness is one of the format: {'holds' if exact else 'fails'}")
print(f"premise the states (y, z) differ: {tuple(map(float, a))}, {tuple(map(float, b))}: {a != b}")
print(f"measured images {tuple(map(float, step(*a, *x)))}, {tuple(map(float, step(*b, *x)))}, bound: they differ")
violated = exact and a != b and step(*a, *x) == step(*b, *x)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
