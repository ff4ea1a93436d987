"""One forward and one backward pass of a model, and all that is measured of its recurrences.

    E = loss(model(inputs), targets),      X_n the state of a layer after step n,      ∂E/∂X_n the total derivative

Without a loss: cross entropy for targets of integers, mean squared error for others, ½‖o‖² of the last step, mean over
the samples, without targets. The model is in ``eval`` mode meanwhile; its weights, gradients and modes are afterwards
what they were.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from verification.measure import own_equations
from verification.models import exponents, ledger, recurrent_weights
from verification.models.found import LayerTrial
from verification.models.layers import RunLayer, Seen, StepCalls, of_followed
from verification.models.ledger import CellLedger
from verification.models.reasons import why_unbounded
from verification.models.trial_result import ModelTrial
from verification.monitors import BoundMonitor, Measurement, measuring
from verification.monitors.calls import tensors_of
from verification.monitors.unrolled import norms_over_time
from verification.run import arithmetic

TORCH_CELLS: Mapping[type[Any], tuple[str, ...]] = {
    nn.LSTMCell: ("h", "c"),
    nn.GRUCell: ("h",),
    nn.RNNCell: ("h",),
}
"""Blocks of their states, in the order in which they take them."""


class TrialError(ValueError):
    """What was given cannot be tried: why, and what to give instead."""


Array: TypeAlias = "Tensor | NDArray[Any]"
Loss: TypeAlias = Callable[[Any, Any], Tensor]


def trial(
    model: nn.Module,
    inputs: Array,
    targets: Array | None = None,
    *,
    loss: Loss | None = None,
    batch_first: bool | None = None,
) -> ModelTrial:
    """Run a model on inputs of one's own, forward and back, and say what its recurrences do with them.

    model        any torch module; recurrences are found in it (docs/models.md)
    inputs       (time, count, features), or (count, time, features) with ``batch_first``; numpy or torch
    targets      of ``loss``; classes, or numbers
    loss         (what the model returned, targets) → E, one number
    batch_first  None: as the recurrent modules of the model say, else False
    Raises TrialError, a ValueError, for inputs without a step or a sample or that are not finite, for a loss that is
    not one number, and for an E that no weight or input decides; FloatError where arithmetic is not IEEE 754's. What
    the model raises goes through.
    """
    started = time.monotonic()
    arithmetic.check()
    if not isinstance(model, nn.Module):
        raise TypeError(f"model is a {type(model).__name__}; a trial needs a torch.nn.Module.")
    like = next(iter(model.parameters()), torch.empty(0))
    wanted = None if targets is None else _targets(targets).to(like.device)
    time_axis = 1 if (says_batch_first(model) if batch_first is None else batch_first) else 0
    with _undisturbed(model), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        u, notes = _inputs(inputs, model, like)
        energy, layers, ledgers = _measured(model, u, wanted, loss, time_axis)
    notes += _axes_in_doubt(u, wanted, time_axis)
    gradients = None if u.grad is None else norms_over_time(u.grad.movedim(time_axis, 0)).cpu().numpy()
    return ModelTrial(
        type(model).__name__,
        tuple(u.shape),
        energy,
        layers,
        gradients,
        tuple(dict.fromkeys([*notes, *(str(each.message) for each in heard)])),
        time.monotonic() - started,
        time_axis,
        ledgers,
    )


def _measured(
    model: nn.Module, u: Tensor, targets: Tensor | None, loss: Loss | None, time_axis: int
) -> tuple[tuple[str, float], tuple[LayerTrial, ...], tuple[CellLedger, ...]]:
    followed = {name: each for name, each in model.named_modules() if measuring.is_recurrent(each)}
    seen: dict[str, Seen] = {}
    monitor = BoundMonitor(model, every=1) if followed else None
    calls = StepCalls(model, list(followed))
    with torch.no_grad(), calls.looking():  # which modules are called step by step
        model(u.detach())
    handles = [
        each.register_forward_pre_hook(_keeping(seen, name), with_kwargs=True) for name, each in followed.items()
    ]
    try:
        with calls.looking(calls.found()):
            output = model(u)
        said, energy = _energy(output, targets, loss, time_axis)
        if not energy.requires_grad:
            raise TrialError(
                "no weight and no input decides E: nothing of it has a gradient. Give loss=… of the output."
            )
        calls.keep_gradients()
        energy.backward()
        records = [] if monitor is None else monitor.step()
    finally:
        for handle in handles:
            handle.remove()
        if monitor is not None:
            monitor.remove()
    layers = [layer for name, each in followed.items() if name in seen for layer in of_followed(name, each, seen[name])]
    layers += calls.layers()
    with _one_thread():  # steps of one sample are too small to be shared
        ledgers = (ledger.of_module(name, each, seen[name]) for name, each in followed.items() if name in seen)
        found = tuple(each for each in ledgers if each is not None)
        return (said, float(energy.detach())), tuple(_tried(layer, records) for layer in layers), found


def _tried(layer: RunLayer, records: list[Measurement]) -> LayerTrial:
    own = tuple(each for each in records if each.layer == layer.name)
    series = next((each.series for each in own if each.quantity == "gradient_norm"), None)
    gradients = series if layer.norms is None else layer.norms.cpu().numpy()
    largest = {each.quantity.removeprefix("largest_"): each.value for each in own if _is_largest(each)}
    largest = largest or dict(zip(_block_names(layer), layer.largest, strict=True))
    samples = exponents.exponents(layer) if layer.states else ()
    lasting = min(range(len(samples)), key=lambda sample: samples[sample].silent, default=0)
    spectra = tuple(exponents.spectra(layer, sample=lasting)) if samples else ()
    weights = recurrent_weights.of_layer(layer)
    bound, bounded = _bound_of(layer), {each.quantity for each in own if each.log_bound is not None}
    is_bounded = bool(bound) or {f"largest_{name}" for name in largest} <= bounded
    steps = len(gradients) if gradients is not None else max(len(layer.states) - 1, 0)
    return LayerTrial(
        layer.name,
        layer.kind,
        steps,
        largest,
        gradients,
        exponents.median(samples) if samples else None,
        samples,
        spectra,
        weights,
        layer.reason,
        "" if is_bounded else why_unbounded(layer, weights),
        bound,
        layer.broken_at,
        layer.calls,
        own,
    )


def _block_names(layer: RunLayer) -> tuple[str, ...]:
    """Of a state that the search found."""
    known, count = TORCH_CELLS.get(type(layer.module), ()), len(layer.largest)
    if len(known) == count:
        return known
    return ("state",) if count == 1 else tuple(f"block {number}" for number in range(1, count + 1))


def _bound_of(layer: RunLayer) -> str:
    """Of torch's own cells, which no monitor follows: what holds from zero states."""
    blocks = TORCH_CELLS.get(type(layer.module), ())
    if not blocks or not own_equations.is_gated(layer.module) or not layer.starts_at_zero:
        return ""
    if len(layer.largest) != len(blocks):  # a loop that changes what the cell returns
        return ""
    return ", ".join(own_equations.GATED[block].text for block in blocks)


