"""The stack as one walk over chunks of time: gradients are autograd's, memory is the input's, faults show."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from benchmarks._live_bytes import LiveBytes
from odernn import executions
from odernn.cells.unicornn import stack as whole
from odernn.executions import stack, torch_loop
from odernn.executions.recurrence import ReconstructionWarning
from odernn.executions.stack import Rebuilt
from odernn.executions.stack import walk as _stack_walk
from odernn.executions.stack.reconstruction import Paths
from tests.odernn.cells.unicornn_book import F64, INDICES, STACKS, network, normal, previous, start
from tests.tiers import slow, spread

ROUNDING = 1e-12
"""Largest admitted difference, beside 1: a walk and autograd add the same numbers in another order, and a reversible
walk has rounding errors of its own, which grow with N. Largest found: 6e-15 for N ≤ 21, 2e-14 for N = 101."""

MODES = ("reversible", "checkpointed")
RECORDED = Path(__file__).parents[3] / "benchmarks" / "results" / "memory.json"


def close(found, expected, tolerance=ROUNDING):
    for number, (a, b) in enumerate(zip(found, expected, strict=True)):
        a, b = (torch.zeros(()) if each is None else each.detach() for each in (a, b))
        error = ((a - b).abs() / (1 + b.abs())).amax() if (a - b).numel() else 0.0
        assert float(error) <= tolerance, f"gradient {number} is off by {float(error):.1e}"


def loss(output, state):
    """Some function of all that a call returns."""
    weights = normal(*output.shape, seed=6).to(output.dtype)
    return (output * weights).sum() + (1.3 * state[0]).sin().sum() + (state[1] ** 2).sum()


def point(model, steps, batch):
    """Arguments of a call, all of which have gradients; and everything to derive by."""
    u, before = normal(steps, batch, 2).requires_grad_(), tuple(each.requires_grad_() for each in start(model, batch))
    extra = {name: each.requires_grad_() for name, each in previous(model, batch).items()}
    return (u, before), extra, [u, *before, *extra.values(), *model.parameters()]


def both(model, steps, lengths, **options):
    """The gradients by autograd through the torch loop, and by the walk, for the same call."""
    given, extra, by = point(model, steps, 4)
    found = []
    for call, more in ((model, {}), (lambda *a, **k: whole.run(model, *a, **k), options)):
        found.append(torch.autograd.grad(loss(*call(*given, lengths=lengths, **extra, **more)), by, allow_unused=True))
    return found


# --- the same gradients


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize(("layers", "skip", "skip_input"), spread(STACKS, 2))
def test_the_gradients_are_those_of_autograd(layers, skip, skip_input, index):
    model = network(layers, residual_skip=skip, skip_input=skip_input, index=index)
    cases = list(itertools.product((0, 1, 2, 3, 10), (1, 7, 64), (None, (3, 0, 2, 10))))
    for number, (steps, chunk, ends) in enumerate(cases):
        mode = MODES[(number + layers + (index == "sam")) % 2]  # the next stack, or the other index, the other mode
        lengths = None if ends is None else [min(end, steps) for end in ends]
        expected, found = both(model, steps, lengths, chunk=chunk, backward=mode)
        close(found, expected)
    assert len(cases) == 30


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("chunk", "index", "lengths"),
    [
        (1, "icml", None),
        (7, "sam", [50, 101, 3, 49]),
        (101, "icml", [101, 100, 100, 7]),
        (256, "sam", None),
    ],
)
def test_the_gradients_of_a_longer_sequence_are_those_of_autograd(chunk, index, lengths, mode):
    expected, found = both(network(3, index=index), 101, lengths, chunk=chunk, backward=mode, checkpoints=2)
    close(found, expected)


@pytest.mark.parametrize("options", [{"bias": False}, {"multiscale": False}, {"multiscale": False, "bias": False}])
def test_what_a_layer_does_not_have_needs_no_gradient(options):
    expected, found = both(network(2, **options), 9, None, chunk=4)
    close(found, expected)


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize(("layers", "skip"), [(3, None), (4, 2)])
def test_one_mask_a_sequence_is_drawn_as_the_network_draws_it(layers, skip, index):
    model = network(layers, residual_skip=skip, index=index, dropout=0.4)
    given, extra, by = point(model, 9, 4)
    found = []
    for call in (model, lambda *a, **k: whole.run(model, *a, chunk=4, **k)):
        torch.manual_seed(5)
        output, state = call(*given, lengths=[9, 4, 5, 0], **extra)
        found.append((output, *state, *torch.autograd.grad(loss(output, state), by)))
    close(found[1], found[0])
    model.eval()
    close([whole.run(model, *given, **extra)[0]], [model(*given, **extra)[0]])


@pytest.mark.parametrize("name", [each for each in ("torch", "cpu", "parallel") if not executions.available()[each]])
def test_every_execution_can_be_walked(name):
    model = network(3, residual_skip=2)
    for mode in MODES:
        expected, found = both(model, 40, [40, 13, 0, 39], chunk=16, backward=mode, execution=name)
        close(found, expected, 1e-9)  # each execution to its own admitted error


def test_only_the_last_state_is_the_same_state():
    model, u, before = network(3), normal(9, 2, 2), start(network(3))
    _, expected = model(u, before)
    close(whole.last(model, u, before, chunk=4), expected)
    close(model.last(u, before, chunk=4), expected)
    with torch.no_grad():
        close(whole.last(model, u, before, chunk=4), expected)
    by = list(model.parameters())
    expected = torch.autograd.grad(expected[0][-1].sum(), by)  # the loss of a classifier: y^L_N alone
    close(torch.autograd.grad(whole.last(model, u, before, chunk=4)[0][-1].sum(), by), expected)


def test_the_layouts_are_those_of_the_network():
    u = normal(5, 3, 2)
    packed = pack_padded_sequence(u, torch.tensor([3, 5, 1]), enforce_sorted=False)
    cases = [(network(2), packed), (network(2, batch_first=True), u.transpose(0, 1)), (network(2), u[:, 0])]
    for model, given in cases:
        output, state = whole.run(model, given, chunk=2)
        expected, last = model(given)
        if given is packed:
            output, expected = output.data, expected.data
        close([output, *state], [expected, *last])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("index", INDICES)
def test_samples_without_a_step_keep_their_state_and_its_gradient(index, mode):
    expected, found = both(network(3, residual_skip=2, index=index), 4, [0, 0, 0, 0], chunk=3, backward=mode)
    close(found, expected)


def test_a_batch_may_be_empty():
    model = network(2)
    output, state = whole.run(model, normal(5, 0, 2), chunk=2)
    gradients = torch.autograd.grad(output.sum() + state[0].sum(), list(model.parameters()), allow_unused=True)
    assert output.shape == (5, 0, 3) and not any(each is not None and each.any() for each in gradients)


def test_under_autocast_the_walk_keeps_the_digits_of_the_parameters():
    model, u = network(2, dtype=torch.float32), normal(9, 2, 2).float()
    expected = whole.last(model, u)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = whole.last(model, u)
        gradients = torch.autograd.grad(found[0].sum(), list(model.parameters()))
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    close(gradients, torch.autograd.grad(expected[0].sum(), list(model.parameters())), 0.0)


def test_two_walks_give_the_same_bits():
    model, u = network(3), normal(50, 4, 2)
    runs = [torch.autograd.grad(whole.last(model, u, chunk=7)[0].sum(), list(model.parameters())) for _ in range(2)]
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))


# --- a loss taken chunk by chunk


@pytest.mark.parametrize("lengths", [None, [4, 0, 3, 1]])
@pytest.mark.parametrize("mode", MODES)
def test_a_sum_over_time_is_taken_chunk_by_chunk(mode, lengths):
    model, readout = network(2), nn.Linear(3, 2, dtype=F64)
    target = normal(9, 4, 2, seed=7)

    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.readout = readout

        def forward(self, rows, begin):
            return (self.readout(rows) - target[begin : begin + len(rows)]).square().sum()

    u = normal(9, 4, 2).requires_grad_()
    by = [u, *model.parameters(), *readout.parameters()]
    output, state = model(u, lengths=lengths)
    expected = Loss()(output, 0)
    found, last = whole.accumulate(model, u, Loss(), lengths=lengths, chunk=2, backward=mode)
    close([found, *last], [expected, *state])
    both = [torch.autograd.grad(2 * value + s[1].sum(), by) for value, s in ((found, last), (expected, state))]
    close(*both)
    with torch.no_grad():
        close(whole.accumulate(model, u, Loss(), lengths=lengths)[0:1], [expected])


def test_a_readout_that_would_get_no_gradient_is_refused():
    model, u, readout = network(2), normal(5, 2, 2), nn.Linear(3, 1, dtype=F64)
    with pytest.raises(ValueError, match="not among its parameters"):
        whole.accumulate(model, u, lambda rows, start: readout(rows).sum())
    with pytest.raises(ValueError, match=r"The readout of a chunk has shape \(5, 2, 3\)"):
        whole.accumulate(model, u, lambda rows, start: rows)
    scaled = readout.weight * 2  # what it depends on need not be a leaf
    value, _ = whole.accumulate(model, u, lambda rows, start: (rows @ scaled.T).sum(), parameters=[scaled])
    expected = (model(u)[0] @ scaled.T).sum()
    close(*(torch.autograd.grad(each, readout.weight, retain_graph=True) for each in (value, expected)))
    value, _ = whole.accumulate(model, u, lambda rows, start: torch.ones((), dtype=F64))
    assert value == 1.0


# --- memory


def peak(steps, call, *, batch=4, inputs=2, hidden=8, layers=3, needs_input=False, dtype=F64):
    """Bytes of tensors live at once during one gradient of the last state, the input's among them."""
    model = whole_network(inputs, hidden, layers, dtype)
    with LiveBytes() as bytes_:
        u = torch.ones(steps, batch, inputs, dtype=dtype).requires_grad_(needs_input)
        call(model, u).sum().backward()
    return bytes_.peak


