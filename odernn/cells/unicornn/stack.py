"""A UnICORNN network trained in O(N b d + L b m) floats: its call, layer after layer, as one walk over chunks of time.

``odernn.executions.stack`` has the walk; here are what a network is to it, and the three things to ask of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict, Unpack

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from odernn import executions
from odernn.cells.common import arguments
from odernn.cells.common.sequences import Sequences, State
from odernn.cells.unicornn.arguments import checked_previous
from odernn.cells.unicornn.oscillators import OscillatorStack
from odernn.executions import stack
from odernn.executions.stack import Mode, Readout, Rebuilt


class StackOptions(TypedDict, total=False):
    """Arguments of the three calls, all of which may be left out.

    lengths, previous_input, execution     as in ``UnICORNN.forward``
    backward     "reversible": rows are rebuilt by the inverse and checked; "checkpointed": computed again from states
                 that are kept
    chunk        steps that are taken together, ``stack.size_of`` unless given; working memory is about
                 (3 L + 3) chunk · b · m floats
    checkpoints  states kept besides the first and the last: none for "reversible", one a chunk for "checkpointed"
    tolerance    largest admitted error of a rebuilt y or z, and largest relative error that such errors may make in the
                 gradients of products with them: see ``stack.TOLERANCE`` and ``stack.GradientShare``
    watch        is called with a ``Rebuilt`` at each known state that a reversible walk comes to
    """

    lengths: Tensor | Sequence[int] | None
    previous_input: Tensor | None
    execution: str | None
    backward: Mode
    chunk: int
    checkpoints: int | None
    tolerance: float | None
    watch: Callable[[Rebuilt], None] | None


def run(
    network: OscillatorStack,
    input: Tensor | PackedSequence,
    state: State | None = None,
    **options: Unpack[StackOptions],
) -> tuple[Any, State]:
    """What the network's own call returns: y^L_1 .. y^L_N and the state of all layers after the last step.

    The rows of y^L are N b m floats, and so is their cotangent; no other layer's are ever held.
    """
    batch, outcome = _walked(network, input, state, options, wants_rows=True)
    assert outcome.rows is not None
    return batch.output(outcome.rows), _state(batch, outcome)


def last(
    network: OscillatorStack,
    input: Tensor | PackedSequence,
    state: State | None = None,
    **options: Unpack[StackOptions],
) -> State:
    """The state (y, z) of all layers after the last step, (layers, batch, hidden) each; y[-1] is y^L_N. No rows."""
    batch, outcome = _walked(network, input, state, options)
    return _state(batch, outcome)


def accumulate(
    network: OscillatorStack,
    input: Tensor | PackedSequence,
    readout: Callable[[Tensor, int], Tensor],
    state: State | None = None,
    *,
    parameters: Iterable[Tensor] | None = None,
    **options: Unpack[StackOptions],
) -> tuple[Tensor, State]:
    """A loss that is a sum over time, chunk by chunk: Σ readout(rows, start), and the state after the last step.

    rows        (steps, batch, hidden): y^L_n of n = start+1 .. start+steps; zero beyond a sample's length
    parameters  what the readout depends on and is trained; if it is a module, its parameters unless given

    The readout is called a second time on the way back: it must then return the same, so no dropout in it. How many
    steps a call has is not its business: chunks also end where samples end.
    """
    if parameters is None:
        parameters = readout.parameters() if isinstance(readout, nn.Module) else ()
    batch, outcome = _walked(network, input, state, options, readout=Readout(readout, tuple(parameters)))
    assert outcome.total is not None
    return outcome.total, _state(batch, outcome)


def _walked(
    network: OscillatorStack,
    input: Tensor | PackedSequence,
    state: State | None,
    options: StackOptions,
    *,
    wants_rows: bool = False,
    readout: Readout | None = None,
) -> tuple[Sequences, stack.StackRun]:
    _check_one_direction(network)
    batch = network.sequences_of(input, state, options.get("lengths"))
    like = network.layers[0].like
    previous = checked_previous(options.get("previous_input"), batch, network.index, like)
    mode: Mode = arguments.one_of("backward", options.get("backward", "reversible"), ("reversible", "checkpointed"))
    name = options.get("execution")
    runner = executions.get(network.execution if name is None else name)
    usual = stack.size_of(runner.name, batch.u.shape[1] * network.hidden_size)
    chunks = stack.chunks_of(
        len(batch.u), arguments.positive_integer("chunk", options.get("chunk", usual)), batch.lengths
    )
    tolerance = options.get("tolerance")
    is_shifted = network.index == "sam"
    plan = stack.StackPlan(
        runner,
        tuple(map(network.sources, range(1, network.num_layers + 1))),
        is_shifted,
        chunks,
        mode,
        _kept(mode, options.get("checkpoints"), len(chunks)),
        stack.TOLERANCE[like.dtype] if tolerance is None else tolerance,
        wants_rows,
        torch.is_grad_enabled(),
        readout,
        options.get("watch"),
    )
    before = previous if is_shifted else None
    y0, z0 = batch.state
    return batch, stack.run(plan, batch.u, before, y0, z0, _masks(network, batch), _layers(network))


def _layers(network: OscillatorStack) -> list[stack.WalkedLayer]:
    walked = []
    for number, layer in enumerate(network.layers):
        coefficients = network.coefficients(number)
        walked.append(stack.WalkedLayer(**coefficients, V=layer.V, b=layer.b, Lambda=layer.Lambda))
    return walked


def _masks(network: OscillatorStack, batch: Sequences) -> Tensor | None:
    """Of each layer but the last, (layers − 1, batch, hidden), drawn as the network's own call draws them."""
    if not network.training or network.dropout == 0.0 or network.num_layers == 1:
        return None
    if network.dropout_mask != "locked":
        raise ValueError(
            f"dropout_mask is {network.dropout_mask!r} with dropout={network.dropout}: a new mask every step is as "
            'many floats as the rows that are not held here. Use dropout_mask="locked", the dropout of the paper.'
        )
    ones = torch.ones_like(batch.state[0][0])
    return torch.stack([nn.functional.dropout(ones, network.dropout) for _ in range(network.num_layers - 1)])


def _kept(mode: Mode, checkpoints: int | None, chunks: int) -> frozenset[int]:
    if checkpoints is None:
        return frozenset(range(1, chunks)) if mode == "checkpointed" else frozenset()
    if checkpoints < 0:
        raise ValueError(f"checkpoints is {checkpoints}, but it counts states that are kept. Give 0 or more.")
    return stack.spread(chunks, checkpoints)


def _check_one_direction(network: OscillatorStack) -> None:
    if network.bidirectional:
        raise ValueError(
            "The network is bidirectional: each layer needs all rows of the layer below, in both directions, before "
            "its first step, so there is no chunk of time that all layers can go through together. Call the network."
        )


def _state(batch: Sequences, outcome: stack.StackRun) -> State:
    return batch.final((outcome.y_last, outcome.z_last))
