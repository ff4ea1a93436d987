"""ode-4-chang (Section 4): the AntisymmetricRNN of Chang et al., weight W - Wᵀ - γ I and forward Euler step, is a
special ARNN: its weight is anti-Hermitian, its step has bounded powers (for some eta; for eta |λ| < 2 as in Theorem
2).

Linear mode of the eigenvalue iλ - γ: ψ₊ = (1 + eta (iλ - γ)) ψ. Measured: the largest entry of X + X*, X = W - Wᵀ - γ
I (bound 0), or the squared modulus of the multiplier of a step (bound 1).
"""
from fractions import Fraction as F

CASE = "γ = 1/10 | W − Wᵀ − γ I is anti-Hermitian"
P = {"n": "1", "gamma": "1/10"}

def modulus2(eta, lam, gamma):  # |1 + eta (iλ - γ)|²
    return (1 - eta * gamma) ** 2 + (eta * lam) ** 2

premise = True
if "anti-Hermitian" in CASE:
    n, gamma = int(P["n"]), F(P["gamma"])
    W = [[F((3 * i + 5 * j + i * j) % 7 - 3) for j in range(n)] for i in range(n)]  # any W
    X = [[W[i][j] - W[j][i] - (gamma if i == j else 0) for j in range(n)] for i in range(n)]
    measured, bound = max(abs(X[i][j] + X[j][i]) for i in range(n) for j in range(n)), 0
    print(f"X + X* = -2γ I for every W: largest entry {measured} against bound {bound}")
elif "some η" in CASE:
    a, bound = F(P["a"]), 1
    measured = modulus2(a, F(1), F(0))
    # a polynomial in a of degree 2, told by 4 values of it: > 1 for every a > 0, so eta > 0 does not matter
    premise = a > 0 and all(modulus2(k * a, F(1), F(0)) - 1 == (k * a) ** 2 for k in range(1, 5))
    print(f"premise |multiplier|² - 1 = a² > 0 for every a = eta λ > 0: {'holds' if premise else 'fails'}")
else:
    eta, gamma, lam, bound = F(P["eta"]), F(P["gamma"]), F(P["lambda"]), 1
    premise, measured = 0 < eta and eta * abs(lam) < 2, modulus2(eta, lam, gamma)
    print(f"premise eta |λ| = {eta * abs(lam)} < 2: {'holds' if premise else 'fails'}")
print(f"measured {measured} against bound {bound}")
violated = premise and measured > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
