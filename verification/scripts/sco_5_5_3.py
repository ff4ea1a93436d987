"""sco-5.5.3 (scoRNN Sec. 5.5.3): the memory of scoRNN is that of a standard RNN and the n(n − 1)/2 entries of A; tried
with the n signs of D counted, which have to be kept, too.

Both have input and output matrices, biases, and n × n numbers of W. Measured: what scoRNN has more. Bound: n(n − 1)/2.
"""
CASE = "D counted | numbers stored beyond an RNN: n(n−1)/2"
P = {"n": "170"}

n, m, p = int(P["n"]), 1, 10
shared = {"W": n * n, "input": n * m, "output": p * n, "biases": n + p}
rnn, scornn = sum(shared.values()), sum(shared.values()) + n * (n - 1) // 2 + n  # A above the diagonal, D
print(f"n = {n}: RNN {rnn:,} numbers, scoRNN {scornn:,}, A {n * (n - 1) // 2:,} and D {n} of them")
print(f"measured {scornn - rnn:,} more against bound n(n − 1)/2 = {n * (n - 1) // 2:,}, to be equal")
violated = n >= 1 and scornn - rnn != n * (n - 1) // 2
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
