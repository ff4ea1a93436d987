"""Tasks are found by scanning their folder, and the scan brings nothing heavy along."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.tiers import slow
from verification import tasks
from verification.tasks.images import DataError

FOLDER = Path(tasks.__file__).parent


def is_task(path: Path) -> bool:
    """Read from the source, without importing it: a function load whose parameters begin with split, root."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name == "load":
            return [argument.arg for argument in node.args.args][:2] == ["split", "root"]
    return False


def test_every_file_with_the_signature_of_a_task_is_one_and_no_other() -> None:
    expected = {path.stem for path in FOLDER.glob("*.py") if is_task(path)}
    assert set(tasks.names()) == expected and len(expected) >= 11
    assert {"adding", "copying_memory", "lorenz96", "sequential_digits"} <= expected
    assert not {"mnist", "digits", "images", "task", "sequences", "_files"} & expected


def test_importing_and_listing_tasks_imports_nothing_heavy() -> None:
    code = (
        "from verification import tasks; import sys; assert 'numpy' not in sys.modules; tasks.names();"
        "tasks.get('adding').load('test', steps=5, count=2);"
        "print([m for m in ('torch', 'scipy', 'sklearn', 'networkx', 'pooch', 'sympy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=FOLDER.parents[1])
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("spelt", ["copying_memory", "copying memory", "Copying-Memory", " COPYING_memory "])
def test_case_blanks_and_hyphens_do_not_matter(spelt: str) -> None:
    assert tasks.get(spelt).name == "copying_memory"


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(KeyError, match=r'No task is called "lorenz69".*Did you mean "lorenz96"'):
        tasks.get("lorenz69")
    with pytest.raises(KeyError, match="There are: adding, "):
        tasks.get("zzzzzz")


@pytest.mark.parametrize("name", tasks.names())
def test_every_task_has_one_signature_and_refuses_an_unknown_split(name: str, tmp_path: Path) -> None:
    task = tasks.get(name)
    parameters = list(inspect.signature(task.load).parameters.values())
    assert [p.name for p in parameters[:2]] == ["split", "root"] and parameters[1].default is None
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters[2:])
    assert task.summary.endswith(".") and set(task.options) == {p.name for p in parameters[2:]}
    with pytest.raises(DataError, match=r"no split 'valid'. Choose one of: train, validation, test"):
        task.load("valid", tmp_path)


WITH_FILES = [name for name in tasks.names() if tasks.get(name).download is not None]


@pytest.mark.parametrize("name", WITH_FILES)
@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_folder_without_the_files_is_named_with_the_command_that_fetches_them(
    name: str, split: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as error:
        tasks.get(name).load(split, tmp_path)
    text = str(error.value)
    assert str(tmp_path) in text and f"odernn task {name} --root {tmp_path} --download" in text and "\n" not in text
    with pytest.raises(DataError, match="does not exist"):
        tasks.get(name).load(split, tmp_path / "nowhere")


@pytest.mark.parametrize("name", WITH_FILES)
def test_no_folder_at_all_says_how_to_give_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ODERNN_DATA", raising=False)
    with pytest.raises(DataError, match=r"pass one \(--root DIR\) or set ODERNN_DATA"):
        tasks.get(name).load("test")


def test_the_tasks_with_files_are_all_but_the_synthetic_ones_and_the_digits() -> None:
    assert set(tasks.names()) - set(WITH_FILES) == {"adding", "copying_memory", "lorenz96", "sequential_digits"}


PLANTED = '''"""A task from elsewhere."""
import numpy as np

def load(split, root=None, *, steps=3):
    return np.zeros((steps, 1, 1), np.float32), np.zeros(1, np.float32), None
'''


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "planted.py").write_text(PLANTED)
    (tmp_path / "no_task.py").write_text("def load(folder, split): ...")
    (tmp_path / "nor_this.py").write_text("def load(split, folder): ...")
    monkeypatch.setattr(tasks, "__path__", [*tasks.__path__, str(tmp_path)])
    tasks._all.cache_clear()
    yield
    tasks._all.cache_clear()
    for name in ("planted", "no_task", "nor_this"):
        sys.modules.pop(f"verification.tasks.{name}", None)


@pytest.mark.usefixtures("planted")
def test_one_file_more_is_one_task_more() -> None:
    assert "planted" in tasks.names() and not {"no_task", "nor_this"} & set(tasks.names())
    task = tasks.get("planted")
    assert task.summary == "A task from elsewhere." and task.options == {"steps": 3} and task.download is None
    assert np.shape(task.load("train", steps=7)[0]) == (7, 1, 1)


def rows_of_the_docs() -> dict[str, list[str]]:
    """The cells of the table in docs/tasks.md by the name of the task."""
    text = (FOLDER.parents[1] / "docs" / "tasks.md").read_text(encoding="utf-8")
    table = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {cells[0]: cells for cells in table if cells[0] in tasks.names()}


def test_the_docs_have_a_row_for_every_task_with_source_and_licence() -> None:
    rows = rows_of_the_docs()
    assert tuple(sorted(rows)) == tasks.names() and all(len(cells) == 7 for cells in rows.values())
    assert all(all(cell.strip() for cell in cells) for cells in rows.values())


@pytest.mark.parametrize("name", [slow("lorenz96"), "sequential_digits"])
def test_the_docs_have_the_sizes_that_are_loaded(name: str) -> None:
    shape, sizes, baseline = (rows_of_the_docs()[name][i] for i in (1, 2, 4))
    specs = [tasks.get(name).load(split)[2] for split in ("train", "validation", "test")]
    assert sizes == " / ".join(str(spec.count) for spec in specs)
    assert shape.startswith(f"{specs[0].steps} × {specs[0].input_size} →")
    assert f"{specs[2].baseline:.3g}" in baseline
