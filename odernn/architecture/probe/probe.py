"""The architecture graph of a network from its code: which node reads which, how many steps back.

    >>> import torch
    >>> from odernn.architecture import graph_of, measures_of
    >>> print(measures_of(graph_of(torch.nn.LSTM(3, 5, num_layers=2))))
    d_r = 1, d_f = 3, s = 1

The network runs, and its states are changed one at a time while all others are held; see ``interventions`` for one
step of a network with a state, ``unrolled`` for a whole sequence. Only the direct readings become edges: that a state
two layers up changes, too, is a path. What the module's name or documentation says plays no part.

**What is a node.** Zhang et al. 2016 count a layer's hidden vector as one node and one nonlinear transition as one
edge; an LSTM layer, too. So ``nodes="layers"`` makes one node of all that a layer hands on to the next step: h, (h, c),
(y, z). Then L layers of torch.nn.RNN, GRU and LSTM are the catalogue's ``stack-L``. ``nodes="blocks"`` makes a node of
each tensor of a layer's state, and ``nodes="units"`` of each neuron. A state that merely repeats an older one, as the
y_{n−1} that leapfrog carries along, is a memory and no node: who reads it reads the older one over a longer delay. The
output is a node of its own, as in the catalogue, whether or not a readout follows.

**Which weights.** ``at="random"`` is the module as built: in a copy, every parameter is moved at random, so that a zero
weight is a connection and a zero that is a buffer, or code, is none. ``at="present"`` is the module with the weights
that it has: a parameter of zeros connects nothing.

Modules that are understood: torch.nn.RNN, GRU, LSTM and their cells; the cells of this library; a module with a
``step_form``, the protocol ``HasStepForm``. With an ``example`` of the input also modules that run through a whole
sequence: those that call recurrent cells in a loop over time, and those that have ``node_values``, ``HasNodeValues``.
"""

from __future__ import annotations

import copy
import difflib
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, get_args, runtime_checkable

import torch
from torch import Tensor, nn

from odernn.architecture.graph import RNNGraph
from odernn.architecture.probe import unrolled
from odernn.architecture.probe.interventions import (
    DelayedSlot,
    NodePart,
    Probe,
    ProbedStep,
    ProbeError,
    SilentError,
    Values,
)
from odernn.architecture.walks import Edge
from odernn.cells.step_form import INPUT, OUTPUT, NetworkStep, StepForm, counted

__all__ = ["HasNodeValues", "HasStepForm", "Nodes", "ProbeError", "Weights", "graph_of", "graph_of_step"]

Nodes = Literal["layers", "blocks", "units"]
Weights = Literal["random", "present"]

_OUT: Final = NodePart(OUTPUT, None)
_SILENT: Final = 20
"""How often a draw at which some state is constant, as a ReLU that is silent, is replaced by another one."""


@runtime_checkable
class HasStepForm(Protocol):
    """A module that can say how it makes one step; how it makes it is then found out by the probe."""

    def step_form(self) -> StepForm:
        """The step with the weights as they are now, in their dtype."""


@runtime_checkable
class HasNodeValues(Protocol):
    """A module that can give the values of its nodes for a whole sequence, for ``graph_of(module, example=…)``."""

    def node_values(self, input: Tensor) -> Mapping[str, Mapping[int, Tensor | tuple[Tensor, ...]]]:
        """name → time → the value (batch, size), at the times 0 … N − 1 at which the node has one, of an input
        (time, batch, input), and the outputs under the name "out". A node may be several tensors, as h and c. Each of
        them is to be computed by operations of torch, from the others; the input itself is no such node.
        """


