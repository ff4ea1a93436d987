"""The operator of the cpu execution: derivatives, torch's rules, what it refuses and says."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from odernn import executions
from odernn.cells.unicornn import UnICORNN
from odernn.executions import torch_loop
from odernn.executions.cpu import execution as cpu
from odernn.executions.cpu.kernels import (
    compilation,
)
from odernn.executions.cpu.kernels import (
    exact as exact_kernels,
)
from odernn.executions.cpu.kernels import (
    recurrence as recurrence_kernels,
)
from odernn.executions.cpu.kernels import (
    walk as walk_kernels,
)
from odernn.executions.dense.walk import compiled_passes
from odernn.executions.recurrence import UNIT_ROUNDOFF
from tests.odernn.executions.cpu_problems import DTYPES, MODES, NAMES, normal, problem, small
from tests.tiers import only, spread


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("is_ragged", only([False, True], True))
def test_gradients_are_those_of_finite_differences(mode: str, is_ragged: bool):
    lengths = torch.tensor([3, 5]) if is_ragged else None

    def function(*values: Tensor) -> tuple[Tensor, ...]:
        x, w, h, alpha, y0, z0 = values
        ran = cpu.outputs(x, w=w, step_size=h, alpha=alpha, y0=y0, z0=z0, lengths=lengths, backward=mode)  # type: ignore[arg-type]
        return ran.y, ran.y_last, ran.z_last

    assert torch.autograd.gradcheck(function, [value.requires_grad_() for value in small().values()])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("has_bias", only([False, True], True))
def test_gradients_of_a_layer_are_those_of_finite_differences(mode: str, has_bias: bool):
    p = small()
    u, V, b = normal(5, 2, 4, seed=9), normal(3, 4, seed=10), normal(3, seed=11)

    def function(u: Tensor, V: Tensor, b: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
        w, h, alpha, y0, z0 = values
        ran = cpu.layer_outputs(
            u,
            V,
            b if has_bias else None,
            w=w,
            step_size=h,
            alpha=alpha,
            y0=y0,
            z0=z0,
            backward=mode,  # type: ignore[arg-type]
        )
        return ran.y, ran.y_last, ran.z_last, b.sum()

    values = [value.requires_grad_() for name, value in p.items() if name != "x"]
    assert torch.autograd.gradcheck(function, [u.requires_grad_(), V.requires_grad_(), b.requires_grad_(), *values])


def test_all_states_are_differentiable():
    def function(*values: Tensor) -> tuple[Tensor, Tensor]:
        x, w, h, alpha, y0, z0 = values
        states = cpu.forward(x, w=w, step_size=h, alpha=alpha, y0=y0, z0=z0)
        return states.y, states.z

    assert torch.autograd.gradcheck(function, [value.requires_grad_() for value in small().values()])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_states_inverse_and_backward_are_those_of_the_loop(dtype: torch.dtype):
    p = problem(150, 3, 5, dtype)
    coefficients = {name: p[name] for name in ("w", "step_size", "alpha")}
    there, loop = (e.forward(p["x"], **coefficients, y0=p["y0"], z0=p["z0"]) for e in (cpu, torch_loop))
    assert (there.execution, loop.execution) == ("cpu", "torch")
    slack = 1e4 * UNIT_ROUNDOFF[dtype]
    for name in ("y", "z", "y0", "z0", "y_last", "z_last"):
        torch.testing.assert_close(getattr(there, name), getattr(loop, name), rtol=slack, atol=slack)
    back = cpu.inverse(p["x"], **coefficients, y_last=there.y_last, z_last=there.z_last)
    for name in ("y", "z", "y0", "z0"):
        torch.testing.assert_close(getattr(back, name), getattr(there, name), rtol=slack, atol=slack)
    by = [normal(*part.shape, seed=12, dtype=dtype) for part in (there.y, there.y_last, there.z_last)]
    options = {"states": loop, "grad_y": by[0], "grad_y_last": by[1], "grad_z_last": by[2]}
    found, expected = (e.backward(p["x"], **coefficients, **options) for e in (cpu, torch_loop))
    for name in NAMES:
        a, b = getattr(found, name), getattr(expected, name)
        torch.testing.assert_close(a, b, rtol=slack, atol=slack * float(b.abs().max()))


@pytest.mark.parametrize(("mode", "dtype"), spread(itertools.product(MODES, DTYPES), 1), ids=str)
def test_the_operator_keeps_torchs_rules(mode: str, dtype: torch.dtype):
    p = {name: value.requires_grad_() for name, value in small(dtype).items()}
    x, *rest = p.values()
    u, V, b = (normal(*s, seed=13, dtype=dtype).requires_grad_() for s in ((5, 2, 4), (3, 4), (3,)))
    ends = torch.tensor([2, 5])
    for arguments in ((x, None, None, *rest, ends, mode, True), (u, V, b, *rest, None, mode, False)):
        torch.library.opcheck(torch.ops.odernn.unicornn_cpu.default, arguments)


@pytest.mark.parametrize("mode", spread(MODES, 1))
def test_it_compiles_in_one_graph(mode: str):
    torch._dynamo.reset()
    model = UnICORNN(2, 3, 2, dt=0.1, alpha=1.0, execution="cpu", backward=mode)  # type: ignore[arg-type]
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    u = normal(7, 2, 2, seed=14, dtype=torch.float32)
    results = []
    for module in (model, compiled):
        model.zero_grad()
        output, (y, z) = module(u, lengths=torch.tensor([7, 4]))
        (output.square().sum() + y.sum() + z.sum()).backward()
        results.append([output.detach(), *(parameter.grad.clone() for parameter in model.parameters())])
    for eager, graph in zip(*results, strict=True):
        torch.testing.assert_close(eager, graph, rtol=1e-6, atol=1e-6)


def test_a_second_derivative_is_refused_with_advice():
    x = normal(4, 1, 2, seed=15).requires_grad_()
    ran = cpu.outputs(x, w=0.5, step_size=0.1, alpha=1.0)
    (gradient,) = torch.autograd.grad(ran.y.square().sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match=r'first derivatives only.*Use execution="torch"'):
        gradient.sum().backward()


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # by torch's forward mode
def test_forward_mode_is_an_error_and_not_a_zero_derivative():
    p = small()
    x, rest = p.pop("x"), p
    u, V = normal(5, 2, 4, seed=24), normal(3, 4, seed=25)
    functions: list[tuple[Callable[..., Tensor], Tensor]] = [
        (lambda v: cpu.outputs(v, **rest).y, x),
        (lambda v: cpu.forward(v, **rest).z, x),
        (lambda v: cpu.outputs(x, **(rest | {"w": v})).y, rest["w"]),
        (lambda v: cpu.layer_outputs(v, V, None, **rest).y, u),
        (lambda v: cpu.layer_outputs(u, v, None, **rest).y, V),
    ]
    for function, at in functions:
        with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
            torch.func.jvp(function, (at,), (torch.ones_like(at),))
        with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
            torch.func.jacfwd(function)(at)
        with torch.autograd.forward_ad.dual_level(), pytest.raises(NotImplementedError, match="no forward-mode"):
            function(torch.autograd.forward_ad.make_dual(at, torch.ones_like(at)))


def test_a_differentiable_inverse_is_refused():
    x = normal(4, 1, 2, seed=15).requires_grad_()
    state = torch.zeros(1, 2, dtype=torch.float64)
    with pytest.raises(NotImplementedError, match="has no derivative"):
        cpu.inverse(x, w=0.5, step_size=0.1, alpha=1.0, y_last=state, z_last=state)


def test_wrong_arguments_are_named():
    x = normal(3, 2, 3, seed=16)
    with pytest.raises(TypeError, match=r"w has dtype torch\.float32"):
        cpu.outputs(x, w=torch.ones(3), step_size=0.1, alpha=1.0)
    with pytest.raises(ValueError, match='No backward mode is called "magic"'):
        cpu.outputs(x, w=0.5, step_size=0.1, alpha=1.0, backward="magic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"lengths has shape \(3,\)"):
        cpu.outputs(x, w=0.5, step_size=0.1, alpha=1.0, lengths=torch.tensor([1, 2, 3]))
    with pytest.raises(ValueError, match=r"grad_y has shape \(2, 2, 3\)"):
        cpu.backward(
            x, w=0.5, step_size=0.1, alpha=1.0, states=cpu.forward(x, w=0.5, step_size=0.1, alpha=1.0), grad_y=x[:2]
        )


@pytest.mark.slow
def test_without_numba_it_says_what_to_install():
    code = (
        "import sys; sys.modules['numba'] = None\nfrom odernn import executions\nprint(executions.available()['cpu'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'it needs numba, which is not installed: pip install "odernn[fast]"' in done.stdout


@pytest.mark.slow
def test_without_a_place_for_numbas_cache_it_runs_all_the_same():
    code = (
        "from numba.core import caching\ncaching.CacheImpl._locator_classes = []\n"
        "import torch\nfrom odernn import executions\nprint(executions.available()['cpu'])\n"
        "print(executions.get('cpu').outputs(torch.zeros(2, 1, 1), w=1.0, step_size=0.1, alpha=1.0).y.shape)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["None", "torch.Size([2, 1, 1])"]


@pytest.mark.slow
def test_a_later_process_compiles_nothing_for_its_first_layer():
    """Kernels come from the disk, where the first process left them."""
    code = (
        "import torch\nfrom odernn import executions\nfrom odernn.cells.unicornn import UnICORNN\n"
        "from odernn.executions.cpu.kernels import recurrence\n"
        "layer, u = UnICORNN(6, 32, dt=0.1, alpha=1.0, execution='cpu'), torch.ones(9, 8, 6)\n"
        "layer(u)[0].sum().backward()\n"
        "stats = [kernel.stats for kernel in vars(recurrence).values() if hasattr(kernel, 'stats')]\n"
        "print(sum(each.cache_hits.total() for each in stats), sum(each.cache_misses.total() for each in stats))"
    )
    _, later = (subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in "ab")
    from_the_disk, compiled = map(int, later.stdout.split())
    assert from_the_disk > 0 and compiled == 0


def test_what_is_kept_on_disk_is_of_these_sources(tmp_path):
    """numba sees a change of a kernel's own file only: the digest in its name sees the files that it calls into."""
    for path in Path(compilation.__file__).parent.glob("[!_]*.py"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert compilation.digest(tmp_path) == compilation.SOURCES
    tanh = tmp_path / "tanh.py"
    tanh.write_text(tanh.read_text(encoding="utf-8").replace("_F(9.02)", "_F(9.03)"), encoding="utf-8")
    assert compilation.digest(tmp_path) != compilation.SOURCES
    for function in (recurrence_kernels.forward, exact_kernels.exact_forward, walk_kernels.forward):
        cache: Any = function._cache  # type: ignore[attr-defined]
        assert compilation.SOURCES in cache._impl.filename_base
    for compiled_pass in compiled_passes("euler", "forward", torch.float32):
        passes = compilation.digest(Path(executions.__file__).parent / "dense" / "passes")
        assert compilation.SOURCES + passes in compiled_pass._cache._impl.filename_base


def test_it_is_available_here():
    assert executions.get("cpu") is cpu
