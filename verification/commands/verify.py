"""``odernn verify``: run what the store lacks, keep the witnesses, print a screen about it, or the table."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import odernn
from odernn.written.lines import labelled
from verification.commands.devices import device_name
from verification.commands.limits import of_jobs, planned
from verification.commands.options import (
    STORE,
    Action,
    CellsOption,
    ClaimsOption,
    ColorOption,
    DataOption,
    OnlyOption,
    PaperOption,
    TasksOption,
    refuse,
)
from verification.commands.results import (
    JudgedRun,
    Wanted,
    check_colour,
    coloured,
    latest,
    mended,
    one_of,
    papers_of,
    rendered,
    witnesses_beside,
    write_witnesses,
)
from verification.commands.terminal import (
    AUTO,
    DIFFERENCE,
    DONE,
    FAILED,
    UsageError,
    cores,
    fitting,
    harmless,
    header,
    is_coloured,
    note,
    out,
    progress,
    width,
)
from verification.commands.verify_options import (
    AllOption,
    BatchFirstOption,
    BudgetOption,
    CheckpointOption,
    ClaimArgument,
    ConfigOption,
    DeviceOption,
    DownloadOption,
    EngineOption,
    ExpectOption,
    InputsOption,
    JobMemoryOption,
    JobSecondsOption,
    JobsOption,
    JsonOption,
    ModelOption,
    OwnStoreOption,
    QuietOption,
    ResultFormatOption,
    RootOption,
    RowOption,
    SeedOption,
    SequencesOption,
    SettingsOption,
    ShardOption,
    TargetsOption,
    TaskOption,
    WeightsOption,
    WitnessesOption,
)
from verification.domains import BUDGETS
from verification.registry import Registry
from verification.report.formats import renderer
from verification.report.numbers import plural
from verification.report.rows import claims as rows
from verification.run.engine import Engine
from verification.run.execute import execute
from verification.run.job import Settings
from verification.run.limits import Limits
from verification.run.plan import Plan
from verification.run.store import Store, failed
from verification.verdict import ERROR, Judgement

if TYPE_CHECKING:
    from verification.run.shards import Share

DIGITS = "digits"
TASKS = (DIGITS, "mnist")
LOCAL = "local"
SEQUENCES = 8
MOST_LINES = 20
OF_CLAIMS = (
    "claims",
    "budget",
    "seed",
    "jobs",
    "job_seconds",
    "job_memory",
    "device",
    "engine",
    "shard",
    "data",
    "download",
    "full",
    "quiet",
    "paper",
    "only",
    "color",
    "expect",
)
OF_TASKS = ("root", "settings", "sequences", "tasks_dirs")
OF_CHECKPOINTS = ("config", "row", "cells_dirs", *OF_TASKS)
"""Arguments that go with one kind of run only."""

OF_MODELS = ("inputs", "targets", "weights", "batch_first")


def command(
    context: typer.Context,
    claims: ClaimArgument = None,
    budget: BudgetOption = "smoke",
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    job_seconds: JobSecondsOption = None,
    job_memory: JobMemoryOption = None,
    device: DeviceOption = "cpu",
    engine: EngineOption = LOCAL,
    shard: ShardOption = None,
    store: OwnStoreOption = None,
    claims_dirs: ClaimsOption = None,
    task: TaskOption = None,
    data: DataOption = None,
    download: DownloadOption = False,
    format: ResultFormatOption = None,
    full: AllOption = False,
    quiet: QuietOption = False,
    paper: PaperOption = None,
    only: OnlyOption = None,
    color: ColorOption = AUTO,
    json: JsonOption = False,
    expect: ExpectOption = None,
    witnesses: WitnessesOption = None,
    checkpoint: CheckpointOption = None,
    config: ConfigOption = None,
    row: RowOption = None,
    root: RootOption = None,
    settings: SettingsOption = None,
    sequences: SequencesOption = SEQUENCES,
    cells_dirs: CellsOption = None,
    tasks_dirs: TasksOption = None,
    model: ModelOption = None,
    inputs: InputsOption = None,
    targets: TargetsOption = None,
    weights: WeightsOption = None,
    batch_first: BatchFirstOption = False,
) -> Action:
    """Try the claims and print what came of it on one screen. What the store already has is not done again."""
    if quiet:
        refuse(context, ("format", "full", "json"), "prints more than --quiet leaves. Leave out one of the two")
    if json:
        refuse(context, ("format", "full"), "is about the table, which --json replaces. Leave out one of the two")
    if model is not None:
        from verification.commands import model as model_command  # which imports torch

        given = {"seed", *OF_TASKS}
        others = [name for name in (*OF_CLAIMS, *OF_CHECKPOINTS, "checkpoint", "store", "witnesses", "format")]
        refuse(context, [name for name in others if name not in given], "says nothing of a model. Leave it out")
        if task is None:
            refuse(context, OF_TASKS, "is about the task that gives the inputs. Give --task, too")
        of_model = model_command.ModelOptions(
            model=model,
            inputs=inputs,
            targets=targets,
            weights=weights,
            batch_first=batch_first,
            json=json,
            seed=seed,
            task=task,
            tasks_dirs=tuple(tasks_dirs or ()),
            root=root,
            settings=tuple(settings or ()),
            sequences=sequences,
        )
        return Action(lambda: model_command.run(of_model))
    refuse(context, OF_MODELS, "describes a model of yours. Give --model, too")
    if checkpoint is not None:
        from verification.commands import checkpoint as checkpoint_command  # which imports torch

        refuse(context, OF_CLAIMS, "is about the claims. Leave it out, or --checkpoint")
        chosen = checkpoint_command.CheckpointOptions(
            checkpoint=checkpoint,
            config=config,
            row=row,
            task=task,
            root=root,
            settings=tuple(settings or ()),
            sequences=sequences,
            store=store or STORE,
            claims_dirs=tuple(claims_dirs or ()),
            cells_dirs=tuple(cells_dirs or ()),
            tasks_dirs=tuple(tasks_dirs or ()),
            format=format or "text",
            json=json,
            witnesses=witnesses,
        )
        return Action(lambda: checkpoint_command.run(chosen))
    refuse(context, OF_CHECKPOINTS, "describes a trained network. Give --checkpoint, too")
    check_colour(color, "json" if json else format)
    options = Options(
        claims=tuple(claims or ()),
        budget=budget,
        seed=seed,
        jobs=jobs,
        job_seconds=job_seconds,
        job_memory=job_memory,
        engine=engine,
        shard=shard,
        store=store,
        claims_dirs=tuple(claims_dirs or ()),
        task=task or DIGITS,
        data=data,
        download=download,
        format=format,
        full=full,
        quiet=quiet,
        wanted=Wanted.parse(paper, only),
        color=color,
        json=json,
        expect=expect,
        witnesses=witnesses,
        device=device,
    )
    return Action(lambda: run(options), resumes=True)


@dataclass(frozen=True)
class Options:
    """The command line of ``odernn verify``."""

    claims: tuple[str, ...]
    budget: str
    seed: int
    jobs: int | None
    store: Path | None
    claims_dirs: tuple[Path, ...]
    task: str
    data: Path | None
    download: bool
    format: str | None
    full: bool
    json: bool
    expect: Path | None
    witnesses: Path | None
    device: str = "cpu"
    job_seconds: float | None = None
    job_memory: float | None = None
    engine: str = LOCAL
    shard: str | None = None
    quiet: bool = False
    wanted: Wanted = field(default_factory=Wanted)
    color: str = AUTO


def run(options: Options) -> int:
    if options.format is not None:
        renderer(options.format)  # an unknown one ends the run before it begins
    share = _share(options)
    workers = cores() if options.jobs is None else options.jobs
    limits = of_jobs(options.budget, workers, options.job_seconds, options.job_memory, options.engine == LOCAL)
    engine = _engine(options, limits)
    path = options.store or Path(f"odernn-{share.index}-of-{share.count}.sqlite" if share else "odernn.sqlite")
    expected = _expected(options.expect)
    settings = _settings(options)
    registry = Registry(options.claims_dirs)
    the_plan = planned(settings, registry, limits)
    _prepare_data(options)
    started = time.monotonic()
    mended(path)
    with Store(path, writable=True) as store:
        if not options.quiet:
            note(_header(settings))
        with engine as remote, nullcontext(_silent) if options.quiet else progress() as report:
            say = None if options.quiet else note
            execute(
                the_plan,
                store,
                workers=workers,
                limits=limits,
                progress=report,
                say=say,
                remote=remote,
                share=share,
            )
        if share is not None:
            out(_of_share(share, the_plan, store))
            return _failures([job.key for job in share.of(the_plan.independent)], store)
        results = latest(store)
    folder = options.witnesses or witnesses_beside(path)
    write_witnesses(results.judgements, folder, results.facts.provenance)
    if options.json or options.full or options.format is not None:
        _print_table(results, folder, options, registry)
    else:
        _print_screen(results, folder, path, options, registry)
    if not options.quiet:
        note(f"done in {time.monotonic() - started:.0f} s; results are in {path}")
    code = DONE if expected is None else _compare(results.judgements, expected, options.expect)
    return _errors(results.judgements, expected or {}) or code


def _silent(kind: str, done: int, total: int) -> None:
    """Progress that nobody wants to see."""


# --- before the run ---------------------------------------------------------------------------------------------


def _expected(path: Path | None) -> dict[str, str] | None:
    if path is None:
        return None
    from verification.commands import expectations

    return expectations.read(path)


def _share(options: Options) -> Share | None:
    if options.shard is None:
        return None
    of_results = (options.json, options.full, options.expect, options.witnesses, options.format, options.wanted)
    if any(of_results):
        raise UsageError(
            "--shard: a part of a run has no table, so --format, --full, --json, --paper, --only, --expect "
            "and --witnesses are for the command after `odernn merge`. Leave them out."
        )
    from verification.run.shards import Share

    return Share.parse(options.shard)


def _engine(options: Options, limits: Limits) -> AbstractContextManager[Engine | None]:
    """Where the jobs run: None stands for processes here."""
    if options.engine == LOCAL:
        return nullcontext()
    from verification.run import cluster

    address = cluster.Address.parse(options.engine)
    if options.jobs is not None:
        raise UsageError("--jobs: is for processes here; a cluster has the workers that it has. Leave it out.")
    return cluster.connected(address, tuple(map(str, options.claims_dirs)), limits=limits)


def _settings(options: Options) -> Settings:
    one_of("budget", options.budget, tuple(BUDGETS))
    one_of("task", options.task, TASKS)
    if options.task == "digits" and (options.data is not None or options.download):
        raise UsageError("--data and --download are about MNIST's files. Add --task mnist, or leave them out.")
    return Settings(
        budget=options.budget,
        seed=options.seed,
        task=options.task,
        claims=options.claims,
        claims_dirs=tuple(str(folder) for folder in options.claims_dirs),
        data=str(options.data) if options.data else None,
        device=device_name(options.device),
    )


def _prepare_data(options: Options) -> None:
    """Fetch MNIST if asked, and read it once: missing data ends the run before it begins."""
    if options.task != "mnist":
        return
    from verification.tasks import mnist

    if options.download:
        folder = options.data or os.environ.get(mnist.ENVIRONMENT)
        if not folder:
            raise UsageError(f"--download: say where to, with --data FOLDER or in {mnist.ENVIRONMENT}.")
        note(f"fetching MNIST from {mnist.MIRROR} into {folder}")
        mnist.download(folder)
    mnist.load(options.data)


def _header(settings: Settings) -> str:
    import torch

    from odernn import executions

    installed = executions.installed()
    usable = ", ".join(name for name, is_there in installed.items() if is_there)
    missing = ", ".join(name for name, is_there in installed.items() if not is_there)
    place = () if settings.device == "cpu" else (f"device {settings.device}",)
    where = f"executions: {usable}" + (f" (not {missing}: `odernn doctor` says why)" if missing else "")
    versions = f"odernn {odernn.__version__}", f"torch {torch.__version__}", "float64", *place
    return header(*versions, f"seed {settings.seed}", f"budget {settings.budget}", where)


# --- the run, and after it --------------------------------------------------------------------------------------


def _of_share(share: Share, the_plan: Plan, store: Store) -> str:
    mine = share.of(the_plan.independent)
    judges = [job.key for job in the_plan.judging if job.kind == "judge"]
    ended_badly = sum(failed(store.data(job.key)) for job in mine)
    faults = f", {ended_badly} failed (the same command tries them again)" if ended_badly else ""
    return (
        f"shard {share}: {plural(len(mine), 'job')}{faults}, {len(store.has(judges))} of {len(judges)} judgements; "
        f"results are in {store.path}. With the stores of all shards: odernn merge STORE... --into FILE\n"
    )


def _print_screen(results: JudgedRun, folder: Path, store: Path, options: Options, registry: Registry) -> None:
    """One screen for people, or with --quiet its last line."""
    from verification.report.rows import screen

    wanted, run = options.wanted, results.judgements
    shown, left_out = wanted.claims(run, papers_of(run, registry))
    facts, where = results.facts, (str(store), str(folder))
    page = screen.Screen(run, shown, facts, *where, width=width(), only=wanted.only, left_out=left_out)
    lines = list(map(harmless, [page.last()] if options.quiet else page.lines()))
    if not options.quiet and is_coloured(options.color):
        from verification.commands import colour  # with rich, which a pipe does without

        lines = colour.screen(lines)
    out("\n".join(lines) + "\n")


def _print_table(results: JudgedRun, folder: Path, options: Options, registry: Registry) -> None:
    """For people: summary, refutations, table. For a format that something else reads, stdout holds the table only."""
    run, facts = results.judgements, results.facts
    shown, left_out = options.wanted.of(run, registry)
    if options.json:
        from verification.report.formats import json as json_format

        names = rows.witness_names(run)
        if left_out:
            note(f"odernn: left out: {left_out}")
        out("".join(json_format.line(rows.record(judgement, facts, names)) + "\n" for judgement in shown))
        return
    lines = [rows.summary(shown, run)]
    lines += rows.refutations(shown, str(folder), facts.claims_dirs, run)
    if left_out:
        lines.append(rows.LABEL.format("left out") + left_out)
    lines = [part for line in lines for part in labelled(line, fitting())]
    table = rendered(rows.table(shown, facts, full=options.full, among=run), options.format or "text")
    if options.format in (None, "text"):
        out("\n".join([*lines, "", coloured(table, options.color)]))
    else:
        note("\n".join(lines))
        out(table)


def _errors(judgements: Sequence[Judgement], expected: dict[str, str]) -> int:
    """Say which cells are errors, but for those that are expected to be: an error is no success."""
    found = [cell for cell, verdict in rows.verdicts(judgements).items() if verdict == ERROR != expected.get(cell)]
    return _said([f"error: {cell}" for cell in found])


def _failures(keys: Sequence[str], store: Store) -> int:
    """The same of the jobs of a shard."""
    specs = [store.spec(key) for key in keys if failed(store.data(key))]
    words = [", ".join(str(spec[name]) for name in ("kind", "claim", "domain") if name in spec) for spec in specs]
    return _said([f"error: {each}" for each in words])


def _said(lines: Sequence[str]) -> int:
    for line in [*lines[:MOST_LINES], *([f"and {len(lines) - MOST_LINES} more"] if lines[MOST_LINES:] else [])]:
        note(harmless(f"odernn: {line}"))
    return FAILED if lines else DONE


def _compare(judgements: Sequence[Judgement], expected: dict[str, str], path: Path | None) -> int:
    differences = rows.differences(rows.verdicts(judgements), expected)
    for line in differences:
        note(harmless(line))
    if differences:
        note(f'odernn: {len(differences)} of the verdicts are not those of "{path}"')
    return DIFFERENCE if differences else DONE
