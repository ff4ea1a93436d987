"""cplx-B.1 (complexity App. B.1, Sec. 4.4): h_v = tanh(Σ_{u ∈ In(v)} W(u) h_u) with a matrix for each node u; a tanh
RNN of n units with s = 1 and one of n′ units with two hidden edges have about equally many parameters; read as: apart
by at most 10 % of the smaller. Which parameters are counted is not said.

A matrix a node is one hidden matrix, h → h, for both networks, however many edges there are. Counted in 8 ways: hidden
matrix, with or without that of the input, the bias, the read-out.
Cases: numbers of parameters
"""
from itertools import product

CASE = "copying memory, 724 : 512, tanh, by node | numbers of parameters, apart by at most 10 %"
P = {"units": "724", "skip units": "512", "d": "10", "n_out": "10"}

n, skip, d, n_out = (int(P[name]) for name in ("units", "skip units", "d", "n_out"))

def count(n, inputs, bias, readout):
    return n * n + inputs * n * d + bias * n + readout * (n + 1) * n_out

premise = 0 < skip < n
print(f"premise {n} units with one edge, {skip} with two, fewer: {'holds' if premise else 'fails'}")
agree = []
for way in product((0, 1), repeat=3):
    one, other = count(n, *way), count(skip, *way)
    agree.append(abs(other - one) * 10 <= min(one, other))
    names = ", ".join(["hidden", *(x for x, chosen in zip(("input", "bias", "read-out"), way) if chosen)])
    print(f"{names}: measured {one:,} against {other:,}: {100 * (other - one) / one:+.1f} %, bound ±10 %")
violated = premise and not any(agree)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
