"""dX^L_n/dX^l_k as a sum over paths through layers and times, and against the product along one path."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeAlias

from verification.cases.identity import PathIdentity
from verification.certify.second import exact_network as again
from verification.measure import ring_matrices
from verification.measure.exact_network import Layered
from verification.measure.ring_matrices import Matrix

# --- (44): the gradient as a sum over layers and times; θ an entry of w, V, b or c of any layer


Kick: TypeAlias = Callable[[int], tuple[Any, Any]]
"""(∂⁺y_k, ∂⁺z_k) of the neuron that θ moves directly, as a function of the step."""


def _sum_over_paths(network: Layered) -> list[Any]:
    """dX^L_N/dθ against Σ_k (dX^L_N/dX^l_k)(∂⁺X^l_k/∂θ): the rows of (44) before dE_N/dX^L_N, any loss, is applied."""
    L, N = network.layers, network.steps
    residuals = []
    for l, i, kick in _kicks(network):

        def source(layer: int, k: int, l: int = l, i: int = i, kick: Kick = kick) -> tuple[list[Any], list[Any]]:
            y, z = [0] * network.neurons, [0] * network.neurons
            if layer == l:
                y[i], z[i] = kick(k)
            return y, z

        left = network.along(N, source)
        right: list[Any] = [0] * (2 * network.neurons)
        for k in range(1, N + 1):
            direct = [x for pair in zip(*source(l, k), strict=True) for x in pair]
            column = ring_matrices.product(network.total(L, N, l, k), [[x] for x in direct])
            right = [a + b[0] for a, b in zip(right, column, strict=True)]
        residuals += [a - b for a, b in zip(left, right, strict=True)]
    return residuals


def _kicks(network: Layered) -> list[tuple[int, int, Kick]]:
    """(layer, neuron, kick) of every w, b and V, and of every c but for the factor σ̂'/(dt σ̂²), which has no k in it.

    For c it is h² ∂/∂h of the step: with d_k = h z_k = y_k − y_{k−1}, h ∂⁺z_k = d_k − d_{k−1}, and d_0 = h z_0 = 0.
    """
    late = network.weights.indices == "icml"
    kicks: list[tuple[int, int, Kick]] = []

    def by_force(l: int, i: int, factor: Callable[[int], Any]) -> Kick:
        def kick(k: int) -> tuple[Any, Any]:
            h = network.weights.h[l - 1][i]
            z = -h * network.slopes[k][l - 1][i] * factor(k)
            return h * z, z

        return kick

    def by_step(l: int, i: int) -> Kick:
        def moved(k: int) -> Any:
            return network.levels[k][l][i] - network.levels[k - 1][l][i] if k else 0

        def kick(k: int) -> tuple[Any, Any]:
            z = moved(k) - moved(k - 1)
            return network.weights.h[l - 1][i] * (moved(k) + z), z

        return kick

    for l, i in itertools.product(range(1, network.layers + 1), range(network.neurons)):
        kicks.append((l, i, by_force(l, i, lambda k, l=l, i=i: network.levels[k - 1][l][i])))  # type: ignore[misc]
        kicks.append((l, i, by_force(l, i, lambda _: 1)))
        for r in range(network.neurons):
            read: Callable[[int], Any] = lambda k, l=l, r=r: network.levels[k if late else k - 1][l - 1][r]  # type: ignore[misc]  # noqa: E731
            kicks.append((l, i, by_force(l, i, read)))
        kicks.append((l, i, by_step(l, i)))
    return kicks


def _sum_over_paths_again(network: again.IntervalNetwork) -> list[Any]:
    """The inhomogeneous recursion of blocks against the sum over all routes; for c with the momenta themselves."""
    residuals, iv, N, L = [], again.iv, network.N, network.L
    names = ["w", "b", "c", *range(network.m)]  # a number names V^l_{i,r}
    for l, i, name in itertools.product(range(1, L + 1), range(network.m), names):
        kicks: list[Any] = [None]
        for k in range(1, N + 1):
            column = [[iv.mpf(0)] for _ in range(2 * network.m)]
            column[2 * i][0], column[2 * i + 1][0] = _kick_again(network, l, i, name, k)
            kicks.append(column)
        d: list[Any] = [[None, *([[iv.mpf(0)] for _ in range(2 * network.m)] for _ in range(L))]]
        for n in range(1, N + 1):
            row: list[Any] = [None]
            for q in range(1, L + 1):
                value = again.mul(network.B(q, n), d[n - 1][q])
                if q > 1:
                    lower = d[n - 1] if network.sam else row
                    value = again.add(value, again.mul(network.DE(q, n), lower[q - 1]))
                row.append(again.add(value, kicks[n]) if q == l else value)
            d.append(row)
        total = [[iv.mpf(0)] for _ in range(2 * network.m)]
        for k in range(1, N + 1):
            total = again.add(total, again.mul(network.total(L, N, l, k), kicks[k]))
        residuals += again.flat(again.add(d[N][L], total, -1))
    return residuals


def _kick_again(network: again.IntervalNetwork, l: int, i: int, name: str | int, k: int) -> tuple[Any, Any]:
    h = network.h[l][i]
    if name == "c":  # times σ̂/σ̂': h ∂/∂h of z_k = z_{k−1} − h(…), y_k = y_{k−1} + h z_k
        change = network.z[k][l][i] - network.z[k - 1][l][i]
        return h * (network.z[k][l][i] + change), change
    if isinstance(name, int):
        C = network.y[k - 1 if network.sam else k][l - 1][name]
    else:
        C = network.y[k - 1][l][i] if name == "w" else again.iv.mpf(1)
    momentum = -h * network.s[k][l][i] * C
    return h * momentum, momentum


SUM_OVER_PATHS = {
    indices: PathIdentity(indices, _sum_over_paths, _sum_over_paths_again, "dX^L_n/dθ against its sum over l and k")
    for indices in ("icml", "sam")
}


# --- (46), (92): one path in place of all


def _along_time(network: Layered, q: int) -> list[Matrix]:
    """dX^q_N/dX^q_{N−1}, …, dX^q_2/dX^q_1; the identity where N = 1."""
    return [network.own(q, j) for j in range(network.steps, 1, -1)] or [ring_matrices.identity(2 * network.neurons)]


def _early_path(climb: Callable[[Layered], Callable[[int, int], Matrix]]) -> Callable[[Layered], list[Any]]:
    """(46): dX^L_N/dX^l_1 against ∏_j dX^L_j/dX^L_{j−1} ∏_q dX^q_1/dX^{q−1}_1, all l."""

    def residual(network: Layered) -> list[Any]:
        L, residuals = network.layers, []
        for l in range(1, L + 1):
            up = [climb(network)(q, 1) for q in range(L, l, -1)]
            right = ring_matrices.product(*_along_time(network, L), *up)
            residuals += ring_matrices.entries(ring_matrices.minus(network.total(L, network.steps, l, 1), right))
        return residuals

    return residual


def _early_path_again(direct: bool) -> Callable[[again.IntervalNetwork], list[Any]]:
    def residual(network: again.IntervalNetwork) -> list[Any]:
        residuals, N, L = [], network.N, network.L
        for l in range(1, L + 1):
            right = again.eye(2 * network.m)
            for q in range(l + 1, L + 1):
                vanishes = direct and network.sam
                right = again.mul(again.zeros(2 * network.m) if vanishes else network.DE(q, 1), right)
            for j in range(2, N + 1):
                right = again.mul(network.B(L, j), right)
            residuals += again.flat(again.add(network.total(L, N, l, 1), right, -1))
        return residuals

    return residual


def _late_path(network: Layered) -> list[Any]:
    """(92): dX³_N/dX¹_1 against (dX³_N/dX²_N)(dX²_N/dX¹_N) ∏_j dX¹_j/dX¹_{j−1}."""
    N = network.steps
    right = ring_matrices.product(network.climb(3, N), network.climb(2, N), *_along_time(network, 1))
    return ring_matrices.entries(ring_matrices.minus(network.total(3, N, 1, 1), right))


def _late_path_again(network: again.IntervalNetwork) -> list[Any]:
    return again.flat(again.add(network.total(3, network.N, 1, 1), _late_product_again(network), -1))


def _late_product_again(network: again.IntervalNetwork) -> list[list[Any]]:
    right = again.eye(2 * network.m)
    for j in range(2, network.N + 1):
        right = again.mul(network.B(1, j), right)
    return again.mul(network.DE(3, network.N), again.mul(network.DE(2, network.N), right))


def _early_against_late(network: Layered) -> list[Any]:
    """The right sides of (46) and (92) for l = 1, L = 3."""
    N = network.steps
    early = ring_matrices.product(*_along_time(network, 3), network.climb(3, 1), network.climb(2, 1))
    late = ring_matrices.product(network.climb(3, N), network.climb(2, N), *_along_time(network, 1))
    return ring_matrices.entries(ring_matrices.minus(early, late))


def _early_against_late_again(network: again.IntervalNetwork) -> list[Any]:
    early = again.mul(network.DE(3, 1), network.DE(2, 1))
    for j in range(2, network.N + 1):
        early = again.mul(network.B(3, j), early)
    return again.flat(again.add(early, _late_product_again(network), -1))


def _printed(network: Layered) -> Callable[[int, int], Matrix]:
    return network.climb


def _exact(network: Layered) -> Callable[[int, int], Matrix]:
    return network.partial


_46 = "dX^L_n/dX^l_k against the product (46)"
EARLY = PathIdentity("icml", _early_path(_printed), _early_path_again(False), _46)
EARLY_SAM = PathIdentity("sam", _early_path(_printed), _early_path_again(False), f"{_46} with blocks (49), (50)")
EARLY_SAM_EXACT = PathIdentity("sam", _early_path(_exact), _early_path_again(True), f"{_46} with ∂X^q_k/∂X^{{q−1}}_k")
LATE = PathIdentity("icml", _late_path, _late_path_again, "dX³_n/dX¹_k against the product (92)")
LATE_SAM = PathIdentity("sam", _late_path, _late_path_again, "dX³_n/dX¹_k against the product (92)")
EARLY_LATE = PathIdentity(
    "icml", _early_against_late, _early_against_late_again, "the right side of (46) against that of (92)"
)
EARLY_LATE_SAM = PathIdentity(
    "sam", _early_against_late, _early_against_late_again, "the right side of (46) against that of (92)"
)
