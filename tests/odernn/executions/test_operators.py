"""A call of plain tensors goes around torch's dispatcher, with its bits; where anything watches, it does not."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from odernn import cells
from odernn.executions import operators
from odernn.executions.operators import is_plain
from tests.odernn.executions.test_execution_dense import everything

pytest.importorskip("numba", reason="the fused CPU execution needs the extra `fast`")

CELLS: dict[str, dict[str, Any]] = {
    "lem": {"dt": 0.7},
    "cornn": {"dt": 0.3, "gamma": 1.3, "epsilon": 0.7},
    "unicornn": {"dt": 0.1, "alpha": 0.9},
}
OPERATORS = {"lem": "dense_forward", "cornn": "dense_forward", "unicornn": "unicornn_cpu"}


def made(label: str) -> nn.Module:
    generator = torch.Generator().manual_seed(0)
    network: nn.Module = cells.get(label)(3, 5, 2, execution="cpu", generator=generator, **CELLS[label])
    return network


def inputs() -> Tensor:
    return torch.randn(7, 4, 3, generator=torch.Generator().manual_seed(1))


class Seen(TorchDispatchMode):
    """The names of the operators that the dispatcher is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(function.__name__.split(".")[0])
        return function(*args, **(kwargs or {}))


class Passing(TorchFunctionMode):
    """Looks at every function of torch, and calls it."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))


@contextmanager
def kept_elsewhere() -> Iterator[None]:
    """What is kept for the backward pass goes through hooks, which copy it."""
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept.clone(), lambda kept: kept):
        yield


AROUND: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "dispatch mode": Seen,
    "function mode": Passing,
    "another default device": lambda: torch.device("cpu"),
    "hooks on what is kept": kept_elsewhere,
    "anomaly mode": lambda: torch.autograd.set_detect_anomaly(True),
}


@pytest.mark.parametrize("label", CELLS)
@pytest.mark.parametrize("around", AROUND)
def test_whatever_watches_the_bits_are_those_of_a_plain_call(label: str, around: str) -> None:
    plain = everything(made(label), inputs())
    with AROUND[around]():
        watched = everything(made(label), inputs())
    assert all(torch.equal(a, b) for a, b in zip(plain, watched, strict=True)) and len(plain) > 5


@pytest.mark.parametrize("label", CELLS)
def test_a_dispatch_mode_sees_the_operators(label: str) -> None:
    with Seen() as seen:
        everything(made(label), inputs())
    forward = OPERATORS[label]
    backward = {"dense_forward": "dense_backward", "unicornn_cpu": "unicornn_cpu_backward"}[forward]
    assert {forward, backward} <= seen.names


@pytest.mark.parametrize("label", CELLS)
def test_a_plain_call_does_not_ask_the_dispatcher(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the operator out of order a plain call goes on; so it would not, were it asked for."""
    asked: list[str] = []

    def out_of_order(self: Any, *given: Any, **named: Any) -> Any:
        if self.namespace == "odernn":
            asked.append(self.name())
        return self._op(*given, **named)

    monkeypatch.setattr(torch._ops.OpOverload, "__call__", out_of_order)
    everything(made(label), inputs())
    assert asked == []
    with Passing():
        everything(made(label), inputs())
    assert len(asked) == 2 * 2  # forwards and backwards, of two layers


@pytest.mark.parametrize("label", CELLS)
def test_inference_and_no_grad_have_the_bits_of_a_recorded_call(label: str) -> None:
    network, u = made(label), inputs()
    recorded = network(u)[0].detach()
    for context in (torch.no_grad, torch.inference_mode):
        with context():
            assert torch.equal(network(u)[0], recorded)
            assert torch.equal(network(u.clone())[0], recorded)


@pytest.mark.parametrize("label", CELLS)
def test_a_fake_tensor_is_answered_by_shape(label: str) -> None:
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        output = made(label)(mode.from_tensor(inputs()))[0]
    assert output.shape == (7, 4, 5) and not is_plain((output,))


def negative(x: Tensor) -> Tensor:
    """x as torch's lazy negative, in whose memory stands −x."""
    view: Tensor = torch._neg_view(-x)
    return view


def test_a_lazy_negative_is_read_with_its_sign() -> None:
    u = inputs()
    assert negative(u).is_neg() and torch.equal(negative(u), u)
    for label in CELLS:
        network = made(label)
        assert torch.equal(network(negative(u))[0], network(u)[0])
    assert not is_plain((negative(u),))


class Own(Tensor):
    """A subclass of tensors."""


def leaked() -> Tensor:
    """A tensor of a transform that is over."""
    kept: list[Tensor] = []
    torch.func.vmap(lambda x: kept.append(x) or x)(torch.zeros(2, 3))
    return kept[0]


NOT_PLAIN: dict[str, Callable[[], Any]] = {
    "meta": lambda: torch.zeros(2, device="meta"),
    "a subclass": lambda: torch.zeros(2).as_subclass(Own),
    "sparse": lambda: torch.zeros(2).to_sparse(),
    "a lazy negative": lambda: negative(torch.zeros(2)),
    "a lazy conjugate": lambda: torch.zeros(2, dtype=torch.complex64).conj(),
    "of a transform that is over": leaked,
}
PLAIN: dict[str, Callable[[], Any]] = {
    "a tensor": lambda: torch.zeros(2),
    "a view": lambda: torch.zeros(2, 3).T[1:],
    "a parameter": lambda: nn.Parameter(torch.zeros(2)),
    "a result": lambda: nn.Parameter(torch.zeros(2)) * 2.0,
    "no tensors": lambda: None,
}


