"""ode-Q4 (Section 3.2): a QUNN with N hidden layers is an N-N-ODERNN, n = N nested functions; tried with the first
stage σ_0 = σ counted as a layer.

z_0 = σ_0(x_l ⊗ e_k), z_i = σ(α_i z_{i−1} + β_i …) for i = 1, …, N, k the place of x_l in its block; o_l is a part of
z_N. Measured: how many times a function is applied on the longest way to o_l. Bound: N.
Cases: nested functions
"""
CASE = "σ_0 = σ | n = N nested functions"
P = {"N": "1"}

N = int(P["N"])
nested = 0 if "linear" in CASE else 1  # σ_0(x)
print(f"z_0: {nested} nested functions of x_l")
for i in range(1, N + 1):
    nested += 1  # z_i = σ(linear in z_{i−1})
    print(f"z_{i}: {nested}")
print(f"measured {nested} nested functions of o_l against bound N = {N}")
violated = N >= 1 and nested != N
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
