"""Files of data sets."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import pickle
import struct
import tarfile
import wave
import zipfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from tests.reliability.readers.reader import Bait, Reader, put


def _packed(ending: str, folder: Path, content: bytes) -> object:
    from verification.tasks import files

    return len(files.read(put(folder, f"data{ending}", content)))


def _archive(folder: Path, content: bytes) -> object:
    from verification.tasks import files

    files.extract(put(folder, "data.archive", content), {"a.csv": folder / "a.csv", "b.csv": folder / "b.csv"})
    return None


def _archive_seeds() -> list[bytes]:
    members = {"data/a.csv": b"1,2\n" * 9, "data/b.csv": b"3,4\n", "../evil": b"x"}
    found = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as zipped:
            for name, content in members.items():
                zipped.writestr(name, content)
        found.append(buffer.getvalue())
    for mode, has_link in (("w", False), ("w:gz", False), ("w", True)):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode=mode) as tarred:
            for name, content in members.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tarred.addfile(entry, io.BytesIO(content))
            link = tarfile.TarInfo("data/b.csv")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            if has_link:
                tarred.addfile(link)
        found.append(buffer.getvalue())
    return found


def _idx(folder: Path, content: bytes) -> object:
    from verification.tasks import mnist

    packed = gzip.compress(content, 1)
    md5 = hashlib.md5(packed, usedforsecurity=False).hexdigest()
    return mnist.read_idx(put(folder, "images.gz", packed), dimensions=3, md5=md5).shape


def _idx_seeds() -> list[bytes]:
    return [struct.pack(">4I", 0x803, 2, 3, 3) + bytes(18)]


def _wav(folder: Path, content: bytes) -> object:
    from verification.tasks import spoken_digits

    return spoken_digits.log_magnitudes(spoken_digits.read(put(folder, "0_theo_0.wav", content), 8000)).shape


def _wav_seeds() -> list[bytes]:
    found = []
    for width in (1, 2, 3, 4):
        buffer = io.BytesIO()
        with wave.open(buffer, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(width)
            file.setframerate(8000)
            file.writeframes(bytes(range(200)) * width)
        found.append(buffer.getvalue())
    return found


def _cifar(is_binary: bool, folder: Path, content: bytes) -> object:
    from verification.tasks import noise_padded_cifar10 as cifar

    name = "test_batch.bin" if is_binary else "test_batch"
    put(folder, name, content)
    md5 = {"test_batch": hashlib.md5(content, usedforsecurity=False).hexdigest()}
    return cifar.read("test", folder, md5)[0].shape


def _cifar_seeds(is_binary: bool) -> list[bytes]:
    if is_binary:
        return [bytes([3]) + bytes(3072)]
    batch = {b"labels": [1, 2], b"data": np.zeros((2, 3072), np.uint8), b"filenames": []}
    from tests.verification.tasks.test_noise_padded_cifar10 import images, pickled

    return [
        pickle.dumps(batch, protocol=4),
        pickled(images(1, 3)),
        pickle.dumps({b"labels": Bait(), b"data": []}, protocol=2),
    ]


def _bidmc(part: str, folder: Path, content: bytes) -> object:
    from verification.tasks import bidmc

    for name, text in _recording().items():
        put(folder, f"bidmc_01_{name}.csv", content if name == part else text)
    return [len(recording.monitor) for recording in bidmc.read(folder, "HR")]


@cache
def _recording() -> dict[str, bytes]:
    signals = [f"{n / 125:.5g},0.1,{n % 7},0.2,0.3,{n % 5}" for n in range(260)]
    numerics = [f"{s},80,81,16,97" for s in range(3)]
    return {
        "Signals": "\n".join(["Time [s], RESP, PLETH, V, AVR, II", *signals, ""]).encode(),
        "Numerics": "\n".join(["Time [s], HR, PULSE, RESP, SpO2", *numerics, ""]).encode(),
    }


def _bidmc_seeds(part: str) -> list[bytes]:
    return [_recording()[part]]


def _series(ending: str, folder: Path, content: bytes) -> object:
    from verification.tasks import _archive_series

    return _archive_series.read(put(folder, f"worms.{ending}", content)).values.shape


TS = (
    b"# w\n@problemName W\n@timeStamps false\n@dimensions 2\n@seriesLength 3\n@classLabel true a b\n@data\n"
    b"1,2,3:4,5,6:a\n0,-1,1e3:1,1,1:b\n"
)
ARFF = (
    b"@relation w\n@attribute a real\n@attribute b real\n@attribute target {x,y}\n@data\n1.5,-2,y\n0,3e1,x\n",
    b"@relation w\n@attribute r relational\n@attribute a numeric\n@attribute b numeric\n@end r\n"
    b"@attribute t {1,2}\n@data\n'1,2\\n3,4',1\n",
)


def _text8(folder: Path, content: bytes) -> object:
    from verification.tasks import text8_characters

    put(folder, "book", content)
    return text8_characters.load("train", folder, file="book", steps=5, md5=None)[2].count


_TWICE = (gzip.compress(b"a") * 2, lzma.compress(b"a") * 2)
"""Two streams one after another."""


def _reader(
    name: str, kind: str, read: Callable[[Path, bytes], object], seeds: Callable[[], Sequence[bytes]], *modules: str
) -> Reader:
    inside = " ".join(f"verification.tasks.{module}" for module in ("files", *modules))
    return Reader(name, kind, read, seeds, "verification.tasks.images:DataError", inside)


READERS = (
    _reader("packed .gz", "bytes", partial(_packed, ".gz"), lambda: [gzip.compress(b"text " * 50), *_TWICE]),
    _reader("packed .xz", "bytes", partial(_packed, ".xz"), lambda: [lzma.compress(b"text " * 50), *_TWICE]),
    _reader("archive", "bytes", _archive, _archive_seeds),
    _reader("idx", "bytes", _idx, _idx_seeds, "mnist"),
    _reader("wav", "bytes", _wav, _wav_seeds, "spoken_digits"),
    *(
        _reader(f"CIFAR-10, {n}", "bytes", partial(_cifar, b), partial(_cifar_seeds, b), "noise_padded_cifar10")
        for n, b in (("pickled", False), ("binary", True))
    ),
    *(
        _reader(f"BIDMC {part}", "text", partial(_bidmc, part), partial(_bidmc_seeds, part), "bidmc")
        for part in ("Signals", "Numerics")
    ),
    _reader("series .ts", "text", partial(_series, "ts"), lambda: [TS], "_archive_series"),
    _reader("series .arff", "text", partial(_series, "arff"), lambda: list(ARFF), "_archive_series"),
    _reader("characters", "text", _text8, lambda: [b"The quick brown fox " * 9], "text8_characters"),
)
