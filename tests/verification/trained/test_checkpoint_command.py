"""``odernn verify --checkpoint``: from files to rows, formats, the store, and errors of one line."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.verification.trained.networks import SCORNN, UNICORNN, read, sample, saved
from verification.cli import main
from verification.registry import Registry
from verification.report.formats import renderer
from verification.report.rows import checkpoints as checkpoint_rows
from verification.run.store import Store
from verification.trained import files, trial
from verification.training import configuration, loop

TRAINING = """
[optimizer]
name = "adam"
lr = 0.01

[training]
epochs = 1
batch_size = 20
"""


@pytest.fixture(autouse=True)
def _here(elsewhere: None) -> None:
    """Every test in a folder of its own."""


def lines_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    assert main(["verify", "--checkpoint", *arguments, "--sequences", "2", "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def fails(capsys: pytest.CaptureFixture[str], arguments: Sequence[str]) -> str:
    assert main(["verify", *arguments]) == 2
    captured = capsys.readouterr()
    errors = [line for line in captured.err.splitlines() if line.startswith("odernn: ")]
    assert captured.out == "" and len(errors) == 1 and "Traceback" not in captured.err
    return errors[0]


def test_a_trained_run_is_tried_printed_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """Train for an epoch, try the best weights, and find the same rows in the store."""
    Path("plan.toml").write_text(UNICORNN + TRAINING)
    loop.train(configuration.read("plan.toml"), Path("run"))
    assert main(["verify", "--checkpoint", "run", "--sequences", "2"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("bounds     72 rows: ") and "What holds for run" in captured.out
    assert "margins    6 of 6 do not fail" in captured.out and "nearest    " in captured.out
    said = " ".join(captured.out.split())  # lines of the caption end where the words of its run make them end
    assert "2 of 40 sequences of the test split of adding" in said and "(odernn train)" in said
    assert re.search(r"odernn [\d.]+(, commit [0-9a-f]+\+?)?, run [0-9a-f]{16}\. Trained network", said)
    assert "unicornn, 2 × 4, float32" in captured.err
    statements = set(re.findall(r"\b(?:icml|sam|both|thm)-[\w.()-]+", captured.out))
    assert {
        "icml-C.1",
        "sam-D.1-a",
        "thm-S",
        "icml-3.1",
        "sam-D.2",
        "thm-G",
        "icml-(27)",
        "thm-J",
        "thm-F",
    } <= statements
    assert main(["table", "--width", "1000"]) == 0
    table = capsys.readouterr().out
    (asymptotic,) = re.findall(r"^dt sufficiently small is read at the dt of the network: (.*)\.$", table, re.MULTILINE)
    assert "icml-C.1" in asymptotic.split(", ") and "sam-" not in asymptotic
    assert "trained run, layer 2" in table and "icml-C.1" in table and "untrained" not in table
    with Store(Path("odernn.sqlite"), writable=False) as store:
        settings, keys, completed = store.latest_run()
        kept = {(row[2], row[3]): row[5] for row in store.measurements()}
        assert completed and settings["sequences"] == 2 and len(keys) == 72
    again = lines_of(capsys, "run")
    assert {
        (f"layers.{int(str(r['layer'])) - 1}" if r["layer"] else "", r["quantity"]): r["value"]
        for r in again
        if r["kind"] != "bound"
    } == kept
    with Store(Path("odernn.sqlite"), writable=False) as store:
        assert store.latest_run()[1] == keys and all(row["checkpoint"] == "run" for row in again)


def test_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(Path.cwd())
    trained, found = read(path), sample(count=1)
    ledger = trial.try_network(trained, found, Registry())
    table = checkpoint_rows.table(ledger.rows, title="A network", caption=("what it is",))
    texts = {name: renderer(name)(table) for name in ("text", "github", "latex", "csv", "json")}
    assert all("icml-C.1" in text and len(text) > 2000 for text in texts.values())
    rows = list(csv.DictReader(io.StringIO(texts["csv"])))
    assert float(rows[0]["value"]) > 0 and rows[0]["shown"] == "holds" and len(rows) == len(ledger.rows)
    first = next(row for row in json.loads(texts["json"])["rows"] if row["statement"] == "icml-C.1")
    assert first["slack"] > 0 and first["source"] == "icml, S(7)" and first["verdict"] == "proved"
    assert (first["premises"], first["premise_margins"], first["premises_hold"]) == (["α > 0"], [1.0], [True])
    assert "α > 0 holds by 1" in texts["github"] and not any("Premise(" in text for text in texts.values())
    assert main(["verify", "--checkpoint", str(path), "--config", "network.toml", "--format", "csv"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("kind,layer,quantity") and "bounds     72 rows" in captured.err


def test_weights_decide_and_not_names(capsys: pytest.CaptureFixture[str]) -> None:
    """The same file with other weights: margins, slacks and verdicts change, and nothing else."""
    path = saved(Path.cwd())
    before = lines_of(capsys, str(path), "--config", "network.toml")
    w = torch.tensor([-3.0, 0.5, 0.5, 0.5])
    saved(Path.cwd(), change={"recurrent.layers.0.w": w, "recurrent.layers.0.c": torch.full((4,), 5.0)})
    after = lines_of(capsys, str(path), "--config", "network.toml")
    changed = {(b["quantity"], b["layer"]) for b, a in zip(before, after, strict=True) if b["verdict"] != a["verdict"]}
    assert ("w + α", 1) in changed and ("w + α", 2) not in changed
    slacks = [(b["slack"], a["slack"]) for b, a in zip(before, after, strict=True) if b["slack"] is not None]
    assert len(slacks) > 50 and sum(old != new for old, new in slacks) > 0.8 * len(slacks)


def test_witnesses_of_two_checkpoints_of_one_name_lie_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    """And those of one, tried again, in the place of themselves."""
    from tests.verification.trained.test_rows import FALSE_CLAIM

    Path("claims").mkdir()
    Path("claims/false.py").write_text(FALSE_CLAIM, encoding="utf-8")
    options = ["--config", "one/network.toml", "--claims", "claims", "--sequences", "1"]
    contents: dict[str, dict[str, str]] = {}
    for folder, change in ("one", {}), ("two", {"recurrent.layers.0.w": torch.full((4,), 0.5)}), ("one", {}):
        Path(folder).mkdir(exist_ok=True)
        path = saved(Path(folder), change=change)
        assert main(["verify", "--checkpoint", str(path), *options]) == 0
        said = " ".join(capsys.readouterr().out.split())
        for name in re.findall(r"odernn witness verify (witnesses/\S+\.json)", said):
            contents.setdefault(name, {})[folder] = Path(name).read_text()
    assert sorted(list(of) for of in contents.values()) == [["one"]] * 2 + [["two"]] * 2
    for name, of in contents.items():
        assert [Path(name).read_text()] == list(of.values())
    assert len(list(Path("witnesses").glob("*.json"))) == 4


def test_a_refutation_of_a_claim_of_one_s_own(capsys: pytest.CaptureFixture[str]) -> None:
    """A false claim in a folder is refuted by the checkpoint, with a witness that the other command replays."""
    from tests.verification.trained.test_rows import FALSE_CLAIM

    Path("claims").mkdir()
    Path("claims/false.py").write_text(FALSE_CLAIM, encoding="utf-8")
    path = saved(Path.cwd())
    options = ["--config", "network.toml", "--claims", "claims", "--sequences", "1"]
    assert main(["verify", "--checkpoint", str(path), *options]) == 0
    out = capsys.readouterr().out
    assert "refuted    my.False, layer 1, max abs(zₙ): measured" in out
    replays = re.findall(r"replay:\s+odernn witness verify (\S+) --claims claims", out)
    assert len(replays) == 2
    assert main(["witness", "verify", replays[0], "--claims", "claims"]) == 0
    assert "\ncertified: my.False" in capsys.readouterr().out


def test_networks_without_bounds_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    both = UNICORNN.replace('"unicornn"', '"lem"').replace("dt = 0.2\nalpha = 1.0", "bidirectional = true")
    path = saved(Path.cwd(), both)
    assert main(["verify", "--checkpoint", str(path), "--config", "network.toml", "--format", "github"]) == 0
    captured = capsys.readouterr()
    assert "No bound on the states or gradients of this cell is known to the library" in captured.out
    assert "max abs(output)" in captured.out and "not-refuted" not in captured.out.split("slack:")[0]
    path = saved(Path.cwd(), SCORNN)
    rows = lines_of(capsys, str(path), "--config", "network.toml")
    assert {"thm-O-float (a)", "thm-SC-norm", "thm-H-grad", "sco-5.5.1-A"} <= {str(row["statement"]) for row in rows}


def test_a_lem_has_the_bounds_of_certify(capsys: pytest.CaptureFixture[str]) -> None:
    lem = UNICORNN.replace('"unicornn"', '"lem"').replace("dt = 0.2\nalpha = 1.0", "")
    path = saved(Path.cwd(), lem)
    rows = [row for row in lines_of(capsys, str(path), "--config", "network.toml") if row["kind"] == "bound"]
    found = [(row["layer"], row["quantity"], row["statement"], row["verdict"]) for row in rows]
    assert found == [(layer, "abs(yₙ), abs(zₙ)", "thm-C-gated (d)", "not-refuted") for layer in (1, 2)]


def test_an_lstm_has_the_bounds_that_a_trial_of_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    lstm = UNICORNN.replace('"unicornn"', '"torch.lstm"').replace("dt = 0.2\nalpha = 1.0", "")
    path = saved(Path.cwd(), lstm)
    rows = lines_of(capsys, str(path), "--config", "network.toml")
    bounds = {(row["layer"], row["quantity"]): row for row in rows if row["kind"] == "bound"}
    assert set(bounds) == {(layer, name) for layer in (1, 2) for name in ("abs(hₙ)", "abs(cₙ)")}
    assert all(row["statement"] == "own equation" and row["verdict"] == "not-refuted" for row in bounds.values())


def test_cells_that_are_a_field_times_a_method_have_their_guarantees(capsys: pytest.CaptureFixture[str]) -> None:
    text = UNICORNN.replace('"unicornn"', '"antisymmetric"').replace("dt = 0.2\nalpha = 1.0", "dt = 0.1\ngamma = 0.01")
    rows = lines_of(capsys, str(saved(Path.cwd(), text)), "--config", "network.toml")
    found = {
        row["quantity"]: row
        for row in rows
        if row["source"] == "library: odernn.integrators.guarantees" and row["layer"] == 1
    }
    assert {"contraction", "invertibility", "symplecticity"} <= set(found)
    assert found["symplecticity"]["verdict"] == "not implied" and found["contraction"]["because"]


@pytest.mark.parametrize(
    ("cell", "options", "quantity", "change", "word"),
    [
        ("cornn", "dt = 0.1\ngamma = 1.0\nepsilon = 1.0", "4 − (dt²γ ± 2dtε)", None, "holds"),
        ("indrnn", "", "every neuron is non-expansive", None, "holds"),
        ("indrnn", "", "every neuron is non-expansive", {"recurrent.layers.0.w": torch.full((4,), 1.5)}, "fails"),
        ("linoss", "dt = 0.1", "the step is power bounded", None, "holds"),
    ],
)
def test_what_other_cells_decide(
    capsys: pytest.CaptureFixture[str],
    cell: str,
    options: str,
    quantity: str,
    change: dict[str, torch.Tensor] | None,
    word: str,
) -> None:
    text = UNICORNN.replace('"unicornn"', f'"{cell}"').replace("dt = 0.2\nalpha = 1.0", options)
    rows = lines_of(capsys, str(saved(Path.cwd(), text, change=change)), "--config", "network.toml")
    (row,) = [each for each in rows if each["quantity"] == quantity and each["layer"] == 1]
    assert row["verdict"] == word and isinstance(row["value"], float) and (row["value"] > 0) == (word == "holds")
    rebuilt = [each for each in rows if str(each["quantity"]).startswith("max abs(rebuilt state)")]
    assert len(rebuilt) == (2 if cell == "linoss" else 0)
    if rebuilt:
        single, double = (float(str(each["value"])) for each in rebuilt)
        assert single > 1e3 * double


def test_what_is_not_finite_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """IndRNN that explodes: the rows of its outputs and gradients are there, with no number."""
    text = UNICORNN.replace('"unicornn"', '"indrnn"').replace("dt = 0.2\nalpha = 1.0", "")
    change = {"recurrent.layers.0.w": torch.full((4,), 1e38), "recurrent.layers.0.V": torch.full((4, 2), 1e38)}
    path = saved(Path.cwd(), text, change=change)
    whole = lines_of(capsys, str(saved(Path.cwd(), text)), "--config", "network.toml")
    saved(Path.cwd(), text, change=change)
    rows = lines_of(capsys, str(path), "--config", "network.toml")
    assert [row["quantity"] for row in rows] == [row["quantity"] for row in whole]
    numbers = {row["quantity"]: row["value"] for row in rows if str(row["quantity"]).startswith("max abs(")}
    assert numbers["max abs(output)"] is None and numbers["max abs(dE/d layers.0.V)"] is None


@pytest.mark.skipif(os.name == "nt", reason="no limits on the size of files on this system")
def test_a_full_disk_loses_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Files may grow to 40 kB only: what was measured is printed, and the error says what to do. Then there is room."""
    import resource

    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a module's would be cut off, and stay so
    arguments = ["verify", "--checkpoint", str(saved(Path.cwd())), "--config", "network.toml", "--sequences", "1"]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, hard))
    try:
        assert main(arguments) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    captured = capsys.readouterr()
    assert "bounds     72 rows: " in captured.out and "icml-C.1" in captured.out
    assert 'odernn: Store "odernn.sqlite" cannot be written: ' in captured.err and "free some space" in captured.err
    assert "results are in" not in captured.err
    assert main(arguments) == 0 and capsys.readouterr().out == captured.out
    with Store(Path("odernn.sqlite"), writable=False) as store:
        assert store.latest_run()[2]


