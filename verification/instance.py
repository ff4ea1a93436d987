"""An Instance: everything that fixes one run, in exact numbers. Adversaries return it, measures run it, certificates
decide it.

A layer is a list of **neuron groups**: neurons with the same parameters move alike, so a network of 128 equal
neurons is one group of multiplicity 128 and costs one trajectory. ``input_weights[g][s]`` is the *entry* V_ij for i
in group g and j in group s of the layer below (or input channel s), so the drive of group g is Σ_s multiplicity_s ·
V_gs · y_s + b_g.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from odernn.foreign import shown

MAX_STEPS = 1_000_000
MAX_GROUPS = 4096
MAX_DIGITS = 4000
MAX_NAME = 100
_INTEGER = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}")
_RATIONAL = re.compile(rf"(-?[0-9]{{1,{MAX_DIGITS}}})/([1-9][0-9]{{0,{MAX_DIGITS - 1}}})")
_HEX_FLOAT = re.compile(r"(-?)0x([01])\.([0-9a-f]{1,13})p([+-][0-9]{1,4})")


class InstanceError(ValueError):
    """A description that is no instance: says which field, what it holds and what was expected."""


@dataclass(frozen=True)
class Group:
    """``multiplicity`` neurons with recurrent weight w, step parameter c (h = dt·σ̂(c)) and bias b."""

    multiplicity: int
    w: Fraction
    c: Fraction
    bias: Fraction = Fraction(0)


@dataclass(frozen=True)
class Layer:
    """One layer: nominal step dt, neuron groups, and the entries of V between groups."""

    dt: Fraction
    groups: tuple[Group, ...]
    input_weights: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Inputs:
    """A sequence of ``steps`` inputs with ``size`` channels, as runs (count, values); one value stands for all
    channels.
    """

    size: int
    runs: tuple[tuple[int, tuple[Fraction, ...]], ...]

    @property
    def steps(self) -> int:
        return sum(count for count, _ in self.runs)

    def __iter__(self) -> Iterator[tuple[Fraction, ...]]:
        for count, values in self.runs:
            full = values * self.size if len(values) == 1 else values
            for _ in range(count):
                yield full

    @staticmethod
    def from_values(values: Sequence[float], size: int) -> Inputs:
        """Every channel holds ``values[n]`` at step n + 1; equal neighbours become one run."""
        runs: list[tuple[int, tuple[Fraction, ...]]] = []
        last: float | None = None
        for value in values:
            value = float(value)
            if runs and value == last:
                runs[-1] = (runs[-1][0] + 1, runs[-1][1])
            else:
                runs.append((1, (Fraction(value),)))
            last = value
        return Inputs(size, tuple(runs))


@dataclass(frozen=True)
class Instance:
    """One run of an L-layer network from the zero state, index convention ``icml`` (definitions 1.2).

    ``alpha`` is shared, ``dt`` belongs to the layer. ``hidden_size`` m = Σ multiplicities in every layer.
    """

    alpha: Fraction
    layers: tuple[Layer, ...]
    inputs: Inputs
    system: str = field(default="unicornn")

    @property
    def steps(self) -> int:
        return self.inputs.steps

    @property
    def hidden_size(self) -> int:
        return sum(group.multiplicity for group in self.layers[0].groups)

    def truncated(self, steps: int) -> Instance:
        """The same run, stopped after ``steps`` steps."""
        runs, left = [], steps
        for count, values in self.inputs.runs:
            if left > 0:
                runs.append((min(count, left), values))
            left -= count
        return Instance(self.alpha, self.layers, Inputs(self.inputs.size, tuple(runs)), self.system)


def encode_number(value: Fraction) -> str:
    """An integer as decimal digits, a float64 as hex, anything else as p/q: every form is exact. InstanceError if that
    takes more than ``MAX_DIGITS`` digits.
    """
    if value.denominator == 1 and abs(value.numerator) < 10**12:
        return str(value.numerator)
    try:
        as_float = float(value)
    except OverflowError:
        as_float = 0.0
    if Fraction(as_float) == value and abs(as_float) >= 2**-1022:
        return as_float.hex()
    if max(abs(value.numerator), value.denominator) >= 10**MAX_DIGITS:
        raise InstanceError(
            f"A number of {value.numerator.bit_length()} bits is too long; at most {MAX_DIGITS} digits."
        )
    return f"{value.numerator}/{value.denominator}"


def decode_number(text: Any, where: str) -> Fraction:
    """The exact number of ``encode_number``'s text. Raises InstanceError for anything else (no floats, no signs of
    +).
    """
    if isinstance(text, str):
        if _INTEGER.fullmatch(text):
            return Fraction(int(text))
        if match := _RATIONAL.fullmatch(text):
            return Fraction(int(match[1]), int(match[2]))
        if match := _HEX_FLOAT.fullmatch(text):
            sign, lead, digits, exponent = match.groups()
            exact = int(sign + lead + digits, 16) * Fraction(2) ** (int(exponent) - 4 * len(digits))
            if not is_float64(exact):
                raise InstanceError(f"{where}: {text!r} is no float64 (too large, or too small); write it as p/q.")
            return exact
    raise InstanceError(
        f'{where}: {shown(text)} is no exact number; expected "3", "-1/3" or a hex float such as "0x1.8p+1".'
    )


def is_float64(value: Fraction) -> bool:
    """Whether a float64 holds the value exactly."""
    try:
        return Fraction(float(value)) == value
    except OverflowError:
        return False


def to_plain(instance: Instance) -> dict[str, Any]:
    """Strict JSON data: dicts, lists, strings, integers."""
    return {
        "system": instance.system,
        "index": "icml",
        "alpha": encode_number(instance.alpha),
        "layers": [
            {
                "dt": encode_number(layer.dt),
                "groups": [
                    {
                        "multiplicity": group.multiplicity,
                        "w": encode_number(group.w),
                        "c": encode_number(group.c),
                        "bias": encode_number(group.bias),
                    }
                    for group in layer.groups
                ],
                "input_weights": [[encode_number(v) for v in row] for row in layer.input_weights],
            }
            for layer in instance.layers
        ],
        "inputs": {
            "steps": instance.steps,
            "size": instance.inputs.size,
            "runs": [[count, [encode_number(v) for v in values]] for count, values in instance.inputs.runs],
        },
    }


def from_plain(data: Any) -> Instance:
    """The instance that ``to_plain`` wrote. Unknown, missing or ill-typed fields raise InstanceError; nothing is
    allocated by a count.
    """
    fields = strict_fields(
        data, "instance", {"system": str, "index": str, "alpha": str, "layers": list, "inputs": dict}
    )
    if fields["index"] != "icml":
        raise InstanceError(f'instance.index: {shown(fields["index"])} is not supported; expected "icml".')
    strict_name(fields["system"], "instance.system")
    inputs = _inputs(fields["inputs"])
    layers = []
    below = [1] * inputs.size
    hidden_size = None
    if not 1 <= len(fields["layers"]) <= 64:
        raise InstanceError(f"instance.layers: {len(fields['layers'])} layers; expected 1 to 64.")
    for number, entry in enumerate(fields["layers"], 1):
        layer = _layer(entry, f"instance.layers[{number}]", len(below))
        below = [group.multiplicity for group in layer.groups]
        if hidden_size is not None and sum(below) != hidden_size:
            raise InstanceError(
                f"layer {number} has {sum(below)} neurons but layer 1 has {hidden_size}; they must be equal."
            )
        hidden_size = sum(below)
        layers.append(layer)
    return Instance(decode_number(fields["alpha"], "instance.alpha"), tuple(layers), inputs, fields["system"])


def strict_fields(data: Any, where: str, types: dict[str, type]) -> dict[str, Any]:
    """``data`` if it is a dict with exactly these fields of these types (bool is no int), else InstanceError."""
    if not isinstance(data, dict):
        raise InstanceError(f"{where}: expected an object, found {type(data).__name__}.")
    if unknown := sorted(set(data) - set(types)):
        raise InstanceError(f"{where}: unknown field {shown(unknown[0])}; known are {', '.join(types)}.")
    for name, kind in types.items():
        if name not in data:
            raise InstanceError(f"{where}: field {name!r} is missing.")
        if not isinstance(data[name], kind) or (kind is int and isinstance(data[name], bool)):
            raise InstanceError(f"{where}.{name}: expected {kind.__name__}, found {type(data[name]).__name__}.")
    return data


def strict_name(text: str, where: str) -> str:
    """``text`` if it is at most ``MAX_NAME`` printable characters, else InstanceError."""
    if len(text) > MAX_NAME or not text.isprintable():
        raise InstanceError(f"{where}: {shown(text)}; expected at most {MAX_NAME} printable characters.")
    return text


def _layer(data: Any, where: str, sources: int) -> Layer:
    fields = strict_fields(data, where, {"dt": str, "groups": list, "input_weights": list})
    if not 1 <= len(fields["groups"]) <= MAX_GROUPS:
        raise InstanceError(f"{where}.groups: {len(fields['groups'])} groups; expected 1 to {MAX_GROUPS}.")
    groups = []
    for i, entry in enumerate(fields["groups"]):
        place = f"{where}.groups[{i}]"
        group = strict_fields(entry, place, {"multiplicity": int, "w": str, "c": str, "bias": str})
        if not 1 <= group["multiplicity"] <= 10**6:
            raise InstanceError(f"{place}.multiplicity: {shown(group['multiplicity'])}; expected 1 to 1000000.")
        numbers = (decode_number(group[name], f"{place}.{name}") for name in ("w", "c", "bias"))
        groups.append(Group(group["multiplicity"], *numbers))
    rows = fields["input_weights"]
    if len(rows) != len(groups) or any(not isinstance(row, list) or len(row) != sources for row in rows):
        raise InstanceError(f"{where}.input_weights: expected {len(groups)} rows of {sources} entries.")
    weights = tuple(tuple(decode_number(v, f"{where}.input_weights[{i}]") for v in row) for i, row in enumerate(rows))
    dt = decode_number(fields["dt"], f"{where}.dt")
    if dt <= 0:
        raise InstanceError(f"{where}.dt: {shown(fields['dt'])}; expected a positive step.")
    return Layer(dt, tuple(groups), weights)


def _inputs(data: Any) -> Inputs:
    fields = strict_fields(data, "instance.inputs", {"steps": int, "size": int, "runs": list})
    steps, size = fields["steps"], fields["size"]
    if not 1 <= steps <= MAX_STEPS:
        raise InstanceError(f"instance.inputs.steps: {shown(steps)}; expected 1 to {MAX_STEPS}.")
    if not 1 <= size <= MAX_GROUPS:
        raise InstanceError(f"instance.inputs.size: {shown(size)}; expected 1 to {MAX_GROUPS}.")
    if len(fields["runs"]) > steps:
        raise InstanceError(f"instance.inputs.runs: {len(fields['runs'])} runs, but steps is {steps}.")
    runs = []
    for i, run in enumerate(fields["runs"]):
        place = f"instance.inputs.runs[{i}]"
        if not (isinstance(run, list) and len(run) == 2 and type(run[0]) is int and isinstance(run[1], list)):
            raise InstanceError(f"{place}: expected [count, [values]].")
        if not 1 <= run[0] <= steps or len(run[1]) not in (1, size):
            raise InstanceError(f"{place}: expected a count of 1 to {steps} and 1 or {size} values.")
        runs.append((run[0], tuple(decode_number(v, place) for v in run[1])))
    inputs = Inputs(size, tuple(runs))
    if inputs.steps != steps:
        raise InstanceError(f"instance.inputs.runs: they add up to {inputs.steps} steps, but steps is {steps}.")
    return inputs
