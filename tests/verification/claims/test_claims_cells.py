"""Claims 1 to 4, QUNN, the clock Hamiltonian and the links between papers on trial; planted falsehoods beside them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from odernn.cells.odernn import Coefficient, realisations
from tests.tiers import slow, where
from tests.verification.claims import claim_rows as rows
from verification.cases import clock_paths, gated_cells, qunn_layers
from verification.certify import clock as certificates
from verification.certify import clock_paths as certified_paths
from verification.certify.second import clock as clock_again
from verification.certify.second import clock_paths as paths_again
from verification.claims.library import cross_links
from verification.claims.odernn import cell_realisations, clock_hamiltonian, qunn
from verification.measure import cell_formulas, gated_nesting, qunn_clock, tableau_algebra
from verification.measure import clock_hamiltonian as clock
from verification.measure.linear_attention import linear_outputs

REFUTED, PROVED = rows.REFUTED, rows.PROVED

FAMILIES = (cell_realisations, qunn, clock_hamiltonian, cross_links)
ROWS = rows.rows_of(FAMILIES)
EXPECTED = {
    "ode-C1": [PROVED, PROVED, REFUTED, REFUTED, PROVED, REFUTED],
    "ode-C1-lab": [REFUTED, REFUTED, PROVED],
    "ode-C2": [PROVED, PROVED, PROVED, REFUTED, REFUTED],
    "ode-C3": [PROVED, PROVED],
    "ode-C4": [PROVED, PROVED, REFUTED, REFUTED, REFUTED],
    "ode-C*": [PROVED, REFUTED],
    "thm-cells": [PROVED] * 7,
    "ode-D5q": [PROVED, PROVED],
    "ode-Q1": [PROVED],
    "ode-Q2": [REFUTED, REFUTED, PROVED, REFUTED],
    "ode-Q4": [PROVED, REFUTED, PROVED, REFUTED, REFUTED, REFUTED],
    "thm-QUNN": [PROVED] * 4,
    "ode-T5": [PROVED, PROVED, PROVED, REFUTED, *[PROVED] * 8],
    "ode-T5-terms": [REFUTED, PROVED, PROVED],
    "ode-T5-fix": [REFUTED, PROVED, REFUTED, PROVED, REFUTED, PROVED],
    "ode-T5-herm": [REFUTED, PROVED, PROVED, REFUTED, REFUTED, PROVED],
    "ode-3.1-terms": [PROVED],
    "thm-clock": [PROVED] * 7,
    "x-1": [PROVED, PROVED, REFUTED],
    "x-2": [PROVED, REFUTED, REFUTED],
    "thm-x": [PROVED, PROVED],
}
"""In the order of the cases."""


def test_every_row_is_expected():
    rows.assert_every_row_is_expected(FAMILIES, EXPECTED)


LONG = (
    "thm-QUNN-d ≤ 2, T ≤ 3, |α_i| + |β_i| |x_{l−i+1}| |x_{l−i}| ≤ 1, σ 1-Lipschitz-every layer is non-expansive",
    "ode-T5-every circuit with n = 2, T ≤ 2-a gap",
    "ode-T5-every circuit with n = 2, T ≤ 2-unique ground state",
)
"""All circuits, beside H = H_in + H_prop, of which the same is asked; all layers, beside three others of thm-QUNN."""


@pytest.mark.parametrize(
    ("claim", "case"), where(ROWS, lambda row: rows.name_of(row) in LONG), ids=map(rows.name_of, ROWS)
)
def test_verdict(claim, case):
    rows.assert_verdict(claim, case, EXPECTED)


@pytest.mark.parametrize("first", [0, slow(7)])
def test_names_do_not_matter(first):
    for claim, case in ROWS[first::14]:
        rows.assert_names_do_not_matter(claim, case, "x-1" if claim.id != "x-1" else "x-2")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_claim_file_names_no_verdict(family):
    rows.assert_names_no_verdict(family)


# --- cells


def with_another(tableau, key, factor):
    """The tableau with one coefficient B multiplied."""
    old = tableau.B[key]
    return replace(tableau, B={**tableau.B, key: Coefficient(old.matrix * factor, old.gate)})


@pytest.mark.parametrize(
    ("kind", "form", "key", "factor"),
    [("lstm", "gated", 1, -1.0), ("lstm", "constant", 3, 2.0), ("gru", "gated", 2, 0.5), ("gru", "constant", 6, -1.0)],
)
def test_a_wrong_coefficient_is_found(monkeypatch, kind, form, key, factor):
    """By the tableau alone: the back-ends contradict each other. With the formulas broken as well: a refutation."""
    right = getattr(realisations, kind)
    monkeypatch.setattr(realisations, kind, lambda d, form: with_another(right(d, form=form), key, factor))
    case = gated_cells.cell_case(kind, form)
    assert rows.verdict_of(case).verdict == rows.ERROR
    formula = getattr(cell_formulas, f"_{kind}")

    def broken(*arguments):
        cell, table = formula(*arguments)
        return cell, [x + 1 for x in table]

    monkeypatch.setattr(cell_formulas, f"_{kind}", broken)
    assert rows.verdict_of(case).verdict == REFUTED


def test_a_wrong_depth_is_found(monkeypatch):
    monkeypatch.setitem(gated_cells.NESTED, ("lstm", "gated"), 1)
    assert rows.verdict_of(gated_cells.cell_case("lstm", "gated")).verdict == rows.ERROR


def test_products_by_squares_need_the_quarter(monkeypatch):
    monkeypatch.setattr(cell_formulas, "_product", lambda a, b: ((a + b) ** 2 - (a - b) ** 2) / 2)
    judgement = rows.verdict_of(gated_cells.cell_case("lstm", "constant"))
    assert judgement.verdict == rows.ERROR and "fractions finds" in judgement.because


def to_float(value):
    return float(value.p) / float(value.q)


def exact(tensor):
    """A matrix, or a vector as a matrix of one row, of rationals."""
    from flint import fmpq

    return [[fmpq(*x.as_integer_ratio()) for x in row] for row in torch.atleast_2d(tensor.detach()).tolist()]


def rounded(function):
    """A function of torch on rationals, in float64."""
    return lambda x: exact(function(torch.tensor([to_float(x)], dtype=torch.float64)))[0][0]


def test_the_ring_and_torch_agree_on_a_step():
    """The same step in exact arithmetic and by torch, functions linear in both: K, U, b and gates are read alike."""
    generator = torch.Generator().manual_seed(3)
    cell = realisations.as_odernn(torch.nn.LSTM(2, 2, dtype=torch.float64), "constant")
    layer = cell.layers[0]
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randint(-3, 4, parameter.shape, generator=generator).double() / 2)
    y, u = torch.randn(1, 4, generator=generator).double(), torch.randn(1, 2, generator=generator).double()
    functions = {
        "tanh": rounded(torch.tanh),
        "sigmoid": rounded(torch.sigmoid),
        "identity": lambda x: x,
        "square": lambda x: x * x,
    }
    weights = (exact(layer.K_1), exact(layer.U_1), exact(layer.b_1)[0])
    found = tableau_algebra.step(layer.structure, lambda _: weights, exact(y)[0], exact(u)[0], functions)
    with torch.no_grad():
        _, (h, c) = cell(u[None], (y[None, :, :2], y[None, :, 2:]))
    wanted = torch.cat([h[0, 0], c[0, 0]])
    steps = torch.tensor([to_float(x) for x in found], dtype=torch.float64)
    torch.testing.assert_close(steps, wanted, rtol=1e-13, atol=1e-13)


def test_depth_of_one_layer_is_n_of_the_table():
    for tableau in (realisations.lstm(2), realisations.lstm(2, form="constant"), realisations.gru(2)):
        assert [tableau_algebra.depth(tableau, layers) for layers in (1, 2, 3)] == [tableau.n * k for k in (1, 2, 3)]


# --- n = L with gates


def test_a_table_that_carries_all_by_gates_is_the_lstm_of_torch():
    """The relayed table as a network in float64, with 1 for the bias of its constant stage, against torch.nn.LSTM."""
    from odernn import ODERNN

    torch.manual_seed(5)
    lstm = torch.nn.LSTM(3, 2, dtype=torch.float64)
    cell = ODERNN(3, 2, tableau=gated_nesting.relayed_lstm(2), dtype=torch.float64)
    with torch.no_grad():
        cell.layers[0].K_1.copy_(lstm.weight_hh_l0)
        cell.layers[0].U_1.copy_(lstm.weight_ih_l0)
        cell.layers[0].b_1.copy_(lstm.bias_ih_l0 + lstm.bias_hh_l0)
        cell.layers[0].b_3.fill_(1.0)
        x = torch.randn(6, 4, 3, dtype=torch.float64)
        torch.testing.assert_close(cell(x)[0], lstm(x)[0], rtol=0.0, atol=1e-14)  # 6 steps of |c| ≤ 6, u = 1.1e-16


def test_a_gru_that_carries_its_reset_by_a_gate_is_the_gru_of_torch():
    from odernn import ODERNN

    torch.manual_seed(6)
    gru = torch.nn.GRU(3, 2, dtype=torch.float64)
    cell = ODERNN(3, 2, tableau=gated_nesting.relayed_gru(2), dtype=torch.float64)
    layer = cell.layers[0]
    with torch.no_grad():
        layer.K_1.copy_(gru.weight_hh_l0[:4])
        layer.U_1.copy_(gru.weight_ih_l0[:4])
        layer.b_1.copy_(gru.bias_ih_l0[:4] + gru.bias_hh_l0[:4])
        layer.K_3.copy_(gru.weight_hh_l0[4:])
        layer.b_3.copy_(gru.bias_hh_l0[4:])
        layer.U_2.copy_(gru.weight_ih_l0[4:])
        layer.b_2.copy_(gru.bias_ih_l0[4:])
        x = torch.randn(6, 4, 3, dtype=torch.float64)
        torch.testing.assert_close(cell(x)[0], gru(x)[0], rtol=0.0, atol=1e-14)  # 6 steps of |h| ≤ 1, u = 1.1e-16
    table = gated_nesting.relayed_gru(1)
    assert [gated_nesting.chain_along_A(table, L) for L in (1, 2, 3)] == [1, 2, 3]
    assert [gated_nesting.chain_again(L, gated_nesting.GRU_EDGES, (0, 2), (1, 2)) for L in (1, 2, 3)] == [1, 2, 3]
    assert gated_nesting.chain_along_A(realisations.gru(1), 1) == 2 == table.n


def test_a_gru_with_another_gate_is_none(monkeypatch):
    right = gated_nesting.relayed_gru
    monkeypatch.setattr(gated_nesting, "relayed_gru", lambda d: with_another(right(d), 2, -1.0))
    assert rows.verdict_of(gated_cells.relayed_case("gru")).verdict == rows.ERROR
    monkeypatch.setattr(cell_formulas, "_gru", lambda *_: (["one"], ["other"]))
    assert rows.verdict_of(gated_cells.relayed_case("gru")).verdict == REFUTED


def test_n_of_the_relayed_table_depends_on_what_is_counted():
    table = gated_nesting.relayed_lstm(1)
    assert (table.n, table.t) == (2, 2)
    assert [gated_nesting.chain_along_A(table, L) for L in (1, 2, 3)] == [1, 2, 2]
    assert [gated_nesting.chain_again(L) for L in (1, 2, 3)] == [1, 2, 2]
    through = {**gated_nesting.EDGES, 4: (0, 1, 3)}
    assert gated_nesting.chain_again(1, through) == 2, "an entry A_41 is a chain k_1, k_4, k_2"
    for form, n in (("gated", 2), ("constant", 4)):
        assert gated_nesting.chain_along_A(realisations.lstm(1, form=form), 1) == n


def test_a_relay_with_another_gate_is_no_lstm(monkeypatch):
    """By the table alone a suspicion, with the formulas broken as well a refutation."""
    right = gated_nesting.relayed_lstm
    monkeypatch.setattr(gated_nesting, "relayed_lstm", lambda d: with_another(right(d), 4, -1.0))
    assert rows.verdict_of(gated_cells.relayed_case()).verdict == rows.ERROR
    monkeypatch.setattr(cell_formulas, "_lstm", lambda *_: (["one"], ["other"]))
    assert rows.verdict_of(gated_cells.relayed_case()).verdict == REFUTED


def test_a_chain_along_A_that_is_too_long_is_found(monkeypatch):
    """The gated table of the library is an LSTM, too, but its k_1 feeds k_2 through A."""
    monkeypatch.setattr(gated_nesting, "relayed_lstm", realisations.lstm)
    assert rows.verdict_of(gated_cells.relayed_case()).verdict == rows.ERROR
    monkeypatch.setattr(gated_nesting, "chain_again", lambda layers: 2 * layers)
    assert rows.verdict_of(gated_cells.relayed_case()).verdict == REFUTED


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_unit_of_torch_has_tanh_of_the_logistic_function_in_it(kind):
    """The weights that the case speaks of: h₊ = tanh(σ̂(z))/2 as a function of the input z."""
    z = torch.linspace(-5, 5, 11, dtype=torch.float64).unsqueeze(1)
    zero = torch.zeros(11, 1, dtype=torch.float64)
    if kind == "lstm":
        unit = torch.nn.LSTMCell(1, 1, dtype=torch.float64)  # i, f, g, o
        rows_, state = {"weight_ih": (1, 1.0)}, (zero, zero + 1)
    else:
        unit = torch.nn.GRUCell(1, 1, dtype=torch.float64)  # r, z, n
        rows_, state = {"weight_ih": (0, 1.0), "bias_hh": (2, 1.0)}, zero
    with torch.no_grad():
        for name, parameter in unit.named_parameters():
            parameter.zero_()
            if name in rows_:
                place, value = rows_[name]
                parameter[place] = value
        found = unit(z, state)
    after = found[0] if kind == "lstm" else found
    torch.testing.assert_close(after, torch.tanh(torch.sigmoid(z)) / 2, rtol=0, atol=1e-15)  # 4 u of numbers below 1/2


def test_without_an_inner_function_no_poles_come_together():
    assert rows.verdict_of(gated_cells.poles_case(inner="identity")).verdict == rows.NOT_REFUTED
    for k in (1, 7, 1000):
        assert not gated_nesting.pole_near(k, "identity").violated
        assert not gated_nesting.pole_near_again(k, "identity").violated


@pytest.mark.parametrize("k", [1, 3, 20])
def test_the_poles_are_where_the_closed_form_has_them(k):
    """A third way: mpmath's secant method, from outside, against −log(1 + it)."""
    import mpmath

    with mpmath.workprec(120):
        delta = -mpmath.log(1 + 1j / (mpmath.pi * (k + mpmath.mpf(1) / 2)))
        start = mpmath.pi * 1j + delta * (1 + mpmath.mpf(1) / 1000)
        found = mpmath.findroot(lambda z: mpmath.cosh(1 / (1 + mpmath.exp(-z))), start)
        assert abs(found - mpmath.pi * 1j - delta) < mpmath.mpf(2) ** -100
        assert f"{mpmath.nstr(abs(delta), 5)}"[:5] in gated_nesting.pole_near(k, "logistic").text