def test_weights_that_the_cell_refuses_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    text = UNICORNN.replace('"unicornn"', '"linoss"').replace("dt = 0.2\nalpha = 1.0", "dt = 0.1")
    path = saved(Path.cwd(), text)
    tensors = files.read(path, config="network.toml").tensors
    saved(Path.cwd(), text, change={name: 100 * v for name, v in tensors.items() if "layers" in name})
    line = fails(capsys, ["--checkpoint", str(path), "--config", "network.toml"])
    assert "is of a network that cannot be run: dt² A reaches" in line and "Give a smaller dt" in line


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("w", 3e38, r'"recurrent.layers.0.w" has entries up to 3e+38 in modulus, beyond 1e+30'),
        ("c", -400.0, "of neuron 0 of layer 1 is 3.83e-175, below 1e-150: it stands still"),
    ],
)
def test_weights_of_which_no_bound_can_be_computed(
    capsys: pytest.CaptureFixture[str], name: str, value: float, said: str
) -> None:
    """Products of the first, and the square of the step of the second, are no numbers."""
    path = saved(Path.cwd(), change={f"recurrent.layers.0.{name}": torch.full((4,), value)})
    line = fails(capsys, ["--checkpoint", str(path), "--config", "network.toml"])
    assert said in line and "earlier checkpoint" in line


