"""``suggest`` of every cell: what it gives makes the cell, is inside its step bound, and monotone in the steps."""

from __future__ import annotations

import inspect
import itertools
import math
import re

import numpy as np
import pytest
import torch

from odernn import CoRNN, ScoRNN, UnICORNN, cells, fields
from odernn.cells.cornn import LinearStability
from odernn.cells.recurrent import Manners
from tests.odernn.cells.test_cells import normal
from tests.tiers import only

WITHOUT = ("integrator",)
NAMES = [name for name in cells.names() if name not in WITHOUT]
STEPS = (1, 2, 3, 5, 8, 20, 64, 200, 784, 4000, 17984)
HIDDEN = 12
GIVEN = {"input_size", "hidden_size", "num_layers", "self"}


def suggested(name: str, steps: int, **options) -> dict:
    return cells.suggest(name, steps, hidden_size=HIDDEN, **options)


def made(name: str, steps: int) -> torch.nn.Module:
    kind, options = cells.get(name), suggested(name, steps)
    size = () if name == "qunn" else (HIDDEN,)
    return kind(3, *size, generator=torch.Generator().manual_seed(0), dtype=torch.float64, **options)


@pytest.mark.parametrize("name", NAMES)
def test_a_suggestion_has_all_that_has_no_default_and_makes_the_cell(name: str) -> None:
    parameters = inspect.signature(cells.get(name).__init__).parameters
    needed = {each.name for each in parameters.values() if each.default is each.empty} - GIVEN
    given = suggested(name, 20)
    assert needed <= set(given) <= set(parameters) - set(Manners.__annotations__)
    with torch.no_grad():
        output = made(name, 20)(normal(20, 4, 3))[0]
    assert bool(torch.isfinite(output).all()) and float(output.abs().max()) > 0.0


@pytest.mark.parametrize("name", NAMES)
def test_a_suggestion_is_monotone_in_the_steps(name: str) -> None:
    falling = ("dt", "gamma_a", "gamma_w", "eta", "rate")
    rising = ("epsilon", "block_length")
    for few, more in itertools.pairwise(suggested(name, steps) for steps in STEPS[name == "qunn" :]):
        for key in few:
            if key in falling or (name, key) in (("antisymmetric", "gamma"), ("damped_unicornn", "gamma")):
                assert more[key] <= few[key]
            elif key in rising:
                assert more[key] >= few[key]
            elif key == "initial_c":
                assert more[key][0] <= few[key][0] and more[key][1] == few[key][1]
            elif key == "periods":
                assert more[key][: len(few[key])] == few[key]
            elif key != "sizes":
                assert more[key] == few[key], key


