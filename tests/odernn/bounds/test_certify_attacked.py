"""No line of ``certify`` is ever exceeded, whatever the cell; each kind of fault in a bound is found by the attacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from benchmarks import _cell_attacks as attacks
from benchmarks._cell_kinds import KINDS
from odernn.bounds import NetworkBounds, certify
from odernn.bounds.network import arnn, certification, cornn, decoupled, euler, gated, levels, orthogonal
from tests.tiers import slow, spread


def test_every_cell_with_theorems_is_attacked() -> None:
    kinds = {type(draw(torch.Generator().manual_seed(0))).__name__ for draw in KINDS.values()}
    assert kinds | {"UnICORNN"} == set(certification.FAMILIES)
    assert len(KINDS) == 34


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[NetworkBounds[Any]]:
    """The reports that attacks ask for, as they do."""
    found: list[NetworkBounds[Any]] = []

    def noted(*arguments: Any, **options: Any) -> NetworkBounds[Any]:
        found.append(certify(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(attacks, "certify", noted)
    return found


def bounded(reports: list[NetworkBounds[Any]], *, as_computed: bool) -> list[str]:
    """The quantities of all lines with an upper bound, about computed states or about the others."""
    lines = [line for report in reports for layer in report.layers for line in layer.bounds]
    known = [line.quantity for line in lines if line.log is not None and line.sign == "≤"]
    return [quantity for quantity in known if ("as computed" in quantity) is as_computed]


@pytest.mark.parametrize("kind", spread(KINDS, 11))
def test_no_bound_is_exceeded_in_a_brief_attack(kind: str, reports: Any, one_thread: None) -> None:
    attacked(kind, reports, networks=1, tries=4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_bound_is_exceeded(kind: str, reports: Any, one_thread: None) -> None:
    attacked(kind, reports, networks=12, tries=24)


def attacked(kind: str, reports: list[NetworkBounds[Any]], *, networks: int, tries: int) -> None:
    generator = torch.Generator().manual_seed(len(kind) + networks)
    judged = []
    for _ in range(networks):
        network = KINDS[kind](generator)
        judged += attacks.attack(network, generator, tries=tries)
    assert not [found for found in judged if found.is_exceeded], kind
    assert [found.quantity for found in judged] == bounded(reports, as_computed=False)
    assert len(reports) == networks and len(judged) >= networks


@pytest.mark.parametrize("networks", [1, slow(10)])
@pytest.mark.parametrize("kind", spread([kind for kind in KINDS if not kind.startswith("IntegratorRNN")], 9))
def test_no_bound_on_computed_states_is_exceeded_in_float32(
    kind: str, networks: int, reports: Any, one_thread: None
) -> None:
    generator = torch.Generator().manual_seed(7 * len(kind))
    judged = []
    for _ in range(networks):
        network = KINDS[kind](generator)
        judged += attacks.attack_in_float32(network, generator)
    assert not [found for found in judged if found.log_value > found.log_bound], kind
    assert [found.quantity for found in judged] == bounded(reports, as_computed=True)
    assert len(reports) == networks and len(judged) >= networks  # of an unstable step a dtype may be too coarse


def test_a_line_that_no_attack_knows_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gradient of a parameter that the network has not is no line that passes."""
    generator = torch.Generator().manual_seed(0)
    network, of = KINDS["CoRNN, explicit"](generator), cornn._constants

    def misnamed(*arguments: Any) -> Any:
        found = of(*arguments)
        return replace(found, log_direct={f"{name}'": logs for name, logs in found.log_direct.items()})

    monkeypatch.setattr(cornn, "_constants", misnamed)
    with pytest.raises(KeyError, match="W'"):
        attacks.attack(network, generator, tries=1)
    with pytest.raises(ValueError, match="no line has a bound"):
        attacks.free_step(torch.nn.LSTM(2, 3), 1)


# --- planted faults: each is one that an author could make


def _is_found(kind: str) -> bool:
    """Whether one of a dozen networks exceeds a bound."""
    generator = torch.Generator().manual_seed(3)
    networks = (KINDS[kind](generator) for _ in range(12))
    return any(each.is_exceeded for net in networks for each in attacks.attack(net, generator, tries=8, steps=5))


