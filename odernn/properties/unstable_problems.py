"""Problems that show a method is not B-stable: monotone, with two numerical solutions that move apart. All exact.

Put λ(t_0 + c_i h) = z_i, h = 1, in y' = λ(t) y. With Z = diag(z), w = (I − AZ)⁻¹1 and u = Zw,

    y₁ = K(Z) y₀,      K(Z) = 1 + bᵀu,      |K|² − 1 = 2 Σ b_i Re z_i |w_i|² − ūᵀMu.

If Σ b_i v_i² < 0, take z = −εv²; if vᵀMv < 0, take z = iεv: for small ε > 0 then |K| > 1, and Re λ ≤ 0. The problem
is monotone, for z = iεv even a rotation y' = εv(t)Jy of the plane. Hairer, Wanner 1996, Section IV.12.

Stages with equal c_i but different z_i need more than t. Add to y components x with slopes g_i at the stages, such
that the points x_i are distinct and (g_i − g_j)ᵀ(x_i − x_j) < 0: they tell the stages apart in y's stead, which is
possible if no two stages are equal. With Re z_i < 0 and |y₀| small enough the slopes (g_i, z_i y_i) at (x_i, y_i) and
(g_i, 0) at (x_i, 0) are strictly monotone: (f − f')ᵀ(p − p') < 0 for different points. Then p ↦ p + βf does not
expand on these finitely many points for some β > 0, it extends to all of Rⁿ without expanding (Kirszbraun 1934), and
with it f extends to a Lipschitz field with (f − f')ᵀ(p − p') ≤ 0 everywhere. This *autonomous* problem is the one
that Hundsdorfer and Spijker's theorem promises; it is written down and checked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from odernn.exact.algebraic import Scalar, sign
from odernn.exact.linear_algebra import (
    ONE,
    ZERO,
    Diagonalisation,
    Rows,
    Vector,
    diagonalise,
    dot,
    entrywise,
    identity,
    matrix_vector,
    product,
    quadratic_form,
    rank,
    solve,
    transposed,
)
from odernn.exact.text import brief, decimal
from odernn.tableaus.methods import Method, form_of
from odernn.tableaus.stages import StageForm

MOST_HALVINGS = 2**16
"""Steps down to 2⁻⁶⁵⁵³⁶ are tried: the violation is beaten by terms of higher order only where it is about as small."""


@dataclass(frozen=True)
class RotationProblem:
    """y' = λ(t) y, λ(c_i) = re_i + i·im_i with re_i ≤ 0, one step of size 1: |y₁|² = growth·|y₀|², growth > 1.

    In the basis of polynomials ``real`` and ``imaginary`` are the coordinates of polynomials in t.
    """

    abscissae: Vector
    real: Vector
    imaginary: Vector
    growth: Scalar
    in_polynomials: bool = False

    def __str__(self) -> str:
        rates = self.real if any(x != 0 for x in self.real) else self.imaginary
        unit = "" if rates is self.real else "i·"
        argument = "coefficients of λ" if self.in_polynomials else "λ(cᵢ)"
        return f"y' = λ(t)y, {argument} = {unit}({', '.join(map(brief, rates))}): |y₁|²/|y₀|² = {_decimal(self.growth)}"


@dataclass(frozen=True)
class MonotoneData:
    """An autonomous field given at 2s points of R^{k+2}, monotone there, and two solutions, y₀ = (r, 0) and ŷ₀ = 0.

    Stage i of the first is at (x_i, r·w_i) with slope (g_i, z_i·r·w_i), of the second at (x_i, 0) with slope (g_i,
    0).

    positions, slopes   s rows x_i and g_i of k entries, x = x₀ + A g     rates   z_i = re + i·im as pairs
    stages              w_i as pairs                radius_squared   r²           growth   |y₁ − ŷ₁|²/|y₀ − ŷ₀|² > 1
    """

    positions: Rows
    slopes: Rows
    rates: Rows
    stages: Rows
    radius_squared: fmpq
    growth: Scalar

    def is_monotone(self) -> bool:
        """(f(p) − f(q))ᵀ(p − q) < 0 for every two different points, f(p) = f(q) for equal ones."""
        points, slopes = [], []
        for x, g, z, w in zip(self.positions, self.slopes, self.rates, self.stages, strict=True):
            for moving in (w, (ZERO, ZERO)):
                points.append((x, moving))
                slopes.append((g, _times(z, moving)))
        for a, (p, f) in enumerate(zip(points, slopes, strict=True)):
            for q, e in zip(points[:a], slopes[:a], strict=True):
                rest = dot(_minus(p[0], q[0]), _minus(f[0], e[0]))
                value = rest + self.radius_squared * dot(_minus(p[1], q[1]), _minus(f[1], e[1]))
                if (p == q and f != e) or (p != q and sign(value) >= 0):
                    return False
        return True

    def __str__(self) -> str:
        return (
            f"a monotone field on {2 * len(self.positions)} points of R{_power(len(self.positions[0]) + 2)}: "
            f"|y₁ - ŷ₁|²/|y₀ - ŷ₀|² = {_decimal(self.growth)}"
        )


UnstableProblem = RotationProblem | MonotoneData


def unstable_problem(
    method: Method, weights: Diagonalisation | None = None, matrix: Diagonalisation | None = None
) -> UnstableProblem | None:
    """A problem that the method pushes apart, ``None`` if there is none: for methods without equal stages.

    y' = λ(t) y where the c_i tell the stages apart that λ must; else data of an autonomous field. In the basis of
    polynomials the latter is not built: ``None`` also there. ``weights`` and ``matrix`` are diag(b) and M
    diagonalised, if known.
    """
    form = form_of(method)
    weights = weights or diagonalise(form.gram)
    matrix = matrix or diagonalise(_matrix(form))
    rates = _rates(form, weights, matrix)
    if rates is None:
        return None
    if form.modulus is not None:
        return _rotation(form, *rates) if _abscissae_generate(form) else an_problem(method)
    c = form.apply(form.one)
    value_at: dict[Any, Any] = {}
    for abscissa, rate in zip(c, zip(*rates, strict=True), strict=True):
        if value_at.setdefault(abscissa, rate) != rate:
            return _monotone_data(form, *rates)
    return _rotation(form, *rates)


def an_problem(method: Method) -> RotationProblem | None:
    """A problem y' = λ(t) y with |y₁| > |y₀|, sought among the λ that directions of negative b or M allow."""
    form = form_of(method)
    basis = _functions_of_abscissae(form)
    columns = transposed(basis)
    gram, M = (product(basis, product(S, columns)) for S in (form.gram, _matrix(form)))
    lifted = [
        Diagonalisation(d.pivots, tuple(matrix_vector(columns, v) for v in d.basis))
        for d in (diagonalise(gram), diagonalise(M))
    ]
    rates = _rates(form, *lifted)
    return None if rates is None else _rotation(form, *rates)


