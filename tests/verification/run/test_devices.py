"""Every adversary and every torch measurement runs on the device of its inputs, without a GPU to try it on.

``Elsewhere`` tensors say that they are on the device "cpu:1" and hold real numbers: an operation that mixes them with a
CPU tensor raises, as on a GPU, all others give the CPU's bits. So the searches run in full, with every branch on a
value that they take, and their answers must be those of the CPU, bit for bit. (torch's own FakeTensorMode with device
"cuda" holds no numbers to branch on, and in a build without CUDA even ``x[0]`` fails there.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map

from odernn.published.networks import ROWS
from tests.tiers import only, spread, without
from verification.adversary import beam, chaos, evolution, gradient_ascent, pontryagin, structured, words
from verification.cases import controls
from verification.cli import main
from verification.commands.devices import device_name
from verification.domains import BUDGETS, SearchPoint, point_to_plain
from verification.instance import Group, Inputs, Instance, Layer
from verification.measure import gradient, hidden_state, lyapunov
from verification.measure import network as measured
from verification.registry import Registry
from verification.run import jobs
from verification.run.job import Job, Settings
from verification.run.plan import Plan, plan
from verification.system import UNICORNN

ELSEWHERE = torch.device("cpu", 1)
TINY = replace(BUDGETS["smoke"], beam_width=8, detunings=(1.0, 0.9), range_inputs=3, pontryagin_starts=4)
POINT = SearchPoint("free", Fraction(1), (Fraction(1, 10), Fraction(1, 5)), 30, 2, 1, "made up")


class Elsewhere(Tensor):
    """``held`` is the number; the device that it names is another."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> Elsewhere:
        found = torch.Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=ELSEWHERE,
        )
        found.held = held
        return found

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        stays = kwargs.get("device") in (None, ELSEWHERE)
        moves = func in (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)
        for each in tree_flatten((args, kwargs))[0]:
            if isinstance(each, Tensor) and not isinstance(each, Elsewhere) and each.dim() and not moves:
                raise RuntimeError(f"{func} mixes devices: a CPU tensor of shape {tuple(each.shape)}")
        here = {name: torch.device("cpu") if name == "device" else value for name, value in kwargs.items()}
        found = func(*tree_map(_held, args), **tree_map(_held, here))
        if func in (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.equal.default):
            return found
        mutated = func._schema.name.endswith("_") and not func._schema.name.endswith("__")
        if mutated:
            return args[0]
        return tree_map(lambda each: Elsewhere(each) if isinstance(each, Tensor) else each, found) if stays else found


def _held(value: Any) -> Any:
    return value.held if isinstance(value, Elsewhere) else value


class Emulated(TorchFunctionMode):
    """Factories asked for the other device, and tensors moved there, hold real numbers. Calls are counted: ``there`` of
    tensors elsewhere, ``here`` of others.
    """

    def __init__(self) -> None:
        super().__init__()
        self.there = self.here = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        plain = not any(isinstance(each, Elsewhere) for each in tree_flatten((args, kwargs))[0])
        self.here, self.there = self.here + plain, self.there + (not plain)
        if func is Tensor.numpy and not plain:
            raise TypeError("can't convert a tensor that is elsewhere to numpy. Use Tensor.cpu() first.")
        if func is Tensor.tolist and not plain:
            return args[0].detach().held.tolist()
        if plain and kwargs.get("device") == ELSEWHERE:
            return Elsewhere(func(*args, **{**kwargs, "device": "cpu"}))
        if func is Tensor.to and plain and ELSEWHERE in args:
            return Elsewhere(func(*["cpu" if each == ELSEWHERE else each for each in args], **kwargs).clone())
        return func(*args, **kwargs)


@contextmanager
def elsewhere() -> Iterator[Emulated]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    overwrites = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)  # a module's data is replaced, not refilled
    structured.search.cache_clear(), beam.search.cache_clear()
    try:
        with Emulated() as mode:
            yield mode
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(overwrites)
        torch.set_num_threads(before)
        structured.search.cache_clear(), beam.search.cache_clear()


def moved(value: Any) -> Any:
    """Tensors of a structure to the other device."""
    return tree_map(lambda each: each.to(ELSEWHERE) if isinstance(each, Tensor) else each, value)


def same(found: Any, expected: Any, roundings: int = 0) -> bool:
    """Equal structures; tensors bit for bit, or up to roundings of float64, the found ones all elsewhere."""
    pairs = list(zip(tree_flatten(found)[0], tree_flatten(expected)[0], strict=True))
    for one, two in pairs:
        if isinstance(two, Tensor):
            rtol = roundings * torch.finfo(torch.float64).eps
            if not isinstance(one, Elsewhere) or not torch.allclose(
                one.held, two, rtol=rtol, atol=rtol, equal_nan=True
            ):
                return False
        elif one != two:
            return False
    return bool(pairs)


