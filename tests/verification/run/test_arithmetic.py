"""Arithmetic that is not IEEE 754's is found by computing: a run in it is refused, and a job is an error."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import shutil
import struct
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.verification.commands import made_runs
from verification.certify.float_replay import FORMATS, Format, rounded
from verification.cli import main
from verification.commands.terminal import DONE, FAILED, INTERNAL, USAGE
from verification.models.model_trial import trial
from verification.run import arithmetic
from verification.run.arithmetic import DIRECTION, DOUBLE, FLUSHED, FUSED, IEEE, FloatError, surprises
from verification.run.store import Store
from verification.training import facts

ON_X86 = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64", reason="numbers of x86's <fenv.h>"
)
TO_MINUS, TO_PLUS, TO_ZERO = 0x400, 0x800, 0xC00


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    torch.set_flush_denormal(False)
    arithmetic.restore()


def flush() -> None:
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor flushes nothing")


def to(mode: int) -> Callable[[], None]:
    return lambda: ctypes.CDLL(None).fesetround(mode) and None


PLANTED = [
    (flush, FLUSHED),
    *(pytest.param(to(mode), DIRECTION, marks=ON_X86) for mode in (TO_MINUS, TO_PLUS, TO_ZERO)),
]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_bits_are_those_that_the_machine_has(x: float) -> None:
    if x or not np.signbit(x):
        assert arithmetic.bits(Fraction(x), FORMATS["float64"]) == struct.unpack("<Q", struct.pack("<d", x))[0]
    y = float(np.float32(x)) if abs(x) < 3e38 else 1.0
    if y or not np.signbit(y):
        assert arithmetic.bits(Fraction(y), FORMATS["float32"]) == struct.unpack("<I", struct.pack("<f", y))[0]


def test_arithmetic_here_is_that_of_ieee_754() -> None:
    assert surprises() == surprises(thoroughly=True) == ()
    arithmetic.check(thoroughly=True)


@pytest.mark.parametrize("plant, kind", PLANTED)
def test_what_a_thread_was_told_is_found_in_all_that_it_computes_with(plant: Callable[[], None], kind: str) -> None:
    plant()
    found = surprises(thoroughly=True)
    arithmetic.restore()
    assert surprises(thoroughly=True) == ()
    (said,) = found
    assert said.startswith(kind)
    for where in ("Python", "numpy float64", "numpy float32", "torch float64", "torch float32"):
        assert where in said
    assert ("BLAS" in said) == (kind == FLUSHED)


def test_what_torch_s_own_threads_were_told_is_found_though_this_one_was_not() -> None:
    """They begin as the thread did that made them, and stay so."""
    found: list[tuple[str, ...]] = []

    def work() -> None:  # a thread has a team of its own
        flush()
        torch.ones(1 << 20).mul_(2.0)
        torch.set_flush_denormal(False)
        found.append(surprises())

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert surprises() == ()
    finally:
        torch.set_num_threads(before)
    assert found == [(f"{FLUSHED} (torch float64, torch float32)",)]


@pytest.mark.parametrize("plant, kind", PLANTED)
def test_a_program_whose_numpy_raises_is_told_so_too(plant: Callable[[], None], kind: str) -> None:
    with np.errstate(all="raise"):
        assert surprises(thoroughly=True) == ()
        plant()
        with pytest.raises(FloatError, match=kind):
            arithmetic.check(thoroughly=True)


def test_rows_for_many_threads_of_torch_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 64)
    surprises()
    gc.collect()
    tracemalloc.start()  # numpy tells it of its arrays
    try:
        assert surprises() == ()
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 2**20 < 64 * arithmetic.GRAIN * 8 < most


def wider(a: Fraction, b: Fraction, c: Fraction, form: Format) -> Fraction:
    """As the x87 adds: to 64 bits, and once more."""
    extended = Format(64, -16382, 16383)
    return rounded(rounded(rounded(a * b, extended) + c, extended), form)


def fused(a: Fraction, b: Fraction, c: Fraction, form: Format) -> Fraction:
    return rounded(a * b + c, form)


@pytest.mark.parametrize("add, kinds", [(wider, {DOUBLE, FUSED}), (fused, {FUSED})])
def test_arithmetic_with_more_bits_inside_is_seen(add: Callable[..., Fraction], kinds: set[str]) -> None:
    """Computed here over the rationals, as no processor of today does it in float64."""
    form, probe = FORMATS["float64"], arithmetic._probe("float64", 1)
    exact = [list(map(Fraction, column.tolist())) for column in probe.numbers]
    found: dict[str, list[str]] = {}
    computed = [arithmetic.bits(add(*row, form), form) for row in zip(*exact, strict=True)]
    probe.compare("here", np.array(computed, "u8").view("f8"), found)
    assert found == {kind: ["here"] for kind in kinds}
    found.clear()
    plain = [rounded(rounded(a * b, form) + c, form) for a, b, c in zip(*exact, strict=True)]
    probe.compare("here", np.array([arithmetic.bits(x, form) for x in plain], "u8").view("f8"), found)
    assert found == {}


@ON_X86
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize(
    "options, kinds", [("-mfpmath=387", {DOUBLE, FUSED}), ("-mfma -ffp-contract=fast", {FUSED}), ("", set())]
)
def test_compiled_arithmetic_with_more_bits_inside_is_seen(tmp_path: Path, options: str, kinds: set[str]) -> None:
    source, library = tmp_path / "step.c", tmp_path / "step.so"
    source.write_text(
        "void step(const double *a, const double *b, double *c, int n)\n"
        "{ for (int i = 0; i < n; i++) c[i] = a[i] * b[i] + c[i]; }\n"
    )
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", *options.split(), str(source), "-o", str(library)], check=True)
    probe = arithmetic._probe("float64", 1)
    a, b, c = (column.copy() for column in probe.numbers)
    ctypes.CDLL(str(library)).step(*(ctypes.c_void_p(each.ctypes.data) for each in (a, b, c)), len(a))
    found: dict[str, list[str]] = {}
    probe.compare("here", c, found)
    assert set(found) == kinds


# --- what becomes of it -------------------------------------------------------------------------------------------

CLAIM = """# Claims: own.case
from odernn.published.sources import Source
from verification.claim import Attempt, Case, Claim
{head}