def _matrix(form: StageForm) -> Rows:
    GA = product(form.gram, form.operator)
    return tuple(
        tuple(GA[i][j] + GA[j][i] - form.weights[i] * form.weights[j] for j in range(form.dimension))
        for i in range(form.dimension)
    )


def _functions_of_abscissae(form: StageForm) -> Rows:
    """A basis of the stage vectors that are functions of c = A·1."""
    c = form.apply(form.one)
    if form.modulus is None:
        return tuple(tuple(ONE if x == value else ZERO for x in c) for value in dict.fromkeys(c))
    powers = [form.one]
    while True:
        following = form.product(powers[-1], c)
        if solve(transposed(powers), [[x] for x in following]) is not None:
            return tuple(powers)
        powers.append(following)


def _abscissae_generate(form: StageForm) -> bool:
    return len(_functions_of_abscissae(form)) == form.dimension


def _rates(form: StageForm, weights: Diagonalisation, matrix: Diagonalisation) -> tuple[Vector, Vector] | None:
    """(Re z, Im z) of size 1 that make |K(εZ)| > 1 for small ε; ``None`` if neither b nor M has a negative direction.

    Where the coefficients are irrational the direction is rounded to a rational one, which keeps the sign of the
    form.
    """
    zeros = (ZERO,) * form.dimension
    violation = weights.violation
    if violation is not None:
        u = violation[0]
        return tuple(-x for x in form.product(u, u)), zeros
    violation = matrix.violation
    if violation is None:
        return None
    return zeros, _rationalised(_matrix(form), violation[0]) if form.modulus is None else violation[0]


