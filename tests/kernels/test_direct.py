"""The way around torch's dispatcher is taken in the plain case only, and gives the operation's very bits."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

from cuda.odernn_kernels import direct, execution, launches
from cuda.odernn_kernels.emulator.launcher import EmulatedLauncher
from tests.kernels import problems


class Watch(TorchDispatchMode):
    """Names what is dispatched."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_both_ways_give_the_same_bits(
    launcher: EmulatedLauncher, monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, ragged: bool
) -> None:
    given = problems.problem(19, 3, 5, ragged=ragged, dtype=dtype)
    found, gradients = given.run(execution)
    monkeypatch.setattr(direct, "is_plain", lambda *_: False)
    other, others = given.run(execution)
    assert all(torch.equal(getattr(found, k), getattr(other, k)) for k in ("y", "y_last", "z_last"))
    assert all(torch.equal(gradients[k], others[k]) for k in problems.NAMES)
    assert launcher.launched[:2] == launcher.launched[2:]


def test_gradients_that_nobody_asked_for_are_not_summed(launcher: EmulatedLauncher) -> None:
    given = problems.problem(9, 2, 3)
    a = {k: v.clone().requires_grad_(k == "w") for k, v in given.arguments.items()}
    y = execution.outputs(a["x"], **{k: v for k, v in a.items() if k != "x"}).y
    y.backward(given.cotangents[0])
    leaves = {k: v.detach().requires_grad_() for k, v in given.arguments.items()}
    y = execution.outputs(leaves["x"], **{k: v for k, v in leaves.items() if k != "x"}).y
    y.backward(given.cotangents[0])
    assert a["w"].grad is not None and torch.equal(a["w"].grad, leaves["w"].grad)
    assert all(v.grad is None for k, v in a.items() if k != "w")
    assert all(v.grad is not None for v in leaves.values())


def test_gradients_that_nobody_needs_are_one_array_that_nobody_sees(launcher: EmulatedLauncher) -> None:
    like, x = torch.zeros(2, 3), torch.zeros(9, 2, 3)
    by_w, by_h, *others = launches.partials(like, x, (True, True, False, False, False))[1:]
    spare = {each.data_ptr() for each in others}
    assert len(spare) == 1 and not spare & {by_w.data_ptr(), by_h.data_ptr()}
    a = {k: v.clone().requires_grad_(k in ("x", "w")) for k, v in problems.problem(9, 2, 3).arguments.items()}
    y = execution.outputs(a["x"], **{k: v for k, v in a.items() if k != "x"}).y
    seen: list[tuple[torch.Tensor | None, ...]] = []
    y.grad_fn.register_hook(lambda found, _: seen.append(found))  # type: ignore[union-attr]
    y.sum().backward()
    assert [each is None for each in seen[0]] == [False, False, *[True] * 4]


def test_what_watches_sees_the_operation(launcher: EmulatedLauncher) -> None:
    given = problems.problem(5, 2, 3)
    assert direct.is_plain(*given.arguments.values())
    with Watch() as watch:
        assert not direct.is_plain()
        given.run(execution)
    assert "odernn_cuda.stored.default" in watch.seen and "odernn_cuda.stored_backward.default" in watch.seen


def test_none_of_what_needs_an_operation_is_plain() -> None:
    class Subclass(torch.Tensor): ...

    x = torch.zeros(2)
    assert direct.is_plain(x, None, torch.nn.Parameter(x))
    assert not direct.is_plain(x.as_subclass(Subclass))
    seen: list[bool] = []
    with forward_ad.dual_level():
        seen.append(direct.is_plain(x))
    torch.func.vmap(lambda v: (seen.append(direct.is_plain(v)), v)[1])(x)
    assert seen == [False, False]


def test_autocast_does_not_reach_the_sums(launcher: EmulatedLauncher) -> None:
    given = problems.problem(5, 2, 3, dtype=torch.float64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        _, gradients = given.run(execution)
    expected = given.run(execution)[1]
    assert all(torch.equal(gradients[k], expected[k]) for k in problems.NAMES)