def whole_network(inputs, hidden, layers, dtype):
    from odernn.cells.unicornn import UnICORNN

    generator = torch.Generator().manual_seed(0)
    return UnICORNN(inputs, hidden, layers, dt=0.1, alpha=1.0, generator=generator, dtype=dtype)


def slope(call, **options):
    """Bytes a step, from two lengths; and that a third one lies on the line."""
    one, two, three = (peak(16 * k, call, **options) for k in (1, 2, 3))
    assert three - two == two - one, "the peak is not affine in N"
    return (two - one) / 16


def walk(model, u, **options):
    return whole.last(model, u, chunk=8, **options)[0][-1]


def test_a_reversible_walk_needs_the_input_and_nothing_else_that_grows():
    batch, inputs, hidden, layers, size = 4, 2, 8, 3, 8
    assert slope(walk) == batch * inputs * size
    assert slope(walk, needs_input=True) == 2 * batch * inputs * size
    kept = 2 * layers * batch * hidden * size / 8
    assert slope(lambda m, u: walk(m, u, backward="checkpointed")) == batch * inputs * size + kept
    with pytest.warns(ReconstructionWarning):  # the way out of a failed walk
        assert slope(lambda m, u: walk(m, u, tolerance=0.0)) == batch * inputs * size + kept
    rows = slope(lambda m, u: whole.run(m, u, chunk=8)[0][-1])
    assert rows == batch * (inputs + hidden) * size  # y^L, and when that is not needed any more its cotangent
    plain = slope(lambda m, u: m(u)[0][-1])
    assert plain >= batch * (inputs + 5 * layers * hidden) * size  # x, y, z, s, s + α y of every layer, at least


