"""An operator of torch with a derivative of its own, as all its callers see it.

A graph of torch.compile holds the operator. torch.func takes no derivative of an operator, only of a Function: so
outside of a graph the operator is called as one, which torch.func differentiates, and maps over one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import Parameter


def one_by_one(function: Callable[..., Any], info: Any, in_dims: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
    """The rule of torch.func.vmap for a function of tensors: each call alone, results stacked."""
    results = [
        function(*(value.select(axis, i) if isinstance(axis, int) else value for value, axis in pairs))
        for i, pairs in ((i, zip(given, in_dims, strict=True)) for i in range(info.batch_size))
    ]
    if isinstance(results[0], Tensor):
        return torch.stack(results), 0
    stacked = tuple(map(torch.stack, zip(*results, strict=True)))
    return stacked, (0,) * len(stacked)


def differentiable(
    name: str,
    at_once: Callable[..., Any],
    differentiate: Callable[..., Any],
    keep: Callable[..., Any] | None = None,
    *,
    no_tangent: Callable[[Any], str],
    mapped: Callable[..., Any] | None = None,
    lists: bool = False,
    devices: tuple[str, ...] = ("CPU",),
) -> Callable[..., Any]:
    """The operator ``name`` with the derivative ``differentiate`` and what it ``keep``s for it.

    at_once     what it does on ``devices``; on a CPU it is called without torch's dispatcher where that has nothing
                else to do
    no_tangent  what forward mode, which it does not have, is refused with, from the context
    mapped      the rule of vmap, (call, info, in_dims, given), ``one_by_one`` if not given
    lists       whether arguments and results are lists of tensors, which a Function does not see: it is given their
                tensors one by one, and how many each list had at the end
    """
    torch.library.impl(name, devices)(at_once)
    torch.library.register_autograd(name, differentiate, setup_context=keep)
    namespace, _, short = name.partition("::")
    operator = getattr(getattr(torch.ops, namespace), short).default
    watched, recorded = _functions(
        operator, at_once, differentiate, keep or _keep_nothing, no_tangent, mapped or one_by_one, lists
    )

    def call(*given: Any) -> Any:
        if torch.compiler.is_compiling():
            return operator(*given)
        leaves, counts = _flat(given) if lists else (given, ())
        if not is_plain(leaves):
            return watched(*leaves, *((counts,) if lists else ()))
        if not torch.is_grad_enabled():
            return at_once(*given)
        return recorded(*leaves, *((given,) if lists else ()))

    return call


def _functions(
    operator: Callable[..., Any],
    at_once: Callable[..., Any],
    differentiate: Callable[..., Any],
    remember: Callable[..., Any],
    no_tangent: Callable[[Any], str],
    rule: Callable[..., Any],
    lists: bool,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What is applied to any tensors, by the operator, and to plain ones, without."""

    class AsFunction(torch.autograd.Function):
        @staticmethod
        def forward(*flat: Any) -> Any:
            return tuple(operator(*_grouped(flat))) if lists else operator(*flat)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            remember(ctx, _grouped(inputs) if lists else inputs, output)

        @staticmethod
        def backward(ctx: Any, *asked: Any) -> Any:
            return (*_flat(differentiate(ctx, asked))[0], None) if lists else differentiate(ctx, *asked)

        @staticmethod
        def jvp(ctx: Any, *_: Any) -> NoReturn:
            raise NotImplementedError(no_tangent(ctx))

        @staticmethod
        def vmap(info: Any, in_dims: tuple[Any, ...], *given: Any) -> Any:
            return rule(AsFunction.apply, info, in_dims, given)

    class AtOnce(AsFunction):
        """Of plain tensors; where there are lists, all arguments once more at the end, as they are."""

        @staticmethod
        def forward(*flat: Any) -> Any:
            return tuple(at_once(*flat[-1])) if lists else at_once(*flat)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            remember(ctx, inputs[-1] if lists else inputs, output)

    # Function's own looks for defaults and for functorch; where torch has no other, it does as well
    return AsFunction.apply, getattr(super(torch.autograd.Function, AtOnce), "apply", AtOnce.apply)


def is_plain(given: Sequence[Any]) -> bool:
    """Whether torch's dispatcher has nothing to do but to record a derivative and to call a CPU's implementation.

    So it is eagerly, for ordinary tensors on a CPU; not inside of functorch, of a mode, of forward mode or of a trace,
    and never with a torch that lacks one of the private names by which it says so.
    """
    if not _ORDINARY or _is_watched():
        return False
    keys = torch._C._dispatch_keys
    for each in given:
        kind = type(each)
        if kind is Tensor or kind is Parameter:
            if keys(each).raw_repr() not in _ORDINARY:
                return False
        elif isinstance(each, Tensor):
            return False
    return True


def in_forward_mode() -> bool:
    """Whether a level of forward mode is open, as it may be where torch does not say."""
    return getattr(forward_ad, "_current_level", 0) >= 0


def _is_watched() -> bool:
    return (
        torch._C._are_functorch_transforms_active()
        or torch._C._len_torch_dispatch_stack() > 0
        or torch._C._len_torch_function_stack() > 0
        or torch._C._get_tracing_state() is not None
        or in_forward_mode()
    )


def _ordinary() -> Iterator[int]:
    """What the dispatcher sees of a tensor on a CPU, and of one that was made in inference mode."""
    for is_inference in (False, True):
        with torch.inference_mode(is_inference):
            yield torch._C._dispatch_keys(torch.empty(0, device="cpu")).raw_repr()


_ASKED = (
    "_are_functorch_transforms_active",
    "_len_torch_dispatch_stack",
    "_len_torch_function_stack",
    "_get_tracing_state",
    "_dispatch_keys",
)
"""Names of torch._C, without a promise: where one is gone, all goes through the dispatcher, with the same bits."""

_ORDINARY = frozenset(_ordinary()) if vars(torch._C).keys() >= set(_ASKED) else frozenset()


def _flat(given: tuple[Any, ...]) -> tuple[list[Any], tuple[int, ...]]:
    """What is in the lists one by one, and of each argument how many it has, −1 if it is no list."""
    leaves: list[Any] = []
    counts: list[int] = []
    for each in given:
        is_list = isinstance(each, (list, tuple))
        counts.append(len(each) if is_list else -1)
        leaves += each if is_list else (each,)
    return leaves, tuple(counts)


def _grouped(flat: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments that ``_flat`` was given, with lists as lists, from its leaves and, at the end, its counts."""
    rest = iter(flat[:-1])
    return tuple(next(rest) if count < 0 else [next(rest) for _ in range(count)] for count in flat[-1])


def _keep_nothing(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    pass
