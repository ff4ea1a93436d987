"""An operator of torch with a derivative of its own, as all its callers see it.

A graph of torch.compile holds the operator. torch.func takes no derivative of an operator, only of a Function: so
outside of a graph the operator is called as one, which torch.func differentiates, and maps over one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten


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
    lists: bool = False,
) -> Callable[..., Any]:
    """The operator ``name`` with the derivative ``differentiate`` and what it ``keep``s for it.

    no_tangent  what forward mode, which it does not have, is refused with, from the context
    mapped      the rule of vmap, (call, info, in_dims, given), ``one_by_one`` if not given
    lists       whether arguments and results are lists of tensors, which a Function does not see: it is given their
                tensors one by one, and how they were grouped at the end
    """
    torch.library.register_autograd(name, differentiate, setup_context=keep)
    namespace, _, short = name.partition("::")
    operator = getattr(getattr(torch.ops, namespace), short).default
    rule = mapped or one_by_one
    ways = (operator, keep or _keep_nothing, differentiate)
    run, remember, pull = _of_lists(*ways) if lists else ways

    class AsFunction(torch.autograd.Function):
        forward = staticmethod(run)
        setup_context = staticmethod(remember)
        backward = staticmethod(pull)

        @staticmethod
        def jvp(ctx: Any, *_: Any) -> NoReturn:
            raise NotImplementedError(no_tangent(ctx))

        @staticmethod
        def vmap(info: Any, in_dims: tuple[Any, ...], *given: Any) -> Any:
            return rule(AsFunction.apply, info, in_dims, given)

    def call(*given: Any) -> Any:
        if torch.compiler.is_compiling():
            return operator(*given)
        return AsFunction.apply(*(_flat(given) if lists else given))  # type: ignore[no-untyped-call]

    return call


def _flat(given: tuple[Any, ...]) -> tuple[Any, ...]:
    leaves, grouped = tree_flatten(given)
    return *leaves, grouped


def _grouped(flat: tuple[Any, ...]) -> tuple[Any, ...]:
    *leaves, grouped = flat
    assert isinstance(grouped, TreeSpec)
    given: tuple[Any, ...] = tree_unflatten(leaves, grouped)
    return given


def _of_lists(
    operator: Callable[..., Any], keep: Callable[..., Any], differentiate: Callable[..., Any]
) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """The three parts of a Function, of an operator with lists."""

    def run(*flat: Any) -> tuple[Any, ...]:
        return tuple(operator(*_grouped(flat)))

    def remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        keep(ctx, _grouped(inputs), output)

    def pull(ctx: Any, *asked: Any) -> tuple[Any, ...]:
        return *tree_flatten(differentiate(ctx, asked))[0], None

    return run, remember, pull


def _keep_nothing(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    pass