def _is_largest(each: Measurement) -> bool:
    """The largest modulus of a block of the state; other rows are where it comes nearest to a bound."""
    return each.quantity.startswith("largest_") and each.n is not None and not each.bound


def _keeping(seen: dict[str, Seen], name: str) -> Callable[..., None]:
    def keep(_: nn.Module, arguments: Any, keywords: Any) -> None:
        if name in seen:
            seen[name].calls += 1
        else:
            seen[name] = Seen(arguments, keywords)

    return keep


def _energy(output: Any, targets: Tensor | None, loss: Loss | None, time_axis: int) -> tuple[str, Tensor]:
    """What E is, in words, and E."""
    if loss is not None:
        value = loss(output, targets)
        if not isinstance(value, Tensor) or value.numel() != 1:
            raise TrialError("loss does not return one number. Give a function of (output, targets) that does.")
        return getattr(loss, "__name__", type(loss).__name__), value.reshape(())
    floating = [tensor for tensor in tensors_of(output) if tensor.is_floating_point()]
    rows = next((tensor for tensor in floating if tensor.requires_grad), floating[0] if floating else None)
    if rows is None:
        raise TrialError(f"the model returned a {type(output).__name__} without a tensor. Give loss=… of it.")
    is_of_all = rows.dim() == 3 and targets is not None and targets.shape[:2] == rows.shape[:2]
    if rows.dim() == 3 and not is_of_all:
        rows = rows.select(time_axis, -1)
    which = "of all steps" if is_of_all else "of the last step"
    if targets is None:
        return f"½‖output‖² {which}, mean over the samples", rows.square().sum() / (2 * max(len(rows), 1))
    if rows.dim() < 2:
        shape = tuple(rows.shape) or "one number"
        raise TrialError(f"the model returned {shape}: E of targets needs one row per sample. Give loss=….")

    if not targets.is_floating_point():
        return f"cross entropy {which}", nn.functional.cross_entropy(rows.flatten(0, -2), targets.flatten())
    if rows.numel() != targets.numel():
        raise TrialError(
            f"targets have shape {tuple(targets.shape)}, the model returned {tuple(rows.shape)} {which}. Give as many "
            "numbers, or loss=…."
        )
    return f"mean squared error {which}", nn.functional.mse_loss(rows, targets.reshape(rows.shape).to(rows.dtype))


