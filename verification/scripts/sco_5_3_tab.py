"""sco-5.3-tab (scoRNN Sec. 5.3, Table 1, abstract): scoRNN does better than other unitary RNNs at a smaller size; read
as: for every uRNN of the table there is a better scoRNN with no more parameters (the abstract has: in some
experiments).

P has the accuracies of the best such scoRNN and of the uRNN, as printed. Bound: the first is the larger.
"""
from fractions import Fraction

CASE = "no more parameters | MNIST: for every uRNN a better scoRNN with no more parameters"
P = {"pair": "1", "numbers": "0.973 0.976"}

scornn, urnn = map(Fraction, P["numbers"].split())
print(f"measured scoRNN {float(scornn)}, uRNN {float(urnn)} on {CASE.split(' | ')[1].split(':')[0]}; bound: the first is larger")
violated = scornn <= urnn
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
