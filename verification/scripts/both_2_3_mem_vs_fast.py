"""both-2.3-mem-vs-fast (UnICORNN, both versions, Sec. 2.3, 4): one gradient needs O(N b d + L b m) floats, weights not
counted, in the implementation that computes V^l y^{l-1}_n in parallel over time (by one product for all n) as well.

Measured: numpy's peak memory while all layers run forward, one after another, and ∂E/∂(w^L, V^L), E = |y^L_N|²/2, is
found with the states rebuilt by (7): a part of one gradient. O(.) is read as 10 times; the ratio grows with m.
"""
import tracemalloc
import numpy as np

CASE = "layer after layer, in parallel over time | live floats against N b d + L b m"
P = {"N": "1280", "L": "4", "m": "96", "b": "2", "d": "1"}

def peak(N, L, m, b, d, h=0.05, alpha=1.0):
    rng = np.random.default_rng(1)
    w, V = rng.uniform(0, 1, (L, m)), [rng.uniform(-1, 1, (m, k)) / k for k in [d] + [m] * (L - 1)]
    gw, gV = np.zeros(m), np.zeros_like(V[-1])
    tracemalloc.start()  # from here on every array counts; the weights and their gradients were made before
    x = rng.uniform(-1, 1, (N, b, d))
    for l in range(L):
        below, x, y, z = x, x @ V[l].T, np.zeros((b, m)), np.zeros((b, m))  # x_n = V y^{l-1}_n for all n
        for row in x:
            z -= h * (np.tanh(w[l] * y + row) + alpha * y)
            y += h * z
            row[:] = y if l < L - 1 else row  # y^l_n takes the place of x_n
    p, q = y.copy(), np.zeros((b, m))  # ∂E/∂y_n and ∂E/∂z_n
    for n in reversed(range(N)):
        q, y = q + h * p, y - h * z
        s = np.tanh(w[-1] * y + x[n])
        z, dx = z + h * (s + alpha * y), -h * q * (1 - s * s)  # dx = ∂E/∂x_n
        gw, gV, p = gw + (dx * y).sum(0), gV + dx.T @ below[n], p + w[-1] * dx - h * alpha * q
    return tracemalloc.get_traced_memory()[1] / 8, max(abs(y).max(), abs(z).max()), tracemalloc.stop()

N, L, m, b, d = (int(P[name]) for name in "NLmbd")
for width in (m // 4, m):
    (floats, start, _), bound = peak(N, L, width, b, d), 10 * (N * b * d + L * b * width)
    print(f"m = {width}: measured {floats:,.0f} floats, bound 10 (N b d + L b m) = {bound:,}; |X_0| by (7) {start:.1e}")
violated = floats > bound and start < 1e-6
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
