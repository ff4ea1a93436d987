"""Every registered cell is its book and has the manners of torch.nn: one suite over all cells and their cases.

A book (tests/odernn/cells/books) writes the equations of a cell once more, in numpy and float64. Whatever a cell shares
with all others, layers, directions, lengths, layouts, states, is checked against plain compositions of that.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import itertools

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from odernn import cells, tableaus
from odernn.executions import torch_loop
from tests.tiers import only, spread, where

F64 = torch.float64
ROUNDINGS = 32
"""Errors of size ε in a component of one step, of both evaluations: sums of at most 12 products each, a tanh and a few
sums more. Where equations are solved the last Newton iteration leaves no more: it squares what the one before it left.
The runs of ``test_layers_and_directions_are_those_of_the_book`` need up to 1.6 (integrator, cayley), others below 1.
"""
NO_HYPERPARAMETERS = ("clockwork", "exprnn", "indrnn", "qunn", "scornn", "urnn")
"""Cells without a number that is kept in float64: periods and permutations are integers; signs are ±1 in int8."""
BOOKS = {name: importlib.import_module(f"tests.odernn.cells.books.{name}") for name in cells.names()}
CASES = [(name, label) for name, book in BOOKS.items() for label in book.CASES]
ONE_A_CELL = [(name, next(iter(book.CASES))) for name, book in BOOKS.items()]
MANNERS = list(itertools.product((1, 2), (False, True)))  # layers, bidirectional
LONG = 30

every_case = pytest.mark.parametrize(("name", "label"), CASES)
every_cell = pytest.mark.parametrize(("name", "label"), ONE_A_CELL)
one_case_a_cell = pytest.mark.parametrize(("name", "label"), only(CASES, *ONE_A_CELL))
"""Every case in the full tier; one of each cell in the fast one."""
some_cells = pytest.mark.parametrize(
    ("name", "label"), where(spread(ONE_A_CELL, 3), lambda each: each[0] == "urnn")
)  # urnn exports in a second


def build(name: str, label: str, **manners) -> torch.nn.Module:
    """The case's network; skips where the cell refuses the reverse direction, which its own tests must show."""
    if manners.get("bidirectional") and label in getattr(BOOKS[name], "ONE_DIRECTION", ()):
        pytest.skip("the case has one direction only")
    return BOOKS[name].CASES[label](**manners).double()


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def width(network) -> int:
    """Features of the input: a rule for inputs may take several at once."""
    return network.layers[0].input_size


def start(network, batch: int, scale: float = 0.5):
    """An initial state away from zero, in the form that the cell takes."""
    first = network.layers[0]
    shapes = [(len(network.layers), batch, size) for size in first.state_sizes]
    blocks = tuple(scale * normal(*shape, seed=10 + i) for i, shape in enumerate(shapes))
    return blocks[0] if len(blocks) == 1 else blocks


def blocks_of(state) -> tuple[torch.Tensor, ...]:
    return (state,) if isinstance(state, torch.Tensor) else tuple(state)


def like(state, blocks):
    """The blocks in the form of ``state``."""
    return blocks[0] if isinstance(state, torch.Tensor) else tuple(blocks)


def samples(state, chosen):
    return like(state, [block[:, chosen] for block in blocks_of(state)])


def arrays(network, index: int) -> dict[str, np.ndarray]:
    layer = network.layers[index]
    return {key: value.detach().double().numpy() for key, value in (*layer.named_parameters(), *layer.named_buffers())}


