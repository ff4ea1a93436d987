"""device/: what a bare machine is given, and the one command there."""

from __future__ import annotations

import importlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.tiers import slow
from verification.training import checkpoints, configuration

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


def an_mps(folder: Path, *, starts: bool = True) -> Path:
    """A stand-in for the daemon of MPS, which writes down what it is told and where its folders are."""
    folder.mkdir()
    tool = folder / "nvidia-cuda-mps-control"
    tool.write_text(
        f"""#!/bin/sh
if [ "$1" = -d ]; then
  test -d "$CUDA_MPS_PIPE_DIRECTORY" && test -d "$CUDA_MPS_LOG_DIRECTORY" && echo start in folders >> {folder}/said
  dirname "$CUDA_MPS_PIPE_DIRECTORY" > {folder}/where
  exit {0 if starts else 1}
fi
cat >> {folder}/said
"""
    )
    tool.chmod(0o755)
    return folder


TRAIN = ("--rehearse", "--seconds", "0", "--run", "adding, T = 200", "--run", "sequential *", "train")


def a_python(folder: Path) -> Path:
    """A stand-in for the interpreter, in which no run comes to its end."""
    folder.mkdir()
    program = folder / "python"
    program.write_text("#!/bin/sh\necho the time is up\nexit 1\n")
    program.chmod(0o755)
    return program


def test_runs_that_stopped_elsewhere_go_on_and_those_that_are_there_are_left(tmp_path: Path) -> None:
    """Each of device/unfinished is a run of the plan, with all that its loop reads."""
    kept = sorted(path for path in (CHECKOUT / "device" / "unfinished").iterdir() if path.is_dir())
    mine = tmp_path / "out" / kept[0].name
    mine.mkdir(parents=True)
    done = called("--out", str(tmp_path / "out"), "--run", "none", "train", PYTHON=str(a_python(tmp_path / "python")))
    assert done.returncode == 1 and list(mine.iterdir()) == []
    for folder in kept[1:]:
        assert {path.name for path in (tmp_path / "out" / folder.name).iterdir()} >= {"latest.safetensors", "run.json"}
    for folder in kept:
        facts = json.loads((folder / "run.json").read_text("utf-8"))
        read = configuration.from_mapping(facts["configuration"])
        assert folder.name == read.digest()[:16] and checkpoints.read(folder / "latest.safetensors").facts


def without_mps() -> str:
    """PATH without the folders of a daemon that is installed."""
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(each for each in folders if not Path(each, "nvidia-cuda-mps-control").exists())


KINDS = ("runs", "does not start", "one job", "another one", "none")


@pytest.mark.parametrize("is_real", [False, slow(True)], ids=["stand-in", "python"])
@pytest.mark.parametrize("kind", KINDS)
def test_runs_side_by_side_share_the_device_by_an_mps_of_their_own(tmp_path: Path, kind: str, is_real: bool) -> None:
    """The daemon is stopped and its folder gone, whether or not the runs came to their end: here they have no time."""
    tools = an_mps(tmp_path / "tools", starts=kind != "does not start")
    path = without_mps() if kind == "none" else f"{tools}{os.pathsep}{os.environ['PATH']}"
    more = {"CUDA_MPS_PIPE_DIRECTORY": "/there"} if kind == "another one" else {}
    jobs = () if kind == "one job" else ("--jobs", "2")
    more |= {"PATH": path} if is_real else {"PATH": path, "PYTHON": str(a_python(tmp_path / "python"))}
    done = called(*jobs, "--out", str(tmp_path / "out"), *TRAIN, BUNDLE=str(tmp_path / "none"), **more)
    said = (tools / "said").read_text() if (tools / "said").exists() else ""
    expected = {"runs": "start in folders\nquit\n", "does not start": "start in folders\n"}
    assert said == expected.get(kind, "")
    if said:
        assert not Path((tools / "where").read_text().strip()).exists()
    words = {
        "runs": "2 runs share the device by MPS",
        "does not start": "MPS does not start: 2 runs take turns",
        "none": "there is no nvidia-cuda-mps-control: 2 runs take turns",
    }
    assert words.get(kind, "== train") in done.stdout and ("MPS" in done.stdout) == (kind in ("runs", "does not start"))
    assert "No run begins with" in done.stderr or "the time is up" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 1


def test_a_number_of_jobs_that_is_none_is_refused(tmp_path: Path) -> None:
    for jobs in ("0", "two", "-1"):
        done = called("--jobs", jobs, "train", "--out", str(tmp_path / "out"))
        assert done.returncode == 2 and f"--jobs is '{jobs}'" in done.stderr


@pytest.mark.slow
def test_a_rehearsal_checks_in_the_emulator_and_leaves_a_record(tmp_path: Path, compiler: None) -> None:
    done = called("--rehearse", "--out", str(tmp_path / "out"), "check", BUNDLE=str(tmp_path / "none"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "out" / "device_emulated.json").is_file()