@pytest.mark.parametrize("signs", ["1 1", "-1 -1", "1 1 1", "-1 1 -1"])
def test_an_even_number_of_signs_has_no_other_determinant(signs):
    """The determinant of C(A) D tells it from a step only where D has an odd number of −1."""
    check = rows.unguarded(cross_links.scaled_case())
    assert not any(opinion.violated for opinion in check({"D": signs}).opinions)
    assert all(opinion.violated for opinion in check({"D": "1 1 -1"}).opinions)


def test_a_clockwork_of_one_period_is_autonomous():
    """Without a group that rests there is nothing to refute."""
    check = rows.unguarded(cell_realisations.autonomous_case())
    assert all(opinion.violated for opinion in check({"periods": "1 2", "x": "1"}).opinions)
    for periods, x in (("1 1", "1"), ("2 1", "1"), ("1 2", "0")):
        assert not any(opinion.violated for opinion in check({"periods": periods, "x": x}).opinions)


# --- QUNN


@pytest.mark.parametrize("mistake", ["twice", "keys and values exchanged", "one layer left out"])
def test_a_wrong_closed_form_is_refuted(mistake):
    def wrong(block, alpha, beta):
        if mistake == "twice":
            return [[x * 2 for x in row] for row in linear_outputs(block, alpha, beta)]
        if mistake == "one layer left out":
            return linear_outputs(block, alpha, [beta[0] * 0, *beta[1:]])
        return [linear_outputs(block[: k + 1][::-1], alpha, beta)[k] for k in range(len(block))]

    assert rows.verdict_of(qunn.closed_form_case(wrong)).verdict == REFUTED


