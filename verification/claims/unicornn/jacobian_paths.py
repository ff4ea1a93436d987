# Claims: both-(44)/(17) · both-46 · both-92 · both-46-vs-92 · both-48-50 · sam-49-50-indices · both-96-99 ·
#   both-104
"""Products and sums of Jacobians along the paths of an L-layer UnICORNN: sam (44)-(50), (59), (63), (92)-(99), (104);
icml S(17), S(19)-S(23), S(65)-S(72), S(77).

dX^q_n/dX^l_k of two layers is the total derivative of the recursion unless said otherwise: X^l_k is changed, everything
at earlier times and the layers below it stay, and whatever the recursion makes of it follows. In these identities the
times are k = 1 and n = N, the last step of a shape.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from flint import arb, fmpq

from odernn.published.sources import Source
from verification.cases.identity import PathIdentity, StateIdentity, describe
from verification.certify.second import exact_network as again
from verification.domains import Budget
from verification.measure import exact_network as net
from verification.measure.exact_network import Indices, Layered, Matrix, Shape, State, Weights
from verification.question import Attempt, Case, Check, Hypothesis, Opinion, Parameters, Question, number

ONE_LAYER = (*(Shape(1, 1, N) for N in range(1, 5)), Shape(1, 2, 2))
SHORT = (*(Shape(L, 1, N) for L in (1, 2, 3) for N in (1, 2, 3)), Shape(2, 2, 2))
TWO_LAYERS = (Shape(2, 1, 2), Shape(2, 2, 2))
THREE_LAYERS = (Shape(3, 1, 2), Shape(3, 2, 2))


# --- (44): the gradient as a sum over layers and times; θ an entry of w, V or b of any layer


def _sum_over_paths(network: Layered) -> list[Any]:
    """dX^L_N/dθ against Σ_k (dX^L_N/dX^l_k)(∂⁺X^l_k/∂θ): the rows of (44) before dE_N/dX^L_N, any loss, is applied."""
    L, N = network.layers, network.steps
    found = []
    for l, i, factor in _parameters(network):

        def source(layer: int, k: int, l: int = l, i: int = i, factor: Any = factor) -> tuple[list[Any], list[Any]]:
            y, z = [0] * network.neurons, [0] * network.neurons
            if layer == l:
                h = network.weights.h[l - 1][i]
                z[i] = -h * network.slopes[k][l - 1][i] * factor(k)
                y[i] = h * z[i]
            return y, z

        left = network.along(N, source)
        right: list[Any] = [0] * (2 * network.neurons)
        for k in range(1, N + 1):
            direct = [x for pair in zip(*source(l, k), strict=True) for x in pair]
            column = net.product(network.total(L, N, l, k), [[x] for x in direct])
            right = [a + b[0] for a, b in zip(right, column, strict=True)]
        found += [a - b for a, b in zip(left, right, strict=True)]
    return found


def _parameters(network: Layered) -> list[tuple[int, int, Callable[[int], Any]]]:
    """(layer, neuron, dA/dθ as a function of the step) of every w, b and V."""
    late = network.weights.indices == "icml"
    found: list[tuple[int, int, Callable[[int], Any]]] = []
    for l, i in itertools.product(range(1, network.layers + 1), range(network.neurons)):
        found.append((l, i, lambda k, l=l, i=i: network.levels[k - 1][l][i]))  # type: ignore[misc]
        found.append((l, i, lambda k: 1))
        for r in range(network.neurons):
            found.append((l, i, lambda k, l=l, r=r: network.levels[k if late else k - 1][l - 1][r]))  # type: ignore[misc]
    return found


def _sum_over_paths_again(network: again.IntervalNetwork) -> list[Any]:
    """For θ = w^l_i and b^l_i: the inhomogeneous recursion of blocks against the sum over all routes."""
    found, iv, N, L = [], again.iv, network.N, network.L
    for l in range(1, L + 1):
        for i in range(network.m):
            for kind in "wb":
                kicks: list[Any] = [None]
                for k in range(1, N + 1):
                    column = [[iv.mpf(0)] for _ in range(2 * network.m)]
                    C = network.y[k - 1][l][i] if kind == "w" else iv.mpf(1)
                    column[2 * i + 1][0] = -network.h[l][i] * network.s[k][l][i] * C
                    column[2 * i][0] = network.h[l][i] * column[2 * i + 1][0]
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
                found += again.flat(again.add(d[N][L], total, -1))
    return found


SUM_OVER_PATHS = {
    indices: PathIdentity(indices, _sum_over_paths, _sum_over_paths_again, "dX^L_n/dθ against its sum over l and k")
    for indices in ("icml", "sam")
}


# --- (46), (92): one path in place of all


def _along_time(network: Layered, q: int) -> list[Matrix]:
    """dX^q_N/dX^q_{N−1}, …, dX^q_2/dX^q_1; the identity where N = 1."""
    return [network.own(q, j) for j in range(network.steps, 1, -1)] or [net.identity(2 * network.neurons)]


def _early_path(climb: Callable[[Layered], Callable[[int, int], Matrix]]) -> Callable[[Layered], list[Any]]:
    """(46): dX^L_N/dX^l_1 against ∏_j dX^L_j/dX^L_{j−1} ∏_q dX^q_1/dX^{q−1}_1, all l."""

    def residual(network: Layered) -> list[Any]:
        L, found = network.layers, []
        for l in range(1, L + 1):
            up = [climb(network)(q, 1) for q in range(L, l, -1)]
            right = net.product(*_along_time(network, L), *up)
            found += net.entries(net.minus(network.total(L, network.steps, l, 1), right))
        return found

    return residual


def _early_path_again(direct: bool) -> Callable[[again.IntervalNetwork], list[Any]]:
    def residual(network: again.IntervalNetwork) -> list[Any]:
        found, N, L = [], network.N, network.L
        for l in range(1, L + 1):
            right = again.eye(2 * network.m)
            for q in range(l + 1, L + 1):
                vanishes = direct and network.sam
                right = again.mul(again.zeros(2 * network.m) if vanishes else network.DE(q, 1), right)
            for j in range(2, N + 1):
                right = again.mul(network.B(L, j), right)
            found += again.flat(again.add(network.total(L, N, l, 1), right, -1))
        return found

    return residual


def _late_path(network: Layered) -> list[Any]:
    """(92): dX³_N/dX¹_1 against (dX³_N/dX²_N)(dX²_N/dX¹_N) ∏_j dX¹_j/dX¹_{j−1}."""
    N = network.steps
    right = net.product(network.climb(3, N), network.climb(2, N), *_along_time(network, 1))
    return net.entries(net.minus(network.total(3, N, 1, 1), right))


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
    early = net.product(*_along_time(network, 3), network.climb(3, 1), network.climb(2, 1))
    late = net.product(network.climb(3, N), network.climb(2, N), *_along_time(network, 1))
    return net.entries(net.minus(early, late))


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


# --- (47)-(50): the blocks; (59), (63): the index of the input


def _own_blocks(network: Layered) -> list[Any]:
    """dX^q_n/dX^q_{n−1} against blockdiag B."""
    return [
        entry
        for q in range(1, network.layers + 1)
        for entry in net.entries(net.minus(network.total(q, 1, q, 0), network.own(q, 1)))
    ]


def _own_blocks_again(network: again.IntervalNetwork) -> list[Any]:
    whole, size, found = network.whole_step(1), 2 * network.m, []
    for l in range(1, network.L + 1):
        for a in range(size):
            for b in range(size):
                i, r = a // 2, b // 2
                h = network.h[l][i]
                kappa = network.alpha + network.w[l][i] * network.s[1][l][i]
                printed = [[1 - h**2 * kappa, h], [-h * kappa, 1]][a % 2][b % 2] if i == r else 0
                found.append(whole[(l - 1) * size + a][(l - 1) * size + b] - printed)
    return found


def _climbs(network: Layered) -> list[Any]:
    """∂X^q_n/∂X^{q−1}_n, the other arguments of the step held, against D, E."""
    return [
        entry
        for q in range(2, network.layers + 1)
        for entry in net.entries(net.minus(network.partial(q, 1), network.climb(q, 1)))
    ]


def _climbs_again(network: again.IntervalNetwork) -> list[Any]:
    """A step sees y^{q−1}_n only through A; so the derivative is (h, 1)ᵀ(−h σ')(dA_i/dy^{q−1,r}_n), A being affine."""
    found = []
    for q in range(2, network.L + 1):
        for i in range(network.m):
            h = network.h[q][i]
            for r in range(network.m):
                names_it = not network.sam
                slope_of_A = network.V[q][i][r] if names_it else 0
                kick = -(h * network.s[1][q][i] * slope_of_A)
                D = -(h**2) * network.s[1][q][i] * network.V[q][i][r]
                E = -h * network.s[1][q][i] * network.V[q][i][r]
                found += [h * kick - D, kick - E]
    return found


def _derivative_by_V(late: bool) -> Callable[..., list[Any]]:
    """A^l_{n−1}, affine in V^l, as V^l_{p,r} grows by 1, against δ_{ip} y^{l−1,r}_n (late) or y^{l−1,r}_{n−1}."""

    def residual(
        weights: Weights, before: State, u_before: Sequence[Any], u: Sequence[Any], sigma: Callable[[Any], Any]
    ) -> list[Any]:
        after, arguments = net.forward(weights, before, u_before, u, sigma)
        start = [u if late else u_before, *(y for y, _ in (after if late else before))]
        levels = [u, *(y for y, _ in after)] if weights.indices == "icml" else [u_before, *(y for y, _ in before)]
        found = []
        for l, p, r in itertools.product(range(weights.layers), range(weights.neurons), range(weights.neurons)):
            V = [[list(row) for row in rows] for rows in weights.V]
            V[l][p][r] = V[l][p][r] + 1
            other = Weights(weights.indices, weights.alpha, weights.h, weights.w, weights.b, V)
            for i in range(weights.neurons):
                A = other.w[l][i] * before[l][0][i] + other.drive(l, i, levels)
                found.append(A - arguments[l][i] - (start[l][r] if i == p else 0))
        return found

    return residual


def _derivative_by_V_again(late: bool) -> Callable[[again.IntervalNetwork], list[Any]]:
    """dA/dV is the input that the step read: level l − 1 at time N − 1 (sam) or N."""

    def residual(network: again.IntervalNetwork) -> list[Any]:
        N = network.N
        read, said = (N - 1 if network.sam else N), (N if late else N - 1)
        return [
            network.y[read][l - 1][r] - network.y[said][l - 1][r]
            for l in range(1, network.L + 1)
            for r in range(network.m)
        ]

    return residual


OWN = PathIdentity("icml", _own_blocks, _own_blocks_again, "dX^q_n/dX^q_{n−1} against blockdiag B")
CLIMB = PathIdentity("icml", _climbs, _climbs_again, "∂X^q_n/∂X^{q−1}_n against D, E")
CLIMB_SAM = PathIdentity("sam", _climbs, _climbs_again, "∂X^q_k/∂X^{q−1}_k against D, E of (49), (50)")
BY_V_59 = StateIdentity(
    "sam",
    _derivative_by_V(late=False),
    _derivative_by_V_again(late=False),
    "dA^{l,i}_{k−1}/dV^l_{p,p̄} against δ_{ip} y^{l−1,p̄}_{k−1}",
    ({"u": "0 1"}, {"u": "1"}),
)


def gradient_by_V(indices: Indices) -> Case:
    """(63) for θ = V^l_{p,p̄}, L = 1: |∂⁺z_k/∂V| ≤ dt (1 + α|y_{k−1}| + max(|y_{k−1}|, |y^{l−1}_k|, 1)), as printed."""

    def ask(_: Budget, __: int) -> Attempt:
        menu = [
            net.small_network(Shape(1, 1, 1), V="0", w=w, u=f"{first} {second}")
            for first, second, w in itertools.product((1, 10, 100), (0, 1), ("0", "1"))
        ]
        exceeding = tuple(p for p in menu if check(p).opinions[0].violated)
        tried = f"{len(menu)} single neurons with V = 0, inputs up to 100, k = 1"
        return Attempt(tried, len(menu), found="exceeds" if exceeding else "within", candidates=exceeding[:3])

    def check(parameters: Parameters) -> Check:
        with net.at_precision():
            network, states = net.typed(parameters, indices)
            n, dt, alpha = network.steps, _ball(parameters, "dt"), _ball(parameters, "alpha")
            y, below = states[n - 1][0][0][0], network.levels[n][0][0]
            read = network.levels[n if indices == "icml" else n - 1][0][0]
            left = abs(network.weights.h[0][0] * network.slopes[n][0][0] * read)
            right = dt * (1 + alpha * abs(y) + abs(y).max(abs(below)).max(arb(1)))
            exceeds = bool(left > right)
            sizes = float(left), float(right)

        def excess(again_network: again.IntervalNetwork) -> list[Any]:
            """left − right if that is certainly positive, else 0."""
            iv, t = again.iv, again_network
            seen = t.y[t.N - 1 if t.sam else t.N][0][0]
            state, said = abs(t.y[t.N - 1][1][0]), abs(t.y[t.N][0][0])
            bracket = max(state.b, said.b, iv.mpf(1).b)
            gap = abs(t.h[1][0] * t.s[t.N][1][0] * seen) - t.dt * (1 + t.alpha * state + bracket)
            return [gap if gap.a > 0 else iv.mpf(0)]

        return Check(
            opinions=(
                Opinion("balls", exceeds, f"|∂⁺z/∂V| = {sizes[0]:.6g} against {sizes[1]:.6g}"),
                Opinion("mpmath", *again.run(dict(parameters), indices == "sam", excess)),
            ),
            premises=tuple(Hypothesis(text, str(margin), holds) for text, margin, holds in net.premises(parameters)),
            words=f"{describe(parameters)}: |∂⁺z_1/∂V| = {sizes[0]:.6g} > {sizes[1]:.6g}",
        )

    return Case("L = 1", f"(63) for θ = V, {indices} indices", ask, check)


def _ball(parameters: Parameters, name: str) -> Any:
    value = number(parameters, name)
    return arb(fmpq(value.numerator, value.denominator))


# --- (93)-(99): three layers at one time, split by powers of dt


def _parts(block: Matrix) -> tuple[Matrix, Matrix]:
    """(dt² G, dt H) of dX^q_n/dX^{q−1}_n = dt² G + dt H: the rows of y, quadratic in dt, and those of z, linear."""
    return (
        [[0 if row % 2 else x for x in line] for row, line in enumerate(block)],
        [[x if row % 2 else 0 for x in line] for row, line in enumerate(block)],
    )


def _three_at_once(network: Layered) -> list[Any]:
    """H³H² = 0, G³H² = 0; Ḡ = G³G² has entries at (y, y) only, H̄ = H³G² at (z, y) only; dX³/dX¹ = dt⁴Ḡ + dt³H̄."""
    G3, H3 = _parts(network.climb(3, 1))
    G2, H2 = _parts(network.climb(2, 1))
    G, H = net.product(G3, G2), net.product(H3, G2)
    size = len(G)
    outside = [G[a][b] for a in range(size) for b in range(size) if a % 2 or b % 2]
    outside += [H[a][b] for a in range(size) for b in range(size) if not a % 2 or b % 2]
    left = net.minus(network.total(3, 1, 1, 1), net.plus(G, H))
    return [*outside, *net.entries(left), *net.entries(net.product(H3, H2)), *net.entries(net.product(G3, H2))]


def _three_at_once_again(network: again.IntervalNetwork) -> list[Any]:
    """Entry by entry: G and H from h² σ' V and h σ' V themselves."""
    m, found = network.m, []
    total = network.total(3, 1, 1, 1)
    for i in range(m):
        for r in range(m):
            through = sum(
                (network.V[3][i][j] * network.h[2][j] ** 2 * network.s[1][2][j] * network.V[2][j][r] for j in range(m)),
                again.iv.mpf(0),
            )
            H = network.h[3][i] * network.s[1][3][i] * through
            found += [total[2 * i][2 * r] - network.h[3][i] * H, total[2 * i + 1][2 * r] - H]
            found += [total[2 * i][2 * r + 1], total[2 * i + 1][2 * r + 1]]
    return found


THREE_AT_ONCE = PathIdentity("icml", _three_at_once, _three_at_once_again, "dX³_n/dX¹_n against dt⁴Ḡ + dt³H̄")


# --- (104): residual stacking


def published_counter(L: int, S: int) -> int:
    """ν = [L/S] if S does not divide L, else [L/S] − 1."""
    return L // S - (L % S == 0)


def _residual_stacking(reading: str) -> Callable[[Layered], list[Any]]:
    """(104) at one time n. ``reading`` of the factor dX^{L−(s−1)S}/dX^{L−sS}: "total", "partial" or "skip edge"."""

    def factor(network: Layered, q: int) -> Matrix:
        S = network.weights.skip
        if reading == "total":
            return network.total(q, 1, q - S, 1)
        if reading == "skip edge":
            return network.jump(q, 1)
        return [[0] * (2 * network.neurons) for _ in range(2 * network.neurons)]

    def residual(network: Layered) -> list[Any]:
        L, S = network.layers, network.weights.skip
        nu = published_counter(L, S)
        first = [factor(network, L - (s - 1) * S) for s in range(1, nu + 1)]
        first += [network.climb(l, 1) for l in range(L - nu * S, 1, -1)]
        chain = net.product(*(network.climb(l, 1) for l in range(L, 1, -1)))
        right = net.plus(net.product(*first), chain)
        return net.entries(net.minus(network.total(L, 1, 1, 1), right))

    return residual


def _residual_stacking_again(reading: str) -> Callable[[again.IntervalNetwork], list[Any]]:
    def residual(network: again.IntervalNetwork) -> list[Any]:
        L, S, size = network.L, network.S, 2 * network.m
        nu = L // S if L % S else L // S - 1
        first, chain = again.eye(size), again.eye(size)
        for l in range(2, L - nu * S + 1):
            first = again.mul(network.DE(l, 1), first)
        for s in range(nu, 0, -1):
            q = L - (s - 1) * S
            if reading == "total":
                middle = network.total(q, 1, q - S, 1)
            else:
                middle = network.DE(q, 1, far=True) if reading == "skip edge" else again.zeros(size)
            first = again.mul(middle, first)
        for l in range(2, L + 1):
            chain = again.mul(network.DE(l, 1), chain)
        return again.flat(again.add(network.total(L, 1, 1, 1), again.add(first, chain), -1))

    return residual


STACKED = {
    reading: PathIdentity(
        "icml",
        _residual_stacking(reading),
        _residual_stacking_again(reading),
        f"dX^L_n/dX¹_n against (104), factors over S layers read as {reading}",
    )
    for reading in ("total", "partial", "skip edge")
}
STACKS = (Shape(4, 1, 1, 2), Shape(5, 1, 1, 3))

_REST = (Shape(2, 1, 1), Shape(2, 2, 1), Shape(3, 1, 1), Shape(3, 2, 1))

QUESTIONS = (
    Question(
        id="both-(44)/(17)",
        source=Source("sam", "(44); icml S(17)"),
        statement="dE_n/dθ = Σ_{l=1..L} Σ_{k=1..n} (dE_n/dX^L_n)(dX^L_n/dX^l_k)(∂⁺X^l_k/∂θ), total derivative in the "
        "middle; θ an entry of w^l, V^l, b^l",
        semantics="alg",
        cases=tuple(
            SUM_OVER_PATHS[indices].case("L ≤ 3, n ≤ 3", f"dX^L_n/dθ, {indices} indices", SHORT)
            for indices in ("icml", "sam")
        ),
    ),
    Question(
        id="both-46",
        source=Source("sam", "(46); icml S(19)"),
        statement="dX^L_n/dX^l_k = ∏_{j=k+1..n} dX^L_j/dX^L_{j−1} ∏_{q=l+1..L} dX^q_k/dX^{q−1}_k, 1 ≤ l ≤ L",
        semantics="alg",
        cases=(
            EARLY.case("L = 1, n − k ≤ 3", "(46)", ONE_LAYER),
            EARLY.case("L = 2", "(46), icml indices", TWO_LAYERS),
            EARLY.case("L = 3", "(46), icml indices", THREE_LAYERS),
            EARLY_SAM.case("L = 2", "(46), sam indices, blocks (49), (50)", TWO_LAYERS),
            EARLY_SAM.case("L = 3", "(46), sam indices, blocks (49), (50)", THREE_LAYERS),
            EARLY_SAM_EXACT.case("L = 2", "(46), sam indices, exact blocks", TWO_LAYERS),
        ),
    ),
    Question(
        id="both-92",
        source=Source("sam", "(92); icml S(65)"),
        statement="L = 3: dX³_n/dX¹_k = (dX³_n/dX²_n)(dX²_n/dX¹_n) ∏_{j=k+1..n} dX¹_j/dX¹_{j−1}",
        semantics="alg",
        cases=(
            LATE.case("L = 3", "(92), icml indices", THREE_LAYERS),
            LATE_SAM.case("L = 3", "(92), sam indices, blocks (49), (50)", THREE_LAYERS),
        ),
    ),
    Question(
        id="both-46-vs-92",
        source=Source("sam", "(46), (92); icml S(19), S(65)"),
        statement="the product rule (46) with l = 1, L = 3 yields (92): ∏_j dX³_j/dX³_{j−1} (dX³_k/dX²_k)(dX²_k/dX¹_k) "
        "= (dX³_n/dX²_n)(dX²_n/dX¹_n) ∏_j dX¹_j/dX¹_{j−1}",
        semantics="alg",
        cases=(
            EARLY_LATE.case("L = 3", "right sides, icml indices", THREE_LAYERS),
            EARLY_LATE_SAM.case("L = 3", "right sides, sam indices", THREE_LAYERS),
        ),
    ),
    Question(
        id="both-48-50",
        source=Source("sam", "(47)-(50); icml S(20)-S(23)"),
        statement="icml indices: dX^L_j/dX^L_{j−1} = blockdiag B, B = [[1 − h²κ, h], [−hκ, 1]], κ = α + w σ'(A_{j−1}); "
        "and dX^q_k/dX^{q−1}_k has the blocks D = −h² σ'(A_{k−1}) V, E = −h σ'(A_{k−1}) V",
        semantics="alg",
        cases=(OWN.case("L ≤ 3, m ≤ 2", "B", _REST), CLIMB.case("L ≤ 3, m ≤ 2", "D, E", _REST)),
    ),
    Question(
        id="sam-49-50-indices",
        source=Source("sam", "(49), (50), (59), (63)"),
        statement="under sam (31) dX^q_k/dX^{q−1}_k has the blocks D = −dt² σ̂² σ'(A_{k−1}) V, E = −dt σ̂ σ'(A_{k−1}) V "
        "(49), (50); dA^{l,i}_{k−1}/dV^l_{p,p̄} = y^{l−1,p̄}_{k−1} (59); |∂⁺z^{l,i}_k/∂V| ≤ dt (1 + α|y^{l,i}_{k−1}| + "
        "max(|y^{l,i}_{k−1}|, |y^{l−1,p̄}_k|, 1)) (63)",
        semantics="alg",
        cases=(
            CLIMB_SAM.case("L ≤ 3, m ≤ 2", "D, E of (49), (50)", _REST),
            BY_V_59.case("L ≤ 3, m ≤ 2", "dA/dV of (59)", _REST),
            gradient_by_V("sam"),
        ),
    ),
    Question(
        id="both-96-99",
        source=Source("sam", "(93)-(99); icml S(66)-S(72)"),
        statement="dX^q_n/dX^{q−1}_n = dt² G^{q,n} + dt H^{q,n}; H³H² = 0, G³H² = 0; Ḡ = G³G² and H̄ = H³G² vanish "
        "but in the entries (y, y) and (z, y); the product is dt⁴ (Ḡ + dt⁻¹ H̄)",
        semantics="alg",
        cases=(THREE_AT_ONCE.case("L = 3, m ≤ 3", "dX³_n/dX¹_n", (Shape(3, 1, 1), Shape(3, 2, 1), Shape(3, 3, 1))),),
    ),
    Question(
        id="both-104",
        source=Source("sam", "(104), (105); icml S(77), S(78)"),
        statement="residual form x^l_n = Λ^l y^{l−S−1}_n + V^l y^{l−1}_n: dX^L_n/dX¹_n = ∏_{s=1..ν} "
        "dX^{L−(s−1)S}_n/dX^{L−sS}_n ∏_{l=2..L−νS} dX^l_n/dX^{l−1}_n + ∏_{l=1..L−1} dX^{l+1}_n/dX^l_n, ν = [L/S] or "
        "[L/S] − 1",
        semantics="alg",
        cases=tuple(
            identity.case("(L, S) = (4, 2), (5, 3)", f"(104), {reading}", STACKS)
            for reading, identity in STACKED.items()
        ),
    ),
)
