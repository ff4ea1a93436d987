"""The torch loop is equation (U); so are its inverse, its in-place path, its gradient by hand."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from odernn import executions, tableaus
from odernn.executions import ExecutionUnavailable, torch_loop
from odernn.executions.recurrence import RecurrenceGradients, admitted_error
from odernn.fields.oscillator import Oscillator
from odernn.integrators import step as integrator_step
from tests.tiers import only

NAMES = ("x", "w", "step_size", "alpha", "y0", "z0")


def problem(steps: int = 5, batch: int = 2, hidden: int = 3, *, seed: int = 0) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    return {
        "x": normal(steps, batch, hidden),
        "w": normal(hidden),
        "step_size": torch.rand(hidden, generator=generator, dtype=torch.float64) * 0.5 + 0.05,
        "alpha": torch.rand((), generator=generator, dtype=torch.float64) * 2,
        "y0": normal(batch, hidden),
        "z0": normal(batch, hidden),
    }


def forward(arguments: dict[str, torch.Tensor]):
    return torch_loop.forward(arguments["x"], **{k: v for k, v in arguments.items() if k != "x"})


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 17])
@pytest.mark.parametrize("batch", [0, 1, 3])
def test_the_loop_is_the_recurrence_written_over_scalars(steps: int, batch: int):
    p = problem(steps, batch, 2)
    result = forward(p)
    assert result.execution == "torch" and result.y.shape == (steps, batch, 2)
    for i in range(batch):
        for k in range(2):
            y, z = float(p["y0"][i, k]), float(p["z0"][i, k])
            w, h, alpha = float(p["w"][k]), float(p["step_size"][k]), float(p["alpha"])
            for n in range(1, steps + 1):
                s = math.tanh(w * y + float(p["x"][n - 1, i, k]))
                z = z - h * (s + alpha * y)
                y = y + h * z
                assert float(result.y[n - 1, i, k]) == pytest.approx(y, rel=1e-12, abs=1e-13)
                assert float(result.z[n - 1, i, k]) == pytest.approx(z, rel=1e-12, abs=1e-13)


def test_the_loop_is_symplectic_euler_on_the_oscillator_and_not_its_adjoint():
    p = problem(40)
    result = forward(p)
    ends = {}
    for tableau in (tableaus.SYMPLECTIC_EULER, tableaus.SYMPLECTIC_EULER_TV):
        state = (p["y0"], p["z0"])
        for x in p["x"]:
            state = integrator_step(tableau, Oscillator(p["w"], p["alpha"]), state, x, p["step_size"])
        ends[tableau.name] = state
    admitted = admitted_error(
        dtype=torch.float64,
        steps=40,
        w=p["w"],
        step_size=p["step_size"],
        alpha=p["alpha"],
        y_max=result.y.abs().max() + 3,
        z_max=result.z.abs().max() + 3,
    )
    gap = (ends["symplectic euler vt"][0] - result.y_last).abs()
    assert (gap <= 2 * admitted.y).all()
    assert ((ends["symplectic euler tv"][0] - result.y_last).abs() > 2 * admitted.y).any()


def test_the_step_preserves_area_for_every_weight():
    J = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    for seed in range(10):
        p = problem(1, 1, 1, seed=seed)
        coefficients = {k: p[k] for k in ("w", "step_size", "alpha")}

        def flow(v: torch.Tensor, p=p, coefficients=coefficients) -> torch.Tensor:
            return torch.cat(torch_loop.step(v[:1], v[1:], p["x"][0, 0], **coefficients))

        point = torch.cat([p["y0"][0], p["z0"][0]])
        B = torch.autograd.functional.jacobian(flow, point)
        h, w, alpha = (float(v) for v in (p["step_size"], p["w"], p["alpha"]))
        kappa = alpha + w * (1 - math.tanh(w * float(point[0]) + float(p["x"])) ** 2)
        expected = torch.tensor([[1 - h * h * kappa, h], [-h * kappa, 1.0]], dtype=torch.float64)
        torch.testing.assert_close(B, expected, rtol=1e-13, atol=1e-14)
        torch.testing.assert_close(B.T @ J @ B, J, rtol=0, atol=1e-13)
        assert float(torch.linalg.det(B)) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_in_place_path_has_the_same_bits(dtype: torch.dtype):
    p = {name: value.to(dtype) for name, value in problem(50).items()}
    before = {name: value.clone() for name, value in p.items()}
    recorded = forward(p)
    with torch.no_grad():
        in_place = forward(p)
    assert torch.equal(recorded.y, in_place.y) and torch.equal(recorded.z, in_place.z)
    assert all(torch.equal(p[name], before[name]) for name in NAMES)


def test_torch_sees_every_operation_of_the_in_place_path():
    """Its dispatch modes, on which the probe of architectures rests; a view with the negative bit is an input, too."""
    seen = Counter()

    class Seeing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen[func.overloadpacket.__name__.rstrip("_")] += 1
            return func(*args, **kwargs or {})

    p = problem(17)
    with torch.no_grad():
        expected = forward(p)
        p["x"] = torch.complex(torch.zeros_like(p["x"]), -p["x"]).conj().imag
        assert p["x"].is_neg()
        with Seeing():
            found = forward(p)
    assert torch.equal(found.y, expected.y) and seen["tanh"] == 17


@pytest.mark.parametrize("steps", [0, 1, 2, 17])
def test_the_inverse_gives_back_every_state(steps: int):
    p = problem(steps)
    there = forward(p)
    coefficients = {k: p[k] for k in ("w", "step_size", "alpha")}
    back = torch_loop.inverse(p["x"], **coefficients, y_last=there.y_last, z_last=there.z_last)
    for name in ("y", "z", "y0", "z0"):
        torch.testing.assert_close(getattr(back, name), getattr(there, name), rtol=0, atol=1e-12)


def test_the_inverse_of_another_input_is_another_state():
    p = problem(17)
    there = forward(p)
    coefficients = {k: p[k] for k in ("w", "step_size", "alpha")}
    back = torch_loop.inverse(p["x"] + 0.1, **coefficients, y_last=there.y_last, z_last=there.z_last)
    assert (back.y0 - p["y0"]).abs().max() > 1e-3


def test_a_step_takes_batches_of_any_shape():
    p = problem(1, 4, 3)
    result = forward(p)
    coefficients = {k: p[k] for k in ("w", "step_size", "alpha")}
    y, z = (p[k].reshape(2, 2, 3) for k in ("y0", "z0"))
    y, z = torch_loop.step(y, z, p["x"].reshape(2, 2, 3), **coefficients)
    assert torch.equal(y.reshape(4, 3), result.y_last) and torch.equal(z.reshape(4, 3), result.z_last)
    back = torch_loop.step_back(y, z, p["x"].reshape(2, 2, 3), **coefficients)
    torch.testing.assert_close(back[0].reshape(4, 3), p["y0"], rtol=0, atol=1e-14)


# The first forward-mode derivative makes torch compile its own decompositions with its deprecated compiler.
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("steps", [1, 3])
def test_gradients_are_those_of_finite_differences_in_every_argument(steps: int):
    p = problem(steps)

    def run(*values: torch.Tensor):
        result = forward(dict(zip(NAMES, values, strict=True)))
        return result.y, result.z

    values = [p[name].requires_grad_() for name in NAMES]
    assert torch.autograd.gradcheck(run, values, check_forward_ad=True)


def by_hand(p: dict[str, torch.Tensor], grad_y, grad_y_last, grad_z_last) -> RecurrenceGradients:
    coefficients = {k: p[k] for k in ("w", "step_size", "alpha")}
    return torch_loop.backward(
        p["x"],
        **coefficients,
        states=forward(p),
        grad_y=grad_y,
        grad_y_last=grad_y_last,
        grad_z_last=grad_z_last,
    )


@pytest.mark.parametrize("steps", [0, 1, 2, 17])
@pytest.mark.parametrize("alpha_shape", [(), (3,), (2, 1), (1, 3)])
def test_the_published_recursion_is_autograd(steps: int, alpha_shape: tuple[int, ...]):
    p = problem(steps)
    p["alpha"] = p["alpha"].expand(alpha_shape).clone()
    generator = torch.Generator().manual_seed(9)
    grad_y = torch.randn(p["x"].shape, generator=generator, dtype=torch.float64)
    last_y, last_z = (torch.randn(2, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    for name in NAMES:
        p[name].requires_grad_()
    result = forward(p)
    loss = (result.y * grad_y).sum() + (result.y_last * last_y).sum() + (result.z_last * last_z).sum()
    expected = torch.autograd.grad(loss, [p[name] for name in NAMES], materialize_grads=True)
    found = by_hand(p, grad_y, last_y, last_z)
    for name, gradient in zip(NAMES, expected, strict=True):
        torch.testing.assert_close(getattr(found, name), gradient, rtol=1e-12, atol=1e-12)
        assert getattr(found, name).shape == p[name].shape


def test_the_recursion_with_the_old_costate_is_caught():
    """Planted fault: q_{n+1} instead of q_n in p_{n−1} is the recursion of another scheme."""
    p = problem(5)
    found = by_hand(p, torch.ones_like(p["x"]), None, None)
    q = torch.zeros_like(p["y0"])
    costate = torch.zeros_like(q)
    states = forward(p)
    for n in range(5, 0, -1):
        before = states.y[n - 2] if n > 1 else p["y0"]
        slope = 1 - torch.tanh(p["w"] * before + p["x"][n - 1]) ** 2
        costate = costate + 1.0
        old, q = q, q + p["step_size"] * costate
        costate = costate - p["step_size"] * old * (p["alpha"] + p["w"] * slope)
    assert (costate - found.y0).abs().max() > 1e-3


def test_a_gradient_of_the_wrong_shape_is_refused():
    p = problem(5)
    with pytest.raises(ValueError, match=r"grad_y has shape \(4, 2, 3\) but x has \(5, 2, 3\)"):
        by_hand(p, torch.ones(4, 2, 3, dtype=torch.float64), None, None)


def test_the_torch_execution_is_always_there():
    assert executions.get("torch").name == "torch" and executions.available()["torch"] is None


@pytest.mark.parametrize("before", only(["", "sys.modules['numba'] = None;"], "sys.modules['numba'] = None;"))
def test_what_is_installed_is_told_without_loading_it_and_is_what_is_available(before: str):
    """Cells that have a fused execution do not load numba either."""
    cells = "import sys, odernn.cells.cornn, odernn.cells.scornn; assert 'numba' not in sys.modules;"
    code = (
        "from odernn import executions; found = executions.installed(); assert sys.modules.get('numba') is None;"
        "assert not {'odernn.executions.cpu.execution', 'odernn.executions.parallel'} & sys.modules.keys();"
        "print(found == {name: reason is None for name, reason in executions.available().items()})"
    )
    done = subprocess.run([sys.executable, "-c", f"{cells}{before}{code}"], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


def test_available_names_every_execution_with_its_reason():
    found = executions.available()
    assert set(found) == {"torch", "cpu", "cuda", "parallel"}
    for name, reason in found.items():
        if reason is None:
            assert executions.get(name).name == name
        else:
            with pytest.raises(ExecutionUnavailable) as error:
                executions.get(name)
            assert f'execution="{name}" cannot run here: {reason}' in str(error.value)
            assert '"torch"' in str(error.value)


def test_an_execution_without_code_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(executions._MODULES, "cuda", "cuda.odernn_kernels_of_nowhere.execution")
    with pytest.raises(ExecutionUnavailable, match="is not part of this version of odernn"):
        executions.get("cuda")


def test_an_execution_that_finds_no_driver_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch_loop, "unavailable_because", lambda: "no driver")
    with pytest.raises(ExecutionUnavailable, match=r"cannot run here: no driver\."):
        executions.get("torch")


def test_an_unknown_execution_gets_the_nearest_name():
    with pytest.raises(ValueError, match=r'No execution is called "troch"\. Did you mean "torch"'):
        executions.get("troch")
    for name in (7, ["cpu"], None):
        with pytest.raises(ValueError, match=r'No execution is called ".*"\. (Choose from: torch, cpu|Did you mean)'):
            executions.get(name)  # type: ignore[arg-type]


@pytest.mark.parametrize("lengths", [None, (4, 0, 7), (7, 7, 1)])
def test_outputs_are_the_rows_and_each_samples_own_last_state(lengths: tuple[int, ...] | None):
    p = problem(7, 3, 2)
    ends = None if lengths is None else torch.tensor(lengths)
    coefficients = {k: v for k, v in p.items() if k != "x"}
    x = p["x"].clone().requires_grad_()
    padded = x
    if lengths is not None:
        beyond = torch.arange(7)[:, None, None] >= ends[None, :, None]
        padded = torch.where(beyond, torch.full_like(x, math.nan), x)
    found = torch_loop.outputs(padded, **coefficients, lengths=ends)
    assert (found.execution, found.backward) == ("torch", "stored")
    for i, own in enumerate(lengths or (7, 7, 7)):
        alone = torch_loop.forward(
            p["x"][:own, i : i + 1], **{k: v[i : i + 1] if k in ("y0", "z0") else v for k, v in coefficients.items()}
        )
        assert torch.equal(found.y[:own, i], alone.y[:, 0]) and not found.y[own:, i].any()
        assert torch.equal(found.y_last[i], alone.y_last[0]) and torch.equal(found.z_last[i], alone.z_last[0])
    (found.y.square().sum() + found.y_last.sum() + 2 * found.z_last.sum()).backward()
    assert x.grad is not None and x.grad.isfinite().all()


def test_outputs_refuse_what_they_do_not_offer():
    p = problem(3)
    coefficients = {k: v for k, v in p.items() if k != "x"}
    with pytest.raises(ValueError, match='backward="exact" is not offered by execution="torch", which has "stored"'):
        torch_loop.outputs(p["x"], **coefficients, backward="exact")
    with pytest.raises(ValueError, match='No backward mode is called "magic"'):
        torch_loop.outputs(p["x"], **coefficients, backward="magic")
    with pytest.raises(TypeError, match="int64"):
        torch_loop.outputs(p["x"], **coefficients, lengths=torch.tensor([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"lengths has shape \(3,\)"):
        torch_loop.outputs(p["x"], **coefficients, lengths=torch.tensor([1, 2, 3]))


@pytest.mark.parametrize("name", [name for name, reason in executions.available().items() if reason is None])
@pytest.mark.parametrize("steps", [0, 1, 5])
@pytest.mark.parametrize("lengths", [None, (0, 5), (5, 1)])
@pytest.mark.parametrize("is_recorded", [False, True])
def test_outputs_are_fresh_memory(name: str, steps: int, lengths: tuple[int, ...] | None, is_recorded: bool):
    """Whoever writes to one of them changes nothing else."""
    device = "cuda" if name == "cuda" else "cpu"
    p = {key: value.to(device) for key, value in problem(steps).items()}
    ends = None if lengths is None else torch.tensor([min(each, steps) for each in lengths], device=device)
    x = p.pop("x").requires_grad_(is_recorded)
    found = executions.get(name).outputs(x, **p, lengths=ends)
    blocks = [found.y, found.y_last, found.z_last, x, *p.values()]
    places = [block.untyped_storage().data_ptr() for block in blocks if block.numel()]
    assert len(set(places)) == len(places)
    assert all(block.untyped_storage().nbytes() == block.numel() * block.element_size() for block in blocks[:3])
