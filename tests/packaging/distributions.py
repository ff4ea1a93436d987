"""The wheel and the source distribution, built from copies of the checkout, and what is wrong with them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
ROOTS = ("odernn", "verification", "cuda")
SHIPPED = ("odernn/", "verification/", "cuda/odernn_kernels/")
DATA = (".cu", ".cuh", ".css", ".jinja", ".js", ".pyi", ".toml")
"""Endings of files that are read and not imported: a distribution that has none of one of them lost them all."""

TAKES_THE_NAME = "cuda/__init__.py"
MADE = "PKG-INFO"
"""The one file of a source distribution that no checkout has."""

UNTRACKED = {".git", ".venv", "build", "dist", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
EPOCH = 1_700_000_000
MASKS = (0o022, 0o077)


class PackagingError(Exception):
    """A distribution, or its use outside the checkout, is not as it should be."""


def files_of(checkout: Path) -> set[str]:
    """Every file that git has or does not ignore; of an unpacked source distribution, all but what tools left there."""
    if (checkout / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True).stdout.split("\0")
        return {name for name in listed if name and (checkout / name).is_file()}
    found = (path.relative_to(checkout) for path in checkout.rglob("*") if path.is_file())
    return {path.as_posix() for path in found if not UNTRACKED.intersection(path.parts)} - {MADE}


def copy_of(checkout: Path, folder: Path, mask: int = 0o022) -> Path:
    """The files of a checkout, made now and with the modes that they have under a umask, as a clone would be."""
    for name in sorted(files_of(checkout)):
        source, target = checkout / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o777 & ~mask)
        shutil.copyfile(source, target)
        target.chmod((0o777 if os.access(source, os.X_OK) else 0o666) & ~mask)
    return folder


def built(source: Path, folder: Path, mask: int = 0o022, epoch: int = EPOCH) -> list[Path]:
    """The wheel and the source distribution of a folder with the sources, by the pinned backend, without a network."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, umask=mask)
    if done.returncode != 0:
        raise PackagingError(f"`{' '.join(command)}` exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    made = sorted(folder.glob("odernn-*.whl")) + sorted(folder.glob("odernn-*.tar.gz"))
    if len(made) != 2:
        raise PackagingError(f"expected a wheel and a source distribution, found {[path.name for path in made]}")
    return made


def members(distribution: Path) -> dict[str, tuple[bytes, str]]:
    """Contents of every file, with what a builder may add to them: time, mode and owner."""
    if distribution.suffix == ".whl":
        with zipfile.ZipFile(distribution) as archive:
            infos = archive.infolist()
            return {i.filename: (archive.read(i), f"{i.date_time} {i.external_attr >> 16:o}") for i in infos}
    with tarfile.open(distribution) as archive:
        return {
            m.name.partition("/")[2]: (
                getattr(archive.extractfile(m), "read", bytes)(),
                f"{m.mtime} {m.mode:o} {m.uid} {m.gid} {m.uname}{m.gname}",
            )
            for m in archive.getmembers()
        }


def differences(one: Path, other: Path) -> list[str]:
    """Why two files that should be the same, byte for byte, are not; empty if they are."""
    if hashlib.sha256(one.read_bytes()).digest() == hashlib.sha256(other.read_bytes()).digest():
        return []
    first, second = members(one), members(other)
    told = [f"only in one {one.name}: {name}" for name in sorted({*first} ^ {*second})]
    for name in sorted({*first} & {*second}):
        told += [f"{one.name}, {name}: other contents"] if first[name][0] != second[name][0] else []
        told += (
            [f"{one.name}, {name}: {first[name][1]}, {second[name][1]}"] if first[name][1] != second[name][1] else []
        )
    return told or [f"{one.name}: other order or compression"]


def reproduced(folder: Path, checkout: Path = CHECKOUT) -> tuple[list[Path], list[str]]:
    """Both distributions, and how they differ from those of a second copy elsewhere with another umask."""
    pairs = []
    for name, mask in zip(("one", "another/and/deeper"), MASKS, strict=True):
        source = copy_of(checkout, folder / name / "source", mask)
        pairs.append(built(source, folder / name / "made", mask))
    return pairs[0], [told for one, other in zip(*pairs, strict=True) for told in differences(one, other)]


def slips_of_contents(shipped: set[str], expected: set[str]) -> list[str]:
    """What is wrong with a wheel's list of files; empty if nothing is."""
    shipped = {name for name in shipped if ".dist-info/" not in name}
    tops = {name.split("/")[0] for name in shipped}
    slips = [f"missing from the wheel: {name}" for name in sorted(expected - shipped - {TAKES_THE_NAME})]
    slips += [f"must not be in the wheel: {top}" for top in sorted(tops - set(ROOTS))]
    slips += [
        f"no typing marker: {name}"
        for name in ("odernn/py.typed", "verification/py.typed", "cuda/odernn_kernels/py.typed")
        if name not in shipped
    ]
    slips += [f"no file ends in {end}" for end in DATA if not any(name.endswith(end) for name in shipped)]
    if TAKES_THE_NAME in shipped | expected:
        slips.append(f"must not exist: {TAKES_THE_NAME} (it hides NVIDIA's packages)")
    return slips


def slips_of_wheel(wheel: Path, checkout: Path = CHECKOUT) -> list[str]:
    """Of a wheel of the checkout: files missing, and files that must not be there."""
    return slips_of_contents(
        set(zipfile.ZipFile(wheel).namelist()), {f for f in files_of(checkout) if f.startswith(SHIPPED)}
    )


def slips_of_sdist(sdist: Path, checkout: Path = CHECKOUT) -> list[str]:
    """A source distribution is the checkout and what its metadata says, no file more and none less."""
    shipped, expected = {*members(sdist)}, files_of(checkout) | {MADE}
    slips = [f"missing from the source distribution: {name}" for name in sorted(expected - shipped)]
    return slips + [f"must not be in the source distribution: {name}" for name in sorted(shipped - expected)]
