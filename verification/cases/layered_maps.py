"""What one step of the layered network is as a map: uncoupled within a layer, symplectic a layer, of determinant 1, and
invertible; and what is left of it with a full recurrent matrix.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verification.cases.identity import PathIdentity, PolynomialIdentity, StateIdentity
from verification.certify.second import exact_network as again
from verification.measure import exact_network as net
from verification.measure import ring_matrices
from verification.measure.exact_network import Layered, Shape, State, Weights

ONE_LAYER = (Shape(1, 1, 1), Shape(1, 2, 1), Shape(1, 3, 1))
UP_TO_THREE = tuple(Shape(L, m, 1) for L in (1, 2, 3) for m in (1, 2))
LARGER = (Shape(3, 3, 1), Shape(4, 2, 1), Shape(5, 2, 1), Shape(6, 1, 1))


# --- the step as a map: its Jacobian DF, all layers, input given


def _coupling(network: Layered) -> list[Any]:
    """What neuron i sees of neuron r ≠ i: the off-diagonal blocks of dX_j/dX_{j−1}."""
    jacobian = network.total(1, 1, 1, 0)
    size = len(jacobian)
    return [jacobian[a][b] for a, b in itertools.product(range(size), repeat=2) if a // 2 != b // 2]


def _coupling_again(network: again.IntervalNetwork) -> list[Any]:
    jacobian = network.whole_step(1)
    return [x for a, row in enumerate(jacobian) for b, x in enumerate(row) if a // 2 != b // 2]


def _volume(network: Layered) -> list[Any]:
    return [ring_matrices.determinant(network.step_jacobian(1)) - 1]


def _volume_again(network: again.IntervalNetwork) -> list[Any]:
    return [again.det(network.whole_step(1)) - 1]


UNCOUPLED = PathIdentity("icml", _coupling, _coupling_again, "off-diagonal blocks of dX_j/dX_{j−1} against 0")
SYMPLECTIC = PathIdentity("icml", net.symplectic_defect, again.symplectic_defect, "DFᵀ J DF against J")
VOLUME = PathIdentity("icml", _volume, _volume_again, "det DF against 1")
VOLUME_SAM = PathIdentity("sam", _volume, _volume_again, "det DF against 1")


# --- (7) after a step of icml (6)


def there_and_back(
    weights: Weights, before: State, u_before: Sequence[Any], u: Sequence[Any], sigma: Callable[[Any], Any]
) -> list[Any]:
    """(7) after the step, minus where it started."""
    after, _ = net.forward(weights, before, u_before, u, sigma)
    return net.difference(net.printed_inverse(weights, after, u, sigma), before)


def there_and_back_again(network: again.IntervalNetwork) -> list[Any]:
    """(7) from the last state of the run, minus the one before it."""
    n, residuals = network.N, []
    for l in range(1, network.L + 1):
        for i in range(network.m):
            h = network.h[l][i]
            y = network.y[n][l][i] - h * network.z[n][l][i]
            A = network.w[l][i] * y + network.drive(n, l, i)
            z = network.z[n][l][i] + h * again.tanh(A) + h * network.alpha * y
            residuals += [y - network.y[n - 1][l][i], z - network.z[n - 1][l][i]]
    return residuals


CONSTANT = ({"u": "1"}, {"b": "1", "u": "1"})
CHANGING = ({"u": "0 1"}, *CONSTANT)
"""What is tried, for one neuron a layer and one step."""

ICML_INVERSE = StateIdentity("icml", there_and_back, there_and_back_again, "(7) after a step of icml (6)", CHANGING)


# --- the inverse of a step in whose drive the layer below is one step older (sam indices)


def _own_inverse(
    weights: Weights, before: State, u_before: Sequence[Any], u: Sequence[Any], sigma: Callable[[Any], Any]
) -> list[Any]:
    """Layer by layer from below, each with the level below as it was; minus where the step started."""
    after, _ = net.forward(weights, before, u_before, u, sigma)
    levels: list[list[Any]] = [list(u_before)]
    back: State = []
    for l, (y, z) in enumerate(after):
        h = weights.h[l]
        y_before = [a - s * b for a, b, s in zip(y, z, h, strict=True)]
        A = [weights.w[l][i] * y_before[i] + weights.drive(l, i, levels) for i in range(weights.neurons)]
        back.append((y_before, [z[i] + h[i] * (sigma(A[i]) + weights.alpha * y_before[i]) for i in range(len(z))]))
        levels.append(y_before)
    return net.difference(back, before)


def _own_inverse_again(network: again.IntervalNetwork) -> list[Any]:
    """The last step of the run undone, with what was recovered of the layer below."""
    n, residuals = network.N, []
    below = network.y[n - 1][0]
    for l in range(1, network.L + 1):
        recovered = [network.y[n][l][i] - network.h[l][i] * network.z[n][l][i] for i in range(network.m)]
        for i, y in enumerate(recovered):
            total = network.b[l][i] + network.w[l][i] * y
            for r, seen in enumerate(below):
                total += network.V[l][i][r] * seen
            z = network.z[n][l][i] + network.h[l][i] * (again.tanh(total) + network.alpha * y)
            residuals += [y - network.y[n - 1][l][i], z - network.z[n - 1][l][i]]
        below = recovered
    return residuals


SAM_INVERSE = StateIdentity(
    "sam",
    _own_inverse,
    _own_inverse_again,
    "the inverse, layer after layer, after a step of sam (31)",
    CHANGING,
)


# --- a full recurrent matrix W in the place of w: z − h(σ(W y + x) + αy), y + h z


def _full(v: Mapping[str, Any], size: int) -> ring_matrices.Matrix:
    """DF in (y¹, z¹, y², z², …), σ' of neuron i = s_i."""
    rows: ring_matrices.Matrix = []
    for i in range(size):
        h, s = v[f"h{i}"], v[f"s{i}"]
        kick = [-h * (s * v[f"W{i}{j}"] + (v["alpha"] if i == j else 0)) for j in range(size)]
        momentum = list(itertools.chain.from_iterable((kick[j], int(i == j)) for j in range(size)))
        position = [h * entry for entry in momentum]
        position[2 * i] = position[2 * i] + 1
        rows += [position, momentum]
    return rows


