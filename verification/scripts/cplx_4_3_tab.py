"""cplx-4.3-tab (complexity Sec. 4.3, Table 1 right): for a recurrent depth d_r = 3 increasing the feedforward depth d_f
only hurts; read strictly: of two columns (d_f, d_r) of the row, that with the larger d_f has more bits per character.

P has the two columns, that of the smaller d_f first, and what the table prints there.
"""
import json
from fractions import Fraction

CASE = "Table 1 right: text8, tanh RNN | d_r = 3: increasing d_f only hurts, strict"
P = {"columns": "[\"(2,3)\", \"(3,3)\"]", "numbers": "1.86 1.86"}

columns, numbers = json.loads(P["columns"]), list(map(Fraction, P["numbers"].split()))
depths = [tuple(map(int, column.strip("()").split(","))) for column in columns]
fixed = CASE.split(" | ")[1].split(":")[0]  # "d_r = 3"
same = 1 if fixed.startswith("d_r") else 0
premise = all(depth[same] == int(fixed[-1]) for depth in depths) and depths[0][1 - same] < depths[1][1 - same]
print(f"premise {fixed} in both, the other depth increases: {'holds' if premise else 'fails'}")
print(f"measured {columns[0]}: {float(numbers[0])}, {columns[1]}: {float(numbers[1])} bits; bound: the second is more")
violated = premise and not numbers[0] < numbers[1]
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
