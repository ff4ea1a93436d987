"""The probe on loops over cells and on steps: which weights, what is no node, and what is refused with a reason."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from odernn.architecture import (
    GraphError,
    GraphRNN,
    ProbeError,
    RNNGraph,
    StepForm,
    get,
    graph_of,
    graph_of_step,
    measures_of,
)
from odernn.architecture.catalogue import dilated, skip, stack
from odernn.architecture.probe.interventions import Probe
from odernn.architecture.probe.probe import _described
from odernn.cells.cornn import CoRNN
from tests.odernn.architecture.probed import edges, same_as, values

# Networks that call cells in a loop.


class Loop(nn.Module):
    """A stack of cells of torch; layer l reads itself ``delays[l]`` steps back, summed by a linear map each."""

    def __init__(self, *delays: tuple[int, ...], kind: type[nn.Module] = nn.RNNCell, batch_first: bool = False) -> None:
        super().__init__()
        self.delays, self.batch_first = delays, batch_first
        self.cells = nn.ModuleList(kind(2 if l == 0 else 3, 3) for l in range(len(delays)))
        self.maps = nn.ModuleList(nn.ModuleList(nn.Linear(3, 3) for _ in each) for each in delays)

    def before(self, time: int, layer: int, k: int) -> int:
        """At which time the layer reads itself."""
        return time - self.delays[layer][k]

    def forward(self, x: Tensor) -> Tensor:
        rows = list((x.transpose(0, 1) if self.batch_first else x).unbind())
        for layer, cell in enumerate(self.cells):
            states: list[Any] = []
            for time, row in enumerate(rows):
                past = row.new_zeros(len(row), 3)
                for k, each in enumerate(self.maps[layer]):
                    at = self.before(time, layer, k)
                    if at >= 0:
                        past = past + each(states[at][0] if isinstance(states[at], tuple) else states[at])
                states.append(cell(row, (past, past) if isinstance(cell, nn.LSTMCell) else past))
            rows = [state[0] if isinstance(state, tuple) else state for state in states]
        return torch.stack(rows, dim=1 if self.batch_first else 0)


def renamed(graph: RNNGraph) -> set[tuple[str, str, int]]:
    layers = {f"cells.{k}": f"h{k + 1}" for k in range(len(graph.nodes))}
    return {(layers.get(u, u), layers.get(v, v), s) for u, v, s in edges(graph)}


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_a_dilated_network_of_cells(kind: type[nn.Module]) -> None:
    found = graph_of(Loop((1,), (2,), (4,), kind=kind), example=torch.zeros(8, 1, 2))
    assert renamed(found) == edges(dilated((1, 2, 4))) and values(found) == values(dilated((1, 2, 4)))
    assert renamed(graph_of(Loop((1,), (3,), (4,), kind=kind), example=torch.zeros(8, 1, 2))) != renamed(found)


def test_a_skip_network_of_one_cell() -> None:
    found = graph_of(Loop((1, 5), batch_first=True), example=torch.zeros(1, 9, 2))
    assert renamed(found) == edges(skip(5)) and values(found) == (1, 2, 5)


def test_a_delay_that_the_example_shows_only_once_is_refused() -> None:
    with pytest.raises(ProbeError, match="σ = 5 steps before, which 6 steps show only once"):
        graph_of(Loop((1, 5)), example=torch.zeros(6, 1, 2))


class OddAndEven(Loop):
    """Reads itself one step back at odd times, two at even times."""

    def before(self, time: int, layer: int, k: int) -> int:
        return time - 2 + time % 2


def test_connections_that_depend_on_the_time_need_a_period() -> None:
    example = torch.zeros(8, 1, 2)
    with pytest.raises(ProbeError, match=r"more than the period 1 tells\. With period=2 it is a graph"):
        graph_of(OddAndEven((1,)), example=example)
    found = graph_of(OddAndEven((1,)), example=example, period=2)
    cell = "cells.0"
    assert {edge for edge in edges(found) if edge[0] == edge[1] or edge[2]} == {
        (f"{cell}@0", f"{cell}@1", 1),
        (f"{cell}@0", f"{cell}@0", 2),
    }


class Silenced(nn.Module):
    """A cell that the output does not read at one time."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.RNNCell(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[1], 2)
        rows = []
        for time, row in enumerate(x):
            h = self.cell(row, h)
            rows.append(torch.zeros_like(h) if time == 3 else h)
        return torch.stack(rows)