def graph_of(
    module: nn.Module,
    *,
    nodes: Nodes = "layers",
    at: Weights = "random",
    points: int = 8,
    seed: int = 0,
    example: Tensor | None = None,
    cells: Sequence[str] | None = None,
    period: int = 1,
    name: str | None = None,
) -> RNNGraph:
    """The graph of a network, by intervention on a float64 copy in evaluation mode; the module is left as it is.

    nodes    "layers": h1 … hL; "blocks": one node a tensor of a layer's state, as y1, z1; "units": one a neuron, h1[0]
    at       "random": the module as built; "present": with the weights that it has. See the top of this file
    points   random points at which the step is compared in a round; there are rounds until one finds nothing new
    seed     of everything random
    example  (time, batch, input), or (batch, time, input) for a module whose batch_first is true: for a module that
             calls cells in a loop. Its numbers do not matter. Delays up to time − 2 are found
    cells    names of the submodules that are its nodes; all of torch's recurrent cells if not given
    period   m, for a module with a loop whose connections depend on the time modulo m
    name     of the graph

    Raises ProbeError, a TypeError, for a module that cannot be probed; GraphError where it has a graph that breaks a
    condition of the definition, as one without a cycle.
    """
    if not isinstance(module, nn.Module):
        raise ProbeError(f"{module!r} is no torch.nn.Module. Pass the network itself, or a step to graph_of_step.")
    _checked("nodes", nodes, get_args(Nodes))
    _checked("at", at, get_args(Weights))
    counted("points", points, 2)
    counted("seed", seed, 0)
    counted("period", period, 1)
    called = name or type(module).__name__
    if example is not None:
        if nodes != "layers":
            raise ProbeError(f'{called}: nodes="{nodes}", but over a whole sequence a node is a cell. Leave nodes out.')
        pairs = _united(
            lambda k: _pairs(_copied(module, at, seed, k), example, _generator(seed, k), points, cells, called)
        )
        return unrolled.graph(pairs, _steps(module, example, called), period, called)
    for what, given in (("cells", cells), ("period", period if period != 1 else None)):
        if given is not None:
            raise ValueError(
                f"{called}: {what} is {given!r}, which says something of a whole sequence. Pass example=, too."
            )
    _form(module, called, nodes)  # what is unsupported is said before anything is copied
    return _graph(lambda k: _form(_copied(module, at, seed, k), called, nodes), nodes, points, seed)


def graph_of_step(
    step: NetworkStep,
    state_sizes: Mapping[str, int],
    *,
    input_size: int,
    delay: int = 1,
    input_delay: int = 0,
    period: int = 1,
    nodes: Nodes = "layers",
    points: int = 8,
    seed: int = 0,
    name: str = "step",
) -> RNNGraph:
    """The graph of a step that is given as a function; the arguments of ``StepForm`` and of ``graph_of``.

    The weights are those that the function has. For a period m > 1 the nodes are called "h1@0" … "h1@{m − 1}", one for
    each time at which the state is computed and does not only repeat itself.
    """
    form = StepForm(step, input_size, state_sizes, delay, input_delay, period)
    _checked("nodes", nodes, get_args(Nodes))
    counted("points", points, 2)
    counted("seed", seed, 0)
    return _graph(lambda _: _described(form, name), nodes, points, seed)


