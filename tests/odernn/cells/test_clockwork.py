"""The clockwork RNN: what it holds and what it reads, its graph, its two other forms, where it starts."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from odernn.architecture import GraphRNN, get, graph_of, measures_of
from odernn.cells.clockwork import SIGMA, ClockworkLayer, ClockworkRNN
from odernn.cells.odernn import ODERNN
from odernn.cells.odernn.realisations import clockwork

F64 = torch.float64
STEPS = 40
PERIODS = [(1, 2), (2, 3), (1, 2, 4), (1, 3, 4, 6)]

every_clock = pytest.mark.parametrize("periods", PERIODS)


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def loud(*sizes: int, **options) -> ClockworkRNN:
    """Weights of size 0.6: tanh is neither linear nor saturated."""
    network = ClockworkRNN(*sizes, **options, dtype=F64)
    with torch.no_grad():
        for place, parameter in enumerate(network.parameters()):
            parameter.copy_(0.6 * normal(*parameter.shape, seed=100 + place))
    return network


def gap(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one - other).detach().abs().max())


# --- what it is


@every_clock
@pytest.mark.parametrize("start", [0, 1, 5, -3])
def test_a_group_is_held_between_the_times_that_its_period_divides(periods, start):
    network = loud(2, 2 * len(periods), periods=periods)
    h, state = normal(1, 3, network.hidden_size, seed=2), normal(1, 3, network.hidden_size, seed=2)
    rows, _ = network(normal(STEPS, 3, 2), state, start=start)
    for a, period in enumerate(periods):
        group = slice(2 * a, 2 * a + 2)
        before = torch.cat((h[:, :, group], rows[:-1, :, group]))
        changed = [not torch.equal(*pair) for pair in zip(before, rows[..., group], strict=True)]
        assert changed == [t % period == 0 for t in range(start, start + STEPS)]


def test_with_one_group_of_period_one_it_is_the_simple_network_of_torch():
    network, module = loud(2, 5, periods=(1,)), torch.nn.RNN(2, 5, dtype=F64)
    (layer,) = network.layers
    with torch.no_grad():
        for ours, theirs in ((layer.W_1, module.weight_hh_l0), (layer.V, module.weight_ih_l0)):
            theirs.copy_(ours)
        module.bias_ih_l0.copy_(layer.b)
        module.bias_hh_l0.zero_()
    u = normal(STEPS, 3, 2)
    assert gap(network(u)[0], module(u)[0]) <= 1e-13


def test_slow_groups_never_see_fast_ones_but_read_the_input():
    network = loud(2, 6, periods=(1, 2, 4))
    u, state = normal(9, 1, 2), normal(1, 1, 6, seed=3)
    jacobian = torch.autograd.functional.jacobian(lambda h: network(u, h)[0][-1, 0], state)[:, 0, 0]
    blocks = jacobian.unflatten(1, (3, 2)).unflatten(0, (3, 2)).abs().sum(dim=(1, 3))
    assert torch.equal(blocks > 0, torch.ones(3, 3, dtype=torch.bool).triu())
    matrix = network.recurrent_matrices()[0]
    assert torch.equal(matrix != 0, torch.ones(3, 3).triu().repeat_interleave(2, 0).repeat_interleave(2, 1) > 0)


@pytest.mark.parametrize("kind", ["tensor", "list"])
def test_every_sample_may_start_at_a_time_of_its_own(kind):
    network = loud(2, 6, 2, periods=(1, 2, 3), bidirectional=True)
    u, state, starts = normal(7, 4, 2), normal(4, 4, 6, seed=4), [0, 1, 2, 11]
    found, end = network(u, state, start=torch.tensor(starts) if kind == "tensor" else starts)
    for b, start in enumerate(starts):
        alone, last = network(u[:, b : b + 1], state[:, b : b + 1], start=start)
        assert gap(found[:, b : b + 1], alone) <= 1e-14 and gap(end[:, b : b + 1], last) <= 1e-14
    assert gap(network(u, state)[0][:, 3], found[:, 3]) > 1e-3


def test_samples_that_ended_at_different_times_go_on_where_they_were():
    network = loud(2, 6, 2, periods=(1, 2, 3))
    u, lengths = normal(9, 3, 2), torch.tensor([4, 0, 3])
    whole = [network(u[: length + 5, b : b + 1])[0] for b, length in enumerate(lengths)]
    _, middle = network(u, lengths=lengths)
    rest = torch.stack([u[length : length + 5, b] for b, length in enumerate(lengths)], dim=1)
    found, _ = network(rest, middle, start=lengths)
    for b, length in enumerate(lengths):
        assert gap(found[:, b], whole[b][length:, 0]) <= 1e-14


def test_the_start_of_the_constructor_is_that_of_a_call_without_one():
    network, late = (loud(2, 4, periods=(1, 2), start=start) for start in (0, 1))
    u = normal(5, 1, 2)
    assert torch.equal(late(u)[0], network(u, start=1)[0]) and not torch.equal(late(u)[0], network(u)[0])
    assert torch.equal(late(u, start=0)[0], network(u)[0]) and "start=1" in repr(late)


def test_gradients_reach_the_input_of_a_held_group_through_the_time_in_between():
    network = loud(1, 2, periods=(1, 4))
    u = normal(7, 1, 1).requires_grad_()
    (gradient,) = torch.autograd.grad(network(u)[0][-1, 0, 1], u)  # the slow neuron at t = 6: last computed at 4
    assert torch.equal(gradient.flatten() != 0, torch.tensor([1, 0, 0, 0, 1, 0, 0]) > 0)


def test_parameters_are_those_of_the_blocks_and_start_as_in_the_paper():
    """g groups of k neurons: g (g + 1)/2 blocks of k² entries, and V, b. 2432 = 36 · 64 + 64 + 64."""
    network = ClockworkRNN(1, 64, periods=[2**i for i in range(8)])
    assert sum(parameter.numel() for parameter in network.parameters()) == 2432
    generator = torch.Generator().manual_seed(1)
    drawn = torch.cat(
        [p.detach().flatten() for p in ClockworkRNN(9, 128, periods=(1, 2), generator=generator).parameters()]
    )
    assert abs(float(drawn.std()) - SIGMA) <= 4 * SIGMA / math.sqrt(2 * drawn.numel())  # four standard errors
    assert abs(float(drawn.mean())) <= 4 * SIGMA / math.sqrt(drawn.numel())


# --- its other forms


def tied(network: ClockworkRNN) -> GraphRNN:
    """The network of the catalogue's graph with the weights of the cell at every time of a period."""
    (layer,) = network.layers
    graph = get(f"clockwork({','.join(map(str, network.periods))})")
    sizes = {node: network.sizes[int(node[1]) - 1] for node in graph.nodes if node.startswith("h")}
    built = GraphRNN(graph, sizes, network.input_size).double()
    group = {f"h{i}": place for i, place in enumerate(layer.groups, 1)}
    W = layer.recurrent_matrix()
    with torch.no_grad():
        for name, parameter in built.named_parameters():
            kind, _, place = name.partition(".")
            if kind == "bias":
                parameter.copy_(layer.b[group[place.split("@")[0]]])
                continue
            tail, _, head = place.rpartition(":")[0].partition("->")
            rows = group[head.split("@")[0]]
            parameter.copy_(layer.V[rows] if tail.startswith("in") else W[rows, group[tail.split("@")[0]]])
    return built


