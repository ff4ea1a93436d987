"""sco-T1T2 (scoRNN Tables 2 and 3, Sec. 5.1): the number of parameters that is printed for a uRNN is that of the model,
everything counted that defines it, biases and initial state included.

n units, m inputs, p outputs; a complex number counts twice. A unitary n × n matrix has n² real dimensions; that of the
restricted uRNN is made of three diagonals of n phases and two complex vectors, 7n. Complex matrices of inputs and
outputs: 2nm and 2np; h_0: 2n; biases n and p. Measured: the count. Bound: rounded to thousands it is what is printed.
Cases: printed
"""
from fractions import Fraction

CASE = "Table 2: full uRNN, n = 192 | parameters, printed 135k"
P = {"n": "192", "m": "129", "p": "129"}

n, m, p = (int(P[name]) for name in "nmp")
printed = Fraction(CASE.rsplit(" ", 1)[1].removesuffix("k"))
premise = min(n, m, p) > 0 and f"uRNN, n = {n} |" in CASE and printed.denominator == 1 and printed % 10 != 0
print(f"premise n = {n} units, m = {m}, p = {p}, as in {CASE.split(' | ')[0]}: {'holds' if premise else 'fails'}")
parts = {"unitary matrix": n * n if "full" in CASE else 7 * n, "input": 2 * n * m, "output": 2 * n * p,
         "biases": n + p, "h_0": 2 * n}
count = sum(parts.values())
print(", ".join(f"{name}: {number:,}" for name, number in parts.items()))
print(f"measured {count:,} parameters against bound {printed}k: at least {printed * 1000 - 500}, below {printed * 1000 + 500}")
violated = premise and not printed * 1000 - 500 <= count < printed * 1000 + 500
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
