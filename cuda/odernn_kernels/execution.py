"""The contract of ``odernn.executions.recurrence`` on a CUDA device: float32, and float64 in the ring kernels.

``operations`` has the modes and the kernels that run. Differentiable once and in reverse mode, through the operations
``odernn_cuda::…`` of torch; forward mode is an error.
"""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from cuda.odernn_kernels import direct, module, operations
from cuda.odernn_kernels.reverse import reverse_only
from odernn.executions.recurrence import (
    Backward,
    GivenCoefficients,
    RecurrenceGradients,
    RecurrenceOutputs,
    RecurrenceResult,
    check_grad_y,
    checked,
    checked_backward,
    checked_ends,
    of_layer,
)

name = "cuda"


def unavailable_because() -> str | None:
    """Why no device can be used here, or ``None``."""
    if module.is_overridden():
        return None
    if not torch.cuda.is_available():
        build = "was built without CUDA" if torch.version.cuda is None else "sees no device"
        return f"this torch ({torch.__version__}) {build}"
    return module.unavailable_because()


def forward(
    x: Tensor,
    *,
    y0: Tensor | None = None,
    z0: Tensor | None = None,
    **given: Unpack[GivenCoefficients],
) -> RecurrenceResult:
    """All rows of y and z, differentiable once; see ``odernn.executions.recurrence``."""
    module.check_device(x)
    (w, h, alpha), (y0, z0) = checked(x, {"y0": y0, "z0": z0}, **given)
    y, z = operations.states(*reverse_only(x, w, h, alpha, y0, z0))
    return RecurrenceResult(y, z, y0, z0, name)


def outputs(
    x: Tensor,
    *,
    y0: Tensor | None = None,
    z0: Tensor | None = None,
    lengths: Tensor | None = None,
    backward: Backward = "stored",
    **given: Unpack[GivenCoefficients],
) -> RecurrenceOutputs:
    """The rows of y and the state after each sample's own end, differentiable once; see ``executions.recurrence``."""
    module.check_device(x)
    mode = checked_backward(backward, name, ("stored", "reversible", "exact"))
    (w, h, alpha), (y0, z0) = checked(x, {"y0": y0, "z0": z0}, **given)
    ends = checked_ends(lengths, x)
    if mode == "stored" and direct.is_plain(x, w, h, alpha, y0, z0):
        return RecurrenceOutputs(*direct.stored(x, w, h, alpha, y0, z0, ends), name, mode)
    x, w, h, alpha, y0, z0 = reverse_only(x, w, h, alpha, y0, z0)
    if mode == "stored":
        y, y_last, z_last = operations.stored(x, w, h, alpha, y0, z0, ends)
    elif mode == "reversible":
        y, y_last, z_last, _ = operations.reversible(x, w, h, alpha, y0, z0, ends)
    else:
        if x.dtype != torch.float32:
            raise TypeError(
                f'x has dtype {x.dtype}, but backward="exact" of execution="cuda" keeps float32 increments in float64 '
                'sums. Give float32, or backward="stored".'
            )
        y, y_last, z_last, _ = operations.exact(x, w, h, alpha, y0, z0, ends)
    return RecurrenceOutputs(y, y_last, z_last, name, mode)


layer_outputs = of_layer(outputs)


def inverse(
    x: Tensor,
    *,
    y_last: Tensor,
    z_last: Tensor,
    **given: Unpack[GivenCoefficients],
) -> RecurrenceResult:
    """All states from the last one, by the inverse step; not differentiable here."""
    module.check_device(x)
    (w, h, alpha), (y_last, z_last) = checked(x, {"y_last": y_last, "z_last": z_last}, **given)
    y, z, y0, z0 = operations.inverse(*reverse_only(x, w, h, alpha, y_last, z_last))
    return RecurrenceResult(y, z, y0, z0, name)


@torch.no_grad()
def backward(
    x: Tensor,
    *,
    states: RecurrenceResult,
    grad_y: Tensor,
    grad_y_last: Tensor | None = None,
    grad_z_last: Tensor | None = None,
    **given: Unpack[GivenCoefficients],
) -> RecurrenceGradients:
    """Backpropagation through time from given states; see ``odernn.executions.torch_loop``."""
    module.check_device(x)
    (w, h, alpha), (p, q) = checked(x, {"grad_y_last": grad_y_last, "grad_z_last": grad_z_last}, **given)
    check_grad_y(grad_y, x)
    x, w, h, alpha, y0, y, z_last, grad_y, p, q = reverse_only(
        x, w, h, alpha, states.y0, states.y, states.z_last, grad_y, p, q
    )
    by_x, *partials, by_y0, by_z0 = operations.stored_backward(x, w, h, alpha, y0, None, y, z_last, grad_y, None, p, q)
    by_w, by_h, by_alpha = (each.sum_to_size(like.shape) for each, like in zip(partials, (w, h, alpha), strict=True))
    return RecurrenceGradients(by_x, by_w, by_h, by_alpha, by_y0, by_z0)
