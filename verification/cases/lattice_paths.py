"""Derivatives of an L-layer UnICORNN as sums over all monotone lattice paths through time and layers.

A path from (k, l) to (n, L) climbs at times j_2 ≤ … : it stays in a layer from one climb to the next and picks up a
block B a step there, and a coupling block a climb. What the paths are compared with is the recursion itself, which
never forms one. Index convention ``icml``: a climb takes no time; ``sam``: it takes one step.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from verification.cases.identity import PathIdentity
from verification.certify.second import exact_network as again
from verification.measure import ring_matrices
from verification.measure.exact_network import Indices, Layered
from verification.measure.ring_matrices import Matrix


def _routes(start: int, end: int, skip: int) -> list[tuple[int, ...]]:
    """The layers that a route enters after ``start``, the last is ``end``; hops of length 1 and, if any, S + 1."""
    if start == end:
        return [()]
    lengths = (1, skip + 1) if skip else (1,)
    return [
        (start + length, *rest)
        for length in lengths
        if start + length <= end
        for rest in _routes(start + length, end, skip)
    ]


# --- dX^L_n/dX^l_k


def all_paths(indices: Indices, *, once: bool = False) -> PathIdentity:
    """dX^L_N/dX^l_1, all l, against the sum of products of blocks along all paths.

    ``once`` takes those that climb at most once a step: all there are for ``sam``; for ``icml`` a planted falsehood.
    """
    shifted = indices == "sam"
    times = itertools.combinations if shifted or once else itertools.combinations_with_replacement

    def residual(network: Layered) -> list[Any]:
        L, N, residuals = network.layers, network.steps, []
        for l in range(1, L + 1):
            rest = network.total(L, N, l, 1)
            for entered in _routes(l, L, network.weights.skip):
                for climbs in times(range(1 + shifted, N + 1), len(entered)):
                    rest = ring_matrices.minus(rest, _along(network, l, entered, climbs))
            residuals += ring_matrices.entries(rest)
        return residuals

    def retyped(network: again.IntervalNetwork) -> list[Any]:
        residuals, L, N = [], network.L, network.N
        for l in range(1, L + 1):
            right = _left_of(network, (N, L), again.eye(2 * network.m), l, once)
            residuals += again.flat(again.add(network.total(L, N, l, 1), right, -1))
        return residuals

    return PathIdentity(indices, residual, retyped, f"dX^L_n/dX^l_k against the sum over all paths, {indices}")


def _along(network: Layered, l: int, entered: Sequence[int], climbs: Sequence[int]) -> Matrix:
    """One path from (1, l) to (N, L), climbing into the layers ``entered`` in the steps ``climbs``."""
    at, now = l, 1
    product = ring_matrices.identity(2 * network.neurons)
    for layer, step in zip(entered, climbs, strict=True):
        last = step - 1 if network.weights.indices == "sam" else step
        for j in range(now + 1, last + 1):
            product = ring_matrices.product(network.own(at, j), product)
        block = network.climb(layer, step) if layer == at + 1 else network.jump(layer, step)
        product, at, now = ring_matrices.product(block, product), layer, step
    for j in range(now + 1, network.steps + 1):
        product = ring_matrices.product(network.own(at, j), product)
    return product


def _left_of(network: again.IntervalNetwork, end: tuple[int, int], factor: Any, l: int, once: bool) -> Any:
    """``factor`` times the sum over all paths from (1, l) to ``end``: by the last climb, from the top down."""
    n, q = end
    total = again.zeros(2 * network.m)
    if q == l:
        for j in range(n, 1, -1):
            factor = again.mul(factor, network.B(q, j))
        return factor if n >= 1 else total
    for j in range(n, 0, -1):  # the climb into layer q is in step j
        below = j - 1 if network.sam else j
        for source, far in ((q - 1, False), (q - network.S - 1 if network.S else 0, True)):
            if not l <= source < q:
                continue
            hop, start = again.mul(factor, network.DE(q, j, far=far)), (below, source)
            if once and source > l:  # the next climb is in an earlier step
                hop, start = again.mul(hop, network.B(source, j)), (below - 1, source)
            total = again.add(total, _left_of(network, start, hop, l, once))
        factor = again.mul(factor, network.B(q, j))
    return total


# --- ∂E^{(n,L)}_{k,1}/∂w^1


def response(network: Layered, q: int, i: int, first: int, last: int) -> Any:
    """[B_last … B_first]_12 of neuron i of layer q: the y that a unit kick of z in step ``first`` has become."""
    block = ring_matrices.identity(2)
    for j in range(first, last + 1):
        own = network.own(q, j)
        block = ring_matrices.product([row[2 * i : 2 * i + 2] for row in own[2 * i : 2 * i + 2]], block)
    return block[0][1]


def contributions(indices: Indices, *, late: int = 0) -> PathIdentity:
    """dy^L_N/dw^{1,p}, w used in step k only, against −h σ′(A_{k−1}) y_{k−1} K(N, k), all k and p; thm-R for L = 1.

    The rows of dE_k/dw before (y_n − ȳ_n) is applied. ``late`` = 1 starts every response a step too late: planted.
    """
    shifted = int(indices == "sam")

    def kernel(network: Layered, q: int, i: int, p: int, n: int, k: int) -> Any:
        """K^{(q)}_{ip}(n, k), by the recursion of thm-ML."""
        if q == 1:
            return response(network, 1, i, k + late, n) if i == p else 0
        weights, total = network.weights, 0
        for j in range(k + shifted, n + 1):
            kick = weights.h[q - 1][i] * network.slopes[j][q - 1][i] * response(network, q, i, j + late, n)
            for r in range(network.neurons):
                below = kernel(network, q - 1, r, p, j - shifted, k)
                total = total - kick * weights.V[q - 1][i][r] * below
            rows = weights.Lambda[q - 1] if weights.Lambda else None
            if rows is not None and q - weights.skip - 1 >= 1:
                for r in range(network.neurons):
                    below = kernel(network, q - weights.skip - 1, r, p, j - shifted, k)
                    total = total - kick * rows[i][r] * below
        return total

    def residual(network: Layered) -> list[Any]:
        L, N, residuals = network.layers, network.steps, []
        for k, p in itertools.product(range(1, N + 1), range(network.neurons)):
            h, slope, y = network.weights.h[0][p], network.slopes[k][0][p], network.levels[k - 1][1][p]

            def source(layer: int, step: int, k: int = k, p: int = p, kick: Any = -h * slope * y) -> Any:
                z = [kick if (layer, step, i) == (1, k, p) else 0 for i in range(network.neurons)]
                return [network.weights.h[0][i] * entry for i, entry in enumerate(z)], z

            left = network.along(N, source)[::2]
            right = [-h * slope * y * kernel(network, L, i, p, N, k) for i in range(network.neurons)]
            residuals += [a - b for a, b in zip(left, right, strict=True)]
        return residuals

    def retyped(network: again.IntervalNetwork) -> list[Any]:
        """The kick through the grid of blocks, against every path on its own, with scalar responses along it."""
        residuals = []
        for k, p in itertools.product(range(1, network.N + 1), range(network.m)):
            kick = -network.h[1][p] * network.s[k][1][p] * network.y[k - 1][1][p]
            column = [[again.iv.mpf(0)] for _ in range(2 * network.m)]
            column[2 * p], column[2 * p + 1] = [network.h[1][p] * kick], [kick]
            moved = again.mul(network.total(network.L, network.N, 1, k), column)
            for i in range(network.m):
                along = sum(_paths_into(network, network.L, i, network.N, (p, k), late), again.iv.mpf(0))
                residuals.append(moved[2 * i][0] - kick * along)
        return residuals

    return PathIdentity(indices, residual, retyped, f"∂y^L_n/∂w, step k, against its sum over all paths, {indices}")


def _paths_into(
    network: again.IntervalNetwork, q: int, i: int, n: int, origin: tuple[int, int], late: int
) -> Iterator[Any]:
    """The term of every path from the kick of neuron p in step k, ``origin``, to y of neuron i of layer q at time n."""
    p, k = origin
    if q == 1:
        if i == p:
            yield _impulse(network, 1, i, k + late, n)
        return
    for j in range(k + network.sam, n + 1):
        up = -network.h[q][i] * network.s[j][q][i] * _impulse(network, q, i, j + late, n)
        for below, weights in ((q - 1, network.V[q]), (q - network.S - 1, network.Q[q] if network.S else None)):
            if weights is not None and below >= 1:
                for r in range(network.m):
                    for term in _paths_into(network, below, r, j - network.sam, origin, late):
                        yield up * weights[i][r] * term


def _impulse(network: again.IntervalNetwork, q: int, i: int, first: int, last: int) -> Any:
    """Störmer's recursion y_{j+1} = 2y_j − y_{j−1} − h²κ_{j+1} y_j from 0 and h."""
    h = network.h[q][i]
    before, now = again.iv.mpf(0), again.iv.mpf(0) if last < first else h
    for j in range(first + 1, last + 1):
        kappa = network.alpha + network.w[q][i] * network.s[j][q][i]
        before, now = now, 2 * now - before - h**2 * kappa * now
    return now


