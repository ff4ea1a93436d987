"""What is trained: configurations, runs, checkpoints, weights, and numbers for a model."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import tempfile
import warnings
import zipfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.reliability.readers.reader import CONFIGURATIONS, Bait, Reader, put


def _configuration(folder: Path, content: bytes) -> object:
    from verification.training import configuration

    path = put(folder, "plan.toml", content)
    for row in configuration.rows(path)[:2] or (None,):
        plan = configuration.read(path, row)
        configuration.from_mapping(plan.to_plain())
        plan.digest()
    return None


def _configuration_seeds() -> list[bytes]:
    return [path.read_bytes() for path in sorted(CONFIGURATIONS.glob("*.toml"))]


def _run_file(name: str, folder: Path, content: bytes) -> object:
    from verification.training import facts, own_files, runs
    from verification.training.configuration import from_mapping

    for other, text in _run().items():
        put(folder, other, text)
    put(folder, name, content)
    if name == "run.json":
        plan = json.loads(_run()[name])
        own_files.check_record(folder / name, from_mapping(plan["configuration"]))
    found = runs.read(folder)
    shown = (found.task, found.seed, found.epochs, found.planned, found.best, found.result)
    if name == "run.json":
        facts.check_same(folder / name, json.loads(_run()[name]))
    return shown


@cache
def _run() -> dict[str, bytes]:
    from tests.verification.commands.made_runs import configured, write

    with tempfile.TemporaryDirectory() as folder:
        where = write(Path(folder) / "run", configured(), [(0.3, 0.9), (0.2, 0.95), (0.25, 0.9)], (0.2, 0.951))
        return {path.name: path.read_bytes() for path in where.iterdir()}


def _run_seeds(name: str) -> list[bytes]:
    return [_run()[name]]


NETWORK = """[task]
name = "adding"
steps = 12
count = 40

