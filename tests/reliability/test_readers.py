"""Inputs that no reader was made for: each is read or refused by name, nothing runs, nothing takes long. A sample.

tests/reliability/fuzz.py has the rest. ``corpus`` has what once fell, a file an input: READER (" " and "," as "_").
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import pickle
import pickletools
import random
import resource
import tarfile
import time
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from odernn import foreign
from odernn.foreign import ForeignError
from tests.reliability import fuzz, mutants, pickled
from tests.reliability.readers.reader import TOUCHED, Bait
from tests.reliability.readers.registry import READERS, Reader
from tests.tiers import slow
from verification.models import loading
from verification.models.loading import ModelError
from verification.tasks import files
from verification.tasks.images import DataError

CORPUS = Path(__file__).parent / "corpus"
MANY = 2_000
NAMES = [reader.name for reader in READERS]


def of_name(name: str) -> Reader:
    return next(reader for reader in READERS if reader.name == name)


def faults(reader: Reader, folder: Path, count: int, seed: str) -> list[str]:
    """What is neither read nor refused, of so many inputs."""
    chance, seeds = random.Random(f"{reader.name} {seed}"), list(reader.seeds())
    found = []
    for number in range(count):
        word, said, _ = fuzz.tried(reader, mutants.mutant(reader.kind, seeds, chance), folder)
        if word not in ("read", "refused"):
            found.append(f"{number}: {word}: {said}")
    return found


def test_every_reader_reads_a_true_file(tmp_path: Path) -> None:
    for reader in READERS:
        folder = tmp_path / reader.name
        folder.mkdir()
        outcomes = [fuzz.tried(reader, seed, folder, 60.0) for seed in reader.seeds()]
        assert [word for word, *_ in outcomes].count("read") >= 1, (reader.name, outcomes)
        assert {word for word, *_ in outcomes} <= {"read", "refused"}, (reader.name, outcomes)
    assert len(READERS) == len(set(NAMES)) == 39


@pytest.mark.parametrize("name", NAMES)
def test_no_input_is_more_than_refused(tmp_path: Path, name: str) -> None:
    assert faults(of_name(name), tmp_path, 8 if name.startswith("record training") else 25, "few") == []


@pytest.mark.parametrize("name", [slow(name) for name in NAMES])
def test_many_inputs_are_no_more_than_refused(tmp_path: Path, name: str) -> None:
    assert faults(of_name(name), tmp_path, 100 if name.startswith("record training") else MANY, "many") == []


@pytest.mark.parametrize("name", ["weights .pt", "inputs .pt"])
def test_a_share_of_the_changed_files_of_torch_is_read_and_nothing_runs(tmp_path: Path, name: str) -> None:
    """Most changes of bytes break the archive or the pickle; changed inside, files get into what rebuilds tensors."""
    reader, chance = of_name(name), random.Random(25)
    seeds = list(reader.seeds())
    words = [fuzz.tried(reader, mutants.mutant("pt", seeds, chance), tmp_path)[0] for _ in range(150)]
    assert set(words) == {"read", "refused"} and words.count("read") > 15 and words.count("refused") > 15
    assert TOUCHED == []


def test_a_changed_pickle_is_one_still(tmp_path: Path) -> None:
    chance, held = random.Random(3), pickle.dumps({"a": [1, 300, True], "b": ("x", Path)}, protocol=2)
    made = {pickled.changed(held, chance) for _ in range(200)}
    assert len(made) > 50
    for each in made:
        assert list(pickletools.genops(each))[-1][0].name == "STOP"


def test_what_once_fell_falls_no_more(tmp_path: Path) -> None:
    folders = {path.name: path for path in CORPUS.iterdir()}
    ours = {name.replace(" ", "_").replace(",", "").replace("'", ""): name for name in NAMES}
    assert set(folders) <= set(ours)
    tried = 0
    for folder, name in ((folders[key], ours[key]) for key in folders):
        (tmp_path / folder.name).mkdir()
        for path in sorted(folder.iterdir()):
            word, said, _ = fuzz.tried(of_name(name), path.read_bytes(), tmp_path / folder.name)
            assert word in ("read", "refused"), (path, word, said)
            tried += 1
    assert tried >= 12


def test_the_sample_sees_a_planted_fault(tmp_path: Path) -> None:
    """A reader that lets an IndexError through, one that hangs, one that runs what it reads, one that says nothing."""

    def planted(read: Any) -> list[str]:
        reader = Reader(
            "planted", "json", read, lambda: [b'{"a": [1, 2]}'], "builtins:KeyError", "odernn.foreign", False
        )
        return [fuzz.tried(reader, b"{}", tmp_path, 0.2)[0]]

    def hang(folder: Path, content: bytes) -> None:
        try:
            while True:
                pass
        except Exception:
            pass

    def silent(folder: Path, content: bytes) -> None:
        raise KeyError

    assert planted(lambda folder, content: [][0]) == ["foreign"]
    assert planted(hang) == ["hang"]
    assert planted(lambda folder, content: pickle.loads(pickle.dumps(Bait()))) == ["executed"]
    assert planted(silent) == ["foreign"]
    assert planted(lambda folder, content: {}["the key"]) == ["refused"]
    TOUCHED.clear()


def test_a_part_is_the_same_inputs_again_and_is_counted(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    arguments = ["--inputs", "40", "--seconds", "60", "--readers", "graph .dot", "--into", str(record)]
    assert fuzz.main(arguments) == 0
    first = json.loads(record.read_text())
    assert first["readers"]["graph .dot"]["inputs"] == first["total"]["inputs"] == 40
    assert first["total"]["read"] + first["total"]["refused"] == 40
    assert fuzz.main(arguments) == 0  # goes on
    assert json.loads(record.read_text())["readers"]["graph .dot"]["inputs"] == 80
    first["readers"]["graph .dot"]["digest"] = "of another source"
    record.write_text(json.dumps(first))
    assert fuzz.main(arguments) == 0  # counts again from nothing
    assert json.loads(record.read_text())["readers"]["graph .dot"]["inputs"] == 40


# --- the helper


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("[" * 66 + "]" * 66, "more than 64 times"),
        ('{"a": 1, "b": {"a": 1, "a": 2}}', "the key 'a' is given twice"),
        ("NaN", "NaN is no number"),
        ("1e999", "no number that a float can hold"),
        ("1" * 5000, "thousands of digits"),
        ('{"KEY": 1, "KEY": 2}'.replace("KEY", "k" * 10**5), r"the key 'k{50,60}\.\.\. is given twice"),
        (r'["\ud800"]', "half of a character"),
        ('{"a":\n 1,}', r"line 2, column 4"),
    ],
)
def test_json_that_is_refused(text: str, said: str) -> None:
    with pytest.raises(ForeignError, match=said):
        foreign.parsed_json(text)


def test_json_that_is_read() -> None:
    text = '{"a": [1, -2.5e3, true, null, "\\ud83d\\ude00"], "b": ' + "[" * 60 + "]" * 60 + "}"
    assert foreign.parsed_json(text) == json.loads(text)
    assert foreign.parsed_json("[" * 65 + "]" * 65) == json.loads("[" * 65 + "]" * 65)
    assert foreign.parsed_json("[NaN, 1e999]", non_finite=True)[1] == float("inf")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 10_000, "nested too deeply"),
        ("a = " + "[" * 70 + "]" * 70, "more than 64 times"),
        ("a = 1\na = 2\n", "Cannot overwrite a value"),
        ("[a]\n[a]", r"line 2"),
        ("a" + ".b" * 200_000 + " = 1", "line 1: a key of more than 64 parts"),
        ('x = [1.5]\n"a"' + ' . "b"' * 100 + " = 1", "line 2: a key of more than 64 parts"),
        ("1" + ".1" * 300 + " = 1", "a key of more than 64 parts"),
        ("a = {b = 1, c" + ".d" * 64 + " = 1}", "line 1: a key of more than 64 parts"),
        ("[a]\n# a.b\n[[a" + " . 'b'" * 64 + "]]", "line 3: a key of more than 64 parts"),
        ("x = [\n'a', '''\n''''', {k" + ".a" * 64 + " = '', z = ''}]", "line 3: a key of more than 64 parts"),
        ('x = [\n"""a""""", {k' + ".a" * 64 + ' = "", z = ""}]', "line 2: a key of more than 64 parts"),
        ('"' + r"\"" * 10**5 + ".a" * 64, "not valid TOML"),
        ('a = """' + r' \"""' * 10**5 + "." * 64, "not valid TOML"),
        ("a = '''" + " ''" * 10**6 + "." * 64, "not valid TOML"),
        (" .a\t" * 10**6, "a key of more than 64 parts"),
        ("[{0}]\n[{0}]".format("k" * 10**5), "Cannot declare .{,300}line 2"),
        ("a = 0x" + "f" * 5000, "thousands of digits"),
        ("a = " + "1" * 5000, "thousands of digits"),
    ],
)
def test_toml_that_is_refused(text: str, said: str) -> None:
    begun = time.process_time()
    with pytest.raises(ForeignError, match=said):
        foreign.parsed_toml(text)
    assert time.process_time() - begun < 5


def test_toml_with_many_decimals_in_a_line_is_read() -> None:
    numbers = ", ".join(f"-{k}.{k}e-3" for k in range(300))
    texts = ", ".join(f'"{k}.25"' for k in range(300))
    assert len(foreign.parsed_toml(f"a = [{numbers}]\nb = [{texts}]\nc.d.e = 1.5")["a"]) == 300


@pytest.mark.parametrize(
    "text",
    [
        "a = 1 # " + "e.g. " * 70,
        'a = "' + "one. two. " * 70 + '"',
        "a = [" + '"f0.wav", ' * 70 + "]",
        "a = '''\n" + "a.b." * 70 + "\n'''",
        'a = """x\n' + r"\"a.b\"" * 70 + '\n"""',
        "a = { " + ", ".join(f"k{n}.l = {n}.5" for n in range(70)) + " }",
        "a" + ".b" * 63 + " = 1",
    ],
)
def test_toml_with_many_dots_and_no_key_of_many_parts_is_read(text: str) -> None:
    assert foreign.parsed_toml(text) == tomllib.loads(text)


def test_whole_numbers_by_the_million_are_read_at_once() -> None:
    begun = time.process_time()
    assert len(foreign.parsed_json("[" + "1," * 10**6 + "1]")) == 10**6 + 1
    assert time.process_time() - begun < 10


def test_an_xz_of_many_streams_is_read_at_once() -> None:
    empty = lzma.compress(b"")
    begun = time.process_time()
    assert foreign.unpacked(empty * (3 * 2**20 // len(empty)), ".xz") == b""
    assert time.process_time() - begun < 2
    text = random.Random(0).randbytes(100_000)
    streams = (lzma.compress(text[:50_000]), empty, bytes(10_000), lzma.compress(text[50_000:]), bytes(4))
    assert foreign.unpacked(b"".join(streams), ".xz") == text
    for damaged in (b"", b"".join(streams)[:-9], empty + b"x"):
        with pytest.raises(ForeignError, match=r"no.* complete \.xz file"):
            foreign.unpacked(damaged, ".xz")


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="Linux lists its descriptors")
def test_what_is_refused_leaves_no_descriptor(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        foreign.content(tmp_path)
    for path, typed in ((tmp_path / "pipe", False), (Path("/dev/null"), False), (Path("/dev/null"), True)):
        with pytest.raises(ForeignError, match="it is a device"):
            foreign.content(path, typed=typed)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="POSIX")
def test_a_pipe_that_a_person_names_is_read_up_to_the_limit() -> None:
    def piped(count: int) -> str:
        ours, theirs = os.pipe()
        os.write(theirs, b"a" * count)
        os.close(theirs)
        try:
            return foreign.text_of(Path(f"/dev/fd/{ours}"), 1000, typed=True)
        finally:
            os.close(ours)

    assert piped(1000) == "a" * 1000
    with pytest.raises(ForeignError, match="more than 1000 bytes"):
        piped(1001)


def test_a_file_that_is_no_file_is_refused(tmp_path: Path) -> None:
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ForeignError, match="a device, a pipe or a folder"):
            foreign.content(tmp_path / "pipe")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ForeignError, match="more than 1000 bytes"):
        foreign.content(tmp_path / "sparse", 1000)
    (tmp_path / "latin").write_bytes("é".encode("latin-1"))
    with pytest.raises(ForeignError, match="byte 0"):
        foreign.text_of(tmp_path / "latin")
    (tmp_path / "zero").write_bytes(b"a\0")
    with pytest.raises(ForeignError, match="byte 1 is zero"):
        foreign.text_of(tmp_path / "zero")


# --- bombs


def zeros(ending: str, size: int) -> bytes:
    buffer = io.BytesIO()
    if ending == ".zip":
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as zipped, zipped.open("a.csv", "w") as member:
            for _ in range(size // 2**20):
                member.write(bytes(2**20))
    elif ending == ".tgz":
        with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as tarred:
            entry = tarfile.TarInfo("a.csv")
            entry.size = size
            tarred.addfile(entry, io.BytesIO(bytes(size)))
    elif ending == ".xz":
        buffer.write(lzma.compress(bytes(size)))
    else:
        with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as packed:
            for _ in range(size // 2**20):
                packed.write(bytes(2**20))
    return buffer.getvalue()


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zip", ".tgz"])
def test_a_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    """16 MiB of zeros in some kilobytes, where 1 MiB is the limit: no more than the limit is held."""
    monkeypatch.setattr(files, "MOST", 2**20)
    path = tmp_path / f"data{ending}"
    path.write_bytes(zeros(ending, 2**24))
    assert path.stat().st_size < 2**17
    with pytest.raises(DataError, match=rf"data{ending}: .* more than 1048576 bytes.*fetch it again"):
        files.read(path) if ending in files.PACKED else files.extract(path, {"a.csv": tmp_path / "a.csv"})
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.slow
def test_a_bomb_of_gigabytes_takes_no_more_than_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "data.gz"
    path.write_bytes(zeros(".gz", 3 * 2**30))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match="more than 268435456 bytes"):
        files.read(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**20  # KiB


def test_numbers_that_promise_more_than_there_is_are_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (10**11,)})
    (tmp_path / "a.npy").write_bytes(buffer.getvalue() + bytes(80))
    with pytest.raises(ModelError, match=r"a\.npy"):
        loading.numbers(tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "b.npz", "w", zipfile.ZIP_DEFLATED) as zipped, zipped.open("x.npy", "w") as member:
        for _ in range(300):
            member.write(bytes(2**20))
    with pytest.raises(ModelError, match="unpacks to more than"):
        loading.numbers(tmp_path / "b.npz")
