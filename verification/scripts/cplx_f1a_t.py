"""cplx-F1a-t (complexity Sec. 3.1): in Figure 1(a) D_t(1) = 5, D_t(2) = 6, D_t(3) = 8, D_t(4) = 9; tried for every t,
though the drawing shows one.

D_t(n) is the length of the longest path from a node at time t to a node at time t + n of the unfolded graph. The graph
of P, of period 2, is read off the figure: nodes v with times, edges [u, v, s] from (t, u) to (t + s, v).
"""
import json
from functools import cache

CASE = "Figure 1(a), t = 0, 1 | D_t(n), n = 1, 2, 3, 4"
P = {"graph": '{"period": 2, "nodes": {"1": 0, "2": 0, "3": 0, "4": 0, "5": 1, "6": 1, "7": 1, "8": 1}, '
              '"inputs": ["1", "5"], "outputs": ["4", "8"], "edges": [["1", "2", 0], ["2", "3", 0], ["3", "4", 0], '
              '["5", "6", 0], ["6", "7", 0], ["7", "8", 0], ["3", "6", 1], ["7", "3", 1], ["3", "3", 2]]}',
     "t": "1"}

G, start = json.loads(P["graph"]), int(P["t"])
m, time, edges = G["period"], G["nodes"], G["edges"]

@cache
def longest(t, v):  # a longest path from time start to (t, v), as its nodes, None if there is none
    before = [longest(t - s, u) for u, w, s in edges if w == v and t - s >= start]
    return max([(*p, (t, v)) for p in before if p] + [((t, v),)] * (t == start), key=len, default=None)

premise = all((s - time[v] + time[u]) % m == 0 and s >= 0 for u, v, s in edges)
print(f"premise (1), no edge back in time: {'holds' if premise else 'fails'}")
measured = []
for n in (1, 2, 3, 4):
    path = max((longest(start + n, v) or () for v in time if (start + n - time[v]) % m == 0), key=len)
    measured.append(len(path) - 1)
    print(f"n = {n}: {measured[-1]} edges along", " -> ".join(f"({t},{v})" for t, v in path))
print(f"measured D_{start}(n) = {measured} against bound [5, 6, 8, 9], n = 1, 2, 3, 4")
violated = premise and measured != [5, 6, 8, 9]
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
