"""The solution of implicit equations as a differentiable function of everything that they are made of.

For r(k; a) = 0, with the leaves a: states, drives, weights, step sizes. The gradient is that of the implicit function
theorem, at the solution and not through the iteration: for the cotangent g of k,

    λ = r'(k)⁻ᵀ g,     and a gets −λᵀ ∂r/∂a with k held fixed.

It is written in differentiable operations in which k is the output of this very node, so it is right to all orders.
"""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

import torch
from torch import Tensor

from odernn.integrators.newton import (
    ConvergenceError,
    ConvergenceWarning,
    Equations,
    Newton,
    NewtonOutcome,
    complain,
    solve,
)


class ImplicitFunction(torch.autograd.Function):
    """(equations, newton, leaves) → ``NewtonOutcome``, as a tuple, with k differentiable in the leaves."""

    @staticmethod
    def forward(equations: Equations, newton: Newton, *leaves: Tensor) -> tuple[Tensor, Tensor, Tensor, int, float]:
        # The leaves are what torch makes of those in the equations at this level of differentiation.
        given = equations.with_leaves(leaves)
        outcome = solve(given, newton)
        if not bool(outcome.converged.all()):
            message = complain(given, outcome, newton)
            if newton.on_failure == "raise":
                raise ConvergenceError(message)
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return outcome.k, outcome.residual, outcome.converged, outcome.iterations, outcome.tolerance

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        equations, _, *leaves = inputs
        k, residual, converged, *_ = output
        ctx.equations = equations
        ctx.save_for_backward(k, *leaves)
        ctx.mark_non_differentiable(residual, converged)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> tuple[Tensor | None, ...]:
        k, *leaves = ctx.saved_tensors
        equations: Equations = ctx.equations
        needed = ctx.needs_input_grad[2:]
        multiplier = equations.with_leaves(leaves).multiplier(k, cotangents[0])
        is_graph_wanted = torch.is_grad_enabled()
        with torch.enable_grad():
            # New nodes for the leaves: k depends on them, too, and that part is in the multiplier already.
            own = [leaf.view_as(leaf) if need else leaf for leaf, need in zip(leaves, needed, strict=True)]
            residual = equations.with_leaves(own).residual(k)
        wanted = [leaf for leaf, need in zip(own, needed, strict=True) if need]
        gradients = iter(
            torch.autograd.grad(residual, wanted, -multiplier, create_graph=is_graph_wanted, allow_unused=True)
        )
        return (None, None, *(next(gradients) if need else None for need in needed))

    @staticmethod
    def vmap(info: Any, in_dims: Any, equations: Equations, *_: Any) -> NoReturn:
        raise NotImplementedError(
            f"{equations.subject} cannot be solved inside torch.func.vmap: how many iterations they take depends on "
            "the numbers, which vmap hides. States and drives have batch axes of their own, and samples are solved "
            "independently: call the step or cell once with the batch. Loop over what has none, such as weights."
        )

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> NoReturn:
        raise NotImplementedError(
            f"{ctx.equations.subject} have no forward-mode derivative: only reverse mode is implemented for their "
            "solution. Use torch.func.grad, vjp or jacrev, or torch.autograd.grad."
        )


@torch.compiler.disable  # type: ignore[untyped-decorator]  # how many iterations it takes depends on the data
def solution(equations: Equations, newton: Newton) -> NewtonOutcome:
    """The root of the equations near their start, differentiable in their leaves.

    Raises ``ConvergenceError``, or warns, as ``newton`` says; NotImplementedError under vmap, in forward mode, on meta
    and in torch.export.
    """
    leaves = equations.leaves().values()
    is_exporting = torch.compiler.is_exporting()
    where = "in torch.export" if is_exporting else "on meta"
    if is_exporting or any(leaf.is_meta for leaf in leaves):
        raise NotImplementedError(
            f"{equations.subject} cannot be solved {where}: how many iterations they take depends on numbers, which "
            "are not there. Use a field with a dense form (Field.dense_form), or an explicit method."
        )
    outcome = ImplicitFunction.apply(equations, newton, *leaves)  # type: ignore[no-untyped-call]
    return NewtonOutcome(*outcome)
