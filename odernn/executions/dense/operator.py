"""The dense recurrences as one operator of torch, and their derivative as another; there is no third.

dense_forward   name, u, V, b, matrices, vectors, first states, numbers -> rows of the states, what is kept
dense_backward  dE by the rows, the rows, the rest as above -> dE by u, V, b, matrices, vectors, first states
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from odernn.executions.autocast import in_full_digits
from odernn.executions.dense.shapes import check_given, check_rows
from odernn.executions.operators import differentiable

_FORWARD, _BACKWARD = "odernn::dense_forward", "odernn::dense_backward"

# Not by custom_op, whose first call imports torch's compiler.
_GIVEN = "Tensor u, Tensor? V, Tensor? b, Tensor[] matrices, Tensor[] vectors, Tensor[] first, Tensor numbers"
torch.library.define(_FORWARD, f"(str name, {_GIVEN}) -> Tensor[]", tags=torch.Tag.pt2_compliant_tag)
torch.library.define(
    _BACKWARD,
    f"(str name, Tensor?[] asked, Tensor[] rows, {_GIVEN}, bool needs_u) -> Tensor[]",
    tags=torch.Tag.pt2_compliant_tag,
)
Tensors = Sequence[Tensor]

NO_TANGENT = (
    'execution="cpu" has no forward-mode derivative: its derivative is one walk backwards in time. '
    'Use reverse mode, or execution="torch".'
)


@in_full_digits
def _forward(
    name: str,
    u: Tensor,
    V: Tensor | None,
    b: Tensor | None,
    matrices: Tensors,
    vectors: Tensors,
    first: Tensors,
    numbers: Tensor,
) -> list[Tensor]:
    from odernn.executions.cpu.threads import alone
    from odernn.executions.dense.walk import DenseInputs, DenseWalk

    with alone():
        return DenseWalk(name, DenseInputs(u, V, b), matrices, vectors, first, numbers).forward()


@torch.library.register_fake(_FORWARD)
def _fake_forward(name, u, V, b, matrices, vectors, first, numbers):  # type: ignore[no-untyped-def]
    from odernn.executions.dense.walk import form_of

    form = form_of(name)
    check_given(name, form, u, V, b, matrices, vectors, first, numbers)
    shape = (u.shape[0], *first[0].shape)
    states = [first[0].new_empty(shape) for _ in range(form.states)]
    return [*states, first[0].new_empty((form.kept, *shape))]


@in_full_digits
def _backward(
    name: str,
    asked: Sequence[Tensor | None],
    rows: Tensors,
    u: Tensor,
    V: Tensor | None,
    b: Tensor | None,
    matrices: Tensors,
    vectors: Tensors,
    first: Tensors,
    numbers: Tensor,
    needs_u: bool,
) -> list[Tensor]:
    from odernn.executions.cpu.threads import alone
    from odernn.executions.dense.walk import DenseInputs, DenseWalk

    with alone():
        walk = DenseWalk(name, DenseInputs(u, V, b), matrices, vectors, first, numbers)
        return walk.backward(asked, rows, needs_u)


@torch.library.register_fake(_BACKWARD)
def _fake_backward(name, asked, rows, u, V, b, matrices, vectors, first, numbers, needs_u):  # type: ignore[no-untyped-def]
    from odernn.executions.dense.walk import form_of

    check_given(name, form_of(name), u, V, b, matrices, vectors, first, numbers)
    check_rows(name, form_of(name), asked, rows, u, first[0])
    by_u = u.new_empty(u.shape if V is None or needs_u else 0)
    optional = [u.new_empty(0) if each is None else each.new_empty(each.shape) for each in (V, b)]
    return [by_u, *optional, *(each.new_empty(each.shape) for each in (*matrices, *vectors, *first))]


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensors) -> None:
    name, u, V, b, matrices, vectors, first, numbers = inputs
    ctx.save_for_backward(*output, u, V, b, numbers, *matrices, *vectors, *first)
    ctx.counts = [len(each) for each in (output, matrices, vectors, first)]
    ctx.name = name
    ctx.set_materialize_grads(False)


def _differentiate(ctx: Any, asked: Sequence[Tensor | None]) -> tuple[Any, ...]:
    outputs, *counts = ctx.counts
    is_flat = isinstance(ctx.needs_input_grad[4], bool)  # not a list of those of the matrices
    if ctx.needs_input_grad[4 + (sum(counts) if is_flat else len(counts))]:  # after name, u, V, b and the lists
        raise NotImplementedError(
            f'execution="cpu" has no derivative by the numbers of the recurrence {ctx.name!r}, as dt is one. '
            'Detach them, or use execution="torch".'
        )
    saved, groups = list(ctx.saved_tensors), []  # once: checkpoint() computes them again at every look
    rows, (u, V, b, numbers) = saved[:outputs], saved[outputs : outputs + 4]
    at = outputs + 4
    for count in counts:
        groups.append(saved[at : at + count])
        at += count
    needs_u = ctx.needs_input_grad[1]
    by_u, by_V, by_b, *rest = backward(ctx.name, list(asked[:-1]), rows, u, V, b, *groups, numbers, needs_u)
    found = []
    for count in counts:
        found.append(rest[:count])
        rest = rest[count:]
    is_given = V is None or needs_u
    optional = (None if given is None else by for given, by in ((V, by_V), (b, by_b)))
    return (None, by_u if is_given else None, *optional, *found, None)


def _no_second_derivative(*_: Any) -> None:
    raise RuntimeError(
        'execution="cpu" is differentiable once: its derivative has none. Use execution="torch" for second derivatives.'
    )


forward = differentiable(_FORWARD, _forward, _differentiate, _remember, no_tangent=lambda _: NO_TANGENT, lists=True)
backward = differentiable(_BACKWARD, _backward, _no_second_derivative, no_tangent=lambda _: NO_TANGENT, lists=True)
