"""What trained weights refute can be replayed from a file, by the command that knows nothing of checkpoints."""

from __future__ import annotations

import functools
import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from odernn import UnICORNN
from odernn.published.networks import ROWS
from odernn.published.sources import Source
from tests.verification.trained.networks import UNICORNN, sample, saved, unicornn
from verification import verdict
from verification.cases.network_gradient import ANY_NETWORK, THETAS, NetworkGradient, quantity_of
from verification.claim import Claim, ClaimError, Hypothesis, Part, Place, StateBound
from verification.cli import main
from verification.commands import checkpoint
from verification.measure.gradient_forms import SAM_41
from verification.registry import Registry
from verification.run.store import StoreError
from verification.trained import certificates, gradient_rows, runs
from verification.witness.check import check
from verification.witness.file import from_json, read

FLOAT32 = 128 * math.log(2)
STEPS = 4
STIFF = UNICORNN.replace("steps = 12", f"steps = {STEPS}").replace("dt = 0.2", "dt = 0.25")


@functools.cache
def claims() -> Registry:
    """The claims that come with the library, read once."""
    return Registry()


def a_stiff_layer_at_rest() -> dict[str, torch.Tensor]:
    """w¹ = −10⁴, V¹ = 0, b¹ = 0: layer 1 rests, dy¹/db¹ grows like (h²|w|)ⁿ, and sam (41) sees w² only."""
    found = {"w": (-1e4, -1.0), "b": (0.0, 1.0), "c": (8.0, 8.0)}
    change = {
        f"recurrent.layers.{q}.{name}": torch.full((4,), value[q]) for name, value in found.items() for q in (0, 1)
    }
    return {
        **change,
        "recurrent.layers.0.V": torch.zeros(4, 2),
        "recurrent.layers.1.V": torch.eye(4),
    }


