"""cplx-B.2b (complexity App. B.2, Sec. 4.4): with B.2's forget gates f_u = σ(Σ_{u' ∈ In(v)} W_{f_u}(u') h_u) an LSTM of
n units with one hidden edge and one of n′ units with two have about equally many parameters; read as: apart by at most
10 % of the smaller. Which parameters are counted is not said.

z, i, o read the input and the hidden edges. A forget gate for each edge: "printed index" has a matrix for every u' of
In(v), the input among them, all times h_u; "every edge" has one for the input and for each edge. Counted in 8 ways:
hidden matrices, with or without those of the input, the biases, the read-out.
Cases: numbers of parameters
"""
from itertools import product

CASE = "adding problem, 128 : 90, LSTM, printed index | numbers of parameters, apart by at most 10 %"
P = {"units": "128", "skip units": "90", "d": "2", "n_out": "1"}

n, skip, d, n_out = (int(P[name]) for name in ("units", "skip units", "d", "n_out"))

def count(n, edges, inputs, biases, readout):
    total = 3 * (edges * n * n + inputs * n * d + biases * n)  # z, i, o
    for _ in range(edges):  # forget gates
        if edges == 1:  # the usual one: the input and h(t − 1)
            total += n * n + inputs * n * d + biases * n
        elif "printed index" in CASE:  # a matrix for each u' of In(v), all of them times h_u, which has n numbers
            total += (edges + 1) * n * n + biases * n
        else:
            total += edges * n * n + inputs * n * d + biases * n
    return total + readout * (n + 1) * n_out

premise = 0 < skip < n
print(f"premise {n} units with one edge, {skip} with two, fewer: {'holds' if premise else 'fails'}")
agree = []
for way in product((0, 1), repeat=3):
    one, other = count(n, 1, *way), count(skip, 2, *way)
    agree.append(abs(other - one) * 10 <= min(one, other))
    names = ", ".join(["hidden", *(x for x, chosen in zip(("input", "biases", "read-out"), way) if chosen)])
    print(f"{names}: measured {one:,} against {other:,}: {100 * (other - one) / one:+.1f} %, bound ±10 %")
violated = premise and not any(agree)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