# --- the emulation itself


def test_the_other_device_computes_what_the_cpu_does_and_refuses_to_mix() -> None:
    with elsewhere():
        x = torch.arange(4, dtype=torch.float64, device=ELSEWHERE)
        assert x.device == ELSEWHERE and float((x * x).sum()) == 14.0
        assert torch.zeros_like(x).device == x.new_zeros(2).device == torch.stack([x, x]).device == ELSEWHERE
        assert type(x.cpu()) is Tensor and x.tolist() == [0.0, 1.0, 2.0, 3.0]
        leaf = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad((leaf**3).sum(), leaf)
        assert slope.device == ELSEWHERE and slope.tolist() == [0.0, 3.0, 12.0, 27.0]
        for mixed in (
            lambda: x + torch.ones(4),
            lambda: torch.stack([x, torch.ones(4).double()]),
            lambda: x[torch.arange(2)],
        ):
            with pytest.raises(RuntimeError, match="mixes devices"):
                mixed()
        with pytest.raises(TypeError, match="numpy"):
            x.numpy()
        x[1] = 7.0
        assert x.held.tolist() == [0.0, 7.0, 2.0, 3.0]


# --- adversaries


def asked(device: torch.device) -> dict[str, Callable[[], Any]]:
    """Every adversary with small sizes: its answer as plain data."""
    spent: dict[str, Any] = {"restarts": 2, "population": 4, "generations": 2, "seed": 0, "device": device}
    growth = evolution.RowGrowth(4.0, 0.1, steps=24, hold=4)
    where = chaos.StackRange(2, (-15, 8), (0.1, 10), 2, (3,))

    def ascent() -> Any:
        start = gradient_ascent.starts(8, 2, 6, alpha=1.0, dt=0.1, seed=0, device=device)
        by_weight = torch.arange(8, device=device) % 2 == 0

        def objective(free: gradient_ascent.Free) -> Tensor:
            return gradient_ascent.log_gradient(free, alpha=1.0, dt=0.1, steps=6, layer=1, by_weight=by_weight)

        found = gradient_ascent.maximise(objective, start, 3)
        return found.values.tolist(), found.best, {name: value.tolist() for name, value in found.free.items()}

    def evolved_gradient() -> Any:
        rows = torch.linspace(-2, 2, 3 * 7, dtype=torch.float64, device="cpu").reshape(3, 7).to(device)
        value, free = evolution.gradient(rows, alpha=1.0, dt=0.1, steps=5, depth=2, layer=1, width=4)
        return value.tolist(), {name: each.tolist() for name, each in free.items()}

    found: dict[str, Callable[[], Any]] = {
        f"{search.__module__.rpartition('.')[2]}, layer {layer}": (
            lambda search=search, layer=layer: search(UNICORNN, POINT, layer, TINY, device)
        )
        for search in (structured.search, beam.search, pontryagin.search)
        for layer in (1, 2)
    }
    return found | {
        "matched": lambda: structured.matched(UNICORNN, POINT, 2, device).tolist(),
        "pontryagin, κ": lambda: pontryagin.growth_control(steps=20, starts=2, sweeps=2, device=device),
        "ascent": ascent,
        "ascent, control": lambda: gradient_ascent.control(1.0, 0.1, 8, seed=0, count=4, iterations=3, device=device),
        "growth": lambda: evolution.fastest_growth(growth, -9.0, 0.0, **spent),
        "growth, control": lambda: evolution.growth_control(growth, -9.0, **spent),
        "growth, resonance": lambda: evolution.resonance_control(growth, -2.0, **spent),
        "position": lambda: evolution.position_control(seed=0, steps=16, population=4, generations=2, device=device),
        "gradient": evolved_gradient,
        "words": lambda: words.search(1.0, 4.0, 0.2, blocks=5, device=device),
        "words, control": lambda: words.control(5, device),
        "words, bracket": lambda: words.gripenberg(words.factors(1.0, 4.0, 0.2, device=device), length=6, delta=0.01),
        "chaos": lambda: chaos.stacks(where, 40, 60, 0, device),
        "chaos, control": lambda: chaos.stack_control(50, device),
    }


@pytest.mark.parametrize("name", without(spread(asked(ELSEWHERE), 5), "pontryagin, layer 2"))
def test_an_adversary_finds_on_another_device_what_it_finds_on_the_cpu(name: str) -> None:
    expected = asked(torch.device("cpu"))[name]()
    with elsewhere() as mode:
        assert asked(ELSEWHERE)[name]() == expected
    assert mode.there > 2 * mode.here  # what is made once on the CPU and moved


