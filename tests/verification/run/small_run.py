"""A small run as a program of its own, so that it can be killed: ``small_run.py STORE [options]`` prints JSON.

Everything is as in `odernn verify` but for a budget of a few rungs, a printed row of 40 steps and short controls. They
are put in place on import, because a spawned worker imports this file, too.
"""

import argparse
import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from odernn.published.networks import row
from verification import answer
from verification.domains import BUDGETS, Budget, SearchPoint
from verification.registry import Registry
from verification.run import plan as planning
from verification.run.cluster import Address, connected
from verification.run.engine import Engine, Finished, Jobs
from verification.run.execute import execute as executed
from verification.run.job import Settings
from verification.run.jobs import measure
from verification.run.plan import Plan
from verification.run.shards import Share, merge
from verification.run.store import Store

ROW = replace(row("psMNIST-128"), steps=40, hidden_size=8)
LADDERS = (("1/100", "15", "1/5"), ("1", "4", "1/10"), ("0", "4", "1/10"))
BUDGETS["tiny"] = Budget("tiny", 1, 1, LADDERS, (("0", "49/100", 3),), 8, 60, (1.0, 0.5), 2, drawn=1)
for counts in (answer.DRAWN, answer.DRAWN_IF_COSTLY, answer.SPREAD, answer.SPREAD_IF_SLOW):
    counts["tiny"] = 1
measure.published_row = lambda name: ROW
planning.printed_rows = lambda: (ROW,)
planning.CONTROL_POINTS = tuple(
    SearchPoint("control", Fraction(alpha), (Fraction(1, 20),), 60, 1, 1, f"control α = {alpha}") for alpha in (0, 1)
)


def kill_at(moment: float) -> None:
    """SIGKILL for this process: before (k) or after (k + 1/2) the k-th result is put into the store; a negative moment
    is a time in seconds.
    """
    if moment < 0:
        threading.Timer(-moment, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        return
    put, count = Store.put, iter(range(10**6))

    def deadly_put(self, *args, **options):
        number = next(count)
        if number == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        put(self, *args, **options)
        if number + 0.5 == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    Store.put = deadly_put


def patched(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """In the child of a cluster's worker, which has to import this file for it."""
    return function(*arguments)


def on_cluster(engine: Engine) -> Engine:
    """The engine, whose workers have what this file puts in place."""
    from tests.verification.run import small_run  # by a name that they know

    def perform(function: Callable[..., Any], jobs: Jobs, /, **options: Any) -> Iterator[Finished]:
        of_patched = ((key, (function, arguments)) for key, arguments in jobs)
        return engine(small_run.patched, of_patched, **options)

    return perform


def execute(plan: Plan, path: Path, options: argparse.Namespace) -> dict:
    done = []
    share = Share.parse(options.shard) if options.shard else None
    cluster = connected(Address.parse(options.engine), plan.settings.claims_dirs) if options.engine else nullcontext()
    with Store(path, writable=True) as store, cluster as remote:
        finished = len(store.has(job.key for job in (*plan.measuring, *plan.judging)))
        judgements = executed(
            plan,
            store,
            workers=options.workers,
            progress=lambda *event: done.append(event),
            remote=remote and on_cluster(remote),
            share=share,
        )
    return {"judgements": [each.to_plain() for each in judgements], "finished": finished, "progress": done}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--claims", default="icml-C.1,sam-D.1-b,thm-S-Q")
    parser.add_argument("--claims-dir", action="append", default=[])
    parser.add_argument("--kill-at", default="")
    parser.add_argument(
        "--before",
        type=Path,
        nargs=2,
        action="append",
        default=[],
        help="a run of a process of its own that comes first: its store, and where it is printed",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shard", default="")
    parser.add_argument("--shards", type=int, default=0, help="that many first, into STORE.1 …, merged into STORE")
    parser.add_argument("--rungs", type=int, default=len(LADDERS), help="of the budget's ladder, so many")
    parser.add_argument("--engine", default="")
    options = parser.parse_args()
    if options.engine:
        importlib.import_module("tests.verification.run.small_run")  # before the budget is what the options say
    BUDGETS["tiny"] = replace(BUDGETS["tiny"], ladders=LADDERS[: options.rungs])
    settings = Settings(
        budget="tiny",
        seed=options.seed,
        claims=tuple(filter(None, options.claims.split(","))),
        claims_dirs=tuple(options.claims_dir),
    )
    plan = planning.plan(settings, Registry(tuple(map(Path, options.claims_dir))))
    # cases beside a bound on states know the named budgets only
    bounds = {job.spec["claim"] for job in plan.judging if job.kind == "judge"}
    kept = (job for job in plan.judging if job.kind == "judge" or job.spec["claim"] not in bounds)
    plan = replace(plan, judging=tuple(kept))
    parts = [options.store.with_name(f"{options.store.name}.{k}") for k in range(1, options.shards + 1)]
    for number, part in enumerate(parts, 1):
        options.shard = f"{number}/{options.shards}"
        execute(plan, part, options)
    if parts:
        options.shard = ""
        merge(parts, options.store)
    for store, printed in options.before:
        child = os.fork()
        if child == 0:
            printed.write_text(json.dumps(execute(plan, store, options)))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    deaths = []
    for moment in map(float, filter(None, options.kill_at.split(","))):
        child = os.fork()
        if child == 0:
            kill_at(moment)
            execute(plan, options.store, options)
            os._exit(0)
        deaths.append(-os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    json.dump(execute(plan, options.store, options) | {"deaths": deaths}, sys.stdout)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background processes inherit it ignored
    main()
