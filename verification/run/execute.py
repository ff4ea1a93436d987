"""Running a plan: the jobs that the store lacks, then the judgements of its table.

Equal keys mean equal results (``verification.run.keys``), so a killed run resumes, and a changed claim is tried again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import odernn
from verification.run import arithmetic, engine, jobs
from verification.run.closure import library_digest, versions
from verification.run.engine import Engine, Watch
from verification.run.job import Job, Result, Settings
from verification.run.limits import Limits
from verification.run.plan import Plan
from verification.run.store import Store, failed
from verification.verdict import Judgement

if TYPE_CHECKING:
    from verification.run.shards import Share

_SAID = ("kind", "claim", "owner", "system", "row", "domain", "quantity", "layer")
"""What of a job's spec tells it from others."""

MOST_WORDS, MOST_WITNESS = 2**15, 2**26
"""Characters of a text in an answer, and of its witness."""


def execute(
    the_plan: Plan,
    store: Store,
    *,
    workers: int = 0,
    progress: Callable[[str, int, int], None] = lambda *_: None,
    remote: Engine | None = None,
    share: Share | None = None,
    limits: Limits | None = None,
    say: Callable[[str], None] | None = None,
) -> list[Judgement]:
    """Do what the store lacks, then return the table's judgements. ``progress(kind, done, total)`` is called after
    every job.

    The cells of a job that fails get the verdict ``error``, and a later run tries it again. ``remote`` does the jobs
    where the store's file is not; otherwise ``workers`` processes here do, each job within ``limits``. Of a ``share``
    only its own judgements come back. ``say`` hears of jobs that run for long. FloatError, and nothing is kept, where
    arithmetic is not IEEE 754's: a job that changes it fails.
    """
    arithmetic.check(thoroughly=True)
    settings = the_plan.settings
    jobs_by_key = {job.key: job for job in (*the_plan.measuring, *the_plan.judging)}
    watch = engine.nobody if say is None else Heartbeat(say, lambda key: described(jobs_by_key[key].spec))
    perform = remote or partial(engine.run, workers=workers, limits=limits)
    keys = [job.key for job in the_plan.judging]
    store.begin_run(the_plan.name, _record(the_plan, share), keys)
    here = None if share is None else {job.key for job in share.of(the_plan.independent)}
    measuring = [job for job in the_plan.measuring if here is None or job.key in here]
    _do(store, measuring, settings, lambda job: (job, settings), perform, watch, progress, "searching")

    def with_results(job: Job) -> tuple[Any, ...]:
        return job, settings, store.extract(job.needs) if remote else store.path

    judging = the_plan.judging if share is None or here is None else _judged_by(share, here, the_plan, store)
    _do(store, judging, settings, with_results, perform, watch, progress, "judging")
    if share is not None:
        return judgements_of(store, [job.key for job in judging])
    store.complete_run(the_plan.name)
    return judgements_of(store, keys)


class Heartbeat:
    """Says which job has run for long: after FIRST_S, and after twice the time each."""

    FIRST_S = 60.0

    def __init__(self, say: Callable[[str], None], words: Callable[[str], str]) -> None:
        self._say, self._words = say, words
        self._next: dict[str, float] = {}

    def __call__(self, running: dict[str, float]) -> None:
        for key, seconds in running.items():
            if seconds >= self._next.get(key, self.FIRST_S):
                self._next[key] = 2 * seconds
                self._say(f"odernn: for {seconds:.0f} s at work on {self._words(key)}")


def described(spec: Mapping[str, Any]) -> str:
    """A job in a few words."""
    return ", ".join(f"{name} {spec[name]}" if name == "layer" else str(spec[name]) for name in _SAID if name in spec)


def _record(the_plan: Plan, share: Share | None) -> dict[str, Any]:
    """What the store keeps of a plan: enough to tell whether two stores belong together, and what they lack."""
    facts = {
        "version": odernn.__version__,
        "commit": the_plan.commit,
        "source": library_digest(),
        "with": versions(),
        "floats": arithmetic.environment(),
        "independent": [job.key for job in the_plan.independent],
    }
    return the_plan.settings.to_plain() | facts | ({} if share is None else {"shard": str(share)})


def _judged_by(share: Share, here: set[str], the_plan: Plan, store: Store) -> list[Job]:
    """The cases of a share, and its judgements that need nothing which the store lacks."""
    judges = share.of([job for job in the_plan.judging if job.kind == "judge"])
    ready = {job.key for job in judges if store.has(job.needs) == set(job.needs)}
    return [job for job in the_plan.judging if job.key in here or job.key in ready]


def _do(
    store: Store,
    todo: Sequence[Job],
    settings: Settings,
    arguments: Callable[[Job], tuple[Any, ...]],
    perform: Engine,
    watch: Watch,
    progress: Callable[[str, int, int], None],
    label: str,
) -> None:
    by_key = {job.key: job for job in todo}
    finished = {key for key in store.has(by_key) if not failed(store.data(key))}
    missing = ((key, arguments(job)) for key, job in by_key.items() if key not in finished)
    progress(label, len(finished), len(by_key))
    for number, outcome in enumerate(perform(jobs.perform, missing, watch=watch), len(finished) + 1):
        job = by_key[outcome.key]
        result = Result(None) if outcome.error else outcome.value
        if because := _clipped(outcome.error) or _unfit(result.data):
            result = Result(jobs.errors(job, settings, because))
        store.put(
            outcome.key, kind=job.kind, spec=job.spec, data=result.data, arrays=result.arrays, wall_s=outcome.wall_s
        )
        progress(label, number, len(by_key))


def _clipped(text: str) -> str:
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")  # SQLite's texts have no lone surrogates
    return text if len(text) <= MOST_WORDS else f"{text[:MOST_WORDS]}… ({len(text):,} characters)"


def _unfit(data: Any) -> str:
    """Why the cells of a job are not kept: a claim of one's own may say anything, but not at any length."""
    for cell in data if isinstance(data, list) else ():
        for name, text in cell.items():
            most = MOST_WITNESS if name in ("witness", "given") else MOST_WORDS
            if isinstance(text, str) and len(text) > most:
                return f"{name} of its answer has {len(text):,} characters, and {most:,} are the most that are kept"
    try:
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        return f"its answer has the lone surrogate {error.object[error.start]!a}, which is no character of UTF-8"
    return ""


def judgements_of(store: Store, keys: list[str]) -> list[Judgement]:
    """The judgements of finished judge jobs, in the order of their keys."""
    return [Judgement(**plain) for key in keys for plain in store.data(key)]
