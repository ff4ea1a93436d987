"""cplx-F1a-text (complexity Sec. 3.3): in Figure 1(a) the feedforward depth d_f is 3; the caption has d_f = 7/2.

d_f is the largest l − σ d_r of a path from an input to an output, l its length, σ the time that it takes (Thm 3.4), and
d_r the largest l/σ of a directed cycle (Thm 3.2). The graph of P, of period 2, is read off the figure: nodes with
times, edges [u, v, σ]. Measured: d_f of the graph. Bound: 3, to which it is to be equal.
Cases: [)] [|] d_f$
"""
import json
from fractions import Fraction as F

CASE = "Figure 1(a) | d_f"
P = {"graph": '{"period": 2, "nodes": {"1": 0, "2": 0, "3": 0, "4": 0, "5": 1, "6": 1, "7": 1, "8": 1}, '
              '"inputs": ["1", "5"], "outputs": ["4", "8"], "edges": [["1", "2", 0], ["2", "3", 0], ["3", "4", 0], '
              '["5", "6", 0], ["6", "7", 0], ["7", "8", 0], ["3", "6", 1], ["7", "3", 1], ["3", "3", 2]]}'}

G = json.loads(P["graph"])
m, time, edges = G["period"], G["nodes"], G["edges"]
sigma = lambda path: sum(s for *_, s in path)

def paths(path, ends):  # the simple paths and cycles that begin so and end there
    on = [e for e in edges if e[0] == path[-1][1] and e[1] not in [v for _, v, _ in path]]
    here = [path] if path[-1][1] in ends else []
    return here if path[-1][1] == path[0][0] else here + [p for e in on for p in paths([*path, e], ends)]

cycles = [c for e in edges for c in paths([e], [e[0]]) if c[-1][1] == e[0]]
premise = all((s - time[v] + time[u]) % m == 0 for u, v, s in edges) and all(sigma(c) > 0 for c in cycles)
d_r = max(F(len(c), sigma(c)) for c in cycles)
print(f"premise (1) to (3), every cycle forward in time: {'holds' if premise else 'fails'}; d_r = {d_r}")
best = max((p for e in edges if e[0] in G["inputs"] for p in paths([e], G["outputs"])),
           key=lambda p: len(p) - sigma(p) * d_r)
measured = len(best) - sigma(best) * d_r
print(f"along {' -> '.join([best[0][0], *(v for _, v, _ in best)])}: l = {len(best)}, σ = {sigma(best)}")
print(f"measured d_f = {measured} against bound 3, as printed")
violated = premise and measured != 3
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
