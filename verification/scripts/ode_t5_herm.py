"""ode-T5-herm (Appendix A, (38), (39)): Σ_l U_l ⊗ |l⟩⟨l−1| is unitary, and with its inverse process added Hermitian,
with imaginary eigenvalues; tried: (38) alone is unitary, a step plus its inverse has imaginary eigenvalues, a
step minus its inverse is Hermitian.

In the basis of the histories U_l … U_1 |w⟩ ⊗ |l⟩ the gates are identities: A = Σ_l |l⟩⟨l−1|, inverse Aᵀ. Measured:
the deviation of XᵀX from I; the largest squared real eigenvalue, XX; the deviation of Xᵀ from X. Bound: 0.
"""
CASE = "(38) alone | unitary"
P = {"T": "1"}

N = int(P["T"]) + 1
A = [[int(i == j + 1) for j in range(N)] for i in range(N)]
sign = 1 if "plus" in CASE else -1 if "minus" in CASE else 0
X = [[A[i][j] + sign * A[j][i] for j in range(N)] for i in range(N)]
print(f"T = {N - 1} gates, X =", X)
if CASE.endswith("unitary"):
    gram = [[sum(X[k][i] * X[k][j] for k in range(N)) for j in range(N)] for i in range(N)]
    measured = max(abs(gram[i][j] - (i == j)) for i in range(N) for j in range(N))
    print(f"XᵀX = {gram}: |T⟩ is sent to 0; measured deviation from I {measured} against bound 0")
elif CASE.endswith("Hermitian"):
    measured = max(abs(X[i][j] - X[j][i]) for i in range(N) for j in range(N))
    print(f"measured largest |X − Xᵀ| = {measured} against bound 0")
else:  # X symmetric: the eigenvalues are real, and imaginary only if all are 0, trace X² = Σ λ² = 0
    symmetric = all(X[i][j] == X[j][i] for i in range(N) for j in range(N))
    measured = sum(X[i][k] * X[k][i] for i in range(N) for k in range(N)) if symmetric else 0
    print(f"X is symmetric: {symmetric}; measured sum of the squared real eigenvalues {measured} against bound 0")
violated = N >= 2 and measured > 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
