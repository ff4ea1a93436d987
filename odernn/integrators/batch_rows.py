"""All steps of a sequence on a ``StageSystem`` as one operator of torch, with its derivative as another.

    p_n = φ(C y_{n−1} + x_n + K p_n),     y_n = R y_{n−1} + Q p_n,     n = 1..N

Each step is solved for the whole batch with one matrix (``batch_solver``), and sample by sample with Newton's method
where that stalls. The derivative is that of the implicit function theorem: with D_n = diag φ'(z_n), from the last step

    g ← g + ∂E/∂y_n,     π_n = (I − Kᵀ D_n)⁻¹ (Qᵀ g + ∂E/∂p_n),     μ_n = D_n π_n,     g ← Rᵀ g + Cᵀ μ_n
    ∂E/∂x_n = μ_n,   ∂E/∂K = Σ μ_n p_nᵀ,   ∂E/∂C = Σ μ_n y_{n−1}ᵀ,   ∂E/∂Q = Σ g_n p_nᵀ,   ∂E/∂R = Σ g_n y_{n−1}ᵀ

π_n is found by the same iteration with Pᵀ in place of P. Where a derivative of the derivative is wanted, the same
formulas are evaluated in differentiable operations, in which p and y are the outputs of the first operator: it is right
to all orders. A failure to converge is raised inside the operator, so that a compiled graph raises it, too.

Layout: x (time, batch, q) or (time, batch, s q), y (batch, m), row n−1 is step n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from odernn.executions.autocast import in_full_digits, without_autocast
from odernn.executions.operators import differentiable, one_by_one
from odernn.integrators import matrices
from odernn.integrators.activations import Activation
from odernn.integrators.batch_solver import SharedIteration
from odernn.integrators.batch_walk import LONG, SequenceSolver, StageRecurrence, derivative_in_torch, multiplied
from odernn.integrators.newton import Newton
from odernn.integrators.stage_system import StageSystem, shared_factor


@dataclass(frozen=True, eq=False)
class BatchRows:
    """Rows of y (time, batch, m) with p (time, batch, s q) of each step, and how each step went.

    residual, converged  (time, batch): max |h (k − f(Y))|, and whether it is solved      iterations  (time,)
    """

    rows: Tensor
    p: Tensor
    residual: Tensor
    converged: Tensor
    iterations: Tensor


def batch_rows(
    label: str,
    system: StageSystem,
    drives: tuple[Tensor, Tensor | None],
    y0: Tensor,
    newton: Newton,
    samples: list[int],
) -> BatchRows:
    """The rows for drives (time, batch, q or s q) from y0 (batch, m).

    label, samples  what messages call it, and the shape of the batch in them

    Raises ConvergenceError, or warns, as ``newton`` says; NotImplementedError in forward mode.
    """
    x, shift = drives
    given = (
        x,
        shift,
        y0,
        system.start_matrix(x.shape[-1]),
        system.K,
        system.Q,
        system.R,
        system.P,
        system.slope,
        list(system.activation.names),
        list(system.activation.sizes),
        system.HU,
        system.step_size,
        newton.tolerance,
        newton.max_iterations,
        newton.max_halvings,
        newton.on_failure == "raise",
        label,
        samples,
    )
    return BatchRows(*_rows(*given))


# --- forwards


torch.library.define(
    "odernn::implicit_rows",
    "(Tensor x, Tensor? shift, Tensor y0, Tensor C, Tensor K, Tensor Q, Tensor? R, Tensor P, Tensor slope,"
    " str[] names, int[] sizes, Tensor HU, Tensor step_size, float? tolerance, int max_iterations, int max_halvings,"
    " bool raises, str label, SymInt[] samples)"
    " -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    tags=torch.Tag.pt2_compliant_tag,
)
torch.library.define(
    "odernn::implicit_rows_backward",
    "(Tensor? grad_rows, Tensor? grad_p, Tensor rows, Tensor p, Tensor x, Tensor? shift, Tensor y0, Tensor C, Tensor K,"
    " Tensor Q, Tensor? R, Tensor P, Tensor slope, str[] names, int[] sizes)"
    " -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    tags=torch.Tag.pt2_compliant_tag,
)


@in_full_digits
@torch.no_grad()
def _implicit_rows(
    x: Tensor,
    shift: Tensor | None,
    y0: Tensor,
    C: Tensor,
    K: Tensor,
    Q: Tensor,
    R: Tensor | None,
    P: Tensor,
    slope: Tensor,
    names: list[str],
    sizes: list[int],
    HU: Tensor,
    step_size: Tensor,
    tolerance: float | None,
    max_iterations: int,
    max_halvings: int,
    raises: bool,
    label: str,
    samples: list[int],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Rows of y, p, residuals, convergence, and how many iterations each step took."""
    newton = Newton(tolerance, max_iterations, max_halvings, "raise" if raises else "warn")
    recurrence, shared = StageRecurrence(Activation(names, sizes), x, shift, C, K, Q, R), _number_or_vector(slope)
    walk = SequenceSolver(recurrence, P, shared, HU, float(step_size), newton, label, samples)
    steps, batch = x.shape[:2]
    rows, p = y0.new_empty(steps, *y0.shape), y0.new_zeros(steps, batch, matrices.row_count(K))
    residual = y0.new_zeros(steps, batch)
    converged = torch.ones(steps, batch, dtype=torch.bool, device=x.device)
    iterations, y = [0] * steps, y0
    if batch:
        for n in range(steps):
            iterations[n], failed = walk.solve_step(n, y, p[n])
            if failed is not None:
                converged[n] = ~failed
            y = torch.add(walk.recurrence.new_state(y, p[n]), 0.0, out=rows[n])
        walk.verify(y0, rows, p, residual, converged)
    return rows, p, residual, converged, torch.tensor(iterations, device=x.device)


