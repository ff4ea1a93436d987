"""Fused recurrences with a full recurrent matrix: coRNN, scoRNN and expRNN.

On a CUDA device the orthogonal one is one launch with W on the chip, up to so many units (``cuda.odernn_kernels``); the
coupled one has no kernel there. On the CPU the product with the matrix is a GEMM a step; all that is elementwise is one
pass over (batch, hidden) (numba, the extra ``fast``), forwards and backwards. The derivative by the matrix is one GEMM
over all steps: the rows of dE/da_n and of the states before them are kept, and N small products are one of N·batch
rows.

    coupled      a_n = W y_{n-1} + W_z z_{n-1} + x_n
                 z_n = p z_{n-1} + q (tanh a_n − γ y_{n-1}),     y_n = y_{n-1} + dt z_n
                 explicit damping: p = 1 − dt ε, q = dt; implicit: p = 1/(1 + dt ε), q = dt/(1 + dt ε)
    orthogonal   h_n = modReLU(W h_{n-1} + x_n; b)

Layout as in ``executions.recurrence``: x (time, batch, hidden), states (batch, hidden), row n−1 is step n. float32 and
float64. Differentiable once and in reverse mode; the loops of the cells differentiate twice and in both modes. Costates
P_n = dE/dy_n, Q_n = dE/dz_n:

    Q_n ← Q_n + dt P_n,     g_n = q Q_n (1 − tanh² a_n) = dE/da_n
    P_{n-1} = P_n − q γ Q_n + Wᵀ g_n + ∂E/∂y_{n-1},     Q_{n-1} = p Q_n + W_zᵀ g_n + ∂E/∂z_{n-1}
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, ClassVar, Literal, TypeAlias, cast

import torch
from torch import Tensor
from torch.autograd import forward_ad

from odernn import executions
from odernn.executions.autocast import in_full_digits
from odernn.executions.operators import differentiable
from odernn.executions.recurrence import UNIT_ROUNDOFF, ExecutionUnavailable

Name: TypeAlias = Literal["torch", "cpu", "cuda"]
NameOnCPU: TypeAlias = Literal["torch", "cpu"]
"""Of a cell without a kernel for a device, as ``FusedLayer.offered`` is unless a layer says more."""


def unavailable_because() -> str | None:
    """Why these recurrences cannot run here, or ``None`` if they can."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return 'it needs numba, which is not installed: pip install "odernn[fast]"'
    return None


_IN_USE: list[ModuleType] = []
"""The kernels for a device, once they were asked for: torch.compile can look them up, but not import them."""


def _on_device() -> ModuleType:
    """The kernels. Raises ExecutionUnavailable where they cannot run."""
    loaded = executions.orthogonal_kernels()
    if isinstance(loaded, str):
        raise ExecutionUnavailable(f'execution="cuda" cannot run here: {loaded}. Usable here: "torch".')
    _IN_USE[:] = [loaded]
    return loaded


class FusedLayer:
    """A layer with an execution: no name that it does not have, or that cannot run here, is ever held.

    offered  what it has; "cuda" with at most as many units as fit on the chip
    """

    offered: ClassVar[tuple[Name, ...]] = ("torch", "cpu")
    hidden_size: int
    _execution: Name

    @property
    def execution(self) -> Name:
        """A name that ``checked_execution`` admits; any other is refused."""
        return self._execution

    @execution.setter
    def execution(self, name: str) -> None:
        self._execution = self.checked_execution(name)

    def checked_execution(self, name: str) -> Name:
        """``name`` if this layer has it and it can run here. Raises ValueError or ExecutionUnavailable: they say why.

        The number of units is that of float32; with float64 fewer fit, which the call says.
        """
        if name not in self.offered:
            *others, last = (f'"{each}"' for each in self.offered)
            near = "Choose one of them." if name != "cuda" else 'On a GPU, choose "torch".'
            raise ValueError(
                f'execution is "{name}", but {type(self).__name__} has {", ".join(others)} and {last}. {near}'
            )
        reason = unavailable_because() if name == "cpu" else None
        if reason is not None:
            raise ExecutionUnavailable(f'execution="cpu" cannot run here: {reason}. Usable here: "torch".')
        if name == "cuda":
            kernels = _on_device()
            if self.hidden_size > kernels.MOST_UNITS[torch.float32]:
                what = kernels.too_many(torch.float32)
                raise ValueError(f'hidden_size is {self.hidden_size}, but execution="cuda" {what}')
        return name

    def is_fused(self) -> bool:
        """Whether the execution is not "torch". Raises ValueError for one that got in without being looked at."""
        if self._execution not in self.offered:
            self.checked_execution(self._execution)
        return self._execution != "torch"