def test_a_layer_that_may_expand_is_refuted():
    """‖W z‖ ≤ |α| ‖z‖, whatever β is."""
    assert rows.verdict_of(qunn_layers.non_expansion_case(0)).verdict == REFUTED


@pytest.mark.parametrize("sigma", [torch.tanh, torch.relu, lambda z: z])
def test_layers_of_torch_are_non_expansive_where_the_theorem_says_so(sigma):
    """The matrices of random layers in float64; the largest singular value is at most |α| + |β||x||x'|."""
    generator = torch.Generator().manual_seed(8)
    for _ in range(50):
        alpha, beta = (torch.rand(2, generator=generator, dtype=torch.float64) * 2 - 1).tolist()
        x, v = torch.randn(2, 3, generator=generator, dtype=torch.float64)
        shift = torch.roll(torch.eye(4, dtype=torch.float64), 1, 0)
        W = alpha * torch.eye(12, dtype=torch.float64) + beta * torch.kron(torch.outer(x, v), shift)
        bound = abs(alpha) + abs(beta) * float(x.norm() * v.norm())
        assert float(torch.linalg.matrix_norm(W, 2)) <= bound * (1 + 1e-12)  # a norm of 12 rows, some 100 u
        z = torch.randn(2, 12, generator=generator, dtype=torch.float64)
        moved = sigma(W / bound @ z[0]) - sigma(W / bound @ z[1])
        assert float(moved.norm()) <= float((z[0] - z[1]).norm()) * (1 + 1e-12)


