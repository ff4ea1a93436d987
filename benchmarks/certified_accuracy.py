"""Certified, attacked and clean accuracy over radii, on sequential digits; intervals and products of norms beside them.

    python benchmarks/certified_accuracy.py                 all that the record lacks, then docs/guarantees.md's table
    python benchmarks/certified_accuracy.py --seconds 600   begins no run after that time; the same command goes on
    python benchmarks/certified_accuracy.py --jobs 2        two runs at a time, each on one thread (default: 1)
    python benchmarks/certified_accuracy.py --page          only the table and the curve, from the record

Of each of ``_certified_plan.CONTESTANTS`` and of every test image: the radius that ``odernn.robustness`` certifies, the
smallest one at which projected gradient ascent changes the class, and the radius that intervals keep; of the network
the product of norms of its steps. Every certified ball is attacked once more at its own radius. Weights stay in
build/certified, so that a change of the certificate trains nothing. results/certified_accuracy.json is written after
every run.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import Any

import _certified_plan as plan
import _interval_peers as peers
import torch
from _certified_plan import Contestant
from _harness import RESULTS, machine
from _prices import PAGE, opened, with_table
from tabulate import tabulate
from torch import Tensor

from odernn import robustness
from verification.adversary import input_ball

NAME = "certified_accuracy"
SEEDS = (0, 1, 2)
JUDGED = 1
"""Raise it where certificates, attacks or peers change: weights are then judged again."""

RADII = (0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5)
TRIED = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Radii at which the attack begins, before it bisects."""

WEIGHTS = RESULTS.parent.parent / "build" / "certified"


def keys() -> dict[str, tuple[Contestant, int]]:
    return {f"{each.name}, seed {seed}": (each, seed) for seed in SEEDS for each in plan.CONTESTANTS}


def digest(contestant: Contestant) -> str:
    return f"{contestant.digest()}.{JUDGED}"


def judged(key: str) -> dict[str, Any]:
    """One network: trained, or as it lies in build/, and all that is measured of it."""
    torch.set_num_threads(1)
    contestant, seed = keys()[key]
    file = WEIGHTS / f"{contestant.digest()}_{seed}.pt"
    begun = time.process_time()
    if file.exists():
        model = plan.untrained(contestant, seed).eval()
        model.load_state_dict(torch.load(file))
    else:
        model = plan.trained(contestant, seed)
        WEIGHTS.mkdir(parents=True, exist_ok=True)
        torch.save(model.state_dict(), file)
    learned = time.process_time()
    u, labels = plan.data("test")
    found = robustness(model, u, labels)
    proved = time.process_time()
    generator = torch.Generator().manual_seed(seed)
    attacked = input_ball.nearest(model, u, labels, torch.tensor(TRIED), halvings=5, generator=generator)
    intervals = peers.interval_radii(model.cell, model.readout, u, labels, halvings=16)
    return {
        "accuracy": found.accuracy,
        "certified": None if found.radii is None else curve(torch.tensor(found.radii)),
        "attacked": curve(attacked),
        "intervals": curve(intervals),
        "norms": curve(norm_radii(model, u, labels)),
        "medians": medians(found.radii, attacked, intervals, norm_radii(model, u, labels)),
        "violated": None if found.radii is None else violated(model, u, labels, found.radii, attacked, generator),
        "seconds": [round(learned - begun, 1), round(proved - learned, 1)],
        "digest": digest(contestant),
        "machine": machine(),
    }


def curve(radii: Tensor) -> list[float]:
    """The share of sequences whose radius is at least each of RADII."""
    return [round(float((radii >= radius).double().mean()), 4) for radius in RADII]


def norm_radii(model: plan.Digits, u: Tensor, labels: Tensor) -> Tensor:
    """margin/(L ‖R_i − R_j‖), L the product of norms."""
    with torch.no_grad():
        scores, R = model(u).double(), model.readout.weight.double()
        log_L = peers.log_product_of_norms(model.cell, len(u))
        apart = (R[labels][:, None] - R).norm(dim=2)
        margins = scores.gather(1, labels[:, None]) - scores
        logs = margins.clamp(min=0.0).log() - apart.log() - log_L
        return logs.scatter(1, labels[:, None], math.inf).amin(dim=1).clamp(min=-700.0).exp()


