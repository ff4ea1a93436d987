"""device/: what a bare machine is given, and the one command there."""

from __future__ import annotations

import importlib
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def wheel(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(CHECKOUT / "device"))
    return importlib.import_module("pycuda_wheel")


@pytest.fixture
def bundle(wheel: ModuleType) -> ModuleType:
    return importlib.import_module("bundle")


def a_toolkit(folder: Path) -> Path:
    (folder / "include").mkdir(parents=True)
    (folder / "include" / "cuda.h").write_text("typedef int CUresult;\nCUresult cuInit(unsigned flags);\n")
    (folder / "include" / "cudaProfiler.h").write_text("CUresult cuProfilerStart(void);\n")
    return folder


def test_the_toolkit_is_where_nvcc_says_even_if_nvcc_is_a_script_elsewhere(
    wheel: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = a_toolkit(tmp_path / "toolkit")
    script = tmp_path / "bin" / "nvcc"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\necho '#$ TOP={root}/bin/..' >&2\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    for name in ("CUDA_ROOT", "CUDA_HOME"):
        monkeypatch.delenv(name, raising=False)
    (root / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    assert wheel.toolkit() == root
    monkeypatch.setenv("CUDA_ROOT", str(tmp_path))
    with pytest.raises(wheel.WheelError, match=r"has no include/cuda\.h\. Name the folder of a CUDA toolkit"):
        wheel.toolkit()


def test_without_a_toolkit_the_error_says_what_to_install(wheel: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA_ROOT", "CUDA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(wheel.WheelError, match="Install a CUDA toolkit, or set CUDA_ROOT"):
        wheel.toolkit()


def test_the_stub_has_the_functions_of_both_headers(wheel: ModuleType, tmp_path: Path, compiler: None) -> None:
    wheel.stub(a_toolkit(tmp_path / "toolkit"), tmp_path)
    symbols = subprocess.run(
        ["nm", "-D", str(tmp_path / "libcuda.so")], capture_output=True, text=True, check=True
    ).stdout
    assert " T cuInit" in symbols and " T cuProfilerStart" in symbols


def test_a_wheel_that_is_there_is_kept(wheel: ModuleType, tmp_path: Path) -> None:
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    there = tmp_path / f"pycuda-{wheel.VERSION}-{tag}-{tag}-linux_x86_64.whl"
    there.touch()
    assert wheel.build(tmp_path, sys.executable) == there
    with pytest.raises(wheel.WheelError, match=r"cannot be started.*Name another one with --python"):
        wheel.build(tmp_path, str(tmp_path / "no-python"))


def test_data_is_taken_from_the_folder_or_from_below_and_what_lacks_is_named(
    bundle: ModuleType, tmp_path: Path
) -> None:
    source, target = tmp_path / "source", tmp_path / "bundle"
    (source / "mnist").mkdir(parents=True)
    for name in bundle.MNIST[:-1]:
        (source / "mnist" / name).write_bytes(b"images")
    with pytest.raises(bundle.BundleError, match=f"has no {bundle.MNIST[-1]}, nor has a folder in it"):
        bundle.data(target, source)
    (source / bundle.MNIST[-1]).write_bytes(b"labels")
    bundle.data(target, source)
    assert {path.name for path in target.iterdir()} == set(bundle.MNIST)


def called(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(CHECKOUT / "device" / "run.sh"), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHON": sys.executable, **environment},
    )


def test_an_unknown_part_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    done = called("--out", str(tmp_path / "out"), "chekc")
    assert done.returncode == 2 and "there is no part or option 'chekc'" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_rehearsal_checks_in_the_emulator_and_leaves_a_record(tmp_path: Path, compiler: None) -> None:
    done = called("--rehearse", "--out", str(tmp_path / "out"), "check", BUNDLE=str(tmp_path / "none"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "out" / "device_emulated.json").is_file()
