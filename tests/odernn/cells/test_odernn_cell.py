"""ODERNN: its tables, their theorems, and the steps that have to be solved for.

Niu, Chuang, Horesh 2019, Definition 1 and Theorem 1, with the transposes that make (5) the tensor of an identity.
"""

from __future__ import annotations

import copy
import itertools
import math
import pickle

import pytest
import torch

import odernn
from odernn import cells, tableaus
from odernn.cells.odernn import ODERNN, Coefficient, Gate, MatrixTableau, Stage
from odernn.exact.algebraic import nearest_float
from odernn.integrators.newton import ConvergenceError, ConvergenceWarning, Newton
from odernn.properties import algebraic_stability as nonlinear_stability
from tests.tiers import only

F64 = torch.float64
EPS = torch.finfo(F64).eps


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def network(tableau, hidden_size: int = 3, **options) -> ODERNN:
    generator = torch.Generator().manual_seed(2)
    return ODERNN(2, hidden_size, tableau=tableau, generator=generator, dtype=F64, **options)


def tanh_stage(p: int, **options) -> Stage:
    return Stage((("tanh", p),), **options)


def random_explicit(seed: int = 0) -> MatrixTableau:
    """Three stages of 4, 6 and 5 neurons, D = 6, every coefficient below the diagonal full of numbers."""
    sizes = {1: 4, 2: 6, 3: 5}
    A = {(i, j): normal(6, sizes[j], seed=10 * i + j + seed) for i in sizes for j in sizes if j < i}
    B = {i: normal(6, size, seed=100 + i + seed) for i, size in sizes.items()}
    return MatrixTableau(3, {i: tanh_stage(p) for i, p in sizes.items()}, A, B, ("q", "p"))


def random_implicit(seed: int = 0) -> MatrixTableau:
    """Two stages that depend on each other and on themselves."""
    A = {(i, j): 0.3 * normal(6, 6, seed=10 * i + j + seed) for i in (1, 2) for j in (1, 2)}
    B = {i: normal(6, 6, seed=100 + i + seed) for i in (1, 2)}
    return MatrixTableau(3, {i: tanh_stage(6) for i in (1, 2)}, A, B, ("q", "p"))


def gated_circle(d: int = 1) -> MatrixTableau:
    """Stages that depend on each other, also through gates."""
    first = Coefficient(0.3, Gate(0.5, y=[[0, 1], [1, 0]]))
    second = Coefficient(0.2, Gate(1.0, stages={1: [[0, 1], [1, 0]], 2: [[1, 0], [0, 0.5]]}))
    out = Coefficient([[1, 0], [0.5, 1]], Gate(0.1, stages={1: [[1, 0], [0, 1]]}))
    return MatrixTableau(
        d,
        {1: tanh_stage(2 * d), 2: Stage((("sigmoid", d), ("tanh", d)), reads=(1,))},
        {(1, 1): first, (1, 2): second, (2, 1): [[0.1, 0], [0.2, 0.3]]},
        {1: 1.0, 2: out},
        ("p", "q"),
    )


def positive_definite(n: int, seed: int = 7) -> torch.Tensor:
    L = normal(n, n, seed=seed)
    G = L @ L.T + torch.eye(n, dtype=F64)
    return (G + G.T) / 2


# --- names


def test_the_cell_called_odernn_does_not_hide_the_package_of_that_name():
    assert cells.get("odernn") is ODERNN and odernn.__name__ == "odernn" and odernn.tableaus is tableaus
    assert cells.odernn.ODERNN is ODERNN and cells.odernn is not odernn


# --- n, t and explicitness


@pytest.mark.parametrize(
    ("tableau", "n", "is_explicit"),
    [
        (tableaus.EULER, 1, True),
        (tableaus.HEUN_2, 2, True),
        (tableaus.RK4, 4, True),
        (tableaus.IMPLICIT_MIDPOINT, 1, False),
        (tableaus.GAUSS_2, 2, False),
        (tableaus.CROUZEIX_2, 2, False),
    ],
)
def test_n_is_the_longest_chain_of_stages_and_t_the_number_of_blocks(tableau, n, is_explicit):
    cell = network(tableau, blocks=2)
    assert (cell.n, cell.t, cell.is_explicit) == (n, 2, is_explicit)
    assert network(tableau, nonlinearity="identity").n == 0
    assert f"n={n}, t=2" in repr(cell) and ("explicit" if is_explicit else "implicit") in repr(cell)


