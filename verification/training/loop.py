"""One training run: steps, evaluations, checkpoints; killed at any moment and continued, it ends with the same bits.

run.json             what is trained: configuration, checksums of the data, sizes, versions
latest.safetensors   where to continue: weights, the optimizer's memory, the history so far
previous.safetensors the one before, for where that is damaged
best.safetensors     the weights that were best on the validation split
log.csv              a row an evaluation
result.json          once it is done: those weights on the test split
"""

from __future__ import annotations

import json
import math
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from verification.report.numbers import clock
from verification.tasks.task import Root
from verification.training import (
    SettingError,
    TrainingError,
    captured,
    checkpoints,
    logs,
    network,
    optimizers,
    own_files,
    re_signing,
    splits,
)
from verification.training.configuration import Configuration
from verification.training.determinism import determinism
from verification.training.facts import check_same, checksums, to_json, versions
from verification.training.folder import BEST, LATEST, LOG, PREVIOUS, RESULT, RUN
from verification.training.locked import alone_in
from verification.training.processes import Processes, processes
from verification.training.splits import SplitData

MODEL, OPTIMIZER = "model.", "optimizer."


class Report(Protocol):
    """Called when the loss is known: what to say, how many steps are done, how many there are.

    After every step, but after every ``captured.LOOK_EVERY`` where steps are captured.
    """

    def __call__(self, kind: str, done: int, total: int) -> None: ...


class Watcher(Protocol):
    """Somebody who looks at the network after every step, such as a monitor."""

    def __call__(self, model: nn.Module, step: int) -> None: ...