@pytest.mark.parametrize(
    ("module", "name", "cases"),
    [
        (structured, "_waves", ("structured, layer 2",)),
        (pontryagin, "_best_shares", ("pontryagin, layer 2", "pontryagin, κ")),
        (beam, "_score", ("beam, layer 2",)),
        (gradient_ascent, "starts", ("ascent",)),
        (evolution, "_ranked", ("growth", "position")),
    ],
)
def test_a_planted_cpu_tensor_is_caught_in_every_adversary(monkeypatch, module: Any, name: str, cases: Any) -> None:
    """The named function's tensors are left on the CPU: what meets them raises, if only at the last moment."""
    real = getattr(module, name)

    def on_the_cpu(*given: Any, **options: Any) -> Any:
        found = real(*given, **options)
        return tree_map(lambda each: each.cpu() if isinstance(each, Tensor) else each, found)

    monkeypatch.setattr(module, name, on_the_cpu)
    if name == "_waves":  # made on the CPU in any case; what is planted is that nobody moves them
        monkeypatch.setattr(structured.torch.Tensor, "to", lambda self, *_: self)
    for case in cases:
        with elsewhere(), pytest.raises((RuntimeError, TypeError), match=r"mixes devices|numpy"):
            asked(ELSEWHERE)[case]()


def test_a_search_that_stays_on_the_cpu_altogether_is_seen_by_the_count(monkeypatch) -> None:
    real = words.factors
    monkeypatch.setattr(words, "factors", lambda *given, device: real(*given))
    with elsewhere() as mode:
        asked(ELSEWHERE)["words"]()
    assert mode.there == 0 < mode.here


def test_a_factory_without_a_device_in_a_system_is_caught() -> None:
    def step(y: Any, z: Any, x: Any, *, w: Any, step_size: Any, alpha: Any) -> Any:
        return UNICORNN.step(y, z + torch.zeros(x.shape, dtype=x.dtype), x, w=w, step_size=step_size, alpha=alpha)

    forgetful = replace(UNICORNN, step=step)
    for search in (structured.search, beam.search, pontryagin.search):
        with elsewhere(), pytest.raises(RuntimeError, match="mixes devices"):
            search(forgetful, POINT, 1, TINY, ELSEWHERE)


# --- measurements


def instance() -> Instance:
    def layer(below: int) -> Layer:
        groups = tuple(Group(1 + i, Fraction(i, 2), Fraction(1), Fraction(1, 3)) for i in range(2))
        return Layer(Fraction(1, 10), groups, tuple((Fraction(i + 1, 2),) * below for i in range(2)))

    return Instance(Fraction(1), (layer(1), layer(2)), Inputs.from_values([1.0, -1.0, 0.5, 0.25], 1))


def weights() -> tuple[gradient.LayerWeights, ...]:
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64, device="cpu")

    return tuple(
        gradient.LayerWeights(
            normal(3), normal(3).abs(), 1.0, {level: normal(3, below)}, normal(3), normal(3).sigmoid()
        )
        for level, below in ((0, 2), (1, 3))
    )


