"""cplx-B.1 (complexity App. B.1): h_v = tanh(Σ_{u ∈ In(v)} W(u) h_u) defines h_v, In(v) the set of nodes from which an
edge leads to v, W(u) a matrix for each node u.

Two graphs in P with the same In(v) for every node, the same weights W (numbers: one neuron a node) and the input x; an
edge [u, v, s] passes what u was s steps ago, 0 before the first input. Measured: h of the node of P at the time of P in
both. Bound: equal, as the equation has nothing else in it.
Cases: determined
"""
import json
from fractions import Fraction
from mpmath import mp, mpf, nstr, tanh

CASE = "In(v) a set of nodes | h_v determined by In and W"
P = {"graph": '{"period": 1, "nodes": {"in": 0, "h1": 0, "out": 0}, "inputs": ["in"], "outputs": ["out"], "edges": '
              '[["in", "h1", 0], ["h1", "h1", 1], ["h1", "out", 0]]}',
     "other": '{"period": 1, "nodes": {"in": 0, "h1": 0, "out": 0}, "inputs": ["in"], "outputs": ["out"], "edges": '
              '[["in", "h1", 0], ["h1", "h1", 1], ["h1", "h1", 2], ["h1", "out", 0]]}',
     "node": "h1", "time": "2", "x": "1 0 0 0", "W(in)": "1", "W(h1)": "1/2"}

mp.dps = 50
number = lambda text: mpf(Fraction(text).numerator) / Fraction(text).denominator
x, W = list(map(number, P["x"].split())), {name[2:-1]: number(P[name]) for name in P if name.startswith("W(")}

def h(G, v, t):
    if v in G["inputs"]:
        return x[t] if 0 <= t < len(x) else mpf(0)
    return tanh(sum((W[u] * h(G, u, t - s) for u, w, s in G["edges"] if w == v and t >= s), mpf(0)))

graphs, v, t = [json.loads(P["graph"]), json.loads(P["other"])], P["node"], int(P["time"])
In = [{w: {u for u, head, _ in G["edges"] if head == w} for w in G["nodes"]} for G in graphs]
premise = In[0] == In[1] and all(s > 0 or u != w for G in graphs for u, w, s in G["edges"]) and v not in graphs[0]["outputs"]
print(f"premise the same In(v) for every node in both graphs: {'holds' if premise else 'fails'}: {In[0]}")
one, other = (h(G, v, t) for G in graphs)
print(f"measured h of {v} at time {t}: {nstr(one, 15)} and {nstr(other, 15)}; bound: equal")
violated = premise and abs(one - other) > mpf(10) ** -40
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
