"""The standalone scripts: each is run by an interpreter that has numpy and mpmath alone, and must be able to say no."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.tiers import only, spread
from verification.claim import slug
from verification.cli import main
from verification.commands.terminal import DONE, USAGE
from verification.registry import Registry
from verification.run import provenance
from verification.witness.file import Witness, from_json, plain_parameters, to_json
from verification.witness.script import FOLDER, replaced, script_of, template_of

MOST_LINES = 40
PINS = json.loads((Path(__file__).parents[1] / "pins.json").read_text("utf-8"))
WITNESSES = {
    name: from_json(json.dumps(pin["witness"]))
    for name, pin in PINS.items()
    if isinstance(pin, dict) and pin["verdict"] == "refuted"
}
TEMPLATES = sorted(FOLDER.glob("*.py"))
HARMLESS = {
    "both_4_health": {"frequency": "125", "minutes": "8", "printed": "60000"},
    "cplx_f1a_text__2": {"text": "7/2", "caption": "7/2"},
    "ode_t2_proof": {"theorem 5": "the step of an ARNN with anti-Hermitian weights is stable for small eigenvalues"},
    "sco_2_2b": {"a_re": "2 3 4 5 6", "a_im": "1 1 1 1 1", "b_re": "3 6 4 4 6", "b_im": "2 3 4 5 6"},
}
"""Parameters at which nothing is violated, of scripts that are about a few printed words or numbers."""


def template(witness: Witness) -> Path | None:
    return template_of(witness.claim, f"{witness.domain} | {witness.quantity}")


BY_TEMPLATE: dict[Path, list[str]] = {}
for name, witness in WITNESSES.items():
    if (path := template(witness)) is not None:
        BY_TEMPLATE.setdefault(path, []).append(name)

BARE = """
import builtins, contextlib, io, json, sys
imported = builtins.__import__
def guarded(name, names=None, local=None, of=(), level=0):
    allowed = sys.stdlib_module_names | {"numpy", "mpmath"}
    if (names or {}).get("__name__") == "__main__" and name.split(".")[0] not in allowed:
        raise ImportError(f"{name} is not in a bare interpreter")
    return imported(name, names, local, of, level)
builtins.__import__ = guarded
answers = []
for script in json.load(sys.stdin):
    printed, code = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(script, "script", "exec"), {"__name__": "__main__"})
        except SystemExit as stop:
            code = int(stop.code or 0)
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    answers.append([code, printed.getvalue()])
json.dump(answers, sys.stdout)
"""


def run(scripts: list[str]) -> list[tuple[int | None, str]]:
    """Exit code (None: an exception) and what each script prints."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", BARE], input=json.dumps(scripts), capture_output=True, text=True, timeout=550
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [(code, text) for code, text in json.loads(done.stdout)]


def test_every_refuted_cell_has_a_script() -> None:
    missing = sorted({witness.claim for witness in WITNESSES.values() if template(witness) is None})
    assert not missing
    assert set(BY_TEMPLATE) == set(TEMPLATES)  # and every script a refuted cell


@cache
def slugs() -> set[str]:
    return {slug(claim).replace("-", "_") for claim in Registry().ids()}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_script_fits_a_page_and_needs_numpy_and_mpmath_at_most(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.rstrip("\n").split("\n")) <= MOST_LINES
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names | {"numpy", "mpmath"}
    assert re.sub(r"__\d+$", "", path.stem) in slugs()


@pytest.mark.parametrize("path", spread(list(BY_TEMPLATE), 8), ids=lambda path: path.stem)
def test_every_script_prints_the_violation_of_its_witnesses(path: Path) -> None:
    names = BY_TEMPLATE[path]
    scripts = [script_of(WITNESSES[name]) for name in names]
    for name, script, (code, text) in zip(names, scripts, run(scripts), strict=True):
        assert code == 0 and text.endswith("\nviolated\n"), (name, text)
        assert len(script.rstrip("\n").split("\n")) <= MOST_LINES, name


def milder(parameters: dict[str, object]) -> list[dict[str, object]]:
    """The parameters with one number changed."""
    text = json.dumps(parameters, ensure_ascii=False)
    found = []
    for number in re.finditer(r"(?<![\w./^'])-?\d+(?:/\d+|\.\d+)?(?![\w./])", text):
        for other in ("0", "1", "2", "1/2", "-1", "1/1000"):
            try:
                found.append(json.loads(text[: number.start()] + other + text[number.end() :]))
            except ValueError:
                continue
    return found


QUICK = [path for path in BY_TEMPLATE if path.stem in ("sam_3_2", "sco_4_1a__2")]


