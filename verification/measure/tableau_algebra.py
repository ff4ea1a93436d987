"""A step of a ``MatrixTableau`` over any ring, with its functions unknown: is it the cell that it is said to be?

Functions are opaque: equal arguments have equal values, different ones independent symbols; the square is the square.
So an equality holds for every activation function in their place. ``lstm``, ``gru``, ``simple``, ``clockwork`` are the
equations of the cells, typed here without the tableau.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from flint import Ordering, fmpq, fmpq_mpoly_ctx

from odernn.cells.odernn import MatrixTableau
from verification.measure.reversals import OddOpaque

Vector: TypeAlias = list[Any]
Rows: TypeAlias = list[list[Any]]
Functions: TypeAlias = Mapping[str, Callable[[Any], Any]]
Weights: TypeAlias = Callable[[int], tuple[Rows, Rows, Vector]]
"""Label of a stage → K (p × components read), U (p × input), b (p), for stages that have them as weights."""


def in_full(matrix: torch.Tensor, rows: int, columns: int) -> list[list[fmpq]]:
    """A coefficient in any of its three forms, exactly."""
    if matrix.dim() == 0:
        return [[_exact(float(matrix)) if i == j else fmpq(0) for j in range(columns)] for i in range(rows)]
    height, width = matrix.shape
    block = rows // height
    table = matrix.tolist()
    return [
        [_exact(table[i // block][j // block]) if i % block == j % block else fmpq(0) for j in range(columns)]
        if (height, width) != (rows, columns)
        else [_exact(x) for x in table[i]]
        for i in range(rows)
    ]


def _exact(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio())


def times(matrix: Sequence[Sequence[Any]], vector: Sequence[Any]) -> Vector:
    """M x; entries 0 are left out."""
    product = []
    for row in matrix:
        total: Any = 0 * vector[0]
        for entry, x in zip(row, vector, strict=True):
            if entry != 0:
                total = total + x * entry
        product.append(total)
    return product


def step(tableau: MatrixTableau, weights: Weights, y: Vector, u: Vector, functions: Functions) -> Vector:
    """y₊ of an explicit tableau with η = 1, term by term as its definition has it."""
    k: dict[int, Vector] = {}

    def contribution(coefficient: Any, j: int) -> Vector:
        slopes = k[j]
        if coefficient.gate is not None:
            gate, p = coefficient.gate, len(slopes)
            factor: Vector = [0 * x for x in slopes]
            if gate.constant is not None:
                constants = gate.constant.reshape(-1).tolist()
                factor = [f + _exact(constants[i * len(constants) // p]) for i, f in enumerate(factor)]
            if gate.y is not None:
                factor = [f + x for f, x in zip(factor, times(in_full(gate.y, p, len(y)), y), strict=True)]
            for q, matrix in gate.stages.items():
                read = times(in_full(matrix, p, len(k[q])), k[q])
                factor = [f + x for f, x in zip(factor, read, strict=True)]
            slopes = [f * x for f, x in zip(factor, slopes, strict=True)]
        return times(in_full(coefficient.matrix, len(y), len(slopes)), slopes)

    for group in tableau.groups:
        (i,) = group
        stage, d = tableau.stages[i], tableau.hidden_size
        Y = list(y)
        for j in tableau.columns[i]:
            Y = [a + b for a, b in zip(Y, contribution(tableau.A[i, j], j), strict=True)]
        read = Y if stage.reads is None else [x for block in stage.reads for x in Y[block * d : (block + 1) * d]]
        K, U, b = weights(i)
        inner = times(K if stage.K is None else in_full(stage.K, stage.size, len(read)), read)
        if stage.sees_input:
            inner = [x + z for x, z in zip(inner, times(U, u), strict=True)]
        if stage.bias:
            inner = [x + z for x, z in zip(inner, b, strict=True)]
        names = [name for name, size in stage.segments for _ in range(size)]
        k[i] = [functions[name](x) for name, x in zip(names, inner, strict=True)]
    after = list(y)
    for i, coefficient in tableau.B.items():
        after = [a + b for a, b in zip(after, contribution(coefficient, i), strict=True)]
    return after


def depth(tableau: MatrixTableau, layers: int) -> int:
    """Nested nonlinear stages of that many layers on top of each other, in one step: layer l + 1 reads the new h of l.

    Every stage of layer l + 1 that sees the input comes after all stages that make h of layer l.
    """
    below = 0
    for _ in range(layers):
        depths: dict[int, int] = {}
        for group in tableau.groups:
            (i,) = group
            stage = tableau.stages[i]
            before = [depths[j] for j in tableau.needs(i)] + [below if stage.sees_input else 0]
            depths[i] = max(before) + int(not stage.is_linear)
        below = max(depths[i] for i in tableau.B)
    return below


# --- symbols


class Symbols:
    """Names on demand in one polynomial ring, and functions without a formula."""

    def __init__(self, names: Sequence[str], values: int) -> None:
        pools = [f"{kind}{i}" for kind in ("tanh", "sigmoid", "other") for i in range(values)]
        gens = fmpq_mpoly_ctx.get([*names, *pools], Ordering.degrevlex).gens()
        self._free: dict[str, Any] = dict(zip([*names, *pools], gens, strict=True))
        self.functions: dict[str, Callable[[Any], Any]] = {
            kind: OddOpaque((self._free[f"{kind}{i}"] for i in range(values)), odd=False)
            for kind in ("tanh", "sigmoid", "other")
        }
        self.functions |= {"identity": lambda x: x, "square": lambda x: x * x}

    def vector(self, name: str, size: int) -> Vector:
        return [self._free[f"{name}_{i}"] for i in range(size)]

    def matrix(self, name: str, rows: int, columns: int) -> Rows:
        return [[self._free[f"{name}_{i}_{j}"] for j in range(columns)] for i in range(rows)]


def vector_names(name: str, size: int) -> Iterator[str]:
    return (f"{name}_{i}" for i in range(size))


def matrix_names(name: str, rows: int, columns: int) -> Iterator[str]:
    return (f"{name}_{i}_{j}" for i, j in itertools.product(range(rows), range(columns)))


# --- the cells, typed without a tableau; W (rows × hidden), U (rows × input), b in torch's order of gates


def _affine(W: Rows, h: Vector, U: Rows, u: Vector, b: Vector) -> Vector:
    return [x + y + z for x, y, z in zip(times(W, h), times(U, u), b, strict=True)]


def lstm(W: Rows, U: Rows, b: Vector, h: Vector, c: Vector, u: Vector, functions: Functions) -> tuple[Vector, Vector]:
    """i, f, g, o;  c₊ = f c + i g,  h₊ = o tanh(c₊)."""
    d = len(h)
    a = _affine(W, h, U, u, b)
    i, f, g, o = (
        [functions[kind](x) for x in a[n * d : (n + 1) * d]]
        for n, kind in enumerate(("sigmoid", "sigmoid", "tanh", "sigmoid"))
    )
    c = [f[k] * c[k] + i[k] * g[k] for k in range(d)]
    return [o[k] * functions["tanh"](c[k]) for k in range(d)], c


def gru(
    W: Rows,
    U: Rows,
    b: Vector,
    recurrent: Rows,
    shift: Vector,
    inputs: Rows,
    bias: Vector,
    h: Vector,
    u: Vector,
    functions: Functions,
) -> Vector:
    """r, z from W, U, b;  q = recurrent h + shift,  g = tanh(r q + inputs u + bias),  h₊ = g + z (h − g)."""
    d = len(h)
    a = _affine(W, h, U, u, b)
    r, z = ([functions["sigmoid"](x) for x in a[n * d : (n + 1) * d]] for n in range(2))
    q = [x + y for x, y in zip(times(recurrent, h), shift, strict=True)]
    pushed = times(inputs, u)
    g = [functions["tanh"](r[k] * q[k] + pushed[k] + bias[k]) for k in range(d)]
    return [g[k] + z[k] * (h[k] - g[k]) for k in range(d)]


def simple(W: Rows, U: Rows, b: Vector, h: Vector, u: Vector, sigma: Callable[[Any], Any]) -> Vector:
    """σ(W h + U u + b)."""
    return [sigma(x) for x in _affine(W, h, U, u, b)]


# --- a table against a cell


def lstm_differs(tableau: MatrixTableau, layers: int, d: int, one: int | None = None) -> bool:
    """Whether the states of that many layers differ from those of the LSTM, all numbers unknown.

    one   the label of a stage that is meant to be constant, of bias 1
    """
    names = list(vector_names("u", d))
    for l in range(layers):
        names += [*matrix_names(f"W{l}", 4 * d, d), *matrix_names(f"U{l}", 4 * d, d)]
        names += [*vector_names(f"b{l}", 4 * d), *vector_names(f"y{l}", 2 * d)]
    symbols = Symbols(names, 8 * d * layers)
    u = above = symbols.vector("u", d)
    for l in range(layers):
        W, U = symbols.matrix(f"W{l}", 4 * d, d), symbols.matrix(f"U{l}", 4 * d, d)
        b, y = symbols.vector(f"b{l}", 4 * d), symbols.vector(f"y{l}", 2 * d)
        weights: tuple[Rows, Rows, Vector] = (W, U, b)
        ones: tuple[Rows, Rows, Vector] = ([], [], [0 * x + 1 for x in b[:d]])
        after = step(tableau, lambda i, w=weights, o=ones: o if i == one else w, y, u, symbols.functions)  # type: ignore[misc]
        h, c = lstm(W, U, b, y[:d], y[d:], above, symbols.functions)
        if after != [*h, *c]:
            return True
        u, above = after[:d], h
    return False


def gru_differs(tableau: MatrixTableau, layers: int, d: int) -> bool:
    """Whether the states of that many layers differ from those of the GRU, all numbers unknown."""
    linear = max(i for i, stage in tableau.stages.items() if stage.is_linear)
    candidate = next(i for i, stage in tableau.stages.items() if stage.segments == (("tanh", d),))
    names = list(vector_names("u", d))
    for l in range(layers):
        names += [*matrix_names(f"W{l}", 2 * d, d), *matrix_names(f"U{l}", 2 * d, d)]
        names += [*matrix_names(f"R{l}", d, d), *matrix_names(f"V{l}", d, d)]
        names += [*vector_names(f"b{l}", 2 * d), *vector_names(f"y{l}", d)]
        names += [*vector_names(f"s{l}", d), *vector_names(f"t{l}", d)]
    symbols = Symbols(names, 8 * d * layers)
    u = above = symbols.vector("u", d)
    for l in range(layers):
        W, U = symbols.matrix(f"W{l}", 2 * d, d), symbols.matrix(f"U{l}", 2 * d, d)
        R, V = symbols.matrix(f"R{l}", d, d), symbols.matrix(f"V{l}", d, d)
        b, y, s, t = (symbols.vector(f"{name}{l}", size) for name, size in (("b", 2 * d), ("y", d), ("s", d), ("t", d)))
        typed = {linear: (R, [], s), candidate: ([], V, t)}
        rest = (W, U, b)
        after = step(tableau, lambda i, m=typed, r=rest: m.get(i, r), y, u, symbols.functions)  # type: ignore[misc]
        h = gru(W, U, b, R, s, V, t, y, above, symbols.functions)
        if after != h:
            return True
        u, above = after, h
    return False


def simple_differs(tableau: MatrixTableau, layers: int, d: int) -> bool:
    """Whether the states of that many layers differ from those of σ(W h + U u + b), all numbers unknown."""
    names = list(vector_names("u", d))
    for l in range(layers):
        names += [*matrix_names(f"W{l}", d, d), *matrix_names(f"U{l}", d, d)]
        names += [*vector_names(f"b{l}", d), *vector_names(f"y{l}", d)]
    symbols = Symbols(names, 2 * d * layers)
    u = above = symbols.vector("u", d)
    for l in range(layers):
        W, U = symbols.matrix(f"W{l}", d, d), symbols.matrix(f"U{l}", d, d)
        b, y = symbols.vector(f"b{l}", d), symbols.vector(f"y{l}", d)
        weights: tuple[Rows, Rows, Vector] = (W, U, b)
        after = step(tableau, lambda _, w=weights: w, y, u, symbols.functions)  # type: ignore[misc]
        h = simple(W, U, b, y, above, symbols.functions["tanh"])
        if after != h:
            return True
        u, above = after, h
    return False
