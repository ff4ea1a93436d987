"""What does ``BoundMonitor(model, every=100)`` cost a training run?

Two peers take turns on one model: a step of training, and one with a monitor that records every step. The hooks of a
monitor that records nothing are timed on a module without work, as they cost too little to be seen beside a step. Of
processor time, which a loaded machine can tell: with p, r a step of each and h the hooks, a run with every = 100 costs
(h + (r − p)/100)/p more, and that is what the last line of a case says.

    digits       the README's training: sequential digits, its own configuration, T = 64, batch 32, two layers of 64
    psMNIST-128  UnICORNN of Table 6, three layers of 128, T = 784, batch 64; execution "cpu"
    scoRNN-170   scoRNN of its MNIST row, T = 784, batch 50; execution "cpu"

Before anything is timed, watched and unwatched training end with the same weights, bit for bit. Writes
results/monitor_overhead.json, in processor milliseconds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from _harness import Timing, report, timings_of
from torch import Tensor, nn

from odernn import ScoRNN, UnICORNN
from verification.monitors import BoundMonitor
from verification.training import configuration, loop
from verification.training.processes import Processes

PEERS = {"a step of training": None, "every step recorded": 1}
EVERY = 100
LIMIT = 0.03
CHECKED_STEPS = 3

Step = Callable[[], None]
Made = tuple[nn.Module, Step]


class Classifier(nn.Module):
    """A recurrent network and a linear readout of its last row."""

    def __init__(self, recurrent: nn.Module) -> None:
        super().__init__()
        self.recurrent, self.readout = recurrent, nn.Linear(recurrent.hidden_size, 10)

    def forward(self, u: Tensor) -> Tensor:
        scores: Tensor = self.readout(self.recurrent(u)[0][-1])
        return scores


def digits(folder: Path) -> Made:
    """The loop of ``odernn train sequential_digits``, over the first epoch again and again."""
    plan = configuration.read("sequential_digits_unicornn")
    run = loop.TrainingRun(plan, folder, Processes())
    order = run._order()

    def step() -> None:
        run.progress.batch %= run.batches
        run.step(order)

    return run.model, step


def classifier(make: Callable[[torch.Generator], nn.Module], batch: int) -> Made:
    generator = torch.Generator().manual_seed(1)
    torch.manual_seed(1)  # readout and dropout
    model = Classifier(make(generator))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    u = torch.rand(784, batch, 1, generator=generator)
    labels = torch.randint(10, (batch,), generator=generator)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(u), labels).backward()
        optimizer.step()

    return model, step


CASES: dict[str, Callable[[Path], Made]] = {
    "digits": digits,
    "psMNIST-128": lambda _: classifier(lambda g: UnICORNN.from_paper("psMNIST-128", execution="cpu", generator=g), 64),
    "scoRNN-170": lambda _: classifier(
        lambda g: ScoRNN(1, 170, rho=16, initial="small", execution="cpu", generator=g), 50
    ),
}


@contextmanager
def watched(made: Made, every: int | None) -> Iterator[Step]:
    """The same step, and the monitor's after it; just the step for None."""
    model, step = made
    if every is None:
        yield step
        return
    with BoundMonitor(model, every=every, keep=1) as monitor:
        monitor.step()  # the first step that a monitor sees is recorded: that was it

        def both() -> None:
            step()
            monitor.step()

        yield both


def checked(name: str, folder: Path) -> float:
    """Largest difference of a weight after some steps with a monitor that records each, and without."""
    torch.manual_seed(5)
    plain, step = CASES[name](folder / "plain")
    for _ in range(CHECKED_STEPS):
        step()
    torch.manual_seed(5)
    made = CASES[name](folder / "watched")
    other = made[0]
    with watched(made, 1) as step:
        for _ in range(CHECKED_STEPS):
            step()
    return max(float((a - b).detach().abs().max()) for a, b in zip(plain.parameters(), other.parameters(), strict=True))


class Idle(nn.RNN):
    """A module that a monitor follows, and that does nothing."""

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        return input, hx


def hooks() -> Timing:
    """What a monitor adds to a step that it does not record: both hooks, torch's way through them, ``step``."""
    module, u = Idle(1, 1), torch.zeros(1, 1, 1)
    made: Made = (module, lambda: module(u))
    found = []
    for _ in range(7):
        with watched(made, None) as step:
            plain = _milliseconds(step, 5000)
        with watched(made, 10**9) as step:
            found.append(_milliseconds(step, 5000) - plain)
    return Timing("hooks, nothing recorded", statistics.median(found), min(found), max(found), 0.0, found[0])


def interleaved(made: Made, rounds: int, count: int) -> tuple[list[Timing], float]:
    """Processor time of the peers, and the share that a run with every = 100 costs more.

    ``count`` steps a turn after one that is not counted. The share has the median of the differences within a round.
    """
    samples: dict[str, list[float]] = {name: [] for name in PEERS}
    firsts: dict[str, list[float]] = {name: [] for name in PEERS}
    for _ in range(rounds):
        for name, every in PEERS.items():
            with watched(made, every) as step:
                firsts[name].append(_milliseconds(step, 1))
                samples[name].append(_milliseconds(step, count))
    plain, recorded = (samples[name] for name in PEERS)
    idle = hooks()
    record = statistics.median((r - p) / p for p, r in zip(plain, recorded, strict=True))
    return [*timings_of(samples, firsts), idle], idle.median / statistics.median(plain) + record / EVERY


def _milliseconds(step: Step, count: int) -> float:
    started = time.process_time()
    for _ in range(count):
        step()
    return 1e3 * (time.process_time() - started) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cases", nargs="+", choices=tuple(CASES), default=list(CASES))
    given = parser.parse_args()
    torch.set_num_threads(1)
    cases: dict[str, list[Timing]] = {}
    checks: dict[str, float] = {}
    shares: dict[str, float] = {}
    for name in given.cases:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            checks[f"{name}: weights"] = difference = checked(name, folder)
            if difference:
                raise SystemExit(f"{name}: a weight differs by {difference} with a monitor. Nothing is timed.")
            made = CASES[name](folder / "timed")
            cases[name], shares[name] = interleaved(
                made, *((5 * given.rounds, 10) if name == "digits" else (given.rounds, 3))
            )
        checks[f"{name}: share of time at every = {EVERY}"] = shares[name]
    report("monitor_overhead", cases, checks)
    for name, share in shares.items():
        print(f"{name}: {share:.2%} more at every = {EVERY}, {'below' if share < LIMIT else 'ABOVE'} {LIMIT:.0%}")


if __name__ == "__main__":
    main()
