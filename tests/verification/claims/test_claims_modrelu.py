"""Claims about modReLU and gradients: verdicts, witnesses worked by hand, false variants that must turn."""

from __future__ import annotations

import random
from fractions import Fraction as Q
from types import ModuleType

import numpy as np
import pytest
import torch

from odernn.cells.scornn import ScoRNN
from odernn.orthogonal.cayley import modrelu
from tests.tiers import without
from tests.verification.claims import claim_rows as rows
from verification.cases import activation_slopes
from verification.certify import modrelu_run
from verification.certify.second import modrelu_run as modrelu_run_second
from verification.claim import Case
from verification.claims.scornn import modrelu as definition
from verification.claims.scornn import modrelu_gradients as gradients
from verification.measure import hidden_gradients
from verification.parameters import RefusedError

CLAIMS = {each.id: each for each in (*definition.CLAIMS, *gradients.CLAIMS)}
EXPECTED = {
    "sco-4.1a": ["proved", "proved", "proved", "refuted", "refuted", "refuted"],
    "sco-4.1b": ["refuted", "proved", "refuted", "proved", "proved"],
    "sco-5.5.2": ["proved", "proved", "not-refuted", "not-refuted", "refuted", "proved", "refuted"],
    "sco-5.5.2-exp": ["not-refuted"] * 3,
    "thm-H-grad": ["not-refuted"],
}


@pytest.mark.parametrize("family", (definition, gradients))
def test_a_claim_file_names_no_verdict(family: ModuleType) -> None:
    rows.assert_names_no_verdict(family)


def verdict_of(case: Case) -> str:
    return str(rows.verdict_of(case).verdict)


@pytest.mark.parametrize("name", without(EXPECTED, "sco-5.5.2-exp"))  # searched as sco-5.5.2 is
def test_every_case_is_answered(name: str) -> None:
    assert rows.verdicts_of(CLAIMS[name]) == EXPECTED[name]
    assert set(EXPECTED) == set(CLAIMS)


# modReLU itself.


@pytest.mark.parametrize(
    ("planted", "place"),
    [
        (activation_slopes.active_slope_case(2), {"e": "-1", "r": "3", "a": "1/2", "k": "1/3"}),
        (activation_slopes.tanh_slope_case(2), {"z": "-2/3"}),
    ],
)
def test_another_slope_is_refuted(planted: Case, place: dict[str, str]) -> None:
    assert verdict_of(planted) == "refuted"
    assert not rows.doubt_of(planted, place)
    true = {case.quantity: case for case in CLAIMS["sco-4.1b"].cases}[planted.quantity]
    assert rows.doubt_of(true, place)


def test_a_step_beyond_what_is_active_is_turned_away() -> None:
    case = CLAIMS["sco-4.1b"].cases[3]
    assert case.check is not None
    with pytest.raises(RefusedError, match='"k"'):
        case.check({"e": "1", "r": "3", "a": "1/2", "k": "1"})


@pytest.mark.parametrize("is_complex", [False, True])
def test_a_bias_of_the_other_sign_in_the_branches_is_refuted(is_complex: bool) -> None:
    case = definition.forms_case(is_complex, turned=-1)
    assert verdict_of(case) == "refuted"
    direction = {"e_re": "3/5", "e_im": "4/5"} if is_complex else {"e": "-1"}
    assert not rows.doubt_of(case, {"r": "2", "b": "-1", **direction})  # 1 z/|z| against 3 z/|z|
    assert rows.doubt_of(definition.forms_case(is_complex), {"r": "2", "b": "-1", **direction})


@pytest.mark.parametrize("change", [{"r": "0"}, {"r": "-1"}, {"e_im": "1"}])
def test_the_forms_are_compared_where_z_is_not_zero(change: dict[str, str]) -> None:
    case = definition.forms_case(is_complex=True)
    assert case.check is not None
    with pytest.raises(RefusedError, match=f'"{next(iter(change))}"'):
        case.check({"r": "1", "e_re": "1", "e_im": "0", "b": "0", **change})


def test_half_of_the_lipschitz_constant_is_refuted() -> None:
    assert verdict_of(definition.non_expansive_case(Q(1, 2))) == "refuted"
    assert verdict_of(definition.non_expansive_case(Q(2))) == "proved"


