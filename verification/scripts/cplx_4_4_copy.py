"""cplx-4.4-copy (complexity Sec. 4.4): cross entropies of the copying memory problem are printed, 0.2409 for T = 200
and s = 1 and so on. Asked, which nobody claims: that a network is not worse than one without memory.

Ten symbols out of eight, T − 1 blanks, a delimiter, ten blanks while the symbols are to be repeated: T + 20 steps. A
network without memory knows which steps are blank, and guesses each of the ten symbols: log 8 (nats), 3 (bits). As a
mean over all steps that is 10/(T + 20) of it. Measured: the printed number less half a unit of its last digit.
"""
from fractions import Fraction
from mpmath import log, mp, mpf, nstr

CASE = "copying memory, T = 200, s = 1 | cross entropy against no memory: mean over all T + 20 steps, in nats"
P = {"T": "200", "s": "1", "printed": "2409/10000", "low": "4817/20000", "share": "1/22"}

mp.dps = 30
T, printed, low, share = (Fraction(P[name]) for name in ("T", "printed", "low", "share"))
half = printed - low
steps = T + 20 if "all T + 20 steps" in CASE else Fraction(10)  # over which the mean is taken
premise = share == 10 / steps and 0 < half <= Fraction(1, 2000)
print(f"premise 10 of {steps} steps are symbols, at most half a unit of three digits is given away: {premise}")
symbol = log(8) if CASE.endswith("nats") else mpf(3)
bound = symbol * 10 / steps.numerator * steps.denominator
measured = mpf(low.numerator) / low.denominator
print(f"measured at least {nstr(measured, 10)} (printed {float(printed)}) against bound {nstr(bound, 10)} without memory")
violated = premise and measured > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
