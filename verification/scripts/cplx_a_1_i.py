"""cplx-A.1-i (complexity Thm A.1 against Thm 3.2): of a unidirectional RNN, d_i = limsup D_i(n)/n is the largest l/σ,
length by time, of a directed cycle for every i, not only for the best i.

D_i(n) is the length of the longest path from a node at time i to a node at time i + n of the unfolded graph.
"""
import json
from fractions import Fraction as F
from functools import cache
from math import lcm

CASE = "graphs with (1)-(3), (U) | d_i = max l/Σσ for every i"
P = {"graph": '{"period": 2, "nodes": {"a": 0, "b": 1}, "edges": [["a", "a", 2], ["b", "b", 4]]}',
     "i": "1"}

G = json.loads(P["graph"])
m, time, edges = G["period"], G["nodes"], G["edges"]  # [u, v, s] stands for the edges from (t, u) to (t + s, v)
sigma, ratio = lambda path: sum(s for *_, s in path), lambda path: F(len(path), sum(s for *_, s in path))
def cycles(path):  # the simple cycles that begin so
    on = [e for e in edges if e[0] == path[-1][1] and e[1] not in [v for _, v, _ in path]]
    return [path] if path[-1][1] == path[0][0] else [c for e in on for c in cycles([*path, e])]
C = [c for e in edges for c in cycles([e])]
premise = C != [] and all((s - time[v] + time[u]) % m == 0 for u, v, s in edges) and all(sigma(c) > 0 for c in C)
print(f"premise (1)-(3), (U): {premise}; cycles l : σ", *[f"{len(c)} : {sigma(c)}" for c in C])
reach, M = len(time) * max(abs(s) for *_, s in edges), lcm(m, *map(sigma, C))
def length(i, n, pick):  # of the longest or shortest (pick = max, min) path from time i to time i + n; None: no path
    @cache
    def to(t, v):
        before = [to(t - s, u) for u, w, s in edges if w == v and i - reach <= t - s <= i + n + reach]
        return pick([1 + x for x in before if x is not None] + [0] * (t == i), default=None)
    return pick((x for v in time if (i + n - time[v]) % m == 0 and (x := to(i + n, v)) is not None), default=None)
def rates(i, pick):  # by how much it grows in a step, for n of the same residue modulo M
    known = {n: length(i, n, pick) for n in range(20 * M, 22 * M)}
    print(f"D_{i}(n), n = {20 * M}, …:", *known.values())
    return [F(known[n + M] - known[n], M) for n in range(20 * M, 21 * M) if known[n] is not None]
i = int(P["i"])
grows = rates(i, max)
print(f"measured d_{i} = limsup D_{i}(n)/n = {max(grows, default=None)} against bound max l/σ = {max(map(ratio, C))}")
violated = premise and grows != [] and max(grows) != max(map(ratio, C))
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
