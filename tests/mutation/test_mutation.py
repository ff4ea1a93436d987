"""The mutation check checks itself: its operators make the mutants they name, and what no test notices is reported."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import scripts

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


operators = scripts.loaded(HERE / "operators.py")

SMALL = '''
def energy(alpha: float, y: float, steps: int = 7) -> float:
    """α y² + |y|, 3 of them."""
    if y != y:
        raise ValueError(f"y is {y + 1}")
    total = 0 * y
    for n in range(1, steps):
        total += alpha * y**2 - n
    return max(sqrt(total), -y) if alpha < 3 else total


def log_size(x: float) -> float:
    return log(x) / 2
'''

EXPECTED = {
    ("energy", "sign", "alpha * y ** 2 - n", "alpha * y ** 2 + n"),
    ("energy", "sign", "alpha * y ** 2 - n", "-(alpha * y ** 2 - n)"),
    ("energy", "sign", "-y", "y"),
    ("energy", "factor 2", "alpha * y ** 2", "2 * (alpha * y ** 2)"),
    ("energy", "factor 2", "alpha * y ** 2", "alpha * y ** 2 / 2"),
    ("energy", "factor 2", "n", "2 * n"),
    ("energy", "factor 2", "n", "n / 2"),
    ("energy", "factor 2", "3", "6"),
    ("energy", "factor 2", "3", "1.5"),
    ("energy", "exponent", "y ** 2", "y ** 3"),
    ("energy", "exponent", "y ** 2", "y"),
    ("energy", "exponent", "sqrt(total)", "total"),
    ("energy", "dropped term", "alpha * y ** 2 - n", "alpha * y ** 2"),
    ("energy", "dropped term", "alpha * y ** 2 - n", "-n"),
    ("energy", "dropped term", "alpha * y ** 2 - n", "0 * (alpha * y ** 2 - n)"),
    ("energy", "dropped term", "alpha * y ** 2", "alpha"),
    ("energy", "dropped term", "alpha * y ** 2", "y ** 2"),
    ("energy", "dropped term", "max(sqrt(total), -y)", "sqrt(total)"),
    ("energy", "dropped term", "max(sqrt(total), -y)", "-y"),
    ("energy", "max and min", "max(sqrt(total), -y)", "min(sqrt(total), -y)"),
    ("energy", "comparison", "alpha < 3", "alpha >= 3"),
    ("energy", "range", "range(1, steps)", "range(1 + 1, steps)"),
    ("energy", "range", "range(1, steps)", "range(1 - 1, steps)"),
    ("energy", "range", "range(1, steps)", "range(1, steps + 1)"),
    ("energy", "range", "range(1, steps)", "range(1, steps - 1)"),
    ("log_size", "factor 2", "2", "4"),
    ("log_size", "factor 2", "2", "1"),
    ("log_size", "factor 2", "log(x) / 2", "log(x) / 2 + 0.6931471805599453"),
    ("log_size", "factor 2", "log(x) / 2", "log(x) / 2 - 0.6931471805599453"),
    ("log_size", "dropped term", "log(x) / 2", "1 / 2"),
}


def test_the_operators_make_exactly_the_mutants_of_a_small_function():
    found = operators.mutants(SMALL, "small.py")
    assert {(m.function, m.operator, m.before, m.after) for m in found} == EXPECTED
    assert len(found) == len({m.key for m in found}) == len(EXPECTED)
    assert {m.operator for m in found} == set(operators.OPERATORS)


def test_a_mutant_changes_its_expression_only_and_closes_over_the_same_names():
    tree = ast.parse(SMALL)
    for mutant in operators.mutants(SMALL, "small.py"):
        broken = operators.broken_tree(SMALL, mutant)
        node = operators.at(broken, mutant.path)
        assert isinstance(node, ast.IfExp) and ast.unparse(node.orelse) == mutant.before
        assert ast.dump(node.body) == ast.dump(ast.parse(mutant.after, mode="eval").body)
        parent, (name, i) = operators.at(broken, mutant.path[:-1]), mutant.path[-1]
        if i is None:
            setattr(parent, name, node.orelse)
        else:
            getattr(parent, name)[i] = node.orelse
        assert ast.unparse(broken) == ast.unparse(tree)


def test_what_is_no_formula_is_left_alone():
    text = """
