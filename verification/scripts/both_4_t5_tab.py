"""both-4-T5-tab (UnICORNN, both versions, Sec. 4 and Table 5, IMDB), tried: UnICORNN has fewer parameters than every
other network of the table, by one half of theirs or more.

P has two columns of the table, that of UnICORNN first, and the parameters that are printed there, in thousands.
"""
import json
from fractions import Fraction

CASE = "Table 5: IMDB, parameters | UnICORNN has fewer, by 1/2 or more"
P = {"columns": "[\"UnICORNN\", \"coRNN\"]", "numbers": "30 46"}

(one, other), (ours, theirs) = json.loads(P["columns"]), map(Fraction, P["numbers"].split())
share = Fraction(CASE.split("by ")[1].split()[0])
premise = one == "UnICORNN" != other and theirs > 0
print(f"premise {one} and another network, {other}: {'holds' if premise else 'fails'}")
print(f"measured {ours}k against bound (1 - {share}) {theirs}k = {float((1 - share) * theirs)}k; fewer by {1 - ours / theirs}")
violated = premise and ours > (1 - share) * theirs
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