def by_the_book(name: str, network, u: np.ndarray, state: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Output (N, features) and final blocks of one sample: layers composed and reversed by hand."""
    book, below, ends = BOOKS[name], u, []
    looks_back = "previous" in inspect.signature(book.layer).parameters
    previous = np.zeros(u.shape[1])
    for number in range(1, network.num_layers + 1):
        outputs = []
        for direction in range(network.directions):
            index = (number - 1) * network.directions + direction
            seen = below[::-1] if direction else below
            before = [block[index] for block in state]
            extra = {"previous": previous} if looks_back else {}
            rows = book.layer(network, number, arrays(network, index), seen, before, **extra)
            ends.append([block[-1] if len(block) else first for block, first in zip(rows, before, strict=True)])
            output = book.output(network, arrays(network, index), rows) if hasattr(book, "output") else rows[0]
            outputs.append(output[::-1] if direction else output)
        below, previous = np.concatenate(outputs, axis=1), state[0][(number - 1) * network.directions]
    return below, [np.stack(blocks) for blocks in zip(*ends, strict=True)]


def response(run, *arguments: torch.Tensor) -> tuple[float, float]:
    """The largest result of ``run``, and how far results move if every entry of every argument is off by one unit.

    The second is measured along one choice of signs, and is at least 1. Inputs are arguments, too, so that every step
    is disturbed, as rounding does it.
    """
    size = torch.finfo(arguments[0].dtype).eps ** 0.5
    moved = [a + size * torch.sign(normal(*a.shape, seed=50 + i)).to(a) for i, a in enumerate(arguments)]
    with torch.no_grad():
        results, others = run(*arguments), run(*moved)
    gaps = [largest(b - a) / size for a, b in zip(results, others, strict=True)]
    return max(map(largest, results)), max(1.0, *gaps)


def admitted(run, *arguments: torch.Tensor) -> float:
    """ROUNDINGS · ε · (1 + largest result) · growth: how far two evaluations of ``run`` in this dtype may differ."""
    size, growth = response(run, *arguments)
    return ROUNDINGS * torch.finfo(arguments[0].dtype).eps * (1.0 + size) * growth


def largest(values: torch.Tensor) -> float:
    return float(values.abs().max()) if values.numel() else 0.0


def forward(network, state):
    """(u, *blocks) ↦ (output, *blocks)."""

    def run(u, *blocks):
        output, end = network(u, like(state, blocks))
        return output, *blocks_of(end)

    return run


def close(found, wanted, tolerance: float) -> None:
    torch.testing.assert_close(found, wanted, rtol=0, atol=tolerance)


def test_every_registered_cell_has_a_book_and_the_number_of_cells_is_known():
    assert (
        sorted(BOOKS)
        == sorted(cells.names())
        == [
            "antisymmetric",
            "arnn_1_2",
            "arnn_2_2",
            "clockwork",
            "cornn",
            "damped_unicornn",
            "exprnn",
            "indrnn",
            "integrator",
            "lem",
            "linoss",
            "lipschitz",
            "odernn",
            "qunn",
            "scornn",
            "unicornn",
            "urnn",
        ]
    )
    assert all(isinstance(BOOKS[name].INVERTIBLE, bool | tuple) for name in BOOKS) and len(CASES) >= 2 * len(BOOKS)


# --- the map


@every_case
def test_a_step_is_the_formula_of_the_book(name: str, label: str):
    network = build(name, label)
    u, state = normal(1, 3, width(network)), start(network, 3)
    tolerance = admitted(forward(network, state), u, *blocks_of(state))
    with torch.no_grad():
        output, end = network(u, state)
    for b in range(3):
        wanted, ends = by_the_book(name, network, u[:, b].numpy(), [s[:, b].numpy() for s in blocks_of(state)])
        np.testing.assert_allclose(output[:, b].numpy(), wanted, rtol=0, atol=tolerance)
        for block, known in zip(blocks_of(end), ends, strict=True):
            np.testing.assert_allclose(block[:, b].numpy(), known, rtol=0, atol=tolerance)


@one_case_a_cell
@pytest.mark.parametrize(("layers", "bidirectional"), MANNERS)
def test_layers_and_directions_are_those_of_the_book(name, label, layers, bidirectional):
    network = build(name, label, num_layers=layers, bidirectional=bidirectional)
    has_every_layer = layers == 2 and (bidirectional or label in getattr(BOOKS[name], "ONE_DIRECTION", ()))
    for steps in (0, 3, LONG) if has_every_layer else (1, 3):
        u, state = normal(steps, 2, width(network)), start(network, 2)
        with torch.no_grad():
            output, end = network(u, state)
        assert output.shape == (steps, 2, network.output_size)
        tolerance = admitted(forward(network, state), u, *blocks_of(state))
        for b in range(2):
            wanted, ends = by_the_book(name, network, u[:, b].numpy(), [s[:, b].numpy() for s in blocks_of(state)])
            np.testing.assert_allclose(output[:, b].numpy(), wanted, rtol=0, atol=tolerance)
            for block, known in zip(blocks_of(end), ends, strict=True):
                np.testing.assert_allclose(block[:, b].numpy(), known, rtol=0, atol=tolerance)


@one_case_a_cell
@pytest.mark.parametrize(("layers", "bidirectional"), [(1, False), (2, False), (2, True)])
def test_the_inverse_gives_back_the_initial_state(name, label, layers, bidirectional):
    claimed = BOOKS[name].INVERTIBLE
    network = build(name, label, num_layers=layers, bidirectional=bidirectional)
    state, u = start(network, 3), normal(4, 3, width(network))  # what contracts forwards expands backwards
    if not (label in claimed if isinstance(claimed, tuple) else claimed):
        with pytest.raises(NotImplementedError):
            network.inverse(state, u)
        return
    with torch.no_grad():
        for lengths in (None, [4, 0, 3]):
            _, end = network(u, state, lengths=lengths)
            found = network.inverse(end, u, lengths=lengths)

            def back(u, *blocks, lengths=lengths):
                return blocks_of(network.inverse(like(state, blocks), u, lengths=lengths))

            there = admitted(forward(network, state), u, *blocks_of(state))
            size, growth = response(back, u, *blocks_of(end))
            here = ROUNDINGS * torch.finfo(F64).eps * (1.0 + size)
            close(blocks_of(found), blocks_of(state), (there + here) * growth)


# --- gradients


@one_case_a_cell
def test_gradients_are_those_of_finite_differences_in_every_argument(name: str, label: str):
    network = build(name, label)
    names = [key for key, parameter in network.named_parameters()]
    u, state = normal(2, 2, width(network)), start(network, 2)
    arguments = [u, *blocks_of(state), *network.parameters()]

    def run(u, *rest):
        count = len(blocks_of(state))
        weights = dict(zip(names, rest[count:], strict=True))
        output, end = torch.func.functional_call(network, weights, (u, like(state, rest[:count])))
        return output, *blocks_of(end)

    assert torch.autograd.gradcheck(run, [a.detach().clone().requires_grad_() for a in arguments])


@one_case_a_cell
def test_a_sequence_of_no_steps_gives_its_state_and_zero_gradients(name: str, label: str):
    network = build(name, label, num_layers=1)
    for execution in ("cpu", "parallel", "torch") if name == "unicornn" else ("torch",):
        if name == "unicornn":
            network.execution = execution
        network.zero_grad()
        u, state = torch.zeros(0, 2, width(network), dtype=F64, requires_grad=True), start(network, 2)
        output, final = network(u, state)
        assert output.shape == (0, 2, network.output_size)
        assert all(map(torch.equal, blocks_of(final), blocks_of(state)))
        (output.sum() + sum(block.sum() for block in blocks_of(final))).backward()
        for parameter in (u, *network.parameters()):
            assert parameter.grad is not None and not parameter.grad.any()


@one_case_a_cell
def test_second_derivatives_are_those_of_finite_differences(name: str, label: str):
    network = build(name, label)
    state = start(network, 1)

    def run(u, *blocks):
        return network(u, like(state, blocks))[0]

    arguments = [normal(2, 1, width(network)), *blocks_of(state)]
    assert torch.autograd.gradgradcheck(run, [a.detach().clone().requires_grad_() for a in arguments])


# --- states, samples, lengths


@one_case_a_cell
def test_two_half_sequences_are_one(name: str, label: str):
    if label in getattr(BOOKS[name], "LOOKS_BACK", ()):
        pytest.skip("the case needs the previous input, too: its own tests cut sequences")
    network = build(name, label, num_layers=2)
    u, state = normal(6, 2, width(network)), start(network, 2)
    tolerance = admitted(forward(network, state), u, *blocks_of(state))
    with torch.no_grad():
        whole, end = network(u, state)
        resume = getattr(BOOKS[name], "resume", lambda _: {})
        for cut in range(7):
            first, middle = network(u[:cut], state)
            second, found = network(u[cut:], middle, **resume(cut))
            close(torch.cat([first, second]), whole, tolerance)
            close(found, end, tolerance)


@one_case_a_cell
@pytest.mark.parametrize("bidirectional", [False, True])
def test_every_sample_is_alone_in_its_batch_and_ends_on_its_own(name, label, bidirectional):
    network = build(name, label, num_layers=2, bidirectional=bidirectional)
    lengths = [3, 6, 0, 1, 5, 2, 4]
    u, state = normal(6, 7, width(network)), start(network, 7)
    padded = torch.where(torch.arange(6)[:, None, None] < torch.tensor(lengths)[:, None], u, torch.nan)
    tolerance = admitted(forward(network, state), u, *blocks_of(state))
    with torch.no_grad():
        output, end = network(padded, state, lengths=lengths)
        for b, length in enumerate(lengths):
            alone, last = network(u[:length, b : b + 1], samples(state, slice(b, b + 1)))
            close(output[:length, b : b + 1], alone, tolerance)
            assert not output[length:, b].any()
            close(samples(end, slice(b, b + 1)), last, tolerance)
        order = torch.tensor([4, 2, 6, 0, 5, 1, 3])
        turned, turned_end = network(u[:, order], samples(state, order), lengths=torch.tensor(lengths)[order])
        close(turned, output[:, order], tolerance)
        close(turned_end, samples(end, order), tolerance)


@every_cell
@pytest.mark.parametrize("bidirectional", [False, True])
def test_padding_neither_receives_nor_spoils_gradients(name, label, bidirectional):
    network = build(name, label, num_layers=2, bidirectional=bidirectional)
    u = normal(5, 2, width(network))
    u[2:, 0] = torch.nan
    u.requires_grad_()
    output, end = network(u, lengths=[2, 5])
    total = (output**2).sum() + sum(block.sum() for block in blocks_of(end))
    gradient, *weights = torch.autograd.grad(total, [u, *network.parameters()], allow_unused=True)
    assert not gradient[2:, 0].any() and gradient[:2, 0].all() and gradient[:, 1].all()
    assert all(weight is None or torch.isfinite(weight).all() for weight in weights)


@one_case_a_cell
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("sorted_", [False, True])
def test_a_packed_sequence_is_its_padded_one(name, label, bidirectional, sorted_):
    network = build(name, label, num_layers=2, bidirectional=bidirectional)
    lengths = torch.tensor([5, 4, 4, 1] if sorted_ else [4, 1, 5, 4])
    u, state = normal(5, 4, width(network)), start(network, 4)
    packed = pack_padded_sequence(u, lengths, enforce_sorted=sorted_)
    with torch.no_grad():
        output, end = network(packed, state)
        wanted, wanted_end = network(u, state, lengths=lengths)
    assert isinstance(output, PackedSequence) and torch.equal(output.batch_sizes, packed.batch_sizes)
    torch.testing.assert_close(pad_packed_sequence(output)[0], wanted, rtol=0, atol=0)
    torch.testing.assert_close(end, wanted_end, rtol=0, atol=0)


@every_cell
def test_layouts_are_transpositions_and_unbatched_is_a_batch_of_one(name, label):
    network, turned = build(name, label, num_layers=2), build(name, label, num_layers=2, batch_first=True)
    turned.load_state_dict(network.state_dict())
    u, state = normal(4, 1, width(network)), start(network, 1)
    tolerance = admitted(forward(network, state), u, *blocks_of(state))
    with torch.no_grad():
        output, end = network(u, state)
        other, other_end = turned(u.transpose(0, 1), state)
        close((other.transpose(0, 1), other_end), (output, end), tolerance)
        alone, last = network(u[:, 0], like(state, [block[:, 0] for block in blocks_of(state)]))
        close(alone, output[:, 0], tolerance)
        close(blocks_of(last), tuple(b[:, 0] for b in blocks_of(end)), tolerance)
        nobody = normal(4, 0, width(network))
        assert network(nobody)[0].shape == network(nobody, lengths=[])[0].shape == (4, 0, network.output_size)


@every_cell
def test_dropout_is_between_layers_in_training_only(name, label):
    for mask in ("locked", "step"):
        network = build(name, label, num_layers=2, dropout=0.5, dropout_mask=mask)
        u = normal(6, 30, width(network))
        torch.manual_seed(0)
        trained = network(u)[0]
        assert not torch.equal(trained, network(u)[0])
        torch.manual_seed(0)
        assert torch.equal(trained, network(u)[0])
        network.eval()
        plain = network(u)[0]
        assert torch.equal(plain, network(u)[0]) and not torch.equal(plain, trained)
    single = build(name, label, dropout=0.5)
    assert torch.equal(single(u)[0], single(u)[0])


# --- living as a torch module


@one_case_a_cell
def test_a_state_dict_restores_the_network(name, label):
    network, other = build(name, label, num_layers=2), build(name, label, num_layers=2)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    u = normal(5, 2, width(network))
    with torch.no_grad():
        wanted = network(u)[0]
        assert not torch.equal(other(u)[0], wanted)
        other.load_state_dict(network.state_dict())
        assert torch.equal(other(u)[0], wanted)
        copied = copy.deepcopy(network)
        for parameter in network.parameters():
            parameter.add_(0.25)
        assert torch.equal(copied(u)[0], wanted) and not torch.equal(network(u)[0], wanted)


@every_cell
def test_hyperparameters_keep_their_digits_through_float32(name, label):
    network = build(name, label)
    exact = {key: value.clone() for key, value in network.named_buffers() if value.dtype == F64}
    assert bool(exact) == (name not in NO_HYPERPARAMETERS)
    assert name in NO_HYPERPARAMETERS or any(not torch.equal(v, v.float().double()) for v in exact.values())
    kept = {key: value.clone() for key, value in network.named_buffers()}
    network.float().double()
    assert all(torch.equal(dict(network.named_buffers())[key], value) for key, value in kept.items())
    # With assign=True entries take the place of buffers; those that were rounded before are cast, not kept as they are.
    single = {key: v.float() if key in exact else v for key, v in network.state_dict().items()}
    network.load_state_dict(single, assign=True)
    for key, value in exact.items():
        found = dict(network.named_buffers())[key]
        assert found.dtype == F64 and torch.equal(found, value.float().double())


@one_case_a_cell
def test_a_replica_of_data_parallel_computes_the_same(name, label):
    network = build(name, label, num_layers=2)
    copied = replica(network)
    assert not list(copied.parameters())
    u = normal(4, 2, width(network))
    wanted, end = network(u)
    output, found = copied(u)
    assert torch.equal(output, wanted) and all(map(torch.equal, blocks_of(found), blocks_of(end)))
    gradients = torch.autograd.grad(output.sum(), list(network.parameters()), allow_unused=True)
    assert any(each is not None and each.any() for each in gradients)


def replica(network: torch.nn.Module) -> torch.nn.Module:
    """What torch.nn.parallel.replicate makes, for which it needs a GPU: copies without ``parameters()``."""
    copies = {module: module._replicate_for_data_parallel() for module in network.modules()}
    for module, copied in copies.items():
        for key, child in module._modules.items():
            if child is not None:
                setattr(copied, key, copies[child])
        for key, parameter in module._parameters.items():
            if parameter is None:
                copied._parameters[key] = None
            else:
                setattr(copied, key, parameter.clone())
        for key, buffer in module._buffers.items():
            if buffer is not None:
                setattr(copied, key, buffer.clone())
    return copies[network]


@one_case_a_cell
def test_float32_is_close_to_float64_and_bfloat16_is_refused(name, label):
    network = build(name, label)
    u, state = normal(8, 2, width(network)), start(network, 2)
    single, state_32 = copy.deepcopy(network).float(), like(state, [block.float() for block in blocks_of(state)])
    with torch.no_grad():
        gap = largest(single(u.float(), state_32)[0].double() - network(u, state)[0])
    assert 0 < gap <= admitted(forward(single, state), u.float(), *blocks_of(state_32))
    with pytest.raises(TypeError, match=r"input has dtype torch\.float32"):
        network(u.float())
    with pytest.raises(TypeError, match=r"float32 or float64"):
        copy.deepcopy(network).bfloat16()(u.bfloat16())


@one_case_a_cell
def test_under_autocast_only_the_drives_have_fewer_digits(name, label, monkeypatch):
    network = build(name, label, num_layers=2).float()
    u = normal(8, 2, width(network)).float()
    kept = []

    def keep(drives):
        def kept_drives(*below):
            kept.append(drives(*below))
            return kept[-1]

        return kept_drives

    with torch.no_grad():
        wanted = network(u)[0]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(network(u.bfloat16())[0], network(u.bfloat16().float())[0])
            for layer in network.layers:
                method = "drive" if name == "unicornn" else "drives"
                monkeypatch.setattr(layer, method, keep(getattr(layer, method)), raising=False)
            found, end = network(u)
        assert found.dtype == torch.float32 and all(block.dtype == torch.float32 for block in blocks_of(end))
        # The recurrence alone, in float32 and without autocast, from the drives that autocast gave.
        again, outputs = iter(kept), torch_loop.outputs
        for layer in network.layers:
            monkeypatch.setattr(layer, method, lambda *_: next(again).float())
        # UnICORNN leaves V u + b to its execution where nothing is autocast.
        monkeypatch.setattr(torch_loop, "layer_outputs", lambda u, V, b, **rest: outputs(next(again).float(), **rest))
        output, last = network(u)
    assert torch.equal(output, found) and all(map(torch.equal, blocks_of(last), blocks_of(end)))
    assert len(kept) >= 2 and next(again, None) is None
    assert torch.equal(found, wanted) == getattr(BOOKS[name], "DRIVES_ARE_INPUTS", False)


@every_cell
def test_garbage_is_refused_by_name(name, label):
    network = build(name, label)
    u = normal(4, 2, width(network))
    for wrong, message in (
        (torch.zeros(4, 2, width(network) + 1, dtype=F64), "its last axis is"),
        (torch.zeros(4, dtype=F64), "input has shape"),
        (u.to("meta"), "input is on meta"),
    ):
        with pytest.raises(ValueError, match=message):
            network(wrong)
    good = start(network, 2)
    with pytest.raises(ValueError, match="state"):
        network(u, samples(good, slice(0, 1)))
    with pytest.raises(TypeError, match="state is a"):
        network(u, "zero")
    for lengths, error in (([1], ValueError), ([1, 5], ValueError), ([-1, 2], ValueError), ([1.0, 2.0], TypeError)):
        with pytest.raises(error, match="lengths"):
            network(u, lengths=lengths)
    for lengths in ("ab", [[1], [2, 3]], [None, 1]):
        with pytest.raises(TypeError, match="lengths is"):
            network(u, lengths=lengths)
    with pytest.raises(ValueError, match="PackedSequence, which has its own"):
        network(pack_padded_sequence(u, [4, 4]), lengths=[4, 4])


@pytest.mark.slow  # of every cell, one case compiles with its gradients below
@pytest.mark.parametrize(("name", "label"), CASES)
def test_the_module_compiles(name, label):
    network = build(name, label, num_layers=2 if (name, label) in ONE_A_CELL else 1)
    u, state = normal(2, 2, width(network)), start(network, 2)
    torch._dynamo.reset()
    compiled = torch.compile(network, backend="eager", fullgraph=True)
    close(compiled(u, state), network(u, state), admitted(forward(network, state), u, *blocks_of(state)))


@pytest.mark.parametrize(("name", "label"), spread(ONE_A_CELL, 1))
def test_its_gradients_compile(name, label):
    network = build(name, label)
    u, state = normal(2, 2, width(network)).requires_grad_(), start(network, 2)
    tolerance = admitted(forward(network, state), u, *blocks_of(state))
    wanted = network(u, state)
    (gradient,) = torch.autograd.grad(wanted[0].sum(), u)
    torch._dynamo.reset()
    compiled = torch.compile(network, backend="aot_eager", fullgraph=True)
    output, end = compiled(u, state)
    close((output, end), wanted, tolerance)
    (found,) = torch.autograd.grad(output.sum(), u)
    # The transposed steps: as many products, and they grow at most by what the steps grow by.
    close(found, gradient, tolerance * (1 + largest(gradient)))


@some_cells
def test_a_stack_exports(name, label):
    network = build(name, label, num_layers=2)
    u, state = normal(3, 2, width(network)), start(network, 2)
    exported = torch.export.export(network, (u, state)).module()
    close(exported(u, state), network(u, state), admitted(forward(network, state), u, *blocks_of(state)))


@every_cell
def test_the_module_lives_on_the_meta_device_and_says_what_it_is(name, label):
    network = build(name, label, num_layers=2)
    assert f"{network.hidden_size}" in repr(network) and "num_layers=2" in repr(network)
    copied = copy.deepcopy(network).to("meta")
    assert "num_layers=2" in repr(copied)


# --- the suite can fail


@every_cell
def test_a_wrong_weight_is_seen_by_the_book(name, label):
    network = build(name, label)
    u, state = normal(2, 1, width(network)), start(network, 1)
    wanted, ends = by_the_book(name, network, u[:, 0].numpy(), [s[:, 0].numpy() for s in blocks_of(state)])
    known = [wanted, *ends]
    seen = 0
    for parameter in network.parameters():
        with torch.no_grad():
            kept = parameter.clone()
            parameter += 1e-3
            found = forward(network, state)(u, *blocks_of(state))
            parameter.copy_(kept)
        gaps = [np.abs(b[:, 0].numpy() - k).max() for b, k in zip(found, known, strict=True)]
        seen += max(gaps) > admitted(forward(network, state), u, *blocks_of(state))
    assert seen == len(list(network.parameters()))


def test_the_other_verlet_is_seen_by_the_book():
    book = BOOKS["integrator"]
    network = book.CASES["stoermer verlet"]()
    swapped = book.case("stoermer verlet", book.OSCILLATOR, tableaus.STOERMER_VERLET_TVT)()
    swapped.load_state_dict(network.state_dict())
    u, state = normal(1, 1, 2), start(network, 1)
    tolerance = admitted(forward(network, state), u, *blocks_of(state))
    known = by_the_book("integrator", network, u[:, 0].numpy(), [s[:, 0].numpy() for s in blocks_of(state)])[1]
    for each, is_the_books in ((network, True), (swapped, False)):
        with torch.no_grad():
            end = each(u, state)[1]
        gap = max(np.abs(b[:, 0].numpy() - k).max() for b, k in zip(blocks_of(end), known, strict=True))
        assert (gap <= tolerance) == is_the_books