def test_parallel_stages_do_not_nest_and_linear_ones_pass_on():
    linear = Stage((("identity", 2),))
    stages = {1: tanh_stage(2), 2: tanh_stage(2), 3: linear, 4: tanh_stage(2)}
    B = dict.fromkeys(stages, 1.0)
    assert MatrixTableau(2, stages, {}, B).n == 1
    assert MatrixTableau(2, stages, {(3, 1): 1.0, (4, 3): 1.0}, B).n == 2
    by_gate = {(2, 3): Coefficient(1.0, Gate(stages={1: [[1]]}))}
    assert MatrixTableau(2, stages, by_gate, B).n == 2, "stage 2 sees stage 1 through the gate"


def test_stages_are_solved_in_the_smallest_groups():
    assert network(tableaus.CROUZEIX_2).structure.groups == ((1,), (2,))
    assert network(tableaus.GAUSS_2).structure.groups == ((1, 2),)
    stages = {i: tanh_stage(2) for i in (1, 2, 3, 4)}
    A = {(1, 2): 1.0, (2, 1): 1.0, (3, 1): 1.0, (2, 4): 1.0}
    tableau = MatrixTableau(2, stages, A, {3: 1.0})
    assert tableau.groups == ((4,), (1, 2), (3,)) and tableau.circles == {(1, 2)} and tableau.n == 4
    backwards = MatrixTableau(2, stages, {(1, 2): 1.0, (2, 3): 1.0}, {1: 1.0})
    assert backwards.is_explicit and backwards.n == 3, "the order of the labels does not matter"


# --- thm-deg: n nested stages of degree q make degree qⁿ


@pytest.mark.parametrize(("nonlinearity", "q"), [("square", 2), ("identity", 1)])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_step_with_n_nested_stages_of_degree_q_has_degree_q_to_the_n(nonlinearity, q, n):
    """On integers float64 computes exactly, so that differences decide the degree: the last one before zero is a
    constant."""
    stages = {i: Stage(((nonlinearity, 1),)) for i in range(1, n + 1)}
    chain = MatrixTableau(1, stages, {(i + 1, i): 1.0 for i in range(1, n)}, dict.fromkeys(stages, 1.0))
    cell = ODERNN(1, 1, tableau=chain, dtype=F64)
    weights = {"K": (2, -3, 3), "U": (1, 1, 2), "b": (1, 0, -2)}
    with torch.no_grad():
        for name, parameter in cell.layers[0].named_parameters():
            letter, i = name.split("_")
            parameter.fill_(weights[letter][int(i) - 1])

    def by_hand(y: int) -> int:
        k, total = 0, 0
        for i in range(n):
            k = (weights["K"][i] * (y + k) + weights["U"][i] * 3 + weights["b"][i]) ** q
            total += k
        return y + total

    degree = q**n
    points = range(-4, degree - 2)
    with torch.no_grad():
        u, states = torch.full((1, degree + 2, 1), 3.0, dtype=F64), torch.tensor(points, dtype=F64).reshape(1, -1, 1)
        found = [int(y) for y in cell(u, states)[1].flatten()]
    assert found == [by_hand(s) for s in points] and max(map(abs, found)) < 2**53 and len(found) == degree + 2

    def differences(order: int) -> list[int]:
        rows = found
        for _ in range(order):
            rows = [after - before for before, after in itertools.pairwise(rows)]
        return rows

    assert differences(degree + 1) == [0] and differences(degree)[0] != 0


# --- the Burrage-Butcher matrix


@pytest.mark.parametrize("name", ["IMPLICIT_MIDPOINT", "GAUSS_2", "RADAU_IIA_2", "LOBATTO_IIIC_2", "HEUN_2", "RK4"])
def test_the_matrix_of_a_scalar_tableau_is_the_exact_one_times_the_identity(name):
    tableau = getattr(tableaus, name)
    exact = [[nearest_float(entry) for entry in row] for row in nonlinear_stability.burrage_butcher(tableau)]
    wanted = torch.kron(torch.tensor(exact, dtype=F64), torch.eye(4, dtype=F64))
    found = network(tableau, 2, blocks=2).burrage_butcher()
    torch.testing.assert_close(found.matrix, wanted, rtol=0, atol=found.rounding)
    assert found.rounding < 1e-13


