"""both-3-novanish-ODE (UnICORNN, sam Sec. 3, icml Sec. 3): "the hidden state gradients of the ODE (2) do not vanish",
read as: (y_b, z_b) of (8) from (0, 0) does not tend to 0 as t → ∞, whatever the input.

(8), θ = b: y_b' = z_b, z_b' = −κ y_b − s, s = σ′(A), κ = α + w s. The input holds s at the slopes of P in turn, for
2π/√κ each: any A can be held, by u = (A − b − w y)/V, A = artanh √(1 − s); |A| grows. Measured: max(|y_b|, |z_b|) in
each pulse, by the solution at constant s. Bound: 1/1000 of pulse 1; all falls are by the same factor, so it tends to 0.
Cases: zero start, inputs unbounded
"""
from fractions import Fraction
from mpmath import atanh, cos, mp, mpf, nstr, pi, sin, sqrt

CASE = "zero start, inputs unbounded, t → ∞ | (y_θ, z_θ), θ = b"
P = {"alpha": "1", "w": "1", "slopes": "1 1/2 1/4 1/8 1/16 1/32 1/64 1/128 1/256 1/512 1/1024 1/2048 1/4096 1/8192 "
     "1/16384 1/32768"}

mp.dps = 50
number = lambda text: mpf(Fraction(text).numerator) / Fraction(text).denominator
alpha, w, slopes = number(P["alpha"]), number(P["w"]), list(map(number, P["slopes"].split()))
r = slopes[1] / slopes[0]
violated = alpha > 0 and alpha + w > 0 and 0 < r < 1 and all(0 < s <= 1 for s in slopes)
violated = violated and all(abs(s - slopes[0] * r**k) < 1e-40 for k, s in enumerate(slopes))
print(f"premise alpha, alpha + w > 0, slopes in (0, 1], falling by {nstr(r)}: {'holds' if violated else 'fails'}")
Y = Z = t = mpf(0)  # (y_b, z_b) at the start of a pulse
tops = []
for k, s in enumerate(slopes, 1):
    kappa = alpha + w * s
    omega, rest = sqrt(kappa), -s / kappa  # y_b turns about the point of rest
    angles = [2 * pi * i / 400 for i in range(401)]
    ys = [rest + (Y - rest) * cos(a) + Z / omega * sin(a) for a in angles]
    zs = [Z * cos(a) - omega * (Y - rest) * sin(a) for a in angles]
    Y, Z, t = ys[-1], zs[-1], t + 2 * pi / omega
    tops.append(max(map(abs, ys + zs)))
    print(f"pulse {k} to t = {nstr(t, 5)}, |A| = {nstr(atanh(sqrt(1 - s)), 5)}: measured maximum {nstr(tops[-1], 8)}")
falls = [after / before for before, after in zip(tops, tops[1:])]
print(f"last maximum {nstr(tops[-1], 8)} against bound {nstr(tops[0] / 1000, 8)}; largest factor {nstr(max(falls), 8)}")
violated = violated and tops[-1] < tops[0] / 1000 and max(falls) < (1 + r) / 2
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