def _checked(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        near = difflib.get_close_matches(str(value), known, n=1)
        advice = f"Did you mean {near[0]!r}?" if near else f"Choose from: {', '.join(map(repr, known))}."
        raise ValueError(f"{what} is {value!r}. {advice}")


def _generator(seed: int, round: int) -> torch.Generator:
    return torch.Generator().manual_seed(1_000_003 * seed + round)


def _united(found_by: Callable[[int], unrolled.Pairs]) -> unrolled.Pairs:
    """What the rounds 0, 1, … find together, until one finds nothing new: a round that misses is silent somewhere."""
    nodes: frozenset[unrolled.At] = frozenset()
    readings: frozenset[tuple[unrolled.At, unrolled.At]] = frozenset()
    silent = 0
    for number in itertools.count():
        try:
            pairs = found_by(number)
        except SilentError:
            silent += 1
            if silent == _SILENT:
                raise
            continue
        if nodes and pairs.nodes <= nodes and pairs.readings <= readings:
            break
        nodes, readings = nodes | pairs.nodes, readings | pairs.readings
    return unrolled.Pairs(nodes, readings)


def _copied(module: nn.Module, at: Weights, seed: int, round: int) -> nn.Module:
    """A copy in float64 on the CPU, without dropout, in torch operations; at="random" with its parameters moved.

    Each parameter moves by at most 1/(2 √columns): enough to meet no zero of an analytic function, and so little that
    implicit steps stay solvable. Later rounds, which only silent states call for, move them farther.
    """
    try:
        copied = copy.deepcopy(module).to(device="cpu", dtype=torch.float64).eval()
    except (RuntimeError, TypeError, NotImplementedError) as error:  # tensors with a history, locks, the meta device
        raise ProbeError(
            f"{type(module).__name__} cannot be copied to float64 on the CPU, where it is probed: {error} Give it "
            "without what stands in the way, or describe its step with graph_of_step."
        ) from error
    _in_torch(copied)
    if at == "random":
        generator = _generator(seed, round)
        with torch.no_grad():
            for parameter in copied.parameters():
                if parameter.is_floating_point():
                    r = 0.5 * (1 + round // 2) / max(1, parameter.shape[-1] if parameter.dim() else 1) ** 0.5
                    moved = torch.rand(parameter.shape, dtype=torch.float64, generator=generator)
                    parameter.add_((r * (2 * moved - 1)).to(parameter.dtype))
    return copied


def _in_torch(module: nn.Module) -> None:
    """Fused executions give many states in one operation; the loops of torch give each in its own."""
    from odernn.cells.integrator import IntegratorLayer
    from odernn.cells.odernn import ODERNNLayer
    from odernn.cells.unicornn import UnICORNN
    from odernn.executions.dense import FusedLayer

    for part in module.modules():
        if isinstance(part, UnICORNN):
            part.execution, part.backward = "torch", "stored"
        elif isinstance(part, FusedLayer):
            part.execution = "torch"
        elif isinstance(part, IntegratorLayer | ODERNNLayer):
            part.as_operator = False


def _form(module: nn.Module, name: str, nodes: Nodes) -> ProbedStep:
    """How the module makes one step."""
    from odernn.cells.recurrent import RecurrentNetwork

    if isinstance(module, nn.RNNBase):
        return _of_torch(module, name, nodes)
    if isinstance(module, nn.RNNCellBase):
        return _of_torch_cell(module, name, nodes)
    if isinstance(module, HasStepForm):  # before the cells: some of their steps depend on the time, and these say so
        return _described(module.step_form(), name)
    if isinstance(module, RecurrentNetwork):
        return _of_cell(module, name, nodes)
    raise _unsupported(module, name)


def _unsupported(module: nn.Module, name: str) -> ProbeError:
    inside = [path for path, part in module.named_modules() if path and isinstance(part, nn.RNNBase | nn.RNNCellBase)]
    whole = [path for path in inside if isinstance(module.get_submodule(path), nn.RNNBase)]
    if isinstance(module, HasNodeValues):
        advice = "It has node_values: pass example=, an input of shape (time, batch, input)."
    elif whole:
        advice = f'Probe the part "{whole[0]}" by itself, or give the module a step_form.'
    elif inside:
        advice = (
            f'It holds the cell "{inside[0]}": if it calls its cells in a loop over time, pass example=, an input of '
            "shape (time, batch, input)."
        )
    else:
        advice = (
            "Give it a step_form (HasStepForm), name its cells= and pass example=, or pass a step to graph_of_step."
        )
    return ProbeError(
        f"{name}: a module of type {type(module).__module__}.{type(module).__qualname__} cannot be probed. Looked "
        "for: torch.nn.RNN, GRU, LSTM or a cell of these; a cell of odernn.cells; a method step_form; with example= a "
        f"method node_values or recurrent cells in a loop. {advice}"
    )


def _both_ways(name: str) -> ProbeError:
    return ProbeError(
        f"{name}: the network is bidirectional, so it is not unidirectional: its reverse direction has cycles of σ-sum "
        "< 0, condition (U) fails, and it has no measures. Probe a network of one direction."
    )


# The modules that run through a sequence.


def _steps(module: nn.Module, example: Tensor, name: str) -> int:
    if not isinstance(example, Tensor) or example.dim() != 3:
        what = f"a tensor {tuple(example.shape)}" if isinstance(example, Tensor) else f"a {type(example).__name__}"
        raise ProbeError(f"{name}: example is {what}. Wanted: (time, batch, input).")
    if not example.numel():
        raise ProbeError(f"{name}: example has the shape {tuple(example.shape)}, with nothing in it. Pass some steps.")
    return example.shape[1 if unrolled.is_batch_first(module) else 0]


def _pairs(
    module: nn.Module,
    example: Tensor,
    generator: torch.Generator,
    points: int,
    cells: Sequence[str] | None,
    name: str,
) -> unrolled.Pairs:
    """Who reads whom at which times, in a sequence as long as the example."""
    steps, features = _steps(module, example, name), example.shape[-1]
    if isinstance(module, HasNodeValues) and cells is None:
        return unrolled.pairs_of_values(module.node_values, steps, features, generator, points, name)
    chosen = unrolled.chosen_cells(module, cells, name)
    input = torch.randn(steps, points, features, dtype=torch.float64, generator=generator)
    return unrolled.pairs_of_calls(module, chosen, input, generator, name)


# The modules that have a step.


def _stack(
    name: str,
    nodes: Nodes,
    layers: int,
    blocks: Sequence[tuple[str, int]],
    inputs: tuple[int, int],
    run: Callable[[Tensor, Tensor | None, tuple[Tensor, ...]], tuple[Tensor, tuple[Tensor, ...]]],
) -> ProbedStep:
    """L layers with the same blocks, each (name, size); ``inputs`` the size of the input and its largest delay.

    run  (u_n, u_{n−1}, blocks (layers, points, size)) → the output, the new blocks
    """
    size, delay = inputs
    numbers = range(1, layers + 1)
    slots = {f"{block}{l}": features for block, features in blocks for l in numbers}
    if nodes == "blocks":
        groups: dict[str, tuple[str, ...]] = {f"{block}{l}": (f"{block}{l}",) for l in numbers for block, _ in blocks}
    else:
        groups = {f"h{l}": tuple(f"{block}{l}" for block, _ in blocks) for l in numbers}
    if nodes == "units" and len({features for _, features in blocks}) > 1:
        raise ProbeError(f'{name}: the blocks of a layer differ in size, {dict(blocks)}. Use nodes="blocks".')

    def step(values: Values, time: int) -> dict[str, Tensor]:
        state = tuple(torch.stack([values[DelayedSlot(f"{block}{l}", 1)] for l in numbers]) for block, _ in blocks)
        before = values[DelayedSlot(INPUT, 1)] if delay else None
        output, new = run(values[DelayedSlot(INPUT, 0)], before, state)
        new_states = {f"{block}{l}": rows[l - 1] for (block, _), rows in zip(blocks, new, strict=True) for l in numbers}
        return {**new_states, OUTPUT: output}

    return ProbedStep(
        name,
        {INPUT: (INPUT,), **groups},
        {INPUT: size, **slots},
        {INPUT: delay, **dict.fromkeys(slots, 1)},
        step,
    )


def _of_torch(module: nn.RNNBase, name: str, nodes: Nodes) -> ProbedStep:
    if module.bidirectional:
        raise _both_ways(name)
    blocks = [("h", module.proj_size or module.hidden_size)]
    if isinstance(module, nn.LSTM):
        blocks.append(("c", module.hidden_size))

    def run(u: Tensor, _: Tensor | None, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        axis = 1 if module.batch_first else 0
        output, new = module(u.unsqueeze(axis), state if len(state) > 1 else state[0])
        return output, new if isinstance(new, tuple) else (new,)

    return _stack(name, nodes, module.num_layers, blocks, (module.input_size, 0), run)


def _of_torch_cell(module: nn.RNNCellBase, name: str, nodes: Nodes) -> ProbedStep:
    blocks = [(block, module.hidden_size) for block in ("hc" if isinstance(module, nn.LSTMCell) else "h")]

    def run(u: Tensor, _: Tensor | None, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        before = tuple(block[0] for block in state)
        new = module(u, before if len(before) > 1 else before[0])
        new = new if isinstance(new, tuple) else (new,)
        return new[0], tuple(block.unsqueeze(0) for block in new)

    return _stack(name, nodes, 1, blocks, (module.input_size, 0), run)


def _of_cell(module: Any, name: str, nodes: Nodes) -> ProbedStep:
    """A cell of this library; two of them can look back at the input before."""
    from odernn.cells.clocked import ClockedNetwork
    from odernn.cells.integrator import IntegratorRNN
    from odernn.cells.unicornn import UnICORNN

    if module.bidirectional:
        raise _both_ways(name)
    if isinstance(module, ClockedNetwork):
        raise ProbeError(
            f"{name}: the step of a {type(module).__name__} depends on the time, and one step at one time is not all "
            "of it. Describe its steps with graph_of_step and their period."
        )
    first = module.layers[0]
    looks_back = (isinstance(module, UnICORNN) and module.index == "sam") or (
        isinstance(module, IntegratorRNN) and module.inputs == "linear"
    )

    def run(u: Tensor, before: Tensor | None, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        axis = 1 if module.batch_first else 0
        more = {} if before is None else {"previous_input": before}
        output, new = module(u.unsqueeze(axis), state if len(state) > 1 else state[0], **more)
        return output, new if isinstance(new, tuple) else (new,)

    blocks = list(zip(first.state_names, first.state_sizes, strict=True))
    return _stack(name, nodes, module.num_layers, blocks, (first.input_size, int(looks_back)), run)


def _described(form: StepForm, name: str) -> ProbedStep:
    """A step that a module or a user describes."""
    sizes = {INPUT: form.input_size, **form.state_sizes}
    delays = {INPUT: form.input_delay, **dict.fromkeys(form.state_sizes, form.delay)}

    def run(values: Values, time: int) -> dict[str, Tensor]:
        inputs = {k: values[DelayedSlot(INPUT, k)] for k in range(form.input_delay + 1)}
        states = {
            state: {k: values[DelayedSlot(state, k)] for k in range(1, form.delay + 1)} for state in form.state_sizes
        }
        new_values = dict(form.step(inputs, states, time))
        expected = {state: (len(inputs[0]), size) for state, size in form.state_sizes.items()}
        shapes = {state: tuple(value.shape) for state, value in new_values.items() if state != OUTPUT}
        if shapes != expected or OUTPUT not in new_values:
            given = {**shapes, **({OUTPUT: tuple(new_values[OUTPUT].shape)} if OUTPUT in new_values else {})}
            raise ProbeError(
                f'{name}: the step gave {given}. Wanted: every state, of the shapes {expected}, and the output "out".'
            )
        return new_values

    return ProbedStep(name, {state: (state,) for state in sizes}, sizes, delays, run, form.period)


def _graph(form_of: Callable[[int], ProbedStep], nodes: Nodes, points: int, seed: int) -> RNNGraph:
    """The graph of the step, whose form may have other weights in every round."""
    form = form_of(0)
    m = form.period
    groups = list(dict.fromkeys((INPUT, *form.groups, OUTPUT)))
    rank: dict[str, tuple[int, int, int]] = {}

    def at(unit: NodePart, time: int) -> unrolled.At:
        component = "" if unit.component is None else f"[{unit.component}]"
        node = f"{unit.group}{component}" + (f"@{time % m}" if m > 1 else "")
        rank[node] = (groups.index(unit.group), time % m, unit.component or 0)
        return unrolled.At(node, time)

    def found(number: int) -> unrolled.Pairs:
        probe = Probe(form_of(number), _generator(seed, number), points, by_component=nodes == "units")
        units = {at(unit, time) for time in range(m) for unit in (*probe.units(INPUT), *probe.nodes(time), _OUT)}
        readings = {
            (at(reading.tail, time - reading.delay), at(reading.head, time))
            for time in range(m)
            for reading in probe.readings(time)
        }
        return unrolled.Pairs(frozenset(units), frozenset(readings))

    pairs = _united(found)
    times = {place.node: place.time for place in sorted(pairs.nodes, key=lambda place: rank[place.node])}
    edges = {Edge(tail.node, head.node, head.time - tail.time) for tail, head in pairs.readings}
    inputs, outputs = (tuple(node for node in times if groups[rank[node][0]] == end) for end in (INPUT, OUTPUT))
    return RNNGraph(form.name, m, times, tuple(edges), inputs, outputs)
