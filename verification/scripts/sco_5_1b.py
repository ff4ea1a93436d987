"""sco-5.1b (scoRNN Sec. 5.1): copying problem, sequences of T + 20 entries with a marker 9 ten time steps before the
end; tried: that these words put the 9 at one position.

Read as: ten time steps come after the 9; or: the 9 is the tenth entry from the end. Each position of P is written out
as a sequence. Measured: positions that one of the readings admits. Bound: one.
"""
CASE = "scornn alone | one position of the 9"
P = {"T": "1000", "p": "1010 1011"}

length, admitted = int(P["T"]) + 20, []
for p in dict.fromkeys(map(int, P["p"].split())):
    sequence = ["9" if place == p else "0" for place in range(1, length + 1)]
    after = sequence[::-1].index("9") if "9" in sequence else None
    readings = [text for text, holds in (("ten steps after it", after == 10), ("tenth from the end", after == 9)) if holds]
    print(f"the 9 at entry {p} of {length}: {after} entries after it; {' and '.join(readings) or 'no reading'}")
    admitted += [p] if readings else []
print(f"measured {len(admitted)} positions, {', '.join(map(str, admitted))}, against bound 1")
violated = len(admitted) > 1
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