@pytest.mark.parametrize("name", NAMES)
def test_memory_stands_for_the_steps(name: str) -> None:
    assert suggested(name, 784, memory=64) == suggested(name, 64)
    assert suggested(name, 784, memory=784.0) == suggested(name, 784)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("steps", "options"),
    [(0, {}), (-3, {}), (2.5, {}), (True, {}), (8, {"memory": 0}), (8, {"memory": 9}), (8, {"memory": math.nan})],
)
def test_nonsense_is_refused(name: str, steps: int, options: dict) -> None:
    with pytest.raises(ValueError, match=r"steps is|memory is"):
        suggested(name, steps, **options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("digits", [400, 5000])
def test_steps_beyond_float64_are_refused(name: str, digits: int) -> None:
    with pytest.raises(ValueError, match="steps is beyond the range of float64"):
        suggested(name, 10**digits)
    with pytest.raises(ValueError, match="memory is beyond the range of float64"):
        suggested(name, 8, memory=10**digits)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("hidden_size", [-4, 0, True, 2.0])
def test_a_hidden_size_that_no_cell_has_is_refused(name: str, hidden_size: int) -> None:
    with pytest.raises(ValueError, match="hidden_size is"):
        cells.suggest(name, 8, hidden_size=hidden_size)


@pytest.mark.parametrize("steps", [2, 3, 10**17 + 1])
def test_a_block_of_qunn_is_no_longer_than_the_sequence(steps: int) -> None:
    assert suggested("qunn", steps)["block_length"] == pytest.approx(steps, rel=1e-15)
    assert suggested("qunn", steps)["block_length"] <= steps
    assert suggested("qunn", steps, memory=1)["block_length"] == 2
    with pytest.raises(ValueError, match="steps is 1, but a block has at least 2 inputs"):
        suggested("qunn", 1)


def test_what_has_no_suggestion_says_why() -> None:
    with pytest.raises(NotImplementedError, match="any field"):
        cells.suggest("integrator", 8)
    with pytest.raises(KeyError, match='Did you mean "unicornn"'):
        cells.suggest("unicorn", 8)
    with pytest.raises(ValueError, match="hidden_size is needed"):
        cells.suggest("scornn", 8)
    with pytest.raises(ValueError, match="share is 2"):
        ScoRNN.suggest(8, hidden_size=4, share=2)
    with pytest.raises(ValueError, match="alpha of layer 1 is -1"):
        UnICORNN.suggest(8, alpha=-1.0)


# --- the step bounds, cell by cell ----------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 1.0, 5.0, 100.0])
@pytest.mark.parametrize("w", [0.0, 1.0, 3.0, 50.0])
def test_unicornn_never_leaves_the_rotations_and_spans_its_time_scales(alpha: float, w: float) -> None:
    for steps in STEPS:
        options = UnICORNN.suggest(steps, alpha=alpha, largest_w=w)
        dt, (low, high) = options["dt"], options["initial_c"]
        assert 0.0 < dt < 1.0 and dt**2 * (alpha + w) < 4.0
        slowest, fastest = (1.0 / (dt / (1.0 + math.exp(-c))) for c in (low, high))
        assert fastest == pytest.approx(2.0 / dt)
        assert slowest == pytest.approx(max(steps, fastest))


def test_unicornn_with_weights_at_the_limit_is_reported_stable() -> None:
    layer = UnICORNN(2, 5, **UnICORNN.suggest(50))
    with torch.no_grad():
        layer.layers[0].w.fill_(3.0)
        layer.layers[0].c.fill_(40.0)
    assert layer.stability_report().layers[0].margin_to_rotation_limit > 0.0
    with torch.no_grad():
        layer.layers[0].w.fill_(5.0)
    assert layer.stability_report().layers[0].margin_to_rotation_limit < 0.0


@pytest.mark.parametrize("steps", STEPS)
def test_cornn_is_stable_and_forgets_in_the_steps_given(steps: int) -> None:
    given = CoRNN.suggest(steps)
    dt, gamma, epsilon = given["dt"], given["gamma"], given["epsilon"]
    stability = CoRNN(2, 3, **given).linear_stability()[0]
    assert isinstance(stability, LinearStability) and stability.margin >= 2.5 - 1e-12
    step = np.array([[1 - dt**2 * gamma, dt * (1 - dt * epsilon)], [-dt * gamma, 1 - dt * epsilon]])
    sizes = np.sort(np.abs(np.linalg.eigvals(step)))
    assert sizes[-1] < 1.0
    if steps >= 20:
        assert -math.log(sizes[-1]) * steps == pytest.approx(1.0, abs=0.2)
        assert sizes[0] == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("sigma_w", [0.3, 1.0, 4.0])
def test_antisymmetric_modes_do_not_grow_and_the_slowest_are_forgotten_in_the_steps_given(
    steps: int, sigma_w: float
) -> None:
    given = cells.get("antisymmetric").suggest(steps, sigma_w=sigma_w)
    dt, gamma, largest = given["dt"], given["gamma"], 2.0 * sigma_w
    waves = np.linspace(0.0, largest, 50)
    assert (np.abs(1 - dt * gamma + 1j * dt * waves) <= 1.0 + 1e-12).all()
    assert abs(1 - dt * gamma + 1j * dt * 1.01 * largest) > 1.0
    if steps >= 20:
        assert -math.log(1 - dt * gamma) * steps == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("steps", [10**8, 10**17, 10**30])
def test_the_diffusion_of_long_sequences_does_not_round_to_zero(steps: int) -> None:
    given = cells.suggest("antisymmetric", steps)
    assert given["dt"] * given["gamma"] * steps == pytest.approx(1.0, rel=1e-7)


@pytest.mark.parametrize("sigma_w", [1e-320, 5e-324, 1e308, 1.7e308])
def test_weights_for_which_no_step_is_a_float_are_refused(sigma_w: float) -> None:
    with pytest.raises(ValueError, match=r"sigma_w is .*must be finite and positive"):
        cells.get("antisymmetric").suggest(8, sigma_w=sigma_w)
    assert all(0.0 < value < math.inf for value in cells.get("antisymmetric").suggest(8, sigma_w=1e-300).values())


def largest_real_part(field: fields.Antisymmetric | fields.GatedAntisymmetric) -> float:
    """Of the eigenvalues of 2000 Jacobians, over random states and drives."""
    generator = torch.Generator().manual_seed(5)
    state = torch.randn(2000, field.hidden_size, dtype=torch.float64, generator=generator)
    drive = 3.0 * torch.randn(2000, field.drive_size, dtype=torch.float64, generator=generator)
    return float(torch.linalg.eigvals(field.jacobian((state,), drive)).real.max())


@pytest.mark.parametrize("n", [2, 4, 9])
@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.5])
def test_ungated_jacobians_have_no_growing_eigenvalue_and_gated_ones_do(n: int, gamma: float) -> None:
    W = 3.0 * normal(n, n, seed=n)
    assert largest_real_part(fields.Antisymmetric(W, gamma)) <= 1e-12
    assert largest_real_part(fields.GatedAntisymmetric(W, gamma)) > 0.05