def test_a_bidirectional_network_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    text = UNICORNN.replace("alpha = 1.0", "alpha = 1.0\nbidirectional = true")
    rows = lines_of(capsys, str(saved(Path.cwd(), text)), "--config", "network.toml")
    assert {row["kind"] for row in rows} == {"margin", "measured"} and len(rows) > 20


def test_what_asks_for_a_small_dt_says_how_it_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither at printed values nor in the limit: the reading of a refutation is that of these weights."""
    rows = lines_of(capsys, str(saved(Path.cwd())), "--config", "network.toml")
    read_here = {row["statement"] for row in rows if row["reading"] == "at the dt of the network"}
    assert read_here >= {"icml-C.1", "icml-3.1", "icml-C.2", "icml-(27)"}
    assert not read_here & {"sam-D.1-a", "sam-3.2", "sam-D.2", "sam-54", "thm-S", "thm-J"}


def test_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(saved(Path.cwd()))
    there = ["--checkpoint", path, "--config", "network.toml"]
    for arguments, said in (
        ([*there, "icml-C.1"], "CLAIM: is about the claims"),
        ([*there, "--budget", "smoke"], "--budget: is about"),
        ([*there, "--jobs", "2"], "--jobs: is about"),
        (["--config", "x.toml"], "--config: describes a trained"),
        (["--set", "a=1"], "--set: describes"),
        (["--checkpoint", "none"], '"none" does not exist'),
        (["--checkpoint", path], "nothing says of which network"),
        ([*there, "--format", "x"], "No format"),
        ([*there, "--task", "addin"], 'Did you mean "adding"?'),
        ([*there, "--set", "stops=3"], "has these options"),
        ([*there, "--task", "lorenz96"], '"recurrent.layers.0.V" has shape (4, 2), expected (4, 5)'),
        ([*there, "--task", "sequential_mnist"], "ODERNN_DATA"),
        ([*there, "--sequences", "0"], "--sequences"),
        ([*there, "--config", "none.toml"], '"none.toml" cannot be read'),
        ([*there, "--row", "x"], 'no row "x"'),
    ):
        line = fails(capsys, arguments)
        assert said in line, line
    assert not Path("odernn.sqlite").exists()


def test_options_of_the_task(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(saved(Path.cwd()))
    long = lines_of(capsys, path, "--config", "network.toml", "--set", "steps=30")
    short = lines_of(capsys, path, "--config", "network.toml")
    bounds = [{row["statement"]: row["log_bound"] for row in rows if row["layer"] == 2} for rows in (long, short)]
    assert float(str(bounds[0]["sam-D.1-a"])) > float(str(bounds[1]["sam-D.1-a"]))


def test_a_pickle_is_an_error_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    saved(Path.cwd())
    torch.save(torch.nn.Linear(2, 2), "net.pt")
    line = fails(capsys, ["--checkpoint", "net.pt", "--config", "network.toml"])
    assert '"net.pt" is refused' in line and "torch.save(model.state_dict(), FILE)" in line
    save_file({"x": torch.zeros(2)}, "x.safetensors")
    line = fails(capsys, ["--checkpoint", "x.safetensors", "--config", "network.toml"])
    assert 'lacks "dt", of shape (2,) (and 9 more); it has "x" instead.' in line, line


def test_a_network_of_limited_growth_is_tried_as_the_map_that_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Its w is made of free_w and c: rows are those of the same network with w as a parameter."""
    limited = UNICORNN.replace("alpha = 1.0", "alpha = 1.0\ngrowth = 3.0\nsteps = 20")
    rows = lines_of(capsys, str(saved(Path.cwd(), limited)), "--config", "network.toml")
    assert {row["statement"] for row in rows} >= {"icml-C.1", "thm-S", "thm-J", "thm-G"}
    assert {row["quantity"] for row in rows if "abs(dE/dw)" in str(row["quantity"])}
    assert {row["verdict"] for row in rows if row["statement"] == "thm-J"} == {"not-refuted"}