def medians(certified: Sequence[float] | None, *others: Tensor) -> dict[str, float | None]:
    """Of the radii of rightly classified sequences, and of certified over attacked ones."""
    attacked = others[0]
    right = (attacked > 0) & torch.isfinite(attacked)
    names = ("attacked", "intervals", "norms")
    found: dict[str, float | None] = {
        name: float(f"{float(each[right].double().median()):.4g}") for name, each in zip(names, others, strict=True)
    }
    if certified is not None:
        own = torch.tensor(certified)
        found["certified"] = float(f"{float(own[right].median()):.4g}")
        found["ratio"] = float(f"{float((own[right] / attacked[right]).median()):.4g}")
    return found


def violated(
    model: plan.Digits, u: Tensor, labels: Tensor, radii: Sequence[float], attacked: Tensor, generator: torch.Generator
) -> list[int]:
    """How many certified balls hold an input of another class, and how many there are."""
    own = torch.tensor(radii, dtype=torch.float64)
    point = input_ball.moved(model, u, labels, own, steps=40, generator=generator)
    with torch.no_grad():
        broken = (input_ball.lead(model(point), labels) >= 0) | (attacked <= own)
    return [int((broken & (own > 0)).sum()), int((own > 0).sum())]


# --- the page


def table(runs: Mapping[str, Any]) -> str:
    rows = list(_rows(runs))
    return tabulate(rows, headers=HEADERS, tablefmt="github", disable_numparse=True) + "\n\n" + curves(runs)


HEADERS = (
    "network, training",
    "seeds",
    "clean",
    "certified at 0.05",
    "attacked at 0.05",
    "median radius: certified",
    "attacked",
    "ratio",
    "intervals",
    "norms",
    "certified and broken",
)


def _of(runs: Mapping[str, Any], contestant: Contestant) -> list[Any]:
    found = [runs.get(f"{contestant.name}, seed {seed}") for seed in SEEDS]
    return [each for each in found if each is not None]


def _rows(runs: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    at = RADII.index(0.05)
    for contestant in plan.CONTESTANTS:
        found = _of(runs, contestant)
        if not found:
            continue
        has = found[0]["certified"] is not None

        def mean(of: Sequence[float]) -> str:
            return f"{statistics.mean(of):.1%}"

        def middle(name: str, found: list[Any] = found) -> str:
            value = statistics.median(each["medians"][name] for each in found)
            return f"{value:.2g}" if value else f"< {peers.LEAST:g}"

        yield (
            contestant.name,
            str(len(found)),
            mean([each["accuracy"] for each in found]),
            mean([each["certified"][at] for each in found]) if has else "–",
            mean([each["attacked"][at] for each in found]),
            middle("certified") if has else "–",
            middle("attacked"),
            middle("ratio") if has else "–",
            middle("intervals"),
            middle("norms"),
            f"{sum(e['violated'][0] for e in found)} of {sum(e['violated'][1] for e in found)}" if has else "–",
        )


def curves(runs: Mapping[str, Any]) -> str:
    """Certified, then attacked accuracy at every radius, means over seeds."""
    rows = []
    for contestant in plan.CONTESTANTS:
        found = _of(runs, contestant)
        for kind in ("certified", "attacked"):
            if found and found[0][kind] is not None:
                shares = [statistics.mean(each[kind][k] for each in found) for k in range(len(RADII))]
                rows.append((contestant.name, kind, *(f"{100 * share:.0f}" for share in shares)))
    headers = ("network, training", "% right within ‖δu‖₂ ≤", *(f"{radius:g}" for radius in RADII))
    return tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True)


def page(text: str, runs: Mapping[str, Any]) -> str:
    """The page with the tables of the record in their place."""
    return with_table(text, NAME, table(runs))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1, help="so many runs at a time")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no run after that time")
    parser.add_argument("--page", action="store_true", help="train nothing")
    options = parser.parse_args()
    runs = opened(NAME)
    if not options.page:
        wanted = [key for key, (each, _) in keys().items() if runs.get(key, {}).get("digest") != digest(each)]
        _run(wanted, runs, options.jobs, time.monotonic() + options.seconds)
    PAGE.write_text(page(PAGE.read_text("utf-8"), runs), encoding="utf-8")
    return 0


def _run(wanted: list[str], runs: dict[str, Any], jobs: int, until: float) -> None:
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        running: dict[Future[dict[str, Any]], str] = {}
        while running or (wanted and time.monotonic() < until):
            while wanted and len(running) < jobs and time.monotonic() < until:
                key = wanted.pop(0)
                running[pool.submit(judged, key)] = key
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                key = running.pop(done)
                runs[key] = done.result()
                record = {"benchmark": NAME, "runs": {each: runs[each] for each in sorted(runs)}}
                (RESULTS / f"{NAME}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
                sys.stdout.write(f"{key}: {runs[key]['accuracy']:.2%} {runs[key]['medians']} {runs[key]['violated']}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