def test_pinned_eigenvalues_of_algebraically_stable_methods():
    for name in ("IMPLICIT_MIDPOINT", "GAUSS_2"):
        found = network(getattr(tableaus, name)).burrage_butcher()
        assert float(found.eigenvalues.abs().max()) <= found.rounding
    radau = network(tableaus.RADAU_IIA_2).burrage_butcher()
    assert int((radau.eigenvalues > radau.rounding).sum()) == 3, "rank 1 times D = 3"
    assert float(radau.eigenvalues.min()) >= -radau.rounding


def test_weights_and_their_inner_product_cancel():
    """Instance (i) of Theorem 1: A_ij = a_ij P, B_i = b_i P and G = P⁻¹ give the scalar matrix times P."""
    P = positive_definite(3)
    cell = network(tableaus.RADAU_IIA_2, coefficients="weighted", P=P)
    G = torch.linalg.inv(P)
    found = cell.burrage_butcher((G + G.T) / 2)
    scalar = network(tableaus.RADAU_IIA_2, 1).burrage_butcher().matrix
    torch.testing.assert_close(found.matrix, torch.kron(scalar, P), rtol=0, atol=1e-12)
    plain = cell.burrage_butcher()
    torch.testing.assert_close(plain.matrix, torch.kron(scalar, P @ P), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_an_explicit_method_has_a_positive_semidefinite_matrix_only_if_it_does_nothing(seed):
    tableau = random_explicit(seed)
    for G in (None, positive_definite(6, seed=50 + seed)):
        found = tableau.burrage_butcher(G)
        assert float(found.eigenvalues.min()) < -found.rounding
    idle = MatrixTableau(3, tableau.stages, tableau.A, {}, ("q", "p"))
    assert not idle.burrage_butcher().matrix.any()


def test_the_matrix_is_that_of_the_coefficients_as_they_are_now():
    cell = network(tableaus.IMPLICIT_MIDPOINT, learn_coefficients=True, num_layers=2)
    with torch.no_grad():
        cell.layers[1].coefficients.B.fill_(2.0)
    assert not cell.burrage_butcher(layer=1).matrix.any()
    torch.testing.assert_close(cell.burrage_butcher(layer=2).matrix, -2.0 * torch.eye(3, dtype=F64))  # 2ab − b²


# --- thm-E: the energy identity


def identity_gap(cell: ODERNN, G: torch.Tensor, M: torch.Tensor) -> tuple[float, float]:
    """The gap of (*) on the cell's own step between two states, and the size of its terms."""
    layer = cell.layers[0]
    eta, D = float(layer.eta), layer.structure.size
    u = normal(5, 2, seed=3)
    with torch.no_grad():
        one, two = layer.stage_values(normal(5, D, seed=4), u), layer.stage_values(normal(5, D, seed=5), u)
        d = normal(5, D, seed=4) - normal(5, D, seed=5)
    after = one.after - two.after
    w = {i: one.Y[i] - two.Y[i] for i in one.Y}
    g = {i: one.k[i] - two.k[i] for i in one.k}
    work = sum(torch.einsum("bi,ij,bj->b", w[i], G @ layer.tableau().matrix(i), g[i]) for i in g)
    stacked = torch.cat([g[i] for i in sorted(g)], dim=-1)
    terms = [
        torch.einsum("bi,ij,bj->b", after, G, after),
        -torch.einsum("bi,ij,bj->b", d, G, d),
        -2 * eta * work,
        eta**2 * torch.einsum("bi,ij,bj->b", stacked, M, stacked),
    ]
    return float(sum(terms).abs().max()), float(sum(term.abs() for term in terms).max())


ENERGY = {
    "explicit matrices": lambda: network(random_explicit(), eta=0.7),
    "implicit matrices": lambda: network(random_implicit(), eta=0.5),
    "gauss 2": lambda: network(tableaus.GAUSS_2, blocks=2, eta=0.8),
    "rk4": lambda: network(tableaus.RK4, blocks=2, eta=1.5),
    "weighted": lambda: network(tableaus.HEUN_2, coefficients="weighted", P=positive_definite(6), blocks=2, eta=0.1),
}


@pytest.mark.parametrize("label", ENERGY)
@pytest.mark.parametrize("is_plain", [True, False])
def test_two_steps_keep_the_energy_identity_to_rounding(label, is_plain):
    cell = ENERGY[label]()
    G = torch.eye(6, dtype=F64) if is_plain else positive_definite(6)
    gap, size = identity_gap(cell, G, cell.burrage_butcher(G).matrix)
    assert gap <= 64 * EPS * size, "a few products of 6 × 6 to 18 × 18 matrices"


def test_without_transposes_the_identity_is_false():
    """The printed tensor, B_i A_ij + B_j A_ji − B_i B_j: the same for scalar methods, wrong for matrices."""

    def printed(cell):
        tableau = cell.layers[0].tableau()
        labels = list(tableau.stages)
        rows = [
            [
                tableau.matrix(i) @ tableau.matrix(i, j)
                + tableau.matrix(j) @ tableau.matrix(j, i)
                - tableau.matrix(i) @ tableau.matrix(j)
                for j in labels
            ]
            for i in labels
        ]
        return torch.cat([torch.cat(row, dim=1) for row in rows])

    identity = torch.eye(6, dtype=F64)
    scalar, matrices = ENERGY["gauss 2"](), ENERGY["implicit matrices"]()
    gap, size = identity_gap(scalar, identity, printed(scalar))
    assert gap <= 64 * EPS * size
    gap, size = identity_gap(matrices, identity, printed(matrices))
    assert gap > 0.01 * size


# --- thm-1*: contraction


def expansion(cell: ODERNN, G: torch.Tensor, pairs: int = 200) -> float:
    """The largest ‖y₊ − y'₊‖_G / ‖y − y'‖_G over random pairs of states, near and far, with the same input."""
    D = len(G)
    states, moves = 3 * normal(pairs, D, seed=8), normal(pairs, D, seed=9)
    moves *= torch.logspace(-4, 1, pairs, dtype=F64).unsqueeze(1)
    u = normal(1, pairs, 2, seed=10)
    with torch.no_grad():
        one, two = cell(u, states.unsqueeze(0))[1][0], cell(u, (states + moves).unsqueeze(0))[1][0]

    def norm(v):
        return torch.einsum("bi,ij,bj->b", v, G, v).sqrt()

    return float((norm(one - two) / norm(moves)).max())


def monotone(tableau, G, eta: float) -> ODERNN:
    """All stages with K = −G: (u − v)ᵀ G (σ(Ku) − σ(Kv)) ≤ 0."""
    cell = network(tableau, len(G), share_stages=True, eta=eta, newton=Newton(max_iterations=60, max_halvings=40))
    with torch.no_grad():
        cell.layers[0].K_1.copy_(-G)
    return cell


@pytest.mark.parametrize("name", ["IMPLICIT_MIDPOINT", "GAUSS_2", "RADAU_IIA_2"])
@pytest.mark.parametrize("eta", [0.1, 1.0, 5.0])
def test_algebraically_stable_methods_contract_monotone_stages_for_every_step(name, eta):
    G = positive_definite(3)
    assert expansion(monotone(getattr(tableaus, name), G, eta), G) <= 1 + 1e-8


@pytest.mark.parametrize("name", ["EULER", "RK4"])
def test_explicit_methods_expand_monotone_stages_for_long_steps(name):
    G = positive_definite(3)
    assert expansion(monotone(getattr(tableaus, name), G, 5.0), G) > 1.1


# --- implicit steps


def test_the_gradient_of_an_implicit_step_is_that_of_its_fixed_point_iteration():
    cell = network(tableaus.GAUSS_2, 2, eta=0.2)
    layer = cell.layers[0]
    u, y = normal(1, 3, 2), normal(1, 3, 2, seed=2).requires_grad_()
    A, B = layer.coefficients.A, layer.coefficients.B
    x = [torch.nn.functional.linear(u[0], layer.weight("U", i), layer.weight("b", i)) for i in (1, 2)]
    k = [torch.zeros(3, 2, dtype=F64) for _ in x]
    for _ in range(60):
        Y = [y[0] + 0.2 * (A[i, 0] * k[0] + A[i, 1] * k[1]) for i in (0, 1)]
        k = [torch.tanh(Y[i] @ layer.weight("K", i + 1).T + x[i]) for i in (0, 1)]
    wanted = y[0] + 0.2 * (B[0] * k[0] + B[1] * k[1])
    found = cell(u, y)[0][0]
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-14)
    arguments = [y, *cell.parameters()]
    pairs = zip(
        torch.autograd.grad((found**3).sum(), arguments), torch.autograd.grad((wanted**3).sum(), arguments), strict=True
    )
    for one, other in pairs:
        torch.testing.assert_close(one, other, rtol=0, atol=1e-13)