def _rationalised(M: Rows, v: Vector) -> Vector:
    """A rational vector near v with vᵀMv < 0, equal where v is."""
    bits = 8
    while True:
        near = tuple(fmpq(round(float(x) * 2**bits), 2**bits) if not isinstance(x, fmpq) else x for x in v)
        if sign(quadratic_form(M, near)) < 0:
            return near
        bits += 8
        if bits > 48:
            return v


def _rotation(form: StageForm, real: Vector, imaginary: Vector) -> RotationProblem:
    real, imaginary, _, growth = _grow(form, real, imaginary)
    return RotationProblem(form.apply(form.one), real, imaginary, growth, form.modulus is not None)


def _grow(form: StageForm, real: Vector, imaginary: Vector) -> tuple[Vector, Vector, tuple[Vector, Vector], Scalar]:
    """Halve the rates until |K|² > 1; returns them, w = (I − AZ)⁻¹1 (real and imaginary part) and |K|²."""
    for step in _small_numbers():
        x, y = (tuple(step * r for r in part) for part in (real, imaginary))
        found = _amplification(form, x, y)
        if found is not None and sign(found[1] - 1) > 0:
            return x, y, *found
    raise ArithmeticError("No step was small enough, although b or M has a negative direction.")


def _small_numbers() -> Iterator[fmpq]:
    """1, 1/2, 1/4, 1/8, 1/16, 1/64, …: powers of two, the exponents growing by half."""
    exponent = 0
    while exponent < MOST_HALVINGS:
        yield fmpq(1, 2**exponent)
        exponent = max(exponent + 1, exponent * 3 // 2)


def _amplification(form: StageForm, x: Vector, y: Vector) -> tuple[tuple[Vector, Vector], Scalar] | None:
    """w and |K|² for z = x + iy, ``None`` if I − AZ is singular."""
    w = _stages(form, x, y)
    if w is None:
        return None
    re = 1 + form.weigh(form.product(x, w[0])) - form.weigh(form.product(y, w[1]))
    im = form.weigh(form.product(x, w[1])) + form.weigh(form.product(y, w[0]))
    return w, re * re + im * im


def _stages(form: StageForm, real: Vector, imaginary: Vector) -> tuple[Vector, Vector] | None:
    """w = (I − AZ)⁻¹1 as real and imaginary part, ``None`` if the matrix is singular."""
    size = form.dimension
    unit = identity(size)

    def through(z: Vector) -> Rows:  # A Z
        return transposed([form.apply(form.product(z, e)) for e in unit])

    X, Y = through(real), through(imaginary)
    D = entrywise(lambda e, x: e - x, unit, X)
    rows = [d + y for d, y in zip(D, Y, strict=True)]
    rows += [tuple(-value for value in y) + d for d, y in zip(D, Y, strict=True)]
    right = [[x] for x in form.one] + [[ZERO]] * size
    solution = solve(rows, right)
    if solution is None or rank(rows) < 2 * size:
        return None
    values = tuple(row[0] for row in solution)
    return values[:size], values[size:]


def _monotone_data(form: StageForm, real: Vector, imaginary: Vector) -> MonotoneData:
    real, imaginary, w, growth = _damped(form, *_grow(form, real, imaginary)[:2])
    positions, slopes = _separated(form)
    rates, stages = tuple(zip(real, imaginary, strict=True)), tuple(zip(*w, strict=True))
    moving = [_times(z, y) for z, y in zip(rates, stages, strict=True)]
    radius_squared = ONE
    for i in range(form.dimension):
        for j in range(i):
            strict = dot(_minus(positions[i], positions[j]), _minus(slopes[i], slopes[j]))
            other = dot(_minus(stages[i], stages[j]), _minus(moving[i], moving[j]))
            while sign(strict + radius_squared * other) >= 0:
                radius_squared /= 2
    return MonotoneData(positions, slopes, rates, stages, radius_squared, growth)


def _damped(form: StageForm, real: Vector, imaginary: Vector) -> tuple[Vector, Vector, tuple[Vector, Vector], Scalar]:
    """All real parts lowered by so little that still |K|² > 1: then none is 0."""
    for delta in _small_numbers():
        x = tuple(part - delta for part in real)
        found = _amplification(form, x, imaginary)
        if found is not None and sign(found[1] - 1) > 0:
            return x, imaginary, *found
    raise ArithmeticError("No damping was small enough, although |K|² > 1 without any.")


def _separated(form: StageForm) -> tuple[Rows, Rows]:
    """Distinct points x_i with slopes g_i, x = x₀ + Ag and (g_i − g_j)ᵀ(x_i − x_j) < 0, if no stages are equal.

    Component k solves x' = −x + q with x₀ = 0, where q_i depends only on what the components before tell of stage i;
    its size is reduced until the earlier components' strict decrease outweighs it.
    """
    s, kappa = form.dimension, ONE
    damping = None
    while damping is None:  # I + κA must be regular
        damping = solve(
            [
                [e + kappa * a for e, a in zip(es, row, strict=True)]
                for es, row in zip(identity(s), form.operator, strict=True)
            ],
            identity(s),
        )
        kappa = kappa if damping is not None else kappa / 2
    columns: list[tuple[Vector, Vector]] = []
    labels, seed = [0] * s, 1
    while len(set(labels)) < s:
        q = tuple(fmpq(1 + (label * (label + seed) * seed) % 97) for label in labels)
        x = matrix_vector(damping, form.apply(q))
        g = tuple(a - kappa * b for a, b in zip(q, x, strict=True))
        seed += 1
        keys = list(zip(labels, x, strict=True))
        order = {key: n for n, key in enumerate(dict.fromkeys(keys))}
        if len(order) == len(set(labels)):
            if seed > 50:
                raise ArithmeticError("The stages could not be told apart: merge equal stages first.")
            continue
        size = ONE
        while not _decreasing([*columns, (tuple(size * a for a in x), tuple(size * a for a in g))], order, keys):
            size /= 2
        columns.append((tuple(size * a for a in x), tuple(size * a for a in g)))
        labels = [order[key] for key in keys]
    return transposed([x for x, _ in columns]), transposed([g for _, g in columns])


def _decreasing(columns: Sequence[tuple[Vector, Vector]], order: dict[Any, int], keys: Sequence[Any]) -> bool:
    """(g_i − g_j)ᵀ(x_i − x_j) < 0 for all stages that are told apart."""
    for i, key in enumerate(keys):
        for j in range(i):
            if order[key] == order[keys[j]]:
                continue
            value: Any = ZERO
            for x, g in columns:
                value = value + (x[i] - x[j]) * (g[i] - g[j])
            if sign(value) >= 0:
                return False
    return True


def _times(z: Sequence[Any], w: Sequence[Any]) -> Vector:
    """Product of two complex numbers given as pairs."""
    return (z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0])


def _minus(u: Sequence[Any], v: Sequence[Any]) -> Vector:
    return tuple(x - y for x, y in zip(u, v, strict=True))


def _power(k: int) -> str:
    return str(k).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _decimal(growth: Scalar) -> str:
    """1 + the excess to six digits, which may be far below the resolution of a double."""
    return f"1 + {decimal(growth - 1)}"