# --- thm-ML (5): within one step


def _rows(matrix: Sequence[Sequence[Any]]) -> Matrix:
    return [list(row) for row in matrix]


def within_a_step(*, power: int = 0) -> PathIdentity:
    """The blocks of dX^L_n/dX^1_n at one time: (y, y) is the sum over routes of ∏(−h²σ′V), (z, y) has −hσ′V for the
    last hop, the rest is 0: orders h^{2p} and h^{2p−1}, p the fewest hops. ``power`` more factors h are a falsehood.
    """

    def residual(network: Layered) -> list[Any]:
        L, m, weights = network.layers, network.neurons, network.weights
        sums: dict[int, Matrix] = {1: ring_matrices.identity(m)}
        for q in range(2, L + 1):
            inside = ring_matrices.product(_rows(weights.V[q - 1]), sums[q - 1])
            rows = weights.Lambda[q - 1] if weights.Lambda else None
            if rows is not None and q - weights.skip - 1 >= 1:
                inside = ring_matrices.plus(inside, ring_matrices.product(_rows(rows), sums[q - weights.skip - 1]))
            gains = [-(weights.h[q - 1][i] ** (2 + power)) * network.slopes[1][q - 1][i] for i in range(m)]
            sums[q] = [[gain * entry for entry in row] for gain, row in zip(gains, inside, strict=True)]
        total, residuals = network.total(L, 1, 1, 1), []
        for i, r in itertools.product(range(m), range(m)):
            # (y, y) is h times (z, y); written without a division
            h = weights.h[L - 1][i]
            (yy, yz), (zy, zz) = (total[2 * i + a][2 * r : 2 * r + 2] for a in (0, 1))
            residuals += [yy - sums[L][i][r], h * zy - sums[L][i][r], yz, zz]
        return residuals

    def retyped(network: again.IntervalNetwork) -> list[Any]:
        """Route by route, from the top."""
        residuals, iv = [], again.iv

        def down(q: int, row: list[Any]) -> list[Any]:
            """The row that ``row`` of layer q becomes in layer 1, over all routes."""
            if q == 1:
                return row
            scaled = [-row[i] * network.h[q][i] ** (2 + power) * network.s[1][q][i] for i in range(network.m)]
            reached = [iv.mpf(0)] * network.m
            for source, weights in ((q - 1, network.V[q]), (q - network.S - 1, network.Q[q] if network.S else None)):
                if weights is not None and source >= 1:
                    across = [
                        sum((s * weights[i][r] for i, s in enumerate(scaled)), iv.mpf(0)) for r in range(network.m)
                    ]
                    reached = [a + b for a, b in zip(reached, down(source, across), strict=True)]
            return reached

        total = network.total(network.L, 1, 1, 1)
        for i in range(network.m):
            row = down(network.L, [iv.mpf(int(i == j)) for j in range(network.m)])
            for r in range(network.m):
                y, z = total[2 * i], total[2 * i + 1]
                residuals += [y[2 * r] - row[r], network.h[network.L][i] * z[2 * r] - row[r]]
                residuals += [y[2 * r + 1], z[2 * r + 1]]
        return residuals

    return PathIdentity("icml", residual, retyped, "dX^L_n/dX¹_n, entry by entry, against the sum over routes")
