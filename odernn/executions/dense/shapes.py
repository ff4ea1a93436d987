"""What a dense recurrence is given, checked once: kernels read by address, and would read beyond what is too small.

u (time, batch, below), V (d n, below), b (d n,); without V x itself as u, (time, batch, d n), with d planes of x
states (batch, n); vectors (n,); a matrix a stage that has one, (results · n, sources · n); numbers (count,)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from odernn.executions.dense.form import Form


def check_given(
    name: str,
    form: Form,
    u: Tensor,
    V: Tensor | None,
    b: Tensor | None,
    matrices: Sequence[Tensor],
    vectors: Sequence[Tensor],
    first: Sequence[Tensor],
    numbers: Tensor,
) -> None:
    """Raises ValueError for a wrong count or shape, TypeError for a wrong dtype, of a call of the recurrence."""
    wanted = [stage for stage in form.stages if stage.sources]
    counts = (("states", first, form.states), ("matrices", matrices, len(wanted)), ("vectors", vectors, form.vectors))
    for what, given, count in counts:
        if len(given) != count:
            raise ValueError(f"The recurrence {name!r} has {count} {what}, but {len(given)} are given. Give {count}.")
    if u.dim() != 3 or first[0].dim() != 2:
        raise ValueError(
            f"x or u has shape {tuple(u.shape)} and state 1 {tuple(first[0].shape)}, but the recurrence {name!r} takes "
            "(time, batch, units) and (batch, units). Give these."
        )
    batch, n = u.shape[1], first[0].shape[1]
    rows = len(form.drives) * n
    _check("numbers", numbers, (form.numbers,), name, torch.float64)
    if V is not None:
        _check("V", V, (rows, u.shape[2]), name, u.dtype)
        if b is not None:
            _check("b of V u + b", b, (rows,), name, u.dtype)
    elif b is not None:
        raise ValueError(
            f"The recurrence {name!r} is given b without V, but b belongs to x = V u + b. Give V, or no b."
        )
    else:
        _check("x", u, (u.shape[0], batch, rows), name, u.dtype)
    _check_all("state", first, ((batch, n) for _ in first), name, u.dtype)
    _check_all("matrix", matrices, ((each.results * n, each.sources * n) for each in wanted), name, u.dtype)
    _check_all("vector", vectors, ((n,) for _ in vectors), name, u.dtype)


def check_rows(
    name: str, form: Form, asked: Sequence[Tensor | None], rows: Sequence[Tensor], u: Tensor, state: Tensor
) -> None:
    """Raises ValueError and TypeError unless ``rows``, and dE by those of the states, have what ``forward`` returns."""
    if len(rows) != form.states + 1 or len(asked) != form.states:
        raise ValueError(
            f"The recurrence {name!r} has rows of {form.states} states and what is kept, but {len(rows)} are given, "
            f"and dE by {len(asked)}. Give {form.states + 1} and {form.states}."
        )
    shape = (u.shape[0], *state.shape)
    _check_all("rows", rows[:-1], (shape for _ in asked), name, u.dtype)
    _check("what is kept", rows[-1], (form.kept, *shape), name, u.dtype)
    for each in asked:
        if each is not None:
            _check("dE by rows", each, shape, name, u.dtype)


def _check_all(what: str, given: Sequence[Tensor], shapes: Iterator[tuple[int, ...]], name: str, dtype: object) -> None:
    for number, (each, shape) in enumerate(zip(given, shapes, strict=True), 1):
        _check(f"{what} {number}", each, shape, name, dtype)


def _check(what: str, given: Tensor, shape: tuple[int, ...], name: str, dtype: object) -> None:
    if given.shape != shape:
        raise ValueError(
            f"{what} has shape {tuple(given.shape)}, but the recurrence {name!r}, by batch and below of x or u and "
            f"units of state 1, takes {shape}. Give them one batch and one number of units."
        )
    if given.dtype != dtype:
        raise TypeError(f"{what} has dtype {given.dtype}, but the recurrence {name!r} takes {dtype}. Convert it.")
