"""From a call of a recurrent module to what is measured of it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from odernn import folders
from odernn.cells.clocked import ClockedNetwork, checked_start
from odernn.cells.common.sequences import Sequences
from odernn.cells.cornn import CoRNN
from odernn.cells.exprnn import ExpRNNLayer
from odernn.cells.integrator import IntegratorRNN
from odernn.cells.recurrent import RecurrentNetwork
from odernn.cells.scornn import ScoRNNLayer
from odernn.cells.unicornn import UnICORNN
from odernn.cells.unicornn.arguments import checked_previous
from verification.measure.trained_network import Orthogonality, orthogonality
from verification.monitors import oscillators, quantities, torch_modules, unrolled, weights
from verification.monitors.calls import Call, shown_of, tensors_of
from verification.monitors.measurement import Measurement
from verification.monitors.quantities import MeasuredLayer
from verification.monitors.unrolled import Cotangent, LayerTrace, Masks, Recurrence

REPEATED = {torch.float64: 1e-7, torch.float32: 2e-3, torch.float16: 0.1, torch.bfloat16: 0.3}
"""Largest difference of a repeated output from the first one, relative to its size: a few roots of the unit roundoff.

Executions differ by roundings and what the recurrence makes of them; other dropout masks differ by everything.
"""


class NotRepeatable(Exception):  # noqa: N818
    """The call could not be made again with the same result, so nothing inside it can be seen. The text is a reason."""


def is_recurrent(module: nn.Module) -> bool:
    """Whether a monitor knows what is inside."""
    return isinstance(module, RecurrentNetwork) or (
        isinstance(module, nn.RNNBase) and module.mode in torch_modules.STATES
    )


def layer_names(name: str, module: nn.Module) -> list[str]:
    """Of the layers and directions of the module called ``name``, in torch's order."""
    prefix = f"{name}." if name else ""
    if isinstance(module, nn.RNNBase):
        return [prefix + suffix for suffix in torch_modules.suffixes(module)]
    assert isinstance(module, RecurrentNetwork)
    ends = ("", "_reverse") if module.bidirectional else ("",)
    return [f"{prefix}layers.{number}{end}" for number in range(module.num_layers) for end in ends]


def measure(step: int, name: str, module: nn.Module, call: Call | None, *, scale: float) -> Iterator[Measurement]:
    """Everything about one module at one step; of its weights alone if it was not called.

    ``scale`` is what the loss was multiplied by before its derivative was taken. Raises NotRepeatable.
    """
    places = [MeasuredLayer(step, layer) for layer in layer_names(name, module)]
    if call is None:
        rows: list[Measurement] = []
        with torch.no_grad():
            for index, place in enumerate(places):
                rows += _of_weights(place, module, index)[0]
        yield from rows
        return
    if call.lost:
        raise NotRepeatable(f"a derivative that came to it could not be kept, {call.lost[0]}")
    yield from call.repeated(module, lambda: _measured(places, module, call, scale))


def _kind(module: nn.Module) -> type[nn.Module]:
    """The class of the library, or of torch, whose arguments and results are known: a user's own may be below it."""
    return next(base for base in type(module).__mro__ if _is_known(base) and "forward" in vars(base))


def _is_known(kind: type) -> bool:
    own = f"{folders.__name__}."  # classes of files that are no part of the library
    return kind.__module__.startswith(("odernn.", "torch.")) and not kind.__module__.startswith(own)


def _of_weights(place: MeasuredLayer, module: nn.Module, index: int) -> tuple[list[Measurement], Orthogonality | None]:
    if isinstance(module, UnICORNN):
        return list(weights.oscillator_weights(place, module, index)), None
    if isinstance(module, RecurrentNetwork) and weights.is_orthogonal(module.layers[index]):
        try:
            matrix = orthogonality(module.layers[index])
        except ValueError:  # W is not finite
            return [place.measured("orthogonality_error", math.nan, holds=False)], None
        return list(weights.recurrent_matrix(place, matrix)), matrix
    return [], None


