"""sco-T1T2 (scoRNN Tables 1 to 3, Secs. 5.1, 5.2): the printed approximate numbers of parameters are those of the
models; tried as the count of everything that defines the model, with biases (and the initial state of the uRNNs).

Here for row 21 of 31: Table 2, full uRNN, n = 192, m = p = 129, printed 135k; the other rows agree. A unitary n × n
matrix has n² real dimensions, complex input and output matrices 2nm and 2np numbers, h_0 2n, the biases n and p.
Measured: the count. Bound: it reads as 135k, rounded or cut off.
Cases: rows
"""
CASE = "31 rows | parameters as defined, no part left out"
P = {"row": "21"}

rows = {"20": (128, 83), "21": (192, 135), "22": (256, 200)}  # full uRNN of Table 2: n, thousands as printed
n, printed = rows.get(P["row"], (0, 0))
m = p = 129
parts = {"unitary matrix": n * n, "input": 2 * n * m, "output": 2 * n * p, "biases": n + p, "h_0": 2 * n}
count = sum(parts.values())
premise = n > 0
print(f"premise row {P['row']} is a full uRNN of Table 2: {'holds' if premise else 'fails'}: n = {n}, m = p = {m}")
print(", ".join(f"{name}: {number:,}" for name, number in parts.items()))
print(f"measured {count:,} parameters against bound {printed}k: at least {printed * 1000 - 500:,}, below {printed + 1},000")
violated = premise and not printed * 1000 - 500 <= count < printed * 1000 + 1000
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
