"""cplx-D2.1a (complexity Def. 2.1), read literally: the time index of a node of the cyclic graph, of period m, is one
of {0, 2, …, m − 1}; as steps of two that is {0, 2, 4, …} up to m − 1.

Definition 2.2 unfolds the graph: a node of index i stands for the times i, i + m, i + 2m, … A graph with (1) to (3)
that has a node at a time for which the list has no index has no place in the definition. Measured: such nodes. Bound:
0.
"""
import json

CASE = "graphs with (1)-(3) | labels, read as steps of 2"
P = {"graph": '{"period": 3, "nodes": {"a": 1}, "edges": [["a", "a", 3]]}'}

G = json.loads(P["graph"])
m, time, edges = G["period"], G["nodes"], G["edges"]  # [u, v, s] leads from u to v over s steps of time

def cycles(path):  # the simple cycles that begin so
    on = [e for e in edges if e[0] == path[-1][1] and e[1] not in [v for _, v, _ in path]]
    return [path] if path[-1][1] == path[0][0] else [c for e in on for c in cycles([*path, e])]

sums = [sum(s for *_, s in c) for e in edges for c in cycles([e])]
residues = all((s - time[v] + time[u]) % m == 0 for u, v, s in edges)
premise = residues and sums != [] and (min(sums) > 0 or max(sums) < 0) and m % 2 == 1 and m > 1
print(f"premise (1) s = time(v) - time(u) mod m, (2) a cycle, (3) no cycle of time 0, m = {m} odd: {premise}")
labels = list(range(0, m, 2))
missing = [f"{v} at time {t}" for v, t in time.items() if t not in labels]
print(f"the labels are {labels}; measured {len(missing)} nodes without one ({', '.join(missing)}) against bound 0")
violated = premise and len(missing) > 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
