"""both-4-health (UnICORNN, both versions, Sec. 4): records of 8 minutes, sampled at 125 Hz, give
sequences of 4000 entries; read as: a sequence is a whole record.

Computed: 125 Hz · 8 · 60 s against 4000, if no other step (a shorter window, a lower frequency) lies between.
"""
from fractions import Fraction

CASE = "healthcare | 125 Hz · 8 · 60 s, no other step named"
P = {"frequency": "125", "minutes": "8", "printed": "4000"}

frequency, minutes, length = (Fraction(P[name]) for name in ("frequency", "minutes", "printed"))
measured = frequency * minutes * 60
print(f"measured {frequency} Hz * {minutes} * 60 s = {measured} samples against {length} as printed")
print(f"{length} samples last {float(length / frequency):g} s at {frequency} Hz, not {minutes * 60} s")
violated = measured != length
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
