"""ode-C1 (Claim 1, L = 1, n = 1, constant coefficients, any functions): every LSTM has the states of such an ODERNN
with at most 6 linear forms: each new state is a sum Σ_m φ_m(a_m h + b_m c), m <= N <= 6.

An LSTM with the forget gate s(h) = σ̂(h), all other weights 0, has c₊ = s(h) c. D_m = b_m ∂_h - a_m ∂_c annihilates
φ_m, so D_1…D_N would annihilate c₊. But D_1…D_N c₊ = (Π b_j) s^(N)(h) c - Σ_m a_m (Π_{j≠m} b_j) s^(N-1)(h): with all
b_j ≠ 0 the first term is not 0 for large c; if b_m = 0 (one m at most) what is left is -a_m (Π b_j) s^(N-1) ≠ 0.
Measured: D_1…D_N c₊, exactly, at s(h) = 1/3, c = 10^6, for forms of both kinds. Bound: 0.
Cases: linear forms
"""
from fractions import Fraction as F

CASE = "L = 1, constant coefficients, any functions | an ODERNN with the states of an LSTM, n = 1, at most 6 linear forms"
P = {"N": "6"}

N, c = max(1, int(P["N"])), F(10**6)
premise = int(P["N"]) == N <= 6
derivatives = [[F(0), F(1)]]  # s^(k) as a polynomial in s, by s' = s - s²
for _ in range(N):
    inner = [e * x for e, x in enumerate(derivatives[-1])][1:]
    derivatives.append([u - v for u, v in zip([0, *inner, 0], [0, 0, *inner])])
value = [sum(x * F(1, 3) ** e for e, x in enumerate(poly)) for poly in derivatives]
print(f"premise 1 <= N = {P['N']} <= 6: {'holds' if premise else 'fails'}; s^(k) at s = 1/3:", *value)

def annihilated(forms):  # of s(h) c; terms s^(k)(h) c^power
    terms = {(0, 1): F(1)}
    for a, b in forms:
        new = {}
        for (k, power), x in terms.items():
            new[k + 1, power] = new.get((k + 1, power), 0) + b * x
            new[k, power - 1] = new.get((k, power - 1), 0) - a * x * power
        terms = new
    return sum(x * value[k] * c**power for (k, power), x in terms.items())
forms = [(F(m), F(1)) for m in range(N)]
measured = [annihilated(forms), annihilated([(F(1), F(0)), *forms[1:]])]
for kind, x in zip(("all b_j ≠ 0", "one b_m = 0"), measured):
    print(f"{kind}: measured D_1…D_{N} c₊ = {float(x):.8g} against bound 0")
violated = premise and all(measured) and value[N] != 0 and value[N - 1] != 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