def log_bound(x, numbers, scale=2 * 3):
    zero = 0 * x
    if x is None or x < 0:
        raise ValueError(2 * x)
    assert x > 1
    return rows[1 + 2].sum(axis=1) + zero
"""
    assert {(m.before, m.after[-20:]) for m in operators.mutants(text, "f.py")} == {
        ("rows[1 + 2].sum(axis=1) + zero", "+ 0.6931471805599453"),
        ("rows[1 + 2].sum(axis=1) + zero", "- 0.6931471805599453"),
        ("rows[1 + 2].sum(axis=1)", "s[1 + 2].sum(axis=1)"),
        ("rows[1 + 2].sum(axis=1)", "+ 2].sum(axis=1) / 2"),
    }


def test_every_mutant_is_an_expression_also_where_arguments_are_unpacked():
    found = operators.mutants("def least(x, rest):\n    return min(x, *rest)\n", "f.py")
    assert {each.after for each in found} == {"x", "max(x, *rest)", "2 * min(x, *rest)", "min(x, *rest) / 2"}
    for each in found:
        ast.parse(each.after, mode="eval")


def test_sides_of_an_inequality_are_formulas_wherever_they_stand():
    text = """
def case():
    def balls(p):
        return p.x + 1, p.y
    def ask(p):
        return p.x + 1
    return Inequality(balls, lambda p: (p.x, 2 * p.y), lambda p: p.x + 3)
"""
    found = operators.mutants(text, "f.py", only="^balls$")
    assert {(m.function, m.before) for m in found} == {
        ("case.balls", "p.x + 1"),
        ("case.balls", "p.x"),
        ("case.balls", "1"),
        ("case.<intervals>", "2 * p.y"),
        ("case.<intervals>", "2"),
    }


FORMULA = """
def hypotenuse(a, b):
    return (a**2 + b**2) ** 0.5


def make(shift):
    def moved(x):
        return x + shift

    return moved


by_three = make(3)
"""
THOROUGH = """
from formula import by_three, hypotenuse

def test_hypotenuse():
    assert hypotenuse(3, 4) == 5 and abs(hypotenuse(5, 12) - 13) < 1e-9

def test_closure():
    assert by_three(4) == 7
"""
BLIND = """
from formula import by_three, hypotenuse

def test_hypotenuse():
    assert hypotenuse(3, 4) > 0

def test_closure():
    assert by_three(4) == 7