IMPLICIT = {
    "gated circle": lambda: network(gated_circle(), 1, eta=0.3, learn_coefficients=True),
    "crouzeix 2": lambda: network(tableaus.CROUZEIX_2, 1, eta=0.3, learn_coefficients=True, share_stages=True),
    "matrices": lambda: network(random_implicit(), eta=0.3),
}


@pytest.mark.parametrize("label", only(IMPLICIT, "crouzeix 2"))
def test_derivatives_through_implicit_steps_are_those_of_differences_to_second_order(label):
    cell = IMPLICIT[label]()
    names = [name for name, _ in cell.named_parameters()]
    blocks = tuple(normal(1, 1, cell.hidden_size, seed=20 + i) for i in range(cell.t))

    def run(u, *rest):
        state = rest[0] if cell.t == 1 else rest[: cell.t]
        weights = dict(zip(names, rest[cell.t :], strict=True))
        return torch.func.functional_call(cell, weights, (u, state))[0]

    arguments = [normal(2, 1, 2), *blocks, *cell.parameters()]
    arguments = [argument.detach().clone().requires_grad_() for argument in arguments]
    is_large = cell.hidden_size > 1  # then in random directions
    assert torch.autograd.gradcheck(run, arguments, fast_mode=is_large)
    assert torch.autograd.gradgradcheck(run, arguments, fast_mode=is_large)


