"""An operator of torch with a derivative of its own, as all its callers see it.

A graph of torch.compile holds the operator. torch.func takes no derivative of an operator, only of a Function: so
outside of a graph the operator is called as one, which torch.func differentiates, and maps over one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import torch


def one_by_one(function: Callable[..., Any], info: Any, in_dims: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
    """The rule of torch.func.vmap for a function of tensors: each call alone, results stacked."""
    results = [
        function(*(value.select(axis, i) if isinstance(axis, int) else value for value, axis in pairs))
        for i, pairs in ((i, zip(given, in_dims, strict=True)) for i in range(info.batch_size))
    ]
    if isinstance(results[0], torch.Tensor):
        return torch.stack(results), 0
    stacked = tuple(map(torch.stack, zip(*results, strict=True)))
    return stacked, (0,) * len(stacked)


def differentiable(
    name: str,
    differentiate: Callable[..., Any],
    keep: Callable[..., Any] | None = None,
    *,
    no_tangent: Callable[[Any], str],
    mapped: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """The operator ``name`` with the derivative ``differentiate`` and what it ``keep``s for it.

    no_tangent  what forward mode, which it does not have, is refused with, from the context
    mapped      the rule of vmap, (call, info, in_dims, given), ``one_by_one`` if not given
    """
    torch.library.register_autograd(name, differentiate, setup_context=keep)
    namespace, _, short = name.partition("::")
    operator = getattr(getattr(torch.ops, namespace), short).default
    rule = mapped or one_by_one

    class AsFunction(torch.autograd.Function):
        forward = staticmethod(operator)
        setup_context = staticmethod(keep or _keep_nothing)
        backward = staticmethod(differentiate)

        @staticmethod
        def jvp(ctx: Any, *_: Any) -> NoReturn:
            raise NotImplementedError(no_tangent(ctx))

        @staticmethod
        def vmap(info: Any, in_dims: tuple[Any, ...], *given: Any) -> Any:
            return rule(AsFunction.apply, info, in_dims, given)

    def call(*given: Any) -> Any:
        if torch.compiler.is_compiling():
            return operator(*given)
        return AsFunction.apply(*given)  # type: ignore[no-untyped-call]

    return call


def _keep_nothing(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    pass