"""


def _run(root: Path, tests: str) -> tuple[int, str, dict]:
    (root / "formula.py").write_text(FORMULA)
    (root / "test_formula.py").write_text(tests)
    out = root / "out.json"
    command = [sys.executable, str(HERE / "mutate.py"), "--root", str(root), "--files", "formula.py"]
    done = subprocess.run(
        [*command, "--tests", "test_formula.py", "--out", str(out)], capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stdout + done.stderr, json.loads(out.read_text()) if out.exists() else {}


@pytest.mark.slow
def test_good_tests_kill_every_mutant_of_a_planted_formula_and_blind_ones_are_reported(tmp_path: Path):
    for name in ("good", "blind"):
        (tmp_path / name).mkdir()
    code, shown, record = _run(tmp_path / "good", THOROUGH)
    assert code == 0 and not record["survivors"], shown
    assert record["mutants"] == record["killed"] > 15
    code, shown, record = _run(tmp_path / "blind", BLIND)
    assert code == 1 and "survived, unexplained: formula.py:3 hypotenuse: a ** 2 + b ** 2 → a ** 2" in shown
    assert {each["function"] for each in record["survivors"]} == {"hypotenuse"}
    assert all(each["kind"] == "unexplained" for each in record["survivors"])


@pytest.mark.slow
def test_tests_that_fail_without_a_mutant_stop_the_check(tmp_path: Path):
    code, shown, record = _run(tmp_path, THOROUGH.replace("== 7", "== 8"))
    assert code and not record and "fails without a mutant" in shown


def test_only_files_tried_in_full_and_explained_are_settled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", list(sys.path))  # the script adds to it
    settled_files = scripts.loaded(HERE / "mutate.py").settled_files
    rows = {"sign": {"mutants": 2, "killed": 1}, "range": {"mutants": 3, "killed": 3}}
    files = {name: rows for name in ("full.py", "sampled.py", "unexplained.py")}
    record = {
        "files": files,
        "of": {"full.py": 5, "sampled.py": 6, "unexplained.py": 5},
        "survivors": [{"file": name, "kind": name.removesuffix(".py")} for name in files],
    }
    assert settled_files(record) == {"full.py"}
    stored = settled_files(json.loads((ROOT / "benchmarks" / "results" / "mutation.json").read_text()))
    assert {f"odernn/bounds/{name}.py" for name in ("network", "gradient", "jacobian", "sharp", "layers")} <= stored


@pytest.mark.slow
def test_every_explanation_names_a_mutant_that_there_is(monkeypatch: pytest.MonkeyPatch):
    """An entry of survivors.toml whose formula has changed, or that has a slip in it, explains nothing."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    mutate, results = scripts.loaded(HERE / "mutate.py"), scripts.loaded(HERE / "results.py")
    entries = results.explanations(results.SURVIVORS.read_text())
    every = [mutant for group in mutate.GROUPS for mutant in mutate.mutants_of(group)]
    idle = [entry for entry in entries if not any(results.explain(mutant, [entry]) for mutant in every)]
    assert not idle and len(entries) > 40
    planted = (entries[0][0] | {"before": "no such formula"}, entries[0][1])
    assert not any(results.explain(mutant, [planted]) for mutant in every)


def test_a_part_is_chosen_by_the_name_of_its_function(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "path", list(sys.path))
    mutate = scripts.loaded(HERE / "mutate.py")
    assert mutate.main(["--list", "--file", "layers", "--function", "^peak_law$"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert len(rows) > 10 and {row[1] for row in rows} == {"odernn/bounds/layers.py"}
    source = (ROOT / "odernn" / "bounds" / "layers.py").read_text().splitlines()
    first = next(i for i, line in enumerate(source, 1) if line.startswith("def peak_law"))
    assert all(first < int(row[2]) < first + 10 for row in rows)


@pytest.mark.slow
def test_of_a_sample_of_the_settled_bound_formulas_no_mutant_survives_unexplained(tmp_path: Path):
    """Of files all of whose mutants were tried, as all of ``odernn/bounds`` were: what survives has an explanation."""
    out = tmp_path / "sample.json"
    command = [
        sys.executable,
        str(HERE / "mutate.py"),
        "--settled",
        "--file",
        "odernn/bounds",
        "--sample",
        "150",
        "--seed",
        "7",
    ]
    done = subprocess.run([*command, "--out", str(out)], cwd=ROOT, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert json.loads(out.read_text())["mutants"] == 150


def test_every_group_names_files_and_tests_that_are_there():
    groups = scripts.loaded(HERE / "groups.py").GROUPS
    named = [path.partition("::")[0] for group in groups for path in (*group.files, *group.tests)]
    assert len(named) > 100 and all(group.files and group.tests for group in groups)
    assert not [path for path in named if not (ROOT / path).is_file()]
    names = [group.name for group in groups]  # of files in one folder
    assert len(set(names)) == len(names) and not [name for name in names if "/" in name]


def test_bounds_in_no_group_are_named_on_the_page_and_no_others():
    groups, results = scripts.loaded(HERE / "groups.py").GROUPS, scripts.loaded(HERE / "results.py")
    of = {file: 1 for group in groups for file in group.files}
    named = results.unbroken_bounds({"of": of})
    assert not [file for file in named if file in of] and "odernn/bounds/switching.py" not in named
    assert len(named) + sum(file.startswith("odernn/bounds/") for file in of) == len(
        [path for path in (ROOT / "odernn" / "bounds").rglob("*.py") if not path.name.startswith("_")]
    )
    assert "odernn/bounds/icml.py" in results.unbroken_bounds({"of": {}})
