"""The operations of torch here are differentiable in reverse mode alone, and say so.

An operation without a forward-mode rule drops the tangents of its arguments: the derivative would be a silent zero.
"""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch import Tensor


def reverse_only(*arguments: Tensor | None) -> tuple[Any, ...]:
    """The same tensors; a forward-mode derivative of them raises NotImplementedError.

    torch.compile traces past it: its graphs are differentiated in reverse mode only.
    """
    if torch.compiler.is_compiling():
        return arguments
    tensors: tuple[Any, ...] = _ReverseOnly.apply(*arguments)  # type: ignore[no-untyped-call]
    return tensors


class _ReverseOnly(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(*arguments: Tensor | None) -> tuple[Tensor | None, ...]:
        return tuple(None if argument is None else argument.view_as(argument) for argument in arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        return grads

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> NoReturn:
        raise NotImplementedError(
            'execution="cuda" has no forward-mode derivative: its kernels go backwards in time. Use reverse mode, or '
            'execution="torch".'
        )