@pytest.mark.parametrize("path", only(BY_TEMPLATE, *QUICK), ids=lambda path: path.stem)
def test_every_script_can_say_that_nothing_is_violated(path: Path) -> None:
    for name in BY_TEMPLATE[path]:
        witness = WITNESSES[name]
        case, program = f"{witness.domain} | {witness.quantity}", path.read_text("utf-8")
        changed = [HARMLESS[path.stem]] if path.stem in HARMLESS else milder(plain_parameters(witness))
        chosen = changed[:: len(changed) // 40 + 1]
        answers = run([replaced(program, {"CASE": case, "P": parameters}) for parameters in chosen])
        if any(code == 1 and text.endswith("\nNOT violated\n") for code, text in answers):
            return
    raise AssertionError(f"{path.name} says of nothing that it is not violated")


PREMISES = {
    "both_46__2": {"alpha": {"0": True, "-1/2": False}, "dt": {"1": False, "-1/2": False}},
    "both_3_novanish_ode__3": {"slopes": {"1 1/10 1 1/10": False, "2 1/10": False, "1 -1/10": False}},
    "both_d_4_order": {"alpha": {"0": True, "-1": False}, "layers": {"2": False}},
}
"""Of scripts whose inequality is broken at all of these: where every premise holds, and where one alone fails."""


def at_witness(stem: str, **changed: str) -> str:
    path = FOLDER / f"{stem}.py"
    witness = WITNESSES[BY_TEMPLATE[path][0]]
    parameters = plain_parameters(witness) | changed
    return replaced(path.read_text("utf-8"), {"CASE": f"{witness.domain} | {witness.quantity}", "P": parameters})


@pytest.mark.parametrize("stem", PREMISES)
def test_a_premise_that_fails_alone_is_a_no_and_one_at_its_edge_a_yes(stem: str) -> None:
    places = [(name, value, says) for name, values in PREMISES[stem].items() for value, says in values.items()]
    answers = run([at_witness(stem, **{name: value}) for name, value, _ in places])
    for place, (code, text) in zip(places, answers, strict=True):
        expected = (0, "violated") if place[2] else (1, "NOT violated")
        assert (code, text.split("\n")[-2]) == expected, (place, text)


@pytest.mark.parametrize("stem", ["both_d_4_order"])
def test_each_line_of_an_order_is_that_of_its_own_indexing(stem: str) -> None:
    """∂E_n/∂w¹ by complex steps in floats: in icml a layer sees the one below at its own step, in sam a step before."""
    n, k, step = 32, 3, 1e-30
    h, slopes = 1 / (2 * n), {}
    for name, late in (("icml", 0), ("sam", 1)):
        y = np.zeros((n + 1, 4), complex)  # y[j, q] of layer q = 1, 2, 3
        z = np.zeros(4, complex)
        for j in range(1, n + 1):
            for q in range(1, 4):
                seen = 1.0 if q == 1 else y[j - late, q - 1]
                w = 1j * step if (q, j) == (1, k) else 0.0
                z[q] -= h * (np.tanh(w * y[j - 1, q] + seen) + y[j - 1, q])
                y[j, q] = y[j - 1, q] + h * z[q]
        slopes[name] = abs(((y[n, 3] - 1) ** 2 / 2).imag) / step
    ((_, text),) = run([at_witness(stem)])
    printed = dict(re.findall(r"(?m)^(\w+): n = 32: (\S+)", text))
    assert {name: float(value) for name, value in printed.items()} == pytest.approx(slopes, rel=1e-4)
    assert slopes["icml"] > 1.3 * slopes["sam"]


def test_the_pattern_by_which_a_template_was_chosen_is_not_printed() -> None:
    chosen = [w for w in WITNESSES.values() if (path := template(w)) and "\nCases: " in path.read_text("utf-8")]
    assert chosen and not [w for w in chosen if re.search(r"(?m)^Cases: ", script_of(w))]


def test_what_a_hostile_file_says_stays_text() -> None:
    evil = "0'); import os; os.abort(); ('"
    program = replaced('CASE = ""\nP = {}\nprint(P["a"], CASE)\n', {"CASE": evil, "P": {"a": evil * 20}})
    assert run([program]) == [(None, "")] or run([program])[0][1] == f"{evil * 20} {evil}\n"


def test_a_long_row_of_few_numbers_is_written_as_runs() -> None:
    row = " ".join(["1"] * 60 + ["-1"] * 40)
    program = replaced('P = {}\nprint(P["D"])\n', {"P": {"D": row}})
    assert "['1'] * 60 + ['-1'] * 40" in program and run([program]) == [(None, f"{row}\n")]


def test_a_long_row_of_few_numbers_out_of_order_is_written_as_one_number() -> None:
    row = " ".join(["0", "-31", "31/2"][place * place * 7 // 3 % 3] for place in range(1300))
    program = replaced('P = {}\nprint(P["D"])\n', {"P": {"a": "1", "D": row}})
    assert len(program.split("\n")) < 12 and max(map(len, program.split("\n"))) <= 122
    assert run([program]) == [(None, f"{row}\n")]


def test_the_command_prints_the_script_or_says_that_there_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    witness = WITNESSES[BY_TEMPLATE[FOLDER / "icml_c_1.py"][0]]
    file = tmp_path / "witness.json"
    file.write_text(to_json(witness), "utf-8")
    assert main(["witness", "script", str(file)]) == DONE
    assert capsys.readouterr().out == script_of(witness, provenance.here().words)
    file.write_text(to_json(Witness("thm-S", "a", "b", {"x": "1"})), "utf-8")
    assert main(["witness", "script", str(file)]) == USAGE
    assert "no script is written for thm-S, a | b. `odernn witness verify` decides it." in capsys.readouterr().err