def test_a_reading_that_is_there_at_all_times_but_one_is_refused() -> None:
    with pytest.raises(ProbeError, match=r"out reads cell of σ = 0 steps before at the times \[0, 1, 2, 4, 5\] only"):
        graph_of(Silenced(), example=torch.zeros(6, 1, 2))


class Deep(nn.Module):
    """One cell, called twice a step: recurrent depth 2."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.RNNCell(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[1], 2)
        rows = []
        for row in x:
            h = self.cell(torch.zeros_like(row), self.cell(row, h))
            rows.append(h)
        return torch.stack(rows)


def test_a_cell_that_is_called_twice_a_step_is_two_nodes() -> None:
    found = graph_of(Deep(), example=torch.zeros(5, 1, 2))
    assert edges(found) == {
        ("in", "cell.1", 0),
        ("cell.1", "cell.2", 0),
        ("cell.2", "cell.1", 1),
        ("cell.2", "out", 0),
    }
    assert values(found) == (2, 3, Fraction(1, 2))


class OwnCell(nn.Module):
    """A cell that the probe does not know."""

    def __init__(self, below: int, size: int) -> None:
        super().__init__()
        self.V, self.W = nn.Linear(below, size), nn.Linear(size, size)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        return torch.tanh(self.V(x) + self.W(h))


def test_any_submodule_can_be_a_node_by_its_name() -> None:
    network = Loop((1,), (2,), kind=OwnCell)
    found = graph_of(network, example=torch.zeros(6, 1, 2), cells=["cells.0", "cells.1"])
    assert renamed(found) == edges(dilated((1, 2)))


def test_a_recurrence_that_is_no_node_is_seen() -> None:
    with pytest.raises(ProbeError, match=r"show only once.*a part that is no node remembers the past"):
        graph_of(Loop((1,), (2,)), example=torch.zeros(6, 1, 2), cells=["cells.1"])


# Which weights.


def cut(module: nn.RNN) -> nn.RNN:
    with torch.no_grad():
        module.weight_ih_l1.zero_()
    return module


def test_a_zero_parameter_is_a_connection_of_the_module_but_not_of_its_weights() -> None:
    module = cut(nn.RNN(2, 3, 2))
    same_as(module, stack(2))
    found = edges(graph_of(module, at="random"))
    with pytest.raises(GraphError, match=r"\(R\)"):
        graph_of(module, at="present")
    assert found == edges(stack(2))
    with torch.no_grad():
        module.weight_ih_l1.copy_(torch.ones(3, 3))
        module.weight_hh_l0.zero_()
    assert edges(graph_of(module, at="present")) == edges(stack(2)) - {("h1", "h1", 1)}


class Masked(nn.Module):
    """A step with a mask of zeros, which is a buffer."""

    def __init__(self, keep: float) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.randn(3, 3))
        self.register_buffer("mask", torch.full((3, 3), keep))

    def step_form(self) -> StepForm:
        def step(inputs: Any, states: Any, time: int) -> dict[str, Tensor]:
            a = torch.tanh(inputs[0] + states["a"][1])
            b = torch.tanh(a @ (self.W * self.mask) + states["b"][1] + states["a"][1].sin())
            return {"a": a, "b": b, "out": b}

        return StepForm(step, 3, {"a": 3, "b": 3})


def test_a_zero_that_is_a_buffer_connects_nothing() -> None:
    loops = {("in", "a", 0), ("a", "a", 1), ("b", "b", 1), ("a", "b", 1), ("b", "out", 0)}
    assert edges(graph_of(Masked(0.0))) == loops
    assert edges(graph_of(Masked(1.0))) == loops | {("a", "b", 0)}


def test_the_module_is_left_as_it_is() -> None:
    module = nn.LSTM(2, 3, 2, dropout=0.2)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    state = torch.get_rng_state()
    graph_of(module)
    assert module.training and all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert all(value.dtype == torch.float32 for value in module.state_dict().values())
    assert torch.equal(torch.get_rng_state(), state)
    loop = Loop((1,))
    graph_of(loop, example=torch.zeros(4, 1, 2))
    assert not loop.cells[0]._forward_hooks


def test_seeds_change_nothing_that_is_found() -> None:
    module = nn.GRU(2, 3, 2)
    assert graph_of(module) == graph_of(module) == graph_of(module, seed=7) == graph_of(module, seed=8, points=2)


def test_measures_of_a_module_are_those_of_its_graph() -> None:
    assert str(measures_of(nn.LSTM(3, 5, 2))) == "d_r = 1, d_f = 3, s = 1"
    assert values(nn.LSTM(3, 5, 2), nodes="blocks") == (2, 5, 1)
    assert measures_of(Loop((3,)), example=torch.zeros(6, 1, 2)).s == 3
    with pytest.raises(TypeError, match="seed is for a module"):
        measures_of(get("sh"), seed=1)
    with pytest.raises(ProbeError, match=r"no torch\.nn\.Module"):
        measures_of("sh")  # type: ignore[arg-type]


# States that are no nodes.


def test_copies_and_constants_are_no_nodes() -> None:
    """A register of the last inputs, a copy of a copy, a state that is never written, and one that is."""

    def step(inputs: Any, states: Any, time: int) -> dict[str, Tensor]:
        h = torch.tanh(states["h"][1] + states["u2"][1] + states["fixed"][1] + states["h2"][1])
        return {
            "u1": inputs[0].clone(),
            "u2": states["u1"][1],
            "fixed": states["fixed"][1],
            "h": h,
            "h1": states["h"][1],
            "h2": states["h1"][1] * 1.0,
            "out": h,
        }

    found = graph_of_step(step, dict.fromkeys(["u1", "u2", "fixed", "h", "h1", "h2"], 2), input_size=2)
    assert edges(found) == {("in", "h", 2), ("h", "h", 1), ("h", "h", 3), ("h", "out", 0)}
    assert found.hidden == ("h",)


def test_states_in_one_tensor_are_told_apart() -> None:
    """Both states are columns of one product, and the second layer reads columns of it."""
    generator = torch.Generator().manual_seed(3)
    W, U = (torch.randn(4, 4, dtype=torch.float64, generator=generator) for _ in range(2))

    def step(inputs: Any, states: Any, time: int) -> dict[str, Tensor]:
        both = torch.tanh(torch.cat((states["a"][1], inputs[0]), dim=1) @ torch.block_diag(W[:2, :2], W[2:, 2:]))
        top = torch.tanh(both[:, 2:] @ U[:2, :2] + states["top"][1])
        return {"a": both[:, :2], "b": both[:, 2:], "top": top.T.contiguous().T, "out": top}

    found = graph_of_step(step, {"a": 2, "b": 2, "top": 2}, input_size=2)
    assert edges(found) == {("in", "b", 0), ("a", "a", 1), ("b", "top", 0), ("top", "top", 1), ("top", "out", 0)}


def test_states_that_are_read_in_one_piece_are_told_apart() -> None:
    """``a`` and ``b`` are cut out of a tensor after another state has been computed from all of it."""

    def step(inputs: Any, states: Any, time: int) -> dict[str, Tensor]:
        both = torch.tanh(torch.cat((states["a"][1].sin(), inputs[0] * 0.5), dim=1))
        top = torch.tanh(both.sum(dim=1, keepdim=True) + states["top"][1])
        return {"a": both[:, :2], "b": both[:, 2:], "top": top, "out": top}

    found = graph_of_step(step, {"a": 2, "b": 2, "top": 1}, input_size=2)
    assert edges(found) == {
        ("in", "b", 0),
        ("a", "a", 1),
        ("a", "top", 0),
        ("b", "top", 0),
        ("top", "top", 1),
        ("top", "out", 0),
    }


def test_a_reading_that_one_round_misses_is_found_by_the_next() -> None:
    """The second reading is silent below 1.5: seeds are those for which the two points of round 0 do not show it."""

    def step(inputs: Any, states: Any, time: int) -> dict[str, Tensor]:
        h = torch.tanh(inputs[0] + states["h"][1] + torch.relu(states["h"][2] - 1.5))
        return {"h": h, "out": h}

    def first_round(seed: int) -> bool:
        generator = torch.Generator().manual_seed(1_000_003 * seed)
        form = _described(StepForm(step, 1, {"h": 1}, delay=2), "step")
        return any(reading.delay == 2 for reading in Probe(form, generator, 2, by_component=False).readings(0))

    def all_rounds(seed: int) -> bool:
        return ("h", "h", 2) in edges(graph_of_step(step, {"h": 1}, input_size=1, delay=2, points=2, seed=seed))

    missed = [seed for seed in range(40) if not first_round(seed)]
    assert len(missed) >= 20 and any(all_rounds(seed) for seed in missed)
    assert all(
        ("h", "h", 2) in edges(graph_of_step(step, {"h": 1}, input_size=1, delay=2, points=99, seed=seed))
        for seed in missed
    )


# Refusals.


class Elsewhere(nn.Module):
    """A step whose state is computed by numpy."""

    def step_form(self) -> StepForm:
        def step(inputs: Any, states: Any, time: int) -> dict[str, Tensor]:
            import numpy as np

            h = torch.from_numpy(np.tanh(inputs[0].numpy() + states["h"][1].numpy()))
            return {"h": h, "top": torch.from_numpy(np.sin(h.numpy() + states["top"][1].numpy())), "out": h}

        return StepForm(step, 2, {"h": 2, "top": 2})


class Noisy(nn.Module):
    def step_form(self) -> StepForm:
        def step(inputs: Any, states: Any, time: int) -> dict[str, Tensor]:
            h = torch.tanh(inputs[0] + torch.rand_like(states["h"][1]))
            return {"h": h, "out": h}

        return StepForm(step, 2, {"h": 2})


class Holder(nn.Module):
    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.part = part

    def forward(self, x: Tensor) -> Any:
        return self.part(x)


class Sometimes(Holder):
    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[1], 2)
        for row in x[::2]:
            h = self.part(row, h)
        return h.expand(len(x), -1, -1)


class Last(Holder):
    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[1], 2)
        for row in x:
            h = self.part(row, h)
        return h


def with_a_history() -> nn.Module:
    module = nn.RNN(2, 2)
    module.last = torch.ones(2, requires_grad=True) * 2.0
    return module


@torch.library.custom_op("odernn_tests::tanh", mutates_args=())
def own_tanh(x: Tensor) -> Tensor:
    return torch.tanh(x)


class Fused(nn.Module):
    def step_form(self) -> StepForm:
        def step(inputs: Any, states: Any, time: int) -> dict[str, Tensor]:
            h = own_tanh(inputs[0] + states["h"][1])
            return {"h": h, "out": h}

        return StepForm(step, 2, {"h": 2})


EXAMPLE = {"example": torch.zeros(6, 1, 2)}


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        (nn.Linear(2, 2), {}, r"torch\.nn\.modules\.linear\.Linear cannot be probed.*torch\.nn\.RNN.*step_form"),
        (Holder(nn.LSTM(2, 2)), {}, r'Holder cannot be probed.*Probe the part "part" by itself'),
        (Holder(nn.RNNCell(2, 2)), {}, r'It holds the cell "part".*pass example='),
        (GraphRNN(get("sh"), 2), {}, "It has node_values: pass example="),
        (CoRNN(2, 2, dt=0.1, gamma=1.0, epsilon=1.0, bidirectional=True), {}, "not unidirectional"),
        (Elsewhere(), {}, "computed outside torch"),
        (Fused(), {}, r"odernn_tests\.tanh\.default, an operation of its own"),
        (with_a_history(), {}, "RNN cannot be copied"),
        (nn.RNN(2, 2, device="meta"), {}, "RNN cannot be copied"),
        (Noisy(), {}, "the same step on the same numbers gave other states"),
        (nn.LSTM(2, 4, proj_size=2), {"nodes": "units"}, "differ in size"),
        (Holder(nn.Linear(2, 2)), EXAMPLE, r"holds no torch\.nn\.RNNCell"),
        (Holder(nn.Linear(2, 2)), {**EXAMPLE, "cells": ["parts"]}, r"cells names \['parts'\].*are: part"),
        (Sometimes(nn.RNNCell(2, 2)), EXAMPLE, 'the cell "part" is called 3 times in 6 steps'),
        (Last(nn.RNNCell(2, 2)), EXAMPLE, r"its output is a tensor \(8, 2\)"),
        (Loop((1,)), {"example": torch.zeros(6, 2)}, r"example is a tensor \(6, 2\)"),
        (Loop((1,)), {**EXAMPLE, "nodes": "units"}, "over a whole sequence"),
    ],
)
def test_what_cannot_be_probed_is_refused_with_a_reason(module: nn.Module, options: Any, message: str) -> None:
    with pytest.raises(ProbeError, match=message) as raised:
        graph_of(module, **options)
    assert isinstance(raised.value, TypeError)


def test_weights_that_make_a_state_constant_are_refused() -> None:
    module = nn.RNN(2, 2, bias=False)
    for parameter in module.parameters():
        nn.init.zeros_(parameter)
    with pytest.raises(ProbeError, match='the new state "h1" is 0 everywhere'):
        graph_of(module, at="present")
    same_as(module, stack(1))


def test_a_network_without_a_cycle_is_no_recurrent_network() -> None:
    def step(inputs: Any, states: Any, time: int) -> dict[str, Tensor]:
        h = torch.tanh(inputs[0] + inputs[1])
        return {"h": h, "out": h}

    with pytest.raises(GraphError, match="there is no directed cycle"):
        graph_of_step(step, {"h": 2}, input_size=2, input_delay=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": "layer"}, "nodes is 'layer'. Did you mean 'layers'"),
        ({"at": "now"}, "at is 'now'"),
        ({"points": 1}, "points is 1"),
        ({"points": 2.5}, "points is 2.5. It must be an integer of at least 2"),
        ({"seed": "a"}, "seed is 'a'"),
        ({"period": 0, "example": torch.zeros(4, 1, 2)}, "period is 0"),
        ({"period": 2}, r"period is 2.*Pass example="),
        ({"cells": ["h"]}, r"cells is \['h'\]"),
    ],
)
def test_arguments_are_checked(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        graph_of(nn.RNN(2, 2), **options)


def test_a_step_is_checked() -> None:
    def step(inputs: Any, states: Any, time: int) -> dict[str, Tensor]:
        return {"h": inputs[0]}

    with pytest.raises(ProbeError, match=r"the step gave \{'h': \(8, 2\)\}.*and the output"):
        graph_of_step(step, {"h": 2}, input_size=2)
    with pytest.raises(ValueError, match='called "in"'):
        StepForm(step, 2, {"in": 2})
    with pytest.raises(ValueError, match='the size of "h" is 0'):
        StepForm(step, 2, {"h": 0})
    with pytest.raises(ProbeError, match=r"the shape \(0, 1, 2\), with nothing in it"):
        graph_of(Loop((1,)), example=torch.zeros(0, 1, 2))
    with pytest.raises(ValueError, match="delay is 0"):
        StepForm(step, 2, {"h": 2}, delay=0)
