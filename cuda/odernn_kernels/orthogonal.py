"""scoRNN and expRNN on a device: h_n = modReLU(W h_{n-1} + x_n; b), all steps in one launch with W in registers.

Helfrich, Willmott & Ye 2018; Lezcano-Casado & Martínez-Rubio 2019. A block runs one sample. Up to ``MOST_UNITS`` units,
beyond which W does not fit on the chip. Which kernel runs is a function of dtype alone, and no sum has atomics: equal
calls give equal bits. Nothing is looked at on the host, and every launch of equal shapes has the same arguments but
for addresses, so that a CUDA graph can hold it.
"""

# No `from __future__ import annotations`: torch reads the annotations of the operations below.
from typing import Any

import torch
from torch import Tensor

from cuda.odernn_kernels import module
from cuda.odernn_kernels.catalogue import KERNELS
from cuda.odernn_kernels.launches import typed
from cuda.odernn_kernels.reverse import reverse_only

MOST_UNITS = {torch.float32: 192, torch.float64: 128}
"""Two lanes share a unit and keep half of its weights each, ``HALF`` of scornn.cu: 384 threads of 168 registers fill an
SM, and so do 256 of 255, which hold 64 weights of float64."""


def rows(x: Tensor, *, W: Tensor, b: Tensor | None, h0: Tensor) -> Tensor:
    """h_1 .. h_N, (time, batch, units), from the drives x, W (units, units), b (units,), h0 (batch, units).

    Without b the activation is the identity. float32 and float64. Differentiable once, in reverse mode. Raises
    TypeError and ValueError for a wrong dtype, shape or device, and for more units than ``MOST_UNITS``.
    """
    module.check_device(x)
    if x.dim() != 3:
        raise ValueError(f"x has shape {tuple(x.shape)}, but the drive is (time, batch, units).")
    if x.dtype not in MOST_UNITS:
        raise TypeError(f"x has dtype {x.dtype}, but this kernel admits float32 and float64. Convert it.")
    _, batch, units = x.shape
    if units > MOST_UNITS[x.dtype]:
        raise ValueError(f'x has {units} units, but execution="cuda" {too_many(x.dtype)}')
    for label, value, shape in (("W", W, (units, units)), ("b", b, (units,)), ("h0", h0, (batch, units))):
        if value is None:
            continue
        if value.shape != shape:
            raise ValueError(f"{label} has shape {tuple(value.shape)}, but x of shape {tuple(x.shape)} needs {shape}.")
        if value.device != x.device:
            raise ValueError(f"{label} is on {value.device} but x is on {x.device}. Move one of them.")
        if value.dtype != x.dtype:
            raise TypeError(f"{label} has dtype {value.dtype} but x has {x.dtype}. Convert one of them.")
    states: Tensor = _forward(*reverse_only(x, W, b, h0))
    return states


def too_many(dtype: torch.dtype) -> str:
    """What an error says of more units than fit."""
    return (
        f"keeps W on the chip, which holds up to {MOST_UNITS[dtype]} units of {str(dtype)[6:]}. Choose "
        'execution="torch", which runs on a GPU, too.'
    )


def _launch(kernel: str, x: Tensor, *tensors: Tensor | None) -> None:
    steps, batch, units = x.shape
    if batch * units == 0:
        return
    addresses = tuple(0 if tensor is None else tensor.data_ptr() for tensor in tensors)
    vector = 2 * 32 * -(-units // 64) + 4  # two halves, each rounded up, and what keeps them in other banks
    module.launcher_for(x).launch(
        KERNELS[typed(kernel, x)],
        batch,
        (*addresses, steps, batch, units),
        threads=32 * -(-units // 16),
        shared=x.element_size() * 2 * vector,
    )


@torch.library.custom_op("odernn_cuda::orthogonal", mutates_args=())
def _forward(x: Tensor, W: Tensor, b: Tensor | None, h0: Tensor) -> Tensor:
    x, W, h0 = x.contiguous(), W.contiguous(), h0.contiguous()
    b = None if b is None else b.contiguous()
    states, end = torch.empty_like(x), torch.empty_like(h0)
    _launch("scornn_forward", x, x, W, b, h0, None, states, end, None)
    return states


@torch.library.custom_op("odernn_cuda::orthogonal_backward", mutates_args=())
def _backward(
    grad: Tensor, W: Tensor, b: Tensor | None, h0: Tensor, states: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """By x, W, b (empty if there is none) and h0."""
    grad, W, h0, states = (tensor.contiguous() for tensor in (grad, W, h0, states))
    b = None if b is None else b.contiguous()
    grad_x, grad_h0, zero = torch.empty_like(states), torch.empty_like(h0), torch.zeros_like(h0)
    grad_b = None if b is None else torch.empty_like(h0)
    _launch("scornn_backward", states, grad, W, b, zero, states, grad_x, grad_h0, grad_b)
    with torch.autocast(grad_x.device.type, enabled=False):  # backward() may be called inside of one
        grad_W = _by_matrix(grad_x, h0, states)
    return grad_x, grad_W, h0.new_empty(0) if grad_b is None else grad_b.sum(0), grad_h0


def _by_matrix(grad_x: Tensor, h0: Tensor, states: Tensor) -> Tensor:
    """Σ_n (dE/dx_n)ᵀ h_{n−1}: one product over all steps, with no copy of the states."""
    if len(grad_x) == 0:
        return h0.new_zeros(h0.shape[1], h0.shape[1])
    return torch.addmm(grad_x[0].T @ h0, grad_x[1:].flatten(0, 1).T, states[:-1].flatten(0, 1))


@_forward.register_fake
def _(x: Tensor, W: Tensor, b: Tensor | None, h0: Tensor) -> Any:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@_backward.register_fake
def _(grad: Tensor, W: Tensor, b: Tensor | None, h0: Tensor, states: Tensor) -> Any:
    like = (states, W, h0.new_empty(0) if b is None else b, h0)
    return tuple(torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in like)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, W, b, h0 = inputs
    ctx.save_for_backward(W, b, h0, output)


def _pull(ctx: Any, grad: Tensor) -> Any:
    W, b, h0, states = ctx.saved_tensors
    by_x, by_W, by_b, by_h0 = _backward(*reverse_only(grad), W, b, h0, states)
    return by_x, by_W, None if b is None else by_b, by_h0


_forward.register_autograd(_pull, setup_context=_keep)
