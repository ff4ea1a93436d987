"""Checkpoints that are none: every error names file and tensor, what was found and expected, and the next step."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from odernn import foreign
from tests.verification.trained.networks import SCORNN, UNICORNN, read, saved, spec
from verification.trained import CheckpointError, files, loading
from verification.training import TrainingError, checkpoints


def test_a_bare_state_dict_is_described_by_a_file(tmp_path: Path) -> None:
    path = saved(tmp_path)
    trained = read(path)
    assert trained.stored.kind == "state_dict" and trained.stored.described_by == "--config"
    assert trained.cell == "unicornn" and trained.has_readout and not trained.mapping and trained.notes == ()
    assert torch.equal(
        trained.model.state_dict()["recurrent.layers.1.V"],
        files.read(path, config=tmp_path / "network.toml").tensors["recurrent.layers.1.V"],
    )


def test_weights_of_the_cell_alone_have_no_loss(tmp_path: Path) -> None:
    path = saved(tmp_path)
    tensors = files.read(path, config=tmp_path / "network.toml").tensors
    alone = {name.removeprefix("recurrent."): v for name, v in tensors.items() if name.startswith("recurrent.")}
    save_file(alone, path)
    trained = read(path)
    assert not trained.has_readout and "no readout" in trained.notes[0]
    assert torch.equal(trained.model.state_dict()["recurrent.layers.0.w"], alone["layers.0.w"])


def test_a_pickle_is_never_executed(tmp_path: Path) -> None:
    """The file makes a folder when it is unpickled; torch.load of anything else than tensors is refused before that."""
    bait = tmp_path / "executed"

    class Bait:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(bait),)

    for name, dump in (("raw.pt", pickle.dumps), ("zip.pt", None)):
        path = tmp_path / name
        if dump is None:
            torch.save({"w": torch.zeros(1), "bait": Bait()}, path)
        else:
            path.write_bytes(dump({"bait": Bait()}))
        asked = "mkdir, which is more than" if dump is None else "Unsupported operand".lower()
        said = rf"is refused: .*{asked}.*any code.*torch\.save\(model\.state_dict\(\)"
        with pytest.raises(CheckpointError, match=said):
            files.read(path, config=tmp_path / "network.toml") if saved(tmp_path) else None
    assert not bait.exists()
    pickle.loads((tmp_path / "raw.pt").read_bytes())  # that the bait is one
    assert bait.exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            {"state_dict": {"w": torch.zeros(1)}, "epoch": 3},
            '"state_dict" is a dict and no tensor; "state_dict" may be',
        ),
        (
            {"state": {0: {"step": torch.zeros(1)}}, "param_groups": []},
            r'"state" is a dict and no tensor\. A state_dict',
        ),
        ([torch.zeros(1)], "holds a list"),
        ({}, "holds a dict, and no tensors"),
        ({"w": 1.0}, '"w" is a float and no tensor'),
    ],
)
def test_pt_files_without_tensors(tmp_path: Path, content: Any, said: str) -> None:
    saved(tmp_path)
    torch.save(content, tmp_path / "net.pt")
    with pytest.raises(CheckpointError, match=said):
        files.read(tmp_path / "net.pt", config=tmp_path / "network.toml")


@pytest.mark.parametrize("name", ["net.safetensors", "net.pt"])
@pytest.mark.parametrize("kept", [0, 10, 200, -1])
def test_truncated_files(tmp_path: Path, name: str, kept: int) -> None:
    path = saved(tmp_path)
    if name == "net.pt":
        torch.save(read(path).model.state_dict(), tmp_path / name)
    else:
        path.rename(tmp_path / name)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:kept])
    with pytest.raises(CheckpointError, match=rf'"{tmp_path}/{name}" (cannot be read|is refused)'):
        files.read(tmp_path / name, config=tmp_path / "network.toml")


def test_paths(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"x")
    for path, said in (
        (tmp_path / "none.pt", "does not exist"),
        (tmp_path / "net.onnx", r'ends in "\.onnx"'),
        (tmp_path, "has no best.safetensors"),
    ):
        with pytest.raises(CheckpointError, match=said):
            files.read(path)
    (tmp_path / "latest.safetensors").write_bytes(b"x")
    with pytest.raises(CheckpointError, match=r"It has latest\.safetensors: name that file"):
        files.read(tmp_path)


def test_what_describes_it(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with pytest.raises(CheckpointError, match=r"nothing says of which network.*--config FILE\.toml"):
        files.read(path)
    for text, said in (
        ("{", "cannot be read"),
        ("[]", "no configuration"),
        ('{"configuration": {}}', "none that this"),
    ):
        (tmp_path / "run.json").write_text(text)
        with pytest.raises(CheckpointError, match=said):
            files.read(path)
    plain = files._configured(tmp_path / "network.toml", None, None).to_plain()
    (tmp_path / "run.json").write_text(json.dumps({"configuration": plain}))
    assert files.read(path).described_by.endswith("run.json")
    for text, said in (
        ("[network", "cannot be read"),
        (UNICORNN.replace("hidden_size", "hiden_size"), "hidden_size is missing"),
        (UNICORNN.replace('[task]\nname = "adding"\nsteps = 12\ncount = 40\n', ""), r"has no \[task\]"),
    ):
        (tmp_path / "network.toml").write_text(text)
        with pytest.raises(TrainingError, match=said):
            files.read(path, config=tmp_path / "network.toml")
    (tmp_path / "network.toml").write_text(text)
    assert files.read(path, config=tmp_path / "network.toml", task="adding").configuration.task.name == "adding"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("num_layers = 2", "num_layers = 3", r'lacks "recurrent\.layers\.2\.w", of shape \(4,\) \(and 3 more\)'),
        ("num_layers = 2", "num_layers = 1", r'has "recurrent\.layers\.1\.V", of shape \(4, 4\) \(and 3 more\)'),
        ("hidden_size = 4", "hidden_size = 6", r"has shape \(4,\), expected \(6,\) for unicornn, hidden_size 6"),
        ("alpha = 1.0", "alpha = 1.0\nbias = false", r'has "recurrent\.layers\.0\.b"'),
        ('"unicornn"', '"unicorn"', r'Did you mean "unicornn"\?'),
        ("alpha = 1.0", "alpa = 1.0", r'takes no "alpa"\. Did you mean "alpha"\?'),
    ],
)
def test_another_network_than_described(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = saved(tmp_path)
    with pytest.raises(TrainingError, match=said):
        read(path, UNICORNN.replace(old, new))


def test_another_task_than_trained_on(tmp_path: Path) -> None:
    from dataclasses import replace

    path = saved(tmp_path)
    stored = files.read(path, config=tmp_path / "network.toml")
    other = replace(spec(), name="other", input_size=3)
    with pytest.raises(
        CheckpointError, match=r'layers\.0\.V" has shape \(4, 2\), expected \(4, 3\).*"other".*3 inputs'
    ):
        loading.load(stored, other)
    other = replace(spec(), name="other", output_size=10)
    with pytest.raises(CheckpointError, match=r'"readout\.weight" has shape \(1, 4\), expected \(10, 4\).*10 outputs'):
        loading.load(stored, other)


def test_weights_that_are_not_finite(tmp_path: Path) -> None:
    path = saved(tmp_path, change={"recurrent.layers.0.c": torch.tensor([0.0, float("inf"), 0.0, float("nan")])})
    with pytest.raises(CheckpointError, match=r'"recurrent\.layers\.0\.c" has 2 of 4 entries that are not finite'):
        read(path)


def test_dtypes(tmp_path: Path) -> None:
    path = saved(tmp_path)
    tensors = dict(files.read(path, config=tmp_path / "network.toml").tensors)
    narrow = {name: v.bfloat16() if v.dtype == torch.float32 else v for name, v in tensors.items()}
    save_file(narrow, path)
    trained = read(path)
    assert trained.dtype == torch.float32 and "bfloat16" in trained.notes[0]
    for name, value in trained.model.state_dict().items():
        assert torch.equal(value.double(), narrow[name].double()), name
    save_file(narrow | {"recurrent.layers.0.w": tensors["recurrent.layers.0.w"]}, path)
    with pytest.raises(CheckpointError, match="several dtypes: bfloat16, float32"):
        read(path)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            torch.ones(4, dtype=torch.int64),
            r'w" has numbers of int64, expected float32 .* Save it as float32',
        ),
        (torch.ones(4, dtype=torch.bool), "has numbers of bool, expected float32"),
        (torch.full((4,), 1 + 1j), "has numbers of complex64, expected float32"),
        (torch.ones(4, dtype=torch.float64), "several dtypes: float32, float64"),
        (torch.ones(4).to_sparse(), r"is stored as sparse_coo\. Save it as an ordinary tensor: value\.to_dense\(\)"),
        (torch.ones(4, device="meta"), "is stored as meta"),
        (
            torch.ones(1).expand(2**50),
            r"of shape \(1125899906842624,\) is stored as numbers that are repeated.*value\.clone",
        ),
    ],
)
def test_numbers_of_another_kind_are_never_converted(tmp_path: Path, value: torch.Tensor, said: str) -> None:
    """A copy would drop imaginary parts, or make a network of numbers that nobody trained."""
    state = dict(read(saved(tmp_path)).model.state_dict())
    torch.save(state | {"recurrent.layers.0.w": value}, tmp_path / "net.pt")
    with pytest.raises(CheckpointError, match=said):
        read(tmp_path / "net.pt")


def test_tied_and_repeated_tensors_are_read_as_those_that_are_written_out(tmp_path: Path) -> None:
    state = dict(read(saved(tmp_path)).model.state_dict())
    names = [name for name, value in state.items() if value.shape == (4,)]
    first, second = names[:2]
    tied = state | {first: torch.full((1,), 0.25).expand(4), second: state[names[2]], names[2]: state[names[2]]}
    torch.save(tied, tmp_path / "net.pt")
    with zipfile.ZipFile(tmp_path / "net.pt") as archive:
        assert sum("/data/" in name for name in archive.namelist()) == len(state) - 1
    torch.save({name: value.clone().contiguous() for name, value in tied.items()}, tmp_path / "plain.pt")
    trained, plain = read(tmp_path / "net.pt"), read(tmp_path / "plain.pt")
    for name, value in plain.model.state_dict().items():
        assert torch.equal(trained.model.state_dict()[name], value), name
    assert torch.equal(trained.model.state_dict()[first], torch.full((4,), 0.25))
    assert torch.equal(trained.model.state_dict()[second], trained.model.state_dict()[names[2]])


def test_repeated_numbers_are_counted_written_out_and_together(tmp_path: Path) -> None:
    """A file of 2 kB is read up to 256 MiB, and not one entry beyond, in however many tensors."""
    most = foreign.MOST_DATA // 4
    for sizes, fits in (((most // 2, most - most // 2), True), ((most // 2, most - most // 2 + 1), False)):
        torch.save({str(k): torch.ones(1).expand(size) for k, size in enumerate(sizes)}, tmp_path / "net.pt")
        if fits:
            assert [value.numel() for value in files.tensors(tmp_path / "net.pt").values()] == list(sizes)
        else:
            with pytest.raises(CheckpointError, match=r'"1" of shape .* more than 268435456 bytes together'):
                files.tensors(tmp_path / "net.pt")


@pytest.mark.parametrize(
    "view",
    [torch.t, Tensor._neg_view, lambda b: b.as_strided((4, 4), (2, 1)), torch.conj],
    ids=["transposed", "negative", "overlapping", "conjugate"],
)
def test_what_is_copied_is_counted_beyond_its_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: Callable[[Tensor], Tensor]
) -> None:
    """Of one storage each name has a copy, and the first of them is no longer than the file."""
    stored = torch.randn(4, 4, dtype=torch.complex64)
    own, copy = stored.nbytes, view(stored).nbytes
    monkeypatch.setattr(foreign, "MOST_DATA", 5 * copy - own)
    tied = {str(k): view(stored) for k in range(5)}
    torch.save(tied | {"itself": stored, "again": stored}, tmp_path / "net.pt")
    found = files.tensors(tmp_path / "net.pt")
    assert all(torch.equal(found[str(k)], view(stored)) for k in range(5))
    assert found["itself"].data_ptr() == found["again"].data_ptr()
    torch.save({**tied, "sixth": view(stored)}, tmp_path / "net.pt")
    with pytest.raises(CheckpointError, match=r'"sixth" .* or that other tensors have, too.*value\.clone\(\)'):
        files.tensors(tmp_path / "net.pt")
    torch.save({name: value.clone() for name, value in (tied | {"6": tied["0"]}).items()}, tmp_path / "net.pt")
    assert len(files.tensors(tmp_path / "net.pt")) == 6


def test_pieces_of_a_storage_are_no_more_than_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "MOST_DATA", 0)
    gates = torch.randn(6, 8)
    torch.save(dict(zip("ifgo", gates.chunk(4, dim=1), strict=True)), tmp_path / "net.pt")
    assert torch.equal(torch.cat(list(files.tensors(tmp_path / "net.pt").values()), dim=1), gates)


def test_repeated_rows_are_none_that_a_description_may_count(tmp_path: Path) -> None:
    path = saved(tmp_path)
    state = dict(read(path).model.state_dict())
    torch.save(state | {"recurrent.layers.0.w": torch.ones(1).expand(10**6)}, tmp_path / "net.pt")
    config = tmp_path / "network.toml"
    config.write_text(config.read_text().replace("hidden_size = 4", "hidden_size = 1000000"))
    with pytest.raises(CheckpointError, match=r"at most [0-9]{1,2} rows or columns, but .* hidden_size 1000000"):
        read(tmp_path / "net.pt")


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_nested_tensor_and_a_compressed_file_are_refused(tmp_path: Path) -> None:
    state = dict(read(saved(tmp_path)).model.state_dict())
    nested = torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)])
    torch.save(state | {"recurrent.layers.0.w": nested}, tmp_path / "net.pt")
    with pytest.raises(CheckpointError, match=r'layers\.0\.w" is stored as a nested tensor'):
        read(tmp_path / "net.pt")
    torch.save(state, tmp_path / "net.pt")
    with (
        zipfile.ZipFile(tmp_path / "net.pt") as old,
        zipfile.ZipFile(tmp_path / "b.pt", "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for member in old.infolist():
            new.writestr(member.filename, old.read(member))
    with pytest.raises(CheckpointError, match=r'its part ".*data\.pkl" is compressed'):
        read(tmp_path / "b.pt")


@pytest.mark.parametrize(
    ("old", "new"), [("hidden_size = 4", "hidden_size = 100000"), ("_layers = 2", "_layers = 2000000")]
)
def test_a_network_that_no_file_of_this_size_holds_is_not_built(tmp_path: Path, old: str, new: str) -> None:
    path = saved(tmp_path)
    with pytest.raises(
        CheckpointError, match=r"tensors of at most 4 rows.*--config describes.*Correct the description"
    ):
        read(path, UNICORNN.replace(old, new))


def test_a_setting_that_the_cell_refuses_is_located(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with pytest.raises(CheckpointError, match=rf'"{path}", described by --config: "{tmp_path}/network.toml", line 11'):
        read(path, UNICORNN.replace("dt = 0.2", "dt = -0.2"))


def test_buffers_may_be_narrower_and_not_wider(tmp_path: Path) -> None:
    """dt in float32 is a number of float64; signs in int64 are no int8, and a copy would take 255 for −1."""
    path = saved(tmp_path)
    tensors = files.read(path, config=tmp_path / "network.toml").tensors
    save_file({**tensors, "recurrent.dt": torch.full((2,), 0.2)}, path)
    assert read(path).model.state_dict()["recurrent.dt"].tolist() == [float(torch.tensor(0.2))] * 2
    path = saved(tmp_path, SCORNN)
    tensors = files.read(path, config=tmp_path / "network.toml").tensors
    signs = {name: value.long() for name, value in tensors.items() if name.endswith("signs")}
    assert signs
    for kind in (torch.int64, torch.uint8):
        save_file({**tensors, **{name: value.to(kind) for name, value in signs.items()}}, path)
        with pytest.raises(CheckpointError, match=f'signs" has numbers of {str(kind).removeprefix("torch.")}, expec'):
            read(path)


def test_parameters_are_read_as_their_numbers(tmp_path: Path) -> None:
    """Of torch.save(dict(model.named_parameters())), with dt and α beside it."""
    state = dict(read(saved(tmp_path)).model.state_dict())
    torch.save({name: torch.nn.Parameter(value) for name, value in state.items()}, tmp_path / "net.pt")
    stored = files.read(tmp_path / "net.pt", config=tmp_path / "network.toml")
    assert checkpoints.digest(stored.tensors) == checkpoints.digest(state)
    assert not any(value.requires_grad for value in stored.tensors.values())


@pytest.mark.parametrize(("name", "value"), [("dt", -0.2), ("dt", 1.5), ("alpha", -1.0)])
def test_numbers_that_the_cell_refuses(tmp_path: Path, name: str, value: float) -> None:
    path = saved(tmp_path, change={f"recurrent.{name}": torch.full((2,), value, dtype=torch.float64)})
    with pytest.raises(
        CheckpointError, match=rf'network\.safetensors": {name} of layer 1 is {value}, but .* was trained'
    ):
        read(path)


def test_errors_have_the_names_of_the_file(tmp_path: Path) -> None:
    """Of a cell alone, whose names have no "recurrent." before them."""
    path = saved(tmp_path)
    tensors = files.read(path, config=tmp_path / "network.toml").tensors
    alone = {name.removeprefix("recurrent."): v for name, v in tensors.items() if name.startswith("recurrent.")}
    missing = dict(alone)
    missing["layers.0.weight"] = missing.pop("layers.0.w")
    for content, said in (
        (missing, r'lacks "layers\.0\.w", of shape \(4,\); it has "layers\.0\.weight" instead'),
        (alone | {"layers.0.x": torch.zeros(1)}, r'has "layers\.0\.x", of shape \(1,\), which the network has not'),
        (alone | {"layers.0.w": torch.zeros(5)}, r': "layers\.0\.w" has shape \(5,\)'),
    ):
        save_file(content, path)
        with pytest.raises(CheckpointError, match=said):
            read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "net.pt")
    with pytest.raises(CheckpointError, match=r'net\.pt" is no file that lies on a disk'):
        files.read(tmp_path / "net.pt")


def test_dt_of_the_file_wins_and_that_is_said(tmp_path: Path) -> None:
    path = saved(tmp_path)
    trained = read(path, UNICORNN.replace("dt = 0.2", "dt = 0.3"))
    assert trained.model.state_dict()["recurrent.dt"].tolist() == [0.2, 0.2]
    assert trained.notes == ("dt is that of the file, [0.2, 0.2], and not of the description, [0.3, 0.3].",)


def test_a_damaged_checkpoint_of_training_is_refused(tmp_path: Path) -> None:
    """Its header has a checksum of the tensors."""
    path = saved(tmp_path, SCORNN)
    stored = files.read(path, config=tmp_path / "network.toml")
    named = {f"model.{name}": value for name, value in stored.tensors.items()}
    checkpoints.write(tmp_path / "best.safetensors", named, {"configuration": stored.configuration.to_plain()})
    found = files.read(tmp_path)
    assert found.kind == "odernn train" and set(found.tensors) == set(stored.tensors)
    content = bytearray((tmp_path / "best.safetensors").read_bytes())
    content[-1] ^= 1
    (tmp_path / "best.safetensors").write_bytes(bytes(content))
    with pytest.raises(TrainingError, match="is damaged"):
        files.read(tmp_path)
