"""cplx-4.5 (complexity Sec. 4.5, Fig. 2(b)): architecture (3) with skips over k steps has the skip coefficient s = k/2;
tried for every k ≥ 1, though the section has k > 1.

A graph: nodes v with times, edges [u, v, σ] over σ steps. s = 1/j (Def. 3.3, Thm 3.6), j the smallest l/σ, length by
time, of a directed cycle. k is the σ of the longest edge. Measured: s of the graph of P. Bound: k/2.
"""
import json
from fractions import Fraction as F

CASE = "(3), 1 ≤ k ≤ 64 | s"
P = {"graph": '{"period": 1, "nodes": {"in": 0, "h1": 0, "h2": 0, "out": 0}, "inputs": ["in"], "outputs": ["out"], '
              '"edges": [["h1", "h1", 1], ["h1", "h2", 0], ["h2", "h1", 1], ["h2", "h2", 1], ["h2", "out", 0], '
              '["in", "h1", 0]]}'}

edges = json.loads(P["graph"])["edges"]

def cycles(path):  # the simple cycles that begin so
    on = [e for e in edges if e[0] == path[-1][1] and e[1] not in [v for _, v, _ in path]]
    return [path] if path[-1][1] == path[0][0] else [c for e in on for c in cycles([*path, e])]

k = max(s for *_, s in edges)
found = {tuple(map(tuple, c)): (len(c), sum(s for *_, s in c)) for e in edges for c in cycles([e])}
premise = found != {} and all(s > 0 for _, s in found.values()) and CASE.startswith("(3)")
print(f"premise cycles, all forward in time: {'holds' if premise else 'fails'}; k = {k}")
for cycle, (l, s) in found.items():
    print(f"cycle {' -> '.join(u for u, *_ in cycle)}: l/σ = {l}/{s}")
measured, bound = max(F(s, l) for l, s in found.values()), F(k, 2)
print(f"measured s = {measured} against bound k/2 = {bound}")
violated = premise and measured != bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
