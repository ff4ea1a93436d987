"""The command line: what goes where, exit codes, and errors of one line. Stores are made by hand, so this is fast."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import odernn
from odernn.written.lines import room
from tests.tiers import only
from verification import cli, domains, verdict
from verification.cli import main
from verification.commands import terminal
from verification.commands import verify as verify_command
from verification.domains import Budget
from verification.run import plan as run
from verification.run.store import Store
from verification.run.store_file import SCHEMA_VERSION
from verification.verdict import Judgement

pytestmark = pytest.mark.usefixtures("elsewhere")

CHECKOUT = Path(__file__).resolve().parents[3]
DONE, DIFFERENCE, USAGE, NOT_CERTIFIED, INTERNAL = 0, 1, 2, 3, 4

JUDGEMENT = Judgement(
    claim="icml-C.1",
    domain="printed psMNIST-128",
    layer=1,
    quantity="position",
    norm="max",
    symbol="max abs(yₙ)",
    reading="printed",
    verdict=verdict.PROVED,
    because="for all weights",
    log_bound=5.6,
    log_worst=4.9,
    slack=0.325,
    log_data=-0.2,
)
OTHER = replace(JUDGEMENT, claim="thm-S", origin="library", verdict=verdict.NOT_REFUTED, reading="")
SOURCE = "scikit-learn digits: made by hand"


def make_store(path: Path, *, judged: int = 2) -> Path:
    """A store with a run of two cells, of which ``judged`` are done."""
    with Store(path, writable=True) as store:
        store.begin_run("by hand", {"budget": "smoke", "seed": 5, "claims_dirs": []}, ["one", "two"])
        store.put("data", kind="measure", spec={}, data={"source": SOURCE}, arrays={}, wall_s=0.0)
        for key, judgement in list(zip(("one", "two"), (JUDGEMENT, OTHER), strict=True))[:judged]:
            spec = {"needs": {"data": ["data"]}}
            store.put(key, kind="judge", spec=spec, data=[judgement.to_plain()], arrays={}, wall_s=1.5)
        if judged == 2:
            store.complete_run("by hand")
    return path


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(CHECKOUT), "PYTHONUTF8": "1"}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "verification", *arguments]


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code and the one line of a command that prints nothing else."""
    code = main(arguments)
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    errors = [line for line in lines if line.startswith("odernn: ")]
    assert len(errors) == 1 and lines[-1] == errors[0] and "Traceback" not in captured.err
    return code, errors[0]


# --- table ------------------------------------------------------------------------------------------------------


def test_table_prints_the_store_and_nothing_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    make_store(Path("odernn.sqlite"))
    assert main(["table", "--width", "200", "--claim", "icml-C.1", "--claim", "thm-S"]) == DONE
    captured = capsys.readouterr()
    assert captured.err == ""
    (row,) = [line.split() for line in captured.out.splitlines() if line.startswith("icml-C.1 ")]
    assert row[:3] == ["icml-C.1", "psMNIST-128,", "layer"] and row[8] == "270" and row[-4] == "proved"
    assert "theorem, tested" in captured.out and SOURCE in captured.out and "seed 5" in captured.out


def test_table_in_text_has_a_row_a_claim_if_nothing_else_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    make_store(Path("odernn.sqlite"))
    assert main(["table", "--width", "200"]) == DONE
    captured = capsys.readouterr()
    rows = [re.split(r"\s{2,}", line) for line in captured.out.splitlines() if line.startswith(("icml-C.1 ", "thm-S "))]
    assert captured.err == "" and len(rows) == 2 and rows[1][:2] == ["thm-S", "theorem, tested"]
    assert "found: 2 claims\n" in captured.out and "A row a claim: " in captured.out
    assert main(["table", "--only", "inapplicable", "--width", "200"]) == DONE
    captured = capsys.readouterr()
    assert "thm-S " not in captured.out and "left out: 1 claim with another verdict" in captured.err
    code, line = fails(capsys, "table", "--columns", "on data")
    assert code == USAGE and line.rstrip().endswith("--full has those of cells.")


