"""Certified radii: never broken by ascent, the derivative is autograd's, what is beyond it stays below E, balls agree.

A planted fault, a radius that is somewhat too large, is broken where the certificate is nearly attained.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from odernn import DampedUnICORNN, ExpRNN, ScoRNN, UnICORNN, robustness
from odernn.bounds.radii import oscillators, stacks
from odernn.bounds.radii.norms import Norm
from odernn.bounds.reconstruction import PRECISIONS
from odernn.cells.urnn import URNN
from tests.odernn.bounds import radii_again
from tests.tiers import slow
from verification.adversary import input_ball

F64, F32 = torch.float64, torch.float32
STEPS, CLASSES = 7, 3


class Classifier(nn.Module):
    def __init__(self, recurrent: nn.Module, classes: int = CLASSES, *, mean: bool = False) -> None:
        super().__init__()
        self.recurrent, self.mean = recurrent, mean
        width = int(getattr(recurrent, "output_size", getattr(recurrent, "hidden_size", 0)))
        self.readout = nn.Linear(width, classes, dtype=next(recurrent.parameters()).dtype)

    def forward(self, u: Tensor) -> Tensor:
        rows = self.recurrent(u)[0]
        scores: Tensor = self.readout(rows.mean(0) if self.mean else rows[-1])
        return scores


CELLS: dict[str, Any] = {
    "UnICORNN": lambda **of: UnICORNN(2, 5, 2, dt=0.9, alpha=1.5, **of),
    "UnICORNN, G = 2": lambda **of: UnICORNN(2, 5, 2, dt=0.8, alpha=1.0, growth=2.0, steps=STEPS, **of),
    "DampedUnICORNN": lambda **of: DampedUnICORNN(2, 5, 2, dt=0.5, alpha=4.0, gamma=2.0, rate=0.4, **of),
    "ScoRNN": lambda **of: ScoRNN(2, 6, 2, rho=2, nonexpansive=True, initial="glorot", **of),
    "ExpRNN": lambda **of: ExpRNN(2, 6, nonexpansive=True, **of),
    "URNN": lambda **of: URNN(2, 3, capacity="restricted", product="matrix", nonexpansive=True, **of),
}
OSCILLATORS = ("UnICORNN", "UnICORNN, G = 2", "DampedUnICORNN")


def drawn(cell: str, seed: int, dtype: torch.dtype = F64, scale: float = 3.0, *, mean: bool = False) -> Any:
    """A classifier with larger weights than those at the start, so that tanh bends."""
    torch.manual_seed(seed)
    model = Classifier(CELLS[cell](dtype=dtype, generator=torch.Generator().manual_seed(seed)), mean=mean)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith((".V", ".w", ".b", "readout.weight")):
                parameter.mul_(scale)
    return model.eval()


def sequences(seed: int, batch: int, dtype: torch.dtype = F64) -> Tensor:
    return torch.rand(STEPS, batch, 2, generator=torch.Generator().manual_seed(seed), dtype=F64).to(dtype)


def own_labels(model: nn.Module, u: Tensor) -> Tensor:
    with torch.no_grad():
        found: Tensor = model(u).argmax(dim=1)
    return found


def broken(model: nn.Module, u: Tensor, labels: Tensor, radii: Tensor, norm: Any, seed: int = 0) -> Tensor:
    """Which sequences ascent turns within their radii, (B,)."""
    generator = torch.Generator().manual_seed(seed)
    point = input_ball.moved(model, u, labels, radii, ball=norm, steps=30, generator=generator)
    distance = input_ball.sizes(point.double() - u.double(), norm).amax(dim=0)[:, 0]
    assert bool((distance <= radii).all())
    with torch.no_grad():
        return input_ball.lead(model(point), labels) >= 0


@pytest.mark.parametrize("seed", [0, slow(1), slow(2), slow(3)])
@pytest.mark.parametrize(
    ("norm", "dtype"),
    [
        ("sequence", F32),
        ("step", F64),
        pytest.param("sequence", F64, marks=pytest.mark.slow),
        pytest.param("step", F32, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("cell", CELLS)
def test_no_certified_ball_is_broken(cell: str, dtype: torch.dtype, norm: Any, seed: int, one_thread: None) -> None:
    model, u = drawn(cell, seed, dtype, mean=seed % 2 == 1), sequences(seed, 12, dtype)
    labels = own_labels(model, u)
    found = robustness(model, u, labels, norm=norm)
    assert found.radii is not None
    radii = torch.tensor(found.radii, dtype=F64)
    assert int((radii > 0).sum()) >= 9
    assert not bool(broken(model, u, labels, radii, norm, seed).any())
    nearest = input_ball.nearest(model, u, labels, torch.tensor([0.1, 1.0]), ball=norm, steps=8, halvings=2)
    assert bool((nearest > radii).all())


@pytest.mark.parametrize("cell", OSCILLATORS)
def test_a_radius_a_tenth_too_large_is_broken_where_the_margin_is_small(cell: str, one_thread: None) -> None:
    """With scores that nearly tie the derivative is all there is: a factor that is missing cannot hide."""
    model, u = drawn(cell, 3), sequences(3, 8)
    with torch.no_grad():
        labels = own_labels(model, u)
        scores = model(u[:, :1])[0]
        second = scores.topk(2).indices[1]
        model.readout.bias[second] += scores.max() - scores[second] - 1e-5
    u, labels = u[:, :1], labels[:1]
    (radius,) = robustness(model, u, labels).radii or ()
    assert 0 < radius < 1e-3
    right, too_large = torch.tensor([radius], dtype=F64), torch.tensor([1.1 * radius], dtype=F64)
    assert not bool(broken(model, u, labels, right, "sequence"))
    assert bool(broken(model, u, labels, too_large, "sequence"))


def test_half_a_lipschitz_constant_is_broken_where_it_is_attained(one_thread: None) -> None:
    """W = I, V = 2: scores are ±Σu, so that the constant ‖V‖ √N is attained, and twice the radius is too much."""
    model = Classifier(ScoRNN(1, 1, rho=0, bias=False, nonexpansive=True, dtype=F64), 2).eval()
    with torch.no_grad():
        model.recurrent.layers[0].U.fill_(2.0)
        model.readout.weight.copy_(torch.tensor([[1.0], [-1.0]]))
        model.readout.bias.zero_()
    u, labels = torch.full((9, 1, 1), 0.1, dtype=F64), torch.tensor([0])
    found = robustness(model, u, labels)
    assert found.theorem == ("thm-Lip",)
    (radius,) = found.radii or ()
    assert radius == pytest.approx(0.3, rel=1e-9) and radius < 0.3  # 2 · 9 · 0.2 over 2 · 2 · √9
    assert not bool(broken(model, u, labels, torch.tensor([radius], dtype=F64), "sequence"))
    assert bool(broken(model, u, labels, torch.tensor([1.01 * radius], dtype=F64), "sequence"))
    (a_step,) = robustness(model, u, labels, norm="step").radii or ()
    assert a_step == pytest.approx(0.1, rel=1e-9) and a_step < 0.1


@pytest.mark.parametrize("cell", ["ScoRNN", "ExpRNN", "UnICORNN"])
def test_a_margin_that_rounding_could_make_has_no_radius(cell: str) -> None:
    """The same weights with a margin of 16 units in the last place: float64 keeps a class, float32 may lose it."""
    model, u = drawn(cell, 2, F32), sequences(2, 1, F32)
    with torch.no_grad():
        scores = model(u)[0]
        label, second = scores.topk(2).indices
        gap = 16 * torch.finfo(F32).eps * scores.abs().max().clamp(min=1.0)
        model.readout.bias[second] += scores[label] - scores[second] - gap
        ahead = model(u)[0, label] - model(u)[0, second]
    assert 0 < float(ahead) < 2 * float(gap)
    assert robustness(model, u, label[None]).radii == (0.0,)
    (radius,) = robustness(model.double(), u.double(), label[None]).radii or ()
    assert 0 < radius < 1e-4


def taken(model: Any, u: Tensor, norm: Norm, *, mean: bool = False) -> tuple[Any, Any]:
    stack = stacks.stack_of(model.recurrent, len(u))
    assert not isinstance(stack, str)
    with torch.no_grad():
        return stack, oscillators.linearised(stack, u.double(), norm, of_mean=mean)


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("cell", OSCILLATORS)
def test_the_derivative_is_autograds(cell: str, mean: bool) -> None:
    model, u = drawn(cell, 5), sequences(5, 3)
    _, run = taken(model, u, Norm.SEQUENCE, mean=mean)

    def rows(v: Tensor) -> Tensor:
        found: Tensor = model.recurrent(v)[0]
        return found.mean(0) if mean else found[-1]

    J = torch.autograd.functional.jacobian(rows, u)  # (B, m, N, B, d)
    for k in range(3):
        wanted = J[k, :, :, k]
        torch.testing.assert_close(run.derivative[k], wanted.flatten(1), rtol=1e-11, atol=1e-13)
        assert bool((run.by_seen[k] >= wanted.flatten(1).norm(dim=1) * (1 - 1e-12)).all())
        by_step = Norm.STEP.dual(run.derivative[k], 2)
        torch.testing.assert_close(by_step, wanted.norm(dim=2).sum(dim=1), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("cell", OSCILLATORS)
def test_what_is_beyond_the_derivative_stays_below_E(
    cell: str, norm: Norm, dtype: torch.dtype, one_thread: None
) -> None:
    """400 changes at random and along rows of the derivative, of sizes 0 to 1, of runs in the dtype."""
    model, u = drawn(cell, 6, dtype), sequences(6, 1, dtype)
    stack, run = taken(model, u, norm)
    radii = torch.tensor([[1e-3, 0.03, 0.2, 1.0, 0.0]], dtype=F64)
    precision = PRECISIONS[str(dtype).removeprefix("torch.")]
    with torch.no_grad():
        E = oscillators.remainders(stack, run, u.double(), radii, precision, of_mean=False)[0]
        assert bool(((model.recurrent(u)[0][-1, 0].double() - run.seen[0]).abs() <= E[:, -1]).all())
    generator, closest = torch.Generator().manual_seed(0), 0.0
    lines = run.derivative[0].unflatten(1, (STEPS, 2)).transpose(0, 1)
    for k, radius in enumerate(radii[0, :-1].tolist()):
        change = torch.randn(STEPS, 400, 2, generator=generator, dtype=F64)
        change[:, :10] = torch.cat([lines, -lines], dim=1)
        change = change / input_ball.sizes(change, norm.value) * radius
        point = input_ball.within(u.expand(-1, 400, -1), change.to(dtype), torch.full((400,), radius), norm.value)
        exact = (point.double() - u.double()).movedim(1, 0).flatten(1)
        with torch.no_grad():
            moved = model.recurrent(point)[0][-1].double() - run.seen
        beyond = (moved - exact @ run.derivative[0].T).abs()
        assert bool((beyond <= E[:, k]).all()), radius
        closest = max(closest, float((beyond / E[:, k]).max()))
    assert closest > 0.05, "E is far above all that was seen: then this test sees no fault"


def test_sums_that_cancel_in_float32_are_counted() -> None:
    """A = 10⁵ (u_1 + u_2 − u_3 − …) of numbers near 1: what its sum rounds off is a thousand times what a step does."""
    torch.manual_seed(0)
    model = Classifier(UnICORNN(6, 1, dt=0.9, alpha=1.0, multiscale=False)).eval()
    with torch.no_grad():
        model.recurrent.layers[0].V.copy_(1e5 * torch.tensor([[1.0, 1.0, 1.0, -1.0, -1.0, -1.0]]))
    values = torch.rand(1, 200, 5)
    u = torch.cat(
        [values, values[..., :2].sum(-1, keepdim=True) + values[..., 2:3] - values[..., 3:].sum(-1, keepdim=True)], -1
    )
    stack, run = taken(model, u, Norm.SEQUENCE)
    with torch.no_grad():
        E = oscillators.remainders(
            stack, run, u.double(), torch.zeros(200, 1, dtype=F64), PRECISIONS["float32"], of_mean=False
        )
        found = (model.recurrent(u)[0][-1].double() - run.seen).abs()
    assert bool((found <= E[:, :, 0]).all()) and float((found / E[:, :, 0]).max()) > 0.01


def test_E_is_nearly_attained_by_one_neuron_and_one_step() -> None:
    """y = −h² tanh(V u + b) where tanh bends most: half of E, or h for h², would be exceeded."""
    model = Classifier(UnICORNN(1, 1, dt=0.9, alpha=1.0, multiscale=False, dtype=F64)).eval()
    with torch.no_grad():
        model.recurrent.layers[0].V.fill_(2.0), model.recurrent.layers[0].b.fill_(math.atanh(1 / math.sqrt(3)))
    u = torch.zeros(1, 1, 1, dtype=F64)
    stack, run = taken(model, u, Norm.SEQUENCE)
    with torch.no_grad():
        E = oscillators.remainders(
            stack, run, u, torch.tensor([[0.05]], dtype=F64), PRECISIONS["float64"], of_mean=False
        )
        ends = [
            abs(float(model.recurrent(u + x)[0][-1] - run.seen - x * run.derivative[0, 0, 0])) for x in (-0.05, 0.05)
        ]
    assert 0.8 < max(ends) / float(E) <= 1


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("norm", ["sequence", "step"])
@pytest.mark.parametrize("cell", OSCILLATORS)
def test_balls_prove_the_same_radii(cell: str, norm: Any, mean: bool, one_thread: None) -> None:
    """Typed again, at 128 bits; of 15 % more neither is anything proved."""
    model, u = drawn(cell, 8, mean=mean), sequences(8, 2)
    labels = own_labels(model, u)
    found = robustness(model, u, labels, norm=norm)
    proved = [
        (k, r) for k, (r, t) in enumerate(zip(found.radii or (), found.theorem, strict=True)) if t == "thm-R" and r > 0
    ]
    assert proved
    for k, radius in proved:
        sure = radii_again.kept(model.recurrent, model.readout, u[:, k], int(labels[k]), radius, norm, mean)
        too_much = radii_again.kept(model.recurrent, model.readout, u[:, k], int(labels[k]), 1.15 * radius, norm, mean)
        assert sure and not too_much


def test_a_wrong_class_has_no_radius_and_a_network_without_a_theorem_says_why() -> None:
    model, u = drawn("UnICORNN", 0), sequences(0, 5)
    labels = own_labels(model, u)
    labels[2] = (labels[2] + 1) % CLASSES
    found = robustness(model, u, labels)
    assert found.radii is not None and found.radii[2] == 0.0 and found.theorem[2] == ""
    assert found.accuracy == 0.8 and found.is_right.count(False) == 1
    for kind in (nn.LSTM, nn.GRU):
        none = robustness(Classifier(kind(2, 4, dtype=F64)).eval(), u, labels)
        assert none.radii is None and kind.__name__ in none.reason and none.share(0.1) is None
        assert none.reason in str(none)
    jumps = ScoRNN(2, 4, rho=2, dtype=F64)
    with torch.no_grad():
        jumps.layers[0].b.fill_(0.1)
    assert "nonexpansive=True" in robustness(Classifier(jumps).eval(), u, labels).reason
    for options in ({"index": "sam"}, {"residual_skip": 2}):
        other = UnICORNN(2, 4, 3, dt=0.5, alpha=1.0, dtype=F64, **options)
        assert robustness(Classifier(other).eval(), u, labels).radii is None


def test_the_answer_is_text_of_80_columns_and_json() -> None:
    model, u = drawn("DampedUnICORNN", 0, F32), sequences(0, 5, F32)
    found = robustness(model, u, own_labels(model, u))
    text = str(found)
    assert max(map(len, text.splitlines())) <= 80
    assert "certified" in text and "DampedUnICORNN, 7 steps, float32: 5 sequences, 100.0% right." in text
    read = json.loads(json.dumps(found.as_json()))
    assert read["radii"] == list(found.radii or ()) and read["norm"] == "sequence"
    assert found.share(0.0) == 1.0 and found.share(1e9) == 0.0


def test_batch_first_is_read_as_the_network_does() -> None:
    one, u = drawn("UnICORNN", 4), sequences(4, 3)
    labels = own_labels(one, u)
    other = drawn("UnICORNN", 4)
    other.recurrent.batch_first = True
    other.forward = lambda v: other.readout(other.recurrent(v)[0][:, -1])
    assert robustness(other, u.transpose(0, 1), labels).radii == robustness(one, u, labels).radii


def half_read(model: Any) -> Any:
    model.readout.float()
    return model


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m, u, t: (m.train(), u, t), "model.eval()"),
        (lambda m, u, t: (m, u[:, 0], t), "Give a batch"),
        (lambda m, u, t: (m, u[:, :0], t[:0]), "no numbers"),
        (lambda m, u, t: (m, u * math.nan, t), "not finite"),
        (lambda m, u, t: (m, u, t[:-1]), "one integer"),
        (lambda m, u, t: (m, u, t + 7), "there are 3 classes"),
        (lambda m, u, t: (m.recurrent.eval(), u, t), "one recurrent network and one nn.Linear"),
        (lambda m, u, t: (nn.Identity().eval(), u, t), "one recurrent network and one nn.Linear"),
        (lambda m, u, t: (m.forward, u, t), "torch.nn.Module"),
        (lambda m, u, t: (m, u.numpy(), t), "torch.as_tensor(inputs)"),
        (lambda m, u, t: (m, u, t.tolist()), "torch.as_tensor(labels)"),
        (lambda m, u, t: (m, u, t, "2"), "'sequence' or 'step'"),
        (lambda m, u, t: (half_read(m), u, t), "Convert one of them"),
    ],
)
def test_what_is_refused_says_what_to_change(change: Any, words: str) -> None:
    model, u = drawn("UnICORNN", 0), sequences(0, 3)
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        given = change(model, u, own_labels(model, u))
        robustness(*given[:3], **({"norm": given[3]} if len(given) > 3 else {}))


def test_a_model_that_reads_something_else_is_refused() -> None:
    model, u = drawn("UnICORNN", 0), sequences(0, 3)
    labels = own_labels(model, u)
    model.forward = lambda v: model.readout(model.recurrent(v)[0][0])
    with pytest.raises(ValueError, match="neither of the last row"):
        robustness(model, u, labels)


def _hooked(model: Any) -> None:
    model.readout.register_forward_hook(lambda _, given, scores: torch.tanh(30 * scores))


def _scaled_before_the_readout(model: Any) -> None:
    model.readout.register_forward_pre_hook(lambda _, given: (100 * given[0],))


def _another_readout(model: Any) -> None:
    model.readout.forward = lambda rows: nn.functional.linear(100 * rows, model.readout.weight, model.readout.bias)


def _derived_readout(model: Any) -> None:
    class Scaled(nn.Linear):
        def forward(self, input: Tensor) -> Tensor:
            return super().forward(100 * input)

    model.readout.__class__ = Scaled


def _bent_inputs(model: Any) -> None:
    model.forward = lambda u: model.readout(model.recurrent(u - 8 * u.clamp(max=0.0))[0][-1])


def _rounded_inputs(model: Any) -> None:
    model.forward = lambda u: model.readout(model.recurrent((4 * u).round() / 4)[0][-1])


def _sum_of_rows(model: Any) -> None:
    model.recurrent.layers[0].b = None
    model.forward = lambda u: model.readout(5 * model.recurrent(u)[0].sum(0))


def _part_in_training(model: Any) -> None:
    model.recurrent.train()


@pytest.mark.parametrize(
    ("change", "scale"),
    [
        (_hooked, 1.0),
        (_scaled_before_the_readout, 1.0),
        (_another_readout, 1.0),
        (_derived_readout, 1.0),
        (_bent_inputs, 1.0),
        (_rounded_inputs, 1.0),
        (_sum_of_rows, 0.0),
        (_part_in_training, 1.0),
    ],
)
@pytest.mark.parametrize("kind", ["UnICORNN", "ScoRNN"])
def test_what_is_no_network_and_readout_is_refused_although_it_is_on_these_inputs(
    kind: str, change: Any, scale: float
) -> None:
    """On quarters ≥ 0 rounding and bending do nothing; of u = 0 without b all rows are 0."""
    options = {"UnICORNN": {"dt": 0.9, "alpha": 1.5}, "ScoRNN": {"rho": 2, "nonexpansive": True, "bias": False}}
    model: Any = Classifier({"UnICORNN": UnICORNN, "ScoRNN": ScoRNN}[kind](2, 6, dtype=F64, **options[kind])).eval()
    u = scale * (4 * sequences(0, 3)).round() / 4
    labels = own_labels(model, u)
    assert robustness(model, u, labels).radii is not None
    change(model)
    with pytest.raises((TypeError, ValueError), match=r"neither of the last row|one nn.Linear|model.eval\(\)"):
        robustness(model, u, labels)


@pytest.mark.parametrize("method", ["forward", "__call__"])
@pytest.mark.parametrize("kind", [UnICORNN, ScoRNN, DampedUnICORNN])
def test_a_class_that_changes_a_pass_has_no_radius_whatever_its_name(kind: Any, method: str) -> None:
    name = kind.__name__
    model: Any = drawn(name, 0)
    before = getattr(kind, method)
    model.recurrent.__class__ = type(name, (kind,), {method: lambda self, u, *given: before(self, 10 * u, *given)})
    u = sequences(0, 3)
    found = robustness(model, u, own_labels(model, u))
    assert found.radii is None and name in found.reason


@pytest.mark.parametrize(
    ("cell", "part", "method"), [("UnICORNN", "network", "coefficients"), ("ScoRNN", "layer", "drives")]
)
def test_a_module_with_a_method_of_its_own_has_no_radius(cell: str, part: str, method: str) -> None:
    model: Any = drawn(cell, 0)
    module = model.recurrent if part == "network" else model.recurrent.layers[0]
    setattr(module, method, getattr(module, method))
    u = sequences(0, 3)
    assert f"has a method {method} of its own" in robustness(model, u, own_labels(model, u)).reason


def test_a_score_that_may_overflow_has_no_radius() -> None:
    """y = (2.26, 2.35) and R = ±1.5·10³⁸: before y_0 passes y_1 its product is infinite, and so the class the first."""
    model: Any = Classifier(UnICORNN(2, 2, dt=0.9, alpha=0.0, multiscale=False, dtype=F32), 2).eval()
    layer, R = model.recurrent.layers[0], torch.tensor([[1.0, -1.0], [-1.0, 1.0]])
    with torch.no_grad():
        layer.V.copy_(-torch.eye(2)), layer.b.zero_(), layer.w.zero_(), model.readout.bias.zero_()
        model.readout.weight.copy_(R)
    u, labels = torch.tensor([2.26 / 2.43, 2.35 / 2.43]).atanh().expand(2, 1, 2), torch.tensor([1])
    (radius,) = robustness(model, u, labels).radii or ()
    assert radius > 0.15
    beside = u + torch.tensor([0.1, 0.0])
    with torch.no_grad():
        assert int(model(beside).argmax()) == 1
        model.readout.weight.copy_(1.5e38 * R)
        assert int(model(beside).argmax()) == 0
    assert robustness(model, u, labels).radii == (0.0,)


@pytest.mark.parametrize("cell", ["UnICORNN", "DampedUnICORNN"])
def test_a_drive_that_may_overflow_has_no_radius(cell: str) -> None:
    """Scores are c whatever rows are, but in u_0 − u_1 of 10³⁸ rows may become ∞ − ∞, by the order of a sum."""
    model: Any = drawn(cell, 0, F32)
    with torch.no_grad():
        model.readout.weight.zero_(), model.readout.bias.copy_(torch.tensor([0.0, 1.0, 0.5]))
        model.recurrent.layers[0].V.copy_(torch.tensor([[1e10, -1e10]]).expand(5, 2))
    u, labels = torch.zeros(STEPS, 1, 2), torch.tensor([1])
    (radius,) = robustness(model, u, labels).radii or ()
    assert 0 < radius < 1e29


@pytest.mark.parametrize("cell", ["UnICORNN", "DampedUnICORNN", "ScoRNN"])
def test_weights_too_large_for_a_proof_have_radii_that_are_numbers(cell: str) -> None:
    model, u = drawn(cell, 0), sequences(0, 3)
    with torch.no_grad():
        model.readout.weight.mul_(1e200)
    assert robustness(model, u, own_labels(model, u)).radii == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("cell", ["UnICORNN", "DampedUnICORNN", "ScoRNN"])
def test_a_class_that_derives_without_changing_anything_has_the_same_radii(cell: str) -> None:
    model, u = drawn(cell, 3), sequences(3, 6)
    labels = own_labels(model, u)
    radii = robustness(model, u, labels).radii
    kind = type(model.recurrent)
    model.recurrent.__class__ = type("Named", (kind,), {})
    again = robustness(model, u, labels)
    assert again.radii == radii and radii is not None and max(radii) > 0 and again.cell == "Named"
