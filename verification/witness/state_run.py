"""The parameters of a witness against a bound on states: a run, where it is read, what was recorded of both sides.

    {"layer": 1, "step": n, "steps": N, "limit": {…} or null, "log_measured": …, "log_bound": …, "instance": {…}}

``steps`` is N of the statement (T = N·dt), ``limit`` the data for which the bound fails at every dt ≤ dt₀. Long inputs
go to a .safetensors file beside the witness.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from odernn.foreign import shown
from verification.certify.limit import LimitData
from verification.instance import (
    MAX_STEPS,
    Instance,
    InstanceError,
    decode_number,
    encode_number,
    from_plain,
    is_float64,
    strict_fields,
    strict_name,
    to_plain,
)
from verification.witness.text import WitnessError, content, parsed, replaced

FREE, PRINTED, LIMIT = DOMAINS = "free", "printed", "limit"
"""Where a bound is read: at any run, at the hyperparameters of a row of Table 6, at every dt ≤ dt₀."""
DIGITS = 10
FIELDS: dict[str, type] = {
    "layer": int,
    "step": int,
    "steps": int,
    "log_measured": str,
    "log_bound": str,
    "limit": object,
    "instance": dict,
}


MOST_GROUPS_SAID, MOST_RUNS_SAID, SHORT = 2, 12, 12
MOST_LETTERS_GIVEN = 2_000


@dataclass(frozen=True)
class StateRun:
    """An instance, the layer and step at which it is said to violate the bound, and the enclosures recorded then."""

    layer: int
    step: int
    steps: int
    instance: Instance
    log_measured: str
    log_bound: str
    limit: LimitData | None = None


def record(value: float) -> str:
    """A logarithm as the file records it: ``DIGITS`` significant digits."""
    return f"{value:.{DIGITS - 1}e}"


def words_of(run: StateRun) -> str:
    """All numbers of a small network in a line: "layer 1: w = 0, c = 20, V = 1, b = 0; u = 93 × 10, 251 × −10, …"."""
    return _network_and_inputs(run, MOST_GROUPS_SAID, MOST_RUNS_SAID, _short)


def given_of(witness: str) -> str:
    """All that the run of a witness, as text, is made of, for readers: V a row for each group of neurons, the inputs
    as "93 × 10", so many steps of one value. What is longer than ``MOST_LETTERS_GIVEN`` is in the file.
    """
    run = run_of(parsed(witness)["parameters"])
    alpha, dts = run.instance.alpha, ", ".join(str(layer.dt) for layer in run.instance.layers)
    text = f"layer {run.layer}, n = {run.step}; α = {alpha}; dt = {dts}; " + _network_and_inputs(run, None, None, str)
    many = f"… ({len(text)} letters, in its file)"
    return text if len(text) <= MOST_LETTERS_GIVEN else text[:MOST_LETTERS_GIVEN] + many


def _network_and_inputs(
    run: StateRun, most_groups: int | None, most_runs: int | None, write: Callable[[Fraction], str]
) -> str:
    instance, parts = run.instance, []
    for number, layer in enumerate(instance.layers[: run.layer], 1):
        for group, row in list(zip(layer.groups, layer.input_weights, strict=True))[:most_groups]:
            count = f"{group.multiplicity} × " if group.multiplicity > 1 else ""
            weights = ", ".join(map(write, row[:most_groups])) + (", …" if row[:most_groups] != row else "")
            weights = f"({weights})" if len(row) > 1 else weights
            numbers = f"w = {write(group.w)}, c = {write(group.c)}, V = {weights}, b = {write(group.bias)}"
            parts.append(f"layer {number}: {count}{numbers}")
        parts += ["…"] if layer.groups[:most_groups] != layer.groups else []
    runs = [f"{count} × {_value(values, write)}" for count, values in instance.inputs.runs[:most_runs]]
    more = ", …" if instance.inputs.runs[:most_runs] != instance.inputs.runs else ""
    return f"{'; '.join(parts)}; u = {', '.join(runs)}{more}"


def _value(values: Sequence[Fraction], write: Callable[[Fraction], str]) -> str:
    return write(values[0]) if len(values) == 1 else f"({', '.join(map(write, values))})"


def _short(value: Fraction) -> str:
    text = str(value) if len(str(value)) <= SHORT else f"{float(value):.6g}"
    return text.replace("-", "−")


def plain_of(run: StateRun) -> dict[str, Any]:
    """The run as plain data."""
    plain: dict[str, Any] = {
        name: getattr(run, name) for name in ("layer", "step", "steps", "log_measured", "log_bound")
    }
    plain |= {"limit": None, "instance": to_plain(run.instance)}
    if (data := run.limit) is not None:
        numbers = {name: encode_number(getattr(data, name)) for name in ("alpha", "horizon", "c", "amplitude", "dt")}
        plain["limit"] = numbers | {"layer": data.layer}
    return plain


def run_of(plain: Any) -> StateRun:
    """The run of plain data. WitnessError for anything that is not exactly a run."""
    try:
        fields = strict_fields(plain, "parameters", FIELDS)
        instance = from_plain(fields["instance"])
        layer, step, steps = (fields[name] for name in ("layer", "step", "steps"))
        if not 1 <= layer <= len(instance.layers):
            raise WitnessError(f"layer is {shown(layer)}, but the instance has {len(instance.layers)} layers.")
        if not 1 <= step <= instance.steps:
            raise WitnessError(f"step is {shown(step)}, but the instance has {instance.steps} inputs.")
        if not step <= steps <= 10**9:
            raise WitnessError(f"steps is {shown(steps)}; expected at least step = {step} and at most 1000000000.")
        measured, bound = (strict_name(fields[name], name) for name in ("log_measured", "log_bound"))
        return StateRun(layer, step, steps, instance, measured, bound, _limit(fields["limit"]))
    except InstanceError as error:
        raise WitnessError(str(error)) from None


def _limit(plain: Any) -> LimitData | None:
    if plain is None:
        return None
    names = ("alpha", "horizon", "c", "amplitude", "dt")
    fields = strict_fields(plain, "limit", {name: str for name in names} | {"layer": int})
    numbers = {name: decode_number(fields[name], f"limit.{name}") for name in names}
    for name in ("alpha", "horizon", "amplitude", "dt"):
        if not 0 < numbers[name] <= 10**9:
            raise WitnessError(f"limit.{name}: {shown(fields[name])} is not in (0, 10^9].")
    if abs(numbers["c"]) > 10**4 or not 1 <= fields["layer"] <= 64:
        raise WitnessError("limit: c must be at most 10^4 in modulus and layer 1 to 64.")
    return LimitData(layer=fields["layer"], **numbers)


def moved_out(plain: dict[str, Any], instance: Instance, path: Path) -> dict[str, Any]:
    """The data with the inputs replaced by a reference to a file that is written beside ``path``, if every input is a
    float64 with one value for all channels.
    """
    import numpy as np
    from safetensors.numpy import save

    values = [row[0] for _, row in instance.inputs.runs]
    is_plain = all(len(row) == 1 for _, row in instance.inputs.runs)
    if not is_plain or not all(map(is_float64, values)):
        return plain
    counts = np.array([count for count, _ in instance.inputs.runs], dtype=np.int64)
    held = save({"counts": counts, "values": np.array([float(v) for v in values], dtype=np.float64)})
    tensors = path.with_suffix(".safetensors")
    replaced(tensors, held)
    plain = json.loads(json.dumps(plain))  # a copy
    plain["instance"]["inputs"]["runs"] = {"file": tensors.name, "sha256": hashlib.sha256(held).hexdigest()}
    return plain


def restored(plain: Any, path: Path) -> Any:
    """The inverse of ``moved_out``; data without a reference passes unchanged."""
    try:
        inputs = plain["instance"]["inputs"]
        reference = inputs["runs"]
    except (KeyError, TypeError):
        return plain  # no witness: the strict parser says what is wrong
    if not isinstance(reference, dict):
        return plain
    try:
        strict_fields(reference, "instance.inputs.runs", {"file": str, "sha256": str})
        inputs["runs"] = _runs_of(_side_file(reference, path), inputs.get("steps"))
    except InstanceError as error:
        raise WitnessError(str(error)) from None
    return plain


def _side_file(reference: dict[str, Any], path: Path) -> bytes:
    name = strict_name(reference["file"], "instance.inputs.runs.file")
    if not name.endswith(".safetensors") or Path(name).name != name:
        raise WitnessError(f'runs.file "{name}": expected the name of a .safetensors file beside the witness.')
    side = path.with_name(name)
    if not side.is_file():  # a pipe would be waited for
        raise WitnessError(f'runs.file "{name}" is missing. Keep it beside the witness.')
    try:
        held = content(side)
    except OSError as error:
        raise WitnessError(f'runs.file "{name}" cannot be read: {error.strerror}.') from None
    if hashlib.sha256(held).hexdigest() != reference["sha256"]:
        raise WitnessError(f'runs.file "{name}" does not have the recorded SHA-256: it was changed.')
    return held


def _runs_of(content: bytes, steps: Any) -> list[list[Any]]:
    """The runs in plain form from the arrays ``counts`` (int64) and ``values`` (float64), one entry a run."""
    import numpy as np
    from safetensors.numpy import load

    try:
        arrays = load(content)
    except Exception as error:  # the file may hold anything, and every kind of damage has its own exception
        raise WitnessError(f"input runs are damaged: {type(error).__name__}: {error}") from None
    expected = {"counts": np.dtype(np.int64), "values": np.dtype(np.float64)}
    if {name: array.dtype for name, array in arrays.items()} != expected:
        raise WitnessError("input runs are damaged: expected the arrays counts (int64) and values (float64).")
    counts, values = arrays["counts"], arrays["values"]
    if counts.ndim != 1 or counts.shape != values.shape:
        raise WitnessError("input runs are damaged: expected one count and one value a run.")
    if type(steps) is not int or len(counts) > min(steps, MAX_STEPS):
        raise WitnessError(f"input runs are damaged: {len(counts)} runs, but steps is {shown(steps)}.")
    if not np.isfinite(values).all():
        raise WitnessError("input runs are damaged: a value is not finite.")
    pairs = zip(counts.tolist(), values.tolist(), strict=True)
    return [[count, [encode_number(Fraction(value))]] for count, value in pairs]
