"""sco-5.5.1-gpu (scoRNN Sec. 5.5.1): the machine precision of GPUs is far coarser than that of CPUs; asked of one
format on both, which nobody claims. eps of a format is fixed by IEEE 754, not by the device.

eps = 2^−k: 1 + 2^−k is a number of the format, and 1 + 2^−(k+1) rounds to 1. Measured: eps of the format by these two
additions, exponent k in P, which any device that keeps IEEE 754 reproduces. Bound: larger on a GPU than here.
Cases: the format
"""
import numpy as np

CASE = "float16, the format | eps on a GPU > eps on a CPU"
P = {"k": "10"}

k, fl = int(P["k"]), {"float16": np.float16, "float32": np.float32, "float64": np.float64}[CASE.split(",")[0]]
one, step = fl(1), fl(2.0**-k)
kept, lost = one + step != one and float(one + step) == 1 + 2.0**-k, one + step / fl(2) == one
print(f"1 + 2^-{k} is {float(one + step)} in {fl.__name__}, kept: {kept}; 1 + 2^-{k + 1} rounds to 1: {lost}")
print(f"measured eps = 2^-{k} = {2.0**-k:.6g} of the format on every device, against bound: more on a GPU, fewer digits")
violated = bool(kept and lost) and float(np.finfo(fl).eps) == 2.0**-k
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