def test_that_is_said_of_ungated_jacobians_alone() -> None:
    kind = cells.get("antisymmetric")
    for said in (kind.holds, inspect.getdoc(type(kind(2, 3, dt=0.1, gamma=0.0).layers[0]).guarantees) or ""):
        assert re.search(r"ungated, [\w’' ]*has no eigenvalue with a positive real\s+part", said, re.IGNORECASE)


def test_the_initial_spectral_radius_is_what_the_limits_suppose() -> None:
    generator = torch.Generator().manual_seed(3)
    antisymmetric = cells.get("antisymmetric")(2, 300, **cells.suggest("antisymmetric", 8), generator=generator)
    field = antisymmetric.layers[0].field()
    assert isinstance(field, fields.Antisymmetric)
    W = field.W - field.W.T
    assert float(torch.linalg.matrix_norm(W.detach(), 2)) == pytest.approx(2.0, abs=0.2)
    for name, limit in (("arnn_1_2", 2.0), ("arnn_2_2", 1.0)):
        assert all(cells.suggest(name, steps)["dt"] * 2.0 < limit for steps in STEPS)


@pytest.mark.parametrize("steps", STEPS)
def test_lipschitz_modes_of_the_linear_part_do_not_grow(steps: int) -> None:
    given = cells.suggest("lipschitz", steps)
    dt, gamma = given["dt"], given["gamma_a"]
    largest = math.sqrt(1.0 - 1.0 / (4.0 * steps))
    assert abs(1 - dt * gamma + 1j * dt * largest) == pytest.approx(1.0, abs=1e-12)
    assert dt * (given["gamma_a"] + given["gamma_w"]) * steps == pytest.approx(1.0)


def lipschitz(n: int, given: dict, seed: int) -> torch.nn.Module:
    generator = torch.Generator().manual_seed(seed)
    return cells.get("lipschitz")(3, n, generator=generator, dtype=torch.float64, **given)


@pytest.mark.parametrize("n", only([12, 64, 200], 12, 64))
@pytest.mark.parametrize("steps", [8, 64, 784, 4000])
def test_lipschitz_modes_do_not_grow_at_the_start_and_are_forgotten_in_the_steps_given(n: int, steps: int) -> None:
    given = cells.suggest("lipschitz", steps)
    for seed in range(3):
        A, W = (matrix.detach() for matrix in lipschitz(n, given, seed).layers[0].matrices())
        assert float(torch.linalg.eigvals(A).imag.max()) == pytest.approx(2.0 * math.sqrt(2.0 / n), rel=0.3)
        for linear_part, forgotten in ((A, 0.5), (A + W, 1.0)):
            modes = torch.linalg.eigvals(linear_part)
            assert float((modes.real * given["dt"] * steps + forgotten).abs().max()) < 1e-9
            after = float((1.0 + given["dt"] * modes).abs().max()) ** steps
            assert math.exp(-2.0) <= after <= 1.0