def test_the_definition_of_the_suite_is_the_cell():
    from odernn import QUNN

    cell = QUNN(2, block_length=3, depth=4, dtype=torch.float64)
    with torch.no_grad():
        cell.layers[0].alpha.copy_(torch.tensor([0.5, -1.0, 1.5, 0.75]))
        cell.layers[0].beta.copy_(torch.tensor([1.0, -0.5, 0.25, 2.0]))
    x = torch.randn(7, 1, 2, generator=torch.Generator().manual_seed(4)).double()
    inputs, alpha, beta = x[:, 0].tolist(), cell.layers[0].alpha.tolist(), cell.layers[0].beta.tolist()

    def tanh(value):
        return torch.tanh(torch.tensor(value, dtype=torch.float64)).item()

    found = [qunn_clock.output(inputs, l, 3, alpha, beta, tanh) for l in range(7)]
    torch.testing.assert_close(
        torch.tensor(found, dtype=torch.float64), cell(x)[0][:, 0].detach(), rtol=1e-13, atol=1e-14
    )


@pytest.mark.parametrize(("h", "d"), [(1, 1), (8, 1), (3, 5)])
def test_the_counts_of_an_lstm_are_those_of_torch(h, d):
    count = sum(parameter.numel() for parameter in torch.nn.LSTM(d, h, device="meta").parameters())
    assert qunn._lstm_count(h, d) == qunn._entries(h, d) == count


