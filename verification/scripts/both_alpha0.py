"""both-alpha0 (UnICORNN, sam Prop. 3.2, icml Prop. 3.1, App. C, Table 6): the gradient propositions are about α > 0 and
dt < 1, and are to hold for the networks of the experiments.

Computed: whether the α and dt (the largest, if the layers differ in it) that Table 6 gives for a network satisfy this.
"""
from fractions import Fraction

CASE = "printed IMDB | α > 0, dt < 1"
P = {"alpha": "0", "dt": "41/200"}

alpha, dt = Fraction(P["alpha"]), Fraction(P["dt"])
printed = {  # α and dt of Table 6
    "nCIFAR": ("13.0", "0.126"), "psMNIST-128": ("12.53", "0.482"), "psMNIST-256": ("30.65", "0.19"),
    "IMDB": ("0.0", "0.205"), "EigenWorms": ("0.0", "0.0343"), "RR": ("9.0", "0.011"), "HR": ("10.0", "0.046"),
}
row = CASE.split(" | ")[0].removeprefix("printed ")
as_printed = (alpha, dt) == tuple(map(Fraction, printed[row]))
print(f"premise: alpha and dt are those printed for {row}: {'holds' if as_printed else 'fails'}")
print(f"alpha = {float(alpha):g}, to be > 0: {alpha > 0}")
print(f"dt = {float(dt):g}, to be in (0, 1): {0 < dt < 1}")
if alpha == 0:
    print("with alpha = 0 the bound F = sqrt((2/alpha) ...) of both propositions divides by 0")
violated = as_printed and not (alpha > 0 and 0 < dt < 1)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
