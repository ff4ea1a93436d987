"""A whole UnICORNN stack as one differentiable operation whose memory does not grow with the rows of its layers.

    x^l_n = V^l y^{l-1}_n + b^l + Λ^l y^{k}_n,   k = sources[l−1][1],      then (U) of ``odernn.executions.recurrence``

for n = 1..N and l = 1..L, y^0 = u; with ``is_shifted`` the drives see n − 1 in place of n. Time is cut into chunks. All
layers go through a chunk before any goes on, and only their states (y, z) at its end stay. On the way back the chunks
are taken last to first: the rows of layers 1..L are made again, then the costates go down through layers L..1, and each
chunk adds to the gradients of the weights by one product a layer, always in the same order.

    reversible     rows by the inverse step, from the states at the chunk's end: N b d for u and a constant more
    checkpointed   rows by the step itself, from the states at the chunk's start, which are kept: as exact as stored
                   rows, for 2 L b m floats more a kept state

A reversible walk compares what it has rebuilt with the states that are known: those before the first step, and any that
are kept in between, from which it goes on. Where they differ by more than the tolerance, or by little that the
gradients see as much (``GradientShare``), or went apart on the way (``Paths``), it warns and takes that part of the
time once more as a checkpointed walk would. These are estimates and no bounds: where gradients have to be right
whatever the weights, choose "checkpointed". Any execution will do: what is called are its ``outputs``, ``forward``,
``inverse`` and ``backward``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from odernn.executions.autocast import without_autocast
from odernn.executions.stack.plan import StackPlan, WalkedLayer
from odernn.executions.stack.walk import Cotangents, StackRun, StackWalk


def run(
    plan: StackPlan,
    u: Tensor,
    previous: Tensor | None,
    y0: Tensor,
    z0: Tensor,
    masks: Tensor | None,
    layers: Sequence[WalkedLayer],
) -> StackRun:
    """The stack over u (time, batch, input); once differentiable in u, u_0, the states and all of ``layers``.

    previous  u_0 (batch, input), if the drives are shifted
    y0, z0    (layers, batch, hidden)
    masks     (layers − 1, batch, hidden): a factor on what is seen of each layer but the last, or None
    """
    flat = [tensor for layer in layers for tensor in layer]
    extra = () if plan.readout is None else plan.readout.parameters
    return StackRun(
        *_Stack.apply(  # type: ignore[no-untyped-call]
            plan, u, previous, y0, z0, masks, *flat, *extra
        )
    )


class _Stack(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: StackPlan, *given: Tensor | None) -> tuple[Tensor | None, ...]:
        ctx.set_materialize_grads(False)
        walk = StackWalk.of(plan, given)
        with without_autocast(walk.u):
            outcome, kept, paths = walk.forwards()
        ctx.plan = plan
        if plan.is_recorded:
            ctx.given = len(given)
            ctx.save_for_backward(*given, outcome.y_last, outcome.z_last, *kept, paths)
        return tuple(outcome)

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # torch's once_differentiable would drop the second derivative without a word
            raise RuntimeError(
                "The walk back through a stack has no graph of its own gradient, which create_graph=True asks for. "
                "Leave it out, or call the network itself, which can be differentiated again."
            )
        saved = ctx.saved_tensors
        given, (y, z, *kept, paths) = saved[: ctx.given], saved[ctx.given :]
        walk = StackWalk.of(ctx.plan, given)
        needed = ctx.needs_input_grad[1:]
        states = list(zip(*(block.unbind() for block in kept), strict=True))
        grads = Cotangents(*cotangents)
        with without_autocast(walk.u):
            gradients = walk.backwards(y, z, states, paths, grads, wants_u=needed[0] or needed[1])
        return None, *(grad if need else None for grad, need in zip(gradients, needed, strict=True))
