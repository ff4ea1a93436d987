"""An operator of torch with a derivative of its own, as all its callers see it.

A graph of torch.compile holds the operator. torch.func takes no derivative of an operator, only of a Function: so
outside of a graph the operator is called as one, which torch.func differentiates, and maps over one by one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import chain
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
    lists: bool = False,
) -> Callable[..., Any]:
    """The operator ``name`` with the derivative ``differentiate`` and what it ``keep``s for it.

    no_tangent  what forward mode, which it does not have, is refused with, from the context
    mapped      the rule of vmap, (call, info, in_dims, given), ``one_by_one`` if not given
    lists       whether arguments and results are lists of tensors, which a Function does not see: it is given their
                tensors one by one, and how many each list had at the end
    """
    torch.library.register_autograd(name, differentiate, setup_context=keep)
    namespace, _, short = name.partition("::")
    operator = getattr(getattr(torch.ops, namespace), short).default
    rule = mapped or one_by_one
    ways = (operator, keep or _keep_nothing, differentiate)
    remember, pull = _of_lists(*ways[1:]) if lists else ways[1:]

    def run(*given: Any) -> Any:
        return tuple(operator(*_grouped(given))) if lists else operator(*given)

    run.__signature__ = inspect.signature(run)  # type: ignore[attr-defined]  # which every call of a Function asks for

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
    """What is in the lists one by one, and at the end of each argument how many it has, −1 if it is no list."""
    counts = tuple(len(each) if isinstance(each, (list, tuple)) else -1 for each in given)
    listed = ((each,) if count < 0 else each for each, count in zip(given, counts, strict=True))
    return *chain.from_iterable(listed), counts


def _grouped(flat: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments that ``_flat`` was given, with lists as lists."""
    rest = iter(flat[:-1])
    return tuple(next(rest) if count < 0 else [next(rest) for _ in range(count)] for count in flat[-1])


def _of_lists(keep: Callable[..., Any], differentiate: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """``keep`` and ``differentiate`` of a Function, of an operator with lists."""

    def remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        keep(ctx, _grouped(inputs), output)

    def pull(ctx: Any, *asked: Any) -> tuple[Any, ...]:
        return *_flat(differentiate(ctx, asked))[:-1], None

    return remember, pull


def _keep_nothing(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    pass