@dataclass
class RunProgress:
    """Where a run is, in plain numbers for a checkpoint.

    loss       the sum over this epoch's sequences so far, of which there were ``seen``
    exchanges  of pairs of signs, see ``re_signing``
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    loss: float = 0.0
    seen: int = 0
    seconds: float = 0.0
    best: float = math.inf
    best_epoch: int = 0
    exchanges: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class TrainingResult:
    """What came of it: ``test`` is that of the weights that were best on the validation split.

    writes    whether this is the process that writes the files, and speaks
    steps     of this call: 0 for a run that was done before
    stepping  "captured", or "uncaptured: " and why: see ``captured``
    """

    test: Mapping[str, float | None]
    best_epoch: int
    progress: RunProgress
    folder: Path
    writes: bool
    steps: int = 0
    stepping: str = ""


def train(
    configuration: Configuration,
    folder: Path,
    *,
    root: Root = None,
    device: str = "cpu",
    report: Report | None = None,
    watchers: Sequence[Watcher] = (),
    tensorboard: bool = False,
    capture: bool = True,
) -> TrainingResult:
    """Train, or go on where the folder's last checkpoint was left.

    capture  whether a step may be one graph of the device, where it has graphs: the bits are the same

    Raises TrainingError where the folder has another run, a file of it is damaged or cannot be written, or the loss is
    not finite; DataError for the task's files. What was there before stays.
    """
    check_device(device)
    writer = logs.summary_writer() if tensorboard else None
    with ExitStack() as stack:
        own = stack.enter_context(processes(device))
        if own.writes:
            stack.enter_context(alone_in(folder))
        stack.enter_context(determinism(configuration.training.deterministic, device))
        stack.enter_context(torch.random.fork_rng(devices=[device] if torch.device(device).type == "cuda" else []))
        try:
            run = TrainingRun(configuration, folder, own, root=root, device=device, capture=capture)
        except SettingError as error:
            raise configuration.located(error) from None
        board = None
        if writer is not None and own.writes:
            board = logs.TensorBoard(writer, folder / "tensorboard", run.progress.step)
            stack.callback(board.close)
        return run.to_the_end(report, watchers, board)


def check_device(name: str) -> None:
    try:
        torch.empty(1, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TrainingError(f'--device {name}: cannot be used here: {reason}. Leave it out for "cpu".') from None


class TrainingRun:
    """A network, its optimizer and where they are: as the folder left them, or at the start."""

    def __init__(
        self,
        configuration: Configuration,
        folder: Path,
        own: Processes,
        *,
        root: Root = None,
        device: str = "cpu",
        capture: bool = True,
    ) -> None:
        self.configuration, self.folder, self.own, self.root, self.device = configuration, folder, own, root, device
        plan = configuration.training
        own_files.check_record(folder / RUN, configuration)
        self.own_files = own_files.recorded(configuration)
        self.train_data = splits.load(configuration, "train", root, device)
        self.validation = splits.load(configuration, "validation", root, device, train=self.train_data)
        spec, dtype = self.train_data.spec, getattr(torch, plan.dtype)
        self.model = network.build(configuration.network, spec, seed=plan.seed, dtype=dtype, device=device)
        self.named = dict(self.model.named_parameters())
        self.optimizer = optimizers.make(
            configuration.optimizer,
            list(self.named.items()),
            self.model.unitary_names(),
            counts_on_device=torch.device(device).type == "cuda",
        )
        self.re_signed = re_signing.layers(self.model, plan)
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        self.progress = RunProgress()
        self._begin()
        parts = captured.StepParts(self.model, self.optimizer, self.train_data, plan, self._descend, self._update)
        self.captured = captured.CapturedSteps(parts, own, asked=capture)

    # --- the folder -------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Continue what is there, or write down what is begun."""
        facts = self.facts()
        path = self.folder / RUN
        if path.exists():
            check_same(path, facts)
        elif self.own.writes:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise TrainingError(
                    f'Folder "{self.folder}" cannot be made: {(error.strerror or "").lower()}. Name another one.'
                ) from None
            checkpoints.write_atomically(path, to_json(facts))
        if self.own.writes:
            checkpoints.remove_unfinished(self.folder, (RUN, LATEST, PREVIOUS, BEST, LOG, RESULT))
        is_before = self._resume()
        if not self.own.agree(json.dumps([facts["digest"], checksums(facts), self.progress.step])):
            raise TrainingError(
                f'The processes do not begin alike: not all see the same data, or the same "{self.folder / LATEST}". '
                "Give them folders that all of them can read."
            )
        if is_before and self.own.writes:  # all have read it; else the next write put the damaged one in its place
            os.replace(self.folder / PREVIOUS, self.folder / LATEST)
        self.own.share(self.model)

    def _resume(self) -> bool:
        """Go on from the latest checkpoint, or from the one before where that is damaged or gone, with a warning;
        whether it was the one before.
        """
        here, before = self.folder / LATEST, self.folder / PREVIOUS
        if not here.exists() and not before.exists():
            return False
        try:
            self._continue(self._read(LATEST))
            return False
        except TrainingError as error:
            is_lost = isinstance(error, checkpoints.DamagedCheckpointError) or not here.exists()
            if not is_lost or not before.exists():
                raise
            self._continue(self._read(PREVIOUS))
            if self.own.writes:
                warnings.warn(
                    f"{str(error).partition(' Use another')[0]} Training goes on from {PREVIOUS} beside it, step "
                    f"{self.progress.step}; the result is the same.",
                    checkpoints.DamagedCheckpointWarning,
                    stacklevel=2,
                )
            return True

    def facts(self) -> dict[str, Any]:
        """What fixes the run. The data by their checksums, wherever they lie."""
        specs = (self.train_data.spec, self.validation.spec)
        return {
            "configuration": self.configuration.to_plain(),
            "digest": self.configuration.digest(),
            "data": {spec.split: {"count": spec.count, "sha256": spec.sha256, "origin": spec.origin} for spec in specs},
            "parameters": network.parameter_count(self.model),
            "processes": self.own.count,
            "versions": versions(),
            **self.own_files,
        }

    def _read(self, name: str) -> checkpoints.Checkpoint:
        """A checkpoint of this run: TrainingError for one of another configuration, or on other data."""
        path = self.folder / name
        checkpoint, facts = checkpoints.read(path), self.facts()
        if checkpoint.facts.get("digest") != facts["digest"]:
            raise TrainingError(
                f'Checkpoint "{path}" is of a run with another configuration than {RUN} beside it: put the right file '
                "back, or train into another folder."
            )
        if checksums(checkpoint.facts) != checksums(facts):
            raise TrainingError(
                f'Checkpoint "{path}" is of a run on other data: SHA-256 {checksums(checkpoint.facts)} there, '
                f"{checksums(facts)} here. Put the right file back, or train into another folder."
            )
        return checkpoint

    def _continue(self, checkpoint: checkpoints.Checkpoint) -> None:
        if "progress" not in checkpoint.facts:
            raise TrainingError(
                f'Checkpoint "{self.folder / LATEST}" has weights only, as {BEST} has: nothing to continue from. '
                "Put the right file back, or train into another folder."
            )
        try:
            self.model.load_state_dict(checkpoint.part(MODEL))
            checkpoints.restore_optimizer(self.optimizer, self.named, checkpoint.part(OPTIMIZER))
            self.progress = RunProgress(**checkpoint.facts["progress"])
        except (RuntimeError, KeyError, TypeError) as error:
            raise TrainingError(
                f'Checkpoint "{self.folder / LATEST}" does not fit its own configuration '
                f"({str(error).splitlines()[0]}). Train into another folder."
            ) from None

    def _check_finite(self) -> None:
        """TrainingError where a weight is not: no checkpoint ever has such a one."""
        for name, parameter in self.named.items():
            if not bool(torch.isfinite(parameter).all()):
                raise TrainingError(
                    f"The weight {name} is not finite after step {self.progress.step}. {self._diverged()}"
                )

    def _diverged(self) -> str:
        return (
            f'The checkpoints in "{self.folder}" are from before; lower lr, or set clip_norm, and train into another '
            "folder."
        )

    def keep(self) -> None:
        """A checkpoint to continue from."""
        self._look()
        self._check_finite()
        if self.own.writes:
            memory = checkpoints.optimizer_tensors(self.optimizer, self.named)
            tensors = _prefixed(MODEL, self.model.state_dict()) | _prefixed(OPTIMIZER, memory)
            facts = self.facts() | {"progress": vars(self.progress)}
            checkpoints.write(self.folder / LATEST, tensors, facts, keep=self.folder / PREVIOUS)

    def _keep_best(self, row: Mapping[str, Any]) -> None:
        if self.own.writes:
            tensors = _prefixed(MODEL, self.model.state_dict())
            checkpoints.write(self.folder / BEST, tensors, self.facts() | {"row": dict(row)})

    # --- steps ------------------------------------------------------------------------------------------------------

    @property
    def batches(self) -> int:
        """Steps of an epoch; the last may have fewer sequences."""
        return -(-self.train_data.count // self.configuration.training.batch_size)

    def to_the_end(
        self, report: Report | None, watchers: Sequence[Watcher] = (), board: logs.TensorBoard | None = None
    ) -> TrainingResult:
        """All epochs that are left, and the test."""
        plan, here = self.configuration.training, self.progress
        started, first = time.monotonic(), here.step
        before = here.seconds
        while here.epoch < plan.epochs and not self._stale():
            order = self._order()
            while here.batch < self.batches:
                self.step(order)
                is_kept = here.step % plan.checkpoint_every == 0
                if is_kept or here.batch == self.batches:
                    self._look()
                here.seconds = before + time.monotonic() - started
                for watcher in watchers:
                    watcher(self.model, here.step)
                if report is not None and self.own.writes and not self.captured.pending:
                    report(
                        self._words(time.monotonic() - started, here.step - first),
                        here.step,
                        plan.epochs * self.batches,
                    )
                if is_kept:
                    self.keep()
            self._end_epoch(board)
        return replace(self._finish(), steps=here.step - first)

    def _order(self) -> NDArray[np.int64]:
        """The order of the sequences in this epoch."""
        seed = self.configuration.training.seed
        return np.random.default_rng([seed, self.progress.epoch]).permutation(self.train_data.count)

    def step(self, order: NDArray[np.int64]) -> None:
        """One step of the optimizer on the next batch, by a graph if there can be one.

        TrainingError if the loss is not finite: then nothing is updated; of a graph's it is noticed some steps later.
        """
        plan, here = self.configuration.training, self.progress
        start = here.batch * plan.batch_size
        chosen = order[start : start + plan.batch_size]
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * optimizers.factor(plan.milestones, here.epoch)
        seed = mixed(plan.seed, here.step, self.own.rank)
        if not self.model.training:
            self.model.train()
        if not self.captured.step(order, start, here.epoch, seed, here.loss):
            self._look()
            here.loss += self._uncaptured(chosen, seed)
        here.step, here.batch, here.seen = here.step + 1, here.batch + 1, here.seen + len(chosen)
        if self.captured.pending >= captured.LOOK_EVERY:
            self._look()

    def _uncaptured(self, chosen: NDArray[np.int64], seed: int) -> float:
        """The step without a graph; its loss, summed."""
        here, share = self.progress, self.own.of(chosen)
        torch.manual_seed(seed)
        self.optimizer.zero_grad()
        total = 0.0
        if len(share):
            total = float(self._descend(self.train_data.batch(share, here.epoch), len(chosen)))
        (total,) = self.own.total([total])
        if not math.isfinite(total):
            raise TrainingError(
                f"The loss is {total} in step {here.step + 1} (epoch {here.epoch + 1}). {self._diverged()}"
            )
        self.own.add_gradients(self.model)
        self._update()
        return total

    def _descend(self, batch: captured.Batch, count: int) -> Tensor:
        """The loss of the batch, summed, (); the gradients of its share of ``count`` sequences are in the weights."""
        sequences, targets, real = batch
        self.optimizer.zero_grad()
        loss = network.loss_sum(self.model(sequences), targets, self.train_data.spec, real)
        (loss / count).backward()
        return loss.detach()

    def _update(self) -> None:
        clip_norm = self.configuration.training.clip_norm
        if clip_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), clip_norm, foreach=False)
        self.optimizer.step()

    def _look(self) -> None:
        """Fetch the loss of the steps that a graph has made. TrainingError if it is not finite."""
        here, since = self.progress, self.captured.pending
        loss = self.captured.look()
        if loss is None:
            return
        if not math.isfinite(loss):
            raise TrainingError(
                f"The loss is {loss} in one of the steps {here.step - since + 1} to {here.step} (epoch "
                f"{here.epoch + 1}). {self._diverged()}"
            )
        here.loss = loss

    def _end_epoch(self, board: logs.TensorBoard | None) -> None:
        plan, here = self.configuration.training, self.progress
        finished = here.epoch + 1
        self._check_finite()
        if finished % plan.evaluate_every == 0 or finished == plan.epochs:
            evaluation = self.evaluate(self.validation)
            row = {
                "epoch": finished,
                "step": here.step,
                "learning_rate_factor": optimizers.factor(plan.milestones, here.epoch),
                "train_loss": here.loss / here.seen,
                "validation_loss": evaluation["loss"],
                "validation_accuracy": evaluation["accuracy"],
                "seconds": round(here.seconds, 3),
                "sequences_per_second": round(here.step / self.batches * self.train_data.count / here.seconds, 1),
            }
            here.history.append(row)
            score = evaluation["loss"] if evaluation["accuracy"] is None else -evaluation["accuracy"]
            if score < here.best:
                here.best, here.best_epoch = score, finished
                self._keep_best(row)
            if self.own.writes:
                logs.write_csv(self.folder / LOG, here.history)
            if board is not None:
                board.add(row)
        if plan.re_sign_every is not None and finished % plan.re_sign_every == 0:
            here.exchanges += re_signing.re_sign(self.re_signed, self.optimizer, plan)
            self.captured.forget()
        here.epoch, here.batch, here.loss, here.seen = finished, 0, 0.0, 0
        self.keep()

    def _stale(self) -> bool:
        plan, here = self.configuration.training, self.progress
        since = sum(row["epoch"] > here.best_epoch for row in here.history)
        return plan.patience is not None and since >= plan.patience

    def evaluate(self, data: SplitData) -> dict[str, Any]:
        """Mean loss over a split, and the share of right classes (None for numbers); dropout is off."""
        size = self.configuration.training.evaluation_batch
        sums = network.sums(self.model, data, self.own.of(np.arange(data.count)), size)
        return network.means(self.own.total(sums), data.count)

    def _finish(self) -> TrainingResult:
        """The test split, with the weights that were best on the validation split; without an epoch the first ones."""
        if self.progress.history and not self.progress.best_epoch:
            raise TrainingError(f"No loss on the validation split was finite: no weights are best. {self._diverged()}")
        if self.own.writes and self.progress.best_epoch:
            if not (self.folder / BEST).exists():
                raise TrainingError(
                    f'"{self.folder / BEST}" is gone, the weights of epoch {self.progress.best_epoch}, which were the '
                    "best. Put it back, or train into another folder."
                )
            best = self._read(BEST)
            if "row" not in best.facts:
                raise TrainingError(
                    f'Checkpoint "{self.folder / BEST}" has no evaluation: it is a {LATEST}. Put the right file back.'
                )
            if best.facts["row"]["epoch"] != self.progress.best_epoch:
                raise TrainingError(
                    f'Checkpoint "{self.folder / BEST}" is of epoch {best.facts["row"]["epoch"]}, but epoch '
                    f"{self.progress.best_epoch} of this run was the best. Train into another folder."
                )
            self.model.load_state_dict(best.part(MODEL))
        self.own.share(self.model)  # another process could still see the file from before
        data = splits.load(self.configuration, "test", self.root, self.device, train=self.train_data)
        evaluation, here = self.evaluate(data), self.progress
        last = here.history[-1]["epoch"] if here.history else 0
        outcome = {
            "test": evaluation,
            "baseline": data.spec.baseline,
            "baseline_means": data.spec.baseline_means,
            "best_epoch": here.best_epoch,
            "epochs": last,
            "steps": here.step,
            "seconds": round(here.seconds, 3),
            "stepping": self.captured.words,
        }
        if self.re_signed:
            outcome["exchanges"] = here.exchanges
        if self.configuration.published is not None:
            outcome["published"] = vars(self.configuration.published)
        if self.own.writes:
            checkpoints.write_atomically(self.folder / RESULT, to_json(self.facts() | outcome))
        return TrainingResult(
            evaluation, here.best_epoch, here, self.folder, self.own.writes, stepping=self.captured.words
        )

    def _words(self, seconds: float, steps: int) -> str:
        """Loss, throughput and the time that is left, for a line of progress."""
        plan, here = self.configuration.training, self.progress
        left = (plan.epochs * self.batches - here.step) * seconds / max(steps, 1)
        per_second = steps * self.train_data.count / self.batches / max(seconds, 1e-9)
        loss = here.loss / max(here.seen, 1)
        where = f"epoch {here.epoch + 1}/{plan.epochs}, loss {loss:.4g}"
        return f"{where}, {per_second:.0f} sequences/s, {clock(left)} left, step"


# --- small things -----------------------------------------------------------------------------------------------


def mixed(seed: int, step: int, rank: int) -> int:
    """A seed of torch's generators for this step of this process."""
    return int(np.random.SeedSequence([seed, step, rank]).generate_state(1, np.uint64)[0] % 2**63)


def _prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {prefix + name: value for name, value in tensors.items()}