class FusedNetwork:
    """A network of fused layers, which has their execution."""

    layers: Sequence[Any]

    @property
    def execution(self) -> Name:
        """That of all layers; to set it is to set theirs. Raises ValueError where they differ."""
        names = {layer.execution for layer in self.layers}
        if len(names) > 1:
            raise ValueError("execution is not the same in all layers. Ask a layer, or set one for all of them.")
        return cast(Name, names.pop())

    @execution.setter
    def execution(self, name: str) -> None:
        checked = [layer.checked_execution(name) for layer in self.layers]
        for layer, own in zip(self.layers, checked, strict=True):
            layer.execution = own


def _by_matrix(g: Tensor, first: Tensor, rows: Tensor) -> Tensor:
    """Σ_n g_nᵀ h_{n−1}, with h_0 = ``first`` and h_1 .. h_{N−1} the rows but the last: one product."""
    if len(g) == 0:
        return g.new_zeros(g.shape[2], first.shape[1])
    total = g[0].T @ first
    return torch.addmm(total, g[1:].flatten(0, 1).T, rows[:-1].flatten(0, 1), out=total)


def check_device(x: Tensor) -> None:
    """Raises ValueError unless ``x`` is on the CPU, or on meta, where nothing is computed."""
    if x.device.type not in ("cpu", "meta"):
        raise ValueError(f'x is on {x.device}, but execution="cpu" runs on the CPU. Move it, or choose "torch".')


def _check(x: Tensor, **others: Tensor | None) -> None:
    check_device(x)
    if x.dtype not in UNIT_ROUNDOFF:
        raise TypeError(f"x has dtype {x.dtype}, but the recurrence admits float32 and float64. Convert it first.")
    for label, value in others.items():
        if value is not None and value.dtype != x.dtype:
            raise TypeError(f"{label} has dtype {value.dtype} but x has {x.dtype}. Convert one of them.")
    _check_no_tangent(x, *others.values())


def _check_no_tangent(*given: Tensor | None) -> None:
    """An operator without a forward-mode derivative drops tangents without a word, which reads as a derivative 0."""
    if torch.compiler.is_compiling():
        return
    for value in given:
        if value is not None and forward_ad.unpack_dual(value).tangent is not None:
            raise NotImplementedError(_no_tangent())


def _no_tangent(*_: Any) -> str:
    return (
        'execution="cpu" has no forward-mode derivative: its derivative is one walk backwards in time. '
        'Use reverse mode, or execution="torch".'
    )


