"""All steps of an explicit method on a field in dense form as one operator of torch, with its derivative as another.

    z_i = W Y_i + x_n,   k_i = L Y_i + U φ(z_i),   Y_i = y_{n−1} + h Σ_{j<i} a_ij k_j,   y_n = y_{n−1} + h Σ_i b_i k_i

The derivative goes through steps and stages in the opposite order, κ_i = ∂E/∂k_i and η_i = ∂E/∂Y_i:

    g ← g + ∂E/∂y_n,     κ_i = h (b_i g + Σ_{j>i} a_ji η_j),     μ_i = φ'(z_i) Uᵀ κ_i,     η_i = Wᵀ μ_i + Lᵀ κ_i
    g ← g + Σ_i η_i
    ∂E/∂x_n = Σ_i μ_i,   ∂E/∂W = Σ μ_i Y_iᵀ,   ∂E/∂L = Σ κ_i Y_iᵀ,   ∂E/∂U = Σ κ_i φ(z_i)ᵀ,   ∂E/∂h = Σ κ_i k_i / h

The sums over steps and stages are one product of matrices each. Where a derivative of the derivative is wanted, stages
are computed again from the rows, all steps at once, in differentiable operations: it is right to all orders.

Layout: x (time, batch, q) or (time, batch, s q), y (batch, m), h () or (m,), stages (time, s, batch, ·).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from odernn.executions.autocast import in_full_digits, without_autocast
from odernn.executions.operators import differentiable, one_by_one
from odernn.fields.field import DenseForm
from odernn.integrators._coefficients import FloatCoefficients
from odernn.integrators.batch_rows import mapped_samples
from odernn.integrators.batch_solver import activation, activation_slopes
from odernn.integrators.explicit import advance


def can_be_one_operator(coefficients: FloatCoefficients) -> bool:
    """Whether the method is explicit, with one table for all blocks."""
    first = coefficients.A[0]
    is_triangular = all(a == 0.0 for i, row in enumerate(first) for a in row[i:])
    return (
        is_triangular
        and all(first == A for A in coefficients.A)
        and all(b == coefficients.b[0] for b in coefficients.b)
    )


def explicit_rows(
    coefficients: FloatCoefficients, form: DenseForm, given: list[Tensor], y0: Tensor, step_size: Tensor
) -> Tensor:
    """The rows (time, batch, m) from y0 (batch, m), for one drive or one a stage; step_size () or (m,).

    Differentiable to all orders, in reverse mode.
    """
    pairs = [form.arguments(drive) for drive in given]
    x = torch.cat([x for x, _ in pairs], -1)
    shift = torch.cat([shift for _, shift in pairs if shift is not None], -1) if form.is_gated else None
    A = [a for row in coefficients.A[0] for a in row]
    rows, _, _ = _rows(x, shift, y0, step_size, form.W, form.U, form.L, A, list(coefficients.b[0]))
    return rows  # type: ignore[no-any-return]


def has_tangent(values: Sequence[Any]) -> bool:
    """Whether forward mode, which the operator does not have, is on for one of them; never in a graph."""
    return not torch.compiler.is_compiling() and any(
        isinstance(value, Tensor) and forward_ad.unpack_dual(value).tangent is not None for value in values
    )


@dataclass(frozen=True, eq=False)
class ExplicitSteps:
    """The tensors and numbers of the equations above; leading axes before the last are batches."""

    h: Tensor
    W: Tensor
    U: Tensor | None
    L: Tensor | None
    A: list[float]
    b: list[float]

    def row(self, i: int) -> tuple[float, ...]:
        s = len(self.b)
        return tuple(self.A[i * s : (i + 1) * s])

    def heirs(self, i: int) -> list[tuple[int, float]]:
        """The stages j that see k_i, with a_ji."""
        s = len(self.b)
        return [(j, self.A[j * s + i]) for j in range(i + 1, s) if self.A[j * s + i] != 0.0]

    def drive(self, x: Tensor, i: int) -> Tensor:
        """That of stage i, (..., q)."""
        q = len(self.W)
        return x if x.shape[-1] == q else x[..., i * q : (i + 1) * q]

    def stages(
        self, y: Tensor, x: Tensor, shift: Tensor | None
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor], Tensor]:
        """Y_i, z_i and φ(z_i), stage by stage, and y of the end."""
        Y: list[Tensor] = []
        z: list[Tensor] = []
        p: list[Tensor] = []
        slopes: dict[int, Tensor] = {}
        for i in range(len(self.b)):
            Y.append(advance(y, self.row(i), slopes, self.h))
            z.append(_added(self.drive(x, i), Y[i], self.W.mT))
            p.append(activation(z[i], None if shift is None else self.drive(shift, i)))
            slopes[i] = self.slope(Y[i], p[i])
        return Y, z, p, advance(y, tuple(self.b), slopes, self.h)

    def step(
        self, y: Tensor, x: Tensor, shift: Tensor | None, Y: Sequence[Tensor], p: Sequence[Tensor], end: Tensor
    ) -> Tensor:
        """``stages`` of one step, into Y, p and ``end``."""
        slopes: dict[int, Tensor] = {}
        for i in range(len(self.b)):
            advance(y, self.row(i), slopes, self.h, out=Y[i])
            z = torch.addmm(self.drive(x, i), Y[i], self.W.mT)
            torch.tanh(z, out=p[i])
            if shift is not None:
                p[i].mul_(torch.sigmoid(z + self.drive(shift, i)))
            slopes[i] = self.slope(Y[i], p[i])
        return advance(y, tuple(self.b), slopes, self.h, out=end)

    def slope(self, Y: Tensor, p: Tensor) -> Tensor:
        """k = L Y + U p."""
        moved = p if self.U is None else p @ self.U.mT
        return moved if self.L is None else _added(moved, Y, self.L.mT)

    def step_back(
        self,
        g: Tensor,
        slopes: Sequence[Tensor],
        is_gated: bool,
        mu: Sequence[Tensor],
        kappa: Sequence[Tensor] | None,
    ) -> Tensor:
        """g after a step, changed to g before it, with μ and κ written; slopes are φ', or without a gate φ itself."""
        s = len(self.b)
        eta: dict[int, Tensor] = {}
        for i in range(s - 1, -1, -1):
            total = g * self.b[i]
            for j, a in self.heirs(i):
                total.add_(eta[j], alpha=a)
            total = torch.mul(total, self.h, out=total if kappa is None else kappa[i])
            pulled = total if self.U is None else total @ self.U
            if is_gated:
                torch.mul(slopes[i], pulled, out=mu[i])
            else:
                torch.ops.aten.tanh_backward.grad_input(pulled, slopes[i], grad_input=mu[i])
            eta[i] = mu[i] @ self.W
            if self.L is not None:
                eta[i].addmm_(total, self.L)
        for each in eta.values():
            g.add_(each)
        return g

    def pulled_back(self, grad_rows: Tensor, slopes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """μ, κ (time, s, batch, ·) and g before the first step, in differentiable operations; slopes are φ'."""
        s, g = len(self.b), torch.zeros_like(grad_rows[0])
        kappa: list[Tensor] = []
        mu: list[Tensor] = []
        for n in range(len(grad_rows) - 1, -1, -1):
            g = g + grad_rows[n]
            eta: dict[int, Tensor] = {}
            for i in range(s - 1, -1, -1):
                total = g * self.b[i]
                for j, a in self.heirs(i):
                    total = torch.add(total, eta[j], alpha=a)
                kappa.append(total * self.h)
                mu.append(slopes[n, i] * (kappa[-1] if self.U is None else kappa[-1] @ self.U))
                eta[i] = mu[-1] @ self.W
                if self.L is not None:
                    eta[i] = torch.addmm(eta[i], kappa[-1], self.L)
            for each in eta.values():
                g = g + each
        by_stages = (torch.stack(each[::-1]).unflatten(0, (-1, s)) for each in (mu, kappa))
        return *by_stages, g

    def derivatives(
        self, stages: tuple[Tensor, Tensor], mu: Tensor, kappa: Tensor | None, by_shift: Tensor | None, x: Tensor
    ) -> tuple[Tensor, ...]:
        """By x, shift, h, W, U and L from (Y, φ), μ, κ and ∂φ/∂shift; of what there is not, an empty tensor.

        kappa None: U and L are, and nobody asked for the derivative by h.
        """
        (Y, p), empty = stages, mu.new_empty(0)
        by_x, by_W = self.gathered(mu, x), _summed(mu, Y)
        if kappa is None:
            return by_x, empty, empty, by_W, empty, empty
        by_U = empty if self.U is None else _summed(kappa, p)
        by_L = empty if self.L is None else _summed(kappa, Y)
        by_h = (kappa / self.h * self.slope(Y, p)).sum_to_size(self.h.shape)
        if by_shift is None:
            return by_x, empty, by_h, by_W, by_U, by_L
        by_gate = self.gathered(by_shift * (kappa if self.U is None else kappa @ self.U), x)
        return by_x, by_gate, by_h, by_W, by_U, by_L

    def each_stage(self, x: Tensor) -> Tensor:
        """Drives (time, batch, ·) as (time, s, batch, q)."""
        return torch.stack([self.drive(x, i) for i in range(len(self.b))], 1)

    def gathered(self, by_stages: Tensor, x: Tensor) -> Tensor:
        """What drives see of (time, s, batch, q)."""
        return by_stages.sum(1) if x.shape[-1] == len(self.W) else by_stages.transpose(1, 2).flatten(2)


def _added(x: Tensor, y: Tensor, M: Tensor) -> Tensor:
    """x + y M."""
    return torch.addmm(x, y, M) if y.dim() == 2 and x.shape == (len(y), M.shape[1]) else x + y @ M


def _summed(left: Tensor, right: Tensor) -> Tensor:
    """Σ left rightᵀ over all axes but the last."""
    return left.flatten(0, -2).mT @ right.flatten(0, -2)


torch.library.define(
    "odernn::explicit_rows",
    "(Tensor x, Tensor? shift, Tensor y0, Tensor h, Tensor W, Tensor? U, Tensor? L, float[] A, float[] b)"
    " -> (Tensor, Tensor, Tensor)",
    tags=torch.Tag.pt2_compliant_tag,
)
torch.library.define(
    "odernn::explicit_rows_backward",
    "(Tensor grad_rows, Tensor Y, Tensor p, Tensor x, Tensor? shift, Tensor h, Tensor W, Tensor? U, Tensor? L,"
    " float[] A, float[] b, bool needs_h) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    tags=torch.Tag.pt2_compliant_tag,
)


@torch.library.impl("odernn::explicit_rows", ("CPU", "CUDA"))
@in_full_digits
@torch.no_grad()
def _explicit_rows(
    x: Tensor,
    shift: Tensor | None,
    y0: Tensor,
    h: Tensor,
    W: Tensor,
    U: Tensor | None,
    L: Tensor | None,
    A: list[float],
    b: list[float],
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of y, Y and φ(z)."""
    steps, s, batch = ExplicitSteps(h, W, U, L, A, b), len(b), len(y0)
    rows = y0.new_empty(len(x), *y0.shape)
    Y, p = y0.new_empty(len(x), s, batch, y0.shape[1]), y0.new_empty(len(x), s, batch, len(W))
    y = y0
    for n, (end, own_Y, own_p) in enumerate(zip(rows.unbind(), Y.unbind(), p.unbind(), strict=True)):
        y = steps.step(y, x[n], None if shift is None else shift[n], own_Y.unbind(), own_p.unbind(), end)
    return rows, Y, p


@torch.library.register_fake("odernn::explicit_rows")  # type: ignore[untyped-decorator]
def _(
    x: Tensor,
    shift: Tensor | None,
    y0: Tensor,
    h: Tensor,
    W: Tensor,
    U: Tensor | None,
    L: Tensor | None,
    A: list[float],
    b: list[float],
) -> tuple[Tensor, Tensor, Tensor]:
    (steps, batch), s = x.shape[:2], len(b)
    return (
        y0.new_empty(steps, *y0.shape),
        y0.new_empty(steps, s, batch, y0.shape[1]),
        y0.new_empty(steps, s, batch, W.shape[0]),
    )


@torch.library.impl("odernn::explicit_rows_backward", ("CPU", "CUDA"))
@in_full_digits
@torch.no_grad()
def _explicit_rows_backward(
    grad_rows: Tensor,
    Y: Tensor,
    p: Tensor,
    x: Tensor,
    shift: Tensor | None,
    h: Tensor,
    W: Tensor,
    U: Tensor | None,
    L: Tensor | None,
    A: list[float],
    b: list[float],
    needs_h: bool,
) -> tuple[Tensor, ...]:
    """By x, shift, y0, h, W, U and L; of what there is not, an empty tensor."""
    steps, slopes, by_shift = ExplicitSteps(h, W, U, L, A, b), p, None
    if shift is not None:
        slopes, by_shift = activation_slopes(steps.each_stage(x) + Y @ W.mT, steps.each_stage(shift))
    mu = torch.empty_like(p)
    kappa = torch.empty_like(Y) if needs_h or L is not None or U is not None or by_shift is not None else None
    g = torch.zeros_like(grad_rows[0])
    for n in range(len(p) - 1, -1, -1):
        into = mu[n].unbind(), None if kappa is None else kappa[n].unbind()
        g = steps.step_back(g + grad_rows[n], slopes[n].unbind(), by_shift is not None, *into)
    by_x, by_gate, *by_weights = steps.derivatives((Y, p), mu, kappa, by_shift, x)
    return by_x, by_gate, g, *by_weights


@torch.library.register_fake("odernn::explicit_rows_backward")  # type: ignore[untyped-decorator]
def _(
    grad_rows: Tensor,
    Y: Tensor,
    p: Tensor,
    x: Tensor,
    shift: Tensor | None,
    h: Tensor,
    W: Tensor,
    U: Tensor | None,
    L: Tensor | None,
    A: list[float],
    b: list[float],
    needs_h: bool,
) -> tuple[Tensor, ...]:
    has_kappa = needs_h or not (U is None and L is None and shift is None)
    like = (x, shift, grad_rows[0], h if has_kappa else None, W, U, L)
    return tuple(p.new_empty(0 if each is None else each.shape) for each in like)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, shift, y0, h, W, U, L, A, b = inputs
    rows, Y, p = output
    ctx.A, ctx.b = A, b
    ctx.save_for_backward(rows, Y, p, x, shift, y0, h, W, U, L)
    ctx.mark_non_differentiable(Y, p)


def _differentiate(ctx: Any, grad_rows: Tensor, *_: Any) -> tuple[Any, ...]:
    rows, Y, p, x, shift, y0, h, W, U, L = ctx.saved_tensors  # once: checkpoint() computes them again at every look
    needs_h = ctx.needs_input_grad[3]
    if not len(rows):
        found = (*(None if each is None else torch.zeros_like(each) for each in (x, shift, y0, h, W, U, L)),)
        return (*found, None, None)
    if torch.is_grad_enabled():
        with without_autocast(rows):
            steps, before = ExplicitSteps(h, W, U, L, ctx.A, ctx.b), torch.cat((y0.unsqueeze(0), rows[:-1]))
            Y, z, p = (torch.stack(each, 1) for each in steps.stages(before, x, shift)[:3])
            slopes, by_shift = activation_slopes(z, None if shift is None else steps.each_stage(shift))
            mu, kappa, g = steps.pulled_back(grad_rows, slopes)
            by_x, by_gate, *by_weights = steps.derivatives((Y, p), mu, kappa, by_shift, x)
        found = (by_x, by_gate, g, *by_weights)
    else:
        found = torch.ops.odernn.explicit_rows_backward(grad_rows, Y, p, x, shift, h, W, U, L, ctx.A, ctx.b, needs_h)
    exists = (True, shift is not None, True, needs_h, True, U is not None, L is not None)
    return (*(by if has else None for by, has in zip(found, exists, strict=True)), None, None)


def _map_rows(call: Any, info: Any, in_dims: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
    return mapped_samples(call, info, in_dims, given, batch_axes=(1, 2, 2))


_rows = differentiable(
    "odernn::explicit_rows",
    _differentiate,
    _keep,
    no_tangent=lambda _: "Steps of explicit methods as one operator have no forward mode; single steps have.",
    mapped=_map_rows,
)
torch.library.register_vmap(  # each derivative has weight gradients of its own
    "odernn::explicit_rows_backward",
    lambda info, in_dims, *given: one_by_one(torch.ops.odernn.explicit_rows_backward, info, in_dims, given),
)
