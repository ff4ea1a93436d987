"""``odernn verify --checkpoint``: what holds for a trained network on sequences of its task, printed and kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import odernn
from odernn.written.lines import labelled
from verification import tasks
from verification.commands.results import mended, rendered, witnesses_beside, write_witnesses
from verification.commands.task import settings_of
from verification.commands.terminal import DONE, UsageError, fitting, harmless, header, note, out, progress
from verification.registry import Registry
from verification.report.formats import json as json_format
from verification.report.formats import renderer
from verification.report.rows import checkpoints as checkpoint_rows
from verification.report.rows.claims import TRAINED
from verification.run import arithmetic, provenance
from verification.run.provenance import Provenance
from verification.run.store import Store, StoreError
from verification.verdict import Judgement

if TYPE_CHECKING:
    from torch import Tensor

    from verification.models.trial_result import ModelTrial
    from verification.trained.files import Stored
    from verification.trained.loading import Trained
    from verification.trained.row import Row
    from verification.trained.runs import Sample
    from verification.trained.trial import Ledger


@dataclass(frozen=True)
class CheckpointOptions:
    """What the command line says of a checkpoint."""

    checkpoint: Path
    config: str | None
    row: str | None
    task: str | None
    root: Path | None
    settings: tuple[str, ...]
    sequences: int
    store: Path
    claims_dirs: tuple[Path, ...]
    cells_dirs: tuple[Path, ...]
    tasks_dirs: tuple[Path, ...]
    format: str
    json: bool
    witnesses: Path | None


def run(options: CheckpointOptions) -> int:
    """Load, run, keep, print. Errors name the file, the tensor, the found and the expected shape.

    What cannot be kept, on a full disk, is printed before the error is.
    """
    from verification.trained import files, loading, runs, trial
    from verification.training import own_files, splits

    renderer(options.format)  # an unknown one ends the run before it begins
    arithmetic.check(thoroughly=True)
    stored = files.read(options.checkpoint, config=options.config, row=options.row, task=options.task)
    stored = replace(stored, configuration=_with_task(stored, options))
    own_files.check(stored.own_files, stored.configuration, f'Checkpoint "{options.checkpoint}"')
    data = splits.load(stored.configuration, "test", options.root)
    trained = loading.load(stored, data.spec)
    sample = runs.sample(data, options.sequences)
    registry = Registry(options.claims_dirs)
    commit = provenance.commit()  # before the store is locked, see ``Plan``
    mended(options.store)
    with Store(options.store, writable=True) as store, progress() as report:
        note(_header(trained, sample))
        ledger = trial.try_network(trained, sample, registry, report)
        judgements = _judgements(ledger.rows, options.checkpoint, sample.count)
        facts = _facts(trained, sample, options)
        name = f"checkpoint {_hash(facts)[:16]}"
        source = provenance.of_run(name, facts | {"commit": commit})
        failure: StoreError | UsageError | None = None
        try:
            _keep(store, name, facts | {"commit": commit}, ledger, judgements)
        except StoreError as error:
            failure = error
    folder = options.witnesses or witnesses_beside(options.store)
    try:
        write_witnesses(judgements, folder, source)
    except UsageError as error:
        failure = failure or error
    found = None if judgements else _recurrences(trained, sample)
    _print(ledger, judgements, trained, sample, options, folder, source, found)
    if failure is not None:
        raise failure
    note(f"results are in {options.store}")
    return DONE


def _with_task(stored: Stored, options: CheckpointOptions) -> Any:
    """The checkpoint's configuration with the task of the command line: its own options stay if it is the same."""
    own = stored.configuration.task
    name = own.name if options.task is None else options.task.strip().casefold().replace(" ", "_").replace("-", "_")
    kept = dict(own.options) if name == own.name else {}
    try:
        task = tasks.get(name, options.tasks_dirs)
    except KeyError as error:
        raise UsageError(f"--task {name}: {error.args[0]} `odernn task` shows them.") from None
    chosen = replace(own, name=name, options=kept | settings_of(task, options.settings))
    described = replace(stored.configuration, task=chosen)
    return described.found_in(cells=options.cells_dirs, tasks=options.tasks_dirs)


def _header(trained: Trained, sample: Sample) -> str:
    plan = trained.stored.configuration.network
    dtype = str(trained.dtype).removeprefix("torch.")
    layers = f"{plan.num_layers} × {plan.hidden_size}"
    return header(
        f"odernn {odernn.__version__}", f"{plan.cell}, {layers}, {dtype}", str(sample), f"{sample.steps} steps"
    )


def _recurrences(trained: Trained, sample: Sample) -> ModelTrial | None:
    """What its recurrences do on these sequences (docs/models.md), in float64; E is the task's own loss.

    Of weights without a readout, E is that of a model without targets. None, after a note, where it cannot be said.
    """
    from verification.models.loading import said
    from verification.models.model_trial import trial
    from verification.trained.runs import widened
    from verification.training.network import loss_sum

    model = widened(trained.model)

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        return loss_sum(outputs, targets, sample.spec, sample.real) / sample.count

    loss.__name__ = f"{sample.spec.loss} of the task"
    try:
        if not trained.has_readout:
            return trial(model.recurrent, sample.inputs, batch_first=False)
        return trial(model, sample.inputs, sample.targets, loss=loss, batch_first=False)
    except Exception as error:  # a cell of one's own may refuse to be looked at
        note(f"what its recurrences do is not said: {said(error)}")
        return None


