"""x-2 (RNNs in the Eye of ODEs Sec. 2.2; complexity Sec. 2): the clockwork RNN as a graph has the period m; tried: that
m is the number of clocks, and that it is the order t of the recurrence.

The group with period T_i acts at the times that T_i divides: h_i(l) from h(l − 1), else h_i(l) = h_i(l − 1), so that t
= 1. m: the smallest shift in time that leaves, at every time, the set of acting groups as it is. Bound: m.
"""
from math import prod

CASE = "clockwork networks | the period number is the number of clocks"
P = {"periods": "1 2 4"}

periods = [int(x) for x in P["periods"].split()]
longest = prod(periods)
acting = [[T for T in periods if l % T == 0] for l in range(2 * longest)]
m = next(shift for shift in range(1, longest + 1) if acting[shift:] == acting[:-shift])
premise = periods == sorted(set(periods))
print(f"premise different periods {periods}, the shortest first: {'holds' if premise else 'fails'}")
print("acting groups at times 0, 1, …:", *(f"{{{', '.join(map(str, groups))}}}" for groups in acting[: 2 * m]))
measured, name = (len(periods), "clocks") if "number of clocks" in CASE else (1, "step back, t")
print(f"measured {measured} {name}, against bound m = {m}")
violated = premise and measured != m
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
