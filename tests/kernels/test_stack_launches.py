"""All layers through time together on a device: few launches, long enough to be parallel in time, in bounded memory."""

from __future__ import annotations

import pytest
import torch

from cuda.odernn_kernels.emulator.launcher import EmulatedLauncher
from odernn.cells.unicornn import UnICORNN
from odernn.executions import stack


@pytest.mark.slow
def test_eigenworms_is_forty_launches_and_the_same_gradient(launcher: EmulatedLauncher) -> None:
    torch.manual_seed(0)
    network = UnICORNN(2, 2, 3, dt=0.03, alpha=1.0)
    u = torch.randn(17984, 1, 2)
    gradients = {}
    for execution in ("cuda", "torch"):
        network.zero_grad()
        network.last(u, execution=execution)[0][-1].sum().backward()
        gradients[execution] = [
            parameter.grad.clone() for parameter in network.parameters() if parameter.grad is not None
        ]
    assert len(launcher.launched) == 36
    assert launcher.launched.count("scan_forward_f32") == launcher.launched.count("scan_backward_f32") == 12
    for mine, theirs in zip(gradients["cuda"], gradients["torch"], strict=True):
        assert (mine - theirs).abs().max() <= 1e-2 * theirs.abs().max().clamp(min=1e-3)


@pytest.mark.parametrize(
    ("columns", "steps"), [(0, 4608), (1, 4608), (256, 4608), (1024, 2048), (8192, 256), (32768, 256)]
)
def test_an_array_of_a_chunk_is_bounded(columns: int, steps: int) -> None:
    assert stack.size_of("cuda", columns) == steps
    assert steps == stack.CHUNK or steps * columns <= 2**21
    assert stack.size_of("torch", columns) == stack.size_of("cpu", columns) == stack.CHUNK
