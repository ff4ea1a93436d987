"""sco-5.2b (scoRNN Sec. 5.2): adding problem, markers at indices drawn from [1, T/2) and [T/2, T); tried: that this
says whether indices begin at 0 or at 1.

Measured: how many of the two choices have every index of the intervals, 1 to T − 1. Bound: one.
Cases: index base
"""
CASE = "indices from 0 or from 1 | the index base is determined"
P = {"T": "200"}

T = int(P["T"])
fitting = []
for base in (0, 1):
    indices = set(range(base, base + T))
    fits = T > 1 and all(k in indices for k in range(1, T))
    print(f"indices {base} to {base + T - 1}: 1 to {T - 1} are among them: {fits}")
    fitting += [base] if fits else []
print(f"measured {len(fitting)} choices against bound 1")
violated = len(fitting) > 1
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
