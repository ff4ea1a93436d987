"""icml-D-nochaos-wpos (UnICORNN, ICML 2021, App. D): one layer, 0 < w < 1: no chaos when the input changes.

zₙ = zₙ₋₁ − h (sₙ + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ, sₙ = tanh(w yₙ₋₁ + xₙ): choose s, the input x follows. The loop s₁ … s_p
and its mirror −s lead from (0, 0) to (0, 0) with the same Jacobians (product Φ): with the signs of Thue and Morse the
orbit is bounded and aperiodic, and its exponent is λ = acosh(|tr Φ|/2)/(p h) > 0.
Cases: prescribed orbit
"""
from fractions import Fraction as F
from mpmath import acosh, atanh, mp, mpf, nstr, tanh

CASE = "one neuron, 0 < w < 1, prescribed orbit | λ, all time"
P = {"alpha": "1/10", "w": "9/10", "h": "1/2",
     "s": "953/1000 477/500 239/250 479/500 959/1000 24/25 961/1000 481/500 3/250 3/250 -469/500 -939/1000 -47/50 "
       "-941/1000 -471/500 -118/125 -189/200 -947/1000 1/1000 -1/1000 947/1000 189/200 118/125 471/500 941/1000 "
       "47/50 939/1000 469/500 -3/250 -3/250 -481/500 -961/1000 -24/25 -959/1000 -479/500 -239/250 -477/500 "
       "-953/1000 -175405808073647941357978879323564653785709548089997306857172873/7555786372591432341913600000000"
       "000000000000000000000000000000000 4401864812440961128655205346614433736511383413607030388445287/1888946593"
       "14785808547840000000000000000000000000000000000000000", "eps": "1/100000000000000000000"}
alpha, w, h, eps = (F(P[name]) for name in ("alpha", "w", "h", "eps"))
loop, y, z, Phi = [F(x) for x in P["s"].split()], F(0), F(0), [[F(1), F(0)], [F(0), F(1)]]
for s in loop:  # exactly
    Phi[1] = [q - h * (alpha + w * (1 - s * s)) * p for p, q in zip(*Phi)]
    Phi[0] = [p + h * q for p, q in zip(*Phi)]
    z -= h * (s + alpha * y)
    y += h * z
trace, mp.dps = abs(Phi[0][0] + Phi[1][1]), 200
a, W, H, e, half, *S = (mpf(x.numerator) / x.denominator for x in (alpha, w, h, eps, trace / 2, *loop))
rate, X, Y = acosh(max(half, 1)) / (len(S) * H), [mpf(0)] * 2, [mpf(0)] * 2  # 16 loops, and x_1 changed by eps
for n in range(16 * len(S)):
    x = atanh((-1) ** (n // len(S)).bit_count() * S[n % len(S)]) - W * X[0]  # then tanh(w y + x) = ±s
    for orbit, change in ((X, 0), (Y, e if n == 0 else 0)):
        orbit[1] -= H * (tanh(W * orbit[0] + x + change) + a * orbit[0])
        orbit[0] += H * orbit[1]
apart = max(abs(p - q) for p, q in zip(X, Y)) / e
print(f"premise 0 < w = {w} < 1; back at (0, 0) after {len(loop)} steps, exactly, so bounded: {y == z == 0}")
print(f"measured rate {nstr(rate, 10)} against bound 0 for all time; separation/eps = {nstr(apart, 6)} against 10^6")
violated = 0 < w < 1 and y == z == 0 and rate > 0 and apart >= 10**6
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