@pytest.mark.parametrize("eta", [0.3, 1.0])
@pytest.mark.parametrize("label", IMPLICIT)
def test_solved_stages_satisfy_their_equations_evaluated_one_by_one(label, eta):
    """Gates are multiplied with slopes here, and are differences of squares where they are solved for."""
    cell = IMPLICIT[label]()
    with torch.no_grad():
        cell.layers[0].eta.fill_(eta)
        y, drive = normal(5, cell.structure.size, seed=4), cell.layers[0].drives(normal(5, 2, seed=3))
        step = cell.layers[0].step()
        found = step(y, drive)
        for i, k in found.k.items():
            torch.testing.assert_close(step.slope(i, step.argument(i, y, found.k), drive), k, rtol=0, atol=1e-14)
        after = y + sum(step.term(f"B_{i}", i, y, found.k) for i in cell.structure.B)
        torch.testing.assert_close(found.after, after, rtol=0, atol=1e-14)
        assert any(k.abs().max() > 0.1 for k in found.k.values())


@pytest.mark.parametrize("label", IMPLICIT)
def test_the_operator_is_what_newtons_method_gives_sample_by_sample(label):
    found = []
    for as_operator in (True, False):
        cell = IMPLICIT[label]()
        cell.layers[0].as_operator = as_operator
        u = normal(3, 4, 2).requires_grad_()
        rows = cell(u)[0]
        found.append([rows, *torch.autograd.grad((rows**3).sum(), [u, *cell.parameters()])])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-13)


def unsolvable(**options) -> ODERNN:
    """k = (y + k)² + 1 has no real solution near y = 1."""
    stage = Stage((("square", 1),))
    cell = network(MatrixTableau(1, {1: stage}, {(1, 1): 1.0}, {1: 1.0}), 1, **options)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.fill_(1.0)
    return cell


def test_equations_without_a_solution_are_named_with_their_residual():
    u, y = torch.zeros(1, 2, 2, dtype=F64), torch.tensor([[[-5.0], [1.0]]], dtype=F64)
    message = r"ODERNN \(stages 1;.* of 1 of 2 samples are not solved .* worst is sample 1, where the residual .* [0-9]"
    with pytest.raises(ConvergenceError, match=message):
        unsolvable()(u, y)
    with pytest.warns(ConvergenceWarning, match=message):
        output, _ = unsolvable(newton=Newton(on_failure="warn"))(u, y)
    assert torch.isfinite(output).all()
    solved = unsolvable()(u[:, :1], y[:, :1])[1]
    k = float(solved.detach()) + 5
    assert abs(k - (k - 5 + 1) ** 2) < 1e-13, "the sample that has a solution is right"