def ask(budget, seed):
    {ask}
    return Attempt("tried", 1, proof="by hand", twice="by nobody")

CASES = (Case("free", "size", ask), Case("second", "size", lambda b, s: Attempt("tried", 1, proof="x", twice="y")))
CLAIMS = (Claim("own.case", Source("own", "nowhere"), "…", "alg", cases=CASES),)
"""
FLUSH = "__import__('torch').set_flush_denormal(True)"


def verify(ask: str, *options: str, head: str = "") -> int:
    Path("claims").mkdir(exist_ok=True)
    Path("claims/own.py").write_text(CLAIM.format(ask=ask, head=head))
    return main(["verify", "own.case", "--claims", "claims", *options])


@pytest.fixture
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize("jobs", ["0", pytest.param("1", marks=pytest.mark.slow)])
def test_a_job_that_changes_arithmetic_is_an_error_and_the_next_begins_with_it_whole(
    jobs: str, capfd: pytest.CaptureFixture[str]
) -> None:
    flush()
    torch.set_flush_denormal(False)
    assert verify(FLUSH, "--jobs", jobs, "--json") == FAILED
    first, second = map(json.loads, capfd.readouterr().out.splitlines())
    assert first["verdict"] == "error" and second["verdict"] == "proved"
    assert "after the job, which has changed it" in first["because"] and FLUSHED in first["because"]
    assert {first["arithmetic"], second["arithmetic"]} == {IEEE}
    assert surprises() == ()
    with Store(Path("odernn.sqlite"), writable=False) as store:
        floats = store.run().settings["floats"]
    assert floats["arithmetic"] == IEEE and floats["threads"]["torch"] >= 1 and floats["processor"]
    assert floats["blas"]["numpy"] and floats["blas"]["torch"] and floats["vectors"]["torch"]


@pytest.mark.usefixtures("_elsewhere")
def test_a_run_in_such_arithmetic_is_refused_and_keeps_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    flush()
    assert verify("pass", "--jobs", "0") == USAGE
    torch.set_flush_denormal(False)
    said = capfd.readouterr()
    assert said.out == "" and FLUSHED in said.err and "torch.set_flush_denormal" in said.err
    assert verify("pass", "--jobs", "0", head=FLUSH) == USAGE  # by the file of claims, before any job
    assert FLUSHED in capfd.readouterr().err
    torch.set_flush_denormal(False)
    with Store(Path("odernn.sqlite"), writable=False) as store:
        assert not store.has_run()
    assert verify("pass", "--jobs", "0") == DONE


def test_the_doctor_names_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    doctor = ["doctor", "--store", str(tmp_path / "odernn.sqlite"), "--format", "csv"]
    assert main(doctor) == DONE
    rows = capfd.readouterr().out
    for what in (f"arithmetic,{IEEE},ok", "threads of torch,", "blas of numpy,", "vectors of torch,", "processor,"):
        assert what in rows
    flush()
    assert main(doctor) == INTERNAL
    assert f"arithmetic,not {IEEE},BROKEN" in capfd.readouterr().out


NUMPY_WITHOUT_BLAS = {"Build Dependencies": {"blas": {"name": "auto", "detection method": "auto"}}}


@pytest.mark.parametrize(
    "show_config, blas",
    [
        (lambda mode: NUMPY_WITHOUT_BLAS, "auto unknown"),
        (lambda mode: {"Build Dependencies": {"lapack": {}}}, "unknown unknown"),
        (lambda mode: {"Build Dependencies": None, "SIMD Extensions": None}, "unknown"),
        (lambda mode: {}, "unknown unknown"),
        (lambda mode: None, "unknown"),
        (lambda: None, "unknown"),  # as before numpy 1.25
    ],
)
def test_a_numpy_that_does_not_say_how_it_was_built_ends_no_run(
    show_config: Callable[..., object], blas: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(np, "show_config", show_config)
    here = arithmetic.environment()
    assert here["blas"]["numpy"] == blas and here["vectors"]["numpy"] == "unknown"
    assert here["arithmetic"] == IEEE and here["blas"]["torch"] != "unknown"
    assert main(["doctor", "--store", str(tmp_path / "odernn.sqlite")]) == DONE


@pytest.mark.usefixtures("_elsewhere")
def test_a_run_with_a_numpy_without_blas_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "show_config", lambda mode: NUMPY_WITHOUT_BLAS)
    assert verify("pass", "--jobs", "0") == DONE
    with Store(Path("odernn.sqlite"), writable=False) as store:
        assert store.run().settings["floats"]["blas"]["numpy"] == "auto unknown"


FLUSHING = "import torch\n\ntorch.set_flush_denormal(True)\nmodel = torch.nn.RNN(2, 3)\n"


@pytest.mark.usefixtures("_elsewhere")
def test_a_model_s_file_that_changes_arithmetic_is_refused_for_that(capfd: pytest.CaptureFixture[str]) -> None:
    flush()
    torch.set_flush_denormal(False)
    Path("net.py").write_text(FLUSHING)
    np.save("inputs.npy", np.zeros((4, 1, 2), np.float32))
    assert main(["verify", "--model", "net.py:model", "--inputs", "inputs.npy"]) == USAGE
    said = capfd.readouterr().err
    assert FLUSHED in said and arithmetic.ADVICE in " ".join(said.split())
    assert "features" not in said


def test_a_model_is_not_tried_in_such_arithmetic() -> None:
    model = torch.nn.RNN(2, 3)
    flush()
    with pytest.raises(FloatError, match=FLUSHED):
        trial(model, torch.zeros(4, 1, 2))


def test_what_is_trained_in_such_arithmetic_is_marked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert facts.versions()["arithmetic"] == IEEE
    flush()
    of_run = facts.versions()["arithmetic"]
    torch.set_flush_denormal(False)
    assert of_run.startswith(FLUSHED)
    folders = [tmp_path / "plain", tmp_path / "flushed"]
    for folder, said in zip(folders, (IEEE, of_run), strict=True):
        made_runs.write(folder, made_runs.configured(training__seed=len(said)), [(0.1, 0.9)], (0.2, 0.9))
        run = json.loads((folder / "run.json").read_text())
        (folder / "run.json").write_text(json.dumps(run | {"versions": run["versions"] | {"arithmetic": said}}))
    table = ["table", "--task", "sequential_mnist", "--format", "json", "--runs"]
    assert main([*table, str(folders[0])]) == DONE
    assert FLUSHED not in capfd.readouterr().out
    assert main([*table, str(folders[1])]) == DONE
    found = json.loads(capfd.readouterr().out)
    assert f"Not all in the arithmetic of {IEEE}: {of_run}." in found["caption"]
    assert [row["arithmetic"] for row in found["rows"] if row["kind"] == "run"] == [of_run]


FAST_MATH = """
import ctypes, sys
from verification.run import arithmetic
assert arithmetic.surprises(thoroughly=True) == ()
ctypes.CDLL(sys.argv[1])
print("; ".join(arithmetic.surprises(thoroughly=True)))
"""


@ON_X86
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_a_library_built_with_ffast_math_is_seen_when_it_is_loaded(tmp_path: Path) -> None:
    """gcc before 13 gives every such library code that has the loading thread flush; a later one needs -mdaz-ftz."""
    source, library = tmp_path / "nothing.c", tmp_path / "nothing.so"
    source.write_text("int nothing(void) { return 0; }\n")
    if subprocess.run(
        ["gcc", "-shared", "-fPIC", "-ffast-math", "-mdaz-ftz", str(source), "-o", str(library)], capture_output=True
    ).returncode:
        subprocess.run(["gcc", "-shared", "-fPIC", "-ffast-math", str(source), "-o", str(library)], check=True)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", FAST_MATH, str(library)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0 and done.stdout.startswith(FLUSHED), done.stderr
