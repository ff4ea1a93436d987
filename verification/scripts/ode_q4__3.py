"""ode-Q4 (Section 3.2): the memory scale of a QUNN exceeds that of LSTM and URNN; read as:
inputs matter at least as long.

Two inputs that differ at time 0 only, all others 1, all weights 1. QUNN (reconstructed, N = T layers, linear σ): o_l
sees the block of l only. LSTM: h = o tanh(c), c = f c + i tanh(a), all gates the logistic function of a = h + x. URNN:
h = W h + x, W = −1. Measured: the difference of the outputs at time l for both. Bound: 0, if 0 for the QUNN.
Cases: at least as long
"""
from fractions import Fraction as F
from mpmath import exp, mp, mpf, nstr, tanh

CASE = "QUNN against LSTM | inputs matter at least as long as in LSTM"
P = {"T": "4", "l": "8", "first": "0 1"}

T, l, first = int(P["T"]), int(P["l"]), [F(x) for x in P["first"].split()]
N, mp.dps = T, 60
def output(x, l):  # o_l of the QUNN with one input a step, weights α_i = β_i = 1 and linear σ; clock states 0, …, T
    k, z = l % T, [F(0)] * (T + 1)
    z[k] = x[l]
    for i in range(1, N + 1):
        new = list(z)
        if i <= k:  # W_i = 1 + x_{l−i+1} x_{l−i} ⊗ P, P e_c = e_{c+1}
            for c in range(T + 1):
                new[(c + 1) % (T + 1)] += x[l - i + 1] * x[l - i] * z[c]
        z = new
    return z[k + 1]
def other(x):
    h = c = mpf(0)
    for v in x:
        a = h + mpf(v.numerator) / v.denominator
        gate = 1 / (1 + exp(-a))
        c = gate * c + gate * tanh(a)
        h = gate * tanh(c) if "LSTM" in CASE else a - 2 * h  # URNN: −h + x
    return h
runs = [[value, *[F(1)] * l] for value in first]
qunn, apart = abs(output(runs[0], l) - output(runs[1], l)), abs(other(runs[0]) - other(runs[1]))
print(f"T = {T}, l = {l}: measured difference {nstr(apart, 10)} of {CASE.split(' | ')[0].split()[-1]} against bound {qunn}, of the QUNN")
violated = qunn == 0 and apart > mpf(10) ** -40
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
