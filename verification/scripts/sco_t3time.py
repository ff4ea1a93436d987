"""sco-T3time (scoRNN Sec. 5.5.3, Table 3): RNN and LSTM are the fastest of all models, whatever n is; read to the
digit: no RNN or LSTM of the table takes as many minutes an epoch as any other model.

P has the minutes of an RNN or LSTM and of another model, as printed. Bound: the first is the smaller.
"""
from fractions import Fraction

CASE = "RNN and LSTM | minutes: fastest, to the digit"
P = {"pair": "41", "numbers": "5.6 5.3"}

one, other = map(Fraction, P["numbers"].split())
print(f"measured {float(one)} minutes of an RNN or LSTM, {float(other)} of another model (pair {P['pair']}); bound: the first is less")
violated = one >= other
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
