"""cplx-2-corr (complexity Sec. 2): cyclic graphs and unfolded graphs correspond one to one, so that different cyclic
graphs have different unfolded ones.

A graph: nodes v with times, edges [u, v, s]; unfolded, (t, u) → (t + s, v) for all t = time(u) mod m, m the period. A
node "a@1" of the second graph of P is at its times what "a" of the first is. Measured: whether both unfold to the same
graph, for all t from 0 to 60, and the numbers of their nodes. Bound: different if the graphs are.
Cases: different
"""
import json

CASE = "graphs with (1)-(3) | different G_c have different G_un"
P = {"graph": '{"period": 1, "nodes": {"a": 0}, "edges": [["a", "a", 1]]}',
     "other": '{"period": 2, "nodes": {"a@0": 0, "a@1": 1}, "edges": [["a@0", "a@1", 1], ["a@1", "a@0", 1]]}'}

one, other = json.loads(P["graph"]), json.loads(P["other"])

def cycles(edges, path):  # the simple cycles that begin so
    on = [e for e in edges if e[0] == path[-1][1] and e[1] not in [v for _, v, _ in path]]
    return [path] if path[-1][1] == path[0][0] else [c for e in on for c in cycles(edges, [*path, e])]

def unfolded(G):
    name = lambda v: v.partition("@")[0]
    return {((t, name(u)), (t + s, name(v))) for u, v, s in G["edges"] for t in range(61)
            if (t - G["nodes"][u]) % G["period"] == 0}

premise = True
for G in (one, other):
    sums = [sum(s for *_, s in c) for e in G["edges"] for c in cycles(G["edges"], [e])]
    residues = all((s - G["nodes"][v] + G["nodes"][u]) % G["period"] == 0 for u, v, s in G["edges"])
    premise = premise and residues and sums != [] and (min(sums) > 0 or max(sums) < 0)
print(f"premise both: (1) s = time(v) - time(u) mod m, (2), (3) cycles, all of one sign: {premise}")
same = unfolded(one) == unfolded(other)
print(f"measured: {len(one['nodes'])} and {len(other['nodes'])} nodes, one unfolded graph: {same}; bound: different graphs")
violated = premise and same and len(one["nodes"]) != len(other["nodes"])
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
