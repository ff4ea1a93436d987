"""both-3-novanish-ODE (UnICORNN, sam Sec. 3, icml Sec. 3): "the hidden state gradients of the ODE (2) do not vanish",
read as: what a change of θ at time s alone leaves at time t does not decay exponentially in t − s.

That is (8) with C = 0 after s: y' = z, z' = −κ y, κ = α + w σ′(A), from (0, 1). The input holds σ′(A) at the two slopes
in turn, for π/(2√κ) each (any A can be held: u = (A − b − w y)/V). Measured: max(|y|, |z|) after 0, 10, …, 40 pairs.
The bound 1/1000 is broken, with the same fall each time. The neuron (y, z), z' = −(tanh A + α y), is to stay bounded.
Cases: θ changed at time s only
"""
from fractions import Fraction
from mpmath import cos, log, mp, mpf, nstr, pi, sin, sqrt

CASE = "θ changed at time s only, t − s → ∞ | (y_θ, z_θ)"
P = {"alpha": "1", "w": "1", "slopes": "1 1/10"}

mp.dps = 50
number = lambda text: mpf(Fraction(text).numerator) / Fraction(text).denominator
alpha, w, slopes = number(P["alpha"]), number(P["w"]), list(map(number, P["slopes"].split()))
kappas = [alpha + w * s for s in slopes]
violated = alpha > 0 and min(kappas) > 0 and len(slopes) == 2 and all(0 < s <= 1 for s in slopes)

def flow(y, z, c, force, t):  # y'' = −c y − force from (y, z), after time t
    omega, rest = sqrt(c), -force / c
    turn = omega * t
    return rest + (y - rest) * cos(turn) + z / omega * sin(turn), z * cos(turn) - omega * (y - rest) * sin(turn)

change, neuron, size, reach = (mpf(0), mpf(1)), (mpf(0), mpf(0)), [mpf(1)], []
times = [pi / 2 / sqrt(kappa) for kappa in kappas]
for pair in range(1, 401):
    for s, kappa, t in zip(slopes, kappas, times):
        change = flow(*change, kappa, 0, t)
        neuron = flow(*neuron, alpha, sqrt(1 - s), t)  # tanh A = √(1 − σ′)
    reach.append(max(map(abs, neuron)))
    size += [max(map(abs, change))] if pair % 10 == 0 and pair <= 40 else []
resonance = 2 - 2 * cos(sqrt(alpha) * sum(times))  # det(I − M), M the turn of the neuron in a pair: not 0, so bounded
print(f"premise det(I - M) = {nstr(resonance, 8)} > 0; neuron up to {nstr(max(reach), 6)} in 400 pairs")
falls = [log(a / b) / (10 * sum(times)) for a, b in zip(size, size[1:])]
print("measured sizes:", *(nstr(x, 6) for x in size), "bound 1/1000, rates:", *(nstr(f, 6) for f in falls))
violated = violated and resonance > 1e-6 and size[-1] < 1e-3 and min(falls) > 0.9 * max(falls) > 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
