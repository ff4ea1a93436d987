"""both-5-no-assumptions (both versions, Discussion): without any assumption on the weights gradients do not vanish: the
contribution |∂E_k/∂w| does not decay exponentially in n − k.

One neuron, h = dt/2; the slopes s = σ′(A) are prescribed (the input follows), tanh A = −√(1 − s): a kick, words (s = 1
if not given), a tail. B = [[1 − h²κ, h], [−hκ, 1]], κ = α + w s; |∂E_k/∂w| = h s_k |y_{k−1} (yₙ − ȳ)[B_n ⋯ B_k]_12|.
It decays if e_y B_n ⋯ B_j over the tail is a left eigenvector of the word, |λ| < 1.
Cases: ∂E_k
"""
from fractions import Fraction as F
from mpmath import mp, mpf, nstr, sqrt

CASE = "w = -9, dt fixed, n → ∞ | |∂E_k/∂w|"
P = {"alpha": "4", "w": "-9", "dt": "1/5", "target": "1", "steps": "160", "kick": "3/4",
     "tail": "102288374498009641569860652/379370489983095428615152277 1/9 1/9 1/9 1/9 1/9 1/9 1/9 1/9 1/9 1/9 1/9 "
       "1/9 1/9"}

alpha, w, h, target, n = F(P["alpha"]), F(P["w"]), F(P["dt"]) / 2, F(P["target"]), int(P["steps"])
tail, word = ([F(x) for x in text.split()] for text in (P["tail"], P.get("word", "1")))
s = [F(P["kick"])] + word * ((n - 1 - len(tail)) // len(word)) + tail
mp.dps, real = 60, lambda x: mpf(x.numerator) / x.denominator
y, z = [mpf(0)], mpf(0)
for slope in s:
    z += real(h) * (sqrt(1 - real(slope)) - real(alpha) * y[-1])
    y.append(y[-1] + real(h) * z)
rows = {n + 1: (F(1), F(0))}  # e_y B_n ⋯ B_k, exactly
for k in range(n, 0, -1):
    p, q = rows[k + 1]
    rows[k] = p - h * (alpha + w * s[k - 1]) * (q + h * p), q + h * p
part = lambda k: abs(real(h * s[k - 1] * rows[k][1]) * y[k - 1] * (y[n] - real(target)))
late, k = n - len(tail) + 1, max(2, 1 + n // 16)
far, (p, q), (P1, Q1) = k + (n // 2 - k) // (2 * len(word)) * 2 * len(word), rows[late], rows[late - len(word)]
rate, premise = abs(Q1 / q), len(s) == n and k < far < late and 10 * k <= n
print(f"premise the words fill steps 2 to {late - 1} of n = {n}, k = {k} <= n/10: {'holds' if premise else 'fails'}")
print(f"left eigenvector of the word: {P1 * q == Q1 * p}, |lambda| = {rate}; 'bound': no decay like lambda^(n-k)")
print(f"measured |dE_k/dw| = {nstr(part(k), 10)} at k = {k} against {nstr(part(far), 10)} at k = {far}")
half = sqrt(real(rate)) ** ((far - k) // len(word))  # half of the decay, in the logarithm
violated = premise and P1 * q == Q1 * p and rate < 1 and part(k) < half * part(far)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