def test_newton_needs_at_most_six_iterations_and_works_in_float32():
    cell = network(tableaus.GAUSS_2, eta=0.5)
    u = normal(4, 3, 2)
    with torch.no_grad():
        wanted = cell(u)[0]
        tight = network(tableaus.GAUSS_2, eta=0.5, newton=Newton(max_iterations=6))(u)[0]
        single = cell.float()(u.float())[0]
    torch.testing.assert_close(tight, wanted, rtol=0, atol=8 * EPS)  # the same to roundings of slopes of size 1
    torch.testing.assert_close(single.double(), wanted, rtol=0, atol=1e-5)


# --- coefficients


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("g", [1e-6, 1e-3, 1.0, 1e2, 1e4, 1e6])
def test_a_gate_costs_no_digits_whatever_its_size(g, dtype):
    """A gate g beside M = 1/g is none, in steps and in their gradients: two roundings a step are ten."""

    def rows_and_gradients(coefficients, dtype):
        A, B = coefficients
        tableau = MatrixTableau(1, {1: Stage((("tanh", 1),))}, {(1, 1): A}, {1: B})
        network = ODERNN(1, 1, tableau=tableau, eta=0.3, dtype=dtype)
        weights = list(network.parameters())
        with torch.no_grad():
            for place, weight in enumerate(weights):
                weight.fill_(0.7 - 0.2 * place)
        rows = network(drives.to(dtype))[0]
        return [rows, *torch.autograd.grad(rows.square().mean(), weights)]

    drives = torch.randn(5, 64, 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    expected = rows_and_gradients((Coefficient(0.5), Coefficient(1)), torch.float64)
    gate = Gate(g, y=[[0.0]])
    found = rows_and_gradients((Coefficient(0.5 / g, gate), Coefficient(1 / g, gate)), dtype)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.to(torch.float64), other, rtol=0, atol=10 * torch.finfo(dtype).eps)


@pytest.mark.parametrize(("eta", "y"), [(0.1, 10.0), (0.01, 100.0)])
@pytest.mark.parametrize("K", [-1e4, -1e5, -1e6])
def test_a_saturated_stage_is_solved_for_whatever_its_weight(eta, y, K):
    """tanh is −1 there, so y₊ = y − η, to a few roundings of y."""
    network = ODERNN(1, 1, tableau=tableaus.IMPLICIT_MIDPOINT, eta=eta)
    with torch.no_grad():
        for weight in network.parameters():
            weight.zero_()
        network.layers[0].K_1.fill_(K)
        after = float(network(torch.zeros(1, 1, 1), torch.full((1, 1, 1), y))[0])
    assert abs(after - (y - eta)) < 2e-7 * y


def test_coefficients_are_exact_buffers_or_parameters():
    fixed, learned = network(tableaus.RK4), network(tableaus.RK4, learn_coefficients=True)
    assert fixed.layers[0].coefficients.B.tolist() == [1 / 6, 1 / 3, 1 / 3, 1 / 6]
    assert "layers.0.coefficients.A" in dict(fixed.named_buffers()) and "layers.0.eta" in fixed.state_dict()
    fixed.float()
    assert fixed.layers[0].coefficients.B.dtype == F64 and fixed.layers[0].coefficients.B[0] == 1 / 6
    learned(normal(3, 2, 2))[0].sum().backward()
    gradient = dict(learned.named_parameters())["layers.0.coefficients.A"].grad
    pattern = torch.tensor([[nearest_float(a) != 0 for a in row] for row in tableaus.RK4.A])
    assert torch.equal(gradient != 0, pattern), "zeros of the tableau stay zero"


def test_a_state_dict_with_another_method_is_refused():
    explicit, implicit = network(tableaus.HEUN_2), network(tableaus.GAUSS_2)
    with pytest.raises(RuntimeError, match="has a zero there"):
        explicit.load_state_dict(implicit.state_dict())
    other = network(tableaus.RALSTON_2)
    other.layers[0].coefficients.A.zero_()
    other.load_state_dict(network(tableaus.RALSTON_2).state_dict())
    assert other.layers[0].coefficients.A[1, 0] == 2 / 3
    weighted = network(tableaus.HEUN_2, coefficients="weighted")
    wrong = weighted.state_dict() | {"layers.0.coefficients.L": -torch.eye(3, dtype=F64)}
    with pytest.raises(RuntimeError, match="L is not lower triangular with positive diagonal"):
        weighted.load_state_dict(wrong)


