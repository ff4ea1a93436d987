"""A witness too large for neuron by neuron replay, m = 64, L = 3, N = 200, goes by the certificates of whole networks.

The statement is made up: the bound is set just below what the made network reaches, so that every small change of the
file that lowers the state must be refused, and every one that does not must prove a true violation.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from odernn.published.sources import Source
from tests.tiers import slow
from tests.verification.state_claims import state_witness, with_bound
from verification.cases.state_bound import refute
from verification.cases.state_bound.ratios import Evidence, Ratio, Trial
from verification.certify import balls, network_states
from verification.certify.second import intervals as second
from verification.certify.second import network_states as network_states_second
from verification.claim import Claim, Hypothesis, Part, StateBound
from verification.domains import SearchPoint
from verification.instance import Group, Inputs, Instance, Layer, to_plain
from verification.measure.hidden_state import run_instance
from verification.registry import Registered, Registry
from verification.system import UNICORNN, System
from verification.witness import state_check
from verification.witness.check import Replay, check
from verification.witness.file import Witness, from_json, to_json
from verification.witness.state_run import record
from verification.witness.text import WitnessError

M, D, DEPTH, STEPS = 64, 3, 3, 200


def sixteenths(noise: random.Random, bound: int) -> Fraction:
    return Fraction(noise.randint(-bound, bound) or 1, 16)


def network(
    *, m: int = M, d: int = D, depth: int = DEPTH, steps: int = STEPS, size: int = 2, seed: int = 0
) -> Instance:
    """Every neuron a group of its own and every weight and input another number: nothing can be merged."""
    noise = random.Random(seed)
    layers, below = [], d
    for _ in range(depth):
        groups = tuple(Group(1, sixteenths(noise, 16), sixteenths(noise, 16), sixteenths(noise, 16)) for _ in range(m))
        rows = tuple(tuple(sixteenths(noise, size) for _ in range(below)) for _ in range(m))
        layers.append(Layer(Fraction(1, 16), groups, rows))
        below = m
    runs = tuple((1, tuple(sixteenths(noise, 32) for _ in range(d))) for _ in range(steps))
    return Instance(Fraction(1), tuple(layers), Inputs(d, runs))


HYPOTHESES = (
    Hypothesis("α > 0", lambda s: s.alpha, second_margin=lambda s: s.alpha),
    Hypothesis("16 dt ≤ 1", lambda s: 1 - 16 * s.dt, strict=False, second_margin=lambda s: 1 - s.dt * 16),
)


def bounded_by(value: Fraction, quantity: str, norm: str, hypotheses: tuple[Hypothesis, ...] = HYPOTHESES) -> Claim:
    """‖…‖ ≤ value."""
    part = Part(
        quantity,
        norm,
        lambda s, numbers: numbers.log(numbers.exact(value)),
        lambda s, iv: iv.log(iv.mpf(value.numerator) / value.denominator),
    )
    bound = StateBound((part,), hypotheses)
    return Claim("made", Source("made", "up"), f"‖…‖ ≤ {value}", "real", state_bound=bound)


def registry_of(claim: Claim) -> Registry:
    registry = Registry.__new__(Registry)
    path = Path("made.py")
    registry._paths, registry._by_slug = {claim.id: path}, {claim.slug: claim.id}
    registry._loaded = {path: {claim.id: Registered(claim, path)}}
    return registry


def in_floats(instance: Instance, quantity: str, norm: str) -> float:
    """By torch, in float64."""
    y, z, counts = run_instance(UNICORNN, instance, len(instance.layers))
    values = (y if quantity == "position" else z)[-1, 0]
    size = values.abs().max() if norm == "max" else (values.square() * counts).sum().sqrt()
    return float(size)


def made(instance: Instance, quantity: str, norm: str, share: float = 1 - 1e-9) -> tuple[Claim, Witness]:
    """A bound at ``share`` of the state and the witness that it fails."""
    claim = bounded_by(Fraction(share * in_floats(instance, quantity, norm)), quantity, norm)
    where = {"layer": len(instance.layers), "step": instance.steps, "steps": instance.steps}
    outcome = state_check.first_opinion(claim, claim.bound.parts[0], instance, **where)
    recorded = record(outcome.measured[0]), record(outcome.bound[1])
    found = state_witness(claim.id, quantity, norm, *where.values(), instance, *recorded)
    return claim, found


@pytest.fixture(scope="module")
def whole() -> tuple[Claim, Witness]:
    return made(network(), "position", "euclidean")


def test_a_witness_of_sixty_four_neurons_in_three_layers_certifies_by_both_back_ends(whole):
    claim, found = whole
    assert state_check.work(found.parameters.instance, layer=3, step=200) == 1_715_800 > state_check.MAX_WORK
    done = check(from_json(to_json(found)), registry_of(claim))
    assert done.certified, done.lines
    said = [line.split(":")[0].split(" at ")[0] for line in done.lines]
    assert said == [
        "premise  α > 0",
        "premise  16 dt ≤ 1",
        "balls    violates",
        "floats   violates",
        "mpmath   premise α > 0",
        "mpmath   premise 16 dt ≤ 1",
    ]


def test_the_same_state_just_above_the_bound_is_refused(whole):
    claim, found = whole
    above = bounded_by(
        Fraction((1 + 1e-9) * in_floats(found.parameters.instance, "position", "euclidean")), "position", "euclidean"
    )
    done = check(found, registry_of(above))
    assert not done.certified and any(line.startswith("balls    holds") for line in done.lines)
    where = {"layer": 3, "step": 200, "steps": 200}
    assert (
        state_check.second_opinion(above, above.bound.parts[0], found.parameters.instance, **where)["status"] == "holds"
    )
    assert (
        state_check.second_opinion(claim, claim.bound.parts[0], found.parameters.instance, **where)["status"]
        == "violates"
    )


def nudged(text: str, by: Fraction) -> str:
    value = Fraction(float.fromhex(text)) if "0x" in text else Fraction(text)
    return str(value + by)


Change = Callable[[dict[str, Any]], None]


def changes(last: int, by: Fraction) -> dict[str, Change]:
    """Every kind of number of an instance in plain form, one of it moved by ``by``; layers 1 and ``last``."""

    def moved(*path: Any, by: Fraction = by) -> Change:
        def change(instance: dict[str, Any]) -> None:
            place: Any = instance
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = nudged(place[path[-1]], by)

        return change

    found = {"dt": moved("layers", 0, "dt", by=by / 16), "α": moved("alpha"), "u": moved("inputs", "runs", 120, 1, 0)}
    for number in (1, last):
        own = ("layers", number - 1)
        found |= {f"{name} of layer {number}": moved(*own, "groups", 1, name) for name in ("w", "c", "bias")}
        found[f"V of layer {number}"] = moved(*own, "input_weights", 2, 1)
    return found


def as_an_attacker_would(plain: dict[str, Any], registry: Registry) -> Replay:
    """The check of the file with whatever is found written into it."""
    for _ in range(2):
        done = check(from_json(json.dumps(plain)), registry)
        for line in done.lines:
            if "recomputed" in line:
                name, value = line.split()[1], line.split("recomputed ")[1].split(":")[0]
                plain["parameters"][name] = value
    return done


@pytest.mark.slow
@pytest.mark.parametrize("by", [Fraction(1, 64), pytest.param(Fraction(-1, 64), marks=pytest.mark.slow)])
@pytest.mark.parametrize("quantity", ["position", pytest.param("momentum", marks=pytest.mark.slow)])
def test_each_field_changed_so_that_the_claim_no_longer_fails_is_refused(quantity, by):
    """Of the two directions one lowers the state below the bound: refused. The other raises it: a true violation."""
    norm = "euclidean" if quantity == "position" else "max"
    claim, found = made(network(seed=3), quantity, norm)
    assert state_check.is_large(claim, found.parameters.instance, layer=3, step=200)
    registry, bound = registry_of(claim), in_floats(found.parameters.instance, quantity, norm) * (1 - 1e-9)
    refused = tried = 0
    for name, change in changes(3, by).items():
        plain = json.loads(to_json(found))
        change(plain["parameters"]["instance"])
        state = in_floats(from_json(json.dumps(plain)).parameters.instance, quantity, norm)
        if state == pytest.approx(bound, rel=1e-11):
            continue  # a neuron that the largest one does not feel
        done = as_an_attacker_would(plain, registry)
        assert done.certified == (state > bound and (name != "dt" or by < 0)), (name, by, done.lines)
        tried, refused = tried + 1, refused + (not done.certified)
    assert tried >= 9 and 3 <= refused < tried


def test_a_changed_record_is_named_and_refused(whole):
    claim, found = whole
    for name in ("log_measured", "log_bound"):
        value = float(getattr(found.parameters, name)) * (1 + 1e-8)
        off = replace(found, parameters=replace(found.parameters, **{name: record(value)}))
        done = check(off, registry_of(claim))
        assert not done.certified and any("the file was changed" in line for line in done.lines)


def test_the_route_is_that_of_small_witnesses_where_both_can_go():
    """The two routes on one instance, groups with members included: the same decision, the same ten digits."""
    for seed, quantity, norm in ((0, "position", "max"), (1, "momentum", "euclidean")):
        small = network(m=5, d=2, depth=3, steps=30, seed=seed)
        layers = tuple(
            replace(each, groups=tuple(replace(g, multiplicity=1 + i) for i, g in enumerate(each.groups)))
            for each in small.layers
        )
        instance = replace(small, layers=layers)
        claim = bounded_by(Fraction(0.999 * in_floats(instance, quantity, norm)), quantity, norm)
        where = {"layer": 3, "step": 30, "steps": 30}
        assert not state_check.is_large(claim, instance, layer=3, step=30)
        exact = state_check.first_opinion(claim, claim.bound.parts[0], instance, **where)
        large = network_states.decide(claim, claim.bound.parts[0], instance, **where)
        assert exact.is_refutation and large.is_refutation and large.is_tight
        assert record(exact.measured[0]) == record(large.measured[0])
        assert exact.premises == large.premises
        asked = {"quantity": quantity, "norm": norm, "bound": claim.bound.parts[0].second_bound, **where}
        slow = second.decide(to_plain(instance), **asked, premises=claim.bound.second_hypotheses)
        fast = network_states_second.decide(to_plain(instance), **asked, premises=claim.bound.second_hypotheses)
        assert slow["status"] == fast["status"] == "violates" and slow["premises"] == fast["premises"]
        assert fast["measured"][0] <= slow["measured"][0] <= slow["measured"][1] <= fast["measured"][1]
        assert fast["measured"][1] - fast["measured"][0] < 1e-9


def test_the_judge_takes_the_same_route(whole):
    claim, found = whole
    point = SearchPoint("free", Fraction(1), (Fraction(1, 16),) * 3, 200, M, D, "made")
    outcome, agreed = refute._decided(
        claim,
        claim.bound.parts[0],
        Evidence("free", 3, (point,), (), controls=()),
        Ratio(Trial(point, "made", "position", found.parameters.instance, np.zeros(200), 1, True), 200, *[0.0] * 5),
    )
    assert agreed and outcome.is_refutation


@pytest.mark.parametrize("fault", ["balls", "floats"])
def test_a_fault_in_one_of_the_two_back_ends_certifies_nothing(whole, monkeypatch, fault):
    claim, found = whole
    if fault == "balls":
        monkeypatch.setattr(
            network_states.network, "of_groups", lambda instance, layers: _without_bias(instance, layers)
        )
    else:
        real = network_states_second._network

        def without_bias(*given: Any) -> dict[str, Any]:
            plain = real(*given)
            return {**plain, "layers": [{**each, "b": ["0"] * len(each["b"])} for each in plain["layers"]]}

        monkeypatch.setattr(network_states_second, "_network", without_bias)
    assert not check(found, registry_of(claim)).certified


_OF_GROUPS = network_states.network.of_groups


def _without_bias(instance: Instance, layers: int) -> Any:
    data = _OF_GROUPS(instance, layers)
    return replace(data, layers=tuple(replace(each, b=(Fraction(0),) * len(each.b)) for each in data.layers))


@pytest.mark.parametrize(
    ("margin", "second_margin", "said"),
    [
        (lambda s: s.alpha - 2, lambda s: s.alpha, "premise  planted: margin -1, NOT PROVED"),
        (lambda s: s.alpha, lambda s: s.alpha - 2, "mpmath   premise planted: margin -1, NOT PROVED"),
        slow((lambda s: s.alpha, None, "mpmath   premise planted: NOT PROVED: its margin is not typed")),
    ],
    ids=["balls", "intervals", "typed once"],
)
def test_a_premise_that_one_back_end_does_not_prove_certifies_nothing(whole, margin, second_margin, said):
    """By either route."""
    claim, found = whole
    premise = Hypothesis("planted", margin, second_margin=second_margin)
    small = made(network(m=3, d=1, depth=1, steps=9), "position", "max")
    for good, each in ((claim, found), small):
        assert check(each, registry_of(good)).certified
        done = check(each, registry_of(with_bound(good, hypotheses=(premise,))))
        assert not done.certified and any(line.startswith(said) for line in done.lines), done.lines


def test_the_second_back_end_asks_the_premises_of_every_layer_below() -> None:
    """dt = 1/8 in layer 1 only; by either route."""
    premise = Hypothesis("16 dt ≤ 1", lambda s: s.dt, strict=False, second_margin=lambda s: 1 - 16 * s.dt)
    small = network(m=3, d=1, depth=2, steps=9)
    coarse = replace(small, layers=(replace(small.layers[0], dt=Fraction(1, 8)), small.layers[1]))
    for instance, proved in ((small, True), (coarse, False)):
        claim = bounded_by(Fraction(1, 10**6), "position", "max", (premise,))
        asked = {
            "layer": 2,
            "step": 9,
            "steps": 9,
            "quantity": "position",
            "norm": "max",
            "bound": claim.bound.parts[0].second_bound,
            "premises": claim.bound.second_hypotheses,
        }
        for decide in (second.decide, network_states_second.decide):
            found = decide(to_plain(instance), **asked)
            assert found["status"] == "violates" and second.is_refutation(found) is proved
            assert found["premises"] == [("16 dt ≤ 1", 0.0 if proved else -1.0, proved)]


def test_every_premise_of_every_claim_is_typed_for_both_back_ends_and_they_agree():
    """Margins in balls and in intervals at the same settings, where they hold and where they do not."""
    asked = 0
    for registered in Registry().state_bounds():
        for premise in registered.claim.bound.hypotheses:
            assert premise.second_margin is not None, (registered.claim.id, premise.text)
            for alpha, dt in ((0, "1/3"), ("1/4", "1/10"), (3, "3/4"), (7, "2"), ("1/1000", "1")):
                instance = replace(network(m=2, d=1, depth=1, steps=4), alpha=Fraction(alpha))
                layers = (replace(instance.layers[0], dt=Fraction(dt)),)
                instance = replace(instance, layers=layers)
                setting = balls.setting_of(instance, layer=1, step=3, steps=4)
                first = premise.margin(setting)
                again = premise.second_margin(second.setting_of(to_plain(instance), layer=1, step=3, steps=4))
                assert float(first) == pytest.approx(float(second.iv.mpf(again).mid), rel=1e-12, abs=1e-15)
                assert premise.holds(first) == premise.holds(again)
                asked += 1
    assert asked >= 30


def test_a_large_run_of_another_system_keeps_the_old_limit():
    other = System("other", UNICORNN.step, UNICORNN.exact_step, UNICORNN.second_step)
    instance = replace(network(m=64, d=2, depth=2, steps=150), system="other")
    claim = with_bound(bounded_by(Fraction(1), "position", "max"), system=other)
    bare = state_witness("made", "position", "max", 2, 150, 150, instance, "0", "0")
    with pytest.raises(WitnessError, match="for a system of one's own"):
        check(bare, registry_of(claim))
    with pytest.raises(ValueError, match='about "unicornn", not about "other"'):
        network_states.decide(claim, claim.bound.parts[0], instance, layer=2, step=150, steps=150)


HOSTILE = {
    "c": {"c": Fraction(-(10**3999))},
    "dt": {"dt": Fraction(10) ** 300},
    "tiny dt": {"dt": Fraction(1, 10**3999)},
    "w": {"w": Fraction(10**3999)},
    "bias": {"bias": Fraction(10) ** 400},
    "chaos": {"w": Fraction(-10), "dt": Fraction(1)},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_numbers_without_measure_are_decided_or_refused_on_the_large_route(name):
    instance = network(m=64, d=2, depth=2, steps=150, seed=1)
    own = dict(HOSTILE[name])
    dt = own.pop("dt", Fraction(1, 16))
    layers = tuple(
        replace(each, dt=dt, groups=tuple(replace(group, **own) for group in each.groups)) for each in instance.layers
    )
    instance = replace(instance, layers=layers)
    claim = bounded_by(Fraction(1, 10**6), "position", "max", ())
    bare = state_witness("made", "position", "max", 2, 150, 150, instance, "0", "0")
    done = check(bare, registry_of(claim))
    assert not done.certified
