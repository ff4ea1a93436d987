"""sam-54 (sam (54)): ‖dX^L_n/dX^l_k‖_∞ ≤ dt^{L−l} Π_{q>l} |V^q| e^{(n−k) w̄ dt} ≤ V̄ dt^{L−l} e^{w̄ t_n}, dt < 1, with
w̄ = max(2, |w^L| + α), V̄ = Π max(1, |V^q|); total derivatives (printed dX^L_n/dX^L_k).

One neuron a layer, h = dt/2 (c = 0), zero states: zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V y^{l−1}_n + b) + α yₙ₋₁), yₙ =
yₙ₋₁ + h zₙ, u: what layer 1 reads; n = N. dX^L_n/dX^l_k by complex steps, Im X^L_n(X^l_k + iε)/ε.
Cases: ^l
"""
from fractions import Fraction
from mpmath import exp, fprod, mp, mpc, mpf, nstr, tanh

CASE = "l < L, all w equal | ‖dX^L_n/dX^l_k‖_∞, with (n−k)dt"
P = {"alpha": "1", "dt": "1/20", "N": "21", "k": "1", "layer": "1", "w": "-1 -1", "V": "0 1", "b": "0 0", "u": "0",
     "target": "0"}

mp.dps, eps = 50, mpf(10) ** -300
row = lambda name: [mpf(x.numerator) / x.denominator for x in map(Fraction, P[name].split())]
(alpha,), w, b, V, N, l = row("alpha"), row("w"), row("b"), row("V"), int(P["N"]), int(P["layer"])
(dt,), k, L, u = row("dt"), int(P["k"]), len(w), row("u") * (N if " " not in P["u"] else 1)
measured = []
for lag in (0, 1):  # layer q sees y^{q-1}_n in (7), (50), (63) and icml (6), y^{q-1}_{n-1} in sam (31)
    sums = [0, 0]
    for moved in (0, 1):
        y, z = [mpc(0)] * L, [mpc(0)] * L
        for j in range(1, N + 1):
            seen = list(y) if lag else y
            for q in range(L):
                A = w[q] * y[q] + V[q] * (seen[q - 1] if q else u[j - 1]) + b[q]
                z[q] -= dt / 2 * (tanh(A) + alpha * y[q])
                y[q] += dt / 2 * z[q]
                (y, z)[moved][q] += mpc(0, eps) if (q + 1, j) == (l, k) else 0
        sums = [s + abs(x[-1].imag) / eps for s, x in zip(sums, (y, z))]  # row sums of dX^L_n/dX^l_k
    measured.append(max(sums))
wbar, last = max(2, abs(w[-1]) + alpha), "V̄" in CASE
product = fprod(max(1, abs(v)) for v in V) if last else fprod(abs(v) for v in V[l:])
bound = product * dt ** (L - l) * exp(wbar * (N if last else N - k) * dt)
premise = alpha >= 0 and 0 < dt < 1 and 1 <= l <= L and 1 <= k < N
print(f"premise alpha >= 0, dt < 1, 1 <= l <= L, 1 <= k < n: {'holds' if premise else 'fails'}")
print(f"measured {nstr(measured[0], 12)} (indices of (31): {nstr(measured[1], 12)}) against bound {nstr(bound, 12)}")
print("violated" if (violated := premise and measured[0] > bound) else "NOT violated")
raise SystemExit(0 if violated else 1)