@pytest.mark.parametrize("name", ["text", "github", "latex", "csv", "json"])
def test_table_prints_every_format_twice_the_same(capsys: pytest.CaptureFixture[str], name: str) -> None:
    make_store(Path("odernn.sqlite"))
    texts = []
    for _ in range(2):
        assert main(["table", "--format", name, "--full"]) == DONE
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] and len(texts[0]) > 100
    assert "\x1b" not in texts[0]


def test_table_of_a_run_that_was_cut_short_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    make_store(Path("odernn.sqlite"), judged=1)
    assert main(["table"]) == DONE
    captured = capsys.readouterr()
    assert "icml-C.1" in captured.out and "thm-S " not in captured.out
    assert "Incomplete: 1 of 2" in captured.out
    assert captured.err.startswith("odernn: the run is incomplete, 1 of 2") and captured.err.count("\n") == 1
    assert main(["expectations"]) == USAGE
    captured = capsys.readouterr()
    assert not captured.out and "1 of 2 cells are judged" in captured.err


def test_table_of_one_claim(capsys: pytest.CaptureFixture[str]) -> None:
    make_store(Path("odernn.sqlite"))
    assert main(["table", "--claim", "THM-s", "--format", "csv"]) == DONE
    assert [line.split(",")[0] for line in capsys.readouterr().out.splitlines()] == ["claim", "thm-S"]
    code, line = fails(capsys, "table", "--claim", "thm-T")
    assert code == USAGE and 'Did you mean "thm-S"?' in line


# --- errors: one line, what and why and what to do ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tabel"], "Did you mean 'table', 'tableau'?"),
        (["verify", "--bogus"], "No such option"),
        (["verify", "--seed", "x"], "'--seed'"),
        (["verify", "--jobs", "-1"], "'--jobs'"),
        (["verify", "icml-C.11"], 'Did you mean "icml-C.1"?'),
        (["verify", "--budget", "smok"], 'Did you mean "smoke"?'),
        (["verify", "--task", "cifar"], "Choose from: digits, mnist."),
        (["verify", "--format", "txt"], 'Did you mean "text"?'),
        (["verify", "--data", "."], "Add --task mnist"),
        (["verify", "--task", "mnist"], "ODERNN_DATA"),
        (["verify", "--task", "mnist", "--data", "."], "no file train-images-idx3-ubyte.gz"),
        (["verify", "--task", "mnist", "--download"], "--data FOLDER"),
        (["verify", "--claims", "nowhere"], '"nowhere" does not exist'),
        (["verify", "--expect", "nowhere.json"], "cannot be read (no such file or directory)"),
        (["verify", "--seed", "x"], "`odernn verify --help` shows"),
        (["witness", "nope"], "`odernn witness --help` shows"),
        (["verify", "--json", "--full"], "--full: is about the table, which --json replaces"),
        (["verify", "--json", "--format", "csv"], "--format: is about the table, which --json replaces"),
        (["verify", "--config", "a"], "--config: describes a trained network. Give --checkpoint, too."),
        (["verify", "thm-S", "--checkpoint", "a"], "CLAIM: is about the claims. Leave it out, or --checkpoint."),
        (["verify", "--store", "."], '"." is a folder'),
        (["table"], '"odernn.sqlite" does not exist'),
        (["table", "--store", "."], "is a folder"),
        (["claims", "--claims", "nowhere"], '"nowhere" does not exist'),
        (["claims", "--format", "jsn"], 'Did you mean "json"?'),
        (["witness", "verify", "nowhere.json"], "does not exist"),
        (["witness", "show", "nowhere.json"], "does not exist"),
        (["witness", "verify", "."], "cannot be read"),
        (["doctor", "--format", "x"], "Choose from: csv, github, json, latex, text."),
    ],
)
def test_usage_errors(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    code, line = fails(capsys, *arguments)
    assert code == USAGE and said in line


def test_no_command_prints_the_help_as_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["witness"]):
        assert main(arguments) == USAGE
        captured = capsys.readouterr()
        assert captured.out == "" and "Commands:" in captured.err