def test_a_walk_needs_less_than_a_fifth_of_a_tenth_of_plain_backpropagation_at_the_size_of_eigenworms():
    shape = {"batch": 8, "inputs": 6, "hidden": 32, "layers": 3, "dtype": torch.float32}
    ways = {"walk": lambda m, u: whole.last(m, u, chunk=32)[0][-1], "plain": lambda m, u: m(u)[1][0][-1]}
    peaks = {}
    for name, call in ways.items():
        short, long = (peak(steps, call, **shape) for steps in (64, 128))
        peaks[name] = long + (17984 - 128) * (long - short) / 64  # affine in N: the test above
    assert peaks["walk"] <= 0.02 * peaks["plain"]


def test_the_recorded_measurement_says_so():
    recorded = json.loads(RECORDED.read_text())
    assert recorded["shape"] == {"batch": 8, "inputs": 6, "hidden": 32, "layers": 3}
    largest = {name: way["runs"][-1] for name, way in recorded["ways"].items()}
    assert {run["steps"] for run in largest.values()} == {17984}
    for name in ("stack, reversible", "stack, checkpointed"):
        for plain in ("autograd", "stored rows"):
            assert largest[name]["peak_bytes"] <= 0.15 * largest[plain]["peak_bytes"]


def test_the_counter_counts():
    with LiveBytes() as bytes_:
        a = torch.ones(100, dtype=F64)
        b = a.view(10, 10)
        c = b + 1
        assert bytes_.live == 1600
        del c
        assert (bytes_.live, bytes_.peak) == (800, 1600)
        del a, b
        assert (bytes_.live, bytes_.peak) == (0, 1600)