def _full_defect(v: Mapping[str, Any], size: int, twist: int = 1) -> list[Any]:
    """det DF − 1, and DFᵀJDF − J minus S_ji − S_ij in the places (y_i, y_j), S = diag(h) diag(σ') W."""
    DF, J = _full(v, size), ring_matrices.symplectic_unit(size)
    moved = ring_matrices.product(ring_matrices.transpose(DF), J, DF)
    for i, j in itertools.product(range(size), repeat=2):
        coupling = v[f"h{j}"] * v[f"s{j}"] * v[f"W{j}{i}"] - v[f"h{i}"] * v[f"s{i}"] * v[f"W{i}{j}"]
        moved[2 * i][2 * j] = moved[2 * i][2 * j] - twist * coupling
    return [ring_matrices.determinant(DF) - 1, *ring_matrices.entries(ring_matrices.minus(moved, J))]


def _full_defect_again(v: Mapping[str, Any], size: int, twist: int = 1) -> list[Any]:
    """Column by column by kick and drift; ω(u, v) = Σ u_y v_z − u_z v_y on pairs of columns."""
    columns: list[list[Any]] = []
    for unit in range(2 * size):
        y = [1 if unit == 2 * i else 0 for i in range(size)]
        z = [1 if unit == 2 * i + 1 else 0 for i in range(size)]
        pulls = [sum(v[f"W{i}{j}"] * y[j] for j in range(size)) * v[f"s{i}"] for i in range(size)]
        z = [z[i] - v[f"h{i}"] * (pulls[i] + v["alpha"] * y[i]) for i in range(size)]
        y = [y[i] + v[f"h{i}"] * z[i] for i in range(size)]
        columns.append([entry for pair in zip(y, z, strict=True) for entry in pair])
    residuals = []
    for a, b in itertools.combinations(range(2 * size), 2):
        p, q = columns[a], columns[b]
        area = sum(p[2 * i] * q[2 * i + 1] - p[2 * i + 1] * q[2 * i] for i in range(size))
        wanted = int(a % 2 == 0 and b == a + 1)
        if a % 2 == 0 == b % 2:
            i, j = a // 2, b // 2
            wanted = twist * (v[f"W{j}{i}"] * v[f"s{j}"] * v[f"h{j}"] - v[f"W{i}{j}"] * v[f"s{i}"] * v[f"h{i}"])
        residuals.append(area - wanted)
    return [again.det(ring_matrices.transpose(columns)) - 1, *residuals]


def full_identity(size: int, twist: int = 1) -> PolynomialIdentity:
    """det DF = 1, and DFᵀJDF − J is the antisymmetric part of diag(h) diag(σ') W; ``twist`` 0 would have it 0."""
    names = ["alpha"]
    names += [f"{letter}{i}" for letter in "hs" for i in range(size)]
    names += [f"W{i}{j}" for i, j in itertools.product(range(size), repeat=2)]
    return PolynomialIdentity(
        tuple(names),
        lambda v: _full_defect(v, size, twist),
        lambda v: _full_defect_again(v, size, twist),
        "full W: det DF against 1, DFᵀJDF − J against Sᵀ − S in y, S = diag(h) diag(σ') W",
    )
