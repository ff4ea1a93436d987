"""``layer_outputs`` is ``outputs`` for x = u Vᵀ + b, in every execution; so no cell has to know which one it has."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch

import odernn.cells
from odernn import executions
from odernn.executions.recurrence import RecurrenceOutputs, of_layer
from tests.odernn.cells.unicornn_book import network, normal

USABLE = [name for name, reason in executions.available().items() if reason is None and name != "cuda"]


@pytest.mark.parametrize("name", USABLE)
@pytest.mark.parametrize("with_b", [True, False])
@pytest.mark.parametrize("lengths", [None, (7, 3)])
def test_it_is_the_recurrence_of_the_product(name: str, with_b: bool, lengths: tuple[int, ...] | None):
    runner = executions.get(name)
    ends = None if lengths is None else torch.tensor(lengths)
    found, expected = [], []
    for results, is_layer in ((found, True), (expected, False)):
        u, V, b = normal(7, 2, 3), normal(4, 3, seed=5), normal(4, seed=6)
        leaves = [each.requires_grad_() for each in (u, V, *([b] if with_b else []))]
        rest = {"w": 0.5, "step_size": 0.1, "alpha": 1.0, "y0": normal(2, 4, seed=7), "z0": normal(2, 4, seed=8)}
        if is_layer:
            ran = runner.layer_outputs(u, V, b if with_b else None, **rest, lengths=ends)
        else:
            x = u @ V.T + b if with_b else u @ V.T
            ran = runner.outputs(x, **rest, lengths=ends)
        assert ran.execution == name
        energy = ran.y.square().sum() + ran.y_last.sum() + 2 * ran.z_last.sum()
        results += [ran.y, ran.y_last, ran.z_last, *torch.autograd.grad(energy, leaves)]
    # A product of 3 terms and a sum of 14, in another order: a few roundings of numbers of size 10.
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-13, atol=1e-13)


def test_a_network_asks_whatever_execution_it_has(monkeypatch: pytest.MonkeyPatch):
    """One without a name that anything knows of: it makes the drive itself, where a layer sees one level."""
    from odernn.executions import torch_loop

    seen: list[tuple[int, ...]] = []

    def outputs(x: torch.Tensor, **rest: object) -> RecurrenceOutputs:
        return torch_loop.outputs(x, **rest)  # type: ignore[arg-type]

    def layer_outputs(u: torch.Tensor, V: torch.Tensor, b: torch.Tensor | None, **rest: object) -> RecurrenceOutputs:
        seen.append(tuple(V.shape))
        return of_layer(outputs)(u, V, b, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(torch_loop, "layer_outputs", layer_outputs)
    model = network(4, residual_skip=2, skip_input=False)
    model(normal(5, 2, 2))
    assert seen == [(3, 2), (3, 3), (3, 3)]  # the fourth layer also sees level 1


NAMES = set(executions.available())
CELLS = sorted(Path(odernn.cells.__file__).parent.rglob("*.py"))


def names_compared(source: str) -> list[str]:
    """Names of executions that a module compares something with."""
    compared = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Compare | ast.MatchValue)]
    constants = [each for node in compared for each in ast.walk(node) if isinstance(each, ast.Constant)]
    return [each.value for each in constants if each.value in NAMES]


OWN_WAYS = {"linoss.py": ["parallel"]}
"""The step of LinOSS is linear, so that its scan is its own and no execution of the contract; the comparison is between
two ways of one cell."""


@pytest.mark.parametrize("path", CELLS, ids=lambda path: path.name)
def test_no_cell_asks_which_execution_it_has(path: Path):
    source = path.read_text("utf-8")
    assert names_compared(source) == OWN_WAYS.get(path.name, [])
    assert "executions._" not in source and "executions.cpu." not in source


def test_a_cell_that_asks_is_noticed():
    assert len(CELLS) > 20
    assert names_compared('if runner.name == "cpu" and not layer.Lambda:\n    pass') == ["cpu"]
    assert names_compared('match name:\n    case "cuda":\n        pass') == ["cuda"]
