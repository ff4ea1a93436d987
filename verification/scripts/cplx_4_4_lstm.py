"""cplx-4.4-lstm (complexity Sec. 4.4, App. B.2): an LSTM of n units with one hidden edge, h(t − 1), and one of n′ units
with two, h(t − 1) and h(t − k), have about equally many parameters; read as: apart by at most 10 % of the smaller, or
by no more than one unit more or less of the second makes. Which parameters are counted is not said.

App. B.2: z, i, o read the input and both edges; each edge has a forget gate of its own, which here reads the input and
every edge. Counted in 8 ways: hidden matrices, with or without those of the input, the biases, the read-out.
"""
from itertools import product

CASE = "adding problem, 128 : 90, LSTM, every edge | numbers of parameters, apart by at most 10 %"
P = {"units": "128", "skip units": "90", "d": "2", "n_out": "1"}

n, skip, d, n_out = (int(P[name]) for name in ("units", "skip units", "d", "n_out"))

def count(n, edges, inputs, biases, readout):
    total = 0
    for gate in ["z", "i", "o", *[f"forget edge {e}" for e in range(edges)]]:
        total += edges * n * n + inputs * n * d + biases * n  # one matrix an edge, one of the input, a bias
    return total + readout * (n + 1) * n_out

premise = 0 < skip < n
print(f"premise {n} units with one edge, {skip} with two, fewer: {'holds' if premise else 'fails'}")
agree = []
for way in product((0, 1), repeat=3):
    one, other = count(n, 1, *way), count(skip, 2, *way)
    fewer, more = count(skip - 1, 2, *way), count(skip + 1, 2, *way)
    agree.append(abs(other - one) * 10 <= min(one, other) if "10 %" in CASE else fewer <= one <= more)
    names = ", ".join(["hidden", *(x for x, chosen in zip(("input", "biases", "read-out"), way) if chosen)])
    print(f"{names}: {one:,} against {other:,} ({100 * (other - one) / one:+.1f} %; {fewer:,} to {more:,} with a unit less or more)")
print(f"measured: {CASE.split(', apart ')[1]} in {sum(agree)} of 8 ways, bound: at least one")
violated = premise and not any(agree)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
