"""Cubins: compiled without a warning or a spill, within a register budget, found by the text of their sources."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cuda.odernn_kernels import build, catalogue
from cuda.odernn_kernels.build import BuildError, Resources

BUDGET = {
    "forward": {"forward": 64, "forward_states": 64, "forward_checkpoints": 64, "inverse": 64},
    "backward": {"stored": 88, "stored_states": 104, "reversible": 96},
    "exact": {"exact_forward": 64, "exact_backward": 88},
    "scan": {"scan_forward": 104, "scan_backward": 112},
    "falsify": {"falsify": 80},
    "scornn": {"scornn_forward": 168, "scornn_backward": 168},
    "published": {
        "published_forward": 48,
        "published_backward": 56,
    },
}
"""Registers a kernel may use; of float32 and float64 the larger. 32-thread blocks: 168 a thread still let 12 warps live
on an SM's 64 K registers, 256 threads of scan could have 255, and 384 of scornn, which keep W there, have 168; 256 of
its float64 have 255. CUDA 13.0 used 1 to 20 fewer."""

OF_FLOAT64 = {"scornn_forward_f64": 255, "scornn_backward_f64": 255}

FAST = (("exact", "sm_90"), ("scan", "sm_80"))
PAIRS = [
    pytest.param(unit, arch, marks=[] if (unit, arch) in FAST else [pytest.mark.slow])
    for unit in build.UNITS
    for arch in ("sm_80", "sm_90")
]


@pytest.mark.parametrize(("unit", "arch"), PAIRS)
def test_nvcc_compiles_without_warning_or_spill_and_within_the_budget(unit: str, arch: str) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("there is no nvcc")
    code, found = build.nvcc(unit, arch)
    assert code.startswith(b"\x7fELF")
    assert set(found) == {kernel.name for kernel in catalogue.KERNELS.values() if kernel.unit == unit}
    for name, used in found.items():
        assert (used.spill_stores, used.spill_loads, used.stack) == (0, 0, 0), name
        budget = OF_FLOAT64.get(name) or BUDGET[unit][name.removesuffix("_f32").removesuffix("_f64")]
        assert used.registers <= budget, (name, used)


def test_every_unit_and_kernel_has_a_budget() -> None:
    assert set(BUDGET) == set(build.UNITS) == {path.stem for path in build.KERNELS.glob("*.cu")}
    bare = {(k.unit, k.name.removesuffix("_f32").removesuffix("_f64")) for k in catalogue.KERNELS.values()}
    assert bare == {(unit, name) for unit, names in BUDGET.items() for name in names}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sound", "faulty", "says"),
    [
        ("int n = 0;", "int n = 0, unused = 0;", "never referenced"),
        ("a.z_last[index] = z;", "a.z_last[index] = zz;", "undefined"),
    ],
)
def test_a_planted_warning_is_an_error(sound: str, faulty: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("there is no nvcc")
    text = build.inlined("forward")
    assert sound in text
    monkeypatch.setattr(build, "inlined", lambda unit: text.replace(sound, faulty))
    with pytest.raises(BuildError, match=says):
        build.nvcc("forward", "sm_90")


@pytest.mark.slow
def test_a_planted_spill_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("there is no nvcc")
    tight = build.inlined("scan").replace("__launch_bounds__(256, 1)", "__launch_bounds__(256, 8)")
    monkeypatch.setattr(build, "inlined", lambda unit: tight)
    try:
        _, found = build.nvcc("scan", "sm_90")
    except BuildError as error:
        assert "spill" in str(error)
    else:
        assert any(used.spill_stores > 0 for used in found.values())


def test_the_report_of_ptxas_is_read() -> None:
    log = """ptxas info    : Compiling entry function 'one' for 'sm_90'
ptxas info    : Function properties for one
    16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers
ptxas info    : Compiling entry function 'two' for 'sm_90'
ptxas info    : Function properties for two
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 8 bytes smem"""
    assert build.resources(log) == {"one": Resources(40, 24, 32, 16), "two": Resources(168, 0, 0, 0)}


def test_nvrtc_compiles_the_same_text() -> None:
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed")
    try:
        code = build._nvrtc(nvrtc, "published", "sm_90")
    except BuildError as error:
        if "cannot load NVRTC" in str(error):
            pytest.skip(str(error))
        raise
    assert code.startswith(b"\x7fELF")


@pytest.mark.parametrize("unit", build.UNITS)
def test_a_unit_is_one_text_without_includes(unit: str) -> None:
    text = build.inlined(unit)
    assert "#include" not in text and text.count("await_copies() {") == 1
    assert 'extern "C" __global__' in text


def test_a_cubin_is_named_by_what_it_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {build.file_name(unit, arch) for unit in build.UNITS for arch in ("sm_80", "sm_90")}
    assert len(names) == 2 * len(build.UNITS)
    before = build.file_name("scan", "sm_90")
    text = build.inlined("scan")
    monkeypatch.setattr(build, "inlined", lambda unit: text + " ")
    assert build.file_name("scan", "sm_90") != before


def test_a_cubin_built_ahead_comes_first_and_then_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(build, "compiled", lambda unit, arch: made.append(unit) or b"compiled")
    monkeypatch.setenv("ODERNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ODERNN_CUBINS", raising=False)
    assert build.cubin("scan", "sm_90") == b"compiled" == build.cubin("scan", "sm_90")
    assert made == ["scan"]
    (ahead := tmp_path / "ahead").mkdir()
    (ahead / build.file_name("scan", "sm_90")).write_bytes(b"ahead")
    monkeypatch.setenv("ODERNN_CUBINS", str(ahead))
    assert build.cubin("scan", "sm_90") == b"ahead"


def test_without_a_compiler_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("cuda.bindings") is not None:
        pytest.skip("cuda-bindings is installed: there may be an NVRTC")
    monkeypatch.setenv("ODERNN_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildError, match=r"neither nvcc nor NVRTC.*--arch sm_90 --output"):
        build.cubin("scan", "sm_90")


def test_the_command_builds_every_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "compiled", lambda unit, arch: f"{unit} {arch}".encode())
    monkeypatch.setattr(sys, "argv", ["build", "--arch", "sm_80", "--arch", "sm_90", "--output", str(tmp_path / "out")])
    assert build.main() == 0
    assert len(list((tmp_path / "out").glob("*.cubin"))) == 2 * len(build.UNITS)


def test_an_import_compiles_nothing_and_loads_neither_torch_nor_pycuda() -> None:
    code = (
        "import sys, subprocess\nsubprocess.run = None\nimport cuda.odernn_kernels, cuda.odernn_kernels.module\n"
        "print([m for m in ('torch', 'pycuda', 'numpy') if m in sys.modules])"
    )
    checkout = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=checkout)
    assert done.stdout.strip() == "[]", done.stderr