def test_a_longer_reach_is_refuted_at_the_last_layer_only():
    assert rows.verdict_of(qunn.reach_case("T = N + 2", 2)).verdict == PROVED
    assert rows.verdict_of(qunn.reach_case("T = N", 0)).verdict == REFUTED


def test_inside_a_block_a_qunn_remembers():
    """The witness of forgetting moved into the block is no violation."""
    check = rows.unguarded(qunn.memory_case("LSTM"))({"T": "9", "l": "8", "first": "0 1"})
    assert not any(opinion.violated for opinion in check.opinions)


# --- the clock


def test_cosines_of_another_path_are_refuted():
    assert rows.verdict_of(clock_hamiltonian.cosines_case()).verdict == PROVED
    assert rows.verdict_of(clock_hamiltonian.cosines_case(ends=1)).verdict == REFUTED


@pytest.mark.parametrize("steps", [1, 2, 5, 8])
def test_the_path_has_the_eigenvalues_of_numpy(steps):
    path = np.diag(np.ones(steps), 1) + np.diag(np.ones(steps), -1)
    cosines = [2 * np.cos(np.pi * k / (steps + 2)) for k in range(steps + 1, 0, -1)]
    assert np.allclose(np.linalg.eigvalsh(path), cosines, atol=1e-13)
    assert not clock_again.has_cosines(steps, 1)[0] and clock_again.has_cosines(steps, 1, 3)[0]
    assert clock_again.has_cosines(steps, -1)[0]