def test_the_list_of_commands_is_the_folder_of_commands(capsys: pytest.CaptureFixture[str]) -> None:
    files = (CHECKOUT / "verification" / "commands").glob("*.py")
    with_command = {
        file.stem for file in files if re.search(r"^(def )?command\b", file.read_text(encoding="utf-8"), re.M)
    }
    assert set(cli.COMMANDS) == with_command and len(cli.COMMANDS) == len(with_command) >= 12
    assert main(["--help"]) == DONE
    listed = re.findall(r"^  (\w+)  +\S", capsys.readouterr().out.partition("Commands:")[2], re.M)
    assert tuple(listed) == cli.COMMANDS


@pytest.mark.parametrize("group", [[], ["witness"]])
def test_a_help_says_of_every_command_the_whole_first_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, group: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*group, "--help"]) == DONE
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    listed = re.split(r"\n  (?=\w)", text.partition("Commands:")[2].rstrip())[1:]
    assert len(listed) == (3 if group else len(cli.COMMANDS))
    for entry in listed:
        said = re.sub(r"\s+", " ", entry)
        assert said.endswith(".") and not said.endswith("..."), said


def test_a_name_is_suggested_only_if_it_is_close(capsys: pytest.CaptureFixture[str]) -> None:
    make_store(Path("odernn.sqlite"))
    for far in (["table", "--claim", "zzz"], ["tableau", "xxxxyyzz"], ["verify", "xxxxxxx"]):
        assert "Did you mean" not in fails(capsys, *far)[1]
    assert 'Did you mean "gauss 3"?' in fails(capsys, "tableau", "gaus 3")[1]


@pytest.mark.slow
def test_a_command_does_not_import_the_others() -> None:
    code = "import sys; from verification.cli import main; main(['doctor']); print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), timeout=120)
    loaded = done.stdout.splitlines()[-1].split()
    assert "verification.commands.doctor" in loaded and "verification.commands.verify" not in loaded


