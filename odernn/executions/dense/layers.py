"""Layers and networks with a fused execution: which names they have, and what such a layer says of its recurrence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypeAlias, cast

import torch
from torch import Tensor

from odernn.executions.dense.rows import DenseRecurrence, check_device, kernels_on_device, rows, unavailable_because
from odernn.executions.recurrence import ExecutionUnavailable

Name: TypeAlias = Literal["torch", "cpu", "cuda", "parallel"]
NameOnCPU: TypeAlias = Literal["torch", "cpu"]
"""Of a cell without a kernel for a device, as ``FusedLayer.offered`` is unless a layer says more."""


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
            kernels = kernels_on_device()
            if self.hidden_size > kernels.MOST_UNITS[torch.float32]:
                what = kernels.too_many(torch.float32)
                raise ValueError(f'hidden_size is {self.hidden_size}, but execution="cuda" {what}')
        return name

    def dense_recurrence(self) -> DenseRecurrence:
        """The recurrence with the weights as they are now; asked for where the execution is "cpu"."""
        raise NotImplementedError(f"{type(self).__name__} has no dense recurrence.")

    def drive_weights(self) -> tuple[Tensor, Tensor | None]:
        """V (drives · hidden, input) and b of the drives V u + b."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its drives are made of.")

    def fused(self, drives: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        """The rows of all blocks from the drives, or None: then the steps are made one by one."""
        if not self.is_fused():
            return None
        check_device(drives)
        return rows(self.dense_recurrence(), state, drives)

    def fused_from_inputs(self, below: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        """The same from the inputs, whose products are made a piece at a time; None where ``fused`` is to be asked."""
        if self._execution != "cpu" or not self.is_fused() or below.dtype != state[0].dtype:
            return None
        check_device(below)
        return rows(self.dense_recurrence(), state, below, *self.drive_weights())

    def is_on_device(self) -> bool:
        """Whether the execution is that of a device."""
        return self._execution == "cuda"

    def is_fused(self) -> bool:
        """Whether the execution is not "torch"; ONNX has none of these, and a file of it is made of torch's operations.

        Raises ValueError for an execution that got in without being looked at.
        """
        if self._execution not in self.offered:
            self.checked_execution(self._execution)
        return self._execution != "torch" and not torch.onnx.is_in_onnx_export()


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