def test_the_three_forms_of_coefficients_agree_where_they_mean_the_same():
    u = normal(5, 2, 2)
    scalar = network(tableaus.RK4, blocks=2, eta=0.3)
    for options in ({"coefficients": "weighted"}, {"coefficients": "matrix"}, {"learn_coefficients": True}):
        other = network(tableaus.RK4, blocks=2, eta=0.3, **options)
        torch.testing.assert_close(other(u)[0], scalar(u)[0], rtol=0, atol=1e-14)
    D = 6
    a = {key: float(c.matrix) for key, c in scalar.structure.A.items()}
    tables = {key: value * torch.eye(2, dtype=F64) for key, value in a.items()}
    full = {key: value * torch.eye(D, dtype=F64) for key, value in a.items()}
    for A in (tables, full):
        tableau = MatrixTableau(3, scalar.structure.stages, A, scalar.structure.B, ("y1", "y2"))
        torch.testing.assert_close(network(tableau, eta=0.3)(u)[0], scalar(u)[0], rtol=0, atol=1e-14)


def test_shared_stages_have_one_set_of_weights():
    own, shared = network(tableaus.RK4), network(tableaus.RK4, share_stages=True)
    assert len(list(own.parameters())) == 12 and len(list(shared.parameters())) == 3


def test_a_linear_stage_cancels_the_state_exactly():
    """k_0 = y, B_0 = −I: what is left does not know how large y was."""
    stages = {0: Stage((("identity", 2),), K=1.0, sees_input=False, bias=False), 1: tanh_stage(2, K=0.0)}
    cell = network(MatrixTableau(2, stages, {}, {0: -1.0, 1: 1.0}), 2)
    u = normal(1, 2, 2)
    small, large = cell(u)[0], cell(u, 1e17 * normal(1, 2, 2))[0]
    assert torch.equal(small, large)


def test_verlet_is_a_table_of_blocks():
    """Definition (1) of the paper: z₊ = z − η σ(Kᵀy + b), y₊ = y + η σ(K z₊ + b'), with stages that read one block."""
    stages = {1: tanh_stage(3, reads=(0,)), 2: tanh_stage(3, reads=(1,))}
    tableau = MatrixTableau(3, stages, {(2, 1): [[0], [-1]]}, {1: [[0], [-1]], 2: [[1], [0]]}, ("y", "z"))
    cell = network(tableau, eta=0.3)
    layer = cell.layers[0]
    y, z, u = normal(2, 3, seed=1), normal(2, 3, seed=2), normal(1, 2, 2, seed=3)
    x = [torch.nn.functional.linear(u[0], layer.weight("U", i), layer.weight("b", i)) for i in (1, 2)]
    z_new = z - 0.3 * torch.tanh(y @ layer.K_1.T + x[0])
    y_new = y + 0.3 * torch.tanh(z_new @ layer.K_2.T + x[1])
    output, (found_y, found_z) = cell(u, (y.unsqueeze(0), z.unsqueeze(0)))
    torch.testing.assert_close((found_y[0], found_z[0]), (y_new, z_new), rtol=0, atol=1e-15)
    assert torch.equal(output[0], found_y[0]) and (cell.n, cell.t) == (2, 2)


def test_the_readout_starts_as_the_first_block():
    plain, read = network(tableaus.HEUN_2, blocks=2), network(tableaus.HEUN_2, blocks=2, readout=True, num_layers=2)
    u = normal(4, 2, 2)
    lower = read.layers[0]
    lower.load_state_dict(plain.layers[0].state_dict(), strict=False)
    rows = plain.layers[0].run(u, (torch.zeros(2, 3, dtype=F64),) * 2, None).rows
    torch.testing.assert_close(lower.output(rows), rows[0], rtol=0, atol=1e-15)
    with torch.no_grad():
        lower.C.copy_(normal(3, 6))
        lower.c.fill_(0.5)
    torch.testing.assert_close(lower.output(rows), torch.cat(rows, -1) @ lower.C.T + 0.5, rtol=0, atol=1e-14)
    assert read(u)[0].shape == (4, 2, 3)


