"""What cells refuse where ``float`` or ``in`` would have taken it: every error names the argument and its value."""

from __future__ import annotations

import inspect
from fractions import Fraction

import numpy as np
import pytest
import torch

from odernn import cells, tableaus
from odernn.cells.common import arguments
from odernn.cells.recurrent import Manners, RecurrentNetwork

HYPERPARAMETERS = {
    "antisymmetric": {"dt": 0.1, "gamma": 0.1},
    "arnn_1_2": {"dt": 0.1},
    "arnn_2_2": {"dt": 0.1},
    "clockwork": {},
    "cornn": {"dt": 0.1, "gamma": 1.0, "epsilon": 1.0},
    "damped_unicornn": {"dt": 0.1, "alpha": 1.0, "gamma": 1.0},
    "exprnn": {},
    "indrnn": {},
    "lem": {"dt": 0.1},
    "linoss": {"dt": 0.1},
    "lipschitz": {"dt": 0.1, "beta_a": 0.7, "gamma_a": 0.1, "beta_w": 0.7, "gamma_w": 0.1},
    "odernn": {"eta": 0.1},
    "scornn": {},
    "unicornn": {"dt": 0.1, "alpha": 1.0},
    "urnn": {},
}
OTHERS = {
    "odernn": {"tableau": tableaus.HEUN_2},
    "scornn": {"rho": 0},
    "clockwork": {"periods": (1, 2, 4)},
    "urnn": {"capacity": "restricted"},
}
CHOICES = {
    "arnn_1_2": ["activation"],
    "arnn_2_2": ["activation", "scheme"],
    "cornn": ["damping"],
    "odernn": ["coefficients"],
    "indrnn": ["activation"],
    "scornn": ["signs", "initial"],
    "unicornn": ["index"],
    "exprnn": ["initial"],
    "linoss": ["scheme", "guard", "execution"],
    "lipschitz": ["method"],
    "urnn": ["capacity", "product"],
}


def made(name: str, **options):
    return cells.get(name)(2, 3, 2, **{**HYPERPARAMETERS[name], **OTHERS.get(name, {}), **options})


def test_every_cell_with_a_hidden_size_of_its_own_is_here():
    """IntegratorRNN has that of its field, and one dt for all layers, and QUNN that of its input; their own tests have
    their arguments."""
    assert sorted(HYPERPARAMETERS) == sorted(set(cells.names()) - {"integrator", "qunn"})


NUMBERS = [(name, argument) for name, given in HYPERPARAMETERS.items() for argument in given]


@pytest.mark.parametrize(("name", "argument"), NUMBERS)
@pytest.mark.parametrize(
    "wrong", ["12", "1", True, ["1", 0.5], [True, 0.5], [0.5, None], None, b"12", 1j, torch.tensor(True), np.True_]
)
def test_text_and_truth_values_are_no_numbers(name, argument, wrong):
    with pytest.raises(TypeError, match=f"{argument} .*is .*Give a number"):
        made(name, **{argument: wrong})


@pytest.mark.parametrize(("name", "argument"), NUMBERS)
@pytest.mark.parametrize(
    "right", [0.5, Fraction(1, 2), np.float32(0.5), np.array([0.5, 0.5]), torch.tensor(0.5), torch.tensor([0.5, 0.5])]
)
def test_whatever_is_one_number_a_layer_is_taken(name, argument, right):
    assert f"{argument}=0.5" in repr(made(name, **{argument: right})) or name == "odernn"


@pytest.mark.parametrize("name", HYPERPARAMETERS)
@pytest.mark.parametrize("wrong", ["0.5", True, None, [0.5]])
def test_dropout_is_a_number(name, wrong):
    with pytest.raises(TypeError, match="dropout is"):
        made(name, dropout=wrong)


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        *((name, each) for name, all_ in CHOICES.items() for each in all_),
        *((name, "dropout_mask") for name in HYPERPARAMETERS),
    ],
)
@pytest.mark.parametrize("wrong", [[], {}, None, "no such choice"])
def test_choices_are_names(name, argument, wrong):
    with pytest.raises(ValueError, match=f"{argument} is "):
        made(name, **{argument: wrong})


@pytest.mark.parametrize("name", HYPERPARAMETERS)
@pytest.mark.parametrize("wrong", [0, 2.0, True, "3"])
def test_sizes_are_integers_of_at_least_one(name, wrong):
    cell = cells.get(name)
    for sizes, argument in (((wrong, 3), "input_size"), ((2, wrong), "hidden_size"), ((2, 3, wrong), "num_layers")):
        with pytest.raises(ValueError, match=f"{argument} is .*integer of at least 1"):
            cell(*sizes, **HYPERPARAMETERS[name], **OTHERS.get(name, {}))


def test_checks_of_single_numbers_name_them():
    for check in (arguments.positive, arguments.not_negative):
        with pytest.raises(TypeError, match="dt is '1', a str"):
            check("dt", ["1"])


@pytest.mark.parametrize("name", cells.names())
def test_help_shows_every_argument_with_its_default(name: str):
    shown = inspect.signature(cells.get(name)).parameters
    shared = inspect.signature(RecurrentNetwork).parameters
    assert {"input_size", "num_layers", "generator", "device", "dtype"} <= set(shown)
    assert {key: shown[key].default for key in Manners.__annotations__} == {
        key: shared[key].default for key in Manners.__annotations__
    }
    assert all(entry.kind is not inspect.Parameter.VAR_KEYWORD for entry in shown.values())


def test_an_argument_that_a_cell_does_not_have_is_named_with_the_one_that_is_meant():
    with pytest.raises(TypeError, match=r'LEM has no argument "dropuot"\. Did you mean "dropout"'):
        cells.get("lem")(3, 4, dropuot=0.1)
    with pytest.raises(TypeError, match="URNN has no argument execution: the loop of torch is its only"):
        cells.get("urnn")(3, 4, capacity=2, execution="cpu")
    with pytest.raises(TypeError, match=r"LinOSS has no argument \"quux\". It has input_size, .* dt, "):
        cells.get("linoss")(3, 4, dt=0.1, quux=1)


@pytest.mark.parametrize(
    ("name", "which"), [(name, which) for name in HYPERPARAMETERS for which in HYPERPARAMETERS[name]]
)
def test_a_number_that_float32_rounds_to_infinity_is_refused_when_given_and_when_loaded(name: str, which: str) -> None:
    with pytest.raises(ValueError, match=f"1e\\+39|{which}"):
        made(name, **{which: 1e39})
    network = made(name)
    exact = {
        key: torch.full_like(value, 1e39) for key, value in network.named_buffers() if value.dtype == torch.float64
    }
    with pytest.raises((ValueError, RuntimeError), match=r"1e\+39"):
        network.load_state_dict(network.state_dict() | exact)