def forgets_certificates():
    certificates.spectrum.cache_clear()
    clock_again.kernel_of.cache_clear()


@pytest.fixture
def fresh():
    forgets_certificates()
    yield
    forgets_certificates()


@pytest.mark.parametrize("length", [1, 3])
def test_a_wrong_gap_is_refuted(monkeypatch, fresh, length):
    """1 − cos(π/(2(T + length)))."""

    def wrong(steps, numbers=None):
        return clock.gap(steps + length - 1, *([numbers] if numbers else []))

    if length == 1:
        assert rows.verdict_of(gap_case()).verdict == PROVED
        return
    monkeypatch.setattr(certificates, "gap", wrong)
    assert rows.verdict_of(gap_case()).verdict == rows.ERROR
    monkeypatch.setattr(clock_hamiltonian, "gap", wrong)
    assert rows.verdict_of(gap_case()).verdict == REFUTED


def gap_case():
    return clock_hamiltonian.case(
        "planted", "gap", clock_hamiltonian._is_gap, clock_hamiltonian._is_gap_again, claimed="the closed form"
    )


def test_a_circuit_with_another_output_is_refuted(monkeypatch, fresh):
    """The full adder without its last gate does not restore b."""
    shorter = clock.Circuit("full adder", 4, clock.FULL_ADDER.gates[:-1])
    monkeypatch.setitem(clock_hamiltonian.CIRCUITS, "full adder", shorter)
    case = clock_hamiltonian.case(
        "planted", "output", clock_hamiltonian._output, clock_hamiltonian._output_again, claimed="the sum"
    )
    judgement = rows.verdict_of(case)
    assert judgement.verdict == rows.ERROR and "by arithmetic" in judgement.because


@pytest.mark.parametrize("circuit", [clock.NOT, clock.HALF_ADDER, clock.FULL_ADDER], ids=lambda c: c.name)
def test_entries_typed_twice_are_the_same_matrix(circuit):
    for word in range(2**circuit.bits):
        rows_ = clock.hamiltonian(circuit, word)
        sparse = {(i, j): x for i, row in enumerate(rows_) for j, x in enumerate(row) if x}
        assert sparse == {key: x for key, x in clock_again.entries(circuit.gates, word).items() if x}


