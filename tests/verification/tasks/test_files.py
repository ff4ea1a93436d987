"""Downloads from a mirror in memory: what arrives is verified, and what is wrong replaces nothing."""

from __future__ import annotations

import builtins
import errno
import hashlib
import io
import socket
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.verification.tasks import test_eigenworms, test_noise_padded_cifar10, test_spoken_digits
from verification import tasks
from verification.tasks import _archive_series, bidmc, eigenworms, files, mnist, spoken_digits
from verification.tasks import noise_padded_cifar10 as cifar
from verification.tasks import penn_treebank_characters as ptb
from verification.tasks import text8_characters as text8
from verification.tasks.images import DataError

Mirror = dict[str, bytes]
"""What each address gives."""


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Mirror:
    """pooch's downloader looks here instead of opening a connection; all its checks stay."""
    import pooch.core

    found: Mirror = {}

    def copy(url: str, output_file: str, _: object) -> None:
        if url not in found:
            raise OSError(errno.EHOSTUNREACH, "No route to host")
        Path(output_file).write_bytes(found[url])

    monkeypatch.setattr(pooch.core, "choose_downloader", lambda *_, **__: copy)
    monkeypatch.setattr(socket, "socket", _no_network)
    return found


def _no_network(*_: object, **__: object) -> None:
    raise AssertionError("a test opens a connection")


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# --- each task with files ---------------------------------------------------------------------------------------


def for_cifar(mirror: Mirror, patch: pytest.MonkeyPatch) -> None:
    batches = {
        name: test_noise_padded_cifar10.pickled(test_noise_padded_cifar10.images(50, i))
        for i, name in enumerate(cifar.MD5)
    }
    mirror[cifar.ARCHIVE] = tarred({f"cifar-10-batches-py/{name}": content for name, content in batches.items()})
    patch.setattr(cifar, "MD5", {name: md5(content) for name, content in batches.items()})
    patch.setattr(cifar, "ARCHIVE_MD5", md5(mirror[cifar.ARCHIVE]))


def for_ptb(mirror: Mirror, patch: pytest.MonkeyPatch) -> None:
    texts = {name: (" ".join(f"{name}_abc" * 40) + "\n").encode() for name in ptb.FILES}
    mirror[ptb.ARCHIVE] = tarred(
        {f"./simple-examples/data/{name}": text for name, text in texts.items()} | {"./simple-examples/README": b"x"}
    )
    patch.setattr(ptb, "MD5", {name: md5(text) for name, text in texts.items()})
    patch.setattr(ptb, "ARCHIVE_MD5", md5(mirror[ptb.ARCHIVE]))


def for_text8(mirror: Mirror, patch: pytest.MonkeyPatch) -> None:
    text = b"the quick brown fox jumps over the lazy dog " * 200
    mirror[text8.ARCHIVE] = zipped({"text8": text})
    patch.setattr(text8, "MD5", md5(text))
    patch.setattr(text8, "ARCHIVE_SHA256", hashlib.sha256(mirror[text8.ARCHIVE]).hexdigest())


def for_eigenworms(mirror: Mirror, patch: pytest.MonkeyPatch) -> None:
    parts = {
        f"EigenWorms_{part}.ts": test_eigenworms.ts(test_eigenworms.cases(part)).encode() for part in ("TRAIN", "TEST")
    }
    mirror[eigenworms.ARCHIVE] = zipped(parts | {"EigenWorms.txt": b"about"})
    patch.setattr(eigenworms, "PUBLISHED", test_eigenworms.statistics())


