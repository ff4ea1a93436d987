"""ode-T3 (Theorem 3, Definition 4, (30)): the step Φ of the 1-2-ARNN (symplectic Euler) and of the 2-2-ARNN (leapfrog)
is reversible: ρ Φ = Φ⁻¹ ρ, that is ρ Φ ρ Φ = 1, for the ρ of the case; or it is symmetric, Φ_{-η} Φ_η = 1.

Φ(p, q): p₊ = p - η σ(S q + b_p), q₊ = q + η σ(S p₊ + b_q), Sᵀ = S. Φ(x, y) = (y, x + 2η σ(W y + b)), x = y_{l-1}, y =
y_l, Wᵀ = -W; W = iS is [0 -S; S 0] on ψ = (q, p), and conjugates (q, p) -> (q, -p). σ = ReLU; σ(u) = u/(1 + |u|) where
σ is odd. Measured: the largest entry of ρ Φ ρ Φ(x, y) - (x, y). Bound: 0.
"""
from fractions import Fraction as F

CASE = "1-2-ARNN, symplectic Euler | ρ(p, q) = (−p, q)"
P = {"eta": "1/2", "weight": "1", "first": "1", "second": "1", "x": "1", "y": "1"}

(eta,), x, y, b, c, flat = ([F(u) for u in P[name].split()] for name in "eta x y first second weight".split())
n, half = len(x), len(x) // 2
W = [flat[n * i:n * (i + 1)] for i in range(n)]
leapfrog, odd = "leapfrog" in CASE, "σ odd" in CASE
sigma = lambda u: u / (1 + abs(u)) if odd else max(u, F(0))
force = lambda state, bias: [sigma(sum(w * s for w, s in zip(row, state)) + d) for row, d in zip(W, bias)]

def step(x, y, eta):
    if leapfrog:
        return y, [s + 2 * eta * f for s, f in zip(x, force(y, b))]
    p = [s - eta * f for s, f in zip(x, force(y, b))]
    return p, [s + eta * f for s, f in zip(y, force(p, c))]

minus, conj = (lambda u: [-s for s in u]), (lambda u: u[:half] + [-s for s in u[half:]])
RHO = {"ρ(p, q) = (q, p)": lambda x, y: (y, x), "ρ(p, q) = (−p, q)": lambda x, y: (minus(x), y),
       "ρ(y_{l−1}, y_l)": lambda x, y: (y, x), "conjugates": lambda x, y: (conj(y), conj(x))}
rho = next((RHO[name] for name in RHO if name in CASE), lambda x, y: (x, y))
there = step(x, y, eta)
back = rho(*step(*rho(*there), -eta if "symmetric" in CASE else eta))
premise = all(W[i][j] == (-W[j][i] if leapfrog else W[j][i]) for i in range(n) for j in range(n))
premise = premise and not (odd and any(b + c))
print(f"premise Wᵀ = {'-' if leapfrog else ''}W{', no bias' if odd else ''}: {'holds' if premise else 'fails'}")
print("(x, y) =", *x, *y, " Φ(x, y) =", *there[0], *there[1], " and back:", *back[0], *back[1])
measured = max(abs(s - t) for s, t in zip(back[0] + back[1], x + y))
violated = premise and measured > 0
print(f"measured difference {measured} against bound 0")
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
