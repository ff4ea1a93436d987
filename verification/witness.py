"""Witnesses: files from which anyone can replay a refutation. Strict JSON, no code, no pickles; tensors beside it
when large.

``check`` recomputes everything from the exact numbers: premises, trajectory and bound in ball arithmetic and in the
independent second back-end, and compares what the file records with what it finds. It uses no search code and no torch.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from odernn.published.networks import ROWS, PublishedRow
from verification.certify import balls, limit
from verification.certify.limit import LimitData
from verification.certify.second import intervals as second
from verification.claim import Claim, ClaimError, Part
from verification.instance import (
    MAX_STEPS,
    Instance,
    InstanceError,
    decode_number,
    encode_number,
    from_plain,
    is_float64,
    shown,
    strict_fields,
    strict_name,
    to_plain,
)
from verification.registry import Registry
from verification.system import UNICORNN
from verification.witness_text import WitnessError, content, parsed, text_of

FORMAT = "odernn-witness"
VERSION = 1
INLINE_BYTES = 64 * 2**10
SECOND_BITS = (256, 1024, 4096)
MAX_WORK = 500_000
"""``work`` of a run that is certified: half a minute for the second back-end. The longest run of any budget has
448,000.
"""
BALL_EFFORT, SECOND_EFFORT = 2**29, 2**27
"""Work × bits up to which the precision of either back-end is escalated: some ten seconds each."""
MAX_NETWORK_WORK, NETWORK_EFFORT = 2**25, 2**33
"""The same for the route of large witnesses, in ``network_work``: matrix products cost less an entry."""
TANH_WORK = 100
"""What a tanh in balls and in floats with proved roundings costs, in multiplications of a matrix product."""
DIGITS = 10


@dataclass(frozen=True)
class Witness:
    """An instance said to violate one part of a claim at one step, with the enclosures recorded when it was found.

    ``steps`` is N of the statement (T = N·dt). ``reading`` is "" unless the claim is asymptotic: then "printed" (α,
    dt and N are those of a row of Table 6) or "limit" (``limit`` holds the data for which it fails at every dt ≤ dt₀).
    """

    claim: str
    quantity: str
    norm: str
    layer: int
    step: int
    steps: int
    instance: Instance
    log_measured: str
    log_bound: str
    reading: str = ""
    limit: LimitData | None = None


@dataclass(frozen=True)
class Replay:
    """Whether the witness certifies, and every sentence of the evidence."""

    certified: bool
    lines: tuple[str, ...]


def record(value: float) -> str:
    """A logarithm as the file records it: ``DIGITS`` significant digits."""
    return f"{value:.{DIGITS - 1}e}"


def to_json(witness: Witness) -> str:
    """The witness as strict JSON text."""
    plain: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "claim": witness.claim,
        "quantity": witness.quantity,
        "norm": witness.norm,
        "layer": witness.layer,
        "step": witness.step,
        "steps": witness.steps,
        "log_measured": witness.log_measured,
        "log_bound": witness.log_bound,
        "reading": witness.reading,
        "limit": None,
        "instance": to_plain(witness.instance),
    }
    if witness.limit is not None:
        data = witness.limit
        plain["limit"] = {
            name: encode_number(getattr(data, name)) for name in ("alpha", "horizon", "c", "amplitude", "dt")
        } | {"layer": data.layer}
    return json.dumps(plain, ensure_ascii=False, indent=1)


def from_json(text: str) -> Witness:
    """Parse strictly. Raises WitnessError for anything that is not exactly a witness."""
    return _witness_of(parsed(text))


def _witness_of(plain: Any) -> Witness:
    try:
        return _from_plain(plain)
    except InstanceError as error:
        raise WitnessError(str(error)) from None


def _from_plain(plain: Any) -> Witness:
    types: dict[str, type] = {
        "format": str,
        "version": int,
        "claim": str,
        "quantity": str,
        "norm": str,
        "layer": int,
        "step": int,
        "steps": int,
        "log_measured": str,
        "log_bound": str,
        "reading": str,
        "limit": object,
        "instance": dict,
    }
    fields = strict_fields(plain, "witness", types)
    if fields["format"] != FORMAT:
        raise WitnessError(f'format is {shown(fields["format"])}, expected "{FORMAT}".')
    if fields["version"] != VERSION:
        raise WitnessError(
            f"version is {shown(fields['version'])}, this odernn reads version {VERSION}. Update odernn."
        )
    instance = from_plain(fields["instance"])
    if not 1 <= fields["layer"] <= len(instance.layers):
        raise WitnessError(f"layer is {shown(fields['layer'])}, but the instance has {len(instance.layers)} layers.")
    if not 1 <= fields["step"] <= instance.steps:
        raise WitnessError(f"step is {shown(fields['step'])}, but the instance has {instance.steps} inputs.")
    if not fields["step"] <= fields["steps"] <= 10**9:
        raise WitnessError(
            f"steps is {shown(fields['steps'])}; expected at least step = {fields['step']} and at most 1000000000."
        )
    names = ("claim", "quantity", "norm", "layer", "step", "steps", "log_measured", "log_bound", "reading")
    for name in names:
        if isinstance(fields[name], str):
            strict_name(fields[name], name)
    return Witness(instance=instance, limit=_limit(fields["limit"]), **{name: fields[name] for name in names})


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


def read(path: Path) -> Witness:
    """The witness in a file; inputs kept in a .safetensors file beside it are put back.

    OSError if the file cannot be read, WitnessError if it holds no witness.
    """
    return from_plain_beside(parsed(text_of(path)), path)


def from_plain_beside(plain: Any, path: Path) -> Witness:
    """The witness of the plain data of the file at ``path``, beside which a .safetensors file may lie."""
    return _witness_of(_restored(plain, path))


def write(witness: Witness, path: Path) -> None:
    """Write atomically. If the text exceeds ``INLINE_BYTES``, long float inputs go to ``<stem>.safetensors`` beside
    it.
    """
    text = to_json(witness)
    if len(text.encode()) > INLINE_BYTES:
        text = _moved_out(text, witness.instance, path)
    _replace(path, text.encode())


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    temporary.write_bytes(content)
    temporary.replace(path)


def _moved_out(text: str, instance: Instance, path: Path) -> str:
    """The JSON text with the runs replaced by a reference, if every input is a float64 with one value for all
    channels.
    """
    import numpy as np
    from safetensors.numpy import save

    values = [row[0] for _, row in instance.inputs.runs]
    is_plain = all(len(row) == 1 for _, row in instance.inputs.runs)
    if not is_plain or not all(map(is_float64, values)):
        return text
    counts = np.array([count for count, _ in instance.inputs.runs], dtype=np.int64)
    content = save({"counts": counts, "values": np.array([float(v) for v in values], dtype=np.float64)})
    tensors = path.with_suffix(".safetensors")
    _replace(tensors, content)
    plain = json.loads(text)
    plain["instance"]["inputs"]["runs"] = {"file": tensors.name, "sha256": hashlib.sha256(content).hexdigest()}
    return json.dumps(plain, ensure_ascii=False, indent=1)


def _restored(plain: Any, path: Path) -> Any:
    """The inverse of ``_moved_out``; data without a reference passes unchanged."""
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


def part_of(claim: Claim, quantity: str, norm: str) -> Part:
    """The claim's part with this quantity and norm; WitnessError if it has none."""
    for part in claim.bound.parts:
        if (part.quantity, part.norm) == (quantity, norm):
            return part
    known = ", ".join(f"({part.quantity}, {part.norm})" for part in claim.bound.parts)
    raise WitnessError(f'claim "{claim.id}" has no part ({quantity}, {norm}); it has {known}.')