def measurements() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Functions of tensors and their arguments on the CPU; results are tensors."""
    generator = torch.Generator().manual_seed(1)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64, device="cpu")

    def of_gradient(layers: Any, u: Tensor, target: Tensor) -> Any:
        run = gradient.run(tuple(layers), u)
        return list(gradient.contributions(run, 5, target)), gradient.kernels(run, 4)

    def of_stacks(*given: Tensor) -> Any:
        found = lyapunov.of_stacks(*given, 12)
        return found.late, found.radius

    values = normal(4, 3, 2)
    return {
        "envelope, max": (lambda v: hidden_state.envelope(v, "max"), (values,)),
        "envelope, euclidean": (lambda v: hidden_state.envelope(v, "euclidean"), (values,)),
        "envelope of nothing": (lambda v: hidden_state.envelope(v[:, :0], "max"), (values,)),
        "run_layer": (
            lambda x, w: hidden_state.run_layer(UNICORNN, x, w=w, step_size=0.1, alpha=1.0),
            (values, normal(2)),
        ),
        "gradient": (of_gradient, ([vars(each) for each in weights()], normal(6, 2, 2), normal(2, 3))),
        "log_norms_of_products": (gradient.log_norms_of_products, (normal(7, 3), normal(3).abs())),
        "lyapunov": (of_stacks, (normal(4).abs(), *(normal(2, 4) for _ in range(4)), normal(3, 4))),
    }


def _called(name: str, arguments: Any) -> Any:
    function = measurements()[name][0]
    if name == "gradient":
        arguments = (tuple(gradient.LayerWeights(**each) for each in arguments[0]), *arguments[1:])
    return function(*arguments)


@pytest.mark.parametrize("name", measurements())
def test_a_measurement_is_made_where_its_arguments_are(name: str) -> None:
    arguments = measurements()[name][1]
    expected = _called(name, arguments)
    with elsewhere():
        # LAPACK is asked for singular values with their vectors where autograd might want them: other roundings
        assert same(_called(name, moved(arguments)), expected, 8 if name == "log_norms_of_products" else 0)


def test_an_instance_is_run_where_one_says() -> None:
    expected = hidden_state.run_instance(UNICORNN, instance(), 2)
    with elsewhere():
        assert same(hidden_state.run_instance(UNICORNN, instance(), 2, ELSEWHERE), expected)


@pytest.mark.parametrize("kind", ["data", "range"])
def test_the_network_of_a_row_is_measured_where_one_says(kind: str, monkeypatch) -> None:
    row = replace(next(r for r in ROWS if r.name == "psMNIST-128"), steps=6)
    monkeypatch.setattr(measured, "BATCH", 2)

    def found(device: torch.device) -> dict[str, np.ndarray]:
        if kind == "data":
            return measured.on_data(row, "digits", None, 0, device)[1]
        return measured.on_range(row, TINY, 0, device)[1]

    expected = found(torch.device("cpu"))
    with elsewhere():
        moved_there = found(ELSEWHERE)
    assert expected.keys() == moved_there.keys()
    assert all(np.array_equal(expected[name], moved_there[name]) for name in expected)


# --- what a user says


def planned(device: str, claims: tuple[str, ...]) -> Plan:
    return plan(Settings(claims=claims, device=device), Registry())


def test_keys_hold_the_device_where_results_do_and_seeds_never() -> None:
    """Roundings on a GPU are its own: what is searched and measured there has other keys, on any card the same ones."""
    claims = ("sam-D.1-a", "sam-D.2")
    here, there, other = (planned(device, claims) for device in ("cpu", "cuda", "cuda:1"))
    assert len(here.measuring) == len(there.measuring) > 20
    for one, two, three in zip(here.measuring, there.measuring, other.measuring, strict=True):
        assert "device" not in one.spec and two.spec == one.spec | {"device": "cuda"}
        assert one.seed == two.seed == three.seed
        assert one.key != two.key == three.key
        assert three.spec["device"] == "cuda:1"
    claims = [[job.key for job in each.judging if job.kind == "case"] for each in (here, there)]
    assert claims[0] == claims[1] != []  # they run on the CPU in either case
    judged = [[job.key for job in each.judging if job.kind == "judge" and job.needs] for each in (here, there)]
    assert judged[0]  # what no premise admits needs no result of any device
    assert not {*judged[0]} & {*judged[1]}


@pytest.mark.parametrize("kind", only(["search", "control"], "search"))
def test_a_job_runs_where_its_spec_says(kind: str) -> None:
    point = replace(controls.CONTROL_POINTS[1], steps=20)
    spec = {"kind": kind, "system": "unicornn", "layer": 1, "point": point_to_plain(point), "budget": "smoke"}
    expected = jobs.perform(Job("", spec), Settings())
    with elsewhere() as mode:
        found = jobs.perform(Job("", spec | {"device": str(ELSEWHERE)}), Settings())
        assert mode.there > mode.here
    assert found.data == expected.data and found.arrays.keys() == expected.arrays.keys()
    assert all(np.array_equal(found.arrays[name], expected.arrays[name]) for name in expected.arrays)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gpu", "torch knows no such device. Choose cpu, cuda or cuda:N."),
        ("meta", "searches run on cpu and cuda only, in float64"),
        pytest.param(
            "cuda",
            "odernn doctor",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device"),
        ),
        pytest.param(
            "cuda:99", "CUDA", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
        ),
    ],
)
def test_a_device_that_is_not_there_ends_the_run_before_it_begins(name: str, reason: str, tmp_path, capsys) -> None:
    store = tmp_path / "store.sqlite"
    assert main(["verify", "sam-D.1-b", "--device", name, "--store", str(store)]) == 2
    error = capsys.readouterr().err
    assert f"--device {name}" in error and reason in error and error.count("\n") == 1
    assert not store.exists()


def test_the_cpu_by_any_name_is_the_default() -> None:
    assert device_name("cpu") == device_name("cpu:0") == Settings().device
