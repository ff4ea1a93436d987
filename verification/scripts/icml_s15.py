"""icml-S15 (UnICORNN, icml S(15), S(42)): the Δ of S(15), which S(42) puts after S(39), is at least 2 + Z + (2 + α)Y for
the state bounds |z| ≤ Z = √(2(1 + 2βt)), |y| ≤ Y = Z/√α of S(7) at t = T, β = max{1 + 2α, 4α²}; and it is that of (12).

S(15) prints 2 + √(1 + 2βT) + (2 + α)√((2/α)(1 + 2βT)), (12) and S(39) have √(2(1 + 2βT)) in the middle.
"""
from fractions import Fraction
from mpmath import mp, mpf, nstr, sqrt

CASE = "all α, dt, T | 2 + Z + (2+α)Y by S(7) ≤ Δ of S(15)"
P = {"alpha": "1", "dt": "1/2", "T": "1", "m": "1"}

mp.dps = 50
a, dt, T = (mpf(Fraction(P[name]).numerator) / Fraction(P[name]).denominator for name in ("alpha", "dt", "T"))
grown = 1 + 2 * max(1 + 2 * a, 4 * a**2) * T
Z, last = sqrt(2 * grown), (2 + a) * sqrt(2 / a * grown)
printed, needed = 2 + sqrt(grown) + last, 2 + Z + last
premise = a > 0 and 0 < dt < 1 and T > 0
print(f"premise α > 0, 0 < dt < 1, T > 0: {'holds' if premise else 'fails'}")
print(f"Δ of S(15): {nstr(printed, 15)}; by S(7), and Δ of (12): {nstr(needed, 15)}; claimed: {CASE.split(' | ')[1]}")
violated = premise and (needed - printed if "≥" in CASE else abs(needed - printed)) > mpf(10) ** -30
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