def test_verifying_a_claim_wakes_nothing_of_networks_in_training_and_one_format() -> None:
    """The imports of the command, and of its table: a job brings what it needs by itself."""
    code = (
        "import sys; from verification.commands import verify;"
        "verify.renderer('text'); verify._header(verify.Settings()); print(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), timeout=120)
    loaded = done.stdout.split()
    assert "verification.run.execute" in loaded and "verification.report.rows.claims" in loaded, done.stderr
    formats = [name for name in loaded if name.startswith("verification.report.formats.")]
    assert formats == ["verification.report.formats.text"]
    asleep = ("trained", "training", "monitors", "commands.checkpoint", "commands.expectations", "witness")
    others = (*(f"verification.{name}" for name in asleep), "odernn.cells", "odernn.executions.cpu", "cuda.odernn_")
    assert not [name for name in loaded if name.startswith(others)]


def test_help_and_version_go_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == DONE
    assert capsys.readouterr().out == f"odernn {odernn.__version__}\n"
    assert main(["verify", "--help"]) == DONE
    assert "--expect" in capsys.readouterr().out


def test_a_claim_file_that_fails_is_an_error_of_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("CLAIMS = 1 / 0\n")
    code, line = fails(capsys, "claims", "--claims", str(tmp_path))
    assert code == USAGE and "wrong.py" in line and "ZeroDivisionError" in line


def test_a_store_from_a_newer_schema_and_a_file_that_is_no_store(capsys: pytest.CaptureFixture[str]) -> None:
    import sqlite3

    database = sqlite3.connect("new.sqlite")
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    database.close()
    Path("other.sqlite").write_text("not a database, and long enough to be looked at " * 20)
    for name in ("new.sqlite", "other.sqlite"):
        for arguments in (["table"], ["verify", "thm-S"]):
            code, line = fails(capsys, *arguments, "--store", name)
            assert code == USAGE and f'"{name}"' in line


def test_two_runs_on_one_store(capsys: pytest.CaptureFixture[str]) -> None:
    with Store(Path("odernn.sqlite"), writable=True):
        code, line = fails(capsys, "verify", "thm-S")
    assert code == USAGE and "in use by another run" in line


@pytest.mark.parametrize(
    "text",
    ["[]", '["x"]', '{"a": 1}', '{"a": {"witness": {}}}', "{", '{"a | free | layer 1 | position": "rejected"}', "\xff"],
)
def test_a_damaged_list_of_expectations_ends_the_run_before_it_begins(
    capsys: pytest.CaptureFixture[str], text: str
) -> None:
    Path("expect.json").write_bytes(text.encode("latin-1"))
    code, line = fails(capsys, "verify", "--expect", "expect.json")
    assert code == USAGE and "expect.json" in line
    assert not Path("odernn.sqlite").exists()


def test_an_internal_error_is_one_line_and_a_hint(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from verification.commands import claims

    def fall_over(**_: object) -> int:
        raise RuntimeError("fell\nover \x1b[31m")

    monkeypatch.setattr(claims, "run", fall_over)
    code, line = fails(capsys, "claims")
    assert code == INTERNAL
    assert line == (
        "odernn: internal error: RuntimeError: fell over \\x1b[31m (set ODERNN_TRACEBACK=1 for the traceback)"
    )
    monkeypatch.setenv(cli.TRACEBACK, "1")
    assert main(["claims"]) == INTERNAL
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("interrupt", "code", "word"),
    [(KeyboardInterrupt(), 130, "interrupted"), (terminal.Terminated(), 143, "terminated")],
)
def test_an_interrupt_prints_how_to_resume(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    interrupt: KeyboardInterrupt,
    code: int,
    word: str,
) -> None:
    def stop(_: object) -> int:
        raise interrupt

    monkeypatch.setattr(verify_command, "run", stop)
    found, line = fails(capsys, "verify", "--store", "a b.sqlite")
    assert found == code and line.startswith(f"odernn: {word}")
    assert line.endswith("Run the same command again to resume: odernn verify --store 'a b.sqlite'")


# --- witnesses, claims, doctor ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[1]",
        '{"format": "odernn-witness"}',
        '{"format": NaN}',
        "[" * 100_000,
        '{"instance": {"inputs": {"steps": 1000000000}}}',
        '{"claim": "\\u001b[31m"}',
        "\xff\xfe",
    ],
)
def test_a_damaged_witness_does_not_certify(capsys: pytest.CaptureFixture[str], text: str) -> None:
    Path("w.json").write_bytes(text.encode("latin-1"))
    for verb in ("verify", "show"):
        code, line = fails(capsys, "witness", verb, "w.json")
        assert code == NOT_CERTIFIED and '"w.json" does not certify' in line and "\x1b" not in line


def test_claims_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--format", "json"]) == DONE
    listed = json.loads(capsys.readouterr().out)["rows"]
    assert {"icml-C.1", "sam-D.1-a", "sam-D.1-b", "thm-S"} <= {row["claim"] for row in listed}
    assert all(row["statement"] and row["source"] and row["file"].endswith(".py") for row in listed)


