"""Norms and eigenvalues of matrices that are known up to a radius: proved, each in two ways.

A matrix is any object with float64 arrays ``middle`` and ``radius``; a statement holds for every matrix within.
``…_in_balls`` use Arb, the others float64 with proved roundings (``rounded``) and other theorems.

‖M‖₂ ≤ c is proved in balls by a congruence: Xᵀ(c²I − MᵀM)X has positive Gershgorin discs, so c²I − MᵀM is positive
definite (X is any float matrix; the inverse of a Cholesky factor makes the product nearly I). In floats: with Q nearly
orthogonal, λ_max(MᵀM) ≤ λ_max(Qᵀ MᵀM Q)/(1 − ‖QᵀQ − I‖_∞). ‖M‖₂ ≥ ‖Mv‖/‖v‖ for any v, in both.
Eigenvalues in balls are those of Arb, clusters included; in floats Gershgorin discs after an approximate
diagonalisation X: with Y ≈ X⁻¹, G = YX − I and W = Y (AX − XD), X⁻¹AX − D = (I + G)⁻¹ W, whose row sums are at most
those of W plus those of G times ‖W‖_∞/(1 − ‖G‖_∞).

The Jacobian of all states of a UnICORNN is block triangular with a 2 × 2 block of determinant 1 for each neuron, so its
eigenvalues are those of the blocks: λ² − tλ + 1 with the block's trace t (``radius_of_blocks``).

In use today: tests and ``benchmarks/certificates.py`` only. No verdict of the ledger rests on it, and ``odernn witness
verify`` does not call it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import acb, acb_mat, arb, arb_mat, ctx

from verification.certify.rounded import Array, U, above, product

BITS = 128
SLACKS = tuple(2.0**-k for k in (40, 36, 32, 28, 24, 20, 14, 8, 4))
"""Relative room above the float norm, tried in turn."""


@dataclass(frozen=True)
class Range:
    """lower ≤ the number ≤ upper, as floats; ``upper`` is None if no upper bound could be proved, for the reason
    given.
    """

    lower: float
    upper: float | None
    because: str = ""


def infinity_norm(matrix: Any) -> Range:
    """The largest row sum of moduli."""
    size = np.abs(matrix.middle)
    terms = matrix.middle.shape[1] + 4
    low = (np.maximum(size - matrix.radius, 0) * (1 - 2 * U)).sum(axis=1).max() * (1 - terms * U)
    return Range(float(low), float(above((size + matrix.radius).sum(axis=1)).max()))


def infinity_norm_in_balls(matrix: Any) -> Range:
    with ctx.workprec(BITS):
        sums = [sum((abs(v) for v in row), arb(0)) for row in _balls(matrix).tolist()]
        return Range(max(_down(v) for v in sums), max(_up(v) for v in sums))


def two_norm(matrix: Any) -> Range:
    """The largest singular value."""
    M, radius = matrix.middle, matrix.radius
    gram, gram_radius = product(M.T, radius.T, M, radius)
    _, Q = np.linalg.eigh((gram + gram.T) / 2)
    rotated, rotated_radius = product(gram, gram_radius, Q, None)
    rotated, rotated_radius = product(Q.T, None, rotated, rotated_radius)
    ones, ones_radius = product(Q.T, None, Q, None)
    ones = ones - np.eye(len(Q))
    off = float(above((np.abs(ones) * (1 + U) + ones_radius + U).sum(axis=1)).max())
    top = float(above((np.abs(rotated) + rotated_radius).sum(axis=1)).max())
    image, image_radius = product(M, radius, Q[:, -1:], None)
    low = np.maximum(np.abs(image) - image_radius, 0)
    length = float(above((Q[:, -1:] ** 2).sum()))
    lower = float(np.sqrt((low**2).sum() * (1 - (len(M) + 8) * U) / length) * (1 - 8 * U))
    if off >= 0.5:
        return Range(lower, None, "the approximate eigenvectors are not nearly orthogonal")
    return Range(lower, float(above(np.sqrt(above(np.array(top / (1 - off)))))))


def two_norm_in_balls(matrix: Any) -> Range:
    """The same, by a congruence that is positive definite."""
    guess = float(np.linalg.norm(matrix.middle, 2))
    with ctx.workprec(BITS):
        M = _balls(matrix)
        v = np.linalg.svd(matrix.middle)[2][0]
        vector = arb_mat([[float(x)] for x in v])
        image = M * vector
        squares = [sum((x * x for x in column.entries()), arb(0)) for column in (image, vector)]
        lower = _down((squares[0] / squares[1]).nonnegative_part().sqrt())
        gram = M.transpose() * M
        for slack in SLACKS:
            c = guess * (1 + slack)
            if _is_positive_definite(gram, c):
                return Range(lower, c)
    return Range(lower, None, f"c² I − MᵀM is not proved positive definite for c = {c:.6g}: the radii are too large")


def _is_positive_definite(gram: Any, c: float) -> bool:
    """Whether c² I − gram is proved to be."""
    size = gram.nrows()
    shifted = arb_mat([[arb(c) * c if i == j else arb(0) for j in range(size)] for i in range(size)]) - gram
    middle = np.array([[float(v) for v in row] for row in shifted.tolist()])
    try:
        X = np.linalg.inv(np.linalg.cholesky((middle + middle.T) / 2)).T
    except np.linalg.LinAlgError:
        return False
    if not np.isfinite(X).all():
        return False
    factor = arb_mat([[float(v) for v in row] for row in X])
    rows = (factor.transpose() * shifted * factor).tolist()
    return all(bool(row[i] > sum((abs(v) for j, v in enumerate(row) if j != i), arb(0))) for i, row in enumerate(rows))


def spectral_radius(matrix: Any) -> Range:
    """The largest modulus of an eigenvalue, by Gershgorin discs."""
    A, A_radius = matrix.middle, matrix.radius
    D, X = np.linalg.eig(A)
    X = X.astype(complex)
    try:
        Y = np.linalg.inv(X)
    except np.linalg.LinAlgError:
        return Range(0.0, None, "the approximate eigenvectors are dependent")
    if not (np.isfinite(Y).all() and np.isfinite(X).all()):
        return Range(0.0, None, "the approximate eigenvectors are dependent")
    AX, AX_radius = _complex_product(A.astype(complex), A_radius, X, None)
    XD = X * D
    left = AX - XD
    left_radius = above(AX_radius + 4 * U * (_size(X) * _size(D) + _size(left)))
    W, W_radius = _complex_product(Y, None, left, left_radius)
    G, G_radius = _complex_product(Y, None, X, None)
    G = G - np.eye(len(A))
    W_rows = above((_size(W) + W_radius).sum(axis=1))
    G_rows = above((_size(G) * (1 + U) + G_radius + U).sum(axis=1))
    if not float(G_rows.max()) < 0.5:
        return Range(0.0, None, "the approximate eigenvectors are nearly dependent: a multiple eigenvalue")
    discs = above(W_rows + G_rows * float(W_rows.max()) / (1 - float(G_rows.max())))
    smaller, larger = _size(D) * (1 - 8 * U), _size(D) * (1 + 8 * U)
    lower = 0.0
    for members in _components(D, discs):  # a component holds as many eigenvalues as it has discs
        lower = max(lower, float((smaller[members] - discs[members]).min() * (1 - 4 * U)))
    return Range(lower, float((larger + discs).max() * (1 + 2 * U)))


def eigenvalues_in_balls(matrix: Any, *, bits: int = BITS) -> list[tuple[complex, float]]:
    """(centre, radius) of discs, one an eigenvalue, multiple ones repeated. Raises ValueError if Arb cannot tell."""
    with ctx.workprec(bits):
        values = acb_mat(_balls(matrix)).eig(multiple=True)
        discs = []
        for value in values:
            centre = complex(float(value.real), float(value.imag))
            discs.append((centre, _up(abs(value - acb(centre)))))
        return discs


def spectral_radius_in_balls(matrix: Any, *, bits: int = BITS) -> Range:
    try:
        discs = eigenvalues_in_balls(matrix, bits=bits)
    except ValueError as error:
        return Range(0.0, None, str(error))
    room = 1 + 8 * U
    return Range(
        max(0.0, max(abs(c) / room - r for c, r in discs) / room), max(abs(c) * room + r for c, r in discs) * room
    )


def radius_of_blocks(traces: Any) -> Range:
    """max |λ| of 2 × 2 blocks of determinant 1: 1 where |t| ≤ 2, else (|t| + √(t² − 4))/2; ``traces`` is a vector.

    In balls. The same for floats is ``spectral_radius`` of the whole matrix.
    """
    with ctx.workprec(BITS):
        lower = upper = 1.0
        for middle, radius in zip(traces.middle.tolist(), traces.radius.tolist(), strict=True):
            size = abs(arb(middle, radius))
            for end, is_lower in ((size.abs_lower(), True), (size.abs_upper(), False)):
                if end > 2:
                    root = (end + (end * end - 4).sqrt()) / 2
                    if is_lower:
                        lower = max(lower, _down(root))
                    upper = max(upper, _up(root))
        return Range(lower, upper)


def traces_of_blocks(matrix: Any) -> Any:
    """The traces of the 2 × 2 blocks on the diagonal, as an object with ``middle`` and ``radius``.

    That the matrix is 0 above them is the structure of the network; ValueError for a matrix that is not.
    """
    size = len(matrix.middle)
    if size % 2:
        raise ValueError(f"The matrix is {size} × {size}: no blocks of two.")
    blocks = np.kron(np.eye(size // 2), np.ones((2, 2)))
    outside = np.triu(np.ones((size, size))) * (1 - blocks) > 0
    if (np.abs(matrix.middle[outside]) + matrix.radius[outside] > 2.0**-600).any():
        raise ValueError("The matrix is not block triangular: an entry above the diagonal blocks is not 0.")
    diagonal, radii = np.diag(matrix.middle), np.diag(matrix.radius)
    middle = diagonal[::2] + diagonal[1::2]
    return _Vector(middle, above(radii[::2] + radii[1::2] + U * np.abs(middle)))


@dataclass(frozen=True)
class _Vector:
    middle: Array
    radius: Array


def _complex_product(A: Any, A_radius: Array | None, B: Any, B_radius: Array | None) -> tuple[Any, Array]:
    """(midpoint, radius in modulus); a radius bounds both parts."""
    parts = [product(a, A_radius, b, B_radius) for a in (A.real, A.imag) for b in (B.real, B.imag)]
    (rr, rr_radius), (ri, ri_radius), (ir, ir_radius), (ii, ii_radius) = parts
    real, imaginary = rr - ii, ri + ir
    radius = rr_radius + ii_radius + ri_radius + ir_radius + U * (np.abs(real) + np.abs(imaginary))
    return real + 1j * imaginary, above(radius)


def _size(x: Any) -> Any:
    """An upper bound on the modulus, up to a factor 1 + 4u that ``above`` covers."""
    return np.sqrt(x.real * x.real + x.imag * x.imag)


def _components(centres: Any, radii: Array) -> list[list[int]]:
    """Indices of the discs that hang together."""
    left, components = set(range(len(radii))), []
    while left:
        stack, members = [left.pop()], []
        while stack:
            i = stack.pop()
            members.append(i)
            near = [
                j for j in left if abs(centres[i] - centres[j]) <= (radii[i] + radii[j]) * (1 + 2.0**-30) + 2.0**-700
            ]
            left.difference_update(near)
            stack += near
        components.append(members)
    return components


def _balls(matrix: Any) -> Any:
    rows = zip(matrix.middle.tolist(), matrix.radius.tolist(), strict=True)
    return arb_mat([[arb(m, r) for m, r in zip(*row, strict=True)] for row in rows])


def _down(ball: Any) -> float:
    return float(np.nextafter(float(ball.lower()), -np.inf))


def _up(ball: Any) -> float:
    return float(np.nextafter(float(ball.upper()), np.inf))
