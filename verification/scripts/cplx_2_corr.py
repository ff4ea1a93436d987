"""cplx-2-corr (complexity Sec. 2): the period m of the cyclic graph is the smallest number of steps by which the
unfolded graph can be shifted in time and is what it was.

A graph: nodes v with times, edges [u, v, s]; unfolded, (t, u) → (t + s, v) for all t = time(u) mod m. Measured: whether
the shift of P, with nodes renamed as P says (a node for each, in their order), maps the unfolded graph on itself, for
all t from 0 to 20 m. Bound: no shift smaller than m does.
Cases: smallest period
"""
import json

CASE = "graphs with (1)-(3) | m is the smallest period of G_un"
P = {"graph": '{"period": 2, "nodes": {"a": 0, "b": 1}, "edges": [["a", "b", 1], ["b", "a", 1]]}',
     "shift": "1", "images": "b a"}

G, shift = json.loads(P["graph"]), int(P["shift"])
m, time, edges = G["period"], G["nodes"], G["edges"]
image = dict(zip(time, P["images"].split()))

def cycles(path):  # the simple cycles that begin so
    on = [e for e in edges if e[0] == path[-1][1] and e[1] not in [v for _, v, _ in path]]
    return [path] if path[-1][1] == path[0][0] else [c for e in on for c in cycles([*path, e])]

def unfolded(low, high):  # the edges that start from low to high
    return {((t, u), (t + s, v)) for u, v, s in edges for t in range(low, high) if (t - time[u]) % m == 0}

sums = [sum(s for *_, s in c) for e in edges for c in cycles([e])]
residues = all((s - time[v] + time[u]) % m == 0 for u, v, s in edges)
premise = residues and sums != [] and (min(sums) > 0 or max(sums) < 0) and sorted(image.values()) == sorted(time)
print(f"premise (1) s = time(v) - time(u) mod m, (2), (3) cycles, all of one sign; names exchanged one by one: {premise}")
moved = {((t + shift, image[u]), (r + shift, image[v])) for (t, u), (r, v) in unfolded(0, 20 * m)}
same = moved == unfolded(shift, 20 * m + shift)
print(f"shifted by {shift}, with {image}, the unfolded graph is {'itself' if same else 'another'}")
print(f"measured {shift if same else 'no'} step(s) of a shift that keeps it, against bound: none below m = {m}")
violated = premise and same and 0 < shift < m
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
