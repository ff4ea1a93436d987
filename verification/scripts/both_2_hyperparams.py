"""both-2-hyperparams (UnICORNN, both versions, Sec. 2; App. A, Table 6): a memory unit of
L layers shares dt and α, and so has two hyperparameters, however deep it is.

Counted: the different values of dt over the layers, and α. For IMDB and EigenWorms App. A gives the first layer another
dt than the one in Table 6. Learning rate, sizes and dropout are not counted. Bound: 2.
"""
from fractions import Fraction

CASE = "printed IMDB | values of dt and α"
P = {"dt": "33/5000 41/200", "alpha": "0"}

dt, alpha = tuple(map(Fraction, P["dt"].split())), Fraction(P["alpha"])
printed = {  # dt of the first layer by App. A, then dt and α of Table 6
    "IMDB": (("6.6e-3", "2.05e-1"), "0.0"),
    "EigenWorms": (("2.81e-5", "3.43e-2"), "0.0"),
}
row = CASE.split(" | ")[0].removeprefix("printed ")
as_printed = (dt, alpha) == (tuple(map(Fraction, printed[row][0])), Fraction(printed[row][1]))
print(f"premise: dt and alpha are those printed for {row}: {'holds' if as_printed else 'fails'}")
print("dt, layer by layer:", *(f"{float(x):g}" for x in dt), f"and alpha = {float(alpha):g}")
measured = len(set(dt)) + 1
print(f"measured {measured} numbers against bound 2")
violated = as_printed and measured > 2
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
