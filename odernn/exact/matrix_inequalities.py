"""Linear matrix inequalities with exact data: a solution that is checked exactly, or a proof that there is none.

    find v with F⁰(v) > 0, F¹(v) ≥ 0, F²(v) ≥ 0, …     F^b(v) = Σ_k v_k F_k^b,   F_k^b symmetric and exact           (P)
    obstruction: Z^b ≥ 0, Z⁰ ≠ 0, Σ_b ⟨Z^b, F_k^b⟩ = 0 for every k                                                   (D)

Both at once are impossible: 0 = Σ_b ⟨Z^b, F^b(v)⟩ ≥ ⟨Z⁰, F⁰(v)⟩ > 0. A barrier method in doubles maximises the t with
F^b(v) ≥ t I, tr F⁰(v) = 1; from v a nearby rational vector is taken, from the multipliers a rational Z, moved onto (D)
by an exact projection. Whatever it finds is checked exactly. Where F^b(v) has to be singular its kernel is guessed and
imposed exactly (H. Peyrl, P. A. Parrilo, Computing sum of squares decompositions with rational coefficients, Theoret.
Comput. Sci. 409 (2008) 269–281). The problems on the border between (P) and (D) may remain undecided: ``None``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq

from odernn.certificate import Certificate
from odernn.exact.algebraic import nearest_float
from odernn.exact.definiteness import semidefiniteness
from odernn.exact.linear_algebra import (
    ZERO,
    Rows,
    Vector,
    dot,
    identity,
    matrix_vector,
    nullspace,
    outer,
    product,
    reduced_echelon,
    solve,
    transposed,
)

PROPERTY = "the matrix inequalities have a solution"
BORDER = 1e-6
"""|t| below this counts as the border; it decides what is tried next, never an answer."""
SMALLEST_MU = 1e-8
ROUNDING_BITS = (2, 5, 10, 20, 32, 44)
MOST_FACES = 3


@dataclass(frozen=True)
class Pencil:
    """blocks[b][k] = F_k^b, exact; block 0 is the one that has to be positive definite."""

    blocks: tuple[tuple[Rows, ...], ...]

    @property
    def variables(self) -> int:
        return len(self.blocks[0])

    def at(self, v: Sequence[Any]) -> tuple[Rows, ...]:
        """F^b(v), block by block."""
        return tuple(_combination(v, block) for block in self.blocks)

    def adjoint(self, Z: Sequence[Rows]) -> Vector:
        """Σ_b ⟨Z^b, F_k^b⟩ for every k."""
        return tuple(
            sum((_inner(z, block[k]) for z, block in zip(Z, self.blocks, strict=True)), ZERO)
            for k in range(self.variables)
        )

    def restricted(self, basis: Sequence[Vector]) -> Pencil:
        """In the coordinates w of v = Σ w_l basis[l]."""
        return Pencil(tuple(tuple(_combination(v, block) for v in basis) for block in self.blocks))


def is_solution(pencil: Pencil, v: Sequence[Any]) -> bool:
    """Whether v satisfies (P), exactly."""
    first, *others = pencil.at(v)
    return _is_definite(first) and all(semidefiniteness(block).holds is True for block in others)


def is_obstruction(pencil: Pencil, Z: Sequence[Rows]) -> bool:
    """Whether Z satisfies (D), exactly."""
    if any(x != 0 for x in pencil.adjoint(Z)) or all(x == 0 for row in Z[0] for x in row):
        return False
    return all(semidefiniteness(z).holds is True for z in Z)


def decide(pencil: Pencil, candidates: Sequence[Vector] = ()) -> Certificate:
    """Whether (P) has a solution. ``witness``: v of a "yes", Z of a "no". ``None``: none was found, which is no proof.

    candidates  vectors to be tried first
    margin      of ``None``: the largest t with F^b(v) ≥ t I that was found, tr F⁰ = 1, blocks scaled
    """
    for v in candidates:
        if is_solution(pencil, v):
            return Certificate(PROPERTY, True, True, v, "a candidate")
    if all(sum((F[i][i] for i in range(len(F))), ZERO) == 0 for F in pencil.blocks[0]):
        Z = (identity(_size(pencil, 0)), *_zeros(pencil)[1:])
        return Certificate(PROPERTY, False, True, Z, "every F⁰(v) has trace 0")
    kernel = nullspace(tuple(row for F in pencil.blocks[0] for row in F))
    if kernel:
        Z = (outer(kernel[0], kernel[0]), *_zeros(pencil)[1:])
        return Certificate(PROPERTY, False, True, Z, "every F⁰(v) is singular on the same vector")
    if pencil.variables == 1:
        return _decide_line(pencil)
    return _search(pencil)


# --- one variable: v = ±1


def _decide_line(pencil: Pencil) -> Certificate:
    """Exact for every size that ``semidefiniteness`` decides: Z is made of a violation for v = 1 and one for v = −1."""
    violations = []
    for direction in (fmpq(1), fmpq(-1)):
        if is_solution(pencil, (direction,)):
            return Certificate(PROPERTY, True, True, (direction,), "one variable")
        violation = _violation(pencil, direction)
        if violation is None:
            return Certificate(PROPERTY, None, False, None, "one variable: too large to be decided exactly", margin=0.0)
        violations.append(violation)
    (Z, a), (W, c) = violations  # a ≤ 0 ≤ c are what they give with F
    found_zero = next((X for X, value in violations if value == 0 and any(x != 0 for row in X[0] for x in row)), None)
    if found_zero is None:
        scaled = [
            [[c * x - a * y for x, y in zip(*rows, strict=True)] for rows in zip(*pair, strict=True)]
            for pair in zip(Z, W, strict=True)
        ]
        found_zero = tuple(tuple(map(tuple, block)) for block in scaled)
    return Certificate(PROPERTY, False, True, found_zero, "one variable: neither v = 1 nor v = −1")


def _violation(pencil: Pencil, direction: fmpq) -> tuple[tuple[Rows, ...], Any] | None:
    """x xᵀ in the first block where direction · F is not as it has to be, and ⟨x xᵀ, F⟩."""
    for b, block in enumerate(pencil.at((direction,))):
        certificate = semidefiniteness(block)
        if certificate.holds is None:
            return None
        x = certificate.witness
        if certificate and b == 0 and certificate.value.zero:
            x = nullspace(block)[0]
        if x is not None:
            Z = list(_zeros(pencil))
            Z[b] = outer(x, x)
            return tuple(Z), direction * dot(x, matrix_vector(block, x))
    return None


# --- more variables


def _search(pencil: Pencil) -> Certificate:
    reduced, lift = _without_common_kernels(pencil)
    coordinates: Sequence[Vector] = identity(pencil.variables)
    best = -np.inf
    for face in range(MOST_FACES + 1):
        t, v, Z = _phase_one(reduced)
        best = max(best, t)
        for rounded in _roundings(v):
            vector = tuple(dot(rounded, [u[k] for u in coordinates]) for k in range(pencil.variables))
            if t > -BORDER and any(vector) and is_solution(pencil, vector):
                return Certificate(PROPERTY, True, True, vector, "found by a barrier method, checked exactly")
        for exact in (_projected(reduced, Z), _on_ranges(reduced, Z)) if face == 0 and t < 10 * BORDER else ():
            if exact is not None and is_obstruction(pencil, lifted := lift(exact)):
                text = "there is none: Z ≥ 0 with Z⁰ ≠ 0 is orthogonal to every F(v)"
                return Certificate(PROPERTY, False, True, lifted, text)
        smaller = None if t < -1e3 * BORDER else _on_a_face(reduced, v)
        if smaller is None:
            break
        basis, reduced = smaller
        coordinates = [tuple(dot(w, [u[k] for u in coordinates]) for k in range(pencil.variables)) for w in basis]
        if reduced.variables == 1:
            signs = [coordinates[0], tuple(-x for x in coordinates[0])]
            solution = next((u for u in signs if is_solution(pencil, u)), None)
            if solution is not None:
                return Certificate(PROPERTY, True, True, solution, "found on a face, checked exactly")
            break
    text = "none was found, which does not show that there is none"
    return Certificate(PROPERTY, None, False, None, text, margin=float(best))


def _without_common_kernels(pencil: Pencil) -> tuple[Pencil, Any]:
    """Blocks without the vectors that every F_k^b maps to zero, which say nothing; and how Z is carried back.

    Blocks are also scaled by powers of two to entries of size 1.
    """
    kept, frames, scales = [], [], []
    for block in pencil.blocks:
        kernel = nullspace(tuple(row for F in block for row in F))
        frame = _complement(kernel, len(block[0]))
        frames.append(frame)
        largest = max((abs(x) for F in block for row in F for x in row), default=ZERO)
        scale = fmpq(2) ** -_exponent(largest)
        scales.append(scale)
        kept.append(tuple(_scaled(scale, _compressed(F, frame)) for F in block))
    is_kept = [bool(frame) for frame in frames]

    def lift(Z: Sequence[Rows]) -> tuple[Rows, ...]:
        carried, remaining = [], iter(Z)
        for b, block in enumerate(pencil.blocks):
            size = len(block[0])
            if not is_kept[b]:
                carried.append(tuple((ZERO,) * size for _ in range(size)))
                continue
            E = transposed(frames[b])
            carried.append(_scaled(scales[b], product(E, product(next(remaining), frames[b]))))
        return tuple(carried)

    return Pencil(tuple(block for block, keep in zip(kept, is_kept, strict=True) if keep)), lift


def _complement(kernel: Sequence[Vector], size: int) -> Rows:
    """Unit vectors that span a complement of the kernel."""
    if not kernel:
        return identity(size)
    leading = reduced_echelon(kernel)[1]
    return tuple(e for k, e in enumerate(identity(size)) if k not in leading)


def _compressed(F: Rows, frame: Rows) -> Rows:
    return product(frame, product(F, transposed(frame))) if frame else ()


def _on_a_face(pencil: Pencil, v: Any) -> tuple[Sequence[Vector], Pencil] | None:
    """The v whose blocks have the kernels that those of this v nearly have, and the pencil on them, smaller."""
    equations: list[Vector] = []
    kernels: dict[int, Rows] = {}
    for b, block in enumerate(pencil.blocks):
        if b == 0:
            continue
        values, vectors = np.linalg.eigh(np.tensordot(v, _as_array(block), 1))
        near = values < 1e-4 * max(1.0, float(values[-1]))
        if not near.any():
            continue
        kernel = _rational_basis(vectors[:, near].T)
        kernels[b] = kernel
        columns = transposed(kernel)
        images = [product(F, columns) for F in block]
        equations += [tuple(image[i][j] for image in images) for i in range(len(block[0])) for j in range(len(kernel))]
    if not kernels:
        return None
    basis = nullspace(equations)
    if not basis:
        return None
    blocks = []
    for b, block in enumerate(pencil.restricted(basis).blocks):
        frame = _complement(kernels.get(b, ()), len(block[0]))
        if frame:
            blocks.append(tuple(_compressed(F, frame) for F in block))
    return basis, Pencil(tuple(blocks))


def _rational_basis(rows: Any) -> Rows:
    """Reduced echelon form of the rows, in doubles, with the simplest rational entries within 1e-3 of it."""
    rows = np.array(rows)
    for done in range(len(rows)):
        column = int(np.abs(rows[done:]).max(axis=0).argmax())
        pivot = done + int(np.abs(rows[done:, column]).argmax())
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, column]
        others = np.arange(len(rows)) != done
        rows[others] -= np.outer(rows[others, column], rows[done])
    simple = [[Fraction(float(x)).limit_denominator(64) for x in row] for row in rows]
    return tuple(tuple(fmpq(x.numerator, x.denominator) for x in row) for row in simple)


def _roundings(v: Any) -> list[Vector]:
    """Ever closer vectors of dyadic numbers, the shortest first, near v / max |v_k|."""
    unit = v / np.abs(v).max()
    return [tuple(fmpq(round(float(x) * 2**bits), 2**bits) for x in unit) for bits in ROUNDING_BITS]


def _projected(pencil: Pencil, Z: Sequence[Any]) -> tuple[Rows, ...] | None:
    """Rational matrices near Z that satisfy Σ ⟨Z^b, F_k^b⟩ = 0: the nearest point of that subspace."""
    near = [
        tuple(
            tuple(fmpq(round(float(z[min(i, j), max(i, j)]) * 2**44), 2**44) for j in range(len(z)))
            for i in range(len(z))
        )
        for z in Z
    ]
    n = pencil.variables
    gram = [[sum((_inner(b[k], b[l]) for b in pencil.blocks), ZERO) for l in range(n)] for k in range(n)]
    shift = solve(gram, [[x] for x in pencil.adjoint(near)])
    if shift is None:
        return None
    corrections = pencil.at([row[0] for row in shift])
    return tuple(
        tuple(tuple(x - y for x, y in zip(*rows, strict=True)) for rows in zip(z, correction, strict=True))
        for z, correction in zip(near, corrections, strict=True)
    )


def _on_ranges(pencil: Pencil, Z: Sequence[Any]) -> tuple[Rows, ...] | None:
    """The same where Z is nearly of low rank: its ranges are guessed, Z^b = U_bᵀ Y_b U_b, and Y is projected."""
    frames: list[Rows] = []
    largest = max(float(np.abs(z).max()) for z in Z)
    for z in Z:
        values, vectors = np.linalg.eigh(z)
        kept = values > 1e-3 * largest
        frames.append(_rational_basis(vectors[:, kept].T) if kept.any() else ())
    live = [b for b, frame in enumerate(frames) if frame]
    blocks = tuple(tuple(_compressed(F, frames[b]) for F in pencil.blocks[b]) for b in live)
    inner = []
    for b in live:
        back = np.linalg.pinv(_as_array([frames[b]])[0])
        inner.append(back.T @ Z[b] @ back)
    projected = _projected(Pencil(blocks), inner)
    if projected is None:
        return None
    full = list(_zeros(pencil))
    for b, Y in zip(live, projected, strict=True):
        full[b] = product(transposed(frames[b]), product(Y, frames[b]))
    return tuple(full)


# --- the barrier method, in doubles


def _phase_one(pencil: Pencil) -> tuple[float, Any, list[Any]]:
    """Maximise t with F^b(v) ≥ t I, tr F⁰(v) = 1: (t, v, multipliers Z, from which t < 0 or t ≈ 0 may be proved).

    Newton's method on −t/μ − Σ log det(F^b(v) − t I), for falling μ; μ (F − t I)⁻¹ are the multipliers.
    """
    arrays = [_as_array(block) for block in pencil.blocks]
    traces = np.trace(arrays[0], axis1=1, axis2=2)
    start = traces / (traces @ traces)
    directions = np.linalg.svd(traces[None, :])[2][1:]
    v, w = start, np.zeros(len(directions) + 1)
    moved = [np.concatenate([np.tensordot(directions, array, 1), -np.eye(array.shape[1])[None]]) for array in arrays]
    fixed = [np.tensordot(start, array, 1) for array in arrays]
    w[-1] = min(float(np.linalg.eigvalsh(matrix)[0]) for matrix in fixed) - 1.0
    mu, Z = 1.0, []
    while mu > SMALLEST_MU:
        w = _centred(fixed, moved, w, mu)
        v = start + w[:-1] @ directions
        inverses = [np.linalg.inv(_slack(F, D, w)) for F, D in zip(fixed, moved, strict=True)]
        Z = [mu * inverse for inverse in inverses]
        multiplier = sum(float(np.tensordot(z, f)) for z, f in zip(Z, fixed, strict=True))
        if w[-1] > 10 * BORDER:
            break
        if multiplier < -10 * BORDER:  # an upper bound of t
            Z[0] = Z[0] - multiplier * np.eye(len(Z[0]))
            break
        mu *= 0.2
    return float(w[-1]), v, Z


def _slack(F: Any, D: Any, w: Any) -> Any:
    return F + np.tensordot(w, D, 1)


def _centred(fixed: Sequence[Any], moved: Sequence[Any], w: Any, mu: float) -> Any:
    """Damped Newton steps to the minimum for this μ."""
    for _ in range(100):
        gradient = np.zeros(len(w))
        gradient[-1] = -1.0 / mu
        hessian = np.zeros((len(w), len(w)))
        for F, D in zip(fixed, moved, strict=True):
            turned = np.linalg.solve(_slack(F, D, w), D)
            gradient -= np.trace(turned, axis1=1, axis2=2)
            flat = turned.reshape(len(w), -1)
            hessian += flat @ turned.transpose(0, 2, 1).reshape(len(w), -1).T
        step = np.linalg.lstsq(hessian, -gradient, rcond=None)[0]
        decrement = float(-gradient @ step)
        if decrement < 1e-10:
            break
        size = 1.0 / (1.0 + np.sqrt(decrement)) if decrement > 0.0625 else 1.0  # inside the domain: self-concordance
        w = w + size * step
    return w


def _as_array(block: Sequence[Rows]) -> Any:
    return np.array([[[nearest_float(x) for x in row] for row in F] for F in block])


# --- exact helpers


def _is_definite(F: Rows) -> bool:
    certificate = semidefiniteness(F)
    return certificate.holds is True and certificate.value.zero == 0


def _combination(v: Sequence[Any], matrices: Sequence[Rows]) -> Rows:
    size = range(len(matrices[0]))
    terms = [(x, F) for x, F in zip(v, matrices, strict=True) if x != 0]
    return tuple(tuple(sum((x * F[i][j] for x, F in terms), ZERO) for j in size) for i in size)


def _inner(Z: Rows, F: Rows) -> Any:
    return sum((dot(z, f) for z, f in zip(Z, F, strict=True)), ZERO)


def _scaled(factor: Any, F: Rows) -> Rows:
    return tuple(tuple(factor * x for x in row) for row in F)


def _size(pencil: Pencil, b: int) -> int:
    return len(pencil.blocks[b][0])


def _zeros(pencil: Pencil) -> tuple[Rows, ...]:
    return tuple(tuple((ZERO,) * len(block[0]) for _ in block[0]) for block in pencil.blocks)


def _exponent(value: Any) -> int:
    return math.frexp(nearest_float(value))[1]
