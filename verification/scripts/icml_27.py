"""icml-(27) (S(27)): for dt ≪ 1, ‖dX^L_n/dX^l_k‖_∞ ≤ dt^{L−l} Π_{q>l} |V^q| (1 + 2γ(n−k)dt) ≤ V̄ dt^{L−l} (1 + 2γtₙ),
γ = K + K²/2, K = max(2, |w^L| + α), V̄ = Π max(1, |V^q|).

One neuron a layer, h = dt/2 (c = 0), zero states: zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V y^{l−1}_n + b) + α yₙ₋₁), yₙ = yₙ₋₁ +
h zₙ, y⁰ = u; n = N. Derivatives by complex steps Im X^L_n(X^l_k + iε)/ε; dt to dt/8 with the same (n − k)dt.
Cases: ^l
"""
from fractions import Fraction
from mpmath import fprod, mp, mpc, mpf, nstr, tanh

CASE = "l = L | ‖dX^L_n/dX^l_k‖_∞, with (n−k)dt"
P = {"alpha": "1", "dt": "1/4", "N": "21", "k": "1", "layer": "1", "w": "-17", "V": "0", "b": "0", "u": "0",
     "target": "0"}

mp.dps, eps = 50, mpf(10) ** -300
row = lambda name: [mpf(x.numerator) / x.denominator for x in map(Fraction, P[name].split())]
(alpha,), w, b, V, N, l = row("alpha"), row("w"), row("b"), row("V"), int(P["N"]), int(P["layer"])
(dt,), k, L, u = row("dt"), int(P["k"]), len(w), row("u") * (N if " " not in P["u"] else 1)
K, last = max(2, abs(w[-1]) + alpha), "V̄" in CASE
product = fprod(max(1, abs(v)) for v in V) if last else fprod(abs(v) for v in V[l:])
violated = alpha >= 0 and 1 <= l <= L and 1 <= k < N
print(f"premise alpha >= 0, 1 <= l = {l} <= L = {L}, 1 <= k < n: {'holds' if violated else 'fails'}")
for f in (1, 2, 4, 8):
    n, step, sums = k + (N - k) * f, dt / f, [0, 0]
    for moved in (0, 1):
        y, z = [mpc(0)] * L, [mpc(0)] * L
        for j in range(1, n + 1):
            for q in range(L):
                A = w[q] * y[q] + V[q] * (y[q - 1] if q else u[(j - 1) // f]) + b[q]
                z[q] -= step / 2 * (tanh(A) + alpha * y[q])
                y[q] += step / 2 * z[q]
                (y, z)[moved][q] += mpc(0, eps) if (q + 1, j) == (l, k) else 0
        sums = [s + abs(x[-1].imag) / eps for s, x in zip(sums, (y, z))]  # row sums of dX^L_n/dX^l_k
    bound = product * step ** (L - l) * (1 + (2 * K + K**2) * (n if last else n - k) * step)
    print(f"dt = {nstr(step, 8)}, n = {n}: measured {nstr(max(sums), 12)} against bound {nstr(bound, 12)}")
    violated = violated and max(sums) > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
