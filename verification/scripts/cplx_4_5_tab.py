"""cplx-4.5-tab (complexity Secs 4.4, 4.5, Table 2): every skip coefficient s > 1 gains much on s = 1: 10 points of
accuracy or more; or: different s make the difference, so that two of the four architectures with different s are
further apart than two with the same s. (s is 1, 1, k/2, k for the architectures (1) to (4).)

P has the columns, "by s" that of s > 1 first, else two of different s and two of the same s, and the printed numbers.
Cases: 10 points or more on s = 1|than the same s
"""
import json
import re
from fractions import Fraction

CASE = "Table 2, by s: LSTM, pMNIST | every s > 1 gains 10 points or more on s = 1"
P = {"columns": "[\"3\", \"1\"]", "numbers": "25.0 28.5"}

columns, numbers = json.loads(P["columns"]), list(map(Fraction, P["numbers"].split()))
shown = ", ".join(f"{column}: {float(x)}" for column, x in zip(columns, numbers))
if "by architecture" in CASE:
    k = Fraction(re.search(r"k = (\d+)", CASE)[1])
    s = [{"(1)": Fraction(1), "(2)": Fraction(1), "(3)": k / 2, "(4)": k}[column] for column in columns]
    premise = s[0] != s[1] and s[2] == s[3]
    measured, bound = abs(numbers[0] - numbers[1]), abs(numbers[2] - numbers[3])
    print(f"premise {shown}: s = {', '.join(map(str, s))}, two that differ and two that do not: {premise}")
    print(f"measured {float(measured)} points between different s against bound: more than {float(bound)}, of the same s")
    violated = premise and not measured > bound
else:
    premise = int(columns[0]) > int(columns[1]) == 1
    measured = numbers[0] - numbers[1]
    print(f"premise {shown}: s = {columns[0]} > 1 and s = {columns[1]}: {premise}")
    print(f"measured gain {float(measured)} points against bound: at least 10")
    violated = premise and measured < 10
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
