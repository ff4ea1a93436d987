"""How a driver is used: contexts, threads, streams, attributes, errors, over one that runs launches on the CPU.

The driver is `fake_driver.cpp`. PyCUDA itself is real, and its tests skip where it is not installed; the launcher of
the benchmarks, which needs no PyCUDA, is tried in any case.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cuda.odernn_kernels import build
from cuda.odernn_kernels.emulator import Emulated

CHECKOUT = Path(__file__).resolve().parents[2]

HEAD = """
import threading, torch
from cuda.odernn_kernels import execution, catalogue, module, orthogonal, trajectories
class Stream:
    def __init__(self, handle=0, device=None): self.cuda_stream, self.waited = handle, []
    def wait_stream(self, other): self.waited.append(other)
now = Stream()
torch.cuda.current_stream = lambda index: now
torch.cuda.ExternalStream = Stream
x = torch.randn(40, 2, 3, requires_grad=True)
call = dict(w=0.5, step_size=0.1, alpha=1.0)
"""


WARNINGS = ("-W", "error", "-W", "ignore:CUDA initialization:UserWarning")
"""A torch for CUDA says that the driver, which is the fake one, is none."""

PYCUDA = "device = module._devices[0] = module.Device(0)\n"


def pycuda_extension() -> Path | None:
    """PyCUDA's compiled module, without an import of it."""
    spec = importlib.util.find_spec("pycuda")
    if spec is None or not spec.submodule_search_locations:
        return None
    return next(Path(spec.submodule_search_locations[0]).glob("_driver*.so"), None)


@pytest.fixture(scope="module")
def environment(emulated: Emulated, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of a process with the fake driver; its cubins are files that only look like some."""
    folder = tmp_path_factory.mktemp("driver")
    extension = pycuda_extension()
    source = Path(__file__).with_name("fake_driver.cpp").read_text("utf-8")
    needed: list[str] = []
    if extension is not None:
        symbols = subprocess.run(["nm", "-D", "--undefined-only", str(extension)], capture_output=True, text=True)
        needed = sorted(set(re.findall(r"\b(cu[A-Z]\w+)$", symbols.stdout, re.MULTILINE)))
    stubs = [f'extern "C" int {n}() {{ return 801; }}\n' for n in needed if f"Result {n}(" not in source]
    (folder / "fake.cpp").write_text(source + "".join(stubs), "utf-8")
    command = ["g++", "-std=c++17", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", "libcuda.so.1", "fake.cpp"]
    subprocess.run([*command, "-ldl"], cwd=folder, check=True)
    for unit in build.UNITS:
        (folder / build.file_name(unit, "sm_90")).write_bytes(b"\x7fELF")
    return {
        **os.environ,
        "LD_LIBRARY_PATH": str(folder),
        "ODERNN_CUBINS": str(folder),
        "OMP_NUM_THREADS": "1",
        "ODERNN_EMULATED": str(emulated.library),
        "PYTHONPATH": os.pathsep.join(map(str, (CHECKOUT, os.environ.get("PYTHONPATH", "")))),
    }


@pytest.fixture
def driver(environment: dict[str, str]) -> dict[str, str]:
    """The same, for tests that need PyCUDA."""
    if pycuda_extension() is None:
        pytest.skip("PyCUDA is not installed")
    return environment


def run(environment: dict[str, str], code: str, device: str = PYCUDA) -> tuple[int, str, list[list[str]]]:
    """Exit status, all that was printed, and the launches: name, grid, threads, shared, stream, depth of contexts."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", *WARNINGS, "-c", HEAD + device + code],
        env=environment,
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
    )
    output = done.stdout + done.stderr
    return done.returncode, output, [line.split()[1:] for line in output.splitlines() if line.startswith("launched")]


USING = "with module.using(device):\n"


