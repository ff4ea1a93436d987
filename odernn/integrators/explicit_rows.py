"""All steps of a sequence by an explicit method on a field in dense form as one operator of torch.

    Y_i = y + h (U P_i + L V_i),   P_i = Σ_{j<i} a_ij p_j,   V_i = Σ_{j<i} a_ij Y_j,   p_i = φ(W Y_i + x)
    y ← y + h (U w + L v),         w = Σ_i b_i p_i,           v = Σ_i b_i Y_i

Slopes are k_i = L Y_i + U p_i, but none is made. The derivative, another operator, is the discrete adjoint, from the
last step and the last stage on, with g = ∂E/∂y:

    κ_i = h (b_i g + Σ_{j>i} a_ji η_j),   π_i = Uᵀ κ_i + b_i ∂E/∂w,   μ_i = φ'(z_i) π_i,   η_i = Wᵀ μ_i + Lᵀ κ_i
    g ← g + Σ η_i,   ∂E/∂x = Σ μ_i,   ∂E/∂W = Σ μ_i Y_iᵀ,   ∂E/∂U = Σ κ_i p_iᵀ,   ∂E/∂L = Σ κ_i Y_iᵀ

with the sums over all steps as one product each. Without L the arguments a = W y are a state of their own, a' = (W U)
φ(a + x), of one product a stage in place of two, and y_n = y_0 + h U (w_1 + … + w_n). Derivatives of the derivative are
taken of the adjoint in torch's operations, see ``explicit_stages``.

Layout: x, shift (time, batch, q) or (time, batch, s q), y (batch, m), row n−1 is step n; Y, p (s, time, batch, ·);
W, U, L as in ``matrices``, None is the identity, of L zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.autograd import forward_ad

from odernn.executions.autocast import in_full_digits, without_autocast
from odernn.executions.operators import differentiable, one_by_one
from odernn.fields.field import DenseForm
from odernn.integrators import matrices
from odernn.integrators.batch_rows import mapped_samples
from odernn.integrators.coefficients import FloatCoefficients
from odernn.integrators.explicit_stages import (
    TANH,
    Matrix,
    Stages,
    by_matrices,
    derivative_in_torch,
    gathered,
    slopes_of,
)


def explicit_table(coefficients: FloatCoefficients) -> tuple[list[float], list[float]] | None:
    """A row by row, and b, of an explicit method of at least two stages with one table for all blocks, else None."""
    A, b = coefficients.A[0], coefficients.b[0]
    one = coefficients.is_one_table and all(each == b for each in coefficients.b)
    strict = all(a == 0 for i, row in enumerate(A) for a in row[i:])
    return ([a for row in A for a in row], list(b)) if one and strict and len(b) > 1 else None


def explicit_rows(
    form: DenseForm,
    table: tuple[list[float], list[float]],
    step_size: Tensor | float,
    given: list[Tensor],
    y0: Tensor,
) -> Tensor | None:
    """Rows of y (time, batch, m) from y0 (batch, m), or None, where steps are made one by one.

    So it is in forward mode, which no operator has; on a GPU, whose graphs are captured without the host, which reads h
    here; and of neurons that do not interact, whose products are so small that torch's own operations are faster.

    given  one drive for all stages, or one a stage, each (time, batch, drive)
    """
    h = torch.as_tensor(step_size, dtype=y0.dtype, device=y0.device)
    if form.W.dim() == 3 or y0.is_cuda or _is_forward_mode():
        return None
    pairs = [form.arguments(drive) for drive in given]
    x = torch.cat([x for x, _ in pairs], -1)
    shift = torch.cat([shift for _, shift in pairs if shift is not None], -1) if form.is_gated else None
    U, L, scale = _with_steps(form, h, y0.shape[1])
    if L is not None or U is None or U.dim() == 3 or len(form.W) > 2 * form.W.shape[1]:
        rows: Tensor = _rows(x, shift, y0, form.W, U, L, scale, *table)[0]
        return rows
    _, w, _, _ = _rows(x, shift, y0 @ form.W.mT, None, form.W @ U, None, scale, *table)
    by_activations: Tensor = y0 + scale * (w.cumsum(0) @ U.mT)
    return by_activations


def _is_forward_mode() -> bool:
    """Whether any tensor may have a tangent: in torch.func a derivative of another kind hides it."""
    return not torch.compiler.is_compiling() and forward_ad._current_level >= 0


def _with_steps(form: DenseForm, h: Tensor, m: int) -> tuple[Matrix, Matrix, Tensor]:
    """U, L and the number h; steps of their own, and those with a derivative, are put into U and L."""
    if h.dim() == 0 and not h.requires_grad:
        return form.U, form.L, h
    h = h.expand(m) if h.dim() == 0 else h.repeat(m // len(h))
    U = h.reshape(1, 1, m) if form.U is None else h.unsqueeze(1) * form.U
    return U, None if form.L is None else h.unsqueeze(1) * form.L, h.new_ones(())


# --- the operators

_MATRICES = "Tensor? W, Tensor? U, Tensor? L, Tensor h, float[] A, float[] b"
torch.library.define(
    "odernn::explicit_rows",
    f"(Tensor x, Tensor? shift, Tensor y0, {_MATRICES}) -> (Tensor, Tensor, Tensor, Tensor)",
    tags=torch.Tag.pt2_compliant_tag,
)
torch.library.define(
    "odernn::explicit_rows_backward",
    f"(Tensor? grad_rows, Tensor? grad_w, Tensor Y, Tensor p, Tensor x, Tensor? shift, {_MATRICES}, bool[] needed)"
    " -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    tags=torch.Tag.pt2_compliant_tag,
)


def _transposed(M: Matrix) -> Matrix:
    return None if M is None else M.mT.contiguous() if M.dim() == 2 else M.transpose(0, 1)


def _added(start: Tensor, MT: Matrix, v: Tensor, alpha: float, out: Tensor) -> Tensor:
    """start + α M v into ``out``, given Mᵀ."""
    if MT is not None and MT.dim() == 2:
        return torch.addmm(start, v, MT, alpha=alpha, out=out)
    return torch.add(start, v if MT is None else matrices.transposed_product(MT, v), alpha=alpha, out=out)


Row: TypeAlias = list[tuple[int, float]]


def _row(coefficients: Sequence[float]) -> Row:
    """What is not zero, with its place."""
    return [(j, a) for j, a in enumerate(coefficients) if a != 0]


def _combined(row: Row, terms: Sequence[Tensor]) -> tuple[float, Tensor]:
    """α and v with α v = Σ row_j terms_j; v is a term where there is only one."""
    (j, a), *rest = row
    if not rest:
        return a, terms[j]
    total = torch.mul(terms[j], a)
    for j, a in rest:
        total.add_(terms[j], alpha=a)
    return 1.0, total


def _multiplied(MT: Tensor, v: Tensor, out: Tensor) -> Tensor:
    """M v into ``out``, given Mᵀ."""
    if MT.dim() == 2:
        torch.mm(v, MT, out=out)
        return out
    return out.copy_(matrices.transposed_product(MT, v))


def _weighted(weights: Tensor, terms: Tensor, out: Tensor) -> None:
    """Σ weights_i terms_i into ``out``; weights (1, s), terms (s, batch, ·)."""
    torch.mm(weights, terms.flatten(1), out=out.view(1, -1))


@in_full_digits
@torch.no_grad()
def _explicit_rows(
    x: Tensor,
    shift: Tensor | None,
    y0: Tensor,
    W: Matrix,
    U: Matrix,
    L: Matrix,
    h: Tensor,
    A: list[float],
    b: list[float],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Rows, w, and what the derivative needs: Y, where it reads it, and p."""
    stages = Stages(x, shift, W, U, L, float(h), A, b)
    steps, batch, s = len(x), len(y0), len(b)
    rows, p = y0.new_empty(steps, *y0.shape), y0.new_empty(s, steps, batch, stages.size)
    w, Y = torch.empty_like(p[0]), y0.new_empty(s, steps if stages.keeps_points else 0, *y0.shape)
    walk = _Forward(stages, p, Y)
    y = y0
    for n, (row, sum_of_p) in enumerate(zip(rows.unbind(), w.unbind(), strict=True)):
        y = walk.step(n, y, sum_of_p, row)
    if stages.keeps_points:
        before = torch.cat((y0.unsqueeze(0), rows))[:-1]
        for i in range(s):
            if not any(stages.row(i)):
                Y[i] = before
    return rows, w, Y, p


