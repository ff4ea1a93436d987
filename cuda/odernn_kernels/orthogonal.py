"""scoRNN on a device: h_n = modReLU(W h_{n-1} + x_n; b), all steps in one launch with W in registers.

Helfrich, Willmott & Ye 2018. Float32; up to ``MOST_UNITS`` units, beyond which W does not fit on the chip.
"""

# No `from __future__ import annotations`: torch reads the annotations of the operations below.
from typing import Any

import torch
from torch import Tensor

from cuda.odernn_kernels import module
from cuda.odernn_kernels.catalogue import KERNELS
from cuda.odernn_kernels.reverse import reverse_only

MOST_UNITS = 192
"""Two lanes share a unit and keep 96 weights each, ``HALF`` of scornn.cu: 384 threads of 168 registers fill an SM."""


def rows(x: Tensor, *, W: Tensor, b: Tensor, h0: Tensor) -> Tensor:
    """h_1 .. h_N, (time, batch, units), from the drives x, W (units, units), b (units,), h0 (batch, units).

    Differentiable once, in reverse mode. Raises TypeError and ValueError for a wrong dtype, shape or device.
    """
    module.check_device(x)
    if x.dim() != 3:
        raise ValueError(f"x has shape {tuple(x.shape)}, but the drive is (time, batch, units).")
    _, batch, units = x.shape
    if units > MOST_UNITS:
        raise ValueError(f"x has {units} units, but W fits on the chip up to {MOST_UNITS}. Choose another execution.")
    for label, value, shape in (("W", W, (units, units)), ("b", b, (units,)), ("h0", h0, (batch, units))):
        if value.shape != shape:
            raise ValueError(f"{label} has shape {tuple(value.shape)}, but x of shape {tuple(x.shape)} needs {shape}.")
        if value.device != x.device:
            raise ValueError(f"{label} is on {value.device} but x is on {x.device}. Move one of them.")
    for label, value in (("x", x), ("W", W), ("b", b), ("h0", h0)):
        if value.dtype != torch.float32:
            raise TypeError(f"{label} has dtype {value.dtype}, but this kernel is float32. Convert it.")
    states: Tensor = _forward(*reverse_only(x, W, b, h0))
    return states


def _launch(kernel: str, x: Tensor, *tensors: Tensor | None) -> None:
    steps, batch, units = x.shape
    if batch * units == 0:
        return
    addresses = tuple(0 if tensor is None else tensor.data_ptr() for tensor in tensors)
    vector = 2 * 32 * -(-units // 64) + 4  # two halves, each rounded up, and what keeps them in other banks
    module.launcher_for(x).launch(
        KERNELS[kernel], batch, (*addresses, steps, batch, units), threads=32 * -(-units // 16), shared=4 * 2 * vector
    )


@torch.library.custom_op("odernn_cuda::orthogonal", mutates_args=())
def _forward(x: Tensor, W: Tensor, b: Tensor, h0: Tensor) -> Tensor:
    x, W, b, h0 = x.contiguous(), W.contiguous(), b.contiguous(), h0.contiguous()
    states, end = torch.empty_like(x), torch.empty_like(h0)
    _launch("scornn_forward_f32", x, x, W, b, h0, None, states, end, None)
    return states


@torch.library.custom_op("odernn_cuda::orthogonal_backward", mutates_args=())
def _backward(grad: Tensor, W: Tensor, b: Tensor, h0: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    grad, W, b, h0, states = (tensor.contiguous() for tensor in (grad, W, b, h0, states))
    grad_x, grad_h0, grad_b = torch.empty_like(states), torch.empty_like(h0), torch.empty_like(h0)
    _launch("scornn_backward_f32", states, grad, W, b, torch.zeros_like(h0), states, grad_x, grad_h0, grad_b)
    units = W.shape[0]
    before = torch.cat((h0.unsqueeze(0), states))[:-1]
    with torch.autocast(grad_x.device.type, enabled=False):  # backward() may be called inside of one
        grad_W = grad_x.reshape(-1, units).T @ before.reshape(-1, units)
    return grad_x, grad_W, grad_b.sum(0), grad_h0


@_forward.register_fake
def _(x: Tensor, W: Tensor, b: Tensor, h0: Tensor) -> Any:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@_backward.register_fake
def _(grad: Tensor, W: Tensor, b: Tensor, h0: Tensor, states: Tensor) -> Any:
    return tuple(torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in (states, W, b, h0))


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, W, b, h0 = inputs
    ctx.save_for_backward(W, b, h0, output)


def _pull(ctx: Any, grad: Tensor) -> Any:
    return _backward(*reverse_only(grad), *ctx.saved_tensors)


_forward.register_autograd(_pull, setup_context=_keep)
