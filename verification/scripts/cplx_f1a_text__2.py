"""cplx-F1a-text (complexity Sec. 3.3, caption of Fig. 1): the text and the caption have the same feedforward depth d_f
of Figure 1(a), whatever the figure shows.

P has d_f as printed in the text and in the caption. Measured: that of the text. Bound: that of the caption, to be
equal.
Cases: no graph
"""
from fractions import Fraction

CASE = "Figure 1(a), no graph | d_f as printed in Sec. 3.3 and in the caption"
P = {"text": "3", "caption": "7/2"}

text, caption = Fraction(P["text"]), Fraction(P["caption"])
print(f"measured d_f = {text} in the text against bound d_f = {caption} in the caption")
violated = text != caption
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