class _Forward:
    """The steps of one call."""

    def __init__(self, stages: Stages, p: Tensor, Y: Tensor) -> None:
        self.stages, self.p = stages, p
        self.WT, self.UT, self.LT = (_transposed(each) for each in (stages.W, stages.U, stages.L))
        self.activations = [stage.unbind() for stage in p]
        self.points = [stage.unbind() for stage in Y]
        self.drives = stages.drives(stages.x)
        self.shifts = None if stages.shift is None else stages.drives(stages.shift)
        self.weights, self.h = p.new_tensor([list(stages.b)]), float(stages.h)
        self.rows, self.b = [_row(stages.row(i)) for i in range(stages.count)], _row(stages.b)
        self.is_fused = not stages.keeps_points

    def step(self, n: int, y: Tensor, w: Tensor, row: Tensor) -> Tensor:
        """From y to the row of step n."""
        drives, p = self.drives[n], [stage[n] for stage in self.activations]
        points: list[Tensor] = []
        if self.is_fused:  # z_i = (x + y) + h U P_i
            first = drives[0] + y
            drives = [first if drive is drives[0] else drive + y for drive in drives]
        for i, (row_i, drive, value) in enumerate(zip(self.rows, drives, p, strict=True)):
            z = drive
            if self.is_fused and row_i:
                alpha, P = _combined(row_i, p)
                z = _added(drive, self.UT, P, self.h * alpha, value)
            elif not self.is_fused:
                points.append(self._moved(y, _combined(row_i, p), row_i, points, self.points[i][n]) if row_i else y)
                z = _added(drive, self.WT, points[-1], 1.0, value)
            if self.shifts is None:
                torch.tanh(z, out=value)
            else:
                value.copy_(TANH.value(z, self.shifts[n][i]))
        _weighted(self.weights, self.p[:, n], w)
        return self._moved(y, (1.0, w), self.b, points, row)

    def _moved(self, y: Tensor, by: tuple[float, Tensor], row: Row, points: Sequence[Tensor], out: Tensor) -> Tensor:
        """y + h (α U P + L V), V = Σ row_j points_j."""
        alpha, P = by
        end = _added(y, self.UT, P, self.h * alpha, out)
        if self.LT is None:
            return end
        alpha, V = _combined(row, points)
        return _added(end, self.LT, V, self.h * alpha, out)