for _name, _schema in (
    (
        "coupled_forward",
        "(Tensor x, Tensor W, Tensor W_z, Tensor y0, Tensor z0, float dt, float gamma, float p, float q)"
        " -> (Tensor, Tensor, Tensor)",
    ),
    (
        "coupled_backward",
        "(Tensor? grad_y, Tensor? grad_z, Tensor y, Tensor z, Tensor s, Tensor W, Tensor W_z, Tensor y0, Tensor z0,"
        " float dt, float gamma, float p, float q) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    ),
    ("orthogonal_forward", "(Tensor x, Tensor W, Tensor? b, Tensor h0) -> Tensor"),
    (
        "orthogonal_backward",
        "(Tensor grad, Tensor h, Tensor W, Tensor? b, Tensor h0) -> (Tensor, Tensor, Tensor, Tensor)",
    ),
):
    # Not by custom_op, whose first call imports torch's compiler.
    torch.library.define(f"odernn::{_name}", _schema, tags=torch.Tag.pt2_compliant_tag)


def _no_second_derivative(*_: Any) -> None:
    raise RuntimeError(
        'execution="cpu" is differentiable once: its derivative has none. Use execution="torch" for second derivatives.'
    )


_coupled_back, _orthogonal_back = (
    differentiable(f"odernn::{_name}_backward", _no_second_derivative, no_tangent=_no_tangent)
    for _name in ("coupled", "orthogonal")
)


# --- coRNN


def coupled(
    x: Tensor, *, W: Tensor, W_z: Tensor, y0: Tensor, z0: Tensor, dt: float, gamma: float, p: float, q: float
) -> tuple[Tensor, Tensor]:
    """Rows of y and z, (time, batch, hidden) each. Raises TypeError and ValueError for a wrong dtype or device."""
    _check(x, W=W, W_z=W_z, y0=y0, z0=z0)
    y, z, _ = _coupled_rows(x, W, W_z, y0, z0, dt, gamma, p, q)
    return y, z


@torch.library.impl("odernn::coupled_forward", "CPU")
@in_full_digits
def _coupled_forward(
    x: Tensor, W: Tensor, W_z: Tensor, y0: Tensor, z0: Tensor, dt: float, gamma: float, p: float, q: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of y, z and s = tanh a."""
    from odernn.executions.cpu.kernels import dense as kernels

    y, z, s = (x.new_empty(x.shape) for _ in range(3))
    first, rows = [tensor.contiguous()[None].numpy() for tensor in (y0, z0)], [tensor.numpy() for tensor in (y, z)]
    drives = [x.contiguous().numpy(), s.numpy()]
    numbers = [drives[1].dtype.type(value) for value in (dt, gamma, p, q)]
    for n in range(len(x)):
        before = (y0, z0) if n == 0 else (y[n - 1], z[n - 1])
        torch.mm(before[0], W.T, out=s[n]).addmm_(before[1], W_z.T)
        kernels.coupled_step(*drives, *(first if n == 0 else rows), max(n - 1, 0), *rows, n, *numbers)
    return y, z, s


@torch.library.register_fake("odernn::coupled_forward")  # type: ignore[untyped-decorator]
def _(
    x: Tensor, W: Tensor, W_z: Tensor, y0: Tensor, z0: Tensor, dt: float, gamma: float, p: float, q: float
) -> tuple[Tensor, Tensor, Tensor]:
    return x.new_empty(x.shape), x.new_empty(x.shape), x.new_empty(x.shape)


@torch.library.impl("odernn::coupled_backward", "CPU")
@in_full_digits
def _coupled_backward(
    grad_y: Tensor | None,
    grad_z: Tensor | None,
    y: Tensor,
    z: Tensor,
    s: Tensor,
    W: Tensor,
    W_z: Tensor,
    y0: Tensor,
    z0: Tensor,
    dt: float,
    gamma: float,
    p: float,
    q: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Derivatives by x, W, W_z, y0 and z0, from those by the rows of y and z; None is zero."""
    from odernn.executions.cpu.kernels import dense as kernels

    g, P, Q = s.new_empty(s.shape), y0.new_zeros(y0.shape), z0.new_zeros(z0.shape)
    none = s.new_empty(0, *s.shape[1:])
    added = [(none if cotangent is None else cotangent.contiguous()).numpy() for cotangent in (grad_y, grad_z)]
    rows = [tensor.numpy() for tensor in (s, g, P, Q)]
    numbers = [rows[0].dtype.type(value) for value in (dt, gamma, p, q, 1.0)]
    for n in range(len(s) - 1, -1, -1):
        kernels.coupled_step_back(*rows, *added, n, *numbers)
        P.addmm_(g[n], W)
        Q.addmm_(g[n], W_z)
    return g, _by_matrix(g, y0, y), _by_matrix(g, z0, z), P, Q


@torch.library.register_fake("odernn::coupled_backward")  # type: ignore[untyped-decorator]
def _(
    grad_y: Tensor | None,
    grad_z: Tensor | None,
    y: Tensor,
    z: Tensor,
    s: Tensor,
    W: Tensor,
    W_z: Tensor,
    y0: Tensor,
    z0: Tensor,
    dt: float,
    gamma: float,
    p: float,
    q: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    return tuple(tensor.new_empty(tensor.shape) for tensor in (s, W, W_z, y0, z0))  # type: ignore[return-value]


def _keep_coupled(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    _, W, W_z, y0, z0, *numbers = inputs
    ctx.save_for_backward(*output, W, W_z, y0, z0)
    ctx.numbers = numbers
    ctx.set_materialize_grads(False)


def _differentiate_coupled(ctx: Any, grad_y: Tensor | None, grad_z: Tensor | None, _: Any) -> tuple[Any, ...]:
    gradients = _coupled_back(grad_y, grad_z, *ctx.saved_tensors, *ctx.numbers)
    return (*gradients, None, None, None, None)


_coupled_rows = differentiable("odernn::coupled_forward", _differentiate_coupled, _keep_coupled, no_tangent=_no_tangent)


# --- scoRNN


def orthogonal(x: Tensor, *, W: Tensor, b: Tensor | None, h0: Tensor, execution: Name = "cpu") -> Tensor:
    """Rows of h, (time, batch, hidden); b None: no modReLU. By "cpu" or "cuda", each on its own devices.

    Raises TypeError, ValueError for a wrong dtype, device, and for more units than a device has room for.
    """
    if execution == "cuda":
        rows: Tensor = (_IN_USE[0] if _IN_USE else _on_device()).rows(x, W=W, b=b, h0=h0)
        return rows
    _check(x, W=W, b=b, h0=h0)
    h: Tensor = _orthogonal_rows(x, W, b, h0)
    return h


@torch.library.impl("odernn::orthogonal_forward", "CPU")
@in_full_digits
def _orthogonal_forward(x: Tensor, W: Tensor, b: Tensor | None, h0: Tensor) -> Tensor:
    from odernn.executions.cpu.kernels import dense as kernels

    h = x.new_empty(x.shape)
    bias = h.new_empty(0) if b is None else b
    rows = [tensor.contiguous().numpy() for tensor in (x, h, bias)]
    zero = rows[1].dtype.type(0.0)
    for n in range(len(x)):
        torch.mm(h0 if n == 0 else h[n - 1], W.T, out=h[n])
        kernels.modrelu_step(*rows, n, zero)
    return h


@torch.library.register_fake("odernn::orthogonal_forward")  # type: ignore[untyped-decorator]
def _(x: Tensor, W: Tensor, b: Tensor | None, h0: Tensor) -> Tensor:
    return x.new_empty(x.shape)


@torch.library.impl("odernn::orthogonal_backward", "CPU")
@in_full_digits
def _orthogonal_backward(
    grad: Tensor, h: Tensor, W: Tensor, b: Tensor | None, h0: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Derivatives by x, W, b (empty if there is none) and h0.

    A unit was active where h_n is not 0, and there sign(z_n) = sign(h_n).
    """
    from odernn.executions.cpu.kernels import dense as kernels

    g, P, by_b = h.new_empty(h.shape), h0.new_zeros(h0.shape), h0.new_zeros(0 if b is None else len(b)).double()
    rows = [tensor.numpy() for tensor in (h, g, grad.contiguous(), P, by_b)]
    zero = rows[0].dtype.type(0.0)
    for n in range(len(h) - 1, -1, -1):
        kernels.modrelu_step_back(*rows, n, zero)
        torch.mm(g[n], W, out=P)
    return g, _by_matrix(g, h0, h), by_b.to(h.dtype), P


@torch.library.register_fake("odernn::orthogonal_backward")  # type: ignore[untyped-decorator]
def _(grad: Tensor, h: Tensor, W: Tensor, b: Tensor | None, h0: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    by_b = h0.new_empty(0) if b is None else b.new_empty(b.shape)
    return h.new_empty(h.shape), W.new_empty(W.shape), by_b, h0.new_empty(h0.shape)


def _keep_orthogonal(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, W, b, h0 = inputs
    ctx.save_for_backward(output, W, b, h0)


def _differentiate_orthogonal(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    h, W, b, h0 = ctx.saved_tensors  # once: checkpoint() computes them again at every look
    by_x, by_W, by_b, by_h0 = _orthogonal_back(grad, h, W, b, h0)
    return by_x, by_W, None if b is None else by_b, by_h0


_orthogonal_rows = differentiable(
    "odernn::orthogonal_forward", _differentiate_orthogonal, _keep_orthogonal, no_tangent=_no_tangent
)