def test_lipschitz_modes_would_grow_with_a_symmetric_share() -> None:
    given = {**cells.suggest("lipschitz", 4000), "beta_a": 0.75}
    A, _ = lipschitz(12, given, 0).layers[0].matrices()
    assert float((1.0 + given["dt"] * torch.linalg.eigvals(A.detach())).abs().max()) ** 4000 > 10.0


@pytest.mark.parametrize("steps", [1, 8, 64, 784])
def test_odernn_moves_by_about_one_in_the_steps_given(steps: int) -> None:
    network, u = made("odernn", steps), normal(steps, 8, 3)
    constant = u[:1].expand(steps, 8, 3).contiguous()
    for inputs, least in ((u, 0.1), (constant, 0.2), (100.0 * constant, 0.8)):
        with torch.no_grad():
            output, _ = network(inputs)
        assert least < float(output[-1].square().mean().sqrt()) and float(output.abs().max()) <= 1.0 + 1e-12


@pytest.mark.parametrize("steps", STEPS)
def test_lem_and_linoss_stay_within_their_bounds(steps: int) -> None:
    assert 0.0 < cells.suggest("lem", steps)["dt"] <= 1.0
    dt = cells.suggest("linoss", steps)["dt"]
    assert dt**2 < 4.0
    if steps >= 64:
        assert (1.0 + 0.5 * dt**2) ** (-steps / 2) == pytest.approx(math.exp(-1.0), rel=0.05)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("n", [1, 2, 7, 400])
def test_rho_is_the_share_of_angles_beyond_a_right_one(share: float, n: int) -> None:
    rho = ScoRNN.suggest(100, hidden_size=n, share=share)["rho"]
    assert rho % 2 == 0 and 0 <= rho <= n and abs(rho - share * n) <= (1 if share < 1.0 else n % 2)
    network = ScoRNN(1, n, rho=rho, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    angles = np.abs(np.angle(np.linalg.eigvals(network.recurrent_matrices()[0].detach().numpy())))
    assert int((angles > math.pi / 2 + 1e-9).sum()) == rho


@pytest.mark.parametrize("name", cells.names())
def test_what_holds_is_said_and_names_methods_that_there_are(name: str) -> None:
    kind = cells.get(name)
    assert kind.holds and kind.holds.isprintable()
    for method in re.findall(r"(\w+)\(\)", kind.holds):
        assert callable(getattr(kind, method)), method


@pytest.mark.parametrize("name", [name for name in NAMES if "invertible" in cells.get(name).holds])
def test_a_cell_that_is_said_to_be_invertible_is(name: str) -> None:
    network, u = made(name, 20), normal(20, 4, 3)
    with torch.no_grad():
        _, state = network(u)
        first = network.inverse(state, u)
    for block in first:
        assert float(block.abs().max()) < 1e-9


@pytest.mark.parametrize("name", ["scornn", "exprnn", "urnn"])
def test_a_weight_that_is_said_to_be_orthogonal_is(name: str) -> None:
    with torch.no_grad():
        (W,) = made(name, 20).recurrent_matrices()
    assert float((W.mH @ W - torch.eye(HIDDEN)).abs().max()) < 1e-12


def test_states_that_are_said_to_be_bounded_are() -> None:
    for name in ("lem", "clockwork"):
        with torch.no_grad():
            output, _ = made(name, 20)(100.0 * normal(200, 4, 3))
        assert float(output.abs().max()) <= 1.0


@pytest.mark.parametrize("bias", [-0.3, 0.0, 0.3])
def test_gradients_of_urnn_grow_only_where_a_bias_is_positive(bias: float) -> None:
    network, u = made("urnn", 20), normal(1, 3)
    with torch.no_grad():
        network.layers[0].b.fill_(bias)

    def step(h: torch.Tensor) -> torch.Tensor:
        return network(u, h[None])[0][0]

    jacobians = [torch.autograd.functional.jacobian(step, normal(2 * HIDDEN, seed=seed)) for seed in range(20)]
    largest = max(float(torch.linalg.matrix_norm(each, 2)) for each in jacobians)
    assert largest > 1.05 if bias > 0.0 else largest <= 1.0 + 1e-12
