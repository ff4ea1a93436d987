"""ode-Q4 (Section 3.2): a QUNN with N hidden layers has the order t = N: some output depends on x_{l−N}; tried with
blocks of T = N inputs.

z_0 = x_l ⊗ e_k, z_i = (α_i + β_i x_{l−i+1} x_{l−i} ⊗ P) z_{i−1} for i ≤ k = l mod T, P the next state of the clock;
o_l: the part of z_N on e_{k+1} (reconstructed). Measured: the largest lag at which a change of an input changes an
output of the first two blocks. Bound: N.
Cases: x_.l−N.
"""
from fractions import Fraction as F

CASE = "N = T | t = N: an output that depends on x_{l−N}"
P = {"N": "2"}

N = int(P["N"])
T = N if CASE.startswith("N = T |") else N + 1

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

inputs, lags = [F(k + 2) for k in range(2 * T)], [0]
for l in range(2 * T):
    lags += [l - k for k in range(l) if output([v + (j == k) for j, v in enumerate(inputs)], l) != output(inputs, l)]
print(f"N = {N}, T = {T}: outputs of two blocks:", *(output(inputs, l) for l in range(2 * T)))
print(f"measured lag {max(lags)}, of a change of an input that is seen, against bound N = {N}")
violated = N >= 1 and max(lags) != N
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
