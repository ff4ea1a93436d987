"""What an ODERNN guarantees about itself, and that its steps keep it."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch

from odernn import tableaus
from odernn.cells.odernn import ODERNN, Coefficient, Gate, MatrixTableau, Stage
from tests.tiers import only

F64 = torch.float64


def gradient_matrix(size: int, seed: int = 3) -> torch.Tensor:
    """Symmetric positive definite, with eigenvalues of order 1."""
    X = torch.randn(size, size, generator=torch.Generator().manual_seed(seed), dtype=F64) / size**0.5
    S = X @ X.T + 0.1 * torch.eye(size, dtype=F64)
    return (S + S.T) / 2


def network(tableau, size: int, eta: float, K: torch.Tensor | None = None, **options) -> ODERNN:
    options = {"share_stages": True, "dtype": F64, "generator": torch.Generator().manual_seed(1), **options}
    net = ODERNN(2, size, tableau=tableau, eta=eta, **options)
    if K is not None:
        with torch.no_grad():
            net.layers[0].K_1.copy_(K)
    return net


def largest_ratio(net: ODERNN, G: torch.Tensor, pairs: int = 400) -> float:
    """The largest ‖Δy₊‖_G/‖Δy‖_G over pairs of states near and far, from rest and from saturation."""
    generator = torch.Generator().manual_seed(7)
    D = len(G)
    scale = 10.0 ** (4 * torch.rand(pairs, 1, generator=generator, dtype=F64) - 3)
    y = scale * torch.randn(pairs, D, generator=generator, dtype=F64)
    other = y + 10.0 ** (3 * torch.rand(pairs, 1, generator=generator, dtype=F64) - 3) * torch.randn(
        pairs, D, generator=generator, dtype=F64
    )
    u = torch.randn(pairs, 2, generator=generator, dtype=F64)
    layer = net.layers[0]
    with torch.no_grad():
        after, before = layer.stage_values(y, u).after - layer.stage_values(other, u).after, y - other
    norm = lambda x: torch.einsum("bi,ij,bj->b", x, G, x).sqrt()  # noqa: E731
    return float((norm(after) / norm(before)).max())


def as_tensor(G) -> torch.Tensor:
    return torch.tensor([[int(x.p) / int(x.q) for x in row] for row in G], dtype=F64)


@pytest.mark.parametrize(
    ("name", "eta"),
    [("euler", 0.2), ("heun 2", 0.2), ("rk4", 0.2), ("implicit midpoint", 0.8), ("radau iia 2", 0.8)],
)
@pytest.mark.parametrize("size", only([3, 16], 3))
def test_a_gradient_network_contracts_in_the_weight_that_it_names(name, eta, size):
    S = gradient_matrix(size)
    net = network(tableaus.get(name), size, eta, -S)
    found = net.guarantees()[0].contraction
    G = as_tensor(found.witness)
    assert found.holds is True and found.exact and "xᵀGx" in found.because
    assert float(torch.linalg.eigvalsh(G)[0]) > 0
    # solver residual and rounding, relative to differences of at least 1e-3 on states of at most some 30
    assert largest_ratio(net, G) <= 1.0 + 1e-9


@pytest.mark.parametrize(
    ("name", "eta", "words"),
    [
        ("implicit midpoint", 0.8, "; M itself is positive semi-definite: BN-stable, whatever η > 0 is"),
        ("radau iia 2", 0.8, "; M itself is positive semi-definite: BN-stable, whatever η > 0 is"),
        ("gauss 3", 0.8, '; BN-stable, whatever η > 0 is, with the exact coefficients of "gauss 3"'),
        ("euler", 0.2, "; for this η and smaller ones, M itself is not known to be positive semi-definite"),
        ("lobatto iiif 2", 0.2, "; for this η and smaller ones, M itself is not known to be positive semi-definite"),
    ],
)
def test_whether_it_is_bn_stable_is_said(name, eta, words):
    """BN-stable is for every η: the same weights with a step 1000 times larger still contract in the same G."""
    S = gradient_matrix(3)
    found = network(tableaus.get(name), 3, eta, -S).guarantees()[0].contraction
    assert found.holds is True and words in found.because
    large = network(tableaus.get(name), 3, 1000 * eta, -S).guarantees()[0].contraction
    assert (large.holds is True) is ("BN-stable" in words)


def test_a_weight_that_is_determined_fails_at_a_named_premise():
    """Where the equations leave one G, the premise that it violates is named, with an x."""
    found = network(tableaus.EULER, 3, 8.0, -gradient_matrix(3)).guarantees()[0].contraction
    assert "the equations determine G but for a factor" in found.because
    assert "“M + 2Λ/(ηL) positive semi-definite” is not satisfied: x = " in found.because
    assert "xᵀ(M + 2Λ/(ηL))x" in found.because


def test_a_name_is_no_tableau():
    with pytest.raises(TypeError, match=r'is the name "gauss 2".*tableaus.get\("gauss 2"\)'):
        ODERNN(2, 3, tableau="gauss 2")


def test_beyond_the_largest_step_nothing_is_implied_and_the_linear_part_expands():
    S = gradient_matrix(4)
    limit = 2.0 / float(torch.linalg.eigvalsh(S)[-1])
    inside, outside = (network(tableaus.EULER, 4, f * limit, -S, bias=False) for f in (0.999, 1.001))
    assert inside.guarantees()[0]["contraction"]
    found = outside.guarantees()[0].contraction
    assert found.holds is None and "no weight G satisfies the premises" in found.because and found.value > 1.0
    top = torch.linalg.eigh(S)[1][:, -1:]
    small = 1e-6 * top.T
    zero = torch.zeros(1, 2, dtype=F64)
    with torch.no_grad():
        after = outside.layers[0].stage_values(small, zero).after
    assert float(after.norm() / small.norm()) > 1.0, "I − ηS has an eigenvalue below −1: in no norm"


def test_a_network_as_it_is_initialised_has_no_weight_and_says_which_entry_forbids_it():
    net = network(tableaus.EULER, 8, 0.1)
    found = net.guarantees()[0]
    shown = found.contraction.witness
    K = net.layers[0].K_1.detach()
    assert found.contraction.holds is None and "no weight G satisfies" in found.contraction.because
    if shown.q == shown.r:
        assert float(K[shown.q, shown.q]) >= 0
    else:
        assert torch.sign(K[shown.q, shown.r]) != torch.sign(K[shown.r, shown.q])
    assert largest_ratio(net, torch.eye(8, dtype=F64)) <= found.contraction.value, "the factor is a bound"
    assert "contraction: not implied" in str(found)


def test_exact_coefficients_of_a_method_that_the_doubles_only_round():
    """Gauss 3 has M = 0, its doubles have not: with stages that are only just monotone that matters."""
    skew = MatrixTableau(2, {1: Stage((("identity", 2),), K=[[0.0, 1.0], [-1.0, 0.0]])}, {(1, 1): 0.5}, {1: 1.0})
    (found,) = network(skew, 2, 3.0, share_stages=False).guarantees()
    assert found.contraction.holds is True
    net = network(tableaus.get("gauss 3"), 2, 3.0, torch.tensor([[0.0, 1.0], [-1.0, 0.0]]), nonlinearity="identity")
    (found,) = net.guarantees()
    assert found.contraction.holds is True and 'exact coefficients of "gauss 3"' in found.contraction.because
    learned = network(
        tableaus.get("gauss 3"),
        2,
        3.0,
        torch.tensor([[0.0, 1.0], [-1.0, 0.0]]),
        nonlinearity="identity",
        learn_coefficients=True,
    )
    with torch.no_grad():
        learned.layers[0].coefficients.A[0, 0] += 2.0**-50
    assert learned.guarantees()[0].contraction.holds is not True


def test_weighted_coefficients_contract_in_a_weight_of_their_own():
    """A_ij = a_ij P, B = P, K = −P S: G B = −Kᵀ has the solution G = S. P = L Lᵀ, L of integers: all is exact."""
    P = torch.tensor([[1.0, 1.0], [1.0, 5.0]], dtype=F64)
    S = torch.tensor([[4.0, -2.0], [-2.0, 8.0]], dtype=F64)
    net = network(tableaus.IMPLICIT_MIDPOINT, 2, 0.5, -P @ S, coefficients="weighted", P=P)
    found = net.guarantees()[0].contraction
    G = as_tensor(found.witness)
    assert found.holds is True and torch.equal(G / G[0, 0] * S[0, 0], S) and largest_ratio(net, G) <= 1 + 1e-9
    assert largest_ratio(net, torch.eye(2, dtype=F64)) > 1.01, "in the Euclidean norm it expands"
    diagonal = torch.diag(torch.tensor([4.0, 9.0], dtype=F64))
    net = network(tableaus.IMPLICIT_MIDPOINT, 2, 0.5, -torch.eye(2, dtype=F64), coefficients="weighted", P=diagonal)
    found = net.guarantees()[0].contraction
    assert found.holds is True and largest_ratio(net, as_tensor(found.witness)) <= 1 + 1e-9


def test_matrix_coefficients_that_resonate_are_not_certified_and_the_cell_grows():
    """The false reading of Theorem 1, run: M = 0, B_i > 0, skew fields, and a factor of 4 a step."""
    J = [[0.0, 1.0], [-1.0, 0.0]]
    stage = Stage((("identity", 2),), K=J, sees_input=False)
    A = {(1, 1): [[0.5, 0], [0, 2.0]], (2, 1): [[1.0, 0], [0, 4.0]], (2, 2): [[2.0, 0], [0, 0.5]]}
    tableau = MatrixTableau(2, {1: stage, 2: stage}, A, {1: [[1.0, 0], [0, 4.0]], 2: [[4.0, 0], [0, 1.0]]})
    net = network(tableau, 2, 1.0, share_stages=False)
    with torch.no_grad():
        for name in ("b_1", "b_2"):
            getattr(net.layers[0], name).zero_()
        state = torch.tensor([[1.0, 0.0]], dtype=F64)
        for _ in range(5):
            state = net.layers[0].stage_values(state, torch.zeros(1, 2, dtype=F64)).after
    assert abs(float(state[0, 0])) == pytest.approx(4.0**5, rel=1e-9)  # Newton's tolerance, five steps
    assert net.burrage_butcher().eigenvalues.abs().max() <= net.burrage_butcher().rounding
    found = net.guarantees()[0].contraction
    assert found.holds is None and "no weight G satisfies" in found.because


def test_solvability_invertibility_and_order():
    net = network(tableaus.IMPLICIT_MIDPOINT, 3, 0.1, -gradient_matrix(3))
    found = net.guarantees()[0]
    assert found.solvability.holds is True and found.invertibility.holds is True and found.order.value == 1
    stiff = network(tableaus.IMPLICIT_MIDPOINT, 3, 50.0, -gradient_matrix(3)).guarantees()[0]
    assert stiff.solvability.holds is None and stiff.invertibility.holds is None
    assert stiff.contraction.holds is True and "have a solution" in stiff.contraction.because
    assert network(tableaus.EULER, 3, 50.0).guarantees()[0].solvability.holds is True, "explicit"
    large = network(tableaus.EULER, 3, 50.0, -gradient_matrix(3)).guarantees()[0].invertibility
    assert large.holds is None and large.margin < 0
    own = network(tableaus.HEUN_2, 3, 0.1, share_stages=False).guarantees()[0]
    assert own.order.holds is None, "stages with weights of their own are no method for one field"
    assert own.energy.holds is own.symplecticity.holds is own.reversibility.holds is None


def test_bounds_of_one_neuron_by_hand():
    """K = −1: η |A| L |K| = 1/2, the stage moves by 1/(1 − 1/2) at most, the increment by η |B| L |K| times that."""
    net = network(tableaus.IMPLICIT_MIDPOINT, 1, 1.0, torch.tensor([[-1.0]], dtype=F64))
    found = net.guarantees()[0]
    assert found.solvability.margin == pytest.approx(0.5, rel=1e-9)  # the allowance for rounding is 2⁻⁴⁰ a factor
    assert found.invertibility.margin == pytest.approx(-1.0, rel=1e-9) and found.invertibility.holds is None
    growing = network(tableaus.IMPLICIT_MIDPOINT, 1, 1.0, torch.tensor([[1.0]], dtype=F64)).guarantees()[0]
    assert growing.contraction.holds is None and growing.contraction.value == pytest.approx(3.0, rel=1e-9)


@pytest.mark.parametrize(("function", "largest"), [("tanh", 2.0), ("relu", 2.0), ("sigmoid", 8.0)])
def test_the_largest_step_is_two_over_the_largest_slope(function, largest):
    """Explicit Euler, K = −1: −1 + 2/(ηL) ≥ 0."""
    K = torch.tensor([[-1.0]], dtype=F64)
    inside, outside = (
        network(tableaus.EULER, 1, eta, K, nonlinearity=function).guarantees()[0] for eta in (largest, largest + 1e-12)
    )
    assert inside.contraction.holds is True and outside.contraction.holds is None


def test_an_invertible_step_has_one_preimage():
    """Its increment is a contraction: fixed-point iteration finds the state it came from."""
    net = network(tableaus.RK4, 3, 0.1, -gradient_matrix(3))
    assert net.guarantees()[0]["invertibility"]
    y, u = torch.randn(4, 3, generator=torch.Generator().manual_seed(1), dtype=F64), torch.zeros(4, 2, dtype=F64)
    layer = net.layers[0]
    with torch.no_grad():
        target = layer.stage_values(y, u).after
        x = target
        for _ in range(80):
            x = target - (layer.stage_values(x, u).after - x)
    assert torch.allclose(x, y, rtol=0, atol=1e-13)


def test_gates_and_squares_are_beyond_the_theorem_and_said_to_be():
    gated = MatrixTableau(
        2, {1: Stage((("tanh", 2),))}, {}, {1: Coefficient(1.0, Gate(1.0, y=[[0.0, 1.0], [1.0, 0.0]]))}
    )
    found = network(gated, 2, 0.1, share_stages=False).guarantees()[0]
    assert found.contraction.holds is None and "gated" in found.contraction.because and found.solvability.holds is True
    square = network(tableaus.EULER, 2, 0.1, nonlinearity="square").guarantees()[0]
    assert square.contraction.holds is None and "square" in square.contraction.because
    sigmoid = network(tableaus.EULER, 2, 4.0, -torch.eye(2, dtype=F64), nonlinearity="sigmoid").guarantees()[0]
    tanh = network(tableaus.EULER, 2, 4.0, -torch.eye(2, dtype=F64)).guarantees()[0]
    assert sigmoid["contraction"] and not tanh["contraction"], "slopes up to 1/4: η ≤ 8 against η ≤ 2"


def test_every_layer_and_direction_speaks_for_itself():
    net = network(tableaus.EULER, 2, 0.1, -torch.eye(2), num_layers=2, bidirectional=True)
    found = net.guarantees()
    assert len(found) == 4 and found[0]["contraction"] and not found[1]["contraction"]


def test_blocks_that_are_not_read_are_zero_columns():
    """Two blocks; stage 1 reads the second only and moves the first: nothing is dissipated, no weight."""
    stage = Stage((("tanh", 1),), reads=(1,))
    tableau = MatrixTableau(1, {1: stage}, {}, {1: [[1.0], [0.0]]}, ("q", "p"))
    found = network(tableau, 1, 0.1, share_stages=False).guarantees()[0].contraction
    assert found.holds is None and "≥ 0" in found.because


def test_copies_and_pickles_keep_the_guarantee():
    net = network(tableaus.RADAU_IIA_2, 2, 0.5, -torch.eye(2))
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other.guarantees()[0]["contraction"]
