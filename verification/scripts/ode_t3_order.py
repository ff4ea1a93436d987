"""ode-T3-order (proof of Theorem 3): the 2-ARNN is "the first order mid-point integration": the error falls like η.

ARNN y' = f(y) = tanh(W y + b) to t = 1 in N = 1/η steps. Leapfrog y_{l+1} = y_{l-1} + 2η f(y_l), y_1 exact; explicit
midpoint y₊ = y + η f(y + η f(y)/2); implicit y₊ = y + η f((y + y₊)/2). Measured: slopes log2(error(N)/error(2N)).
Bound: the order claimed, 1 (margin 1/2).
"""
import numpy as np

CASE = "2-2-ARNN, leapfrog | order 1"
P = {"scheme": "leapfrog", "order": "1"}

scheme, claimed, start = P["scheme"], int(P["order"]), np.array([1.0, 0.5])
f = lambda y: np.tanh(np.array([[0, -0.8], [0.8, 0]]) @ y + np.array([0.3, -0.2]))

def reference(t, steps):  # classical Runge-Kutta
    y, h = start, t / steps
    for _ in range(steps):
        k2 = f(y + h / 2 * (k1 := f(y)))
        k3 = f(y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + h * k3))
    return y

end, errors = reference(1, 4096), []
for N in (16, 32, 64, 128, 256):
    eta, before = 1 / N, start
    y = reference(eta, 64) if scheme == "leapfrog" else start
    for _ in range(N - (scheme == "leapfrog")):
        after = y + eta * f(y + eta / 2 * f(y))  # explicit midpoint
        if scheme == "leapfrog":
            after = before + 2 * eta * f(y)
        for _ in range(40 if scheme == "implicit_midpoint" else 0):  # fixed point: contracts by η/2
            after = y + eta * f((y + after) / 2)
        before, y = y, after
    errors.append(max(abs(y - end)))
slopes = [float(np.log2(p / q)) for p, q in zip(errors, errors[1:])]
print("errors", *(f"{e:.6g}" for e in errors), "at N = 16, 32, ..., 256")
print("measured slopes", *(f"{s:.4f}" for s in slopes), f"against bound {claimed} (margin 1/2)")
violated = all(abs(s - claimed) > 0.5 for s in slopes)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
