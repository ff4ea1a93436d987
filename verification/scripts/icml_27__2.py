"""icml-(27) (S(27)): for dt ≪ 1, ‖dX^L_n/dX^l_k‖_∞ ≤ dt^{L−l} Π_{q>l} |V^q| (1 + 2γ(n−k)dt) ≤ V̄ dt^{L−l} (1 + 2γtₙ),
γ = K + K²/2, K = max(2, |w^L| + α), V̄ = Π max(1, |V^q|).

One neuron a layer, h = dt/2 (c = 0), zero states: zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V y^{l−1}_n + b) + α yₙ₋₁), yₙ = yₙ₋₁ +
h zₙ, y⁰ = u; n = N. Derivatives by complex steps Im X^L_n(X^l_k + iε)/ε. The other neurons of the printed network rest.
Cases: printed [^ ,]+ [|]
"""
from fractions import Fraction
from mpmath import mp, mpc, mpf, nstr, tanh

CASE = "printed nCIFAR | ‖dX^L_n/dX^L_k‖_∞"
P = {"alpha": "13", "dt": "63/500", "N": "201", "k": "1", "layer": "1", "w": "-14", "V": "0", "b": "0", "u": "0",
     "target": "0"}

mp.dps, eps = 50, mpf(10) ** -300
row = lambda name: [mpf(x.numerator) / x.denominator for x in map(Fraction, P[name].split())]
(alpha,), w, b, V, N, l = row("alpha"), row("w"), row("b"), row("V"), int(P["N"]), int(P["layer"])
(dt,), k, L, u = row("dt"), int(P["k"]), len(w), row("u") * (N if " " not in P["u"] else 1)
row_of = {"nCIFAR": "13 0.126", "psMNIST-128": "12.53 0.482", "psMNIST-256": "30.65 0.19", "IMDB": "0 0.205",
          "EigenWorms": "0 0.0343", "RR": "9 0.011", "HR": "10 0.046"}[CASE.split(" ")[1]]  # alpha, dt of Table 6
premise = list(map(Fraction, row_of.split())) == [Fraction(P["alpha"]), Fraction(P["dt"])] and l == L and 1 <= k < N
print(f"premise alpha, dt of Table 6, l = L = {L}, 1 <= k < n = {N}: {'holds' if premise else 'fails'}")
K, sums = max(2, abs(w[-1]) + alpha), [0, 0]
for moved in (0, 1):
    y, z = [mpc(0)] * L, [mpc(0)] * L
    for j in range(1, N + 1):
        for q in range(L):
            A = w[q] * y[q] + V[q] * (y[q - 1] if q else u[j - 1]) + b[q]
            z[q] -= dt / 2 * (tanh(A) + alpha * y[q])
            y[q] += dt / 2 * z[q]
            (y, z)[moved][q] += mpc(0, eps) if (q + 1, j) == (l, k) else 0
    sums = [s + abs(x[-1].imag) / eps for s, x in zip(sums, (y, z))]  # row sums of dX^L_n/dX^l_k
bound = 1 + (2 * K + K**2) * (N - k) * dt
print(f"measured {nstr(max(sums), 12)} against bound {nstr(bound, 12)}")
violated = premise and max(sums) > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