@pytest.mark.parametrize("b", ["0", "-1"])
def test_there_is_no_jump_for_a_bias_that_is_not_positive(b: str) -> None:
    for case in CLAIMS["sco-4.1a"].cases[3:5]:
        assert case.check is not None
        with pytest.raises(RefusedError, match='"b"'):
            case.check({"b": b, "reach": "1/1000"})


def test_the_jump_is_that_of_the_library() -> None:
    z, b = torch.tensor([1e-30, 0.0, -1e-30], dtype=torch.float64), torch.tensor([1.0], dtype=torch.float64)
    assert modrelu(z, b).tolist() == [1.0, 0.0, -1.0]


# Runs over the rationals.

SILENCED = {"A": "0", "D": "1 1", "b": "-1 -1", "h": "2 2", "drive": "0 0 0 0", "v": "1 1"}
"""h_1 = (1, 1), then |z| + b = 0: by hand."""


def test_the_run_by_hand() -> None:
    run = modrelu_run.run(SILENCED)
    assert run.silent == (0, 2) and not any(run.J.entries())
    assert modrelu_run.squared_gradients(run, [Q(1), Q(1)], False) == [0, 0, 2]
    assert [modrelu_run_second.squared_gradient(SILENCED, t, False) for t in range(3)] == [0, 0, 2]


@pytest.mark.parametrize("every", [False, True])
def test_both_back_ends_and_autograd_have_the_same_gradients(every: bool) -> None:
    """Random networks: fractions forwards, FLINT backwards, and torch in float64."""
    for k, parameters in enumerate(gradients.networks(gradients.FREE, 30, seed=5)):
        run = modrelu_run.run(parameters)
        columns = modrelu_run_second.jacobian(parameters)
        n, steps = run.W.nrows(), len(run.active)
        assert [[modrelu_run.rational(run.J[i, j]) for i in range(n)] for j in range(n)] == columns
        v = [Q(word) for word in parameters["v"].split()]
        squares = modrelu_run.squared_gradients(run, v, every)
        for t in {0, 1, steps // 2, steps}:
            assert squares[t] == modrelu_run.exact(modrelu_run_second.squared_gradient(parameters, t, every))
        if k % 5 == 0:
            assert autograd_squares(parameters, every) == pytest.approx([float(x) for x in squares[1:]], abs=1e-9)


def autograd_squares(parameters: dict[str, str], every: bool) -> list[float]:
    """‖∂L/∂h_t‖², t = 1..T, with W from numpy and the library's modrelu."""
    values = {name: [float(Q(word)) for word in text.split()] for name, text in parameters.items()}
    n = len(values["D"])
    A = np.zeros((n, n))
    A[np.triu_indices(n, 1)] = values["A"]
    A = A - A.T
    W = torch.tensor(np.linalg.solve(np.eye(n) + A, np.eye(n) - A) @ np.diag(values["D"]))
    b, v = torch.tensor(values["b"]), torch.tensor(values["v"], dtype=torch.float64)
    h = torch.tensor(values["h"], dtype=torch.float64, requires_grad=True)
    states = []
    for x in torch.tensor(values["drive"], dtype=torch.float64).view(-1, n):
        z = W @ h + x
        h = modrelu(torch.where(z.abs() < 1e-12, 0.0, z), b.to(torch.float64))
        h.retain_grad()
        states.append(h)
    loss = sum(v @ state for state in states) if every else v @ states[-1]
    loss.backward()
    return [0.0 if state.grad is None else float(state.grad @ state.grad) for state in states]


def test_a_run_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="signs do not fit"):
        modrelu_run.run({**SILENCED, "A": "0 0"})


# False variants, and premises.


def test_a_symmetric_matrix_is_no_rotation() -> None:
    assert gradients.orthogonality_identity() and not gradients.orthogonality_identity(swapped=1)


def test_growth_and_constancy_where_units_fall_silent_are_refuted() -> None:
    assert verdict_of(gradients.gradient_case(gradients.FREE, gradients.SAME)) == "refuted"
    assert verdict_of(gradients.gradient_case(gradients.FREE, gradients.ISOMETRIC)) == "refuted"
    shrinking = gradients.loss_statement("‖∂L/∂h_1‖ ≤ ‖∂L/∂h_T‖/2", False, lambda early, late: 4 * early <= late)
    assert verdict_of(gradients.gradient_case(gradients.ACTIVE, shrinking)) == "refuted"
    assert verdict_of(gradients.gradient_case(gradients.INITIAL, shrinking)) == "refuted"


