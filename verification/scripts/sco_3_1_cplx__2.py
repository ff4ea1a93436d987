"""sco-3.1-cplx (scoRNN Sec. 1, Theorem 3.2): the complex case, W = C(A) D, A skew-Hermitian, D diagonal of modulus 1;
tried: Theorem 3.2 with * for T, but D as it stands: dL = ½ Re tr((V* − V)* dA), V = (I + A)⁻*(∂L/∂W)(D + W*).

C(A) = (I + A)⁻¹(I − A), * is conjugate transpose, dL = Re tr((∂L/∂W)* dW), G = ∂L/∂W. Measured: dL along dA, by a
difference quotient of W(A + ε dA), less the formula. Bound: 0. Matrices row by row, real and imaginary parts.
Cases: D as it stands
"""
from fractions import Fraction
from math import isqrt
from mpmath import inverse, mp, mpc, mpf, nstr

CASE = "skew-Hermitian A, n ≤ 3, D as it stands | Theorem 3.2 with * for T"
P = {"A_re": "0", "A_im": "1/2", "dA_re": "0", "dA_im": "1", "G_re": "1", "G_im": "0", "D_re": "0", "D_im": "1"}

mp.dps, eps = 150, mpf(10) ** -50
exact = {name: list(map(Fraction, text.split())) for name, text in P.items()}
number = lambda x: mpf(x.numerator) / x.denominator
flat = {name: [mpc(number(x), number(y)) for x, y in zip(exact[f"{name}_re"], exact[f"{name}_im"])]
        for name in ("A", "dA", "G", "D")}
n = isqrt(len(flat["A"]))
A, dA, G = (mp.matrix([flat[name][n * i : n * i + n] for i in range(n)]) for name in ("A", "dA", "G"))
D, I, trace = mp.diag(flat["D"]), mp.eye(n), lambda M: sum(M[i, i] for i in range(n)).real
W = lambda A: inverse(I + A) * (I - A) * D
skew = all(X[i, j] == -X[j, i].conjugate() for X in (A, dA) for i in range(n) for j in range(n))
premise = skew and all(x * x + y * y == 1 for x, y in zip(exact["D_re"], exact["D_im"]))
print(f"premise A, dA skew-Hermitian, |d_i| = 1: {'holds' if premise else 'fails'}")
measured = trace(G.H * (W(A + eps * dA) - W(A - eps * dA))) / (2 * eps)
V = inverse(I + A).H * G * (D + W(A).H)
formula = trace((V.H - V).H * dA) / 2
V = inverse(I + A).H * G * (D.H + W(A).H)
print(f"dL = {nstr(measured, 20)}; by the formula {nstr(formula, 20)}, with D* for D {nstr(trace((V.H - V).H * dA) / 2, 20)}")
print(f"measured |dL − formula| = {nstr(abs(measured - formula), 12)} against bound 0")
print("violated" if (violated := premise and abs(measured - formula) > mpf(10) ** -30) else "NOT violated")
raise SystemExit(0 if violated else 1)