def for_spoken_digits(mirror: Mirror, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(spoken_digits, "SPEAKERS", ("theo",))
    patch.setattr(spoken_digits, "TAKES", 17)
    sounds = {
        f"{d}_theo_{take}.wav": test_spoken_digits.wav(test_spoken_digits.samples(100 * d + take, 600))
        for d in range(10)
        for take in range(17)
    }
    prefix = "free-spoken-digit-dataset-master/recordings/"
    mirror[spoken_digits.ARCHIVE] = zipped({prefix + name: content for name, content in sounds.items()})
    known = sorted(name for name in sounds if int(name[7:-4]) < 15)
    sums = hashlib.sha256(b"".join(name.encode() + b"\0" + sounds[name] for name in known)).hexdigest()
    patch.setattr(spoken_digits, "KNOWN_SHA256", sums)


def for_bidmc(mirror: Mirror, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(bidmc, "RECORDS", 10)
    lines = []
    for number in range(1, 11):
        signals = "Time [s], RESP, PLETH, V, AVR, II\n" + "".join(
            f"{n / 125:.5g},1,{n % number},0,0,{n % 7}\n" for n in range(125 * 70)
        )
        numerics = "Time [s], HR, PULSE, RESP, SpO2\n" + "".join(f"{s},{60 + number},60,15,97\n" for s in range(70))
        for part, text in (("Signals", signals), ("Numerics", numerics)):
            name = f"bidmc_csv/bidmc_{number:02d}_{part}.csv"
            mirror[bidmc.OFFICIAL + name] = text.encode()
            lines.append(f"{hashlib.sha256(text.encode()).hexdigest()} {name}")
    mirror[f"{bidmc.OFFICIAL}SHA256SUMS.txt"] = "\n".join(lines).encode()


PREPARED: dict[str, Callable[[Mirror, pytest.MonkeyPatch], None]] = {
    "noise_padded_cifar10": for_cifar,
    "penn_treebank_characters": for_ptb,
    "text8_characters": for_text8,
    "eigenworms": for_eigenworms,
    "spoken_digits": for_spoken_digits,
    "bidmc": for_bidmc,
}
OPTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "eigenworms": lambda: {"statistics": eigenworms.PUBLISHED},
    "text8_characters": lambda: {"md5": text8.MD5, "steps": 20},
}


def test_every_task_with_files_is_prepared_here_but_mnist_which_has_a_test_of_its_own() -> None:
    assert {name for name in tasks.names() if tasks.get(name).download} == {*PREPARED, "sequential_mnist"}


@pytest.mark.parametrize("name", PREPARED)
def test_what_was_fetched_can_be_loaded_from_the_same_folder_and_is_not_fetched_again(
    name: str, tmp_path: Path, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    PREPARED[name](mirror, monkeypatch)
    task = tasks.get(name)
    task.download(tmp_path / "data")
    options = OPTIONS.get(name, dict)()
    counts = [task.load(split, tmp_path / "data", **options)[2].count for split in ("train", "validation", "test")]
    assert min(counts) > 0
    before = tree(tmp_path)
    assert not [path for path in before if "part" in path or "odernn-" in path]
    mirror.clear()  # whoever asks again gets no route to host
    task.download(tmp_path / "data")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", PREPARED)
def test_a_damaged_download_is_refused_and_replaces_no_file(
    name: str, tmp_path: Path, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    PREPARED[name](mirror, monkeypatch)
    task = tasks.get(name)
    task.download(tmp_path)
    before = tree(tmp_path)
    archives = [path for path in before if path.endswith((".zip", ".gz", ".tgz", "10_Numerics.csv"))]
    assert len(archives) == 1
    (tmp_path / archives[0]).unlink()
    for url, content in mirror.items():
        if not url.endswith("SHA256SUMS.txt"):
            mirror[url] = content[: len(content) // 2]
    with pytest.raises(DataError) as error:
        task.download(tmp_path)
    assert "\n" not in str(error.value) and (
        "Nothing there was replaced" in str(error.value) or "fetch it again" in str(error.value)
    )
    after = tree(tmp_path)
    assert {path: content for path, content in after.items() if path != archives[0]} == {
        path: content for path, content in before.items() if path != archives[0]
    }


@pytest.mark.parametrize("name", PREPARED)
def test_no_connection_is_a_data_error_with_the_address(name: str, tmp_path: Path, mirror: Mirror) -> None:
    with pytest.raises(DataError, match=r"could not be fetched from https?://.*No route to host.*Try again later"):
        tasks.get(name).download(tmp_path)
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("name", [*PREPARED, "sequential_mnist"])
def test_without_pooch_the_error_names_the_extra(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(module: str, *rest: Any) -> Any:
        if module == "pooch":
            raise ImportError("No module named 'pooch'")
        return real(module, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DataError, match=r"needs pooch: pip install 'odernn\[data\]'"):
        tasks.get(name).download(tmp_path)


def test_the_addresses_are_the_official_ones() -> None:
    hosts = {
        cifar: "https://www.cs.toronto.edu/~kriz/",
        ptb: "http://www.fit.vutbr.cz/~imikolov/",
        text8: "http://mattmahoney.net/dc/",
        eigenworms: "https://www.timeseriesclassification.com/",
        spoken_digits: "https://github.com/Jakobovski/",
    }
    for module, start in hosts.items():
        assert module.ARCHIVE.startswith(start)
    assert bidmc.OFFICIAL == "https://physionet.org/files/bidmc/1.0.0/" and "mnist" in mnist.MIRROR


# --- archives ---------------------------------------------------------------------------------------------------


def test_an_archive_of_a_wrong_file_replaces_nothing(tmp_path: Path) -> None:
    """The second member is wrong: the first, which is right, must not take its place either."""
    archive = tmp_path / "a.zip"
    archive.write_bytes(zipped({"x/one": b"new one", "x/two": b"wrong"}))
    (tmp_path / "one").write_bytes(b"old one")
    targets = {"one": tmp_path / "one", "two": tmp_path / "two"}
    with pytest.raises(DataError, match=f"its two has MD5 {md5(b'wrong')}, the official file has {md5(b'right')}"):
        files.extract(archive, targets, md5={"two": md5(b"right")})
    with pytest.raises(DataError, match=r"a.zip: holds no three"):
        files.extract(archive, {"one": tmp_path / "one", "three": tmp_path / "three"})
    assert tree(tmp_path) == {"a.zip": archive.read_bytes(), "one": b"old one"}
    files.extract(archive, targets)
    assert (tmp_path / "one").read_bytes() == b"new one" and (tmp_path / "two").read_bytes() == b"wrong"


@pytest.mark.parametrize(
    "content",
    [tarred({"one": bytes(range(256)) * 400})[:-90], b"no archive", zipped({"one": b"x"})[:-30], b""],
    ids=["tar", "no archive", "zip", "empty"],  # what an archive holds depends on the clock
)
def test_a_broken_archive_is_a_data_error(tmp_path: Path, content: bytes) -> None:
    archive = tmp_path / "a.tgz"
    archive.write_bytes(content)
    with pytest.raises(DataError, match=r"a.tgz: is not a complete (archive|.gz file) .* fetch it again"):
        files.extract(archive, {"one": tmp_path / "one"})
    assert tree(tmp_path) == {"a.tgz": content}


def test_a_full_disk_is_a_data_error_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "a.zip"
    archive.write_bytes(zipped({"one": b"new one"}))
    (tmp_path / "one").write_bytes(b"old one")
    before = tree(tmp_path)

    def full(self: Path, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DataError, match=r"a.zip: cannot be unpacked \(No space left on device\). Make room"):
        files.extract(archive, {"one": tmp_path / "one"})
    assert tree(tmp_path) == before


def test_a_member_cannot_leave_the_folder(tmp_path: Path) -> None:
    """Only the names asked for are written, where the caller says: the paths inside the archive do not matter."""
    archive = tmp_path / "deep" / "a.zip"
    archive.parent.mkdir()
    archive.write_bytes(zipped({"../../evil/one": b"x", "/etc/two": b"y"}))
    files.extract(archive, {"one": tmp_path / "deep" / "one"})
    assert set(tree(tmp_path)) == {"deep/a.zip", "deep/one"}


def test_bidmc_without_its_list_of_checksums_is_refused(tmp_path: Path, mirror: Mirror) -> None:
    mirror[f"{bidmc.OFFICIAL}SHA256SUMS.txt"] = b"<html>busy</html>"
    with pytest.raises(DataError, match=r"lists no bidmc_csv/bidmc_01_Signals.csv"):
        bidmc.download(tmp_path)


def test_eigenworms_of_other_numbers_take_no_place(
    tmp_path: Path, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    for_eigenworms(mirror, monkeypatch)
    eigenworms.download(tmp_path)
    before = (tmp_path / "EigenWorms" / "EigenWorms_TEST.ts").read_bytes()
    series = _archive_series.read(tmp_path / "EigenWorms" / "EigenWorms_TEST.ts")
    assert len(series.labels) == 12
    parts = {"EigenWorms_TRAIN.ts": before, "EigenWorms_TEST.ts": before}
    (tmp_path / "EigenWorms.zip").write_bytes(zipped(parts))
    with pytest.raises(DataError, match="sequences of each class, published are"):
        eigenworms.download(tmp_path)
    assert (tmp_path / "EigenWorms" / "EigenWorms_TRAIN.ts").read_bytes() != before
