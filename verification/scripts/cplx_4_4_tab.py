"""cplx-4.4-tab (complexity Sec. 4.4, Table 2 top), tried: on permuted sequential MNIST the accuracy of the tanh RNN
rises from each skip coefficient s to the next one, up to s = 9; that of the LSTM is higher at every s > 1 than at s = 1.

P has two columns, named by their s, that of the smaller s first, and what the table prints there, in percent.
Cases: s > 1 above s = 1|rising
"""
import json
from fractions import Fraction

CASE = "Table 2, by s: LSTM, pMNIST | every s > 1 above s = 1"
P = {"columns": "[\"1\", \"3\"]", "numbers": "28.5 25.0"}

columns, numbers = list(map(int, json.loads(P["columns"]))), list(map(Fraction, P["numbers"].split()))
premise = 1 <= columns[0] < columns[1] <= 9 and (columns[0] == 1 or "rising" in CASE)
print(f"premise s = {columns[0]} < s = {columns[1]}, of {CASE.split(': ')[1]}: {'holds' if premise else 'fails'}")
print(f"measured {float(numbers[1])} at s = {columns[1]} against bound: more than {float(numbers[0])} at s = {columns[0]}")
violated = premise and not numbers[1] > numbers[0]
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
