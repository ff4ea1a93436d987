"""cplx-PA.1.1 (complexity Prop. A.1.1), every graph with (1) to (3): if a cycle with the largest l/σ, length by time,
meets every time in one lift, then lim D_i(n)/n = that l/σ for every i.
D_i(n): the longest path from time i to time i + n, unfolded; here it may go back and forth along two cycles.
Cases: strict
"""
import json
from fractions import Fraction as F
from functools import cache

CASE = "graphs with (1)-(3) | lim D_i(n)/n = d_r, strict"
P = {"graph": '{"period": 1, "nodes": {"a": 0, "b": 0}, "edges": [["a", "a", -1], ["a", "b", 0], ["b", "b", 1]]}',
     "cycle": '[["b", "b", 1]]', "i": "0", "n": "0"}

G, cycle = json.loads(P["graph"]), json.loads(P["cycle"])
m, time, edges = G["period"], G["nodes"], G["edges"]  # [u, v, s] stands for the edges from (t, u) to (t + s, v)
sigma, ratio = lambda path: sum(s for *_, s in path), lambda path: F(len(path), sum(s for *_, s in path))
def cycles(path):  # the simple cycles that begin so
    on = [e for e in edges if e[0] == path[-1][1] and e[1] not in [v for _, v, _ in path]]
    return [path] if path[-1][1] == path[0][0] else [c for e in on for c in cycles([*path, e])]
C = [c for e in edges for c in cycles([e])]
leads = lambda u, v, k: u == v or (k > 0 and any(e[0] == u and leads(e[1], v, k - 1) for e in edges))
premise = C != [] and all((s - time[v] + time[u]) % m == 0 for u, v, s in edges) and all(sigma(c) * sigma(d) > 0
    for c in C for d in C if leads(c[0][0], d[0][0], len(time)) and leads(d[0][0], c[0][0], len(time)))  # (1) to (3)
visits = {(time[cycle[0][0]] + sigma(cycle[:k])) % abs(sigma(cycle)) for k in range(len(cycle))}
premise = premise and cycle in C and len(visits) == abs(sigma(cycle)) and all(ratio(c) <= ratio(cycle) for c in C)
print(f"premise (1)-(3), largest l/σ, all times met: {premise}; cycles l : σ", *[f"{len(c)} : {sigma(c)}" for c in C])
i, reach = int(P["i"]), len(time) * max(abs(s) for *_, s in edges)
def D(n, W):  # the longest path from time i to time i + n between the times i - W and i + n + W
    @cache
    def longest(t, v):
        before = [longest(t - s, u) for u, w, s in edges if w == v and i - W <= t - s <= i + n + W]
        return max([1 + x for x in before if x is not None] + [0] * (t == i), default=None)
    return max((longest(i + n, v) or 0 for v in time if (i + n - time[v]) % m == 0), default=0)
for n in [int(P["n"]) + k * min([sigma(c) for c in C if sigma(c) > 0] or [1]) for k in range(3)]:
    lengths = [D(n, reach * 2**k) for k in range(4, 8)]
    print(f"measured D_{i}({n}): paths of lengths {lengths}, more if they may go further back; bound: a number")
    premise = premise and all(c - b >= 2 * (b - a) > 0 for a, b, c in zip(lengths, lengths[1:], lengths[2:]))
print("violated" if premise else "NOT violated")
raise SystemExit(0 if premise else 1)