def _print(
    ledger: Ledger,
    judgements: Sequence[Judgement],
    trained: Trained,
    sample: Sample,
    options: CheckpointOptions,
    folder: Path,
    source: Provenance,
    found: ModelTrial | None,
) -> None:
    """For people: summary, table, and what the recurrences of a cell without bounds do.

    For a format that something else reads, stdout holds the table or lines only.
    """
    from verification.models.found import plain
    from verification.models.page import page
    from verification.report.rows import claims as rows
    from verification.trained.row import Row

    if options.json:
        of_all = {
            "checkpoint": str(options.checkpoint),
            "odernn": source.version,
            "commit": source.commit,
            "run": source.run,
        }
        records = [{**checkpoint_rows.record(row), **of_all} for row in ledger.rows]
        if found is not None:
            row = Row("measured", 0, "recurrences", source="verification.trial")
            records.append({**checkpoint_rows.record(row), "found": plain(found, found.verdict), **of_all})
        out("".join(json_format.line(record) + "\n" for record in records))
        return
    table = checkpoint_rows.table(
        ledger.rows, title=f"What holds for {options.checkpoint}", caption=_caption(ledger, trained, sample, source)
    )
    lines = [*checkpoint_rows.summary(ledger.rows)]
    replays = [line for line in rows.refutations(judgements, str(folder), _texts(options)) if "replay:" in line]
    lines = [part for line in [*lines, *replays] for part in labelled(harmless(line), fitting())]
    written = rendered(table, options.format)
    of_recurrences = [] if found is None else ["", "What its recurrences do", "", page(found, fitting()), ""]
    if options.format == "text":
        out("\n".join([*lines, "", written, *of_recurrences]))
    else:
        note("\n".join([*lines, *of_recurrences]))
        out(written)


def _texts(options: CheckpointOptions) -> tuple[str, ...]:
    return tuple(map(str, options.claims_dirs))


def _caption(ledger: Ledger, trained: Trained, sample: Sample, source: Provenance) -> tuple[str, ...]:
    stored, plan = trained.stored, trained.stored.configuration.network
    names = f", names of {trained.mapping}" if trained.mapping else ""
    arguments = ", ".join(f"{key} = {value}" for key, value in plan.options.items())
    return (
        f"{source.words}. Trained network: {stored.path} ({stored.kind}{names}), {plan.cell}, "
        f"hidden_size {plan.hidden_size}, num_layers {plan.num_layers}{', ' + arguments if arguments else ''}; "
        f"described by {stored.described_by}.",
        f"Data: {sample}, the first ones. {sample.spec.describe()}.",
        *ledger.notes,
    )


# --- the store


def _judgements(rows: Sequence[Row], checkpoint: Path, sequences: int) -> list[Judgement]:
    """The rows with a bound, in the store's form: `odernn table` prints them, too."""
    return [
        Judgement(
            claim=row.statement,
            domain=_domain(checkpoint),
            layer=row.layer,
            quantity=row.quantity,
            norm="",
            symbol=row.quantity,
            reading=row.reading,
            verdict=row.verdict,
            because=row.because,
            origin=row.origin,
            point=row.at,
            log_bound=row.log_bound,
            log_worst=_finite(row.log_measured),
            slack=row.slack,
            witness=row.witness,
            evaluations=sequences,
        )
        for row in rows
        if row.kind == "bound"
    ]


def _domain(checkpoint: Path) -> str:
    return f"{TRAINED}{checkpoint.name if checkpoint.suffix else checkpoint.resolve().name}"


def _finite(log: float | None) -> float | None:
    return None if log is None or log == -float("inf") else log


def _facts(trained: Trained, sample: Sample, options: CheckpointOptions) -> dict[str, Any]:
    """What fixes the run, by whose hash it is named."""
    from verification.training import checkpoints, own_files

    stored = trained.stored
    return {
        "version": odernn.__version__,
        "budget": "none: a trained network",
        "seed": 0,
        "claims_dirs": _texts(options),
        "checkpoint": str(stored.path),
        "sha256": checkpoints.digest(stored.tensors),
        "task": sample.spec.name,
        "data": sample.spec.sha256,
        "sequences": sample.count,
        "configuration": stored.configuration.to_plain(),
        **own_files.recorded(stored.configuration),
    }


def _keep(store: Store, name: str, facts: dict[str, Any], ledger: Ledger, judgements: Sequence[Judgement]) -> None:
    """One run: a job for every judgement; margins and measurements among the measurements of step 0."""
    keys = []
    for judgement in judgements:
        about = {"checkpoint": name, "claim": judgement.claim, "layer": judgement.layer, "quantity": judgement.quantity}
        keys.append(_hash(about))
    claims = sorted({judged.claim for judged in judgements})
    store.begin_run(name, {**facts, "claims": claims, "floats": arithmetic.environment()}, keys)
    for key, judgement in zip(keys, judgements, strict=True):
        spec = {"kind": "checkpoint", "run": name, "claim": judgement.claim, "layer": judgement.layer}
        store.put(key, kind="judge", spec=spec, data=[judgement.to_plain()], arrays={}, wall_s=0.0)
    store.put_measurements(name, 0, [_measurement(row) for row in ledger.rows if row.kind != "bound"])
    store.complete_run(name)


def _measurement(row: Row) -> tuple[Any, ...]:
    """As ``Store.put_measurements`` takes them."""
    holds = {"holds": 1, "fails": 0}.get(row.verdict)
    layer = f"layers.{row.layer - 1}" if row.layer else ""
    return (layer, row.quantity, row.statement or row.source, row.value, None, None, None, None, holds, "", None)


def _hash(about: Any) -> str:
    text = json.dumps(about, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