def test_rank_modulo_a_prime_is_that_of_flint():
    from flint import fmpz_mat

    for circuit in (clock.NOT, clock.HALF_ADDER, clock.FULL_ADDER):
        for with_input in (True, False):
            matrix = fmpz_mat([list(row) for row in clock.hamiltonian(circuit, 1, with_input=with_input)])
            nullity = circuit.size - matrix.rank()
            assert clock_again.kernel_of(circuit.gates, 1, with_input) == (True, nullity)
            assert certificates.spectrum(circuit, 1, with_input).nullity == nullity


@pytest.mark.parametrize(
    "case",
    [clock_paths.gap_case(stretch=2), clock_paths.output_case(share=2), clock_paths.terms_case(more=1)],
    ids=lambda case: case.quantity,
)
def test_a_wrong_statement_about_all_circuits_is_refuted(case):
    assert rows.verdict_of(case).verdict == REFUTED


def test_two_path_computations_that_contradict_each_other_are_an_error(monkeypatch):
    monkeypatch.setattr(paths_again, "_below", lambda *_: (1, 0))
    for case in (clock_paths.ground_state_case(), clock_paths.gap_case()):
        assert rows.verdict_of(case).verdict == rows.ERROR


@pytest.mark.parametrize("circuit", [clock.NOT, clock.HALF_ADDER, clock.FULL_ADDER], ids=lambda c: c.name)
def test_the_spectrum_of_a_circuit_is_that_of_its_paths(circuit):
    """In floats, with what the theorem says of multiplicities: words by their numbers of wrong bits."""
    import math

    import numpy as np

    spectrum = np.linalg.eigvalsh(np.array(clock.hamiltonian(circuit, 1), dtype=float))
    paths = []
    for wrong in range(circuit.bits + 1):
        matrix = np.array(certified_paths._path(circuit.steps, wrong).tolist(), dtype=float)
        paths += list(np.linalg.eigvalsh(matrix)) * math.comb(circuit.bits, wrong)
    assert np.allclose(spectrum, sorted(paths), atol=1e-9)


def test_hopping_has_the_spectrum_of_a_path():
    for steps in range(1, 7):
        hop = np.array([[float(i == j + 1) for j in range(steps + 1)] for i in range(steps + 1)])
        wanted = sorted(2 * np.cos(np.pi * k / (steps + 2)) for k in range(1, steps + 2))
        assert np.allclose(np.linalg.eigvalsh(hop + hop.T), wanted, atol=1e-12)
        assert np.allclose(sorted(np.linalg.eigvals(hop - hop.T).imag), wanted, atol=1e-12)


# --- links


def test_a_cayley_map_of_a_third_is_no_midpoint_step(monkeypatch):
    right = cross_links._cayley

    def wrong(size):
        C, denominator, W, identity = right(size)
        return C, denominator, [[x * 2 / 3 for x in row] for row in W], identity

    monkeypatch.setattr(cross_links, "_cayley", wrong)
    assert rows.verdict_of(cross_links.cayley_case("step")).verdict == rows.ERROR
    monkeypatch.setattr(cross_links, "_midpoint_step", lambda W, y: [x * len(y) for x in y])
    assert rows.verdict_of(cross_links.cayley_case("step")).verdict == REFUTED


def test_another_rule_is_no_cayley_map(monkeypatch):
    """Implicit Euler in place of the midpoint rule: one of two computations says that lengths change."""
    from odernn.tableaus import get

    monkeypatch.setattr(cross_links, "get", lambda _: get("implicit euler"))
    judgement = rows.verdict_of(cross_links.cayley_case("norm"))
    assert judgement.verdict == rows.ERROR and "fractions finds" in judgement.because


def test_periods_are_found_by_shifts():
    assert [cross_links._repeats(periods) for periods in ((1, 2), (2, 3), (1, 3, 4), (5,))] == [2, 6, 12, 5]