def test_doctor_finds_a_sound_installation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--format", "json"]) == DONE
    found = {row["what"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert found["torch"]["state"] == found["execution torch"]["state"] == found["name cuda"]["state"] == "ok"
    assert found["MNIST"]["state"] == "missing" and "ODERNN_DATA" in found["MNIST"]["remark"]
    assert all(row["remark"] for row in found.values() if row["state"] != "ok")


def test_doctor_names_what_is_broken(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    taken = SimpleNamespace(origin="/somewhere/cuda/__init__.py")
    monkeypatch.setitem(sys.modules, "cuda", SimpleNamespace(__spec__=taken))
    monkeypatch.setitem(sys.modules, "filelock", None)
    assert main(["doctor", "--width", "120"]) == INTERNAL
    text = capsys.readouterr().out
    assert text.startswith("odernn is broken: filelock, name cuda") and "/somewhere/cuda/__init__.py" in text


# --- a real run, small ----------------------------------------------------------------------------------------------

FALSE_CLAIM = '''
"""A false statement."""
from odernn.tableaus.tableau import Source
from verification.claim import Claim, Hypothesis, Part, StateBound

CLAIMS = (
    Claim(
        id="small.False",
        source=Source("nobody", "p. 1"),
        statement="|z_n| ≤ t_n / 2",
        semantics="real",
        state_bound=StateBound(
            (Part("momentum", "max", lambda s, numbers: numbers.log(s.time / 2), lambda s, iv: iv.log(s.time / 2)),),
            (Hypothesis("α > 0", lambda s: s.alpha, second_margin=lambda s: s.alpha),),
        ),
    ),
)
'''
TINY = Budget("tiny", 1, 0, (("1/4", "2", "1/10"),), (), 4, 100, (1.0,), 2)
CELL = "small.False | free | layer 1 | momentum"


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Arguments of a run of one false claim on one free point, in this process."""
    monkeypatch.setitem(domains.BUDGETS, "tiny", TINY)
    monkeypatch.setattr(run, "printed_rows", lambda: ())
    (tmp_path / "my claims").mkdir()
    (tmp_path / "my claims" / "small.py").write_text(FALSE_CLAIM, encoding="utf-8")
    return ["verify", "small-false", "--budget", "tiny", "--jobs", "0", "--claims", "my claims"]


def test_a_false_claim_is_refuted_and_replayed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tiny: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    tiny = [*tiny, "--format", "text"]
    assert main(tiny) == DONE
    captured = capsys.readouterr()
    assert captured.out.startswith("claims     1 tried on 1 domain, 1 cell: 1 refuted\nrefuted    small.False  free ")
    assert "refuted (witness 1)" in captured.out
    assert captured.err.startswith(f"odernn {odernn.__version__} · torch ") and "executions: torch" in captured.err
    replay = re.search(r"replay:\s+odernn (.*)", captured.out)
    assert replay and replay[1] == "witness verify witnesses/small-false-free-layer1-momentum.json --claims 'my claims'"

    witness = "witnesses/small-false-free-layer1-momentum.json"
    assert main(["witness", "verify", witness, "--claims", "my claims"]) == DONE
    assert "\ncertified: small.False" in capsys.readouterr().out
    assert main(["witness", "show", witness]) == DONE
    assert "α = 1/4, 1 layer of 1 neuron" in capsys.readouterr().out
    code, line = fails(capsys, "witness", "verify", witness)
    assert code == NOT_CERTIFIED and 'Unknown claim "small.False"' in line
    path = Path(witness)
    changed = re.sub(r'("log_measured": ")(.)', r"\g<1>9", path.read_text(encoding="utf-8"))
    path.write_text(changed, encoding="utf-8")
    assert main(["witness", "verify", witness, "--claims", "my claims"]) == NOT_CERTIFIED
    assert "NOT certified" in capsys.readouterr().out

    assert main(tiny) == DONE
    again = capsys.readouterr().out
    assert again == captured.out
    assert main(["table", "--claim", "small.False"]) == DONE
    assert again.endswith("\n" + capsys.readouterr().out)


def test_expectations_and_json_lines(capsys: pytest.CaptureFixture[str], tiny: list[str]) -> None:
    Path("expect.json").write_text(json.dumps({CELL: "refuted"}))
    assert main([*tiny, "--expect", "expect.json", "--json"]) == DONE
    captured = capsys.readouterr()
    (line,) = captured.out.splitlines()
    judgement = json.loads(line, parse_constant=lambda name: pytest.fail(name))
    assert judgement["verdict"] == "refuted" and judgement["log_worst"] > judgement["log_bound"]
    assert Path("witnesses", judgement["witness"]).is_file()

    Path("expect.json").write_text(json.dumps({CELL: "proved", "small.False | free | layer 2 | momentum": "refuted"}))
    assert main([*tiny, "--expect", "expect.json", "--witnesses", "other"]) == DIFFERENCE
    captured = capsys.readouterr()
    assert f"{CELL}: refuted, expected proved\n" in captured.err
    assert "layer 2 | momentum: expected refuted, but it was not judged\n" in captured.err
    assert captured.err.splitlines()[-1].startswith("odernn: 2 of the verdicts")
    assert "by 0.301 decades  witness 1\n" in captured.out and Path("other", judgement["witness"]).is_file()

    assert main(["expectations"]) == DONE
    printed = capsys.readouterr().out
    Path("expect.json").write_text(printed)
    assert json.loads(printed)[CELL]["verdict"] == "refuted"
    Path("pinned.json").write_text(json.dumps(json.loads(printed)[CELL]["witness"]))
    assert main(["witness", "verify", "pinned.json", "--claims", "my claims"]) == DONE
    assert main([*tiny, "--expect", "expect.json"]) == DONE
    capsys.readouterr()

    Path("expect.json").write_text("{}")
    assert main([*tiny, "--expect", "expect.json"]) == DIFFERENCE
    assert "but it is not in the list of expectations" in capsys.readouterr().err


def test_a_format_for_programs_is_alone_on_stdout(capsys: pytest.CaptureFixture[str], tiny: list[str]) -> None:
    assert main([*tiny, "--format", "json"]) == DONE
    captured = capsys.readouterr()
    assert json.loads(captured.out)["rows"][0]["claim"] == "small.False"
    assert "claims     1 tried" in captured.err and "replay:\n  odernn witness " in captured.err


def test_a_run_ends_in_one_screen_and_quietly_in_its_last_line(
    capsys: pytest.CaptureFixture[str], tiny: list[str]
) -> None:
    assert main(tiny) == DONE
    screen = capsys.readouterr()
    lines = screen.out.splitlines()
    assert len(lines) <= 48 and lines[0].startswith(f"odernn {odernn.__version__} · budget tiny")
    assert lines[-1] == "1 of 1 claim refuted; results are in odernn.sqlite"
    script = "odernn witness script witnesses/small-false-free-layer1-momentum.json | python -"
    assert f"recompute   {script}" in lines and Path(script.split()[3]).is_file()
    assert "odernn table" in screen.out and "odernn ledger" in screen.out

    assert main([*tiny, "--color", "always"]) == DONE
    coloured = capsys.readouterr().out
    assert "31mrefuted\x1b" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == screen.out and "\x1b" not in screen.out

    assert main([*tiny, "--quiet"]) == DONE
    assert capsys.readouterr() == (f"{lines[-1]}\n", "")
    assert main([*tiny, "--full"]) == DONE
    full = capsys.readouterr().out
    assert full.startswith("claims     1 tried") and "\nrefuted    small.False  free " in full
    assert main(["table", "--full"]) == DONE
    assert full.endswith("\n" + capsys.readouterr().out)


def test_what_is_printed_can_be_chosen_by_paper_and_verdict(
    capsys: pytest.CaptureFixture[str], tiny: list[str]
) -> None:
    assert main([*tiny, "--only", "proved,suspect"]) == DONE
    text = capsys.readouterr().out
    assert "Left out: 1 claim with another verdict (--only proved,suspect)." in text and "small.False" not in text
    assert main([*tiny, "--only", "refuted", "--paper", "others", "--format", "csv"]) == DONE
    assert capsys.readouterr().out.count("small.False") == 1
    assert main([*tiny, "--only", "theorem-tested", "--json"]) == DONE
    captured = capsys.readouterr()
    assert not captured.out and "left out: 1 cell with another verdict (--only theorem-tested)" in captured.err
    for wrong, said in (
        (["--only", "refutd"], 'Did you mean "refuted"?'),
        (["--only", "xyz"], "Choose from: refuted, error, suspect"),
        (["--only", ","], "names no verdict"),
        (["--paper", "scornn"], '--paper scornn: this run tried no claim of "scornn", only of others. Choose one'),
        (["--paper", "scorn"], '--paper scorn: there is no such paper. Did you mean "scornn"?'),
        (["--paper", "xyz"], "there is no such paper. Choose from: unicornn, scornn, odernn, complexity, library, "),
        (["--quiet", "--full"], "--full: prints more than --quiet leaves"),
    ):
        assert main([*tiny, *wrong]) == USAGE
        assert said in capsys.readouterr().err


def test_a_table_has_the_columns_the_width_and_the_rows_that_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    make_store(Path("odernn.sqlite"))
    assert main(["table", "--width", "60"]) == DONE
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60
    assert main(["table", "--columns", "slack,claim", "--format", "github"]) == DONE
    head, _, *body = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [cell.strip() for cell in head] == ["slack (decades)", "claim"] and len(body) == 2
    assert main(["table", "--only", "proved", "--paper", "unicornn", "--format", "csv"]) == DONE
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 2 and "icml-C.1" in captured.out
    assert captured.err == "odernn: left out: 1 cell of other papers (--paper unicornn)\n"
    for wrong, said in (
        (["--columns", "nothing"], '--columns: "nothing" names no column. There are: "claim", '),
        (["--columns", "claim,verdct"], '--columns: "verdct" names no column. Did you mean "verdict"? There are: '),
        (["--paper", "scornn"], 'this run tried no claim of "scornn", only of unicornn'),
        (["--columns", "claim", "--format", "csv"], "--columns: a csv table has every column"),
        (["--width", "100", "--format", "latex"], "--width: is of a table in text"),
        (["--width", "3"], "'--width'"),
    ):
        code, line = fails(capsys, "table", *wrong)
        assert code == USAGE and said in line


def test_witnesses_that_cannot_be_written_lose_nothing(capsys: pytest.CaptureFixture[str], tiny: list[str]) -> None:
    Path("taken").write_text("a file")
    code, line = fails(capsys, *tiny, "--witnesses", "taken")
    assert code == USAGE and '"taken" cannot be written' in line
    assert main(["table"]) == DONE


# --- the process ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
def test_a_reader_that_goes_away_is_no_error() -> None:
    make_store(Path("odernn.sqlite"))
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command("table"), stdout=writing, stderr=subprocess.PIPE, text=True, env=environment(), timeout=60
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (DONE, "")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX shells")
@pytest.mark.parametrize(
    "line",
    only(
        ["table >&-", "table >&- 2>&-", "--help >&-", "--help | true", "witness 2>&-; true", "table | head -1"],
        *["table >&- 2>&-", "--help | true"],
    ),
)
def test_a_closed_stdout_or_stderr_is_no_internal_error(line: str) -> None:
    """The pipe is asked for the exit code of odernn, which is not the last command of it."""
    make_store(Path("odernn.sqlite"))
    script = f"set -o pipefail; {shlex.join(command())} {line}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment(), timeout=60)
    assert (done.returncode, done.stderr) == (DONE, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_output_that_cannot_be_written_is_one_line() -> None:
    make_store(Path("odernn.sqlite"))
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command("table"), stdout=full, stderr=subprocess.PIPE, text=True, env=environment(), timeout=60
        )
    assert done.returncode == USAGE and done.stderr.count("\n") == 1
    assert "The output cannot be written: no space left on device. Make room" in done.stderr


def test_a_terminal_without_the_signs_gets_question_marks() -> None:
    make_store(Path("odernn.sqlite"))
    ascii_only = environment() | {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command("table", "--width", "200"), capture_output=True, env=ascii_only, timeout=60)
    assert done.returncode == DONE and b"psMNIST-128, layer 1 ? printed" in done.stdout


HEARING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
"""Starts a command that hears SIGINT, even where the tests run in the background of a script and inherit it ignored."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(
    ("number", "code", "jobs"),
    [(signal.SIGINT, 130, 1), (signal.SIGTERM, 143, 0)],
)
def test_signals_end_a_run_with_the_line_that_resumes_it(number: signal.Signals, code: int, jobs: int) -> None:
    hearing = [sys.executable, "-c", HEARING, *command("verify", "--jobs", str(jobs))]
    process = subprocess.Popen(hearing, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    assert process.stderr is not None and process.stderr.readline().startswith("odernn ")  # the header: it runs
    process.send_signal(number)
    out, error = process.communicate(timeout=300)
    assert (process.returncode, out) == (code, "")
    assert error.endswith(f"to resume: python -m verification verify --jobs {jobs}\n") and "Traceback" not in error


def test_progress_of_a_run_without_a_terminal_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    note, heard = terminal.note, threading.Event()

    def listen(line: str) -> None:
        note(line)
        if line.startswith("searching"):
            heard.set()

    monkeypatch.setattr(terminal, "note", listen)
    with terminal.lines(0.05) as report:
        report("searching", 3, 93)
        assert heard.wait(120)
    *_, line = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"searching 3/93 after \d+ s", line)  # and nothing is said of what is left: none of these 3 ran
    heard.clear()
    with terminal.lines(0.05) as report:
        report("searching", 3, 93)
        report("searching", 33, 93)
        assert heard.wait(120)
    *_, line = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"searching 33/93 after \d+ s, \d+:\d\d left", line)


def test_the_time_that_is_left_is_that_of_the_jobs_that_are_left() -> None:
    stage = terminal.ProgressStage("searching", before=10, done=30, total=90, begun=100.0)
    assert stage.left(now=140.0) == ", 2:00 left"
    assert terminal.ProgressStage("judging", 5, 5, 9, 0.0).left(now=3.0) == ""


@pytest.mark.parametrize("width", [60, 80, 120])
def test_evidence_is_wrapped_and_commands_are_whole(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tiny: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main([*tiny, "--full"]) == DONE
    captured = capsys.readouterr()
    wide = [line for line in captured.out.splitlines() if room(line) > width]
    assert all(line.startswith("  odernn witness verify witnesses/") for line in wide) and len(wide) <= 1
    assert "odernn witness verify witnesses/small-false-free-layer1-momentum.json --claims 'my claims'" in captured.out
    assert max(map(room, captured.err.splitlines())) <= width
    assert "executions: torch" in captured.err and "budget tiny" in captured.err


COMMAND = shutil.which("odernn", path=str(Path(sys.executable).parent))


@pytest.mark.skipif(COMMAND is None, reason="odernn is not installed in this environment")
def test_the_installed_command_is_the_same() -> None:
    done = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("odernn ")


# --- what the documents say ---------------------------------------------------------------------------------------


def test_the_claim_in_a_document_is_a_claim(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (CHECKOUT / "docs" / "adding.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (text,) = [block for block in blocks if "CLAIMS = " in block]
    (tmp_path / "documented.py").write_text(text, encoding="utf-8")
    assert main(["claims", "--claims", str(tmp_path), "--format", "csv"]) == DONE
    assert "my.momentum" in capsys.readouterr().out


def test_the_documents_name_the_exit_codes_of_the_program() -> None:
    for document in ("README.md", "docs/conventions.md"):
        text = (CHECKOUT / document).read_text(encoding="utf-8")
        assert all(str(code) in text for code in (DONE, DIFFERENCE, USAGE, NOT_CERTIFIED, INTERNAL, 130, 143))
