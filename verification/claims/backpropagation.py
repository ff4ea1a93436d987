"""The published recursion of backpropagation through time for one neuron: sam (19)-(21), icml S(3)-(5)."""

from __future__ import annotations

from typing import Any

from odernn.tableau import Source
from verification.measure import exact_network_again as again
from verification.measure.exact_network import Layered, Shape
from verification.measure.identities import PathIdentity
from verification.question import Question

# The loss is any E = Σ_n Et_n(y_n): only the numbers Et_n'(y_n) enter. They are taken from level 0 of the run, free
# symbols in the proof; in a typed network that is the loss Σ u_n y_n.


def published_recursion(network: Layered) -> tuple[list[Any], list[Any]]:
    """(δ^y_0, …, δ^y_{N−1}) and (a_1, …, a_N) as printed; A_{N−k} is the argument of step N − k + 1."""
    weights, N = network.weights, network.steps
    h, w, alpha = weights.h[0][0], weights.w[0][0], weights.alpha
    dy, dz = [_loss_slope(network, N)], 0
    a = []
    for k in range(1, N + 1):
        slope = network.slopes[N - k + 1][0][0]
        dz = dz + dy[-1] * h
        a.append(-dz * h * slope * network.levels[N - k][1][0])
        dy.append(dy[-1] - dz * h * (slope * w + alpha) + _loss_slope(network, N - k))
    return dy[:N], a


def _loss_slope(network: Layered, n: int) -> Any:
    return network.levels[n][0][0]


def by_w(network: Layered) -> Any:
    """dE/dw by the differentiated recursion, forward in time."""
    h = network.weights.h[0][0]

    def source(_: int, k: int) -> tuple[list[Any], list[Any]]:
        kick = -h * network.slopes[k][0][0] * network.levels[k - 1][1][0]
        return [h * kick], [kick]

    return sum((_loss_slope(network, n) * network.along(n, source)[0] for n in range(1, network.steps + 1)), 0)


def by_state(network: Layered, n: int) -> Any:
    """dE/dy_n, z_n held, through all later states."""
    later = range(n, network.steps + 1)
    return sum((_loss_slope(network, t) * network.total(1, t, 1, n)[0][0] for t in later), 0)


def _gradient(network: Layered) -> list[Any]:
    return [by_w(network) - sum(published_recursion(network)[1], 0)]


def _gradient_again(network: again.Network) -> list[Any]:
    """p and q backward with the indices of the states, against dy/dw, dz/dw forward."""
    iv, N = again.iv, network.N
    h, w = network.h[1][0], network.w[1][0]
    p, q, summed = iv.mpf(0), iv.mpf(0), iv.mpf(0)
    for n in range(N, 0, -1):
        p += network.y[n][0][0]
        q += h * p
        summed -= q * h * network.s[n][1][0] * network.y[n - 1][1][0]
        p -= q * h * (network.alpha + w * network.s[n][1][0])
    dy, dz, exact = iv.mpf(0), iv.mpf(0), iv.mpf(0)
    for n in range(1, N + 1):
        dA = network.y[n - 1][1][0] + w * dy
        dz -= h * (network.s[n][1][0] * dA + network.alpha * dy)
        dy += h * dz
        exact += network.y[n][0][0] * dy
    return [exact - summed]


def _adjoints(network: Layered) -> list[Any]:
    dy, N = published_recursion(network)[0], network.steps
    return [dy[k] - by_state(network, N - k) for k in range(N)]


def _adjoints_again(network: again.Network) -> list[Any]:
    iv, N = again.iv, network.N
    h, found = network.h[1][0], []
    dz = iv.mpf(0)
    dy = network.y[N][0][0]
    for k in range(N):
        exact = sum((network.y[t][0][0] * network.total(1, t, 1, N - k)[0][0] for t in range(N - k, N + 1)), iv.mpf(0))
        found.append(dy - exact)
        slope = network.s[N - k][1][0]
        dz = dz + h * dy
        dy = dy - h * dz * (network.alpha + slope * network.w[1][0]) + network.y[N - k - 1][0][0]
    return found


GRADIENT = PathIdentity("icml", _gradient, _gradient_again, "dE/dw against Σ a_k")
ADJOINTS = PathIdentity("icml", _adjoints, _adjoints_again, "dE/dy_{N−k} against δ^y_k")
SHORT = tuple(Shape(1, 1, N) for N in range(1, 6))
LONGER = (Shape(1, 1, 8), Shape(1, 1, 16))

QUESTIONS = (
    Question(
        id="both-B-recursion",
        source=Source("sam", "(19)-(21); icml S(3)-S(5)"),
        statement="δ^z_k = δ^z_{k−1} + δ^y_{k−1} dt σ̂, δ^y_k = δ^y_{k−1} − δ^z_k dt σ̂ [σ'(w y_{N−k} + x_{N−k+1}) w "
        "+ α] + dEt/dy_{N−k}, δ^y_0 = dEt/dy_N, δ^z_0 = 0; dE/dw = Σ_{k=1..N} a_k, a_k = −δ^z_k dt σ̂ σ'(w y_{N−k} + "
        "x_{N−k+1}) y_{N−k}; one neuron, E = Σ Et(y_n)",
        semantics="alg",
        cases=(
            GRADIENT.case("N ≤ 5", "dE/dw", SHORT),
            ADJOINTS.case("N ≤ 5", "δ^y", SHORT),
            GRADIENT.sampled("N ≤ 16", "dE/dw", LONGER),
            ADJOINTS.sampled("N ≤ 16", "δ^y", LONGER),
        ),
    ),
)