def test_a_published_gradient_bound_that_these_weights_violate_is_replayed_from_a_file(
    elsewhere: None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(Path.cwd(), STIFF, change=a_stiff_layer_at_rest())
    arguments = ["verify", "--checkpoint", str(path), "--config", "network.toml", "--sequences", "2"]
    assert main(arguments) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert re.search(r"refuted sam-D\.2, layer 1, abs\(dE/dθ\): measured \S+ > bound \S+ at θ = b;", out)
    (file,) = re.findall(r"replay:\s+odernn witness verify (\S*sam-d-2\S*)", out)
    assert main(["witness", "verify", file]) == 0
    replayed = capsys.readouterr().out
    assert f"\ncertified: sam-D.2 is violated: {quantity_of('b')}, {ANY_NETWORK}" in replayed
    assert main(["witness", "show", file]) == 0


@pytest.mark.slow
def test_a_witness_of_trained_weights_that_is_changed_is_refused_and_json_has_its_row(
    elsewhere: None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(Path.cwd(), STIFF, change=a_stiff_layer_at_rest())
    arguments = ["verify", "--checkpoint", str(path), "--config", "network.toml", "--sequences", "2"]
    assert main(arguments) == 0
    (file,) = re.findall(r"replay:\s+odernn witness verify (\S*sam-d-2\S*)", capsys.readouterr().out)
    kept = json.loads(Path(file).read_text(encoding="utf-8"))
    for name, value in (("N", "2"), ("layer", "2"), ("w", " ".join(["-1"] * 8)), ("alpha", "0"), ("m", "3")):
        changed = {**kept, "parameters": {**kept["parameters"], name: value}}
        Path("changed.json").write_text(json.dumps(changed), encoding="utf-8")
        assert main(["witness", "verify", "changed.json"]) == 3, name
        capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (row,) = [row for row in rows if row["verdict"] == "refuted" and row["statement"] == "sam-D.2"]
    assert row["layer"] == 1 and row["slack"] < -0.5  # in decades


def with_smaller_bound(theta: str) -> Registry:
    """A registry whose sam-D.2 is checked against 10⁻¹⁸ times its right side."""
    small = replace(SAM_41, factor=Fraction(1, 10**18))
    place = Place(ANY_NETWORK, quantity_of(theta), NetworkGradient(theta, small.ball, small.interval, ()).check)
    claim = replace(claims().get("sam-D.2").claim, places=(place,))
    return cast(Registry, SimpleNamespace(get=lambda name: SimpleNamespace(claim=claim)))


@pytest.mark.parametrize("theta", THETAS)
def test_a_witness_names_the_entry_that_was_measured(monkeypatch: pytest.MonkeyPatch, theta: str) -> None:
    """Planted: a right side that every entry exceeds. What the file says is measured again is the largest entry."""
    network, found, registry = unicornn(), sample(count=2), with_smaller_bound(theta)
    monkeypatch.setattr(gradient_rows, "PUBLISHED", {"sam-D.2": replace(SAM_41, factor=Fraction(1, 10**18))})
    sizes = {
        name: value if name.endswith(theta) else 0.0
        for name, value in runs.half_square_gradients(network, found).items()
    }
    rows = gradient_rows.published_rows(network, sizes, found, registry, log_largest=FLOAT32)
    assert [row.verdict for row in rows] == [verdict.REFUTED] * 2
    for row in rows:
        kept = from_json(row.witness)
        assert kept.parameters["layer"] == str(row.layer) and kept.quantity == quantity_of(theta)
        replayed = check(kept, registry)
        assert replayed.certified, replayed.lines
        log_measured = registry.get("").claim.places[0].check(kept.parameters).log_measured
        assert log_measured == pytest.approx(row.log_measured, abs=1e-9)
        with pytest.raises(ClaimError, match="has no case"):
            check(replace(kept, quantity="|dE/dθ|"), registry)
        assert not check(kept, claims()).certified  # of the bound as it is printed


def test_a_network_that_no_file_holds_is_refuted_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "LONGEST_TEXT", 20)
    monkeypatch.setattr(gradient_rows, "PUBLISHED", {"sam-D.2": replace(SAM_41, factor=Fraction(1, 10**18))})
    network, found = unicornn(), sample(count=1)
    sizes = runs.half_square_gradients(network, found)
    sizes = {name: value if name.endswith("b") else 0.0 for name, value in sizes.items()}
    rows = gradient_rows.published_rows(network, sizes, found, with_smaller_bound("b"), log_largest=FLOAT32)
    assert all(row.verdict == verdict.REFUTED and row.witness == "" for row in rows)
    assert all(row.because.endswith("too large for a witness file") for row in rows)


def test_a_statement_about_dt_to_0_has_no_place_for_a_network() -> None:
    """One network refutes icml (12) at its dt, and is no witness against "dt ≪ 1"."""
    for name in gradient_rows.PUBLISHED:
        places: tuple[Place, ...] = claims().get(name).claim.places
        assert len(places) == (len(THETAS) if name.startswith("sam") else 0)
        assert all(place.reading == "" for place in places)


def test_places_are_distinct() -> None:
    claim: Claim = claims().get("sam-D.2").claim
    with pytest.raises(ClaimError, match="two cases are both"):
        replace(claim, places=(claim.places[0], claim.places[0]))
    assert claim.checked_at("free, L = 2", "|dE/dθ|, θ = b^1") is claim.cases[1]


# --- states at the hyperparameters of the paper's table

SMALL = Claim(
    id="my.Asymptotic",
    source=Source("nobody", "p. 1"),
    statement="|y_n| ≤ t_n / 1000, dt ≪ 1",
    semantics="real",
    state_bound=StateBound(
        parts=(Part("position", "max", lambda s, n: n.log(s.time / 1000), lambda s, iv: iv.log(s.time / 1000)),),
        hypotheses=(Hypothesis("α > 0", lambda s: s.alpha, second_margin=lambda s: s.alpha),),
        asymptotic=True,
    ),
)


def of_the_row(**changed: Any) -> UnICORNN:
    row = next(row for row in ROWS if row.name == "psMNIST-128")
    options = {"dt": float(row.dt[0]), "alpha": float(row.alpha), **changed}
    generator = torch.Generator().manual_seed(0)
    return UnICORNN(row.input_size, row.hidden_size, row.num_layers, generator=generator, **options)


@pytest.mark.parametrize("rounded", [False, True])
def test_a_witness_at_printed_hyperparameters_has_the_decimals(tmp_path: Path, rounded: bool) -> None:
    """A float is only near to 0.482: the file has 241/500, and the same weights are certified at it."""
    as_their_code = {"dt": float(torch.tensor(0.482)), "alpha": float(torch.tensor(12.53))} if rounded else {}
    network = of_the_row(**as_their_code)
    u = torch.ones(784, 1, dtype=torch.float64)
    found = certificates.of_state(network, u, SMALL, SMALL.bound.parts[0], layer=1, step=3, steps=784)
    assert found.holds and "printed hyperparameters" in found.because, found.because
    (tmp_path / "w.json").write_text(found.witness, encoding="utf-8")
    kept = read(tmp_path / "w.json")
    instance = kept.parameters.instance
    assert (instance.layers[0].dt, instance.alpha) == (Fraction("0.482"), Fraction("12.53"))
    registry = cast(Registry, SimpleNamespace(get=lambda name: SimpleNamespace(claim=SMALL)))
    outcome = check(kept, registry)
    assert outcome.certified and any("psMNIST-128" in line for line in outcome.lines), outcome.lines


@pytest.mark.parametrize("changed", [{"dt": 0.4820001}, {"alpha": 12.5}])
def test_other_hyperparameters_are_no_row(changed: dict[str, float]) -> None:
    u = torch.ones(784, 1, dtype=torch.float64)
    found = certificates.of_state(of_the_row(**changed), u, SMALL, SMALL.bound.parts[0], layer=1, step=3, steps=784)
    assert found.holds and found.witness == "" and certificates.READ_HERE in found.because


@pytest.mark.slow
def test_where_the_store_is_full_the_witnesses_that_are_named_are_there(
    elsewhere: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(Path.cwd(), STIFF, change=a_stiff_layer_at_rest())

    def full(*_: object) -> None:
        raise StoreError('Store "odernn.sqlite" cannot be written: disk full.')

    monkeypatch.setattr(checkpoint, "_keep", full)
    assert main(["verify", "--checkpoint", str(path), "--config", "network.toml", "--sequences", "2"]) == 2
    captured = capsys.readouterr()
    assert "disk full" in captured.err
    (file,) = re.findall(r"replay:\s+odernn witness verify (\S*sam-d-2\S*)", captured.out)
    assert main(["witness", "verify", file]) == 0
