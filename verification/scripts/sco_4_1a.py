"""sco-4.1a (scoRNN Sec. 4.1): modReLU(z) = (z/|z|) ReLU(|z| + b); tried: that it is continuous at z = 0, where it is 0
by convention (or has any other value); real z = ±r here.

Measured, b > 0: modReLU at z = ±r for r = reach, reach/10, reach/100, …: above b/2 on the right, below −b/2 on the
left; as ReLU(r + b) ≥ b for r > 0, so it is for every smaller r. Bound: a value at 0 that is the limit from both sides.
Cases: b > 0
"""
from fractions import Fraction as F

CASE = "b > 0 | continuous at z = 0 with modReLU(0; b) = 0"
P = {"b": "1", "reach": "1/1000"}

b, reach = F(P["b"]), F(P["reach"])
modrelu = lambda z: z / abs(z) * max(abs(z) + b, F(0))
premise = b > 0 and reach > 0
print(f"premise b = {b} > 0: {'holds' if premise else 'fails'}")
right = [modrelu(reach / 10**e) for e in range(8)] if reach > 0 else []
left = [modrelu(-reach / 10**e) for e in range(8)] if reach > 0 else []
print("from the right:", *(f"{float(x):.9g}" for x in right), " from the left:", *(f"{float(x):.9g}" for x in left))
if "some value" in CASE:
    measured = min(right, default=F(0)) - max(left, default=F(0))
    print(f"measured gap between both sides {float(measured):.9g}, against bound 0: one limit (b = {b})")
    violated = premise and measured > b
else:
    measured = min(right, default=F(0))
    print(f"measured values beside 0 at least {float(measured):.9g} against bound 0, the value at 0 (b/2 = {b / 2})")
    violated = premise and measured > b / 2
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