def work(instance: Instance, *, layer: int, step: int) -> int:
    """Input channels, neuron groups and nonzero weights of the layers that are run, times the steps."""
    layers = instance.layers[:layer]
    weights = sum(v != 0 for one_layer in layers for row in one_layer.input_weights for v in row)
    return step * (instance.inputs.size + weights + sum(len(one_layer.groups) for one_layer in layers))


def network_work(instance: Instance, *, layer: int, step: int) -> int:
    """Entries of V, and TANH_WORK for every neuron group, of the layers that are run, times the steps."""
    layers = instance.layers[:layer]
    return step * sum(len(one_layer.groups) * (len(one_layer.input_weights[0]) + TANH_WORK) for one_layer in layers)


def is_large(claim: Claim, instance: Instance, *, layer: int, step: int) -> bool:
    """Whether the network certificates decide: more than ``MAX_WORK``, and UnICORNN's own recurrence, which they are
    about.
    """
    return claim.bound.system is UNICORNN and work(instance, layer=layer, step=step) > MAX_WORK


def first_opinion(claim: Claim, part: Part, instance: Instance, *, layer: int, step: int, steps: int) -> balls.Outcome:
    """The balls' decision, with precision escalated until it decides, as far as ``BALL_EFFORT`` goes; of a large
    instance, in matrix products and as far as ``NETWORK_EFFORT`` goes.
    """
    if is_large(claim, instance, layer=layer, step=step):
        max_bits = min(balls.MAX_BITS, NETWORK_EFFORT // network_work(instance, layer=layer, step=step))
        from verification.certify import network_states  # of large networks only

        return network_states.decide(claim, part, instance, layer=layer, step=step, steps=steps, max_bits=max_bits)
    max_bits = min(balls.MAX_BITS, BALL_EFFORT // work(instance, layer=layer, step=step))
    return balls.decide(claim, part, instance, layer=layer, step=step, steps=steps, max_bits=max_bits)


def second_opinion(
    claim: Claim, part: Part, instance: Instance, *, layer: int, step: int, steps: int
) -> dict[str, Any]:
    """The second back-end's decision, with precision escalated until it decides, as far as ``SECOND_EFFORT`` goes; of a
    large instance, by float64 with proved roundings.
    """
    plain = to_plain(instance)
    if is_large(claim, instance, layer=layer, step=step):
        from verification.certify.second import network_states

        return network_states.decide(
            plain,
            layer=layer,
            step=step,
            steps=steps,
            quantity=part.quantity,
            norm=part.norm,
            bound=part.second_bound,
            premises=claim.bound.second_hypotheses,
        )
    answer: dict[str, Any] = {"status": "undecided", "measured": None, "bound": None}
    effort = work(instance, layer=layer, step=step)
    for bits in SECOND_BITS:
        if bits > SECOND_BITS[0] and effort * bits > SECOND_EFFORT:
            break
        answer = second.decide(
            plain,
            layer=layer,
            step=step,
            steps=steps,
            quantity=part.quantity,
            norm=part.norm,
            bound=part.second_bound,
            premises=claim.bound.second_hypotheses,
            step_function=claim.bound.system.second_step,
            bits=bits,
        )
        if answer["status"] != "undecided":
            break
    return answer


def check(witness: Witness, registry: Registry) -> Replay:
    """Recompute everything with zero tolerance. Raises WitnessError if the claim or its system is not known, or the
    run is too long to be replayed.
    """
    try:
        claim = registry.get(witness.claim).claim
        system = claim.bound.system.name
    except ClaimError as error:
        raise WitnessError(str(error)) from None
    if claim.id != witness.claim:
        raise WitnessError(f'claim is "{witness.claim}"; write the id "{claim.id}".')
    if witness.instance.system != system:
        raise WitnessError(f'the instance runs "{witness.instance.system}", the claim is about "{system}".')
    part = part_of(claim, witness.quantity, witness.norm)
    _refuse_endless(witness, claim)
    try:
        certified, lines = _recompute(witness, claim, part)
        reading_holds, line = _check_reading(witness, claim, part)
    except Exception as error:  # numbers that are out of a formula's domain, or a user's own claim
        return Replay(False, (f"error    the claim cannot be evaluated: {type(error).__name__}: {error}",))
    return Replay(certified and reading_holds, (*lines, *([line] if line else [])))


def _refuse_endless(witness: Witness, claim: Claim) -> None:
    """WitnessError for a run that takes too long by either route."""
    where = {"layer": witness.layer, "step": witness.step}
    effort = work(witness.instance, **where)
    if effort <= MAX_WORK:
        return
    spent = f"{witness.step} steps of {effort // witness.step} channels, groups and weights are too many to replay"
    if claim.bound.system is not UNICORNN:
        raise WitnessError(f"{spent}; at most {MAX_WORK} in all for a system of one's own.")
    if (large := network_work(witness.instance, **where)) > MAX_NETWORK_WORK:
        raise WitnessError(
            f"{spent}; at most {MAX_WORK} in all, or {MAX_NETWORK_WORK} in matrix products, where it is {large}."
        )


def _recompute(witness: Witness, claim: Claim, part: Part) -> tuple[bool, list[str]]:
    """Whether both back-ends prove the violation, premises included, and the file records what they find."""
    where = {"layer": witness.layer, "step": witness.step, "steps": witness.steps}
    first = first_opinion(claim, part, witness.instance, **where)
    lines = [
        f"premise  {text}: margin {margin:.6g}, {'holds' if proved else 'NOT PROVED'}"
        for text, margin, proved in first.premises
    ]
    lines.append(
        f"balls    {first.status} at {first.bits} bits: log measured ≥ {first.measured[0]:.10g}, "
        f"log bound ≤ {first.bound[1]:.10g}"
    )
    certified = first.is_refutation
    if certified:
        other = second_opinion(claim, part, witness.instance, **where)
        certified = second.is_refutation(other)
        name = "floats" if is_large(claim, witness.instance, layer=witness.layer, step=witness.step) else "mpmath"
        sides = f"log measured {other['measured']}, log bound {other['bound']}"
        lines.append(f"{name}   {other['status']}: {other.get('because') or sides}")
        lines += [f"mpmath   premise {text}: {_margin_text(*proof)}" for text, *proof in other["premises"]]
    for name, recorded, recomputed in (
        ("log_measured", witness.log_measured, first.measured[0]),
        ("log_bound", witness.log_bound, first.bound[1]),
    ):
        if recorded != record(recomputed):
            certified = False
            lines.append(f"recorded {name} = {recorded!r}, recomputed {record(recomputed)}: the file was changed")
    return certified, lines


def _margin_text(margin: float | None, proved: bool) -> str:
    if margin is None:
        return "NOT PROVED: its margin is not typed for intervals (Premise.second_margin)"
    return f"margin {margin:.6g}, {'holds' if proved else 'NOT PROVED'}"


def _is_of_row(instance: Instance, steps: int, row: PublishedRow) -> bool:
    """Whether the instance runs the first layers of the row's network: its α, dt, N, m and d."""
    dt = tuple(layer.dt for layer in instance.layers)
    shape = (instance.hidden_size, instance.inputs.size, steps)
    return (instance.alpha, dt) == (row.alpha, row.dt[: len(dt)]) and shape == (
        row.hidden_size,
        row.input_size,
        row.steps,
    )


def _check_reading(witness: Witness, claim: Claim, part: Part) -> tuple[bool, str]:
    """What an asymptotic claim asks beyond one violation: a row of the paper's table, or every dt ≤ dt₀."""
    if not claim.bound.asymptotic:
        return (not witness.reading and witness.limit is None), (
            "" if not witness.reading else "reading  of a claim that has none"
        )
    top = witness.instance.layers[witness.layer - 1]
    if witness.reading == "printed":
        if witness.limit is not None:
            return False, "limit    of a witness that is read at printed values"
        rows = [row.name for row in ROWS if _is_of_row(witness.instance, witness.steps, row)]
        return bool(rows), f"printed  hyperparameters of {rows[0]}" if rows else "printed  of no row of Table 6"
    if witness.reading != "limit" or witness.limit is None:
        return False, "limit    missing: the claim is about dt → 0, and one dt alone proves nothing"
    data = witness.limit
    if (data.alpha, data.horizon, data.layer) != (witness.instance.alpha, witness.steps * top.dt, witness.layer):
        return False, "limit    its α, T or layer are not those of the instance"
    outcome = limit.check(claim, part, data)
    return outcome.holds, f"limit    {outcome.because}"
