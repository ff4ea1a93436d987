"""cplx-A.1-pf (complexity, proof of Thm A.1) with ε = 0: there is an N with D_i(n)/n ≤ d_r for all n > N; d_r is the
largest l/σ, length by time, of a directed cycle, for graphs with (1) to (3) in which all cycles have σ > 0, (U).

D_i(n) is the length of the longest path from a node at time i to a node at time i + n of the unfolded graph. Measured:
D_i(n) − n d_r at n = σ(path) + k σ(cycle), k = 0, 1, …: along the path of P with k turns of its cycle.
Cases: ε = 0
"""
import json
from fractions import Fraction as F
from functools import cache

CASE = "graphs with (1)-(3), (U) | ε = 0: D_i(n)/n ≤ d_r for n > N"
P = {"graph": '{"period": 1, "nodes": {"a": 0, "b": 0}, "edges": [["a", "a", 1], ["a", "b", 0]]}',
     "path": '[["a", "b", 0]]', "cycle": '[["a", "a", 1]]'}

G, path, cycle = (json.loads(P[name]) for name in ("graph", "path", "cycle"))
m, time, edges = G["period"], G["nodes"], G["edges"]  # [u, v, s] stands for the edges from (t, u) to (t + s, v)
sigma = lambda path: sum(s for *_, s in path)
def cycles(path):  # the simple cycles that begin so
    on = [e for e in edges if e[0] == path[-1][1] and e[1] not in [v for _, v, _ in path]]
    return [path] if path[-1][1] == path[0][0] else [c for e in on for c in cycles([*path, e])]
C = [c for e in edges for c in cycles([e])]
premise = C != [] and all((s - time[v] + time[u]) % m == 0 for u, v, s in edges) and all(sigma(c) > 0 for c in C)
d_r, i = max(F(len(c), sigma(c) or 1) for c in C), time[path[0][0]]
meets = {u for u, *_ in cycle} & {*(u for u, *_ in path), path[-1][1]}
premise = premise and cycle in C and F(len(cycle), sigma(cycle)) == d_r and meets != set()
print(f"premise (1) to (3), (U), a cycle of the largest l/σ = {d_r} that meets the path: {premise}")
def D(n):
    reach = len(time) * max(abs(s) for *_, s in edges)
    @cache
    def longest(t, v):
        before = [longest(t - s, u) for u, w, s in edges if w == v and i - reach <= t - s <= i + n + reach]
        return max([1 + x for x in before if x is not None] + [0] * (t == i), default=None)
    return max((longest(i + n, v) or 0 for v in time if (i + n - time[v]) % m == 0), default=0)
ns = [sigma(path) + k * sigma(cycle) for k in range(1, 101)]
gains = [D(n) - n * d_r for n in ns if n > 0]
print(f"measured D_{i}(n) − n d_r at n = {ns[0]}, {ns[1]}, …, {ns[-1]}: at least {min(gains)}; bound: at most 0 for n > N")
violated = premise and min(gains) > 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