EMBEDDINGS = (nn.Embedding, nn.EmbeddingBag)
WIDE = (torch.int32, torch.int64)
"""Integers that torch takes as words."""


def _inputs(inputs: Array, model: nn.Module, like: Tensor) -> tuple[Tensor, list[str]]:
    """As the model takes them, and what was done to them.

    Integers are words where the model has an embedding, or takes them as they are; else numbers, such as pixels.
    """
    u = torch.as_tensor(inputs).detach().clone().to(like.device)
    if u.dim() < 2 or 0 in u.shape:
        raise TrialError(
            f"inputs have shape {tuple(u.shape)}; a trial needs steps and samples: (time, count, features)."
        )
    if u.is_complex():
        return u, []
    dtype = like.dtype if like.is_floating_point() else torch.get_default_dtype()
    if u.is_floating_point():
        if not bool(torch.isfinite(u).all()):
            raise TrialError("inputs have entries that are not finite. Replace them, or leave those samples out.")
        return u.to(dtype if like.is_floating_point() else u.dtype).requires_grad_(), []
    kind = str(u.dtype).removeprefix("torch.")
    if any(isinstance(each, EMBEDDINGS) for each in model.modules()):
        return (u, []) if u.dtype in WIDE else (u.long(), [f"inputs of {kind} are taken as words, int64."])
    if u.dtype in WIDE and _takes(model, u):
        return u, []
    said = str(dtype).removeprefix("torch.")
    ends = f"from {float(u.min()):g} to {float(u.max()):g}"
    note = f"inputs of {kind}, {ends}, are taken as {said}, not divided by anything: scale them as in training."
    return u.to(dtype).requires_grad_(), [note]


@torch.no_grad()
def _takes(model: nn.Module, u: Tensor) -> bool:
    try:
        model(u)
    except (RuntimeError, ValueError, TypeError):
        return False
    return True


def _targets(targets: Array) -> Tensor:
    """Classes of any integer as int64."""
    wanted = torch.as_tensor(targets)
    return wanted if wanted.is_floating_point() or wanted.is_complex() else wanted.long()


def _axes_in_doubt(u: Tensor, targets: Tensor | None, time_axis: int) -> list[str]:
    """What is said where there are as many targets as steps, and not as samples."""
    if targets is None or u.dim() < 3 or len(targets) != u.shape[0] or u.shape[0] == u.shape[1] or time_axis == 1:
        return []
    if targets.dim() > 1 and targets.shape[:2] == u.shape[:2]:
        return []
    return [
        f"there are {len(targets)} targets and {u.shape[0]} steps of {u.shape[1]} samples: if these are {u.shape[0]} "
        "samples, say --batch-first (batch_first=True)."
    ]


def says_batch_first(model: nn.Module) -> bool:
    """Whether a recurrent module in it takes (count, time, features)."""
    return any(bool(getattr(each, "batch_first", False)) for each in model.modules())


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _undisturbed(model: nn.Module) -> Iterator[None]:
    """In ``eval`` mode, with gradients of its own; afterwards as before."""
    modes = [(module, module.training) for module in model.modules()]
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    needed = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    model.eval()
    for parameter, _ in gradients:
        parameter.grad = None
    try:
        with torch.random.fork_rng(), torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
            yield  # cuDNN has no way back in eval mode
    finally:
        for module, mode in modes:
            module.training = mode
        for parameter, gradient in gradients:
            parameter.grad = gradient
        for parameter, flag in needed:
            parameter.requires_grad_(flag)