@every_clock
def test_it_is_the_network_of_its_graph_with_the_weights_of_all_copies_tied(periods):
    network = loud(2, 2 * len(periods) + 1, periods=periods, sizes=(*(2,) * (len(periods) - 1), 3))
    built, u = tied(network), normal(STEPS, 4, 2)
    with torch.no_grad():
        for start in (0, 1):
            assert gap(network(u, start=start)[0], built(u, start=start)[0]) <= 1e-13
        # The fault that ties cannot see: a step too late.
        assert gap(network(u, start=1)[0], built(u)[0]) > 1e-3
    cells = sum(parameter.numel() for parameter in network.parameters())
    assert sum(parameter.numel() for parameter in built.parameters()) > cells


def by_tables(network: ClockworkRNN, u: torch.Tensor, h: torch.Tensor, table: Callable = clockwork) -> torch.Tensor:
    """One step at a time, each by an ODERNN of the table of that time with the cell's weights."""
    (layer,) = network.layers
    rows = []
    for time in range(len(u)):
        tableau = table(network.periods, network.sizes, time)
        assert (tableau.n, tableau.t, tableau.is_explicit, tableau.is_gated) == (1, 1, True, False)
        cell = ODERNN(network.input_size, network.hidden_size, tableau=tableau, dtype=F64)
        with torch.no_grad():
            for name, value in (("K_1", layer.recurrent_matrix()), ("U_1", layer.V), ("b_1", layer.b)):
                cell.layers[0].get_parameter(name).copy_(value)
            output, h = cell(u[time : time + 1], h)
        rows.append(output[0])
    return torch.stack(rows)


@every_clock
def test_it_is_an_odernn_whose_coefficients_depend_on_the_time(periods):
    """Definition of the tables: B_1 = −B_0 = diag(l mod T_i = 0); (n, t) = (1, 1) at every time."""
    network = loud(2, 2 * len(periods) + 1, periods=periods, sizes=(*(2,) * (len(periods) - 1), 3))
    u, h = normal(STEPS, 3, 2), normal(1, 3, network.hidden_size, seed=5)
    with torch.no_grad():
        wanted = network(u, h)[0]
    assert gap(by_tables(network, u, h), wanted) <= 1e-13
    wrong = by_tables(network, u, h, lambda periods, sizes, time: clockwork(periods, sizes, time + 1))
    assert gap(wrong, wanted) > 1e-3