def test_a_proof_is_not_used_against_an_exception() -> None:
    """NO_MORE holds; claimed for the loss at every step it does not, whatever the argument says."""
    wrong = gradients.loss_statement("every", True, lambda early, late: early <= late)
    case = gradients.gradient_case(gradients.FREE, wrong, proof=lambda: "an argument")
    assert verdict_of(case) == "refuted"


@pytest.mark.parametrize(
    "change", [{"b": "1 -1"}, {"b": "0 0"}, {"D": "1 2"}, {"A": "0 0"}, {"drive": "0 0 0"}, {"drive": "0 " * 49 + "0"}]
)
def test_a_witness_outside_the_premises_is_refused(change: dict[str, str]) -> None:
    case = CLAIMS["sco-4.1b"].cases[0]
    assert case.check is not None
    assert not rows.doubt_of(case, SILENCED)
    with pytest.raises(RefusedError, match=f'"{next(iter(change))}"'):
        case.check({**SILENCED, **change})


def test_a_witness_without_violation_does_not_count() -> None:
    assert rows.doubt_of(CLAIMS["sco-4.1b"].cases[0], {**SILENCED, "h": "3 3"})


def test_a_pre_activation_of_zero_is_no_premise_of_a_silent_network() -> None:
    case = CLAIMS["sco-4.1b"].cases[2]
    point = {"A": "0", "D": "1 1", "b": "1 1", "h": "0 0", "drive": "0 0 0 0", "v": "1 1"}
    assert not rows.doubt_of(case, point)
    assert "premise" in rows.doubt_of(CLAIMS["sco-4.1b"].cases[1], point)


def test_no_lost_direction_is_refuted_and_twice_as_many_are_not() -> None:
    assert verdict_of(gradients.singular_value_case("none lost", lost=0)) == "refuted"
    assert verdict_of(gradients.singular_value_case("twice", lost=2)) == "not-refuted"


def test_ranks_by_elimination_are_numpys() -> None:
    generator = random.Random(0)
    for _ in range(40):
        rows = [[Q(generator.randint(-1, 1)) for _ in range(4)] for _ in range(4)]
        assert gradients._rank(rows) == np.linalg.matrix_rank(np.array(rows, dtype=float))


# The run on the adding problem.


def test_the_initial_gradients_are_those_of_a_product_of_jacobians() -> None:
    """The layer's own W and activity, multiplied out in float64: ∂L/∂h_1 = (D_T W ⋯ D_2 W)ᵀ ∂L/∂h_T."""
    norms = hidden_gradients.on_adding(initial="glorot", steps=12, count=1, seed=4)
    generator = torch.Generator().manual_seed(4)
    network = ScoRNN.from_paper("adding-400", initial="glorot", generator=generator)
    layer = network.layers[0]
    W, b = layer.recurrent_matrix().detach().double(), layer.b.detach().double()
    from verification.tasks import adding

    sequences, _, _ = adding.load("train", steps=12, count=1, seed=4)
    h, J, ratios = torch.zeros(170, dtype=torch.float64), torch.eye(170, dtype=torch.float64), []
    for x in torch.from_numpy(sequences).double()[:, 0]:
        z = W @ h + layer.U.detach().double() @ x
        J = torch.diag((z.abs() + b > 0).double()) @ W @ J if ratios else J
        ratios.append(1)
        h = modrelu(z, b)
    v = 2 * torch.rand(170, generator=generator) - 1
    expected = torch.linalg.vector_norm(J.T @ v.double()) / torch.linalg.vector_norm(v.double())
    assert float(norms[0] / norms[-1]) == pytest.approx(float(expected), rel=1e-4)


def test_a_factor_beyond_the_printed_one_would_be_suspect(monkeypatch: pytest.MonkeyPatch) -> None:
    decaying = torch.logspace(-2, 0, 500, dtype=torch.float64)
    asked = []
    monkeypatch.setattr(hidden_gradients, "on_adding", lambda **given: asked.append(given["network"]) or decaying)
    assert verdict_of(gradients.initial_case("small")) == "suspect"
    assert verdict_of(gradients.initial_case("small", "adding-200")) == "suspect"
    assert asked == ["adding-400"] * 5 + ["adding-200"] * 5