@torch.library.register_fake("odernn::explicit_rows")  # type: ignore[untyped-decorator]
def _(
    x: Tensor,
    shift: Tensor | None,
    y0: Tensor,
    W: Matrix,
    U: Matrix,
    L: Matrix,
    h: Tensor,
    A: list[float],
    b: list[float],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    stages = Stages(x, shift, W, U, L, h, A, b)
    steps, batch = x.shape[:2]
    return (
        y0.new_empty(steps, *y0.shape),
        y0.new_empty(steps, batch, stages.size),
        y0.new_empty(len(b), steps if stages.keeps_points else 0, *y0.shape),
        y0.new_empty(len(b), steps, batch, stages.size),
    )


@torch.library.impl("odernn::explicit_rows_backward", "CPU")
@in_full_digits
@torch.no_grad()
def _explicit_rows_backward(
    grad_rows: Tensor | None,
    grad_w: Tensor | None,
    Y: Tensor,
    p: Tensor,
    x: Tensor,
    shift: Tensor | None,
    W: Matrix,
    U: Matrix,
    L: Matrix,
    h: Tensor,
    A: list[float],
    b: list[float],
    needed: list[bool],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Derivatives by x, shift, y0, W, U and L; of what there is not, or nobody needs, an empty tensor."""
    stages = Stages(x, shift, W, U, L, float(h), A, b)
    mu, by_shift = slopes_of(stages, Y, p)
    walk = _Backward(stages, mu, is_gated=by_shift is not None, keeps_costates=any(needed[4:]))
    g, asked = (
        p.new_zeros(p.shape[2], _width(p, W, U)),
        [None if e is None else e.unbind() for e in (grad_rows, grad_w)],
    )
    for n in range(p.shape[1] - 1, -1, -1):
        if asked[0] is not None:
            g = g + asked[0][n]
        g = walk.step(n, g, None if asked[1] is None else asked[1][n])
    none = p.new_empty(0)
    by_each = by_matrices(stages, (walk.costates, mu), (Y, p), needed[3:])
    by_gate = none if by_shift is None else gathered(by_shift * walk.pi, x)
    by_W, by_U, by_L = (none if by is None else by for by in by_each)
    return gathered(mu, x), by_gate, g, by_W, by_U, by_L


def _width(p: Tensor, W: Matrix, U: Matrix) -> int:
    """m."""
    if W is not None:
        return matrices.row_count(W.transpose(0, 1))
    return p.shape[-1] if U is None else matrices.row_count(U)


class _Backward:
    """The steps of one call, the last one first; μ (s, time, batch, q) comes as φ'.   costates  κ, if they are kept"""

    def __init__(self, stages: Stages, mu: Tensor, *, is_gated: bool, keeps_costates: bool) -> None:
        self.stages, (s, steps, batch, q) = stages, mu.shape
        m, h = _width(mu, stages.W, stages.U), float(stages.h)
        self.costates = mu.new_empty(s, steps if keeps_costates else 1, batch, m)
        self.pi, self.eta = mu.new_empty(s, steps if is_gated else 1, batch, q), mu.new_empty(s, batch, m)
        self.mu, self.is_gated, self.keeps_costates = mu, is_gated, keeps_costates
        self.of_costates, self.of_pi, self.of_mu = (
            [stage.unbind() for stage in e] for e in (self.costates, self.pi, mu)
        )
        self.etas, self.ones = self.eta.unbind(), mu.new_ones(1, s)
        self.columns = [[(j, h * stages.row(j)[i]) for j in range(s) if stages.row(j)[i]] for i in range(s)]
        self.b = [h * each for each in stages.b]

    def step(self, n: int, g: Tensor, grad_w: Tensor | None) -> Tensor:
        """g before the step, from that after it."""
        W, U, L, etas = self.stages.W, self.stages.U, self.stages.L, list(self.etas)
        at, at_pi = n if self.keeps_costates else 0, n if self.is_gated else 0
        for i in range(len(etas) - 1, -1, -1):
            kappa = torch.mul(g, self.b[i], out=self.of_costates[i][at])
            for j, a in self.columns[i]:
                kappa.add_(etas[j], alpha=a)
            pi = kappa if U is None else _multiplied(U, kappa, self.of_pi[i][at_pi])
            if grad_w is not None:
                pi = torch.add(pi, grad_w, alpha=self.stages.b[i], out=self.of_pi[i][at_pi])
            if self.is_gated and pi is kappa:
                self.of_pi[i][n].copy_(kappa)
            mu = self.of_mu[i][n].mul_(pi)
            if W is not None:
                mu = _multiplied(W, mu, self.etas[i])
            etas[i] = mu if L is None else _added(mu, L, kappa, 1.0, self.etas[i])
        changes = self.mu[:, n] if W is None and L is None else self.eta
        before: Tensor = torch.addmm(g.view(1, -1), self.ones, changes.flatten(1)).view_as(g)
        return before


@torch.library.register_fake("odernn::explicit_rows_backward")  # type: ignore[untyped-decorator]
def _(
    grad_rows: Tensor | None,
    grad_w: Tensor | None,
    Y: Tensor,
    p: Tensor,
    x: Tensor,
    shift: Tensor | None,
    W: Matrix,
    U: Matrix,
    L: Matrix,
    h: Tensor,
    A: list[float],
    b: list[float],
    needed: list[bool],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    wanted = [each if need else None for each, need in zip((W, U, L), needed[3:], strict=True)]
    by_W, by_U, by_L = (p.new_empty(0 if each is None else each.shape) for each in wanted)
    by_shift = p.new_empty(0 if shift is None else shift.shape)
    return torch.empty_like(x), by_shift, p.new_empty(p.shape[2], _width(p, W, U)), by_W, by_U, by_L


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, shift, y0, W, U, L, h, A, b = inputs
    _, _, Y, p = output
    ctx.A, ctx.b = A, b
    ctx.save_for_backward(Y, p, x, shift, y0, W, U, L, h)
    ctx.mark_non_differentiable(Y, p)
    ctx.set_materialize_grads(False)


def _differentiate(ctx: Any, grad_rows: Tensor | None, grad_w: Tensor | None, *_: Any) -> tuple[Any, ...]:
    Y, p, x, shift, y0, W, U, L, h = ctx.saved_tensors  # once: checkpoint() computes them again at every look
    given, needed = (x, shift, y0, W, U, L), [bool(each) for each in ctx.needs_input_grad[:6]]
    if torch.is_grad_enabled():
        with without_autocast(p):
            found = derivative_in_torch(grad_rows, grad_w, Stages(x, shift, W, U, L, h, ctx.A, ctx.b), y0)
        return (*found, *[None] * 3)
    found = torch.ops.odernn.explicit_rows_backward(grad_rows, grad_w, Y, p, x, shift, W, U, L, h, ctx.A, ctx.b, needed)
    kept = (by if each is not None and need else None for by, each, need in zip(found, given, needed, strict=True))
    return (*kept, *[None] * 3)


def _no_tangent(_: Any) -> str:
    return (
        "The steps of an explicit method as one operator have no forward-mode derivative. Use reverse mode, or make "
        "steps one by one: prepared(method, field, step_size), which has one."
    )


def _map_rows(call: Any, info: Any, in_dims: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
    return mapped_samples(call, info, in_dims, given, batch_axes=(1, 1, 2, 2))


_rows = differentiable(
    "odernn::explicit_rows",
    _explicit_rows,
    _differentiate,
    _keep,
    no_tangent=_no_tangent,
    mapped=_map_rows,
)
torch.library.register_vmap(  # each derivative has weight gradients of its own
    "odernn::explicit_rows_backward",
    lambda info, in_dims, *given: one_by_one(torch.ops.odernn.explicit_rows_backward, info, in_dims, given),
)
