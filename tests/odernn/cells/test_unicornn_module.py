"""UnICORNN as a torch module: parameters, dropout, saving, dtypes, compilation, the published networks."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
import torch

from odernn import cells
from odernn.cells.unicornn import UnICORNN
from odernn.executions import torch_loop
from odernn.published import networks as published
from tests.odernn.cells.unicornn_book import F64, INDICES, VARIANTS, network, normal, previous, start
from tests.tiers import only

# --- parameters, initialisation, dropout


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize(("bias", "multiscale"), [(True, True), (False, True), (True, False), (False, False)])
@pytest.mark.parametrize(
    ("L", "S", "skip_input"), [(1, None, True), (3, None, True), (5, 2, True), (5, 2, False), (2, 2, True)]
)
def test_the_number_of_parameters_is_the_formula(L, S, skip_input, bias, multiscale, directions):
    d, m = 4, 7
    model = UnICORNN(
        d,
        m,
        L,
        dt=0.1,
        alpha=1.0,
        residual_skip=S,
        skip_input=skip_input,
        bias=bias,
        multiscale=multiscale,
        bidirectional=directions == 2,
    )
    vectors = 1 + bias + multiscale  # w, b, c
    expected = m * d + (L - 1) * m * m * directions + vectors * L * m
    if S is not None:
        expected += (m * d if S + 1 <= L and skip_input else 0) + max(L - S - 1, 0) * m * m * directions
    assert sum(p.numel() for p in model.parameters()) == directions * expected


@pytest.mark.parametrize("row", published.ROWS, ids=lambda row: row.name)
def test_a_published_network_has_the_numbers_of_its_row(row):
    model = UnICORNN.from_paper(row.name, device="meta")
    d, m, L = row.input_size, row.hidden_size, row.num_layers
    assert (model.input_size, model.hidden_size, model.num_layers) == (d, m, L)
    assert sum(p.numel() for p in model.parameters()) == m * d + (L - 1) * m * m + 3 * L * m
    model = UnICORNN.from_paper(row.name)
    assert model.dt.tolist() == [float(dt) for dt in row.dt] and model.alpha.tolist() == [float(row.alpha)] * L
    assert model.dropout == float(row.dropout) and model.dropout_mask == "locked" and model.index == "icml"


def test_arguments_win_over_the_published_row_and_a_wrong_name_has_a_neighbour():
    model = UnICORNN.from_paper("psMNIST-128", bias=False, num_layers=2, dt=0.1, dropout=0.0, dtype=F64)
    assert model.layers[0].b is None and model.dt.tolist() == [0.1, 0.1] and model.hidden_size == 128
    assert model.dropout == 0.0 and model.layers[0].w.dtype == F64
    with pytest.raises(LookupError, match="Did you mean 'psMNIST-128'"):
        UnICORNN.from_paper("psmnist_128")
    with pytest.raises(ValueError, match="dt has 3 entries but num_layers is 2"):
        UnICORNN.from_paper("psMNIST-128", num_layers=2)


def test_the_initial_weights_fill_the_intervals_of_the_paper():
    model = UnICORNN(50, 400, 4, dt=0.1, alpha=1.0, residual_skip=2, generator=torch.Generator().manual_seed(0))
    for l, layer in enumerate(model.layers):
        intervals = [(layer.w, 0.0, 1.0), (layer.c, -0.1, 0.1)]
        matrices = [layer.V] if layer.Lambda is None else [layer.V, layer.Lambda]
        intervals += [(V, -r, r) for V in matrices for r in [math.sqrt(6 / (65 * V.shape[1]))]]
        for parameter, low, high in intervals:
            values = parameter.detach()
            width = high - low
            assert low <= float(values.min()) < low + 0.02 * width
            assert high - 0.02 * width < float(values.max()) <= high
        assert layer.b is not None and not layer.b.any() and (layer.Lambda is None) == (l < 2)


def test_a_generator_fixes_the_weights_and_leaves_the_global_one_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    one, two = (UnICORNN(2, 3, dt=0.1, alpha=1.0, generator=torch.Generator().manual_seed(8)) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


def test_dropout_keeps_one_mask_for_the_sequence_and_spares_the_last_layer():
    model = network(2, dropout=0.5)
    with torch.no_grad():
        model.layers[1].V.copy_(torch.eye(3, dtype=F64))
        model.layers[1].b.zero_()  # type: ignore[union-attr]
        model.layers[1].w.zero_()
        model.layers[1].c.copy_(torch.full((3,), 50.0))
    u = normal(6, 40, 2)
    torch.manual_seed(0)
    output, (y, _) = model(u)
    model.eval()
    plain, _ = model(u)
    dropped = (output == 0).all(dim=0)  # with V = 1, b = w = 0 a masked neuron is never driven
    assert 0.3 < float(dropped.double().mean()) < 0.7
    assert not (output == 0).any(dim=0)[~dropped].any() and torch.equal(model(u)[0], plain)
    assert torch.equal(y[1], output[-1])
    model.train()
    assert not torch.equal(model(u)[0], model(u)[0])


@pytest.mark.parametrize("index", INDICES)
def test_dropout_masks_are_the_same_at_every_cut_of_the_sequence(index: str):
    model = network(3, index=index, dropout=0.4)
    u, state, extra = normal(6, 2, 2), start(model), previous(model)
    torch.manual_seed(5)
    whole, _ = model(u, state, **extra)
    torch.manual_seed(5)
    first, middle = model(u[:2], state, **extra)
    torch.manual_seed(5)
    second, _ = model(u[2:], middle, **({"previous_input": u[1]} if index == "sam" else {}))
    torch.testing.assert_close(torch.cat([first, second]), whole, rtol=0, atol=1e-13)


@pytest.mark.parametrize("dropout_mask", ["locked", "step"])
@pytest.mark.parametrize("variant", [{}, {"index": "sam"}, {"bidirectional": True}], ids=str)
def test_dropout_multiplies_what_a_layer_passes_upwards(variant, dropout_mask):
    model = network(2, dropout=0.4, dropout_mask=dropout_mask, **variant)
    alone = [network(1, **variant), UnICORNN(model.output_size, 3, dt=0.3, alpha=0.9, dtype=F64, **variant)]
    for number, one in enumerate(alone):
        for direction in range(model.directions):
            one.layers[direction].load_state_dict(model.layers[number * model.directions + direction].state_dict())
    u = normal(5, 2, 2)
    torch.manual_seed(5)
    found, _ = model(u)
    torch.manual_seed(5)
    below, _ = alone[0](u)
    shape = below.shape if dropout_mask == "step" else below.shape[1:]
    mask = torch.nn.functional.dropout(torch.ones(shape, dtype=F64), 0.4)
    torch.testing.assert_close(found, alone[1](below * mask)[0], rtol=0, atol=1e-13)
    assert not torch.equal(found, alone[1](below)[0])


# --- compiled, exported, in mixed precision

TRACED = [*VARIANTS[:4], {"residual_skip": 2, "num_layers": 4}]


@pytest.mark.parametrize(
    "options",
    # two directions compile below, with lengths; the other variants are the same graph with other numbers
    [pytest.param(each, marks=pytest.mark.slow) for each in TRACED],
    ids=str,
)
def test_torch_compile_makes_one_graph_with_the_same_answer_and_gradients(options):
    options = {"num_layers": 2} | options
    model = network(options.pop("num_layers"), **options)
    u, state, extra = normal(4, 2, 2), start(model), previous(model)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    found = []
    for run in (model, compiled):
        output, (y, z) = run(u, state, **extra)
        loss = (output**2).sum() + y.sum() + z.sum()
        found.append((output, y, z, *torch.autograd.grad(loss, list(model.parameters()))))
    torch.testing.assert_close(found[1], found[0], rtol=0, atol=1e-13)


@pytest.mark.parametrize("options", only(TRACED, *TRACED[-2:]), ids=str)
def test_torch_export_keeps_the_map(options):
    options = {"num_layers": 2} | options
    model = network(options.pop("num_layers"), **options)
    u, other, state, extra = normal(4, 2, 2), normal(4, 2, 2, seed=7), start(model), previous(model)
    program = torch.export.export(model, (u, state), extra).module()
    for rows in (u, other):
        torch.testing.assert_close(program(rows, state, **extra), model(rows, state, **extra), rtol=0, atol=1e-13)


def test_a_compiled_network_takes_lengths_and_refuses_those_beyond_the_end():
    model = network(1, bidirectional=True)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    u, lengths = normal(4, 2, 2), torch.tensor([2, 4])
    torch.testing.assert_close(compiled(u, lengths=lengths), model(u, lengths=lengths), rtol=0, atol=1e-13)
    with pytest.raises(RuntimeError, match=r"lengths has a value outside 0\.\.4"):
        compiled(u, lengths=torch.tensor([2, 5]))


def test_under_autocast_the_drive_has_fewer_digits_and_the_recurrence_has_its_own():
    model = network(1).float()
    u = normal(6, 2, 2).float()
    with torch.autocast("cpu", torch.bfloat16):
        output, (y, z) = model(u)
        again, _ = model(u.bfloat16())
    assert output.dtype == y.dtype == z.dtype == torch.float32
    layer = model.layers[0]
    x = torch.nn.functional.linear(u.bfloat16(), layer.V.bfloat16(), layer.b.bfloat16()).float()
    expected = torch_loop.forward(x, **model.coefficients(0)).y
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-6)
    assert not torch.allclose(output, model(u)[0], rtol=0, atol=1e-4)
    torch.testing.assert_close(again, output, rtol=0, atol=1e-6)
    output.sum().backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in model.parameters())


def test_two_layers_under_autocast_pass_float32_and_their_inverse_comes_back():
    model, u = network(2, index="sam").float(), normal(6, 2, 2).float()
    state = tuple(block.float() for block in start(model))
    before = normal(2, 2, seed=4)
    with torch.autocast("cpu", torch.bfloat16):
        _, end = model(u, state, previous_input=before.bfloat16())
        found = model.inverse(end, u, previous_input=before.bfloat16())
    torch.testing.assert_close(found, state, rtol=0, atol=1e-4)


# --- living as a torch module


def test_a_state_dict_restores_the_network_exactly_with_its_steps():
    model = network(2, dt=[0.1, 0.2], alpha=[1 / 3, 2 / 3])
    other = UnICORNN(2, 3, 2, dt=0.5, alpha=0.0, dtype=F64)
    other.load_state_dict(model.state_dict())
    assert other.dt.tolist() == [0.1, 0.2] and other.alpha.tolist() == [1 / 3, 2 / 3]
    u = normal(5, 2, 2)
    assert torch.equal(other(u)[0], model(u)[0])


def test_steps_survive_a_visit_to_float32():
    model = network(2, dt=[0.1, 0.2])
    model.float()
    assert model.dt.dtype == F64 and model.dt.tolist() == [0.1, 0.2]
    assert model(normal(4, 2, 2).float())[0].dtype == torch.float32
    assert model.double()(normal(4, 2, 2))[0].dtype == F64 and model.dt.tolist() == [0.1, 0.2]


def test_float32_is_close_to_float64():
    model = network(2)
    u = normal(20, 2, 2)
    with torch.no_grad():
        exact = model(u)[0]
        gap = (copy.deepcopy(model).float()(u.float())[0].double() - exact).abs().max()
    assert 0 < float(gap) < 200 * 2.0**-24 * float(1 + exact.abs().max())


def test_a_deep_copy_is_independent():
    model = network(2)
    other = copy.deepcopy(model)
    u = normal(4, 2, 2)
    expected = model(u)[0]
    with torch.no_grad():
        model.layers[0].w += 1.0
    assert torch.equal(other(u)[0], expected) and not torch.equal(model(u)[0], expected)


def test_a_network_can_be_pickled():
    model, u = network(2, bidirectional=True, multiscale=False), normal(4, 2, 2)
    assert torch.equal(pickle.loads(pickle.dumps(model))(u)[0], model(u)[0])


@pytest.mark.parametrize("variant", VARIANTS[1:3], ids=str)
def test_arguments_are_not_changed(variant):
    model = network(3, **variant)
    u, state, extra = normal(5, 2, 2), start(model), previous(model)
    before = [value.clone() for value in (u, *state, *extra.values())]
    with torch.no_grad():
        _, end = model(u, state, **extra)
        kept = [value.clone() for value in end]
        model.inverse(end, u, **extra)
        model.bptt(u, normal(5, 2, model.output_size), state, **extra)
    assert all(torch.equal(a, b) for a, b in zip((u, *state, *extra.values(), *end), before + kept, strict=True))


def test_the_network_lives_on_the_meta_device():
    model = UnICORNN(2, 3, 2, dt=0.1, alpha=1.0, device="meta")
    output, (y, z) = model(torch.empty(4, 5, 2, device="meta"))
    assert output.shape == (4, 5, 3) and y.shape == z.shape == (2, 5, 3) and "dt=?" in repr(model)


def test_repr_says_what_it_is():
    text = repr(network(3, dt=[0.1, 0.1, 0.1], residual_skip=2, index="sam", bias=False, dropout=0.2))
    for part in ("2, 3, num_layers=3", "dt=0.1", "residual_skip=2", "index='sam'", "bias=False", "dropout=0.2"):
        assert part in text
    text = repr(network(2, bidirectional=True, multiscale=False, batch_first=True))
    for part in ("bidirectional=True", "multiscale=False", "batch_first=True", "index='icml'"):
        assert part in text


def test_names_in_the_state_dict_stay():
    found = {name: tuple(value.shape) for name, value in network(2, residual_skip=2).state_dict().items()}
    layer = {"w": (3,), "c": (3,), "b": (3,)}
    expected = {f"layers.{l}.{name}": shape for l in range(2) for name, shape in layer.items()}
    assert found == expected | {"layers.0.V": (3, 2), "layers.1.V": (3, 3), "dt": (2,), "alpha": (2,)}
    assert "layers.0.c" not in network(1, multiscale=False).state_dict()
    assert network(3, bidirectional=True, residual_skip=2).state_dict()["layers.5.Lambda"].shape == (3, 2)
    assert network(4, bidirectional=True, residual_skip=2).state_dict()["layers.7.Lambda"].shape == (3, 6)


def test_the_registry_finds_the_cell_by_its_file():
    assert "unicornn" in cells.names() and cells.get("unicornn") is UnICORNN
    with pytest.raises(KeyError, match='Did you mean "unicornn"'):
        cells.get("unicorn")


def test_the_network_on_the_meta_device_has_two_directions_too():
    model = UnICORNN(2, 3, 2, dt=0.1, alpha=1.0, device="meta", bidirectional=True)
    output, _ = model(torch.empty(4, 5, 2, device="meta"))
    assert output.shape == (4, 5, 6)


# --- stability


def test_the_stability_report_has_the_extremes_and_says_what_they_mean():
    model = UnICORNN(2, 2, 2, dt=[0.5, 0.9], alpha=[2.0, 3.9], dtype=F64)
    with torch.no_grad():
        model.layers[0].w.copy_(torch.tensor([1.0, -3.0]))
        model.layers[0].c.copy_(torch.tensor([0.0, 50.0]))
        model.layers[1].w.copy_(torch.tensor([4.0, -1.0]))
        model.layers[1].c.copy_(torch.tensor([50.0, 0.0]))
    first, second = model.stability_report().layers
    assert (first.max_h2_alpha, first.min_w_plus_alpha) == pytest.approx((0.5, -1.0))
    assert first.max_h2_kappa_plus == pytest.approx(max(0.0625 * 3.0, 0.25 * 2.0))
    assert (first.margin_to_rotation_limit, first.margin_to_saddle) == pytest.approx((3.5, -1.0))
    assert second.max_h2_kappa_plus == pytest.approx(0.81 * 7.9) and second.margin_to_rotation_limit < 0
    sentences = str(model.stability_report()).splitlines()
    assert "no input makes a step unstable" in sentences[0] and "saddles" in sentences[0]
    assert "some steps are unstable" in sentences[1] and "every neuron rotates" in sentences[1]


def test_the_stability_report_has_a_record_for_each_direction_and_without_multiscale_h_is_dt():
    model = network(2, dt=[0.5, 0.25], alpha=1.0, multiscale=False, bidirectional=True)
    records = model.stability_report().layers
    assert [(r.layer, r.is_reverse) for r in records] == [(1, False), (1, True), (2, False), (2, True)]
    assert [(r.min_step, r.max_step) for r in records] == [(0.5, 0.5)] * 2 + [(0.25, 0.25)] * 2
    assert records[2].max_h2_alpha == 0.0625
    assert str(model.stability_report()).splitlines()[1].startswith("layer 1, reverse: h in [0.5, 0.5]")


def test_c_is_drawn_from_what_is_given_and_everything_else_as_ever():
    spread, plain = (
        UnICORNN(2, 500, 2, dt=0.2, alpha=1.0, generator=torch.Generator().manual_seed(3), **options)
        for options in ({"initial_c": [-3.5, -0.5]}, {})
    )
    for layer, other in zip(spread.layers, plain.layers, strict=True):
        # the same draws of U(0, 1), stretched; float32
        expected = -3.5 + 3.0 * (other.c + 0.1) / 0.2
        assert (layer.c - expected).abs().max() <= 1e-5
        assert layer.c.min() < -3.4 and layer.c.max() > -0.6
        for name in ("w", "V", "b"):
            assert torch.equal(getattr(layer, name), getattr(other, name))
    assert "initial_c=(-3.5, -0.5)" in repr(spread) and "initial_c" not in repr(plain)


@pytest.mark.parametrize("given", [(0.1,), (1.0, 0.0), (float("nan"), 1.0), (0.0, float("inf")), "ab", 3.0])
def test_c_is_drawn_between_two_finite_numbers(given):
    with pytest.raises((ValueError, TypeError), match="initial_c"):
        UnICORNN(2, 3, dt=0.2, alpha=1.0, initial_c=given)
