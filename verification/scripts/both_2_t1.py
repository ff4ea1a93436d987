"""both-2-T1 (UnICORNN, both versions, Sec. 2, (1), (5), Table 6): the time of the model runs over [0, 1] in N steps of
size dt, 0 < dt < 1, so that T = N dt ≤ 1.

Measured: T = N dt with the dt that Table 6 gives for the network and the N that the text gives for the task: 784 pixels
(psMNIST), 1000 (noise padded CIFAR-10), 17984 (EigenWorms), 4000 (RR, HR). If the layers differ in dt: the largest.
"""
from fractions import Fraction

CASE = "printed psMNIST-128 | T = N dt"
P = {"dt": "241/500", "N": "784"}

dt, N = Fraction(P["dt"]), int(P["N"])
printed = {  # Table 6 and Section 4
    "nCIFAR": ("0.126", 1000), "psMNIST-128": ("0.482", 784), "psMNIST-256": ("0.19", 784),
    "EigenWorms": ("0.0343", 17984), "RR": ("0.011", 4000), "HR": ("0.046", 4000),
}
row = CASE.split(" | ")[0].removeprefix("printed ")
as_printed = (dt, N) == (Fraction(printed[row][0]), printed[row][1])
print(f"premise: dt and N are those printed for {row}: {'holds' if as_printed else 'fails'}")
print(f"premise 0 < dt < 1: dt = {float(dt):g}, {'holds' if 0 < dt < 1 else 'fails'}")
T = N * dt
print(f"measured T = N dt = {N} * {float(dt):g} = {T} = {float(T):.6g} against bound 1")
violated = as_printed and 0 < dt < 1 and T > 1
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
