"""The blocks of the Jacobian of UnICORNN: of a layer, between layers at one time, and the partials by V."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from flint import arb, fmpq

from verification.cases.identity import PathIdentity, StateIdentity
from verification.certify.second import exact_network as again
from verification.claim import GIVEN, Attempt, Case, Check, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number
from verification.measure import exact_network as net
from verification.measure import ring_matrices
from verification.measure.exact_network import Indices, Layered, Shape, State, Weights
from verification.measure.ring_matrices import Matrix

# --- (47)-(50): the blocks; (59), (63): the index of the input


def _own_blocks(network: Layered) -> list[Any]:
    """dX^q_n/dX^q_{n−1} against blockdiag B."""
    return [
        entry
        for q in range(1, network.layers + 1)
        for entry in ring_matrices.entries(ring_matrices.minus(network.total(q, 1, q, 0), network.own(q, 1)))
    ]


def _own_blocks_again(network: again.IntervalNetwork) -> list[Any]:
    whole, size, residuals = network.whole_step(1), 2 * network.m, []
    for l in range(1, network.L + 1):
        for a in range(size):
            for b in range(size):
                i, r = a // 2, b // 2
                h = network.h[l][i]
                kappa = network.alpha + network.w[l][i] * network.s[1][l][i]
                printed = [[1 - h**2 * kappa, h], [-h * kappa, 1]][a % 2][b % 2] if i == r else 0
                residuals.append(whole[(l - 1) * size + a][(l - 1) * size + b] - printed)
    return residuals


def _climbs(network: Layered) -> list[Any]:
    """∂X^q_n/∂X^{q−1}_n, the other arguments of the step held, against D, E."""
    return [
        entry
        for q in range(2, network.layers + 1)
        for entry in ring_matrices.entries(ring_matrices.minus(network.partial(q, 1), network.climb(q, 1)))
    ]


def _climbs_again(network: again.IntervalNetwork) -> list[Any]:
    """A step sees y^{q−1}_n only through A; so the derivative is (h, 1)ᵀ(−h σ')(dA_i/dy^{q−1,r}_n), A being affine."""
    residuals = []
    for q in range(2, network.L + 1):
        for i in range(network.m):
            h = network.h[q][i]
            for r in range(network.m):
                names_it = not network.sam
                slope_of_A = network.V[q][i][r] if names_it else 0
                kick = -(h * network.s[1][q][i] * slope_of_A)
                D = -(h**2) * network.s[1][q][i] * network.V[q][i][r]
                E = -h * network.s[1][q][i] * network.V[q][i][r]
                residuals += [h * kick - D, kick - E]
    return residuals


def _derivative_by_V(late: bool) -> Callable[..., list[Any]]:
    """A^l_{n−1}, affine in V^l, as V^l_{p,r} grows by 1, against δ_{ip} y^{l−1,r}_n (late) or y^{l−1,r}_{n−1}."""

    def residual(
        weights: Weights, before: State, u_before: Sequence[Any], u: Sequence[Any], sigma: Callable[[Any], Any]
    ) -> list[Any]:
        after, arguments = net.forward(weights, before, u_before, u, sigma)
        start = [u if late else u_before, *(y for y, _ in (after if late else before))]
        levels = [u, *(y for y, _ in after)] if weights.indices == "icml" else [u_before, *(y for y, _ in before)]
        residuals = []
        for l, p, r in itertools.product(range(weights.layers), range(weights.neurons), range(weights.neurons)):
            V = [[list(row) for row in rows] for rows in weights.V]
            V[l][p][r] = V[l][p][r] + 1
            other = Weights(weights.indices, weights.alpha, weights.h, weights.w, weights.b, V)
            for i in range(weights.neurons):
                A = other.w[l][i] * before[l][0][i] + other.drive(l, i, levels)
                residuals.append(A - arguments[l][i] - (start[l][r] if i == p else 0))
        return residuals

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
            words=f"{GIVEN}: |∂⁺z_1/∂V| = {sizes[0]:.6g} > {sizes[1]:.6g}",
        )

    return Case(
        "L = 1", f"(63) for θ = V, {indices} indices", ask, net.declared_network([Shape(1, 1, 3)]).guards(check)
    )


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
    G, H = ring_matrices.product(G3, G2), ring_matrices.product(H3, G2)
    size = len(G)
    outside = [G[a][b] for a in range(size) for b in range(size) if a % 2 or b % 2]
    outside += [H[a][b] for a in range(size) for b in range(size) if not a % 2 or b % 2]
    left = ring_matrices.minus(network.total(3, 1, 1, 1), ring_matrices.plus(G, H))
    return [
        *outside,
        *ring_matrices.entries(left),
        *ring_matrices.entries(ring_matrices.product(H3, H2)),
        *ring_matrices.entries(ring_matrices.product(G3, H2)),
    ]


def _three_at_once_again(network: again.IntervalNetwork) -> list[Any]:
    """Entry by entry: G and H from h² σ' V and h σ' V themselves."""
    m, residuals = network.m, []
    total = network.total(3, 1, 1, 1)
    for i in range(m):
        for r in range(m):
            through = sum(
                (network.V[3][i][j] * network.h[2][j] ** 2 * network.s[1][2][j] * network.V[2][j][r] for j in range(m)),
                again.iv.mpf(0),
            )
            H = network.h[3][i] * network.s[1][3][i] * through
            residuals += [total[2 * i][2 * r] - network.h[3][i] * H, total[2 * i + 1][2 * r] - H]
            residuals += [total[2 * i][2 * r + 1], total[2 * i + 1][2 * r + 1]]
    return residuals


THREE_AT_ONCE = PathIdentity("icml", _three_at_once, _three_at_once_again, "dX³_n/dX¹_n against dt⁴Ḡ + dt³H̄")
