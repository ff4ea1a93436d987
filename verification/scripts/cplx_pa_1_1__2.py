"""cplx-PA.1.1 (complexity Prop. A.1.1), read loosely: with (U), if a cycle has the largest l/σ, length by
time, and its copies shifted by m together meet every time, then lim D_i(n)/n = that l/σ for every i.
D_i(n) is the length of the longest path from time i to time i + n of the unfolded graph.
Cases: loose
"""
import json
from fractions import Fraction as F
from functools import cache
from math import lcm

CASE = "graphs with (1)-(3), (U) | lim D_i(n)/n = d_r, loose"
P = {"graph": '{"period": 1, "nodes": {"a": 0, "b": 0}, "edges": [["a", "a", 2], ["b", "b", 3]]}',
     "cycle": '[["a", "a", 2]]'}

G, cycle = json.loads(P["graph"]), json.loads(P["cycle"])
m, time, edges = G["period"], G["nodes"], G["edges"]  # [u, v, s] stands for the edges from (t, u) to (t + s, v)
sigma, ratio = lambda path: sum(s for *_, s in path), lambda path: F(len(path), sum(s for *_, s in path))
def cycles(path):  # the simple cycles that begin so
    on = [e for e in edges if e[0] == path[-1][1] and e[1] not in [v for _, v, _ in path]]
    return [path] if path[-1][1] == path[0][0] else [c for e in on for c in cycles([*path, e])]
C = [c for e in edges for c in cycles([e])]
premise = C != [] and all((s - time[v] + time[u]) % m == 0 for u, v, s in edges) and all(sigma(c) > 0 for c in C)
visits = {(time[cycle[0][0]] + sigma(cycle[:k])) % m for k in range(len(cycle))}
premise = premise and cycle in C and len(visits) == m and all(ratio(c) <= ratio(cycle) for c in C)
print(f"premise (1)-(3), (U), cycle: {premise}; cycles l : σ", *[f"{len(c)} : {sigma(c)}" for c in C])
reach, M, grows = len(time) * max(abs(s) for *_, s in edges), lcm(m, *map(sigma, C)), []
def length(i, n, pick):  # of the longest or shortest (pick = max, min) path from time i to time i + n; None: no path
    @cache
    def to(t, v):
        before = [to(t - s, u) for u, w, s in edges if w == v and i - reach <= t - s <= i + n + reach]
        return pick([1 + x for x in before if x is not None] + [0] * (t == i), default=None)
    return pick((x for v in time if (i + n - time[v]) % m == 0 and (x := to(i + n, v)) is not None), default=None)
for i in range(m):  # grows: by how much a step adds, for n of the same residue modulo M
    known = {n: length(i, n, max) for n in range(20 * M, 22 * M)}
    print(f"D_{i}(n), n = {20 * M}, …:", *known.values())
    grows += [F(known[n + M] - known[n], M) for n in range(20 * M, 21 * M) if known[n] is not None]
print("measured limits of D_i(n)/n along residues:", *grows, f"against bound max l/σ = {max(map(ratio, C))}")
violated = premise and any(rate != max(map(ratio, C)) for rate in grows)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
