"""sco-4.1a (scoRNN Sec. 4.1): modReLU(z) = (z/|z|) ReLU(|z| + b); tried: that the printed formula has a value for every
z.

Computed as printed, in fractions, at the z of P. Bound: a number.
Cases: any b
"""
from fractions import Fraction as F

CASE = "any b | (z/|z|) ReLU(|z| + b) has a value at z = 0"
P = {"z": "0", "b": "0"}

z, b = F(P["z"]), F(P["b"])
try:
    value = z / abs(z) * max(abs(z) + b, F(0))
    print(f"measured at z = {z}, b = {b}: {value}; bound: a number")
    violated = False
except ZeroDivisionError:
    print(f"measured at z = {z}, b = {b}: z/|z| is a division by zero; bound: a number")
    violated = True
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