def test_a_table_needs_as_many_sizes_as_periods():
    with pytest.raises(ValueError, match="2 groups and sizes 1"):
        clockwork((1, 2), (3,), 0)


# --- its architecture, from its code


@pytest.mark.parametrize("periods", [*PERIODS[:3], (1, 2, 4, 8)])
def test_the_probe_finds_the_graph_and_the_measures_of_the_catalogue(periods):
    """Also that of unequal groups: a node is a group, whatever its size. d_r = 1/T_1, s = T_g."""
    sizes = tuple(range(2, 2 + len(periods)))
    network = loud(2, sum(sizes), periods=periods, sizes=sizes)
    assert network.period == network.step_form().period == math.lcm(*periods)
    found = graph_of(network)
    wanted = get(f"clockwork({','.join(map(str, periods))})")
    assert set(found.edges) == set(wanted.edges) and dict(found.nodes) == dict(wanted.nodes)
    one, other = measures_of(found), measures_of(wanted)
    assert (one.d_r, one.d_f, one.s) == (other.d_r, other.d_f, other.s)
    assert (one.d_r, one.s) == (pytest.approx(1 / periods[0]), periods[-1])


def test_the_probe_of_two_layers_has_a_node_for_each_group_of_each():
    found = graph_of(loud(2, 4, 2, periods=(1, 2)))
    assert {node.split("@")[0] for node in found.nodes} == {"in", "h1.1", "h1.2", "h2.1", "h2.2", "out"}
    measures = measures_of(found)
    assert (measures.d_r, measures.d_f, measures.s) == (1, 3, 2)


def test_both_directions_have_no_step():
    with pytest.raises(ValueError, match="bidirectional"):
        loud(2, 4, periods=(1, 2), bidirectional=True).step_form()


# --- refusals


@pytest.mark.parametrize("periods", [(2, 1), (1, 1), (), (0, 2), (1, 2.0), (True, 2)])
def test_periods_that_do_not_increase_from_one_are_refused(periods):
    with pytest.raises(ValueError, match="periods"):
        ClockworkRNN(2, 4, periods=periods)


@pytest.mark.parametrize("periods", ["12", 2, None, {1, 2}])
def test_periods_are_a_sequence(periods):
    with pytest.raises(TypeError, match="periods is"):
        ClockworkRNN(2, 4, periods=periods)


def test_sizes_fit_the_groups_and_the_hidden_size():
    with pytest.raises(ValueError, match="which 3 groups do not share evenly"):
        ClockworkRNN(2, 4, periods=(1, 2, 4))
    for sizes in ((2, 1), (2, 1, 1), (4,)):
        with pytest.raises(ValueError, match="add up to hidden_size = 4"):
            ClockworkRNN(2, 4, periods=(1, 2), sizes=sizes)
    with pytest.raises(ValueError, match=r"sizes\[1\] is 0"):
        ClockworkRNN(2, 4, periods=(1, 2), sizes=(4, 0))


@pytest.mark.parametrize("start", [1.0, True, "1", b"1", [1.0, 2.0], torch.tensor([True, False]), [[1], [2, 3]]])
def test_a_start_that_is_no_integer_is_refused(start):
    network = loud(2, 4, periods=(1, 2))
    with pytest.raises(TypeError, match="start"):
        network(normal(3, 2, 2), start=start)
    if not isinstance(start, list | torch.Tensor):
        with pytest.raises(TypeError, match="start is"):
            ClockworkRNN(2, 4, periods=(1, 2), start=start)


def test_a_start_of_another_shape_is_refused():
    network = loud(2, 4, periods=(1, 2))
    for start in ([1], [1, 2, 3], torch.tensor(1)):
        with pytest.raises(ValueError, match=r"start has shape .*integers \(2,\), one a sample"):
            network(normal(3, 2, 2), start=start)
    with pytest.raises(ValueError, match="unbatched"):
        network(normal(3, 2), start=[1])


@pytest.mark.slow
def test_every_start_compiles_and_one_that_differs_among_samples():
    """Times are compiled as constants first, then as numbers: the groups that act must not stay the first ones."""
    network = loud(2, 4, periods=(1, 2))
    u = normal(3, 2, 2)
    torch._dynamo.reset()
    compiled = torch.compile(network, backend="eager", fullgraph=True)
    for start in (0, 1, 2, 7, torch.tensor([0, 1])):
        assert gap(compiled(u, start=start)[0], network(u, start=start)[0]) <= 1e-14


def test_a_layer_alone_shows_its_step_at_any_time():
    (layer,) = loud(2, 4, periods=(1, 2)).layers
    assert isinstance(layer, ClockworkLayer)
    h, x = normal(1, 4, seed=6), layer.drives(normal(1, 2))
    (all_act,), (fast_acts,) = layer.stepper()((h,), x), layer.stepper(1)((h,), x)
    assert torch.equal(all_act[:, :2], fast_acts[:, :2]) and torch.equal(fast_acts[:, 2:], h[:, 2:])
    assert not torch.equal(all_act[:, 2:], h[:, 2:])
