"""The emulator in the place of a device: the whole execution, operations and gradients included, on CPU tensors."""

from __future__ import annotations

from dataclasses import dataclass, field

from cuda.odernn_kernels.catalogue import Kernel, packed
from cuda.odernn_kernels.emulator import Emulated, Order


@dataclass
class EmulatedLauncher:
    """Launches into ``emulated``; ``launched`` names the kernels that ran, in order."""

    emulated: Emulated
    order: Order = Order.ASCENDING
    launched: list[str] = field(default_factory=list)

    def launch(
        self, kernel: Kernel, grid: int, arguments: tuple[int | float, ...], *, threads: int, shared: int
    ) -> None:
        """As on a device, but done when it returns."""
        self.launched.append(kernel.name)
        self.emulated.launch(
            kernel.name, grid=grid, threads=threads, shared=shared, arguments=packed(arguments), order=self.order
        )
