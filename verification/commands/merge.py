"""``odernn merge``: the stores of shards put together, and what they still lack."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from verification.commands.options import Action
from verification.commands.terminal import DIFFERENCE, DONE, harmless, out
from verification.report.numbers import plural
from verification.run.shards import Merged, merge


def command(
    stores: Annotated[list[Path], typer.Argument(metavar="STORE...", help="The stores of the shards.")],
    into: Annotated[Path, typer.Option("--into", metavar="FILE", help="The store that gets all their results.")],
) -> Action:
    """Put the stores of `odernn verify --shard` together, and say what is missing."""
    return Action(lambda: run(sources=tuple(stores), into=into))


def run(*, sources: tuple[Path, ...], into: Path) -> int:
    """Exit code 1 if a shard is missing or incomplete; what is left to be judged is no fault."""
    merged = merge(sources, into)
    out("\n".join(map(harmless, _lines(merged, len(sources), into))) + "\n")
    return DIFFERENCE if merged.missing else DONE


def _lines(merged: Merged, sources: int, into: Path) -> list[str]:
    same = f", {merged.repeated} in more than one store, byte for byte the same" if merged.repeated else ""
    lines = [
        f"merged     {plural(sources, 'store')} into {into}: {plural(merged.jobs, 'job')}, {merged.added} new{same}"
    ]
    if merged.failed:
        lines.append(f"failed     {plural(merged.failed, 'job')}: tried again by the command below")
    for shard, absent, all_ in merged.missing:
        place = f"shard {shard}" if not shard.endswith("/1") else "the run"
        extent = "all" if absent == all_ else f"{absent} of"
        lines.append(
            f"missing    {place}: {extent} {plural(all_, 'job')}. Do and merge them, or leave them to the command below"
        )
    if merged.unjudged:
        lines.append(f"unjudged   {plural(merged.unjudged, 'judgement')}: their searches were in several shards")
    if merged.complete and not merged.failed:
        lines.append(f"complete   odernn table --store {shlex.quote(str(into))}")
    else:
        lines.append(f"the rest   {_command(merged.run.settings, into)}")
    return lines


def _command(settings: dict[str, Any], into: Path) -> str:
    """The command that does the rest of the run, and prints its table."""
    words = ["odernn", "verify", *settings["claims"], "--budget", settings["budget"], "--seed", str(settings["seed"])]
    if settings["task"] != "digits":
        words += ["--task", settings["task"]]
    if settings.get("data"):
        words += ["--data", settings["data"]]
    if settings.get("device", "cpu") != "cpu":
        words += ["--device", settings["device"]]
    for folder in settings["claims_dirs"]:
        words += ["--claims", folder]
    return shlex.join([*words, "--store", str(into)])
