"""cplx-PA.1.1-pf (complexity, proof of Prop. A.1.1): of a cycle of length l that takes the time σ_s, so many turns k are
enough, k > σ_s/(l ε), that (l/σ_s)/(k + 1) is at most ε.

(What is enough is k > l/(σ_s ε): the fraction is upside down.)
"""
from fractions import Fraction as F

CASE = "Prop. A.1.1, k > σ_s/(l ε) | (l/σ_s)/(k + 1) ≤ ε"
P = {"l": "2", "s": "1", "epsilon": "1/10", "k": "6"}

l, s, epsilon, k = (F(P[name]) for name in ("l", "s", "epsilon", "k"))
premise = min(l, s, epsilon, k) > 0 and k > s / (l * epsilon) and l.denominator == s.denominator == k.denominator == 1
print(f"premise l, σ_s, k whole, ε > 0, k = {k} > σ_s/(l ε): {'holds' if premise else 'fails'}")
measured = l / s / (k + 1)
print(f"measured (l/σ_s)/(k + 1) = {measured} against bound ε = {epsilon}")
violated = premise and measured > epsilon
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