@pytest.mark.parametrize("make", [lambda: network(gated_circle(2), 2), lambda: network(tableaus.HEUN_2)])
def test_a_network_is_pickled_and_copied_whole(make):
    cell = make()
    u = normal(3, 2, 2)
    for other in (pickle.loads(pickle.dumps(cell)), copy.deepcopy(cell)):
        assert torch.equal(other(u)[0], cell(u)[0])


def test_eta_may_differ_from_layer_to_layer():
    cell = network(tableaus.EULER, num_layers=2, bidirectional=True, eta=[0.1, 0.2])
    assert [float(layer.eta) for layer in cell.layers] == [0.1, 0.1, 0.2, 0.2]


# --- refusals


def table(**changes):
    given = {
        "hidden_size": 2,
        "stages": {1: tanh_stage(2), 2: tanh_stage(3)},
        "A": {(2, 1): 1.0},
        "B": {1: 1.0},
    }
    return MatrixTableau(**(given | changes))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: table(B={2: 1.0}), r"B_2 has shape \(\), but it maps 3 components to 2. Give \(2, 3\)"),
        (lambda: table(A={(2, 1): torch.zeros(3, 2)}), r"A_2,1 has shape \(3, 2\).* Give \(2, 2\), \(1, 1\), a number"),
        (lambda: table(A={(3, 1): 1.0}), r"A names the stage 3, but the stages are \[1, 2\]"),
        (lambda: table(B={1: math.inf}), "B_1 has entries that are not finite"),
        (lambda: table(hidden_size=0), "hidden_size is 0"),
        (lambda: table(stages={}), "labels of the stages"),
        (lambda: table(stages={-1: tanh_stage(2)}), "labels of the stages"),
        (lambda: table(block_names=("y", "y")), "Give t different names"),
        (lambda: table(stages={1: tanh_stage(2, reads=(1,)), 2: tanh_stage(3)}), "reads the blocks"),
        (lambda: table(stages={1: tanh_stage(2), 2: tanh_stage(3, same_as=1)}), "use the weights of stage 1"),
        (lambda: table(stages={1: tanh_stage(2, K=[[1, 2, 3]]), 2: tanh_stage(3)}), "stage 1: K has shape"),
        (lambda: table(B={1: Coefficient(1.0, Gate())}), "B_1 has an empty gate"),
        (lambda: table(B={1: Coefficient(1.0, Gate([1, 2, 3]))}), "constant of the gate has shape"),
        (lambda: table(B={1: Coefficient(1.0, Gate(stages={5: 1.0}))}), "gate names the stage 5"),
        (lambda: table(B={1: Coefficient(1.0, Gate(y=[[1, 2, 3]]))}), "gate's matrix on y has shape"),
        (lambda: Stage((("softplus", 2),)), "'softplus' is no function of stages. Choose from: tanh"),
        (lambda: Stage((("tanh", 0),)), "has 0 components"),
        (lambda: Stage(()), "segments is empty"),
        (lambda: network(table(), 3), "blocks of width 2"),
        (lambda: network(table(), 2, bias=False), "bias is given with a MatrixTableau"),
        (lambda: network(table(), 2, blocks=2), "blocks is given with a MatrixTableau"),
        (lambda: network(tableaus.SYMPLECTIC_EULER), "not one table of scalar coefficients"),
        (lambda: network(tableaus.HEUN_2, coefficients="dense"), "coefficients is 'dense'"),
        (lambda: network(tableaus.HEUN_2, P=torch.eye(3)), 'only coefficients="weighted" has one'),
        (lambda: network(tableaus.HEUN_2, coefficients="weighted", P=-torch.eye(3)), "P is not symmetric positive"),
        (lambda: network(tableaus.HEUN_2, coefficients="weighted", P=torch.eye(2)), r"P has shape \(2, 2\)"),
        (lambda: network(tableaus.HEUN_2, eta=0.0), "eta is 0.0"),
        (lambda: network(tableaus.HEUN_2, eta=[0.1, 0.2]), "eta has 2 entries"),
        (lambda: network(tableaus.HEUN_2).burrage_butcher(torch.ones(3, 3)), "G is not symmetric positive definite"),
        (lambda: network(gated_circle(2), 2).burrage_butcher(), "is gated: it depends on the state"),
    ],
)
def test_refusals_name_the_thing(make, message):
    with pytest.raises(ValueError, match=message):
        make()