[network]
cell = "unicornn"
hidden_size = 2
num_layers = 1
dt = 0.2
alpha = 1.0
"""


@cache
def _spec() -> Any:
    from verification import tasks

    return tasks.get("adding").load("test", steps=12, count=40)[2]


@cache
def _model() -> Any:
    import torch

    from verification.training import configuration, network

    plain = {"optimizer": {"name": "sgd", "lr": 1.0}, "training": {"epochs": 0, "batch_size": 1}}
    tables = {
        "task": {"name": "adding"},
        "network": dict(cell="unicornn", hidden_size=2, num_layers=1, dt=0.2, alpha=1.0),
    }
    return network.build(configuration.from_mapping({**tables, **plain}).network, _spec(), seed=0, dtype=torch.float32)


def _weights(ending: str, folder: Path, content: bytes) -> object:
    from verification.trained import files, loading

    config = put(folder, "network.toml", NETWORK.encode())
    stored = files.read(put(folder, f"weights.{ending}", content), config=config)
    return loading.load(stored, _spec()).notes


def _safetensors_seeds() -> list[bytes]:
    from safetensors.torch import save

    state = {name: value.contiguous() for name, value in _model().state_dict().items()}
    trained = [name for name, _ in _model().named_parameters()]
    large = {name: value * 1e38 if name in trained else value for name, value in state.items()}
    return [save(state), save({name: value.double() for name, value in state.items()}), save(large)]


TRUE = 4
"""Times that a file that is read stands among the seeds: more of what is made of them gets past the first refusal."""


def _pt_seeds() -> list[bytes]:
    state = _model().state_dict()
    short = [name for name, value in state.items() if value.shape == (2,)]
    repeated = [state | {name: _repeated(2, 0.1)} for name in short]
    tied = state | {short[0]: state[short[-1]]}
    return [*TRUE * [*_true_pt(state, *repeated, tied), _old_format(state)], *_refused_pt()]


def _repeated(size: int, value: float) -> Any:
    """One number, repeated."""
    import torch

    return torch.full((1,), value).expand(size)


def _old_format(value: Any) -> bytes:
    import torch

    buffer = io.BytesIO()
    torch.save(value, buffer, _use_new_zipfile_serialization=False)
    return buffer.getvalue()


def _refused_pt() -> list[bytes]:
    import torch

    state = _model().state_dict()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nested tensors may change
        nested = torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)])
    contents: list[Any] = [
        {"w": torch.zeros(2).to_sparse()},
        {"w": nested},
        {"a": Bait()},
        {"w": torch.zeros(1).expand(2**28)},
        {"state_dict": state, "epoch": 3},
        list(state.values()),
        {"w": torch.zeros(2, device="meta")},
    ]
    found = [*_true_pt(*contents), *map(_old_format, contents)]
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(_true_pt(state)[0])) as old,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for member in old.infolist():
            new.writestr(member.filename, old.read(member))
    return [*found, packed.getvalue(), pickle.dumps({"a": Bait()}), pickle.dumps({"w": [1.0]}, protocol=2)]


def _true_pt(*values: Any) -> list[bytes]:
    import torch

    found = []
    for value in values:
        buffer = io.BytesIO()
        torch.save(value, buffer)
        found.append(buffer.getvalue())
    return found


def _inputs_pt_seeds() -> list[bytes]:
    import torch

    inputs = torch.linspace(0, 1, 24).view(4, 3, 2)
    values: list[Any] = [
        {"inputs": torch.zeros(4, 3, 2), "y": torch.ones(3)},
        {"x": inputs.double(), "labels": torch.arange(3)},
        {"inputs": inputs.half(), "targets": inputs.half()},
        {"inputs": torch.zeros(1).expand(4, 3, 2)},
        {"X": inputs[1:, ::2], "y": inputs.bool()},
        inputs,
        inputs.to(torch.int16),
    ]
    return [*TRUE * _true_pt(*values), *_refused_pt()]


def _described(name: str, folder: Path, content: bytes) -> object:
    """What says of which network weights are: --config, run.json beside them, the header."""
    from safetensors.torch import save

    from verification.trained import files, loading
    from verification.training import checkpoints

    tensors = {name: value.contiguous() for name, value in _model().state_dict().items()}
    if name == "header":
        tensors = {f"model.{key}": value for key, value in tensors.items()}
        text = content.decode("utf-8", "replace")
        digests = {checkpoints.FACTS_DIGEST: hashlib.sha256(text.encode()).hexdigest()}
        header = {checkpoints.FACTS: text, checkpoints.DIGEST: checkpoints.digest(tensors), **digests}
        path = put(folder, "best.safetensors", save(tensors, metadata=header))
    else:
        path = put(folder, "weights.safetensors", save(tensors))
        put(folder, name, content)
    stored = files.read(path, config=folder / name if name.endswith(".toml") else None)
    return loading.load(stored, _spec()).notes


def _described_seeds(name: str) -> list[bytes]:
    from verification.training import configuration

    if name.endswith(".toml"):
        return [NETWORK.encode(), NETWORK.partition("\n\n")[2].encode()]
    tables = {"optimizer": {"name": "sgd", "lr": 1.0}, "training": {"epochs": 0, "batch_size": 1}}
    tables |= {
        "task": {"name": "adding"},
        "network": dict(cell="unicornn", hidden_size=2, num_layers=1, dt=0.2, alpha=1.0),
    }
    plain = configuration.from_mapping(tables).to_plain()
    return [json.dumps({"format": 2, "configuration": plain, "progress": {"step": 3}, "versions": {}}).encode()]


def _checkpoint(folder: Path, content: bytes) -> object:
    from verification.training import checkpoints

    return checkpoints.read(put(folder, "latest.safetensors", content)).facts


def _checkpoint_seeds() -> list[bytes]:
    import torch

    from verification.training import checkpoints

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.safetensors"
        checkpoints.write(path, {"model.a": torch.arange(6.0).view(2, 3)}, {"progress": {"step": 5}})
        return [path.read_bytes()]


def _numbers(ending: str, folder: Path, content: bytes) -> object:
    from verification.models import loading

    inputs, targets = loading.numbers(put(folder, f"inputs.{ending}", content))
    return inputs.shape, inputs.sum(), None if targets is None else targets.shape


def _numbers_seeds(ending: str) -> list[bytes]:
    buffer, array = io.BytesIO(), np.linspace(0, 1, 24).reshape(4, 3, 2)
    if ending == "csv":
        return [b"a,b\n1,2\n3,4\n", b"1.5,-2e3\n0,1\n", b"1\r\n2\r\n"]
    if ending == "npz":
        np.savez(buffer, inputs=array, y=np.arange(3))
        packed = io.BytesIO()
        np.savez_compressed(packed, x=array)
        return [buffer.getvalue(), packed.getvalue()]
    np.save(buffer, array)
    objects = io.BytesIO()
    np.save(objects, np.array([Bait()], dtype=object), allow_pickle=True)
    return [buffer.getvalue(), objects.getvalue()]


_TRAINING, _MODEL = "verification.training:TrainingError", "verification.models.loading:ModelError"
_BOTH = f"{_TRAINING} verification.trained:CheckpointError"
_PLAN, _CHECKPOINTS = "verification.training.configuration", "verification.training.checkpoints"
_WEIGHTS = f"verification.trained.files verification.trained.loading {_PLAN}"
_RUNS = "verification.training.runs verification.training.facts verification.training.own_files"
_NUMBERS = "verification.models.loading"

READERS = (
    Reader("configuration", "toml", _configuration, _configuration_seeds, _TRAINING, _PLAN),
    *(
        Reader(f"run's {name}", kind, partial(_run_file, name), partial(_run_seeds, name), _TRAINING, _RUNS)
        for name, kind in (("run.json", "json"), ("result.json", "json"), ("log.csv", "text"))
    ),
    Reader("checkpoint", "bytes", _checkpoint, _checkpoint_seeds, _TRAINING, _CHECKPOINTS),
    Reader("weights .safetensors", "bytes", partial(_weights, "safetensors"), _safetensors_seeds, _BOTH, _WEIGHTS),
    Reader("weights .pt", "pt", partial(_weights, "pt"), _pt_seeds, _BOTH, _WEIGHTS),
    *(
        Reader(f"weights, {name}", kind, partial(_described, name), partial(_described_seeds, name), _BOTH, _WEIGHTS)
        for name, kind in (("network.toml", "toml"), ("run.json", "json"), ("header", "json"))
    ),
    *(
        Reader(f"inputs .{e}", kind, partial(_numbers, e), partial(_numbers_seeds, e), _MODEL, _NUMBERS)
        for e, kind in (("npy", "bytes"), ("npz", "bytes"), ("csv", "text"))
    ),
    Reader(
        "inputs .pt",
        "pt",
        partial(_numbers, "pt"),
        _inputs_pt_seeds,
        _MODEL,
        f"{_NUMBERS} verification.trained.files",
    ),
)
