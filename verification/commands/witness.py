"""``odernn witness``: show a witness, or recompute it. The file may come from anywhere and is never trusted."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from odernn.written.lines import labelled
from verification.commands.options import Action, ClaimsOption, WholeHelp, help_unless_called
from verification.commands.terminal import DONE, NOT_CERTIFIED, NotCertifiedError, UsageError, fitting, harmless, out
from verification.report.numbers import minus, plural, size

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from verification.instance import Layer
    from verification.witness.file import Witness
    from verification.witness.state_run import StateRun

MOST_GROUPS = 8
MOST_DIGITS = 24
LONGEST = 86_400
"""Seconds: a day."""

command = typer.Typer(
    cls=WholeHelp,
    help="Witnesses of refutations: files from which anyone can replay them.",
    no_args_is_help=False,
    rich_markup_mode=None,
)
FileArgument: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="The witness.")]


@command.callback(invoke_without_command=True)
def _alone(context: typer.Context) -> Action | None:
    return help_unless_called(context)


@command.command("show")
def _show(file: FileArgument) -> Action:
    """Say in words what a witness holds."""
    return Action(lambda: show(file))


@command.command("script")
def _script(file: FileArgument) -> Action:
    """Print a script of at most 40 lines that recomputes it without odernn."""
    return Action(lambda: script(file))


@command.command("verify")
def _verify(
    file: FileArgument,
    claims_dirs: ClaimsOption = None,
    limit: Annotated[
        float,
        typer.Option(
            "--limit", metavar="SECONDS", min=0, max=LONGEST, help="How long the check may take; 0: without limits."
        ),
    ] = 300,
) -> Action:
    """Recompute a witness with zero tolerance; exit code 3 unless it certifies."""
    return Action(lambda: verify(file, claims_dirs=tuple(claims_dirs or ()), limit=limit))


def show(path: Path) -> int:
    witness = _read(path)
    lines = [f"witness    {witness.claim}: {witness.quantity}, {witness.domain}"]
    if isinstance(witness.parameters, dict):
        lines += [f"{name:<10} {value}" for name, value in witness.parameters.items()]
    else:
        lines += _described(witness.parameters)
    _print(lines)
    return DONE


def script(path: Path) -> int:
    from verification.run import provenance
    from verification.witness.script import script_of
    from verification.witness.text import WitnessError

    witness = _read(path)
    try:
        out(script_of(witness, provenance.beside(path).words))
    except WitnessError as error:
        raise UsageError(f'Witness "{path}": {harmless(str(error))}') from None
    return DONE


def verify(path: Path, *, claims_dirs: tuple[Path, ...], limit: float) -> int:
    """Exit code 0 only if both back-ends prove the violation and the file records what they find."""
    from verification.registry import Registry
    from verification.run import provenance
    from verification.run.replay import replay

    witness = _read(path)
    Registry(claims_dirs)  # what is wrong with a folder is an error of its own
    replayed = replay(witness, claims_dirs, limit)
    if replayed.refused:
        raise NotCertifiedError(f'witness "{path}" does not certify: {harmless(replayed.refused)}')
    word = {True: "certified", False: "NOT certified", None: "UNDECIDED"}[replayed.certified]
    _print([*replayed.lines, f"by       {provenance.here().words}"], label=9)
    _print([f"{word}: {'' if replayed.certified else 'that '}{_statement(witness)}"], label=0)
    return DONE if replayed.certified else NOT_CERTIFIED


def _print(lines: Iterable[str], label: int = 11) -> None:
    out("".join(f"{part}\n" for line in lines for part in labelled(harmless(line), fitting(), label)))


def _read(path: Path) -> Witness:
    from verification.witness.file import read

    try:
        return read(path)
    except FileNotFoundError:
        hint = (
            "That is its number in a table, and a witness is a file: `odernn ledger --folder FOLDER` names it."
            if str(path).isdecimal()
            else "`odernn verify` writes witnesses of what it refutes."
        )
        raise UsageError(f'Witness "{path}" does not exist. {hint}') from None
    except OSError as error:
        raise UsageError(f'Witness "{path}" cannot be read: {error.strerror or error}.') from None
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise NotCertifiedError(f'witness "{path}" does not certify: {harmless(reason)}') from error


def _statement(witness: Witness) -> str:
    said = f"{witness.claim} is violated: {witness.quantity}"
    if isinstance(run := witness.parameters, dict):
        return harmless(f"{said}, {witness.domain}")
    domain = {"free": "", "printed": ", at printed hyperparameters", "limit": ", and for every smaller dt"}
    return harmless(f"{said} of layer {run.layer} at n = {run.step}{domain[witness.domain]}")


def _described(run: StateRun) -> list[str]:
    instance = run.instance
    lines = [
        f"run        layer {run.layer}, n = {run.step} of N = {run.steps}",
        f"recorded   measured ≥ {_recorded(run.log_measured)}, bound ≤ {_recorded(run.log_bound)}",
    ]
    if (limit := run.limit) is not None:
        lines.append(
            f"limit      every dt ≤ {_number(limit.dt)}: α = {_number(limit.alpha)}, T = {_number(limit.horizon)}, "
            f"c = {_number(limit.c)}, amplitude {_number(limit.amplitude)}, layer {limit.layer}"
        )
    lines.append(
        f"network    {instance.system}, α = {_number(instance.alpha)}, {plural(len(instance.layers), 'layer')} of "
        f"{plural(instance.hidden_size, 'neuron')}, from the zero state"
    )
    for number, layer in enumerate(instance.layers, 1):
        lines += _layer_lines(number, layer)
    values = [value for _, row in instance.inputs.runs for value in row]
    extremes = f"{_number(min(values))} to {_number(max(values))}" if values else "none"
    lines.append(
        f"inputs     {plural(instance.steps, 'step')} of {plural(instance.inputs.size, 'channel')} in "
        f"{plural(len(instance.inputs.runs), 'run')}, values {extremes}"
    )
    return lines


def _layer_lines(number: int, layer: Layer) -> list[str]:
    lines = [f"layer {number:<4} dt = {_number(layer.dt)}, {plural(len(layer.groups), 'group')} of equal neurons"]
    for group, weights in list(zip(layer.groups, layer.input_weights, strict=True))[:MOST_GROUPS]:
        total = sum(map(abs, weights))
        lines.append(
            f"           {group.multiplicity} × w = {_number(group.w)}, c = {_number(group.c)}, "
            f"b = {_number(group.bias)}, Σ|V| over {plural(len(weights), 'source')} = {_number(total)}"
        )
    if len(layer.groups) > MOST_GROUPS:
        lines.append(f"           and {len(layer.groups) - MOST_GROUPS} more groups")
    return lines


def _number(value: Fraction | int) -> str:
    """Exact if that is short, otherwise six digits."""
    bits = value.numerator.bit_length(), value.denominator.bit_length()
    if sum(bits) <= 4 * MOST_DIGITS and len(text := str(value)) <= MOST_DIGITS:
        return minus(text)
    try:
        return minus(f"≈ {float(value):.6g}")
    except OverflowError:
        return f"about {'−' if value < 0 else ''}10^{math.floor((bits[0] - bits[1]) * math.log10(2))}"


def _recorded(log: str) -> str:
    """A recorded logarithm as a number, if it is one."""
    try:
        value = float(log)
        return f"{size(value, 6)} (log {log})" if math.isfinite(value) else repr(log)
    except ValueError:
        return repr(log)