def test_forward_and_backward_run_and_the_context_is_released(driver: dict[str, str]) -> None:
    code = USING + "    y = execution.outputs(x, **call).y; y.sum().backward()\nprint(float(x.grad.abs().max()) > 0)\n"
    status, output, launches = run(driver, code)
    assert status == 0 and "True" in output and "clean-up operation failed" not in output, output
    assert launches == [
        ["forward_f32", "1", "32", "4096", "default", "1"],
        ["stored_f32", "1", "32", "12288", "default", "1"],
    ]
    assert output.rstrip().endswith("released 0"), output


CTYPES = """
torch.cuda.get_device_capability = lambda index: (9, 0)
from cuda.odernn_kernels import driver
assert driver.unavailable_because() is None
device = driver.DriverDevice()
"""


@pytest.mark.slow
def test_the_drivers_own_interface_needs_no_pycuda(environment: dict[str, str]) -> None:
    code = (
        USING
        + """
    execution.outputs(x, **call).y.sum().backward()
    orthogonal.rows(torch.zeros(2, 1, 190), W=torch.eye(190), b=torch.zeros(190), h0=torch.zeros(1, 190))
    try:
        device.launch(catalogue.Kernel("missing", "forward", 32, 0), 1, (0,), threads=32, shared=0)
    except catalogue.LaunchError as error:
        print(error)
    try:
        device.launch(catalogue.KERNELS["forward_f32"], 1, (0,), threads=32, shared=300000)
    except catalogue.LaunchError as error:
        print(error)
"""
    )
    status, output, launches = run(environment, code, CTYPES)
    assert (
        status == 0 and "missing, 1 blocks of 32 threads, 0 bytes shared: cuModuleGetFunction: not found" in output
    ), output
    assert "forward_f32 needs 300000 bytes of shared memory a block, this device has 232448" in output
    assert [(name, depth) for name, *_, depth in launches] == [
        ("forward_f32", "1"),
        ("stored_f32", "1"),
        ("scornn_forward_f32", "1"),
    ]


@pytest.mark.slow
def test_a_thread_of_its_own_has_the_context_and_leaves_none(driver: dict[str, str]) -> None:
    code = (
        USING
        + """
    y = execution.outputs(x, **call).y
    workers = [threading.Thread(target=lambda: y.sum().backward(retain_graph=True)) for _ in range(3)]
    [w.start() for w in workers]; [w.join() for w in workers]
"""
    )
    status, output, launches = run(driver, code)
    assert status == 0, output
    assert [name for name, *_ in launches] == ["forward_f32"] + ["stored_f32"] * 3
    assert all(depth == "1" for *_, depth in launches)


@pytest.mark.slow
def test_a_context_that_is_current_already_is_not_pushed_again(driver: dict[str, str]) -> None:
    """As torch leaves it: the launch is one context deep, where a second push would make it two; a foreign one is."""
    code = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
for context in (device._handle, 1):
    driver.cuCtxPushCurrent_v2(ctypes.c_void_p(context))
    with module.using(device):
        execution.outputs(x, **call)
        execution.outputs(x.double(), **call)  # another function of the module, and of another layout
    driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
"""
    status, output, launches = run(driver, code)
    assert status == 0, output
    assert [depth for *_, depth in launches] == ["1", "1", "2", "2"]


@pytest.mark.slow
def test_each_side_stream_is_forked_and_joined_by_one_of_ours(driver: dict[str, str]) -> None:
    code = """
sides = [Stream(7), Stream(8), Stream(9)]
with module.using(device):
    for capturing in (False, True):  # while one captures no stream is made, but for a second one
        torch.cuda.is_current_stream_capturing = lambda: capturing
        for now in sides[:2] if not capturing else sides:
            execution.outputs(x, **call)
ours = [side.waited[0] for side in sides]
print("one each", len({id(o) for o in ours}), len({o.cuda_stream for o in ours}))
print("fork", [o.waited == n * [s] for o, s, n in zip(ours, sides, (2, 2, 1))])
print("join", [s.waited == n * [o] for o, s, n in zip(ours, sides, (2, 2, 1))])
print("spare", device._spare)
"""
    status, output, launches = run(driver, code)
    assert status == 0 and "one each 3 3" in output and "spare None" in output, output
    assert "fork [True, True, True]" in output and "join [True, True, True]" in output, output
    assert [stream for *_, stream, _ in launches] == ["ours"] * 5


@pytest.mark.slow
def test_a_function_is_prepared_once_for_a_layout_of_arguments(driver: dict[str, str]) -> None:
    code = """
