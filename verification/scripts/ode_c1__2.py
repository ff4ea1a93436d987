"""ode-C1 (Claim 1, L = 1, n = 1): every LSTM with one layer has the states of an ODERNN with n = 1, coefficients
gated, gates counted in n; stages are tanh, logistic, relu, square or linear.

Such states are sums and products of functions of polynomials in the input z, meromorphic for complex z where they are
smooth: a bounded set has finitely many poles. The LSTM unit with i g = 0, c = 1, o = 1/2 and the forget gate σ̂(z),
has the state h₊ = tanh(σ̂(z))/2, z its input, σ̂(z) = 1/(1 + e^-z). Its poles are z_k = iπ - log(1 + i t_k), t_k =
1/(π(k + 1/2)): there σ̂(z_k) = i/t_k. Measured: the distance of z_k from iπ, for k, 2k, 4k, ... Bound: not < 1/k,
1/(2k), ... for ever, if poles are finitely many near iπ.
Cases: gates counted
"""
from mpmath import cosh, exp, log, mp, mpc, mpf, nstr, pi, tanh

CASE = ("gated coefficients, gates counted in n, tanh, logistic, relu, square and linear stages | "
        "an ODERNN with the states of an LSTM, L = n = 1")
P = {"k": "1024"}

mp.dps = 80
logistic = lambda x: 1 / (1 + exp(-x))

def unit(z):
    f, i, g, o, c = logistic(z), 0, 0, mpf(1) / 2, 1
    return o * tanh(f * c + i * g)  # h₊ = o tanh(c₊)

violated = True
for j in range(8):
    k = int(P["k"]) * 2**j
    t = 1 / (pi * (k + mpf(1) / 2))
    z = mpc(0, pi) - log(mpc(1, t))
    zero, distance, near = abs(cosh(logistic(z))), abs(z - mpc(0, pi)), abs(unit(z + mpf(10) ** -40))
    is_pole = zero < mpf(10) ** -50 and near > mpf(10) ** 20
    print(f"k = {k}: |cosh(σ̂(z_k))| = {nstr(zero, 3)}, |h₊(z_k + 10^-40)| = {nstr(near, 3)}; measured |z_k - iπ|",
          f"{nstr(distance, 8)} against 1/k = {nstr(mpf(1) / k, 8)}")
    violated = violated and k > 0 and is_pole and 0 < distance < mpf(1) / k
print("infinitely many poles near iπ:", violated)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