# --- health


def chaotic():
    """Wide w and no restoring force: rounding errors grow until nothing of the states is left."""
    model = network(2, dt=0.9, alpha=0.0, dtype=torch.float32)
    with torch.no_grad():
        for layer in model.layers:
            layer.w.mul_(8.0)
            layer.c.fill_(3.0)
    return model, 3 * normal(200, 2, 2).float()


def test_where_rounding_destroys_the_states_the_gradient_is_the_checkpointed_one_and_there_is_a_warning():
    model, u = chaotic()
    by, seen = list(model.parameters()), []
    state = whole.last(model, u, watch=seen.append, chunk=64)
    with pytest.warns(ReconstructionWarning, match="rebuilt backwards from step 200"):
        found = torch.autograd.grad(state[0].sum(), by)
    expected = torch.autograd.grad(whole.last(model, u, backward="checkpointed", chunk=64)[0].sum(), by)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    (record,) = seen
    assert record.step == 0 and not record.is_accepted and max(record.y, record.z) > record.tolerance == 0.01
    wrong = torch.autograd.grad(whole.last(model, u, tolerance=math.inf, chunk=64)[0].sum(), by)
    assert any((a - b).norm() > 0.5 * b.norm() for a, b in zip(wrong, expected, strict=True))


def test_only_the_part_that_failed_is_computed_again():
    model, u = network(2), normal(60, 2, 2).requires_grad_()
    expected, found = [], []
    whole.last(model, u, chunk=5, checkpoints=2, watch=found.append)[0].sum().backward()
    assert [record.step for record in found] == [40, 20, 0] and all(record.is_accepted for record in found)
    expected, u.grad = u.grad, None
    between = sorted(max(record.y, record.z, record.share, record.between) for record in found)
    tolerance = (between[0] + between[1]) / 2
    again = []
    state = whole.last(model, u, chunk=5, checkpoints=2, tolerance=tolerance, watch=again.append)
    with pytest.warns(ReconstructionWarning) as caught:
        state[0].sum().backward()
    # the share is relative to gradients so far, some of which now come from other states
    assert all(math.isclose(a.share, b.share, rel_tol=1e-6) for a, b in zip(again, found, strict=True))
    assert [replace(a, share=0.0) for a in again] == [replace(b, share=0.0, tolerance=tolerance) for b in found]
    assert len(caught) == sum(not record.is_accepted for record in again) == 2
    close([u.grad], [expected])


