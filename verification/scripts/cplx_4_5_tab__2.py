"""cplx-4.5-tab (complexity Sec. 4.5): the authors' tanh RNN with skips, "stanh", has 25 % of the parameters of an LSTM;
the size of the LSTM is not printed. Which parameters are counted is not said.

stanh: one pixel of input, 10 classes, a hidden matrix for h(t − 1) and one for h(t − k). LSTM: four gates that read the
input and h(t − 1). Counted in 8 ways: hidden matrices, with or without those of the input, the biases, the read-out.
Measured: the share in percent. Bound: 25, to half a percent, in one of the ways.
Cases: share of parameters
"""
from fractions import Fraction
from itertools import product

CASE = "stanh of 95 units against an LSTM of 128 units (inferred) | share of parameters"
P = {"units": "95", "lstm units": "128"}

n, lstm, d, n_out = int(P["units"]), int(P["lstm units"]), 1, 10
shares = []
for inputs, biases, readout in product((0, 1), repeat=3):
    ours = 2 * n * n + inputs * n * d + biases * n + readout * (n + 1) * n_out
    theirs = 4 * (lstm * lstm + inputs * lstm * d + biases * lstm) + readout * (lstm + 1) * n_out
    shares.append(Fraction(100 * ours, theirs))
    names = ["hidden", *(x for x, chosen in zip(("input", "biases", "read-out"), (inputs, biases, readout)) if chosen)]
    print(f"{', '.join(names)}: measured {ours:,} of {theirs:,} parameters, {float(shares[-1]):.1f} %, bound 25 %")
violated = n > 0 and lstm > 0 and not any(abs(share - 25) <= Fraction(1, 2) for share in shares)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
