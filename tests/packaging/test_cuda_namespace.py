"""`cuda` is NVIDIA's namespace package: this project adds one package to it and may never own the name."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


def python_files_directly_in(folder: Path) -> list[str]:
    """Files that would make, or look like, a part of the name `cuda` itself."""
    return sorted(p.name for p in folder.iterdir() if p.suffix in {".py", ".pyi", ".so", ".pyd"})


def test_cuda_is_a_namespace_and_nobodys_package() -> None:
    assert importlib.import_module("cuda").__file__ is None


def test_no_python_file_lies_directly_in_cuda() -> None:
    assert python_files_directly_in(CHECKOUT / "cuda") == []


def test_no_test_folder_is_a_package() -> None:
    """A `tests/cuda/__init__.py` would be imported as `cuda`, too; importlib mode needs none anywhere."""
    assert [p.relative_to(CHECKOUT).as_posix() for p in (CHECKOUT / "tests").rglob("__init__.py")] == []


def test_a_planted_init_is_seen_and_takes_the_name(tmp_path: Path) -> None:
    """The fault the guards are for: with an `__init__.py` our `cuda` hides what lies elsewhere."""
    (ours := tmp_path / "ours" / "cuda").mkdir(parents=True)
    (theirs := tmp_path / "theirs" / "cuda" / "bindings").mkdir(parents=True)
    (theirs / "__init__.py").touch()
    code = f"import sys; sys.path[:0] = {[str(ours.parent), str(theirs.parent.parent)]}; import cuda.bindings"

    def imports() -> bool:
        return subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=tmp_path).returncode == 0

    assert imports() and python_files_directly_in(ours) == []
    (ours / "__init__.py").touch()
    assert not imports() and python_files_directly_in(ours) == ["__init__.py"]


def test_nvidias_driver_bindings_import_beside_ours() -> None:
    """`make wheel-check` installs them and repeats this; here it runs where torch's build brought them."""
    kernels = importlib.import_module("cuda.odernn_kernels")
    bindings = pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
    assert kernels.__file__ and bindings.__file__
