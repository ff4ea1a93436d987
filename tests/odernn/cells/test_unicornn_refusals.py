"""What UnICORNN refuses: every error names the argument, its value, the reason and what to give instead."""

from __future__ import annotations

import pytest
import torch

from odernn.cells.unicornn import UnICORNN
from odernn.executions import ExecutionUnavailable
from tests.odernn.cells.unicornn_book import F64, network


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"dt": 0.0}, ValueError, r"dt of layer 1 is 0\.0, but the network is defined for 0 < dt < 1"),
        ({"dt": 1.0}, ValueError, r"dt of layer 1 is 1\.0"),
        ({"dt": [0.1, -0.2]}, ValueError, r"dt of layer 2 is -0\.2"),
        ({"dt": float("nan")}, ValueError, "dt of layer 1 is nan, which is not finite"),
        ({"dt": [0.1]}, ValueError, "dt has 1 entries but num_layers is 2"),
        ({"dt": "fast"}, TypeError, "dt is 'fast'. Give a number"),
        ({"alpha": -1.0}, ValueError, r"alpha of layer 1 is -1\.0.*alpha ≥ 0"),
        ({"alpha": [1.0, float("inf")]}, ValueError, "alpha of layer 2 is inf"),
        ({"residual_skip": 1}, ValueError, "residual_skip is 1, but.*S ≥ 2"),
        ({"dropout": 1.0}, ValueError, r"dropout is 1\.0"),
        ({"index": "paper"}, ValueError, "index is 'paper', but the conventions are"),
        ({"dropout_mask": "variational"}, ValueError, "dropout_mask is 'variational'. Choose from: 'locked', 'step'"),
        (
            {"index": "sam", "bidirectional": True},
            ValueError,
            r'bidirectional is True with index="sam".*a row after the last, u_\{N\+1\}.*Use index="icml"',
        ),
        ({"num_layers": 0}, ValueError, "num_layers is 0"),
        ({"input_size": 2.0}, ValueError, r"input_size is 2\.0"),
        ({"execution": "gpu"}, ValueError, 'No execution is called "gpu"'),
    ],
)
def test_a_wrong_hyperparameter_is_named(change, error, message: str):
    options = {"input_size": 2, "hidden_size": 3, "num_layers": 2, "dt": 0.1, "alpha": 1.0} | change
    with pytest.raises(error, match=message):
        UnICORNN(**options)


def zeros(*shape: int, dtype: torch.dtype = F64, device: str = "cpu") -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype, device=device)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"input": zeros(2)}, ValueError, r"input has shape \(2,\), but it is \(time, batch, input\)"),
        ({"input": zeros(4, 5, 3)}, ValueError, "its last axis is 3 but input_size is 2"),
        (
            {"input": zeros(4, 5, 2).float()},
            TypeError,
            "input has dtype torch.float32 but the parameters have",
        ),
        (
            {"input": zeros(4, 5, 2, device="meta")},
            ValueError,
            "input is on meta but the parameters are on cpu",
        ),
        ({"state": zeros(2, 5, 3)}, TypeError, "state is a Tensor, but it is the pair"),
        (
            {"state": (zeros(2, 4, 3), zeros(2, 5, 3))},
            ValueError,
            r"state y has shape \(2, 4, 3\).*needs \(2, 5, 3\)",
        ),
        ({"state": (zeros(2, 5, 3), zeros(2, 3))}, ValueError, "state z has shape"),
        ({"state": (zeros(2, 5, 3), zeros(2, 5, 3).float())}, TypeError, "state z has dtype"),
        ({"previous_input": zeros(5, 3)}, ValueError, r"previous_input has shape \(5, 3\).*needs \(5, 2\)"),
        ({"lengths": [1, 2]}, ValueError, r"lengths has shape \(2,\), but the batch needs \(5,\)"),
        ({"lengths": [1, 2, 3, 4, 5]}, ValueError, r"lengths reaches from 1 to 5, outside 0\.\.4"),
        ({"lengths": [-1, 2, 3, 4, 4]}, ValueError, "lengths reaches from -1"),
        ({"lengths": [1.0] * 5}, TypeError, "lengths has dtype torch.float32"),
        ({"input": zeros(4, 2), "lengths": [4]}, ValueError, "lengths is given with an unbatched input"),
        ({"execution": "troch"}, ValueError, 'Did you mean "torch"'),
    ],
)
def test_a_wrong_argument_is_named(change, error, message: str):
    arguments = {"input": zeros(4, 5, 2), "state": None} | change
    with pytest.raises(error, match=message):
        network(2, index="sam")(**arguments)


def test_a_previous_input_that_nothing_sees_is_refused():
    with pytest.raises(ValueError, match='with index="icml" no layer sees u_0'):
        network(2)(zeros(4, 5, 2), previous_input=zeros(5, 2))


def test_an_execution_that_is_missing_is_not_replaced(monkeypatch: pytest.MonkeyPatch):
    from odernn import executions

    monkeypatch.setitem(executions._MODULES, "cpu", "odernn.executions.nowhere")
    model = network(1)
    with pytest.raises(ExecutionUnavailable):
        model(zeros(4, 5, 2), execution="cpu")
    with pytest.raises(ExecutionUnavailable):
        network(1, execution="cpu")


@pytest.mark.parametrize(
    ("name", "value"), [("dt", -0.1), ("dt", 1.0), ("dt", float("nan")), ("alpha", -1.0), ("alpha", float("inf"))]
)
def test_state_dict_with_a_refused_hyperparameter_is_refused_whole(name: str, value: float) -> None:
    cell = UnICORNN(2, 3, 2, dt=0.1, alpha=1.0)
    saved = {key: tensor.clone() + (0.5 if "layers" in key else 0.0) for key, tensor in cell.state_dict().items()}
    before = {key: tensor.clone() for key, tensor in cell.state_dict().items()}
    saved[name][1] = value
    with pytest.raises(RuntimeError, match=f"{name} of layer 2"):
        cell.load_state_dict(saved)
    assert all(torch.equal(cell.state_dict()[key], before[key]) for key in ("dt", "alpha"))


@pytest.mark.parametrize(
    ("index", "change", "message"),
    [
        ("sam", {"scheme": "icml"}, "scheme is 'icml'. Choose from"),
        ("icml", {"scheme": "sam7"}, "scheme is \"sam7\".*but index is 'icml'"),
        ("sam", {"scheme": "sam7", "previous_input": zeros(5, 2)}, 'previous_input is given, but scheme="sam7"'),
        ("icml", {"previous_input": zeros(5, 2)}, 'with index="icml" no layer sees u_0'),
        ("icml", {"lengths": [1]}, "lengths has shape"),
    ],
)
def test_a_wrong_argument_of_the_inverse_is_named(index: str, change, message: str):
    state = (zeros(2, 5, 3), zeros(2, 5, 3))
    with pytest.raises(ValueError, match=message):
        network(2, index=index).inverse(state, zeros(4, 5, 2), **change)


def test_parameters_of_few_digits_are_refused_in_favour_of_autocast():
    with pytest.raises(TypeError, match=r"parameters have dtype torch\.bfloat16.*use torch\.autocast"):
        network(1).bfloat16()(zeros(4, 5, 2, dtype=torch.bfloat16))