def _without_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    of = orthogonal.map_of
    monkeypatch.setattr(orthogonal, "map_of", lambda layer: replace(of(layer), log_size=0.0, log_defect=0.0))


def _without_dt(monkeypatch: pytest.MonkeyPatch) -> None:
    pushed = euler.pushed
    monkeypatch.setattr(euler, "pushed", lambda dt, steps: pushed(dt * dt, steps))


def _without_the_gate_below_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    rate = euler.skew_step_rate
    monkeypatch.setattr(euler, "skew_step_rate", lambda dt, gamma, s, **_: rate(dt, gamma, s, lowest_slope=0.9))


def _without_the_velocities(monkeypatch: pytest.MonkeyPatch) -> None:
    rate = cornn.step_rate

    def blind(layer: Any, step: Any, L: Any) -> float:
        kept = layer.W_z.detach().clone()
        layer.W_z.data.zero_()
        found = rate(layer, step, L)
        layer.W_z.data.copy_(kept)
        return found

    monkeypatch.setattr(cornn, "step_rate", blind)


def _one_kick_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    pushed = euler.pushed
    monkeypatch.setattr(arnn, "pushed", lambda dt, steps: pushed(dt, steps) + math.log((steps - 0.5) / steps))


def _responses_without_moduli(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = decoupled.response_sums
    monkeypatch.setattr(decoupled, "response_sums", lambda M, k, steps, sizes: sums(M, k, steps - 1, sizes=sizes))


def _biases_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    of = decoupled._log_pushes
    monkeypatch.setattr(decoupled, "_log_pushes", lambda layer, V, b, *rest: of(layer, V, 0 * b, *rest))


def _climbs_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    size = gated.largest_row
    monkeypatch.setattr(gated, "largest_row", lambda matrix: 0.2 * size(matrix))


def _inputs_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    of = levels.row_sum_norm
    monkeypatch.setattr(levels, "row_sum_norm", lambda V: 0.5 * of(V))


FAULTS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "‖W‖ is 1 whatever is stored": ("URNN, full, not unitary", _without_defect),
    "dt is squared": ("AntisymmetricRNN", _without_dt),
    "a gated slope is never negative": ("AntisymmetricRNN, gated", _without_the_gate_below_zero),
    "velocities are not fed back": ("CoRNN, explicit", _without_the_velocities),
    "half a kick is lost": ("ARNN12, tanh", _one_kick_fewer),
    "the last response is lost": ("LinOSS, im", _responses_without_moduli),
    "biases are forgotten": ("IndRNN, relu", _biases_forgotten),
    "row sums are too small": ("LEM", _climbs_halved),
    "drives are halved": ("ExpRNN", _inputs_halved),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch, one_thread: None) -> None:
    kind, plant = FAULTS[name]
    plant(monkeypatch)
    assert _is_found(kind)


@pytest.mark.parametrize(
    ("kind", "quantity", "share"),
    [
        ("ScoRNN", "‖∂h_N/∂h_1‖₂", 0.99),
        ("CoRNN, implicit", "|y_n|", 0.97),
        ("AntisymmetricRNN", "|h_n|", 0.97),
        ("LinOSS, imex", "|y_n|", 0.99),
        ("IndRNN, relu", "|h_n|", 0.9),
        ("LEM", "|y_n|, |z_n|", 0.97),
    ],
)
def test_bounds_that_are_sharp_are_nearly_reached(kind: str, quantity: str, share: float, one_thread: None) -> None:
    """A bound times ``share`` is exceeded: the attacks find what there is, and the bound has no room."""
    generator = torch.Generator().manual_seed(5)
    for _ in range(4):
        network = KINDS[kind](generator)
        found = attacks.attack(network, generator, shift=math.log(share), tries=8, steps=5)
        if any(each.is_exceeded for each in found if each.quantity.startswith(quantity)):
            return
    pytest.fail(f"no attack came within {share} of the bound on {quantity}")
