"""icml-(27) (S(27)): ‖dX^L_n/dX^l_k‖_∞ ≤ dt^{L−l} Π_{q>l} |V^q| (1 + 2γ(n−k)dt), γ = K + K²/2, K = max(2, |w^L| + α).
A printed network, weights as App. A may draw them: 0 ≤ w ≤ 1, |V| ≤ √(6/(65 fan_in)), b = c = 0; real u is in [0, 1].
One neuron a layer, h = dt/2, zero states, n = N: zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V y^{l−1}_n + b) + α yₙ₋₁), yₙ = yₙ₋₁ +
h zₙ, y⁰ = u. By complex steps, Im X^L_n(X^l_k + iε)/ε.
Cases: range
"""
from fractions import Fraction
from mpmath import fprod, mp, mpc, mpf, nstr, tanh

CASE = "printed RR, the initialisation's range, real inputs | ‖dX^L_n/dX^l_k‖_∞, with (n−k)dt"
P = {'alpha': '9', 'dt': '11/1000', 'N': '80', 'k': '1', 'w': '1/2 1/2 1/2', 'layer': '1',
     'V': '4833/25000 603/25000 603/25000', 'b': '0 0 0',
     'u': ('0 5/16 9/16 0 0 13/16 5/8 5/16 0 15/16 0 1/2 0 3/4 0 1/2 0 1/2 0 1/2 0 11/16 1/16 7/16 0 7/8 5/8 0 0 3/8 '
           '5/8 0 0 0 13/16 0 0 0 1 0 0 3/16 1 0 0 15/16 1 0 0 1/16 1 0 0 1/16 1 0 0 1/16 1 0 0 0 1 0 0 0 15/16 0 0 '
           '3/16 15/16 0 0 1/2 1/2 0 0 1/16 15/16 0'), 'target': '0'}

mp.dps, eps, F = 50, mpf(10) ** -300, {name: list(map(Fraction, text.split())) for name, text in P.items()}
(alpha,), (dt,), w, b, V, u = ([mpf(x.numerator) / x.denominator for x in F[name]] for name in "alpha dt w b V u".split())
L, N, l, k, name, sums = len(w), int(P["N"]), int(P["layer"]), int(P["k"]), CASE.split(",")[0][8:], [0, 0]
*row, d, m = map(Fraction, {"nCIFAR": "13 0.126 96 128", "psMNIST-128": "12.53 0.482 1 128", "psMNIST-256":
    "30.65 0.19 1 256", "RR": "9 0.011 2 128", "HR": "10 0.046 2 128"}[name].split())  # alpha, dt, d, m of Table 6
drawn = all(0 <= x <= 1 for x in w + u * ("real" in CASE)) and all(65 * x * x * s <= 6 for x, s in zip(F["V"], (d, m, m)))
premise = L == 3 and row == F["alpha"] + F["dt"] and drawn and not any(b) and 1 <= l <= L and 1 <= k < N == len(u)
print(f"premise alpha, dt of {name}, weights in range, 1 <= k < n = {N}: {'holds' if premise else 'fails'}")
for moved in (0, 1):
    y, z = [mpc(0)] * L, [mpc(0)] * L
    for j in range(1, N + 1):
        for q in range(L):
            z[q] -= dt / 2 * (tanh(w[q] * y[q] + V[q] * (y[q - 1] if q else u[j - 1]) + b[q]) + alpha * y[q])
            y[q] += dt / 2 * z[q]
            (y, z)[moved][q] += mpc(0, eps) if (q + 1, j) == (l, k) else 0
    sums = [s + abs(x[-1].imag) / eps for s, x in zip(sums, (y, z))]  # row sums of dX^L_n/dX^l_k
bound = dt ** (L - l) * fprod(map(abs, V[l:])) * (1 + (2 * (K := max(2, abs(w[-1]) + alpha)) + K**2) * (N - k) * dt)
print(f"measured {nstr(max(sums), 12)} against bound {nstr(bound, 12)}")
print("violated" if premise and max(sums) > bound else "NOT violated")
raise SystemExit(0 if premise and max(sums) > bound else 1)
