"""both-F-Delta (UnICORNN, sam (14), (42), (66), (67); icml (12), S(39)): the printed variants of F and Δ are the
same, and give what (32) and S(7) give, F = Y and Δ = 2 + Z + (2 + α)Y for the state bounds |y| ≤ Y, |z| ≤ Z.

sam: Q = 1 + 2α dt³, ᾱ = 96^{1/4} max{1, √α}; icml: β = max{1 + 2α, 4α²}. Each variant as it is printed, at one point.
"""
from fractions import Fraction
from mpmath import exp, mp, mpf, nstr, root, sqrt

CASE = "all α, dt, T | Δ of (66) = Δ of (42)"
P = {"alpha": "1", "dt": "1/2", "T": "1", "m": "1"}

mp.dps = 50
a, dt, T, m = (mpf(Fraction(P[name]).numerator) / Fraction(P[name]).denominator for name in ("alpha", "dt", "T", "m"))
Q, abar, beta = 1 + 2 * a * dt**3, root(96, 4) * max(1, sqrt(a)), max(1 + 2 * a, 4 * a**2)
Z32, Y32 = sqrt(2 * m * T * Q * exp(abar * T)), sqrt(2 * m * T / a * Q * exp(abar * T))
Z7, Y7 = sqrt(2 * (1 + 2 * beta * T)), sqrt(2 / a * (1 + 2 * beta * T))
F14, F67 = sqrt(2 * m / a * Q) * exp(abar), sqrt(2 * m * T / a) * Q * exp(abar * T)  # (14) is for T = 1
value = {
    "Y by (32)": Y32,
    "F of (14)": F14,  # e^ᾱ outside the root
    "F of (42)": Y32,  # all of it under the root
    "F of (67)": F67,  # Q and e^{ᾱT} outside the root
    "2 + Z + (2+α)Y by (32)": 2 + Z32 + (2 + a) * Y32,
    "Δ of (14)": 2 + sqrt(2 * m * Q) * exp(abar) + (2 + a) * F14,  # Δ₁ + Δ₂
    "Δ of (42)": 2 + Z32 + (2 + a) * Y32,
    "Δ of (66)": 2 + sqrt(2 * m * T * Q) * exp(abar * T) + (2 + a) * F67,
    "2 + Z + (2+α)Y by S(7)": 2 + Z7 + (2 + a) * Y7,
    "Δ of icml (12)": 2 + Z7 + (2 + a) * Y7,
    "Δ of S(39)": 2 + Z7 + (2 + a) * Y7,
}
quantity = CASE.split(" | ")[1]
left, right = quantity.removesuffix(", T = 1").split(" = " if " = " in quantity.removesuffix(", T = 1") else " ≥ ")
premise = a > 0 and 0 < dt < 1 and T > 0 and (T == 1 or "(14)" not in quantity)
print(f"premise α > 0, 0 < dt < 1, T > 0 (= 1 for (14)): {'holds' if premise else 'fails'}")
print(f"{left}: {nstr(value[left], 15)}; {right}: {nstr(value[right], 15)}; claimed: {quantity}")
gap = value[right] - value[left]
violated = premise and (gap if "≥" in quantity else abs(gap)) > mpf(10) ** -30
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
