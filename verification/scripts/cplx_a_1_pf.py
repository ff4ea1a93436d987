"""cplx-A.1-pf (complexity, proof of Thm A.1): a path γ₀ takes the time D(γ₀) = t̄_end − t̄_0 + Σ σ(e), t̄ the times of
its first and last node; and |D(γ₀)| ≤ m + Γ max σ, Γ the number of nodes. For graphs with (1) to (3) in which the time
Σ σ of every cycle is > 0, (U).

A graph: nodes v with times, edges [u, v, σ] from (t, u) to (t + σ, v), repeated with the period m. Measured: the time
that the path of P takes when it is walked in the unfolded graph.
Cases: D.γ₀
"""
import json

CASE = "graphs with (1)-(3), (U) | D(γ₀) = t̄_end − t̄_0 + Σσ"
P = {"graph": '{"period": 2, "nodes": {"a": 0, "b": 1}, "edges": [["a", "b", 1], ["b", "a", 1]]}',
     "path": '[["a", "b", 1]]'}

G, path = json.loads(P["graph"]), json.loads(P["path"])
m, time, edges = G["period"], G["nodes"], G["edges"]

def cycles(path):  # the simple cycles that begin so
    on = [e for e in edges if e[0] == path[-1][1] and e[1] not in [v for _, v, _ in path]]
    return [path] if path[-1][1] == path[0][0] else [c for e in on for c in cycles([*path, e])]

C = [c for e in edges for c in cycles([e])]
premise = C != [] and all(sum(s for *_, s in c) > 0 for c in C) and all(e in edges for e in path)
premise = premise and all((s - time[v] + time[u]) % m == 0 for u, v, s in edges)
t, v = time[path[0][0]], path[0][0]  # walked step by step
for u, w, s in path:
    premise, t, v = premise and u == v, t + s, w
taken, printed = t - time[path[0][0]], time[v] - time[path[0][0]] + sum(s for *_, s in path)
print(f"premise (1) to (3), (U), a path of the graph: {'holds' if premise else 'fails'}")
if "≤" in CASE:
    measured, bound = max(abs(taken), abs(printed)), m + len(time) * max(s for *_, s in edges)
    print(f"measured |D| = {measured}, whether D is the time taken or the formula, against bound m + Γ max σ = {bound}")
    violated = premise and measured > bound
else:
    print(f"measured: the path takes the time {taken}; the formula gives {printed}")
    violated = premise and taken != printed
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