@torch.library.register_fake("odernn::implicit_rows")  # type: ignore[untyped-decorator]
def _(
    x: Tensor,
    shift: Tensor | None,
    y0: Tensor,
    C: Tensor,
    K: Tensor,
    Q: Tensor,
    R: Tensor | None,
    P: Tensor,
    slope: Tensor,
    names: list[str],
    sizes: list[int],
    HU: Tensor,
    step_size: Tensor,
    tolerance: float | None,
    max_iterations: int,
    max_halvings: int,
    raises: bool,
    label: str,
    samples: list[int],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    steps, batch = x.shape[:2]
    return (
        y0.new_empty(steps, *y0.shape),
        y0.new_empty(steps, batch, matrices.row_count(K)),
        y0.new_empty(steps, batch),
        y0.new_empty(steps, batch, dtype=torch.bool),
        y0.new_empty(steps, dtype=torch.long),
    )


def _number_or_vector(slope: Tensor) -> Tensor | float:
    return slope if slope.dim() else float(slope)


# --- backwards


@torch.library.impl("odernn::implicit_rows_backward", ("CPU", "CUDA"))
@in_full_digits
@torch.no_grad()
def _implicit_rows_backward(
    grad_rows: Tensor | None,
    grad_p: Tensor | None,
    rows: Tensor,
    p: Tensor,
    x: Tensor,
    shift: Tensor | None,
    y0: Tensor,
    C: Tensor,
    K: Tensor,
    Q: Tensor,
    R: Tensor | None,
    P: Tensor,
    slope: Tensor,
    names: list[str],
    sizes: list[int],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Derivatives by x, shift, y0, C, K, Q and R; of what there is not, an empty tensor."""
    recurrence, everything = StageRecurrence(Activation(names, sizes), x, shift, C, K, Q, R), slice(None)
    before = torch.cat((y0.unsqueeze(0), rows))[:-1]
    z = recurrence.arguments(everything, before) + matrices.product(K, p)
    slopes, by_shift = recurrence.activation.slopes(z, recurrence.gate(everything))
    mean = slopes.nanmean((0, 1)) if slopes.numel() and len(slopes) >= LONG else None
    by_slope = (P, _number_or_vector(slope)) if mean is None else (shared_factor(K, mean), mean)
    shared = SharedIteration(*by_slope)
    mu, pi = z, torch.empty_like(z) if by_shift is not None else None  # z is not needed any more
    costates, g = torch.empty_like(before), torch.zeros_like(y0)
    for n in range(len(x) - 1, -1, -1):
        g = g if grad_rows is None else g + grad_rows[n]
        costates[n] = g
        right = recurrence.by_activations(g)
        right = right if grad_p is None else right + grad_p[n]
        multiplier = multiplied(shared, K, slopes[n], right, mu[n])
        if pi is not None:
            pi[n] = multiplier
        g = recurrence.by_state(g, mu[n])
    by_weights = recurrence.weight_gradients(mu, costates, p, before)
    by_gate = x.new_empty(0) if by_shift is None or pi is None else recurrence.gathered(by_shift * pi)
    by_x = recurrence.gathered(mu)
    return by_x, by_gate, g, *by_weights


@torch.library.register_fake("odernn::implicit_rows_backward")  # type: ignore[untyped-decorator]
def _(
    grad_rows: Tensor | None,
    grad_p: Tensor | None,
    rows: Tensor,
    p: Tensor,
    x: Tensor,
    shift: Tensor | None,
    y0: Tensor,
    C: Tensor,
    K: Tensor,
    Q: Tensor,
    R: Tensor | None,
    P: Tensor,
    slope: Tensor,
    names: list[str],
    sizes: list[int],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    like = (x, shift, y0, C, K, Q, R)
    return tuple(y0.new_empty(0 if each is None else each.shape) for each in like)  # type: ignore[return-value]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    rows, p, residual, converged, iterations = output
    x, shift, y0, C, K, Q, R, P, slope, names, sizes, *_, label, _ = inputs
    ctx.names, ctx.sizes, ctx.label = names, sizes, label
    ctx.save_for_backward(rows, p, x, shift, y0, C, K, Q, R, P, slope)
    ctx.mark_non_differentiable(residual, converged, iterations)
    ctx.set_materialize_grads(False)


def _differentiate(ctx: Any, grad_rows: Tensor | None, grad_p: Tensor | None, *_: Any) -> tuple[Any, ...]:
    # once: checkpoint() computes them again at every look
    rows, p, x, shift, y0, C, K, Q, R, P, slope = ctx.saved_tensors
    if torch.is_grad_enabled():
        with without_autocast(rows):
            recurrence = StageRecurrence(Activation(ctx.names, ctx.sizes), x, shift, C, K, Q, R)
            found = derivative_in_torch(grad_rows, grad_p, rows, p, recurrence, y0)
    else:
        found = torch.ops.odernn.implicit_rows_backward(
            grad_rows, grad_p, rows, p, x, shift, y0, C, K, Q, R, P, slope, ctx.names, ctx.sizes
        )
    by_x, by_shift, by_y0, by_C, by_K, by_Q, by_R = found
    optional = (by_x, None if shift is None else by_shift, by_y0, by_C, by_K, by_Q, None if R is None else by_R)
    return (*optional, *[None] * 12)


# --- under torch.func


def _no_tangent(ctx: Any) -> str:
    return (
        f"{ctx.label}: the stage equations have no forward-mode derivative: only reverse mode is implemented for "
        "their solution. Use torch.func.grad, vjp or jacrev, or torch.autograd.grad."
    )


def mapped_samples(
    call: Any, info: Any, in_dims: tuple[Any, ...], given: tuple[Any, ...], batch_axes: tuple[int | None, ...]
) -> Any:
    """Samples that are mapped over join the batch; many weights are taken one after the other.

    given  x (time, batch, ·), shift (time, batch, ·) or None, y0 (batch, ·), and what all samples share
    batch_axes  of the results; None where all samples have one
    """
    if any(isinstance(axis, int) for axis in in_dims[3:]):  # of a list of sizes it is a list of None
        return one_by_one(call, info, in_dims, given)
    (x, shift, y0), many = given[:3], info.batch_size

    def joined(value: Tensor | None, axis: int | None, batch_axis: int) -> Tensor | None:
        if value is None:
            return None
        moved = value.expand(many, *value.shape) if axis is None else value.movedim(axis, 0)
        return moved.movedim(0, batch_axis).flatten(batch_axis, batch_axis + 1)

    folded = joined(x, in_dims[0], 1), joined(shift, in_dims[1], 1), joined(y0, in_dims[2], 0)
    parts = zip(call(*folded, *given[3:]), batch_axes, strict=True)
    return tuple(part if axis is None else part.unflatten(axis, (many, -1)) for part, axis in parts), batch_axes


def _map_rows(call: Any, info: Any, in_dims: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
    return mapped_samples(call, info, in_dims, given, batch_axes=(1, 1, 1, 1, None))


_rows = differentiable(
    "odernn::implicit_rows",
    _implicit_rows,
    _differentiate,
    _keep,
    no_tangent=_no_tangent,
    mapped=_map_rows,
    devices=("CPU", "CUDA"),
)
torch.library.register_vmap(  # each derivative has weight gradients of its own
    "odernn::implicit_rows_backward",
    lambda info, in_dims, *given: one_by_one(torch.ops.odernn.implicit_rows_backward, info, in_dims, given),
)