@pytest.mark.parametrize("what", [*NOT_PLAIN, *PLAIN])
def test_what_is_plain(what: str) -> None:
    value = (NOT_PLAIN | PLAIN)[what]()
    assert is_plain(("name", 1, value, None)) == (what in PLAIN)


@pytest.mark.filterwarnings("ignore:.torch.jit.trace. is deprecated:DeprecationWarning")
def test_nothing_is_plain_inside_of_a_transform_or_a_mode() -> None:
    x, seen = torch.zeros(2), []

    def look(value: Tensor) -> Tensor:
        seen.append(is_plain((x,)))
        return value.sum()

    torch.func.grad(look)(x)
    torch.func.vmap(look)(torch.zeros(2, 2))
    torch.jit.trace(look, (x,), check_trace=False)
    for context in (forward_ad.dual_level(), Seen(), Passing(), torch.device("cpu")):
        with context:
            look(x)
    assert len(seen) == 7 and not any(seen)
    with nullcontext():
        look(x)
    assert seen[-1]


@pytest.mark.parametrize("label", CELLS)
def test_transforms_have_the_gradients_of_a_plain_call(label: str) -> None:
    network, u = made(label), inputs()
    weights = dict(network.named_parameters())

    def value(given: dict[str, Tensor], x: Tensor) -> Tensor:
        output: Tensor = torch.func.functional_call(network, given, (x,))[0]
        return output.square().sum()

    loss = network(u)[0].square().sum()
    plain = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
    found = torch.func.grad(value)(weights, u)
    many = torch.func.vmap(torch.func.grad(value), in_dims=(None, 0))(weights, torch.stack((u, u)))
    for (name, weight), gradient in zip(weights.items(), plain, strict=True):
        expected = torch.zeros_like(weight) if gradient is None else gradient
        assert torch.equal(found[name], expected), name
        assert torch.equal(many[name], torch.stack((expected, expected))), name


@pytest.mark.parametrize("label", CELLS)
def test_a_second_derivative_is_refused_with_a_graph_and_without_is_none(label: str) -> None:
    network, u = made(label), inputs().requires_grad_()
    (first,) = torch.autograd.grad(network(u)[0].sum(), u, create_graph=True)
    with pytest.raises((RuntimeError, NotImplementedError), match='execution="torch"'):
        torch.autograd.grad(first.sum(), u)
    (alone,) = torch.autograd.grad(network(u)[0].sum(), u)
    assert not alone.requires_grad and torch.equal(alone, first)


def read_again() -> ModuleType:
    """A copy of the module, read with the torch that there is now."""
    spec = importlib.util.spec_from_file_location("operators_read_again", str(operators.__file__))
    assert spec is not None and spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy


PRIVATE = {
    "_are_functorch_transforms_active": torch._C,
    "_len_torch_dispatch_stack": torch._C,
    "_len_torch_function_stack": torch._C,
    "_get_tracing_state": torch._C,
    "_dispatch_keys": torch._C,
    "_current_level": forward_ad,
}


@pytest.mark.parametrize("name", PRIVATE)
def test_with_a_torch_that_lacks_a_private_name_nothing_is_plain(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.zeros(2)
    with monkeypatch.context() as without:
        without.delattr(PRIVATE[name], name)
        copy = read_again()
        assert not copy.is_plain((x,))
        assert copy.in_forward_mode() == (name == "_current_level")
    assert read_again().is_plain((x,)) and not read_again().in_forward_mode()


@pytest.mark.parametrize("name", ["V", "b"])
@pytest.mark.parametrize("label", CELLS)
def test_a_weight_changed_between_forward_and_backward_is_seen(label: str, name: str) -> None:
    network = made(label)
    value = network(inputs())[0].sum()
    with torch.no_grad():
        network.get_parameter(f"layers.1.{name}").add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()


@pytest.mark.parametrize("label", CELLS)
def test_an_output_changed_in_place_is_seen_where_the_derivative_reads_it(label: str) -> None:
    network = made(label)
    output = network(inputs())[0]
    output.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()
    with torch.no_grad():
        output = network(inputs())[0]
    weight = torch.ones((), requires_grad=True)
    output.mul_(weight)
    output.sum().backward()
    assert weight.grad == output.detach().sum()


@pytest.mark.parametrize("label", CELLS)
def test_a_graph_that_is_kept_is_walked_twice_and_no_other(label: str) -> None:
    network = made(label)
    value = network(inputs())[0].square().sum()
    value.backward(retain_graph=True)
    once = [None if weight.grad is None else weight.grad.clone() for weight in network.parameters()]
    value.backward()
    pairs = [(a, weight.grad) for a, weight in zip(once, network.parameters(), strict=True) if a is not None]
    assert all(torch.equal(2.0 * a, b) for a, b in pairs) and len(pairs) > 5
    with pytest.raises(RuntimeError, match="a second time"):
        value.backward()