def _measured(places: list[MeasuredLayer], module: nn.Module, call: Call, scale: float) -> list[Measurement]:
    measured: list[Measurement] = []
    matrices: list[Orthogonality | None] = []
    for index, place in enumerate(places):
        rows, matrix = _of_weights(place, module, index)
        measured += rows
        matrices.append(matrix)
    arguments = bound_arguments(module, call.arguments, call.keywords)
    sequences = sequences_of(module, arguments)
    if 0 in sequences.u.shape[:2]:  # no step, or no sample
        return measured
    if isinstance(module, UnICORNN):
        before = checked_previous(arguments["previous_input"], sequences, module.index, module.layers[0].like)
        deep, output = oscillators.trace(module, sequences, before, arguments["execution"], _cotangent(sequences, call))
        _check_repeated(sequences, output, call)
        for index, (place, oscillator) in enumerate(zip(places, deep, strict=True)):
            measured += _of_layer(place, oscillator.layer, None, scale)
            if oscillator.layer.is_finite:
                measured += quantities.oscillator_states(place, module, index, oscillator.layer)
                measured += quantities.growth(place, module, index, oscillator)
                measured.append(place.measured("reconstruction_error", oscillator.rebuilt))
        return measured
    output, traces = _unrolled(module, sequences, arguments, call)
    _check_repeated(sequences, output, call)
    for index, (place, trace, matrix) in enumerate(zip(places, traces, matrices, strict=True)):
        if isinstance(module, nn.RNNBase) and trace.is_finite:
            measured += quantities.gated_states(place, module, trace)
        elif isinstance(module, CoRNN) and trace.is_finite:
            measured += quantities.coupled_states(place, module.layers[index], trace)
        measured += _of_layer(place, trace, _defect(module, index, matrix), scale)
    return measured


def _of_layer(place: MeasuredLayer, trace: LayerTrace, defect: float | None, scale: float) -> Iterator[Measurement]:
    yield from quantities.states(place, trace)
    yield from quantities.gradients(place, trace, defect, scale)


def _defect(module: nn.Module, index: int, matrix: Orthogonality | None) -> float | None:
    """‖WᵀW − I‖₂ if thm-H-grad speaks of the layer: real modReLU, whose slopes are 0 and 1."""
    if matrix is None or not isinstance(module, RecurrentNetwork):
        return None
    return matrix.spectral_error if isinstance(module.layers[index], (ExpRNNLayer, ScoRNNLayer)) else None


def sequences_of(module: nn.Module, arguments: dict[str, Any]) -> Sequences:
    """The sequences and states of a call, as ``bound_arguments`` has it."""
    if isinstance(module, nn.RNNBase):
        return torch_modules.called_with(module, arguments["input"], arguments["hx"])
    assert isinstance(module, RecurrentNetwork)
    return module.sequences_of(arguments["input"], arguments["state"], arguments["lengths"])


def recurrences(
    module: nn.Module, sequences: Sequences, arguments: dict[str, Any]
) -> tuple[list[Recurrence], int, Masks, Tensor | None]:
    """Its layers with the weights of now, how many directions, dropout between layers, the row before the first."""
    previous: Tensor | None = None
    if isinstance(module, nn.RNNBase):
        layers = [torch_modules.recurrence(module, suffix) for suffix in torch_modules.suffixes(module)]
        directions, masks = 2 if module.bidirectional else 1, torch_modules.masks_of(module)
    else:
        assert isinstance(module, RecurrentNetwork)
        start: Any = 0
        if isinstance(module, ClockedNetwork):
            given = arguments["start"]
            start = module.start if given is None else checked_start(given, sequences)
        if isinstance(module, IntegratorRNN):
            previous = module.row_before(sequences, arguments["previous_input"])
        layers = [unrolled.of_layer(layer, start) for layer in module.layers]
        directions, masks = module.directions, unrolled.masks_of(module)
    return layers, directions, masks, previous


