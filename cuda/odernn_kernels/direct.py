"""The stored mode without the dispatcher of torch: the same launches, called at once, for a third of the host's time.

An operation of torch is what torch.compile, functorch, dispatch modes, subclasses of tensors and forward derivatives
need. None of them is there in the plain case (``is_plain``), where an ``autograd.Function`` does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import Parameter

from cuda.odernn_kernels import operations

_PLAIN = frozenset((Tensor, Parameter, type(None)))


def is_plain(*arguments: Tensor | None) -> bool:
    """Nothing watches: eager, ordinary tensors, no functorch, no dispatch mode, no forward derivative, no trace."""
    return not (
        torch.compiler.is_compiling()
        or forward_ad._current_level >= 0
        or torch._C._are_functorch_transforms_active()
        or torch._C._len_torch_dispatch_stack() > 0
        or torch._C._get_tracing_state() is not None
        or not _PLAIN.issuperset(map(type, arguments))
    )


def stored(
    x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor, ends: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """``operations.stored`` of plain tensors."""
    if not torch.is_grad_enabled():
        return operations.run_forward(x, w, h, alpha, y0, z0, ends)
    found: tuple[Tensor, Tensor, Tensor] = _Stored.apply(x, w, h, alpha, y0, z0, ends)  # type: ignore[no-untyped-call]
    return found


class _Stored(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *given: Any) -> tuple[Tensor, Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        found = operations.run_forward(*given)
        operations.keep_stored(ctx, given, found)
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled() or not is_plain(*grads):  # a second derivative is refused there
            pulled: tuple[Tensor | None, ...] = operations.pull_stored(ctx, *grads)
            return pulled
        grad_y, grad_y_last, grad_z_last = grads
        x, w, h, alpha, y0, ends, y, z_last = ctx.saved_tensors
        needed = ctx.needs_input_grad[1:6]
        by_x, *others = operations.gradients_of_stored(
            x, w, h, alpha, y0, ends, y, z_last, grad_y, None, grad_y_last, grad_z_last, needed
        )
        return by_x, *[each if wanted else None for each, wanted in zip(others, needed, strict=True)], None