def test_kept_states_keep_the_errors_small():
    model, u = chaotic()
    errors = []
    for checkpoints in (0, 9):
        seen = []
        state = whole.last(model, u, chunk=10, checkpoints=checkpoints, tolerance=math.inf, watch=seen.append)
        state[0].sum().backward()
        assert len(seen) == checkpoints + 1
        errors.append(max(record.y for record in seen))
    assert errors[1] < errors[0] / 100


def test_a_rebuilt_state_that_is_no_number_is_not_accepted():
    for good, bad in itertools.product((0.0, 1.0), (1.5, math.inf, math.nan)):
        assert Rebuilt(0, good, good, good, good, tolerance=1.0).is_accepted
        for place in range(4):
            numbers = [good] * place + [bad] + [good] * (3 - place)
            assert not Rebuilt(0, *numbers, tolerance=1.0).is_accepted


def both_ways(model, value):
    """Gradients of value(call, options) walked reversibly and as checkpointed, what was seen, and the warnings."""
    by, seen = list(model.parameters()), []
    expected = torch.autograd.grad(value(backward="checkpointed"), by, allow_unused=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = torch.autograd.grad(value(watch=seen.append), by, allow_unused=True)
    return found, expected, seen, [each for each in caught if each.category is ReconstructionWarning]


def off_by(found, expected) -> float:
    """The largest relative error of a gradient, in the norm of its parameter."""
    pairs = [(a, b) for a, b in zip(found, expected, strict=True) if b is not None]
    return max(float((a - b).norm() / b.norm()) if b.any() else float(a.norm()) for a, b in pairs)


#             w, steps, the input's only value that is not 0
SADDLES = [
    (-1.0, 128, 1e-5),
    (-1.0, 180, 1e-9),
    (-1.0, 100, 1e-5),
    (-1.0, 160, 1e-8),
    (-4.0, 60, 1e-9),
    (-4.0, 80, 1e-8),
]


def saddle(w, steps, size):
    """One neuron with α = 0 and w < 0, on its way from a tiny state to a moderate one, its gradients by w and c."""
    from odernn.cells.unicornn import UnICORNN

    model, u = UnICORNN(1, 1, 1, dt=0.2, alpha=0.0), torch.zeros(steps, 1, 1)
    u[0] = size
    with torch.no_grad():
        for parameter, value in ((model.layers[0].w, w), (model.layers[0].V, 1.0), (model.layers[0].b, 0.0)):
            parameter.fill_(value)
        model.layers[0].c.zero_()  # h = dt/2
    return model, u


@pytest.mark.parametrize("case", SADDLES)
@pytest.mark.parametrize("chunk", [16, 256])
def test_on_a_saddle_errors_that_are_large_beside_tiny_states_are_noticed(case, chunk):
    model, u = saddle(*case)
    found, expected, (record,), caught = both_ways(model, lambda **o: model.last(u, chunk=chunk, **o)[0][-1].sum())
    assert len(caught) == 1 and "gradients of products with them" in str(caught[0].message)
    assert record.share > 0.3 and all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("case", SADDLES[:2])
def test_without_the_share_a_saddle_is_wrong_without_a_warning(case, monkeypatch):
    """Planted fault: the absolute criterion alone."""
    monkeypatch.setattr(_stack_walk, "largest_share", lambda *_: 0.0)
    monkeypatch.setattr(Paths, "apart", lambda *_: 0.0)
    model, u = saddle(*case)
    found, expected, _, caught = both_ways(model, lambda **o: model.last(u, **o)[0][-1].sum())
    assert not caught and off_by(found, expected) > 1.0


def test_errors_that_come_back_to_the_saddle_are_noticed(monkeypatch):
    """At rest on a saddle until step 158: rebuilt, it leaves along one separatrix and is back before step 0."""
    model, u = saddle(-2.4414002895355225, 204, 0.0)
    u[158] = 3.971737e-06
    with torch.no_grad():
        model.alpha.fill_(0.7746952176094055)
        model.dt.fill_(0.29213838577270507)
        model.layers[0].c.fill_(0.06087840721011162)
        model.layers[0].V.fill_(0.36948060989379883)
    loss = partial(a_loss, model, u, {}, sums_over_time=False)
    found, expected, (record,), caught = both_ways(model, loss)
    assert record.between > 0.1 and max(record.y, record.z, record.share) < record.tolerance
    assert len(caught) == 1 and all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    monkeypatch.setattr(Paths, "apart", lambda *_: 0.0)
    found, expected, _, caught = both_ways(model, loss)
    assert not caught and off_by(found, expected) > 1e4


def random_network(seed):
    """2 x 16 neurons, saddles among them, and an input whose size is anywhere from 0.001 to 10."""
    from odernn.cells.unicornn import UnICORNN

    generator = torch.Generator().manual_seed(seed)
    low, size = (float(each) for each in torch.rand(2, generator=generator))
    model = UnICORNN(3, 16, 2, dt=0.2, alpha=0.5, index=INDICES[seed % 2], generator=generator)
    with torch.no_grad():
        for layer in model.layers:
            layer.w.copy_(-2 * low + (1 + 2 * low) * torch.rand(16, generator=generator))
            if seed % 3:
                layer.b.zero_()
    steps = 30 + int(torch.randint(120, (), generator=generator))
    return model, torch.randn(steps, 4, 3, generator=generator) * 10 ** (4 * size - 3)


def a_loss(model, u, options, *, sums_over_time, **more):
    if sums_over_time:
        return whole.accumulate(model, u, lambda rows, _: rows.square().sum(), **options | more)[0]
    return whole.last(model, u, **options | more)[0][-1].sum()


@pytest.mark.parametrize(("checkpoints", "every_so_many"), [slow((0, 1)), slow((2, 1)), (2, 5)])
def test_no_gradient_of_a_random_network_is_wrong_without_a_warning(checkpoints, every_so_many):
    warned, worst = 0, 0.0
    for seed in range(0, 36, every_so_many):
        model, u = random_network(seed)
        lengths = None if seed % 4 else [len(u), 17, 0, len(u) - 1]
        options = {"chunk": 32, "lengths": lengths, "checkpoints": checkpoints}
        found, expected, _, caught = both_ways(model, partial(a_loss, model, u, options, sums_over_time=seed % 5 == 0))
        warned += bool(caught)
        worst = max(worst, off_by(found, expected))
    assert worst <= 0.05 and (2 <= warned <= 31 or checkpoints), (worst, warned)


def test_the_gradient_of_a_readout_is_looked_at_too():
    """A readout that multiplies tiny rows: no weight of the network sees them as it does."""
    model, u = saddle(-1.0, 128, 1e-5)
    weight = torch.ones((), requires_grad=True)

    def value(**options):
        return whole.accumulate(model, u, lambda rows, _: (weight * rows).sum(), parameters=[weight], **options)[0]

    seen = []
    with pytest.warns(ReconstructionWarning):
        value(watch=seen.append, chunk=32).backward()
    expected = value(backward="checkpointed", chunk=32)
    assert torch.equal(weight.grad, torch.autograd.grad(expected, weight)[0])
    share = stack.GradientShare.none_yet(torch.zeros(2, 3))
    rows = 1e-6 * torch.ones(5, 2, 3)
    share.add(2, torch.ones(5, 2, 1), rows, stack.Chunk(0, 5, None))
    assert math.isclose(float(share.of(1e-8 * torch.ones(2, 3))), 0.01, rel_tol=1e-5)
    assert float(share.of(torch.zeros(2, 3))) == 0.0
    assert math.isnan(float(share.of(torch.full((2, 3), math.nan))))


@pytest.mark.slow
def test_where_states_are_not_tiny_the_share_raises_no_alarm():
    from odernn.cells.unicornn import UnICORNN

    for dt, alpha in ((0.19, 30.65), (0.126, 3.0), (0.0343, 0.0)):  # some of the paper's Table 6
        model = UnICORNN(4, 32, 3, dt=dt, alpha=alpha, generator=torch.Generator().manual_seed(0))
        u = torch.randn(784, 4, 4, generator=torch.Generator().manual_seed(1))
        found, expected, (record,), caught = both_ways(model, partial(a_loss, model, u, {}, sums_over_time=False))
        assert not caught and record.share <= 1e-3 and off_by(found, expected) <= 1e-3, (dt, alpha, record)


@pytest.mark.parametrize("index", INDICES)
def test_an_inverse_with_the_wrong_index_is_caught(index, monkeypatch):
    model, inverse = network(2, index=index), torch_loop.inverse
    u = normal(40, 2, 2)
    by = list(model.parameters())
    expected = torch.autograd.grad(model(u)[1][0].sum(), by)
    monkeypatch.setattr(torch_loop, "inverse", lambda x, **given: inverse(x.roll(1, 0), **given))
    state = whole.last(model, u, chunk=8)
    with pytest.warns(ReconstructionWarning):
        close(torch.autograd.grad(state[0].sum(), by), expected)


def test_a_walk_that_sees_the_layer_below_at_the_wrong_time_is_caught():
    model, other = network(2), network(2, index="sam")
    u = normal(9, 2, 2)
    grads = [torch.autograd.grad(whole.last(each, u)[0].sum(), list(each.parameters())) for each in (model, other)]
    assert all((a - b).abs().max() > 1e-6 for a, b in zip(*grads, strict=True))


# --- refusals


def test_what_cannot_be_walked_is_refused_with_the_reason():
    u = normal(5, 2, 2)
    cases = [
        (network(2, bidirectional=True), {}, "no chunk of time that all layers can go through together"),
        (network(2, dropout=0.5, dropout_mask="step"), {}, "dropout_mask is 'step'"),
        (network(2), {"backward": "stored"}, "backward is 'stored'. Choose from: 'reversible', 'checkpointed'"),
        (network(2), {"chunk": 0}, "chunk"),
        (network(2), {"checkpoints": -1}, "checkpoints is -1"),
        (network(2), {"previous_input": u[0]}, "no layer sees u_0"),
    ]
    for model, options, reason in cases:
        with pytest.raises(ValueError, match=reason.replace(".", r"\.")):
            whole.last(model, u, **options)
    assert whole.last(network(2, dropout=0.5, dropout_mask="step").eval(), u)[0].shape == (2, 2, 3)
    assert whole.last(network(1, dropout=0.5, dropout_mask="step"), u)[0].shape == (1, 2, 3)


def test_there_is_no_second_derivative():
    model = network(1)
    with pytest.raises(RuntimeError, match="no graph of its own gradient"):
        torch.autograd.grad(whole.last(model, normal(3, 2, 2))[0].sum(), model.layers[0].V, create_graph=True)


@pytest.mark.parametrize(("chunks", "states"), [(0, 3), (1, 3), (5, 0), (7, 2), (7, 100)])
def test_kept_states_are_spread_evenly(chunks, states):
    kept = sorted(stack.spread(chunks, states))
    assert all(0 < number < chunks for number in kept) and len(kept) == max(min(states, chunks - 1), 0)
    gaps = [b - a for a, b in itertools.pairwise([0, *kept, chunks])]
    assert not gaps or max(gaps) - min(gaps) <= 1