def _unrolled(
    module: nn.Module, sequences: Sequences, arguments: dict[str, Any], call: Call
) -> tuple[Tensor, list[LayerTrace]]:
    layers, directions, masks, previous = recurrences(module, sequences, arguments)
    traces, output = unrolled.trace(layers, directions, sequences, masks, previous, _cotangent(sequences, call))
    return output, traces


def bound_arguments(module: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """By the names of the library's class, or torch's, below it. Raises NotRepeatable for others."""
    kind = _kind(module)
    try:
        bound = inspect.signature(kind.forward).bind(module, *arguments, **keywords)
    except TypeError as error:
        raise NotRepeatable(f"its forward takes other arguments than that of {kind.__name__}: {error}") from None
    bound.apply_defaults()
    return bound.arguments


def _rows_and_blocks(sequences: Sequences, call: Call) -> tuple[Tensor | PackedSequence, int]:
    """The rows that it returned, and how many blocks of the last state with them: all, or none of a user's own module.

    Raises NotRepeatable for anything else.
    """
    output, blocks = call.output, len(sequences.state)
    if isinstance(output, (Tensor, PackedSequence)):
        return output, 0
    if not isinstance(output, tuple) or len(output) != 2 or len(tensors_of(output)) != 1 + blocks:
        raise NotRepeatable(f"it returned a {type(output).__name__}, not (output, state)")
    rows: Tensor | PackedSequence = output[0]
    return rows, blocks


def _cotangent(sequences: Sequences, call: Call) -> Cotangent | None:
    """The gradients that arrived, in the layout and dtype of the recurrence; None if there were none."""
    output, blocks = _rows_and_blocks(sequences, call)
    if not call.has_gradients:
        return None
    dtype = sequences.state[0].dtype  # under autocast the caller's may have fewer digits
    gradients = [
        torch.zeros_like(tensor, dtype=dtype) if gradient is None else gradient.to(dtype)
        for tensor, gradient in zip(tensors_of(call.output), call.gradients, strict=True)
    ]
    if isinstance(output, PackedSequence):
        rows, _ = pad_packed_sequence(output._replace(data=gradients[0]), total_length=len(sequences.u))
    else:
        rows = sequences.rows(gradients[0])
    last = [block if sequences.is_batched else block.unsqueeze(1) for block in gradients[1:]]
    if not blocks:
        last = [torch.zeros_like(block) for block in sequences.state]
    for index, is_counted in enumerate(call.through_output[1:]):
        if is_counted:  # y^L_N was taken out of the rows: what came to it went on to them
            last[index] = torch.cat([last[index][:-1], torch.zeros_like(last[index][-1:])])
    return Cotangent(sequences.zero_after_end(rows), tuple(last))


def _check_repeated(sequences: Sequences, output: Tensor, call: Call) -> None:
    first, again = call.shown, shown_of(tensors_of(sequences.output(output))[0])
    if first is None or first.shape != again.shape:
        shape = None if first is None else tuple(tensors_of(call.output)[0].shape)
        raise NotRepeatable(f"it returned rows of shape {shape}, not those of its last layer")
    finite = torch.isfinite(first)
    compared = finite if bool(finite.all()) else finite & torch.isfinite(again)  # an overflow may come a step later
    scale = float(torch.where(finite, first, 0.0).abs().max()) + torch.finfo(first.dtype).tiny
    difference = torch.where(compared, again - first, 0.0).abs().max()
    if not float(difference) <= REPEATED[first.dtype] * scale:
        raise NotRepeatable(
            f"its call, made again, differs by {float(difference):.3g} from the first one (outputs up to {scale:.3g}); "
            "dropout that is drawn on a device by other means, or a state that is kept outside of it, does this"
        )
