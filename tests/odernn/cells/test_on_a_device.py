"""Every cell on a CUDA device, in every execution that runs there, is the one on a CPU; so is what ``certify`` says."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from odernn.bounds import certify
from tests.odernn.cells.test_cells import ONE_A_CELL, blocks_of, build, largest, normal, width

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
DEVICE = "cuda"
ON_A_DEVICE = ("torch", "parallel", "cuda")

every_cell = pytest.mark.parametrize(("name", "label"), ONE_A_CELL)


def executions_of(network: nn.Module) -> tuple[str, ...]:
    """Those that run on a device."""
    offered = getattr(network.layers[0], "offered", ON_A_DEVICE if hasattr(network, "execution") else ("torch",))
    return tuple(each for each in offered if each in ON_A_DEVICE)


def switched(network: nn.Module, execution: str) -> nn.Module:
    for each in [network] if hasattr(network, "execution") else network.layers:
        if hasattr(each, "execution"):
            each.execution = execution
    return network


def trained_once(network: nn.Module, u: torch.Tensor) -> list[torch.Tensor]:
    """Output, final blocks, and gradients of their squares by the input and every parameter."""
    u = u.clone().requires_grad_()
    output, state = network(u)
    sum(each.square().sum() for each in (output, *blocks_of(state))).backward()
    found = [output, *blocks_of(state), u.grad, *(each.grad for each in network.parameters())]
    return [each.detach().cpu() for each in found]


@every_cell
def test_outputs_and_gradients_are_those_of_a_cpu(name: str, label: str) -> None:
    network = build(name, label, num_layers=2)
    u = normal(20, 3, width(network))
    wanted = trained_once(copy.deepcopy(network), u)
    for execution in executions_of(network):
        found = trained_once(switched(copy.deepcopy(network), execution).to(DEVICE), u.to(DEVICE))
        for one, other in zip(found, wanted, strict=True):
            assert largest(one - other) <= 1e-11 * (1 + largest(other)), execution


@every_cell
def test_a_network_comes_back_from_a_device_as_it_was(name: str, label: str) -> None:
    network = build(name, label)
    u = normal(7, 2, width(network))
    with torch.no_grad():
        wanted = network(u)[0]
        assert torch.equal(network.to(DEVICE).cpu()(u)[0], wanted)


@every_cell
def test_mixed_precision_computes_the_recurrence_in_the_dtype_of_its_parameters(name: str, label: str) -> None:
    network = build(name, label).float().to(DEVICE)
    u = normal(7, 2, width(network)).float().to(DEVICE)
    with torch.no_grad():
        output, state = network(u)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            mixed_output, mixed_state = network(u)
    for one, other in zip((mixed_output, *blocks_of(mixed_state)), (output, *blocks_of(state)), strict=True):
        assert one.dtype == torch.float32
        assert largest(one - other) <= 3e-2 * (1 + largest(other))  # drives have the eight bits of bfloat16


@every_cell
def test_certify_says_the_same_of_a_network_on_a_device(name: str, label: str) -> None:
    network = build(name, label, num_layers=2)
    try:
        wanted = certify(network, input_bound=1.0, steps=20)
    except TypeError as refusal:
        with pytest.raises(TypeError, match=type(network).__name__):
            certify(network.to(DEVICE), input_bound=1.0, steps=20)
        assert "certify" in str(refusal)
        return
    assert certify(network.to(DEVICE), input_bound=1.0, steps=20) == wanted
