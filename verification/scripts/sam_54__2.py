"""sam-54 (sam (54)), l = L − 1: ‖dX^L_n/dX^l_k‖_∞ ≤ dt ‖V^L‖_∞ e^{(n−k) w̄ dt}, w̄ = max(2, ‖w^L‖_∞ + α), dt < 1.

For all networks at once with low ≤ w ≤ high, |c| and |b| at most so much, ‖V^L‖_∞ ≤ V, zero states, and every input:
zₙ = zₙ₋₁ − h (tanh A + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ, h = dt/(1 + e^{−c}); k = 1, n = N. |tanh| ≤ 1 bounds the states, so
1 − A² ≤ σ′(A) ≤ 1 in the top layer. ∂X^{L,i}_n/∂X^{l,j}_1 = V_ij M_ij. Measured, in intervals: a lower bound of the row
sums of every |M_ij|, which is one of the norm over ‖V^L‖_∞. Bound: the largest right side over ‖V^L‖_∞.
Cases: every network
"""
from fractions import Fraction
from mpmath import iv

CASE = "printed RR, as initialised, real inputs | ‖dX^L_n/dX^{L−1}_k‖_∞ of every network, every input"
P = {"alpha": "9", "dt": "11/1000", "low": "0", "high": "1", "c": "1/10", "b": "0", "V": "17187/5000", "N": "9"}

iv.dps, EPS, N, F = 40, 1e-9, int(P["N"]), {name: Fraction(text) for name, text in P.items()}
alpha, dt, low, high, c, b, V = (iv.mpf(F[x].numerator) / F[x].denominator for x in "alpha dt low high c b V".split())
hull = lambda x, y: iv.mpf([min(x.a, y.a), max(x.b, y.b)])
exp = lambda x: iv.exp(x) * iv.mpf([1 - EPS, 1 + EPS])  # mpmath's own may miss by a fraction of the last place
high_h = dt / (1 + exp(-c))
h, kappa = hull(dt / (1 + exp(c)), high_h), alpha + hull(hull(low, high), iv.mpf(0))  # κ = α + w σ′
size, eta, zeta, slopes, least = iv.mpf(max(abs(low).b, abs(high).b)), iv.mpf(0), iv.mpf(0), [], [iv.mpf(0)] * 2
for _ in range(N):  # |y| ≤ η, |z| ≤ ζ whatever the input is
    before, zeta = eta, zeta + high_h * (1 + alpha * eta)
    eta = eta + high_h * zeta
    slopes.append(iv.mpf([max(0, (1 - (size * before + V * eta + b) ** 2).a), 1]))
for moved in (0, 1):  # y or z of the layer below, at step 1
    y, z, Y, Z = iv.mpf(1 - moved), iv.mpf(moved), iv.mpf(0), iv.mpf(0)
    for n in range(N):
        z, y = (z - h * kappa * y, y + h * (z - h * kappa * y)) if n else (z, y)
        Z = Z - h * (kappa * Y + slopes[n] * y)
        Y = Y + h * Z
    least = [s + abs(x).a for s, x in zip(least, (Y, Z))]  # from below: .a
measured, bound = max(s.a for s in least), (dt * exp(iv.mpf(max(2, (size + alpha).b)) * (N - 1) * dt)).b
premise = [F[x] for x in "alpha dt low high c b".split()] == [9, Fraction(11, 1000), 0, 1, Fraction(1, 10), 0] and N >= 2
premise = premise and 65 * F["V"] ** 2 >= 6 * 128  # ‖V^L‖_∞, 128 entries of at most √(6/(65 · 128))
print(f"premise alpha, dt, m of RR in Table 6, w, c, b, V in what App. A draws: {'holds' if premise else 'fails'}")
print(f"measured at least {float(measured):.12g} against bound {float(bound):.12g}")
violated = bool(premise and measured > bound)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