from pycuda.driver import Function
real, layouts = Function.prepare, []
Function.prepare = lambda self, layout, *rest: layouts.append(layout) or real(self, layout, *rest)
with module.using(device):
    for _ in range(3):
        execution.outputs(x, **call).y.sum().backward()
print("prepared", len(layouts))
"""
    status, output, launches = run(driver, code)
    assert status == 0 and "prepared 2" in output, output
    assert len(launches) == 6


@pytest.mark.slow
def test_shared_memory_beyond_the_default_is_asked_for(driver: dict[str, str]) -> None:
    code = """
from dataclasses import replace
catalogue.KERNELS["forward_f32"] = replace(catalogue.KERNELS["forward_f32"], shared=150000)
with module.using(device):
    execution.outputs(x, **call)
"""
    status, output, launches = run(driver, code)
    assert status == 0 and launches == [["forward_f32", "1", "32", "150000", "default", "1"]], output


@pytest.mark.slow
def test_what_the_driver_refuses_names_the_kernel(driver: dict[str, str]) -> None:
    code = """
from dataclasses import replace
device.launch(replace(catalogue.KERNELS["forward_f32"], name="missing"), 1, (0,), threads=32, shared=0)
"""
    status, output, _ = run(driver, code)
    assert status != 0 and "LaunchError: missing, 1 blocks of 32 threads" in output, output


@pytest.mark.slow
def test_more_shared_memory_than_there_is_is_refused_before_the_launch(driver: dict[str, str]) -> None:
    code = 'device.launch(catalogue.KERNELS["forward_f32"], 1, (0,), threads=32, shared=300000)\n'
    status, output, launches = run(driver, code)
    assert status != 0 and not launches
    assert "needs 300000 bytes of shared memory a block, this device has 232448" in output


@pytest.mark.slow
def test_an_old_device_is_refused(driver: dict[str, str]) -> None:
    status, output, _ = run(driver | {"ODERNN_FAKE_CAPABILITY": "7"}, "")
    assert status != 0 and "is sm_70, but asynchronous copies need sm_80" in output


@pytest.mark.slow
def test_what_a_launch_costs_in_which_thread_is_told(driver: dict[str, str], tmp_path: Path) -> None:
    """device/threads.py over launches that do nothing: all launchers, each in three threads, a context where pushed."""
    (tmp_path / "idle.cpp").write_text('extern "C" const char* odernn_launch() { return nullptr; }\n', "utf-8")
    command = ["g++", "-shared", "-fPIC", "-o", "idle.so", "idle.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True)
    code = """
torch.cuda.get_device_capability = lambda index: (9, 0)
from device import threads
threads.CALLS, threads.ROUNDS = 5, 1
for label, found in threads.compared("cpu"):
    print("told", label, "|", *(f"{value:.4g}" for value in found.values()))
"""
    status, output, launches = run(driver | {"ODERNN_EMULATED": str(tmp_path / "idle.so")}, code, "")
    assert status == 0, output
    told = {line[5:].split(" | ")[0]: line.split(" | ")[1].split() for line in output.splitlines() if "told " in line}
    names = ["launches nothing", "driver", "driver, GIL kept", "PyCUDA"]
    names += ["PyCUDA, context pushed", "PyCUDA, GIL kept"]
    assert list(told) == [f"{name}; {where}" for name in names for where in ("one", "autograd's", "ours")]
    assert len(launches) == 2 * 5 * 2 * 3 * (len(names) - 1) and all(depth == "1" for *_, depth in launches)
    assert all(float(figures[2]) >= 1 for label, figures in told.items() if label.endswith("; ours"))
