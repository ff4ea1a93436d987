"""both-C.4-L3max (UnICORNN, ICML 2021, C.4): no fully connected stack of the experiments has more than L = 3 layers;
that of Sec. 4 may be meant. The experiment of App. E trains standard networks of up to L = 6 layers beside residual
ones.
"""
from fractions import Fraction

CASE = "App. E, standard network | L"
P = {"L": "6"}

L = Fraction(P["L"])
print(f"measured L = {L} layers in {CASE.split(' | ')[0]} against bound 3")
violated = L > 3
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
