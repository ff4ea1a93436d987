"""sco-5.2b (scoRNN Sec. 5.2): adding problem, markers at indices drawn from [1, T/2) and [T/2, T); tried: that every
one of the T entries of a sequence may be marked, its indices from 1 or from 0.

Measured: whether the entry k of P lies in one of the two intervals. Bound: it does.
Cases: every entry
"""
CASE = "indices from 1 | every entry may be marked"
P = {"T": "200", "k": "200"}

T, k, base = int(P["T"]), int(P["k"]), int(CASE.split(" | ")[0].rsplit(" ", 1)[1])
premise = base <= k <= base + T - 1
print(f"premise k = {k} is one of the indices {base} to {base + T - 1}: {'holds' if premise else 'fails'}")
first, second = 1 <= k and 2 * k < T, 2 * k >= T and k < T
print(f"measured: in [1, {T}/2): {first}, in [{T}/2, {T}): {second}, against bound: in one of them")
violated = premise and not (first or second)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
